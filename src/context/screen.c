#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "context/screen.h"
#include "agent/dialect.h"
#include "base/buf.h"
#include "base/pattern.h"
#include "context/exchange.h"
#include "context/rows.h"

/*
 * Rows are split and named (rows.c), repaints taken out (redraw.c), names settled by their neighbours (settle.c); what is here walks over
 * the items and makes an exchange of each. Every loop that looks ahead is bounded or stops at the next item, so that hostile input
 * costs linear time.
 */
#define RESULT_TEXT 8	/* bytes of "  ⎿ ", an NBSP included, in front of a result's words */
#define FOLD_ROWS 4	/* rows that a folded line may take in a narrow pane */
#define DRAFT_ROWS 400	/* rows of an unsent draft */

struct screen {
	struct rows r;		/* with their dialect */
	struct conversation *c;
	size_t open;		/* exchanges before this one are settled: no call among them can still run */
	bool busy;		/* the last footer says that the agent is at work */
	bool spun;		/* a spinner stands below the last item */
	bool outside;		/* the agent has ended; what follows is a shell's until the next banner */
};

/* What a call's result rows say. */
struct result {
	struct buf text;
	bool any, running, waiting, failed, interrupted;
};

static enum row_kind
kind(const struct screen *s, size_t i)
{
	return row_kind(&s->r, i);
}

static bool
says(const struct screen *s, size_t i, enum phrase what)
{
	return row_says(&s->r, i, what);
}

/* As says, of the words in a result's first row. */
static bool
result_says(const struct screen *s, size_t i, enum phrase what)
{
	return dialect_says(s->r.d, what, row_text(&s->r, i) + RESULT_TEXT, s->r.v[i].n - RESULT_TEXT);
}

/* Group of the row's own rule, heap; NULL when the rule has no such group. */
static char *
group(const struct screen *s, size_t i, int g)
{
	struct buf b = BUF_INIT;
	struct match m;
	const char *p = row_text(&s->r, i);

	for (int k = 0; k < PATTERN_GROUPS; k++)
		m.start[k] = m.end[k] = (size_t)-1;
	dialect_row(s->r.d, p, s->r.v[i].n, &m);
	if (m.start[g] == (size_t)-1)
		return NULL;
	buf_add(&b, p + m.start[g], m.end[g] - m.start[g]);
	return conversation_text(&b);
}

/* First byte of an item's text: behind its marker and one blank or NBSP. */
static size_t
skip_of(const struct screen *s, size_t i)
{
	const char *p = row_text(&s->r, i);
	size_t n = s->r.v[i].n, at = 0;

	while (at < n && p[at] != ' ' && !(at + 1 < n && p[at] == '\xC2' && p[at + 1] == '\xA0'))
		at++;
	return at < n ? at + (p[at] == ' ' ? 1 : 2) : n;
}

/* The row behind the last of the rows that belong to row i. */
static size_t
item_end(const struct screen *s, size_t i)
{
	for (i++; i < s->r.n && (kind(s, i) == ROW_BODY || kind(s, i) == ROW_BLANK); i++)
		;
	return i;
}

static char *
joined(const struct screen *s, size_t from, size_t to, size_t skip, size_t indent, size_t limit)
{
	struct buf b = BUF_INIT;

	rows_join(&s->r, from, to, skip, indent, limit, &b);
	return conversation_text(&b);
}

static struct exchange *
add(struct screen *s, enum role role, enum status status, char *tool, char *input, char *content)
{
	struct exchange *x = conversation_add(s->c, role, tool, input, content);

	x->status = status;
	return x;
}

/* The conversation went on: a call that looked open before this was cut off. */
static void
settle_calls(struct screen *s)
{
	for (; s->open < s->c->n; s->open++) {
		struct exchange *x = &s->c->v[s->open];

		if (x->status == STATUS_RUNNING || x->status == STATUS_WAITING)
			x->status = STATUS_INTERRUPTED;
	}
	s->spun = false;
}

