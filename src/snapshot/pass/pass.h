#ifndef SNAPSHOT_PASS_PASS_H
#define SNAPSHOT_PASS_PASS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "snapshot/snapshot.h"

struct app;
struct candidate;
struct candidate_list;
struct clean_text;
struct conversation;
struct err;
struct scrub;

/* ---- pass ---- */

/*
 * One pass of snapshots (snapshot/snapshot.h) over all agents' panes, for cron: live ones, and
 * dead ones for as long as they stand. A server costs one tmux process for the list; where
 * something changed one for the environments of the changed panes, and one batch of captures.
 * Panes that are as the last pass saw them (snapshot/snapshot.h) are not captured again and
 * cost no write; of a capture that tells the same as the newest snapshot none is written either.
 *
 * A good one is never lost to a poorer one: an empty screen makes no snapshot when there is one,
 * and one of less than half the text refers to the richer one of the same process, which is kept
 * and read with it. One pane that fails does not stop the others. One pass at a time.
 *
 * A dead pane that would end its server when somebody looks at it (tmux/tmux.h, pane_exposed) is
 * reset once its snapshot is durable, and not captured again: the snapshot is its screen from
 * then on. Without a snapshot it is left as it is.
 */
enum snapshot_status {
	SNAP_TAKEN,		/* written */
	SNAP_SAME,		/* nothing had changed */
	SNAP_KEPT,		/* the pane is empty now: the older one stays */
	SNAP_WANTED,		/* --dry-run: would be looked at */
	SNAP_FAILED
};

struct snapshot_result {
	enum snapshot_status how;
	char *session, *socket, *pane;	/* foreign: escape them */
	char *file;			/* the pane's newest snapshot; NULL: none */
	size_t rows;			/* of what was taken */
	struct err error;		/* SNAP_FAILED */
};

struct snapshot_pass {
	struct snapshot_result *v;
	size_t n, cap;
	size_t removed;			/* old ones */
	size_t servers;			/* that answered */
	struct err trouble;		/* the first server that is there and did not; code 0: none */
	/* which dead pane that ends the server when looked at was not reset, and why; code 0: all were */
	struct err exposed;
};

struct snapshot_request {
	const char *const *names;	/* sessions or panes; n 0: all */
	size_t n;
	bool exposed;			/* only dead panes that are to be reset */
	bool dry_run;			/* nothing is captured and nothing written */
};

/*
 * 0 also when single panes failed or there was nothing to do. A name that no agent's pane has is
 * a failed result "unknown-session" (GT_NOTHING). -1: "locked" (another pass is at work),
 * "unwritable", no scrub rules, no processes to look at.
 */
int snapshot_pass(struct app *w, const struct snapshot_request *ask, struct snapshot_pass *out,
    struct err *e);
void snapshot_pass_release(struct snapshot_pass *r);
const char *snapshot_status_name(enum snapshot_status how); /* "taken", "unchanged", "kept", "wanted",
    "failed" */

/*
 * What detect finds. An agent's dead pane that would end its tmux server when somebody looks at
 * it is kept and reset first, unless app.look_only; why one was left as it is stands in
 * out->exposed.
 */
int snapshot_detect(struct app *w, struct candidate_list *out, struct err *e);

/*
 * Keeps what is known of the agents in their panes (seen_agent in records/recovery/recovery.h): one
 * commit for all of them, none when nothing is new. Living ones with their own start command and
 * conversation, dead ones with the time at which they were first seen so. Nothing where app.dry or
 * app.look_only. -1 with err: the store cannot be written.
 */
int snapshot_note_agents(struct app *w, const struct candidate_list *list, struct err *e);

/*
 * Whether an agent has started or ended since the last call that said so: by the processes of those
 * that are known, and by the pid files that Claude Code keeps. No tmux server is asked. For a pass that
 * looks at agents often.
 */
bool snapshot_agents_changed(struct app *w);

/* ---- lookup ---- */

/*
 * What the snapshots remember of a candidate. Its own is the one by which it was found
 * (candidate.snapshot), else the newest of the same pane of the same life of the server, while
 * the same process was the pane's. Where there is none, the newest of a session of this name on
 * this socket, of an older life of the server and not newer than the death.
 */
struct snapshot_lookup {
	bool found;
	bool own;			/* of this very process: what it says of it holds */
	struct snapshot snapshot, base;	/* base: session NULL when there is none */
};

/*
 * out need not be initialised. 0 also when there is none; -1: the directory or the newest one
 * cannot be read, out is empty.
 */
int snapshot_lookup(
    struct app *w, const struct candidate *c, struct scrub *s, struct snapshot_lookup *out, struct err *e);
void snapshot_lookup_release(struct snapshot_lookup *r);

/*
 * Does it have what the others lack? Pure. Of its own: its text does not stand in the pane any
 * more (cut, cleared, wiped, or drawn on the alternate screen), and the transcript was not read,
 * or is cut, or has nothing newer. Of an older life: nothing else is there at all.
 */
bool snapshot_lookup_adds(const struct snapshot_lookup *r, const struct clean_text *pane,
    const struct conversation *screen, const struct conversation *record);
/* Its rows as a conversation, those of its base before it. */
void snapshot_lookup_read(const struct snapshot_lookup *r, const char *grammar, struct conversation *out);

/* Sets snapshot_lines of the crashed ones. What cannot be read counts as none. */
void snapshot_lookup_lines(struct app *w, struct candidate_list *list);

#endif
