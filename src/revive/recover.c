#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "revive/recover.h"
#include "revive/adopt.h"
#include "revive/await.h"
#include "revive/detect.h"
#include "revive/ending.h"
#include "revive/kept.h"
#include "revive/plan.h"
#include "revive/remake.h"
#include "revive/respawn.h"
#include "revive/resume.h"
#include "revive/snap.h"
#include "revive/takeup.h"
#include "revive/tidy.h"
#include "revive/world.h"
#include "agent/native.h"
#include "agent/profile.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "scrub/error.h"
#include "town/config.h"

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
	int ret = lock(r, which, world_path(r->w, "locks", name, true, e), e);

	free(name);
	return ret;
}

/* Step 1: this pane and this conversation are ours alone. The kernel gives the locks back when we die. */
static int
step_lock(struct recovery *r, struct err *e)
{
	const struct pane *p = &r->c->pane;
	const char *talk = r->c->note.session_id;
	int ret = lock(r, LOCK_PANE, world_pane_lock(r->w, p->server_pid, p->server_start, p->id, e), e);

	if (ret == 0 && talk != NULL && strchr(talk, '/') == NULL)
		ret = lock_conversation(r, LOCK_RECORD, talk, e);
	if (ret != 0 && strcmp(e->name, "locked") == 0) {
		err_set(e, GT_AGAIN, "locked", "another gt-recover is at work on this session");
		err_hint(e, "wait for it; it ends by itself within the timeouts of gt.toml");
	}
	if (ret == 0)
		r->store = world_store(r->w, true, e);
	return r->store != NULL ? ret : -1;
}

static int
refuse(const struct refusal *no, struct err *e)
{
	err_set(e, GT_REFUSED, no->name, "refused: %s", no->sentence);
	return err_hint(e, "%s", no->hint);
}

static int
still_so(struct recovery *r, struct err *e)
{
	return r->c->class == CLASS_MISSING ? remake_check(r->w, r->c, e) : detect_again(r->w, r->c, e);
}

/* Step 3: the guards that need nothing gathered, then one more look at the pane under the lock. */
static int
step_guard(struct recovery *r, struct err *e)
{
	struct refusal no = plan_refusal(r->w, r->c, NULL, r->named, r->include_infra);

	if (r->taken_up)
		return 0;
	if (no.name != NULL)
		return refuse(&no, e);
	return still_so(r, e);
}

static enum deliver
way_in(const struct recovery *r)
{
	enum deliver way;

	if (r->resumed)
		return r->c->profile->resume_deliver;
	return plan_way(r->w, r->c, &way) ? way : DELIVER_PASTE;
}

static void
fill(struct recovery *r)
{
	const struct candidate *c = r->c;
	struct attempt *a = &r->attempt;

	attempt_set(&a->session, c->pane.session);
	attempt_set(&a->socket, c->pane.socket_path);
	attempt_set(&a->pane_id, c->pane.id);
	attempt_set(&a->agent, c->profile->name);
	attempt_set(&a->class, class_name(c->class));
	attempt_set(&a->reason, reason_name(c->reason));
	attempt_set(&a->cwd, c->cwd);
	attempt_set(&a->via, r->words != NULL ? "restart" : r->resumed ? "resume" : "inject");
	attempt_set(&a->delivery, deliver_word(way_in(r)));
	attempt_set(&a->previous, r->gathered.earlier.id);
	attempt_set(&a->source, r->gathered.found.path);
	a->server_pid = c->pane.server_pid;
	a->server_start = c->pane.server_start;
	a->pane_pid = c->pane.pid;
	a->pane_dead_time = c->pane.dead_time;
	a->crashed_at = c->crashed_at;
	a->lines = (int64_t)r->gathered.capture.rows;
	a->tokens = (int64_t)r->gathered.stats.tokens;
}

/* Another gt-recover may be at work on the conversation in another pane. What cannot be locked counts as held, too. */
static bool
is_held(struct recovery *r)
{
	const char *id = r->gathered.found.session_id, *own = r->c->note.session_id;

	return id != NULL && (own == NULL || strcmp(id, own) != 0) && lock_conversation(r, LOCK_FOUND, id, NULL) != 0;
}

