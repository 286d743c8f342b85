#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/pattern.h"
#include "scrub/rules.h"
#include "town/toml.h"

#define MAX_FILE (1024 * 1024)
#define MAX_NAME 96

/* config/secrets.ini as scripts/items.c writes it, read already: section, key, value, each with a NUL, type, line in three bytes. */
static const unsigned char table[] = {
#include "secrets.ini.inc"
};

struct name {
	char *text;
	size_t rule;
};

/* ---- samples ---- */

static const struct {
	const char *name, *alphabet;
} alphabets[] = {
	{ "alnum", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" },
	{ "lower", "abcdefghijklmnopqrstuvwxyz0123456789" },
	{ "upper", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" },
	{ "hex", "0123456789abcdef" },
	{ "digit", "0123456789" },
	{ "url64", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_" },
	{ "base64", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/" },
};

/* "{alnum:36}" at p: appends 36 made-up characters, the same in every run. Returns the bytes read, or 0. */
static size_t
expand_one(struct buf *out, const char *p, unsigned *seed)
{
	for (size_t i = 0; i < sizeof alphabets / sizeof alphabets[0]; i++) {
		size_t len = strlen(alphabets[i].name), letters = strlen(alphabets[i].alphabet);
		unsigned long count;
		char *end;

		if (strncmp(p + 1, alphabets[i].name, len) != 0 || p[1 + len] != ':')
			continue;
		count = strtoul(p + len + 2, &end, 10);
		if (*end != '}' || count == 0 || count > 5000)
			return 0;
		for (unsigned long k = 0; k < count; k++) {
			*seed = *seed * 1103515245u + 12345u;
			/* the middle one is a digit, so that a sample never lacks one by chance */
			if (k == count / 2 && i != 2 && i != 4)
				buf_chr(out, (char)('1' + (*seed >> 16) % 9));
			else
				buf_chr(out, alphabets[i].alphabet[(*seed >> 16) % letters]);
		}
		return (size_t)(end + 1 - p);
	}
	return 0;
}

static void
expand(struct buf *text, struct buf *want, const char *p, const char *kind)
{
	unsigned seed = 7;
	bool inside = false;

	for (const char *k = kind; *k != '\0'; k++)
		seed = seed * 31 + (unsigned char)*k;
	while (*p != '\0') {
		size_t mark = text->len, used = 1;

		if (str_starts(p, "«")) {
			inside = true;
			buf_fmt(want, "[REDACTED:%s]", kind);
			p += strlen("«");
			continue;
		}
		if (str_starts(p, "»")) {
			inside = false;
			p += strlen("»");
			continue;
		}
		if (*p == '{')
			used = expand_one(text, p, &seed);
		if (text->len == mark) {
			used = 1;
			buf_chr(text, *p);
		}
		if (!inside)
			buf_add(want, text->data + mark, text->len - mark);
		p += used;
	}
}

static void
add_sample(struct rule *r, bool finds, const char *value, int line)
{
	struct buf text = BUF_INIT, want = BUF_INIT;

	expand(&text, &want, value, r->kind);
	r->samples = vec_room(r->samples, r->n_samples, &r->cap_samples, sizeof *r->samples);
	r->samples[r->n_samples++] = (struct sample){ finds, buf_detach(&text), buf_detach(&want), line };
}

/* ---- reading ---- */

struct reading {
	struct rules *rules;
	struct rule *rule;	/* the section that is being read */
	const char *what;
	bool own;
};

static void
free_rule(struct rule *r)
{
	for (size_t i = 0; i < r->n_samples; i++) {
		free(r->samples[i].text);
		free(r->samples[i].want);
	}
	free(r->samples);
	pattern_free(r->pattern);
	free(r->name);
	free(r->kind);
	free(r->keyword);
	free(r->names);
	free(r->regex);
}

static bool
good_kind(const char *s)
{
	size_t n = strlen(s);

	return n >= 2 && n <= 40 && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == n && s[0] != '-';
}

static int
begin_rule(struct reading *in, const struct toml_item *it, struct err *e)
{
	struct rules *all = in->rules;
	struct rule *r = NULL;

	if (!good_kind(it->section))
		return err_set(e, GT_USAGE, "rules", "a rule is named like [github-token], with 2 to 40 of a-z, 0-9 and \"-\"");
	/* no section of the built-in table stands there twice */
	for (size_t i = 0; i < all->n && in->own; i++)
		if (strcmp(all->v[i].name, it->section) == 0)
			r = &all->v[i];
	if (r != NULL) {
		free_rule(r);
	} else {
		all->v = vec_room(all->v, all->n, &all->cap, sizeof *all->v);
		r = &all->v[all->n++];
	}
	*r = (struct rule){ .name = xstrdup(it->section), .kind = xstrdup(it->section), .border = true, .own = in->own, .line = it->line };
	in->rule = r;
	return 0;
}

static int
read_value_class(struct rule *r, const char *value, struct err *e)
{
	static const char *const names[] = { "none", "any", "mixed", "random" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (strcmp(value, names[i]) == 0) {
			r->value = (enum value_class)i;
			return 0;
		}
	}
	return err_set(e, GT_USAGE, "rules", "value is one of 'any', 'mixed', 'random', 'none'");
}

static int
read_typed(struct rule *r, const struct toml_item *it, struct err *e)
{
	bool flag = strcmp(it->key, "border") == 0 || strcmp(it->key, "caseless") == 0;

	if (flag && it->type == TOML_BOOL) {
		*(it->key[0] == 'b' ? &r->border : &r->caseless) = strcmp(it->value, "true") == 0;
		return 0;
	}
	if (strcmp(it->key, "back") == 0 && it->type == TOML_INT) {
		long n = strtol(it->value, NULL, 10);

		if (n < 0 || n > 400)
			return err_set(e, GT_USAGE, "rules", "back is a number of bytes from 0 to 400");
		r->back = (size_t)n;
		r->border = r->border && n == 0;
		return 0;
	}
	if (strcmp(it->key, "needs") == 0 && it->type == TOML_STRING) {
		if (strlen(it->value) != 1)
			return err_set(e, GT_USAGE, "rules", "needs is one ASCII character");
		r->needs = it->value[0];
		return 0;
	}
	return err_set(e, GT_USAGE, "rules", "\"%s\" is no key of a rule, or its value is of the wrong type", it->key);
}

static int
read_item(void *arg, const struct toml_item *it, struct err *e)
{
	struct reading *in = arg;
	const struct {
		const char *key;
		char **at;
	} texts[] = {
		{ "kind", in->rule != NULL ? &in->rule->kind : NULL }, { "keyword", in->rule != NULL ? &in->rule->keyword : NULL },
		{ "names", in->rule != NULL ? &in->rule->names : NULL }, { "pattern", in->rule != NULL ? &in->rule->regex : NULL },
	};

	if (in->rule == NULL || strcmp(in->rule->name, it->section) != 0) {
		if (begin_rule(in, it, e) != 0)
			return -1;
		return read_item(arg, it, e);
	}
	if (it->type != TOML_STRING)
		return read_typed(in->rule, it, e);
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		if (strcmp(it->key, texts[i].key) == 0) {
			free(*texts[i].at);
			*texts[i].at = xstrdup(it->value);
			return i != 0 || good_kind(it->value) ? 0 : err_set(e, GT_USAGE, "rules", "kind is made of a-z, 0-9 and \"-\"");
		}
	}
	if (strcmp(it->key, "value") == 0)
		return read_value_class(in->rule, it->value, e);
	if (!str_starts(it->key, "finds") && !str_starts(it->key, "spares"))
		return read_typed(in->rule, it, e);
	add_sample(in->rule, it->key[0] == 'f', it->value, it->line);
	return 0;
}

/*
 * The pattern as PCRE2 gets it. (?#value) becomes a word in quotes, or bare, as group 1. An anchored pattern does without the library's
 * search for a character that must follow, which reads up to 5,000 bytes at each hit.
 */
static char *
whole_regex(const char *regex, bool anchored)
{
	static const char macro[] = "(?#value)";
	static const char value[] = "(?|\"([^\"\\n]{3,200})\"|'([^'\\n]{3,200})'|([^\\s\"'`|<>;,&]{3,200}))";
	struct buf out = BUF_INIT;
	const char *at;

	buf_str(&out, anchored ? "(*NO_START_OPT)" : "");
	for (; (at = strstr(regex, macro)) != NULL; regex = at + strlen(macro)) {
		buf_add(&out, regex, (size_t)(at - regex));
		buf_str(&out, value);
	}
	buf_str(&out, regex);
	return buf_detach(&out);
}

static int
finish_rule(struct rule *r, const char *what, struct err *e)
{
	bool finds = false;
	char *regex;

	for (size_t i = 0; i < r->n_samples; i++)
		finds = finds || r->samples[i].finds;
	if ((r->keyword == NULL) != (r->regex == NULL) || (r->keyword == NULL) == (r->names == NULL))
		return err_set(e, GT_USAGE, "rules", "%s:%d: [%s] needs keyword and pattern, or names and value", what, r->line, r->name);
	if (r->names != NULL && r->value == VALUE_NONE)
		return 0;
	if (!finds)
		return err_set(e, GT_USAGE, "rules", "%s:%d: [%s] has no sample: finds = 'text with the «secret» marked'", what, r->line,
		    r->name);
	if (r->regex == NULL)
		return 0;
	regex = whole_regex(r->regex, r->back == 0);
	r->pattern = pattern_new(regex, (r->caseless ? PATTERN_CASELESS : 0) | (r->back == 0 ? PATTERN_ANCHORED : 0), e);
	free(regex);
	return r->pattern != NULL ? 0 : err_add(e, "%s:%d: [%s]", what, r->line, r->name);
}

static int
finish_rules(struct rules *r, const char *what, bool own, struct err *e)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].own == own && finish_rule(&r->v[i], what, e) != 0)
			return -1;
	return 0;
}

