#include <stdlib.h>
#include <string.h>

#include "detect/detect_private.h"
#include "detect/detect.h"
#include "agent/agent.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/host.h"
#include "base/timestamp.h"
#include "beads/beads.h"
#include "gastown/gastown.h"
#include "records/agents/agents.h"
#include "records/recovery/recovery.h"
#include "store/store.h"
#include "tmux/tmux.h"
#include "transcript/locate/locate.h"

static bool
is_known(const struct candidate_list *out, const char *session)
{
	for (size_t i = 0; i < out->n; i++)
		if (strcmp(out->v[i].pane.session, session) == 0)
			return true;
	return false;
}

static void
set_times(struct gone_index *m, struct candidate *c)
{
	struct heartbeat beat;
	struct session_last_starts of;

	if (heartbeat_read(m->w->town, c->pane.session, &beat) && beat.at > 0)
		c->crashed_at = beat.at;
	town_starts_of(gone_index_starts(m), &c->role, c->cwd, &of);
	if (of.last == NULL)
		return;
	if (transcript_is_id(of.last->session_id))
		c->session_id = xstrdup(of.last->session_id);
	if (c->crashed_at < of.last->at)
		c->crashed_at = of.last->at;
	c->pane.activity = c->crashed_at / 1000;
}

static bool
has_work(struct gone_index *m, const struct candidate *c)
{
	struct bead bead = BEAD_INIT;
	bool yes;

	if (gone_index_scrub(m) == NULL)
		return false;
	candidate_bead(m->w, c, gone_index_scrub(m), &bead);
	yes = bead.id != NULL && !bead.closed && bead.status != NULL &&
	    (strcmp(bead.status, "hooked") == 0 || strcmp(bead.status, "in_progress") == 0);
	bead_release(&bead);
	return yes;
}

static void
add_assigned(struct gone_index *m, const struct town_role *role, bool server_died, struct candidate_list *out)
{
	char *session = town_session_name(m->w->town, role);
	struct town_list dirs = TOWN_LIST_INIT;
	struct candidate c = { .role = *role,
		.unknown_reason = "",
		.status = AGENT_MISSING,
		.profile = profile_find(m->w->profiles, "claude") };

	town_workdirs(m->w->town, role, &dirs);
	if (session == NULL || dirs.n == 0 || c.profile == NULL || is_known(out, session) ||
	    gone_index_has_session(m, session)) {
		free(session);
		town_list_release(&dirs);
		return;
	}
	candidate_without_pane(&m->w->servers[0], session, dirs.v[0], &c.pane);
	c.cwd = xstrdup(dirs.v[0]);
	c.config_dir = agent_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME"));
	c.reason = server_died ? REASON_SERVER_EXIT : REASON_PROCESS_DIED;
	if (*c.profile->command != '\0')
		launch_command(&c.launch, c.profile->command, c.pane.default_shell, profile_list_has_program,
		    m->w->profiles);
	town_list_release(&dirs);
	if (!has_work(m, &c)) {
		candidate_release(&c);
		return;
	}
	set_times(m, &c);
	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	out->v[out->n++] = c;
}

void
detect_assigned(struct gone_index *m, struct candidate_list *out)
{
	struct app *w = m->w;
	bool server_died = gone_index_no_server(m);

	if (town_root(w->town) == NULL || w->n_servers == 0 || !gone_index_is_complete(m))
		return;
	for (size_t i = 0; i < town_rigs(w->town); i++) {
		const struct rig *rig = town_rig_at(w->town, i);
		struct town_list names = TOWN_LIST_INIT;

		town_polecats(w->town, rig->name, &names);
		for (size_t k = 0; k < names.n; k++) {
			struct town_role role = { .kind = TOWN_ROLE_POLECAT };

			if (strlen(rig->name) >= sizeof role.rig || strlen(names.v[k]) >= sizeof role.name)
				continue;
			strcpy(role.rig, rig->name);
			strcpy(role.name, names.v[k]);
			add_assigned(m, &role, server_died, out);
		}
		town_list_release(&names);
	}
}

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
		    "its record does not tell where and by what command it ran");
		return err_hint(e, "whoever started it brings it back: gt-recover agent resume takes it up");
	}
	candidate_without_pane(t, xstrdup(x->session), x->workspace_path, &c->pane);
	c->cwd = xstrdup(x->workspace_path);
	if (town_session_role(w->town, x->session, &c->role) != 0)
		town_path_role(w->town, x->workspace_path, &c->role);
	if (strstr(x->start_command, "[REDACTED:") != NULL)
		c->missing_secret = xstrdup("its start command held a secret, which no record keeps");
	launch_command(
	    &c->launch, x->start_command, c->pane.default_shell, profile_list_has_program, w->profiles);
	c->profile = c->launch.name != NULL ? profile_by_program(w->profiles, c->launch.name) : NULL;
	c->config_dir = find_session_config_dir(c);
	if (c->profile != NULL) {
		note_answered(w, c);
		return 0;
	}
	err_set(e, GT_REFUSED, "no-agent-known", "its start command starts no agent that is known");
	return err_hint(e, "describe the agent in [recovery.agents.NAME] of gt.toml");
}

