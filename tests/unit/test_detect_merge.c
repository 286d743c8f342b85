#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "detect/detect_private.h"
#include "records/agents/agents.h"

/*
 * detect_merge with sources that tell what a case says: whose claim becomes a candidate, and whose
 * word a member of it is.
 */

/* One claim, or with `adds` what a source that adds says of the claims of that session. */
struct told {
	unsigned bit;
	const char *socket, *session, *pane;
	int64_t server_pid;
	const char *session_hash, *pane_hash, *conversation;
	enum claim_answer answer;	/* of one that adds */
	bool there, lives;
	bool ended;			/* with its server */
	bool no_agent;			/* a claim of its own that makes none */
	const char *cwd, *id;		/* members that it sets: cwd, session_id */
	const char *also;		/* a pane that explain() comes upon */
};

struct merge_case {
	const char *what;
	struct told told[8];
	/* "source:session/pane cwd id", a line for each candidate */
	const char *want;
};

static const struct merge_case *now;
static size_t forgotten, claimed;

static int
list_told(unsigned bit, struct claim_list *out)
{
	for (const struct told *t = now->told; t->bit != 0; t++) {
		struct claim *x;

		if (t->bit != bit)
			continue;
		x = detect_add_claim(out);
		claimed++;
		x->key.socket = t->socket != NULL ? xstrdup(t->socket) : NULL;
		x->key.session = t->session != NULL && t->session_hash == NULL ? xstrdup(t->session) : NULL;
		x->key.pane = t->pane != NULL && t->pane_hash == NULL ? xstrdup(t->pane) : NULL;
		x->key.server_pid = t->server_pid;
		x->key.conversation = t->conversation != NULL ? xstrdup(t->conversation) : NULL;
		if (t->session_hash != NULL)
			strcpy(x->key.session_hash, t->session_hash);
		if (t->pane_hash != NULL)
			strcpy(x->key.pane_hash, t->pane_hash);
		x->there = t->there;
		x->about = (void *)(uintptr_t)t;
	}
	return 0;
}

static void
set_pane(struct candidate *c, const struct told *t, const char *pane)
{
	struct pane *p = &c->pane;

	p->socket = xstrdup(t->socket != NULL ? t->socket : "default");
	p->session = xstrdup(t->session);
	p->id = xstrdup(pane != NULL ? pane : t->session);
	p->server_pid = (pid_t)t->server_pid;
	c->config_dir = xasprintf("%u", t->bit);
	c->cwd = t->cwd != NULL ? xstrdup(t->cwd) : NULL;
	c->session_id = t->id != NULL ? xstrdup(t->id) : NULL;
	c->agent_pid = t->lives ? 77 : 0;
	if (t->conversation != NULL)
		c->pid_record.session_id = xstrdup(t->conversation);
}

static enum claim_answer
explain_told(struct detection *d, struct claim *x, struct candidate *c)
{
	static struct told beside;
	const struct told *t = x->about;

	set_pane(c, t, t->pane);
	if (t->also != NULL) {
		struct claim *more = detect_add_claim(&d->also);

		claimed++;
		beside = *t;
		beside.pane = t->also;
		beside.also = NULL;
		more->about = &beside;
		strcpy(more->key.session_hash, t->session_hash);
	}
	return t->no_agent ? CLAIM_OPEN : CLAIM_AGENT;
}

/* Sets what it knows in the place of what is there. */
static enum claim_answer
add_told(unsigned bit, const struct claim *x, struct candidate *c)
{
	const struct told *of = x->about;

	for (const struct told *t = now->told; t->bit != 0; t++) {
		if (t->bit != bit || strcmp(t->session, of->session) != 0)
			continue;
		if (t->cwd != NULL) {
			free(c->cwd);
			c->cwd = xstrdup(t->cwd);
		}
		if (t->id != NULL) {
			free(c->session_id);
			c->session_id = xstrdup(t->id);
		}
		return t->answer;
	}
	return CLAIM_OPEN;
}

static void
forget_told(struct claim *x)
{
	assert_non_null(x->about);
	forgotten++;
}

static void
settle_told(struct detection *d, struct claim *x, struct candidate *c)
{
	(void)d;
	x->ended = ((const struct told *)x->about)->ended;
	/* sees the last word */
	if (c->session_id != NULL && strcmp(c->session_id, "settle") == 0) {
		free(c->cwd);
		c->cwd = xstrdup("settled");
	}
}

