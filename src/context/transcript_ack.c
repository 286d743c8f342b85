#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context/transcript.h"
#include "context/transcript_find.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"

#define MAX_TAIL ((off_t)64 << 20)

/* What is kept of a line: enough to walk from an answer up to its question. */
struct link {
	char *uuid, *parent;
	bool answer, error;
};

struct links {
	struct link *v;
	size_t n, cap;
	char *question;		/* uuid of the user message with the id; NULL: none */
};

static void
links_release(struct links *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].uuid);
		free(l->v[i].parent);
	}
	free(l->v);
	free(l->question);
}

static bool
content_has(const json_t *content, const char *id)
{
	const json_t *block;
	size_t i;

	if (json_is_string(content))
		return strstr(json_string_value(content), id) != NULL;
	json_array_foreach(content, i, block) {
		const char *text = json_text(block, "text", NULL);

		if (text != NULL && strstr(text, id) != NULL)
			return true;
	}
	return false;
}

static void
take_line(struct links *l, const char *line, size_t n, const char *id)
{
	json_t *v = json_parse(line, n, "transcript", NULL);
	const char *uuid = json_text(v, "uuid", NULL), *type = json_text(v, "type", "");
	struct link k;

	if (uuid == NULL || json_flag(v, "isSidechain", false)) {
		json_decref(v);
		return;
	}
	k.uuid = xstrdup(uuid);
	k.parent = xstrdup(json_text(v, "parentUuid", ""));
	k.answer = strcmp(type, "assistant") == 0;
	k.error = json_flag(v, "isApiErrorMessage", false);
	if (l->question == NULL && strcmp(type, "user") == 0 && content_has(json_object_get(json_object_get(v, "message"), "content"), id))
		l->question = xstrdup(uuid);
	l->v = vec_room(l->v, l->n, &l->cap, sizeof *l->v);
	l->v[l->n++] = k;
	json_decref(v);
}

static const struct link *
find_link(const struct links *l, const char *uuid)
{
	for (size_t i = l->n; i-- > 0; )
		if (strcmp(l->v[i].uuid, uuid) == 0)
			return &l->v[i];
	return NULL;
}

static bool
descends(const struct links *l, const struct link *k, const char *from)
{
	for (size_t steps = 0; k != NULL && steps <= l->n; steps++) {
		if (strcmp(k->parent, from) == 0)
			return true;
		k = find_link(l, k->parent);
	}
	return false;
}

static enum ack
judge(const struct links *l)
{
	enum ack found = ACK_RECEIVED;

	if (l->question == NULL)
		return ACK_NONE;
	for (size_t i = 0; i < l->n; i++) {
		if (!l->v[i].answer || !descends(l, &l->v[i], l->question))
			continue;
		if (!l->v[i].error)
			return ACK_ANSWERED;
		found = ACK_REFUSED;
	}
	return found;
}

/* The end of the file; a first line that the cut tore apart is left out. */
static int
read_tail(const char *path, struct buf *out, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;
	struct stat st;
	bool torn;

	if (fd < 0)
		return err_sys(e, GT_FAIL, "transcript", "the transcript %s cannot be opened", path);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return err_set(e, GT_FAIL, "transcript", "the transcript %s is not a regular file", path);
	}
	torn = st.st_size > MAX_TAIL && lseek(fd, st.st_size - MAX_TAIL, SEEK_SET) > 0;
	/* the agent may write while we read */
	ret = io_read_all(fd, path, (size_t)MAX_TAIL * 2, out, e);
	close(fd);
	if (ret == 0 && torn) {
		char *nl = memchr(out->data, '\n', out->len);

		if (nl != NULL)
			memset(out->data, ' ', (size_t)(nl - out->data));
	}
	return ret;
}

int
transcript_ack(const char *path, const char *recovery_id, enum ack *out, struct err *e)
{
	struct buf b = BUF_INIT;
	struct links l = { .n = 0 };
	const char *first;
	size_t at;

	*out = ACK_NONE;
	if (read_tail(path, &b, e) != 0) {
		buf_wipe(&b);
		return -1;
	}
	first = memmem(b.data, b.len, recovery_id, strlen(recovery_id));
	/* answers may stand before their question, but only by a small batch of lines */
	at = first == NULL ? b.len : (size_t)(first - b.data);
	for (int lines = 0; at > 0 && lines < 50; at--)
		if (b.data[at - 1] == '\n')
			lines++;
	while (first != NULL && at < b.len) {
		const char *nl = memchr(b.data + at, '\n', b.len - at);
		size_t n = nl != NULL ? (size_t)(nl - b.data) - at : b.len - at;

		take_line(&l, b.data + at, n, recovery_id);
		at += n + 1;
	}
	*out = judge(&l);
	links_release(&l);
	buf_wipe(&b);
	return 0;
}

void
transcript_search(const char *config_dir, const char *cwd, const char *recovery_id, int64_t since_ms, enum ack *out, char **path)
{
	char *folder = transcript_folder(config_dir, cwd);
	DIR *dir = folder != NULL ? opendir(folder) : NULL;
	struct dirent *d;

	*out = ACK_NONE;
	*path = NULL;
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		char *file;
		struct stat st;
		enum ack ack;

		if (!str_ends(d->d_name, ".jsonl"))
			continue;
		file = io_join(folder, d->d_name);
		if (stat(file, &st) == 0 && (int64_t)st.st_mtime * 1000 + 999 >= since_ms &&
		    transcript_ack(file, recovery_id, &ack, NULL) == 0 && ack > *out) {
			*out = ack;
			free(*path);
			*path = xstrdup(file);
		}
		free(file);
	}
	if (dir != NULL)
		closedir(dir);
	free(folder);
}
