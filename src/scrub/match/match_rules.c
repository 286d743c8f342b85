#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scrub/match/match_private.h"
#include "base/buf.h"
#include "base/pattern.h"
#include "scrub/scrub_private.h"

#define PIECE ((size_t)32 << 10)	/* bytes of a view */
#define REPEATED 16			/* bytes of a value that is sought again in its line */

struct rule_match {
	struct scrub *s;
	const struct joined_text *view;
	struct scrub_rows *rows;
	struct scrub_findings *f;
	bool crossing, guessed;
	size_t line, line_end;
	struct assignment_line keyed;
	size_t hot;		/* the line that was marked last, + 1 */
	size_t named;		/* end of the last value found by its name: names inside it are part of it */
};

/* A stretch of the view, row by row. */
static void
add_span(struct rule_match *l, size_t from, size_t to, size_t kind, enum scrub_rank rank)
{
	const char *text = l->view->text.data;
	size_t secret = KNOWN_NONE;

	if (scrub_allows(l->s, text + from, to - from))
		return;
	if (l->s->learning)
		scrub_learn_value(l->s, text + from, to - from);
	else if (!l->s->rules_alone)
		secret = known_add_found(&l->s->known, text + from, to - from, kind, rank);
	scrub_findings_add_text(l->f, l->view, from, to,
	    (struct scrub_finding){ .kind = kind,
		.rank = rank,
		.secret = secret != KNOWN_NONE ? secret + 1 : 0,
		.span = to - from });
}

/* The same quote stands before and behind it, and no blank inside: rows between are parts of one string. */
static bool
is_enclosed(const struct joined_text *view, size_t start, size_t to)
{
	const char *text = view->text.data;

	return start > 0 && to < view->text.len && text[to] == text[start - 1] &&
	    strchr("\"'`", text[to]) != NULL && memchr(text + start, ' ', to - start) == NULL;
}

/* Does a match count that begins at `from` and whose secret is [start, to)? */
static bool
match_counts(const struct rule_match *l, size_t from, size_t start, size_t to)
{
	size_t a, b, row;

	if (start >= to || !l->crossing)
		return start < to;
	joined_source(l->view, from, &a);
	joined_source(l->view, to - 1, &b);
	joined_source(l->view, start, &row);
	while (l->guessed && ++row <= b && !is_enclosed(l->view, start, to))
		if (l->view->rows->v[row].key)
			return false;
	return a != b;
}

/* All rows of the line: a rule failed there, so nothing is known about it. */
static void
withhold_line(struct rule_match *l)
{
	size_t row, last;

	joined_source(l->view, l->line, &row);
	joined_source(l->view, l->line_end > l->line ? l->line_end - 1 : l->line, &last);
	for (; row <= last; row++) {
		const struct scrub_row *r = &l->view->rows->v[row];

		scrub_findings_add(l->f,
		    (struct scrub_finding){ .from = r->from, .to = r->to, .rank = SCRUB_RANK_WITHHELD });
	}
}

/* A pattern of words and not of a format says by `value` what its group has to look like. */
static bool
fits_value_class(const struct rule *r, const char *p, size_t n)
{
	struct value v = { .p = p, .n = n, .quoted = true };

	return r->value == VALUE_NONE || value_is_secret(&v, r->value);
}

static void
try_rule(struct rule_match *l, size_t id, size_t from)
{
	const struct rule *r = &l->s->rules.v[id];
	const struct pattern *pattern = rule_set_pattern(&l->s->rules, id);
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
		withhold_line(l);
	if (found <= 0) {
		l->s->done[id] = r->back > 0 || found < 0 ? l->line_end : from + 1;
		return;
	}
	group = m.start[1] != (size_t)-1 ? 1 : 0;
	a = m.start[group];
	b = m.end[group];
	l->s->done[id] = l->line + (m.end[0] > start ? m.end[0] : start + 1);
	if (group == 1 ? value_is_placeholder(line + a, b - a) || !fits_value_class(r, line + a, b - a)
		       : value_is_sample(line + a, b - a))
		return;
	if (match_counts(l, l->line + m.start[0], l->line + a, l->line + b))
		add_span(l, l->line + a, l->line + b, l->s->rules.index->kind_of[id],
		    group == 1 ? SCRUB_RANK_PLACE : SCRUB_RANK_FORMAT);
}

/* The row of the line at hand, for the views in which lines are parts of rows. */
static void
mark_hot(struct rule_match *l)
{
	size_t row;

	if (l->crossing || l->hot == l->line + 1)
		return;
	l->hot = l->line + 1;
	joined_source(l->view, l->line, &row);
	l->rows->v[row].has_keyword = 1;
}

