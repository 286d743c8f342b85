#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "context/trail.h"
#include "agent/launch.h"
#include "agent/liveness.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/utf8.h"
#include "context/exchange.h"
#include "context/track.h"

/* the times of files and panes are not of one clock's grain, and what was under way is still written */
#define SLACK_MS 5000
/* of the person's last words so many letters are looked for on the screen; fewer than the least prove nothing */
#define MOST_LETTERS 60
#define LEAST_LETTERS 8
#define LAST_WORDS ((size_t)64 << 10)
#define TURN_TAIL ((off_t)1 << 20)

/* ---- what the screen shows ---- */

/* Letters and digits, without what a box or a list draws around and between them: a screen wraps and indents. */
static char *
letters(const char *text, size_t most)
{
	size_t n = strlen(text), step, found = 0;
	struct buf out = BUF_INIT;
	int32_t rune;

	for (size_t i = 0; i < n && found < most; i += step) {
		step = utf8_next(text + i, n - i, &rune);
		if (rune < 0x30 || (rune > 0x39 && rune < 0x41) || (rune > 0x5a && rune < 0x61) || (rune > 0x7a && rune < 0xc0) ||
		    (rune >= 0x2000 && rune < 0x2c00))
			continue;
		buf_add(&out, text + i, step);
		found++;
	}
	if (found < LEAST_LETTERS && most != SIZE_MAX)
		buf_reset(&out);
	return buf_detach(&out);
}

/* One of the person's last words in the file stands on the screen. */
static bool
is_shown(const struct trail_hints *h, const struct track *t, const char *screen)
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
		words = letters(talk.v[i].content, MOST_LETTERS);
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
holds_open(const struct trail_hints *h, const char *path)
{
	struct procs procs = { .n = 0 };
	char *real = realpath(path, NULL);
	bool found = false;

	if (!h->lives || h->pid <= 0 || real == NULL || procs_read(&procs, NULL) != 0)
		goto out;
	for (size_t i = 0; i < procs.n && !found; i++)
		found = procs_below(&procs, procs.v[i].pid, h->pid) && has_open(procs.v[i].pid, real);
	procs_release(&procs);
out:
	free(real);
	return found;
}

static bool
in_its_life(const struct trail_hints *h, const struct track *t)
{
	return t->written >= h->began && (h->ended == 0 || t->written <= h->ended + SLACK_MS);
}

static bool
same_place(const struct trail_hints *h, const struct track *t)
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
is_signed(const struct trail_hints *h, const struct track *t)
{
	if (t->pid > 0 && h->pid > 0)
		return t->pid == h->pid || (h->lives && at_or_below(t->pid, h->pid));
	if (t->tty != NULL && h->tty != NULL && *h->tty != '\0')
		return strcmp(t->tty, h->tty) == 0;
	return strcmp(h->format, "codex") == 0 && holds_open(h, t->path);
}

/* A word of the start command, alone or behind "=". What a recovery of ours started was told by it. */
static bool
is_named(const struct trail_hints *h, const struct track *t)
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
take(struct transcript_found *out, enum found how, const struct track *t)
{
	out->how = how;
	out->path = xstrdup(t->path);
	out->session_id = xstrdup(t->id);
}

/* The newest of one session: gemini begins another file for it in another minute. */
static const struct track *
newest(const struct tracks *all, const struct track *of)
{
	for (size_t i = 0; i < all->n; i++)
		if (strcmp(all->v[i].id, of->id) == 0 && all->v[i].written > of->written)
			of = &all->v[i];
	return of;
}

/* Of those of its directory: the one that the screen shows, or the only one. */
static void
find_in_place(const struct trail_hints *h, const struct tracks *all, struct transcript_found *out)
{
	char *screen = h->screen != NULL && h->scrub != NULL ? letters(h->screen, SIZE_MAX) : NULL;
	const struct track *one = NULL, *shown = NULL;
	size_t n = 0, n_shown = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct track *t = &all->v[i];

		/* who signs it with another's name, or has another's at hand, is another */
		if (!in_its_life(h, t) || !same_place(h, t) || newest(all, t) != t || (t->pid > 0 && h->pid > 0 && proc_ticks(t->pid) != 0))
			continue;
		one = t;
		n++;
		if (screen != NULL && is_shown(h, t, screen)) {
			shown = t;
			n_shown++;
		}
	}
	if (n_shown == 1) {
		take(out, FOUND_SHOWN, shown);
	} else if (n == 1) {
		take(out, FOUND_FOLDER, one);
	} else if (n > 1) {
		out->how = FOUND_AMBIGUOUS;
		out->rivals = n;
	}
	free(screen);
}

