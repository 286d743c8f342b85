#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gastown/gastown_private.h"
#include "base/io.h"
#include "base/json.h"
#include "base/encode.h"
#include "config/trust.h"
#include "config/config.h"

#define SMALL_MAX ((size_t)1 << 20)

/* Sockets. */

/*
 * gt's spelling of a town's directory: lower case, runs of other bytes than a-z 0-9 - as one
 * dash, no dash at the ends.
 */
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

static const char * town_env(const char *name);

void
town_sockets(const struct town *t, struct town_list *out)
{
	const char *own = town_env("GT_TMUX_SOCKET"), *older = town_env("GT_TOWN_SOCKET");
	char sum[65];

	if (own != NULL && strcmp(own, "default") != 0 && strcmp(own, "auto") != 0)
		town_list_add_unique(out, xstrdup(own));
	if (t->root != NULL) {
		/*
		 * The sum is of the resolved path, the name of the path as it is written (gt of
		 * 2026-03-21, v0.13.0).
		 */
		const char *real = town_real_root(t);
		char *base = socket_base(t->root);

		sha256_hex(real, strlen(real), sum);
		town_list_add_unique(out, xasprintf("%s-%.6s", base, sum));
		town_list_add_unique(out, base);
	}
	if (older != NULL)
		town_list_add_unique(out, xstrdup(older));
	town_list_add_unique(out, xstrdup("default"));
}

/* The Dolt server. */

static char *
as_port(const char *s)
{
	size_t n = s != NULL ? strspn(s, "0123456789") : 0;

	return n > 0 && n < 6 && (s[n] == '\0' || isspace((unsigned char)s[n])) ? xstrndup(s, n) : NULL;
}

/* Of the YAML only what Dolt itself writes: "listener:" at the margin, "port: N" indented below it. */
static char *
listener_port(char *text)
{
	bool inside = false;

	for (char *line; (line = strsep(&text, "\n")) != NULL;) {
		char *word = line + strspn(line, " \t");

		if (word == line && *word != '\0' && *word != '#')
			inside = str_starts(line, "listener:");
		else if (inside && str_starts(word, "port:"))
			return as_port(word + 5 + strspn(word + 5, " \t"));
	}
	return NULL;
}

char *
town_dolt_port(const struct town *t)
{
	char *yaml = t->root != NULL ? io_join(t->root, ".dolt-data/config.yaml") : NULL;
	char *daemon = t->root != NULL ? io_join(t->root, "mayor/daemon.json") : NULL, *port = NULL;
	struct buf text = BUF_INIT;
	json_t *v = NULL;

	if (yaml != NULL && io_read_file(yaml, SMALL_MAX, &text, NULL) == 0)
		port = listener_port(text.data);
	if (port == NULL)
		port = as_port(town_env("GT_DOLT_PORT"));
	buf_reset(&text);
	if (port == NULL && daemon != NULL && io_read_file(daemon, SMALL_MAX, &text, NULL) == 0)
		v = json_parse(text.data, text.len, daemon, NULL);
	if (v != NULL)
		port = as_port(json_text(json_object_get(v, "env"), "GT_DOLT_PORT", NULL));
	json_decref(v);
	buf_release(&text);
	free(yaml);
	free(daemon);
	return port;
}

/* State. */

char *
town_state_path(const struct town *t, struct err *e)
{
	const char *xdg = town_env("XDG_STATE_HOME"), *home = town_env("HOME");

	if (t->root != NULL)
		return io_join(t->root, ".gt");
	if (xdg != NULL && xdg[0] == '/')
		return io_join(xdg, "gt-recover");
	if (home != NULL && home[0] == '/')
		return io_join(home, ".local/state/gt-recover");
	err_set(e, GT_USAGE, "no-home",
	    "cannot locate the state directory: no Gas Town, and neither XDG_STATE_HOME nor HOME is set");
	err_hint(e, "set HOME, or name a town with --town");
	return NULL;
}

/* In a sticky directory only the owner of an entry, which may be a link, can replace it. */
static int
check_entry(const char *path, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode))
		return 0;
	st.st_mode &= (mode_t)~(S_IWGRP | S_IWOTH);
	return trust_stat(&st, path, 0, e);
}

