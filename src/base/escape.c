#include "base/escape.h"

/* OSC, DCS, SOS, PM, APC: until BEL or ST. */
static size_t
string_len(const unsigned char *p, size_t n)
{
	size_t i = 2;

	while (i < n && p[i] != 0x07 && p[i] != 0x1b && p[i] != '\n')
		i++;
	if (i < n && p[i] == 0x07)
		return i + 1;
	return i + 1 < n && p[i] == 0x1b && p[i + 1] == '\\' ? i + 2 : i;
}

size_t
escape_len(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t i = 1;

	if (n < 2)
		return 1;
	if (p[1] == ']' || p[1] == 'P' || p[1] == 'X' || p[1] == '^' || p[1] == '_')
		return string_len(p, n);
	if (p[1] == '[') {
		for (i = 2; i < n && p[i] >= 0x20 && p[i] < 0x40; i++)
			;
		return i < n && p[i] >= 0x40 && p[i] < 0x7f ? i + 1 : i;
	}
	while (i < n && p[i] >= 0x20 && p[i] < 0x30)
		i++;
	return i < n && p[i] >= 0x30 && p[i] < 0x7f ? i + 1 : i;
}

size_t
escape_sgr(const char *p, size_t n)
{
	size_t i = 2;

	if (n < 3 || p[1] != '[')
		return 0;
	while (i < n && ((p[i] >= '0' && p[i] <= '9') || p[i] == ';' || p[i] == ':'))
		i++;
	return i < n && p[i] == 'm' ? i + 1 : 0;
}
