#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "cmd/say.h"
#include "cmd/table.h"

#define GAP 2

void
table_init(struct table *t, const struct table_column *columns, size_t n)
{
	memset(t, 0, sizeof *t);
	t->columns = columns;
	t->n_columns = n;
}

void
table_put(struct table *t, const char *text)
{
	t->cells = vec_room(t->cells, t->n, &t->cap, sizeof *t->cells);
	t->cells[t->n++] = text != NULL ? xstrdup(text) : NULL;
}

static const char *
text_of(const struct table *t, size_t cell)
{
	bool last = cell % t->n_columns + 1 == t->n_columns;

	return t->cells[cell] != NULL ? t->cells[cell] : last ? "" : "-";
}

/* How wide each column wants to be; 0: it is left out. */
static void
measure(const struct table *t, size_t *widths)
{
	for (size_t i = 0; i < t->n_columns; i++)
		widths[i] = t->columns[i].maybe ? 0 : strlen(t->columns[i].head);
	for (size_t i = 0; i < t->n; i++) {
		size_t *width = &widths[i % t->n_columns], n, head = strlen(t->columns[i % t->n_columns].head);
		struct buf b = BUF_INIT;

		if (t->cells[i] == NULL || *t->cells[i] == '\0')
			continue;
		say_foreign(&b, text_of(t, i), t->columns[i % t->n_columns].most);
		n = utf8_width(b.data, b.len);
		n = n > head ? n : head;
		*width = n > *width ? n : *width;
		buf_release(&b);
	}
}

/* The widest one that may lose a column of the terminal; n_columns: none. */
static size_t
widest(const struct table *t, const size_t *widths)
{
	size_t best = t->n_columns;

	for (size_t i = 0; i < t->n_columns; i++)
		if (t->columns[i].least > 0 && widths[i] > t->columns[i].least && (best == t->n_columns || widths[i] > widths[best]))
			best = i;
	return best;
}

static void
fit(const struct table *t, size_t *widths, size_t room)
{
	size_t used = 0, i;

	for (i = 0; i < t->n_columns; i++)
		used += widths[i] > 0 ? widths[i] + (used > 0 ? GAP : 0) : 0;
	while (used > room && (i = widest(t, widths)) < t->n_columns) {
		widths[i]--;
		used--;
	}
}

/* Blanks are owed until something follows them. */
static void
put_cell(const char *text, size_t width, bool right, size_t *owed)
{
	struct buf b = BUF_INIT;
	size_t n, left;

	say_foreign(&b, text, width);
	n = utf8_width(b.data, b.len);
	left = n < width ? width - n : 0;
	if (b.len > 0)
		printf("%*s%s", (int)(*owed + (right ? left : 0)), "", b.data);
	*owed = (b.len > 0 ? 0 : *owed + width) + (b.len > 0 && !right ? left : 0) + GAP;
	buf_release(&b);
}

void
table_print(const struct table *t)
{
	size_t *widths = xcalloc(t->n_columns, sizeof *widths), room = say_columns(STDOUT_FILENO), owed = 0;

	measure(t, widths);
	if (room > 0)
		fit(t, widths, room);
	for (size_t i = 0; i < t->n_columns && t->n > 0; i++)
		if (widths[i] > 0)
			put_cell(t->columns[i].head, widths[i], t->columns[i].right, &owed);
	for (size_t i = 0; i < t->n; i++) {
		size_t k = i % t->n_columns;

		if (k == 0) {
			putchar('\n');
			owed = 0;
		}
		if (widths[k] > 0)
			put_cell(text_of(t, i), widths[k], t->columns[k].right, &owed);
	}
	if (t->n > 0)
		putchar('\n');
	free(widths);
}

void
table_release(struct table *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->cells[i]);
	free(t->cells);
	memset(t, 0, sizeof *t);
}
