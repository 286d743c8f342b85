#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "detect/detect.h"
#include "detect/detect_private.h"
#include "agent/agent.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "config/config.h"
#include "gastown/gastown.h"
#include "process/proc.h"
#include "records/recovery/recovery.h"
#include "scrub/scrub.h"
#include "snapshot/snapshot.h"
#include "tmux/tmux.h"
#include "transcript/transcript.h"
#include "transcript/locate/locate.h"

void
gone_index_init(struct gone_index *m, struct app *w)
{
	char *dir = town_snapshot_dir(w->town, w->config, NULL);

	memset(m, 0, sizeof *m);
	m->w = w;
	m->broken = dir == NULL || snapshot_index_read(dir, &m->album, NULL) != 0;
	free(dir);
}

void
gone_index_release(struct gone_index *m)
{
	snapshot_index_release(&m->album);
	scrub_free(m->scrub);
	town_starts_free(m->starts);
	for (size_t i = 0; i < m->n_servers; i++)
		free(m->servers[i].path);
	free(m->servers);
	free(m->keys);
	memset(m, 0, sizeof *m);
}

/* Heads are few: only then is a scrubber worth its making. */
struct scrub *
gone_index_scrub(struct gone_index *m)
{
	if (m->scrub == NULL && (m->scrub = app_scrub(m->w, NULL)) == NULL)
		m->broken = true;
	return m->scrub;
}

struct session_starts *
gone_index_starts(struct gone_index *m)
{
	if (m->starts == NULL)
		m->starts = town_starts_new(m->w->town);
	return m->starts;
}

bool
gone_index_head(struct gone_index *m, const char *name, struct snapshot *out)
{
	return !m->broken && gone_index_scrub(m) != NULL &&
	    snapshot_file_read_head(m->album.dir, name, m->scrub, out, NULL) == 0;
}

/* ---- what is there ---- */

static void
add_key(struct gone_index *m, const char key[SNAPSHOT_KEY])
{
	m->keys = vec_room(m->keys, m->n_keys, &m->cap_keys, sizeof *m->keys);
	memcpy(m->keys[m->n_keys++], key, SNAPSHOT_KEY);
}

bool
gone_index_has_key(char (*keys)[SNAPSHOT_KEY], size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp(keys[i], key, SNAPSHOT_KEY) == 0)
			return true;
	return false;
}

void
gone_index_add_server(struct gone_index *m, const struct tmux *t, const struct panes *panes)
{
	struct gone_server s = { .socket = t->socket, .runs = panes != NULL };
	char key[SNAPSHOT_KEY];

	if (m->album.n == 0 && town_root(m->w->town) == NULL)
		return;
	if (panes != NULL && panes->n > 0) {
		s.path = xstrdup(panes->v[0].socket_path);
		s.pid = panes->v[0].server_pid;
		s.start = panes->v[0].server_start;
	} else {
		s.path = tmux_socket_path(t);
	}
	m->servers = vec_room(m->servers, m->n_servers, &m->cap_servers, sizeof *m->servers);
	m->servers[m->n_servers++] = s;
	for (size_t i = 0; panes != NULL && i < panes->n; i++) {
		const struct pane *p = &panes->v[i];

		snapshot_session_key(key, p->socket_path, p->session);
		add_key(m, key);
		snapshot_pane_key(key, p->socket_path, p->server_pid, p->server_start, p->id);
		add_key(m, key);
	}
}

/* tmux resolves the directory of a socket, and a server that is gone cannot be asked. */
static bool
same_path(const char *a, const char *b)
{
	char x[PATH_MAX], y[PATH_MAX], *dir_a, *dir_b;
	const char *base_a = strrchr(a, '/'), *base_b = strrchr(b, '/');
	bool same;

	if (strcmp(a, b) == 0)
		return true;
	if (base_a == NULL || base_b == NULL || strcmp(base_a, base_b) != 0)
		return false;
	dir_a = xstrndup(a, (size_t)(base_a - a));
	dir_b = xstrndup(b, (size_t)(base_b - b));
	same = realpath(dir_a, x) != NULL && realpath(dir_b, y) != NULL && strcmp(x, y) == 0;
	free(dir_a);
	free(dir_b);
	return same;
}

