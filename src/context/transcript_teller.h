#ifndef CONTEXT_TRANSCRIPT_TELLER_H
#define CONTEXT_TRANSCRIPT_TELLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_slice.h"
#include "context/exchange.h"
#include "context/wash.h"

struct buf;
struct scrub;

/*
 * What the readers of session files (context/transcript_reader.h) tell of a record becomes exchanges here: calls meet their results, what
 * never got one is still at work or was cut off, every string passes the scrubber. Or, with `sought`, nothing is kept: it is only seen
 * whether the person's words hold that, and what came behind them.
 */
struct teller {
	struct wash wash;
	struct conversation *out;
	struct teller_mark *marks;	/* beside the exchanges, by index */
	size_t cap_marks;
	void *calls;			/* tree of the calls by the hash of their ids */
	uint64_t answer;		/* counts the answers of the model; calls of one run side by side */
	size_t stopped;			/* exchanges when the person stopped the agent the last time */
	uint64_t end;			/* hash of the id of the record from which on nothing holds; 0: none */
	bool older;			/* there are older records than those told: a result without its call is one of theirs */
	bool has_banner, has_session;

	const char *sought;		/* NULL: keep exchanges */
	bool asked;			/* the person's words hold it */
	bool answered, refused;		/* the model said or called something; an error came instead */
	bool answered_behind, refused_behind;	/* … in the same record, behind what was asked */
};

void teller_init(struct teller *t, struct scrub *s, struct conversation *out);
void teller_seek(struct teller *t, const char *sought);		/* instead of init: out and scrubber are not needed */
void teller_release(struct teller *t);

/* Another answer of the model begins, with calls of its own. */
void teller_answer(struct teller *t);
/*
 * Words of the person, the model, or the program. text is empty then; nothing but blanks is not told. at: ms of the wall clock, 0: not
 * known.
 */
void teller_words(struct teller *t, enum role role, enum status status, int64_t at, struct buf *text);
/* The model calls a tool: a string holds the input as JSON, or as it is. */
void teller_call(struct teller *t, struct json_slice id, struct json_slice name, struct json_slice input, int64_t at);
/* What became of a call; text is empty then. Of one that was not told a call without name and input, unless it may be an older one. */
void teller_result(struct teller *t, struct json_slice id, enum status status, int64_t at, struct buf *text);
bool teller_has_call(const struct teller *t, struct json_slice id);
/* The person stopped the model: its last words or calls, or the prompt that has no answer yet. */
void teller_interrupt(struct teller *t, int64_t at);
/* What an older part of the conversation was shortened to. Nothing without words. */
void teller_summary(struct teller *t, struct json_slice text, int64_t at);
/* The person took back the last of what was told, with the last `prompts` prompts. */
void teller_take_back(struct teller *t, size_t prompts);
/* What stands behind the record with that id, and itself, was taken back. */
void teller_end(struct teller *t, struct json_slice id);
/* The task list, one task a line. text is empty then. */
void teller_tasks(struct teller *t, struct buf *text);
/* A usage or auth limit holds the agent up, until the person's next words. */
void teller_limit(struct teller *t, bool limit);
/* The agent's version (FIELD_BANNER), its id of the conversation (FIELD_SESSION): the first that is told counts. */
void teller_head(struct teller *t, enum field field, struct json_slice text);
/* Everything was told: calls without a result are at work when nothing followed, cut off otherwise. */
void teller_finish(struct teller *t);

#endif
