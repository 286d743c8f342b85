#include <stdlib.h>
#include <string.h>

#include "screen/screen_private.h"
#include "base/buf.h"
#include "conversation/conversation.h"

#define BANNER_ROWS 24	/* name, model, folder and news */
#define RUNNING_ROWS 4	/* rows that are shown of what a running command has printed */

/* A text may end like the row that tells the mode; the banner goes on with the program's name. */
static bool
is_banner(const struct screen *s, size_t i)
{
	char first = screen_row_kind(&s->r, i) == ROW_BANNER ? screen_row_text(&s->r, i)[0] : '\0';

	return first == '[' || first == 'C' || (first != '\0' && screen_row_kind(&s->r, i + 1) == ROW_BANNER);
}

static bool
is_accessible_text(const struct screen *s, size_t i)
{
	enum row_kind k = screen_row_kind(&s->r, i);

	/* a paragraph of words stands behind a blank row, the program's own rows do not */
	if ((k == ROW_COLLAPSED || k == ROW_THOUGHT || k == ROW_TURN_END || k == ROW_SPINNER) && i > 0)
		return screen_row_kind(&s->r, i - 1) == ROW_BLANK;
	if (k == ROW_DEAD) {	/* tmux writes it below everything */
		for (i++; i < s->r.n && screen_row_kind(&s->r, i) == ROW_BLANK; i++)
			;
		return i < s->r.n;
	}
	return k == ROW_BODY || k == ROW_STRAY || k == ROW_BLANK || (k == ROW_BANNER && !is_banner(s, i));
}

static size_t
text_end(const struct screen *s, size_t i)
{
	while (i < s->r.n && is_accessible_text(s, i))
		i++;
	return i;
}

/* The rows from i on, from behind the first one's mark. */
static char *
accessible_words(const struct screen *s, size_t i, size_t end, const char *mark)
{
	const char *p = screen_row_text(&s->r, i), *at = memmem(p, s->r.v[i].n, mark, strlen(mark));

	return screen_joined(
	    s, i, end, at != NULL ? (size_t)(at - p) + strlen(mark) : s->r.v[i].n, 0, s->r.width);
}

static size_t
read_accessible_banner(struct screen *s, size_t i)
{
	size_t end = i, from = i;

	for (; end < s->r.n &&
	    (screen_row_kind(&s->r, end) == ROW_BANNER || screen_row_kind(&s->r, end) == ROW_BLANK);
	    end++) {
		char *version = screen_row_kind(&s->r, end) == ROW_BANNER ? screen_group(s, end, 1) : NULL;

		if (version == NULL)
			continue;
		from = end;
		free(s->c->banner);
		s->c->banner = version;
	}
	while (end < s->r.n && end < from + BANNER_ROWS &&
	    (screen_row_kind(&s->r, end) == ROW_BODY || screen_row_kind(&s->r, end) == ROW_STRAY))
		end++;
	screen_close_calls(s);
	s->outside = s->c->farewell = s->busy = false;
	screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, screen_joined(s, from, end, 0, 0, 0));
	return end;
}

static size_t
read_accessible_tool(struct screen *s, size_t i)
{
	size_t head = i + 1, end, last;
	char *name = screen_group(s, i, 2), *input = screen_group(s, i, 3);
	bool failed = str_starts(screen_row_text(&s->r, i), "tool error");
	enum status status = failed ? STATUS_FAILED : STATUS_COMPLETE;

	/* what it was called with goes on until its bracket closes, when that is soon */
	for (size_t k = i; k < i + 4 && k < s->r.n &&
	    (k == i || screen_row_kind(&s->r, k) == ROW_BODY || screen_row_kind(&s->r, k) == ROW_STRAY);
	    k++)
		if (s->r.v[k].n > 0 && screen_row_text(&s->r, k)[s->r.v[k].n - 1] == ')') {
			head = k + 1;
			break;
		}
	if (head > i + 1) {
		free(input);
		input = accessible_words(s, i, head, " (");
	}
	if (input != NULL && str_ends(input, ")"))
		input[strlen(input) - 1] = '\0';
	end = text_end(s, head);
	last = end;
	while (last > head && screen_row_kind(&s->r, last - 1) == ROW_BLANK)
		last--;
	if (last == head)
		status = STATUS_RUNNING;
	else if (screen_row_has_cue(&s->r, last - 1, CUE_RUNNING) ||
	    screen_row_has_cue(&s->r, head, CUE_RUNNING))
		status = STATUS_RUNNING;
	else if (screen_row_has_cue(&s->r, head, CUE_WAITING))
		status = STATUS_WAITING;
	else if (screen_row_has_cue(&s->r, head, CUE_FAILED) ||
	    screen_row_has_cue(&s->r, head, CUE_INTERRUPTED))
		status = STATUS_FAILED;
	if (last > head && screen_row_has_cue(&s->r, last - 1, CUE_NOISE))
		last--;
	screen_add(s, ROLE_ASSISTANT, status, name != NULL ? name : xstrdup("?"), input,
	    screen_joined(s, head, last, 0, 0, 0));
	s->spun = false;
	return end;
}

static size_t
read_accessible_folded(struct screen *s, size_t i)
{
	char *text = screen_group(s, i, 1);
	bool running = false;
	const char *tool;

	if (text == NULL)
		text = xstrdup("");
	tool = grammar_folded_tool(s->r.d, text, strlen(text), &running);
	screen_add(s, ROLE_ASSISTANT, running ? STATUS_RUNNING : STATUS_COMPLETE,
	    xstrdup(tool != NULL ? tool : "Calls"), NULL, text)
	    ->folded = true;
	return i + 1;
}

