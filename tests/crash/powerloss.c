/*
 * Power is lost at a random change of a disk, over and over, under a store that commits; what
 * comes back is compared with what was acknowledged (disk.h: how a disk loses).
 *
 *   powerloss [--seed S] [--steps N] [--step K] [--control NAME] DIR
 *
 * DIR is an empty directory, best in memory. A step is one crash: a process opens what the crash
 * before it left, looks whether all of it is there, and commits until its own crash. Every 25
 * steps the store begins anew, so that --step K, which tells about step K alone, repeats 25 at
 * most. A control weakens the disk or the store, and must be caught. Exit status 1: something was
 * lost; 2: usage; 99: the harness.
 */
#include <dirent.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "disk.h"
#include "base/buf.h"
#include "base/db_private.h"
#include "base/err.h"
#include "base/io.h"
#include "records/history/history.h"
#include "records/records.h"
#include "store/store.h"

#define EPOCH 25
#define KEYS 10
#define PAST 16
#define COMMITS 5			/* of one process, at most */
#define CHANGES 100			/* of the disk, at most, until the crash */
#define UNKNOWN ((int64_t)-1)

struct known {
	int64_t version;		/* UNKNOWN: of a record that is new, higher than any before */
	uint32_t text;			/* number of its value, 0: there is no record */
};

struct mind {
	struct known key[KEYS];
	int64_t events;
};

enum verdict { FINE, UNOPENABLE, HALF, LOST, FENCE, EVENTS, FAILED, VERDICTS };
static const char *const verdict_names[VERDICTS] = { "fine", "unopenable", "half a commit", "lost",
	"fence broken", "events", "commit failed" };

/* In memory that the processes share: it outlives their crashes. */
static struct ours {
	struct mind past[PAST];		/* before past[0], which is what was acknowledged */
	struct mind next;		/* with the commit that was under way */
	bool under_way;
	int64_t highest[KEYS];
	uint32_t texts;
	long acknowledged;
	enum verdict verdict;
	char said[700];
	uint64_t trace;			/* of the step */
} *ours;

static const struct control {
	const char *name, *journal, *answer, *sync, *sync_answer;
	int disk;
} controls[] = {
	{ "none", NULL, NULL, NULL, NULL, 0 },
	{ "wal-normal", "WAL", "wal", "NORMAL", "1", 0 },
	{ "delete-full", "DELETE", "delete", "FULL", "2", 0 },
	{ "sync-off", "TRUNCATE", "truncate", "OFF", "0", 0 },
	{ "lying-fsync", NULL, NULL, NULL, NULL, DISK_LYING },
	{ "no-directory-sync", NULL, NULL, NULL, NULL, DISK_NO_DIR_SYNC },
};
static const struct control *control = controls;

int __real_db_set_pragmas(sqlite3 *db, const struct db_pragma *p, size_t n, struct err *e);
int __wrap_db_set_pragmas(sqlite3 *db, const struct db_pragma *p, size_t n, struct err *e);

/* Where the store asks for its journal and its syncs, a control asks for less. */
int
__wrap_db_set_pragmas(sqlite3 *db, const struct db_pragma *p, size_t n, struct err *e)
{
	struct db_pragma weak[16];

	if (control->journal == NULL || n > sizeof weak / sizeof weak[0])
		return __real_db_set_pragmas(db, p, n, e);
	memcpy(weak, p, n * sizeof *p);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(p[i].name, "journal_mode") == 0 && strcmp(p[i].value, "TRUNCATE") == 0)
			weak[i] = (struct db_pragma){ "journal_mode", control->journal, control->answer };
		if (strcmp(p[i].name, "synchronous") == 0 && strcmp(p[i].value, "FULL") == 0)
			weak[i] = (struct db_pragma){ "synchronous", control->sync, control->sync_answer };
	}
	return __real_db_set_pragmas(db, weak, n, e);
}

static void __attribute__((format(printf, 2, 3), noreturn))
judge(enum verdict v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ours->said, sizeof ours->said, fmt, ap);
	va_end(ap);
	ours->verdict = v;
	_exit(1);
}

