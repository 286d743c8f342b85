#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "context/transcript_document.h"
#include "context/transcript_tail.h"

#define PIECE ((size_t)256 << 10)
#define NAME_MOST 64
#define MEMBER_MOST ((size_t)512 << 10)
#define HEAD_MOST ((size_t)2 << 20)

/* Where the pass stands. */
struct scan {
	struct document *d;
	const char *list;
	size_t depth;
	bool in_string, escaped;
	bool in_list;		/* depth 2 is the list's */
	bool in_key;		/* the string at hand is a member's name */
	bool valued;		/* behind the colon of a member of depth 1 */
	char name[NAME_MOST + 1];
	size_t n_name;
	off_t element;		/* where the element at hand begins */
	size_t member;		/* where the member at hand begins in head; 0: it is left out */
};

static void
end_member(struct scan *s)
{
	s->valued = false;
	s->member = 0;
	s->n_name = 0;
}

/* The member grew too long: as if it had not been there. */
static void
drop_member(struct scan *s)
{
	if (s->member > 0)
		buf_cut(&s->d->head, s->member);
	s->member = 0;
}

static void
begin_value(struct scan *s)
{
	struct buf *head = &s->d->head;

	s->valued = true;
	s->name[s->n_name] = '\0';
	if (strcmp(s->name, s->list) == 0 || s->n_name == NAME_MOST || head->len >= HEAD_MOST)
		return;
	s->member = head->len;
	buf_fmt(head, "%s\"%s\":", head->len > 1 ? "," : "", s->name);
}

static void
open_bracket(struct scan *s, char c, off_t at)
{
	if (s->depth == 1 && s->valued && s->member == 0 && c == '[' && strcmp(s->name, s->list) == 0)
		s->in_list = true;
	if (s->depth == 2 && s->in_list && c == '{')
		s->element = at;
	s->depth++;
}

static void
close_bracket(struct scan *s, char c, off_t at)
{
	struct document *d = s->d;

	if (s->depth > 0)
		s->depth--;
	if (s->depth == 2 && s->in_list && c == '}' && s->element >= 0) {
		d->v = vec_room(d->v, d->n, &d->cap, sizeof *d->v);
		d->v[d->n++] = (struct span){ s->element, (size_t)(at - s->element) + 1 };
		s->element = -1;
	}
	if (s->depth == 1)
		s->in_list = false;
	if (s->depth == 0)
		d->torn = false;
}

static void
scan_string(struct scan *s, char c)
{
	if (s->escaped)
		s->escaped = false;
	else if (c == '\\')
		s->escaped = true;
	else if (c == '"')
		s->in_string = s->in_key = false;
	if (s->in_key && s->n_name < NAME_MOST)
		s->name[s->n_name++] = c;
}

static void
scan_byte(struct scan *s, char c, off_t at)
{
	if (s->in_string) {
		scan_string(s, c);
	} else if (c == '"') {
		s->in_string = true;
		s->in_key = s->depth == 1 && !s->valued;
		if (s->in_key)
			s->n_name = 0;
	} else if (c == '{' || c == '[') {
		open_bracket(s, c, at);
	} else if (c == '}' || c == ']') {
		if (s->depth == 1)
			end_member(s);
		close_bracket(s, c, at);
	} else if (c == ',' && s->depth == 1) {
		end_member(s);
	}
}

static void
scan_piece(struct scan *s, const char *p, size_t n, off_t at)
{
	for (size_t i = 0; i < n; i++) {
		bool named = !s->in_string && p[i] == ':' && s->depth == 1 && !s->valued;

		scan_byte(s, p[i], at + (off_t)i);
		if (named)
			begin_value(s);
		else if (s->member > 0 && (s->in_string || !isspace((unsigned char)p[i])))
			buf_chr(&s->d->head, p[i]);
		if (s->member > 0 && s->d->head.len - s->member > MEMBER_MOST)
			drop_member(s);
	}
}

int
document_read(struct document *d, struct tail *t, const char *list, struct err *e)
{
	struct scan s = { .d = d, .list = list, .element = -1 };
	off_t size = t->end > 0 ? t->end : 0;

	*d = (struct document){ .head = BUF_INIT, .torn = true };
	buf_chr(&d->head, '{');
	for (off_t at = 0; at < size; at += (off_t)PIECE) {
		size_t n = size - at < (off_t)PIECE ? (size_t)(size - at) : PIECE, got;
		const char *p;

		if (tail_line(t, at, n, &p, &got, e) != 0) {
			document_release(d);
			return -1;
		}
		scan_piece(&s, p, got, at);
	}
	drop_member(&s);	/* a member that the end cut off */
	buf_chr(&d->head, '}');
	return 0;
}

void
document_release(struct document *d)
{
	free(d->v);
	buf_wipe(&d->head);
	*d = (struct document){ .head = BUF_INIT };
}
