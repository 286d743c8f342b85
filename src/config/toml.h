#ifndef CONFIG_TOML_H
#define CONFIG_TOML_H

#include <stdbool.h>
#include <stddef.h>

struct err;

/*
 * TOML, read through inih: gt.toml and our own config/<name>.ini are files of this kind.
 *
 * inih alone must never see such a text. It takes "#" after a value for a part of the value,
 * keeps quotes, joins indented keys to the value before them, splits lines at 199 bytes, and
 * reads the lines of a """ block as keys: a prompt that says "enabled = false" would switch
 * recovery off (inih 55 and 62). So a reader in front of it understands TOML 1.0 and hands inih
 * short lines of hexadecimal digits, which no version of inih can mistake; its handler puts them
 * together again. No limit or build option of inih shows through.
 *
 * Understood: comments, bare and quoted keys, dotted keys, [tables], indentation, the four kinds
 * of strings with their escapes, integers (also 0x, 0o, 0b and 1_000), floats, booleans, arrays
 * of strings, CRLF, a byte order mark. Not understood, and an error that says so: other arrays,
 * inline tables, [[arrays of tables]], dates. Keys and tables given twice are errors, as TOML
 * says. The work is n log n at most.
 *
 * Limits: a name with its tables 1,024 bytes and 16 parts. The caller caps the size of the text.
 */
enum toml_type { TOML_STRING, TOML_INT, TOML_BOOL, TOML_FLOAT, TOML_LIST };

struct toml_item {
	const char *section; /* "" at the top, "recovery.prompts" under [recovery.prompts]; a dotted key adds
				its tables here */
	const char *key;	/* the last part of the key, unquoted */
	/*
	 * Strings decoded, without NUL; integers in decimal; "true" or "false"; floats without "_". Of a list
	 * each string and a line end, which no string of it may hold.
	 */
	const char *value;
	enum toml_type type;
	int line;		/* of the key, from 1 */
};

/*
 * Calls item for each key in the order of the text; the strings last until it returns. When it
 * answers -1 the reading stops and its error is returned with "WHAT:LINE: " in front. Errors of
 * the text look the same (code GT_USAGE, name "toml") and say what was expected; items before the
 * wrong line have been handed out by then. `what` names the text in messages, usually its path.
 */
int toml_parse(const char *text, size_t n, const char *what,
    int (*item)(void *arg, const struct toml_item *it, struct err *e), void *arg, struct err *e);

/*
 * As toml_parse, for a file that we share with other programs: own("a.b") tells whether the
 * table, or a key of that full name, is ours. What is not ours is skipped whatever TOML it holds,
 * arrays, inline tables and dates too, as long as it is seen where it ends.
 */
int toml_parse_some(const char *text, size_t n, const char *what, bool (*own)(const char *section),
    int (*item)(void *arg, const struct toml_item *it, struct err *e), void *arg, struct err *e);

/*
 * The items of a text that was read when the program was built (scripts/items.c): of each one
 * section, key and value, each with a NUL, the type, and the line in three bytes, the low one
 * first.
 */
int toml_items(const unsigned char *items, size_t n, const char *what,
    int (*item)(void *arg, const struct toml_item *it, struct err *e), void *arg, struct err *e);

#endif
