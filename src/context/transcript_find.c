#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "context/transcript_find.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "context/newborn.h"
#include "context/transcript_place.h"

/* the times of files and panes are not of one clock's grain, and what was under way is still written */
#define SLACK_MS 5000
/* of a folder that has more in the life of one process nothing can be told */
#define MAX_LOOKS 64

const char *
found_name(enum found f)
{
	static const char *const names[] = { "none", "record", "snapshot", "command", "worktree", "town", "farewell", "folder", "screen",
	    "ambiguous" };

	return names[f];
}

/* An id is unique: where the process went to another directory, or its own is gone, the file lies in some other folder. */
static char *
path_of_id(const struct transcript_hints *h, const char *id)
{
	char *path = NULL, *projects;
	struct dirent *d;
	DIR *dir;

	if (!transcript_is_id(id))
		return NULL;
	if (h->record_cwd != NULL)
		path = transcript_path(h->config_dir, h->record_cwd, id);
	if (path == NULL && h->cwd != NULL)
		path = transcript_path(h->config_dir, h->cwd, id);
	if (path != NULL)
		return path;
	projects = io_join(h->config_dir, "projects");
	dir = opendir(projects);
	while (dir != NULL && path == NULL && (d = readdir(dir)) != NULL) {
		char *folder = d->d_name[0] != '.' ? io_join(projects, d->d_name) : NULL;

		path = folder != NULL ? transcript_in(folder, id) : NULL;
		free(folder);
	}
	if (dir != NULL)
		closedir(dir);
	free(projects);
	return path;
}

/* A file that this process may have written. */
struct rival {
	char *id, *path;
	struct said_seen seen;
};

struct rivals {
	struct rival *v;
	size_t n, cap;
};

static void
rivals_release(struct rivals *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].id);
		free(r->v[i].path);
	}
	free(r->v);
	memset(r, 0, sizeof *r);
}

static bool
among(const char *id, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], id) == 0)
			return true;
	return false;
}

/* Written to while the process lived. */
static bool
in_its_life(const struct transcript_hints *h, const char *path)
{
	struct stat st;
	int64_t ms;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
	return (h->began == 0 || ms >= h->began) && (h->ended == 0 || ms <= h->ended + SLACK_MS);
}

static bool
can_be(const struct transcript_hints *h, const char *id, const char *path)
{
	if (among(id, h->held, h->n_held) || (h->n_suspects > 0 && !among(id, h->suspects, h->n_suspects)))
		return false;
	return in_its_life(h, path);
}

/* The files of the project folder that can be this process's. */
static int
read_folder(const struct transcript_hints *h, struct rivals *out, struct err *e)
{
	char *folder = h->cwd != NULL ? transcript_folder(h->config_dir, h->cwd) : NULL;
	DIR *dir = folder != NULL ? opendir(folder) : NULL;
	struct dirent *d;
	int ret = 0;

	if (folder != NULL && dir == NULL && errno != ENOENT && errno != ENOTDIR)
		ret = err_sys(e, GT_FAIL, "transcript", "the agent's project folder %s cannot be read", folder);
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		struct rival r = { .id = NULL };

		if (strlen(d->d_name) != TRANSCRIPT_ID_CHARS + strlen(".jsonl") || !str_ends(d->d_name, ".jsonl"))
			continue;
		r.id = xstrndup(d->d_name, TRANSCRIPT_ID_CHARS);
		r.path = io_join(folder, d->d_name);
		if (!transcript_is_id(r.id) || !can_be(h, r.id, r.path)) {
			free(r.id);
			free(r.path);
			continue;
		}
		out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
		out->v[out->n++] = r;
	}
	if (dir != NULL)
		closedir(dir);
	free(folder);
	return ret;
}

static bool
can_compare(const struct transcript_hints *h)
{
	return h->said != NULL && h->said->n > 0;
}

static void
look(const struct transcript_hints *h, struct rival *r)
{
	if (said_look(h->said, r->path, &r->seen) != 0)
		r->seen = (struct said_seen){ .whole = false };
}

/* Index of the one that has every message of the screen that any has; r->n when none has any, or no one has them all. */
static size_t
best(const struct rivals *r)
{
	unsigned all = 0;
	size_t found = r->n;

	for (size_t i = 0; i < r->n; i++)
		all |= r->v[i].seen.mask;
	for (size_t i = 0; all != 0 && i < r->n; i++) {
		if (r->v[i].seen.mask != all)
			continue;
		if (found < r->n)
			return r->n;
		found = i;
	}
	return found;
}

