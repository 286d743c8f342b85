#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

/* ---- json ---- */

/* Small helpers over jansson. References follow jansson's rules: json_decref what you were given as "new". */

/*
 * Parses one JSON value; new reference, or NULL with err (name "json"; `what` names the source,
 * never its content).
 */
json_t *json_parse(const char *text, size_t n, const char *what, struct err *e);

/* Fields of an object; the default when absent or of another type. Borrowed. */
const char *json_text(const json_t *object, const char *key, const char *otherwise);
int64_t json_number(const json_t *object, const char *key, int64_t otherwise);
bool json_flag(const json_t *object, const char *key, bool otherwise);

/* Sets a string, or null when s is NULL. Bytes that are no UTF-8 become U+FFFD: jansson refuses them. */
void json_put(json_t *object, const char *key, const char *s);
void json_put_int(json_t *object, const char *key, int64_t n);
void json_put_flag(json_t *object, const char *key, bool flag);

/* New string reference from bytes, invalid UTF-8 replaced. */
json_t *json_bytes(const char *p, size_t n);

/*
 * Appends the value, keys in the order they were set; pretty: two blanks of indent and a newline
 * at the end. Fractions: 15 digits.
 */
void json_print(struct buf *out, const json_t *value, bool pretty);
/*
 * Appends a string as json_print does a compact one, without a value of it: for long ones. It
 * must be valid UTF-8.
 */
void json_print_text(struct buf *out, const char *p, size_t n);
/*
 * Appends ,"key":"text" for a later member of an object, or null when text is NULL. Bytes that
 * are no UTF-8 become U+FFFD.
 */
void json_print_member(struct buf *out, const char *key, const char *text);

/* ---- json_slice ---- */

/*
 * A value inside JSON text, found but not decoded: for records of many megabytes of which a few
 * words are wanted. Borrowed from the text. What jansson refuses and JavaScript writes is read
 * here: NUL, half surrogate pairs (a string cut in the middle of an emoji), invalid UTF-8 and
 * duplicate keys. No recursion, linear in the text whatever it holds.
 */
struct json_slice {
	const char *p;		/* NULL: no value */
	size_t n;
};

/*
 * The value that is all of the text, blanks around it aside. False when its brackets or quotes do
 * not close: torn, or no JSON.
 */
bool json_slice_whole(const char *p, size_t n, struct json_slice *out);

/* Walks over the members of an object or the elements of an array; over nothing for other values. */
struct json_walk {
	const char *p, *end;
	bool object;
};

struct json_walk json_slice_walk(struct json_slice container);
/*
 * key: without its quotes, not decoded, empty for elements; may be NULL. False at the end, or
 * where the text is broken.
 */
bool json_walk_next(struct json_walk *w, struct json_slice *key, struct json_slice *value);

/* The member of that name; no value when there is none. */
struct json_slice json_slice_get(struct json_slice object, const char *key);

bool json_slice_is(struct json_slice v, const char *text); /* the string "text", or the bare word: true,
    null */
bool json_key_is(struct json_slice key, const char *text);
bool json_slice_string(struct json_slice v);			/* is it a string? */
/* A number, cut to an integer; otherwise for other values. */
int64_t json_slice_number(struct json_slice v, int64_t otherwise);
/*
 * Appends a string's text, decoded; NUL and half surrogate pairs become U+FFFD. Other values as
 * they are written.
 */
void json_slice_text(struct buf *out, struct json_slice v);
/* A string's text, heap; otherwise (may be NULL) is copied for other values. */
char *json_slice_copy(struct json_slice v, const char *otherwise);

/* ---- json_edit ---- */

/*
 * JSON of somebody else, changed in place: every byte that is not ours stays. The slices lie in
 * the text and are of no use afterwards. The file's own indent, that of its first member, is
 * taken for what is put in.
 */

/* v as one would write it there, unit (the indent) before each line that many times; takes the reference. */
void json_edit_print(struct buf *out, json_t *v, const struct buf *unit, size_t depth);

/*
 * Behind the last child of the container, in which it stands at that depth; takes the reference.
 * key NULL: an element.
 */
void json_edit_insert(struct buf *text, struct json_slice container, const char *key, json_t *v,
    size_t depth);

/* The child whose value begins there, with its key and its comma. */
void json_edit_remove(struct buf *text, struct json_slice container, const char *value);

#endif
