#include <stdlib.h>
#include <string.h>

#include "records/runs/runs.h"
#include "records/records.h"
#include "process/proc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/host.h"
#include "base/json.h"
#include "store/store.h"

#define PREFIX "runner:"
#define SCHEMA 1
#define TAG "registered"
#define TRIES 50

static char *
to_json(const struct runner *r)
{
	json_t *o = json_object();
	struct buf out = BUF_INIT;

	json_put_int(o, "schema_version", SCHEMA);
	json_put(o, "runner_id", r->id);
	json_put_int(o, "life", r->generation);
	json_put_int(o, "registered_at", r->registered_at);
	json_put_int(o, "beat_at", r->heartbeat.wall_ms);
	json_put_int(o, "beat_boot_ms", r->heartbeat.boot_ms);
	json_put(o, "boot_id", r->heartbeat.boot_id);
	json_put_int(o, "pid_ns", (int64_t)r->heartbeat.pid_ns);
	if (r->heartbeat.host[0] != '\0')
		json_put(o, "host", r->heartbeat.host);
	json_put_int(o, "pid", r->pid);
	json_put_int(o, "pid_start", r->pid_start);
	json_print(&out, o, false);
	json_decref(o);
	return buf_detach(&out);
}

static int
from_record(const struct record *rec, struct runner *r, struct err *e)
{
	json_t *o = record_object(rec, SCHEMA, e);

	memset(r, 0, sizeof *r);
	if (o == NULL)
		return -1;
	r->version = rec->version;
	r->id = xstrdup(rec->key + strlen(PREFIX));
	r->generation = json_number(o, "life", 1);
	r->registered_at = json_number(o, "registered_at", 0);
	r->heartbeat.wall_ms = json_number(o, "beat_at", 0);
	r->heartbeat.boot_ms = json_number(o, "beat_boot_ms", 0);
	snprintf(r->heartbeat.boot_id, sizeof r->heartbeat.boot_id, "%s", json_text(o, "boot_id", ""));
	snprintf(r->heartbeat.host, sizeof r->heartbeat.host, "%s", json_text(o, "host", ""));
	r->heartbeat.pid_ns = (uint64_t)json_number(o, "pid_ns", 0);
	r->pid = json_number(o, "pid", 0);
	r->pid_start = json_number(o, "pid_start", 0);
	json_decref(o);
	return 0;
}

bool
runner_is_alive(const struct runner *r, const struct timestamp *now, int64_t threshold_ms)
{
	int64_t age = timestamp_age(&r->heartbeat, now);
	enum proc_life life = LIFE_ELSEWHERE;

	if (age == AGE_OTHER_BOOT)
		return false;
	if (r->pid != 0 && !host_is_other(r->heartbeat.host))
		life = proc_life_in(r->heartbeat.pid_ns, r->pid, r->pid_start, now);
	if (life != LIFE_ELSEWHERE)
		return life != LIFE_GONE;
	return age >= 0 && age <= threshold_ms;
}

int
runner_load(struct store *s, const char *id, struct runner *out, struct err *e)
{
	char *key = xasprintf(PREFIX "%s", id);
	struct record rec;
	int found = store_get(s, key, &rec, e);

	memset(out, 0, sizeof *out);
	if (found > 0 && from_record(&rec, out, e) != 0)
		found = -1;
	store_record_release(&rec);
	free(key);
	return found;
}

/* 0, 1: somebody else was faster, -1. */
static int
put(struct store *s, struct runner *r, const struct event *ev, struct err *e)
{
	char *key = xasprintf(PREFIX "%s", r->id), *value = to_json(r);
	struct change c = { CHANGE_PUT, key, r->version, TAG, value };
	enum commit answer = ev != NULL ? event_commit(s, &c, 1, ev, e) : store_commit(s, &c, 1, e);

	free(key);
	free(value);
	return answer == COMMIT_DONE ? 0 : answer == COMMIT_CONFLICT ? 1 : -1;
}

