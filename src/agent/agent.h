#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct buf;
struct clean_text;
struct config;
struct err;
struct launch;
struct pane;
struct pattern;
struct procs;
struct profile;
struct profile_list;
struct scrub;
struct tmux;
struct tmux_batch;

/* ---- claude_pid_file ---- */

/*
 * Claude Code's own note of a running process: <config>/sessions/<pid>.json (seen in 2.1.197 and
 * 2.1.330, not in 2.1.37 and older). It survives kill -9, is removed on a graceful exit, and the
 * next start of any claude deletes the stale ones: read it before a respawn.
 */
struct agent_pid_file {
	pid_t pid;
	uint64_t start;		/* procStart: field 22 of /proc/PID/stat; 0 unknown */
	char *session_id;
	char *cwd;
	char *version;
	char *status;  /* "idle", "busy", "waiting", "shell" (idle, and a command of its own runs on); ""
			  unknown */
	char *waiting_for;	/* "permission prompt" (questions too), "dialog open"; "" nothing */
	char *tmux;		/* "session:@win.%pane" (2.1.330); "" unknown */
	int64_t started;	/* startedAt, ms since 1970; 0 unknown */
	int64_t written;	/* when the file changed last, seconds since 1970 */
};

struct agent_pid_files {
	struct agent_pid_file *v;
	size_t n, cap;
};

/* CLAUDE_CONFIG_DIR when given, else HOME/.claude; heap. Either may be NULL. */
char *agent_config_dir(const char *claude_config_dir, const char *home);
/* The same of a living process by its own environment, or by ours where that may not be read. */
char *agent_config_dir_of_pid(pid_t pid);

/* True and filled when there is a readable note for pid. Strings are heap. */
bool agent_pid_file_read(const char *config_dir, pid_t pid, struct agent_pid_file *out);
void agent_pid_file_release(struct agent_pid_file *s);
/* The note of a process at or below the pane's: a shim may stand above the real one. */
bool agent_pid_file_below(
    const char *config_dir, const struct procs *procs, pid_t pane_pid, struct agent_pid_file *out);
/* All notes of a configuration directory, in no order; none when there is no such folder. */
void agent_pid_files_read(const char *config_dir, struct agent_pid_files *out);
void agent_pid_files_release(struct agent_pid_files *f);
/* True when it says that its process waits for a person's next words, and shows no dialog. */
bool agent_pid_file_is_idle(const struct agent_pid_file *s);
/* True while the process that wrote the note lives: the same pid, started at the same time. */
bool agent_pid_file_is_alive(const struct agent_pid_file *s);

/* Whose note a dead process left, as far as it tells. */
enum pid_file_match {
	PID_FILE_ELSEWHERE,
	PID_FILE_SAME_PLACE,	/* the same working directory: any pane beside it has that too */
	PID_FILE_SAME_PANE		/* its tmux field names the pane */
};

struct pid_file_place {
	const char *session, *pane_id, *cwd;
	/* seconds since 1970: an older note is of another server, whose ids were the same (T6) */
	int64_t server_start;
};

/* How far a note belongs to a place. */
enum pid_file_match agent_pid_file_match(const struct agent_pid_file *s, const struct pid_file_place *where);

/*
 * The best note of a process that is dead (pid gone, or started at another time), of equal ones
 * the newest. out is filled unless the answer is PID_FILE_ELSEWHERE.
 */
enum pid_file_match agent_pid_file_of_dead(
    const char *config_dir, const struct pid_file_place *where, struct agent_pid_file *out);

/* ---- profile ---- */

/*
 * What is known of each agent: the rows of config/agents.ini (compiled in; the columns are
 * explained there), changed and added to by [recovery.agents.NAME] of gt.toml. Read once, then
 * const; every string belongs to the profiles.
 */

/* Something that has the keyboard instead of the input box. */
struct profile_dialog {
	char *name;			/* for people, with its article: "a permission dialog" */
	struct pattern *pattern;
};

/*
 * How a prompt gets to an agent: the standard input of its start command; a file that a flag of
 * the command names; a word of the command, which every user of the machine can read; a paste
 * once its box waits.
 */
enum deliver { DELIVER_STDIN, DELIVER_FILE, DELIVER_ARGUMENT, DELIVER_PASTE };
enum { DELIVERS = 4 };