static int
write_prompt(struct recovery *r, struct err *e)
{
	struct resume_ask ask = { .via = r->via != NULL ? r->via : config_text(r->w->config, "via"), .recovery_id = r->attempt.id };
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
	no = plan_refusal(r->w, r->c, &r->gathered.bead, r->named, r->include_infra);
	/* of a screen that only a snapshot remembers nobody has asked before */
	if (no.name == NULL && r->gathered.talk.limit && r->c->snapshot != NULL && !r->named)
		no = plan_limit();
	if (no.name != NULL)
		return refuse(&no, e);
	return write_prompt(r, e);
}

/* What respawn_pane will overwrite. */
static int
note_option(struct recovery *r, struct err *e)
{
	const struct pane *p = &r->c->pane;

	if (r->c->class == CLASS_MISSING && !remake_by_gt(r->w, r->c))
		attempt_set(&r->attempt.remain_on_exit, "");
	if (!class_has_shell(r->c->class) || r->attempt.remain_on_exit != NULL || strcmp(p->remain_on_exit, "on") == 0)
		return 0;
	r->attempt.remain_on_exit = respawn_remains(world_server(r->w, p->socket), p, e);
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
	if (kept_write(r->w, r->c->pane.session, r->attempt.id, &r->gathered, e) != 0)
		return -1;
	if (r->attempt.phase < PHASE_CAPTURED && attempt_advance(r->store, &r->attempt, PHASE_CAPTURED, e) != 0)
		return -1;
	recovery_tell(r, TOLD_CAPTURED);
	return 0;
}

/* tmux got the command and did not answer: the agent may start yet, and must find its prompt then. The next run looks. */
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

	if (c->class != CLASS_MISSING)
		return respawn_pane(world_server(r->w, c->pane.socket), &c->pane, how, e);
	ret = remake_by_gt(r->w, c) ? remake_gt(r->w, c, &r->born, e) : remake_session(r->w, c, how, &r->born, e);
	if (ret == 0) {
		r->pane = &r->born;
		r->attempt.made_pid = r->born.server_pid;
		r->attempt.made_start = r->born.server_start;
	}
	return ret;
}

/* The program proper in the place of an npm script, where the row wants that; a person's own shell may find another. Takes fed over. */
static char *
without_script(const struct recovery *r, char *fed)
{
	const struct launch *l = &r->c->launch;
	char *path = launch_env(l, "PATH"), *program, *command = NULL;

	program = fed != NULL && !class_has_shell(r->c->class) ? native_program(l, r->c->profile, path != NULL ? path : getenv("PATH")) : NULL;
	if (program != NULL)
		command = native_command(l, fed, program);
	free(program);
	free(path);
	if (command == NULL)
		return fed;
	explicit_bzero(fed, strlen(fed));
	free(fed);
	return command;
}

/* The command that hands the prompt over, or that leaves out what is not to be said again; NULL: it is started as it is, and pasted to. */
static char *
feed(const struct recovery *r)
{
	if (r->resumed)
		return without_script(r, launch_resumed(&r->c->launch, r->c->profile, r->gathered.found.session_id));
	if (r->c->class == CLASS_RESPAWNED || remake_by_gt(r->w, r->c))
		return NULL;
	return without_script(r, launch_fed(&r->c->launch, r->c->profile, way_in(r)));
}

static int
check_size(const struct recovery *r, struct err *e)
{
	if (way_in(r) != DELIVER_ARGUMENT || r->gathered.prompt.len < MOST_ARGUMENT)
		return 0;
	err_set(e, GT_FAIL, "too-long", "its context is %zu bytes, and as an argument %s takes at most %d", r->gathered.prompt.len,
	    r->c->profile->label, MOST_ARGUMENT - 1);
	return err_hint(e, "lower max_context_tokens in gt.toml, or add \"ready\" to [recovery.agents.%s], so that it can be pasted", r->c->profile->name);
}

