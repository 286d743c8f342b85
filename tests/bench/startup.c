/*
 * Makes a store of runs and agents, for startup to go through:
 *   startup DIR OPEN FINISHED AGENTS        DIR: an empty state directory; OPEN runs that are
 *   running, with their sessions, FINISHED completed ones,
 * 					and AGENTS suspended agents, nine of ten below the one before
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/timestamp.h"
#include "records/records_private.h"
#include "records/runs/runs.h"
#include "records/agents/agents.h"
#include "store/store.h"

#define BATCH 10000

struct batch {
	struct store *s;
	struct change c[BATCH + 2];
	size_t n;
};

static void
commit(struct batch *b)
{
	struct err e = ERR_INIT;

	if (store_commit(b->s, b->c, b->n, &e) != COMMIT_DONE)
		die("startup: %s", e.msg);
	for (size_t i = 0; i < b->n; i++) {
		free((char *)(uintptr_t)b->c[i].key);
		free((char *)(uintptr_t)b->c[i].value);
	}
	b->n = 0;
}

static void
add(struct batch *b, int i, enum run_state state, const struct timestamp *now)
{
	char id[32], session[32];
	struct run r = {
		.id = id,
		.session_id = session,
		.type = (char *)(uintptr_t)"START_SESSION",
		.runner_id = (char *)(uintptr_t)"runner-one",
		.prompt = (char *)(uintptr_t)"Go through the open issues, take the oldest one that nobody "
					     "works at, and mend it.",
		.created_at = now->wall_ms - 9000,
		.claimed_at = now->wall_ms - 8000,
		.started_at = now->wall_ms - 7000,
		.entered = *now,
	};
	struct run_session x = { .id = session,
		.run_id = id,
		.execution_mode = (char *)(uintptr_t)"sync",
		.created_at = r.created_at };

	snprintf(id, sizeof id, "run_%012d", i);
	snprintf(session, sizeof session, "ses_%012d", i);
	b->c[b->n++] = (struct change){ CHANGE_PUT, xasprintf("run:%s", id), STORE_ABSENT,
		run_state_name(state), run_json(&r) };
	if (!run_state_final(state)) {
		b->c[b->n++] = (struct change){ CHANGE_PUT, record_key_of(&run_session_type, &x), 0, "running",
			record_encode(&run_session_type, &x) };
	}
	if (b->n >= BATCH)
		commit(b);
}

static void
add_agent(struct batch *b, int i, const struct timestamp *now)
{
	char id[32], parent[32];
	struct session x = {
		.agent_uuid = id,
		.provider_name = (char *)(uintptr_t)"claude",
		.model = (char *)(uintptr_t)"one",
		.cursor_session_id = (char *)(uintptr_t)"5e0b4c1e-7f3a-4f5e-9f43-1d2c3b4a5968",
		.workspace_path = (char *)(uintptr_t)"/tmp/work",
		.parent = i % 10 == 0 ? NULL : parent,
		.why = (char *)(uintptr_t)"no process of it is running",
		.blob = { .size = -1 },
	};
	char *key, *value;

	snprintf(id, sizeof id, "agent_%08d", i);
	snprintf(parent, sizeof parent, "agent_%08d", i - 1);
	session_change(&x, SESSION_SUSPENDED, now->wall_ms, &key, &value, &b->c[b->n++]);
	tree_link_change(id, x.parent, now->wall_ms, &key, &value, &b->c[b->n++]);
	if (b->n >= BATCH)
		commit(b);
}

int
main(int argc, char **argv)
{
	static struct batch b;
	struct err e = ERR_INIT;
	struct timestamp now;
	int open, finished, agents;

	if (argc != 5 || argv[1][0] != '/') {
		fprintf(stderr, "usage: startup /DIR OPEN FINISHED AGENTS\n");
		return GT_USAGE;
	}
	open = atoi(argv[2]);
	finished = atoi(argv[3]);
	agents = atoi(argv[4]);
	if ((b.s = store_open("sqlite", argv[1], &e)) == NULL)
		die("startup: %s", e.msg);
	timestamp_now(&now);
	/* the open ones here and there among the others */
	for (int i = 0, done = 0; i < open + finished; i++) {
		bool is_open = (int64_t)(i + 1) * open / (open + finished) > done;

		add(&b, i, is_open ? RUN_RUNNING : RUN_COMPLETED, &now);
		done += is_open;
	}
	for (int i = 0; i < agents; i++)
		add_agent(&b, i, &now);
	if (b.n > 0)
		commit(&b);
	store_close(b.s);
	return 0;
}
