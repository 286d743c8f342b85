#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "gastown/gastown_private.h"
#include "base/io.h"
#include "base/json.h"
#include "config/trust.h"

enum { JSON_MAX = 1 << 20 };

/* gt's DefaultPrefix for a rig that nothing gives one. */
static const char default_prefix[] = "gt";

static bool
is_part(const char *s)
{
	return s != NULL && role_is_part(s, strlen(s));
}

/* Reading. */

static void
set_warning(struct town *t, const char *path, const struct err *e)
{
	if (t->warning == NULL)
		t->warning = xasprintf("%s is not used: %s", path, e->msg);
}

/*
 * Are the path below the root and the directories on the way to it trusted? What is absent is. e
 * as of town_trusts.
 */
static bool
trusted_below(const struct town *t, const char *path, struct err *e)
{
	char *whole = io_join(t->root, path);
	bool yes = true;

	for (char *end = whole + strlen(whole) - strlen(path); yes && end != NULL;) {
		end = strchr(end, '/');
		if (end != NULL)
			*end = '\0';
		yes = town_trusts(whole, TRUST_ABSENT, e);
		if (end != NULL)
			*end++ = '/';
	}
	free(whole);
	return yes;
}

/* A JSON file of the town; NULL when it does not exist or cannot be used, which warns. New reference. */
static json_t *
read_json(struct town *t, const char *name)
{
	char *path = io_join(t->root, name);
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	json_t *json = NULL;

	if (!trusted_below(t, name, &t->doubt)) {
		free(path);
		return NULL;
	}
	if (io_read_file(path, JSON_MAX, &text, &e) == 0) {
		json = json_parse(text.data, text.len, path, &e);
		if (json != NULL && !json_is_object(json)) {
			err_set(&e, GT_FAIL, "json", "expected an object");
			json_decref(json);
			json = NULL;
		}
	}
	if (json == NULL && strcmp(e.name, "not-found") != 0)
		set_warning(t, path, &e);
	buf_release(&text);
	free(path);
	return json;
}

static struct rig *
find_rig(const struct town *t, const char *name)
{
	for (size_t i = 0; i < t->n_rigs; i++) {
		if (strcmp(t->rigs[i].name, name) == 0)
			return &t->rigs[i];
	}
	return NULL;
}

/* The prefix may be written with its dash; one that is no name is none. An untrusted rig is passed over. */
static void
add_rig(struct town *t, const char *name, const char *prefix)
{
	size_t n = prefix != NULL ? strlen(prefix) : 0;
	struct rig *r;

	while (n > 0 && prefix[n - 1] == '-')
		n--;
	if (n > 0 && !role_is_part(prefix, n))
		n = 0;
	r = find_rig(t, name);
	if (r == NULL && !trusted_below(t, name, &t->doubt))
		return;
	if (r == NULL) {
		t->rigs = vec_room(t->rigs, t->n_rigs, &t->cap_rigs, sizeof *t->rigs);
		r = &t->rigs[t->n_rigs++];
		*r = (struct rig){ .name = xstrdup(name), .prefix = xstrdup(default_prefix) };
	}
	if (n > 0 && !r->registered) {
		free(r->prefix);
		r->prefix = xstrndup(prefix, n);
		r->registered = true;
	}
}

static void
read_registry(struct town *t, const char *file)
{
	json_t *json = read_json(t, file), *one;
	const char *name;

	if (json == NULL)
		return;
	json_object_foreach(json_object_get(json, "rigs"), name, one) {
		if (is_part(name))
			add_rig(t, name, json_text(json_object_get(one, "beads"), "prefix", NULL));
	}
	json_decref(json);
}

/* Rigs that no registry has: directories with polecats/ below them. */
static void
read_directories(struct town *t)
{
	struct dirent **entries = NULL;
	int n = scandir(t->root, &entries, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char *polecats = xasprintf("%s/polecats", entries[i]->d_name);

		if (is_part(entries[i]->d_name) && town_dir_below(t->root, polecats))
			add_rig(t, entries[i]->d_name, NULL);
		free(polecats);
		free(entries[i]);
	}
	free(entries);
}

static const char *
route_prefix(const struct town *t, const char *rig)
{
	size_t n = strlen(rig);

	for (size_t i = 0; i < t->n_routes; i++) {
		const char *path = t->routes[i].path;

		if (strncmp(path, rig, n) == 0 && (path[n] == '/' || path[n] == '\0'))
			return t->routes[i].prefix;
	}
	return NULL;
}

static void
complete_rig(struct town *t, struct rig *r)
{
	char *file = xasprintf("%s/config.json", r->name), *name = xstrdup(r->name);
	char *beads = xasprintf("%s/.beads", r->name);
	json_t *json = r->registered ? NULL : read_json(t, file);

	if (!r->registered)
		add_rig(t, name, route_prefix(t, name));
	if (json != NULL)
		add_rig(t, name, json_text(json_object_get(json, "beads"), "prefix", NULL));
	trusted_below(t, beads, &t->doubt);
	json_decref(json);
	free(file);
	free(beads);
	free(name);
}

