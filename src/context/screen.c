#include <string.h>

#include "context/screen.h"
#include "context/screen_private.h"
#include "base/buf.h"
#include "context/blocks.h"
#include "context/exchange.h"
#include "context/flat.h"
#include "context/marked.h"

/*
 * Rows are split and named (rows.c), repaints taken out (redraw.c), names settled by their neighbours (settle.c); what is here walks over
 * the items and has an exchange made of each: of the conversation's in screen_item.c, of what stands at the end in screen_bottom.c. Every
 * loop that looks ahead is bounded or stops at the next item, so that hostile input costs linear time.
 */

/* Rows that no rule understood stay where they are, as they are. */
static size_t
read_raw(struct screen *s, size_t i)
{
	size_t from = i, end = i;

	for (; i < s->r.n; i++) {
		enum row_kind k = row_kind(&s->r, i);

		if (k == ROW_BANNER || k == ROW_BANNER_TOP || k == ROW_DEAD)
			break;
		if (!s->outside && k != ROW_STRAY && k != ROW_BODY && k != ROW_PROMPT_MORE && k != ROW_FRAME && k != ROW_BLANK)
			break;
		if (k == ROW_BLANK)
			continue;
		end = i + 1;
		s->c->unknown_lines++;
	}
	if (end > from)
		screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, screen_joined(s, from, end, 0, 0, 0));
	return i > from ? i : from + 1;
}

static size_t
read_next(struct screen *s, size_t i)
{
	enum row_kind k = row_kind(&s->r, i);
	size_t next;

	if (k == ROW_BLANK || k == ROW_DEAD || k == ROW_BANNER_END)
		return i + 1;
	next = screen_read_item(s, i);
	if (next == 0)
		next = screen_read_bottom(s, i);
	return next != 0 ? next : read_raw(s, i);
}

/* What a shell wrote before the agent was started is no conversation, though some shells' prompts look like the agent's. */
static size_t
first_row(const struct screen *s)
{
	for (size_t i = 0; i < s->r.n; i++) {
		enum row_kind k = row_kind(&s->r, i);

		if (k == ROW_BANNER || k == ROW_BANNER_TOP)
			return i;
		if (k == ROW_WORDS || k == ROW_TOOL || k == ROW_BOX || k == ROW_RESULT || k == ROW_TURN_END)
			return 0;
	}
	return 0;
}

/* Nothing here looks like the agent: one exchange with all of it. */
static void
keep_whole(struct conversation *c, const char *text, size_t n)
{
	struct buf b = BUF_INIT;

	while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL)
		n--;
	for (const char *p = text; p < text + n;) {
		const char *nl = memchr(p, '\n', (size_t)(text + n - p));

		c->unknown_lines++;
		p = nl != NULL ? nl + 1 : text + n;
	}
	buf_add(&b, text, n);
	if (n > 0)
		conversation_add(c, ROLE_SYSTEM, NULL, NULL, conversation_text(&b));
}

/* A session's text begins with its banner; anything else was cut off above. */
static bool
starts_whole(const struct screen *s)
{
	size_t i = 0;

	while (i < s->r.n && row_kind(&s->r, i) == ROW_BLANK)
		i++;
	return row_kind(&s->r, i) == ROW_BANNER || row_kind(&s->r, i) == ROW_BANNER_TOP;
}

static void
read_all(struct screen *s)
{
	size_t i = first_row(s);

	if (i > 0) {
		s->outside = true;
		for (size_t k = 0; k < i; k = read_raw(s, k))
			;
		s->outside = false;
	} else if (!starts_whole(s))
		s->c->truncated_at = 0;
	while (i < s->r.n) {
		enum row_kind k = row_kind(&s->r, i);
		bool inside = !s->outside || k == ROW_BANNER || k == ROW_BANNER_TOP || k == ROW_DEAD || k == ROW_BLANK;

		i = inside ? read_next(s, i) : read_raw(s, i);
	}
	/* text that was still streaming has no turn end and no spinner below it (2.1.197, 2.1.330) */
	for (size_t k = s->c->n; k-- > 0 && s->busy && !s->spun;) {
		struct exchange *x = &s->c->v[k];

		if (x->role == ROLE_USER && x->status == STATUS_WAITING)
			continue;
		if (x->role == ROLE_ASSISTANT && x->tool == NULL && x->status == STATUS_COMPLETE)
			x->status = STATUS_RUNNING;
		break;
	}
}

void
screen_read_bytes(const char *p, size_t n, const struct style *style, int width, const char *agent, struct conversation *out)
{
	struct dialect *d = dialect_for(agent, p, n);
	struct screen s = { .c = out };

	if (d == NULL) {
		keep_whole(out, p, n);
		out->lines = out->unknown_lines;
		return;
	}
	rows_init(&s.r, p, n, width > 0 ? (size_t)width : 0, d);
	rows_style(&s.r, style);
	out->lines = s.r.n;
	if (rows_evidence(&s.r) < 2)
		keep_whole(out, p, n);
	else if (dialect_layout(d) == LAYOUT_FLAT)
		flat_read(&s);
	else if (dialect_layout(d) != LAYOUT_CLAUDE) {
		if (dialect_layout(d) == LAYOUT_BLOCKS)
			blocks_settle(&s.r);
		marked_read(&s);
	} else {
		rows_drop_view(&s.r);
		rows_drop_redrawn(&s.r);
		rows_settle(&s.r);
		rows_measure(&s.r);
		read_all(&s);
	}
	rows_release(&s.r);
	dialect_free(d);
}
