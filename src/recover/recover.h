#ifndef RECOVER_RECOVER_H
#define RECOVER_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/err.h"
#include "beads/beads.h"
#include "conversation/conversation.h"
#include "gastown/gastown.h"
#include "prompt/prompt.h"
#include "records/recovery/recovery.h"
#include "snapshot/snapshot.h"
#include "tmux/tmux.h"
#include "transcript/locate/locate.h"
#include "transcript/transcript.h"

struct app;
struct candidate;
struct candidate_list;
struct resume_refusal;
struct scrub;
struct session;
struct store;
struct template;

/*
 * One recovery: gather what the agent knew, the guards, start it again, deliver the prompt, wait
 * for the proof, finish.
 */

/* ---- gather ---- */

/* The earlier recovery whose prompt was found in the conversation and replaced by what it held. */
struct previous_recovery {
	char *id;		/* heap, NULL: none */
	bool untold;		/* the agent that it started ended before it had read its prompt */
	bool lost;		/* its context cannot be read any more: it was put together again */
	bool empty;		/* and nothing was left: only what came after it is here */
};

/* All that is known of one candidate. Strings are clean. gather_release. */
struct gathered {
	struct scrub *scrub;
	struct capture capture;		/* of a missing one: its snapshot's text */
	struct conversation conversation;
	struct bead bead;
	struct clean_text *git;
	struct clean_text *checkpoint;
	char **warnings;
	size_t n_warnings, cap_warnings;
	size_t work_from, work_to;	/* those about the work: bead, git, checkpoint, what was half done */
	size_t died_from;		/* … to work_to: what died with the session, for a fresh start */
	struct town_list died_resumed;	/* the same for one that resumes */
	struct transcript_found found;	/* the agent's own record that was read */
	bool idle;			/* the agent had finished all that it was asked */
	size_t records, unknown_records;	/* of it; a last one that was torn is not counted */
	struct previous_recovery earlier;
	struct {
		int64_t at;		/* of the newest snapshot of the pane or session; 0: none */
		size_t rows;
		bool used;		/* it had what the pane and the transcript had not */
	} snapshot;
	char *reason;			/* gather_reason */
	struct buf prompt;		/* after resume_prompt */
	struct prompt_stats stats;
};

/*
 * Reads everything: capture, scrub, screen, snapshot and transcript, merged; the earlier recovery;
 * bead, git, checkpoint. Changes nothing. scope "task": the conversation since the current work
 * began (conversation/conversation.h); "lines": all of it; NULL: key scope.
 */
int gather(struct app *w, const struct candidate *c, const char *scope, struct gathered *out, struct err *e);
void gather_release(struct gathered *g);

/*
 * Several conversations could be the candidate's, or nothing but its directory tells: who went on would
 * guess. GT_REFUSED, "ambiguous"; 0: there is no doubt.
 */
int gather_check_doubt(const struct gathered *g, struct err *e);

/* What a person needs to choose one of those. */
struct rival_words {
	char *first, *last;		/* what a person said, clean, heap; NULL: nothing was read */
	int64_t at;			/* when it was last written, ms since 1970 */
};
/* One for each of g->found.rival, the newest first (the rivals are sorted so); heap. */
struct rival_words *gather_rivals(const struct candidate *c, struct gathered *g);
void gather_rivals_release(struct rival_words *v, size_t n);

/*
 * For a list, without gathering. The last thing that a person asked of it, by its transcript, clean, heap;
 * NULL: not known. Of a living one "working", "needs permission", "idle", or "live" where nothing tells:
 * by its own note, its screen or its transcript; static. The scrubber has learnt the candidate.
 */
char *gather_last_message(struct app *w, const struct candidate *c, struct scrub *s);
const char *gather_live_state(struct app *w, const struct candidate *c, struct scrub *s);

/* "killed by signal 9", "exited with status 3", …; heap. */
char *gather_reason(const struct candidate *c);
/* "SIGKILL"; static. */
const char *gather_signal_name(int signal);

/*
 * The configured template, or the built-in one: of the prompt, or of the nudge. A configured one
 * is scrubbed, unless scrub is NULL (for a check alone). NULL with err (GT_USAGE). template_free.
 */
struct template *gather_template(struct app *w, bool nudge, struct scrub *scrub, struct err *e);

/*
 * Appends to *checkpoint (which it replaces; NULL is nothing) what the epics know of a recorded
 * agent, and where its work in progress was committed. agent: NULL when no record names it;
 * session: its tmux session.
 */
int gather_agent_briefing(struct app *w, const char *agent, const char *session, const char *cwd,
    struct scrub *s, struct clean_text **checkpoint, struct err *e);

