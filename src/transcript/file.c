#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transcript/transcript_private.h"
#include "transcript/transcript.h"
#include "base/buf.h"
#include "base/db.h"
#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"

#define PIECE ((size_t)256 << 10)
#define NAME_MOST 64
#define MEMBER_MOST ((size_t)512 << 10)
#define HEAD_MOST ((size_t)2 << 20)

/* Where the pass stands. */
struct json_scan {
	struct json_document *d;
	const char *list;
	size_t depth;
	bool in_string, escaped;
	bool in_list;		/* depth 2 is the list's */
	bool in_key;		/* the string at hand is a member's name */
	bool valued;		/* behind the colon of a member of depth 1 */
	char name[NAME_MOST + 1];
	size_t n_name;
	off_t element;		/* where the element at hand begins */
	size_t member;		/* where the member at hand begins in head; 0: it is left out */
};

static void
end_member(struct json_scan *s)
{
	s->valued = false;
	s->member = 0;
	s->n_name = 0;
}

/* The member grew too long: as if it had not been there. */
static void
drop_member(struct json_scan *s)
{
	if (s->member > 0)
		buf_cut(&s->d->head, s->member);
	s->member = 0;
}

static void
begin_value(struct json_scan *s)
{
	struct buf *head = &s->d->head;

	s->valued = true;
	s->name[s->n_name] = '\0';
	if (strcmp(s->name, s->list) == 0 || s->n_name == NAME_MOST || head->len >= HEAD_MOST)
		return;
	s->member = head->len;
	buf_fmt(head, "%s\"%s\":", head->len > 1 ? "," : "", s->name);
}

static void
open_bracket(struct json_scan *s, char c, off_t at)
{
	if (s->depth == 1 && s->valued && s->member == 0 && c == '[' && strcmp(s->name, s->list) == 0)
		s->in_list = true;
	if (s->depth == 2 && s->in_list && c == '{')
		s->element = at;
	s->depth++;
}

static void
close_bracket(struct json_scan *s, char c, off_t at)
{
	struct json_document *d = s->d;

	if (s->depth > 0)
		s->depth--;
	if (s->depth == 2 && s->in_list && c == '}' && s->element >= 0) {
		d->v = vec_room(d->v, d->n, &d->cap, sizeof *d->v);
		d->v[d->n++] = (struct json_span){ s->element, (size_t)(at - s->element) + 1 };
		s->element = -1;
	}
	if (s->depth == 1)
		s->in_list = false;
	if (s->depth == 0)
		d->torn = false;
}

static void
scan_string(struct json_scan *s, char c)
{
	if (s->escaped)
		s->escaped = false;
	else if (c == '\\')
		s->escaped = true;
	else if (c == '"')
		s->in_string = s->in_key = false;
	if (s->in_key && s->n_name < NAME_MOST)
		s->name[s->n_name++] = c;
}

static void
scan_byte(struct json_scan *s, char c, off_t at)
{
	if (s->in_string) {
		scan_string(s, c);
	} else if (c == '"') {
		s->in_string = true;
		s->in_key = s->depth == 1 && !s->valued;
		if (s->in_key)
			s->n_name = 0;
	} else if (c == '{' || c == '[') {
		open_bracket(s, c, at);
	} else if (c == '}' || c == ']') {
		if (s->depth == 1)
			end_member(s);
		close_bracket(s, c, at);
	} else if (c == ',' && s->depth == 1) {
		end_member(s);
	}
}

static void
scan_piece(struct json_scan *s, const char *p, size_t n, off_t at)
{
	for (size_t i = 0; i < n; i++) {
		bool named = !s->in_string && p[i] == ':' && s->depth == 1 && !s->valued;

		scan_byte(s, p[i], at + (off_t)i);
		if (named)
			begin_value(s);
		else if (s->member > 0 && (s->in_string || !isspace((unsigned char)p[i])))
			buf_chr(&s->d->head, p[i]);
		if (s->member > 0 && s->d->head.len - s->member > MEMBER_MOST)
			drop_member(s);
	}
}

static void
transcript_json_release(struct json_document *d)
{
	free(d->v);
	buf_wipe(&d->head);
	*d = (struct json_document){ .head = BUF_INIT };
}

