#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recover/upkeep/upkeep.h"
#include "recover/recover.h"
#include "detect/detect.h"
#include "app/app.h"
#include "agent/agent.h"
#include "base/buf.h"
#include "base/host.h"
#include "base/io.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "transcript/locate/locate.h"
#include "prompt/prompt.h"
#include "scrub/scrub.h"
#include "tmux/tmux.h"
#include "config/config.h"

static const unsigned char words[] = {
#include "restart.md.inc"
};

struct restart {
	struct app *w;
	struct store *store;
	const struct session *x;
	const struct candidate *c;
	struct candidate own;		/* made from the record; c points to it, or to what detect found */
};

/* ---- who it is ---- */

/* Nothing may be claimed that is not going to be started. */
static int
guarded(struct restart *r, bool named, bool include_infra, struct err *e)
{
	struct refusal no = recovery_refusal(r->w, r->c, NULL, named, include_infra);

	if (no.name == NULL)
		return r->c->status == AGENT_MISSING ? respawn_check_gone(r->w, r->c, e) : 0;
	err_set(e, GT_REFUSED, no.name, "%s", no.sentence);
	return err_hint(e, "%s", no.hint);
}

/* ---- what it is told, of which nothing but the record is known ---- */

/*
 * An agent that keeps records refuses to go on with one that is not there, or begins an empty one
 * without a word. Of others only the id is known.
 */
static bool
can_resume(const struct recovery *r, const char *id)
{
	const struct candidate *c = r->c;
	const struct profile *p = c->profile;
	const char *via = r->via != NULL ? r->via : config_text(r->w->config, "via");
	char *command;
	bool clear;

	if (id == NULL || *p->resume == '\0' || strcmp(via, "inject") == 0 || !recovery_can_deliver(r->w, c))
		return false;
	if (strcmp(p->transcript, "none") == 0 ? !transcript_is_id(id)
					       : !resume_is_there(p, c->config_dir, c->cwd, id))
		return false;
	if (transcript_in_use(p, c->config_dir, id))
		return false;
	command = launch_with_resume(&c->launch, p, id);
	clear = command != NULL;
	if (clear)
		explicit_bzero(command, strlen(command));
	free(command);
	return clear;
}

static int
write_words(struct recovery *r, struct err *e)
{
	struct template *t =
	    template_new((const char *)words, sizeof words, "the built-in template of restart", e);
	struct message_list list = { .n = 0 };
	struct buf session = BUF_INIT, waiting = BUF_INIT, data = BUF_INIT, fenced = BUF_INIT,
		   checkpoint = BUF_INIT;
	struct gathered *g = &r->gathered;
	char nonce[FENCE_NONCE + 1];
	const char *values[TEMPLATE_FIELDS] = { NULL };
	int ret = t != NULL
	    ? message_list_read(r->store, MESSAGE_PENDING, r->agent->agent_uuid, false, &list, e)
	    : -1;

	if (ret == 0)
		ret = gather_agent_briefing(
		    r->w, r->agent->agent_uuid, r->c->pane.session, r->c->cwd, g->scrub, &g->checkpoint, e);
	if (clean_len(g->checkpoint) > 0) {
		io_random_hex(nonce, FENCE_NONCE / 2);
		fence_data(&data, clean_bytes(g->checkpoint), clean_len(g->checkpoint), nonce);
		fence_wrap(&fenced, "checkpoint", data.data, data.len, nonce);
		fence_at(&checkpoint, fenced.data, fenced.len);
	}
	utf8_escape(&session, r->c->pane.session, strlen(r->c->pane.session), 120);
	if (list.n > 0)
		buf_fmt(&waiting, "%zu of them %s for you.", list.n, list.n == 1 ? "is" : "are");
	values[TEMPLATE_SESSION] = session.data;
	values[TEMPLATE_WARNINGS] = waiting.data;
	values[TEMPLATE_CHECKPOINT] = checkpoint.data;
	values[TEMPLATE_RECOVERY_ID] = r->attempt.id;
	if (ret == 0)
		template_run(t, values, &g->prompt);
	message_list_release(&list);
	template_free(t);
	buf_release(&session);
	buf_release(&waiting);
	buf_release(&data);
	buf_release(&fenced);
	buf_release(&checkpoint);
	return ret;
}

static int
write_restart_prompt(struct recovery *r, struct err *e)
{
	struct gathered *g = &r->gathered;
	const char *id = r->agent->cursor_session_id;

	g->conversation = (struct conversation)CONVERSATION_INIT;
	if ((g->scrub = app_scrub(r->w, e)) == NULL)
		return -1;
	g->capture.text = scrub_string(g->scrub, "");
	r->resumed = can_resume(r, id);
	if (r->resumed)
		g->found.session_id = xstrdup(id);
	return write_words(r, e);
}

/* ---- doing it ---- */

static int
claim(struct restart *r, struct err *e)
{
	struct buf blob = BUF_INIT;
	struct session x;
	int ret;

	session_init(&x);
	ret = session_restore(r->store, r->x->agent_uuid, &blob, &x, e);
	session_release(&x);
	buf_release(&blob);
	return ret;
}

