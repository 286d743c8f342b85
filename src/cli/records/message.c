#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/cli.h"
#include "records/agents/agents.h"
#include "scrub/scrub.h"
#include "store/store.h"

/* a body may be written with escapes, and name many receivers */
#define INPUT_MAX (4 * MESSAGE_BODY_MAX)
#define N(table) (sizeof table / sizeof table[0])

static const char *const fields[] = { "body", "id", "sync", "from", "to" };
#define REPLY_FIELDS 2				/* the first of them */

struct message_input {
	json_t *o;
	struct message_draft letter;
	struct clean_text *body;
};

static void
input_release(struct message_input *t)
{
	json_decref(t->o);
	clean_free(t->body);
}

/*
 * The body without its secrets. That some were taken out is said: the receiver gets something
 * else than was written.
 */
static int
clean_body(struct verb_job *j, const char *body, struct message_input *t, struct err *e)
{
	struct scrub *s = app_scrub(&j->w, e);

	if (s == NULL)
		return -1;
	t->body = scrub_string(s, body);
	t->letter.body = t->body;
	if (scrub_total(s) > 0)
		output_warning(&j->say, "%zu secret%s taken out of the body", scrub_total(s),
		    scrub_total(s) == 1 ? " was" : "s were");
	scrub_free(s);
	return 0;
}

/* n: how many of the fields it may have. */
static int
read_message_input(struct verb_job *j, const char *command, size_t n, struct message_input *t, struct err *e)
{
	const json_t *sync;
	const char *body;

	memset(t, 0, sizeof *t);
	t->o = cli_input_object(command, INPUT_MAX, fields, n, e);
	if (t->o == NULL || cli_input_text(t->o, "body", true, &body, e) < 0 ||
	    cli_input_text(t->o, "id", false, &t->letter.id, e) < 0 ||
	    (n > REPLY_FIELDS && cli_input_text(t->o, "from", true, &t->letter.from, e) < 0))
		return -1;
	sync = json_object_get(t->o, "sync");
	if (sync != NULL && !json_is_boolean(sync))
		return err_set(
		    e, GT_USAGE, "input", "the field \"sync\" of the JSON object must be true or false");
	t->letter.sync = json_is_true(sync);
	return clean_body(j, body, t, e);
}

static json_t *
shown(const struct message *m)
{
	json_t *o = json_object(), *rest = message_json(m);

	json_put(o, "id", m->id);
	json_put(o, "state", message_state_name(m->state));
	json_object_del(rest, "schema_version");
	json_object_update_missing(o, rest);
	json_decref(rest);
	return o;
}

/* With `data` the id is what a script wants to read. Releases m. */
static int
print_message(struct verb_job *j, struct message *m, bool data)
{
	if (data && !j->cli.json)
		puts(m->id);
	cmd_verb_json(j, "message", shown(m));
	message_release(m);
	return GT_OK;
}

/* --- verbs --- */

static int
send(struct verb_job *j, struct err *e)
{
	struct message m = { .version = 0 };
	struct message_input t;
	const char *to;
	int ret = read_message_input(j, "message send", N(fields), &t, e);

	if (ret == 0)
		ret = cli_input_text(t.o, "to", true, &to, e) < 0
		    ? -1
		    : message_send(j->store, &t.letter, to, &m, e);
	input_release(&t);
	return ret == 0 ? print_message(j, &m, true) : -1;
}

/*
 * The receivers that are named; *n 0: none are. -1: "to" is something else than a list of ids.
 * Strings are o's.
 */
static int
read_receivers(const json_t *o, const char ***list, size_t *n, struct err *e)
{
	const json_t *to = json_object_get(o, "to");
	bool good = to == NULL || json_is_null(to) || (json_is_array(to) && json_array_size(to) > 0);

	*n = good ? json_array_size(to) : 0;
	*list = xcalloc(*n + 1, sizeof **list);
	for (size_t i = 0; i < *n && good; i++) {
		good = json_is_string(json_array_get(to, i));
		(*list)[i] = json_string_value(json_array_get(to, i));
	}
	return good ? 0
		    : err_set(e, GT_USAGE, "input",
			  "the field \"to\" of a broadcast must be a list of agents, or be left out");
}

