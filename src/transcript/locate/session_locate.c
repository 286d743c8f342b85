#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transcript/locate/locate_private.h"
#include "transcript/locate/locate.h"
#include "transcript/transcript_private.h"
#include "agent/agent.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/json.h"
#include "conversation/conversation.h"
#include "process/proc.h"

/* How a format's sessions are listed, and by which evidence one of them is a process's. */
struct session_row {
	const struct transcript_format *format;
	struct session_place places[2];
	/* instead of places; NULL: they are walked */
	int (*list)(const struct session_scan *r, struct err *e);
	/* those of all directories, where the list is of one; NULL: it is of all, or they are walked */
	int (*list_past)(const struct session_scan *r);
	char *(*place)(const char *path);	/* the directory of one of these */
	/* the file of an id, by the directory; NULL: the session has to be listed */
	char *(*path)(const char *folder, const char *cwd, const char *id);
	const char *locks;		/* folder of the locks ID.lock that processes hold; NULL: none */
	bool opens;			/* a living process may have its session's file open */
	evidence_fn *const *evidence;	/* by source */
};

/* the times of files and panes are not of one clock's grain, and what was under way is still written */
#define SLACK_MS 5000
/*
 * of the person's last words so many letters are looked for on the screen; fewer than the least
 * prove nothing
 */
#define MOST_LETTERS 60
#define LEAST_LETTERS 8
#define LAST_WORDS ((size_t)64 << 10)

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
holds_open(const struct locate_hints *h, const char *path)
{
	struct procs procs = { .n = 0 };
	char *real = realpath(path, NULL);
	bool found = false;

	if (!h->lives || h->pid <= 0 || real == NULL || proc_list(&procs, NULL) != 0)
		goto out;
	for (size_t i = 0; i < procs.n && !found; i++)
		found = proc_list_below(&procs, procs.v[i].pid, h->pid) &&
		    proc_has_open(procs.v[i].pid, real);
	proc_list_release(&procs);
out:
	free(real);
	return found;
}

