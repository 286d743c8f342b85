#ifndef CONTEXT_ROWS_H
#define CONTEXT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/dialect.h"

struct buf;
struct style;

/*
 * The rows of a screen, as views into its text. Blanks at a row's end are left out, so that `capture-pane -p` and `-p -J` read the
 * same. 16 bytes a row.
 */
struct row {
	uint32_t at, n;		/* bytes of the text */
	uint16_t drawn;		/* columns of the pane when the row was drawn; 0: as now */
	uint8_t kind;		/* enum row_kind */
	uint8_t seam;		/* a copy of what follows stood above: the pane may have been of another width there */
	uint8_t marks, bullet;	/* as in context/style.h; 0 when nothing is known */
	uint8_t stamp;		/* the row is blank because it had only a stamp of the view of Ctrl+O */
};

struct rows {
	const struct dialect *d;	/* borrowed */
	const char *text;	/* borrowed */
	struct row *v;
	size_t n;
	size_t width;		/* of the pane, in columns */
	bool styled;		/* colours are known: what a row lacks it does not have */
};

/* Splits and names the rows. `width` 0: that of the widest rule of an input box, else of the widest row. */
void rows_init(struct rows *r, const char *text, size_t n, size_t width, const struct dialect *d);
void rows_release(struct rows *r);
/* Takes over what is known of the rows' colours; before rows are taken out. NULL: nothing. */
void rows_style(struct rows *r, const struct style *style);

static inline const char *
row_text(const struct rows *r, size_t i)
{
	return r->text + r->v[i].at;
}

/* ROW_BLANK behind the last row. */
static inline enum row_kind
row_kind(const struct rows *r, size_t i)
{
	return i < r->n ? (enum row_kind)r->v[i].kind : ROW_BLANK;
}

bool row_says(const struct rows *r, size_t i, enum phrase what);
size_t row_indent(const struct rows *r, size_t i);
size_t row_width(const struct rows *r, size_t i);
/* The first word of row i > 0 would not have fitted into the row above within `limit` columns: it may go on what stands there. */
bool row_had_no_room(const struct rows *r, size_t i, size_t limit);

/*
 * Appends rows from (inclusive) to (exclusive) as text: `indent` blanks less in front of each, blank rows at both ends left out. Rows that
 * were broken at the edge are joined again where that is certain: the next row's first word had no room within `limit` columns (0: join
 * nothing). The limit is for rows of the pane's present width, and is moved for those that were drawn when it was wider or narrower.
 * The first row begins at its byte `skip`.
 */
void rows_join(const struct rows *r, size_t from, size_t to, size_t skip, size_t indent, size_t limit,
	struct buf *out);

/*
 * Finds rows that were drawn twice and takes one copy out. Claude Code repaints its last screenful from the top of
 * the pane after a resize, Esc, /compact and --resume, and what had scrolled out stays in the history (2.1.197). A block counts as
 * drawn twice only when the copies follow each other and agree but for blanks and line breaks.
 */
void rows_drop_redrawn(struct rows *r);

/* Takes out what the view of Ctrl+O left among the rows when it was closed. Before rows_drop_redrawn. */
void rows_drop_view(struct rows *r);

/*
 * Settles what only the rows around a row tell: after this ROW_TOOL_MAYBE and ROW_TOOL_BLINK are gone, ROW_TASKS, ROW_QUEUED and ROW_DIALOG
 * are set, and a row that merely looked like a marker is ROW_BODY or ROW_WORDS.
 */
void rows_settle(struct rows *r);

/* Finds the width that rows above a seam were drawn for, where their own breaks tell it. After rows_settle. */
void rows_measure(struct rows *r);

/* Finds the rows with which the prompt at row i goes on, in a dialect that has them in column 0: sets ROW_PROMPT_MORE. Part of rows_settle. */
void rows_settle_prompt(struct rows *r, size_t i);

/* The prompt in row i is a command for the program: "/compact". */
bool rows_is_command(const struct rows *r, size_t i);

/* A result begins in row i; below a call also one that only lacks the second blank behind its mark, which is ROW_BODY until then. */
bool rows_is_result(const struct rows *r, size_t i);

/* The head of a call ends with ")" before its result, a blank row or another item. The row behind it; 0: that is no call. */
size_t rows_head_end(const struct rows *r, size_t i);

/* How many kinds of rows stand here that only the agent draws, a banner and a box counting twice. Less than 2 may be chance. */
unsigned rows_evidence(const struct rows *r);

#endif
