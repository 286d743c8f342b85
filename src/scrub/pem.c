#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "scrub/pem.h"
#include "scrub/value.h"

#define LONG_ROW 40	/* base64 of this length is no word */
#define SSH2 "----"	/* ssh.com's and other vendors' armor has four dashes and a blank */

enum line_type {
	LINE_OTHER,
	LINE_MATERIAL,		/* base64 and what quotes it */
	LINE_HEADER,		/* Proc-Type:, blank, a fold: the block goes on */
	LINE_BEGIN, LINE_END,	/* of a private key */
	LINE_BEGIN_PUBLIC, LINE_END_PUBLIC
};

struct line {
	enum line_type type;
	size_t from, to;	/* the key material, offsets in the source */
	size_t letters;		/* base64 characters in it */
};

static const char *
find(const char *p, size_t n, const char *word)
{
	return memmem(p, n, word, strlen(word));
}

static bool
base64(char c)
{
	return isalnum((unsigned char)c) || c == '+' || c == '/' || c == '=';
}

/* Reads base64, with \n, quotes and commas of a string around it, from l->from on. `flat`: its rows may stand in one, blanks between. */
static void
read_material(const char *text, struct line *l, bool flat)
{
	size_t i = l->from, word = 0;

	l->letters = 0;
	for (; i < l->to; i++) {
		if (base64(text[i])) {
			l->letters++;
			word++;
			continue;
		}
		if (strchr("\\\"',;.> \t", text[i]) == NULL)
			break;
		if (text[i] == ' ' && l->letters > 0 && i + 1 < l->to && base64(text[i + 1]) && !(flat && word >= LONG_ROW))
			break;
		word = 0;
	}
	if (i < l->to && text[i] != '-')
		l->letters = 0;
	l->to = i;
	/* quotes and \n at both ends are not the key's */
	while (l->to > l->from && (!base64(text[l->to - 1]) || (l->to - l->from > 1 && text[l->to - 2] == '\\')))
		l->to--;
	while (l->from < l->to && !base64(text[l->from]))
		l->from += text[l->from] == '\\' && l->to - l->from > 1 ? 2 : 1;
}

static bool
is_header(const char *p, size_t n)
{
	static const char *const heads[] = { "Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:", "Encryption:", "Charset:",
	    "Key-Derivation:", "Argon2-", "Private-MAC:", "[REDACTED:private-key", "[…]", "…", "..." };

	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
		if (n >= strlen(heads[i]) && memcmp(p, heads[i], strlen(heads[i])) == 0)
			return true;
	return n == 0;
}

/* "-----BEGIN ... KEY-----": its end, or NULL. `private` tells which kind. */
static const char *
armor(const char *p, size_t n, const char *word, bool *private)
{
	const char *head = find(p, n, word), *close;
	size_t left;

	if (head == NULL)
		return NULL;
	head += strlen(word);
	left = n - (size_t)(head - p);
	close = find(head, left, "-----");
	if (close == NULL || close - head > 40 || close - head < 3)
		return NULL;
	*private = find(head, (size_t)(close - head), "PRIVATE KEY") != NULL || find(head, (size_t)(close - head), "Static key") != NULL;
	return close + 5;
}

static struct line
classify(const char *text, const struct frame *r)
{
	const char *p = text + r->body, *after, *end;
	size_t n = r->end - r->body;
	struct line l = { LINE_OTHER, r->body, r->end, 0 };
	bool private = false;

	if (is_header(p, n))
		l.type = LINE_HEADER;
	if ((n >= 14 && memcmp(p, "Private-Lines:", 14) == 0) || find(p, n, SSH2 " BEGIN SSH2 ENCRYPTED PRIVATE KEY " SSH2) == p) {
		l.type = LINE_BEGIN;
		l.from = l.to;
		return l;
	}
	if (find(p, n, SSH2 " END SSH2 ENCRYPTED PRIVATE KEY ") == p) {
		l.type = LINE_END;
		l.from = l.to;
		return l;
	}
	if ((after = find(p, n, "-----")) == NULL) {
		if (l.type == LINE_OTHER) {
			read_material(text, &l, false);
			l.type = l.letters > 0 ? LINE_MATERIAL : LINE_OTHER;
		}
		return l;
	}
	if ((after = armor(p, n, "-----BEGIN ", &private)) != NULL) {
		l.type = private ? LINE_BEGIN : LINE_BEGIN_PUBLIC;
		l.from = (size_t)(after - text);
		read_material(text, &l, true);
		if (l.letters < 8)
			l.from = l.to;
		if (find(after, n - (size_t)(after - p), "-----END ") != NULL)
			l.type = private ? LINE_END : LINE_END_PUBLIC;
		return l;
	}
	if ((end = armor(p, n, "-----END ", &private)) != NULL) {
		l.type = private ? LINE_END : LINE_END_PUBLIC;
		read_material(text, &l, true);
		return l;
	}
	read_material(text, &l, false);
	l.type = l.letters >= LONG_ROW ? LINE_MATERIAL : LINE_OTHER;
	return l;
}

