#include <string.h>

#include "base/buf.h"
#include "scrub/manifest.h"
#include "scrub/mend.h"
#include "scrub/pem.h"
#include "scrub/scrub.h"
#include "scrub/scrub_private.h"

#define MAX_PASSES 8
#define LAST_PASSES 4	/* further ones, in which rows are withheld */
#define NEAR 3		/* rows around a change that are looked at again */

/* One text on its way. */
struct run {
	struct scrub *s;
	struct frames rows;
	struct view view;
	size_t forms;			/* spellings of values that all rows have been searched for */
};

/* Values that were known before, or are now: a new one may stand in any row, also above. */
static void
find_known(struct run *run, const char *text, struct findings *f)
{
	struct scrub *s = run->s;
	struct frames *rows = &run->rows;

	if (s->known.n_forms == 0)
		return;
	for (size_t i = 0; i < rows->n && s->known.n_forms != run->forms; i++)
		rows->v[i].quiet = 0;
	run->forms = s->known.n_forms;
	known_find(&s->known, text, rows, &run->view, f);
}

static void
find_all(struct run *run, const char *text, struct findings *f)
{
	static const enum view_mode modes[] = { VIEW_ROWS, VIEW_PAIRS, VIEW_HARD, VIEW_SOFT };
	struct frames *rows = &run->rows;
	size_t views = rows->width != 0 ? 4 : 2;

	sift_rows(run->s, text, rows);
	for (size_t i = 0; i < views; i++) {
		view_show(&run->view, text, rows, modes[i]);
		look_at(run->s, &run->view, rows, modes[i] != VIEW_ROWS, rows->width < 0 && modes[i] >= VIEW_HARD && modes[i] <= VIEW_SOFT, f);
	}
	pem_find(text, rows, run->s->rules.index->kind_pem, f);
	manifest_find(text, rows, run->s->rules.index->kind_manifest, f);
	find_known(run, text, f);
}

static void
withhold_rows(struct findings *f, const struct frames *rows)
{
	size_t row = 0;

	for (size_t i = 0; i < f->n; i++) {
		while (f->v[i].from > rows->v[row].to)
			row++;
		f->v[i] = (struct finding){ .from = rows->v[row].from, .to = rows->v[row].to, .rank = RANK_WITHHELD };
	}
}

static void
log_place(struct scrub *s, const struct finding *f, size_t row)
{
	if (f->rank == RANK_WITHHELD)
		s->withheld++;
	s->places = vec_room(s->places, s->n_places, &s->cap_places, sizeof *s->places);
	s->places[s->n_places++] = (struct scrub_place){ row, f->rank == RANK_WITHHELD ? SCRUB_WITHHELD : f->kind, f->ordinal };
}

/* Which rows the next pass has to look at: those near a change. Rows keep their numbers, as none is ever lost. */
static void
mark_changed(struct scrub *s, const struct findings *f, struct frames *rows)
{
	size_t row = 0;

	for (size_t i = 0; i < rows->n; i++)
		rows->v[i].quiet = 1;
	for (size_t i = 0; i < f->n; i++) {
		while (f->v[i].from > rows->v[row].to)
			row++;
		rows->v[row].changed = 1;
		if (!f->v[i].cont)
			log_place(s, &f->v[i], row);
		for (size_t k = row > NEAR ? row - NEAR : 0; k < rows->n && k <= row + NEAR; k++)
			rows->v[k].quiet = 0;
	}
}

/* The rows of a key, which no view shows as one value. */
static size_t
note_rows(struct scrub *s, const struct findings *f, size_t i, const char *text)
{
	size_t kind = f->v[i].kind, secret;
	struct buf value = BUF_INIT;

	do
		buf_add(&value, text + f->v[i].from, f->v[i].to - f->v[i].from);
	while (++i < f->n && f->v[i].cont && f->v[i].kind == kind);
	secret = known_note(&s->known, value.data, value.len, kind, RANK_FORMAT);
	buf_wipe(&value);
	return secret;
}

