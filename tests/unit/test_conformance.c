/* What the seam promises (store/store.h), of every backend. */
#include "test.h"

#include <string.h>
#include <sys/wait.h>

#include "redis_house.h"
#include "base/err.h"
#include "store/store.h"
#include "store/redis_private.h"

enum backend_kind { SQLITE, REDIS };

struct home {
	bool is_redis;
	struct redis_house house;	/* of SQLite: its directory and url alone */
	struct store *s;
	struct err e;
};

static enum backend_kind kinds[] = { SQLITE, REDIS };

static struct store *
open_one(struct home *h)
{
	return store_open(h->house.url, h->house.dir, &h->e);
}

static int
setup(void **state)
{
	enum backend_kind kind = *(enum backend_kind *)*state;
	struct home *h = xcalloc(1, sizeof *h);

	*state = h;
	h->is_redis = kind == REDIS;
	if (h->is_redis && !redis_installed())
		return 0;
	if (h->is_redis) {
		redis_house_init(&h->house);
	} else {
		h->house.dir = temp_dir();
		h->house.url = xstrdup("sqlite");
	}
	h->s = open_one(h);
	if (h->s == NULL)
		fail_msg("%s", h->e.msg);
	return 0;
}

static int
teardown(void **state)
{
	struct home *h = *state;

	if (h->s != NULL)
		store_close(h->s);
	if (h->is_redis && h->house.dir != NULL)
		redis_house_release(&h->house);
	if (!h->is_redis) {
		free(h->house.url);
		temp_remove(h->house.dir);
	}
	free(h);
	return 0;
}

/* The store is there, or the test is skipped, and counted so. */
static struct home *
home_of(void **state)
{
	struct home *h = *state;

	if (h->s == NULL) {
		print_message("skipped: redis-server is not installed\n");
		skip();
	}
	return h;
}

static void
reopen(struct home *h)
{
	store_close(h->s);
	h->s = open_one(h);
	assert_non_null(h->s);
}

static enum commit
put(struct store *s, const char *key, int64_t expect, const char *tag, const char *value, struct err *e)
{
	struct change c = { CHANGE_PUT, key, expect, tag, value };

	return store_commit(s, &c, 1, e);
}

static int64_t
version(struct store *s, const char *key)
{
	struct record r;
	int64_t v;

	assert_int_not_equal(store_get(s, key, &r, NULL), -1);
	v = r.version;
	record_release(&r);
	return v;
}

static void
assert_record(struct store *s, const char *key, const char *tag, const char *value)
{
	struct record r;

	assert_int_equal(store_get(s, key, &r, NULL), 1);
	assert_string_equal(r.key, key);
	assert_string_equal(r.tag, tag);
	assert_string_equal(r.value, value);
	record_release(&r);
}

static void
test_put_get(void **state)
{
	struct home *h = home_of(state);
	struct record r;
	int64_t v;

	assert_int_equal(store_get(h->s, "epic:a:state", &r, &h->e), 0);
	assert_int_equal(r.version, 0);
	assert_int_equal(put(h->s, "epic:a:state", STORE_ABSENT, "in_progress", "{\"n\": \"\\u0001 \xc3\xa4\"}", &h->e), COMMIT_DONE);
	v = version(h->s, "epic:a:state");
	assert_true(v >= 1);
	assert_record(h->s, "epic:a:state", "in_progress", "{\"n\": \"\\u0001 \xc3\xa4\"}");
	assert_int_equal(put(h->s, "epic:a:state", v, "a tag of words", "[]", &h->e), COMMIT_DONE);
	assert_int_equal(version(h->s, "epic:a:state"), v + 1);
	reopen(h);
	assert_record(h->s, "epic:a:state", "a tag of words", "[]");
	assert_int_equal(version(h->s, "epic:a:state"), v + 1);
	assert_true(llabs((long long)(store_now(h->s) - clock_wall_ms())) < 60000);
}

