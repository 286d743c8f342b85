#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "prompt/prompt.h"

static bool
word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

const char *
prompt_find_id(const char *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const char *end = p + n, *at = p;

	while (at < end && (at = memmem(at, (size_t)(end - at), "gtr-", 4)) != NULL) {
		size_t i = 4;

		while (i < PROMPT_ID && at + i < end && at[i] != '\0' && strchr(digits, at[i]) != NULL)
			i++;
		if (i == PROMPT_ID && (at == p || !word(at[-1])) && (at + i == end || !word(at[i])))
			return at;
		at += 4;
	}
	return NULL;
}
