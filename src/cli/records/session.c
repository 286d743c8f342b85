#include <unistd.h>

#include "cli/records/verbs.h"
#include "base/encode.h"
#include "base/io.h"
#include "process/proc.h"
#include "records/agents/agents.h"
#include "scrub/scrub.h"

#define N(table) (sizeof table / sizeof table[0])

enum { SESSION_NEW = 1 };

static json_t *
session_state(const void *session, const struct verb_job *j)
{
	(void)j;
	return json_string(session_state_name(((const struct session *)session)->state));
}

static json_t *
session_lives(const void *session, const struct verb_job *j)
{
	struct timestamp now;

	(void)j;
	timestamp_now(&now);
	return json_boolean(session_is_alive(session, &now));
}

static json_t *
session_blob(const void *session, const struct verb_job *j)
{
	const struct session_blob *blob = &((const struct session *)session)->blob;
	json_t *o = blob->size >= 0 ? json_object() : json_null();

	(void)j;
	if (blob->size >= 0) {
		json_put_int(o, "size", blob->size);
		json_put(o, "sha256", blob->sha256);
	}
	return o;
}

static json_t *
session_process(const void *session, const struct verb_job *j)
{
	const struct session *x = session;
	json_t *o = x->boot_id[0] != '\0' ? json_object() : json_null();

	(void)j;
	if (x->boot_id[0] != '\0') {
		json_put_int(o, "pid", x->pid);
		json_put_int(o, "start", x->pid_start);
		json_put(o, "boot_id", x->boot_id);
		json_put_int(o, "pid_ns", (int64_t)x->pid_ns);
		json_put_int(o, "seen_boot_ms", x->seen_boot_ms);
	}
	return o;
}

#define AT(field) .at = offsetof(struct session, field)

static const struct verb_field fields[] = {
	{ "agent_uuid", FIELD_TEXT, AT(agent_uuid), .in = SESSION_NEW, .place = 1,
	    .column = { "AGENT", .least = 36 } },
	{ "state", FIELD_CALL, .call = session_state, .place = 2, .column = { .head = "STATE" } },
	{ "lives", FIELD_CALL, .call = session_lives },
	{ "provider_name", FIELD_TEXT, AT(provider_name), .in = SESSION_NEW, .place = 4,
	    .column = { "PROVIDER", .least = 6 } },
	{ "cursor_session_id", FIELD_TEXT, AT(cursor_session_id), .in = SESSION_NEW },
	{ "model", FIELD_TEXT, AT(model), .in = SESSION_NEW, .place = 5,
	    .column = { "MODEL", .least = 6, .maybe = true } },
	{ "workspace_path", FIELD_TEXT, AT(workspace_path), .in = SESSION_NEW, .place = 7,
	    .column = { "WORKSPACE", .least = 8, .maybe = true } },
	{ "parent", FIELD_TEXT, AT(parent), .in = SESSION_NEW },
	{ "session", FIELD_TEXT, AT(session), .in = SESSION_NEW },
	{ "socket", FIELD_TEXT, AT(socket), .in = SESSION_NEW },
	{ "start_command", FIELD_TEXT, AT(start_command), .in = SESSION_NEW },
	{ "why", FIELD_TEXT, AT(why) },
	{ "host", FIELD_CHARS_OR_NONE, AT(host), .place = 3, .cell = CELL_HOST,
	    .column = { "HOST", .least = 6, .maybe = true } },
	{ "came_from", FIELD_CHARS_OR_NONE, AT(came_from) },
	{ "provider_state_blob", FIELD_CALL, .call = session_blob, .raw = SESSION_NEW },
	{ "process", FIELD_CALL, .call = session_process },
	{ "recorded_at", FIELD_NUMBER, AT(recorded_at) },
	{ "changed_at", FIELD_NUMBER, AT(changed_at), .place = 6, .cell = CELL_AGE,
	    .column = { "AGE", .right = true } },
	{ "pid", FIELD_INPUT_NUMBER, .in = SESSION_NEW },
};