static void
test_conflict(void **state)
{
	struct home *h = home_of(state);
	struct change gone = { .kind = CHANGE_DELETE, .key = "lock:a", .expect = STORE_ANY };
	int64_t first, second;

	assert_int_equal(put(h->s, "lock:a", 3, "held", "1", &h->e), COMMIT_CONFLICT);
	assert_int_equal(put(h->s, "lock:a", STORE_ABSENT, "held", "1", &h->e), COMMIT_DONE);
	first = version(h->s, "lock:a");
	assert_int_equal(put(h->s, "lock:a", STORE_ABSENT, "held", "2", &h->e), COMMIT_CONFLICT);
	assert_string_equal(h->e.name, "conflict");
	assert_int_equal(h->e.code, GT_AGAIN);
	assert_non_null(strstr(h->e.msg, "lock:a"));
	assert_int_equal(put(h->s, "lock:a", first + 1, "held", "2", &h->e), COMMIT_CONFLICT);
	assert_record(h->s, "lock:a", "held", "1");
	assert_int_equal(put(h->s, "lock:a", STORE_ANY, "held", "3", &h->e), COMMIT_DONE);
	second = version(h->s, "lock:a");
	assert_int_equal(second, first + 1);

	/* deleted and made anew: whoever still holds an old version must lose */
	assert_int_equal(store_commit(h->s, &gone, 1, &h->e), COMMIT_DONE);
	assert_int_equal(store_commit(h->s, &gone, 1, &h->e), COMMIT_DONE);
	assert_int_equal(version(h->s, "lock:a"), 0);
	assert_int_equal(put(h->s, "lock:a", STORE_ABSENT, "held", "4", &h->e), COMMIT_DONE);
	assert_true(version(h->s, "lock:a") > second);
	assert_int_equal(put(h->s, "lock:a", second, "held", "5", &h->e), COMMIT_CONFLICT);
	gone.expect = second;
	assert_int_equal(store_commit(h->s, &gone, 1, &h->e), COMMIT_CONFLICT);
	assert_record(h->s, "lock:a", "held", "4");
}

static void
test_check_only(void **state)
{
	struct home *h = home_of(state);
	struct change c[] = {
		{ CHANGE_PUT, "agent:child", STORE_ABSENT, "active", "{}" },
		{ CHANGE_DELETE, "agent:old", STORE_ANY, NULL, NULL },
		{ CHANGE_CHECK, "agent:parent", STORE_ABSENT, NULL, NULL },
	};
	int64_t old;

	assert_int_equal(put(h->s, "agent:parent", STORE_ABSENT, "active", "{}", &h->e), COMMIT_DONE);
	assert_int_equal(put(h->s, "agent:old", STORE_ABSENT, "active", "{}", &h->e), COMMIT_DONE);
	old = version(h->s, "agent:old");
	/* all of it or nothing, in whatever place the one stands that does not hold */
	assert_int_equal(store_commit(h->s, c, 3, &h->e), COMMIT_CONFLICT);
	assert_int_equal(version(h->s, "agent:child"), 0);
	assert_int_equal(version(h->s, "agent:old"), old);
	c[2].expect = version(h->s, "agent:parent");
	assert_int_equal(store_commit(h->s, &c[2], 1, &h->e), COMMIT_DONE);
	assert_int_equal(store_commit(h->s, c, 3, &h->e), COMMIT_DONE);
	assert_record(h->s, "agent:child", "active", "{}");
	assert_int_equal(version(h->s, "agent:old"), 0);
	assert_int_equal(version(h->s, "agent:parent"), c[2].expect);
}

static void
assert_keys(struct home *h, const char *prefix, const char *tag, const char *after, size_t limit, const char *keys)
{
	struct records r = { 0 };
	struct buf b = BUF_INIT;

	assert_int_equal(store_scan(h->s, prefix, tag, after, limit, &r, &h->e), 0);
	for (size_t i = 0; i < r.n; i++)
		buf_fmt(&b, "%s%s", i > 0 ? " " : "", r.v[i].key);
	assert_string_equal(b.data, keys);
	buf_release(&b);
	records_release(&r);
}

