#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "revive/restart.h"
#include "revive/candidate.h"
#include "revive/plan.h"
#include "revive/remake.h"
#include "revive/respawn.h"
#include "revive/resume.h"
#include "revive/world.h"
#include "agent/profile.h"
#include "agent/session_file.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/moment.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "context/transcript_find.h"
#include "ledger/message.h"
#include "ledger/session.h"
#include "prompt/template.h"
#include "tmux/client.h"

static const unsigned char words[] = {
#include "restart.md.inc"
};

struct restart {
	struct world *w;
	struct store *store;
	const struct session *x;
	struct tmux *server;
	struct candidate c;
	char id[21];
	char *prompt_path;
	struct pane born;
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

static void
name_it(struct restart *r)
{
	struct moment now;
	char hex[65], *text;

	moment_now(&now);
	text = xasprintf("%s %s", r->x->agent_uuid, now.boot_id);
	sha256_hex(text, strlen(text), hex);
	snprintf(r->id, sizeof r->id, "gtr-%.16s", hex);
	free(text);
}

static int
identify(struct restart *r, struct err *e)
{
	const struct session *x = r->x;
	struct candidate *c = &r->c;

	r->server = server_of(r->w, x);
	if (x->start_command == NULL || x->session == NULL || x->workspace_path == NULL || r->server == NULL) {
		err_set(e, GT_REFUSED, "no-place-known", "its record does not tell where and by what command it ran");
		return err_hint(e, "whoever started it brings it back: gt-recover agent resume takes it up");
	}
	name_it(r);
	*c = (struct candidate){ .doubt = "", .class = CLASS_MISSING, .reason = REASON_SERVER_EXIT, .crashed_at = x->changed_at };
	candidate_without_pane(r->server, xstrdup(x->session), x->workspace_path, &c->pane);
	c->cwd = xstrdup(x->workspace_path);
	c->config_dir = session_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME"));
	if (strstr(x->start_command, "[REDACTED:") != NULL)
		c->needs = xstrdup("its start command held a secret, which no record keeps");
	launch_command(&c->launch, x->start_command, c->pane.default_shell, profiles_is_program, r->w->profiles);
	c->profile = c->launch.name != NULL ? profiles_by_program(r->w->profiles, c->launch.name) : NULL;
	if (c->profile != NULL)
		return 0;
	err_set(e, GT_REFUSED, "no-agent-known", "its start command starts no agent that is known");
	return err_hint(e, "describe the agent in [recovery.agents.NAME] of gt.toml");
}

static int
guarded(struct restart *r, struct err *e)
{
	struct refusal no = plan_refusal(r->w, &r->c, NULL, false, false);

	if (no.name == NULL && !plan_by_stdin(r->w, &r->c))
		no = (struct refusal){ "no-way-in", "it cannot be handed a prompt as it starts", "take it up with gt-recover agent resume" };
	if (no.name == NULL)
		return 0;
	err_set(e, GT_REFUSED, no.name, "%s", no.sentence);
	return err_hint(e, "%s", no.hint);
}

/* ---- what it is told ---- */

static int
write_prompt(struct restart *r, struct err *e)
{
	struct template *t = template_new((const char *)words, sizeof words, "the built-in template of restart", e);
	struct messages list = { .n = 0 };
	struct buf session = BUF_INIT, waiting = BUF_INIT, prompt = BUF_INIT;
	const char *values[FIELDS] = { NULL };
	char *name = xasprintf("%s.txt", r->id);
	int ret = t != NULL ? messages_read(r->store, MESSAGE_PENDING, r->x->agent_uuid, false, &list, e) : -1;

	utf8_escape(&session, r->x->session, strlen(r->x->session), 120);
	if (list.n > 0)
		buf_fmt(&waiting, "%zu of them %s for you.", list.n, list.n == 1 ? "is" : "are");
	values[FIELD_SESSION] = session.data;
	values[FIELD_WARNINGS] = waiting.data;
	values[FIELD_RECOVERY_ID] = r->id;
	if (ret == 0) {
		template_run(t, values, &prompt);
		r->prompt_path = world_path(r->w, "prompts", name, true, e);
		ret = r->prompt_path != NULL ? io_write_durable(r->prompt_path, prompt.data, prompt.len, "prompt", e) : -1;
	}
	messages_release(&list);
	template_free(t);
	buf_release(&session);
	buf_release(&waiting);
	buf_release(&prompt);
	free(name);
	return ret;
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

/* One that ended at once has no process any more: the next startup suspends it. */
static int
note(struct restart *r, const struct pane *p, struct err *e)
{
	struct session x;
	int ret;

	session_init(&x);
	session_set(&x.agent_uuid, r->x->agent_uuid);
	session_set(&x.provider_name, r->x->provider_name);
	ret = session_note_process(&x, p->pid) != 0 ? err_set(e, GT_FAIL, "gone", "the agent was started and ended at once") :
	    session_record(r->store, &x, NULL, e);
	session_release(&x);
	return ret;
}

/* A provider that keeps transcripts refuses to go on with one that is not there; of others only their own id is known. */
static bool
can_resume(const struct restart *r, const char *id)
{
	char *path;
	bool there;

	if (id == NULL || *r->c.profile->resume == '\0' || !transcript_is_id(id) || resume_in_use(r->c.config_dir, id))
		return false;
	if (strcmp(r->c.profile->transcript, "claude") != 0)
		return true;
	path = r->c.config_dir != NULL ? transcript_path(r->c.config_dir, r->c.cwd, id) : NULL;
	there = path != NULL && access(path, R_OK) == 0;
	free(path);
	return there;
}

static char *
feed(const struct restart *r)
{
	const struct profile *p = r->c.profile;
	struct launch_words how = { p->session_flags, p->other_flags, p->resume };
	const char *id = r->x->cursor_session_id;
	char *fed = NULL;

	if (can_resume(r, id))
		fed = launch_resumed(&r->c.launch, &how, id);
	return fed != NULL ? fed : launch_fed(&r->c.launch, p->session_flags);
}

static int
start(struct restart *r, struct err *e)
{
	size_t left_out;
	char *command = launch_without(&r->c.launch, r->c.profile->session_flags, &left_out), *fed = feed(r);
	struct respawn how = { .launch = &r->c.launch, .command = command, .fed = fed, .prompt_path = r->prompt_path };
	int ret = fed != NULL ? remake_session(r->w, &r->c, &how, &r->born, e) :
	    err_set(e, GT_REFUSED, "no-way-in", "it cannot be handed a prompt as it starts");

	free(command);
	free(fed);
	return ret;
}

/* 1: it runs already, by an earlier one of us; 0: there is no such session; -1. */
static int
look(struct restart *r, struct err *e)
{
	int found = remake_find(r->w, &r->c, r->id, &r->born, e);

	if (found == 0)
		return remake_check(r->w, &r->c, e);
	if (found < 0 || !r->born.dead)
		return found;
	err_set(e, GT_REFUSED, "there", "it was brought back on this boot already, and has ended since");
	return err_hint(e, "its pane is there: gt-recover brings it back");
}

static int
bring_back(struct restart *r, struct err *e)
{
	struct err ours = ERR_INIT;
	struct session x;
	int found = look(r, e);

	if (found < 0 || (found == 0 && guarded(r, e) != 0) || claim(r, e) != 0)
		return -1;
	if (found == 0 && (write_prompt(r, e) != 0 || start(r, e) != 0)) {
		if (strcmp(e->name, "server-silent") == 0)
			return -1;
		if (r->prompt_path != NULL)
			unlink(r->prompt_path);
		session_init(&x);
		session_suspend(r->store, r->x->agent_uuid, NULL, "it could not be started again", &x, &ours);
		session_release(&x);
		return -1;
	}
	if (note(r, &r->born, e) != 0)
		return -1;
	return found > 0 ? RESTART_FOUND : RESTARTED;
}

int
restart_agent(struct world *w, const struct session *x, struct err *e)
{
	struct restart r = { .w = w, .store = world_store(w, true, e), .x = x };
	int ret = r.store != NULL && identify(&r, e) == 0 ? bring_back(&r, e) : -1;

	candidate_release(&r.c);
	pane_release(&r.born);
	free(r.prompt_path);
	return ret;
}
