#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/app.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/utf8.h"
#include "gastown/gastown.h"
#include "scrub/scrub.h"
#include "tmux/tmux.h"
#include "workspace/workspace.h"

/*
 * In steps, each one batch, with a look at the server before each: sessions,
 * windows, panes, then what needs all of them. Whatever is made is marked by
 * the command that makes it, so that a restore that was interrupted goes on
 * where it was: a pane with PANE_PLACE, a window with WINDOW_MADE until it has
 * its layout, a session with SESSION_MADE until its active window is chosen.
 */
struct rebuild {
	struct app *w;
	struct tmux *t;
	const struct workspace *x;
	const json_t *shape;
	const struct workspace_part *part;
	struct panes now;
	struct workspace_result *out;
	struct err trouble; /* of the first command that failed; the others go on */
};

#define LOCK_WAIT_MS 60000
/* of the name of a session until it gets its own */
#define TEMPORARY "gt-recover-"
/* of WINDOW_MADE: the window was there, and panes were added to it */
#define WINDOW_GREW "grew"

static void
words_of(struct buf *out, const char *const *words)
{
	buf_str(out, out->len > 0 ? " ; " : "");
	for (size_t i = 0; words[i] != NULL; i++) {
		quote_arg(out, words[i]);
		buf_chr(out, ' ');
	}
}

#define COMMAND(out, ...) words_of(out, (const char *const[]){ __VA_ARGS__, NULL })

/* Text that tmux expands as a format. Heap. */
static char *
literal(const char *text)
{
	struct buf b = BUF_INIT;

	quote_format(&b, text);
	return b.len > 0 ? buf_detach(&b) : xstrdup("");
}

/* A name as tmux stores it, as an argument that tmux expands. Heap. */
static char *
name_argument(const char *stored)
{
	struct buf b = BUF_INIT;
	char *name;

	quote_stored(&b, stored);
	name = literal(b.data);
	buf_release(&b);
	return name;
}

static char *
place_of(const struct rebuild *r, const json_t *pane)
{
	return workspace_places(r->x, pane);
}

static int
list_now(struct rebuild *r, struct err *e)
{
	struct err why = ERR_INIT;

	pane_list_release(&r->now);
	if (pane_list_bare(r->t, &r->now, &why) == 0 || strcmp(why.name, "no-server") == 0)
		return 0;
	*e = why;
	return -1;
}

static const struct pane *
find_session(const struct rebuild *r, const char *name)
{
	for (size_t i = 0; i < r->now.n; i++)
		if (strcmp(r->now.v[i].session, name) == 0)
			return &r->now.v[i];
	return NULL;
}

/* The pane that stands for that one; its own server's is itself. */
static const struct pane *
find_made(const struct rebuild *r, const json_t *pane)
{
	char *places = place_of(r, pane);
	const struct pane *found = NULL;

	for (size_t i = 0; i < r->now.n && found == NULL; i++) {
		char *own = pane_places(&r->now.v[i]);

		if (pane_place_is_same(own, places))
			found = &r->now.v[i];
		free(own);
	}
	free(places);
	return found;
}

static const struct pane *
find_window(const struct rebuild *r, const json_t *window)
{
	const struct pane *found = NULL;
	size_t i;
	json_t *p;

	json_array_foreach(json_object_get(window, "panes"), i, p) {
		if (found == NULL)
			found = find_made(r, p);
	}
	return found;
}

static const struct pane *
at_index(const struct rebuild *r, const struct pane *session, int64_t index)
{
	for (size_t i = 0; i < r->now.n; i++)
		if (strcmp(r->now.v[i].session_id, session->session_id) == 0 &&
		    r->now.v[i].window_index == index)
			return &r->now.v[i];
	return NULL;
}

/* Somebody else brought it back, at its place. */
static bool
is_there(const struct rebuild *r, const struct pane *session, const json_t *window)
{
	const struct pane *p = at_index(r, session, json_number(window, "index", -1));

	return p != NULL && *p->place == '\0' && workspace_window_is(window, &r->now, p);
}

/* Gas Town makes its own sessions again. */
static bool
is_wanted(const struct rebuild *r, const json_t *session)
{
	const char *name = json_text(session, "name", "");
	struct town_role role;

	if (r->part->session != NULL)
		return strcmp(name, r->part->session) == 0;
	return town_root(r->w->town) == NULL || town_session_role(r->w->town, name, &role) != 0;
}

