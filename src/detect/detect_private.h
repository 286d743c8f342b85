#ifndef DETECT_DETECT_PRIVATE_H
#define DETECT_DETECT_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "detect/detect.h"
#include "transcript/transcript.h"

struct app;
struct candidate;
struct candidate_list;
struct gone_index;
struct snapshot;

/* ---- assigned ---- */

/*
 * Polecats of the town that have work on their hook, a directory, and no session: class `missing`
 * where no snapshot tells of them (fact gas-town 0.1: gt keeps no dead pane, so that this is what
 * a crash looks like in a stock town). The conversation is the last one that the town's log names
 * (gastown/gastown.h). Only `gt session start`, or a command of gt.toml, can bring such a
 * one back.
 *
 * Appended to out, which must hold everything else. Nothing is concluded when a tmux server of
 * the app does not list to gone_index_add_server. The beads are asked, at most once for a
 * polecat without a session; what cannot be read is no hooked work.
 */
void detect_assigned(struct gone_index *m, struct candidate_list *out);

/* ---- crash_reason ---- */

/* ---- gone ---- */

/*
 * Appends the agents whose sessions are gone, class `missing`, as the snapshots and the ledger know them.
 *
 * A session is missing when its server was asked (or does not run) and has none of that name, the
 * pane is not elsewhere on that server, and the agent's process is gone; where that process still
 * runs the candidate is `unknown`. Of a server that died all agents' panes are missing that its
 * last pass had seen, so a session may come back with several; of a session that ended while its
 * server lived the newest pane alone. What ended while its server lived was ended on purpose,
 * REASON_STOPPED, unless it left the record of a killed agent (agent/agent.h, which the
 * next start of any agent removes), or its transcript lacks its leave (transcript/transcript.h)
 * and no pane stood there dead before. But a polecat's session does not count as ended on
 * purpose, since gt removes every session that has died (gas-town 0.1): its work decides. An
 * agent that a recovery of ours had started and no pass saw afterwards (detect_private.h) is missing when
 * its transcript lacks its leave, or its server died.
 */
void detect_gone(struct gone_index *m, struct candidate_list *out);

/* ---- restarted ---- */

/*
 * A live agent: is it `respawned`, begun afresh after the one before it had crashed, and never
 * given its context? Class, reason, snapshot, lost_id and the place are set then. All of these
 * must hold:
 *
 * 	its own record names a conversation, another one than the lost one, and its start command
 * 	resumes none
 * 	it was not started, or told, by a recovery
 * 	the lost one's process is gone, and its transcript is there
 * 	in a town: two starts of this actor without a handoff, or the like, between
 * 	(gastown/gastown.h), and the process is younger than the first
 * 	elsewhere: its pane's start command runs the agent, so that no person typed it; its pane's
 * 	process is another than the snapshot's; the snapshot is
 * 	of an agent that was dead and had not said good-bye (its transcript does not end with the
 * 	record of a graceful exit), or of a living one whose
 * 	server died, with its pane in it still by the last pass: a session that was closed before that
 * 	was ended on purpose
 */
void detect_restarted(struct gone_index *m, struct candidate *c);

/* ---- unsnapshotted ---- */

/*
 * What no snapshot tells of an agent whose session is gone: a recovery of ours started it, and it
 * ended before a pass saw it, or before its process could be asked for its conversation. The
 * ledger knows of the start, and the transcript in which the recovery's id stands how it ended.
 */
struct unsnapshotted {
	/* of the newest attempt that started an agent there; NULL: none is known, and nothing else is set */
	char *id;
	bool later;		/* that was after the snapshot */
	bool answered;		/* the attempt was for what the snapshot shows, and it was acknowledged */
	bool lives;		/* a process is known that goes on with it */
	/* the conversation in which it was told, or that it began untold; NULL: none is known */
	char *session_id;
	enum exit_kind parting;	/* of that */
	int64_t began;		/* when the attempt started it, ms since 1970 */
	int64_t alive_at;	/* when it certainly lived, ms since 1970 */
	int64_t server_pid, server_start;	/* where; 0: on the server that ran then */
};

#endif