/* Rows that no rule understood stay where they are, as they are. */
static size_t
read_raw(struct screen *s, size_t i)
{
	size_t from = i, end = i;

	for (; i < s->r.n; i++) {
		enum row_kind k = kind(s, i);

		if (k == ROW_BANNER || k == ROW_BANNER_TOP || k == ROW_DEAD)
			break;
		if (!s->outside && k != ROW_STRAY && k != ROW_BODY && k != ROW_BLANK)
			break;
		if (k == ROW_BLANK)
			continue;
		end = i + 1;
		s->c->unknown_lines++;
	}
	if (end > from)
		add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, joined(s, from, end, 0, 0, 0));
	return i > from ? i : from + 1;
}

/* Where the rows from .. to end without those that only name a key; in a narrow pane such a row is broken. */
static size_t
without_noise(const struct screen *s, size_t from, size_t to, bool *running)
{
	for (;;) {
		size_t k = to, rows;
		bool noise = false;

		while (to > from && kind(s, to - 1) == ROW_BLANK)
			to--;
		for (rows = 0, k = to; k > from && rows < FOLD_ROWS && s->r.v[k - 1].n > 0 && !noise; rows++) {
			char *text;

			k--;
			text = joined(s, k, to, row_indent(&s->r, k), SIZE_MAX, 0);
			for (char *nl = text; (nl = strchr(nl, '\n')) != NULL;)
				*nl = ' ';
			noise = dialect_says(s->r.d, PHRASE_NOISE, text, strlen(text));
			*running = *running || (noise && dialect_says(s->r.d, PHRASE_RUNNING, text, strlen(text)));
			free(text);
		}
		if (!noise)
			return to;
		to = k;
	}
}

/* One "⎿" and its rows; the rows that only name a key are left out. */
static size_t
read_result(struct screen *s, size_t i, struct result *res)
{
	size_t end = i + 1, to;
	bool keys = false;

	for (; end < s->r.n && (kind(s, end) == ROW_BODY || kind(s, end) == ROW_BLANK); end++)
		if (kind(s, end) == ROW_BODY && kind(s, end - 1) == ROW_BLANK && row_indent(&s->r, end) < 5)
			break;
	to = without_noise(s, i + 1, end, &keys);
	if (res->any)
		buf_chr(&res->text, '\n');
	res->any = true;
	res->waiting = result_says(s, i, PHRASE_WAITING);
	res->failed = result_says(s, i, PHRASE_FAILED);
	res->interrupted = result_says(s, i, PHRASE_INTERRUPTED);
	res->running = keys || result_says(s, i, PHRASE_RUNNING) || (to > i + 1 && says(s, to - 1, PHRASE_RUNNING));
	rows_join(&s->r, i, to, RESULT_TEXT, 5, 0, &res->text);
	return end;
}

/* The last "⎿" tells how the call stands. */
static size_t
read_results(struct screen *s, size_t i, struct result *res)
{
	*res = (struct result){ .text = BUF_INIT };
	while (i < s->r.n && kind(s, i) == ROW_RESULT)
		i = read_result(s, i, res);
	return i;
}

/* The words below a prompt or an answer that are neither: what an attached file, a slash command or the program said. */
static size_t
read_remark(struct screen *s, size_t i)
{
	bool plan = result_says(s, i, PHRASE_REJECTED_PLAN);
	struct result res;
	size_t end = read_results(s, i, &res);

	if (plan)
		add(s, ROLE_ASSISTANT, res.interrupted ? STATUS_FAILED : STATUS_COMPLETE, xstrdup("ExitPlanMode"), NULL,
			conversation_text(&res.text));
	else
		add(s, ROLE_SYSTEM, res.failed ? STATUS_FAILED : res.interrupted ? STATUS_INTERRUPTED : STATUS_COMPLETE, NULL, NULL,
			conversation_text(&res.text));
	return end;
}

static size_t
read_prompt(struct screen *s, size_t i)
{
	size_t end = item_end(s, i);
	char *text = joined(s, i, end, skip_of(s, i), 2, s->r.width > 0 ? s->r.width - 1 : 0);

	settle_calls(s);
	s->c->limit = false;
	if (kind(s, i) == ROW_SHELL) {
		char *command = text;

		text = xasprintf("! %s", command + strspn(command, " "));
		free(command);
	}
	add(s, ROLE_USER, STATUS_COMPLETE, NULL, NULL, text);
	return end;
}