#define LIST(name, bit)                                                                                      \
	static int name(struct detection *d, struct claim_list *out, struct err *e)                          \
	{                                                                                                    \
		(void)d;                                                                                     \
		(void)e;                                                                                     \
		return list_told(bit, out);                                                                  \
	}
LIST(list_some_panes, FROM_PANES)
LIST(list_some_snapshots, FROM_SNAPSHOTS)
LIST(list_some_assignments, FROM_ASSIGNMENTS)
LIST(list_some_records, FROM_RECORDS)

static enum claim_answer
add_restarted(struct detection *d, struct claim *x, struct candidate *c)
{
	(void)d;
	return add_told(FROM_RESTARTED, x, c);
}

static enum claim_answer
add_attempts(struct detection *d, struct claim *x, struct candidate *c)
{
	(void)d;
	return add_told(FROM_ATTEMPTS, x, c);
}

/* Lists, and adds to snapshots. */
#define FROM_SEEN 64
LIST(list_some_seen, FROM_SEEN)
static enum claim_answer
explain_seen(struct detection *d, struct claim *x, struct candidate *c)
{
	const struct told *t = x->about;

	return t->bit == FROM_SEEN ? explain_told(d, x, c) : add_told(FROM_SEEN, x, c);
}

static const struct agent_source table[] = {
	{ .name = "panes", .bit = FROM_PANES, .keeps_order = true, .list = list_some_panes,
	    .explain = explain_told, .settle = settle_told, .forget = forget_told },
	{ .name = "restarted", .bit = FROM_RESTARTED, .adds_to = FROM_PANES, .explain = add_restarted },
	{ .name = "snapshots", .bit = FROM_SNAPSHOTS, .of_ended = true, .list = list_some_snapshots,
	    .explain = explain_told, .settle = settle_told, .forget = forget_told },
	{ .name = "attempts", .bit = FROM_ATTEMPTS, .adds_to = FROM_SNAPSHOTS, .explain = add_attempts },
	{ .name = "seen", .bit = FROM_SEEN, .adds_to = FROM_SNAPSHOTS, .list = list_some_seen,
	    .explain = explain_seen, .forget = forget_told },
	{ .name = "assignments", .bit = FROM_ASSIGNMENTS, .list = list_some_assignments,
	    .explain = explain_told, .forget = forget_told },
	{ .name = "records", .bit = FROM_RECORDS, .list = list_some_records, .explain = explain_told,
	    .forget = forget_told },
};
#define N (sizeof table / sizeof table[0])

#define ON(name, pid, ...)                                                                                   \
	{ .bit = FROM_PANES, .there = true, .socket = name, .server_pid = pid, __VA_ARGS__ }
#define PANE(...) ON("default", 9, __VA_ARGS__)
#define OLD(...) { .bit = FROM_SNAPSHOTS, __VA_ARGS__ }
#define WORK(...) { .bit = FROM_ASSIGNMENTS, .session = __VA_ARGS__ }
#define RECORD(...) { .bit = FROM_RECORDS, .socket = "default", .session = __VA_ARGS__ }

