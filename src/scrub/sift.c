#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "scrub/gate.h"
#include "scrub/scrub_private.h"

/* A lane of the search for keywords. */
struct sift {
	struct scrub *s;
	const char *text;
	struct frames *rows;
	char *worth;		/* a flag a row */
	size_t row;		/* of the last hit */
};

static void
on_word(void *arg, size_t word, size_t from, size_t to)
{
	struct sift *l = arg;
	struct frame *r;
	uint64_t open;
	size_t n;
	const uint16_t *ids = keywords_ids(l->s->rules.index->keywords, word, &n);

	while (from > l->rows->v[l->row].to)
		l->row++;
	r = &l->rows->v[l->row];
	/* an armor is a word of its own */
	if (ids[0] > l->s->rules.n)
		r->armor = 1;
	if (ids[0] > l->s->rules.n || l->worth[l->row] || from < r->body || to > r->end)
		return;
	open = gate_open(l->s->gate, &l->s->rules, word, &(struct gate_place){ l->text, r->body, from, to, r->end, !r->joins });
	l->worth[l->row] = open != 0;
}

/* Keywords that a seam cuts. */
static void
sift_seams(const struct scrub *s, const char *text, const struct frames *rows, char *worth)
{
	size_t head = 0;

	for (size_t i = 0; i + 1 < rows->n; i++) {
		const struct frame *a = &rows->v[i], *b = a + 1;
		size_t next;

		if (!a->joins) {
			head = i + 1;
			continue;
		}
		next = frames_next(rows, head, i);
		if (!worth[i] && keywords_cross(s->rules.index->keywords, text + a->body, a->end - a->body, text + next, b->end - next))
			worth[i] = 1;
	}
}

void
sift_rows(struct scrub *s, const char *text, size_t n, struct frames *rows)
{
	struct sift lanes[KEYWORD_LANES];
	void *args[KEYWORD_LANES];
	char *worth = xcalloc(rows->n, 1);

	for (size_t i = 0; i < KEYWORD_LANES; i++) {
		lanes[i] = (struct sift){ s, text, rows, worth, 0 };
		args[i] = &lanes[i];
	}
	keywords_sift(s->rules.index->keywords, text, n, on_word, args);
	sift_seams(s, text, rows, worth);
	for (size_t i = 0; i < rows->n; i++)
		rows->v[i].dull = !worth[i] && !frame_hides(text, &rows->v[i]);
	free(worth);
}
