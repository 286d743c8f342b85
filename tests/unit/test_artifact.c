#include "test.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "install/install_private.h"
#include "temp.h"

static void
render_text(const struct artifact *a, struct buf *out)
{
	buf_fmt(out, "first\n%s\n", (const char *)a->of);
}

static void
assert_file(const char *path, const char *want)
{
	struct buf b = BUF_INIT;

	assert_int_equal(io_read_file(path, 65536, &b, NULL), 0);
	assert_string_equal(b.data, want);
	buf_release(&b);
}

static enum artifact_state
state_of(const struct artifact *a)
{
	enum artifact_state state = ARTIFACT_EDITED;
	struct err e = ERR_INIT;

	assert_int_equal(artifact_status(a, &state, NULL, &e), 0);
	return state;
}

/* Two sealed files in a folder of ours: all or none, and the folder goes with them. */
static void
keeps_what_a_person_edited(void **state)
{
	char *dir = temp_dir();
	struct artifact_set in = { .dir = io_join(dir, "a/b") };
	struct artifact *one = artifact_add(&in, io_join(in.dir, "one"), "test", render_text, "old"),
			*two = artifact_add(&in, io_join(in.dir, "two"), "test", render_text, "text");
	struct err e = ERR_INIT;
	bool any;

	(void)state;
	assert_int_equal(state_of(one), ARTIFACT_ABSENT);
	assert_int_equal(artifact_remove(&in, &any, &e), 0);
	assert_false(any);
	assert_int_equal(artifact_install(&in, &any, &e), 0);
	assert_true(any);
	assert_int_equal(state_of(one), ARTIFACT_CURRENT);
	assert_int_equal(artifact_install(&in, &any, &e), 0);
	assert_false(any);
	/* another version of ours is replaced */
	one->of = "new";
	assert_int_equal(state_of(one), ARTIFACT_OTHER);
	temp_write(two->path, "first\nmine\n");
	assert_int_equal(state_of(two), ARTIFACT_EDITED);
	assert_int_equal(artifact_install(&in, &any, &e), -1);
	assert_string_equal(e.name, "edited");
	assert_non_null(strstr(e.msg, two->path));
	assert_int_equal(state_of(one), ARTIFACT_OTHER);
	assert_int_equal(artifact_remove(&in, &any, &e), -1);
	assert_int_equal(state_of(one), ARTIFACT_OTHER);
	assert_file(two->path, "first\nmine\n");
	/* an empty file is a person's, too */
	temp_write(two->path, "");
	assert_int_equal(state_of(two), ARTIFACT_EDITED);
	assert_int_equal(unlink(two->path), 0);
	assert_int_equal(artifact_install(&in, &any, &e), 0);
	assert_int_equal(state_of(one), ARTIFACT_CURRENT);
	assert_int_equal(artifact_remove(&in, &any, &e), 0);
	assert_true(any);
	assert_int_equal(access(in.dir, F_OK), -1);
	artifact_release(&in);
	temp_remove(dir);
}

/* By its name a file is ours whatever it holds. */
static void
replaces_by_name(void **state)
{
	char *dir = temp_dir();
	struct artifact_set in = { .n = 0 };
	struct artifact *a = artifact_add(&in, io_join(dir, "unit"), "test", render_text, "text");
	bool any;

	(void)state;
	a->mark = ARTIFACT_NAME;
	temp_write(a->path, "of somebody");
	assert_int_equal(state_of(a), ARTIFACT_OTHER);
	assert_int_equal(artifact_install(&in, &any, NULL), 0);
	assert_true(any);
	assert_file(a->path, "first\ntext\n");
	assert_int_equal(state_of(a), ARTIFACT_CURRENT);
	assert_int_equal(artifact_remove(&in, &any, NULL), 0);
	assert_true(any);
	assert_int_equal(access(a->path, F_OK), -1);
	artifact_release(&in);
	temp_remove(dir);
}

static void
render_tail(const struct artifact *a, struct buf *out)
{
	(void)a;
	buf_str(out, "# gt-recover tail: ours\n");
}

/* Through a link, once, behind what is there; the file's mode stays. */
static void
appends_once(void **state)
{
	static const struct { const char *old, *want; } cases[] = {
		{ "", "\n# gt-recover tail: ours\n" },
		{ "A\n", "A\n\n# gt-recover tail: ours\n" },
		{ "A", "A\n# gt-recover tail: ours\n" },
		{ "# gt-recover tail of an older version\n", "# gt-recover tail of an older version\n" },
	};
	char *dir = temp_dir(), *real = io_join(dir, "real");
	struct artifact_set in = { .n = 0 };
	struct artifact *a = artifact_add(&in, io_join(dir, "link"), "tail", render_tail, NULL);
	struct stat st;
	bool any;

	(void)state;
	a->mark = ARTIFACT_TAIL;
	assert_int_equal(symlink("real", a->path), 0);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		temp_write(real, cases[i].old);
		assert_int_equal(chmod(real, 0640), 0);
		assert_int_equal(artifact_install(&in, &any, NULL), 0);
		assert_int_equal(any, strcmp(cases[i].old, cases[i].want) != 0);
		assert_file(real, cases[i].want);
		assert_int_equal(state_of(a), ARTIFACT_CURRENT);
		assert_int_equal(artifact_install(&in, &any, NULL), 0);
		assert_false(any);
		assert_file(real, cases[i].want);
		assert_int_equal(lstat(a->path, &st), 0);
		assert_true(S_ISLNK(st.st_mode));
		assert_int_equal(stat(real, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0640);
	}
	free(real);
	artifact_release(&in);
	temp_remove(dir);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_what_a_person_edited), cmocka_unit_test(replaces_by_name),
		cmocka_unit_test(appends_once),
	};

	return cmocka_run_group_tests_name("artifact", tests, NULL, NULL);
}
