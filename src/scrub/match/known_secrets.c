#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "scrub/match/match_private.h"
#include "base/buf.h"

#define MOST 16384
#define MOST_SOUGHT 4096	/* of a value that was found */
#define MAX_LEARNED 512
#define MAX_SOUGHT 2048
#define MAX_SECRETS 16384
#define MAX_BYTES ((size_t)4 << 20)
#define LONG_ENOUGH 12		/* bytes of a value with two kinds of characters that is sought elsewhere */
#define MAX_ALIKE 8		/* forms of found values that end alike */

/* ---- tables ---- */

static uint64_t
hash_of(const char *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * 0x100000001b3;
	return h ^ h >> 32;
}

/* The slot of a value, or the free one where it belongs. */
static uint32_t *
value_slot(const struct known_secrets *k, const char *p, size_t n)
{
	size_t i = (size_t)hash_of(p, n) & (k->value_slots - 1);

	for (;; i = (i + 1) & (k->value_slots - 1)) {
		const struct secret *s = k->by_value[i] != 0 ? &k->secrets[k->by_value[i] - 1] : NULL;

		if (s == NULL || (s->n == n && memcmp(s->text, p, n) == 0))
			return &k->by_value[i];
	}
}

static void
index_values(struct known_secrets *k)
{
	free(k->by_value);
	k->value_slots = k->value_slots > 4 * k->n ? k->value_slots : 8 * k->n < 64 ? 64 : 2 * k->value_slots;
	k->by_value = xcalloc(k->value_slots, sizeof *k->by_value);
	for (size_t i = 0; i < k->n; i++)
		*value_slot(k, k->secrets[i].text, k->secrets[i].n) = (uint32_t)i + 1;
}

static void
index_pair(unsigned char *map, unsigned char before, unsigned char last)
{
	size_t pair = known_pair((const unsigned char[]){ before, last });

	map[pair / 8] |= (unsigned char)(1u << pair % 8);
}

static void
index_form(struct known_secrets *k, size_t i)
{
	uint64_t tail = k->forms[i].tail;
	uint32_t *slot = &k->by_tail[known_slot(k, tail)];

	k->forms[i].next = *slot;
	*slot = (uint32_t)i + 1;
	k->blanks = k->blanks || k->forms[i].blanks;
	index_pair(k->pairs, (unsigned char)(tail >> 8), (unsigned char)tail);
	index_pair(k->pairs, '\n', (unsigned char)tail);
	index_pair(k->pairs + KNOWN_PAIRS, (unsigned char)(tail >> 8), (unsigned char)tail);
	for (unsigned char blank = 0; blank <= ' '; blank++)
		index_pair(k->pairs + KNOWN_PAIRS, blank, (unsigned char)tail);
}

static void
index_forms(struct known_secrets *k)
{
	free(k->by_tail);
	k->tail_slots = k->tail_slots > 4 * k->n_forms ? k->tail_slots
	    : 4 * k->n_forms < 256                     ? 256
						       : 2 * k->tail_slots;
	k->by_tail = xcalloc(k->tail_slots, sizeof *k->by_tail);
	free(k->pairs);
	k->pairs = xcalloc(2, KNOWN_PAIRS);
	for (size_t i = 0; i < k->n_forms; i++)
		index_form(k, i);
}

static void
wipe_bytes(char *p, size_t n)
{
	if (p != NULL)
		explicit_bzero(p, n);
	free(p);
}

void
known_release(struct known_secrets *k)
{
	for (size_t i = 0; i < k->n; i++) {
		wipe_bytes(k->secrets[i].text, k->secrets[i].n);
		wipe_bytes(k->secrets[i].raw, k->secrets[i].n_raw);
	}
	for (size_t i = 0; i < k->n_forms; i++)
		wipe_bytes(k->forms[i].text, k->forms[i].n);
	free(k->secrets);
	free(k->forms);
	free(k->by_value);
	free(k->by_tail);
	free(k->pairs);
	*k = (struct known_secrets){ 0 };
}

/* ---- values and their forms ---- */

static void
squeeze_blanks(struct buf *out, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isspace((unsigned char)p[i]))
			buf_chr(out, p[i]);
}

static uint64_t
tail_of(const char *p, size_t n)
{
	uint64_t w = 0;

	for (size_t i = n - KNOWN_LEAST; i < n; i++)
		w = w << 8 | (unsigned char)p[i];
	return w;
}

