#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "scrub/match/match_private.h"

/* "[31m" ends at `at`, behind its m: a colour as source code, logs and JSON write it out. */
static bool
colour_ends(const char *text, size_t from, size_t at)
{
	size_t i = at - 1, least = at - from < 24 ? from : at - 24;

	while (i > least &&
	    (text[i - 1] == ';' || text[i - 1] == ':' || (text[i - 1] >= '0' && text[i - 1] <= '9')))
		i--;
	return i > from && text[i - 1] == '[';
}

bool
match_word_begins(const char *text, size_t from, size_t at, bool strict)
{
	unsigned char c;

	if (at == from)
		return true;
	c = (unsigned char)text[at - 1];
	if (strict && (c == '-' || c == '.' || c == '/'))
		return at - from >= 3 &&
		    (memcmp(text + at - 3, "://", 3) == 0 || memcmp(text + at - 3, "...", 3) == 0);
	if (!match_is_word_char(c))
		return true;
	if (at - from >= 2 && text[at - 2] == '\\' && (c == 'n' || c == 'r' || c == 't'))
		return true;
	return (at - from >= 3 && text[at - 3] == '%') || (c == 'm' && colour_ends(text, from, at));
}

bool
match_word_ends(const char *text, size_t n, size_t at, bool strict)
{
	unsigned char c;

	if (at >= n)
		return true;
	c = (unsigned char)text[at];
	if (strict && (c == '-' || c == '/'))
		return false;
	if (strict && c == '.')
		return at + 1 >= n || !match_is_word_char((unsigned char)text[at + 1]);
	return !match_is_word_char(c);
}

#define OPAQUE 16	/* bytes */

/* ---- counting ---- */

struct char_count {
	size_t lower, upper, digit, other, blank;
	size_t changes;		/* how often the kind of character changes */
};

static int
kind_of(unsigned char c)
{
	return islower(c) ? 1 : isupper(c) ? 2 : isdigit(c) ? 3 : c == ' ' ? 4 : 5;
}

static struct char_count
count_chars(const char *p, size_t n)
{
	struct char_count c = { 0 };
	int last = 0;

	for (size_t i = 0; i < n; i++) {
		int k = kind_of((unsigned char)p[i]);

		c.lower += k == 1;
		c.upper += k == 2;
		c.digit += k == 3;
		c.blank += k == 4;
		c.other += k == 5;
		c.changes += i > 0 && k != last;
		last = k;
	}
	return c;
}

static bool
all_of(const char *p, size_t n, const char *set)
{
	for (size_t i = 0; i < n; i++)
		if (strchr(set, p[i]) == NULL || p[i] == '\0')
			return false;
	return true;
}

static bool
has_word(const char *p, size_t n, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= n; i++)
		if (tolower((unsigned char)p[i]) == word[0] && strncasecmp(p + i, word, len) == 0)
			return true;
	return false;
}

bool
value_is_random(const char *p, size_t n)
{
	struct char_count c = count_chars(p, n);

	if (n < 16 || c.blank > 0)
		return false;
	if (all_of(p, n, "0123456789abcdef") || all_of(p, n, "0123456789ABCDEF"))
		return n >= 32 && c.digit >= 4 && c.digit + 4 <= n;
	if (c.lower > 0 && c.upper > 0 && c.digit > 0)
		return c.changes * 4 >= n;
	return c.digit >= 3 && c.lower + c.upper >= 3 && c.changes * 4 >= n && c.other * 6 <= n;
}

/*
 * Ed25519PrivateKey, AfterValueToken: chunks of a capital and small letters, of capitals, or of
 * digits, that are three characters long as a mean. Random characters change more often.
 */
