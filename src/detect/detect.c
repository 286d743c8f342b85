#include <stdlib.h>
#include <string.h>

#include "detect/detect_private.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "conversation/conversation.h"
#include "process/proc.h"
#include "records/agents/agents.h"
#include "screen/screen.h"
#include "scrub/scrub.h"

/*
 * In the order in which they take a key. A member that is set by a later one, of those that explain
 * the same claim, wins.
 */
static const struct agent_source *const sources[] = {
	&detect_from_panes,
	&detect_from_restarted,
	&detect_from_seen,
	&detect_from_place,
	&detect_from_snapshots,
	&detect_from_attempts,
	&detect_from_assignments,
	&detect_from_background,	/* not for passes over panes alone (detect_background) */
	&detect_from_records,	/* only for people who ask (detect_recorded) */
};

#define N_SOURCES (sizeof sources / sizeof sources[0])

/* ---- the merge ---- */

struct claim *
detect_add_claim(struct claim_list *l)
{
	l->v = vec_room(l->v, l->n, &l->cap, sizeof *l->v);
	memset(&l->v[l->n], 0, sizeof *l->v);
	return &l->v[l->n++];
}

static void
key_release(struct agent_key *k)
{
	free(k->socket);
	free(k->session);
	free(k->pane);
	free(k->conversation);
	free(k->places);
	free(k->cwd);
	memset(k, 0, sizeof *k);
}

/* The names that the candidate has, in the place of what the claim knew; hashes stay. */
static void
set_key(struct agent_key *k, const struct candidate *c)
{
	const struct pane *p = &c->pane;
	const char *talk = c->agent_pid != 0 ? c->pid_record.session_id : NULL;

	free(k->socket);
	free(k->session);
	free(k->pane);
	free(k->conversation);
	free(k->places);
	free(k->cwd);
	k->socket = detect_copy(p->socket);
	k->server_pid = p->server_pid;
	k->session = detect_copy(p->session);
	k->pane = detect_copy(p->id);
	k->conversation = detect_copy(talk);
	k->places = p->id != NULL && *p->id == '%' ? pane_places(p) : NULL;
	k->cwd = detect_copy(c->cwd);
}

