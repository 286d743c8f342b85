#include "home.h"

#include <signal.h>
#include <sys/wait.h>

#include "process/proc.h"
#include "base/json.h"
#include "records/records.h"

/* Bytes of every value, NUL among them. */
static void
fill(struct buf *b, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1103515245u + 12345u;
		buf_chr(b, (char)(seed >> 16));
	}
}

static int
last_event(const struct event_row *ev, void *arg)
{
	snprintf(arg, 32, "%s", ev->kind);
	return 0;
}

static const char *
event_now(struct home *h)
{
	static char kind[32];

	assert_int_equal(event_each(h->s, NULL, last_event, kind, &h->e), 0);
	return kind;
}

static void
test_record(void **state)
{
	struct home *h = *state;
	struct session x, y;

	session_init(&x);
	record_set(&x.agent_uuid, "a-1");
	record_set(&x.provider_name, "cursor-agent");
	record_set(&x.cursor_session_id, "0b6c");
	record_set(&x.model, "m\xff");
	record_set(&x.workspace_path, "/home/a b");
	record_set(&x.start_command, "agent --resume [REDACTED:x]");
	assert_int_equal(session_load(h->s, "a-1", &y, &h->e), 0);
	assert_int_equal(session_record(h->s, &x, NULL, &h->e), 0);
	home_again(h);
	assert_int_equal(session_load(h->s, "a-1", &y, &h->e), 1);
	assert_string_equal(session_state_name(y.state), "ACTIVE");
	assert_string_equal(y.agent_uuid, "a-1");
	assert_string_equal(y.provider_name, "cursor-agent");
	assert_string_equal(y.cursor_session_id, "0b6c");
	assert_string_equal(y.model, "m\xef\xbf\xbd");
	assert_string_equal(y.workspace_path, "/home/a b");
	assert_string_equal(y.start_command, "agent --resume [REDACTED:x]");
	assert_null(y.parent);
	assert_true(y.blob.size == -1 && y.recorded_at > 0 && y.version == x.version);
	assert_string_equal(home_place(h, "a-1"), "-");
	assert_string_equal(event_now(h), "session.recorded");
	session_release(&x);
	session_release(&y);
}

/* Whoever lost the answer asks again; what it tells is set, what it does not tell stays. */
static void
test_record_again(void **state)
{
	struct home *h = *state;
	struct buf blob = BUF_INIT, back = BUF_INIT;
	struct session x, y;
	int64_t first;

	fill(&blob, 1000, 7);
	session_init(&x);
	record_set(&x.agent_uuid, "a");
	record_set(&x.provider_name, "fake");
	record_set(&x.model, "one");
	assert_int_equal(session_record(h->s, &x, &blob, &h->e), 0);
	first = x.recorded_at;
	session_release(&x);
	record_set(&x.agent_uuid, "a");
	record_set(&x.provider_name, "fake");
	record_set(&x.workspace_path, "/w");
	assert_int_equal(session_set_process(&x, getpid()), 0);
	assert_int_equal(session_record(h->s, &x, NULL, &h->e), 0);
	assert_int_equal(session_load(h->s, "a", &y, &h->e), 1);
	assert_string_equal(y.model, "one");
	assert_string_equal(y.workspace_path, "/w");
	assert_int_equal(y.recorded_at, first);
	assert_int_equal(y.pid, getpid());
	assert_int_equal(y.blob.size, 1000);
	assert_int_equal(session_blob_read(h->s, "a", &y.blob, &back, &h->e), 0);
	assert_memory_equal(back.data, blob.data, 1000);
	session_release(&x);
	session_release(&y);
	buf_release(&blob);
	buf_release(&back);
}

