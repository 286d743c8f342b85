/*
 * A million finished runs leave a store but for the newest: its file against that of a store with
 * the kept records alone.
 *
 *   history [--runs N] [--keep N] DIR
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "records/history/history.h"
#include "store/store.h"

#define A_COMMIT 500

static struct err e = ERR_INIT;

static void
check(bool fine, const char *what)
{
	if (!fine)
		die("history: %s: %s", what, e.msg);
}

/* Ids are as random as those of real runs; a run ends each second. */
static void
add_runs(struct store *s, long from, long to, int64_t began)
{
	struct change c[2 * A_COMMIT];

	for (long i = from; i < to;) {
		struct event ev = { .kind = "run.completed", .subject = "run", .text = "runner" };
		size_t n = 0;

		for (; i < to && n < 2 * A_COMMIT; i++) {
			unsigned long long id = (unsigned long long)(i + 1) * 0x9e3779b97f4a7c15ULL;
			long long at = (long long)(began + i * 1000);

			c[n] = (struct change){ CHANGE_PUT, xasprintf("run:%016llx", id), STORE_ABSENT, "completed",
				xasprintf("{\"schema_version\":1,\"run_id\":\"%016llx\",\"session_id\":\"s-%016llx\",\"type\":"
					  "\"START_SESSION\",\"prompt\":\"%0200d\",\"runner_id\":\"runner\",\"created_at\":%lld,"
					  "\"completed_at\":%lld}", id, id, 0, at, at) };
			c[n + 1] = (struct change){ CHANGE_PUT, xasprintf("run_session:s-%016llx", id), STORE_ABSENT,
				"finished", xasprintf("{\"schema_version\":1,\"session_id\":\"s-%016llx\",\"execution_mode\":"
						      "\"sync\",\"created_at\":%lld,\"run_id\":\"%016llx\"}", id, at, id) };
			n += 2;
		}
		check(event_commit(s, c, n, &ev, &e) == COMMIT_DONE, "a commit");
		for (size_t k = 0; k < n; k++) {
			free((char *)c[k].key);
			free((char *)c[k].value);
		}
	}
}

static struct store *
begin(const char *dir)
{
	struct store *s;

	check(io_private_dir(dir, &e) == 0, dir);
	s = store_open("sqlite", dir, &e);
	check(s != NULL, "a store");
	return s;
}

int
main(int argc, char **argv)
{
	long runs = 1000000, keep = 100000, passes = 0;
	int64_t now = clock_wall_ms(), worst = 0, all;
	struct history_report out = { .backlog = true };
	struct store_size full, swept, fresh;
	char *big, *small, *state, *log;
	struct store *s;
	int arg = 1;

	for (; arg + 2 < argc; arg += 2)
		*(strcmp(argv[arg], "--runs") == 0 ? &runs : &keep) = strtol(argv[arg + 1], NULL, 10);
	if (arg + 1 != argc)
		die("usage: history [--runs N] [--keep N] DIR");
	big = io_join(argv[arg], "big");
	small = io_join(argv[arg], "small");
	state = io_join(big, "retention.json");
	log = io_join(big, EVENT_LOG);
	s = begin(big);
	add_runs(s, 0, runs, now - runs * 1000);
	check(store_size_read(s, &full, &e) == 0, "its size");
	const struct history_limits limits = {
		.count = keep, .age_ms = (int64_t)3650 * 86400000, .budget_ms = 1000, .state = state, .log = log
	};

	all = clock_mono_ms();
	for (; out.backlog || out.left > 0; passes++) {
		int64_t began = clock_mono_ms();

		check(history_sweep(s, &limits, &out, &e) == 0, "a sweep");
		if (!out.backlog)
			check(store_shrink(s, began + 1000, &e) == 0, "shrinking");
		if (clock_mono_ms() - began > worst)
			worst = clock_mono_ms() - began;
	}
	while (store_size_read(s, &swept, &e) == 0 && swept.free * 20 > swept.bytes) {
		check(store_shrink(s, clock_mono_ms() + 1000, &e) == 0, "shrinking");
		passes++;
	}
	all = clock_mono_ms() - all;
	store_close(s);
	s = begin(small);
	add_runs(s, runs - keep, runs, now - runs * 1000);
	check(store_size_read(s, &fresh, &e) == 0, "its size");
	store_close(s);
	printf("%ld runs, %.1f MB; %ld kept after %ld passes in %.1f s (the longest %.2f s): %.1f MB; "
	       "fresh %.1f MB; ratio %.2f\n",
	    runs, (double)full.bytes / 1e6, keep, passes, (double)all / 1e3, (double)worst / 1e3,
	    (double)swept.bytes / 1e6, (double)fresh.bytes / 1e6, (double)swept.bytes / (double)fresh.bytes);
	return (double)swept.bytes <= 1.3 * (double)fresh.bytes ? 0 : 1;
}
