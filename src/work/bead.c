/*
 * Which bead is the work of an agent that died (gas town facts 6 and 7)?
 *
 * Hooked beads are authoritative; then the bead that somebody who knew the session named; then the agent bead's hook; then what is in
 * progress, pinned (how hooking was written before the status "hooked") or open. Two spellings of the assignee are in use: work has
 * RIG/polecats/NAME, mail has RIG/NAME. Databases differ in age: every column behind the oldest ones is looked for before it is asked
 * for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work/bead.h"
#include "base/buf.h"
#include "base/db.h"
#include "base/err.h"
#include "scrub/scrub.h"

#define RAW_MAX ((size_t)1 << 20)	/* what the scrubber is given of one field */
#define FIELD_MAX ((size_t)64 << 10)	/* what is kept of it */
#define WORD_MAX 256			/* id, status, type, assignee */

enum rank { RANK_HOOKED, RANK_HINT, RANK_HOOK_BEAD, RANK_IN_PROGRESS, RANK_PINNED, RANK_CLOSED_HINT, RANK_OPEN, RANK_NONE };

/* One search: whom for, and the best that was found so far. */
struct search {
	const char *rig, *name, *hint;
	struct scrub *s;
	char *work;			/* RIG/polecats/NAME */
	char *mail;			/* RIG/NAME, or NAME when there is no rig */
	struct bead *out;
	enum rank best;
	double closed_at;		/* of last_closed */
	int handoff_rank;		/* 0 none, then as in handoff_sql */
};

/* One database: its connection and which of the younger columns it has. */
struct source {
	sqlite3 *db;
	const char *path;
	bool type, updated, closed_at, template, ephemeral, hook, design, criteria, notes, description;
};

/* What describes the work itself; the handoff stays. */
static void
release_work(struct bead *b)
{
	free(b->id);
	free(b->status);
	free(b->type);
	free(b->assignee);
	free(b->database);
	clean_free(b->title);
	clean_free(b->description);
	clean_free(b->notes);
}

void
bead_release(struct bead *b)
{
	release_work(b);
	clean_free(b->handoff);
	free(b->handoff_id);
	free(b->last_closed);
	memset(b, 0, sizeof *b);
}

/* --- fields --- */

/* At most max bytes: up to a line's end where one is near, never through a rune. */
static size_t
cut_to(const char *p, size_t n, size_t max)
{
	const char *nl;

	if (n <= max)
		return n;
	nl = memrchr(p + max - max / 4, '\n', max / 4);
	if (nl != NULL)
		return (size_t)(nl - p);
	while (max > 0 && ((unsigned char)p[max] & 0xc0) == 0x80)
		max--;
	return max;
}

/*
 * Scrubbed first, then cut, so that no piece of a secret is left that no rule would know (the far larger cut before goes away with it).
 * The sentence about the cut goes through the scrubber as well, because nothing else makes clean text.
 */
static struct clean_text *
clean_field(struct scrub *s, const char *p, size_t n)
{
	struct clean_text *whole = scrub_text(s, p, cut_to(p, n, RAW_MAX), 0), *cut;
	struct buf b = BUF_INIT;

	if (n <= RAW_MAX && clean_len(whole) <= FIELD_MAX)
		return whole;
	buf_add(&b, clean_bytes(whole), cut_to(clean_bytes(whole), clean_len(whole), FIELD_MAX));
	buf_fmt(&b, "\n[cut: the field has %zu KiB, at most 64 KiB are read]\n", n >> 10);
	cut = scrub_text(s, b.data, b.len, 0);
	buf_release(&b);
	clean_free(whole);
	return cut;
}

static struct clean_text *
clean_column(struct scrub *s, sqlite3_stmt *st, int i)
{
	const char *p = (const char *)sqlite3_column_text(st, i);

	return p != NULL && p[0] != '\0' ? clean_field(s, p, (size_t)sqlite3_column_bytes(st, i)) : NULL;
}

/* A short word: scrubbed too, one line. NULL for NULL and "". */
static char *
word_column(struct scrub *s, sqlite3_stmt *st, int i)
{
	const char *p = (const char *)sqlite3_column_text(st, i);
	struct clean_text *t;
	char *word;

	if (p == NULL || p[0] == '\0')
		return NULL;
	t = scrub_text(s, p, cut_to(p, strlen(p), RAW_MAX), 0);
	word = xstrndup(clean_bytes(t), cut_to(clean_bytes(t), clean_len(t), WORD_MAX));
	word[strcspn(word, "\r\n")] = '\0';
	clean_free(t);
	return word;
}

