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
#include "prompt/prompt.h"
#include "records/recovery/recovery.h"
#include "snapshot/snapshot.h"
#include "tmux/tmux.h"
#include "transcript/locate/locate.h"
#include "transcript/transcript.h"

struct app;
struct attempt;
struct bead;
struct buf;
struct candidate;
struct candidate_list;
struct clean_text;
struct conversation;
struct err;
struct gathered;
struct launch;
struct pane;
struct profile;
struct recovery;
struct respawn;
struct resume_refusal;
struct scrub;
struct session;
struct store;
struct template;
struct tmux;

/* ---- previous_recovery ---- */

/*
 * A recovered agent that crashes again: its conversation begins with our own prompt, which holds
 * the one before. That prompt is recognised by its id and replaced by what it was made from, so
 * that records never nest. What that was is kept on disk (recover_private.h); when it is gone it is put
 * together from the older transcript, as far back as the chain goes, and from the words of the
 * prompt itself.
 */
struct previous_input {
	struct app *w;
	const struct candidate *c;
	struct scrub *scrub;
	const char *transcript;	/* of the agent that died now; NULL: not known */
	/*
	 * bytes of an older transcript that are read (transcript_read's max_bytes), and of all
	 * that is joined
	 */
	size_t room;
};

struct previous_recovery {
	char *id;		/* of the recovery that was unfolded; heap, NULL: none */
	bool untold;		/* the agent that it started ended before it had read its prompt */
	/* its context is not kept any more, or cannot be read: it was put together again */
	bool lost;
	bool empty;		/* and nothing was left to put together: only what came after it is here */
};

/*
 * Changes talk in place. Only a prompt that was told to this pane or session, or in this
 * transcript, counts: an id may be quoted from elsewhere.
 */
int gather_previous(
    const struct previous_input *in, struct conversation *talk, struct previous_recovery *out, struct err *e);
void gather_previous_release(struct previous_recovery *x);

/* ---- gather ---- */

/*
 * Drives the reading half for one candidate: capture, scrub, read the screen, the newest snapshot
 * and the transcript, merge them, unfold what an earlier recovery had gathered, bead, git,
 * checkpoint, prompt. Changes nothing anywhere. All strings are clean.
 */
struct gathered {
	struct scrub *scrub;
	struct capture capture;
	struct conversation conversation;
	struct bead bead;
	struct clean_text *git;
	struct clean_text *checkpoint;
	char **warnings;
	size_t n_warnings, cap_warnings;
	size_t work_from, work_to;	/* those about the work: bead, git, checkpoint, what was half done */
	struct transcript_found found;	/* the agent's own record that was read */
	/* of it; a last one that the death tore apart is none that anybody knows */
	size_t records, unknown_records;
	struct previous_recovery earlier;		/* the recovery whose context was unfolded */
	struct {
		/* of the newest snapshot of the pane, or of the session; 0: there is none */
		int64_t at;
		size_t rows;
		bool used;		/* it had what the pane and the transcript had not */
	} snapshot;
	char *reason;			/* "killed by signal 9", for people and the prompt */
	struct buf prompt;		/* after gather_prompt */
	struct prompt_stats stats;
};

/*
 * scope "task": the conversation since the current work began (conversation/conversation.h); "lines": all
 * that was captured. NULL: key scope.
 */
int gather(struct app *w, const struct candidate *c, const char *scope, struct gathered *out, struct err *e);
/* Writes out->prompt for this recovery id. */
int gather_prompt(
    struct app *w, const struct candidate *c, const char *recovery_id, struct gathered *out, struct err *e);
/*
 * The same for an agent that goes on with its own conversation: only what that lacks. Calls
 * without a result (Claude Code 2.1.197 takes them out without a word when it resumes, 2.1.330
 * gives them a result that says that it is unknown), prompts that were queued, the last rows that
 * the screen or a snapshot has and the transcript has not; draft, question, bead, git, what
 * became of the half-done. Name "budget" when it does not fit into max_tokens.
 */
