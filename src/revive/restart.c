#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "revive/restart.h"
#include "revive/briefing.h"
#include "revive/candidate.h"
#include "revive/detect.h"
#include "revive/plan.h"
#include "revive/recover.h"
#include "revive/remake.h"
#include "revive/respawn.h"
#include "revive/resume.h"
#include "revive/world.h"
#include "agent/launch.h"
#include "agent/profile.h"
#include "agent/session_file.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/host.h"
#include "base/io.h"
#include "base/moment.h"
#include "base/utf8.h"
#include "context/transcript_place.h"
#include "ledger/attempt.h"
#include "ledger/message.h"
#include "ledger/session.h"
#include "prompt/fence.h"
#include "prompt/template.h"
#include "scrub/scrub.h"
#include "tmux/client.h"
#include "town/config.h"
#include "town/town.h"

static const unsigned char words[] = {
#include "restart.md.inc"
};

struct restart {
	struct world *w;
	struct store *store;
	const struct session *x;
	const struct candidate *c;
	struct candidate own;		/* made from the record; c points to it, or to what detect found */
};

/* ---- who it is ---- */

/* The world's server with the recorded socket; none recorded: the first. */
static struct tmux *
server_of(struct world *w, const struct session *x)
{
	for (size_t i = 0; i < w->n_servers; i++) {
		char *path = tmux_socket_path(&w->servers[i]);
		bool same = x->socket == NULL || strcmp(x->socket, w->servers[i].socket) == 0 || strcmp(x->socket, path) == 0;

		free(path);
		if (same)
			return &w->servers[i];
	}
	return NULL;
}

const struct candidate *
restart_known(struct world *w, const struct session *x, const struct candidates *all)
{
	const struct tmux *t = server_of(w, x);
	const struct candidate *known = NULL;

	for (size_t i = 0; t != NULL && x->session != NULL && i < all->n; i++) {
		const struct candidate *c = &all->v[i];

		if (strcmp(c->pane.session, x->session) != 0 || strcmp(c->pane.socket, t->socket) != 0)
			continue;
		/* who lives there goes before who died there */
		if (known == NULL || (class_crashed(known->class) && !class_crashed(c->class)))
			known = c;
	}
	return known;
}

/* Of an earlier restart by the record, which has been answered, this is the next crash. */
static void
note_answered(struct world *w, struct candidate *c)
{
	struct store *store = world_store(w, false, NULL);
	const struct pane *p = &c->pane;
	struct attempt a;

	if (store == NULL)
		return;
	if (attempt_latest(store, p->socket_path, p->server_pid, p->server_start, p->id, &a, NULL) == 1 && a.phase == PHASE_ACKNOWLEDGED)
		c->after = xstrdup(a.id);
	attempt_release(&a);
}

/* By what its command sets, else by our own environment. */
static char *
variable(const void *launch, const char *name)
{
	char *own = launch_env(launch, name);

	return own != NULL ? own : getenv(name) != NULL ? xstrdup(getenv(name)) : NULL;
}

static char *
find_config_dir(const struct candidate *c)
{
	const struct launch *l = &c->launch;
	char *moved, *home, *dir;

	if (c->profile == NULL || strcmp(c->profile->transcript, "claude") != 0)
		return c->profile != NULL ? profile_folder(c->profile, variable, l) : NULL;
	moved = launch_env(l, "CLAUDE_CONFIG_DIR");
	home = launch_env(l, "HOME");
	dir = session_config_dir(moved != NULL || home != NULL ? moved : getenv("CLAUDE_CONFIG_DIR"), home != NULL ? home : getenv("HOME"));
	free(moved);
	free(home);
	return dir;
}

