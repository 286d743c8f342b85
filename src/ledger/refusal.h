#ifndef LEDGER_REFUSAL_H
#define LEDGER_REFUSAL_H

#include <stdint.h>

struct err;
struct store;

/*
 * That a guard refused to bring an agent back. A pass every few minutes refuses the same dead pane each time: it is one refusal until the
 * guard's name or the pane's process is another. Records, of one commit: refused:<server>:<pane>:<socket> (tag: the guard's name) and an
 * event refusal.<name>.
 */
struct refused {
	const char *name;		/* of the guard */
	const char *sentence;
	const char *session, *socket, *pane_id;
	int64_t server_pid, server_start;
	int64_t pane_pid;
};

int refusal_note(struct store *s, const struct refused *r, struct err *e);

#endif
