#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recover/recover_private.h"
#include "app/app.h"
#include "workspace/workspace.h"
#include "base/io.h"
#include "base/spawn.h"
#include "config/config.h"
#include "detect/detect.h"
#include "recover/shell/start.h"
#include "recover/upkeep/upkeep.h"
#include "scrub/scrub.h"
#include "snapshot/pass/pass.h"

int
recovery_finish_acked(struct app *w, struct attempt *a, struct err *e)
{
	a->new_pid = recovery_started_inside(w, a);
	if (attempt_advance(w->store, a, PHASE_ACKNOWLEDGED, e) != 0)
		return -1;
	upkeep_tidy_prompt(w, a->id);
	if (a->in_shell && !w->dry)
		start_ticket_remove(w->state_dir, a->id);
	return 0;
}

int
recovery_finish_failed(struct app *w, struct attempt *a, const char *why, struct err *e)
{
	a->new_pid = recovery_started_inside(w, a);
	if (attempt_fail(w->store, a, why, e) != 0)
		return -1;
	upkeep_tidy_prompt(w, a->id);
	if (a->in_shell && !w->dry)
		start_ticket_remove(w->state_dir, a->id);
	return 0;
}

static void
look_for_it(const struct app *w, const struct attempt *a, const char *config_dir, enum ack *ack, char **path)
{
	const struct profile *p = a->agent != NULL ? profile_find(w->profiles, a->agent) : NULL;

	locate_ack(p != NULL ? p->transcript : TRANSCRIPT_DEFAULT, config_dir, a->cwd, a->id,
	    a->times[PHASE_RESPAWNED], ack, path);
}

int
recovery_finish_judged(
    struct app *w, struct attempt *a, const char *config_dir, const char *why, struct err *e)
{
	enum ack ack = ACK_NONE;
	char *path = NULL;
	int ret;

	if (config_dir != NULL && a->cwd != NULL && a->times[PHASE_RESPAWNED] != 0)
		look_for_it(w, a, config_dir, &ack, &path);
	if (ack == ACK_ANSWERED) {
		record_set(&a->proof, "transcript");
		record_set(&a->transcript, path);
		ret = recovery_finish_acked(w, a, e);
	} else {
		ret = recovery_finish_failed(w, a, why, e);
	}
	free(path);
	return ret;
}

static bool
of_class(const struct attempt *a, enum agent_status class)
{
	return a->class != NULL && strcmp(a->class, detect_status_name(class)) == 0;
}

/* An open attempt for a missing session that gt made: nothing of it stands in the new pane. */
static bool
made_by_gt(struct store *store, const struct pane *p, struct attempt *out)
{
	struct attempt_list open = { .n = 0 };
	bool found = false;

	if (attempt_list_open(store, &open, NULL) == 0)
		for (size_t i = 0; i < open.n && !found; i++) {
			struct attempt *a = &open.v[i];

			found = a->phase >= PHASE_RESPAWNED && of_class(a, AGENT_MISSING) &&
			    strcmp(a->session, p->session) == 0 && strcmp(a->socket, p->socket_path) == 0;
			if (found) {
				*out = *a;
				attempt_init(a);
			}
		}
	attempt_list_release(&open);
	return found;
}

/* The newest attempt of a pane, or the one that made it. As attempt_latest. */
static int
newest_attempt(struct store *store, const struct candidate *c, struct attempt *out, struct err *e)
{
	const struct pane *p = &c->pane;
	int found = attempt_latest(store, p->socket_path, p->server_pid, p->server_start, p->id, out, e);
	char id[21];

	if (found == 0 && detect_status_has_pane(c->status) && attempt_id_of_pane(p, id))
		found = attempt_load(store, id, out, e);
	if (found == 0 && (c->status == AGENT_LIVE || c->status == AGENT_RESPAWNED))
		found = made_by_gt(store, p, out);
	return found;
}

/* Is it the agent that the attempt started, or meant? */
static bool
is_its_pane(const struct app *w, const struct attempt *a, const struct candidate *c)
{
	return recovery_lives_inside(w, a) || attempt_started(&c->pane, a->id) ||
	    (of_class(a, AGENT_RESPAWNED) && a->pane_pid == c->pane.pid) ||
	    (of_class(a, AGENT_MISSING) && strcmp(a->session, c->pane.session) == 0);
}

