#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/err.h"
#include "base/pattern.h"
#include "screen/screen.h"
#include "tmux/tmux.h"

/* ---- the text of a screen ---- */

/*
 * The box, its footer and what may stand below it (notices, rows of sub-agents); permission
 * dialogs are a little taller.
 */
#define ROWS 24

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Where the last `height` rows of the text begin. */
static size_t
last_rows(const char *text, size_t n, int height)
{
	for (int rows = 0; n > 0; n--)
		if (text[n - 1] == '\n' && ++rows == height)
			break;
	return n;
}

/* Where the lowest rows begin; *n is cut to where the last one that is not blank ends. */
static size_t
lowest_rows(const char *screen, size_t *n)
{
	while (*n > 0 && blank(screen[*n - 1]))
		(*n)--;
	return last_rows(screen, *n, ROWS);
}

/*
 * What an empty box says in grey; in plain text nothing else tells it from a draft. Seen in
 * 1.0.128 to 2.1.330, gemini 0.61, copilot 1.0.102, codex 0.169.0, cline 3.0.65.
 */
static bool
agent_box_is_hint(const char *text, size_t n)
{
	static const char *const hints[] = { "Try \"", "Press up to edit", "Type your message",
		"Ask anything", "Plan something", "Ask Codex to do anything", "What can I do for you?" };

	while (n > 0 && blank(*text)) {
		text++;
		n--;
	}
	for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
		if (n >= strlen(hints[i]) && memcmp(text, hints[i], strlen(hints[i])) == 0)
			return true;
	return n == 0;
}

enum readiness
agent_readiness(const struct profile *p, const char *screen, size_t n, const char **dialog)
{
	size_t at = lowest_rows(screen, &n), from, to;
	const char *low = screen + at, *name;

	n -= at;
	name = profile_dialog(p, low, n);
	if (dialog != NULL)
		*dialog = name;
	if (name != NULL)
		return READY_DIALOG;
	if (profile_is_busy(p, low, n))
		return READY_BUSY;
	if (!profile_is_ready(p, low, n, &from, &to))
		return READY_UNKNOWN;
	return agent_box_is_hint(low + from, to - from) ? READY_IDLE : READY_DRAFT;
}

/* False: no box, or the row does not show its text. */
static bool
box_text(const struct profile *p, const char *screen, size_t n, size_t *from, size_t *to)
{
	size_t at = lowest_rows(screen, &n);

	if (!profile_is_ready(p, screen + at, n - at, from, to) || *to == 0)
		return false;
	*from += at;
	*to += at;
	return true;
}

static void
add_without_blanks(struct buf *out, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (n - i >= 2 && memcmp(p + i, "\xc2\xa0", 2) == 0)
			i++;
		else if (!blank(p[i]) && p[i] != '\r')
			buf_chr(out, p[i]);
	}
}

/* What a box shows, its placeholders taken out. */
struct box_state {
	struct buf words;		/* without blanks */
	size_t placeholders;
	size_t lines;			/* line ends that they say they hold */
	bool counted;			/* the agent's placeholders say so */
};

static void
read_box(const struct profile *p, const char *low, size_t from, size_t to, struct box_state *out)
{
	struct match m;

	while (p->pasted != NULL && pattern_find(p->pasted, low, to, from, &m) == 1) {
		add_without_blanks(&out->words, low + from, m.start[0] - from);
		if (m.start[1] != (size_t)-1) {
			out->lines += strtoul(low + m.start[1], NULL, 10);
			out->counted = true;
		}
		from = m.end[0];
		out->placeholders++;
	}
	add_without_blanks(&out->words, low + from, to - from);
}

/* A last line end may be left out of the count. */
static bool
counts_agree(const struct box_state *s, const char *text)
{
	size_t n = strlen(text), lines = 0;

	for (const char *p = strchr(text, '\n'); p != NULL; p = strchr(p + 1, '\n'))
		lines++;
	return s->lines == lines || (n > 0 && text[n - 1] == '\n' && s->lines + 1 == lines);
}

bool
agent_box_holds(const struct profile *p, const char *screen, size_t n, const char *text)
{
	size_t at = lowest_rows(screen, &n), from, to;
	struct box_state box = { .words = BUF_INIT };
	struct buf whole = BUF_INIT;
	bool holds = false;

	if (profile_is_ready(p, screen + at, n - at, &from, &to)) {
		read_box(p, screen + at, from, to, &box);
		add_without_blanks(&whole, text, strlen(text));
		if (box.words.len > 0)
			holds = strstr(whole.data, box.words.data) != NULL;
		else
			holds = box.placeholders > 0 && (!box.counted || counts_agree(&box, text));
	}
	buf_wipe(&box.words);
	buf_wipe(&whole);
	return holds;
}

