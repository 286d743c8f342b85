#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "context/transcript_pages.h"
#include "base/buf.h"
#include "base/db.h"
#include "base/err.h"
#include "base/json.h"
#include "context/long_line.h"

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
find_session(struct pages *p, const char *session, struct err *e)
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
read_head(struct pages *p, struct err *e)
{
	bool reverts = db_has_column(p->db, "session", "revert"), todos = db_has_column(p->db, "todo", "position");
	char *sql = xasprintf("SELECT json_object('info', json_object('id', id, 'version', version, 'revert', %s), 'todos', %s) FROM "
	    "session WHERE id = ?1", reverts ? "CASE WHEN json_valid(revert) THEN json_extract(revert, '$.messageID') END" : "NULL",
	    todos ? "(SELECT json_group_array(json_object('content', content, 'status', status)) FROM (SELECT content, status FROM todo "
	    "WHERE session_id = ?1 ORDER BY position LIMIT 1000))" : "NULL");
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
list_rows(struct pages *p, struct err *e)
{
	sqlite3_stmt *st = db_prepare(p->db, "SELECT rowid FROM message WHERE session_id = ?1 ORDER BY time_created, id", e);
	struct document *d = &p->list;
	int rc;

	if (st == NULL)
		return -1;
	sqlite3_bind_text(st, 1, p->session, -1, SQLITE_STATIC);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		d->v = vec_room(d->v, d->n, &d->cap, sizeof *d->v);
		d->v[d->n++] = (struct span){ sqlite3_column_int64(st, 0), 1 };
	}
	sqlite3_finalize(st);
	p->left = d->n;
	return rc == SQLITE_DONE ? 0 : db_fail(p->db, rc, e);
}

int
pages_rows(struct pages *p, struct sqlite3 *db, const char *session, struct err *e)
{
	*p = (struct pages){ .db = db, .by_span = 1, .list = { .head = BUF_INIT }, .head = BUF_INIT, .page = BUF_INIT };
	if (find_session(p, session, e) == 0 && read_head(p, e) == 0 && list_rows(p, e) == 0)
		return 0;
	pages_release(p);
	return -1;
}

/* A column of JSON; what is none is left out, so that it cannot reach into what stands around it. */
static void
put_column(struct pages *p, sqlite3_stmt *st, int column)
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
		long_line_init(&l);
		long_line_add(&l, whole.p, whole.n);
		buf_add(&p->page, l.out.len > 0 ? l.out.data : "null", l.out.len > 0 ? l.out.len : 4);
		long_line_release(&l);
	}
}

int
rows_compose(struct pages *p, int64_t row, struct err *e)
{
	sqlite3_stmt *st = db_prepare(p->db, "SELECT m.data, m.id, p.data FROM message m LEFT JOIN part p ON p.message_id = m.id "
	    "WHERE m.rowid = ?1 ORDER BY p.id", e);
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
