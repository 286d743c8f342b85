#include <stdlib.h>
#include <string.h>

#include "store/store.h"
#include "store/backend.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/utf8.h"

#define KEY_MAX_BYTES 2048
#define PAGE ((size_t)500)

/* The absolute path of the file that url names, heap; NULL with err. */
static char *
path_of(const char *url, const char *dir, struct err *e)
{
	const char *path = str_starts(url, "sqlite:") ? url + 7 : url;

	if (strcmp(url, "sqlite") == 0)
		path = "recover.db";
	else if (path[0] == '\0' || strstr(path, "://") != NULL || (path == url && strchr(path, '/') == NULL)) {
		err_set(e, GT_USAGE, "state", "\"%s\" names no store that gt-recover knows", url);
		err_hint(e, "Write state = \"sqlite\" or state = \"sqlite:/PATH/TO/FILE\" in gt.toml");
		return NULL;
	}
	if (dir[0] != '/') {
		err_set(e, GT_FAIL, "unwritable", "the state directory \"%s\" is not an absolute path", dir);
		return NULL;
	}
	return path[0] == '/' ? xstrdup(path) : io_join(dir, path);
}

static struct store *
open_path(const char *url, const char *dir, bool look, struct err *e)
{
	char *path = path_of(url, dir, e);
	struct store *s = path != NULL ? sqlite_open(path, look, e) : NULL;

	free(path);
	return s;
}

struct store *
store_open(const char *url, const char *dir, struct err *e)
{
	return open_path(url, dir, false, e);
}

struct store *
store_look(const char *url, const char *dir, struct err *e)
{
	return open_path(url, dir, true, e);
}

void
store_close(struct store *s)
{
	if (s != NULL)
		s->calls->close(s);
}

int64_t
store_now(struct store *s)
{
	return s->calls->now(s);
}

int
store_get(struct store *s, const char *key, struct record *out, struct err *e)
{
	memset(out, 0, sizeof *out);
	return s->calls->get(s, key, out, e);
}

int
store_scan(struct store *s, const char *prefix, const char *tag, const char *after, size_t limit, struct records *out, struct err *e)
{
	return s->calls->scan(s, prefix, tag, after, limit != 0 ? limit : 1000, out, e);
}

int
store_each(struct store *s, const char *prefix, const char *tag, int (*row)(const struct record *r, void *arg, struct err *e), void *arg,
    struct err *e)
{
	char *after = NULL;
	size_t n;
	int ret;

	do {
		struct records page = { 0 };

		ret = store_scan(s, prefix, tag, after, PAGE, &page, e);
		n = page.n;
		for (size_t i = 0; i < n && ret == 0; i++)
			ret = row(&page.v[i], arg, e);
		free(after);
		after = n > 0 ? xstrdup(page.v[n - 1].key) : NULL;
		records_release(&page);
	} while (ret == 0 && n == PAGE);
	free(after);
	return ret;
}

static int
check_change(const struct change *c, size_t i, struct err *e)
{
	struct buf shown = BUF_INIT;
	json_t *v = NULL;
	int ret = 0;

	utf8_escape(&shown, c[i].key, strlen(c[i].key), 80);
	if (c[i].key[0] == '\0' || strlen(c[i].key) > KEY_MAX_BYTES || !utf8_valid(c[i].key, strlen(c[i].key)))
		ret = err_set(e, GT_FAIL, "key", "the key \"%s\" of a record is empty, too long or no UTF-8", shown.data);
	else if (c[i].kind == CHANGE_PUT && (c[i].tag == NULL || c[i].value == NULL))
		ret = err_set(e, GT_FAIL, "record", "the record %s has no tag or no value", shown.data);
	else if (c[i].kind == CHANGE_PUT && strlen(c[i].value) > STORE_MAX_VALUE)
		ret = err_set(e, GT_FAIL, "too-large", "the record %s is larger than 4 MiB", shown.data);
	else if (c[i].kind == CHANGE_PUT && (v = json_parse(c[i].value, strlen(c[i].value), shown.data, e)) == NULL)
		ret = -1;
	for (size_t k = 0; k < i && ret == 0; k++)
		if (strcmp(c[k].key, c[i].key) == 0)
			ret = err_set(e, GT_FAIL, "key", "the key %s stands twice in one commit", shown.data);
	json_decref(v);
	buf_release(&shown);
	return ret;
}

enum commit
store_commit(struct store *s, const struct change *changes, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (check_change(changes, i, e) != 0)
			return COMMIT_ERROR;
	return n == 0 ? COMMIT_DONE : s->calls->commit(s, changes, n, e);
}

void
record_release(struct record *r)
{
	free(r->key);
	free(r->tag);
	free(r->value);
	memset(r, 0, sizeof *r);
}

void
records_release(struct records *r)
{
	for (size_t i = 0; i < r->n; i++)
		record_release(&r->v[i]);
	free(r->v);
	memset(r, 0, sizeof *r);
}

void
records_add(struct records *r, const char *key, int64_t version, const char *tag, const char *value)
{
	r->v = vec_room(r->v, r->n, &r->cap, sizeof *r->v);
	r->v[r->n++] = (struct record){ .key = xstrdup(key), .version = version, .tag = xstrdup(tag), .value = xstrdup(value) };
}
