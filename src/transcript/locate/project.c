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

#include "transcript/locate/locate_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/utf8.h"
#include "process/kernel.h"
#include "process/proc.h"
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

/* The directory in which a process began, by its environment, if it has conversations. Heap, or NULL. */
static char *
began_in(const char *config_dir, pid_t pid)
{
	size_t n;
	char *block = proc_environ(pid, &n), *folder, *dir = NULL;
	const char *began = block != NULL ? proc_environ_get(block, n, "PWD") : NULL;

	if (began != NULL && *began == '/' && (folder = transcript_folder(config_dir, began)) != NULL) {
		dir = xstrdup(began);
		free(folder);
	}
	if (block != NULL)
		explicit_bzero(block, n);
	free(block);
	return dir;
}

char *
locate_place(const char *config_dir, pid_t pid)
{
	char *now = proc_path(pid, PROC_CWD), *folder, *began;

	if (now == NULL || config_dir == NULL)
		return now;
	if ((folder = transcript_folder(config_dir, now)) == NULL &&
	    (began = began_in(config_dir, pid)) != NULL) {
		free(now);
		now = began;
	}
	free(folder);
	return now;
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
		struct json_slice record;

		if (json_slice_whole(p, (size_t)(end - p), &record))
			at = entry_time(json_slice_get(record, "timestamp"));
	}
	free(head);
	return at;
}

bool
transcript_is_headless(const char *path)
{
	static const char mark[] = "\"entrypoint\":\"sdk-";
	char *head = xmalloc(HEAD);
	ssize_t n = read_head(path, head);
	bool yes = n > 0 && memmem(head, (size_t)n, mark, strlen(mark)) != NULL;

	free(head);
	return yes;
}

/* The transcripts in one folder. */
static void
list_folder(const char *folder, DIR *dir, const struct session_scan *r)
{
	struct dirent *d;

	while ((d = readdir(dir)) != NULL) {
		char *path = str_ends(d->d_name, ".jsonl") ? io_join(folder, d->d_name) : NULL;
		struct stat st;

		if (path == NULL || stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
		    (int64_t)st.st_mtim.tv_sec * 1000 + 999 < r->since) {
			free(path);
			continue;
		}
		*locate_add(r->out) = (struct stored_session){ .path = path,
			.id = xstrndup(d->d_name, strlen(d->d_name) - strlen(".jsonl")),
			.written = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000 };
	}
}

int
locate_projects(const struct session_scan *r, struct err *e)
{
	char *folder = r->cwd != NULL ? transcript_folder(r->folder, r->cwd) : NULL;
	DIR *dir = folder != NULL ? opendir(folder) : NULL;
	int ret = 0;

	if (folder != NULL && dir == NULL && errno != ENOENT && errno != ENOTDIR)
		ret =
		    err_sys(e, GT_FAIL, "transcript", "the agent's project folder %s cannot be read", folder);
	if (dir != NULL) {
		list_folder(folder, dir, r);
		closedir(dir);
	}
	free(folder);
	return ret;
}

int
locate_all_projects(const struct session_scan *r)
{
	char *projects = io_join(r->folder, "projects");
	DIR *all = opendir(projects);
	struct dirent *d;

	while (all != NULL && (d = readdir(all)) != NULL) {
		char *folder = d->d_name[0] != '.' ? io_join(projects, d->d_name) : NULL;
		DIR *dir = folder != NULL ? opendir(folder) : NULL;

		if (dir != NULL) {
			list_folder(folder, dir, r);
			closedir(dir);
		}
		free(folder);
	}
	if (all != NULL)
		closedir(all);
	free(projects);
	return 0;
}

char *
locate_project_place(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	char *head = xmalloc(HEAD);
	ssize_t n = fd >= 0 ? pread(fd, head, HEAD, 0) : -1;
	struct buf found = BUF_INIT;
	size_t len;

	for (size_t at = 0; n > 0 && at < (size_t)n && found.len == 0; at += len + 1) {
		const char *nl = memchr(head + at, '\n', (size_t)n - at);
		struct json_slice record, cwd;

		len = nl != NULL ? (size_t)(nl - head) - at : (size_t)n - at;
		if (nl == NULL || !json_slice_whole(head + at, len, &record))
			continue;
		cwd = json_slice_get(record, "cwd");
		if (json_slice_string(cwd))
			json_slice_text(&found, cwd);
	}
	if (fd >= 0)
		close(fd);
	free(head);
	return found.len > 0 ? buf_detach(&found) : NULL;
}

static bool
is_among(const char *id, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], id) == 0)
			return true;
	return false;
}

