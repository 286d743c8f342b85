#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "config/config_table.h"
#include "config/toml.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "config/trust.h"

enum { FILE_MAX = 4 << 20, SECOND = 1000 };

struct config_value {
	char *text;
	char *shown;		/* NULL: as text */
	int64_t n;		/* numbers, ms, 0 or 1 */
	char *origin;
};

struct agent_setting {
	struct config_agent view;	/* points into the strings below */
	char *agent;
	char *column;
	char *value;
};

/* Whose file it is. */
enum whose { NAMED, FOUND, USERS };

struct config {
	char *file;
	bool users;			/* it is the user's own gt.toml, wherever it was found */
	struct config_value *values;	/* one for each key of the table */
	struct agent_setting *agents;
	size_t n_agents, cap_agents;
	char **off;
	size_t n_off, cap_off;
};

/* A password inside "scheme://user:password@host" is for the store alone. */
static char *
mask_url(const char *text)
{
	const char *host = strstr(text, "://"), *at, *colon;

	if (host == NULL)
		return NULL;
	host += 3;
	at = strrchr(host, '@');
	colon = at != NULL ? memchr(host, ':', (size_t)(at - host)) : NULL;
	if (colon == NULL)
		return NULL;
	return xasprintf("%.*s***%s", (int)(colon + 1 - text), text, at);
}

/* ["/srv/town", "*"] */
static char *
show_list(const char *text)
{
	struct buf b = BUF_INIT;
	char *shown;

	buf_chr(&b, '[');
	for (const char *p = text; *p != '\0'; p = strchr(p, '\n') + 1)
		buf_fmt(&b, "%s\"%.*s\"", b.len > 1 ? ", " : "", (int)strcspn(p, "\n"), p);
	buf_chr(&b, ']');
	shown = xstrdup(b.data);
	buf_release(&b);
	return shown;
}

static void
set_value(struct config *c, size_t i, const char *text, int64_t n, char *origin)
{
	struct config_value *v = &c->values[i];

	free(v->text);
	free(v->shown);
	free(v->origin);
	v->text = xstrdup(text);
	v->shown = config_key_at(i)->type == CONFIG_LIST ? show_list(text) : mask_url(text);
	v->n = n;
	v->origin = origin;
}

static void
set_defaults(struct config *c)
{
	for (size_t i = 0; i < config_count(); i++) {
		const struct config_key *k = config_key_at(i);
		enum toml_type type = k->type == CONFIG_FLAG ? TOML_BOOL : k->type == CONFIG_INT ? TOML_INT :
		    k->type == CONFIG_LIST ? TOML_LIST : TOML_STRING;
		struct err e = ERR_INIT;
		int64_t n;

		if (config_table_check(k, k->standard, type, &n, &e) != 0)
			die("the default of %s is wrong: %s", k->key, e.msg);
		set_value(c, i, k->standard, n, xstrdup("default"));
	}
}

/* gt.toml. */

static bool
is_ours(const char *section)
{
	return strcmp(section, "recovery") == 0 || str_starts(section, "recovery.");
}

static int
take_session(struct config *c, const struct toml_item *it, struct err *e)
{
	bool off = strcmp(it->value, "off") == 0;

	if (it->type != TOML_STRING || (!off && strcmp(it->value, "on") != 0))
		return err_set(e, GT_USAGE, "config",
		    "a session under [recovery.sessions]: expected \"off\" (or \"on\")");
	if (off) {
		c->off = vec_room(c->off, c->n_off, &c->cap_off, sizeof *c->off);
		c->off[c->n_off++] = xstrdup(it->key);
	}
	return 0;
}

static void
take_agent(struct config *c, const struct toml_item *it)
{
	struct agent_setting *s;

	c->agents = vec_room(c->agents, c->n_agents, &c->cap_agents, sizeof *c->agents);
	s = &c->agents[c->n_agents++];
	s->agent = xstrdup(it->section + strlen("recovery.agents."));
	s->column = xstrdup(it->key);
	s->value = xstrdup(it->value);
	s->view = (struct config_agent){
		.agent = s->agent, .column = s->column, .value = s->value, .line = it->line
	};
}

