#ifndef REVIVE_SEALED_H
#define REVIVE_SEALED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct err;

/*
 * Files of ours among those of other programs: the second line of each holds the SHA-256 of the rest. One that does not agree was changed by a
 * person, or is not ours, and is neither replaced nor removed.
 */
struct sealed {
	char *path;
	struct buf text;
};

/* The first line (with its newline), the mark, the rest. what: of `gt-recover install WHAT`. */
void sealed_text(struct buf *out, const char *what, const char *first, const char *rest);
/* A file that still is as some version of us wrote it. */
bool sealed_is(const struct buf *text, const char *what);

/*
 * Writes or removes n files, at most SEALED_MAX, in their order or against it; none before all are known to be ours or missing. *changed: one
 * was written, *was: one was there. Names: "edited" (which file), those of io_write_durable.
 */
#define SEALED_MAX 4
int sealed_install(const struct sealed *v, size_t n, const char *what, bool *changed, struct err *e);
int sealed_remove(const struct sealed *v, size_t n, const char *what, bool *was, struct err *e);

#endif