static void
key_of(char key[16], int i)
{
	snprintf(key, 16, "k:%02d", i);
}

/* Mostly small, now and then over several pages. */
static char *
value_of(uint32_t text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	uint64_t r = text;
	size_t at = text % 26,
	       n = disk_random(&r) % 8 == 0 ? 2000 + disk_random(&r) % 9000 : disk_random(&r) % 200;
	struct buf b = BUF_INIT;

	buf_fmt(&b, "{\"n\":%u,\"fill\":\"", text);
	for (; n > 26 - at; at = 0) {
		buf_add(&b, letters + at, 26 - at);
		n -= 26 - at;
	}
	buf_add(&b, letters + at, n);
	buf_str(&b, "\"}");
	return buf_detach(&b);
}

/* ---- what is there ---- */

static void
look(struct store *s, struct mind *out)
{
	struct records there = { 0 };
	struct err e = ERR_INIT;
	size_t n = 0;

	if (event_last(s, &out->events, &e) != 0 || store_scan(s, "k:", NULL, NULL, 0, &there, &e) != 0)
		judge(UNOPENABLE, "%s", e.msg);
	for (int i = 0; i < KEYS; i++) {
		const struct record *r = &there.v[n];
		char key[16], *value;

		key_of(key, i);
		out->key[i] = (struct known){ 0, 0 };
		if (n == there.n || strcmp(r->key, key) != 0)
			continue;
		out->key[i] =
		    (struct known){ r->version, (uint32_t)strtoul(strchr(r->value, ':') + 1, NULL, 10) };
		value = value_of(out->key[i].text);
		if (strcmp(value, r->value) != 0)
			judge(HALF, "the value of %s is not what was written", key);
		free(value);
		n++;
	}
	if (n != there.n)
		judge(HALF, "there are records that nobody wrote");
	store_records_release(&there);
}

static bool
same(const struct mind *there, const struct mind *m)
{
	bool same = there->events == m->events;

	for (int i = 0; i < KEYS && same; i++)
		same = there->key[i].text == m->key[i].text &&
		    (m->key[i].version == UNKNOWN ? there->key[i].version > ours->highest[i]
						  : there->key[i].version == m->key[i].version);
	return same;
}

static void
settle(const struct mind *there)
{
	memmove(&ours->past[1], &ours->past[0], sizeof ours->past - sizeof ours->past[0]);
	ours->past[0] = *there;
	ours->under_way = false;
	for (int i = 0; i < KEYS; i++)
		if (there->key[i].version > ours->highest[i])
			ours->highest[i] = there->key[i].version;
}

static void
verify(struct store *s)
{
	struct mind there;

	look(s, &there);
	if (same(&there, &ours->past[0])) {
		ours->under_way = false;
		return;
	}
	if (ours->under_way && same(&there, &ours->next)) {
		settle(&there);
		return;
	}
	for (int i = 1; i < PAST; i++)
		if (same(&there, &ours->past[i]))
			judge(LOST, "the last %d acknowledged commits are not there", i);
	judge(HALF, "the records are neither before nor after the last commit");
}

static void
verify_log(struct store *s, const char *log)
{
	struct err e = ERR_INIT;
	struct event_log_state state;

	if (event_export(s, log, NULL, &e) != 0 || event_check(s, log, &state, &e) != 0)
		judge(EVENTS, "%s", e.msg);
	if ((int64_t)state.lines != ours->past[0].events)
		judge(EVENTS, "the log has %zu lines of %lld", state.lines, (long long)ours->past[0].events);
}

/* ---- what is done ---- */

struct plan {
	struct change c[3];
	char key[3][16];
	size_t n;
	bool wrong;			/* a version in it is not the record's: it must be refused */
};

