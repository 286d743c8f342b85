#include "test.h"

#include <string.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/io.h"
#include "beads/beads.h"
#include "fake_scrub.h"
#include "temp.h"

struct town {
	char *dir;
	char *rig;		/* databases */
	char *hq;
	sqlite3 *rig_db;
	sqlite3 *hq_db;
	struct scrub s;
	struct bead b;
	struct err e;
};

/* The table as migrated databases have it (v0.50.3), as far as a reader may care, in an order of its own. */
#define NEW_COLUMNS                                                                                          \
	"id TEXT PRIMARY KEY, content_hash TEXT, title TEXT NOT NULL, description TEXT NOT NULL DEFAULT "    \
	"'', design TEXT NOT NULL DEFAULT '',"                                                               \
	" acceptance_criteria TEXT NOT NULL DEFAULT '', notes TEXT NOT NULL DEFAULT '', status TEXT NOT "    \
	"NULL DEFAULT 'open',"                                                                               \
	" priority INTEGER DEFAULT 2, issue_type TEXT NOT NULL DEFAULT 'task', assignee TEXT, created_at "   \
	"DATETIME, updated_at DATETIME,"                                                                     \
	" closed_at DATETIME, ephemeral INTEGER DEFAULT 0, pinned INTEGER DEFAULT 0, is_template INTEGER "   \
	"DEFAULT 0, hook_bead TEXT DEFAULT ''"
/* The oldest that is worth reading. */
#define OLD_COLUMNS "title TEXT, id TEXT PRIMARY KEY, status TEXT, assignee TEXT, description TEXT"

static void
run(sqlite3 *db, const char *sql)
{
	char *text = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK)
		fail_msg("%s: %s", sql, text);
}

static sqlite3 *
make(const char *path, const char *columns, const char *journal)
{
	char *sql = xasprintf("PRAGMA journal_mode=%s; CREATE TABLE issues(%s)", journal, columns);
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	run(db, sql);
	free(sql);
	return db;
}

static int
setup_with(void **state, const char *columns, const char *journal)
{
	struct town *t = xcalloc(1, sizeof *t);

	t->dir = temp_dir();
	t->rig = io_join(t->dir, "rig.db");
	t->hq = io_join(t->dir, "hq.db");
	t->rig_db = make(t->rig, columns, journal);
	t->hq_db = make(t->hq, columns, journal);
	*state = t;
	return 0;
}

static int
setup(void **state)
{
	return setup_with(state, NEW_COLUMNS, "WAL");
}

static int
setup_old(void **state)
{
	return setup_with(state, OLD_COLUMNS, "DELETE");
}

static int
teardown(void **state)
{
	struct town *t = *state;

	bead_release(&t->b);
	sqlite3_close(t->rig_db);
	sqlite3_close(t->hq_db);
	temp_remove(t->dir);
	free(t->rig);
	free(t->hq);
	free(t);
	return 0;
}

/* A row; the writer keeps its connection open, so that WAL rows stay in the log. */
static void
add(sqlite3 *db, const char *id, const char *status, const char *assignee, const char *title)
{
	char *sql = sqlite3_mprintf("INSERT INTO issues(id, status, assignee, title, description) VALUES(%Q, "
				    "%Q, %Q, %Q, %Q)",
	    id, status, assignee, title, title);

	run(db, sql);
	sqlite3_free(sql);
}

static const char *
find(struct town *t, const char *hint)
{
	const char *databases[] = { t->rig, t->hq };

	bead_release(&t->b);
	err_clear(&t->e);
	if (bead_find(databases, 2, "gastown", "toast", hint, &t->s, &t->b, &t->e) != 0)
		fail_msg("%s: %s", t->e.name, t->e.msg);
	return t->b.id != NULL ? t->b.id : "";
}

#define WORK "gastown/polecats/toast"
#define MAIL "gastown/toast"

/* Somebody's table of issues whose rows come out of FTS5, which would read his shadow tables. */
static void
test_virtual_table(void **state)
{
	struct town *t = *state;
	const char *databases[] = { t->rig };

	run(t->rig_db, "DROP TABLE issues");
	if (sqlite3_exec(t->rig_db, "CREATE VIRTUAL TABLE issues USING fts5(id, title, status, assignee)", NULL,
		NULL, NULL) != SQLITE_OK) {
		print_message("skipped: this SQLite has no FTS5\n");
		skip();
	}
	run(t->rig_db, "INSERT INTO issues VALUES('r1-1', 'planted', 'hooked', '" WORK "')");
	assert_int_equal(bead_find(databases, 1, "gastown", "toast", NULL, &t->s, &t->b, &t->e), -1);
	assert_string_equal(t->e.name, "not-beads");
	assert_null(t->b.id);
}

