#ifndef SCRUB_STREAM_H
#define SCRUB_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct clean_text;
struct scrub;
struct scrub_place;

/*
 * Text of any size through a scrubber, in bounded memory: a window of it is scrubbed at a time, with the last 512 rows (at most an eighth
 * of the window) of the window before and as many of the one behind it around what is given out, so that no seam cuts a secret that is
 * shorter than these. A value that is found in a window is sought in the whole of it and in all that follow, not in those before.
 *
 * A row longer than a quarter of the window is withheld, and counted. The window holds 16 MiB (STREAM_WINDOW) or 262,144 rows; the whole
 * process then takes up to about twelve times as much (make bench measures it).
 */
#define STREAM_WINDOW ((size_t)16 << 20)
#define STREAM_PLACES 10000

struct stream {
	struct scrub *s;
	int width;			/* as scrub_text's */
	size_t window;
	struct buf raw;
	size_t line;			/* where the last row of raw, which has no end yet, begins */
	size_t rows;			/* whole rows in raw */
	size_t given;			/* of these have been given out */
	size_t fresh;			/* where the first row stands that has not been in a window */
	size_t fresh_rows;		/* how many rows stand from there on */
	size_t row;			/* number of the first row of raw */
	bool dropping;			/* the row that arrives is withheld */

	/* what was replaced in what was given out */
	size_t *counts;			/* by kind (scrub_kind) */
	size_t found, changed, withheld;
	struct scrub_place *places;	/* the first STREAM_PLACES of them, by row (from 0); then they are only counted */
	size_t n_places, cap_places;
};

void stream_init(struct stream *st, struct scrub *s, int width, size_t window);
void stream_release(struct stream *st);		/* overwrites what is not scrubbed yet */

/* Takes n bytes more. Gives what is clean by now, for the caller to free, or NULL: more is needed. n: at most a quarter of the window. */
struct clean_text *stream_put(struct stream *st, const char *p, size_t n);
/* The rest. Never NULL. */
struct clean_text *stream_end(struct stream *st);

#endif
