#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "prompt/prompt.h"
#include "prompt/fence.h"
#include "prompt/talk.h"
#include "prompt/template.h"
#include "context/exchange.h"
#include "scrub/scrub.h"
#include "work/bead.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"

#define TOKEN_BYTES 4
#define ROOM_LEAST (TALK_LEAST + FENCE_MOST)

#define LEAD "This message restores the context of a session that crashed.\n\n"
#define GO_ON "Continue working now; do not stop to acknowledge this message.\n"
#define CLOSING ((size_t)256)	/* bytes that LEAD and the closing lines take at most */

/* One prompt in the making. */
struct making {
	const struct prompt_in *in;
	const struct template *t;
	struct buf value[FIELDS];
	const char *values[FIELDS];	/* value[i].data */
	size_t limit;			/* bytes of the whole prompt */
	struct prompt_stats stats;
};

size_t
prompt_tokens(const char *p, size_t n)
{
	(void)p;
	return (n + TOKEN_BYTES - 1) / TOKEN_BYTES;
}

static size_t
cost(const struct buf *b)
{
	return b->len + fence_at_count(b->data, b->len);
}

/* How often the field stands in the prompt, as far as the values are known by now. */
static size_t
prints(const struct making *m, enum field f)
{
	return template_prints(m->t, m->values, f);
}

/* A value of one line from a short text, like a name. */
static void
put_line(struct making *m, enum field f, const char *text, size_t width)
{
	struct buf line = BUF_INIT;

	if (text == NULL)
		return;
	utf8_escape(&line, text, strlen(text), width);
	fence_data(&m->value[f], line.data, line.len, m->in->nonce);
	buf_release(&line);
}

/* A fenced value, cut in its middle to max bytes (as they are counted with their escapes). */
static void
put_record(struct making *m, enum field f, const char *what, const char *p, size_t n, size_t max)
{
	struct buf cut = BUF_INIT, data = BUF_INIT;
	size_t most = max;

	while (n > 0 && isspace((unsigned char)p[n - 1]))
		n--;
	if (n == 0)
		return;
	for (;;) {
		buf_reset(&cut);
		buf_reset(&data);
		talk_cut_middle(&cut, p, n, most, SIZE_MAX);
		fence_data(&data, cut.data, cut.len, m->in->nonce);
		if (cost(&data) <= max || most <= 64)
			break;
		most -= most / 4;
	}
	fence_wrap(&m->value[f], what, data.data, data.len, m->in->nonce);
	buf_release(&cut);
	buf_release(&data);
}

static void
put_clean(struct making *m, enum field f, const char *what, const struct clean_text *text, size_t max)
{
	if (text != NULL)
		put_record(m, f, what, clean_bytes(text), clean_len(text), max);
}

static void
bead_line(struct buf *out, const char *name, const char *text)
{
	if (text == NULL || text[0] == '\0')
		return;
	buf_fmt(out, "%s: ", name);
	utf8_escape(out, text, strlen(text), 600);
	buf_chr(out, '\n');
}

static void
bead_block(struct buf *out, const char *name, const struct clean_text *text, size_t max)
{
	struct buf clean = BUF_INIT, cut = BUF_INIT;
	size_t from = 0;

	if (text == NULL || clean_len(text) == 0)
		return;
	buf_fmt(out, "%s:\n", name);
	utf8_clean(&clean, clean_bytes(text), clean_len(text));
	talk_cut_middle(&cut, clean.data, clean.len, max, SIZE_MAX);
	while (from < cut.len) {
		const char *q = memchr(cut.data + from, '\n', cut.len - from);
		size_t to = q == NULL ? cut.len : (size_t)(q - cut.data);

		buf_str(out, to > from ? "  " : "");
		buf_add(out, cut.data + from, to - from);
		buf_chr(out, '\n');
		from = to + 1;
	}
	buf_release(&clean);
	buf_release(&cut);
}

static void
put_bead(struct making *m, size_t max)
{
	const struct bead *b = m->in->bead;
	struct buf text = BUF_INIT;

	if (b == NULL)
		return;
	bead_line(&text, "id", b->id);
	bead_line(&text, "status", b->status);
	bead_line(&text, "type", b->type);
	bead_line(&text, "title", clean_bytes(b->title));
	bead_block(&text, "description", b->description, max / 3);
	bead_block(&text, "notes", b->notes, max / 3);
	bead_line(&text, "handoff id", b->handoff_id);
	bead_block(&text, "handoff", b->handoff, max / 3);
	if (b->id == NULL)
		bead_line(&text, "no open work; last closed", b->last_closed);
	put_record(m, FIELD_BEAD, "handoff bead", text.data, text.len, max);
	buf_release(&text);
}

