#ifndef CONFIG_TOML_PRIVATE_H
#define CONFIG_TOML_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "config/toml.h"

struct buf;
struct err;
struct toml_text;

/* ---- toml_name ---- */

/* A full name, each part followed by a NUL; at most 1,024 bytes and 16 parts. */
struct toml_path {
	struct buf bytes;
	int parts;
};

/*
 * The record of the names that were used, so that TOML's rules about names given twice can be
 * kept. Zeroed at first. Both answer 0, or -1 with the line of the first use.
 */
struct toml_names {
	void *root;
};

/* ---- toml_string ---- */

/* TOML's four kinds of strings; the position is on the first quote and moves behind the last. 0 or -1. */

/* Appends the decoded string, not yet known to be UTF-8. `block` allows """ and '''. */
int toml_string_read(struct toml_text *t, bool block, struct buf *out);

/* ---- toml_text ---- */

/*
 * A TOML text and where its reading stands: what the files behind toml.h share. toml.c puts
 * statements together from names, strings and values
 * (toml_private.h). Nobody else includes it.
 */
struct toml_text {
	const char *text;	/* borrowed; without NUL */
	size_t n;
	size_t pos;
	int line;		/* of pos, from 1 */
	const char *what;	/* the text's name in messages */
	struct err *e;
	bool failed;
};

/* The error of a wrong text, "WHAT:LINE: " and the message. -1. */
int toml_fail(struct toml_text *t, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The byte at `ahead` from here, or -1 at the end of the text. */
int toml_peek(const struct toml_text *t, size_t ahead);
/* How many bytes of line end stand here: 0, 1 or 2. */
size_t toml_newline(const struct toml_text *t);
void toml_skip_blanks(struct toml_text *t);
/* Over blanks and a comment to the next line. 0 or -1; `after` says in the message what was read before. */
int toml_end_line(struct toml_text *t, const char *after);

int toml_hex(int c);		/* the value of a hexadecimal digit, else -1 */

/* ---- toml_value ---- */

/* What stands behind "="; the position is on its first byte and moves behind its last. 0 or -1. */

/* The value as struct toml_item has it, in place of what `value` held. */
int toml_value_read(struct toml_text *t, struct buf *value, enum toml_type *type);

/*
 * Over the value of another program and to the end of its line: strings whole, brackets in pairs,
 * comments inside brackets.
 */
int toml_value_skip(struct toml_text *t);

#endif
