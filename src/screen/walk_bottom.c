#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "screen/screen_private.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "conversation/conversation.h"

#define DRAFT_ROWS 400	/* rows of an unsent draft */
#define QUEUED_LINES 6	/* more lines than people queue one by one */
#define BOX_BELOW 4	/* rows between a line and the box that it belongs to */
#define RULE_LEFT 10	/* signs of a rule that was written over */
#define FOOT_ROWS 6	/* rows of the program's own below the box */

/* ---- work and tasks ---- */

static size_t
read_spinner(struct screen *s, size_t i)
{
	size_t end = s->page->goes_on == GOES_ON_FLAT ? screen_item_end(s, i, 0) : i + 1;
	char *calls = screen_group(s, i, 1);

	if (calls != NULL)
		screen_add(s, ROLE_ASSISTANT, STATUS_RUNNING, xstrdup("Calls"), NULL, calls)->folded = true;
	s->spun = s->spun || s->page->busy_foot || calls != NULL;
	s->busy = s->busy || !s->page->busy_foot;
	if (s->page->goes_on != GOES_ON_BODY)
		return end;
	while (screen_row_kind(&s->r, end) == ROW_BODY || screen_row_kind(&s->r, end) == ROW_RESULT)
		end++;
	if (screen_row_kind(&s->r, i + 1) == ROW_RESULT && screen_start_has_cue(s, i + 1, CUE_TASK))
		screen_set(&s->c->tasks, screen_joined(s, i + 1, end, screen_start(s, i + 1, 1), 5, 0));
	return end;
}

static size_t
read_tasks(struct screen *s, size_t i)
{
	size_t end = i, skip = 2, indent = 2;

	if (s->page->goes_on == GOES_ON_BODY)
		while (screen_row_kind(&s->r, end) == ROW_TASKS)
			end++;
	else {	/* as the result of a call */
		i = screen_item_end(s, i, 2);
		if (screen_row_kind(&s->r, i) != ROW_RESULT)
			return i;
		indent = s->page->result_indent;
		skip = screen_start(s, i, 1);
		end = screen_item_end(s, i, indent);
	}
	screen_set(&s->c->tasks, screen_joined(s, i, end, skip, indent, 0));
	return end;
}

/* ---- prompts that wait ---- */

/*
 * 1.0.128 has no mark in front of a queued prompt, and nothing tells where the next begins. What
 * is typed while the agent works is one line, so each line is taken for one, unless they look
 * like a text: a blank or indented row, a list, many lines; a colon opens one.
 */
static bool
queue_is_text(const struct screen *s, size_t from, size_t to)
{
	size_t lines = 0;

	for (size_t i = from; i < to && lines <= QUEUED_LINES; i++) {
		if (s->r.v[i].n == 0 || screen_row_indent(&s->r, i) > 2 ||
		    screen_row_has_cue(&s->r, i, CUE_LIST))
			return true;
		lines += i == from || !screen_row_was_wrapped(&s->r, i, screen_limit(s, 4));
	}
	return lines > QUEUED_LINES;
}

static size_t
unmarked_end(const struct screen *s, size_t i, size_t to)
{
	for (i++; i < to && screen_row_was_wrapped(&s->r, i, screen_limit(s, 4)); i++)
		;
	return screen_row_text(&s->r, i - 1)[s->r.v[i - 1].n - 1] == ':' ? to : i;
}

/* 2.0.76 has a mark in front of each; rows go on at column 2, and none is set off by a blank row. */
static size_t
queued_prompt_end(const struct screen *s, size_t i, size_t to)
{
	for (i++; i < to && (s->r.v[i - 1].n == 0 || !screen_row_has_cue(&s->r, i, CUE_MARKED)); i++)
		;
	return i;
}

static size_t
read_old_queue(struct screen *s, size_t i)
{
	bool marked = screen_row_has_cue(&s->r, i, CUE_MARKED), text;
	size_t to = i;

	while (screen_row_kind(&s->r, to) == ROW_QUEUED)
		to++;
	text = !marked && queue_is_text(s, i, to);
	while (i < to) {
		size_t end = text ? to : marked ? queued_prompt_end(s, i, to) : unmarked_end(s, i, to);

		screen_add(s, ROLE_USER, STATUS_WAITING, NULL, NULL,
		    screen_joined(s, i, end, marked ? 4 : 2, 2, screen_limit(s, 4)));
		i = end;
	}
	return to;
}

