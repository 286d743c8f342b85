#ifndef REVIVE_RECOVER_H
#define REVIVE_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ledger/attempt.h"
#include "revive/gather.h"
#include "tmux/pane.h"

struct candidate;
struct resume_no;
struct session;
struct store;
struct world;

/*
 * The whole way for one candidate, as a table of steps. The attempt's phase is committed before each side effect, so that a recoverer that
 * dies anywhere is taken up by the next: look first, never deliver twice.
 */
enum told {
	TOLD_CAPTURED,		/* context on disk: lines, exchanges, last action, bead are in gathered */
	TOLD_STARTING,
	TOLD_STARTED,		/* the agent's process is there */
	TOLD_INJECTED,		/* a user message with our id stands in its transcript */
	TOLD_RESUMING,		/* an assistant message follows it */
	TOLD_PASTING,		/* the start command ate the prompt: one paste, same id */
	TOLD_WAITING		/* waiting_for, waited_ms */
};

/* Of the pane; of the conversation that the record of its process names; of the one that was found. */
enum { LOCK_PANE, LOCK_RECORD, LOCK_FOUND, LOCKS };

struct recovery {
	struct world *w;
	const struct candidate *c;
	const struct pane *pane;	/* where the agent is looked for: the candidate's, or born */
	bool named, include_infra;
	const char *scope;		/* --scope; NULL: key scope */
	const char *via;		/* --via; NULL: key via */
	/* NULL, or in the place of gathering: fills gathered and its prompt; the attempt's via is "restart" then */
	int (*words)(struct recovery *r, struct err *e);
	const struct session *agent;	/* the ledger's, whose session it is; NULL: looked up (revive/adopt.h) */
	void (*tell)(struct recovery *r, enum told what, void *arg);
	void *arg;

	/* answers */
	struct attempt attempt;
	struct gathered gathered;	/* empty when an earlier attempt was taken up after its respawn */
	bool resumed;			/* it goes on with its own conversation */
	const struct resume_no *not_resumed;	/* why it does not, though it was to, or might (revive/resume.h); NULL: nothing */
	bool taken_up;			/* an earlier recoverer's attempt, not a new one */
	const char *waiting_for;
	int64_t waited_ms;

	/* inside */
	struct store *store;
	struct { char *path; int fd; } locks[LOCKS];
	char *prompt_path;
	struct pane born;		/* of a missing session that was made again */
	bool begun;			/* an earlier recoverer was about to start the agent when it died */
	bool started, injected;		/* told already */
};

/*
 * 0: acknowledged, attempt.proof says by what. -1 with err; code GT_UNACKED (delivered, no answer in time), GT_REFUSED
 * (name of the guard), GT_AGAIN (locked, taken, changed), GT_FAIL. recovery_release in any case.
 */
int recover(struct recovery *r, struct err *e);
void recovery_init(struct recovery *r, struct world *w, const struct candidate *c);
void recovery_release(struct recovery *r);

#endif
