#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "detect/detect.h"
#include "records/recovery/recovery.h"

struct app;
struct doctor;
struct store;
struct timer;

/*
 * Looks whether recovery would work: settings, town, state, tmux, agents, snapshots and their
 * timer. Reads only, nothing is made or changed anywhere; the one program of ours that it starts
 * is the installed timer's own command line with --dry-run.
 *
 * doctor.c holds the table of checks, one line each; the files doctor_*.c hold the checks of one
 * group. A check tells what it found by doctor_report, once or several times. Sentences may hold
 * foreign names and paths: escape them before printing.
 */
enum verdict {
	VERDICT_OK,
	VERDICT_NOTE,			/* worth knowing, nothing to do */
	VERDICT_WARNING,		/* something will work less well than it could */
	VERDICT_ERROR,			/* something that is asked for does not work */
	VERDICT_SKIPPED			/* could not be looked at; the sentence says why */
};

struct doctor_check {
	const char *group, *name;
	const char *looked;		/* what is looked at */
	void (*look)(struct doctor *d);
};

struct doctor_finding {
	const struct doctor_check *check;
	enum verdict verdict;
	char *sentence;			/* without a full stop */
	char *hint;			/* what to do; NULL: nothing */
};

struct doctor {
	struct app *w;
	const struct timer *today;	/* what `install timer` would write now; NULL: see no_timer */
	struct err no_timer;
	bool has_tmux;
	struct candidate_list agents;
	/* for reading alone (store_open_readonly), until the group State is done */
	struct store *store;
	struct err no_store;		/* why there is none; name "not-found": no records yet */
	struct armed_list armed;
	const struct doctor_check *now;
	struct doctor_finding *v;
	size_t n, cap;
};

/*
 * All checks. `w` is lent, `today` may be NULL, `no_timer` is copied then. Never fails: what
 * cannot be looked at is a finding.
 */
void doctor_run(struct doctor *d, struct app *w, const struct timer *today, const struct err *no_timer);
/* Settings that cannot be read: that finding, and all others skipped. */
void doctor_refused(struct doctor *d, const struct err *why);
void doctor_release(struct doctor *d);
const char *doctor_verdict_name(enum verdict v);	/* "ok", "note", "warning", "error", "skipped" */
size_t doctor_count(const struct doctor *d, enum verdict v);

/* For the checks. hint may be NULL and is copied. */
void doctor_report(struct doctor *d, enum verdict v, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* An error as a finding, with its hint. */
void doctor_report_err(struct doctor *d, enum verdict v, const struct err *e);
/* An agent runs in its pane, whether it was given its context or not; how many of those there are. */
bool doctor_is_live(const struct candidate *c);
size_t doctor_live(const struct doctor *d);

/* doctor_settings.c */
void doctor_gt_toml(struct doctor *d);
void doctor_patrol(struct doctor *d);
void doctor_template(struct doctor *d);
void doctor_scrub_rules(struct doctor *d);
/* doctor_town.c */
void doctor_town_root(struct doctor *d);
void doctor_town_rigs(struct doctor *d);
void doctor_town_beads(struct doctor *d);
void doctor_town_halt(struct doctor *d);
/* doctor_state.c */
void doctor_state_dir(struct doctor *d);
void doctor_state_disk(struct doctor *d);
void doctor_sqlite(struct doctor *d);
void doctor_store(struct doctor *d);
void doctor_containers(struct doctor *d);
void doctor_backup(struct doctor *d);
void doctor_rules(struct doctor *d);
void doctor_events(struct doctor *d);
/* doctor_left.c */
void doctor_open_attempts(struct doctor *d);
void doctor_quarantine(struct doctor *d);
void doctor_prompts(struct doctor *d);
/* doctor_tmux.c */
void doctor_tmux(struct doctor *d);
void doctor_servers(struct doctor *d);
void doctor_history(struct doctor *d);
void doctor_armed(struct doctor *d);
void doctor_exposed(struct doctor *d);
/* doctor_agents.c */
void doctor_crashed(struct doctor *d);
void doctor_programs(struct doctor *d);
void doctor_pid_files(struct doctor *d);
void doctor_transcripts(struct doctor *d);
void doctor_retention(struct doctor *d);
/* doctor_hooks.c */
void doctor_hooks(struct doctor *d);
void doctor_other_hooks(struct doctor *d);
void doctor_spool(struct doctor *d);
void doctor_epics(struct doctor *d);
void doctor_foreign_keys(struct doctor *d);
/* doctor_wip.c */
void doctor_wip(struct doctor *d);
/* doctor_snapshots.c */
void doctor_snapshot_dir(struct doctor *d);
void doctor_fresh(struct doctor *d);
/* doctor_timer.c */
void doctor_timer_there(struct doctor *d);
void doctor_timer_period(struct doctor *d);
void doctor_timer_words(struct doctor *d);
void doctor_timer_runs(struct doctor *d);
void doctor_timer_bare(struct doctor *d);
/* doctor_boot.c */
void doctor_timer_boot(struct doctor *d);

/*
 * Pure. Whether what a live pane shows is kept. A pane that has not changed gets no new snapshot,
 * so that an old one may be fine: what counts is output that stood there for `patience` ms, and
 * that no pass has seen. Times in ms since 1970, newest 0: there is no snapshot.
 */
enum freshness { FRESHNESS_FRESH, FRESHNESS_STALE, FRESHNESS_NEVER };
struct pane_times {
	int64_t now, patience, created, activity, newest;
	bool same;			/* as the last pass saw it */
};
enum freshness doctor_freshness(const struct pane_times *t);

/* Pure. What is known of a version of tmux ("3.3a", "next-3.4"), one sentence a fault to `tell`; how many. */
size_t doctor_tmux_faults(
    const char *version, void (*tell)(void *arg, enum verdict v, const char *sentence), void *arg);

#endif
