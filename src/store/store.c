#include <stdlib.h>
#include <string.h>

#include "store/store_private.h"
#include "store/store.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "base/utf8.h"

static const char *const kinds[] = { "attempt", "pane", "crashes", "arm", "refused", "sighting", "servers",
	"place", "seen" };

/* The kind's length, 0: it is none of them. */
static size_t
kind_of(const char *key)
{
	size_t n = strcspn(key, ":");

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && key[n] == ':'; i++)
		if (strlen(kinds[i]) == n && memcmp(kinds[i], key, n) == 0)
			return n;
	return 0;
}

/*
 * The key under which the backend has it, heap; also for a prefix that ends behind the kind's
 * colon. NULL: as it is.
 */
static char *
store_host_key(const struct store *s, const char *key)
{
	size_t n = s->host != NULL ? kind_of(key) : 0;

	return n > 0 ? xasprintf("%.*s@%s%s", (int)n, key, s->host, key + n) : NULL;
}

/* The way back, in place: a record that store_host_key had found. */
static void
store_host_strip(const struct store *s, struct record *r)
{
	char *at = strchr(r->key, '@'), *rest = strchr(r->key, ':');

	if (s->host != NULL && at != NULL && rest != NULL && at < rest)
		memmove(at, rest, strlen(rest) + 1);
}

#define KEY_MAX_BYTES 2048
#define PAGE ((size_t)500)

/* What store_met_damage answers. */
static struct err damage;

void
store_note_damage(const struct err *e)
{
	if (damage.code == 0)
		damage = *e;
}

bool
store_met_damage(struct err *e)
{
	if (damage.code != 0)
		*e = damage;
	return damage.code != 0;
}

/* The absolute path of the file that url names, heap; NULL with err. */
static char *
path_of(const char *url, const char *dir, struct err *e)
{
	const char *path = str_starts(url, "sqlite:") ? url + 7 : url;

	if (strcmp(url, "sqlite") == 0)
		path = "recover.db";
	else if (path[0] == '\0' || strstr(path, "://") != NULL ||
	    (path == url && strchr(path, '/') == NULL)) {
		err_set(e, GT_USAGE, "state", "unknown kind of store \"%s\"", url);
		err_hint(e,
		    "Write state = \"sqlite\", \"sqlite:/PATH/TO/FILE\", \"redis://HOST:PORT/DB\" or "
		    "\"redis+unix:///PATH?db=DB\" in gt.toml");
		return NULL;
	}
	if (dir[0] != '/') {
		err_set(e, GT_FAIL, "unwritable", "the state directory \"%s\" is not an absolute path", dir);
		return NULL;
	}
	return path[0] == '/' ? xstrdup(path) : io_join(dir, path);
}

bool
store_is_redis(const char *url)
{
	return str_starts(url, "redis:") || str_starts(url, "rediss:") || str_starts(url, "redis+unix:");
}

static struct store *
open_url(const char *url, const char *dir, enum store_use use, struct err *e)
{
	struct store *s;
	char *path;

	if (store_is_redis(url))
		return redis_open(url, dir, use == STORE_LOOK, e);
	path = path_of(url, dir, e);
	s = path != NULL ? sqlite_open(path, use, e) : NULL;
	free(path);
	return s;
}

struct store *
store_open(const char *url, const char *dir, struct err *e)
{
	return open_url(url, dir, STORE_WORK, e);
}

struct store *
store_open_brief(const char *url, const char *dir, struct err *e)
{
	return open_url(url, dir, STORE_BRIEF, e);
}

struct store *
store_open_readonly(const char *url, const char *dir, struct err *e)
{
	return open_url(url, dir, STORE_LOOK, e);
}

int
store_restore(const char *url, const char *dir, struct store_restored *out, struct err *e)
{
	char *path;
	int ret;

	if (store_is_redis(url))
		return err_set(e, GT_FAIL, "elsewhere",
		    "the Redis server manages its own files: gt-recover cannot repair them");
	path = path_of(url, dir, e);
	ret = path != NULL ? sqlite_restore(path, out, e) : -1;
	if (ret >= 0)
		err_clear(&damage);
	free(path);
	return ret;
}