static void
test_refused(void **state)
{
	static char longer[SESSION_TEXT_MAX + 2];
	struct home *h = *state;
	struct session x;

	assert_int_equal(home_record(h, "bad id", NULL), -1);
	assert_string_equal(h->e.name, "id");
	assert_int_equal(home_record(h, "", NULL), -1);
	assert_int_equal(home_record(h, "a\n", NULL), -1);
	session_init(&x);
	record_set(&x.agent_uuid, "a");
	assert_int_equal(session_record(h->s, &x, NULL, &h->e), -1);
	assert_string_equal(h->e.name, "session");
	assert_int_equal(h->e.code, GT_USAGE);
	record_set(&x.provider_name, "fake");
	memset(longer, 'x', sizeof longer - 1);
	record_set(&x.model, longer);
	assert_int_equal(session_record(h->s, &x, NULL, &h->e), -1);
	longer[SESSION_TEXT_MAX] = '\0';
	record_set(&x.model, longer);
	assert_int_equal(session_record(h->s, &x, NULL, &h->e), 0);
	session_release(&x);
	assert_int_equal(home_record(h, "child", "nobody"), -1);
	assert_string_equal(h->e.name, "no-agent");
	assert_string_equal(home_state(h, "child"), "none");
	assert_int_equal(home_record(h, "a", "b"), -1);
	assert_string_equal(h->e.name, "other-parent");
}

/* The provider's state: 1 MiB with NULs, byte for byte; not one more. */
static void
test_blob(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 4096, SESSION_BLOB_MAX };
	struct home *h = *state;
	struct buf back = BUF_INIT;
	struct session x;

	assert_int_equal(home_record(h, "a", NULL), 0);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct buf blob = BUF_INIT;

		fill(&blob, sizes[i], (unsigned)i);
		assert_int_equal(session_suspend(h->s, "a", &blob, "asked", &x, &h->e), 0);
		assert_string_equal(home_state(h, "a"), "SUSPENDED");
		session_release(&x);
		home_again(h);
		buf_reset(&back);
		assert_int_equal(session_restore(h->s, "a", &back, &x, &h->e), 0);
		assert_int_equal(back.len, sizes[i]);
		assert_memory_equal(back.data, blob.data, sizes[i]);
		assert_int_equal(x.state, SESSION_ACTIVE);
		session_release(&x);
		buf_release(&blob);
	}
	buf_chr(&back, 'x');
	assert_int_equal(session_suspend(h->s, "a", &back, "asked", &x, &h->e), -1);
	assert_string_equal(h->e.name, "too-large");
	assert_string_equal(home_state(h, "a"), "ACTIVE");
	session_release(&x);
	buf_release(&back);
}

/* One bit of it is another: it is not handed over, and the session stays where it was. */
static void
test_blob_damaged(void **state)
{
	struct home *h = *state;
	struct buf blob = BUF_INIT, back = BUF_INIT;
	struct session x;
	struct record r;
	char *at;

	assert_int_equal(home_record(h, "a", NULL), 0);
	fill(&blob, 3000, 3);
	assert_int_equal(session_suspend(h->s, "a", &blob, "asked", &x, &h->e), 0);
	session_release(&x);
	assert_int_equal(store_get(h->s, "blob:a", &r, &h->e), 1);
	at = strstr(r.value, "\"base64\":\"") + 100;
	*at = *at == 'A' ? 'B' : 'A';
	home_put(h, "blob:a", "blob", r.value);
	assert_int_equal(session_restore(h->s, "a", &back, &x, &h->e), -1);
	assert_string_equal(h->e.name, "blob");
	assert_int_equal(back.len, 0);
	home_delete(h, "blob:a");
	assert_int_equal(session_restore(h->s, "a", &back, &x, &h->e), -1);
	assert_string_equal(h->e.name, "blob");
	assert_string_equal(home_state(h, "a"), "SUSPENDED");
	/* it can go on all the same, by a new state */
	assert_int_equal(session_suspend(h->s, "a", &blob, "asked", &x, &h->e), 0);
	session_release(&x);
	assert_int_equal(session_restore(h->s, "a", &back, &x, &h->e), 0);
	session_release(&x);
	store_record_release(&r);
	buf_release(&blob);
	buf_release(&back);
}

