#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recover/upkeep/upkeep.h"
#include "recover/recover.h"
#include "detect/detect.h"
#include "snapshot/pass/pass.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "epic/epic.h"
#include "scrub/scrub.h"
#include "store/store.h"
#include "config/config.h"
#include "gastown/gastown.h"

#define BUDGET_MS 120000		/* of a pass; who is left comes first in another one */

const char *
wip_status_name(enum wip_status how)
{
	static const char *const names[] = { "committed", "unchanged", "wanted", "failed" };

	return names[how];
}

void
wip_pass_release(struct wip_pass *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].session);
		wip_release(&p->v[i].wip);
	}
	free(p->v);
	memset(p, 0, sizeof *p);
}

/* ---- whose work it is ---- */

/* 1 with its part in an epic, 0 none, -1. */
static int
part_of(struct app *w, const char *agent, struct epic_role *out, struct err *e)
{
	struct store *store = app_store(w, false, e);
	struct timestamp now;

	memset(out, 0, sizeof *out);
	if (store == NULL || agent == NULL)
		return e->code != 0 ? -1 : 0;
	timestamp_now(&now);
	return epic_role_find(store, agent, 0, &now, out, e);
}

static char *
ref_of(const struct epic_role *x, const char *session)
{
	return x->sprint != NULL ? wip_ref_of_sprint(x->epic->id, epic_role_place(x), x->sprint->id)
				 : wip_ref_of_session(session);
}

static void
put_clean(struct scrub *s, struct buf *out, const char *text)
{
	struct clean_text *clean = scrub_string(s, text);

	utf8_escape(out, clean_bytes(clean), clean_len(clean), 200);
	clean_free(clean);
}

/* ---- the message ---- */

static void
put_subject(struct buf *out, const struct epic_role *x, const char *session, struct scrub *s)
{
	buf_str(out, "WIP: ");
	if (x->sprint == NULL) {
		put_clean(s, out, session);
		buf_str(out, " checkpoint");
		return;
	}
	buf_str(out, "Sprint ");
	if (epic_role_place(x) > 0)
		buf_fmt(out, "%zu", epic_role_place(x));
	else
		put_clean(s, out, x->sprint->id);
	buf_fmt(out, " checkpoint (%d%%)", (int)x->sprint->progress);
}

static void
put_files(struct buf *out, const struct epic_role *x, struct scrub *s)
{
	for (size_t i = x->sprint != NULL ? x->sprint->completed : 0;
	    x->sprint != NULL && i < x->sprint->n_files; i++) {
		const struct epic_file *f = &x->sprint->files[i];

		buf_str(out, "- ");
		put_clean(s, out, f->path);
		if (f->confidence >= 0)
			buf_fmt(out, " (%d%% confidence)", (int)(f->confidence * 100 + 0.5));
		buf_chr(out, '\n');
	}
}

static void
put_notes(struct app *w, struct buf *out, const struct epic_role *x)
{
	const char *last;
	char *key;

	if (x->sprint == NULL)
		return;
	last = json_text(
	    x->sprint->record, "lastCheckpoint", json_text(x->epic->record, "lastCheckpoint", NULL));
	key = epic_record_key(EPIC_RECORD_EPIC, x->epic->id);
	if (last != NULL)
		buf_fmt(out, "Last checkpoint: %s\n", last);
	buf_fmt(out, "%s checkpoint: %s\n",
	    store_is_redis(config_text(w->config, "state")) ? "Redis" : "Store", key);
	free(key);
}

/* ---- a pass ---- */

struct passing {
	struct app *w;
	struct wip_pass *out;
	char *room;
	int64_t until;
	bool dry_run;
};

static void
commit_tree(struct passing *p, const struct candidate *c, const struct epic_role *x, struct wip_result *one,
    struct scrub *s)
{
	struct buf subject = BUF_INIT, files = BUF_INIT, notes = BUF_INIT;
	char *ref = ref_of(x, c->pane.session);
	struct wip_request ask = { .dir = c->cwd, .ref = ref, .room = p->room, .scrub = s };
	int ret;