/* A missing session's attempt goes on in the session that an earlier recoverer made. */
static int
find_made(struct recovery *r, const struct attempt *a, struct err *e)
{
	int found = a->phase < PHASE_RESPAWNED ? 0 : respawn_find_session(r->w, r->c, a->id, &r->born, e);

	if (found == 1) {
		r->pane = &r->born;
		r->taken_up = true;
	}
	return found < 0 ? -1 : 0;
}

/*
 * Another run was done with this very crash between our look and our lock. A session that is
 * there again, or a living pane, does not tell, nor that the agent, now dead, was told something
 * while it lived.
 */
static int
check_answered(const struct recovery *r, const struct attempt *a, struct err *e)
{
	/* what died was started after that */
	if (r->c->started_by != NULL && a->times[PHASE_RESPAWNED] < r->c->began)
		return 0;
	if (!detect_status_crashed(r->c->status) || a->phase != PHASE_ACKNOWLEDGED ||
	    a->pane_pid != recovery_crash_pid(r->w, r->c) || of_class(a, AGENT_RESPAWNED) ||
	    (r->c->recovered_by != NULL && strcmp(r->c->recovered_by, a->id) == 0))
		return 0;
	err_set(e, GT_AGAIN, "taken", "another gt-recover has just recovered it");
	return err_hint(e, "nothing was changed; gt-recover list shows the agent");
}

/*
 * A pane that is as it was shows that nothing was started in it. A session that is gone may have
 * been there and have gone again: its prompt, which the start consumes, tells.
 */
static bool
was_not_delivered(const struct recovery *r, const struct attempt *a)
{
	char *name, *path;
	bool there;

	if (r->c->status != AGENT_MISSING || a->phase < PHASE_RESPAWNED)
		return true;
	if (a->phase > PHASE_RESPAWNED || strcmp(a->delivery, "paste") == 0)
		return a->phase == PHASE_RESPAWNED && !a->pasted;
	name = xasprintf("%s.txt", a->id);
	path = app_path(r->w, "prompts", name, false, NULL);
	there = path != NULL && access(path, F_OK) == 0;
	free(path);
	free(name);
	return there;
}

/*
 * What an earlier recoverer left of this crash, the second step of a recovery, under its locks:
 * look first, never deliver twice. Three answers are 0: nothing is open; r->attempt is the
 * attempt that goes on under its id, since nobody was started or told yet; r->taken_up, its agent
 * is on its way (in r->born when a missing session was made again), and only the proof is waited
 * for. An attempt whose agent is dead again, or was started by somebody else, is closed. -1 with
 * err: GT_AGAIN "taken" (somebody else was done with it just now), or what the store says.
 */
static int
recovery_resume_attempt(struct recovery *r, struct err *e)
{
	struct attempt a;
	int found = newest_attempt(r->store, r->c, &a, e), ret = 0;

	if (found < 0)
		return -1;
	if (found == 0)
		return 0;
	if (attempt_phase_is_final(a.phase)) {
		ret = check_answered(r, &a, e);
	} else if (r->c->status == AGENT_REMOTE) {
		;
	} else if (r->c->status >= AGENT_RESPAWNED && a.phase >= PHASE_RESPAWNED &&
		   is_its_pane(r->w, &a, r->c)) {
		/* unknown: it may be on its way up */
		r->taken_up = true;
	} else if (r->c->status == AGENT_LIVE) {
		recovery_reset_option(r, &a);
		ret = recovery_finish_failed(r->w, &a, "another program started the agent", e);
	} else if (r->c->status == AGENT_UNKNOWN) {
		;
	} else if (r->c->status == AGENT_MISSING && find_made(r, &a, e) != 0) {
		ret = -1;
	} else if (a.pane_pid == recovery_crash_pid(r->w, r->c) && !r->taken_up && was_not_delivered(r, &a)) {
		/* nothing was started yet: the same attempt goes on, under the same id */
		r->begun = a.phase >= PHASE_RESPAWNED;
		attempt_release(&r->attempt);
		r->attempt = a;
		return 0;
	} else if (!r->taken_up) {
		a.was_dead = r->c->status == AGENT_DEAD && a.phase >= PHASE_RESPAWNED;
		ret = recovery_finish_judged(
		    r->w, &a, r->c->config_dir, "the agent crashed again before it acknowledged the "
		        "prompt", e);
		/* what died is what it had started, unless that is the crash before it */
		if (ret == 0 && (r->c->started_by == NULL || strcmp(r->c->started_by, a.id) != 0))
			ret = check_answered(r, &a, e);
	}
	if (r->taken_up) {
		attempt_release(&r->attempt);
		r->attempt = a;
		if (r->pane == &r->born) {
			r->attempt.made_pid = r->born.server_pid;
			r->attempt.made_start = r->born.server_start;
		}
		return 0;
	}
	/* its agent died with the option still set: it is ours to take back now */
	record_set(&r->attempt.remain_on_exit, a.remain_on_exit);
	attempt_release(&a);
	return ret;
}

