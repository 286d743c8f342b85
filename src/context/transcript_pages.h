#ifndef CONTEXT_TRANSCRIPT_PAGES_H
#define CONTEXT_TRANSCRIPT_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/json_slice.h"
#include "context/transcript_document.h"

struct err;
struct sqlite3;
struct tail;

/*
 * The records of a session file, newest first, one at a time and wherever they lie: a line each, the objects of a list in one JSON object,
 * or rows of an SQLite database. Flat memory: sixteen bytes a record for the last two, and the record at hand.
 */
struct pages {
	struct tail *tail;		/* borrowed; NULL: rows */
	struct sqlite3 *db;		/* borrowed; NULL: bytes */
	char *session;			/* of the rows */
	struct document list;		/* spans: of rows their numbers */
	size_t left;			/* spans not given yet */
	int by_span;
	struct buf head;		/* JSON that tells of the session itself; may be empty or torn */
	struct buf page;		/* the row at hand */
	int exact;			/* what was read last is byte for byte what stands there */
};

/* One of these begins; -1 leaves nothing to release. */
int pages_lines(struct pages *p, struct tail *t, struct err *e);
int pages_list(struct pages *p, struct tail *t, const char *list, struct err *e);
/*
 * opencode's database (1.18.33; context/transcript_rows.c): of a session, NULL: the one that was changed last and is no sub-agent's. A
 * record is {"info": message, "id": its id, "parts": [part, …]}, much as `opencode export` prints it. Names as db_open_foreign's, and
 * "not-found".
 */
int pages_rows(struct pages *p, struct sqlite3 *db, const char *session, struct err *e);
void pages_release(struct pages *p);	/* overwrites what was read */

/* The record before the one given last: 1, 0 when there is no more, -1 on a read error. */
int pages_previous(struct pages *p, off_t *at, size_t *n, struct err *e);
/* Its JSON, valid until the next call: 1, 0 when it is torn or none, -1 on a read error. */
int pages_read(struct pages *p, off_t at, size_t n, struct json_slice *out, struct err *e);
/* A row, for pages_read: replaces page. */
int rows_compose(struct pages *p, int64_t row, struct err *e);

#endif
