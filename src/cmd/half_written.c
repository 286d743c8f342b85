#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/moment.h"
#include "cmd/epic_screen.h"
#include "cmd/half_written.h"
#include "cmd/verb.h"
#include "ledger/activity.h"
#include "ledger/session.h"
#include "scrub/scrub.h"

struct reading {
	struct verb_job *j;
	struct scrub *scrub;
	struct moment now;
	json_t *list;
};

/* Of an ACTIVE one without a process, or with one of another boot or host, nobody knows. */
static bool
is_dead(const struct session *x, const struct reading *r)
{
	return x->state != SESSION_ENDED && session_is_gone(x, &r->now);
}

static bool
has_unfinished(const struct activity *a)
{
	for (size_t i = 0; i < a->n_files; i++)
		if (activity_unfinished(a, &a->files[i]))
			return true;
	return false;
}

static int
add(const struct activity *a, const struct session *x, struct reading *r, struct err *e)
{
	if (r->scrub == NULL && (r->scrub = world_scrub(&r->j->w, e)) == NULL)
		return -1;
	for (size_t i = 0; i < a->n_files; i++) {
		const struct activity_file *f = &a->files[i];
		struct clean_text *path;
		json_t *o;

		if (!activity_unfinished(a, f))
			continue;
		path = scrub_string(r->scrub, f->path);
		o = json_object();
		json_put(o, "path", clean_bytes(path));
		json_put(o, "tool", f->tool);
		json_put(o, "agent_uuid", x->agent_uuid);
		json_put(o, "session", x->session);
		json_put_int(o, "began_at", f->began);
		json_array_append_new(r->list, o);
		clean_free(path);
	}
	return 0;
}

static int
row(const struct activity *a, void *arg, struct err *e)
{
	struct reading *r = arg;
	struct session x;
	int ret;

	if (a->agent_uuid == NULL || !has_unfinished(a))
		return 0;
	ret = session_load(r->j->store, a->agent_uuid, &x, e);
	if (ret > 0) {
		bool last = x.cursor_session_id != NULL && strcmp(x.cursor_session_id, a->conversation) == 0;

		ret = last && is_dead(&x, r) ? add(a, &x, r, e) : 0;
	}
	session_release(&x);
	return ret;
}

json_t *
half_written_read(struct verb_job *j, struct err *e)
{
	struct reading r = { .j = j, .list = json_array() };

	moment_now(&r.now);
	if (j->store != NULL && activity_each(j->store, NULL, row, &r, e) != 0) {
		json_decref(r.list);
		r.list = NULL;
	}
	scrub_free(r.scrub);
	return r.list;
}

void
half_written_say(struct buf *out, const json_t *list, int64_t now)
{
	size_t i;
	json_t *o;

	if (json_array_size(list) > 0)
		buf_str(out, "\nHalf-written files:\n");
	json_array_foreach((json_t *)(uintptr_t)list, i, o) {
		const char *session = json_text(o, "session", NULL);

		buf_str(out, "  ⚠️  ");
		say_foreign(out, json_text(o, "path", ""), 0);
		buf_fmt(out, "\n     └─ %s began ", json_text(o, "tool", "a write"));
		epic_screen_age(out, now - json_number(o, "began_at", now));
		buf_str(out, session != NULL ? " ago in the session " : " ago by the agent ");
		say_foreign(out, session != NULL ? session : json_text(o, "agent_uuid", ""), 0);
		buf_str(out, ", which runs no more: look at it before anybody goes on\n");
	}
}
