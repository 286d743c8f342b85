#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "scrub/known_private.h"
#include "scrub/spelling.h"
#include "scrub/value.h"

#define MOST 16384
#define MOST_SOUGHT 4096	/* of a value that was found */
#define MAX_LEARNED 512
#define MAX_SOUGHT 2048
#define MAX_SECRETS 16384
#define MAX_BYTES ((size_t)4 << 20)
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
value_slot(const struct known *k, const char *p, size_t n)
{
	size_t i = (size_t)hash_of(p, n) & (k->value_slots - 1);

	for (;; i = (i + 1) & (k->value_slots - 1)) {
		const struct secret *s = k->by_value[i] != 0 ? &k->secrets[k->by_value[i] - 1] : NULL;

		if (s == NULL || (s->n == n && memcmp(s->text, p, n) == 0))
			return &k->by_value[i];
	}
}

static void
index_values(struct known *k)
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
index_form(struct known *k, size_t i)
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
index_forms(struct known *k)
{
	free(k->by_tail);
	k->tail_slots = k->tail_slots > 4 * k->n_forms ? k->tail_slots : 4 * k->n_forms < 256 ? 256 : 2 * k->tail_slots;
	k->by_tail = xcalloc(k->tail_slots, sizeof *k->by_tail);
	free(k->pairs);
	k->pairs = xcalloc(2, KNOWN_PAIRS);
	for (size_t i = 0; i < k->n_forms; i++)
		index_form(k, i);
}

static void
wipe(char *p, size_t n)
{
	if (p != NULL)
		explicit_bzero(p, n);
	free(p);
}

void
known_release(struct known *k)
{
	for (size_t i = 0; i < k->n; i++) {
		wipe(k->secrets[i].text, k->secrets[i].n);
		wipe(k->secrets[i].raw, k->secrets[i].n_raw);
	}
	for (size_t i = 0; i < k->n_forms; i++)
		wipe(k->forms[i].text, k->forms[i].n);
	free(k->secrets);
	free(k->forms);
	free(k->by_value);
	free(k->by_tail);
	free(k->pairs);
	*k = (struct known){ 0 };
}

/* ---- values and their forms ---- */

static void
squeeze(struct buf *out, const char *p, size_t n)
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
form_find(const struct known *k, const char *p, size_t n, size_t *alike)
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
struct taking {
	struct known *k;
	size_t secret;
};