static int
run(struct rebuild *r, struct tmux_batch *b, struct err *e)
{
	int ret = 0;

	if (b->n > 0) {
		b->mutates = true;
		ret = tmux_batch_run(r->t, b, e);
		if (ret == 0 && r->trouble.code == 0)
			tmux_batch_error(b, "workspace", &r->trouble);
	}
	tmux_batch_release(b);
	return ret;
}

static void
add(struct tmux_batch *b, struct buf *commands)
{
	tmux_batch_add(b, "if-shell", "-F", "1", commands->data, NULL);
	buf_release(commands);
}

/* ---- sessions ---- */

/* The session of the same group that was made before it, by name; NULL: it is
 * the first. */
static const char *
group_leader(const struct rebuild *r, const json_t *session)
{
	const char *group = json_text(session, "group", NULL);
	size_t i;
	json_t *s;

	if (group == NULL)
		return NULL;
	json_array_foreach(json_object_get(r->shape, "sessions"), i, s) {
		if (s == session)
			return NULL;
		if (strcmp(json_text(s, "group", ""), group) == 0 && is_wanted(r, s))
			return json_text(s, "name", "");
	}
	return NULL;
}

/* In the order of the shape. One that stands in several sessions is made in the first of them. */
static bool
is_made_here(const struct rebuild *r, const json_t *session, const json_t *window)
{
	for (struct workspace_walk k = { .shape = r->shape };
	     json_flag(window, "linked", false) && workspace_walk_next(&k); ) {
		if (k.session == session)
			return true;
		if (strcmp(json_text(k.window, "id", ""), json_text(window, "id", "")) == 0 &&
		    is_wanted(r, k.session) && group_leader(r, k.session) == NULL)
			return false;
	}
	return true;
}

/* The one with which a session begins. */
static const json_t *
first_window(const struct rebuild *r, const json_t *session)
{
	const json_t *windows = json_object_get(session, "windows");
	size_t i;
	json_t *x;

	json_array_foreach(windows, i, x) {
		if (is_made_here(r, session, x))
			return x;
	}
	return json_array_get(windows, 0);
}

/* The option is of new panes: the first one is made once more under it. */
static void
add_history_limit(struct buf *c, const char *target, const char *cwd, int64_t rows)
{
	struct buf again = BUF_INIT;
	char limit[24], *differs;

	if (rows <= 0)
		return;
	snprintf(limit, sizeof limit, "%lld", (long long)rows);
	differs = xasprintf("#{!=:#{history_limit},%s}", limit);
	COMMAND(&again, "set-option", "-t", target, "history-limit", limit);
	COMMAND(&again, "split-window", "-t", target, "-c", cwd);
	COMMAND(&again, "kill-pane", "-a", "-t", target);
	COMMAND(c, "if-shell", "-F", "-t", target, differs, again.data);
	buf_release(&again);
	free(differs);
}

/* Under a name of our own first, by which the next commands find it whatever
 * its name is. */
static void
add_session(struct rebuild *r, struct tmux_batch *b, size_t number, const json_t *session)
{
	const char *leader = group_leader(r, session);
	const json_t *pane = json_array_get(json_object_get(first_window(r, session), "panes"), 0);
	char *name = name_argument(json_text(session, "name", "")),
	     *cwd = literal(json_text(pane, "cwd", "/")), *place = place_of(r, pane),
	     *ours = xasprintf(TEMPORARY "%.8s-%zu", b->nonce, number), *target = xasprintf("=%s:", ours),
	     *whole = xasprintf("=%s", ours), width[24], height[24];
	struct buf c = BUF_INIT, group = BUF_INIT;

	snprintf(width, sizeof width, "%lld", (long long)json_number(session, "width", 80));
	snprintf(height, sizeof height, "%lld", (long long)json_number(session, "height", 24));
	buf_str(&group, leader != NULL ? "=" : "");
	quote_stored(&group, leader != NULL ? leader : json_text(session, "group", ""));
	if (leader != NULL) {
		COMMAND(&c, "new-session", "-d", "-s", ours, "-t", group.data);
	} else {
		if (group.len > 0 && find_session(r, json_text(session, "group", "")) == NULL)
			COMMAND(&c, "new-session", "-d", "-s", ours, "-t", group.data, "-x", width, "-y",
			    height, "-c", cwd);
		else
			COMMAND(&c, "new-session", "-d", "-s", ours, "-x", width, "-y", height, "-c", cwd);
		add_history_limit(&c, target, cwd, json_number(session, "history_limit", 0));
		COMMAND(&c, "set-option", "-p", "-t", target, PANE_PLACE, place);
		COMMAND(&c, "set-option", "-w", "-t", target, WINDOW_MADE, "1");
	}
	COMMAND(&c, "set-option", "-t", target, SESSION_MADE, "1");
	if (json_text(session, "default_command", NULL) != NULL)
		COMMAND(&c, "set-option", "-t", target, "default-command",
		    json_text(session, "default_command", ""));
	COMMAND(&c, "rename-session", "-t", whole, "--", name);
	add(b, &c);
	buf_release(&group);
	free(name);
	free(cwd);
	free(place);
	free(ours);
	free(target);
	free(whole);
}

