#ifndef CONTEXT_TRANSCRIPT_RECORD_H
#define CONTEXT_TRANSCRIPT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/json_slice.h"

/*
 * One line of Claude Code's transcript, as far as the order of the conversation needs it; its words stay in the file. Names (uuids, message
 * ids, ids of calls) are kept as 64-bit hashes: two that fall together cost an exchange its place, nothing else.
 */
enum record_kind {
	RECORD_USER, RECORD_ASSISTANT, RECORD_SYSTEM, RECORD_ATTACHMENT,
	RECORD_QUEUE,		/* a prompt was queued, taken from the queue, or removed */
	RECORD_LINK,		/* says nothing, but others hang on it (progress) */
	RECORD_NOTE,		/* the program's own book-keeping */
	RECORD_UNKNOWN		/* a type that no rule knows */
};

struct record {
	off_t at;		/* the line */
	size_t n;
	uint64_t id, parent, logical;	/* 0: none; logical: the parent across a compaction */
	uint64_t message;	/* what the blocks of one answer have in common */
	int64_t time;		/* ms of the wall clock, 0 when not told */
	uint32_t words;		/* bytes that it may add to exchanges, as the file writes them */
	uint8_t kind;
	bool side;		/* a sub-agent's */
	bool meta;		/* not the person's, not the model's: put in by the program */
	bool prompt;		/* words of the user's side, no results */
};

/* A call's id in a record: where it was made, or where its result stands. */
struct call_link {
	uint64_t call;
	uint32_t record;	/* index of the record, the caller's */
	bool result;
	size_t exchange;	/* the caller's, SIZE_MAX at first */
};

/* The members of a record that are wanted; those that it lacks have no value. */
struct record_parts {
	struct json_slice type, subtype, uuid, parent, logical, time, session, version, message, content, attachment, operation, result;
	struct json_slice error;
	bool side, meta, summary, api_error;
	/* of the message */
	struct json_slice message_id, model, blocks;	/* blocks: a string or an array */
};

/* False when the line is no whole JSON object (torn). */
bool record_open(const char *line, size_t n, struct record_parts *out);
void record_read(const struct record_parts *p, struct record *out);

typedef void record_call_fn(void *arg, uint64_t call, bool result);
/* The ids of the calls and results in it. */
void record_calls(const struct record_parts *p, record_call_fn *fn, void *arg);

uint64_t record_name(struct json_slice name);		/* the hash; 0 for what is no string or empty */
int64_t record_time(struct json_slice time);		/* "2026-11-21T20:16:03.704Z"; 0 for anything else */

#endif
