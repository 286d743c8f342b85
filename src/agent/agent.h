#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct clean_text;
struct config;
struct err;
struct pane;
struct pattern;
struct procs;
struct profile_list;
struct scrub;
struct tmux;
struct tmux_batch;

/* ---- claude_pid_file ---- */

/*
 * <config>/sessions/<pid>.json of Claude Code (2.1.197 and 2.1.330; none in 2.1.37 and older). It
 * survives kill -9, is removed on a graceful exit, and the next start of any claude deletes stale
 * ones: read it before a respawn.
 */
struct agent_pid_file {
	pid_t pid;
	uint64_t start;		/* procStart: field 22 of /proc/PID/stat; 0 unknown */
	char *session_id;
	char *cwd;
	char *version;
	char *status;  /* "idle", "busy", "waiting", "shell" (idle, a command runs on); "" unknown */
	char *waiting_for;	/* "permission prompt" (questions too), "dialog open"; "" nothing */
	char *tmux;		/* "session:@win.%pane" (2.1.330); "" unknown */
	int64_t started;	/* startedAt, ms since 1970; 0 unknown */
	int64_t written;	/* mtime, seconds since 1970 */
	bool background;	/* its session has no pane ("kind":"bg", see claude_background) */
};

struct agent_pid_files {
	struct agent_pid_file *v;
	size_t n, cap;
};

/* CLAUDE_CONFIG_DIR, else HOME/.claude; heap. Either may be NULL. */
char *agent_config_dir(const char *claude_config_dir, const char *home);
/* Of a living process by its environment, or by ours where that may not be read. */
char *agent_config_dir_of_pid(pid_t pid);

/* False: no readable note. Strings are heap. */
bool agent_pid_file_read(const char *config_dir, pid_t pid, struct agent_pid_file *out);
void agent_pid_file_release(struct agent_pid_file *s);
/* Of a process at or below the pane's: a shim may be above the real one. */
bool agent_pid_file_below(
    const char *config_dir, const struct procs *procs, pid_t pane_pid, struct agent_pid_file *out);
/* In no order; none without the folder. */
void agent_pid_files_read(const char *config_dir, struct agent_pid_files *out);
void agent_pid_files_release(struct agent_pid_files *f);
/* It waits for a person's next words, and shows no dialog. */
bool agent_pid_file_is_idle(const struct agent_pid_file *s);
/* The writer lives: the same pid, started at the same time. */
bool agent_pid_file_is_alive(const struct agent_pid_file *s);

/* Whose note a dead process left. */
enum pid_file_match {
	PID_FILE_ELSEWHERE,
	PID_FILE_SAME_PLACE,	/* the same working directory, as any pane beside it */
	PID_FILE_SAME_PANE		/* its tmux field names the pane */
};

struct pid_file_place {
	const char *session, *pane_id, *cwd;
	/* seconds since 1970: an older note is of another server, with the same ids (T6) */
	int64_t server_start;
};

enum pid_file_match agent_pid_file_match(const struct agent_pid_file *s, const struct pid_file_place *where);

/*
 * The best note of a dead process (pid gone, or started at another time), of equal ones the newest.
 * out is filled unless the answer is PID_FILE_ELSEWHERE.
 */
enum pid_file_match agent_pid_file_of_dead(
    const char *config_dir, const struct pid_file_place *where, struct agent_pid_file *out);

/* ---- claude_background ---- */

/*
 * A background session of Claude Code (`claude --bg`, 2.1.330): a conversation without a terminal,
 * kept up by a service of the user. `claude attach ID` shows it. Sources, below the configuration:
 * jobs/ID/state.json (its own word, which nobody corrects when all is killed), daemon/roster.json
 * (its processes) and daemon.lock (the service).
 */
enum background_stand {
	BACKGROUND_LIVE,
	BACKGROUND_RESTARTING,	/* its service runs and sees to it, or it cannot be told */
	BACKGROUND_FAILED,	/* it was at work; its processes and the service are gone */
	BACKGROUND_GIVEN_UP,	/* its service wrote that it failed: it may fail again */
	BACKGROUND_ENDED	/* stopped or done */
};