/* What one tmux server answers, asked when it is needed. */
struct server_panes {
	bool done, silent;
	struct panes panes;
};

static const struct server_panes *
ask(struct app *w, struct server_panes *servers, const char *socket)
{
	struct tmux *t = app_server(w, socket);
	struct server_panes *one = &servers[t - w->servers];
	struct err e = ERR_INIT;

	if (!one->done)
		one->silent = pane_list_bare(t, &one->panes, &e) != 0 && strcmp(e.name, "no-server") != 0;
	one->done = true;
	return one;
}

/* A sentence; NULL: it is certain that it is gone. */
static const char *
doubt(const struct session *x, const struct candidate *c, const struct server_panes *server)
{
	if (x->state == SESSION_ACTIVE && x->boot_id[0] == '\0')
		return "it is recorded as active, with no process: whether it runs nobody can tell";
	if (server->silent)
		return "its tmux server does not answer";
	for (size_t i = 0; i < server->panes.n; i++)
		if (strcmp(server->panes.v[i].session, c->pane.session) == 0)
			return "it is recorded in a tmux session of this name, in which no agent lives";
	return NULL;
}

/* It goes on elsewhere, in a pane that tells its conversation. */
static bool
is_continued(const struct session *x, const struct candidate_list *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].agent_pid != 0 && x->cursor_session_id != NULL &&
		    all->v[i].pid_record.session_id != NULL &&
		    strcmp(x->cursor_session_id, all->v[i].pid_record.session_id) == 0)
			return true;
	return false;
}

static void
add_unless_known(
    struct app *w, const struct session *x, struct server_panes *servers, struct candidate_list *all)
{
	struct candidate c;
	struct err no = ERR_INIT;
	const char *why;

	if (candidate_from_session(w, x, &c, &no) != 0) {
		candidate_release(&c);
		return;
	}
	c.reason = REASON_UNKNOWN;
	if (x->state == SESSION_ACTIVE)
		c.crashed_at = 0;
	why = doubt(x, &c, ask(w, servers, c.pane.socket));
	if (why != NULL) {
		c.status = AGENT_UNKNOWN;
		c.reason = REASON_NONE;
		c.unknown_reason = why;
	}
	c.record = xcalloc(1, sizeof *c.record);
	session_copy(c.record, x);
	all->v = vec_room(all->v, all->n, &all->cap, sizeof *all->v);
	all->v[all->n++] = c;
}

static int
compare_recorded(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = strcmp(x->pane.session, y->pane.session);

	return order != 0 ? order : strcmp(x->record->agent_uuid, y->record->agent_uuid);
}

static int
add_recorded(struct app *w, struct candidate_list *all, struct err *e)
{
	struct err none = ERR_INIT;
	struct store *store = app_store(w, false, &none);
	struct server_panes *servers = xcalloc(w->n_servers + 1, sizeof *servers);
	struct session_list open = { .n = 0 };
	struct timestamp now;
	size_t from = all->n;
	int ret = 0;

	timestamp_now(&now);
	/* a store that cannot be read knows nobody, as everywhere where one looks (app.h) */
	if (store != NULL &&
	    (session_list_read(store, SESSION_ACTIVE, &open, e) != 0 ||
		session_list_read(store, SESSION_SUSPENDED, &open, e) != 0))
		ret = -1;
	for (size_t i = 0; i < open.n && ret == 0; i++) {
		const struct session *x = &open.v[i];
		struct candidate_list known = { .v = all->v, .n = from };

		if (!host_is_other(x->host) && !session_is_alive(x, &now) &&
		    candidate_of_session(w, x, &known) == NULL && !is_continued(x, &known))
			add_unless_known(w, x, servers, all);
	}
	if (all->n > from)
		qsort(all->v + from, all->n - from, sizeof *all->v, compare_recorded);
	for (size_t i = 0; i < w->n_servers; i++)
		pane_list_release(&servers[i].panes);
	free(servers);
	session_list_release(&open);
	return ret;
}

int
detect_recorded(struct app *w, struct candidate_list *all, int ret, struct err *e)
{
	bool no_server = ret != 0 && strcmp(e->name, "no-server") == 0;
	struct err own = ERR_INIT;

	if (ret == 0)
		ret = detect_lines(w, all, e);
	if ((ret != 0 && !no_server) || add_recorded(w, all, &own) != 0) {
		if (own.code != 0)
			*e = own;
		return -1;
	}
	/* whose server is gone is what is asked for */
	if (no_server && all->n > 0) {
		err_clear(e);
		ret = 0;
	}
	return ret;
}
