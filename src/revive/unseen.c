#include <stdlib.h>
#include <string.h>

#include "revive/unseen.h"
#include "revive/candidate.h"
#include "revive/resume.h"
#include "revive/world.h"
#include "agent/liveness.h"
#include "agent/profile.h"
#include "agent/session_file.h"
#include "base/buf.h"
#include "context/newborn.h"
#include "context/snapshot.h"
#include "context/trail.h"
#include "context/transcript.h"
#include "ledger/attempt.h"

/* Between the commit of a start and what a process tells of its own. */
#define SLACK_MS 5000
#define MOST_LINKS 16	/* attempts in a row that came to nothing */

static bool
same_pane(const struct attempt *a, const struct snapshot *h)
{
	return a->server_pid == h->server_pid && a->server_start == h->server_start && strcmp(a->pane_id, h->pane) == 0 &&
	    strcmp(a->socket, h->socket) == 0;
}

/* The attempt by which the agent that the snapshot shows was started: in its pane, or with its session. */
static bool
may_have_made(const struct attempt *a, const struct snapshot *h)
{
	int64_t at = a->times[PHASE_RESPAWNED];

	if (at == 0 || at > h->taken_at || a->cwd == NULL || h->cwd == NULL || strcmp(a->cwd, h->cwd) != 0)
		return false;
	if (same_pane(a, h))
		return a->pane_pid != h->pane_pid;
	return strcmp(a->class, class_name(CLASS_MISSING)) == 0 && strcmp(a->session, h->session) == 0 && strcmp(a->socket, h->socket) == 0;
}

static bool
find_maker(struct store *store, const struct snapshot *h, struct attempt *out)
{
	struct attempts all = { .n = 0 };
	struct attempt *best = NULL;

	if (attempts_all(store, &all, NULL) == 0)
		for (size_t i = 0; i < all.n; i++)
			if (may_have_made(&all.v[i], h) && (best == NULL || all.v[i].times[PHASE_RESPAWNED] > best->times[PHASE_RESPAWNED]))
				best = &all.v[i];
	if (best != NULL) {
		*out = *best;
		attempt_init(best);
	}
	attempts_release(&all);
	return best != NULL;
}

/* It replaced what the snapshot shows, or what came after that in the same pane. One that only told a living agent replaced nothing. */
static bool
replaced(const struct attempt *a, const struct snapshot *h)
{
	int64_t at = a->times[PHASE_RESPAWNED];

	return at != 0 && same_pane(a, h) && strcmp(a->class, class_name(CLASS_RESPAWNED)) != 0 &&
	    (a->pane_pid == h->pane_pid || at > h->taken_at);
}

/* The newest that did. One that ended before it could start anything goes on with the one before it. */
static bool
find_successor(struct store *store, const struct snapshot *h, struct attempt *out)
{
	struct attempt a;

	if (attempt_latest(store, h->socket, h->server_pid, h->server_start, h->pane, out, NULL) != 1)
		return false;
	for (int i = 0; i < MOST_LINKS && out->times[PHASE_RESPAWNED] == 0 && out->previous != NULL; i++) {
		if (attempt_load(store, out->previous, &a, NULL) != 1)
			break;
		attempt_release(out);
		*out = a;
	}
	if (replaced(out, h))
		return true;
	attempt_release(out);
	return false;
}

/* What it started may have died unseen as well, and been brought back: the last of that row. */
static void
follow(struct store *store, struct attempt *a)
{
	struct attempts all = { .n = 0 };
	size_t next = 0;

	if (attempts_all(store, &all, NULL) != 0)
		all.n = 0;
	for (int i = 0; i < MOST_LINKS && next < all.n; i++) {
		for (next = 0; next < all.n; next++)
			if (all.v[next].previous != NULL && strcmp(all.v[next].previous, a->id) == 0 && all.v[next].times[PHASE_RESPAWNED] != 0 &&
			    strcmp(all.v[next].class, class_name(CLASS_RESPAWNED)) != 0)
				break;
		if (next < all.n) {
			attempt_release(a);
			*a = all.v[next];
			attempt_init(&all.v[next]);
		}
	}
	attempts_release(&all);
}

