#ifndef REVIVE_AFRESH_H
#define REVIVE_AFRESH_H

struct candidate;
struct memory;

/*
 * A live agent: is it `respawned`, begun afresh after the one before it had crashed, and never given its context? Class, reason, snapshot, lost_id
 * and the place are set then. All of these must hold:
 *
 *	its own record names a conversation, another one than the lost one, and its start command resumes none
 *	it was not started, or told, by a recovery
 *	the lost one's process is gone, and its transcript is there
 *	in a town: two starts of this actor without a handoff, or the like, between (town/starts.h), and the process is younger than the first
 *	elsewhere: its pane's start command runs the agent, so that no person typed it; its pane's process is another than the snapshot's; the snapshot is
 *	of an agent that was dead and had not said good-bye (its transcript does not end with the record of a graceful exit), or of a living one whose
 *	server died, with its pane in it still by the last pass: a session that was closed before that was ended on purpose
 */
void afresh(struct memory *m, struct candidate *c);

#endif