static int
rig_order(const void *a, const void *b)
{
	const struct rig *x = a, *y = b;
	size_t nx = strlen(x->prefix), ny = strlen(y->prefix);

	return nx != ny ? (nx < ny ? 1 : -1) : strcmp(x->name, y->name);
}

/*
 * routes.jsonl: {"prefix":"gt-","path":"gastown/mayor/rig"}, "#" comments. Lines that are
 * anything else are passed over.
 */
static void
read_routes(struct town *t)
{
	char *path = io_join(t->root, ".beads/routes.jsonl"), *line, *rest;
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;

	if (!trusted_below(t, ".beads/routes.jsonl", &t->doubt)) {
		free(path);
		return;
	}
	if (io_read_file(path, JSON_MAX, &text, &e) != 0) {
		if (strcmp(e.name, "not-found") != 0)
			set_warning(t, path, &e);
		buf_cut(&text, 0);
	}
	free(path);
	for (rest = text.data; (line = strsep(&rest, "\n")) != NULL;) {
		json_t *json = strchr(line, '{') != NULL && line[0] != '#'
		    ? json_parse(line, strlen(line), "routes.jsonl", NULL)
		    : NULL;
		const char *prefix = json_text(json, "prefix", NULL), *to = json_text(json, "path", NULL);

		/* A path that leaves the town is not ours to follow. */
		if (prefix != NULL && prefix[0] != '\0' && to != NULL && to[0] != '/' &&
		    strstr(to, "..") == NULL) {
			t->routes = vec_room(t->routes, t->n_routes, &t->cap_routes, sizeof *t->routes);
			t->routes[t->n_routes++] =
			    (struct route){ .prefix = xstrdup(prefix), .path = xstrdup(to) };
		}
		json_decref(json);
	}
	buf_release(&text);
}

void
town_read_rigs(struct town *t)
{
	read_routes(t);
	read_registry(t, "mayor/rigs.json");
	if (t->n_rigs == 0)
		read_registry(t, "rigs.json");
	read_directories(t);
	for (size_t i = 0; i < t->n_rigs; i++)
		complete_rig(t, &t->rigs[i]);
	if (t->n_rigs > 0)
		qsort(t->rigs, t->n_rigs, sizeof *t->rigs, rig_order);
}

void
town_free_rigs(struct town *t)
{
	for (size_t i = 0; i < t->n_rigs; i++) {
		free(t->rigs[i].name);
		free(t->rigs[i].prefix);
	}
	for (size_t i = 0; i < t->n_routes; i++) {
		free(t->routes[i].prefix);
		free(t->routes[i].path);
	}
	free(t->rigs);
	free(t->routes);
}

/* Asking. */

size_t
town_rigs(const struct town *t)
{
	return t->n_rigs;
}

const struct rig *
town_rig_at(const struct town *t, size_t i)
{
	return &t->rigs[i];
}

const struct rig *
town_rig(const struct town *t, const char *name)
{
	return find_rig(t, name);
}

void
town_polecats(const struct town *t, const char *rig, struct town_list *out)
{
	char *path = t->root != NULL && is_part(rig) ? xasprintf("%s/%s/polecats", t->root, rig) : NULL;
	struct dirent **entries = NULL;
	int n = path != NULL ? scandir(path, &entries, NULL, alphasort) : 0;

	for (int i = 0; i < n; i++) {
		if (is_part(entries[i]->d_name) && town_dir_below(path, entries[i]->d_name))
			town_list_add(out, xstrdup(entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
	free(path);
}

/* Adds root/path when it holds a .beads that is trusted. */
static void
add_bead_dir(const struct town *t, const char *path, struct town_list *out)
{
	bool top = strcmp(path, ".") == 0;
	char *dir = top ? xstrdup(t->root) : io_join(t->root, path);
	char *beads = top ? xstrdup(".beads") : io_join(path, ".beads");

	if (town_dir_below(dir, ".beads") && trusted_below(t, beads, NULL))
		town_list_add_unique(out, dir);
	else
		free(dir);
	free(beads);
}

void
town_bead_dirs(const struct town *t, const char *rig, struct town_list *out)
{
	size_t n = rig != NULL ? strlen(rig) : 0;
	char *clone;

	if (t->root == NULL)
		return;
	if (is_part(rig)) {
		add_bead_dir(t, rig, out);
		clone = xasprintf("%s/mayor/rig", rig);
		add_bead_dir(t, clone, out);
		free(clone);
		for (size_t i = 0; i < t->n_routes; i++) {
			const char *path = t->routes[i].path;

			if (strncmp(path, rig, n) == 0 && (path[n] == '/' || path[n] == '\0'))
				add_bead_dir(t, path, out);
		}
	}
	add_bead_dir(t, ".", out);
}
