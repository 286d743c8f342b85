#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "scrub/rule.h"
#include "town/toml.h"

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
		return err_set(e, GT_USAGE, "rules", "a rule is named like [github-token], with 2 to 40 of a-z, 0-9 and \"-\"");
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
	*r = (struct rule){ .name = xstrdup(it->section), .kind = xstrdup(it->section), .border = true, .own = own, .line = it->line };
	all->last = (size_t)(r - all->v);
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
	sample_init(&r->samples[r->n_samples++], finds, it->value, r->kind, it->line);
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
		return err_set(e, GT_USAGE, "rules", "%s:%d: [%s] needs keyword and pattern, or names and value", what, r->line, r->name);
	if (r->finds == NULL && (r->names == NULL || r->value != VALUE_NONE))
		return err_set(e, GT_USAGE, "rules", "%s:%d: [%s] has no sample: finds = 'text with the «secret» marked'", what, r->line,
		    r->name);
	return 0;
}

void
rule_release(struct rule *r)
{
	for (size_t i = 0; i < r->n_samples; i++)
		sample_release(&r->samples[i]);
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