/* The directories above the path, up to the root. What is not there yet will be made by us. */
static bool
trusts_above(const char *path, struct err *e)
{
	char *dir = xstrdup(path), *slash;
	bool yes = true;

	while (yes && (slash = strrchr(dir, '/')) != NULL) {
		yes = check_entry(dir, e) == 0;
		*slash = '\0';
		yes = yes && town_trusts(dir[0] != '\0' ? dir : "/", TRUST_STICKY | TRUST_ABSENT, e);
	}
	free(dir);
	return yes;
}

int
town_state_check(const struct town *t, const char *dir, struct err *e)
{
	struct err why = ERR_INIT;
	char *real = realpath(dir, NULL);
	/* In a town its root has been checked. */
	bool yes = t->root != NULL ||
	    (trusts_above(dir, &why) && (real == NULL || trusts_above(real, &why)) &&
		town_trusts(dir, TRUST_WRITERS | TRUST_ABSENT, &why));

	free(real);
	if (yes)
		return 0;
	if (e != NULL) {
		*e = why;
		err_add(e, "the state directory %s is not used", dir);
		err_hint(e, "set XDG_STATE_HOME to a directory that only you can move%s%s",
		    why.hint[0] != '\0' ? "; or, " : "", why.hint);
	}
	return -1;
}