	put_subject(&subject, x, c->pane.session, s);
	put_files(&files, x, s);
	put_notes(p->w, &notes, x);
	ask.subject = subject.data;
	ask.files = files.len > 0 ? files.data : NULL;
	ask.notes = notes.len > 0 ? notes.data : NULL;
	ret = wip_commit(&ask, &one->wip, &one->error);
	one->how = ret > 0 ? WIP_COMMITTED : ret == 0 ? WIP_SAME : WIP_FAILED;
	free(ref);
	buf_release(&subject);
	buf_release(&files);
	buf_release(&notes);
}

static void
pass_one(struct passing *p, const struct candidate *c)
{
	struct wip_result *one;
	struct scrub *s = NULL;
	struct epic_role x = { .sprint = NULL };
	char *agent = NULL;

	p->out->v = vec_room(p->out->v, p->out->n, &p->out->cap, sizeof *p->out->v);
	one = &p->out->v[p->out->n++];
	*one = (struct wip_result){ .how = WIP_WANTED, .session = xstrdup(c->pane.session) };
	if (p->dry_run)
		return;
	one->how = WIP_FAILED;
	if (clock_mono_ms() > p->until) {
		err_set(&one->error, GT_AGAIN, "timeout",
		    "the pass took too long; uncommitted work is left to the next one");
	} else if ((s = app_scrub(p->w, &one->error)) != NULL &&
	    recovery_find_session(p->w, c, &agent, &one->error) == 0 &&
	    part_of(p->w, agent, &x, &one->error) >= 0) {
		candidate_learn(p->w, s, c);
		commit_tree(p, c, &x, one, s);
	}
	if (one->how == WIP_FAILED && s != NULL)
		scrub_error(&one->error, s);
	epic_role_release(&x);
	free(agent);
	scrub_free(s);
}

static bool
is_wanted(const struct app *w, const struct candidate *c, const char *const *names, size_t n)
{
	bool named = false;

	if (!detect_status_has_pane(c->status) || c->status == AGENT_UNKNOWN ||
		    c->status == AGENT_REMOTE || c->cwd == NULL ||
	    !git_in_work_tree(c->cwd))
		return false;
	for (size_t i = 0; i < n; i++)
		named = named || strcmp(names[i], c->pane.session) == 0 || strcmp(names[i], c->pane.id) == 0;
	if (n > 0)
		return named;
	return !config_session_off(w->config, c->pane.session) &&
	    (!role_is_infra(c->role.kind) || config_flag(w->config, "include_infra"));
}

static int
pass_all(struct passing *p, const char *const *names, size_t n, struct err *e)
{
	struct candidate_list all = { .n = 0 };
	size_t from;

	if (snapshot_detect(p->w, &all, e) != 0) {
		candidate_list_release(&all);
		if (strcmp(e->name, "no-server") != 0)
			return -1;
		err_clear(e);
		return 0;
	}
	/*
	 * another one each time, so that a slow repository does not always take the time of those
	 * behind it
	 */
	from = all.n > 0 ? (size_t)(clock_wall_ms() / 1000) % all.n : 0;
	for (size_t i = 0; i < all.n && *p->w->stop == 0; i++) {
		const struct candidate *c = &all.v[(from + i) % all.n];

		if (is_wanted(p->w, c, names, n))
			pass_one(p, c);
	}
	candidate_list_release(&all);
	return 0;
}

