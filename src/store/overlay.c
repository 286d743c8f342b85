/* A store over another one: what is committed is kept in memory, and nothing of it reaches the other one. */
#include <stdlib.h>
#include <string.h>

#include "store/store.h"
#include "store/store_private.h"
#include "base/buf.h"
#include "base/err.h"

struct overlay_store {
	struct store base;
	struct store *under;
	struct record *kept;		/* in the order of their keys; version 0: deleted */
	size_t n, cap;
};

/* Where it is, or would be. */
static size_t
change_place(const struct overlay_store *s, const char *key, bool *found)
{
	size_t low = 0, high = s->n;

	*found = false;
	while (low < high && !*found) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(s->kept[mid].key, key);

		*found = order == 0;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return high;
}

static struct record *
find_change(const struct overlay_store *s, const char *key)
{
	bool found;
	size_t i = change_place(s, key, &found);

	return found ? &s->kept[i] : NULL;
}

static int64_t
overlay_now(struct store *base)
{
	return store_now(((struct overlay_store *)base)->under);
}

static int
overlay_get(struct store *base, const char *key, struct record *out, struct err *e)
{
	struct overlay_store *s = (struct overlay_store *)base;
	const struct record *r = find_change(s, key);

	if (r == NULL)
		return store_get(s->under, key, out, e);
	if (r->version == 0)
		return 0;
	*out = (struct record){
		.key = xstrdup(key), .version = r->version, .tag = xstrdup(r->tag), .value = xstrdup(r->value)
	};
	return 1;
}

/* Which of the kept ones belong between two keys of a scan. */
struct range {
	const char *prefix, *tag, *after, *last;	/* each but prefix may be NULL */
};

static bool
in_range(const struct record *r, const struct range *in)
{
	return r->version != 0 && str_starts(r->key, in->prefix) &&
	    (in->tag == NULL || strcmp(r->tag, in->tag) == 0) &&
	    (in->after == NULL || strcmp(r->key, in->after) > 0) &&
	    (in->last == NULL || strcmp(r->key, in->last) <= 0);
}

/* The next of the kept ones from `k` on that belongs to the scan, s->n when there is none. */
static size_t
next_kept(const struct overlay_store *s, size_t k, const struct range *in)
{
	while (k < s->n && !in_range(&s->kept[k], in))
		k++;
	return k;
}

/* Both are in order; of what was changed the page tells what it was before. */
static void
merge_page(const struct overlay_store *s, const struct records *page, const struct range *in, size_t limit,
    struct records *out)
{
	size_t p = 0, k = next_kept(s, 0, in);

	while (out->n < limit && (p < page->n || k < s->n)) {
		bool kept = k < s->n && (p == page->n || strcmp(s->kept[k].key, page->v[p].key) <= 0);
		const struct record *r = kept ? &s->kept[k] : &page->v[p++];

		if (kept || find_change(s, r->key) == NULL)
			store_records_add(out, r->key, r->version, r->tag, r->value);
		if (kept)
			k = next_kept(s, k + 1, in);
	}
}

static int
overlay_scan(struct store *base, const char *prefix, const char *tag, const char *after, size_t limit,
    struct records *out, struct scan_proof *proof, struct err *e)
{
	const struct overlay_store *s = (const struct overlay_store *)base;
	char *from = after != NULL ? xstrdup(after) : NULL;
	bool more = true;
	int ret = 0;

	while (ret == 0 && more && out->n < limit) {
		struct range in = { .prefix = prefix, .tag = tag, .after = from };
		struct records page = { 0 };

		ret = store_scan(s->under, prefix, tag, from, limit, &page, e);
		more = page.n == limit;
		in.last = more ? page.v[page.n - 1].key : NULL;
		if (ret == 0)
			merge_page(s, &page, &in, limit, out);
		free(from);
		from = more ? xstrdup(in.last) : NULL;
		store_records_release(&page);
	}
	free(from);
	/* the store below has compared what it gave */
	proof->rows = proof->kept = (struct store_tally){ 0 };
	return ret;
}