/* a blob of SESSION_BLOB_MAX in base64, and the rest */
static const struct verb_record session_record_fields = { "session_record", "session_records", NULL,
	fields, N(fields), (size_t)2 << 20 };

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
	struct scrub *s = app_scrub(&j->w, e);
	struct clean_text *t;

	if (s == NULL)
		return -1;
	t = scrub_string(s, x->start_command);
	record_set(&x->start_command, clean_bytes(t));
	clean_free(t);
	scrub_free(s);
	return 0;
}

static int
read_blob(const json_t *o, struct buf *blob, bool *has, struct err *e)
{
	const json_t *v = json_object_get(o, "provider_state_blob");

	*has = v != NULL && !json_is_null(v);
	if (!*has ||
	    (json_is_string(v) && base64_take(blob, json_string_value(v), json_string_length(v)) == 0))
		return 0;
	err_set(e, GT_USAGE, "input",
	    "the field \"provider_state_blob\" of the JSON object must be bytes in base64");
	return err_hint(e, "gt-recover records session suspend takes the bytes themselves on standard input");
}

/*
 * A session as the JSON object on standard input has it. *has_blob: provider_state_blob was there,
 * and its bytes are in blob. Without agent_uuid one is made. A start command is scrubbed; a pid
 * that is not running is warned of.
 */
static int
read_session(struct verb_job *j, struct session *x, struct buf *blob, bool *has_blob, struct err *e)
{
	int64_t pid = cmd_verb_number(j, "pid");

	for (size_t i = 0; i < N(fields); i++)
		if (fields[i].type == FIELD_TEXT && fields[i].in == SESSION_NEW)
			record_set((char **)(void *)((char *)x + fields[i].at),
			    cmd_verb_text(j, fields[i].name));
	if (read_blob(j->input, blob, has_blob, e) != 0 ||
	    (x->start_command != NULL && clean_command(j, x, e) != 0))
		return -1;
	if (pid > 0 && pid == (pid_t)pid && session_set_process(x, pid) != 0 &&
	    proc_life((pid_t)pid, 0) != LIFE_GONE)
		return proc_refuse_unread((pid_t)pid, e);
	if (pid != 0 && x->pid == 0)
		output_warning(&j->say,
		    "no process %lld is running: the session is recorded without one, and reconcile will "
		    "suspend it",
		    (long long)pid);
	if (x->agent_uuid == NULL)
		x->agent_uuid = new_uuid();
	return 0;
}

/* --- verbs --- */

/*
 * record takes a session from standard input. spawn PARENT CHILD links a recorded one with its
 * parent; spawn PARENT records and links the one on standard input.
 */
static int
record(struct verb_job *j, struct err *e)
{
	const char *parent = j->cli.n_args > 0 ? j->cli.args[0] : NULL;
	struct buf blob = BUF_INIT;
	bool has_blob = false;
	struct session x;
	int ret = 0;

	session_init(&x);
	if (j->cli.n_args > 1)
		record_set(&x.agent_uuid, j->cli.args[1]);
	else
		ret = read_session(j, &x, &blob, &has_blob, e);
	if (ret == 0)
		ret = parent != NULL ? tree_spawn(j->store, parent, &x, has_blob ? &blob : NULL, e) :
		    session_record(j->store, &x, has_blob ? &blob : NULL, e);
	if (ret == 0 && !j->cli.json)
		puts(x.agent_uuid);
	if (ret == 0)
		cmd_verb_show(j, &x);
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
		err_set(e, GT_NOTHING, "not-found", "no session records yet");
		return err_hint(e, "to record one: gt-recover records session record");
	}
	if (session_need(j->store, j->cli.args[0], &x, e) != 0)
		return -1;
	v = cmd_verb_object(j, &x);
	if (!j->cli.json) {
		json_print(&text, v, true);
		fputs(text.data, stdout);
	}
	cmd_verb_json(j, "session_record", v);
	buf_release(&text);
	session_release(&x);
	return GT_OK;
}

