#include <string.h>

#include "base/buf.h"
#include "base/escape.h"
#include "base/utf8.h"
#include "scrub/pem.h"
#include "scrub/scrub.h"
#include "scrub/scrub_private.h"

#define MAX_PASSES 8
#define NEAR 3		/* rows around a change that are looked at again */

/* Values that were known before, or are now: a new one may stand in any row, also above. */
static void
find_known(struct scrub *s, const char *text, struct frames *rows, size_t forms, struct findings *f)
{
	struct view view;

	if (s->known.n_forms == 0)
		return;
	for (size_t i = 0; i < rows->n && s->known.n_forms != forms; i++)
		rows->v[i].quiet = 0;
	view_init(&view, text, rows, VIEW_ROWS, 0);
	known_find(&s->known, &view, f);
	view_release(&view);
}

static void
find_all(struct scrub *s, const char *text, struct frames *rows, int width, struct findings *f)
{
	static const enum view_mode modes[] = { VIEW_ROWS, VIEW_HARD, VIEW_SOFT };
	size_t forms = s->known.n_forms, n = width != 0 ? 3 : 1;
	struct view view;

	for (size_t i = 0; i < n; i++) {
		view_init(&view, text, rows, modes[i], width);
		look_at(s, &view, rows, modes[i] != VIEW_ROWS, width < 0 && modes[i] != VIEW_ROWS, f);
		view_release(&view);
	}
	pem_find(text, rows, s->kind_pem, f);
	find_known(s, text, rows, forms, f);
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