static int
broadcast(struct verb_job *j, struct err *e)
{
	struct message_list sent = { .n = 0 };
	const char **to = NULL;
	json_t *v = json_array();
	struct message_input t;
	size_t n = 0;
	int ret = read_message_input(j, "message broadcast", N(fields), &t, e);

	if (ret == 0)
		ret = read_receivers(t.o, &to, &n, e);
	if (ret == 0)
		ret = message_broadcast(j->store, &t.letter, to, n, &sent, e);
	for (size_t i = 0; i < sent.n && ret == 0; i++)
		if (j->cli.json)
			json_array_append_new(v, shown(&sent.v[i]));
		else
			puts(sent.v[i].id);
	if (ret == 0)
		cmd_verb_json(j, "messages", json_incref(v));
	json_decref(v);
	message_list_release(&sent);
	free(to);
	input_release(&t);
	return ret == 0 ? GT_OK : -1;
}

static int
deliver(struct verb_job *j, struct err *e)
{
	struct message m = { .version = 0 };

	if (message_mark_delivered(j->store, j->cli.args[0], &m, e) != 0)
		return -1;
	output_line(&j->say,
	    m.state == MESSAGE_WAITING ? "It is delivered, and waits for an answer." : "It is delivered.");
	return print_message(j, &m, false);
}

static int
reply(struct verb_job *j, struct err *e)
{
	struct message m = { .version = 0 };
	struct message_input t;
	int ret = read_message_input(j, "message reply", REPLY_FIELDS, &t, e);

	if (ret == 0)
		ret = message_reply(j->store, j->cli.args[0], &t.letter, &m, e);
	input_release(&t);
	return ret == 0 ? print_message(j, &m, true) : -1;
}

static const struct output_column columns[] = {
	{ .head = "MESSAGE", .least = 20 }, { .head = "STATE" }, { .head = "FROM", .least = 8 },
	{ .head = "TO", .least = 8 }, { .head = "AGE", .right = true },
	{ .head = "TEXT", .least = 12, .most = 80 },
};

static void
put_message_row(struct output_table *t, const struct message *m, int64_t now)
{
	struct buf age = BUF_INIT, text = BUF_INIT;

	clock_age(&age, now - m->sent_at);
	buf_fmt(&text, "%s%s%s", m->reply_to != NULL ? "[answer] " : "",
	    m->flagged_at != 0 ? "[flagged] " : "", m->asked_at != 0 ? "[asked again] " : "");
	/* as much as a row may hold, and more than it will */
	buf_fmt(&text, "%.400s", m->body != NULL ? m->body : "");
	output_table_put(t, m->id);
	output_table_put(t, message_state_name(m->state));
	output_table_put(t, m->from);
	output_table_put(t, m->to);
	output_table_put(t, age.data);
	output_table_put(t, text.data);
	buf_release(&age);
	buf_release(&text);
}

/* --undelivered: those on their way, and those of which nobody knows whether they were answered. */
static int
read_list(const struct verb_job *j, struct message_list *out, struct err *e)
{
	const char *to = j->cli.n_args > 0 ? j->cli.args[0] : NULL;

	if (j->store == NULL)
		return 0;
	if (!j->cli.undelivered)
		return message_list_read(j->store, MESSAGE_STATES, to, true, out, e);
	return message_list_read(j->store, MESSAGE_PENDING, to, true, out, e) != 0 ? -1 :
	    message_list_read(j->store, MESSAGE_WAITING, to, true, out, e);
}

static int
list_messages(struct verb_job *j, struct err *e)
{
	struct message_list all = { .n = 0 };
	json_t *v = json_array();
	struct output_table t;
	int ret = read_list(j, &all, e);

	output_table_init(&t, columns, N(columns));
	for (size_t i = 0; i < all.n && ret == 0; i++)
		if (j->cli.json)
			json_array_append_new(v, shown(&all.v[i]));
		else
			put_message_row(&t, &all.v[i], store_now(j->store));
	output_table_print(&t);
	output_table_release(&t);
	if (ret == 0 && all.n == 0)
		output_line(&j->say, "There is no such message.");
	if (ret == 0)
		cmd_verb_json(j, "messages", json_incref(v));
	json_decref(v);
	message_list_release(&all);
	return ret == 0 ? GT_OK : -1;
}

const struct verb message_verbs[] = {
	{ "send", send, 0, 0, .writes = true },
	{ "broadcast", broadcast, 0, 0, .writes = true },
	{ "deliver", deliver, 1, 1, .writes = true },
	{ "reply", reply, 1, 1, .writes = true },
	{ "list", list_messages, 0, 1, .options = OPT_UNDELIVERED },
	{ .name = NULL },
};
