/*
 * A Redis server that takes over from another one, comes back with older files, stops, has no room or
 * gives no rights: every call ends within its patience, what a server that kept its disk confirmed is
 * there, and one that may lack something confirmed is refused until somebody accepts it.
 */
#include "test.h"

#include <string.h>

#include "redis_house.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "store/store.h"

#define PATIENCE_MS 700
#define MARGIN_MS 2500			/* a loaded machine, and two conversations in a row */

struct two {
	struct redis_house a, b;	/* b follows a */
	char *at, *url;			/* a link to the socket of the one that is in use */
	char *dir;			/* the state directory of a host */
};

static struct two *
two_of(void **state)
{
	if (*state == NULL) {
		print_message("skipped: redis-server is not installed\n");
		skip();
	}
	return *state;
}

static void
start_house(struct redis_house *h)
{
	h->dir = temp_dir();
	h->socket = io_join(h->dir, "redis.sock");
	h->url = xasprintf("redis+unix://%s", h->socket);
	h->port = redis_free_port();
	redis_house_start(h);
}

static int
setup(void **state)
{
	struct two *t = NULL;

	if (redis_installed()) {
		t = xcalloc(1, sizeof *t);
		start_house(&t->a);
		t->dir = temp_dir();
		t->at = io_join(t->dir, "sock");
		t->url = xasprintf("redis+unix://%s", t->at);
		assert_int_equal(symlink(t->a.socket, t->at), 0);
		setenv("GT_REDIS_MS", "700", 1);
	}
	*state = t;
	return 0;
}

static int
teardown(void **state)
{
	struct two *t = *state;

	unsetenv("GT_REDIS_MS");
	if (t == NULL)
		return 0;
	redis_house_release(&t->a);
	if (t->b.dir != NULL)
		redis_house_release(&t->b);
	temp_remove(t->dir);
	free(t->at);
	free(t->url);
	free(t);
	return 0;
}

static enum commit
put(struct store *s, const char *key, int64_t expect, const char *value, struct err *e)
{
	struct change c = { CHANGE_PUT, key, expect, "t", value };

	return store_commit(s, &c, 1, e);
}

static void
assert_there(struct store *s, const char *key, const char *value)
{
	struct record r;

	assert_int_equal(store_get(s, key, &r, NULL), value != NULL);
	if (value != NULL)
		assert_string_equal(r.value, value);
	store_record_release(&r);
}

static int64_t
version_of(struct store *s, const char *key)
{
	struct record r;
	int64_t version;

	assert_int_equal(store_get(s, key, &r, NULL), 1);
	version = r.version;
	store_record_release(&r);
	return version;
}

static struct store *
open_at(const struct two *t, const char *dir)
{
	struct err e = ERR_INIT;
	struct store *s = store_open(t->url, dir, &e);

	if (s == NULL)
		fail_msg("%s: %s", e.name, e.msg);
	return s;
}

static void
assert_raw(const struct redis_house *h, const char *command, const char *answer)
{
	char *text = redis_raw_do(h, command);

	assert_string_equal(text, answer);
	free(text);
}

static char *
info_of(const struct redis_house *h, const char *name)
{
	char *info = redis_raw_do(h, "INFO"), *line = strstr(info, name), *value;

	assert_non_null(line);
	value = xstrndup(line + strlen(name) + 1, strcspn(line + strlen(name) + 1, "\r\n"));
	free(info);
	return value;
}

static void
follow(struct two *t)
{
	char *command = NULL;
	int64_t until = clock_mono_ms() + REDIS_DEADLINE_MS;
	bool up = false;

	start_house(&t->b);
	command = xasprintf("REPLICAOF 127.0.0.1 %d", t->a.port);
	assert_raw(&t->b, command, "OK");
	free(command);
	while (!up && clock_mono_ms() < until) {
		char *link = info_of(&t->b, "master_link_status"),
		     *writes = info_of(&t->b, "aof_rewrite_in_progress"),
		     *will = info_of(&t->b, "aof_rewrite_scheduled");

		/* its own file has what it got, too */
		up = strcmp(link, "up") == 0 && strcmp(writes, "0") == 0 && strcmp(will, "0") == 0;
		free(link);
		free(writes);
		free(will);
		clock_sleep_ms(20);
	}
	assert_true(up);
}

static void
use(struct two *t, const struct redis_house *h)
{
	assert_int_equal(unlink(t->at), 0);
	assert_int_equal(symlink(h->socket, t->at), 0);
}

/* What it has of a is what a had when it took over: all that came later is confirmed and lost. */
static void
take_over(struct two *t)
{
	assert_raw(&t->b, "REPLICAOF NO ONE", "OK");
}

static void
accept_by_hand(const struct redis_house *h)
{
	char *run = info_of(h, "run_id"), *command = xasprintf("SET gt-recover:accepted %s", run);

	assert_raw(h, command, "OK");
	free(command);
	free(run);
}

