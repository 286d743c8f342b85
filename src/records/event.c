#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "records/records_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/utf8.h"

#define COUNTER EVENT_COUNTER
#define KEY_SIZE 32
#define FIELD_MAX 1024
/* where store_lock holds nobody off, each lost round is another writer's success */
#define TRIES 200
#define BATCH ((size_t)128 << 10)	/* bytes between two fsyncs */
#define WINDOW ((off_t)BATCH * 3)	/* of the file's end; what a crash can have torn is well inside */

static void
event_key(char key[KEY_SIZE], int64_t seq)
{
	snprintf(key, KEY_SIZE, "event:%016lld", (long long)seq);
}

/* Of an event of that kind, heap. */
static char *
event_tag(const char *kind)
{
	return xstrndup(kind, strcspn(kind, "."));
}

static void
put_short(json_t *o, const char *key, const char *s)
{
	json_object_set_new(o, key, s != NULL ? json_bytes(s, strnlen(s, FIELD_MAX)) : json_null());
}

int
event_numbers_read(struct store *s, struct event_numbers *n, struct err *e)
{
	struct record r;
	json_t *v;
	int found = store_get(s, COUNTER, &r, e);

	*n = (struct event_numbers){ .version = STORE_ABSENT, .first = 1, .log = 1 };
	if (found <= 0)
		return found;
	n->version = r.version;
	v = record_check_tag(&r, "counter", e) == 0
	    ? json_parse(r.value, strlen(r.value), "the event counter", e)
	    : NULL;
	store_record_release(&r);
	if (v == NULL)
		return -1;
	n->last = json_number(v, "last", -1);
	n->first = json_number(v, "first", 1);
	n->log = json_number(v, "log", 1);
	json_decref(v);
	if (n->last >= 0 && n->first >= 1 && n->first <= n->last + 1 && n->log >= 1)
		return 0;
	return err_set(e, GT_FAIL, "corrupt", "the event counter of the store is not a number");
}

char *
event_numbers_json(const struct event_numbers *n)
{
	struct buf out = BUF_INIT;

	buf_fmt(&out, "{\"last\":%lld", (long long)n->last);
	if (n->first > 1)
		buf_fmt(&out, ",\"first\":%lld", (long long)n->first);
	if (n->log > 1)
		buf_fmt(&out, ",\"log\":%lld", (long long)n->log);
	buf_chr(&out, '}');
	return buf_detach(&out);
}

int
event_last(struct store *s, int64_t *seq, struct err *e)
{
	struct event_numbers n;
	int ret = event_numbers_read(s, &n, e);

	*seq = n.last;
	return ret;
}

/*
 * After a conflict: do the caller's own expectations still hold? Then it was the counter, and
 * another round is in order.
 */
static bool
still_expected(struct store *s, const struct change *c, size_t n)
{
	bool holds = true;

	for (size_t i = 0; i < n && holds; i++) {
		struct record r;
		int found;

		if (c[i].expect == STORE_ANY)
			continue;
		found = store_get(s, c[i].key, &r, NULL);
		holds = found >= 0 && r.version == c[i].expect;
		store_record_release(&r);
	}
	return holds;
}

int
event_time(struct store *s, int64_t seq, int64_t *at, struct err *e)
{
	char key[KEY_SIZE];
	struct record r;
	json_t *v;
	int found;

	event_key(key, seq);
	found = store_get(s, key, &r, e);
	if (found <= 0)
		return found == 0 ? err_set(e, GT_FAIL, "not-found", "no event %lld", (long long)seq)
				  : -1;
	v = json_parse(r.value, strlen(r.value), key, e);
	*at = json_number(v, "at", 0);
	store_record_release(&r);
	json_decref(v);
	return v != NULL ? 0 : -1;
}

static char *
event_json(const struct event *ev, int64_t seq, int64_t at)
{
	struct buf out = BUF_INIT;
	json_t *o = json_object();

	json_put_int(o, "seq", seq);
	json_put_int(o, "at", at);
	put_short(o, "kind", ev->kind);
	put_short(o, "subject", ev->subject);
	put_short(o, "session", ev->session);
	put_short(o, "text", ev->text);
	if (ev->socket != NULL)
		put_short(o, "socket", ev->socket);
	if (*host_id() != '\0')
		json_put(o, "host", host_id());
	json_print(&out, o, false);
	json_decref(o);
	return buf_detach(&out);
}

