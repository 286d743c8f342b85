#include <stdlib.h>
#include <string.h>

#include "context/screen_private.h"
#include "base/buf.h"
#include "context/exchange.h"
#include "context/style.h"

#define DRAFT_ROWS 400	/* rows of an unsent draft */
#define QUEUED_LINES 6	/* more lines than people queue one by one */

static void
keep_tasks(struct screen *s, size_t from, size_t to, size_t skip, size_t indent)
{
	free(s->c->tasks);
	s->c->tasks = screen_joined(s, from, to, skip, indent, 0);
}

static size_t
read_spinner(struct screen *s, size_t i)
{
	size_t end = i + 1;

	while (end < s->r.n && (row_kind(&s->r, end) == ROW_BODY || row_kind(&s->r, end) == ROW_RESULT))
		end++;
	if (end > i + 1 && row_kind(&s->r, i + 1) == ROW_RESULT && screen_result_says(s, i + 1, PHRASE_TASK))
		keep_tasks(s, i + 1, end, screen_result_skip(s, i + 1), 5);
	s->spun = true;
	return end;
}

static size_t
read_tasks(struct screen *s, size_t i)
{
	size_t end = i;

	while (end < s->r.n && row_kind(&s->r, end) == ROW_TASKS)
		end++;
	keep_tasks(s, i, end, 2, 2);
	return end;
}

/*
 * 1.0.128 has no mark in front of a queued prompt, and nothing tells where the next begins. What is typed while the agent works is one
 * line, so each line is taken for one, unless they look like a text: a blank or indented row, a list, many lines; a colon opens one.
 */
static bool
queue_is_text(const struct screen *s, size_t from, size_t to)
{
	size_t lines = 0;

	for (size_t i = from; i < to && lines <= QUEUED_LINES; i++) {
		if (s->r.v[i].n == 0 || row_indent(&s->r, i) > 2 || row_says(&s->r, i, PHRASE_LIST))
			return true;
		lines += i == from || !row_had_no_room(&s->r, i, screen_limit(s, 4));
	}
	return lines > QUEUED_LINES;
}

static size_t
unmarked_end(const struct screen *s, size_t i, size_t to)
{
	for (i++; i < to && row_had_no_room(&s->r, i, screen_limit(s, 4)); i++)
		;
	return row_text(&s->r, i - 1)[s->r.v[i - 1].n - 1] == ':' ? to : i;
}

/* 2.0.76 has a mark in front of each; rows go on at column 2, and none is set off by a blank row. */
static size_t
marked_end(const struct screen *s, size_t i, size_t to)
{
	for (i++; i < to && (s->r.v[i - 1].n == 0 || !row_says(&s->r, i, PHRASE_MARKED)); i++)
		;
	return i;
}

static size_t
read_old_queue(struct screen *s, size_t i)
{
	bool marked = row_says(&s->r, i, PHRASE_MARKED), text;
	size_t to = i;

	while (row_kind(&s->r, to) == ROW_QUEUED)
		to++;
	text = !marked && queue_is_text(s, i, to);
	while (i < to) {
		size_t end = text ? to : marked ? marked_end(s, i, to) : unmarked_end(s, i, to);

		screen_add(s, ROLE_USER, STATUS_WAITING, NULL, NULL, screen_joined(s, i, end, marked ? 4 : 2, 2, screen_limit(s, 4)));
		i = end;
	}
	return to;
}

static size_t
read_queue(struct screen *s, size_t i)
{
	if (dialect_page(s->r.d)->prompt_indent == 0)
		return read_old_queue(s, i);
	while (i < s->r.n && row_kind(&s->r, i) == ROW_QUEUED) {
		size_t end = i + 1;

		while (end < s->r.n && row_kind(&s->r, end) == ROW_QUEUED && (s->r.v[end].n == 0 || row_indent(&s->r, end) >= 4))
			end++;
		screen_add(s, ROLE_USER, STATUS_WAITING, NULL, NULL, screen_joined(s, i, end, 6, 4, s->r.width > 0 ? s->r.width - 1 : 0));
		i = end;
	}
	return i;
}

static void
read_draft(struct screen *s, size_t from, size_t to)
{
	char *text = screen_joined(s, from, to, screen_skip(s, from), 2, s->r.width);

	free(s->c->draft);
	s->c->draft = NULL;
	if (row_text(&s->r, from)[0] == '!') {
		char *command = text;

		text = xasprintf("! %s", command);
		free(command);
	}
	/* the program's own words in the box end dim; so does a half typed command that it would complete */
	if (text[0] == '\0' || ((s->r.v[from].marks & STYLE_TAIL_DIM) && strchr("/@!", text[0]) == NULL) || dialect_says(s->r.d, PHRASE_PLACEHOLDER, text, strlen(text)))
		free(text);
	else
		s->c->draft = text;
}

