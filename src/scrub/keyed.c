#include <ctype.h>
#include <string.h>

#include "scrub/keyed.h"
#include "scrub/keyed_private.h"
#include "scrub/value.h"

#define MAX_KEY 90
#define MAX_GAP 40	/* blanks of an aligned table */

static bool
id_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* ---- the name ---- */

static void
name_around(struct keyed_line *line, size_t from, size_t to)
{
	if (from >= line->name_from && to <= line->name_to)
		return;
	line->name_from = from;
	line->name_to = to;
	while (line->name_from > 0 && id_char(line->p[line->name_from - 1]))
		line->name_from--;
	while (line->name_to < line->n && id_char(line->p[line->name_to]))
		line->name_to++;
}

static bool
find_key(struct lex *x, size_t word_from, size_t word_to)
{
	size_t a, b;

	name_around(x->line, word_from, word_to);
	a = word_from - x->line->name_from < MAX_KEY ? x->line->name_from : word_from - MAX_KEY;
	b = x->line->name_to - word_to < MAX_KEY ? x->line->name_to : word_to + MAX_KEY;
	while (b > a && (x->p[b - 1] == '.' || x->p[b - 1] == '-'))
		b--;
	x->flag = a + 1 < b && x->p[a] == '-' && !isdigit((unsigned char)x->p[a + 1]);
	while (a < b && (x->p[a] == '-' || x->p[a] == '.'))
		a++;
	/* java -Dname=value */
	if (x->flag && a < word_from && x->p[a] == 'D' && a > 0 && x->p[a - 1] == '-')
		a++;
	/* after an escape as in "...\nPASSWORD=" the n is no part of the name */
	if (a > 0 && a < word_from && x->p[a - 1] == '\\' && strchr("nrt", x->p[a]) != NULL)
		a++;
	/* %26password: the 26 is none either */
	if (a > 0 && a + 2 <= word_from && x->p[a - 1] == '%' && isxdigit((unsigned char)x->p[a]) && isxdigit((unsigned char)x->p[a + 1]))
		a += 2;
	if (b - a > MAX_KEY || a > word_from || b < word_to)
		return false;
	x->key_from = a;
	x->key_to = b;
	x->open = lex_quote_before(x, a);
	x->env = true;
	for (size_t i = a; i < b && x->env; i++)
		x->env = !islower((unsigned char)x->p[i]);
	/* ${NAME} and $(NAME) name a secret, ${NAME:-value} may hold one */
	if (a >= 2 && x->p[a - 1] == '{' && x->p[a - 2] == '$')
		x->expansion = lex_at(x, b, ":-") || lex_at(x, b, ":=");
	return x->expansion || a < 2 || x->p[a - 1] != '{' || x->p[a - 2] != '$';
}

/* "PASS: name of a test", also where a row above was taken for its beginning ("...sectionsPASS: "), but not DB_PASS. */
static bool
is_verdict(const struct lex *x)
{
	size_t n = x->key_to - x->key_from, at = x->key_to - 4;

	return n >= 4 && x->open[0] == '\0' && lex_at(x, at, "PASS: ") &&
	    (n == 4 || islower((unsigned char)x->p[at - 1]) || isdigit((unsigned char)x->p[at - 1]));
}

/* ---- the separator ---- */

/* The text before the key on its line ends with one of the words that take "NAME value". */
static bool
takes_pair(const struct lex *x)
{
	static const char *const words[] = { "ENV ", "ARG ", "set -gx ", "set -x ", "set -Ux ", "set -U ", "setx ", "setenv ",
	    "configure set ", "config set ", "secret set ", "variable set " };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		size_t len = strlen(words[i]);

		if (x->key_from >= len && memcmp(x->p + x->key_from - len, words[i], len) == 0)
			return true;
	}
	return false;
}

/* "login NAME" stands at most ENOUGH bytes before. */
static bool
login_before(struct keyed_line *line, size_t at)
{
	static const char word[] = "login ";
	size_t len = strlen(word), to = at > 0 ? at - 1 : 0;
	const char *p;

	while (line->read < to && (p = memmem(line->p + line->read, to - line->read, word, len)) != NULL)
		line->read = line->login = (size_t)(p - line->p) + len;
	/* the last bytes may begin one that ends further on */
	line->read = to >= line->read + len ? to - len + 1 : line->read;
	return line->login > 0 && line->login - len + ENOUGH >= at;
}

/* "machine HOST login NAME password VALUE", or "  password VALUE" alone on a row of such a file. */
static bool
is_netrc(const struct lex *x)
{
	size_t from = x->key_from, words = 0;

	if (x->key_to - from != 8 || memcmp(x->p + from, "password", 8) != 0)
		return false;
	if (login_before(x->line, from))
		return true;
	if (x->n > ENOUGH || strspn(x->p, " ") < from)
		return false;
	for (size_t i = x->key_to; i < x->n; i++)
		words += x->p[i] == ' ';
	return words == 1;
}

