#include <stdlib.h>
#include <string.h>

#include "scrub/rules/rules_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "config/toml.h"
#include "scrub/finding.h"

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

/* "{alnum:36}" at p: appends 36 made-up characters. Returns the bytes read, or 0. */
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
expand_sample(struct rule_sample *m, struct buf *text, struct buf *want, const char *p, const char *kind)
{
	unsigned seed = 7;
	bool inside = false;

	for (const char *k = kind; *k != '\0'; k++)
		seed = seed * 31 + (unsigned char)*k;
	while (*p != '\0') {
		size_t mark = text->len, used = 1;

		if (str_starts(p, "«")) {
			inside = true;
			buf_fmt(want, SCRUB_PLACEHOLDER "%s]", kind);
			m->from[m->n] = m->to[m->n] = text->len;
			p += strlen("«");
			continue;
		}
		if (str_starts(p, "»")) {
			inside = false;
			m->to[m->n] = text->len;
			m->n += m->n + 1 < SAMPLE_MARKS;
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

void
rule_sample_init(struct rule_sample *m, bool finds, const char *marked, const char *kind, int line)
{
	struct buf text = BUF_INIT, want = BUF_INIT;

	*m = (struct rule_sample){ .finds = finds, .line = line };
	expand_sample(m, &text, &want, marked, kind);
	m->text = buf_detach(&text);
	m->want = buf_detach(&want);
}

void
rule_sample_release(struct rule_sample *m)
{
	free(m->text);
	free(m->want);
	*m = (struct rule_sample){ 0 };
}

static bool
good_kind(const char *s)
{
	size_t n = strlen(s);

	return n >= 2 && n <= 40 && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == n && s[0] != '-';
}

static int
begin_rule(struct rule_list *all, bool own, const struct toml_item *it, struct err *e)
{
	struct rule *r = NULL;

	if (!good_kind(it->section))
		return err_set(e, GT_USAGE, "rules",
		    "a rule is named like [github-token], with 2 to 40 of a-z, 0-9 and \"-\"");
	/* no section of the built-in table stands there twice */
	for (size_t i = 0; i < all->n && own; i++)
		if (strcmp(all->v[i].name, it->section) == 0)
			r = &all->v[i];
	if (r != NULL) {
		rule_release(r);
	} else {
		all->v = vec_room(all->v, all->n, &all->cap, sizeof *all->v);
		r = &all->v[all->n++];
	}
	*r = (struct rule){ .name = xstrdup(it->section),
		.kind = xstrdup(it->section),
		.border = true,
		.own = own,
		.line = it->line };
	all->last = (size_t)(r - all->v);
	return 0;
}

static int
read_value_class(struct rule *r, const char *value, struct err *e)
{
	static const char *const names[] = { "none", "any", "mixed", "random", "opaque" };

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
	return err_set(
	    e, GT_USAGE, "rules", "\"%s\" is not a key of a rule, or its value has the wrong type", it->key);
}

static int
take_text(const char **at, const char *value)
{
	free((char *)*at);
	*at = xstrdup(value);
	return 0;
}

static void
take_sample(struct rule *r, bool finds, const struct toml_item *it)
{
	if (finds && r->finds == NULL) {
		r->finds = xstrdup(it->value);
		r->finds_line = it->line;
	}
	r->samples = vec_room(r->samples, r->n_samples, &r->cap_samples, sizeof *r->samples);
	rule_sample_init(&r->samples[r->n_samples++], finds, it->value, r->kind, it->line);
}

static int
read_text(struct rule *r, const struct toml_item *it, struct err *e)
{
	if (strcmp(it->key, "kind") == 0)
		return good_kind(it->value) ? take_text(&r->kind, it->value) :
		    err_set(e, GT_USAGE, "rules", "kind is made of a-z, 0-9 and \"-\"");
	if (strcmp(it->key, "keyword") == 0)
		return take_text(&r->keyword, it->value);
	if (strcmp(it->key, "names") == 0)
		return take_text(&r->names, it->value);
	if (strcmp(it->key, "pattern") == 0)
		return take_text(&r->regex, it->value);
	if (strcmp(it->key, "value") == 0)
		return read_value_class(r, it->value, e);
	if (!str_starts(it->key, "finds") && !str_starts(it->key, "spares"))
		return read_typed(r, it, e);
	take_sample(r, it->key[0] == 'f', it);
	return 0;
}

int
rule_read(struct rule_list *all, bool own, const struct toml_item *it, struct err *e)
{
	struct rule *r = all->n > 0 ? &all->v[all->last] : NULL;

	if (r == NULL || r->own != own || strcmp(r->name, it->section) != 0) {
		if (begin_rule(all, own, it, e) != 0)
			return -1;
		r = &all->v[all->last];
	}
	return it->type == TOML_STRING ? read_text(r, it, e) : read_typed(r, it, e);
}

int
rule_check(const struct rule *r, const char *what, struct err *e)
{
	if ((r->keyword == NULL) != (r->regex == NULL) || (r->keyword == NULL) == (r->names == NULL))
		return err_set(e, GT_USAGE, "rules",
		    "%s:%d: [%s] needs keyword and pattern, or names and value", what, r->line, r->name);
	if (r->finds == NULL && (r->names == NULL || r->value != VALUE_NONE))
		return err_set(e, GT_USAGE, "rules",
		    "%s:%d: [%s] has no sample: finds = 'text with the «secret» marked'", what, r->line,
		    r->name);
	return 0;
}

void
rule_release(struct rule *r)
{
	for (size_t i = 0; i < r->n_samples; i++)
		rule_sample_release(&r->samples[i]);
	free(r->samples);
	if (!r->own)
		return;
	free((char *)r->name);
	free((char *)r->kind);
	free((char *)r->keyword);
	free((char *)r->names);
	free((char *)r->regex);
	free((char *)r->finds);
}

#define BLANKS " \n"

static int
by_text(const void *a, const void *b)
{
	const struct rule_name *x = a, *y = b;
	int r = strcmp(x->text, y->text);

	return r != 0 ? r : (x->rule > y->rule) - (x->rule < y->rule);
}

static void
index_names(struct rule_index *x, const struct rule *v, size_t n)
{
	struct rule_name *names = NULL;
	size_t cap = 0;

	for (size_t i = 0; i < n; i++) {
		const char *p = v[i].names != NULL ? v[i].names : "";

		while (*(p += strspn(p, BLANKS)) != '\0') {
			size_t len = strcspn(p, BLANKS);

			names = vec_room(names, x->n_names, &cap, sizeof *names);
			names[x->n_names++] = (struct rule_name){ xstrndup(p, len), i };
			p += len;
		}
	}
	if (x->n_names > 0)
		qsort(names, x->n_names, sizeof *names, by_text);
	x->names = names;
}

static uint16_t
kind_id(const char **kinds, size_t *n, const char *kind)
{
	size_t i = 0;

	while (i < *n && strcmp(kinds[i], kind) != 0)
		i++;
	kinds[i] = kind;
	*n += i == *n;
	return (uint16_t)i;
}

static void
index_kinds(struct rule_index *x, const struct rule *v, size_t n)
{
	const char **kinds = xreallocarray(NULL, n + 3, sizeof *kinds);
	uint16_t *kind_of = xcalloc(n, sizeof *kind_of);

	for (size_t i = 0; i < n; i++)
		kind_of[i] = kind_id(kinds, &x->n_kinds, v[i].kind);
	x->kind_pem = kind_id(kinds, &x->n_kinds, "private-key");
	x->kind_manifest = kind_id(kinds, &x->n_kinds, "secret");
	x->kind_known = kind_id(kinds, &x->n_kinds, "known-value");
	x->kinds = kinds;
	x->kind_of = kind_of;
}

static void
add_words(struct keywords *k, const char *p, size_t id, bool last_part)
{
	while (*(p += strspn(p, BLANKS)) != '\0') {
		size_t n = strcspn(p, BLANKS), from = 0;

		for (size_t i = 0; i < n && last_part; i++)
			if (p[i] == '_' || p[i] == '*')
				from = i + 1;
		keyword_add(k, p + from, n - from, id);
		p += n;
	}
}

static void
index_keywords(struct rule_index *x, const struct rule *v, size_t n)
{
	static const char *const armors[] = { "-----BEGIN ", "-----END ",
		"Private-Lines:", "---- BEGIN SSH2 ", "---- END SSH2 " };
	struct keywords *k = keyword_new();

	for (size_t i = 0; i < n; i++) {
		if (v[i].keyword != NULL)
			add_words(k, v[i].keyword, i, false);
		else if (v[i].value != VALUE_NONE)
			add_words(k, v[i].names, n, true);
	}
	for (size_t i = 0; i < sizeof armors / sizeof armors[0]; i++)
		keyword_add(k, armors[i], strlen(armors[i]), n + 1);
	keyword_build(k);
	x->keywords = k;
}

static void
index_borders(struct rule_index *x, const struct rule *v, size_t n)
{
	size_t n_words = keyword_count(x->keywords);
	unsigned char *bordered = xcalloc(n_words, sizeof *bordered);

	for (size_t i = 0; i < n_words; i++) {
		size_t n_ids;
		const uint16_t *ids = keyword_ids(x->keywords, i, &n_ids);

		bordered[i] = 1;
		for (size_t k = 0; k < n_ids && bordered[i]; k++)
			bordered[i] = ids[k] < n && v[ids[k]].border;
	}
	x->bordered = bordered;
}

void
rule_index_init(struct rule_index *x, const struct rule *v, size_t n)
{
	*x = (struct rule_index){ 0 };
	index_names(x, v, n);
	index_kinds(x, v, n);
	index_keywords(x, v, n);
	index_borders(x, v, n);
}

void
rule_index_release(struct rule_index *x)
{
	for (size_t i = 0; i < x->n_names; i++)
		free((char *)x->names[i].text);
	free((void *)x->names);
	free((void *)x->kinds);
	free((void *)x->kind_of);
	free((void *)x->bordered);
	keyword_free((struct keywords *)x->keywords);
	*x = (struct rule_index){ 0 };
}
