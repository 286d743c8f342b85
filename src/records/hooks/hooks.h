#ifndef RECORDS_HOOKS_HOOKS_H
#define RECORDS_HOOKS_HOOKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/timestamp.h"

struct buf;
struct err;
struct hook_adapter;
struct hook_event;
struct store;
struct txn;

/* ---- activity ---- */

/*
 * What an agent's hooks told of one conversation (records/hooks/hooks.h): the record
 * activity:<conversation>, its tag working, waiting or ended. Its newest beat is the agent's
 * heartbeat; of files that it writes it tells which write has begun and not ended. A beat is no
 * event: an agent sends some thousand a day. Beats may come late, out of order and twice; the
 * record is the same afterwards, but for the order of files that were told of at the same time.
 */
struct activity_file {
	char *path;			/* absolute, as the agent names it; foreign */
	char *tool, *call;
	char *agent;			/* the sub-agent that writes it; NULL: the agent itself */
	int64_t began, ended;		/* ms since 1970; ended 0: not told */
	char status[12];		/* in_progress, left, written or failed */
};

/* The newest call of an agent that was told to begin. */
struct activity_call {
	char *id;
	int64_t at;			/* ms since 1970; 0: none */
};

struct activity_agent {
	char *id, *type;		/* as the provider calls them; type may be NULL */
	int64_t began, ended;		/* of its last turn */
	struct activity_call last;
};

struct activity {
	int64_t version;		/* of the record; 0: there is none yet */
	char *conversation;
	char *agent_uuid;		/* whose session it is (records/agents/agents.h) */
	/* as the newest beat told them; event: what it was, tool: what is running */
	char *transcript, *cwd, *event, *tool, *socket, *pane;
	struct timestamp at;		/* of the newest beat, by its host's clock */
	/* when the store was told last, by its clock, ms since 1970; 0: it is one machine's alone */
	int64_t last_seen_at;
	struct activity_call last;	/* the agent's own, not of its sub-agents */
	/* ms since 1970, 0: not told: the last start, end of a turn or new prompt, end */
	int64_t started, turned, ended;
	/* one a path, in the order of their first write; the newest ACTIVITY_FILES */
	struct activity_file *files;
	size_t n_files, cap_files;
	struct activity_agent *agents;	/* the newest ACTIVITY_AGENTS */
	size_t n_agents, cap_agents;
};

#define ACTIVITY_FILES 128
#define ACTIVITY_AGENTS 64

/* 1 found, 0 absent, -1 err. *out is empty unless 1; release it. */
int activity_load(struct store *s, const char *conversation, struct activity *out, struct err *e);
void activity_release(struct activity *a);

/*
 * Had this write begun, and nothing told of its end: neither that of the call, nor of the turn
 * that it stood in, nor a later call of the same agent? (Claude Code 2.1.197 and 2.1.330 let
 * nothing else run beside a write.) The file may be half written, whole or untouched, when the
 * agent is dead.
 */
bool activity_file_unfinished(const struct activity *a, const struct activity_file *f);

/* Calls row for each conversation with that tag (NULL: any), as store_each does. It lends the activity. */
typedef int activity_row(const struct activity *a, void *arg, struct err *e);
int activity_each(struct store *s, const char *tag, activity_row *row, void *arg, struct err *e);

/*
 * Notes beats of one conversation, oldest first, durably in one commit; before it, where they tell of it:
 *
 * 	a start, or the first that is heard of it: the session (records/agents/agents.h) is ACTIVE
 * 	with the process and the conversation. It is the
 * 	one that has this process, else this conversation, else the one that was in this pane (the
 * 	record place:<boot>:<server>:<pane>) and
 * 	is dead, else, if it is the only one, that of this tmux session; else a new one whose id is
 * 	the conversation's. A place in which
 * 	another one lives is not its own: an agent's command may start agents. Sub-agents of the
 * 	process before have ended
 * 	a sub-agent: it is spawned below it in the tree, as <agent_uuid>:<id>, and ended with its turn
 * 	an end that a person wanted: the agent has ended, and all below it. Other ends, say by a
 * 	signal when the machine goes down, are left
 * 	to startup
 *
 * What the ledger's rules refuse (the session has ended, its parent has) is left as it is, and
 * the beats are noted all the same. -1: nothing of the beats is noted.
 */
