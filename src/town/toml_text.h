#ifndef TOWN_TOML_TEXT_H
#define TOWN_TOML_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct err;

/*
 * A TOML text and where its reading stands: what the files behind toml.h share. toml.c puts statements together from names (toml_name.h),
 * strings (toml_string.h) and values (toml_value.h). Nobody else includes these four headers.
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

bool toml_is_control(int c);	/* one that TOML allows nowhere but in line ends */
int toml_hex(int c);		/* the value of a hexadecimal digit, else -1 */

#endif
