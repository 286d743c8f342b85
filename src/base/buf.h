#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * A growing string of bytes. `data` is never NULL and has a NUL after the last byte; NUL bytes
 * inside are allowed. The caller owns the struct, which owns the heap memory until buf_release or
 * buf_detach. Allocation never fails (die); outside input is capped where it enters (io.h,
 * spawn.h).
 */
struct buf {
	char *data;
	size_t len;
	size_t cap;		/* 0: data is the shared empty string */
	size_t high;		/* bytes behind len still to wipe */
};

extern char buf_empty[];
#define BUF_INIT { .data = buf_empty, .len = 0, .cap = 0, .high = 0 }

void buf_init(struct buf *b);
void buf_release(struct buf *b);			/* frees; b is empty and usable again */
/* as release, bytes overwritten: for text not yet scrubbed */
void buf_wipe(struct buf *b);
void buf_reset(struct buf *b);				/* length 0, memory kept */
void buf_grow(struct buf *b, size_t extra);		/* room for `extra` more bytes */
void buf_add(struct buf *b, const void *p, size_t n);
void buf_str(struct buf *b, const char *s);
void buf_chr(struct buf *b, char c);
void buf_fmt(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vfmt(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
void buf_cut(struct buf *b, size_t len);		/* shortens to len */
char *buf_detach(struct buf *b);			/* the caller owns the returned heap string */

/* Allocation that never returns NULL. */
void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size);
void *xreallocarray(void *p, size_t n, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Room for one more element of `size` bytes in a vector of *cap that holds n; doubles. Returns the
 * moved vector.
 */
void *vec_room(void *v, size_t n, size_t *cap, size_t size);
/* Room for `want` elements in an empty vector. */
void *vec_reserve(size_t want, size_t *cap, size_t size);

bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);

#endif
