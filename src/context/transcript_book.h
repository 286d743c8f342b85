#ifndef CONTEXT_TRANSCRIPT_BOOK_H
#define CONTEXT_TRANSCRIPT_BOOK_H

#include <stddef.h>

#include "context/transcript_pages.h"
#include "context/transcript_tail.h"

struct err;
struct reader;

/*
 * An open session file of whatever kind its reader's format is; its records are `pages`. Paths:
 * - opencode's is that of its database, "#" and the session's id behind it; without an id the session that was changed last. -wal and
 *   -shm are read with it, as base/db.h says; nothing of theirs is touched.
 * - cline's is <id>.messages.json; as long as there is none, and for <id>.json, the other one is taken.
 */
struct book {
	int fd;			/* -1: none that is ours */
	struct tail tail;
	struct sqlite3 *db;
	struct pages pages;
};

/* Names: "not-found", "transcript", and for a database those of db_open_foreign. A book that did not open needs no close. */
int book_open(struct book *b, const struct reader *how, const char *path, struct err *e);
int book_open_fd(struct book *b, const struct reader *how, int fd, struct err *e);			/* a regular file, borrowed */
int book_open_bytes(struct book *b, const struct reader *how, const char *p, size_t n, struct err *e);	/* borrowed; no database */
void book_close(struct book *b);

#endif
