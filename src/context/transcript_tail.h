#ifndef CONTEXT_TRANSCRIPT_TAIL_H
#define CONTEXT_TRANSCRIPT_TAIL_H

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

struct err;

/*
 * The lines of a file from its end, in flat memory: a window of a mebibyte and at most one line. The file may grow meanwhile, its end is
 * fixed at init; one that shrinks has lines that read empty. Lines longer than 8 MiB (an image, a huge output) come with the middle of
 * their long JSON strings left out, and say so there; they stay valid JSON.
 */
struct tail {
	int fd;			/* -1: all bytes are in the window */
	struct buf room;	/* the window's, when there is a file */
	const char *window;
	off_t from;		/* offset of the window */
	size_t n;
	off_t end;		/* the next line ends here; -1: no more */
	struct buf line;	/* one that the window does not hold */
};

/* fd: a regular file, borrowed. */
int tail_init_file(struct tail *t, int fd, struct err *e);
void tail_init_bytes(struct tail *t, const char *p, size_t n);	/* borrowed */
void tail_release(struct tail *t);				/* overwrites what was read */

/* The line before the one given last, without its newline: 1, 0 when there is no more, -1 on a read error. */
int tail_previous(struct tail *t, off_t *at, size_t *n, struct err *e);
/* Its text; valid until the next call. */
int tail_line(struct tail *t, off_t at, size_t n, const char **p, size_t *len, struct err *e);

#endif
