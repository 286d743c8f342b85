/*
 * Power is lost while a prompt, snapshots or the spool are written, at every change of the disk, and
 * after the last one (disk.h); or a writer is killed there, another one goes on, and power is lost
 * when that one is done. What was acknowledged is there; what is there is whole.
 *
 *   written [--control lying-fsync|no-directory-sync] prompt|snapshot|spool DIR
 *
 * DIR is an empty directory, best in memory. A control weakens the disk, and must be caught. Exit
 * status 1: something was lost or half; 2: usage; 99: the harness.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "disk.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "snapshot/snapshot.h"
#include "records/hooks/hooks.h"

#define SEEDS 20			/* of each kind at each change: disk.h loses in five manners */
#define NEVER 1000000000
#define ROUNDS 3			/* writes of each process */
#define FILLER 1500			/* bytes: more than a sector, so that half of it can be kept */

static struct shared {
	int acknowledged;		/* rounds; outlives the crash */
	uint64_t trace;
} *shared;
static int unsynced;

static char *
text_of(int round)
{
	struct buf b = BUF_INIT;

	buf_fmt(&b, "{\"round\":%d,\"fill\":\"", round);
	for (int i = 0; i < FILLER; i++)
		buf_chr(&b, (char)('a' + (i + round) % 26));
	buf_str(&b, "\"}\n");
	return buf_detach(&b);
}

/* The round whose text stands there, 0: no such file, -1: it is not whole. */
static int
round_of(const char *dir, const char *name)
{
	char *path = io_join(dir, name);
	struct buf b = BUF_INIT;
	struct stat st;
	int found = lstat(path, &st) == 0 ? -1 : 0;

	if (found != 0 && io_read_private(path, (size_t)1 << 20, &b, NULL) == 0)
		for (int round = 1; round <= ROUNDS; round++) {
			char *text = text_of(round);

			if (b.len == strlen(text) && memcmp(b.data, text, b.len) == 0)
				found = round;
			free(text);
		}
	buf_release(&b);
	free(path);
	return found;
}

/* ---- the prompt: each round replaces the one before ---- */

static int
write_prompt(const char *dir, int round, struct err *e)
{
	char *path = io_join(dir, "prompt.txt"), *text = text_of(round);
	int ret = io_write_durable(path, text, strlen(text), "prompt", e);

	free(text);
	free(path);
	return ret;
}

static bool
prompt_is_there(const char *dir, int rounds)
{
	int found = round_of(dir, "prompt.txt");

	return found >= rounds && (found == rounds || found == rounds + 1);
}

/* ---- snapshots: two files a round, and one sync of their directory ---- */

static int
write_snapshots(const char *dir, int round, struct err *e)
{
	char *text = text_of(round), name[32];
	int ret = 0;

	for (int i = 0; i < 2 && ret == 0; i++) {
		snprintf(name, sizeof name, "%d-%d.json", round, i);
		ret = snapshot_file_write(dir, name, text, strlen(text), e);
	}
	free(text);
	return ret == 0 ? snapshot_dir_sync(dir, e) : -1;
}

static bool
snapshots_are_there(const char *dir, int rounds)
{
	char name[32];

	for (int round = 1; round <= ROUNDS; round++)
		for (int i = 0; i < 2; i++) {
			int found;

			snprintf(name, sizeof name, "%d-%d.json", round, i);
			found = round_of(dir, name);
			if (found != round && (found != 0 || round <= rounds))
				return false;
		}
	return true;
}

/* ---- the spool: a line each round ---- */

static void
beat_of(struct hook_event *b, int round)
{
	memset(b, 0, sizeof *b);
	b->kind = HOOK_PRE_TOOL;
	b->at.wall_ms = round;
	b->event = xstrdup("PreToolUse");
	b->conversation = xasprintf("talk-%d", round);
	b->path = text_of(round);
}

static int
write_spool(const char *dir, int round, struct err *e)
{
	char *path = io_join(dir, HOOK_SPOOL);
	struct hook_event b;
	int ret;

	beat_of(&b, round);
	ret = hook_spool_append(path, &b, 0, e);
	hook_event_release(&b);
	free(path);
	return ret;
}

