#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
#include "ledger/activity.h"
#include "ledger/attempt.h"
#include "store/store.h"
#include "town/config.h"

#define HOUR_MS ((int64_t)3600000)

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
		if (io_writer_died(d->d_name) || clock_wall_ms() - (int64_t)st.st_mtime * 1000 > (leftover ? HOUR_MS : age_ms))
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

static bool
has_ended(struct store *store, const char *id)
{
	struct attempt a;
	bool ended;

	if (attempt_load(store, id, &a, NULL) != 1)
		return false;
	ended = phase_final(a.phase);
	attempt_release(&a);
	return ended;
}

void
tidy_prompts(struct world *w)
{
	char *path = io_join(w->state_dir, "prompts");
	DIR *dir = opendir(path);
	struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		struct store *store = str_ends(d->d_name, ".txt") && d->d_name[0] != '.' ? world_store(w, false, NULL) : NULL;
		char *id = xstrndup(d->d_name, strlen(d->d_name) - (store != NULL ? strlen(".txt") : 0));

		if (store != NULL && has_ended(store, id))
			unlinkat(dirfd(dir), d->d_name, 0);
		free(id);
	}
	if (dir != NULL)
		closedir(dir);
	free(path);
}

static void
tidy_activity(struct world *w)
{
	struct store *store = world_store(w, false, NULL);

	if (store != NULL)
		activity_tidy(store, store_now(store) - config_ms(w->config, "snapshot_age"), NULL, NULL);
}

void
tidy(struct world *w)
{
	if (w->dry)
		return;
	tidy_locks(w->state_dir);
	tidy_folder(w->state_dir, "contexts", config_ms(w->config, "snapshot_age"));
	tidy_prompts(w);
	tidy_activity(w);
	/* of an attempt that nobody knows */
	tidy_folder(w->state_dir, "prompts", config_ms(w->config, "snapshot_age"));
}

void
tidy_prompt(struct world *w, const char *recovery_id)
{
	char *name = xasprintf("%s.txt", recovery_id), *path = world_path(w, "prompts", name, false, NULL);

	if (path != NULL && !w->dry)
		unlink(path);
	free(path);
	free(name);
}
