/* Table tally: how many records of each kind and tag there are, and the sum of their checksums. */
#include <stdlib.h>
#include <string.h>

#include "store/store_private.h"
#include "base/buf.h"
#include "base/err.h"

void
sqlite_bind_kind(sqlite3_stmt *st, int i, const char *key)
{
	sqlite3_bind_text(st, i, key, (int)store_kind_length(key), SQLITE_STATIC);
}

/* A row: kind and tag, lent, NULL when they are damaged; what it says; its mark. */
struct tally_line {
	const char *kind, *tag;
	struct store_tally t;
	uint64_t mark;
};

static struct tally_line
read_line(sqlite3_stmt *st)
{
	return (struct tally_line){
		.kind = (const char *)sqlite3_column_text(st, 0),
		.tag = (const char *)sqlite3_column_text(st, 1),
		.t = { (uint64_t)sqlite3_column_int64(st, 2), (uint64_t)sqlite3_column_int64(st, 3) },
		.mark = (uint64_t)sqlite3_column_int64(st, 4),
	};
}

static bool
is_sound(const struct tally_line *l)
{
	return l->kind != NULL && l->tag != NULL && sqlite_tally_mark(l->kind, l->tag, &l->t) == l->mark;
}

static bool
belongs_to(const struct tally_line *l, const char *prefix, const char *tag)
{
	size_t kind = store_kind_length(prefix);

	return (prefix[0] == '\0' || (strncmp(l->kind, prefix, kind) == 0 && l->kind[kind] == '\0')) &&
	    (tag == NULL || strcmp(l->tag, tag) == 0);
}

/*
 * Each line; there are a hundred at most. All are read: the marks of all have a sum, so that a
 * missing one is no tally of 0. *all (may be NULL): that sum.
 */
static int
walk_lines(struct sqlite_store *s, void (*take)(const struct tally_line *l, void *arg), void *arg,
    uint64_t *all, struct err *e)
{
	sqlite3_stmt *st = sqlite_prepare(s, SQL_TALLY, e);
	uint64_t marks = 0, wanted = 1;
	bool sound = true;
	int rc = SQLITE_DONE;

	if (st == NULL)
		return -1;
	while (sound && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct tally_line l = read_line(st);

		if (l.kind != NULL && l.tag != NULL && strcmp(l.kind, SQLITE_OWN_KIND) == 0) {
			if (strcmp(l.tag, "seq") == 0)
				wanted = l.t.sum;
			continue;
		}
		sound = is_sound(&l);
		marks += l.mark;
		if (sound)
			take(&l, arg);
	}
	sqlite3_reset(st);
	if (!sound || (rc == SQLITE_DONE && marks != wanted))
		return sqlite_damaged(s, "a tally does not match its checksum", e);
	if (all != NULL)
		*all = marks;
	return rc == SQLITE_DONE ? 0 : sqlite_error(s, rc, e);
}

struct wanted_tally {
	const char *prefix, *tag;
	struct store_tally *out;
};

static void
add_line(const struct tally_line *l, void *arg)
{
	struct wanted_tally *w = arg;

	if (belongs_to(l, w->prefix, w->tag)) {
		w->out->n += l->t.n;
		w->out->sum += l->t.sum;
	}
}

int
sqlite_read_tally(
    struct sqlite_store *s, const char *prefix, const char *tag, struct store_tally *out, struct err *e)
{
	struct wanted_tally w = { prefix, tag, out };

	*out = (struct store_tally){ 0 };
	return walk_lines(s, add_line, &w, NULL, e);
}

struct wanted_tags {
	const char *key;
	struct sqlite_tags *out;
};

static void
add_tag(const struct tally_line *l, void *arg)
{
	struct wanted_tags *w = arg;
	struct sqlite_tags *t = w->out;

	if (!belongs_to(l, w->key, NULL))
		return;
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->v[i], l->tag) == 0)
			return;
	t->v = vec_room(t->v, t->n, &t->cap, sizeof *t->v);
	t->v[t->n++] = xstrdup(l->tag);
}

int
sqlite_read_tags(struct sqlite_store *s, const char *key, struct sqlite_tags *out, struct err *e)
{
	struct wanted_tags w = { strchr(key, ':') != NULL ? key : "", out };

	*out = (struct sqlite_tags){ 0 };
	if (walk_lines(s, add_tag, &w, NULL, e) == 0)
		return 0;
	sqlite_tags_release(out);
	return -1;
}

void
sqlite_tags_release(struct sqlite_tags *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i]);
	free(t->v);
	*t = (struct sqlite_tags){ 0 };
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

/* What a line is before the commit. */
static void
note_line(const struct tally_line *l, void *arg)
{
	struct sqlite_tally_changes *t = arg;

	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->v[i].kind, l->kind) == 0 && strcmp(t->v[i].tag, l->tag) == 0) {
			t->v[i].was = l->t;
			t->v[i].mark = l->mark;
		}
}

int
sqlite_apply_tallies(struct sqlite_store *s, struct sqlite_tally_changes *t, int64_t seq, struct err *e)
{
	struct store_tally own = { (uint64_t)seq, 0 };

	if (walk_lines(s, note_line, t, &own.sum, e) != 0)
		return -1;
	for (size_t i = 0; i < t->n; i++) {
		const struct sqlite_tally_change *c = &t->v[i];
		struct store_tally now = { c->was.n + c->by.n, c->was.sum + c->by.sum };
		uint64_t mark = sqlite_tally_mark(c->kind, c->tag, &now);

		own.sum += mark - c->mark;
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
