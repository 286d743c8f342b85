#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "screen/screen_private.h"
#include "screen/screen.h"
#include "base/buf.h"
#include "conversation/conversation.h"

#define FOLD_ROWS 4	/* rows that a folded line may take in a narrow pane */

/* What a call's result rows say. */
struct result {
	struct buf text;
	bool any, running, waiting, failed, interrupted;
	bool waits_within;	/* the last row says so: of a sub-agent, its own call */
};

/* Where the rows from .. to end without those that only name a key; in a narrow pane such a row is broken. */
static size_t
trim_key_rows(const struct screen *s, size_t from, size_t to, bool *running)
{
	for (;;) {
		size_t k = to, rows;
		bool noise = false;

		while (to > from && screen_row_kind(&s->r, to - 1) == ROW_BLANK)
			to--;
		for (rows = 0, k = to; k > from && rows < FOLD_ROWS && s->r.v[k - 1].n > 0 && !noise;
		    rows++) {
			char *text;

			k--;
			text = screen_joined(s, k, to, screen_row_indent(&s->r, k), SIZE_MAX, 0);
			for (char *nl = text; (nl = strchr(nl, '\n')) != NULL;)
				*nl = ' ';
			noise = grammar_has_cue(s->r.d, CUE_NOISE, text, strlen(text));
			*running =
			    *running || (noise && grammar_has_cue(s->r.d, CUE_RUNNING, text, strlen(text)));
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
	size_t end = i + 1, to, column = screen_result_skip(s, i) == 6 ? 4 : 5;
	bool keys = false;

	for (; end < s->r.n &&
	    (screen_row_kind(&s->r, end) == ROW_BODY || screen_row_kind(&s->r, end) == ROW_BLANK);
	    end++)
		if (screen_row_kind(&s->r, end) == ROW_BODY && screen_row_kind(&s->r, end - 1) == ROW_BLANK &&
		    screen_row_indent(&s->r, end) < column)
			break;
	to = trim_key_rows(s, i + 1, end, &keys);
	if (res->any)
		buf_chr(&res->text, '\n');
	res->any = true;
	res->waiting = screen_result_has_cue(s, i, CUE_WAITING);
	res->failed = screen_result_has_cue(s, i, CUE_FAILED);
	res->interrupted = screen_result_has_cue(s, i, CUE_INTERRUPTED);
	res->running = keys || screen_result_has_cue(s, i, CUE_RUNNING) ||
	    (to > i + 1 && screen_row_has_cue(&s->r, to - 1, CUE_RUNNING));
	res->waits_within = to > i + 1 && screen_row_has_cue(&s->r, to - 1, CUE_WAITING);
	screen_rows_join(&s->r, i, to, screen_result_skip(s, i), column, 0, &res->text);
	return end;
}

/* The last "⎿" tells how the call stands. */
static size_t
read_results(struct screen *s, size_t i, struct result *res)
{
	*res = (struct result){ .text = BUF_INIT };
	while (i < s->r.n && screen_row_kind(&s->r, i) == ROW_RESULT)
		i = read_result(s, i, res);
	return i;
}

/*
 * The words below a prompt or an answer that are neither: what an attached file, a slash command
 * or the program said.
 */
static size_t
read_remark(struct screen *s, size_t i)
{
	bool plan = screen_result_has_cue(s, i, CUE_REJECTED_PLAN);
	/*
	 * the answer to a prompt, not to a command: " ⎿ Invalid API key · Fix external API key"
	 * (2.0.76 to 2.1.330)
	 */
	bool limit =
	    s->c->n > 0 && s->c->v[s->c->n - 1].role == ROLE_USER && screen_result_has_cue(s, i, CUE_LIMIT);
	struct result res;
	size_t end = read_results(s, i, &res);

	if (plan)
		screen_add(s, ROLE_ASSISTANT, res.interrupted ? STATUS_FAILED : STATUS_COMPLETE,
		    xstrdup("ExitPlanMode"), NULL, conversation_text(&res.text));
	else
		screen_add(s, ROLE_SYSTEM,
		    res.failed || limit   ? STATUS_FAILED
			: res.interrupted ? STATUS_INTERRUPTED
					  : STATUS_COMPLETE,
		    NULL, NULL, conversation_text(&res.text));
	s->c->limit = s->c->limit || limit;
	return end;
}

static size_t
read_prompt(struct screen *s, size_t i)
{
	const struct grammar_layout *page = grammar_layout(s->r.d);
	size_t end = page->prompt_indent > 0 ? screen_item_end(s, i) : screen_prompt_end(s, i);
	char *text = screen_joined(
	    s, i, end, screen_skip(s, i), page->prompt_indent, screen_limit(s, page->prompt_margin));

	if (screen_row_kind(&s->r, i) == ROW_PROMPT_QUEUED) {
		screen_add(s, ROLE_USER, STATUS_WAITING, NULL, NULL, text);
		return end;
	}
	screen_close_calls(s);
	s->c->limit = false;
	if (screen_row_kind(&s->r, i) == ROW_SHELL) {
		char *command = text;

		text = xasprintf("! %s", command + strspn(command, " "));
		free(command);
	}
	screen_add(s, ROLE_USER, STATUS_COMPLETE, NULL, NULL, text);
	return end;
}

static size_t
read_words(struct screen *s, size_t i)
{
	size_t end = screen_item_end(s, i),
	       skip = screen_row_text(&s->r, i)[0] == ' ' ? 2 : screen_skip(s, i);
	const char *p = screen_row_text(&s->r, i) + skip;
	bool limit = end - i <= 6 && grammar_has_cue(s->r.d, CUE_LIMIT, p, s->r.v[i].n - skip);
	char *text = screen_joined(s, i, end, skip, 2, screen_words_limit(s));
	struct exchange *x;

	s->spun = false;
	if (*text == '\0') {	/* the first word is not there yet */
		free(text);
		return end;
	}
	x = screen_add(s, limit ? ROLE_SYSTEM : ROLE_ASSISTANT, limit ? STATUS_FAILED : STATUS_COMPLETE, NULL,
	    NULL, text);
	s->c->limit = limit;	/* the model's words after one: it is over */
	if (end < s->r.n && screen_row_kind(&s->r, end) == ROW_RESULT &&
	    screen_result_has_cue(s, end, CUE_INTERRUPTED) &&
	    !screen_result_has_cue(s, end, CUE_REJECTED_PLAN)) {
		x->status = STATUS_INTERRUPTED;
		return screen_item_end(s, end);
	}
	return end;
}

/* "Name(input)": the input without its last bracket. */
static char *
tool_input(const struct screen *s, size_t i, size_t end)
{
	const char *p = screen_row_text(&s->r, i), *open = memchr(p, '(', s->r.v[i].n);
	char *text;
	size_t n;

	if (open == NULL)
		return NULL;
	text = screen_joined(s, i, end, (size_t)(open + 1 - p), 6, s->r.width);
	n = strlen(text);
	if (n > 0 && text[n - 1] == ')')
		text[n - 1] = '\0';
	return text;
}

static bool
is_agent(const char *name)
{
	return name != NULL && (strcmp(name, "Task") == 0 || strcmp(name, "Agent") == 0);
}

static size_t
read_tool(struct screen *s, size_t i)
{
	/* rows below may have been settled since */
	size_t head = screen_call_head_end(&s->r, i), end = head > i ? head : i + 1;
	char *input = tool_input(s, i, end), *name = screen_group(s, i, 1);
	enum status status = STATUS_COMPLETE;
	struct result res;
	size_t next = read_results(s, end, &res);

	if (next < s->r.n && screen_row_kind(&s->r, next) == ROW_BODY &&
	    screen_row_has_cue(&s->r, next, CUE_NOISE))
		next++;
	if (!res.any)
		status = STATUS_RUNNING;
	else if (res.waiting)
		status = STATUS_WAITING;
	else if (res.failed || res.interrupted || s->r.v[i].bullet == BULLET_FAILED)
		status = STATUS_FAILED;
	else if (res.running || s->r.v[i].bullet == BULLET_PENDING || (res.waits_within && is_agent(name)))
		status = STATUS_RUNNING;
	screen_add(s, ROLE_ASSISTANT, status, name != NULL ? name : xstrdup("?"), input,
	    conversation_text(&res.text));
	s->spun = false;
	return next;
}

static size_t
read_folded(struct screen *s, size_t i)
{
	size_t end = screen_item_end(s, i), to = end, n;
	size_t skip = screen_row_text(&s->r, i)[0] == ' ' ? 2 : screen_skip(s, i);
	char *text, *input = NULL, *command;
	bool running = false, agents = screen_row_kind(&s->r, i) == ROW_AGENTS;
	struct result res = { .text = BUF_INIT };
	const char *tool, *key = " (ctrl+o to expand)";

	to = trim_key_rows(s, i + 1, end, &running);
	running = false;
	text = screen_joined(s, i, to, skip, 2, s->r.width);
	tool = agents ? "Agents" : grammar_folded_tool(s->r.d, text, strlen(text), &running);
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
		running = running || tool == NULL;
	}
	buf_release(&res.text);
	if (tool == NULL)
		tool = input != NULL ? "Bash" : "Calls";
	screen_add(s, ROLE_ASSISTANT, running ? STATUS_RUNNING : STATUS_COMPLETE, xstrdup(tool), input, text)
	    ->folded = true;
	s->spun = false;
	return end;
}

/* The program's own words, with the remarks below them. */
static size_t
read_notice(struct screen *s, size_t i)
{
	size_t end = screen_item_end(s, i);
	enum row_kind k = screen_row_kind(&s->r, i);
	enum status status;
	bool plan, bare;
	struct buf b = BUF_INIT;
	struct result res;

	bare = (unsigned char)screen_row_text(&s->r, i)[0] < 0x80 && screen_row_text(&s->r, i)[0] != '>';
	if (screen_row_indent(&s->r, i) >
	    0) /* "  ⎿ API Error": before 2.1.100 an error stands below the prompt */
		screen_rows_join(&s->r, i, end, sizeof "  \xE2\x8E\xBF " - 1, 5, s->r.width, &b);
	else	/* what a session cost stands there without a mark */
		screen_rows_join(&s->r, i, end, bare ? 0 : screen_skip(s, i), 2, s->r.width, &b);
	end = read_results(s, end, &res);
	if (res.any && k != ROW_RETRY) {	/* below a retry stands a tip */
		buf_chr(&b, '\n');
		buf_add(&b, res.text.data, res.text.len);
	}
	buf_release(&res.text);
	if (k == ROW_ERROR || k == ROW_RETRY)
		s->c->limit = s->c->limit || grammar_has_cue(s->r.d, CUE_LIMIT, b.data, b.len);
	plan = strstr(b.data, " plan") != NULL;
	if (k == ROW_ANSWERS)
		status = str_starts(b.data, "User rejected") || str_starts(b.data, "User declined") ||
			str_starts(b.data, "Declined")
		    ? STATUS_FAILED
		    : STATUS_COMPLETE;
	else
		status = k == ROW_ERROR || k == ROW_RETRY ? STATUS_FAILED : STATUS_COMPLETE;
	screen_add(s, k == ROW_ANSWERS ? ROLE_ASSISTANT : ROLE_SYSTEM, status,
	    k != ROW_ANSWERS ? NULL : xstrdup(plan ? "ExitPlanMode" : "AskUserQuestion"), NULL,
	    conversation_text(&b));
	s->spun = false;
	return end;
}

/*
 * The picture in front of a banner's words is made of block elements (U+2580 to U+259F) and, in
 * 2.0, of stars.
 */
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
	screen_close_calls(s);
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
	for (; end < s->r.n && screen_row_kind(&s->r, end) == ROW_BANNER; end++) {
		char *version = screen_group(s, end, 1);

		if (version != NULL)
			top = end;	/* older heads of banners that tmux scrolled off stand above */
		seen_version(s, version);
	}
	end = screen_item_end(s, end - 1);
	for (size_t k = top; k < end; k++) {
		size_t n = s->r.v[k].n, cut = picture_width(screen_row_text(&s->r, k), n);

		if (cut == n)
			continue;
		if (b.len > 0)
			buf_chr(&b, '\n');
		buf_add(&b, screen_row_text(&s->r, k) + cut, n - cut);
	}
	screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, conversation_text(&b));
	return end;
}

