#include <stdlib.h>
#include <string.h>

#include "revive/detect.h"
#include "revive/end.h"
#include "revive/afresh.h"
#include "revive/hooked.h"
#include "revive/memory.h"
#include "revive/missing.h"
#include "revive/sources.h"
#include "revive/world.h"
#include "agent/liveness.h"
#include "agent/profile.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "context/screen.h"
#include "tmux/client.h"

/* A variable of the agent: from its own command, its session, its pane's living shell, our environment. Heap. */
static char *
agent_variable(const void *arg, const char *name)
{
	const struct candidate *c = arg;
	char *value = launch_env(&c->launch, name), *block;
	const char *found;
	size_t n;

	if (value != NULL)
		return value;
	found = pane_env(&c->pane, name);
	if (found != NULL)
		return xstrdup(found);
	if (!c->pane.dead && (block = proc_environ(c->pane.pid, &n)) != NULL) {
		found = environ_get(block, n, name);
		value = found != NULL ? xstrdup(found) : NULL;
		explicit_bzero(block, n);
		free(block);
		if (value != NULL)
			return value;
	}
	found = getenv(name);
	return found != NULL ? xstrdup(found) : NULL;
}

static char *
find_config_dir(const struct candidate *c)
{
	char *moved, *home, *dir;

	if (c->profile != NULL && *c->profile->folder != '\0')
		return profile_folder(c->profile, agent_variable, c);
	moved = agent_variable(c, "CLAUDE_CONFIG_DIR");
	home = agent_variable(c, "HOME");
	dir = session_config_dir(moved, home);
	free(moved);
	free(home);
	return dir;
}

/* The agent that the pane was started for, by what was set on purpose: start command, then environment. NULL: nothing says so. */
static const struct profile *
profile_by_setting(const struct world *w, const struct candidate *c)
{
	const char *name = pane_env(&c->pane, "GT_AGENT");
	const struct profile *p = c->launch.name != NULL ? profiles_by_program(w->profiles, c->launch.name) : NULL;

	if (p == NULL && name != NULL)
		p = profiles_find(w->profiles, name);
	if (p == NULL && pane_env(&c->pane, "GT_ROLE") != NULL)
		p = profiles_find(w->profiles, "claude");
	return p;
}

/* The note that Claude Code leaves of a killed process: of the pane's own process, or of one that a shell in this pane had started. */
static enum belongs
find_note(struct candidate *c)
{
	const struct pane *p = &c->pane;
	struct session_place where = { p->session, p->id, p->dead ? p->start_path : c->cwd, p->server_start };

	if (c->config_dir == NULL || (c->profile != NULL && strcmp(c->profile->transcript, "claude") != 0))
		return NOTE_ELSEWHERE;
	if (p->dead && session_file_read(c->config_dir, p->pid, &c->note))
		return NOTE_SAME_PANE;
	return session_file_of_dead(c->config_dir, &where, &c->note);
}

/* What a pane's last rows tell, where nothing better does. */
struct screen_signs {
	bool agent;		/* an agent drew them */
	bool farewell;		/* Claude Code said good-bye: it was ended on purpose */
};

/* The last place of a text, or NULL. */
static const char *
last_of(const char *p, size_t n, const char *text)
{
	const char *found = NULL, *hit, *end = p + n;

	while ((hit = memmem(p, (size_t)(end - p), text, strlen(text))) != NULL) {
		found = hit;
		p = hit + 1;
	}
	return found;
}

static int
look_at_screen(struct tmux *t, const struct pane *p, struct screen_signs *out, struct err *e)
{
	struct buf text = BUF_INIT;
	const char *bye, *banner;
	int ret = tmux_do(t, false, &text, e, "capture-pane", "-p", "-t", p->id, "-S", "-200", NULL);

	out->agent = ret == 0 && screen_shows_agent(text.data, text.len, "claude") != 0;
	bye = last_of(text.data, text.len, "Resume this session with:");
	banner = last_of(text.data, text.len, "Claude Code v");
	out->farewell = bye != NULL && (banner == NULL || bye > banner);
	buf_wipe(&text);
	return ret;
}

static void
set_place(struct candidate *c)
{
	char *cwd = c->pane.dead ? NULL : proc_cwd(c->pane.pid);

	if (cwd == NULL)
		cwd = xstrdup(*c->pane.path != '\0' ? c->pane.path : c->pane.start_path);
	c->cwd = cwd;
}