static bool
is_camel(const char *p, size_t n)
{
	int first = kind_of((unsigned char)p[0]);
	size_t chunks = 1, upper = first == 2, numbers = first == 3;

	for (size_t i = 1; i < n; i++) {
		int is = kind_of((unsigned char)p[i]), was = kind_of((unsigned char)p[i - 1]);
		bool capital = is == 1 && was == 2 && (i < 2 || kind_of((unsigned char)p[i - 2]) != 2);

		chunks += is != was && !capital;
		upper += is == 2 && was != 2;
		numbers += is == 3 && was != 3;
	}
	return upper > 1 && numbers <= 2 && n >= 6 && chunks * (n < 24 ? 3 : 4) <= n;
}

/* Access, SECRET, token */
static bool
is_capitalised(const char *p, size_t n)
{
	struct char_count c = count_chars(p, n);

	return c.changes == 0 || (c.changes == 1 && c.upper == 1 && isupper((unsigned char)p[0]));
}

/* Characters that belong to words of a name: letters, digits behind them, or digits alone, and signs. */
static size_t
count_wordy(const char *p, size_t n)
{
	size_t wordy = 0;

	for (size_t i = 0; i < n;) {
		size_t from = i, letters;

		while (i < n && isalpha((unsigned char)p[i]))
			i++;
		letters = i - from;
		while (i < n && isdigit((unsigned char)p[i]))
			i++;
		if (i == n || !isalnum((unsigned char)p[i])) {
			wordy += letters != 1 && (letters < 6 || is_camel(p + from, letters) ||
				     is_capitalised(p + from, letters))
			    ? i - from
			    : 0;
		} else {
			while (i < n && isalnum((unsigned char)p[i]))
				i++;
			wordy += is_camel(p + from, i - from) ? i - from : 0;
		}
		for (; i < n && !isalnum((unsigned char)p[i]); i++)
			wordy++;
	}
	return wordy;
}

static bool
is_uuid(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? p[i] != '-' : !isalnum((unsigned char)p[i]))
			return false;
	return n == 36;
}

bool
value_has_words(const char *p, size_t n)
{
	/* between the signs of base64 short stretches look like words */
	if (memchr(p, '+', n) != NULL || memchr(p, '/', n) != NULL || p[n - 1] == '=')
		return false;
	return count_wordy(p, n) * 2 > n;
}

bool
value_is_opaque(const char *p, size_t n)
{
	struct char_count c = count_chars(p, n);
	size_t letters = c.lower + c.upper;

	if (n < OPAQUE || c.digit < 2 || letters < 2 || (n < 40 && p[0] == '0' && (p[1] | 0x20) == 'x'))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!match_is_value_char((unsigned char)p[i]) ||
		    (p[i] == '=' && i + 2 < n && p[n - 1] != '='))
			return false;
	/* a file, or several: in base64 less than two thirds look like words */
	if (memchr(p, '/', n) != NULL && count_wordy(p, n) * 3 > n * 2)
		return false;
	if (is_uuid(p, n) || all_of(p, n, "0123456789abcdefABCDEF"))
		return true;
	return c.changes * 5 >= n && !value_has_words(p, n);
}

bool
value_is_irregular(const char *p, size_t n)
{
	struct char_count c = count_chars(p, n);

	return n >= 8 && c.blank == 0 && c.digit > 0 && c.digit < n &&
	    (c.upper > 0 || c.other > 0 || value_is_random(p, n));
}

/* ---- what is no secret ---- */

bool
value_is_sample(const char *p, size_t n)
{
	size_t same = 0;

	if (n > 400)
		return false;
	for (size_t i = 1; i < n; i++)
		same += p[i] == p[i - 1];
	return same * 2 >= n || memmem(p, n, "EXAMPLE", 7) != NULL || memmem(p, n, "xxxxxxxx", 8) != NULL;
}

/* Letters of both cases and digits that change all the time, also where there are few of them. */
static bool
is_jumble(const char *p, size_t n)
{
	struct char_count c = count_chars(p, n);

	return n >= 6 && c.lower > 0 && c.upper > 0 && c.digit > 0 && c.changes * 2 >= n;
}

/*
 * $NAME, ${NAME}, $(cmd), $1, $NAME/x, $a->b, $a['b']; not $eeE*5be9 and not the hashes $2b$, $6$
 * and their like.
 */
