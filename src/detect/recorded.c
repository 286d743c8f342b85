#include <stdlib.h>
#include <string.h>

#include "detect/detect_private.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/host.h"
#include "base/timestamp.h"
#include "beads/beads.h"
#include "records/agents/agents.h"
#include "records/recovery/recovery.h"
#include "store/store.h"

/* ---- assignments ---- */

static void
set_times(struct detection *d, struct candidate *c)
{
	struct heartbeat beat;
	struct session_last_starts of;

	if (heartbeat_read(d->w->town, c->pane.session, &beat) && beat.at > 0)
		c->crashed_at = beat.at;
	town_starts_of(detect_starts(d), &c->role, c->cwd, &of);
	if (of.last == NULL)
		return;
	if (transcript_is_id(of.last->session_id))
		c->session_id = xstrdup(of.last->session_id);
	if (c->crashed_at < of.last->at)
		c->crashed_at = of.last->at;
	c->pane.activity = c->crashed_at / 1000;
}

static bool
has_work(struct detection *d, const struct candidate *c)
{
	struct bead bead = BEAD_INIT;
	bool yes;

	if (detect_scrub(d) == NULL)
		return false;
	candidate_bead(d->w, c, detect_scrub(d), &bead);
	yes = bead.id != NULL && !bead.closed && bead.status != NULL &&
	    (strcmp(bead.status, "hooked") == 0 || strcmp(bead.status, "in_progress") == 0);
	bead_release(&bead);
	return yes;
}

static bool
no_server_runs(const struct detection *d)
{
	for (size_t i = 0; i < d->n_servers; i++)
		if (d->servers[i].runs)
			return false;
	return true;
}

static enum claim_answer
explain_assignment(struct detection *d, struct claim *x, struct candidate *c)
{
	const struct town_role *role = x->about;
	struct app *w = d->w;
	struct town_list dirs = TOWN_LIST_INIT;

	*c = (struct candidate){ .role = *role,
		.unknown_reason = "",
		.status = AGENT_MISSING,
		.reason = no_server_runs(d) ? REASON_SERVER_EXIT : REASON_PROCESS_DIED,
		.profile = profile_find(w->profiles, "claude") };
	town_workdirs(w->town, role, &dirs);
	if (dirs.n == 0 || c->profile == NULL) {
		town_list_release(&dirs);
		return CLAIM_OPEN;
	}
	candidate_without_pane(&w->servers[0], xstrdup(x->key.session), dirs.v[0], &c->pane);
	c->cwd = xstrdup(dirs.v[0]);
	town_list_release(&dirs);
	c->config_dir = agent_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME"));
	c->command_source = COMMAND_CONFIGURED;
	if (*c->profile->command != '\0')
		launch_command(&c->launch, c->profile->command, c->pane.default_shell,
		    profile_list_has_program, w->profiles);
	if (!has_work(d, c))
		return CLAIM_OPEN;
	set_times(d, c);
	return CLAIM_AGENT;
}

static void
forget_assignment(struct claim *x)
{
	free(x->about);
}

static void
claim_polecat(struct detection *d, const char *rig, const char *name, struct claim_list *out)
{
	struct town_role role = { .kind = TOWN_ROLE_POLECAT }, *about;
	struct claim *x;
	char *session;

	if (strlen(rig) >= sizeof role.rig || strlen(name) >= sizeof role.name)
		return;
	strcpy(role.rig, rig);
	strcpy(role.name, name);
	session = town_session_name(d->w->town, &role);
	if (session == NULL)
		return;
	about = xmalloc(sizeof *about);
	*about = role;
	x = detect_add_claim(out);
	x->about = about;
	x->key.session = session;
}

static int
list_assignments(struct detection *d, struct claim_list *out, struct err *e)
{
	struct app *w = d->w;

	(void)e;
	if (w->n_servers == 0 || d->n_servers < w->n_servers)
		return 0;
	for (size_t i = 0; i < town_rigs(w->town); i++) {
		const struct rig *rig = town_rig_at(w->town, i);
		struct town_list names = TOWN_LIST_INIT;

		town_polecats(w->town, rig->name, &names);
		for (size_t k = 0; k < names.n; k++)
			claim_polecat(d, rig->name, names.v[k], out);
		town_list_release(&names);
	}
	return 0;
}

