#ifndef DETECT_DETECT_H
#define DETECT_DETECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/agent.h"
#include "base/err.h"
#include "gastown/gastown.h"
#include "tmux/tmux.h"
#include "transcript/locate/locate.h"

struct app;
struct bead;
struct conversation;
struct panes;
struct scrub;
struct seen_agent;
struct session;
struct store;
struct tmux;

/* ---- candidate ---- */

/*
 * An agent's pane, or what is known of one that is gone: what became of its agent, and what it
 * takes to bring it back.
 */
enum agent_status {
	AGENT_DEAD,		/* the pane's process ended and tmux kept the pane */
	AGENT_ZOMBIE,		/* the agent is gone, a shell is left in the pane */
	/* an empty session that was brought back (tmux-resurrect): a snapshot knows its agent */
	AGENT_RESTORED,
	/* session or pane is gone; a snapshot, hooked work or the ledger knows it. There is no pane */
	AGENT_MISSING,
	/* the agent lives, but was started after the work was begun and never given its context */
	AGENT_RESPAWNED,
	AGENT_LIVE,
	AGENT_UNKNOWN,
	/* it runs, or ran, behind ssh or in a container; never started from here */
	AGENT_REMOTE
};
enum crash_cause {
	REASON_NONE, REASON_EXITED, REASON_KILLED, REASON_OOM, REASON_SERVER_EXIT, REASON_PROCESS_DIED,
	REASON_STOPPED, REASON_LIMIT,
	REASON_UNKNOWN
};

/* "dead", "zombie", "restored", "missing", "respawned", "live", "unknown", "remote" */
const char *detect_status_name(enum agent_status c);
/* "exited", "killed", "oom", "server_exit", "process_died", "stopped", "limit", "unknown"; "" for none */
const char *detect_reason_name(enum crash_cause r);
/* there is something to bring back: all but live, unknown and remote */
bool detect_status_crashed(enum agent_status c);
/* an idle shell stands in the agent's pane: zombie, restored */
bool detect_status_has_shell(enum agent_status c);
bool detect_status_has_pane(enum agent_status c);	/* all but missing */
/* the pane shows what the agent that died had drawn: all but missing and respawned */
bool detect_status_has_screen(enum agent_status c);

/* By what an agent is started, the best first. */
enum command_source {
	COMMAND_UNKNOWN,
	COMMAND_SEEN,		/* the agent's own arguments, from when it lived */
	COMMAND_SNAPSHOT,	/* the same, by a snapshot */
	COMMAND_RECORD,		/* the same, by the record of its session */
	COMMAND_PANE,		/* what tmux started the pane with */
	COMMAND_GIVEN,		/* a person's answer */
	COMMAND_CONFIGURED,	/* gt.toml */
	COMMAND_ASSUMED		/* its program alone: its own command was never seen */
};
/* "seen", "snapshot", "record", "pane", "given", "configured", "assumed", "unknown" */
const char *detect_command_source_name(enum command_source s);

/* candidate.conversation: none of them, its screen alone. */
#define CONVERSATION_NONE "none"

