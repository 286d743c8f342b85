#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "scrub/manifest.h"

#define FAR 60		/* rows between "kind: Secret" and its data */

static bool
is(const char *text, const struct frame *r, const char *word)
{
	size_t n = strlen(word);

	return r->end - r->body == n && memcmp(text + r->body, word, n) == 0;
}

/* `kind: Secret` stands in the same document, at the same depth as `data:` in row i. */
static bool
is_secret(const char *text, const struct frames *rows, size_t i)
{
	int depth = rows->v[i].body_col;

	for (int step = -1; step <= 1; step += 2) {
		for (size_t k = i + (size_t)step, n = 0; k < rows->n && n < FAR; k += (size_t)step, n++) {
			const struct frame *r = &rows->v[k];

			if (is(text, r, "kind: Secret") && r->body_col == depth)
				return true;
			if (is(text, r, "---") || (r->body_col < depth && r->body < r->end))
				break;
		}
	}
	return false;
}

/* The base64 behind "name: " in the row, or an empty stretch. */
static void
entry(const char *text, const struct frame *r, size_t *from, size_t *to)
{
	size_t i = r->body;

	while (i < r->end && (isalnum((unsigned char)text[i]) || strchr("_.-\"", text[i]) != NULL))
		i++;
	*from = *to = i;
	if (i == r->body || i + 2 >= r->end || text[i] != ':' || text[i + 1] != ' ')
		return;
	for (i += 2; i < r->end && (text[i] == ' ' || text[i] == '"'); i++)
		;
	*from = *to = i;
	while (i < r->end && (isalnum((unsigned char)text[i]) || strchr("+/=", text[i]) != NULL))
		i++;
	if (i - *from >= 4 && (i == r->end || text[i] == '"'))
		*to = i;
}

static void
eat_data(const char *text, const struct frames *rows, size_t i, size_t kind, struct findings *f)
{
	int depth = rows->v[i].body_col;

	for (i++; i < rows->n && rows->v[i].body_col > depth && rows->v[i].body < rows->v[i].end; i++) {
		size_t from, to;

		entry(text, &rows->v[i], &from, &to);
		findings_add(f, (struct finding){ .from = from, .to = to, .kind = kind, .rank = RANK_SEEN });
	}
}

void
manifest_find(const char *text, const struct frames *rows, size_t kind, struct findings *f)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct frame *r = &rows->v[i];

		if (text[r->body] == 'd' && is(text, r, "data:") && is_secret(text, rows, i))
			eat_data(text, rows, i, kind, f);
		if (text[r->body] == '<' && is(text, r, "<auth-user-pass>") && i + 2 < rows->n)
			findings_add(f, (struct finding){ .from = rows->v[i + 2].body, .to = rows->v[i + 2].end, .kind = kind, .rank = RANK_PLACE });
	}
}