/* all has room for two more changes behind the n. */
static enum commit
commit_once(
    struct store *s, struct change *all, size_t n, const struct event *ev, const char *tag, struct err *e)
{
	char key[KEY_SIZE], *numbers, *value;
	struct event_numbers at;
	enum commit answer;

	if (event_numbers_read(s, &at, e) != 0)
		return COMMIT_ERROR;
	at.last++;
	event_key(key, at.last);
	numbers = event_numbers_json(&at);
	value = event_json(ev, at.last, store_now(s));
	all[n] = (struct change){ CHANGE_PUT, COUNTER, at.version, "counter", numbers };
	all[n + 1] = (struct change){ CHANGE_PUT, key, STORE_ABSENT, tag, value };
	answer = store_commit(s, all, n + 2, e);
	free(numbers);
	free(value);
	return answer;
}

enum commit
event_commit(struct store *s, const struct change *changes, size_t n, const struct event *ev, struct err *e)
{
	struct change *all = xreallocarray(NULL, n + 2, sizeof *all);
	char *tag = event_tag(ev->kind);
	enum commit answer = store_lock(s, e) == 0 ? COMMIT_CONFLICT : COMMIT_ERROR;

	if (n > 0)
		memcpy(all, changes, n * sizeof *all);
	for (int i = 0; i < TRIES && answer == COMMIT_CONFLICT; i++) {
		answer = commit_once(s, all, n, ev, tag, e);
		if (answer != COMMIT_CONFLICT || !still_expected(s, changes, n))
			break;
	}
	store_unlock(s);
	if (answer == COMMIT_DONE && e != NULL)
		err_clear(e);
	free(tag);
	free(all);
	return answer;
}

/* --- the export --- */

/* The number of a line of ours, 0 when it is none. */
static int64_t
line_seq(const char *p, size_t n)
{
	json_t *v = json_parse(p, n, "a line of the event log", NULL);
	int64_t seq = json_text(v, "kind", NULL) != NULL ? json_number(v, "seq", 0) : 0;

	json_decref(v);
	return seq;
}

/*
 * A sector that was lost while a later one was kept is a hole of NULs, a torn one may hold any
 * bytes, and newlines among them.
 */
static bool
is_text(const char *p, size_t n)
{
	return memchr(p, '\0', n) == NULL && utf8_valid(p, n);
}

/*
 * As line_seq, for a line between others: only its number is read. A hole or torn bytes in it are no
 * text, or end it elsewhere.
 */
static int64_t
inner_seq(const char *p, size_t n)
{
	static const char begin[] = "{\"seq\":";
	size_t front = sizeof begin - 1;

	if (n <= front || memcmp(p, begin, front) != 0 || p[n - 1] != '}' || !is_text(p, n))
		return line_seq(p, n);
	return strtoll(p + front, NULL, 10);
}

/*
 * *seq: the last event in the file; *end: where its line ends. Whatever stands behind was being
 * written when somebody died: it is at most one batch. Power loss may leave whole lines behind a
 * hole, so that the numbering is followed, not just the last newline looked for.
 */
static int
find_end(const struct buf *tail, off_t from, const char *path, int64_t *seq, off_t *end, struct err *e)
{
	bool foreign = false;
	size_t at = 0;

	*seq = 0;
	if (from > 0) {
		const char *nl = memchr(tail->data, '\n', tail->len);

		at = nl != NULL ? (size_t)(nl - tail->data) + 1 : tail->len;
	}
	while (at < tail->len) {
		const char *nl = memchr(tail->data + at, '\n', tail->len - at);
		size_t n = nl != NULL ? (size_t)(nl - tail->data) - at : 0;
		bool inner = *seq != 0 && at + n + 1 < tail->len;
		int64_t found = nl == NULL ? 0 :
		    inner		   ? inner_seq(tail->data + at, n)
					   : line_seq(tail->data + at, n);

		if (found <= 0 || (*seq != 0 && found != *seq + 1)) {
			/* whole lines, the first of which is none of ours, are no torn write of ours */
			foreign = *seq == 0 && nl != NULL && is_text(tail->data + at, tail->len - at);
			break;
		}
		*seq = found;
		at += n + 1;
	}
	*end = from + (off_t)at;
	if (!foreign && (*seq != 0 || from == 0) && tail->len - at <= 2 * BATCH)
		return 0;
	err_set(e, GT_FAIL, "event-log", "%s is not an event log", path);
	return err_hint(
	    e, "Nothing was changed. Move the file away: a new log is written from the store");
}

