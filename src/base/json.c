#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"

json_t *
json_parse(const char *text, size_t n, const char *what, struct err *e)
{
	json_error_t je;
	json_t *v = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &je);

	if (v == NULL)
		err_set(e, GT_FAIL, "json", "%s is not valid JSON (line %d, column %d)", what, je.line,
		    je.column);
	return v;
}

const char *
json_text(const json_t *object, const char *key, const char *otherwise)
{
	const json_t *v = json_object_get(object, key);

	return json_is_string(v) ? json_string_value(v) : otherwise;
}

int64_t
json_number(const json_t *object, const char *key, int64_t otherwise)
{
	const json_t *v = json_object_get(object, key);

	return json_is_integer(v) ? (int64_t)json_integer_value(v) :
	    json_is_real(v) ? (int64_t)json_real_value(v) : otherwise;
}

bool
json_flag(const json_t *object, const char *key, bool otherwise)
{
	const json_t *v = json_object_get(object, key);

	return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

json_t *
json_bytes(const char *p, size_t n)
{
	struct buf b = BUF_INIT;
	json_t *v = json_stringn(p, n);
	size_t step;
	int32_t r;

	if (v != NULL)
		return v;
	for (size_t i = 0; i < n; i += step) {
		step = utf8_next(p + i, n - i, &r);
		utf8_put(&b, r < 0 ? 0xfffd : r);
	}
	v = json_stringn(b.data, b.len);
	buf_release(&b);
	if (v == NULL)
		die("a JSON string could not be made");
	return v;
}

void
json_put(json_t *object, const char *key, const char *s)
{
	json_object_set_new(object, key, s == NULL ? json_null() : json_bytes(s, strlen(s)));
}

void
json_put_int(json_t *object, const char *key, int64_t n)
{
	json_object_set_new(object, key, json_integer(n));
}

void
json_put_flag(json_t *object, const char *key, bool flag)
{
	json_object_set_new(object, key, json_boolean(flag));
}

/*
 * What a terminal would obey or hide, as \uNNNN: the value is the same, and nobody who looks at
 * it is deceived.
 */
static void
put_visible(struct buf *out, const char *s)
{
	size_t n = strlen(s), step;
	int32_t r;

	for (size_t i = 0; i < n; i += step) {
		step = utf8_next(s + i, n - i, &r);
		if (!utf8_hidden(r))
			buf_add(out, s + i, step);
		else if (r > 0xffff)
			buf_fmt(out, "\\u%04x\\u%04x", 0xd800u + ((unsigned)(r - 0x10000) >> 10),
			    0xdc00u + ((unsigned)(r - 0x10000) & 0x3ff));
		else
			buf_fmt(out, "\\u%04x", (unsigned)r);
	}
}

void
json_print(struct buf *out, const json_t *value, bool pretty)
{
	char *s = json_dumps(
	    value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15) | (pretty ? JSON_INDENT(2) : JSON_COMPACT));

	if (s == NULL)
		die("a JSON value could not be printed");
	if (pretty) {
		put_visible(out, s);
		buf_chr(out, '\n');
	} else {
		buf_str(out, s);
	}
	free(s);
}

void
json_print_text(struct buf *out, const char *p, size_t n)
{
	static const char special[] = "\b\f\n\r\t", letter[] = "bfnrt";
	size_t from = 0;

	buf_grow(out, n + 2);
	buf_chr(out, '"');
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];
		const char *known;
		char pair[2] = { '\\', p[i] };

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		buf_add(out, p + from, i - from);
		from = i + 1;
		known = c != 0 ? strchr(special, c) : NULL;
		if (known != NULL)
			pair[1] = letter[known - special];
		if (c >= 0x20 || known != NULL)
			buf_add(out, pair, sizeof pair);
		else
			buf_fmt(out, "\\u%04X", c);
	}
	buf_add(out, p + from, n - from);
	buf_chr(out, '"');
}

