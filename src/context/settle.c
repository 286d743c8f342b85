#include <string.h>

#include "context/rows.h"
#include "agent/dialect.h"
#include "base/buf.h"
#include "context/style.h"

/* What single rows cannot tell: is this line a folded call or just indented text, is that rule a box or a dialog. */
#define HEAD_ROWS 12	/* rows that the head of a call may take */
#define FOLD_ROWS 4	/* rows that a folded line may take in a narrow pane */
#define NEWS_ROWS 24	/* rows between a banner and the last of its news */
#define QUEUE_ROWS 2000	/* rows of the prompts that wait for the agent */

static void
set_kind(struct rows *r, size_t i, enum row_kind k)
{
	r->v[i].kind = (uint8_t)k;
}

bool
rows_is_result(const struct rows *r, size_t i)
{
	return row_kind(r, i) == ROW_RESULT || (row_kind(r, i) == ROW_BODY && row_indent(r, i) == 2 && row_says(r, i, PHRASE_SQUEEZED));
}

size_t
rows_head_end(const struct rows *r, size_t i)
{
	size_t last = i, k = i + 1;

	for (; k < r->n && k < i + HEAD_ROWS && row_kind(r, k) == ROW_BODY && row_indent(r, k) >= 5; k++)
		last = k;
	if (row_kind(r, k) == ROW_RESULT)
		return k;
	return row_text(r, last)[r->v[last].n - 1] == ')' ? k : 0;
}

static bool
has_result(const struct rows *r, size_t i)
{
	size_t k = rows_head_end(r, i);

	return k > 0 && rows_is_result(r, k);
}

/* A folded line ends, here or a few rows below, with the key that unfolds it. */
static bool
is_folded(const struct rows *r, size_t i)
{
	for (size_t k = i; k < r->n && k < i + FOLD_ROWS && r->v[k].n > 0; k++) {
		if (k > i && row_kind(r, k) != ROW_BODY)
			return false;
		if (row_says(r, k, PHRASE_EXPAND))
			return true;
	}
	return false;
}

/* The fullscreen renderer names no key. Its line stands alone and is grey, where that can be seen; while it works, it has a bullet. */
static bool
is_bare_fold(const struct rows *r, size_t i)
{
	bool grey = !r->styled || r->v[i].bullet == BULLET_PENDING;

	if (!grey || !row_says(r, i, PHRASE_FOLD))
		return false;
	return row_kind(r, i + 1) == ROW_BLANK || row_says(r, i + 1, PHRASE_REMARK);
}

/* At work, 2.1.330 may say anything instead ("Counting"): the command below tells, where that is the last thing but the spinner. */
static bool
is_told_fold(const struct rows *r, size_t i)
{
	size_t k = i + 2;

	if (row_kind(r, i + 1) != ROW_BODY || !row_says(r, i + 1, PHRASE_SHELL))
		return false;
	while (k < i + HEAD_ROWS && row_kind(r, k) == ROW_BODY && row_indent(r, k) >= 5)
		k++;
	while (k < i + HEAD_ROWS && k < r->n && row_kind(r, k) == ROW_BLANK)
		k++;
	return row_kind(r, k) == ROW_SPINNER || row_kind(r, k) == ROW_RULE || (r->styled && r->v[i].bullet == BULLET_PENDING);
}

/* "(ctrl+o to" / "expand)": the key itself may be broken in two. */
static bool
is_folded_anyhow(const struct rows *r, size_t i)
{
	struct buf b = BUF_INIT;
	bool yes = is_folded(r, i);

	for (size_t k = i; !yes && k < r->n && k < i + FOLD_ROWS && r->v[k].n > 0 && (k == i || row_kind(r, k) == ROW_BODY); k++) {
		if (k > i)
			buf_chr(&b, ' ');
		buf_add(&b, row_text(r, k) + row_indent(r, k), r->v[k].n - row_indent(r, k));
		if (b.len > 4096)
			break;
		yes = k > i && dialect_says(r->d, PHRASE_EXPAND, b.data, b.len);
	}
	buf_release(&b);
	return yes;
}

/* The dialog's rule may follow a call whose bullet blinks, in older versions the spinner. */
static bool
at_end(const struct rows *r, size_t i)
{
	size_t k = rows_head_end(r, i);

	if (k == 0)
		return false;
	while (k < r->n && row_kind(r, k) == ROW_BLANK && k < i + HEAD_ROWS)
		k++;
	return row_kind(r, k) == ROW_RULE || row_kind(r, k) == ROW_FRAME || (row_kind(r, k) == ROW_SPINNER && (r->styled || dialect_page(r->d)->prompt_indent == 0));
}

