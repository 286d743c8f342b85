#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "detect/detect_private.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "config/config.h"
#include "process/proc.h"
#include "records/recovery/recovery.h"
#include "transcript/transcript.h"

/* ---- what a snapshot tells ---- */

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

static const struct known_server *
find_server(const struct detection *d, const char *path)
{
	for (size_t i = 0; i < d->n_servers; i++)
		if (same_path(d->servers[i].path, path))
			return &d->servers[i];
	return NULL;
}

/* The snapshot was taken in this boot, in another container. */
static bool
is_contained(const struct snapshot *h)
{
	struct timestamp now;

	timestamp_now(&now);
	return h->taken_at > now.wall_ms - now.boot_ms && timestamp_other_space(h->pid_ns, &now);
}

/* Passes there renew the file of what they saw (snapshot/snapshot.h). */
static bool
lives_contained(const struct detection *d, const struct snapshot *h)
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
	snapshot_panes_of_server(&seen, d->snapshots.dir, h->socket, h->server_pid, h->server_start);
	last = seen.written > h->taken_at ? seen.written : h->taken_at;
	snapshot_panes_release(&seen);
	return now.wall_ms - last <= PROC_SEEN_MS;
}

bool
detect_snapshot_is_alive(const struct detection *d, const struct snapshot *h)
{
	if (is_contained(h))
		return lives_contained(d, h);
	return h->pid > 0 && proc_life(h->pid, h->pid_start) != LIFE_GONE;
}

/* ---- from a snapshot to a candidate ---- */

/* The pane as it was; nothing of it is there any more. */
static void
set_old_pane(const struct snapshot *h, const char *socket, struct pane *p)
{
	p->socket = xstrdup(socket);
	p->socket_path = xstrdup(h->socket);
	p->server_pid = h->server_pid;
	p->server_start = h->server_start;
	p->session = xstrdup(h->session);
	p->session_created = h->server_start;
	p->window_id = detect_copy(h->window_id);
	p->window_name = detect_copy(h->window_name);
	p->id = xstrdup(h->pane);
	p->pid = h->pane_pid;
	p->activity = h->taken_at / 1000;
	p->width = h->width;
	p->height = h->height;
	p->history_limit = h->history_limit;
	p->alternate = h->alternate;
	p->title = detect_copy(h->title);
	p->place = detect_copy(h->place);
	p->start_path = detect_copy(h->cwd);
	p->default_shell = detect_copy(h->shell);
	p->window_index = p->index = -1;
	candidate_fill_pane(p);
}

/* An assignment of the variable begins in front of the mark. */
static bool
is_assigned(const char *text, const char *mark, const char *name)
{
	size_t n = strlen(name);

	return (size_t)(mark - text) > n && mark[-1] == '=' && memcmp(mark - 1 - n, name, n) == 0 &&
	    ((size_t)(mark - text) == n + 1 || mark[-2 - (ptrdiff_t)n] == ' ');
}

/*
 * The shell can fill it in where the agent starts: in its own shell, which is asked then (start
 * ticket), in its session, or where ours is carried to.
 */
static bool
is_variable(const struct candidate *c, const char *name)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return *name != '\0' && (*name < '0' || *name > '9') && strcmp(name, "value") != 0 &&
	    name[strspn(name, chars)] == '\0' &&
	    (detect_status_has_shell(c->status) || pane_env(&c->pane, name) != NULL || getenv(name) != NULL);
}

/* The quotes that are open at the end of a shell's text; '\0': none. */
static char
open_quote(const char *text, const char *end)
{
	char quote = '\0';

	for (; text < end; text++) {
		if (*text == '\\' && quote != '\'' && text + 1 < end)
			text++;
		else if (quote == '\0' && (*text == '\'' || *text == '"'))
			quote = *text;
		else if (*text == quote)
			quote = '\0';
	}
	return quote;
}

/*
 * The start command, without the secrets that the snapshot did not keep: an assignment whose
 * variable stands in our own environment is left out and carried; the value of a variable is taken
 * from it where the agent starts; any other one is missing. Its name, heap, or NULL when the
 * command is whole.
 */
