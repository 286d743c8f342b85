#include "test.h"

#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "doctor/doctor_private.h"
#include "temp.h"

static void
collect(void *arg, enum verdict v, const char *sentence)
{
	buf_fmt(arg, "%s %.12s;", doctor_verdict_name(v), sentence);
}

static void
knows_versions(void **state)
{
	static const struct { const char *version, *want; } cases[] = {
		{ "tmux 3.3a", "note loses the ex;note crashes with;note crashes when;" },
		{ "3.3a", "note loses the ex;note crashes with;note crashes when;" },
		{ "tmux 3.3", "note loses the ex;note crashes with;" },
		{ "tmux 3.2a", "note does not sho;" },
		{ "tmux 3.4", "note loses the ex;note crashes with;note prints a bac;" },
		{ "tmux 3.5", "note loses the ex;" },
		{ "tmux next-3.6", "" },
		{ "tmux 3.6b", "" },
		{ "tmux 3.7b", "note may not subm;" },
		{ "tmux next-3.8", "note forgets the ;note may not subm;" },
		{ "tmux 3.10", "note forgets the ;note may not subm;" },
		{ "tmux 2.9a", "error is too old: ;" },
		{ "tmux 1.8", "error is too old: ;" },
		{ "tmux master", "note is an untest;" },
		{ "", "note is an untest;" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct buf b = BUF_INIT;

		doctor_tmux_faults(cases[i].version, collect, &b);
		if (strcmp(b.data, cases[i].want) != 0)
			fail_msg("%s: %s", cases[i].version, b.data);
		buf_release(&b);
	}
}

static void
tells_stale_from_quiet(void **state)
{
	static const struct { struct pane_times t; enum freshness want; } cases[] = {
		/* now, patience, created, activity, newest, same */
		{ { 1000, 100, 950, 950, 0, false }, FRESHNESS_FRESH },		/* too young for one */
		{ { 1000, 100, 100, 150, 0, false }, FRESHNESS_NEVER },
		/* quiet since its snapshot */
		{ { 1000, 100, 100, 150, 200, true }, FRESHNESS_FRESH },
		/* another size, say, but no output */
		{ { 1000, 100, 100, 150, 200, false }, FRESHNESS_FRESH },
		{ { 1000, 100, 100, 300, 200, false }, FRESHNESS_STALE },
		/* a pass looked, and it showed the same text */
		{ { 1000, 100, 100, 300, 200, true }, FRESHNESS_FRESH },
		/* busy now: the next pass has time */
		{ { 1000, 100, 100, 950, 200, false }, FRESHNESS_FRESH },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (doctor_freshness(&cases[i].t) != cases[i].want)
			fail_msg("case %zu", i);
}

static void
looks_at_places(void **state)
{
	char *dir = temp_dir(), *file = io_join(dir, "tool"), *below = io_join(dir, "a/b/c"), *path, *found;

	(void)state;
	temp_write(file, "x");
	chmod(file, 0600);
	path = xasprintf("/nowhere::%s:/bin", dir);
	assert_null(doctor_find_program(path, "tool"));
	assert_null(doctor_find_program(NULL, "tool"));
	assert_int_equal(doctor_open_files(dir), 0);
	chmod(file, 0755);
	assert_int_equal(doctor_open_files(dir), 1);
	found = doctor_find_program(path, "tool");
	assert_string_equal(found, file);
	free(found);
	found = doctor_existing_path(below);
	assert_string_equal(found, dir);
	free(found);
	found = doctor_existing_path("/nowhere-at-all/x");
	assert_string_equal(found, "/");
	free(found);
	assert_true(doctor_free_bytes(dir) >= 0);
	assert_int_equal(doctor_free_bytes(below), -1);
	free(file);
	free(below);
	free(path);
	temp_remove(dir);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_versions), cmocka_unit_test(tells_stale_from_quiet),
		cmocka_unit_test(looks_at_places),
	};

	return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
