#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "revive/look.h"
#include "base/buf.h"

char *
look_program(const char *path, const char *name)
{
	struct stat st;

	for (const char *p = path != NULL ? path : ""; *p != '\0'; p += strcspn(p, ":"), p += *p == ':') {
		size_t n = strcspn(p, ":");
		char *file = xasprintf("%.*s/%s", (int)n, p, name);

		if (n > 0 && access(file, X_OK) == 0 && stat(file, &st) == 0 && S_ISREG(st.st_mode))
			return file;
		free(file);
	}
	return NULL;
}

char *
look_existing(const char *path)
{
	char *at = xstrdup(path), *slash;

	while (access(at, F_OK) != 0 && (slash = strrchr(at, '/')) != NULL && slash != at)
		*slash = '\0';
	if (access(at, F_OK) != 0)
		strcpy(at, "/");
	return at;
}

int64_t
look_free_bytes(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 ? (int64_t)fs.f_bavail * (int64_t)fs.f_frsize : -1;
}

size_t
look_open_files(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *f;
	struct stat st;
	size_t n = 0;

	while (d != NULL && (f = readdir(d)) != NULL)
		if (fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			n += (st.st_mode & 077) != 0 || st.st_uid != geteuid();
	if (d != NULL)
		closedir(d);
	return n;
}
