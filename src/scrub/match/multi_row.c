#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "scrub/match/match_private.h"

#define LONG_ROW 40	/* base64 of this length is no word */
#define KEY_ROWS 120	/* rows of the longest keys: RSA with 8192 bits */
#define SSH2 "----"	/* ssh.com's and other vendors' armor has four dashes and a blank */

enum pem_line_type {
	LINE_OTHER,
	LINE_MATERIAL,		/* base64 and what quotes it */
	LINE_HEADER,		/* Proc-Type:, blank, a fold: the block goes on */
	LINE_BEGIN, LINE_END,	/* of a private key */
	LINE_BEGIN_PUBLIC, LINE_END_PUBLIC
};

struct pem_line {
	enum pem_line_type type;
	size_t from, to;	/* the key material, offsets in the source */
	size_t letters;		/* base64 characters in it */
};

static const char *
find_word(const char *p, size_t n, const char *word)
{
	return memmem(p, n, word, strlen(word));
}

static bool
is_base64_char(char c)
{
	return isalnum((unsigned char)c) || c == '+' || c == '/' || c == '=';
}

/*
 * Reads base64, with \n, quotes and commas of a string around it, from l->from on. `flat`: its
 * rows may stand in one, blanks between.
 */
static void
read_material(const char *text, struct pem_line *l, bool flat)
{
	size_t i = l->from, word = 0;

	l->letters = 0;
	for (; i < l->to; i++) {
		if (is_base64_char(text[i])) {
			l->letters++;
			word++;
			continue;
		}
		if (strchr("\\\"',;.> \t", text[i]) == NULL)
			break;
		if (text[i] == ' ' && l->letters > 0 && i + 1 < l->to && is_base64_char(text[i + 1]) &&
		    !(flat && word >= LONG_ROW))
			break;
		word = 0;
	}
	if (i < l->to && text[i] != '-')
		l->letters = 0;
	l->to = i;
	/* quotes and \n at both ends are not the key's */
	while (l->to > l->from &&
	    (!is_base64_char(text[l->to - 1]) || (l->to - l->from > 1 && text[l->to - 2] == '\\')))
		l->to--;
	while (l->from < l->to && !is_base64_char(text[l->from]))
		l->from += text[l->from] == '\\' && l->to - l->from > 1 ? 2 : 1;
}

static bool
is_header(const char *p, size_t n)
{
	static const char *const heads[] = { "Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:",
		"Encryption:", "Charset:", "Key-Derivation:", "Argon2-",
		"Private-MAC:", "[REDACTED:private-key", "[…]", "…", "..." };

	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
		if (n >= strlen(heads[i]) && memcmp(p, heads[i], strlen(heads[i])) == 0)
			return true;
	return n == 0;
}

/* "-----BEGIN ... KEY-----": its end, or NULL. `private` tells which kind. */
static const char *
pem_armor_end(const char *p, size_t n, const char *word, bool *private)
{
	const char *head = find_word(p, n, word), *close;
	size_t left;

	if (head == NULL)
		return NULL;
	head += strlen(word);
	left = n - (size_t)(head - p);
	close = find_word(head, left, "-----");
	if (close == NULL || close - head > 40 || close - head < 3)
		return NULL;
	*private = find_word(head, (size_t)(close - head), "PRIVATE KEY") != NULL ||
	    find_word(head, (size_t)(close - head), "Static key") != NULL;
	return close + 5;
}

