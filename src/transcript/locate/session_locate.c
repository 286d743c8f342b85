#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "transcript/locate/locate_private.h"
#include "transcript/locate/locate.h"
#include "agent/agent.h"
#include "base/buf.h"
#include "base/db.h"
#include "base/io.h"
#include "base/json.h"
#include "conversation/conversation.h"
#include "process/proc.h"

#define MOST_LINE ((size_t)1 << 20)	/* codex' first line holds its instructions */
#define MOST_WHOLE ((size_t)64 << 20)

struct session_scan {
	const char *folder;
	int64_t since;
	struct stored_sessions *out;
};

/*
 * Where the sessions of a format lie, a pattern for each step down, and by which members they
 * name themselves.
 */
struct session_rule {
	const char *format, *place;
	bool line;			/* the members stand in the first line, not in the whole file */
	const char *id, *cwd, *tty, *pid;
	/* what stands beside the file; NULL: nothing */
	void (*more)(const struct session_scan *r, struct stored_session *t);
	/* one file with many sessions, instead of all the above */
	void (*all)(const struct session_scan *r, const char *path);
};

static int64_t
written_ms(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

/* copilot: the lock file of the process that has it. */
static void
find_lock(const struct session_scan *r, struct stored_session *t)
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
find_project(const struct session_scan *r, struct stored_session *t)
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

static struct stored_session *
add_session(struct stored_sessions *out)
{
	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	out->v[out->n] = (struct stored_session){ .id = NULL };
	return &out->v[out->n++];
}

/* opencode: one database for all. */
static void
read_rows(const struct session_scan *r, const char *path)
{
	struct sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;

	if (db_open_foreign(path, &db, NULL) == 0)
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
		struct stored_session *t = id != NULL ? add_session(r->out) : NULL;

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

static const struct session_rule rules[] = {
	{ "codex", "sessions/*/*/*/rollout-*.jsonl", true, "payload.id", "payload.cwd", NULL, NULL, NULL,
	    NULL },
	{ "gemini", "tmp/*/chats/session-*.jsonl", true, "sessionId", NULL, NULL, NULL, find_project, NULL },
	{ "gemini", "tmp/*/chats/session-*.json", false, "sessionId", NULL, NULL, NULL, find_project,
	    NULL }, /* 0.34.0 */
	{ "qwen", "projects/*/chats/*.jsonl", true, "sessionId", "cwd", NULL, NULL, NULL, NULL },
	{ "copilot", "session-state/*/events.jsonl", true, "data.sessionId", "data.context.cwd", NULL, NULL,
	    find_lock, NULL },
	{ "pi", "sessions/*/*.jsonl", true, "id", "cwd", NULL, NULL, NULL, NULL },
	{ "auggie", "sessions/*.json", false, "sessionId", NULL, "terminalId", NULL, NULL, NULL },
	{ "cline", "data/sessions/*/*.json", false, "session_id", "cwd", NULL, "pid", NULL, NULL },
	{ "opencode", "opencode.db", false, NULL, NULL, NULL, NULL, NULL, read_rows },
};

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
read_file(const struct session_rule *rule, const struct session_scan *r, const char *path, int64_t when)
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
		struct stored_session *t = add_session(r->out);

		*t = (struct stored_session){ .id = id,
			.path = xstrdup(path),
			.cwd = text_of(record, rule->cwd),
			.tty = text_of(record, rule->tty),
			.pid =
			    rule->pid != NULL ? (pid_t)json_slice_number(member_at(record, rule->pid), 0) : 0,
			.written = when };
		if (rule->more != NULL)
			rule->more(r, t);
	}
	buf_wipe(&b);
}

/* A database that rests in its -wal was written to when that was. */
static bool
changed_since(const char *path, const struct session_scan *r, bool whole, int64_t *when)
{
	char *wal = whole ? xasprintf("%s-wal", path) : NULL;
	struct stat st;

	*when = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? written_ms(&st) : -1;
	if (*when >= 0 && wal != NULL && stat(wal, &st) == 0 && written_ms(&st) > *when)
		*when = written_ms(&st);
	free(wal);
	return *when >= r->since;
}

