#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/doctor.h"
#include "doctor/doctor_private.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "config/config.h"
#include "epic/epic.h"
#include "gastown/gastown.h"
#include "git/git.h"
#include "records/agents/agents.h"
#include "snapshot/snapshot.h"
#include "store/store.h"
#include "tmux/tmux.h"

#define MIB ((int64_t)1 << 20)
#define SLACK_MS 60000			/* cron's minute, and the pass itself */

static void
look_at_dir(struct doctor *d, const char *dir)
{
	int64_t left = doctor_free_bytes(dir);
	struct snapshot_index a = { .n = 0 };
	struct err e = ERR_INIT;
	struct stat st;
	size_t open;

	if (lstat(dir, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		doctor_report(d, VERDICT_ERROR, "make it a directory of this user",
		    "%s is no directory that belongs to this user", dir);
	else if ((st.st_mode & 077) != 0)
		doctor_report(d, VERDICT_ERROR, "chmod 700 DIRECTORY", "%s is open to others (mode %03o)",
		    dir, (unsigned)st.st_mode & 0777);
	else if ((open = doctor_open_files(dir)) > 0)
		doctor_report(d, VERDICT_ERROR,
		    "chmod 600 them; nobody else may read, or have written, what stands in a snapshot",
		    "%zu file%s in %s %s open to others", open, open == 1 ? "" : "s", dir,
		    open == 1 ? "is" : "are");
	else if (left >= 0 && left < 100 * MIB)
		doctor_report(d, VERDICT_WARNING, "make room, or lower snapshot_keep",
		    "only %lld MiB are left for snapshots", (long long)(left / MIB));
	else if (snapshot_index_read(dir, &a, &e) != 0)
		doctor_report_err(d, VERDICT_ERROR, &e);
	else
		doctor_report(d, VERDICT_OK, NULL, "%zu in %s, readable for their owner alone", a.n, dir);
	snapshot_index_release(&a);
}

void
doctor_snapshot_dir(struct doctor *d)
{
	struct err e = ERR_INIT;
	char *dir = town_snapshot_dir(d->w->town, d->w->config, &e);
	struct stat st;

	if (dir == NULL)
		doctor_report_err(d, VERDICT_ERROR, &e);
	else if (lstat(dir, &st) != 0 && errno == ENOENT)
		doctor_report(d, VERDICT_NOTE, NULL, "there are none yet: gt-recover snapshot takes some");
	else
		look_at_dir(d, dir);
	free(dir);
}

struct ages {
	size_t live, never, stale;
	int64_t oldest;			/* of the stale ones, ms */
};

enum freshness
doctor_freshness(const struct pane_times *t)
{
	if (t->newest == 0)
		return t->now - t->created > t->patience ? FRESHNESS_NEVER : FRESHNESS_FRESH;
	return !t->same && t->activity > t->newest && t->now - t->activity > t->patience ? FRESHNESS_STALE
											 : FRESHNESS_FRESH;
}

static void
look_at_pane(const struct doctor *d, const char *dir, const struct snapshot_index *a, const struct pane *p,
    struct ages *out)
{
	struct pane_times t = { .now = clock_wall_ms(),
		.created = p->session_created * 1000,
		.activity = p->activity * 1000,
		.patience = 2 * config_ms(d->w->config, "snapshot_interval") + SLACK_MS };
	const struct snapshot_file *newest;
	char key[SNAPSHOT_KEY];
	struct pane_state *was;
	struct pane_states seen;

	snapshot_pane_key(key, p->socket_path, p->server_pid, p->server_start, p->id);
	newest = snapshot_index_newest(a, NULL, key, 0);
	snapshot_panes_read(&seen, dir, p);
	was = snapshot_pane_find(&seen, p);
	t.newest = newest != NULL ? newest->at : 0;
	t.same = was != NULL && snapshot_pane_same(was, p);
	out->live++;
	switch (doctor_freshness(&t)) {
	case FRESHNESS_NEVER:
		out->never++;
		break;
	case FRESHNESS_STALE:
		out->stale++;
		out->oldest = t.now - t.newest > out->oldest ? t.now - t.newest : out->oldest;
		break;
	default:
		break;
	}
	snapshot_panes_release(&seen);
}

void
doctor_fresh(struct doctor *d)
{
	static const char hint[] = "gt-recover install timer runs it regularly; once by hand: gt-recover "
				   "snapshot";
	char *dir = town_snapshot_dir(d->w->town, d->w->config, NULL);
	struct snapshot_index a = { .n = 0 };
	struct ages ages = { .live = 0 };
	struct buf age = BUF_INIT;

	if (doctor_live(d) == 0 || dir == NULL || snapshot_index_read(dir, &a, NULL) != 0) {
		doctor_report(d, VERDICT_SKIPPED, NULL,
		    dir == NULL ? "there is no place for snapshots" : "no live agent");
	} else {
		for (size_t i = 0; i < d->agents.n; i++)
			if (doctor_is_live(&d->agents.v[i]))
				look_at_pane(d, dir, &a, &d->agents.v[i].pane, &ages);
		clock_age(&age, ages.oldest);
		if (ages.never > 0)
			doctor_report(d, VERDICT_WARNING, hint, "of %zu of %zu live agents there is none",
			    ages.never, ages.live);
		if (ages.stale > 0)
			doctor_report(d, VERDICT_WARNING, hint,
			    "%zu of %zu live agents wrote more since theirs, the oldest of which is %s old",
			    ages.stale, ages.live, age.data);
		if (ages.never + ages.stale == 0)
			doctor_report(d, VERDICT_OK, NULL,
			    "no live agent has shown anything for two periods that is not kept");
	}
	snapshot_index_release(&a);
	buf_release(&age);
	free(dir);
}

#define OLD_MS ((int64_t)30 * 24 * 60 * 60 * 1000)
#define PLACES 50			/* directories that git is asked in */
#define NAMES 5
#define HEADS "refs/heads/"

struct wip_check {
	int64_t now;
	json_t *needed;			/* what refs start with that somebody may go on from */
	json_t *tops;			/* work trees that were looked at */
	const char *top;
	struct buf names, command;
	size_t n;
};

static void
need(struct wip_check *l, char *ref)
{
	json_array_append_new(l->needed, json_string(ref));
	free(ref);
}

/* Of an epic that is open: its branches, and where they are when something stands in their way. */
static void
need_epic(struct wip_check *l, const char *id)
{
	char *ref = wip_ref_of_sprint(id, 1, "");

	strrchr(ref, '/')[1] = '\0';
	need(l, xasprintf("refs/gt-recover/%s", ref + strlen(HEADS)));
	need(l, ref);
}

static void
row(const char *ref, int64_t at, void *arg)
{
	struct wip_check *l = arg;

	if (l->now - at <= OLD_MS)
		return;
	for (size_t i = 0; i < json_array_size(l->needed); i++)
		if (str_starts(ref, json_string_value(json_array_get(l->needed, i))))
			return;
	if (l->n++ >= NAMES)
		return;
	buf_str(&l->names, l->n > 1 ? ", " : "");
	utf8_escape(&l->names, wip_ref_short(ref), strlen(wip_ref_short(ref)), 120);
	buf_str(&l->command, l->n > 1 ? " && git -C " : "git -C ");
	quote_sh(&l->command, l->top);
	buf_str(&l->command, " update-ref -d ");
	quote_sh(&l->command, ref);
}

/* What git cannot tell is its own affair: `snapshot` says so. */
static void
look_in(struct wip_check *l, const char *dir)
{
	char *top = git_in_work_tree(dir) && json_object_size(l->tops) < PLACES ? wip_top(dir) : NULL;

	if (top != NULL && json_object_get(l->tops, top) == NULL) {
		json_object_set_new(l->tops, top, json_true());
		l->top = top;
		(void)wip_each(top, row, l, NULL);
	}
	free(top);
}

static int
look_around(struct doctor *d, struct wip_check *l, struct err *e)
{
	struct session_list all = { .n = 0 };
	struct epic_list open = { .n = 0 };
	struct timestamp now;
	int ret;

	store_timestamp(d->store, &now);
	ret = epic_list_read(
	    d->store, NULL, config_ms(d->w->config, "epics.checkpoint_interval"), &now, &open, e);
	for (size_t i = 0; i < open.n; i++)
		need_epic(l, open.v[i].id);
	for (size_t i = 0; i < d->agents.n; i++)
		if (doctor_is_live(&d->agents.v[i]))
			need(l, wip_ref_of_session(d->agents.v[i].pane.session));
	if (ret == 0)
		ret = session_list_read(d->store, SESSION_STATES, &all, e);
	for (size_t i = 0; i < d->agents.n && ret == 0; i++)
		if (d->agents.v[i].cwd != NULL)
			look_in(l, d->agents.v[i].cwd);
	for (size_t i = 0; i < all.n && ret == 0; i++)
		if (all.v[i].workspace_path != NULL && !session_is_elsewhere(&all.v[i]))
			look_in(l, all.v[i].workspace_path);
	session_list_release(&all);
	epic_list_release(&open);
	return ret;
}

void
doctor_wip(struct doctor *d)
{
	struct wip_check l = { .now = clock_wall_ms(),
		.needed = json_array(),
		.tops = json_object(),
		.names = BUF_INIT,
		.command = BUF_INIT };
	struct err e = ERR_INIT;

	if (d->store == NULL) {
		doctor_report(d, VERDICT_SKIPPED, NULL, "there is no store that could be read");
	} else if (look_around(d, &l, &e) != 0) {
		doctor_report_err(d, VERDICT_ERROR, &e);
	} else if (l.n == 0) {
		doctor_report(d, VERDICT_OK, NULL, "none in %zu work trees", json_object_size(l.tops));
	} else {
		if (l.n > NAMES)
			buf_fmt(&l.names, " and %zu more", l.n - NAMES);
		doctor_report(d, VERDICT_NOTE, l.command.data, "%zu that nobody has moved for 30 days: %s",
		    l.n, l.names.data);
	}
	json_decref(l.needed);
	json_decref(l.tops);
	buf_release(&l.names);
	buf_release(&l.command);
}
