#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "revive/memory.h"
#include "revive/detect.h"
#include "revive/world.h"
#include "agent/liveness.h"
#include "agent/profile.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "ledger/attempt.h"
#include "scrub/scrub.h"
#include "tmux/client.h"
#include "tmux/pane.h"
#include "town/starts.h"
#include "town/town.h"

void
memory_init(struct memory *m, struct world *w)
{
	char *dir = town_snapshot_dir(w->town, w->config, NULL);

	memset(m, 0, sizeof *m);
	m->w = w;
	m->broken = dir == NULL || album_read(dir, &m->album, NULL) != 0;
	free(dir);
}

void
memory_release(struct memory *m)
{
	album_release(&m->album);
	scrub_free(m->scrub);
	starts_free(m->starts);
	for (size_t i = 0; i < m->n_servers; i++)
		free(m->servers[i].path);
	free(m->servers);
	free(m->keys);
	memset(m, 0, sizeof *m);
}

/* Heads are few: only then is a scrubber worth its making. */
struct scrub *
memory_scrub(struct memory *m)
{
	if (m->scrub == NULL && (m->scrub = world_scrub(m->w, NULL)) == NULL)
		m->broken = true;
	return m->scrub;
}

struct starts *
memory_starts(struct memory *m)
{
	if (m->starts == NULL)
		m->starts = starts_new(m->w->town);
	return m->starts;
}

bool
memory_head(struct memory *m, const char *name, struct snapshot *out)
{
	return !m->broken && memory_scrub(m) != NULL && album_head(m->album.dir, name, m->scrub, out, NULL) == 0;
}

/* ---- what is there ---- */

static void
add_key(struct memory *m, const char key[ALBUM_KEY])
{
	m->keys = vec_room(m->keys, m->n_keys, &m->cap_keys, sizeof *m->keys);
	memcpy(m->keys[m->n_keys++], key, ALBUM_KEY);
}

bool
memory_has_key(char (*keys)[ALBUM_KEY], size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp(keys[i], key, ALBUM_KEY) == 0)
			return true;
	return false;
}

