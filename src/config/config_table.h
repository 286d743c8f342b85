#ifndef CONFIG_CONFIG_TABLE_H
#define CONFIG_CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/toml.h"

struct config_key;
struct err;

/*
 * Which keys there are and what each may hold, without the settings of any run: for config.c
 * alone. Others ask config.h, some of whose functions stand in the same file. A place is one for
 * config_key_at. Errors: GT_USAGE, name "config".
 */

/* The place of a full name, with or without the leading "recovery."; -1 when there is none. */
int config_table_find(const char *name);

/* The place of a key under its [section]; -1 with err, which hints at the nearest name. */
int config_table_place(const char *section, const char *key, struct err *e);

/*
 * Checks a value of gt.toml against its row; *n gets its number: of an integer, ms of a duration,
 * 0 or 1 of a flag, else 0. 0 or -1.
 */
int config_table_check(
    const struct config_key *k, const char *text, enum toml_type type, int64_t *n, struct err *e);

/* True when the word is one of "task|lines". */
bool config_table_choice(const char *choices, const char *word);

#endif