bool
recovery_typed_since_start(const struct attempt *a, int64_t typed)
{
	/* tmux tells whole seconds. An agent that somebody else had started was there before the attempt. */
	int64_t since = of_class(a, AGENT_RESPAWNED) ? 0 : a->times[PHASE_RESPAWNED] / 1000;

	return typed > since && recovery_quiet_in(typed) > 0;
}

static bool
is_pending(const struct app *w, struct store *store, const struct candidate *c, bool *typing)
{
	struct err ignored = ERR_INIT;
	struct attempt a;
	bool pending;

	*typing = false;
	if (c->status < AGENT_RESPAWNED || c->status == AGENT_REMOTE ||
	    newest_attempt(store, c, &a, &ignored) != 1)
		return false;
	pending = !attempt_phase_is_final(a.phase) && a.phase >= PHASE_RESPAWNED && is_its_pane(w, &a, c);
	*typing = pending && a.phase < PHASE_DELIVERED && recovery_typed_since_start(&a, c->pane.typed);
	attempt_release(&a);
	return pending;
}

void
recovery_find_pending(struct app *w, const struct candidate_list *all, bool *pending, bool *typing)
{
	struct err ignored = ERR_INIT;
	struct store *store = app_store(w, false, &ignored);

	for (size_t i = 0; i < all->n; i++) {
		typing[i] = false;
		pending[i] = store != NULL && is_pending(w, store, &all->v[i], &typing[i]);
	}
}

#define MOST_ARGUMENT 131072	/* of one, with its end: the kernel's */

/* Takes over the path; NULL is a failure already told. */
static int
lock(struct recovery *r, int which, char *path, struct err *e)
{
	r->locks[which].path = path;
	r->locks[which].fd = path != NULL ? io_lock(path, 0, e) : -1;
	return r->locks[which].fd < 0 ? -1 : 0;
}

static int
lock_conversation(struct recovery *r, int which, const char *session_id, struct err *e)
{
	char *name = xasprintf("transcript-%s.lock", session_id);
	int ret = lock(r, which, app_path(r->w, "locks", name, true, e), e);

	free(name);
	return ret;
}

/* Step 1: this pane and this conversation are ours alone. The kernel gives the locks back when we die. */
static int
step_lock(struct recovery *r, struct err *e)
{
	const struct pane *p = &r->c->pane;
	const char *talk = candidate_noted_conversation(r->c);
	int ret = lock(r, LOCK_PANE, app_pane_lock(r->w, p->server_pid, p->server_start, p->id, e), e);
	const char *place = strrchr(p->place, ' ');
	int64_t start;
	char *id;
	pid_t pid;

	/* whoever knows it by another of its panes has the lock of the first one, too */
	place = place != NULL ? place + 1 : p->place;
	if (ret == 0 && pane_place_read(&place, &pid, &start, &id)) {
		ret = lock(r, LOCK_PLACE, app_pane_lock(r->w, pid, start, id, e), e);
		free(id);
	}
	if (ret == 0 && talk != NULL && strchr(talk, '/') == NULL)
		ret = lock_conversation(r, LOCK_RECORD, talk, e);
	if (ret != 0 && strcmp(e->name, "locked") == 0) {
		err_set(e, GT_AGAIN, "locked", "another gt-recover is recovering this session");
		err_hint(e, "wait for it; the timeouts in gt.toml limit its time");
	}
	if (ret == 0)
		r->store = app_store(r->w, true, e);
	return r->store != NULL ? ret : -1;
}

