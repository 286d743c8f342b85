#ifndef SCRUB_VALUE_H
#define SCRUB_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "scrub/rules.h"

/*
 * What stands behind a secret's name: is it a secret, or a word about one? `token` is a work word on an agent's screen ("43k tokens",
 * `token: string`, `const token = user.token`), so values that are words, types, references, calls, paths, numbers, dates, versions or
 * placeholders are none. There is no floor of entropy for passwords: people make them.
 */
struct value {
	const char *p;
	size_t n;
	bool quoted;
	bool plain_env;		/* behind UPPER_CASE= or a flag: a word is a value there */
};

bool value_is_secret(const struct value *v, enum value_class class);

/* $NAME, ${NAME}, $(cmd), <token>, {{x}}, %NAME%, xxxx, ****, ..., your-key-here, changeme, null: stands where a secret would. */
bool value_is_placeholder(const char *p, size_t n);

/* Eight characters or more that are no word: digits beside capitals or signs. For places that hold words as a rule. */
bool value_is_strange(const char *p, size_t n);

/* Documentation's stand-in for a token: one character over and over, or EXAMPLE in it. */
bool value_is_sample(const char *p, size_t n);

/* Nobody typed this: at least 16 characters that change their kind often, or long hexadecimal. */
bool value_is_random(const char *p, size_t n);

#endif
