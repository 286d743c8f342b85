/* Table tally: how many records of each kind and tag there are, and the sum of their checksums. */
#include <stdlib.h>
#include <string.h>

#include "store/store_private.h"
#include "base/buf.h"
#include "base/err.h"

void
sqlite_forget_tallies(struct sqlite_store *s)
{
	struct sqlite_tally_lines *t = &s->tallies;

	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].kind);
		free(t->v[i].tag);
	}
	t->n = 0;
	t->read = t->kept = false;
}

/*
 * At the end of a transaction that committed nothing of ours they still hold, until another
 * connection commits: SQLite's number of that is compared.
 */
void
sqlite_keep_tallies(struct sqlite_store *s)
{
	s->tallies.kept = s->tallies.read;
	s->tallies.read = false;
}

/* Within a transaction that has read a page. */
static bool
still_hold(struct sqlite_store *s)
{
	struct sqlite_tally_lines *t = &s->tallies;
	unsigned now = 0;

	if (sqlite3_get_autocommit(s->db) != 0 ||
	    sqlite3_file_control(s->db, "main", SQLITE_FCNTL_DATA_VERSION, &now) != SQLITE_OK)
		return false;
	t->read = t->kept && t->of == now;
	t->kept = false;
	t->of = now;
	return t->read;
}

/* The row that st stands on. False: it is damaged. */
static bool
add_line(struct sqlite_tally_lines *t, sqlite3_stmt *st, uint64_t *wanted)
{
	const char *kind = (const char *)sqlite3_column_text(st, 0),
		   *tag = (const char *)sqlite3_column_text(st, 1);
	const struct store_tally has = { (uint64_t)sqlite3_column_int64(st, 2),
		(uint64_t)sqlite3_column_int64(st, 3) };
	uint64_t mark = (uint64_t)sqlite3_column_int64(st, 4);

	if (kind == NULL || tag == NULL)
		return false;
	if (strcmp(kind, SQLITE_OWN_KIND) == 0) {
		if (strcmp(tag, "seq") == 0) {
			t->seq = (int64_t)has.n;
			*wanted = has.sum;
		}
		return true;
	}
	t->v = vec_room(t->v, t->n, &t->cap, sizeof *t->v);
	t->v[t->n++] = (struct sqlite_tally_line){ xstrdup(kind), xstrdup(tag), has, mark };
	t->marks += mark;
	return sqlite_tally_mark(kind, tag, &has) == mark;
}

/* All are read: the marks of all have a sum, so that a missing one is no tally of 0. */
int
sqlite_read_tallies(struct sqlite_store *s, struct err *e)
{
	struct sqlite_tally_lines *t = &s->tallies;
	sqlite3_stmt *st;
	uint64_t wanted = 1;
	bool sound = true;
	int rc = SQLITE_DONE;

	if (t->read || still_hold(s))
		return 0;
	if ((st = sqlite_prepare(s, SQL_TALLY, e)) == NULL)
		return -1;
	sqlite_forget_tallies(s);
	t->marks = 0;
	t->seq = 0;
	while (sound && (rc = sqlite3_step(st)) == SQLITE_ROW)
		sound = add_line(t, st, &wanted);
	sqlite3_reset(st);
	if (!sound || (rc == SQLITE_DONE && t->marks != wanted))
		return sqlite_damaged(s, "a tally does not match its checksum", e);
	t->read = rc == SQLITE_DONE && sqlite3_get_autocommit(s->db) == 0;
	return rc == SQLITE_DONE ? 0 : sqlite_error(s, rc, e);
}

int
sqlite_last_commit(struct sqlite_store *s, int64_t *seq, struct err *e)
{
	int ret = sqlite_read_tallies(s, e);

	*seq = s->tallies.seq;
	return ret;
}

bool
sqlite_tally_covers(const struct sqlite_tally_line *l, const char *key)
{
	size_t kind = store_kind_length(key);

	return strncmp(l->kind, key, kind) == 0 && l->kind[kind] == '\0';
}

int
sqlite_read_tally(
    struct sqlite_store *s, const char *prefix, const char *tag, struct store_tally *out, struct err *e)
{
	*out = (struct store_tally){ 0 };
	if (sqlite_read_tallies(s, e) != 0)
		return -1;
	for (size_t i = 0; i < s->tallies.n; i++) {
		const struct sqlite_tally_line *l = &s->tallies.v[i];

		if ((prefix[0] == '\0' || sqlite_tally_covers(l, prefix)) &&
		    (tag == NULL || strcmp(l->tag, tag) == 0)) {
			out->n += l->t.n;
			out->sum += l->t.sum;
		}
	}
	return 0;
}

void
sqlite_count_change(struct sqlite_tally_changes *t, const char *key, const char *tag, int n, uint64_t sum)
{
	size_t kind = store_kind_length(key), i = 0;

	while (i < t->n &&
	    (strncmp(t->v[i].kind, key, kind) != 0 || t->v[i].kind[kind] != '\0' ||
		strcmp(t->v[i].tag, tag) != 0))
		i++;
	if (i == t->n) {
		t->v = vec_room(t->v, t->n, &t->cap, sizeof *t->v);
		t->v[t->n++] =
		    (struct sqlite_tally_change){ .kind = xstrndup(key, kind), .tag = xstrdup(tag) };
	}
	t->v[i].by.n += (uint64_t)(int64_t)n;
	t->v[i].by.sum += n > 0 ? sum : -sum;
}

static int
put_tally(struct sqlite_store *s, const char *kind, const char *tag, const struct store_tally *t,
    uint64_t mark, struct err *e)
{
	sqlite3_stmt *st = sqlite_prepare(s, SQL_TALLY_PUT, e);

	if (st == NULL)
		return -1;
	sqlite_bind_word(st, 1, kind);
	sqlite_bind_word(st, 2, tag);
	sqlite3_bind_int64(st, 3, (sqlite3_int64)t->n);
	sqlite3_bind_int64(st, 4, (sqlite3_int64)t->sum);
	sqlite3_bind_int64(st, 5, (sqlite3_int64)mark);
	return sqlite_run(s, st, e);
}

/* What a line is before the commit; NULL: there is none. */
static const struct sqlite_tally_line *
find_line(const struct sqlite_tally_lines *t, const struct sqlite_tally_change *c)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->v[i].kind, c->kind) == 0 && strcmp(t->v[i].tag, c->tag) == 0)
			return &t->v[i];
	return NULL;
}

int
sqlite_apply_tallies(struct sqlite_store *s, struct sqlite_tally_changes *t, int64_t seq, struct err *e)
{
	struct store_tally own = { (uint64_t)seq, 0 };

	if (sqlite_read_tallies(s, e) != 0)
		return -1;
	own.sum = s->tallies.marks;
	for (size_t i = 0; i < t->n; i++) {
		const struct sqlite_tally_change *c = &t->v[i];
		const struct sqlite_tally_line *was = find_line(&s->tallies, c);
		struct store_tally now = c->by;
		uint64_t mark;

		if (was != NULL) {
			now.n += was->t.n;
			now.sum += was->t.sum;
		}
		mark = sqlite_tally_mark(c->kind, c->tag, &now);
		own.sum += mark - (was != NULL ? was->mark : 0);
		if (put_tally(s, c->kind, c->tag, &now, mark, e) != 0)
			return -1;
	}
	return put_tally(s, SQLITE_OWN_KIND, "seq", &own, 0, e);
}

void
sqlite_tally_changes_release(struct sqlite_tally_changes *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].kind);
		free(t->v[i].tag);
	}
	free(t->v);
}
