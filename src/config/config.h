#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/*
 * The settings of a run, const: defaults of a table, then gt.toml, then the environment.
 *
 * Of gt.toml [recovery] and [recovery.*] are ours: an unknown key, a wrong value or TOML that
 * toml.h does not understand is an error with file, line and what was expected (GT_USAGE, "toml"
 * and "config"). A key is named "recovery.prompts.template"; "recovery." may be left out.
 */
struct config;

enum config_type {
	CONFIG_FLAG,		/* true or false */
	CONFIG_INT,
	CONFIG_DURATION,	/* "250ms", "30s", "5m", "72h", "7d"; held in milliseconds */
	CONFIG_TEXT,
	CONFIG_CHOICE,		/* one of the words of `choices` */
	CONFIG_PATH,		/* "" is none; see config_path */
	CONFIG_LIST		/* of directories, a line end behind each */
};

struct config_key {
	const char *section;
	const char *key;
	enum config_type type;
	const char *standard;	/* the default as in gt.toml, without quotes */
	int64_t min, max;	/* CONFIG_INT; CONFIG_DURATION in ms */
	const char *choices;	/* CONFIG_CHOICE: "task|lines" */
	const char *help;
};

/*
 * Reads the first of `file` (--config; must exist), <town>/gt.toml,
 * $XDG_CONFIG_HOME/gt-recover/gt.toml (or ~/.config/…); file and town may be NULL, none need exist.
 * A found file must be trusted (config/trust.h) or in a safe directory, since it may name commands
 * ("not-ours"). Then RUN_RECOVERY_MODE and RUN_RECOVERY_THRESHOLD (whole seconds); empty is unset.
 */
struct config *config_new(const char *file, const char *town, struct err *e);
void config_free(struct config *c);

/*
 * Does safe_directories of the user's gt.toml ($XDG_CONFIG_HOME/gt-recover/gt.toml or
 * ~/.config/..., trusted; no other file may set it) list a path that trust_path refused? As git's
 * safe.directory: "*" is all, a last part "*" all below. `inside`: a directory that holds the path
 * may be listed instead. False: e gets the hint how to list `dir`, or the error that the file
 * cannot be read.
 */
bool config_safe(const char *dir, bool inside, struct err *e);

/*
 * An unknown key, or one of another type, is our mistake (die); any key has a text, as in gt.toml.
 * Strings belong to the config.
 */
bool config_flag(const struct config *c, const char *name);
int64_t config_int(const struct config *c, const char *name);
int64_t config_ms(const struct config *c, const char *name);
const char *config_text(const struct config *c, const char *name);

/* For this run, as the command line wants it. */
void config_set_flag(struct config *c, const char *name, bool value);

/* NULL: empty. Relative to gt.toml's directory, "~/" to HOME. Heap. */
char *config_path(const struct config *c, const char *name);

/* "default", "PATH:LINE" or "environment". */
const char *config_origin(const struct config *c, const char *name);

/* The gt.toml that was read, or NULL. */
const char *config_file(const struct config *c);

/* The table: i < config_count(). */
size_t config_count(void);
const struct config_key *config_key_at(size_t i);
/* As config_text, a password in a URL as "***", a list as in gt.toml. */
const char *config_shown(const struct config *c, size_t i);
const char *config_origin_at(const struct config *c, size_t i);

/* Index of a name that a person typed; -1: GT_USAGE, "config", with the nearest name. */
int config_find(const char *name, struct err *e);

/* [recovery.sessions] has NAME = "off". */
bool config_session_off(const struct config *c, const char *session);

/* [recovery.agents.NAME], in the order of the file; agent/agent.h checks them. */
struct config_agent {
	const char *agent;	/* NAME */
	const char *column;
	const char *value;
	int line;		/* in config_file() */
};
size_t config_agents(const struct config *c);
const struct config_agent *config_agent_at(const struct config *c, size_t i);

/*
 * Writes the start command of an agent into the gt.toml that was read, or into the user's own where none
 * was: [recovery.agents.AGENT] command. The rest of the file stays as it is. "config" (GT_FAIL): it cannot
 * be written, has a command for that agent already, or the command has control characters.
 */
int config_add_command(const struct config *c, const char *agent, const char *command, struct err *e);

/* The gt.toml that config_new would read, or that would be made; heap. NULL: no HOME. */
char *config_place(const char *file, const char *town);
/*
 * Writes one setting into it: in place of the value that it has there, else below the line of its section.
 * All else stays. GT_USAGE, "config": no such key, a wrong value, or a list; GT_FAIL: it cannot be written.
 */
int config_set(const struct config *c, const char *name, const char *value, struct err *e);

/*
 * The word nearest to `word` by letters added, left out or changed, if near enough to be meant;
 * else NULL. At most 64 bytes each.
 */
const char *config_nearest(const char *word, const char *const *words, size_t n);

#endif
