#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context/newborn.h"
#include "base/buf.h"
#include "base/io.h"
#include "context/transcript_place.h"
#include "context/transcript_record.h"

#define HEAD ((size_t)64 << 10)

static ssize_t
read_head(const char *path, char *head)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = pread(fd, head, HEAD, 0);
	close(fd);
	return n;
}

int64_t
newborn_time(const char *path)
{
	char *head = xmalloc(HEAD);
	ssize_t n = read_head(path, head);
	int64_t at = 0;

	for (const char *p = head, *end; n > 0 && at == 0 && (end = memchr(p, '\n', (size_t)(head + n - p))) != NULL; p = end + 1) {
		struct record_parts parts;

		if (record_open(p, (size_t)(end - p), &parts))
			at = record_time(parts.time);
	}
	free(head);
	return at;
}

/* By its name; a sub-agent's has another. */
static bool
is_conversation(const char *name)
{
	char *id = str_ends(name, ".jsonl") ? xstrndup(name, strlen(name) - strlen(".jsonl")) : NULL;
	bool is = id != NULL && transcript_is_id(id);

	free(id);
	return is;
}

static bool
is_held(const char *name, const char *const *held, size_t n_held)
{
	for (size_t i = 0; i < n_held; i++)
		if (str_starts(name, held[i]))
			return true;
	return false;
}

/* A file is not written before its conversation begins, so the older ones need not be opened. */
static bool
began_since(const char *path, int64_t since)
{
	struct stat st;

	return stat(path, &st) == 0 && (int64_t)st.st_mtim.tv_sec * 1000 + 999 >= since && newborn_time(path) >= since;
}

char *
newborn_find(const char *config_dir, const char *cwd, int64_t since, const char *const *held, size_t n_held)
{
	char *folder = transcript_folder(config_dir, cwd), *found = NULL;
	DIR *dir = folder != NULL ? opendir(folder) : NULL;
	bool several = false;
	struct dirent *d;

	while (dir != NULL && !several && (d = readdir(dir)) != NULL) {
		char *path = is_conversation(d->d_name) && !is_held(d->d_name, held, n_held) ? io_join(folder, d->d_name) : NULL;

		if (path == NULL || !began_since(path, since)) {
			free(path);
			continue;
		}
		several = found != NULL;
		free(found);
		found = path;
	}
	if (dir != NULL)
		closedir(dir);
	free(folder);
	if (several) {
		free(found);
		found = NULL;
	}
	return found;
}
