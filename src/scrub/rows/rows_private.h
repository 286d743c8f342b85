#ifndef SCRUB_ROWS_ROWS_PRIVATE_H
#define SCRUB_ROWS_ROWS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* ---- screen_row ---- */

/*
 * The rows of a screen, each parted into its frame (what the agent drew around it: box bars, line
 * numbers, diff signs, bullets, indent) and its body.
 *
 * tmux joins only its own wraps (capture-pane -J); Claude Code writes real newlines and an
 * indent, so that a secret is cut by a row break and a frame.
 */
#define SCRUB_EDGE_MIN 40	/* a row shorter than this was not cut by a screen's edge */

struct scrub_row {
	size_t from, to;	/* the row in the source, without its newline */
	size_t body, end;	/* the body, without blanks at its ends */
	int frame_col;		/* column at which the frame ends; bodies may be indented further */
	int body_col, end_col;	/* columns of the body's first and behind its last character */
	int bar_col;		/* column of the closing bar of a box, or -1 */
	size_t sign_at;		/* where the sign stands */
	char sign;		/* '+' or '-' of a diff, or 0 */
	char mark;		/* the frame begins something new: bullet, number, ⎿ */
	char box;		/* it stands between bars */
	char key;  /* the body begins with "NAME=", "name: " or "name = ", as a line of its own does */
	char wide;		/* the body has bytes that are not ASCII */
	char joins;		/* cut in mid-word at the edge: the next row goes on where this one ends */
	char hides;		/* the body has escape sequences or invisible runes, which views leave out */
	char changed;		/* something was replaced in it */
	char dirty;		/* new, changed, or joined otherwise than before */
	char unchanged;		/* seen before and unchanged since: left out of views */
	char skip;		/* no rule can find anything in it: left out of what joined_show shows */
	char has_keyword;		/* a keyword stands in it; a soft seam behind other rows is none */
	char pem_line;		/* a line that begins or ends a key may stand in it */
	char withheld;		/* it stands for a row that could not be scrubbed */
	/* the views (1 << view_mode) that last showed it in one line with the next row */
	unsigned char seams;
};

struct scrub_rows {
	/* hides, changed, quiet, dull, hot, armor and seams are the caller's to set */
	struct scrub_row *v;
	size_t n, cap;
	/*
	 * the numbers of the rows that are not dull, so that views need not pass over all; the
	 * caller's to set
	 */
	size_t *live;
	size_t n_live, cap_live;
	int width;
};

/*
 * `width` in columns. 0: not a screen, no row is cut. Below 0: not known, rows that reach as far
 * as all their neighbours are taken for full; none is where a row near by is withheld, as nobody
 * knows how far that one went.
 */
void scrub_rows_init(struct scrub_rows *r, const char *text, size_t n, int width);
void scrub_rows_release(struct scrub_rows *r);
/*
 * The same rows in a text in which only those that are `changed` are others: they are read again.
 * None is changed then, those at a seam that came or went are no longer quiet, and only quiet
 * ones are still hot.
 */
void scrub_rows_reread(struct scrub_rows *r, const char *text, size_t n);

/* Row i + 1 stands where the rest of row i would stand; `head` is the row with which the line began. */
bool scrub_rows_continue(const struct scrub_rows *r, size_t head, size_t i);
/* The column at which row i is full; *slack: columns before it that may stay free. */
int scrub_rows_edge(const struct scrub_rows *r, size_t i, int *slack);
/*
 * The bytes of row i + 1 that follow those of row i where it joins; `head` is the row with which
 * the line began.
 */
size_t scrub_rows_next(const struct scrub_rows *r, size_t head, size_t i);

/* ---- joined_text ---- */

/*
 * Views of rows: their bodies as lines of text with a map back to the source. JOINED_HARD joins
 * rows that are cut in mid-word at the edge, JOINED_SOFT those that are broken at a blank.
 */
enum joined_mode { JOINED_ROWS, JOINED_HARD, JOINED_SOFT, JOINED_PAIRS };

/* A stretch of the view that stands in one piece in the source. */
struct joined_piece {
	size_t at;		/* offset in the view */
	size_t src;		/* offset in the source */
	size_t row;
};

#define JOINED_INIT { .text = BUF_INIT }

struct joined_text {
	struct buf text;	/* lines, each ended by a newline */
	struct joined_piece *v;
	size_t n, cap;
	const struct scrub_rows *rows;
};

/*
 * JOINED_ROWS: every row is a line. JOINED_HARD, JOINED_SOFT: only lines that consist of several
 * rows are there. JOINED_PAIRS: the same of a hot row and the one below that begins with the
 * value to its name ("name: X", "value: …"; <key>X</key>, <string>…; "name: |" of YAML). Lines
 * all of whose rows are quiet, or all dull, are left out, and so are escape sequences and
 * invisible runes; rows are no longer quiet where the view shows another line than it did last
 * time. A view may show one thing after the other.
 */
void joined_show(struct joined_text *w, const char *text, struct scrub_rows *rows, enum joined_mode mode);
/*
 * Nothing; and then, behind what it shows already, rows [from, to), dull ones too, each a line.
 * Quiet ones are left out.
 */
void joined_clear(struct joined_text *w, const struct scrub_rows *rows);
void joined_add(struct joined_text *w, const char *text, size_t from, size_t to);
void joined_release(struct joined_text *w);				/* overwrites the text */

/* False when no view joins row i with the next one. */
bool joined_continues(const char *text, const struct scrub_rows *r, size_t i);
/* Sets `hides` of rows [from, to), which stand one below the other. Before a view shows them. */
void joined_mark_hidden(const char *text, struct scrub_rows *r, size_t from, size_t to);

/* The source offset of a byte of the view, and its row. */
size_t joined_source(const struct joined_text *w, size_t at, size_t *row);
/* Where in the view the piece ends that stands in one piece in the source and has the byte at `at`. */
size_t joined_piece_end(const struct joined_text *w, size_t at);

#endif
