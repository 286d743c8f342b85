#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "revive/doctor.h"
#include "revive/look.h"
#include "revive/seen.h"
#include "revive/world.h"
#include "base/buf.h"
#include "base/clock.h"
#include "context/album.h"
#include "town/config.h"
#include "town/town.h"

#define MIB ((int64_t)1 << 20)
#define SLACK_MS 60000			/* cron's minute, and the pass itself */

static void
look_at_dir(struct doctor *d, const char *dir)
{
	int64_t left = look_free_bytes(dir);
	struct album a = { .n = 0 };
	struct err e = ERR_INIT;
	struct stat st;
	size_t open;

	if (lstat(dir, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		doctor_tell(d, VERDICT_ERROR, "make it a directory of this user", "%s is no directory that belongs to this user", dir);
	else if ((st.st_mode & 077) != 0)
		doctor_tell(d, VERDICT_ERROR, "chmod 700 DIRECTORY", "%s is open to others (mode %03o)", dir, (unsigned)st.st_mode & 0777);
	else if ((open = look_open_files(dir)) > 0)
		doctor_tell(d, VERDICT_ERROR, "chmod 600 them; nobody else may read, or have written, what stands in a snapshot",
		    "%zu file%s in %s %s open to others", open, open == 1 ? "" : "s", dir, open == 1 ? "is" : "are");
	else if (left >= 0 && left < 100 * MIB)
		doctor_tell(d, VERDICT_WARNING, "make room, or lower snapshot_keep", "only %lld MiB are left for snapshots",
		    (long long)(left / MIB));
	else if (album_read(dir, &a, &e) != 0)
		doctor_tell_err(d, VERDICT_ERROR, &e);
	else
		doctor_tell(d, VERDICT_OK, NULL, "%zu in %s, readable for their owner alone", a.n, dir);
	album_release(&a);
}

void
doctor_album(struct doctor *d)
{
	struct err e = ERR_INIT;
	char *dir = town_snapshot_dir(d->w->town, d->w->config, &e);
	struct stat st;

	if (dir == NULL)
		doctor_tell_err(d, VERDICT_ERROR, &e);
	else if (lstat(dir, &st) != 0 && errno == ENOENT)
		doctor_tell(d, VERDICT_NOTE, NULL, "there are none yet: gt-recover snapshot takes some");
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
		return t->now - t->created > t->patience ? NEVER : FRESH;
	return !t->same && t->activity > t->newest && t->now - t->activity > t->patience ? STALE : FRESH;
}

static void
look_at_pane(const struct doctor *d, const char *dir, const struct album *a, const struct pane *p, struct ages *out)
{
	struct pane_times t = { .now = clock_wall_ms(), .created = p->session_created * 1000, .activity = p->activity * 1000,
		.patience = 2 * config_ms(d->w->config, "snapshot_interval") + SLACK_MS };
	const struct album_entry *newest;
	char key[ALBUM_KEY];
	struct seen_pane *was;
	struct seen seen;

	album_pane_key(key, p->socket_path, p->server_pid, p->server_start, p->id);
	newest = album_newest(a, NULL, key, 0);
	seen_read(&seen, dir, p);
	was = seen_find(&seen, p);
	t.newest = newest != NULL ? newest->at : 0;
	t.same = was != NULL && seen_same(was, p);
	out->live++;
	switch (doctor_freshness(&t)) {
	case NEVER:
		out->never++;
		break;
	case STALE:
		out->stale++;
		out->oldest = t.now - t.newest > out->oldest ? t.now - t.newest : out->oldest;
		break;
	default:
		break;
	}
	seen_release(&seen);
}

void
doctor_fresh(struct doctor *d)
{
	static const char hint[] = "gt-recover install timer runs it regularly; once by hand: gt-recover snapshot";
	char *dir = town_snapshot_dir(d->w->town, d->w->config, NULL);
	struct album a = { .n = 0 };
	struct ages ages = { .live = 0 };
	struct buf age = BUF_INIT;

	if (doctor_live(d) == 0 || dir == NULL || album_read(dir, &a, NULL) != 0) {
		doctor_tell(d, VERDICT_SKIPPED, NULL, dir == NULL ? "there is no place for snapshots" : "no live agent");
	} else {
		for (size_t i = 0; i < d->agents.n; i++)
			if (doctor_is_live(&d->agents.v[i]))
				look_at_pane(d, dir, &a, &d->agents.v[i].pane, &ages);
		clock_age(&age, ages.oldest);
		if (ages.never > 0)
			doctor_tell(d, VERDICT_WARNING, hint, "of %zu of %zu live agents there is none", ages.never, ages.live);
		if (ages.stale > 0)
			doctor_tell(d, VERDICT_WARNING, hint,
			    "%zu of %zu live agents wrote more since theirs, the oldest of which is %s old",
			    ages.stale, ages.live, age.data);
		if (ages.never + ages.stale == 0)
			doctor_tell(d, VERDICT_OK, NULL, "no live agent has shown anything for two periods that is not kept");
	}
	album_release(&a);
	buf_release(&age);
	free(dir);
}