void
trail_find(const struct trail_hints *h, struct transcript_found *out)
{
	const struct track *best = NULL;
	struct tracks all = { .n = 0 };

	memset(out, 0, sizeof *out);
	tracks_read(h->format, h->folder, h->began, &all);
	for (size_t i = 0; i < all.n; i++)
		if (in_its_life(h, &all.v[i]) && is_signed(h, &all.v[i]) && (best == NULL || all.v[i].written > best->written))
			best = &all.v[i];
	if (best != NULL)
		take(out, FOUND_RECORD, best);
	for (size_t i = 0; i < all.n && out->how == FOUND_NONE; i++)
		if (h->snapshot_id != NULL && strcmp(all.v[i].id, h->snapshot_id) == 0)
			take(out, FOUND_SNAPSHOT, newest(&all, &all.v[i]));
	for (size_t i = 0; i < all.n && out->how == FOUND_NONE; i++)
		if (in_its_life(h, &all.v[i]) && is_named(h, &all.v[i]))
			take(out, FOUND_COMMAND, newest(&all, &all.v[i]));
	if (out->how == FOUND_NONE)
		find_in_place(h, &all, out);
	tracks_release(&all);
}

/* ---- codex' lock ---- */

/* The process that holds a lock on the file, by the kernel's own list; 0: none. Trying to take it could make its owner fail. */
static pid_t
holder(const char *path)
{
	struct stat st;
	char line[256], want[64];
	FILE *f;
	int pid, found = 0;

	if (stat(path, &st) != 0 || (f = fopen("/proc/locks", "re")) == NULL)
		return 0;
	snprintf(want, sizeof want, "%02x:%02x:%ju", major(st.st_dev), minor(st.st_dev), (uintmax_t)st.st_ino);
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
	pid = holder(path);
	free(path);
	return pid;
}

bool
trail_is_held(const char *format, const char *folder, const char *id)
{
	return session_holder(format, folder, id) != 0;
}

static size_t
count_files(const char *format, const char *folder, const char *id)
{
	struct tracks all = { .n = 0 };
	size_t n = 0;

	tracks_read(format, folder, 0, &all);
	for (size_t i = 0; i < all.n; i++)
		n += strcmp(all.v[i].id, id) == 0;
	tracks_release(&all);
	return n;
}

bool
trail_is_split(const char *format, const char *folder, const char *id)
{
	return count_files(format, folder, id) > 1;
}

bool
trail_has(const char *format, const char *folder, const char *id)
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

enum turn
trail_turn(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct buf b = BUF_INIT;
	const char *begun, *done, *stopped;
	off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
	enum turn turn = TURN_UNKNOWN;

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
trail_works_on(const struct trail_hints *h)
{
	struct tracks all = { .n = 0 };
	bool works = false;

	if (strcmp(h->format, "codex") != 0)
		return false;
	tracks_read(h->format, h->folder, h->began, &all);
	for (size_t i = 0; i < all.n && !works; i++) {
		pid_t pid = same_place(h, &all.v[i]) ? session_holder(h->format, h->folder, all.v[i].id) : 0;
		struct proc p;

		works = pid > 0 && proc_read(pid, &p) == 0 && p.foreground == -1 && trail_turn(all.v[i].path) != TURN_OVER;
	}
	tracks_release(&all);
	return works;
}

/* ---- proof ---- */

void
trail_search(const char *format, const char *folder, const char *recovery_id, int64_t since_ms, enum ack *out, char **path)
{
	struct tracks all = { .n = 0 };
	enum ack ack;

	*out = ACK_NONE;
	*path = NULL;
	tracks_read(format, folder, since_ms, &all);
	for (size_t i = 0; i < all.n; i++) {
		if (transcript_ack(all.v[i].path, format, recovery_id, &ack, NULL) != 0 || ack <= *out)
			continue;
		*out = ack;
		free(*path);
		*path = xstrdup(all.v[i].path);
	}
	tracks_release(&all);
}

char *
trail_id(const char *format, const char *folder, const char *path, int64_t since_ms)
{
	struct tracks all = { .n = 0 };
	char *id = NULL;

	tracks_read(format, folder, since_ms, &all);
	for (size_t i = 0; i < all.n && id == NULL; i++)
		if (strcmp(all.v[i].path, path) == 0)
			id = xstrdup(all.v[i].id);
	tracks_release(&all);
	return id;
}
