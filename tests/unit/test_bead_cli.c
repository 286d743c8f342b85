#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/io.h"
#include "beads/beads.h"
#include "fake_scrub.h"
#include "temp.h"

/*
 * A bd of shell: `list --status=S` answers with the file list-S, `list --assignee=A` with
 * assigned-A ("/" as "_"), `show` with the file show; all of them below $BEADS_DIR. A file
 * "fails" is its standard error, and status 1. Calls are counted in the file calls.
 */
static const char program[] = "#!/bin/sh\n"
			      "echo \"$*\" >>\"$BEADS_DIR/calls\"\n"
			      "if [ -e \"$BEADS_DIR/fails\" ]; then cat \"$BEADS_DIR/fails\" >&2; exit 1; "
			      "fi\n"
			      "if [ -e \"$BEADS_DIR/old\" ] && [ \"$1\" = --readonly ]; then echo 'Error: "
			      "unknown flag: --readonly' >&2; exit 1; fi\n"
			      "[ \"$1\" != --readonly ] || shift\n"
			      "file=$1\n"
			      "for w; do case $w in --status=*) file=list-${w#*=} ;; --assignee=*) "
			      "file=assigned-$(echo \"${w#*=}\" | tr / _) ;; esac; done\n"
			      "if [ -e \"$BEADS_DIR/$file\" ]; then cat \"$BEADS_DIR/$file\"; else echo 'No "
			      "issues found.'; fi\n";

struct place {
	char *dir, *rig, *hq, *path;
	struct bd *bd;
	struct scrub s;
	struct bead b;
	struct err e;
};

static void
put(const char *dir, const char *name, const char *text)
{
	char *path = io_join(dir, name);

	temp_write(path, text);
	free(path);
}

static int
setup(void **state)
{
	struct place *p = xcalloc(1, sizeof *p);
	char *bd, *paths;

	p->dir = temp_dir();
	p->rig = io_join(p->dir, "rig");
	p->hq = io_join(p->dir, "hq");
	assert_int_equal(mkdir(p->rig, 0700), 0);
	assert_int_equal(mkdir(p->hq, 0700), 0);
	bd = io_join(p->dir, "bd");
	temp_write(bd, program);
	assert_int_equal(chmod(bd, 0700), 0);
	free(bd);
	p->path = xstrdup(getenv("PATH"));
	paths = xasprintf("%s:%s", p->dir, p->path);
	setenv("PATH", paths, 1);
	free(paths);
	p->bd = bd_new(NULL);
	*state = p;
	return 0;
}

static int
teardown(void **state)
{
	struct place *p = *state;

	setenv("PATH", p->path, 1);
	bd_free(p->bd);
	bead_release(&p->b);
	temp_remove(p->dir);
	free(p->rig);
	free(p->hq);
	free(p->path);
	free(p);
	return 0;
}

static int
find(struct place *p, const char *hint, bool quick)
{
	const char *dirs[] = { p->rig, p->hq };
	struct bead_cli c = { .bd = p->bd,
		.dirs = dirs,
		.n = 2,
		.rig = "gas",
		.prefix = "gt",
		.name = "toast",
		.hint = hint,
		.quick = quick };

	bead_release(&p->b);
	err_clear(&p->e);
	return bead_cli_find(&c, &p->s, &p->b, &p->e);
}

static const char *
found(struct place *p, const char *hint)
{
	if (find(p, hint, false) != 0)
		fail_msg("%s: %s", p->e.name, p->e.msg);
	return p->b.id != NULL ? p->b.id : "";
}

#define WORK "assigned-gas_polecats_toast"
#define ONE(id, status, more)                                                                                \
	"{\"id\":\"" id "\",\"status\":\"" status "\",\"assignee\":\"gas/polecats/toast\",\"title\":\"" id   \
	"\"" more "}"