static void
test_order_of_statuses(void **state)
{
	static const struct { const char *id, *status, *assignee;
	} rows[] = {
		{ "gt-odd", "staged_ready", WORK }, { "gt-open", "open", MAIL },
		{ "gt-pin", "pinned", WORK }, { "gt-prog", "in_progress", "Gastown/Polecats/TOAST" },
		{ "gt-hook", "hooked", WORK },
	};
	struct town *t = *state;

	assert_string_equal(find(t, NULL), "");
	assert_null(t->b.last_closed);
	add(t->rig_db, "gt-other", "hooked", "gastown/polecats/nux", "not ours");
	add(t->rig_db, "gt-else", "hooked", "beads/polecats/toast", "not ours either");
	add(t->rig_db, "gt-none", "open", NULL, "nobody's");
	add(t->rig_db, "gt-done", "closed", WORK, "done");
	assert_string_equal(find(t, NULL), "");
	assert_string_equal(t->b.last_closed, "gt-done");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		add(t->rig_db, rows[i].id, rows[i].status, rows[i].assignee, "work");
		assert_string_equal(find(t, NULL), rows[i].id);
		assert_string_equal(t->b.status, rows[i].status);
		assert_string_equal(t->b.assignee, rows[i].assignee);
		assert_string_equal(t->b.database, t->rig);
		assert_false(t->b.closed);
		assert_null(t->b.last_closed);
	}
}

static void
test_town_after_rig(void **state)
{
	struct town *t = *state;

	add(t->hq_db, "hq-1", "hooked", WORK, "of the town");
	assert_string_equal(find(t, NULL), "hq-1");
	/* merely assigned in the rig: what is under way in the town comes first */
	add(t->rig_db, "gt-1", "open", WORK, "of the rig");
	assert_string_equal(find(t, NULL), "hq-1");
	add(t->rig_db, "gt-2", "in_progress", WORK, "of the rig");
	assert_string_equal(find(t, NULL), "gt-2");
}

static void
test_newest_of_equals(void **state)
{
	struct town *t = *state;

	run(t->rig_db, "INSERT INTO issues(id, title, status, assignee, updated_at, ephemeral) VALUES"
	    "('gt-a', 'a', 'hooked', '" WORK "', '2026-01-15T10:00:00.123456789Z', 0),"
	    "('gt-b', 'b', 'hooked', '" WORK "', '2026-01-15T05:00:00-08:00', 0),"
	    "('gt-c', 'c', 'hooked', '" WORK "', '2026-01-15 11:59:59', 0),"
	    "('gt-w', 'a wisp', 'hooked', '" WORK "', '2026-01-16T00:00:00Z', 1),"
	    "('gt-t', 'a template', 'hooked', '" WORK "', '2026-01-17T00:00:00Z', 0)");
	run(t->rig_db, "UPDATE issues SET is_template = 1 WHERE id = 'gt-t'");
	assert_string_equal(find(t, NULL), "gt-b");
	run(t->rig_db, "DELETE FROM issues WHERE ephemeral = 0");
	assert_string_equal(find(t, NULL), "gt-w");
}

static void
test_hint(void **state)
{
	struct town *t = *state;

	add(t->hq_db, "hq-h", "open", "somebody/else", "named by the session");
	add(t->rig_db, "gt-p", "in_progress", WORK, "in progress");
	assert_string_equal(find(t, "hq-h"), "hq-h");
	assert_string_equal(find(t, "gt-unknown"), "gt-p");
	assert_string_equal(find(t, ""), "gt-p");
	add(t->rig_db, "gt-h", "hooked", WORK, "hooked");
	assert_string_equal(find(t, "hq-h"), "gt-h");
	assert_false(t->b.closed);
}