int gather_resume_prompt(struct app *w, const struct candidate *c, const char *recovery_id, size_t max_tokens,
    struct gathered *out, struct err *e);
/*
 * The configured template, or the built-in one: of the prompt, or of the nudge. A configured one
 * is scrubbed first; scrub NULL: it is not, and good for a check alone. NULL with err (GT_USAGE).
 * Free with template_free.
 */
struct template *gather_template(struct app *w, bool nudge, struct scrub *scrub, struct err *e);
void gather_release(struct gathered *g);

/* "killed by signal 9", "exited with status 3", …; heap. */
char *gather_reason(const struct candidate *c);

/* ---- recover ---- */

/*
 * The whole way for one candidate, as a table of steps. The attempt's phase is committed before
 * each side effect, so that a recoverer that dies anywhere is taken up by the next: look first,
 * never deliver twice.
 */
enum recovery_progress {
	/* context on disk: lines, exchanges, last action, bead are in gathered */
	PROGRESS_CAPTURED,
	PROGRESS_STARTING,
	PROGRESS_STARTED,		/* the agent's process is there */
	PROGRESS_INJECTED,		/* a user message with our id stands in its transcript */
	PROGRESS_RESUMING,		/* an assistant message follows it */
	PROGRESS_PASTING,		/* the start command ate the prompt: one paste, same id */
	PROGRESS_WAITING		/* waiting_for, waited_ms */
};

/* Of the pane; of the conversation that the record of its process names; of the one that was found. */
enum { LOCK_PANE, LOCK_RECORD, LOCK_FOUND, LOCKS };

struct recovery {
	struct app *w;
	const struct candidate *c;
	const struct pane *pane;	/* where the agent is looked for: the candidate's, or born */
	bool named, include_infra;
	bool respawn;			/* --respawn: replace an idle shell instead of starting inside it */
	const char *scope;		/* --scope; NULL: key scope */
	const char *via;		/* --via; NULL: key via */
	/*
	 * NULL, or in the place of gathering: fills gathered and its prompt; the attempt's via is
	 * "restart" then
	 */
	int (*words)(struct recovery *r, struct err *e);
	/* the ledger's, whose session it is; NULL: looked up (recover/recover.h) */
	const struct session *agent;
	void (*report)(struct recovery *r, enum recovery_progress what, void *arg);
	void *arg;

	/* answers */
	struct attempt attempt;
	struct gathered gathered;	/* empty when an earlier attempt was taken up after its respawn */
	bool resumed;			/* it goes on with its own conversation */
	/* why it does not, though it was to, or might (recover/recover.h); NULL: nothing */
	const struct resume_refusal *not_resumed;
	bool taken_up;			/* an earlier recoverer's attempt, not a new one */
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
	bool started, injected;		/* told already */
	pid_t shell;			/* the shell that the agent starts inside; 0: in none */
};

/*
 * 0: acknowledged, attempt.proof says by what. -1 with err; code GT_UNACKED (delivered, no answer
 * in time), GT_REFUSED (name of the guard), GT_AGAIN (locked, taken, changed), GT_FAIL.
 * recovery_release in any case.
 */
int recovery_run(struct recovery *r, struct err *e);
void recovery_init(struct recovery *r, struct app *w, const struct candidate *c);
void recovery_release(struct recovery *r);

/*
 * The process whose death is the candidate's crash, which tells one crash from another: the pane's.
 * In a shell that outlives its agents it is the last one that a recovery started there; before
 * that the shell stands for it.
 */
pid_t recovery_crash_pid(struct app *w, const struct candidate *c);

/* ---- attempt_finish ---- */

/*
 * How an attempt ends, after its commit: its prompt is taken away, which a start that comes late
 * must not find. What is killed between the two is done by tidy (upkeep.h).
 */
int recovery_finish_acked(struct app *w, struct attempt *a, struct err *e);
int recovery_finish_failed(struct app *w, struct attempt *a, const char *why, struct err *e);

