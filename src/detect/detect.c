#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "detect/detect_private.h"
#include "detect/detect.h"
#include "agent/agent.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "conversation/conversation.h"
#include "process/oom.h"
#include "process/proc.h"
#include "screen/screen.h"
#include "snapshot/snapshot.h"
#include "tmux/tmux.h"

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
	bool by_nine = p->dead_signal == SIGKILL || p->dead_status == 128 + SIGKILL;

	if (by_nine && out_of_memory(w, c))
		return REASON_OOM;
	if (p->dead_signal > 0)
		return REASON_KILLED;
	if (p->dead_status < 0)
		return REASON_UNKNOWN;
	/* ended on its own, or asked to by SIGHUP or SIGTERM, which Claude Code answers with 129 and 143 */
	if (p->dead_status == 0 || p->dead_status == 129 || p->dead_status == 143)
		return REASON_STOPPED;
	return REASON_EXITED;
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
	char *cwd = c->pane.dead ? NULL : proc_cwd(c->pane.pid);

	if (cwd == NULL)
		cwd = xstrdup(*c->pane.path != '\0' ? c->pane.path : c->pane.start_path);
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

/* What a judgement is made of. */
struct eyes {
	struct app *w;
	const struct procs *procs;
	struct gone_index *memory;		/* NULL: only what is there counts */
};

/* The pids of a tmux server in another container belong to other processes here. */
static bool
is_here(const struct procs *procs, const struct pane *p)
{
	const struct proc *own = proc_list_find(procs, p->pid);

	return own != NULL && own->ppid == p->server_pid;
}

/* A pane without any agent's process. False: nothing says that there ever was one. */
static bool
judge_agentless(const struct eyes *eyes, struct tmux *t, struct candidate *c)
{
	struct app *w = eyes->w;
	const struct procs *procs = eyes->procs;
	bool here = is_here(procs, &c->pane), idle = here && proc_list_idle_shell(procs, c->pane.pid);
	/* its shell waits for us, and says nothing of the agent */
	bool own = here && !idle && proc_list_below(procs, getpid(), c->pane.pid);
	bool set = c->profile != NULL, note, near;
	enum pid_file_match whose = find_note(c);
	struct screen_signs signs = { false, false };

	note = whose == PID_FILE_SAME_PANE;
	near = whose == PID_FILE_SAME_PLACE;
	if (!set && !note && !near && !idle && !own)
		return false;
	if (!note && look_at_screen(t, &c->pane, &signs, NULL) != 0)
		return false;
	if (!note && idle && eyes->memory != NULL && detect_restored(eyes->memory, c, signs.agent))
		return true;
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
	else if (own)
		c->unknown_reason = "gt-recover itself runs in this pane";
	else if (!idle)
		c->unknown_reason = "no agent's process is there, but the pane's shell is not idle";
	else if (!note && !signs.agent)
		c->unknown_reason = "the session is meant for an agent, its shell is idle, and nothing shows "
				    "that an agent ever ran";
	else
		c->status = AGENT_ZOMBIE;
	c->reason = c->status != AGENT_ZOMBIE ? REASON_NONE
	    : signs.farewell                  ? REASON_STOPPED
					      : REASON_PROCESS_DIED;
	c->crashed_at = c->pane.activity * 1000;
	return c->profile != NULL;
}

/*
 * A person's shell that was there before the agent: it, not the agent's command, is the pane's
 * start command.
 */
static void
use_configured_command(const struct app *w, struct candidate *c)
{
	const struct profile *p = c->profile;

	if (p == NULL || *p->command == '\0')
		return;
	if (c->launch.command != NULL && c->launch.name != NULL && !proc_is_shell(c->launch.name))
		return;
	launch_release(&c->launch);
	launch_command(&c->launch, p->command, c->pane.default_shell, profile_list_has_program, w->profiles);
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
	c->unknown_reason = "its background server is still at work on its conversation";
}

