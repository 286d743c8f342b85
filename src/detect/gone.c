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
	return proc_is_recent(now.wall_ms - last);
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
	p->start_path = detect_copy(h->cwd);
	p->default_shell = detect_copy(h->shell);
	candidate_fill_pane(p);
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

void
detect_set_command(struct detection *d, const struct snapshot *h, struct candidate *c)
{
	struct buf command = BUF_INIT;

	if (h->command != NULL) {
		set_need(c, full_command(h, &command, &c->inherited_env));
		c->command_source = COMMAND_SNAPSHOT;
		launch_release(&c->launch);
		launch_command(&c->launch, c->missing_secret == NULL ? command.data : h->command,
		    c->pane.default_shell, profile_list_has_program, d->w->profiles);
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

/* ---- what attempts tell ---- */

/*
 * An agent that a recovery started, and that no snapshot shows: of the newest attempt that started
 * one there.
 */
struct unsnapshotted {
	char *id;			/* the attempt's; NULL: none is known, and nothing else is set */
	bool later;			/* that was after the snapshot */
	bool answered;			/* it was for what the snapshot shows, and was acknowledged */
	bool lives;			/* a process is known that goes on with it */
	/* the conversation in which it was told, or that it began untold; NULL: none is known */
	char *session_id;
	enum exit_kind parting;		/* of that */
	int64_t began;			/* when the attempt started it, ms since 1970 */
	int64_t alive_at;		/* when it certainly lived, ms since 1970 */
	int64_t server_pid, server_start;	/* where; 0: on the server that ran then */
};

/* Between the commit of a start and what a process tells of its own. */
#define SLACK_MS 5000
#define MOST_LINKS 16	/* attempts in a row that came to nothing */

static bool
same_pane(const struct attempt *a, const struct snapshot *h)
{
	return a->server_pid == h->server_pid && a->server_start == h->server_start &&
	    strcmp(a->pane_id, h->pane) == 0 && strcmp(a->socket, h->socket) == 0;
}

/* The attempt by which the agent that the snapshot shows was started: in its pane, or with its session. */
static bool
may_have_made(const struct attempt *a, const struct snapshot *h)
{
	int64_t at = a->times[PHASE_RESPAWNED];

	if (at == 0 || at > h->taken_at || a->cwd == NULL || h->cwd == NULL || strcmp(a->cwd, h->cwd) != 0)
		return false;
	if (same_pane(a, h))
		return a->in_shell || a->pane_pid != h->pane_pid;
	return strcmp(a->class, detect_status_name(AGENT_MISSING)) == 0 &&
	    strcmp(a->session, h->session) == 0 && strcmp(a->socket, h->socket) == 0;
}

static bool
find_maker(struct store *store, const struct snapshot *h, struct attempt *out)
{
	struct attempt_list all = { .n = 0 };
	struct attempt *best = NULL;

	if (attempt_list_all(store, &all, NULL) == 0)
		for (size_t i = 0; i < all.n; i++)
			if (may_have_made(&all.v[i], h) &&
			    (best == NULL || all.v[i].times[PHASE_RESPAWNED] > best->times[PHASE_RESPAWNED]))
				best = &all.v[i];
	if (best != NULL) {
		*out = *best;
		attempt_init(best);
	}
	attempt_list_release(&all);
	return best != NULL;
}

/*
 * It replaced what the snapshot shows, or what came after that in the same pane. One that only
 * told a living agent replaced nothing.
 */
static bool
replaced(const struct attempt *a, const struct snapshot *h)
{
	int64_t at = a->times[PHASE_RESPAWNED];

	return at != 0 && same_pane(a, h) && strcmp(a->class, detect_status_name(AGENT_RESPAWNED)) != 0 &&
	    ((a->pane_pid == h->pane_pid && !a->in_shell) || at > h->taken_at);
}

/* The newest that did. One that ended before it could start anything goes on with the one before it. */
static bool
find_successor(struct store *store, const struct snapshot *h, struct attempt *out)
{
	struct attempt a;

	if (attempt_latest(store, h->socket, h->server_pid, h->server_start, h->pane, out, NULL) != 1)
		return false;
	for (int i = 0; i < MOST_LINKS && out->times[PHASE_RESPAWNED] == 0 && out->previous != NULL; i++) {
		if (attempt_load(store, out->previous, &a, NULL) != 1)
			break;
		attempt_release(out);
		*out = a;
	}
	if (replaced(out, h))
		return true;
	attempt_release(out);
	return false;
}

/* What it started may have died unseen as well, and been brought back: the last of that row. */
static void
follow(struct store *store, struct attempt *a)
{
	struct attempt_list all = { .n = 0 };
	size_t next = 0;

	if (attempt_list_all(store, &all, NULL) != 0)
		all.n = 0;
	for (int i = 0; i < MOST_LINKS && next < all.n; i++) {
		for (next = 0; next < all.n; next++)
			if (all.v[next].previous != NULL && strcmp(all.v[next].previous, a->id) == 0 &&
			    all.v[next].times[PHASE_RESPAWNED] != 0 &&
			    strcmp(all.v[next].class, detect_status_name(AGENT_RESPAWNED)) != 0)
				break;
		if (next < all.n) {
			attempt_release(a);
			*a = all.v[next];
			attempt_init(&all.v[next]);
		}
	}
	attempt_list_release(&all);
}

/*
 * Of one that never read its prompt: what it heard instead began a conversation that no living
 * process has.
 */
static char *
find_newborn(const char *format, const char *config_dir, const struct attempt *a)
{
	struct agent_pid_files all = { .n = 0 };
	const char **held;
	size_t n = 0;
	char *path;

	agent_pid_files_read(config_dir, &all);
	held = xcalloc(all.n + 1, sizeof *held);
	for (size_t i = 0; i < all.n; i++)
		if (all.v[i].session_id != NULL && agent_pid_file_is_alive(&all.v[i]))
			held[n++] = all.v[i].session_id;
	path = locate_new(format, config_dir, a->cwd, a->times[PHASE_RESPAWNED], held, n);
	free(held);
	agent_pid_files_release(&all);
	return path;
}

/* The process that the attempt had started; a pid is used again. */
static bool
still_runs(const struct attempt *a)
{
	int64_t began = a->new_pid > 0 ? proc_began_ms((pid_t)a->new_pid) : 0;

	if (attempt_is_contained(a) || (a->new_pid > 0 && proc_life((pid_t)a->new_pid, 0) == LIFE_UNKNOWN))
		return true;
	return began != 0 && began >= a->times[PHASE_RESPAWNED] - SLACK_MS &&
	    (a->times[PHASE_DELIVERED] == 0 || began <= a->times[PHASE_DELIVERED] + SLACK_MS);
}

/*
 * In which it was told; where sessions are told apart by their names, in which it began untold.
 * Elsewhere that tells nothing of when, and may be another's.
 */
static void
set_conversation(
    const struct attempt *a, const struct snapshot *h, const struct profile *p, struct unsnapshotted *out)
{
	char *path = a->transcript != NULL ? xstrdup(a->transcript) : NULL;
	enum ack ack = ACK_NONE;

	if (path == NULL && h->config_dir != NULL)
		locate_ack(p->transcript, h->config_dir, a->cwd, a->id, a->times[PHASE_RESPAWNED], &ack,
		    &path);
	if (path == NULL && out->later && h->config_dir != NULL && a->cwd != NULL)
		path = find_newborn(p->transcript, h->config_dir, a);
	if (path != NULL)
		out->session_id =
		    locate_session_id(p->transcript, h->config_dir, path, a->times[PHASE_RESPAWNED]);
	if (out->session_id != NULL)
		out->parting = transcript_exit_kind(p->transcript, path);
	free(path);
}

/* Never fails: what no attempt tells is not known. release_unsnapshotted. */
static void
find_unsnapshotted(struct app *w, const struct snapshot *h, struct unsnapshotted *out)
{
	const struct profile *p = h->agent != NULL ? profile_find(w->profiles, h->agent) : NULL;
	struct store *store = app_store(w, false, NULL);
	struct attempt a;

	memset(out, 0, sizeof *out);
	out->parting = EXIT_UNKNOWN;
	if (store == NULL || h->pane == NULL || p == NULL)
		return;
	out->later = find_successor(store, h, &a);
	if (!out->later && (h->session_id != NULL || !find_maker(store, h, &a)))
		return;
	if (out->later)
		follow(store, &a);
	out->id = xstrdup(a.id);
	out->answered = out->later && a.phase == PHASE_ACKNOWLEDGED;
	out->began = a.times[PHASE_RESPAWNED];
	/* the acknowledgement may have been found long after its end */
	out->alive_at = a.times[PHASE_DELIVERED] != 0 ? a.times[PHASE_DELIVERED] : a.times[PHASE_RESPAWNED];
	out->server_pid = strcmp(a.class, detect_status_name(AGENT_MISSING)) != 0 ? a.server_pid : a.made_pid;
	out->server_start =
	    strcmp(a.class, detect_status_name(AGENT_MISSING)) != 0 ? a.server_start : a.made_start;
	set_conversation(&a, h, p, out);
	out->lives = still_runs(&a) ||
	    (out->session_id != NULL && h->config_dir != NULL &&
		transcript_in_use(p, h->config_dir, out->session_id));
	attempt_release(&a);
}

static void
release_unsnapshotted(struct unsnapshotted *u)
{
	free(u->id);
	free(u->session_id);
	memset(u, 0, sizeof *u);
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

	find_unsnapshotted(d->w, &g->h, &g->u);
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
			claim_snapshot(one->file, x->key.session_hash, true, &d->also);
	}
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
	snapshot_panes_release(&seen);
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
	look_at_server(d, x, g);
	if (h->session == NULL || clock_wall_ms() - h->taken_at > config_ms(d->w->config, "snapshot_age"))
		return CLAIM_OPEN;
	c->unknown_reason = "";
	set_old_pane(h, g->s->socket, &c->pane);
	if (!detect_identify(d, h, g->file, c))
		return CLAIM_OPEN;
	c->began = began(h);
	return CLAIM_AGENT;
}

static void
settle_snapshot(struct detection *d, struct claim *x, struct candidate *c)
{
	const struct gone_pane *g = x->about;

	c->status = AGENT_MISSING;
	if (g->server_died)
		c->reason = REASON_SERVER_EXIT;
	else if (c->pid_record.session_id != NULL || c->role.kind == TOWN_ROLE_POLECAT ||
	    was_killed(d->w, g, c->profile))
		c->reason = REASON_PROCESS_DIED;
	else
		c->reason = REASON_STOPPED;
	if (!detect_snapshot_is_alive(d, &g->h) && !g->u.lives)
		return;
	c->status = AGENT_UNKNOWN;
	c->reason = REASON_NONE;
	c->unknown_reason = is_contained(&g->h) ?
	    "it ran in another container minutes ago; cannot tell whether it is dead" :
	    "its session is gone, but the agent's process still runs";
}

static void
forget_snapshot(struct claim *x)
{
	struct gone_pane *g = x->about;

	snapshot_release(&g->h);
	release_unsnapshotted(&g->u);
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
		bool later = has_key(seen, n, x->pane), done = has_key(seen, n, x->session);

		if (!later)
			memcpy(seen[n++], x->pane, SNAPSHOT_KEY);
		if (later || done)
			continue;
		memcpy(seen[n++], x->session, SNAPSHOT_KEY);
		memcpy(claim_snapshot(x->name, x->session, false, out)->key.pane_hash, x->pane, SNAPSHOT_KEY);
	}
	free(seen);
	return 0;
}

const struct agent_source detect_from_snapshots = {
	.name = "snapshots", .bit = FROM_SNAPSHOTS, .list = list_snapshots,
	.explain = explain_snapshot, .settle = settle_snapshot, .forget = forget_snapshot,
};

const struct agent_source detect_from_attempts = {
	.name = "attempts", .bit = FROM_ATTEMPTS, .adds_to = FROM_SNAPSHOTS, .explain = explain_attempt,
};
