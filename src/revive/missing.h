#ifndef REVIVE_MISSING_H
#define REVIVE_MISSING_H

struct candidates;
struct memory;

/*
 * Appends the agents whose sessions are gone, class `missing`, as the snapshots and the ledger know them.
 *
 * A session is missing when its server was asked (or does not run) and has none of that name, the pane is not elsewhere on that server, and the
 * agent's process is gone; where that process still runs the candidate is `unknown`. Of a server that died all agents' panes are missing that
 * its last pass had seen, so a session may come back with several; of a session that ended while its server lived the newest pane alone.
 * What ended while its server lived was ended on purpose, REASON_STOPPED, unless it left the record of a killed agent (agent/session_file.h, which
 * the next start of any agent removes), or its transcript lacks its leave (context/parting.h) and no pane stood there dead before. But
 * a polecat's session does not count as ended on purpose, since gt removes every session that has died (gas-town 0.1): its work decides.
 * An agent that a recovery of ours had started and no pass saw afterwards (unseen.h) is missing when its transcript lacks its leave, or its server died.
 */
void missing(struct memory *m, struct candidates *out);

#endif
