#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "town/toml_name.h"
#include "town/toml_string.h"
#include "town/toml_text.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"

enum {
	PATH_BYTES = 1024,
	PATH_PARTS = 16
};

enum how { HOW_PARENT, HOW_TABLE, HOW_DOTTED, HOW_VALUE };

/* A name that has been used, in a tsearch tree, so that TOML's rules about names given twice can be kept. */
struct name {
	size_t len;
	int line;
	enum how how;
	char bytes[];
};

/* Paths. */

static bool
is_bare(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

int
toml_path_read(struct toml_text *t, struct toml_path *to)
{
	for (;;) {
		size_t start;

		toml_skip_blanks(t);
		start = to->bytes.len;
		if (toml_peek(t, 0) == '"' || toml_peek(t, 0) == '\'') {
			if (toml_string_read(t, false, &to->bytes) != 0)
				return -1;
			if (!utf8_valid(to->bytes.data + start, to->bytes.len - start))
				return toml_fail(t, t->line, "the key is not valid UTF-8");
		} else {
			while (is_bare(toml_peek(t, 0))) {
				buf_chr(&to->bytes, t->text[t->pos]);
				t->pos++;
			}
			if (to->bytes.len == start)
				return toml_fail(t, t->line, "expected a key (letters, digits, _ and -, anything else between quotes)");
		}
		buf_chr(&to->bytes, '\0');
		if (++to->parts > PATH_PARTS || to->bytes.len > PATH_BYTES)
			return toml_fail(t, t->line, "the key is too long; expected at most %d parts and %d bytes", PATH_PARTS, PATH_BYTES);
		toml_skip_blanks(t);
		if (toml_peek(t, 0) != '.')
			return 0;
		t->pos++;
	}
}

void
toml_path_text(const struct toml_path *p, size_t len, struct buf *out)
{
	buf_reset(out);
	if (len == 0)
		return;
	buf_add(out, p->bytes.data, len - 1);
	for (size_t i = 0; i < out->len; i++) {
		if (out->data[i] == '\0')
			out->data[i] = '.';
	}
}

size_t
toml_path_last(const struct toml_path *p)
{
	size_t at = p->bytes.len > 0 ? p->bytes.len - 1 : 0;

	while (at > 0 && p->bytes.data[at - 1] != '\0')
		at--;
	return at;
}

/* The record of used names. */

static int
name_order(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int c = memcmp(x->bytes, y->bytes, x->len < y->len ? x->len : y->len);

	return c != 0 ? c : (x->len > y->len) - (x->len < y->len);
}

/* The record of the first len bytes of a path; made when it is new, which *fresh tells. */
static struct name *
name_of(struct toml_names *names, int line, const struct toml_path *p, size_t len, enum how how, bool *fresh)
{
	struct name *made = xmalloc(sizeof *made + len);
	struct name **found;

	made->len = len;
	made->line = line;
	made->how = how;
	memcpy(made->bytes, p->bytes.data, len);
	found = tsearch(made, &names->root, name_order);
	if (found == NULL)
		die("out of memory");
	*fresh = *found == made;
	if (!*fresh)
		free(made);
	return *found;
}

static int
fail_twice(struct toml_text *t, const struct name *first, const char *kind)
{
	struct buf shown = BUF_INIT, text = BUF_INIT;

	for (size_t i = 0; i + 1 < first->len; i++)
		buf_chr(&text, first->bytes[i] == '\0' ? '.' : first->bytes[i]);
	utf8_escape(&shown, text.data, text.len, 60);
	if (first->how == HOW_VALUE)
		toml_fail(t, t->line, "%s \"%s\" was already given a value in line %d", kind, shown.data, first->line);
	else
		toml_fail(t, t->line, "%s \"%s\" was already given as a table in line %d", kind, shown.data, first->line);
	buf_release(&shown);
	buf_release(&text);
	return -1;
}

/* The tables above the last part: made when missing. A dotted key may only reach into tables that dotted keys made. */
static int
claim_parents(struct toml_names *names, struct toml_text *t, const struct toml_path *p, size_t from, enum how how)
{
	size_t last = toml_path_last(p);

	for (size_t i = from; i < last; i++) {
		struct name *parent;
		bool fresh;

		if (p->bytes.data[i] != '\0')
			continue;
		parent = name_of(names, t->line, p, i + 1, how, &fresh);
		if (fresh)
			continue;
		if (parent->how == HOW_VALUE || (how == HOW_DOTTED && parent->how != HOW_DOTTED))
			return fail_twice(t, parent, "the table");
	}
	return 0;
}

int
toml_names_table(struct toml_names *names, struct toml_text *t, const struct toml_path *p)
{
	struct name *name;
	bool fresh;

	if (claim_parents(names, t, p, 0, HOW_PARENT) != 0)
		return -1;
	name = name_of(names, t->line, p, p->bytes.len, HOW_TABLE, &fresh);
	if (!fresh && name->how != HOW_PARENT)
		return fail_twice(t, name, "the table");
	name->how = HOW_TABLE;
	return 0;
}

int
toml_names_key(struct toml_names *names, struct toml_text *t, const struct toml_path *p, size_t from)
{
	struct name *name;
	bool fresh;

	if (claim_parents(names, t, p, from, HOW_DOTTED) != 0)
		return -1;
	name = name_of(names, t->line, p, p->bytes.len, HOW_VALUE, &fresh);
	return fresh ? 0 : fail_twice(t, name, "the key");
}

void
toml_names_release(struct toml_names *names)
{
	tdestroy(names->root, free);
	names->root = NULL;
}