static bool
is_equal(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static bool
is_same_hash(const char a[SNAPSHOT_KEY], const char b[SNAPSHOT_KEY])
{
	return *a != '\0' && memcmp(a, b, SNAPSHOT_KEY) == 0;
}

static bool
is_same_pane(const struct agent_key *a, const struct agent_key *b)
{
	return (a->server_pid != 0 && a->server_pid == b->server_pid && is_equal(a->pane, b->pane)) ||
	    is_same_hash(a->pane_hash, b->pane_hash);
}

static bool
is_same_session(const struct agent_key *a, const struct agent_key *b)
{
	return (is_equal(a->session, b->session) &&
		   (a->socket == NULL || b->socket == NULL || strcmp(a->socket, b->socket) == 0)) ||
	    is_same_hash(a->session_hash, b->session_hash);
}

/* `held` is what has its key. */
static bool
is_taken(const struct claim_list *held, const struct claim *x)
{
	for (size_t i = 0; i < held->n; i++) {
		const struct claim *h = &held->v[i];

		if (is_same_pane(&h->key, &x->key))
			return true;
		if (h->by != x->by && !x->beside && !x->by->of_ended &&
		    (is_same_session(&h->key, &x->key) || is_equal(h->key.conversation, x->key.conversation)))
			return true;
	}
	return false;
}

/* The same of one of a source of_ended, when it is known which agent it is. */
static bool
is_taken_by_name(const struct claim_list *held, const struct claim *x, const struct candidate *c)
{
	bool another = x->ended && c->role.kind == TOWN_ROLE_NONE;

	for (size_t i = 0; i < held->n && x->by->of_ended && !x->beside; i++) {
		const struct claim *h = &held->v[i];

		if (h->by != x->by &&
		    (is_equal(h->key.conversation, x->key.conversation) ||
			(is_same_session(&h->key, &x->key) && (!another || is_equal(h->key.cwd, c->cwd)))))
			return true;
	}
	return false;
}

/* Another one is known in its place. */
static bool
is_placed(const struct claim_list *held, const struct candidate *c)
{
	char *places = pane_places(&c->pane);
	bool yes = false;

	for (size_t i = 0; i < held->n && !yes; i++)
		yes = held->v[i].key.places != NULL && pane_place_is_same(held->v[i].key.places, places);
	free(places);
	return yes;
}

struct merge {
	const struct agent_source *const *all;
	size_t n;
	unsigned mask;
	struct detection *d;
	struct claim_list held;		/* whose key is taken */
	struct candidate_list *out;
};

/* By the source that listed it, then by those that add to it. */
static bool
explain_claim(const struct merge *m, struct claim *x, struct candidate *c)
{
	enum claim_answer answer = x->by->explain(m->d, x, c);

	/* a pane without an agent can still be one that an agent had */
	if (answer == CLAIM_OPEN && !x->there)
		return false;
	for (size_t i = 0; i < m->n; i++) {
		const struct agent_source *source = m->all[i];
		enum claim_answer more = CLAIM_OPEN;

		if ((source->bit & m->mask) != 0 && (source->adds_to & x->by->bit) != 0)
			more = source->explain(m->d, x, c);
		if (more != CLAIM_OPEN)
			answer = more;
	}
	if (answer == CLAIM_AGENT && x->by->settle != NULL)
		x->by->settle(m->d, x, c);
	return answer == CLAIM_AGENT;
}

static void
forget_claim(struct claim *x)
{
	if (x->by->forget != NULL)
		x->by->forget(x);
	key_release(&x->key);
}

/* Moves the claim's key to those that are taken; by the candidate's names if there is one. */
static void
hold(struct claim_list *held, struct claim *x, const struct candidate *c)
{
	struct claim *h = detect_add_claim(held);

	h->by = x->by;
	h->key = x->key;
	memset(&x->key, 0, sizeof x->key);
	if (c != NULL)
		set_key(&h->key, c);
}

/* What came of an agent that was started in a pane is known, without an older pane in its place. */
static void
hold_place(struct claim *x, const struct candidate *c, bool closed)
{
	const struct pane *p = &c->pane;

	if (p->id != NULL && (closed || (p->filled != NULL && *p->filled != '\0')))
		x->key.places = pane_places(p);
}

static void
take_claim(struct merge *m, struct claim *x)
{
	struct candidate_list *out = m->out;
	struct candidate c = { .low_confidence = false };
	bool agent, closed;

	if (is_taken(&m->held, x))
		return;
	agent = explain_claim(m, x, &c);
	if (is_taken_by_name(&m->held, x, &c)) {
		candidate_release(&c);
		return;
	}
	/* a pane that a person closed, in a session that goes on */
	closed = agent && c.beside && c.reason == REASON_STOPPED;
	if (agent && !closed && (x->there || c.pane.place == NULL || !is_placed(&m->held, &c))) {
		c.viewer = c.background == NULL && agent_is_viewer(&c.launch);
		hold(&m->held, x, &c);
		out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
		out->v[out->n++] = c;
		return;
	}
	if (x->there || closed) {
		hold_place(x, &c, closed);
		hold(&m->held, x, NULL);
	}
	candidate_release(&c);
}

/* All that it lists, and what it comes upon when it explains that. */
static int
ask_source(struct merge *m, const struct agent_source *source, struct err *e)
{
	struct detection *d = m->d;
	struct claim_list claims = { .n = 0 };
	int ret = source->list(d, &claims, e);

	for (size_t i = 0; i < claims.n; i++) {
		claims.v[i].by = source;
		if (ret == 0)
			take_claim(m, &claims.v[i]);
		for (size_t k = 0; k < d->also.n; k++)
			*detect_add_claim(&claims) = d->also.v[k];
		d->also.n = 0;
		forget_claim(&claims.v[i]);
	}
	free(claims.v);
	return ret;
}

static int
compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = strcmp(x->pane.session, y->pane.session);

	if (order == 0)
		order = strcmp(x->pane.id, y->pane.id);
	if (order == 0 && x->record != NULL && y->record != NULL)
		order = strcmp(x->record->agent_uuid, y->record->agent_uuid);
	return order;
}

