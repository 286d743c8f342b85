#include <ctype.h>
#include <string.h>

#include "scrub/keyed_private.h"

#define NO_BREAK "\xc2\xa0"	/* a blank, too */

bool
lex_at(const struct lex *x, size_t at, const char *word)
{
	size_t len;

	if (at >= x->n || x->p[at] != *word)
		return false;
	len = strlen(word);
	return at + len <= x->n && memcmp(x->p + at, word, len) == 0;
}

bool
lex_skip(struct lex *x, const char *word)
{
	if (!lex_at(x, x->at, word))
		return false;
	x->at += strlen(word);
	return true;
}

size_t
lex_blanks(struct lex *x)
{
	size_t from = x->at;

	while (x->at < x->n && (x->p[x->at] == ' ' || x->p[x->at] == '\t' || lex_at(x, x->at, NO_BREAK)))
		x->at += x->p[x->at] == NO_BREAK[0] ? strlen(NO_BREAK) : 1;
	return x->at - from;
}

/* What opens a string and closes it again, also where the text stands in a string once or twice, in HTML or in a URL; the longest first. */
static const char *const quotes[] = { "\"\"\"", "'''", "&quot;", "\\\\\\\"", "\\\\\"", "%22", "\\\"", "\\'", "\"", "'", "`" };

const char *
lex_quote_before(const struct lex *x, size_t at)
{
	/* the last bytes of them */
	if (at == 0 || strchr("\"'`;2", x->p[at - 1]) == NULL)
		return "";
	for (size_t i = 0; i < sizeof quotes / sizeof quotes[0]; i++) {
		size_t len = strlen(quotes[i]);

		if (at >= len && x->p[at - 1] == quotes[i][len - 1] && memcmp(x->p + at - len, quotes[i], len) == 0)
			return quotes[i];
	}
	return "";
}

const char *
lex_quote(const struct lex *x)
{
	for (size_t i = 0; i < sizeof quotes / sizeof quotes[0]; i++)
		if (lex_at(x, x->at, quotes[i]))
			return quotes[i];
	return NULL;
}

/* ---- the value ---- */

/* In "password: str = 'x'" the type is passed over. */
static void
skip_type(struct lex *x)
{
	size_t mark = x->at, at;

	if (lex_skip(x, "&"))
		lex_skip(x, "'static ");
	at = x->at;
	x->at = mark;
	if (at >= x->n || !isalpha((unsigned char)x->p[at]))
		return;
	while (at < x->n && at - x->at < ENOUGH && (isalnum((unsigned char)x->p[at]) || strchr("_.[]|<>", x->p[at]) != NULL))
		at++;
	if (at + 3 < x->n && memcmp(x->p + at, " = ", 3) == 0)
		x->at = at + 3;
}

static bool
quoted_value(struct lex *x, struct keyed *k)
{
	const char *close = lex_quote(x);
	size_t len = strlen(close);

	x->at += len;
	k->from = x->at;
	for (size_t i = x->at; i < x->n; i++) {
		if (len == 1 && x->p[i] == '\\') {
			i++;
		} else if (i + len <= x->n && memcmp(x->p + i, close, len) == 0) {
			k->to = i;
			return true;
		}
	}
	return false;
}

/* A character that ends a bare value where it stands. */
static bool
stops(const struct lex *x, size_t i)
{
	static const char *const marks[] = { "│", "、", "。", "」", "…" };
	char c = x->p[i], next = i + 1 < x->n ? x->p[i + 1] : ' ';
	bool last;

	if (isalnum((unsigned char)c))
		return false;
	last = isspace((unsigned char)next) || strchr("\"'`})]", next) != NULL;
	if (isspace((unsigned char)c) || c == '"' || c == '`')
		return true;
	for (size_t k = 0; k < sizeof marks / sizeof marks[0] && (unsigned char)c >= 0xe2; k++)
		if (lex_at(x, i, marks[k]))
			return true;
	if (c == '<')
		return next == '/';
	if (c == '\'')
		return last || strchr(",;", next) != NULL;
	if (c == '\\')
		return strchr("\"'n\\", next) != NULL;
	if (c == '%')
		return x->percent && (lex_at(x, i, "%26") || lex_at(x, i, "%22") || lex_at(x, i, "%2C") || lex_at(x, i, "%7D"));
	if (c == ',' || c == ';')
		return last || isalpha((unsigned char)next);
	if (c == '&') {
		size_t k = i + 1;

		while (k < x->n && (isalnum((unsigned char)x->p[k]) || x->p[k] == '_' || x->p[k] == '-'))
			k++;
		return k > i + 1 && k < x->n && x->p[k] == '=';
	}
	return false;
}

void
lex_bare(struct lex *x, struct keyed *k, size_t most)
{
	size_t i = x->at, round = 0;

	while (i < x->n && i - x->at < most && !stops(x, i)) {
		round += x->p[i] == '(' || x->p[i] == '[' || x->p[i] == '{';
		i++;
	}
	/* a bracket that was opened before the value closes behind it */
	while (i > x->at && strchr(",;)]}", x->p[i - 1]) != NULL && (round == 0 || strchr(",;", x->p[i - 1]) != NULL))
		i--;
	k->from = x->at;
	k->to = i;
}

bool
lex_value(struct lex *x, struct keyed *k, struct value *v)
{
	lex_blanks(x);
	skip_type(x);
	if (x->at + 1 < x->n && strchr("bruf@", x->p[x->at]) != NULL && (x->p[x->at + 1] == '"' || x->p[x->at + 1] == '\''))
		x->at++;
	if (x->at >= x->n)
		return false;
	v->quoted = lex_quote(x) != NULL;
	if (v->quoted && !quoted_value(x, k)) {
		/* cut off by the row's end: what there is of it */
		k->to = x->n;
		while (k->to > k->from && isspace((unsigned char)x->p[k->to - 1]))
			k->to--;
		v->quoted = memchr(x->p + k->from, ' ', k->to - k->from) == NULL;
	} else if (!v->quoted) {
		lex_bare(x, k, ENOUGH);
	}
	v->p = x->p + k->from;
	v->n = k->to - k->from;
	return v->n > 0;
}
