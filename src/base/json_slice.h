#ifndef BASE_JSON_SLICE_H
#define BASE_JSON_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/*
 * A value inside JSON text, found but not decoded: for records of many megabytes of which a few words are wanted. Borrowed from the text.
 * What jansson refuses and JavaScript writes is read here: NUL, half surrogate pairs (a string cut in the middle of an emoji), invalid
 * UTF-8 and duplicate keys. No recursion, linear in the text whatever it holds.
 */
struct json_slice {
	const char *p;		/* NULL: no value */
	size_t n;
};

/* The value that is all of the text, blanks around it aside. False when its brackets or quotes do not close: torn, or no JSON. */
bool json_slice_whole(const char *p, size_t n, struct json_slice *out);

/* Walks over the members of an object or the elements of an array; over nothing for other values. */
struct json_walk {
	const char *p, *end;
	bool object;
};

struct json_walk json_slice_walk(struct json_slice container);
/* key: without its quotes, not decoded, empty for elements; may be NULL. False at the end, or where the text is broken. */
bool json_walk_next(struct json_walk *w, struct json_slice *key, struct json_slice *value);

/* The member of that name; no value when there is none. */
struct json_slice json_slice_get(struct json_slice object, const char *key);

bool json_slice_is(struct json_slice v, const char *text);	/* the string "text", or the bare word: true, null */
bool json_key_is(struct json_slice key, const char *text);
bool json_slice_string(struct json_slice v);			/* is it a string? */
/* A number, cut to an integer; otherwise for other values. */
int64_t json_slice_number(struct json_slice v, int64_t otherwise);
/* Appends a string's text, decoded; NUL and half surrogate pairs become U+FFFD. Other values as they are written. */
void json_slice_text(struct buf *out, struct json_slice v);
/* A string's text, heap; otherwise (may be NULL) is copied for other values. */
char *json_slice_copy(struct json_slice v, const char *otherwise);

#endif