size_t
store_prune_damaged(const char *url, const char *dir, size_t keep)
{
	char *path = store_is_redis(url) ? NULL : path_of(url, dir, NULL);
	size_t n = path != NULL ? sqlite_prune_damaged(path, keep) : 0;

	free(path);
	return n;
}

int
store_backup_info(const char *url, const char *dir, struct store_backup *out, struct err *e)
{
	char *path;
	int ret;

	if (store_is_redis(url))
		return err_set(e, GT_FAIL, "elsewhere", "the Redis server manages its own files");
	path = path_of(url, dir, e);
	ret = path != NULL ? sqlite_backup_info(path, out, e) : -1;
	free(path);
	return ret;
}

void
store_close(struct store *s)
{
	if (s == NULL)
		return;
	free(s->host);
	s->calls->close(s);
}

const char *
store_host(const struct store *s)
{
	return s->host != NULL ? s->host : "";
}

int64_t
store_now(struct store *s)
{
	return s->calls->now(s);
}

void
store_timestamp(struct store *s, struct timestamp *m)
{
	timestamp_now(m);
	if (s != NULL)
		m->wall_ms = store_now(s);
}

int
store_get(struct store *s, const char *key, struct record *out, struct err *e)
{
	char *own = store_host_key(s, key);
	int found;

	memset(out, 0, sizeof *out);
	found = s->calls->get(s, own != NULL ? own : key, out, e);
	if (own != NULL && found > 0)
		store_host_strip(s, out);
	free(own);
	return found;
}

/* Does the prefix name a whole kind, or everything? */
static bool
is_whole_kind(const char *prefix)
{
	size_t n = store_kind_length(prefix);

	return prefix[0] == '\0' || (prefix[n] == ':' && prefix[n + 1] == '\0');
}

static bool
tally_agrees(const struct store_tally *a, const struct store_tally *b)
{
	return a->n == b->n && a->sum == b->sum;
}

void
store_proof_keep(struct scan_proof *p, const struct store_tally *kept)
{
	p->kept = *kept;
	if (!p->begun)
		p->first = *kept;
	p->begun = true;
}

static int
refuse_scan(struct store *s, const char *prefix, const char *tag, const struct scan_proof *p, struct err *e)
{
	char *what = xasprintf("%llu of %llu records of %s%s%s are readable", (unsigned long long)p->rows.n,
	    (unsigned long long)p->kept.n, prefix, tag != NULL ? ", " : "", tag != NULL ? tag : "");

	s->calls->damaged(s, what, e);
	free(what);
	return -1;
}

/* One call of the backend, with this host's own keys. */
static int
scan_page(struct store *s, const char *prefix, const char *tag, const char *after, size_t limit,
    struct records *out, struct scan_proof *proof, struct err *e)
{
	char *own = store_host_key(s, prefix),
	     *own_after = own != NULL && after != NULL ? store_host_key(s, after) : NULL;
	size_t had = out->n;
	int ret = s->calls->scan(s, own != NULL ? own : prefix, tag, own_after != NULL ? own_after : after,
	    limit, out, proof, e);

	for (size_t i = had; i < out->n && own != NULL; i++)
		store_host_strip(s, &out->v[i]);
	free(own);
	free(own_after);
	return ret;
}

/* The same pages once more, for their sum alone. */
static int
sum_pages(struct store *s, const char *prefix, const char *tag, struct scan_proof *proof, struct err *e)
{
	char *after = NULL;
	size_t n;
	int ret;

	*proof = (struct scan_proof){ .whole = true };
	do {
		struct records page = { 0 };

		ret = scan_page(s, prefix, tag, after, PAGE, &page, proof, e);
		n = page.n;
		free(after);
		after = n > 0 ? xstrdup(page.v[n - 1].key) : NULL;
		store_records_release(&page);
	} while (ret == 0 && n == PAGE);
	free(after);
	return ret;
}

/* Others committed while it was read: without them it is the same, or a record is missing. */
static int
scan_again(struct store *s, const char *prefix, const char *tag, struct err *e)
{
	bool lock = !s->locked;
	int ret = lock ? store_lock(s, e) : 0;

	for (int try = 0; try < 3 && ret == 0; try++) {
		struct scan_proof p;

		ret = sum_pages(s, prefix, tag, &p, e);
		if (ret == 0 && tally_agrees(&p.rows, &p.kept))
			break;
		if (ret == 0 && tally_agrees(&p.first, &p.kept))
			ret = refuse_scan(s, prefix, tag, &p, e);
	}
	if (lock)
		store_unlock(s);
	return ret;
}

