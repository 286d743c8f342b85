#include <stdlib.h>

#include "records/recovery/recovery.h"
#include "base/err.h"
#include "records/records_private.h"

static char *
seen_key(const void *record)
{
	const struct seen_agent *x = record;

	return record_key_on_server("seen", x->server_pid, x->server_start, x->pane_id, x->socket);
}

static const char *const tags[] = { "alive", "died", "exited" };
static const struct record_field fields[] = {
	F_TEXT(seen_agent, "session", session, 0),
	F_TEXT(seen_agent, "socket", socket, FIELD_REQUIRED),
	F_TEXT(seen_agent, "pane_id", pane_id, FIELD_REQUIRED),
	F_INT(seen_agent, "server_pid", server_pid, 0, 0),
	F_INT(seen_agent, "server_start", server_start, 0, 0),
	F_INT(seen_agent, "pane_pid", pane_pid, 0, 0),
	F_TEXT(seen_agent, "agent", agent, FIELD_REQUIRED),
	F_INT(seen_agent, "pid", pid, 0, 0),
	F_INT(seen_agent, "pid_start", pid_start, 0, 0),
	F_INT(seen_agent, "pid_ns", pid_ns, 0, 0),
	F_TEXT(seen_agent, "program", program, 0),
	F_TEXT(seen_agent, "command", command, 0),
	F_TEXT(seen_agent, "redacted", redacted, 0),
	F_INT(seen_agent, "wrapper", wrapper, FIELD_OPTIONAL, 0),
	F_TEXT(seen_agent, "variables", variables, FIELD_OPTIONAL),
	F_TEXT(seen_agent, "cwd", cwd, 0),
	F_TEXT(seen_agent, "config_dir", config_dir, 0),
	F_TEXT(seen_agent, "conversation", conversation, 0),
	F_TEXT(seen_agent, "transcript", transcript, 0),
	F_TEXT(seen_agent, "remote", remote, FIELD_OPTIONAL),
	F_TEXT(seen_agent, "remote_hint", remote_hint, FIELD_OPTIONAL),
	F_TEXT(seen_agent, "role", role, 0),
	F_INT(seen_agent, "memory", memory, FIELD_OPTIONAL, 0),
	F_TIME(seen_agent, "seen_at", seen_at),
	F_TIME(seen_agent, "died_at", died_at),
};
const struct record_type seen_type = { .prefix = "seen:", .schema = 1, RECORD_SELF(seen_agent),
	.key = seen_key, RECORD_STATE(seen_agent, state, tags),
	.refusal = "is not an agent in a known state", .fields = FIELDS(fields) };

int
seen_agent_load(struct store *s, const char *socket, int64_t server_pid, int64_t server_start,
    const char *pane_id, struct seen_agent *out, struct err *e)
{
	char *key = record_key_on_server("seen", server_pid, server_start, pane_id, socket);
	int found = record_load_key(s, &seen_type, key, out, e);

	free(key);
	return found;
}

int
seen_agent_put(struct store *s, const struct seen_agent *v, size_t n, struct err *e)
{
	struct txn t = { .s = s };
	enum commit answer;

	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		txn_put(&t, &seen_type, &v[i]);
	answer = txn_commit(&t, e);
	if (answer == COMMIT_CONFLICT && e != NULL)
		e->code = GT_AGAIN;
	return answer == COMMIT_DONE ? 0 : -1;
}

void
seen_agent_release(struct seen_agent *x)
{
	record_free(&seen_type, x);
}

int
seen_agent_list(struct store *s, struct seen_agent_list *out, struct err *e)
{
	return record_list_read(s, &seen_type, NULL, out, e);
}

void
seen_agent_list_release(struct seen_agent_list *list)
{
	record_list_free(&seen_type, list);
}
