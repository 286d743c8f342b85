/* What is over leaves the store, oldest first, and nothing else does. */
#include "home.h"

#include <dirent.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "records/history/history.h"
#include "records/runs/runs.h"

#define DAY_MS ((int64_t)86400000)

struct history_house {
	struct home *h;
	char *state, *archive;
	struct history_limits limits;
	struct history_report out;
};

static struct history_house
begin(void **state)
{
	struct history_house x = { .h = *state };

	x.state = io_join(x.h->dir, "retention.json");
	x.archive = io_join(x.h->dir, "archive");
	x.limits = (struct history_limits){
		.budget_ms = 60000, .crashes_ms = DAY_MS, .state = x.state, .log = x.h->log
	};
	return x;
}

static void
end(struct history_house *x)
{
	free(x->state);
	free(x->archive);
}

static void
sweep(struct history_house *x)
{
	struct err e = ERR_INIT;

	if (history_sweep(x->h->s, &x->limits, &x->out, &e) != 0)
		fail_msg("%s: %s", e.name, e.msg);
}

static void
put_record(struct home *h, const char *key, const char *tag, char *value)
{
	struct change c = { CHANGE_PUT, key, STORE_ANY, tag, value };

	assert_int_equal(store_commit(h->s, &c, 1, &h->e), COMMIT_DONE);
	free(value);
}

/* A run, and its session, that ended so long ago. */
static void
put_run(struct home *h, const char *id, const char *state, int64_t days)
{
	char *key = xasprintf("run:%s", id), *session = xasprintf("run_session:s-%s", id);
	bool final = strcmp(state, "completed") == 0 || strcmp(state, "failed") == 0;

	put_record(h, session, final ? "finished" : "running",
	    xasprintf("{\"session_id\":\"s-%s\",\"execution_mode\":\"sync\",\"created_at\":1,\"run_id\":\"%s\"}", id,
		id));
	put_record(h, key, state,
	    xasprintf("{\"run_id\":\"%s\",\"session_id\":\"s-%s\",\"runner_id\":%s,\"created_at\":1,\"completed_at\":%lld}",
		id, id, strcmp(state, "pending") == 0 ? "null" : "\"r\"",
		final ? (long long)(clock_wall_ms() - days * DAY_MS) : 0LL));
	free(session);
	free(key);
}

static bool
is_there(struct home *h, const char *key)
{
	struct record r;
	int found = store_get(h->s, key, &r, &h->e);

	assert_true(found >= 0);
	store_record_release(&r);
	return found > 0;
}

static size_t
count_of(struct home *h, const char *prefix, const char *tag)
{
	struct records all = { 0 };
	size_t n, tallied;

	assert_int_equal(store_scan(h->s, prefix, tag, NULL, 100000, &all, &h->e), 0);
	n = all.n;
	assert_int_equal(store_count(h->s, prefix, tag, &tallied, &h->e), 0);
	assert_int_equal(n, tallied);
	store_records_release(&all);
	return n;
}

static void
test_by_age(void **state)
{
	struct history_house x = begin(state);

	put_run(x.h, "old", "completed", 91);
	put_run(x.h, "young", "failed", 89);
	put_run(x.h, "open", "running", 0);
	put_run(x.h, "waits", "pending", 0);
	put_record(x.h, "message:a", "answered", xasprintf("{\"id\":\"a\",\"to\":\"x\",\"sent_at\":5,\"delivered_at\":6}"));
	put_record(x.h, "message:b", "pending", xasprintf("{\"id\":\"b\",\"to\":\"x\",\"sent_at\":5}"));
	put_record(x.h, "crashes:/s:toast", "crashes", xasprintf("{\"times\":[1,%lld]}", (long long)clock_wall_ms()));
	put_record(x.h, "crashes:/s:gone", "crashes", xasprintf("{\"times\":[1,2]}"));
	sweep(&x);
	assert_int_equal(x.out.left, 0);
	x.limits.age_ms = 90 * DAY_MS;
	sweep(&x);
	assert_false(is_there(x.h, "run:old"));
	assert_false(is_there(x.h, "run_session:s-old"));
	assert_false(is_there(x.h, "message:a"));
	assert_false(is_there(x.h, "crashes:/s:gone"));
	assert_true(is_there(x.h, "run:young"));
	assert_true(is_there(x.h, "run_session:s-young"));
	assert_true(is_there(x.h, "run:open"));
	assert_true(is_there(x.h, "run:waits"));
	assert_true(is_there(x.h, "message:b"));
	assert_true(is_there(x.h, "crashes:/s:toast"));
	assert_int_equal(x.out.left, 4);
	end(&x);
}

