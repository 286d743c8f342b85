#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transcript/locate/locate_private.h"
#include "base/buf.h"
#include "base/db.h"
#include "base/io.h"
#include "base/json.h"

#define MOST_LINE ((size_t)1 << 20)	/* codex' first line holds its instructions */
#define MOST_WHOLE ((size_t)64 << 20)

static int64_t
written_ms(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

/* copilot: the lock file of the process that has it. */
void
locate_lock_beside(const struct session_scan *r, struct stored_session *t)
{
	char *folder = xstrndup(t->path, (size_t)(strrchr(t->path, '/') - t->path));
	DIR *dir = opendir(folder);
	struct dirent *d;

	(void)r;
	while (dir != NULL && (d = readdir(dir)) != NULL)
		if (fnmatch("inuse.[0-9]*.lock", d->d_name, 0) == 0)
			t->pid = (pid_t)atoi(d->d_name + strlen("inuse."));
	if (dir != NULL)
		closedir(dir);
	free(folder);
}

/* gemini: the directory's short name stands in projects.json. */
void
locate_project_cwd(const struct session_scan *r, struct stored_session *t)
{
	char *list = io_join(r->folder, "projects.json");
	const char *slug = t->path + strlen(r->folder) + strlen("/tmp/"), *key;
	size_t n = strcspn(slug, "/");
	struct buf b = BUF_INIT;
	json_t *v = NULL, *at;

	if (io_read_file(list, MOST_LINE, &b, NULL) == 0)
		v = json_loadb(b.data, b.len, 0, NULL);
	json_object_foreach(json_object_get(v, "projects"), key, at) if (json_is_string(at) &&
	    json_string_length(at) == n && memcmp(json_string_value(at), slug, n) == 0 && t->cwd == NULL)
	    t->cwd = xstrdup(key);
	json_decref(v);
	buf_release(&b);
	free(list);
}

struct stored_session *
locate_add(struct stored_sessions *out)
{
	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	out->v[out->n] = (struct stored_session){ .id = NULL };
	return &out->v[out->n++];
}

/* A database that rests in its -wal was written to when that was. */
static int64_t
changed_at(const char *path)
{
	char *wal = xasprintf("%s-wal", path);
	struct stat st;
	int64_t when = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? written_ms(&st) : -1;

	if (when >= 0 && stat(wal, &st) == 0 && written_ms(&st) > when)
		when = written_ms(&st);
	free(wal);
	return when;
}

/* opencode: one database for all. */
int
locate_database(const struct session_scan *r, struct err *e)
{
	char *path = io_join(r->folder, "opencode.db");
	struct sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;

	(void)e;
	if (changed_at(path) >= r->since && db_open_foreign(path, &db, NULL) == 0)
		st = db_prepare(db,
		    "SELECT id, directory, time_updated FROM session WHERE parent_id IS NULL AND "
		    "time_updated >= ?1 "
		    "ORDER BY time_updated DESC LIMIT 256",
		    NULL);
	if (st != NULL)
		sqlite3_bind_int64(st, 1, r->since);
	while (st != NULL && sqlite3_step(st) == SQLITE_ROW) {
		const char *id = (const char *)sqlite3_column_text(st, 0),
			   *cwd = (const char *)sqlite3_column_text(st, 1);

		if (id != NULL)
			*locate_add(r->out) = (struct stored_session){ .id = xstrdup(id),
				.path = xasprintf("%s#%s", path, id),
				.cwd = cwd != NULL ? xstrdup(cwd) : NULL,
				.written = sqlite3_column_int64(st, 2) };
	}
	sqlite3_finalize(st);
	db_close(db);
	free(path);
	return 0;
}

/* The member that a path of names with dots leads to. */
static struct json_slice
member_at(struct json_slice v, const char *path)
{
	while (v.p != NULL && *path != '\0') {
		size_t n = strcspn(path, ".");
		char *key = xstrndup(path, n);

		v = json_slice_get(v, key);
		free(key);
		path += n + (path[n] == '.');
	}
	return v;
}

static char *
text_of(struct json_slice record, const char *path)
{
	struct json_slice v = path != NULL ? member_at(record, path) : (struct json_slice){ NULL, 0 };
	struct buf b = BUF_INIT;

	if (!json_slice_string(v))
		return NULL;
	json_slice_text(&b, v);
	return buf_detach(&b);
}

/* The first line, or all of it. */
static int
read_start(const char *path, bool line, struct buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	char chunk[16 << 10];
	ssize_t n = 0;

	if (fd < 0)
		return -1;
	while (out->len <= (line ? MOST_LINE : MOST_WHOLE) && (n = read(fd, chunk, sizeof chunk)) > 0) {
		const char *end = line ? memchr(chunk, '\n', (size_t)n) : NULL;

		buf_add(out, chunk, end != NULL ? (size_t)(end - chunk) : (size_t)n);
		if (end != NULL)
			break;
	}
	close(fd);
	return n < 0 || out->len == 0 ? -1 : 0;
}

static void
read_file(const struct session_place *at, const struct session_scan *r, const char *path, int64_t when)
{
	struct buf b = BUF_INIT;
	struct json_slice record;
	char *id = NULL;

	if (read_start(path, at->line, &b) == 0 && json_slice_whole(b.data, b.len, &record))
		id = text_of(record, at->id);
	if (id != NULL) {
		struct stored_session *t = locate_add(r->out);

		*t = (struct stored_session){ .id = id,
			.path = xstrdup(path),
			.cwd = text_of(record, at->cwd),
			.tty = text_of(record, at->tty),
			.pid = at->pid != NULL ? (pid_t)json_slice_number(member_at(record, at->pid), 0) : 0,
			.written = when };
		if (at->more != NULL)
			at->more(r, t);
	}
	buf_wipe(&b);
}

static void
walk_folder(
    const struct session_place *at, const struct session_scan *r, const char *dir_path, const char *place)
{
	size_t n = strcspn(place, "/");
	char *pattern = xstrndup(place, n);
	DIR *dir = opendir(dir_path);
	struct dirent *d;
	struct stat st;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		char *path;

		if (d->d_name[0] == '.' || fnmatch(pattern, d->d_name, 0) != 0)
			continue;
		path = io_join(dir_path, d->d_name);
		if (place[n] == '/')
			walk_folder(at, r, path, place + n + 1);
		else if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && written_ms(&st) >= r->since)
			read_file(at, r, path, written_ms(&st));
		free(path);
	}
	if (dir != NULL)
		closedir(dir);
	free(pattern);
}

void
locate_walk(const struct session_place *at, const struct session_scan *r)
{
	walk_folder(at, r, r->folder, at->place);
}

void
locate_session_release(struct stored_session *t)
{
	free(t->id);
	free(t->path);
	free(t->cwd);
	free(t->tty);
}

void
locate_sessions_release(struct stored_sessions *t)
{
	for (size_t i = 0; i < t->n; i++)
		locate_session_release(&t->v[i]);
	free(t->v);
	*t = (struct stored_sessions){ .n = 0 };
}
