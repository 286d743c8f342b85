#ifndef RECORDS_HOOKS_HOOKS_H
#define RECORDS_HOOKS_HOOKS_H

#include "records/records.h"

struct buf;
struct hook_adapter;
struct hook_event;
struct session;

/* ---- activity ---- */

/*
 * What an agent's hooks reported of one conversation: the record activity:<conversation>, its tag
 * working, waiting or ended. The newest report is the agent's heartbeat; of the files that it writes
 * the record shows which write has begun and not ended. A report makes no event: an agent sends some
 * thousand a day. Reports may come late, out of order and twice; the record is the same afterwards,
 * but for the order of files that were reported at the same time.
 */
struct activity_file {
	char *path;			/* absolute, as the agent names it; foreign */
	char *tool, *call;
	char *agent;			/* the sub-agent that writes it; NULL: the agent itself */
	int64_t began, ended;		/* ms since 1970; ended 0: not reported */
	char status[12];		/* in_progress, left, written or failed */
};

/* The newest call of an agent that began. */
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
	/* by the newest report; event: what it was, tool: what is running */
	char *transcript, *cwd, *event, *tool, *socket, *pane;
	struct timestamp at;		/* of the newest report, by its host's clock */
	/* of the last commit, by the store's clock, ms since 1970; 0: the store is one machine's alone */
	int64_t last_seen_at;
	struct activity_call last;	/* the agent's own, not of its sub-agents */
	/* ms since 1970, 0: not reported: the last start, end of a turn or new prompt, end */
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
 * This write began, and nothing shows its end: not the end of the call or of its turn, nor a later
 * call of the same agent. (Claude Code 2.1.197 and 2.1.330 run nothing beside a write.) When the
 * agent is dead, the file may be half written, complete or untouched.
 */
bool activity_file_unfinished(const struct activity *a, const struct activity_file *f);

/* Calls row for each conversation with that tag (NULL: any), as store_each does; the activity is lent. */
typedef int activity_row(const struct activity *a, void *arg, struct err *e);
int activity_each(struct store *s, const char *tag, activity_row *row, void *arg, struct err *e);

/*
 * Notes reports of one conversation, oldest first, durably in one commit; before it, where they say so:
 *
 * 	a start, or the first report of it: the session (records/agents/agents.h) is ACTIVE with the
 * 		process and the conversation. It is the one with this process, else with this
 * 		conversation, else the dead one that was in this pane (the record
 * 		place:<boot>:<server>:<pane>), else the only one of this tmux session; else a new one
 * 		with the conversation's id. A place in which another lives is not its own: an agent's
 * 		command may start agents. Sub-agents of the process before have ended
 * 	a sub-agent: it is spawned below it in the tree, as <agent_uuid>:<id>, and ended with its turn
 * 	an end that a person wanted: the agent and all below it have ended. Other ends, as by a signal
 * 		when the machine goes down, are left to startup
 *
 * What the rules of the records refuse (the session or its parent has ended) stays as it is, and the
 * reports are noted. -1: none is noted.
 */
int activity_apply_events(struct store *s, const struct hook_event *const *beats, size_t n, struct err *e);

/*
 * The session of the agent that hooks last told to be in this pane of a tmux server of this boot. 1
 * found, 0 not, -1 err. session_release when 1.
 */
int activity_in_place(
    struct store *s, int64_t server_pid, const char *pane, struct session *out, struct err *e);

/*
 * Deletes conversations whose newest report is before `before` (ms since 1970) and whose session has
 * ended or is unknown, and places of other boots as old. *n (may be NULL): how many records. At most
 * some hundred a call.
 */
int activity_expire(struct store *s, int64_t before, size_t *n, struct err *e);

/* The pure part of it. */
void activity_apply(struct activity *a, const struct hook_event *b);

/* ---- hook_adapter ---- */

/*
 * The hooks of each agent: where they are installed, their names, the members of their input. Records
 * use the names of Claude Code's events. Seen with codex 0.169.0, gemini 0.61.0, qwen 0.15.10,
 * copilot 1.0.102 and opencode 1.18.33; events that an older version might not know are left out.
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
	const char *key;		/* of the input: the path; NULL: the input is a patch */
};

struct hook_adapter {
	const char *agent;		/* row of config/agents.ini */
	enum hook_form form;
	const char *folder, *file;	/* folder as in the column of agents.ini, the file below it */
	const char *command;		/* the member that holds the line */
	const char *timeout;		/* the member that holds the time limit of a hook */
	int limit;			/* 5 seconds, in the agent's unit; ours ends long before */
	bool named;			/* shows the name of a hook while it runs, else the line */
	bool server;			/* may run hooks in a process of no window, with another's place */
	const struct hook_event_name *events;
	size_t n_events;
	const char *session, *transcript, *tool, *call, *input;	/* members of the hook's input */
	const struct hook_writer *writers;
	const char *wanted;		/* one more reason of an end that a person wanted; NULL: none */
	const char *first;		/* what a person has to do before they work; NULL: nothing */
};

