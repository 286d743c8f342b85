#include <stdlib.h>
#include <string.h>

#include "prompt/talk.h"
#include "prompt/fence.h"
#include "context/exchange.h"
#include "base/buf.h"
#include "base/utf8.h"

#define NOTE ((size_t)48)	/* bytes that a line about what was left out takes at most */
#define LINES_LEAST ((size_t)32)

/* What is left of tool inputs and results, level by level, before exchanges go. */
static const struct talk_room levels[] = {
	{ SIZE_MAX, SIZE_MAX }, { 32768, 600 }, { 8192, 150 }, { 2048, 40 },
};
#define LEVELS (sizeof levels / sizeof levels[0])

struct piece {
	char *text;		/* NULL: not kept */
	size_t len;
	size_t lines_cut;
};

struct talk {
	const struct conversation *c;
	const char *nonce;
	struct talk_room rest;		/* what is still free */
	struct talk_room tool;		/* the most of a tool's input or result */
	struct piece *v;		/* one an exchange */
	bool mixed;			/* more than one source */
};

size_t
talk_lines(const char *p, size_t n)
{
	size_t lines = 0;
	const char *end = p + n, *q;

	if (n == 0)
		return 0;
	while (p < end && (q = memchr(p, '\n', (size_t)(end - p))) != NULL) {
		lines++;
		p = q + 1;
	}
	return lines + (p < end);
}

