#ifndef REVIVE_REMAKE_H
#define REVIVE_REMAKE_H

#include <stdbool.h>

struct candidate;
struct err;
struct pane;
struct respawn;
struct world;

/*
 * A session that is missing, made again.
 *
 * In a town that has gt, a polecat's session is gt's to make (`gt session start RIG/NAME`: environment, hooks, work): remake_by_gt. Everywhere else
 * it is a new session of the same name, directory and size, which tmux gives to one of several racers only; the tmux server is started when none runs. Its
 * command is that of respawn.h, so that the prompt goes in by standard input; through a login shell, since
 * the server may have been started by one of us with cron's bare environment (T9), now or some sessions ago. The second agent of a session that another recovery made again gets a window in it.
 */
bool remake_by_gt(const struct world *w, const struct candidate *c);

/*
 * Is there still no such session, and no such process? Name "changed" (GT_AGAIN) otherwise.
 */
int remake_check(struct world *w, const struct candidate *c, struct err *e);

/*
 * Makes the session; *born is its pane (pane_release). remain-on-exit is set on it, so that an agent that dies at once leaves its words;
 * what was there before is "". Names: "taken" (GT_AGAIN: somebody was faster), "gone" (it ended at once), those of tmux/client.h.
 */
int remake_session(struct world *w, const struct candidate *c, const struct respawn *how, struct pane *born, struct err *e);
/* Lets gt do it. Names: "gt" (it failed; its words), "gone" (no session of that name came up). */
int remake_gt(struct world *w, const struct candidate *c, struct pane *born, struct err *e);

/* The pane that an attempt made for this candidate, if it is there. 1 found, 0 not, -1 err. */
int remake_find(struct world *w, const struct candidate *c, const char *recovery_id, struct pane *born, struct err *e);

#endif
