#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/io.h"
#include "base/utf8.h"
#include "fake_agent.h"

/*
 * The classic renderer of 2.1.197: history in the normal screen, wrapped by the program itself,
 * everything of an item but its marker at column 2 or more; below it a live area that is erased
 * and drawn again.
 */
#define RESET "\033[0m"
#define GREY "\033[38;5;246m"
#define NBSP "\302\240"	/* not to be told from a blank by eye */
#define PROMPT "❯"
#define BULLET "●"
#define HOOK "⎿"
#define RULE "─"
#define DOTS "…"

struct form {
	const char *first, *rest;	/* what stands before the first row and before the others */
	const char *on;			/* SGR of the text, "" none */
	int cols;			/* columns for the text */
};

/* How many bytes of a line go into `cols` columns, broken at a blank when there is one. */
static size_t
fit(const char *p, size_t n, int cols)
{
	size_t i = 0, blank = 0;
	int width = 0;

	while (i < n) {
		int32_t rune;
		size_t len = utf8_next(p + i, n - i, &rune);

		width += rune < 0 ? 1 : utf8_width_rune(rune);
		if (width > cols)
			return blank > 0 ? blank : i > 0 ? i : len;
		if (rune == ' ' && i > 0)
			blank = i;
		i += len;
	}
	return n;
}

static void
printable(struct buf *out, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_chr(out, (unsigned char)p[i] < ' ' || p[i] == 127 ? ' ' : p[i]);
}

static void
wrap(struct buf *out, const char *p, size_t n, const struct form *f)
{
	const char *end = p + n, *prefix = f->first;

	for (;;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t left = (size_t)((nl != NULL ? nl : end) - p);

		do {
			size_t take = fit(p, left, f->cols);

			buf_str(out, prefix);
			buf_str(out, f->on);
			printable(out, p, take);
			buf_str(out, RESET "\n");
			prefix = f->rest;
			p += take;
			left -= take;
			if (left > 0 && *p == ' ') {
				p++;
				left--;
			}
		} while (left > 0);
		if (nl == NULL)
			return;
		p = nl + 1;
	}
}

#define ELIDE_AT ((size_t)10000)
#define ELIDE_KEEP ((size_t)2500)

/* Prompts of more than about 10 KB show only their ends. */
static void
elide(struct buf *out, const char *p, size_t n)
{
	size_t from = ELIDE_KEEP, to = n - ELIDE_KEEP, hidden = 0;

	while (from > 0 && ((unsigned char)p[from] & 0xc0) == 0x80)
		from--;
	while (to < n && ((unsigned char)p[to] & 0xc0) == 0x80)
		to++;
	for (size_t i = from; i < to; i++)
		hidden += p[i] == '\n';
	buf_add(out, p, from);
	buf_fmt(out, "\n" RULE RULE RULE RULE " (%zu lines hidden) " RULE RULE RULE RULE DOTS "\n", hidden);
	buf_add(out, p + to, n - to);
}

void
item_user(struct buf *out, int cols, const char *p, size_t n)
{
	struct form f = { .first = "\033[38;5;239;48;5;237m" PROMPT " ",
		.rest = "\033[48;5;237m  ",
		.on = "\033[38;5;231m",
		.cols = cols - 3 };
	struct buf shortened = BUF_INIT;

	if (n > ELIDE_AT) {
		elide(&shortened, p, n);
		p = shortened.data;
		n = shortened.len;
	}
	wrap(out, p, n, &f);
	buf_release(&shortened);
}

void
item_text(struct buf *out, int cols, const char *text)
{
	struct form f = {
		.first = "\033[38;5;231m" BULLET RESET " ", .rest = "  ", .on = "", .cols = cols - 3
	};

	wrap(out, text, strlen(text), &f);
}

#define INPUT_LINES 2
#define INPUT_CHARS ((size_t)160)