static int
read_end(int fd, const char *path, int64_t *seq, off_t *end, struct err *e)
{
	struct buf tail = BUF_INIT;
	struct stat st;
	off_t from;
	int ret;

	if (fstat(fd, &st) != 0)
		return err_sys(e, GT_FAIL, "write", "%s cannot be examined", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1 || (st.st_mode & 077) != 0)
		return err_set(e, GT_FAIL, "not-private",
		    "%s is not a private file of this user (mode 0600, a single name)", path);
	if (st.st_size == 0 && io_sync_parent(path) != 0)
		return err_sys(e, GT_FAIL, "write", "the directory of %s cannot be synced", path);
	from = st.st_size > WINDOW ? st.st_size - WINDOW : 0;
	if (lseek(fd, from, SEEK_SET) < 0)
		return err_sys(e, GT_FAIL, "write", "%s cannot be read", path);
	ret = io_read_all(fd, path, (size_t)WINDOW, &tail, e);
	if (ret == 0)
		ret = find_end(&tail, from, path, seq, end, e);
	buf_release(&tail);
	if (ret == 0 && *end < st.st_size && (ftruncate(fd, *end) != 0 || fsync(fd) != 0))
		ret = err_sys(e, GT_FAIL, "write", "the truncated end of %s cannot be removed", path);
	if (ret == 0 && lseek(fd, *end, SEEK_SET) < 0)
		ret = err_sys(e, GT_FAIL, "write", "%s cannot be written", path);
	return ret;
}

static int
append(int fd, const char *path, struct buf *lines, struct err *e)
{
	if (lines->len == 0)
		return 0;
	if (fault_point("event-append") != 0 || io_write_all(fd, lines->data, lines->len) != 0 ||
	    fault_point("event-sync") != 0 || fsync(fd) != 0)
		return err_sys(e, GT_FAIL, "write", "%s cannot be written", path);
	buf_reset(lines);
	return 0;
}

static int
append_new(struct store *s, int fd, const char *path, int64_t seq, size_t *written, struct err *e)
{
	struct buf lines = BUF_INIT;
	struct records r = { 0 };
	char after[KEY_SIZE];
	int ret = 0;

	do {
		store_records_release(&r);
		event_key(after, seq);
		ret = store_scan(s, "event:", NULL, after, 500, &r, e);
		for (size_t i = 0; i < r.n && ret == 0; i++) {
			buf_str(&lines, r.v[i].value);
			buf_chr(&lines, '\n');
			seq = strtoll(r.v[i].key + strlen("event:"), NULL, 10);
			*written += 1;
			if (lines.len >= BATCH)
				ret = append(fd, path, &lines, e);
		}
	} while (ret == 0 && r.n > 0);
	if (ret == 0)
		ret = append(fd, path, &lines, e);
	store_records_release(&r);
	buf_release(&lines);
	return ret;
}

int
event_export(struct store *s, const char *path, size_t *written, struct err *e)
{
	size_t count = 0;
	struct event_numbers at;
	int64_t seq = 0;
	off_t end = 0;
	int fd = io_lock(path, 5000, e), ret = -1;

	if (fd < 0)
		return -1;
	if (event_numbers_read(s, &at, e) != 0 || read_end(fd, path, &seq, &end, e) != 0)
		goto out;
	if (seq > at.last) {
		err_set(e, GT_FAIL, "event-log", "%s is ahead of the store: event %lld, the store has %lld",
		    path, (long long)seq, (long long)at.last);
		err_hint(e,
		    "The store was replaced. Move the file away: a new log is started");
		goto out;
	}
	if (seq > 0 && seq < at.first - 1) {
		err_set(e, GT_FAIL, "event-log", "%s ends with event %lld, and the store begins with %lld",
		    path, (long long)seq, (long long)at.first);
		err_hint(e, "It is an old copy. Move the file away: a new log is started");
		goto out;
	}
	ret = append_new(s, fd, path, seq < at.first ? at.first - 1 : seq, &count, e);
	/* who wrote the last lines may have been killed before he synced them */
	if (ret == 0 && count == 0 && seq > 0 && fsync(fd) != 0)
		ret = err_sys(e, GT_FAIL, "write", "%s cannot be synced", path);
out:
	close(fd);
	if (written != NULL)
		*written = ret == 0 ? count : 0;
	return ret;
}