static const char *
env_text(const char *name)
{
	const char *s = getenv(name);

	return s != NULL && s[0] != '\0' ? s : NULL;
}

/* ~/.config/gt-recover/gt.toml or what XDG says; NULL without a home. */
static char *
user_file(void)
{
	const char *xdg = env_text("XDG_CONFIG_HOME"), *home = env_text("HOME");

	/* A relative XDG_CONFIG_HOME is to be ignored, says the XDG base directory specification. */
	if (xdg != NULL && xdg[0] == '/')
		return xasprintf("%s/gt-recover/gt.toml", xdg);
	return home != NULL ? xasprintf("%s/.config/gt-recover/gt.toml", home) : NULL;
}

/* A town that lifts its own doubts would be trusted for nothing. */
static int
only_in_own(const char *key, struct err *e)
{
	char *own = user_file();

	err_set(e, GT_USAGE, "config", "%s is allowed only in your own gt.toml", key);
	if (own != NULL)
		err_hint(e, "move it to %s", own);
	free(own);
	return -1;
}

static int
take_item(void *arg, const struct toml_item *it, struct err *e)
{
	struct config *c = arg;
	int64_t n;
	int i;

	if (it->section[0] == '\0')
		return err_set(
		    e, GT_USAGE, "config", "recovery is a table; write [recovery] on a separate line");
	if (strcmp(it->section, "recovery.sessions") == 0)
		return take_session(c, it, e);
	if (str_starts(it->section, "recovery.sessions."))
		return err_set(
		    e, GT_USAGE, "config", "a session name with a dot: put quotes around the name");
	if (str_starts(it->section, "recovery.agents.")) {
		if (it->type != TOML_STRING)
			return err_set(
			    e, GT_USAGE, "config", "a column of an agent: expected a string between quotes");
		take_agent(c, it);
		return 0;
	}
	if (strcmp(it->section, "recovery.agents") == 0)
		return err_set(e, GT_USAGE, "config",
		    "expected a table [recovery.agents.NAME] with the columns of one agent");
	i = config_table_place(it->section, it->key, e);
	if (i < 0 || config_table_check(config_key_at((size_t)i), it->value, it->type, &n, e) != 0)
		return -1;
	if (i == config_table_find("safe_directories") && it->value[0] != '\0' && !c->users)
		return only_in_own(it->key, e);
	set_value(c, (size_t)i, it->value, n, xasprintf("%s:%d", c->file, it->line));
	return 0;
}

static int
open_failed(const char *path, struct err *e)
{
	err_sys(e, GT_USAGE, "config", "%s cannot be read", path);
	return err_hint(e, "make it readable, or name another file with --config");
}

/* Is this open file the user's own gt.toml? */
static bool
is_users(const struct stat *st)
{
	char *own = user_file();
	struct stat mine;
	bool same = own != NULL && stat(own, &mine) == 0;

	same = same && mine.st_dev == st->st_dev && mine.st_ino == st->st_ino;
	free(own);
	return same;
}

/*
 * A file that was found may name commands. The user's own file lists the safe directories, and none of
 * them lifts a doubt about that file.
 */
static int
check_trust(const struct stat *st, const char *path, enum whose whose, struct err *e)
{
	if (whose == NAMED || trust_stat(st, path, 0, e) == 0)
		return 0;
	if (whose == FOUND && config_safe(path, true, e))
		return 0;
	if (e != NULL && strcmp(e->name, "not-ours") == 0)
		err_hint(e, "it may name commands: check it, then chown or chmod it, or name it with "
		    "--config");
	return -1;
}

/* Opens the file; *fd is -1 when it does not exist and need not. */
static int
open_file(struct config *c, const char *path, enum whose whose, int *fd, struct err *e)
{
	struct stat st;

	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return whose != NAMED && (errno == ENOENT || errno == ENOTDIR) ? 0 : open_failed(path, e);
	if (fstat(*fd, &st) != 0) {
		open_failed(path, e);
	} else if (S_ISDIR(st.st_mode)) {
		err_set(e, GT_USAGE, "config", "%s is a directory; expected a TOML file", path);
		err_hint(e, "move it away, or name another file with --config");
	} else if (check_trust(&st, path, whose, e) == 0) {
		c->users = is_users(&st);
		return 0;
	}
	close(*fd);
	*fd = -1;
	return -1;
}