char *
town_state_make(const struct town *t, struct err *e)
{
	char *dir = town_state_path(t, e), *ignore, *owner;
	int ret = 0;

	if (dir == NULL)
		return NULL;
	owner = config_safe(dir, true, NULL) ? NULL : trust_owner_command(dir);
	if (owner != NULL) {
		err_set(e, GT_FAIL, "other-user",
		    "the state directory %s belongs to another user: root does not change it", dir);
		err_hint(e, "%s", owner);
		free(owner);
		free(dir);
		return NULL;
	}
	if (io_private_dir(dir, e) != 0) {
		err_hint(e, "make %s a directory that this user can write to", dir);
		free(dir);
		return NULL;
	}
	/* Who can rename it, or what it lies in, can take away what exit status 0 said is on disk. */
	if (town_state_check(t, dir, e) != 0) {
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
	const char *dir = config_text(c, "snapshot_dir"), *home = town_env("HOME");
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

/* What the files of town share. */

void
town_list_add(struct town_list *l, char *owned)
{
	l->v = vec_room(l->v, l->n, &l->cap, sizeof *l->v);
	l->v[l->n++] = owned;
}

void
town_list_add_unique(struct town_list *l, char *owned)
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

bool
town_dir_below(const char *dir, const char *name)
{
	char *path = io_join(dir, name);
	bool yes = io_is_dir(path);

	free(path);
	return yes;
}

/* A variable of the environment; NULL when it is unset or empty. */
static const char *
town_env(const char *name)
{
	const char *s = getenv(name);

	return s != NULL && s[0] != '\0' ? s : NULL;
}

/* The root. */

bool
town_trusts(const char *path, unsigned allow, struct err *e)
{
	struct err why = ERR_INIT;

	if (trust_path(path, allow, &why) == 0 || config_safe(path, true, &why))
		return true;
	if (e != NULL && e->code == 0)
		*e = why;
	return false;
}

enum { OWN, SAFE };

/*
 * Is this directory with a mayor/ a town that no other user can change? Of a named one, which is the
 * user's own choice, only the owners count. OWN, SAFE when only config_safe admits it, or -1 with err.
 */
static int
check_root(const char *root, bool named, struct err *e)
{
	static const char *const parts[] = { "", "mayor", "mayor/town.json" };
	unsigned allow = TRUST_ABSENT | (named ? TRUST_WRITERS : 0);
	int ret = 0;

	for (size_t i = 0; i < sizeof parts / sizeof parts[0] && ret == 0; i++) {
		char *path = i == 0 ? xstrdup(root) : io_join(root, parts[i]);

		ret = trust_path(path, allow, e);
		free(path);
	}
	if (ret == 0)
		return OWN;
	if (!config_safe(root, false, e))
		return -1;
	err_clear(e);
	return SAFE;
}

/* Keeps the first reason of a town with a town.json, else the first one. */
static void
note_skipped(struct town *t, const struct err *why, bool registered)
{
	if (t->skipped.code != 0 && (t->skipped_registered || !registered))
		return;
	t->skipped = *why;
	t->skipped_registered = registered;
}

/* Notes the town at or above the directory where the walk ended, and how to list it. */
static void
doubt_what_is_above(struct town *t, const char *dir, struct err *why)
{
	char *path = xstrdup(dir), *slash;

	while (!t->skipped_registered && path[0] != '\0') {
		if (io_has(path, "mayor/town.json")) {
			config_safe(path, true, why);
			note_skipped(t, why, true);
		}
		if ((slash = strrchr(path, '/')) == NULL)
			break;
		*slash = '\0';
	}
	free(path);
}

/* The walk upwards ends at a directory of another user, or one that everybody may write, sticky or not. */
static bool
walk_ends(struct town *t, const char *dir)
{
	struct err e = ERR_INIT;
	struct stat st;

	if (town_trusts(dir, TRUST_GROUP, &e))
		return false;
	/* nobody keeps a town in /tmp or its like: a mayor/ there is not worth a warning in every command */
	if (stat(dir, &st) != 0 || (st.st_mode & S_ISVTX) == 0)
		doubt_what_is_above(t, dir, &e);
	return true;
}

/*
 * The outermost town from here upward of the first of these kinds that there is, heap; NULL: none.
 *  1. own, with a town.json
 *  2. safe (config_safe), with a town.json
 *  3. own, without: the directory of a rig has a mayor/ too
 *  4. safe, without
 */
static char *
find_outermost(struct town *t, const char *here)
{
	char *path = xstrdup(here), *found[4] = { NULL }, *best = NULL;

	for (;;) {
		const char *dir = path[0] != '\0' ? path : "/";
		char *slash = strrchr(path, '/');
		struct err e = ERR_INIT;

		if (walk_ends(t, dir))
			break;
		if (town_dir_below(dir, "mayor")) {
			bool registered = io_has(dir, "mayor/town.json");
			int whose = check_root(dir, false, &e);

			if (whose < 0) {
				note_skipped(t, &e, registered);
			} else {
				char **slot = &found[(registered ? 0 : 2) + whose];

				free(*slot);
				*slot = xstrdup(dir);
			}
		}
		if (slash == NULL)
			break;
		*slash = '\0';
	}
	free(path);
	t->registered = found[0] != NULL || found[1] != NULL;
	for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
		if (best == NULL)
			best = found[i];
		else
			free(found[i]);
	}
	return best;
}

/* An absolute spelling of a town's root, heap; NULL when the directory is none. */
static char *
as_root(const char *dir)
{
	char *root;

	if (dir == NULL || !town_dir_below(dir, "mayor"))
		return NULL;
	/*
	 * gt resolves no symbolic links here, and a relative path must not change its meaning
	 * when we change directory.
	 */
	root = dir[0] == '/' ? xstrdup(dir) : realpath(dir, NULL);
	for (size_t n = root != NULL ? strlen(root) : 0; n > 1 && root[n - 1] == '/'; n--)
		root[n - 1] = '\0';
	return root;
}

/*
 * The root that --town or a variable names, heap. NULL with err: "not-a-town", or "not-ours" of
 * another user.
 */
static char *
named_root(const char *dir, struct err *e)
{
	char *mayor = io_join(dir, "mayor"), *root = NULL;
	bool there = access(mayor, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);

	free(mayor);
	/* a stranger's directory may not let us see whether it is a town */
	if (there && check_root(dir, true, e) < 0) {
		err_add(e, "%s is refused as a town", dir);
		return NULL;
	}
	if (!there || (root = as_root(dir)) == NULL) {
		err_set(e, GT_USAGE, "not-a-town", "%s is not the root of a town: it has no directory mayor",
		    dir);
		err_hint(e, "name the directory that holds mayor/town.json, or leave --town out");
	}
	return root;
}

/* 0, also without a town; -1: a variable names the town of another user. */
static int
find_root(struct town *t, struct err *e)
{
	static const char *const variables[] = { "GT_TOWN_ROOT", "GT_ROOT" };
	char *here = getcwd(NULL, 0);

	if (here != NULL)
		t->root = find_outermost(t, here);
	free(here);
	for (size_t i = 0; i < sizeof variables / sizeof variables[0] && t->root == NULL; i++) {
		const char *dir = town_env(variables[i]);
		struct err why = ERR_INIT;

		if (dir == NULL)
			continue;
		if ((t->root = named_root(dir, &why)) != NULL) {
			err_clear(&t->skipped);
		} else if (strcmp(why.name, "not-a-town") != 0) {
			if (e != NULL)
				*e = why;
			return err_add(e, "%s", variables[i]);
		}
	}
	return 0;
}

struct town *
town_new(const char *dir, struct err *e)
{
	struct town *t = xcalloc(1, sizeof *t);

	if (dir != NULL ? (t->root = named_root(dir, e)) == NULL : find_root(t, e) != 0) {
		town_free(t);
		return NULL;
	}
	if (t->root != NULL) {
		t->real = realpath(t->root, NULL);
		town_read_rigs(t);
	}
	return t;
}

void
town_free(struct town *t)
{
	if (t == NULL)
		return;
	town_free_rigs(t);
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

const struct err *
town_doubt(const struct town *t)
{
	if (t->doubt.code != 0)
		return &t->doubt;
	/* to list it would change the town in use */
	if (t->skipped.code != 0 && (t->root == NULL || (t->skipped_registered && !t->registered)))
		return &t->skipped;
	return NULL;
}

const struct err *
town_skipped(const struct town *t)
{
	return t->skipped.code != 0 ? &t->skipped : NULL;
}

/* Markers. */

/* Anything but a plain "no such file" counts as there: what cannot be seen must not be overrun. */
static bool
has_marker(const char *root, const char *name)
{
	char *path = io_join(root, name);
	struct stat st;
	bool there = lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);

	free(path);
	return there;
}

static bool
lock_held(const char *root, const char *name)
{
	char *path = io_join(root, name);
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
town_halted(const struct town *t, const struct town_role *role)
{
	char *rig;
	bool stop = false;

	if (t->root == NULL)
		return TOWN_RUNS;
	if (role == NULL || role->kind != TOWN_ROLE_MAYOR) {
		stop = has_marker(t->root, "ESTOP");
		if (!stop && role != NULL && role->rig[0] != '\0') {
			rig = xasprintf("ESTOP.%s", role->rig);
			stop = has_marker(t->root, rig);
			free(rig);
		}
	}
	if (stop)
		return TOWN_ESTOP;
	return lock_held(t->root, "daemon/shutdown.lock") ? TOWN_SHUTDOWN : TOWN_RUNS;
}

bool
town_polecat_locked(const struct town *t, const struct town_role *role)
{
	char *name;
	bool held;

	if (t->root == NULL || role->kind != TOWN_ROLE_POLECAT || role->rig[0] == '\0')
		return false;
	name = xasprintf("%s/.runtime/locks/polecat-%s.lock", role->rig, role->name);
	held = lock_held(t->root, name);
	free(name);
	return held;
}

bool
town_rig_parked(const struct town *t, const char *rig)
{
	char *name = t->root != NULL && role_is_part(rig, strlen(rig))
	    ? xasprintf("%s/.beads-wisp/config/%s.json", t->root, rig)
	    : NULL;
	struct buf text = BUF_INIT;
	json_t *v = NULL, *word;
	const char *status;
	bool parked;
	size_t i;

	if (name != NULL && io_read_file(name, SMALL_MAX, &text, NULL) == 0)
		v = json_parse(text.data, text.len, name, NULL);
	status = json_text(json_object_get(v, "values"), "status", "");
	parked = strcmp(status, "parked") == 0 || strcmp(status, "docked") == 0;
	json_array_foreach(json_object_get(v, "blocked"), i, word)
		if (json_is_string(word) && strcmp(json_string_value(word), "status") == 0)
			parked = false;
	json_decref(v);
	buf_release(&text);
	free(name);
	return parked;
}
