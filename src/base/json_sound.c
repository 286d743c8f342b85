#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

#define MEMBERS 64			/* each key is compared with those before it */
#define DIGITS 18			/* no integer of so many overflows */

struct reader {
	const char *p, *end;
};

static bool
take(struct reader *r, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
		return false;
	r->p += n;
	return true;
}

/* With the escapes that are one letter; the others are jansson's to judge. */
static bool
take_string(struct reader *r)
{
	if (!take(r, "\""))
		return false;
	for (; r->p < r->end && *r->p != '"'; r->p++) {
		if ((unsigned char)*r->p < 0x20)
			return false;
		if (*r->p == '\\' && (++r->p == r->end || memchr("\"\\/bfnrt", *r->p, 8) == NULL))
			return false;
	}
	return take(r, "\"");
}

static bool
take_integer(struct reader *r)
{
	const char *from;

	if (r->p < r->end && *r->p == '-')
		r->p++;
	from = r->p;
	while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
		r->p++;
	return r->p > from && r->p - from <= DIGITS && (*from != '0' || r->p - from == 1);
}

static bool
take_value(struct reader *r)
{
	if (r->p < r->end && *r->p == '"')
		return take_string(r);
	return take(r, "null") || take(r, "true") || take(r, "false") || take_integer(r);
}

/* An object as json_print writes it, without blanks, and without objects and arrays in it. False tells nothing. */
static bool
is_flat(const char *text, size_t n)
{
	struct { const char *p; size_t n; } keys[MEMBERS];
	struct reader r = { text, text + n };

	if (!take(&r, "{"))
		return false;
	for (size_t i = 0; i < MEMBERS; i++) {
		const char *from = r.p;

		if (!take_string(&r))
			return false;
		keys[i].p = from;
		keys[i].n = (size_t)(r.p - from);
		if (memchr(from, '\\', keys[i].n) != NULL)
			return false;
		for (size_t k = 0; k < i; k++)
			if (keys[k].n == keys[i].n && memcmp(keys[k].p, from, keys[i].n) == 0)
				return false;
		if (!take(&r, ":") || !take_value(&r))
			return false;
		if (!take(&r, ","))
			return take(&r, "}") && r.p == r.end;
	}
	return false;
}

bool
json_sound(const char *text, size_t n)
{
	json_t *v;
	bool sound;

	if (is_flat(text, n))
		return utf8_valid(text, n);
	v = json_parse(text, n, "", NULL);
	sound = v != NULL;
	json_decref(v);
	return sound;
}