/* After the last row of a whole kind. */
static int
prove_scan(struct store *s, const char *prefix, const char *tag, const struct scan_proof *p, struct err *e)
{
	if (tally_agrees(&p->rows, &p->kept))
		return 0;
	return tally_agrees(&p->first, &p->kept) ? refuse_scan(s, prefix, tag, p, e)
						 : scan_again(s, prefix, tag, e);
}

int
store_scan(struct store *s, const char *prefix, const char *tag, const char *after, size_t limit,
    struct records *out, struct err *e)
{
	bool begins = after == NULL || strcmp(after, prefix) < 0;
	struct scan_proof proof = { .whole = begins && is_whole_kind(prefix), .twin = true };
	size_t had = out->n;

	limit = limit != 0 ? limit : 1000;
	if (scan_page(s, prefix, tag, after, limit, out, &proof, e) != 0)
		return -1;
	return proof.whole && out->n - had < limit ? prove_scan(s, prefix, tag, &proof, e) : 0;
}

int
store_count(struct store *s, const char *prefix, const char *tag, size_t *n, struct err *e)
{
	struct scan_proof proof = { .whole = true };
	struct records none = { 0 };

	*n = 0;
	if (scan_page(s, prefix, tag, NULL, 0, &none, &proof, e) != 0)
		return -1;
	*n = (size_t)proof.kept.n;
	return 0;
}

int
store_size_read(struct store *s, struct store_size *out, struct err *e)
{
	*out = (struct store_size){ 0 };
	return s->calls->size != NULL ? s->calls->size(s, out, e) : 0;
}

int
store_shrink(struct store *s, int64_t until, struct err *e)
{
	return s->calls->shrink != NULL ? s->calls->shrink(s, until, e) : 0;
}

int
store_scan_all(struct store *s, struct err *e)
{
	return scan_again(s, "", NULL, e);
}

int
store_each(struct store *s, const char *prefix, const char *tag,
    int (*row)(const struct record *r, void *arg, struct err *e), void *arg, struct err *e)
{
	bool whole = is_whole_kind(prefix);
	struct scan_proof proof = { .whole = whole, .twin = !whole };
	char *after = NULL;
	size_t n;
	int ret;

	do {
		struct records page = { 0 };

		ret = scan_page(s, prefix, tag, after, PAGE, &page, &proof, e);
		n = page.n;
		/* before the last rows are handed out: who would believe in less is told in time */
		if (ret == 0 && whole && n < PAGE)
			ret = prove_scan(s, prefix, tag, &proof, e);
		for (size_t i = 0; i < n && ret == 0; i++)
			ret = row(&page.v[i], arg, e);
		free(after);
		after = n > 0 ? xstrdup(page.v[n - 1].key) : NULL;
		store_records_release(&page);
	} while (ret == 0 && n == PAGE);
	free(after);
	return ret;
}

static int
refuse_change(const struct change *c, const char *name, const char *why, struct err *e)
{
	struct buf shown = BUF_INIT;

	utf8_escape(&shown, c->key, strlen(c->key), 80);
	err_set(e, GT_FAIL, name, "the record \"%s\" %s", shown.data, why);
	buf_release(&shown);
	return -1;
}

static int
check_change(const struct change *c, struct err *e)
{
	size_t n = strlen(c->key);
	json_t *value;

	if (n == 0 || n > KEY_MAX_BYTES || !utf8_valid(c->key, n))
		return refuse_change(c, "key", "has a key that is empty, too long or not UTF-8", e);
	if (c->kind != CHANGE_PUT)
		return 0;
	if (c->tag == NULL || c->value == NULL)
		return refuse_change(c, "record", "has no tag or no value", e);
	n = strlen(c->value);
	if (n > STORE_MAX_VALUE)
		return refuse_change(c, "too-large", "is larger than 4 MiB", e);
	if ((value = json_parse(c->value, n, "a record", NULL)) == NULL)
		return refuse_change(c, "json", "has a value that is not valid JSON", e);
	json_decref(value);
	return 0;
}

