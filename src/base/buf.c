#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/err.h"

#define LARGE ((size_t)2 << 20)
#define PAGE ((uintptr_t)4096)

char buf_empty[1];

/*
 * Asks for large pages, or each of the small ones costs a fault. The whole mapping: realloc
 * cannot move one that is in two parts.
 */
static void *
advise_huge_pages(void *p, size_t n)
{
	uintptr_t from = (uintptr_t)p & ~(PAGE - 1), to = ((uintptr_t)p + n + PAGE - 1) & ~(PAGE - 1);

	if (n >= LARGE)
		(void)madvise((void *)from, to - from, MADV_HUGEPAGE);
	return p;
}

void
buf_init(struct buf *b)
{
	b->data = buf_empty;
	b->len = b->cap = b->high = 0;
}

void
buf_release(struct buf *b)
{
	if (b->cap != 0)
		free(b->data);
	buf_init(b);
}

void
buf_wipe(struct buf *b)
{
	/* what was never written is left alone: to touch it would cost a page each */
	if (b->cap != 0)
		explicit_bzero(b->data, b->len > b->high ? b->len : b->high);
	buf_release(b);
}

void
buf_reset(struct buf *b)
{
	buf_cut(b, 0);
}

void
buf_grow(struct buf *b, size_t extra)
{
	size_t need, cap;

	if (__builtin_add_overflow(b->len, extra, &need) || __builtin_add_overflow(need, 1, &need))
		die("a buffer would grow beyond memory");
	if (need <= b->cap)
		return;
	cap = b->cap < 64 ? 64 : b->cap;
	while (cap < need && !(b->cap == 0 && need >= LARGE))
		if (__builtin_mul_overflow(cap, 2, &cap))
			die("a buffer would grow beyond memory");
	/* who knows at once that much is needed knows how much */
	cap = cap < need ? need : cap;
	if (b->cap == 0) {
		b->data = advise_huge_pages(xmalloc(cap), cap);
		b->data[0] = '\0';
	} else {
		b->data = advise_huge_pages(xreallocarray(b->data, cap, 1), cap);
	}
	b->cap = cap;
}

void
buf_add(struct buf *b, const void *p, size_t n)
{
	if (n == 0)
		return;
	buf_grow(b, n);
	memcpy(b->data + b->len, p, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void
buf_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void
buf_chr(struct buf *b, char c)
{
	if (b->len + 1 >= b->cap)
		buf_grow(b, 1);
	b->data[b->len++] = c;
	b->data[b->len] = '\0';
}

void
buf_vfmt(struct buf *b, const char *fmt, va_list ap)
{
	size_t room = b->cap > b->len ? b->cap - b->len : 0;
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(room > 0 ? b->data + b->len : NULL, room, fmt, again);
	va_end(again);
	if (n < 0)
		die("a format could not be printed");
	if ((size_t)n >= room) {
		buf_grow(b, (size_t)n);
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	}
	b->len += (size_t)n;
}

void
buf_fmt(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vfmt(b, fmt, ap);
	va_end(ap);
}

void
buf_cut(struct buf *b, size_t len)
{
	if (len >= b->len)
		return;
	b->high = b->high > b->len ? b->high : b->len;
	b->len = len;
	b->data[len] = '\0';
}

char *
buf_detach(struct buf *b)
{
	char *s = b->cap != 0 ? b->data : xstrdup("");

	buf_init(b);
	return s;
}

void *
xmalloc(size_t n)
{
	void *p = malloc(n != 0 ? n : 1);

	if (p == NULL)
		err_no_memory();
	return p;
}

void *
xcalloc(size_t n, size_t size)
{
	void *p = calloc(n != 0 ? n : 1, size != 0 ? size : 1);

	if (p == NULL)
		err_no_memory();
	return p;
}

void *
xreallocarray(void *p, size_t n, size_t size)
{
	p = reallocarray(p, n != 0 ? n : 1, size != 0 ? size : 1);
	if (p == NULL)
		err_no_memory();
	return p;
}

char *
xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

char *
xstrndup(const char *s, size_t n)
{
	char *p = xmalloc(n + 1);

	memcpy(p, s, n);
	p[n] = '\0';
	return p;
}

char *
xasprintf(const char *fmt, ...)
{
	struct buf b = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vfmt(&b, fmt, ap);
	va_end(ap);
	return buf_detach(&b);
}

void *
vec_room(void *v, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return v;
	*cap = *cap != 0 ? *cap * 2 : 8;
	return advise_huge_pages(xreallocarray(v, *cap, size), *cap * size);
}

void *
vec_reserve(size_t want, size_t *cap, size_t size)
{
	*cap = want != 0 ? want : 1;
	return advise_huge_pages(xreallocarray(NULL, *cap, size), *cap * size);
}

bool
str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool
str_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && memcmp(s + n - m, suffix, m) == 0;
}