static void
test_scan(void **state)
{
	static const char *const keys[] = { "run:1", "run:10", "run:2", "run:\xc3\xbf", "run", "run;", "rum:z", "run:3" };
	struct home *h = home_of(state);
	struct change gone = { .kind = CHANGE_DELETE, .key = "run:3", .expect = STORE_ANY };

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		assert_int_equal(put(h->s, keys[i], STORE_ABSENT, i % 2 == 0 ? "open" : "done", "{}", &h->e), COMMIT_DONE);
	assert_keys(h, "run:", NULL, NULL, 0, "run:1 run:10 run:2 run:3 run:\xc3\xbf");
	assert_keys(h, "run:", NULL, "run:10", 2, "run:2 run:3");
	assert_keys(h, "run:", NULL, "a", 1, "run:1");
	assert_keys(h, "run:", NULL, "s", 0, "");
	assert_keys(h, "run:", "open", NULL, 0, "run:1 run:2");
	assert_keys(h, "", NULL, "run:3", 0, "run:\xc3\xbf run;");
	assert_keys(h, "run:\xc3", NULL, NULL, 0, "run:\xc3\xbf");
	/* what changes its tag or goes is found so */
	assert_int_equal(put(h->s, "run:1", STORE_ANY, "done", "{}", &h->e), COMMIT_DONE);
	assert_int_equal(store_commit(h->s, &gone, 1, &h->e), COMMIT_DONE);
	assert_keys(h, "run:", "open", NULL, 0, "run:2");
	assert_keys(h, "run:", "done", NULL, 0, "run:1 run:10 run:\xc3\xbf");
	assert_keys(h, "run:", "never", NULL, 0, "");
}

static char *
large(size_t n, char fill)
{
	char *s = xmalloc(n + 1);

	memset(s, fill, n);
	s[0] = s[n - 1] = '"';
	s[n] = '\0';
	return s;
}

static void
test_large_values(void **state)
{
	struct home *h = home_of(state);
	struct records r = { 0 };
	char key[32], *most = large(STORE_MAX_VALUE, 'm');
	struct change c[3];

	for (int i = 0; i < 9; i++) {
		char *v = large((size_t)1 << 20, (char)('a' + i));

		snprintf(key, sizeof key, "sprint:%d", i);
		assert_int_equal(put(h->s, key, STORE_ABSENT, "t", v, &h->e), COMMIT_DONE);
		free(v);
	}
	for (int i = 0; i < 3; i++)
		c[i] = (struct change){ CHANGE_PUT, i == 0 ? "x" : i == 1 ? "y" : "z", STORE_ABSENT, "t", most };
	assert_int_equal(store_commit(h->s, c, 3, &h->e), COMMIT_DONE);
	reopen(h);
	assert_int_equal(store_scan(h->s, "sprint:", "t", NULL, 0, &r, &h->e), 0);
	assert_int_equal(r.n, 9);
	for (int i = 0; i < 9; i++) {
		assert_int_equal(strlen(r.v[i].value), 1 << 20);
		assert_int_equal(r.v[i].value[1 << 19], 'a' + i);
	}
	records_release(&r);
	assert_record(h->s, "z", "t", most);
	free(most);
}

#define KEYS 10000
#define PER_COMMIT 500

static int
count_row(const struct record *r, void *arg, struct err *e)
{
	int *n = arg;
	char key[32];

	(void)e;
	snprintf(key, sizeof key, "session:%05d", *n);
	assert_string_equal(r->key, key);
	assert_string_equal(r->tag, *n % 100 == 0 ? "active" : "ended");
	++*n;
	return 0;
}

static int
count_tagged(const struct record *r, void *arg, struct err *e)
{
	(void)e;
	assert_string_equal(r->tag, "active");
	++*(int *)arg;
	return 0;
}

