#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "prompt/prompt.h"
#include "prompt/prompt_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "beads/beads.h"
#include "conversation/conversation.h"
#include "scrub/scrub.h"

static bool
is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

const char *
prompt_find_id(const char *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const char *end = p + n, *at = p;

	while (at < end && (at = memmem(at, (size_t)(end - at), "gtr-", 4)) != NULL) {
		size_t i = 4;

		while (i < PROMPT_ID && at + i < end && at[i] != '\0' && strchr(digits, at[i]) != NULL)
			i++;
		if (i == PROMPT_ID && (at == p || !is_word_char(at[-1])) &&
		    (at + i == end || !is_word_char(at[i])))
			return at;
		at += 4;
	}
	return NULL;
}

#define SCROLL_LEAST ((size_t)12000)	/* cost of the smallest room for scrollback */
#define SCROLL_NOTE ((struct budget){ 2500, 1 })

#define LEAD "This message restores the context of a session that crashed.\n\n"
#define CONTINUE "continue working now"
#define CONTINUE_LINE "Continue working now; do not stop to acknowledge this message.\n"
#define WAIT "wait for your user"
#define WAIT_LINE "You had nothing to do when the session crashed: start nothing, wait for your user.\n"

/* One prompt in the making. */
struct prompt_state {
	const struct prompt_in *in;
	const struct template *t;
	struct buf value[TEMPLATE_FIELDS];
	const char *values[TEMPLATE_FIELDS];	/* value[i].data */
	size_t limit;			/* cost of the whole prompt */
	struct prompt_stats stats;
};

/* Bytes of the text without the white space at its end. */
static size_t
used_len(const char *p, size_t n)
{
	while (n > 0 && isspace((unsigned char)p[n - 1]))
		n--;
	return n;
}

/* A value of one line from a short text, like a name. */
static void
put_line(struct prompt_state *m, enum template_field f, const char *text, size_t width)
{
	struct buf line = BUF_INIT;

	if (text == NULL)
		return;
	utf8_escape(&line, text, strlen(text), width);
	fence_data(&m->value[f], line.data, line.len, m->in->nonce);
	buf_release(&line);
}

/* A fenced value, cut in its middle to a cost. */
static void
put_cut(struct prompt_state *m, enum template_field f, const char *what, const struct elided_text *cut,
    size_t max)
{
	struct buf data = BUF_INIT;

	if (cut->text.len == 0)
		return;
	prompt_elide_put(&data, cut, (struct budget){ max, BUDGET_ALL.lines });
	fence_wrap(&m->value[f], what, data.data, data.len, m->in->nonce);
	buf_release(&data);
}

static void
put_record(
    struct prompt_state *m, enum template_field f, const char *what, const char *p, size_t n, size_t max)
{
	struct elided_text cut;

	prompt_elide_layout(
	    &cut, p, used_len(p, n), m->in->nonce, 0, (struct budget){ max, BUDGET_ALL.lines });
	put_cut(m, f, what, &cut, max);
	prompt_elide_release(&cut);
}

static void
put_clean(struct prompt_state *m, enum template_field f, const char *what, const struct clean_text *text,
    size_t max)
{
	if (text != NULL)
		put_record(m, f, what, clean_bytes(text), clean_len(text), max);
}

static void
bead_line(const struct prompt_state *m, struct buf *out, const char *name, const char *text)
{
	struct buf line = BUF_INIT;

	if (text == NULL || text[0] == '\0')
		return;
	utf8_escape(&line, text, strlen(text), 600);
	buf_fmt(out, "%s: ", name);
	fence_data(out, line.data, line.len, m->in->nonce);
	buf_chr(out, '\n');
	buf_release(&line);
}

static void
bead_block(const struct prompt_state *m, struct buf *out, const char *name, const struct clean_text *text,
    size_t max)
{
	const struct budget room = { max, BUDGET_ALL.lines };
	struct elided_text cut;

	if (text == NULL || clean_len(text) == 0)
		return;
	buf_fmt(out, "%s:\n", name);
	prompt_elide_layout(&cut, clean_bytes(text), clean_len(text), m->in->nonce, 2, room);
	prompt_elide_put(out, &cut, room);
	prompt_elide_release(&cut);
}

static void
put_bead(struct prompt_state *m, size_t max)
{
	const struct bead *b = m->in->bead;
	struct elided_text cut = ELIDED_INIT;
	struct buf *text = &cut.text;

	if (b == NULL)
		return;
	bead_line(m, text, "id", b->id);
	bead_line(m, text, "status", b->status);
	bead_line(m, text, "type", b->type);
	bead_line(m, text, "title", clean_bytes(b->title));
	bead_block(m, text, "description", b->description, max / 3);
	bead_block(m, text, "notes", b->notes, max / 3);
	bead_line(m, text, "handoff id", b->handoff_id);
	bead_block(m, text, "handoff", b->handoff, max / 3);
	if (b->id == NULL)
		bead_line(m, text, "no open work; last closed", b->last_closed);
	cut.full = budget_of(text->data, text->len);
	put_cut(m, TEMPLATE_BEAD, "handoff bead", &cut, max);
	prompt_elide_release(&cut);
}