/* A sign between name and value. 0 when there is none. */
static bool
sign(struct lex *x)
{
	static const char *const none[] = { "===", "==", "::", "=~", "=>{", ":/" };
	static const char *const signs[] = { "=>", ":=", "?=", "=", ":", "%3D", "%3d", "%3A", "%3a", "：", "＝" };

	if (x->at >= x->n || memchr("=:?%\xef", x->p[x->at], 5) == NULL)
		return false;
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
		if (lex_at(x, x->at, none[i]))
			return false;
	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
		if (lex_skip(x, signs[i])) {
			x->percent = signs[i][0] == '%';
			lex_skip(x, "**");
			return true;
		}
	return false;
}

/* "password  Xy7…": a table of two columns without bars, as vault prints one. */
static bool
columns(struct lex *x, size_t gap)
{
	size_t i = x->at;

	for (size_t k = 0; k < x->key_from; k++)
		if (x->p[k] != ' ')
			return false;
	while (i < x->n && x->p[i] != ' ' && x->p[i] != '\t')
		i++;
	while (i < x->n && isspace((unsigned char)x->p[i]))
		i++;
	x->loose = gap >= 2 && i == x->n;
	return x->loose;
}

static bool
opens_quote(const struct lex *x)
{
	const char *q = lex_quote(x);

	return q != NULL && *q != '`';
}

/* NAME || "value", NAME or "value", NAME == "value". */
static bool
beside_sign(struct lex *x)
{
	static const char *const signs[] = { "|| ", "?? ", "or ", "=== ", "== ", "!== ", "!= " };
	size_t mark = x->at;

	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
		x->loose = x->loose || (lex_skip(x, signs[i]) && opens_quote(x));
	if (!x->loose)
		x->at = mark;
	return x->loose;
}

/* Behind "<", or "<namespace:". */
static bool
opens_tag(const struct lex *x)
{
	size_t a = x->key_from;

	if (a > 1 && x->p[a - 1] == ':')
		for (a--; a > 0 && x->key_from - a < MAX_KEY && id_char(x->p[a - 1]); a--)
			;
	return a > 0 && x->p[a - 1] == '<';
}

/* <add key="NAME" value="...">, {"name": "NAME", "value": "..."}, setdefault("NAME", "...") */
static bool
value_attribute(struct lex *x)
{
	size_t mark = x->at;
	bool comma;

	lex_blanks(x);
	comma = lex_skip(x, ",");
	lex_blanks(x);
	if (!lex_skip(x, x->open))
		lex_skip(x, "\"");
	if (lex_skip(x, "value") || lex_skip(x, "Value")) {
		if (!lex_skip(x, x->open))
			lex_skip(x, "\"");
		lex_blanks(x);
		return sign(x);
	}
	x->at = mark;
	lex_blanks(x);
	if (comma && lex_skip(x, ",")) {
		lex_blanks(x);
		return opens_quote(x);
	}
	x->at = mark;
	return false;
}

/* "NAME value: X", "NAME</key> <string>X</string>": the value to a name stands in a row of its own (VIEW_PAIRS). */
static bool
next_row(struct lex *x)
{
	size_t mark = x->at;

	if (x->key_from > 0 && x->p[x->key_from - 1] == '>' && (lex_skip(x, "</key>") || lex_skip(x, "</name>"))) {
		lex_blanks(x);
		x->tag = lex_skip(x, "<string>") || lex_skip(x, "<value>");
		if (x->tag)
			return true;
	}
	x->at = mark;
	lex_blanks(x);
	if ((lex_skip(x, "value") || lex_skip(x, "Value")) && x->at - mark > 5) {
		lex_blanks(x);
		if (sign(x))
			return true;
	}
	x->at = mark;
	return false;
}

/* The bar between two cells of a table, when the name is a cell of its own. */
static bool
cell(struct lex *x)
{
	size_t a = x->key_from - strlen(x->open);

	while (a > 0 && x->p[a - 1] == ' ')
		a--;
	if (a > 0 && x->p[a - 1] != '|' && (a < 3 || (memcmp(x->p + a - 3, "│", 3) != 0 && memcmp(x->p + a - 3, "┃", 3) != 0)))
		return false;
	if (lex_at(x, x->at, "||"))
		return false;
	return lex_skip(x, "|") || lex_skip(x, "│") || lex_skip(x, "┃");
}

/* "|" or ">-" behind the sign: the value is a string of YAML in the row below (VIEW_PAIRS), and all that is left of the line. */
static void
skip_block(struct lex *x)
{
	size_t mark = x->at;

	if (x->p[mark - 1] == ':' && lex_blanks(x) == 1 && (lex_skip(x, "|") || lex_skip(x, ">"))) {
		for (size_t i = 0; i < 2 && x->at < x->n && strchr("-+123456789", x->p[x->at]) != NULL; i++)
			x->at++;
		if (lex_blanks(x) == 1 && memchr(x->p + x->at, ' ', x->n - x->at) == NULL)
			return;
	}
	x->at = mark;
}

