#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "context/screen_private.h"
#include "base/buf.h"
#include "context/exchange.h"
#include "context/style.h"

#define FOLD_ROWS 4	/* rows that a folded line may take in a narrow pane */

/* What a call's result rows say. */
struct result {
	struct buf text;
	bool any, running, waiting, failed, interrupted;
	bool waits_within;	/* the last row says so: of a sub-agent, its own call */
};

/* Where the rows from .. to end without those that only name a key; in a narrow pane such a row is broken. */
static size_t
without_noise(const struct screen *s, size_t from, size_t to, bool *running)
{
	for (;;) {
		size_t k = to, rows;
		bool noise = false;

		while (to > from && row_kind(&s->r, to - 1) == ROW_BLANK)
			to--;
		for (rows = 0, k = to; k > from && rows < FOLD_ROWS && s->r.v[k - 1].n > 0 && !noise; rows++) {
			char *text;

			k--;
			text = screen_joined(s, k, to, row_indent(&s->r, k), SIZE_MAX, 0);
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
	size_t end = i + 1, to, column = screen_result_skip(s, i) == 6 ? 4 : 5;
	bool keys = false;

	for (; end < s->r.n && (row_kind(&s->r, end) == ROW_BODY || row_kind(&s->r, end) == ROW_BLANK); end++)
		if (row_kind(&s->r, end) == ROW_BODY && row_kind(&s->r, end - 1) == ROW_BLANK && row_indent(&s->r, end) < column)
			break;
	to = without_noise(s, i + 1, end, &keys);
	if (res->any)
		buf_chr(&res->text, '\n');
	res->any = true;
	res->waiting = screen_result_says(s, i, PHRASE_WAITING);
	res->failed = screen_result_says(s, i, PHRASE_FAILED);
	res->interrupted = screen_result_says(s, i, PHRASE_INTERRUPTED);
	res->running = keys || screen_result_says(s, i, PHRASE_RUNNING) || (to > i + 1 && row_says(&s->r, to - 1, PHRASE_RUNNING));
	res->waits_within = to > i + 1 && row_says(&s->r, to - 1, PHRASE_WAITING);
	rows_join(&s->r, i, to, screen_result_skip(s, i), column, 0, &res->text);
	return end;
}

/* The last "⎿" tells how the call stands. */
static size_t
read_results(struct screen *s, size_t i, struct result *res)
{
	*res = (struct result){ .text = BUF_INIT };
	while (i < s->r.n && row_kind(&s->r, i) == ROW_RESULT)
		i = read_result(s, i, res);
	return i;
}

/* The words below a prompt or an answer that are neither: what an attached file, a slash command or the program said. */
static size_t
read_remark(struct screen *s, size_t i)
{
	bool plan = screen_result_says(s, i, PHRASE_REJECTED_PLAN);
	/* the answer to a prompt, not to a command: "  ⎿  Invalid API key · Fix external API key" (2.0.76 to 2.1.330) */
	bool limit = s->c->n > 0 && s->c->v[s->c->n - 1].role == ROLE_USER && screen_result_says(s, i, PHRASE_LIMIT);
	struct result res;
	size_t end = read_results(s, i, &res);

	if (plan)
		screen_add(s, ROLE_ASSISTANT, res.interrupted ? STATUS_FAILED : STATUS_COMPLETE, xstrdup("ExitPlanMode"), NULL,
			conversation_text(&res.text));
	else
		screen_add(s, ROLE_SYSTEM, res.failed || limit ? STATUS_FAILED : res.interrupted ? STATUS_INTERRUPTED : STATUS_COMPLETE, NULL, NULL,
			conversation_text(&res.text));
	s->c->limit = s->c->limit || limit;
	return end;
}

static size_t
read_prompt(struct screen *s, size_t i)
{
	const struct page *page = dialect_page(s->r.d);
	size_t end = page->prompt_indent > 0 ? screen_item_end(s, i) : screen_prompt_end(s, i);
	char *text = screen_joined(s, i, end, screen_skip(s, i), page->prompt_indent, screen_limit(s, page->prompt_margin));

	if (row_kind(&s->r, i) == ROW_PROMPT_QUEUED) {
		screen_add(s, ROLE_USER, STATUS_WAITING, NULL, NULL, text);
		return end;
	}
	screen_settle_calls(s);
	s->c->limit = false;
	if (row_kind(&s->r, i) == ROW_SHELL) {
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
	size_t end = screen_item_end(s, i), skip = row_text(&s->r, i)[0] == ' ' ? 2 : screen_skip(s, i);
	const char *p = row_text(&s->r, i) + skip;
	bool limit = end - i <= 6 && dialect_says(s->r.d, PHRASE_LIMIT, p, s->r.v[i].n - skip);
	char *text = screen_joined(s, i, end, skip, 2, screen_words_limit(s));
	struct exchange *x;

	s->spun = false;
	if (*text == '\0') {	/* the first word is not there yet */
		free(text);
		return end;
	}
	x = screen_add(s, limit ? ROLE_SYSTEM : ROLE_ASSISTANT, limit ? STATUS_FAILED : STATUS_COMPLETE, NULL, NULL, text);
	s->c->limit = limit;	/* the model's words after one: it is over */
	if (end < s->r.n && row_kind(&s->r, end) == ROW_RESULT && screen_result_says(s, end, PHRASE_INTERRUPTED) &&
		!screen_result_says(s, end, PHRASE_REJECTED_PLAN)) {
		x->status = STATUS_INTERRUPTED;
		return screen_item_end(s, end);
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
	size_t head = rows_head_end(&s->r, i), end = head > i ? head : i + 1;	/* rows below may have been settled since */
	char *input = tool_input(s, i, end), *name = screen_group(s, i, 1);
	enum status status = STATUS_COMPLETE;
	struct result res;
	size_t next = read_results(s, end, &res);

	if (next < s->r.n && row_kind(&s->r, next) == ROW_BODY && row_says(&s->r, next, PHRASE_NOISE))
		next++;
	if (!res.any)
		status = STATUS_RUNNING;
	else if (res.waiting)
		status = STATUS_WAITING;
	else if (res.failed || res.interrupted || s->r.v[i].bullet == BULLET_FAILED)
		status = STATUS_FAILED;
	else if (res.running || s->r.v[i].bullet == BULLET_PENDING || (res.waits_within && is_agent(name)))
		status = STATUS_RUNNING;
	screen_add(s, ROLE_ASSISTANT, status, name != NULL ? name : xstrdup("?"), input, conversation_text(&res.text));
	s->spun = false;
	return next;
}

static size_t
read_folded(struct screen *s, size_t i)
{
	size_t end = screen_item_end(s, i), to = end, n;
	size_t skip = row_text(&s->r, i)[0] == ' ' ? 2 : screen_skip(s, i);
	char *text, *input = NULL, *command;
	bool running = false, agents = row_kind(&s->r, i) == ROW_AGENTS;
	struct result res = { .text = BUF_INIT };
	const char *tool, *key = " (ctrl+o to expand)";

	to = without_noise(s, i + 1, end, &running);
	running = false;
	text = screen_joined(s, i, to, skip, 2, s->r.width);
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
		running = running || tool == NULL;
	}
	buf_release(&res.text);
	if (tool == NULL)
		tool = input != NULL ? "Bash" : "Calls";
	screen_add(s, ROLE_ASSISTANT, running ? STATUS_RUNNING : STATUS_COMPLETE, xstrdup(tool), input, text)->folded = true;
	s->spun = false;
	return end;
}

/* The program's own words, with the remarks below them. */
static size_t
read_notice(struct screen *s, size_t i)
{
	size_t end = screen_item_end(s, i);
	enum row_kind k = row_kind(&s->r, i);
	enum status status;
	bool plan, bare;
	struct buf b = BUF_INIT;
	struct result res;

	bare = (unsigned char)row_text(&s->r, i)[0] < 0x80 && row_text(&s->r, i)[0] != '>';
	if (row_indent(&s->r, i) > 0)	/* "  ⎿ API Error": before 2.1.100 an error stands below the prompt */
		rows_join(&s->r, i, end, sizeof "  \xE2\x8E\xBF " - 1, 5, s->r.width, &b);
	else	/* what a session cost stands there without a mark */
		rows_join(&s->r, i, end, bare ? 0 : screen_skip(s, i), 2, s->r.width, &b);
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
		status = str_starts(b.data, "User rejected") || str_starts(b.data, "User declined") || str_starts(b.data, "Declined") ?
			STATUS_FAILED : STATUS_COMPLETE;
	else
		status = k == ROW_ERROR || k == ROW_RETRY ? STATUS_FAILED : STATUS_COMPLETE;
	screen_add(s, k == ROW_ANSWERS ? ROLE_ASSISTANT : ROLE_SYSTEM, status,
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
	screen_settle_calls(s);
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
	for (; end < s->r.n && row_kind(&s->r, end) == ROW_BANNER; end++) {
		char *version = screen_group(s, end, 1);

		if (version != NULL)
			top = end;	/* older heads of banners that tmux scrolled off stand above */
		seen_version(s, version);
	}
	end = screen_item_end(s, end - 1);
	for (size_t k = top; k < end; k++) {
		size_t n = s->r.v[k].n, cut = picture_width(row_text(&s->r, k), n);

		if (cut == n)
			continue;
		if (b.len > 0)
			buf_chr(&b, '\n');
		buf_add(&b, row_text(&s->r, k) + cut, n - cut);
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
	while (end < s->r.n && end < i + 60 && row_kind(&s->r, end) != ROW_BLANK && row_kind(&s->r, end) != ROW_BANNER_END)
		end++;
	if (row_kind(&s->r, end) == ROW_BANNER_END)
		end++;
	buf_fmt(&b, "Claude Code%s%s", version != NULL ? " v" : "", version != NULL ? version : "");
	seen_version(s, version);
	body = end;
	end = screen_item_end(s, end - 1);
	if (end > body) {
		size_t at = b.len;

		buf_chr(&b, '\n');
		rows_join(&s->r, body, end, 0, 2, 0, &b);
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
	rows_join(&s->r, i + 1, end, row_indent(&s->r, i + 1), 2, screen_words_limit(s), &b);
	free(head);
	screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, conversation_text(&b));
	s->spun = false;
	return end;
}

size_t
screen_read_item(struct screen *s, size_t i)
{
	switch (row_kind(&s->r, i)) {
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
