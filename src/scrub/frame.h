#ifndef SCRUB_FRAME_H
#define SCRUB_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * The rows of a screen, each parted into its frame (what the agent drew around it: box bars, line numbers, diff signs, bullets, indent)
 * and its body, and views of them: the bodies as lines of text with a map back to the source.
 *
 * tmux joins only its own wraps (capture-pane -J); Claude Code writes real newlines and an indent, so that a secret is cut by a row
 * break and a frame. A view in mode VIEW_HARD joins rows that are cut in mid-word at the edge, VIEW_SOFT those that are broken at a blank.
 */
struct frame {
	size_t from, to;	/* the row in the source, without its newline */
	size_t body, end;	/* the body, without blanks at its ends */
	int frame_col;		/* column at which the frame ends; bodies may be indented further */
	int body_col, end_col;	/* columns of the body's first and behind its last character */
	int bar_col;		/* column of the closing bar of a box, or -1 */
	size_t sign_at;		/* where the sign stands */
	char sign;		/* '+' or '-' of a diff, or 0 */
	char mark;		/* the frame begins something new: bullet, number, ⎿ */
	char box;		/* it stands between bars */
	char key;		/* the body begins with "NAME=", "name: " or "name = ", as a line of its own does */
	char wide;		/* the body has bytes that are not ASCII */
	char joins;		/* cut in mid-word at the edge: the next row goes on where this one ends */
	char quiet;		/* seen before and unchanged since: left out of views */
	char dull;		/* no rule can find anything in it: left out of all views but VIEW_ALL */
	char hot;		/* a keyword stands in it; a soft seam behind other rows is none */
	char armor;		/* a line that begins or ends a key may stand in it */
};

struct frames {
	struct frame *v;	/* quiet, dull, hot and armor are the caller's to set */
	size_t n, cap;
	int width;
};

/*
 * `width` in columns. 0: not a screen, no row is cut. Below 0: not known, rows that reach as far as all their neighbours are taken for
 * full.
 */
void frames_init(struct frames *r, const char *text, size_t n, int width);
void frames_release(struct frames *r);

enum view_mode { VIEW_ALL, VIEW_ROWS, VIEW_HARD, VIEW_SOFT, VIEW_PAIRS };

/* A stretch of the view that stands in one piece in the source. */
struct stretch {
	size_t at;		/* offset in the view */
	size_t src;		/* offset in the source */
	size_t row;
};

struct view {
	struct buf text;	/* lines, each ended by a newline */
	struct stretch *v;
	size_t n, cap;
	const struct frames *rows;
};

/*
 * VIEW_ALL, VIEW_ROWS: every row is a line. VIEW_HARD, VIEW_SOFT: only lines that consist of several rows are there. VIEW_PAIRS: the same
 * of a hot row and the one below that begins with the value to its name ("name: X", "value: …"; <key>X</key>, <string>…). Lines all of
 * whose rows are quiet, or all dull, are left out, and so are escape sequences and invisible runes.
 */
void view_init(struct view *w, const char *text, const struct frames *rows, enum view_mode mode);
void view_release(struct view *w);				/* overwrites the text */

/* The bytes of row i + 1 that follow those of row i where it joins; `head` is the row with which the line began. */
size_t frames_next(const struct frames *r, size_t head, size_t i);
/* True when the body has escape sequences or invisible runes, which views leave out. */
bool frame_hides(const char *text, const struct frame *r);

/* The source offset of a byte of the view, and its row. */
size_t view_source(const struct view *w, size_t at, size_t *row);
/* Where in the view the piece ends that stands in one piece in the source and has the byte at `at`. */
size_t view_piece(const struct view *w, size_t at);

#endif