/* Within a block also a short row is material, unless it reads like a word. */
static bool
belongs(const char *text, const struct line *l)
{
	bool lower = false, other = false;

	if (l->type != LINE_MATERIAL)
		return false;
	if (l->letters >= LONG_ROW)
		return true;
	for (size_t i = l->from; i < l->to; i++) {
		lower = lower || islower((unsigned char)text[i]);
		other = other || !isalpha((unsigned char)text[i]) || (i > l->from && isupper((unsigned char)text[i]));
	}
	return l->letters >= 2 && (other || !lower);
}

static void
add(struct findings *f, const char *text, const struct line *l, size_t kind, bool *first)
{
	/* "XXXX" stands in documentation */
	if (l->from >= l->to || (l->to - l->from < 200 && value_is_sample(text + l->from, l->to - l->from)))
		return;
	findings_add(f, (struct finding){ .from = l->from, .to = l->to, .kind = kind, .rank = RANK_FORMAT, .cont = !*first });
	*first = false;
}

/* Rows behind a BEGIN. Returns the first row that is not part of the block. */
static size_t
eat_block(const char *text, const struct frames *rows, size_t i, size_t kind, struct findings *f, bool *first)
{
	size_t blanks = 0;

	for (; i < rows->n; i++) {
		struct line l = classify(text, &rows->v[i]);

		if (l.type == LINE_END) {
			add(f, text, &l, kind, first);
			return i + 1;
		}
		if (l.type == LINE_HEADER) {
			if (++blanks > 4)
				return i;
		} else if (!belongs(text, &l)) {
			return i;
		} else {
			blanks = 0;
			add(f, text, &l, kind, first);
		}
	}
	return i;
}

/* An END whose BEGIN has scrolled away: the material above it. */
static void
eat_above(const char *text, const struct frames *rows, size_t end, size_t floor, size_t kind, struct findings *f, bool *first)
{
	size_t from = end;

	while (from > floor) {
		struct line l = classify(text, &rows->v[from - 1]);

		if (l.type != LINE_MATERIAL || !belongs(text, &l) || (from != end && l.letters < 24))
			break;
		from--;
	}
	for (; from < end; from++) {
		struct line l = classify(text, &rows->v[from]);

		add(f, text, &l, kind, first);
	}
}

static bool
key_row(const char *text, const struct line *l)
{
	return l->type == LINE_MATERIAL && l->letters >= 48 && l->letters <= 76 && l->to - l->from == l->letters &&
	    value_is_random(text + l->from, l->letters);
}

/* Neither BEGIN nor END on the screen: three rows or more of one length. Returns the row to go on with. */
static size_t
eat_bare(const char *text, const struct frames *rows, size_t i, size_t kind, struct findings *f)
{
	struct line first = classify(text, &rows->v[i]), l = first;
	bool plus = false, start = true;
	size_t to = i;

	while (to < rows->n && key_row(text, &l) && l.letters == first.letters) {
		plus = plus || memchr(text + l.from, '+', l.letters) != NULL || memchr(text + l.from, '/', l.letters) != NULL;
		if (++to < rows->n)
			l = classify(text, &rows->v[to]);
	}
	if (to - i < 3 || !plus || (to < rows->n && (l.type == LINE_END_PUBLIC || l.type == LINE_END)))
		return to > i ? to : i + 1;
	if (to < rows->n && belongs(text, &l) && l.letters < first.letters) {
		if (to + 1 < rows->n && classify(text, &rows->v[to + 1]).type == LINE_END_PUBLIC)
			return to + 1;
		to++;
	}
	for (; i < to; i++) {
		l = classify(text, &rows->v[i]);
		add(f, text, &l, kind, &start);
	}
	return to;
}

/* A cheap look before classify: most rows have neither an armor nor a long word, and rules are drawn with runes that are not ASCII. */
static bool
worth_a_look(const char *text, const struct frame *r)
{
	return r->armor || (r->end - r->body >= 48 && (unsigned char)text[r->body] < 0x80 && memchr(text + r->body, ' ', 48) == NULL);
}

static size_t
skip_public(const char *text, const struct frames *rows, size_t i)
{
	for (; i < rows->n; i++) {
		struct line l = classify(text, &rows->v[i]);

		if (l.type == LINE_END_PUBLIC)
			return i + 1;
		if (l.type != LINE_MATERIAL && l.type != LINE_HEADER)
			return i;
	}
	return i;
}

void
pem_find(const char *text, const struct frames *rows, size_t kind, struct findings *f)
{
	size_t floor = 0;

	for (size_t i = 0; i < rows->n;) {
		struct line l;
		bool first = true;
		size_t next = i + 1;

		if (!worth_a_look(text, &rows->v[i])) {
			i++;
			continue;
		}
		l = classify(text, &rows->v[i]);
		if (l.type == LINE_BEGIN) {
			add(f, text, &l, kind, &first);
			floor = next = eat_block(text, rows, i + 1, kind, f, &first);
		} else if (l.type == LINE_END) {
			eat_above(text, rows, i, floor, kind, f, &first);
			add(f, text, &l, kind, &first);
			floor = next;
		} else if (l.type == LINE_BEGIN_PUBLIC) {
			floor = next = skip_public(text, rows, i + 1);
		} else if (l.type == LINE_MATERIAL) {
			next = eat_bare(text, rows, i, kind, f);
		}
		i = next;
	}
}
