#ifndef CMD_EPIC_H
#define CMD_EPIC_H

struct epic;
struct epics;
struct err;
struct moment;
struct verb_job;

/* The verbs of `epic`, in several files: exit status, or -1 with err. */
int epic_inspect(struct verb_job *j, struct err *e);
int epic_export(struct verb_job *j, struct err *e);
int epic_import(struct verb_job *j, struct err *e);
int epic_resume(struct verb_job *j, struct err *e);
int epic_abandon(struct verb_job *j, struct err *e);

/* Asks, unless --yes was given, and deletes. */
int epic_abandon_one(struct verb_job *j, const struct epic *x, struct err *e);

/* One epic, or all that are not completed (id NULL), and the store's time. epics_release in any case. */
int epic_read(struct verb_job *j, const char *id, struct epics *out, struct moment *now, struct err *e);
/* Says that the store answered. */
void epic_greet(struct verb_job *j);
double epic_threshold(const struct verb_job *j);

#endif
