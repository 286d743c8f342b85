#ifndef REVIVE_ADOPT_H
#define REVIVE_ADOPT_H

#include <stdbool.h>
#include <stddef.h>

struct candidate;
struct err;
struct recovery;
struct world;

/*
 * An agent that was brought back may be one of the ledger's (ledger/session.h), recorded with the tmux session that it runs in: then its
 * session is ACTIVE again, with the new process and, where the transcript told, the conversation. Otherwise startup would take it for one that
 * is gone. Of several recorded in one tmux session it is the one whose conversation was found; where that does not tell it is none.
 * What cannot be noted is no reason to call the recovery a failure: startup finds the agent by its pane (restart.h).
 */
void adopt(struct recovery *r);

/*
 * Where several hosts share the store: commits the attempt as respawned together with the claim of that session, so that of this host and one
 * that restores it at the same time one has it. "other-host" (GT_REFUSED): that one. *agent: whose SUSPENDED session became ACTIVE, heap, NULL:
 * none; who does not start it suspends it again (adopt_give_back).
 */
int adopt_respawn(struct recovery *r, char **agent, struct err *e);
void adopt_give_back(struct recovery *r, const char *agent);

/*
 * Startup: of each ACTIVE session whose process is not known, or is no more, that names its tmux session, the agent that lives there now, if it
 * is the only one there and the session the only one that names it, or if it goes on with the recorded conversation. *n: how many have a
 * living process again. tmux is asked only where there is such a session; a server that does not answer knows nobody.
 */
int adopt_living(struct world *w, size_t *n, struct err *e);

/* Whose session alone, of those that have not ended, is recorded with the candidate's tmux session: heap, or NULL. -1 with err. */
int adopt_agent(struct world *w, const struct candidate *c, char **agent, struct err *e);

/*
 * Does the ledger tell of a living process that is this very agent, elsewhere: by its tmux session or its conversation? Whoever took it up
 * (session_restore) may run it in a place of his own. A store that cannot be read tells of none.
 */
bool adopt_elsewhere(struct world *w, const struct candidate *c);
/* The same of another host, by its conversation, or by its tmux session where it was taken over from this one: it is that host's now. */
bool adopt_other_host(struct world *w, const struct candidate *c);

#endif