#define PAGE 500
#define LINE_MAX_BYTES ((size_t)64 << 10)	/* five fields of 1 KiB, each byte at most six in JSON */

struct event_rows {
	int (*row)(const struct event_row *ev, void *arg);
	void *arg;
};

static int
hand_over(const struct record *r, void *arg, struct err *e)
{
	const struct event_rows *to = arg;
	json_t *v = json_parse(r->value, strlen(r->value), r->key, e);
	struct event_row ev;
	char *tag;
	int ret;

	if (v == NULL)
		return -1;
	tag = event_tag(json_text(v, "kind", ""));
	if (record_check_tag(r, tag, e) != 0) {
		free(tag);
		json_decref(v);
		return -1;
	}
	free(tag);
	ev = (struct event_row){ .seq = json_number(v, "seq", 0),
		.at = json_number(v, "at", 0),
		.kind = json_text(v, "kind", ""),
		.subject = json_text(v, "subject", NULL),
		.session = json_text(v, "session", NULL),
		.text = json_text(v, "text", NULL),
		.host = json_text(v, "host", NULL),
		.socket = json_text(v, "socket", NULL) };
	ret = to->row(&ev, to->arg);
	json_decref(v);
	return ret;
}

int
event_each(struct store *s, const char *tag, int (*row)(const struct event_row *ev, void *arg), void *arg,
    struct err *e)
{
	struct event_rows to = { row, arg };

	return store_each(s, "event:", tag, hand_over, &to, e);
}

static int
bad_line(struct err *e, const char *path, size_t line, const char *what)
{
	err_set(e, GT_FAIL, "event-log", "line %zu of %s %s", line, path, what);
	return err_hint(
	    e, "Nothing was changed. Move the file away: a new log is written from the store");
}

struct line_walk {
	FILE *f;
	const char *path;
	size_t lines;			/* those that were read */
	int64_t kept;			/* the number of the store's first event */
	bool begun;			/* a line of a kept event was met */
	bool over;
	char text[LINE_MAX_BYTES];
};

/* Reads a line. 1; 0 at the end; -1 with err. */
static int
next_line(struct line_walk *w, struct err *e)
{
	if (fgets(w->text, sizeof w->text, w->f) == NULL) {
		w->over = true;
		return ferror(w->f) ? err_sys(e, GT_FAIL, "event-log", "%s cannot be read", w->path) : 0;
	}
	if (strchr(w->text, '\n') == NULL && feof(w->f))
		return bad_line(
		    e, w->path, w->lines + 1, "is truncated: its writer crashed");
	w->lines++;
	return 1;
}

/*
 * The first line of an event that the store has. Lines before it tell of what has left the store,
 * and only their numbers can be checked. most: the first number that the file may begin with.
 */
static int
skip_left(struct line_walk *w, int64_t most, int64_t *seq, struct err *e)
{
	int ret = next_line(w, e);
	int64_t was = 0;

	while (ret > 0) {
		*seq = line_seq(w->text, strcspn(w->text, "\n"));
		if (*seq < 1 || (was == 0 ? *seq > most : *seq != was + 1))
			return bad_line(e, w->path, w->lines, "differs from the store");
		if (*seq >= w->kept)
			return 1;
		was = *seq;
		ret = next_line(w, e);
	}
	return ret;
}

/* One page of events against as many lines, of which the first was read. *more: both went on. */
static int
compare_page(const struct records *r, struct line_walk *w, bool *more, struct err *e)
{
	*more = r->n > 0;
	for (size_t i = 0; i < r->n; i++) {
		size_t n = strlen(r->v[i].value);
		int got = w->begun ? next_line(w, e) : 1;

		w->begun = true;
		if (got <= 0) {
			*more = false;
			return got;
		}
		if (strncmp(w->text, r->v[i].value, n) != 0 || w->text[n] != '\n')
			return bad_line(e, w->path, w->lines, "differs from the store");
	}
	return 0;
}

