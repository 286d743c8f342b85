#include "cli/cli.h"
#include "records/agents/agents.h"
#include "scrub/scrub.h"

#define N(table) (sizeof table / sizeof table[0])

enum { MESSAGE_SEND = 1, MESSAGE_BROADCAST = 2, MESSAGE_REPLY = 4 };
#define MESSAGE_NEW (MESSAGE_SEND | MESSAGE_BROADCAST)
#define MESSAGE_ANY (MESSAGE_NEW | MESSAGE_REPLY)

static json_t *
message_state(const void *message, const struct verb_job *j)
{
	(void)j;
	return json_string(message_state_name(((const struct message *)message)->state));
}

/* The body behind what became of it; as much as a row may hold, and more than it will. */
static json_t *
message_text(const void *message, const struct verb_job *j)
{
	const struct message *m = message;
	struct buf text = BUF_INIT;
	json_t *v;

	(void)j;
	buf_fmt(&text, "%s%s%s", m->reply_to != NULL ? "[answer] " : "",
	    m->flagged_at != 0 ? "[flagged] " : "", m->asked_at != 0 ? "[asked again] " : "");
	buf_fmt(&text, "%.400s", m->body != NULL ? m->body : "");
	v = json_bytes(text.data, text.len);
	buf_release(&text);
	return v;
}

#define AT(field) .at = offsetof(struct message, field)

static const struct verb_field fields[] = {
	{ "id", FIELD_TEXT, AT(id), .in = MESSAGE_ANY, .place = 1, .column = { "MESSAGE", .least = 20 } },
	{ "state", FIELD_CALL, .call = message_state, .place = 2, .column = { .head = "STATE" } },
	{ "from", FIELD_TEXT, AT(from), .in = MESSAGE_NEW, .required = MESSAGE_NEW, .place = 3,
	    .column = { "FROM", .least = 8 } },
	{ "to", FIELD_TEXT, AT(to), .in = MESSAGE_SEND, .required = MESSAGE_SEND, .raw = MESSAGE_BROADCAST,
	    .place = 4, .column = { "TO", .least = 8 } },
	{ "body", FIELD_TEXT, AT(body), .in = MESSAGE_ANY, .required = MESSAGE_ANY },
	{ NULL, FIELD_CALL, .call = message_text, .place = 6, .column = { "TEXT", .least = 12, .most = 80 } },
	{ "reply_to", FIELD_TEXT, AT(reply_to) },
	{ "answer", FIELD_TEXT, AT(answer) },
	{ "sync", FIELD_FLAG, AT(sync), .in = MESSAGE_NEW },
	{ "sent_at", FIELD_NUMBER, AT(sent_at), .place = 5, .cell = CELL_AGE,
	    .column = { "AGE", .right = true } },
	{ "delivered_at", FIELD_NUMBER, AT(delivered_at) },
	{ "flagged_at", FIELD_NUMBER, AT(flagged_at) },
	{ "asked_at", FIELD_NUMBER, AT(asked_at) },
	{ "replays", FIELD_NUMBER, AT(replays) },
};

/* a body may be written with escapes, and name many receivers */
static const struct verb_record message_record = { "message", "messages", NULL, fields, N(fields),
	4 * MESSAGE_BODY_MAX };

/*
 * The letter that was read, its body without secrets (clean_free). That some were taken out is
 * said: the receiver gets something else than was written.
 */
static int
read_letter(struct verb_job *j, struct message_draft *letter, struct clean_text **body, struct err *e)
{
	struct scrub *s = app_scrub(&j->w, e);

	*body = NULL;
	if (s == NULL)
		return -1;
	*body = scrub_string(s, cmd_verb_text(j, "body"));
	*letter = (struct message_draft){ cmd_verb_text(j, "id"), cmd_verb_text(j, "from"), *body,
		json_is_true(json_object_get(j->input, "sync")) };
	if (scrub_total(s) > 0)
		output_warning(&j->say, "redacted %zu secret%s in the body", scrub_total(s),
		    scrub_total(s) == 1 ? "" : "s");
	scrub_free(s);
	return 0;
}

/* With `data` the id is what a script wants to read. Releases m. */
static int
print_message(struct verb_job *j, struct message *m, bool data)
{
	if (data && !j->cli.json)
		puts(m->id);
	cmd_verb_show(j, m);
	message_release(m);
	return GT_OK;
}

/* --- verbs --- */

static int
send(struct verb_job *j, struct err *e)
{
	struct message m = { .version = 0 };
	struct message_draft letter;
	struct clean_text *body;
	int ret = read_letter(j, &letter, &body, e);

	if (ret == 0)
		ret = message_send(j->store, &letter, cmd_verb_text(j, "to"), &m, e);
	clean_free(body);
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
	struct message_draft letter;
	struct clean_text *body = NULL;
	size_t n = 0;
	int ret = read_receivers(j->input, &to, &n, e);

	if (ret == 0)
		ret = read_letter(j, &letter, &body, e);
	if (ret == 0)
		ret = message_broadcast(j->store, &letter, to, n, &sent, e);
	for (size_t i = 0; i < sent.n && ret == 0 && !j->cli.json; i++)
		puts(sent.v[i].id);
	if (ret == 0 && j->cli.json)
		ret = cmd_verb_list(j, sent.v, sent.n, sizeof *sent.v, e);
	message_list_release(&sent);
	free(to);
	clean_free(body);
	return ret;
}

static int
deliver(struct verb_job *j, struct err *e)
{
	struct message m = { .version = 0 };

	if (message_mark_delivered(j->store, j->cli.args[0], &m, e) != 0)
		return -1;
	output_line(&j->say,
	    m.state == MESSAGE_WAITING ? "Delivered, waiting for an answer." : "Delivered.");
	return print_message(j, &m, false);
}

static int
reply(struct verb_job *j, struct err *e)
{
	struct message m = { .version = 0 };
	struct message_draft letter;
	struct clean_text *body;
	int ret = read_letter(j, &letter, &body, e);

	if (ret == 0)
		ret = message_reply(j->store, j->cli.args[0], &letter, &m, e);
	clean_free(body);
	return ret == 0 ? print_message(j, &m, true) : -1;
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
	int ret = read_list(j, &all, e);

	if (ret == 0 && all.n == 0)
		output_line(&j->say, "No such messages.");
	if (ret == 0)
		ret = cmd_verb_list(j, all.v, all.n, sizeof *all.v, e);
	message_list_release(&all);
	return ret;
}

const struct verb message_verbs[] = {
	{ "send", send, 0, 0, .writes = true, .record = &message_record, .in = MESSAGE_SEND },
	{ "broadcast", broadcast, 0, 0, .writes = true, .record = &message_record, .in = MESSAGE_BROADCAST },
	{ "deliver", deliver, 1, 1, .writes = true, .record = &message_record },
	{ "reply", reply, 1, 1, .writes = true, .record = &message_record, .in = MESSAGE_REPLY },
	{ "list", list_messages, 0, 1, .options = OPT_UNDELIVERED, .record = &message_record },
	{ .name = NULL },
};