/* ---- a look at the pane ---- */

/* Columns in front of the text in a box: the glyph and a blank. */
#define BOX_COLUMN 2

static size_t
rows_before(const char *text, size_t n)
{
	size_t rows = 0;

	for (size_t i = 0; i < n; i++)
		rows += text[i] == '\n';
	return rows;
}

/*
 * The box holds one row of grey words, and the cursor, where it is in that row, stands in front
 * of them. Claude Code draws a cursor of its own at times, and leaves the real one elsewhere; of
 * no other program is it known what is grey then.
 */
static bool
is_ghost(const struct live_screen *s, const struct sgr_rows *style, const struct live_cursor *at, size_t from,
    size_t to, bool claude)
{
	size_t row = rows_before(s->text.data, from), all = rows_before(s->text.data, s->text.len) + 1;
	size_t cursor_row = all - (size_t)at->height + (size_t)at->y;

	/* what a command of the program takes is grey too, behind the person's own "/" */
	if (memchr(s->text.data + from, '\n', to - from) != NULL || s->text.data[from] == '/')
		return false;
	return (sgr_row(style, row).marks & SGR_TAIL_DIM) != 0 &&
	    (cursor_row != row ? claude : at->x <= BOX_COLUMN);
}

static void
judge(struct live_screen *s, const struct profile *profile, const struct sgr_rows *style,
    const struct live_cursor *at)
{
	bool claude = strcmp(profile->grammar, "claude") == 0;
	const char *screen = s->text.data + s->screen;
	size_t from, to, n = s->text.len - s->screen;

	s->says = agent_readiness(profile, screen, n, &s->dialog);
	/* without any colour the words alone can tell */
	if ((s->says != READY_DRAFT && !(claude && s->says == READY_IDLE)) || style == NULL)
		return;
	if (!box_text(profile, screen, n, &from, &to))
		return;
	from += s->screen;
	to += s->screen;
	while (from < to && (s->text.data[from] == ' ' || s->text.data[from] == '\n'))
		from++;
	if (from < to)
		s->says = is_ghost(s, style, at, from, to, claude) ? READY_IDLE : READY_DRAFT;
}

void
agent_screen_parse(struct live_screen *s, const struct profile *profile, const struct live_cursor *at)
{
	struct sgr_rows *style = sgr_strip(&s->text);

	s->screen = last_rows(s->text.data, s->text.len, at->height);
	judge(s, profile, style, at);
	sgr_free(style);
}

size_t
agent_screen_ask(struct tmux_batch *b, const struct pane *p, int rows)
{
	char from[16];
	size_t at;

	snprintf(from, sizeof from, "-%d", rows);
	at = tmux_batch_add(b, "display-message", "-p", "-t", p->id,
	    "#{pane_dead} #{pane_pid} #{cursor_x} #{cursor_y} #{pane_height} #{" PASTE_MARK "}", NULL);
	tmux_batch_add(b, "capture-pane", "-p", "-e", "-t", p->id, "-S", from, NULL);
	return at;
}

void
agent_screen_answer(const struct tmux_batch *b, size_t at, const struct profile *profile,
    const char *recovery_id, struct live_screen *out)
{
	struct live_cursor cursor = { 0, 0, 0 };
	char mark[64] = "", dead[8] = "1";
	size_t n = 0;
	const char *said = tmux_batch_output(b, at, &n);

	*out = (struct live_screen){ .says = READY_UNKNOWN };
	buf_init(&out->text);
	/* of a pane that is gone tmux prints nothing */
	if (said != NULL && n > 0) {
		char *line = xstrndup(said, n);

		sscanf(line, "%7s %d %d %d %d %63s", dead, &out->pid, &cursor.x, &cursor.y, &cursor.height,
		    mark);
		free(line);
		said = tmux_batch_output(b, at + 1, &n);
		if (said != NULL)
			buf_add(&out->text, said, n);
	}
	out->over = strcmp(dead, "0") != 0;
	out->marked = strcmp(mark, recovery_id) == 0;
	agent_screen_parse(out, profile, &cursor);
}

int
agent_screen_read(struct tmux *t, const struct pane *p, const struct profile *profile,
    const char *recovery_id, int rows, struct live_screen *out, struct err *e)
{
	struct tmux_batch b;
	size_t at;
	int ret;

	*out = (struct live_screen){ .says = READY_UNKNOWN };
	buf_init(&out->text);
	tmux_batch_init(&b);
	at = agent_screen_ask(&b, p, rows);
	ret = tmux_batch_run(t, &b, e);
	if (ret == 0)
		agent_screen_answer(&b, at, profile, recovery_id, out);
	tmux_batch_release(&b);
	return ret;
}

void
agent_screen_release(struct live_screen *s)
{
	buf_wipe(&s->text);
}