const struct gone_server *
gone_index_server(const struct gone_index *m, const char *path)
{
	for (size_t i = 0; i < m->n_servers; i++)
		if (same_path(m->servers[i].path, path))
			return &m->servers[i];
	return NULL;
}

bool
gone_index_has_session(const struct gone_index *m, const char *session)
{
	char key[SNAPSHOT_KEY];

	for (size_t i = 0; i < m->n_servers; i++) {
		snapshot_session_key(key, m->servers[i].path, session);
		if (gone_index_has_key(m->keys, m->n_keys, key))
			return true;
	}
	return false;
}

bool
gone_index_is_complete(const struct gone_index *m)
{
	return m->n_servers == m->w->n_servers;
}

bool
gone_index_no_server(const struct gone_index *m)
{
	for (size_t i = 0; i < m->n_servers; i++)
		if (m->servers[i].runs)
			return false;
	return true;
}

bool
gone_is_contained(const struct snapshot *h)
{
	struct timestamp now;

	timestamp_now(&now);
	return h->taken_at > now.wall_ms - now.boot_ms && timestamp_other_space(h->pid_ns, &now);
}

/* Passes there renew the file of what they saw (snapshot/snapshot.h). */
static bool
lives_contained(const struct gone_index *m, const struct snapshot *h)
{
	struct timestamp now;
	struct pane_states seen;
	enum proc_life life;
	int64_t last;

	timestamp_now(&now);
	life = proc_life_in(h->pid_ns, h->pid, (int64_t)h->pid_start, &now);
	if (life == LIFE_ALIVE || life == LIFE_UNKNOWN)
		return true;
	/* where the agent alone has ended, passes in its container know whether its pane has */
	if (life == LIFE_GONE && proc_life_in(h->pid_ns, 0, 0, &now) == LIFE_GONE)
		return false;
	snapshot_panes_of_server(&seen, m->album.dir, h->socket, h->server_pid, h->server_start);
	last = seen.written > h->taken_at ? seen.written : h->taken_at;
	snapshot_panes_release(&seen);
	return proc_is_recent(now.wall_ms - last);
}

bool
gone_index_is_alive(const struct gone_index *m, const struct snapshot *h)
{
	if (gone_is_contained(h))
		return lives_contained(m, h);
	return h->pid > 0 && proc_life(h->pid, h->pid_start) != LIFE_GONE;
}

/* ---- from a snapshot to a candidate ---- */

static char *
text(const char *s)
{
	return xstrdup(s != NULL ? s : "");
}

void
gone_index_old_pane(const struct snapshot *h, const char *socket, struct pane *p)
{
	p->socket = xstrdup(socket);
	p->socket_path = xstrdup(h->socket);
	p->server_pid = h->server_pid;
	p->server_start = h->server_start;
	p->session = xstrdup(h->session);
	p->session_id = text(NULL);
	p->window_id = text(h->window_id);
	p->id = xstrdup(h->pane);
	p->pid = h->pane_pid;
	p->dead = true;
	p->dead_status = p->dead_signal = -1;
	p->activity = h->taken_at / 1000;
	p->session_created = h->server_start;
	p->width = h->width > 0 ? h->width : 80;
	p->height = h->height > 0 ? h->height : 24;
	p->history_limit = h->history_limit;
	p->alternate = h->alternate;
	p->remain_on_exit = xstrdup("off");
	p->dead_line = text(NULL);
	p->version = text(NULL);
	p->kept = text(NULL);
	p->command = text(NULL);
	p->start_command = text(NULL);
	p->start_path = text(h->cwd);
	p->path = text(NULL);
	p->tty = text(NULL);
	p->title = text(h->title);
	p->window_name = text(h->window_name);
	p->default_shell = xstrdup(h->shell != NULL ? h->shell : "/bin/sh");
}

/*
 * The start command, without the secrets that the snapshot did not keep: an assignment whose
 * variable stands in our own environment is left out and carried; any other one is missing. Its
 * name, heap, or NULL when the command is whole.
 */
