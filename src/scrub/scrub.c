#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/pattern.h"
#include "scrub/gate.h"
#include "scrub/scrub.h"
#include "scrub/scrub_private.h"
#include "scrub/value.h"

/* ---- making one ---- */

static size_t
kind_index(struct scrub *s, const char *kind)
{
	for (size_t i = 0; i < s->n_kinds; i++)
		if (strcmp(s->kinds[i], kind) == 0)
			return i;
	s->kinds[s->n_kinds] = kind;
	return s->n_kinds++;
}

static void
add_keywords(struct scrub *s, const char *p, size_t id, bool last_part)
{
	while (*(p += strspn(p, " \n")) != '\0') {
		size_t n = strcspn(p, " \n"), from = 0;

		for (size_t i = 0; i < n && last_part; i++)
			if (p[i] == '_' || p[i] == '*')
				from = i + 1;
		keywords_add(s->keywords, p + from, n - from, id);
		p += n;
	}
}

static void
prepare(struct scrub *s)
{
	static const char *const armors[] = { "-----BEGIN ", "-----END ", "Private-Lines:", "---- BEGIN SSH2 ", "---- END SSH2 " };
	size_t n = s->rules.n;

	s->kinds = xreallocarray(NULL, n + 2, sizeof *s->kinds);
	s->counts = xcalloc(n + 2, sizeof *s->counts);
	s->ordinals = xcalloc(n + 2, sizeof *s->ordinals);
	s->kind_of = xcalloc(n + 1, sizeof *s->kind_of);
	s->done = xcalloc(n + 1, sizeof *s->done);
	s->gate = gate_new();
	s->keywords = keywords_new();
	for (size_t i = 0; i < n; i++) {
		const struct rule *r = &s->rules.v[i];

		s->kind_of[i] = kind_index(s, r->kind);
		if (r->pattern != NULL)
			add_keywords(s, r->keyword, i, false);
		else if (r->value != VALUE_NONE)
			add_keywords(s, r->names, n, true);
	}
	s->kind_pem = kind_index(s, "private-key");
	s->kind_manifest = kind_index(s, "secret");
	s->kind_known = kind_index(s, "known-value");
	for (size_t i = 0; i < sizeof armors / sizeof armors[0]; i++)
		keywords_add(s->keywords, armors[i], strlen(armors[i]), n + 1);
	keywords_build(s->keywords);
}

static const struct sample *
canary(const struct rule *r)
{
	for (size_t k = 0; k < r->n_samples; k++)
		if (r->samples[k].finds)
			return &r->samples[k];
	return NULL;
}

static bool
makes(struct scrub *s, const char *text, const char *want)
{
	struct clean_text *t = scrub_string(s, text);
	bool good = strcmp(clean_bytes(t), want) == 0;

	clean_free(t);
	return good;
}

/* All of them as one text, which is quick. False says only that they have to be tried one by one. */
static bool
all_sing(struct scrub *s)
{
	struct buf text = BUF_INIT, want = BUF_INIT;
	bool good;

	for (size_t i = 0; i < s->rules.n; i++) {
		const struct sample *c = canary(&s->rules.v[i]);

		if (c == NULL)
			continue;
		buf_str(&text, c->text);
		buf_str(&want, c->want);
		buf_chr(&text, '\n');
		buf_chr(&want, '\n');
	}
	good = makes(s, text.data, want.data);
	buf_release(&text);
	buf_release(&want);
	return good;
}

/* Every rule must find its first sample: a broken table must not look like clean text. */
static int
canaries(struct scrub *s, const char *user_rules, struct err *e)
{
	bool good;

	s->rules_alone = true;
	good = all_sing(s);
	for (size_t i = 0; i < s->rules.n && !good; i++) {
		const struct rule *r = &s->rules.v[i];
		const struct sample *c = canary(r);

		if (c == NULL || makes(s, c->text, c->want))
			continue;
		err_set(e, r->own ? GT_USAGE : GT_FAIL, "canary", "%s:%d: the rule [%s] for secrets does not find its own sample",
		    r->own ? user_rules : "config/secrets.ini", c->line, r->name);
		return err_hint(e, "correct the rule or its finds; nothing is scrubbed by a table that does not work");
	}
	s->rules_alone = false;
	memset(s->counts, 0, s->n_kinds * sizeof *s->counts);
	s->withheld = s->removed = s->n_places = 0;
	return 0;
}

struct scrub *
scrub_new(const char *user_rules, struct err *e)
{
	struct scrub *s = xcalloc(1, sizeof *s);

	if (rules_init(&s->rules, user_rules, e) != 0) {
		free(s);
		return NULL;
	}
	prepare(s);
	if (canaries(s, user_rules, e) != 0) {
		scrub_free(s);
		return NULL;
	}
	return s;
}