/* The form with these bytes, or NULL. */
static struct form *
form_find(const struct known_secrets *k, const char *p, size_t n, size_t *alike)
{
	uint64_t tail;

	*alike = 0;
	if (n < KNOWN_LEAST || k->n_forms == 0)
		return NULL;
	tail = tail_of(p, n);
	for (uint32_t i = k->by_tail[known_slot(k, tail)]; i != 0; i = k->forms[i - 1].next) {
		struct form *f = &k->forms[i - 1];

		if (f->n == n && memcmp(f->text, p, n) == 0)
			return f;
		*alike += f->tail == tail;
	}
	return NULL;
}

/* Who takes the spellings of a secret. */
struct known_insert {
	struct known_secrets *k;
	size_t secret;
};

static void
take_form(void *arg, const struct secret_encoding *sp)
{
	const struct known_insert *t = arg;
	struct known_secrets *k = t->k;
	const struct secret *s = &k->secrets[t->secret];
	enum border border = sp->inside ? BORDER_NONE : s->border;
	struct buf b = BUF_INIT;
	struct form *old;
	size_t alike;

	squeeze_blanks(&b, sp->p, sp->n);
	old = form_find(k, b.data, b.len, &alike);
	if (old != NULL && border < old->border)
		old->border = border;
	if (old != NULL || b.len < KNOWN_LEAST || (alike >= MAX_ALIKE && s->raw == NULL)) {
		buf_wipe(&b);
		return;
	}
	k->forms = vec_room(k->forms, k->n_forms, &k->cap_forms, sizeof *k->forms);
	k->forms[k->n_forms] = (struct form){ .n = b.len,
		.secret = t->secret,
		.tail = tail_of(b.data, b.len),
		.border = border,
		.blanks = b.len < sp->n };
	k->longest = b.len > k->longest ? b.len : k->longest;
	k->forms[k->n_forms++].text = buf_detach(&b);
	if (k->n_forms * 4 >= k->tail_slots)
		index_forms(k);
	else
		index_form(k, k->n_forms - 1);
}

/* Its number, or KNOWN_NONE. */
static size_t
find_value(const struct known_secrets *k, const struct buf *dense)
{
	const struct form *form;
	uint32_t at = k->n > 0 ? *value_slot(k, dense->data, dense->len) : 0;
	size_t alike;

	if (at != 0)
		return at - 1;
	form = form_find(k, dense->data, dense->len, &alike);
	return form != NULL ? form->secret : KNOWN_NONE;
}

static size_t
add_value(struct known_secrets *k, const struct buf *dense, size_t kind, enum scrub_rank rank)
{
	k->secrets = vec_room(k->secrets, k->n, &k->cap, sizeof *k->secrets);
	k->secrets[k->n] = (struct secret){
		.text = xstrndup(dense->data, dense->len), .n = dense->len, .kind = kind, .rank = rank
	};
	k->n++;
	k->bytes += dense->len;
	if (k->n * 2 >= k->value_slots)
		index_values(k);
	else
		*value_slot(k, dense->data, dense->len) = (uint32_t)k->n;
	return k->n - 1;
}

void
known_set_kind(struct known_secrets *k, size_t secret, size_t kind, enum scrub_rank rank)
{
	struct secret *s = &k->secrets[secret];

	if (s->ordinal != 0 || rank >= s->rank || (rank > SCRUB_RANK_KNOWN && s->rank != SCRUB_RANK_SEEN))
		return;
	s->rank = rank;
	s->kind = kind;
}

void
known_placeholder(struct known_secrets *k, size_t secret, unsigned *last, size_t *kind, unsigned *ordinal)
{
	struct secret *s = &k->secrets[secret];

	if (s->ordinal == 0)
		s->ordinal = last[s->kind] += last[s->kind] < SCRUB_ORDINAL_MAX;
	*kind = s->kind;
	*ordinal = s->ordinal;
}

size_t
known_room(const struct known_secrets *k)
{
	return MAX_LEARNED - k->learned;
}

