#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "detect/detect_private.h"
#include "app/app.h"
#include "base/buf.h"
#include "conversation/conversation.h"
#include "process/oom.h"
#include "process/proc.h"
#include "records/recovery/recovery.h"
#include "screen/screen.h"

#define COMM 15		/* the kernel keeps so much of a name */

static bool
fits_agent(const void *arg, const char *comm)
{
	const struct candidate *c = arg;
	const struct profile *p = c->profile;

	if (c->launch.name != NULL && strncmp(comm, c->launch.name, COMM) == 0)
		return true;
	return (p != NULL && profile_is_process(p, comm)) || proc_is_runtime(comm);
}

static bool
fits_pane(const void *arg, const char *comm)
{
	return fits_agent(arg, comm) || proc_is_shell(comm);
}

static bool
out_of_memory(struct app *w, const struct candidate *c)
{
	const struct pane *p = &c->pane;
	/* tmux may learn of a death late; until then nobody else can have the pid */
	struct oom_death d = { .pid = p->pid,
		.from = p->activity * 1000,
		.until = (p->dead_time + 1) * 1000,
		.fits = fits_pane,
		.arg = c };

	if (p->dead_time <= 0 || p->pid <= 0)
		return false;
	if (d.from > d.until)
		d.from = d.until;
	if (p->dead_signal == SIGKILL && oom_killed(app_oom(w), &d))
		return true;
	if (c->pid_record.session_id == NULL || c->pid_record.pid == p->pid)
		return false;
	d.pid = c->pid_record.pid;
	d.fits = fits_agent;
	return oom_killed(app_oom(w), &d);
}

/*
 * Why the process of a dead pane ended, by what tmux kept of it: killed, oom, exited, stopped or
 * unknown. `oom` only when the kernel's log names this process or the agent that the pane's shell
 * ran (process/oom.h), and the end was by signal 9, or by a shell that tells of one.
 */
static enum crash_cause
detect_crash_reason(struct app *w, const struct candidate *c)
{
	const struct pane *p = &c->pane;
	bool by_nine = candidate_signal(c) == SIGKILL;

	if (by_nine && out_of_memory(w, c))
		return REASON_OOM;
	if (p->dead_signal > 0 || by_nine)
		return REASON_KILLED;
	if (p->dead_status < 0)
		return REASON_UNKNOWN;
	/* ended on its own, or asked to by SIGHUP or SIGTERM, which Claude Code answers with 129 and 143 */
	if (p->dead_status == 0 || p->dead_status == 129 || p->dead_status == 143)
		return REASON_STOPPED;
	return REASON_EXITED;
}

void
detect_set_crash_reason(struct app *w, struct candidate *c)
{
	c->reason = detect_crash_reason(w, c);
}

void
detect_set_zombie_reason(struct app *w, struct candidate *c)
{
	struct oom_death d = { .pid = c->pid_record.pid,
		.from = c->pid_record.written * 1000,
		.until = c->crashed_at + 1000,
		.fits = fits_agent,
		.arg = c };

	if (d.from > d.until)
		d.from = d.until;
	if (c->reason == REASON_PROCESS_DIED && c->pid_record.session_id != NULL &&
	    oom_killed(app_oom(w), &d))
		c->reason = REASON_OOM;
}

/*
 * A variable of the agent: from its own command, its session, its pane's living shell, our
 * environment. Heap.
 */
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
		found = proc_environ_get(block, n, name);
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
	dir = agent_config_dir(moved, home);
	free(moved);
	free(home);
	return dir;
}

/*
 * The agent that the pane was started for, by what was set on purpose: start command, then
 * environment. NULL: nothing says so.
 */
