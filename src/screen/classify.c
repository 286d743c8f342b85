#include <string.h>

#include "screen/screen_private.h"
#include "base/buf.h"

#define ITEM_GAP 3	/* blank rows between two items, at most */
#define HEAD_ROWS 12	/* rows that the head of a call may take */
#define FOLD_ROWS 4	/* rows that a folded line may take in a narrow pane */
#define NEWS_ROWS 24	/* rows between a banner and the last of its news */
#define QUEUE_ROWS 2000	/* rows of the prompts that wait for the agent */

/*
 * What single rows cannot tell: is this line a folded call or just indented text, is that rule a
 * box or a dialog.
 */

static void
set_kind(struct screen_rows *r, size_t i, enum row_kind k)
{
	r->v[i].kind = (uint8_t)k;
}

static bool
is_box(const struct screen_rows *r, size_t i)
{
	return screen_row_kind(r, i) == ROW_RULE && screen_row_kind(r, i + 1) == ROW_BOX;
}

/* The first row from i on that is not blank; not far away, an item has one blank row above it. */
static size_t
next_row(const struct screen_rows *r, size_t i)
{
	size_t end = i + ITEM_GAP;

	while (i < r->n && i < end && screen_row_kind(r, i) == ROW_BLANK)
		i++;
	return i;
}

/*
 * A result begins in row i; below a call also one that only lacks the second blank behind its
 * mark, which is ROW_BODY until then.
 */
static bool
is_result(const struct screen_rows *r, size_t i)
{
	return screen_row_kind(r, i) == ROW_RESULT ||
	    (screen_row_kind(r, i) == ROW_BODY && screen_row_indent(r, i) == 2 &&
		screen_row_has_cue(r, i, CUE_SQUEEZED));
}

/* A call has its result below it, or is one of the last things on the screen. */
static bool
looks_like_call(const struct screen_rows *r, size_t i)
{
	size_t end = screen_call_head_end(r, i), next;
	enum row_kind k;

	if (end == 0)
		return false;
	next = next_row(r, end);
	k = screen_row_kind(r, next);
	return next >= r->n || (next == end && is_result(r, next)) || k == ROW_RULE ||
	    k == ROW_SPINNER || k == ROW_FRAME || k == ROW_DEAD || k == ROW_TOOL;
}

/* Without colours: what stands behind a blank row and looks like an item is one. */
static bool
looks_like_item(const struct screen_rows *r, size_t i)
{
	switch (screen_row_kind(r, i)) {
	case ROW_STRAY:
	case ROW_BODY:
	case ROW_BOX:
		return false;
	case ROW_RULE:
		return screen_row_width(r, i) >= r->width;
	case ROW_TOOL:
	case ROW_TOOL_MAYBE:
	case ROW_TOOL_BLINK:
		return looks_like_call(r, i);
	case ROW_THOUGHT:
		return screen_row_kind(r, next_row(r, i + 1)) == ROW_BODY;
	default:
		return true;
	}
}

/*
 * Two prompts in a row look like one with a quotation. Two stand there when they were queued, and
 * then they come between a call and the model's words about it; at the end of a turn queued ones
 * are handed over as one, or one at a time.
 */
static bool
were_queued(const struct screen_rows *r, size_t i)
{
	while (i > 0 && (screen_row_kind(r, i - 1) == ROW_BLANK || screen_row_kind(r, i - 1) == ROW_BODY))
		i--;
	return i > 0 &&
	    (screen_row_kind(r, i - 1) == ROW_RESULT || screen_row_kind(r, i - 1) == ROW_PROMPT ||
		screen_row_kind(r, i - 1) == ROW_PROMPT_MORE);
}

/* Of a quotation every line has the sign. */
static bool
is_quoted(const struct screen_rows *r, size_t i, bool quotes)
{
	return quotes || screen_row_kind(r, i + 1) == ROW_PROMPT;
}

/* The prompt in row i is a command for the program: "/compact". */
static bool
is_command(const struct screen_rows *r, size_t i)
{
	const char *blank = memchr(screen_row_text(r, i), ' ', r->v[i].n);
	size_t at = blank != NULL ? (size_t)(blank - screen_row_text(r, i)) : r->v[i].n;

	return grammar_has_cue(r->d, CUE_COMMAND, screen_row_text(r, i) + at, r->v[i].n - at);
}