int
recovery_refuse(const struct refusal *no, struct err *e)
{
	err_set(e, GT_REFUSED, no->name, "refused: %s", no->sentence);
	return err_hint(e, "%s", no->hint);
}

static int
still_so(struct recovery *r, struct err *e)
{
	if (r->c->status == AGENT_MISSING)
		return respawn_check_gone(r->w, r->c, e);
	return detect_recheck(r->w, r->c, &r->typed, e);
}

/* As still_so, and nobody has begun to type there since. */
static int
still_quiet(struct recovery *r, struct err *e)
{
	struct refusal no = recovery_typing();

	if (still_so(r, e) != 0)
		return -1;
	return !r->named && recovery_is_typing(r->c, r->typed) ? recovery_refuse(&no, e) : 0;
}

/* Step 3: the guards that need nothing gathered, then one more look at the pane under the lock. */
static int
step_guard(struct recovery *r, struct err *e)
{
	struct refusal no = recovery_refusal(r->w, r->c, NULL, r->named, r->include_infra);

	if (r->taken_up)
		return 0;
	if (no.name != NULL)
		return recovery_refuse(&no, e);
	if (r->c->own_pane && recovery_check_here(r, e) != 0)
		return -1;
	if (r->c->own_pane)
		r->shell = getppid();
	else if (recovery_starts_inside(r) && (start_check_shell(r->w, &r->c->pane, &r->shell, e) != 0 ||
		     recovery_check_nested(r, e) != 0))
		return -1;
	return still_quiet(r, e);
}

static enum deliver
way_in(const struct recovery *r)
{
	enum deliver way;

	if (r->c->viewer)
		return DELIVER_PASTE;
	if (r->resumed)
		return r->c->profile->resume_deliver;
	return recovery_choose_delivery(r->w, r->c, &way) ? way : DELIVER_PASTE;
}

static void
fill(struct recovery *r)
{
	const struct candidate *c = r->c;
	struct attempt *a = &r->attempt;

	record_set(&a->session, c->pane.session);
	record_set(&a->socket, c->pane.socket_path);
	record_set(&a->pane_id, c->pane.id);
	record_set(&a->agent, c->profile->name);
	record_set(&a->class, detect_status_name(c->status));
	record_set(&a->reason, detect_reason_name(c->reason));
	record_set(&a->cwd, c->cwd);
	record_set(&a->via, r->words != NULL ? "restart"
		: c->viewer		     ? "viewer"
		: r->resumed		     ? "resume"
					     : "inject");
	record_set(&a->delivery, profile_deliver_name(way_in(r)));
	record_set(&a->previous, r->gathered.earlier.id);
	record_set(&a->source, r->gathered.found.path);
	a->server_pid = c->pane.server_pid;
	a->server_start = c->pane.server_start;
	a->pane_pid = recovery_crash_pid(r->w, c);
	a->in_shell = r->shell != 0;
	a->pane_dead_time = c->pane.dead_time;
	a->crashed_at = c->crashed_at;
	a->lines = (int64_t)r->gathered.capture.rows;
	a->tokens = (int64_t)r->gathered.stats.tokens;
}

/*
 * Another gt-recover may be at work on the conversation in another pane. What cannot be locked
 * counts as held, too.
 */
static bool
is_held(struct recovery *r)
{
	const char *id = r->gathered.found.session_id, *own = candidate_noted_conversation(r->c);

	return id != NULL && (own == NULL || strcmp(id, own) != 0) &&
	    lock_conversation(r, LOCK_FOUND, id, NULL) != 0;
}

static int
step_prompt_file(struct recovery *r, struct err *e)
{
	struct resume_request ask = { .via = r->via != NULL ? r->via : config_text(r->w->config, "via"),
		.recovery_id = r->attempt.id };
	int ret;

	ask.held = strcmp(ask.via, "inject") != 0 && is_held(r);
	ret = resume_prompt(r->w, r->c, &ask, &r->gathered, e);
	r->resumed = ask.resumed;
	r->not_resumed = ask.no;
	return ret;
}

