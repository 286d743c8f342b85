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
	    "recover crashed agents automatically (reconcile)" },
	{ "recovery", "wip", CONFIG_FLAG, "false", 0, 0, NULL,
	    "true: snapshot also commits uncommitted work to git refs under refs/gt-recover" },
	{ "recovery", "on_crash", CONFIG_TEXT, "", 0, 0, NULL,
	    "a command for sh, run once for each crash with a JSON object on standard input" },
	{ "recovery", "max_context_lines", CONFIG_INT, "10000", 1, 1000000, NULL,
	    "newest lines of scrollback to capture" },
	{ "recovery", "max_context_tokens", CONFIG_INT, "120000", 1000, 10000000, NULL,
	    "token limit of a prompt; the newest complete exchanges are kept" },
	{ "recovery", "scope", CONFIG_CHOICE, "task", 0, 0, "task|lines",
	    "task: the current task only; lines: as many lines as fit" },
	{ "recovery", "via", CONFIG_CHOICE, "auto", 0, 0, "auto|resume|inject",
	    "resume the agent's conversation, inject it as a prompt, or choose" },
	{ "recovery", "snapshot_interval", CONFIG_DURATION, "5m", 10 * MS_SECOND, DAY, NULL,
	    "how often the timer takes snapshots of live agents" },
	{ "recovery", "snapshot_dir", CONFIG_PATH, ".gt/snapshots", 0, 0, NULL,
	    "directory of snapshots, relative to the town's root" },
	{ "recovery", "snapshot_keep", CONFIG_INT, "20", 1, 10000, NULL, "snapshots to keep for each "
	    "session" },
	{ "recovery", "snapshot_age", CONFIG_DURATION, "7d", HOUR, 3650 * DAY, NULL,
	    "older snapshots are removed, except the newest of a session" },
	{ "recovery", "last_snapshot_age", CONFIG_DURATION, "30d", 0, 3650 * DAY, NULL,
	    "age at which the newest snapshot of an ended session is removed; 0: never" },
	{ "recovery", "keep_history", CONFIG_DURATION, "90d", 0, 3650 * DAY, NULL,
	    "finished records leave the store after this time; 0: never" },
	{ "recovery", "keep_history_count", CONFIG_INT, "100000", 0, 1000000000, NULL,
	    "finished records of each kind to keep; 0: any number" },
	{ "recovery", "archive", CONFIG_PATH, "", 0, 0, NULL,
	    "directory that receives records leaving the store, as gzip JSON lines" },
	{ "recovery", "archive_age", CONFIG_DURATION, "365d", 0, 36500 * DAY, NULL,
	    "age at which files of the archive are removed; 0: never" },
	{ "recovery", "event_log_mib", CONFIG_INT, "64", 0, 1000000, NULL,
	    "size of events.jsonl in MiB above which its older half is removed; 0: any size" },
	{ "recovery", "damaged_keep", CONFIG_INT, "3", 0, 1000, NULL,
	    "copies of damaged stores to keep; 0: all" },
	{ "recovery", "ready_timeout", CONFIG_DURATION, "180s", MS_SECOND, DAY, NULL,
	    "time limit for an agent to become ready for its prompt" },
	{ "recovery", "ack_timeout", CONFIG_DURATION, "300s", MS_SECOND, DAY, NULL,
	    "time limit for an agent to acknowledge its prompt" },
	{ "recovery", "spacing", CONFIG_DURATION, "250ms", 0, HOUR, NULL,
	    "time between two starts of one run" },
	{ "recovery", "parallel", CONFIG_INT, "4", 1, 64, NULL, "parallel recoveries of one run" },
	{ "recovery", "max_attempts", CONFIG_INT, "3", 1, 1000, NULL,
	    "recoveries within attempt_window before a session is quarantined" },
	{ "recovery", "attempt_window", CONFIG_DURATION, "72h", MINUTE, 365 * DAY, NULL,
	    "period over which attempts are counted" },
	{ "recovery", "include_infra", CONFIG_FLAG, "false", 0, 0, NULL,
	    "also mayor, deacon, witness, refinery, boot and crew" },
	{ "recovery", "resume_scope", CONFIG_CHOICE, "roots", 0, 0, "roots|all",
	    "agents to resume after a restart: root agents only, or all" },
	{ "recovery", "reply_policy", CONFIG_CHOICE, "flag", 0, 0, "flag|ask|replay",
	    "action for delivered messages whose answer is unknown" },
	{ "recovery", "state", CONFIG_TEXT, "sqlite", 0, 0, NULL,
	    "the store: sqlite, sqlite:PATH, redis://HOST:PORT/DB or redis+unix:///SOCKET?db=DB" },
	{ "recovery", "host", CONFIG_TEXT, "", 0, 0, NULL,
	    "name of this machine in a shared Redis store; \"\": its machine-id" },
	{ "recovery", "safe_directories", CONFIG_LIST, "", 0, 0, NULL,
	    "directories of other users to work in, \"*\" for all; only in your own gt.toml" },
	{ "recovery", "log_file", CONFIG_PATH, "", 0, 0, NULL,
	    "log file, in addition to stderr; never contains scrollback" },
	{ "recovery.prompts", "template", CONFIG_TEXT, "", 0, 0, NULL,
	    "the recovery prompt; empty: the built-in one" },
	{ "recovery.prompts", "template_file", CONFIG_PATH, "", 0, 0, NULL,
	    "file with the recovery prompt, relative to gt.toml" },
	{ "recovery.prompts", "resume_template", CONFIG_TEXT, "", 0, 0, NULL,
	    "message for an agent that resumes its conversation; empty: the built-in one" },
	{ "recovery.prompts", "resume_template_file", CONFIG_PATH, "", 0, 0, NULL,
	    "file with that message, relative to gt.toml" },
	{ "recovery.runs", "mode", CONFIG_CHOICE, "stale", 0, 0, "none|stale|all",
	    "unfinished runs that reconcile settles (RUN_RECOVERY_MODE)" },
	{ "recovery.runs", "threshold", CONFIG_DURATION, "300s", 0, 365 * DAY, NULL,
	    "a run is stale after this (RUN_RECOVERY_THRESHOLD, seconds)" },
	{ "recovery.runs", "claimed_to", CONFIG_CHOICE, "pending", 0, 0, "pending|failed",
	    "action for a stale run that was claimed but not started" },
	{ "recovery.epics", "checkpoint_interval", CONFIG_DURATION, "30s", MS_SECOND, DAY, NULL,
	    "interval at which agents write checkpoints" },
	{ "recovery.epics", "wip_interval", CONFIG_DURATION, "5m", 0, DAY, NULL,
	    "with wip: interval of checkpoints of uncommitted work; 0: never" },
	{ "recovery.epics", "resume_threshold", CONFIG_INT, "5", 0, 100, NULL,
	    "percent; sprints below it restart from the beginning" },
	{ "recovery.epics", "start_command", CONFIG_TEXT, "", 0, 0, NULL, "starts the agents of a sprint" },
	{ "recovery.scrub", "rules", CONFIG_PATH, "", 0, 0, NULL,
	    "file with more rules, relative to gt.toml" },
	{ "recovery.scrub", "allow", CONFIG_TEXT, "", 0, 0, NULL,
	    "regular expressions, one per line, for text that is not secret" },
	{ "recovery.scrub", "known_values", CONFIG_FLAG, "true", 0, 0, NULL,
	    "also redact secrets found in the agents' environment" },
	{ "recovery.scrub", "known_files", CONFIG_FLAG, "true", 0, 0, NULL,
	    "also redact secrets from credential files in home and working directory" },
	{ "recovery.mail", "command", CONFIG_TEXT, "", 0, 0, NULL,
	    "command that sends a mail from standard input; empty: gt mail send" },
	{ "recovery.mail", "to", CONFIG_TEXT, "mayor/", 0, 0, NULL, "recipient of mail about failed "
	    "recoveries" },
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
	err_set(e, GT_USAGE, "config", "unknown key %s", shown.data);
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
	err_set(e, GT_USAGE, "state", "state: unknown kind of store \"%.60s\"", text);
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
			return err_set(e, GT_USAGE, "config", "%s: expected an integer from %lld to %lld",
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
			    e, GT_USAGE, "config", "%s: expected a non-empty string", k->key);
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