static void
walk_folder(
    const struct session_rule *rule, const struct session_scan *r, const char *dir_path, const char *place)
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
			walk_folder(rule, r, path, place + n + 1);
		else if (changed_since(path, r, rule->all != NULL, &when))
			read_file(rule, r, path, when);
		free(path);
	}
	if (dir != NULL)
		closedir(dir);
	free(pattern);
}

static void
locate_sessions(const char *format, const char *folder, int64_t since_ms, struct stored_sessions *out)
{
	struct session_scan r = { folder, since_ms, out };

	*out = (struct stored_sessions){ .n = 0 };
	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
		if (strcmp(rules[i].format, format) == 0)
			walk_folder(&rules[i], &r, folder, rules[i].place);
}

/*
 * Those that were written to at or after since_ms, in no order; none for a format that has no
 * sessions of its own.
 */
static void
locate_sessions_release(struct stored_sessions *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].id);
		free(t->v[i].path);
		free(t->v[i].cwd);
		free(t->v[i].tty);
	}
	free(t->v);
	*t = (struct stored_sessions){ .n = 0 };
}

/* the times of files and panes are not of one clock's grain, and what was under way is still written */
#define SLACK_MS 5000
/*
 * of the person's last words so many letters are looked for on the screen; fewer than the least
 * prove nothing
 */
#define MOST_LETTERS 60
#define LEAST_LETTERS 8
#define LAST_WORDS ((size_t)64 << 10)
#define TURN_TAIL ((off_t)1 << 20)

/* ---- what the screen shows ---- */

/* At most so many letters of a text: a screen wraps, indents, and draws boxes and lists around words. */
static char *
screen_letters(const char *text, size_t most)
{
	struct letter_walk w = { .p = text, .end = text + strlen(text), .set = LETTERS_NOT_DRAWN };
	size_t n, found = 0;
	struct buf out = BUF_INIT;
	const char *letter;

	for (; found < most && exchange_next_letter(&w, &letter, &n); found++)
		buf_add(&out, letter, n);
	if (found < LEAST_LETTERS && most != SIZE_MAX)
		buf_reset(&out);
	return buf_detach(&out);
}

/* One of the person's last words in the file stands on the screen. */
static bool
is_shown(const struct locate_hints *h, const struct stored_session *t, const char *screen)
{
	struct conversation talk = CONVERSATION_INIT;
	bool shown = false;

	if (transcript_read(t->path, h->format, h->scrub, LAST_WORDS, &talk, NULL) != 0)
		return false;
	for (size_t i = talk.n, left = 3; i-- > 0 && left > 0 && !shown;) {
		char *words;

		if (talk.v[i].role != ROLE_USER || talk.v[i].tool != NULL)
			continue;
		left--;
		words = screen_letters(talk.v[i].content, MOST_LETTERS);
		shown = words != NULL && *words != '\0' && strstr(screen, words) != NULL;
		free(words);
	}
	conversation_release(&talk);
	return shown;
}

/* ---- whose it is ---- */

static bool
at_or_below(pid_t pid, pid_t ancestor)
{
	struct proc p = { .ppid = pid };

	for (int depth = 0; depth < 16 && p.ppid > 1; depth++)
		if (p.ppid == ancestor)
			return true;
		else if (proc_read(p.ppid, &p) != 0)
			return false;
	return false;
}

/* A living process at or below the agent's has the file open. */
static bool
has_open(pid_t pid, const char *path)
{
	char *fds = xasprintf("/proc/%d/fd", (int)pid), target[4097];
	DIR *dir = opendir(fds);
	struct dirent *d;
	bool found = false;

	while (dir != NULL && !found && (d = readdir(dir)) != NULL) {
		ssize_t n = readlinkat(dirfd(dir), d->d_name, target, sizeof target - 1);

		target[n > 0 ? n : 0] = '\0';
		found = strcmp(target, path) == 0;
	}
	if (dir != NULL)
		closedir(dir);
	free(fds);
	return found;
}

