#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/err.h"
#include "screen/screen.h"
#include "tmux/tmux.h"

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

/* Where the last `height` rows begin. */
static size_t
screen_of(const struct buf *text, int height)
{
	size_t at = text->len;

	for (int rows = 0; at > 0; at--)
		if (text->data[at - 1] == '\n' && ++rows == height)
			break;
	return at;
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
	if (!agent_box_text(profile, screen, n, &from, &to))
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

	s->screen = screen_of(&s->text, at->height);
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
