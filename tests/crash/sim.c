/*
 * Processes that keep a ledger die, one after the other, each at a random step (sim.h tells what
 * they do and who judges).
 *
 *   sim [--seed S] [--steps N] [--step K] [--control NAME] [--tell 1] DIR
 *
 * DIR is an empty directory, best in memory. A step is one process and its death: half of them
 * lose power, the others are killed; at a change of a file, at a fault point of the program,
 * between two verbs, or at the end. Some get an error of the disk instead. Every 12 steps the
 * ledger begins anew, so that --step K, which tells about step K alone, repeats 12 at most. A
 * control makes a mistake that must be caught, and ends with that. Exit status 1: something was
 * wrong; 2: usage; 99: the harness.
 */
#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "disk.h"
#include "sim.h"
#include "process/proc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "records/records.h"
#include "records/agents/agents.h"
#include "scrub/scrub.h"
#include "config/config.h"

#define EPOCH 12
#define TICKS 1000			/* a process made up began that many clock ticks after its number */

struct sim *sim;
enum sim_control sim_control;
bool sim_tell;
extern struct scrub *sim_scrub;
extern struct config *sim_config;

static const char *const verdict_names[SIM_VERDICTS] = { "fine", "unopenable", "lost", "half", "invariant",
	"answer", "failed", "log", "effect", "restless" };
static const char *const control_names[SIM_CONTROLS] = { "none", "send-first", "ack-first", "drop-message",
	"enqueue-first", "mark-first", "two-commits", "deaf", "no-tree", "error-ignored", "lying-fsync",
	"sweep-open" };

static const char *const count_names[SIM_COUNTS] = { "pending", "failed", "stopped", "kept-by-runner",
	"kept-young", "suspended", "left", "linked", "ended", "made-roots", "undelivered", "answers",
	"waiting", "flagged", "asked", "replayed", "back" };

enum how { AT_CHANGE, AT_FAULT, AT_POINT, AT_END, DISK_ERROR, HOWS };
static const char *const how_names[HOWS] = { "at a file", "at a fault point", "between verbs", "at the end",
	"disk error" };

/* Of this process. */
static uint64_t dice;
static enum how how;
static bool power;
static long point_at;
/* What was killed before it was synced, for the next loss of power. */
static int unsynced;

uint64_t
sim_random(void)
{
	return disk_random(&dice);
}

int
sim_pick(int n)
{
	return (int)(sim_random() % (uint64_t)n);
}

bool
sim_chance(int one_in)
{
	return sim_pick(one_in) == 0;
}

bool
sim_disk_fails(void)
{
	return how == DISK_ERROR;
}

void
sim_die(void)
{
	disk_crash();
}

void
sim_point(void)
{
	sim->points++;
	if (how == AT_POINT && --point_at == 0)
		sim_die();
}

void
sim_judge(enum sim_verdict v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sim->said, sizeof sim->said, fmt, ap);
	va_end(ap);
	sim->verdict = v;
	_exit(1);
}

/* ---- what the program is told of the machine ---- */

int __wrap_raise(int sig);
void __wrap_timestamp_now(struct timestamp *m);
int64_t __wrap_clock_wall_ms(void);
uint64_t __wrap_proc_ticks(pid_t pid);
enum proc_life __wrap_proc_life(pid_t pid, uint64_t start);
enum proc_life __wrap_proc_life_in(uint64_t pid_ns, int64_t pid, int64_t start, const struct timestamp *now);
int __real_tree_repair(struct store *s, session_alive *alive, void *arg, struct tree_repaired *out,
    struct tree_resumable *back, struct err *e);
int __wrap_tree_repair(struct store *s, session_alive *alive, void *arg, struct tree_repaired *out,
    struct tree_resumable *back, struct err *e);
enum commit
__real_event_commit(struct store *s, const struct change *c, size_t n, const struct event *ev, struct err *e);
enum commit
__wrap_event_commit(struct store *s, const struct change *c, size_t n, const struct event *ev, struct err *e);

/* A fault point kills. */
int
__wrap_raise(int sig)
{
	(void)sig;
	sim_die();
}

void
__wrap_timestamp_now(struct timestamp *m)
{
	sim_now(m);
}

int64_t
__wrap_clock_wall_ms(void)
{
	return sim->wall_ms;
}

uint64_t
__wrap_proc_ticks(pid_t pid)
{
	if (pid < 1 || pid > sim->n_processes || (sim_control == SIM_DEAF && sim->is_startup))
		return 0;
	return sim->process[pid].lives ? (uint64_t)pid + TICKS : 0;
}

enum proc_life
__wrap_proc_life(pid_t pid, uint64_t start)
{
	uint64_t ticks = __wrap_proc_ticks(pid);

	return ticks != 0 && (start == 0 || ticks == start) ? LIFE_ALIVE : LIFE_GONE;
}

