#ifndef LEDGER_RUN_SESSION_H
#define LEDGER_RUN_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/run.h"
#include "store/store.h"

struct err;

/*
 * The session that a run belongs to (seed S4's table of sessions, not a session of an agent): the record run_session:<session id>, its tag
 * the status. It changes in the commit of the run that changes it. One of its runs at a time is the one that it follows (run_id: the
 * newest that began, or the first that was created); what becomes of the others does not end it.
 */
#define RUN_SESSION_PREFIX "run_session:"

enum run_session_status { RUN_SESSION_RUNNING, RUN_SESSION_STOPPING, RUN_SESSION_STOPPED, RUN_SESSION_FINISHED, RUN_SESSION_STATUSES };

struct run_session {
	int64_t version;		/* 0: there is no such record */
	enum run_session_status status;
	char *id;
	char *run_id;			/* "": follows any */
	char *execution_mode;		/* the creator's word, "sync" when it gave none */
	int64_t created_at;		/* ms since 1970 */
};

const char *run_session_status_name(enum run_session_status status);

/* 1 found, 0 absent (*x is then empty but for its id), -1. Release in any case. */
int run_session_load(struct store *s, const char *id, struct run_session *x, struct err *e);
/* From a record run_session:*, as store_each hands it over; release it when 0. */
int run_session_from_record(const struct record *rec, struct run_session *x, struct err *e);
void run_session_release(struct run_session *x);

/*
 * What the step of a run from `from` to its present state makes of it: running when the run begins; stopping with it; stopped when it
 * is stopped; finished when it ends otherwise, but not from stopping unless the run itself was to stop. True when x changed.
 */
bool run_session_take(struct run_session *x, const struct run *r, enum run_state from);

/* The change that stores x as it is now, expecting the version that it was read with; key and value are heap, the caller's. */
void run_session_change(const struct run_session *x, char **key, char **value, struct change *c);

#endif
