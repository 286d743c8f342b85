#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "scrub/known.h"
#include "scrub/spelling.h"
#include "scrub/value.h"
#include "scrub/word.h"

#define LEAST 8			/* bytes of a form; its last ones are its key */
#define MOST 16384
#define MOST_SOUGHT 4096	/* of a value that was found */
#define MAX_LEARNED 512
#define MAX_SOUGHT 2048
#define MAX_SECRETS 16384
#define MAX_BYTES ((size_t)4 << 20)
#define MAX_ALIKE 8		/* forms of found values that end alike */
#define MAX_GAP 4096		/* bytes between two characters of a value: a row break and its indent are less */
#define EFFORT 64		/* bytes compared for each byte of text */

/* Where a form may stand. */
enum border { BORDER_NONE, BORDER_WORD, BORDER_STRICT };

struct secret {
	char *text;		/* without blanks */
	size_t n;
	char *raw;		/* as it was learned, or NULL */
	size_t n_raw, raw_kind;
	size_t kind;
	enum rank rank;
	unsigned ordinal;	/* 0: not named yet */
	enum border border;
	bool sought;
};

/* One spelling of a secret, without blanks. */
struct form {
	char *text;
	size_t n;
	size_t secret;
	uint64_t tail;
	uint32_t next;		/* form + 1 with the same slot */
	enum border border;
	bool blanks;		/* it has blanks: they may stand between its characters on the screen */
};

/* ---- tables ---- */

static uint64_t
hash_of(const char *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * 0x100000001b3;
	return h ^ h >> 32;
}

static size_t
tail_slot(const struct known *k, uint64_t tail)
{
	return (size_t)(tail * 0x9e3779b97f4a7c15 >> 32) & (k->tail_slots - 1);
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
index_form(struct known *k, size_t i)
{
	uint32_t *slot = &k->by_tail[tail_slot(k, k->forms[i].tail)];

	k->forms[i].next = *slot;
	*slot = (uint32_t)i + 1;
}

static void
index_forms(struct known *k)
{
	free(k->by_tail);
	k->tail_slots = k->tail_slots > 4 * k->n_forms ? k->tail_slots : 4 * k->n_forms < 256 ? 256 : 2 * k->tail_slots;
	k->by_tail = xcalloc(k->tail_slots, sizeof *k->by_tail);
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

	for (size_t i = n - LEAST; i < n; i++)
		w = w << 8 | (unsigned char)p[i];
	return w;
}

/* The form with these bytes, or NULL. */
static struct form *
form_find(const struct known *k, const char *p, size_t n, size_t *alike)
{
	uint64_t tail;

	*alike = 0;
	if (n < LEAST || k->n_forms == 0)
		return NULL;
	tail = tail_of(p, n);
	for (uint32_t i = k->by_tail[tail_slot(k, tail)]; i != 0; i = k->forms[i - 1].next) {
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
	if (old != NULL || b.len < LEAST || (alike >= MAX_ALIKE && s->raw == NULL)) {
		buf_wipe(&b);
		return;
	}
	k->forms = vec_room(k->forms, k->n_forms, &k->cap_forms, sizeof *k->forms);
	k->forms[k->n_forms] = (struct form){ .n = b.len, .secret = t->secret, .tail = tail_of(b.data, b.len), .border = border,
	    .blanks = b.len < sp->n };
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
	id = dense.len >= LEAST ? find_value(k, &dense) : KNOWN_NONE;
	/* agents that were started alike have the same keys */
	if (dense.len >= LEAST && k->learned < MAX_LEARNED && (id == KNOWN_NONE || k->secrets[id].raw == NULL)) {
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

/*
 * A value that nobody would write otherwise: two kinds of characters. What stood behind a mere name must show more: it is no path, and
 * no digest, commit or UUID (which are redacted there but not everywhere), and has a digit or a mark that names do not have.
 */
static bool
worth_seeking(const char *p, size_t n, enum rank rank)
{
	size_t lower = 0, upper = 0, digit = 0, odd = 0, joint = 0;

	if (n < LEAST || n > MOST_SOUGHT || memchr(p, '\n', n) != NULL)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		lower += islower(c) != 0;
		upper += isupper(c) != 0;
		digit += isdigit(c) != 0;
		joint += strchr("-_./: \t", c) != NULL;
		odd += strchr("-_./: \t", c) == NULL && !isalnum(c);
	}
	if ((lower > 0) + (upper > 0) + (digit > 0) + (odd > 0 || (joint > 0 && rank == RANK_FORMAT)) < 2)
		return false;
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

/* ---- the search ---- */

struct search {
	const struct known *k;
	const struct view *view;
	struct findings *f;
	size_t effort;		/* bytes that may still be compared */
	size_t withheld;	/* row + 1 */
};

/* Where the form that ends at `last` begins, or KNOWN_NONE. Between two of its characters only a row break may lie, or its own blanks. */
static size_t
begins(struct search *s, const struct form *form, size_t last)
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
		if (gap != at && left != form->n && !form->blanks && memchr(text + gap, '\n', at - gap) == NULL)
			return KNOWN_NONE;
		at = gap - 1;
	}
	return at;
}

static bool
bordered(const struct search *s, const struct form *form, size_t from, size_t to)
{
	const char *text = s->view->text.data;
	size_t n = s->view->text.len;

	bool strict = form->border == BORDER_STRICT;

	if (form->border == BORDER_NONE)
		return true;
	return (!word_has((unsigned char)text[from]) || word_begins(text, 0, from, strict)) &&
	    (!word_has((unsigned char)text[to - 1]) || word_ends(text, n, to, strict));
}

/* The work became too much: what cannot be told is withheld. */
static void
withhold(struct search *s, size_t at)
{
	size_t row;

	view_source(s->view, at, &row);
	if (s->withheld == row + 1)
		return;
	s->withheld = row + 1;
	findings_add(s->f, (struct finding){ .from = s->view->rows->v[row].from, .to = s->view->rows->v[row].to,
	    .rank = RANK_WITHHELD });
}

static void
try_forms(struct search *s, uint32_t first, uint64_t tail, size_t last)
{
	const struct known *k = s->k;

	for (uint32_t i = first; i != 0; i = k->forms[i - 1].next) {
		const struct form *form = &k->forms[i - 1];
		const struct secret *secret = &k->secrets[form->secret];
		size_t from;

		if (s->effort == 0) {
			withhold(s, last);
			return;
		}
		s->effort--;
		if (form->tail != tail)
			continue;
		from = begins(s, form, last);
		if (from != KNOWN_NONE && bordered(s, form, from, last + 1))
			findings_add_view(s->f, s->view, from, last + 1,
			    (struct finding){ .kind = secret->kind, .rank = secret->raw != NULL ? RANK_KNOWN : RANK_SEEN,
			    .secret = form->secret + 1, .span = form->n });
	}
}

void
known_find(const struct known *k, const struct view *w, struct findings *f)
{
	struct search s = { .k = k, .view = w, .f = f, .effort = EFFORT * w->text.len + MAX_BYTES };
	const char *text = w->text.data;
	uint64_t tail = 0;

	if (k->n_forms == 0)
		return;
	for (size_t i = 0; i < w->text.len; i++) {
		uint32_t first;

		if (isspace((unsigned char)text[i]))
			continue;
		tail = tail << 8 | (unsigned char)text[i];
		first = k->by_tail[tail_slot(k, tail)];
		if (first != 0)
			try_forms(&s, first, tail, i);
	}
}