static int
make_sessions(struct rebuild *r, struct err *e)
{
	struct tmux_batch b;
	size_t i;
	json_t *s;

	tmux_batch_init(&b);
	b.starts = r->now.n == 0;
	json_array_foreach(json_object_get(r->shape, "sessions"), i, s) {
		if (!is_wanted(r, s) || find_session(r, json_text(s, "name", "")) != NULL)
			continue;
		add_session(r, &b, i, s);
	}
	return run(r, &b, e);
}

/* Those that could not get their names, since somebody made such a session in between. */
static int
drop_unnamed(struct rebuild *r, struct err *e)
{
	struct tmux_batch b;

	tmux_batch_init(&b);
	for (size_t i = 0; i < r->now.n; i++)
		if (str_starts(r->now.v[i].session, TEMPORARY) && *r->now.v[i].session_made != '\0')
			tmux_batch_add(&b, "kill-session", "-t", r->now.v[i].session_id, NULL);
	return b.n == 0 ? 0 : run(r, &b, e) == 0 ? list_now(r, e) : -1;
}

/* ---- windows ---- */

static int64_t
free_index(const struct rebuild *r, const struct pane *session, const json_t *windows, int64_t wanted)
{
	int64_t last = wanted;
	size_t i;
	json_t *x;

	if (at_index(r, session, wanted) == NULL)
		return wanted;
	for (size_t k = 0; k < r->now.n; k++)
		if (strcmp(r->now.v[k].session_id, session->session_id) == 0 &&
		    r->now.v[k].window_index > last)
			last = r->now.v[k].window_index;
	json_array_foreach(windows, i, x) {
		if (json_number(x, "index", 0) > last)
			last = json_number(x, "index", 0);
	}
	return last + 1;
}

static const struct pane *
linked_to(const struct rebuild *r, const json_t *window, const struct pane *session)
{
	const struct pane *p = json_flag(window, "linked", false) ? find_window(r, window) : NULL;

	return p != NULL && strcmp(p->session_id, session->session_id) != 0 ? p : NULL;
}

static bool
stands_in(const struct rebuild *r, const struct pane *window, const struct pane *session)
{
	for (size_t i = 0; i < r->now.n; i++)
		if (strcmp(r->now.v[i].window_id, window->window_id) == 0 &&
		    strcmp(r->now.v[i].session_id, session->session_id) == 0)
			return true;
	return false;
}

static void
add_window(struct rebuild *r, struct tmux_batch *b, const struct pane *session, const json_t *windows,
    const json_t *window)
{
	const json_t *pane = json_array_get(json_object_get(window, "panes"), 0);
	int64_t wanted = json_number(window, "index", 0), index;
	const struct pane *made = find_window(r, window), *link = linked_to(r, window, session);
	char *target, *cwd, *place;
	struct buf c = BUF_INIT;

	if (link != NULL && stands_in(r, link, session))
		return;
	index = free_index(r, session, windows, wanted);
	target = xasprintf("%s:%lld", session->session_id, (long long)index);
	cwd = literal(json_text(pane, "cwd", "/"));
	place = place_of(r, pane);
	if (link != NULL) {
		COMMAND(&c, "link-window", "-d", "-s", link->window_id, "-t", target);
		add(b, &c);
	} else if (made == NULL) {
		COMMAND(&c, "new-window", "-d", "-t", target, "-c", cwd);
		COMMAND(&c, "set-option", "-p", "-t", target, PANE_PLACE, place);
		COMMAND(&c, "set-option", "-w", "-t", target, WINDOW_MADE, "1");
		add(b, &c);
	} else if (made->window_index != wanted && index == wanted && *made->session_made != '\0') {
		/* the first one of a session that was made stands at base-index */
		COMMAND(&c, "move-window", "-d", "-s", made->window_id, "-t", target);
		add(b, &c);
	}
	free(target);
	free(cwd);
	free(place);
}