static size_t
read_words(struct screen *s, size_t i)
{
	size_t end = item_end(s, i), skip = skip_of(s, i);
	const char *p = row_text(&s->r, i) + skip;
	bool limit = end - i <= 6 && dialect_says(s->r.d, PHRASE_LIMIT, p, s->r.v[i].n - skip);
	struct exchange *x;

	x = add(s, limit ? ROLE_SYSTEM : ROLE_ASSISTANT, limit ? STATUS_FAILED : STATUS_COMPLETE, NULL, NULL,
		joined(s, i, end, skip, 2, s->r.width));
	s->spun = false;
	if (limit)
		s->c->limit = true;
	if (end < s->r.n && kind(s, end) == ROW_RESULT && result_says(s, end, PHRASE_INTERRUPTED) &&
		!result_says(s, end, PHRASE_REJECTED_PLAN)) {
		x->status = STATUS_INTERRUPTED;
		return item_end(s, end);
	}
	return end;
}

/* "Name(input)": the input without its last bracket. */
static char *
tool_input(const struct screen *s, size_t i, size_t end)
{
	const char *p = row_text(&s->r, i), *open = memchr(p, '(', s->r.v[i].n);
	char *text;
	size_t n;

	if (open == NULL)
		return NULL;
	text = joined(s, i, end, (size_t)(open + 1 - p), 6, s->r.width);
	n = strlen(text);
	if (n > 0 && text[n - 1] == ')')
		text[n - 1] = '\0';
	return text;
}

static size_t
read_tool(struct screen *s, size_t i)
{
	size_t head = rows_head_end(&s->r, i), end = head > i ? head : i + 1;	/* rows below may have been settled since */
	char *input = tool_input(s, i, end), *name = group(s, i, 1);
	enum status status = STATUS_COMPLETE;
	struct result res;
	size_t next = read_results(s, end, &res);

	if (next < s->r.n && kind(s, next) == ROW_BODY && says(s, next, PHRASE_NOISE))
		next++;
	if (!res.any)
		status = STATUS_RUNNING;
	else if (res.waiting)
		status = STATUS_WAITING;
	else if (res.failed || res.interrupted)
		status = STATUS_FAILED;
	else if (res.running)
		status = STATUS_RUNNING;
	add(s, ROLE_ASSISTANT, status, name != NULL ? name : xstrdup("?"), input, conversation_text(&res.text));
	s->spun = false;
	return next;
}

static size_t
read_folded(struct screen *s, size_t i)
{
	size_t end = item_end(s, i), to = end, n;
	size_t skip = row_text(&s->r, i)[0] == ' ' ? 2 : skip_of(s, i);
	char *text, *input = NULL, *command;
	bool running = false, agents = kind(s, i) == ROW_AGENTS;
	struct result res = { .text = BUF_INIT };
	const char *tool, *key = " (ctrl+o to expand)";

	to = without_noise(s, i + 1, end, &running);
	running = false;
	text = joined(s, i, to, skip, 2, s->r.width);
	tool = agents ? "Agents" : dialect_folded_tool(s->r.d, text, strlen(text), &running);
	n = strcspn(text, "\n");
	if (n >= strlen(key) && memcmp(text + n - strlen(key), key, strlen(key)) == 0)
		memmove(text + n - strlen(key), text + n, strlen(text + n) + 1);
	if (agents)
		running = str_starts(text, "Running");
	else
		end = read_results(s, end, &res);
	command = strstr(text, "\n\xE2\x8E\xBF  $ ");	/* while it runs, the command stands below */
	if (command != NULL) {
		input = xstrdup(command + 8);
		*command = '\0';
	}
	buf_release(&res.text);
	add(s, ROLE_ASSISTANT, running ? STATUS_RUNNING : STATUS_COMPLETE, xstrdup(tool != NULL ? tool : "Calls"), input, text);
	s->spun = false;
	return end;
}

