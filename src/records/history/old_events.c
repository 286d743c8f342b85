/* Events leave from the first on, and the log file is kept small. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "records/history/history_private.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/io.h"

#define EVENT "event:"

/* What the time before and the number of events let go: how many of the page. */
static size_t
count_due(const struct history *h, const struct records *page, const struct event_numbers *at, int64_t *next)
{
	int64_t count = h->limits->count;
	size_t n = 0;

	for (; n < page->n; n++) {
		int64_t seq = strtoll(page->v[n].key + strlen(EVENT), NULL, 10), when;
		struct json_slice o;

		when = json_slice_whole(page->v[n].value, strlen(page->v[n].value), &o)
		    ? json_slice_number(json_slice_get(o, "at"), 0)
		    : 0;
		*next = when;
		/* before the first: a backup brought it back */
		if (seq >= at->first && !(count > 0 && at->last - seq >= count) &&
		    !(when > 0 && when < h->before))
			break;
	}
	return n;
}

/* One batch, under the writers' lock: the counter changes with each event. *n: how many left. */
static int
drop_batch(struct history *h, size_t *n, int64_t *oldest, struct err *e)
{
	struct records page = { 0 };
	struct event_numbers at;
	int ret = store_lock(h->s, e);

	*n = 0;
	if (ret != 0)
		return -1;
	ret = event_numbers_read(h->s, &at, e);
	if (ret == 0)
		ret = store_scan(h->s, EVENT, NULL, NULL, HISTORY_BATCH, &page, e);
	if (ret == 0)
		*n = count_due(h, &page, &at, oldest);
	for (size_t i = 0; i < *n; i++)
		history_take(h, &page.v[i]);
	if (*n > 0) {
		int64_t last = strtoll(page.v[*n - 1].key + strlen(EVENT), NULL, 10);

		at.first = last >= at.first ? last + 1 : at.first;
		txn_write(&h->t, xstrdup(EVENT_COUNTER), at.version, "counter", event_numbers_json(&at));
		ret = history_flush(h, e);
	}
	store_unlock(h->s);
	store_records_release(&page);
	return ret;
}

int
history_sweep_events(struct history *h, json_t *state, struct err *e)
{
	int64_t oldest = INT64_MAX;
	struct event_numbers at;
	size_t n = 0;
	int ret;

	if (event_numbers_read(h->s, &at, e) != 0)
		return -1;
	if (!json_flag(state, "again", false) &&
	    !history_is_due(h, state, (size_t)(at.last - at.first + 1), true))
		return 0;
	/* what left the store unwritten would be a gap in the log */
	ret = event_export(h->s, h->limits->log, NULL, e);
	while (ret == 0 && (ret = drop_batch(h, &n, &oldest, e)) == 0 && n > 0)
		ret = history_is_late(h);
	json_put_flag(state, "again", ret > 0);
	if (ret == 0)
		history_set_next(h, state, oldest);
	return ret;
}

/* --- the log --- */

/* Where the first line behind `from` begins, and its number. -1: there is none. */
static off_t
find_line(FILE *f, off_t from, int64_t *seq)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	off_t at = -1;

	if (fseeko(f, from, SEEK_SET) == 0 && (n = getline(&line, &cap, f)) > 0) {
		at = from + n;
		n = getline(&line, &cap, f);
		if (n > 0 && line[n - 1] == '\n') {
			json_t *v = json_parse(line, (size_t)n, "a line of the event log", NULL);

			*seq = json_number(v, "seq", 0);
			json_decref(v);
		}
		at = n > 0 && *seq > 0 ? at : -1;
	}
	free(line);
	return at;
}

/* First the store is told from which number on the file may begin: a shorter one is no damage then. */
static int
note_log(struct store *s, int64_t seq, struct err *e)
{
	struct event_numbers at;
	struct change c = { CHANGE_PUT, EVENT_COUNTER, 0, "counter", NULL };
	char *value;
	int ret = -1;

	if (store_lock(s, e) != 0)
		return -1;
	if (event_numbers_read(s, &at, e) == 0) {
		at.log = seq > at.log ? seq : at.log;
		c.expect = at.version;
		c.value = value = event_numbers_json(&at);
		ret = store_commit(s, &c, 1, e) == COMMIT_DONE ? 0 : -1;
		free(value);
	}
	store_unlock(s);
	return ret;
}

int
history_trim_log(struct store *s, const char *path, int64_t most, struct err *e)
{
	struct buf rest = BUF_INIT;
	struct stat st;
	int64_t seq = 0;
	off_t from = -1;
	int fd, ret = 0;
	FILE *f;

	if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || most <= 0 || st.st_size <= most)
		return 0;
	if ((fd = io_lock(path, 0, e)) < 0)
		return -1;
	f = fdopen(fd, "r");
	if (f == NULL) {
		close(fd);
		return err_sys(e, GT_FAIL, "event-log", "%s cannot be read", path);
	}
	if (fstat(fd, &st) == 0)
		from = find_line(f, st.st_size - most / 2, &seq);
	if (from < 0)
		ret = err_set(e, GT_FAIL, "event-log", "%s is not an event log", path);
	if (ret == 0 && (fseeko(f, from, SEEK_SET) != 0 || lseek(fd, from, SEEK_SET) != from ||
			    io_read_all(fd, path, (size_t)(st.st_size - from) + 1, &rest, e) != 0))
		ret = -1;
	if (ret == 0 && note_log(s, seq, e) != 0)
		ret = -1;
	/* who waits for the lock finds the new file */
	if (ret == 0)
		ret = io_write_durable(path, rest.data, rest.len, "event-trim", e);
	fclose(f);
	buf_release(&rest);
	return ret == 0 ? 1 : -1;
}