/* list: the member's name. d need not be initialised and is empty after -1 (a read error). */
static int
transcript_json_read(struct json_document *d, struct transcript_tail *t, const char *list, struct err *e)
{
	struct json_scan s = { .d = d, .list = list, .element = -1 };
	off_t size = t->end > 0 ? t->end : 0;

	*d = (struct json_document){ .head = BUF_INIT, .torn = true };
	buf_chr(&d->head, '{');
	for (off_t at = 0; at < size; at += (off_t)PIECE) {
		size_t n = size - at < (off_t)PIECE ? (size_t)(size - at) : PIECE, got;
		const char *p;

		if (transcript_tail_line(t, at, n, &p, &got, e) != 0) {
			transcript_json_release(d);
			return -1;
		}
		scan_piece(&s, p, got, at);
	}
	drop_member(&s);	/* a member that the end cut off */
	buf_chr(&d->head, '}');
	return 0;
}

#define PART_MOST ((size_t)8 << 20)	/* longer ones come with the middle of their strings left out */
#define PAGE_MOST ((size_t)32 << 20)	/* of a message's parts; the rest is left out */

/* Text of the first column, NULL when there is no row. */
static char *
one_text(sqlite3_stmt *st)
{
	const unsigned char *text = sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_text(st, 0) : NULL;
	char *copy = text != NULL ? xstrdup((const char *)text) : NULL;

	sqlite3_finalize(st);
	return copy;
}

static int
find_session(struct transcript_iter *p, const char *session, struct err *e)
{
	sqlite3_stmt *st = db_prepare(p->db, session != NULL ? "SELECT id FROM session WHERE id = ?1" :
	    "SELECT id FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC, id DESC LIMIT 1", e);

	if (st == NULL)
		return -1;
	if (session != NULL)
		sqlite3_bind_text(st, 1, session, -1, SQLITE_STATIC);
	p->session = one_text(st);
	if (p->session == NULL)
		return err_set(e, GT_FAIL, "not-found", "the agent's database has no such session");
	return 0;
}

/* {"info": {…}, "todos": […]}; revert: the message from which on the person took back what was said. */
static int
read_head(struct transcript_iter *p, struct err *e)
{
	bool reverts = db_has_column(p->db, "session", "revert"),
	     todos = db_has_column(p->db, "todo", "position");
	char *sql = xasprintf("SELECT json_object('info', json_object('id', id, 'version', version, "
			      "'revert', %s), 'todos', %s) FROM "
			      "session WHERE id = ?1",
	    reverts ? "CASE WHEN json_valid(revert) THEN json_extract(revert, '$.messageID') END" : "NULL",
	    todos ? "(SELECT json_group_array(json_object('content', content, 'status', status)) FROM "
		    "(SELECT content, status FROM todo "
		    "WHERE session_id = ?1 ORDER BY position LIMIT 1000))"
		  : "NULL");
	sqlite3_stmt *st = db_prepare(p->db, sql, e);
	char *text;

	free(sql);
	if (st == NULL)
		return -1;
	sqlite3_bind_text(st, 1, p->session, -1, SQLITE_STATIC);
	text = one_text(st);
	if (text != NULL)
		buf_str(&p->head, text);
	free(text);
	return 0;
}

static int
list_rows(struct transcript_iter *p, struct err *e)
{
	sqlite3_stmt *st =
	    db_prepare(p->db, "SELECT rowid FROM message WHERE session_id = ?1 ORDER BY time_created, id", e);
	struct json_document *d = &p->list;
	int rc;

	if (st == NULL)
		return -1;
	sqlite3_bind_text(st, 1, p->session, -1, SQLITE_STATIC);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		d->v = vec_room(d->v, d->n, &d->cap, sizeof *d->v);
		d->v[d->n++] = (struct json_span){ sqlite3_column_int64(st, 0), 1 };
	}
	sqlite3_finalize(st);
	p->left = d->n;
	return rc == SQLITE_DONE ? 0 : db_fail(p->db, rc, e);
}

static void
transcript_iter_release(struct transcript_iter *p)
{
	transcript_json_release(&p->list);
	free(p->session);
	buf_wipe(&p->head);
	buf_wipe(&p->page);
}

/*
 * opencode's database (1.18.33): of a session, NULL: the one that was changed last and is no
 * sub-agent's. A record is {"info": message, "id": its id, "parts": [part, …]}, much as `opencode
 * export` prints it. Names as db_open_foreign's, and "not-found".
 */
static int
transcript_iter_rows(struct transcript_iter *p, struct sqlite3 *db, const char *session, struct err *e)
{
	*p = (struct transcript_iter){
		.db = db, .by_span = 1, .list = { .head = BUF_INIT }, .head = BUF_INIT, .page = BUF_INIT
	};
	if (find_session(p, session, e) == 0 && read_head(p, e) == 0 && list_rows(p, e) == 0)
		return 0;
	transcript_iter_release(p);
	return -1;
}