static const struct profile *
profile_by_setting(const struct app *w, const struct candidate *c)
{
	const char *name = pane_env(&c->pane, "GT_AGENT");
	const struct profile *p =
	    c->launch.name != NULL ? profile_by_program(w->profiles, c->launch.name) : NULL;

	if (p == NULL && name != NULL)
		p = profile_find(w->profiles, name);
	if (p == NULL && pane_env(&c->pane, "GT_ROLE") != NULL)
		p = profile_find(w->profiles, "claude");
	return p;
}

/*
 * The note that Claude Code leaves of a killed process: of the pane's own process, or of one that
 * a shell in this pane had started.
 */
static enum pid_file_match
find_note(struct candidate *c)
{
	const struct pane *p = &c->pane;
	struct pid_file_place where = { p->session, p->id, p->dead ? p->start_path : c->cwd,
		p->server_start };

	if (c->config_dir == NULL ||
	    (c->profile != NULL && !transcript_has_pid_files(c->profile->transcript)))
		return PID_FILE_ELSEWHERE;
	if (p->dead && agent_pid_file_read(c->config_dir, p->pid, &c->pid_record))
		return PID_FILE_SAME_PANE;
	return agent_pid_file_of_dead(c->config_dir, &where, &c->pid_record);
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
	size_t rows;
	int ret = 0;

	if (!capture_kept(p, 200 + (size_t)p->height, &text, &rows))
		ret = tmux_do(t, false, &text, e, "capture-pane", "-p", "-t", p->id, "-S", "-200", NULL);
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
	char *cwd = c->pane.dead ? NULL : proc_path(c->pane.pid, PROC_CWD);

	if (cwd == NULL)
		cwd = xstrdup(*c->pane.path != '\0' ? c->pane.path : c->pane.start_path);
	c->cwd = cwd;
}

/* Its shell may be elsewhere: `(cd web && claude)`, or a recovery that led there. */
static void
set_place_by_process(struct candidate *c)
{
	char *cwd = locate_place(c->config_dir, c->agent_pid);

	if (cwd == NULL)
		return;
	free(c->cwd);
	c->cwd = cwd;
}

/* After the note is known: the agent's own word for where it worked is better than tmux's. */
static void
set_place_by_note(struct candidate *c)
{
	if (c->pid_record.session_id == NULL || *c->pid_record.cwd == '\0')
		return;
	free(c->cwd);
	c->cwd = xstrdup(c->pid_record.cwd);
}

/*
 * A dead pane. False: no agent's. What died there may be anything that was started beside an
 * agent: the session's environment and the directory are those of all its panes. To start it
 * again by itself takes a start command that names an agent, the agent's own note of this pane,
 * or one of the two weaker signs and the screen.
 */
static bool
judge_dead(struct app *w, struct tmux *t, struct candidate *c)
{
	bool named = c->launch.name != NULL && profile_by_program(w->profiles, c->launch.name) != NULL,
	     set = c->profile != NULL;
	enum pid_file_match note = find_note(c);
	struct screen_signs signs = { false, false };

	c->own_pid_record = note == PID_FILE_SAME_PANE;
	if (!named && note != PID_FILE_SAME_PANE) {
		if (look_at_screen(t, &c->pane, &signs, NULL) != 0 || (!set && !signs.agent))
			return false;
		c->low_confidence = !signs.agent || (!set && note == PID_FILE_ELSEWHERE);
	}
	if (!set)
		c->profile = profile_find(w->profiles, "claude");
	c->status = AGENT_DEAD;
	c->reason = detect_crash_reason(w, c);
	c->crashed_at = c->pane.dead_time > 0 ? c->pane.dead_time * 1000 : c->pane.activity * 1000;
	return c->profile != NULL;
}

/* The pids of a tmux server in another container belong to other processes here. */
static bool
is_here(const struct procs *procs, const struct pane *p)
{
	const struct proc *own = proc_list_find(procs, p->pid);

	return own != NULL && own->ppid == p->server_pid;
}

/*
 * A pane without any agent's process. False: nothing in it says that there ever was one. In *x what
 * a source that knows more goes by.
 */