static void
test_closed_work(void **state)
{
	struct town *t = *state;

	run(t->rig_db,
	    "INSERT INTO issues(id, title, status, assignee, closed_at) VALUES"
	    "('gt-1', 'first', 'closed', '" WORK "', '2026-01-01T00:00:00Z'), ('gt-2', 'last', 'tombstone', "
						 "'" WORK "', '2026-01-03T00:00:00Z')");
	run(t->hq_db,
	    "INSERT INTO issues(id, title, status, assignee, closed_at) VALUES('hq-1', 'between', 'closed', "
	    "'" WORK "', '2026-01-02T00:00:00Z')");
	assert_string_equal(find(t, NULL), "");
	assert_string_equal(t->b.last_closed, "gt-2");
	assert_string_equal(find(t, "gt-1"), "gt-1");
	assert_true(t->b.closed);
	/* the session's own work is done: what is merely assigned is no reason to go on */
	add(t->rig_db, "gt-3", "open", WORK, "next");
	assert_string_equal(find(t, "gt-1"), "gt-1");
	assert_true(t->b.closed);
	add(t->rig_db, "gt-4", "in_progress", WORK, "under way");
	assert_string_equal(find(t, "gt-1"), "gt-4");
	assert_false(t->b.closed);
}

/* Towns before March 2026 kept the hook in the agent's own bead, as a line of its description or a column. */
static void
test_hook_of_the_agent_bead(void **state)
{
	struct town *t = *state;

	run(t->rig_db,
	    "INSERT INTO issues(id, title, issue_type, description) VALUES"
	    "('gt-gastown-polecat-toast', 'toast', 'agent', 'toast' || char(10) || char(10) || 'role_type: "
	    "polecat' || char(10) || 'hook_bead: gt-7' || char(10) || 'mode: x'),"
	    "('gt-gastown-polecat-burnt-toast', 'other', 'agent', 'hook_bead: gt-8')");
	add(t->rig_db, "gt-7", "in_progress", NULL, "hooked the old way");
	add(t->rig_db, "gt-8", "in_progress", NULL, "another's");
	assert_string_equal(find(t, NULL), "gt-7");
	run(t->rig_db, "UPDATE issues SET assignee = 'gastown/polecats/nux' WHERE id = 'gt-7'");
	assert_string_equal(find(t, NULL), "");
	run(t->rig_db, "UPDATE issues SET assignee = '" WORK "' WHERE id = 'gt-7'");
	add(t->rig_db, "gt-9", "in_progress", WORK, "younger");
	assert_string_equal(find(t, NULL), "gt-7");
	run(t->rig_db, "UPDATE issues SET status = 'closed' WHERE id = 'gt-7'");
	assert_string_equal(find(t, NULL), "gt-9");
	run(t->rig_db,
	    "UPDATE issues SET description = 'hook_bead: null', hook_bead = 'gt-10' WHERE id = "
	    "'gt-gastown-polecat-toast'");
	add(t->rig_db, "gt-10", "hooked", "", "in the column");
	assert_string_equal(find(t, NULL), "gt-10");
}

/* What gt notes of the agent itself: the text wins over the column. */
static void
test_state_of_the_agent(void **state)
{
	struct town *t = *state;

	assert_string_equal(find(t, NULL), "");
	assert_null(t->b.agent_state);
	assert_false(t->b.rig_stopped);
	add(t->rig_db, "gt-gastown-polecat-nux", "open", NULL, "agent_state: stuck");
	add(t->rig_db, "gt-gastown-polecat-toast", "open", NULL,
	    "toast\n\nrole_type: polecat\nagent_state: done\nhook_bead: null\n");
	run(t->rig_db, "UPDATE issues SET updated_at = '2026-04-01T10:00:00.250Z'");
	assert_string_equal(find(t, NULL), "");
	assert_string_equal(t->b.agent_state, "done");
	assert_true(t->b.agent_since == 1775037600250 || t->b.agent_since == 1775037600249);
	run(t->rig_db,
	    "ALTER TABLE issues ADD COLUMN agent_state TEXT; UPDATE issues SET agent_state = 'idle'");
	find(t, NULL);
	assert_string_equal(t->b.agent_state, "done");
	run(t->rig_db,
	    "UPDATE issues SET description = 'agent_state: null' WHERE id = 'gt-gastown-polecat-toast'");
	find(t, NULL);
	assert_string_equal(t->b.agent_state, "idle");
	add(t->rig_db, "gt-work", "hooked", WORK, "work");
	assert_string_equal(find(t, NULL), "gt-work");
	assert_string_equal(t->b.agent_state, "idle");
	run(t->rig_db,
	    "CREATE TABLE labels(issue_id TEXT, label TEXT); INSERT INTO labels VALUES('gt-rig-beads', "
	    "'status:parked'),"
	    "('gt-rig-gastown', 'gt:rig')");
	find(t, NULL);
	assert_false(t->b.rig_stopped);
	run(t->rig_db, "INSERT INTO labels VALUES('gt-rig-gastown', 'status:docked')");
	find(t, NULL);
	assert_true(t->b.rig_stopped);
}

