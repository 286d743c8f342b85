#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "scrub/match/match_private.h"

#define NO_BREAK "\xc2\xa0"	/* a blank, too */

static bool
assignment_word_at(const struct assignment_reader *x, size_t at, const char *word)
{
	size_t len;

	if (at >= x->n || x->p[at] != *word)
		return false;
	len = strlen(word);
	return at + len <= x->n && memcmp(x->p + at, word, len) == 0;
}

static bool
assignment_skip_word(struct assignment_reader *x, const char *word)
{
	if (!assignment_word_at(x, x->at, word))
		return false;
	x->at += strlen(word);
	return true;
}

/* A word at a place; one that stands at x->at is passed over; so are blanks, whose bytes are returned. */
static size_t
assignment_skip_blanks(struct assignment_reader *x)
{
	size_t from = x->at;

	while (x->at < x->n &&
	    (x->p[x->at] == ' ' || x->p[x->at] == '\t' || assignment_word_at(x, x->at, NO_BREAK)))
		x->at += x->p[x->at] == NO_BREAK[0] ? strlen(NO_BREAK) : 1;
	return x->at - from;
}

/*
 * What opens a string and closes it again, also where the text stands in a string once or twice,
 * in HTML or in a URL; the longest first.
 */
static const char *const quotes[] = { "\"\"\"", "'''", "&quot;", "\\\\\\\"", "\\\\\"", "%22", "\\\"", "\\'",
	"\"", "'", "`" };

static const char *
assignment_quote_before(const struct assignment_reader *x, size_t at)
{
	/* the last bytes of them */
	if (at == 0 || strchr("\"'`;2", x->p[at - 1]) == NULL)
		return "";
	for (size_t i = 0; i < sizeof quotes / sizeof quotes[0]; i++) {
		size_t len = strlen(quotes[i]);

		if (at >= len && x->p[at - 1] == quotes[i][len - 1] &&
		    memcmp(x->p + at - len, quotes[i], len) == 0)
			return quotes[i];
	}
	return "";
}

/* The quote that ends before `at`, or ""; the one that stands at x->at, or NULL. */
static const char *
assignment_quote_at(const struct assignment_reader *x)
{
	for (size_t i = 0; i < sizeof quotes / sizeof quotes[0]; i++)
		if (assignment_word_at(x, x->at, quotes[i]))
			return quotes[i];
	return NULL;
}

/* ---- the value ---- */

/* In "password: str = 'x'" the type is passed over. */
static void
skip_type(struct assignment_reader *x)
{
	size_t mark = x->at, at;

	if (assignment_skip_word(x, "&"))
		assignment_skip_word(x, "'static ");
	at = x->at;
	x->at = mark;
	if (at >= x->n || !isalpha((unsigned char)x->p[at]))
		return;
	while (at < x->n && at - x->at < ASSIGNMENT_ENOUGH &&
	    (isalnum((unsigned char)x->p[at]) || strchr("_.[]|<>", x->p[at]) != NULL))
		at++;
	if (at + 3 < x->n && memcmp(x->p + at, " = ", 3) == 0)
		x->at = at + 3;
}