static const struct merge_case cases[] = {
	{ "nothing", { { 0 } }, "" },
	{ "panes stay in tmux's order, what is gone is sorted behind them",
	    { WORK("b"), OLD(.session = "c", .session_hash = "c"), PANE(.session = "z", .pane = "%1"),
		PANE(.session = "a", .pane = "%2") },
	    "panes:z/%1 - -\npanes:a/%2 - -\nassignments:b/b - -\nsnapshots:c/c - -\n" },
	{ "one server by two names", { PANE(.session = "a", .pane = "%1"),
		ON("other", 9, .session = "a", .pane = "%1") }, "panes:a/%1 - -\n" },
	{ "the same number in two servers", { PANE(.session = "a", .pane = "%1"),
		ON("other", 10, .session = "a", .pane = "%1") },
	    "panes:a/%1 - -\npanes:a/%1 - -\n" },
	{ "two panes of a session", { PANE(.session = "a", .pane = "%1"), PANE(.session = "a", .pane = "%2") },
	    "panes:a/%1 - -\npanes:a/%2 - -\n" },
	{ "a session that is there is not missing", { PANE(.session = "a", .pane = "%1", .session_hash = "A"),
		OLD(.session = "a", .session_hash = "A") }, "panes:a/%1 - -\n" },
	{ "not even when no agent is in it", { PANE(.session = "a", .pane = "%1", .session_hash = "A", .no_agent = true), OLD(.session = "a", .session_hash = "A") }, "" },
	{ "but one of an ended server is another session",
	    { PANE(.session = "a", .pane = "%1", .session_hash = "A", .cwd = "/new"),
		OLD(.session = "a", .session_hash = "A", .cwd = "/old", .ended = true) },
	    "panes:a/%1 /new -\nsnapshots:a/a /old -\n" },
	{ "unless an agent is in its directory",
	    { PANE(.session = "a", .pane = "%1", .session_hash = "A", .cwd = "/old"),
		OLD(.session = "a", .session_hash = "A", .cwd = "/old", .ended = true) },
	    "panes:a/%1 /old -\n" },
	{ "nor a pane that has moved to another session", { PANE(.session = "b", .pane = "%1",
		.session_hash = "B", .pane_hash = "P"), OLD(.session = "a", .session_hash = "A",
		.pane_hash = "P") }, "panes:b/%1 - -\n" },
	{ "hashes that nobody knows match nothing", { PANE(.session = "b", .pane = "%1"),
		OLD(.session = "a", .pane = "%1", .session_hash = "A") },
	    "panes:b/%1 - -\nsnapshots:a/%1 - -\n" },
	{ "a snapshot's other panes come with it", { OLD(.session = "a", .session_hash = "A", .pane = "%1",
		.also = "%2") }, "snapshots:a/%1 - -\nsnapshots:a/%2 - -\n" },
	{ "assigned work is the session's of any server", { ON("other", 9, .session = "a", .pane = "%1"), WORK("a") }, "panes:a/%1 - -\n" },
	{ "also of one without an agent", { PANE(.session = "a", .pane = "%1", .no_agent = true),
		WORK("a") }, "" },
	{ "snapshots go before assignments", { WORK("a"), OLD(.session = "a", .session_hash = "A") },
	    "snapshots:a/a - -\n" },
	{ "but not one that makes no agent", { WORK("a"), OLD(.session = "a", .session_hash = "A", .no_agent = true) }, "assignments:a/a - -\n" },
	{ "an agent goes before its record", { RECORD("a"), PANE(.session = "a", .pane = "%1") },
	    "panes:a/%1 - -\n" },
	{ "on its own server", { RECORD("a"), ON("other", 10, .session = "a", .pane = "%1") }, "panes:a/%1 - -\nrecords:a/a - -\n" },
	{ "two records of one session", { RECORD("a"), RECORD("a") }, "records:a/a - -\nrecords:a/a - -\n" },
	{ "a record whose conversation goes on elsewhere", { RECORD("a", .conversation = "talk"),
		PANE(.session = "b", .pane = "%1", .conversation = "talk", .lives = true) },
	    "panes:b/%1 - -\n" },
	{ "or was another dead agent's", { RECORD("a", .conversation = "talk"),
		PANE(.session = "b", .pane = "%1", .conversation = "talk") },
	    "panes:b/%1 - -\nrecords:a/a - -\n" },
	{ "restarted goes before panes, member by member", { PANE(.session = "a", .pane = "%1", .cwd = "/pane",
		.id = "pane"), { .bit = FROM_RESTARTED, .session = "a", .id = "lost" } },
	    "panes:a/%1 /pane lost\n" },
	{ "and finds an agent where the pane shows none", { PANE(.session = "a", .pane = "%1", .no_agent = true), { .bit = FROM_RESTARTED, .session = "a", .cwd = "/restored",
		.answer = CLAIM_AGENT } }, "panes:a/%1 /restored -\n" },
	{ "not of another source", { OLD(.session = "a", .session_hash = "A", .id = "snapshot"),
		{ .bit = FROM_RESTARTED, .session = "a", .id = "lost" } }, "snapshots:a/a - snapshot\n" },
	{ "attempts go before snapshots, member by member", { OLD(.session = "a", .session_hash = "A",
		.cwd = "/snapshot", .id = "snapshot"), { .bit = FROM_ATTEMPTS, .session = "a", .id = "told" } },
	    "snapshots:a/a /snapshot told\n" },
	{ "an answered crash is none, and leaves its key", { OLD(.session = "a", .session_hash = "A"),
		{ .bit = FROM_ATTEMPTS, .session = "a", .answer = CLAIM_NO_AGENT }, WORK("a") },
	    "assignments:a/a - -\n" },
	{ "what is no agent's nobody adds to", { OLD(.session = "a", .session_hash = "A", .no_agent = true), { .bit = FROM_ATTEMPTS, .session = "a", .answer = CLAIM_AGENT } }, "" },
	{ "the last that adds wins", { OLD(.session = "a", .session_hash = "A", .cwd = "/snapshot"),
		{ .bit = FROM_SEEN, .session = "a", .id = "seen", .answer = CLAIM_AGENT },
		{ .bit = FROM_ATTEMPTS, .session = "a", .cwd = "/told", .id = "told" } },
	    "snapshots:a/a /told seen\n" },
	{ "who adds may also list", { { .bit = FROM_SEEN, .session = "a", .cwd = "/seen" }, WORK("a"), WORK("b") },
	    "seen:a/a /seen -\nassignments:b/b - -\n" },
	{ "the end sees the last word", { OLD(.session = "a", .session_hash = "A"), { .bit = FROM_ATTEMPTS,
		.session = "a", .id = "settle" } }, "snapshots:a/a settled settle\n" },
};

