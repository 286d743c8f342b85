#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "temp.h"
#include "gastown/gastown.h"
#include "base/err.h"
#include "base/io.h"

/* A town with one rig, and a log of events that each test writes. */
struct place {
	char *dir, *log;
};

static void
make_dir(const char *base, const char *name)
{
	char *path = io_join(base, name);

	assert_int_equal(mkdir(path, 0700), 0);
	free(path);
}

static int
set_up(void **state)
{
	struct place *p = xcalloc(1, sizeof *p);
	char *rigs;

	p->dir = temp_dir();
	p->log = io_join(p->dir, ".events.jsonl");
	make_dir(p->dir, "mayor");
	make_dir(p->dir, "work");
	make_dir(p->dir, "work/.runtime");
	rigs = io_join(p->dir, "mayor/rigs.json");
	temp_write(rigs, "{\"rigs\":{\"gas\":{\"beads\":{\"prefix\":\"gt\"}}}}");
	free(rigs);
	*state = p;
	return 0;
}

static int
tear_down(void **state)
{
	struct place *p = *state;

	temp_remove(p->dir);
	free(p->log);
	free(p);
	return 0;
}

#define TOAST { .kind = TOWN_ROLE_POLECAT, .rig = "gas", .name = "toast" }
#define LINE(type, actor, payload)                                                                           \
	"{\"ts\":\"2026-04-01T10:00:00Z\",\"source\":\"gt\",\"type\":\"" type "\",\"actor\":\"" actor        \
	"\",\"payload\":{" payload "},\"visibility\":\"feed\"}\n"
#define BEGIN(actor, id) LINE("session_start", actor, "\"session_id\":\"" id "\",\"cwd\":\"/w/" id "\"")

/* "last before between after" of toast, "-" for what there is not; heap. */
static char *
told(struct place *p, const char *log)
{
	struct town *t = town_new(p->dir, NULL);
	struct town_role toast = TOAST;
	struct session_starts *s;
	struct session_last_starts of;
	char *line;

	temp_write(p->log, log);
	s = town_starts_new(t);
	town_starts_of(s, &toast, "/nowhere", &of);
	line = xasprintf("%s %s %s %s", of.last != NULL ? of.last->session_id : "-",
	    of.previous != NULL ? of.previous->session_id : "-", of.separator != NULL ? of.separator : "-",
	    of.after != NULL ? of.after : "-");
	assert_false(of.successor);
	town_starts_free(s);
	town_free(t);
	return line;
}

#define assert_told(log, expected) do { \
	char *line_ = told(*state, log); \
	assert_string_equal(line_, expected); \
	free(line_); \
} while (0)

static void
test_two_starts(void **state)
{
	assert_told("", "- - - -");
	assert_told(BEGIN("gas/polecats/toast", "a"), "a - - -");
	assert_told(BEGIN("gas/polecats/toast", "a") BEGIN("gas/polecats/nux", "x")
			BEGIN("gas/polecats/toast", "b"),
	    "b a - -");
	assert_told(BEGIN("gas/polecats/toast", "a") BEGIN("gas/polecats/toast", "b")
			BEGIN("gas/polecats/toast", "c"),
	    "c b - -");
}

static void
test_one_conversation_begun_twice(void **state)
{
	assert_told(BEGIN("gas/polecats/toast", "a") BEGIN("gas/polecats/toast", "b")
			BEGIN("gas/polecats/toast", "b"),
	    "b a - -");
	assert_told(BEGIN("gas/polecats/toast", "b") BEGIN("gas/polecats/toast", "b"), "b - - -");
}

static void
test_what_parts_them(void **state)
{
#define PARTED(event) BEGIN("gas/polecats/toast", "a") event BEGIN("gas/polecats/toast", "b")
	assert_told(PARTED(LINE("handoff", "gas/polecats/toast", "\"to_session\":true")), "b a handoff -");
	assert_told(PARTED(LINE("done", "gas/polecats/toast", "\"bead\":\"gt-1\"")), "b a done -");
	assert_told(
	    PARTED(LINE("sling", "mayor", "\"bead\":\"gt-2\",\"target\":\"gas/toast\"")), "b a sling -");
	assert_told(PARTED(LINE("sling", "mayor", "\"bead\":\"gt-2\",\"target\":\"gas/polecats/toast\"")),
	    "b a sling -");
	assert_told(PARTED(LINE("spawn", "mayor", "\"rig\":\"gas\",\"polecat\":\"toast\"")), "b a spawn -");
	assert_told(
	    PARTED(LINE("kill", "gas/witness", "\"rig\":\"gas\",\"target\":\"toast\",\"reason\":\"x\"")),
	    "b a kill -");
	assert_told(PARTED(LINE("halt", "mayor", "")), "b a halt -");
	assert_told(PARTED(LINE("session_end", "gas/polecats/toast", "")), "b a session_end -");
	assert_told(PARTED(LINE("session_death", "gt-toast",
			"\"session\":\"gt-toast\",\"agent\":\"unknown\",\"reason\":\"user shutdown\"")),
	    "b a session_death -");
	assert_told(BEGIN("gas/polecats/toast", "a") LINE("done", "gas/polecats/toast", ""), "a - - done");
}

