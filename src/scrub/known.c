#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "scrub/keyword.h"
#include "scrub/known.h"

#define LEAST 8
#define MOST 16384
#define MAX_VALUES 512
#define HEAD 24			/* so much of a form is looked for in the one pass, the rest compared at the hit */

/* One spelling of a value, without blanks. */
struct form {
	char *text;
	size_t n;
	bool blanks;		/* the value has blanks: they may stand between its characters on the screen */
	bool plain;		/* the value as it is */
};

void
known_release(struct known *k)
{
	for (size_t i = 0; i < k->n; i++) {
		explicit_bzero(k->v[i].text, k->v[i].n);
		free(k->v[i].text);
	}
	free(k->v);
	keywords_free(k->keywords);
	*k = (struct known){ 0 };
}

/* ---- spellings ---- */

static void
add_form(struct known *k, const char *p, size_t n)
{
	struct form f = { .text = xmalloc(n + 1) };

	for (size_t i = 0; i < n; i++) {
		if (isspace((unsigned char)p[i]))
			f.blanks = true;
		else
			f.text[f.n++] = p[i];
	}
	f.text[f.n] = '\0';
	for (size_t i = 0; i < k->n && f.n >= LEAST; i++)
		if (k->v[i].n == f.n && memcmp(k->v[i].text, f.text, f.n) == 0)
			f.n = 0;
	if (f.n < LEAST) {
		explicit_bzero(f.text, n + 1);
		free(f.text);
		return;
	}
	k->v = vec_room(k->v, k->n, &k->cap, sizeof *k->v);
	k->v[k->n++] = f;
}

static void
json_form(struct buf *out, const char *p, size_t n)
{
	static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";

	for (size_t i = 0; i < n; i++) {
		const char *at = p[i] != '\0' ? strchr(from, p[i]) : NULL;

		if (at != NULL) {
			buf_chr(out, '\\');
			buf_chr(out, to[at - from]);
		} else {
			buf_chr(out, p[i]);
		}
	}
}

static void
percent_form(struct buf *out, const char *p, size_t n, const char *also_plain, bool upper)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (isalnum(c) || strchr("-._~", c) != NULL || strchr(also_plain, c) != NULL)
			buf_chr(out, (char)c);
		else
			buf_fmt(out, upper ? "%%%02X" : "%%%02x", c);
	}
}

/*
 * What base64 makes of the value when `before` bytes stand in front of it, without the characters at the ends that depend on the
 * neighbours.
 */
static void
base64_form(struct buf *out, const char *p, size_t n, size_t before, const char *last_two)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	size_t first = (8 * before + 5) / 6, last = 8 * (before + n) / 6;

	for (size_t k = first; k < last; k++) {
		unsigned v = 0;

		for (size_t bit = 6 * k - 8 * before, b = 0; b < 6; b++, bit++)
			v = v << 1 | (((unsigned char)p[bit / 8] >> (7 - bit % 8)) & 1u);
		buf_chr(out, v < 62 ? digits[v] : last_two[v - 62]);
	}
}

/* Agents that were started alike have the same keys. */
static bool
is_known(const struct known *k, const char *value, size_t n)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->v[i].plain && !k->v[i].blanks && k->v[i].n == n && memcmp(k->v[i].text, value, n) == 0)
			return true;
	return false;
}

size_t
known_room(const struct known *k)
{
	return MAX_VALUES - k->values;
}

void
known_add(struct known *k, const char *value, size_t n)
{
	struct buf b = BUF_INIT;
	size_t before = k->n;

	if (n < LEAST || n > MOST || k->values >= MAX_VALUES || is_known(k, value, n))
		return;
	k->values++;
	keywords_free(k->keywords);
	k->keywords = NULL;
	add_form(k, value, n);
	if (k->n > before)
		k->v[before].plain = true;
	json_form(&b, value, n);
	add_form(k, b.data, b.len);
	for (int i = 0; i < 3; i++) {
		buf_cut(&b, 0);
		percent_form(&b, value, n, i == 2 ? "/:@!$&'()*+,;=" : "", i != 1);
		add_form(k, b.data, b.len);
	}
	for (size_t lead = 0; lead < 3 && n >= 10; lead++) {
		buf_cut(&b, 0);
		base64_form(&b, value, n, lead, "+/");
		add_form(k, b.data, b.len);
		buf_cut(&b, 0);
		base64_form(&b, value, n, lead, "-_");
		add_form(k, b.data, b.len);
	}
	buf_wipe(&b);
}

/* ---- the search ---- */

/* The view without blanks and newlines, each byte with its place in the view. */
struct dense {
	struct known *known;
	const struct view *view;
	struct findings *f;
	size_t kind;
	struct buf text;
	size_t *at;
};

/* Between two characters of a value only row breaks may lie, or blanks that are its own. */
static bool
unbroken(const struct dense *d, size_t from, size_t to, bool blanks)
{
	for (size_t i = from + 1; i < to && !blanks; i++) {
		size_t a = d->at[i - 1] + 1, n = d->at[i] - a;

		if (n > 0 && memchr(d->view->text.data + a, '\n', n) == NULL)
			return false;
	}
	return true;
}

static void
add_pieces(struct dense *d, size_t from, size_t to)
{
	size_t row, last_row, i = from, first = view_source(d->view, d->at[from], &row);

	while (i < to) {
		size_t start = view_source(d->view, d->at[i], &row), end = start + 1;

		for (i++; i < to; i++) {
			size_t src = view_source(d->view, d->at[i], &last_row);

			if (last_row != row)
				break;
			end = src + 1;
		}
		findings_add(d->f, (struct finding){ start, end, d->kind, RANK_KNOWN, start != first });
	}
}

static int
on_head(void *arg, size_t id, size_t from, size_t to)
{
	struct dense *d = arg;
	const struct form *form = &d->known->v[id];

	(void)to;
	if (from + form->n > d->text.len || memcmp(d->text.data + from, form->text, form->n) != 0)
		return 0;
	if (unbroken(d, from, from + form->n, form->blanks))
		add_pieces(d, from, from + form->n);
	return 0;
}

static void
build(struct known *k)
{
	if (k->keywords != NULL)
		return;
	k->keywords = keywords_new();
	for (size_t i = 0; i < k->n; i++)
		keywords_add(k->keywords, k->v[i].text, k->v[i].n < HEAD ? k->v[i].n : HEAD, i);
	keywords_build(k->keywords);
}

void
known_find(struct known *k, const struct view *w, size_t kind, struct findings *f)
{
	struct dense d = { .known = k, .view = w, .f = f, .kind = kind, .text = BUF_INIT };

	if (k->n == 0)
		return;
	build(k);
	buf_grow(&d.text, w->text.len);
	d.at = xreallocarray(NULL, w->text.len + 1, sizeof *d.at);
	for (size_t i = 0; i < w->text.len; i++) {
		if (isspace((unsigned char)w->text.data[i]))
			continue;
		d.at[d.text.len] = i;
		buf_chr(&d.text, w->text.data[i]);
	}
	keywords_scan(k->keywords, d.text.data, d.text.len, on_head, &d);
	free(d.at);
	buf_wipe(&d.text);
}
