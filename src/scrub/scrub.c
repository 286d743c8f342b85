#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/pattern.h"
#include "base/utf8.h"
#include "scrub/finding.h"
#include "scrub/keyed.h"
#include "scrub/keyword.h"
#include "scrub/known.h"
#include "scrub/pem.h"
#include "scrub/frame.h"
#include "scrub/rules.h"
#include "scrub/scrub.h"
#include "scrub/value.h"

#define MAX_PASSES 8
#define NEAR 3		/* rows around a change that are looked at again */

struct clean_text {
	size_t len;
	char bytes[];
};

struct scrub {
	struct rules rules;
	struct keywords *keywords;	/* ids below rules.n are rules, rules.n is a name */
	struct known known;
	struct pattern **allow;
	size_t n_allow, cap_allow;
	const char **kinds;		/* borrowed from rules, and the two below */
	size_t *counts;
	size_t n_kinds;
	size_t *kind_of;		/* rule → kind */
	size_t kind_pem, kind_known;
	size_t *done;			/* rule → offset up to which the view has been searched */
};

/* ---- clean text ---- */

static struct clean_text *
clean_new(const char *p, size_t n)
{
	struct clean_text *t = xmalloc(sizeof *t + n + 1);

	t->len = n;
	if (n > 0)
		memcpy(t->bytes, p, n);
	t->bytes[n] = '\0';
	return t;
}

const char *
clean_bytes(const struct clean_text *t)
{
	return t != NULL ? t->bytes : "";
}

size_t
clean_len(const struct clean_text *t)
{
	return t != NULL ? t->len : 0;
}

void
clean_free(struct clean_text *t)
{
	free(t);
}

struct clean_text *
clean_slice(const struct clean_text *t, size_t from, size_t to)
{
	size_t n = clean_len(t);

	to = to < n ? to : n;
	from = from < to ? from : to;
	return clean_new(clean_bytes(t) + from, to - from);
}

struct clean_text *
clean_copy(const struct clean_text *t)
{
	return clean_new(clean_bytes(t), clean_len(t));
}

/* ---- looking at one view ---- */

struct look {
	struct scrub *s;
	const struct view *view;
	struct frames *rows;
	struct findings *f;
	bool crossing;		/* only what lies across a seam counts; the rest was found row by row */
	bool guessed;		/* nobody told the width: a secret does not reach into a row that begins like a line of its own */
	size_t line, line_end;
	size_t hot;		/* the line that was marked last, + 1 */
	size_t named;		/* end of the last value found by its name: names inside it are part of it */
};

static bool
allowed(const struct scrub *s, const char *p, size_t n)
{
	for (size_t i = 0; i < s->n_allow; i++)
		if (pattern_find(s->allow[i], p, n, 0, NULL) == 1)
			return true;
	return false;
}

/* A stretch of the view, row by row. */
static void
add_span(struct look *l, size_t from, size_t to, size_t kind, enum rank rank)
{
	const char *text = l->view->text.data;
	bool cont = false;

	if (allowed(l->s, text + from, to - from))
		return;
	while (from < to) {
		size_t row, other, start = view_source(l->view, from, &row), end = start + 1;

		for (from++; from < to; from++) {
			size_t src = view_source(l->view, from, &other);

			if (other != row)
				break;
			end = src + 1;
		}
		findings_add(l->f, (struct finding){ start, end, kind, rank, cont });
		cont = true;
	}
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

		findings_add(l->f, (struct finding){ r->from, r->to, 0, RANK_WITHHELD, false });
	}
}

/* "[31m" ends at `at`: a colour as source code, logs and JSON write it out. */
static bool
colour_ends(const char *text, size_t from, size_t at)
{
	size_t i = at - 1, least = at - from < 24 ? from : at - 24;

	while (i > least && (text[i - 1] == ';' || text[i - 1] == ':' || (text[i - 1] >= '0' && text[i - 1] <= '9')))
		i--;
	return text[at - 1] == 'm' && i > from && text[i - 1] == '[';
}