static void
test_handoff(void **state)
{
	struct town *t = *state;

	assert_string_equal(find(t, NULL), "");
	assert_null(t->b.handoff);
	run(t->hq_db, "INSERT INTO issues(id, title, status, assignee, description) VALUES"
	    "('hq-r', 'polecat Handoff', 'pinned', NULL, 'for the whole role')");
	find(t, NULL);
	assert_string_equal(clean_bytes(t->b.handoff), "for the whole role");
	assert_string_equal(t->b.handoff_id, "hq-r");
	run(t->hq_db,
	    "INSERT INTO issues(id, title, status, assignee, description) VALUES"
	    "('hq-n', 'Toast handoff', 'pinned', '" WORK "', 'for toast alone'), ('hq-x', 'nux Handoff', "
							 "'pinned', NULL, 'for nux')");
	assert_string_equal(find(t, NULL), "");
	assert_string_equal(t->b.handoff_id, "hq-n");
	run(t->hq_db,
	    "INSERT INTO issues(id, title, status, assignee, issue_type, updated_at, description) VALUES"
	    "('hq-m1', '🤝 HANDOFF: older', 'hooked', '" MAIL "', 'message', '2026-01-01T00:00:00Z', 'older "
							      "mail'),"
	    "('hq-m2', '🤝 HANDOFF: newer', 'hooked', '" MAIL "', 'task', '2026-01-02T00:00:00Z', 'continue "
							      "with SECRET parsing'),"
	    "('hq-m3', '🤝 HANDOFF: read', 'closed', '" MAIL "', 'message', '2026-01-03T00:00:00Z', 'read "
							     "already'),"
	    "('hq-m4', '🤝 HANDOFF: to nux', 'hooked', 'gastown/nux', 'message', '2026-01-03T00:00:00Z', "
	    "'not for us')");
	/* mail is hooked too, but it is no work */
	assert_string_equal(find(t, NULL), "");
	assert_string_equal(t->b.handoff_id, "hq-m2");
	assert_string_equal(clean_bytes(t->b.handoff), "continue with [R] parsing");
	assert_null(t->b.last_closed);
}

static void
test_texts_are_scrubbed_and_cut(void **state)
{
	struct town *t = *state;

	run(t->rig_db,
	    "INSERT INTO issues(id, title, status, assignee, description, design, acceptance_criteria, "
	    "notes) VALUES"
	    "('gt-SECRET', 'the SECRET title', 'hooked', '" WORK "', replace(hex(zeroblob(50000)), '00', "
								 "'line' || char(10)), 'use SECRET', '', "
								 "'n1')");
	assert_string_equal(find(t, NULL), "gt-[R]");
	assert_string_equal(clean_bytes(t->b.title), "the [R] title");
	assert_string_equal(clean_bytes(t->b.notes), "Design:\nuse [R]\n\nNotes:\nn1");
	assert_true(clean_len(t->b.description) <= (64 << 10) + 100);
	assert_true(clean_len(t->b.description) > 60000);
	assert_non_null(strstr(
	    clean_bytes(t->b.description), "line\n[cut: the field has 244 KiB, at most 64 KiB are read]"));
	/* one line without an end, with a secret across the cut */
	run(t->rig_db,
	    "UPDATE issues SET description = replace(hex(zeroblob(32766)), '00', 'ää') || "
	    "'SECRETSECRETSECRET' || hex(zeroblob(3000000))");
	find(t, NULL);
	assert_true(clean_len(t->b.description) <= (64 << 10) + 100);
	assert_true(clean_len(t->b.description) > 60000);
	assert_null(strstr(clean_bytes(t->b.description), "SECR"));
}

static void
test_old_columns(void **state)
{
	struct town *t = *state;

	add(t->rig_db, "bd-1", "closed", "toast", "closed");
	add(t->rig_db, "bd-2", "in_progress", MAIL, "old town");
	add(t->hq_db, "bd-3", "hooked", MAIL, "🤝 HANDOFF: go on");
	assert_string_equal(find(t, NULL), "bd-2");
	assert_string_equal(clean_bytes(t->b.description), "old town");
	assert_string_equal(t->b.handoff_id, "bd-3");
	assert_null(t->b.type);
	assert_null(t->b.notes);
}

