#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "town/town.h"
#include "town/config.h"
#include "town/town_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/sha256.h"

#define SMALL_MAX ((size_t)1 << 20)

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
	const char *own = town_env("GT_TMUX_SOCKET"), *older = town_env("GT_TOWN_SOCKET");
	char sum[65];

	if (own != NULL && strcmp(own, "default") != 0 && strcmp(own, "auto") != 0)
		town_list_add_once(out, xstrdup(own));
	if (t->root != NULL) {
		/* The sum is of the resolved path, the name of the path as it is written (gt of 2026-03-21, v0.13.0). */
		const char *real = town_real_root(t);
		char *base = socket_base(t->root);

		sha256_hex(real, strlen(real), sum);
		town_list_add_once(out, xasprintf("%s-%.6s", base, sum));
		town_list_add_once(out, base);
	}
	if (older != NULL)
		town_list_add_once(out, xstrdup(older));
	town_list_add_once(out, xstrdup("default"));
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