static char *
full_command(const struct snapshot *h, const struct candidate *c, struct buf *out, struct town_list *carried)
{
	static const char mark[] = "[REDACTED:";
	const char *p = h->command, *hit;
	size_t k = 0;

	for (; (hit = strstr(p, mark)) != NULL; k++) {
		const char *name = k < h->n_secrets ? h->secrets[k] : "value", *close = strchr(hit, ']'),
			   *from = hit;
		char quote = open_quote(h->command, hit);

		while (from > p && (from[-1] == '\'' || from[-1] == '"'))
			from--;
		if (close == NULL)
			return xstrdup(name);
		if (is_assigned(p, from, name) && getenv(name) != NULL) {
			buf_add(out, p, (size_t)(from - 1 - p) - strlen(name));
			p = close + 1 + strspn(close + 1, "'\"");
			if (*p != '\0' && *p != ' ')
				return xstrdup(name);
		} else if (hit > h->command && hit[-1] != '=' && is_variable(c, name)) {
			buf_add(out, p, (size_t)(hit - p));
			buf_fmt(out, "%.*s\"$%s\"%.*s", quote != '\0', &quote, name, quote != '\0', &quote);
			p = close + 1;
		} else {
			return xstrdup(name);
		}
		town_list_add(carried, xstrdup(name));
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

void
detect_set_command(struct detection *d, const struct snapshot *h, struct candidate *c)
{
	struct buf command = BUF_INIT;

	if (h->command != NULL) {
		set_need(c, full_command(h, c, &command, &c->inherited_env));
		const char *text = c->missing_secret == NULL ? command.data : h->command,
			   *shell = c->pane.default_shell;

		c->command_source = COMMAND_SNAPSHOT;
		launch_release(&c->launch);
		if (h->wrapper != 0 && c->profile != NULL)
			launch_command_wrapped(&c->launch, text, shell, h->wrapper, c->profile->name);
		else
			launch_command(&c->launch, text, shell, profile_list_has_program, d->w->profiles);
	}
	buf_wipe(&command);
}

bool
detect_identify(struct detection *d, const struct snapshot *h, const char *name, struct candidate *c)
{
	const struct profile *agent = h->agent != NULL ? profile_find(d->w->profiles, h->agent) : NULL;

	if (agent == NULL)
		return false;
	c->profile = agent;
	if (h->address == NULL || town_role(h->address, &c->role) != 0)
		if (town_session_role(d->w->town, c->pane.session, &c->role) != 0)
			town_path_role(d->w->town, c->pane.start_path, &c->role);
	detect_set_command(d, h, c);
	free(c->cwd);
	c->cwd = xstrdup(h->cwd != NULL ? h->cwd : "");
	free(c->config_dir);
	c->config_dir = detect_copy(h->config_dir);
	c->snapshot = xstrdup(name);
	c->crashed_at = h->taken_at;
	agent_pid_file_release(&c->pid_record);
	if (c->config_dir != NULL && h->pid > 0 &&
	    agent_pid_file_read(c->config_dir, h->pid, &c->pid_record) && h->pid_start != 0 &&
	    c->pid_record.start != 0 && c->pid_record.start != h->pid_start)
		agent_pid_file_release(&c->pid_record);
	return true;
}

/* ---- claims of snapshots ---- */

#define FILE_MS 20	/* by so much the clock of files may be behind */

/* claim.about: a pane that is gone, on its way to a candidate. */
struct gone_pane {
	char *file;			/* its newest snapshot's */
	struct snapshot h;		/* that one's head, from explain() on */
	const struct known_server *s;	/* from explain() on */
	/* found with the newest of its session, whose server died with all its panes */
	bool found_beside;
	bool server_died;
	bool lost;			/* of a session that is there, on its server */
	struct unsnapshotted u;		/* of attempts */
};

/* The attempt found the pane dead and started nothing, or saw dead what it had started. */
static bool
was_dead(const struct attempt *a)
{
	if (a->times[PHASE_RESPAWNED] != 0)
		return a->was_dead;
	return strcmp(a->class, detect_status_name(AGENT_DEAD)) == 0 ||
	    strcmp(a->class, detect_status_name(AGENT_ZOMBIE)) == 0;
}

/*
 * The pane stood there dead before its session went, and nothing was started in it since:
 * somebody took it away.
 */
static bool
was_cleared(struct app *w, const struct gone_pane *g)
{
	struct store *store = app_store(w, false, NULL);
	const struct snapshot *h = &g->h;
	struct attempt a;
	bool cleared;

	if (h->dead && !g->u.later)
		return true;
	if (store == NULL ||
	    attempt_latest(store, h->socket, h->server_pid, h->server_start, h->pane, &a, NULL) != 1)
		return false;
	cleared = a.times[PHASE_DETECTED] > h->taken_at && was_dead(&a);
	attempt_release(&a);
	return cleared;
}

static enum exit_kind
parting_at_its_end(const struct gone_pane *g, const struct profile *p)
{
	const struct snapshot *h = &g->h;

	if (g->u.session_id != NULL)
		return g->u.parting;
	return locate_exit_kind(p != NULL ? p->transcript : TRANSCRIPT_DEFAULT, h->config_dir, h->cwd,
	    h->session_id, h->transcript);
}

/*
 * The record of a killed process is removed by the next start of any agent of that person; how
 * its conversation ends stays.
 */
static bool
was_killed(struct app *w, const struct gone_pane *g, const struct profile *p)
{
	enum exit_kind how = parting_at_its_end(g, p);

	/* one that was started and heard nothing wrote nothing */
	return !was_cleared(w, g) && (how == EXIT_KILLED || (g->u.later && g->u.session_id == NULL));
}

/* One without any session tells nothing of itself. */
static bool
server_died(const struct known_server *s, int64_t pid, int64_t start)
{
	struct proc p;
	int got;

	if (s->pid != 0)
		return s->pid != pid || s->start != start;
	got = s->runs ? proc_read((pid_t)pid, &p) : PROC_GONE;
	return got == PROC_GONE || (got == 0 && (proc_has_ended(&p) || !str_starts(p.comm, "tmux")));
}

/* The server on which the agent lived that no snapshot saw. */
static bool
later_server_died(const struct gone_pane *g)
{
	const struct known_server *s = g->s;

	if (g->u.server_pid != 0)
		return server_died(s, g->u.server_pid, g->u.server_start);
	return !s->runs || (s->pid != 0 && s->start * 1000 > g->u.alive_at);
}

/*
 * That crash has been answered, and what was started then was ended by somebody, or is not known
 * to have crashed, or a newer snapshot of the session tells of it.
 */
static bool
is_answered(const struct gone_pane *g)
{
	const struct unsnapshotted *u = &g->u;

	return u->answered &&
	    (g->found_beside || u->lives || u->session_id == NULL ||
		(u->parting != EXIT_KILLED && !g->server_died));
}

static enum claim_answer
explain_attempt(struct detection *d, struct claim *x, struct candidate *c)
{
	struct gone_pane *g = x->about;
	const struct unsnapshotted *u = &g->u;

	detect_find_unsnapshotted(d->w, &g->h, &g->u);
	if (u->later)
		g->server_died = later_server_died(g);
	if (is_answered(g))
		return CLAIM_NO_AGENT;
	if (u->session_id != NULL)
		c->session_id = xstrdup(u->session_id);
	c->snapshot_is_older = u->later && u->session_id != NULL && u->alive_at > g->h.taken_at;
	if (!u->later)
		return CLAIM_OPEN;
	/* what the snapshot tells of its process is of the one before */
	agent_pid_file_release(&c->pid_record);
	c->began = u->began;
	c->started_by = xstrdup(u->id);
	c->crashed_at = u->alive_at;
	if (u->answered)
		c->recovered_by = xstrdup(u->id);
	return CLAIM_OPEN;
}

static bool
shows_session(const struct pane_states *seen, const char *session_hash)
{
	for (size_t i = 0; i < seen->n; i++)
		if (strcmp(seen->v[i].session, session_hash) == 0)
			return true;
	return false;
}

static struct claim *
claim_snapshot(const char *file, const char *session_hash, bool found_beside, struct claim_list *out)
{
	struct claim *x = detect_add_claim(out);
	struct gone_pane *g = xcalloc(1, sizeof *g);

	g->file = xstrdup(file);
	g->h = (struct snapshot)SNAPSHOT_INIT;
	g->found_beside = found_beside;
	memcpy(x->key.session_hash, session_hash, SNAPSHOT_KEY);
	x->about = g;
	return x;
}

/* Its start is counted from a boot, which must be this one. */
static int64_t
began(const struct snapshot *h)
{
	const struct proc p = { .start = h->pid_start };

	return h->pid > 0 && h->taken_at > clock_wall_ms() - clock_boot_ms() ? proc_wall_ms(&p) : 0;
}

/* The last pass over the server had seen the session, or wrote no state after this snapshot. */
static bool
was_there_at_the_end(const struct gone_pane *g, const char *session_hash, const struct pane_states *seen,
    bool known)
{
	/*
	 * what was killed between a snapshot and the state of its pass wrote no state: an older one
	 * tells nothing of this session
	 */
	if (!known || seen->written + FILE_MS < g->h.taken_at)
		return true;
	return shows_session(seen, session_hash);
}

/* The other agents' panes of the session when its server died. */
static void
claim_others(struct detection *d, const struct claim *x, const char *first, const struct pane_states *seen)
{
	for (size_t i = 0; i < seen->n; i++) {
		const struct pane_state *one = &seen->v[i];

		if (one->agent && one->file != NULL && strcmp(one->session, x->key.session_hash) == 0 &&
		    strcmp(one->id, first) != 0)
			claim_snapshot(one->file, x->key.session_hash, true, &d->also)->beside = x->beside;
	}
}

static const struct workspace *
read_workspace(struct detection *d, const struct snapshot *h)
{
	struct workspace *x = &d->workspace;

	if (x->server_pid == h->server_pid && x->server_start == h->server_start)
		return x->file != NULL ? x : NULL;
	workspace_release(x);
	if (workspace_read(d->w, h->socket, h->server_pid, h->server_start, NULL, x))
		return x;
	x->server_pid = h->server_pid;
	x->server_start = h->server_start;
	return NULL;
}

/* The window and index that it had at the last pass, where that is known. */
static void
set_old_place(struct detection *d, const struct snapshot *h, struct pane *p)
{
	const struct workspace *of = read_workspace(d, h);
	char *own = pane_place(h->server_pid, h->server_start, h->pane);
	struct workspace_walk k = { .shape = of != NULL ? workspace_shape_with(of, own) : NULL };

	while (workspace_walk_next(&k))
		if (strcmp(json_text(k.pane, "id", ""), h->pane) == 0 &&
		    strcmp(json_text(k.session, "name", ""), h->session) == 0) {
			p->window_index = (int)json_number(k.window, "index", -1);
			p->index = (int)json_number(k.pane, "index", -1);
		}
	free(own);
}

/*
 * The other agents of the session as its server's workspace has them. Of a server that died those that
 * had been lost before and were not started again in the shells that wait for them; of one that lives
 * those that were there with this one.
 */
static void
claim_of_workspace(struct detection *d, const struct claim *x, const struct snapshot *h, bool died)
{
	const struct workspace *of = read_workspace(d, h);
	char *own = pane_place(h->server_pid, h->server_start, h->pane), *places;
	struct workspace_walk k = { .shape = of == NULL ? NULL
		: died				      ? workspace_now(of)
						      : workspace_shape_with(of, own) };

	while (workspace_walk_next(&k)) {
		const char *older = json_text(k.pane, "place", "");
		const struct snapshot_file *one;

		if (strcmp(json_text(k.session, "name", ""), h->session) != 0 ||
		    (died ? *older == '\0' : !json_flag(k.pane, "agent", false)) ||
		    strcmp(json_text(k.pane, "id", ""), h->pane) == 0)
			continue;
		places = workspace_places(of, k.pane);
		one = detect_snapshot_of_places(d, h->socket, places);
		if (one != NULL)
			claim_snapshot(one->name, one->session, true, &d->also)->beside = x->beside;
		free(places);
	}
	free(own);
}

/* Sets server_died. */
static void
look_at_server(struct detection *d, const struct claim *x, struct gone_pane *g)
{
	const struct snapshot *h = &g->h;
	bool died = server_died(g->s, h->server_pid, h->server_start), known;
	struct pane_states seen;

	if (g->found_beside) {
		g->server_died = died;
		return;
	}
	known = snapshot_panes_of_server(&seen, d->snapshots.dir, h->socket, h->server_pid, h->server_start);
	g->server_died = died && was_there_at_the_end(g, x->key.session_hash, &seen, known);
	if (died && shows_session(&seen, x->key.session_hash))
		claim_others(d, x, h->pane, &seen);
	if (h->session != NULL && h->pane != NULL && !g->lost)
		claim_of_workspace(d, x, h, died);
	snapshot_panes_release(&seen);
}

/*
 * The living pane's session is the one of then. tmux tells whole seconds, and a new session of the
 * same name may have begun in the second of the snapshot: then it must have the window of then, or
 * a pane that is older than the one that is gone.
 */
static bool
was_session(const struct living_pane *now, const struct snapshot *h)
{
	if (strcmp(now->session, h->session) != 0 || strcmp(now->socket_path, h->socket) != 0)
		return false;
	return (now->session_created + 1) * 1000 <= h->taken_at ||
	    (now->session_created * 1000 <= h->taken_at &&
		((h->window_id != NULL && strcmp(now->window_id, h->window_id) == 0) ||
		    strtol(now->id + 1, NULL, 10) < strtol(h->pane + 1, NULL, 10)));
}

/* Its session is the one of then, and its conversation does not go on elsewhere. */
static bool
is_lost(const struct detection *d, const struct gone_pane *g)
{
	const struct snapshot *h = &g->h;
	const struct profile *p = h->agent != NULL ? profile_find(d->w->profiles, h->agent) : NULL;
	bool there = false;

	if (g->s->pid != h->server_pid || g->s->start != h->server_start || h->session == NULL ||
	    h->pane == NULL)
		return false;
	for (size_t i = 0; i < d->n_living && !there; i++)
		there = was_session(&d->living[i], h);
	return there && !(p != NULL && h->session_id != NULL && h->config_dir != NULL &&
			    transcript_in_use(p, h->config_dir, h->session_id));
}

static enum claim_answer
explain_snapshot(struct detection *d, struct claim *x, struct candidate *c)
{
	struct gone_pane *g = x->about;
	const struct snapshot *h = &g->h;

	if (!detect_snapshot_head(d, g->file, &g->h))
		return CLAIM_OPEN;
	if ((g->s = find_server(d, h->socket)) == NULL)
		return CLAIM_OPEN;
	/* a server that began in the second of the snapshot has another session of that name */
	if (g->lost && server_died(g->s, h->server_pid, h->server_start))
		g->lost = x->beside = false;
	if (g->lost && !is_lost(d, g))
		return CLAIM_OPEN;
	look_at_server(d, x, g);
	if (h->session == NULL || clock_wall_ms() - h->taken_at > config_ms(d->w->config, "snapshot_age"))
		return CLAIM_OPEN;
	c->unknown_reason = "";
	set_old_pane(h, g->s->socket, &c->pane);
	if (h->pane != NULL)
		set_old_place(d, h, &c->pane);
	if (!detect_identify(d, h, g->file, c))
		return CLAIM_OPEN;
	c->began = began(h);
	x->key.conversation = detect_copy(h->session_id);
	return CLAIM_AGENT;
}

static void
settle_snapshot(struct detection *d, struct claim *x, struct candidate *c)
{
	const struct gone_pane *g = x->about;

	c->status = AGENT_MISSING;
	c->beside = g->lost;
	x->ended = g->server_died;
	if (g->server_died)
		c->reason = c->role.kind != TOWN_ROLE_POLECAT && c->pid_record.session_id == NULL &&
			!g->u.later && detect_left_before_server(d, &g->h, c->profile)
		    ? REASON_STOPPED
		    : REASON_SERVER_EXIT;
	else if (c->pid_record.session_id != NULL || (c->role.kind == TOWN_ROLE_POLECAT && !g->lost) ||
	    was_killed(d->w, g, c->profile))
		c->reason = REASON_PROCESS_DIED;
	else
		c->reason = REASON_STOPPED;
	if (!detect_snapshot_is_alive(d, &g->h) && !g->u.lives)
		return;
	c->status = AGENT_UNKNOWN;
	c->reason = REASON_NONE;
	c->ending = c->unsettled = g->server_died && !is_contained(&g->h);
	c->unknown_reason = is_contained(&g->h) ?
	    "it ran in another container minutes ago; cannot tell whether it is dead" :
	    g->lost ? "its pane is gone, but the agent's process still runs" :
	    "its session is gone, but the agent's process still runs";
}

static void
forget_snapshot(struct claim *x)
{
	struct gone_pane *g = x->about;

	snapshot_release(&g->h);
	detect_release_unsnapshotted(&g->u);
	free(g->file);
	free(g);
}

static bool
has_key(char (*keys)[SNAPSHOT_KEY], size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp(keys[i], key, SNAPSHOT_KEY) == 0)
			return true;
	return false;
}

/* It may be of a pane that a session of a living server has lost. */
static bool
was_in_living(const struct detection *d, const struct snapshot_file *x)
{
	for (size_t i = 0; i < d->n_living; i++)
		if (d->living[i].session_created * 1000 <= x->at &&
		    memcmp(d->living[i].session_hash, x->session, SNAPSHOT_KEY) == 0)
			return true;
	return false;
}

/* The session of the file, and apart from it the one of that name that was there before the living one. */
static void
session_key(const struct detection *d, const struct snapshot_file *x, bool in_living, char key[SNAPSHOT_KEY])
{
	memcpy(key, x->session, SNAPSHOT_KEY);
	for (size_t i = 0; i < d->n_living && !in_living; i++)
		if (memcmp(d->living[i].session_hash, x->session, SNAPSHOT_KEY) == 0) {
			key[0] = '-';
			return;
		}
}

static struct claim *
claim_file(const struct snapshot_file *x, bool lost, struct claim_list *out)
{
	struct claim *one = claim_snapshot(x->name, x->session, false, out);
	struct gone_pane *g = one->about;

	memcpy(one->key.pane_hash, x->pane, SNAPSHOT_KEY);
	one->beside = g->lost = lost;
	return one;
}

/* Agents for which a shell waits in a workspace that was built again. */
static void
list_waiting(const struct detection *d, struct claim_list *out)
{
	for (size_t i = 0; i < d->n_living && !d->no_snapshots; i++) {
		const struct snapshot_file *x = d->living[i].waits
		    ? detect_snapshot_of_places(d, d->living[i].socket_path, d->living[i].places)
		    : NULL;

		if (x != NULL)
			claim_file(x, false, out)->beside = true;
	}
}

static int
list_snapshots(struct detection *d, struct claim_list *out, struct err *e)
{
	char (*seen)[SNAPSHOT_KEY] = xcalloc(d->snapshots.n * 2, sizeof *seen);

	(void)e;
	for (size_t i = d->snapshots.n, n = 0; i-- > 0 && !d->no_snapshots; ) {
		const struct snapshot_file *x = &d->snapshots.v[i];
		/*
		 * the pane was seen later, in this session or in another one, which it was moved
		 * to or which is this one under another name
		 */
		bool later = has_key(seen, n, x->pane), in_living = was_in_living(d, x);
		char session[SNAPSHOT_KEY];

		session_key(d, x, in_living, session);
		if (!later)
			memcpy(seen[n++], x->pane, SNAPSHOT_KEY);
		if (later || (has_key(seen, n, session) && !in_living))
			continue;
		memcpy(seen[n++], session, SNAPSHOT_KEY);
		claim_file(x, in_living, out);
	}
	free(seen);
	list_waiting(d, out);
	return 0;
}

const struct agent_source detect_from_snapshots = {
	.name = "snapshots", .bit = FROM_SNAPSHOTS, .of_ended = true, .list = list_snapshots,
	.explain = explain_snapshot, .settle = settle_snapshot, .forget = forget_snapshot,
};

const struct agent_source detect_from_attempts = {
	.name = "attempts", .bit = FROM_ATTEMPTS, .adds_to = FROM_SNAPSHOTS, .explain = explain_attempt,
};