static bool
judge_agentless(struct detection *d, struct pane_claim *x, struct candidate *c)
{
	struct app *w = d->w;
	const struct procs *procs = d->procs;
	bool here = is_here(procs, &c->pane), idle = here && proc_list_waiting_shell(procs, c->pane.pid) != 0;
	/* its shell waits for us, and says nothing of the agent; if we were typed there, it is as idle */
	bool own = here && !idle && proc_list_below(procs, getpid(), c->pane.pid),
	     typed = own && proc_list_typed_here(procs, c->pane.pid);
	bool set = c->profile != NULL, note, near;
	enum pid_file_match whose = find_note(c);
	struct screen_signs signs = { false, false };

	note = whose == PID_FILE_SAME_PANE;
	near = whose == PID_FILE_SAME_PLACE;
	if (!set && !note && !near && !idle && !own)
		return false;
	if (!note && look_at_screen(x->server, &c->pane, &signs, NULL) != 0)
		return false;
	c->own_pid_record = note;
	x->empty_shell = !note && idle;
	x->shows_agent = signs.agent;
	/* it waits for the agent of another pane, and may show what that one did, by a restorer */
	if (x->empty_shell && *c->pane.place != '\0' && *c->pane.filled == '\0')
		return false;
	if (!set && !note && !signs.agent)
		return false;
	if (c->profile == NULL)
		c->profile = profile_find(w->profiles, "claude");
	c->low_confidence = !note && !((set || near) && signs.agent);
	c->status = AGENT_UNKNOWN;
	c->own_pane = own;
	if (!here)
		c->unknown_reason = "its process is not visible here; its tmux server may run in another "
				    "container";
	else if (own && !typed)
		c->unknown_reason = "gt-recover itself runs in this pane";
	else if (!idle && !typed)
		c->unknown_reason = "no agent process, but the pane's shell is busy";
	else if (!note && !signs.agent)
		c->unknown_reason = "no evidence that an agent ran here";
	else
		c->status = AGENT_ZOMBIE;
	c->unsettled = c->status == AGENT_UNKNOWN && here && !own && !idle;
	c->empty_shell = here && (idle || typed) && c->status == AGENT_UNKNOWN;
	c->reason = c->status != AGENT_ZOMBIE ? REASON_NONE
	    : signs.farewell                  ? REASON_STOPPED
					      : REASON_PROCESS_DIED;
	c->crashed_at = c->pane.activity * 1000;
	return c->profile != NULL;
}

/*
 * A person's shell that was there before the agent: it, not the agent's command, is the pane's
 * start command. What was seen of the agent goes first, then gt.toml, then its program alone.
 */
static void
use_configured_command(const struct app *w, struct candidate *c)
{
	const struct profile *p = c->profile;

	if (p == NULL ||
	    (c->launch.command != NULL && c->launch.name != NULL && !proc_is_shell(c->launch.name)))
		return;
	c->command_source = *p->command == '\0' ? COMMAND_ASSUMED : COMMAND_CONFIGURED;
	if (c->command_source == COMMAND_ASSUMED && p->programs[0] == NULL)
		return;
	launch_release(&c->launch);
	launch_command(&c->launch,
	    c->command_source == COMMAND_ASSUMED ? p->programs[0] : p->command, c->pane.default_shell,
	    profile_list_has_program, w->profiles);
}

static void
set_role(const struct app *w, struct candidate *c)
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
	if ((c->status != AGENT_DEAD && c->status != AGENT_ZOMBIE) || !detect_has_background(c))
		return;
	c->status = AGENT_UNKNOWN;
	c->reason = REASON_NONE;
	c->unknown_reason = "its background server is still working on its conversation";
}

/*
 * Its own arguments, or the wrapper's that it runs behind; in a pane whose own command starts
 * something else the wrapper's alone.
 */