struct candidate {
	struct pane pane;
	const struct profile *profile;	/* never NULL; lives in the app */
	struct town_role role;
	enum agent_status status;
	enum crash_cause reason;
	/* one sign alone says that an agent ran here, and signs deceive */
	bool low_confidence;
	const char *unknown_reason;		/* for unknown: a sentence; "" otherwise */
	/* unknown: it died or begins just now, perhaps; another look in a moment tells */
	bool unsettled;
	bool ending;			/* unsettled: its server has ended, and its process has not yet */
	bool empty_shell;	/* unknown: its shell is idle, and nothing shows that an agent ever ran */
	bool namesake;		/* another one in the list has its session's name (detect_lines) */
	bool own_pane;		/* this program runs in the pane; zombie: it was typed into its shell */
	size_t lines;			/* of scrollback and screen; dead and zombie panes only */
	bool draft;			/* respawned: unsent text is in its input box (detect_lines) */
	/* of the newest snapshot that is its own; 0: none, or nobody looked (snapshot_lookup_lines) */
	size_t snapshot_lines;
	int64_t crashed_at;		/* ms since 1970; 0 unknown */
	int64_t began;			/* missing: when the process that died had begun; 0 unknown */
	struct launch launch;		/* what would be started; command NULL: not known */
	char *cwd;			/* where the agent worked */
	/* of the agent (~/.claude by its own HOME); NULL for agents without one */
	char *config_dir;
	struct agent_pid_file pid_record;	/* of the agent that died; session_id NULL: none */
	/* pid_record is of this very pane's agent, not of one that died in the same directory */
	bool own_pid_record;
	pid_t agent_pid;		/* live, respawned: its process; remote: the program before it */
	/* a background session (agent/agent.h), which has no pane: its id and its own word for its state */
	char *background, *background_state;
	bool given_up;			/* background: its service wrote that it failed */
	/* it shows a session that lives elsewhere: started again as it was, told nothing, and no --resume */
	bool viewer;
	char *remote, *remote_hint;	/* remote: "ssh box", and how to recover it there; NULL otherwise */
	/* the pane's own command starts no agent: a person typed it; launch is the agent's then */
	bool typed;
	/* where launch is from */
	enum command_source command_source;
	/* the executable that it ran as, absolute; NULL: not known. Its agent may have replaced it since */
	char *program;
	/*
	 * nothing in its pane tells of it: conversations of its directory that were killed, and that
	 * no other agent has, are all
	 */
	bool by_place;
	/* what a person said it is: a conversation's id, or CONVERSATION_NONE; NULL: nothing */
	char *conversation;
	/*
	 * missing, restored, respawned: the snapshot (snapshot/snapshot.h) of the agent that
	 * died; NULL: none
	 */
	char *snapshot;
	/* missing: its session is there, on the server that it ran on, without its pane */
	bool beside;
	/* missing: another agent lived in its place since, whose conversation session_id is */
	bool snapshot_is_older;
	/*
	 * respawned: the conversation that it was not given; missing: its last one; NULL: only
	 * the snapshot tells
	 */
	char *session_id;
	/* missing: the attempt that had started it since the snapshot; NULL: none */
	char *started_by;
	/* missing: the attempt that had brought it back since the snapshot, acknowledged; NULL: none */
	char *recovered_by;
	/*
	 * variables whose values its command held and nothing keeps: a new session gets ours, in a shell
	 * they must be set
	 */
	struct town_list inherited_env;
	/*
	 * missing, unknown: the ledger's, of which only its record tells (detect/detect.h);
	 * NULL: it is none
	 */
	struct session *record;
	/* a sentence with the name of the secret without which its command cannot be started; NULL: none */
	char *missing_secret;
};

/* What there is to read: lines, or of one without a pane the snapshot's. */
size_t candidate_lines(const struct candidate *c);
/*
 * Its name in an agent team of Claude Code, by its start command (`--agent-name`, `--team-name`),
 * and the team's; borrowed. NULL: it is no teammate.
 */
const char *candidate_teammate(const struct candidate *c, const char **team);
/*
 * The conversation of its own note, borrowed; NULL: it has none. A note that was found by its directory alone
 * may be a neighbour's.
 */
const char *candidate_noted_conversation(const struct candidate *c);
/* Ended on purpose, with its session: who asks what crashed need not hear of it. */
bool candidate_has_ended(const struct candidate *c);
/* there is something to bring back, it is not over, and more than its directory tells of it */
bool candidate_crashed(const struct candidate *c);
/*
 * The signal that ended a dead pane's process, or the agent that its shell ran: such a shell ends
 * with 137 after a SIGKILL. 0: none, or not known.
 */
int candidate_signal(const struct candidate *c);
/*
 * Teaches the scrubber everything by whose value a secret can be told on the candidate's screen:
 * its environments, start command and credential files, as far as [recovery.scrub] wants it.
 */
void candidate_learn(struct app *w, struct scrub *s, const struct candidate *c);
/*
 * The bead alone, for lists and snapshots. What cannot be read stays empty. Of beads in Dolt only
 * what is hooked: bd is asked once for each directory and command, not for each agent, so that
 * what the agent's own bead says against a recovery is heard only by the recovery itself.
 */
void candidate_bead(struct app *w, const struct candidate *c, struct scrub *s, struct bead *out);
/* The same with an error, also of what only a recovery asks for unless `quick`. Release out in any case. */
int candidate_find_bead(
    struct app *w, const struct candidate *c, bool quick, struct scrub *s, struct bead *out, struct err *e);
void candidate_release(struct candidate *c);

/* ---- detect ---- */

/*
 * Which panes are agents', which of those died, and why. Unknown is not dead: where the signs
 * disagree the class is unknown, and that is never acted on. Nothing is changed: commands look by
 * snapshot_detect (snapshot/pass/pass.h).
 */