static size_t
read_queue(struct screen *s, size_t i)
{
	if (s->page->prompt_indent == 0)
		return read_old_queue(s, i);
	while (screen_row_kind(&s->r, i) == ROW_QUEUED) {
		size_t end = i + 1;

		while (screen_row_kind(&s->r, end) == ROW_QUEUED &&
		    (s->r.v[end].n == 0 || screen_row_indent(&s->r, end) >= 4))
			end++;
		screen_add(s, ROLE_USER, STATUS_WAITING, NULL, NULL,
		    screen_joined(s, i, end, 6, 4, screen_limit(s, 1)));
		i = end;
	}
	return i;
}

/* ---- the input box ---- */

/* Takes the words in the box over; its first row is `row`. */
static void
set_draft(struct screen *s, size_t row, char *text)
{
	const char *completed = s->page->completed;
	/* the program's own words in the box end dim; so does a half typed command that it would complete */
	bool own = (s->r.v[row].marks & SGR_TAIL_DIM) && (completed == NULL || !strchr(completed, *text));

	if (*text == '\0' || own || grammar_has_cue(s->r.d, CUE_PLACEHOLDER, text, strlen(text))) {
		free(text);
		text = NULL;
	}
	screen_set(&s->c->draft, text);
}

/* What is left of the box's lower rule behind something that was written over it. */
static bool
ends_in_rule(const struct screen *s, size_t i)
{
	static const char dash[] = "\xE2\x94\x80";
	size_t n = s->r.v[i].n, dashes = 0;

	while (n >= 3 && memcmp(screen_row_text(&s->r, i) + n - 3, dash, 3) == 0) {
		n -= 3;
		dashes++;
	}
	return dashes >= RULE_LEFT && n > 0;
}

/* Where the draft ends in a box whose lower rule is gone: the rows below it are the program's own. */
static size_t
torn_box_end(const struct screen *s, size_t from, size_t end)
{
	if (screen_row_kind(&s->r, screen_below(s, end)) == ROW_RULE)
		return end;
	for (size_t i = from; i < end; i++)
		if (ends_in_rule(s, i) || (i > from && screen_row_has_cue(&s->r, i, CUE_FOOT)))
			return i;
	return end;
}

/* The box, from row `from` to `end`; 0: as far as it goes. The row behind it. */
static size_t
read_draft(struct screen *s, size_t from, size_t end, size_t skip)
{
	const char *p = screen_row_text(&s->r, from);
	bool settled = s->page->goes_on == GOES_ON_BODY;
	size_t indent = settled ? s->page->words_indent : utf8_width(p, skip);
	size_t to;
	char *text;

	if (end == 0)
		end = screen_item_end(s, from, indent > 0 ? indent : 1);
	if (settled && end > from + DRAFT_ROWS)
		end = from + DRAFT_ROWS;
	to = settled ? torn_box_end(s, from, end) : end;
	text = to > from ? screen_joined(s, from, to, skip, indent, s->r.width) : xstrdup("");
	if (settled && *p == '!')	/* a command for the shell */
		screen_set(&text, xasprintf("! %s", text));
	set_draft(s, from, text);
	return end;
}

/* What stands below the box: footer, notices, sub-agents, the list of slash commands. */
static size_t
read_foot(struct screen *s, size_t i)
{
	bool menu = s->c->draft != NULL && strchr("/@!", s->c->draft[0]) != NULL,
	     settled = s->page->goes_on == GOES_ON_BODY;

	if (settled)
		s->busy = false;
	for (size_t rows = 0; i < s->r.n && (settled || rows < FOOT_ROWS); i++) {
		enum row_kind k = screen_row_kind(&s->r, i);

		rows += s->r.v[i].n > 0;
		if (settled ? k != ROW_BODY && k != ROW_BLANK && !(k == ROW_STRAY && menu)
			    : k != ROW_RULE && !screen_is_text(s, i))
			break;
		s->busy = s->busy || (k == ROW_BODY && screen_row_has_cue(&s->r, i, CUE_BUSY));
		s->c->limit = s->c->limit || (k == ROW_BODY && screen_row_has_cue(&s->r, i, CUE_LIMIT));
	}
	return i;
}

