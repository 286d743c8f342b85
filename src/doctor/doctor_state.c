#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/doctor_private.h"
#include "app/app.h"
#include "base/clock.h"
#include "base/db.h"
#include "base/err.h"
#include "base/io.h"
#include "base/sys.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "config/config.h"
#include "epic/epic.h"
#include "gastown/gastown.h"
#include "git/git.h"
#include "process/proc.h"
#include "records/agents/agents.h"
#include "records/history/history.h"
#include "records/hooks/hooks.h"
#include "records/records.h"
#include "records/runs/runs.h"
#include "recover/recover.h"
#include "recover/upkeep/upkeep.h"
#include "snapshot/snapshot.h"
#include "store/store.h"
#include "tmux/tmux.h"
#include "transcript/locate/locate.h"

#define MIB ((int64_t)1 << 20)
#define LITTLE (100 * MIB)
#define NOTHING (5 * MIB)
#define EXPORT_LATE_MS ((int64_t)10 * 60 * 1000)
#define HOUR_MS ((int64_t)3600000)
#define DAY_MS (24 * HOUR_MS)
#define SQLITE_WANTED 3037000		/* STRICT tables */

static void
check_state_dir(struct doctor *d)
{
	const char *dir = d->w->state_dir;
	struct err e = ERR_INIT;
	struct stat st;
	size_t open;

	if (town_state_check(d->w->town, dir, &e) != 0)
		doctor_report_err(d, VERDICT_ERROR, &e);
	else if (lstat(dir, &st) != 0 && errno == ENOENT)
		doctor_report(d, VERDICT_OK, NULL, "%s will be created on first use", dir);
	else if (lstat(dir, &st) != 0)
		doctor_report(d, VERDICT_ERROR, "make it a directory of this user",
		    "%s cannot be examined: %s", dir, strerror(errno));
	else if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		doctor_report(d, VERDICT_ERROR, "make it a directory of this user",
		    "%s is not a directory of this user", dir);
	else if ((st.st_mode & 077) != 0)
		doctor_report(d, VERDICT_ERROR, "chmod 700 DIRECTORY", "%s is open to others (mode %03o)",
		    dir, (unsigned)st.st_mode & 0777);
	else if (access(dir, W_OK | X_OK) != 0)
		doctor_report(d, VERDICT_ERROR, "chmod 700 DIRECTORY; mount its file system for writing",
		    "%s cannot be written to", dir);
	else if ((open = doctor_open_files(dir)) > 0)
		doctor_report(d, VERDICT_WARNING, "chmod 600 them", "%zu file%s in %s can be read by others",
		    open, open == 1 ? "" : "s", dir);
	else
		doctor_report(d, VERDICT_OK, NULL, "%s", dir);
}

static void
report_disk(struct doctor *d, const char *at)
{
	int64_t left = doctor_free_bytes(at);
	int disk = sys_disk(at);

	if (left >= 0 && left < NOTHING)
		doctor_report(d, VERDICT_ERROR,
		    "free disk space; each recovery first saves its context to disk",
		    "the disk of the state is full: %lld MiB free", (long long)(left / MIB));
	else if (left >= 0 && left < LITTLE)
		doctor_report(d, VERDICT_WARNING, "make room", "little disk space for the state: %lld "
		    "MiB free",
		    (long long)(left / MIB));
	else if (disk == SYS_DISK_MEMORY)
		doctor_report(d, VERDICT_WARNING,
		    "keep it on a disk: XDG_STATE_HOME, or state = \"sqlite:/PATH\" in gt.toml",
		    "the state is on a tmpfs: a reboot loses it");
	else if (disk == SYS_DISK_OVERLAY)
		doctor_report(d, VERDICT_NOTE, NULL,
		    "the state is on an overlay file system: it is deleted with the container");
	else if (left < 10 * 1024 * MIB)
		doctor_report(
		    d, VERDICT_OK, NULL, "local, %lld MiB free", (long long)(left / MIB));
	else
		doctor_report(d, VERDICT_OK, NULL, "local, %lld GiB free",
		    (long long)(left / MIB / 1024));
}

