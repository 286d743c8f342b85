#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct buf;
struct err;

/* Small helpers over jansson. References follow jansson's rules: json_decref what you were given as "new". */

/* Parses one JSON value; new reference, or NULL with err (name "json"; `what` names the source, never its content). */
json_t *json_parse(const char *text, size_t n, const char *what, struct err *e);

/* Would json_parse take it? Flat objects of a few members, which most records are, cost little. */
bool json_sound(const char *text, size_t n);

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

/* Appends the value, keys in the order they were set; pretty: two blanks of indent and a newline at the end. Fractions: 15 digits. */
void json_print(struct buf *out, const json_t *value, bool pretty);
/* Appends a string as json_print does a compact one, without a value of it: for long ones. It must be valid UTF-8. */
void json_print_text(struct buf *out, const char *p, size_t n);
/* Appends ,"key":"text" for a later member of an object, or null when text is NULL. Bytes that are no UTF-8 become U+FFFD. */
void json_print_member(struct buf *out, const char *key, const char *text);

#endif