/* ---- resume ---- */

struct resume_request {
	const char *via;		/* "auto", "resume", "inject" */
	const char *recovery_id;
	bool held;			/* another gt-recover is at work on the conversation */
	/* answers */
	bool resumed;
	const struct resume_refusal *no;	/* why not; NULL: it is, or via is "inject" */
	size_t own_tokens;		/* resumed: estimate for its conversation, which it sends again */
};

struct resume_refusal {
	const char *name;		/* "stale", "foreign", "in-use", … */
	const char *sentence;
};

/*
 * Writes out->prompt: the nudge for an agent that can go on with its own conversation
 * (`claude --resume ID`), else all that was gathered.
 */
int resume_prompt(struct app *w, const struct candidate *c, struct resume_request *ask, struct gathered *out,
    struct err *e);

/* How a candidate would be recovered, as far as can be told before. */
struct resume_estimate {
	/*
	 * "resume", "inject"; "restart" (by its record alone), "viewer", "respawn" (a background session):
	 * what these three send is not known
	 */
	const char *via;
	const struct resume_refusal *no;	/* inject: why it is not resumed; NULL: nothing was tried */
	int64_t tokens;			/* of its first request: its conversation, our prompt; -1: unknown */
};

/*
 * Reads all that a recovery reads, and changes nothing. scope, via: NULL for the keys of these names.
 * -1 with err: what would refuse the recovery.
 */
int resume_estimate(struct app *w, const struct candidate *c, const char *scope, const char *via,
    struct resume_estimate *out, struct err *e);

/* May the id stand in a command, and are the records there that the agent would go on with? */
bool resume_is_there(const struct profile *p, const char *dir, const char *cwd, const char *id);

/* ---- recover ---- */

enum recovery_progress {
	PROGRESS_CAPTURED,		/* the context is on disk: see gathered */
	PROGRESS_STARTING,
	PROGRESS_STARTED,		/* the agent's process is there */
	PROGRESS_INJECTED,		/* a user message with our id stands in its transcript */
	PROGRESS_RESUMING,		/* an assistant message follows it */
	PROGRESS_PASTING,		/* the start command ate the prompt: one paste, same id */
	PROGRESS_WAITING		/* waiting_for, waited_ms */
};

/*
 * Of the pane, and of that in whose place it stands; of the conversation that the record of its process
 * names; of the one that was found.
 */
enum { LOCK_PANE, LOCK_PLACE, LOCK_RECORD, LOCK_FOUND, LOCKS };

struct recovery {
	struct app *w;
	const struct candidate *c;
	const struct pane *pane;	/* where the agent is looked for: the candidate's, or born */
	bool named, include_infra;
	bool respawn;			/* --respawn: replace an idle shell instead of starting inside it */
	bool executes;			/* the caller executes the agent of its own pane (start_here) */
	const char *scope;		/* --scope; NULL: key scope */
	const char *via;		/* --via; NULL: key via */
	/*
	 * NULL, or in the place of gathering: fills gathered and its prompt; the attempt's via is
	 * "restart" then
	 */
	int (*words)(struct recovery *r, struct err *e);
	const struct session *agent;	/* the record of whose session it is; NULL: looked up */
	void (*report)(struct recovery *r, enum recovery_progress what, void *arg);
	void *arg;

	/* answers */
	struct attempt attempt;
	struct gathered gathered;	/* empty when an earlier attempt was taken up after its respawn */
	bool resumed;			/* it goes on with its own conversation */
	bool inboxes_back;		/* of its teammates, after it resumed (recover_private.h: team) */
	const struct resume_refusal *not_resumed;	/* why it does not, though it might; NULL: nothing */
	bool taken_up;			/* an earlier recoverer's attempt, not a new one */
	/*
	 * Its agent is the caller's to execute, by the start ticket of the attempt's id: the last step
	 * of a recovery in the pane that we run in. The next run looks for the proof.
	 */
	bool start_here;
	/*
	 * names of variables that the agent that died had and the new one has not, the first five;
	 * heap, NULL: none
	 */
	char *lacking;
	bool half_typed;		/* an unfinished line stood in the shell; it was not executed */
	const char *waiting_for;
	int64_t waited_ms;
	int64_t typed;			/* the pane's at the last look, as in struct pane */

	/* inside */
	struct store *store;
	struct { char *path; int fd; } locks[LOCKS];
	char *prompt_path;
	struct pane born;		/* of a missing session that was made again */
	bool begun;			/* an earlier recoverer was about to start the agent when it died */
	bool started, injected;		/* reported already */
	pid_t shell;			/* the shell that the agent starts inside; 0: in none */
};

