/*
 * What a process saw of one that was killed must outlive a loss of power: it may have told somebody of it.
 *
 *   killed [--control 1] DIR
 *
 * DIR is an empty directory, best in memory. A process commits and is killed at the Nth change of
 * its files, for every N; the next one looks, and loses power right after that, in each manner
 * that disk.h knows; the third one must see what the second one saw. The control leaves out that
 * the second one syncs what it sees. Exit status 1: something was lost; 2: usage.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "disk.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "store/store_private.h"

#define SEEDS 12			/* a loss of power each: five manners of losing, in any order */
#define NEVER 1000000000
#define TOLD 5				/* exit status of a process that is done */

static bool control;
static int unsynced;
static int *seen;			/* which of two values the last look found; shared */
static uint64_t *trace;

int __real_sqlite_sync_left(struct sqlite_store *s, struct err *e);
int __wrap_sqlite_sync_left(struct sqlite_store *s, struct err *e);

int
__wrap_sqlite_sync_left(struct sqlite_store *s, struct err *e)
{
	return control ? 0 : __real_sqlite_sync_left(s, e);
}

static struct store *
open_at(const char *dir)
{
	struct err e = ERR_INIT;
	struct store *s = store_open("sqlite", dir, &e);

	if (s == NULL)
		die("killed: the store cannot be opened: %s", e.msg);
	return s;
}

static void
commit(const char *dir, const char *value)
{
	struct change c = { CHANGE_PUT, "k", STORE_ANY, "t", value };
	struct store *s = open_at(dir);
	struct err e = ERR_INIT;

	if (store_commit(s, &c, 1, &e) != COMMIT_DONE)
		die("killed: %s", e.msg);
	store_close(s);
}

static void
look(const char *dir)
{
	struct store *s = open_at(dir);
	struct record r;
	int found = store_get(s, "k", &r, NULL);

	*seen = found > 0 ? (int)strtol(r.value, NULL, 10) : 0;
	store_record_release(&r);
	store_close(s);
}

enum act { FIRST, SECOND, LOOK };

/* True: it came to its end. It loses power there when `power` is set. */
static bool
process(const char *dir, enum act act, uint64_t seed, long crash_at, bool power)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		disk_begin(dir, seed, crash_at, power ? 0 : DISK_KILL, trace);
		if (act == LOOK)
			look(dir);
		else
			commit(dir, act == FIRST ? "1" : "2");
		if (power || crash_at == NEVER)
			disk_crash();
		_exit(TOLD);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("killed: no process can be made");
	if (WIFEXITED(status) && WEXITSTATUS(status) == DISK_CRASHED && ftruncate(unsynced, 0) != 0)
		die("killed: the disk cannot forget");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		die("killed: a process has failed");
	return WIFEXITED(status) && WEXITSTATUS(status) == TOLD;
}

static void
begin_anew(const char *dir)
{
	DIR *list = opendir(dir);
	struct dirent *d;

	while (list != NULL && (d = readdir(list)) != NULL) {
		char *path = io_join(dir, d->d_name);

		if (d->d_name[0] != '.' && unlink(path) != 0)
			die("killed: %s cannot be removed", path);
		free(path);
	}
	if (list == NULL || ftruncate(unsynced, 0) != 0)
		die("killed: %s cannot be emptied", dir);
	closedir(list);
}

int
main(int argc, char **argv)
{
	const char *dir = argv[argc - 1];
	long kills = 0, lost = 0, new = 0;
	bool done = false;

	control = argc == 4 && strcmp(argv[1], "--control") == 0;
	if (argc != (control ? 4 : 2) || dir[0] != '/') {
		fprintf(stderr, "usage: killed [--control 1] /EMPTY/DIR\n");
		return GT_USAGE;
	}
	seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	trace = (uint64_t *)(void *)(seen + 16);
	if (seen == MAP_FAILED || (unsynced = memfd_create("unsynced", MFD_CLOEXEC)) < 0)
		die("killed: no shared memory");
	disk_remember(unsynced);
	for (long at = 1; !done; at++) {
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			int before;

			begin_anew(dir);
			process(dir, FIRST, 1, NEVER, false);
			done = process(dir, SECOND, 2, at, false);
			if (done)
				break;
			process(dir, LOOK, seed * 7919, NEVER, true);
			before = *seen;
			process(dir, LOOK, 3, NEVER, false);
			new += before == 2;
			lost += *seen != before;
			if (*seen != before && !control)
				printf("killed at change %ld, power loss %d: %d was seen, and then %d\n", at,
				    (int)seed, before, *seen);
		}
		kills += !done;
	}
	begin_anew(dir);
	printf("kills %ld losses %ld, the second commit seen in %ld, lost %ld\n", kills, kills * SEEDS, new,
	    lost);
	return lost != 0;
}
