#ifndef REVIVE_AWAIT_H
#define REVIVE_AWAIT_H

#include "revive/recover.h"

/*
 * The waiting half of a recovery: from the start of an agent until its own record shows our id and an answer after it, and the ways in
 * which an attempt ends.
 */

/*
 * Step "verify". Looks at the agent until the proof is there, and pastes once when the start command ate the prompt. Errors: "died",
 * "login", "model-error", "gone", "no-proof"; at the end of the timeouts "dialog", "draft", "not-ready", "unacknowledged"; "interrupted".
 */
int await_proof(struct recovery *r, struct err *e);

void recovery_tell(struct recovery *r, enum told what);
/* The option that was set on a zombie's pane; before the commit that ends the attempt, so that no crash of ours forgets it. */
void recovery_take_back(struct recovery *r, struct attempt *a);
/* The error "interrupted" of a run that a person stopped. -1. */
int await_stopped(struct err *e);

#endif