static bool
inside_rune(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* How many bytes of the text's beginning are whole lines within the limits, or the limit itself when the first line is longer. */
static size_t
head(const char *p, size_t n, size_t max_bytes, size_t max_lines)
{
	size_t at = 0, len;
	const char *q;

	for (size_t i = 0; i < max_lines && at < n; i++) {
		q = memchr(p + at, '\n', n - at);
		len = q == NULL ? n - at : (size_t)(q - p) + 1 - at;
		if (len > max_bytes - at)
			break;
		at += len;
	}
	if (at > 0 || n == 0)
		return at;
	at = max_bytes < n ? max_bytes : n;
	while (at > 0 && at < n && inside_rune(p[at]))
		at--;
	return at;
}

size_t
talk_tail(const char *p, size_t n, struct talk_room room)
{
	size_t at = n, lines = 0;
	const char *q;

	while (at > 0 && lines < room.lines) {
		q = memrchr(p, '\n', at - 1);
		size_t from = q == NULL ? 0 : (size_t)(q - p) + 1;

		if (n - from + fence_at_count(p + from, at - from) > room.bytes)
			break;
		room.bytes -= fence_at_count(p + from, at - from);
		at = from;
		lines++;
	}
	if (at < n || n == 0)
		return at;
	/* the last line alone is too long; half of the room always suffices, since an escaped "@" is two bytes */
	at = n > room.bytes / 2 ? n - room.bytes / 2 : 0;
	while (at < n && inside_rune(p[at]))
		at++;
	return at;
}

size_t
talk_cut_middle(struct buf *out, const char *p, size_t n, size_t max_bytes, size_t max_lines)
{
	struct talk_room tail;
	size_t from, to, lines;

	if (max_bytes < 64)
		max_bytes = 64;
	if (n <= max_bytes && talk_lines(p, n) <= max_lines) {
		buf_add(out, p, n);
		return 0;
	}
	max_bytes -= NOTE;
	max_lines = max_lines > 3 ? max_lines - 1 : 2;
	from = head(p, n, max_bytes / 3, max_lines / 3 > 0 ? max_lines / 3 : 1);
	tail.bytes = max_bytes - from;
	tail.lines = max_lines - (max_lines / 3 > 0 ? max_lines / 3 : 1);
	to = from + talk_tail(p + from, n - from, tail);
	buf_add(out, p, from);
	if (from > 0 && p[from - 1] != '\n')
		buf_chr(out, '\n');
	lines = talk_lines(p + from, to - from);
	if (lines > 1)
		buf_fmt(out, "… %zu lines left out …\n", lines);
	else
		buf_fmt(out, "… %zu bytes left out …\n", to - from);
	buf_add(out, p + to, n - to);
	return lines;
}

/* Cleaning makes lines of carriage returns: that must come before lines are counted. Valid as long as text and tmp. */
static const char *
with_newlines(struct buf *tmp, const char *text)
{
	if (strchr(text, '\r') == NULL)
		return text;
	utf8_clean(tmp, text, strlen(text));
	return tmp->data;
}

/* Cuts, cleans, and puts every line at column `indent`, with a newline behind the last. Returns lines left out. */
static size_t
block(struct buf *out, const struct talk *t, const char *text, struct talk_room most, size_t indent)
{
	struct buf tmp = BUF_INIT, cut = BUF_INIT, clean = BUF_INIT;
	size_t n, left, from = 0;

	text = with_newlines(&tmp, text);
	n = strlen(text);
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	left = talk_cut_middle(&cut, text, n, most.bytes, most.lines);
	fence_data(&clean, cut.data, cut.len, t->nonce);
	while (from < clean.len) {
		const char *q = memchr(clean.data + from, '\n', clean.len - from);
		size_t to = q == NULL ? clean.len : (size_t)(q - clean.data);

		for (size_t i = 0; i < indent && to > from; i++)
			buf_chr(out, ' ');
		buf_add(out, clean.data + from, to - from);
		buf_chr(out, '\n');
		from = to + 1;
	}
	buf_release(&tmp);
	buf_release(&cut);
	buf_release(&clean);
	return left;
}

static const char *
role_word(enum role r)
{
	switch (r) {
	case ROLE_USER:
		return "User";
	case ROLE_ASSISTANT:
		return "Assistant";
	default:
		return "System";
	}
}

/* What a status means to the agent that comes after; NULL for a thing that came to its end. */
static const char *
status_words(const struct exchange *x)
{
	switch (x->status) {
	case STATUS_RUNNING:
		return x->tool != NULL ? "still running when the session died" : "cut off when the session died";
	case STATUS_WAITING:
		return "waiting for an answer when the session died";
	case STATUS_INTERRUPTED:
		return "interrupted";
	case STATUS_FAILED:
		return "failed";
	default:
		return NULL;
	}
}

static const char *
source_words(enum source s)
{
	switch (s) {
	case SOURCE_SCREEN:
		return "screen";
	case SOURCE_TRANSCRIPT:
		return "transcript";
	case SOURCE_SNAPSHOT:
		return "snapshot";
	default:
		return "earlier recovery";
	}
}

static void
one_line(struct buf *out, const struct talk *t, const char *text)
{
	struct buf line = BUF_INIT;

	utf8_escape(&line, text, strlen(text), 100);
	fence_data(out, line.data, line.len, t->nonce);
	buf_release(&line);
}

static void
heading(struct buf *out, const struct talk *t, const struct exchange *x)
{
	const char *status = status_words(x);

	if (x->tool != NULL) {
		buf_str(out, "Tool ");
		one_line(out, t, x->tool);
	} else {
		buf_str(out, role_word(x->role));
	}
	if (t->mixed)
		buf_fmt(out, " [%s]", source_words(x->source));
	if (status != NULL)
		buf_fmt(out, " (%s)", status);
	buf_chr(out, ':');
}

static size_t
tool_text(struct buf *out, const struct talk *t, const struct exchange *x, struct talk_room most)
{
	size_t left = 0;

	heading(out, t, x);
	if (x->input != NULL && strpbrk(x->input, "\r\n") == NULL && strlen(x->input) <= 400 && most.bytes >= 400) {
		buf_chr(out, ' ');
		fence_data(out, x->input, strlen(x->input), t->nonce);
		buf_chr(out, '\n');
	} else {
		buf_chr(out, '\n');
		if (x->input != NULL)
			left += block(out, t, x->input, most, 2);
	}
	if (x->content != NULL && x->content[0] != '\0') {
		buf_str(out, "Result:\n");
		left += block(out, t, x->content, most, 2);
	}
	return left;
}

/* Text that nobody could take apart: its newest rows, as they are. */
static size_t
raw_text(struct buf *out, const struct talk *t, const char *text, struct talk_room most)
{
	struct buf tmp = BUF_INIT;
	size_t from, left;

	text = with_newlines(&tmp, text);
	from = talk_tail(text, strlen(text), most);
	left = talk_lines(text, from);
	buf_str(out, "Raw text of the terminal (it could not be read as a conversation):\n");
	if (from > 0)
		buf_fmt(out, "… %zu older lines left out …\n", left);
	block(out, t, text + from, (struct talk_room){ SIZE_MAX, SIZE_MAX }, 0);
	buf_release(&tmp);
	return left;
}

/* A whole exchange, ended by an empty line. `most` limits a text of it. */
static size_t
exchange_text(struct buf *out, const struct talk *t, const struct exchange *x, struct talk_room most)
{
	size_t left;

	if (x->tool != NULL) {
		left = tool_text(out, t, x, most);
	} else if (x->role == ROLE_SYSTEM && t->c->n == 1) {
		left = raw_text(out, t, x->content, most);
	} else {
		heading(out, t, x);
		buf_chr(out, '\n');
		left = block(out, t, x->content, most, 2);
	}
	buf_chr(out, '\n');
	return left;
}

static struct talk_room
smaller(struct talk_room a, struct talk_room b)
{
	if (b.bytes < a.bytes)
		a.bytes = b.bytes;
	if (b.lines < a.lines)
		a.lines = b.lines;
	return a;
}

/* Keeps exchange i if it fits into what is free, with its texts limited. `note` bytes and a line for a gap before it are paid, too. */
static bool
keep(struct talk *t, size_t i, struct talk_room most, size_t note)
{
	struct buf text = BUF_INIT;
	size_t left, bytes, lines;

	if (t->v[i].text != NULL)
		return true;
	if (t->c->v[i].tool != NULL)
		most = smaller(most, t->tool);
	left = exchange_text(&text, t, &t->c->v[i], most);
	bytes = text.len + fence_at_count(text.data, text.len) + note;
	lines = talk_lines(text.data, text.len) + (note > 0 ? 2 : 0);
	if (bytes > t->rest.bytes || lines > t->rest.lines) {
		buf_release(&text);
		return false;
	}
	t->rest.bytes -= bytes;
	t->rest.lines -= lines;
	t->v[i].len = text.len;
	t->v[i].text = buf_detach(&text);
	t->v[i].lines_cut = left;
	return true;
}

/* Keeps exchange i whatever it costs in content: its texts shrink until it fits. */
static void
keep_cut(struct talk *t, size_t i, struct talk_room most)
{
	most = smaller(most, t->rest);
	while (!keep(t, i, most, NOTE) && most.bytes > 64) {
		most.bytes -= most.bytes / 8;
		most.lines -= (most.lines + 7) / 8;
	}
}

static void
drop_all(struct talk *t)
{
	for (size_t i = 0; i < t->c->n; i++) {
		free(t->v[i].text);
		t->v[i] = (struct piece){ .text = NULL };
	}
}

static bool
users(const struct talk *t, size_t i)
{
	return t->c->v[i].role == ROLE_USER && t->c->v[i].tool == NULL;
}

static bool
longer(const char *text, struct talk_room most)
{
	size_t n = text == NULL ? 0 : strlen(text);

	return n > most.bytes || talk_lines(text, n) > most.lines;
}

/* True when the level would shorten anything. */
static bool
cuts(const struct talk *t, struct talk_room level)
{
	for (size_t i = t->c->n; i > 0; i--) {
		const struct exchange *x = &t->c->v[i - 1];

		if (x->tool != NULL && (longer(x->input, level) || longer(x->content, level)))
			return true;
	}
	return false;
}

/* Everything, with tools cut to one of the levels. */
static bool
keep_all(struct talk *t)
{
	struct talk_room free_before = t->rest;

	for (size_t l = 0; l < LEVELS; l++) {
		size_t i = t->c->n;

		t->tool = levels[l];
		if (l > 0 && !cuts(t, levels[l]))
			continue;
		while (i > 0 && keep(t, i - 1, free_before, 0))
			i--;
		if (i == 0)
			return true;
		drop_all(t);
		t->rest = free_before;
	}
	return false;
}

/* The newest within the room; the user's words have a right to half of it. */
static void
keep_newest(struct talk *t)
{
	struct talk_room all = t->rest, words = { all.bytes / 4, all.lines / 4 };
	size_t n = t->c->n, i;

	for (i = n; i > 0 && !users(t, i - 1); i--)
		;
	if (i > 0)
		keep_cut(t, i - 1, words);
	keep_cut(t, n - 1, t->rest);
	words = (struct talk_room){ all.bytes / 8, all.lines / 8 };
	for (i = n; i > 0 && t->rest.bytes > all.bytes / 2 && t->rest.lines > all.lines / 2; i--)
		if (users(t, i - 1))
			keep(t, i - 1, words, NOTE);
	words = (struct talk_room){ all.bytes / 4, all.lines / 4 };
	for (i = n; i > 0; i--)
		if (!users(t, i - 1) && !keep(t, i - 1, words, NOTE))
			break;
	for (i = n; i > 0; i--)
		if (users(t, i - 1) && !keep(t, i - 1, (struct talk_room){ all.bytes / 8, all.lines / 8 }, NOTE))
			break;
}

static void
print(struct buf *out, const struct talk *t, struct talk_stats *stats)
{
	size_t gap = 0;

	for (size_t i = 0; i < t->c->n; i++) {
		const struct piece *p = &t->v[i];
		const struct exchange *x = &t->c->v[i];

		if (p->text == NULL) {
			gap++;
			stats->cut++;
			stats->lines_cut += talk_lines(x->content, strlen(x->content)) +
			    (x->input == NULL ? 0 : talk_lines(x->input, strlen(x->input)));
			continue;
		}
		if (gap > 0)
			buf_fmt(out, "(%zu older exchange%s left out here)\n\n", gap, gap == 1 ? "" : "s");
		gap = 0;
		buf_add(out, p->text, p->len);
		stats->kept++;
		stats->lines_cut += p->lines_cut;
	}
}

static size_t
section(struct buf *out, const struct talk *t, const char *title, const char *text)
{
	size_t left;

	if (text == NULL || text[0] == '\0')
		return 0;
	buf_fmt(out, "%s:\n", title);
	left = block(out, t, text, (struct talk_room){ t->rest.bytes / 16, t->rest.lines / 16 }, 2);
	buf_chr(out, '\n');
	return left;
}

void
talk_text(struct buf *out, const struct conversation *c, const char *nonce, struct talk_room room, struct talk_stats *stats)
{
	struct talk t = { .c = c, .nonce = nonce, .rest = room };
	struct buf more = BUF_INIT;
	size_t cost;

	*stats = (struct talk_stats){ .kept = 0 };
	if (t.rest.lines < LINES_LEAST)
		t.rest.lines = LINES_LEAST;
	stats->lines_cut += section(&more, &t, "Open question, not answered when the session died", c->question);
	stats->lines_cut += section(&more, &t, "Typed by the user but never sent", c->draft);
	stats->lines_cut += section(&more, &t, "Task list as last shown", c->tasks);
	cost = more.len + fence_at_count(more.data, more.len);
	t.rest.bytes -= cost < t.rest.bytes ? cost : t.rest.bytes;
	cost = talk_lines(more.data, more.len);
	t.rest.lines -= cost < t.rest.lines ? cost : t.rest.lines;
	for (size_t i = 1; i < c->n; i++)
		t.mixed |= c->v[i].source != c->v[0].source;
	t.v = xcalloc(c->n + 1, sizeof *t.v);
	if (c->n > 0 && !keep_all(&t))
		keep_newest(&t);
	print(out, &t, stats);
	buf_add(out, more.data, more.len);
	drop_all(&t);
	free(t.v);
	buf_release(&more);
}
