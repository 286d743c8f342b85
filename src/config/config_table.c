#include <stdlib.h>
#include <string.h>

#include "config/config_table.h"
#include "config/config.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/utf8.h"

#define MS_SECOND ((int64_t)1000)
#define MINUTE (60 * MS_SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static const struct config_key keys[] = {
	{ "recovery", "enabled", CONFIG_FLAG, "true", 0, 0, NULL,
	    "false: every command answers \"disabled\" and does nothing" },
	{ "recovery", "auto_recover", CONFIG_FLAG, "false", 0, 0, NULL,
	    "patrol and startup bring agents back by themselves" },
	{ "recovery", "wip", CONFIG_FLAG, "false", 0, 0, NULL,
	    "true: snapshot commits the agents' uncommitted work to git refs of its own" },
	{ "recovery", "on_crash", CONFIG_TEXT, "", 0, 0, NULL,
	    "a command for sh, run once for each crash with a JSON object on standard input" },
	{ "recovery", "max_context_lines", CONFIG_INT, "10000", 1, 1000000, NULL,
	    "newest lines of scrollback that are captured and handed on" },
	{ "recovery", "max_context_tokens", CONFIG_INT, "120000", 1000, 10000000, NULL,
	    "budget of a prompt; whole exchanges, newest kept" },
	{ "recovery", "scope", CONFIG_CHOICE, "task", 0, 0, "task|lines",
	    "hand on the current task only, or as many lines as fit" },
	{ "recovery", "via", CONFIG_CHOICE, "auto", 0, 0, "auto|resume|inject",
	    "resume the agent's own conversation, inject the gathered one, or choose" },
	{ "recovery", "snapshot_interval", CONFIG_DURATION, "5m", 10 * MS_SECOND, DAY, NULL,
	    "how often the timer takes snapshots of live agents" },
	{ "recovery", "snapshot_dir", CONFIG_PATH, ".gt/snapshots", 0, 0, NULL,
	    "where snapshots are kept, from the town's root" },
	{ "recovery", "snapshot_keep", CONFIG_INT, "20", 1, 10000, NULL, "snapshots kept of each session" },
	{ "recovery", "snapshot_age", CONFIG_DURATION, "7d", HOUR, 3650 * DAY, NULL,
	    "older snapshots are removed, the newest of a session stays" },
	{ "recovery", "last_snapshot_age", CONFIG_DURATION, "30d", 0, 3650 * DAY, NULL,
	    "the newest snapshot of a session that is gone is removed, too; 0: never" },
	{ "recovery", "keep_history", CONFIG_DURATION, "90d", 0, 3650 * DAY, NULL,
	    "records of what is over leave the store after this time; 0: never" },
	{ "recovery", "keep_history_count", CONFIG_INT, "100000", 0, 1000000000, NULL,
	    "so many of each kind are kept at most; 0: any number" },
	{ "recovery", "archive", CONFIG_PATH, "", 0, 0, NULL,
	    "a directory in which records are kept that leave, as gzip JSON lines" },
	{ "recovery", "archive_age", CONFIG_DURATION, "365d", 0, 36500 * DAY, NULL,
	    "older files of the archive are removed; 0: never" },
	{ "recovery", "event_log_mib", CONFIG_INT, "64", 0, 1000000, NULL,
	    "MiB of events.jsonl above which its older half goes; 0: any size" },
	{ "recovery", "damaged_keep", CONFIG_INT, "3", 0, 1000, NULL,
	    "copies of damaged stores that are kept; 0: all" },
	{ "recovery", "ready_timeout", CONFIG_DURATION, "180s", MS_SECOND, DAY, NULL,
	    "wait this long for an agent to be ready for its prompt" },
	{ "recovery", "ack_timeout", CONFIG_DURATION, "300s", MS_SECOND, DAY, NULL,
	    "wait this long for proof that the agent took its prompt" },
	{ "recovery", "spacing", CONFIG_DURATION, "250ms", 0, HOUR, NULL,
	    "from one start to the next of one run" },
	{ "recovery", "parallel", CONFIG_INT, "4", 1, 64, NULL, "recoveries of one run at the same time" },
	{ "recovery", "max_attempts", CONFIG_INT, "3", 1, 1000, NULL,
	    "recoveries within attempt_window before a session is quarantined" },
	{ "recovery", "attempt_window", CONFIG_DURATION, "72h", MINUTE, 365 * DAY, NULL,
	    "how far back attempts are counted" },
	{ "recovery", "include_infra", CONFIG_FLAG, "false", 0, 0, NULL,
	    "also mayor, deacon, witness, refinery, boot and crew" },
	{ "recovery", "resume_scope", CONFIG_CHOICE, "roots", 0, 0, "roots|all",
	    "after a restart bring back root agents only, or all" },
	{ "recovery", "reply_policy", CONFIG_CHOICE, "flag", 0, 0, "flag|ask|replay",
	    "what becomes of messages that were delivered and whose answer is not known" },
	{ "recovery", "state", CONFIG_TEXT, "sqlite", 0, 0, NULL,
	    "where records live: sqlite, sqlite:PATH, redis://HOST:PORT/DB"
	    " or redis+unix:///SOCKET?db=DB" },
	{ "recovery", "host", CONFIG_TEXT, "", 0, 0, NULL,
	    "what this machine is called among those that share a Redis store; \"\": by its machine-id" },
	{ "recovery", "safe_directories", CONFIG_LIST, "", 0, 0, NULL,
	    "directories of other users that may be worked in, \"*\" for all; in your own gt.toml only" },
	{ "recovery", "log_file", CONFIG_PATH, "", 0, 0, NULL,
	    "a log file besides stderr; never holds scrollback" },
	{ "recovery.prompts", "template", CONFIG_TEXT, "", 0, 0, NULL,
	    "the recovery prompt; empty: the built-in one" },
	{ "recovery.prompts", "template_file", CONFIG_PATH, "", 0, 0, NULL,
	    "a file with the recovery prompt, from gt.toml's directory" },
	{ "recovery.prompts", "resume_template", CONFIG_TEXT, "", 0, 0, NULL,
	    "what an agent is told that goes on with its own conversation; empty: the built-in text" },
	{ "recovery.prompts", "resume_template_file", CONFIG_PATH, "", 0, 0, NULL,
	    "a file with that text, from gt.toml's directory" },
	{ "recovery.runs", "mode", CONFIG_CHOICE, "stale", 0, 0, "none|stale|all",
	    "which unfinished runs startup settles (RUN_RECOVERY_MODE)" },
	{ "recovery.runs", "threshold", CONFIG_DURATION, "300s", 0, 365 * DAY, NULL,
	    "a run is stale after this (RUN_RECOVERY_THRESHOLD, seconds)" },
	{ "recovery.runs", "claimed_to", CONFIG_CHOICE, "pending", 0, 0, "pending|failed",
	    "what becomes of a stale run that was claimed and not begun" },
	{ "recovery.epics", "checkpoint_interval", CONFIG_DURATION, "30s", MS_SECOND, DAY, NULL,
	    "how often agents write checkpoints" },
	{ "recovery.epics", "wip_interval", CONFIG_DURATION, "5m", 0, DAY, NULL,
	    "with wip: how often snapshot commits work in progress; 0: never" },
	{ "recovery.epics", "resume_threshold", CONFIG_INT, "5", 0, 100, NULL,
	    "percent; sprints that are no further start from the beginning" },
	{ "recovery.epics", "start_command", CONFIG_TEXT, "", 0, 0, NULL, "starts the agents of a sprint" },
	{ "recovery.scrub", "rules", CONFIG_PATH, "", 0, 0, NULL,
	    "a file with further rules, from gt.toml's directory" },
	{ "recovery.scrub", "allow", CONFIG_TEXT, "", 0, 0, NULL,
	    "regular expressions, one a line, of text that is no secret" },
	{ "recovery.scrub", "known_values", CONFIG_FLAG, "true", 0, 0, NULL,
	    "also hide the secrets found in the agents' own environment" },
	{ "recovery.scrub", "known_files", CONFIG_FLAG, "true", 0, 0, NULL,
	    "also hide those in credential files of their home and directory" },
	{ "recovery.mail", "command", CONFIG_TEXT, "", 0, 0, NULL,
	    "sends a mail, its text on standard input; empty: gt mail send" },
	{ "recovery.mail", "to", CONFIG_TEXT, "mayor/", 0, 0, NULL, "who is told of a failed recovery" },
};