/* Step 6: the agent's own command again, with the prompt where its row takes it. One that lives is told, not started. */
static int
step_respawn(struct recovery *r, struct err *e)
{
	const struct candidate *c = r->c;
	bool zombie = class_has_shell(c->class);
	char *name = xasprintf("%s.txt", r->attempt.id), *claimed = NULL;
	size_t left_out;
	bool plain = c->class == CLASS_RESPAWNED || remake_by_gt(r->w, c);
	char *command = plain ? xstrdup("") : launch_without(&c->launch, c->profile->session_flags, &left_out);
	char *fed = feed(r);
	struct respawn how = { .launch = &c->launch, .command = command, .fed = fed, .zombie = zombie, .cwd = zombie ? c->cwd : NULL };
	int ret = -1;

	recovery_tell(r, TOLD_STARTING);
	if (check_size(r, e) != 0)
		goto out;
	r->prompt_path = world_path(r->w, "prompts", name, true, e);
	how.prompt_path = r->prompt_path;
	if (r->prompt_path == NULL)
		goto out;
	if (fed != NULL && io_write_durable(r->prompt_path, r->gathered.prompt.data, r->gathered.prompt.len, "prompt", e) != 0)
		goto out;
	if (adopt_respawn(r, &claimed, e) == 0 && still_so(r, e) == 0)
		ret = c->class == CLASS_RESPAWNED ? 0 : start(r, &how, e);
	if (ret != 0 && !outcome_unknown(e))
		unlink(r->prompt_path);
	if (ret != 0 && claimed != NULL && !outcome_unknown(e))
		adopt_give_back(r, claimed);
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
	struct snap_ask ask = { .names = (const char *const[]){ r->pane->id }, .n = 1 };
	struct snap_run run;

	(void)e;
	/* it may die again before the next pass of snapshots, and take its session with it */
	if (snap(r->w, &ask, &run, NULL) == 0)
		snap_run_release(&run);
	tidy(r->w);
	return 0;
}

/*
 * The whole way. `fresh` steps are left out when an earlier recoverer had already started the agent; from `kept` on a failure is
 * written into the attempt.
 */
static const struct step {
	const char *name;
	int (*run)(struct recovery *r, struct err *e);
	bool fresh;
} steps[] = {
	{ "lock", step_lock, false },
	{ "look back", takeup, false },
	{ "guard", step_guard, false },
	{ "gather", step_gather, true },
	{ "keep", step_keep, true },
	{ "respawn", step_respawn, true },
	{ "verify", await_proof, false },
	{ "settle", step_settle, false },
};

/* A failure that the next run cannot do better by looking first ends the attempt. */
static void
close_after(struct recovery *r, const struct step *s, const struct err *e)
{
	bool before = s->run != await_proof && s->run != step_settle && !r->taken_up;
	bool moved = strcmp(e->name, "changed") == 0 || strcmp(e->name, "taken") == 0;

	if (r->attempt.version == 0 || phase_final(r->attempt.phase))
		return;
	/* what moved may be what the earlier recoverer had started, late */
	if ((before && !outcome_unknown(e) && !(r->begun && moved)) || strcmp(e->name, "gone") == 0) {
		recovery_take_back(r, &r->attempt);
		ending_failed(r->w, &r->attempt, e->msg, NULL);
	}
}

static int
take_steps(struct recovery *r, struct err *e)
{
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		if (steps[i].fresh && r->taken_up)
			continue;
		if (*r->w->stop != 0 && steps[i].run != await_proof && steps[i].run != step_settle)
			await_stopped(e);
		else if (steps[i].run(r, e) == 0)
			continue;
		/* a refusal is a sentence of ours */
		if (e->code != GT_REFUSED)
			error_scrub(e, r->gathered.scrub);
		close_after(r, &steps[i], e);
		return -1;
	}
	return 0;
}

int
recover(struct recovery *r, struct err *e)
{
	int ret = take_steps(r, e);

	/* of one that was taken up new_pid may be of days ago */
	if (r->injected)
		adopt(r);
	return ret;
}

void
recovery_init(struct recovery *r, struct world *w, const struct candidate *c)
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
	gathered_release(&r->gathered);
	free(r->prompt_path);
	pane_release(&r->born);
	for (int i = 0; i < LOCKS; i++) {
		io_unlock(r->locks[i].path, r->locks[i].fd);
		free(r->locks[i].path);
	}
}
