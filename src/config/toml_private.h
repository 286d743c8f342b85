#ifndef CONFIG_TOML_PRIVATE_H
#define CONFIG_TOML_PRIVATE_H

#include "base/buf.h"
#include "config/toml.h"

struct toml_text;

/* ---- toml_name ---- */

/* A full name, a NUL behind each part; at most 1,024 bytes and 16 parts. */
struct toml_path {
	struct buf bytes;
	int parts;
};

/* The used names, for TOML's rules about names given twice. Zeroed at first. */
struct toml_names {
	void *root;
};

/* ---- toml_string ---- */

/* From the first quote to behind the last. 0 or -1. */

/* Decoded, UTF-8 not yet checked. block: """ and ''' are allowed. */
int toml_string_read(struct toml_text *t, bool block, struct buf *out);

/* ---- toml_text ---- */

/* A TOML text and the position in it. */
struct toml_text {
	const char *text;	/* borrowed; without NUL */
	size_t n;
	size_t pos;
	int line;		/* of pos, from 1 */
	const char *what;	/* in messages */
	struct err *e;
	bool failed;
};

/* "WHAT:LINE: " and the message. -1. */
int toml_fail(struct toml_text *t, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The byte `ahead` of here; -1: the end. */
int toml_peek(const struct toml_text *t, size_t ahead);
/* Bytes of line end here: 0, 1 or 2. */
size_t toml_newline(const struct toml_text *t);
void toml_skip_blanks(struct toml_text *t);
/*
 * Over blanks and a comment to the next line. 0 or -1; `after`: what was read before, for the
 * message.
 */
int toml_end_line(struct toml_text *t, const char *after);

int toml_hex(int c);		/* a hexadecimal digit's value, else -1 */

/* ---- toml_value ---- */

/* A value, from its first byte to behind its last. 0 or -1. */

/* As struct toml_item has it; replaces value. */
int toml_value_read(struct toml_text *t, struct buf *value, enum toml_type *type);

/* Over a foreign value to the end of its line: strings, brackets in pairs, comments in brackets. */
int toml_value_skip(struct toml_text *t);

#endif