void
scrub_free(struct scrub *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n_allow; i++)
		pattern_free(s->allow[i]);
	free(s->allow);
	known_release(&s->known);
	keywords_free(s->keywords);
	gate_free(s->gate);
	rules_release(&s->rules);
	free(s->kinds);
	free(s->counts);
	free(s->ordinals);
	free(s->kind_of);
	free(s->done);
	free(s->places);
	free(s);
}

int
scrub_allow(struct scrub *s, const char *regex, struct err *e)
{
	struct pattern *p = pattern_new(regex, 0, e);

	if (p == NULL)
		return err_add(e, "[recovery.scrub] allow");
	s->allow = vec_room(s->allow, s->n_allow, &s->cap_allow, sizeof *s->allow);
	s->allow[s->n_allow++] = p;
	scrub_forget(s);
	return 0;
}

/* ---- known values ---- */

void
scrub_learn_value(struct scrub *s, const char *value, size_t n)
{
	bool key = n > 11 && memcmp(value, "-----BEGIN ", 11) == 0;

	if ((key || known_tells(value, n)) && !scrub_allows(s, value, n))
		known_learn(&s->known, value, n, s->kind_known);
}

/* The password in a URL, whatever the variable is called. */
static void
learn_url(struct scrub *s, const char *value)
{
	const char *p = strstr(value, "://"), *at, *colon;

	if (p == NULL)
		return;
	p += 3;
	at = p + strcspn(p, "/?# \n");
	at = memrchr(p, '@', (size_t)(at - p));
	colon = at != NULL ? memchr(p, ':', (size_t)(at - p)) : NULL;
	if (colon != NULL && at - colon > 8 && !value_is_placeholder(colon + 1, (size_t)(at - colon - 1)))
		scrub_learn_value(s, colon + 1, (size_t)(at - colon - 1));
}

void
scrub_learn(struct scrub *s, const char *name, const char *value)
{
	struct value v = { .p = value, .n = strlen(value), .quoted = true, .plain_env = true };
	const struct rule *rule = rules_name(&s->rules, name, strlen(name));

	learn_url(s, value);
	if (rule == NULL || v.n < 8)
		return;
	if (value_is_secret(&v, rule->value) || strncmp(value, "-----BEGIN ", 11) == 0)
		scrub_learn_value(s, value, v.n);
}

void
scrub_forget(struct scrub *s)
{
	known_forget(&s->known);
	memset(s->ordinals, 0, s->n_kinds * sizeof *s->ordinals);
}

size_t
scrub_sought(const struct scrub *s)
{
	return s->known.sought;
}

size_t
scrub_room(const struct scrub *s)
{
	return known_room(&s->known);
}

void
scrub_learn_environ(struct scrub *s, const char *block, size_t n)
{
	struct buf name = BUF_INIT, value = BUF_INIT;

	for (size_t i = 0; i < n;) {
		size_t len = strnlen(block + i, n - i);
		const char *eq = memchr(block + i, '=', len);

		if (eq != NULL) {
			size_t name_len = (size_t)(eq - block) - i;

			buf_reset(&name);
			buf_reset(&value);
			buf_add(&name, block + i, name_len);
			buf_add(&value, eq + 1, len - name_len - 1);
			scrub_learn(s, name.data, value.data);
			explicit_bzero(value.data, value.len);
		}
		i += len + 1;
	}
	buf_release(&name);
	buf_wipe(&value);
}

bool
scrub_allows(const struct scrub *s, const char *p, size_t n)
{
	for (size_t i = 0; i < s->n_allow; i++)
		if (pattern_find(s->allow[i], p, n, 0, NULL) == 1)
			return true;
	return false;
}

/* ---- what was replaced ---- */

const struct scrub_place *
scrub_places(const struct scrub *s, size_t *n)
{
	*n = s->n_places;
	return s->places;
}

size_t
scrub_withheld(const struct scrub *s)
{
	return s->withheld;
}

size_t
scrub_removed(const struct scrub *s)
{
	return s->removed;
}

size_t
scrub_kinds(const struct scrub *s)
{
	return s->n_kinds;
}

const char *
scrub_kind(const struct scrub *s, size_t i, size_t *count)
{
	if (count != NULL)
		*count = s->counts[i];
	return s->kinds[i];
}

size_t
scrub_total(const struct scrub *s)
{
	size_t total = 0;

	for (size_t i = 0; i < s->n_kinds; i++)
		total += s->counts[i];
	return total;
}
