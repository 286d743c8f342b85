#ifndef REVIVE_RECORDED_H
#define REVIVE_RECORDED_H

struct candidates;
struct err;
struct world;

/*
 * What detect and detect_lines find, and behind it the agents that only the ledger knows (ledger/session.h): SUSPENDED, or ACTIVE without
 * a living process, of this host, and no pane, snapshot or hooked work tells of them. Class missing, by name, with `record`; restart_recorded brings them
 * back. Unknown is not dead: the class is unknown where the record names no process of an ACTIVE one, where the tmux server does not answer,
 * or where a session of its name is there.
 *
 * For people who ask: whoever suspended an agent may want it suspended, so that it comes back when somebody names it, or after a restart by
 * startup, and by no other pass. One whose record does not tell how it is started (restart_candidate) is left out. tmux is asked once more
 * only where there is such an agent; then a server that does not run is no error.
 */
int recorded_detect(struct world *w, struct candidates *all, struct err *e);

#endif
