#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "detect/detect_private.h"
#include "scrub/scrub.h"
#include "app/app.h"
#include "process/proc.h"
#include "base/buf.h"
#include "records/agents/agents.h"
#include "config/config.h"
#include "beads/beads.h"

const char *
detect_status_name(enum agent_status c)
{
	static const char *const names[] = { "dead", "zombie", "restored", "missing", "respawned", "live",
		"unknown", "remote" };

	return names[c];
}

const char *
detect_reason_name(enum crash_cause r)
{
	static const char *const names[] = { "", "exited", "killed", "oom", "server_exit", "process_died",
		"stopped", "limit", "unknown" };

	return names[r];
}

const char *
detect_command_source_name(enum command_source s)
{
	static const char *const names[] = { "unknown", "seen", "snapshot", "record", "pane", "given",
		"configured", "assumed" };

	return names[s];
}

bool
detect_status_crashed(enum agent_status c)
{
	return c < AGENT_LIVE;
}

bool
detect_status_has_shell(enum agent_status c)
{
	return c == AGENT_ZOMBIE || c == AGENT_RESTORED;
}

bool
detect_status_has_pane(enum agent_status c)
{
	return c != AGENT_MISSING;
}

bool
detect_status_has_screen(enum agent_status c)
{
	return detect_status_has_pane(c) && c != AGENT_RESPAWNED;
}

size_t
candidate_lines(const struct candidate *c)
{
	return c->lines > 0 ? c->lines : c->snapshot_lines;
}

const char *
candidate_teammate(const struct candidate *c, const char **team)
{
	*team = launch_flag(&c->launch, "--team-name");
	return *team != NULL && transcript_has_pid_files(c->profile->transcript)
	    ? launch_flag(&c->launch, "--agent-name")
	    : NULL;
}

const char *
candidate_noted_conversation(const struct candidate *c)
{
	bool own = c->own_pid_record || c->agent_pid != 0 || c->background != NULL;

	return own ? c->pid_record.session_id : NULL;
}

bool
candidate_has_ended(const struct candidate *c)
{
	return c->status == AGENT_MISSING && c->reason == REASON_STOPPED;
}

bool
candidate_crashed(const struct candidate *c)
{
	return detect_status_crashed(c->status) && !candidate_has_ended(c) && !c->by_place;
}

void
candidate_release(struct candidate *c)
{
	pane_release(&c->pane);
	launch_release(&c->launch);
	agent_pid_file_release(&c->pid_record);
	free(c->cwd);
	free(c->config_dir);
	free(c->snapshot);
	free(c->missing_secret);
	free(c->background);
	free(c->background_state);
	free(c->remote);
	free(c->remote_hint);
	free(c->conversation);
	free(c->program);
	free(c->session_id);
	free(c->started_by);
	free(c->recovered_by);
	town_list_release(&c->inherited_env);
	if (c->record != NULL)
		session_release(c->record);
	free(c->record);
	memset(c, 0, sizeof *c);
}

char *
detect_copy(const char *s)
{
	return s != NULL ? xstrdup(s) : NULL;
}

void
candidate_fill_pane(struct pane *p)
{
	char **texts[] = { &p->session_id, &p->window_id, &p->window_name, &p->dead_line, &p->version,
		&p->kept, &p->command, &p->start_command, &p->start_list, &p->start_path, &p->path, &p->tty,
		&p->title, &p->layout, &p->session_group, &p->default_command, &p->place, &p->filled,
		&p->window_made, &p->session_made };

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (*texts[i] == NULL)
			*texts[i] = xstrdup("");
	if (p->default_shell == NULL)
		p->default_shell = xstrdup("/bin/sh");
	p->remain_on_exit = xstrdup("off");
	p->dead = true;
	p->dead_status = p->dead_signal = -1;
	p->width = p->width > 0 ? p->width : 80;
	p->height = p->height > 0 ? p->height : 24;
}

int
candidate_signal(const struct candidate *c)
{
	if (c->pane.dead_signal > 0)
		return c->pane.dead_signal;
	return c->pane.dead_status == 128 + SIGKILL ? SIGKILL : 0;
}

void
candidate_without_pane(const struct tmux *t, char *session, const char *cwd, struct pane *p)
{
	p->socket = xstrdup(t->socket);
	p->socket_path = tmux_socket_path(t);
	p->session = session;
	p->id = xstrdup(session);
	p->start_path = xstrdup(cwd);
	candidate_fill_pane(p);
}