static void
test_what_parts_nothing(void **state)
{
	/* another's, and gt's own notes of a death that it found */
	assert_told(PARTED(LINE("handoff", "gas/polecats/nux", "")), "b a - -");
	assert_told(
	    PARTED(LINE("sling", "gas/polecats/toast", "\"target\":\"gas/polecats/nux\"")), "b a - -");
	assert_told(PARTED(LINE("nudge", "mayor",
			"\"target\":\"gas/polecats/toast\",\"reason\":\"done handoff kill\"")),
	    "b a - -");
	assert_told(PARTED(LINE("session_death", "gt-toast",
			"\"session\":\"gt-toast\",\"agent\":\"gas/polecats/toast\","
			"\"reason\":\"crash detected by daemon health check\"")),
	    "b a - -");
	assert_told(PARTED(LINE("session_death", "gt-toast",
			"\"session\":\"gt-toast\",\"agent\":\"unknown\",\"reason\":\"zombie cleanup\"")),
	    "b a - -");
}

static void
test_damaged_lines(void **state)
{
	assert_told("tail of a line session_start\"}\n\n" BEGIN("gas/polecats/toast",
			"a") "[\"session_start\"]\n{\"type\":\"session_start\"}\n"
			     "{\"type\":7,\"x\":\"done\"}\n" BEGIN("gas/polecats/toast", "b") "{\"ts\":"
											      "\"2026-04-"
											      "01T10:00:"
											      "00Z\","
											      "\"type\":"
											      "\"session_sta",
	    "b a - -");
}

static void
test_only_the_end_is_read(void **state)
{
	struct buf b = BUF_INIT;

	buf_str(&b, BEGIN("gas/polecats/toast", "a"));
	while (b.len < (size_t)5 << 20)
		buf_str(&b, LINE("mail", "gas/polecats/nux", "\"to\":\"mayor/\",\"subject\":\"about done\""));
	buf_str(&b, BEGIN("gas/polecats/toast", "b"));
	assert_told(b.data, "b - - -");
	buf_release(&b);
}

/* Somebody of whom gt knows no role is told by the directory; a handoff that is under way by its mark. */
static void
test_by_directory(void **state)
{
	struct place *p = *state;
	struct town *t = town_new(p->dir, NULL);
	struct town_role plain = { .kind = TOWN_ROLE_NONE };
	char *work = io_join(p->dir, "work"), *mark = io_join(work, ".runtime/handoff_to_successor"), *cwd;
	struct session_last_starts of;
	struct session_starts *s;

	temp_write(p->log,
	    LINE("session_start", "?", "\"session_id\":\"a\",\"cwd\":\"/w\"")
		LINE("session_start", "?", "\"session_id\":\"b\",\"cwd\":\"/w\""));
	s = town_starts_new(t);
	town_starts_of(s, &plain, "/w", &of);
	assert_string_equal(of.last->session_id, "b");
	assert_string_equal(of.previous->cwd, "/w");
	assert_true(of.previous->at == 1775037600000);
	town_starts_of(s, &plain, "/elsewhere", &of);
	assert_null(of.last);
	town_starts_of(s, &plain, NULL, &of);
	assert_null(of.last);
	assert_false(of.successor);
	temp_write(mark, "gt-toast\ncontext full\n");
	cwd = xstrdup(work);
	town_starts_of(s, &plain, cwd, &of);
	assert_true(of.successor);
	free(cwd);
	free(mark);
	free(work);
	town_starts_free(s);
	town_free(t);
}

static void
test_no_town(void **state)
{
	struct town_role toast = TOAST;
	struct place *p = *state;
	struct session_last_starts of;
	struct session_starts *s;
	struct town *t = town_new(p->dir, NULL);

	s = town_starts_new(t);		/* no log yet */
	town_starts_of(s, &toast, NULL, &of);
	assert_null(of.last);
	town_starts_free(s);
	town_starts_free(NULL);
	town_free(t);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(test_two_starts), T(test_one_conversation_begun_twice), T(test_what_parts_them),
		T(test_what_parts_nothing), T(test_damaged_lines), T(test_only_the_end_is_read),
		T(test_by_directory), T(test_no_town),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