/* ACTIVE, SUSPENDED, ENDED: every step from each. */
static void
test_states(void **state)
{
	struct home *h = *state;
	struct buf back = BUF_INIT;
	struct session x;
	size_t n;

	assert_int_equal(session_suspend(h->s, "a", NULL, "asked", &x, &h->e), -1);
	assert_string_equal(h->e.name, "not-found");
	assert_int_equal(h->e.code, GT_NOTHING);
	assert_int_equal(session_restore(h->s, "a", &back, &x, &h->e), -1);
	assert_string_equal(h->e.name, "not-found");
	assert_int_equal(home_record(h, "a", NULL), 0);
	assert_int_equal(session_restore(h->s, "a", &back, &x, &h->e), -1);
	assert_string_equal(h->e.name, "active");
	assert_int_equal(h->e.code, GT_REFUSED);
	assert_int_equal(session_suspend(h->s, "a", NULL, "asked", &x, &h->e), 0);
	session_release(&x);
	assert_int_equal(session_suspend(h->s, "a", NULL, "once more", &x, &h->e), 0);
	assert_string_equal(x.why, "asked");
	session_release(&x);
	assert_int_equal(home_record(h, "a", NULL), -1);
	assert_string_equal(h->e.name, "suspended");
	assert_int_equal(session_restore(h->s, "a", &back, &x, &h->e), 0);
	assert_null(x.why);
	session_release(&x);
	assert_int_equal(tree_end(h->s, "a", false, &n, &h->e), 0);
	assert_int_equal(n, 1);
	assert_int_equal(session_suspend(h->s, "a", NULL, "asked", &x, &h->e), -1);
	assert_string_equal(h->e.name, "ended");
	session_release(&x);
	assert_int_equal(session_restore(h->s, "a", &back, &x, &h->e), -1);
	assert_string_equal(h->e.name, "ended");
	session_release(&x);
	assert_int_equal(home_record(h, "a", NULL), -1);
	assert_string_equal(h->e.name, "ended");
	assert_int_equal(tree_end(h->s, "a", false, &n, &h->e), 0);
	assert_int_equal(n, 0);
	buf_release(&back);
}

/* Many take the same suspended session up at once: one has it. */
static void
test_one_restores(void **state)
{
	struct home *h = *state;
	int gate[2], won = 0, refused = 0;
	struct session x;
	pid_t pids[8];

	assert_int_equal(home_record(h, "a", NULL), 0);
	assert_int_equal(session_suspend(h->s, "a", NULL, "asked", &x, &h->e), 0);
	session_release(&x);
	assert_int_equal(pipe(gate), 0);
	for (size_t i = 0; i < 8; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			struct buf back = BUF_INIT;
			struct err e = ERR_INIT;
			struct store *s;
			char c;

			close(gate[1]);
			if (read(gate[0], &c, 1) != 0 || (s = store_open("sqlite", h->dir, &e)) == NULL)
				_exit(9);
			_exit(session_restore(s, "a", &back, &x, &e) == 0 ? 0
				: strcmp(e.name, "active") == 0           ? 1
									  : 9);
		}
	}
	close(gate[0]);
	close(gate[1]);
	for (size_t i = 0; i < 8; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status));
		won += WEXITSTATUS(status) == 0;
		refused += WEXITSTATUS(status) == 1;
	}
	assert_int_equal(won, 1);
	assert_int_equal(refused, 7);
	assert_string_equal(home_state(h, "a"), "ACTIVE");
}

/* --- its process --- */