static void
check_state_disk(struct doctor *d)
{
	char *at = doctor_existing_path(d->w->state_dir);
	struct err e = ERR_INIT;

	if (db_local(at, &e) != 0)
		doctor_report_err(d, VERDICT_ERROR, &e);
	else
		report_disk(d, at);
	free(at);
}

/* The fault of WAL databases before 3.51.3 (3.44.6, 3.50.7) cannot strike: the store never uses a WAL. */
static void
check_sqlite(struct doctor *d)
{
	if (sqlite3_libversion_number() < SQLITE_WANTED)
		doctor_report(d, VERDICT_ERROR, "install SQLite 3.37 or later",
		    "SQLite %s is too old for the store", sqlite3_libversion());
	else
		doctor_report(d, VERDICT_OK, NULL,
		    "SQLite %s (rollback journal)",
		    sqlite3_libversion());
}

static void
check_store(struct doctor *d)
{
	struct err e = ERR_INIT;

	if (d->store != NULL && store_check(d->store, &e) != 0)
		doctor_report_err(d, VERDICT_ERROR, &e);
	else if (d->store != NULL && store_is_redis(config_text(d->w->config, "state")))
		doctor_report(d, VERDICT_OK, NULL,
		    "the Redis server answers and syncs each write to disk; host name of this machine: %s",
		    store_host(d->store));
	else if (d->store != NULL)
		doctor_report(d, VERDICT_OK, NULL,
		    "it opens; integrity_check and all checksums pass");
	else if (strcmp(d->no_store.name, "not-found") == 0)
		doctor_report(d, VERDICT_OK, NULL, "no records yet");
	else
		doctor_report_err(
		    d, d->no_store.code == GT_AGAIN ? VERDICT_WARNING : VERDICT_ERROR, &d->no_store);
}

static bool
has_store(struct doctor *d)
{
	if (d->store == NULL)
		doctor_report(d, VERDICT_SKIPPED, NULL, "no readable store");
	return d->store != NULL;
}

/* The records of processes in other containers that may still run. */
static int
count_contained(struct doctor *d, size_t *n, struct err *e)
{
	struct session_list sessions = { .n = 0 };
	struct runner_list runners = { .n = 0 };
	struct lock_list locks = { .n = 0 };
	struct timestamp now;
	int ret = session_list_read(d->store, SESSION_ACTIVE, &sessions, e);

	if (ret == 0)
		ret = lock_list_read(d->store, false, &locks, e);
	if (ret == 0)
		ret = runner_list_read(d->store, &runners, e);
	*n = 0;
	timestamp_now(&now);
	for (size_t i = 0; i < sessions.n; i++)
		*n += session_is_contained(&sessions.v[i], &now) && session_is_alive(&sessions.v[i], &now);
	for (size_t i = 0; i < locks.n; i++)
		*n += timestamp_contained(locks.v[i].renewed.boot_id, locks.v[i].renewed.pid_ns, &now) &&
		    lock_stale_reason(&locks.v[i], &now) == NULL;
	for (size_t i = 0; i < runners.n; i++)
		*n += timestamp_contained(
			  runners.v[i].heartbeat.boot_id, runners.v[i].heartbeat.pid_ns, &now) &&
		    runner_is_alive(&runners.v[i], &now, PROC_SEEN_MS);
	session_list_release(&sessions);
	runner_list_release(&runners);
	lock_list_release(&locks);
	return ret;
}

static void
check_containers(struct doctor *d)
{
	struct err e = ERR_INIT;
	size_t n;

	if (!has_store(d))
		return;
	if (count_contained(d, &n, &e) != 0)
		doctor_report_err(d, VERDICT_ERROR, &e);
	else if (n > 0)
		doctor_report(d, VERDICT_WARNING,
		    "Give each container its own state: XDG_STATE_HOME, or state = \"sqlite:/PATH\" in "
		    "gt.toml",
		    "last used from another container (pid namespace), which has %zu live session%s, lock%s "
		    "or"
		    " runner%s",
		    n, n == 1 ? "" : "s", n == 1 ? "" : "s", n == 1 ? "" : "s");
	else
		doctor_report(d, VERDICT_OK, NULL, "not used from another container");
}