struct agent_background {
	char *id;		/* "7d1fc419" */
	char *session_id;	/* of its conversation */
	char *cwd;
	char *state;		/* its own word: "working", "running", "crashed", "stopped", … */
	enum background_stand stand;
	pid_t pid;		/* of the living agent; 0: none */
	int64_t written;	/* of state.json, seconds since 1970 */
	bool needs_key;		/* its credential is a key of the environment that it is started from */
};

struct agent_backgrounds {
	struct agent_background *v;
	size_t n, cap;
};

/* False: none of that id, or its file cannot be read. Release when true. */
bool agent_background_read(const char *config_dir, const char *id, struct agent_background *out);
void agent_background_release(struct agent_background *b);
/* In no order, ended ones too. */
void agent_backgrounds_read(const char *config_dir, struct agent_backgrounds *out);
void agent_backgrounds_release(struct agent_backgrounds *b);

struct launch;
/* It shows sessions that live elsewhere (`claude attach ID`, `claude agents`): its end loses nothing. */
bool agent_is_viewer(const struct launch *l);

/* ---- profile ---- */

/*
 * An agent: a row of config/agents.ini (compiled in; it explains the columns), with
 * [recovery.agents.NAME] of gt.toml applied. Strings belong to the list.
 */

/* Something that has the keyboard instead of the input box. */
struct profile_dialog {
	char *name;			/* for people, with its article: "a permission dialog" */
	struct pattern *pattern;
};

/*
 * How a prompt reaches an agent: standard input of its start command; a file named by a flag; a
 * word of the command, which every user of the machine can read; a paste into its waiting box.
 */
enum deliver { DELIVER_STDIN, DELIVER_FILE, DELIVER_ARGUMENT, DELIVER_PASTE };
enum { DELIVERS = 4 };

struct profile {
	const char *name;		/* "claude": the row, and --agent */
	const char *label;		/* "Claude" */
	const char *const *programs;	/* base names, ended by NULL */
	const char *const *processes;
	const char *grammar;		/* of its screen (screen.h), or "none" */
	const char *transcript;		/* format (transcript/transcript.h), or "none" */
	const char *folder;  /* "$CODEX_HOME, ~/.codex", see profile_folder; "" */
	enum deliver deliver[DELIVERS];	/* by preference, n_deliver >= 1, each once */
	size_t n_deliver;
	const char *session_flags;	/* for launch_without_flags: "--resume=? --continue=0"; "" */
	const char *prompt_flags;	/* those of a first prompt: "-i=1" */
	const char *other_flags;	/* its other known flags */
	const char
	    *file_flag; /* of DELIVER_FILE, "--instruction-file"; "": not possible */
	const char *argument_flag;	/* of DELIVER_ARGUMENT; "": the prompt alone */
	const char *resume; /* words before a conversation's id ("--resume"); "": it cannot resume */
	enum deliver resume_deliver;	/* how a prompt is delivered with them */
	const char *npm_binary;		/* the program below its npm script; "" */
	const char *command;
	/* Over the visible screen, PATTERN_UTF and PATTERN_MULTILINE. NULL: none. */
	const struct pattern *ready;	/* group 1: the text in the input box */
	const struct pattern *busy;
	const struct pattern *pasted;
	const struct profile_dialog *dialogs;	/* ended by one without a name */
	bool background;		/* work may go on after the death of the pane */
};

/*
 * c (may be NULL: built-in rows alone) need not outlive the call. NULL with err: a mistake in
 * gt.toml, "FILE:LINE:" in front (GT_USAGE, name "config" or "pattern").
 */
struct profile_list *profile_list_new(const struct config *c, struct err *e);
void profile_list_free(struct profile_list *p);

size_t profile_list_count(const struct profile_list *p);
const struct profile *profile_list_at(const struct profile_list *p, size_t i);
/* NULL: none. */
const struct profile *profile_find(const struct profile_list *p, const char *name);
const struct profile *profile_by_program(const struct profile_list *p, const char *base_name);
const struct profile *profile_by_process(const struct profile_list *p, const char *name);

