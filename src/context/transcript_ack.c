#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context/transcript.h"
#include "context/transcript_place.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "context/transcript_proof.h"
#include "context/transcript_reader.h"
#include "context/transcript_record.h"
#include "context/transcript_tail.h"

#define MAX_TAIL ((off_t)64 << 20)
#define BATCH 50	/* lines before the question among which an answer to it may stand */

/* What is kept of a record: enough to walk from an answer up to its question. */
struct link {
	uint64_t id, parent;
	bool answer, error;
	enum { UNKNOWN, WALKED, BELOW, ELSEWHERE } place;	/* below the question? */
};

/* A line that has been passed, newest first; looked into only when the question is found. */
struct line {
	off_t at;
	size_t n;
};

struct links {
	struct line *lines;
	size_t n_lines, cap_lines;
	struct link *v;		/* sorted by id */
	size_t n, cap;
	uint64_t question;	/* of the user message with the recovery id; 0: none */
};

static bool
text_has(struct json_slice text, const char *id)
{
	return json_slice_string(text) && memmem(text.p, text.n, id, strlen(id)) != NULL;
}

static bool
content_has(struct json_slice content, const char *id)
{
	struct json_walk w = json_slice_walk(content);
	struct json_slice block;

	if (text_has(content, id))
		return true;
	while (!w.object && json_walk_next(&w, NULL, &block))
		if (text_has(json_slice_get(block, "text"), id))
			return true;
	return false;
}

/* The name of the user message in the line that holds the id, 0 when it is none. */
static uint64_t
find_question(const char *line, size_t n, const char *id)
{
	struct record_parts p;

	if (memmem(line, n, id, strlen(id)) == NULL || !record_open(line, n, &p) || p.side || !json_slice_is(p.type, "user"))
		return 0;
	return content_has(p.blocks, id) ? record_name(p.uuid) : 0;
}

static int
by_id(const void *a, const void *b)
{
	const struct link *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* From the end to some lines before the first line with the question, or to the limit. */
static int
pass_lines(struct links *l, struct tail *t, const char *id, struct err *e)
{
	off_t floor = t->end > MAX_TAIL ? t->end - MAX_TAIL : 0;
	struct line line;
	size_t since = 0;
	int r = 1;

	while (since < BATCH && (r = tail_previous(t, &line.at, &line.n, e)) == 1) {
		const char *p;
		size_t n;
		uint64_t question;

		if (line.at < floor)
			break;
		if (tail_line(t, line.at, line.n, &p, &n, e) != 0)
			return -1;
		l->lines = vec_room(l->lines, l->n_lines, &l->cap_lines, sizeof *l->lines);
		l->lines[l->n_lines++] = line;
		question = find_question(p, n, id);
		since = question != 0 ? 0 : since + (l->question != 0);
		if (question != 0)
			l->question = question;
	}
	return r < 0 ? -1 : 0;
}

static int
link_lines(struct links *l, struct tail *t, struct err *e)
{
	for (size_t i = 0; l->question != 0 && i < l->n_lines; i++) {
		struct record_parts parts;
		const char *p;
		size_t n;

		if (tail_line(t, l->lines[i].at, l->lines[i].n, &p, &n, e) != 0)
			return -1;
		if (!record_open(p, n, &parts) || parts.side || record_name(parts.uuid) == 0)
			continue;
		l->v = vec_room(l->v, l->n, &l->cap, sizeof *l->v);
		l->v[l->n++] = (struct link){ .id = record_name(parts.uuid), .parent = record_name(parts.parent),
			.answer = json_slice_is(parts.type, "assistant"), .error = parts.api_error };
	}
	if (l->n > 0)
		qsort(l->v, l->n, sizeof *l->v, by_id);
	return 0;
}

static struct link *
find_link(const struct links *l, uint64_t id)
{
	struct link key = { .id = id };

	return l->n > 0 && id != 0 ? bsearch(&key, l->v, l->n, sizeof *l->v, by_id) : NULL;
}

/* Walks up until somebody knows, then tells all on the way: every link is asked once. */
static bool
descends(const struct links *l, struct link *k)
{
	struct link *at = k;
	bool below = false;

	while (at != NULL && at->place == UNKNOWN) {
		at->place = WALKED;
		below = at->parent == l->question;
		at = below ? NULL : find_link(l, at->parent);
	}
	below = below || (at != NULL && at->place == BELOW);
	for (at = k; at != NULL && at->place == WALKED; at = find_link(l, at->parent))
		at->place = below ? BELOW : ELSEWHERE;
	return k->place == BELOW;
}

static enum ack
judge(const struct links *l)
{
	enum ack found = ACK_RECEIVED;

	if (l->question == 0)
		return ACK_NONE;
	for (size_t i = 0; i < l->n; i++) {
		if (!l->v[i].answer || !descends(l, &l->v[i]))
			continue;
		if (!l->v[i].error)
			return ACK_ANSWERED;
		found = ACK_REFUSED;
	}
	return found;
}

static int
ack_claude(const char *path, const char *recovery_id, enum ack *out, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret = -1;
	struct links l = { .n = 0 };
	struct tail t;

	*out = ACK_NONE;
	if (fd < 0)
		return err_sys(e, GT_FAIL, "transcript", "the transcript %s cannot be opened", path);
	if (tail_init_file(&t, fd, e) == 0) {
		if (pass_lines(&l, &t, recovery_id, e) == 0 && link_lines(&l, &t, e) == 0) {
			*out = judge(&l);
			ret = 0;
		}
		tail_release(&t);
	}
	free(l.lines);
	free(l.v);
	close(fd);
	return ret;
}

int
transcript_ack(const char *path, const char *format, const char *recovery_id, enum ack *out, struct err *e)
{
	const struct reader *how;

	*out = ACK_NONE;
	if (strcmp(format, "claude") == 0)
		return ack_claude(path, recovery_id, out, e);
	if ((how = reader_find(format)) == NULL)
		return transcript_no_format(format, e);
	return proof_find(how, path, recovery_id, out, e);
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
		    ack_claude(file, recovery_id, &ack, NULL) == 0 && ack > *out) {
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