static void
take_form(void *arg, const struct spelling *sp)
{
	const struct taking *t = arg;
	struct known *k = t->k;
	const struct secret *s = &k->secrets[t->secret];
	enum border border = sp->inside ? BORDER_NONE : s->border;
	struct buf b = BUF_INIT;
	struct form *old;
	size_t alike;

	squeeze(&b, sp->p, sp->n);
	old = form_find(k, b.data, b.len, &alike);
	if (old != NULL && border < old->border)
		old->border = border;
	if (old != NULL || b.len < KNOWN_LEAST || (alike >= MAX_ALIKE && s->raw == NULL)) {
		buf_wipe(&b);
		return;
	}
	k->forms = vec_room(k->forms, k->n_forms, &k->cap_forms, sizeof *k->forms);
	k->forms[k->n_forms] = (struct form){ .n = b.len, .secret = t->secret, .tail = tail_of(b.data, b.len), .border = border,
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
find_value(const struct known *k, const struct buf *dense)
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
add_value(struct known *k, const struct buf *dense, size_t kind, enum rank rank)
{
	k->secrets = vec_room(k->secrets, k->n, &k->cap, sizeof *k->secrets);
	k->secrets[k->n] = (struct secret){ .text = xstrndup(dense->data, dense->len), .n = dense->len, .kind = kind,
	    .rank = rank };
	k->n++;
	k->bytes += dense->len;
	if (k->n * 2 >= k->value_slots)
		index_values(k);
	else
		*value_slot(k, dense->data, dense->len) = (uint32_t)k->n;
	return k->n - 1;
}

void
known_call(struct known *k, size_t secret, size_t kind, enum rank rank)
{
	struct secret *s = &k->secrets[secret];

	if (s->ordinal != 0 || rank >= s->rank || (rank > RANK_KNOWN && s->rank != RANK_SEEN))
		return;
	s->rank = rank;
	s->kind = kind;
}

void
known_name(struct known *k, size_t secret, unsigned *last, size_t *kind, unsigned *ordinal)
{
	struct secret *s = &k->secrets[secret];

	if (s->ordinal == 0)
		s->ordinal = last[s->kind] += last[s->kind] < MAX_ORDINAL;
	*kind = s->kind;
	*ordinal = s->ordinal;
}

size_t
known_room(const struct known *k)
{
	return MAX_LEARNED - k->learned;
}

void
known_learn(struct known *k, const char *value, size_t n, size_t kind)
{
	struct buf dense = BUF_INIT;
	size_t id;

	if (n > MOST)
		return;
	squeeze(&dense, value, n);
	id = dense.len >= KNOWN_LEAST ? find_value(k, &dense) : KNOWN_NONE;
	/* agents that were started alike have the same keys */
	if (dense.len >= KNOWN_LEAST && k->learned < MAX_LEARNED && (id == KNOWN_NONE || k->secrets[id].raw == NULL)) {
		if (id == KNOWN_NONE)
			id = add_value(k, &dense, kind, RANK_KNOWN);
		k->learned++;
		k->secrets[id].raw = xmalloc(n);
		memcpy(k->secrets[id].raw, value, n);
		k->secrets[id].n_raw = n;
		k->secrets[id].raw_kind = kind;
		k->secrets[id].sought = true;
		k->secrets[id].border = BORDER_NONE;
		known_call(k, id, kind, RANK_KNOWN);
		spelling_each(value, n, take_form, &(struct taking){ k, id });
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
known_tells(const char *p, size_t n)
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
 * A value that nobody would write otherwise: two kinds of characters. What stood behind a mere name must show more: it is no path, and
 * no digest, commit or UUID (which are redacted there but not everywhere), and has a digit or a mark that names do not have.
 */
static bool
worth_seeking(const char *p, size_t n, enum rank rank)
{
	size_t digit = 0, odd = 0;

	if (!known_tells(p, n) || n > MOST_SOUGHT || memchr(p, '\n', n) != NULL)
		return false;
	for (size_t i = 0; i < n; i++) {
		digit += isdigit((unsigned char)p[i]) != 0;
		odd += strchr("-_./: \t", p[i]) == NULL && !isalnum((unsigned char)p[i]);
	}
	if (rank == RANK_FORMAT)
		return true;
	if (p[0] == '/' || p[0] == '.' || (p[0] == '~' && n > 1 && p[1] == '/') || memmem(p, n, "://", 3) != NULL)
		return false;
	return rank == RANK_PLACE || (!all_hex(p, n) && (digit + odd > 0 || value_is_random(p, n)));
}

static void
take_decoded(void *arg, const char *p, size_t n)
{
	struct taking *t = arg;

	if (worth_seeking(p, n, RANK_NAMED))
		spelling_each(p, n, take_form, t);
}

static void
seek(struct known *k, size_t id, const char *value, size_t n, enum rank rank)
{
	struct taking t = { k, id };

	k->sought++;
	k->secrets[id].sought = true;
	k->secrets[id].border = rank == RANK_FORMAT || value_is_random(value, n) ? BORDER_WORD : BORDER_STRICT;
	spelling_each(value, n, take_form, &t);
	spelling_decode(value, n, take_decoded, &t);
}

size_t
known_note(struct known *k, const char *value, size_t n, size_t kind, enum rank rank)
{
	struct buf dense = BUF_INIT;
	size_t id;

	if (memmem(value, n, "[REDACTED:", 10) != NULL || memmem(value, n, "[…]", strlen("[…]")) != NULL)
		return KNOWN_NONE;
	squeeze(&dense, value, n);
	id = find_value(k, &dense);
	if (id == KNOWN_NONE && k->n < MAX_SECRETS + MAX_LEARNED && k->bytes + n < MAX_BYTES)
		id = add_value(k, &dense, kind, RANK_SEEN);
	if (id != KNOWN_NONE && !k->secrets[id].sought && k->sought < MAX_SOUGHT && worth_seeking(value, n, rank))
		seek(k, id, value, n, rank);
	buf_wipe(&dense);
	return id;
}

void
known_forget(struct known *k)
{
	struct known kept = { 0 };

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
