#include <stdlib.h>
#include <string.h>

#include "detect/detect_private.h"
#include "app/app.h"
#include "process/proc.h"
#include "records/recovery/recovery.h"
#include "transcript/transcript.h"

/* Between the commit of a start and what a process tells of its own. */
#define SLACK_MS 5000
#define MOST_LINKS 16	/* attempts in a row that came to nothing */

static bool
same_pane(const struct attempt *a, const struct snapshot *h)
{
	return a->server_pid == h->server_pid && a->server_start == h->server_start &&
	    strcmp(a->pane_id, h->pane) == 0 && strcmp(a->socket, h->socket) == 0;
}

/* The attempt by which the agent that the snapshot shows was started: in its pane, or with its session. */
static bool
may_have_made(const struct attempt *a, const struct snapshot *h)
{
	int64_t at = a->times[PHASE_RESPAWNED];

	if (at == 0 || at > h->taken_at || a->cwd == NULL || h->cwd == NULL || strcmp(a->cwd, h->cwd) != 0)
		return false;
	if (same_pane(a, h))
		return a->in_shell || a->pane_pid != h->pane_pid;
	return strcmp(a->class, detect_status_name(AGENT_MISSING)) == 0 &&
	    strcmp(a->session, h->session) == 0 && strcmp(a->socket, h->socket) == 0;
}

static bool
find_maker(struct store *store, const struct snapshot *h, struct attempt *out)
{
	struct attempt_list all = { .n = 0 };
	struct attempt *best = NULL;

	if (attempt_list_all(store, &all, NULL) == 0)
		for (size_t i = 0; i < all.n; i++)
			if (may_have_made(&all.v[i], h) &&
			    (best == NULL || all.v[i].times[PHASE_RESPAWNED] > best->times[PHASE_RESPAWNED]))
				best = &all.v[i];
	if (best != NULL) {
		*out = *best;
		attempt_init(best);
	}
	attempt_list_release(&all);
	return best != NULL;
}

/*
 * It replaced what the snapshot shows, or what came after that in the same pane. One that only
 * told a living agent replaced nothing.
 */
static bool
replaced(const struct attempt *a, const struct snapshot *h)
{
	int64_t at = a->times[PHASE_RESPAWNED];

	return at != 0 && same_pane(a, h) && strcmp(a->class, detect_status_name(AGENT_RESPAWNED)) != 0 &&
	    ((a->pane_pid == h->pane_pid && !a->in_shell) || at > h->taken_at);
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
	struct attempt_list all = { .n = 0 };
	size_t next = 0;

	if (attempt_list_all(store, &all, NULL) != 0)
		all.n = 0;
	for (int i = 0; i < MOST_LINKS && next < all.n; i++) {
		for (next = 0; next < all.n; next++)
			if (all.v[next].previous != NULL && strcmp(all.v[next].previous, a->id) == 0 &&
			    all.v[next].times[PHASE_RESPAWNED] != 0 &&
			    strcmp(all.v[next].class, detect_status_name(AGENT_RESPAWNED)) != 0)
				break;
		if (next < all.n) {
			attempt_release(a);
			*a = all.v[next];
			attempt_init(&all.v[next]);
		}
	}
	attempt_list_release(&all);
}

/*
 * Of one that never read its prompt: what it heard instead began a conversation that no living
 * process has.
 */
static char *
find_newborn(const char *format, const char *config_dir, const struct attempt *a)
{
	struct agent_pid_files all = { .n = 0 };
	const char **held;
	size_t n = 0;
	char *path;

	agent_pid_files_read(config_dir, &all);
	held = xcalloc(all.n + 1, sizeof *held);
	for (size_t i = 0; i < all.n; i++)
		if (all.v[i].session_id != NULL && agent_pid_file_is_alive(&all.v[i]))
			held[n++] = all.v[i].session_id;
	path = locate_new(format, config_dir, a->cwd, a->times[PHASE_RESPAWNED], held, n);
	free(held);
	agent_pid_files_release(&all);
	return path;
}

/* The process that the attempt had started; a pid is used again. */
static bool
still_runs(const struct attempt *a)
{
	int64_t began = a->new_pid > 0 ? proc_began_ms((pid_t)a->new_pid) : 0;

	if (attempt_is_contained(a) || (a->new_pid > 0 && proc_life((pid_t)a->new_pid, 0) == LIFE_UNKNOWN))
		return true;
	return began != 0 && began >= a->times[PHASE_RESPAWNED] - SLACK_MS &&
	    (a->times[PHASE_DELIVERED] == 0 || began <= a->times[PHASE_DELIVERED] + SLACK_MS);
}

/*
 * In which it was told; where sessions are told apart by their names, in which it began untold.
 * Elsewhere that tells nothing of when, and may be another's.
 */
static void
set_conversation(
    const struct attempt *a, const struct snapshot *h, const struct profile *p, struct unsnapshotted *out)
{
	char *path = a->transcript != NULL ? xstrdup(a->transcript) : NULL;
	enum ack ack = ACK_NONE;

	if (path == NULL && h->config_dir != NULL)
		locate_ack(p->transcript, h->config_dir, a->cwd, a->id, a->times[PHASE_RESPAWNED], &ack,
		    &path);
	if (path == NULL && out->later && h->config_dir != NULL && a->cwd != NULL)
		path = find_newborn(p->transcript, h->config_dir, a);
	if (path != NULL)
		out->session_id =
		    locate_session_id(p->transcript, h->config_dir, path, a->times[PHASE_RESPAWNED]);
	if (out->session_id != NULL)
		out->parting = transcript_exit_kind(p->transcript, path);
	free(path);
}

void
detect_find_unsnapshotted(struct app *w, const struct snapshot *h, struct unsnapshotted *out)
{
	const struct profile *p = h->agent != NULL ? profile_find(w->profiles, h->agent) : NULL;
	struct store *store = app_store(w, false, NULL);
	struct attempt a;

	memset(out, 0, sizeof *out);
	out->parting = EXIT_UNKNOWN;
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
	out->server_pid = strcmp(a.class, detect_status_name(AGENT_MISSING)) != 0 ? a.server_pid : a.made_pid;
	out->server_start =
	    strcmp(a.class, detect_status_name(AGENT_MISSING)) != 0 ? a.server_start : a.made_start;
	set_conversation(&a, h, p, out);
	out->lives = still_runs(&a) ||
	    (out->session_id != NULL && h->config_dir != NULL &&
		transcript_in_use(p, h->config_dir, out->session_id));
	attempt_release(&a);
}

void
detect_release_unsnapshotted(struct unsnapshotted *u)
{
	free(u->id);
	free(u->session_id);
	memset(u, 0, sizeof *u);
}
