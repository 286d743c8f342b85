#include <stdlib.h>
#include <string.h>

#include "snapshot/pass/pass.h"
#include "detect/detect.h"
#include "app/app.h"
#include "base/err.h"
#include "snapshot/snapshot.h"
#include "conversation/conversation.h"
#include "screen/screen.h"
#include "scrub/scrub.h"
#include "gastown/gastown.h"

#define SAMPLE 256		/* bytes of a text that tell whether another one holds it */
/* rows at the bottom: the input box, what is above it while the agent works */
#define DRAWN_OVER 12

static bool
read_index(struct app *w, struct snapshot_index *a, struct err *e)
{
	char *dir = town_snapshot_dir(w->town, w->config, e);
	bool yes = dir != NULL && snapshot_index_read(dir, a, e) == 0;

	if (!yes)
		memset(a, 0, sizeof *a);
	free(dir);
	return yes;
}

static const struct snapshot_file *
own_entry(const struct snapshot_index *a, const struct candidate *c)
{
	char pane[SNAPSHOT_KEY];

	snapshot_pane_key(pane, c->pane.socket_path, c->pane.server_pid, c->pane.server_start, c->pane.id);
	return snapshot_index_newest(a, NULL, pane, 0);
}

/*
 * What a reset pane showed last is read in place of the pane (snapshot/snapshot.h): memory is what
 * was taken before.
 */
static const struct snapshot_file *
earlier_entry(const struct snapshot_index *a, const struct candidate *c)
{
	const struct snapshot_file *x = own_entry(a, c);
	char pane[SNAPSHOT_KEY];

	if (x == NULL || !pane_is_reset(&c->pane) || !str_ends(c->pane.kept, x->name))
		return x;
	memcpy(pane, x->pane, sizeof pane);
	return snapshot_index_newest(a, NULL, pane, x->at - 1);
}

/* A pane may have had another process, and its shell another agent. */
static bool
is_own(const struct snapshot *s, const struct candidate *c)
{
	pid_t agent = c->status == AGENT_LIVE  ? c->agent_pid
	    : c->pid_record.session_id != NULL ? c->pid_record.pid
					       : 0;

	return s->pane_pid == c->pane.pid && (agent == 0 || s->pid == 0 || s->pid == agent);
}

static const struct snapshot_file *
namesake(const struct snapshot_index *a, const struct candidate *c)
{
	char session[SNAPSHOT_KEY];

	snapshot_session_key(session, c->pane.socket_path, c->pane.session);
	return snapshot_index_newest(a, session, NULL, c->crashed_at);
}

/* Of another life of the server. */
static bool
is_older(const struct snapshot *s, const struct candidate *c)
{
	return s->server_pid != c->pane.server_pid || s->server_start != c->pane.server_start;
}

int
snapshot_lookup(
    struct app *w, const struct candidate *c, struct scrub *s, struct snapshot_lookup *out, struct err *e)
{
	const struct snapshot_file *x;
	struct snapshot_index a;
	int ret = 0;

	memset(out, 0, sizeof *out);
	if (!read_index(w, &a, e))
		return -1;
	x = c->snapshot != NULL ? snapshot_index_find(&a, c->snapshot) : earlier_entry(&a, c);
	if (c->snapshot != NULL && x != NULL &&
	    (ret = snapshot_file_read(a.dir, x->name, s, &out->snapshot, e)) == 0)
		out->found = out->own = true;
	else if (x != NULL && ret == 0 &&
	    (ret = snapshot_file_read(a.dir, x->name, s, &out->snapshot, e)) == 0)
		out->found = out->own = is_own(&out->snapshot, c);
	if (ret == 0 && !out->found) {
		snapshot_release(&out->snapshot);
		x = namesake(&a, c);
		if (x != NULL && (ret = snapshot_file_read(a.dir, x->name, s, &out->snapshot, e)) == 0)
			out->found = is_older(&out->snapshot, c);
	}
	if (ret == 0 && !out->found)
		snapshot_release(&out->snapshot);
	/* without it the newest still tells something */
	if (out->found && out->snapshot.base_snapshot != NULL &&
	    snapshot_index_find(&a, out->snapshot.base_snapshot) != NULL)
		snapshot_file_read(a.dir, out->snapshot.base_snapshot, s, &out->base, NULL);
	snapshot_index_release(&a);
	return ret;
}

void
snapshot_lookup_release(struct snapshot_lookup *r)
{
	snapshot_release(&r->snapshot);
	snapshot_release(&r->base);
	memset(r, 0, sizeof *r);
}

/* Whole rows from `at` on, about SAMPLE bytes of them, or one row. */
static bool
rows_are_in(const char *text, size_t n, size_t at, const struct clean_text *pane)
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
 * Does the text stand in the pane? Its beginning may be a banner, which is printed again after it
 * was cleared away, and its last rows are drawn over: looked at are rows from the beginning, the
 * quarters and the middle of what stands above those.
 */
static bool
is_in_text(const struct snapshot *s, const struct clean_text *pane)
{
	const char *text = clean_bytes(s->text);
	size_t n = clean_len(s->text), rows = 0;

	while (n > 0 && rows < DRAWN_OVER)
		rows += text[--n] == '\n';
	for (size_t k = 0; n > 0 && k < 4; k++)
		if (!rows_are_in(text, n, n / 4 * k, pane))
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
snapshot_lookup_adds(const struct snapshot_lookup *r, const struct clean_text *pane,
    const struct conversation *screen, const struct conversation *record)
{
	if (!r->found)
		return false;
	if (!r->own)
		return record->n == 0 && screen->n == 0;
	if (is_in_text(&r->snapshot, pane) && (r->base.session == NULL || is_in_text(&r->base, pane)))
		return false;
	return record->n == 0 || record->truncated_at >= 0 || newest_of(record) <= r->snapshot.taken_at;
}

void
snapshot_lookup_read(const struct snapshot_lookup *r, const char *grammar, struct conversation *out)
{
	struct conversation newer = CONVERSATION_INIT, older = CONVERSATION_INIT;

	screen_read(r->snapshot.text, r->snapshot.style, r->snapshot.width, grammar, &newer);
	if (r->snapshot.cut)
		newer.truncated_at = 0;
	if (r->base.session == NULL) {
		*out = newer;
		return;
	}
	screen_read(r->base.text, r->base.style, r->base.width, grammar, &older);
	if (r->base.cut)
		older.truncated_at = 0;
	conversation_merge(NULL, &older, &newer, out);
}

void
snapshot_lookup_lines(struct app *w, struct candidate_list *list)
{
	struct snapshot_index a;

	if (!read_index(w, &a, NULL))
		return;
	for (size_t i = 0; i < list->n && a.n > 0; i++) {
		struct candidate *c = &list->v[i];
		const struct snapshot_file *x = c->snapshot != NULL ? snapshot_index_find(&a, c->snapshot)
		    : detect_status_crashed(c->status)              ? own_entry(&a, c)
								    : NULL;
		size_t rows;
		pid_t pid;

		if (x != NULL && snapshot_file_peek(a.dir, x->name, &rows, &pid, NULL) &&
		    (c->snapshot != NULL || pid == c->pane.pid))
			c->snapshot_lines = rows;
	}
	snapshot_index_release(&a);
}
