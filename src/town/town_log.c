#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "town/town_log.h"
#include "base/io.h"
#include "base/json.h"
#include "town/town.h"

#define LOG_TAIL ((off_t)4 << 20)

bool
town_log_open(struct town_log *l, const struct town *t)
{
	char *path = town_root(t) != NULL ? io_join(town_root(t), ".events.jsonl") : NULL;
	int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	struct stat st;
	bool ok = false;

	*l = (struct town_log){ .text = BUF_INIT };
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		if (st.st_size > LOG_TAIL)
			lseek(fd, st.st_size - LOG_TAIL, SEEK_SET);
		/* others may write while we read */
		ok = io_read_all(fd, path, (size_t)LOG_TAIL * 2, &l->text, NULL) == 0;
	}
	l->end = ok ? l->text.len : 0;
	if (fd >= 0)
		close(fd);
	free(path);
	return ok;
}

void
town_log_release(struct town_log *l)
{
	buf_release(&l->text);
	*l = (struct town_log){ .text = BUF_INIT };
}

static bool
has_word(const char *line, size_t len, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memmem(line, len, words[i], strlen(words[i])) != NULL)
			return true;
	return false;
}

json_t *
town_log_older(struct town_log *l, const char *const *words, size_t n)
{
	while (l->end > 0) {
		const char *nl = memrchr(l->text.data, '\n', l->end);
		size_t from = nl != NULL ? (size_t)(nl - l->text.data) + 1 : 0, len = l->end - from;
		const char *line = l->text.data + from;
		json_t *v = has_word(line, len, words, n) ? json_parse(line, len, "event", NULL) : NULL;

		l->end = from > 0 ? from - 1 : 0;
		if (v != NULL)
			return v;
	}
	return NULL;
}
