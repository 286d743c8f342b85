#ifndef DETECT_DETECT_PRIVATE_H
#define DETECT_DETECT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "detect/detect.h"
#include "snapshot/snapshot.h"
#include "tmux/tmux.h"
#include "workspace/workspace.h"

struct proc;
struct procs;
struct scrub;
struct session_starts;
struct agent_source;

/* ---- sources ---- */

/*
 * Which agent a claim is about: a pane of one life of a tmux server, in a session. Strings are
 * heap. What a source does not know is NULL, 0 or "" and matches nothing; but without a socket a
 * session is that of any server.
 */
struct agent_key {
	char *socket;			/* as the app names it */
	int64_t server_pid;
	char *session, *pane;		/* names: "toast", "%5" */
	/* the same session and pane as the names of snapshot files have them */
	char session_hash[SNAPSHOT_KEY], pane_hash[SNAPSHOT_KEY];
	char *conversation;		/* its id: that of a living process, or the one looked for */
	/* the pane, and those in whose place it was made (tmux/tmux.h) */
	char *places;
	char *cwd;			/* of an agent; NULL: it is none, or not known yet */
};

/* One agent that a source knows of. */
struct claim {
	const struct agent_source *by;
	struct agent_key key;
	/* the pane is there: the claim holds its key even if no agent ever ran in it */
	bool there;
	/* a pane that is gone, of a session that may be there */
	bool beside;
	/* it ended with its server: a session of that name on another one is another session */
	bool ended;
	/* what that source knows of it; its forget() frees it. Sources that add may read it, by `by` */
	void *about;
};

struct claim_list {
	struct claim *v;
	size_t n, cap;
};

/* Appends a claim with an empty key. Valid until the next one. */
struct claim *detect_add_claim(struct claim_list *l);

/* What a source says of a claim. */
enum claim_answer {
	CLAIM_OPEN,		/* nothing: it stays what the sources before made of it */
	CLAIM_AGENT,
	CLAIM_NO_AGENT		/* there is no agent to list, whatever the sources before say */
};

/* What the sources work in: one look at all servers. */
struct detection {
	struct app *w;
	const struct procs *procs;
	/* only these panes, of this server; NULL: those of all servers */
	struct panes *given;
	struct tmux *given_server;
	struct known_server {
		const char *socket;	/* as the app names it */
		char *path;		/* as tmux does */
		bool runs;
		pid_t pid;		/* 0: it does not run, or has no session to ask */
		int64_t start;		/* seconds since 1970 */
	} *servers;			/* that answered, or do not run */
	size_t n_servers, answered;
	struct err first;		/* of the first server that did not answer; code 0: all did */
	struct err trouble;		/* the same, of those that run */
	const char *absent;		/* socket of the last server that does not run, or "" */
	struct snapshot_index snapshots;
	bool no_snapshots;		/* they cannot be read */
	struct scrub *scrub;		/* NULL until detect_scrub */
	struct session_starts *starts;	/* NULL until detect_starts */
	struct server_now {		/* of each of the app's servers; NULL until records are listed */
		bool asked, silent;
		struct panes panes;
	} *now;
	struct claim_list also;		/* claims of its own that an explain() came upon */
	struct workspace workspace;	/* the last one that was read; file NULL: none is kept */
	struct living_pane {		/* of the servers that answered */
		char *socket_path, *session, *places, *id, *window_id;
		char session_hash[SNAPSHOT_KEY];
		int64_t session_created;
		bool waits;		/* it was made for an agent that nobody has started in it */
	} *living;
	size_t n_living, cap_living;
};