static void
put_warnings(struct prompt_state *m, size_t max)
{
	struct buf *out = &m->value[TEMPLATE_WARNINGS];
	struct buf line = BUF_INIT;
	size_t used = 0;

	for (size_t i = 0; i < m->in->n_warnings; i++) {
		buf_reset(&line);
		buf_str(&line, i > 0 ? "\n- " : "- ");
		utf8_escape(&line, m->in->warnings[i], strlen(m->in->warnings[i]), 900);
		max -= used;
		used = fence_cost(line.data, line.len);
		if (used > max)
			break;
		fence_data(out, line.data, line.len, m->in->nonce);
	}
	buf_release(&line);
}

/*
 * Everything but the conversation and the scrollback. Their sum, printed once each, stays below
 * half of the limit.
 */
static void
put_small(struct prompt_state *m)
{
	const struct conversation *c = m->in->conversation;
	size_t part = m->limit / 20;
	const char *words;
	char *action;

	put_line(m, TEMPLATE_SESSION, m->in->session, 120);
	put_line(m, TEMPLATE_CRASH_REASON, m->in->crash_reason, 200);
	buf_str(&m->value[TEMPLATE_RECOVERY_ID], m->in->recovery_id);
	buf_str(&m->value[TEMPLATE_IDLE], m->in->idle ? "yes" : "");
	put_bead(m, m->limit / 5);
	put_clean(m, TEMPLATE_CHECKPOINT, "checkpoint", m->in->checkpoint, part);
	put_clean(m, TEMPLATE_GIT, "state of the working tree", m->in->git, part);
	put_warnings(m, part);
	if (c == NULL)
		return;
	words = conversation_last_user(c);
	if (words != NULL)
		put_record(
		    m, TEMPLATE_LAST_USER_MESSAGE, "last words of the user", words, strlen(words), part);
	action = conversation_last_action(c);
	if (action != NULL)
		put_record(
		    m, TEMPLATE_LAST_AGENT_ACTION, "last action of the agent", action, strlen(action), part);
	free(action);
}

static bool
has_talk(const struct conversation *c)
{
	if (c == NULL)
		return false;
	for (size_t i = 0; i < c->n; i++)
		if (!exchange_is_banner(&c->v[i]))
			return true;
	return c->draft != NULL || c->tasks != NULL || c->question != NULL;
}

/* Returns the cost of its lines. */
static size_t
put_talk(struct prompt_state *m, struct budget room)
{
	struct buf text = BUF_INIT;
	size_t cost;

	prompt_render(&text, m->in->conversation, m->in->nonce, room, &m->stats.render);
	while (text.len > 0 && text.data[text.len - 1] == '\n')
		buf_cut(&text, text.len - 1);
	fence_wrap(&m->value[TEMPLATE_EXCHANGES], "conversation", text.data, text.len, m->in->nonce);
	cost = fence_cost(text.data, text.len);
	buf_release(&text);
	return cost;
}

static void
put_scrollback(struct prompt_state *m, struct budget room)
{
	struct buf data = BUF_INIT, text = BUF_INIT;
	const char *p = clean_bytes(m->in->scrollback);
	size_t n = used_len(p, clean_len(m->in->scrollback)), from = 0, left;

	/* what cannot fit anyway is not cleaned */
	if (n / TOKEN_BYTES_MOST > room.cost / TOKEN_COST)
		from = n - room.cost / TOKEN_COST * TOKEN_BYTES_MOST;
	while (from > 0 && p[from - 1] != '\n')
		from--;
	left = prompt_count_lines(p, from);
	fence_data(&data, p + from, n - from, m->in->nonce);
	buf_chr(&data, '\n');
	from = prompt_elide_to_tail(
	    data.data, data.len, (struct budget){ budget_less(room, SCROLL_NOTE).cost, room.lines });
	left += prompt_count_lines(data.data, from);
	if (left > 0)
		buf_fmt(&text, "(%zu older line%s left out)\n", left, left == 1 ? "" : "s");
	buf_add(&text, data.data + from, data.len - from);
	fence_wrap(&m->value[TEMPLATE_SCROLLBACK], "text of the terminal", text.data, text.len, m->in->nonce);
	m->stats.scrollback_cut = left;
	buf_release(&data);
	buf_release(&text);
}

/* What is put into the values moves them. */
static void
take_values(struct prompt_state *m)
{
	for (int f = 0; f < TEMPLATE_FIELDS; f++)
		m->values[f] = m->value[f].data;
}

/* In the template's own words: what the record says does not count. */
static bool
says(const struct prompt_state *m, const char *what)
{
	struct buf words = BUF_INIT;
	bool found;

	template_words(m->t, m->values, &words);
	found = strcasestr(words.data, what) != NULL;
	buf_release(&words);
	return found;
}