static bool
judge(const struct eyes *eyes, struct tmux *t, struct candidate *c)
{
	struct app *w = eyes->w;
	const struct proc *agent = c->pane.dead
	    ? NULL
	    : proc_list_agent(eyes->procs, c->pane.pid, profile_list_has_process, w->profiles);
	char names[PROC_NAMES][64];
	bool ours, known;

	c->unknown_reason = "";
	launch_read(
	    &c->launch, c->pane.start_command, c->pane.default_shell, profile_list_has_program, w->profiles);
	c->profile = profile_by_setting(w, c);
	set_place(c);
	c->config_dir = find_config_dir(c);
	known = c->profile != NULL;
	if (agent != NULL) {
		size_t n = proc_names(agent, names);

		for (size_t i = 0; i < n && c->profile == NULL; i++)
			c->profile = profile_by_process(w->profiles, names[i]);
		c->status = AGENT_LIVE;
		c->agent_pid = agent->pid;
		ours = c->profile != NULL;
		if (ours && eyes->memory != NULL) {
			set_role(w, c);
			detect_restarted(eyes->memory, c);
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
any_zombie(const struct candidate_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].status == AGENT_ZOMBIE)
			return true;
	return false;
}

/* The second, agreeing probe: an agent that is just being started by its shell has a process by now. */
static int
confirm_zombies(struct app *w, struct candidate_list *list, struct err *e)
{
	struct procs procs;

	if (!any_zombie(list))
		return 0;
	clock_sleep_ms(50);
	if (proc_list(&procs, e) != 0)
		return -1;
	for (size_t i = 0; i < list->n; i++) {
		struct candidate *c = &list->v[i];

		if (c->status != AGENT_ZOMBIE)
			continue;
		if (!proc_list_idle_shell(&procs, c->pane.pid) ||
		    proc_list_agent(&procs, c->pane.pid, profile_list_has_process, w->profiles) != NULL) {
			c->status = AGENT_UNKNOWN;
			c->reason = REASON_NONE;
			c->unknown_reason = "two looks at its processes did not agree";
		}
	}
	proc_list_release(&procs);
	return 0;
}

static void
judge_all(const struct eyes *eyes, struct tmux *t, struct panes *panes, struct candidate_list *out)
{
	for (size_t i = 0; i < panes->n; i++) {
		struct candidate c = { .pane = panes->v[i] };
		bool known = false;

		/* one server may be reached by two names */
		for (size_t k = 0; k < out->n && !known; k++)
			known = out->v[k].pane.server_pid == c.pane.server_pid &&
			    strcmp(out->v[k].pane.id, c.pane.id) == 0;
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
detect_server(const struct eyes *eyes, struct tmux *t, struct candidate_list *out, struct err *e)
{
	struct panes panes = { .n = 0 };
	int ret = pane_list(t, &panes, e);

	if (ret == 0) {
		gone_index_add_server(eyes->memory, t, &panes);
		judge_all(eyes, t, &panes, out);
		out->servers++;
	} else if (strcmp(e->name, "no-server") == 0) {
		gone_index_add_server(eyes->memory, t, NULL);
	}
	pane_list_release(&panes);
	return ret;
}

int
detect_listed(struct app *w, struct tmux *t, struct panes *panes, struct candidate_list *out, struct err *e)
{
	struct procs procs;
	int ret = pane_list_environ(t, panes, 0, e);

	memset(out, 0, sizeof *out);
	if (ret != 0 || proc_list(&procs, e) != 0)
		return -1;
	judge_all(&(struct eyes){ w, &procs, NULL }, t, panes, out);
	proc_list_release(&procs);
	ret = confirm_zombies(w, out, e);
	if (ret != 0)
		candidate_list_release(out);
	return ret;
}

static int
compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = strcmp(x->pane.session, y->pane.session);

	return order != 0 ? order : strcmp(x->pane.id, y->pane.id);
}

static void
find_missing(struct gone_index *m, struct candidate_list *out)
{
	size_t from = out->n;

	detect_gone(m, out);
	detect_assigned(m, out);
	if (out->n > from)
		qsort(out->v + from, out->n - from, sizeof *out->v, compare_candidates);
}

/* A server that was named and does not run is a mistake, unless agents are remembered that it had. */
static bool
known_on(const struct candidate_list *out, const char *socket)
{
	for (size_t i = 0; i < out->n; i++)
		if (strcmp(out->v[i].pane.socket, socket) == 0)
			return true;
	return false;
}

int
detect(struct app *w, struct candidate_list *out, struct err *e)
{
	struct procs procs;
	struct gone_index memory;
	const struct eyes eyes = { w, &procs, &memory };
	struct err first = ERR_INIT;
	const char *absent = "";
	int ret = 0;

	memset(out, 0, sizeof *out);
	if (proc_list(&procs, e) != 0)
		return -1;
	gone_index_init(&memory, w);
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
	if (ret == 0 && first.code != 0 &&
	    (w->sockets_named ? !known_on(out, absent) : out->servers + out->n == 0)) {
		*e = first;
		ret = -1;
	}
	if (ret == 0)
		ret = confirm_zombies(w, out, e);
	if (ret == 0 && e != NULL)
		err_clear(e);
	proc_list_release(&procs);
	gone_index_release(&memory);
	if (ret != 0)
		candidate_list_release(out);
	return ret;
}

static int
changed(const struct candidate *c, const char *how, struct err *e)
{
	err_set(e, GT_AGAIN, "changed", "pane %s changed while it was looked at: %s", c->pane.id, how);
	return err_hint(e, "nothing was done to it; run gt-recover list to see what it is now");
}

int
detect_recheck(struct app *w, const struct candidate *c, int64_t *typed, struct err *e)
{
	struct tmux *t = app_server(w, c->pane.socket);
	struct pane now = { .pid = 0 };
	struct procs procs = { .n = 0 };
	int ret;

	if (pane_reread(t, &c->pane, &now, e) != 0)
		return -1;
	if (typed != NULL)
		*typed = now.typed;
	ret = proc_list(&procs, e);
	if (ret != 0)
		;
	else if (c->status == AGENT_RESPAWNED)
		ret = now.pid == c->pane.pid && !now.dead && proc_list_find(&procs, c->agent_pid) != NULL
		    ? 0
		    : changed(c, "its agent is gone", e);
	else if (now.pid != c->pane.pid)
		ret = changed(c, "another process runs in it", e);
	else if (now.dead != (c->status == AGENT_DEAD))
		ret = changed(c, now.dead ? "its shell ended" : "it is alive", e);
	else if (!now.dead && proc_list_agent(&procs, now.pid, profile_list_has_process, w->profiles) != NULL)
		ret = changed(c, "an agent runs in it", e);
	else if (!now.dead && !proc_list_idle_shell(&procs, now.pid))
		ret = changed(c, "its shell is busy", e);
	proc_list_release(&procs);
	pane_release(&now);
	return ret;
}

void
candidate_list_release(struct candidate_list *c)
{
	for (size_t i = 0; i < c->n; i++)
		candidate_release(&c->v[i]);
	free(c->v);
	memset(c, 0, sizeof *c);
}

/* Rows of the visible screen that hold something, tmux's own dead row left out. */
static size_t
rows_shown(const char *text, size_t n, const struct pane *p)
{
	size_t rows = 0, at = 0, last = 0;

	while (at < n) {
		const char *nl = memchr(text + at, '\n', n - at);
		size_t len = nl != NULL ? (size_t)(nl - text) - at : n - at;

		rows++;
		if (len > 0 &&
		    !(p->dead && *p->dead_line != '\0' &&
			strncmp(text + at, p->dead_line, strlen(p->dead_line)) == 0))
			last = rows;
		at += len + 1;
	}
	return last;
}

static bool
shows_limit(const struct candidate *c, const char *text, size_t n)
{
	struct conversation talk = CONVERSATION_INIT;
	bool limit;

	screen_read_bytes(text, n, NULL, c->pane.width, c->profile->grammar, &talk);
	limit = talk.limit;
	conversation_release(&talk);
	return limit;
}

static bool
has_lines(const struct candidate *c)
{
	return c->status == AGENT_DEAD || detect_status_has_shell(c->status);
}

static void
read_screen(const struct tmux_batch *b, size_t at, struct candidate *c)
{
	size_t n = 0;
	const char *text = tmux_batch_output(b, at, &n);

	struct buf kept = BUF_INIT;

	c->lines = (size_t)c->pane.history_size + (text != NULL ? rows_shown(text, n, &c->pane) : 0);
	if (capture_kept(&c->pane, (size_t)c->pane.height, &kept, &c->lines)) {
		n = kept.len;
		text = kept.data;
	}
	if (text != NULL && c->reason != REASON_STOPPED && shows_limit(c, text, n))
		c->reason = REASON_LIMIT;
	buf_wipe(&kept);
}

static void
read_draft(const struct tmux_batch *b, size_t at, struct candidate *c)
{
	struct live_screen s;

	agent_screen_answer(b, at, c->profile, "", &s);
	c->draft = s.says == READY_DRAFT;
	agent_screen_release(&s);
}

static int
lines_of_server(struct tmux *t, struct candidate_list *list, struct err *e)
{
	size_t *at = xcalloc(list->n + 1, sizeof *at);
	struct tmux_batch b;
	int ret = 0;

	tmux_batch_init(&b);
	for (size_t i = 0; i < list->n; i++) {
		const struct candidate *c = &list->v[i];

		if (strcmp(c->pane.socket, t->socket) != 0)
			continue;
		if (has_lines(c))
			at[i] = tmux_batch_add(&b, "capture-pane", "-p", "-t", c->pane.id, NULL);
		else if (c->status == AGENT_RESPAWNED)
			at[i] = agent_screen_ask(&b, &c->pane, 0);
	}
	if (b.n > 0)
		ret = tmux_batch_run(t, &b, e);
	for (size_t i = 0; ret == 0 && b.n > 0 && i < list->n; i++) {
		struct candidate *c = &list->v[i];

		if (strcmp(c->pane.socket, t->socket) != 0)
			continue;
		if (has_lines(c))
			read_screen(&b, at[i], c);
		else if (c->status == AGENT_RESPAWNED)
			read_draft(&b, at[i], c);
	}
	tmux_batch_release(&b);
	free(at);
	return ret;
}

int
detect_lines(struct app *w, struct candidate_list *list, struct err *e)
{
	for (size_t i = 0; i < w->n_servers; i++)
		if (lines_of_server(&w->servers[i], list, e) != 0)
			return -1;
	return 0;
}
