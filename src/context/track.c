#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context/track.h"
#include "base/buf.h"
#include "base/db.h"
#include "base/io.h"
#include "base/json.h"
#include "base/json_slice.h"

#define MOST_LINE ((size_t)1 << 20)	/* codex' first line holds its instructions */
#define MOST_WHOLE ((size_t)64 << 20)

struct reading {
	const char *folder;
	int64_t since;
	struct tracks *out;
};

/* Where the sessions of a format lie, a pattern for each step down, and by which members they name themselves. */
struct rule {
	const char *format, *place;
	bool line;			/* the members stand in the first line, not in the whole file */
	const char *id, *cwd, *tty, *pid;
	void (*more)(const struct reading *r, struct track *t);		/* what stands beside the file; NULL: nothing */
	void (*all)(const struct reading *r, const char *path);		/* one file with many sessions, instead of all the above */
};

static int64_t
written(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

/* copilot: the lock file of the process that has it. */
static void
find_lock(const struct reading *r, struct track *t)
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
static void
find_project(const struct reading *r, struct track *t)
{
	char *list = io_join(r->folder, "projects.json");
	const char *slug = t->path + strlen(r->folder) + strlen("/tmp/"), *key;
	size_t n = strcspn(slug, "/");
	struct buf b = BUF_INIT;
	json_t *v = NULL, *at;

	if (io_read_file(list, MOST_LINE, &b, NULL) == 0)
		v = json_loadb(b.data, b.len, 0, NULL);
	json_object_foreach(json_object_get(v, "projects"), key, at)
		if (json_is_string(at) && json_string_length(at) == n && memcmp(json_string_value(at), slug, n) == 0 && t->cwd == NULL)
			t->cwd = xstrdup(key);
	json_decref(v);
	buf_release(&b);
	free(list);
}

static struct track *
add(struct tracks *out)
{
	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	out->v[out->n] = (struct track){ .id = NULL };
	return &out->v[out->n++];
}

/* opencode: one database for all. */
static void
read_rows(const struct reading *r, const char *path)
{
	struct sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;

	if (db_open_foreign(path, &db, NULL) == 0)
		st = db_prepare(db, "SELECT id, directory, time_updated FROM session WHERE parent_id IS NULL AND time_updated >= ?1 "
		    "ORDER BY time_updated DESC LIMIT 256", NULL);
	if (st != NULL)
		sqlite3_bind_int64(st, 1, r->since);
	while (st != NULL && sqlite3_step(st) == SQLITE_ROW) {
		const char *id = (const char *)sqlite3_column_text(st, 0), *cwd = (const char *)sqlite3_column_text(st, 1);
		struct track *t = id != NULL ? add(r->out) : NULL;

		if (t == NULL)
			continue;
		t->id = xstrdup(id);
		t->path = xasprintf("%s#%s", path, id);
		t->cwd = cwd != NULL ? xstrdup(cwd) : NULL;
		t->written = sqlite3_column_int64(st, 2);
	}
	sqlite3_finalize(st);
	db_close(db);
}

static const struct rule rules[] = {
	{ "codex", "sessions/*/*/*/rollout-*.jsonl", true, "payload.id", "payload.cwd", NULL, NULL, NULL, NULL },
	{ "gemini", "tmp/*/chats/session-*.jsonl", true, "sessionId", NULL, NULL, NULL, find_project, NULL },
	{ "gemini", "tmp/*/chats/session-*.json", false, "sessionId", NULL, NULL, NULL, find_project, NULL },	/* 0.34.0 */
	{ "qwen", "projects/*/chats/*.jsonl", true, "sessionId", "cwd", NULL, NULL, NULL, NULL },
	{ "copilot", "session-state/*/events.jsonl", true, "data.sessionId", "data.context.cwd", NULL, NULL, find_lock, NULL },
	{ "pi", "sessions/*/*.jsonl", true, "id", "cwd", NULL, NULL, NULL, NULL },
	{ "auggie", "sessions/*.json", false, "sessionId", NULL, "terminalId", NULL, NULL, NULL },
	{ "cline", "data/sessions/*/*.json", false, "session_id", "cwd", NULL, "pid", NULL, NULL },
	{ "opencode", "opencode.db", false, NULL, NULL, NULL, NULL, NULL, read_rows },
};

/* The member that a path of names with dots leads to. */
static struct json_slice
member(struct json_slice v, const char *path)
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
	struct json_slice v = path != NULL ? member(record, path) : (struct json_slice){ NULL, 0 };
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
read_file(const struct rule *rule, const struct reading *r, const char *path, int64_t when)
{
	struct buf b = BUF_INIT;
	struct json_slice record;
	char *id = NULL;

	if (rule->all != NULL) {
		rule->all(r, path);
		return;
	}
	if (read_start(path, rule->line, &b) == 0 && json_slice_whole(b.data, b.len, &record))
		id = text_of(record, rule->id);
	if (id != NULL) {
		struct track *t = add(r->out);

		*t = (struct track){ .id = id, .path = xstrdup(path), .cwd = text_of(record, rule->cwd), .tty = text_of(record, rule->tty),
			.pid = rule->pid != NULL ? (pid_t)json_slice_number(member(record, rule->pid), 0) : 0, .written = when };
		if (rule->more != NULL)
			rule->more(r, t);
	}
	buf_wipe(&b);
}

/* A database that rests in its -wal was written to when that was. */
static bool
changed_since(const char *path, const struct reading *r, bool whole, int64_t *when)
{
	char *wal = whole ? xasprintf("%s-wal", path) : NULL;
	struct stat st;

	*when = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? written(&st) : -1;
	if (*when >= 0 && wal != NULL && stat(wal, &st) == 0 && written(&st) > *when)
		*when = written(&st);
	free(wal);
	return *when >= r->since;
}

static void
walk(const struct rule *rule, const struct reading *r, const char *dir_path, const char *place)
{
	size_t n = strcspn(place, "/");
	char *pattern = xstrndup(place, n);
	DIR *dir = opendir(dir_path);
	struct dirent *d;
	int64_t when;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		char *path;

		if (d->d_name[0] == '.' || fnmatch(pattern, d->d_name, 0) != 0)
			continue;
		path = io_join(dir_path, d->d_name);
		if (place[n] == '/')
			walk(rule, r, path, place + n + 1);
		else if (changed_since(path, r, rule->all != NULL, &when))
			read_file(rule, r, path, when);
		free(path);
	}
	if (dir != NULL)
		closedir(dir);
	free(pattern);
}

void
tracks_read(const char *format, const char *folder, int64_t since_ms, struct tracks *out)
{
	struct reading r = { folder, since_ms, out };

	*out = (struct tracks){ .n = 0 };
	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
		if (strcmp(rules[i].format, format) == 0)
			walk(&rules[i], &r, folder, rules[i].place);
}

void
tracks_release(struct tracks *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].id);
		free(t->v[i].path);
		free(t->v[i].cwd);
		free(t->v[i].tty);
	}
	free(t->v);
	*t = (struct tracks){ .n = 0 };
}
