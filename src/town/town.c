#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "town/town.h"
#include "town/config.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/sha256.h"

enum { JSON_MAX = 1 << 20 };

/* gt's DefaultPrefix for a rig that nothing gives one. */
static const char default_prefix[] = "gt";

struct route {
	char *prefix;		/* with its dash: "gt-" */
	char *path;		/* from the root; "." is the town */
};

struct town {
	char *root;
	char *real;		/* root with symbolic links resolved: tmux and /proc tell paths so */
	char *warning;
	struct rig *rigs;
	size_t n_rigs, cap_rigs;
	struct route *routes;
	size_t n_routes, cap_routes;
};

/* Lists and files. */

void
town_list_add(struct town_list *l, char *owned)
{
	l->v = vec_room(l->v, l->n, &l->cap, sizeof *l->v);
	l->v[l->n++] = owned;
}

/* Adds unless it is there already; takes the string either way. */
static void
list_add_once(struct town_list *l, char *owned)
{
	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->v[i], owned) == 0) {
			free(owned);
			return;
		}
	}
	town_list_add(l, owned);
}

void
town_list_release(struct town_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct town_list)TOWN_LIST_INIT;
}

static bool
is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool
exists_below(const char *dir, const char *name)
{
	char *path = io_join(dir, name);
	bool yes = access(path, F_OK) == 0;

	free(path);
	return yes;
}

static bool
dir_below(const char *dir, const char *name)
{
	char *path = io_join(dir, name);
	bool yes = is_dir(path);

	free(path);
	return yes;
}

static bool
is_part(const char *s)
{
	return s != NULL && role_is_part(s, strlen(s));
}

static const char *
env_text(const char *name)
{
	const char *s = getenv(name);

	return s != NULL && s[0] != '\0' ? s : NULL;
}

/* The root. */

/* The outermost directory at or above `here` that has `name` below it, heap; NULL when there is none. */
static char *
outermost(const char *here, const char *name)
{
	char *path = xstrdup(here), *found = NULL;

	for (;;) {
		char *slash = strrchr(path, '/');

		if (exists_below(path[0] != '\0' ? path : "/", name)) {
			free(found);
			found = xstrdup(path[0] != '\0' ? path : "/");
		}
		if (slash == NULL)
			break;
		*slash = '\0';
	}
	free(path);
	return found;
}

/* An absolute spelling of a town's root, heap; NULL when the directory is none. */
static char *
as_root(const char *dir)
{
	char *root;

	if (dir == NULL || !dir_below(dir, "mayor"))
		return NULL;
	/* gt resolves no symbolic links here, and a relative path must not change its meaning when we change directory. */
	root = dir[0] == '/' ? xstrdup(dir) : realpath(dir, NULL);
	for (size_t n = root != NULL ? strlen(root) : 0; n > 1 && root[n - 1] == '/'; n--)
		root[n - 1] = '\0';
	return root;
}

/* Found, not named: a mayor/ that somebody else put above us (in /tmp, say) makes no town. */
static bool
is_own_town(const char *root)
{
	char *path = io_join(root, "mayor");
	struct stat st;
	bool own = stat(path, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_uid == geteuid() || exists_below(path, "town.json"));

	free(path);
	return own;
}

static char *
find_root(void)
{
	char *here = getcwd(NULL, 0), *root = NULL;

	if (here != NULL) {
		root = outermost(here, "mayor/town.json");
		if (root == NULL)
			root = outermost(here, "mayor");
		free(here);
	}
	if (root != NULL && is_own_town(root))
		return root;
	free(root);
	root = as_root(env_text("GT_TOWN_ROOT"));
	return root != NULL ? root : as_root(env_text("GT_ROOT"));
}

/* Rigs. */

static void
warn(struct town *t, const char *path, const struct err *e)
{
	if (t->warning == NULL)
		t->warning = xasprintf("%s is not used: %s", path, e->msg);
}

/* A JSON file of the town; NULL when it does not exist or cannot be used, which warns. New reference. */
static json_t *
read_json(struct town *t, const char *name)
{
	char *path = io_join(t->root, name);
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	json_t *json = NULL;

	if (io_read_file(path, JSON_MAX, &text, &e) == 0) {
		json = json_parse(text.data, text.len, path, &e);
		if (json != NULL && !json_is_object(json)) {
			err_set(&e, GT_FAIL, "json", "expected an object");
			json_decref(json);
			json = NULL;
		}
	}
	if (json == NULL && strcmp(e.name, "not-found") != 0)
		warn(t, path, &e);
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

/* The prefix may be written with its dash; one that is no name is none. */
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

		if (is_part(entries[i]->d_name) && dir_below(t->root, polecats))
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
	json_t *json = r->registered ? NULL : read_json(t, file);

	if (!r->registered)
		add_rig(t, name, route_prefix(t, name));
	if (json != NULL)
		add_rig(t, name, json_text(json_object_get(json, "beads"), "prefix", NULL));
	json_decref(json);
	free(file);
	free(name);
}

