/* Locks of the agents' own (records/records.h). */

#include "run_house.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/proc.h"
#include "records/records.h"

static int
take(struct house *h, const char *holder, int64_t pid, struct lock *out)
{
	const struct lock_holder who = {
		.name = "slot", .holder = holder, .pid = pid, .lease_ms = 60 * SECOND
	};

	err_clear(&h->e);
	return lock_acquire(h->s, &who, &h->now, out, &h->e);
}

static int
try(struct house *h, const char *holder, int64_t pid)
{
	struct lock l;
	int ret = take(h, holder, pid, &l);

	if (ret >= 0)
		lock_release(&l);
	return ret;
}

static int
give(struct house *h, const char *verb, const char *holder, int64_t fence)
{
	const struct lock_holder who = { .name = "slot", .holder = holder, .fence = fence };
	struct lock l;
	int ret;

	err_clear(&h->e);
	ret = strcmp(verb, "renew") == 0 ? lock_renew(h->s, &who, &h->now, &l, &h->e)
					 : lock_unlock(h->s, &who, &h->now, &l, &h->e);
	if (ret >= 0)
		lock_release(&l);
	return ret;
}

static int
last_event(const struct event_row *ev, void *arg)
{
	char *line = arg;

	snprintf(line, 200, "%s %s %s", ev->kind, ev->subject, ev->text != NULL ? ev->text : "-");
	return 0;
}

#define assert_last_event(h, want) do { \
	char line_[200] = ""; \
	assert_int_equal(event_each((h)->s, "lock", last_event, line_, &(h)->e), 0); \
	assert_string_equal(line_, want); \
} while (0)

static void
one_has_it_until_the_lease_ends(void **unused)
{
	struct house h = house();
	struct lock l;

	(void)unused;
	assert_int_equal(take(&h, "a", 0, &l), 1);
	assert_int_equal(l.fence, 1);
	assert_null(l.taken_from);
	lock_release(&l);
	assert_last_event(&h, "lock.acquired slot a");
	assert_int_equal(try(&h, "b", 0), -1);
	assert_string_equal(h.e.name, "held");
	assert_int_equal(h.e.code, GT_AGAIN);
	assert_non_null(strstr(h.e.msg, "a holds the lock slot for 60 more seconds"));
	assert_int_equal(try(&h, "a", 0), 0);
	later(&h, 40);
	assert_int_equal(give(&h, "renew", "a", 1), 0);
	later(&h, 60);
	assert_int_equal(try(&h, "b", 0), -1);
	later(&h, 1);
	assert_int_equal(take(&h, "b", 0, &l), 1);
	assert_int_equal(l.fence, 2);
	assert_string_equal(l.taken_from, "a had it, but its lease has ended");
	lock_release(&l);
	assert_last_event(&h, "lock.taken-over slot b; a had it, but its lease has ended");
	leave(&h);
}

static void
who_lost_it_is_refused(void **unused)
{
	struct house h = house();
	struct lock l;

	(void)unused;
	assert_int_equal(give(&h, "renew", "a", 0), -1);
	assert_string_equal(h.e.name, "not-found");
	assert_int_equal(try(&h, "a", 0), 1);
	later(&h, 61);
	/* nobody wanted it: it is still his */
	assert_int_equal(give(&h, "renew", "a", 1), 0);
	later(&h, 61);
	assert_int_equal(try(&h, "b", 0), 1);
	assert_int_equal(give(&h, "renew", "a", 1), -1);
	assert_string_equal(h.e.name, "not-yours");
	assert_int_equal(give(&h, "release", "a", 0), -1);
	assert_string_equal(h.e.name, "not-yours");
	assert_int_equal(give(&h, "release", "b", 0), 1);
	assert_last_event(&h, "lock.released slot b");
	assert_int_equal(give(&h, "release", "b", 2), 0);
	assert_int_equal(give(&h, "renew", "b", 2), -1);
	assert_string_equal(h.e.name, "not-held");
	/* the number goes on over a release, so that an earlier one of the same word is told apart */
	assert_int_equal(take(&h, "a", 0, &l), 1);
	assert_int_equal(l.fence, 3);
	lock_release(&l);
	assert_int_equal(give(&h, "renew", "a", 1), -1);
	assert_string_equal(h.e.name, "not-yours");
	assert_int_equal(give(&h, "release", "a", 1), -1);
	assert_int_equal(give(&h, "renew", "a", 3), 0);
	leave(&h);
}

