#include <stdbool.h>
#include <stdint.h>

#include "prompt/prompt.h"
#include "prompt/prompt_private.h"
#include "base/utf8.h"

/* What stood before the piece. */
enum token_before { BEFORE_LINE, BEFORE_BLANK, BEFORE_WORD, BEFORE_NUMBER, BEFORE_SIGN, BEFORE_RUNE };

/* One reading of a text. */
struct token_reader {
	const char *p, *end;
	enum token_before before;
	size_t cost;
	const struct token_script *script;	/* of the last rune */
	int32_t rune;			/* that rune when nothing else followed it, else 0 */
};

/*
 * Prices in hundredths of a token, fitted to the greatest of three tokenizers' counts and raised
 * by a tenth.
 */
enum {
	PRICE_WORD = 110, PRICE_HUMP = 94, PRICE_LETTER_5 = 3, PRICE_LETTER_9 = 48,
	PRICE_RARE_PAIR = 85, PRICE_CAPITAL = 22, PRICE_NUMBER = 101, PRICE_DIGIT = 38,
	PRICE_NUMBER_BLANK = 100, PRICE_NUMBER_GLUED = 11, PRICE_SIGN = 99, PRICE_SIGN_BLANK = 105,
	PRICE_SIGN_NEXT = 30, PRICE_SIGN_SAME = 8, PRICE_BLANKS = 50, PRICE_BLANK_9 = 8,
	PRICE_TAB = 165, PRICE_TAB_NEXT = 22, PRICE_LINE = 50, PRICE_LINE_EMPTY = 22,
	PRICE_LINE_SIGN = 17, PRICE_RUNE_SAME = 24,
	PRICE_BYTE = 110
};

/*
 * A bit for each letter that seldom follows the row's letter: less than 3 of 10,000 pairs of
 * English and code.
 */
static const uint32_t rare[26] = {
	0x2414291, 0x0e9b4ee, 0x3e5b26a, 0x3e3b6e6, 0x2100680, 0x2e5b6c6, 0x1e1166e, 0x3e5beee,
	0x1510380, 0x3fbffef, 0x3f3feef, 0x2e3b6c6, 0x3eb2eec, 0x2c30282, 0x3810280, 0x2e1366e,
	0x3efffff, 0x2c10282, 0x2a1026a, 0x2a12642, 0x3e14680, 0x3ffbeee, 0x3f99e6e, 0x3f77eea,
	0x3f31fef, 0x3ffffef,
};

/* What a rune costs, and what more when it begins a run of its script. */
struct token_script {
	int32_t last;		/* the script before this one ends below it */
	uint16_t each, first;
};

static const struct token_script scripts[] = {
	{ 0xbf, 110, 0 },	/* signs of Latin-1 */
	{ 0x24f, 209, 39 },	/* Latin with accents */
	{ 0x36f, 200, 0 },	/* phonetic, combining */
	{ 0x3ff, 134, 99 },	/* Greek */
	{ 0x52f, 58, 66 },	/* Cyrillic */
	{ 0x58f, 242, 0 },	/* Armenian */
	{ 0x5ff, 138, 0 },	/* Hebrew */
	{ 0x77f, 121, 19 },	/* Arabic */
	{ 0x8ff, 300, 0 },
	{ 0x97f, 154, 0 },	/* Devanagari */
	{ 0xdff, 330, 0 },	/* other scripts of India */
	{ 0xe7f, 200, 66 },	/* Thai */
	{ 0x1fff, 330, 0 },
	{ 0x206f, 88, 0 },	/* dashes, quotes, ellipsis */
	{ 0x24ff, 210, 0 },	/* arrows, mathematics */
	{ 0x2502, 105, 0 },	/* plain lines */
	{ 0x257f, 200, 0 },	/* the rest of box drawing */
	{ 0x2e7f, 215, 0 },	/* blocks, shapes, dingbats */
	{ 0x2fff, 330, 0 },
	{ 0x303f, 99, 0 },	/* CJK punctuation */
	{ 0x30ff, 97, 99 },	/* kana */
	{ 0x4dff, 330, 0 },
	{ 0x9fff, 140, 0 },	/* ideographs */
	{ 0xabff, 330, 0 },
	{ 0xd7af, 152, 0 },	/* Hangul */
	{ 0xfeff, 330, 0 },
	{ 0xffef, 115, 0 },	/* full width forms */
	{ 0xffff, 330, 0 },
	{ 0x10ffff, 337, 0 },	/* emoji and all the rest */
};

static bool
is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool
is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* How many bytes of the word that begins at p are one hump: "Server" and "HTTP" of "HTTPServer". */
static size_t
hump_len(const char *p, const char *end)
{
	const char *q = p;

	while (q < end && is_upper(*q))
		q++;
	if (q < end && is_lower(*q) && q - p > 1)
		return (size_t)(q - p) - 1;
	if (q - p > 1)
		return (size_t)(q - p);
	while (q < end && is_lower(*q))
		q++;
	return (size_t)(q - p);
}