int
detect_merge(const struct agent_source *const *all, size_t n, unsigned mask, struct detection *d,
    struct candidate_list *out, struct err *e)
{
	struct merge m = { .all = all, .n = n, .mask = mask, .d = d, .out = out };
	size_t from = out->n;
	int ret = 0;

	for (size_t i = 0; i < out->n; i++)
		set_key(&detect_add_claim(&m.held)->key, &out->v[i]);
	for (size_t i = 0; i < n && ret == 0; i++) {
		if ((all[i]->bit & mask) == 0 || all[i]->list == NULL)
			continue;
		ret = ask_source(&m, all[i], e);
		if (all[i]->keeps_order)
			from = out->n;
	}
	if (out->n > from)
		qsort(out->v + from, out->n - from, sizeof *out->v, compare_candidates);
	for (size_t i = 0; i < m.held.n; i++)
		key_release(&m.held.v[i].key);
	free(m.held.v);
	return ret;
}

/* ---- a detection ---- */

static void
detection_init(struct detection *d, struct app *w, const struct procs *procs)
{
	*d = (struct detection){ .w = w, .procs = procs, .absent = "" };
}

static void
detection_release(struct detection *d)
{
	for (size_t i = 0; i < d->n_servers; i++)
		free(d->servers[i].path);
	free(d->servers);
	for (size_t i = 0; d->now != NULL && i < d->w->n_servers; i++)
		pane_list_release(&d->now[i].panes);
	free(d->now);
	free(d->also.v);
	for (size_t i = 0; i < d->n_living; i++) {
		free(d->living[i].socket_path);
		free(d->living[i].session);
		free(d->living[i].places);
		free(d->living[i].id);
		free(d->living[i].window_id);
	}
	free(d->living);
	workspace_release(&d->workspace);
	snapshot_index_release(&d->snapshots);
	scrub_free(d->scrub);
	if (d->starts != NULL)
		town_starts_free(d->starts);
}

static void
read_snapshots(struct detection *d)
{
	char *dir = town_snapshot_dir(d->w->town, d->w->config, NULL);

	d->no_snapshots = dir == NULL || snapshot_index_read(dir, &d->snapshots, NULL) != 0;
	free(dir);
}

struct scrub *
detect_scrub(struct detection *d)
{
	if (d->scrub == NULL && (d->scrub = app_scrub(d->w, NULL)) == NULL)
		d->no_snapshots = true;
	return d->scrub;
}

struct session_starts *
detect_starts(struct detection *d)
{
	if (d->starts == NULL)
		d->starts = town_starts_new(d->w->town);
	return d->starts;
}

bool
detect_snapshot_head(struct detection *d, const char *name, struct snapshot *out)
{
	return !d->no_snapshots && detect_scrub(d) != NULL &&
	    snapshot_file_read_head(d->snapshots.dir, name, d->scrub, out, NULL) == 0;
}

const struct snapshot_file *
detect_snapshot_of_places(const struct detection *d, const char *socket_path, const char *places)
{
	const struct snapshot_file *found = NULL;
	char key[SNAPSHOT_KEY], *id;
	int64_t start;
	pid_t pid;

	while (pane_place_read(&places, &pid, &start, &id)) {
		const struct snapshot_file *x;

		snapshot_pane_key(key, socket_path, pid, start, id);
		x = snapshot_index_newest(&d->snapshots, NULL, key, 0);
		if (x != NULL && (found == NULL || x->at > found->at))
			found = x;
		free(id);
	}
	return found;
}

static bool
any_zombie(const struct candidate_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].status == AGENT_ZOMBIE)
			return true;
	return false;
}