static int
compare_pages(struct store *s, struct line_walk *w, int64_t seq, struct err *e)
{
	char from[KEY_SIZE], *after;
	bool more = true;
	int ret = 0;

	event_key(from, seq - 1);
	after = xstrdup(from);
	while (ret == 0 && more) {
		struct records r = { 0 };

		ret = store_scan(s, "event:", NULL, after, PAGE, &r, e);
		if (ret == 0)
			ret = compare_page(&r, w, &more, e);
		if (r.n > 0) {
			free(after);
			after = xstrdup(r.v[r.n - 1].key);
		}
		store_records_release(&r);
	}
	free(after);
	if (ret == 0 && (!w->begun || (!w->over && next_line(w, e) != 0)))
		ret = bad_line(e, w->path, w->lines, "records an event that is not in the store");
	return ret;
}

static int
compare(struct store *s, FILE *f, const char *path, struct event_log_state *out, struct err *e)
{
	struct line_walk *w = xcalloc(1, sizeof *w);
	struct event_numbers at;
	int64_t seq = 0;
	int ret = event_numbers_read(s, &at, e);

	w->f = f;
	w->path = path;
	w->kept = at.first;
	if (ret == 0)
		ret = skip_left(w, at.first > at.log ? at.first : at.log, &seq, e);
	out->left = w->lines;
	if (ret > 0) {
		out->left--;
		ret = compare_pages(s, w, seq, e);
	}
	out->lines = w->lines;
	out->last = w->lines > 0 ? line_seq(w->text, strcspn(w->text, "\n")) : 0;
	free(w);
	return ret;
}

int
event_check(struct store *s, const char *path, struct event_log_state *state, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), ret;
	struct event_log_state found = { 0 };
	struct stat st;
	FILE *f;

	if (fd < 0)
		return err_sys(
		    e, GT_FAIL, errno == ENOENT ? "not-found" : "not-private", "%s cannot be opened", path);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077) != 0 || (f = fdopen(fd, "r")) == NULL) {
		close(fd);
		return err_set(e, GT_FAIL, "not-private", "%s is not a private file of this user", path);
	}
	ret = compare(s, f, path, &found, e);
	fclose(f);
	if (state != NULL)
		*state = found;
	return ret;
}

#define RESTORE_BATCH 100

struct replay {
	struct txn t;
	int64_t last;				/* event that the store has, with those that wait here */
	int64_t had;				/* the same at the beginning */
	bool begun;				/* a line was read */
	int64_t next;				/* while the store is walked: the number that must come */
	struct event_numbers at;		/* as the store had them */
	size_t done;
	/* numbers up to `had` without a record, ascending; 0: found since */
	int64_t *missing;
	size_t n_missing, cap;
};

static int
commit_batch(struct replay *p, struct err *e)
{
	size_t n = p->t.n;

	if (n == 0)
		return 0;
	p->at.last = p->last;
	txn_write(&p->t, xstrdup(COUNTER), STORE_ANY, "counter", event_numbers_json(&p->at));
	if (txn_commit(&p->t, e) != COMMIT_DONE)
		return -1;
	p->done += n;
	return 0;
}

/* Is the log the store's own? Then the last event that both have is the same, to the byte. */
static int
line_agrees(struct store *s, int64_t seq, const char *line, size_t n, const char *path, struct err *e)
{
	char key[KEY_SIZE];
	struct record r;
	int found;
	bool same;

	event_key(key, seq);
	found = store_get(s, key, &r, e);
	same = found == 1 && strlen(r.value) == n && memcmp(r.value, line, n) == 0;
	store_record_release(&r);
	if (found < 0 || same)
		return found < 0 ? -1 : 0;
	err_set(e, GT_FAIL, "event-log", "%s is not the log of this store: event %lld differs", path,
	    (long long)seq);
	return err_hint(e, "Move the file away: a new log is written from the store");
}

static int
put_event(struct replay *p, int64_t seq, const char *kind, char *value, struct err *e)
{
	char *tag = event_tag(kind);

	txn_write(&p->t, xasprintf("event:%016lld", (long long)seq), STORE_ABSENT, tag, value);
	free(tag);
	return p->t.n == RESTORE_BATCH ? commit_batch(p, e) : 0;
}

static bool
take_missing(struct replay *p, int64_t seq)
{
	for (size_t i = 0; i < p->n_missing; i++)
		if (p->missing[i] == seq) {
			p->missing[i] = 0;
			return true;
		}
	return false;
}