static void
check_backup(struct doctor *d)
{
	static const char hint[] = "check free space and permissions of its directory; the next command "
				   "that writes makes one";
	struct store_backup found;
	struct err e = ERR_INIT;
	struct buf age = BUF_INIT;
	int there;

	if (!has_store(d))
		return;
	there = store_backup_info(config_text(d->w->config, "state"), d->w->state_dir, &found, &e);
	if (there > 0)
		clock_age(&age, clock_wall_ms() - found.at);
	if (there < 0 && strcmp(e.name, "elsewhere") == 0)
		doctor_report(d, VERDICT_SKIPPED, NULL, "%s: back up its append-only files there", e.msg);
	else if (there < 0)
		doctor_report(d, VERDICT_WARNING, hint, "no usable backup: %s", e.msg);
	else if (there == 0)
		doctor_report(
		    d, VERDICT_WARNING, hint, "no backup: a damaged store could not be restored");
	else if (found.late)
		doctor_report(d, VERDICT_WARNING, hint,
		    "%s old and outdated: making a newer one fails", age.data);
	else
		doctor_report(d, VERDICT_OK, NULL,
		    "%s old; integrity_check and all checksums pass", age.data);
	buf_release(&age);
}

/* "12 MiB", "340 KiB" */
static void
put_size(struct buf *out, int64_t bytes)
{
	if (bytes < 10 * MIB)
		buf_fmt(out, "%lld KiB", (long long)(bytes / 1024));
	else
		buf_fmt(out, "%lld MiB", (long long)(bytes / MIB));
}

/* What a day adds, by the oldest note of the last month; nothing before a day has passed. */
static void
put_growth(struct doctor *d, struct buf *out, int64_t bytes)
{
	char *state = upkeep_sweep_state(d->w);
	int64_t now = clock_wall_ms(), by;
	struct history_growth was;

	if (history_growth_read(state, &was) && now - was.at >= DAY_MS) {
		by = (bytes - was.bytes) / ((now - was.at) / DAY_MS);
		buf_str(out, by < 0 ? "; it shrinks by " : "; it grows by ");
		put_size(out, by < 0 ? -by : by);
		buf_str(out, " a day");
	}
	free(state);
}

static void
check_size(struct doctor *d)
{
	struct buf words = BUF_INIT;
	struct err e = ERR_INIT;
	struct event_numbers at;
	struct store_size size;
	int64_t since = 0;

	if (!has_store(d))
		return;
	if (store_size_read(d->store, &size, &e) != 0 || event_numbers_read(d->store, &at, &e) != 0) {
		doctor_report_err(d, VERDICT_ERROR, &e);
		return;
	}
	if (size.bytes > 0) {
		put_size(&words, size.bytes);
		buf_str(&words, ", of which ");
		put_size(&words, size.free);
		buf_str(&words, " are free for new records; ");
	}
	if (at.last >= at.first)
		(void)event_time(d->store, at.first, &since, NULL);
	if (since > 0) {
		buf_str(&words, "its events go back ");
		clock_age(&words, clock_wall_ms() - since);
	} else {
		buf_str(&words, "it has no events");
	}
	put_growth(d, &words, size.bytes);
	doctor_report(d, VERDICT_OK, NULL, "%s", words.data);
	buf_release(&words);
}