static void
use_own_command(struct detection *d, const struct proc *agent, struct candidate *c, struct launch *own)
{
	pid_t wrapper = proc_list_wrapper(d->procs, agent->pid, c->pane.pid);
	bool wrapped = wrapper != 0 ? launch_wrap(own, agent->pid, wrapper)
				    : !c->typed && launch_wrap_pane(own, &c->launch);

	if (!c->typed && !wrapped)
		return;
	own->login = !c->typed && c->launch.login;
	launch_release(&c->launch);
	c->launch = *own;
	memset(own, 0, sizeof *own);
	c->command_source = COMMAND_SEEN;
}

/* By the names of its process, unless its command or environment told. */
static bool
judge_live(struct detection *d, const struct proc *agent, struct candidate *c)
{
	struct app *w = d->w;
	char names[PROC_NAMES][64];
	size_t n = proc_names(agent, names);
	const char *shell = !c->typed && c->launch.shell != NULL ? c->launch.shell : c->pane.default_shell;
	struct launch own;

	for (size_t i = 0; i < n && c->profile == NULL; i++)
		c->profile = profile_by_process(w->profiles, names[i]);
	c->status = AGENT_LIVE;
	c->agent_pid = agent->pid;
	set_place_by_process(c);
	if ((c->typed || profile_by_program(w->profiles, c->launch.name) == NULL) &&
	    launch_of_process(&own, agent->pid, shell, profile_list_has_program, w->profiles)) {
		use_own_command(d, agent, c, &own);
		launch_release(&own);
	}
	if (c->profile != NULL)
		set_role(w, c);
	return c->profile != NULL;
}

/* An agent behind ssh or in a container. False: there is no such place, or nothing shows an agent. */
static bool
judge_remote(struct detection *d, struct pane_claim *x, const struct proc *agent, struct candidate *c)
{
	struct screen_signs signs = { false, false };
	struct remote_place r;

	if (!detect_find_remote(d, c, agent, &r))
		return false;
	/* an agent that runs ssh itself is one of ours */
	if (agent != NULL && !proc_list_below(d->procs, agent->pid, r.pid)) {
		detect_remote_release(&r);
		return false;
	}
	if (r.agent == NULL && agent == NULL)
		look_at_screen(x->server, &c->pane, &signs, NULL);
	if (r.agent == NULL && agent == NULL && !signs.agent) {
		detect_remote_release(&r);
		return false;
	}
	x->by_screen = signs.agent;
	if (r.agent != NULL)
		c->profile = r.agent;
	if (c->profile == NULL)
		c->profile = profile_find(d->w->profiles, "claude");
	c->status = AGENT_REMOTE;
	c->agent_pid = r.pid;
	c->remote = r.place;
	c->remote_hint = r.hint;
	return c->profile != NULL;
}

static bool
is_seen(struct app *w, pid_t pid)
{
	const struct seen_agent_list *seen = app_seen(w);

	for (size_t i = 0; i < seen->n; i++)
		if (seen->v[i].pid == pid)
			return true;
	return false;
}

/*
 * Somebody else may have respawned the pane since an agent was known to live in it: a dead one of the same
 * directory that nobody saw alive, and that began after that (ms since 1970).
 */
static bool
may_be_of_another(struct app *w, const char *config_dir, const char *cwd, int64_t since)
{
	struct agent_pid_files all = { .n = 0 };
	bool found = false;

	if (config_dir == NULL || cwd == NULL)
		return false;
	agent_pid_files_read(config_dir, &all);
	for (size_t i = 0; i < all.n && !found; i++) {
		const struct agent_pid_file *s = &all.v[i];
		int64_t began = s->started > 0 ? s->started : s->written * 1000;

		found = s->cwd != NULL && strcmp(s->cwd, cwd) == 0 && began >= since &&
		    !agent_pid_file_is_alive(s) && !is_seen(w, s->pid);
	}
	agent_pid_files_release(&all);
	return found;
}

