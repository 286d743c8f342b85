#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "screen/screen_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/pattern.h"
#include "conversation/conversation.h"
#include "scrub/scrub.h"

/*
 * Claude Code keeps the cursor at the caret inside its input box. When it is killed and a shell
 * lives on, the shell writes from there: its word about the death behind the draft, its prompt
 * over the box's lower rule (2.1.197 under bash and dash).
 */
#define COUNT(a) (sizeof(a) / sizeof(a)[0])
#define LAST_ROWS 60		/* of a screen, where its end is looked for */
#define REPORT_ROWS 80		/* of the agent's report of its crash */
#define DEATHS                                                                                               \
	"(?:Killed|Terminated|Segmentation fault|Aborted|Hangup|Bus error|Illegal "                          \
	"instruction|Quit|Trace/breakpoint trap)"

/*
 * The first that matches tells where the shell began; the sure ones first, because a draft has no
 * blank behind it.
 */
static const char *const deaths[] = {
	"-?(?:/[^ ]*/)?(?:bash|dash|ksh|sh): line \\d+: +\\d+ " DEATHS "\\b",
	"[^ ]+: line \\d+: +\\d+ " DEATHS "\\b",
	"zsh: (?:killed|terminated|segmentation fault|abort|hangup|bus error|illegal hardware instruction) ",
	"fish: (?:Job \\d+, |Process \\d+, )",
	"\\[\\d+\\][+-]? +(?:\\d+ )?" DEATHS "\\b",
	"={20,}$",	/* the crash report of its runtime */
	DEATHS " {4,}(?:\\(core dumped\\) )?[^ ]",	/* bash 5.3 names the command */
	DEATHS "(?: \\(core dumped\\))?$",
};

/* A dialog's cursor stands at its first column; what was right of the word stays. */
static const char over_dialog[] = "^ ?(?:.*: line \\d+: +\\d+ )?" DEATHS "\\b";

/*
 * The agent's own last words, also from the caret on: the head of its runtime's report or of an
 * error that nobody caught, and a row that only such a report has.
 */
static const char *const reports[] = {
	"={20,}$",
	"<--- Last few GCs --->$",
	"(?:file://)?/[^ ]+:\\d+$",
	"(?:Uncaught )?(?:[A-Z]\\w*)?(?:Error|Exception)(?: \\[\\w+\\])?: ",
};
static const char report_row[] = "^(?: {4,}at [^ ]|(?:panic|FATAL ERROR|oh no|Bun v\\d|Node\\.js v\\d))";
static const char prompt_like[] = "[^ ]*[@:~][^ ]*[$#%>](?: .*)?$";

static bool
find_pattern(const char *regex, const char *p, size_t n, size_t *at)
{
	struct err e = ERR_INIT;
	struct pattern *re = pattern_new(regex, 0, &e);
	struct match m;
	bool found;

	if (re == NULL)
		die("a rule for shells' words is broken: %s", e.msg);
	found = pattern_find(re, p, n, 0, &m) == 1;
	pattern_free(re);
	if (found)
		*at = m.start[0];
	return found;
}

/* Behind the box's mark and its NBSP. */
static size_t
box_mark(const char *p, size_t n)
{
	size_t mark = 0;

	while (mark < n && (unsigned char)p[mark] != 0xC2)
		mark++;
	return mark + 2 <= n ? mark + 2 : n;
}

/* Where in the box's row the shell began; the whole row when nothing tells. */
static size_t
in_box_row(const struct screen_rows *r, size_t box)
{
	const char *p = screen_row_text(r, box);
	size_t n = r->v[box].n, mark = box_mark(p, n), at;

	for (size_t i = 0; i < COUNT(deaths); i++)
		if (find_pattern(deaths[i], p + mark, n - mark, &at))
			return r->v[box].at + mark + at;
	return r->v[box].at + (find_pattern(prompt_like, p + mark, n - mark, &at) ? mark + at : n);
}