/* ---- records ---- */

/* The world's server with the recorded socket; none recorded: the first. */
static struct tmux *
server_of(struct app *w, const struct session *x)
{
	for (size_t i = 0; i < w->n_servers; i++) {
		char *path = tmux_socket_path(&w->servers[i]);
		bool same = x->socket == NULL || strcmp(x->socket, w->servers[i].socket) == 0 ||
		    strcmp(x->socket, path) == 0;

		free(path);
		if (same)
			return &w->servers[i];
	}
	return NULL;
}

const struct candidate *
candidate_of_session(struct app *w, const struct session *x, const struct candidate_list *all)
{
	const struct tmux *t = server_of(w, x);
	const struct candidate *known = NULL;

	for (size_t i = 0; t != NULL && x->session != NULL && i < all->n; i++) {
		const struct candidate *c = &all->v[i];

		if (strcmp(c->pane.session, x->session) != 0 || strcmp(c->pane.socket, t->socket) != 0)
			continue;
		/* who lives there goes before who died there */
		if (known == NULL ||
		    (detect_status_crashed(known->status) && !detect_status_crashed(c->status)))
			known = c;
	}
	return known;
}

/* Of an earlier restart by the record, which has been answered, this is the next crash. */
static void
note_answered(struct app *w, struct candidate *c)
{
	struct store *store = app_store(w, false, NULL);
	const struct pane *p = &c->pane;
	struct attempt a;

	if (store == NULL)
		return;
	if (attempt_latest(store, p->socket_path, p->server_pid, p->server_start, p->id, &a, NULL) == 1 &&
	    a.phase == PHASE_ACKNOWLEDGED)
		c->recovered_by = xstrdup(a.id);
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
find_session_config_dir(const struct candidate *c)
{
	const struct launch *l = &c->launch;
	char *moved, *home, *dir;

	if (c->profile == NULL || !transcript_has_pid_files(c->profile->transcript))
		return c->profile != NULL ? profile_folder(c->profile, variable, l) : NULL;
	moved = launch_env(l, "CLAUDE_CONFIG_DIR");
	home = launch_env(l, "HOME");
	dir = agent_config_dir(moved != NULL || home != NULL ? moved : getenv("CLAUDE_CONFIG_DIR"),
	    home != NULL ? home : getenv("HOME"));
	free(moved);
	free(home);
	return dir;
}

int
candidate_from_session(struct app *w, const struct session *x, struct candidate *c, struct err *e)
{
	const struct tmux *t = server_of(w, x);

	*c = (struct candidate){ .unknown_reason = "",
		.status = AGENT_MISSING,
		.reason = REASON_SERVER_EXIT,
		.crashed_at = x->changed_at };
	if (x->start_command == NULL || x->session == NULL || x->workspace_path == NULL || t == NULL) {
		err_set(e, GT_REFUSED, "no-place-known",
		    "its record has no directory or start command");
		return err_hint(e, "its orchestrator can resume it: gt-recover records agent resume");
	}
	candidate_without_pane(t, xstrdup(x->session), x->workspace_path, &c->pane);
	c->cwd = xstrdup(x->workspace_path);
	if (town_session_role(w->town, x->session, &c->role) != 0)
		town_path_role(w->town, x->workspace_path, &c->role);
	if (strstr(x->start_command, "[REDACTED:") != NULL)
		c->missing_secret = xstrdup("its start command held a secret, which no record keeps");
	c->command_source = COMMAND_RECORD;
	launch_command(
	    &c->launch, x->start_command, c->pane.default_shell, profile_list_has_program, w->profiles);
	c->profile = c->launch.name != NULL ? profile_by_program(w->profiles, c->launch.name) : NULL;
	c->config_dir = find_session_config_dir(c);
	if (c->profile != NULL) {
		note_answered(w, c);
		return 0;
	}
	err_set(e, GT_REFUSED, "no-agent-known", "its start command starts no known agent");
	return err_hint(e, "describe the agent in [recovery.agents.NAME] of gt.toml");
}

/* What the server answers now; each is asked once. */
static const struct server_now *
ask_server(struct detection *d, const char *socket)
{
	struct tmux *t = app_server(d->w, socket);
	struct server_now *one = &d->now[t - d->w->servers];
	struct err e = ERR_INIT;

	if (!one->asked)
		one->silent = pane_list_bare(t, &one->panes, &e) != 0 && strcmp(e.name, "no-server") != 0;
	one->asked = true;
	return one;
}

/* A sentence; NULL: it is certain that it is gone. */
static const char *
doubt(struct detection *d, const struct session *x, const struct candidate *c)
{
	const struct server_now *server = ask_server(d, c->pane.socket);

	if (x->state == SESSION_ACTIVE && x->boot_id[0] == '\0')
		return "recorded as active, process unknown";
	if (server->silent)
		return "its tmux server does not answer";
	for (size_t i = 0; i < server->panes.n; i++)
		if (strcmp(server->panes.v[i].session, c->pane.session) == 0)
			return "recorded in a tmux session of this name, which has no living agent";
	return NULL;
}

static enum claim_answer
explain_record(struct detection *d, struct claim *claim, struct candidate *c)
{
	struct session *x = claim->about;
	struct err no = ERR_INIT;
	const char *why;

	if (candidate_from_session(d->w, x, c, &no) != 0)
		return CLAIM_OPEN;
	c->reason = REASON_UNKNOWN;
	if (x->state == SESSION_ACTIVE)
		c->crashed_at = 0;
	why = doubt(d, x, c);
	if (why != NULL) {
		c->status = AGENT_UNKNOWN;
		c->reason = REASON_NONE;
		c->unknown_reason = why;
	}
	c->record = x;
	claim->about = NULL;
	return CLAIM_AGENT;
}

static void
forget_record(struct claim *claim)
{
	struct session *x = claim->about;

	if (x != NULL)
		session_release(x);
	free(x);
}

static void
claim_record(struct app *w, const struct session *x, struct claim_list *out)
{
	const struct tmux *t = server_of(w, x);
	struct claim *claim = detect_add_claim(out);
	struct session *copy = xcalloc(1, sizeof *copy);

	session_copy(copy, x);
	claim->about = copy;
	if (t != NULL && x->session != NULL) {
		claim->key.socket = xstrdup(t->socket);
		claim->key.session = xstrdup(x->session);
	}
	if (x->cursor_session_id != NULL)
		claim->key.conversation = xstrdup(x->cursor_session_id);
}

static int
list_records(struct detection *d, struct claim_list *out, struct err *e)
{
	struct err none = ERR_INIT;
	struct store *store = app_store(d->w, false, &none);
	struct session_list open = { .n = 0 };
	struct timestamp now;
	int ret = 0;

	timestamp_now(&now);
	d->now = xcalloc(d->w->n_servers + 1, sizeof *d->now);
	/* a store that cannot be read knows nobody, as everywhere where one looks (app.h) */
	if (store != NULL &&
	    (session_list_read(store, SESSION_ACTIVE, &open, e) != 0 ||
		session_list_read(store, SESSION_SUSPENDED, &open, e) != 0))
		ret = -1;
	for (size_t i = 0; i < open.n && ret == 0; i++)
		if (!host_is_other(open.v[i].host) && !session_is_alive(&open.v[i], &now))
			claim_record(d->w, &open.v[i], out);
	session_list_release(&open);
	return ret;
}

const struct agent_source detect_from_assignments = {
	.name = "assignments", .bit = FROM_ASSIGNMENTS, .list = list_assignments,
	.explain = explain_assignment, .forget = forget_assignment,
};

const struct agent_source detect_from_records = {
	.name = "records", .bit = FROM_RECORDS, .list = list_records, .explain = explain_record,
	.forget = forget_record,
};