/* --- one database --- */

static int
probe(struct source *d, struct err *e)
{
	static const char *const needed[] = { "id", "title", "status", "assignee" };

	for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
		if (!db_has_column(d->db, "issues", needed[i])) {
			err_set(e, GT_FAIL, "not-beads", "%s is no beads database (issues.%s is missing)", d->path, needed[i]);
			return err_hint(e, "Point BEADS_DIR to the right .beads directory, or remove the file");
		}
	d->type = db_has_column(d->db, "issues", "issue_type");
	d->updated = db_has_column(d->db, "issues", "updated_at");
	d->closed_at = db_has_column(d->db, "issues", "closed_at");
	d->template = db_has_column(d->db, "issues", "is_template");
	d->ephemeral = db_has_column(d->db, "issues", "ephemeral");
	d->hook = db_has_column(d->db, "issues", "hook_bead");
	d->design = db_has_column(d->db, "issues", "design");
	d->criteria = db_has_column(d->db, "issues", "acceptance_criteria");
	d->notes = db_has_column(d->db, "issues", "notes");
	d->description = db_has_column(d->db, "issues", "description");
	return 0;
}

/*
 * Times are text of several kinds (RFC 3339 with and without fractions, SQLite's own): julianday reads them all. (ORDER BY 0 would name
 * a column.)
 */
static char *
age_of(const struct source *d, bool closed)
{
	if (closed && d->closed_at && d->updated)
		return xstrdup("coalesce(julianday(closed_at), julianday(updated_at), 0)");
	if (closed && d->closed_at)
		return xstrdup("coalesce(julianday(closed_at), 0)");
	return xstrdup(d->updated ? "coalesce(julianday(updated_at), 0)" : "0.0");
}

/* What is nobody's work: agents, roles, mail and the other kinds that Gas Town keeps beside it, and the pinned role bead. */
static char *
is_work(const struct source *d)
{
	return xasprintf("%s AND %s AND title NOT LIKE '🤝 HANDOFF:%%' AND NOT (status = 'pinned' AND title LIKE '%% Handoff')",
	    d->type ? "coalesce(issue_type, 'task') NOT IN ('agent', 'role', 'rig', 'convoy', 'slot', 'queue', 'event', 'message', 'gate',"
	    " 'merge-request')" : "1", d->template ? "coalesce(is_template, 0) = 0" : "1");
}

#define MINE "assignee COLLATE NOCASE IN (?1, ?2)"