/* The oldest leave, whatever their keys; those of one moment too, as many as there must. */
static void
test_by_number(void **state)
{
	struct history_house x = begin(state);
	char id[16];

	for (int i = 0; i < 1200; i++) {
		snprintf(id, sizeof id, "%04d", i * 7 % 1200);
		put_run(x.h, id, i % 2 == 0 ? "completed" : "failed", i < 600 ? 30 : i < 1190 ? 20 : 10);
	}
	put_run(x.h, "open", "claimed", 0);
	x.limits.count = 1000;
	sweep(&x);
	assert_int_equal(count_of(x.h, "run:", "completed") + count_of(x.h, "run:", "failed"), 1000);
	assert_true(is_there(x.h, "run:open"));
	x.limits.count = 10;
	sweep(&x);
	assert_int_equal(count_of(x.h, "run:", "completed") + count_of(x.h, "run:", "failed"), 10);
	assert_int_equal(count_of(x.h, "run_session:", NULL), 11);
	for (int i = 1190; i < 1200; i++) {
		snprintf(id, sizeof id, "run:%04d", i * 7 % 1200);
		assert_true(is_there(x.h, id));
	}
	end(&x);
}

/* Time is up after each page: the next sweeps go on, to the same end. */
static void
test_in_parts(void **state)
{
	struct history_house x = begin(state);
	int rounds = 0;
	char id[16];

	for (int i = 0; i < 1200; i++) {
		snprintf(id, sizeof id, "%04d", i);
		put_run(x.h, id, "completed", i < 1100 ? 3 : 1);
	}
	x.limits.count = 100;
	x.limits.budget_ms = 1;
	do {
		sweep(&x);
		rounds++;
	} while (x.out.backlog && rounds < 200);
	assert_true(rounds > 2 && rounds < 200);
	assert_int_equal(count_of(x.h, "run:", NULL), 100);
	assert_true(is_there(x.h, "run:1100"));
	end(&x);
}

/* A session that another open run belongs to stays; one that no run follows any more goes. */
static void
test_shared_session(void **state)
{
	struct history_house x = begin(state);

	put_run(x.h, "a", "completed", 100);
	put_record(x.h, "run:b", "pending",
	    xasprintf("{\"run_id\":\"b\",\"session_id\":\"s-a\",\"runner_id\":null,\"created_at\":1}"));
	x.limits.age_ms = DAY_MS;
	sweep(&x);
	assert_false(is_there(x.h, "run:a"));
	assert_true(is_there(x.h, "run_session:s-a"));
	end(&x);
}

static void
age_session(struct home *h, const char *agent)
{
	char *key = xasprintf("session:%s", agent);
	struct record r;
	json_t *v;
	struct buf value = BUF_INIT;

	assert_int_equal(store_get(h->s, key, &r, &h->e), 1);
	v = json_parse(r.value, strlen(r.value), key, NULL);
	json_put_int(v, "changed_at", 1000);
	json_print(&value, v, false);
	put_record(h, key, r.tag, buf_detach(&value));
	json_decref(v);
	store_record_release(&r);
	free(key);
}

static void
test_trees(void **state)
{
	static const char *const agents[] = { "root", "kid", "grandkid", "alone", "half", "child" };
	struct history_house x = begin(state);
	size_t n;

	home_spawn(x.h, NULL, "root");
	home_spawn(x.h, "root", "kid");
	home_spawn(x.h, "kid", "grandkid");
	home_spawn(x.h, NULL, "alone");
	home_spawn(x.h, NULL, "half");
	home_spawn(x.h, "half", "child");
	assert_int_equal(tree_end(x.h->s, "root", true, &n, &x.h->e), 0);
	assert_int_equal(tree_end(x.h->s, "alone", false, &n, &x.h->e), 0);
	assert_int_equal(tree_end(x.h->s, "child", false, &n, &x.h->e), 0);
	for (size_t i = 0; i < sizeof agents / sizeof agents[0]; i++)
		age_session(x.h, agents[i]);
	x.limits.age_ms = DAY_MS;
	sweep(&x);
	assert_string_equal(home_state(x.h, "root"), "none");
	assert_string_equal(home_state(x.h, "kid"), "none");
	assert_string_equal(home_state(x.h, "grandkid"), "none");
	assert_string_equal(home_state(x.h, "alone"), "none");
	assert_false(is_there(x.h, "tree:kid"));
	/* its parent is open */
	assert_string_equal(home_state(x.h, "child"), "ENDED");
	assert_string_equal(home_state(x.h, "half"), "ACTIVE");
	end(&x);
}

