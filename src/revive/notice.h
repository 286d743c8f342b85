#ifndef REVIVE_NOTICE_H
#define REVIVE_NOTICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct candidate;
struct recovery;
struct world;

/*
 * Telling somebody that recoveries failed: one mail for all that failed since the last one (a tmux server that takes fifty sessions with it is
 * one mail), and one for a crash, however many passes fail with it. What it says is kept in the ledger (ledger/sighting.h), so that the mail
 * does not depend on the pane being there still; it is clean text, and never holds scrollback.
 *
 * At least once: that a mail is owed is committed when the recovery fails, each try before it is made, and that it was sent right after the
 * mailer has ended with status 0. Killed between the two, the next pass sends it again and says in it that it may be a repetition. The other
 * order would lose the only word of a failure that nobody looks at. A mailer that fails is tried by the next NOTICE_TRIES - 1 passes.
 */
#define NOTICE_TRIES 5

/* Whether there is anybody to tell: a town, or a command of [recovery.mail]. */
bool notice_possible(const struct world *w);

/* Notes the crash; *fresh: it is told for the first time. Makes the store. */
int notice_crash(struct world *w, const struct candidate *c, bool *fresh, struct err *e);
/*
 * One recovery has ended: e tells how. Owes a mail for a failure, and takes back one that is owed when the agent is back after all. What another run
 * or Gas Town came in between of (GT_AGAIN, "gone") is neither.
 */
int notice_ended(struct world *w, const struct recovery *one, const struct err *how, struct err *e);
/* The same for a crash that a guard refuses, by the guard's name and its words; only "quarantined" is a failure. */
int notice_refused(struct world *w, const struct candidate *c, const char *name, const char *sentence, const char *hint, struct err *e);

struct notice {
	size_t owed;			/* crashes that the mail is about */
	bool sent;
	size_t given_up;		/* of them, after the last try */
};
/* Whether anything is owed; opens no new store. */
bool notice_owed(struct world *w);
/* Sends it. 0 also when nothing was owed. -1: the names of mail_send, and those of the store; a mail that cannot be noted is not sent. */
int notice_send(struct world *w, struct notice *out, struct err *e);

#endif
