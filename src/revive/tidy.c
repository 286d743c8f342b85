#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "revive/tidy.h"
#include "revive/world.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "town/config.h"

#define HOUR_MS ((int64_t)3600000)

static void
tidy_folder(const char *state_dir, const char *folder, int64_t age_ms, bool leftovers_only)
{
	char *path = io_join(state_dir, folder);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *d;
	struct stat st;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		bool leftover = d->d_name[0] == '.' || str_ends(d->d_name, ".taken");

		if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) || (leftovers_only && !leftover))
			continue;
		if (clock_wall_ms() - (int64_t)st.st_mtime * 1000 > (leftover ? HOUR_MS : age_ms))
			unlinkat(fd, d->d_name, 0);
	}
	if (dir != NULL)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	free(path);
}

void
tidy(struct world *w)
{
	tidy_folder(w->state_dir, "contexts", config_ms(w->config, "snapshot_age"), false);
	tidy_folder(w->state_dir, "prompts", 0, true);
}
