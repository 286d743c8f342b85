#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snapshot/pass/pass.h"
#include "snapshot/snapshot.h"
#include "snapshot/pass/pass_private.h"
#include "detect/detect.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/utf8.h"
#include "scrub/scrub.h"
#include "tmux/tmux.h"
#include "config/config.h"
#include "gastown/gastown.h"
#include "workspace/workspace.h"

#define DAY_MS ((int64_t)86400000)

#define LOCK_WAIT_MS 15000
#define BATCH_BYTES ((int64_t)64 << 20)	/* of scrollback in one answer of tmux, by its own count */
#define ROOM 64				/* values that one agent's environment may add */

struct snapshot_run {
	struct app *w;
	const struct snapshot_request *ask;
	struct snapshot_pass *run;
	struct snapshot_writer shooter;		/* what all shots share */
	struct scrub *scrub;
	bool *matched;			/* one a name */
	int lock;			/* -1: nothing to write was met yet */
	bool wrote;
};

/* One server's part. */
struct server_run {
	struct snapshot_run *p;
	struct tmux *t;
	struct pane_states seen;
	struct candidate_list found;
	size_t learned;			/* of found: up to here the scrubber knows their values */
	int64_t looked;
};

const char *
snapshot_status_name(enum snapshot_status how)
{
	static const char *const names[] = { "taken", "unchanged", "kept", "wanted", "failed" };

	return names[how];
}

static struct snapshot_result *
add_named(struct snapshot_pass *run, enum snapshot_status how, const char *session, const char *socket,
    const char *pane)
{
	struct snapshot_result *r;

	run->v = vec_room(run->v, run->n, &run->cap, sizeof *run->v);
	r = &run->v[run->n++];
	memset(r, 0, sizeof *r);
	r->how = how;
	r->session = xstrdup(session);
	r->socket = xstrdup(socket);
	r->pane = xstrdup(pane);
	return r;
}

static struct snapshot_result *
add_result(struct snapshot_pass *run, enum snapshot_status how, const struct pane *p, const char *file)
{
	struct snapshot_result *r = add_named(run, how, p->session, p->socket, p->id);

	r->file = file != NULL ? xstrdup(file) : NULL;
	return r;
}

/* One sentence that names the pane, and what to do when the cause is mended. Only the first is kept. */
static void
set_exposed(struct err *exposed, const struct pane *p, const struct err *why)
{
	const char *fix = why->hint[0] != '\0' ? why->hint : "fix the cause";

	if (exposed->code != 0)
		return;
	*exposed = *why;
	err_add(exposed,
	    "the dead pane %s of session %.100s (tmux socket %.120s) was not reset, because its screen "
	    "could not be saved",
	    p->id, p->session, p->socket);
	err_hint(exposed, "%.160s; then run: gt-recover snapshot -L %.120s", fix, p->socket);
}

static void
note_exposed(struct snapshot_pass *run, const struct pane *p, const struct err *why)
{
	set_exposed(&run->exposed, p, why);
}

static void
add_failure(struct server_run *r, const struct candidate *c, const struct err *why)
{
	const struct pane_state *x = snapshot_pane_find(&r->seen, &c->pane);

	struct snapshot_result *failed = add_result(r->p->run, SNAP_FAILED, &c->pane, x->file);

	failed->error = *why;
	scrub_error(&failed->error, r->p->scrub);
	if (pane_exposed(&c->pane))
		note_exposed(r->p->run, &c->pane, &failed->error);
}

static bool
is_asked(struct snapshot_run *p, const struct pane *pane, bool agent)
{
	bool asked = p->ask->n == 0 && (!p->ask->exposed || pane_exposed(pane));

	for (size_t i = 0; i < p->ask->n; i++) {
		bool is =
		    strcmp(p->ask->names[i], pane->session) == 0 || strcmp(p->ask->names[i], pane->id) == 0;

		p->matched[i] = p->matched[i] || (is && agent);
		asked = asked || is;
	}
	return asked;
}

