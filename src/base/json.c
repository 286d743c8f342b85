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
		err_set(e, GT_FAIL, "json", "%s is not valid JSON (line %d, column %d)", what, je.line, je.column);
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

/* What a terminal would obey or hide, as \uNNNN: the value is the same, and nobody who looks at it is deceived. */
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
	char *s = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15) | (pretty ? JSON_INDENT(2) : JSON_COMPACT));

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
