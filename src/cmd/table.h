#ifndef CMD_TABLE_H
#define CMD_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Rows for a person, in columns as wide as what stands in them, under a head, without blanks at the end of a line. On a terminal that is too
 * narrow the widest columns are cut, as far as they may be; in a pipe nothing is cut but to `most`.
 */
struct table_column {
	const char *head;
	size_t least;		/* columns of the terminal that it keeps; 0: it is never cut */
	size_t most;		/* 0: no limit */
	bool right;		/* flush right */
	bool maybe;		/* left out when no row has anything there */
};

struct table {
	const struct table_column *columns;
	size_t n_columns;
	char **cells;		/* row after row */
	size_t n, cap;
};

void table_init(struct table *t, const struct table_column *columns, size_t n);
/* The next cell. Foreign text is made safe; NULL stands for nothing, and is shown as "-", in the last column as nothing. */
void table_put(struct table *t, const char *text);
/* To standard output; without a row nothing. */
void table_print(const struct table *t);
void table_release(struct table *t);

#endif