static char *
full_command(const struct snapshot *h, struct buf *out, struct town_list *carried)
{
	static const char mark[] = "[REDACTED:";
	const char *p = h->command, *hit;
	size_t k = 0;

	for (; (hit = strstr(p, mark)) != NULL; k++) {
		const char *name = k < h->n_secrets ? h->secrets[k] : "value", *close = strchr(hit, ']'),
			   *from = hit;
		size_t n = strlen(name);

		while (from > p && (from[-1] == '\'' || from[-1] == '"'))
			from--;
		if (close == NULL || (size_t)(from - p) <= n || from[-1] != '=' ||
		    memcmp(from - 1 - n, name, n) != 0 || getenv(name) == NULL ||
		    (from - 1 - n > p && from[-2 - (ptrdiff_t)n] != ' '))
			return xstrdup(name);
		town_list_add(carried, xstrdup(name));
		buf_add(out, p, (size_t)(from - 1 - p) - n);
		p = close + 1 + strspn(close + 1, "'\"");
		if (*p != '\0' && *p != ' ')
			return xstrdup(name);
	}
	buf_str(out, p);
	return NULL;
}

/* Takes the name over. */
static void
set_need(struct candidate *c, char *name)
{
	struct buf words = BUF_INIT;

	if (name == NULL)
		return;
	utf8_escape(&words, name, strlen(name), 80);
	c->missing_secret =
	    xasprintf("its start command held a secret, which no snapshot keeps: %s", words.data);
	buf_release(&words);
	free(name);
}

static void
set_command(struct gone_index *m, const struct snapshot *h, struct candidate *c)
{
	struct buf command = BUF_INIT;

	if (h->command != NULL) {
		set_need(c, full_command(h, &command, &c->inherited_env));
		launch_release(&c->launch);
		launch_command(&c->launch, c->missing_secret == NULL ? command.data : h->command,
		    c->pane.default_shell, profile_list_has_program, m->w->profiles);
	}
	buf_wipe(&command);
}

bool
gone_index_identify(struct gone_index *m, const struct snapshot *h, const char *name, struct candidate *c)
{
	c->profile = h->agent != NULL ? profile_find(m->w->profiles, h->agent) : NULL;
	if (c->profile == NULL)
		return false;
	if (h->address == NULL || town_role(h->address, &c->role) != 0)
		if (town_session_role(m->w->town, c->pane.session, &c->role) != 0)
			town_path_role(m->w->town, c->pane.start_path, &c->role);
	set_command(m, h, c);
	free(c->cwd);
	c->cwd = text(h->cwd);
	free(c->config_dir);
	c->config_dir = h->config_dir != NULL ? xstrdup(h->config_dir) : NULL;
	c->snapshot = xstrdup(name);
	c->crashed_at = h->taken_at;
	agent_pid_file_release(&c->pid_record);
	if (c->config_dir != NULL && h->pid > 0 &&
	    agent_pid_file_read(c->config_dir, h->pid, &c->pid_record) && h->pid_start != 0 &&
	    c->pid_record.start != 0 && c->pid_record.start != h->pid_start)
		agent_pid_file_release(&c->pid_record);
	return true;
}

/* That crash has been answered: the agent was brought back and ended later, or in another session. */
static bool
gone_index_is_recovered(struct gone_index *m, const struct snapshot *h)
{
	struct store *store = app_store(m->w, false, NULL);
	struct attempt a;
	bool answered;

	if (store == NULL ||
	    attempt_latest(store, h->socket, h->server_pid, h->server_start, h->pane, &a, NULL) != 1)
		return false;
	/* a shell is the same before and after its agent was started again inside it */
	answered = a.phase == PHASE_ACKNOWLEDGED &&
	    (a.in_shell ? h->taken_at < a.times[PHASE_RESPAWNED] : a.pane_pid == h->pane_pid);
	attempt_release(&a);
	return answered;
}

/* ---- restored ---- */

/*
 * The head of the newest snapshot of the session that is not newer than `until` (ms since 1970,
 * 0: any). False: none. snapshot_release.
 */
static bool
gone_index_session_head(struct gone_index *m, const char *socket_path, const char *session, int64_t until,
    char name[SNAPSHOT_NAME], struct snapshot *h)
{
	char key[SNAPSHOT_KEY];
	const struct snapshot_file *x;

	snapshot_session_key(key, socket_path, session);
	x = m->album.n > 0 ? snapshot_index_newest(&m->album, key, NULL, until) : NULL;
	if (x == NULL || !gone_index_head(m, x->name, h))
		return false;
	memcpy(name, x->name, SNAPSHOT_NAME);
	return true;
}

