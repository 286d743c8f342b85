/*
 * What checksums and tallies cost: sum DIR VERBS. Each verb opens the store in DIR, reads three
 * records, one of which is not there, commits four and closes, as `run create` does. Prints two
 * numbers: ns a verb, ns of it in checksums and tallies.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "store/store_private.h"

static int64_t spent;
static int depth;

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The time of the outermost of the calls that are measured. */
#define MEASURED(type, name, parameters, arguments) \
	type __real_##name parameters; \
	type __wrap_##name parameters; \
	type __wrap_##name parameters \
	{ \
		int64_t begin = now_ns(); \
		type result; \
		depth++; \
		result = __real_##name arguments; \
		if (--depth == 0) \
			spent += now_ns() - begin; \
		return result; \
	}

MEASURED(uint64_t, store_checksum, (const char *key, int64_t version, const char *tag, const char *value),
    (key, version, tag, value))
MEASURED(int, sqlite_read_tally, (struct sqlite_store *s, const char *prefix, const char *tag,
    struct store_tally *out, struct err *e), (s, prefix, tag, out, e))
MEASURED(int, sqlite_read_tags, (struct sqlite_store *s, const char *key, struct sqlite_tags *out,
    struct err *e), (s, key, out, e))
MEASURED(int, sqlite_apply_tallies, (struct sqlite_store *s, struct sqlite_tally_changes *t, int64_t seq,
    struct err *e), (s, t, seq, e))

static void
look(struct store *s, const char *key)
{
	struct record r;

	if (store_get(s, key, &r, NULL) < 0)
		die("sum: %s cannot be read", key);
	store_record_release(&r);
}

static void
verb(const char *dir, int i)
{
	char value[400], key[3][40];
	struct err e = ERR_INIT;
	struct store *s = store_open("sqlite", dir, &e);
	struct change c[4] = { { CHANGE_PUT, key[0], STORE_ABSENT, "pending", value },
		{ CHANGE_PUT, key[1], STORE_ABSENT, "idle", value }, { CHANGE_PUT, key[2], STORE_ABSENT, "run", value },
		{ CHANGE_PUT, "counter:event", STORE_ANY, "counter", "{\"last\":1}" } };

	if (s == NULL)
		die("sum: %s", e.msg);
	memset(value, 'x', sizeof value - 1);
	value[0] = value[sizeof value - 2] = '"';
	value[sizeof value - 1] = '\0';
	snprintf(key[0], sizeof key[0], "run:%d", i);
	snprintf(key[1], sizeof key[1], "run_session:%d", i);
	snprintf(key[2], sizeof key[2], "event:%016d", i);
	look(s, key[0]);
	look(s, "counter:event");
	look(s, "run:0");
	if (store_commit(s, c, 4, &e) != COMMIT_DONE)
		die("sum: %s", e.msg);
	store_close(s);
}

int
main(int argc, char **argv)
{
	int n = argc == 3 ? atoi(argv[2]) : 0;
	int64_t begin;

	if (n < 1 || argv[1][0] != '/') {
		fprintf(stderr, "usage: sum /DIR VERBS\n");
		return GT_USAGE;
	}
	verb(argv[1], 0);
	spent = 0;
	begin = now_ns();
	for (int i = 1; i <= n; i++)
		verb(argv[1], i);
	printf("%" PRId64 " %" PRId64 "\n", (now_ns() - begin) / n, spent / n);
	return 0;
}