static void
plan_change(struct plan *p, int i, struct mind *next, uint64_t *random)
{
	struct change *c = &p->c[p->n];
	struct known *k = &next->key[i];
	uint64_t how = disk_random(random) % 20;

	key_of(p->key[p->n], i);
	*c = (struct change){ .kind = CHANGE_PUT, .key = p->key[p->n], .expect = STORE_ANY, .tag = "t" };
	p->n++;
	if (how >= 10)
		c->expect = k->version;
	if (how >= 18) {
		c->expect = k->version + 1 + (int64_t)(disk_random(random) % 3);
		p->wrong = true;
	}
	how = disk_random(random) % 20;
	if (how < 14) {
		*k = (struct known){ k->text == 0 ? UNKNOWN : k->version + 1, ++ours->texts };
		c->value = value_of(k->text);
	} else if (how < 17) {
		c->kind = CHANGE_DELETE;
		*k = (struct known){ 0, 0 };
	} else
		c->kind = CHANGE_CHECK;
}

static void
make_plan(struct plan *p, struct mind *next, uint64_t *random)
{
	size_t n = 1 + disk_random(random) % 3;
	int at = (int)(disk_random(random) % KEYS);

	memset(p, 0, sizeof *p);
	while (p->n < n) {
		plan_change(p, at, next, random);
		at = (at + 1 + (int)(disk_random(random) % 3)) % KEYS;
	}
}

static void
commit(struct store *s, uint64_t *random)
{
	static const struct event ev = {
		.kind = "test.done", .subject = "power", .text = "a commit with an event"
	};
	struct mind next = ours->past[0], there;
	struct err e = ERR_INIT;
	enum commit answer;
	struct plan p;
	bool event = disk_random(random) % 3 == 0;

	make_plan(&p, &next, random);
	next.events += event;
	ours->next = next;
	ours->under_way = !p.wrong;
	answer = event ? event_commit(s, p.c, p.n, &ev, &e) : store_commit(s, p.c, p.n, &e);
	for (size_t i = 0; i < p.n; i++)
		free((char *)p.c[i].value);
	if (p.wrong != (answer == COMMIT_CONFLICT))
		judge(p.wrong ? FENCE : FAILED, "the answer is %d (%s)", (int)answer, e.msg);
	if (p.wrong)
		return;
	ours->acknowledged++;
	look(s, &there);
	if (!same(&there, &next))
		judge(HALF, "the commit is not there as it was made");
	settle(&there);
}

/* Events leave the store and pages the file: nothing else changes, and the log keeps all of them. */
static void
sweep(struct store *s, const char *dir, const char *log)
{
	char *none = io_join(dir, "none/state");
	const struct history_limits limits = { .count = 3, .budget_ms = 60000, .state = none, .log = log };
	struct history_report out;
	struct mind there;
	struct err e = ERR_INIT;

	ours->under_way = false;
	if (history_sweep(s, &limits, &out, &e) != 0 || store_shrink(s, INT64_MAX, &e) != 0)
		judge(FAILED, "the sweep answers %s", e.msg);
	look(s, &there);
	if (!same(&there, &ours->past[0]))
		judge(HALF, "the sweep changed what is open");
	free(none);
}

static void __attribute__((noreturn))
step(const char *dir, uint64_t seed)
{
	uint64_t random = seed;
	char *log = io_join(dir, EVENT_LOG);
	struct err e = ERR_INIT;
	struct store *s;

	disk_begin(dir, disk_random(&random), 1 + (long)(disk_random(&random) % CHANGES), control->disk,
	    &ours->trace);
	sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, (int)(disk_random(&random) & 0xffffff) + 1, NULL);
	s = store_open("sqlite", dir, &e);
	if (s == NULL)
		judge(UNOPENABLE, "%s", e.msg);
	verify(s);
	if (disk_random(&random) % 4 == 0)
		verify_log(s, log);
	for (uint64_t n = 1 + disk_random(&random) % COMMITS; n > 0; n--)
		commit(s, &random);
	if (disk_random(&random) % 3 == 0)
		sweep(s, dir, log);
	if (disk_random(&random) % 4 == 0)
		verify_log(s, log);
	store_close(s);
	disk_crash();
}

/* ---- the row of steps ---- */

