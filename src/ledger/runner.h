#ifndef LEDGER_RUNNER_H
#define LEDGER_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/moment.h"

struct err;
struct store;

/*
 * The registry of runners, the programs that claim runs and execute them: the record runner:<id> (tag registered). What a living runner has
 * claimed stays its own when stale runs are recovered (ledger/run_recover.h).
 *
 * A registration begins a new life: what the same id claimed in an earlier life belongs to a program that has ended. On the machine and
 * boot where it registered, a runner that told its process lives as long as that process does, whatever became of its beats; any other
 * lives while its last beat is not older than the threshold. Another boot ends it. From another host it is judged by its
 * beats alone, in the store's clock (store_moment), so it should beat.
 */
struct runner {
	int64_t version;		/* of the record; 0: there is none */
	char *id;
	int64_t life;			/* how many times it registered, from 1 */
	int64_t registered_at;		/* ms since 1970 */
	struct moment beat;		/* the last one, or the registration */
	int64_t pid, pid_start;		/* pid_start: clock ticks, as in agent/liveness.h; 0: it told no process */
};

struct runners {
	struct runner *v;		/* in the order of their ids */
	size_t n, cap;
};

/*
 * Commits it as registered, with the event runner.registered; *out is the new record, release it when 0. pid 0: none told. A pid that
 * is no living process: name "gone".
 */
int runner_register(struct store *s, const char *id, int64_t pid, const struct moment *now, struct runner *out, struct err *e);

/*
 * Commits the time of a beat. There is no event: beats come by the minute, and change nothing that is not in the record. One that
 * is not registered, or was so before this boot or on another host: name "unregistered", GT_REFUSED; what it claimed may be another's already.
 */
int runner_beat(struct store *s, const char *id, const struct moment *now, struct err *e);

/* 1 found, 0 absent (*out is empty), -1. Release when 1. */
int runner_load(struct store *s, const char *id, struct runner *out, struct err *e);
/* All of them, appended. */
int runners_read(struct store *s, struct runners *out, struct err *e);
/* NULL when it is not among them. */
const struct runner *runners_find(const struct runners *list, const char *id);

bool runner_lives(const struct runner *r, const struct moment *now, int64_t threshold_ms);

void runner_release(struct runner *r);
void runners_release(struct runners *list);

#endif
