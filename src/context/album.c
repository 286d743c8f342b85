#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "context/album.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json_slice.h"
#include "base/sha256.h"
#include "context/snapshot.h"

#define MS_DIGITS 13
#define MAX_FILE ((size_t)64 << 20)

static void
make_key(char out[ALBUM_KEY], const struct buf *of)
{
	char hex[65];

	sha256_hex(of->data, of->len, hex);
	memcpy(out, hex, ALBUM_KEY - 1);
	out[ALBUM_KEY - 1] = '\0';
}

void
album_session_key(char out[ALBUM_KEY], const char *socket, const char *session)
{
	struct buf b = BUF_INIT;

	buf_add(&b, socket, strlen(socket) + 1);
	buf_str(&b, session);
	make_key(out, &b);
	buf_release(&b);
}

void
album_pane_key(char out[ALBUM_KEY], const char *socket, pid_t server_pid, int64_t server_start, const char *pane)
{
	struct buf b = BUF_INIT;

	buf_add(&b, socket, strlen(socket) + 1);
	buf_fmt(&b, "%lld %lld %s", (long long)server_pid, (long long)server_start, pane);
	make_key(out, &b);
	buf_release(&b);
}

void
album_name(char out[ALBUM_NAME], int64_t at, const char *session_key, const char *pane_key)
{
	snprintf(out, ALBUM_NAME, "%0*lld-%s-%s.json", MS_DIGITS, (long long)at, session_key, pane_key);
}

/* n characters of `of` at *p, and the character behind them. */
static bool
take(const char **p, const char *of, size_t n, char behind)
{
	if (strspn(*p, of) != n || (*p)[n] != behind)
		return false;
	*p += n + 1;
	return true;
}

static bool
read_name(const char *name, struct album_entry *out)
{
	static const char hex[] = "0123456789abcdef";
	const char *p = name;

	memset(out, 0, sizeof *out);
	if (!take(&p, "0123456789", MS_DIGITS, '-') || !take(&p, hex, ALBUM_KEY - 1, '-') || !take(&p, hex, ALBUM_KEY - 1, '.') ||
	    strcmp(p, "json") != 0)
		return false;
	out->at = strtoll(name, NULL, 10);
	memcpy(out->session, name + MS_DIGITS + 1, ALBUM_KEY - 1);
	memcpy(out->pane, name + MS_DIGITS + 1 + ALBUM_KEY, ALBUM_KEY - 1);
	memcpy(out->name, name, strlen(name) + 1);
	return true;
}

static int
by_age(const void *a, const void *b)
{
	const struct album_entry *x = a, *y = b;

	return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : strcmp(x->name, y->name);
}

int
album_read(const char *dir, struct album *out, struct err *e)
{
	DIR *d = opendir(dir);
	struct dirent *f;
	struct album_entry one;

	memset(out, 0, sizeof *out);
	if (d == NULL && errno != ENOENT && errno != ENOTDIR)
		return err_sys(e, GT_FAIL, "read", "the directory of snapshots %s cannot be read", dir);
	out->dir = xstrdup(dir);
	while (d != NULL && (f = readdir(d)) != NULL)
		if (read_name(f->d_name, &one)) {
			out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
			out->v[out->n++] = one;
		}
	if (d != NULL)
		closedir(d);
	if (out->n > 0)
		qsort(out->v, out->n, sizeof *out->v, by_age);
	return 0;
}

void
album_release(struct album *a)
{
	free(a->dir);
	free(a->v);
	memset(a, 0, sizeof *a);
}

const struct album_entry *
album_newest(const struct album *a, const char *session_key, const char *pane_key, int64_t until)
{
	for (size_t i = a->n; i-- > 0; ) {
		const struct album_entry *x = &a->v[i];

		if ((session_key == NULL || strcmp(x->session, session_key) == 0) && (pane_key == NULL || strcmp(x->pane, pane_key) == 0) &&
		    (until == 0 || x->at <= until))
			return x;
	}
	return NULL;
}

struct album_entry *
album_find(struct album *a, const char *name)
{
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i].name, name) == 0)
			return &a->v[i];
	return NULL;
}

