#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recover/recover_private.h"
#include "detect/detect.h"
#include "app/app.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/spawn.h"
#include "config/config.h"
#include "gastown/gastown.h"

#define SPAWNING_MS ((int64_t)5 * 60 * 1000)
#define QUIET_MS 60000

struct guard_input {
	struct app *w;
	const struct candidate *c;
	const struct bead *bead;
	bool include_infra;
};

static bool
is_live(const struct guard_input *q)
{
	return q->c->status == AGENT_LIVE;
}

static bool
is_unknown(const struct guard_input *q)
{
	return q->c->status == AGENT_UNKNOWN;
}

static bool
is_own_pane(const struct guard_input *q)
{
	return q->c->status == AGENT_UNKNOWN && q->c->own_pane;
}

static bool
is_remote(const struct guard_input *q)
{
	return q->c->status == AGENT_REMOTE;
}

static bool
is_here(const struct guard_input *q)
{
	return detect_status_has_shell(q->c->status) && q->c->own_pane;
}

static bool
is_empty_shell(const struct guard_input *q)
{
	return q->c->status == AGENT_UNKNOWN && q->c->empty_shell;
}

static bool
is_off(const struct guard_input *q)
{
	return config_session_off(q->w->config, q->c->pane.session);
}

static bool
is_infra(const struct guard_input *q)
{
	return role_is_infra(q->c->role.kind) && !q->include_infra &&
	    !config_flag(q->w->config, "include_infra");
}

static bool
is_quarantined(const struct guard_input *q)
{
	return recovery_is_quarantined(q->w, q->c);
}

static bool
is_recorded(const struct guard_input *q)
{
	return q->c->record != NULL;
}

static bool
is_given_up(const struct guard_input *q)
{
	return q->c->given_up;
}

/* Left by a person or killed, its shell tells nothing of it. */
static bool
is_left_viewer(const struct guard_input *q)
{
	return q->c->viewer && q->c->status == AGENT_ZOMBIE;
}

static bool
is_elsewhere(const struct guard_input *q)
{
	return detect_status_crashed(q->c->status) && q->c->status != AGENT_RESPAWNED &&
	    recovery_runs_elsewhere(q->w, q->c);
}

static bool
is_other_hosts(const struct guard_input *q)
{
	return detect_status_crashed(q->c->status) && q->c->status != AGENT_RESPAWNED &&
	    recovery_on_other_host(q->w, q->c);
}

static bool
is_limited(const struct guard_input *q)
{
	return q->c->reason == REASON_LIMIT;
}

static bool
is_stopped(const struct guard_input *q)
{
	return q->c->reason == REASON_STOPPED;
}

/* A clock that was set back by more than the minute is no age. */
int64_t
recovery_quiet_in(int64_t typed)
{
	int64_t quiet = fault_wait_ms("GT_QUIET_MS", QUIET_MS), age = clock_wall_ms() - typed * 1000;

	return typed != 0 && age < quiet && age > -quiet ? quiet - age : 0;
}

bool
recovery_is_typing(const struct candidate *c, int64_t typed)
{
	return !c->own_pane && (detect_status_has_shell(c->status) || c->status == AGENT_RESPAWNED) &&
	    recovery_quiet_in(typed) > 0;
}

static bool
is_typing(const struct guard_input *q)
{
	return recovery_is_typing(q->c, q->c->pane.typed);
}

static bool
has_draft(const struct guard_input *q)
{
	return q->c->draft;
}

static bool
is_weak(const struct guard_input *q)
{
	return q->c->low_confidence;
}

static bool
is_by_place(const struct guard_input *q)
{
	return q->c->by_place;
}

bool
recovery_uses_gt(const struct app *w, const struct candidate *c)
{
	return c->status == AGENT_MISSING && town_root(w->town) != NULL &&
	    c->role.kind == TOWN_ROLE_POLECAT && *c->role.rig != '\0' &&
	    town_rig(w->town, c->role.rig) != NULL && spawn_in_path("gt", getenv("PATH"));
}

static bool
needs_secret(const struct guard_input *q)
{
	return q->c->missing_secret != NULL && !recovery_uses_gt(q->w, q->c);
}

static bool
has_no_command(const struct guard_input *q)
{
	return q->c->status != AGENT_RESPAWNED && !recovery_uses_gt(q->w, q->c) &&
	    (q->c->launch.command == NULL || launch_is_shell(&q->c->launch));
}