int activity_apply_events(struct store *s, const struct hook_event *const *beats, size_t n, struct err *e);

/*
 * Deletes what nobody will ask for any more: conversations whose newest beat is older than
 * `before` (ms since 1970) and whose session has ended or is not known, and places of other boots
 * that as long nobody was told to be in. *n (may be NULL): how many records. Who dies in between
 * goes on the next time.
 */
int activity_expire(struct store *s, int64_t before, size_t *n, struct err *e);

/* The pure part of it. */
void activity_apply(struct activity *a, const struct hook_event *b);

/* ---- hook_adapter ---- */

/*
 * How each agent tells its hooks: where they are installed, what they are called, what stands in
 * their input. All are told by the names of Claude Code's events in what we keep
 * (records/hooks/hooks.h). Seen with codex 0.169.0, gemini 0.61.0, qwen 0.15.10, copilot
 * 1.0.102 and opencode 1.18.33; events that an older version might not know are left out.
 */
enum hook_form {
	HOOK_FORM_GROUPS,   /* {"hooks": {EVENT: [{"hooks": [{"type": "command", COMMAND: line}]}]}} */
	HOOK_FORM_LIST,   /* {"hooks": {EVENT: [{"type": "command", COMMAND: line}]}} */
	HOOK_FORM_PLUGIN   /* a program of ours that the agent loads */
};

struct hook_event_name {
	const char *name;		/* as the agent calls it */
	const char *as;			/* as Claude Code does */
};

struct hook_writer {
	const char *tool;		/* one that writes files; a list ends by NULL */
	/* of its input, in which the path stands; NULL: the input is a patch */
	const char *key;
};

struct hook_adapter {
	const char *agent;		/* row of config/agents.ini */
	enum hook_form form;
	const char *folder, *file;	/* folder as in the column of agents.ini, the file below it */
	const char *command;		/* the member that holds the line */
	/* the member that holds the time after which the agent gives a hook up */
	const char *timeout;
	/* 5 seconds, as the agent counts them; ours has long given up itself */
	int limit;
	bool named;			/* shows the name of a hook while it runs, else the line */
	/* may run its hooks in a process that is no window's, with the place of another */
	bool server;
	const struct hook_event_name *events;
	size_t n_events;
	const char *session, *transcript, *tool, *call, *input;	/* members of the hook's input */
	const struct hook_writer *writers;
	/* the reason of an end that a person wanted, beside Claude Code's; NULL: none */
	const char *wanted;
	const char *first;		/* what a person has to do before they work; NULL: nothing */
};

/* NULL: hooks of that agent are not known. NULL for the name: Claude Code's. */
const struct hook_adapter *hook_adapter_find(const char *agent);
size_t hook_adapter_count(void);
const struct hook_adapter *hook_adapter_at(size_t i);

/* NULL: that tool writes no file. */
const struct hook_writer *hook_adapter_writer(const struct hook_adapter *r, const char *tool);

/*
 * The files of a patch as codex and opencode write them ("*** Add File: src/a.c", Update, Delete,
 * Move to), a line each into out, relative ones with cwd (may be NULL) in front. Linear in the
 * patch; at most max bytes, whole lines.
 */
void hook_patch_files(struct buf *out, const char *patch, size_t n, const char *cwd, size_t max);

/* ---- hook_event ---- */