/* Ended ones are listed with --verbose alone. */
static int
no_session(struct verb_job *j, struct err *e)
{
	struct session_list ended = { .n = 0 };
	int ret = j->store != NULL && j->cli.verbose == 0
	    ? session_list_read(j->store, SESSION_ENDED, &ended, e)
	    : 0;

	if (ret == 0 && ended.n > 1)
		output_line(
		    &j->say, "All %zu recorded sessions have ended; -v lists them.", ended.n);
	else if (ret == 0 && ended.n > 0)
		output_line(&j->say, "The only recorded session has ended; -v lists it.");
	else if (ret == 0)
		output_line(&j->say, "No session records.");
	session_list_release(&ended);
	return ret;
}

static int
list_sessions(struct verb_job *j, struct err *e)
{
	int states = j->cli.verbose > 0 ? SESSION_STATES : SESSION_ENDED;
	struct session_list all = { .n = 0 };
	int ret = 0;

	for (int state = SESSION_ACTIVE; state < states && ret == 0 && j->store != NULL; state++)
		ret = session_list_read(j->store, (enum session_state)state, &all, e);
	if (ret == 0 && all.n == 0)
		ret = no_session(j, e);
	if (ret == 0)
		ret = cmd_verb_list(j, all.v, all.n, sizeof *all.v, e);
	session_list_release(&all);
	return ret;
}

static int
suspend(struct verb_job *j, struct err *e)
{
	struct buf blob = BUF_INIT;
	struct session x;
	int ret = 0;

	session_init(&x);
	if (!isatty(STDIN_FILENO) &&
	    io_read_all(STDIN_FILENO, "standard input", SESSION_BLOB_MAX, &blob, e) != 0) {
		e->code = strcmp(e->name, "too-large") == 0 ? GT_USAGE : e->code;
		ret = -1;
	}
	if (ret == 0)
		ret = session_suspend(
		    j->store, j->cli.args[0], blob.len > 0 ? &blob : NULL, "it was asked to", &x, e);
	if (ret == 0) {
		output_line(&j->say,
		    blob.len > 0 ? "The session of %s is suspended; state saved (%zu bytes)"
				 : "The session of %s is suspended",
		    output_shown(x.agent_uuid, 0), blob.len);
		cmd_verb_show(j, &x);
	}
	session_release(&x);
	buf_release(&blob);
	return ret == 0 ? GT_OK : -1;
}

/* The bytes of its blob on standard output (session restore), or its id (agent resume); --json has both. */
static int
restore(struct verb_job *j, struct err *e)
{
	bool bytes = strcmp(j->verb->name, "restore") == 0;
	struct buf blob = BUF_INIT, text = BUF_INIT;
	struct session x;
	json_t *o;

	if (bytes && !j->cli.json && isatty(STDOUT_FILENO)) {
		err_set(e, GT_USAGE, "terminal", "a state blob is binary and is not written to a terminal");
		return err_hint(e, "gt-recover records session restore ID > FILE, or --json");
	}
	if (session_restore(j->store, j->cli.args[0], &blob, &x, e) != 0) {
		session_release(&x);
		buf_release(&blob);
		return -1;
	}
	o = cmd_verb_object(j, &x);
	if (x.blob.size >= 0) {
		base64_put(&text, blob.data, blob.len);
		json_put(json_object_get(o, "provider_state_blob"), "base64", text.data);
	} else if (bytes) {
		output_line(&j->say, "It was suspended without a state blob.");
	}
	if (!j->cli.json && bytes)
		fwrite(blob.data, 1, blob.len, stdout);
	else if (!j->cli.json)
		puts(x.agent_uuid);
	cmd_verb_json(j, "session_record", o);
	session_release(&x);
	buf_release(&blob);
	buf_release(&text);
	return GT_OK;
}

