#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

/* ---- json ---- */

/* Helpers over jansson, by its rules of references. */

/* New reference, or NULL (name "json"). `what` names the source in messages. */
json_t *json_parse(const char *text, size_t n, const char *what, struct err *e);

/* Borrowed; otherwise: absent or of another type. */
const char *json_text(const json_t *object, const char *key, const char *otherwise);
int64_t json_number(const json_t *object, const char *key, int64_t otherwise);
bool json_flag(const json_t *object, const char *key, bool otherwise);

/* s NULL: null. Invalid UTF-8 becomes U+FFFD, as jansson refuses it. */
void json_put(json_t *object, const char *key, const char *s);
void json_put_int(json_t *object, const char *key, int64_t n);
void json_put_flag(json_t *object, const char *key, bool flag);

/* New reference; invalid UTF-8 is replaced. */
json_t *json_bytes(const char *p, size_t n);

/*
 * Keys in the order they were set; pretty: indent of two, a newline at the end. Fractions: 15
 * digits.
 */
void json_print(struct buf *out, const json_t *value, bool pretty);
/* As json_print a long string, without a value of it; valid UTF-8. */
void json_print_text(struct buf *out, const char *p, size_t n);
/* ,"key":"text" or null. Invalid UTF-8 becomes U+FFFD. */
void json_print_member(struct buf *out, const char *key, const char *text);

/* ---- json_slice ---- */

/*
 * A value in JSON text, not decoded, borrowed: for records of many megabytes of which a few words
 * are wanted. Reads what JavaScript writes and jansson refuses: NUL, half surrogate pairs (a cut
 * emoji), invalid UTF-8, duplicate keys. No recursion, linear.
 */
struct json_slice {
	const char *p;		/* NULL: no value */
	size_t n;
};

/* The value that is all of the text but blanks. False: brackets or quotes do not close. */
bool json_slice_whole(const char *p, size_t n, struct json_slice *out);

/* Members of an object or elements of an array; none for other values. */
struct json_walk {
	const char *p, *end;
	bool object;
};

struct json_walk json_slice_walk(struct json_slice container);
/*
 * key (may be NULL): without quotes, not decoded, empty for elements. False: the end, or broken
 * text.
 */
bool json_walk_next(struct json_walk *w, struct json_slice *key, struct json_slice *value);

/* No value: no such member. */
struct json_slice json_slice_get(struct json_slice object, const char *key);

bool json_slice_is(struct json_slice v, const char *text); /* the string "text", or the bare word: true,
    null */
bool json_key_is(struct json_slice key, const char *text);
bool json_slice_string(struct json_slice v);			/* is it a string? */
/* Cut to an integer; otherwise: no number. */
int64_t json_slice_number(struct json_slice v, int64_t otherwise);
/* Decoded; NUL and half surrogate pairs become U+FFFD. Other values as written. */
void json_slice_text(struct buf *out, struct json_slice v);
/* Heap; otherwise (may be NULL, copied): no string. */
char *json_slice_copy(struct json_slice v, const char *otherwise);

/* ---- json_edit ---- */

/*
 * Edits foreign JSON in place, in its own indent (that of the first member): all other bytes stay.
 * Slices of it are void afterwards.
 */

/* v, with unit (the indent) depth times before each line; takes the reference. */
void json_edit_print(struct buf *out, json_t *v, const struct buf *unit, size_t depth);

/*
 * Behind the last child of the container, at that depth; takes the reference. key NULL: an element.
 */
void json_edit_insert(struct buf *text, struct json_slice container, const char *key, json_t *v,
    size_t depth);

/* The child whose value begins there, with key and comma. */
void json_edit_remove(struct buf *text, struct json_slice container, const char *value);

#endif