void
memory_saw(struct memory *m, const struct tmux *t, const struct panes *panes)
{
	struct memory_server s = { .socket = t->socket, .runs = panes != NULL };
	char key[ALBUM_KEY];

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

		album_session_key(key, p->socket_path, p->session);
		add_key(m, key);
		album_pane_key(key, p->socket_path, p->server_pid, p->server_start, p->id);
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

const struct memory_server *
memory_server_of(const struct memory *m, const char *path)
{
	for (size_t i = 0; i < m->n_servers; i++)
		if (same_path(m->servers[i].path, path))
			return &m->servers[i];
	return NULL;
}

bool
memory_has_session(const struct memory *m, const char *session)
{
	char key[ALBUM_KEY];

	for (size_t i = 0; i < m->n_servers; i++) {
		album_session_key(key, m->servers[i].path, session);
		if (memory_has_key(m->keys, m->n_keys, key))
			return true;
	}
	return false;
}

bool
memory_saw_all(const struct memory *m)
{
	return m->n_servers == m->w->n_servers;
}

bool
memory_servers_gone(const struct memory *m)
{
	for (size_t i = 0; i < m->n_servers; i++)
		if (m->servers[i].runs)
			return false;
	return true;
}

bool
memory_lives(const struct snapshot *h)
{
	struct proc p;

	return h->pid > 0 && proc_read(h->pid, &p) == 0 && p.state != 'Z' && (h->pid_start == 0 || p.start == h->pid_start);
}

/* ---- from a snapshot to a candidate ---- */

static char *
text(const char *s)
{
	return xstrdup(s != NULL ? s : "");
}

void
memory_old_pane(const struct snapshot *h, const char *socket, struct pane *p)
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
 * The start command, without the secrets that the snapshot did not keep: an assignment whose variable stands in our own environment is left
 * out and carried; any other one is missing. Its name, heap, or NULL when the command is whole.
 */
static char *
whole_command(const struct snapshot *h, struct buf *out, struct town_list *carried)
{
	static const char mark[] = "[REDACTED:";
	const char *p = h->command, *hit;
	size_t k = 0;

	for (; (hit = strstr(p, mark)) != NULL; k++) {
		const char *name = k < h->n_secrets ? h->secrets[k] : "value", *close = strchr(hit, ']'), *from = hit;
		size_t n = strlen(name);

		while (from > p && (from[-1] == '\'' || from[-1] == '"'))
			from--;
		if (close == NULL || (size_t)(from - p) <= n || from[-1] != '=' || memcmp(from - 1 - n, name, n) != 0 ||
		    getenv(name) == NULL || (from - 1 - n > p && from[-2 - (ptrdiff_t)n] != ' '))
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
	c->needs = xasprintf("its start command held a secret, which no snapshot keeps: %s", words.data);
	buf_release(&words);
	free(name);
}

static void
set_command(struct memory *m, const struct snapshot *h, struct candidate *c)
{
	struct buf command = BUF_INIT;

	if (h->command != NULL) {
		set_need(c, whole_command(h, &command, &c->carried));
		launch_release(&c->launch);
		launch_command(&c->launch, c->needs == NULL ? command.data : h->command, c->pane.default_shell, profiles_is_program,
		    m->w->profiles);
	}
	buf_wipe(&command);
}

bool
memory_identity(struct memory *m, const struct snapshot *h, const char *name, struct candidate *c)
{
	c->profile = h->agent != NULL ? profiles_find(m->w->profiles, h->agent) : NULL;
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
	session_file_release(&c->note);
	if (c->config_dir != NULL && h->pid > 0 && session_file_read(c->config_dir, h->pid, &c->note) && h->pid_start != 0 &&
	    c->note.start != 0 && c->note.start != h->pid_start)
		session_file_release(&c->note);
	return true;
}

bool
memory_answered(struct memory *m, const struct snapshot *h)
{
	struct store *store = world_store(m->w, false, NULL);
	struct attempt a;
	bool answered;

	if (store == NULL || attempt_latest(store, h->socket, h->server_pid, h->server_start, h->pane, &a, NULL) != 1)
		return false;
	answered = a.phase == PHASE_ACKNOWLEDGED && a.pane_pid == h->pane_pid;
	attempt_release(&a);
	return answered;
}

/* ---- restored ---- */

bool
memory_session(struct memory *m, const char *socket_path, const char *session, int64_t until, char name[ALBUM_NAME],
    struct snapshot *h)
{
	char key[ALBUM_KEY];
	const struct album_entry *x;

	album_session_key(key, socket_path, session);
	x = m->album.n > 0 ? album_newest(&m->album, key, NULL, until) : NULL;
	if (x == NULL || !memory_head(m, x->name, h))
		return false;
	memcpy(name, x->name, ALBUM_NAME);
	return true;
}

/* tmux-resurrect starts a pane whose contents it saved as `cat '<its directory>/…'; exec <shell>`. */
static bool
resurrected(const struct pane *p)
{
	return strstr(p->start_command, "resurrect") != NULL || strstr(p->start_command, "pane_contents") != NULL;
}

bool
memory_restored(struct memory *m, struct candidate *c, bool shows_agent)
{
	const struct pane *p = &c->pane;
	char name[ALBUM_NAME];
	struct snapshot h;
	bool yes;

	if (!memory_session(m, p->socket_path, p->session, 0, name, &h))
		return false;
	yes = (h.server_pid != p->server_pid || h.server_start != p->server_start) && h.cwd != NULL && strcmp(h.cwd, c->cwd) == 0 &&
	    !memory_lives(&h) && !memory_answered(m, &h) && memory_identity(m, &h, name, c);
	snapshot_release(&h);
	if (!yes)
		return false;
	c->class = CLASS_RESTORED;
	c->reason = REASON_SERVER_EXIT;
	c->weak = !shows_agent && !resurrected(p);
	return true;
}
