#ifndef LEDGER_CRASHES_H
#define LEDGER_CRASHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct change;
struct err;
struct store;

/*
 * How often the agent of one session was started again: the record crashes:<socket>:<session> holds when (ms since 1970, the last 1000). An
 * attempt that ended before that, say for want of disk space, is none. A session is quarantined while max_attempts of them lie after a time
 * that is attempt_window before its crash: a person ends that with `gt-recover release`.
 */

/* How many were at or after `since`. Nothing known: 0. */
int crashes_count(struct store *s, const char *socket, const char *session, int64_t since, size_t *n, struct err *e);

/*
 * The change that adds one at `now`, for the commit of the attempt itself. It expects no version: of two panes of one session that are
 * started in the same moment one may go uncounted, which harms less than an attempt that fails. `a` owns what c points to.
 */
struct crashes_added {
	char *key, *value;
};
int crashes_add(struct store *s, const char *socket, const char *session, int64_t now, struct crashes_added *a, struct change *c,
    struct err *e);
void crashes_added_release(struct crashes_added *a);

/*
 * Forgets them, with the event session.released. *n: how many there were; without any nothing is written. Another commit came in
 * between: name "conflict", GT_AGAIN.
 */
int crashes_forget(struct store *s, const char *socket, const char *session, size_t *n, struct err *e);

/* The sockets on which a session of this name has such a record. */
struct crashes_places {
	char **sockets;
	size_t n, cap;
};
int crashes_places(struct store *s, const char *session, struct crashes_places *out, struct err *e);
void crashes_places_release(struct crashes_places *p);

/*
 * The sessions that were started again at least `least` times at or after `since`, in the order of their keys. With max_attempts and
 * attempt_window: those that are quarantined when they crash now.
 */
struct crashes_session {
	char *session, *socket;
	size_t n;
};
struct crashes_often {
	struct crashes_session *v;
	size_t n, cap;
};
int crashes_often(struct store *s, int64_t since, size_t least, struct crashes_often *out, struct err *e);
void crashes_often_release(struct crashes_often *o);

#endif