/*
 * The agent that the attempt had started is no more. Had it answered? Its transcripts below
 * config_dir (NULL: not known) tell: then the attempt is acknowledged, else it failed with `why`.
 */
int recovery_finish_judged(
    struct app *w, struct attempt *a, const char *config_dir, const char *why, struct err *e);

/* ---- attempt_resume ---- */

/*
 * Sets pending[i] for each candidate whose agent an earlier recoverer started while its attempt
 * is still open: a run over all looks after it, although the agent is alive. A store that cannot
 * be read makes none pending; the recoveries tell. typing[i]: it is pending, its prompt may have to
 * be pasted yet, and recovery_typed_since_start holds.
 */
void recovery_find_pending(
    struct app *w, const struct candidate_list *all, bool *pending, bool *typing);
/*
 * Was a key typed within the last minute in the pane of the agent that the attempt started? What
 * was typed in the dead pane before that start went nowhere.
 */
bool recovery_typed_since_start(const struct attempt *a, int64_t typed);

/* ---- epic_briefing ---- */

/*
 * What the epics (epic/epic.h) know of an agent of the ledger, and where its work in progress
 * was committed (recover/upkeep/upkeep.h), goes behind what *checkpoint has, which is released
 * and replaced; NULL is nothing. Where nothing is known, it stays. agent: NULL when the ledger
 * does not know it; session: its tmux session. -1 with err.
 */
int gather_agent_briefing(struct app *w, const char *agent, const char *session, const char *cwd,
    struct scrub *s, struct clean_text **checkpoint, struct err *e);

/* ---- plan ---- */

/*
 * The guards: may this candidate be brought back? Each refusal has a name and a sentence, one
 * line of the table in plan.c each. `named`: the person named the session or chose it in the
 * picker, which is consent to what only a person can know (keys typed there, stopped on purpose,
 * infrastructure, little evidence, a usage limit that may be over). Quarantine is lifted by
 * `gt-recover release` alone. bead may be NULL (not looked up). Reads the store, if there is one.
 */
struct refusal {
	const char *name;	/* "live", "no-command", …; NULL: nothing stands against it */
	const char *sentence;	/* ours, or the candidate's */
	const char *hint;
};

struct refusal recovery_refusal(
    struct app *w, const struct candidate *c, const struct bead *bead, bool named, bool include_infra);
/* The refusal "limit", for one whose last screen is known only after gathering. */
struct refusal recovery_refusal_limit(void);

/*
 * The refusal that passes with time: keys in an idle shell or a living agent within the last
 * minute, or a draft in a living agent's box. It ends no attempt. recovery_typing is the one for
 * keys.
 */
#define PLAN_TYPING "typing"
struct refusal recovery_typing(void);
/* Ms until a minute has passed since the key at `typed` (struct pane); 0: it has. */
int64_t recovery_quiet_in(int64_t typed);
/* Was a key typed within the last minute in the candidate's pane, and could a shell or agent read it? */
bool recovery_is_typing(const struct candidate *c, int64_t typed);

/*
 * How it is told when it is started afresh: by the first way of its row that is open. One that
 * lives already, or that gt starts, is pasted to. An argument is taken only where nothing else is
 * open: every user of the machine can read it in the list of processes. False: none is.
 */
bool recovery_choose_delivery(const struct app *w, const struct candidate *c, enum deliver *out);
/* Can it be told by the resume_deliver of its row when it goes on with its own conversation? */
bool recovery_can_deliver(const struct app *w, const struct candidate *c);

/* ---- rebind_session ---- */

/*
 * An agent that was brought back may be one of the ledger's (records/agents/agents.h), recorded
 * with the tmux session that it runs in: then its session is ACTIVE again, with the new process
 * and, where the transcript told, the conversation. Otherwise startup would take it for one that
 * is gone. Of several recorded in one tmux session it is the one whose conversation was found;
 * where that does not tell it is none. What cannot be noted is no reason to call the recovery a
 * failure: startup finds the agent by its pane (upkeep.h).
 */
void recovery_rebind(struct recovery *r);