/*
 * A source of agents: something that tells which agents there are, or were. The table of them is
 * in detect.c, and detect_merge is the only place where they meet:
 *
 * 	Each source lists its claims, cheaply: keys, no files of agents, no bd. In the order of the
 * 	table each claim takes its key. A claim whose key a source before it has taken is dropped:
 * 	the same pane, the same session or the same living conversation. Within a source only the
 * 	same pane is the same agent. Of an agent that ended with its server a session of the same name
 * 	is the same only for a role of a town, or where an agent is in the same directory. One that
 * 	explain() finds to be of a place that a candidate or a filled pane has is dropped, too: of one
 * 	place the newest pane counts.
 * 	explain() makes the candidate of a claim that took its key. CLAIM_OPEN: it is no agent; then
 * 	the key is free for the sources below, unless the claim's pane is there.
 * 	After it the sources that add to this one explain the same claim, in the table's order, each
 * 	with the candidate as it is: a member that a later source sets wins.
 * 	settle() sees what all of them said and sets what follows from it (class, reason).
 *
 * A source that keeps a record of each agent's pane from its first sight on has its row behind
 * "restarted", with adds_to FROM_PANES | FROM_SNAPSHOTS: it sets what their screen, pid file and
 * last snapshot do not tell any more, and lists agents that no other source knows.
 */
struct agent_source {
	const char *name;
	enum agent_source_bit {
		FROM_PANES = 1, FROM_RESTARTED = 2, FROM_SNAPSHOTS = 4, FROM_ATTEMPTS = 8,
		FROM_ASSIGNMENTS = 16, FROM_RECORDS = 32, FROM_SEEN = 64, FROM_PLACE = 128,
		FROM_BACKGROUND = 256
	} bit;
	unsigned adds_to;		/* sources whose claims it explains, too */
	/* its candidates stay in the order of its claims; those of the others are sorted by name */
	bool keeps_order;
	/* a session that is taken drops its claims only after explain(), which may set `ended` */
	bool of_ended;
	/* NULL: it has none of its own, and only adds. -1 with err: nothing can be concluded */
	int (*list)(struct detection *d, struct claim_list *out, struct err *e);
	enum claim_answer (*explain)(struct detection *d, struct claim *x, struct candidate *c);
	void (*settle)(struct detection *d, struct claim *x, struct candidate *c);	/* or NULL */
	void (*forget)(struct claim *x);						/* or NULL */
};

/*
 * Appends to out the agents that the sources of the mask know, source by source; what out holds
 * already has its keys. -1: a list() failed.
 */
int detect_merge(const struct agent_source *const *all, size_t n, unsigned mask, struct detection *d,
    struct candidate_list *out, struct err *e);

/* Made when first asked for; NULL when it cannot be. Owned by d. */
struct scrub *detect_scrub(struct detection *d);
struct session_starts *detect_starts(struct detection *d);
/* The head of a snapshot of that name. snapshot_release when true. */
bool detect_snapshot_head(struct detection *d, const char *name, struct snapshot *head);
/* The newest of the panes that stand in a list of places (tmux/tmux.h), or NULL. */
const struct snapshot_file *detect_snapshot_of_places(
    const struct detection *d, const char *socket_path, const char *places);
/*
 * The process of a snapshot (pid and start time) still lives, or /proc cannot tell. In another
 * container: until the container has ended or the last sign of life is older than PROC_SEEN_MS.
 */
bool detect_snapshot_is_alive(const struct detection *d, const struct snapshot *head);
/*
 * Profile, role, command, directories, record: from the head to the candidate, whose pane is
 * known. False: the agent is none that we know; c is as it was.
 */
bool detect_identify(struct detection *d, const struct snapshot *head, const char *name,
    struct candidate *c);

/* The start command as the snapshot has it; values that it does not keep are asked of our environment. */
void detect_set_command(struct detection *d, const struct snapshot *h, struct candidate *c);
/* Of a dead pane: reason, by what tmux and the kernel kept of its end. */
void detect_set_crash_reason(struct app *w, struct candidate *c);
/* Of a zombie: oom where the kernel's log names the agent that is gone. */
void detect_set_zombie_reason(struct app *w, struct candidate *c);

/* ---- candidate ---- */