/*
 * What a hook of an agent told at one moment: that it lives, and what it begins or has ended.
 * Read from the JSON that Claude Code gives its hooks (2.1.197: session_id, transcript_path, cwd,
 * tool_name, tool_use_id, tool_input, agent_id, agent_type, source, reason, model) or another
 * agent (records/hooks/hooks.h), and written as a line of the spool
 * (records/hooks/hooks.h). Of a tool's input only the paths of files are taken; no prompt,
 * command or content.
 */
enum hook_kind {
	HOOK_OTHER,			/* lives; nothing more is known of that event */
	HOOK_START,
	HOOK_PROMPT,
	HOOK_PRE_TOOL,			/* a call is about to run */
	HOOK_POST_TOOL,			/* it ran to its end */
	HOOK_TOOL_FAILED,		/* it failed, and its agent was told so */
	HOOK_AGENT_STOP,		/* a sub-agent's turn has ended */
	HOOK_STOP,			/* the turn has ended */
	HOOK_END
};

struct hook_event {
	enum hook_kind kind;
	struct timestamp at;
	/* heap, NULL when not told; HOOK_TEXT_MAX bytes each */
	char *provider;			/* the agent's row of config/agents.ini; NULL: claude */
	char *event;   /* "PreToolUse", as Claude Code calls the hook, whatever the agent does */
	char *conversation;		/* the provider's id; record_check_id */
	char *transcript, *cwd, *model;
	char *tool, *call;		/* the tool's name, the id of the call */
	char *path;			/* of a call that writes files: the first */
	char *paths;			/* the others, a line each */
	char *agent, *agent_type;	/* the sub-agent that it happened in; NULL: the agent itself */
	char *reason;   /* of a start or an end: "startup", "clear", "prompt_input_exit" (whatever the agent
			   calls that) */
	/* Not told by the provider; set by the caller. */
	char *session, *socket, *pane;	/* of tmux; session only where the pane is its only one */
	char *server;			/* the tmux server's pid */
	char *start_command;		/* clean */
	char boot_id[40];		/* of the process, as in records/agents/agents.h; "": not known */
	int64_t pid, pid_start;
};

#define HOOK_TEXT_MAX 4096

/*
 * From a hook's standard input, of any size; linear in it. A text that is too long counts as not
 * told. event: as this agent calls it. -1: it is no JSON object, or names no conversation (name
 * "hook").
 */
int hook_event_parse(struct hook_event *b, const struct hook_adapter *row, const char *event, const char *p,
    size_t n, struct err *e);
void hook_event_release(struct hook_event *b);

json_t *hook_event_json(const struct hook_event *b);		/* new reference */
/* -1: it is none of hook_event_json's. */
int hook_event_from_json(struct hook_event *b, const json_t *o, struct err *e);

/* ---- spool ---- */

/*
 * Where hooks put what they cannot tell the store in time, since it is locked, damaged or far
 * away: a file in the state directory, 0600, a JSON line each (records/hooks/hooks.h),
 * replayed by whoever opens the store next. Its own lock (flock) keeps writers and the replayer
 * apart.
 */
#define HOOK_SPOOL "spool"
#define HOOK_SPOOL_MAX                                                                                       \
	((size_t)16 << 20) /* bytes; beyond it nothing more is taken ("full"): some 30,000 lines */

/*
 * Appends a line; durable when it answers 0. A torn line of a writer that was killed is ended
 * first, and passed over by the replay. Waits at most wait_ms for another. Names: those of
 * io_lock, "not-private", "full", "write". Fault points: "spool-append", "spool-sync".
 */
int hook_spool_append(const char *path, const struct hook_event *b, int wait_ms, struct err *e);

/*
 * Notes all lines, each conversation's in one commit (activity_apply_events), and empties the
 * file then: whoever dies between begins again, to the same end. A lock that another holds is
 * left to him: 0. *n (may be NULL): how many beats were noted. -1 with err when the store or the
 * file fails; nothing of the file is lost then. Fault point: "spool-empty".
 */
int hook_spool_replay(struct store *s, const char *path, size_t *n, struct err *e);

#endif