static bool
quoted_value(struct assignment_reader *x, struct assignment *k)
{
	const char *close = assignment_quote_at(x);
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
is_value_end(const struct assignment_reader *x, size_t i)
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
		if (assignment_word_at(x, i, marks[k]))
			return true;
	if (c == '<')
		return next == '/';
	if (c == '\'')
		return last || strchr(",;", next) != NULL;
	if (c == '\\')
		return strchr("\"'n\\", next) != NULL;
	if (c == '%')
		return x->percent &&
		    (assignment_word_at(x, i, "%26") || assignment_word_at(x, i, "%22") ||
			assignment_word_at(x, i, "%2C") || assignment_word_at(x, i, "%7D"));
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

/* A value without quotes of at most so many bytes. */
static void
assignment_bare_value(struct assignment_reader *x, struct assignment *k, size_t most)
{
	size_t i = x->at, round = 0;

	while (i < x->n && i - x->at < most && !is_value_end(x, i)) {
		round += x->p[i] == '(' || x->p[i] == '[' || x->p[i] == '{';
		i++;
	}
	/* a bracket that was opened before the value closes behind it */
	while (i > x->at && strchr(",;)]}", x->p[i - 1]) != NULL &&
	    (round == 0 || strchr(",;", x->p[i - 1]) != NULL))
		i--;
	k->from = x->at;
	k->to = i;
}

/* The value at x->at, past blanks, a type and a string's prefix. False when there is none. */
static bool
assignment_value(struct assignment_reader *x, struct assignment *k, struct value *v)
{
	assignment_skip_blanks(x);
	skip_type(x);
	if (x->at + 1 < x->n && strchr("bruf@", x->p[x->at]) != NULL &&
	    (x->p[x->at + 1] == '"' || x->p[x->at + 1] == '\''))
		x->at++;
	if (x->at >= x->n)
		return false;
	v->quoted = assignment_quote_at(x) != NULL;
	if (v->quoted && !quoted_value(x, k)) {
		/* cut off by the row's end: what there is of it */
		k->to = x->n;
		while (k->to > k->from && isspace((unsigned char)x->p[k->to - 1]))
			k->to--;
		v->quoted = memchr(x->p + k->from, ' ', k->to - k->from) == NULL;
	} else if (!v->quoted) {
		assignment_bare_value(x, k, ASSIGNMENT_ENOUGH);
	}
	while (k->from < k->to && x->p[k->from] == ' ')
		k->from++;
	while (k->to > k->from && x->p[k->to - 1] == ' ')
		k->to--;
	v->p = x->p + k->from;
	v->n = k->to - k->from;
	return v->n > 0;
}

#define MAX_KEY 90
#define MAX_PROSE_KEY 40
#define MAX_GAP 40	/* blanks of an aligned table */

static bool
id_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* ---- the name ---- */

static void
name_around(struct assignment_line *line, size_t from, size_t to)
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
find_key(struct assignment_reader *x, size_t word_from, size_t word_to)
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
	if (a > 0 && a + 2 <= word_from && x->p[a - 1] == '%' && isxdigit((unsigned char)x->p[a]) &&
	    isxdigit((unsigned char)x->p[a + 1]))
		a += 2;
	if (b - a > MAX_KEY || a > word_from || b < word_to)
		return false;
	x->key_from = a;
	x->key_to = b;
	x->open = assignment_quote_before(x, a);
	x->env = true;
	for (size_t i = a; i < b && x->env; i++)
		x->env = !islower((unsigned char)x->p[i]);
	/* ${NAME} and $(NAME) name a secret, ${NAME:-value} may hold one */
	if (a >= 2 && x->p[a - 1] == '{' && x->p[a - 2] == '$')
		x->expansion = assignment_word_at(x, b, ":-") || assignment_word_at(x, b, ":=");
	return x->expansion || a < 2 || x->p[a - 1] != '{' || x->p[a - 2] != '$';
}

/*
 * "PASS: name of a test", also where a row above was taken for its beginning ("...sectionsPASS:
 * "), but not DB_PASS.
 */
static bool
is_verdict(const struct assignment_reader *x)
{
	size_t n = x->key_to - x->key_from, at = x->key_to - 4;

	return n >= 4 && x->open[0] == '\0' && assignment_word_at(x, at, "PASS: ") &&
	    (n == 4 || x->p[at - 1] == '.' || islower((unsigned char)x->p[at - 1]) ||
		isdigit((unsigned char)x->p[at - 1]));
}

/* ---- the separator ---- */

/* The text before the key on its line ends with one of the words that take "NAME value". */
static bool
takes_pair(const struct assignment_reader *x)
{
	static const char *const words[] = { "ENV ", "ARG ", "set -gx ", "set -x ", "set -Ux ", "set -U ",
		"setx ", "setenv ", "configure set ", "config set ", "secret set ", "variable set " };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		size_t len = strlen(words[i]);

		if (x->key_from >= len && memcmp(x->p + x->key_from - len, words[i], len) == 0)
			return true;
	}
	return false;
}

