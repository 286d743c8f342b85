#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/pattern.h"
#include "scrub/rules/rules_private.h"
#include "scrub/match/match_private.h"
#include "config/toml.h"

#define MAX_FILE (1024 * 1024)
#define MAX_NAME 96

/* ---- patterns ---- */

/*
 * The pattern as PCRE2 gets it. (?#value) becomes a word in quotes, or bare, as group 1. An
 * anchored pattern does without the library's search for a character that must follow, which
 * reads up to 5,000 bytes at each hit.
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

static struct pattern *
compile_rule(const struct rule *r, struct err *e)
{
	char *regex = whole_regex(r->regex, r->back == 0);
	struct pattern *p = pattern_new(
	    regex, (r->caseless ? PATTERN_CASELESS : 0) | (r->back == 0 ? PATTERN_ANCHORED : 0), e);

	free(regex);
	return p;
}

/* Does the pattern find what is marked in the sample when it is tried at this keyword? */
static bool
finds_at(const struct rule *r, const struct pattern *p, const struct rule_sample *m, size_t at)
{
	const char *nl = memchr(m->text + at, '\n', strlen(m->text + at)),
		   *line = at > 0 ? memrchr(m->text, '\n', at) : NULL;
	size_t from = line != NULL ? (size_t)(line + 1 - m->text) : 0,
	       to = nl != NULL ? (size_t)(nl - m->text) : strlen(m->text);
	size_t group, back = r->back < at - from ? r->back : at - from;
	struct match found;

	if ((r->border && !match_word_begins(m->text, from, at, false)) ||
	    pattern_find(p, m->text + from, to - from, at - from - back, &found) != 1)
		return false;
	group = found.start[1] != (size_t)-1 ? 1 : 0;
	for (size_t i = 0; i < m->n; i++)
		if (from + found.start[group] == m->from[i] && from + found.end[group] == m->to[i])
			return true;
	return false;
}

/* The canary: the rule's first sample. */
static bool
finds_canary(const struct rule *r, const struct pattern *p)
{
	struct rule_sample m;
	bool good = false;

	rule_sample_init(&m, true, r->finds, r->kind, r->finds_line);
	for (const char *w = r->keyword; !good && *(w += strspn(w, " \n")) != '\0'; w += strcspn(w, " \n")) {
		size_t len = strcspn(w, " \n");

		for (size_t i = 0; !good && m.text[i] != '\0'; i++)
			good = strncasecmp(m.text + i, w, len) == 0 && finds_at(r, p, &m, i);
	}
	rule_sample_release(&m);
	return good;
}

const struct pattern *
rule_set_pattern(struct rule_set *r, size_t id)
{
	const struct rule *rule = &r->v[id];

	if (r->patterns[id] != NULL || r->broken[id])
		return r->patterns[id];
	r->patterns[id] = compile_rule(rule, NULL);
	if (r->patterns[id] == NULL || !finds_canary(rule, r->patterns[id])) {
		pattern_free(r->patterns[id]);
		r->patterns[id] = NULL;
		r->broken[id] = true;
		r->first_broken = r->first_broken != NULL ? r->first_broken : rule->name;
	}
	return r->patterns[id];
}

/* ---- names ---- */

/*
 * DBPassword, db-password, db.password → db_password. Returns the length, 0 when it is too long
 * for a name.
 */
static size_t
to_snake_case(char *out, const char *p, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];
		bool upper = isupper(c) && i > 0 &&
		    (islower((unsigned char)p[i - 1]) || isdigit((unsigned char)p[i - 1]) ||
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
	static const char *const variants[] = { "prod", "production", "dev", "development", "test", "testing",
		"staging", "stage", "live", "old", "new", "current", "value", "plain", "plaintext", "text",
		"b64", "base64", "raw", "primary", "secondary", "main", "backup", "default" };

	if (part[0] != '\0' && strspn(part, "0123456789") == strlen(part))
		return true;
	for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
		if (strcmp(part, variants[i]) == 0)
			return true;
	return false;
}

