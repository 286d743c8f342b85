/*
 * What a killed process left unsynced is synced by who comes next. That the store needs it is
 * shown by tests/crash/killed.c.
 */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include "base/err.h"
#include "base/io.h"
#include "records/records.h"
#include "store/store.h"
#include "temp.h"

static int journals, directories, logs;	/* that were synced by calls of ours: SQLite's go by fdatasync */

int
fsync(int fd)
{
	char link[40], path[4096];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	if (str_ends(path, "recover.db-journal"))
		journals++;
	else if (str_ends(path, EVENT_LOG))
		logs++;
	else
		directories++;
	return (int)syscall(SYS_fsync, fd);
}

struct place {
	char *dir, *lock;
	struct err e;
};

static char at_rename;			/* the lock's first byte when the store got its name */

static char first_byte_of(const char *lock);

int
rename(const char *from, const char *to)
{
	if (str_ends(to, "/recover.db")) {
		char *lock = xasprintf("%.*s/recover.lock", (int)(strlen(to) - strlen("/recover.db")), to);

		at_rename = first_byte_of(lock);
		free(lock);
	}
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static int
setup(void **state)
{
	struct place *p = xcalloc(1, sizeof *p);
	struct change c = { CHANGE_PUT, "k", STORE_ABSENT, "t", "1" };
	struct store *s;

	p->dir = temp_dir();
	p->lock = io_join(p->dir, "recover.lock");
	s = store_open("sqlite", p->dir, &p->e);
	assert_non_null(s);
	assert_int_equal(store_commit(s, &c, 1, &p->e), COMMIT_DONE);
	store_close(s);
	*state = p;
	return 0;
}

static int
teardown(void **state)
{
	struct place *p = *state;

	temp_remove(p->dir);
	free(p->lock);
	free(p);
	return 0;
}

static char
first_byte_of(const char *lock)
{
	FILE *f = fopen(lock, "re");
	int c;

	assert_non_null(f);
	c = fgetc(f);
	fclose(f);
	return (char)c;
}

static char
first_byte(const struct place *p)
{
	return first_byte_of(p->lock);
}

static void
mark(const struct place *p)
{
	temp_write(p->lock, "w");
	journals = directories = 0;
}

static void
test_clean(void **state)
{
	struct place *p = *state;
	struct store *s;

	assert_int_equal(first_byte(p), '-');
	journals = directories = 0;
	s = store_open("sqlite", p->dir, &p->e);
	assert_non_null(s);
	assert_int_equal(journals + directories, 0);
	store_close(s);
}

static void
test_left(void **state)
{
	struct place *p = *state;
	struct store *s;

	mark(p);
	s = store_open("sqlite", p->dir, &p->e);
	assert_non_null(s);
	assert_true(journals == 1 && directories == 1);
	assert_int_equal(first_byte(p), '-');
	store_close(s);
}

/* Somebody is killed while we have the store open: the next commit sees to it. */
static void
test_left_meanwhile(void **state)
{
	struct place *p = *state;
	struct change c = { CHANGE_PUT, "k", STORE_ANY, "t", "2" };
	struct store *s = store_open("sqlite", p->dir, &p->e);

	assert_non_null(s);
	mark(p);
	assert_int_equal(store_commit(s, &c, 1, &p->e), COMMIT_DONE);
	assert_true(journals == 1 && directories == 1);
	assert_int_equal(first_byte(p), '-');
	store_close(s);
}

/* A writer that lives is not waited for by who only opens. */
static void
test_held(void **state)
{
	struct place *p = *state;
	struct store *s;
	int fd;

	mark(p);
	fd = open(p->lock, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	s = store_open("sqlite", p->dir, &p->e);
	assert_non_null(s);
	assert_int_equal(first_byte(p), 'w');
	close(fd);
	store_close(s);
}

/* Whoever is killed between the renaming and the sync of the directory has told of it before. */
static void
test_mended(void **state)
{
	struct place *p = *state;
	char *db = io_join(p->dir, "recover.db");
	struct store_restored told;

	temp_write(db,
	    "this is no database any more, but it has more than a hundred bytes, which its header would "
	    "have, and a few");
	at_rename = 0;
	assert_int_equal(store_restore("sqlite", p->dir, &told, &p->e), 1);
	assert_int_equal(at_rename, 'w');
	assert_int_equal(first_byte(p), '-');
	free(db);
}

/* Lines that stand in the log already, with nothing to be added. */
static void
test_event_log(void **state)
{
	static const struct event ev = { .kind = "test.done", .subject = "x" };
	struct place *p = *state;
	struct store *s = store_open("sqlite", p->dir, &p->e);
	char *log = io_join(p->dir, EVENT_LOG);
	size_t written;

	assert_non_null(s);
	assert_int_equal(event_commit(s, NULL, 0, &ev, &p->e), COMMIT_DONE);
	assert_int_equal(event_export(s, log, &written, &p->e), 0);
	logs = 0;
	assert_int_equal(event_export(s, log, &written, &p->e), 0);
	assert_true(written == 0 && logs == 1);
	store_close(s);
	free(log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_clean, setup, teardown),
		cmocka_unit_test_setup_teardown(test_left, setup, teardown),
		cmocka_unit_test_setup_teardown(test_left_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_held, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_event_log, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
