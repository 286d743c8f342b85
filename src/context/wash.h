#ifndef CONTEXT_WASH_H
#define CONTEXT_WASH_H

#include <stddef.h>

#include "base/buf.h"

struct conversation;
struct scrub;

/*
 * The scrubber's cost is per call, a transcript's strings are many and short: they are scrubbed together, with a row between them over
 * which no rule reaches (lines of width 0 are looked at one by one; only a PEM block spans rows, and that row is none of its own), and
 * handed out by their line counts, which the scrubber keeps.
 */
enum field { FIELD_INPUT, FIELD_CONTENT, FIELD_TOOL, FIELD_BANNER, FIELD_SESSION, FIELD_QUESTION, FIELD_DRAFT, FIELD_TASKS };

struct wash {
	struct scrub *s;
	struct conversation *c;		/* its exchanges may be added to, not removed, before the flush */
	struct buf raw;
	struct wash_slot *v;
	size_t n, cap;
};

void wash_init(struct wash *b, struct scrub *s, struct conversation *c);
void wash_release(struct wash *b);		/* overwrites what is not scrubbed yet */
/* Sets a field of an exchange, or of the conversation, once flushed; a later text replaces an earlier. May flush. */
void wash_put(struct wash *b, size_t exchange, enum field field, const char *p, size_t n);
void wash_flush(struct wash *b);

/* A conversation that was kept on disk, once more: since then a rule or a value may have become known. */
void wash_conversation(struct conversation *c, struct scrub *s);

#endif