/* "*password" stands for every name that ends so, "dbpassword" too. */
static const struct rule *
match_starred(const struct rule_set *r, const char *text)
{
	const struct rule_index *x = r->index;

	for (size_t i = 0; i < x->n_names && x->names[i].text[0] == '*'; i++)
		if (str_ends(text, x->names[i].text + 1))
			return &r->v[x->names[i].rule];
	return NULL;
}

static int
to_name(const void *text, const void *name)
{
	return strcmp(text, ((const struct rule_name *)name)->text);
}

static const struct rule *
longest_name(const struct rule_set *r, char *text)
{
	for (char *p = text; p != NULL; p = strchr(p, '_')) {
		const struct rule_name *found;

		p += *p == '_';
		found = bsearch(p, r->index->names, r->index->n_names, sizeof *r->index->names, to_name);
		if (found != NULL)
			return &r->v[found->rule];
	}
	return match_starred(r, text);
}

const struct rule *
rule_set_by_name(const struct rule_set *r, const char *name, size_t n)
{
	char text[MAX_NAME];

	if (to_snake_case(text, name, n) == 0)
		return NULL;
	for (;;) {
		const struct rule *rule = longest_name(r, text);
		char *last = strrchr(text, '_');

		if (rule != NULL)
			return rule->value == VALUE_NONE ? NULL : rule;
		if (last == NULL || !is_variant(last + 1))
			return NULL;
		*last = '\0';
	}
}

/* ---- both tables ---- */

static int
take_item(void *arg, const struct toml_item *it, struct err *e)
{
	return rule_read(arg, true, it, e);
}

static int
read_user(struct rule_set *r, const char *file, struct err *e)
{
	struct rule_list *all = &r->own;
	struct buf text = BUF_INIT;
	int ret = -1;

	if (io_read_file(file, MAX_FILE, &text, e) != 0) {
		e->code = GT_USAGE;
		err_hint(e,
		    "the key rules of [recovery.scrub] names this file; correct the path, or remove the "
		    "key");
		goto out;
	}
	all->v = vec_reserve(rule_table_built_in.n, &all->cap, sizeof *all->v);
	memcpy(all->v, rule_table_built_in.rules, rule_table_built_in.n * sizeof *all->v);
	all->n = rule_table_built_in.n;
	if (toml_parse(text.data, text.len, file, take_item, all, e) != 0)
		goto out;
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].own && rule_check(&all->v[i], file, e) != 0)
			goto out;
	rule_index_init(&r->own_index, all->v, all->n);
	ret = 0;
out:
	buf_release(&text);
	return ret;
}

static int
compile_user_rules(struct rule_set *r, const char *file, struct err *e)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct rule *one = &r->v[i];

		if (!one->own || one->regex == NULL)
			continue;
		if ((r->patterns[i] = compile_rule(one, e)) == NULL)
			return err_add(e, "%s:%d: [%s]", file, one->line, one->name);
	}
	return 0;
}

int
rule_set_init(struct rule_set *r, const char *user_file, struct err *e)
{
	*r = (struct rule_set){ .v = rule_table_built_in.rules,
		.n = rule_table_built_in.n,
		.index = &rule_table_built_in.index };
	if (user_file != NULL && read_user(r, user_file, e) != 0) {
		rule_set_release(r);
		return -1;
	}
	if (user_file != NULL) {
		r->v = r->own.v;
		r->n = r->own.n;
		r->index = &r->own_index;
	}
	r->patterns = xcalloc(r->n, sizeof(struct pattern *));
	r->broken = xcalloc(r->n, 1);
	if (compile_user_rules(r, user_file, e) != 0) {
		rule_set_release(r);
		return -1;
	}
	return 0;
}

void
rule_set_release(struct rule_set *r)
{
	for (size_t i = 0; i < r->n && r->patterns != NULL; i++)
		pattern_free(r->patterns[i]);
	free(r->patterns);
	free(r->broken);
	for (size_t i = 0; i < r->own.n; i++)
		rule_release(&r->own.v[i]);
	free(r->own.v);
	rule_index_release(&r->own_index);
	*r = (struct rule_set){ 0 };
}
