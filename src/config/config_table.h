#ifndef CONFIG_CONFIG_TABLE_H
#define CONFIG_CONFIG_TABLE_H

#include <stdint.h>

#include "config/toml.h"

struct config_key;

/* The table of keys, for config.c. Errors: GT_USAGE, name "config". */

/* Index of a full name, with or without "recovery."; -1: none. */
int config_table_find(const char *name);

/* Index of a key of [section]; -1 with the nearest name as hint. */
int config_table_place(const char *section, const char *key, struct err *e);

/* Checks a value of gt.toml. *n: the integer, ms of a duration, 0 or 1 of a flag, else 0. */
int config_table_check(
    const struct config_key *k, const char *text, enum toml_type type, int64_t *n, struct err *e);

/* Is the word one of "task|lines"? */
bool config_table_choice(const char *choices, const char *word);

#endif