static void
test_many_keys(void **state)
{
	struct home *h = home_of(state);
	static char keys[PER_COMMIT][32];
	struct change c[PER_COMMIT];
	struct records r = { 0 };
	int n = 0;

	for (int i = 0; i < KEYS; i++) {
		snprintf(keys[i % PER_COMMIT], sizeof keys[0], "session:%05d", i);
		c[i % PER_COMMIT] = (struct change){ CHANGE_PUT, keys[i % PER_COMMIT], STORE_ABSENT, i % 100 == 0 ? "active" : "ended", "{\"a\":1}" };
		if (i % PER_COMMIT == PER_COMMIT - 1)
			assert_int_equal(store_commit(h->s, c, PER_COMMIT, &h->e), COMMIT_DONE);
	}
	reopen(h);
	assert_int_equal(store_each(h->s, "session:", NULL, count_row, &n, &h->e), 0);
	assert_int_equal(n, KEYS);
	n = 0;
	assert_int_equal(store_each(h->s, "session:", "active", count_tagged, &n, &h->e), 0);
	assert_int_equal(n, KEYS / 100);
	assert_int_equal(store_scan(h->s, "session:", NULL, "session:09989", 1000, &r, &h->e), 0);
	assert_int_equal(r.n, 10);
	records_release(&r);
	assert_int_equal(store_scan(h->s, "", NULL, NULL, KEYS + 1, &r, &h->e), 0);
	assert_int_equal(r.n, KEYS);
	records_release(&r);
}

#define CLAIMERS 8
#define CLAIMS 25

static void
claimer(struct home *h)
{
	struct store *s = open_one(h);
	char key[32];
	int won = 0;

	for (int i = 0; s != NULL && i < CLAIMS; i++) {
		enum commit answer;

		snprintf(key, sizeof key, "claim:%d", i);
		answer = put(s, key, STORE_ABSENT, "held", "{}", NULL);
		if (answer != COMMIT_DONE && answer != COMMIT_CONFLICT)
			_exit(255);
		won += answer == COMMIT_DONE;
	}
	_exit(s == NULL ? 254 : won);
}

static void
test_claims_from_many_processes(void **state)
{
	struct home *h = home_of(state);
	int total = 0;
	pid_t pid[CLAIMERS];

	for (int i = 0; i < CLAIMERS; i++)
		if ((pid[i] = fork()) == 0)
			claimer(h);
	for (int i = 0; i < CLAIMERS; i++) {
		int status;

		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status));
		assert_true(WEXITSTATUS(status) <= CLAIMS);
		total += WEXITSTATUS(status);
	}
	assert_int_equal(total, CLAIMS);
}

#define MOVING 40

/* Gives all records the same number, again and again, in one commit. */
static void
mover(struct home *h)
{
	static char keys[MOVING][16];
	struct store *s = open_one(h);
	struct change c[MOVING];
	char tag[16], value[32];

	for (int n = 1; s != NULL; n++) {
		snprintf(tag, sizeof tag, "t%d", n);
		snprintf(value, sizeof value, "%d", n);
		for (int i = 0; i < MOVING; i++) {
			snprintf(keys[i], sizeof keys[i], "moving:%02d", i);
			c[i] = (struct change){ CHANGE_PUT, keys[i], STORE_ANY, tag, value };
		}
		if (store_commit(s, c, MOVING, NULL) != COMMIT_DONE)
			_exit(1);
	}
	_exit(2);
}

/* Each record is whole, none is missing and none there twice, in order. */
static void
test_scan_while_writing(void **state)
{
	struct home *h = home_of(state);
	int64_t until = clock_mono_ms() + REDIS_DEADLINE_MS;
	int changes = 0, status;
	char last[32] = "";
	pid_t pid = fork();

	if (pid == 0)
		mover(h);
	while (version(h->s, "moving:00") == 0 && clock_mono_ms() < until)
		clock_sleep_ms(1);
	while (changes < 20 && clock_mono_ms() < until) {
		struct records r = { 0 };

		assert_int_equal(store_scan(h->s, "moving:", NULL, NULL, 0, &r, &h->e), 0);
		assert_int_equal(r.n, MOVING);
		for (size_t i = 0; i < r.n; i++) {
			assert_string_equal(r.v[i].tag + 1, r.v[i].value);
			assert_true(i == 0 || strcmp(r.v[i - 1].key, r.v[i].key) < 0);
		}
		changes += strcmp(last, r.v[0].value) != 0;
		snprintf(last, sizeof last, "%s", r.v[0].value);
		records_release(&r);
	}
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	assert_int_equal(changes, 20);
}

