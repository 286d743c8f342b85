/* What the seam promises of every backend while many work at it, and clients and servers are killed. */
#include "test.h"

#include <string.h>
#include <sys/wait.h>

#include "seam.h"
#include "store/redis_private.h"

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
	static char keys[MOVING][32];
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

/*
 * A server that does not answer any more (a disk that fails under SQLite: test_store.c): nobody knows what became of the commit, and the
 * store goes on when it is back.
 */
static void
test_unknown(void **state)
{
	struct home *h = home_of(state);
	int64_t before, after;

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

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		BOTH(test_claims_from_many_processes),
		BOTH(test_scan_while_writing),
		BOTH(test_killed_clients),
		REDIS_ALONE(test_unknown),
		REDIS_ALONE(test_killed_server),
	};

	return cmocka_run_group_tests_name("conformance, killed", tests, NULL, NULL);
}