/* tmux-resurrect starts a pane whose contents it saved as `cat '<its directory>/…'; exec <shell>`. */
static bool
resurrected(const struct pane *p)
{
	return strstr(p->start_command, "resurrect") != NULL ||
	    strstr(p->start_command, "pane_contents") != NULL;
}

bool
detect_restored(struct gone_index *m, struct candidate *c, bool shows_agent)
{
	const struct pane *p = &c->pane;
	char name[SNAPSHOT_NAME];
	struct snapshot h;
	bool yes;

	if (!gone_index_session_head(m, p->socket_path, p->session, 0, name, &h))
		return false;
	yes = (h.server_pid != p->server_pid || h.server_start != p->server_start) && h.cwd != NULL &&
	    strcmp(h.cwd, c->cwd) == 0 && !gone_index_is_alive(m, &h) && !gone_index_is_recovered(m, &h) &&
	    gone_index_identify(m, &h, name, c);
	snapshot_release(&h);
	if (!yes)
		return false;
	c->status = AGENT_RESTORED;
	c->reason = REASON_SERVER_EXIT;
	c->low_confidence = !shows_agent && !resurrected(p);
	return true;
}

/* By a recovery: it will be told, or was. */
static bool
is_cared_for(struct gone_index *m, const struct candidate *c)
{
	const struct pane *p = &c->pane;
	struct store *store = app_store(m->w, false, NULL);
	struct attempt a;
	char id[21];
	bool by_us = attempt_id_of_pane(p, id), told;

	if (store == NULL)
		return by_us;
	if (attempt_latest(store, p->socket_path, p->server_pid, p->server_start, p->id, &a, NULL) == 1) {
		told = !attempt_phase_is_final(a.phase) ||
		    (a.phase == PHASE_ACKNOWLEDGED &&
			((a.pane_pid == p->pid && !a.in_shell) || a.new_pid == c->agent_pid));
		attempt_release(&a);
		return told;
	}
	/* a bare respawn by somebody runs our wrapper once more, which has no prompt then (T40) */
	if (!by_us || attempt_load(store, id, &a, NULL) != 1)
		return by_us;
	told =
	    !attempt_phase_is_final(a.phase) || (a.phase == PHASE_ACKNOWLEDGED && a.new_pid == c->agent_pid);
	attempt_release(&a);
	return told;
}

static bool
resumes(const struct launch *l)
{
	static const char *const flags[] = { "--resume", "-r", "--continue", "-c", "--from-pr", "--teleport",
		"resume" };

	for (size_t i = l->program + 1; l->name != NULL && i < l->n_words; i++)
		for (size_t k = 0; k < sizeof flags / sizeof flags[0]; k++)
			if (str_starts(l->words[i].text, flags[k]) &&
			    strchr("=", l->words[i].text[strlen(flags[k])]) != NULL)
				return true;
	return false;
}

static bool
there(const char *config_dir, const char *cwd, const char *id, char **path)
{
	*path = config_dir != NULL && cwd != NULL && id != NULL && transcript_is_id(id)
	    ? transcript_path(config_dir, cwd, id)
	    : NULL;
	return *path != NULL;
}

/* In a town the log tells, with or without a snapshot. */
static bool
town_shows_restart(struct gone_index *m, const struct candidate *c, int64_t began, char **lost)
{
	struct session_last_starts of;

	if (town_root(m->w->town) == NULL || c->role.kind == TOWN_ROLE_NONE)
		return false;
	town_starts_of(gone_index_starts(m), &c->role, c->cwd, &of);
	if (of.last == NULL || of.previous == NULL || of.separator != NULL || of.after != NULL ||
	    of.successor || began <= of.previous->at)
		return false;
	*lost = xstrdup(of.previous->session_id);
	return true;
}

/*
 * Its server died with it: the last pass over that life had still seen the pane. One that was
 * closed before had been ended on purpose.
 */
