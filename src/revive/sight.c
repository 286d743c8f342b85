#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "revive/sight.h"
#include "agent/profile.h"
#include "base/err.h"
#include "context/style.h"
#include "tmux/client.h"
#include "tmux/pane.h"

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
 * The box holds one row of grey words, and the cursor, where it is in that row, stands in front of them. Claude Code draws a cursor of its
 * own at times, and leaves the real one elsewhere; of no other program is it known what is grey then.
 */
static bool
is_ghost(const struct sight *s, const struct style *style, const struct sight_cursor *at, size_t from, size_t to, bool claude)
{
	size_t row = rows_before(s->text.data, from), all = rows_before(s->text.data, s->text.len) + 1;
	size_t cursor_row = all - (size_t)at->height + (size_t)at->y;

	/* what a command of the program takes is grey too, behind the person's own "/" */
	if (memchr(s->text.data + from, '\n', to - from) != NULL || s->text.data[from] == '/')
		return false;
	return (style_row(style, row).marks & STYLE_TAIL_DIM) != 0 && (cursor_row != row ? claude : at->x <= BOX_COLUMN);
}

static void
judge(struct sight *s, const struct profile *profile, const struct style *style, const struct sight_cursor *at)
{
	bool claude = strcmp(profile->dialect, "claude") == 0;
	size_t from, to;

	s->says = ready_screen(profile, s->text.data, s->text.len, &s->dialog);
	/* without any colour the words alone can tell */
	if ((s->says != READY_DRAFT && !(claude && s->says == READY_IDLE)) || style == NULL)
		return;
	if (!ready_box(profile, s->text.data, s->text.len, &from, &to))
		return;
	while (from < to && (s->text.data[from] == ' ' || s->text.data[from] == '\n'))
		from++;
	if (from < to)
		s->says = is_ghost(s, style, at, from, to, claude) ? READY_IDLE : READY_DRAFT;
}

void
sight_read(struct sight *s, const struct profile *profile, const struct sight_cursor *at)
{
	struct style *style = style_strip(&s->text);

	judge(s, profile, style, at);
	style_free(style);
}

int
sight_take(struct tmux *t, const struct pane *p, const struct profile *profile, const char *recovery_id, int rows, struct sight *out,
    struct err *e)
{
	struct sight_cursor at = { 0, 0, 0 };
	char from[16], mark[64] = "", dead[8] = "1";
	const char *said;
	struct batch b;
	size_t n;
	int ret;

	*out = (struct sight){ .says = READY_UNKNOWN };
	buf_init(&out->text);
	snprintf(from, sizeof from, "-%d", rows);
	batch_init(&b);
	batch_add(&b, "display-message", "-p", "-t", p->id,
	    "#{pane_dead} #{pane_pid} #{cursor_x} #{cursor_y} #{pane_height} #{" SIGHT_MARK "}", NULL);
	batch_add(&b, "capture-pane", "-p", "-e", "-t", p->id, "-S", from, NULL);
	ret = batch_run(t, &b, e);
	said = ret == 0 && !batch_failed(&b, NULL) ? batch_out(&b, 0, &n) : NULL;
	if (said != NULL) {
		char *line = xstrndup(said, n);

		sscanf(line, "%7s %d %d %d %d %63s", dead, &out->pid, &at.x, &at.y, &at.height, mark);
		free(line);
		said = batch_out(&b, 1, &n);
	}
	if (said != NULL)
		buf_add(&out->text, said, n);
	batch_release(&b);
	if (ret != 0)
		return -1;
	out->over = strcmp(dead, "0") != 0;
	out->marked = strcmp(mark, recovery_id) == 0;
	sight_read(out, profile, &at);
	return 0;
}

void
sight_release(struct sight *s)
{
	buf_wipe(&s->text);
}