static void
a_process_that_lives_keeps_it(void **unused)
{
	struct house h = house();
	struct lock l;
	int status, go[2];
	pid_t child;

	(void)unused;
	assert_int_equal(pipe(go), 0);
	if ((child = fork()) == 0) {
		char c;

		close(go[1]);
		_exit(read(go[0], &c, 1) == 0 ? 0 : 1);
	}
	close(go[0]);
	assert_int_equal(try(&h, "a", child), 1);
	later(&h, 100000);
	assert_int_equal(try(&h, "b", 0), -1);
	assert_non_null(strstr(h.e.msg, "while its process"));
	/* the same word, but another process, or none: it is not that one's */
	assert_int_equal(try(&h, "a", getpid()), -1);
	assert_int_equal(try(&h, "a", 0), -1);
	assert_int_equal(try(&h, "a", child), 0);
	assert_int_equal(give(&h, "renew", "a", 1), 0);
	close(go[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	/* what anybody may take is not said to be his */
	assert_int_equal(give(&h, "renew", "a", 1), -1);
	assert_string_equal(h.e.name, "gone");
	assert_int_equal(h.e.code, GT_REFUSED);
	assert_int_equal(take(&h, "b", 0, &l), 1);
	assert_string_equal(l.taken_from, "a had it, but its process is gone");
	assert_int_equal(l.pid, 0);
	lock_release(&l);
	assert_int_equal(try(&h, "c", child), -1);
	assert_string_equal(h.e.name, "gone");
	leave(&h);
}

/* The kernel gave its pid to another process. */
static void
a_pid_that_is_used_again_keeps_nothing(void **unused)
{
	struct house h = house();
	struct record r;
	struct lock l;
	char *value, *at;

	(void)unused;
	assert_int_equal(try(&h, "a", getpid()), 1);
	assert_int_equal(store_get(h.s, "lock:slot", &r, &h.e), 1);
	value = xstrdup(r.value);
	at = strstr(value, "\"pid_start\":");
	assert_non_null(at);
	at += strlen("\"pid_start\":");
	*at = *at == '9' ? '8' : (char)(*at + 1);
	assert_int_equal(
	    store_commit(h.s, &(struct change){ CHANGE_PUT, "lock:slot", r.version, r.tag, value }, 1, &h.e),
	    COMMIT_DONE);
	free(value);
	store_record_release(&r);
	assert_int_equal(take(&h, "b", 0, &l), 1);
	assert_string_equal(l.taken_from, "a had it, but its process is gone");
	lock_release(&l);
	leave(&h);
}

/* From another pid namespace the pid says nothing: the lease decides. */
static void
in_another_container_the_lease_decides(void **unused)
{
	struct house h = house();
	struct lock l;

	(void)unused;
	h.now.pid_ns = 7;
	assert_int_equal(try(&h, "a", getpid()), 1);
	h.now.pid_ns = 8;
	later(&h, 60);
	assert_int_equal(try(&h, "b", 0), -1);
	assert_non_null(strstr(h.e.msg, "a holds the lock slot for 0 more seconds"));
	/* the same pid there is another process */
	assert_int_equal(try(&h, "a", getpid()), -1);
	h.now.pid_ns = 7;
	later(&h, 60);
	assert_int_equal(try(&h, "b", 0), -1);
	assert_non_null(strstr(h.e.msg, "while its process"));
	h.now.pid_ns = 8;
	/* renewed there, it has no process any more */
	assert_int_equal(give(&h, "renew", "a", 1), 0);
	assert_int_equal(lock_load(h.s, "slot", &l, &h.e), 1);
	assert_int_equal(l.pid, 0);
	assert_int_equal(l.renewed.pid_ns, 8);
	lock_release(&l);
	later(&h, 61);
	assert_int_equal(take(&h, "b", 0, &l), 1);
	assert_string_equal(l.taken_from, "a had it, but its lease has ended");
	lock_release(&l);
	leave(&h);
}

/* Another process of his may go on with it, by his word and number. */
static void
a_process_takes_the_place_of_one_that_is_gone(void **unused)
{
	struct house h = house();
	struct lock_holder again = { .name = "slot", .holder = "a", .pid = getpid(), .fence = 1 };
	struct lock l;
	int status, go[2];
	pid_t child;

	(void)unused;
	assert_int_equal(pipe(go), 0);
	if ((child = fork()) == 0) {
		char c;

		close(go[1]);
		_exit(read(go[0], &c, 1) == 0 ? 0 : 1);
	}
	close(go[0]);
	assert_int_equal(try(&h, "a", child), 1);
	close(go[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(give(&h, "renew", "a", 1), -1);
	assert_int_equal(lock_renew(h.s, &again, &h.now, &l, &h.e), 0);
	assert_int_equal(l.pid, getpid());
	lock_release(&l);
	later(&h, 100000);
	assert_int_equal(try(&h, "b", 0), -1);
	assert_int_equal(give(&h, "renew", "a", 1), 0);
	assert_int_equal(give(&h, "release", "a", 1), 1);
	leave(&h);
}

/* The pid of one boot is anybody's on the next: who renews it there has it by his word and lease. */
static void
renewed_on_another_boot_it_has_no_process(void **unused)
{
	struct house h = house();
	struct lock l;

	(void)unused;
	assert_int_equal(try(&h, "a", getpid()), 1);
	snprintf(h.now.boot_id, sizeof h.now.boot_id, "boot-b");
	h.now.boot_ms = 5;
	assert_int_equal(give(&h, "renew", "a", 1), 0);
	assert_int_equal(lock_load(h.s, "slot", &l, &h.e), 1);
	assert_int_equal(l.pid, 0);
	assert_int_equal(l.pid_start, 0);
	assert_string_equal(l.renewed.boot_id, "boot-b");
	assert_null(lock_stale_reason(&l, &h.now));
	lock_release(&l);
	later(&h, 61);
	assert_int_equal(try(&h, "b", 0), 1);
	leave(&h);
}

static void
another_boot_goes_by_the_store_s_clock(void **unused)
{
	struct house h = house();

	(void)unused;
	assert_int_equal(try(&h, "a", getpid()), 1);
	/* seen from elsewhere: the pid says nothing, and its boot's own clock neither */
	snprintf(h.now.boot_id, sizeof h.now.boot_id, "boot-b");
	h.now.boot_ms = 5;
	h.now.wall_ms += 60 * SECOND;
	assert_int_equal(try(&h, "b", 0), -1);
	assert_non_null(strstr(h.e.msg, "for 0 more seconds"));
	assert_int_equal(try(&h, "a", getpid()), -1);
	h.now.wall_ms += 1;
	assert_int_equal(try(&h, "b", getpid()), 1);
	leave(&h);
}

static void
startup_frees_what_is_stale(void **unused)
{
	struct house h = house();
	struct lock_list list = { .n = 0 };
	struct lock l;
	size_t n;

	(void)unused;
	assert_int_equal(try(&h, "a", 0), 1);
	assert_int_equal(
	    lock_acquire(h.s, &(struct lock_holder){ .name = "other", .holder = "b", .pid = getpid() },
		&h.now, &l, &h.e),
	    1);
	assert_int_equal(l.lease_ms, LOCK_LEASE_MS);
	lock_release(&l);
	assert_int_equal(lock_unlock_stale(h.s, &h.now, &n, &h.e), 0);
	assert_int_equal(n, 0);
	later(&h, 61);
	assert_int_equal(lock_unlock_stale(h.s, &h.now, &n, &h.e), 0);
	assert_int_equal(n, 1);
	assert_last_event(&h, "lock.expired slot a had it, but its lease has ended");
	assert_int_equal(lock_unlock_stale(h.s, &h.now, &n, &h.e), 0);
	assert_int_equal(n, 0);
	assert_int_equal(lock_list_read(h.s, false, &list, &h.e), 0);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.v[0].name, "other");
	lock_list_release(&list);
	assert_int_equal(lock_list_read(h.s, true, &list, &h.e), 0);
	assert_int_equal(list.n, 2);
	lock_list_release(&list);
	leave(&h);
}

static void
what_cannot_be_is_refused(void **unused)
{
	struct house h = house();
	struct lock l;

	(void)unused;
	assert_int_equal(
	    lock_acquire(h.s, &(struct lock_holder){ .name = "a b", .holder = "x" }, &h.now, &l, &h.e), -1);
	assert_string_equal(h.e.name, "id");
	assert_int_equal(
	    lock_acquire(h.s, &(struct lock_holder){ .name = "a", .holder = "" }, &h.now, &l, &h.e), -1);
	assert_string_equal(h.e.name, "id");
	assert_int_equal(
	    lock_acquire(h.s,
		&(struct lock_holder){ .name = "a", .holder = "x", .lease_ms = LOCK_LEASE_MAX_MS + 1 },
		&h.now, &l, &h.e),
	    -1);
	assert_string_equal(h.e.name, "lease");
	leave(&h);
}

/* ---- many at once ---- */

#define WANTERS 8
#define TURNS 6			/* of each, that had the lock */

/* Has its turns; whoever is inside at the same time as another one fails to make the file. */
static void
want(const char *dir, int who)
{
	struct err e = ERR_INIT;
	struct store *s = store_open("sqlite", dir, &e);
	char *path = xasprintf("%s/inside", dir), name[32];
	int64_t last = 0;
	int turns = 0;

	snprintf(name, sizeof name, "w%d", who);
	while (s != NULL && turns < TURNS) {
		const struct lock_holder h = { .name = "slot", .holder = name, .pid = getpid() };
		struct timestamp now;
		struct lock l;
		int fd, got;

		timestamp_now(&now);
		now.wall_ms = store_now(s);
		got = lock_acquire(s, &h, &now, &l, &e);
		if (got < 0 && e.code != GT_AGAIN)
			_exit(1);
		if (got < 0)
			continue;
		fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
		if (got != 1 || fd < 0 || l.fence <= last)
			_exit(2);
		last = l.fence;
		close(fd);
		if (unlink(path) != 0)
			_exit(3);
		lock_release(&l);
		turns++;
		/* the last turn ends with the process: the next one must find that out */
		if (turns < TURNS && (lock_unlock(s, &h, &now, &l, &e) != 1))
			_exit(4);
		if (turns < TURNS)
			lock_release(&l);
	}
	_exit(s != NULL ? 0 : 5);
}

static void
of_eight_one_has_it(void **unused)
{
	struct house h = house();
	struct lock l;
	pid_t pids[WANTERS];
	int status;

	(void)unused;
	for (int i = 0; i < WANTERS; i++)
		if ((pids[i] = fork()) == 0)
			want(h.dir, i);
	for (int i = 0; i < WANTERS; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(lock_load(h.s, "slot", &l, &h.e), 1);
	assert_int_equal(l.fence, WANTERS * TURNS);
	lock_release(&l);
	leave(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_has_it_until_the_lease_ends),
		cmocka_unit_test(who_lost_it_is_refused),
		cmocka_unit_test(a_process_that_lives_keeps_it),
		cmocka_unit_test(a_pid_that_is_used_again_keeps_nothing),
		cmocka_unit_test(in_another_container_the_lease_decides),
		cmocka_unit_test(a_process_takes_the_place_of_one_that_is_gone),
		cmocka_unit_test(renewed_on_another_boot_it_has_no_process),
		cmocka_unit_test(another_boot_goes_by_the_store_s_clock),
		cmocka_unit_test(startup_frees_what_is_stale),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(of_eight_one_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
