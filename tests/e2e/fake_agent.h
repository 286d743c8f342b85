#ifndef TESTS_E2E_FAKE_AGENT_H
#define TESTS_E2E_FAKE_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * A small coding agent for tests. It looks like Claude Code 2.1.x (classic renderer), leaves the
 * same files behind and takes input the same ways, but nobody thinks inside. It can be told to
 * misbehave: see options_parse. What it was told and what happened goes to the directory
 * $FAKE_AGENT_LOG: message.NNN holds one user message byte for byte, events one line an event.
 */
#define FAKE_VERSION "2.1.197"

struct options {
	bool never_ready;	/* --never-ready: draws nothing, writes nothing, stays */
	bool eat_stdin;		/* --eat-stdin: reads standard input and forgets it */
	bool no_transcript;	/* --no-transcript */
	bool no_session_file;	/* --no-session-file */
	bool alt_screen;	/* --alt-screen */
	bool focus;		/* --focus: asks for focus reports, as the real program does */
	bool no_answer;		/* --no-answer: takes messages and stays busy for ever */
	bool swallow_enter;	/* --ignore-paste-first-enter: the first Enter after a paste has no effect */
	bool print;		/* --print, -p: ends when it has answered once */
	bool resume_last;	/* --continue */
	int die_status;		/* --die-at-once[=STATUS]; -1: does not */
	int slow_ms;		/* --slow MS: how long an answer takes */
	const char *hold;	/* --hold FILE: none is given while that file is there */
	/* --asleep: does not read its terminal until its size is said to have changed */
	bool asleep;
	/* --outlives-terminal: goes on when its terminal is gone, until it is killed */
	bool outlives;
	const char *dialog;	/* --dialog[=permission|trust]: NULL none */
	const char *draft;	/* --draft=TEXT: stands in the box from the start */
	/*
	 * --view=FILE: its rows stand where the box would, and the agent calls itself idle, as
	 * Claude's menus do
	 */
	const char *view;
	const char *scenario;	/* --scenario FILE */
	const char *go_to;	/* --go-to DIR: changes into it; its conversation stays where it began */
	const char *resume;	/* --resume ID */
	const char *session_id;	/* --session-id ID */
	const char *prompt;	/* the positional argument, or of --say */
	const char *prompt_file;	/* of --prompt-file: read once it works, like a prompt */
	bool skip_permissions;	/* --dangerously-skip-permissions: only the footer shows it */
};

/*
 * Fills o from argv and from the first line of the file $FAKE_AGENT_PLAN, which is used up by it.
 * Exits on --version and bad options.
 */
void options_parse(struct options *o, int argc, char *argv[]);

/* One line to the events file. */
void event(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* One user message to a file of its own. */
void log_message(const char *p, size_t n);

/* ---- fake_record.c: what Claude Code leaves on disk ---- */

struct record_keeper {
	char session[40];	/* UUID */
	char parent[40];	/* uuid of the last line, "" at the start */
	char *transcript;	/* path; NULL: none is written */
	char *session_file;	/* path; NULL: none is written */
	char *cwd;
	int64_t started;
};

/*
 * Chooses the session, removes the session files of dead processes. 0, or -1 with a sentence in
 * `why` (256 bytes).
 */
int keeper_init(struct record_keeper *k, const struct options *o, char *why);
/* writes sessions/PID.json */
void keeper_status(struct record_keeper *k, const char *status, const char *waiting_for);
/* removes it */
void keeper_goodbye(struct record_keeper *k);
void keeper_user(struct record_keeper *k, const char *p, size_t n, bool typed);
void keeper_text(struct record_keeper *k, const char *text);
/* Writes the tool_use line; id (40 bytes) receives the tool's id. */
void keeper_tool(struct record_keeper *k, const char *name, const char *input, char *id);
void keeper_result(struct record_keeper *k, const char *id, const char *text, bool failed);
void keeper_queued(struct record_keeper *k, const char *p, size_t n);

/* ---- fake_screen.c: what is drawn ---- */

struct screen {
	int fd;
	int cols;
	int above;		/* rows of the live area above the cursor */
	bool drawn;		/* there is a live area */
};

/* The part below the history that is drawn again and again. */
struct live {
	const struct buf *partial;	/* rows of an item that has not ended; empty: none */
	const struct buf *queued;	/* messages typed while busy, one a line; empty: none */
	const struct buf *tasks;	/* rows of the task list; empty: none */
	const struct buf *draft;	/* what stands in the box */
	const struct buf *dialog;	/* rows of an open dialog, drawn instead of the box; empty: none */
	bool busy;
	bool skip_permissions;
};

void screen_init(struct screen *s, int fd, bool alternate);
void screen_size(struct screen *s);
void screen_banner(struct screen *s, const char *cwd);
/* Rows are lines that end in \n; a blank row follows. The live area is gone after it until screen_live. */
void screen_history(struct screen *s, const struct buf *rows);
void screen_live(struct screen *s, const struct live *l);
void screen_leave(struct screen *s, bool alternate, const char *farewell);
void screen_title(struct screen *s, const char *title);

/* Rows of items, appended to out. */
void item_user(struct buf *out, int cols, const char *p, size_t n);
void item_text(struct buf *out, int cols, const char *text);
void item_tool(struct buf *out, int cols, const char *name, const char *input, int colour);
void item_result(struct buf *out, int cols, const char *text, bool failed);
void item_running(struct buf *out, int cols, const char *text, int seconds);
void item_grey(struct buf *out, const char *text);
void item_permission(struct buf *out, int cols, const char *command);
void item_trust(struct buf *out, int cols, const char *cwd);

enum { COLOUR_TEXT = 231, COLOUR_DONE = 114, COLOUR_FAILED = 211, COLOUR_RUNNING = 246 };

/* ---- fake_input.c: the keyboard ---- */

enum key { KEY_NONE, KEY_ENTER, KEY_ESCAPE, KEY_INTERRUPT, KEY_PASTED, KEY_TEXT };

struct input {
	int fd;
	struct buf pending;	/* bytes read and not yet understood */
	struct buf paste;	/* a bracketed paste, as far as it has come */
	bool pasting;
	int pastes;
	struct buf text;	/* the draft as it would be sent */
	struct buf shown;	/* the draft as the box shows it */
};

void input_init(struct input *in, int fd, bool focus);	/* raw mode, bracketed paste on */
void input_restore(struct input *in);
int input_read(struct input *in);		/* reads what is there; 0, or -1 at the end of the terminal */
/*
 * The next key that is complete. Text and pastes are put into the draft; with `drop` they are
 * thrown away (a dialog is open).
 */
enum key input_next(struct input *in, bool drop);
void input_clear(struct input *in);
void input_type(struct input *in, const char *text);	/* as if typed */

#endif