static void
name_findings(struct scrub *s, struct findings *f, const char *text)
{
	for (size_t i = 0; i < f->n && !s->rules_alone; i++) {
		struct finding *one = &f->v[i];

		if (one->cont || one->rank == RANK_WITHHELD)
			continue;
		if (one->secret == 0)
			one->secret = note_rows(s, f, i, text) + 1;
		if (one->secret != 0 && one->rank != RANK_SEEN)
			known_call(&s->known, one->secret - 1, one->kind, one->rank);
	}
	for (size_t i = 0; i < f->n; i++) {
		struct finding *one = &f->v[i];

		if (one->cont || one->rank == RANK_WITHHELD)
			continue;
		if (one->secret != 0)
			known_name(&s->known, one->secret - 1, s->ordinals, &one->kind, &one->ordinal);
		else if (!s->rules_alone)
			one->ordinal = s->ordinals[one->kind] += s->ordinals[one->kind] < MAX_ORDINAL;
		s->counts[one->kind]++;
	}
}

/* Replaces once. False when there was nothing to replace; out is untouched then. */
static bool
pass(struct run *run, const char *text, size_t n, bool last, struct buf *out)
{
	struct scrub *s = run->s;
	struct findings f = { 0 };
	bool any;

	find_all(run, text, &f);
	findings_settle(&f, text, n, s->kinds, s->n_kinds);
	any = f.n > 0;
	if (any && last) {
		withhold_rows(&f, &run->rows);
		findings_settle(&f, text, n, s->kinds, s->n_kinds);
	}
	if (any) {
		name_findings(s, &f, text);
		mark_changed(s, &f, &run->rows);
		buf_grow(out, n + n / 64);
		findings_write(&f, text, &run->rows, s->kinds, out);
		frames_again(&run->rows, out->data, out->len);
	}
	findings_release(&f);
	return any;
}

/* The text may have been through another scrubber: its placeholders are others than ours. */
static void
take_ordinals(struct scrub *s, const struct buf *text)
{
	const char *p = text->data, *end = p + text->len;

	while ((p = memchr(p, PLACEHOLDER[0], (size_t)(end - p))) != NULL) {
		unsigned ordinal;
		size_t kind;

		if (placeholder_read(p, (size_t)(end - p), s->kinds, s->n_kinds, &kind, &ordinal) != 0 && ordinal > s->ordinals[kind])
			s->ordinals[kind] = ordinal;
		p++;
	}
}

struct clean_text *
scrub_text(struct scrub *s, const char *p, size_t n, int width)
{
	struct buf text = BUF_INIT;

	buf_add(&text, p, n);
	return scrub_take(s, &text, width);
}

struct clean_text *
scrub_take(struct scrub *s, struct buf *taken, int width)
{
	struct run run = { .s = s, .view = VIEW_INIT };
	struct buf text = *taken, next = BUF_INIT;
	struct clean_text *t;
	int most = s->rules_alone ? 1 : MAX_PASSES + LAST_PASSES;

	buf_init(taken);
	s->removed += mend(&text);
	take_ordinals(s, &text);
	frames_init(&run.rows, text.data, text.len, width);
	s->n_places = 0;
	/* until nothing is found any more: so a text that was scrubbed once does not change again */
	for (int i = 1; i <= most && pass(&run, text.data, text.len, i > MAX_PASSES, &next); i++) {
		struct buf swap = text;

		text = next;
		next = swap;
		explicit_bzero(next.data, next.len);
		buf_reset(&next);
	}
	t = clean_take(&text);
	buf_wipe(&next);
	view_release(&run.view);
	frames_release(&run.rows);
	return t;
}

void
scrub_learn_text(struct scrub *s, const char *p, size_t n)
{
	struct run run = { .s = s, .view = VIEW_INIT };
	struct findings f = { 0 };
	struct buf text = BUF_INIT;

	buf_add(&text, p, n);
	mend(&text);
	frames_init(&run.rows, text.data, text.len, 0);
	s->learning = true;
	find_all(&run, text.data, &f);
	s->learning = false;
	findings_release(&f);
	view_release(&run.view);
	frames_release(&run.rows);
	buf_wipe(&text);
}

struct clean_text *
scrub_string(struct scrub *s, const char *text)
{
	return text != NULL ? scrub_text(s, text, strlen(text), 0) : NULL;
}