static void
test_order(void **state)
{
	struct place *p = *state;

	assert_string_equal(found(p, NULL), "");
	put(p->rig, WORK, "[" ONE("gt-1", "closed", ",\"closed_at\":\"2026-04-01T10:00:00Z\"") ","
	    ONE("gt-2", "closed", ",\"closed_at\":\"2026-04-02T10:00:00Z\"") "]");
	assert_string_equal(found(p, NULL), "");
	assert_string_equal(p->b.last_closed, "gt-2");
	put(p->rig, WORK,
	    "[" ONE("gt-odd", "staged_ready", "") "," ONE("gt-open", "open", "") "," ONE(
		"gt-done", "closed", "") "]");
	assert_string_equal(found(p, NULL), "gt-open");
	assert_null(p->b.last_closed);
	put(p->rig, WORK, "[" ONE("gt-a", "in_progress", ",\"updated_at\":\"2026-04-01T10:00:00Z\"") ","
	    ONE("gt-b", "in_progress", ",\"updated_at\":\"2026-04-01T11:00:00Z\"") ","
	    ONE("gt-c", "in_progress", ",\"updated_at\":\"2026-04-01T12:00:00Z\",\"ephemeral\":true") "]");
	assert_string_equal(found(p, NULL), "gt-b");
	/* the hint is above what is in progress, below what is hooked; a closed one is told apart */
	put(p->rig, "show", "[" ONE("gt-hint", "open", "") "]");
	assert_string_equal(found(p, "gt-hint"), "gt-hint");
	put(p->rig, "show", "[" ONE("gt-hint", "closed", "") "]");
	assert_string_equal(found(p, "gt-hint"), "gt-b");
	put(p->rig, WORK, "[]");
	assert_string_equal(found(p, "gt-hint"), "gt-hint");
	assert_true(p->b.closed);
	/* the town after the rig */
	put(p->hq, WORK, "[" ONE("hq-1", "hooked", "") "]");
	assert_string_equal(found(p, NULL), "hq-1");
	put(p->rig, WORK, "[" ONE("gt-h", "hooked", "") "]");
	assert_string_equal(found(p, "gt-hint"), "gt-h");
	assert_string_equal(p->b.status, "hooked");
}

static void
test_what_is_no_work(void **state)
{
	struct place *p = *state;

	put(p->rig, WORK,
	    "[" ONE("gt-1", "hooked", ",\"issue_type\":\"message\"") "," ONE(
		"gt-2", "hooked", ",\"labels\":[\"gt:agent\"]") "," ONE("gt-3", "hooked",
		",\"is_template\":true") ",{\"id\":\"gt-4\",\"status\":\"hooked\",\"assignee\":\"gas/"
					 "polecats/nux\"},"
					 "{\"id\":\"gt-5\",\"status\":\"hooked\"},{\"id\":7,\"status\":[]},"
					 "null,3,\"x\",[[]],{}]");
	assert_string_equal(found(p, NULL), "");
}

static void
test_agent_and_handoff(void **state)
{
	struct place *p = *state;

	put(p->rig, "show",
	    "[{\"id\":\"gt-gas-polecat-toast\",\"status\":\"open\",\"updated_at\":\"2026-04-01T10:00:00Z\","
	    "\"description\":"
	    "\"toast\\n\\nagent_state: stuck\\nhook_bead: gt-old\\n\"}," ONE(
		"gt-old", "in_progress", "") ","
					     "{\"id\":\"gt-rig-gas\",\"labels\":[\"status:docked\"]}]");
	put(p->hq, "assigned-gas_toast",
	    "[{\"id\":\"hq-m\",\"title\":\"🤝 HANDOFF: x\",\"status\":\"hooked\",\"assignee\":\"gas/toast\","
	    "\"description\":\"half of it\"}]");
	put(p->hq, "list-pinned",
	    "[{\"id\":\"hq-p\",\"title\":\"toast "
	    "Handoff\",\"status\":\"pinned\",\"description\":\"pinned\"}]");
	assert_string_equal(found(p, NULL), "gt-old");
	assert_string_equal(p->b.agent_state, "stuck");
	assert_true(p->b.agent_since == 1775037600000);
	assert_true(p->b.rig_stopped);
	assert_string_equal(p->b.handoff_id, "hq-m");
	put(p->hq, "assigned-gas_toast", "null");
	found(p, NULL);
	assert_string_equal(p->b.handoff_id, "hq-p");
}