/* As questions for launch_read and proc_list_agent; profiles is the struct profile_list. */
bool profile_list_has_program(const void *profiles, const char *base_name);
bool profile_list_has_process(const void *profiles, const char *name);
/* The same for one struct profile. */
bool profile_is_process(const void *profile, const char *name);

/*
 * The agent's folder: the first entry of the column whose variable is set, heap. variable answers
 * from the agent's environment, heap or NULL. NULL: none, or no HOME.
 */
char *profile_folder(
    const struct profile *p, char *(*variable)(const void *arg, const char *name), const void *arg);

/*
 * May agents of this profile and configuration directory race for a refresh token? Not where Claude Code
 * has no credential file, but a key of its environment.
 */
bool profile_shares_login(const struct profile *p, const char *config_dir);
bool profile_delivers(const struct profile *p, enum deliver way);
const char *profile_deliver_name(enum deliver d);	/* "stdin", "file", "argument", "paste" */

/* What the screen (UTF-8, rows ended by \n) shows. */
bool profile_is_busy(const struct profile *p, const char *screen, size_t n);
/* The open dialog, the row's first that matches (borrowed); NULL: none. */
const char *profile_dialog(const struct profile *p, const char *screen, size_t n);
/*
 * The input box waits: ready matches, busy and dialogs do not; never for a row without `ready`.
 * *from and *to: the text in the box (a draft or the agent's hint), both 0 when unknown. A hint, no
 * proof: codex 0.169 shows no sign of work while it streams an answer. Look twice and compare.
 */
bool profile_is_ready(const struct profile *p, const char *screen, size_t n, size_t *from, size_t *to);

/* ---- launch ---- */

/*
 * The command that starts a pane's agent. It may hold keys: never print or log it; it returns only
 * through tmux's standard input.
 *
 * tmux runs a start command of one argument by its default-shell, one of several directly (T38).
 * Our wrapper of a recovered pane (recover/recover.h) is unwrapped.
 */
struct command_word {
	size_t from, to;		/* bytes of the command */
	/* unquoted; parts that a shell would fill in as written */
	char *text;
	bool literal;
};

struct launch {
	char *shell;			/* runs `command` with -c; NULL: no command */
	char *command;			/* NULL: none (a person typed it) */
	bool wrapped;
	bool login;			/* wrapped, through a login shell */
	/* The simple command that runs the agent, if found: */
	struct command_word *words;
	size_t n_words;
	size_t program;			/* index into words */
	size_t entry;			/* the same, or the script that a runtime runs */
	char *name; /* base name ("claude"; of `node /x/cli.js` see launch_read); NULL: none */
	bool certain;			/* it was parsed without doubt: flags may be removed */
	/*
	 * The command is a wrapper's, behind which the agent was seen (a script, op run --): 1 + the
	 * word behind which the agent's flags go. 0: none.
	 */
	int wrapper;
};

/* The wrapper was not seen to pass its arguments on: it is started as it was, without flags. */
#define WRAPPER_HIDES (-1)

typedef bool launch_is_agent_fn(const void *arg, const char *name);

/*
 * Reads a start command as tmux prints it. The agent is looked for behind assignments, exec, env,
 * nohup, cd … && and inside `sh -c '…'`; a script of node, bun or python counts by its name or its
 * package (…/claude-code/cli.js is "claude"). No agent found: name is the last simple command's
 * program, certain is false.
 */
void launch_read(struct launch *l, const char *start_command, const char *default_shell,
    launch_is_agent_fn *is_agent, const void *arg);
/* A command from the configuration, to be run by `shell`. */
void launch_command(
    struct launch *l, const char *command, const char *shell, launch_is_agent_fn *is_agent, const void *arg);
void launch_release(struct launch *l);		/* overwrites the command */

/*
 * A variable that the command sets before the agent (FOO=x claude, env FOO=x claude), heap or NULL.
 */
char *launch_env(const struct launch *l, const char *name);
/* The last value of a flag of the agent (`--name x`, `--name=x`), borrowed; NULL: it has none. */
const char *launch_flag(const struct launch *l, const char *flag);