/* 1: go on; 0: here the log ends, whole or torn; -1. */
static int
take_line(struct replay *p, char *line, const char *path, struct err *e)
{
	size_t n = strcspn(line, "\n");
	json_t *v = line[n] == '\n' ? json_parse(line, n, path, NULL) : NULL;
	const char *kind = json_text(v, "kind", NULL);
	int64_t seq = json_number(v, "seq", 0);
	int ret = 1;

	if (p->at.version == STORE_ABSENT && !p->begun && seq > p->at.log)
		p->at.log = seq;
	p->begun = true;
	if (kind == NULL || seq < 1 || seq > p->last + 1)
		ret = 0;
	else if (take_missing(p, seq))
		ret = put_event(p, seq, kind, xstrndup(line, n), e) == 0 ? 1 : -1;
	else if (seq == p->had && p->last == p->had)
		ret = line_agrees(p->t.s, seq, line, n, path, e) == 0 ? 1 : -1;
	else if (seq == p->last + 1) {
		p->last = seq;
		ret = put_event(p, seq, kind, xstrndup(line, n), e) == 0 ? 1 : -1;
	}
	json_decref(v);
	return ret;
}

static void
add_missing(struct replay *p, int64_t seq)
{
	p->missing = vec_room(p->missing, p->n_missing, &p->cap, sizeof *p->missing);
	p->missing[p->n_missing++] = seq;
}

/* Each event in order. One before the first was brought back by the backup, and leaves again. */
static int
follow_event(const struct record *r, void *arg, struct err *e)
{
	struct replay *p = arg;
	int64_t seq = strtoll(r->key + strlen("event:"), NULL, 10);

	(void)e;
	/* without the counter the events tell themselves where they begin */
	if (p->at.version == STORE_ABSENT && p->next == 1)
		p->at.first = p->next = seq;
	while (p->next < seq)
		add_missing(p, p->next++);
	if (seq == p->next)
		p->next++;
	return 0;
}

/* The counter and the events may come from two moments: the higher one counts. */
static int
find_missing(struct replay *p, struct err *e)
{
	if (event_numbers_read(p->t.s, &p->at, e) != 0)
		return -1;
	p->next = p->at.first;
	if (store_each(p->t.s, "event:", NULL, follow_event, p, e) != 0)
		return -1;
	while (p->next <= p->at.last)
		add_missing(p, p->next++);
	p->had = p->last = p->next - 1;
	return 0;
}

/* A number that neither the store nor the log has an event for; the numbers have no gaps. */
static int
fill_gaps(struct replay *p, struct err *e)
{
	const struct event lost = { .kind = "event.lost", .subject = "store" };

	for (size_t i = 0; i < p->n_missing; i++)
		if (p->missing[i] != 0 &&
		    put_event(p, p->missing[i], lost.kind, event_json(&lost, p->missing[i], 0), e) != 0)
			return -1;
	return 0;
}

/* Also when nothing was added: the counter may have come from the backup alone. */
static int
set_counter(struct replay *p, struct err *e)
{
	int64_t counted;
	char *value;
	struct change c = { CHANGE_PUT, COUNTER, STORE_ANY, "counter", NULL };
	int ret;

	if (event_last(p->t.s, &counted, e) != 0)
		return -1;
	p->at.last = p->last;
	c.value = value = event_numbers_json(&p->at);
	ret = counted == p->last || store_commit(p->t.s, &c, 1, e) == COMMIT_DONE ? 0 : -1;
	free(value);
	return ret;
}

int
event_restore(struct store *s, const char *path, size_t *added, struct err *e)
{
	struct replay p = { .t = { .s = s } };
	char *line = xmalloc(LINE_MAX_BYTES);
	FILE *f = fopen(path, "re");
	int go = 1,
	    ret = f != NULL || errno == ENOENT ? 0
					       : err_sys(e, GT_FAIL, "event-log", "%s cannot be read", path);

	if (ret == 0)
		ret = find_missing(&p, e);
	while (ret == 0 && f != NULL && go > 0 && fgets(line, (int)LINE_MAX_BYTES, f) != NULL)
		go = take_line(&p, line, path, e);
	if (ret == 0)
		ret = go < 0 ? -1 : fill_gaps(&p, e);
	if (ret == 0)
		ret = commit_batch(&p, e);
	if (ret == 0)
		ret = set_counter(&p, e);
	*added = p.done;
	txn_release(&p.t);
	free(p.missing);
	if (f != NULL)
		fclose(f);
	free(line);
	return ret;
}