/* A box between lines; a line of dashes without one below it is no box. */
static size_t
read_ruled_box(struct screen *s, size_t i)
{
	size_t box = i, end;

	while (screen_row_kind(&s->r, box) == ROW_RULE)
		box++;
	if (screen_row_kind(&s->r, box) == ROW_BODY && screen_row_has_cue(&s->r, box, CUE_VIEW))
		return screen_item_end(s, box, 0);
	if (screen_row_kind(&s->r, box) != ROW_BOX)
		return box;
	end = screen_below(s, read_draft(s, box, 0, screen_start(s, box, 1)));
	while (screen_row_kind(&s->r, end) == ROW_RULE)
		end++;
	return read_foot(s, end);
}

/* A line above the box of another agent: marks stand in front of its draft, or nothing does. */
static size_t
read_line(struct screen *s, size_t i)
{
	char *work = screen_group(s, i, 1);
	size_t k = i + 1, far = s->page->unmarked ? s->r.n : i + 1 + BOX_BELOW;

	s->busy = s->busy || work != NULL;
	free(work);
	while (k < s->r.n && k < far && screen_is_text(s, k))
		k++;
	if (s->page->unmarked) {
		if (screen_row_kind(&s->r, k) != ROW_RULE)
			return i + 1;
		if (k > i + 1)
			read_draft(s, i + 1, k, 0);
		return read_foot(s, k);
	}
	if (screen_row_kind(&s->r, k) != ROW_BOX && screen_row_kind(&s->r, k) != ROW_PROMPT)
		return i + 1;
	return read_foot(s, read_draft(s, k, 0, screen_start(s, k, 1)));
}

/*
 * A box without lines is told by what stands below it, of the last one by less. The row behind
 * the box in row i; 0: it is none. What was drawn before the program was ready may leave another.
 */
static size_t
bare_box_end(const struct screen *s, size_t i)
{
	bool last = i == s->last_prompt;

	if (s->page->goes_on != GOES_ON_INDENTED)
		return 0;
	for (i++; i < s->r.n && screen_is_text(s, i); i++)
		if (s->r.v[i - 1].n == 0 &&
		    (screen_row_has_cue(&s->r, i, CUE_FOOT) ||
			(last && screen_row_has_cue(&s->r, i, CUE_KEYS))))
			return i;
	return 0;
}

size_t
screen_read_bare_box(struct screen *s, size_t i)
{
	size_t end = bare_box_end(s, i);

	if (end == 0)
		return 0;
	read_draft(s, i, end, screen_start(s, i, 1));
	return read_foot(s, end);
}

/* Without a box: "bypass permissions on", a draft behind "$" (2.1.330) or bare (2.1.197). */
static size_t
read_flat_foot(struct screen *s, size_t i)
{
	size_t end = screen_item_end(s, i, 0);
	bool box = screen_row_kind(&s->r, i) == ROW_BOX;
	char *text = screen_joined(s, box ? i : i + 1, end, box ? screen_start(s, i, 1) : 0, 0, s->r.width);
	const char *draft = text + strspn(text, " ");

	s->busy = s->busy || screen_row_has_cue(&s->r, i, CUE_BUSY);
	screen_set(&s->c->draft, *draft != '\0' ? xstrdup(draft) : NULL);
	free(text);
	return end;
}

/* ---- dialogs ---- */

/* A drawn row, or the side of a box within the box. */
static bool
is_side(const char *line)
{
	return str_starts(line, "\xE2\x94") || str_starts(line, "\xE2\x95");
}

/* From p on, the first line that says something. */
static const char *
next_line(const char *p)
{
	for (p += strspn(p, " \n"); is_side(p); p += strspn(p, " \n"))
		p += strcspn(p, "\n");
	return p;
}

/* The call that the dialog asks about: the last one without an answer, or one that only the dialog shows. */
static void
set_question(struct screen *s, const char *question)
{
	const char *title, *tool;
	struct exchange *x;
	bool names;

	for (size_t k = s->c->n; k-- > s->open && s->c->v[k].tool != NULL;) {
		x = &s->c->v[k];
		if (x->status == STATUS_WAITING)
			return;
		if (x->status == STATUS_RUNNING && (k + 1 == s->c->n)) {
			x->status = STATUS_WAITING;
			return;
		}
	}
	title = next_line(question);
	tool = grammar_dialog_tool(s->r.d, title, strcspn(title, "\n"), &names);
	if (tool != NULL) {
		const char *about = next_line(title + strcspn(title, "\n"));

		screen_add(s, ROLE_ASSISTANT, STATUS_WAITING, xstrdup(tool),
		    names ? xasprintf("%.*s", (int)strcspn(about, "\n"), about) : NULL, NULL);
	}
}