static int
end_session(struct verb_job *j, struct err *e)
{
	struct session x;
	size_t ended;
	int ret = tree_end(j->store, j->cli.args[0], false, &ended, e);

	if (ret != 0 || session_need(j->store, j->cli.args[0], &x, e) != 0)
		return -1;
	output_line(&j->say, ended > 0 ? "It has ended." : "It had already ended.");
	cmd_verb_show(j, &x);
	session_release(&x);
	return GT_OK;
}

#define RECORD .record = &session_record_fields

const struct verb session_verbs[] = {
	{ "record", record, 0, 0, .writes = true, RECORD, .in = SESSION_NEW },
	{ "show", show, 1, 1, RECORD },
	{ "list", list_sessions, 0, 0, RECORD },
	{ "suspend", suspend, 1, 1, .writes = true, RECORD },
	{ "restore", restore, 1, 1, .writes = true, RECORD },
	{ "end", end_session, 1, 1, .writes = true, RECORD },
	{ .name = NULL },
};

/* --- tree --- */

#define DEEPEST 24	/* a tree is as deep as its callers made it, and a screen so wide */

struct branch {
	struct verb_job *j;
	const struct tree *t;
	json_t *agents;			/* NULL: printed at once */
	bool *shown;
	bool more[DEEPEST];		/* by depth: a sister is still to come */
	size_t n;
};

/* Deeper ones stand below each other. */
static void
print_line_to(const struct branch *b, size_t depth)
{
	size_t d = depth < DEEPEST ? depth : DEEPEST - 1;

	for (size_t i = 1; i < d; i++)
		output_text(stdout, b->more[i] ? "│  " : "   ");
	if (d > 0)
		output_text(stdout, b->more[d] ? "├─ " : "└─ ");
}

static int
show_node(struct branch *b, size_t i, size_t depth, struct err *e)
{
	const struct tree_node *x = &b->t->v[i];
	struct buf name = BUF_INIT, model = BUF_INIT;
	struct session session;
	json_t *v;
	int found = session_load(b->j->store, x->agent, &session, e);

	if (found < 0)
		return -1;
	b->shown[i] = true;
	b->n++;
	if (b->agents != NULL) {
		v = json_object();
		json_put(v, "agent_uuid", x->agent);
		json_put(v, "parent", x->parent);
		json_put_int(v, "depth", (int64_t)depth);
		json_put(v, "state", found > 0 ? session_state_name(session.state) : NULL);
		json_put(v, "provider_name", session.provider_name);
		json_put(v, "model", session.model);
		json_put(v, "session", session.session);
		json_put_int(v, "linked_at", x->at);
		json_put(v, "adopted_from", x->adopted_from);
		json_array_append_new(b->agents, v);
	} else {
		output_foreign(&name, x->agent, 0);
		if (session.model != NULL) {
			buf_str(&model, "  ");
			output_foreign(&model, session.model, 0);
		}
		print_line_to(b, depth);
		printf("%s  %s%s\n", name.data, found > 0 ? session_state_name(session.state) : "no session",
		    model.data != NULL ? model.data : "");
	}
	buf_release(&name);
	buf_release(&model);
	session_release(&session);
	return 0;
}

/* The children of each agent, by the place of their parent; SIZE_MAX ends a row. */
struct kin {
	size_t *first, *next;
};

static void
kin_init(struct kin *k, const struct tree *t)
{
	k->first = xcalloc(t->n + 1, sizeof *k->first);
	k->next = xcalloc(t->n + 1, sizeof *k->next);
	for (size_t i = 0; i < t->n; i++)
		k->first[i] = SIZE_MAX;
	/* backwards, so that a row is in the order of ids */
	for (size_t i = t->n; i-- > 0; ) {
		const struct tree_node *parent = t->v[i].parent != NULL ? tree_find(t, t->v[i].parent) : NULL;

		k->next[i] = SIZE_MAX;
		if (parent != NULL) {
			k->next[i] = k->first[parent - t->v];
			k->first[parent - t->v] = i;
		}
	}
}

