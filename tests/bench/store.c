/*
 * Durable commits of the store against a bare append with fdatasync, on the same disk in the same
 * run, and many writers at once:
 *   store DIR COMMITS [URL] DIR: a directory on the disk that is meant; URL: another store than
 *   SQLite's; prints five numbers:
 * 				ns an append, ns a commit, writers, commits a second of all of them, ns the longest wait of
 * 				one
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "store/store.h"

#define WRITERS 50
#define EACH 20
#define ROW 512

static const char *url = "sqlite";

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void
value_of(char value[ROW + 1])
{
	memset(value, 'x', ROW);
	value[0] = value[ROW - 1] = '"';
	value[ROW] = '\0';
}

static void
append(int fd, const char *row)
{
	if (io_write_all(fd, row, ROW) != 0 || fdatasync(fd) != 0)
		die("store: the disk failed");
}

static void
commit(struct store *s, const char *key, const char *value)
{
	struct change c = { CHANGE_PUT, key, STORE_ANY, "t", value };
	struct err e = ERR_INIT;

	if (store_commit(s, &c, 1, &e) != COMMIT_DONE)
		die("store: %s", e.msg);
}

static struct store *
open_store(const char *dir)
{
	struct err e = ERR_INIT;
	struct store *s = store_open(url, dir, &e);

	if (s == NULL)
		die("store: %s", e.msg);
	return s;
}

/* Turn by turn, so that what else the disk has to do meets both. */
static void
one_writer(const char *dir, int n)
{
	char *path = io_join(dir, "append"), value[ROW + 1], key[32];
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	struct store *s = open_store(dir);
	int64_t appends = 0, commits = 0;

	value_of(value);
	if (fd < 0)
		die("store: %s cannot be made", path);
	for (int i = 0; i < n; i++) {
		int64_t begin = now_ns(), between;

		append(fd, value);
		between = now_ns();
		snprintf(key, sizeof key, "row:%d", i);
		commit(s, key, value);
		appends += between - begin;
		commits += now_ns() - between;
	}
	printf("%lld %lld", (long long)(appends / n), (long long)(commits / n));
	store_close(s);
	close(fd);
	free(path);
}

static void
writer(const char *dir, int me, int64_t *longest)
{
	struct store *s = open_store(dir);
	char value[ROW + 1], key[32];

	value_of(value);
	for (int i = 0; i < EACH; i++) {
		int64_t begin = now_ns();

		snprintf(key, sizeof key, "writer:%d:%d", me, i);
		commit(s, key, value);
		if (now_ns() - begin > *longest)
			*longest = now_ns() - begin;
	}
	store_close(s);
	_exit(0);
}

static void
many_writers(const char *dir)
{
	int64_t *longest =
	    mmap(NULL, WRITERS * sizeof *longest, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int64_t begin = now_ns(), worst = 0;
	int status;

	if (longest == MAP_FAILED)
		die("store: no shared memory");
	fflush(stdout);
	for (int i = 0; i < WRITERS; i++)
		if (fork() == 0)
			writer(dir, i, &longest[i]);
	for (int i = 0; i < WRITERS; i++)
		if (wait(&status) < 0 || status != 0)
			die("store: a writer failed");
	for (int i = 0; i < WRITERS; i++)
		worst = longest[i] > worst ? longest[i] : worst;
	printf(" %d %lld %lld\n", WRITERS, (long long)WRITERS * EACH * 1000000000 / (now_ns() - begin),
	    (long long)worst);
}

int
main(int argc, char **argv)
{
	if (argc < 3 || argc > 4 || argv[1][0] != '/' || atoi(argv[2]) < 1) {
		fprintf(stderr, "usage: store /DIR COMMITS [URL]\n");
		return GT_USAGE;
	}
	if (argc == 4)
		url = argv[3];
	one_writer(argv[1], atoi(argv[2]));
	many_writers(argv[1]);
	return 0;
}