/* What the program says to a prompt stands at once below it. */
static bool
is_answer(const struct screen_rows *r, size_t i, bool command)
{
	return screen_row_kind(r, i) == ROW_RESULT ||
	    (screen_row_kind(r, i) == ROW_ERROR && screen_row_indent(r, i) > 0) ||
	    (command && screen_row_kind(r, i) == ROW_BODY && screen_row_has_cue(r, i, CUE_COMMAND_OUTPUT));
}

/*
 * Before 2.1 a prompt goes on in column 0, where the markers stand: a pasted line may look like
 * any of them. Two things tell its end. Every item has a blank row above it, so that what follows
 * at once belongs to the prompt. And its cells are dim (1.0.128) or have a background (2.0.76),
 * those of what follows are not; a blank row has no cells, and the state is judged by the next
 * row. Sets ROW_PROMPT_MORE.
 */
static void
classify_prompt(struct screen_rows *r, size_t i)
{
	/* thoughts are dim, too, but italic */
	uint8_t mask = SGR_BACK | SGR_DIM | SGR_ITALIC, mark = r->v[i].marks & mask;
	bool gap = false, command = is_command(r, i), quotes = !command && !were_queued(r, i);

	for (size_t k = i + 1; k < r->n && !is_box(r, k); k++) {
		enum row_kind kind = screen_row_kind(r, k);

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

size_t
screen_call_head_end(const struct screen_rows *r, size_t i)
{
	size_t last = i, k = i + 1;

	for (; k < r->n && k < i + HEAD_ROWS && screen_row_kind(r, k) == ROW_BODY &&
	    screen_row_indent(r, k) >= 5;
	    k++)
		last = k;
	if (screen_row_kind(r, k) == ROW_RESULT)
		return k;
	return screen_row_text(r, last)[r->v[last].n - 1] == ')' ? k : 0;
}

static bool
has_result(const struct screen_rows *r, size_t i)
{
	size_t k = screen_call_head_end(r, i);

	return k > 0 && is_result(r, k);
}

/* A folded line ends, here or a few rows below, with the key that unfolds it. */
static bool
is_folded(const struct screen_rows *r, size_t i)
{
	for (size_t k = i; k < r->n && k < i + FOLD_ROWS && r->v[k].n > 0; k++) {
		if (k > i && screen_row_kind(r, k) != ROW_BODY)
			return false;
		if (screen_row_has_cue(r, k, CUE_EXPAND))
			return true;
	}
	return false;
}

/*
 * The fullscreen renderer names no key. Its line stands alone and is grey, where that can be
 * seen; while it works, it has a bullet.
 */
static bool
is_bare_fold(const struct screen_rows *r, size_t i)
{
	bool grey = !r->styled || r->v[i].bullet == BULLET_PENDING;

	if (!grey || !screen_row_has_cue(r, i, CUE_FOLD))
		return false;
	return screen_row_kind(r, i + 1) == ROW_BLANK || screen_row_has_cue(r, i + 1, CUE_COMMAND_OUTPUT);
}

/*
 * At work, 2.1.330 may say anything instead ("Counting"): the command below tells, where that is
 * the last thing but the spinner.
 */
static bool
is_fold_of_command(const struct screen_rows *r, size_t i)
{
	size_t k = i + 2;

	if (screen_row_kind(r, i + 1) != ROW_BODY || !screen_row_has_cue(r, i + 1, CUE_SHELL))
		return false;
	while (k < i + HEAD_ROWS && screen_row_kind(r, k) == ROW_BODY && screen_row_indent(r, k) >= 5)
		k++;
	while (k < i + HEAD_ROWS && k < r->n && screen_row_kind(r, k) == ROW_BLANK)
		k++;
	return screen_row_kind(r, k) == ROW_SPINNER || screen_row_kind(r, k) == ROW_RULE ||
	    (r->styled && r->v[i].bullet == BULLET_PENDING);
}

/* "(ctrl+o to" / "expand)": the key itself may be broken in two. */
static bool
is_folded_anyhow(const struct screen_rows *r, size_t i)
{
	struct buf b = BUF_INIT;
	bool yes = is_folded(r, i);

	for (size_t k = i; !yes && k < r->n && k < i + FOLD_ROWS && r->v[k].n > 0 &&
	    (k == i || screen_row_kind(r, k) == ROW_BODY);
	    k++) {
		if (k > i)
			buf_chr(&b, ' ');
		buf_add(
		    &b, screen_row_text(r, k) + screen_row_indent(r, k), r->v[k].n - screen_row_indent(r, k));
		if (b.len > 4096)
			break;
		yes = k > i && grammar_has_cue(r->d, CUE_EXPAND, b.data, b.len);
	}
	buf_release(&b);
	return yes;
}

/* The dialog's rule may follow a call whose bullet blinks, in older versions the spinner. */
static bool
at_end(const struct screen_rows *r, size_t i)
{
	size_t k = screen_call_head_end(r, i);

	if (k == 0)
		return false;
	while (k < r->n && screen_row_kind(r, k) == ROW_BLANK && k < i + HEAD_ROWS)
		k++;
	return screen_row_kind(r, k) == ROW_RULE || screen_row_kind(r, k) == ROW_FRAME ||
	    (screen_row_kind(r, k) == ROW_SPINNER && (r->styled || grammar_layout(r->d)->prompt_indent == 0));
}

/*
 * A call whose bullet is blinked away just now looks like words. A call's name is bold, where
 * that can be seen.
 */
static bool
is_blinked(const struct screen_rows *r, size_t i)
{
	if (i > 0 && screen_row_kind(r, i - 1) != ROW_BLANK)
		return false;
	return has_result(r, i) || (at_end(r, i) && (!r->styled || (r->v[i].marks & SGR_NAME_BOLD)));
}

/* Words that look like a call have the bullet of words, and their name is not bold. */
static bool
is_call(const struct screen_rows *r, size_t i, bool known)
{
	bool bold = r->v[i].marks & SGR_NAME_BOLD;
	uint8_t bullet = r->v[i].bullet;

	if (bullet == BULLET_WORDS && !bold)
		return false;
	if (known || (bold && (bullet == BULLET_OK || bullet == BULLET_FAILED || bullet == BULLET_PENDING)))
		return screen_call_head_end(r, i) > 0;
	return has_result(r, i);
}

/*
 * Where the terminal breaks the words, their rest may begin like a marker; a real one has a blank
 * row above it.
 */
static bool
below_full_row(const struct screen_rows *r, size_t i)
{
	enum row_kind k = screen_row_kind(r, i), before = i > 0 ? screen_row_kind(r, i - 1) : ROW_BLANK;

	if (grammar_layout(r->d)->prompt_indent > 0 || (before != ROW_BODY && before != ROW_WORDS) ||
	    screen_row_width(r, i - 1) + 1 < r->width)
		return false;
	return k == ROW_PROMPT || k == ROW_SHELL || k == ROW_WORDS || k == ROW_TOOL || k == ROW_TOOL_MAYBE ||
	    k == ROW_SPINNER;
}

static bool
is_rest_of_id(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((p[i] < '0' || p[i] > '9') && (p[i] < 'a' || p[i] > 'f') && p[i] != '-')
			return false;
	return n < 36;
}

/* "Pane is dead (signal 9," / "Sun Nov 22 02:03:48 2026)": a narrow pane breaks tmux's own row. */
static bool
is_rest_of_death(const struct screen_rows *r, size_t i)
{
	size_t above = i > 0 ? r->v[i - 1].n : 0;

	return i > 0 && screen_row_kind(r, i - 1) == ROW_DEAD && above != sizeof "Pane is dead" - 1 &&
	    screen_row_text(r, i - 1)[above - 1] != ')';
}

/* Above are only a banner and its news: rows of those are ROW_BODY by now. */
static bool
in_banner(const struct screen_rows *r, size_t i)
{
	size_t k = i;

	while (k > 0 && i - k < NEWS_ROWS &&
	    (screen_row_kind(r, k - 1) == ROW_BLANK || screen_row_kind(r, k - 1) == ROW_BODY))
		k--;
	return k > 0 && screen_row_kind(r, k - 1) == ROW_BANNER;
}

/*
 * Claude Code went on after SIGSTOP, which tmux answers with SIGCONT, and drew everything again from
 * the caret in its box on. The picture's second row begins at the edge, where no draft does.
 */
static bool
is_redrawn_banner(const struct screen_rows *r, size_t i)
{
	enum row_kind k = screen_row_kind(r, i);

	return (k == ROW_BOX || k == ROW_BODY || k == ROW_STRAY) &&
	    screen_row_kind(r, i + 1) == ROW_BANNER && screen_row_indent(r, i + 1) == 0 &&
	    screen_row_has_cue(r, i, CUE_REDRAWN);
}

static enum row_kind
classified_kind(const struct screen_rows *r, size_t i)
{
	enum row_kind k = screen_row_kind(r, i), before = i > 0 ? screen_row_kind(r, i - 1) : ROW_BLANK;
	bool indented = r->v[i].n > 0 && screen_row_text(r, i)[0] == ' ';

	if (is_redrawn_banner(r, i))
		return ROW_BANNER;
	if (below_full_row(r, i))
		return ROW_BODY;
	switch (k) {
	case ROW_BODY:
		return before == ROW_PROMPT && screen_row_has_cue(r, i, CUE_COMMAND_OUTPUT) &&
			is_command(r, i - 1)
		    ? ROW_RESULT
		    : k;
	case ROW_NEWS:
		return in_banner(r, i) ? ROW_BODY : ROW_STRAY;
	case ROW_COLLAPSED:
	case ROW_AGENTS:
		if (indented && before != ROW_BLANK)
			return ROW_BODY;
		if (k == ROW_AGENTS && screen_row_has_cue(r, i + 1, CUE_TREE))
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
		return r->v[i].bullet == BULLET_ERROR ? ROW_ERROR
		    : is_fold_of_command(r, i)        ? ROW_COLLAPSED
						      : k;
	case ROW_FRAME:
		return screen_row_kind(r, i + 1) == ROW_BANNER_TOP ? ROW_BANNER_TOP : k;
	case ROW_BANNER:
		if (screen_row_indent(r, i) > 2 && screen_row_kind(r, i + 1) != ROW_BANNER)
			return ROW_BODY;
		return screen_row_indent(r, i) == 2 && before != ROW_BANNER ? ROW_BODY : k;
	case ROW_STRAY:
		/*
		 * tmux broke a full row when the pane became narrower: the rest stands at column
		 * 0 or, where a blank came first, 1
		 */
		if (is_rest_of_death(r, i))
			return ROW_DEAD;
		if (before == ROW_RESUME && !is_rest_of_id(screen_row_text(r, i), r->v[i].n))
			return k;
		if (i > 0 && before != ROW_BLANK && before != ROW_STRAY && before != ROW_RULE &&
		    before != ROW_DEAD && screen_row_width(r, i - 1) + 1 >= r->width)
			return ROW_BODY;
		return k;
	default:
		return k;
	}
}

/* Before 2.1 only two blank rows set the queue off from the spinner and its tip. */
static size_t
classify_old_queue(struct screen_rows *r, size_t rule)
{
	size_t from = rule;

	if (rule == 0 || screen_row_kind(r, rule - 1) != ROW_BODY)
		return rule;
	while (from > 0 && rule - from < QUEUE_ROWS &&
	    (screen_row_kind(r, from - 1) == ROW_BODY || screen_row_kind(r, from - 1) == ROW_BLANK ||
		screen_row_kind(r, from - 1) == ROW_RESULT))
		from--;
	if (from == 0 || screen_row_kind(r, from - 1) != ROW_SPINNER)
		return rule;
	while (from < rule &&
	    (screen_row_kind(r, from) != ROW_BLANK || screen_row_kind(r, from + 1) != ROW_BLANK))
		from++;
	while (from < rule && screen_row_kind(r, from) == ROW_BLANK)
		from++;
	for (size_t i = from; i < rule; i++)
		set_kind(r, i, ROW_QUEUED);
	return from;
}

/*
 * Prompts that wait for the agent stand right above the box's rule, each with its mark at column
 * 2 and its other rows, blank ones too, at 4. The first of them follows a blank row and is the
 * uppermost that only such rows stand below.
 */
static size_t
classify_queue(struct screen_rows *r, size_t rule)
{
	size_t from = rule;

	if (grammar_layout(r->d)->prompt_indent == 0)
		return classify_old_queue(r, rule);
	for (size_t i = rule; i-- > 0 && rule - i < QUEUE_ROWS;) {
		enum row_kind k = screen_row_kind(r, i);

		if (k != ROW_BLANK &&
		    (k != ROW_BODY ||
			(screen_row_indent(r, i) < 4 &&
			    (screen_row_indent(r, i) != 2 || !screen_row_has_cue(r, i, CUE_QUEUED)))))
			break;
		if (k == ROW_BODY && screen_row_indent(r, i) == 2)
			from = i;
	}
	if (from == rule || screen_row_kind(r, rule - 1) == ROW_BLANK ||
	    (from > 0 && screen_row_kind(r, from - 1) != ROW_BLANK))
		return rule;
	for (size_t i = from; i < rule; i++)
		set_kind(r, i, ROW_QUEUED);
	return from;
}

/* The row in which the item begins that row i belongs to; r->n: in none. */
static size_t
item_start(const struct screen_rows *r, size_t i)
{
	while (i > 0 && (screen_row_kind(r, i) == ROW_BODY || screen_row_kind(r, i) == ROW_BLANK))
		i--;
	return screen_row_kind(r, i) == ROW_BODY || screen_row_kind(r, i) == ROW_BLANK ? r->n : i;
}

/*
 * 2.1.330 shows prompts that wait as if they had been sent, with a foot below the last. Right
 * behind a turn's end the first of several is the one that the agent works on.
 */
static void
classify_sent_queue(struct screen_rows *r)
{
	size_t last = r->n, first = 0, foot, above;

	while (last > 0 && screen_row_kind(r, last - 1) != ROW_PROMPT)
		last--;
	if (last-- == 0)
		return;
	for (foot = last + 1; screen_row_kind(r, foot) == ROW_BODY ||
	    (screen_row_kind(r, foot) == ROW_BLANK && screen_row_kind(r, foot + 1) == ROW_BODY);
	    foot++)
		;
	if (!screen_row_has_cue(r, --foot, CUE_QUEUE_FOOT))
		return;
	set_kind(r, foot, ROW_BLANK);
	r->v[foot].n = 0;
	for (above = last; above < r->n && screen_row_kind(r, above) == ROW_PROMPT;
	    above = above > 0 ? item_start(r, above - 1) : r->n) {
		set_kind(r, above, ROW_PROMPT_QUEUED);
		first = above;
	}
	if (first < last &&
	    (above == r->n || screen_row_kind(r, above) == ROW_TURN_END ||
		screen_row_kind(r, above) == ROW_BANNER))
		set_kind(r, first, ROW_PROMPT);
}

/* The task list stands above the box and the queue, behind the last item. */
static void
classify_tasks(struct screen_rows *r, size_t end)
{
	size_t from;

	while (end > 0 && screen_row_kind(r, end - 1) == ROW_BLANK)
		end--;
	for (from = end; from > 0 && screen_row_kind(r, from - 1) == ROW_BODY; from--)
		;
	if (from == end || !screen_row_has_cue(r, from, CUE_TASK_HEAD) ||
	    (from > 0 && screen_row_kind(r, from - 1) != ROW_BLANK))
		return;
	if (from + 1 < end && !screen_row_has_cue(r, from + 1, CUE_TASK))
		return;
	for (size_t i = from; i < end; i++)
		set_kind(r, i, ROW_TASKS);
}

static void
classify_box(struct screen_rows *r, size_t rule)
{
	if (rule > 0 && screen_row_kind(r, rule - 1) == ROW_BODY &&
	    screen_row_has_cue(r, rule - 1, CUE_KEYS)) {
		set_kind(r, --rule, ROW_BLANK);
		r->v[rule].n = 0;
	}
	classify_tasks(r, classify_queue(r, rule));
}

/* A dialog that is still open: the last thing on the screen, from its rule on. */
static void
classify_dialog(struct screen_rows *r)
{
	size_t rule = r->n;
	bool asks = false;

	for (size_t i = r->n; i-- > 0;) {
		enum row_kind k = screen_row_kind(r, i);
		bool option = k != ROW_BLANK && screen_row_has_cue(r, i, CUE_OPTION);

		if (k != ROW_BLANK && k != ROW_BODY && k != ROW_STRAY && k != ROW_DEAD && k != ROW_RULE &&
		    k != ROW_FRAME && k != ROW_BANNER_END && !(k == ROW_PROMPT && option))
			break;
		asks = asks || option || (k != ROW_BLANK && screen_row_has_cue(r, i, CUE_DIALOG));
		if (k == ROW_RULE || k == ROW_FRAME)
			rule = i;
	}
	for (size_t i = rule; asks && i < r->n; i++)
		if (screen_row_kind(r, i) != ROW_DEAD && screen_row_kind(r, i) != ROW_BLANK)
			set_kind(r, i, ROW_DIALOG);
}

/*
 * A folded line ends an item: what follows is a marker, another such line or the box. Where
 * indented text follows, the line was a paragraph of somebody's words.
 */
static void
classify_folds(struct screen_rows *r)
{
	enum row_kind below = ROW_BLANK;	/* of the next row that begins something */

	for (size_t i = r->n; i-- > 0;) {
		enum row_kind k = screen_row_kind(r, i);
		bool fold = (k == ROW_COLLAPSED || k == ROW_THOUGHT || k == ROW_AGENTS) &&
		    screen_row_text(r, i)[0] == ' ';

		if (fold && below == ROW_BODY)
			set_kind(r, i, ROW_BODY);
		if (k == ROW_BLANK || (k == ROW_BODY && screen_row_kind(r, i - (i > 0)) != ROW_BLANK))
			continue;
		below = screen_row_kind(r, i);
		if (below == ROW_BODY &&
		    (screen_row_has_cue(r, i, CUE_TASK_HEAD) || screen_row_has_cue(r, i, CUE_QUEUED)))
			below = ROW_BLANK;
	}
}

/*
 * A repaint may lose the rows between a prompt and what was said to it (2.1.197, 2.1.330, after a
 * resize). The prompt ends where its background does; words without a bullet go on there.
 */
static void
classify_torn(struct screen_rows *r)
{
	for (size_t i = 0; r->styled && i < r->n; i++) {
		size_t torn = r->n, k = i + 1;

		if (screen_row_kind(r, i) != ROW_PROMPT || !(r->v[i].marks & SGR_BACK))
			continue;
		for (; screen_row_kind(r, k) == ROW_BODY || (k < r->n && screen_row_kind(r, k) == ROW_BLANK);
		    k++) {
			if (r->v[k].marks & SGR_BACK)
				torn = r->n;
			else if (torn == r->n && screen_row_kind(r, k) == ROW_BODY)
				torn = k;
		}
		if (torn < r->n && !screen_row_has_cue(r, torn, CUE_COMMAND_OUTPUT))
			set_kind(r, torn, ROW_WORDS);
	}
}

void
screen_rows_classify(struct screen_rows *r)
{
	bool column_0 = grammar_layout(r->d)->prompt_indent == 0;

	for (size_t i = 0; i < r->n; i++) {
		enum row_kind k = classified_kind(r, i);
		size_t below = k == ROW_TOOL ? screen_call_head_end(r, i) : i + 1;

		set_kind(r, i, k);
		if ((k == ROW_TOOL || k == ROW_ANSWERS) && is_result(r, below))
			set_kind(r, below, ROW_RESULT);
		if (column_0 && (screen_row_kind(r, i) == ROW_PROMPT || screen_row_kind(r, i) == ROW_SHELL))
			classify_prompt(r, i);
	}
	classify_folds(r);
	classify_sent_queue(r);
	if (!column_0)
		classify_torn(r);
	for (size_t i = 0; i + 1 < r->n; i++)
		if (screen_row_kind(r, i) == ROW_RULE && screen_row_kind(r, i + 1) == ROW_BOX &&
		    (i == 0 || screen_row_kind(r, i - 1) != ROW_RULE))
			classify_box(r, i);
	classify_tasks(r, r->n);
	classify_dialog(r);
}

#define BLOCK_GAP 2		/* blank rows between two blocks, of which one may have a background */
#define GAP_BACK 3	/* between two that both have one */

struct shaded_block {
	enum row_kind kind;	/* of the last block; ROW_BLANK: none yet */
	bool back;		/* it has a background */
	bool ended;		/* of a call, without colours: it said how long it took */
	bool box;		/* the rows are of the input box, or below it */
};

static bool
is_program_row(enum row_kind k)
{
	return k == ROW_BANNER || k == ROW_SPINNER || k == ROW_NOTICE || k == ROW_DEAD || k == ROW_FOOT;
}

/* What begins here; ROW_BODY: the block goes on. */
static enum row_kind
with_colours(const struct screen_row *v, const struct shaded_block *b, unsigned gap)
{
	bool back = v->marks & SGR_BACK;

	if (!back)
		return b->kind == ROW_WORDS ? ROW_BODY : ROW_WORDS;
	/* what a call printed is grey, and may hold as many blank rows as it likes */
	if (b->back && (gap < GAP_BACK || (b->kind == ROW_TOOL && v->bullet == BULLET_PENDING)))
		return ROW_BODY;
	return v->kind == ROW_TOOL_MAYBE && (v->marks & SGR_NAME_BOLD) ? ROW_TOOL : ROW_PROMPT;
}

static enum row_kind
without_colours(const struct screen_row *v, const struct shaded_block *b, unsigned gap)
{
	if (b->kind != ROW_BLANK && gap < BLOCK_GAP)
		return ROW_BODY;
	if (b->kind == ROW_TOOL && !b->ended)
		return ROW_BODY;
	if (v->kind == ROW_TOOL_MAYBE && b->kind != ROW_BLANK)
		return ROW_TOOL;
	return b->kind == ROW_PROMPT || b->kind == ROW_TOOL ? ROW_WORDS : ROW_PROMPT;
}

/* What goes on in the row above is one with it: only the first of a notice's rows says so. */
static bool
is_notice(const struct screen_rows *r, size_t i)
{
	for (size_t k = i; k > 0 && i - k < 8 && r->v[k - 1].n > 0; k--)
		if (screen_row_kind(r, k - 1) == ROW_NOTICE)
			return true;
	return false;
}

static void
classify_row(struct screen_rows *r, size_t i, struct shaded_block *b, unsigned gap)
{
	struct screen_row *v = &r->v[i];
	bool back = v->marks & SGR_BACK;
	enum row_kind k = v->kind;

	if (k == ROW_RULE) {
		b->box = true;
		return;
	}
	if (b->box && !(r->styled && back))
		return;
	b->box = false;
	if (is_program_row((enum row_kind)v->kind) && !back) {
		b->kind = k == ROW_BANNER ? ROW_BANNER : b->kind;
		return;
	}
	if (is_notice(r, i) && !back)
		return;
	/* tips go on below the banner */
	if (b->kind == ROW_BANNER && (r->styled ? !back : gap < BLOCK_GAP))
		return;
	if (b->kind == ROW_BANNER)
		*b = (struct shaded_block){ .kind = ROW_BLANK };
	k = r->styled ? with_colours(v, b, gap) : without_colours(v, b, gap);
	if (k != ROW_BODY)
		*b = (struct shaded_block){ .kind = k, .back = back };
	b->ended = b->ended || screen_row_has_cue(r, i, CUE_NOISE);
	v->kind = (uint8_t)k;
}

void
screen_classify_shaded(struct screen_rows *r)
{
	struct shaded_block b = { .kind = ROW_BLANK };
	unsigned gap = 0;
	size_t i = 0;

	/* what stands above a banner is another program's */
	for (size_t k = 0; k < r->n && screen_row_kind(r, k) != ROW_RULE; k++)
		if (screen_row_kind(r, k) == ROW_BANNER) {
			i = k;
			break;
		}
	for (; i < r->n; i++) {
		if (r->v[i].n == 0) {
			gap++;
			continue;
		}
		classify_row(r, i, &b, gap);
		gap = 0;
	}
}
