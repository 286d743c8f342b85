#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git/git_private.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/sys.h"
#include "scrub/scrub.h"

/*
 * The folder that a path's last part lies in, entered part by part, so that no link leads
 * elsewhere. -1 when there is none such.
 */
static int
enter(int top, const char *path, const char **last)
{
	int fd = dup(top);

	while (fd >= 0 && strchr(path, '/') != NULL) {
		char *part = xstrndup(path, strcspn(path, "/"));
		int next = sys_open_folder(fd, part);

		path += strlen(part) + 1;
		free(part);
		close(fd);
		fd = next;
	}
	*last = path;
	return fd;
}

static const char *
read_link(int dir, const char *name, struct buf *out)
{
	char target[4096];
	ssize_t n = readlinkat(dir, name, target, sizeof target);

	if (n < 0 || n == sizeof target)
		return "it cannot be read";
	buf_add(out, target, (size_t)n);
	return NULL;
}

static const char *
read_bytes(int fd, struct wip_entry *x, struct buf *out)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return "it cannot be read";
	if (!S_ISREG(st.st_mode))
		return "it is not a file";
	if ((size_t)st.st_size > WIP_FILE_MAX)
		return "too large";
	x->mtime = st.st_mtim;
	x->size = st.st_size;
	if (*x->mode == '\0' || strcmp(x->mode, "120000") == 0)
		memcpy(x->mode, (st.st_mode & S_IXUSR) != 0 ? "100755" : "100644", 7);
	return io_read_all(fd, "a file", WIP_FILE_MAX, out, NULL) == 0 ? NULL : "it cannot be read, or grows";
}

/*
 * The bytes of a file, or where a link points to, through no link on the way; also the mode if it
 * is not known. NULL: that is done; else why not.
 */
static const char *
wip_read(int top, struct wip_entry *x, struct buf *out)
{
	const char *name, *why;
	struct stat st;
	int dir = enter(top, x->path, &name), fd = -1;

	buf_reset(out);
	if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		why = "it no longer exists";
	} else if (S_ISLNK(st.st_mode)) {
		x->mtime = st.st_mtim;
		x->size = st.st_size;
		memcpy(x->mode, "120000", 7);
		why = read_link(dir, name, out);
	} else {
		/* a pipe must not keep us waiting */
		fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		why = read_bytes(fd, x, out);
	}
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	return why;
}

#define COMPARED 100			/* files with findings whose state in HEAD is asked for */
#define SYNCED_ALONE 64			/* objects; more of them are synced together */
#define FINDINGS 10000			/* of one file: beyond that it is left out */

/* ---- what differs from HEAD ---- */

static struct wip_entry *
add(struct wip_work *w, const char *path)
{
	w->entries = vec_room(w->entries, w->n, &w->cap, sizeof *w->entries);
	w->entries[w->n] = (struct wip_entry){ .path = xstrdup(path) };
	return &w->entries[w->n++];
}

/* "1 XY sub mH mI mW hH hI path", "u XY sub m1 m2 m3 mW h1 h2 h3 path", "? path" */
static void
take_line(struct wip_work *w, const char *line)
{
	bool untracked = line[0] == '?';
	const char *path = untracked ? line + 2 : git_skip_fields(line, line[0] == '1' ? 8 : 10),
		   *mode = git_skip_fields(line, line[0] == '1' ? 5 : 6);
	struct wip_entry *x;

	if ((line[0] != '1' && line[0] != 'u' && !untracked) || path == NULL || *path == '\0')
		return;
	x = add(w, path);
	if (!untracked && (git_skip_fields(line, 2)[0] == 'S' || strncmp(mode, "160000", 6) == 0))
		x->why = "a submodule";
	else if (untracked && str_ends(path, "/"))
		x->why = "a repository of its own";
	else if (!untracked && strncmp(mode, "000000", 6) == 0)
		x->gone = true;
	else if (!untracked && strncmp(mode, "100", 3) == 0)
		snprintf(x->mode, sizeof x->mode, "%.6s", mode);
	if (x->why == NULL && !x->gone && scrub_is_secret_file(path))
		x->why = "its name";
	else if (x->why == NULL && w->n > WIP_FILES)
		x->why = "too many files";
}