/* "login NAME" stands at most ENOUGH bytes before. */
static bool
login_before(struct assignment_line *line, size_t at)
{
	static const char word[] = "login ";
	size_t len = strlen(word), to = at > 0 ? at - 1 : 0;
	const char *p;

	while (line->read < to && (p = memmem(line->p + line->read, to - line->read, word, len)) != NULL)
		line->read = line->login = (size_t)(p - line->p) + len;
	/* the last bytes may begin one that ends further on */
	line->read = to >= line->read + len ? to - len + 1 : line->read;
	return line->login > 0 && line->login - len + ASSIGNMENT_ENOUGH >= at;
}

/* "machine HOST login NAME password VALUE", or "  password VALUE" alone on a row of such a file. */
static bool
is_netrc(const struct assignment_reader *x)
{
	size_t from = x->key_from, words = 0;

	if (x->key_to - from != 8 || memcmp(x->p + from, "password", 8) != 0)
		return false;
	if (login_before(x->line, from))
		return true;
	if (x->n > ASSIGNMENT_ENOUGH || strspn(x->p, " ") < from)
		return false;
	for (size_t i = x->key_to; i < x->n; i++)
		words += x->p[i] == ' ';
	return words == 1;
}

/* A sign between name and value. 0 when there is none. */
static bool
skip_sign(struct assignment_reader *x)
{
	static const char *const none[] = { "===", "==", "::", "=~", "=>{", ":/" };
	static const char *const longer[] = { ":::=", "::=", ".=", "+=" };
	static const char *const signs[] = { "=>", ":=", "?=", "=", ":", "%3D", "%3d", "%3A", "%3a", "：",
		"＝" };

	if (x->at >= x->n || memchr("=:?%.+\xef", x->p[x->at], 7) == NULL)
		return false;
	for (size_t i = 0; i < sizeof longer / sizeof longer[0]; i++)
		if (assignment_skip_word(x, longer[i]))
			return true;
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
		if (assignment_word_at(x, x->at, none[i]))
			return false;
	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
		if (assignment_skip_word(x, signs[i])) {
			x->percent = signs[i][0] == '%';
			assignment_skip_word(x, "**");
			return true;
		}
	return false;
}

/* "password  Xy7…": a table of two columns without bars, as vault prints one. */
static bool
skip_column_gap(struct assignment_reader *x, size_t gap)
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
opens_quote(const struct assignment_reader *x)
{
	const char *q = assignment_quote_at(x);

	return q != NULL && *q != '`';
}

/* NAME || "value", NAME or "value", NAME == "value". */
static bool
skip_operator(struct assignment_reader *x)
{
	static const char *const signs[] = { "|| ", "?? ", "or ", "=== ", "== ", "!== ", "!= ", "- " };
	size_t mark = x->at;

	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
		x->loose = x->loose || (assignment_skip_word(x, signs[i]) && opens_quote(x));
	if (!x->loose)
		x->at = mark;
	return x->loose;
}

/* "NAME string = ", "NAME[] = ", "NAME VARCHAR2(40) := ": a type between the name and its quoted value. */
static bool
skip_declared_type(struct assignment_reader *x)
{
	size_t mark = x->at, most = x->at + MAX_GAP, from;

	assignment_skip_blanks(x);
	from = x->at;
	while (x->at < x->n && x->at < most &&
	    (isalnum((unsigned char)x->p[x->at]) || strchr("_.*&[]<>()", x->p[x->at]) != NULL))
		x->at++;
	if (x->at > from && x->at < x->n && (x->p[x->at] == ' ' || x->p[x->at] == '=')) {
		assignment_skip_blanks(x);
		if ((assignment_skip_word(x, "=") || assignment_skip_word(x, ":=")) &&
		    !assignment_word_at(x, x->at, "=")) {
			assignment_skip_blanks(x);
			if (opens_quote(x))
				return true;
		}
	}
	x->at = mark;
	return false;
}

/* A row of base64 ends in "...cKEY" or ".../0plRPw": what follows in the row below is no value. */
static bool
is_base64_name(const struct assignment_reader *x)
{
	return x->key_to - x->key_from > MAX_PROSE_KEY ||
	    (x->key_from > 0 && strchr("+/", x->p[x->key_from - 1]) != NULL);
}