static int
rig_order(const void *a, const void *b)
{
	const struct rig *x = a, *y = b;
	size_t nx = strlen(x->prefix), ny = strlen(y->prefix);

	return nx != ny ? (nx < ny ? 1 : -1) : strcmp(x->name, y->name);
}

/* routes.jsonl: {"prefix":"gt-","path":"gastown/mayor/rig"}, "#" comments. Lines that are anything else are passed over. */
static void
read_routes(struct town *t)
{
	char *path = io_join(t->root, ".beads/routes.jsonl"), *line, *rest;
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;

	if (io_read_file(path, JSON_MAX, &text, &e) != 0) {
		if (strcmp(e.name, "not-found") != 0)
			warn(t, path, &e);
		buf_cut(&text, 0);
	}
	free(path);
	for (rest = text.data; (line = strsep(&rest, "\n")) != NULL;) {
		json_t *json = strchr(line, '{') != NULL && line[0] != '#' ? json_parse(line, strlen(line), "routes.jsonl", NULL) : NULL;
		const char *prefix = json_text(json, "prefix", NULL), *to = json_text(json, "path", NULL);

		/* A path that leaves the town is not ours to follow. */
		if (prefix != NULL && prefix[0] != '\0' && to != NULL && to[0] != '/' && strstr(to, "..") == NULL) {
			t->routes = vec_room(t->routes, t->n_routes, &t->cap_routes, sizeof *t->routes);
			t->routes[t->n_routes++] = (struct route){ .prefix = xstrdup(prefix), .path = xstrdup(to) };
		}
		json_decref(json);
	}
	buf_release(&text);
}

static void
read_town(struct town *t)
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

struct town *
town_new(const char *dir, struct err *e)
{
	struct town *t = xcalloc(1, sizeof *t);

	t->root = dir != NULL ? as_root(dir) : find_root();
	if (t->root == NULL && dir != NULL) {
		free(t);
		err_set(e, GT_USAGE, "not-a-town", "%s is not the root of a town: it has no directory mayor", dir);
		err_hint(e, "name the directory that holds mayor/town.json, or leave --town out");
		return NULL;
	}
	if (t->root != NULL) {
		t->real = realpath(t->root, NULL);
		read_town(t);
	}
	return t;
}

void
town_free(struct town *t)
{
	if (t == NULL)
		return;
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
	free(t->root);
	free(t->real);
	free(t->warning);
	free(t);
}

const char *
town_root(const struct town *t)
{
	return t->root;
}

const char *
town_real_root(const struct town *t)
{
	return t->real != NULL ? t->real : t->root;
}