/* A call whose bullet is blinked away just now looks like words. A call's name is bold, where that can be seen. */
static bool
is_blinked(const struct rows *r, size_t i)
{
	if (i > 0 && row_kind(r, i - 1) != ROW_BLANK)
		return false;
	return has_result(r, i) || (at_end(r, i) && (!r->styled || (r->v[i].marks & STYLE_NAME_BOLD)));
}

/* Words that look like a call have the bullet of words, and their name is not bold. */
static bool
is_call(const struct rows *r, size_t i, bool known)
{
	bool bold = r->v[i].marks & STYLE_NAME_BOLD;
	uint8_t bullet = r->v[i].bullet;

	if (bullet == BULLET_WORDS && !bold)
		return false;
	if (known || (bold && (bullet == BULLET_OK || bullet == BULLET_FAILED || bullet == BULLET_PENDING)))
		return rows_head_end(r, i) > 0;
	return has_result(r, i);
}

/* Where the terminal breaks the words, their rest may begin like a marker; a real one has a blank row above it. */
static bool
below_full_row(const struct rows *r, size_t i)
{
	enum row_kind k = row_kind(r, i), before = i > 0 ? row_kind(r, i - 1) : ROW_BLANK;

	if (dialect_page(r->d)->prompt_indent > 0 || (before != ROW_BODY && before != ROW_WORDS) || row_width(r, i - 1) + 1 < r->width)
		return false;
	return k == ROW_PROMPT || k == ROW_SHELL || k == ROW_WORDS || k == ROW_TOOL || k == ROW_TOOL_MAYBE || k == ROW_SPINNER;
}

static bool
is_rest_of_id(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((p[i] < '0' || p[i] > '9') && (p[i] < 'a' || p[i] > 'f') && p[i] != '-')
			return false;
	return n < 36;
}

/* Above are only a banner and its news: rows of those are ROW_BODY by now. */
static bool
in_banner(const struct rows *r, size_t i)
{
	size_t k = i;

	while (k > 0 && i - k < NEWS_ROWS && (row_kind(r, k - 1) == ROW_BLANK || row_kind(r, k - 1) == ROW_BODY))
		k--;
	return k > 0 && row_kind(r, k - 1) == ROW_BANNER;
}

static enum row_kind
settled(const struct rows *r, size_t i)
{
	enum row_kind k = row_kind(r, i), before = i > 0 ? row_kind(r, i - 1) : ROW_BLANK;
	bool indented = r->v[i].n > 0 && row_text(r, i)[0] == ' ';

	if (below_full_row(r, i))
		return ROW_BODY;
	switch (k) {
	case ROW_BODY:
		return before == ROW_PROMPT && row_says(r, i, PHRASE_REMARK) && rows_is_command(r, i - 1) ? ROW_RESULT : k;
	case ROW_NEWS:
		return in_banner(r, i) ? ROW_BODY : ROW_STRAY;
	case ROW_COLLAPSED:
	case ROW_AGENTS:
		if (indented && before != ROW_BLANK)
			return ROW_BODY;
		if (k == ROW_AGENTS && row_says(r, i + 1, PHRASE_TREE))
			return k;
		return is_folded_anyhow(r, i) || is_bare_fold(r, i) ? k : indented ? ROW_BODY : ROW_WORDS;
	case ROW_THOUGHT:
		return indented && before != ROW_BLANK ? ROW_BODY : k;
	case ROW_TOOL:
	case ROW_TOOL_MAYBE:
		return is_call(r, i, k == ROW_TOOL) ? ROW_TOOL : ROW_WORDS;
	case ROW_TOOL_BLINK:
		return is_blinked(r, i) ? ROW_TOOL : ROW_BODY;
	case ROW_WORDS:
		return r->v[i].bullet == BULLET_ERROR ? ROW_ERROR : is_told_fold(r, i) ? ROW_COLLAPSED : k;
	case ROW_FRAME:
		return row_kind(r, i + 1) == ROW_BANNER_TOP ? ROW_BANNER_TOP : k;
	case ROW_BANNER:
		if (row_indent(r, i) > 2 && row_kind(r, i + 1) != ROW_BANNER)
			return ROW_BODY;
		return row_indent(r, i) == 2 && before != ROW_BANNER ? ROW_BODY : k;
	case ROW_STRAY:
		/* tmux broke a full row when the pane became narrower: the rest stands at column 0 or, where a blank came first, 1 */
		if (before == ROW_RESUME && !is_rest_of_id(row_text(r, i), r->v[i].n))
			return k;
		if (i > 0 && before != ROW_BLANK && before != ROW_STRAY && before != ROW_RULE && before != ROW_DEAD &&
			row_width(r, i - 1) + 1 >= r->width)
			return ROW_BODY;
		return k;
	default:
		return k;
	}
}

