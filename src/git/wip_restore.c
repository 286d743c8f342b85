#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git/git_private.h"
#include "base/err.h"
#include "base/io.h"
#include "base/utf8.h"

#define CONFLICTS_SHOWN 5

/* A file that the checkpoint changed: "A" was not in its base, "D" is not in the checkpoint. */
struct change_row {
	char letter;
	const char *path;
};

struct wip_restore {
	struct git_run v;		/* with a private index */
	const struct wip *w;
	struct buf rows;		/* git's answer */
	struct change_row *row;
	size_t n, cap;
};

static bool
has_path(const struct buf *list, const char *path)
{
	for (const char *p = list->data; p < list->data + list->len; p += strlen(p) + 1)
		if (strcmp(p, path) == 0)
			return true;
	return false;
}

static bool
is_on_disk(const struct wip_restore *r, const char *path)
{
	char *full = io_join(r->w->top, path);
	struct stat st;
	bool found = lstat(full, &st) == 0;

	free(full);
	return found;
}

/* What the checkpoint changed, below the paths. */
static int
read_changes(struct wip_restore *r, const char *const *paths, size_t n, struct err *e)
{
	const char *ask[GIT_RUN_ARGS / 2] = { "--literal-pathspecs", "diff-tree", "-r", "-z", "--name-status",
		"--no-renames", r->w->base, r->w->commit, "--" };
	size_t at = 9;

	if (n + at >= sizeof ask / sizeof ask[0])
		return err_set(e, GT_USAGE, "usage", "too many paths");
	for (size_t i = 0; i < n; i++)
		ask[at++] = paths[i];
	if (wip_git(&r->v, "diff-tree", ask, NULL, &r->rows, e) != 0)
		return -1;
	for (const char *p = r->rows.data, *end = p + r->rows.len; p < end; p += strlen(p) + 1) {
		char letter = *p;

		p += strlen(p) + 1;
		if (p >= end)
			break;
		r->row = vec_room(r->row, r->n, &r->cap, sizeof *r->row);
		r->row[r->n++] = (struct change_row){ letter, p };
	}
	return 0;
}

/* The files of that commit or tree that are otherwise on disk, or missing, each ended by a NUL. */
static int
read_differing(struct wip_restore *r, const char *tree, struct buf *out, struct err *e)
{
	const char *read[] = { "read-tree", tree, NULL };
	static const char *const refresh[] = { "update-index", "-q", "--refresh", NULL };
	static const char *const differ[] = { "diff-files", "-z", "--name-only", NULL };

	if (wip_git(&r->v, "read-tree", read, NULL, NULL, e) != 0)
		return -1;
	/* its status tells of files that differ */
	if (git_run_command(&r->v, refresh, NULL, NULL, e) < 0)
		return -1;
	return wip_git(&r->v, "diff-files", differ, NULL, out, e);
}

static int
refuse(size_t n, const struct buf *names, struct err *e)
{
	err_set(e, GT_REFUSED, "uncommitted", "%zu file%s changed since, and would be overwritten: %s", n,
	    n == 1 ? " has" : "s have", names->data);
	return err_hint(e, "commit or stash them first, or name the paths to restore");
}

/* The index has the checkpoint. */
static int
write_files(struct wip_restore *r, const struct buf *wanted, const struct buf *gone, struct err *e)
{
	static const char *const ask[] = { "checkout-index", "-f", "-z", "--stdin", NULL };

	if (wanted->len > 0 && wip_git(&r->v, "checkout-index", ask, wanted, NULL, e) != 0)
		return -1;
	for (const char *p = gone->data; p < gone->data + gone->len; p += strlen(p) + 1) {
		char *full = io_join(r->w->top, p);
		int ret = unlink(full);

		if (ret != 0)
			err_sys(e, GT_FAIL, "unwritable", "cannot remove %.300s", full);
		free(full);
		if (ret != 0)
			return -1;
	}
	return 0;
}

static int
restore(struct wip_restore *r, bool dry_run, size_t *n, struct err *e)
{
	struct buf as_base = BUF_INIT, as_wip = BUF_INIT, wanted = BUF_INIT, gone = BUF_INIT;
	struct buf names = BUF_INIT;
	size_t conflicts = 0;
	int ret = read_differing(r, r->w->base, &as_base, e);

	if (ret == 0)
		ret = read_differing(r, r->w->commit, &as_wip, e);
	for (size_t i = 0; i < r->n && ret == 0; i++) {
		const char *path = r->row[i].path;
		char letter = r->row[i].letter;

		if (letter == 'D' ? !is_on_disk(r, path) : !has_path(&as_wip, path))
			continue;
		(*n)++;
		buf_add(letter == 'D' ? &gone : &wanted, path, strlen(path) + 1);
		if (letter == 'A' ? !is_on_disk(r, path) : !has_path(&as_base, path))
			continue;
		if (conflicts++ < CONFLICTS_SHOWN) {
			buf_str(&names, conflicts > 1 ? ", " : "");
			utf8_escape(&names, path, strlen(path), 120);
		}
	}
	if (conflicts > CONFLICTS_SHOWN)
		buf_fmt(&names, " and %zu more", conflicts - CONFLICTS_SHOWN);
	if (ret == 0 && conflicts > 0)
		ret = refuse(conflicts, &names, e);
	else if (ret == 0 && !dry_run)
		ret = write_files(r, &wanted, &gone, e);
	buf_release(&as_base);
	buf_release(&as_wip);
	buf_release(&wanted);
	buf_release(&gone);
	buf_release(&names);
	return ret;
}

int
wip_restore(const struct wip *w, const char *const *paths, size_t n_paths, const char *room, bool dry_run,
    size_t *n, struct err *e)
{
	struct wip_restore r = { .w = w, .rows = BUF_INIT };
	char *index = io_join(room, "index");
	int ret;

	*n = 0;
	if (*w->base == '\0') {
		free(index);
		return err_set(e, GT_FAIL, "git", "the checkpoint has no base commit");
	}
	git_run_init(&r.v, w->top, WIP_DEADLINE_MS);
	git_run_set_config(&r.v, xasprintf("GIT_INDEX_FILE=%s", index));
	unlink(index);
	ret = git_run_disable_filters(&r.v, e);
	if (ret == 0)
		ret = read_changes(&r, paths, n_paths, e);
	if (ret == 0)
		ret = restore(&r, dry_run, n, e);
	unlink(index);
	git_run_release(&r.v);
	buf_release(&r.rows);
	free(r.row);
	free(index);
	return ret;
}

int
wip_stat(const struct wip *w, struct buf *out, struct err *e)
{
	const char *ask[] = { "-c", "core.quotePath=true", "diff-tree", "--no-renames", "--stat=78", w->base,
		w->commit, NULL };
	struct git_run v;
	int ret;

	git_run_init(&v, w->top, WIP_DEADLINE_MS);
	ret = wip_git(&v, "diff-tree", ask, NULL, out, e);
	git_run_release(&v);
	return ret;
}

int
wip_delete(const struct wip *w, struct err *e)
{
	const char *ask[] = { "update-ref", "-d", w->ref, w->commit, NULL };
	struct git_run v;
	int ret;

	git_run_init(&v, w->top, WIP_DEADLINE_MS);
	ret = wip_git(&v, "update-ref", ask, NULL, NULL, e);
	git_run_release(&v);
	return ret;
}