static void
check_rules(struct doctor *d)
{
	static const char hint[] = "first copy recover.db, or the files of the Redis server; then "
				   "gt-recover records release SESSION ends an open attempt";
	struct record_check found = { .n_faults = 0 };
	struct err e = ERR_INIT;

	if (!has_store(d))
		return;
	if (record_check(d->store, &found, &e) != 0)
		doctor_report_err(d, VERDICT_ERROR, &e);
	else if (found.n_faults == 0)
		doctor_report(d, VERDICT_OK, NULL, "%zu attempt%s and %lld events, consistent",
		    found.attempts, found.attempts == 1 ? "" : "s", (long long)found.events);
	for (size_t i = 0; i < found.n_faults && i < 3; i++)
		doctor_report(d, VERDICT_ERROR, i == 0 ? hint : NULL, "%s", found.faults[i]);
	if (found.n_faults > 3)
		doctor_report(d, VERDICT_ERROR, NULL, "%zu more of the kind", found.n_faults - 3);
	record_check_release(&found);
}

/*
 * An event that no run has written for so long: they fail of it, each with a warning that nobody
 * may have read.
 */
static void
report_export(struct doctor *d, const char *path, const struct event_log_state *log, int64_t last)
{
	int64_t at = 0, missing = log->last > 0 ? last - log->last : last;
	struct buf age = BUF_INIT;
	struct stat st;

	if (missing > 0)
		(void)event_time(d->store, last - missing + 1, &at, NULL);
	else if (stat(path, &st) == 0)
		at = (int64_t)st.st_mtim.tv_sec * 1000;
	clock_age(&age, clock_wall_ms() - at);
	if (missing <= 0)
		doctor_report(d, VERDICT_OK, NULL,
		    "%lld line%s, equal to the store, the last written %s ago", (long long)log->lines,
		    log->lines == 1 ? "" : "s", age.data);
	else if (clock_wall_ms() - at < EXPORT_LATE_MS)
		doctor_report(d, VERDICT_NOTE, NULL,
		    "%lld of %lld events are not in it yet; the next command writes them", (long long)missing,
		    (long long)last);
	else
		doctor_report(d, VERDICT_WARNING,
		    "gt-recover log --verify writes them, or says why it cannot",
		    "%lld of %lld events are not in it, one for %s", (long long)missing, (long long)last,
		    age.data);
	buf_release(&age);
}

static void
check_events(struct doctor *d)
{
	char *path = io_join(d->w->state_dir, EVENT_LOG);
	struct err e = ERR_INIT;
	int64_t last = 0;
	struct event_log_state log;

	if (!has_store(d)) {
		free(path);
		return;
	}
	if (event_last(d->store, &last, &e) != 0)
		doctor_report_err(d, VERDICT_ERROR, &e);
	else if (event_check(d->store, path, &log, &e) == 0)
		report_export(d, path, &log, last);
	else if (strcmp(e.name, "not-found") == 0)
		doctor_report(d, last == 0 ? VERDICT_OK : VERDICT_NOTE, NULL,
		    "the next command writes it");
	else
		doctor_report(d, VERDICT_ERROR,
		    "gt-recover log --verify repairs a torn end; otherwise move the file away: a new one "
		    "is written",
		    "%s", e.msg);
	free(path);
}

/* What earlier runs left behind. */

#define NAMES 5

/* "a, b, c and 4 more" */
static void
add_name(struct buf *b, size_t i, const char *name)
{
	if (i < NAMES)
		buf_fmt(b, "%s%s", i > 0 ? ", " : "", name);
}

static void
end_names(struct buf *b, size_t n)
{
	if (n > NAMES)
		buf_fmt(b, " and %zu more", n - NAMES);
}

static void
check_open_attempts(struct doctor *d)
{
	struct attempt_list open = { .n = 0 };
	struct buf names = BUF_INIT;
	struct err e = ERR_INIT;
	size_t old = 0;

	if (!has_store(d))
		return;
	if (attempt_list_open(d->store, &open, &e) != 0) {
		doctor_report_err(d, VERDICT_ERROR, &e);
	} else {
		for (size_t i = 0; i < open.n; i++)
			if (clock_wall_ms() - open.v[i].times[PHASE_DETECTED] > DAY_MS)
				add_name(&names, old++, open.v[i].session != NULL ? open.v[i].session : "?");
		end_names(&names, old);
		if (old > 0)
			doctor_report(d, VERDICT_WARNING,
			    "gt-recover SESSION checks and continues it; gt-recover records release "
			        "SESSION ends it",
			    "unfinished for more than a day: %s", names.data);
		else
			doctor_report(d, VERDICT_OK, NULL, "%zu in progress, none older than a day", open.n);
	}
	attempt_list_release(&open);
	buf_release(&names);
}