bool
locate_in_lifetime(const struct locate_hints *h, const struct stored_session *t)
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
is_signed(const struct locate_search *l, const struct stored_session *t)
{
	const struct locate_hints *h = l->h;

	if (t->pid > 0 && h->pid > 0)
		return t->pid == h->pid || (h->lives && at_or_below(t->pid, h->pid));
	if (t->tty != NULL && h->tty != NULL && *h->tty != '\0')
		return strcmp(t->tty, h->tty) == 0;
	return l->row->opens && holds_open(h, t->path);
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

/* In no order; none for row NULL. */
static int
list_sessions(const struct session_row *row, const char *folder, const char *cwd, int64_t since,
    struct stored_sessions *out, struct err *e)
{
	struct session_scan r = { folder, cwd, since, out };

	*out = (struct stored_sessions){ .n = 0 };
	if (row != NULL && row->list != NULL)
		return row->list(&r, e);
	for (size_t i = 0; row != NULL && i < 2 && row->places[i].place != NULL; i++)
		locate_walk(&row->places[i], &r);
	return 0;
}

static int
list_all(struct locate_search *l, struct err *e)
{
	if (l->listed)
		return 0;
	l->listed = true;
	return list_sessions(l->row, l->h->folder, l->h->cwd, l->h->began, &l->all, e);
}

static int
by_signature(struct locate_search *l, enum found how, struct transcript_found *out, struct err *e)
{
	const struct stored_session *best = NULL;
	int ret = list_all(l, e);

	for (size_t i = 0; i < l->all.n; i++)
		if (locate_in_lifetime(l->h, &l->all.v[i]) && is_signed(l, &l->all.v[i]) &&
		    (best == NULL || l->all.v[i].written > best->written))
			best = &l->all.v[i];
	if (best != NULL)
		take_session(out, how, best);
	return ret;
}

static int
by_listed_id(struct locate_search *l, enum found how, struct transcript_found *out, struct err *e)
{
	int ret = list_all(l, e);

	for (size_t i = 0; i < l->all.n && out->how == FOUND_NONE && l->h->id[how] != NULL; i++)
		if (strcmp(l->all.v[i].id, l->h->id[how]) == 0)
			take_session(out, how, newest_of_session(&l->all, &l->all.v[i]));
	return ret;
}

static int
by_command(struct locate_search *l, enum found how, struct transcript_found *out, struct err *e)
{
	int ret = list_all(l, e);

	for (size_t i = 0; i < l->all.n && out->how == FOUND_NONE; i++)
		if (locate_in_lifetime(l->h, &l->all.v[i]) && is_named(l->h, &l->all.v[i]))
			take_session(out, how, newest_of_session(&l->all, &l->all.v[i]));
	return ret;
}

/* Of those of its directory: the one that the screen shows, or the only one. */
static int
in_place(struct locate_search *l, enum found how, struct transcript_found *out, struct err *e)
{
	const struct locate_hints *h = l->h;
	char *screen = h->screen != NULL && h->scrub != NULL ? screen_letters(h->screen, SIZE_MAX) : NULL;
	const struct stored_session *one = NULL, *shown = NULL;
	struct transcript_found several = { .how = FOUND_AMBIGUOUS };
	size_t n_shown = 0;
	int ret = list_all(l, e);

	for (size_t i = 0; i < l->all.n; i++) {
		const struct stored_session *t = &l->all.v[i];

		/* who signs it with another's name, or has another's at hand, is another */
		if (!locate_in_lifetime(h, t) || !same_place(h, t) || newest_of_session(&l->all, t) != t ||
		    (t->pid > 0 && h->pid > 0 && proc_life(t->pid, 0) != LIFE_GONE))
			continue;
		one = t;
		locate_add_rival(&several, t);
		if (screen != NULL && is_shown(h, t, screen)) {
			shown = t;
			n_shown++;
		}
	}
	if (n_shown == 1) {
		take_session(out, FOUND_SHOWN, shown);
	} else if (several.rivals == 1) {
		take_session(out, how, one);
	} else if (several.rivals > 1) {
		*out = several;
		several = (struct transcript_found){ .how = FOUND_NONE };
	}
	transcript_found_release(&several);
	free(screen);
	return ret;
}

/* ---- the rows ---- */

static evidence_fn *const by_names[FOUND_SHOWN] = { [FOUND_RECORD] = locate_by_id,
	[FOUND_SNAPSHOT] = locate_by_id,
	[FOUND_COMMAND] = locate_by_id,
	[FOUND_WORKTREE] = locate_by_id,
	[FOUND_TOWN] = locate_by_id,
	[FOUND_FAREWELL] = locate_by_id,
	[FOUND_FOLDER] = locate_in_project };
static evidence_fn *const by_contents[FOUND_SHOWN] = { [FOUND_RECORD] = by_signature,
	[FOUND_SNAPSHOT] = by_listed_id,
	[FOUND_COMMAND] = by_command,
	[FOUND_FOLDER] = in_place };

static const struct session_row rows[] = {
	{ .format = &format_claude,
	    .list = locate_projects,
	    .list_past = locate_all_projects,
	    .place = locate_project_place,
	    .path = transcript_path,
	    .evidence = by_names },
	{ .format = &format_codex,
	    .places = { {
		"sessions/*/*/*/rollout-*.jsonl", true, .id = "payload.id", .cwd = "payload.cwd" } },
	    .locks = "thread-writer-locks",
	    .opens = true,
	    .evidence = by_contents },
	{ .format = &format_gemini,
	    .places = { { "tmp/*/chats/session-*.jsonl", true, .id = "sessionId",
			    .more = locate_project_cwd },
		/* 0.34.0 */
		{ "tmp/*/chats/session-*.json", false, .id = "sessionId", .more = locate_project_cwd } },
	    .evidence = by_contents },
	{ .format = &format_qwen,
	    .places = { { "projects/*/chats/*.jsonl", true, .id = "sessionId", .cwd = "cwd" } },
	    .evidence = by_contents },
	{ .format = &format_copilot,
	    .places = { { "session-state/*/events.jsonl", true, .id = "data.sessionId",
		.cwd = "data.context.cwd", .more = locate_lock_beside } },
	    .evidence = by_contents },
	{ .format = &format_pi,
	    .places = { { "sessions/*/*.jsonl", true, .id = "id", .cwd = "cwd" } },
	    .evidence = by_contents },
	{ .format = &format_auggie,
	    .places = { { "sessions/*.json", false, .id = "sessionId", .tty = "terminalId" } },
	    .evidence = by_contents },
	{ .format = &format_cline,
	    .places = { { "data/sessions/*/*.json", false, .id = "session_id", .cwd = "cwd", .pid = "pid" } },
	    .evidence = by_contents },
	{ .format = &format_opencode, .list = locate_database, .evidence = by_contents },
};

static const struct session_row *
row_of(const char *format)
{
	const struct transcript_format *how = transcript_format_find(format);

	for (size_t i = 0; how != NULL && i < sizeof rows / sizeof rows[0]; i++)
		if (rows[i].format == how)
			return &rows[i];
	return NULL;
}

static int
by_newest(const void *a, const void *b)
{
	const struct stored_session *x = a, *y = b;

	return x->written > y->written ? -1 : x->written < y->written;
}

void
transcript_past(
    const char *format, const char *folder, int64_t since, size_t most, struct past_sessions *out)
{
	const struct session_row *row = row_of(format);
	struct stored_sessions all = { .n = 0 };
	struct session_scan scan = { folder, NULL, since, &all };

	*out = (struct past_sessions){ .v = xcalloc(most + 1, sizeof *out->v) };
	if (row != NULL && row->list_past != NULL)
		row->list_past(&scan);
	else
		list_sessions(row, folder, NULL, since, &all, NULL);
	if (all.n > 1)
		qsort(all.v, all.n, sizeof *all.v, by_newest);
	for (size_t i = 0; i < all.n && out->n < most; i++) {
		struct stored_session *t = &all.v[i];

		if (newest_of_session(&all, t) != t || (row->place != NULL && !transcript_is_id(t->id)))
			continue;
		out->v[out->n++] = (struct past_session){ .id = xstrdup(t->id),
			.path = xstrdup(t->path),
			.cwd = t->cwd != NULL ? xstrdup(t->cwd)
			    : row->place != NULL ? row->place(t->path) : NULL,
			.written = t->written };
	}
	locate_sessions_release(&all);
}

void
transcript_past_release(struct past_sessions *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].id);
		free(p->v[i].path);
		free(p->v[i].cwd);
	}
	free(p->v);
	*p = (struct past_sessions){ .n = 0 };
}

