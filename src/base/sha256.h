#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>

/* SHA-256 (FIPS 180-4) of n bytes as 64 lower-case hex digits and a NUL. For names, not for secrets. */
void sha256_hex(const void *p, size_t n, char out[65]);

#endif
