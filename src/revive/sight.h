#ifndef REVIVE_SIGHT_H
#define REVIVE_SIGHT_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/ready.h"
#include "base/buf.h"

struct err;
struct pane;
struct profile;
struct tmux;

/*
 * One look at a living agent's screen: does it wait for input, and what stands in its box? By its text (agent/ready.h) and by what only
 * colours and the cursor tell: words that the program itself puts into an empty box are grey, and the cursor stands in front of them
 * (Claude Code 1.0.128 to 2.1.330: hints, and guesses at what the person may say next; codex 0.98.0: other hints each time). A person's own
 * words are neither.
 */
struct sight {
	enum ready says;
	const char *dialog;	/* READY_DIALOG: its name, the profile's; else NULL */
	struct buf text;	/* the screen, with `rows` rows of history above it, without colours; foreign */
	pid_t pid;		/* of the pane now: the one that is known may be that of before a respawn */
	bool over;		/* the pane is dead or gone; the rest says nothing then */
	bool marked;		/* the pane says that the prompt of this recovery was pasted into it (SIGHT_MARK) */
};

/*
 * An option of the pane that is set in one breath with a paste, to the recovery's id: where it is missing, nothing was pasted. It lives as
 * long as the pane, and not longer than its server.
 */
#define SIGHT_MARK "@gt_recover_pasted"

/* Where the cursor stands: column and row of the screen, which is `height` rows high. */
struct sight_cursor {
	int x, y, height;
};

/* Pure: s->text as `capture-pane -e` gave it, whose colours are taken out; fills in the rest but `over` and `marked`. */
void sight_read(struct sight *s, const struct profile *profile, const struct sight_cursor *at);

/* -1 as batch_run. sight_release in any case. */
int sight_take(struct tmux *t, const struct pane *p, const struct profile *profile, const char *recovery_id, int rows, struct sight *out,
    struct err *e);
void sight_release(struct sight *s);

#endif