/* The box, and what stands below it: footer, notices, sub-agents, the list of slash commands. */
static size_t
read_box(struct screen *s, size_t i)
{
	size_t box = i, end;
	bool menu;

	while (row_kind(&s->r, box) == ROW_RULE)
		box++;
	for (end = box + 1; end < s->r.n && end < box + DRAFT_ROWS; end++) {
		enum row_kind k = row_kind(&s->r, end);

		if (k != ROW_BODY && k != ROW_BLANK)
			break;
	}
	read_draft(s, box, end);
	while (end < s->r.n && row_kind(&s->r, end) == ROW_RULE)
		end++;
	menu = s->c->draft != NULL && strchr("/@!", s->c->draft[0]) != NULL;
	s->busy = false;
	for (; end < s->r.n; end++) {
		enum row_kind k = row_kind(&s->r, end);

		if (k != ROW_BODY && k != ROW_BLANK && !(k == ROW_STRAY && menu))
			break;
		s->busy = s->busy || (k == ROW_BODY && row_says(&s->r, end, PHRASE_BUSY));
		s->c->limit = s->c->limit || (k == ROW_BODY && row_says(&s->r, end, PHRASE_LIMIT));
	}
	return end;
}

/* A line of dashes without a box below it is no box. */
static size_t
read_rule(struct screen *s, size_t i)
{
	size_t next = i;

	while (next < s->r.n && row_kind(&s->r, next) == ROW_RULE)
		next++;
	if (row_kind(&s->r, next) == ROW_BODY && row_says(&s->r, next, PHRASE_VIEW))
		return screen_item_end(s, next);
	return next < s->r.n && row_kind(&s->r, next) == ROW_BOX ? read_box(s, i) : next;
}

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
ask(struct screen *s, const char *question)
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
	tool = dialect_dialog_tool(s->r.d, title, strcspn(title, "\n"), &names);
	if (tool != NULL) {
		const char *about = next_line(title + strcspn(title, "\n"));

		screen_add(s, ROLE_ASSISTANT, STATUS_WAITING, xstrdup(tool), names ? xasprintf("%.*s", (int)strcspn(about, "\n"), about) : NULL, NULL);
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
		const char *p = row_text(&s->r, i);
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
	size_t end = i;
	bool boxed = str_starts(row_text(&s->r, i), "\xE2\x95\xAD");

	while (end < s->r.n && (row_kind(&s->r, end) == ROW_DIALOG || row_kind(&s->r, end) == ROW_BLANK)) {
		s->c->limit = s->c->limit || (row_kind(&s->r, end) == ROW_DIALOG && row_says(&s->r, end, PHRASE_LIMIT));
		end++;
	}
	free(s->c->question);
	s->c->question = boxed ? boxed_question(s, i, end) : screen_joined(s, i + 1, end, row_indent(&s->r, i + 1 < end ? i + 1 : i), 1, 0);
	ask(s, s->c->question);
	return end;
}

/* In a narrow pane tmux broke the id in two. */
static void
add_rest(struct screen *s, size_t i)
{
	char *whole = xasprintf("%s%.*s", s->c->resume_id != NULL ? s->c->resume_id : "", (int)s->r.v[i].n, row_text(&s->r, i));

	free(s->c->resume_id);
	s->c->resume_id = whole;
}

static size_t
read_farewell(struct screen *s, size_t i)
{
	screen_settle_calls(s);
	s->c->farewell = s->outside = true;
	for (size_t k = i + 1; k < s->r.n && k <= i + 2; k++) {
		if (row_kind(&s->r, k) != ROW_RESUME)
			continue;
		free(s->c->resume_id);
		s->c->resume_id = screen_group(s, k, 1);
		i = k;
		if (row_kind(&s->r, k + 1) == ROW_BODY && row_indent(&s->r, k + 1) == 0)
			add_rest(s, ++i);
	}
	if (s->c->draft != NULL && s->c->draft[0] == '/') {	/* the command that ended it */
		free(s->c->draft);
		s->c->draft = NULL;
	}
	return i + 1;
}

size_t
screen_read_bottom(struct screen *s, size_t i)
{
	switch (row_kind(&s->r, i)) {
	case ROW_TURN_END:
		s->spun = true;
		return i + 1;
	case ROW_SPINNER:
		return read_spinner(s, i);
	case ROW_TASKS:
		return read_tasks(s, i);
	case ROW_QUEUED:
		return read_queue(s, i);
	case ROW_RULE:
		return read_rule(s, i);
	case ROW_DIALOG:
		return read_dialog(s, i);
	case ROW_FAREWELL:
		return read_farewell(s, i);
	default:
		return 0;
	}
}