static void
put_warnings(struct making *m, size_t max)
{
	struct buf *out = &m->value[FIELD_WARNINGS];
	struct buf line = BUF_INIT;

	for (size_t i = 0; i < m->in->n_warnings; i++) {
		buf_reset(&line);
		buf_str(&line, i > 0 ? "\n- " : "- ");
		utf8_escape(&line, m->in->warnings[i], strlen(m->in->warnings[i]), 400);
		if (cost(out) + cost(&line) > max)
			break;
		fence_data(out, line.data, line.len, m->in->nonce);
	}
	buf_release(&line);
}

/* Everything but the conversation and the scrollback. Their sum, printed once each, stays below half of the limit. */
static void
put_small(struct making *m)
{
	const struct conversation *c = m->in->talk;
	size_t part = m->limit / 20;
	const char *words;
	char *action;

	put_line(m, FIELD_SESSION, m->in->session, 120);
	put_line(m, FIELD_CRASH_REASON, m->in->crash_reason, 200);
	buf_str(&m->value[FIELD_RECOVERY_ID], m->in->recovery_id);
	put_bead(m, m->limit / 5);
	put_clean(m, FIELD_CHECKPOINT, "checkpoint", m->in->checkpoint, part);
	put_clean(m, FIELD_GIT, "state of the working tree", m->in->git, part);
	put_warnings(m, part);
	if (c == NULL)
		return;
	words = conversation_last_user(c);
	if (words != NULL)
		put_record(m, FIELD_LAST_USER_MESSAGE, "last words of the user", words, strlen(words), part);
	action = conversation_last_action(c);
	if (action != NULL)
		put_record(m, FIELD_LAST_AGENT_ACTION, "last action of the agent", action, strlen(action), part);
	free(action);
}

static bool
has_talk(const struct conversation *c)
{
	return c != NULL && (c->n > 0 || c->draft != NULL || c->tasks != NULL || c->question != NULL);
}

/* The text without the empty rows at its end. */
static size_t
used(const struct clean_text *text)
{
	const char *p = clean_bytes(text);
	size_t n = clean_len(text);

	while (n > 0 && isspace((unsigned char)p[n - 1]))
		n--;
	return n;
}

static void
put_talk(struct making *m, struct talk_room room)
{
	struct talk_stats s;
	struct buf text = BUF_INIT;

	talk_text(&text, m->in->talk, m->in->nonce, room, &s);
	while (text.len > 0 && text.data[text.len - 1] == '\n')
		buf_cut(&text, text.len - 1);
	fence_wrap(&m->value[FIELD_EXCHANGES], "conversation", text.data, text.len, m->in->nonce);
	m->stats.exchanges_kept = s.kept;
	m->stats.exchanges_cut = s.cut;
	m->stats.lines_cut += s.lines_cut;
	buf_release(&text);
}

static void
put_scrollback(struct making *m, struct talk_room room)
{
	struct buf data = BUF_INIT, note = BUF_INIT;
	const char *p = clean_bytes(m->in->scrollback);
	size_t n = used(m->in->scrollback), from, left;

	/* cleaned are only the lines that can be kept */
	from = talk_tail(p, n, (struct talk_room){ SIZE_MAX / 4, room.lines });
	left = talk_lines(p, from);
	fence_data(&data, p + from, n - from, m->in->nonce);
	from = talk_tail(data.data, data.len, (struct talk_room){ room.bytes - 64, room.lines });
	left += talk_lines(data.data, from);
	if (left > 0)
		buf_fmt(&note, "(%zu older line%s left out)\n", left, left == 1 ? "" : "s");
	buf_add(&note, data.data + from, data.len - from);
	fence_wrap(&m->value[FIELD_SCROLLBACK], "text of the terminal", note.data, note.len, m->in->nonce);
	m->stats.lines_cut += left;
	buf_release(&data);
	buf_release(&note);
}

/* What the prompt costs without conversation and scrollback. */
static size_t
fixed_cost(const struct making *m)
{
	struct buf words = BUF_INIT, clean = BUF_INIT;
	size_t sum;

	template_words(m->t, m->values, &words);
	utf8_clean(&clean, words.data, words.len);
	sum = cost(&clean) + CLOSING;
	for (int f = 0; f < FIELDS; f++)
		if (f != FIELD_EXCHANGES && f != FIELD_SCROLLBACK)
			sum += cost(&m->value[f]) * prints(m, (enum field)f);
	buf_release(&words);
	buf_release(&clean);
	return sum;
}

static void
refresh(struct making *m)
{
	for (int f = 0; f < FIELDS; f++)
		m->values[f] = m->value[f].data;
}

