#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/event.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

#define PAGE 500
#define LINE_MAX_BYTES ((size_t)64 << 10)	/* four fields of 1 KiB, each byte at most six in JSON */

struct rows {
	int (*row)(const struct event_row *ev, void *arg);
	void *arg;
};

static int
hand_over(const struct record *r, void *arg, struct err *e)
{
	const struct rows *to = arg;
	json_t *v = json_parse(r->value, strlen(r->value), r->key, e);
	struct event_row ev;
	int ret;

	if (v == NULL)
		return -1;
	ev = (struct event_row){ .seq = json_number(v, "seq", 0), .at = json_number(v, "at", 0), .kind = json_text(v, "kind", ""),
		.subject = json_text(v, "subject", NULL), .session = json_text(v, "session", NULL), .text = json_text(v, "text", NULL),
		.host = json_text(v, "host", NULL) };
	ret = to->row(&ev, to->arg);
	json_decref(v);
	return ret;
}

int
event_each(struct store *s, const char *tag, int (*row)(const struct event_row *ev, void *arg), void *arg, struct err *e)
{
	struct rows to = { row, arg };

	return store_each(s, "event:", tag, hand_over, &to, e);
}

static int
bad_line(struct err *e, const char *path, size_t line, const char *what)
{
	err_set(e, GT_FAIL, "event-log", "line %zu of %s %s", line, path, what);
	return err_hint(e, "Nothing was changed. Move the file aside: the log is written anew from the store");
}

/* One page of events against as many lines. *more: both went on. */
static int
compare_page(const struct records *r, FILE *f, const char *path, size_t *lines, bool *more, struct err *e)
{
	char line[LINE_MAX_BYTES];

	*more = r->n > 0;
	for (size_t i = 0; i < r->n; i++) {
		size_t n = strlen(r->v[i].value);

		if (fgets(line, sizeof line, f) == NULL) {
			*more = false;
			return ferror(f) ? err_sys(e, GT_FAIL, "event-log", "%s cannot be read", path) : 0;
		}
		if (strchr(line, '\n') == NULL && feof(f))
			return bad_line(e, path, *lines + 1, "is torn: it was being written when its writer died");
		if (strncmp(line, r->v[i].value, n) != 0 || line[n] != '\n')
			return bad_line(e, path, *lines + 1, "is not what the store holds");
		*lines += 1;
	}
	return 0;
}

static int
compare(struct store *s, FILE *f, const char *path, size_t *lines, struct err *e)
{
	char *after = NULL;
	bool more = true;
	int ret = 0;

	while (ret == 0 && more) {
		struct records r = { 0 };

		ret = store_scan(s, "event:", NULL, after, PAGE, &r, e);
		if (ret == 0)
			ret = compare_page(&r, f, path, lines, &more, e);
		free(after);
		after = r.n > 0 ? xstrdup(r.v[r.n - 1].key) : NULL;
		records_release(&r);
	}
	free(after);
	if (ret == 0 && fgetc(f) != EOF)
		ret = bad_line(e, path, *lines + 1, "tells of an event that the store does not hold");
	return ret;
}

int
event_check(struct store *s, const char *path, size_t *lines, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), ret;
	size_t count = 0;
	struct stat st;
	FILE *f;

	if (fd < 0)
		return err_sys(e, GT_FAIL, errno == ENOENT ? "not-found" : "not-private", "%s cannot be opened", path);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0 ||
	    (f = fdopen(fd, "r")) == NULL) {
		close(fd);
		return err_set(e, GT_FAIL, "not-private", "%s is not a private file of this user", path);
	}
	ret = compare(s, f, path, &count, e);
	fclose(f);
	if (lines != NULL)
		*lines = count;
	return ret;
}