static int
overlay_check(struct store *base, struct err *e)
{
	return store_check(((struct overlay_store *)base)->under, e);
}

/* 1 it is as the change expects, 0 it is not, -1; *version: what it has now. */
static int
is_expected(struct overlay_store *s, const struct change *c, int64_t *version, struct err *e)
{
	struct record r;
	int found = store_get(&s->base, c->key, &r, e);

	*version = r.version;
	store_record_release(&r);
	return found < 0 ? -1
			 : c->expect == STORE_ANY || c->expect == *version ||
		(c->expect == STORE_ADOPT && *version == 0);
}

static void
keep_change(struct overlay_store *s, const struct change *c, int64_t version)
{
	bool found;
	size_t i = change_place(s, c->key, &found);
	struct record *r;

	if (!found) {
		s->kept = vec_room(s->kept, s->n, &s->cap, sizeof *s->kept);
		memmove(s->kept + i + 1, s->kept + i, (s->n++ - i) * sizeof *s->kept);
		s->kept[i] = (struct record){ .key = xstrdup(c->key) };
	}
	r = &s->kept[i];
	free(r->tag);
	free(r->value);
	*r = (struct record){ .key = r->key };
	if (c->kind == CHANGE_DELETE)
		return;
	r->version = version + 1;
	r->tag = xstrdup(c->tag);
	r->value = xstrdup(c->value);
}

static enum commit
overlay_commit(struct store *base, const struct change *changes, size_t n, struct err *e)
{
	struct overlay_store *s = (struct overlay_store *)base;
	int64_t *version = xcalloc(n, sizeof *version);
	int as_expected = 1;

	for (size_t i = 0; i < n && as_expected == 1; i++)
		as_expected = is_expected(s, &changes[i], &version[i], e);
	for (size_t i = 0; i < n && as_expected == 1; i++)
		if (changes[i].kind != CHANGE_CHECK)
			keep_change(s, &changes[i], version[i]);
	free(version);
	if (as_expected == 0) {
		err_set(e, GT_AGAIN, "conflict", "another process changed a record first");
		err_hint(e, "Run the command again");
	}
	return as_expected == 1 ? COMMIT_DONE : as_expected == 0 ? COMMIT_CONFLICT : COMMIT_ERROR;
}

static int
overlay_lock(struct store *base, struct err *e)
{
	(void)base;
	(void)e;
	return 0;
}

static void
overlay_unlock(struct store *base)
{
	(void)base;
}

static int
overlay_foreign_keys(struct store *base, const char *prefix, const char *suffix,
    void (*found)(const char *key, void *arg), void *arg, struct err *e)
{
	return store_foreign_keys(((struct overlay_store *)base)->under, prefix, suffix, found, arg, e);
}

static int
overlay_foreign_get(struct store *base, const char *key, struct buf *out, struct err *e)
{
	struct overlay_store *s = (struct overlay_store *)base;
	bool found;

	change_place(s, key, &found);
	return found ? 0 : store_foreign_get(s->under, key, out, e);
}

static void
overlay_close(struct store *base)
{
	struct overlay_store *s = (struct overlay_store *)base;

	for (size_t i = 0; i < s->n; i++)
		store_record_release(&s->kept[i]);
	free(s->kept);
	store_close(s->under);
	free(s);
}

static const struct backend overlay_calls = {
	.close = overlay_close,
	.now = overlay_now,
	.get = overlay_get,
	.scan = overlay_scan,
	.commit = overlay_commit,
	.lock = overlay_lock,
	.unlock = overlay_unlock,
	.check = overlay_check,
	.foreign_keys = overlay_foreign_keys,
	.foreign_get = overlay_foreign_get,
};

struct store *
store_overlay(struct store *under)
{
	struct overlay_store *s = xcalloc(1, sizeof *s);

	s->base.calls = &overlay_calls;
	s->under = under;
	return &s->base;
}