/* A template's text, and a file with it. */
static bool
both_given(const struct config *c, const char *name, struct err *e)
{
	char *text = xasprintf("prompts.%s", name), *file = xasprintf("prompts.%s_file", name);
	bool both = config_text(c, text)[0] != '\0' && config_text(c, file)[0] != '\0';

	if (both)
		err_set(e, GT_USAGE, "config", "%s: expected only one of %s and %s_file",
		    config_origin(c, file), name, name);
	free(text);
	free(file);
	return both;
}

/* 1 read, 0 there is no such file, -1. */
static int
read_config(struct config *c, const char *path, enum whose whose, struct err *e)
{
	struct buf text = BUF_INIT;
	int fd, ret = -1;

	if (open_file(c, path, whose, &fd, e) != 0)
		return -1;
	if (fd < 0)
		return 0;
	c->file = xstrdup(path);
	if (io_read_all(fd, path, FILE_MAX, &text, e) != 0) {
		if (e != NULL)
			e->code = GT_USAGE;
		goto out;
	}
	if (toml_parse_some(text.data, text.len, path, is_ours, take_item, c, e) != 0)
		goto out;
	if (both_given(c, "template", e) || both_given(c, "resume_template", e))
		goto out;
	ret = 1;
out:
	close(fd);
	buf_release(&text);
	return ret;
}

static int
find_file(struct config *c, const char *file, const char *town, struct err *e)
{
	char *path = NULL;
	int got = 0;

	if (file != NULL)
		return read_config(c, file, NAMED, e);
	if (town != NULL) {
		path = io_join(town, "gt.toml");
		got = read_config(c, path, FOUND, e);
		free(path);
	}
	if (got == 0 && (path = user_file()) != NULL) {
		got = read_config(c, path, USERS, e);
		free(path);
	}
	return got;
}

/* All of it. */

static int
read_environment(struct config *c, struct err *e)
{
	const char *mode = env_text("RUN_RECOVERY_MODE"), *threshold = env_text("RUN_RECOVERY_THRESHOLD");
	size_t i_mode = (size_t)config_table_find("runs.mode"),
	       i_threshold = (size_t)config_table_find("runs.threshold");

	if (mode != NULL) {
		if (!config_table_choice(config_key_at(i_mode)->choices, mode))
			return err_set(e, GT_USAGE, "config",
			    "the environment variable RUN_RECOVERY_MODE: expected none, stale or all");
		set_value(c, i_mode, mode, 0, xstrdup("environment"));
	}
	if (threshold != NULL) {
		int64_t max = config_key_at(i_threshold)->max / SECOND;
		long long n;
		char *text;

		errno = 0;
		n = strtoll(threshold, NULL, 10);
		if (strspn(threshold, "0123456789") != strlen(threshold) || errno != 0 || n > max)
			return err_set(e, GT_USAGE, "config",
			    "the environment variable RUN_RECOVERY_THRESHOLD: expected seconds from 0 to "
			    "%lld",
			    (long long)max);
		text = xasprintf("%llds", n);
		set_value(c, i_threshold, text, n * SECOND, xstrdup("environment"));
		free(text);
	}
	return 0;
}

static struct config *
new_config(void)
{
	struct config *c = xcalloc(1, sizeof *c);

	c->values = xcalloc(config_count(), sizeof *c->values);
	set_defaults(c);
	return c;
}

struct config *
config_new(const char *file, const char *town, struct err *e)
{
	struct config *c = new_config();

	if (find_file(c, file, town, e) < 0 || read_environment(c, e) != 0) {
		config_free(c);
		return NULL;
	}
	return c;
}

