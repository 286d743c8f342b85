#ifndef CMD_EPIC_H
#define CMD_EPIC_H

#include <stdbool.h>

struct epic;
struct epic_sprint;
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
/* Where the paths of a sprint start: an agent's workspace, else the epic's. Heap, NULL: nobody knows. */
char *epic_workspace(struct verb_job *j, const struct epic *x, const struct epic_sprint *one);
/* Asks git on which refs the work of open sprints is committed, of interrupted epics or of all. */
void epic_find_wips(struct verb_job *j, struct epics *list, bool all);
/* Says that the store answered. */
void epic_greet(struct verb_job *j);
double epic_threshold(const struct verb_job *j);

#endif