/* By the last recovery that started an agent in the pane; since: when one was seen there, 0: never. */
static pid_t
pid_by_recovery(struct app *w, struct store *s, const struct pane *p, int64_t since)
{
	struct attempt a;
	char *dir;
	pid_t pid = 0;

	if (attempt_latest(s, p->socket_path, p->server_pid, p->server_start, p->id, &a, NULL) != 1)
		return 0;
	dir = detect_folder_of(a.transcript);
	if (!a.in_shell && a.new_pid > 0 && a.times[PHASE_RESPAWNED] > since &&
	    !(a.phase == PHASE_ACKNOWLEDGED &&
		may_be_of_another(w, dir, a.cwd, a.times[PHASE_ACKNOWLEDGED])))
		pid = (pid_t)a.new_pid;
	free(dir);
	attempt_release(&a);
	return pid;
}

void
detect_fill_pid(struct app *w, struct pane *p)
{
	struct store *s = p->dead && p->pid <= 0 ? app_store(w, false, NULL) : NULL;
	struct seen_agent x = { .version = 0 };
	bool known, seen, noted;
	pid_t later = 0;

	if (s == NULL)
		return;
	known = seen_agent_load(s, p->socket_path, p->server_pid, p->server_start, p->id, &x, NULL) == 1;
	/* this very death, and nothing told the pid then */
	noted = known && x.pane_pid <= 0 && x.died_at / 1000 >= p->dead_time;
	/* the end of an agent inside a shell is not that of its pane */
	seen = known && x.pane_pid > 0 &&
	    (x.died_at == 0 || x.died_at / 1000 >= p->dead_time || (x.pid > 0 && x.pid != x.pane_pid));
	if (!noted)
		later = pid_by_recovery(w, s, p, seen ? x.seen_at : 0);
	if (later != 0)
		p->pid = later;
	else if (seen && !may_be_of_another(w, x.config_dir, x.cwd, x.seen_at))
		p->pid = (pid_t)x.pane_pid;
	seen_agent_release(&x);
}

static enum claim_answer
explain_pane(struct detection *d, struct claim *claim, struct candidate *c)
{
	struct app *w = d->w;
	struct pane_claim *x = claim->about;
	const struct proc *agent;
	bool ours;

	c->pane = x->pane;
	memset(&x->pane, 0, sizeof x->pane);
	detect_fill_pid(w, &c->pane);
	agent = c->pane.dead
	    ? NULL
	    : proc_list_agent(d->procs, c->pane.pid, profile_list_has_process, w->profiles);
	c->unknown_reason = "";
	launch_read(
	    &c->launch, c->pane.start_command, c->pane.default_shell, profile_list_has_program, w->profiles);
	c->typed = c->launch.name == NULL || launch_is_shell(&c->launch);
	c->command_source = c->typed ? COMMAND_UNKNOWN : COMMAND_PANE;
	c->profile = profile_by_setting(w, c);
	set_place(c);
	c->config_dir = find_config_dir(c);
	x->named = c->profile != NULL;
	if (judge_remote(d, x, agent, c))
		ours = true;
	else if (agent != NULL)
		ours = judge_live(d, agent, c);
	else
		ours = c->pane.dead ? judge_dead(w, x->server, c) : judge_agentless(d, x, c);
	x->judged = ours;
	return ours ? CLAIM_AGENT : CLAIM_OPEN;
}

static void
settle_pane(struct detection *d, struct claim *claim, struct candidate *c)
{
	const struct pane_claim *x = claim->about;

	/* all that follows is the snapshot's to say */
	if (c->snapshot != NULL)
		return;
	if (!x->named) {
		free(c->config_dir);
		c->config_dir = find_config_dir(c);
	}
	doubt_server(c);
	set_place_by_note(c);
	use_configured_command(d->w, c);
	set_role(d->w, c);
}

static void
forget_pane(struct claim *claim)
{
	struct pane_claim *x = claim->about;

	pane_release(&x->pane);
	free(x);
}