/* Depth first without recursion: a tree is as deep as its callers made it. */
static int
show_branch(struct branch *b, const struct kin *k, size_t root, struct err *e)
{
	struct at { size_t i, depth; bool last; } *stack = xcalloc(b->t->n + 1, sizeof *stack);
	size_t n = 0;
	int ret = 0;

	stack[n++] = (struct at){ root, 0, true };
	while (n > 0 && ret == 0) {
		struct at at = stack[--n];
		size_t from = n;

		b->more[at.depth < DEEPEST ? at.depth : DEEPEST - 1] = !at.last;
		ret = show_node(b, at.i, at.depth, e);
		for (size_t i = k->first[at.i]; i != SIZE_MAX; i = k->next[i])
			if (!b->shown[i])
				stack[n++] = (struct at){ i, at.depth + 1, false };
		if (n > from)
			stack[n - 1].last = true;
		for (size_t lo = from, hi = n; lo + 1 < hi; lo++, hi--) {
			struct at swap = stack[lo];

			stack[lo] = stack[hi - 1];
			stack[hi - 1] = swap;
		}
	}
	free(stack);
	return ret;
}

static int
show_tree(struct branch *b, const char *root, struct err *e)
{
	struct kin k;
	int ret = 0;

	kin_init(&k, b->t);
	for (size_t i = 0; i < b->t->n && ret == 0; i++) {
		const struct tree_node *x = &b->t->v[i];
		bool top = x->parent == NULL || tree_find(b->t, x->parent) == NULL;

		if (root != NULL ? strcmp(x->agent, root) == 0 : top)
			ret = show_branch(b, &k, i, e);
	}
	/* who is in a ring is below no root; startup cuts it */
	for (size_t i = 0; i < b->t->n && ret == 0 && root == NULL; i++)
		if (!b->shown[i])
			ret = show_branch(b, &k, i, e);
	free(k.first);
	free(k.next);
	return ret;
}

static int
tree(struct verb_job *j, struct err *e)
{
	const char *root = j->cli.n_args > 0 ? j->cli.args[0] : NULL;
	struct tree t = { .n = 0 };
	struct branch b = { .j = j, .t = &t, .agents = j->cli.json ? json_array() : NULL };
	int ret = j->store != NULL ? tree_read(j->store, &t, e) : 0;

	b.shown = xcalloc(t.n + 1, sizeof *b.shown);
	if (ret == 0)
		ret = show_tree(&b, root, e);
	if (ret == 0 && root != NULL && b.n == 0) {
		err_set(e, GT_NOTHING, "not-found", "no agent \"%.200s\" in the tree", root);
		ret = err_hint(e, "gt-recover records agent tree shows the active agents");
	} else if (ret == 0 && b.n == 0) {
		output_line(&j->say, "No agents.");
	}
	if (ret == 0 && b.agents != NULL)
		cmd_verb_json(j, "agents", json_incref(b.agents));
	json_decref(b.agents);
	free(b.shown);
	tree_release(&t);
	return ret == 0 ? GT_OK : -1;
}

static int
end_agent(struct verb_job *j, struct err *e)
{
	json_t *v = json_object();
	size_t ended;

	if (tree_end(j->store, j->cli.args[0], true, &ended, e) != 0) {
		json_decref(v);
		return -1;
	}
	if (ended > 1)
		output_line(&j->say, "Ended with all its descendants: %zu agents.", ended);
	else
		output_line(&j->say, ended > 0 ? "It has ended." : "It had already ended.");
	json_put(v, "agent_uuid", j->cli.args[0]);
	json_put_int(v, "ended", (int64_t)ended);
	cmd_verb_json(j, "agent", v);
	return GT_OK;
}

const struct verb agent_verbs[] = {
	{ "spawn", record, 1, 2, .writes = true, RECORD, .in = SESSION_NEW },
	{ "tree", tree, 0, 1, RECORD },
	{ "resume", restore, 1, 1, .writes = true, RECORD },
	{ "end", end_agent, 1, 1, .writes = true, RECORD },
	{ .name = NULL },
};