/* A column of JSON; what is none is left out, so that it cannot reach into what stands around it. */
static void
put_column(struct transcript_iter *p, sqlite3_stmt *st, int column)
{
	const char *text = (const char *)sqlite3_column_text(st, column);
	size_t n = text != NULL ? (size_t)sqlite3_column_bytes(st, column) : 0;
	struct json_slice whole;
	struct long_line l;

	if (!json_slice_whole(text, n, &whole) || *whole.p != '{') {
		buf_str(&p->page, "null");
	} else if (n <= PART_MOST) {
		buf_add(&p->page, whole.p, whole.n);
	} else {
		transcript_long_init(&l);
		transcript_long_add(&l, whole.p, whole.n);
		buf_add(&p->page, l.out.len > 0 ? l.out.data : "null", l.out.len > 0 ? l.out.len : 4);
		transcript_long_release(&l);
	}
}

/* A row, for transcript_iter_read: replaces page. */
static int
transcript_iter_compose(struct transcript_iter *p, int64_t row, struct err *e)
{
	sqlite3_stmt *st = db_prepare(p->db,
	    "SELECT m.data, m.id, p.data FROM message m LEFT JOIN part p ON p.message_id = m.id "
	    "WHERE m.rowid = ?1 ORDER BY p.id",
	    e);
	bool first = true;
	int rc;

	buf_reset(&p->page);
	if (st == NULL)
		return -1;
	sqlite3_bind_int64(st, 1, row);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && p->page.len < PAGE_MOST) {
		const char *id = (const char *)sqlite3_column_text(st, 1);

		if (first) {
			buf_str(&p->page, "{\"info\":");
			put_column(p, st, 0);
			json_print_member(&p->page, "id", id);
			buf_str(&p->page, ",\"parts\":[");
		}
		if (!first)
			buf_chr(&p->page, ',');
		first = false;
		put_column(p, st, 2);
	}
	sqlite3_finalize(st);
	if (!first)
		buf_str(&p->page, "]}");
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : db_fail(p->db, rc, e);
}

#define FIRST_MOST ((size_t)1 << 20)	/* codex' first line holds the instructions for its model */

/* A record a line; -1 leaves nothing to release. */
static int
transcript_iter_lines(struct transcript_iter *p, struct transcript_tail *t, bool head, struct err *e)
{
	off_t size = t->end > 0 ? t->end : 0;
	const char *first, *nl;
	size_t n = 0;

	*p = (struct transcript_iter){
		.tail = t, .list = { .head = BUF_INIT }, .head = BUF_INIT, .page = BUF_INIT
	};
	if (size == 0 || !head)
		return 0;
	if (transcript_tail_line(t, 0, size < (off_t)FIRST_MOST ? (size_t)size : FIRST_MOST, &first, &n, e) !=
	    0)
		return -1;
	nl = memchr(first, '\n', n);
	buf_add(&p->head, first, nl != NULL ? (size_t)(nl - first) : n);
	return 0;
}

/* list: the member of one JSON object that holds the records. -1 leaves nothing to release. */
static int
transcript_iter_list(struct transcript_iter *p, struct transcript_tail *t, const char *list, struct err *e)
{
	*p = (struct transcript_iter){ .tail = t, .by_span = 1, .head = BUF_INIT, .page = BUF_INIT };
	if (transcript_json_read(&p->list, t, list, e) != 0)
		return -1;
	p->left = p->list.n;
	buf_add(&p->head, p->list.head.data, p->list.head.len);
	return 0;
}

int
transcript_iter_previous(struct transcript_iter *p, off_t *at, size_t *n, struct err *e)
{
	if (!p->by_span)
		return transcript_tail_previous(p->tail, at, n, e);
	if (p->left == 0)
		return 0;
	*at = p->list.v[--p->left].at;
	*n = p->list.v[p->left].n;
	return 1;
}

int
transcript_iter_bytes(
    struct transcript_iter *p, off_t at, size_t n, const char **text, size_t *len, struct err *e)
{
	if (p->tail != NULL)
		return transcript_tail_line(p->tail, at, n, text, len, e);
	if (transcript_iter_compose(p, (int64_t)at, e) != 0)
		return -1;
	*text = p->page.data;
	*len = p->page.len;
	return 0;
}

int
transcript_iter_read(struct transcript_iter *p, off_t at, size_t n, struct json_slice *out, struct err *e)
{
	const char *text;
	size_t len;

	if (transcript_iter_bytes(p, at, n, &text, &len, e) != 0)
		return -1;
	if (!json_slice_whole(text, len, out) || *out->p != '{')
		return 0;
	p->exact = p->tail != NULL && out->p == text && out->n == n;
	return 1;
}

#define MAGIC "SQLite format 3"		/* with its NUL: the first 16 bytes of every database */

