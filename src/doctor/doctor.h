#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include "detect/detect.h"
#include "records/recovery/recovery.h"

struct doctor;

/*
 * Checks whether recovery would work. Reads only; the one program of ours that it starts is the
 * installed timer's own command line with --dry-run. Each doctor_*.c ends with the table of its
 * checks. Sentences may hold foreign names and paths: escape them before printing.
 */
enum verdict {
	VERDICT_OK,
	VERDICT_NOTE,			/* worth knowing, nothing to do */
	VERDICT_WARNING,		/* something works less well than it could */
	VERDICT_ERROR,			/* something that is asked for does not work */
	VERDICT_SKIPPED			/* could not be looked at; the sentence says why */
};

struct doctor_check {
	const char *group, *name;
	const char *looked;		/* what is looked at */
	void (*look)(struct doctor *d);	/* one doctor_report or more */
};

struct doctor_finding {
	const struct doctor_check *check;
	enum verdict verdict;
	char *sentence;			/* without a full stop */
	char *hint;			/* what to do, or NULL */
};

struct doctor {
	struct app *w;
	const struct timer *today;	/* what `install timer` would write now; NULL: see no_timer */
	struct err no_timer;
	bool has_tmux;
	int tmux_number;		/* of the tmux in PATH */
	struct candidate_list agents;
	struct store *store;		/* opened read-only, until the group State is done */
	struct err no_store;		/* why there is none; name "not-found": no records yet */
	struct armed_list armed;
	const struct doctor_check *now;
	struct doctor_finding *v;
	size_t n, cap;
};

/* All checks. w and today are borrowed; today may be NULL, no_timer is copied then. */
void doctor_run(struct doctor *d, struct app *w, const struct timer *today, const struct err *no_timer);
/* Settings that cannot be read: that finding, and all others skipped. */
void doctor_refused(struct doctor *d, const struct err *why);
void doctor_release(struct doctor *d);
const char *doctor_verdict_name(enum verdict v);	/* "ok", "note", "warning", "error", "skipped" */
size_t doctor_count(const struct doctor *d, enum verdict v);

#endif
