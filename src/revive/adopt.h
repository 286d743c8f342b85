#ifndef REVIVE_ADOPT_H
#define REVIVE_ADOPT_H

struct recovery;

/*
 * An agent that was brought back may be one of the ledger's (ledger/session.h), recorded with the tmux session that it runs in: then its
 * session is ACTIVE again, with the new process and, where the transcript told, the conversation. Otherwise startup would take it for one that
 * is gone. Of several recorded in one tmux session it is the one whose conversation was found; where that does not tell it is none.
 * What cannot be noted is no reason to call the recovery a failure: startup finds the agent by its pane (restart.h).
 */
void adopt(struct recovery *r);

#endif