static struct pem_line
classify_line(const char *text, const struct scrub_row *r)
{
	const char *p = text + r->body, *after, *end;
	size_t n = r->end - r->body;
	struct pem_line l = { LINE_OTHER, r->body, r->end, 0 };
	bool private = false;

	if (is_header(p, n))
		l.type = LINE_HEADER;
	if ((n >= 14 && memcmp(p, "Private-Lines:", 14) == 0) ||
	    find_word(p, n, SSH2 " BEGIN SSH2 ENCRYPTED PRIVATE KEY " SSH2) == p) {
		l.type = LINE_BEGIN;
		l.from = l.to;
		return l;
	}
	if (find_word(p, n, SSH2 " END SSH2 ENCRYPTED PRIVATE KEY ") == p) {
		l.type = LINE_END;
		l.from = l.to;
		return l;
	}
	if ((after = find_word(p, n, "-----")) == NULL) {
		if (l.type == LINE_OTHER) {
			read_material(text, &l, false);
			l.type = l.letters > 0 ? LINE_MATERIAL : LINE_OTHER;
		}
		return l;
	}
	if ((after = pem_armor_end(p, n, "-----BEGIN ", &private)) != NULL) {
		l.type = private ? LINE_BEGIN : LINE_BEGIN_PUBLIC;
		l.from = (size_t)(after - text);
		read_material(text, &l, true);
		if (l.letters < 8)
			l.from = l.to;
		if (find_word(after, n - (size_t)(after - p), "-----END ") != NULL)
			l.type = private ? LINE_END : LINE_END_PUBLIC;
		return l;
	}
	if ((end = pem_armor_end(p, n, "-----END ", &private)) != NULL) {
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
is_material(const char *text, const struct pem_line *l)
{
	bool lower = false, other = false;

	if (l->type != LINE_MATERIAL)
		return false;
	if (l->letters >= LONG_ROW)
		return true;
	for (size_t i = l->from; i < l->to; i++) {
		lower = lower || islower((unsigned char)text[i]);
		other = other || !isalpha((unsigned char)text[i]) ||
		    (i > l->from && isupper((unsigned char)text[i]));
	}
	return l->letters >= 2 && (other || !lower);
}

static void
add_line(struct scrub_findings *f, const char *text, const struct pem_line *l, size_t kind, bool *first)
{
	/* "XXXX" stands in documentation */
	if (l->from >= l->to || (l->to - l->from < 200 && value_is_sample(text + l->from, l->to - l->from)))
		return;
	scrub_findings_add(f,
	    (struct scrub_finding){
		.from = l->from, .to = l->to, .kind = kind, .rank = SCRUB_RANK_FORMAT, .cont = !*first });
	*first = false;
}

/* Rows behind a BEGIN. Returns the first row that is not part of the block. */
static size_t
take_block(const char *text, const struct scrub_rows *rows, size_t i, size_t kind, struct scrub_findings *f,
    bool *first)
{
	size_t blanks = 0;

	for (; i < rows->n; i++) {
		struct pem_line l = classify_line(text, &rows->v[i]);

		if (l.type == LINE_END) {
			add_line(f, text, &l, kind, first);
			return i + 1;
		}
		if (l.type == LINE_HEADER) {
			if (++blanks > 4)
				return i;
		} else if (!is_material(text, &l)) {
			return i;
		} else {
			blanks = 0;
			add_line(f, text, &l, kind, first);
		}
	}
	return i;
}

/* An END whose BEGIN has scrolled away: the material above it. */
static void
take_above(const char *text, const struct scrub_rows *rows, size_t end, size_t floor, size_t kind,
    struct scrub_findings *f, bool *first)
{
	size_t from = end;

	while (from > floor) {
		struct pem_line l = classify_line(text, &rows->v[from - 1]);

		if (l.type != LINE_MATERIAL || !is_material(text, &l) || (from != end && l.letters < 24))
			break;
		from--;
	}
	for (; from < end; from++) {
		struct pem_line l = classify_line(text, &rows->v[from]);

		add_line(f, text, &l, kind, first);
	}
}

/* Rows of a key are as long as the programs write them: PEM and PGP 64, OpenSSH and RFC 4716 70 or 72. */
static bool
key_row(const char *text, const struct pem_line *l)
{
	return l->type == LINE_MATERIAL && (l->letters == 64 || l->letters == 70 || l->letters == 72) &&
	    l->to - l->from == l->letters && value_is_random(text + l->from, l->letters);
}

/*
 * Base64 of something else, told by its first bytes: pictures, fonts, archives, documents, PGP
 * keys that are public and signatures, certificates and requests for one.
 */
static bool
is_foreign(const char *p, size_t n)
{
	static const char *const heads[] = { "iVBOR", "/9j/", "R0lGOD", "UklGR", "Qk0", "SUkq", "TU0AK",
		"AAAB", "H4sI", "UEsD", "QlpoO",
		"/Td6WFo", "KLUv", "JVBER", "d09GR", "d09GM", "T1RUTw", "AAEAAAA",
		"PHN2Z", "PD94bW", "PCFET0", "eyJ2ZX", "eyAidm", "f0VMR", "AGFzb", "SUQz", "T2dnU", "Rk9STU",
		"mQ", "mD", "mI", "iQ", "iI", "iH", "iE", "iF", "xsB", "xjM", "wsB", "AAAAB3", "AAAAC3" };

	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
		if (n > strlen(heads[i]) && memcmp(p, heads[i], strlen(heads[i])) == 0)
			return true;
	/* two SEQUENCEs one in the other: what a private key has there is a number */
	return n > 8 && memcmp(p, "MI", 2) == 0 &&
	    (memcmp(p + 6, "CC", 2) == 0 || memcmp(p + 4, "MI", 2) == 0);
}

/* <X509Certificate>, "Content-Type:", "data:": the row above says what base64 it is. */
static bool
is_labelled(const char *text, const struct scrub_rows *rows, size_t i)
{
	for (size_t k = i; k > 0 && i - k < 3; k--) {
		const struct scrub_row *r = &rows->v[k - 1];

		if (r->body == r->end)
			continue;
		if (text[r->body] == '<' || text[r->end - 1] == '>')
			return find_word(text + r->body, r->end - r->body, "rivate") == NULL;
		return find_word(text + r->body, r->end - r->body, "base64") != NULL ||
		    find_word(text + r->body, r->end - r->body, "Content-") != NULL;
	}
	return false;
}

/* Base64 that looks like the added row of a diff. */
static bool
begins_with_plus(const struct scrub_row *r)
{
	return r->sign == '+' && r->sign_at == r->from;
}

/* Neither BEGIN nor END on the screen: three rows or more of one length. Returns the row to go on with. */
static size_t
take_bare(const char *text, const struct scrub_rows *rows, size_t i, size_t kind, struct scrub_findings *f)
{
	struct pem_line first = classify_line(text, &rows->v[i]), l = first;
	bool plus = false, start = true;
	size_t to = i;

	while (to < rows->n && key_row(text, &first) && l.type == LINE_MATERIAL &&
	    l.letters + begins_with_plus(&rows->v[to]) == first.letters) {
		plus = plus || memchr(text + l.from, '+', l.letters) != NULL ||
		    memchr(text + l.from, '/', l.letters) != NULL;
		if (++to < rows->n)
			l = classify_line(text, &rows->v[to]);
	}
	if (to - i < 3 || to - i > KEY_ROWS || !plus || is_foreign(text + first.from, first.letters) ||
	    is_labelled(text, rows, i) || (to < rows->n && (l.type == LINE_END_PUBLIC || l.type == LINE_END)))
		return to > i ? to : i + 1;
	if (to < rows->n && is_material(text, &l) && l.letters < first.letters) {
		if (to + 1 < rows->n && classify_line(text, &rows->v[to + 1]).type == LINE_END_PUBLIC)
			return to + 1;
		to++;
	}
	for (; i < to; i++) {
		l = classify_line(text, &rows->v[i]);
		add_line(f, text, &l, kind, &start);
	}
	return to;
}

/*
 * A cheap look before classify: most rows have neither an armor nor a long word, and rules are
 * drawn with runes that are not ASCII.
 */
static bool
may_be_pem(const char *text, const struct scrub_row *r)
{
	return r->pem_line ||
	    (r->end - r->body >= 48 && (unsigned char)text[r->body] < 0x80 &&
		memchr(text + r->body, ' ', 48) == NULL);
}

static size_t
skip_public(const char *text, const struct scrub_rows *rows, size_t i)
{
	for (; i < rows->n; i++) {
		struct pem_line l = classify_line(text, &rows->v[i]);

		if (l.type == LINE_END_PUBLIC)
			return i + 1;
		if (l.type != LINE_MATERIAL && l.type != LINE_HEADER)
			return i;
	}
	return i;
}

void
match_pem(const char *text, const struct scrub_rows *rows, size_t kind, struct scrub_findings *f)
{
	size_t floor = 0;

	for (size_t i = 0; i < rows->n;) {
		struct pem_line l;
		bool first = true;
		size_t next = i + 1;

		if (!may_be_pem(text, &rows->v[i])) {
			i++;
			continue;
		}
		l = classify_line(text, &rows->v[i]);
		if (l.type == LINE_BEGIN) {
			add_line(f, text, &l, kind, &first);
			floor = next = take_block(text, rows, i + 1, kind, f, &first);
		} else if (l.type == LINE_END) {
			take_above(text, rows, i, floor, kind, f, &first);
			add_line(f, text, &l, kind, &first);
			floor = next;
		} else if (l.type == LINE_BEGIN_PUBLIC) {
			floor = next = skip_public(text, rows, i + 1);
		} else if (l.type == LINE_MATERIAL) {
			next = take_bare(text, rows, i, kind, f);
		}
		i = next;
	}
}

#define FAR 60		/* rows between "kind: Secret" and its data */

static bool
is_row(const char *text, const struct scrub_row *r, const char *word)
{
	size_t n = strlen(word);

	return r->end - r->body == n && memcmp(text + r->body, word, n) == 0;
}

/* `kind: Secret` stands in the same document, at the same depth as `data:` in row i. */
static bool
is_secret(const char *text, const struct scrub_rows *rows, size_t i)
{
	int depth = rows->v[i].body_col;

	for (int step = -1; step <= 1; step += 2) {
		for (size_t k = i + (size_t)step, n = 0; k < rows->n && n < FAR; k += (size_t)step, n++) {
			const struct scrub_row *r = &rows->v[k];

			if (is_row(text, r, "kind: Secret") && r->body_col == depth)
				return true;
			if (is_row(text, r, "---") || (r->body_col < depth && r->body < r->end))
				break;
		}
	}
	return false;
}

/* The base64 behind "name: " in the row, or an empty stretch. */
static void
entry_value(const char *text, const struct scrub_row *r, size_t *from, size_t *to)
{
	size_t i = r->body;

	while (i < r->end && (isalnum((unsigned char)text[i]) || strchr("_.-\"", text[i]) != NULL))
		i++;
	*from = *to = i;
	if (i == r->body || i + 2 >= r->end || text[i] != ':' || text[i + 1] != ' ')
		return;
	for (i += 2; i < r->end && (text[i] == ' ' || text[i] == '"'); i++)
		;
	*from = *to = i;
	while (i < r->end && (isalnum((unsigned char)text[i]) || strchr("+/=", text[i]) != NULL))
		i++;
	if (i - *from >= 4 && (i == r->end || text[i] == '"'))
		*to = i;
}

static void
take_data(const char *text, const struct scrub_rows *rows, size_t i, size_t kind, struct scrub_findings *f)
{
	int depth = rows->v[i].body_col;

	for (i++; i < rows->n && rows->v[i].body_col > depth && rows->v[i].body < rows->v[i].end; i++) {
		size_t from, to;

		entry_value(text, &rows->v[i], &from, &to);
		scrub_findings_add(f,
		    (struct scrub_finding){ .from = from, .to = to, .kind = kind, .rank = SCRUB_RANK_SEEN });
	}
}

void
match_kubernetes_secret(
    const char *text, const struct scrub_rows *rows, size_t kind, struct scrub_findings *f)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct scrub_row *r = &rows->v[i];

		if (text[r->body] == 'd' && is_row(text, r, "data:") && is_secret(text, rows, i))
			take_data(text, rows, i, kind, f);
		if (text[r->body] == '<' && is_row(text, r, "<auth-user-pass>") && i + 2 < rows->n)
			scrub_findings_add(f,
			    (struct scrub_finding){ .from = rows->v[i + 2].body,
				.to = rows->v[i + 2].end,
				.kind = kind,
				.rank = SCRUB_RANK_PLACE });
	}
}