static bool
keeps_snapshot(const struct snapshot_run *p, const char *file)
{
	char *path;
	bool there;

	if (file == NULL)
		return true;
	path = io_join(p->shooter.dir, file);
	there = access(path, F_OK) == 0;
	free(path);
	return there;
}

/*
 * What it showed is in its snapshot, and in the pane nothing comes after it: the state of one
 * that was lost is made again.
 */
static void
keep_reset(struct server_run *r, const struct pane *p)
{
	struct pane_state *x = snapshot_pane_find(&r->seen, p);
	const char *name = strrchr(p->kept, '/');
	char *path;

	if (x == NULL || x->pid != p->pid || x->file == NULL) {
		x = snapshot_pane_put(&r->seen, p, r->looked);
		x->agent = true;
		path = name != NULL ? io_join(r->p->shooter.dir, name + 1) : NULL;
		if (path != NULL && strcmp(path, p->kept) == 0)
			x->file = xstrdup(name + 1);
		free(path);
	}
	x->here = true;
	if (is_asked(r->p, p, true))
		add_result(r->p->run, SNAP_SAME, p, x->file);
}

/* Leaves in `list` the panes that have to be looked at. */
static void
drop_unchanged(struct server_run *r, struct panes *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct pane *p = &list->v[i];
		struct pane_state *was = snapshot_pane_find(&r->seen, p);
		bool asked = is_asked(r->p, p, was != NULL && was->agent), same;

		detect_fill_pid(r->p->w, p);
		same = was != NULL && snapshot_pane_same(was, p) && !(was->agent && pane_exposed(p));

		if (pane_is_reset(p)) {
			keep_reset(r, p);
			pane_release(p);
			continue;
		}
		if (was != NULL) {
			was->here = true;
			if (asked && !keeps_snapshot(r->p, was->file)) {
				snapshot_pane_reset(was);
				same = false;
			}
		}
		if (asked && !same) {
			if (kept != i) {
				list->v[kept] = *p;
				memset(p, 0, sizeof *p);
			}
			kept++;
			continue;
		}
		if (asked && was->agent)
			add_result(r->p->run, SNAP_SAME, p, was->file);
		pane_release(p);
	}
	list->n = kept;
}

/* ---- the captures ---- */

/* The values of as many agents as there is room for, before the first of their screens is scrubbed. */
static int
learn_ahead(struct server_run *r, size_t i, struct err *e)
{
	struct snapshot_run *p = r->p;

	if (p->scrub != NULL && i < r->learned)
		return 0;
	if (p->scrub == NULL || scrub_room(p->scrub) < ROOM) {
		scrub_free(p->scrub);
		p->scrub = app_scrub(p->w, e);
		if (p->scrub == NULL)
			return -1;
	}
	for (r->learned = i; r->learned < r->found.n && (r->learned == i || scrub_room(p->scrub) >= ROOM);
	    r->learned++)
		candidate_learn(p->w, p->scrub, &r->found.v[r->learned]);
	return 0;
}

static int
take_one(struct server_run *r, size_t i, const char *text, size_t n, struct err *e)
{
	struct snapshot_run *p = r->p;
	const struct candidate *c = &r->found.v[i];
	struct buf raw = BUF_INIT;
	struct capture capture;
	struct pane_state *x = snapshot_pane_find(&r->seen, &c->pane);
	struct err one = ERR_INIT;
	enum snapshot_outcome end;
	struct snapshot_result *result;

	if (learn_ahead(r, i, e) != 0)
		return -1;
	scrub_forget(p->scrub);		/* what a snapshot says does not depend on the panes before it */
	buf_add(&raw, text, n);
	capture_text(&raw, &c->pane, detect_status_has_shell(c->status),
	    (size_t)config_int(p->w->config, "max_context_lines"), p->scrub, &capture);
	end = snapshot_write_pane(&p->shooter, c, p->scrub, &capture, x, &one);
	if (end == OUTCOME_FAILED) {
		add_failure(r, c, &one);
	} else {
		result = add_result(p->run,
		    end == OUTCOME_WRITTEN    ? SNAP_TAKEN
			: end == OUTCOME_KEPT ? SNAP_KEPT
					      : SNAP_SAME,
		    &c->pane, x->file);
		result->rows = capture.rows;
		p->wrote = p->wrote || end == OUTCOME_WRITTEN;
		x->looked = r->looked;
	}
	capture_release(&capture);
	return 0;
}