/* The same value again in its line, which a weak one is not sought beyond. */
static void
add_repeats(struct rule_match *l, size_t from, size_t to, size_t kind, enum scrub_rank rank)
{
	const char *text = l->view->text.data, *at = text + to;

	while (to - from >= REPEATED &&
	    (at = memmem(at, (size_t)(text + l->line_end - at), text + from, to - from)) != NULL) {
		size_t again = (size_t)(at - text);

		if (match_counts(l, again, again, again + (to - from)))
			add_span(l, again, again + (to - from), kind, rank);
		at += to - from;
	}
}

static void
try_name(struct rule_match *l, size_t from, size_t to)
{
	const struct rule_set *rules = &l->s->rules;
	struct assignment k;
	size_t kind;

	if (from < l->named || !assignment_at(rules, &l->keyed, from - l->line, to - l->line, &k))
		return;
	l->named = l->line + k.to;
	if (!match_counts(l, l->line + k.key_from, l->line + k.from, l->line + k.to))
		return;
	kind = rules->index->kind_of[k.rule - rules->v];
	add_span(l, l->line + k.from, l->line + k.to, kind, SCRUB_RANK_NAMED);
	add_repeats(l, l->line + k.from, l->line + k.to, kind, SCRUB_RANK_NAMED);
}

static void
next_line(struct rule_match *l)
{
	const char *text = l->view->text.data, *nl;

	l->line = l->line_end + 1;
	nl = memchr(text + l->line, '\n', l->view->text.len - l->line);
	l->line_end = nl != NULL ? (size_t)(nl - text) : l->view->text.len;
	l->keyed = (struct assignment_line){ .p = text + l->line, .n = l->line_end - l->line };
}