/* The same for a draft of several rows, up to row end: behind the last of them, where nothing tells in it. */
static size_t
in_box(const struct screen_rows *r, size_t box, size_t end)
{
	size_t first = in_box_row(r, box), at;

	if (first < r->v[box].at + r->v[box].n)
		return first;
	for (size_t row = box + 1; row < end; row++)
		for (size_t i = 0; i + 1 < COUNT(deaths); i++)
			if (find_pattern(deaths[i], screen_row_text(r, row), r->v[row].n, &at))
				return r->v[row].at + at;
	return first;
}

static bool
whole_rule(const struct screen_rows *r, size_t i)
{
	return i < r->n && r->v[i].kind == ROW_RULE;
}

static size_t
below_box(const struct screen_rows *r, size_t from, size_t n)
{
	size_t at;

	for (size_t i = from; i < r->n; i++) {
		if (r->v[i].kind != ROW_STRAY)
			continue;
		for (size_t k = 0; k < COUNT(deaths); k++)
			if (find_pattern(deaths[k], screen_row_text(r, i), r->v[i].n, &at) && at == 0)
				return r->v[i].at;
		break;	/* only the first: anything behind it is the shell's or the agent's alike */
	}
	return n;
}

static size_t
after_box(const struct screen_rows *r, size_t box, size_t n)
{
	size_t end = box + 1, at;

	while (end < r->n && (r->v[end].kind == ROW_BODY || r->v[end].kind == ROW_BLANK))
		end++;
	if (whole_rule(r, end))
		return below_box(r, end, n);
	if (end == r->n) {	/* nothing was drawn below: a cut capture, unless the row itself tells */
		at = in_box(r, box, end);
		return at == r->v[box].at + r->v[box].n ? n : at;
	}
	return in_box(r, box, end);
}

/* The row in front of `to` that only a report has, or `to`. */
static size_t
report_sign(const struct screen_rows *r, size_t i, size_t to)
{
	size_t at;

	for (; i < to; i++)
		if (r->v[i].n > 0 && strchr(" pFoBN", *screen_row_text(r, i)) != NULL &&
		    find_pattern(report_row, screen_row_text(r, i), r->v[i].n, &at))
			break;
	return i;
}

/*
 * Where the agent's report of its crash begins; n: there is none. Within a box that is whole it
 * would be a person's words.
 */
static size_t
report_start(const struct screen_rows *r, size_t box, size_t n)
{
	size_t end = box + 1, from = box, to, sign, at;

	while (end < r->n && (r->v[end].kind == ROW_BODY || r->v[end].kind == ROW_BLANK))
		end++;
	if (end == r->n)
		return n;
	if (whole_rule(r, end))
		from = end + 1;
	to = from + REPORT_ROWS < r->n ? from + REPORT_ROWS : r->n;
	sign = report_sign(r, from, to);
	for (size_t row = from; sign < to && row <= sign; row++) {
		const char *p = screen_row_text(r, row);
		size_t mark = row == box ? box_mark(p, r->v[row].n) : 0;

		for (size_t i = 0; i < COUNT(reports); i++)
			if (find_pattern(reports[i], p + mark, r->v[row].n - mark, &at) &&
			    (mark > 0 || at == 0))
				return r->v[row].at + mark + at;
	}
	return sign < to ? r->v[sign].at : n;
}

/* Where the report ends that begins at `from`: where tmux or a shell has the word. */
static size_t
report_end(const struct screen_rows *r, size_t from, size_t n)
{
	size_t at, rows = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (r->v[i].at <= from)
			continue;
		if (++rows > REPORT_ROWS || r->v[i].kind == ROW_DEAD ||
		    (find_pattern(prompt_like, screen_row_text(r, i), r->v[i].n, &at) && at == 0))
			return r->v[i].at;
		for (size_t k = 0; k < COUNT(deaths); k++)
			if (find_pattern(deaths[k], screen_row_text(r, i), r->v[i].n, &at) && at == 0)
				return r->v[i].at;
	}
	return n;
}

static size_t
after_dialog(const struct screen_rows *r, size_t rule, size_t n)
{
	size_t at;

	for (size_t i = rule; i < r->n && i < rule + 200; i++)
		if (r->v[i].n > 0 && find_pattern(over_dialog, screen_row_text(r, i), r->v[i].n, &at))
			return r->v[i].at;
	return n;
}