void
config_free(struct config *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < config_count(); i++) {
		free(c->values[i].text);
		free(c->values[i].shown);
		free(c->values[i].origin);
	}
	for (size_t i = 0; i < c->n_agents; i++) {
		free(c->agents[i].agent);
		free(c->agents[i].column);
		free(c->agents[i].value);
	}
	for (size_t i = 0; i < c->n_off; i++)
		free(c->off[i]);
	free(c->values);
	free(c->agents);
	free(c->off);
	free(c->file);
	free(c);
}

/* Directories of others. */

/* Does the entry of n bytes cover a resolved path, or with `inside` a directory that holds it? */
static bool
covers(const char *entry, size_t n, const char *path, bool inside)
{
	const char *home = env_text("HOME");
	char *dir = xstrndup(entry, n), *real;
	bool all = strcmp(dir, "*") == 0, below = str_ends(dir, "/*"), yes;

	if (below)
		dir[n - 1] = '\0';
	if (str_starts(dir, "~/") && home != NULL) {
		char *joined = io_join(home, dir + 2);

		free(dir);
		dir = joined;
	}
	real = realpath(dir, NULL);
	if (real == NULL)
		real = xstrdup(dir);
	for (n = strlen(real); n > 0 && real[n - 1] == '/'; n--)
		real[n - 1] = '\0';
	yes = strncmp(path, real, n) == 0 && (path[n] == '\0' ? !below : path[n] == '/' && (below || inside));
	free(real);
	free(dir);
	return all || yes;
}

bool
config_safe(const char *dir, bool inside, struct err *e)
{
	char *own = user_file(), *real = realpath(dir, NULL);
	struct config *c = new_config();
	struct err trouble = ERR_INIT;
	bool safe = false;

	if (own != NULL && read_config(c, own, USERS, &trouble) < 0 && e != NULL)
		*e = trouble;
	for (const char *p = config_text(c, "safe_directories"); *p != '\0' && !safe; p = strchr(p, '\n') + 1)
		safe = covers(p, strcspn(p, "\n"), real != NULL ? real : dir, inside);
	if (!safe && own != NULL && trouble.code == 0)
		err_hint(e, "if you trust its users, add \"%s\" to safe_directories of [recovery] in %s",
		    real != NULL ? real : dir, own);
	config_free(c);
	free(real);
	free(own);
	return safe;
}

/* Asking. */

static const struct config_value *
value_of(const struct config *c, const char *name, enum config_type type, bool any)
{
	int i = config_table_find(name);

	if (i < 0)
		die("unknown setting %s", name);
	if (!any && config_key_at((size_t)i)->type != type)
		die("the setting %s is of another type", name);
	return &c->values[i];
}

void
config_set_flag(struct config *c, const char *name, bool value)
{
	int i = config_find(name, NULL);

	if (i < 0)
		die("unknown setting %s", name);
	set_value(c, (size_t)i, value ? "true" : "false", value, xstrdup("command line"));
}

bool
config_flag(const struct config *c, const char *name)
{
	return value_of(c, name, CONFIG_FLAG, false)->n != 0;
}

int64_t
config_int(const struct config *c, const char *name)
{
	return value_of(c, name, CONFIG_INT, false)->n;
}

int64_t
config_ms(const struct config *c, const char *name)
{
	return value_of(c, name, CONFIG_DURATION, false)->n;
}

const char *
config_text(const struct config *c, const char *name)
{
	return value_of(c, name, CONFIG_TEXT, true)->text;
}

char *
config_path(const struct config *c, const char *name)
{
	const char *path = value_of(c, name, CONFIG_PATH, false)->text, *home = env_text("HOME");
	const char *slash = c->file != NULL ? strrchr(c->file, '/') : NULL;

	if (path[0] == '\0')
		return NULL;
	if (str_starts(path, "~/") && home != NULL)
		return io_join(home, path + 2);
	if (path[0] == '/' || slash == NULL)
		return xstrdup(path);
	return xasprintf("%.*s/%s", (int)(slash - c->file), c->file, path);
}

const char *
config_origin(const struct config *c, const char *name)
{
	return value_of(c, name, CONFIG_TEXT, true)->origin;
}

