#ifndef REVIVE_CANDIDATE_H
#define REVIVE_CANDIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/launch.h"
#include "agent/session_file.h"
#include "tmux/pane.h"
#include "town/town.h"

struct profile;
struct session;
struct tmux;

/* An agent's pane, or what is known of one that is gone: what became of its agent, and what it takes to bring it back. */
enum class {
	CLASS_DEAD,		/* the pane's process ended and tmux kept the pane */
	CLASS_ZOMBIE,		/* the agent is gone, a shell is left in the pane */
	CLASS_RESTORED,		/* an empty session that was brought back (tmux-resurrect): a snapshot knows its agent */
	CLASS_MISSING,		/* the session is gone; a snapshot, hooked work or the ledger knows it. There is no pane */
	CLASS_RESPAWNED,	/* the agent lives, but was started after the work was begun and never given its context */
	CLASS_LIVE,
	CLASS_UNKNOWN
};
enum reason {
	REASON_NONE, REASON_EXITED, REASON_KILLED, REASON_OOM, REASON_SERVER_EXIT, REASON_PROCESS_DIED, REASON_STOPPED, REASON_LIMIT,
	REASON_UNKNOWN
};

const char *class_name(enum class c);		/* "dead", "zombie", "restored", "missing", "respawned", "live", "unknown" */
/* "exited", "killed", "oom", "server_exit", "process_died", "stopped", "limit", "unknown"; "" for none */
const char *reason_name(enum reason r);
bool class_crashed(enum class c);	/* there is something to bring back: all but live and unknown */
bool class_has_shell(enum class c);	/* an idle shell stands in the agent's pane: zombie, restored */
bool class_has_pane(enum class c);	/* all but missing */

struct candidate {
	struct pane pane;
	const struct profile *profile;	/* never NULL; lives in world */
	struct role_name role;
	enum class class;
	enum reason reason;
	bool weak;			/* one sign alone says that an agent ran here, and signs deceive */
	const char *doubt;		/* for unknown: a sentence; "" otherwise */
	size_t lines;			/* of scrollback and screen; dead and zombie panes only */
	size_t snapshot_lines;		/* of the newest snapshot that is its own; 0: none, or nobody looked (recall_lines) */
	int64_t crashed_at;		/* ms since 1970; 0 unknown */
	int64_t began;			/* missing: when the process that died had begun; 0 unknown */
	struct launch launch;		/* what would be started; command NULL: not known */
	char *cwd;			/* where the agent worked */
	char *config_dir;		/* of the agent (~/.claude by its own HOME); NULL for agents without one */
	struct session_file note;	/* of the agent that died; session_id NULL: none */
	pid_t agent_pid;		/* live, respawned: its process */
	char *snapshot;			/* missing, restored, respawned: the snapshot (context/album.h) of the agent that died; NULL: none */
	char *lost_id;			/* respawned: the conversation that it was not given; missing: its last one; NULL: only the snapshot tells */
	char *started_by;		/* missing: the attempt that had started it since the snapshot; NULL: none */
	char *after;			/* missing: the attempt that had brought it back since the snapshot, acknowledged; NULL: none */
	struct town_list carried;	/* variables that its command set and the snapshot did not keep: the new agent gets ours */
	struct session *record;		/* missing, unknown: the ledger's, of which only its record tells (revive/recorded.h); NULL: it is none */
	char *needs;			/* a sentence with the name of the secret without which its command cannot be started; NULL: none */
};

/* What there is to read: lines, or of one without a pane the snapshot's. */
size_t candidate_lines(const struct candidate *c);
/* Ended on purpose, with its session: who asks what crashed need not hear of it. */
bool candidate_is_over(const struct candidate *c);
bool candidate_crashed(const struct candidate *c);	/* there is something to bring back, and it is not over */
/*
 * For one that never had a pane that we saw, on a server that may not run: the session's name (heap, taken over) stands for its id.
 */
void candidate_without_pane(const struct tmux *t, char *session, const char *cwd, struct pane *p);
void candidate_release(struct candidate *c);

#endif