static void
add_living(struct detection *d, const struct pane *p, const char session_hash[SNAPSHOT_KEY])
{
	struct living_pane *l;

	d->living = vec_room(d->living, d->n_living, &d->cap_living, sizeof *d->living);
	l = &d->living[d->n_living++];
	*l = (struct living_pane){ .socket_path = xstrdup(p->socket_path),
		.session = xstrdup(p->session), .places = pane_places(p), .id = xstrdup(p->id),
		.window_id = xstrdup(p->window_id),
		.session_created = p->session_created,
		.waits = *p->place != '\0' && *p->filled == '\0' };
	memcpy(l->session_hash, session_hash, SNAPSHOT_KEY);
}

/* Takes the panes over. */
static void
claim_panes(struct detection *d, struct tmux *t, struct panes *panes, struct claim_list *out)
{
	for (size_t i = 0; i < panes->n; i++) {
		struct pane *p = &panes->v[i];
		struct pane_claim *about = xcalloc(1, sizeof *about);
		struct claim *x = detect_add_claim(out);

		x->there = true;
		x->about = about;
		x->key.socket = xstrdup(p->socket);
		x->key.server_pid = p->server_pid;
		x->key.session = xstrdup(p->session);
		x->key.pane = xstrdup(p->id);
		if (d->snapshots.n > 0) {
			snapshot_session_key(x->key.session_hash, p->socket_path, p->session);
			snapshot_pane_key(
			    x->key.pane_hash, p->socket_path, p->server_pid, p->server_start, p->id);
			add_living(d, p, x->key.session_hash);
		}
		about->server = t;
		about->pane = *p;
		memset(p, 0, sizeof *p);
	}
}

/* A server that answered, with its panes, or one that does not run (NULL). */
static void
add_known_server(struct detection *d, const struct tmux *t, const struct panes *panes)
{
	struct known_server *s = &d->servers[d->n_servers++];

	*s = (struct known_server){ .socket = t->socket, .runs = panes != NULL };
	if (panes != NULL && panes->n > 0) {
		s->path = xstrdup(panes->v[0].socket_path);
		s->pid = panes->v[0].server_pid;
		s->start = panes->v[0].server_start;
	} else {
		s->path = tmux_socket_path(t);
	}
}

static int
list_server(struct detection *d, struct tmux *t, struct claim_list *out, struct err *e)
{
	struct panes panes = { .n = 0 };
	int ret = pane_list(t, &panes, e);

	if (ret == 0) {
		add_known_server(d, t, &panes);
		claim_panes(d, t, &panes, out);
		d->answered++;
	} else if (strcmp(e->name, "no-server") == 0) {
		add_known_server(d, t, NULL);
	}
	pane_list_release(&panes);
	return ret;
}

static int
list_panes(struct detection *d, struct claim_list *out, struct err *e)
{
	struct app *w = d->w;

	d->servers = xcalloc(w->n_servers + 1, sizeof *d->servers);
	if (d->given != NULL)
		claim_panes(d, d->given_server, d->given, out);
	for (size_t i = 0; i < w->n_servers && d->given == NULL; i++) {
		bool absent;

		if (list_server(d, &w->servers[i], out, e) == 0)
			continue;
		absent = strcmp(e->name, "no-server") == 0;
		if (d->first.code == 0 || strcmp(d->first.name, "no-server") == 0)
			d->first = *e;
		if (absent)
			d->absent = w->servers[i].socket;
		else if (w->sockets_named)
			return -1;
		/* one server that hangs must not keep the agents of the others dead */
		else if (d->trouble.code == 0)
			d->trouble = *e;
	}
	return 0;
}

const struct agent_source detect_from_panes = {
	.name = "panes", .bit = FROM_PANES, .keeps_order = true,
	.list = list_panes, .explain = explain_pane, .settle = settle_pane, .forget = forget_pane,
};