static bool
holds_open(const struct locate_hints *h, const char *path)
{
	struct procs procs = { .n = 0 };
	char *real = realpath(path, NULL);
	bool found = false;

	if (!h->lives || h->pid <= 0 || real == NULL || proc_list(&procs, NULL) != 0)
		goto out;
	for (size_t i = 0; i < procs.n && !found; i++)
		found = proc_list_below(&procs, procs.v[i].pid, h->pid) && has_open(procs.v[i].pid, real);
	proc_list_release(&procs);
out:
	free(real);
	return found;
}

static bool
is_in_lifetime(const struct locate_hints *h, const struct stored_session *t)
{
	return t->written >= h->began && (h->ended == 0 || t->written <= h->ended + SLACK_MS);
}

static bool
same_place(const struct locate_hints *h, const struct stored_session *t)
{
	char *a, *b;
	bool same;

	if (t->cwd == NULL || h->cwd == NULL)
		return false;
	a = realpath(h->cwd, NULL);
	b = realpath(t->cwd, NULL);
	same = strcmp(h->cwd, t->cwd) == 0 || (a != NULL && b != NULL && strcmp(a, b) == 0);
	free(a);
	free(b);
	return same;
}

/* It says itself whose it is. */
static bool
is_signed(const struct locate_hints *h, const struct stored_session *t)
{
	if (t->pid > 0 && h->pid > 0)
		return t->pid == h->pid || (h->lives && at_or_below(t->pid, h->pid));
	if (t->tty != NULL && h->tty != NULL && *h->tty != '\0')
		return strcmp(t->tty, h->tty) == 0;
	return strcmp(h->format, "codex") == 0 && holds_open(h, t->path);
}

/* A word of the start command, alone or behind "=". What a recovery of ours started was told by it. */
static bool
is_named(const struct locate_hints *h, const struct stored_session *t)
{
	const struct launch *l = h->launch;
	size_t n = strlen(t->id);

	for (size_t i = l != NULL ? l->entry + 1 : 0; l != NULL && !l->wrapped && i < l->n_words; i++) {
		const char *text = l->words[i].text;
		size_t len = strlen(text);

		if (len >= n && strcmp(text + len - n, t->id) == 0 && (len == n || text[len - n - 1] == '='))
			return true;
	}
	return false;
}

static void
take_session(struct transcript_found *out, enum found how, const struct stored_session *t)
{
	out->how = how;
	out->path = xstrdup(t->path);
	out->session_id = xstrdup(t->id);
}

/* The newest of one session: gemini begins another file for it in another minute. */
static const struct stored_session *
newest_of_session(const struct stored_sessions *all, const struct stored_session *of)
{
	for (size_t i = 0; i < all->n; i++)
		if (strcmp(all->v[i].id, of->id) == 0 && all->v[i].written > of->written)
			of = &all->v[i];
	return of;
}

/* Of those of its directory: the one that the screen shows, or the only one. */
static void
find_in_place(const struct locate_hints *h, const struct stored_sessions *all, struct transcript_found *out)
{
	char *screen = h->screen != NULL && h->scrub != NULL ? screen_letters(h->screen, SIZE_MAX) : NULL;
	const struct stored_session *one = NULL, *shown = NULL;
	size_t n = 0, n_shown = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct stored_session *t = &all->v[i];

		/* who signs it with another's name, or has another's at hand, is another */
		if (!is_in_lifetime(h, t) || !same_place(h, t) || newest_of_session(all, t) != t ||
		    (t->pid > 0 && h->pid > 0 && proc_life(t->pid, 0) != LIFE_GONE))
			continue;
		one = t;
		n++;
		if (screen != NULL && is_shown(h, t, screen)) {
			shown = t;
			n_shown++;
		}
	}
	if (n_shown == 1) {
		take_session(out, FOUND_SHOWN, shown);
	} else if (n == 1) {
		take_session(out, FOUND_FOLDER, one);
	} else if (n > 1) {
		out->how = FOUND_AMBIGUOUS;
		out->rivals = n;
	}
	free(screen);
}