const char *
config_file(const struct config *c)
{
	return c->file;
}

const char *
config_shown(const struct config *c, size_t i)
{
	return c->values[i].shown != NULL ? c->values[i].shown : c->values[i].text;
}

const char *
config_origin_at(const struct config *c, size_t i)
{
	return c->values[i].origin;
}

bool
config_session_off(const struct config *c, const char *session)
{
	for (size_t i = 0; i < c->n_off; i++) {
		if (strcmp(c->off[i], session) == 0)
			return true;
	}
	return false;
}

size_t
config_agents(const struct config *c)
{
	return c->n_agents;
}

const struct config_agent *
config_agent_at(const struct config *c, size_t i)
{
	return &c->agents[i].view;
}

/* A basic string of TOML. False: it has control characters. */
static bool
put_string(struct buf *out, const char *text)
{
	buf_chr(out, '"');
	for (const char *p = text; *p != '\0'; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return false;
		if (*p == '"' || *p == '\\')
			buf_chr(out, '\\');
		buf_chr(out, *p);
	}
	buf_str(out, "\"\n");
	return true;
}

/* Where the lines of its section begin; NULL: the file has no such section. */
static const char *
find_section(const char *text, const char *head)
{
	const char *at = text;
	size_t n = strlen(head);

	while ((at = strstr(at, head)) != NULL) {
		if ((at == text || at[-1] == '\n') && at[n + strspn(at + n, " \t")] == '\n')
			return strchr(at, '\n') + 1;
		at += n;
	}
	return NULL;
}

/* The file with the line in it. */
static int
add_line(const char *path, const char *head, const char *line, struct err *e)
{
	struct buf old = BUF_INIT, new = BUF_INIT;
	struct stat st = { .st_mode = 0600 };
	bool there = stat(path, &st) == 0;
	const char *at;
	int ret = there ? io_read_file(path, FILE_MAX, &old, e) : io_make_parents(path, e);

	if (ret == 0) {
		const char *text = old.data != NULL ? old.data : "";

		at = find_section(text, head);
		if (at != NULL) {
			buf_add(&new, text, (size_t)(at - text));
			buf_fmt(&new, "%s%s", line, at);
		} else {
			bool ended = *text == '\0' || str_ends(text, "\n");

			buf_fmt(&new, "%s%s%s\n%s", text, ended ? "" : "\n", head, line);
		}
		ret = io_write_durable(path, new.data, new.len, "config", e);
	}
	if (ret == 0 && there && chmod(path, st.st_mode & 07777) != 0)
		ret = err_sys(e, GT_FAIL, "config", "cannot restore the mode of %s", path);
	buf_release(&old);
	buf_release(&new);
	return ret;
}

int
config_add_command(const struct config *c, const char *agent, const char *command, struct err *e)
{
	char *path = c->file != NULL ? realpath(c->file, NULL) : user_file(),
	     *head = xasprintf("[recovery.agents.%s]", agent);
	struct buf line = BUF_INIT;
	int ret = -1;

	buf_str(&line, "command = ");
	for (size_t i = 0; i < c->n_agents; i++)
		if (strcmp(c->agents[i].agent, agent) == 0 && strcmp(c->agents[i].column, "command") == 0) {
			err_set(e, GT_FAIL, "config", "gt.toml has a command for %s already", agent);
			goto out;
		}
	if (path == NULL)
		err_set(e, GT_FAIL, "config", "cannot locate gt.toml: HOME is not set");
	else if (!put_string(&line, command))
		err_set(e, GT_FAIL, "config", "the command has control characters");
	else
		ret = add_line(path, head, line.data, e);
out:
	buf_release(&line);
	free(head);
	free(path);
	return ret;
}

char *
config_place(const char *file, const char *town)
{
	char *path = town != NULL ? io_join(town, "gt.toml") : NULL;

	if (file != NULL || (path != NULL && access(path, F_OK) == 0)) {
		char *found = file != NULL ? xstrdup(file) : xstrdup(path);

		free(path);
		return found;
	}
	free(path);
	return user_file();
}

