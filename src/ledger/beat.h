#ifndef LEDGER_BEAT_H
#define LEDGER_BEAT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/moment.h"

struct err;
struct hook_row;

/*
 * What a hook of an agent told at one moment: that it lives, and what it begins or has ended. Read from the JSON that Claude Code gives its
 * hooks (2.1.197: session_id, transcript_path, cwd, tool_name, tool_use_id, tool_input, agent_id, agent_type, source, reason, model) or another
 * agent (ledger/hook_row.h), and written as a line of the spool (ledger/spool.h). Of a tool's input only the paths of files are taken; no
 * prompt, command or content.
 */
enum beat_kind {
	BEAT_OTHER,			/* lives; nothing more is known of that event */
	BEAT_START,
	BEAT_PROMPT,
	BEAT_TOOL,			/* a call is about to run */
	BEAT_TOOL_DONE,			/* it ran to its end */
	BEAT_TOOL_FAILED,		/* it failed, and its agent was told so */
	BEAT_AGENT_DONE,		/* a sub-agent's turn has ended */
	BEAT_STOP,			/* the turn has ended */
	BEAT_END
};

struct beat {
	enum beat_kind kind;
	struct moment at;
	/* heap, NULL when not told; BEAT_TEXT_MAX bytes each */
	char *provider;			/* the agent's row of config/agents.ini; NULL: claude */
	char *event;			/* "PreToolUse", as Claude Code calls the hook, whatever the agent does */
	char *conversation;		/* the provider's id; key_check_id */
	char *transcript, *cwd, *model;
	char *tool, *call;		/* the tool's name, the id of the call */
	char *path;			/* of a call that writes files: the first */
	char *paths;			/* the others, a line each */
	char *agent, *agent_type;	/* the sub-agent that it happened in; NULL: the agent itself */
	char *reason;			/* of a start or an end: "startup", "clear", "prompt_input_exit" (whatever the agent calls that) */
	/* Not told by the provider; set by the caller. */
	char *session, *socket, *pane;	/* of tmux; session only where the pane is its only one */
	char *server;			/* the tmux server's pid */
	char *start_command;		/* clean */
	char boot_id[40];		/* of the process, as in ledger/session.h; "": not known */
	int64_t pid, pid_start;
};

#define BEAT_TEXT_MAX 4096

/*
 * From a hook's standard input, of any size; linear in it. A text that is too long counts as not told. event: as this agent calls it. -1: it is
 * no JSON object, or names no conversation (name "hook").
 */
int beat_read(struct beat *b, const struct hook_row *row, const char *event, const char *p, size_t n, struct err *e);
void beat_release(struct beat *b);

json_t *beat_json(const struct beat *b);		/* new reference */
/* -1: it is none of beat_json's. */
int beat_from_json(struct beat *b, const json_t *o, struct err *e);

#endif
