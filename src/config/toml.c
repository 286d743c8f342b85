#include <ini.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "config/toml_private.h"
#include "config/toml.h"
#include "base/err.h"
#include "base/utf8.h"

enum {
	PATH_BYTES = 1024,
	PATH_PARTS = 16
};

enum toml_name_use { HOW_PARENT, HOW_TABLE, HOW_DOTTED, HOW_VALUE };

/* A name that has been used, in a tsearch tree, so that TOML's rules about names given twice can be kept. */
struct toml_name {
	size_t len;
	int line;
	enum toml_name_use how;
	char bytes[];
};

/* Paths. */

static bool
is_bare(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	    c == '-';
}

/* Adds the parts of a key, up to what ends it, to a path. 0 or -1. */
static int
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
				return toml_fail(t, t->line,
				    "expected a key (letters, digits, _ and -, anything else between "
				    "quotes)");
		}
		buf_chr(&to->bytes, '\0');
		if (++to->parts > PATH_PARTS || to->bytes.len > PATH_BYTES)
			return toml_fail(t, t->line,
			    "the key is too long; expected at most %d parts and %d bytes", PATH_PARTS,
			    PATH_BYTES);
		toml_skip_blanks(t);
		if (toml_peek(t, 0) != '.')
			return 0;
		t->pos++;
	}
}

/* The first len bytes of a path as text in place of what out held: "a.b". */
static void
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

/* Where the last part of a path begins. */
static size_t
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
	const struct toml_name *x = a, *y = b;
	int c = memcmp(x->bytes, y->bytes, x->len < y->len ? x->len : y->len);

	return c != 0 ? c : (x->len > y->len) - (x->len < y->len);
}

/* The record of the first len bytes of a path; made when it is new, which *fresh tells. */
static struct toml_name *
name_of(struct toml_names *names, int line, const struct toml_path *p, size_t len, enum toml_name_use how,
    bool *fresh)
{
	struct toml_name *made = xmalloc(sizeof *made + len);
	struct toml_name **found;

	made->len = len;
	made->line = line;
	made->how = how;
	memcpy(made->bytes, p->bytes.data, len);
	found = tsearch(made, &names->root, name_order);
	if (found == NULL)
		err_no_memory();
	*fresh = *found == made;
	if (!*fresh)
		free(made);
	return *found;
}

static int
fail_twice(struct toml_text *t, const struct toml_name *first, const char *kind)
{
	struct buf shown = BUF_INIT, text = BUF_INIT;

	for (size_t i = 0; i + 1 < first->len; i++)
		buf_chr(&text, first->bytes[i] == '\0' ? '.' : first->bytes[i]);
	utf8_escape(&shown, text.data, text.len, 60);
	if (first->how == HOW_VALUE)
		toml_fail(t, t->line, "%s \"%s\" was already given a value in line %d", kind, shown.data,
		    first->line);
	else
		toml_fail(t, t->line, "%s \"%s\" was already given as a table in line %d", kind, shown.data,
		    first->line);
	buf_release(&shown);
	buf_release(&text);
	return -1;
}

/*
 * The tables above the last part: made when missing. A dotted key may only reach into tables that
 * dotted keys made.
 */
static int
claim_parents(struct toml_names *names, struct toml_text *t, const struct toml_path *p, size_t from,
    enum toml_name_use how)
{
	size_t last = toml_path_last(p);

