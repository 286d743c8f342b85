#include <stdlib.h>
#include <string.h>

#include "revive/doctor.h"
#include "revive/timer.h"
#include "revive/world.h"
#include "base/buf.h"
#include "base/io.h"
#include "town/town.h"

#define AGAIN "gt-recover install timer"
#define UNIT_MAX ((size_t)64 << 10)

/* What `install timer` would write today beside the timer of snapshots. */
static void
startup_today(const struct doctor *d, struct timer *out)
{
	timer_init(out, "startup", town_root(d->w->town));
	out->program = xstrdup(d->today->program);
	town_list_add(&out->args, xstrdup("startup"));
	for (size_t i = 1; i < d->today->args.n; i++)
		town_list_add(&out->args, xstrdup(d->today->args.v[i]));
	for (size_t i = 0; i < d->today->env.n; i++)
		town_list_add(&out->env, xstrdup(d->today->env.v[i]));
}

static void
tell(struct doctor *d, const struct timer *t, const char *kind, bool same)
{
	if (same)
		doctor_tell(d, VERDICT_OK, NULL, "%s, %s", t->id, kind);
	else
		doctor_tell(d, VERDICT_NOTE, AGAIN, "%s, %s, but not as it would be written today", t->id, kind);
}

/* Does the file hold this text? 1, 0 it holds another one; -1 it cannot be read, with e->name "not-found" where there is none. */
static int
holds(const char *path, const struct buf *text, struct err *e)
{
	struct buf found = BUF_INIT;
	int ret = io_read_file(path, UNIT_MAX, &found, e);

	if (ret == 0)
		ret = found.len == text->len && memcmp(found.data, text->data, text->len) == 0;
	buf_release(&found);
	return ret;
}

/* Whether there are units of it. */
static bool
look_at_units(struct doctor *d, const struct timer *t)
{
	char *paths[] = { timer_path(t, "timer"), timer_path(t, "service") }, *unit = xasprintf("%s.timer", t->id), *answer;
	const char *const enabled[] = { "systemctl", "--user", "is-enabled", unit, NULL };
	struct buf texts[2] = { BUF_INIT, BUF_INIT };
	struct err e = ERR_INIT;
	int same[2] = { -1, -1 };
	bool there;

	timer_unit(t, &texts[0]);
	timer_service(t, &texts[1]);
	for (int i = 0; i < 2 && paths[i] != NULL && e.code == 0; i++)
		same[i] = holds(paths[i], &texts[i], &e);
	there = paths[0] != NULL && (same[0] >= 0 || strcmp(e.name, "not-found") != 0);
	if (there && e.code != 0) {
		doctor_tell_err(d, VERDICT_ERROR, &e);
	} else if (there) {
		answer = doctor_ask(enabled);
		if (answer == NULL)
			doctor_tell(d, VERDICT_ERROR, AGAIN "; systemctl --user status shows more", "%s is not enabled", unit);
		else
			tell(d, t, "a systemd user timer", same[0] == 1 && same[1] == 1);
		free(answer);
	}
	for (int i = 0; i < 2; i++) {
		buf_release(&texts[i]);
		free(paths[i]);
	}
	free(unit);
	return there;
}

/* Whether its block stands in the crontab. */
static bool
look_at_crontab(struct doctor *d, const struct timer *t)
{
	struct buf tab = BUF_INIT, text = BUF_INIT;
	struct err e = ERR_INIT;
	size_t from = 0, to = 0;
	int found = timer_crontab_read(&tab, &e);

	/* 1: there is no cron */
	if (found == 0)
		found = timer_block(t, tab.data, tab.len, &from, &to, &e) > 0 ? 2 : e.code != 0 ? -1 : 1;
	timer_crontab(t, &text);
	if (found < 0)
		doctor_tell_err(d, VERDICT_ERROR, &e);
	else if (found == 2)
		tell(d, t, "a line @reboot of the crontab", to - from == text.len && memcmp(tab.data + from, text.data, text.len) == 0);
	buf_release(&tab);
	buf_release(&text);
	return found != 1;
}

void
doctor_timer_boot(struct doctor *d)
{
	struct timer t;
	bool there;

	if (d->today == NULL) {
		doctor_tell(d, VERDICT_SKIPPED, NULL, "the timer cannot be read");
		return;
	}
	startup_today(d, &t);
	there = look_at_units(d, &t);
	there = look_at_crontab(d, &t) || there;
	if (!there)
		doctor_tell(d, VERDICT_WARNING, AGAIN, "none: after a reboot nothing runs gt-recover startup");
	timer_release(&t);
}
