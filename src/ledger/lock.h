#ifndef LEDGER_LOCK_H
#define LEDGER_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/moment.h"

struct err;
struct record;
struct store;

/*
 * A lock of the agents' own, such as a slot for tests: the record lock:<name>, its tag held or free. (What keeps our own processes apart
 * are locks of the kernel, base/io.h.) Its owner is a word of the caller's own and, when one was told, a process of this boot:
 *
 *	with a process		held on this boot for as long as that process lives, whatever the lease says; for other boots, and so for
 *				other machines, as without one
 *	without			held for `lease_ms` after it was last renewed, by the store's clock; on one boot by the boot's own
 *
 * A stale one is nobody's: the next who wants it takes it over, and that is told (event lock.taken-over). Acquiring is a commit that
 * expects the version that was read, so that of any number of callers one has it. It is counted in `fence`, also over releases: who shows
 * an older number is refused. A released lock stays as a free record, for its number.
 *
 * Events: lock.acquired, lock.taken-over, lock.released, lock.expired. Renewing is none.
 */
struct lock {
	int64_t version;		/* of the record; 0: there is none */
	bool held;
	char *name, *holder;		/* heap; holder: who has or had it */
	char *host;			/* the machine's name, for people; heap */
	char *taken;			/* set by lock_acquire: whose it was and why that had ended; heap, NULL: nobody's */
	int64_t fence;			/* how many times it was acquired */
	int64_t lease_ms;
	int64_t pid, pid_start;		/* pid_start: clock ticks, as in agent/liveness.h; 0: it told no process */
	int64_t acquired_at;		/* ms since 1970 */
	struct moment renewed;
};

struct locks {
	struct lock *v;
	size_t n, cap;
};

#define LOCK_LEASE_MS ((int64_t)300000)		/* for who tells none */
#define LOCK_LEASE_MAX_MS ((int64_t)86400000)

/* Who wants it, or says that he has it. */
struct lock_holder {
	const char *name, *holder;	/* of the lock; his own word (key_check_id both) */
	int64_t pid;			/* of his process; 0: none */
	int64_t lease_ms;		/* 0: LOCK_LEASE_MS, of one that is renewed as it was */
	int64_t fence;			/* 0: not told, the word suffices */
};

/* In all of them `now` has the store's clock in wall_ms (store_now). Release *out when the answer is not -1. */

/*
 * 1 it is his now; 0 it was his before (the same word, and the same process if one was told then), and is renewed. -1: "held" (GT_AGAIN:
 * the sentence says by whom), "gone" (GT_FAIL: there is no such process), "id", "lease" (GT_USAGE).
 */
int lock_acquire(struct store *s, const struct lock_holder *who, const struct moment *now, struct lock *out, struct err *e);
/*
 * His lease begins anew; a process that is told takes the place of the one before, and on another boot that one is forgotten: from then on
 * it is a lock without a process. Also when the lease had ended, as long as nobody took it; not when the process that had it is gone and no
 * other is told. 0; -1: "not-yours" (GT_REFUSED: another has it, or it was acquired again since his fence), "not-held", "gone" (GT_REFUSED),
 * "not-found" (GT_NOTHING).
 */
int lock_renew(struct store *s, const struct lock_holder *who, const struct moment *now, struct lock *out, struct err *e);
/* 1 it is free now, 0 it was free already, also when its process is gone; -1: "not-yours", "not-found". */
int lock_put_back(struct store *s, const struct lock_holder *who, const struct moment *now, struct lock *out, struct err *e);

/* Why a held lock is nobody's any more, a clause; NULL: it is not stale. */
const char *lock_stale(const struct lock *l, const struct moment *now);

/* Startup: those that are stale become free. Each is a commit; one that was renewed meanwhile stays. *n: how many. */
int locks_settle(struct store *s, const struct moment *now, size_t *n, struct err *e);

/* 1 found, 0 absent, -1. */
int lock_load(struct store *s, const char *name, struct lock *out, struct err *e);
/* Those that are held, or all; appended, by name. */
int locks_read(struct store *s, bool all, struct locks *out, struct err *e);
void lock_release(struct lock *l);		/* the memory; not the lock */
void locks_release(struct locks *list);

#endif