struct profile {
	const char *name;		/* "claude": the row's name, and --agent's */
	const char *label;		/* "Claude" */
	const char *const *programs;	/* base names, ended by NULL */
	const char *const *processes;
	const char *grammar;		/* of its screen (screen.h), or "none" */
	const char *transcript;		/* format of its own record (transcript/transcript.h), or "none" */
	const char *folder;  /* where its records lie: "$CODEX_HOME, ~/.codex"; "". See profile_folder */
	enum deliver deliver[DELIVERS];	/* in order of preference, n_deliver >= 1, each once */
	size_t n_deliver;
	const char *session_flags;	/* as launch_without_flags takes it: "--resume=? --continue=0"; "" */
	const char *prompt_flags;	/* the same for those that give it a first prompt: "-i=1" */
	const char *other_flags;	/* the same for its other flags, as far as they are known */
	const char
	    *file_flag; /* of DELIVER_FILE, "--instruction-file"; "": it has none, and the way is closed */
	const char *argument_flag;	/* of DELIVER_ARGUMENT; "": the prompt stands alone */
	const char *resume; /* the words behind which the id of its own conversation stands ("--resume"); "":
			       it cannot go on with one */
	enum deliver resume_deliver;	/* how a prompt gets in with them */
	const char *npm_binary;		/* the program below its npm script (agent/agent.h); "": none */
	const char *command;		/* "": none */
	/*
	 * Over the visible screen; compiled with PATTERN_UTF and PATTERN_MULTILINE. NULL: the row
	 * has none.
	 */
	const struct pattern *ready;	/* group 1: what stands in the input box */
	const struct pattern *busy;
	const struct pattern *pasted;
	const struct profile_dialog *dialogs;	/* ended by one without a name */
	bool background;		/* work may go on after the death of the pane */
};

/*
 * A mistake in gt.toml (an unknown column, a value or expression that is wrong, a program that
 * two agents claim) is an error with "FILE:LINE:" (code GT_USAGE, name "config" or "pattern").
 * `c` may be NULL: the built-in rows alone; it need not live on. NULL with err.
 */
struct profile_list *profile_list_new(const struct config *c, struct err *e);
void profile_list_free(struct profile_list *p);

size_t profile_list_count(const struct profile_list *p);
const struct profile *profile_list_at(const struct profile_list *p, size_t i);
/* By the row's name, by a program's, by a process's; NULL when there is none. */
const struct profile *profile_find(const struct profile_list *p, const char *name);
const struct profile *profile_by_program(const struct profile_list *p, const char *base_name);
const struct profile *profile_by_process(const struct profile_list *p, const char *name);

/*
 * The same as questions, for launch_read (agent/agent.h) and proc_list_agent (process/proc.h);
 * arg is the struct profile_list.
 */
bool profile_list_has_program(const void *profiles, const char *base_name);
bool profile_list_has_process(const void *profiles, const char *name);
/* For proc_list_agent too, when one agent is looked for; arg is its struct profile. */
bool profile_is_process(const void *profile, const char *name);

/*
 * The folder of an agent: the first entry of the column whose variable is set and not empty,
 * heap. variable answers from the agent's environment, heap or NULL. NULL: the row has none, or
 * no HOME.
 */
char *profile_folder(
    const struct profile *p, char *(*variable)(const void *arg, const char *name), const void *arg);

bool profile_delivers(const struct profile *p, enum deliver way);
const char *profile_deliver_name(enum deliver d);	/* "stdin", "file", "argument", "paste" */

/* What the screen (UTF-8, rows ended by \n) shows. */
bool profile_is_busy(const struct profile *p, const char *screen, size_t n);
/* The name of the dialog that is open, the row's first that matches (borrowed); NULL: none. */
const char *profile_dialog(const struct profile *p, const char *screen, size_t n);
/*
 * True when the input box waits: ready matches, busy and dialogs do not. A row without `ready` is
 * never ready by its screen. The text in the box (a draft or the agent's own hint) goes to *from
 * and *to when the row's expression tells it, else both are 0. One look is a hint, not proof:
 * codex 0.169 shows no sign of work while it streams an answer. Look twice and compare.
 */
bool profile_is_ready(const struct profile *p, const char *screen, size_t n, size_t *from, size_t *to);

/* ---- launch ---- */

/*
 * The command that starts a pane's agent, read from the pane's start command. It may hold keys:
 * never print or log it; it goes back only through tmux's standard input.
 *
 * tmux runs a start command of one argument by its default-shell, one of several arguments
 * directly (T38). A pane that a recovery brought back has our wrapper there (`sh -c WRAPPER
 * gt-recover PROMPT SHELL COMMAND [FED]`, see recover/recover.h); it is unwrapped to what stood
 * there before.
 */
struct command_word {
	size_t from, to;		/* bytes of the command */
	/* with quotes taken off; parts that a shell would fill in stay as written */
	char *text;
	bool literal;			/* nothing for a shell to fill in */
};