/* Prepares "SELECT <the columns of a bead>, <extra> FROM issues <rest>" with the two assignees bound where the statement has them. */
static sqlite3_stmt *
select_beads(const struct search *q, const struct source *d, const char *extra, const char *rest, struct err *e)
{
	char *sql = xasprintf("SELECT id, status, %s, assignee, title, %s, %s, %s, %s, %s FROM issues %s", d->type ? "issue_type" : "NULL",
	    d->description ? "description" : "NULL", d->design ? "design" : "NULL", d->criteria ? "acceptance_criteria" : "NULL",
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
step(const struct source *d, sqlite3_stmt *st, struct err *e)
{
	int rc = sqlite3_step(st);

	if (rc == SQLITE_ROW)
		return 1;
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? 0 : db_fail(d->db, rc, e);
}

static struct clean_text *
join_notes(struct scrub *s, sqlite3_stmt *st)
{
	static const char *const heads[] = { "Design", "Acceptance criteria", "Notes" };
	struct clean_text *out = NULL;
	struct buf b = BUF_INIT;

	for (int i = 0; i < 3; i++) {
		struct clean_text *t = clean_column(s, st, 6 + i);

		if (t != NULL)
			buf_fmt(&b, "%s%s:\n%s", b.len > 0 ? "\n\n" : "", heads[i], clean_bytes(t));
		clean_free(t);
	}
	/* three pieces of at most 64 KiB, clean already: only the type has to be regained */
	if (b.len > 0)
		out = scrub_text(s, b.data, b.len, 0);
	buf_release(&b);
	return out;
}

static void
take(struct search *q, const struct source *d, sqlite3_stmt *st, enum rank rank)
{
	struct bead *b = q->out;

	release_work(b);
	b->id = word_column(q->s, st, 0);
	b->status = word_column(q->s, st, 1);
	b->type = word_column(q->s, st, 2);
	b->assignee = word_column(q->s, st, 3);
	b->title = clean_column(q->s, st, 4);
	b->description = clean_column(q->s, st, 5);
	b->notes = join_notes(q->s, st);
	b->database = xstrdup(d->path);
	b->closed = rank == RANK_CLOSED_HINT;
	q->best = rank;
}

static bool
is_closed(const char *status)
{
	return status != NULL && (strcasecmp(status, "closed") == 0 || strcasecmp(status, "tombstone") == 0);
}

/* --- what is looked for --- */

static enum rank
rank_of(const char *status)
{
	return status == NULL ? RANK_OPEN : strcasecmp(status, "hooked") == 0 ? RANK_HOOKED :
	    strcasecmp(status, "in_progress") == 0 ? RANK_IN_PROGRESS : strcasecmp(status, "pinned") == 0 ? RANK_PINNED : RANK_OPEN;
}

/* A status that we do not know is an open one. Of two equals the lasting one beats the ephemeral one (a wisp), the younger the older. */
static int
find_assigned(struct search *q, const struct source *d, struct err *e)
{
	char *work = is_work(d), *age = age_of(d, false), *rest;
	sqlite3_stmt *st;
	int found;

	rest = xasprintf("WHERE " MINE " AND %s AND lower(status) NOT IN ('closed', 'tombstone')"
	    " ORDER BY CASE lower(status) WHEN 'hooked' THEN 0 WHEN 'in_progress' THEN 1 WHEN 'pinned' THEN 2 WHEN 'open' THEN 3"
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
		enum rank rank = rank_of((const char *)sqlite3_column_text(st, 1));

		if (rank < q->best)
			take(q, d, st, rank);
		sqlite3_finalize(st);
	}
	return found < 0 ? -1 : 0;
}

/* A bead by its id; closed ones count only when `named`. `mine`: only when it is assigned to us or to nobody. */
static int
find_by_id(struct search *q, const struct source *d, const char *id, enum rank rank, bool named, bool mine, struct err *e)
{
	sqlite3_stmt *st = select_beads(q, d, "0",
	    mine ? "WHERE id = ?3 AND (coalesce(assignee, '') = '' OR " MINE ")" : "WHERE id = ?3", e);
	int found;

	if (st == NULL)
		return -1;
	sqlite3_bind_text(st, 3, id, -1, SQLITE_STATIC);
	found = step(d, st, e);
	if (found == 1) {
		if (is_closed((const char *)sqlite3_column_text(st, 1)))
			rank = named ? RANK_CLOSED_HINT : RANK_NONE;
		if (rank < q->best)
			take(q, d, st, rank);
		sqlite3_finalize(st);
	}
	return found < 0 ? -1 : 0;
}

/* The value of a line "hook_bead: gt-abc" of an agent bead's description; heap, NULL when there is none. It wins over the column. */
static char *
hook_line(const char *text)
{
	for (const char *p = text; p != NULL && *p != '\0'; p = strchr(p, '\n'), p += p != NULL) {
		size_t n;

		if (strncasecmp(p, "hook_bead:", 10) != 0)
			continue;
		p += 10;
		p += strspn(p, " \t");
		n = strcspn(p, " \t\r\n");
		return n > 0 && !(n == 4 && strncmp(p, "null", 4) == 0) ? xstrndup(p, n) : NULL;
	}
	return NULL;
}

/* The agent bead of the older towns: PREFIX-RIG-polecat-NAME, or RIG-polecat-NAME where the prefix is the rig. */
static int
find_hook_bead(struct search *q, const struct source *d, struct err *e)
{
	char *tail, *id = NULL;
	sqlite3_stmt *st;
	int found, ret = 0;

	if (q->rig == NULL || (!d->hook && !d->description))
		return 0;
	tail = xasprintf("%s-polecat-%s", q->rig, q->name);
	st = select_beads(q, d, d->hook ? "hook_bead" : "NULL",
	    "WHERE lower(id) = lower(?3) OR lower(substr(id, -length(?3) - 1)) = '-' || lower(?3) LIMIT 1", e);
	if (st != NULL)
		sqlite3_bind_text(st, 3, tail, -1, SQLITE_STATIC);
	found = st != NULL ? step(d, st, e) : -1;
	if (found == 1) {
		id = hook_line((const char *)sqlite3_column_text(st, 5));
		if (id == NULL && sqlite3_column_bytes(st, 9) > 0)
			id = xstrdup((const char *)sqlite3_column_text(st, 9));
		sqlite3_finalize(st);
	}
	free(tail);
	if (id != NULL)
		ret = find_by_id(q, d, id, RANK_HOOK_BEAD, false, true, e);
	free(id);
	return found < 0 ? -1 : ret;
}

/* Newest closed work: what a caller says when no open work is left. */
static int
find_closed(struct search *q, const struct source *d, struct err *e)
{
	char *work = is_work(d), *age = age_of(d, true), *rest;
	sqlite3_stmt *st;
	int found;

	rest = xasprintf("WHERE " MINE " AND %s AND lower(status) IN ('closed', 'tombstone') ORDER BY %s DESC, id LIMIT 1", work, age);
	st = select_beads(q, d, age, rest, e);
	free(work);
	free(age);
	free(rest);
	if (st == NULL)
		return -1;
	found = step(d, st, e);
	if (found == 1) {
		double at = sqlite3_column_double(st, 9);

		if (q->out->last_closed == NULL || at > q->closed_at) {
			free(q->out->last_closed);
			q->out->last_closed = word_column(q->s, st, 0);
			q->closed_at = at;
		}
		sqlite3_finalize(st);
	}
	return found < 0 ? -1 : 0;
}

/*
 * The handoff: a mail of the agent to its successor, else the pinned bead with its name, else the one of its whole role. Column 9 is the
 * rank, the lower the better.
 */
static int
find_handoff(struct search *q, const struct source *d, struct err *e)
{
	char *age = age_of(d, false), *rest;
	sqlite3_stmt *st;
	int found, rank;

	rest = xasprintf("WHERE ((title LIKE '🤝 HANDOFF:%%' AND " MINE ")"
	    " OR (status = 'pinned' AND title COLLATE NOCASE IN (?3, 'polecat Handoff')))"
	    " AND lower(status) NOT IN ('closed', 'tombstone') AND %s ORDER BY 10, %s DESC, id LIMIT 1",
	    d->description ? "coalesce(description, '') <> ''" : "0", age);
	st = select_beads(q, d, "CASE WHEN title LIKE '🤝 HANDOFF:%' THEN 1 WHEN title COLLATE NOCASE = ?3 THEN 2 ELSE 3 END", rest, e);
	free(age);
	free(rest);
	if (st == NULL)
		return -1;
	rest = xasprintf("%s Handoff", q->name);
	sqlite3_bind_text(st, 3, rest, -1, SQLITE_STATIC);
	found = step(d, st, e);
	if (found == 1) {
		rank = sqlite3_column_int(st, 9);
		if (q->handoff_rank == 0 || rank < q->handoff_rank) {
			clean_free(q->out->handoff);
			free(q->out->handoff_id);
			q->out->handoff = clean_column(q->s, st, 5);
			q->out->handoff_id = word_column(q->s, st, 0);
			q->handoff_rank = rank;
		}
		sqlite3_finalize(st);
	}
	free(rest);
	return found < 0 ? -1 : 0;
}

/*
 * In each database as in the list above; an earlier database wins over a later one, except that work which was merely assigned (open) gives
 * way to work under way elsewhere.
 */
static int
search_in(struct search *q, const char *path, struct err *e)
{
	struct source d = { .path = path };
	int ret = -1;

	if (db_open_foreign(path, &d.db, e) != 0)
		return -1;
	if (probe(&d, e) != 0)
		goto out;
	if (q->hint != NULL && q->best > RANK_HOOKED && find_by_id(q, &d, q->hint, RANK_HINT, true, false, e) != 0)
		goto out;
	if ((q->best == RANK_NONE || q->best >= RANK_CLOSED_HINT || q->best == RANK_HINT) &&
	    (find_assigned(q, &d, e) != 0 || find_hook_bead(q, &d, e) != 0))
		goto out;
	if (find_closed(q, &d, e) != 0 || find_handoff(q, &d, e) != 0)
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
	struct search q = { .rig = rig, .name = name, .s = s, .out = out, .best = RANK_NONE };
	int ret = 0;

	q.hint = hint != NULL && hint[0] != '\0' ? hint : NULL;
	memset(out, 0, sizeof *out);
	q.work = rig != NULL ? xasprintf("%s/polecats/%s", rig, name) : xstrdup(name);
	q.mail = rig != NULL ? xasprintf("%s/%s", rig, name) : xstrdup(name);
	for (size_t i = 0; i < n && ret == 0; i++)
		ret = search_in(&q, databases[i], e);
	free(q.work);
	free(q.mail);
	if (ret != 0)
		bead_release(out);
	else if (out->id != NULL && !out->closed) {
		free(out->last_closed);
		out->last_closed = NULL;
	}
	return ret;
}