static void
test_without_a_rig(void **state)
{
	struct town *t = *state;
	const char *databases[] = { t->rig };

	add(t->rig_db, "bd-1", "in_progress", "Toast", "plain");
	add(t->rig_db, "bd-2", "hooked", WORK, "of a rig");
	assert_int_equal(bead_find(databases, 1, NULL, "toast", NULL, &t->s, &t->b, &t->e), 0);
	assert_string_equal(t->b.id, "bd-1");
	bead_release(&t->b);
	assert_int_equal(bead_find(databases, 0, NULL, "toast", NULL, &t->s, &t->b, &t->e), 0);
	assert_null(t->b.id);
	/* quotes and wildcards in names are letters */
	assert_int_equal(bead_find(databases, 1, "%", "x' OR '1'='1", "' OR 1=1 --", &t->s, &t->b, &t->e), 0);
	assert_null(t->b.id);
}

/* A database that cannot be read is never "no work", also when another one has some. */
static void
test_unreadable(void **state)
{
	struct town *t = *state;
	const char *databases[] = { t->rig, t->hq };
	char *missing = io_join(t->dir, "missing.db");

	add(t->rig_db, "gt-1", "hooked", WORK, "work");
	sqlite3_close(t->hq_db);
	t->hq_db = NULL;
	unlink(t->hq);
	temp_write(t->hq,
	    "not at all a database, but long enough to be taken for one: a hundred bytes are needed for the "
	    "header of it");
	assert_int_equal(bead_find(databases, 2, "gastown", "toast", NULL, &t->s, &t->b, &t->e), -1);
	assert_string_equal(t->e.name, "not-a-database");
	assert_null(t->b.id);
	unlink(t->hq);
	t->hq_db = make(t->hq, "id TEXT, name TEXT", "DELETE");
	assert_int_equal(bead_find(databases, 2, "gastown", "toast", NULL, &t->s, &t->b, &t->e), -1);
	assert_string_equal(t->e.name, "not-beads");
	databases[1] = missing;
	assert_int_equal(bead_find(databases, 2, "gastown", "toast", NULL, &t->s, &t->b, &t->e), -1);
	assert_string_equal(t->e.name, "not-found");
	free(missing);
}

/* --- where the database is --- */

static void
sub(struct town *t, const char *name)
{
	char *path = io_join(t->dir, name);

	assert_int_equal(mkdir(path, 0700), 0);
	free(path);
}

static void
file(struct town *t, const char *name, const char *content)
{
	char *path = io_join(t->dir, name);

	temp_write(path, content);
	free(path);
}

/* The database for dir, relative to the test's directory; "dolt", or "". */
static const char *
where(struct town *t, const char *dir, bool up)
{
	static char answer[512];
	char *path = io_join(t->dir, dir), *found;
	bool dolt = true;

	found = bead_database(path, up, &dolt);
	snprintf(answer, sizeof answer, "%s",
	    dolt                ? "dolt"
		: found != NULL ? found + strlen(t->dir) + 1
				: "");
	if (dolt)
		assert_null(found);
	free(found);
	free(path);
	return answer;
}

static void
test_database(void **state)
{
	struct town *t = *state;

	sub(t, "rig");
	sub(t, "rig/src");
	assert_string_equal(where(t, "rig", false), "");
	assert_string_equal(where(t, "nowhere", true), "");
	sub(t, "rig/.beads");
	assert_string_equal(where(t, "rig", false), "");
	file(t, "rig/.beads/zebra.db", "");
	file(t, "rig/.beads/other.db", "");
	file(t, "rig/.beads/a.db.backup", "");
	assert_string_equal(where(t, "rig", false), "rig/.beads/other.db");
	file(t, "rig/.beads/beads.db", "");
	assert_string_equal(where(t, "rig", false), "rig/.beads/beads.db");
	assert_string_equal(where(t, "rig/.beads", false), "rig/.beads/beads.db");
	assert_string_equal(where(t, "rig/src", false), "");
	assert_string_equal(where(t, "rig/src", true), "rig/.beads/beads.db");
	file(t, "rig/.beads/config.json", "{\"database\":\"other.db\"}");
	assert_string_equal(where(t, "rig", false), "rig/.beads/other.db");
	file(t, "rig/.beads/metadata.json", "{\"database\":\"zebra.db\",\"backend\":\"sqlite\"}");
	assert_string_equal(where(t, "rig", false), "rig/.beads/zebra.db");
	file(t, "rig/.beads/metadata.json", "{\"database\":\"../../elsewhere.db\"}");
	file(t, "elsewhere.db", "");
	assert_string_equal(where(t, "rig", false), "rig/.beads/beads.db");
	file(t, "rig/.beads/metadata.json", "{\"database\":");
	assert_string_equal(where(t, "rig", false), "rig/.beads/other.db");
}