/* Windows that others have brought back are theirs. */
static bool
is_ours(const struct rebuild *r, const struct pane *session, const json_t *window)
{
	return find_window(r, window) != NULL || !is_there(r, session, window);
}

/*
 * In three steps: the first one of a new session goes to its place before others may take it, and
 * what another session has can be linked when that is there.
 */
enum window_step { STEP_FIRST, STEP_OWN, STEP_LINKED };

static enum window_step
step_of(const struct rebuild *r, const json_t *session, const json_t *window)
{
	return first_window(r, session) == window ? STEP_FIRST
	    : is_made_here(r, session, window)    ? STEP_OWN
						  : STEP_LINKED;
}

static int
make_windows(struct rebuild *r, enum window_step step, struct err *e)
{
	struct tmux_batch b;
	size_t i, k;
	json_t *s, *x;

	tmux_batch_init(&b);
	json_array_foreach(json_object_get(r->shape, "sessions"), i, s) {
		const struct pane *session =
		    is_wanted(r, s) ? find_session(r, json_text(s, "name", "")) : NULL;
		const json_t *windows = json_object_get(s, "windows");

		if (session == NULL || group_leader(r, s) != NULL)
			continue;
		json_array_foreach(windows, k, x) {
			if (step_of(r, s, x) == step && is_ours(r, session, x))
				add_window(r, &b, session, windows, x);
		}
	}
	return run(r, &b, e);
}

/* ---- panes ---- */

/* In a window that was there, back to the pane that was active. */
static void
add_focus(struct rebuild *r, struct tmux_batch *b, const struct pane *window)
{
	struct buf c = BUF_INIT;

	for (size_t i = 0; i < r->now.n && *window->window_made == '\0'; i++) {
		const struct pane *p = &r->now.v[i];

		if (strcmp(p->window_id, window->window_id) != 0 || !p->active || c.len > 0)
			continue;
		COMMAND(&c, "select-pane", "-t", p->id);
		add(b, &c);
		return;
	}
}

static void
add_panes(struct rebuild *r, struct tmux_batch *b, const json_t *window)
{
	const struct pane *any = find_window(r, window), *after = NULL;
	bool chain = false, added = false;
	size_t i;
	json_t *p;

	if (any == NULL)
		return;
	json_array_foreach(json_object_get(window, "panes"), i, p) {
		const struct pane *made = find_made(r, p);
		char *cwd, *place;
		struct buf c = BUF_INIT;

		if (made != NULL) {
			after = made;
			chain = false;
			continue;
		}
		cwd = literal(json_text(p, "cwd", "/"));
		place = place_of(r, p);
		/* the new one is active then, and the next goes behind it */
		if (chain)
			COMMAND(&c, "split-window", "-t", any->window_id, "-c", cwd);
		else if (after != NULL)
			COMMAND(&c, "split-window", "-t", after->id, "-c", cwd);
		else
			COMMAND(&c, "split-window", "-b", "-t", any->id, "-c", cwd);
		COMMAND(&c, "set-option", "-p", "-t", any->window_id, PANE_PLACE, place);
		if (*any->window_made == '\0')
			COMMAND(&c, "set-option", "-w", "-t", any->window_id, WINDOW_MADE, WINDOW_GREW);
		/* room for the next */
		COMMAND(&c, "select-layout", "-t", any->window_id, "tiled");
		add(b, &c);
		chain = added = true;
		free(cwd);
		free(place);
	}
	if (added)
		add_focus(r, b, any);
}

/* ---- what needs all of them ---- */

static size_t
count_panes(const struct rebuild *r, const struct pane *of)
{
	size_t n = 0;

	for (size_t i = 0; i < r->now.n; i++)
		n += strcmp(r->now.v[i].window_id, of->window_id) == 0 &&
		     strcmp(r->now.v[i].session_id, of->session_id) == 0;
	return n;
}