int
locate_session(const struct locate_hints *h, struct transcript_found *out, struct err *e)
{
	struct locate_search l = { .h = h, .row = row_of(h->format) };
	int ret = 0;

	*out = (struct transcript_found){ .how = FOUND_NONE };
	if (l.row == NULL || h->folder == NULL)
		return 0;
	for (enum found how = FOUND_RECORD; how < FOUND_SHOWN && ret == 0 && out->how == FOUND_NONE; how++)
		if (l.row->evidence[how] != NULL)
			ret = l.row->evidence[how](&l, how, out, e);
	locate_sessions_release(&l.all);
	return ret;
}

char *
locate_new(const char *format, const char *folder, const char *cwd, int64_t since, const char *const *held,
    size_t n_held)
{
	const struct session_row *row = row_of(format);

	return row != NULL && row->path != NULL ? locate_new_project(folder, cwd, since, held, n_held) : NULL;
}

/* ---- codex' lock ---- */

/* 0: none; -1: unknown. */
static pid_t
session_holder(const struct session_row *row, const char *folder, const char *id)
{
	char *path;
	pid_t pid;

	if (row == NULL || row->locks == NULL)
		return 0;
	path = xasprintf("%s/%s/%s.lock", folder, row->locks, id);
	pid = proc_lock_holder(path);
	free(path);
	return pid;
}

bool
locate_is_held(const char *format, const char *folder, const char *id)
{
	return session_holder(row_of(format), folder, id) != 0;
}

static size_t
count_files(const struct session_row *row, const char *folder, const char *id)
{
	struct stored_sessions all = { .n = 0 };
	size_t n = 0;

	list_sessions(row, folder, NULL, 0, &all, NULL);
	for (size_t i = 0; i < all.n; i++)
		n += strcmp(all.v[i].id, id) == 0;
	locate_sessions_release(&all);
	return n;
}

bool
locate_is_split(const char *format, const char *folder, const char *id)
{
	return count_files(row_of(format), folder, id) > 1;
}