/* When the last pass was; that of a timer comes a moment early at times. */
static bool
is_time(const struct app *w, const char *mark)
{
	int64_t interval = config_ms(w->config, "epics.wip_interval"), age;
	struct stat st;

	if (stat(mark, &st) != 0)
		return true;
	age = clock_wall_ms() - ((int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000);
	return age < 0 || age >= interval - interval / 10;
}

static int
pass_locked(struct passing *p, const char *mark, const char *const *names, size_t n, struct err *e)
{
	char *path = app_path(p->w, "locks", "wip.lock", true, e);
	struct err busy = ERR_INIT;
	int fd = path != NULL ? io_lock(path, 0, &busy) : -1, ret = -1;

	if (fd >= 0) {
		ret = io_make_parents(mark, e) == 0 && io_private_dir(p->room, e) == 0
		    ? pass_all(p, names, n, e)
		    : -1;
		if (ret == 0 && n == 0)
			ret = io_write_synced(mark, "", 0, "wip-mark", e);
		close(fd);
	} else if (path != NULL && busy.code == GT_AGAIN) {
		p->out->due = false;
		ret = 0;
	} else if (path != NULL && e != NULL) {
		*e = busy;
	}
	free(path);
	return ret;
}

int
wip_pass(struct app *w, const char *const *names, size_t n, bool dry_run, struct wip_pass *out, struct err *e)
{
	char *mark = app_path(w, "wip", "last", false, e), *room = app_path(w, "wip", "room", false, e);
	struct passing p = {
		.w = w, .out = out, .room = room, .until = clock_mono_ms() + BUDGET_MS, .dry_run = dry_run
	};
	int ret = mark != NULL && room != NULL ? 0 : -1;

	memset(out, 0, sizeof *out);
	out->due = ret == 0 && config_flag(w->config, "wip") &&
	    config_ms(w->config, "epics.wip_interval") > 0 && (n > 0 || is_time(w, mark));
	if (out->due && dry_run)
		ret = pass_all(&p, names, n, e);
	else if (out->due)
		ret = pass_locked(&p, mark, names, n, e);
	free(mark);
	free(room);
	return ret;
}

/* ---- for the prompt ---- */

static void
find_newer(const char *cwd, const char *ref, struct wip *best)
{
	struct wip w;

	if (wip_find(cwd, ref, &w, NULL) > 0 && w.at > best->at) {
		wip_release(best);
		*best = w;
	} else {
		wip_release(&w);
	}
}

char *
wip_sprint_ref(const struct epic *x, size_t i, const char *cwd, int64_t *at)
{
	bool listed = i < json_array_size(json_object_get(x->record, "sprints"));
	char *ref = wip_ref_of_sprint(x->id, listed ? i + 1 : 0, x->sprints[i].id), *shown = NULL;
	struct wip w = { .at = 0 };

	if (git_in_work_tree(cwd))
		find_newer(cwd, ref, &w);
	if (w.at > 0)
		shown = xstrdup(wip_ref_short(w.ref));
	*at = w.at;
	wip_release(&w);
	free(ref);
	return shown;
}

void
wip_describe(struct app *w, const char *agent, const char *session, const char *cwd, struct buf *out)
{
	struct wip best = { .at = 0 };
	struct err e = ERR_INIT;
	struct epic_role x;
	const char *ref;

	if (cwd == NULL || !git_in_work_tree(cwd))
		return;
	if (part_of(w, agent, &x, &e) > 0) {
		char *of_sprint = ref_of(&x, session);

		find_newer(cwd, of_sprint, &best);
		free(of_sprint);
	}
	epic_role_release(&x);
	if (session != NULL && best.at == 0) {
		char *of_session = wip_ref_of_session(session);

		find_newer(cwd, of_session, &best);
		free(of_session);
	}
	if (best.at > 0) {
		ref = wip_ref_short(best.ref);
		buf_str(out, "Work in progress was committed at ");
		clock_iso(out, best.at);
		buf_fmt(out, " to the git ref %s, with untracked files.\n"
		    "  What is on disk may be newer. To compare: git diff %s\n"
		    "  To restore files: gt-recover wip restore %s [PATH...]\n", ref, ref, ref);
	}
	wip_release(&best);
}