static void
a_server_that_took_over_is_refused(void **state)
{
	struct two *t = two_of(state);
	char *other = temp_dir();
	struct store *s = open_at(t, t->dir), *look;
	struct err e = ERR_INIT;
	int64_t fence, later;

	assert_int_equal(put(s, "run:1", STORE_ABSENT, "\"one\"", NULL), COMMIT_DONE);
	follow(t);
	take_over(t);
	assert_int_equal(put(s, "run:1", version_of(s, "run:1"), "\"two\"", NULL), COMMIT_DONE);
	assert_int_equal(put(s, "run:2", STORE_ABSENT, "\"lost\"", NULL), COMMIT_DONE);
	fence = version_of(s, "run:1");
	redis_house_kill(&t->a);
	use(t, &t->b);
	/* who had it open, this host, and another one that has never been here */
	assert_int_not_equal(put(s, "run:3", STORE_ABSENT, "3", &e), COMMIT_DONE);
	assert_non_null(strstr(e.hint, "gt-recover:accepted"));
	store_close(s);
	assert_null(store_open(t->url, t->dir, &e));
	assert_string_equal(e.name, "failed-over");
	assert_int_equal(e.code, GT_FAIL);
	assert_null(store_open(t->url, other, &e));
	assert_string_equal(e.name, "failed-over");
	assert_non_null(strstr(e.msg, "replication offset"));
	/* looking is no danger */
	look = store_open_readonly(t->url, t->dir, &e);
	assert_non_null(look);
	assert_there(look, "run:1", "\"one\"");
	assert_there(look, "run:2", NULL);
	assert_int_equal(store_check(look, &e), -1);
	assert_string_equal(e.name, "failed-over");
	store_close(look);
	/* accepted: no fence of before holds, and the number of a lost one does not come again */
	accept_by_hand(&t->b);
	s = open_at(t, other);
	later = version_of(s, "run:1");
	assert_true(later > fence);
	assert_int_equal(put(s, "run:1", fence, "\"old\"", NULL), COMMIT_CONFLICT);
	assert_int_equal(put(s, "run:1", later, "\"three\"", NULL), COMMIT_DONE);
	assert_int_equal(version_of(s, "run:1"), later + 1);
	assert_int_equal(store_check(s, NULL), 0);
	store_close(s);
	s = open_at(t, t->dir);
	assert_int_equal(put(s, "run:4", STORE_ABSENT, "4", NULL), COMMIT_DONE);
	store_close(s);
	temp_remove(other);
}

/* What Redis says of a take-over ends with the server; what this host knows of its commit does not. */
static void
a_restart_does_not_hide_a_take_over(void **state)
{
	struct two *t = two_of(state);
	struct store *s = open_at(t, t->dir);
	struct err e = ERR_INIT;

	assert_int_equal(put(s, "run:1", STORE_ABSENT, "1", NULL), COMMIT_DONE);
	follow(t);
	take_over(t);
	assert_int_equal(put(s, "run:2", STORE_ABSENT, "2", NULL), COMMIT_DONE);
	store_close(s);
	redis_house_kill(&t->a);
	redis_house_kill(&t->b);
	redis_house_start(&t->b);
	use(t, &t->b);
	assert_null(store_open(t->url, t->dir, &e));
	assert_string_equal(e.name, "failed-over");
	assert_non_null(strstr(e.msg, "last one of this host is missing"));
	accept_by_hand(&t->b);
	s = open_at(t, t->dir);
	assert_int_equal(put(s, "run:2", STORE_ABSENT, "2", NULL), COMMIT_DONE);
	store_close(s);
	s = open_at(t, t->dir);
	store_close(s);
}

/* A replica that has all, and a server that kept its disk. */
static void
a_restart_alone_is_none(void **state)
{
	struct two *t = two_of(state);
	struct store *s = open_at(t, t->dir);

	for (int i = 0; i < 3; i++) {
		char key[16];

		snprintf(key, sizeof key, "run:%d", i);
		assert_int_equal(put(s, key, STORE_ABSENT, "1", NULL), COMMIT_DONE);
		redis_house_kill(&t->a);
		redis_house_start(&t->a);
		assert_there(s, key, "1");
		store_close(s);
		s = open_at(t, t->dir);
		assert_there(s, key, "1");
	}
	store_close(s);
}

static void
assert_emptied(const struct two *t)
{
	struct err e = ERR_INIT;

	assert_null(store_open(t->url, t->dir, &e));
	assert_string_equal(e.name, "emptied");
	assert_int_equal(e.code, GT_FAIL);
	assert_non_null(strstr(e.hint, "appendonlydir"));
	assert_non_null(strstr(e.hint, "gt-recover:accepted"));
}

