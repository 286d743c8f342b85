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

static void
commit(struct txn *t)
{
	struct err e = ERR_INIT;

	if (txn_commit(t, &e) != COMMIT_DONE)
		die("startup: %s", e.msg);
}

static void
add(struct txn *t, int i, enum run_state state, const struct timestamp *now)
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
	r.state = state;
	txn_put(t, &run_type, &r);
	if (!run_state_final(state))
		txn_put(t, &run_session_type, &x);
	if (t->n >= BATCH)
		commit(t);
}

static void
add_agent(struct txn *t, int i, const struct timestamp *now)
{
	char id[32], parent[32];
	struct session x = {
		.agent_uuid = id,
		.provider_name = (char *)(uintptr_t)"claude",
		.model = (char *)(uintptr_t)"one",
		.cursor_session_id = (char *)(uintptr_t)"5e0b4c1e-7f3a-4f5e-9f43-1d2c3b4a5968",
		.workspace_path = (char *)(uintptr_t)"/tmp/work",
		.parent = i % 10 == 0 ? NULL : parent,
		.why = (char *)(uintptr_t)"its process is not running",
		.blob = { .size = -1 },
	};

	snprintf(id, sizeof id, "agent_%08d", i);
	snprintf(parent, sizeof parent, "agent_%08d", i - 1);
	session_put(t, &x, SESSION_SUSPENDED, now->wall_ms);
	tree_link_put(t, id, x.parent, now->wall_ms);
	if (t->n >= BATCH)
		commit(t);
}

int
main(int argc, char **argv)
{
	struct txn t = { .s = NULL };
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
	if ((t.s = store_open("sqlite", argv[1], &e)) == NULL)
		die("startup: %s", e.msg);
	timestamp_now(&now);
	/* the open ones here and there among the others */
	for (int i = 0, done = 0; i < open + finished; i++) {
		bool is_open = (int64_t)(i + 1) * open / (open + finished) > done;

		add(&t, i, is_open ? RUN_RUNNING : RUN_COMPLETED, &now);
		done += is_open;
	}
	for (int i = 0; i < agents; i++)
		add_agent(&t, i, &now);
	commit(&t);
	store_close(t.s);
	return 0;
}
