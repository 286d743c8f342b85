#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/doctor_private.h"
#include "app/app.h"
#include "base/clock.h"
#include "base/err.h"
#include "config/config.h"
#include "gastown/gastown.h"
#include "snapshot/snapshot.h"
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
		    "%s is not a directory of this user", dir);
	else if ((st.st_mode & 077) != 0)
		doctor_report(d, VERDICT_ERROR, "chmod 700 DIRECTORY", "%s is open to others (mode %03o)",
		    dir, (unsigned)st.st_mode & 0777);
	else if ((open = doctor_open_files(dir)) > 0)
		doctor_report(d, VERDICT_ERROR,
		    "chmod 600 them; snapshots must be private",
		    "%zu file%s in %s %s open to others", open, open == 1 ? "" : "s", dir,
		    open == 1 ? "is" : "are");
	else if (left >= 0 && left < 100 * MIB)
		doctor_report(d, VERDICT_WARNING, "free disk space, or lower snapshot_keep",
		    "only %lld MiB free for snapshots", (long long)(left / MIB));
	else if (snapshot_index_read(dir, &a, &e) != 0)
		doctor_report_err(d, VERDICT_ERROR, &e);
	else
		doctor_report(d, VERDICT_OK, NULL, "%zu in %s, private", a.n, dir);
	snapshot_index_release(&a);
}

static void
check_snapshot_dir(struct doctor *d)
{
	struct err e = ERR_INIT;
	char *dir = town_snapshot_dir(d->w->town, d->w->config, &e);
	struct stat st;

	if (dir == NULL)
		doctor_report_err(d, VERDICT_ERROR, &e);
	else if (lstat(dir, &st) != 0 && errno == ENOENT)
		doctor_report(d, VERDICT_NOTE, NULL, "none yet; to take one: gt-recover snapshot");
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

static void
check_fresh(struct doctor *d)
{
	static const char hint[] = "gt-recover setup --only timer runs it regularly; once by hand: "
	    "gt-recover "
				   "snapshot";
	char *dir = town_snapshot_dir(d->w->town, d->w->config, NULL);
	struct snapshot_index a = { .n = 0 };
	struct ages ages = { .live = 0 };
	struct buf age = BUF_INIT;

	if (doctor_live(d) == 0 || dir == NULL || snapshot_index_read(dir, &a, NULL) != 0) {
		doctor_report(d, VERDICT_SKIPPED, NULL,
		    dir == NULL ? "no directory for snapshots" : "no live agent");
	} else {
		for (size_t i = 0; i < d->agents.n; i++)
			if (doctor_is_live(&d->agents.v[i]))
				look_at_pane(d, dir, &a, &d->agents.v[i].pane, &ages);
		clock_age(&age, ages.oldest);
		if (ages.never > 0)
			doctor_report(d, VERDICT_WARNING, hint, "%zu of %zu live agents have none",
			    ages.never, ages.live);
		if (ages.stale > 0)
			doctor_report(d, VERDICT_WARNING, hint,
			    "%zu of %zu live agents have written more since their snapshot, the oldest "
			        "%s ago",
			    ages.stale, ages.live, age.data);
		if (ages.never + ages.stale == 0)
			doctor_report(d, VERDICT_OK, NULL,
			    "current for every live agent");
	}
	snapshot_index_release(&a);
	buf_release(&age);
	free(dir);
}

const struct doctor_check doctor_snapshots_checks[] = {
	{ "Snapshots", "files", "owner and permissions of the snapshots, free space", check_snapshot_dir },
	{ "Snapshots", "age", "the newest snapshot of each live agent", check_fresh },
	{ .group = NULL },
};