/* The row without the bars of the boxes around it; how many bytes stand at *p. */
static size_t
without_bars(const char **p, size_t n)
{
	static const char bar[] = "\xE2\x94\x82";

	while (n >= 6 && memcmp(*p, bar, 3) == 0 && memcmp(*p + n - 3, bar, 3) == 0) {
		size_t blank = (*p)[3] == ' ';

		*p += 3 + blank;
		n -= 6 + blank;
		while (n > 0 && (*p)[n - 1] == ' ')
			n--;
	}
	return n;
}

/* 1.0.128 asks in a box, and shows what it asks about in a box within. */
static char *
boxed_question(const struct screen *s, size_t from, size_t to)
{
	struct buf b = BUF_INIT;

	for (size_t i = from; i < to; i++) {
		const char *p = screen_row_text(&s->r, i);
		size_t n = without_bars(&p, s->r.v[i].n);

		if (n >= 3 && (memcmp(p, "\xE2\x95\xAD", 3) == 0 || memcmp(p, "\xE2\x95\xB0", 3) == 0))
			continue;
		buf_add(&b, p, n);
		buf_chr(&b, '\n');
	}
	while (b.len > 0 && b.data[b.len - 1] == '\n')
		buf_cut(&b, b.len - 1);
	return conversation_text(&b);
}

static size_t
read_dialog(struct screen *s, size_t i)
{
	size_t end = i, from;
	bool ruled = is_side(screen_row_text(&s->r, i));
	enum row_kind k;

	for (; end < s->r.n && (k = screen_row_kind(&s->r, end)) != ROW_DEAD && k != ROW_PROMPT &&
	    k != ROW_WORDS;
	    end++)
		s->c->limit = s->c->limit || (k == ROW_DIALOG && screen_row_has_cue(&s->r, end, CUE_LIMIT));
	from = ruled && i + 1 < end ? i + 1 : i;
	screen_set(&s->c->question,
	    str_starts(screen_row_text(&s->r, i), "\xE2\x95\xAD")
		? boxed_question(s, i, end)
		: screen_joined(s, ruled ? i + 1 : i, end, screen_row_indent(&s->r, from), ruled, 0));
	set_question(s, s->c->question);
	return end;
}

/* ---- the end of a session ---- */

static size_t
read_farewell(struct screen *s, size_t i)
{
	char **id = &s->c->resume_id;

	screen_close_calls(s);
	s->c->farewell = s->outside = true;
	for (size_t k = i + 1; k < s->r.n && k <= i + 2; k++) {
		if (screen_row_kind(&s->r, k) != ROW_RESUME)
			continue;
		screen_set(id, screen_group(s, k, 1));
		i = k;
		if (screen_row_kind(&s->r, k + 1) != ROW_BODY || screen_row_indent(&s->r, k + 1) > 0)
			continue;
		i++;	/* in a narrow pane tmux broke the id in two */
		screen_set(id,
		    xasprintf("%s%.*s", *id != NULL ? *id : "", (int)s->r.v[i].n, screen_row_text(&s->r, i)));
	}
	if (s->c->draft != NULL && s->c->draft[0] == '/')	/* the command that ended it */
		screen_set(&s->c->draft, NULL);
	return i + 1;
}

size_t
screen_read_bottom(struct screen *s, size_t i)
{
	switch (screen_row_kind(&s->r, i)) {
	case ROW_TURN_END:
		s->turns++;
		s->spun = true;
		return i + 1;
	case ROW_SPINNER:
		return read_spinner(s, i);
	case ROW_TASKS:
		return read_tasks(s, i);
	case ROW_QUEUED:
		return read_queue(s, i);
	case ROW_RULE:
		return s->page->goes_on == GOES_ON_BODY ? read_ruled_box(s, i) : read_line(s, i);
	case ROW_BOX:	/* outside of its lines */
	case ROW_FOOT:
		if (s->page->goes_on == GOES_ON_FLAT)
			return read_flat_foot(s, i);
		return s->page->goes_on == GOES_ON_BODY ? i + 1 : 0;
	case ROW_DIALOG:
		return read_dialog(s, i);
	case ROW_FAREWELL:
		return read_farewell(s, i);
	default:
		return 0;
	}
}
