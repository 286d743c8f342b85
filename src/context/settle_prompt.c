#include <string.h>

#include "context/rows.h"
#include "agent/dialect.h"
#include "context/style.h"

#define GAP 3	/* blank rows between two items, at most */

/*
 * Before 2.1 a prompt goes on in column 0, where the markers stand: a pasted line may look like any of them. Two things tell its end.
 * Every item has a blank row above it, so that what follows at once belongs to the prompt. And its cells are dim (1.0.128) or have
 * a background (2.0.76), those of what follows are not; a blank row has no cells, and the state is judged by the next row.
 */

static bool
is_box(const struct rows *r, size_t i)
{
	return row_kind(r, i) == ROW_RULE && row_kind(r, i + 1) == ROW_BOX;
}

/* The first row from i on that is not blank; not far away, an item has one blank row above it. */
static size_t
next_row(const struct rows *r, size_t i)
{
	size_t end = i + GAP;

	while (i < r->n && i < end && row_kind(r, i) == ROW_BLANK)
		i++;
	return i;
}

/* A call has its result below it, or is one of the last things on the screen. */
static bool
looks_like_call(const struct rows *r, size_t i)
{
	size_t end = rows_head_end(r, i), next;
	enum row_kind k;

	if (end == 0)
		return false;
	next = next_row(r, end);
	k = row_kind(r, next);
	return next >= r->n || (next == end && rows_is_result(r, next)) || k == ROW_RULE || k == ROW_SPINNER || k == ROW_FRAME || k == ROW_DEAD ||
		k == ROW_TOOL;
}

/* Without colours: what stands behind a blank row and looks like an item is one. */
static bool
looks_like_item(const struct rows *r, size_t i)
{
	switch (row_kind(r, i)) {
	case ROW_STRAY:
	case ROW_BODY:
	case ROW_BOX:
		return false;
	case ROW_RULE:
		return row_width(r, i) >= r->width;
	case ROW_TOOL:
	case ROW_TOOL_MAYBE:
	case ROW_TOOL_BLINK:
		return looks_like_call(r, i);
	case ROW_THOUGHT:
		return row_kind(r, next_row(r, i + 1)) == ROW_BODY;
	default:
		return true;
	}
}

/*
 * Two prompts in a row look like one with a quotation. Two stand there when they were queued, and then they come between a call and the
 * model's words about it; at the end of a turn queued ones are handed over as one, or one at a time.
 */
static bool
were_queued(const struct rows *r, size_t i)
{
	while (i > 0 && (row_kind(r, i - 1) == ROW_BLANK || row_kind(r, i - 1) == ROW_BODY))
		i--;
	return i > 0 && (row_kind(r, i - 1) == ROW_RESULT || row_kind(r, i - 1) == ROW_PROMPT || row_kind(r, i - 1) == ROW_PROMPT_MORE);
}

/* Of a quotation every line has the sign. */
static bool
is_quoted(const struct rows *r, size_t i, bool quotes)
{
	return quotes || row_kind(r, i + 1) == ROW_PROMPT;
}

bool
rows_is_command(const struct rows *r, size_t i)
{
	const char *blank = memchr(row_text(r, i), ' ', r->v[i].n);
	size_t at = blank != NULL ? (size_t)(blank - row_text(r, i)) : r->v[i].n;

	return dialect_says(r->d, PHRASE_COMMAND, row_text(r, i) + at, r->v[i].n - at);
}

/* What the program says to a prompt stands at once below it. */
static bool
is_answer(const struct rows *r, size_t i, bool command)
{
	return row_kind(r, i) == ROW_RESULT || (row_kind(r, i) == ROW_ERROR && row_indent(r, i) > 0) ||
		(command && row_kind(r, i) == ROW_BODY && row_says(r, i, PHRASE_REMARK));
}

void
rows_settle_prompt(struct rows *r, size_t i)
{
	uint8_t mask = STYLE_BACK | STYLE_DIM | STYLE_ITALIC, mark = r->v[i].marks & mask;	/* thoughts are dim, too, but italic */
	bool gap = false, command = rows_is_command(r, i), quotes = !command && !were_queued(r, i);

	for (size_t k = i + 1; k < r->n && !is_box(r, k); k++) {
		enum row_kind kind = row_kind(r, k);

		if (kind == ROW_BLANK) {
			gap = true;
			continue;
		}
		if ((mark != 0 && (r->v[k].marks & mask) != mark) || (!gap && is_answer(r, k, command)))
			break;
		if (kind == ROW_PROMPT) {
			if (gap && !is_quoted(r, k, quotes))
				break;
			quotes = true;
		} else if (gap && mark == 0 && looks_like_item(r, k))
			break;
		r->v[k].kind = ROW_PROMPT_MORE;
		gap = false;
	}
}
