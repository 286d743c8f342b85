/*
 * All unit tests as one program. Each tests/unit/test_NAME.c is compiled with its main named
 * test_NAME; the list is made by the Makefile. Every file runs in a process of its own: what it
 * leaves behind reaches no other.
 *
 *     unit              runs all, a line "== NAME" before each
 *     unit test_lock…   runs these
 *     unit --list       prints the names
 *
 * Exit status 0 when all passed, 1 when one failed, 2 for a name that is none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNIT(name) int name(int argc, char **argv);
#include "tests.inc"
#undef UNIT

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} tests[] = {
#define UNIT(name) { #name, name },
#include "tests.inc"
#undef UNIT
};

enum { N_TESTS = sizeof tests / sizeof tests[0] };

static int
find_test(const char *name)
{
	for (int i = 0; i < N_TESTS; i++)
		if (strcmp(tests[i].name, name) == 0)
			return i;
	fprintf(stderr, "unit: no test named %s; unit --list prints the names\n", name);
	exit(2);
}

/* True when it passed. */
static int
passes(int i, char *program)
{
	char *argv[] = { program, NULL };
	int status;
	pid_t pid;

	printf("== %s\n", tests[i].name);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		exit(tests[i].run(1, argv));
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int
main(int argc, char **argv)
{
	int failed = 0;

	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		for (int i = 0; i < N_TESTS; i++)
			puts(tests[i].name);
		return 0;
	}
	/* one test runs in this very process, as debuggers like it */
	if (argc == 2)
		return tests[find_test(argv[1])].run(1, argv);
	for (int i = 1; i < argc; i++)
		failed += !passes(find_test(argv[i]), argv[0]);
	for (int i = 0; argc == 1 && i < N_TESTS; i++)
		failed += !passes(i, argv[0]);
	if (failed > 0)
		printf("%d of %d failed\n", failed, argc == 1 ? N_TESTS : argc - 1);
	return failed > 0;
}