static int
load_status(struct wip_work *w, struct buf *out, struct err *e)
{
	static const char *const ask[] = { "status", "--porcelain=v2", "-z", "--untracked-files=all",
		"--ignore-submodules=dirty", "--no-renames", NULL };

	return wip_git(&w->v, "status", ask, NULL, out, e);
}

static int
list(struct wip_work *w, struct err *e)
{
	const struct buf *out = &w->status;
	int ret = load_status(w, &w->status, e);

	for (size_t i = 0; i < w->n; i++)
		free(w->entries[i].path);
	w->n = 0;
	for (const char *p = out->data; ret == 0 && p < out->data + out->len; p += strlen(p) + 1)
		take_line(w, p);
	return ret;
}

static bool
was_written(const struct wip_work *w, const struct wip_entry *x)
{
	char *path = io_join(w->out->top, x->path);
	struct stat st;
	bool same = lstat(path, &st) == 0 && st.st_size == x->size && st.st_mtim.tv_sec == x->mtime.tv_sec &&
	    st.st_mtim.tv_nsec == x->mtime.tv_nsec;

	free(path);
	return !same;
}

int
wip_has_changed(struct wip_work *w, struct err *e)
{
	struct buf now = BUF_INIT;
	int ret = load_status(w, &now, e);

	if (ret == 0)
		ret = now.len != w->status.len || memcmp(now.data, w->status.data, now.len) != 0;
	for (size_t i = 0; i < w->n && ret == 0; i++)
		ret = w->entries[i].why == NULL && w->entries[i].mtime.tv_sec != 0 &&
		    was_written(w, &w->entries[i]);
	buf_release(&now);
	return ret;
}

static bool
is_wanted(const struct wip_entry *x)
{
	return x->why == NULL && !x->gone && *x->hash == '\0';
}

/*
 * What a filter or an encoding stands before is something else in the repository than on disk,
 * perhaps since it is secret.
 */
static int
ask_attributes(struct wip_work *w, struct err *e)
{
	static const char *const ask[] = { "check-attr", "-z", "--stdin", "filter", "working-tree-encoding",
		NULL };
	struct buf in = BUF_INIT, out = BUF_INIT;
	size_t i = 0;
	int ret = 0;

	for (size_t k = 0; k < w->n; k++)
		if (is_wanted(&w->entries[k]))
			buf_add(&in, w->entries[k].path, strlen(w->entries[k].path) + 1);
	if (in.len > 0)
		ret = wip_git(&w->v, "check-attr", ask, &in, &out, e);
	for (const char *p = out.data, *end = out.data + out.len; ret == 0 && p < end; ) {
		const char *path = p, *name = path + strlen(path) + 1,
			   *value = name < end ? name + strlen(name) + 1 : end;

		if (value >= end)
			break;
		p = value + strlen(value) + 1;
		/* in the order in which they were asked for */
		while (i < w->n && strcmp(w->entries[i].path, path) != 0)
			i++;
		if (i < w->n && strcmp(value, "unspecified") != 0 && strcmp(value, "unset") != 0)
			w->entries[i].why =
			    strcmp(name, "filter") == 0 ? "a filter of git" : "its encoding in git";
	}
	buf_release(&in);
	buf_release(&out);
	return ret;
}

/* ---- what the last checkpoint has already ---- */

/* git reads such paths a line each. */
static bool
is_plain(const char *path)
{
	return *path != '"' && strchr(path, '\n') == NULL;
}

struct wip_known_file {
	size_t entry;
	char hash[65];			/* in the last checkpoint */
};

/* A file of the last checkpoint that was not as in HEAD. */
struct saved {
	const char *path, *hash;		/* hash: a blank ends it */
};

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct saved *)a)->path, ((const struct saved *)b)->path);
}

