/* Copies of damaged stores, PATH.corrupt-TIME-PID: the newest are kept. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_private.h"
#include "base/buf.h"

struct damaged_copy {
	char *name;
	int64_t at;			/* ns since 1970 */
};

struct copies {
	struct damaged_copy *v;
	size_t n, cap;
};

static int
by_age(const void *a, const void *b)
{
	const struct damaged_copy *x = a, *y = b;

	return x->at != y->at ? (x->at < y->at) - (x->at > y->at) : -strcmp(x->name, y->name);
}

/* The copy itself; what lies beside it has a longer name, and goes with it. */
static void
read_copies(DIR *d, const char *prefix, struct copies *out)
{
	struct dirent *f;
	struct stat st;

	while ((f = readdir(d)) != NULL) {
		if (!str_starts(f->d_name, prefix) || str_ends(f->d_name, "-journal") ||
		    fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
		    st.st_uid != geteuid())
			continue;
		out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
		out->v[out->n++] = (struct damaged_copy){ xstrdup(f->d_name),
			(int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec };
	}
}

size_t
sqlite_prune_damaged(const char *path, size_t keep)
{
	const char *slash = strrchr(path, '/');
	char *dir = xstrndup(path, (size_t)(slash - path) + 1), *prefix = xasprintf("%s.corrupt-", slash + 1);
	DIR *d = opendir(dir);
	struct copies all = { .n = 0 };
	size_t removed = 0;

	if (d != NULL)
		read_copies(d, prefix, &all);
	if (all.n > 1)
		qsort(all.v, all.n, sizeof *all.v, by_age);
	for (size_t i = 0; i < all.n; i++) {
		char *journal = xasprintf("%s-journal", all.v[i].name);

		if (i >= keep && unlinkat(dirfd(d), all.v[i].name, 0) == 0) {
			unlinkat(dirfd(d), journal, 0);
			removed++;
		}
		free(journal);
		free(all.v[i].name);
	}
	if (d != NULL)
		closedir(d);
	free(all.v);
	free(prefix);
	free(dir);
	return removed;
}
