#ifndef DOCTOR_DOCTOR_PRIVATE_H
#define DOCTOR_DOCTOR_PRIVATE_H

#include "doctor/doctor.h"

/* In the order of the answer; each ends with a row without a group. */
extern const struct doctor_check doctor_settings_checks[], doctor_state_checks[], doctor_tmux_checks[],
    doctor_agents_checks[], doctor_snapshots_checks[], doctor_timer_checks[];

/* hint may be NULL and is copied. */
void doctor_report(struct doctor *d, enum verdict v, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* An error as a finding, with its hint. */
void doctor_report_err(struct doctor *d, enum verdict v, const struct err *e);
/* An agent runs in its pane, with or without its context; how many of those there are. */
bool doctor_is_live(const struct candidate *c);
size_t doctor_live(const struct doctor *d);

/* The executable of that name in a list of directories as in PATH (may be NULL); heap or NULL. */
char *doctor_find_program(const char *path, const char *name);
/* The path, or the nearest directory above it that exists; heap. */
char *doctor_existing_path(const char *path);
/* Bytes that this user may still write there; -1: unknown. */
int64_t doctor_free_bytes(const char *path);
/* Regular files of a directory that others may read or that another user owns; none: 0. */
size_t doctor_open_files(const char *dir);

/*
 * Pure. Is what a live pane shows in a snapshot? A pane that has not changed gets no new one, so
 * only output counts that stood there for `patience` ms and that no pass has seen. Times in ms
 * since 1970; newest 0: no snapshot.
 */
enum freshness { FRESHNESS_FRESH, FRESHNESS_STALE, FRESHNESS_NEVER };
struct pane_times {
	int64_t now, patience, created, activity, newest;
	bool same;			/* as the last pass saw it */
};
enum freshness doctor_freshness(const struct pane_times *t);

/* Pure. The faults of a version of tmux ("3.3a", "next-3.4"), a sentence each to `tell`; how many. */
size_t doctor_tmux_faults(
    const char *version, void (*tell)(void *arg, enum verdict v, const char *sentence), void *arg);

#endif
