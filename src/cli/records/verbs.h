#ifndef CLI_RECORDS_VERBS_H
#define CLI_RECORDS_VERBS_H

#include "cli/cli.h"
#include "epic/epic.h"

struct run_recovery;
struct run_report;

/* ---- checkpoint ---- */

/*
 * What `checkpoint` and `epic signal` share: the JSON object on standard input, checked, without
 * its secrets, committed.
 */
int cmd_checkpoint_commit(struct verb_job *j, const char *command, enum checkpoint_kind shape, struct err *e);

/* ---- run ---- */

/* What `run recover` and startup share. */

/* --mode and --threshold, else [recovery.runs] and the environment; --dry-run. -1: GT_USAGE. */
int cmd_run_recovery_read(const struct cli *cli, const struct config *c, struct run_recovery *how,
    struct err *e);

/*
 * Told at the level that seed S4 gives each outcome: info, or debug when there was nothing to do,
 * a warning in mode all.
 */
void cmd_run_recovery_report(struct cli_output *s, const struct run_recovery *how,
    const struct run_report *r);

/* The object "recovered": the seed's counts of that mode. New reference. */
json_t *cmd_run_recovery_json(const struct run_recovery *how, const struct run_report *r);

#endif
