#include <stdlib.h>
#include <string.h>

#include "context/flat.h"
#include "base/buf.h"
#include "context/exchange.h"
#include "context/screen_private.h"

#define BANNER_ROWS 24	/* name, model, folder and news */
#define RUNNING_ROWS 4	/* rows that are shown of what a running command has printed */

/* A text may end like the row that tells the mode; the banner goes on with the program's name. */
static bool
is_banner(const struct screen *s, size_t i)
{
	char first = row_kind(&s->r, i) == ROW_BANNER ? row_text(&s->r, i)[0] : '\0';

	return first == '[' || first == 'C' || (first != '\0' && row_kind(&s->r, i + 1) == ROW_BANNER);
}

static bool
is_text(const struct screen *s, size_t i)
{
	enum row_kind k = row_kind(&s->r, i);

	/* a paragraph of words stands behind a blank row, the program's own rows do not */
	if ((k == ROW_COLLAPSED || k == ROW_THOUGHT || k == ROW_TURN_END || k == ROW_SPINNER) && i > 0)
		return row_kind(&s->r, i - 1) == ROW_BLANK;
	if (k == ROW_DEAD) {	/* tmux writes it below everything */
		for (i++; i < s->r.n && row_kind(&s->r, i) == ROW_BLANK; i++)
			;
		return i < s->r.n;
	}
	return k == ROW_BODY || k == ROW_STRAY || k == ROW_BLANK || (k == ROW_BANNER && !is_banner(s, i));
}

static size_t
text_end(const struct screen *s, size_t i)
{
	while (i < s->r.n && is_text(s, i))
		i++;
	return i;
}

/* The rows from i on, from behind the first one's mark. */
static char *
words(const struct screen *s, size_t i, size_t end, const char *mark)
{
	const char *p = row_text(&s->r, i), *at = memmem(p, s->r.v[i].n, mark, strlen(mark));

	return screen_joined(s, i, end, at != NULL ? (size_t)(at - p) + strlen(mark) : s->r.v[i].n, 0, s->r.width);
}

static size_t
read_banner(struct screen *s, size_t i)
{
	size_t end = i, from = i;

	for (; end < s->r.n && (row_kind(&s->r, end) == ROW_BANNER || row_kind(&s->r, end) == ROW_BLANK); end++) {
		char *version = row_kind(&s->r, end) == ROW_BANNER ? screen_group(s, end, 1) : NULL;

		if (version == NULL)
			continue;
		from = end;
		free(s->c->banner);
		s->c->banner = version;
	}
	while (end < s->r.n && end < from + BANNER_ROWS && (row_kind(&s->r, end) == ROW_BODY || row_kind(&s->r, end) == ROW_STRAY))
		end++;
	screen_settle_calls(s);
	s->outside = s->c->farewell = s->busy = false;
	screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, screen_joined(s, from, end, 0, 0, 0));
	return end;
}

static size_t
read_tool(struct screen *s, size_t i)
{
	size_t head = i + 1, end, last;
	char *name = screen_group(s, i, 2), *input = screen_group(s, i, 3);
	bool failed = str_starts(row_text(&s->r, i), "tool error");
	enum status status = failed ? STATUS_FAILED : STATUS_COMPLETE;

	/* what it was called with goes on until its bracket closes, when that is soon */
	for (size_t k = i; k < i + 4 && k < s->r.n && (k == i || row_kind(&s->r, k) == ROW_BODY || row_kind(&s->r, k) == ROW_STRAY); k++)
		if (s->r.v[k].n > 0 && row_text(&s->r, k)[s->r.v[k].n - 1] == ')') {
			head = k + 1;
			break;
		}
	if (head > i + 1) {
		free(input);
		input = words(s, i, head, " (");
	}
	if (input != NULL && str_ends(input, ")"))
		input[strlen(input) - 1] = '\0';
	end = text_end(s, head);
	last = end;
	while (last > head && row_kind(&s->r, last - 1) == ROW_BLANK)
		last--;
	if (last == head)
		status = STATUS_RUNNING;
	else if (row_says(&s->r, last - 1, PHRASE_RUNNING) || row_says(&s->r, head, PHRASE_RUNNING))
		status = STATUS_RUNNING;
	else if (row_says(&s->r, head, PHRASE_WAITING))
		status = STATUS_WAITING;
	else if (row_says(&s->r, head, PHRASE_FAILED) || row_says(&s->r, head, PHRASE_INTERRUPTED))
		status = STATUS_FAILED;
	if (last > head && row_says(&s->r, last - 1, PHRASE_NOISE))
		last--;
	screen_add(s, ROLE_ASSISTANT, status, name != NULL ? name : xstrdup("?"), input, screen_joined(s, head, last, 0, 0, 0));
	s->spun = false;
	return end;
}

static size_t
read_folded(struct screen *s, size_t i)
{
	char *text = screen_group(s, i, 1);
	bool running = false;
	const char *tool;

	if (text == NULL)
		text = xstrdup("");
	tool = dialect_folded_tool(s->r.d, text, strlen(text), &running);
	screen_add(s, ROLE_ASSISTANT, running ? STATUS_RUNNING : STATUS_COMPLETE, xstrdup(tool != NULL ? tool : "Calls"), NULL, text)->folded = true;
	return i + 1;
}