const char *
town_warning(const struct town *t)
{
	return t->warning;
}

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
		if (is_part(entries[i]->d_name) && dir_below(path, entries[i]->d_name))
			town_list_add(out, xstrdup(entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
	free(path);
}

/* Places. */

/* Adds root/path when it holds a .beads. */
static void
add_bead_dir(const struct town *t, const char *path, struct town_list *out)
{
	char *dir = strcmp(path, ".") == 0 ? xstrdup(t->root) : io_join(t->root, path);

	if (dir_below(dir, ".beads"))
		list_add_once(out, dir);
	else
		free(dir);
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

char *
town_bead_route(const struct town *t, const char *bead)
{
	const struct route *best = NULL;

	for (size_t i = 0; i < t->n_routes; i++) {
		const struct route *r = &t->routes[i];

		if (str_starts(bead, r->prefix) && (best == NULL || strlen(r->prefix) > strlen(best->prefix)))
			best = r;
	}
	if (best == NULL)
		return NULL;
	return strcmp(best->path, ".") == 0 ? xstrdup(t->root) : io_join(t->root, best->path);
}

/* Sockets. */

/* gt's spelling of a town's directory: lower case, runs of other bytes than a-z 0-9 - as one dash, no dash at the ends. */
static char *
socket_base(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	struct buf b = BUF_INIT;
	size_t from = 0;
	bool other = false;
	char *out;

	for (const char *p = name; *p != '\0'; p++) {
		int c = tolower((unsigned char)*p);

		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-') {
			buf_chr(&b, (char)c);
			other = false;
		} else if (!other) {
			buf_chr(&b, '-');
			other = true;
		}
	}
	while (b.len > 0 && b.data[b.len - 1] == '-')
		buf_cut(&b, b.len - 1);
	while (b.data[from] == '-')
		from++;
	out = xstrdup(b.data[from] != '\0' ? b.data + from : "default");
	buf_release(&b);
	return out;
}

void
town_sockets(const struct town *t, struct town_list *out)
{
	const char *own = env_text("GT_TMUX_SOCKET"), *older = env_text("GT_TOWN_SOCKET");
	char sum[65];

	if (own != NULL && strcmp(own, "default") != 0 && strcmp(own, "auto") != 0)
		list_add_once(out, xstrdup(own));
	if (t->root != NULL) {
		/* The sum is of the resolved path, the name of the path as it is written (gt of 2026-03-21, v0.13.0). */
		const char *real = t->real != NULL ? t->real : t->root;
		char *base = socket_base(t->root);

		sha256_hex(real, strlen(real), sum);
		list_add_once(out, xasprintf("%s-%.6s", base, sum));
		list_add_once(out, base);
	}
	if (older != NULL)
		list_add_once(out, xstrdup(older));
	list_add_once(out, xstrdup("default"));
}

/* State. */

char *
town_state_path(const struct town *t, struct err *e)
{
	const char *xdg = env_text("XDG_STATE_HOME"), *home = env_text("HOME");

	if (t->root != NULL)
		return io_join(t->root, ".gt");
	if (xdg != NULL && xdg[0] == '/')
		return io_join(xdg, "gt-recover");
	if (home != NULL && home[0] == '/')
		return io_join(home, ".local/state/gt-recover");
	err_set(e, GT_USAGE, "no-home", "there is no place for state: neither a town, nor XDG_STATE_HOME, nor HOME");
	err_hint(e, "set HOME, or name a town with --town");
	return NULL;
}

char *
town_state_make(const struct town *t, struct err *e)
{
	char *dir = town_state_path(t, e), *ignore;
	int ret = 0;

	if (dir == NULL)
		return NULL;
	if (io_private_dir(dir, e) != 0) {
		err_hint(e, "make %s a directory that this user can write to", dir);
		free(dir);
		return NULL;
	}
	if (t->root != NULL) {
		ignore = io_join(dir, ".gitignore");
		if (access(ignore, F_OK) != 0)
			ret = io_write_durable(ignore, "*\n", 2, "state-gitignore", e);
		free(ignore);
	}
	if (ret != 0) {
		free(dir);
		return NULL;
	}
	return dir;
}

char *
town_snapshot_dir(const struct town *t, const struct config *c, struct err *e)
{
	const char *dir = config_text(c, "snapshot_dir"), *home = env_text("HOME");
	char *state, *path;

	if (dir[0] == '/')
		return xstrdup(dir);
	if (str_starts(dir, "~/") && home != NULL)
		return io_join(home, dir + 2);
	if (t->root != NULL)
		return io_join(t->root, dir);
	state = town_state_path(t, e);
	if (state == NULL)
		return NULL;
	path = io_join(state, str_starts(dir, ".gt/") ? dir + 4 : dir);
	free(state);
	return path;
}

/* Markers. */

/* Anything but a plain "no such file" counts as there: what cannot be seen must not be overrun. */
static bool
marker(const char *root, const char *name)
{
	char *path = io_join(root, name);
	struct stat st;
	bool there = lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);

	free(path);
	return there;
}

static bool
shutdown_held(const char *root)
{
	char *path = io_join(root, "daemon/shutdown.lock");
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), held;

	free(path);
	if (fd < 0)
		return errno != ENOENT && errno != ENOTDIR;
	/* A shared lock for a moment: it meets gt's exclusive one and keeps no other reader out. */
	held = flock(fd, LOCK_SH | LOCK_NB) != 0;
	close(fd);
	return held;
}

enum town_halt
town_halted(const struct town *t, const struct role_name *role)
{
	char *rig;
	bool stop = false;

	if (t->root == NULL)
		return TOWN_RUNS;
	if (role == NULL || role->kind != ROLE_MAYOR) {
		stop = marker(t->root, "ESTOP");
		if (!stop && role != NULL && role->rig[0] != '\0') {
			rig = xasprintf("ESTOP.%s", role->rig);
			stop = marker(t->root, rig);
			free(rig);
		}
	}
	if (stop)
		return TOWN_ESTOP;
	return shutdown_held(t->root) ? TOWN_SHUTDOWN : TOWN_RUNS;
}
