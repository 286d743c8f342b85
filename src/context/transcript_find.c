#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "context/transcript_find.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/utf8.h"

#define SLUG_MAX 200

static void
make_slug(struct buf *out, const char *cwd)
{
	char *real = realpath(cwd, NULL);
	const char *p = real != NULL ? real : cwd;
	size_t n = strlen(p), step;
	int32_t r;

	for (size_t i = 0; i < n; i += step) {
		step = utf8_next(p + i, n - i, &r);
		if (r >= 0 && r < 0x80 && isalnum(r))
			buf_chr(out, (char)r);
		else
			buf_str(out, r > 0xffff ? "--" : "-");
	}
	free(real);
}

char *
transcript_folder(const char *config_dir, const char *cwd)
{
	struct buf slug = BUF_INIT;
	char *projects = io_join(config_dir, "projects"), *found = NULL;
	struct dirent *d;
	struct stat st;
	DIR *dir;

	make_slug(&slug, cwd);
	if (slug.len <= SLUG_MAX) {
		found = io_join(projects, slug.data);
		if (stat(found, &st) != 0) {
			free(found);
			found = NULL;
		}
	} else if ((dir = opendir(projects)) != NULL) {
		while (found == NULL && (d = readdir(dir)) != NULL)
			if (strncmp(d->d_name, slug.data, SLUG_MAX) == 0 && d->d_name[SLUG_MAX] == '-')
				found = io_join(projects, d->d_name);
		closedir(dir);
	}
	free(projects);
	buf_release(&slug);
	return found;
}

char *
transcript_path(const char *config_dir, const char *cwd, const char *session_id)
{
	char *folder = transcript_folder(config_dir, cwd), *path;
	struct stat st;

	if (folder == NULL)
		return NULL;
	path = xasprintf("%s/%s.jsonl", folder, session_id);
	free(folder);
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		return path;
	free(path);
	return NULL;
}