static void
add_titles(struct rebuild *r, struct buf *c, const json_t *window)
{
	const struct pane *active = NULL;
	size_t i;
	json_t *p;

	json_array_foreach(json_object_get(window, "panes"), i, p) {
		const struct pane *made = find_made(r, p);
		char *title = literal(json_text(p, "title", ""));

		if (made != NULL && *title != '\0')
			COMMAND(c, "select-pane", "-t", made->id, "-T", title);
		if (made != NULL && json_flag(p, "active", false))
			active = made;
		/* an agent's is set by its recovery */
		if (made != NULL && *made->place != '\0' && !json_flag(p, "agent", false) &&
		    json_text(p, "remain_on_exit", NULL) != NULL &&
		    strcmp(json_text(p, "remain_on_exit", ""), made->remain_on_exit) != 0)
			COMMAND(c, "set-option", "-p", "-t", made->id, "remain-on-exit",
			    json_text(p, "remain_on_exit", ""));
		free(title);
	}
	if (active != NULL)
		COMMAND(c, "select-pane", "-t", active->id);
}

static void
finish_window(struct rebuild *r, struct tmux_batch *b, const json_t *window)
{
	const struct pane *p = find_window(r, window);
	struct buf c = BUF_INIT;
	bool grew;
	char *name;

	if (p == NULL || *p->window_made == '\0')
		return;
	grew = strcmp(p->window_made, WINDOW_GREW) == 0;
	name = name_argument(json_text(window, "name", ""));
	if (count_panes(r, p) == json_array_size(json_object_get(window, "panes")) &&
	    *json_text(window, "layout", "") != '\0')
		COMMAND(&c, "select-layout", "-t", p->window_id, json_text(window, "layout", ""));
	if (!grew) {
		add_titles(r, &c, window);
		COMMAND(&c, "rename-window", "-t", p->window_id, "--", name);
	}
	if (!grew && json_flag(window, "automatic_rename", false))
		COMMAND(&c, "set-option", "-w", "-t", p->window_id, "automatic-rename", "on");
	if (!grew && json_flag(window, "zoomed", false))
		COMMAND(&c, "resize-pane", "-Z", "-t", p->window_id);
	COMMAND(&c, "set-option", "-w", "-u", "-t", p->window_id, WINDOW_MADE);
	add(b, &c);
	free(name);
}

/* Of a session that was made: the last window, then the active one. */
static void
finish_session(struct rebuild *r, struct tmux_batch *b, const json_t *session)
{
	const struct pane *s = find_session(r, json_text(session, "name", ""));
	struct buf c = BUF_INIT;
	size_t i;
	json_t *x;

	if (s == NULL || *s->session_made == '\0')
		return;
	for (int active = 0; active <= 1; active++)
		json_array_foreach(json_object_get(session, "windows"), i, x) {
			const struct pane *p = find_window(r, x);
			char *target = p != NULL ? xasprintf("%s:%s", s->session_id, p->window_id) : NULL;

			if (p != NULL && json_flag(x, active ? "active" : "last", false))
				COMMAND(&c, "select-window", "-t", target);
			free(target);
		}
	COMMAND(&c, "set-option", "-u", "-t", s->session_id, SESSION_MADE);
	add(b, &c);
}

static int
for_windows(struct rebuild *r, void (*each)(struct rebuild *, struct tmux_batch *, const json_t *),
    void (*then)(struct rebuild *, struct tmux_batch *, const json_t *), struct err *e)
{
	struct tmux_batch b;
	size_t i, k;
	json_t *s, *x;

	tmux_batch_init(&b);
	json_array_foreach(json_object_get(r->shape, "sessions"), i, s) {
		if (!is_wanted(r, s))
			continue;
		json_array_foreach(json_object_get(s, "windows"), k, x) {
			if (group_leader(r, s) == NULL && is_made_here(r, s, x))
				each(r, &b, x);
		}
		if (then != NULL)
			then(r, &b, s);
	}
	return run(r, &b, e);
}

/* ---- all ---- */

/* The first pane of each window that is made counts as a pane, too. */
static void
count_session(struct rebuild *r, const json_t *session)
{
	const struct pane *s = find_session(r, json_text(session, "name", ""));
	size_t i, k, panes = 0, windows = 0;
	json_t *x, *p;

	if (group_leader(r, session) != NULL)
		return;
	json_array_foreach(json_object_get(session, "windows"), i, x) {
		bool theirs = s != NULL && find_window(r, x) == NULL && is_there(r, s, x);

		windows += s == NULL || (find_window(r, x) == NULL && !theirs);
		json_array_foreach(json_object_get(x, "panes"), k, p) {
			bool there = s != NULL && (theirs || find_made(r, p) != NULL);

			r->out->there += there;
			panes += !there;
			r->out->agents += !there && json_flag(p, "agent", false);
		}
	}
	r->out->sessions += s == NULL;
	r->out->windows += windows;
	r->out->panes += panes;
	if (r->out->lines != NULL && panes > 0) {
		const char *name = json_text(session, "name", "");

		buf_str(r->out->lines, "  ");
		utf8_escape(r->out->lines, name, strlen(name), 60);
		buf_fmt(r->out->lines, ": %zu window%s, %zu pane%s\n", windows, windows == 1 ? "" : "s",
		    panes, panes == 1 ? "" : "s");
	}
}

