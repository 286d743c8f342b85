#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "config/toml.h"

/*
 * items <config/agents.ini >agents.ini.inc: a table as the build compiles it in, read by the program's own reader, so that no start has to parse
 * it again: what toml_items takes, as a list of bytes.
 */
#define MOST (4u << 20)

static void
put(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%d,", (unsigned char)p[i]);
}

static int
print_item(void *arg, const struct toml_item *it, struct err *e)
{
	char tail[] = { (char)it->type, (char)it->line, (char)(it->line >> 8), (char)(it->line >> 16) };

	(void)arg;
	(void)e;
	put(it->section, strlen(it->section) + 1);
	put(it->key, strlen(it->key) + 1);
	put(it->value, strlen(it->value) + 1);
	put(tail, sizeof tail);
	printf("\n");
	return 0;
}

int
main(void)
{
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;
	int c;

	while ((c = getchar()) != EOF && text.len < MOST)
		buf_chr(&text, (char)c);
	if (toml_parse(text.data, text.len, "standard input", print_item, NULL, &e) != 0) {
		fprintf(stderr, "items: %s\n", e.msg);
		return 1;
	}
	buf_release(&text);
	return fflush(stdout) != 0;
}