/* Step 4: read everything; nothing is changed. */
static int
step_gather(struct recovery *r, struct err *e)
{
	struct refusal no;

	if (r->words != NULL)
		return r->words(r, e);
	if (gather(r->w, r->c, r->scope, &r->gathered, e) != 0)
		return -1;
	no = recovery_refusal_gathered(r);
	if (no.name != NULL)
		return recovery_refuse(&no, e);
	if (!r->c->viewer && (gather_check_doubt(&r->gathered, e) != 0 || step_prompt_file(r, e) != 0))
		return -1;
	/* reading took its time, and from here on there is an attempt that counts */
	return still_quiet(r, e);
}

/* What respawn_pane will overwrite. */
static int
note_option(struct recovery *r, struct err *e)
{
	const struct pane *p = &r->c->pane;

	if (r->c->status == AGENT_MISSING && !recovery_uses_gt(r->w, r->c))
		record_set(&r->attempt.remain_on_exit, "");
	if (!detect_status_has_shell(r->c->status) || r->shell != 0 || r->attempt.remain_on_exit != NULL ||
	    strcmp(p->remain_on_exit, "on") == 0)
		return 0;
	r->attempt.remain_on_exit = respawn_remain_option(app_server(r->w, p->socket), p, e);
	return r->attempt.remain_on_exit != NULL ? 0 : -1;
}

/* Step 5: on disk, before anything that can wipe the screen. */
static int
step_keep(struct recovery *r, struct err *e)
{
	fill(r);
	if (note_option(r, e) != 0)
		return -1;
	if (r->attempt.version == 0 && attempt_begin(r->store, &r->attempt, e) != 0)
		return -1;
	if (gather_save(r->w, r->c->pane.session, r->attempt.id, &r->gathered, e) != 0 ||
	    recovery_team_keep(r, e) != 0)
		return -1;
	if (r->attempt.phase < PHASE_CAPTURED &&
	    attempt_advance(r->store, &r->attempt, PHASE_CAPTURED, e) != 0)
		return -1;
	recovery_report(r, PROGRESS_CAPTURED);
	return 0;
}

/*
 * tmux got the command and did not answer: the agent may start yet, and must find its prompt
 * then. The next run looks.
 */
static bool
outcome_unknown(const struct err *e)
{
	return strcmp(e->name, "server-silent") == 0;
}

/* In the pane that is there, or in a new one. */
static int
start(struct recovery *r, const struct respawn *how, struct err *e)
{
	const struct candidate *c = r->c;
	int ret;

	if (r->shell != 0)
		return recovery_start_inside(r, how, e);

	if (c->status != AGENT_MISSING)
		return respawn_pane(app_server(r->w, c->pane.socket), &c->pane, how, e);
	ret = recovery_uses_gt(r->w, c) ? respawn_with_gt(r->w, c, &r->born, e)
				       : respawn_session(r->w, c, how, &r->born, e);
	if (ret == 0) {
		r->pane = &r->born;
		r->attempt.made_pid = r->born.server_pid;
		r->attempt.made_start = r->born.server_start;
	}
	return ret;
}

/*
 * The program proper in the place of an npm script, where the row wants that; a person's own
 * shell may find another. Takes fed over.
 */
static char *
without_script(const struct recovery *r, char *fed)
{
	const struct launch *l = &r->c->launch;
	char *path = launch_env(l, "PATH"), *program, *command = NULL;

	program = fed != NULL && !detect_status_has_shell(r->c->status)
	    ? launch_npm_binary(l, r->c->profile, path != NULL ? path : getenv("PATH"))
	    : NULL;
	if (program != NULL)
		command = launch_npm_command(l, fed, program);
	free(program);
	free(path);
	if (command == NULL)
		return fed;
	explicit_bzero(fed, strlen(fed));
	free(fed);
	return command;
}

/* The executable that it ran as, where its name leads nowhere any more. Takes fed over. */
static char *
with_program(const struct recovery *r, char *fed)
{
	const struct candidate *c = r->c;
	const char *name = c->launch.n_words > 0 ? c->launch.words[c->launch.program].text : "";
	char *path = launch_env(&c->launch, "PATH"), *command = NULL;

	if (r->shell == 0 && !spawn_in_path(name, path) && !spawn_in_path(name, pane_env(&c->pane, "PATH")) &&
	    !spawn_in_path(name, getenv("PATH")))
		command = recovery_by_program(c, fed);
	free(path);
	if (command == NULL)
		return fed;
	explicit_bzero(fed, strlen(fed));
	free(fed);
	return command;
}

