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

static void
prepare(struct scrub *s)
{
	const struct index *x = s->rules.index;

	s->kinds = x->kinds;
	s->n_kinds = x->n_kinds;
	s->counts = xcalloc(s->n_kinds, sizeof *s->counts);
	s->ordinals = xcalloc(s->n_kinds, sizeof *s->ordinals);
	s->done = xcalloc(s->rules.n, sizeof *s->done);
	s->gate = gate_new(x->keywords);
}

static bool
makes(struct scrub *s, const char *text, const char *want)
{
	struct clean_text *t = scrub_string(s, text);
	bool good = strcmp(clean_bytes(t), want) == 0;

	clean_free(t);
	return good;
}

/* The whole way from a text to its placeholder, with the rule's first sample. */
static bool
sings(struct scrub *s, const struct rule *r)
{
	struct sample m;
	bool good;

	sample_init(&m, true, r->finds, r->kind, r->finds_line);
	good = makes(s, m.text, m.want);
	sample_release(&m);
	return good;
}

/*
 * At the start sing the rules of names, which have no pattern, one rule of each sort of pattern, and all of the user's: a scrubber that finds
 * nothing must not look like clean text. Each other rule of ours is tried when it is first needed (rules.h).
 */
static int
canaries(struct scrub *s, const char *user_rules, struct err *e)
{
	bool anchored = false, behind = false;

	s->rules_alone = true;
	for (size_t i = 0; i < s->rules.n; i++) {
		const struct rule *r = &s->rules.v[i];
		bool *sort = r->back == 0 ? &anchored : &behind;

		if (r->finds == NULL || (!r->own && r->regex != NULL && *sort))
			continue;
		*sort = *sort || (!r->own && r->regex != NULL);
		if (sings(s, r))
			continue;
		err_set(e, r->own ? GT_USAGE : GT_FAIL, "canary", "%s:%d: the rule [%s] for secrets does not find its own sample",
		    r->own ? user_rules : "config/secrets.ini", r->finds_line, r->name);
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
	gate_free(s->gate);
	rules_release(&s->rules);
	free(s->counts);
	free(s->ordinals);
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
		known_learn(&s->known, value, n, s->rules.index->kind_known);
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

const char *
scrub_broken(const struct scrub *s)
{
	return s->rules.first_broken;
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