static int
by_change_key(const void *a, const void *b)
{
	return strcmp((*(const struct change *const *)a)->key, (*(const struct change *const *)b)->key);
}

static int
check_keys(const struct change *changes, size_t n, struct err *e)
{
	const struct change **sorted = xcalloc(n + 1, sizeof *sorted);
	int ret = 0;

	for (size_t i = 0; i < n; i++)
		sorted[i] = &changes[i];
	qsort(sorted, n, sizeof *sorted, by_change_key);
	for (size_t i = 1; i < n && ret == 0; i++) {
		if (by_change_key(&sorted[i - 1], &sorted[i]) == 0)
			ret = refuse_change(sorted[i], "key", "occurs twice in one commit", e);
	}
	free(sorted);
	return ret;
}

/* The changes as the backend has their keys. */
static enum commit
commit_host_keys(struct store *s, const struct change *changes, size_t n, struct err *e)
{
	struct change *all = xcalloc(n, sizeof *all);
	char **keys = xcalloc(n, sizeof *keys);
	enum commit answer;

	for (size_t i = 0; i < n; i++) {
		all[i] = changes[i];
		if ((keys[i] = store_host_key(s, changes[i].key)) != NULL)
			all[i].key = keys[i];
	}
	answer = s->calls->commit(s, all, n, e);
	for (size_t i = 0; i < n; i++)
		free(keys[i]);
	free(keys);
	free(all);
	return answer;
}

enum commit
store_commit(struct store *s, const struct change *changes, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (check_change(&changes[i], e) != 0)
			return COMMIT_ERROR;
	if (check_keys(changes, n, e) != 0)
		return COMMIT_ERROR;
	if (n == 0)
		return COMMIT_DONE;
	return s->host != NULL ? commit_host_keys(s, changes, n, e) : s->calls->commit(s, changes, n, e);
}

int
store_foreign_keys(struct store *s, const char *prefix, const char *suffix,
    void (*found)(const char *key, void *arg), void *arg, struct err *e)
{
	return s->calls->foreign_keys != NULL ? s->calls->foreign_keys(s, prefix, suffix, found, arg, e) : 0;
}

int
store_foreign_get(struct store *s, const char *key, struct buf *out, struct err *e)
{
	return s->calls->foreign_get != NULL ? s->calls->foreign_get(s, key, out, e) : 0;
}

int
store_lock(struct store *s, struct err *e)
{
	if (s->calls->lock(s, e) != 0)
		return -1;
	s->locked = true;
	return 0;
}

void
store_unlock(struct store *s)
{
	s->locked = false;
	s->calls->unlock(s);
}

int
store_check(struct store *s, struct err *e)
{
	return s->calls->check != NULL ? s->calls->check(s, e) : 0;
}

enum commit
store_conflict(const char *key, struct err *e)
{
	struct buf shown = BUF_INIT;

	utf8_escape(&shown, key, strlen(key), 120);
	err_set(e, GT_AGAIN, "conflict", "another process changed %s first", shown.data);
	err_hint(e, "Run the command again");
	buf_release(&shown);
	return COMMIT_CONFLICT;
}

char *
store_prefix_end(const char *prefix)
{
	size_t n = strlen(prefix);
	char *end;

	while (n > 0 && (unsigned char)prefix[n - 1] == 0xff)
		n--;
	if (n == 0)
		return NULL;
	end = xstrndup(prefix, n);
	end[n - 1] = (char)(end[n - 1] + 1);
	return end;
}

void
store_record_release(struct record *r)
{
	free(r->key);
	free(r->tag);
	free(r->value);
	memset(r, 0, sizeof *r);
}

void
store_records_release(struct records *r)
{
	for (size_t i = 0; i < r->n; i++)
		store_record_release(&r->v[i]);
	free(r->v);
	memset(r, 0, sizeof *r);
}

void
store_records_add(struct records *r, const char *key, int64_t version, const char *tag, const char *value)
{
	r->v = vec_room(r->v, r->n, &r->cap, sizeof *r->v);
	r->v[r->n++] = (struct record){
		.key = xstrdup(key), .version = version, .tag = xstrdup(tag), .value = xstrdup(value)
	};
}