/* Heap; NULL of NULL. */
char *detect_copy(const char *s);
/* ".../projects/SLUG/ID.jsonl": what stands in front of it; heap, NULL: it is another path. */
char *detect_folder_of(const char *transcript);
/* What is not known of a pane that is gone: dead, of 80 columns, "". */
void candidate_fill_pane(struct pane *p);
/*
 * For one that never had a pane that we saw, on a server that may not run: the session's name
 * (heap, taken over) stands for its id.
 */
void candidate_without_pane(const struct tmux *t, char *session, const char *cwd, struct pane *p);

/* ---- find_transcript ---- */

/*
 * True while a background server of the agent (codex) goes on with a conversation that can be
 * this candidate's: not dead, then.
 */
bool detect_has_background(const struct candidate *c);

/* ---- remote ---- */

/* Another machine or a container, by the command line of what stands before it. Strings are heap. */
struct remote_place {
	char *place, *hint;		/* "ssh box"; how to recover an agent there */
	const struct profile *agent;	/* that the command line starts; NULL: none */
	pid_t pid;			/* of the living process; 0: the pane is dead */
};

/*
 * What the pane's foreground, or of a dead pane its start command, leads to; also what stands above
 * an agent's process (NULL: none is seen). Release when true.
 */
bool detect_find_remote(const struct detection *d, const struct candidate *c, const struct proc *agent,
    struct remote_place *out);
void detect_remote_release(struct remote_place *p);

/* ---- panes ---- */

/*
 * The panes of the servers that answer, in tmux's order. Of a server that was named a failure is
 * an error; else it is d->trouble.
 */
extern const struct agent_source detect_from_panes;

/* claim.about of a pane. */
struct pane_claim {
	struct pane pane;		/* until explain() */
	struct tmux *server;
	bool named;			/* by its start command or its environment, for which agent it is */
	bool empty_shell;		/* an idle shell, and no pid file tells of an agent of this pane */
	bool shows_agent;		/* its screen does */
	bool by_screen;			/* remote, and only its screen tells that it is an agent */
	bool judged;			/* something in the pane says that there was an agent */
};

/* ---- restarted ---- */

/*
 * Adds to panes.
 *
 * A live agent is `respawned` when it was begun afresh after the one before it had crashed, and
 * never given its context. Class, reason, snapshot and session_id are set then. All of these must
 * hold:
 *
 * 	its own record names a conversation, another one than the lost one, and its start command
 * 	resumes none
 * 	it was not started, or told, by a recovery
 * 	the lost one's process is gone, and its transcript is there
 * 	in a town: two starts of this actor without a handoff, or the like, between
 * 	(gastown/gastown.h), and the process is younger than the first
 * 	elsewhere: its pane's start command runs the agent, so that no person typed it; its pane's
 * 	process is another than the snapshot's; the snapshot is of an agent that was dead and had not
 * 	said good-bye (its transcript does not end with the record of a graceful exit), or of a
 * 	living one whose server died, with its pane in it still by the last pass: a session that was
 * 	closed before that was ended on purpose
 *
 * A pane with an idle shell, of which nothing or only its screen tells of an agent, is `restored`
 * when its session was brought back empty after its server had died (tmux-resurrect and its like):
 * a snapshot of an older life of the server knows an agent in a session of that name, which worked
 * in the same directory and is dead. Profile, command, place, class and reason are set then;
 * low_confidence unless the start command or the screen bear it out.
 */
extern const struct agent_source detect_from_restarted;

/* ---- seen ---- */

/*
 * Adds to panes what is known from the first sight of their agent (records/recovery/recovery.h):
 * which one it was, by what command, in which conversation and directory, and since when it is
 * gone; whether a person ended it. A pane that shows nothing of it any more is still its pane. What its
 * hooks told (records/hooks/hooks.h) counts as seen.
 */
extern const struct agent_source detect_from_seen;
/*
 * Of an agent whose server is gone, by its last snapshot: had it left before? Its hooks reported a
 * person's word, or the server was seen alive 10 s after it had left. One that leaves within these
 * 10 s leaves because of the server, with the same words.
 */