/* The program's own words, with the remarks below them. */
static size_t
read_notice(struct screen *s, size_t i)
{
	size_t end = item_end(s, i);
	enum row_kind k = kind(s, i);
	enum status status;
	bool plan;
	struct buf b = BUF_INIT;
	struct result res;

	rows_join(&s->r, i, end, skip_of(s, i), 2, s->r.width, &b);
	end = read_results(s, end, &res);
	if (res.any && k != ROW_RETRY) {	/* below a retry stands a tip */
		buf_chr(&b, '\n');
		buf_add(&b, res.text.data, res.text.len);
	}
	buf_release(&res.text);
	if (k == ROW_ERROR || k == ROW_RETRY)
		s->c->limit = s->c->limit || dialect_says(s->r.d, PHRASE_LIMIT, b.data, b.len);
	plan = strstr(b.data, " plan") != NULL;
	if (k == ROW_ANSWERS)
		status = str_starts(b.data, "User answered") || str_starts(b.data, "User approved") ? STATUS_COMPLETE : STATUS_FAILED;
	else
		status = k == ROW_ERROR || k == ROW_RETRY ? STATUS_FAILED : STATUS_COMPLETE;
	add(s, k == ROW_ANSWERS ? ROLE_ASSISTANT : ROLE_SYSTEM, status,
		k != ROW_ANSWERS ? NULL : xstrdup(plan ? "ExitPlanMode" : "AskUserQuestion"), NULL, conversation_text(&b));
	s->spun = false;
	return end;
}

/* The picture in front of a banner's words is made of block elements (U+2580 to U+259F) and, in 2.0, of stars. */
static size_t
picture_width(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n) {
		if (p[i] == ' ' || p[i] == '*')
			i++;
		else if (i + 2 < n && (unsigned char)p[i] == 0xE2 && (unsigned char)p[i + 1] == 0x96)
			i += 3;
		else
			break;
	}
	return i;
}

static void
seen_version(struct screen *s, char *version)
{
	if (version == NULL)
		return;
	free(s->c->banner);
	s->c->banner = version;
}

/* A new session: what was open or unsent in the one before is past. */
static void
new_session(struct screen *s)
{
	settle_calls(s);
	free(s->c->draft);
	free(s->c->tasks);
	free(s->c->resume_id);
	s->c->draft = s->c->tasks = s->c->resume_id = NULL;
	s->c->farewell = s->c->limit = s->outside = s->busy = false;
}

static size_t
read_banner(struct screen *s, size_t i)
{
	struct buf b = BUF_INIT;
	size_t end = i, top = i;

	new_session(s);
	for (; end < s->r.n && kind(s, end) == ROW_BANNER; end++) {
		char *version = group(s, end, 1);

		if (version != NULL)
			top = end;	/* older heads of banners that tmux scrolled off stand above */
		seen_version(s, version);
	}
	end = item_end(s, end - 1);
	for (size_t k = top; k < end; k++) {
		size_t n = s->r.v[k].n, cut = picture_width(row_text(&s->r, k), n);

		if (cut == n)
			continue;
		if (b.len > 0)
			buf_chr(&b, '\n');
		buf_add(&b, row_text(&s->r, k) + cut, n - cut);
	}
	add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, conversation_text(&b));
	return end;
}

static size_t
read_welcome(struct screen *s, size_t i)
{
	char *version = group(s, i, 1);
	size_t end = i + 1;

	new_session(s);
	add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, xasprintf("Claude Code v%s", version != NULL ? version : "?"));
	seen_version(s, version);
	while (end < s->r.n && end < i + 60 && kind(s, end) == ROW_STRAY)
		end++;
	return end < s->r.n && kind(s, end) == ROW_BANNER_END ? end + 1 : end;
}

static void
keep_tasks(struct screen *s, size_t from, size_t to, size_t skip, size_t indent)
{
	free(s->c->tasks);
	s->c->tasks = joined(s, from, to, skip, indent, 0);
}

static size_t
read_spinner(struct screen *s, size_t i)
{
	size_t end = i + 1;

	while (end < s->r.n && (kind(s, end) == ROW_BODY || kind(s, end) == ROW_RESULT))
		end++;
	if (end > i + 1 && kind(s, i + 1) == ROW_RESULT && result_says(s, i + 1, PHRASE_TASK))
		keep_tasks(s, i + 1, end, RESULT_TEXT, 5);
	s->spun = true;
	return end;
}

static size_t
read_queue(struct screen *s, size_t i)
{
	while (i < s->r.n && kind(s, i) == ROW_QUEUED) {
		size_t end = i + 1;

		while (end < s->r.n && kind(s, end) == ROW_QUEUED && row_indent(&s->r, end) >= 4)
			end++;
		add(s, ROLE_USER, STATUS_WAITING, NULL, NULL, joined(s, i, end, 6, 4, s->r.width > 0 ? s->r.width - 1 : 0));
		i = end;
	}
	return i;
}

