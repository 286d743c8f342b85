#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "town/town.h"
#include "town/town_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"

#define SMALL_MAX ((size_t)1 << 20)

/* What the files of town share. */

void
town_list_add(struct town_list *l, char *owned)
{
	l->v = vec_room(l->v, l->n, &l->cap, sizeof *l->v);
	l->v[l->n++] = owned;
}

void
town_list_add_once(struct town_list *l, char *owned)
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
	struct stat st;
	bool yes = stat(path, &st) == 0 && S_ISDIR(st.st_mode);

	free(path);
	return yes;
}

const char *
town_env(const char *name)
{
	const char *s = getenv(name);

	return s != NULL && s[0] != '\0' ? s : NULL;
}

/* The root. */

static bool
exists_below(const char *dir, const char *name)
{
	char *path = io_join(dir, name);
	bool yes = access(path, F_OK) == 0;

	free(path);
	return yes;
}

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

	if (dir == NULL || !town_dir_below(dir, "mayor"))
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
	root = as_root(town_env("GT_TOWN_ROOT"));
	return root != NULL ? root : as_root(town_env("GT_ROOT"));
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
	return lock_held(t->root, "daemon/shutdown.lock") ? TOWN_SHUTDOWN : TOWN_RUNS;
}

bool
town_polecat_locked(const struct town *t, const struct role_name *role)
{
	char *name;
	bool held;

	if (t->root == NULL || role->kind != ROLE_POLECAT || role->rig[0] == '\0')
		return false;
	name = xasprintf("%s/.runtime/locks/polecat-%s.lock", role->rig, role->name);
	held = lock_held(t->root, name);
	free(name);
	return held;
}

bool
town_rig_parked(const struct town *t, const char *rig)
{
	char *name = t->root != NULL && role_is_part(rig, strlen(rig)) ? xasprintf("%s/.beads-wisp/config/%s.json", t->root, rig) : NULL;
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