/* Before 2.1 only two blank rows set the queue off from the spinner and its tip. */
static size_t
settle_old_queue(struct rows *r, size_t rule)
{
	size_t from = rule;

	if (rule == 0 || row_kind(r, rule - 1) != ROW_BODY)
		return rule;
	while (from > 0 && rule - from < QUEUE_ROWS && (row_kind(r, from - 1) == ROW_BODY || row_kind(r, from - 1) == ROW_BLANK ||
	    row_kind(r, from - 1) == ROW_RESULT))
		from--;
	if (from == 0 || row_kind(r, from - 1) != ROW_SPINNER)
		return rule;
	while (from < rule && (row_kind(r, from) != ROW_BLANK || row_kind(r, from + 1) != ROW_BLANK))
		from++;
	while (from < rule && row_kind(r, from) == ROW_BLANK)
		from++;
	for (size_t i = from; i < rule; i++)
		set_kind(r, i, ROW_QUEUED);
	return from;
}

/*
 * Prompts that wait for the agent stand right above the box's rule, each with its mark at column 2 and its other rows, blank ones too, at 4.
 * The first of them follows a blank row and is the uppermost that only such rows stand below.
 */
static size_t
settle_queue(struct rows *r, size_t rule)
{
	size_t from = rule;

	if (dialect_page(r->d)->prompt_indent == 0)
		return settle_old_queue(r, rule);
	for (size_t i = rule; i-- > 0 && rule - i < QUEUE_ROWS;) {
		enum row_kind k = row_kind(r, i);

		if (k != ROW_BLANK && (k != ROW_BODY || (row_indent(r, i) < 4 && (row_indent(r, i) != 2 || !row_says(r, i, PHRASE_QUEUED)))))
			break;
		if (k == ROW_BODY && row_indent(r, i) == 2)
			from = i;
	}
	if (from == rule || row_kind(r, rule - 1) == ROW_BLANK || (from > 0 && row_kind(r, from - 1) != ROW_BLANK))
		return rule;
	for (size_t i = from; i < rule; i++)
		set_kind(r, i, ROW_QUEUED);
	return from;
}

/* The row in which the item begins that row i belongs to; r->n: in none. */
static size_t
item_start(const struct rows *r, size_t i)
{
	while (i > 0 && (row_kind(r, i) == ROW_BODY || row_kind(r, i) == ROW_BLANK))
		i--;
	return row_kind(r, i) == ROW_BODY || row_kind(r, i) == ROW_BLANK ? r->n : i;
}

/*
 * 2.1.330 shows prompts that wait as if they had been sent, with a foot below the last. Right behind a turn's end the first of several is
 * the one that the agent works on.
 */
static void
settle_sent_queue(struct rows *r)
{
	size_t last = r->n, first = 0, foot, above;

	while (last > 0 && row_kind(r, last - 1) != ROW_PROMPT)
		last--;
	if (last-- == 0)
		return;
	for (foot = last + 1; row_kind(r, foot) == ROW_BODY || (row_kind(r, foot) == ROW_BLANK && row_kind(r, foot + 1) == ROW_BODY); foot++)
		;
	if (!row_says(r, --foot, PHRASE_QUEUE_FOOT))
		return;
	set_kind(r, foot, ROW_BLANK);
	r->v[foot].n = 0;
	for (above = last; above < r->n && row_kind(r, above) == ROW_PROMPT; above = above > 0 ? item_start(r, above - 1) : r->n) {
		set_kind(r, above, ROW_PROMPT_QUEUED);
		first = above;
	}
	if (first < last && (above == r->n || row_kind(r, above) == ROW_TURN_END || row_kind(r, above) == ROW_BANNER))
		set_kind(r, first, ROW_PROMPT);
}

/* The task list stands above the box and the queue, behind the last item. */
static void
settle_tasks(struct rows *r, size_t end)
{
	size_t from;

	while (end > 0 && row_kind(r, end - 1) == ROW_BLANK)
		end--;
	for (from = end; from > 0 && row_kind(r, from - 1) == ROW_BODY; from--)
		;
	if (from == end || !row_says(r, from, PHRASE_TASK_HEAD) || (from > 0 && row_kind(r, from - 1) != ROW_BLANK))
		return;
	if (from + 1 < end && !row_says(r, from + 1, PHRASE_TASK))
		return;
	for (size_t i = from; i < end; i++)
		set_kind(r, i, ROW_TASKS);
}