#define CHAIN 6

/* A chain of agents, the ids of those above later in the order of keys, so that a walk meets them after. */
static void
put_chain(struct home *h, int tree, const char *tag, int64_t newest)
{
	struct change c[2 * CHAIN];

	for (int i = 0; i < CHAIN; i++) {
		int64_t ended = i == 3 ? newest : 1000;
		bool open = i == CHAIN - 1 && strcmp(tag, "ENDED") != 0;
		char *above = i + 1 < CHAIN ? xasprintf("\"t%03d-%d\"", tree, i + 1) : xstrdup("null");

		c[2 * i] = (struct change){ CHANGE_PUT, xasprintf("session:t%03d-%d", tree, i), STORE_ANY,
			open ? tag : "ENDED", xasprintf("{\"changed_at\":%lld}", (long long)ended) };
		c[2 * i + 1] = (struct change){ CHANGE_PUT, xasprintf("tree:t%03d-%d", tree, i), STORE_ANY,
			open ? "open" : "ended", xasprintf("{\"parent\":%s}", above) };
		free(above);
	}
	assert_int_equal(store_commit(h->s, c, 2 * CHAIN, &h->e), COMMIT_DONE);
	for (int i = 0; i < 2 * CHAIN; i++) {
		free((char *)(uintptr_t)c[i].key);
		free((char *)(uintptr_t)c[i].value);
	}
}

/* 90 trees of six, a page at a time, the time up after almost each: a tree leaves or stays as one. */
static void
test_many_trees(void **state)
{
	struct history_house x = begin(state);
	int sweeps = 0, stay = 0;

	for (int i = 0; i < 90; i++)
		put_chain(x.h, i, i % 30 == 7 ? "SUSPENDED" : "ENDED", i % 30 == 9 ? clock_wall_ms() : 1000);
	x.limits.age_ms = DAY_MS;
	x.limits.budget_ms = 1;
	do {
		sweep(&x);
	} while (x.out.backlog && ++sweeps < 200);
	assert_true(sweeps > 2 && sweeps < 200);
	for (int i = 0; i < 90; i++) {
		bool first = false;

		for (int k = 0; k < CHAIN; k++) {
			char *session = xasprintf("session:t%03d-%d", i, k), *link = xasprintf("tree:t%03d-%d", i, k);

			first = k == 0 ? is_there(x.h, session) : first;
			assert_int_equal(is_there(x.h, session), first);
			assert_int_equal(is_there(x.h, link), first);
			free(session);
			free(link);
		}
		/* who is open, or young, is never alone; two names may share a bit */
		assert_true(first || (i % 30 != 7 && i % 30 != 9));
		stay += first;
	}
	assert_true(stay >= 6 && stay <= 8);
	end(&x);
}

/* Agents of servers that may run stay, however old what is known of them is. */
static void
test_servers(void **state)
{
	static const char seen[] = "{\"socket\":\"/s\",\"pane_id\":\"%%1\",\"agent\":\"claude\",\"server_pid\":%d,"
				   "\"seen_at\":%lld}";
	struct history_house x = begin(state);
	long long recently = clock_wall_ms() - 5000;

	put_record(x.h, "seen:1.1:%1:/s", "alive", xasprintf(seen, (int)getpid(), recently));
	put_record(x.h, "seen:2.1:%1:/s", "died", xasprintf(seen, 0x7ffffff0, recently));
	put_record(x.h, "seen:3.1:%1:/s", "died", xasprintf(seen, (int)getpid(), 1000LL));
	x.limits.age_ms = 1000;
	sweep(&x);
	assert_true(is_there(x.h, "seen:1.1:%1:/s"));
	assert_false(is_there(x.h, "seen:2.1:%1:/s"));
	assert_false(is_there(x.h, "seen:3.1:%1:/s"));
	end(&x);
}

static void
add_events(struct home *h, int n)
{
	struct event ev = { .kind = "test.event", .subject = "x" };

	for (int i = 0; i < n; i++)
		assert_int_equal(event_commit(h->s, NULL, 0, &ev, &h->e), COMMIT_DONE);
}