void
known_learn(struct known_secrets *k, const char *value, size_t n, size_t kind)
{
	struct buf dense = BUF_INIT;
	size_t id;

	if (n > MOST)
		return;
	squeeze_blanks(&dense, value, n);
	id = dense.len >= KNOWN_LEAST ? find_value(k, &dense) : KNOWN_NONE;
	/* agents that were started alike have the same keys */
	if (dense.len >= KNOWN_LEAST && k->learned < MAX_LEARNED &&
	    (id == KNOWN_NONE || k->secrets[id].raw == NULL)) {
		if (id == KNOWN_NONE)
			id = add_value(k, &dense, kind, SCRUB_RANK_KNOWN);
		k->learned++;
		k->secrets[id].raw = xmalloc(n);
		memcpy(k->secrets[id].raw, value, n);
		k->secrets[id].n_raw = n;
		k->secrets[id].raw_kind = kind;
		k->secrets[id].sought = true;
		k->secrets[id].border = BORDER_NONE;
		known_set_kind(k, id, kind, SCRUB_RANK_KNOWN);
		match_encodings(value, n, take_form, &(struct known_insert){ k, id });
	}
	buf_wipe(&dense);
}

/* ---- what was found ---- */

static bool
all_hex(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isxdigit((unsigned char)p[i]) && p[i] != '-')
			return false;
	return true;
}

bool
known_is_distinctive(const char *p, size_t n)
{
	size_t lower = 0, upper = 0, digit = 0, odd = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		lower += islower(c) != 0;
		upper += isupper(c) != 0;
		digit += isdigit(c) != 0;
		odd += !isalnum(c) && !isspace(c);
	}
	return n >= KNOWN_LEAST && (lower > 0) + (upper > 0) + (digit > 0) + (odd > 0) >= 2;
}

/*
 * A value that nobody would write otherwise: two kinds of characters. What stood behind a mere
 * name must show more: it is no path, and no digest, commit or UUID (which are redacted there but
 * not everywhere), has a digit or a mark that names do not have, and is long or of three kinds.
 */
static bool
worth_seeking(const char *p, size_t n, enum scrub_rank rank)
{
	size_t digit = 0, odd = 0, lower = 0, upper = 0;

	if (!known_is_distinctive(p, n) || n > MOST_SOUGHT || memchr(p, '\n', n) != NULL)
		return false;
	for (size_t i = 0; i < n; i++) {
		digit += isdigit((unsigned char)p[i]) != 0;
		lower += islower((unsigned char)p[i]) != 0;
		upper += isupper((unsigned char)p[i]) != 0;
		odd += strchr("-_./: \t", p[i]) == NULL && !isalnum((unsigned char)p[i]);
	}
	if (rank == SCRUB_RANK_FORMAT)
		return true;
	if (p[0] == '/' || p[0] == '.' || (p[0] == '~' && n > 1 && p[1] == '/') ||
	    memmem(p, n, "://", 3) != NULL)
		return false;
	if (rank == SCRUB_RANK_PLACE)
		return true;
	return !all_hex(p, n) && digit + odd > 0 &&
	    (value_is_random(p, n) || n >= LONG_ENOUGH ||
		(lower > 0) + (upper > 0) + (digit > 0) + (odd > 0) > 2);
}

static void
take_decoded(void *arg, const char *p, size_t n)
{
	struct known_insert *t = arg;

	if (worth_seeking(p, n, SCRUB_RANK_NAMED))
		match_encodings(p, n, take_form, t);
}

static void
search_for(struct known_secrets *k, size_t id, const char *value, size_t n, enum scrub_rank rank)
{
	struct known_insert t = { k, id };

	k->sought++;
	k->secrets[id].sought = true;
	k->secrets[id].border =
	    rank == SCRUB_RANK_FORMAT || value_is_random(value, n) ? BORDER_WORD : BORDER_STRICT;
	match_encodings(value, n, take_form, &t);
	match_decodings(value, n, take_decoded, &t);
}

size_t
known_add_found(struct known_secrets *k, const char *value, size_t n, size_t kind, enum scrub_rank rank)
{
	struct buf dense = BUF_INIT;
	size_t id;

	if (memmem(value, n, "[REDACTED:", 10) != NULL || memmem(value, n, "[…]", strlen("[…]")) != NULL)
		return KNOWN_NONE;
	squeeze_blanks(&dense, value, n);
	id = find_value(k, &dense);
	if (id == KNOWN_NONE && k->n < MAX_SECRETS + MAX_LEARNED && k->bytes + n < MAX_BYTES)
		id = add_value(k, &dense, kind, SCRUB_RANK_SEEN);
	if (id != KNOWN_NONE && !k->secrets[id].sought && k->sought < MAX_SOUGHT &&
	    worth_seeking(value, n, rank))
		search_for(k, id, value, n, rank);
	buf_wipe(&dense);
	return id;
}