static void
test_process(void **state)
{
	struct timestamp now, later;
	struct session x;
	int status;
	pid_t pid;

	(void)state;
	timestamp_now(&now);
	session_init(&x);
	assert_false(session_is_alive(&x, &now));
	assert_int_equal(session_set_process(&x, getpid()), 0);
	assert_true(session_is_alive(&x, &now));
	/* another boot, another start, another pid: three processes that are not it */
	later = now;
	later.boot_id[0] = later.boot_id[0] == '0' ? '1' : '0';
	assert_false(session_is_alive(&x, &later));
	x.pid_start++;
	assert_false(session_is_alive(&x, &now));
	x.pid_start--;
	x.pid = 1;
	assert_false(session_is_alive(&x, &now));
	x.pid = INT64_MAX;
	assert_false(session_is_alive(&x, &now));
	assert_int_equal(session_set_process(&x, 0), -1);
	assert_int_equal(session_set_process(&x, -1), -1);
	assert_int_equal(session_set_process(&x, INT64_MAX), -1);
	assert_false(session_is_alive(&x, &now));
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(session_set_process(&x, pid), 0);
	assert_true(session_is_alive(&x, &now));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){ .si_pid = 0 }, WEXITED | WNOWAIT), 0);
	/* it ended, and only waits to be waited for */
	assert_false(session_is_alive(&x, &now));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_false(session_is_alive(&x, &now));
	session_release(&x);
}

/* A process in another pid namespace is alive until its last sign of life is too old. */
static void
test_contained(void **state)
{
	struct home *h = *state;
	struct timestamp now;
	struct session x;

	timestamp_now(&now);
	session_init(&x);
	record_set(&x.agent_uuid, "a");
	record_set(&x.provider_name, "fake");
	assert_int_equal(session_set_process(&x, getpid()), 0);
	assert_int_equal(x.pid_ns, now.pid_ns);
	assert_int_equal(session_record(h->s, &x, NULL, &h->e), 0);
	assert_int_equal(x.pid_ns, now.pid_ns);
	/* two that are not the host's, which could tell that nobody is in one any more */
	x.pid_ns = 7;
	now.pid_ns = 8;
	x.pid_start++;
	assert_true(session_is_contained(&x, &now));
	assert_true(session_is_alive(&x, &now));
	assert_false(session_is_gone(&x, &now));
	now.boot_ms = x.seen_boot_ms + PROC_SEEN_MS;
	assert_true(session_is_alive(&x, &now));
	now.boot_ms++;
	assert_false(session_is_alive(&x, &now));
	assert_true(session_is_lost(&x, &now));
	/* a record of before is of this one */
	x.pid_ns = 0;
	assert_false(session_is_contained(&x, &now));
	x.pid_start--;
	assert_true(session_is_alive(&x, &now));
	session_release(&x);
}

static int64_t
seen_of(struct home *h, int64_t *version)
{
	struct session x;
	int64_t seen;

	assert_int_equal(session_load(h->s, "a", &x, &h->e), 1);
	seen = x.seen_boot_ms;
	*version = x.version;
	session_release(&x);
	return seen;
}

static void
test_renew(void **state)
{
	struct home *h = *state;
	struct timestamp now;
	struct session x;
	int64_t seen, version, again;

	session_init(&x);
	record_set(&x.agent_uuid, "a");
	record_set(&x.provider_name, "fake");
	assert_int_equal(session_set_process(&x, getpid()), 0);
	assert_int_equal(session_record(h->s, &x, NULL, &h->e), 0);
	session_release(&x);
	timestamp_now(&now);
	seen = seen_of(h, &version);
	now.boot_ms = seen + PROC_RENEW_MS - 1;
	assert_int_equal(session_list_renew(h->s, &now, &h->e), 0);
	assert_int_equal(seen_of(h, &again), seen);
	assert_int_equal(again, version);
	now.boot_ms++;
	assert_int_equal(session_list_renew(h->s, &now, &h->e), 0);
	assert_int_equal(seen_of(h, &again), now.boot_ms);
	assert_int_equal(again, version + 1);
	/* nobody tells for another container */
	now.boot_ms += PROC_RENEW_MS;
	now.pid_ns = 8;
	assert_int_equal(session_list_renew(h->s, &now, &h->e), 0);
	assert_int_equal(seen_of(h, &again), now.boot_ms - PROC_RENEW_MS);
}

