#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "detect/detect_private.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/fault.h"
#include "base/timestamp.h"
#include "process/proc.h"
#include "records/agents/agents.h"
#include "records/hooks/hooks.h"
#include "records/recovery/recovery.h"
#include "transcript/transcript.h"

/* Did its hooks report that a person ended it? */
static bool
hooks_saw_exit(struct store *s, const char *conversation)
{
	struct activity a;
	bool ended;

	if (conversation == NULL || activity_load(s, conversation, &a, NULL) != 1)
		return false;
	ended = a.ended > 0;
	activity_release(&a);
	return ended;
}

bool
detect_seen_exited(struct app *w, struct store *s, const struct seen_agent *x)
{
	const struct profile *p = profile_find(w->profiles, x->agent);

	if (x->state != SEEN_ALIVE)
		return x->state == SEEN_EXITED;
	return hooks_saw_exit(s, x->conversation) ||
	    (p != NULL && x->transcript != NULL &&
		transcript_exit_kind(p->transcript, x->transcript) == EXIT_CLEAN);
}

/*
 * An agent that gets SIGHUP or SIGTERM leaves with the same words as one that a person ends. Within
 * this time of the end of its server that is no exit.
 */
#define SERVER_EXIT_MS 10000

/* By its hooks a person's word ended it, not a signal. */
static bool
hooks_saw_person(struct store *s, const char *conversation)
{
	struct activity a;
	struct session x;
	bool ended;

	if (conversation == NULL || activity_load(s, conversation, &a, NULL) != 1)
		return false;
	ended = a.ended > 0 && a.agent_uuid != NULL && session_load(s, a.agent_uuid, &x, NULL) == 1;
	if (ended) {
		ended = x.state == SESSION_ENDED;
		session_release(&x);
	}
	activity_release(&a);
	return ended;
}