struct launch {
	char *shell;			/* runs `command` with -c; NULL when there is no command */
	char *command;			/* NULL: the pane was started without a command (a person typed it) */
	bool wrapped;
	bool login;			/* wrapped, and through a login shell */
	/* Of the simple command that runs the agent, when one was found: */
	struct command_word *words;
	size_t n_words;
	size_t program;			/* index into words */
	/* the same, or the script that a runtime runs: what stands behind it is the agent's */
	size_t entry;
	char *name; /* base name of the program ("claude"); for `node /x/cli.js` see launch_read. NULL: none
		       found */
	/* the simple command is known for certain, so that flags may be taken out */
	bool certain;
};

/* Answers whether a base name is an agent's program. */
typedef bool launch_is_agent_fn(const void *arg, const char *name);

/*
 * Reads a start command as tmux prints it. The agent is looked for behind assignments, exec, env,
 * nohup, cd … &&, and inside `sh -c '…'`; a script run by node, bun or python counts by its own
 * name or its package folder (…/claude-code/cli.js is "claude"). When no word names an agent,
 * name is the program of the last simple command and certain is false.
 */
void launch_read(struct launch *l, const char *start_command, const char *default_shell,
    launch_is_agent_fn *is_agent, const void *arg);
/* The same for a command given by configuration, to be run by `shell`. */
void launch_command(
    struct launch *l, const char *command, const char *shell, launch_is_agent_fn *is_agent, const void *arg);
/*
 * The arguments of a living agent as a command for /bin/sh: an alias or a function that a person
 * typed is expanded there. False, and l empty: they cannot be read, or name no agent.
 */
bool launch_of_process(struct launch *l, pid_t pid, launch_is_agent_fn *is_agent, const void *arg);
void launch_release(struct launch *l);		/* overwrites the command */

/*
 * Value of a variable that the command itself sets before the agent (FOO=x claude, env FOO=x
 * claude), heap; NULL when it does not.
 */
char *launch_env(const struct launch *l, const char *name);

/*
 * The command without the flags of `flags` ("--resume=1 --continue=0 -r=? --tools=*" : takes a
 * value, takes none, may take one, takes all words up to the next flag), when it is certain.
 * Heap. *left_out counts them. Not certain: the command as it is, *left_out = 0.
 */
char *launch_without_flags(const struct launch *l, const char *flags, size_t *left_out);

/*
 * The command with the prompt of a recovery for the agent alone. Whoever runs it has the prompt
 * open as descriptor 3. Nothing else that the command or the shell's start-up files start may
 * have it there: a shell in `claude; exec bash` would run the prompt line by line.
 *
 * 	DELIVER_STDIN		`<&3 3<&-` behind the agent's simple command
 * 	DELIVER_FILE            `FILE_FLAG /proc/self/fd/3` right behind the program, which must open
 * 	it itself: a child of it has no such descriptor
 * 	DELIVER_ARGUMENT        `ARGUMENT_FLAG "$(cat <&3)" 3<&-` behind the simple command; line ends
 * 	at the prompt's end are lost
 * 	DELIVER_PASTE		`3<&-` there: it waits for something else
 *
 * Left out are the row's session_flags and prompt_flags, and, but for the standard input, words
 * that are no flags and no flags' values: the prompt of the first start. Only where the row lists
 * its other flags: else nothing tells such a word from a command of the program. NULL when that
 * cannot be said for certain: launch_can_take_prompt is false, or such a word stands behind a
 * flag of no list, or one that the shell fills in.
 */
char *launch_with_prompt(const struct launch *l, const struct profile *p, enum deliver way);
bool launch_can_take_prompt(const struct launch *l);

/*
 * The same by the row's resume_deliver, but going on with a conversation of the agent's own:
 * `RESUME ID` stands right behind the program, and words that are no flags are gone in any case.
 * `id` is of letters, digits, - and _.
 */
char *launch_with_resume(const struct launch *l, const struct profile *p, const char *id);

/*
 * fed: what launch_with_prompt or launch_with_resume made of the command. The same with `exec` in
 * front of the agent's simple command where nothing follows it: no shell is left between the
 * terminal and the agent, which would write there when the agent is killed. Heap.
 */
char *launch_with_exec(const struct launch *l, const char *fed);

/* True when the command starts nothing but a shell for a person: it had been there before the agent. */
bool launch_is_shell(const struct launch *l);

/* ---- launch_redact ---- */

/*
 * A start command that may be kept: its secrets are [REDACTED:kind], and each of these has a name
 * by which whoever starts the command again can ask for the value: of the assignment that it
 * stands in (ANTHROPIC_API_KEY=…), of the variable of the agent's environment that has this
 * value, of the flag in front of it (--api-key), else "value".
 */
struct launch_redacted {
	struct clean_text *text;	/* NULL: there is no command */
	char **names;			/* one a [REDACTED:kind] of the text, in its order */
	size_t n, cap;
};

/*
 * `block` is an environment as in /proc/PID/environ, NULL when it is not known; the scrubber must
 * have learned it already. What is in it goes nowhere but for the names.
 */