/* A living process of a session keeps another one from taking its place. */
static void
test_live(void **state)
{
	struct home *h = *state;
	struct session x;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	session_init(&x);
	record_set(&x.agent_uuid, "a");
	record_set(&x.provider_name, "fake");
	assert_int_equal(session_set_process(&x, pid), 0);
	assert_int_equal(session_record(h->s, &x, NULL, &h->e), 0);
	assert_int_equal(session_record(h->s, &x, NULL, &h->e), 0);
	assert_int_equal(session_set_process(&x, getpid()), 0);
	assert_int_equal(session_record(h->s, &x, NULL, &h->e), -1);
	assert_string_equal(h->e.name, "live");
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(session_record(h->s, &x, NULL, &h->e), 0);
	session_release(&x);
}

/* What is stored of a process is never believed: poisoned, it is found dead, and the session is suspended. */
static void
test_poisoned(void **state)
{
	struct home *h = *state;
	struct session_reconciled did;
	struct timestamp now;
	struct session x;
	char *value;

	timestamp_now(&now);
	assert_int_equal(home_record(h, "a", NULL), 0);
	value = xasprintf("{\"schema_version\":1,\"provider_name\":\"fake\","
	    "\"process\":{\"boot_id\":\"%s\",\"pid\":1,\"start\":4711}}", now.boot_id);
	home_put(h, "session:a", "ACTIVE", value);
	assert_int_equal(session_reconcile(h->s, session_alive_now, &now, &did, &h->e), 0);
	assert_int_equal(did.suspended, 1);
	assert_int_equal(session_load(h->s, "a", &x, &h->e), 1);
	assert_int_equal(x.state, SESSION_SUSPENDED);
	assert_int_equal(x.pid, 0);
	session_release(&x);
	free(value);
}

/* --- startup --- */

static void
test_settle(void **state)
{
	struct home *h = *state;
	struct session_list all = { .n = 0 };
	struct session_reconciled did;
	struct timestamp now;
	struct session x;
	int64_t events, after;
	char id[32];

	for (int i = 0; i < 450; i++) {
		snprintf(id, sizeof id, "dead-%d", i);
		assert_int_equal(home_record(h, id, NULL), 0);
	}
	session_init(&x);
	record_set(&x.agent_uuid, "lives");
	record_set(&x.provider_name, "fake");
	assert_int_equal(session_set_process(&x, getpid()), 0);
	assert_int_equal(session_record(h->s, &x, NULL, &h->e), 0);
	session_release(&x);
	assert_int_equal(session_suspend(h->s, "dead-7", NULL, "asked", &x, &h->e), 0);
	session_release(&x);
	home_again(h);
	timestamp_now(&now);
	assert_int_equal(event_last(h->s, &events, &h->e), 0);
	assert_int_equal(session_reconcile(h->s, session_alive_now, &now, &did, &h->e), 0);
	assert_int_equal(did.suspended, 449);
	assert_int_equal(did.left, 1);
	assert_string_equal(home_state(h, "lives"), "ACTIVE");
	assert_int_equal(event_last(h->s, &after, &h->e), 0);
	assert_int_equal(after - events, 3);
	assert_int_equal(session_list_read(h->s, SESSION_ACTIVE, &all, &h->e), 0);
	assert_int_equal(all.n, 1);
	assert_int_equal(session_list_read(h->s, SESSION_SUSPENDED, &all, &h->e), 0);
	assert_int_equal(all.n, 451);
	/* a second time there is nothing to do, and nothing is written */
	assert_int_equal(session_reconcile(h->s, session_alive_now, &now, &did, &h->e), 0);
	assert_int_equal(did.suspended, 0);
	assert_int_equal(did.left, 1);
	assert_int_equal(event_last(h->s, &events, &h->e), 0);
	assert_int_equal(after, events);
	session_list_release(&all);
}