static void
settle_box(struct rows *r, size_t rule)
{
	if (rule > 0 && row_kind(r, rule - 1) == ROW_BODY && row_says(r, rule - 1, PHRASE_KEYS)) {
		set_kind(r, --rule, ROW_BLANK);
		r->v[rule].n = 0;
	}
	settle_tasks(r, settle_queue(r, rule));
}

/* A dialog that is still open: the last thing on the screen, from its rule on. */
static void
settle_dialog(struct rows *r)
{
	size_t rule = r->n;
	bool asks = false;

	for (size_t i = r->n; i-- > 0;) {
		enum row_kind k = row_kind(r, i);
		bool option = k != ROW_BLANK && row_says(r, i, PHRASE_OPTION);

		if (k != ROW_BLANK && k != ROW_BODY && k != ROW_STRAY && k != ROW_DEAD && k != ROW_RULE && k != ROW_FRAME && k != ROW_BANNER_END &&
		    !(k == ROW_PROMPT && option))
			break;
		asks = asks || option || (k != ROW_BLANK && row_says(r, i, PHRASE_DIALOG));
		if (k == ROW_RULE || k == ROW_FRAME)
			rule = i;
	}
	for (size_t i = rule; asks && i < r->n; i++)
		if (row_kind(r, i) != ROW_DEAD && row_kind(r, i) != ROW_BLANK)
			set_kind(r, i, ROW_DIALOG);
}

/*
 * A folded line ends an item: what follows is a marker, another such line or the box. Where indented text follows, the line was a paragraph
 * of somebody's words.
 */
static void
settle_folds(struct rows *r)
{
	enum row_kind below = ROW_BLANK;	/* of the next row that begins something */

	for (size_t i = r->n; i-- > 0;) {
		enum row_kind k = row_kind(r, i);
		bool fold = (k == ROW_COLLAPSED || k == ROW_THOUGHT || k == ROW_AGENTS) && row_text(r, i)[0] == ' ';

		if (fold && below == ROW_BODY)
			set_kind(r, i, ROW_BODY);
		if (k == ROW_BLANK || (k == ROW_BODY && row_kind(r, i - (i > 0)) != ROW_BLANK))
			continue;
		below = row_kind(r, i);
		if (below == ROW_BODY && (row_says(r, i, PHRASE_TASK_HEAD) || row_says(r, i, PHRASE_QUEUED)))
			below = ROW_BLANK;
	}
}

/*
 * A repaint may lose the rows between a prompt and what was said to it (2.1.197, 2.1.330, after a resize). The prompt ends where its
 * background does; words without a bullet go on there.
 */
static void
settle_torn(struct rows *r)
{
	for (size_t i = 0; r->styled && i < r->n; i++) {
		size_t torn = r->n, k = i + 1;

		if (row_kind(r, i) != ROW_PROMPT || !(r->v[i].marks & STYLE_BACK))
			continue;
		for (; row_kind(r, k) == ROW_BODY || (k < r->n && row_kind(r, k) == ROW_BLANK); k++) {
			if (r->v[k].marks & STYLE_BACK)
				torn = r->n;
			else if (torn == r->n && row_kind(r, k) == ROW_BODY)
				torn = k;
		}
		if (torn < r->n && !row_says(r, torn, PHRASE_REMARK))
			set_kind(r, torn, ROW_WORDS);
	}
}

void
rows_settle(struct rows *r)
{
	bool column_0 = dialect_page(r->d)->prompt_indent == 0;

	for (size_t i = 0; i < r->n; i++) {
		enum row_kind k = settled(r, i);
		size_t below = k == ROW_TOOL ? rows_head_end(r, i) : i + 1;

		set_kind(r, i, k);
		if ((k == ROW_TOOL || k == ROW_ANSWERS) && rows_is_result(r, below))
			set_kind(r, below, ROW_RESULT);
		if (column_0 && (row_kind(r, i) == ROW_PROMPT || row_kind(r, i) == ROW_SHELL))
			rows_settle_prompt(r, i);
	}
	settle_folds(r);
	settle_sent_queue(r);
	if (!column_0)
		settle_torn(r);
	for (size_t i = 0; i + 1 < r->n; i++)
		if (row_kind(r, i) == ROW_RULE && row_kind(r, i + 1) == ROW_BOX && (i == 0 || row_kind(r, i - 1) != ROW_RULE))
			settle_box(r, i);
	settle_tasks(r, r->n);
	settle_dialog(r);
}
