#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/event.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

#define BATCH 100
#define LINE_MAX_BYTES ((size_t)64 << 10)	/* as event_read.c */

struct replay {
	struct store *s;
	int64_t last;				/* event that the store has, with those that wait here */
	struct change c[BATCH + 1];
	size_t n;
	size_t done;
};

static void
release(struct replay *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free((char *)p->c[i].key);
		free((char *)p->c[i].tag);
		free((char *)p->c[i].value);
	}
	p->n = 0;
}

static int
commit(struct replay *p, struct err *e)
{
	char last[48];

	if (p->n == 0)
		return 0;
	snprintf(last, sizeof last, "{\"last\":%lld}", (long long)p->last);
	p->c[p->n] = (struct change){ CHANGE_PUT, "counter:event", STORE_ANY, "counter", last };
	if (store_commit(p->s, p->c, p->n + 1, e) != COMMIT_DONE)
		return -1;
	p->done += p->n;
	release(p);
	return 0;
}

/* Is the log the store's own? Then the last event that both have is the same, to the byte. */
static int
agrees(struct store *s, int64_t seq, const char *line, size_t n, const char *path, struct err *e)
{
	char key[32];
	struct record r;
	int found;
	bool same;

	snprintf(key, sizeof key, "event:%016lld", (long long)seq);
	found = store_get(s, key, &r, e);
	same = found == 1 && strlen(r.value) == n && memcmp(r.value, line, n) == 0;
	record_release(&r);
	if (found < 0 || same)
		return found < 0 ? -1 : 0;
	err_set(e, GT_FAIL, "event-log", "%s is not the log of this store: event %lld differs", path, (long long)seq);
	return err_hint(e, "Move the file aside: the log is written anew from the store");
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

	if (kind == NULL || seq < 1 || seq > p->last + 1)
		ret = 0;
	else if (seq == p->last && p->done + p->n == 0)
		ret = agrees(p->s, seq, line, n, path, e) == 0 ? 1 : -1;
	else if (seq == p->last + 1) {
		p->c[p->n++] = (struct change){ CHANGE_PUT, xasprintf("event:%016lld", (long long)seq), STORE_ABSENT,
			xstrndup(kind, strcspn(kind, ".")), xstrndup(line, n) };
		p->last = seq;
		if (p->n == BATCH && commit(p, e) != 0)
			ret = -1;
	}
	json_decref(v);
	return ret;
}

int
event_replay(struct store *s, const char *path, size_t *added, struct err *e)
{
	struct replay p = { .s = s };
	char *line = xmalloc(LINE_MAX_BYTES);
	FILE *f = fopen(path, "re");
	int go = 1, ret = f != NULL || errno == ENOENT ? 0 : err_sys(e, GT_FAIL, "event-log", "%s cannot be read", path);

	if (ret == 0)
		ret = event_last(s, &p.last, e);
	while (ret == 0 && f != NULL && go > 0 && fgets(line, (int)LINE_MAX_BYTES, f) != NULL)
		go = take_line(&p, line, path, e);
	if (ret == 0)
		ret = go < 0 ? -1 : commit(&p, e);
	*added = p.done;
	release(&p);
	if (f != NULL)
		fclose(f);
	free(line);
	return ret;
}