static void
begin_anew(const char *dir)
{
	DIR *list = opendir(dir);
	struct dirent *d;

	while (list != NULL && (d = readdir(list)) != NULL) {
		char *path = io_join(dir, d->d_name);

		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 && unlink(path) != 0)
			die("powerloss: %s cannot be removed", path);
		free(path);
	}
	if (list == NULL)
		die("powerloss: %s cannot be read", dir);
	closedir(list);
	memset(ours->past, 0, sizeof ours->past);
	memset(ours->highest, 0, sizeof ours->highest);
	ours->under_way = false;
	ours->texts = 0;
}

static enum verdict
run_step(const char *dir, uint64_t seed, long n)
{
	uint64_t mix = seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)n;
	pid_t pid;
	int status;

	ours->verdict = FINE;
	ours->trace = 0;
	pid = fork();
	if (pid == 0)
		step(dir, disk_random(&mix));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("powerloss: no process can be made");
	if (ours->verdict == FINE && (!WIFEXITED(status) || WEXITSTATUS(status) != DISK_CRASHED))
		die("powerloss: step %ld of seed %llu ended with status %x", n, (unsigned long long)seed,
		    (unsigned)status);
	return ours->verdict;
}

static int
run_steps(const char *dir, uint64_t seed, long steps, long only)
{
	long first = only >= 0 ? only / EPOCH * EPOCH : 0, last = only >= 0 ? only + 1 : steps,
	     count[VERDICTS] = { 0 }, bad;
	uint64_t trace = 0;

	for (long n = first; n < last; n++) {
		enum verdict v;

		if (n % EPOCH == 0)
			begin_anew(dir);
		v = run_step(dir, seed, n);
		count[v]++;
		trace = trace * UINT64_C(0x100000001b3) + ours->trace;
		if (v == FINE)
			continue;
		printf("seed %llu step %ld trace %016llx: %s: %s\n", (unsigned long long)seed, n,
		    (unsigned long long)ours->trace, verdict_names[v], ours->said);
		begin_anew(dir);
	}
	bad = last - first - count[FINE];
	printf("seed %llu crashes %ld commits %ld trace %016llx bad %ld", (unsigned long long)seed,
	    last - first, ours->acknowledged, (unsigned long long)trace, bad);
	for (int v = UNOPENABLE; v < VERDICTS; v++)
		printf("%s%s %ld", v == UNOPENABLE ? " (" : ", ", verdict_names[v], count[v]);
	printf(")\n");
	begin_anew(dir);
	return bad != 0;
}

static const struct control *
control_named(const char *name)
{
	for (size_t i = 0; i < sizeof controls / sizeof controls[0]; i++)
		if (strcmp(controls[i].name, name) == 0)
			return &controls[i];
	fprintf(stderr, "powerloss: there is no control %s\n", name);
	exit(GT_USAGE);
}

int
main(int argc, char **argv)
{
	uint64_t seed = 1;
	long steps = 1000, only = -1;
	int i = 1;

	for (; i + 1 < argc && str_starts(argv[i], "--"); i += 2) {
		if (strcmp(argv[i], "--seed") == 0)
			seed = strtoull(argv[i + 1], NULL, 0);
		else if (strcmp(argv[i], "--steps") == 0)
			steps = strtol(argv[i + 1], NULL, 0);
		else if (strcmp(argv[i], "--step") == 0)
			only = strtol(argv[i + 1], NULL, 0);
		else if (strcmp(argv[i], "--control") == 0)
			control = control_named(argv[i + 1]);
		else
			break;
	}
	if (i != argc - 1 || argv[i][0] != '/') {
		fprintf(stderr,
		    "usage: powerloss [--seed S] [--steps N] [--step K] [--control NAME] /EMPTY/DIR\n");
		return GT_USAGE;
	}
	ours = mmap(NULL, sizeof *ours, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ours == MAP_FAILED)
		die("powerloss: no shared memory");
	setvbuf(stdout, NULL, _IOLBF, 0);
	sqlite3_initialize();		/* once, and not in each process */
	return run_steps(argv[i], seed, steps, only);
}