/*
 * The head of a running call blinks away, row and all (2.1.197), and its last rows seem to be words, from row `from` on. Where they begin;
 * `end` when there are none. Certain are only the row that names the key and the one that counts what is not shown, and then four above it.
 */
static size_t
headless_result(const struct screen *s, size_t from, size_t end)
{
	size_t last = end, begin, rows;
	bool counted;

	while (last > from && row_kind(&s->r, last - 1) == ROW_BLANK)
		last--;
	if (last == from || !row_says(&s->r, last - 1, PHRASE_RUNNING))
		return end;
	last -= row_says(&s->r, last - 1, PHRASE_NOISE);
	counted = last > from && row_says(&s->r, last - 1, PHRASE_RUNNING);
	last -= counted;
	begin = last;
	for (rows = 0; last > from && rows < RUNNING_ROWS && row_kind(&s->r, last - 1) != ROW_BLANK; rows++, last--)
		if (counted || !row_had_no_room(&s->r, last - 1, s->r.width))
			begin = last - 1;
	return begin;
}

static void
add_headless(struct screen *s, size_t from, size_t end)
{
	while (end > from && (row_kind(&s->r, end - 1) == ROW_BLANK || row_says(&s->r, end - 1, PHRASE_NOISE)))
		end--;
	screen_add(s, ROLE_ASSISTANT, STATUS_RUNNING, xstrdup("Bash"), NULL, screen_joined(s, from, end, 0, 0, 0));
}

/* The words of the person or the model, until the program says something. */
static size_t
read_words(struct screen *s, size_t i)
{
	bool person = row_kind(&s->r, i) == ROW_PROMPT;
	size_t end = text_end(s, i + 1), result = headless_result(s, i + 1, end);

	if (person)
		screen_settle_calls(s);
	s->spun = false;
	screen_add(s, person ? ROLE_USER : ROLE_ASSISTANT, STATUS_COMPLETE, NULL, NULL, words(s, i, result, " "));
	if (result < end)
		add_headless(s, result, end);
	return end;
}

static size_t
read_dialog(struct screen *s, size_t i)
{
	size_t end = i + 1;
	struct exchange *x = s->c->n > 0 ? &s->c->v[s->c->n - 1] : NULL;

	while (end < s->r.n && row_kind(&s->r, end) != ROW_DEAD && row_kind(&s->r, end) != ROW_PROMPT && row_kind(&s->r, end) != ROW_WORDS)
		end++;
	free(s->c->question);
	s->c->question = screen_joined(s, i, end, 0, 0, 0);
	if (x != NULL && x->tool != NULL && x->status == STATUS_RUNNING)
		x->status = STATUS_WAITING;
	return end;
}

/* The foot: "bypass permissions on", a draft behind "$" (2.1.330) or bare (2.1.197). */
static size_t
read_foot(struct screen *s, size_t i)
{
	size_t end = text_end(s, i + 1), from = i + 1;
	char *text = row_kind(&s->r, i) == ROW_BOX ? words(s, i, end, "\xC2\xA0") : screen_joined(s, from, end, 0, 0, s->r.width);
	const char *draft = text + strspn(text, " ");

	s->busy = s->busy || row_says(&s->r, i, PHRASE_BUSY);
	free(s->c->draft);
	s->c->draft = *draft != '\0' ? xstrdup(draft) : NULL;
	free(text);
	return end;
}

static size_t
read_raw(struct screen *s, size_t i)
{
	size_t end = i;

	for (; end < s->r.n && (end == i || is_text(s, end)); end++)
		s->c->unknown_lines += s->r.v[end].n > 0;
	screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, screen_joined(s, i, end, 0, 0, 0));
	return end;
}

static size_t
read_next(struct screen *s, size_t i)
{
	switch (row_kind(&s->r, i)) {
	case ROW_BANNER:
		return is_banner(s, i) ? read_banner(s, i) : read_raw(s, i);
	case ROW_PROMPT:
	case ROW_WORDS:
		return read_words(s, i);
	case ROW_TOOL:
		return read_tool(s, i);
	case ROW_COLLAPSED:
		return read_folded(s, i);
	case ROW_DIALOG:
		return read_dialog(s, i);
	case ROW_SPINNER:	/* and the tip below it */
		s->spun = true;
		return text_end(s, i + 1);
	case ROW_TURN_END:
		s->spun = true;
		return i + 1;
	case ROW_BOX:
	case ROW_FOOT:
		return read_foot(s, i);
	case ROW_BLANK:
	case ROW_DEAD:
	case ROW_THOUGHT:
		return i + 1;
	default:
		return read_raw(s, i);
	}
}

void
flat_read(struct screen *s)
{
	struct exchange *x;

	if (row_kind(&s->r, 0) != ROW_BANNER)
		s->c->truncated_at = 0;
	for (size_t i = 0; i < s->r.n;)
		i = read_next(s, i);
	x = s->c->n > 0 ? &s->c->v[s->c->n - 1] : NULL;
	if (x != NULL && s->busy && !s->spun && x->role == ROLE_ASSISTANT && x->tool == NULL)
		x->status = STATUS_RUNNING;
}
