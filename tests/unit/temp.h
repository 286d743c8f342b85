#ifndef TESTS_UNIT_TEMP_H
#define TESTS_UNIT_TEMP_H

/* A private directory for one test, and its removal with everything in it. */

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

static inline char *
temp_dir(void)
{
	char *dir = xstrdup("/tmp/gt-unit.XXXXXX");

	if (mkdtemp(dir) == NULL)
		abort();
	return dir;
}

static inline int
temp_unlink(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static inline void
temp_remove(char *dir)
{
	nftw(dir, temp_unlink, 16, FTW_DEPTH | FTW_PHYS);
	free(dir);
}

static inline void
temp_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

#endif