/* Records of an earlier version have fewer fields, those of a later one are refused and left alone. */
/* Whoever brings an agent back notes its new process, whatever the record said before. */
static void
test_started(void **state)
{
	struct home *h = *state;
	struct session x;
	pid_t other = fork();

	if (other == 0)
		for (;;)
			pause();
	session_init(&x);
	record_set(&x.agent_uuid, "s");
	record_set(&x.provider_name, "p");
	record_set(&x.cursor_session_id, "first");
	assert_int_equal(session_started(h->s, "s", getpid(), NULL, &h->e), -1);
	assert_string_equal(h->e.name, "not-found");
	assert_int_equal(session_record(h->s, &x, NULL, &h->e), 0);
	session_release(&x);
	assert_int_equal(session_suspend(h->s, "s", NULL, "test", &x, &h->e), 0);
	session_release(&x);
	assert_int_equal(session_started(h->s, "s", 0x7ffffff0, NULL, &h->e), 0);
	assert_int_equal(session_started(h->s, "s", other, "second", &h->e), 1);
	assert_string_equal(event_now(h), "session.started");
	home_again(h);
	assert_int_equal(session_load(h->s, "s", &x, &h->e), 1);
	assert_int_equal(x.state, SESSION_ACTIVE);
	assert_int_equal(x.pid, other);
	assert_string_equal(x.cursor_session_id, "second");
	assert_null(x.why);
	session_release(&x);
	/* while that one lives no other is its process */
	assert_int_equal(session_started(h->s, "s", getpid(), NULL, &h->e), 0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	assert_int_equal(session_started(h->s, "s", getpid(), NULL, &h->e), 1);
	assert_int_equal(session_load(h->s, "s", &x, &h->e), 1);
	assert_int_equal(x.pid, getpid());
	assert_string_equal(x.cursor_session_id, "second");
	session_release(&x);
	home_put(h, "session:over", "ENDED", "{\"provider_name\":\"p\"}");
	assert_int_equal(session_started(h->s, "over", getpid(), NULL, &h->e), 0);
}

static void
test_versions(void **state)
{
	struct home *h = *state;
	struct session x;

	home_put(h, "session:old", "SUSPENDED",
	    "{\"agent_uuid\":\"old\",\"provider_name\":\"p\",\"model\":\"m\"}");
	assert_int_equal(session_load(h->s, "old", &x, &h->e), 1);
	assert_string_equal(x.model, "m");
	assert_true(x.blob.size == -1 && x.boot_id[0] == '\0');
	session_release(&x);
	home_put(h, "session:new", "ACTIVE", "{\"schema_version\":2,\"provider_name\":\"p\"}");
	assert_int_equal(session_load(h->s, "new", &x, &h->e), -1);
	assert_string_equal(h->e.name, "newer");
	home_put(h, "session:new", "ASLEEP", "{\"schema_version\":1,\"provider_name\":\"p\"}");
	assert_int_equal(session_load(h->s, "new", &x, &h->e), -1);
	assert_string_equal(h->e.name, "corrupt");
	home_put(h, "session:new", "ACTIVE", "[]");
	assert_int_equal(session_load(h->s, "new", &x, &h->e), -1);
	assert_string_equal(h->e.name, "corrupt");
	home_delete(h, "session:new");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_record, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_record_again, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_refused, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_blob, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_blob_damaged, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_states, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_one_restores, home_setup, home_teardown),
		cmocka_unit_test(test_process),
		cmocka_unit_test_setup_teardown(test_live, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_contained, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_renew, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_poisoned, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_settle, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_started, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_versions, home_setup, home_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
