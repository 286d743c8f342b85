#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "records/hooks/hooks.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/io.h"

/* The open and locked file, whose size goes to *size. */
static int
enter(const char *path, int wait_ms, off_t *size, struct err *e)
{
	int fd = io_lock(path, wait_ms, e);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0 &&
	    st.st_nlink == 1) {
		*size = st.st_size;
		return fd;
	}
	close(fd);
	err_set(e, GT_FAIL, "not-private", "%s is not a private file of this user", path);
	return err_hint(e, "check it and move it away");
}

static int
append(int fd, off_t size, const struct buf *line)
{
	struct buf whole = BUF_INIT;
	char last = '\n';
	int ret = -1;

	if (size > 0 && pread(fd, &last, 1, size - 1) != 1)
		return -1;
	if (last != '\n')
		buf_chr(&whole, '\n');
	buf_add(&whole, line->data, line->len);
	if (lseek(fd, size, SEEK_SET) == size && fault_point("spool-append") == 0 &&
	    io_write_all(fd, whole.data, whole.len) == 0 && fault_point("spool-sync") == 0 && fsync(fd) == 0)
		ret = 0;
	buf_release(&whole);
	return ret;
}

static char *
dropped_path(const char *path)
{
	return xasprintf("%s.dropped", path);
}

size_t
hook_spool_dropped(const char *path, int64_t *last)
{
	char *name = dropped_path(path);
	struct buf text = BUF_INIT;
	struct stat st;
	size_t n = 0;

	if (io_read_private(name, 64, &text, NULL) == 0)
		n = (size_t)strtoull(text.data != NULL ? text.data : "", NULL, 10);
	if (last != NULL)
		*last = n > 0 && stat(name, &st) == 0 ? (int64_t)st.st_mtim.tv_sec * 1000 : 0;
	buf_release(&text);
	free(name);
	return n;
}

/* Under the spool's lock. */
static void
count_dropped(const char *path)
{
	char *name = dropped_path(path), *text = xasprintf("%zu\n", hook_spool_dropped(path, NULL) + 1);

	io_write_synced(name, text, strlen(text), "spool-dropped", NULL);
	free(text);
	free(name);
}

int
hook_spool_append(const char *path, const struct hook_event *b, int wait_ms, struct err *e)
{
	struct buf line = BUF_INIT;
	json_t *o = hook_event_json(b);
	off_t size;
	int fd = enter(path, wait_ms, &size, e), ret = -1;

	json_print(&line, o, false);
	buf_chr(&line, '\n');
	json_decref(o);
	if (fd >= 0 && (size_t)size + line.len + 1 > HOOK_SPOOL_MAX) {
		count_dropped(path);
		err_set(e, GT_FAIL, "full", "%s has its full size", path);
	} else if (fd >= 0 && ((size == 0 && io_sync_parent(path) != 0) || append(fd, size, &line) != 0)) {
		/* the name was synced first: whoever finds a line need not ask about its writer */
		err_sys(e, GT_FAIL, "write", "%s cannot be written", path);
	} else if (fd >= 0) {
		ret = 0;
	}
	if (fd >= 0)
		close(fd);
	buf_release(&line);
	return ret;
}

/* --- the replay --- */

struct spool_line {
	struct hook_event beat;
	size_t at;			/* its place, which decides between beats of one moment */
};

static int
compare(const void *a, const void *b)
{
	const struct spool_line *x = a, *y = b;
	int by = strcmp(x->beat.conversation, y->beat.conversation);

	if (by != 0)
		return by;
	if (x->beat.at.wall_ms != y->beat.at.wall_ms)
		return x->beat.at.wall_ms < y->beat.at.wall_ms ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

/* What is no beat is a line that was torn. */
static struct spool_line *
read_lines(const struct buf *text, size_t *n)
{
	struct spool_line *v = NULL;
	size_t cap = 0;

	*n = 0;
	for (const char *p = text->data, *end;
	    (end = memchr(p, '\n', text->len - (size_t)(p - text->data))) != NULL; p = end + 1) {
		json_t *o = json_parse(p, (size_t)(end - p), "the spool", NULL);

		v = vec_room(v, *n, &cap, sizeof *v);
		v[*n].at = *n;
		if (o != NULL && hook_event_from_json(&v[*n].beat, o, NULL) == 0)
			++*n;
		json_decref(o);
	}
	if (*n > 1)
		qsort(v, *n, sizeof *v, compare);
	return v;
}

static int
note_lines(struct store *s, const struct spool_line *v, size_t n, struct err *e)
{
	const struct hook_event **beats = xcalloc(n + 1, sizeof *beats);
	size_t from = 0;
	int ret = 0;

	for (size_t i = 0; i < n; i++)
		beats[i] = &v[i].beat;
	for (size_t to = 1; to <= n && ret == 0; to++) {
		if (to < n && strcmp(beats[to]->conversation, beats[from]->conversation) == 0)
			continue;
		ret = activity_apply_events(s, beats + from, to - from, e);
		from = to;
	}
	free(beats);
	return ret;
}

static int
replay(struct store *s, int fd, const char *path, size_t *n, struct err *e)
{
	struct buf text = BUF_INIT;
	struct spool_line *v;
	int ret;

	if (io_read_all(fd, path, HOOK_SPOOL_MAX + HOOK_TEXT_MAX, &text, e) != 0)
		return -1;
	v = read_lines(&text, n);
	ret = note_lines(s, v, *n, e);
	if (ret == 0 && (fault_point("spool-empty") != 0 || ftruncate(fd, 0) != 0 || fsync(fd) != 0))
		ret = err_sys(e, GT_FAIL, "write", "%s cannot be emptied", path);
	for (size_t i = 0; i < *n; i++)
		hook_event_release(&v[i].beat);
	free(v);
	buf_release(&text);
	return ret;
}

int
hook_spool_replay(struct store *s, const char *path, size_t *n, struct err *e)
{
	struct err busy = ERR_INIT;
	struct stat st;
	size_t noted = 0;
	off_t size;
	int fd, ret = 0;

	if (n != NULL)
		*n = 0;
	if (lstat(path, &st) != 0 || st.st_size == 0)
		return 0;
	if ((fd = enter(path, 0, &size, &busy)) < 0) {
		if (strcmp(busy.name, "locked") == 0)
			return 0;
		if (e != NULL)
			*e = busy;
		return -1;
	}
	if (size > 0)
		ret = replay(s, fd, path, &noted, e);
	close(fd);
	if (n != NULL)
		*n = noted;
	return ret;
}