/* Behind "claude --resume ID" only tmux's own row may stand. */
static size_t
after_farewell(const struct screen_rows *r, size_t i, size_t n)
{
	size_t end = i + 1 < r->n && r->v[i + 1].kind == ROW_RESUME ? i + 1 : i;

	for (size_t k = end + 1; k < r->n; k++) {
		if (r->v[k].kind == ROW_BLANK)
			continue;
		return r->v[k].kind == ROW_DEAD ? n : r->v[end].at + r->v[end].n;
	}
	return n;
}

/* How many bytes are of the agent's screen; up to *report there is its report of a crash. */
static size_t
agents_part(const char *text, size_t n, int width, size_t *report)
{
	struct grammar *d = grammar_new("claude", grammar_find_version(text, n));
	size_t keep = n, rule = 0, i;
	struct screen_rows r;

	*report = 0;
	screen_rows_init(&r, text, n, width > 0 ? (size_t)width : 0, d);
	for (i = r.n; i-- > 0;) {
		if (r.v[i].kind == ROW_FAREWELL)
			keep = after_farewell(&r, i, n);
		else if (r.v[i].kind == ROW_BOX && i > 0 && whole_rule(&r, i - 1)) {
			keep = report_start(&r, i, n);
			if (keep < n)
				*report = report_end(&r, keep, n);
			else
				keep = after_box(&r, i, n);
		} else if (r.v[i].kind == ROW_RULE && (i + 1 >= r.n || r.v[i + 1].kind != ROW_BOX)) {
			rule = i;
			continue;
		} else if (rule > 0 &&
		    (r.v[i].kind == ROW_WORDS || r.v[i].kind == ROW_TOOL || r.v[i].kind == ROW_RESULT))
			keep = after_dialog(&r, rule, n);
		else
			continue;
		break;
	}
	screen_rows_release(&r);
	grammar_free(d);
	return keep;
}

size_t
screen_without_shell(const char *text, size_t n, int width)
{
	size_t report, keep = agents_part(text, n, width, &report);

	return report > keep ? report : keep;
}

/* The rows of a report, without what was left of the box at their ends. */
static void
add_report(struct conversation *c, const char *p, const char *end)
{
	static const char dash[] = "\xE2\x94\x80";
	struct buf b = BUF_INIT;

	for (const char *nl; p < end; p = nl + 1) {
		size_t n;

		nl = memchr(p, '\n', (size_t)(end - p));
		nl = nl != NULL ? nl : end;
		for (n = (size_t)(nl - p); n >= 3 && memcmp(p + n - 3, dash, 3) == 0; n -= 3)
			;
		buf_add(&b, p, n);
		buf_chr(&b, '\n');
	}
	while (b.len > 0 && strchr(" \n", b.data[b.len - 1]) != NULL)
		buf_cut(&b, b.len - 1);
	conversation_add(c, ROLE_SYSTEM, NULL, NULL, conversation_text(&b))->status = STATUS_FAILED;
}

/*
 * How many kinds of rows stand here that only the agent draws, a banner and a box counting twice.
 * Less than 2 may be chance.
 */
static unsigned
evidence_of(const struct screen_rows *r)
{
	bool seen[ROW_DIALOG + 1] = { false };
	unsigned n = 0;

	for (size_t i = 0; i < r->n; i++) {
		enum row_kind k = (enum row_kind)r->v[i].kind;

		if (k == ROW_BOX && (i == 0 || r->v[i - 1].kind != ROW_RULE))
			continue;
		if (k == ROW_TOOL || k == ROW_TOOL_MAYBE || k == ROW_ERROR)
			k = ROW_WORDS;
		if (k == ROW_BANNER_TOP)
			k = ROW_BANNER;
		seen[k] = true;
	}
	/* one alone may stand in any program's text; the foot of the screen-reader mode is made of words */
	if (grammar_screen_format(r->d) != SCREEN_ACCESSIBLE)
		n += 2u * seen[ROW_FOOT];
	n += 0u + seen[ROW_PROMPT] + seen[ROW_WORDS] + seen[ROW_RESULT] + seen[ROW_TURN_END] +
	    seen[ROW_FAREWELL] + seen[ROW_SPINNER];
	return n + 2u * seen[ROW_BANNER] + 2u * seen[ROW_BOX];
}