/* The captures of one batch, while they come in. */
struct captures {
	struct server_run *r;
	const struct tmux_batch *b;
	size_t from;
	size_t next;			/* the first that has not come */
	bool *empty;			/* one a capture: nothing was printed for it */
	int ret;
	struct err *e;
};

static void
on_capture(void *arg, size_t i)
{
	struct captures *c = arg;
	size_t n;
	const char *text = tmux_batch_output(c->b, i, &n);

	c->next = c->from + i + 1;
	/* rows are printed for the emptiest pane, and nothing for one that is gone: tmux tells at the end */
	c->empty[i] = n == 0;
	if (n > 0 && c->ret == 0 && *c->r->p->w->stop == 0)
		c->ret = take_one(c->r, c->from + i, text, n, c->e);
}

/* `failed`: why the batch did not come to its end, NULL: it did. */
static void
take_empty(struct captures *c, const struct err *failed)
{
	struct err why = ERR_INIT;

	for (size_t i = c->from; i < c->next && c->ret == 0 && *c->r->p->w->stop == 0; i++) {
		if (!c->empty[i - c->from])
			continue;
		if (failed != NULL || tmux_batch_error(c->b, "capture-pane", &why) != 0)
			add_failure(c->r, &c->r->found.v[i], failed != NULL ? failed : &why);
		else
			c->ret = take_one(c->r, i, "", 0, c->e);
	}
}

static int capture_range(struct server_run *r, size_t from, size_t to, struct err *e);

/* The batch failed from there on. */
static int
capture_failed(struct server_run *r, size_t from, size_t to, const struct err *why, struct err *e)
{
	if (strcmp(why->name, "too-large") == 0 && to - from > 1) {
		size_t half = from + (to - from) / 2;

		return capture_range(r, from, half, e) == 0 ? capture_range(r, half, to, e) : -1;
	}
	for (size_t i = from; i < to; i++)
		add_failure(r, &r->found.v[i], why);
	return 0;
}

static int
capture_range(struct server_run *r, size_t from, size_t to, struct err *e)
{
	struct err why = ERR_INIT;
	struct tmux_batch b;
	struct captures c = { .r = r, .b = &b, .from = from, .next = from, .e = e };
	bool failed;

	tmux_batch_init(&b);
	b.each = on_capture;
	b.arg = &c;
	c.empty = xcalloc(to - from, sizeof *c.empty);
	for (size_t i = from; i < to; i++)
		capture_command(
		    &b, &r->found.v[i].pane, (size_t)config_int(r->p->w->config, "max_context_lines"));
	failed = tmux_batch_run(r->t, &b, &why) != 0;
	take_empty(&c, failed ? &why : NULL);
	tmux_batch_release(&b);
	free(c.empty);
	if (failed && c.ret == 0)
		c.ret = capture_failed(r, c.next, to, &why, e);
	return c.ret;
}

static int
capture_all(struct server_run *r, struct err *e)
{
	size_t from = 0, i;
	int64_t bytes = 0;

	for (i = 0; i < r->found.n; i++) {
		const struct pane *p = &r->found.v[i].pane;
		int64_t most = p->history_bytes + (int64_t)p->width * p->height * 4;

		if (i > from && bytes + most > BATCH_BYTES) {
			if (capture_range(r, from, i, e) != 0)
				return -1;
			from = i;
			bytes = 0;
		}
		bytes += most;
	}
	return from < i ? capture_range(r, from, i, e) : 0;
}

/* ---- a server ---- */

static void
keep_candidates(struct candidate_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		/* a snapshot is what an agent is started again by, here */
		if (list->v[i].status == AGENT_REMOTE ||
		    (list->v[i].status == AGENT_UNKNOWN && !pane_exposed(&list->v[i].pane))) {
			candidate_release(&list->v[i]);
			continue;
		}
		if (kept != i) {
			list->v[kept] = list->v[i];
			memset(&list->v[i], 0, sizeof list->v[i]);
		}
		kept++;
	}
	list->n = kept;
}