struct candidate_list {
	struct candidate *v;
	size_t n, cap;
	size_t servers;			/* tmux servers that answered */
	/* the first server that is there and could not be read; code 0: none */
	struct err trouble;
	/* which dead pane that ends its server when looked at was left as it is, and why; code 0: none */
	struct err exposed;
	/* why what was seen could not be kept; code 0: it was */
	struct err unwritten;
};

/*
 * All agents' panes on the app's servers, in tmux's order, then what is missing, by name. A
 * server that is not there or cannot be read is skipped (see trouble) unless it was named; having
 * none left is an error, too.
 */
int detect(struct app *w, struct candidate_list *out, struct err *e);
/*
 * The same for panes of one server that were listed by pane_list_bare: their environments are
 * read, and out takes them over.
 */
int detect_listed(struct app *w, struct tmux *t, struct panes *panes, struct candidate_list *out,
    struct err *e);
/*
 * The pid of a dead pane whose tmux has forgotten it (struct pane), from what was seen of it alive.
 * Reads records; leaves it as it was when they tell of another crash.
 */
void detect_fill_pid(struct app *w, struct pane *p);
/*
 * Fills lines of dead and zombie candidates, exactly, and draft of respawned ones; one tmux
 * process a server. A usage limit or a login problem on the last screen is the reason then,
 * unless the agent was ended on purpose.
 */
int detect_lines(struct app *w, struct candidate_list *list, struct err *e);
void candidate_list_release(struct candidate_list *c);

/*
 * One more look at a candidate, right before something is done to it: 0 when pane, server,
 * process and class are what they were. Otherwise name "changed" (GT_AGAIN) with a sentence.
 * *typed, unless NULL: the pane's now (struct pane).
 */
int detect_recheck(struct app *w, const struct candidate *c, int64_t *typed, struct err *e);

/* ---- find_transcript ---- */

/*
 * Which transcript is this candidate's: collects what is known of its process (its own record,
 * its start command, notes of Gas Town, what its screen shows) for transcript_find. Reads only.
 * Do it before a respawn: the next start of an agent removes the records of dead ones. `seen` may
 * be NULL, and everything in it; `snapshot_id` is the session that a snapshot of this process
 * names, NULL: none. Neither counts for a missing one whose last conversation is known
 * (candidate.session_id): that may have begun later. FOUND_NONE for agents whose transcripts we
 * cannot read. -1: a folder cannot be read.
 */
struct screen_evidence {
	const struct conversation *screen;
	/* the same as it is, for agents whose screen is not read; NULL: none */
	const char *text;
	struct scrub *scrub;
};
int detect_find_transcript(struct app *w, const struct candidate *c, const struct screen_evidence *seen,
    const char *snapshot_id, struct transcript_found *out, struct err *e);

/*
 * What the agent is to be told when the transcript is not certain, or nobody can read what it
 * keeps, heap; NULL: nothing. "2 transcripts could be this session's, …".
 */
char *detect_transcript_warning(const struct candidate *c, const struct transcript_found *f);

/* ---- recorded ---- */

/*
 * What detect and detect_lines find, behind it background sessions (detect_from_background), which
 * need no tmux server, and the agents that only the ledger knows
 * (records/agents/agents.h): SUSPENDED, or ACTIVE without a living process, of this host, and no
 * pane, snapshot or hooked work tells of them. Class missing, by name, with `record`;
 * restart_recorded brings them back. Unknown is not dead: the class is unknown where the record
 * names no process of an ACTIVE one, where the tmux server does not answer, or where a session of
 * its name is there.
 *
 * For people who ask: whoever suspended an agent may want it suspended, so that it comes back
 * when somebody names it, or after a restart by startup, and by no other pass. One whose record
 * does not tell how it is started (candidate_from_session) is left out. tmux is asked once more
 * only where there is such an agent; then a server that does not run is no error. `ret` and *e:
 * what detect answered.
 */
int detect_recorded(struct app *w, struct candidate_list *all, int ret, struct err *e);
/* The same without what only records tell of: for passes that were not asked for anyone by name. */
int detect_background(struct app *w, struct candidate_list *all, int ret, struct err *e);

/*
 * What its record alone makes of it: class missing. -1: "no-place-known", "no-agent-known".
 * candidate_release in any case.
 */
int candidate_from_session(struct app *w, const struct session *x, struct candidate *c, struct err *e);

/* What detect found of it; NULL: nothing. */
const struct candidate *candidate_of_session(struct app *w, const struct session *x,
    const struct candidate_list *all);

/* ---- seen ---- */

/* Has a person ended it, by its record, its hooks or the end of its transcript? */
bool detect_seen_exited(struct app *w, struct store *s, const struct seen_agent *x);

#endif