static bool
went_with_server(const struct gone_index *m, const struct snapshot *h)
{
	struct pane_states seen;
	bool yes = false;

	snapshot_panes_of_server(&seen, m->album.dir, h->socket, h->server_pid, h->server_start);
	for (size_t i = 0; i < seen.n; i++)
		yes = yes ||
		    (seen.v[i].agent && seen.v[i].pid == h->pane_pid && strcmp(seen.v[i].id, h->pane) == 0);
	snapshot_panes_release(&seen);
	return yes;
}

/* Without a town. */
static bool
crashed_before(
    const struct gone_index *m, const struct snapshot *h, const struct candidate *c, const char *transcript)
{
	const struct pane *p = &c->pane;
	bool typed = c->launch.name == NULL || launch_is_shell(&c->launch);

	if (typed || h->pane_pid == p->pid || (h->cwd != NULL && strcmp(h->cwd, c->cwd) != 0))
		return false;
	if (h->dead)
		return transcript_exit_kind(c->profile->transcript, transcript) != EXIT_CLEAN;
	return (h->server_pid != p->server_pid || h->server_start != p->server_start) &&
	    went_with_server(m, h);
}

/* The record of the living agent: which conversation it is in. Heap; NULL: not known. */
static char *
own_id(const struct candidate *c)
{
	struct agent_pid_file s;
	char *id;

	if (c->config_dir == NULL || !agent_pid_file_read(c->config_dir, c->agent_pid, &s))
		return NULL;
	id = agent_pid_file_is_alive(&s) && s.session_id != NULL ? xstrdup(s.session_id) : NULL;
	agent_pid_file_release(&s);
	return id;
}

/* By a recovery that had gt start it: nothing in the pane says so. */
static bool
was_delivered(struct gone_index *m, const struct candidate *c, int64_t began)
{
	struct store *store = app_store(m->w, false, NULL);
	struct attempt_list all = { .n = 0 };
	bool told = false;

	if (store == NULL || attempt_list_all(store, &all, NULL) != 0)
		return false;
	for (size_t i = 0; i < all.n && !told; i++)
		told = all.v[i].phase == PHASE_ACKNOWLEDGED && all.v[i].new_pid == c->agent_pid &&
		    strcmp(all.v[i].session, c->pane.session) == 0 &&
		    all.v[i].times[PHASE_ACKNOWLEDGED] > began;
	attempt_list_release(&all);
	return told;
}

void
detect_restarted(struct gone_index *m, struct candidate *c)
{
	int64_t began = proc_began_ms(c->agent_pid);
	char name[SNAPSHOT_NAME], *mine = NULL, *lost = NULL, *path = NULL;
	struct snapshot h = SNAPSHOT_INIT;
	bool town, known, crashed;

	if (began == 0 || is_cared_for(m, c) || resumes(&c->launch))
		return;
	town = town_shows_restart(m, c, began, &lost);
	known = gone_index_session_head(m, c->pane.socket_path, c->pane.session, began, name, &h) &&
	    h.pid > 0 && h.pid != c->agent_pid &&
	    began - h.taken_at < config_ms(m->w->config, "attempt_window") && !gone_index_is_alive(m, &h) &&
	    !gone_index_is_recovered(m, &h);
	if (lost == NULL && known && h.session_id != NULL)
		lost = xstrdup(h.session_id);
	/* Gas Town's log and the snapshot may be of two lives */
	known = known && lost != NULL && h.session_id != NULL && strcmp(lost, h.session_id) == 0;
	if (lost != NULL)
		mine = own_id(c);
	crashed = mine != NULL && strcmp(mine, lost) != 0 && there(c->config_dir, c->cwd, lost, &path) &&
	    (town || (known && crashed_before(m, &h, c, path)));
	if (crashed && !was_delivered(m, c, began)) {
		c->status = AGENT_RESPAWNED;
		c->reason =
		    known && h.server_pid != c->pane.server_pid ? REASON_SERVER_EXIT : REASON_PROCESS_DIED;
		c->crashed_at = began;
		c->snapshot = known ? xstrdup(name) : NULL;
		c->session_id = xstrdup(lost);
	}
	snapshot_release(&h);
	free(mine);
	free(lost);
	free(path);
}