static bool
is_variable(const char *p, size_t n)
{
	size_t i = 1;

	if (n > 2 && (p[0] == '!' || p[0] == '\\') && p[1] == '$')
		return is_variable(p + 1, n - 1);
	if (p[0] != '$' || n == 1)
		return p[0] == '$';
	if (isdigit((unsigned char)p[1]))
		return n == 2;
	while (i < n && (isalnum((unsigned char)p[i]) || p[i] == '_'))
		i++;
	if (i == n)
		return !is_jumble(p + 1, n - 1);
	return strchr(i > 1 ? "./:->[({)]},;&|'\"$ @\\" : "({[\"'@*#?!$", p[i]) != NULL;
}

/* <token>, also with words behind it, and where the end is cut off. */
static bool
is_angled(const char *p, size_t n)
{
	return p[0] == '<' && (memchr(p, '>', n) != NULL || !value_is_irregular(p, n));
}

bool
value_is_placeholder(const char *p, size_t all)
{
	static const char *const words[] = { "your", "example", "placeholder", "changeme", "change-me",
		"change_me", "redacted", "insert-", "dummy", "<your", "replace", "not-set", "undefined",
		"anonymous" };
	static const char *const whole[] = { "password", "passwd", "pass", "pwd", "passphrase", "secret",
		"token", "key", "api-key", "api_key", "apikey", "none", "null", "string",
		"todo", "!vault", "arg" };
	size_t same = 1, n = all < 200 ? all : 200;

	if (n == 0 || is_variable(p, n) || is_angled(p, n) || (n > 1 && p[0] == '{' && p[1] == '{') ||
	    (p[0] == '%' && n > 2 && p[n - 1] == '%'))
		return true;
	if (n > 1 &&
	    ((p[0] == '#' && p[1] == '{') || (p[0] == '@' && p[1] == '{') ||
		(p[0] == '[' && p[n - 1] == ']')))
		return true;
	for (size_t i = 1; i < n; i++)
		same += p[i] == p[0];
	if (same * 10 >= n * 8 || all_of(p, n, "xX-_.*#?:%s") || has_word(p, n, "xxxxx") ||
	    has_word(p, n, "*****") || has_word(p, n, "..."))
		return true;
	if (memmem(p, n, "…", strlen("…")) != NULL ||
	    (n > 4 && (memcmp(p, "&lt;", 4) == 0 || memcmp(p, "&#x3", 4) == 0)))
		return true;
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (has_word(p, n, words[i]))
			return true;
	for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
		if (n == strlen(whole[i]) && strncasecmp(p, whole[i], n) == 0)
			return true;
	return false;
}

/*
 * user.token, config->key, Token::Identifier, self.password, a call( or an index[: code that
 * names a secret and holds none.
 */
static bool
is_reference(const char *p, size_t n, bool quoted)
{
	size_t i = 0, parts = 0;

	while (i < n && (p[i] == '&' || p[i] == '*' || p[i] == '!' || p[i] == '\\'))
		i++;
	while (i < n && (isalpha((unsigned char)p[i]) || p[i] == '_' || p[i] == '@')) {
		size_t from = i;

		while (i < n && (isalnum((unsigned char)p[i]) || p[i] == '_' || p[i] == '?' || p[i] == '!'))
			i++;
		if (value_is_random(p + from, i - from) || (quoted && is_jumble(p + from, i - from)))
			return false;
		parts++;
		if (i == n)
			return parts > 1;
		if (p[i] == '(' || p[i] == '[' ||
		    (p[i] == '<' && i + 1 < n && isalpha((unsigned char)p[i + 1])))
			return !quoted || strchr(")]>", p[n - 1]) != NULL;
		/* arguments of a call, whose rows were taken for one */
		if (p[i] == ',' && !quoted && parts > 1)
			return true;
		if (p[i] == '.')
			i++;
		else if (i + 1 < n && ((p[i] == ':' && p[i + 1] == ':') || (p[i] == '-' && p[i + 1] == '>')))
			i += 2;
		else
			return false;
	}
	return false;
}