static const struct agent_source *all[N];

static const char *
name_of(const char *bit)
{
	for (size_t i = 0; i < N; i++)
		if (table[i].bit == (enum agent_source_bit)atoi(bit))
			return table[i].name;
	return "?";
}

static void
print_candidates(const struct candidate_list *l, struct buf *out)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct candidate *c = &l->v[i];

		buf_fmt(out, "%s:%s/%s %s %s\n", name_of(c->config_dir), c->pane.session, c->pane.id,
		    c->cwd != NULL ? c->cwd : "-", c->session_id != NULL ? c->session_id : "-");
	}
}

static void
who_has_which_key_and_which_member(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct detection d = { .w = NULL };
		struct candidate_list l = { .n = 0 };
		struct buf got = BUF_INIT;
		struct err e = ERR_INIT;

		now = &cases[i];
		claimed = forgotten = 0;
		assert_int_equal(detect_merge(all, N, ~0u, &d, &l, &e), 0);
		print_candidates(&l, &got);
		buf_str(&got, "");
		if (strcmp(got.data, now->want) != 0)
			fail_msg("%s: got\n%swant\n%s", now->what, got.data, now->want);
		assert_int_equal(forgotten, claimed);
		candidate_list_release(&l);
		free(d.also.v);
		buf_release(&got);
	}
}

/* Sources that are not asked; and what a list holds already has its keys. */
static void
only_the_sources_of_the_mask(void **state)
{
	static const struct merge_case asked = { "mask", { PANE(.session = "a", .pane = "%1"), RECORD("a"),
		RECORD("b") }, "" };
	struct detection d = { .w = NULL };
	struct candidate_list l = { .n = 0 };
	struct err e = ERR_INIT;

	(void)state;
	now = &asked;
	assert_int_equal(detect_merge(all, N, ~(unsigned)FROM_RECORDS, &d, &l, &e), 0);
	assert_int_equal(l.n, 1);
	assert_int_equal(detect_merge(all, N, FROM_RECORDS, &d, &l, &e), 0);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.v[0].pane.id, "%1");
	assert_string_equal(l.v[1].pane.session, "b");
	candidate_list_release(&l);
	free(d.also.v);
}

static int
fail_list(struct detection *d, struct claim_list *out, struct err *e)
{
	(void)d;
	detect_add_claim(out)->key.session = xstrdup("a");
	return err_set(e, GT_FAIL, "broken", "it cannot be read");
}

/* Nothing is explained, and the sources behind it are not asked. */
static void
a_source_that_cannot_be_read(void **state)
{
	static const struct merge_case failing = { "failure", { WORK("a") }, "" };
	const struct agent_source broken = { .name = "broken", .bit = FROM_PANES, .list = fail_list };
	const struct agent_source *const two[] = { &broken, all[N - 2] };
	struct detection d = { .w = NULL };
	struct candidate_list l = { .n = 0 };
	struct err e = ERR_INIT;

	(void)state;
	now = &failing;
	assert_int_equal(detect_merge(two, 2, ~0u, &d, &l, &e), -1);
	assert_string_equal(e.name, "broken");
	assert_int_equal(l.n, 0);
	assert_null(l.v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_which_key_and_which_member),
		cmocka_unit_test(only_the_sources_of_the_mask),
		cmocka_unit_test(a_source_that_cannot_be_read),
	};

	for (size_t i = 0; i < N; i++)
		all[i] = &table[i];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
