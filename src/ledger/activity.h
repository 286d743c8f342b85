#ifndef LEDGER_ACTIVITY_H
#define LEDGER_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/moment.h"

struct beat;
struct err;
struct store;

/*
 * What an agent's hooks told of one conversation (ledger/beat.h): the record activity:<conversation>, its tag working, waiting or ended.
 * Its newest beat is the agent's heartbeat; of files that it writes it tells which write has begun and not ended. A beat is no event: an
 * agent sends some thousand a day. Beats may come late, out of order and twice; the record is the same afterwards, but for the order of
 * files that were told of at the same time.
 */
struct activity_file {
	char *path;			/* absolute, as the agent names it; foreign */
	char *tool, *call;
	char *agent;			/* the sub-agent that writes it; NULL: the agent itself */
	int64_t began, ended;		/* ms since 1970; ended 0: not told */
	bool failed;			/* it ended so */
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
	char *agent_uuid;		/* whose session it is (ledger/session.h) */
	/* as the newest beat told them; event: what it was, tool: what is running */
	char *transcript, *cwd, *event, *tool, *socket, *pane;
	struct moment at;		/* of the newest beat, by its host's clock */
	int64_t heard;			/* when the store was told last, by its clock, ms since 1970; 0: it is one machine's alone */
	struct activity_call last;	/* the agent's own, not of its sub-agents */
	int64_t started, turned, ended;	/* ms since 1970, 0: not told: the last start, end of a turn or new prompt, end */
	struct activity_file *files;	/* one a path, in the order of their first write; the newest ACTIVITY_FILES */
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
 * Had this write begun, and nothing told of its end: neither that of the call, nor of the turn that it stood in, nor a later call of the same
 * agent? (Claude Code 2.1.197 and 2.1.330 let nothing else run beside a write.) The file may be half written, whole or untouched, when the
 * agent is dead.
 */
bool activity_unfinished(const struct activity *a, const struct activity_file *f);
/* The sub-agent works, as far as was told. */
bool activity_agent_works(const struct activity *a, const struct activity_agent *x);

/* Calls row for each conversation with that tag (NULL: any), as store_each does. It lends the activity. */
typedef int activity_row(const struct activity *a, void *arg, struct err *e);
int activity_each(struct store *s, const char *tag, activity_row *row, void *arg, struct err *e);

/*
 * Notes beats of one conversation, oldest first, durably in one commit; before it, where they tell of it:
 *
 *	a start, or the first that is heard of it: the session (ledger/session.h) is ACTIVE with the process and the conversation. It is the
 *	one that has this process, else this conversation, else the one that was in this pane (the record place:<boot>:<server>:<pane>) and
 *	is dead, else, if it is the only one, that of this tmux session; else a new one whose id is the conversation's. A place in which
 *	another one lives is not its own: an agent's command may start agents. Sub-agents of the process before have ended
 *	a sub-agent: it is spawned below it in the tree, as <agent_uuid>:<id>, and ended with its turn
 *	an end that a person wanted: the agent has ended, and all below it. Other ends, say by a signal when the machine goes down, are left
 *	to startup
 *
 * What the ledger's rules refuse (the session has ended, its parent has) is left as it is, and the beats are noted all the same. -1:
 * nothing of the beats is noted.
 */
int activity_note(struct store *s, const struct beat *const *beats, size_t n, struct err *e);

/*
 * Deletes what nobody will ask for any more: conversations whose newest beat is older than `before` (ms since 1970) and whose session has ended or
 * is not known, and places of other boots that as long nobody was told to be in. *n (may be NULL): how many records. Who dies in between goes on
 * the next time.
 */
int activity_tidy(struct store *s, int64_t before, size_t *n, struct err *e);

/* The pure part of it. */
void activity_apply(struct activity *a, const struct beat *b);

#endif
