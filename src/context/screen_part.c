#include <stdint.h>

#include "context/screen_private.h"
#include "base/buf.h"
#include "base/pattern.h"
#include "context/exchange.h"

size_t
screen_result_skip(const struct screen *s, size_t i)
{
	char c = s->r.v[i].n > 6 ? row_text(&s->r, i)[6] : ' ';

	return c == '\xC2' ? 8 : c == ' ' ? 7 : 6;
}

bool
screen_result_says(const struct screen *s, size_t i, enum phrase what)
{
	size_t skip = screen_result_skip(s, i);

	return dialect_says(s->r.d, what, row_text(&s->r, i) + skip, s->r.v[i].n - skip);
}

char *
screen_group(const struct screen *s, size_t i, int g)
{
	struct buf b = BUF_INIT;
	struct match m;
	const char *p = row_text(&s->r, i);

	for (int k = 0; k < PATTERN_GROUPS; k++)
		m.start[k] = m.end[k] = (size_t)-1;
	dialect_row(s->r.d, p, s->r.v[i].n, &m);
	if (m.start[g] == (size_t)-1)
		return NULL;
	buf_add(&b, p + m.start[g], m.end[g] - m.start[g]);
	return conversation_text(&b);
}

size_t
screen_skip(const struct screen *s, size_t i)
{
	const char *p = row_text(&s->r, i);
	size_t n = s->r.v[i].n, at = 0;

	if (n > 3 && p[0] == '\xE2' && p[3] != ' ' && p[3] != '\xC2')	/* "●User approved Claude's plan:", in 1.0.128 */
		return 3;
	while (at < n && p[at] != ' ' && !(at + 1 < n && p[at] == '\xC2' && p[at + 1] == '\xA0'))
		at++;
	return at < n ? at + (p[at] == ' ' ? 1 : 2) : n;
}

size_t
screen_item_end(const struct screen *s, size_t i)
{
	for (i++; i < s->r.n && (row_kind(&s->r, i) == ROW_BODY || row_kind(&s->r, i) == ROW_BLANK); i++)
		;
	return i;
}

size_t
screen_prompt_end(const struct screen *s, size_t i)
{
	size_t end = i + 1;

	for (i++; i < s->r.n && (row_kind(&s->r, i) == ROW_PROMPT_MORE || row_kind(&s->r, i) == ROW_BLANK); i++)
		if (row_kind(&s->r, i) == ROW_PROMPT_MORE)
			end = i + 1;
	return end;
}

size_t
screen_limit(const struct screen *s, size_t margin)
{
	return s->r.width > margin ? s->r.width - margin : 0;
}

/* Where the terminal breaks them nothing but its own breaks is joined. */
size_t
screen_words_limit(const struct screen *s)
{
	const struct page *page = dialect_page(s->r.d);

	return page->breaks ? screen_limit(s, page->words_margin) : SIZE_MAX;
}

char *
screen_joined(const struct screen *s, size_t from, size_t to, size_t skip, size_t indent, size_t limit)
{
	struct buf b = BUF_INIT;

	rows_join(&s->r, from, to, skip, indent, limit, &b);
	return conversation_text(&b);
}

struct exchange *
screen_add(struct screen *s, enum role role, enum status status, char *tool, char *input, char *content)
{
	struct exchange *x = conversation_add(s->c, role, tool, input, content);

	x->status = status;
	return x;
}

void
screen_settle_calls(struct screen *s)
{
	for (; s->open < s->c->n; s->open++) {
		struct exchange *x = &s->c->v[s->open];

		if (x->status == STATUS_RUNNING || x->status == STATUS_WAITING)
			x->status = STATUS_INTERRUPTED;
	}
	s->spun = false;
}