/* Of one that never read its prompt: what it heard instead began a conversation that no living process has. */
static char *
find_newborn(const char *config_dir, const struct attempt *a)
{
	struct session_files all = { .n = 0 };
	const char **held;
	size_t n = 0;
	char *path;

	session_files_read(config_dir, &all);
	held = xcalloc(all.n + 1, sizeof *held);
	for (size_t i = 0; i < all.n; i++)
		if (all.v[i].session_id != NULL && session_file_lives(&all.v[i]))
			held[n++] = all.v[i].session_id;
	path = newborn_find(config_dir, a->cwd, a->times[PHASE_RESPAWNED], held, n);
	free(held);
	session_files_release(&all);
	return path;
}

/* The process that the attempt had started; a pid is used again. */
static bool
still_runs(const struct attempt *a)
{
	int64_t began = a->new_pid > 0 ? proc_began_ms((pid_t)a->new_pid) : 0;

	return began != 0 && began >= a->times[PHASE_RESPAWNED] - SLACK_MS &&
	    (a->times[PHASE_DELIVERED] == 0 || began <= a->times[PHASE_DELIVERED] + SLACK_MS);
}

/* Of Claude Code; *path is heap or NULL. */
static void
find_transcript(const struct attempt *a, const struct snapshot *h, bool later, char **path)
{
	enum ack ack = ACK_NONE;

	*path = a->transcript != NULL ? xstrdup(a->transcript) : NULL;
	if (*path == NULL && h->config_dir != NULL && a->cwd != NULL)
		transcript_search(h->config_dir, a->cwd, a->id, a->times[PHASE_RESPAWNED], &ack, path);
	if (*path == NULL && later && h->config_dir != NULL && a->cwd != NULL)
		*path = find_newborn(h->config_dir, a);
}

/* Of another agent: in which it was told. What it began untold tells nothing of when, and may be another's. */
static void
set_session(const struct attempt *a, const struct snapshot *h, const char *format, struct unseen *out)
{
	enum ack ack = ACK_NONE;
	char *path = a->transcript != NULL ? xstrdup(a->transcript) : NULL;

	if (path == NULL && h->config_dir != NULL)
		trail_search(format, h->config_dir, a->id, a->times[PHASE_RESPAWNED], &ack, &path);
	if (path != NULL && h->config_dir != NULL)
		out->session_id = trail_id(format, h->config_dir, path, a->times[PHASE_RESPAWNED]);
	if (out->session_id != NULL)
		out->parting = parting_of(format, path);
	free(path);
}

static void
set_conversation(const struct attempt *a, const struct snapshot *h, const struct profile *p, struct unseen *out)
{
	char *path, *slash;

	if (strcmp(p->transcript, "claude") != 0) {
		set_session(a, h, p->transcript, out);
		return;
	}
	find_transcript(a, h, out->later, &path);
	if (path == NULL)
		return;
	out->parting = parting_of(p->transcript, path);
	slash = strrchr(path, '/');
	if (slash != NULL && str_ends(slash, ".jsonl"))
		out->session_id = xstrndup(slash + 1, strlen(slash + 1) - strlen(".jsonl"));
	free(path);
}

void
unseen_find(struct world *w, const struct snapshot *h, struct unseen *out)
{
	const struct profile *p = h->agent != NULL ? profiles_find(w->profiles, h->agent) : NULL;
	struct store *store = world_store(w, false, NULL);
	struct attempt a;

	memset(out, 0, sizeof *out);
	out->parting = PARTING_UNKNOWN;
	if (store == NULL || h->pane == NULL || p == NULL)
		return;
	out->later = find_successor(store, h, &a);
	if (!out->later && (h->session_id != NULL || !find_maker(store, h, &a)))
		return;
	if (out->later)
		follow(store, &a);
	out->id = xstrdup(a.id);
	out->answered = out->later && a.phase == PHASE_ACKNOWLEDGED;
	out->began = a.times[PHASE_RESPAWNED];
	/* the acknowledgement may have been found long after its end */
	out->alive_at = a.times[PHASE_DELIVERED] != 0 ? a.times[PHASE_DELIVERED] : a.times[PHASE_RESPAWNED];
	out->server_pid = strcmp(a.class, class_name(CLASS_MISSING)) != 0 ? a.server_pid : a.made_pid;
	out->server_start = strcmp(a.class, class_name(CLASS_MISSING)) != 0 ? a.server_start : a.made_start;
	set_conversation(&a, h, p, out);
	out->lives = still_runs(&a) || (out->session_id != NULL && h->config_dir != NULL && resume_in_use(p, h->config_dir, out->session_id));
	attempt_release(&a);
}

void
unseen_release(struct unseen *u)
{
	free(u->id);
	free(u->session_id);
	memset(u, 0, sizeof *u);
}
