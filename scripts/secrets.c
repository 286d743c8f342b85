#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "scrub/rules/rules_private.h"
#include "config/toml.h"

/*
 * secrets <config/secrets.ini >secrets.ini.inc: the table of secrets and its index as constants of C, so that no start has to read or make them
 * again. It runs on the machine that builds, out of the program's own sources. Of the samples only the first of each rule is there, its
 * canary: the others are for the tests.
 */
#define MOST (4u << 20)

static void
put_text(const char *p)
{
	if (p == NULL) {
		printf("NULL, ");
		return;
	}
	putchar('"');
	for (; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '?')
			printf("\\%03o", c);
		else
			putchar(c);
	}
	printf("\", ");
}

static void
put_rules(const struct rule_list *all)
{
	printf("static const struct rule rules[] = {\n");
	for (size_t i = 0; i < all->n; i++) {
		const struct rule *r = &all->v[i];

		printf("{ ");
		put_text(r->name);
		put_text(r->kind);
		put_text(r->keyword);
		put_text(r->names);
		put_text(r->regex);
		put_text(r->finds);
		printf("%d, %d, %zu, %d, %d, %d, %d, 0, 0, 0, 0 },\n", r->line, r->finds_line, r->back, r->border, r->caseless, r->needs, (int)r->value);
	}
	printf("};\n");
}

static void
put_names_and_kinds(const struct rule_index *x, size_t n)
{
	printf("static const struct rule_name names[] = {\n");
	for (size_t i = 0; i < x->n_names; i++) {
		printf("{ ");
		put_text(x->names[i].text);
		printf("%zu },\n", x->names[i].rule);
	}
	printf("};\nstatic const char *const kinds[] = {\n");
	for (size_t i = 0; i < x->n_kinds; i++)
		put_text(x->kinds[i]);
	printf("};\nstatic const uint16_t kind_of[] = {\n");
	for (size_t i = 0; i < n; i++)
		printf("%u, ", x->kind_of[i]);
	printf("};\n");
}

static void
put_keywords(const struct keywords *k)
{
	printf("static const uint32_t next[] = {\n");
	for (size_t i = 0; i < k->n_nodes * k->columns; i++)
		printf("%#x,%s", k->next[i], i % k->columns + 1 == k->columns ? "\n" : "");
	printf("};\nstatic const struct keyword_end endings[] = {\n");
	for (size_t i = 0; i < k->n_endings; i++)
		printf("{ %u, %u, %u, %#x },\n", k->endings[i].first, k->endings[i].n, k->endings[i].depth, k->endings[i].shorter);
	printf("};\nstatic const uint16_t ids[] = {\n");
	for (size_t i = 0; i < k->n_ids; i++)
		printf("%u, ", k->ids[i]);
	printf("};\nstatic const struct keywords keywords = { next, endings, ids, {");
	for (size_t i = 0; i < sizeof k->column; i++)
		printf("%u, ", k->column[i]);
	printf("}, %u, %zu, %zu, %zu, %zu, 0 };\n", k->columns, k->longest, k->n_nodes, k->n_endings, k->n_ids);
}

static void
put_borders(const struct rule_index *x)
{
	printf("static const unsigned char bordered[] = {\n");
	for (size_t i = 0; i < keyword_count(x->keywords); i++)
		printf("%u, ", x->bordered[i]);
	printf("};\n");
}

static int
take_item(void *arg, const struct toml_item *it, struct err *e)
{
	return rule_read(arg, true, it, e);
}

static int
check(const struct rule_list *all, struct err *e)
{
	for (size_t i = 0; i < all->n; i++)
		if (rule_check(&all->v[i], "config/secrets.ini", e) != 0)
			return -1;
	return 0;
}

int
main(void)
{
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;
	struct rule_list all = { 0 };
	struct rule_index x;
	int c;

	while ((c = getchar()) != EOF && text.len < MOST)
		buf_chr(&text, (char)c);
	if (toml_parse(text.data, text.len, "config/secrets.ini", take_item, &all, &e) != 0 || check(&all, &e) != 0) {
		fprintf(stderr, "secrets: %s\n", e.msg);
		return 1;
	}
	rule_index_init(&x, all.v, all.n);
	put_rules(&all);
	put_names_and_kinds(&x, all.n);
	put_keywords(x.keywords);
	put_borders(&x);
	printf("const struct rule_table rule_table_built_in = { rules, %zu, { names, %zu, kinds, %zu, kind_of, %u, %u, %u, bordered, &keywords } };\n", all.n, x.n_names,
	    x.n_kinds, x.kind_pem, x.kind_manifest, x.kind_known);
	rule_index_release(&x);
	for (size_t i = 0; i < all.n; i++)
		rule_release(&all.v[i]);
	buf_release(&text);
	return fflush(stdout) != 0;
}
