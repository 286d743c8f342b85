#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/*
 * The settings of one run: the defaults of a const table, over them gt.toml, over that the
 * environment. Read once, then const.
 *
 * Only [recovery] and [recovery.*] of gt.toml are ours; there an unknown key, a wrong value or
 * TOML that toml.h does not understand is an error with file, line and what was expected (code
 * GT_USAGE, names "toml" and "config"). The other tables belong to others.
 *
 * A key is named as in "recovery.prompts.template"; the leading "recovery." may be left out.
 */
struct config;

enum config_type {
	CONFIG_FLAG,		/* true or false */
	CONFIG_INT,
	CONFIG_DURATION,	/* "250ms", "30s", "5m", "72h", "7d"; held in milliseconds */
	CONFIG_TEXT,
	CONFIG_CHOICE,		/* one of the words of `choices` */
	CONFIG_PATH,		/* "" is none; see config_path */
	CONFIG_LIST		/* of directories; its text has a line end behind each */
};

struct config_key {
	const char *section;
	const char *key;
	enum config_type type;
	const char *standard;	/* the default, as it is written in gt.toml (strings without their quotes) */
	int64_t min, max;	/* CONFIG_INT; CONFIG_DURATION in ms */
	const char *choices;	/* CONFIG_CHOICE: "task|lines" */
	const char *help;
};

/*
 * Reads the first of: `file` (--config; must exist), <town>/gt.toml,
 * $XDG_CONFIG_HOME/gt-recover/gt.toml (or ~/.config/…). file and town may be NULL, and none of
 * them existing is fine. A file that was found rather than named must be trusted (config/trust.h)
 * or lie in a safe directory, since it may name commands (name "not-ours"). Then
 * RUN_RECOVERY_MODE and RUN_RECOVERY_THRESHOLD (whole seconds); empty is unset. NULL with err.
 * Free with config_free.
 */
struct config *config_new(const char *file, const char *town, struct err *e);
void config_free(struct config *c);

/*
 * Whether safe_directories of the user's own gt.toml lists a path that trust_path refused. That file is
 * $XDG_CONFIG_HOME/gt-recover/gt.toml (or ~/.config/...); it must be trusted, and no other file may set
 * the key. As in git's safe.directory, "*" lists all, and a directory with "*" as its last part all below
 * it. `inside`: a directory that holds the path may be listed instead. When nothing is listed, e gets the
 * hint how to list `dir` and keeps its message; if the file cannot be read, e gets that error.
 */
bool config_safe(const char *dir, bool inside, struct err *e);

/*
 * Values. An unknown key or one of another type is our own mistake and ends the program (die);
 * text may be asked of any key and reads as in gt.toml. Strings belong to the config.
 */
bool config_flag(const struct config *c, const char *name);
int64_t config_int(const struct config *c, const char *name);
int64_t config_ms(const struct config *c, const char *name);
const char *config_text(const struct config *c, const char *name);

/*
 * A CONFIG_PATH: NULL when empty; a relative one starts at the directory of gt.toml, "~/" at
 * HOME. Heap, the caller frees.
 */
char *config_path(const struct config *c, const char *name);

/* "default", "PATH:LINE" or "environment". */
const char *config_origin(const struct config *c, const char *name);

/* The gt.toml that was read, or NULL. */
const char *config_file(const struct config *c);

/* The table, for `gt-recover config` and completions: i < config_count(). */
size_t config_count(void);
const struct config_key *config_key_at(size_t i);
/* Like config_text, but a password in a URL is shown as "***", and a list as in gt.toml. */
const char *config_shown(const struct config *c, size_t i);
const char *config_origin_at(const struct config *c, size_t i);

/*
 * The place in the table of a name that a person typed; -1 with err (GT_USAGE, name "config";
 * hint: the nearest name).
 */
int config_find(const char *name, struct err *e);

/* True when [recovery.sessions] has NAME = "off". */
bool config_session_off(const struct config *c, const char *session);

/* The settings of [recovery.agents.NAME], in the order of the file; agent/agent.h checks and uses them. */
struct config_agent {
	const char *agent;	/* NAME */
	const char *column;
	const char *value;
	int line;		/* in config_file() */
};
size_t config_agents(const struct config *c);
const struct config_agent *config_agent_at(const struct config *c, size_t i);

/*
 * Of n words the one that differs least from `word` by letters added, left out or changed, if it
 * is near enough to be meant; else NULL. Words and word: at most 64 bytes, longer ones are never
 * near.
 */
const char *config_nearest(const char *word, const char *const *words, size_t n);

#endif