int
restart_candidate(struct world *w, const struct session *x, struct candidate *c, struct err *e)
{
	const struct tmux *t = server_of(w, x);

	*c = (struct candidate){ .doubt = "", .class = CLASS_MISSING, .reason = REASON_SERVER_EXIT, .crashed_at = x->changed_at };
	if (x->start_command == NULL || x->session == NULL || x->workspace_path == NULL || t == NULL) {
		err_set(e, GT_REFUSED, "no-place-known", "its record does not tell where and by what command it ran");
		return err_hint(e, "whoever started it brings it back: gt-recover agent resume takes it up");
	}
	candidate_without_pane(t, xstrdup(x->session), x->workspace_path, &c->pane);
	c->cwd = xstrdup(x->workspace_path);
	if (town_session_role(w->town, x->session, &c->role) != 0)
		town_path_role(w->town, x->workspace_path, &c->role);
	if (strstr(x->start_command, "[REDACTED:") != NULL)
		c->needs = xstrdup("its start command held a secret, which no record keeps");
	launch_command(&c->launch, x->start_command, c->pane.default_shell, profiles_is_program, w->profiles);
	c->profile = c->launch.name != NULL ? profiles_by_program(w->profiles, c->launch.name) : NULL;
	c->config_dir = find_config_dir(c);
	if (c->profile != NULL) {
		note_answered(w, c);
		return 0;
	}
	err_set(e, GT_REFUSED, "no-agent-known", "its start command starts no agent that is known");
	return err_hint(e, "describe the agent in [recovery.agents.NAME] of gt.toml");
}

/* Nothing may be claimed that is not going to be started. */
static int
guarded(struct restart *r, bool named, bool include_infra, struct err *e)
{
	struct refusal no = plan_refusal(r->w, r->c, NULL, named, include_infra);

	if (no.name == NULL)
		return r->c->class == CLASS_MISSING ? remake_check(r->w, r->c, e) : 0;
	err_set(e, GT_REFUSED, no.name, "%s", no.sentence);
	return err_hint(e, "%s", no.hint);
}

/* ---- what it is told, of which nothing but the record is known ---- */

/* An agent that keeps records refuses to go on with one that is not there, or begins an empty one without a word. Of others only the id is known. */
static bool
can_resume(const struct recovery *r, const char *id)
{
	const struct candidate *c = r->c;
	const struct profile *p = c->profile;
	const char *via = r->via != NULL ? r->via : config_text(r->w->config, "via");
	char *command;
	bool clear;

	if (id == NULL || *p->resume == '\0' || strcmp(via, "inject") == 0 || !plan_can_tell(r->w, c))
		return false;
	if (strcmp(p->transcript, "none") == 0 ? !transcript_is_id(id) : !resume_is_there(p, c->config_dir, c->cwd, id))
		return false;
	if (resume_in_use(p, c->config_dir, id))
		return false;
	command = launch_resumed(&c->launch, p, id);
	clear = command != NULL;
	if (clear)
		explicit_bzero(command, strlen(command));
	free(command);
	return clear;
}

static int
write_words(struct recovery *r, struct err *e)
{
	struct template *t = template_new((const char *)words, sizeof words, "the built-in template of restart", e);
	struct messages list = { .n = 0 };
	struct buf session = BUF_INIT, waiting = BUF_INIT, data = BUF_INIT, fenced = BUF_INIT, checkpoint = BUF_INIT;
	struct gathered *g = &r->gathered;
	char nonce[FENCE_NONCE + 1];
	const char *values[FIELDS] = { NULL };
	int ret = t != NULL ? messages_read(r->store, MESSAGE_PENDING, r->agent->agent_uuid, false, &list, e) : -1;

	if (ret == 0)
		ret = briefing_of(r->w, r->agent->agent_uuid, r->c->pane.session, r->c->cwd, g->scrub, &g->checkpoint, e);
	if (clean_len(g->checkpoint) > 0) {
		io_random_hex(nonce, FENCE_NONCE / 2);
		fence_data(&data, clean_bytes(g->checkpoint), clean_len(g->checkpoint), nonce);
		fence_wrap(&fenced, "checkpoint", data.data, data.len, nonce);
		fence_at(&checkpoint, fenced.data, fenced.len);
	}
	utf8_escape(&session, r->c->pane.session, strlen(r->c->pane.session), 120);
	if (list.n > 0)
		buf_fmt(&waiting, "%zu of them %s for you.", list.n, list.n == 1 ? "is" : "are");
	values[FIELD_SESSION] = session.data;
	values[FIELD_WARNINGS] = waiting.data;
	values[FIELD_CHECKPOINT] = checkpoint.data;
	values[FIELD_RECOVERY_ID] = r->attempt.id;
	if (ret == 0)
		template_run(t, values, &g->prompt);
	messages_release(&list);
	template_free(t);
	buf_release(&session);
	buf_release(&waiting);
	buf_release(&data);
	buf_release(&fenced);
	buf_release(&checkpoint);
	return ret;
}