static void
test_events(void **state)
{
	struct history_house x = begin(state);
	struct event_log_state log;
	struct event_numbers at;
	size_t n;

	add_events(x.h, 1200);
	x.limits.count = 100;
	sweep(&x);
	assert_int_equal(x.out.events, 1100);
	assert_int_equal(event_numbers_read(x.h->s, &at, &x.h->e), 0);
	assert_int_equal(at.first, 1101);
	assert_int_equal(at.last, 1200);
	/* all of them had been written before they left, and what is kept is proved */
	add_events(x.h, 1);
	assert_int_equal(event_export(x.h->s, x.h->log, &n, &x.h->e), 0);
	assert_int_equal(n, 1);
	assert_int_equal(event_check(x.h->s, x.h->log, &log, &x.h->e), 0);
	assert_int_equal(log.lines, 1201);
	assert_int_equal(log.left, 1100);
	assert_int_equal(log.last, 1201);
	/* a log that is begun anew begins with the first that is kept */
	assert_int_equal(unlink(x.h->log), 0);
	assert_int_equal(event_export(x.h->s, x.h->log, &n, &x.h->e), 0);
	assert_int_equal(n, 101);
	assert_int_equal(event_check(x.h->s, x.h->log, &log, &x.h->e), 0);
	assert_int_equal(log.left, 0);
	end(&x);
}

/* Without its first lines the log proves nothing, unless it was made shorter by us. */
static void
test_log_limit(void **state)
{
	struct history_house x = begin(state);
	struct event_log_state log;
	struct buf text = BUF_INIT;
	const char *second;
	struct stat st;

	add_events(x.h, 300);
	assert_int_equal(event_export(x.h->s, x.h->log, NULL, &x.h->e), 0);
	assert_int_equal(io_read_private(x.h->log, 1 << 20, &text, &x.h->e), 0);
	second = strchr(text.data, '\n') + 1;
	assert_int_equal(io_write_synced(x.h->log, second, strlen(second), "test", &x.h->e), 0);
	assert_int_equal(event_check(x.h->s, x.h->log, &log, &x.h->e), -1);
	assert_string_equal(x.h->e.name, "event-log");
	assert_int_equal(io_write_synced(x.h->log, text.data, text.len, "test", &x.h->e), 0);
	assert_int_equal(history_trim_log(x.h->s, x.h->log, (int64_t)text.len, &x.h->e), 0);
	assert_int_equal(history_trim_log(x.h->s, x.h->log, 4000, &x.h->e), 1);
	assert_int_equal(stat(x.h->log, &st), 0);
	assert_true(st.st_size > 0 && st.st_size <= 2000);
	assert_int_equal(event_check(x.h->s, x.h->log, &log, &x.h->e), 0);
	assert_int_equal(log.last, 300);
	add_events(x.h, 1);
	assert_int_equal(event_export(x.h->s, x.h->log, NULL, &x.h->e), 0);
	assert_int_equal(event_check(x.h->s, x.h->log, &log, &x.h->e), 0);
	buf_release(&text);
	end(&x);
}

/* What the backup brings back of events that had left leaves once more, and is no fault. */
static void
test_restored_events(void **state)
{
	struct history_house x = begin(state);
	struct event_numbers at;
	size_t added;

	add_events(x.h, 20);
	x.limits.count = 5;
	sweep(&x);
	put_record(x.h, "event:0000000000000003", "test", xasprintf("{\"seq\":3,\"at\":1,\"kind\":\"test.event\"}"));
	assert_int_equal(event_restore(x.h->s, x.h->log, &added, &x.h->e), 0);
	assert_int_equal(added, 0);
	assert_int_equal(event_numbers_read(x.h->s, &at, &x.h->e), 0);
	assert_int_equal(at.first, 16);
	assert_int_equal(at.last, 20);
	/* the counter is lost: the numbers begin where the events do, and nothing is made up */
	assert_int_equal(store_commit(x.h->s, &(struct change){ .kind = CHANGE_DELETE, .key = "event:0000000000000003",
	    .expect = STORE_ANY }, 1, &x.h->e), COMMIT_DONE);
	assert_int_equal(store_commit(x.h->s, &(struct change){ .kind = CHANGE_DELETE, .key = "counter:event",
	    .expect = STORE_ANY }, 1, &x.h->e), COMMIT_DONE);
	assert_int_equal(event_restore(x.h->s, x.h->log, &added, &x.h->e), 0);
	assert_int_equal(added, 0);
	assert_int_equal(event_numbers_read(x.h->s, &at, &x.h->e), 0);
	assert_int_equal(at.first, 16);
	assert_int_equal(at.last, 20);
	x.limits.count = 4;
	sweep(&x);
	assert_false(is_there(x.h, "event:0000000000000003"));
	assert_int_equal(count_of(x.h, "event:", NULL), 4);
	end(&x);
}