/* Shares what the budget leaves between the conversation and the scrollback, whichever the template prints. */
static int
put_context(struct making *m, struct err *e)
{
	bool talk = has_talk(m->in->talk), scroll = m->in->scrollback != NULL && used(m->in->scrollback) > 0;
	size_t fixed, times[2], room;
	struct talk_room part = { .lines = m->in->max_lines };

	refresh(m);
	m->values[FIELD_EXCHANGES] = talk ? "x" : "";
	m->values[FIELD_SCROLLBACK] = scroll ? "x" : "";
	times[0] = talk ? prints(m, FIELD_EXCHANGES) : 0;
	times[1] = scroll ? prints(m, FIELD_SCROLLBACK) : 0;
	fixed = fixed_cost(m);
	if (fixed + ROOM_LEAST * (times[0] + times[1]) > m->limit) {
		err_set(e, GT_USAGE, "budget", "the prompt takes %zu bytes before any conversation, and max_context_tokens allows %zu",
		    fixed, m->limit);
		return err_hint(e, "raise max_context_tokens in gt.toml or shorten the template");
	}
	room = m->limit - fixed;
	if (times[0] > 0) {
		part.bytes = room / (times[0] + times[1]) - FENCE_MOST;
		put_talk(m, part);
		room -= cost(&m->value[FIELD_EXCHANGES]) * times[0];
	} else if (talk) {
		buf_str(&m->value[FIELD_EXCHANGES], "x");	/* asked for in an {{if}} only */
	}
	if (times[1] > 0) {
		part.bytes = room / times[1] - FENCE_MOST;
		put_scrollback(m, part);
	} else if (scroll) {
		buf_str(&m->value[FIELD_SCROLLBACK], "x");
	}
	refresh(m);
	return 0;
}

/* In the template's own words: what the record says does not count. */
static bool
says_go_on(const struct making *m)
{
	struct buf words = BUF_INIT;
	bool found;

	template_words(m->t, m->values, &words);
	found = strcasestr(words.data, "continue working now") != NULL;
	buf_release(&words);
	return found;
}

/* The template's text, made to keep what the header promises. */
static void
finish(const struct making *m, struct buf *out)
{
	struct buf raw = BUF_INIT, clean = BUF_INIT, text = BUF_INIT;
	const char *id;
	size_t from = 0;

	template_run(m->t, m->values, &raw);
	utf8_clean(&clean, raw.data, raw.len);
	while (clean.len > 0 && isspace((unsigned char)clean.data[clean.len - 1]))
		buf_cut(&clean, clean.len - 1);
	while (from < clean.len && isspace((unsigned char)clean.data[from]))
		from++;
	if (from == clean.len || !isalnum((unsigned char)clean.data[from]))
		buf_str(&text, LEAD);
	buf_add(&text, clean.data + from, clean.len - from);
	if (text.data[text.len - 1] != '\n')
		buf_chr(&text, '\n');
	id = prompt_find_id(text.data, text.len);
	if (id == NULL || memcmp(id, m->in->recovery_id, PROMPT_ID) != 0)
		buf_fmt(&text, "\nRecovery id: %s\n", m->in->recovery_id);
	if (!says_go_on(m))
		buf_str(&text, "\n" GO_ON);
	fence_at(out, text.data, text.len);
	buf_release(&raw);
	buf_release(&clean);
	buf_release(&text);
}

int
prompt_build(const struct template *t, const struct prompt_in *in, struct buf *out, struct prompt_stats *stats, struct err *e)
{
	struct making m = { .in = in, .t = t };
	size_t before = out->len;
	int ret = -1;

	for (int f = 0; f < FIELDS; f++)
		buf_init(&m.value[f]);
	if (strlen(in->nonce) != FENCE_NONCE || prompt_find_id(in->recovery_id, strlen(in->recovery_id)) != in->recovery_id)
		die("a prompt needs a nonce of 16 digits and a recovery id");
	if (__builtin_mul_overflow(in->max_tokens, (size_t)TOKEN_BYTES, &m.limit))
		m.limit = SIZE_MAX;
	put_small(&m);
	if (put_context(&m, e) == -1)
		goto out;
	finish(&m, out);
	if (out->len - before > m.limit)
		die("a prompt of %zu bytes came out of a budget of %zu", out->len - before, m.limit);
	m.stats.tokens = prompt_tokens(out->data + before, out->len - before);
	if (stats != NULL)
		*stats = m.stats;
	ret = 0;
out:
	for (int f = 0; f < FIELDS; f++)
		buf_release(&m.value[f]);
	return ret;
}
