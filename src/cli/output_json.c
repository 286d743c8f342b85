/* What --json prints (cli.h): schemas/gt-recover.json. */
#include "cli/cli_private.h"
#include "base/clock.h"

json_t *
output_error_json(const struct err *e)
{
	json_t *v;

	if (e->code == 0)
		return json_null();
	v = json_object();
	json_put(v, "name", e->name);
	json_put(v, "message", e->msg);
	json_put(v, "hint", e->hint[0] != '\0' ? e->hint : NULL);
	return v;
}

json_t *
output_object(void)
{
	json_t *v = json_object();

	json_put_int(v, "schema_version", OUTPUT_SCHEMA);
	return v;
}

/* Inside the program and in its records a time is a number of ms; these names are of times alone. */
static bool
is_time(const char *key)
{
	static const char *const names[] = { "at", "since", "last_activity", "last_checkpoint" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(key, names[i]) == 0)
			return true;
	return str_ends(key, "_at") && strcmp(key, "truncated_at") != 0;
}

/* 0 is a time that is not known. */
static json_t *
time_json(int64_t ms)
{
	struct buf b = BUF_INIT;
	json_t *v = json_null();

	if (ms > 0) {
		clock_iso(&b, ms);
		v = json_string(b.data);
	}
	buf_release(&b);
	return v;
}

static void
tell_times(json_t *v)
{
	const char *key;
	json_t *one;
	size_t i;

	json_array_foreach(v, i, one) {
		tell_times(one);
	}
	json_object_foreach(v, key, one) {
		if (json_is_integer(one) && is_time(key))
			json_object_set_new(v, key, time_json(json_integer_value(one)));
		else
			tell_times(one);
	}
}

void
output_stored_json(json_t *v)
{
	struct buf b = BUF_INIT;

	json_print(&b, v, true);
	fwrite(b.data, 1, b.len, stdout);
	buf_release(&b);
	json_decref(v);
}

void
output_event(const char *event, json_t *v)
{
	json_t *o = output_object();
	struct buf b = BUF_INIT;

	json_put(o, "event", event);
	json_object_update(o, v);
	tell_times(o);
	json_print(&b, o, false);
	printf("%s\n", b.data);
	fflush(stdout);
	buf_release(&b);
	json_decref(o);
	json_decref(v);
}

void
output_json(json_t *v)
{
	tell_times(v);
	output_stored_json(v);
}

void
output_event_or_object(const struct cli *cli, const char *event, json_t *v)
{
	json_t *o;

	if (cli->json_format != NULL) {
		output_event(event, v);
		return;
	}
	o = output_object();
	json_object_update(o, v);
	json_decref(v);
	output_json(o);
}

json_t *
output_recovery_json(const struct recovery *r, const struct err *e)
{
	json_t *v = json_object(), *warnings = json_array();

	json_put(v, "session", r->c->pane.session);
	json_put(v, "pane_id", r->c->pane.id);
	json_put(v, "phase", r->attempt.version > 0 ? attempt_phase_name(r->attempt.phase) : NULL);
	json_put(v, "via", r->attempt.via);
	json_put(v, "not_resumed", r->not_resumed != NULL ? r->not_resumed->name : NULL);
	json_put(v, "delivery", r->attempt.delivery);
	json_put(v, "recovery_id", r->attempt.version > 0 ? r->attempt.id : NULL);
	json_put(v, "proof", r->attempt.proof);
	json_put_int(v, "tokens", r->attempt.tokens);
	for (size_t i = 0; i < r->gathered.n_warnings; i++)
		json_array_append_new(
		    warnings, json_bytes(r->gathered.warnings[i], strlen(r->gathered.warnings[i])));
	json_object_set_new(v, "warnings", warnings);
	json_object_set_new(v, "error", output_error_json(e));
	return v;
}