/* kill -9 of the client: what was acknowledged (a byte in the pipe) is there, at most one more. */
static void
test_killed_clients(void **state)
{
	struct home *h = home_of(state);

	for (int round = 0; round < 10; round++) {
		struct records r = { 0 };
		size_t acked = 0;
		char byte, prefix[32];
		int p[2], status;
		pid_t pid;

		snprintf(prefix, sizeof prefix, "r%d:", round);
		assert_int_equal(pipe2(p, O_CLOEXEC), 0);
		pid = fork();
		if (pid == 0) {
			struct store *s = open_one(h);
			char key[64];

			for (int i = 0; s != NULL; i++) {
				snprintf(key, sizeof key, "%s%06d", prefix, i);
				if (put(s, key, STORE_ABSENT, "t", "{}", NULL) != COMMIT_DONE || write(p[1], "x", 1) != 1)
					_exit(1);
			}
			_exit(1);
		}
		close(p[1]);
		for (int i = 0; i < 3 + round; i++)
			assert_int_equal(read(p[0], &byte, 1), 1);
		acked = 3 + (size_t)round;
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		while (read(p[0], &byte, 1) == 1)
			acked++;
		close(p[0]);
		reopen(h);
		assert_int_equal(store_scan(h->s, prefix, NULL, NULL, 100000, &r, &h->e), 0);
		assert_true(r.n == acked || r.n == acked + 1);
		records_release(&r);
	}
}

/* A server that does not answer any more: nobody knows what became of the commit, and the store goes on when it is back. */
static void
test_unknown(void **state)
{
	struct home *h = home_of(state);
	int64_t before, after;

	if (!h->is_redis) {
		print_message("skipped: a failing disk under SQLite is test_store's\n");
		skip();
	}
	assert_int_equal(put(h->s, "lock:a", STORE_ABSENT, "held", "1", &h->e), COMMIT_DONE);
	before = version(h->s, "lock:a");
	store_close(h->s);
	h->s = open_one(h);
	((struct redis_store *)h->s)->patience_ms = 300;
	assert_int_equal(version(h->s, "lock:a"), before);
	redis_house_kill(&h->house);
	/* nothing was sent, or it went to nobody: one of the two that are no success */
	assert_int_not_equal(put(h->s, "lock:a", before, "held", "2", &h->e), COMMIT_DONE);
	redis_house_start(&h->house);
	assert_int_equal(version(h->s, "lock:a"), before);
	redis_unlink((struct redis_store *)h->s);
	assert_int_equal(version(h->s, "lock:a"), before);

	kill(h->house.pid, SIGSTOP);
	assert_int_equal(put(h->s, "lock:a", before, "held", "3", &h->e), COMMIT_UNKNOWN);
	assert_string_equal(h->e.name, "unknown");
	kill(h->house.pid, SIGCONT);
	((struct redis_store *)h->s)->patience_ms = REDIS_DEADLINE_MS;
	after = version(h->s, "lock:a");
	assert_true(after == before || after == before + 1);
	assert_int_equal(put(h->s, "lock:a", after, "held", "4", &h->e), COMMIT_DONE);
	assert_record(h->s, "lock:a", "held", "4");
}

