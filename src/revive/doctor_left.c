#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "revive/doctor.h"
#include "revive/world.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "ledger/attempt.h"
#include "ledger/crashes.h"
#include "town/config.h"

/* What earlier runs left behind. */

#define HOUR_MS ((int64_t)3600000)
#define DAY_MS (24 * HOUR_MS)
#define NO_STORE "there is no store that could be read"

/* "a, b, c and 4 more" */
static void
add_name(struct buf *b, size_t i, const char *name)
{
	if (i < 5)
		buf_fmt(b, "%s%s", i > 0 ? ", " : "", name);
}

static void
end_names(struct buf *b, size_t n)
{
	if (n > 5)
		buf_fmt(b, " and %zu more", n - 5);
}

void
doctor_open_attempts(struct doctor *d)
{
	struct attempts open = { .n = 0 };
	struct buf names = BUF_INIT;
	struct err e = ERR_INIT;
	size_t old = 0;

	if (d->store == NULL) {
		doctor_tell(d, VERDICT_SKIPPED, NULL, NO_STORE);
		return;
	}
	if (attempts_open(d->store, &open, &e) != 0) {
		doctor_tell_err(d, VERDICT_ERROR, &e);
	} else {
		for (size_t i = 0; i < open.n; i++)
			if (clock_wall_ms() - open.v[i].times[PHASE_DETECTED] > DAY_MS)
				add_name(&names, old++, open.v[i].session != NULL ? open.v[i].session : "?");
		end_names(&names, old);
		if (old > 0)
			doctor_tell(d, VERDICT_WARNING, "recover them by name, which looks first; or gt-recover release SESSION",
			    "begun more than a day ago and never ended: %s", names.data);
		else
			doctor_tell(d, VERDICT_OK, NULL, "%zu under way, none older than a day", open.n);
	}
	attempts_release(&open);
	buf_release(&names);
}

void
doctor_quarantine(struct doctor *d)
{
	int64_t window = config_ms(d->w->config, "attempt_window"), max = config_int(d->w->config, "max_attempts");
	struct crashes_often often = { .n = 0 };
	struct buf names = BUF_INIT;
	struct err e = ERR_INIT;

	if (d->store == NULL) {
		doctor_tell(d, VERDICT_SKIPPED, NULL, NO_STORE);
		return;
	}
	if (crashes_often(d->store, clock_wall_ms() - window, (size_t)max, &often, &e) != 0) {
		doctor_tell_err(d, VERDICT_ERROR, &e);
	} else if (often.n == 0) {
		doctor_tell(d, VERDICT_OK, NULL, "no session was brought back %lld times within %s", (long long)max,
		    config_text(d->w->config, "attempt_window"));
	} else {
		for (size_t i = 0; i < often.n; i++)
			add_name(&names, i, often.v[i].session);
		end_names(&names, often.n);
		doctor_tell(d, VERDICT_WARNING, "find out why (gt-recover log SESSION), then gt-recover release SESSION",
		    "not brought back any more, after %lld times within %s: %s", (long long)max,
		    config_text(d->w->config, "attempt_window"), names.data);
	}
	crashes_often_release(&often);
	buf_release(&names);
}

/* The wrapper takes a prompt within seconds; one that lies there was left by a recoverer that died, or its agent never started. */
void
doctor_prompts(struct doctor *d)
{
	char *dir = io_join(d->w->state_dir, "prompts");
	DIR *at = opendir(dir);
	struct dirent *f;
	struct stat st;
	size_t old = 0;

	while (at != NULL && (f = readdir(at)) != NULL)
		if (fstatat(dirfd(at), f->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			old += clock_wall_ms() - (int64_t)st.st_mtime * 1000 > HOUR_MS;
	if (at != NULL)
		closedir(at);
	if (old > 0)
		doctor_tell(d, VERDICT_NOTE, NULL, "%zu prompt%s that nobody took within an hour; recoveries remove them after %s", old,
		    old == 1 ? "" : "s", config_text(d->w->config, "snapshot_age"));
	else
		doctor_tell(d, VERDICT_OK, NULL, "none was left behind");
	free(dir);
}