void recovery_init(struct recovery *r, struct app *w, const struct candidate *c);
/*
 * The table of steps. The attempt's phase is committed before each side effect; a recoverer that
 * dies is taken up by the next, which looks first and never delivers twice. 0: acknowledged,
 * attempt.proof says by what. -1 with err: GT_UNACKED (delivered, no answer in time), GT_REFUSED
 * (name of the guard), GT_AGAIN (locked, taken, changed), GT_FAIL. recovery_release in any case.
 */
int recovery_run(struct recovery *r, struct err *e);
void recovery_release(struct recovery *r);

/*
 * The process whose death is the candidate's crash, which tells one crash from another: the pane's.
 * In a shell that outlives its agents it is the last one that a recovery started there; before
 * that the shell stands for it.
 */
pid_t recovery_crash_pid(struct app *w, const struct candidate *c);

/*
 * Sets pending[i] where an earlier recoverer started the agent and its attempt is still open: a
 * run over all looks after it, although the agent is alive. typing[i]: it is pending, its prompt
 * may have to be pasted yet, and somebody types there. An unreadable store makes none pending.
 */
void recovery_find_pending(
    struct app *w, const struct candidate_list *all, bool *pending, bool *typing);

/* Ends an attempt; its prompt file, which a late start must not find, goes after the commit. */
int recovery_finish_failed(struct app *w, struct attempt *a, const char *why, struct err *e);
/*
 * The agent that the attempt had started is no more: acknowledged if its transcripts below
 * config_dir (NULL: not known) show an answer, else failed with `why`.
 */
int recovery_finish_judged(
    struct app *w, struct attempt *a, const char *config_dir, const char *why, struct err *e);

/* ---- plan ---- */

/*
 * The guards: may this candidate be brought back? A line for each in the table of plan.c. `named`:
 * the person named the session, which is consent to what only a person can know (keys typed there,
 * stopped on purpose, infrastructure, little evidence, a limit that may be over, quarantine).
 * bead may be NULL (not looked up).
 */
struct refusal {
	const char *name;	/* "live", "no-command", …; NULL: nothing stands against it */
	const char *sentence;	/* static, or the candidate's */
	const char *hint;
};

struct refusal recovery_refusal(
    struct app *w, const struct candidate *c, const struct bead *bead, bool named, bool include_infra);

/*
 * The refusal that passes with time and ends no attempt: keys in an idle shell or a living agent
 * within the last minute, or a draft in a living agent's box. recovery_typing: the one for keys.
 */
#define PLAN_TYPING "typing"
struct refusal recovery_typing(void);
/* Ms until a minute has passed since the key at `typed` (struct pane); 0: it has. */
int64_t recovery_quiet_in(int64_t typed);

/*
 * Is it gt that makes its session (`gt session start RIG/NAME`: environment, hooks, work)? That of a
 * missing polecat in a town, where gt is installed.
 */
bool recovery_uses_gt(const struct app *w, const struct candidate *c);
/* Can it be told by the resume_deliver of its profile when it goes on with its own conversation? */
bool recovery_can_deliver(const struct app *w, const struct candidate *c);

/*
 * Restarts of a session within attempt_window before `end` (ms since 1970) that count towards its
 * quarantine, as recovery_refusal counts them: those left out whose agent finished a turn or lived
 * ten minutes. 0 while there are fewer than max_attempts of any kind.
 */
size_t recovery_count_restarts(struct app *w, const char *socket, const char *session, int64_t end);

/* ---- rebind_session ---- */

/*
 * Startup: rebinds each ACTIVE session without a living process to the agent that lives in its
 * tmux session, if it is the only one there and the session the only one that names it, or if it
 * goes on with the recorded conversation. *n: how many. tmux is asked only where there is such a
 * session.
 */
int recovery_rebind_living(struct app *w, size_t *n, struct err *e);

/* The one open session that is recorded with the candidate's tmux session: *agent heap, or NULL. */
int recovery_find_session(struct app *w, const struct candidate *c, char **agent, struct err *e);

/* ---- respawn ---- */

/* Is there still no such session, and no such process? Name "changed" (GT_AGAIN) otherwise. */
int respawn_check_gone(struct app *w, const struct candidate *c, struct err *e);

/*
 * Takes a zombie's remain-on-exit back to what the pane had set before ("": nothing), on the
 * pane's own server only. Somebody else's change since then stays.
 */
int respawn_restore_option(struct tmux *t, const struct pane *p, const char *before, struct err *e);

#endif
