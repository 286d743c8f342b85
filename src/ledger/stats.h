#ifndef LEDGER_STATS_H
#define LEDGER_STATS_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct store;

/* What the ledger tells about recoveries: counts by word, and how long they took. */
struct tally {
	char *word;
	size_t n;
};

struct tallies {
	struct tally *v;		/* the most frequent first, then by word */
	size_t n, cap;
};

struct stats {
	int64_t since;			/* ms since 1970: attempts that began, refusals that happened at or after it */
	size_t attempts, refused;
	struct tallies phases, classes, reasons, deliveries, failures, refusals;	/* failures: the sentence (why) */
	size_t recovered_runs;		/* those that were last recovered at or after `since` */
	struct tallies runs;		/* the same by what they were */
	size_t timed;			/* acknowledged ones whose crash has a time */
	int64_t p50_ms, p95_ms;		/* from the crash to the acknowledgement, of those; nearest rank, -1 without any */
};

/* All of it. -1 with err; stats_release in any case. */
int stats_read(struct store *s, int64_t since, struct stats *out, struct err *e);
void stats_release(struct stats *st);

#endif