void
known_forget(struct known_secrets *k)
{
	struct known_secrets kept = { 0 };

	bool named = false;

	for (size_t i = 0; i < k->n; i++)
		named = named || k->secrets[i].ordinal != 0;
	if (k->n == k->learned && !named)
		return;
	for (size_t i = 0; i < k->n; i++)
		if (k->secrets[i].raw != NULL)
			known_learn(&kept, k->secrets[i].raw, k->secrets[i].n_raw, k->secrets[i].raw_kind);
	known_release(k);
	*k = kept;
}

/* bytes between two characters of a value: a row break and its indent are less */
#define MAX_GAP 4096
#define EFFORT 64			/* bytes compared for each byte of text */
#define LEAST_EFFORT ((size_t)4 << 20)
#define AT_ONCE ((size_t)128 << 10)	/* bytes of new rows in a view */

struct known_search {
	const struct known_secrets *k;
	const struct joined_text *view;
	struct scrub_findings *f;
	size_t effort;		/* bytes that may still be compared */
	size_t withheld;	/* row + 1 */
};

/*
 * Where the form that ends at `last` begins, or KNOWN_NONE. Between two of its characters only a
 * row break may lie, or its own blanks.
 */
static size_t
form_start(struct known_search *s, const struct form *form, size_t last)
{
	const char *text = s->view->text.data;
	size_t at = last + 1;

	for (size_t left = form->n; left > 0; left--) {
		size_t gap = at;

		while (gap > 0 && isspace((unsigned char)text[gap - 1]) && at - gap <= MAX_GAP)
			gap--;
		s->effort -= s->effort > at - gap + 1 ? at - gap + 1 : s->effort;
		if (gap == 0 || text[gap - 1] != form->text[left - 1])
			return KNOWN_NONE;
		if (gap != at && left != form->n && !form->blanks &&
		    memchr(text + gap, '\n', at - gap) == NULL)
			return KNOWN_NONE;
		at = gap - 1;
	}
	return at;
}

static bool
has_border(const struct known_search *s, const struct form *form, size_t from, size_t to)
{
	const char *text = s->view->text.data;
	size_t n = s->view->text.len;

	bool strict = form->border == BORDER_STRICT;

	if (form->border == BORDER_NONE)
		return true;
	return (!match_is_word_char((unsigned char)text[from]) || match_word_begins(text, 0, from, strict)) &&
	    (!match_is_word_char((unsigned char)text[to - 1]) || match_word_ends(text, n, to, strict));
}

/* The work became too much: what cannot be told is withheld. */
static void
withhold_from(struct known_search *s, size_t at)
{
	size_t row;

	joined_source(s->view, at, &row);
	if (s->withheld == row + 1)
		return;
	s->withheld = row + 1;
	scrub_findings_add(s->f,
	    (struct scrub_finding){ .from = s->view->rows->v[row].from,
		.to = s->view->rows->v[row].to,
		.rank = SCRUB_RANK_WITHHELD });
}

static void
try_forms(struct known_search *s, uint32_t first, uint64_t tail, size_t last)
{
	const struct known_secrets *k = s->k;

	for (uint32_t i = first; i != 0; i = k->forms[i - 1].next) {
		const struct form *form = &k->forms[i - 1];
		const struct secret *secret = &k->secrets[form->secret];
		size_t from;

		if (s->effort == 0) {
			withhold_from(s, last);
			return;
		}
		s->effort--;
		if (form->tail != tail)
			continue;
		from = form_start(s, form, last);
		if (from != KNOWN_NONE && has_border(s, form, from, last + 1))
			scrub_findings_add_text(s->f, s->view, from, last + 1,
			    (struct scrub_finding){ .kind = secret->kind,
				.rank = secret->raw != NULL ? SCRUB_RANK_KNOWN : SCRUB_RANK_SEEN,
				.secret = form->secret + 1,
				.span = form->n });
	}
}

