#ifndef TESTS_UNIT_GOLDEN_H
#define TESTS_UNIT_GOLDEN_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"

/* tests/ of the source tree: GT_TESTS, else found from the working directory. Heap. */
static inline char *
tests_path(const char *rest)
{
	const char *root = getenv("GT_TESTS");

	return io_join(root != NULL ? root : "tests", rest);
}

/* Calls each(dir) for every folder of tests/REST, in no order; answers how many there were. */
static inline size_t
golden_each(const char *rest, void (*each)(const char *dir))
{
	char *root = tests_path(rest);
	DIR *d = opendir(root);
	size_t n = 0;

	if (d == NULL) {
		free(root);
		return 0;
	}
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		char *dir;

		if (e->d_name[0] == '.')
			continue;
		dir = io_join(root, e->d_name);
		each(dir);
		free(dir);
		n++;
	}
	closedir(d);
	free(root);
	return n;
}

/* 0, or -1 when there is no such file. */
static inline int
golden_read(const char *dir, const char *name, struct buf *out)
{
	char *path = io_join(dir, name);
	struct err e = ERR_INIT;
	int ret = io_read_file(path, 16u << 20, out, &e);

	free(path);
	return ret;
}

#endif
