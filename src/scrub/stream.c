#include <stdlib.h>
#include <string.h>

#include "scrub/finding.h"
#include "scrub/scrub.h"

#define MAX_ROWS ((size_t)1 << 18)
#define AROUND 512		/* rows of context on both sides */

void
scrub_stream_init(struct scrub_stream *st, struct scrub *s, int width, size_t window)
{
	*st = (struct scrub_stream){ .s = s, .width = width, .window = window, .raw = BUF_INIT };
	st->counts = xcalloc(scrub_kinds(s), sizeof *st->counts);
}

void
scrub_stream_release(struct scrub_stream *st)
{
	buf_wipe(&st->raw);
	free(st->counts);
	free(st->places);
	st->counts = NULL;
	st->places = NULL;
}

static int
by_row(const void *a, const void *b)
{
	const struct scrub_place *x = a, *y = b;

	return x->row != y->row  ? (x->row < y->row ? -1 : 1)
	    : x->kind != y->kind ? (x->kind < y->kind ? -1 : 1)
				 : (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

/* What was replaced in rows [from, to) of the window. */
static void
count_findings(struct scrub_stream *st, size_t from, size_t to)
{
	size_t n, first = st->n_places, last = (size_t)-1;
	const struct scrub_place *all = scrub_places(st->s, &n);
	struct scrub_place *v = xcalloc(n, sizeof *v);
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (all[i].row >= from && all[i].row < to)
			v[kept++] = all[i];
	qsort(v, kept, sizeof *v, by_row);
	for (size_t i = 0; i < kept; i++) {
		st->changed += v[i].row != last;
		last = v[i].row;
		st->withheld += v[i].kind == SCRUB_WITHHELD;
		st->found += v[i].kind != SCRUB_WITHHELD;
		if (v[i].kind != SCRUB_WITHHELD)
			st->counts[v[i].kind]++;
		if (st->n_places >= STREAM_PLACES)
			continue;
		st->places = vec_room(st->places, st->n_places, &st->cap_places, sizeof *st->places);
		st->places[st->n_places++] = v[i];
	}
	for (size_t i = first; i < st->n_places; i++)
		st->places[i].row += st->row;
	free(v);
}

/* Where row number `row` begins, or the text ends. */
static size_t
row_at(const char *p, size_t n, size_t row)
{
	const char *at = p, *nl;

	while (row-- > 0) {
		if ((nl = memchr(at, '\n', n - (size_t)(at - p))) == NULL)
			return n;
		at = nl + 1;
	}
	return (size_t)(at - p);
}

/* How many whole rows before `to` are context: their number, and where they begin. */
static size_t
rows_before(const struct scrub_stream *st, size_t to, size_t *begin)
{
	const char *p = st->raw.data;
	size_t rows = 0, at = to;

	while (at > 0 && rows < AROUND) {
		const char *nl = memrchr(p, '\n', at - 1);
		size_t start = nl != NULL ? (size_t)(nl - p) + 1 : 0;

		if (to - start > st->window / 8)
			break;
		at = start;
		rows++;
	}
	*begin = at;
	return rows;
}

/* The whole rows of raw, scrubbed; raw is then what stands from `kept_at` on. */
static struct clean_text *
scrub_window(struct scrub_stream *st, size_t kept_at)
{
	struct buf text = st->raw;

	st->raw = (struct buf)BUF_INIT;
	buf_add(&st->raw, text.data + kept_at, text.len - kept_at);
	buf_cut(&text, st->line);
	return scrub_buf(st->s, &text, st->width);
}

/*
 * Scrubs the whole rows of raw and gives out those that have enough behind them; keeps these and
 * some before them.
 */
static struct clean_text *
next_window(struct scrub_stream *st)
{
	size_t held_at, kept_at, held = rows_before(st, st->line, &held_at),
				 kept = rows_before(st, held_at, &kept_at);
	size_t to = st->rows - held, from = st->given;
	struct clean_text *t = scrub_window(st, kept_at);
	const char *p = clean_bytes(t);

	to = to > from ? to : from;
	clean_narrow(t, row_at(p, clean_len(t), from), row_at(p, clean_len(t), to));
	count_findings(st, from, to);
	st->row += st->rows - held - kept;
	st->given = to - (st->rows - held - kept);
	st->rows = held + kept;
	st->line -= kept_at;
	st->fresh = st->line;
	st->fresh_rows = 0;
	return t;
}

/* What belongs to the row that is not whole yet: a row that is too long is dropped, and says so. */
static void
put_part(struct scrub_stream *st, const char *p, size_t n)
{
	if (!st->dropping && st->raw.len - st->line + n > st->window / 4) {
		buf_cut(&st->raw, st->line);
		buf_str(&st->raw, SCRUB_ROW_WITHHELD);
		st->withheld++;
		st->changed++;
		st->dropping = true;
	}
	if (!st->dropping)
		buf_add(&st->raw, p, n);
}

static void
end_row(struct scrub_stream *st)
{
	buf_chr(&st->raw, '\n');
	st->dropping = false;
	st->line = st->raw.len;
	st->rows++;
	st->fresh_rows++;
}

static size_t
count_of(const char *p, size_t n, char c)
{
	/* the compiler makes a few wide additions of it, and the sum fits in a byte */
	enum { AT_ONCE = 128 };
	size_t count = 0, i = 0;

	for (; i + AT_ONCE <= n; i += AT_ONCE) {
		unsigned char some = 0;

		for (size_t k = 0; k < AT_ONCE; k++)
			some = (unsigned char)(some + (p[i + k] == c));
		count += some;
	}
	for (; i < n; i++)
		count += p[i] == c;
	return count;
}

/* Rows none of which is too long, the last one with its newline. */
static void
put_rows(struct scrub_stream *st, const char *p, size_t n)
{
	size_t rows = count_of(p, n, '\n');

	buf_add(&st->raw, p, n);
	st->line = st->raw.len;
	st->rows += rows;
	st->fresh_rows += rows;
}

struct clean_text *
scrub_stream_put(struct scrub_stream *st, const char *p, size_t n)
{
	while (n > 0) {
		const char *nl = memchr(p, '\n', n), *last;
		size_t len = nl != NULL ? (size_t)(nl - p) : n;

		put_part(st, p, len);
		p += len;
		n -= len;
		if (nl == NULL)
			break;
		end_row(st);
		p++;
		n--;
		last = n <= st->window / 4 ? memrchr(p, '\n', n) : NULL;
		if (last != NULL) {
			len = (size_t)(last + 1 - p);
			put_rows(st, p, len);
			p += len;
			n -= len;
		}
	}
	return st->line - st->fresh >= st->window / 2 || st->fresh_rows >= MAX_ROWS ? next_window(st) : NULL;
}

struct clean_text *
scrub_stream_end(struct scrub_stream *st)
{
	struct clean_text *t = scrub_buf(st->s, &st->raw, st->width);

	clean_narrow(t, row_at(clean_bytes(t), clean_len(t), st->given), clean_len(t));
	count_findings(st, st->given, st->rows + 1);
	st->line = st->fresh = st->rows = st->fresh_rows = st->given = 0;
	return t;
}