static int
look_at_changed(struct server_run *r, struct panes *list, struct err *e)
{
	bool dry = r->p->ask->dry_run;

	for (size_t i = 0; i < list->n; i++) {
		/* looked 0: a pass that breaks off here has seen nothing of it */
		struct pane_state *x = snapshot_pane_put(&r->seen, &list->v[i], 0);

		x->agent = false;
	}
	if (detect_listed(r->p->w, r->t, list, &r->found, e) != 0)
		return -1;
	if (!dry)
		snapshot_note_agents(r->p->w, &r->found, NULL);
	keep_candidates(&r->found);
	for (size_t i = 0; i < r->seen.n; i++)
		if (r->seen.v[i].here && r->seen.v[i].looked == 0)
			r->seen.v[i].looked = r->looked;
	for (size_t i = 0; i < r->found.n; i++) {
		struct pane *p = &r->found.v[i].pane;
		struct pane_state *x = snapshot_pane_find(&r->seen, p);

		x->agent = true;
		x->looked = 0;
		is_asked(r->p, p, true);
		if (dry)
			add_result(r->p->run, SNAP_WANTED, p, x->file);
	}
	return dry ? 0 : capture_all(r, e);
}

static void
note_reset(struct app *w, const char *session)
{
	w->reset = vec_room(w->reset, w->n_reset, &w->cap_reset, sizeof *w->reset);
	w->reset[w->n_reset++] = xstrdup(session);
}

/* The dead ones of which a snapshot was made or was there. */
static void
reset_exposed(struct server_run *r)
{
	struct snapshot_run *p = r->p;
	const struct pane **panes = xcalloc(r->found.n + 1, sizeof *panes);
	struct err why = ERR_INIT;
	struct tmux_batch b;

	tmux_batch_init(&b);
	for (size_t i = 0; i < r->found.n && r->t->as_owner == NULL; i++) {
		const struct pane *pane = &r->found.v[i].pane;
		const struct pane_state *x = snapshot_pane_find(&r->seen, pane);
		char *kept;

		if (!pane_exposed(pane) || x->looked != r->looked || x->file == NULL)
			continue;
		kept = io_join(p->shooter.dir, x->file);
		panes[pane_reset(&b, pane, kept)] = pane;
		free(kept);
	}
	if (b.n > 0 && snapshot_dir_sync(p->shooter.dir, &why) == 0 && fault_point("pane-reset") != 0)
		err_sys(&why, GT_FAIL, "tmux", "tmux cannot be called");
	if (b.n > 0 && (why.code != 0 || tmux_batch_run(r->t, &b, &why) != 0))
		note_exposed(p->run, panes[0], &why);
	for (size_t i = 0; i < b.n && why.code == 0; i++) {
		size_t n = 0;
		const char *said = tmux_batch_output(&b, i, &n);

		/* it answers when it is done, and when there is nothing to be done any more */
		if ((said == NULL || n == 0) && tmux_batch_error(&b, "send-keys -R", &why) != 0)
			note_exposed(p->run, panes[i], &why);
		else if (said != NULL && n > 0 && str_starts(said, PANE_WAS_RESET))
			note_reset(p->w, panes[i]->session);
	}
	tmux_batch_release(&b);
	free(panes);
}

/*
 * A server that is not there has nothing to be taken; one that does not answer must not keep the
 * others waiting for ever.
 */
static void
note_trouble(struct snapshot_pass *run, const struct err *why)
{
	if (strcmp(why->name, "no-server") != 0 && run->trouble.code == 0)
		run->trouble = *why;
}

/* The directory and its lock, once there is something to write. */
static int
open_place(struct snapshot_run *p, struct err *e)
{
	char *made, *path;

	if (p->ask->dry_run || p->lock >= 0)
		return 0;
	made = town_state_make(p->w->town, e);
	if (made == NULL)
		return -1;
	free(made);
	if (io_private_dir(p->shooter.dir, e) != 0)
		return -1;
	path = io_join(p->shooter.dir, "lock");
	p->lock = io_lock(path, LOCK_WAIT_MS, e);
	free(path);
	return p->lock >= 0 ? 0 : -1;
}