/* A call shows at most two source lines and 160 characters of its input. */
void
item_tool(struct buf *out, int cols, const char *name, const char *input, int colour)
{
	struct buf call = BUF_INIT;
	struct form f = { .rest = "      ", .on = "", .cols = cols - 10 };
	char *first = xasprintf("\033[38;5;%dm" BULLET RESET " \033[1m%s" RESET "(", colour, name);
	size_t n = 0;
	int lines = 0;

	while (input[n] != '\0' && n < INPUT_CHARS && !(input[n] == '\n' && ++lines == INPUT_LINES))
		n++;
	while (n > 0 && ((unsigned char)input[n] & 0xc0) == 0x80)
		n--;
	buf_add(&call, input, n);
	buf_str(&call, input[n] != '\0' ? DOTS ")" : ")");
	f.first = first;
	f.cols -= (int)strlen(name);
	wrap(out, call.data, call.len, &f);
	buf_release(&call);
	free(first);
}

#define RESULT_WHOLE 4
#define RESULT_HEAD 3

void
item_result(struct buf *out, int cols, const char *text, bool failed)
{
	struct buf rows = BUF_INIT;
	struct form f = { .first = GREY "  " HOOK " " NBSP RESET,
		.rest = "     ",
		.on = failed ? "\033[38;5;211m" : "",
		.cols = cols - 6 };
	size_t n = 0, cut = 0;

	if (*text == '\0')
		text = "(No output)";
	wrap(&rows, text, strlen(text), &f);
	for (size_t i = 0; i < rows.len; i++) {
		if (rows.data[i] == '\n' && ++n == RESULT_HEAD)
			cut = i + 1;
	}
	if (n > RESULT_WHOLE) {
		buf_cut(&rows, cut);
		buf_fmt(
		    &rows, "     \033[2m" DOTS " +%zu lines (ctrl+o to expand)" RESET "\n", n - RESULT_HEAD);
	}
	buf_add(out, rows.data, rows.len);
	buf_release(&rows);
}

/* A command that still runs shows its last rows and how many stand before them. */
void
item_running(struct buf *out, int cols, const char *text, int seconds)
{
	struct form f = {
		.first = GREY "  " HOOK " " NBSP, .rest = "     " GREY, .on = "", .cols = cols - 6
	};
	const char *p = text + strlen(text);
	size_t shown = 0, before = 0;

	if (*text == '\0') {
		buf_fmt(out, GREY "  " HOOK " " NBSP "Running" DOTS " (%ds)" RESET "\n", seconds);
		return;
	}
	while (p > text && !(p[-1] == '\n' && ++shown == RESULT_WHOLE))
		p--;
	for (const char *q = text; q < p; q++)
		before += *q == '\n';
	wrap(out, p, strlen(p), &f);
	if (before > 0)
		buf_fmt(out, "     " GREY "+%zu lines (%ds)" RESET "\n", before, seconds);
	buf_str(out, "     " GREY "(ctrl+b ctrl+b (twice) to run in background)" RESET "\n");
}

void
item_grey(struct buf *out, const char *text)
{
	buf_fmt(out, GREY "%s" RESET "\n", text);
}

static void
rule(struct buf *out, int cols)
{
	buf_str(out, "\033[38;5;244m");
	for (int i = 0; i < cols; i++)
		buf_str(out, RULE);
	buf_str(out, RESET "\n");
}

void
item_permission(struct buf *out, int cols, const char *command)
{
	rule(out, cols);
	buf_str(out, " \033[1mBash command" RESET "\n\n   ");
	printable(out, command, strlen(command));
	buf_str(out, "\n   Run the command\n\n This command requires approval\n\n Do you want to proceed?\n");
	buf_str(out, " " PROMPT " 1. Yes\n   2. Yes, and don't ask again for this command\n   3. No\n\n");
	buf_str(out, " Esc to cancel · Tab to amend · ctrl+e to explain\n");
}

