#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "revive/doctor.h"
#include "revive/world.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/utf8.h"
#include "epic/epic.h"
#include "ledger/session.h"
#include "store/store.h"
#include "tmux/quote.h"
#include "town/config.h"
#include "work/git.h"
#include "work/wip.h"

#define OLD_MS ((int64_t)30 * 24 * 60 * 60 * 1000)
#define PLACES 50			/* directories that git is asked in */
#define NAMES 5
#define HEADS "refs/heads/"

struct look {
	int64_t now;
	json_t *needed;			/* what refs start with that somebody may go on from */
	json_t *tops;			/* work trees that were looked at */
	const char *top;
	struct buf names, command;
	size_t n;
};

static void
need(struct look *l, char *ref)
{
	json_array_append_new(l->needed, json_string(ref));
	free(ref);
}

/* Of an epic that is open: its branches, and where they are when something stands in their way. */
static void
need_epic(struct look *l, const char *id)
{
	char *ref = wip_ref_of_sprint(id, 1, "");

	strrchr(ref, '/')[1] = '\0';
	need(l, xasprintf("refs/gt-recover/%s", ref + strlen(HEADS)));
	need(l, ref);
}

static void
row(const char *ref, int64_t at, void *arg)
{
	struct look *l = arg;

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
look_in(struct look *l, const char *dir)
{
	char *top = git_near(dir) && json_object_size(l->tops) < PLACES ? wip_top(dir) : NULL;

	if (top != NULL && json_object_get(l->tops, top) == NULL) {
		json_object_set_new(l->tops, top, json_true());
		l->top = top;
		(void)wip_each(top, row, l, NULL);
	}
	free(top);
}

static int
look_around(struct doctor *d, struct look *l, struct err *e)
{
	struct sessions all = { .n = 0 };
	struct epics open = { .n = 0 };
	struct moment now;
	int ret;

	store_moment(d->store, &now);
	ret = epics_read(d->store, NULL, config_ms(d->w->config, "epics.checkpoint_interval"), &now, &open, e);
	for (size_t i = 0; i < open.n; i++)
		need_epic(l, open.v[i].id);
	for (size_t i = 0; i < d->agents.n; i++)
		if (doctor_is_live(&d->agents.v[i]))
			need(l, wip_ref_of_session(d->agents.v[i].pane.session));
	if (ret == 0)
		ret = sessions_read(d->store, SESSION_STATES, &all, e);
	for (size_t i = 0; i < d->agents.n && ret == 0; i++)
		if (d->agents.v[i].cwd != NULL)
			look_in(l, d->agents.v[i].cwd);
	for (size_t i = 0; i < all.n && ret == 0; i++)
		if (all.v[i].workspace_path != NULL && !session_is_elsewhere(&all.v[i]))
			look_in(l, all.v[i].workspace_path);
	sessions_release(&all);
	epics_release(&open);
	return ret;
}

void
doctor_wip(struct doctor *d)
{
	struct look l = { .now = clock_wall_ms(), .needed = json_array(), .tops = json_object(), .names = BUF_INIT, .command = BUF_INIT };
	struct err e = ERR_INIT;

	if (d->store == NULL) {
		doctor_tell(d, VERDICT_SKIPPED, NULL, "there is no store that could be read");
	} else if (look_around(d, &l, &e) != 0) {
		doctor_tell_err(d, VERDICT_ERROR, &e);
	} else if (l.n == 0) {
		doctor_tell(d, VERDICT_OK, NULL, "none in %zu work trees", json_object_size(l.tops));
	} else {
		if (l.n > NAMES)
			buf_fmt(&l.names, " and %zu more", l.n - NAMES);
		doctor_tell(d, VERDICT_NOTE, l.command.data, "%zu that nobody has moved for 30 days: %s", l.n, l.names.data);
	}
	json_decref(l.needed);
	json_decref(l.tops);
	buf_release(&l.names);
	buf_release(&l.command);
}
