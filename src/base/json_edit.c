#include <stdlib.h>
#include <string.h>

#include "base/json_edit.h"
#include "base/buf.h"

static void
replace(struct buf *text, const char *from, const char *to, const struct buf *by)
{
	struct buf out = BUF_INIT;
	size_t start = (size_t)(from - text->data), end = (size_t)(to - text->data);

	buf_add(&out, text->data, start);
	buf_add(&out, by->data, by->len);
	buf_add(&out, text->data + end, text->len - end);
	buf_release(text);
	*text = out;
}

/* How far the file indents: what stands in front of its first member. */
static void
indent_of(const struct buf *text, struct buf *unit)
{
	const char *p = strchr(text->data, '{');
	size_t n = p != NULL && p[1] == '\n' ? strspn(p + 2, " \t") : 0;

	if (n > 0 && n <= 8)
		buf_add(unit, p + 2, n);
	else
		buf_str(unit, "  ");
}

static void
put_line(struct buf *out, const struct buf *unit, size_t depth)
{
	buf_chr(out, '\n');
	for (size_t i = 0; i < depth; i++)
		buf_add(out, unit->data, unit->len);
}

void
json_edit_print(struct buf *out, json_t *v, const struct buf *unit, size_t depth)
{
	char *text = json_dumps(v, JSON_INDENT(1) | JSON_ENCODE_ANY);

	for (const char *p = text; *p != '\0'; p++) {
		size_t n;

		if (*p != '\n') {
			buf_chr(out, *p);
			continue;
		}
		n = strspn(p + 1, " ");
		put_line(out, unit, depth + n);
		p += n;
	}
	free(text);
	json_decref(v);
}

void
json_edit_insert(struct buf *text, struct json_slice container, const char *key, json_t *v, size_t depth)
{
	struct json_walk w = json_slice_walk(container);
	struct json_slice child, last = { NULL, 0 };
	struct buf by = BUF_INIT, unit = BUF_INIT;

	while (json_walk_next(&w, NULL, &child))
		last = child;
	indent_of(text, &unit);
	if (last.p != NULL)
		buf_chr(&by, ',');
	put_line(&by, &unit, depth);
	if (key != NULL)
		buf_fmt(&by, "\"%s\": ", key);
	json_edit_print(&by, v, &unit, depth);
	if (last.p == NULL)
		put_line(&by, &unit, depth - 1);
	if (last.p != NULL)
		replace(text, last.p + last.n, last.p + last.n, &by);
	else
		replace(text, container.p + 1, container.p + container.n - 1, &by);
	buf_release(&by);
	buf_release(&unit);
}

void
json_edit_remove(struct buf *text, struct json_slice container, const char *value)
{
	struct json_walk w = json_slice_walk(container);
	struct json_slice key, child;
	struct buf none = BUF_INIT;
	const char *before = NULL, *start = NULL, *end = NULL, *next = NULL;

	while (next == NULL && json_walk_next(&w, &key, &child)) {
		const char *from = w.object ? key.p - 1 : child.p;

		if (start != NULL) {
			next = from;
		} else if (child.p == value) {
			start = from;
			end = child.p + child.n;
		} else {
			before = child.p + child.n;
		}
	}
	if (before != NULL)
		replace(text, before, end, &none);
	else if (next != NULL)
		replace(text, start, next, &none);
	else
		replace(text, container.p + 1, container.p + container.n - 1, &none);
}
