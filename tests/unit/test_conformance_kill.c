/*
 * What the seam promises of every backend while many work at it, and clients and servers are
 * killed. SQLite's server is the client itself: where Redis's server dies or does not answer,
 * there its process dies, or its disk fails, at a sync within the commit.
 */
#include "test.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "seam.h"
#include "store/store_private.h"

static int syncs, fail_at, kill_at;	/* of this process; fail_at, kill_at: at which of them, 0: never */

static int
pass_sync(long call, int fd)
{
	syncs++;
	if (syncs == kill_at)
		kill(getpid(), SIGKILL);
	if (syncs != fail_at)
		return (int)syscall(call, fd);
	errno = EIO;
	return -1;
}

/* They take the place of the C library's, for SQLite's calls, too. */
int
fsync(int fd)
{
	return pass_sync(SYS_fsync, fd);
}

int
fdatasync(int fd)
{
	return pass_sync(SYS_fdatasync, fd);
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
		store_records_release(&r);
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
				if (put(s, key, STORE_ABSENT, "t", "{}", NULL) != COMMIT_DONE ||
				    write(p[1], "x", 1) != 1)
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
		store_records_release(&r);
	}
}

/*
 * A server that does not answer any more: nobody knows what became of the commit, and the store
 * goes on when it is back.
 */
static void
lose_server(struct home *h)
{
	int64_t before, after;

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
	redis_disconnect((struct redis_store *)h->s);
	assert_int_equal(version(h->s, "lock:a"), before);

	kill(h->house.pid, SIGSTOP);
	assert_int_equal(put(h->s, "lock:a", before, "held", "3", &h->e), COMMIT_UNKNOWN);
	assert_string_equal(h->e.name, "unknown");
	kill(h->house.pid, SIGCONT);
	((struct redis_store *)h->s)->patience_ms = REDIS_DEADLINE_MS;
	after = version(h->s, "lock:a");
	assert_true(after == before || after == before + 1);
}

/*
 * A disk that fails at each sync of a commit in turn: by the commit's id in the file the answer
 * is "not made" for certain, or "unknown" where it stands there; and no further answer comes from
 * what this process has cached.
 */
static void
lose_disk(struct home *h)
{
	int seen[COMMIT_ERROR + 1] = { 0 };
	bool failed = true;

	for (int at = 1; failed; at++) {
		int64_t before = version(h->s, "lock:a");
		enum commit answer;

		syncs = 0;
		fail_at = at;
		err_clear(&h->e);
		answer = put(h->s, "lock:a", before, "held", "3", &h->e);
		failed = syncs >= at;
		fail_at = 0;
		seen[answer]++;
		if (answer == COMMIT_UNKNOWN) {
			assert_string_equal(h->e.name, "unknown");
			assert_int_equal(put(h->s, "lock:a", STORE_ANY, "held", "5", &h->e), COMMIT_ERROR);
			assert_string_equal(h->e.name, "io");
		}
		reopen(h);
		assert_int_equal(version(h->s, "lock:a"), answer == COMMIT_ERROR ? before : before + 1);
		assert_true(failed || answer == COMMIT_DONE);
	}
	assert_int_equal(seen[COMMIT_CONFLICT], 0);
	assert_true(seen[COMMIT_ERROR] > 0);
	assert_true(seen[COMMIT_UNKNOWN] > 0);
}

static void
test_unknown(void **state)
{
	struct home *h = home_of(state);

	assert_int_equal(put(h->s, "lock:a", STORE_ABSENT, "held", "1", &h->e), COMMIT_DONE);
	if (h->is_redis)
		lose_server(h);
	else
		lose_disk(h);
	/* who reads what became of it goes on from there */
	assert_int_equal(put(h->s, "lock:a", version(h->s, "lock:a"), "held", "4", &h->e), COMMIT_DONE);
	assert_record(h->s, "lock:a", "held", "4");
}

static int
counter_of(struct store *s)
{
	struct record r;
	int n;

	assert_int_not_equal(store_get(s, "counter", &r, NULL), -1);
	n = r.value != NULL ? atoi(r.value) : 0;
	store_record_release(&r);
	return n;
}