static const struct pane *
find_exposed(const struct panes *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (pane_exposed(&list->v[i]))
			return &list->v[i];
	return NULL;
}

static bool
look_at_server(struct snapshot_run *p, struct tmux *t, struct panes *list)
{
	struct err why = ERR_INIT;

	if (pane_list_bare(t, list, &why) == 0)
		return true;
	note_trouble(p->run, &why);
	pane_list_release(list);
	return false;
}

/*
 * The server's panes, and the place for what they show. Who had the place before us may have
 * reset a pane that was listed as it was: then they are listed once more. 0 with an empty list:
 * nothing to do.
 */
static int
list_server(struct snapshot_run *p, struct tmux *t, struct panes *list, struct err *e)
{
	const struct pane *exposed;

	if (!look_at_server(p, t, list))
		return 0;
	p->run->servers++;
	exposed = find_exposed(list);
	if (p->ask->exposed && exposed == NULL)
		pane_list_release(list);
	if (list->n == 0)
		return 0;
	if (open_place(p, e) != 0) {
		if (exposed != NULL)
			note_exposed(p->run, exposed, e);
		return -1;
	}
	if (exposed != NULL && !p->ask->dry_run) {
		pane_list_release(list);
		look_at_server(p, t, list);
	}
	return 0;
}

/* The server's shape is what is left when it is gone; that it cannot be kept stops no snapshot. */
static void
keep_workspace(struct server_run *r, const struct pane *p, json_t *shape)
{
	struct err why = ERR_INIT;

	for (size_t i = 0; i < r->seen.n; i++)
		if (r->seen.v[i].here && r->seen.v[i].agent)
			workspace_mark_agent(shape, r->seen.v[i].id);
	if (workspace_keep(r->p->w, r->p->shooter.dir, p, shape, &r->p->scrub, &why) != 0)
		note_trouble(r->p->run, &why);
}

static int
pass_over_server(struct snapshot_run *p, struct tmux *t, struct err *e)
{
	struct server_run r = { .p = p, .t = t, .looked = clock_wall_ms() / 1000 };
	struct panes list = { .n = 0 };
	struct pane server = { .pid = 0 };
	json_t *shape = NULL;
	int ret = list_server(p, t, &list, e);

	if (ret == 0 && list.n > 0) {
		if (p->ask->n == 0 && !p->ask->exposed && !p->ask->dry_run) {
			shape = workspace_shape(&list, clock_wall_ms());
			server.socket_path = xstrdup(list.v[0].socket_path);
			server.server_pid = list.v[0].server_pid;
			server.server_start = list.v[0].server_start;
		}
		snapshot_panes_read(&r.seen, p->shooter.dir, &list.v[0]);
		drop_unchanged(&r, &list);
		if (list.n > 0)
			ret = look_at_changed(&r, &list, e);
		if (ret == 0 && p->wrote)
			ret = snapshot_dir_sync(p->shooter.dir, e);
		if (!p->ask->dry_run && snapshot_panes_write(&r.seen, ret == 0 ? e : NULL) != 0)
			ret = -1;
		if (ret == 0 && !p->ask->dry_run)
			reset_exposed(&r);
		if (shape != NULL)
			keep_workspace(&r, &server, shape);
		free(server.socket_path);
	}
	candidate_list_release(&r.found);
	snapshot_panes_release(&r.seen);
	pane_list_release(&list);
	return ret;
}

/* ---- the pass ---- */

static void
expire(struct snapshot_run *p)
{
	int64_t age = config_ms(p->w->config, "snapshot_age"), now = clock_wall_ms();
	struct snapshot_index a;

	if (snapshot_index_read(p->shooter.dir, &a, NULL) != 0)
		return;
	snapshot_panes_hold(&a, now - age);
	snapshot_index_expire(&a, (size_t)config_int(p->w->config, "snapshot_keep"), age, now);
	snapshot_index_expire_gone(&a, config_ms(p->w->config, "last_snapshot_age"), now);
	p->run->removed = snapshot_index_prune(&a);
	snapshot_index_release(&a);
}