void
json_print_member(struct buf *out, const char *key, const char *text)
{
	size_t n = text != NULL ? strlen(text) : 0;
	json_t *v;

	buf_str(out, ",\"");
	buf_str(out, key);
	buf_str(out, "\":");
	if (text == NULL) {
		buf_str(out, "null");
	} else if (utf8_valid(text, n)) {
		json_print_text(out, text, n);
	} else {
		v = json_bytes(text, n);
		json_print_text(out, json_string_value(v), json_string_length(v));
		json_decref(v);
	}
}

static const char *
skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
		p++;
	return p;
}

/* p stands behind the opening quote. The closing one, or NULL. */
static const char *
string_end(const char *p, const char *end)
{
	while (p < end) {
		const char *q = memchr(p, '"', (size_t)(end - p)), *back = q;

		if (q == NULL)
			return NULL;
		while (back > p && back[-1] == '\\')
			back--;
		if ((q - back) % 2 == 0)
			return q;
		p = q + 1;
	}
	return NULL;
}

/* Behind the container that begins at p, or NULL when it does not end. */
static const char *
container_end(const char *p, const char *end)
{
	size_t depth = 0;

	for (; p < end; p++) {
		if (*p == '"') {
			if ((p = string_end(p + 1, end)) == NULL)
				return NULL;
		} else if (*p == '{' || *p == '[') {
			depth++;
		} else if ((*p == '}' || *p == ']') && --depth == 0) {
			return p + 1;
		}
	}
	return NULL;
}

/* Behind the value that begins at p, or NULL. */
static const char *
value_end(const char *p, const char *end)
{
	const char *from = p;

	if (p >= end)
		return NULL;
	if (*p == '"') {
		p = string_end(p + 1, end);
		return p != NULL ? p + 1 : NULL;
	}
	if (*p == '{' || *p == '[')
		return container_end(p, end);
	while (p < end && strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzE", *p) != NULL && *p != '\0')
		p++;
	return p > from ? p : NULL;
}

bool
json_slice_whole(const char *p, size_t n, struct json_slice *out)
{
	const char *end, *to;

	if (n == 0)
		return false;
	end = p + n;
	p = skip_blanks(p, end);
	to = value_end(p, end);
	if (to == NULL || skip_blanks(to, end) != end)
		return false;
	*out = (struct json_slice){ p, (size_t)(to - p) };
	return true;
}

struct json_walk
json_slice_walk(struct json_slice container)
{
	struct json_walk w = { .object = false };

	if (container.n < 2 || (*container.p != '{' && *container.p != '['))
		return w;
	w.object = *container.p == '{';
	w.p = container.p + 1;
	w.end = container.p + container.n - 1;
	return w;
}

bool
json_walk_next(struct json_walk *w, struct json_slice *key, struct json_slice *value)
{
	struct json_slice k = { w->p, 0 };
	const char *to;

	w->p = skip_blanks(w->p, w->end);
	if (w->object && w->p < w->end) {
		if (*w->p != '"' || (to = string_end(w->p + 1, w->end)) == NULL)
			return false;
		k = (struct json_slice){ w->p + 1, (size_t)(to - w->p) - 1 };
		w->p = skip_blanks(to + 1, w->end);
		if (w->p >= w->end || *w->p != ':')
			return false;
		w->p = skip_blanks(w->p + 1, w->end);
	}
	if (w->p >= w->end || (to = value_end(w->p, w->end)) == NULL)
		return false;
	*value = (struct json_slice){ w->p, (size_t)(to - w->p) };
	if (key != NULL)
		*key = k;
	w->p = skip_blanks(to, w->end);
	if (w->p < w->end && *w->p == ',')
		w->p++;
	else
		w->end = w->p;
	return true;
}

struct json_slice
json_slice_get(struct json_slice object, const char *key)
{
	struct json_walk w = json_slice_walk(object);
	struct json_slice k, v;

	while (w.object && json_walk_next(&w, &k, &v))
		if (json_key_is(k, key))
			return v;
	return (struct json_slice){ NULL, 0 };
}

bool
json_key_is(struct json_slice key, const char *text)
{
	return key.n == strlen(text) && memcmp(key.p, text, key.n) == 0;
}

bool
json_slice_string(struct json_slice v)
{
	return v.n >= 2 && *v.p == '"';
}

bool
json_slice_is(struct json_slice v, const char *text)
{
	if (v.n == 0)
		return false;
	if (json_slice_string(v))
		v = (struct json_slice){ v.p + 1, v.n - 2 };
	return json_key_is(v, text);
}

int64_t
json_slice_number(struct json_slice v, int64_t otherwise)
{
	char word[64], *end;
	long long n;
	double real;

	if (v.n == 0 || v.n >= sizeof word || json_slice_string(v))
		return otherwise;
	memcpy(word, v.p, v.n);
	word[v.n] = '\0';
	n = strtoll(word, &end, 10);
	if (*end == '\0')
		return n;
	real = strtod(word, &end);
	return *end == '\0' && real > -9e18 && real < 9e18 ? (int64_t)real : otherwise;
}

/* Four hex digits at p, or -1. */
static int
hex4(const char *p, const char *end)
{
	int value = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *d =
		    p[i] != '\0' ? strchr(digits, p[i] >= 'A' && p[i] <= 'F' ? p[i] | 0x20 : p[i]) : NULL;

		if (d == NULL)
			return -1;
		value = value * 16 + (int)(d - digits);
	}
	return value;
}

