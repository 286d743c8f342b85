#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A fuzz target without its fuzzer: feeds it every file of tests/fuzz/corpus/NAME, NAME being
 * what stands behind "replay_" in the program's own name. What a fuzzer once found interesting is
 * so tried by every compiler and in every check. Speaks TAP.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define MOST ((size_t)1 << 20)

/* False when the file cannot be read. */
static int
feed(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *all = malloc(MOST), *exact;
	size_t n;

	if (f == NULL || all == NULL)
		return 0;
	n = fread(all, 1, MOST, f);
	fclose(f);
	exact = malloc(n > 0 ? n : 1);		/* so that a sanitizer sees a read behind the end */
	if (exact == NULL)
		return 0;
	memcpy(exact, all, n);
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	free(all);
	return 1;
}

int
main(int argc, char **argv)
{
	const char *mark = argc > 0 ? strstr(argv[0], "replay_") : NULL, *root = getenv("GT_TESTS");
	char dir[4096], path[8192];
	size_t n = 0, bad = 0;
	struct dirent *d;
	DIR *open;

	snprintf(dir, sizeof dir, "%s/fuzz/corpus/%s", root != NULL ? root : "tests",
	    mark != NULL ? mark + 7 : "?");
	open = opendir(dir);
	while (open != NULL && (d = readdir(open)) != NULL) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, d->d_name);
		bad += !feed(path);
		n++;
	}
	if (open != NULL)
		closedir(open);
	printf("1..1\n%sok 1 - %zu inputs of %s\n", n > 0 && bad == 0 ? "" : "not ", n, dir);
	return n > 0 && bad == 0 ? 0 : 1;
}
