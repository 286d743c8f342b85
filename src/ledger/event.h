#ifndef LEDGER_EVENT_H
#define LEDGER_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/*
 * What happened, in order. An event is a record event:<seq> (16 decimal digits, from 1, no gaps) of the same commit as the change that
 * it tells of, so that neither is ever there without the other. The record counter:event holds the last number. An event's tag is its
 * kind up to the first dot. Text is ours or clean; never scrollback, environment values or start commands. Each field is cut at 1 KiB.
 */
struct event {
	const char *kind;		/* "attempt.captured" */
	const char *subject;		/* id of what it is about */
	const char *session;		/* NULL: none */
	const char *text;		/* a few words, NULL: none */
};

/*
 * Commits the changes together with the event. Other writers that only took the next event number first are no conflict: then it is
 * tried again with the number after that. Answers as store_commit does.
 */
enum commit event_commit(struct store *s, const struct change *changes, size_t n, const struct event *ev, struct err *e);

/*
 * Appends to the file at path (made if missing, 0600) the events that it does not hold yet, one JSON object a line with seq, at (ms
 * since 1970), kind, subject, session, text. Append, then fsync. A torn tail left by a crash is cut off first, back to the last whole
 * line that continues the numbering; what is cut is still in the store and written again. *written (may be NULL): lines appended. Names:
 * "event-log" (the file holds something else, or is ahead of the store), "not-private", "unwritable", "locked", "write". Fault points:
 * "event-append", "event-sync".
 */
int event_export(struct store *s, const char *path, size_t *written, struct err *e);

#endif