enum proc_life
__wrap_proc_life_in(uint64_t pid_ns, int64_t pid, int64_t start, const struct timestamp *now)
{
	(void)pid_ns;
	(void)now;
	return __wrap_proc_life((pid_t)pid, (uint64_t)start);
}

/* Who is to come back by a tree that nobody mended. */
static int
hand_over(struct store *s, struct tree_resumable *back, struct err *e)
{
	struct session_list all = { .n = 0 };
	struct tree t = { .n = 0 };
	int ret = tree_read(s, &t, e) == 0 ? session_list_read(s, SESSION_SUSPENDED, &all, e) : -1;

	for (size_t i = 0; i < all.n && ret == 0; i++) {
		const struct tree_node *link = tree_find(&t, all.v[i].agent_uuid);

		if (link == NULL || (!back->all && link->parent != NULL))
			continue;
		back->list.v = vec_room(back->list.v, back->list.n, &back->list.cap, sizeof *back->list.v);
		session_copy(&back->list.v[back->list.n++], &all.v[i]);
	}
	session_list_release(&all);
	tree_release(&t);
	return ret;
}

int
__wrap_tree_repair(struct store *s, session_alive *alive, void *arg, struct tree_repaired *out,
    struct tree_resumable *back, struct err *e)
{
	if (sim_control != SIM_NO_TREE)
		return __real_tree_repair(s, alive, arg, out, back, e);
	memset(out, 0, sizeof *out);
	return back != NULL ? hand_over(s, back, e) : 0;
}

enum commit
__wrap_event_commit(struct store *s, const struct change *c, size_t n, const struct event *ev, struct err *e)
{
	enum commit answer = COMMIT_DONE;

	if (sim_control != SIM_TWO_COMMITS)
		return __real_event_commit(s, c, n, ev, e);
	answer = store_commit(s, c, n, e);
	return answer == COMMIT_DONE ? __real_event_commit(s, NULL, 0, ev, e) : answer;
}

/* ---- one process ---- */

static void
plan_death(const char *dir)
{
	static const char *const points[] = { "store-commit", "store-commit", "store-committed",
		"event-append", "event-sync", "store-backup", "store-create" };
	static const char *const errors[] = { "eio", "enospc" };
	int kind = sim_pick(16);
	/* many die early: what the one before left is then as it was */
	long at = 1 + sim_pick(sim_chance(3) ? 12 : sim_chance(3) ? 60 : 900);
	char fault[64] = "";

	power = sim_chance(2);
	how = kind < 6  ? AT_CHANGE
	    : kind < 10 ? AT_FAULT
	    : kind < 13 ? AT_POINT
	    : kind < 14 ? AT_END
			: DISK_ERROR;
	point_at = 1 + sim_pick(sim_chance(4) ? 2 : 30);
	if (how == AT_FAULT)
		snprintf(fault, sizeof fault, "%s:%d=kill", points[sim_pick(7)], 1 + sim_pick(20));
	else if (how == DISK_ERROR)
		snprintf(fault, sizeof fault, "%s:%d=%s", points[sim_pick(5)], 1 + sim_pick(10),
		    errors[sim_pick(2)]);
	setenv("GT_FAULT", fault, 1);
	sim->crashes[how]++;
	if (sim_tell)
		printf(
		    "step %ld: %s, %s %s\n", sim->step, power ? "power loss" : "kill", how_names[how], fault);
	disk_begin(dir, sim_random(), how == AT_CHANGE ? at : 1000000000,
	    (power ? 0 : DISK_KILL) | (sim_control == SIM_LYING_FSYNC ? DISK_LYING : 0), &sim->trace);
	disk_set_clock(sim->wall_ms);
	sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, sim_pick(0xffffff) + 1, NULL);
}

static void
forget_unsynced(void)
{
	if (ftruncate(unsynced, 0) != 0)
		die("sim: what a kill left unsynced cannot be forgotten");
}

/*
 * What the world makes of the death: a loss of power ends every process and the boot, a kill
 * spares the others.
 */
static void
afterwards(void)
{
	int ms = sim_chance(3) ? 299000 + sim_pick(3) * 1000 : sim_pick(100000);

	if (power) {
		forget_unsynced();
		sim->boot++;
		sim->boot_ms = 0;
		sim->log_whole = false;
	}
	sim->boot_ms += ms;
	sim->wall_ms += ms;
	for (int i = 1; i <= sim->n_processes; i++)
		if (power || sim_chance(3))
			sim->process[i].lives = false;
}