/* It waits for a person, or for us whom a person typed into it. */
static bool
is_left_shell(const struct procs *procs, const struct candidate *c)
{
	return c->own_pane ? proc_list_typed_here(procs, c->pane.pid)
			   : proc_list_waiting_shell(procs, c->pane.pid) != 0;
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
		if (!is_left_shell(&procs, c) ||
		    proc_list_agent(&procs, c->pane.pid, profile_list_has_process, w->profiles) != NULL) {
			c->status = AGENT_UNKNOWN;
			c->reason = REASON_NONE;
			c->unknown_reason = "two checks of its processes disagree";
			c->unsettled = true;
		} else
			detect_set_zombie_reason(w, c);
	}
	proc_list_release(&procs);
	return 0;
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
	struct detection d;
	int ret;

	memset(out, 0, sizeof *out);
	if (proc_list(&procs, e) != 0)
		return -1;
	detection_init(&d, w, &procs);
	read_snapshots(&d);
	ret = detect_merge(sources, N_SOURCES,
	    FROM_PANES | FROM_RESTARTED | FROM_SEEN | FROM_PLACE |
		(d.snapshots.n > 0 ? FROM_SNAPSHOTS | FROM_ATTEMPTS : 0) |
		(town_root(w->town) != NULL ? FROM_ASSIGNMENTS : 0),
	    &d, out, e);
	out->servers = d.answered;
	out->trouble = d.trouble;
	if (ret == 0 && d.first.code != 0 &&
	    (w->sockets_named ? !known_on(out, d.absent) : out->servers + out->n == 0)) {
		*e = d.first;
		ret = -1;
	}
	if (ret == 0)
		ret = confirm_zombies(w, out, e);
	if (ret == 0)
		err_clear(e);
	proc_list_release(&procs);
	detection_release(&d);
	if (ret != 0)
		candidate_list_release(out);
	return ret;
}

int
detect_listed(struct app *w, struct tmux *t, struct panes *panes, struct candidate_list *out, struct err *e)
{
	struct procs procs;
	struct detection d;
	int ret = pane_list_environ(t, panes, 0, e);

	memset(out, 0, sizeof *out);
	if (ret != 0 || proc_list(&procs, e) != 0)
		return -1;
	detection_init(&d, w, &procs);
	d.given = panes;
	d.given_server = t;
	ret = detect_merge(sources, N_SOURCES, FROM_PANES | FROM_SEEN, &d, out, e);
	proc_list_release(&procs);
	detection_release(&d);
	if (ret == 0)
		ret = confirm_zombies(w, out, e);
	if (ret != 0)
		candidate_list_release(out);
	return ret;
}

static int
add_sources(struct app *w, unsigned mask, struct candidate_list *all, struct err *e)
{
	struct detection d;
	int ret;

	detection_init(&d, w, NULL);
	ret = detect_merge(sources, N_SOURCES, mask, &d, all, e);
	detection_release(&d);
	return ret;
}

static int
detect_more(struct app *w, unsigned mask, struct candidate_list *all, int ret, struct err *e)
{
	bool no_server = ret != 0 && strcmp(e->name, "no-server") == 0;
	struct err own = ERR_INIT;

	if (ret == 0)
		ret = detect_lines(w, all, e);
	if ((ret != 0 && !no_server) || add_sources(w, mask, all, &own) != 0) {
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

int
detect_recorded(struct app *w, struct candidate_list *all, int ret, struct err *e)
{
	return detect_more(w, FROM_BACKGROUND | FROM_RECORDS, all, ret, e);
}

int
detect_background(struct app *w, struct candidate_list *all, int ret, struct err *e)
{
	return detect_more(w, FROM_BACKGROUND, all, ret, e);
}

static int
changed(const struct candidate *c, const char *how, struct err *e)
{
	err_set(e, GT_AGAIN, "changed", "pane %s changed during the check: %s", c->pane.id, how);
	return err_hint(e, "nothing was changed; gt-recover list shows its new state");
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
	else if (!now.dead && !is_left_shell(&procs, c))
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

/* Panes of one session, or of two servers' sessions of one name. */
static void
mark_namesakes(struct candidate_list *all)
{
	for (size_t i = 0; i < all->n; i++)
		for (size_t k = i + 1; k < all->n; k++)
			if (strcmp(all->v[i].pane.session, all->v[k].pane.session) == 0)
				all->v[i].namesake = all->v[k].namesake = true;
}

int
detect_lines(struct app *w, struct candidate_list *list, struct err *e)
{
	mark_namesakes(list);
	for (size_t i = 0; i < w->n_servers; i++)
		if (lines_of_server(&w->servers[i], list, e) != 0)
			return -1;
	return 0;
}