static void
test_dolt_makes_files_stale(void **state)
{
	struct town *t = *state;

	sub(t, "rig");
	sub(t, "rig/.beads");
	file(t, "rig/.beads/beads.db", "");
	file(t, "rig/.beads/metadata.json", "{\"database\":\"dolt\",\"backend\":\"dolt\"}");
	assert_string_equal(where(t, "rig", false), "dolt");
	file(t, "rig/.beads/metadata.json", "{\"dolt_mode\":\"server\"}");
	assert_string_equal(where(t, "rig", false), "dolt");
	file(t, "rig/.beads/metadata.json", "{}");
	assert_string_equal(where(t, "rig", false), "rig/.beads/beads.db");
	sub(t, "rig/.beads/dolt");
	assert_string_equal(where(t, "rig", false), "dolt");
	file(t, "rig/.beads/metadata.json", "{\"backend\":\"sqlite\"}");
	assert_string_equal(where(t, "rig", false), "rig/.beads/beads.db");
}

static void
test_redirects(void **state)
{
	static const char *const dirs[] = { "a", "a/.beads", "b", "b/.beads", "c", "c/.beads", "d",
		"d/.beads" };
	struct town *t = *state;
	char *absolute = xasprintf("  %s/d/.beads  \n", t->dir);

	for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++)
		sub(t, dirs[i]);
	file(t, "a/.beads/beads.db", "");
	file(t, "d/.beads/beads.db", "");
	file(t, "a/.beads/redirect", "../b/.beads\n");
	file(t, "b/.beads/redirect", "../c/.beads");
	file(t, "c/.beads/redirect", absolute);
	assert_string_equal(where(t, "a", false), "d/.beads/beads.db");
	file(t, "d/.beads/redirect", ".beads\n");
	assert_string_equal(where(t, "a", false), "d/.beads/beads.db");
	/* a ring ends */
	file(t, "d/.beads/redirect", "../a/.beads\n");
	assert_string_equal(where(t, "a", false), "a/.beads/beads.db");
	/* one that leads nowhere is as none */
	file(t, "a/.beads/redirect", "../gone/.beads\n");
	assert_string_equal(where(t, "a", false), "a/.beads/beads.db");
	file(t, "a/.beads/redirect", "\n");
	assert_string_equal(where(t, "a", false), "a/.beads/beads.db");
	free(absolute);
}

/* What others can change names no work: neither found on the way up nor behind a redirect. */
static void
test_beads_of_others(void **state)
{
	static const char *const dirs[] = { "a", "a/.beads", "a/src", "b", "b/.beads" };
	struct town *t = *state;
	char *beads = io_join(t->dir, "b/.beads");

	for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++)
		sub(t, dirs[i]);
	file(t, "a/.beads/redirect", "../b/.beads\n");
	file(t, "b/.beads/beads.db", "");
	assert_string_equal(where(t, "a/src", true), "b/.beads/beads.db");
	assert_int_equal(chmod(beads, 0777), 0);
	assert_string_equal(where(t, "a/src", true), "");
	assert_string_equal(where(t, "b", false), "");
	file(t, "b/.beads/metadata.json", "{\"backend\":\"dolt\"}");
	assert_string_equal(where(t, "b", false), "");
	assert_int_equal(chmod(beads, 0700), 0);
	assert_string_equal(where(t, "b", false), "dolt");
	free(beads);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_virtual_table, setup_old, teardown),
		cmocka_unit_test_setup_teardown(test_order_of_statuses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_town_after_rig, setup, teardown),
		cmocka_unit_test_setup_teardown(test_newest_of_equals, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hint, setup, teardown),
		cmocka_unit_test_setup_teardown(test_closed_work, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hook_of_the_agent_bead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_state_of_the_agent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_handoff, setup, teardown),
		cmocka_unit_test_setup_teardown(test_texts_are_scrubbed_and_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_old_columns, setup_old, teardown),
		cmocka_unit_test_setup_teardown(test_without_a_rig, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreadable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_database, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dolt_makes_files_stale, setup, teardown),
		cmocka_unit_test_setup_teardown(test_redirects, setup, teardown),
		cmocka_unit_test_setup_teardown(test_beads_of_others, setup, teardown),
	};

	return cmocka_run_group_tests_name("bead", tests, NULL, NULL);
}