void launch_redact(
    struct launch_redacted *out, const struct launch *l, struct scrub *s, const char *block, size_t n_block);
void launch_redacted_release(struct launch_redacted *x);

/* ---- ready ---- */

/*
 * What an agent's visible screen says about taking input, by the expressions of its row in
 * agents.ini, over the lowest rows only: older text may imitate anything. Pasting into a dialog
 * is dropped and the following Enter accepts it, so what looks like one wins over everything
 * else.
 */
enum readiness {
	READY_UNKNOWN,		/* nothing to tell by: starting, another program, a row without expressions */
	READY_IDLE,		/* an empty input box, or one with the agent's own hint */
	READY_DRAFT,		/* text in the input box */
	READY_BUSY,
	READY_DIALOG
};

/* *dialog, unless NULL: the name of an open dialog (struct profile_dialog's, borrowed), else NULL. */
enum readiness agent_readiness(const struct profile *p, const char *screen, size_t n, const char **dialog);

/*
 * Where the text in the input box stands in the screen; false when there is no box, or the row's
 * expression does not tell.
 */
bool agent_box_text(const struct profile *p, const char *screen, size_t n, size_t *from, size_t *to);

/*
 * True when the input box holds that text and nothing beside it: the agent's placeholders for a
 * long paste (column `pasted`), which where they tell it must hold as many line ends as the text,
 * or rows of the text, blanks apart (a box wraps and indents). A word that a person typed
 * meanwhile makes it false, and so does a paste that is still coming in.
 */
bool agent_box_holds(const struct profile *p, const char *screen, size_t n, const char *text);

/* ---- live_screen ---- */

/*
 * One look at a living agent's screen: does it wait for input, and what stands in its box? By its
 * text (agent/agent.h) and by what only colours and the cursor tell: words that the program
 * itself puts into an empty box are grey, and the cursor stands in front of them (Claude Code
 * 1.0.128 to 2.1.330: hints, and guesses at what the person may say next; codex 0.98.0: other
 * hints each time). A person's own words are neither.
 */
struct live_screen {
	enum readiness says;
	const char *dialog;	/* READY_DIALOG: its name, the profile's; else NULL */
	/* the screen, with `rows` rows of history above it, without colours; foreign */
	struct buf text;
	/* where the screen begins in it: above may stand the last screen of an agent that died here */
	size_t screen;
	pid_t pid;		/* of the pane now: the one that is known may be that of before a respawn */
	bool over;		/* the pane is dead or gone; the rest says nothing then */
	/* the pane says that the prompt of this recovery was pasted into it (PASTE_MARK) */
	bool marked;
};

/*
 * An option of the pane that is set in one breath with a paste, to the recovery's id: where it is
 * missing, nothing was pasted. It lives as long as the pane, and not longer than its server.
 */
#define PASTE_MARK "@gt_recover_pasted"

/* Where the cursor stands: column and row of the screen, which is `height` rows high. */
struct live_cursor {
	int x, y, height;
};

/*
 * Pure: s->text as `capture-pane -e` gave it, whose colours are taken out; fills in the rest but
 * `over` and `marked`.
 */
void agent_screen_parse(struct live_screen *s, const struct profile *profile, const struct live_cursor *at);

/*
 * A look as part of a batch: agent_screen_ask adds it and returns its place, agent_screen_answer
 * reads it there once the batch ran.
 */
size_t agent_screen_ask(struct tmux_batch *b, const struct pane *p, int rows);
void agent_screen_answer(const struct tmux_batch *b, size_t at, const struct profile *profile,
    const char *recovery_id, struct live_screen *out);
/* -1 as tmux_batch_run. agent_screen_release in any case. */
int agent_screen_read(struct tmux *t, const struct pane *p, const struct profile *profile,
    const char *recovery_id, int rows, struct live_screen *out, struct err *e);
void agent_screen_release(struct live_screen *s);

/* ---- npm_binary ---- */

/*
 * Some agents come from npm as a script that runs the program proper in a child. Where the
 * script's death takes the screen away (copilot 1.0.102: its child loses the terminal, leaves the
 * alternate screen and ends), an agent that is brought back is that program itself: the next
 * crash then leaves its last screen.
 */

/*
 * The program below the script that the command starts, by the row's column `native`: "PACKAGE
 * PROGRAM …", names below node_modules, the first program that is there. A name without a slash
 * is looked up in path (as PATH); links are followed. Heap; NULL: the row has none, the command
 * starts something else already, or it cannot be found for certain.
 */
char *launch_npm_binary(const struct launch *l, const struct profile *p, const char *path);

/*
 * fed: what launch_with_prompt or launch_with_resume made of the command. The same with that
 * program in the script's place; heap. NULL: not for certain.
 */
char *launch_npm_command(const struct launch *l, const char *fed, const char *program);

#endif
