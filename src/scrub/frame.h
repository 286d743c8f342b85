#ifndef SCRUB_FRAME_H
#define SCRUB_FRAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The rows of a screen, each parted into its frame (what the agent drew around it: box bars, line numbers, diff signs, bullets, indent)
 * and its body.
 *
 * tmux joins only its own wraps (capture-pane -J); Claude Code writes real newlines and an indent, so that a secret is cut by a row
 * break and a frame.
 */
#define LEAST_EDGE 40	/* a row shorter than this was not cut by a screen's edge */

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
	char hides;		/* the body has escape sequences or invisible runes, which views leave out */
	char changed;		/* something was replaced in it */
	char fresh;		/* new, changed, or joined otherwise than before */
	char quiet;		/* seen before and unchanged since: left out of views */
	char dull;		/* no rule can find anything in it: left out of what view_show shows */
	char hot;		/* a keyword stands in it; a soft seam behind other rows is none */
	char armor;		/* a line that begins or ends a key may stand in it */
	char withheld;		/* it stands for a row that could not be scrubbed */
	unsigned char seams;	/* the views (1 << view_mode) that last showed it in one line with the next row */
};

struct frames {
	struct frame *v;	/* hides, changed, quiet, dull, hot, armor and seams are the caller's to set */
	size_t n, cap;
	size_t *live;		/* the numbers of the rows that are not dull, so that views need not pass over all; the caller's to set */
	size_t n_live, cap_live;
	int width;
};

/*
 * `width` in columns. 0: not a screen, no row is cut. Below 0: not known, rows that reach as far as all their neighbours are taken for
 * full; none is where a row near by is withheld, as nobody knows how far that one went.
 */
void frames_init(struct frames *r, const char *text, size_t n, int width);
void frames_release(struct frames *r);
/*
 * The same rows in a text in which only those that are `changed` are others: they are read again. None is changed then, those at a seam that
 * came or went are no longer quiet, and only quiet ones are still hot.
 */
void frames_again(struct frames *r, const char *text, size_t n);

/* Row i + 1 stands where the rest of row i would stand; `head` is the row with which the line began. */
bool frames_continue(const struct frames *r, size_t head, size_t i);
/* The column at which row i is full; *slack: columns before it that may stay free. */
int frames_edge(const struct frames *r, size_t i, int *slack);
/* The bytes of row i + 1 that follow those of row i where it joins; `head` is the row with which the line began. */
size_t frames_next(const struct frames *r, size_t head, size_t i);

#endif