/* After a failure. One whose agent was started, and may yet take its prompt up, keeps its session. */
static void
give_back(struct restart *r, const struct recovery *one, const struct err *why)
{
	bool over = strcmp(why->name, "died") == 0 || strcmp(why->name, "gone") == 0;
	int64_t pid = one->injected ? one->attempt.new_pid : one->born.pid;
	struct err ours = ERR_INIT;
	struct timestamp now;
	struct session x;

	if (strcmp(why->name, "server-silent") == 0 ||
	    (!over && pid != 0 && session_started(r->store, r->x->agent_uuid, pid, NULL, &ours) == 1))
		return;
	timestamp_now(&now);
	if (session_load(r->store, r->x->agent_uuid, &x, &ours) == 1 && x.state == SESSION_ACTIVE &&
	    !session_is_alive(&x, &now)) {
		session_release(&x);
		session_suspend(r->store, r->x->agent_uuid, NULL, "it could not be restarted", &x, &ours);
	}
	session_release(&x);
}

static int
run(struct restart *r, struct recovery *one, struct err *e)
{
	int ret;

	one->agent = r->x;
	one->words = r->c == &r->own || r->c->record != NULL ? write_restart_prompt : NULL;
	ret = recovery_run(one, e);
	if (ret != 0)
		give_back(r, one, e);
	return ret;
}

static int
bring_back(struct restart *r, char id[21], struct err *e)
{
	struct recovery one;
	int ret;

	if (claim(r, e) != 0)
		return -1;
	recovery_init(&one, r->w, r->c);
	ret = run(r, &one, e);
	if (one.attempt.version > 0)
		memcpy(id, one.attempt.id, sizeof one.attempt.id);
	if (ret == 0)
		ret = one.taken_up ? RESTART_FOUND : RESTART_DONE;
	recovery_release(&one);
	return ret;
}

/* Whom no startup has looked at since its process ended. */
static int
suspend_lost(struct restart *r, struct err *e)
{
	struct session x;
	struct timestamp now;
	int ret = session_need(r->store, r->x->agent_uuid, &x, e);

	timestamp_now(&now);
	if (ret == 0 && session_is_lost(&x, &now)) {
		session_release(&x);
		ret = session_suspend(r->store, r->x->agent_uuid, NULL, "its process is not running", &x, e);
	}
	session_release(&x);
	return ret;
}

int
restart_recorded(struct recovery *one, struct err *e)
{
	struct restart r = {
		.w = one->w, .store = app_store(one->w, true, e), .x = one->c->record, .c = one->c
	};

	if (r.store == NULL || guarded(&r, one->named, one->include_infra, e) != 0 ||
	    suspend_lost(&r, e) != 0 || claim(&r, e) != 0)
		return -1;
	return run(&r, one, e);
}

/*
 * The attempt that had started the agent that lives in its tmux session, when that was for this
 * very session; ours, open: else false.
 */
static bool
attempt_is_ours(const struct restart *r, char id[21], bool *open)
{
	struct attempt a;
	bool ours = attempt_id_of_pane(&r->c->pane, id) && attempt_load(r->store, id, &a, NULL) == 1;

	*open = ours && !attempt_phase_is_final(a.phase);
	if (ours) {
		ours = strcmp(a.session, r->x->session) == 0;
		attempt_release(&a);
	}
	return ours;
}

/*
 * Somebody's agent lives in its tmux session. Is it this one, brought back by a recovery that
 * could not note it any more?
 */
static int
take_living(struct restart *r, bool dry, char id[21], struct err *e)
{
	bool open, ours = attempt_is_ours(r, id, &open);

	if (ours && (open || r->c->agent_pid != 0) && dry)
		return RESTART_FOUND;
	if (ours && open)
		return bring_back(r, id, e);
	if (ours && r->c->agent_pid != 0)
		return session_started(r->store, r->x->agent_uuid, r->c->agent_pid, NULL, e) < 0
		    ? -1
		    : RESTART_FOUND;
	*id = '\0';
	err_set(e, GT_REFUSED, "there",
	    "the tmux session of its name has a living agent, which may be another one");
	return err_hint(e,
	    "gt-recover list shows it; if it is, record it: gt-recover records agent resume, then session "
	    "record "
	    "with its pid");
}

int
restart_agent(
    struct app *w, const struct session *x, const struct candidate_list *all, char id[21], struct err *e)
{
	struct restart r = {
		.w = w, .store = app_store(w, !w->dry, e), .x = x, .c = candidate_of_session(w, x, all)
	};
	int ret = -1;

	*id = '\0';
	if (r.store == NULL)
		return -1;
	if (host_is_other(x->host)) {
		err_set(e, GT_REFUSED, "other-host", "the agent belongs to the host %s, where its pane is",
		    x->host);
		return err_hint(e,
		    "Recover it there. If that host no longer exists: gt-recover records session restore "
		    "%.60s, then session suspend",
		    x->agent_uuid);
	}
	if (r.c != NULL && !detect_status_crashed(r.c->status)) {
		ret = take_living(&r, w->dry, id, e);
	} else {
		if (r.c == NULL && candidate_from_session(w, x, &r.own, e) == 0)
			r.c = &r.own;
		if (r.c != NULL && guarded(&r, false, false, e) == 0)
			ret = w->dry ? RESTART_DONE : bring_back(&r, id, e);
	}
	candidate_release(&r.own);
	return ret;
}