/* "token 8fK…", "the API key is 8fK…": nothing but blanks, or a verb, and a value that nobody types. */
static bool
skip_prose(struct assignment_reader *x)
{
	static const char *const verbs[] = { "is: ", "is ", "was " };

	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
		if (assignment_skip_word(x, verbs[i]))
			break;
	x->prose = !is_base64_name(x) && x->at < x->n &&
	    (isalnum((unsigned char)x->p[x->at]) || opens_quote(x));
	return x->prose;
}

/* Behind "<", or "<namespace:". */
static bool
opens_tag(const struct assignment_reader *x)
{
	size_t a = x->key_from;

	if (a > 1 && x->p[a - 1] == ':')
		for (a--; a > 0 && x->key_from - a < MAX_KEY && id_char(x->p[a - 1]); a--)
			;
	return a > 0 && x->p[a - 1] == '<';
}

/* <add key="NAME" value="...">, {"name": "NAME", "value": "..."}, setdefault("NAME", "...") */
static bool
value_attribute(struct assignment_reader *x)
{
	size_t mark = x->at;
	bool comma;

	assignment_skip_blanks(x);
	comma = assignment_skip_word(x, ",");
	assignment_skip_blanks(x);
	if (!assignment_skip_word(x, x->open))
		assignment_skip_word(x, "\"");
	if (assignment_skip_word(x, "value") || assignment_skip_word(x, "Value")) {
		if (!assignment_skip_word(x, x->open))
			assignment_skip_word(x, "\"");
		assignment_skip_blanks(x);
		return skip_sign(x);
	}
	x->at = mark;
	assignment_skip_blanks(x);
	/* variable "NAME" { default = "..." } */
	if (assignment_skip_word(x, "{")) {
		assignment_skip_blanks(x);
		if (assignment_skip_word(x, "default")) {
			assignment_skip_blanks(x);
			return skip_sign(x) && (assignment_skip_blanks(x), opens_quote(x));
		}
	}
	x->at = mark;
	assignment_skip_blanks(x);
	if (comma && assignment_skip_word(x, ",")) {
		assignment_skip_blanks(x);
		x->listed = opens_quote(x);
		return x->listed;
	}
	x->at = mark;
	return false;
}

/*
 * "NAME value: X", "NAME</key> <string>X</string>": the value to a name stands in a row of its
 * own (JOINED_PAIRS).
 */
static bool
next_row(struct assignment_reader *x)
{
	size_t mark = x->at;

	if (x->key_from > 0 && x->p[x->key_from - 1] == '>' &&
	    (assignment_skip_word(x, "</key>") || assignment_skip_word(x, "</name>"))) {
		assignment_skip_blanks(x);
		x->tag = assignment_skip_word(x, "<string>") || assignment_skip_word(x, "<value>");
		if (x->tag)
			return true;
	}
	x->at = mark;
	assignment_skip_blanks(x);
	if ((assignment_skip_word(x, "value") || assignment_skip_word(x, "Value")) && x->at - mark > 5) {
		assignment_skip_blanks(x);
		if (skip_sign(x))
			return true;
	}
	x->at = mark;
	return false;
}

/* The bar between two cells of a table, when the name is a cell of its own. */
static bool
skip_cell_bar(struct assignment_reader *x)
{
	size_t a = x->key_from - strlen(x->open);

	while (a > 0 && x->p[a - 1] == ' ')
		a--;
	if (a > 0 && x->p[a - 1] != '|' &&
	    (a < 3 || (memcmp(x->p + a - 3, "│", 3) != 0 && memcmp(x->p + a - 3, "┃", 3) != 0)))
		return false;
	if (assignment_word_at(x, x->at, "||"))
		return false;
	return assignment_skip_word(x, "|") || assignment_skip_word(x, "│") || assignment_skip_word(x, "┃");
}

/*
 * "|" or ">-" behind the sign: the value is a string of YAML in the row below (JOINED_PAIRS), and
 * all that is left of the line.
 */
