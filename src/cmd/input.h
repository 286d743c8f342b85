#ifndef CMD_INPUT_H
#define CMD_INPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* What a command is told by one JSON object on standard input. All errors: code GT_USAGE, name "input". */

/*
 * At most max bytes; only the named fields may stand in it (fields NULL: any). A terminal is no input: nobody would know what to type. `command` is how the
 * sentence calls it ("run create"). New reference, or NULL with err.
 */
json_t *input_object(const char *command, size_t max, const char *const *fields, size_t n, struct err *e);

/*
 * One field: a string that is not empty. 1 there, 0 absent or null (*out is NULL), -1. Borrowed. With `required` absent is an error.
 */
int input_text(const json_t *o, const char *field, bool required, const char **out, struct err *e);
/* A whole number of at least 1; 0 absent. */
int input_number(const json_t *o, const char *field, int64_t *out, struct err *e);

#endif