void
item_trust(struct buf *out, int cols, const char *cwd)
{
	rule(out, cols);
	buf_fmt(out,
	    " Accessing workspace:\n\n %s\n\n Quick safety check: Is this a project you created or one you "
	    "trust?\n\n",
	    cwd);
	buf_str(out,
	    " " PROMPT " 1. Yes, I trust this folder\n   2. No, exit\n\n Enter to confirm · Esc to cancel\n");
}

/* Rows to the terminal, which is raw: each ends in \r\n. */
static void
put_rows(struct buf *out, const struct buf *rows, bool last_open)
{
	for (size_t i = 0; i < rows->len; i++) {
		if (rows->data[i] != '\n')
			buf_chr(out, rows->data[i]);
		else if (!last_open || i + 1 < rows->len)
			buf_str(out, "\033[K\r\n");
	}
}

static void
erase(struct screen *s, struct buf *out)
{
	buf_str(out, "\033[?25l");
	if (!s->drawn)
		return;
	if (s->above > 0)
		buf_fmt(out, "\033[%dA", s->above);
	buf_str(out, "\r\033[J");
	s->drawn = false;
	s->above = 0;
}

/* A terminal that went away is noticed by the next read of the keyboard. */
static void
flush(struct screen *s, struct buf *out)
{
	if (io_write_all(s->fd, out->data, out->len) != 0)
		event("terminal gone");
	buf_release(out);
}

void
screen_size(struct screen *s)
{
	struct winsize w;

	s->cols = 80;
	if (ioctl(s->fd, TIOCGWINSZ, &w) == 0 && w.ws_col >= 20)
		s->cols = w.ws_col;
}

void
screen_init(struct screen *s, int fd, bool alternate)
{
	struct buf out = BUF_INIT;

	*s = (struct screen){ .fd = fd };
	screen_size(s);
	if (alternate)
		buf_str(&out, "\033[?1049h\033[H\033[2J");
	flush(s, &out);
}

void
screen_banner(struct screen *s, const char *cwd)
{
	struct buf rows = BUF_INIT;

	buf_str(&rows, " ▐▛███▜▌   \033[1mClaude Code" RESET " v" FAKE_VERSION "\n");
	buf_str(&rows, "▝▜█████▛▘  Opus 4.8 (1M context) · API Usage Billing\n");
	buf_fmt(&rows, "  ▘▘ ▝▝    %s\n\n", cwd);
	screen_history(s, &rows);
	buf_release(&rows);
}

void
screen_history(struct screen *s, const struct buf *rows)
{
	struct buf out = BUF_INIT;

	erase(s, &out);
	put_rows(&out, rows, false);
	buf_str(&out, "\033[K\r\n");
	flush(s, &out);
}

static int
count_rows(const struct buf *rows)
{
	int n = 0;

	for (size_t i = 0; i < rows->len; i++)
		n += rows->data[i] == '\n';
	return n;
}

static void
queued_rows(struct buf *rows, const struct buf *queued, int cols)
{
	struct form f = { .first = "  " PROMPT " ", .rest = "    ", .on = GREY, .cols = cols - 6 };

	wrap(rows, queued->data, queued->len, &f);
}

#define DRAFT_ROWS 8

/* The input box: rule, draft, rule, footer. *caret gets the rows above the caret, *column its column. */
static void
box_rows(struct buf *rows, const struct screen *s, const struct live *l, int *caret, int *column)
{
	struct form f = { .first = PROMPT NBSP, .rest = "  ", .on = "", .cols = s->cols - 3 };
	struct buf draft = BUF_INIT;
	const char *text = l->draft->data, *p = text + l->draft->len, *last;

	/* a long draft shows its last rows */
	for (int n = 0; p > text && !(p[-1] == '\n' && ++n == DRAFT_ROWS); p--)
		;
	wrap(&draft, p, (size_t)(text + l->draft->len - p), &f);
	rule(rows, s->cols);
	*caret = count_rows(rows) + count_rows(&draft) - 1;
	buf_add(rows, draft.data, draft.len);
	for (last = draft.data + draft.len - 1; last > draft.data && last[-1] != '\n'; last--)
		;
	*column = (int)utf8_width(last, (size_t)(draft.data + draft.len - 1 - last) - strlen(RESET));
	buf_release(&draft);
	rule(rows, s->cols);
	if (l->skip_permissions)
		buf_fmt(rows,
		    "  \033[38;5;211m⏵⏵ bypass permissions on" GREY " (shift+tab to cycle)%s · ← for "
								    "agents" RESET "\n",
		    l->busy ? " · esc to interrupt" : "");
	else
		buf_fmt(rows, GREY "  %s · ← for agents" RESET "\n",
		    l->busy ? "esc to interrupt" : "? for shortcuts");
}