/* A line that was not acknowledged may be torn: the replay passes it over. */
static bool
spool_is_there(const char *dir, int rounds)
{
	char *path = io_join(dir, HOOK_SPOOL);
	struct buf b = BUF_INIT, line = BUF_INIT;
	bool all = true;

	io_read_private(path, HOOK_SPOOL_MAX, &b, NULL);
	for (int round = 1; round <= rounds; round++) {
		struct hook_event beat;
		json_t *o;

		beat_of(&beat, round);
		o = hook_event_json(&beat);
		line.len = 0;
		json_print(&line, o, false);
		buf_chr(&line, '\n');
		all = all && b.len > 0 && memmem(b.data, b.len, line.data, line.len) != NULL;
		json_decref(o);
		hook_event_release(&beat);
	}
	buf_release(&line);
	buf_release(&b);
	free(path);
	return all;
}

/* ---- the row of losses ---- */

static const struct writer {
	const char *name;
	int (*write)(const char *dir, int round, struct err *e);
	bool (*is_there)(const char *dir, int rounds);	/* that many were acknowledged */
} writers[] = {
	{ "prompt", write_prompt, prompt_is_there },
	{ "snapshot", write_snapshots, snapshots_are_there },
	{ "spool", write_spool, spool_is_there },
};

static void
begin_anew(const char *dir)
{
	DIR *list = opendir(dir);
	struct dirent *d;

	while (list != NULL && (d = readdir(list)) != NULL) {
		char *path = io_join(dir, d->d_name);

		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 && unlink(path) != 0)
			die("written: %s cannot be removed", path);
		free(path);
	}
	if (list == NULL || ftruncate(unsynced, 0) != 0)
		die("written: %s cannot be emptied", dir);
	closedir(list);
	shared->acknowledged = 0;
}

/* Writes the rounds that are left, and is killed or loses power at a change or its end. True: at its end. */
static bool
process(const struct writer *w, const char *dir, uint64_t seed, long at, int flags)
{
	struct err e = ERR_INIT;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		disk_begin(dir, seed, at, flags, &shared->trace);
		for (int round = shared->acknowledged + 1; round <= ROUNDS; round++) {
			if (w->write(dir, round, &e) != 0)
				die("written: %s", e.msg);
			shared->acknowledged = round;
		}
		disk_crash();
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("written: no process can be made");
	if (!((flags & DISK_KILL) != 0 ? WIFSIGNALED(status) :
	    WIFEXITED(status) && WEXITSTATUS(status) == DISK_CRASHED))
		die("written: a process ended with status %x", (unsigned)status);
	return shared->acknowledged == ROUNDS;
}

/* True: what should be there is. *ended: power was lost, or the writer killed, at its end. */
static bool
lose(const struct writer *w, const char *dir, uint64_t seed, long at, int flags, bool killed, bool *ended)
{
	begin_anew(dir);
	*ended = process(w, dir, seed, at, flags | (killed ? DISK_KILL : 0));
	if (killed)
		process(w, dir, seed + 1, NEVER, flags);
	return w->is_there(dir, shared->acknowledged);
}

static const struct writer *
writer_named(const char *name)
{
	for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++)
		if (strcmp(writers[i].name, name) == 0)
			return &writers[i];
	return NULL;
}

int
main(int argc, char **argv)
{
	bool control = argc == 5 && strcmp(argv[1], "--control") == 0;
	const struct writer *w = argc >= 3 ? writer_named(argv[argc - 2]) : NULL;
	const char *dir = argv[argc - 1];
	int flags = !control ? 0 : strcmp(argv[2], "lying-fsync") == 0 ? DISK_LYING : DISK_NO_DIR_SYNC;
	long losses = 0, bad = 0, at = 1;
	bool ended = false;

	if (argc != (control ? 5 : 3) || w == NULL || dir[0] != '/') {
		fprintf(stderr, "usage: written [--control NAME] prompt|snapshot|spool /EMPTY/DIR\n");
		return GT_USAGE;
	}
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || (unsynced = memfd_create("unsynced", MFD_CLOEXEC)) < 0)
		die("written: no shared memory");
	disk_remember(unsynced);
	for (; !ended; at++)
		for (uint64_t seed = 0; seed < 2 * SEEDS; seed++) {
			bool killed = seed % 2 != 0;

			losses++;
			if (lose(w, dir, seed * 7919 + (uint64_t)at, at, flags, killed, &ended))
				continue;
			bad++;
			if (!control)
				printf("%s: %s at change %ld, seed %d: of %d acknowledged some are missing "
				       "or half\n",
				    w->name, killed ? "killed" : "power lost", at, (int)seed,
				    shared->acknowledged);
		}
	begin_anew(dir);
	printf("%s: %ld losses of power at %ld changes, bad %ld\n", w->name, losses, at - 1, bad);
	return bad != 0;
}