static int
make_all(struct rebuild *r, struct err *e)
{
	if (make_sessions(r, e) != 0 || list_now(r, e) != 0 || drop_unnamed(r, e) != 0 ||
	    make_windows(r, STEP_FIRST, e) != 0 || list_now(r, e) != 0 ||
	    make_windows(r, STEP_OWN, e) != 0 || list_now(r, e) != 0 ||
	    make_windows(r, STEP_LINKED, e) != 0 || list_now(r, e) != 0 ||
	    for_windows(r, add_panes, NULL, e) != 0 || list_now(r, e) != 0 ||
	    for_windows(r, finish_window, finish_session, e) != 0)
		return -1;
	if (r->trouble.code == 0)
		return 0;
	*e = r->trouble;
	return -1;
}

static bool
is_asked(const struct rebuild *r, const json_t *pane)
{
	char *places = place_of(r, pane);
	bool yes = false;

	for (size_t i = 0; i < r->part->n && !yes; i++)
		yes = pane_place_is_same(places, r->part->places[i]);
	free(places);
	return yes;
}

/* Leaves what is asked for and what stands beside it in its window. False: nothing is asked for. */
static bool
cut_window(const struct rebuild *r, json_t *window)
{
	json_t *panes = json_object_get(window, "panes");
	bool asked = false;

	for (size_t i = json_array_size(panes); i-- > 0; ) {
		const json_t *p = json_array_get(panes, i);
		bool this = is_asked(r, p);

		asked = asked || this;
		if (this || find_made(r, p) != NULL)
			continue;
		json_array_remove(panes, i);
		json_put(window, "layout", "");
	}
	return asked;
}

/* The part of the shape that is asked for. New reference. */
static json_t *
cut_shape(const struct rebuild *r)
{
	const json_t *whole = r->part->shape != NULL ? r->part->shape : workspace_now(r->x);
	json_t *shape = json_deep_copy(whole), *sessions = json_object_get(shape, "sessions");

	for (size_t i = r->part->n > 0 ? json_array_size(sessions) : 0; i-- > 0; ) {
		json_t *windows = json_object_get(json_array_get(sessions, i), "windows");

		for (size_t k = json_array_size(windows); k-- > 0; )
			if (!cut_window(r, json_array_get(windows, k)))
				json_array_remove(windows, k);
		if (json_array_size(windows) == 0)
			json_array_remove(sessions, i);
	}
	return shape;
}

/* One for a socket: ".../workspace-HASH.lock". */
static char *
lock_path(const struct workspace *x)
{
	char *stem = xstrdup(x->path), *cut, *path;

	for (int i = 0; i < 2; i++)
		if ((cut = strrchr(stem, '-')) != NULL)
			*cut = '\0';
	path = xasprintf("%s.lock", stem);
	free(stem);
	return path;
}

int
workspace_restore(struct app *w, struct tmux *t, const struct workspace *x,
    const struct workspace_part *part, bool dry_run, struct workspace_result *out, struct err *e)
{
	struct rebuild r = { .w = w, .t = t, .x = x, .part = part, .out = out };
	size_t i;
	json_t *s, *shape;
	char *path = lock_path(x);
	int fd = dry_run ? -1 : io_lock(path, LOCK_WAIT_MS, e);
	int ret = dry_run || fd >= 0 ? list_now(&r, e) : -1;

	r.shape = shape = cut_shape(&r);
	*out = (struct workspace_result){ .lines = out->lines };
	json_array_foreach(json_object_get(shape, "sessions"), i, s) {
		if (ret == 0 && is_wanted(&r, s))
			count_session(&r, s);
	}
	if (ret == 0 && !dry_run)
		ret = make_all(&r, e);
	json_decref(shape);
	pane_list_release(&r.now);
	io_unlock(path, fd);
	free(path);
	return ret;
}