	for (size_t i = from; i < last; i++) {
		struct toml_name *parent;
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

/* [a.b] */
static int
toml_names_table(struct toml_names *names, struct toml_text *t, const struct toml_path *p)
{
	struct toml_name *name;
	bool fresh;

	if (claim_parents(names, t, p, 0, HOW_PARENT) != 0)
		return -1;
	name = name_of(names, t->line, p, p->bytes.len, HOW_TABLE, &fresh);
	if (!fresh && name->how != HOW_PARENT)
		return fail_twice(t, name, "the table");
	name->how = HOW_TABLE;
	return 0;
}

static int
toml_names_key(struct toml_names *names, struct toml_text *t, const struct toml_path *p, size_t from)
{
	struct toml_name *name;
	bool fresh;

	if (claim_parents(names, t, p, from, HOW_DOTTED) != 0)
		return -1;
	name = name_of(names, t->line, p, p->bytes.len, HOW_VALUE, &fresh);
	return fresh ? 0 : fail_twice(t, name, "the key");
}

/* A key with a value; the first `from` bytes of the path are its table's. */
static void
toml_names_release(struct toml_names *names)
{
	tdestroy(names->root, free);
	names->root = NULL;
}

/*
 * One statement of the text becomes these lines for inih, each as often as its bytes need:
 *
 * 	s=<hex of the section>  k=<hex of the key>  v=<hex of the value>
 * 	e=1
 *
 * and at "e" the handler has all of it and calls item. The reader runs one statement ahead of
 * nothing: inih asks for a line only after the handler has dealt with the last one, so the line
 * number of the statement is still the right one in the handler.
 */
enum { PART_SECTION, PART_KEY, PART_VALUE, PART_END, PART_DONE };

struct toml_reader {
	struct toml_text text;
	bool (*own)(const char *);
	int (*item)(void *, const struct toml_item *, struct err *);
	void *arg;

	struct toml_path table;		/* of the last [header] */
	struct toml_path name;		/* of the statement: table and key */
	struct toml_names names;
	struct buf part[3];		/* the statement, by PART_* */
	enum toml_type type;
	int item_line;
	int sending;			/* PART_* that inih gets next */
	size_t sent;			/* bytes of it that inih has got */

	struct buf got[3];		/* what came back out of inih */
};

/* Statements. */

/* True when the table, or what the whole path names, is ours. */
static bool
is_owned(struct toml_reader *r, const struct toml_path *p, size_t table_len)
{
	struct buf text = BUF_INIT;
	bool own = r->own == NULL;

	if (!own) {
		toml_path_text(p, p->bytes.len, &text);
		own = r->own(text.data);
	}
	if (!own) {
		toml_path_text(p, table_len, &text);
		own = r->own(text.data);
	}
	buf_release(&text);
	return own;
}

/* [a.b] and, where it is not ours, [[a.b]]; the position is on the first bracket. */
static int
parse_header(struct toml_reader *r)
{
	struct toml_text *t = &r->text;
	bool array = toml_peek(t, 1) == '[';

	t->pos += array ? 2 : 1;
	buf_reset(&r->table.bytes);
	r->table.parts = 0;
	if (toml_path_read(t, &r->table) != 0)
		return -1;
	if (toml_peek(t, 0) != ']' || (array && toml_peek(t, 1) != ']'))
		return toml_fail(
		    t, t->line, "expected %s at the end of the table's name", array ? "]]" : "]");
	t->pos += array ? 2 : 1;
	if (is_owned(r, &r->table, r->table.bytes.len)) {
		if (array)
			return toml_fail(
			    t, t->line, "arrays of tables are not supported; expected [name]");
		if (toml_names_table(&r->names, t, &r->table) != 0)
			return -1;
	}
	return toml_end_line(t, "the table's name");
}

/* key = value. 1: it is ours and in part[]; 0: skipped; -1. */
static int
parse_pair(struct toml_reader *r)
{
	struct toml_text *t = &r->text;
	struct toml_path *p = &r->name;
	size_t last;

	buf_reset(&p->bytes);
	buf_add(&p->bytes, r->table.bytes.data, r->table.bytes.len);
	p->parts = r->table.parts;
	r->item_line = t->line;
	if (toml_path_read(t, p) != 0)
		return -1;
	if (toml_peek(t, 0) != '=')
		return toml_fail(t, t->line, "expected = after the key");
	t->pos++;
	toml_skip_blanks(t);
	last = toml_path_last(p);
	if (!is_owned(r, p, last))
		return toml_value_skip(t);
	if (toml_names_key(&r->names, t, p, r->table.bytes.len) != 0)
		return -1;
	toml_path_text(p, last, &r->part[PART_SECTION]);
	buf_reset(&r->part[PART_KEY]);
	buf_str(&r->part[PART_KEY], p->bytes.data + last);
	if (toml_value_read(t, &r->part[PART_VALUE], &r->type) != 0 || toml_end_line(t, "the value") != 0)
		return -1;
	return 1;
}

/* The next statement that is ours into part[]. 1, 0 at the end of the text, -1. */
static int
next_statement(struct toml_reader *r)
{
	struct toml_text *t = &r->text;

	for (;;) {
		int got = 0;

		toml_skip_blanks(t);
		if (toml_peek(t, 0) < 0)
			return 0;
		if (toml_peek(t, 0) == '#' || toml_newline(t) > 0)
			got = toml_end_line(t, "");
		else if (toml_peek(t, 0) == '[')
			got = parse_header(r);
		else
			got = parse_pair(r);
		if (got != 0)
			return got;
	}
}

/* The seam with inih: its reader and its handler. */

static char *
read_line(char *line, int size, void *stream)
{
	static const char hex[] = "0123456789abcdef", letters[] = "skve";
	struct toml_reader *r = stream;
	size_t room = size > 6 ? ((size_t)size - 4) / 2 : 0, n = 0;
	char *p = line;

	if (r->text.failed)
		return NULL;
	if (r->sending == PART_DONE) {
		if (next_statement(r) != 1)
			return NULL;
		r->sending = PART_SECTION;
		r->sent = 0;
	}
	while (r->sending < PART_END && r->sent == r->part[r->sending].len) {
		r->sending++;
		r->sent = 0;
	}
	*p++ = letters[r->sending];
	*p++ = '=';
	if (r->sending == PART_END) {
		*p++ = '1';
		r->sending = PART_DONE;
	} else {
		const struct buf *b = &r->part[r->sending];

		for (n = 0; n < room && r->sent < b->len; n++, r->sent++) {
			*p++ = hex[(unsigned char)b->data[r->sent] >> 4];
			*p++ = hex[(unsigned char)b->data[r->sent] & 15];
		}
		if (n == 0)
			die("inih reads lines of %d bytes", size);
	}
	*p++ = '\n';
	*p = '\0';
	return line;
}

static int
take_line(void *user, const char *section, const char *name, const char *value)
{
	struct toml_reader *r = user;
	const char *which = strchr("skve", name[0]);
	struct toml_item it;

	if (section[0] != '\0' || name[0] == '\0' || name[1] != '\0' || which == NULL)
		die("inih returned a different line");
	if (*which != 'e') {
		size_t part = *which == 's' ? PART_SECTION : *which == 'k' ? PART_KEY : PART_VALUE;

		struct buf *got = &r->got[part];

		buf_grow(got, strlen(value) / 2);
		for (; value[0] != '\0' && value[1] != '\0'; value += 2)
			got->data[got->len++] = (char)(toml_hex(value[0]) * 16 + toml_hex(value[1]));
		got->data[got->len] = '\0';
		return 1;
	}
	it = (struct toml_item){ .section = r->got[PART_SECTION].data,
		.key = r->got[PART_KEY].data,
		.value = r->got[PART_VALUE].data,
		.type = r->type,
		.line = r->item_line };
	if (r->item(r->arg, &it, r->text.e) != 0) {
		err_add(r->text.e, "%s:%d", r->text.what, r->item_line);
		r->text.failed = true;
	}
	for (size_t i = 0; i < 3; i++)
		buf_reset(&r->got[i]);
	return 1;
}

int
toml_parse_some(const char *text, size_t n, const char *what, bool (*own)(const char *section),
    int (*item)(void *arg, const struct toml_item *it, struct err *e), void *arg, struct err *e)
{
	struct toml_reader r = { .text = { .text = text, .n = n, .line = 1, .what = what, .e = e },
		.own = own,
		.item = item,
		.arg = arg,
		.table = { .bytes = BUF_INIT },
		.name = { .bytes = BUF_INIT },
		.part = { BUF_INIT, BUF_INIT, BUF_INIT },
		.got = { BUF_INIT, BUF_INIT, BUF_INIT },
		.sending = PART_DONE };
	const char *nul = n > 0 ? memchr(text, '\0', n) : NULL;
	int ret;

	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.text.pos = 3;
	if (nul != NULL) {
		for (const char *p = text; p < nul; p++)
			r.text.line += *p == '\n';
		toml_fail(&r.text, r.text.line, "a NUL byte; expected a text file");
	} else if ((ret = ini_parse_stream(read_line, &r, take_line, &r)) != 0 && !r.text.failed) {
		r.text.failed = true;
		err_set(e, GT_FAIL, "toml", "%s: inih answered %d", what, ret);
	}
	toml_names_release(&r.names);
	buf_release(&r.table.bytes);
	buf_release(&r.name.bytes);
	for (size_t i = 0; i < 3; i++) {
		buf_release(&r.part[i]);
		buf_release(&r.got[i]);
	}
	return r.text.failed ? -1 : 0;
}

int
toml_parse(const char *text, size_t n, const char *what,
    int (*item)(void *arg, const struct toml_item *it, struct err *e), void *arg, struct err *e)
{
	return toml_parse_some(text, n, what, NULL, item, arg, e);
}

int
toml_items(const unsigned char *items, size_t n, const char *what,
    int (*item)(void *arg, const struct toml_item *it, struct err *e), void *arg, struct err *e)
{
	for (const unsigned char *p = items, *end = items + n; p < end; p += 4) {
		struct toml_item it = { .section = (const char *)p };

		it.key = it.section + strlen(it.section) + 1;
		it.value = it.key + strlen(it.key) + 1;
		p = (const unsigned char *)it.value + strlen(it.value) + 1;
		it.type = (enum toml_type)p[0];
		it.line = p[1] | p[2] << 8 | p[3] << 16;
		if (item(arg, &it, e) != 0)
			return err_add(e, "%s:%d", what, it.line);
	}
	return 0;
}
