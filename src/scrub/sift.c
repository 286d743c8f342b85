#include <string.h>

#include "base/buf.h"
#include "scrub/gate.h"
#include "scrub/keyed.h"
#include "scrub/scrub_private.h"
#include "scrub/word.h"

/* A lane of the search for keywords. */
struct sift {
	struct scrub *s;
	const char *text;
	const unsigned char *bordered;	/* as the index has it */
	struct frames *rows;
	size_t base;		/* where what is searched begins in the text */
	size_t row;		/* of the last hit */
};

static void
on_word(void *arg, size_t word, size_t from, size_t to)
{
	struct sift *l = arg;
	struct frame *r;
	struct gate_place place;
	uint64_t open;
	size_t n;
	const uint16_t *ids;

	from += l->base;
	to += l->base;
	if (l->bordered[word] && word_inside(l->text, from))
		return;
	ids = keywords_ids(l->s->rules.index->keywords, word, &n);
	while (from > l->rows->v[l->row].to)
		l->row++;
	r = &l->rows->v[l->row];
	/* an armor is a word of its own */
	if (ids[0] > l->s->rules.n)
		r->armor = 1;
	if (ids[0] > l->s->rules.n || !r->dull || from < r->body || to > r->end)
		return;
	place = (struct gate_place){ l->text, r->body, from, to, r->end, !r->joins, false };
	place.closed = r->end - to <= GATE_AHEAD && !view_goes_on(l->text, l->rows, l->row);
	open = gate_open(l->s->gate, &l->s->rules, word, &place);
	/* a name alone is worth a look where a value may follow */
	for (size_t i = 0; open >> i != 0 && r->dull; i++) {
		if ((open >> i & 1) != 0)
			r->dull = ids[i] == l->s->rules.n && !keyed_may(l->text, r->body, from, to, r->end);
		if (i == KEYWORD_IDS - 1)
			break;
	}
}

static bool
wanted(const struct frame *r)
{
	return r->fresh || !r->quiet;
}

/* Keywords that the seam behind row i cuts; `head` is the row with which the line began. */
static void
sift_seam(const struct scrub *s, const char *text, struct frames *rows, size_t head, size_t i)
{
	struct frame *a = &rows->v[i], *b = a + 1;
	size_t next;

	if (!a->dull || !(wanted(a) || wanted(b)))
		return;
	next = frames_next(rows, head, i);
	a->dull = !keywords_cross(s->rules.index->keywords, text + a->body, a->end - a->body, text + next, b->end - next);
}

static void
sift_seams(const struct scrub *s, const char *text, struct frames *rows)
{
	size_t head = 0;

	rows->n_live = 0;
	for (size_t i = 0; i < rows->n; i++) {
		if (rows->v[i].joins)
			sift_seam(s, text, rows, head, i);
		else
			head = i + 1;
		if (!rows->v[i].dull) {
			rows->live = vec_room(rows->live, rows->n_live, &rows->cap_live, sizeof *rows->live);
			rows->live[rows->n_live++] = i;
		}
	}
}

/* Rows [from, to), which stand one below the other. */
static void
sift_stretch(struct scrub *s, const char *text, struct frames *rows, size_t from, size_t to)
{
	struct sift lanes[KEYWORD_LANES];
	void *args[KEYWORD_LANES];
	size_t base = rows->v[from].from;

	for (size_t i = from; i < to; i++) {
		rows->v[i].dull = 1;
		rows->v[i].armor = 0;
	}
	for (size_t i = 0; i < KEYWORD_LANES; i++) {
		lanes[i] = (struct sift){ s, text, s->rules.index->bordered, rows, base, from };
		args[i] = &lanes[i];
	}
	keywords_sift(s->rules.index->keywords, text + base, rows->v[to - 1].to - base, on_word, args);
	view_hides(text, rows, from, to);
	for (size_t i = from; i < to; i++)
		rows->v[i].dull = rows->v[i].dull && !rows->v[i].hides;
}

void
sift_rows(struct scrub *s, const char *text, struct frames *rows)
{
	for (size_t i = 0, to; i < rows->n; i = to) {
		to = i + 1;
		if (!wanted(&rows->v[i]))
			continue;
		while (to < rows->n && wanted(&rows->v[to]))
			to++;
		sift_stretch(s, text, rows, i, to);
	}
	sift_seams(s, text, rows);
}