/* Had the agent been told anything yet, its start command's own prompt then? */
static bool
has_begun(const struct gathered *g)
{
	bool begun = g->records > 0;

	for (size_t i = 0; i < g->conversation.n; i++)
		begun = begun || g->conversation.v[i].role != ROLE_SYSTEM;
	return begun;
}

/*
 * The command that hands the prompt over, or that leaves out what is not to be said again; NULL:
 * it is started as it is, and pasted to.
 */
static char *
feed(const struct recovery *r)
{
	if (r->resumed)
		return with_program(r,
		    without_script(r,
			launch_with_resume(
			    &r->c->launch, r->c->profile, r->gathered.found.session_id)));
	if (r->c->status == AGENT_RESPAWNED || r->c->viewer || recovery_uses_gt(r->w, r->c))
		return NULL;
	return with_program(r,
	    without_script(r,
		launch_with_prompt(&r->c->launch, r->c->profile, way_in(r), has_begun(&r->gathered))));
}

static int
check_size(const struct recovery *r, struct err *e)
{
	if (way_in(r) != DELIVER_ARGUMENT || r->gathered.prompt.len < MOST_ARGUMENT)
		return 0;
	err_set(e, GT_FAIL, "too-long", "its context is %zu bytes, and as an argument %s takes at most %d",
	    r->gathered.prompt.len, r->c->profile->label, MOST_ARGUMENT - 1);
	return err_hint(e,
	    "lower max_context_tokens in gt.toml, or set ready in [recovery.agents.%s], so that it can "
	    "be pasted",
	    r->c->profile->name);
}

/*
 * A pane's shell that goes when its agent does: with nothing between them tmux knows how the agent
 * died, and no shell writes over its screen. Takes fed over.
 */
static char *
in_place_of_shell(const struct recovery *r, char *fed)
{
	char *command;

	if (fed == NULL || r->c->launch.login || detect_status_has_shell(r->c->status))
		return fed;
	command = launch_with_checked_exec(&r->c->launch, fed);
	explicit_bzero(fed, strlen(fed));
	free(fed);
	return command;
}

/*
 * Step 6: the agent's own command again, with the prompt where its row takes it. One that lives
 * is told, not started.
 */
static int
step_respawn(struct recovery *r, struct err *e)
{
	const struct candidate *c = r->c;
	bool zombie = detect_status_has_shell(c->status);
	char *name = xasprintf("%s.txt", r->attempt.id), *claimed = NULL;
	size_t left_out;
	bool plain = c->status == AGENT_RESPAWNED || recovery_uses_gt(r->w, c);
	char *command =
	    plain ? xstrdup("") : launch_without_flags(&c->launch, c->profile->session_flags, &left_out);
	char *fed = in_place_of_shell(r, feed(r));
	struct respawn how = { .launch = &c->launch,
		.command = command,
		.fed = fed,
		.zombie = zombie,
		/* tmux starts it where the pane began, if it knows */
		.cwd = zombie || *c->pane.start_path == '\0' ? c->cwd : NULL };
	int ret = -1;

	recovery_report(r, PROGRESS_STARTING);
	if (check_size(r, e) != 0)
		goto out;
	r->prompt_path = app_path(r->w, "prompts", name, true, e);
	how.prompt_path = r->prompt_path;
	if (r->prompt_path == NULL)
		goto out;
	if (fed != NULL &&
	    io_write_durable(r->prompt_path, r->gathered.prompt.data, r->gathered.prompt.len, "prompt", e) !=
		0)
		goto out;
	if (recovery_claim_session(r, &claimed, e) == 0 && still_so(r, e) == 0)
		ret = c->status == AGENT_RESPAWNED ? 0 : start(r, &how, e);
	if (ret != 0 && !outcome_unknown(e))
		unlink(r->prompt_path);
	if (ret != 0 && claimed != NULL && !outcome_unknown(e))
		recovery_unclaim_session(r, claimed);
out:
	free(claimed);
	explicit_bzero(command, strlen(command));
	if (fed != NULL)
		explicit_bzero(fed, strlen(fed));
	free(command);
	free(fed);
	free(name);
	return ret;
}

