#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "beads/beads_private.h"
#include "base/buf.h"
#include "base/db.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "gastown/gastown.h"

/* Where a directory's beads are (gas town facts 7.1, 7.3, 7.4). */

#define REDIRECTS 4
#define SMALL 65536			/* of a redirect or metadata file */

static bool
is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool
has(const char *dir, const char *name, bool (*test)(const char *))
{
	char *path = io_join(dir, name);
	bool yes = test(path);

	free(path);
	return yes;
}

/* The .beads directory of dir or of the nearest parent that has one. Heap, NULL. */
static char *
beads_dir(const char *dir, bool walk_up)
{
	char *at = realpath(dir, NULL), *slash;

	if (at != NULL && str_ends(at, "/.beads") && io_is_dir(at))
		return at;
	while (at != NULL) {
		char *beads = io_join(at, ".beads");

		if (io_is_dir(beads)) {
			free(at);
			return beads;
		}
		free(beads);
		slash = strrchr(at, '/');
		if (!walk_up || slash == NULL || at[1] == '\0')
			break;
		slash[slash == at] = '\0';
	}
	free(at);
	return NULL;
}

/*
 * Where .beads/redirect leads: one path, relative to the directory that holds .beads. Heap; NULL
 * when it leads nowhere else.
 */
static char *
redirected(const char *beads)
{
	char *file = io_join(beads, "redirect"), *above = NULL, *joined = NULL, *target = NULL, *line;
	struct buf b = BUF_INIT;

	if (io_read_file(file, SMALL, &b, NULL) == 0) {
		line = b.data + strspn(b.data, " \t\r\n");
		line[strcspn(line, "\r\n")] = '\0';
		while (str_ends(line, " ") || str_ends(line, "\t"))
			line[strlen(line) - 1] = '\0';
		above = xstrndup(beads, (size_t)(strrchr(beads, '/') - beads));
		joined = line[0] == '/' ? xstrdup(line) : io_join(above[0] != '\0' ? above : "/", line);
		if (line[0] != '\0')
			target = realpath(joined, NULL);
	}
	if (target != NULL && (strcmp(target, beads) == 0 || !io_is_dir(target))) {
		free(target);
		target = NULL;
	}
	free(above);
	free(joined);
	free(file);
	buf_release(&b);
	return target;
}

/* What metadata.json (or the older config.json) says. *name: a plain file name, heap, or NULL. */
static void
read_metadata(const char *beads, bool *dolt, bool *sqlite, char **name)
{
	static const char *const files[] = { "metadata.json", "config.json" };
	const char *key, *backend, *database;
	json_t *v = NULL, *value;

	for (size_t i = 0; i < 2 && v == NULL; i++) {
		char *path = io_join(beads, files[i]);
		struct buf b = BUF_INIT;

		if (io_read_file(path, SMALL, &b, NULL) == 0)
			v = json_parse(b.data, b.len, path, NULL);
		buf_release(&b);
		free(path);
	}
	backend = json_text(v, "backend", "");
	*sqlite = strcasecmp(backend, "sqlite") == 0;
	*dolt = strcasecmp(backend, "dolt") == 0;
	json_object_foreach(v, key, value)
		if (str_starts(key, "dolt_") && !*sqlite)
			*dolt = true;
	database = json_text(v, "database", "");
	/* a name only: the file must not send us to some other place */
	*name = database[0] != '\0' && strchr(database, '/') == NULL ? xstrdup(database) : NULL;
	json_decref(v);
}