/* After the note is known: the agent's own word for where it worked is better than tmux's. */
static void
set_place_by_note(struct candidate *c)
{
	if (c->note.session_id == NULL || *c->note.cwd == '\0')
		return;
	free(c->cwd);
	c->cwd = xstrdup(c->note.cwd);
}

/*
 * A dead pane. False: no agent's. What died there may be anything that was started beside an agent: the session's
 * environment and the directory are those of all its panes. To start it again by itself takes a start command that names an
 * agent, the agent's own note of this pane, or one of the two weaker signs and the screen.
 */
static bool
judge_dead(struct world *w, struct tmux *t, struct candidate *c)
{
	bool named = c->launch.name != NULL && profiles_by_program(w->profiles, c->launch.name) != NULL, set = c->profile != NULL;
	enum belongs note = find_note(c);
	struct screen_signs signs = { false, false };

	if (!named && note != NOTE_SAME_PANE) {
		if (look_at_screen(t, &c->pane, &signs, NULL) != 0 || (!set && !signs.agent))
			return false;
		c->weak = !signs.agent || (!set && note == NOTE_ELSEWHERE);
	}
	if (!set)
		c->profile = profiles_find(w->profiles, "claude");
	c->class = CLASS_DEAD;
	c->reason = end_reason(w, c);
	c->crashed_at = c->pane.dead_time > 0 ? c->pane.dead_time * 1000 : c->pane.activity * 1000;
	return c->profile != NULL;
}

/* What a judgement is made of. */
struct eyes {
	struct world *w;
	const struct procs *procs;
	struct memory *memory;		/* NULL: only what is there counts */
};

/* A pane without any agent's process. False: nothing says that there ever was one. */
static bool
judge_agentless(const struct eyes *eyes, struct tmux *t, struct candidate *c)
{
	struct world *w = eyes->w;
	const struct procs *procs = eyes->procs;
	bool idle = procs_idle_shell(procs, c->pane.pid), set = c->profile != NULL, note, near;
	enum belongs whose = find_note(c);
	struct screen_signs signs = { false, false };

	note = whose == NOTE_SAME_PANE;
	near = whose == NOTE_SAME_PLACE;
	if (!set && !note && !near && !idle)
		return false;
	if (!note && look_at_screen(t, &c->pane, &signs, NULL) != 0)
		return false;
	if (!note && idle && eyes->memory != NULL && memory_restored(eyes->memory, c, signs.agent))
		return true;
	if (!set && !note && !signs.agent)
		return false;
	if (c->profile == NULL)
		c->profile = profiles_find(w->profiles, "claude");
	c->weak = !note && !((set || near) && signs.agent);
	c->class = CLASS_UNKNOWN;
	if (!idle)
		c->doubt = "no agent's process is there, but the pane's shell is not idle";
	else if (!note && !signs.agent)
		c->doubt = "the session is meant for an agent, its shell is idle, and nothing shows that an agent ever ran";
	else
		c->class = CLASS_ZOMBIE;
	c->reason = c->class != CLASS_ZOMBIE ? REASON_NONE : signs.farewell ? REASON_STOPPED : REASON_PROCESS_DIED;
	c->crashed_at = c->pane.activity * 1000;
	return c->profile != NULL;
}

/* A person's shell that was there before the agent: it, not the agent's command, is the pane's start command. */
static void
use_configured_command(const struct world *w, struct candidate *c)
{
	const struct profile *p = c->profile;

	if (p == NULL || *p->command == '\0')
		return;
	if (c->launch.command != NULL && c->launch.name != NULL && !proc_is_shell(c->launch.name))
		return;
	launch_release(&c->launch);
	launch_command(&c->launch, p->command, c->pane.default_shell, profiles_is_program, w->profiles);
}

static void
set_role(const struct world *w, struct candidate *c)
{
	const char *gt_role = pane_env(&c->pane, "GT_ROLE");

	if (gt_role != NULL && town_role(gt_role, &c->role) == 0)
		return;
	if (town_session_role(w->town, c->pane.session, &c->role) != 0)
		town_path_role(w->town, c->pane.start_path, &c->role);
}