/*
 * The head of a running call blinks away, row and all (2.1.197), and its last rows seem to be
 * words, from row `from` on. Where they begin; `end` when there are none. Certain are only the
 * row that names the key and the one that counts what is not shown, and then four above it.
 */
static size_t
headless_result(const struct screen *s, size_t from, size_t end)
{
	size_t last = end, begin, rows;
	bool counted;

	while (last > from && screen_row_kind(&s->r, last - 1) == ROW_BLANK)
		last--;
	if (last == from || !screen_row_has_cue(&s->r, last - 1, CUE_RUNNING))
		return end;
	last -= screen_row_has_cue(&s->r, last - 1, CUE_NOISE);
	counted = last > from && screen_row_has_cue(&s->r, last - 1, CUE_RUNNING);
	last -= counted;
	begin = last;
	for (rows = 0; last > from && rows < RUNNING_ROWS && screen_row_kind(&s->r, last - 1) != ROW_BLANK;
	    rows++, last--)
		if (counted || !screen_row_was_wrapped(&s->r, last - 1, s->r.width))
			begin = last - 1;
	return begin;
}

static void
add_headless(struct screen *s, size_t from, size_t end)
{
	while (end > from &&
	    (screen_row_kind(&s->r, end - 1) == ROW_BLANK || screen_row_has_cue(&s->r, end - 1, CUE_NOISE)))
		end--;
	screen_add(
	    s, ROLE_ASSISTANT, STATUS_RUNNING, xstrdup("Bash"), NULL, screen_joined(s, from, end, 0, 0, 0));
}

/* The words of the person or the model, until the program says something. */
static size_t
read_accessible_words(struct screen *s, size_t i)
{
	bool person = screen_row_kind(&s->r, i) == ROW_PROMPT;
	size_t end = text_end(s, i + 1), result = headless_result(s, i + 1, end);

	if (person)
		screen_close_calls(s);
	s->spun = false;
	screen_add(s, person ? ROLE_USER : ROLE_ASSISTANT, STATUS_COMPLETE, NULL, NULL,
	    accessible_words(s, i, result, " "));
	if (result < end)
		add_headless(s, result, end);
	return end;
}

static size_t
read_accessible_dialog(struct screen *s, size_t i)
{
	size_t end = i + 1;
	struct exchange *x = s->c->n > 0 ? &s->c->v[s->c->n - 1] : NULL;

	while (end < s->r.n && screen_row_kind(&s->r, end) != ROW_DEAD &&
	    screen_row_kind(&s->r, end) != ROW_PROMPT && screen_row_kind(&s->r, end) != ROW_WORDS)
		end++;
	free(s->c->question);
	s->c->question = screen_joined(s, i, end, 0, 0, 0);
	if (x != NULL && x->tool != NULL && x->status == STATUS_RUNNING)
		x->status = STATUS_WAITING;
	return end;
}

/* The foot: "bypass permissions on", a draft behind "$" (2.1.330) or bare (2.1.197). */
static size_t
read_accessible_foot(struct screen *s, size_t i)
{
	size_t end = text_end(s, i + 1), from = i + 1;
	char *text = screen_row_kind(&s->r, i) == ROW_BOX ? accessible_words(s, i, end, "\xC2\xA0")
							  : screen_joined(s, from, end, 0, 0, s->r.width);
	const char *draft = text + strspn(text, " ");

	s->busy = s->busy || screen_row_has_cue(&s->r, i, CUE_BUSY);
	free(s->c->draft);
	s->c->draft = *draft != '\0' ? xstrdup(draft) : NULL;
	free(text);
	return end;
}

static size_t
read_accessible_raw(struct screen *s, size_t i)
{
	size_t end = i;

	for (; end < s->r.n && (end == i || is_accessible_text(s, end)); end++)
		s->c->unknown_lines += s->r.v[end].n > 0;
	screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, screen_joined(s, i, end, 0, 0, 0));
	return end;
}

static size_t
read_accessible_next(struct screen *s, size_t i)
{
	switch (screen_row_kind(&s->r, i)) {
	case ROW_BANNER:
		return is_banner(s, i) ? read_accessible_banner(s, i) : read_accessible_raw(s, i);
	case ROW_PROMPT:
	case ROW_WORDS:
		return read_accessible_words(s, i);
	case ROW_TOOL:
		return read_accessible_tool(s, i);
	case ROW_COLLAPSED:
		return read_accessible_folded(s, i);
	case ROW_DIALOG:
		return read_accessible_dialog(s, i);
	case ROW_SPINNER:	/* and the tip below it */
		s->spun = true;
		return text_end(s, i + 1);
	case ROW_TURN_END:
		s->spun = true;
		return i + 1;
	case ROW_BOX:
	case ROW_FOOT:
		return read_accessible_foot(s, i);
	case ROW_BLANK:
	case ROW_DEAD:
	case ROW_THOUGHT:
		return i + 1;
	default:
		return read_accessible_raw(s, i);
	}
}

void
screen_read_accessible(struct screen *s)
{
	struct exchange *x;

	if (screen_row_kind(&s->r, 0) != ROW_BANNER)
		s->c->truncated_at = 0;
	for (size_t i = 0; i < s->r.n;)
		i = read_accessible_next(s, i);
	x = s->c->n > 0 ? &s->c->v[s->c->n - 1] : NULL;
	if (x != NULL && s->busy && !s->spun && x->role == ROLE_ASSISTANT && x->tool == NULL)
		x->status = STATUS_RUNNING;
}