static size_t
read_welcome(struct screen *s, size_t i)
{
	char *version = screen_group(s, i, 1);
	struct buf b = BUF_INIT;
	size_t end = i + 1, body;

	new_session(s);
	while (end < s->r.n && end < i + 60 && screen_row_kind(&s->r, end) != ROW_BLANK &&
	    screen_row_kind(&s->r, end) != ROW_BANNER_END)
		end++;
	if (screen_row_kind(&s->r, end) == ROW_BANNER_END)
		end++;
	buf_fmt(&b, "Claude Code%s%s", version != NULL ? " v" : "", version != NULL ? version : "");
	seen_version(s, version);
	body = end;
	end = screen_item_end(s, end - 1);
	if (end > body) {
		size_t at = b.len;

		buf_chr(&b, '\n');
		screen_rows_join(&s->r, body, end, 0, 2, 0, &b);
		if (b.len == at + 1)
			buf_cut(&b, at);
	}
	screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, conversation_text(&b));
	return end;
}

/* What the model thought is neither its answer nor lost. Versions since 2.0 do not show it. */
static size_t
read_thought(struct screen *s, size_t i)
{
	char *head = screen_group(s, i, 1);
	struct buf b = BUF_INIT;
	size_t end = i + 1;

	if (head == NULL)
		return end;
	end = screen_item_end(s, i);
	buf_fmt(&b, "%s\n", head);
	screen_rows_join(&s->r, i + 1, end, screen_row_indent(&s->r, i + 1), 2, screen_words_limit(s), &b);
	free(head);
	screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, conversation_text(&b));
	s->spun = false;
	return end;
}