/* p stands behind "\u". Returns what follows. */
static const char *
put_unicode(struct buf *out, const char *p, const char *end)
{
	int high = hex4(p, end), low;

	if (high < 0) {
		utf8_put(out, 0xfffd);
		return p;
	}
	p += 4;
	if (high >= 0xd800 && high < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' &&
	    (low = hex4(p + 2, end)) >= 0xdc00 && low < 0xe000) {
		utf8_put(out, 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
		return p + 6;
	}
	utf8_put(out, high == 0 || (high >= 0xd800 && high < 0xe000) ? 0xfffd : high);
	return p;
}

void
json_slice_text(struct buf *out, struct json_slice v)
{
	static const char names[] = "bfnrt", codes[] = "\b\f\n\r\t";
	const char *p, *end;

	if (!json_slice_string(v)) {
		if (v.n > 0)
			buf_add(out, v.p, v.n);
		return;
	}
	p = v.p + 1;
	end = v.p + v.n - 1;
	while (p < end) {
		const char *slash = memchr(p, '\\', (size_t)(end - p)), *name;

		buf_add(out, p, (size_t)((slash != NULL ? slash : end) - p));
		if (slash == NULL || slash + 1 >= end)
			return;
		p = slash + 2;
		if (slash[1] == 'u')
			p = put_unicode(out, p, end);
		else
			buf_chr(out,
			    slash[1] != '\0' && (name = strchr(names, slash[1])) != NULL ? codes[name - names]
											 : slash[1]);
	}
}

char *
json_slice_copy(struct json_slice v, const char *otherwise)
{
	struct buf out = BUF_INIT;

	if (!json_slice_string(v))
		return otherwise != NULL ? xstrdup(otherwise) : NULL;
	if (memchr(v.p, '\\', v.n) == NULL && memchr(v.p, '\0', v.n) == NULL)
		return xstrndup(v.p + 1, v.n - 2);
	json_slice_text(&out, v);
	return buf_detach(&out);
}

static void
replace_range(struct buf *text, const char *from, const char *to, const struct buf *by)
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
		replace_range(text, last.p + last.n, last.p + last.n, &by);
	else
		replace_range(text, container.p + 1, container.p + container.n - 1, &by);
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
		replace_range(text, before, end, &none);
	else if (next != NULL)
		replace_range(text, start, next, &none);
	else
		replace_range(text, container.p + 1, container.p + container.n - 1, &none);
}