/* No letter, digit or "_" stands before a token, but an escape may: \n, %3D, [31m. */
static bool
border(const char *text, size_t from, size_t at)
{
	unsigned char c;

	if (at == from)
		return true;
	c = (unsigned char)text[at - 1];
	if (c != '_' && !(c >= '0' && c <= '9') && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
		return true;
	if (at - from >= 2 && text[at - 2] == '\\' && strchr("nrt", c) != NULL)
		return true;
	return (at - from >= 3 && text[at - 3] == '%') || colour_ends(text, from, at);
}

static void
try_rule(struct look *l, size_t id, size_t from)
{
	const struct rule *r = &l->s->rules.v[id];
	const char *line = l->view->text.data + l->line;
	size_t n = l->line_end - l->line, start = from - l->line, group, a, b;
	struct match m;
	int found;

	if (from < l->s->done[id] || (r->border && !border(l->view->text.data, l->line, from)))
		return;
	start = start > r->back ? start - r->back : 0;
	if (l->s->done[id] > l->line && l->s->done[id] - l->line > start)
		start = l->s->done[id] - l->line;
	found = pattern_find(r->pattern, line, n, start, &m);
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
	if (group == 1 && value_is_placeholder(line + a, b - a))
		return;
	if (counts(l, l->line + m.start[0], l->line + a, l->line + b))
		add_span(l, l->line + a, l->line + b, l->s->kind_of[id], group == 1 ? RANK_PLACE : RANK_FORMAT);
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

static int
on_word(void *arg, size_t id, size_t from, size_t to)
{
	struct look *l = arg;
	const struct rules *rules = &l->s->rules;
	struct keyed k;

	while (from >= l->line_end) {
		const char *text = l->view->text.data, *nl;

		l->line = l->line_end + 1;
		nl = memchr(text + l->line, '\n', l->view->text.len - l->line);
		l->line_end = nl != NULL ? (size_t)(nl - text) : l->view->text.len;
	}
	mark_hot(l);
	if (id < rules->n) {
		try_rule(l, id, from);
	} else if (from >= l->named &&
	    keyed_at(rules, l->view->text.data + l->line, l->line_end - l->line, from - l->line, to - l->line, &k)) {
		l->named = l->line + k.to;
		if (counts(l, l->line + k.key_from, l->line + k.from, l->line + k.to))
			add_span(l, l->line + k.from, l->line + k.to, l->s->kind_of[k.rule - rules->v], RANK_NAMED);
	}
	return 0;
}

static void
look_at(struct scrub *s, const struct view *view, struct frames *rows, bool crossing, bool guessed, struct findings *f)
{
	struct look l = { .s = s, .view = view, .rows = rows, .f = f, .crossing = crossing, .guessed = guessed };
	const char *nl = memchr(view->text.data, '\n', view->text.len);

	l.line_end = nl != NULL ? (size_t)(nl - view->text.data) : view->text.len;
	memset(s->done, 0, s->rules.n * sizeof *s->done);
	keywords_scan(s->keywords, view->text.data, view->text.len, on_word, &l);
}

/* ---- one pass ---- */

static void
find_all(struct scrub *s, const char *text, struct frames *rows, int width, struct findings *f)
{
	static const enum view_mode modes[] = { VIEW_HARD, VIEW_SOFT };
	struct view view;

	view_init(&view, text, rows, VIEW_ROWS, width);
	look_at(s, &view, rows, false, false, f);
	known_find(&s->known, &view, s->kind_known, f);
	view_release(&view);
	for (size_t i = 0; i < sizeof modes / sizeof modes[0] && width != 0; i++) {
		view_init(&view, text, rows, modes[i], width);
		look_at(s, &view, rows, true, width < 0, f);
		view_release(&view);
	}
	pem_find(text, rows, s->kind_pem, f);
}

static void
withhold_rows(struct findings *f, const struct frames *rows)
{
	size_t row = 0;

	for (size_t i = 0; i < f->n; i++) {
		while (f->v[i].from > rows->v[row].to)
			row++;
		f->v[i] = (struct finding){ rows->v[row].from, rows->v[row].to, 0, RANK_WITHHELD, false };
	}
}

/* Which rows the next pass has to look at: those near a change. Rows keep their numbers, as none is ever lost. */
static void
mark_changed(const struct findings *f, const struct frames *rows, struct buf *quiet)
{
	size_t row = 0;

	buf_reset(quiet);
	for (size_t i = 0; i < rows->n; i++)
		buf_chr(quiet, 1);
	for (size_t i = 0; i < f->n; i++) {
		while (f->v[i].from > rows->v[row].to)
			row++;
		for (size_t k = row > NEAR ? row - NEAR : 0; k < rows->n && k <= row + NEAR; k++)
			quiet->data[k] = 0;
	}
}

/* Replaces once. False when there was nothing to replace; out is untouched then. `quiet` holds a flag a row, or is empty at first. */
static bool
pass(struct scrub *s, const char *text, size_t n, int width, bool last, struct buf *quiet, struct buf *out)
{
	struct findings f = { 0 };
	struct frames rows;
	bool any;

	frames_init(&rows, text, n);
	for (size_t i = 0; i < rows.n && i < quiet->len; i++)
		rows.v[i].quiet = quiet->data[i];
	find_all(s, text, &rows, width, &f);
	findings_settle(&f, text, n, s->kinds, s->n_kinds);
	any = f.n > 0;
	if (any && last) {
		withhold_rows(&f, &rows);
		findings_settle(&f, text, n, s->kinds, s->n_kinds);
	}
	for (size_t i = 0; i < f.n; i++)
		if (!f.v[i].cont && f.v[i].rank != RANK_WITHHELD)
			s->counts[f.v[i].kind]++;
	if (any)
		mark_changed(&f, &rows, quiet);
	if (any)
		findings_write(&f, text, &rows, s->kinds, out);
	findings_release(&f);
	frames_release(&rows);
	return any;
}

/* Escape sequences go, but colours: they could part a secret or hide one (in an OSC), and no later stage wants them. */
static void
mend(struct buf *out, const char *p, size_t n)
{
	size_t from = 0, i = 0;
	int32_t r;

	while (i < n) {
		size_t step = (unsigned char)p[i] < 0x80 ? 1 : utf8_next(p + i, n - i, &r);
		bool broken = step == 1 && (unsigned char)p[i] >= 0x80;

		if (!broken && p[i] == 0x1b)
			step = escape_sgr(p + i, n - i);
		if (!broken && step > 0) {
			i += step;
			continue;
		}
		buf_add(out, p + from, i - from);
		if (broken)
			buf_str(out, "\xef\xbf\xbd");
		i += broken ? 1 : escape_len(p + i, n - i);
		from = i;
	}
	buf_add(out, p + from, n - from);
}

struct clean_text *
scrub_text(struct scrub *s, const char *p, size_t n, int width)
{
	struct buf text = BUF_INIT, next = BUF_INIT, quiet = BUF_INIT;
	struct clean_text *t;

	buf_grow(&text, n);
	mend(&text, p, n);
	/* until nothing is found any more: so a text that was scrubbed once does not change again */
	for (int i = 1; i <= MAX_PASSES && pass(s, text.data, text.len, width, i == MAX_PASSES, &quiet, &next); i++) {
		struct buf swap = text;

		text = next;
		next = swap;
		explicit_bzero(next.data, next.len);
		buf_reset(&next);
	}
	t = clean_new(text.data, text.len);
	buf_wipe(&text);
	buf_wipe(&next);
	buf_release(&quiet);
	return t;
}

struct clean_text *
scrub_string(struct scrub *s, const char *text)
{
	return text != NULL ? scrub_text(s, text, strlen(text), 0) : NULL;
}

/* ---- known values ---- */

/* The password in a URL, whatever the variable is called. */
static void
learn_url(struct scrub *s, const char *value)
{
	const char *p = strstr(value, "://"), *at, *colon;

	if (p == NULL)
		return;
	p += 3;
	at = p + strcspn(p, "/?# \n");
	at = memrchr(p, '@', (size_t)(at - p));
	colon = at != NULL ? memchr(p, ':', (size_t)(at - p)) : NULL;
	if (colon != NULL && at - colon > 8 && !value_is_placeholder(colon + 1, (size_t)(at - colon - 1)))
		known_add(&s->known, colon + 1, (size_t)(at - colon - 1));
}

void
scrub_learn(struct scrub *s, const char *name, const char *value)
{
	struct value v = { .p = value, .n = strlen(value), .quoted = true, .plain_env = true };
	const struct rule *rule = rules_name(&s->rules, name, strlen(name));

	learn_url(s, value);
	if (rule == NULL || v.n < 8)
		return;
	if (value_is_secret(&v, rule->value) || strncmp(value, "-----BEGIN ", 11) == 0)
		known_add(&s->known, value, v.n);
}

size_t
scrub_room(const struct scrub *s)
{
	return known_room(&s->known);
}

void
scrub_learn_environ(struct scrub *s, const char *block, size_t n)
{
	struct buf name = BUF_INIT, value = BUF_INIT;

	for (size_t i = 0; i < n;) {
		size_t len = strnlen(block + i, n - i);
		const char *eq = memchr(block + i, '=', len);

		if (eq != NULL) {
			size_t name_len = (size_t)(eq - block) - i;

			buf_reset(&name);
			buf_reset(&value);
			buf_add(&name, block + i, name_len);
			buf_add(&value, eq + 1, len - name_len - 1);
			scrub_learn(s, name.data, value.data);
			explicit_bzero(value.data, value.len);
		}
		i += len + 1;
	}
	buf_release(&name);
	buf_wipe(&value);
}

/* ---- making one ---- */

static size_t
kind_index(struct scrub *s, const char *kind)
{
	for (size_t i = 0; i < s->n_kinds; i++)
		if (strcmp(s->kinds[i], kind) == 0)
			return i;
	s->kinds[s->n_kinds] = kind;
	return s->n_kinds++;
}

static void
add_keywords(struct scrub *s, const char *p, size_t id, bool last_part)
{
	while (*(p += strspn(p, " \n")) != '\0') {
		size_t n = strcspn(p, " \n"), from = 0;

		for (size_t i = 0; i < n && last_part; i++)
			if (p[i] == '_' || p[i] == '*')
				from = i + 1;
		keywords_add(s->keywords, p + from, n - from, id);
		p += n;
	}
}

static void
prepare(struct scrub *s)
{
	size_t n = s->rules.n;

	s->kinds = xreallocarray(NULL, n + 2, sizeof *s->kinds);
	s->counts = xcalloc(n + 2, sizeof *s->counts);
	s->kind_of = xcalloc(n + 1, sizeof *s->kind_of);
	s->done = xcalloc(n + 1, sizeof *s->done);
	s->keywords = keywords_new();
	for (size_t i = 0; i < n; i++) {
		const struct rule *r = &s->rules.v[i];

		s->kind_of[i] = kind_index(s, r->kind);
		if (r->pattern != NULL)
			add_keywords(s, r->keyword, i, false);
		else if (r->value != VALUE_NONE)
			add_keywords(s, r->names, n, true);
	}
	s->kind_pem = kind_index(s, "private-key");
	s->kind_known = kind_index(s, "known-value");
	keywords_build(s->keywords);
}

/* Every rule must find its first sample: a broken table must not look like clean text. */
static int
canaries(struct scrub *s, struct err *e)
{
	for (size_t i = 0; i < s->rules.n; i++) {
		const struct rule *r = &s->rules.v[i];

		for (size_t k = 0; k < r->n_samples; k++) {
			struct clean_text *t;
			bool good;

			if (!r->samples[k].finds)
				continue;
			t = scrub_string(s, r->samples[k].text);
			good = strcmp(clean_bytes(t), r->samples[k].want) == 0;
			clean_free(t);
			if (!good) {
				err_set(e, r->own ? GT_USAGE : GT_FAIL, "canary",
				    "the rule [%s] for secrets does not find its own sample (line %d)", r->name, r->samples[k].line);
				return err_hint(e, "correct the rule or its finds; nothing is scrubbed by a table that does not work");
			}
			break;
		}
	}
	memset(s->counts, 0, s->n_kinds * sizeof *s->counts);
	return 0;
}

struct scrub *
scrub_new(const char *user_rules, struct err *e)
{
	struct scrub *s = xcalloc(1, sizeof *s);

	if (rules_init(&s->rules, user_rules, e) != 0) {
		free(s);
		return NULL;
	}
	prepare(s);
	if (canaries(s, e) != 0) {
		scrub_free(s);
		return NULL;
	}
	return s;
}

void
scrub_free(struct scrub *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n_allow; i++)
		pattern_free(s->allow[i]);
	free(s->allow);
	known_release(&s->known);
	keywords_free(s->keywords);
	rules_release(&s->rules);
	free(s->kinds);
	free(s->counts);
	free(s->kind_of);
	free(s->done);
	free(s);
}

int
scrub_allow(struct scrub *s, const char *regex, struct err *e)
{
	struct pattern *p = pattern_new(regex, 0, e);

	if (p == NULL)
		return err_add(e, "[recovery.scrub] allow");
	s->allow = vec_room(s->allow, s->n_allow, &s->cap_allow, sizeof *s->allow);
	s->allow[s->n_allow++] = p;
	return 0;
}

/* ---- what was replaced ---- */

size_t
scrub_kinds(const struct scrub *s)
{
	return s->n_kinds;
}

const char *
scrub_kind(const struct scrub *s, size_t i, size_t *count)
{
	if (count != NULL)
		*count = s->counts[i];
	return s->kinds[i];
}

size_t
scrub_total(const struct scrub *s)
{
	size_t total = 0;

	for (size_t i = 0; i < s->n_kinds; i++)
		total += s->counts[i];
	return total;
}
