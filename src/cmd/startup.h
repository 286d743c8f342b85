#ifndef CMD_STARTUP_H
#define CMD_STARTUP_H

#include <jansson.h>

struct run_recovery;
struct say;
struct startup;

/* What the command and patrol share: how a startup (revive/startup.h) is told. */

/* What was changed, a line a part; nothing when all was true. */
void startup_tell(struct say *s, const struct run_recovery *how, const struct startup *x);

/* New reference. */
json_t *startup_json(const struct run_recovery *how, const struct startup *x);

#endif