static void
check_quarantine(struct doctor *d)
{
	int64_t window = config_ms(d->w->config, "attempt_window"),
		max = config_int(d->w->config, "max_attempts");
	struct crash_frequent often = { .n = 0 };
	struct buf names = BUF_INIT;
	struct err e = ERR_INIT;
	size_t n = 0;

	if (!has_store(d))
		return;
	if (crash_frequent(d->store, clock_wall_ms() - window, (size_t)max, &often, &e) != 0) {
		doctor_report_err(d, VERDICT_ERROR, &e);
	} else {
		for (size_t i = 0; i < often.n; i++) {
			const struct crash_session *x = &often.v[i];

			if (recovery_count_restarts(d->w, x->socket, x->session, clock_wall_ms()) >=
			    (size_t)max)
				add_name(&names, n++, x->session);
		}
		end_names(&names, n);
		if (n == 0)
			doctor_report(d, VERDICT_OK, NULL,
			    "no session failed %lld times within %s", (long long)max,
			    config_text(d->w->config, "attempt_window"));
		else
			doctor_report(d, VERDICT_WARNING,
			    "find out why (gt-recover log SESSION), then gt-recover records release SESSION",
			    "quarantined after %lld recoveries within %s: %s", (long long)max,
			    config_text(d->w->config, "attempt_window"), names.data);
	}
	crash_frequent_release(&often);
	buf_release(&names);
}

/*
 * The wrapper takes a prompt within seconds; one that lies there was left by a recoverer that
 * died, or its agent never started.
 */
static void
check_prompts(struct doctor *d)
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
		doctor_report(d, VERDICT_NOTE, NULL,
		    "%zu prompt%s undelivered for more than an hour; recoveries remove them after %s", old,
		    old == 1 ? "" : "s", config_text(d->w->config, "snapshot_age"));
	else
		doctor_report(d, VERDICT_OK, NULL, "none left behind");
	free(dir);
}

static void
check_spool(struct doctor *d)
{
	char *path = io_join(d->w->state_dir, HOOK_SPOOL);
	struct buf ago = BUF_INIT;
	struct stat st;
	int64_t age, last;
	size_t dropped = hook_spool_dropped(path, &last);

	if (dropped > 0) {
		clock_age(&ago, clock_wall_ms() - last);
		doctor_report(d, VERDICT_WARNING,
		    "gt-recover list shows why the store is unavailable; any command that can write "
		        "empties the spool",
		    "%zu hook report%s %s dropped because the spool was full, the last %s ago", dropped,
		    dropped == 1 ? "" : "s", dropped == 1 ? "was" : "were", ago.data);
		buf_release(&ago);
	}
	if (stat(path, &st) != 0 || st.st_size == 0) {
		if (dropped == 0)
			doctor_report(d, VERDICT_OK, NULL, "empty");
	} else {
		age = clock_wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000;
		doctor_report(d, age > HOUR_MS ? VERDICT_WARNING : VERDICT_NOTE,
		    "gt-recover records session list reads it, or prints why it cannot",
		    "%lld bytes of hook reports wait for the next command", (long long)st.st_size);
	}
	free(path);
}

