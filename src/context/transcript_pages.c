#include <stdlib.h>
#include <string.h>

#include "context/transcript_pages.h"
#include "context/transcript_tail.h"

#define FIRST_MOST ((size_t)1 << 20)	/* codex' first line holds the instructions for its model */

int
pages_lines(struct pages *p, struct tail *t, struct err *e)
{
	off_t size = t->end > 0 ? t->end : 0;
	const char *first, *nl;
	size_t n = 0;

	*p = (struct pages){ .tail = t, .list = { .head = BUF_INIT }, .head = BUF_INIT, .page = BUF_INIT };
	if (size == 0)
		return 0;
	if (tail_line(t, 0, size < (off_t)FIRST_MOST ? (size_t)size : FIRST_MOST, &first, &n, e) != 0)
		return -1;
	nl = memchr(first, '\n', n);
	buf_add(&p->head, first, nl != NULL ? (size_t)(nl - first) : n);
	return 0;
}

int
pages_list(struct pages *p, struct tail *t, const char *list, struct err *e)
{
	*p = (struct pages){ .tail = t, .by_span = 1, .head = BUF_INIT, .page = BUF_INIT };
	if (document_read(&p->list, t, list, e) != 0)
		return -1;
	p->left = p->list.n;
	buf_add(&p->head, p->list.head.data, p->list.head.len);
	return 0;
}

void
pages_release(struct pages *p)
{
	document_release(&p->list);
	free(p->session);
	buf_wipe(&p->head);
	buf_wipe(&p->page);
}

int
pages_previous(struct pages *p, off_t *at, size_t *n, struct err *e)
{
	if (!p->by_span)
		return tail_previous(p->tail, at, n, e);
	if (p->left == 0)
		return 0;
	*at = p->list.v[--p->left].at;
	*n = p->list.v[p->left].n;
	return 1;
}

int
pages_read(struct pages *p, off_t at, size_t n, struct json_slice *out, struct err *e)
{
	const char *text = NULL;
	size_t len = 0;

	if (p->tail == NULL) {
		if (rows_compose(p, (int64_t)at, e) != 0)
			return -1;
		text = p->page.data;
		len = p->page.len;
	} else if (tail_line(p->tail, at, n, &text, &len, e) != 0) {
		return -1;
	}
	if (!json_slice_whole(text, len, out) || *out->p != '{')
		return 0;
	p->exact = p->tail != NULL && out->p == text && out->n == n;
	return 1;
}