/* By us, with a command that can have the prompt for its agent alone. */
static bool
is_fed(const struct app *w, const struct candidate *c)
{
	return c->status != AGENT_RESPAWNED && !recovery_uses_gt(w, c) && launch_can_take_prompt(&c->launch);
}

static bool
is_open(const struct app *w, const struct candidate *c, enum deliver way)
{
	char *command;
	bool clear;

	if (way == DELIVER_PASTE)
		return c->profile->ready != NULL;
	if (!is_fed(w, c) || (way == DELIVER_FILE && *c->profile->file_flag == '\0'))
		return false;
	command = launch_with_prompt(&c->launch, c->profile, way, false);
	clear = command != NULL;
	if (clear)
		explicit_bzero(command, strlen(command));
	free(command);
	return clear;
}

bool
recovery_choose_delivery(const struct app *w, const struct candidate *c, enum deliver *out)
{
	const struct profile *p = c->profile;

	for (size_t i = 0; i < p->n_deliver; i++)
		if (p->deliver[i] != DELIVER_ARGUMENT && is_open(w, c, p->deliver[i])) {
			*out = p->deliver[i];
			return true;
		}
	*out = DELIVER_ARGUMENT;
	return profile_delivers(p, DELIVER_ARGUMENT) && is_open(w, c, DELIVER_ARGUMENT);
}

bool
recovery_can_deliver(const struct app *w, const struct candidate *c)
{
	const struct profile *p = c->profile;

	/* the wrapper needs a shell that it knows for a paste, too */
	return is_fed(w, c) && profile_delivers(p, p->resume_deliver) &&
	    (p->resume_deliver != DELIVER_PASTE || p->ready != NULL) &&
	    (p->resume_deliver != DELIVER_FILE || *p->file_flag != '\0');
}

/* Nothing may be started that could not be told its context then. */
static bool
has_no_way_in(const struct guard_input *q)
{
	enum deliver way;

	return !recovery_choose_delivery(q->w, q->c, &way);
}

/* Where it would be started; "": nobody knows. NULL: tmux knows, and does not tell. */
static const char *
start_place(const struct candidate *c)
{
	if (c->status != AGENT_DEAD || *c->pane.start_path == '\0')
		return c->cwd;
	return c->pane.start_guessed ? NULL : c->pane.start_path;
}

