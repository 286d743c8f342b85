#include <endian.h>
#include <string.h>

#include "store/store_private.h"

/* XXH64 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). Its words are little-endian. */
#define PRIME_1 UINT64_C(0x9E3779B185EBCA87)
#define PRIME_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define PRIME_3 UINT64_C(0x165667B19E3779F9)
#define PRIME_4 UINT64_C(0x85EBCA77C2B2AE63)
#define PRIME_5 UINT64_C(0x27D4EB2F165667C5)

static uint64_t
rotate_left(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static uint64_t
read_word(const unsigned char *p, size_t bytes)
{
	uint64_t x = 0;

	memcpy(&x, p, bytes);
	return le64toh(x);
}

static uint64_t
mix_round(uint64_t lane, uint64_t word)
{
	return rotate_left(lane + word * PRIME_2, 31) * PRIME_1;
}

static uint64_t
merge_lane(uint64_t h, uint64_t lane)
{
	return (h ^ mix_round(0, lane)) * PRIME_1 + PRIME_4;
}

/* What is left behind the blocks of 32 bytes, and the avalanche. */
static uint64_t
finish_hash(uint64_t h, const unsigned char *p, size_t n)
{
	for (; n >= 8; p += 8, n -= 8)
		h = rotate_left(h ^ mix_round(0, read_word(p, 8)), 27) * PRIME_1 + PRIME_4;
	if (n >= 4) {
		h = rotate_left(h ^ read_word(p, 4) * PRIME_1, 23) * PRIME_2 + PRIME_3;
		p += 4;
		n -= 4;
	}
	for (; n > 0; p++, n--)
		h = rotate_left(h ^ *p * PRIME_5, 11) * PRIME_1;
	h = (h ^ h >> 33) * PRIME_2;
	h = (h ^ h >> 29) * PRIME_3;
	return h ^ h >> 32;
}

uint64_t
store_hash(const char *text, size_t n, uint64_t seed)
{
	const unsigned char *p = (const unsigned char *)text;
	uint64_t a = seed + PRIME_1 + PRIME_2, b = seed + PRIME_2, c = seed, d = seed - PRIME_1, h;
	size_t left = n;

	if (n < 32)
		return finish_hash(seed + PRIME_5 + n, p, n);
	for (; left >= 32; p += 32, left -= 32) {
		a = mix_round(a, read_word(p, 8));
		b = mix_round(b, read_word(p + 8, 8));
		c = mix_round(c, read_word(p + 16, 8));
		d = mix_round(d, read_word(p + 24, 8));
	}
	h = rotate_left(a, 1) + rotate_left(b, 7) + rotate_left(c, 12) + rotate_left(d, 18);
	h = merge_lane(merge_lane(merge_lane(merge_lane(h, a), b), c), d);
	return finish_hash(h + n, p, left);
}

uint64_t
store_checksum(const char *key, int64_t version, const char *tag, const char *value)
{
	uint64_t h = store_hash(key, strlen(key), (uint64_t)version);

	h = store_hash(tag, strlen(tag), h);
	return store_hash(value, strlen(value), h);
}

size_t
store_kind_length(const char *key)
{
	const char *colon = strchr(key, ':');

	return colon != NULL ? (size_t)(colon - key) : 0;
}
