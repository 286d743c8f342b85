#ifndef CMD_RUN_H
#define CMD_RUN_H

#include <jansson.h>

struct cli;
struct config;
struct err;
struct run_recovery;
struct run_report;
struct say;

/* What `run recover` and startup share. */

/* --mode and --threshold, else [recovery.runs] and the environment; --dry-run. -1: GT_USAGE. */
int run_recovery_read(const struct cli *cli, const struct config *c, struct run_recovery *how, struct err *e);

/* Told at the level that seed S4 gives each outcome: info, or debug when there was nothing to do, a warning in mode all. */
void run_recovery_tell(struct say *s, const struct run_recovery *how, const struct run_report *r);

/* The object "recovered": the seed's counts of that mode. New reference. */
json_t *run_recovery_json(const struct run_recovery *how, const struct run_report *r);

#endif
