#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "town/config.h"
#include "town/toml.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/utf8.h"

#define SECOND ((int64_t)1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

enum { FILE_MAX = 4 << 20 };

static const struct config_key keys[] = {
	{ "recovery", "enabled", CONFIG_FLAG, "true", 0, 0, NULL, "false: every command answers \"disabled\" and does nothing" },
	{ "recovery", "auto_recover", CONFIG_FLAG, "false", 0, 0, NULL, "patrol and startup bring agents back by themselves" },
	{ "recovery", "max_context_lines", CONFIG_INT, "10000", 1, 1000000, NULL,
	    "newest lines of scrollback that are captured and handed on" },
	{ "recovery", "max_context_tokens", CONFIG_INT, "120000", 1000, 10000000, NULL,
	    "budget of a prompt; whole exchanges, newest kept" },
	{ "recovery", "scope", CONFIG_CHOICE, "task", 0, 0, "task|lines", "hand on the current task only, or as many lines as fit" },
	{ "recovery", "via", CONFIG_CHOICE, "auto", 0, 0, "auto|resume|inject",
	    "resume the agent's own conversation, inject the gathered one, or choose" },
	{ "recovery", "snapshot_interval", CONFIG_DURATION, "5m", 10 * SECOND, DAY, NULL,
	    "how often the timer takes snapshots of live agents" },
	{ "recovery", "snapshot_dir", CONFIG_PATH, ".gt/snapshots", 0, 0, NULL, "where snapshots are kept, from the town's root" },
	{ "recovery", "snapshot_keep", CONFIG_INT, "20", 1, 10000, NULL, "snapshots kept of each session" },
	{ "recovery", "snapshot_age", CONFIG_DURATION, "7d", HOUR, 3650 * DAY, NULL,
	    "older snapshots are removed, the newest of a session stays" },
	{ "recovery", "ready_timeout", CONFIG_DURATION, "180s", SECOND, DAY, NULL,
	    "wait this long for an agent to be ready for its prompt" },
	{ "recovery", "ack_timeout", CONFIG_DURATION, "300s", SECOND, DAY, NULL,
	    "wait this long for proof that the agent took its prompt" },
	{ "recovery", "spacing", CONFIG_DURATION, "5s", 0, HOUR, NULL, "pause between two recoveries of one run" },
	{ "recovery", "max_attempts", CONFIG_INT, "3", 1, 1000, NULL, "recoveries within attempt_window before a session is quarantined" },
	{ "recovery", "attempt_window", CONFIG_DURATION, "72h", MINUTE, 365 * DAY, NULL, "how far back attempts are counted" },
	{ "recovery", "include_infra", CONFIG_FLAG, "false", 0, 0, NULL, "also mayor, deacon, witness, refinery, boot and crew" },
	{ "recovery", "resume_scope", CONFIG_CHOICE, "roots", 0, 0, "roots|all", "after a restart bring back root agents only, or all" },
	{ "recovery", "reply_policy", CONFIG_CHOICE, "flag", 0, 0, "flag|ask|replay",
	    "what becomes of messages that were taken but not answered" },
	{ "recovery", "state", CONFIG_TEXT, "sqlite", 0, 0, NULL, "where records live: sqlite, sqlite:PATH or redis://HOST:PORT/DB" },
	{ "recovery", "log_file", CONFIG_PATH, "", 0, 0, NULL, "a log file besides stderr; never holds scrollback" },
	{ "recovery.prompts", "template", CONFIG_TEXT, "", 0, 0, NULL, "the recovery prompt; empty: the built-in one" },
	{ "recovery.prompts", "template_file", CONFIG_PATH, "", 0, 0, NULL, "a file with the recovery prompt, from gt.toml's directory" },
	{ "recovery.runs", "mode", CONFIG_CHOICE, "stale", 0, 0, "none|stale|all",
	    "which unfinished runs startup settles (RUN_RECOVERY_MODE)" },
	{ "recovery.runs", "threshold", CONFIG_DURATION, "300s", 0, 365 * DAY, NULL,
	    "a run is stale after this (RUN_RECOVERY_THRESHOLD, seconds)" },
	{ "recovery.epics", "checkpoint_interval", CONFIG_DURATION, "30s", SECOND, DAY, NULL, "how often agents write checkpoints" },
	{ "recovery.epics", "wip_interval", CONFIG_DURATION, "5m", 10 * SECOND, DAY, NULL, "how often work in progress is committed" },
	{ "recovery.epics", "resume_threshold", CONFIG_INT, "5", 0, 100, NULL, "percent; sprints below it start from the beginning" },
	{ "recovery.epics", "start_command", CONFIG_TEXT, "", 0, 0, NULL, "starts the agents of a sprint" },
	{ "recovery.scrub", "rules", CONFIG_PATH, "", 0, 0, NULL, "a file with further rules, from gt.toml's directory" },
	{ "recovery.scrub", "allow", CONFIG_TEXT, "", 0, 0, NULL, "regular expressions, one a line, of text that is no secret" },
	{ "recovery.scrub", "known_values", CONFIG_FLAG, "true", 0, 0, NULL, "also hide the secrets found in the agents' own environment" },
	{ "recovery.mail", "command", CONFIG_TEXT, "", 0, 0, NULL, "sends a mail, its text on standard input; empty: gt mail send" },
	{ "recovery.mail", "to", CONFIG_TEXT, "mayor/", 0, 0, NULL, "who is told of a failed recovery" },
};

