#include <stdlib.h>
#include <string.h>

#include "base/json_slice.h"
#include "base/buf.h"
#include "base/utf8.h"

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
		const char *d = p[i] != '\0' ? strchr(digits, p[i] >= 'A' && p[i] <= 'F' ? p[i] | 0x20 : p[i]) : NULL;

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
			buf_chr(out, slash[1] != '\0' && (name = strchr(names, slash[1])) != NULL ? codes[name - names] : slash[1]);
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
