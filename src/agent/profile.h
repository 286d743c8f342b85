#ifndef AGENT_PROFILE_H
#define AGENT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

struct config;
struct err;
struct pattern;

/*
 * What is known of each agent: the rows of config/agents.ini (compiled in; the columns are explained there), changed and added to by
 * [recovery.agents.NAME] of gt.toml. Read once, then const; every string belongs to the profiles.
 */
struct profiles;

/* Something that has the keyboard instead of the input box. */
struct profile_dialog {
	char *name;			/* for people, with its article: "a permission dialog" */
	struct pattern *pattern;
};

/*
 * How a prompt gets to an agent: the standard input of its start command; a file that a flag of the command names; a word of the command,
 * which every user of the machine can read; a paste once its box waits.
 */
enum deliver { DELIVER_STDIN, DELIVER_FILE, DELIVER_ARGUMENT, DELIVER_PASTE };
enum { DELIVERS = 4 };

struct profile {
	const char *name;		/* "claude": the row's name, and --agent's */
	const char *label;		/* "Claude" */
	const char *const *programs;	/* base names, ended by NULL */
	const char *const *processes;
	const char *dialect;		/* of its screen (dialect.h), or "none" */
	const char *transcript;		/* format of its own record (context/transcript.h), or "none" */
	const char *folder;		/* where its records lie: "$CODEX_HOME, ~/.codex"; "". See profile_folder */
	enum deliver deliver[DELIVERS];	/* in order of preference, n_deliver >= 1, each once */
	size_t n_deliver;
	const char *session_flags;	/* as launch_without takes it: "--resume=? --continue=0"; "" */
	const char *prompt_flags;	/* the same for those that give it a first prompt: "-i=1" */
	const char *other_flags;	/* the same for its other flags, as far as they are known */
	const char *file_flag;		/* of DELIVER_FILE, "--instruction-file"; "": it has none, and the way is closed */
	const char *argument_flag;	/* of DELIVER_ARGUMENT; "": the prompt stands alone */
	const char *resume;		/* the words behind which the id of its own conversation stands ("--resume"); "": it cannot go on with one */
	enum deliver resume_deliver;	/* how a prompt gets in with them */
	const char *native;		/* the program below its npm script (agent/native.h); "": none */
	const char *command;		/* "": none */
	/* Over the visible screen; compiled with PATTERN_UTF and PATTERN_MULTILINE. NULL: the row has none. */
	const struct pattern *ready;	/* group 1: what stands in the input box */
	const struct pattern *busy;
	const struct pattern *pasted;
	const struct profile_dialog *dialogs;	/* ended by one without a name */
	bool background;		/* work may go on after the death of the pane */
};

/*
 * A mistake in gt.toml (an unknown column, a value or expression that is wrong, a program that two agents claim) is an error with
 * "FILE:LINE:" (code GT_USAGE, name "config" or "pattern"). `c` may be NULL: the built-in rows alone; it need not live on. NULL with err.
 */
struct profiles *profiles_new(const struct config *c, struct err *e);
void profiles_free(struct profiles *p);

size_t profiles_count(const struct profiles *p);
const struct profile *profiles_at(const struct profiles *p, size_t i);
/* By the row's name, by a program's, by a process's; NULL when there is none. */
const struct profile *profiles_find(const struct profiles *p, const char *name);
const struct profile *profiles_by_program(const struct profiles *p, const char *base_name);
const struct profile *profiles_by_process(const struct profiles *p, const char *name);

/* The same as questions, for launch_read (agent/launch.h) and procs_agent (agent/liveness.h); arg is the struct profiles. */
bool profiles_is_program(const void *profiles, const char *base_name);
bool profiles_is_process(const void *profiles, const char *name);
/* For procs_agent too, when one agent is looked for; arg is its struct profile. */
bool profile_is_process(const void *profile, const char *name);

/*
 * The folder of an agent: the first entry of the column whose variable is set and not empty, heap. variable answers from the agent's
 * environment, heap or NULL. NULL: the row has none, or no HOME.
 */
char *profile_folder(const struct profile *p, char *(*variable)(const void *arg, const char *name), const void *arg);

bool profile_delivers(const struct profile *p, enum deliver way);
const char *deliver_word(enum deliver d);	/* "stdin", "file", "argument", "paste" */

/* What the screen (UTF-8, rows ended by \n) shows. */
bool profile_is_busy(const struct profile *p, const char *screen, size_t n);
/* The name of the dialog that is open, the row's first that matches (borrowed); NULL: none. */
const char *profile_dialog(const struct profile *p, const char *screen, size_t n);
/*
 * True when the input box waits: ready matches, busy and dialogs do not. A row without `ready` is never ready by its screen. The text
 * in the box (a draft or the agent's own hint) goes to *from and *to when the row's expression tells it, else both are 0.
 * One look is a hint, not proof: codex 0.169 shows no sign of work while it streams an answer. Look twice and compare.
 */
bool profile_is_ready(const struct profile *p, const char *screen, size_t n, size_t *from, size_t *to);

#endif