static int
read_built_in(struct rules *r, struct err *e)
{
	static const char what[] = "config/secrets.ini";
	struct reading in = { .rules = r, .what = what };

	for (const unsigned char *p = table, *end = table + sizeof table; p < end; p += 4) {
		struct toml_item it = { .section = (const char *)p };

		it.key = it.section + strlen(it.section) + 1;
		it.value = it.key + strlen(it.key) + 1;
		p = (const unsigned char *)it.value + strlen(it.value) + 1;
		it.type = (enum toml_type)p[0];
		it.line = p[1] | p[2] << 8 | p[3] << 16;
		if (read_item(&in, &it, e) != 0)
			return err_add(e, "%s:%d", what, it.line);
	}
	return finish_rules(r, what, false, e);
}

static int
read_table(struct rules *r, const char *text, size_t n, const char *what, struct err *e)
{
	struct reading in = { .rules = r, .what = what, .own = true };

	return toml_parse(text, n, what, read_item, &in, e) == 0 ? finish_rules(r, what, true, e) : -1;
}

/* ---- names ---- */

static int
by_text(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static void
add_names(struct rules *r, size_t rule)
{
	const char *p = r->v[rule].names;

	while (*(p += strspn(p, " \n")) != '\0') {
		size_t n = strcspn(p, " \n");

		r->names = vec_room(r->names, r->n_names, &r->cap_names, sizeof *r->names);
		r->names[r->n_names++] = (struct name){ xstrndup(p, n), rule };
		p += n;
	}
}

/* DBPassword, db-password, db.password → db_password. Returns the length, 0 when it is too long for a name. */
static size_t
snake(char *out, const char *p, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];
		bool upper = isupper(c) && i > 0 && (islower((unsigned char)p[i - 1]) || isdigit((unsigned char)p[i - 1]) ||
		    (isupper((unsigned char)p[i - 1]) && i + 1 < n && islower((unsigned char)p[i + 1])));

		if (len + 2 >= MAX_NAME)
			return 0;
		if (!isalnum(c)) {
			if (len > 0 && out[len - 1] != '_')
				out[len++] = '_';
			continue;
		}
		if (upper && out[len - 1] != '_')
			out[len++] = '_';
		out[len++] = (char)tolower(c);
	}
	while (len > 0 && out[len - 1] == '_')
		len--;
	out[len] = '\0';
	return len;
}