static void
run_step(const char *dir, uint64_t seed, long n)
{
	uint64_t mix = seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)n;
	pid_t pid;
	int status;

	sim->verdict = SIM_FINE;
	sim->step = n;
	dice = disk_random(&mix);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		plan_death(dir);
		sim_play(dir);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("sim: no process can be made");
	if (sim->verdict == SIM_FINE && !(WIFEXITED(status) && WEXITSTATUS(status) == DISK_CRASHED) &&
	    !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		die("sim: step %ld of seed %llu ended with status %x", n, (unsigned long long)seed,
		    (unsigned)status);
	power = !WIFSIGNALED(status);
	dice = disk_random(&mix);
	afterwards();
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
			die("sim: %s cannot be removed", path);
		free(path);
	}
	if (list == NULL)
		die("sim: %s cannot be read", dir);
	closedir(list);
	forget_unsynced();
	memset(sim, 0, offsetof(struct sim, step));
	sim->boot = 1;
	sim->boot_ms = 50000;
	sim->wall_ms = INT64_C(1795000000000);
}

static void
tell_end(uint64_t seed, long steps, const long count[SIM_VERDICTS])
{
	printf("seed %llu crashes %ld actions %ld trace %016llx bad %ld", (unsigned long long)seed, steps,
	    sim->actions, (unsigned long long)sim->trace, steps - count[SIM_FINE]);
	for (int v = SIM_UNOPENABLE; v < SIM_VERDICTS; v++)
		printf("%s%s %ld", v == SIM_UNOPENABLE ? " (" : ", ", verdict_names[v], count[v]);
	printf(")\nunder way %ld came %ld repeated %ld errors %ld points %ld swept %ld in part %ld", sim->unsettled,
	    sim->came, sim->repeated, sim->disk_errors, sim->points, sim->swept, sim->swept_in_part);
	for (int i = 0; i < HOWS; i++)
		printf(", %s %ld", how_names[i], sim->crashes[i]);
	printf("\naccepted/refused");
	for (int v = 0; v < SIM_VERBS; v++)
		printf(" %s %ld/%ld", sim_verb_names[v], sim->accepted[v], sim->refused[v]);
	printf("\nsettled");
	for (size_t i = 0; i < SIM_COUNTS; i++)
		printf(" %s %ld", count_names[i], sim->settled[i]);
	printf("\n");
}

static int
run_steps(const char *dir, uint64_t seed, long steps, long only)
{
	long first = only >= 0 ? only / EPOCH * EPOCH : 0, last = only >= 0 ? only + 1 : steps,
	     count[SIM_VERDICTS] = { 0 };
	bool tell = sim_tell;

	for (long n = first; n < last; n++) {
		if (n % EPOCH == 0)
			begin_anew(dir);
		sim_tell = tell && (only < 0 || n == only);
		run_step(dir, seed, n);
		count[sim->verdict]++;
		if (sim->verdict == SIM_FINE)
			continue;
		if (sim_control == SIM_NONE || only >= 0)
			printf("seed %llu step %ld: %s: %s\n", (unsigned long long)seed, n,
			    verdict_names[sim->verdict], sim->said);
		begin_anew(dir);
		if (sim_control != SIM_NONE)
			last = n + 1;
	}
	tell_end(seed, last - first, count);
	begin_anew(dir);
	return count[SIM_FINE] != last - first;
}

static enum sim_control
control_named(const char *name)
{
	for (int i = 0; i < SIM_CONTROLS; i++)
		if (strcmp(control_names[i], name) == 0)
			return (enum sim_control)i;
	fprintf(stderr, "sim: there is no control %s\n", name);
	exit(GT_USAGE);
}

int
main(int argc, char **argv)
{
	uint64_t seed = 1;
	long steps = 1000, only = -1;
	struct err e = ERR_INIT;
	int i = 1;

	for (; i + 1 < argc && str_starts(argv[i], "--"); i += 2) {
		if (strcmp(argv[i], "--seed") == 0)
			seed = strtoull(argv[i + 1], NULL, 0);
		else if (strcmp(argv[i], "--steps") == 0)
			steps = strtol(argv[i + 1], NULL, 0);
		else if (strcmp(argv[i], "--step") == 0)
			only = strtol(argv[i + 1], NULL, 0);
		else if (strcmp(argv[i], "--control") == 0)
			sim_control = control_named(argv[i + 1]);
		else if (strcmp(argv[i], "--tell") == 0)
			sim_tell = true;
		else
			break;
	}
	if (i != argc - 1 || argv[i][0] != '/') {
		fprintf(stderr,
		    "usage: sim [--seed S] [--steps N] [--step K] [--control NAME] [--tell 1] /EMPTY/DIR\n");
		return GT_USAGE;
	}
	sim = mmap(NULL, sizeof *sim, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sim == MAP_FAILED || (sim_config = config_new(NULL, NULL, &e)) == NULL ||
	    (sim_scrub = scrub_new(NULL, &e)) == NULL)
		die("sim: %s", e.code != 0 ? e.msg : "no shared memory");
	if ((unsynced = memfd_create("unsynced", MFD_CLOEXEC)) < 0)
		die("sim: no memory for the disk");
	disk_remember(unsynced);
	setvbuf(stdout, NULL, _IOLBF, 0);
	return run_steps(argv[i], seed, steps, only);
}