/*
 * The command without `flags` ("--resume=1 --continue=0 -r=? --tools=*": takes a value, none, maybe
 * one, all words up to the next flag), heap; *left_out counts them. Not certain: the command as it
 * is, *left_out = 0. NULL for a launch without a command.
 */
char *launch_without_flags(const struct launch *l, const char *flags, size_t *left_out);

/*
 * The command with the prompt of a recovery, which the caller has open as descriptor 3, for the
 * agent alone: a shell in `claude; exec bash` would run the prompt line by line.
 *
 *	DELIVER_STDIN		`<&3 3<&-` behind the agent's simple command
 *	DELIVER_FILE		`FILE_FLAG /proc/self/fd/3` behind the program, which opens it itself
 *	DELIVER_ARGUMENT	`ARGUMENT_FLAG "$(cat <&3)" 3<&-`; the prompt's last line ends are lost
 *	DELIVER_PASTE		`3<&-`
 *
 * Left out are session_flags and prompt_flags, and words that are neither flags nor their values
 * (the first prompt), if the row lists its other flags. NULL when it is not certain: see
 * launch_can_take_prompt; or such a word follows an unknown flag, or the shell fills it in. For
 * standard input, which the agent reads behind such words, they are left out when they are certain
 * and it was told them before; a beacon of Gas Town stays.
 */
char *launch_with_prompt(const struct launch *l, const struct profile *p, enum deliver way, bool told);
bool launch_can_take_prompt(const struct launch *l);

/*
 * The same by resume_deliver, resuming conversation id (letters, digits, - and _): `RESUME ID`
 * behind the program; words that are no flags are always left out.
 */
char *launch_with_resume(const struct launch *l, const struct profile *p, const char *id);

/*
 * fed: what launch_with_prompt or launch_with_resume made of the command. The same with `exec` in
 * front of the agent's simple command where nothing follows it: no shell is left between the
 * terminal and the agent, which would write there when the agent is killed. Heap.
 */
char *launch_with_exec(const struct launch *l, const char *fed);
/*
 * The same for the shell of a pane's start command, which may know an alias or a function by the
 * agent's name: `exec` only where its `command -v` finds a program. Of a shell with another
 * grammar (fish) fed as it is.
 */
char *launch_with_checked_exec(const struct launch *l, const char *fed);

/* The command only starts a shell for a person. */
bool launch_is_shell(const struct launch *l);

/* ---- launch_process ---- */

/*
 * The arguments of a living agent as a command for the shell, which should be the one whose
 * start-up files set its PATH: an alias or a function that a person typed is expanded there. An
 * absolute path is left out where a shell script of that name goes first in the agent's PATH: it
 * wraps the agent and was replaced by it. False, and l empty: they cannot be read, or name no
 * agent.
 */
bool launch_of_process(
    struct launch *l, pid_t pid, const char *shell, launch_is_agent_fn *is_agent, const void *arg);
/*
 * l is launch_of_process's of this agent: it becomes the command of the process `wrapper` above it,
 * if that passes its arguments on (the one's are the tail of the other's), or sets variables that
 * the agent would not have without it (WRAPPER_HIDES). False: l stays.
 */
bool launch_wrap(struct launch *l, pid_t agent, pid_t wrapper);
/* The same by the command of the pane, which the agent has replaced: direnv exec . claude. */
bool launch_wrap_pane(struct launch *l, const struct launch *pane);
/* As launch_command, of a command that is kept with its member `wrapper`; name: the agent's. */
void launch_command_wrapped(
    struct launch *l, const char *command, const char *shell, int wrapper, const char *name);

/* ---- launch_redact ---- */

/*
 * A start command that may be kept: its secrets are [REDACTED:kind], each with a name to ask the
 * value for: of its assignment (ANTHROPIC_API_KEY=…), of the variable of the agent's environment
 * with that value ("NAME(part)": that shares a part with it), of the flag before it (--api-key), else
 * "value".
 */