static bool
is_variant(const char *part)
{
	static const char *const variants[] = { "prod", "production", "dev", "development", "test", "testing", "staging", "stage",
	    "live", "old", "new", "current", "value", "plain", "plaintext", "text", "b64", "base64", "raw", "primary", "secondary", "main",
	    "backup", "default" };

	if (part[0] != '\0' && strspn(part, "0123456789") == strlen(part))
		return true;
	for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
		if (strcmp(part, variants[i]) == 0)
			return true;
	return false;
}

/* "*password" stands for every name that ends so, "dbpassword" too. */
static const struct rule *
starred(const struct rules *r, const char *text)
{
	for (size_t i = 0; i < r->n_names && r->names[i].text[0] == '*'; i++)
		if (str_ends(text, r->names[i].text + 1))
			return &r->v[r->names[i].rule];
	return NULL;
}

static const struct rule *
longest(const struct rules *r, char *text)
{
	for (char *p = text; p != NULL; p = strchr(p, '_')) {
		struct name key = { p + (*p == '_'), 0 }, *found;

		p = key.text;
		found = bsearch(&key, r->names, r->n_names, sizeof *r->names, by_text);
		if (found != NULL)
			return &r->v[found->rule];
	}
	return starred(r, text);
}

const struct rule *
rules_name(const struct rules *r, const char *name, size_t n)
{
	char text[MAX_NAME];

	if (snake(text, name, n) == 0)
		return NULL;
	for (;;) {
		const struct rule *rule = longest(r, text);
		char *last = strrchr(text, '_');

		if (rule != NULL)
			return rule->value == VALUE_NONE ? NULL : rule;
		if (last == NULL || !is_variant(last + 1))
			return NULL;
		*last = '\0';
	}
}

int
rules_init(struct rules *r, const char *user_file, struct err *e)
{
	struct buf text = BUF_INIT;
	int ret = -1;

	*r = (struct rules){ 0 };
	if (read_built_in(r, e) != 0)
		goto out;
	if (user_file != NULL) {
		if (io_read_file(user_file, MAX_FILE, &text, e) != 0) {
			e->code = GT_USAGE;
			err_hint(e, "the key rules of [recovery.scrub] names a file of further rules; nothing is scrubbed without it");
			goto out;
		}
		if (read_table(r, text.data, text.len, user_file, e) != 0)
			goto out;
	}
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].names != NULL)
			add_names(r, i);
	qsort(r->names, r->n_names, sizeof *r->names, by_text);
	ret = 0;
out:
	buf_release(&text);
	if (ret != 0)
		rules_release(r);
	return ret;
}

void
rules_release(struct rules *r)
{
	for (size_t i = 0; i < r->n; i++)
		free_rule(&r->v[i]);
	for (size_t i = 0; i < r->n_names; i++)
		free(r->names[i].text);
	free(r->v);
	free(r->names);
	*r = (struct rules){ 0 };
}