/* How often the mark stands in the list. */
static int
count_mark(const char *tasks, const char *mark)
{
	int n = 0;

	for (const char *p = tasks; (p = strstr(p, mark)) != NULL; p++)
		n++;
	return n;
}

static void
task_head(struct buf *out, const char *tasks)
{
	int done = count_mark(tasks, "✔"), doing = count_mark(tasks, "◼"), open = count_mark(tasks, "◻");

	buf_fmt(
	    out, "  %d tasks (%d done, %d in progress, %d open)\n", done + doing + open, done, doing, open);
}

/* While it works the list hangs below the spinner, like a result. */
static void
busy_tasks(struct buf *out, const char *tasks)
{
	for (const char *p = tasks; *p != '\0'; ) {
		size_t n = strcspn(p, "\n");

		buf_str(out, p == tasks ? "  ⎿ \xc2\xa0" : "     ");
		buf_add(out, p + 2, n - 2);
		buf_chr(out, '\n');
		p += n + (p[n] == '\n');
	}
}

void
screen_live(struct screen *s, const struct live *l)
{
	struct buf rows = BUF_INIT, out = BUF_INIT;
	int caret, column, below;

	if (l->partial->len > 0) {
		buf_add(&rows, l->partial->data, l->partial->len);
		buf_chr(&rows, '\n');
	}
	if (l->tasks->len > 0 && !l->busy) {
		task_head(&rows, l->tasks->data);
		buf_add(&rows, l->tasks->data, l->tasks->len);
		buf_chr(&rows, '\n');
	}
	if (l->busy && l->dialog->len == 0) {
		buf_str(&rows, "\033[38;5;174m✶ Ideating" DOTS " " GREY "(1s · ↓ 42 tokens)" RESET "\n");
		busy_tasks(&rows, l->tasks->data);
		buf_chr(&rows, '\n');
	}
	if (l->queued->len > 0)
		queued_rows(&rows, l->queued, s->cols);
	if (l->dialog->len > 0) {
		buf_add(&rows, l->dialog->data, l->dialog->len);
		caret = count_rows(&rows) - 1;
		column = 1;
	} else
		box_rows(&rows, s, l, &caret, &column);
	erase(s, &out);
	put_rows(&out, &rows, true);
	below = count_rows(&rows) - 1 - caret;
	if (below > 0)
		buf_fmt(&out, "\033[%dA", below);
	buf_fmt(&out, "\r\033[%dC", column);
	s->above = caret;
	s->drawn = true;
	flush(s, &out);
	buf_release(&rows);
}

void
screen_title(struct screen *s, const char *title)
{
	struct buf out = BUF_INIT;

	buf_fmt(&out, "\033]0;%s\007", title);
	flush(s, &out);
}

void
screen_leave(struct screen *s, bool alternate, const char *farewell)
{
	struct buf out = BUF_INIT;

	erase(s, &out);
	if (alternate)
		buf_str(&out, "\033[?1049l");
	if (farewell != NULL)
		buf_fmt(&out, "\r\nResume this session with:\r\nclaude --resume %s\r\n", farewell);
	buf_str(&out, "\033[?25h\033]0;\007");
	flush(s, &out);
}
