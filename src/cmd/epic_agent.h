#ifndef CMD_EPIC_AGENT_H
#define CMD_EPIC_AGENT_H

struct candidates;
struct epic;
struct err;
struct session;
struct verb_job;

/*
 * The session (ledger/session.h) of an agent that is to come back, SUSPENDED: as it is recorded, else by the key start_command, which one that
 * was made by it follows until it has a conversation. agent: by what id the ledger knows it. all: what detect found; of one whose process
 * nobody noted it tells whether an agent lives where it worked.
 *
 * 1; 0: it runs already; -1: "not-startable", "ended", "elsewhere", "there" (all GT_REFUSED), or those of session_suspend. Nothing is suspended
 * then. *out is released by the caller in any case.
 */
int epic_agent(struct verb_job *j, const struct epic *x, const struct candidates *all, const char *agent, struct session *out, struct err *e);

#endif