static void
an_emptied_server_is_no_new_store(void **state)
{
	struct two *t = two_of(state);
	struct store *s = open_at(t, t->dir), *look;
	char *other = temp_dir(), *url = xasprintf("%s?db=1", t->url);
	struct err e = ERR_INIT;

	assert_int_equal(put(s, "run:1", STORE_ABSENT, "1", NULL), COMMIT_DONE);
	store_close(s);
	assert_raw(&t->a, "FLUSHALL", "OK");
	assert_emptied(t);
	assert_null(store_open_readonly(t->url, t->dir, &e));
	assert_string_equal(e.name, "emptied");
	assert_raw(&t->a, "DBSIZE", "0");
	/* another database is what was asked for */
	s = store_open(url, t->dir, &e);
	assert_non_null(s);
	store_close(s);
	/* for a host that never recorded there it is a new store, and for ours another one */
	store_close(open_at(t, other));
	assert_emptied(t);
	look = store_open_readonly(t->url, t->dir, &e);
	assert_non_null(look);
	assert_int_equal(store_check(look, &e), -1);
	assert_string_equal(e.name, "emptied");
	store_close(look);
	accept_by_hand(&t->a);
	s = open_at(t, t->dir);
	assert_there(s, "run:1", NULL);
	assert_int_equal(put(s, "run:1", STORE_ABSENT, "2", NULL), COMMIT_DONE);
	store_close(s);
	/* started without its files */
	redis_house_kill(&t->a);
	redis_house_empty(&t->a);
	redis_house_start(&t->a);
	assert_emptied(t);
	accept_by_hand(&t->a);
	s = open_at(t, t->dir);
	assert_int_equal(put(s, "run:1", STORE_ABSENT, "3", NULL), COMMIT_DONE);
	store_close(s);
	store_close(open_at(t, t->dir));
	temp_remove(other);
	free(url);
}

/* Runs out: 0 when it took at most that long. */
static void
assert_ends(const char *what, int64_t began)
{
	int64_t took = clock_mono_ms() - began;

	if (took > 2 * PATIENCE_MS + MARGIN_MS)
		fail_msg("%s took %lld ms", what, (long long)took);
}

static void
a_stopped_server_is_given_up(void **state)
{
	struct two *t = two_of(state);
	struct store *s = open_at(t, t->dir);
	struct err e = ERR_INIT;
	struct record r;
	int64_t began;

	assert_int_equal(put(s, "run:1", STORE_ABSENT, "1", NULL), COMMIT_DONE);
	kill(t->a.pid, SIGSTOP);
	began = clock_mono_ms();
	assert_int_equal(store_get(s, "run:1", &r, &e), -1);
	assert_string_equal(e.name, "store-down");
	assert_ends("a read", began);
	began = clock_mono_ms();
	assert_int_not_equal(put(s, "run:2", STORE_ABSENT, "2", &e), COMMIT_DONE);
	assert_ends("a commit", began);
	began = clock_mono_ms();
	assert_null(store_open(t->url, t->dir, &e));
	assert_string_equal(e.name, "store-down");
	assert_int_equal(e.code, GT_AGAIN);
	assert_ends("opening", began);
	kill(t->a.pid, SIGCONT);
	assert_there(s, "run:1", "1");
	assert_int_equal(put(s, "run:3", STORE_ABSENT, "3", NULL), COMMIT_DONE);
	store_close(s);
	s = open_at(t, t->dir);
	assert_there(s, "run:1", "1");
	assert_there(s, "run:3", "3");
	store_close(s);
}

/* Puts records of 100 kB until one is refused; how many were confirmed. */
static int
fill(struct store *s, struct err *e)
{
	char *value = xmalloc(100003), key[16];
	int n = 0;

	memset(value, 'x', 100002);
	value[0] = value[100001] = '"';
	value[100002] = '\0';
	for (; n < 400; n++) {
		int64_t began = clock_mono_ms();
		enum commit answer;

		snprintf(key, sizeof key, "run:%d", n);
		answer = put(s, key, STORE_ABSENT, value, e);
		assert_ends("a commit", began);
		if (answer != COMMIT_DONE)
			break;
	}
	free(value);
	return n;
}

static void
assert_filled(struct store *s, int n)
{
	char key[16];

	for (int i = 0; i < n; i++) {
		struct record r;

		snprintf(key, sizeof key, "run:%d", i);
		assert_int_equal(store_get(s, key, &r, NULL), 1);
		store_record_release(&r);
	}
	assert_int_equal(store_check(s, NULL), 0);
}

