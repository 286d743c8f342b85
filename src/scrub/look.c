#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/pattern.h"
#include "scrub/gate.h"
#include "scrub/keyed.h"
#include "scrub/scrub_private.h"
#include "scrub/value.h"
#include "scrub/word.h"

#define PIECE ((size_t)32 << 10)	/* bytes of a view */

struct look {
	struct scrub *s;
	const struct view *view;
	struct frames *rows;
	struct findings *f;
	bool crossing, guessed;
	size_t line, line_end;
	struct keyed_line keyed;
	size_t hot;		/* the line that was marked last, + 1 */
	size_t named;		/* end of the last value found by its name: names inside it are part of it */
};

/* A stretch of the view, row by row. */
static void
add_span(struct look *l, size_t from, size_t to, size_t kind, enum rank rank)
{
	const char *text = l->view->text.data;
	size_t secret = KNOWN_NONE;

	if (scrub_allows(l->s, text + from, to - from))
		return;
	if (l->s->learning)
		scrub_learn_value(l->s, text + from, to - from);
	else if (!l->s->rules_alone)
		secret = known_note(&l->s->known, text + from, to - from, kind, rank);
	findings_add_view(l->f, l->view, from, to,
	    (struct finding){ .kind = kind, .rank = rank, .secret = secret != KNOWN_NONE ? secret + 1 : 0, .span = to - from });
}

/* Does a match count that begins at `from` and whose secret is [start, to)? */
static bool
counts(const struct look *l, size_t from, size_t start, size_t to)
{
	size_t a, b, row;

	if (start >= to || !l->crossing)
		return start < to;
	view_source(l->view, from, &a);
	view_source(l->view, to - 1, &b);
	view_source(l->view, start, &row);
	while (l->guessed && ++row <= b)
		if (l->view->rows->v[row].key)
			return false;
	return a != b;
}

/* All rows of the line: a rule failed there, so nothing is known about it. */
static void
withhold(struct look *l)
{
	size_t row, last;

	view_source(l->view, l->line, &row);
	view_source(l->view, l->line_end > l->line ? l->line_end - 1 : l->line, &last);
	for (; row <= last; row++) {
		const struct frame *r = &l->view->rows->v[row];

		findings_add(l->f, (struct finding){ .from = r->from, .to = r->to, .rank = RANK_WITHHELD });
	}
}

/* A pattern of words and not of a format says by `value` what its group has to look like. */
static bool
fits(const struct rule *r, const char *p, size_t n)
{
	struct value v = { .p = p, .n = n, .quoted = true };

	return r->value == VALUE_NONE || value_is_secret(&v, r->value);
}

static void
try_rule(struct look *l, size_t id, size_t from)
{
	const struct rule *r = &l->s->rules.v[id];
	const struct pattern *pattern = rules_pattern(&l->s->rules, id);
	const char *line = l->view->text.data + l->line;
	size_t n = l->line_end - l->line, start = from - l->line, group, a, b;
	struct match m;
	int found;

	if (from < l->s->done[id])
		return;
	start = start > r->back ? start - r->back : 0;
	if (l->s->done[id] > l->line && l->s->done[id] - l->line > start)
		start = l->s->done[id] - l->line;
	found = pattern != NULL ? pattern_find(pattern, line, n, start, &m) : -1;
	if (found < 0)
		withhold(l);
	if (found <= 0) {
		l->s->done[id] = r->back > 0 || found < 0 ? l->line_end : from + 1;
		return;
	}
	group = m.start[1] != (size_t)-1 ? 1 : 0;
	a = m.start[group];
	b = m.end[group];
	l->s->done[id] = l->line + (m.end[0] > start ? m.end[0] : start + 1);
	if (group == 1 ? value_is_placeholder(line + a, b - a) || !fits(r, line + a, b - a) : value_is_sample(line + a, b - a))
		return;
	if (counts(l, l->line + m.start[0], l->line + a, l->line + b))
		add_span(l, l->line + a, l->line + b, l->s->rules.index->kind_of[id], group == 1 ? RANK_PLACE : RANK_FORMAT);
}

/* The row of the line at hand, for the views in which lines are parts of rows. */
static void
mark_hot(struct look *l)
{
	size_t row;

	if (l->crossing || l->hot == l->line + 1)
		return;
	l->hot = l->line + 1;
	view_source(l->view, l->line, &row);
	l->rows->v[row].hot = 1;
}

static void
try_name(struct look *l, size_t from, size_t to)
{
	const struct rules *rules = &l->s->rules;
	struct keyed k;

	if (from < l->named || !keyed_at(rules, &l->keyed, from - l->line, to - l->line, &k))
		return;
	l->named = l->line + k.to;
	if (counts(l, l->line + k.key_from, l->line + k.from, l->line + k.to))
		add_span(l, l->line + k.from, l->line + k.to, rules->index->kind_of[k.rule - rules->v], RANK_NAMED);
}

