#include <stdlib.h>
#include <string.h>

#include "revive/recall.h"
#include "revive/detect.h"
#include "revive/world.h"
#include "base/err.h"
#include "context/album.h"
#include "context/exchange.h"
#include "context/merge.h"
#include "context/screen.h"
#include "scrub/scrub.h"
#include "town/town.h"

#define SAMPLE 256		/* bytes of a text that tell whether another one holds it */
#define DRAWN_OVER 12		/* rows at the bottom: the input box, what is above it while the agent works */

static bool
read_album(struct world *w, struct album *a, struct err *e)
{
	char *dir = town_snapshot_dir(w->town, w->config, e);
	bool yes = dir != NULL && album_read(dir, a, e) == 0;

	if (!yes)
		memset(a, 0, sizeof *a);
	free(dir);
	return yes;
}

static const struct album_entry *
own_entry(const struct album *a, const struct candidate *c)
{
	char pane[ALBUM_KEY];

	album_pane_key(pane, c->pane.socket_path, c->pane.server_pid, c->pane.server_start, c->pane.id);
	return album_newest(a, NULL, pane, 0);
}

/* A pane may have had another process, and its shell another agent. */
static bool
is_own(const struct snapshot *s, const struct candidate *c)
{
	pid_t agent = c->class == CLASS_LIVE ? c->agent_pid : c->note.session_id != NULL ? c->note.pid : 0;

	return s->pane_pid == c->pane.pid && (agent == 0 || s->pid == 0 || s->pid == agent);
}

static const struct album_entry *
namesake(const struct album *a, const struct candidate *c)
{
	char session[ALBUM_KEY];

	album_session_key(session, c->pane.socket_path, c->pane.session);
	return album_newest(a, session, NULL, c->crashed_at);
}

/* Of another life of the server. */
static bool
is_older(const struct snapshot *s, const struct candidate *c)
{
	return s->server_pid != c->pane.server_pid || s->server_start != c->pane.server_start;
}

int
recall(struct world *w, const struct candidate *c, struct scrub *s, struct recall *out, struct err *e)
{
	const struct album_entry *x;
	struct album a;
	int ret = 0;

	memset(out, 0, sizeof *out);
	if (!read_album(w, &a, e))
		return -1;
	x = c->snapshot != NULL ? album_find(&a, c->snapshot) : own_entry(&a, c);
	if (c->snapshot != NULL && x != NULL && (ret = album_load(a.dir, x->name, s, &out->shot, e)) == 0)
		out->found = out->own = true;
	else if (x != NULL && ret == 0 && (ret = album_load(a.dir, x->name, s, &out->shot, e)) == 0)
		out->found = out->own = is_own(&out->shot, c);
	if (ret == 0 && !out->found) {
		snapshot_release(&out->shot);
		x = namesake(&a, c);
		if (x != NULL && (ret = album_load(a.dir, x->name, s, &out->shot, e)) == 0)
			out->found = is_older(&out->shot, c);
	}
	if (ret == 0 && !out->found)
		snapshot_release(&out->shot);
	/* without it the newest still tells something */
	if (out->found && out->shot.richer != NULL && album_find(&a, out->shot.richer) != NULL)
		album_load(a.dir, out->shot.richer, s, &out->richer, NULL);
	album_release(&a);
	return ret;
}

void
recall_release(struct recall *r)
{
	snapshot_release(&r->shot);
	snapshot_release(&r->richer);
	memset(r, 0, sizeof *r);
}

/* Whole rows from `at` on, about SAMPLE bytes of them, or one row. */
static bool
rows_stand_in(const char *text, size_t n, size_t at, const struct clean_text *pane)
{
	const char *end;

	while (at > 0 && text[at - 1] != '\n')
		at--;
	n -= at;
	text += at;
	end = n > SAMPLE ? memrchr(text, '\n', SAMPLE) : text + n;
	if (end == NULL)
		end = memchr(text, '\n', n);
	if (end == NULL)
		end = text + n;
	return memmem(clean_bytes(pane), clean_len(pane), text, (size_t)(end - text)) != NULL;
}

/*
 * Does the text stand in the pane? Its beginning may be a banner, which is printed again after it was cleared away, and its last rows are
 * drawn over: looked at are rows from the beginning, the quarters and the middle of what stands above those.
 */
static bool
stands_in(const struct snapshot *s, const struct clean_text *pane)
{
	const char *text = clean_bytes(s->text);
	size_t n = clean_len(s->text), rows = 0;

	while (n > 0 && rows < DRAWN_OVER)
		rows += text[--n] == '\n';
	for (size_t k = 0; n > 0 && k < 4; k++)
		if (!rows_stand_in(text, n, n / 4 * k, pane))
			return false;
	return true;
}

static int64_t
newest_of(const struct conversation *record)
{
	int64_t at = 0;

	for (size_t i = 0; i < record->n; i++)
		at = record->v[i].at > at ? record->v[i].at : at;
	return at;
}

bool
recall_adds(const struct recall *r, const struct clean_text *pane, const struct conversation *screen,
    const struct conversation *record)
{
	if (!r->found)
		return false;
	if (!r->own)
		return record->n == 0 && screen->n == 0;
	if (stands_in(&r->shot, pane) && (r->richer.session == NULL || stands_in(&r->richer, pane)))
		return false;
	return record->n == 0 || record->truncated_at >= 0 || newest_of(record) <= r->shot.taken_at;
}

void
recall_read(const struct recall *r, const char *dialect, struct conversation *out)
{
	struct conversation newer = CONVERSATION_INIT, older = CONVERSATION_INIT;

	screen_read(r->shot.text, r->shot.style, r->shot.width, dialect, &newer);
	if (r->shot.cut)
		newer.truncated_at = 0;
	if (r->richer.session == NULL) {
		*out = newer;
		return;
	}
	screen_read(r->richer.text, r->richer.style, r->richer.width, dialect, &older);
	if (r->richer.cut)
		older.truncated_at = 0;
	merge(NULL, &older, &newer, out);
}

void
recall_lines(struct world *w, struct candidates *list)
{
	struct album a;

	if (!read_album(w, &a, NULL))
		return;
	for (size_t i = 0; i < list->n && a.n > 0; i++) {
		struct candidate *c = &list->v[i];
		const struct album_entry *x = c->snapshot != NULL ? album_find(&a, c->snapshot) : class_crashed(c->class) ? own_entry(&a, c) : NULL;
		size_t rows;
		pid_t pid;

		if (x != NULL && album_glance(a.dir, x->name, &rows, &pid) && (c->snapshot != NULL || pid == c->pane.pid))
			c->snapshot_lines = rows;
	}
	album_release(&a);
}