/*
 * The last 8 bytes up to text[i], blanks left out; fewer where the text begins, or where there
 * are more blanks than stand in a value.
 */
static uint64_t
tail_at(const char *text, size_t i)
{
	uint64_t tail = 0;
	size_t blanks = 0;

	for (int bits = 0; bits < 64;) {
		unsigned char c = (unsigned char)text[i];

		if (c > ' ' || !isspace(c)) {
			tail |= (uint64_t)c << bits;
			bits += 8;
			blanks = 0;
		} else if (++blanks > MAX_GAP) {
			break;
		}
		if (i-- == 0)
			break;
	}
	return tail;
}

static inline unsigned
in_map(const unsigned char *map, const unsigned char *two)
{
	size_t pair = known_pair(two);

	return (unsigned)map[pair / 8] >> pair % 8 & 1u;
}

/*
 * The next byte from i on, 1 or above, that ends a form as far as it and the one before tell; or
 * n. Hardly any does: eight at a time.
 */
static size_t
next_end(const unsigned char *map, const unsigned char *text, size_t i, size_t n)
{
	for (; i + 8 <= n; i += 8) {
		unsigned any = 0;

		for (size_t k = 0; k < 8; k++)
			any |= in_map(map, text + i + k - 1);
		if (any != 0)
			break;
	}
	while (i < n && in_map(map, text + i - 1) == 0)
		i++;
	return i;
}

/* In what the view shows from the byte `from` on; the byte before it ends a row. `map` is one of `pairs`. */
static void
search_joined(struct known_search *s, const unsigned char *map, size_t from)
{
	const struct known_secrets *k = s->k;
	const char *text = s->view->text.data;
	size_t n = s->view->text.len;

	/* no form has one byte: the first one ends none */
	for (size_t i = from > 0 ? from : 1; (i = next_end(map, (const unsigned char *)text, i, n)) < n;
	    i++) {
		uint64_t tail = tail_at(text, i);
		uint32_t first = k->by_tail[known_slot(k, tail)];

		if (first != 0)
			try_forms(s, first, tail, i);
	}
}

/*
 * The row from which on everything stands that a form may begin with which ends in row `row` or
 * below, and one more for what borders on it. Escape sequences and the like do not count. *n: the
 * bytes of these rows.
 */
static size_t
rows_in_reach(
    const struct known_secrets *k, const char *text, const struct scrub_rows *rows, size_t row, size_t *n)
{
	size_t shown = 0, blanks = 0;

	for (*n = 0; row > 0 && shown < k->longest && blanks <= MAX_GAP; row--) {
		const struct scrub_row *r = &rows->v[row - 1];

		if (r->unchanged)
			continue;
		blanks = r->body < r->end ? 0 : blanks + 1;
		*n += r->end - r->body + 1;
		for (size_t i = r->body; i < r->end && !r->hides; i++)
			shown += !isspace((unsigned char)text[i]);
	}
	while (row > 0 && rows->v[row - 1].unchanged)
		row--;
	return row > 0 ? row - 1 : 0;
}

void
known_find(const struct known_secrets *k, const char *text, const struct scrub_rows *rows,
    struct joined_text *view, struct scrub_findings *f)
{
	struct known_search s = { .k = k, .view = view, .f = f, .effort = LEAST_EFFORT };
	size_t again, n;
	bool hides;

	if (k->n_forms == 0)
		return;
	for (size_t i = 0; i < rows->n; i++)
		s.effort += rows->v[i].unchanged ? 0 : EFFORT * (rows->v[i].end - rows->v[i].body + 1);
	for (size_t from = 0, to; from < rows->n; from = to) {
		size_t above = rows_in_reach(k, text, rows, from, &again);

		/* what is shown again is at most as much as what is new */
		for (to = from, n = 0, hides = k->blanks; to < rows->n && (n < AT_ONCE || n < again); to++) {
			n += rows->v[to].unchanged ? 0 : rows->v[to].end - rows->v[to].body + 1;
			hides = hides || rows->v[to].hides;
		}
		joined_clear(view, rows);
		if (n > 0)
			joined_add(view, text, above, from);
		n = view->text.len;
		joined_add(view, text, from, to);
		search_joined(&s, k->pairs + (hides ? KNOWN_PAIRS : 0), n);
	}
}
