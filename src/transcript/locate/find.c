#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transcript/locate/locate.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/utf8.h"
#include "transcript/transcript_private.h"

#define SLUG_MAX 200

/* The slug in full, and the number behind one that is cut. */
static void
make_slug(struct buf *out, const char *cwd, uint32_t *hash)
{
	char *real = realpath(cwd, NULL);
	const char *p = real != NULL ? real : cwd;
	size_t n = strlen(p), step;
	uint32_t h = 0;
	int32_t r;

	for (size_t i = 0; i < n; i += step) {
		step = utf8_next(p + i, n - i, &r);
		if (r < 0)
			r = 0xFFFD;
		if (r > 0xFFFF)
			h = h * 31 + 0xD800 + (uint32_t)((r - 0x10000) >> 10);
		h = h * 31 + (r > 0xFFFF ? 0xDC00 + (uint32_t)((r - 0x10000) & 0x3FF) : (uint32_t)r);
		if (r < 0x80 && isalnum(r))
			buf_chr(out, (char)r);
		else
			buf_str(out, r > 0xFFFF ? "--" : "-");
	}
	*hash = h > INT32_MAX ? -h : h;
	free(real);
}

static void
put_base36(struct buf *out, uint32_t n)
{
	char digits[8];
	size_t at = sizeof digits;

	do
		digits[--at] = "0123456789abcdefghijklmnopqrstuvwxyz"[n % 36];
	while ((n /= 36) > 0);
	buf_add(out, digits + at, sizeof digits - at);
}

static char *
existing_path(const char *folder, const char *name)
{
	char *path = io_join(folder, name);
	struct stat st;

	if (stat(path, &st) == 0)
		return path;
	free(path);
	return NULL;
}

char *
transcript_folder(const char *config_dir, const char *cwd)
{
	char *projects = io_join(config_dir, "projects"), *found = NULL;
	struct buf slug = BUF_INIT, cut = BUF_INIT;
	uint32_t hash;

	make_slug(&slug, cwd, &hash);
	if (slug.len > SLUG_MAX) {
		buf_add(&cut, slug.data, SLUG_MAX);
		buf_chr(&cut, '-');
		put_base36(&cut, hash);
		found = existing_path(projects, cut.data);
	}
	if (found == NULL)
		found = existing_path(projects, slug.data);
	free(projects);
	buf_release(&slug);
	buf_release(&cut);
	return found;
}

static char *
transcript_in(const char *folder, const char *session_id)
{
	char *path = xasprintf("%s/%s.jsonl", folder, session_id);
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		return path;
	free(path);
	return NULL;
}

char *
transcript_path(const char *config_dir, const char *cwd, const char *session_id)
{
	char *folder = transcript_folder(config_dir, cwd), *path;

	if (folder == NULL)
		return NULL;
	path = transcript_in(folder, session_id);
	free(folder);
	return path;
}

bool
transcript_is_id(const char *text)
{
	for (size_t i = 0; i < TRANSCRIPT_ID_CHARS; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-'
							    : !isxdigit((unsigned char)text[i]))
			return false;
	return text[TRANSCRIPT_ID_CHARS] == '\0';
}

#define HEAD ((size_t)64 << 10)

static ssize_t
read_head(const char *path, char *head)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = pread(fd, head, HEAD, 0);
	close(fd);
	return n;
}

int64_t
transcript_began_at(const char *path)
{
	char *head = xmalloc(HEAD);
	ssize_t n = read_head(path, head);
	int64_t at = 0;

	for (const char *p = head, *end;
	    n > 0 && at == 0 && (end = memchr(p, '\n', (size_t)(head + n - p))) != NULL; p = end + 1) {
		struct entry_parts parts;

		if (entry_parse(p, (size_t)(end - p), &parts))
			at = entry_time(parts.time);
	}
	free(head);
	return at;
}

/* By its name; a sub-agent's has another. */
static bool
is_conversation(const char *name)
{
	char *id = str_ends(name, ".jsonl") ? xstrndup(name, strlen(name) - strlen(".jsonl")) : NULL;
	bool is = id != NULL && transcript_is_id(id);

	free(id);
	return is;
}

static bool
is_held(const char *name, const char *const *held, size_t n_held)
{
	for (size_t i = 0; i < n_held; i++)
		if (str_starts(name, held[i]))
			return true;
	return false;
}

/* A file is not written before its conversation begins, so the older ones need not be opened. */
static bool
began_since(const char *path, int64_t since)
{
	struct stat st;

	return stat(path, &st) == 0 && (int64_t)st.st_mtim.tv_sec * 1000 + 999 >= since &&
	    transcript_began_at(path) >= since;
}

char *
transcript_find_new(
    const char *config_dir, const char *cwd, int64_t since, const char *const *held, size_t n_held)
{
	char *folder = transcript_folder(config_dir, cwd), *found = NULL;
	DIR *dir = folder != NULL ? opendir(folder) : NULL;
	bool several = false;
	struct dirent *d;

	while (dir != NULL && !several && (d = readdir(dir)) != NULL) {
		char *path = is_conversation(d->d_name) && !is_held(d->d_name, held, n_held)
		    ? io_join(folder, d->d_name)
		    : NULL;

		if (path == NULL || !began_since(path, since)) {
			free(path);
			continue;
		}
		several = found != NULL;
		free(found);
		found = path;
	}
	if (dir != NULL)
		closedir(dir);
	free(folder);
	if (several) {
		free(found);
		found = NULL;
	}
	return found;
}

