/* Free pages of the file: how many there are, and giving them back. */
#include <stdlib.h>

#include "store/store_private.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fault.h"

#define LEAST_FREE 16				/* pages that are never worth the work */
#define AT_ONCE ((int64_t)1000)			/* pages a commit */
#define INCREMENTAL 2				/* of auto_vacuum; files before had 0 */

struct page_counts {
	int64_t size, n, free, mode;
};

static int
count_pages(struct sqlite_store *s, struct page_counts *p, struct err *e)
{
	return db_number(s->db, "PRAGMA page_size", &p->size, e) != 0 ||
		db_number(s->db, "PRAGMA page_count", &p->n, e) != 0 ||
		db_number(s->db, "PRAGMA freelist_count", &p->free, e) != 0 ||
		db_number(s->db, "PRAGMA auto_vacuum", &p->mode, e) != 0
	    ? -1
	    : 0;
}

int
sqlite_read_size(struct store *base, struct store_size *out, struct err *e)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	struct page_counts p;
	int ret = 0;

	/* closed since the disk failed in a commit */
	if (s->db == NULL)
		return err_set(e, GT_FAIL, "io", "the disk failed on %s: its size cannot be read", s->path);
	ret = count_pages(s, &p, e);
	if (ret == 0)
		*out = (struct store_size){ p.size * p.n, p.size * p.free };
	sqlite_leave(s, true);
	return ret;
}

/* One step, under the writers' lock. A power loss in it leaves the file as it was before or after. */
static int
give_back(struct sqlite_store *s, const struct page_counts *p, struct err *e)
{
	char *sql = p->mode == INCREMENTAL
	    ? xasprintf("PRAGMA incremental_vacuum(%lld)", (long long)(p->free < AT_ONCE ? p->free : AT_ONCE))
	    : xstrdup("PRAGMA auto_vacuum = INCREMENTAL; VACUUM");
	/* VACUUM attaches the file that it writes */
	int attached = sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 1), rc, ret = -1;

	if (sqlite_lock(s, e) == 0) {
		rc = fault_point("store-shrink") != 0 ? SQLITE_IOERR :
							sqlite3_exec(s->db, sql, NULL, NULL, NULL);
		ret = rc == SQLITE_OK ? 0 : sqlite_error(s, rc, e);
		if (ret != 0)
			sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
		sqlite_leave(s, !s->broken);
	}
	sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, attached);
	free(sql);
	return ret;
}

int
sqlite_shrink(struct store *base, int64_t until, struct err *e)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	struct page_counts p;
	int64_t began = clock_mono_ms(), now, longest = 0;
	int ret = 0;

	if (s->readonly || s->brief || s->broken)
		return 0;
	do {
		ret = count_pages(s, &p, e);
		sqlite_leave(s, true);
		if (ret != 0 || p.free < LEAST_FREE || p.free * 20 < p.n)
			break;
		ret = give_back(s, &p, e);
		now = clock_mono_ms();
		longest = now - began > longest ? now - began : longest;
		began = now;
	} while (ret == 0 && now + longest < until);
	return ret;
}
