#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/sha256.h"
#include "cmd/epic_agent.h"
#include "cmd/verb.h"
#include "epic/epic.h"
#include "ledger/session.h"
#include "revive/detect.h"
#include "scrub/scrub.h"
#include "town/config.h"

#define PROVIDER "epic"			/* of sessions that the key start_command made */

/* Where tmux takes it as it is; of one that was changed for that a hash tells it apart from others. Heap. */
static char *
session_name(const char *agent)
{
	char hash[65], *name = xasprintf("epic-%.100s", agent), *whole;

	for (char *p = name; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_')
			*p = '-';
	if (strcmp(name + strlen("epic-"), agent) == 0)
		return name;
	sha256_hex(agent, strlen(agent), hash);
	whole = xasprintf("%s-%.8s", name, hash);
	free(name);
	return whole;
}

/* What the key start_command makes of an agent; *out is empty when there is no such key. */
static int
make_session(struct verb_job *j, const struct epic *x, const char *agent, struct session *out, struct err *e)
{
	const char *command = config_text(j->w.config, "epics.start_command"), *place = json_text(x->record, "workspace", NULL);
	struct scrub *s = *command != '\0' ? world_scrub(&j->w, e) : NULL;
	char cwd[4096], *name;
	struct clean_text *clean;

	session_init(out);
	if (*command == '\0')
		return 0;
	if (s == NULL || (place == NULL && (place = getcwd(cwd, sizeof cwd)) == NULL)) {
		scrub_free(s);
		return s == NULL ? -1 : err_sys(e, GT_FAIL, "no-place", "the directory of gt-recover is gone, and the epic names no workspace");
	}
	name = session_name(agent);
	clean = scrub_string(s, command);
	session_set(&out->agent_uuid, agent);
	session_set(&out->provider_name, PROVIDER);
	session_set(&out->session, name);
	session_set(&out->workspace_path, place);
	session_set(&out->start_command, clean_bytes(clean));
	clean_free(clean);
	scrub_free(s);
	free(name);
	return 0;
}

/* It is as the key start_command has it, SUSPENDED, in *out. 1; 0: there is no such key, *out is as it was. */
static int
record_agent(struct verb_job *j, const struct epic *x, const char *agent, struct session *out, struct err *e)
{
	struct session made;
	int ret = make_session(j, x, agent, &made, e);

	if (ret == 0 && made.start_command != NULL) {
		session_release(out);
		ret = session_record(j->store, &made, NULL, e) == 0 &&
		    session_suspend(j->store, agent, NULL, "it is started for its epic", out, e) == 0 ? 1 : -1;
	}
	session_release(&made);
	return ret;
}

/* One that the key made and that never had a conversation: the key may have been corrected since. 1; -1. */
static int
renew(struct verb_job *j, const struct epic *x, struct session *out, struct err *e)
{
	struct session made, old;
	struct buf blob = BUF_INIT;
	char *agent;
	int ret;

	if (out->cursor_session_id != NULL || out->provider_name == NULL || strcmp(out->provider_name, PROVIDER) != 0)
		return 1;
	ret = make_session(j, x, out->agent_uuid, &made, e);
	if (ret == 0 && made.start_command != NULL && strcmp(made.start_command, out->start_command != NULL ? out->start_command : "") != 0) {
		agent = xstrdup(out->agent_uuid);
		ret = session_restore(j->store, agent, &blob, &old, e);
		if (ret == 0)
			ret = record_agent(j, x, agent, out, e) > 0 ? 0 : -1;
		session_release(&old);
		buf_release(&blob);
		free(agent);
	}
	session_release(&made);
	return ret == 0 ? 1 : -1;
}

/* Some session is known to be that process. */
static bool
is_claimed(struct store *s, pid_t pid, const struct moment *now)
{
	struct sessions all = { .n = 0 };
	bool claimed = false;

	if (sessions_read(s, SESSION_ACTIVE, &all, NULL) == 0)
		for (size_t i = 0; i < all.n && !claimed; i++)
			claimed = all.v[i].pid == pid && session_lives(&all.v[i], now);
	sessions_release(&all);
	return claimed;
}

/* An agent that may be it: in its tmux session, or in its directory and nobody else's. */
static const struct candidate *
find_living(struct verb_job *j, const struct session *x, const struct candidates *all, const struct moment *now)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct candidate *c = &all->v[i];
		bool place = x->workspace_path != NULL && c->cwd != NULL && strcmp(c->cwd, x->workspace_path) == 0;
		bool name = x->session != NULL && strcmp(c->pane.session, x->session) == 0;

		if (!class_crashed(c->class) && (name || place) && (c->agent_pid == 0 || !is_claimed(j->store, c->agent_pid, now)))
			return c;
	}
	return NULL;
}

int
epic_agent(struct verb_job *j, const struct epic *x, const struct candidates *all, const char *agent, struct session *out, struct err *e)
{
	const struct candidate *living;
	const char *why;
	struct moment now;
	int found = session_load(j->store, agent, out, e);

	moment_now(&now);
	if (found == 0 && (found = record_agent(j, x, agent, out, e)) == 0) {
		err_set(e, GT_REFUSED, "not-startable", "no session of it is recorded, and start_command is not set");
		return err_hint(e, "gt-recover session record tells how to start it, or the key start_command of [recovery.epics]");
	}
	if (found < 0)
		return -1;
	if (out->state == SESSION_ENDED) {
		err_set(e, GT_REFUSED, "ended", "its session has ended, and one that has ended is not taken up again");
		return err_hint(e, "Record who goes on with its work (gt-recover session record), and name that one as its sessionId by gt-recover"
		    " checkpoint agent");
	}
	if (out->state == SESSION_SUSPENDED)
		return renew(j, x, out, e);
	if (session_lives(out, &now))
		return 0;
	if (session_is_elsewhere(out)) {
		err_set(e, GT_REFUSED, "elsewhere", "it is active on the host %s, and nobody here can tell whether it lives", out->host);
		return err_hint(e, "Resume it there. If that host is gone for good: gt-recover session suspend %.60s, session restore, session"
		    " suspend; then again", agent);
	}
	if (!session_lost(out, &now) && (living = find_living(j, out, all, &now)) != NULL) {
		err_set(e, GT_REFUSED, "there", "nobody noted its process, and in the tmux session %.60s an agent lives that may be it", living->pane.session);
		return err_hint(e, "If it is, record it with its pid: gt-recover session record; if not: gt-recover session suspend %.60s", agent);
	}
	why = session_lost(out, &now) ? "its process is gone" : "its epic is resumed, and no process of it is known";
	session_release(out);
	return session_suspend(j->store, agent, NULL, why, out, e) == 0 ? 1 : -1;
}