enum { KEYS = sizeof keys / sizeof keys[0] };

struct value {
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

struct config {
	char *file;
	struct value values[KEYS];
	struct agent_setting *agents;
	size_t n_agents, cap_agents;
	char **off;
	size_t n_off, cap_off;
};

/* Names. */

static bool
is_name(const struct config_key *k, const char *name)
{
	size_t n = strlen(k->section);

	if (strncmp(name, k->section, n) == 0 && name[n] == '.' && strcmp(name + n + 1, k->key) == 0)
		return true;
	if (strcmp(k->section, "recovery") == 0)
		return strcmp(name, k->key) == 0;
	/* "prompts.template" */
	n = strlen(k->section) - strlen("recovery.");
	return strncmp(name, k->section + strlen("recovery."), n) == 0 && name[n] == '.' && strcmp(name + n + 1, k->key) == 0;
}

static int
find_name(const char *name)
{
	for (int i = 0; i < KEYS; i++) {
		if (is_name(&keys[i], name))
			return i;
	}
	return -1;
}

static int
find_in_section(const char *section, const char *key)
{
	for (int i = 0; i < KEYS; i++) {
		if (strcmp(keys[i].section, section) == 0 && strcmp(keys[i].key, key) == 0)
			return i;
	}
	return -1;
}

/* Levenshtein's distance of two words of at most 64 bytes. */
static size_t
distance(const char *a, const char *b)
{
	size_t row[65], la = strlen(a), lb = strlen(b);

	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t change = corner + (a[i - 1] != b[j - 1]), less = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

			corner = row[j];
			row[j] = change < less ? change : less;
		}
	}
	return row[lb];
}

const char *
config_nearest(const char *word, const char *const *words, size_t n)
{
	size_t len = strlen(word), best = len / 3 + 1;
	const char *found = NULL;

	if (len > 64)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t d = strlen(words[i]) <= 64 ? distance(word, words[i]) : SIZE_MAX;

		/* The first of equals; words that share no letter are never near. */
		if (d <= best && d < strlen(words[i])) {
			best = d > 0 ? d - 1 : 0;
			found = words[i];
		}
	}
	return found;
}

static bool
is_section(const char *section)
{
	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(keys[i].section, section) == 0)
			return true;
	}
	return strcmp(section, "recovery.agents") == 0 || strcmp(section, "recovery.sessions") == 0;
}

