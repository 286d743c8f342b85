#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "revive/snap.h"
#include "revive/seen.h"
#include "revive/shot.h"
#include "revive/detect.h"
#include "revive/gather.h"
#include "revive/world.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/utf8.h"
#include "context/album.h"
#include "context/capture.h"
#include "scrub/error.h"
#include "scrub/scrub.h"
#include "tmux/client.h"
#include "tmux/pane.h"
#include "town/config.h"
#include "town/town.h"

#define LOCK_WAIT_MS 15000
#define BATCH_BYTES ((int64_t)64 << 20)	/* of scrollback in one answer of tmux, by its own count */
#define ROOM 64				/* values that one agent's environment may add */

struct pass {
	struct world *w;
	const struct snap_ask *ask;
	struct snap_run *run;
	struct shooter shooter;		/* what all shots share */
	struct scrub *scrub;
	bool *matched;			/* one a name */
	int lock;			/* -1: nothing to write was met yet */
	bool wrote;
};

/* One server's part. */
struct round {
	struct pass *p;
	struct tmux *t;
	struct seen seen;
	struct candidates found;
	size_t learned;			/* of found: up to here the scrubber knows their values */
	int64_t looked;
};

const char *
snap_how_name(enum snap_how how)
{
	static const char *const names[] = { "taken", "unchanged", "kept", "wanted", "failed" };

	return names[how];
}

static struct snap_result *
add_named(struct snap_run *run, enum snap_how how, const char *session, const char *socket, const char *pane)
{
	struct snap_result *r;

	run->v = vec_room(run->v, run->n, &run->cap, sizeof *run->v);
	r = &run->v[run->n++];
	memset(r, 0, sizeof *r);
	r->how = how;
	r->session = xstrdup(session);
	r->socket = xstrdup(socket);
	r->pane = xstrdup(pane);
	return r;
}

static struct snap_result *
add_result(struct snap_run *run, enum snap_how how, const struct pane *p, const char *file)
{
	struct snap_result *r = add_named(run, how, p->session, p->socket, p->id);

	r->file = file != NULL ? xstrdup(file) : NULL;
	return r;
}

static void
add_failure(struct round *r, const struct candidate *c, const struct err *why)
{
	const struct seen_pane *x = seen_find(&r->seen, &c->pane);

	struct snap_result *failed = add_result(r->p->run, SNAP_FAILED, &c->pane, x->file);

	failed->error = *why;
	error_scrub(&failed->error, r->p->scrub);
}

static bool
is_asked(struct pass *p, const struct pane *pane, bool agent)
{
	bool asked = p->ask->n == 0;

	for (size_t i = 0; i < p->ask->n; i++) {
		bool is = strcmp(p->ask->names[i], pane->session) == 0 || strcmp(p->ask->names[i], pane->id) == 0;

		p->matched[i] = p->matched[i] || (is && agent);
		asked = asked || is;
	}
	return asked;
}

static bool
is_kept(const struct pass *p, const char *file)
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