static void
test_forms(void **state)
{
	static const char *const forms[] = {
		ONE("gt-1", "hooked", ""),
		"[" ONE("gt-1", "hooked", "") "]",
		"{\"schema_version\":1,\"data\":[" ONE("gt-1", "hooked", "") "]}",
		"{\"schema_version\":1,\"data\":{\"issues\":[" ONE("gt-1", "hooked", "") "]}}",
		"Note: a new version is out\n\n[" ONE("gt-1", "hooked", "") "]\n",
	};
	static const char *const none[] = { "No issues found.\n", "[]", "null",
		"{\"schema_version\":1,\"data\":null}" };
	static const char *const bad[] = { "", "[", "what?", "{\"error\":\"no database\"}",
		"{\"data\":{\"data\":{\"data\":{\"data\":[]}}}}", "7" };
	struct place *p = *state;

	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		put(p->rig, WORK, forms[i]);
		assert_string_equal(found(p, NULL), "gt-1");
	}
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
		put(p->rig, WORK, none[i]);
		assert_string_equal(found(p, NULL), "");
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		put(p->rig, WORK, bad[i]);
		assert_int_equal(find(p, NULL, false), -1);
		assert_string_equal(p->e.name, "bd-answer");
		assert_null(p->b.id);
	}
}

static size_t
calls(struct place *p, const char *dir)
{
	char *path = io_join(dir, "calls");
	struct buf b = BUF_INIT;
	size_t n = 0;

	(void)p;
	if (io_read_file(path, 1 << 20, &b, NULL) == 0)
		for (size_t i = 0; i < b.len; i++)
			n += b.data[i] == '\n';
	buf_release(&b);
	free(path);
	return n;
}

static void
test_failures(void **state)
{
	struct place *p = *state;
	size_t n;

	put(p->rig, "fails",
	    "Error: failed to open database: dial tcp 127.0.0.1:3307: connect: connection refused\n");
	assert_int_equal(find(p, NULL, false), -1);
	assert_string_equal(p->e.name, "dolt-down");
	n = calls(p, p->rig);
	assert_int_equal(find(p, NULL, true), -1);
	assert_string_equal(p->e.name, "dolt-down");
	assert_int_equal(calls(p, p->rig), n);		/* remembered */
	assert_string_equal(bd_last_error(p->bd)->name, "dolt-down");
	bd_free(p->bd);
	p->bd = bd_new("3307");
	put(p->rig, "fails", "Error: password sk-secret is wrong\n");
	assert_int_equal(find(p, NULL, false), -1);
	assert_string_equal(p->e.name, "bd-failed");
	assert_null(strstr(p->e.msg, "sk-secret"));
	setenv("PATH", "/nowhere", 1);
	assert_int_equal(find(p, NULL, false), -1);
	assert_string_equal(p->e.name, "no-bd");
	setenv("PATH", p->path, 1);
}

/* A bd without --readonly, a bead that `show` does not know, a hint that is an option. */
static void
test_calls(void **state)
{
	struct place *p = *state;
	char *path = io_join(p->rig, "calls");
	struct buf b = BUF_INIT;

	put(p->rig, "old", "");
	put(p->hq, "old", "");
	put(p->rig, WORK, "[" ONE("gt-1", "hooked", "") "]");
	assert_string_equal(found(p, "--db=/etc/passwd"), "gt-1");
	assert_int_equal(io_read_file(path, 1 << 20, &b, NULL), 0);
	assert_string_equal(b.data,
	    "--readonly list --limit=0 --assignee=gas/polecats/toast --all --json\n"
	    "list --limit=0 --assignee=gas/polecats/toast --all --json\n"
	    "show gt-gas-polecat-toast gt-rig-gas --json\n");
	buf_release(&b);
	free(path);
}

static void
test_quick(void **state)
{
	struct place *p = *state;

	put(p->hq, "list-hooked", "[" ONE("hq-1", "hooked", "") "]");
	put(p->rig, WORK, "[" ONE("gt-1", "in_progress", "") "]");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(find(p, "gt-1", true), 0);
		assert_string_equal(p->b.id, "hq-1");
	}
	assert_int_equal(calls(p, p->rig), 1);
	assert_int_equal(calls(p, p->hq), 1);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_order), T(test_what_is_no_work), T(test_agent_and_handoff), T(test_forms),
		T(test_failures), T(test_calls), T(test_quick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
