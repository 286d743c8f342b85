#ifndef SCRUB_VIEW_H
#define SCRUB_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "scrub/frame.h"

/*
 * Views of rows: their bodies as lines of text with a map back to the source. VIEW_HARD joins rows that are cut in mid-word at the edge, VIEW_SOFT
 * those that are broken at a blank.
 */
enum view_mode { VIEW_ROWS, VIEW_HARD, VIEW_SOFT, VIEW_PAIRS };

/* A stretch of the view that stands in one piece in the source. */
struct stretch {
	size_t at;		/* offset in the view */
	size_t src;		/* offset in the source */
	size_t row;
};

#define VIEW_INIT { .text = BUF_INIT }

struct view {
	struct buf text;	/* lines, each ended by a newline */
	struct stretch *v;
	size_t n, cap;
	const struct frames *rows;
};

/*
 * VIEW_ROWS: every row is a line. VIEW_HARD, VIEW_SOFT: only lines that consist of several rows are there. VIEW_PAIRS: the same
 * of a hot row and the one below that begins with the value to its name ("name: X", "value: …"; <key>X</key>, <string>…; "name: |" of YAML).
 * Lines all of whose rows are quiet, or all dull, are left out, and so are escape sequences and invisible runes; rows are no longer quiet
 * where the view shows another line than it did last time.
 * A view may show one thing after the other.
 */
void view_show(struct view *w, const char *text, struct frames *rows, enum view_mode mode);
/* Nothing; and then, behind what it shows already, rows [from, to), dull ones too, each a line. Quiet ones are left out. */
void view_empty(struct view *w, const struct frames *rows);
void view_add(struct view *w, const char *text, size_t from, size_t to);
void view_release(struct view *w);				/* overwrites the text */

/* False when no view joins row i with the next one. */
bool view_goes_on(const char *text, const struct frames *r, size_t i);
/* Sets `hides` of rows [from, to), which stand one below the other. Before a view shows them. */
void view_hides(const char *text, struct frames *r, size_t from, size_t to);

/* The source offset of a byte of the view, and its row. */
size_t view_source(const struct view *w, size_t at, size_t *row);
/* Where in the view the piece ends that stands in one piece in the source and has the byte at `at`. */
size_t view_piece(const struct view *w, size_t at);

#endif