void
locate_session(const struct locate_hints *h, struct transcript_found *out)
{
	const struct stored_session *best = NULL;
	struct stored_sessions all = { .n = 0 };

	memset(out, 0, sizeof *out);
	locate_sessions(h->format, h->folder, h->began, &all);
	for (size_t i = 0; i < all.n; i++)
		if (is_in_lifetime(h, &all.v[i]) && is_signed(h, &all.v[i]) &&
		    (best == NULL || all.v[i].written > best->written))
			best = &all.v[i];
	if (best != NULL)
		take_session(out, FOUND_RECORD, best);
	for (size_t i = 0; i < all.n && out->how == FOUND_NONE; i++)
		if (h->snapshot_id != NULL && strcmp(all.v[i].id, h->snapshot_id) == 0)
			take_session(out, FOUND_SNAPSHOT, newest_of_session(&all, &all.v[i]));
	for (size_t i = 0; i < all.n && out->how == FOUND_NONE; i++)
		if (is_in_lifetime(h, &all.v[i]) && is_named(h, &all.v[i]))
			take_session(out, FOUND_COMMAND, newest_of_session(&all, &all.v[i]));
	if (out->how == FOUND_NONE)
		find_in_place(h, &all, out);
	locate_sessions_release(&all);
}

/* ---- codex' lock ---- */

/*
 * The process that holds a lock on the file, by the kernel's own list; 0: none. Trying to take it
 * could make its owner fail.
 */
static pid_t
lock_holder(const char *path)
{
	struct stat st;
	char line[256], want[64];
	FILE *f;
	int pid, found = 0;

	if (stat(path, &st) != 0 || (f = fopen("/proc/locks", "re")) == NULL)
		return 0;
	snprintf(
	    want, sizeof want, "%02x:%02x:%ju", major(st.st_dev), minor(st.st_dev), (uintmax_t)st.st_ino);
	while (found == 0 && fgets(line, sizeof line, f) != NULL) {
		char at[64];

		/* "1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF"; one that waits has "->" there */
		if (sscanf(line, "%*s %*s %*s %*s %d %63s", &pid, at) == 2 && strcmp(at, want) == 0)
			found = pid;
	}
	fclose(f);
	return (pid_t)found;
}

static pid_t
session_holder(const char *format, const char *folder, const char *id)
{
	char *path;
	pid_t pid;

	if (strcmp(format, "codex") != 0)
		return 0;
	path = xasprintf("%s/thread-writer-locks/%s.lock", folder, id);
	pid = lock_holder(path);
	free(path);
	return pid;
}

bool
locate_is_held(const char *format, const char *folder, const char *id)
{
	return session_holder(format, folder, id) != 0;
}

static size_t
count_files(const char *format, const char *folder, const char *id)
{
	struct stored_sessions all = { .n = 0 };
	size_t n = 0;

	locate_sessions(format, folder, 0, &all);
	for (size_t i = 0; i < all.n; i++)
		n += strcmp(all.v[i].id, id) == 0;
	locate_sessions_release(&all);
	return n;
}

bool
locate_is_split(const char *format, const char *folder, const char *id)
{
	return count_files(format, folder, id) > 1;
}

bool
locate_has_session(const char *format, const char *folder, const char *id)
{
	return count_files(format, folder, id) > 0;
}

static const char *
last_of(const struct buf *b, const char *word)
{
	const char *found = NULL, *at = b->data;

	while (at != NULL && (at = memmem(at, b->len - (size_t)(at - b->data), word, strlen(word))) != NULL)
		found = at++;
	return found;
}