static int
tell_of_restart(struct recovery *r, struct err *e)
{
	struct gathered *g = &r->gathered;
	const char *id = r->agent->cursor_session_id;

	g->talk = (struct conversation)CONVERSATION_INIT;
	if ((g->scrub = world_scrub(r->w, e)) == NULL)
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
	struct moment now;
	struct session x;

	if (strcmp(why->name, "server-silent") == 0 ||
	    (!over && pid != 0 && session_started(r->store, r->x->agent_uuid, pid, NULL, &ours) == 1))
		return;
	moment_now(&now);
	if (session_load(r->store, r->x->agent_uuid, &x, &ours) == 1 && x.state == SESSION_ACTIVE && !session_lives(&x, &now)) {
		session_release(&x);
		session_suspend(r->store, r->x->agent_uuid, NULL, "it could not be started again", &x, &ours);
	}
	session_release(&x);
}

static int
run(struct restart *r, struct recovery *one, struct err *e)
{
	int ret;

	one->agent = r->x;
	one->words = r->c == &r->own || r->c->record != NULL ? tell_of_restart : NULL;
	ret = recover(one, e);
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
		ret = one.taken_up ? RESTART_FOUND : RESTARTED;
	recovery_release(&one);
	return ret;
}

/* Whom no startup has looked at since its process ended. */
static int
suspend_lost(struct restart *r, struct err *e)
{
	struct session x;
	struct moment now;
	int ret = session_need(r->store, r->x->agent_uuid, &x, e);

	moment_now(&now);
	if (ret == 0 && session_lost(&x, &now)) {
		session_release(&x);
		ret = session_suspend(r->store, r->x->agent_uuid, NULL, "no process of it is running", &x, e);
	}
	session_release(&x);
	return ret;
}

int
restart_recorded(struct recovery *one, struct err *e)
{
	struct restart r = { .w = one->w, .store = world_store(one->w, true, e), .x = one->c->record, .c = one->c };

	if (r.store == NULL || guarded(&r, one->named, one->include_infra, e) != 0 || suspend_lost(&r, e) != 0 || claim(&r, e) != 0)
		return -1;
	return run(&r, one, e);
}

/* The attempt that had started the agent that lives in its tmux session, when that was for this very session; ours, open: else false. */
static bool
is_ours(const struct restart *r, char id[21], bool *open)
{
	struct attempt a;
	bool ours = respawn_id(&r->c->pane, id) && attempt_load(r->store, id, &a, NULL) == 1;

	*open = ours && !phase_final(a.phase);
	if (ours) {
		ours = strcmp(a.session, r->x->session) == 0;
		attempt_release(&a);
	}
	return ours;
}

/* Somebody's agent lives in its tmux session. Is it this one, brought back by a recovery that could not note it any more? */
static int
take_living(struct restart *r, bool dry, char id[21], struct err *e)
{
	bool open, ours = is_ours(r, id, &open);

	if (ours && (open || r->c->agent_pid != 0) && dry)
		return RESTART_FOUND;
	if (ours && open)
		return bring_back(r, id, e);
	if (ours && r->c->agent_pid != 0)
		return session_started(r->store, r->x->agent_uuid, r->c->agent_pid, NULL, e) < 0 ? -1 : RESTART_FOUND;
	*id = '\0';
	err_set(e, GT_REFUSED, "there", "in a tmux session of its name an agent lives, and nothing tells that it is this one");
	return err_hint(e, "gt-recover list shows it; if it is, record it: gt-recover agent resume, then session record with its pid");
}

int
restart_agent(struct world *w, const struct session *x, const struct candidates *all, char id[21], struct err *e)
{
	struct restart r = { .w = w, .store = world_store(w, !w->dry, e), .x = x, .c = restart_known(w, x, all) };
	int ret = -1;

	*id = '\0';
	if (r.store == NULL)
		return -1;
	if (host_is_other(x->host)) {
		err_set(e, GT_REFUSED, "other-host", "the agent belongs to the host %s, where its pane is", x->host);
		return err_hint(e, "Bring it back there. If that host is gone for good, take the agent over: gt-recover session restore %.60s,"
		    " then session suspend", x->agent_uuid);
	}
	if (r.c != NULL && !class_crashed(r.c->class)) {
		ret = take_living(&r, w->dry, id, e);
	} else {
		if (r.c == NULL && restart_candidate(w, x, &r.own, e) == 0)
			r.c = &r.own;
		if (r.c != NULL && guarded(&r, false, false, e) == 0)
			ret = w->dry ? RESTARTED : bring_back(&r, id, e);
	}
	candidate_release(&r.own);
	return ret;
}