bool detect_left_before_server(struct detection *d, const struct snapshot *h, const struct profile *p);

/* ---- by_place ---- */

/*
 * Adds to panes. An idle shell that a person started, in which nothing is left of an agent, not even its
 * screen: it is listed when a conversation of its directory was killed in the shell's life, and no other
 * agent has it (candidate.by_place). Only a person can say whether it was this pane's.
 */
extern const struct agent_source detect_from_place;

/* ---- gone ---- */

/*
 * Agents whose sessions are gone, class `missing`, as the snapshots know them; attempts add what
 * came after the snapshot.
 *
 * A session is missing when its server was asked (or does not run) and has none of that name, the
 * pane is not elsewhere on that server, and the agent's process is gone; where that process still
 * runs the candidate is `unknown`. Missing is also a pane that its session, which is there, has lost
 * by a crash (candidate.beside), and one in whose place a shell waits in a workspace that was built
 * again. Of a server that died all agents' panes are missing that its last pass had seen; of a session
 * that ended while its server lived the newest, and those that the last workspace had beside it.
 * What ended while its server lived was ended on purpose, REASON_STOPPED, unless it left the record
 * of a killed agent (agent/agent.h, which the next start of any agent removes), or its
 * transcript lacks its leave (transcript/transcript.h) and no pane stood there dead before. But
 * a polecat's session does not count as ended on purpose, since gt removes every session that
 * has died (gas-town 0.1): its work decides.
 */
extern const struct agent_source detect_from_snapshots;

/*
 * What no snapshot tells of an agent whose session is gone: a recovery of ours started it, and it
 * ended before a pass saw it, or before its process could be asked for its conversation. The
 * attempt knows of the start, and the transcript in which the recovery's id stands how it ended:
 * it is missing when that lacks its leave, or its server died. Sets session_id, started_by,
 * recovered_by, began, crashed_at; CLAIM_NO_AGENT: the crash of the snapshot was answered.
 */
extern const struct agent_source detect_from_attempts;

/* ---- unsnapshotted ---- */

/*
 * An agent that a recovery started, and that no snapshot shows: of the newest attempt that started
 * one there.
 */
struct unsnapshotted {
	char *id;			/* the attempt's; NULL: none is known, and nothing else is set */
	bool later;			/* that was after the snapshot */
	bool answered;			/* it was for what the snapshot shows, and was acknowledged */
	bool lives;			/* a process is known that goes on with it */
	/* the conversation in which it was told, or that it began untold; NULL: none is known */
	char *session_id;
	enum exit_kind parting;		/* of that */
	int64_t began;			/* when the attempt started it, ms since 1970 */
	int64_t alive_at;		/* when it certainly lived, ms since 1970 */
	int64_t server_pid, server_start;	/* where; 0: on the server that ran then */
};

/* Never fails: what no attempt tells is not known. detect_release_unsnapshotted. */
void detect_find_unsnapshotted(struct app *w, const struct snapshot *h, struct unsnapshotted *out);
void detect_release_unsnapshotted(struct unsnapshotted *u);

/* ---- background ---- */

/*
 * Claude Code's background sessions of our own configuration that have not ended, named by their
 * ids: live; unknown while their service starts them again; missing when they failed. A living pane
 * with the same conversation goes first.
 */
extern const struct agent_source detect_from_background;

/* ---- recorded ---- */

/*
 * Polecats of the town that have work on their hook, a directory, and no session: class `missing`
 * (gas-town 0.1: gt keeps no dead pane, so that this is what a crash looks like in a stock town).
 * The conversation is the last one that the town's log names (gastown/gastown.h). Only `gt session
 * start`, or a command of gt.toml, can bring such a one back. Nothing is listed when a tmux server
 * of the app does not answer. The beads are asked by explain: what cannot be read is no hooked
 * work.
 */
extern const struct agent_source detect_from_assignments;

/*
 * Agents that only their records tell of (detect_recorded). Servers are asked again, once each.
 */
extern const struct agent_source detect_from_records;

#endif
