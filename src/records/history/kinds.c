#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "records/history/history_private.h"
#include "base/err.h"
#include "base/timestamp.h"
#include "records/recovery/recovery.h"
#include "records/runs/runs.h"

/* The greatest number in a value, also within it. */
static int64_t
latest(struct json_slice v)
{
	struct json_walk w = json_slice_walk(v);
	struct json_slice key, one;
	int64_t most = json_slice_number(v, 0), at;

	while (v.p != NULL && (*v.p == '{' || *v.p == '[') && json_walk_next(&w, &key, &one))
		if ((at = json_slice_number(one, 0)) > most)
			most = at;
	return most;
}

/* Certainly: its process is not there, or the machine has booted since. */
static bool
server_is_gone(const struct history *h, struct json_slice o, int64_t at)
{
	int64_t pid = json_slice_number(json_slice_get(o, "server_pid"), 0);
	uint64_t ns = (uint64_t)json_slice_number(json_slice_get(o, "pid_ns"), 0);
	struct timestamp here;

	timestamp_now(&here);
	if (at > 0 && at < h->now.wall_ms - here.boot_ms)
		return true;
	return pid > 1 && !timestamp_other_space(ns, &here) && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

int64_t
history_ended_at(const struct history *h, const struct history_kind *k, const struct record *r,
    struct json_slice *o)
{
	int64_t at = 0, one;

	if (!json_slice_whole(r->value, strlen(r->value), o))
		return -1;
	for (size_t i = 0; i < sizeof k->times / sizeof k->times[0] && k->times[i] != NULL; i++)
		if ((one = latest(json_slice_get(*o, k->times[i]))) > at)
			at = one;
	return k->on_server && !server_is_gone(h, *o, at) ? -1 : at;
}

/* --- what leaves with a record --- */

static int
add_open_run(const struct record *r, void *arg, struct err *e)
{
	struct json_slice o;
	char *id;

	(void)e;
	if (!json_slice_whole(r->value, strlen(r->value), &o))
		return 0;
	id = json_slice_copy(json_slice_get(o, "session_id"), "");
	json_object_set_new(arg, id, json_true());
	free(id);
	return 0;
}

static int
read_open_runs(struct history *h, struct err *e)
{
	int ret = 0;

	if (h->open_runs != NULL)
		return 0;
	h->open_runs = json_object();
	for (int i = 0; i < RUN_STATES && ret == 0; i++)
		if (!run_state_final((enum run_state)i))
			ret = store_each(h->s, "run:", run_state_name((enum run_state)i), add_open_run,
			    h->open_runs, e);
	return ret;
}

/* Does the session follow this run, or none that is there? 1, 0, -1. */
static int
follows(struct history *h, const struct run_session *x, const char *run, struct err *e)
{
	char *key;
	struct record r;
	int found;

	if (x->run_id == NULL || x->run_id[0] == '\0' || strcmp(x->run_id, run) == 0)
		return 1;
	key = xasprintf("run:%s", x->run_id);
	found = store_get(h->s, key, &r, e);
	store_record_release(&r);
	free(key);
	return found < 0 ? -1 : found == 0;
}

/* The session of a run that follows this run, has ended, and is no open run's. */
static int
take_run_session(struct history *h, const struct record *r, struct json_slice o, struct err *e)
{
	char *id = json_slice_copy(json_slice_get(o, "session_id"), ""), *key = NULL;
	const char *run = r->key + strlen("run:");
	struct run_session x;
	int ret = run_session_load(h->s, id, &x, e);

	if (ret > 0 && (x.status == RUN_SESSION_STOPPED || x.status == RUN_SESSION_FINISHED) &&
	    (ret = follows(h, &x, run, e)) > 0 && (ret = read_open_runs(h, e)) == 0 &&
	    json_object_get(h->open_runs, id) == NULL) {
		key = record_key_of(&run_session_type, &x);
		ret = history_take_key(h, key, e);
	}
	run_session_release(&x);
	free(key);
	free(id);
	return ret < 0 ? -1 : 0;
}

/* The record of the pane, while it names this attempt. */
static int
take_pane(struct history *h, const struct record *r, struct json_slice o, struct err *e)
{
	char *pane = json_slice_copy(json_slice_get(o, "pane_id"), ""),
	     *socket = json_slice_copy(json_slice_get(o, "socket"), "");
	char *key = record_key_on_server("pane", json_slice_number(json_slice_get(o, "server_pid"), 0),
	    json_slice_number(json_slice_get(o, "server_start"), 0), pane, socket);
	struct json_slice v;
	struct record own;
	int found = store_get(h->s, key, &own, e);

	if (found > 0 && strcmp(own.tag, "open") != 0 &&
	    json_slice_whole(own.value, strlen(own.value), &v) &&
	    json_slice_is(json_slice_get(v, "attempt"), r->key + strlen("attempt:")))
		history_take(h, &own);
	store_record_release(&own);
	free(key);
	free(socket);
	free(pane);
	return found < 0 ? -1 : 0;
}

const struct history_kind history_kinds[] = {
	{ "run", "run:", { "completed", "failed", "stopped" }, { "completed_at", "created_at" }, true, false,
	    false, take_run_session },
	{ "attempt", "attempt:", { "acknowledged", "failed" }, { "times" }, true, false, false, take_pane },
	{ "message", "message:", { "delivered", "answered" },
	    { "sent_at", "delivered_at", "flagged_at", "asked_at" }, true, false, false, NULL },
	{ "sighting", "sighting:", { "seen", "mailed", "given-up", "back" }, { "crashed_at", "failed_at" },
	    true, true, false, NULL },
	{ "seen", "seen:", { NULL }, { "seen_at", "died_at" }, true, true, false, NULL },
	{ "crashes", "crashes:", { NULL }, { "times" }, false, false, false, NULL },
	{ "session", "session:", { "ENDED" }, { "changed_at" }, true, false, true, history_take_agent },
	{ .name = NULL },
};