enum last_turn
locate_last_turn(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct buf b = BUF_INIT;
	const char *begun, *done, *stopped;
	off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
	enum last_turn turn = TURN_UNKNOWN;

	if (end >= 0 && lseek(fd, end > TURN_TAIL ? end - TURN_TAIL : 0, SEEK_SET) >= 0 &&
	    io_read_all(fd, path, (size_t)TURN_TAIL * 2, &b, NULL) == 0 && b.len > 0) {
		begun = last_of(&b, "\"type\":\"task_started\"");
		done = last_of(&b, "\"type\":\"task_complete\"");
		stopped = last_of(&b, "\"type\":\"turn_aborted\"");
		if ((done != NULL && done > begun) || (stopped != NULL && stopped > begun))
			turn = TURN_OVER;
		else if (begun != NULL)
			turn = TURN_RUNS;
	}
	if (fd >= 0)
		close(fd);
	buf_wipe(&b);
	return turn;
}

bool
locate_has_server(const struct locate_hints *h)
{
	struct stored_sessions all = { .n = 0 };
	bool works = false;

	if (strcmp(h->format, "codex") != 0)
		return false;
	locate_sessions(h->format, h->folder, h->began, &all);
	for (size_t i = 0; i < all.n && !works; i++) {
		pid_t pid = same_place(h, &all.v[i]) ? session_holder(h->format, h->folder, all.v[i].id) : 0;
		struct proc p = { .foreground = -1 };

		/* one that cannot be read may be the server as well as not */
		works = pid > 0 && proc_read(pid, &p) != PROC_GONE && p.foreground == -1 &&
		    locate_last_turn(all.v[i].path) != TURN_OVER;
	}
	locate_sessions_release(&all);
	return works;
}

/* ---- proof ---- */

void
locate_ack(const char *format, const char *folder, const char *recovery_id, int64_t since_ms, enum ack *out,
    char **path)
{
	struct stored_sessions all = { .n = 0 };
	enum ack ack;

	*out = ACK_NONE;
	*path = NULL;
	locate_sessions(format, folder, since_ms, &all);
	for (size_t i = 0; i < all.n; i++) {
		if (transcript_ack(all.v[i].path, format, recovery_id, &ack, NULL) != 0 || ack <= *out)
			continue;
		*out = ack;
		free(*path);
		*path = xstrdup(all.v[i].path);
	}
	locate_sessions_release(&all);
}

char *
locate_session_id(const char *format, const char *folder, const char *path, int64_t since_ms)
{
	struct stored_sessions all = { .n = 0 };
	char *id = NULL;

	locate_sessions(format, folder, since_ms, &all);
	for (size_t i = 0; i < all.n && id == NULL; i++)
		if (strcmp(all.v[i].path, path) == 0)
			id = xstrdup(all.v[i].id);
	locate_sessions_release(&all);
	return id;
}

bool
transcript_in_use(const struct profile *p, const char *dir, const char *id)
{
	bool claude = strcmp(p->transcript, "claude") == 0,
	     found = !claude && dir != NULL && locate_is_held(p->transcript, dir, id);
	struct agent_pid_files files = { .n = 0 };
	struct procs procs = { .n = 0 };

	if (claude && dir != NULL)
		agent_pid_files_read(dir, &files);
	for (size_t i = 0; i < files.n && !found; i++)
		found = files.v[i].session_id != NULL && strcmp(files.v[i].session_id, id) == 0 &&
		    agent_pid_file_is_alive(&files.v[i]);
	agent_pid_files_release(&files);
	if (!found && proc_list(&procs, NULL) != 0)
		return true;
	for (size_t i = 0; i < procs.n && !found; i++)
		found = proc_has_argument(&procs.v[i], id);
	proc_list_release(&procs);
	return found;
}