/* What its screen shows is dead; who does its work may not be. */
static void
doubt_server(struct candidate *c)
{
	if ((c->class != CLASS_DEAD && c->class != CLASS_ZOMBIE) || !sources_works_on(c))
		return;
	c->class = CLASS_UNKNOWN;
	c->reason = REASON_NONE;
	c->doubt = "its background server is still at work on its conversation";
}

static bool
judge(const struct eyes *eyes, struct tmux *t, struct candidate *c)
{
	struct world *w = eyes->w;
	const struct proc *agent = c->pane.dead ? NULL : procs_agent(eyes->procs, c->pane.pid, profiles_is_process, w->profiles);
	char names[PROC_NAMES][64];
	bool ours, known;

	c->doubt = "";
	launch_read(&c->launch, c->pane.start_command, c->pane.default_shell, profiles_is_program, w->profiles);
	c->profile = profile_by_setting(w, c);
	set_place(c);
	c->config_dir = find_config_dir(c);
	known = c->profile != NULL;
	if (agent != NULL) {
		size_t n = proc_names(agent, names);

		for (size_t i = 0; i < n && c->profile == NULL; i++)
			c->profile = profiles_by_process(w->profiles, names[i]);
		c->class = CLASS_LIVE;
		c->agent_pid = agent->pid;
		ours = c->profile != NULL;
		if (ours && eyes->memory != NULL) {
			set_role(w, c);
			afresh(eyes->memory, c);
		}
	} else {
		ours = c->pane.dead ? judge_dead(w, t, c) : judge_agentless(eyes, t, c);
	}
	if (ours && c->snapshot == NULL) {
		if (!known) {
			free(c->config_dir);
			c->config_dir = find_config_dir(c);
		}
		doubt_server(c);
		set_place_by_note(c);
		use_configured_command(w, c);
		set_role(w, c);
	}
	return ours;
}

static bool
any_zombie(const struct candidates *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].class == CLASS_ZOMBIE)
			return true;
	return false;
}

/* The second, agreeing probe: an agent that is just being started by its shell has a process by now. */
static int
confirm_zombies(struct world *w, struct candidates *list, struct err *e)
{
	struct procs procs;

	if (!any_zombie(list))
		return 0;
	clock_sleep_ms(50);
	if (procs_read(&procs, e) != 0)
		return -1;
	for (size_t i = 0; i < list->n; i++) {
		struct candidate *c = &list->v[i];

		if (c->class != CLASS_ZOMBIE)
			continue;
		if (!procs_idle_shell(&procs, c->pane.pid) || procs_agent(&procs, c->pane.pid, profiles_is_process, w->profiles) != NULL) {
			c->class = CLASS_UNKNOWN;
			c->reason = REASON_NONE;
			c->doubt = "two looks at its processes did not agree";
		}
	}
	procs_release(&procs);
	return 0;
}

static void
judge_all(const struct eyes *eyes, struct tmux *t, struct panes *panes, struct candidates *out)
{
	for (size_t i = 0; i < panes->n; i++) {
		struct candidate c = { .pane = panes->v[i] };
		bool known = false;

		/* one server may be reached by two names */
		for (size_t k = 0; k < out->n && !known; k++)
			known = out->v[k].pane.server_pid == c.pane.server_pid && strcmp(out->v[k].pane.id, c.pane.id) == 0;
		memset(&panes->v[i], 0, sizeof panes->v[i]);
		if (known || !judge(eyes, t, &c)) {
			candidate_release(&c);
			continue;
		}
		out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
		out->v[out->n++] = c;
	}
}

static int
detect_server(const struct eyes *eyes, struct tmux *t, struct candidates *out, struct err *e)
{
	struct panes panes = { .n = 0 };
	int ret = panes_list(t, &panes, e);

	if (ret == 0) {
		memory_saw(eyes->memory, t, &panes);
		judge_all(eyes, t, &panes, out);
		out->servers++;
	} else if (strcmp(e->name, "no-server") == 0) {
		memory_saw(eyes->memory, t, NULL);
	}
	panes_release(&panes);
	return ret;
}