static bool
has_no_place(const struct guard_input *q)
{
	const char *dir = q->c->status != AGENT_RESPAWNED ? start_place(q->c) : NULL;
	struct stat st;

	return dir != NULL && *dir != '\0' && stat(dir, &st) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

static bool
has_unknown_place(const struct guard_input *q)
{
	const char *dir = q->c->status != AGENT_RESPAWNED ? start_place(q->c) : NULL;

	return dir != NULL && *dir == '\0';
}

static bool
is_halted(const struct guard_input *q)
{
	return town_halted(q->w->town, &q->c->role) != TOWN_RUNS;
}

static bool
is_parked(const struct guard_input *q)
{
	const struct town_role *role = &q->c->role;

	return role->kind != TOWN_ROLE_CREW && role->rig[0] != '\0' &&
	    (town_rig_parked(q->w->town, role->rig) || (q->bead != NULL && q->bead->rig_stopped));
}

static bool
is_claimed(const struct guard_input *q)
{
	return town_polecat_locked(q->w->town, &q->c->role);
}

static bool
agent_is(const struct guard_input *q, const char *state)
{
	return q->c->role.kind == TOWN_ROLE_POLECAT && q->bead != NULL && q->bead->agent_state != NULL &&
	    strcmp(q->bead->agent_state, state) == 0;
}

/* gt takes a polecat that stays in this state for longer than that for one that did not come up. */
static bool
is_starting(const struct guard_input *q)
{
	int64_t age = q->bead != NULL ? clock_wall_ms() - q->bead->agent_since : 0;

	return agent_is(q, "spawning") && age >= 0 && age < SPAWNING_MS;
}

static bool
is_waiting(const struct guard_input *q)
{
	return agent_is(q, "stuck") || agent_is(q, "awaiting-gate");
}

static bool
has_work(const struct guard_input *q)
{
	return q->bead != NULL && q->bead->id != NULL && !q->bead->closed && q->bead->status != NULL &&
	    (strcasecmp(q->bead->status, "hooked") == 0 || strcasecmp(q->bead->status, "in_progress") == 0);
}

/*
 * What the session itself last said to gt: it was in gt done. A beat of an earlier session of
 * that name tells nothing, and one that says "idle" nothing against work on the hook.
 */
static bool
has_finished(const struct guard_input *q)
{
	const struct pane *p = &q->c->pane;
	struct heartbeat h;

	if (agent_is(q, "done") || agent_is(q, "nuked"))
		return true;
	if (agent_is(q, "idle") && !has_work(q))
		return true;
	if (q->c->role.kind != TOWN_ROLE_POLECAT || p->session == NULL ||
	    !heartbeat_read(q->w->town, p->session, &h) || h.at < p->session_created * 1000)
		return false;
	return strcmp(h.state, "exiting") == 0 ||
	    (strcmp(h.state, "idle") == 0 && q->bead != NULL && !has_work(q));
}

static bool
is_done_teammate(const struct guard_input *q)
{
	return detect_status_crashed(q->c->status) && recovery_membership(q->c) == MEMBER_DONE;
}

static bool
is_closed(const struct guard_input *q)
{
	bool over = q->c->status == AGENT_MISSING && q->c->role.kind == TOWN_ROLE_POLECAT &&
	    q->bead != NULL && q->bead->id == NULL && q->bead->last_closed != NULL;

	/* gt takes a polecat's session away when its work is done */
	return over || (q->bead != NULL && q->bead->closed);
}

/* NULL: it is this user's, or the agent has no server that is looked at. */
static const char *
as_owner(const struct guard_input *q)
{
	for (size_t i = 0; i < q->w->n_servers; i++)
		if (q->c->pane.socket != NULL && strcmp(q->w->servers[i].socket, q->c->pane.socket) == 0)
			return q->w->servers[i].as_owner;
	return NULL;
}

static bool
is_other_users(const struct guard_input *q)
{
	return as_owner(q) != NULL;
}

/* In the order in which a person wants to hear them. */
static const struct {
	const char *name;
	bool (*stands)(const struct guard_input *q);
	bool consent;		/* naming the session lifts it */
	const char *sentence, *hint;
} guards[] = {
	{ "live", is_live, false, "its agent is alive", "to attach to it: tmux attach; to restart it: "
	    "gt-recover restart SESSION" },
	{ "remote", is_remote, false, "its agent runs behind ssh or in a container", "run gt-recover there" },
	{ "unknown", is_own_pane, false, "gt-recover itself runs in this pane",
	    "run gt-recover from another pane" },
	{ "unknown", is_empty_shell, false, "cannot tell whether the agent is dead",
	    "check the pane; to recover it anyway: gt-recover --force SESSION" },
	{ "unknown", is_unknown, false, "cannot tell whether the agent is dead",
	    "check the pane; an unknown agent counts as alive" },
	{ "other-user", is_other_users, false,
	    "its tmux server belongs to another user, and root would start the agent as root", "" },
	{ "off", is_off, false, "recovery is switched off for this session",
	    "remove it from [recovery.sessions] in gt.toml" },
	{ "halted", is_halted, false, "Gas Town is stopped or shutting down (ESTOP or shutdown.lock)",
	    "start it again first" },
	{ "parked", is_parked, false, "its rig is parked or docked",
	    "gt rig unpark RIG, or gt rig undock RIG, first" },
	{ "claimed", is_claimed, false, "Gas Town is working on this polecat (its lock is held)",
	    "try again when gt is finished" },
	{ "starting", is_starting, false, "Gas Town is starting this polecat",
	    "try again in five minutes, if it did not start" },
	{ "quarantined", is_quarantined, true,
	    "quarantined: max_attempts recoveries within attempt_window",
	    "find the cause of the crashes; to recover it now: gt-recover SESSION; for --all: gt-recover "
	    "records release SESSION" },
	{ "other-host", is_other_hosts, false, "its agent was resumed on another host",
	    "gt-recover list --fleet shows it; to move it here: records session suspend there, then "
	    "records session restore here" },
	{ "recorded", is_recorded, true, "only its record is left; it may be suspended on purpose",
	    "to recover it: gt-recover SESSION; with auto_recover reconcile does so after a reboot" },
	{ "elsewhere", is_elsewhere, true, "its session is recorded with another living process",
	    "gt-recover records session list shows it; to recover it here anyway: gt-recover SESSION" },
	{ "given-up", is_given_up, true, "its background service gave up",
	    "claude logs ID shows its last output; to restart it: gt-recover SESSION" },
	{ "viewer", is_left_viewer, true, "it only showed background sessions, and may have been closed "
	    "on purpose",
	    "to restart the viewer: gt-recover SESSION" },
	{ "infra", is_infra, true, "it belongs to Gas Town's infrastructure or crew",
	    "to recover it: gt-recover SESSION, or --include-infra" },
	{ "stopped", is_stopped, true, "its agent was ended on purpose",
	    "to recover it anyway: gt-recover SESSION" },
	{ "finished", has_finished, true,
	    "Gas Town reports that its agent finished (done, nuked, idle or exiting)",
	    "to recover it anyway: gt-recover SESSION" },
	{ "finished", is_done_teammate, true, "its team reports it as idle: the teammate finished",
	    "to recover it anyway: gt-recover SESSION" },
	{ "waiting", is_waiting, true,
	    "its agent waited for help or for a gate (stuck, awaiting-gate)",
	    "resolve that, or recover it now: gt-recover SESSION" },
	{ "limit", is_limited, true, "its last screen shows a usage limit or a login problem",
	    "when the limit has ended or the login works: gt-recover SESSION" },
	{ "ambiguous", is_by_place, true, "its directory is the only evidence of an agent",
	    "to choose its conversation: gt-recover SESSION" },
	{ "unsure", is_weak, true, "weak evidence of a crash",
	    "to recover it anyway: gt-recover SESSION" },
	{ "needs-secret", needs_secret, false, "its start command held a secret",
	    "set that variable in the environment of gt-recover, or command in [recovery.agents.NAME] of "
	    "gt.toml" },
	{ "no-command", has_no_command, false, "start command unknown",
	    "set command in [recovery.agents.NAME] of gt.toml" },
	{ "no-way-in", has_no_way_in, false,
	    "its agent has no known ready state for a paste, and its start command takes no prompt",
	    "set in [recovery.agents.NAME] of gt.toml: command, or ready, a pattern of its input box" },
	{ "no-place", has_no_place, false, "its working directory no longer exists",
	    "create it first: tmux would start the agent in the home directory" },
	{ "unknown-place", has_unknown_place, false, "its working directory is unknown",
	    "start it there by hand: tmux would start the agent in the home directory" },
	{ "closed-work", is_closed, false, "its work is closed",
	    "reopen the bead, or give the agent new work" },
	{ "own-pane", is_here, true, "gt-recover itself runs in this pane",
	    "to recover it in this shell: gt-recover SESSION; or run gt-recover from another pane" },
	/* these pass with time: a reason that lasts is not waited for */
	{ PLAN_TYPING, is_typing, true, "someone typed in its pane less than a minute ago",
	    "--all and reconcile retry a minute after the last key; to recover it now: gt-recover SESSION" },
	{ PLAN_TYPING, has_draft, true, "its input box holds an unsent draft",
	    "submit or clear the draft; or gt-recover SESSION: the prompt is sent when the box is empty" },
};

static struct refusal
refusal_of(bool (*stands)(const struct guard_input *q))
{
	for (size_t i = 0; i < sizeof guards / sizeof guards[0]; i++)
		if (guards[i].stands == stands)
			return (struct refusal){ guards[i].name, guards[i].sentence, guards[i].hint };
	return (struct refusal){ NULL, NULL, NULL };
}

struct refusal
recovery_typing(void)
{
	return refusal_of(is_typing);
}

struct refusal
recovery_refusal(
    struct app *w, const struct candidate *c, const struct bead *bead, bool named, bool include_infra)
{
	struct guard_input q = { w, c, bead, include_infra };

	for (size_t i = 0; i < sizeof guards / sizeof guards[0]; i++)
		if (!(named && guards[i].consent) && guards[i].stands(&q))
			return (struct refusal){ guards[i].name,
				guards[i].stands == needs_secret ? c->missing_secret : guards[i].sentence,
				guards[i].stands == is_other_users  ? as_owner(&q)
				    : guards[i].stands == is_remote ? c->remote_hint
								    : guards[i].hint };
	return (struct refusal){ NULL, NULL, NULL };
}

struct refusal
recovery_refusal_gathered(const struct recovery *r)
{
	struct refusal no = recovery_refusal(r->w, r->c, &r->gathered.bead, r->named, r->include_infra);

	if (no.name != NULL || r->named)
		return no;
	/* of a screen that only a snapshot remembers nobody has asked before */
	if (r->gathered.conversation.limit && r->c->snapshot != NULL)
		return refusal_of(is_limited);
	if (r->gathered.idle && recovery_membership(r->c) == MEMBER_UNLISTED)
		return (struct refusal){ "finished",
			"the teammate had finished its last turn, and its team is gone",
			refusal_of(is_done_teammate).hint };
	return no;
}