static void
test_archive(void **state)
{
	struct history_house x = begin(state);
	char line[4096], *file = NULL;
	struct dirent *f;
	size_t lines = 0;
	DIR *d;
	gzFile in;

	put_run(x.h, "old", "completed", 91);
	x.limits.age_ms = DAY_MS;
	x.limits.archive = x.archive;
	sweep(&x);
	assert_int_equal(x.out.left, 2);
	assert_non_null(d = opendir(x.archive));
	while ((f = readdir(d)) != NULL)
		if (f->d_name[0] != '.')
			file = io_join(x.archive, f->d_name);
	closedir(d);
	assert_non_null(file);
	assert_non_null(in = gzopen(file, "r"));
	while (gzgets(in, line, sizeof line) != NULL) {
		json_t *v = json_parse(line, strlen(line), "test", NULL);

		lines++;
		assert_non_null(strstr(json_text(v, "key", ""), "old"));
		assert_true(json_is_object(json_object_get(v, "value")));
		json_decref(v);
	}
	gzclose(in);
	assert_int_equal(lines, 2);
	/* where it cannot be written nothing leaves */
	put_run(x.h, "two", "completed", 91);
	x.limits.archive = file;
	x.limits.count = 1000;
	assert_int_equal(history_sweep(x.h->s, &x.limits, &x.out, &x.h->e), -1);
	assert_true(is_there(x.h, "run:two"));
	free(file);
	end(&x);
}

/* The file as an older gt-recover would have made it. */
static void
make_older(struct home *h)
{
	char *path = io_join(h->dir, "recover.db");
	sqlite3 *db;

	store_close(h->s);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(db, "PRAGMA auto_vacuum = NONE; VACUUM", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	free(path);
	h->s = store_open("sqlite", h->dir, &h->e);
	assert_non_null(h->s);
}

/* Pages are given back, also of a file that an older gt-recover made. */
static void
shrink(void **state, bool older)
{
	struct history_house x = begin(state);
	struct store_size was, is;
	char id[16];

	if (older)
		make_older(x.h);

	for (int i = 0; i < 400; i++) {
		snprintf(id, sizeof id, "%04d", i);
		put_record(x.h, id, "x", xasprintf("\"%0900d\"", i));
	}
	for (int i = 0; i < 350; i++) {
		struct change c = { .kind = CHANGE_DELETE, .key = id, .expect = STORE_ANY };

		snprintf(id, sizeof id, "%04d", i);
		assert_int_equal(store_commit(x.h->s, &c, 1, &x.h->e), COMMIT_DONE);
	}
	assert_int_equal(store_size_read(x.h->s, &was, &x.h->e), 0);
	assert_true(was.free > was.bytes / 2);
	assert_int_equal(store_shrink(x.h->s, clock_mono_ms() + 60000, &x.h->e), 0);
	assert_int_equal(store_size_read(x.h->s, &is, &x.h->e), 0);
	assert_true(is.bytes < was.bytes / 3);
	store_close(x.h->s);
	x.h->s = store_open("sqlite", x.h->dir, &x.h->e);
	if (x.h->s == NULL)
		fail_msg("%s: %s", x.h->e.name, x.h->e.msg);
	assert_int_equal(count_of(x.h, "", NULL), 50);
	end(&x);
}

static void
test_shrink(void **state)
{
	shrink(state, false);
}

static void
test_shrink_older(void **state)
{
	shrink(state, true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_by_age, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_by_number, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_in_parts, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_shared_session, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_trees, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_many_trees, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_servers, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_events, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_log_limit, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_restored_events, home_setup, home_leave),
		cmocka_unit_test_setup_teardown(test_archive, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_shrink, home_setup, home_teardown),
		cmocka_unit_test_setup_teardown(test_shrink_older, home_setup, home_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