/* NULL: hooks of that agent are not known. NULL for the name: Claude Code's. */
const struct hook_adapter *hook_adapter_find(const char *agent);
size_t hook_adapter_count(void);
const struct hook_adapter *hook_adapter_at(size_t i);

/* NULL: that tool writes no file. */
const struct hook_writer *hook_adapter_writer(const struct hook_adapter *r, const char *tool);

/*
 * The files of a patch of codex or opencode ("*** Add File: src/a.c", Update, Delete, Move to), a line
 * each, relative ones with cwd (may be NULL) in front; at most max bytes, whole lines. Linear.
 */
void hook_patch_files(struct buf *out, const char *patch, size_t n, const char *cwd, size_t max);

/* ---- hook_event ---- */

/*
 * What a hook of an agent reports: that the agent lives, and what it begins or has ended. Read from
 * the JSON that Claude Code gives its hooks (2.1.197: session_id, transcript_path, cwd, tool_name,
 * tool_use_id, tool_input, agent_id, agent_type, source, reason, model) or another agent, and written
 * as a line of the spool. Of a tool's input only paths of files are taken; no prompt, command or
 * content.
 */
enum hook_kind {
	HOOK_OTHER,			/* it lives */
	HOOK_START,
	HOOK_PROMPT,
	HOOK_PRE_TOOL,			/* a call is about to run */
	HOOK_POST_TOOL,			/* it ran to its end */
	HOOK_TOOL_FAILED,		/* it failed, and its agent knows */
	HOOK_AGENT_STOP,		/* a sub-agent's turn has ended */
	HOOK_STOP,			/* the turn has ended */
	HOOK_END
};

struct hook_event {
	enum hook_kind kind;
	struct timestamp at;
	/* heap, NULL when not reported; HOOK_TEXT_MAX bytes each */
	char *provider;			/* the agent's row of config/agents.ini; NULL: claude */
	char *event;   /* "PreToolUse", as Claude Code calls the hook, whatever the agent does */
	char *conversation;		/* the provider's id; record_check_id */
	char *transcript, *cwd, *model;
	char *tool, *call;		/* the tool's name, the id of the call */
	char *path;			/* of a call that writes files: the first */
	char *paths;			/* the others, a line each */
	char *agent, *agent_type;	/* the sub-agent that it happened in; NULL: the agent itself */
	char *reason;			/* of a start or an end, by Claude Code's names: "startup", "clear" */
	/* not from the provider; set by the caller */
	char *session, *socket, *pane;	/* of tmux; session only where the pane is its only one */
	char *server;			/* the tmux server's pid */
	char *start_command;		/* clean */
	char boot_id[40];		/* of the process, as in records/agents/agents.h; "": not known */
	int64_t pid, pid_start;
};

#define HOOK_TEXT_MAX 4096

/*
 * From a hook's standard input, of any size; linear. A text that is too long counts as missing. event:
 * as this agent calls it. -1: it is no JSON object, or names no conversation ("hook").
 */
int hook_event_parse(struct hook_event *b, const struct hook_adapter *row, const char *event, const char *p,
    size_t n, struct err *e);
void hook_event_release(struct hook_event *b);

json_t *hook_event_json(const struct hook_event *b);		/* new reference */
/* -1: it is none of hook_event_json's. */
int hook_event_from_json(struct hook_event *b, const json_t *o, struct err *e);

/* ---- spool ---- */

/*
 * Where hooks put what the store cannot take in time, being locked, damaged or far away: a file in
 * the state directory, 0600, a JSON line each, replayed by the next command that opens the store. A
 * lock (flock) keeps writers and the replay apart.
 */
#define HOOK_SPOOL "spool"
#define HOOK_SPOOL_MAX ((size_t)16 << 20)	/* bytes, some 30,000 lines; beyond it: "full" */

/*
 * Appends a line; durable when it answers 0. A line that a killed writer left torn is ended first, and
 * skipped by the replay. Waits at most wait_ms for the lock. Names: those of io_lock, "not-private",
 * "full", "write". Fault points: "spool-append", "spool-sync".
 */
int hook_spool_append(const char *path, const struct hook_event *b, int wait_ms, struct err *e);

/*
 * A report that a full spool could not take is counted in a file beside it, PATH.dropped. *last (may be
 * NULL): when the last one was, ms since 1970. 0: none was.
 */
size_t hook_spool_dropped(const char *path, int64_t *last);

/*
 * Notes all lines, each conversation's in one commit (activity_apply_events), and then empties the
 * file: a replay that was killed is repeated, to the same end. Locked by another: 0. *n (may be NULL):
 * how many reports were noted. -1: the store or the file failed; the file keeps all. Fault point:
 * "spool-empty".
 */
int hook_spool_replay(struct store *s, const char *path, size_t *n, struct err *e);

#endif