static void
skip_block(struct assignment_reader *x)
{
	size_t mark = x->at;

	if (x->p[mark - 1] == ':' && assignment_skip_blanks(x) == 1 &&
	    (assignment_skip_word(x, "|") || assignment_skip_word(x, ">"))) {
		for (size_t i = 0; i < 2 && x->at < x->n && strchr("-+123456789", x->p[x->at]) != NULL; i++)
			x->at++;
		if (assignment_skip_blanks(x) == 1 && memchr(x->p + x->at, ' ', x->n - x->at) == NULL)
			return;
	}
	x->at = mark;
}

static bool
skip_separator(struct assignment_reader *x)
{
	bool quoted = x->open[0] != '\0' && assignment_skip_word(x, x->open);
	size_t gap, mark;

	if (quoted) {
		mark = x->at;
		if (value_attribute(x))
			return true;
		x->at = mark;
		if (assignment_skip_word(x, "]") || assignment_skip_word(x, ")"))
			assignment_skip_word(x, "\"");
	} else if (x->expansion) {
		x->at += 2;
		return true;
	} else if (next_row(x)) {
		return true;
	} else if (opens_tag(x) && assignment_skip_word(x, ">")) {
		x->tag = true;
		return true;
	}
	if (skip_declared_type(x))
		return true;
	assignment_skip_word(x, "?");
	assignment_skip_word(x, "**");
	gap = assignment_skip_blanks(x);
	if (gap > MAX_GAP || x->at >= x->n)
		return false;
	x->sign = skip_sign(x);
	if (x->sign) {
		skip_block(x);
		return true;
	}
	if (gap > 0 && skip_cell_bar(x))
		return true;
	if (gap == 0)
		return false;
	if (skip_operator(x))
		return true;
	if (assignment_skip_word(x, "-> ") || assignment_skip_word(x, "→ ")) {
		x->loose = true;
		return true;
	}
	if (x->flag)
		return x->p[x->at] != '-' && x->p[x->at] != '|';
	if (takes_pair(x) || is_netrc(x))
		return true;
	x->beside = opens_quote(x) && gap == 1 && !quoted;
	return x->beside || skip_column_gap(x, gap) || (!quoted && skip_prose(x));
}

/* What stands in a tag ends with the next one, or with the row when the value has a row of its own. */
static bool
ends_in_tag(const struct assignment_reader *x, size_t to)
{
	return assignment_word_at(x, to, "</") || (to == x->n && x->p[x->key_to] == '>');
}

/* --password=DB_PASSWORD, password: db_password: the value is a name itself. */
static bool
is_name(const struct rule_set *rules, const struct value *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (!isalpha((unsigned char)v->p[i]) && v->p[i] != '_' && v->p[i] != '-')
			return false;
	return rule_set_by_name(rules, v->p, v->n) != NULL;
}

/* Of a PGP key, as gpg takes them behind its options. */
static bool
is_fingerprint(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)p[i]) && (p[i] < 'A' || p[i] > 'F'))
			return false;
	return n == 16 || n == 40;
}

/* "key" alone is a word of code; NAME_key has a secret also where it is hexadecimal. */
static enum value_class
class_of(const struct assignment_reader *x, const struct rule *rule, const struct value *v)
{
	bool longer = x->key_to - x->key_from > strlen("key");

	if (rule->value != VALUE_RANDOM || !longer || is_fingerprint(v->p, v->n))
		return rule->value;
	return value_is_opaque(v->p, v->n) ? VALUE_OPAQUE : rule->value;
}

/* "--password options are": a word of the sentence in which the option is named. */
static bool
is_lower_word(const struct value *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (!islower((unsigned char)v->p[i]) && strchr(".,;:", v->p[i]) == NULL)
			return false;
	return true;
}

/*
 * "pass" is a verb and PWD a directory: behind these words alone only what no sentence has is a
 * password.
 */
static bool
is_weak_name(const struct assignment_reader *x)
{
	static const char *const words[] = { "pass", "pw", "pwd", "psk", "pat" };
	size_t n = x->key_to - x->key_from;

	if (x->key_from > 0 && x->p[x->key_from - 1] == '$' && n == 3)
		return true;
	for (size_t i = 0; i < sizeof words / sizeof words[0] && x->open[0] == '\0'; i++)
		if (n == strlen(words[i]) && strncasecmp(x->p + x->key_from, words[i], n) == 0)
			return !x->sign;
	return false;
}