static int
unknown_section(const char *section, struct err *e)
{
	const char *words[KEYS + 2], *near;
	struct buf shown = BUF_INIT;

	for (size_t i = 0; i < KEYS; i++)
		words[i] = keys[i].section;
	words[KEYS] = "recovery.agents";
	words[KEYS + 1] = "recovery.sessions";
	utf8_escape(&shown, section, strlen(section), 60);
	err_set(e, GT_USAGE, "config", "[%s] is not a table of gt-recover", shown.data);
	near = config_nearest(section, words, KEYS + 2);
	if (near != NULL)
		err_hint(e, "did you mean [%s]?", near);
	else
		err_hint(e, "gt.toml.example shows every table");
	buf_release(&shown);
	return -1;
}

static int
unknown_key(const char *section, const char *key, struct err *e)
{
	const char *words[KEYS], *near;
	struct buf shown = BUF_INIT;
	size_t n = 0;

	utf8_escape(&shown, key, strlen(key), 60);
	err_set(e, GT_USAGE, "config", "%s is not a key of [%s]", shown.data, section);
	buf_release(&shown);
	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(keys[i].section, section) == 0)
			words[n++] = keys[i].key;
	}
	near = config_nearest(key, words, n);
	if (near != NULL)
		return err_hint(e, "did you mean %s?", near);
	for (size_t i = 0; i < KEYS; i++)
		words[i] = keys[i].key;
	near = config_nearest(key, words, KEYS);
	for (size_t i = 0; near != NULL && i < KEYS; i++) {
		if (keys[i].key == near)
			return err_hint(e, "did you mean %s of [%s]?", near, keys[i].section);
	}
	return err_hint(e, "gt-recover config lists every key");
}

int
config_find(const char *name, struct err *e)
{
	const char *words[2 * KEYS], *near;
	char *full[KEYS];
	struct buf shown = BUF_INIT;
	int i = find_name(name);

	if (i >= 0)
		return i;
	for (i = 0; i < KEYS; i++) {
		full[i] = xasprintf("%s.%s", keys[i].section, keys[i].key);
		words[2 * i] = keys[i].key;
		words[2 * i + 1] = full[i] + strlen("recovery.");
	}
	near = config_nearest(name, words, 2 * KEYS);
	utf8_escape(&shown, name, strlen(name), 60);
	err_set(e, GT_USAGE, "config", "there is no key %s", shown.data);
	if (near != NULL && find_name(near) >= 0)
		err_hint(e, "did you mean %s?", near);
	else
		err_hint(e, "gt-recover config lists every key");
	buf_release(&shown);
	for (i = 0; i < KEYS; i++)
		free(full[i]);
	return -1;
}

/* Values. */

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

static void
set_value(struct value *v, const char *text, int64_t n, char *origin)
{
	free(v->text);
	free(v->shown);
	free(v->origin);
	v->text = xstrdup(text);
	v->shown = mask_url(text);
	v->n = n;
	v->origin = origin;
}

static bool
is_choice(const char *choices, const char *word)
{
	size_t n = strcspn(word, "|");

	if (word[n] == '|')
		return false;
	for (const char *p = choices; n > 0 && p != NULL; p = strchr(p, '|'), p += p != NULL) {
		if (strncmp(p, word, n) == 0 && (p[n] == '|' || p[n] == '\0'))
			return true;
	}
	return false;
}

/* "task, lines" */
static int
expected_choice(const struct config_key *k, struct err *e)
{
	struct buf words = BUF_INIT;

	for (const char *p = k->choices; *p != '\0'; p++) {
		if (*p == '|')
			buf_str(&words, strchr(p + 1, '|') != NULL ? "\", \"" : "\" or \"");
		else
			buf_chr(&words, *p);
	}
	err_set(e, GT_USAGE, "config", "%s: expected \"%s\"", k->key, words.data);
	buf_release(&words);
	return -1;
}

static int
expected_duration(const struct config_key *k, struct err *e)
{
	struct buf min = BUF_INIT, max = BUF_INIT;

	clock_age(&min, k->min);
	clock_age(&max, k->max);
	err_set(e, GT_USAGE, "config", "%s: expected a duration from \"%s\" to \"%s\", such as \"%s\"", k->key, min.data, max.data,
	    k->standard);
	buf_release(&min);
	buf_release(&max);
	return -1;
}

