#ifndef CONTEXT_LONG_LINE_H
#define CONTEXT_LONG_LINE_H

#include <stddef.h>

#include "base/buf.h"

/*
 * A line of JSON too long to be held: of each string only the beginning and the end are kept, a quarter of a mebibyte each, cut at
 * blanks, with the number of bytes left out between them. Fed in pieces of any size.
 */
struct long_line {
	struct buf out;		/* valid JSON when the line was; empty when even so more than 32 MiB were left */
	struct buf tail;	/* a ring */
	size_t seen;		/* bytes of the string at hand */
	size_t head;		/* where in out it begins */
	int escape;		/* digits of \\uXXXX still to come; -1: behind a backslash */
	char in_string, full;
};

void long_line_init(struct long_line *l);
void long_line_release(struct long_line *l);		/* overwrites */
void long_line_add(struct long_line *l, const char *p, size_t n);

#endif
