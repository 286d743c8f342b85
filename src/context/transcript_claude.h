#ifndef CONTEXT_TRANSCRIPT_CLAUDE_H
#define CONTEXT_TRANSCRIPT_CLAUDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "context/wash.h"
#include "context/transcript_chain.h"
#include "context/transcript_record.h"

struct buf;
struct conversation;
struct dialect;
struct err;
struct scrub;
struct tail;

/* Claude Code's records into exchanges. The parts of the reader in context/transcript_*.c share this; nobody else includes it. */

/* What an exchange stands for; beside the conversation's exchanges, by index. */
struct mark {
	uint64_t message;	/* the answer it is a block of; 0: none */
	uint64_t call;		/* 0: words */
	bool answered;
	bool asks;		/* the call asks the person */
};

struct agent_call {
	size_t exchange;
	char *id;		/* as the transcript writes it */
	uint64_t task;		/* hash of what the sub-agent was told */
};

struct claude {
	struct tail *tail;
	struct scrub *s;
	struct conversation *out;
	struct dialect *dialect;
	struct chain chain;
	struct wash wash;
	struct mark *marks;
	size_t cap_marks;
	struct agent_call *agents;	/* calls of sub-agents, answered or not */
	size_t n_agents, cap_agents;
	uint64_t words;			/* bytes that the lines read so far may add */
	bool all;			/* read to the first line */
	bool side;			/* the sub-agents' records, not the session's */
	size_t first;			/* in the chain's order: where the exchanges begin */
	size_t settled;			/* exchanges before it are of an earlier process of the agent */
	size_t stopped;			/* exchanges when the person stopped the agent the last time */
	bool has_banner, has_session;
};

/* As transcript_read, on a tail; path: for the sub-agents' files, NULL when there is none. side: read sub-agents' records. */
int claude_read(struct tail *t, const char *path, bool side, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e);

/* An exchange for each record of the order. */
int claude_build(struct claude *c, struct err *e);
/* Prompts that were queued and stand nowhere else, in their places. */
int claude_queue(struct claude *c, struct err *e);
/* What sub-agents did whose calls have no result, from their own files beside the transcript at path. */
void claude_agents(struct claude *c, const char *path);

#endif