/* When a transcript got its agent's last word; ms since 1970, 0: it has none. */
static int64_t
left_at(const struct profile *p, const char *path)
{
	struct stat st;

	if (p == NULL || path == NULL || transcript_exit_kind(p->transcript, path) != EXIT_CLEAN ||
	    stat(path, &st) != 0)
		return 0;
	return (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
}

/* When a server that is gone was last seen alive, ms since 1970. */
static int64_t
server_seen_at(struct detection *d, struct store *s, const struct snapshot *h)
{
	struct seen_agent_list all = { .n = 0 };
	struct pane_states panes;
	int64_t last;

	snapshot_panes_of_server(&panes, d->snapshots.dir, h->socket, h->server_pid, h->server_start);
	last = panes.written;
	snapshot_panes_release(&panes);
	if (s != NULL)
		seen_agent_list(s, &all, NULL);
	for (size_t i = 0; i < all.n; i++)
		if (all.v[i].server_pid == h->server_pid && all.v[i].server_start == h->server_start &&
		    all.v[i].seen_at > last)
			last = all.v[i].seen_at;
	seen_agent_list_release(&all);
	return last;
}

bool
detect_left_before_server(struct detection *d, const struct snapshot *h, const struct profile *p)
{
	struct store *s = app_store(d->w, false, NULL);
	struct seen_agent x = { .version = 0 };
	bool seen =
	    s != NULL &&
	    seen_agent_load(s, h->socket, h->server_pid, h->server_start, h->pane, &x, NULL) == 1;
	const char *talk = seen && x.conversation != NULL ? x.conversation : h->session_id;
	int64_t left = seen && x.state == SEEN_EXITED
	    ? x.died_at
	    : left_at(p, seen && x.transcript != NULL ? x.transcript : h->transcript);
	bool before = (left != 0 &&
			  server_seen_at(d, s, h) - left >=
			      fault_wait_ms("GT_SERVER_EXIT_MS", SERVER_EXIT_MS)) ||
	    (s != NULL && !(seen && x.state == SEEN_DIED) && hooks_saw_person(s, talk));

	seen_agent_release(&x);
	return before;
}

/* Its process is gone for certain, or was never seen alive. */
static bool
has_ended(const struct seen_agent *x)
{
	struct timestamp now;

	timestamp_now(&now);
	return x->pid == 0 || proc_life_in((uint64_t)x->pid_ns, x->pid, x->pid_start, &now) == LIFE_GONE;
}

/*
 * The record of the agent that was in this pane; what it tells may be of another one by now.
 * respawned: the pane's process is of a recovery of that agent.
 */
static bool
is_of_pane(const struct seen_agent *x, const struct candidate *c, bool respawned)
{
	const struct agent_pid_file *note = &c->pid_record;

	if ((x->pane_pid != c->pane.pid && !respawned) ||
	    (x->remote == NULL && !has_ended(x)))
		return false;
	/* a newer agent that nobody saw alive has left its pid file for this very pane */
	return !(c->own_pid_record && note->session_id != NULL && note->pid != (pid_t)x->pid &&
	    (int64_t)note->start >= x->pid_start);
}

static void
set_pid_record(const struct seen_agent *x, struct candidate *c)
{
	struct agent_pid_file *note = &c->pid_record;

	if (x->conversation == NULL)
		return;
	c->own_pid_record = true;
	if (note->session_id != NULL && note->pid == (pid_t)x->pid)
		return;
	agent_pid_file_release(note);
	*note = (struct agent_pid_file){ .pid = (pid_t)x->pid,
		.start = (uint64_t)x->pid_start,
		.session_id = xstrdup(x->conversation),
		.cwd = xstrdup(x->cwd != NULL ? x->cwd : ""),
		.version = xstrdup(""),
		.status = xstrdup(""),
		.waiting_for = xstrdup(""),
		.tmux = xstrdup(""),
		.written = x->seen_at / 1000 };
}

/* The names in a text, parted by blanks. *n of them; heap. */
static char **
split_names(const char *text, size_t *n)
{
	struct town_list names = { .n = 0 };

	while (text != NULL && *text != '\0') {
		size_t len = strcspn(text, " ");

		if (len > 0)
			town_list_add(&names, xstrndup(text, len));
		text += len + strspn(text + len, " ");
	}
	*n = names.n;
	return names.v;
}

static void
set_command(struct detection *d, const struct seen_agent *x, struct candidate *c)
{
	struct snapshot as = SNAPSHOT_INIT;

	if (x->command == NULL ||
	    (c->launch.command != NULL && !launch_is_shell(&c->launch) &&
		(x->wrapper == 0 || c->launch.name == NULL ||
		    profile_by_program(d->w->profiles, c->launch.name) != NULL)))
		return;
	as.command = x->command;
	as.wrapper = (int)x->wrapper;
	as.secrets = split_names(x->redacted, &as.n_secrets);
	detect_set_command(d, &as, c);
	c->command_source = COMMAND_SEEN;
	free(c->program);
	c->program = detect_copy(x->program);
	for (size_t i = 0; i < as.n_secrets; i++)
		free(as.secrets[i]);
	free(as.secrets);
}

/* The pane showed nothing of an agent any more: a cleared screen, and its pid file is deleted. */
static void
set_status(struct detection *d, struct candidate *c)
{
	bool idle = !c->pane.dead && proc_list_waiting_shell(d->procs, c->pane.pid) != 0;

	c->own_pane = !c->pane.dead && !idle && proc_list_below(d->procs, getpid(), c->pane.pid);
	idle = idle || (c->own_pane && proc_list_typed_here(d->procs, c->pane.pid));
	c->status = c->pane.dead ? AGENT_DEAD : idle ? AGENT_ZOMBIE : AGENT_UNKNOWN;
	c->reason = c->status == AGENT_ZOMBIE ? REASON_PROCESS_DIED : REASON_NONE;
	c->unsettled = c->status == AGENT_UNKNOWN && !c->own_pane;
	c->unknown_reason = c->own_pane ? "gt-recover itself runs in this pane"
	    : c->status == AGENT_UNKNOWN ? "no agent process, but the pane's shell is busy"
					 : "";
	if (c->status == AGENT_DEAD)
		detect_set_crash_reason(d->w, c);
}

static enum claim_answer
explain_known(struct detection *d, struct store *s, const struct seen_agent *x,
    const struct pane_claim *pane, struct candidate *c)
{
	const struct profile *p = profile_find(d->w->profiles, x->agent);
	bool exited = detect_seen_exited(d->w, s, x);

	/* it was never here: its connection is what ended */
	if (p != NULL && x->remote != NULL && c->status != AGENT_REMOTE) {
		if (!pane->shows_agent && !c->pane.dead)
			return CLAIM_NO_AGENT;
		c->profile = p;
		c->status = AGENT_REMOTE;
		c->reason = REASON_NONE;
		c->remote = xstrdup(x->remote);
		c->remote_hint = xstrdup(x->remote_hint != NULL ? x->remote_hint : "");
		return CLAIM_AGENT;
	}
	if (c->status == AGENT_REMOTE && (x->remote != NULL || !pane->by_screen))
		return CLAIM_OPEN;
	/* one that a person ended is no news once nothing shows it any more */
	if (p == NULL || (exited && !pane->judged))
		return CLAIM_OPEN;
	c->profile = p;
	/* what stands on its screen is this one's: the connection is another matter */
	if (!pane->judged || c->empty_shell || c->status == AGENT_REMOTE)
		set_status(d, c);
	c->low_confidence = false;
	set_pid_record(x, c);
	if (x->config_dir != NULL) {
		free(c->config_dir);
		c->config_dir = xstrdup(x->config_dir);
	}
	if (x->cwd != NULL) {
		free(c->cwd);
		c->cwd = xstrdup(x->cwd);
	}
	if (x->died_at != 0)
		c->crashed_at = x->died_at;
	else if (c->crashed_at == 0)
		c->crashed_at = c->pane.activity * 1000;
	if (exited)
		c->reason = REASON_STOPPED;
	set_command(d, x, c);
	return CLAIM_AGENT;
}

/*
 * The newest recovery of this pane, if the agent that it started here ended before it took its
 * prompt up. The shell that is left shows nothing of it, and its process is another than the one
 * that the agent before it was seen in.
 */
static bool
find_failed_start(struct store *s, const struct pane *p, struct attempt *out)
{
	struct attempt a;

	if (attempt_latest(s, p->socket_path, p->server_pid, p->server_start, p->id, &a, NULL) != 1)
		return false;
	if (a.phase != PHASE_FAILED || a.times[PHASE_RESPAWNED] == 0 ||
	    !(a.in_shell || attempt_started(p, a.id))) {
		attempt_release(&a);
		return false;
	}
	*out = a;
	return true;
}

/* Only the recovery tells of it. */
static enum claim_answer
explain_failed_start(
    struct detection *d, const struct attempt *a, const struct pane_claim *pane, struct candidate *c)
{
	const struct profile *p = a->agent != NULL ? profile_find(d->w->profiles, a->agent) : NULL;

	if (p == NULL || (pane->judged && !c->empty_shell))
		return CLAIM_OPEN;
	c->profile = p;
	set_status(d, c);
	c->low_confidence = true;
	if (a->cwd != NULL) {
		free(c->cwd);
		c->cwd = xstrdup(a->cwd);
	}
	c->crashed_at = a->times[PHASE_FAILED];
	return CLAIM_AGENT;
}

char *
detect_folder_of(const char *transcript)
{
	char *dir = transcript != NULL ? xstrdup(transcript) : NULL, *end;

	for (int i = 0; dir != NULL && i < 3; i++) {
		end = strrchr(dir, '/');
		if (end == NULL || (i == 2 && strcmp(end, "/projects") != 0)) {
			free(dir);
			return NULL;
		}
		*end = '\0';
	}
	return dir;
}

static void
add_activity(struct store *s, struct seen_agent *x)
{
	struct activity a;

	if (x->conversation == NULL || activity_load(s, x->conversation, &a, NULL) != 1)
		return;
	x->transcript = detect_copy(a.transcript);
	x->config_dir = detect_folder_of(a.transcript);
	x->seen_at = a.at.wall_ms;
	activity_release(&a);
}

/* What its hooks reported of the last agent in a pane, as if it had been seen there. False: nothing. */
static bool
reported_by_hooks(struct store *s, const struct pane *p, struct seen_agent *x)
{
	struct session reported;
	struct timestamp now;

	timestamp_now(&now);
	if (activity_in_place(s, p->server_pid, p->id, &reported, NULL) != 1)
		return false;
	*x = (struct seen_agent){ .state = reported.state == SESSION_ENDED ? SEEN_EXITED : SEEN_ALIVE,
		.agent = detect_copy(reported.provider_name),
		.command = detect_copy(reported.start_command),
		.cwd = detect_copy(reported.workspace_path),
		.conversation = detect_copy(reported.cursor_session_id),
		.server_pid = p->server_pid,
		.server_start = p->server_start,
		.pane_pid = p->pid,
		.pid = reported.pid,
		.pid_start = reported.pid_start,
		.pid_ns = (int64_t)reported.pid_ns };
	add_activity(s, x);
	if (x->agent == NULL || reported.pid == 0 || strcmp(reported.boot_id, now.boot_id) != 0 ||
	    (!p->dead && (int64_t)proc_ticks(p->pid) > reported.pid_start)) {
		seen_agent_release(x);
		memset(x, 0, sizeof *x);
	}
	session_release(&reported);
	return x->agent != NULL;
}

/* The recovery that started what runs, or last ran, in the pane. */
static bool
started_by_recovery(struct store *s, const struct pane *p, struct attempt *out)
{
	char id[21];

	if (attempt_id_of_pane(p, id))
		return attempt_load(s, id, out, NULL) == 1;
	if (attempt_latest(s, p->socket_path, p->server_pid, p->server_start, p->id, out, NULL) != 1)
		return false;
	if (out->in_shell)
		return true;
	attempt_release(out);
	return false;
}

/*
 * Does that recovery know of the agent that was last in the pane? Anybody's respawn of a pane runs the
 * same start command again: the process has to be the one of the recovery, or to have ended before the
 * proof was noted. What was seen or reported since then is newer.
 */
static bool
recovery_tells(const struct attempt *a, const struct pane *p, const struct seen_agent *x)
{
	int64_t began = a->times[PHASE_RESPAWNED];
	bool newer = x->conversation != NULL && x->pane_pid == p->pid &&
	    (!a->in_shell || x->seen_at >= began || x->died_at >= began);

	if (a->phase != PHASE_ACKNOWLEDGED || a->transcript == NULL || newer)
		return false;
	return a->in_shell || p->pid == (pid_t)a->new_pid ||
	    (a->new_pid == 0 && p->dead && p->dead_time * 1000 <= a->times[PHASE_ACKNOWLEDGED]);
}

/*
 * By its proof a recovery knows the conversation of the agent that it started, though nobody may have
 * seen that alive: it can be dead within the second. x: what was seen (zeros: nothing), which then tells
 * of this agent. False: x is as it was.
 */
static bool
told_by_recovery(
    const struct detection *d, struct store *s, const struct candidate *c, struct seen_agent *x)
{
	const struct pane *p = &c->pane;
	const struct profile *profile;
	struct attempt a;
	char *talk = NULL;
	bool told;

	if (!started_by_recovery(s, p, &a))
		return false;
	profile = a.agent != NULL ? profile_find(d->w->profiles, a.agent) : NULL;
	if (profile != NULL && c->config_dir != NULL && recovery_tells(&a, p, x))
		talk = locate_session_id(
		    profile->transcript, c->config_dir, a.transcript, a.times[PHASE_RESPAWNED]);
	told = talk != NULL;
	if (told) {
		record_set(&x->agent, a.agent);
		record_set(&x->conversation, talk);
		record_set(&x->transcript, a.transcript);
		record_set(&x->cwd, a.cwd);
		x->state = SEEN_ALIVE;
		x->pane_pid = p->pid;
		x->pid = a.new_pid;
		x->pid_start = 0;
		x->pid_ns = a.pid_ns;
		x->seen_at = a.times[PHASE_ACKNOWLEDGED];
		x->died_at = 0;
	}
	free(talk);
	attempt_release(&a);
	return told;
}

/* The newer of what was seen in the pane and what hooks reported of it. False: neither. */
static bool
last_seen(struct store *s, const struct pane *p, struct seen_agent *x)
{
	bool seen =
	    seen_agent_load(s, p->socket_path, p->server_pid, p->server_start, p->id, x, NULL) == 1;
	struct seen_agent reported;

	if (!reported_by_hooks(s, p, &reported))
		return seen;
	if (seen && x->pane_pid == p->pid && x->conversation != NULL &&
	    (x->pid_start > reported.pid_start || (x->pid == reported.pid && x->command != NULL))) {
		seen_agent_release(&reported);
		return true;
	}
	/* only its end was seen */
	if (seen && x->pane_pid == p->pid && (x->pid == reported.pid || x->died_at >= reported.seen_at)) {
		reported.died_at = x->died_at;
		reported.state = x->state != SEEN_ALIVE ? x->state : reported.state;
	}
	if (seen)
		seen_agent_release(x);
	*x = reported;
	return true;
}

static enum claim_answer
explain_seen(struct detection *d, struct claim *claim, struct candidate *c)
{
	struct pane_claim *pane = claim->about;
	struct store *s =
	    (c->agent_pid == 0 || pane->by_screen) && c->status != AGENT_RESTORED
	    ? app_store(d->w, false, NULL) : NULL;
	enum claim_answer answer = CLAIM_OPEN;
	const struct pane *p = &c->pane;
	struct seen_agent x = { .version = 0 };
	struct attempt a;
	bool seen, failed;

	if (s == NULL)
		return CLAIM_OPEN;
	seen = last_seen(s, p, &x);
	seen = told_by_recovery(d, s, c, &x) || seen;
	failed = find_failed_start(s, p, &a);
	if (seen && is_of_pane(&x, c, failed))
		answer = explain_known(d, s, &x, pane, c);
	else if (failed)
		answer = explain_failed_start(d, &a, pane, c);
	pane->named = pane->named || (answer == CLAIM_AGENT && seen && x.config_dir != NULL);
	if (failed)
		attempt_release(&a);
	seen_agent_release(&x);
	return answer;
}

const struct agent_source detect_from_seen = {
	.name = "seen", .bit = FROM_SEEN, .adds_to = FROM_PANES, .explain = explain_seen,
};