/* ":OLD-MODE MODE OLD-HASH HASH STATUS", path, and so on. The number of files; *list is heap. */
static size_t
read_saved(const struct buf *out, struct saved **list)
{
	size_t n = 0, cap = 0;

	*list = NULL;
	for (const char *p = out->data, *end = out->data + out->len; p < end; ) {
		const char *path = p + strlen(p) + 1, *hash = *p == ':' ? git_skip_fields(p, 3) : NULL;

		if (path >= end)
			break;
		p = path + strlen(path) + 1;
		if (hash == NULL)
			continue;
		*list = vec_room(*list, n, &cap, sizeof **list);
		(*list)[n++] = (struct saved){ path, hash };
	}
	if (n > 0)
		qsort(*list, n, sizeof **list, by_path);
	return n;
}

/* Something that git may read in a moment: no pipe, and of no size that we would not take. */
static bool
is_file(const struct wip_work *w, const struct wip_entry *x)
{
	char *path = io_join(w->out->top, x->path);
	struct stat st;
	bool is = lstat(path, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size <= WIP_FILE_MAX;

	free(path);
	return is;
}

/* Of files that the last checkpoint has otherwise than HEAD: their object there. n of them. */
static int
ask_tip(struct wip_work *w, struct wip_known_file *known, size_t *n, struct err *e)
{
	const char *ask[] = { "diff-tree", "-r", "-z", "--no-renames", w->head, w->tip.commit, NULL };
	struct buf out = BUF_INIT;
	struct saved *list = NULL;
	int ret = wip_git(&w->v, "diff-tree", ask, NULL, &out, e);
	size_t n_list = ret == 0 ? read_saved(&out, &list) : 0;

	for (size_t i = 0; i < w->n && n_list > 0; i++) {
		const struct wip_entry *x = &w->entries[i];
		const struct saved wanted = { x->path, NULL };
		const struct saved *found = is_wanted(x) && is_plain(x->path)
		    ? bsearch(&wanted, list, n_list, sizeof *list, by_path)
		    : NULL;

		if (found == NULL || !is_file(w, x) ||
		    sscanf(found->hash, "%64[0-9a-f]", known[*n].hash) != 1)
			continue;
		known[(*n)++].entry = i;
	}
	free(list);
	buf_release(&out);
	return ret;
}

/*
 * A file that is as in the tip was looked at then. One that changes meanwhile makes git fail, or
 * another hash: it is read.
 */
static int
keep_known(struct wip_work *w, struct err *e)
{
	static const char *const ask[] = { "hash-object", "--no-filters", "--stdin-paths", NULL };
	struct wip_known_file *known = xcalloc(w->n + 1, sizeof *known);
	struct buf in = BUF_INIT, out = BUF_INIT;
	char *save = NULL, *line;
	size_t n = 0, i = 0;
	int ret = *w->tip.commit != '\0' && *w->head != '\0' ? ask_tip(w, known, &n, e) : 0;

	for (size_t k = 0; k < n; k++)
		buf_fmt(&in, "%s\n", w->entries[known[k].entry].path);
	if (ret == 0 && n > 0 && (ret = git_run_with_input(&w->v, ask, &in, &out, NULL, e)) > 0) {
		buf_reset(&out);
		ret = 0;
	}
	for (line = strtok_r(out.data, "\n", &save); line != NULL && ret == 0 && i < n;
	    line = strtok_r(NULL, "\n", &save), i++) {
		struct wip_entry *x = &w->entries[known[i].entry];
		char *path = io_join(w->out->top, x->path);
		struct stat st;

		if (strcmp(line, known[i].hash) == 0 && lstat(path, &st) == 0) {
			memcpy(x->hash, known[i].hash, sizeof x->hash);
			if (*x->mode == '\0')
				memcpy(x->mode, (st.st_mode & S_IXUSR) != 0 ? "100755" : "100644", 7);
		}
		free(path);
	}
	free(known);
	buf_release(&in);
	buf_release(&out);
	return ret;
}

/* ---- secrets by their content ---- */

static bool
has_place(const struct scrub_place *places, size_t n, const struct scrub_place *x)
{
	for (size_t i = 0; i < n; i++)
		if (places[i].kind == x->kind && places[i].ordinal == x->ordinal)
			return true;
	return false;
}

/* Are all of these in HEAD's file, too? The scrubber gives the same value the same number. */
static bool
head_has_them(struct wip_work *w, const struct wip_entry *x, const struct scrub_place *places, size_t n)
{
	char *name = xasprintf("%s:%s", w->head, x->path);
	const char *ask[] = { "cat-file", "blob", name, NULL };
	struct buf out = BUF_INIT;
	bool all = git_run_command(&w->v, ask, &out, NULL, NULL) == 0 && out.len <= WIP_FILE_MAX;

	if (all) {
		const struct scrub_place *old;
		size_t n_old;

		clean_free(scrub_text(w->ask->scrub, out.data, out.len, 0));
		old = scrub_places(w->ask->scrub, &n_old);
		for (size_t i = 0; i < n && all; i++)
			all = places[i].kind != SCRUB_WITHHELD && has_place(old, n_old, &places[i]);
	}
	buf_wipe(&out);
	free(name);
	return all;
}

static bool
holds_secret(struct wip_work *w, const struct wip_entry *x, const struct buf *bytes, size_t *compared)
{
	struct scrub *s = w->ask->scrub;
	const struct scrub_place *found;
	struct scrub_place *places;
	size_t n;
	bool holds;

	scrub_forget(s);
	clean_free(scrub_text(s, bytes->data, bytes->len, 0));
	found = scrub_places(s, &n);
	if (n == 0)
		return false;
	if (n > FINDINGS || *w->head == '\0' || (*compared)++ >= COMPARED)
		return true;
	places = xcalloc(n, sizeof *places);
	memcpy(places, found, n * sizeof *places);
	holds = !head_has_them(w, x, places, n);
	free(places);
	return holds;
}

/* ---- objects ---- */

/* For git to read in a moment: not synced. */
static int
write_file(const char *path, const struct buf *bytes, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int ret = fd >= 0 && io_write_all(fd, bytes->data, bytes->len) == 0 ? 0 : -1;

	if (ret != 0)
		err_sys(e, GT_FAIL, "unwritable", "cannot write %.300s", path);
	if (fd >= 0)
		close(fd);
	return ret;
}

/* Files of which the repository does not have the bytes yet: looked at, and spilt into the room. */
static int
spill(struct wip_work *w, struct buf *paths, size_t *n, struct err *e)
{
	int top = open(w->out->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct buf bytes = BUF_INIT;
	size_t total = 0, compared = 0;
	int ret = top >= 0 ? 0 : err_sys(e, GT_FAIL, "unwritable", "cannot open %.300s", w->out->top);

	for (size_t i = 0; i < w->n && ret == 0; i++) {
		struct wip_entry *x = &w->entries[i];
		char *path;

		if (!is_wanted(x))
			continue;
		x->why = wip_read(top, x, &bytes);
		if (x->why == NULL && total + bytes.len > WIP_TOTAL_MAX)
			x->why = "too much in all";
		else if (x->why == NULL && holds_secret(w, x, &bytes, &compared))
			x->why = "it holds a secret";
		if (x->why != NULL)
			continue;
		total += bytes.len;
		(*n)++;
		path = xasprintf("%s/%zu", w->ask->room, i);
		ret = write_file(path, &bytes, e);
		buf_fmt(paths, "%s\n", path);
		free(path);
		ret = ret == 0 && git_run_timed_out(&w->v, e) ? -1 : ret;
	}
	buf_wipe(&bytes);
	if (top >= 0)
		close(top);
	return ret;
}

/* All that stands on the repository's file system, in one go. */
static int
sync_objects(struct wip_work *w, struct err *e)
{
	static const char *const ask[] = { "rev-parse", "--git-path", "objects", NULL };
	struct buf out = BUF_INIT;
	int ret = wip_git(&w->v, "rev-parse", ask, NULL, &out, e), fd = -1;

	if (ret == 0) {
		char *path;

		out.data[strcspn(out.data, "\n")] = '\0';
		path = out.data[0] == '/' ? xstrdup(out.data) : io_join(w->out->top, out.data);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ret = fd >= 0 && syncfs(fd) == 0 ? 0 : err_sys(e, GT_FAIL, "git", "cannot sync %.300s", path);
		free(path);
	}
	if (fd >= 0)
		close(fd);
	buf_release(&out);
	return ret;
}

static int
write_objects(struct wip_work *w, struct err *e)
{
	const char *ask[] = { "-c", "core.fsync=all", "hash-object", "-w", "--no-filters", "--stdin-paths",
		NULL };
	struct buf paths = BUF_INIT, out = BUF_INIT;
	size_t n = 0;
	int ret = spill(w, &paths, &n, e);
	const char *line;

	if (n > SYNCED_ALONE)
		ask[1] = "core.fsync=none";

	if (ret == 0 && paths.len > 0 && fault_point("wip-objects") != 0)
		ret = err_sys(
		    e, GT_FAIL, "git", "cannot write objects into the repository of %.300s", w->out->top);
	if (ret == 0 && paths.len > 0)
		ret = wip_git(&w->v, "hash-object", ask, &paths, &out, e);
	if (ret == 0 && n > SYNCED_ALONE)
		ret = sync_objects(w, e);
	line = out.data;
	for (size_t i = 0; i < w->n && ret == 0; i++) {
		struct wip_entry *x = &w->entries[i];

		if (!is_wanted(x))
			continue;
		if (sscanf(line, "%64[0-9a-f]", x->hash) != 1)
			ret = err_set(e, GT_FAIL, "git", "git hash-object answered something else in %.300s",
			    w->out->top);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	buf_release(&paths);
	buf_release(&out);
	return ret;
}

/* ---- the tree ---- */

static void
describe(const struct wip_work *w, struct buf *in)
{
	size_t digits = strlen(w->head_tree) > 0 ? strlen(w->head_tree) : 40;
	char none[65];

	memset(none, '0', digits);
	none[digits] = '\0';
	for (size_t i = 0; i < w->n; i++) {
		const struct wip_entry *x = &w->entries[i];

		if (x->gone)
			buf_fmt(in, "0 %s\t%s", none, x->path);
		else if (x->why == NULL)
			buf_fmt(in, "%s %s\t%s", x->mode, x->hash, x->path);
		if (x->gone || x->why == NULL)
			buf_chr(in, '\0');
	}
}

static int
make_tree(struct wip_work *w, char tree[65], struct err *e)
{
	const char *read[] = { "read-tree", *w->head != '\0' ? w->head : "--empty", NULL };
	static const char *const update[] = { "update-index", "-z", "--index-info", NULL };
	static const char *const write[] = { "-c", "core.fsync=all", "write-tree", "--missing-ok", NULL };
	struct buf in = BUF_INIT, out = BUF_INIT;
	int ret;

	describe(w, &in);
	ret = wip_git(&w->private, "read-tree", read, NULL, &out, e);
	if (ret == 0 && in.len > 0)
		ret = wip_git(&w->private, "update-index", update, &in, &out, e);
	if (ret == 0)
		ret = wip_git(&w->private, "write-tree", write, NULL, &out, e);
	if (ret == 0 && wip_hash(out.data, tree) != 0)
		ret = err_set(
		    e, GT_FAIL, "git", "git write-tree answered something else in %.300s", w->out->top);
	buf_release(&in);
	buf_release(&out);
	return ret;
}

int
wip_tree(struct wip_work *w, char tree[65], struct err *e)
{
	if (list(w, e) != 0 || ask_attributes(w, e) != 0 || keep_known(w, e) != 0 || write_objects(w, e) != 0)
		return -1;
	return make_tree(w, tree, e);
}