static void
no_memory_refuses_whole_commits(void **state)
{
	struct two *t = two_of(state);
	struct store *s = open_at(t, t->dir);
	struct err e = ERR_INIT;
	int n;

	assert_raw(&t->a, "CONFIG SET maxmemory 8mb", "OK");
	n = fill(s, &e);
	assert_true(n >= 1 && n <= 399);
	assert_string_equal(e.name, "redis");
	assert_non_null(strstr(e.hint, "memory"));
	assert_filled(s, n);
	assert_raw(&t->a, "CONFIG SET maxmemory 0", "OK");
	assert_int_equal(put(s, "run:next", STORE_ABSENT, "1", NULL), COMMIT_DONE);
	store_close(s);
}

/* With appendfsync always the server ends when it cannot write its file. */
static void
no_room_loses_nothing_confirmed(void **state)
{
	struct two *t = two_of(state);
	struct store *s;
	struct err e = ERR_INIT;
	int n;

	redis_house_kill(&t->a);
	t->a.most = 2 << 20;
	redis_house_start(&t->a);
	s = open_at(t, t->dir);
	n = fill(s, &e);
	assert_true(n >= 1 && n <= 399);
	assert_true(strcmp(e.name, "unknown") == 0 || strcmp(e.name, "store-down") == 0 ||
	    strcmp(e.name, "redis") == 0);
	assert_true(e.hint[0] != '\0');
	store_close(s);
	redis_house_kill(&t->a);
	t->a.most = 0;
	redis_house_start(&t->a);
	s = open_at(t, t->dir);
	assert_filled(s, n);
	assert_int_equal(put(s, "run:next", STORE_ABSENT, "1", NULL), COMMIT_DONE);
	store_close(s);
}

/* As the user gt, with those rights. */
static struct store *
open_with(struct two *t, const char *rights, struct err *e)
{
	char *command = xasprintf("ACL SETUSER gt reset on >word %s", rights), *url, *file;
	struct store *s;

	assert_raw(&t->a, command, "OK");
	file = io_join(t->dir, "password");
	assert_int_equal(io_write_durable(file, "word\n", 5, NULL, NULL), 0);
	url = xasprintf("redis://gt@127.0.0.1:%d/0?password_file=%s", t->a.port, file);
	err_clear(e);
	s = store_open(url, t->dir, e);
	free(command);
	free(url);
	free(file);
	return s;
}

/* Rights may be taken away while it is open, and a script that fails on its way is not undone. */
static void
missing_rights_break_nothing(void **state)
{
	static const char *const taken[] = { "-set", "-hset", "-hdel", "-zadd", "-zrem", "-incr", "-del",
		"-zremrangebyrank", "resetkeys ~gt-recover:*", "resetkeys ~run:*", "-eval", "-@all" };
	struct two *t = two_of(state);
	struct err e = ERR_INIT;
	struct store *s, *whole = open_at(t, t->dir);

	assert_int_equal(put(whole, "run:1", STORE_ABSENT, "1", NULL), COMMIT_DONE);
	assert_null(open_with(t, "-@all", &e));
	assert_string_equal(e.name, "auth");
	assert_null(open_with(t, "~* +@all -eval", &e));
	assert_string_equal(e.name, "auth");
	for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
		struct change both[] = { { CHANGE_PUT, "run:1", version_of(whole, "run:1"), "u", "2" },
			{ CHANGE_PUT, "run:2", STORE_ABSENT, "t", "2" },
			{ CHANGE_PUT, "other:2", STORE_ABSENT, "t", "2" } };
		char *command = xasprintf("ACL SETUSER gt %s", taken[i]);

		s = open_with(t, "~* +@all", &e);
		assert_non_null(s);
		assert_raw(&t->a, command, "OK");
		if (store_commit(s, both, 3, &e) == COMMIT_DONE)
			fail_msg("%s: done", taken[i]);
		assert_true(strcmp(e.name, "auth") == 0 || strcmp(e.name, "redis") == 0);
		if (e.hint[0] == '\0')
			fail_msg("%s: %s", taken[i], e.msg);
		store_close(s);
		assert_there(whole, "run:1", "1");
		assert_there(whole, "run:2", NULL);
		assert_int_equal(version_of(whole, "run:1"), both[0].expect);
		assert_raw(&t->a, "EXISTS run:2", "0");
		assert_raw(&t->a, "EXISTS other:2", "0");
		free(command);
	}
	assert_raw(&t->a, "DEL gt-recover:checked", "0");
	assert_int_equal(store_check(whole, NULL), 0);
	store_close(whole);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(a_server_that_took_over_is_refused),
		WITH_SERVER(a_restart_does_not_hide_a_take_over),
		WITH_SERVER(a_restart_alone_is_none),
		WITH_SERVER(an_emptied_server_is_no_new_store),
		WITH_SERVER(a_stopped_server_is_given_up),
		WITH_SERVER(no_memory_refuses_whole_commits),
		WITH_SERVER(no_room_loses_nothing_confirmed),
		WITH_SERVER(missing_rights_break_nothing),
	};

	return cmocka_run_group_tests_name("redis_sick", tests, NULL, NULL);
}