static void
read_draft(struct screen *s, size_t from, size_t to)
{
	char *text = joined(s, from, to, skip_of(s, from), 2, s->r.width);

	free(s->c->draft);
	s->c->draft = NULL;
	if (row_text(&s->r, from)[0] == '!') {
		char *command = text;

		text = xasprintf("! %s", command);
		free(command);
	}
	if (text[0] == '\0' || dialect_says(s->r.d, PHRASE_PLACEHOLDER, text, strlen(text)))
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

	while (kind(s, box) == ROW_RULE)
		box++;
	for (end = box + 1; end < s->r.n && end < box + DRAFT_ROWS && (kind(s, end) == ROW_BODY || kind(s, end) == ROW_BLANK); end++)
		;
	read_draft(s, box, end);
	while (end < s->r.n && kind(s, end) == ROW_RULE)
		end++;
	menu = s->c->draft != NULL && strchr("/@!", s->c->draft[0]) != NULL;
	s->busy = false;
	for (; end < s->r.n; end++) {
		enum row_kind k = kind(s, end);

		if (k != ROW_BODY && k != ROW_BLANK && !(k == ROW_STRAY && menu))
			break;
		s->busy = s->busy || (k == ROW_BODY && says(s, end, PHRASE_BUSY));
		s->c->limit = s->c->limit || (k == ROW_BODY && says(s, end, PHRASE_LIMIT));
	}
	return end;
}

/* The call that the dialog asks about: the last one without an answer, or one that only the dialog shows. */
static void
ask(struct screen *s, size_t i, size_t end)
{
	size_t title = i;
	const char *tool;
	struct exchange *x;

	for (size_t k = s->c->n; k-- > s->open && s->c->v[k].tool != NULL;) {
		x = &s->c->v[k];
		if (x->status == STATUS_WAITING)
			return;
		if (x->status == STATUS_RUNNING && (k + 1 == s->c->n)) {
			x->status = STATUS_WAITING;
			return;
		}
	}
	while (title < end && (kind(s, title) == ROW_BLANK || s->r.v[title].n == 0 || (unsigned char)row_text(&s->r, title)[1] == 0x94))
		title++;
	if (title == end)
		return;
	tool = dialect_dialog_tool(s->r.d, row_text(&s->r, title) + row_indent(&s->r, title), s->r.v[title].n - row_indent(&s->r, title));
	if (tool != NULL)
		add(s, ROLE_ASSISTANT, STATUS_WAITING, xstrdup(tool), NULL, NULL);
}

static size_t
read_dialog(struct screen *s, size_t i)
{
	size_t end = i;

	while (end < s->r.n && (kind(s, end) == ROW_DIALOG || kind(s, end) == ROW_BLANK)) {
		s->c->limit = s->c->limit || (kind(s, end) == ROW_DIALOG && says(s, end, PHRASE_LIMIT));
		end++;
	}
	free(s->c->question);
	s->c->question = joined(s, i + 1, end, row_indent(&s->r, i + 1 < end ? i + 1 : i), 1, 0);
	ask(s, i, end);
	return end;
}

static size_t
read_farewell(struct screen *s, size_t i)
{
	settle_calls(s);
	s->c->farewell = s->outside = true;
	for (size_t k = i + 1; k < s->r.n && k <= i + 2; k++) {
		if (kind(s, k) != ROW_RESUME)
			continue;
		free(s->c->resume_id);
		s->c->resume_id = group(s, k, 1);
		i = k;
	}
	if (s->c->draft != NULL && s->c->draft[0] == '/') {	/* the command that ended it */
		free(s->c->draft);
		s->c->draft = NULL;
	}
	return i + 1;
}

static size_t
read_tasks(struct screen *s, size_t i)
{
	size_t end = i;

	while (end < s->r.n && kind(s, end) == ROW_TASKS)
		end++;
	keep_tasks(s, i, end, 2, 2);
	return end;
}

static size_t
read_rule(struct screen *s, size_t i)
{
	size_t next = i;

	while (next < s->r.n && kind(s, next) == ROW_RULE)
		next++;
	return next < s->r.n && kind(s, next) == ROW_BOX ? read_box(s, i) : read_raw(s, i);
}