static void
count_word(struct token_reader *r)
{
	size_t n = hump_len(r->p, r->end);
	unsigned last = 26;

	r->cost += r->before == BEFORE_WORD || r->before == BEFORE_NUMBER ? PRICE_HUMP : PRICE_WORD;
	if (n > 1 && is_upper(r->p[1])) {
		r->cost += PRICE_CAPITAL * (n - 1);
	} else {
		r->cost += n > 4 ? PRICE_LETTER_5 * (n - 4) : 0;
		r->cost += n > 8 ? PRICE_LETTER_9 * (n - 8) : 0;
	}
	for (size_t i = 0; i < n; i++) {
		unsigned letter = ((unsigned char)r->p[i] | 0x20u) - 'a';

		if (last < 26 && (rare[last] >> letter & 1) != 0)
			r->cost += PRICE_RARE_PAIR;
		last = letter;
	}
	r->p += n;
	r->before = BEFORE_WORD;
}

static void
count_number(struct token_reader *r)
{
	const char *from = r->p;

	while (r->p < r->end && is_digit(*r->p))
		r->p++;
	r->cost += PRICE_NUMBER + PRICE_DIGIT * ((size_t)(r->p - from) - 1);
	if (r->before == BEFORE_BLANK)
		r->cost += PRICE_NUMBER_BLANK;
	else if (r->before == BEFORE_WORD)
		r->cost += PRICE_NUMBER_GLUED;
	r->before = BEFORE_NUMBER;
}

/* A run of c. One blank alone belongs to what follows it. */
static void
count_blanks(struct token_reader *r, char c)
{
	const char *from = r->p;
	size_t n;

	while (r->p < r->end && *r->p == c)
		r->p++;
	n = (size_t)(r->p - from);
	if (c == '\t')
		r->cost += PRICE_TAB + PRICE_TAB_NEXT * (n - 1);
	else if (n > 1)
		r->cost += PRICE_BLANKS + (n > 8 ? PRICE_BLANK_9 * (n - 8) : 0);
	r->before = BEFORE_BLANK;
}

static void
count_line_end(struct token_reader *r)
{
	r->cost += r->before == BEFORE_LINE ? PRICE_LINE_EMPTY :
	    r->before == BEFORE_SIGN || r->before == BEFORE_RUNE ? PRICE_LINE_SIGN : PRICE_LINE;
	r->before = BEFORE_LINE;
	r->p++;
}

static void
count_sign(struct token_reader *r)
{
	char last = *r->p;

	r->cost += r->before == BEFORE_BLANK ? PRICE_SIGN_BLANK
	    : r->before == BEFORE_SIGN       ? PRICE_SIGN_NEXT
					     : PRICE_SIGN;
	for (r->p++; r->p < r->end && *r->p == last; r->p++)
		r->cost += PRICE_SIGN_SAME;
	r->before = BEFORE_SIGN;
}

/* Runes whose runs all tokenizers know: a rule, dashes, dots, a full block. */
static bool
in_runs(int32_t rune)
{
	return rune == 0x2500 || rune == 0x2014 || rune == 0x2026 || rune == 0x2588;
}

static const struct token_script *
script_of(const struct token_script *last, int32_t rune)
{
	const struct token_script *s = scripts;

	if (last != NULL && rune <= last->last && (last == scripts || rune > last[-1].last))
		return last;
	while (rune > s->last)
		s++;
	return s;
}

static void
count_foreign(struct token_reader *r)
{
	int32_t rune;
	size_t used = utf8_next(r->p, (size_t)(r->end - r->p), &rune);
	const struct token_script *s;

	r->p += used;
	if (rune < 0) {
		r->cost += PRICE_BYTE;
	} else if (r->before == BEFORE_RUNE && rune == r->rune && in_runs(rune)) {
		r->cost += PRICE_RUNE_SAME;
	} else {
		s = script_of(r->script, rune);
		r->cost += s->each + (r->before != BEFORE_RUNE ? s->first : 0u);
		r->script = s;
	}
	r->rune = rune;
	r->before = BEFORE_RUNE;
}

size_t
prompt_token_cost(const char *p, size_t n)
{
	struct token_reader r = { .p = p, .end = p + n, .before = BEFORE_LINE };

	while (r.p < r.end) {
		char c = *r.p;

		if (is_lower(c) || is_upper(c))
			count_word(&r);
		else if (c == ' ' || c == '\t')
			count_blanks(&r, c);
		else if (c == '\n')
			count_line_end(&r);
		else if (is_digit(c))
			count_number(&r);
		else if ((unsigned char)c < 0x80)
			count_sign(&r);
		else
			count_foreign(&r);
	}
	return r.cost;
}

size_t
prompt_token_count(const char *p, size_t n)
{
	return (prompt_token_cost(p, n) + TOKEN_COST - 1) / TOKEN_COST;
}

size_t
prompt_tokens_of_size(size_t bytes)
{
	return bytes / 4 + (bytes % 4 != 0);
}
