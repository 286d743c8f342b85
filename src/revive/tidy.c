#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "revive/tidy.h"
#include "revive/world.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "town/config.h"

#define HOUR_MS ((int64_t)3600000)

/* ".NAME.PID.RANDOM": the file of a writer (base/io.h) that is no more. */
static bool
writer_died(const char *name)
{
	const char *end = strrchr(name, '.'), *dot = end;
	long pid;

	if (name[0] != '.' || end == NULL || end == name)
		return false;
	while (--dot > name && *dot != '.')
		;
	pid = strtol(dot + 1, NULL, 10);
	return pid > 0 && pid < INT_MAX && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static void
tidy_folder(const char *state_dir, const char *folder, int64_t age_ms)
{
	char *path = io_join(state_dir, folder);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *d;
	struct stat st;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		bool leftover = d->d_name[0] == '.' || str_ends(d->d_name, ".taken");

		if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
			continue;
		if (writer_died(d->d_name) || clock_wall_ms() - (int64_t)st.st_mtime * 1000 > (leftover ? HOUR_MS : age_ms))
			unlinkat(fd, d->d_name, 0);
	}
	if (dir != NULL)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	free(path);
}

/* A lock file whose holder was killed. Only an old one: to try a lock is to hold it for a moment. */
static void
tidy_locks(const char *state_dir)
{
	char *path = io_join(state_dir, "locks");
	DIR *dir = opendir(path);
	struct dirent *d;
	struct stat st;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		char *file;
		int fd;

		if (d->d_name[0] == '.' || fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
		    clock_wall_ms() - (int64_t)st.st_mtime * 1000 < HOUR_MS)
			continue;
		file = io_join(path, d->d_name);
		fd = io_lock(file, 0, NULL);
		io_unlock(file, fd);
		free(file);
	}
	if (dir != NULL)
		closedir(dir);
	free(path);
}

void
tidy(struct world *w)
{
	tidy_locks(w->state_dir);
	tidy_folder(w->state_dir, "contexts", config_ms(w->config, "snapshot_age"));
	/* a prompt whose recoverer died and whose pane is gone: nobody comes for it */
	tidy_folder(w->state_dir, "prompts", config_ms(w->config, "snapshot_age"));
}

void
tidy_prompt(struct world *w, const char *recovery_id)
{
	char *name = xasprintf("%s.txt", recovery_id), *path = world_path(w, "prompts", name, false, NULL);

	if (path != NULL)
		unlink(path);
	free(path);
	free(name);
}