/* One record a commit, and a counter that each of them raises: the answer to each must be certain, whatever happens to the server. */
static void
work_through(struct home *h, int out, int stop)
{
	struct store *s = open_one(h);
	int done = 0;
	char byte;

	fcntl(stop, F_SETFL, O_NONBLOCK);
	while (s != NULL && read(stop, &byte, 1) != 1) {
		char key[32], value[32];
		struct record r;
		struct err e = ERR_INIT;
		struct change c[2];
		enum commit answer;

		if (store_get(s, "counter", &r, &e) < 0)
			_exit(3);
		snprintf(key, sizeof key, "step:%06d", done);
		snprintf(value, sizeof value, "%d", r.value != NULL ? atoi(r.value) + 1 : 1);
		c[0] = (struct change){ CHANGE_PUT, key, STORE_ABSENT, "t", value };
		c[1] = (struct change){ CHANGE_PUT, "counter", r.version, "t", value };
		answer = store_commit(s, c, 2, &e);
		record_release(&r);
		if (answer != COMMIT_DONE)
			_exit(10 + (int)answer);
		done++;
		if (write(out, &done, sizeof done) != sizeof done)
			_exit(4);
	}
	_exit(s != NULL ? 0 : 5);
}

static int
wait_for(int fd, int steps)
{
	int done = 0;

	for (int i = 0; i < steps; i++)
		if (read(fd, &done, sizeof done) != sizeof done)
			return -1;
	return done;
}

/* kill -9 of the server in the middle, and it comes back: a client that works on loses nothing, does nothing twice, and knows it. */
static void
test_killed_server(void **state)
{
	struct home *h = home_of(state);
	struct records r = { 0 };
	int out[2], stop[2], status, done = 0;
	char value[32];
	ssize_t n;
	int latest;
	pid_t pid;

	if (!h->is_redis) {
		print_message("skipped: SQLite has no server\n");
		skip();
	}
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		close(out[0]);
		work_through(h, out[1], stop[0]);
	}
	close(out[1]);
	for (int round = 0; round < 8; round++) {
		assert_int_not_equal(wait_for(out[0], 20 + 7 * round), -1);
		redis_house_kill(&h->house);
		redis_house_start(&h->house);
	}
	done = wait_for(out[0], 20);
	assert_int_not_equal(done, -1);
	assert_int_equal(write(stop[1], "x", 1), 1);
	while ((n = read(out[0], &latest, sizeof latest)) == sizeof latest)
		done = latest;
	assert_int_equal(n, 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(out[0]);
	close(stop[0]);
	close(stop[1]);
	assert_int_equal(store_scan(h->s, "step:", NULL, NULL, 1000000, &r, &h->e), 0);
	assert_int_equal(r.n, done);
	records_release(&r);
	snprintf(value, sizeof value, "%d", done);
	assert_record(h->s, "counter", "t", value);
}

/* Reading alone: what is committed is seen, nothing is written. */
static void
test_look(void **state)
{
	struct home *h = home_of(state);
	struct store *s;

	assert_int_equal(put(h->s, "a", STORE_ABSENT, "t", "1", &h->e), COMMIT_DONE);
	s = store_look(h->house.url, h->house.dir, &h->e);
	assert_non_null(s);
	assert_record(s, "a", "t", "1");
	assert_int_equal(put(s, "a", STORE_ANY, "t", "2", &h->e), COMMIT_ERROR);
	assert_string_equal(h->e.name, "read-only");
	store_close(s);
	assert_record(h->s, "a", "t", "1");
}

#define BOTH(test) cmocka_unit_test_prestate_setup_teardown(test, setup, teardown, &kinds[SQLITE]), \
	cmocka_unit_test_prestate_setup_teardown(test, setup, teardown, &kinds[REDIS])

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		BOTH(test_put_get),
		BOTH(test_conflict),
		BOTH(test_check_only),
		BOTH(test_scan),
		BOTH(test_large_values),
		BOTH(test_many_keys),
		BOTH(test_claims_from_many_processes),
		BOTH(test_scan_while_writing),
		BOTH(test_killed_clients),
		BOTH(test_unknown),
		BOTH(test_killed_server),
		BOTH(test_look),
	};

	return cmocka_run_group_tests_name("conformance", tests, NULL, NULL);
}