static void
init_file(struct transcript_file *b)
{
	*b = (struct transcript_file){ .fd = -1 };
	transcript_tail_init_bytes(&b->tail, "", 0);
}

/* A brace alone in the first line: one JSON object, laid out for people. */
static bool
is_laid_out(struct transcript_tail *t)
{
	const char *p;
	size_t n;

	return t->end > 1 && transcript_tail_line(t, 0, 2, &p, &n, NULL) == 0 && n == 2 &&
	    memcmp(p, "{\n", 2) == 0;
}

static int
open_pages(struct transcript_file *b, const struct transcript_format *how, struct err *e)
{
	const char *list = how->list != NULL || how->older_list == NULL || !is_laid_out(&b->tail)
	    ? how->list
	    : how->older_list;
	int ret = list != NULL ? transcript_iter_list(&b->pages, &b->tail, list, e)
			       : transcript_iter_lines(&b->pages, &b->tail, !how->heads, e);

	if (ret != 0)
		transcript_tail_release(&b->tail);
	return ret;
}

static bool
is_database(int fd)
{
	char first[sizeof MAGIC];

	return pread(fd, first, sizeof first, 0) == (ssize_t)sizeof first &&
	    memcmp(first, MAGIC, sizeof first) == 0;
}

static int
open_database(struct transcript_file *b, const char *path, const char *session, struct err *e)
{
	if (db_open_foreign(path, &b->db, e) != 0)
		return -1;
	if (transcript_iter_rows(&b->pages, b->db, session, e) == 0)
		return 0;
	db_close(b->db);
	b->db = NULL;
	return -1;
}

int
transcript_file_open_fd(struct transcript_file *b, const struct transcript_format *how, int fd, struct err *e)
{
	init_file(b);
	if (how->database && is_database(fd)) {
		char *path = sys_fd_path(fd);
		int ret = open_database(b, path, NULL, e);

		free(path);
		return ret;
	}
	if (transcript_tail_init_fd(&b->tail, fd, e) != 0)
		return -1;
	return open_pages(b, how, e);
}

int
transcript_file_open_bytes(
    struct transcript_file *b, const struct transcript_format *how, const char *p, size_t n, struct err *e)
{
	init_file(b);
	if (how->database && n >= sizeof MAGIC && memcmp(p, MAGIC, sizeof MAGIC) == 0) {
		err_set(e, GT_USAGE, "transcript", "a database cannot be read from a pipe");
		return err_hint(
		    e, "give it as a file: gt-recover parse --transcript --agent opencode <opencode.db");
	}
	transcript_tail_init_bytes(&b->tail, p, n);
	return open_pages(b, how, e);
}

/* The fuller of two files, or the one that is there. */
static int
open_file(const struct transcript_format *how, const char *path)
{
	bool fuller = false;
	char *other = how->other_file != NULL ? how->other_file(path, &fuller) : NULL;
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, fd = other != NULL && fuller ? open(other, flags) : -1;

	if (fd < 0)
		fd = open(path, flags);
	if (fd < 0 && errno == ENOENT && other != NULL && !fuller)
		fd = open(other, flags);
	free(other);
	return fd;
}

/* "file#session"; a file of that whole name comes first. */
static int
open_session(struct transcript_file *b, const struct transcript_format *how, const char *path, struct err *e)
{
	const char *mark = access(path, F_OK) != 0 ? strrchr(path, '#') : NULL;
	char *file = xstrndup(path, mark != NULL ? (size_t)(mark - path) : strlen(path));
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;

	if (fd >= 0 && !is_database(fd)) {
		ret = transcript_file_open_fd(b, how, fd, e);
		b->fd = fd;
		if (ret != 0)
			close(fd);
	} else {
		if (fd >= 0)
			/* a descriptor that is closed later would take SQLite's lock with it */
			close(fd);
		ret = open_database(b, file, mark != NULL ? mark + 1 : NULL, e);
	}
	free(file);
	return ret;
}

int
transcript_file_open(
    struct transcript_file *b, const struct transcript_format *how, const char *path, struct err *e)
{
	int fd;

	init_file(b);
	if (how->database)
		return open_session(b, how, path, e);
	fd = open_file(how, path);
	if (fd < 0)
		return err_sys(e, GT_FAIL, errno == ENOENT ? "not-found" : "transcript",
		    "the transcript %s cannot be opened", path);
	if (transcript_file_open_fd(b, how, fd, e) == 0) {
		b->fd = fd;
		return 0;
	}
	close(fd);
	return -1;
}

void
transcript_file_close(struct transcript_file *b)
{
	transcript_iter_release(&b->pages);
	transcript_tail_release(&b->tail);
	db_close(b->db);
	if (b->fd >= 0)
		close(b->fd);
}