/* A file is not written before its conversation begins, so the older ones need not be opened. */
char *
locate_new_project(const char *folder, const char *cwd, int64_t since, const char *const *held, size_t n_held)
{
	struct stored_sessions all = { .n = 0 };
	struct session_scan r = { folder, cwd, since, &all };
	char *found = NULL;
	size_t n = 0;

	locate_projects(&r, NULL);
	for (size_t i = 0; i < all.n; i++) {
		if (!transcript_is_id(all.v[i].id) || is_among(all.v[i].id, held, n_held) ||
		    transcript_began_at(all.v[i].path) < since)
			continue;
		if (n++ == 0)
			found = xstrdup(all.v[i].path);
	}
	locate_sessions_release(&all);
	if (n > 1) {
		free(found);
		found = NULL;
	}
	return found;
}

/* Does a record at its beginning name both? Quotes inside of strings have a backslash before them. */
static bool
is_teammates(const char *path, const char *team, const char *name)
{
	char *marks[] = { xasprintf("\"teamName\":\"%s\"", team), xasprintf("\"agentName\":\"%s\"", name) };
	char *head = xmalloc(HEAD);
	ssize_t n = read_head(path, head);
	bool yes = n > 0;

	for (size_t i = 0; i < 2; i++) {
		yes = yes && memmem(head, (size_t)n, marks[i], strlen(marks[i])) != NULL;
		free(marks[i]);
	}
	free(head);
	return yes;
}

char *
locate_teammate(const char *config_dir, const char *cwd, const char *team, const char *name)
{
	struct stored_sessions all = { .n = 0 };
	struct session_scan r = { config_dir, cwd, 0, &all };
	const struct stored_session *best = NULL;
	char *id;

	locate_projects(&r, NULL);
	for (size_t i = 0; i < all.n; i++) {
		const struct stored_session *t = &all.v[i];

		if (transcript_is_id(t->id) && (best == NULL || t->written > best->written) &&
		    is_teammates(t->path, team, name))
			best = t;
	}
	id = best != NULL ? xstrdup(best->id) : NULL;
	locate_sessions_release(&all);
	return id;
}

/* of a folder that has more in the life of one process nothing can be told */
#define MAX_LOOKS 64

const char *
transcript_found_name(enum found f)
{
	static const char *const names[] = { "none", "record", "snapshot", "command", "worktree", "town",
		"farewell", "folder", "screen", "ambiguous", "chosen" };

	return names[f];
}

/*
 * An id is unique: where the process went to another directory, or its own is gone, the file lies
 * in some other folder.
 */
