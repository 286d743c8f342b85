#ifndef CONTEXT_TRANSCRIPT_DOCUMENT_H
#define CONTEXT_TRANSCRIPT_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

struct err;
struct tail;

/*
 * A session file that is one JSON object, of which one member is the list of what was said (auggie's, cline's, what opencode exports):
 * where the objects of that list lie, found in one pass over the bytes, whatever they are, with sixteen bytes for each of them. The other
 * members come together as an object of their own.
 */
struct span {
	off_t at;
	size_t n;
};

struct document {
	struct span *v;		/* oldest first */
	size_t n, cap;
	struct buf head;	/* "{…}": the other members, those of up to half a mebibyte, two mebibytes in all */
	bool torn;		/* the object does not close */
};

/* list: the member's name. document need not be initialised and is empty after -1 (a read error). */
int document_read(struct document *d, struct tail *t, const char *list, struct err *e);
void document_release(struct document *d);

#endif
