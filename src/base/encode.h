#ifndef BASE_ENCODE_H
#define BASE_ENCODE_H

#include <stddef.h>

struct buf;

/* Base64 (RFC 4648, section 4: padded, no line breaks) and SHA-256 in hex. */

void base64_put(struct buf *out, const void *p, size_t n);
/* -1: invalid, to the last bit; out then holds a part. */
int base64_take(struct buf *out, const char *p, size_t n);

/* FIPS 180-4: 64 lower-case hex digits and a NUL. For names, not for secrets. */
void sha256_hex(const void *p, size_t n, char out[65]);

#endif