/*
 * One record a commit, and a counter that each of them raises: the answer to each must be
 * certain, whatever happens to the server. last: the sync at which the process is killed, 0:
 * none.
 */
static void
work_through(struct home *h, int out, int stop, int last)
{
	struct store *s = open_one(h);
	int done = s != NULL ? counter_of(s) : 0;
	char byte;

	fcntl(stop, F_SETFL, O_NONBLOCK);
	syncs = 0;
	kill_at = last;
	while (s != NULL && read(stop, &byte, 1) != 1) {
		char key[32], value[32];
		struct record r;
		struct err e = ERR_INIT;
		struct change c[2];
		enum commit answer;

		if (store_get(s, "counter", &r, &e) < 0)
			_exit(3);
		if (done != (r.value != NULL ? atoi(r.value) : 0))
			_exit(6);
		snprintf(key, sizeof key, "step:%06d", done);
		snprintf(value, sizeof value, "%d", r.value != NULL ? atoi(r.value) + 1 : 1);
		c[0] = (struct change){ CHANGE_PUT, key, STORE_ABSENT, "t", value };
		c[1] = (struct change){ CHANGE_PUT, "counter", r.version, "t", value };
		answer = store_commit(s, c, 2, &e);
		store_record_release(&r);
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

struct worker {
	int out, stop;
	pid_t pid;
};

static void
worker_start(struct worker *w, struct home *h, int last)
{
	int out[2], stop[2];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
	w->pid = fork();
	if (w->pid == 0) {
		close(out[0]);
		work_through(h, out[1], stop[0], last);
	}
	close(out[1]);
	close(stop[0]);
	w->out = out[0];
	w->stop = stop[1];
}

/* When it is gone: the last step that it acknowledged, `done` when there was none since. */
static int
worker_end(struct worker *w, int done, int *status)
{
	ssize_t n;
	int latest;

	while ((n = read(w->out, &latest, sizeof latest)) == sizeof latest)
		done = latest;
	assert_int_equal(n, 0);
	assert_int_equal(waitpid(w->pid, status, 0), w->pid);
	close(w->out);
	close(w->stop);
	return done;
}

/* kill -9 of the server in the middle, and it comes back. */
static void
kill_servers(struct home *h, const struct worker *w)
{
	for (int round = 0; round < 8; round++) {
		assert_int_not_equal(wait_for(w->out, 20 + 7 * round), -1);
		redis_house_kill(&h->house);
		redis_house_start(&h->house);
	}
}

/*
 * kill -9 of the process itself at one sync after the other: the next one finds what was
 * acknowledged, and at most the one step more that was under way, whole.
 */
static void
kill_writers(struct home *h)
{
	int made = 0, lost = 0, done = 0;

	for (int round = 0; round < 16; round++) {
		struct worker w;
		int status, counter;

		worker_start(&w, h, 12 + round);
		done = worker_end(&w, done, &status);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		counter = counter_of(h->s);
		assert_true(counter == done || counter == done + 1);
		made += counter == done + 1;
		lost += counter == done;
		done = counter;
	}
	/* before it was certain, and after */
	assert_true(made > 0);
	assert_true(lost > 0);
}

/*
 * Killed in the middle, a client that works on, or takes over, loses nothing, does nothing twice,
 * and knows it.
 */
static void
test_killed_in_the_middle(void **state)
{
	struct home *h = home_of(state);
	struct records r = { 0 };
	struct worker w;
	int status, done;
	char value[32];

	if (!h->is_redis)
		kill_writers(h);
	worker_start(&w, h, 0);
	if (h->is_redis)
		kill_servers(h, &w);
	assert_int_not_equal(done = wait_for(w.out, 20), -1);
	assert_int_equal(write(w.stop, "x", 1), 1);
	done = worker_end(&w, done, &status);
	assert_int_equal(status, 0);
	assert_int_equal(store_scan(h->s, "step:", NULL, NULL, 1000000, &r, &h->e), 0);
	assert_int_equal(r.n, done);
	store_records_release(&r);
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
		BOTH(test_unknown),
		BOTH(test_killed_in_the_middle),
	};

	return cmocka_run_group_tests_name("conformance, killed", tests, NULL, NULL);
}