bool
locate_has_session(const char *format, const char *folder, const char *cwd, const char *id)
{
	const struct session_row *row = row_of(format);
	char *path;
	bool there;

	if (row == NULL || row->path == NULL)
		return count_files(row, folder, id) > 0;
	path = transcript_is_id(id) ? row->path(folder, cwd, id) : NULL;
	there = path != NULL && access(path, R_OK) == 0;
	free(path);
	return there;
}

enum exit_kind
locate_exit_kind(
    const char *format, const char *folder, const char *cwd, const char *id, const char *path)
{
	const struct session_row *row = row_of(format);
	enum exit_kind how = EXIT_UNKNOWN;
	char *own;

	if (row == NULL || row->path == NULL)
		return path != NULL ? transcript_exit_kind(format, path) : EXIT_UNKNOWN;
	if (folder == NULL || cwd == NULL || id == NULL || !transcript_is_id(id))
		return EXIT_UNKNOWN;
	own = row->path(folder, cwd, id);
	if (own != NULL)
		how = transcript_exit_kind(format, own);
	free(own);
	return how;
}

bool
locate_has_server(const struct locate_hints *h)
{
	const struct session_row *row = row_of(h->format);
	struct stored_sessions all = { .n = 0 };
	bool works = false;

	if (row == NULL || row->locks == NULL)
		return false;
	list_sessions(row, h->folder, h->cwd, h->began, &all, NULL);
	for (size_t i = 0; i < all.n && !works; i++) {
		pid_t pid = same_place(h, &all.v[i]) ? session_holder(row, h->folder, all.v[i].id) : 0;
		struct proc p = { .foreground = -1 };

		/* one that cannot be read may be the server as well as not */
		works = pid != 0 && (pid < 0 || proc_read(pid, &p) != PROC_GONE) && p.foreground == -1 &&
		    transcript_last_turn(row->format, all.v[i].path) != TURN_OVER;
	}
	locate_sessions_release(&all);
	return works;
}

/* ---- proof ---- */

void
locate_ack(const char *format, const char *folder, const char *cwd, const char *recovery_id,
    int64_t since_ms, enum ack *out, char **path)
{
	struct stored_sessions all = { .n = 0 };
	enum ack ack;

	*out = ACK_NONE;
	*path = NULL;
	list_sessions(row_of(format), folder, cwd, since_ms, &all, NULL);
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
	const struct session_row *row = row_of(format);
	const char *name = strrchr(path, '/');
	struct stored_sessions all = { .n = 0 };
	char *id = NULL;

	if (row != NULL && row->path != NULL)
		return name != NULL && str_ends(name, ".jsonl")
		    ? xstrndup(name + 1, strlen(name + 1) - strlen(".jsonl"))
		    : NULL;
	if (folder == NULL)
		return NULL;
	list_sessions(row, folder, NULL, since_ms, &all, NULL);
	for (size_t i = 0; i < all.n && id == NULL; i++)
		if (strcmp(all.v[i].path, path) == 0)
			id = xstrdup(all.v[i].id);
	locate_sessions_release(&all);
	return id;
}

bool
transcript_in_use(const struct profile *p, const char *dir, const char *id)
{
	bool notes = transcript_has_pid_files(p->transcript),
	     found = !notes && dir != NULL && locate_is_held(p->transcript, dir, id);
	struct agent_pid_files files = { .n = 0 };
	struct procs procs = { .n = 0 };

	if (notes && dir != NULL)
		agent_pid_files_read(dir, &files);
	for (size_t i = 0; i < files.n && !found; i++)
		found = files.v[i].session_id != NULL && strcmp(files.v[i].session_id, id) == 0 &&
		    agent_pid_file_is_alive(&files.v[i]);
	agent_pid_files_release(&files);
	if (!found && proc_list(&procs, NULL) != 0)
		return true;
	for (size_t i = 0; i < procs.n && !found; i++)
		/* a person may name it to us, and the teammates of Claude Code name their lead's */
		found = proc_has_argument(&procs.v[i], id, "--parent-session-id") &&
		    !proc_has_argument(&procs.v[i], "--conversation", NULL);
	proc_list_release(&procs);
	return found;
}
