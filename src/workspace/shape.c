#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "tmux/tmux.h"
#include "workspace/workspace.h"

static json_t *
last_of(const json_t *array)
{
	size_t n = json_array_size(array);

	return n > 0 ? json_array_get(array, n - 1) : NULL;
}

static json_t *
pane_json(const struct pane *p)
{
	json_t *v = json_object();

	json_put(v, "id", p->id);
	json_put_int(v, "index", p->index);
	json_put(v, "title", p->title);
	/* a dead pane has no directory but the one that it began in */
	json_put(v, "cwd", *p->path != '\0' ? p->path : p->start_path);
	json_put(v, "command", p->command);
	json_put(v, "remain_on_exit", p->remain_on_exit);
	json_put_flag(v, "active", p->active);
	json_put_flag(v, "agent", false);
	json_put(v, "place", *p->place != '\0' ? p->place : NULL);
	return v;
}

static bool
is_in_other_session(const struct panes *list, const struct pane *p)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->v[i].window_id, p->window_id) == 0 &&
		    strcmp(list->v[i].session_id, p->session_id) != 0)
			return true;
	return false;
}

static json_t *
window_json(const struct panes *list, const struct pane *p)
{
	json_t *v = json_object();

	json_put(v, "id", p->window_id);
	json_put_int(v, "index", p->window_index);
	json_put(v, "name", p->window_name);
	json_put_flag(v, "automatic_rename", p->automatic_rename);
	json_put(v, "layout", p->layout);
	json_put_flag(v, "active", p->window_active);
	json_put_flag(v, "last", p->window_last);
	json_put_flag(v, "zoomed", p->zoomed);
	json_put_flag(v, "linked", is_in_other_session(list, p));
	json_object_set_new(v, "panes", json_array());
	return v;
}

static json_t *
session_json(const struct pane *p)
{
	json_t *v = json_object();
	int width = p->width, height = p->height;
	const char *size = strchr(p->layout, ',');

	/* "b25d,159x48,0,0,…": the window's size */
	if (size != NULL) {
		char *end;

		width = (int)strtol(size + 1, &end, 10);
		height = *end == 'x' ? (int)strtol(end + 1, NULL, 10) : height;
	}
	json_put(v, "name", p->session);
	json_put(v, "group", *p->session_group != '\0' ? p->session_group : NULL);
	json_put_int(v, "width", width);
	json_put_int(v, "height", height);
	json_put(v, "default_command", *p->default_command != '\0' ? p->default_command : NULL);
	json_put_int(v, "history_limit", p->history_limit);
	json_object_set_new(v, "windows", json_array());
	return v;
}

json_t *
workspace_shape(const struct panes *list, int64_t at)
{
	json_t *shape = json_object(), *sessions = json_array(), *session, *window;
	const char *session_id = "";

	json_put_int(shape, "at", at);
	for (size_t i = 0; i < list->n; i++) {
		const struct pane *p = &list->v[i];

		if (strcmp(p->session_id, session_id) != 0)
			json_array_append_new(sessions, session_json(p));
		session_id = p->session_id;
		session = last_of(sessions);
		window = last_of(json_object_get(session, "windows"));
		if (window == NULL || json_number(window, "index", -1) != p->window_index) {
			window = window_json(list, p);
			json_array_append_new(json_object_get(session, "windows"), window);
		}
		json_array_append_new(json_object_get(window, "panes"), pane_json(p));
	}
	json_object_set_new(shape, "sessions", sessions);
	return shape;
}

bool
workspace_walk_next(struct workspace_walk *k)
{
	const json_t *sessions = json_object_get(k->shape, "sessions");

	while ((k->session = json_array_get(sessions, k->next[0])) != NULL) {
		const json_t *windows = json_object_get(k->session, "windows");

		while ((k->window = json_array_get(windows, k->next[1])) != NULL) {
			k->pane = json_array_get(json_object_get(k->window, "panes"), k->next[2]++);
			if (k->pane != NULL)
				return true;
			k->next[2] = 0;
			k->next[1]++;
		}
		k->next[1] = 0;
		k->next[0]++;
	}
	return false;
}

void
workspace_mark_agent(json_t *shape, const char *pane_id)
{
	/* a window that stands in several sessions has its panes in each */
	for (struct workspace_walk k = { .shape = shape }; workspace_walk_next(&k); )
		if (strcmp(json_text(k.pane, "id", ""), pane_id) == 0)
			json_put_flag(k.pane, "agent", true);
}

void
workspace_count(json_t *shape)
{
	int64_t panes = 0, agents = 0;

	for (struct workspace_walk k = { .shape = shape }; workspace_walk_next(&k); panes++)
		agents += json_flag(k.pane, "agent", false);
	json_put_int(shape, "panes", panes);
	json_put_int(shape, "agents", agents);
}

/* ---- the window of then ---- */

/* As many as there are in the window of p, in the same directories. */
static bool
has_same_panes(const json_t *window, const struct panes *now, const struct pane *p)
{
	const json_t *panes = json_object_get(window, "panes");
	size_t n = 0;

	for (size_t i = 0; i < now->n; i++) {
		const struct pane *x = &now->v[i];
		const json_t *was = json_array_get(panes, n);

		if (strcmp(x->window_id, p->window_id) != 0 || strcmp(x->session_id, p->session_id) != 0)
			continue;
		if (was == NULL ||
		    strcmp(json_text(was, "cwd", ""), *x->path != '\0' ? x->path : x->start_path) != 0)
			return false;
		n++;
	}
	return n == json_array_size(panes);
}

static bool
has_agent(const json_t *window)
{
	size_t i;
	json_t *p;

	json_array_foreach(json_object_get(window, "panes"), i, p) {
		if (json_flag(p, "agent", false))
			return true;
	}
	return false;
}

bool
workspace_window_is(const json_t *window, const struct panes *now, const struct pane *p)
{
	bool automatic = json_flag(window, "automatic_rename", false),
	     named = !automatic && !p->automatic_rename &&
		 strcmp(json_text(window, "name", ""), p->window_name) == 0;

	if (named && !has_agent(window))
		return true;
	return (automatic || named || json_array_size(json_object_get(window, "panes")) > 1) &&
	    has_same_panes(window, now, p);
}