static char *
first_db(const char *beads)
{
	struct dirent **names;
	char *found = NULL;
	int n = scandir(beads, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		if (found == NULL && names[i]->d_name[0] != '.' && str_ends(names[i]->d_name, ".db") &&
		    has(beads, names[i]->d_name, is_file))
			found = io_join(beads, names[i]->d_name);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return found;
}

/*
 * The .beads directory that counts, behind its redirects, heap; NULL when there is none. *name:
 * of the database file, as in read_metadata.
 */
static char *
locate(const char *dir, bool walk_up, bool *dolt, char **name)
{
	char *beads = beads_dir(dir, walk_up), *next;
	bool sqlite;

	*dolt = false;
	*name = NULL;
	if (beads == NULL)
		return NULL;
	for (int i = 0; i < REDIRECTS && (next = redirected(beads)) != NULL; i++) {
		free(beads);
		beads = next;
	}
	if (!town_trusts(beads, 0, NULL)) {
		free(beads);
		return NULL;
	}
	read_metadata(beads, dolt, &sqlite, name);
	if (!sqlite && (has(beads, "dolt", io_is_dir) || has(beads, "embeddeddolt", io_is_dir)))
		*dolt = true;
	return beads;
}

char *
bead_database(const char *dir, bool walk_up, bool *dolt)
{
	char *name, *beads = locate(dir, walk_up, dolt, &name), *found = NULL;

	if (beads != NULL && !*dolt && name != NULL && has(beads, name, is_file))
		found = io_join(beads, name);
	else if (beads != NULL && !*dolt)
		found = has(beads, "beads.db", is_file) ? io_join(beads, "beads.db") : first_db(beads);
	free(name);
	free(beads);
	return found;
}

char *
bead_dolt_dir(const char *dir, bool walk_up)
{
	bool dolt;
	char *name, *beads = locate(dir, walk_up, &dolt, &name);

	free(name);
	if (dolt)
		return beads;
	free(beads);
	return NULL;
}

/*
 * Which bead is the work of an agent that died (gas town facts 6 and 7)?
 *
 * Hooked beads are authoritative; then the bead that somebody who knew the session named; then
 * the agent bead's hook; then what is in progress, pinned (how hooking was written before the
 * status "hooked") or open. Two spellings of the assignee are in use: work has RIG/polecats/NAME,
 * mail has RIG/NAME. Databases differ in age: every column behind the oldest ones is looked for
 * before it is asked for.
 */

/* One database: its connection and which of the younger columns it has. */
struct bead_source {
	sqlite3 *db;
	const char *path;
	bool type, updated, closed_at, template, ephemeral, hook, state, labels, design, criteria, notes,
	    description;
};

/* --- one database --- */

static int
probe_columns(struct bead_source *d, struct err *e)
{
	static const char *const needed[] = { "id", "title", "status", "assignee" };

	for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
		if (!db_has_column(d->db, "issues", needed[i])) {
			err_set(e, GT_FAIL, "not-beads", "%s is not a beads database (issues.%s is missing)",
			    d->path, needed[i]);
			return err_hint(
			    e, "Point BEADS_DIR to the right .beads directory, or remove the file");
		}
	d->type = db_has_column(d->db, "issues", "issue_type");
	d->updated = db_has_column(d->db, "issues", "updated_at");
	d->closed_at = db_has_column(d->db, "issues", "closed_at");
	d->template = db_has_column(d->db, "issues", "is_template");
	d->ephemeral = db_has_column(d->db, "issues", "ephemeral");
	d->hook = db_has_column(d->db, "issues", "hook_bead");
	d->state = db_has_column(d->db, "issues", "agent_state");
	d->labels = db_has_column(d->db, "labels", "label");
	d->design = db_has_column(d->db, "issues", "design");
	d->criteria = db_has_column(d->db, "issues", "acceptance_criteria");
	d->notes = db_has_column(d->db, "issues", "notes");
	d->description = db_has_column(d->db, "issues", "description");
	return 0;
}

/*
 * Times are text of several kinds (RFC 3339 with and without fractions, SQLite's own): julianday
 * reads them all. (ORDER BY 0 would name a column.)
 */
static char *
age_of(const struct bead_source *d, bool closed)
{
	if (closed && d->closed_at && d->updated)
		return xstrdup("coalesce(julianday(closed_at), julianday(updated_at), 0)");
	if (closed && d->closed_at)
		return xstrdup("coalesce(julianday(closed_at), 0)");
	return xstrdup(d->updated ? "coalesce(julianday(updated_at), 0)" : "0.0");
}

/*
 * What is nobody's work: agents, roles, mail and the other kinds that Gas Town keeps beside it,
 * and the pinned role bead.
 */
static char *
sqlite_is_work(const struct bead_source *d)
{
	return xasprintf("%s AND %s AND title NOT LIKE '🤝 HANDOFF:%%' AND NOT (status = 'pinned' AND title "
			 "LIKE '%% Handoff')",
	    d->type ? "coalesce(issue_type, 'task') NOT IN ('agent', 'role', 'rig', 'convoy', 'slot', "
		      "'queue', 'event', 'message', 'gate',"
		      " 'merge-request')"
		    : "1",
	    d->template ? "coalesce(is_template, 0) = 0" : "1");
}

#define MINE "assignee COLLATE NOCASE IN (?1, ?2)"

/*
 * Prepares "SELECT <the columns of a bead>, <extra> FROM issues <rest>" with the two assignees
 * bound where the statement has them.
 */
static sqlite3_stmt *
select_beads(const struct bead_search *q, const struct bead_source *d, const char *extra, const char *rest,
    struct err *e)
{
	char *sql = xasprintf("SELECT id, status, %s, assignee, title, %s, %s, %s, %s, %s FROM issues %s",
	    d->type ? "issue_type" : "NULL", d->description ? "description" : "NULL",
	    d->design ? "design" : "NULL", d->criteria ? "acceptance_criteria" : "NULL",
	    d->notes ? "notes" : "NULL", extra, rest);
	sqlite3_stmt *st = db_prepare(d->db, sql, e);

	free(sql);
	if (st != NULL && sqlite3_bind_parameter_count(st) >= 2) {
		sqlite3_bind_text(st, 1, q->work, -1, SQLITE_STATIC);
		sqlite3_bind_text(st, 2, q->mail, -1, SQLITE_STATIC);
	}
	return st;
}

/* 1 on a row, 0 on none, -1; anything but 1 finalizes. */
static int
step(const struct bead_source *d, sqlite3_stmt *st, struct err *e)
{
	int rc = sqlite3_step(st);

	if (rc == SQLITE_ROW)
		return 1;
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? 0 : db_fail(d->db, rc, e);
}

/* The row's texts are lent until the next step. */
static struct bead_issue
issue_from_row(sqlite3_stmt *st)
{
	const char *v[9];

	for (int i = 0; i < 9; i++)
		v[i] = (const char *)sqlite3_column_text(st, i);
	return (struct bead_issue){ .id = v[0],
		.status = v[1],
		.type = v[2],
		.assignee = v[3],
		.title = v[4],
		.description = v[5],
		.design = v[6],
		.criteria = v[7],
		.notes = v[8] };
}

static void
add_row_work(struct bead_search *q, const struct bead_source *d, sqlite3_stmt *st, enum bead_rank rank)
{
	struct bead_issue issue = issue_from_row(st);

	bead_search_add_work(q, &issue, d->path, rank);
}

/* --- what is looked for --- */

/*
 * A status that we do not know is an open one. Of two equals the lasting one beats the ephemeral
 * one (a wisp), the younger the older.
 */
static int
find_assigned(struct bead_search *q, const struct bead_source *d, struct err *e)
{
	char *work = sqlite_is_work(d), *age = age_of(d, false), *rest;
	sqlite3_stmt *st;
	int found;

	rest = xasprintf("WHERE " MINE " AND %s AND lower(status) NOT IN ('closed', 'tombstone')"
			 " ORDER BY CASE lower(status) WHEN 'hooked' THEN 0 WHEN 'in_progress' THEN 1 WHEN "
			 "'pinned' THEN 2 WHEN 'open' THEN 3"
			 " ELSE 4 END, %s, %s DESC, id LIMIT 1",
	    work, d->ephemeral ? "coalesce(ephemeral, 0)" : "0.0", age);
	st = select_beads(q, d, "0", rest, e);
	free(work);
	free(age);
	free(rest);
	if (st == NULL)
		return -1;
	found = step(d, st, e);
	if (found == 1) {
		enum bead_rank rank = bead_rank_of((const char *)sqlite3_column_text(st, 1));

		if (rank < q->best)
			add_row_work(q, d, st, rank);
		sqlite3_finalize(st);
	}
	return found < 0 ? -1 : 0;
}

/*
 * A bead by its id; closed ones count only when `named`. `mine`: only when it is assigned to us
 * or to nobody.
 */
static int
find_by_id(struct bead_search *q, const struct bead_source *d, const char *id, enum bead_rank rank,
    bool named, bool mine, struct err *e)
{
	sqlite3_stmt *st = select_beads(q, d, "0",
	    mine ? "WHERE id = ?3 AND (coalesce(assignee, '') = '' OR " MINE ")" : "WHERE id = ?3", e);
	int found;

	if (st == NULL)
		return -1;
	sqlite3_bind_text(st, 3, id, -1, SQLITE_STATIC);
	found = step(d, st, e);
	if (found == 1) {
		if (bead_is_closed((const char *)sqlite3_column_text(st, 1)))
			rank = named ? BEAD_RANK_CLOSED_HINT : BEAD_RANK_NONE;
		if (rank < q->best)
			add_row_work(q, d, st, rank);
		sqlite3_finalize(st);
	}
	return found < 0 ? -1 : 0;
}

/*
 * The agent's own bead, PREFIX-RIG-polecat-NAME, or RIG-polecat-NAME where the prefix is the rig:
 * what it does, and in older towns its hook.
 */
static int
find_agent_bead(struct bead_search *q, const struct bead_source *d, struct err *e)
{
	char *tail, *extra, *id = NULL;
	sqlite3_stmt *st;
	int found, ret = 0;

	if (q->rig == NULL || (!d->hook && !d->description))
		return 0;
	tail = xasprintf("%s-polecat-%s", q->rig, q->name);
	extra = xasprintf("%s, %s, %s", d->hook ? "hook_bead" : "NULL", d->state ? "agent_state" : "NULL",
	    d->updated ? "CAST((julianday(updated_at) - 2440587.5) * 86400000 AS INTEGER)" : "0");
	st = select_beads(q, d, extra,
	    "WHERE lower(id) = lower(?3) OR lower(substr(id, -length(?3) - 1)) = '-' || lower(?3) LIMIT 1",
	    e);
	if (st != NULL)
		sqlite3_bind_text(st, 3, tail, -1, SQLITE_STATIC);
	found = st != NULL ? step(d, st, e) : -1;
	if (found == 1) {
		const char *text = (const char *)sqlite3_column_text(st, 5);

		bead_search_set_agent(
		    q, text, (const char *)sqlite3_column_text(st, 10), sqlite3_column_int64(st, 11));
		id = bead_line(text, "hook_bead");
		if (id == NULL && sqlite3_column_bytes(st, 9) > 0)
			id = xstrdup((const char *)sqlite3_column_text(st, 9));
		sqlite3_finalize(st);
	}
	free(tail);
	free(extra);
	if (id != NULL)
		ret = find_by_id(q, d, id, BEAD_RANK_HOOK_BEAD, false, true, e);
	free(id);
	return found < 0 ? -1 : ret;
}

/*
 * The rig's own bead, PREFIX-rig-RIG, has the label status:parked or status:docked while gt wants
 * nothing to run there.
 */
static int
find_rig_bead(struct bead_search *q, const struct bead_source *d, struct err *e)
{
	sqlite3_stmt *st;
	char *tail;
	int found;

	if (q->rig == NULL || !d->labels)
		return 0;
	st = db_prepare(d->db,
	    "SELECT 1 FROM labels WHERE substr(issue_id, -length(?1)) = ?1 AND label IN ('status:parked', "
	    "'status:docked')"
	    " LIMIT 1",
	    e);
	if (st == NULL)
		return -1;
	tail = xasprintf("-rig-%s", q->rig);
	sqlite3_bind_text(st, 1, tail, -1, SQLITE_STATIC);
	found = step(d, st, e);
	if (found == 1) {
		q->out->rig_stopped = true;
		sqlite3_finalize(st);
	}
	free(tail);
	return found < 0 ? -1 : 0;
}

/* Newest closed work: what a caller says when no open work is left. */
static int
find_closed(struct bead_search *q, const struct bead_source *d, struct err *e)
{
	char *work = sqlite_is_work(d), *age = age_of(d, true), *rest;
	sqlite3_stmt *st;
	int found;

	rest = xasprintf("WHERE " MINE " AND %s AND lower(status) IN ('closed', 'tombstone') ORDER BY %s "
				       "DESC, id LIMIT 1",
	    work, age);
	st = select_beads(q, d, age, rest, e);
	free(work);
	free(age);
	free(rest);
	if (st == NULL)
		return -1;
	found = step(d, st, e);
	if (found == 1) {
		bead_search_add_closed(
		    q, (const char *)sqlite3_column_text(st, 0), sqlite3_column_double(st, 9));
		sqlite3_finalize(st);
	}
	return found < 0 ? -1 : 0;
}

/*
 * The handoff: a mail of the agent to its successor, else the pinned bead with its name, else the
 * one of its whole role. Column 9 is the rank, the lower the better.
 */
static int
sqlite_find_handoff(struct bead_search *q, const struct bead_source *d, struct err *e)
{
	char *age = age_of(d, false), *rest;
	sqlite3_stmt *st;
	int found;

	rest = xasprintf("WHERE ((title LIKE '🤝 HANDOFF:%%' AND " MINE ")"
	    " OR (status = 'pinned' AND title COLLATE NOCASE IN (?3, 'polecat Handoff')))"
	    " AND lower(status) NOT IN ('closed', 'tombstone') AND %s ORDER BY 10, %s DESC, id LIMIT 1",
	    d->description ? "coalesce(description, '') <> ''" : "0", age);
	st = select_beads(q, d,
	    "CASE WHEN title LIKE '🤝 HANDOFF:%' THEN 1 WHEN title COLLATE NOCASE = ?3 THEN 2 ELSE 3 END",
	    rest, e);
	free(age);
	free(rest);
	if (st == NULL)
		return -1;
	rest = xasprintf("%s Handoff", q->name);
	sqlite3_bind_text(st, 3, rest, -1, SQLITE_STATIC);
	found = step(d, st, e);
	if (found == 1) {
		struct bead_issue issue = issue_from_row(st);

		bead_search_add_handoff(q, &issue, sqlite3_column_int(st, 9));
		sqlite3_finalize(st);
	}
	free(rest);
	return found < 0 ? -1 : 0;
}

/*
 * In each database as in the list above; an earlier database wins over a later one, except that
 * work which was merely assigned (open) gives way to work under way elsewhere.
 */
static int
sqlite_search(struct bead_search *q, const char *path, struct err *e)
{
	struct bead_source d = { .path = path };
	int ret = -1;

	if (db_open_foreign(path, &d.db, e) != 0)
		return -1;
	if (probe_columns(&d, e) != 0)
		goto out;
	if (q->hint != NULL && q->best > BEAD_RANK_HOOKED &&
	    find_by_id(q, &d, q->hint, BEAD_RANK_HINT, true, false, e) != 0)
		goto out;
	if ((q->best == BEAD_RANK_NONE || q->best >= BEAD_RANK_CLOSED_HINT || q->best == BEAD_RANK_HINT) &&
	    (find_assigned(q, &d, e) != 0 || find_agent_bead(q, &d, e) != 0))
		goto out;
	if (find_rig_bead(q, &d, e) != 0 || find_closed(q, &d, e) != 0 || sqlite_find_handoff(q, &d, e) != 0)
		goto out;
	ret = 0;
out:
	db_close(d.db);
	return ret;
}

int
bead_find(const char *const *databases, size_t n, const char *rig, const char *name, const char *hint,
    struct scrub *s, struct bead *out, struct err *e)
{
	struct bead_search q;
	int ret = 0;

	bead_search_init(&q, rig, name, hint, s, out);
	for (size_t i = 0; i < n && ret == 0; i++)
		ret = sqlite_search(&q, databases[i], e);
	return bead_search_end(&q, ret);
}