static void
learn_environments(struct scrub *s, const struct candidate *c)
{
	char *block;
	size_t n;

	for (size_t i = 0; i < c->pane.n_env; i++)
		scrub_learn_environ(s, c->pane.env[i], strlen(c->pane.env[i]) + 1);
	for (size_t i = 0; i < c->launch.program && i < c->launch.n_words; i++)
		if (strchr(c->launch.words[i].text, '=') != NULL)
			scrub_learn_environ(s, c->launch.words[i].text, strlen(c->launch.words[i].text) + 1);
	if (!c->pane.dead &&
	    (block = proc_environ(c->status == AGENT_LIVE ? c->agent_pid : c->pane.pid, &n)) != NULL) {
		scrub_learn_environ(s, block, n);
		explicit_bzero(block, n);
		free(block);
	}
}

void
candidate_learn(struct app *w, struct scrub *s, const struct candidate *c)
{
	if (config_flag(w->config, "scrub.known_values"))
		learn_environments(s, c);
	if (config_flag(w->config, "scrub.known_files")) {
		const char *home = pane_env(&c->pane, "HOME");

		scrub_learn_files(s, home != NULL ? home : getenv("HOME"), c->cwd);
		scrub_learn_agent_files(s, c->config_dir);
	}
}

static void
add_once(struct town_list *l, char *path)
{
	for (size_t i = 0; path != NULL && i < l->n; i++)
		if (strcmp(l->v[i], path) == 0) {
			free(path);
			return;
		}
	if (path != NULL)
		town_list_add(l, path);
}

/* Where beads may be: files of SQLite, and .beads directories of Dolt stores. */
struct bead_places {
	struct town_list files, dolts;
};

static void
add_place(struct bead_places *p, const char *dir, bool walk_up)
{
	bool dolt;

	add_once(&p->files, bead_database(dir, walk_up, &dolt));
	if (dolt)
		add_once(&p->dolts, bead_dolt_dir(dir, walk_up));
}

/* What the session says, the town's in their order, the folder of the work itself. */
static void
find_places(struct app *w, const struct candidate *c, struct bead_places *p)
{
	const char *beads_dir = pane_env(&c->pane, "BEADS_DIR");
	struct town_list dirs = TOWN_LIST_INIT;

	*p = (struct bead_places){ TOWN_LIST_INIT, TOWN_LIST_INIT };
	if (beads_dir != NULL)
		add_place(p, beads_dir, false);
	town_bead_dirs(w->town, c->role.rig, &dirs);
	for (size_t i = 0; i < dirs.n; i++)
		add_place(p, dirs.v[i], false);
	if (p->files.n == 0 && p->dolts.n == 0)
		add_place(p, c->cwd, true);
	town_list_release(&dirs);
}

/*
 * GT_ROLE's rig and name; outside a town the actor that beads itself is told. `quick`: what a
 * list needs to know.
 */
int
candidate_find_bead(
    struct app *w, const struct candidate *c, bool quick, struct scrub *s, struct bead *out, struct err *e)
{
	const char *hint = pane_env(&c->pane, "GT_WORK_BEAD"), *actor = pane_env(&c->pane, "BD_ACTOR");
	const char *name = *c->role.name != '\0' ? c->role.name : actor != NULL ? actor : "";
	const char *rig_name = *c->role.rig != '\0' ? c->role.rig : NULL;
	const struct rig *rig = rig_name != NULL ? town_rig(w->town, rig_name) : NULL;
	struct bead_places p;
	int ret = 0;

	find_places(w, c, &p);
	if (p.dolts.n > 0 && (*name != '\0' || hint != NULL)) {
		const struct bead_cli cli = { .bd = app_bd(w),
			.dirs = (const char *const *)p.dolts.v,
			.n = p.dolts.n,
			.rig = rig_name,
			.prefix = rig != NULL ? rig->prefix : NULL,
			.name = name,
			.hint = hint,
			.quick = quick };

		ret = bead_cli_find(&cli, s, out, e);
	}
	if (ret == 0 && out->id == NULL && p.files.n > 0 && (*name != '\0' || hint != NULL)) {
		bead_release(out);
		ret = bead_find((const char *const *)p.files.v, p.files.n, rig_name, name, hint, s, out, e);
	}
	town_list_release(&p.files);
	town_list_release(&p.dolts);
	return ret;
}

void
candidate_bead(struct app *w, const struct candidate *c, struct scrub *s, struct bead *out)
{
	if (candidate_find_bead(w, c, true, s, out, NULL) != 0)
		bead_release(out);
}
