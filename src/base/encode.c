#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/encode.h"
#include "base/buf.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
base64_put(struct buf *out, const void *from, size_t n)
{
	const unsigned char *p = from;

	buf_grow(out, (n + 2) / 3 * 4);
	for (; n > 0; p += 3) {
		size_t some = n < 3 ? n : 3;
		unsigned v =
		    (unsigned)p[0] << 16 | (some > 1 ? (unsigned)p[1] << 8 : 0) | (some > 2 ? p[2] : 0u);
		char four[4] = { alphabet[v >> 18], alphabet[v >> 12 & 63],
			some > 1 ? alphabet[v >> 6 & 63] : '=', some > 2 ? alphabet[v & 63] : '=' };

		buf_add(out, four, sizeof four);
		n -= some;
	}
}

static int
value_of(char c)
{
	const char *at = c != '\0' ? strchr(alphabet, c) : NULL;

	return at != NULL ? (int)(at - alphabet) : -1;
}

int
base64_take(struct buf *out, const char *p, size_t n)
{
	size_t pad = n > 1 && p[n - 1] == '=' ? (p[n - 2] == '=' ? 2 : 1) : 0;

	if (n % 4 != 0)
		return -1;
	buf_grow(out, n / 4 * 3);
	for (size_t i = 0; i < n; i += 4) {
		size_t some = i + 4 == n ? 4 - pad : 4;
		unsigned v = 0;

		for (size_t k = 0; k < 4; k++) {
			int one = k < some ? value_of(p[i + k]) : 0;

			if (one < 0)
				return -1;
			v = v << 6 | (unsigned)one;
		}
		if ((some == 3 && (v & 0xff) != 0) || (some == 2 && (v & 0xffff) != 0))
			return -1;
		for (size_t k = 0; k + 1 < some; k++)
			buf_chr(out, (char)(v >> (16 - 8 * k) & 0xff));
	}
	return 0;
}

/* FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_key[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t
rotate_right(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

/* One block of 64 bytes into the state (6.2.2). */
static void
add_block(uint32_t state[8], const unsigned char *p)
{
	uint32_t w[64], s[8];

	for (int i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t b = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + a + w[i - 7] + b;
	}
	memcpy(s, state, sizeof s);
	for (int i = 0; i < 64; i++) {
		uint32_t big1 = rotate_right(s[4], 6) ^ rotate_right(s[4], 11) ^ rotate_right(s[4], 25);
		uint32_t t1 = s[7] + big1 + ((s[4] & s[5]) ^ (~s[4] & s[6])) + round_key[i] + w[i];
		uint32_t big0 = rotate_right(s[0], 2) ^ rotate_right(s[0], 13) ^ rotate_right(s[0], 22);
		uint32_t t2 = big0 + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, 7 * sizeof s[0]);
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		state[i] += s[i];
}

void
sha256_hex(const void *data, size_t n, char out[65])
{
	uint32_t state[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
		0x1f83d9ab, 0x5be0cd19 };
	unsigned char last[128] = { 0 };
	const unsigned char *p = data;
	uint64_t bits = (uint64_t)n * 8;
	size_t left = n, total;

	for (; left >= 64; left -= 64, p += 64)
		add_block(state, p);
	/* A one bit, zeros, and the length in bits in the last 8 bytes (5.1.1). */
	if (left > 0)
		memcpy(last, p, left);
	last[left] = 0x80;
	total = left < 56 ? 64 : 128;
	for (int i = 0; i < 8; i++)
		last[total - 1 - (size_t)i] = (unsigned char)(bits >> (8 * i));
	for (size_t i = 0; i < total; i += 64)
		add_block(state, last + i);
	for (int i = 0; i < 8; i++)
		snprintf(out + 8 * i, 9, "%08x", state[i]);
}