/* Behind the value of a line: a string in double quotes, or a bare word. */
static const char *
behind_value(const char *at)
{
	if (*at != '"')
		return at + strcspn(at, " \t#\n");
	for (at++; *at != '"' && *at != '\n' && *at != '\0'; at++)
		at += *at == '\\' && at[1] != '\0';
	return *at == '"' ? at + 1 : at;
}

/* The key's own line gets another value; comments stay. */
static int
replace_value(const char *path, int line, const char *key, const char *value, struct err *e)
{
	struct buf old = BUF_INIT, new = BUF_INIT;
	struct stat st = { .st_mode = 0600 };
	const char *at, *from;
	int ret = stat(path, &st) == 0 ? io_read_file(path, FILE_MAX, &old, e) : -1;

	at = ret == 0 ? old.data : "";
	for (int i = 1; i < line; i++)
		at += strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n');
	from = at + strspn(at, " \t");
	if (ret == 0 && str_starts(from, key))
		from += strlen(key) + strspn(from + strlen(key), " \t");
	if (ret != 0 || *from != '=' || str_starts(from + 1 + strspn(from + 1, " \t"), "\"\"\"")) {
		err_set(e, GT_FAIL, "config", "%s:%d: the line of %s cannot be changed", path, line, key);
		ret = err_hint(e, "gt-recover config edit");
	} else {
		from += 1 + strspn(from + 1, " \t");
		buf_add(&new, old.data, (size_t)(from - old.data));
		buf_fmt(&new, "%s%s", value, behind_value(from));
		ret = io_write_durable(path, new.data, new.len, "config", e);
		if (ret == 0)
			ret = chmod(path, st.st_mode & 07777);
	}
	buf_release(&old);
	buf_release(&new);
	return ret;
}

/* As gt.toml has it, with a newline. */
static int
toml_value(const struct config_key *k, const char *value, struct buf *out, struct err *e)
{
	bool bare = k->type == CONFIG_FLAG || k->type == CONFIG_INT, word = !bare;
	enum toml_type type = k->type == CONFIG_INT ? TOML_INT : bare ? TOML_BOOL : TOML_STRING;
	int64_t n;
	char *end;

	if (k->type == CONFIG_LIST) {
		err_set(e, GT_USAGE, "config", "%s is a list: it cannot be set here", k->key);
		return err_hint(e, "gt-recover config edit");
	}
	if (k->type == CONFIG_FLAG)
		word = strcmp(value, "true") != 0 && strcmp(value, "false") != 0;
	else if (k->type == CONFIG_INT)
		word = strtoll(value, &end, 10) == 0 && (end == value || *end != '\0');
	if (config_table_check(k, value, bare && word ? TOML_STRING : type, &n, e) != 0)
		return -1;
	if (bare)
		buf_fmt(out, "%s", value);
	else if (!put_string(out, value))
		return err_set(e, GT_USAGE, "config", "%s: the value has control characters", k->key);
	if (!bare)
		out->data[--out->len] = '\0';
	return 0;
}

int
config_set(const struct config *c, const char *name, const char *value, struct err *e)
{
	char *path = c->file != NULL ? realpath(c->file, NULL) : user_file(), *head;
	struct buf line = BUF_INIT, text = BUF_INIT;
	const struct config_key *k;
	const char *origin;
	int i = config_find(name, e), ret = -1;

	if (i < 0 || toml_value(config_key_at((size_t)i), value, &text, e) != 0)
		goto out;
	k = config_key_at((size_t)i);
	origin = config_origin_at(c, (size_t)i);
	head = xasprintf("[%s]", k->section);
	buf_fmt(&line, "%s = %s\n", k->key, text.data);
	if (path == NULL)
		err_set(e, GT_FAIL, "config", "cannot locate gt.toml: HOME is not set");
	else if (c->file != NULL && str_starts(origin, c->file))
		ret = replace_value(path, atoi(origin + strlen(c->file) + 1), k->key, text.data, e);
	else
		ret = add_line(path, head, line.data, e);
	free(head);
out:
	buf_release(&line);
	buf_release(&text);
	free(path);
	return ret;
}