int
screen_shows_agent(const char *text, size_t n, const char *agent)
{
	struct grammar *d = grammar_for_text(agent, text, n);
	struct screen_rows r;
	unsigned found;

	if (d == NULL)
		return 0;
	screen_rows_init(&r, text, n, 0, d);
	found = evidence_of(&r);
	screen_rows_release(&r);
	grammar_free(d);
	return found >= 2;
}

bool
screen_shows_login(const char *text, size_t n, const char *agent)
{
	struct grammar *d = grammar_for_text(agent, text, n);
	bool shows = false;
	struct screen_rows r;

	if (d == NULL)
		return false;
	screen_rows_init(&r, text, n, 0, d);
	for (size_t i = r.n > LAST_ROWS ? r.n - LAST_ROWS : 0; i < r.n && !shows; i++) {
		struct match m = { .start = { 0 }, .end = { 0 } };
		enum row_kind k = grammar_row(d, screen_row_text(&r, i), r.v[i].n, &m);
		bool marked =
		    k == ROW_WORDS || k == ROW_ERROR || k == ROW_RETRY || k == ROW_RESULT || k == ROW_NOTICE;
		size_t from = marked && m.start[1] <= r.v[i].n ? m.start[1] : 0;

		shows = grammar_has_cue(d, CUE_LOGIN, screen_row_text(&r, i) + from, r.v[i].n - from);
	}
	screen_rows_release(&r);
	grammar_free(d);
	return shows;
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

/* Names the rows by those around them. */
static void
classify(struct screen_rows *r)
{
	if (grammar_screen_format(r->d) == SCREEN_SHADED)
		screen_classify_shaded(r);
	if (grammar_screen_format(r->d) != SCREEN_CLAUDE)
		return;
	screen_rows_drop_view(r);
	screen_rows_drop_copies(r);
	screen_rows_classify(r);
	screen_rows_measure(r);
}

static bool
may_hold_report(const char *p, size_t n)
{
	return memmem(p, n, "\nBun v", 6) != NULL || memmem(p, n, "\n    at ", 8) != NULL ||
	    memmem(p, n, "\nFATAL ERROR", 12) != NULL;
}

void
screen_read_bytes(const char *p, size_t n, const struct sgr_rows *style, int width, const char *agent,
    struct conversation *out)
{
	struct grammar *d = grammar_for_text(agent, p, n);
	struct screen s = { .c = out };
	size_t report = 0, all = n;

	if (d == NULL) {
		keep_whole(out, p, n);
		out->lines = out->unknown_lines;
		return;
	}
	if (grammar_screen_format(d) == SCREEN_CLAUDE && may_hold_report(p, n))
		all = agents_part(p, n, width, &report);
	if (report > all)
		n = all;
	screen_rows_init(&s.r, p, n, width > 0 ? (size_t)width : 0, d);
	screen_rows_set_sgr(&s.r, style);
	s.page = grammar_layout(d);
	out->lines = s.r.n;
	if (evidence_of(&s.r) < 2)
		keep_whole(out, p, n);
	else {
		classify(&s.r);
		screen_walk(&s);
		if (grammar_layout(d)->goes_on == GOES_ON_INDENTED || s.repainted)
			screen_drop_repaint(out);
		if (report > all)
			add_report(out, p + all, p + report);
	}
	screen_rows_release(&s.r);
	grammar_free(d);
}

/* The door for everybody but tests: the type says that the text has been through the scrubber. */
void
screen_read(const struct clean_text *text, const struct sgr_rows *style, int width, const char *agent,
    struct conversation *out)
{
	screen_read_bytes(clean_bytes(text), clean_len(text), style, width, agent, out);
}