/* The template's text, made to keep what the header promises, but for fence_at. */
static void
compose_text(const struct prompt_state *m, struct buf *text)
{
	struct buf raw = BUF_INIT, clean = BUF_INIT;
	const char *id;
	size_t from = 0;

	template_run(m->t, m->values, &raw);
	utf8_clean(&clean, raw.data, raw.len);
	buf_cut(&clean, used_len(clean.data, clean.len));
	while (from < clean.len && isspace((unsigned char)clean.data[from]))
		from++;
	if (from == clean.len || !isalnum((unsigned char)clean.data[from]))
		buf_str(text, LEAD);
	buf_add(text, clean.data + from, clean.len - from);
	if (text->data[text->len - 1] != '\n')
		buf_chr(text, '\n');
	id = prompt_find_id(text->data, text->len);
	if (id == NULL || memcmp(id, m->in->recovery_id, PROMPT_ID) != 0)
		buf_fmt(text, "\nRecovery id: %s\n", m->in->recovery_id);
	if (!says(m, m->in->idle ? WAIT : CONTINUE))
		buf_fmt(text, "\n%s", m->in->idle ? WAIT_LINE : CONTINUE_LINE);
	buf_release(&raw);
	buf_release(&clean);
}

/* Stands for a record that is not made yet: what it costs is what any record costs beside its lines. */
static void
put_place(struct prompt_state *m, enum template_field f, const char *what)
{
	static const char line[] = " @a\n";	/* for the sentence about "\@" */

	buf_reset(&m->value[f]);
	fence_wrap(&m->value[f], what, line, strlen(line), m->in->nonce);
}

/* What the prompt costs without the lines of conversation and scrollback. */
static size_t
fixed_cost(struct prompt_state *m, bool talk, bool scroll)
{
	struct buf text = BUF_INIT;
	size_t sum;

	if (talk)
		put_place(m, TEMPLATE_EXCHANGES, "conversation");
	if (scroll)
		put_place(m, TEMPLATE_SCROLLBACK, "text of the terminal");
	take_values(m);
	compose_text(m, &text);
	sum = fence_cost(text.data, text.len);
	buf_release(&text);
	return sum;
}

/*
 * Shares what the budget leaves between the conversation and the scrollback, whichever the
 * template prints.
 */
static int
put_context(struct prompt_state *m, struct err *e)
{
	bool talk = has_talk(m->in->conversation),
	     scroll = m->in->scrollback != NULL &&
	    used_len(clean_bytes(m->in->scrollback), clean_len(m->in->scrollback)) > 0;
	size_t fixed = fixed_cost(m, talk, scroll), times[2], room;
	struct budget part = { .lines = m->in->max_lines };

	times[0] = talk ? template_prints(m->t, m->values, TEMPLATE_EXCHANGES) : 0;
	times[1] = scroll ? template_prints(m->t, m->values, TEMPLATE_SCROLLBACK) : 0;
	room = m->limit - (fixed < m->limit ? fixed : m->limit);
	if (fixed > m->limit || room < RENDER_LEAST * times[0] + SCROLL_LEAST * times[1]) {
		err_set(e, GT_USAGE, "budget",
		    "the prompt takes about %zu tokens before any conversation, and max_context_tokens "
		    "allows %zu",
		    fixed / TOKEN_COST + 1, m->in->max_tokens);
		return err_hint(e, "raise max_context_tokens in gt.toml or shorten the template");
	}
	/* a field that is asked for in an {{if}} only keeps its place holder */
	if (times[0] > 0) {
		part.cost = room / (times[0] + times[1]);
		buf_reset(&m->value[TEMPLATE_EXCHANGES]);
		room -= put_talk(m, part) * times[0];
	}
	if (times[1] > 0) {
		part.cost = room / times[1];
		buf_reset(&m->value[TEMPLATE_SCROLLBACK]);
		put_scrollback(m, part);
	}
	take_values(m);
	return 0;
}

int
prompt_build(const struct template *t, const struct prompt_in *in, struct buf *out,
    struct prompt_stats *stats, struct err *e)
{
	struct prompt_state m = { .in = in, .t = t };
	struct buf text = BUF_INIT;
	size_t before = out->len;
	int ret = -1;

	for (int f = 0; f < TEMPLATE_FIELDS; f++)
		buf_init(&m.value[f]);
	if (strlen(in->nonce) != FENCE_NONCE ||
	    prompt_find_id(in->recovery_id, strlen(in->recovery_id)) != in->recovery_id)
		die("a prompt needs a nonce of 16 digits and a recovery id");
	if (__builtin_mul_overflow(in->max_tokens, TOKEN_COST, &m.limit))
		m.limit = SIZE_MAX;
	put_small(&m);
	if (put_context(&m, e) == -1)
		goto out;
	compose_text(&m, &text);
	fence_at(out, text.data, text.len);
	m.stats.tokens = prompt_token_count(out->data + before, out->len - before);
	if (m.stats.tokens > in->max_tokens)
		die("a prompt of %zu tokens came out of a budget of %zu", m.stats.tokens, in->max_tokens);
	if (stats != NULL)
		*stats = m.stats;
	ret = 0;
out:
	buf_release(&text);
	for (int f = 0; f < TEMPLATE_FIELDS; f++)
		buf_release(&m.value[f]);
	return ret;
}