bool
assignment_at(const struct rule_set *rules, struct assignment_line *line, size_t word_from, size_t word_to,
    struct assignment *k)
{
	const char *p = line->p;
	struct assignment_reader x = { .p = p, .n = line->n, .line = line, .open = "" };
	struct value v = { 0 };
	size_t after;
	bool tight, parted;

	if (!find_key(&x, word_from, word_to) || is_verdict(&x))
		return false;
	k->key_from = x.key_from;
	k->key_to = x.key_to;
	x.at = after = x.key_to;
	/* most names have no value behind them; that is quicker to see than which name it is */
	if (!skip_separator(&x))
		return false;
	parted = p[after] == ' ' && x.flag && !x.sign;
	k->rule = rule_set_by_name(rules, p + x.key_from, x.key_to - x.key_from);
	if (k->rule == NULL)
		return false;
	x.loose = x.loose || is_weak_name(&x);
	tight = x.at == after + 1 && p[after] == '=';
	if (!assignment_value(&x, k, &v))
		return false;
	if ((x.tag && !ends_in_tag(&x, k->to)) || (x.beside && memchr(v.p, ' ', v.n) != NULL) ||
	    (x.prose && !value_is_opaque(v.p, v.n)))
		return false;
	v.plain_env = x.flag || (x.env && tight) || x.tag;
	if (!value_is_secret(&v, class_of(&x, k->rule, &v)) || is_name(rules, &v) ||
	    (x.loose && !value_is_irregular(v.p, v.n)) ||
	    (parted && !v.quoted && is_lower_word(&v)) || (x.listed && value_has_words(v.p, v.n)))
		return false;
	if (!v.quoted && v.n >= ASSIGNMENT_ENOUGH - 8)
		assignment_bare_value(&x, k, line->n);
	return true;
}

/* What may stand between a name, blanks and a value: the first byte of what separator() takes there. */
static bool
may_part(const char *p, size_t n, size_t gap)
{
	static const char signs[] = "=:%?|!\"'`\\&*[.+\xc2\xef\xe2";
	size_t word = 0, digits = 0;

	if (gap > 1 || strchr(signs, *p) != NULL)
		return true;
	if (*p == '-')
		return n < 3 || (p[1] == '>' && p[2] == ' ') || (p[1] == ' ' && strchr("\"'", p[2]) != NULL);
	while (word < n && word < MAX_GAP && match_is_value_char((unsigned char)p[word]))
		digits += isdigit((unsigned char)p[word++]) != 0;
	/* a value that nobody types is long and has digits (skip_prose); a verb or a type is a short word */
	if (word == n || word >= 16)
		return word == n || word == MAX_GAP || digits > 0;
	if (word == 2 && (memcmp(p, "or", 2) == 0 || memcmp(p, "is", 2) == 0))
		return true;
	if (word == 3 && memcmp(p, "was", 3) == 0)
		return true;
	if (word == 5 && memcmp(p + 1, "alue", 4) == 0)
		return true;
	/* "string = " and its like */
	while (word < n && strchr("_.*&[]<>()", p[word]) != NULL)
		word++;
	return word + 1 >= n || (p[word] == ' ' && strchr("=:", p[word + 1]) != NULL) || p[word] == '=';
}

bool
assignment_may_follow(const char *p, size_t from, size_t at, size_t to, size_t end)
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
		return p[b - 1] != '-' && (p[b - 1] != '.' || p[b] == '=') &&
		    strchr("=:?*%><\"'`\\&[+\xef\xe2", p[b]) != NULL;
	for (gap = 0; b + gap < end && gap <= MAX_GAP && (p[b + gap] == ' ' || p[b + gap] == '\t'); gap++)
		;
	if (p[b] == '\xc2' || b + gap == end || may_part(p + b + gap, end - b - gap, gap))
		return true;
	/* --name value, ENV NAME value (takes_pair), login NAME password value (is_netrc) */
	return a < from + 2 || p[a] == '-' || (p[a - 1] == ' ' && strchr("VGxUvt", p[a - 2]) != NULL) ||
	    (b - a >= 8 && memcmp(p + b - 8, "password", 8) == 0);
}