static char *
path_of_id(const struct locate_hints *h, const char *id)
{
	char *path = NULL, *projects;
	struct dirent *d;
	DIR *dir;

	if (!transcript_is_id(id))
		return NULL;
	if (h->record_cwd != NULL)
		path = transcript_path(h->folder, h->record_cwd, id);
	if (path == NULL && h->cwd != NULL)
		path = transcript_path(h->folder, h->cwd, id);
	if (path != NULL)
		return path;
	projects = io_join(h->folder, "projects");
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

void
locate_add_rival(struct transcript_found *out, const struct stored_session *t)
{
	out->rival = xreallocarray(out->rival, out->rivals + 1, sizeof *out->rival);
	out->rival[out->rivals++] = (struct found_rival){ xstrdup(t->path), xstrdup(t->id), t->written };
}

/* The files of the project folder that can be this process's. */
static int
read_folder(const struct locate_hints *h, struct stored_sessions *out, struct err *e)
{
	struct session_scan r = { h->folder, h->cwd, 0, out };
	int ret = locate_projects(&r, e);
	size_t kept = 0;

	for (size_t i = 0; i < out->n; i++) {
		struct stored_session *t = &out->v[i];

		if (transcript_is_id(t->id) && locate_in_lifetime(h, t) &&
		    !is_among(t->id, h->held, h->n_held) &&
		    (h->n_suspects == 0 || is_among(t->id, h->suspects, h->n_suspects)))
			out->v[kept++] = *t;
		else
			locate_session_release(t);
	}
	out->n = kept;
	return ret;
}

static bool
can_compare(const struct locate_hints *h)
{
	return h->fingerprint != NULL && h->fingerprint->n > 0;
}

static void
compare_rival(const struct locate_hints *h, struct stored_session *r)
{
	if (fingerprint_match(h->fingerprint, r->path, &r->seen) != 0)
		r->seen = (struct fingerprint_found){ .whole = false };
}

/*
 * Index of the one that has every message of the screen that any has; r->n when none has any, or
 * no one has them all.
 */
static size_t
best_rival(const struct stored_sessions *r)
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
drop_without_words(const struct locate_hints *h, struct stored_sessions *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n; i++) {
		compare_rival(h, &r->v[i]);
		if (r->v[i].seen.mask == 0 && r->v[i].seen.whole) {
			locate_session_release(&r->v[i]);
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
find_born_later(const struct locate_hints *h, struct transcript_found *out)
{
	char *path = locate_new_project(h->folder, h->cwd, h->screen_at, h->held, h->n_held);

	if (path != NULL)
		take_rival(out, FOUND_FOLDER, xstrndup(strrchr(path, '/') + 1, TRANSCRIPT_ID_CHARS), path);
}

/*
 * One of the suspects was chosen, which may be another's of the same directory: any that was killed there
 * and has as much of the screen is as likely. Appends those.
 */
static int
add_equals(const struct locate_hints *h, size_t chosen, struct stored_sessions *r, struct err *e)
{
	struct locate_hints all = *h;
	struct stored_sessions more = { .n = 0 };
	unsigned mask = r->v[chosen].seen.mask;
	int ret;

	all.n_suspects = 0;
	ret = read_folder(&all, &more, e);
	for (size_t i = 0; ret == 0 && more.n <= MAX_LOOKS && i < more.n; i++) {
		struct stored_session *t = &more.v[i];

		if (is_among(t->id, h->suspects, h->n_suspects))
			continue;
		if (can_compare(h))
			compare_rival(h, t);
		if (t->seen.mask != mask || transcript_exit_kind(h->format, t->path) != EXIT_KILLED)
			continue;
		*locate_add(r) = *t;
		*t = (struct stored_session){ .id = NULL };
	}
	locate_sessions_release(&more);
	return ret;
}

static int
find_in_folder(const struct locate_hints *h, struct transcript_found *out, struct err *e)
{
	struct stored_sessions r = { .n = 0 };
	size_t chosen = 0;
	int ret = read_folder(h, &r, e);

	if (ret == 0 && can_compare(h) && r.n <= MAX_LOOKS) {
		drop_without_words(h, &r);
		chosen = r.n > 1 ? best_rival(&r) : 0;
	} else if (r.n > 1) {
		chosen = r.n;
	}
	if (ret == 0 && h->n_suspects > 0 && chosen < r.n) {
		size_t n = r.n;

		ret = add_equals(h, chosen, &r, e);
		chosen = r.n > n ? r.n : chosen;
	}
	if (ret == 0 && chosen < r.n) {
		take_rival(out,
		    h->n_suspects > 0              ? FOUND_RECORD
			: r.v[chosen].seen.mask != 0 ? FOUND_SHOWN
						     : FOUND_FOLDER,
		    r.v[chosen].id, r.v[chosen].path);
		r.v[chosen] = (struct stored_session){ .id = NULL };
	} else if (ret == 0 && r.n > 0) {
		out->how = FOUND_AMBIGUOUS;
		for (size_t i = 0; i < r.n; i++)
			locate_add_rival(out, &r.v[i]);
	}
	if (ret == 0 && r.n == 0 && h->screen_at != 0 && h->n_suspects == 0)
		find_born_later(h, out);
	locate_sessions_release(&r);
	return ret;
}

/* Does the screen speak against the file of a source that may be stale? */
static int
is_stale(const struct locate_hints *h, const char *id, const char *path, bool *stale, struct err *e)
{
	struct stored_session mine = { .path = (char *)path };
	struct stored_sessions r = { .n = 0 };
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
	locate_sessions_release(&r);
	return ret;
}

int
locate_by_id(struct locate_search *l, enum found how, struct transcript_found *out, struct err *e)
{
	const struct locate_hints *h = l->h;
	const char *id = h->id[how];
	/*
	 * a note in a directory may be of another that works there; the start command and the
	 * farewell are this process's own
	 */
	bool shared = how == FOUND_WORKTREE || how == FOUND_TOWN, stale = false;
	char *path = id == NULL || (shared && is_among(id, h->held, h->n_held)) ? NULL : path_of_id(h, id);

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
locate_in_project(struct locate_search *l, enum found how, struct transcript_found *out, struct err *e)
{
	struct locate_hints rest = *l->h;

	(void)how;
	/* the record says which file: when it is not there, no other one is */
	if (rest.id[FOUND_RECORD] != NULL)
		return 0;
	if (find_in_folder(l->h, out, e) != 0)
		return -1;
	if (out->how != FOUND_NONE || rest.n_suspects == 0)
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
	for (size_t i = 0; i < f->rivals; i++) {
		free(f->rival[i].path);
		free(f->rival[i].session_id);
	}
	free(f->rival);
	memset(f, 0, sizeof *f);
}