/* Step 8: what nobody needs any more. */
static int
step_settle(struct recovery *r, struct err *e)
{
	struct snapshot_request ask = { .names = (const char *const[]){ r->pane->id }, .n = 1 };
	struct snapshot_pass run;

	(void)e;
	recovery_team_put_back(r, true);
	/* it may die again before the next pass of snapshots, and take its session with it */
	if (snapshot_pass(r->w, &ask, &run, NULL) == 0)
		snapshot_pass_release(&run);
	upkeep_tidy(r->w);
	return 0;
}

/*
 * The whole way. `fresh` steps are left out when an earlier recoverer had already started the
 * agent; from `kept` on a failure is written into the attempt.
 */
static const struct recovery_step {
	const char *name;
	int (*run)(struct recovery *r, struct err *e);
	bool fresh;
} steps[] = {
	{ "lock", step_lock, false },
	{ "look back", recovery_resume_attempt, false },
	{ "guard", step_guard, false },
	{ "gather", step_gather, true },
	{ "keep", step_keep, true },
	{ "respawn", step_respawn, true },
	{ "verify", recovery_wait_for_ack, false },
	{ "settle", step_settle, false },
};
static const struct recovery_step background_steps[] = {
	{ "lock", step_lock, false },
	{ "respawn", recovery_respawn_background, false },
};

/* A failure that the next run cannot do better by looking first ends the attempt. */
static void
close_after(struct recovery *r, const struct recovery_step *s, const struct err *e)
{
	bool before = s->run != recovery_wait_for_ack && s->run != step_settle && !r->taken_up;
	bool moved = strcmp(e->name, "changed") == 0 || strcmp(e->name, "taken") == 0;

	if (r->attempt.version == 0 || attempt_phase_is_final(r->attempt.phase) ||
	    strcmp(e->name, PLAN_TYPING) == 0)
		return;
	/* what moved may be what the earlier recoverer had started, late */
	if ((before && !outcome_unknown(e) && !(r->begun && moved)) || strcmp(e->name, "gone") == 0) {
		recovery_reset_option(r, &r->attempt);
		recovery_finish_failed(r->w, &r->attempt, e->msg, NULL);
	}
}

static int
take_steps(struct recovery *r, struct err *e)
{
	bool background = r->c->background != NULL;
	const struct recovery_step *all = background ? background_steps : steps;
	size_t n = background ? sizeof background_steps / sizeof *steps : sizeof steps / sizeof *steps;

	for (size_t i = 0; i < n && !r->start_here; i++) {
		if (all[i].fresh && r->taken_up)
			continue;
		if (*r->w->stop != 0 && all[i].run != recovery_wait_for_ack && all[i].run != step_settle)
			recovery_interrupted(e);
		else if (all[i].run(r, e) == 0)
			continue;
		/* a refusal is a sentence of ours */
		if (e->code != GT_REFUSED)
			scrub_error(e, r->gathered.scrub);
		close_after(r, &all[i], e);
		return -1;
	}
	return 0;
}

int
recovery_run(struct recovery *r, struct err *e)
{
	int ret = take_steps(r, e);

	/* of one that was taken up new_pid may be of days ago */
	if (r->injected)
		recovery_rebind(r);
	return ret;
}

void
recovery_init(struct recovery *r, struct app *w, const struct candidate *c)
{
	memset(r, 0, sizeof *r);
	r->w = w;
	r->c = c;
	r->pane = &c->pane;
	for (int i = 0; i < LOCKS; i++)
		r->locks[i].fd = -1;
	attempt_init(&r->attempt);
	buf_init(&r->gathered.prompt);
}

void
recovery_release(struct recovery *r)
{
	attempt_release(&r->attempt);
	gather_release(&r->gathered);
	free(r->prompt_path);
	free(r->lacking);
	pane_release(&r->born);
	for (int i = 0; i < LOCKS; i++) {
		io_unlock(r->locks[i].path, r->locks[i].fd);
		free(r->locks[i].path);
	}
}