size_t
screen_read_item(struct screen *s, size_t i)
{
	switch (screen_row_kind(&s->r, i)) {
	case ROW_BANNER:
		return read_banner(s, i);
	case ROW_BANNER_TOP:
		return read_welcome(s, i);
	case ROW_PROMPT:
	case ROW_PROMPT_QUEUED:
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
	case ROW_THOUGHT:
		return read_thought(s, i);
	default:
		return 0;
	}
}

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

	while (end < s->r.n &&
	    (screen_row_kind(&s->r, end) == ROW_BODY || screen_row_kind(&s->r, end) == ROW_RESULT))
		end++;
	if (end > i + 1 && screen_row_kind(&s->r, i + 1) == ROW_RESULT &&
	    screen_result_has_cue(s, i + 1, CUE_TASK))
		keep_tasks(s, i + 1, end, screen_result_skip(s, i + 1), 5);
	s->spun = true;
	return end;
}

static size_t
read_tasks(struct screen *s, size_t i)
{
	size_t end = i;

	while (end < s->r.n && screen_row_kind(&s->r, end) == ROW_TASKS)
		end++;
	keep_tasks(s, i, end, 2, 2);
	return end;
}

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
	if (grammar_layout(s->r.d)->prompt_indent == 0)
		return read_old_queue(s, i);
	while (i < s->r.n && screen_row_kind(&s->r, i) == ROW_QUEUED) {
		size_t end = i + 1;

		while (end < s->r.n && screen_row_kind(&s->r, end) == ROW_QUEUED &&
		    (s->r.v[end].n == 0 || screen_row_indent(&s->r, end) >= 4))
			end++;
		screen_add(s, ROLE_USER, STATUS_WAITING, NULL, NULL,
		    screen_joined(s, i, end, 6, 4, s->r.width > 0 ? s->r.width - 1 : 0));
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
	if (screen_row_text(&s->r, from)[0] == '!') {
		char *command = text;

		text = xasprintf("! %s", command);
		free(command);
	}
	/* the program's own words in the box end dim; so does a half typed command that it would complete */
	if (text[0] == '\0' || ((s->r.v[from].marks & SGR_TAIL_DIM) && strchr("/@!", text[0]) == NULL) ||
	    grammar_has_cue(s->r.d, CUE_PLACEHOLDER, text, strlen(text)))
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

	while (screen_row_kind(&s->r, box) == ROW_RULE)
		box++;
	for (end = box + 1; end < s->r.n && end < box + DRAFT_ROWS; end++) {
		enum row_kind k = screen_row_kind(&s->r, end);

		if (k != ROW_BODY && k != ROW_BLANK)
			break;
	}
	read_draft(s, box, end);
	while (end < s->r.n && screen_row_kind(&s->r, end) == ROW_RULE)
		end++;
	menu = s->c->draft != NULL && strchr("/@!", s->c->draft[0]) != NULL;
	s->busy = false;
	for (; end < s->r.n; end++) {
		enum row_kind k = screen_row_kind(&s->r, end);

		if (k != ROW_BODY && k != ROW_BLANK && !(k == ROW_STRAY && menu))
			break;
		s->busy = s->busy || (k == ROW_BODY && screen_row_has_cue(&s->r, end, CUE_BUSY));
		s->c->limit = s->c->limit || (k == ROW_BODY && screen_row_has_cue(&s->r, end, CUE_LIMIT));
	}
	return end;
}

