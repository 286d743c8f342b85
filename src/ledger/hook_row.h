#ifndef LEDGER_HOOK_ROW_H
#define LEDGER_HOOK_ROW_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/*
 * How each agent tells its hooks: where they are installed, what they are called, what stands in their input. All are told by the names of
 * Claude Code's events in what we keep (ledger/beat.h). Seen with codex 0.169.0, gemini 0.61.0, qwen 0.15.10, copilot 1.0.102 and
 * opencode 1.18.33; events that an older version might not know are left out.
 */
enum hook_form {
	HOOK_GROUPS,			/* {"hooks": {EVENT: [{"hooks": [{"type": "command", COMMAND: line}]}]}} */
	HOOK_LIST,			/* {"hooks": {EVENT: [{"type": "command", COMMAND: line}]}} */
	HOOK_PLUGIN			/* a program of ours that the agent loads */
};

struct hook_event {
	const char *name;		/* as the agent calls it */
	const char *as;			/* as Claude Code does */
};

struct hook_writer {
	const char *tool;		/* one that writes files; a list ends by NULL */
	const char *key;		/* of its input, in which the path stands; NULL: the input is a patch */
};

struct hook_row {
	const char *agent;		/* row of config/agents.ini */
	enum hook_form form;
	const char *folder, *file;	/* folder as in the column of agents.ini, the file below it */
	const char *command;		/* the member that holds the line */
	const char *timeout;		/* the member that holds the time after which the agent gives a hook up */
	int limit;			/* 5 seconds, as the agent counts them; ours has long given up itself */
	bool named;			/* shows the name of a hook while it runs, else the line */
	bool server;			/* may run its hooks in a process that is no window's, with the place of another */
	const struct hook_event *events;
	size_t n_events;
	const char *session, *transcript, *tool, *call, *input;	/* members of the hook's input */
	const struct hook_writer *writers;
	const char *wanted;		/* the reason of an end that a person wanted, beside Claude Code's; NULL: none */
	const char *first;		/* what a person has to do before they work; NULL: nothing */
};

/* NULL: hooks of that agent are not known. NULL for the name: Claude Code's. */
const struct hook_row *hook_row_find(const char *agent);
size_t hook_rows(void);
const struct hook_row *hook_row_at(size_t i);

/* By Claude Code's name; name itself when there is none. Borrowed. */
const char *hook_row_event(const struct hook_row *r, const char *name);

/* NULL: that tool writes no file. */
const struct hook_writer *hook_row_writer(const struct hook_row *r, const char *tool);

/*
 * The files of a patch as codex and opencode write them ("*** Add File: src/a.c", Update, Delete, Move to), a line each into out, relative
 * ones with cwd (may be NULL) in front. Linear in the patch; at most max bytes, whole lines.
 */
void hook_patch_files(struct buf *out, const char *patch, size_t n, const char *cwd, size_t max);

#endif