enum { KEYS = sizeof keys / sizeof keys[0] };

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
	return strncmp(name, k->section + strlen("recovery."), n) == 0 && name[n] == '.' &&
	    strcmp(name + n + 1, k->key) == 0;
}

int
config_table_find(const char *name)
{
	for (int i = 0; i < KEYS; i++) {
		if (is_name(&keys[i], name))
			return i;
	}
	return -1;
}

/* Levenshtein's distance of two words of at most 64 bytes. */
static size_t
edit_distance(const char *a, const char *b)
{
	size_t row[65], la = strlen(a), lb = strlen(b);

	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t change = corner + (a[i - 1] != b[j - 1]),
			       less = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

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
		size_t d = strlen(words[i]) <= 64 ? edit_distance(word, words[i]) : SIZE_MAX;

		/* The first of equals; words that share no letter are never near. */
		if (d <= best && d < strlen(words[i])) {
			best = d > 0 ? d - 1 : 0;
			found = words[i];
		}
	}
	return found;
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
config_table_place(const char *section, const char *key, struct err *e)
{
	bool known = false;

	for (int i = 0; i < KEYS; i++) {
		if (strcmp(keys[i].section, section) != 0)
			continue;
		if (strcmp(keys[i].key, key) == 0)
			return i;
		known = true;
	}
	return known ? unknown_key(section, key, e) : unknown_section(section, e);
}