/*
 * Where several hosts share the store: commits the attempt as respawned together with the claim
 * of that session, so that of this host and one that restores it at the same time one has it.
 * "other-host" (GT_REFUSED): that one. *agent: whose SUSPENDED session became ACTIVE, heap, NULL:
 * none; who does not start it suspends it again (recovery_unclaim_session).
 */
int recovery_claim_session(struct recovery *r, char **agent, struct err *e);
void recovery_unclaim_session(struct recovery *r, const char *agent);

/*
 * Startup: of each ACTIVE session whose process is not known, or is no more, that names its tmux
 * session, the agent that lives there now, if it is the only one there and the session the only
 * one that names it, or if it goes on with the recorded conversation. *n: how many have a living
 * process again. tmux is asked only where there is such a session; a server that does not answer
 * knows nobody.
 */
int recovery_rebind_living(struct app *w, size_t *n, struct err *e);

/*
 * Whose session alone, of those that have not ended, is recorded with the candidate's tmux
 * session: heap, or NULL. -1 with err.
 */
int recovery_find_session(struct app *w, const struct candidate *c, char **agent, struct err *e);

/*
 * Does the ledger tell of a living process that is this very agent, elsewhere: by its tmux
 * session or its conversation? Whoever took it up (session_restore) may run it in a place of his
 * own. A store that cannot be read tells of none.
 */
bool recovery_runs_elsewhere(struct app *w, const struct candidate *c);
/*
 * The same of another host, by its conversation, or by its tmux session where it was taken over
 * from this one: it is that host's now.
 */
bool recovery_on_other_host(struct app *w, const struct candidate *c);

/* ---- recreate_session ---- */

/*
 * A session that is missing, made again.
 *
 * In a town that has gt, a polecat's session is gt's to make (`gt session start RIG/NAME`:
 * environment, hooks, work): respawn_uses_gt. Everywhere else it is a new session of the same
 * name, directory and size, which tmux gives to one of several racers only; the tmux server is
 * started when none runs. Its command is that of recover.h, so that the prompt goes in by
 * standard input; through a login shell, since the server may have been started by one of us with
 * cron's bare environment (T9), now or some sessions ago. The second agent of a session that
 * another recovery made again gets a window in it.
 */
bool respawn_uses_gt(const struct app *w, const struct candidate *c);

/*
 * Is there still no such session, and no such process? Name "changed" (GT_AGAIN) otherwise.
 */
int respawn_check_gone(struct app *w, const struct candidate *c, struct err *e);

/*
 * Makes the session; *born is its pane (pane_release). remain-on-exit is set on it, so that an
 * agent that dies at once leaves its words; what was there before is "". Names: "taken"
 * (GT_AGAIN: somebody was faster), "gone" (it ended at once), those of tmux/tmux.h.
 */
int respawn_session(
    struct app *w, const struct candidate *c, const struct respawn *how, struct pane *born, struct err *e);
/* Lets gt do it. Names: "gt" (it failed; its words), "gone" (no session of that name came up). */
int respawn_with_gt(struct app *w, const struct candidate *c, struct pane *born, struct err *e);

/* The pane that an attempt made for this candidate, if it is there. 1 found, 0 not, -1 err. */
int respawn_find_session(
    struct app *w, const struct candidate *c, const char *recovery_id, struct pane *born, struct err *e);

/* ---- respawn ---- */

/*
 * Starts the agent again in its pane, with the prompt as its standard input: `claude < prompt` is
 * exact to the byte up to 1 MB and needs neither keys nor waiting (Claude Code 2.1.197, 2.1.330,
 * 2.0.76, 1.0.128).
 *
 * The pane's start command becomes `sh -c WRAPPER gt-recover PROMPT SHELL COMMAND FED` (T38),
 * handed over on tmux's standard input. tmux keeps it and runs it again whenever anybody respawns
 * the pane (T40), so the wrapper consumes the prompt once: it renames the file away, opens it as
 * descriptor 3, removes it, runs FED. Without the file it runs COMMAND plainly. FED is COMMAND
 * with descriptor 3 as the agent's standard input, and the agent's alone: the prompt holds what
 * stood on the screen, and a shell that read it (`claude; exec bash`, or a .bashrc that ends in
 * `exec zsh`) would run it. agent/agent.h unwraps COMMAND for the next recovery.
 */