/* Checks a value against its row of the table; *n gets its number. */
static int
check_value(const struct config_key *k, const char *text, enum toml_type type, int64_t *n, struct err *e)
{
	*n = 0;
	switch (k->type) {
	case CONFIG_FLAG:
		if (type != TOML_BOOL)
			return err_set(e, GT_USAGE, "config", "%s: expected true or false, without quotes", k->key);
		*n = strcmp(text, "true") == 0;
		return 0;
	case CONFIG_INT:
		if (type == TOML_INT)
			*n = strtoll(text, NULL, 10);
		if (type != TOML_INT || *n < k->min || *n > k->max)
			return err_set(e, GT_USAGE, "config", "%s: expected a whole number from %lld to %lld", k->key, (long long)k->min,
			    (long long)k->max);
		return 0;
	case CONFIG_DURATION:
		if (type != TOML_STRING || clock_parse_duration(text, n, NULL) != 0 || *n < k->min || *n > k->max)
			return expected_duration(k, e);
		return 0;
	case CONFIG_CHOICE:
		return type == TOML_STRING && is_choice(k->choices, text) ? 0 : expected_choice(k, e);
	case CONFIG_TEXT:
	case CONFIG_PATH:
		if (type != TOML_STRING)
			return err_set(e, GT_USAGE, "config", "%s: expected a string between quotes", k->key);
		if (text[0] == '\0' && k->standard[0] != '\0')
			return err_set(e, GT_USAGE, "config", "%s: expected a string that is not empty", k->key);
		if (k->type == CONFIG_PATH && strchr(text, '\n') != NULL)
			return err_set(e, GT_USAGE, "config", "%s: expected a path on one line", k->key);
		return 0;
	}
	return 0;
}

static void
set_defaults(struct config *c)
{
	for (size_t i = 0; i < KEYS; i++) {
		const struct config_key *k = &keys[i];
		enum toml_type type = k->type == CONFIG_FLAG ? TOML_BOOL : k->type == CONFIG_INT ? TOML_INT : TOML_STRING;
		struct err e = ERR_INIT;
		int64_t n;

		if (check_value(k, k->standard, type, &n, &e) != 0)
			die("the default of %s is wrong: %s", k->key, e.msg);
		set_value(&c->values[i], k->standard, n, xstrdup("default"));
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
		return err_set(e, GT_USAGE, "config", "a session under [recovery.sessions]: expected \"off\" (or \"on\")");
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
	s->view = (struct config_agent){ .agent = s->agent, .column = s->column, .value = s->value, .line = it->line };
}

static int
take_item(void *arg, const struct toml_item *it, struct err *e)
{
	struct config *c = arg;
	int64_t n;
	int i;

	if (it->section[0] == '\0')
		return err_set(e, GT_USAGE, "config", "recovery is a table; expected [recovery] on a line of its own");
	if (strcmp(it->section, "recovery.sessions") == 0)
		return take_session(c, it, e);
	if (str_starts(it->section, "recovery.sessions."))
		return err_set(e, GT_USAGE, "config", "a session's name with a dot: expected quotes around the name");
	if (str_starts(it->section, "recovery.agents.")) {
		if (it->type != TOML_STRING)
			return err_set(e, GT_USAGE, "config", "a column of an agent: expected a string between quotes");
		take_agent(c, it);
		return 0;
	}
	if (strcmp(it->section, "recovery.agents") == 0)
		return err_set(e, GT_USAGE, "config", "expected a table [recovery.agents.NAME] with the columns of one agent");
	if (!is_section(it->section))
		return unknown_section(it->section, e);
	i = find_in_section(it->section, it->key);
	if (i < 0)
		return unknown_key(it->section, it->key, e);
	if (check_value(&keys[i], it->value, it->type, &n, e) != 0)
		return -1;
	set_value(&c->values[i], it->value, n, xasprintf("%s:%d", c->file, it->line));
	return 0;
}

static int
open_failed(const char *path, struct err *e)
{
	err_sys(e, GT_USAGE, "config", "%s cannot be read", path);
	return err_hint(e, "make it readable, or name another file with --config");
}

/* Opens the file; *fd is -1 when it does not exist and need not. */
static int
open_file(const char *path, bool named, int *fd, struct err *e)
{
	struct stat st;

	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return !named && (errno == ENOENT || errno == ENOTDIR) ? 0 : open_failed(path, e);
	if (fstat(*fd, &st) != 0) {
		open_failed(path, e);
	} else if (S_ISDIR(st.st_mode)) {
		err_set(e, GT_USAGE, "config", "%s is a directory; expected a TOML file", path);
		err_hint(e, "move it away, or name another file with --config");
	} else if (!named && ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & S_IWOTH) != 0)) {
		err_set(e, GT_USAGE, "not-ours", "%s belongs to another user or can be written by everybody", path);
		err_hint(e, "it may name commands: check it, then chown or chmod it, or name it with --config");
	} else {
		return 0;
	}
	close(*fd);
	*fd = -1;
	return -1;
}