/* Once a day what is old is looked at although nothing was written: a file there has the time of that. */
static bool
is_day_over(const struct snapshot_run *p)
{
	char *mark = io_join(p->shooter.dir, "looked");
	struct stat st;
	bool over = false;
	int fd;

	if (!p->ask->dry_run && p->ask->n == 0 && io_is_dir(p->shooter.dir) &&
	    (stat(mark, &st) != 0 || clock_wall_ms() - (int64_t)st.st_mtime * 1000 > DAY_MS)) {
		fd = open(mark, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		over = fd >= 0 && futimens(fd, NULL) == 0;
		if (fd >= 0)
			close(fd);
	}
	free(mark);
	return over;
}

static void
add_unknown(struct snapshot_run *p)
{
	for (size_t i = 0; i < p->ask->n; i++) {
		struct buf name = BUF_INIT;
		struct err *e;

		if (p->matched[i])
			continue;
		e = &add_named(p->run, SNAP_FAILED, p->ask->names[i], "", "")->error;
		utf8_escape(&name, p->ask->names[i], strlen(p->ask->names[i]), 80);
		err_set(e, GT_NOTHING, "unknown-session",
		    "no agent session named \"%s\" on the tmux servers searched", name.data);
		err_hint(e, "gt-recover list shows the sessions; -L selects another server");
		buf_release(&name);
	}
}

int
snapshot_pass(struct app *w, const struct snapshot_request *ask, struct snapshot_pass *out, struct err *e)
{
	struct snapshot_run p = { .w = w, .ask = ask, .run = out, .shooter = { .w = w }, .lock = -1 };
	int ret;

	memset(out, 0, sizeof *out);
	p.matched = xcalloc(ask->n, sizeof *p.matched);
	p.shooter.dir = town_snapshot_dir(w->town, w->config, e);
	ret = p.shooter.dir != NULL ? 0 : -1;
	for (size_t i = 0; ret == 0 && i < w->n_servers && *w->stop == 0; i++)
		ret = pass_over_server(&p, &w->servers[i], e);
	if (ret == 0 && (is_day_over(&p) || p.wrote))
		expire(&p);
	if (ret == 0)
		add_unknown(&p);
	if (p.lock >= 0)
		close(p.lock);
	scrub_free(p.scrub);
	snapshot_writer_release(&p.shooter);
	free(p.matched);
	return ret;
}

void
snapshot_pass_release(struct snapshot_pass *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].session);
		free(r->v[i].socket);
		free(r->v[i].pane);
		free(r->v[i].file);
	}
	free(r->v);
	memset(r, 0, sizeof *r);
}

static const struct pane *
exposed_candidate(const struct candidate_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (detect_status_has_pane(list->v[i].status) && pane_exposed(&list->v[i].pane))
			return &list->v[i].pane;
	return NULL;
}

static int
detect_and_reset(struct app *w, struct candidate_list *out, struct err *e)
{
	const struct snapshot_request ask = { .exposed = true };
	struct err exposed, why = ERR_INIT;
	const struct pane *pane;
	struct snapshot_pass run;
	int ret = detect(w, out, e);

	if (ret != 0 || w->look_only || (pane = exposed_candidate(out)) == NULL)
		return ret;
	if (snapshot_pass(w, &ask, &run, &why) != 0)
		set_exposed(&run.exposed, pane, &why);
	exposed = run.exposed;
	snapshot_pass_release(&run);
	candidate_list_release(out);
	ret = detect(w, out, e);
	if (ret == 0)
		out->exposed = exposed;
	return ret;
}

int
snapshot_detect(struct app *w, struct candidate_list *out, struct err *e)
{
	int ret = detect_and_reset(w, out, e);

	if (ret == 0)
		snapshot_note_agents(w, out, &out->unwritten);
	return ret;
}
