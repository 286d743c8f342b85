#ifndef LEDGER_INTEGRITY_H
#define LEDGER_INTEGRITY_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct store;

/*
 * The rules that the records keep among each other, whatever backend holds them:
 *
 *	events are numbered from 1 without a gap, up to counter:event
 *	an attempt is in a known phase; an open one has its pane's record, which is open and names it
 *	an open pane's record names an open attempt of that pane
 *	a run is in a known state; its session has a record; a claimed, running or stopping one names its runner, a pending one none
 *	a session is in a known state, and its state blob is the one that it tells of (length, SHA-256)
 *	an open place in the tree has a session that has not ended, and a parent that is open, too; nobody is below himself
 *
 * Each commit writes all records that belong together, so that a broken rule means that somebody else wrote, or lost, a part.
 */
struct integrity {
	size_t attempts;
	int64_t events;
	char **faults;			/* sentences, heap; the first INTEGRITY_TOLD of them */
	size_t n_faults, cap;		/* n_faults counts all */
};
#define INTEGRITY_TOLD 20

/* -1 with err: the store cannot be read. Release in any case. */
int integrity_check(struct store *s, struct integrity *out, struct err *e);
void integrity_release(struct integrity *i);

/*
 * For the files of the check alone: one more fault; a record that cannot be understood is a fault (0), a store that cannot be
 * read an error (-1); the part about sessions, the tree and messages.
 */
void integrity_fault(struct integrity *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int integrity_damaged(struct integrity *out, const struct err *own, struct err *e);
int integrity_check_agents(struct store *s, struct integrity *out, struct err *e);

#endif
