#include <stdlib.h>
#include <string.h>

#include "ledger/run_session.h"
#include "ledger/record.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/json_slice.h"

#define SCHEMA 1
#define PREFIX RUN_SESSION_PREFIX

static const char *const names[RUN_SESSION_STATUSES] = { "running", "stopping", "stopped", "finished" };

const char *
run_session_status_name(enum run_session_status status)
{
	return names[status];
}

int
run_session_from_record(const struct record *r, struct run_session *x, struct err *e)
{
	struct json_slice o;
	int status = 0;

	memset(x, 0, sizeof *x);
	while (status < RUN_SESSION_STATUSES && strcmp(names[status], r->tag) != 0)
		status++;
	if (status == RUN_SESSION_STATUSES)
		return err_set(e, GT_FAIL, "corrupt", "the record %.200s has no known status", r->key);
	if (record_slice(r, SCHEMA, &o, e) != 0)
		return -1;
	x->version = r->version;
	x->status = (enum run_session_status)status;
	x->id = xstrdup(r->key + strlen(PREFIX));
	x->run_id = json_slice_copy(json_slice_get(o, "run_id"), "");
	x->execution_mode = json_slice_copy(json_slice_get(o, "execution_mode"), "");
	x->created_at = json_slice_number(json_slice_get(o, "created_at"), 0);
	return 0;
}

int
run_session_load(struct store *s, const char *id, struct run_session *x, struct err *e)
{
	char *key = xasprintf(PREFIX "%s", id);
	struct record r;
	int found = store_get(s, key, &r, e);

	memset(x, 0, sizeof *x);
	if (found > 0 && run_session_from_record(&r, x, e) != 0)
		found = -1;
	if (x->id == NULL)
		x->id = xstrdup(id);
	record_release(&r);
	free(key);
	return found;
}

void
run_session_release(struct run_session *x)
{
	free(x->id);
	free(x->run_id);
	free(x->execution_mode);
	memset(x, 0, sizeof *x);
}

static void
begin(struct run_session *x, const char *run_id)
{
	free(x->run_id);
	x->run_id = xstrdup(run_id);
	x->status = RUN_SESSION_RUNNING;
}

bool
run_session_take(struct run_session *x, const struct run *r, enum run_state from)
{
	bool open = x->status == RUN_SESSION_RUNNING || x->status == RUN_SESSION_STOPPING;
	bool follows = x->run_id == NULL || *x->run_id == '\0' || strcmp(x->run_id, r->id) == 0;
	enum run_session_status was = x->status;

	switch (r->state) {
	case RUN_PENDING:
		if (from == RUN_PENDING && !open)
			begin(x, r->id);
		break;
	case RUN_RUNNING:
		if (!open || !follows || *x->run_id == '\0') {
			begin(x, r->id);
			return true;
		}
		break;
	case RUN_STOPPING:
		if (follows && x->status == RUN_SESSION_RUNNING)
			x->status = RUN_SESSION_STOPPING;
		break;
	case RUN_STOPPED:
		if (follows && open)
			x->status = RUN_SESSION_STOPPED;
		break;
	case RUN_COMPLETED:
	case RUN_FAILED:
		if (follows && (x->status == RUN_SESSION_RUNNING || (open && from == RUN_STOPPING)))
			x->status = RUN_SESSION_FINISHED;
		break;
	default:
		break;
	}
	return x->status != was;
}

void
run_session_change(const struct run_session *x, char **key, char **value, struct change *c)
{
	struct buf out = BUF_INIT;

	buf_str(&out, "{\"schema_version\":1");
	json_print_member(&out, "session_id", x->id);
	json_print_member(&out, "execution_mode", x->execution_mode);
	buf_fmt(&out, ",\"created_at\":%lld", (long long)x->created_at);
	json_print_member(&out, "run_id", x->run_id);
	buf_chr(&out, '}');
	*key = xasprintf(PREFIX "%s", x->id);
	*value = buf_detach(&out);
	*c = (struct change){ CHANGE_PUT, *key, x->version, names[x->status], *value };
}