static size_t
read_item(struct screen *s, size_t i)
{
	switch (kind(s, i)) {
	case ROW_BLANK:
	case ROW_DEAD:
	case ROW_THOUGHT:
	case ROW_BANNER_END:
		return i + 1;
	case ROW_TURN_END:
		s->spun = true;
		return i + 1;
	case ROW_BANNER:
		return read_banner(s, i);
	case ROW_BANNER_TOP:
		return read_welcome(s, i);
	case ROW_PROMPT:
	case ROW_SHELL:
		return read_prompt(s, i);
	case ROW_WORDS:
		return read_words(s, i);
	case ROW_TOOL:
		return read_tool(s, i);
	case ROW_COLLAPSED:
	case ROW_AGENTS:
		return read_folded(s, i);
	case ROW_ERROR:
	case ROW_RETRY:
	case ROW_NOTICE:
	case ROW_ANSWERS:
	case ROW_COMPACTED:
		return read_notice(s, i);
	case ROW_RESULT:
		return read_remark(s, i);
	case ROW_SPINNER:
		return read_spinner(s, i);
	case ROW_QUEUED:
		return read_queue(s, i);
	case ROW_DIALOG:
		return read_dialog(s, i);
	case ROW_FAREWELL:
		return read_farewell(s, i);
	case ROW_TASKS:
		return read_tasks(s, i);
	case ROW_RULE:
		return read_rule(s, i);
	default:
		return read_raw(s, i);
	}
}

/* What a shell wrote before the agent was started is no conversation, though some shells' prompts look like the agent's. */
static size_t
first_row(const struct screen *s)
{
	for (size_t i = 0; i < s->r.n; i++) {
		enum row_kind k = kind(s, i);

		if (k == ROW_BANNER || k == ROW_BANNER_TOP)
			return i;
		if (k == ROW_WORDS || k == ROW_TOOL || k == ROW_BOX || k == ROW_RESULT || k == ROW_TURN_END)
			return 0;
	}
	return 0;
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

/* A session's text begins with its banner; anything else was cut off above. */
static bool
starts_whole(const struct screen *s)
{
	size_t i = 0;

	while (i < s->r.n && kind(s, i) == ROW_BLANK)
		i++;
	return kind(s, i) == ROW_BANNER || kind(s, i) == ROW_BANNER_TOP;
}

static void
read_all(struct screen *s)
{
	size_t i = first_row(s);

	if (i > 0) {
		s->outside = true;
		for (size_t k = 0; k < i; k = read_raw(s, k))
			;
		s->outside = false;
	} else if (!starts_whole(s))
		s->c->truncated_at = 0;
	while (i < s->r.n) {
		enum row_kind k = kind(s, i);
		bool inside = !s->outside || k == ROW_BANNER || k == ROW_BANNER_TOP || k == ROW_DEAD || k == ROW_BLANK;

		i = inside ? read_item(s, i) : read_raw(s, i);
	}
	/* text that was still streaming has no turn end and no spinner below it (2.1.197, 2.1.330) */
	for (size_t k = s->c->n; k-- > 0 && s->busy && !s->spun;) {
		struct exchange *x = &s->c->v[k];

		if (x->role == ROLE_USER && x->status == STATUS_WAITING)
			continue;
		if (x->role == ROLE_ASSISTANT && x->tool == NULL && x->status == STATUS_COMPLETE)
			x->status = STATUS_RUNNING;
		break;
	}
}

void
screen_read_bytes(const char *p, size_t n, int width, const char *agent, struct conversation *out)
{
	struct dialect *d = dialect_new(agent, dialect_find_version(p, n));
	struct screen s = { .c = out };

	if (d == NULL) {
		keep_whole(out, p, n);
		out->lines = out->unknown_lines;
		return;
	}
	rows_init(&s.r, p, n, width > 0 ? (size_t)width : 0, d);
	out->lines = s.r.n;
	if (rows_evidence(&s.r) < 2)
		keep_whole(out, p, n);
	else {
		rows_drop_redrawn(&s.r);
		rows_settle(&s.r);
		read_all(&s);
	}
	rows_release(&s.r);
	dialect_free(d);
}
