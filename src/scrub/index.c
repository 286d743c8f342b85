#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "scrub/index.h"

#define BLANKS " \n"

static int
by_text(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int r = strcmp(x->text, y->text);

	return r != 0 ? r : (x->rule > y->rule) - (x->rule < y->rule);
}

static void
index_names(struct index *x, const struct rule *v, size_t n)
{
	struct name *names = NULL;
	size_t cap = 0;

	for (size_t i = 0; i < n; i++) {
		const char *p = v[i].names != NULL ? v[i].names : "";

		while (*(p += strspn(p, BLANKS)) != '\0') {
			size_t len = strcspn(p, BLANKS);

			names = vec_room(names, x->n_names, &cap, sizeof *names);
			names[x->n_names++] = (struct name){ xstrndup(p, len), i };
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
index_kinds(struct index *x, const struct rule *v, size_t n)
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
		keywords_add(k, p + from, n - from, id);
		p += n;
	}
}

static void
index_keywords(struct index *x, const struct rule *v, size_t n)
{
	static const char *const armors[] = { "-----BEGIN ", "-----END ", "Private-Lines:", "---- BEGIN SSH2 ", "---- END SSH2 " };
	struct keywords *k = keywords_new();

	for (size_t i = 0; i < n; i++) {
		if (v[i].keyword != NULL)
			add_words(k, v[i].keyword, i, false);
		else if (v[i].value != VALUE_NONE)
			add_words(k, v[i].names, n, true);
	}
	for (size_t i = 0; i < sizeof armors / sizeof armors[0]; i++)
		keywords_add(k, armors[i], strlen(armors[i]), n + 1);
	keywords_build(k);
	x->keywords = k;
}

static void
index_borders(struct index *x, const struct rule *v, size_t n)
{
	size_t n_words = keywords_words(x->keywords);
	unsigned char *bordered = xcalloc(n_words, sizeof *bordered);

	for (size_t i = 0; i < n_words; i++) {
		size_t n_ids;
		const uint16_t *ids = keywords_ids(x->keywords, i, &n_ids);

		bordered[i] = 1;
		for (size_t k = 0; k < n_ids && bordered[i]; k++)
			bordered[i] = ids[k] < n && v[ids[k]].border;
	}
	x->bordered = bordered;
}

void
index_init(struct index *x, const struct rule *v, size_t n)
{
	*x = (struct index){ 0 };
	index_names(x, v, n);
	index_kinds(x, v, n);
	index_keywords(x, v, n);
	index_borders(x, v, n);
}

void
index_release(struct index *x)
{
	for (size_t i = 0; i < x->n_names; i++)
		free((char *)x->names[i].text);
	free((void *)x->names);
	free((void *)x->kinds);
	free((void *)x->kind_of);
	free((void *)x->bordered);
	keywords_free((struct keywords *)x->keywords);
	*x = (struct index){ 0 };
}
