#ifndef CONFIG_TOML_H
#define CONFIG_TOML_H

#include <stdbool.h>
#include <stddef.h>

struct err;

/*
 * TOML 1.0 through inih, for gt.toml and config/<name>.ini.
 *
 * inih alone takes "#" behind a value for a part of it, keeps quotes, joins indented keys to the
 * value before, splits lines at 199 bytes, and reads lines of a """ block as keys: a prompt that
 * says "enabled = false" would switch recovery off (inih 55 and 62). So a reader understands TOML
 * and passes short lines of hexadecimal digits through inih, whose handler decodes them.
 *
 * Understood: comments, bare, quoted and dotted keys, [tables], indentation, strings with escapes,
 * integers (0x, 0o, 0b, 1_000), floats, booleans, arrays of strings, CRLF, a byte order mark.
 * Errors: other arrays, inline tables, [[arrays of tables]], dates, keys and tables given twice. At
 * most n log n. A name with its tables: 1,024 bytes, 16 parts. The caller caps the text.
 */
enum toml_type { TOML_STRING, TOML_INT, TOML_BOOL, TOML_FLOAT, TOML_LIST };

struct toml_item {
	const char *section; /* "" at the top; a dotted key adds its tables */
	const char *key;	/* its last part, unquoted */
	/*
	 * Strings decoded, without NUL; integers in decimal; "true" or "false"; floats without "_".
	 * A list: a line end behind each string, which may hold none.
	 */
	const char *value;
	enum toml_type type;
	int line;		/* of the key, from 1 */
};

/*
 * Calls item for each key in order; strings last until it returns. -1 of item stops, "WHAT:LINE: "
 * in front. Errors of the text (GT_USAGE, "toml") look the same and say what was expected; items
 * before that line were handed out. `what` names the text, usually its path.
 */
int toml_parse(const char *text, size_t n, const char *what,
    int (*item)(void *arg, const struct toml_item *it, struct err *e), void *arg, struct err *e);

/*
 * As toml_parse, for a shared file: own("a.b") says whether the table, or a key of that full name,
 * is ours. All other TOML is skipped, also arrays, inline tables and dates.
 */
int toml_parse_some(const char *text, size_t n, const char *what, bool (*own)(const char *section),
    int (*item)(void *arg, const struct toml_item *it, struct err *e), void *arg, struct err *e);

/*
 * Items of a text read at build time (scripts/items.c): section, key and value, a NUL behind each,
 * the type, the line in three bytes, low first.
 */
int toml_items(const unsigned char *items, size_t n, const char *what,
    int (*item)(void *arg, const struct toml_item *it, struct err *e), void *arg, struct err *e);

#endif
