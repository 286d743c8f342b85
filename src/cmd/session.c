#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "cmd/input.h"
#include "cmd/session.h"
#include "cmd/table.h"
#include "cmd/verb.h"
#include "ledger/fleet.h"
#include "ledger/session.h"
#include "ledger/tree.h"
#include "scrub/scrub.h"
#include "store/store.h"

#define INPUT_MAX ((size_t)2 << 20)	/* a blob of BLOB_MAX in base64, and the rest */

static const char *const fields[] = {
	"agent_uuid", "provider_name", "cursor_session_id", "model", "workspace_path", "parent", "session", "socket", "start_command",
	"provider_state_blob", "pid",
};
#define TEXTS 9				/* the first of them */
#define N(table) (sizeof table / sizeof table[0])

/* --- what is told --- */

/* RFC 9562, version 4. */
static char *
new_uuid(void)
{
	char hex[33];

	io_random_hex(hex, 16);
	hex[12] = '4';
	hex[16] = "89ab"[hex[16] & 3];
	return xasprintf("%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

static int
clean_command(struct verb_job *j, struct session *x, struct err *e)
{
	struct scrub *s = world_scrub(&j->w, e);
	struct clean_text *t;

	if (s == NULL)
		return -1;
	t = scrub_string(s, x->start_command);
	session_set(&x->start_command, clean_bytes(t));
	clean_free(t);
	scrub_free(s);
	return 0;
}

static int
read_blob(const json_t *o, struct buf *blob, bool *has, struct err *e)
{
	const json_t *v = json_object_get(o, "provider_state_blob");

	*has = v != NULL && !json_is_null(v);
	if (!*has || (json_is_string(v) && base64_take(blob, json_string_value(v), json_string_length(v)) == 0))
		return 0;
	err_set(e, GT_USAGE, "input", "the field \"provider_state_blob\" of the JSON object must be bytes in base64");
	return err_hint(e, "gt-recover session suspend takes the bytes themselves on standard input");
}

int
session_told(struct verb_job *j, const char *command, struct session *x, struct buf *blob, bool *has_blob, struct err *e)
{
	json_t *o = input_object(command, INPUT_MAX, fields, N(fields), e);
	int ret = o != NULL ? 0 : -1;
	const char *text;
	int64_t pid = 0;

	for (size_t i = 0; i < TEXTS && ret >= 0; i++)
		if ((ret = input_text(o, fields[i], false, &text, e)) > 0)
			session_set(session_field(x, fields[i]), text);
	if (ret >= 0)
		ret = input_number(o, "pid", &pid, e) < 0 || read_blob(o, blob, has_blob, e) != 0 ? -1 : 0;
	if (ret == 0 && x->start_command != NULL)
		ret = clean_command(j, x, e);
	if (ret == 0 && pid != 0 && session_note_process(x, pid) != 0)
		say_warning(&j->say, "no process %lld is running: the session is recorded without one, and startup takes it for suspended",
		    (long long)pid);
	if (ret == 0 && x->agent_uuid == NULL)
		x->agent_uuid = new_uuid();
	json_decref(o);
	return ret;
}

json_t *
session_shown(const struct session *x, const struct buf *blob)
{
	json_t *fields_of = session_json(x), *o = json_object();
	struct buf text = BUF_INIT;
	struct moment now;

	moment_now(&now);
	json_put(o, "agent_uuid", x->agent_uuid);
	json_put(o, "state", session_state_name(x->state));
	json_put_flag(o, "lives", session_lives(x, &now));
	json_object_del(fields_of, "schema_version");
	if (blob != NULL) {
		base64_put(&text, blob->data, blob->len);
		json_put(json_object_get(fields_of, "provider_state_blob"), "base64", text.data);
		buf_release(&text);
	}
	json_object_update_missing(o, fields_of);
	json_decref(fields_of);
	return o;
}

/* --- verbs --- */

static int
record(struct verb_job *j, struct err *e)
{
	struct buf blob = BUF_INIT;
	struct session x;
	bool has_blob;
	int ret;

	session_init(&x);
	ret = session_told(j, "session record", &x, &blob, &has_blob, e);
	if (ret == 0)
		ret = session_record(j->store, &x, has_blob ? &blob : NULL, e);
	if (ret == 0 && !j->cli.json)
		puts(x.agent_uuid);
	if (ret == 0)
		verb_json(j, "session", session_shown(&x, NULL));
	session_release(&x);
	buf_release(&blob);
	return ret == 0 ? GT_OK : -1;
}

static int
show(struct verb_job *j, struct err *e)
{
	struct buf text = BUF_INIT;
	struct session x;
	json_t *v;

	if (j->store == NULL) {
		err_set(e, GT_NOTHING, "not-found", "no session is recorded yet");
		return err_hint(e, "gt-recover session record records one");
	}
	if (session_need(j->store, j->cli.args[0], &x, e) != 0)
		return -1;
	v = session_shown(&x, NULL);
	if (!j->cli.json) {
		json_print(&text, v, true);
		fputs(text.data, stdout);
	}
	verb_json(j, "session", v);
	buf_release(&text);
	session_release(&x);
	return GT_OK;
}

static const struct table_column columns[] = {
	{ .head = "AGENT", .least = 36 }, { .head = "STATE" }, { .head = "HOST", .least = 6, .maybe = true }, { .head = "PROVIDER", .least = 6 }, { .head = "MODEL", .least = 6, .maybe = true },
	{ .head = "AGE", .right = true }, { .head = "WORKSPACE", .least = 8, .maybe = true },
};

static void
put_row(struct table *t, const struct session *x, const struct fleet *fleet, int64_t now)
{
	struct buf age = BUF_INIT;

	clock_age(&age, now - x->changed_at);
	table_put(t, x->agent_uuid);
	table_put(t, session_state_name(x->state));
	table_put(t, fleet_name(fleet, x->host));
	table_put(t, x->provider_name);
	table_put(t, x->model);
	table_put(t, age.data);
	table_put(t, x->workspace_path);
	buf_release(&age);
}

/* Ended ones are listed with --verbose alone. */
static int
tell_none(struct verb_job *j, struct err *e)
{
	struct sessions ended = { .n = 0 };
	int ret = j->store != NULL && j->cli.verbose == 0 ? sessions_read(j->store, SESSION_ENDED, &ended, e) : 0;

	if (ret == 0 && ended.n > 1)
		say_line(&j->say, "All %zu sessions that are recorded have ended; -v lists them.", ended.n);
	else if (ret == 0 && ended.n > 0)
		say_line(&j->say, "The only session that is recorded has ended; -v lists it.");
	else if (ret == 0)
		say_line(&j->say, "No session is recorded.");
	sessions_release(&ended);
	return ret;
}

static int
list(struct verb_job *j, struct err *e)
{
	struct sessions all = { .n = 0 };
	struct fleet fleet = { .n = 0 };
	json_t *v = json_array();
	struct table t;
	int ret = j->store != NULL ? fleet_read(j->store, &fleet, e) : 0;

	table_init(&t, columns, N(columns));
	for (int state = SESSION_ACTIVE; state < (j->cli.verbose > 0 ? SESSION_STATES : SESSION_ENDED) && ret == 0; state++)
		ret = j->store != NULL ? sessions_read(j->store, (enum session_state)state, &all, e) : 0;
	for (size_t i = 0; i < all.n && ret == 0; i++)
		if (j->cli.json)
			json_array_append_new(v, session_shown(&all.v[i], NULL));
		else
			put_row(&t, &all.v[i], &fleet, store_now(j->store));
	table_print(&t);
	table_release(&t);
	if (ret == 0 && all.n == 0)
		ret = tell_none(j, e);
	if (ret == 0)
		verb_json(j, "sessions", v);
	else
		json_decref(v);
	sessions_release(&all);
	fleet_release(&fleet);
	return ret == 0 ? GT_OK : -1;
}

static int
suspend(struct verb_job *j, struct err *e)
{
	struct buf blob = BUF_INIT, name = BUF_INIT;
	struct session x;
	int ret = 0;

	session_init(&x);
	if (!isatty(STDIN_FILENO) && io_read_all(STDIN_FILENO, "standard input", BLOB_MAX, &blob, e) != 0) {
		e->code = strcmp(e->name, "too-large") == 0 ? GT_USAGE : e->code;
		ret = -1;
	}
	if (ret == 0)
		ret = session_suspend(j->store, j->cli.args[0], blob.len > 0 ? &blob : NULL, "it was asked to", &x, e);
	if (ret == 0) {
		say_foreign(&name, x.agent_uuid, 0);
		say_line(&j->say, blob.len > 0 ? "The session of %s is suspended, and its state is kept (%zu bytes)" :
		    "The session of %s is suspended", name.data, blob.len);
		verb_json(j, "session", session_shown(&x, NULL));
	}
	session_release(&x);
	buf_release(&blob);
	buf_release(&name);
	return ret == 0 ? GT_OK : -1;
}

static int
restore(struct verb_job *j, struct err *e)
{
	struct buf blob = BUF_INIT;
	struct session x;
	int ret;

	if (!j->cli.json && isatty(STDOUT_FILENO)) {
		err_set(e, GT_USAGE, "terminal", "a state blob is no text for a terminal");
		return err_hint(e, "gt-recover session restore ID > FILE, or --json");
	}
	ret = session_restore(j->store, j->cli.args[0], &blob, &x, e);
	if (ret == 0 && !j->cli.json)
		fwrite(blob.data, 1, blob.len, stdout);
	if (ret == 0 && x.blob.size < 0)
		say_line(&j->say, "It was suspended without a state blob.");
	if (ret == 0)
		verb_json(j, "session", session_shown(&x, x.blob.size >= 0 ? &blob : NULL));
	session_release(&x);
	buf_release(&blob);
	return ret == 0 ? GT_OK : -1;
}

static int
end(struct verb_job *j, struct err *e)
{
	struct session x;
	size_t ended;
	int ret = tree_end(j->store, j->cli.args[0], false, &ended, e);

	if (ret != 0 || session_need(j->store, j->cli.args[0], &x, e) != 0)
		return -1;
	say_line(&j->say, ended > 0 ? "It has ended." : "It had ended already.");
	verb_json(j, "session", session_shown(&x, NULL));
	session_release(&x);
	return GT_OK;
}

static const struct verb verbs[] = {
	{ "record", record, 0, 0, .writes = true },
	{ "show", show, 1, 1, .writes = false },
	{ "list", list, 0, 0, .writes = false },
	{ "suspend", suspend, 1, 1, .writes = true },
	{ "restore", restore, 1, 1, .writes = true },
	{ "end", end, 1, 1, .writes = true },
};

int
cmd_session(const struct cli *cli, struct err *e)
{
	return verb_run(cli, verbs, N(verbs), e);
}