static int
lost(const char *id, struct err *e)
{
	err_set(e, GT_AGAIN, "conflict", "the record of the runner %s changes too often to be written", id);
	return err_hint(e, "run the command again; two programs may use the same id");
}

int
runner_register(struct store *s, const char *id, int64_t pid, const struct timestamp *now, struct runner *out,
    struct err *e)
{
	int64_t start = pid > 0 ? (int64_t)proc_ticks((pid_t)pid) : 0;
	struct event ev = { .kind = "runner.registered", .subject = id };
	int ret = 1;

	memset(out, 0, sizeof *out);
	if (record_check_id("the id of a runner", id, e) != 0)
		return -1;
	if (pid > 0 && start == 0 && proc_life((pid_t)pid, 0) != LIFE_GONE)
		return proc_refuse_unread((pid_t)pid, e);
	if (pid != 0 && start == 0) {
		err_set(e, GT_FAIL, "gone", "there is no living process %lld", (long long)pid);
		return err_hint(e, "give the pid of the runner itself, or none and let it beat");
	}
	for (int i = 0; i < TRIES && ret == 1; i++) {
		int found = runner_load(s, id, out, e);

		if (found < 0)
			return -1;
		if (found == 0)
			out->id = xstrdup(id);
		out->generation++;
		out->registered_at = now->wall_ms;
		out->heartbeat = *now;
		out->pid = pid;
		out->pid_start = start;
		ret = put(s, out, &ev, e);
		runner_release(out);
	}
	if (ret == 0)
		ret = runner_load(s, id, out, e) == 1 ? 0 : -1;
	return ret == 1 ? lost(id, e) : ret;
}

/* NULL: it is registered here, in this life of the machine, or of its container when it told a process. */
static const char *
unregistered(const struct runner *r, const struct timestamp *now)
{
	if (r == NULL)
		return "";
	if (host_is_other(r->heartbeat.host))
		return " on this host";
	if (timestamp_age(&r->heartbeat, now) == AGE_OTHER_BOOT)
		return " since the machine was started again";
	return r->pid != 0 && timestamp_other_space(r->heartbeat.pid_ns, now) ? " in this container" : NULL;
}

int
runner_heartbeat(struct store *s, const char *id, const struct timestamp *now, struct err *e)
{
	int ret = 1;

	for (int i = 0; i < TRIES && ret == 1; i++) {
		struct runner r;
		int found = runner_load(s, id, &r, e);

		if (found < 0)
			return -1;
		const char *where = unregistered(found > 0 ? &r : NULL, now);

		if (where != NULL) {
			runner_release(&r);
			err_set(e, GT_REFUSED, "unregistered", "the runner %.200s is not registered%s", id,
			    where);
			return err_hint(e,
			    "gt-recover runner register %.200s; what it had claimed before is no longer its "
			    "own",
			    id);
		}
		r.heartbeat = *now;
		ret = put(s, &r, NULL, e);
		runner_release(&r);
	}
	return ret == 1 ? lost(id, e) : ret;
}

static int
add_record(const struct record *rec, void *arg, struct err *e)
{
	struct runner_list *out = arg;

	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	if (from_record(rec, &out->v[out->n], e) != 0)
		return -1;
	out->n++;
	return 0;
}

int
runner_list_read(struct store *s, struct runner_list *out, struct err *e)
{
	return store_each(s, PREFIX, NULL, add_record, out, e);
}

static int
by_id(const void *id, const void *runner)
{
	return strcmp(id, ((const struct runner *)runner)->id);
}

const struct runner *
runner_list_find(const struct runner_list *list, const char *id)
{
	return list->n > 0 ? bsearch(id, list->v, list->n, sizeof *list->v, by_id) : NULL;
}

void
runner_release(struct runner *r)
{
	free(r->id);
	memset(r, 0, sizeof *r);
}

void
runner_list_release(struct runner_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		runner_release(&list->v[i]);
	free(list->v);
	memset(list, 0, sizeof *list);
}