/* A part of a path: a word, in one case or in camel case. */
static bool
is_part(const char *p, size_t n)
{
	struct char_count c = count_chars(p, n);

	if (n == 0 || c.blank > 0)
		return false;
	return c.upper == 0 || c.lower == 0 || (c.digit == 0 && c.other == 0 && c.changes <= 3);
}

/*
 * Random bytes in base64 may begin with "/" and have many: the rest of them changes its kind more
 * often than names do.
 */
static bool
is_base64(const char *p, size_t n)
{
	size_t changes = 0;
	struct char_count c = count_chars(p, n);

	for (size_t i = 1; i < n; i++)
		changes += kind_of((unsigned char)p[i]) < 4 && kind_of((unsigned char)p[i - 1]) < 4 &&
		    kind_of((unsigned char)p[i]) != kind_of((unsigned char)p[i - 1]);
	return n >= 16 && c.lower > 0 && c.upper > 0 && c.digit > 0 && changes * 3 >= n;
}

static bool
is_path(const char *p, size_t n)
{
	size_t from = 0, parts = 0, words = 0;

	if (memchr(p, '/', n) == NULL)
		return false;
	if (has_word(p, n, "://"))
		return true;
	if (is_base64(p, n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (strchr("^!;|", p[i]) != NULL)
			return false;
	for (size_t i = 0; i <= n; i++) {
		if (i < n && p[i] != '/')
			continue;
		if (value_is_random(p + from, i - from))
			return false;
		words += is_part(p + from, i - from);
		parts++;
		from = i + 1;
	}
	if (parts >= 3 && words == parts)
		return true;
	if (p[0] == '/' || p[0] == '~' || (p[0] == '.' && n > 1 && (p[1] == '/' || p[1] == '.')))
		return true;
	/* docs/rotating.md, src/auth/token.ts */
	for (size_t i = n; i > 0 && n - i < 6; i--)
		if (p[i - 1] == '.' && i < n && isalpha((unsigned char)p[i]))
			return true;
	return false;
}

/* 43,210  3.5k  12.4%  2026-11-21T10:00:00Z  1.2.3  15m  0x1f  #ff00aa  192.0.2.1 */
static bool
is_number(const char *p, size_t n)
{
	size_t i = 0, letters = 0;

	if (n > 1 && p[0] == '#' && all_of(p + 1, n - 1, "0123456789abcdefABCDEF") && n <= 9)
		return true;
	if (n > 1 && (p[0] == 'v' || p[0] == '~' || p[0] == '^' || p[0] == '>' || p[0] == '<'))
		i = 1;
	if (i == n || (!isdigit((unsigned char)p[i]) && p[i] != '-' && p[i] != '+'))
		return false;
	/* hexadecimal and UUIDs with few letters */
	if (n >= 32 && all_of(p, n, "0123456789abcdef-") && !all_of(p, n, "0123456789-"))
		return false;
	for (; i < n; i++) {
		if (isdigit((unsigned char)p[i]) || strchr(".,:-+_/%", p[i]) != NULL)
			continue;
		if (!isalpha((unsigned char)p[i]) || ++letters > 3)
			return false;
	}
	return true;
}

/*
 * What recovery needs stays: ids of messages, tool calls and requests. So do keys that are made
 * to be published.
 */
static bool
is_work_id(const char *p, size_t n)
{
	static const char *const heads[] = { "toolu_", "msg_", "req_", "call_", "sha256:", "sha512-", "sha1-",
		"h1:", "arn:", "ssh-rsa", "ssh-ed25519", "pk_live_", "pk_test_", "pk.eyJ", "phc_",
		"sb_publishable_", "rzp_pub_", "FLWPUBK", "pk-lf-", "MFkwEwYHKoZIzj0", "MHYwEAYHKoZIzj0",
		"MCowBQYDK2V", "MIGfMA0GCSqGSIb3DQEBA", "MIIBIjANBgkqhkiG9w0B", "MIICIjANBgkqhkiG9w0B" };

	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
		if (n > strlen(heads[i]) && memcmp(p, heads[i], strlen(heads[i])) == 0)
			return true;
	return false;
}

/* Words of most languages have a vowel in three letters. */
static bool
few_vowels(const char *p, size_t n)
{
	size_t vowels = 0;

	for (size_t i = 0; i < n; i++)
		vowels += strchr("aeiouyAEIOUY", p[i]) != NULL;
	return vowels * 4 <= n;
}

/* "\\fIname\\fR", "a\\-b": markup of manual pages; [a-z]*, (?:…), \\d+: a regular expression. */
static bool
is_markup(const char *p, size_t n)
{
	static const char *const parts[] = { "[^", "(?:", "(?=", "(?!", "[a-z", "[A-Z", "[0-9", ")*", "]*",
		"]+", ")+", "{1,", "\\d", "\\w", "\\*", "\\s", "\\f", "\\-", "\\&", "\\(", "\\e" };

	if (memchr(p, '\\', n) == NULL && memchr(p, '[', n) == NULL && memchr(p, '(', n) == NULL)
		return false;
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (memmem(p, n, parts[i], strlen(parts[i])) != NULL)
			return true;
	return false;
}

/* q{Federal State}, PASSWORD(x), password!r}, user:UID:GID: what code and descriptions of formats have. */
static bool
is_code(const struct value *v)
{
	size_t colons = 0, i = 0;

	if (v->quoted)
		return strchr(",;)", v->p[0]) != NULL && v->n > 1 && isspace((unsigned char)v->p[1]);
	while (i < v->n && i < 12 && (isalpha((unsigned char)v->p[i]) || v->p[i] == '_'))
		i++;
	if (i > 0 && i + 1 < v->n && v->p[i + 1] != '{' &&
	    (v->p[i] == '{' || v->p[i] == '(' || (v->p[i] == '!' && v->p[v->n - 1] == '}')))
		return true;
	for (i = 0; i < v->n && (isalpha((unsigned char)v->p[i]) || strchr("_:.", v->p[i]) != NULL); i++)
		colons += v->p[i] == ':';
	return (i == v->n && colons >= 2) || memmem(v->p, v->n, ":::", 3) != NULL ||
	    (v->n > 4 && memcmp(v->p + v->n - 2, "::", 2) == 0);
}

/* ---- the verdict ---- */

static bool
password_like(const struct value *v, const struct char_count *c)
{
	bool strange = c->other > 0 &&
	    !all_of(v->p, v->n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ -_.,:;'()?/\"");

	if (v->n < 5)
		return false;
	if (v->quoted && v->n == strlen("abcd efgh ijkl mnop") && c->lower == 16 && v->p[4] == ' ' &&
	    v->p[9] == ' ' && v->p[14] == ' ')
		return true;
	if (c->blank > 0)	/* "-z9 -v" are options */
		return v->quoted && v->p[0] != '-' && c->blank <= 6 && v->n <= 80 &&
		    (c->digit > 0 || strange) && c->lower + c->upper > 0 &&
		    memmem(v->p, v->n, "\\n", 2) == NULL && !has_word(v->p, v->n, "password") &&
		    !has_word(v->p, v->n, " must ") &&
		    !has_word(v->p, v->n, " the ");
	if (c->digit == v->n)
		return v->n >= 6 && (v->quoted || v->plain_env);
	if (is_number(v->p, v->n))
		return false;
	if (c->digit > 0 || strange)
		return true;
	if (v->plain_env && v->n >= 6)
		return true;
	return v->n >= 10 && c->lower > 0 && c->upper > 0 &&
	    (c->changes * 3 >= v->n || (c->changes * 4 >= v->n && few_vowels(v->p, v->n)));
}

/* DBUS_COOKIE_SHA1, PBKDF2_ITERATIONS */
static bool
is_constant(const char *p, size_t n, const struct char_count *c)
{
	return c->lower == 0 && c->upper > c->digit && memchr(p, '_', n) != NULL &&
	    c->upper + c->digit + 3 >= n;
}

/* my-secret, crypto-key-2: what somebody called a thing. */
static bool
is_slug(const char *p, size_t n, const struct char_count *c)
{
	size_t i = n;

	while (i > 0 && n - i < 2 && isdigit((unsigned char)p[i - 1]))
		i--;
	return c->upper == 0 && c->other > 0 && c->digit == n - i && c->lower + c->digit + c->other == n &&
	    all_of(p, i, "abcdefghijklmnopqrstuvwxyz-_.");
}

/* Base32, as for one-time passwords, may do without a digit. */
static bool
is_base32(const struct value *v, const struct char_count *c)
{
	return c->upper == v->n && v->n >= 16 && v->n % 8 == 0 && few_vowels(v->p, v->n);
}

/* What no name and no path has. */
static bool
has_sign(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strchr("!#$%^&*", p[i]) != NULL)
			return true;
	return false;
}

/* Code goes on behind a name with one of these, also where rows were taken for one. */
static bool
has_bracket(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strchr("(){}[]<>;|", p[i]) != NULL)
			return true;
	return false;
}

#define LONG_NUMBER 24	/* digits that count nothing */

static bool
token_like(const struct value *v, const struct char_count *c)
{
	size_t letters = c->lower + c->upper;
	bool close = v->quoted || v->plain_env;

	if (c->blank > 0)
		return false;
	if (c->digit == v->n)
		return v->n >= LONG_NUMBER && close;
	if (is_number(v->p, v->n))
		return false;
	if (is_constant(v->p, v->n, c) || is_slug(v->p, v->n, c))
		return false;
	if (is_base32(v, c))
		return true;
	/* what stands bare in code is a name or a call */
	if (!close && (has_bracket(v->p, v->n) ||
			  (memchr(v->p, '-', v->n) == NULL && value_has_words(v->p, v->n))))
		return false;
	if (value_is_random(v->p, v->n))
		return true;
	if (c->digit >= 1 && letters >= 2)
		return v->n >= (close ? 8 : 16) && (close || c->digit >= 2);
	if (v->n >= 14 && c->other > 0 && c->lower > 2 && c->upper > 2 && c->changes * 2 > v->n)
		return true;
	if (v->quoted && v->n >= 10 && c->other > 0 && c->lower > 0 && c->upper > 0 &&
	    c->changes * 2 >= v->n && has_sign(v->p, v->n))
		return true;
	if (close && v->n >= 12 && c->lower > 2 && c->upper > 2 && c->other == 0 && c->changes * 2 >= v->n)
		return true;
	return v->n >= 20 && c->lower > 2 && c->upper > 2 && c->changes >= 6 &&
	    !is_reference(v->p, v->n, v->quoted);
}

static bool
fits_class(const struct value *v, enum value_class class)
{
	struct char_count c = count_chars(v->p, v->n);

	switch (class) {
	case VALUE_ANY:
		return password_like(v, &c);
	case VALUE_MIXED:
		return token_like(v, &c);
	case VALUE_RANDOM:
		return v->n >= 20 && c.lower > 0 && c.upper > 0 && c.digit > 0 &&
		    memchr(v->p, '.', v->n) == NULL && value_is_random(v->p, v->n);
	case VALUE_OPAQUE:
		return value_is_opaque(v->p, v->n);
	case VALUE_NONE:
		break;
	}
	return false;
}

bool
value_is_secret(const struct value *v, enum value_class class)
{
	/* { and the like begin a type, a set, a call */
	if (v->n == 0 || (!v->quoted && strchr("{[(", v->p[0]) != NULL) || is_code(v))
		return false;
	return fits_class(v, class) && !value_is_placeholder(v->p, v->n) &&
	    !is_reference(v->p, v->n, v->quoted) && !is_path(v->p, v->n) && !is_work_id(v->p, v->n) &&
	    !is_markup(v->p, v->n);
}
