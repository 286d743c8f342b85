#include <string.h>

#include "scrub/word.h"

/* "[31m" ends at `at`, behind its m: a colour as source code, logs and JSON write it out. */
static bool
colour_ends(const char *text, size_t from, size_t at)
{
	size_t i = at - 1, least = at - from < 24 ? from : at - 24;

	while (i > least && (text[i - 1] == ';' || text[i - 1] == ':' || (text[i - 1] >= '0' && text[i - 1] <= '9')))
		i--;
	return i > from && text[i - 1] == '[';
}

bool
word_begins(const char *text, size_t from, size_t at, bool strict)
{
	unsigned char c;

	if (at == from)
		return true;
	c = (unsigned char)text[at - 1];
	if (strict && (c == '-' || c == '.' || c == '/'))
		return at - from >= 3 && (memcmp(text + at - 3, "://", 3) == 0 || memcmp(text + at - 3, "...", 3) == 0);
	if (!word_has(c))
		return true;
	if (at - from >= 2 && text[at - 2] == '\\' && (c == 'n' || c == 'r' || c == 't'))
		return true;
	return (at - from >= 3 && text[at - 3] == '%') || (c == 'm' && colour_ends(text, from, at));
}

bool
word_ends(const char *text, size_t n, size_t at, bool strict)
{
	unsigned char c;

	if (at >= n)
		return true;
	c = (unsigned char)text[at];
	if (strict && (c == '-' || c == '/'))
		return false;
	if (strict && c == '.')
		return at + 1 >= n || !word_has((unsigned char)text[at + 1]);
	return !word_has(c);
}
