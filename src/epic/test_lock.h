#ifndef EPIC_TEST_LOCK_H
#define EPIC_TEST_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/lock.h"

struct buf;
struct epic_sprint;
struct err;
struct moment;
struct store;

/*
 * The lock under which a sprint's tests ran when it crashed: the one that its record names in tests.lock (ledger/lock.h). What ran under it is
 * dead with its agents, so that it is taken from them, for the one who runs all tests again. now: as in ledger/lock.h.
 */

/* Its name; NULL: the sprint has none. */
const char *test_lock_name(const struct epic_sprint *x);

/*
 * Takes it for an agent of the sprint: who had it, if he is one of them, else the first. Stale is what ledger/lock.h calls so, and what an agent
 * of this sprint has by its word alone, for the sprint has crashed; that is put back first. out: as lock_acquire left it; `taken` says from
 * whom. 1 taken; 0 the sprint has no lock or no agent; -1: "held" (GT_AGAIN: somebody else has it, or a process that lives).
 */
int test_lock_take(struct store *s, const struct epic_sprint *x, const struct moment *now, struct lock *out, struct err *e);

/* May it go with the sprint? It is free, stale, or an agent's of it. */
bool test_lock_is_own(const struct epic_sprint *x, const struct lock *l, const struct moment *now);

/* What the agent is told of it. -1 with err. */
int test_lock_tell(struct store *s, const struct epic_sprint *x, const char *agent, const struct moment *now, struct buf *out, struct err *e);

#endif
