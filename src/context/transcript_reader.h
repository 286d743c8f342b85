#ifndef CONTEXT_TRANSCRIPT_READER_H
#define CONTEXT_TRANSCRIPT_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json_slice.h"
#include "context/transcript_record.h"

struct chain;
struct conversation;
struct err;
struct pages;
struct scrub;
struct teller;

/*
 * One format of session files a reader, a page each (context/transcript_<name>.c): which records there are, in which order they hold, what
 * they tell. Everything else is the same for all of them and stands in context/transcript_reader.c. Claude Code's own reader is older and
 * knows more (context/transcript_claude.h).
 */
struct reader {
	const char *name;
	const char *list;	/* the member of one JSON object that holds the records; NULL: a record a line */
	const char *older_list;	/* the same for files of older versions that begin with a line "{"; NULL: there are none */
	bool heads;		/* each record tells session and version, the newest counts; false: pages.head does */

	/* Its kind, time, id and parent, where it has them; RECORD_UNKNOWN for a type that no rule knows. */
	void (*open)(struct json_slice record, struct record *out);
	/* The order in which they hold, as chain_order makes it. NULL: as they stand. */
	void (*order)(struct chain *c, bool all);
	/* A list in the record whose objects are records of their own, behind all that was before them. NULL: never. */
	struct json_slice (*spread)(struct json_slice record);
	void (*tell)(struct teller *t, const struct record *r, struct json_slice record);
	/* Session and version, and what else is not said in records. */
	void (*head)(struct teller *t, struct json_slice record);
};

const struct reader *reader_find(const char *name);	/* NULL: there is none */
/* As transcript_read. */
int reader_read(const struct reader *reader, struct pages *p, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e);

/* By parents, as the newest record's line goes; a record whose parent is nowhere follows the one before it. For `order`. */
void order_tree(struct chain *c, bool all);

extern const struct reader reader_codex, reader_gemini, reader_qwen, reader_copilot, reader_pi, reader_auggie, reader_cline,
	reader_opencode;

#endif
