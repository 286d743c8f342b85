#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>

struct buf;

/* RFC 4648, section 4: the common alphabet, padded, without line breaks. */
void base64_put(struct buf *out, const void *p, size_t n);
/* Appends the bytes that n characters of it stand for; -1 when they are none of it, to the last bit (out then has a part). */
int base64_take(struct buf *out, const char *p, size_t n);

#endif
