/*
 * measure RUNS INPUT COMMAND... -- COMMAND...: runs both commands so many times in turn, so that
 * a busy moment of the machine hits both, with INPUT as their standard input. Prints the medians,
 * a line a command: wall clock and processor time in microseconds (of the command and of what it
 * had run), peak resident memory in KiB. The output is read through a pipe and thrown away, as a
 * caller would read it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_RUNS 1000

static long
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static int
ascending(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return (x > y) - (x < y);
}

static long
median(long *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, ascending);
	return v[n / 2];
}

static void
run_child(const char *input, char **command, const int out[2])
{
	int in = open(input, O_RDONLY);

	if (in < 0 || dup2(in, 0) < 0 || dup2(out[1], 1) < 0)
		_exit(126);
	close(in);
	close(out[0]);
	close(out[1]);
	execvp(command[0], command);
	_exit(127);
}

struct results {
	long wall[MAX_RUNS], cpu[MAX_RUNS], rss[MAX_RUNS];
};

static int
run_once(const char *input, char **command, struct results *to, int i)
{
	static char drain[65536];
	struct rusage used;
	int out[2], status;
	long begin = now_us();
	pid_t pid;

	if (pipe(out) != 0 || (pid = fork()) < 0)
		return -1;
	if (pid == 0)
		run_child(input, command, out);
	close(out[1]);
	while (read(out[0], drain, sizeof drain) > 0)
		;
	close(out[0]);
	if (wait4(pid, &status, 0, &used) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "measure: %s failed\n", command[0]);
		return -1;
	}
	to->wall[i] = now_us() - begin;
	to->cpu[i] = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 + used.ru_utime.tv_usec +
	    used.ru_stime.tv_usec;
	to->rss[i] = used.ru_maxrss;
	return 0;
}

int
main(int argc, char **argv)
{
	static struct results results[2];
	int runs = argc > 5 ? atoi(argv[1]) : 0, second = 3;

	while (second < argc && strcmp(argv[second], "--") != 0)
		second++;
	if (runs < 1 || runs > MAX_RUNS || second + 1 >= argc) {
		fprintf(stderr, "usage: measure RUNS INPUT COMMAND... -- COMMAND...\n");
		return 2;
	}
	argv[second++] = NULL;
	for (int i = 0; i < runs; i++)
		if (run_once(argv[2], argv + 3, &results[0], i) != 0 ||
		    run_once(argv[2], argv + second, &results[1], i) != 0)
			return 1;
	for (int i = 0; i < 2; i++)
		printf("%ld %ld %ld\n", median(results[i].wall, runs), median(results[i].cpu, runs),
		    median(results[i].rss, runs));
	return 0;
}