static void
next_line(struct look *l)
{
	const char *text = l->view->text.data, *nl;

	l->line = l->line_end + 1;
	nl = memchr(text + l->line, '\n', l->view->text.len - l->line);
	l->line_end = nl != NULL ? (size_t)(nl - text) : l->view->text.len;
	l->keyed = (struct keyed_line){ .p = text + l->line, .n = l->line_end - l->line };
}

static void
try_word(struct look *l, size_t word, size_t from, size_t to)
{
	struct rules *rules = &l->s->rules;
	uint64_t open;
	size_t n;
	const uint16_t *ids = keywords_ids(rules->index->keywords, word, &n);

	while (from >= l->line_end)
		next_line(l);
	if (ids[0] > rules->n)
		return;
	open = gate_open(l->s->gate, rules, word, &(struct gate_place){ l->view->text.data, l->line, from, to, l->line_end, true, true });
	if (open != 0)
		mark_hot(l);
	for (size_t i = 0; open >> i != 0; i++) {
		if ((open >> i & 1) == 0)
			continue;
		if (ids[i] < rules->n)
			try_rule(l, ids[i], from);
		else
			try_name(l, from, to);
		if (i == KEYWORD_IDS - 1)
			break;
	}
}

/* Most keywords stand within a word where they need not be looked at. */
static bool
in_vain(const struct look *l, size_t word, size_t from)
{
	return l->s->rules.index->bordered[word] && word_inside(l->view->text.data, from);
}

/* ---- keywords: many lines at a time in lanes, their hits kept until it is their turn ---- */

struct hit {
	uint32_t word, from, to;	/* offsets in the piece */
};

struct lane {
	const struct look *l;
	size_t piece;		/* where the piece begins in the view */
	struct hit *v;
	size_t n, cap;
};

static void
keep_hit(void *arg, size_t word, size_t from, size_t to)
{
	struct lane *lane = arg;

	if (in_vain(lane->l, word, lane->piece + from))
		return;
	lane->v = vec_room(lane->v, lane->n, &lane->cap, sizeof *lane->v);
	lane->v[lane->n++] = (struct hit){ (uint32_t)word, (uint32_t)from, (uint32_t)to };
}

static void
look_lines(struct look *l, struct lane lanes[KEYWORD_LANES], size_t from, size_t to)
{
	void *args[KEYWORD_LANES];

	for (size_t i = 0; i < KEYWORD_LANES; i++) {
		lanes[i].l = l;
		lanes[i].piece = from;
		lanes[i].n = 0;
		args[i] = &lanes[i];
	}
	keywords_sift(l->s->rules.index->keywords, l->view->text.data + from, to - from, keep_hit, args);
	for (size_t i = 0; i < KEYWORD_LANES; i++)
		for (size_t k = 0; k < lanes[i].n; k++)
			try_word(l, lanes[i].v[k].word, from + lanes[i].v[k].from, from + lanes[i].v[k].to);
}

/* A line that is longer than a piece. */
struct row {
	struct look *l;
	size_t from;
};

static int
on_word(void *arg, size_t word, size_t from, size_t to)
{
	const struct row *r = arg;

	if (!in_vain(r->l, word, r->from + from))
		try_word(r->l, word, r->from + from, r->from + to);
	return 0;
}

static void
look_line(struct look *l, size_t from, size_t to)
{
	keywords_scan(l->s->rules.index->keywords, l->view->text.data + from, to - from, on_word, &(struct row){ l, from });
}

void
look_at(struct scrub *s, const struct view *view, struct frames *rows, bool crossing, bool guessed, struct findings *f)
{
	struct look l = { .s = s, .view = view, .rows = rows, .f = f, .crossing = crossing, .guessed = guessed };
	const char *text = view->text.data, *nl = memchr(text, '\n', view->text.len);
	struct lane lanes[KEYWORD_LANES] = { 0 };

	l.line_end = nl != NULL ? (size_t)(nl - text) : view->text.len;
	l.keyed = (struct keyed_line){ .p = text, .n = l.line_end };
	memset(s->done, 0, s->rules.n * sizeof *s->done);
	for (size_t from = 0, to; from < view->text.len; from = to) {
		to = view->text.len - from < PIECE ? view->text.len : from + PIECE;
		nl = memrchr(text + from, '\n', to - from);
		if (nl != NULL) {
			to = (size_t)(nl + 1 - text);
			look_lines(&l, lanes, from, to);
		} else {
			nl = memchr(text + to, '\n', view->text.len - to);
			to = nl != NULL ? (size_t)(nl + 1 - text) : view->text.len;
			look_line(&l, from, to);
		}
	}
	for (size_t i = 0; i < KEYWORD_LANES; i++)
		free(lanes[i].v);
}