/* Leaves in `list` the panes that have to be looked at. */
static void
drop_unchanged(struct round *r, struct panes *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct pane *p = &list->v[i];
		struct seen_pane *was = seen_find(&r->seen, p);
		bool asked = is_asked(r->p, p, was != NULL && was->agent), same = was != NULL && seen_same(was, p);

		if (was != NULL) {
			was->here = true;
			if (asked && !is_kept(r->p, was->file)) {
				seen_forget(was);
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
learn_ahead(struct round *r, size_t i, struct err *e)
{
	struct pass *p = r->p;

	if (p->scrub != NULL && i < r->learned)
		return 0;
	if (p->scrub == NULL || scrub_room(p->scrub) < ROOM) {
		scrub_free(p->scrub);
		p->scrub = world_scrub(p->w, e);
		if (p->scrub == NULL)
			return -1;
	}
	for (r->learned = i; r->learned < r->found.n && (r->learned == i || scrub_room(p->scrub) >= ROOM); r->learned++)
		gather_learn(p->w, p->scrub, &r->found.v[r->learned]);
	return 0;
}

static int
take_one(struct round *r, size_t i, const char *text, size_t n, struct err *e)
{
	struct pass *p = r->p;
	const struct candidate *c = &r->found.v[i];
	struct buf raw = BUF_INIT;
	struct capture capture;
	struct seen_pane *x = seen_find(&r->seen, &c->pane);
	struct err one = ERR_INIT;
	enum shot_end end;
	struct snap_result *result;

	if (learn_ahead(r, i, e) != 0)
		return -1;
	scrub_forget(p->scrub);		/* what a snapshot says does not depend on the panes before it */
	buf_add(&raw, text, n);
	capture_text(&raw, &c->pane, class_has_shell(c->class), (size_t)config_int(p->w->config, "max_context_lines"), p->scrub, &capture);
	end = shoot(&p->shooter, c, p->scrub, &capture, x, &one);
	if (end == SHOT_FAILED) {
		add_failure(r, c, &one);
	} else {
		result = add_result(p->run, end == SHOT_WRITTEN ? SNAP_TAKEN : end == SHOT_KEPT ? SNAP_KEPT : SNAP_SAME, &c->pane, x->file);
		result->rows = capture.rows;
		p->wrote = p->wrote || end == SHOT_WRITTEN;
		x->looked = r->looked;
	}
	capture_release(&capture);
	return 0;
}

/* The captures of one batch, while they come in. */
struct captures {
	struct round *r;
	const struct batch *b;
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
	const char *text = batch_out(c->b, i, &n);

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
		if (failed != NULL || batch_error(c->b, "capture-pane", &why) != 0)
			add_failure(c->r, &c->r->found.v[i], failed != NULL ? failed : &why);
		else
			c->ret = take_one(c->r, i, "", 0, c->e);
	}
}

static int capture_range(struct round *r, size_t from, size_t to, struct err *e);

/* The batch failed from there on. */
static int
capture_failed(struct round *r, size_t from, size_t to, const struct err *why, struct err *e)
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
capture_range(struct round *r, size_t from, size_t to, struct err *e)
{
	struct err why = ERR_INIT;
	struct batch b;
	struct captures c = { .r = r, .b = &b, .from = from, .next = from, .e = e };
	bool failed;

	batch_init(&b);
	b.each = on_capture;
	b.arg = &c;
	c.empty = xcalloc(to - from, sizeof *c.empty);
	for (size_t i = from; i < to; i++)
		capture_command(&b, &r->found.v[i].pane, (size_t)config_int(r->p->w->config, "max_context_lines"));
	failed = batch_run(r->t, &b, &why) != 0;
	take_empty(&c, failed ? &why : NULL);
	batch_release(&b);
	free(c.empty);
	if (failed && c.ret == 0)
		c.ret = capture_failed(r, c.next, to, &why, e);
	return c.ret;
}

static int
capture_all(struct round *r, struct err *e)
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
keep_candidates(struct candidates *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].class == CLASS_UNKNOWN) {
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
look_at_changed(struct round *r, struct panes *list, struct err *e)
{
	bool dry = r->p->ask->dry_run;

	for (size_t i = 0; i < list->n; i++) {
		/* looked 0: a pass that breaks off here has seen nothing of it */
		struct seen_pane *x = seen_put(&r->seen, &list->v[i], 0);

		x->agent = false;
	}
	if (detect_listed(r->p->w, r->t, list, &r->found, e) != 0)
		return -1;
	keep_candidates(&r->found);
	for (size_t i = 0; i < r->seen.n; i++)
		if (r->seen.v[i].here && r->seen.v[i].looked == 0)
			r->seen.v[i].looked = r->looked;
	for (size_t i = 0; i < r->found.n; i++) {
		struct pane *p = &r->found.v[i].pane;
		struct seen_pane *x = seen_find(&r->seen, p);

		x->agent = true;
		x->looked = 0;
		is_asked(r->p, p, true);
		if (dry)
			add_result(r->p->run, SNAP_WANTED, p, x->file);
	}
	return dry ? 0 : capture_all(r, e);
}

/* A server that is not there has nothing to be taken; one that does not answer must not keep the others waiting for ever. */
static void
note_trouble(struct snap_run *run, const struct err *why)
{
	if (strcmp(why->name, "no-server") != 0 && run->trouble.code == 0)
		run->trouble = *why;
}

/* The directory and its lock, once there is something to write. */
static int
open_place(struct pass *p, struct err *e)
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

static int
snap_server(struct pass *p, struct tmux *t, struct err *e)
{
	struct round r = { .p = p, .t = t, .looked = clock_wall_ms() / 1000 };
	struct panes list = { .n = 0 };
	struct err why = ERR_INIT;
	int ret = 0;

	if (panes_look(t, &list, &why) != 0) {
		note_trouble(p->run, &why);
		panes_release(&list);
		return 0;
	}
	p->run->servers++;
	if (list.n > 0 && (ret = open_place(p, e)) == 0) {
		seen_read(&r.seen, p->shooter.dir, &list.v[0]);
		drop_unchanged(&r, &list);
		if (list.n > 0)
			ret = look_at_changed(&r, &list, e);
		if (ret == 0 && p->wrote)
			ret = album_sync(p->shooter.dir, e);
		if (!p->ask->dry_run && seen_write(&r.seen, ret == 0 ? e : NULL) != 0)
			ret = -1;
	}
	candidates_release(&r.found);
	seen_release(&r.seen);
	panes_release(&list);
	return ret;
}

/* ---- the pass ---- */

static void
expire(struct pass *p)
{
	int64_t age = config_ms(p->w->config, "snapshot_age"), now = clock_wall_ms();
	struct album a;

	if (album_read(p->shooter.dir, &a, NULL) != 0)
		return;
	seen_hold(&a, now - age);
	album_expire(&a, (size_t)config_int(p->w->config, "snapshot_keep"), age, now);
	p->run->removed = album_remove(&a);
	album_release(&a);
}

static void
add_unknown(struct pass *p)
{
	for (size_t i = 0; i < p->ask->n; i++) {
		struct buf name = BUF_INIT;
		struct err *e;

		if (p->matched[i])
			continue;
		e = &add_named(p->run, SNAP_FAILED, p->ask->names[i], "", "")->error;
		utf8_escape(&name, p->ask->names[i], strlen(p->ask->names[i]), 80);
		err_set(e, GT_NOTHING, "unknown-session", "there is no agent's session \"%s\" on the tmux servers that were looked at",
		    name.data);
		err_hint(e, "gt-recover list shows what is there; -L names another server");
		buf_release(&name);
	}
}

int
snap(struct world *w, const struct snap_ask *ask, struct snap_run *out, struct err *e)
{
	struct pass p = { .w = w, .ask = ask, .run = out, .shooter = { .w = w }, .lock = -1 };
	int ret;

	memset(out, 0, sizeof *out);
	p.matched = xcalloc(ask->n, sizeof *p.matched);
	p.shooter.dir = town_snapshot_dir(w->town, w->config, e);
	ret = p.shooter.dir != NULL ? 0 : -1;
	for (size_t i = 0; ret == 0 && i < w->n_servers && *w->stop == 0; i++)
		ret = snap_server(&p, &w->servers[i], e);
	if (ret == 0 && p.wrote)
		expire(&p);
	if (ret == 0)
		add_unknown(&p);
	if (p.lock >= 0)
		close(p.lock);
	scrub_free(p.scrub);
	shooter_release(&p.shooter);
	free(p.matched);
	return ret;
}

void
snap_run_release(struct snap_run *r)
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