/* the times of files and panes are not of one clock's grain, and what was under way is still written */
#define SLACK_MS 5000
/* of a folder that has more in the life of one process nothing can be told */
#define MAX_LOOKS 64

const char *
transcript_found_name(enum found f)
{
	static const char *const names[] = { "none", "record", "snapshot", "command", "worktree", "town",
		"farewell", "folder", "screen", "ambiguous" };

	return names[f];
}

/*
 * An id is unique: where the process went to another directory, or its own is gone, the file lies
 * in some other folder.
 */
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
	struct fingerprint_found seen;
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
is_among(const char *id, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], id) == 0)
			return true;
	return false;
}

/* Written to while the process lived. */
static bool
wrote_while_alive(const struct transcript_hints *h, const char *path)
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
	if (is_among(id, h->held, h->n_held) ||
	    (h->n_suspects > 0 && !is_among(id, h->suspects, h->n_suspects)))
		return false;
	return wrote_while_alive(h, path);
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
		ret =
		    err_sys(e, GT_FAIL, "transcript", "the agent's project folder %s cannot be read", folder);
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		struct rival r = { .id = NULL };

		if (strlen(d->d_name) != TRANSCRIPT_ID_CHARS + strlen(".jsonl") ||
		    !str_ends(d->d_name, ".jsonl"))
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
	return h->fingerprint != NULL && h->fingerprint->n > 0;
}

static void
compare_rival(const struct transcript_hints *h, struct rival *r)
{
	if (fingerprint_match(h->fingerprint, r->path, &r->seen) != 0)
		r->seen = (struct fingerprint_found){ .whole = false };
}

/*
 * Index of the one that has every message of the screen that any has; r->n when none has any, or
 * no one has them all.
 */
static size_t
best_rival(const struct rivals *r)
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
drop_without_words(const struct transcript_hints *h, struct rivals *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n; i++) {
		compare_rival(h, &r->v[i]);
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
take_rival(struct transcript_found *out, enum found how, char *id, char *path)
{
	out->how = how;
	out->session_id = id;
	out->path = path;
}

/* The screen was seen before it began: a pane shows the life before for a moment. */
static void
find_born_later(const struct transcript_hints *h, struct transcript_found *out)
{
	char *path = h->cwd != NULL
	    ? transcript_find_new(h->config_dir, h->cwd, h->screen_at, h->held, h->n_held)
	    : NULL;

	if (path != NULL)
		take_rival(out, FOUND_FOLDER, xstrndup(strrchr(path, '/') + 1, TRANSCRIPT_ID_CHARS), path);
}

static int
find_in_folder(const struct transcript_hints *h, struct transcript_found *out, struct err *e)
{
	struct rivals r = { .n = 0 };
	size_t chosen = 0;
	int ret = read_folder(h, &r, e);

	if (ret == 0 && can_compare(h) && r.n <= MAX_LOOKS) {
		drop_without_words(h, &r);
		chosen = r.n > 1 ? best_rival(&r) : 0;
	} else if (r.n > 1) {
		chosen = r.n;
	}
	if (ret == 0 && chosen < r.n) {
		take_rival(
		    out, h->n_suspects > 0 ? FOUND_RECORD : FOUND_FOLDER, r.v[chosen].id, r.v[chosen].path);
		r.v[chosen] = (struct rival){ .id = NULL };
	} else if (ret == 0 && r.n > 0) {
		out->how = FOUND_AMBIGUOUS;
		out->rivals = r.n;
	}
	if (ret == 0 && r.n == 0 && h->screen_at != 0 && h->n_suspects == 0)
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
	compare_rival(h, &mine);
	*stale = mine.seen.mask == 0 && mine.seen.whole;
	if (!*stale)
		ret = read_folder(h, &r, e);
	for (size_t i = 0; ret == 0 && r.n <= MAX_LOOKS && i < r.n && !*stale; i++) {
		if (strcmp(r.v[i].id, id) == 0)
			continue;
		compare_rival(h, &r.v[i]);
		*stale = r.v[i].seen.mask > mine.seen.mask;
	}
	rivals_release(&r);
	return ret;
}

static int
find_by_id(const struct transcript_hints *h, enum found how, struct transcript_found *out, struct err *e)
{
	const char *id = h->id[how];
	/*
	 * a note in a directory may be of another that works there; the start command and the
	 * farewell are this process's own
	 */
	bool shared = how == FOUND_WORKTREE || how == FOUND_TOWN, stale = false;
	char *path = shared && is_among(id, h->held, h->n_held) ? NULL : path_of_id(h, id);

	if (path != NULL && how != FOUND_RECORD && is_stale(h, id, path, &stale, e) != 0) {
		free(path);
		return -1;
	}
	if (path != NULL && !stale)
		take_rival(out, how, xstrdup(id), path);
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