/* 1 read, 0 there is no such file, -1. */
static int
read_config(struct config *c, const char *path, bool named, struct err *e)
{
	struct buf text = BUF_INIT;
	int fd, ret = -1;

	if (open_file(path, named, &fd, e) != 0)
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
	if (config_text(c, "prompts.template")[0] != '\0' && config_text(c, "prompts.template_file")[0] != '\0') {
		err_set(e, GT_USAGE, "config", "%s: expected only one of template and template_file",
		    config_origin(c, "prompts.template_file"));
		goto out;
	}
	ret = 1;
out:
	close(fd);
	buf_release(&text);
	return ret;
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

static int
find_file(struct config *c, const char *file, const char *town, struct err *e)
{
	char *path = NULL;
	int got = 0;

	if (file != NULL)
		return read_config(c, file, true, e);
	if (town != NULL) {
		path = io_join(town, "gt.toml");
		got = read_config(c, path, false, e);
		free(path);
	}
	if (got == 0 && (path = user_file()) != NULL) {
		got = read_config(c, path, false, e);
		free(path);
	}
	return got;
}

static int
read_environment(struct config *c, struct err *e)
{
	const char *mode = env_text("RUN_RECOVERY_MODE"), *threshold = env_text("RUN_RECOVERY_THRESHOLD");
	int i_mode = find_name("runs.mode"), i_threshold = find_name("runs.threshold");

	if (mode != NULL) {
		if (!is_choice(keys[i_mode].choices, mode))
			return err_set(e, GT_USAGE, "config", "the environment variable RUN_RECOVERY_MODE: expected none, stale or all");
		set_value(&c->values[i_mode], mode, 0, xstrdup("environment"));
	}
	if (threshold != NULL) {
		int64_t max = keys[i_threshold].max / SECOND;
		long long n;
		char *text;

		errno = 0;
		n = strtoll(threshold, NULL, 10);
		if (strspn(threshold, "0123456789") != strlen(threshold) || errno != 0 || n > max)
			return err_set(e, GT_USAGE, "config",
			    "the environment variable RUN_RECOVERY_THRESHOLD: expected whole seconds from 0 to %lld", (long long)max);
		text = xasprintf("%llds", n);
		set_value(&c->values[i_threshold], text, n * SECOND, xstrdup("environment"));
		free(text);
	}
	return 0;
}

struct config *
config_new(const char *file, const char *town, struct err *e)
{
	struct config *c = xcalloc(1, sizeof *c);

	set_defaults(c);
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
	for (size_t i = 0; i < KEYS; i++) {
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
	free(c->agents);
	free(c->off);
	free(c->file);
	free(c);
}

/* Getters. */

static const struct value *
value_of(const struct config *c, const char *name, enum config_type type, bool any)
{
	int i = find_name(name);

	if (i < 0)
		die("there is no setting %s", name);
	if (!any && keys[i].type != type)
		die("the setting %s is of another type", name);
	return &c->values[i];
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

size_t
config_count(void)
{
	return KEYS;
}

const struct config_key *
config_key_at(size_t i)
{
	return &keys[i];
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