/* Leaves those out that were read in full and have nothing of what stands on the screen. */
static void
drop_strangers(const struct transcript_hints *h, struct rivals *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n; i++) {
		look(h, &r->v[i]);
		if (r->v[i].seen.mask == 0 && r->v[i].seen.whole) {
			free(r->v[i].id);
			free(r->v[i].path);
		} else {
			r->v[kept++] = r->v[i];
		}
	}
	r->n = kept;
}

static void
take(struct transcript_found *out, enum found how, char *id, char *path)
{
	out->how = how;
	out->session_id = id;
	out->path = path;
}

/* The screen was seen before it began: a pane shows the life before for a moment. */
static void
find_born_later(const struct transcript_hints *h, struct transcript_found *out)
{
	char *path = h->cwd != NULL ? newborn_find(h->config_dir, h->cwd, h->said_at, h->held, h->n_held) : NULL;

	if (path != NULL)
		take(out, FOUND_FOLDER, xstrndup(strrchr(path, '/') + 1, TRANSCRIPT_ID_CHARS), path);
}

static int
find_in_folder(const struct transcript_hints *h, struct transcript_found *out, struct err *e)
{
	struct rivals r = { .n = 0 };
	size_t chosen = 0;
	int ret = read_folder(h, &r, e);

	if (ret == 0 && can_compare(h) && r.n <= MAX_LOOKS) {
		drop_strangers(h, &r);
		chosen = r.n > 1 ? best(&r) : 0;
	} else if (r.n > 1) {
		chosen = r.n;
	}
	if (ret == 0 && chosen < r.n) {
		take(out, h->n_suspects > 0 ? FOUND_RECORD : FOUND_FOLDER, r.v[chosen].id, r.v[chosen].path);
		r.v[chosen] = (struct rival){ .id = NULL };
	} else if (ret == 0 && r.n > 0) {
		out->how = FOUND_AMBIGUOUS;
		out->rivals = r.n;
	}
	if (ret == 0 && r.n == 0 && h->said_at != 0 && h->n_suspects == 0)
		find_born_later(h, out);
	rivals_release(&r);
	return ret;
}

/* Does the screen speak against the file of a source that may be stale? */
static int
is_stale(const struct transcript_hints *h, const char *id, const char *path, bool *stale, struct err *e)
{
	struct rival mine = { .path = (char *)path };
	struct rivals r = { .n = 0 };
	int ret = 0;

	*stale = false;
	if (!can_compare(h))
		return 0;
	look(h, &mine);
	*stale = mine.seen.mask == 0 && mine.seen.whole;
	if (!*stale)
		ret = read_folder(h, &r, e);
	for (size_t i = 0; ret == 0 && r.n <= MAX_LOOKS && i < r.n && !*stale; i++) {
		if (strcmp(r.v[i].id, id) == 0)
			continue;
		look(h, &r.v[i]);
		*stale = r.v[i].seen.mask > mine.seen.mask;
	}
	rivals_release(&r);
	return ret;
}

static int
find_by_id(const struct transcript_hints *h, enum found how, struct transcript_found *out, struct err *e)
{
	const char *id = h->id[how];
	/* a note in a directory may be of another that works there; the start command and the farewell are this process's own */
	bool shared = how == FOUND_WORKTREE || how == FOUND_TOWN, stale = false;
	char *path = shared && among(id, h->held, h->n_held) ? NULL : path_of_id(h, id);

	if (path != NULL && how != FOUND_RECORD && is_stale(h, id, path, &stale, e) != 0) {
		free(path);
		return -1;
	}
	if (path != NULL && !stale)
		take(out, how, xstrdup(id), path);
	else
		free(path);
	return 0;
}

int
transcript_find(const struct transcript_hints *h, struct transcript_found *out, struct err *e)
{
	struct transcript_hints rest = *h;

	memset(out, 0, sizeof *out);
	if (h->config_dir == NULL)
		return 0;
	for (enum found how = FOUND_RECORD; how < FOUND_FOLDER && out->how == FOUND_NONE; how++)
		if (h->id[how] != NULL && find_by_id(h, how, out, e) != 0)
			return -1;
	/* the record says which file: when it is not there, no other one is */
	if (out->how != FOUND_NONE || h->id[FOUND_RECORD] != NULL)
		return 0;
	if (find_in_folder(h, out, e) != 0)
		return -1;
	if (out->how != FOUND_NONE || h->n_suspects == 0)
		return 0;
	/* it left no record, and the records there are others' */
	rest.n_suspects = 0;
	return find_in_folder(&rest, out, e);
}

void
transcript_found_release(struct transcript_found *f)
{
	free(f->path);
	free(f->session_id);
	memset(f, 0, sizeof *f);
}