struct launch_redacted {
	struct clean_text *text;	/* NULL: no command */
	char **names;			/* one for each [REDACTED:kind], in order */
	size_t n, cap;
};

/*
 * block: /proc/PID/environ, or NULL; the scrubber must have learned it. Only names of it are used.
 */
void launch_redact(
    struct launch_redacted *out, const struct launch *l, struct scrub *s, const char *block, size_t n_block);
void launch_redacted_release(struct launch_redacted *x);

/* ---- ready ---- */

/*
 * What an agent's screen shows about taking input, by its row's expressions over the lowest rows:
 * older text may imitate anything. A dialog wins: it drops a paste, and the Enter behind accepts
 * it.
 */
enum readiness {
	READY_UNKNOWN,		/* starting, another program, or no expressions */
	READY_IDLE,		/* an empty box, or the agent's hint in it */
	READY_DRAFT,
	READY_BUSY,
	READY_DIALOG
};

/* *dialog, unless NULL: the name of an open dialog (struct profile_dialog's, borrowed), else NULL. */
enum readiness agent_readiness(const struct profile *p, const char *screen, size_t n, const char **dialog);

/*
 * The box holds just that text: the agent's placeholders for a long paste (column `pasted`, with as
 * many line ends where they count them), or rows of it, blanks apart. False while a paste comes in,
 * or when a person typed a word.
 */
bool agent_box_holds(const struct profile *p, const char *screen, size_t n, const char *text);

/* ---- live_screen ---- */

/*
 * One look at a living agent's screen. A program's own words in the empty box (Claude Code 1.0.128
 * to 2.1.330: hints and guesses; codex 0.98.0: hints) are grey with the cursor in front of them; a
 * person's are neither.
 */
struct live_screen {
	enum readiness says;
	const char *dialog;	/* of READY_DIALOG, the profile's; else NULL */
	/* the screen below `rows` rows of history, without colours; foreign */
	struct buf text;
	/* where the screen begins in text; above may be that of an agent that died here */
	size_t screen;
	pid_t pid;		/* of the pane now, perhaps after a respawn */
	bool over;		/* the pane is dead or gone; the rest is void */
	bool marked;			/* the pane has PASTE_MARK of this recovery */
};

/*
 * A pane option set in one batch with a paste, to the recovery's id. Missing: nothing was pasted.
 * It lives as long as the pane.
 */
#define PASTE_MARK "@gt_recover_pasted"

/* Column and row of the cursor on a screen of `height` rows. */
struct live_cursor {
	int x, y, height;
};

/* Pure. s->text from `capture-pane -e`; removes its colours, sets all but `over` and `marked`. */
void agent_screen_parse(struct live_screen *s, const struct profile *profile, const struct live_cursor *at);

/* As part of a batch: _ask adds it and returns its index for _answer. */
size_t agent_screen_ask(struct tmux_batch *b, const struct pane *p, int rows);
void agent_screen_answer(const struct tmux_batch *b, size_t at, const struct profile *profile,
    const char *recovery_id, struct live_screen *out);
/* -1 as tmux_batch_run. Release in any case. */
int agent_screen_read(struct tmux *t, const struct pane *p, const struct profile *profile,
    const char *recovery_id, int rows, struct live_screen *out, struct err *e);
void agent_screen_release(struct live_screen *s);

/* ---- npm_binary ---- */

/*
 * Some npm scripts run the program in a child, and their death takes the screen away (copilot
 * 1.0.102: the child leaves the alternate screen and ends). A recovered agent is that program, so
 * that its next crash leaves a screen.
 */

/*
 * The program below the script, by the row's `native` ("PACKAGE PROGRAM …", names below
 * node_modules; the first that exists). A name without a slash is searched in path; links are
 * followed. Heap; NULL: none, something else is started, or not certain.
 */
char *launch_npm_binary(const struct launch *l, const struct profile *p, const char *path);

/*
 * fed: of launch_with_prompt or launch_with_resume. The same with that program; heap, NULL: not
 * certain.
 */
char *launch_npm_command(const struct launch *l, const char *fed, const char *program);

#endif