int
detect_listed(struct world *w, struct tmux *t, struct panes *panes, struct candidates *out, struct err *e)
{
	struct procs procs;
	int ret = panes_environ(t, panes, 0, e);

	memset(out, 0, sizeof *out);
	if (ret != 0 || procs_read(&procs, e) != 0)
		return -1;
	judge_all(&(struct eyes){ w, &procs, NULL }, t, panes, out);
	procs_release(&procs);
	ret = confirm_zombies(w, out, e);
	if (ret != 0)
		candidates_release(out);
	return ret;
}

static int
by_name(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = strcmp(x->pane.session, y->pane.session);

	return order != 0 ? order : strcmp(x->pane.id, y->pane.id);
}

static void
find_missing(struct memory *m, struct candidates *out)
{
	size_t from = out->n;

	missing(m, out);
	hooked_missing(m, out);
	if (out->n > from)
		qsort(out->v + from, out->n - from, sizeof *out->v, by_name);
}

/* A server that was named and does not run is a mistake, unless agents are remembered that it had. */
static bool
known_on(const struct candidates *out, const char *socket)
{
	for (size_t i = 0; i < out->n; i++)
		if (strcmp(out->v[i].pane.socket, socket) == 0)
			return true;
	return false;
}

int
detect(struct world *w, struct candidates *out, struct err *e)
{
	struct procs procs;
	struct memory memory;
	const struct eyes eyes = { w, &procs, &memory };
	struct err first = ERR_INIT;
	const char *absent = "";
	int ret = 0;

	memset(out, 0, sizeof *out);
	if (procs_read(&procs, e) != 0)
		return -1;
	memory_init(&memory, w);
	for (size_t i = 0; i < w->n_servers && ret == 0; i++) {
		if (detect_server(&eyes, &w->servers[i], out, e) == 0)
			continue;
		if (first.code == 0 || strcmp(first.name, "no-server") == 0)
			first = *e;
		/* one server that hangs must not keep the agents of the others dead */
		absent = strcmp(e->name, "no-server") == 0 ? w->servers[i].socket : absent;
		if (w->sockets_named && strcmp(e->name, "no-server") != 0)
			ret = -1;
		else if (strcmp(e->name, "no-server") != 0 && out->trouble.code == 0)
			out->trouble = *e;
	}
	if (ret == 0)
		find_missing(&memory, out);
	if (ret == 0 && first.code != 0 && (w->sockets_named ? !known_on(out, absent) : out->servers + out->n == 0)) {
		*e = first;
		ret = -1;
	}
	if (ret == 0)
		ret = confirm_zombies(w, out, e);
	if (ret == 0 && e != NULL)
		err_clear(e);
	procs_release(&procs);
	memory_release(&memory);
	if (ret != 0)
		candidates_release(out);
	return ret;
}

static int
changed(const struct candidate *c, const char *how, struct err *e)
{
	err_set(e, GT_AGAIN, "changed", "pane %s changed while it was looked at: %s", c->pane.id, how);
	return err_hint(e, "nothing was done to it; run gt-recover list to see what it is now");
}

int
detect_again(struct world *w, const struct candidate *c, struct err *e)
{
	struct tmux *t = world_server(w, c->pane.socket);
	struct pane now = { .pid = 0 };
	struct procs procs = { .n = 0 };
	int ret;

	if (pane_again(t, &c->pane, &now, e) != 0)
		return -1;
	ret = procs_read(&procs, e);
	if (ret != 0)
		;
	else if (c->class == CLASS_RESPAWNED)
		ret = now.pid == c->pane.pid && !now.dead && procs_find(&procs, c->agent_pid) != NULL ? 0 : changed(c, "its agent is gone", e);
	else if (now.pid != c->pane.pid)
		ret = changed(c, "another process runs in it", e);
	else if (now.dead != (c->class == CLASS_DEAD))
		ret = changed(c, now.dead ? "its shell ended" : "it is alive", e);
	else if (!now.dead && procs_agent(&procs, now.pid, profiles_is_process, w->profiles) != NULL)
		ret = changed(c, "an agent runs in it", e);
	else if (!now.dead && !procs_idle_shell(&procs, now.pid))
		ret = changed(c, "its shell is busy", e);
	procs_release(&procs);
	pane_release(&now);
	return ret;
}

void
candidates_release(struct candidates *c)
{
	for (size_t i = 0; i < c->n; i++)
		candidate_release(&c->v[i]);
	free(c->v);
	memset(c, 0, sizeof *c);
}
