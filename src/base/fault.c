#ifdef GT_FAULTS
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"

/* "NAME:N" of each passage in this process, forks included. */
static void
log_passage(const char *path, const char *name)
{
	static struct { const char *name; int passed; } names[64];
	char line[80];
	size_t i = 0;
	int fd, n;

	while (i < 63 && names[i].name != NULL && strcmp(names[i].name, name) != 0)
		i++;
	names[i].name = name;
	n = snprintf(line, sizeof line, "%s:%d\n", name, ++names[i].passed);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		abort();
	close(fd);
}

int
fault_point(const char *name)
{
	static int passed;
	const char *spec = getenv("GT_FAULT"), *eq, *colon;
	size_t n;
	long when = 1;

	if (spec == NULL || *spec == '\0')
		return 0;
	/* a test that names nothing to be done would pass for nothing */
	if ((eq = strchr(spec, '=')) == NULL)
		abort();
	if (strncmp(spec, "log=", 4) == 0) {
		log_passage(spec + 4, name);
		return 0;
	}
	colon = memchr(spec, ':', (size_t)(eq - spec));
	n = (size_t)((colon != NULL ? colon : eq) - spec);
	if (strlen(name) != n || memcmp(name, spec, n) != 0)
		return 0;
	if (colon != NULL)
		when = strtol(colon + 1, NULL, 10);
	if (++passed != when)
		return 0;
	if (strcmp(eq + 1, "kill") == 0)
		raise(SIGKILL);
	else if (strcmp(eq + 1, "stop") == 0)
		raise(SIGSTOP);
	else {
		errno = strcmp(eq + 1, "enospc") == 0 ? ENOSPC : EIO;
		return -1;
	}
	return 0;
}

const char *
fault_path(const char *variable, const char *path)
{
	const char *other = getenv(variable);

	return other != NULL ? other : path;
}

int
fault_wait_ms(const char *variable, int ms)
{
	const char *other = getenv(variable);

	return other != NULL ? atoi(other) : ms;
}
#else
typedef int fault_not_built;
#endif