int
config_find(const char *name, struct err *e)
{
	const char *words[2 * KEYS], *near;
	char *full[KEYS];
	struct buf shown = BUF_INIT;
	int i = config_table_find(name);

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
	if (near != NULL && config_table_find(near) >= 0)
		err_hint(e, "did you mean %s?", near);
	else
		err_hint(e, "gt-recover config lists every key");
	buf_release(&shown);
	for (i = 0; i < KEYS; i++)
		free(full[i]);
	return -1;
}

/* Values. */

bool
config_table_choice(const char *choices, const char *word)
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
	err_set(e, GT_USAGE, "config", "%s: expected a duration from \"%s\" to \"%s\", such as \"%s\"",
	    k->key, min.data, max.data, k->standard);
	buf_release(&min);
	buf_release(&max);
	return -1;
}

static int
check_directories(const struct config_key *k, const char *list, struct err *e)
{
	for (const char *p = list; *p != '\0'; p = strchr(p, '\n') + 1)
		if (p[0] != '/' && !str_starts(p, "~/") && !str_starts(p, "*\n"))
			return err_set(e, GT_USAGE, "config",
			    "%s: expected directories that begin with / or ~/, or \"*\"", k->key);
	return 0;
}

/* The kinds of stores that store_open knows. */
static int
check_state(const char *text, struct err *e)
{
	static const char *const kinds[] = { "sqlite:", "redis:", "rediss:", "redis+unix:" };
	bool known = strcmp(text, "sqlite") == 0 ||
	    (strchr(text, '/') != NULL && strstr(text, "://") == NULL);

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		known = known || str_starts(text, kinds[i]);
	if (known)
		return 0;
	err_set(e, GT_USAGE, "state", "state: \"%.60s\" names no store that gt-recover knows", text);
	return err_hint(e,
	    "write state = \"sqlite\", \"sqlite:/PATH/TO/FILE\", \"redis://HOST:PORT/DB\" or "
	    "\"redis+unix:///PATH?db=DB\"");
}

int
config_table_check(
    const struct config_key *k, const char *text, enum toml_type type, int64_t *n, struct err *e)
{
	*n = 0;
	switch (k->type) {
	case CONFIG_FLAG:
		if (type != TOML_BOOL)
			return err_set(
			    e, GT_USAGE, "config", "%s: expected true or false, without quotes", k->key);
		*n = strcmp(text, "true") == 0;
		return 0;
	case CONFIG_INT:
		if (type == TOML_INT)
			*n = strtoll(text, NULL, 10);
		if (type != TOML_INT || *n < k->min || *n > k->max)
			return err_set(e, GT_USAGE, "config", "%s: expected a whole number from %lld to %lld",
			    k->key, (long long)k->min, (long long)k->max);
		return 0;
	case CONFIG_DURATION:
		if (type != TOML_STRING || clock_parse_duration(text, n, NULL) != 0 || *n < k->min ||
		    *n > k->max)
			return expected_duration(k, e);
		return 0;
	case CONFIG_CHOICE:
		return type == TOML_STRING && config_table_choice(k->choices, text) ? 0
										    : expected_choice(k, e);
	case CONFIG_TEXT:
	case CONFIG_PATH:
		if (type != TOML_STRING)
			return err_set(e, GT_USAGE, "config", "%s: expected a string between quotes", k->key);
		if (text[0] == '\0' && k->standard[0] != '\0')
			return err_set(
			    e, GT_USAGE, "config", "%s: expected a string that is not empty", k->key);
		if (k->type == CONFIG_PATH && strchr(text, '\n') != NULL)
			return err_set(e, GT_USAGE, "config", "%s: expected a path on one line", k->key);
		return strcmp(k->key, "state") == 0 ? check_state(text, e) : 0;
	case CONFIG_LIST:
		if (type != TOML_LIST)
			return err_set(e, GT_USAGE, "config",
			    "%s: expected a list of strings, such as [\"/srv/town\"]", k->key);
		return check_directories(k, text, e);
	}
	return 0;
}
