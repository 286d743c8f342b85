#include "context/blocks.h"
#include "context/rows.h"
#include "context/style.h"

#define GAP 2		/* blank rows between two blocks, of which one may have a background */
#define GAP_BACK 3	/* between two that both have one */

struct block {
	enum row_kind kind;	/* of the last block; ROW_BLANK: none yet */
	bool back;		/* it has a background */
	bool ended;		/* of a call, without colours: it said how long it took */
	bool box;		/* the rows are of the input box, or below it */
};

static bool
is_own(enum row_kind k)
{
	return k == ROW_BANNER || k == ROW_SPINNER || k == ROW_NOTICE || k == ROW_DEAD || k == ROW_FOOT;
}

/* What begins here; ROW_BODY: the block goes on. */
static enum row_kind
with_colours(const struct row *v, const struct block *b, unsigned gap)
{
	bool back = v->marks & STYLE_BACK;

	if (!back)
		return b->kind == ROW_WORDS ? ROW_BODY : ROW_WORDS;
	/* what a call printed is grey, and may hold as many blank rows as it likes */
	if (b->back && (gap < GAP_BACK || (b->kind == ROW_TOOL && v->bullet == BULLET_PENDING)))
		return ROW_BODY;
	return v->kind == ROW_TOOL_MAYBE && (v->marks & STYLE_NAME_BOLD) ? ROW_TOOL : ROW_PROMPT;
}

static enum row_kind
without_colours(const struct row *v, const struct block *b, unsigned gap)
{
	if (b->kind != ROW_BLANK && gap < GAP)
		return ROW_BODY;
	if (b->kind == ROW_TOOL && !b->ended)
		return ROW_BODY;
	if (v->kind == ROW_TOOL_MAYBE && b->kind != ROW_BLANK)
		return ROW_TOOL;
	return b->kind == ROW_PROMPT || b->kind == ROW_TOOL ? ROW_WORDS : ROW_PROMPT;
}

/* What goes on in the row above is one with it: only the first of a notice's rows says so. */
static bool
is_notice(const struct rows *r, size_t i)
{
	for (size_t k = i; k > 0 && i - k < 8 && r->v[k - 1].n > 0; k--)
		if (row_kind(r, k - 1) == ROW_NOTICE)
			return true;
	return false;
}

static void
settle_row(struct rows *r, size_t i, struct block *b, unsigned gap)
{
	struct row *v = &r->v[i];
	bool back = v->marks & STYLE_BACK;
	enum row_kind k = v->kind;

	if (k == ROW_RULE) {
		b->box = true;
		return;
	}
	if (b->box && !(r->styled && back))
		return;
	b->box = false;
	if (is_own((enum row_kind)v->kind) && !back) {
		b->kind = k == ROW_BANNER ? ROW_BANNER : b->kind;
		return;
	}
	if (is_notice(r, i) && !back)
		return;
	/* tips go on below the banner */
	if (b->kind == ROW_BANNER && (r->styled ? !back : gap < GAP))
		return;
	if (b->kind == ROW_BANNER)
		*b = (struct block){ .kind = ROW_BLANK };
	k = r->styled ? with_colours(v, b, gap) : without_colours(v, b, gap);
	if (k != ROW_BODY)
		*b = (struct block){ .kind = k, .back = back };
	b->ended = b->ended || row_says(r, i, PHRASE_NOISE);
	v->kind = (uint8_t)k;
}

void
blocks_settle(struct rows *r)
{
	struct block b = { .kind = ROW_BLANK };
	unsigned gap = 0;
	size_t i = 0;

	/* what stands above a banner is another program's */
	for (size_t k = 0; k < r->n && row_kind(r, k) != ROW_RULE; k++)
		if (row_kind(r, k) == ROW_BANNER) {
			i = k;
			break;
		}
	for (; i < r->n; i++) {
		if (r->v[i].n == 0) {
			gap++;
			continue;
		}
		settle_row(r, i, &b, gap);
		gap = 0;
	}
}