/* A line of dashes without a box below it is no box. */
static size_t
read_rule(struct screen *s, size_t i)
{
	size_t next = i;

	while (next < s->r.n && screen_row_kind(&s->r, next) == ROW_RULE)
		next++;
	if (screen_row_kind(&s->r, next) == ROW_BODY && screen_row_has_cue(&s->r, next, CUE_VIEW))
		return screen_item_end(s, next);
	return next < s->r.n && screen_row_kind(&s->r, next) == ROW_BOX ? read_box(s, i) : next;
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
	size_t end = i;
	bool boxed = str_starts(screen_row_text(&s->r, i), "\xE2\x95\xAD");

	while (end < s->r.n &&
	    (screen_row_kind(&s->r, end) == ROW_DIALOG || screen_row_kind(&s->r, end) == ROW_BLANK)) {
		s->c->limit = s->c->limit ||
		    (screen_row_kind(&s->r, end) == ROW_DIALOG && screen_row_has_cue(&s->r, end, CUE_LIMIT));
		end++;
	}
	free(s->c->question);
	s->c->question = boxed
	    ? boxed_question(s, i, end)
	    : screen_joined(s, i + 1, end, screen_row_indent(&s->r, i + 1 < end ? i + 1 : i), 1, 0);
	set_question(s, s->c->question);
	return end;
}

/* In a narrow pane tmux broke the id in two. */
static void
add_rest(struct screen *s, size_t i)
{
	char *whole = xasprintf("%s%.*s", s->c->resume_id != NULL ? s->c->resume_id : "", (int)s->r.v[i].n,
	    screen_row_text(&s->r, i));

	free(s->c->resume_id);
	s->c->resume_id = whole;
}

static size_t
read_farewell(struct screen *s, size_t i)
{
	screen_close_calls(s);
	s->c->farewell = s->outside = true;
	for (size_t k = i + 1; k < s->r.n && k <= i + 2; k++) {
		if (screen_row_kind(&s->r, k) != ROW_RESUME)
			continue;
		free(s->c->resume_id);
		s->c->resume_id = screen_group(s, k, 1);
		i = k;
		if (screen_row_kind(&s->r, k + 1) == ROW_BODY && screen_row_indent(&s->r, k + 1) == 0)
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
	switch (screen_row_kind(&s->r, i)) {
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
