#ifndef LEDGER_EVENT_H
#define LEDGER_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/*
 * What happened, in order. An event is a record event:<seq> (16 decimal digits, from 1, no gaps) of the same commit as the change that
 * it tells of, so that neither is ever there without the other. The record counter:event holds the last number. An event's tag is its
 * kind up to the first dot. Text is ours or clean; never scrollback, environment values or start commands. Each field is cut at 1 KiB. Of a store that several hosts share, it tells its host.
 */
struct event {
	const char *kind;		/* "attempt.captured" */
	const char *subject;		/* id of what it is about */
	const char *session;		/* NULL: none */
	const char *text;		/* a few words, NULL: none */
};

/*
 * Commits the changes together with the event. Its number is read under store_hold; where that holds nobody off, another writer that took
 * the number first is no conflict: then it is tried again with the one after that. Answers as store_commit does.
 */
enum commit event_commit(struct store *s, const struct change *changes, size_t n, const struct event *ev, struct err *e);

/* The number of the last event; 0: none yet. -1 with err. */
int event_last(struct store *s, int64_t *seq, struct err *e);

/* When the event with that number happened, ms since 1970. -1 with err, "not-found". */
int event_time(struct store *s, int64_t seq, int64_t *at, struct err *e);

#define EVENT_LOG "events.jsonl"	/* in the state directory */

/*
 * Appends to the file at path (made if missing, 0600) the events that it does not hold yet, one JSON object a line with seq, at (ms
 * since 1970), kind, subject, session, text. Append, then fsync. A torn tail left by a crash is cut off first, back to the last whole
 * line that continues the numbering; what is cut is still in the store and written again. *written (may be NULL): lines appended. Names:
 * "event-log" (the file holds something else, or is ahead of the store), "not-private", "unwritable", "locked", "write". Fault points:
 * "event-append", "event-sync".
 */
int event_export(struct store *s, const char *path, size_t *written, struct err *e);

/*
 * Compares that file with the store, from its first line to its last: line N must be event N, to the byte. Nothing is changed. *lines
 * (may be NULL): how many were compared; fewer than the store has events is no error here, event_export adds them. Names: "event-log" (a
 * line differs, is missing in the store, or the last one is torn; the message says which), "not-found", "not-private".
 */
int event_check(struct store *s, const char *path, size_t *lines, struct err *e);

/*
 * Into a store that was restored from a backup (store_mend): the events that the file at path tells and the store has no more, up to the
 * first line that is torn. *added: how many; what else was committed with them is lost. A missing file has none. Name "event-log": it is not
 * the log of this store.
 */
int event_replay(struct store *s, const char *path, size_t *added, struct err *e);

/* An event as it was read. Strings live as long as the call that it was handed to. */
struct event_row {
	int64_t seq, at;		/* at: ms since 1970 */
	const char *kind, *subject, *session, *text;	/* the last three may be NULL */
	const char *host;		/* on which it happened; NULL: the store is one machine's alone */
};

/*
 * Calls row for each event with this tag (NULL: any) in order. row answers 0 to go on, anything else ends the walk and is the answer. -1
 * with err when the store cannot be read.
 */
int event_each(struct store *s, const char *tag, int (*row)(const struct event_row *ev, void *arg), void *arg, struct err *e);

#endif