static bool
separator(struct lex *x)
{
	bool quoted = x->open[0] != '\0' && lex_skip(x, x->open);
	size_t gap, mark;

	if (quoted) {
		mark = x->at;
		if (value_attribute(x))
			return true;
		x->at = mark;
		if (lex_skip(x, "]") || lex_skip(x, ")"))
			lex_skip(x, "\"");
	} else if (x->expansion) {
		x->at += 2;
		return true;
	} else if (next_row(x)) {
		return true;
	} else if (opens_tag(x) && lex_skip(x, ">")) {
		x->tag = true;
		return true;
	}
	lex_skip(x, "?");
	lex_skip(x, "**");
	gap = lex_blanks(x);
	if (gap > MAX_GAP || x->at >= x->n)
		return false;
	if (sign(x)) {
		skip_block(x);
		return true;
	}
	if (gap > 0 && cell(x))
		return true;
	if (gap == 0)
		return false;
	if (beside_sign(x))
		return true;
	if (lex_skip(x, "-> ") || lex_skip(x, "→ ")) {
		x->loose = true;
		return true;
	}
	if (x->flag)
		return x->p[x->at] != '-' && x->p[x->at] != '|';
	if (takes_pair(x) || is_netrc(x))
		return true;
	x->beside = opens_quote(x) && gap == 1 && !quoted;
	return x->beside || columns(x, gap);
}

/* --password=DB_PASSWORD, password: db_password: the value is a name itself. */
static bool
is_name(const struct rules *rules, const struct value *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (!isalpha((unsigned char)v->p[i]) && v->p[i] != '_' && v->p[i] != '-')
			return false;
	return rules_name(rules, v->p, v->n) != NULL;
}

bool
keyed_at(const struct rules *rules, struct keyed_line *line, size_t word_from, size_t word_to, struct keyed *k)
{
	const char *p = line->p;
	struct lex x = { .p = p, .n = line->n, .line = line, .open = "" };
	struct value v = { 0 };
	size_t after;
	bool tight;

	if (!find_key(&x, word_from, word_to) || is_verdict(&x))
		return false;
	k->key_from = x.key_from;
	k->key_to = x.key_to;
	x.at = after = x.key_to;
	/* most names have no value behind them; that is quicker to see than which name it is */
	if (!separator(&x))
		return false;
	k->rule = rules_name(rules, p + x.key_from, x.key_to - x.key_from);
	if (k->rule == NULL)
		return false;
	tight = x.at == after + 1 && p[after] == '=';
	if (!lex_value(&x, k, &v))
		return false;
	if ((x.tag && !lex_at(&x, k->to, "</")) || (x.beside && memchr(v.p, ' ', v.n) != NULL))
		return false;
	v.plain_env = x.flag || (x.env && tight) || x.tag;
	if (!value_is_secret(&v, k->rule->value) || is_name(rules, &v) || (x.loose && !value_is_strange(v.p, v.n)))
		return false;
	if (!v.quoted && v.n >= ENOUGH - 8)
		lex_bare(&x, k, line->n);
	return true;
}

/* What may stand between a name, blanks and a value: the first byte of what separator() takes there. */
static bool
may_part(const char *p, size_t n, size_t gap)
{
	static const char signs[] = "=:%?|!\"'`\\&\xc2\xef\xe2";

	if (gap > 1 || strchr(signs, *p) != NULL)
		return true;
	switch (*p) {
	case 'o':
		return n < 3 || memcmp(p, "or ", 3) == 0;
	case '-':
		return n < 3 || memcmp(p, "-> ", 3) == 0;
	case 'v':
	case 'V':
		return n < 5 || memcmp(p + 1, "alue", 4) == 0;
	}
	return false;
}

bool
keyed_may(const char *p, size_t from, size_t at, size_t to, size_t end)
{
	size_t a = at, b = to, gap;

	while (b < end && b - to < MAX_KEY && id_char(p[b]))
		b++;
	while (a > from && at - a < MAX_KEY && id_char(p[a - 1]))
		a--;
	/* a stretch that long is no name, but for what find_key() takes off at its ends */
	if (b == end || b - to == MAX_KEY || at - a == MAX_KEY)
		return true;
	/* "\"'`\\&%" end or begin quotes, NO_BREAK begins with \xc2 */
	if (p[b] != ' ' && p[b] != '\t' && p[b] != '\xc2')
		return p[b - 1] != '-' && p[b - 1] != '.' && strchr("=:?*%><\"'`\\&\xef\xe2", p[b]) != NULL;
	for (gap = 0; b + gap < end && gap <= MAX_GAP && (p[b + gap] == ' ' || p[b + gap] == '\t'); gap++)
		;
	if (p[b] == '\xc2' || b + gap == end || may_part(p + b + gap, end - b - gap, gap))
		return true;
	/* --name value, ENV NAME value (takes_pair), login NAME password value (is_netrc) */
	return a < from + 2 || p[a] == '-' || (p[a - 1] == ' ' && strchr("VGxUvt", p[a - 2]) != NULL) ||
	    (b - a >= 8 && memcmp(p + b - 8, "password", 8) == 0);
}