static int
by_session(const void *a, const void *b)
{
	const struct album_entry *const *x = a, *const *y = b;
	int way = strcmp((*x)->session, (*y)->session);

	/* the newest first */
	return way != 0 ? way : by_age(*y, *x);
}

void
album_expire(struct album *a, size_t keep, int64_t age_ms, int64_t now)
{
	struct album_entry **of = xcalloc(a->n, sizeof *of);
	size_t rank = 0;

	for (size_t i = 0; i < a->n; i++)
		of[i] = &a->v[i];
	if (a->n > 0)
		qsort(of, a->n, sizeof *of, by_session);
	for (size_t i = 0; i < a->n; i++) {
		rank = i > 0 && strcmp(of[i]->session, of[i - 1]->session) == 0 ? rank + 1 : 0;
		of[i]->gone = rank > 0 && !of[i]->held && (rank >= keep || now - of[i]->at > age_ms);
	}
	free(of);
}

/* ".MS-SESSION-PANE.json.PID.RANDOM", as io_write_durable calls its temporary files. */
static bool
is_leftover(const char *name)
{
	return name[0] == '.' && isalnum((unsigned char)name[1]) && strstr(name, ".json.") != NULL;
}

size_t
album_remove(struct album *a)
{
	int fd = open(a->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *f;
	size_t removed = 0;

	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	for (size_t i = 0; i < a->n; i++)
		if (a->v[i].gone && unlinkat(fd, a->v[i].name, 0) == 0)
			removed++;
	while ((f = readdir(d)) != NULL)
		if (is_leftover(f->d_name))
			unlinkat(fd, f->d_name, 0);
	closedir(d);
	return removed;
}

int
album_write(const char *dir, const char *name, const char *p, size_t n, struct err *e)
{
	char *path = io_join(dir, name);
	int ret = io_write_synced(path, p, n, "snapshot", e);

	free(path);
	return ret;
}

static int
load(const char *dir, const char *name, bool whole, struct scrub *s, struct snapshot *out, struct err *e)
{
	char *path = io_join(dir, name);
	struct buf b = BUF_INIT;
	int ret = io_read_private(path, MAX_FILE, &b, e);

	*out = (struct snapshot)SNAPSHOT_INIT;
	if (ret == 0)
		ret = (whole ? snapshot_parse : snapshot_parse_head)(b.data, b.len, path, s, out, e);
	buf_release(&b);
	free(path);
	return ret;
}

int
album_sync(const char *dir, struct err *e)
{
	char *path = io_join(dir, "lock");
	int ret = io_sync_parent(path);

	free(path);
	return ret == 0 ? 0 : err_sys(e, GT_FAIL, "write", "the directory of snapshots %s cannot be synced", dir);
}

int
album_load(const char *dir, const char *name, struct scrub *s, struct snapshot *out, struct err *e)
{
	return load(dir, name, true, s, out, e);
}

int
album_head(const char *dir, const char *name, struct scrub *s, struct snapshot *out, struct err *e)
{
	return load(dir, name, false, s, out, e);
}

bool
album_tells(const char *dir, const char *name, const char *body, size_t n)
{
	char *path = io_join(dir, name);
	struct buf b = BUF_INIT;
	size_t tail = n + strlen(SNAPSHOT_END);
	bool yes = io_read_private(path, MAX_FILE, &b, NULL) == 0 && b.len >= tail && memcmp(b.data + b.len - tail, body, n) == 0;

	buf_release(&b);
	free(path);
	return yes;
}

static long
number_of(struct json_slice object, const char *key)
{
	struct json_slice v = json_slice_get(object, key);

	/* a NUL stands behind the text */
	return v.p != NULL ? strtol(v.p, NULL, 10) : 0;
}

bool
album_glance(const char *dir, const char *name, size_t *rows, pid_t *pane_pid)
{
	char *path = io_join(dir, name);
	struct buf b = BUF_INIT;
	struct json_slice whole;
	bool yes = io_read_private(path, MAX_FILE, &b, NULL) == 0 && json_slice_whole(b.data, b.len, &whole);

	*rows = yes ? (size_t)number_of(whole, "rows") : 0;
	*pane_pid = yes ? (pid_t)number_of(json_slice_get(whole, "pane"), "pid") : 0;
	buf_release(&b);
	free(path);
	return yes;
}