static void
check_epics(struct doctor *d)
{
	struct epic_list list = { .n = 0 };
	struct buf names = BUF_INIT;
	struct err e = ERR_INIT;
	struct timestamp now;
	size_t n = 0;

	if (!has_store(d))
		return;
	store_timestamp(d->store, &now);
	if (epic_survey(d->w, d->store, NULL, config_ms(d->w->config, "epics.checkpoint_interval"), &now,
		&list, &e) != 0) {
		doctor_report_err(d, VERDICT_ERROR, &e);
	} else {
		for (size_t i = 0; i < list.n_sources; i++)
			if (list.sources[i].error.code != 0)
				doctor_report_err(d, VERDICT_WARNING, &list.sources[i].error);
		for (size_t i = 0; i < list.n; i++)
			if (list.v[i].interrupted)
				add_name(&names, n++, list.v[i].id);
		end_names(&names, n);
		if (n > 0)
			doctor_report(d, VERDICT_NOTE,
			    "gt-recover epic status shows them; gt-recover epic resume ID continues one, "
			        "epic abandon ID deletes one",
			    "interrupted: %s", names.data);
		else
			doctor_report(d, VERDICT_OK, NULL, "none of %zu open epics is interrupted", list.n);
	}
	epic_list_release(&list);
	buf_release(&names);
}

/* Work in progress that nobody needs any more. */

#define OLD_MS ((int64_t)30 * 24 * 60 * 60 * 1000)
#define PLACES 50			/* directories that git is asked in */
#define HEADS "refs/heads/"

struct wip_check {
	int64_t now;
	json_t *needed;			/* what refs start with that somebody may go on from */
	json_t *tops;			/* work trees that were looked at */
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
	buf_str(&l->command, l->n > 1 ? " " : "gt-recover wip prune --yes ");
	quote_sh(&l->command, wip_ref_short(ref));
}

/* What git cannot tell is its own affair: `snapshot` says so. */
static void
look_in(struct wip_check *l, const char *dir)
{
	char *top = git_in_work_tree(dir) && json_object_size(l->tops) < PLACES ? wip_top(dir) : NULL;

	if (top != NULL && json_object_get(l->tops, top) == NULL) {
		json_object_set_new(l->tops, top, json_true());
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

static void
check_wip(struct doctor *d)
{
	struct wip_check l = { .now = clock_wall_ms(),
		.needed = json_array(),
		.tops = json_object(),
		.names = BUF_INIT,
		.command = BUF_INIT };
	struct err e = ERR_INIT;

	if (!has_store(d)) {
		;
	} else if (look_around(d, &l, &e) != 0) {
		doctor_report_err(d, VERDICT_ERROR, &e);
	} else if (l.n == 0) {
		doctor_report(d, VERDICT_OK, NULL, "none in %zu work trees", json_object_size(l.tops));
	} else {
		end_names(&l.names, l.n);
		doctor_report(d, VERDICT_NOTE, l.command.data, "%zu unchanged for 30 days: %s",
		    l.n, l.names.data);
	}
	json_decref(l.needed);
	json_decref(l.tops);
	buf_release(&l.names);
	buf_release(&l.command);
}

const struct doctor_check doctor_state_checks[] = {
	{ "State", "directory", "owner and permissions of the state directory", check_state_dir },
	{ "State", "disk", "its file system and free space", check_state_disk },
	{ "State", "containers", "records of processes in other containers", check_containers },
	{ "State", "sqlite", "print the version of the library", check_sqlite },
	{ "State", "store", "opens it; integrity_check and every checksum", check_store },
	{ "State", "backup", "the newest copy of the store, its age, the same checks", check_backup },
	{ "State", "size", "size, age of the oldest event, growth", check_size },
	{ "State", "records", "consistency of the records", check_rules },
	{ "State", "events", "events.jsonl compared with the store", check_events },
	{ "State", "attempts", "unfinished recoveries", check_open_attempts },
	{ "State", "quarantine", "quarantined sessions", check_quarantine },
	{ "State", "prompts", "undelivered prompts", check_prompts },
	{ "State", "spool", "hook reports not yet in the store", check_spool },
	{ "State", "epics", "interrupted epics", check_epics },
	{ "State", "wip", "old refs of uncommitted work", check_wip },
	{ .group = NULL },
};