struct respawn {
	const struct launch *launch;	/* shell; the command is given apart, flags taken out */
	const char *command;
	const char *fed;		/* of launch_with_prompt; NULL: no prompt goes in this way */
	const char *prompt_path;	/* absolute */
	/* replace the idle shell (-k) and give a shell back when the agent ends */
	bool zombie;
	const char *cwd;		/* zombie: where the shell stands; NULL: the pane's start directory */
};

enum respawn_wrapping {
	WRAP_PLAIN,
	/* through a login shell, for a tmux server started from who knows where; so a pane stays */
	WRAP_LOGIN,
	WRAP_SHELL		/* the same, and a shell comes back when the agent ends */
};

/*
 * The command finds its programs by the PATH of the session or its server, and after that by ours.
 *
 * A dead pane: without -k, which tmux answers "still active" when somebody else was faster: an
 * atomic claim (T20), name "taken", GT_AGAIN. A zombie: remain-on-exit is set on the pane first
 * (a failing command would take the session with it, T19), then respawn-pane -k.
 */
int respawn_pane(struct tmux *t, const struct pane *p, const struct respawn *r, struct err *e);

/* What the pane itself has set for remain-on-exit, "" for nothing; heap, NULL with err. */
char *respawn_remain_option(struct tmux *t, const struct pane *p, struct err *e);
/*
 * Takes a zombie's remain-on-exit back to that, on the pane's own server only. Somebody else's
 * change since then stays.
 */
int respawn_restore_option(struct tmux *t, const struct pane *p, const char *before, struct err *e);

/* ---- resume ---- */

/*
 * May the agent go on with its own conversation (`claude --resume ID`) instead of being started
 * afresh with what was gathered? Only when nothing speaks against it; starting afresh always
 * works. Each reason has a name and a sentence, one line of the table in resume.c each, in the
 * order of the facts below.
 */
struct resume_facts {
	bool has_flag;			/* the profile names one, and its transcripts can be read */
	/* by its standard input or a paste: not one that lives already, or that gt starts */
	bool can_tell;
	bool clear;			/* the start command is understood for certain (launch_with_resume) */
	/* the newest attempt here resumed, and its agent did not take up what it was told */
	bool tried;
	/* an earlier recovery was never read: its context stands in no transcript of this conversation */
	bool untold;
	/* the dead agent's own record names a conversation, and another file or none was found */
	bool gone;
	enum found how;
	/* the file lies in the project folder of the agent's directory, below its own configuration */
	bool in_place;
	bool in_use;			/* another process goes on with it */
	bool moved_on;			/* it was written to after the death */
	bool split;			/* it stands in more than one file (gemini after a resume) */
	enum transcript_integrity stand;
	size_t tokens, most_tokens;
};

struct resume_refusal {
	const char *name;		/* "stale", "foreign", "in-use", … */
	const char *sentence;
};

/* Pure. NULL: yes. */
const struct resume_refusal *resume_judge(const struct resume_facts *f);

/* Is the id one that may stand in a command, and are the records there that the agent would go on with? */
bool resume_is_there(const struct profile *p, const char *dir, const char *cwd, const char *id);

struct resume_request {
	const char *via;		/* "auto", "resume", "inject" */
	const char *recovery_id;
	bool held;			/* another gt-recover is at work on the conversation */
	/* answers */
	bool resumed;
	const struct resume_refusal *no;	/* why not; NULL: it is, or nobody asked for it */
};

/*
 * Judges and writes out->prompt: the nudge (gather_resume_prompt) for an agent that goes on with
 * its conversation, else what one is told that is started afresh.
 */
int resume_prompt(struct app *w, const struct candidate *c, struct resume_request *ask, struct gathered *out,
    struct err *e);

#endif