static void
try_word(struct rule_match *l, size_t word, size_t from, size_t to)
{
	struct rule_set *rules = &l->s->rules;
	uint64_t open;
	size_t n;
	const uint16_t *ids = keyword_ids(rules->index->keywords, word, &n);

	while (from >= l->line_end)
		next_line(l);
	if (ids[0] > rules->n)
		return;
	open = gate_open(l->s->gate, rules, word,
	    &(struct gate_place){ l->view->text.data, l->line, from, to, l->line_end, true, true });
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
in_vain(const struct rule_match *l, size_t word, size_t from)
{
	return l->s->rules.index->bordered[word] && match_is_inside_word(l->view->text.data, from);
}

/* ---- keywords: many lines at a time in lanes, their hits kept until it is their turn ---- */

struct match_hit {
	uint32_t word, from, to;	/* offsets in the piece */
};

struct lane {
	const struct rule_match *l;
	size_t piece;		/* where the piece begins in the view */
	struct match_hit *v;
	size_t n, cap;
};

static void
keep_hit(void *arg, size_t word, size_t from, size_t to)
{
	struct lane *lane = arg;

	if (in_vain(lane->l, word, lane->piece + from))
		return;
	lane->v = vec_room(lane->v, lane->n, &lane->cap, sizeof *lane->v);
	lane->v[lane->n++] = (struct match_hit){ (uint32_t)word, (uint32_t)from, (uint32_t)to };
}

static void
match_lines(struct rule_match *l, struct lane lanes[KEYWORD_LANES], size_t from, size_t to)
{
	void *args[KEYWORD_LANES];

	for (size_t i = 0; i < KEYWORD_LANES; i++) {
		lanes[i].l = l;
		lanes[i].piece = from;
		lanes[i].n = 0;
		args[i] = &lanes[i];
	}
	keyword_scan_lanes(l->s->rules.index->keywords, l->view->text.data + from, to - from, keep_hit, args);
	for (size_t i = 0; i < KEYWORD_LANES; i++)
		for (size_t k = 0; k < lanes[i].n; k++)
			try_word(l, lanes[i].v[k].word, from + lanes[i].v[k].from, from + lanes[i].v[k].to);
}

/* A line that is longer than a piece. */
struct match_row {
	struct rule_match *l;
	size_t from;
};

static int
on_rule_word(void *arg, size_t word, size_t from, size_t to)
{
	const struct match_row *r = arg;

	if (!in_vain(r->l, word, r->from + from))
		try_word(r->l, word, r->from + from, r->from + to);
	return 0;
}

static void
match_line(struct rule_match *l, size_t from, size_t to)
{
	keyword_scan(l->s->rules.index->keywords, l->view->text.data + from, to - from, on_rule_word,
	    &(struct match_row){ l, from });
}

void
match_rules(struct scrub *s, const struct joined_text *view, struct scrub_rows *rows, bool crossing,
    bool guessed, struct scrub_findings *f)
{
	struct rule_match l = {
		.s = s, .view = view, .rows = rows, .f = f, .crossing = crossing, .guessed = guessed
	};
	const char *text = view->text.data, *nl = memchr(text, '\n', view->text.len);
	struct lane lanes[KEYWORD_LANES] = { 0 };

	l.line_end = nl != NULL ? (size_t)(nl - text) : view->text.len;
	l.keyed = (struct assignment_line){ .p = text, .n = l.line_end };
	memset(s->done, 0, s->rules.n * sizeof *s->done);
	for (size_t from = 0, to; from < view->text.len; from = to) {
		to = view->text.len - from < PIECE ? view->text.len : from + PIECE;
		nl = memrchr(text + from, '\n', to - from);
		if (nl != NULL) {
			to = (size_t)(nl + 1 - text);
			match_lines(&l, lanes, from, to);
		} else {
			nl = memchr(text + to, '\n', view->text.len - to);
			to = nl != NULL ? (size_t)(nl + 1 - text) : view->text.len;
			match_line(&l, from, to);
		}
	}
	for (size_t i = 0; i < KEYWORD_LANES; i++)
		free(lanes[i].v);
}

/* A lane of the search for keywords. */
struct prefilter {
	struct scrub *s;
	const char *text;
	const unsigned char *bordered;	/* as the index has it */
	struct scrub_rows *rows;
	size_t base;		/* where what is searched begins in the text */
	size_t row;		/* of the last hit */
};

static void
on_prefilter_word(void *arg, size_t word, size_t from, size_t to)
{
	struct prefilter *l = arg;
	struct scrub_row *r;
	struct gate_place place;
	uint64_t open;
	size_t n;
	const uint16_t *ids;

	from += l->base;
	to += l->base;
	if (l->bordered[word] && match_is_inside_word(l->text, from))
		return;
	ids = keyword_ids(l->s->rules.index->keywords, word, &n);
	while (from > l->rows->v[l->row].to)
		l->row++;
	r = &l->rows->v[l->row];
	/* an armor is a word of its own */
	if (ids[0] > l->s->rules.n)
		r->pem_line = 1;
	if (ids[0] > l->s->rules.n || !r->skip || from < r->body || to > r->end)
		return;
	place = (struct gate_place){ l->text, r->body, from, to, r->end, !r->joins, false };
	place.closed = r->end - to <= GATE_AHEAD && !joined_continues(l->text, l->rows, l->row);
	open = gate_open(l->s->gate, &l->s->rules, word, &place);
	/* a name alone is worth a look where a value may follow */
	for (size_t i = 0; open >> i != 0 && r->skip; i++) {
		if ((open >> i & 1) != 0)
			r->skip = ids[i] == l->s->rules.n &&
			    !assignment_may_follow(l->text, r->body, from, to, r->end);
		if (i == KEYWORD_IDS - 1)
			break;
	}
}

static bool
is_wanted(const struct scrub_row *r)
{
	return r->dirty || !r->unchanged;
}

/* Keywords that the seam behind row i cuts; `head` is the row with which the line began. */
static void
sift_seam(const struct scrub *s, const char *text, struct scrub_rows *rows, size_t head, size_t i)
{
	struct scrub_row *a = &rows->v[i], *b = a + 1;
	size_t next;

	if (!a->skip || !(is_wanted(a) || is_wanted(b)))
		return;
	next = scrub_rows_next(rows, head, i);
	a->skip = !keyword_crosses(
	    s->rules.index->keywords, text + a->body, a->end - a->body, text + next, b->end - next);
}

static void
sift_seams(const struct scrub *s, const char *text, struct scrub_rows *rows)
{
	size_t head = 0;

	rows->n_live = 0;
	for (size_t i = 0; i < rows->n; i++) {
		if (rows->v[i].joins)
			sift_seam(s, text, rows, head, i);
		else
			head = i + 1;
		if (!rows->v[i].skip) {
			rows->live = vec_room(rows->live, rows->n_live, &rows->cap_live, sizeof *rows->live);
			rows->live[rows->n_live++] = i;
		}
	}
}

/* Rows [from, to), which stand one below the other. */
static void
sift_stretch(struct scrub *s, const char *text, struct scrub_rows *rows, size_t from, size_t to)
{
	struct prefilter lanes[KEYWORD_LANES];
	void *args[KEYWORD_LANES];
	size_t base = rows->v[from].from;

	for (size_t i = from; i < to; i++) {
		rows->v[i].skip = 1;
		rows->v[i].pem_line = 0;
	}
	for (size_t i = 0; i < KEYWORD_LANES; i++) {
		lanes[i] = (struct prefilter){ s, text, s->rules.index->bordered, rows, base, from };
		args[i] = &lanes[i];
	}
	keyword_scan_lanes(
	    s->rules.index->keywords, text + base, rows->v[to - 1].to - base, on_prefilter_word, args);
	joined_mark_hidden(text, rows, from, to);
	for (size_t i = from; i < to; i++)
		rows->v[i].skip = rows->v[i].skip && !rows->v[i].hides;
}

void
match_prefilter(struct scrub *s, const char *text, struct scrub_rows *rows)
{
	for (size_t i = 0, to; i < rows->n; i = to) {
		to = i + 1;
		if (!is_wanted(&rows->v[i]))
			continue;
		while (to < rows->n && is_wanted(&rows->v[to]))
			to++;
		sift_stretch(s, text, rows, i, to);
	}
	sift_seams(s, text, rows);
}
