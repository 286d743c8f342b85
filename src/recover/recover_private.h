#ifndef RECOVER_RECOVER_PRIVATE_H
#define RECOVER_RECOVER_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recover/recover.h"

struct activity;
struct background;
struct background_list;
struct launch;
struct orphans;
struct town_list;

/* ---- previous_recovery ---- */

/*
 * A recovered agent that crashes again: its conversation begins with our own prompt, which holds
 * the one before. That prompt is replaced by what it was made from, so that records never nest:
 * by its saved context, else by the older transcript, as far back as the chain goes, and the words
 * of the prompt itself.
 */
struct previous_input {
	struct app *w;
	const struct candidate *c;
	struct scrub *scrub;
	const char *transcript;	/* of the agent that died now; NULL: not known */
	size_t room;		/* bytes of an older transcript that are read, and of all that is joined */
};

/*
 * Changes talk in place. Only a prompt that was told to this pane or session, or in this
 * transcript, counts: an id may be quoted from elsewhere.
 */
int gather_previous(
    const struct previous_input *in, struct conversation *talk, struct previous_recovery *out, struct err *e);
void gather_previous_release(struct previous_recovery *x);

/*
 * The saved context, <state>/contexts/<recovery id>.json, 0600, clean text only: written before
 * anything that can wipe the pane, read when the prompt has to be pasted and when the recovered
 * agent crashes, too.
 */
int gather_save(
    struct app *w, const char *session, const char *recovery_id, const struct gathered *g, struct err *e);
/* 1 found, 0 not there any more, -1 err. talk (overwritten) and prompt (appended to) may be NULL. */
int gather_load_saved(
    struct app *w, const char *recovery_id, struct conversation *talk, struct buf *prompt, struct err *e);

/* ---- gather ---- */

/* Writes out->prompt for this recovery id: all that was gathered. */
int gather_prompt(
    struct app *w, const struct candidate *c, const char *recovery_id, struct gathered *out, struct err *e);
/*
 * The same for an agent that goes on with its own conversation: only what that lacks. Calls
 * without a result (Claude Code 2.1.197 drops them when it resumes, 2.1.330 gives them an unknown
 * result), queued prompts, the last rows that the transcript has not; draft, question, bead, git,
 * what became of the half-done. Name "budget" when it does not fit into max_tokens.
 */
int gather_resume_prompt(struct app *w, const struct candidate *c, const char *recovery_id, size_t max_tokens,
    struct gathered *out, struct err *e);

/* ---- unfinished ---- */

/*
 * What was half done when the agent died, and what became of it, as warnings with names.
 * gather_unfinished is pure; gather_unfinished_report looks at files; the processes are given to
 * it. Nothing is changed or ended.
 */
enum unfinished_kind {
	UNFINISHED_FILE,	/* Write, Edit, …, or what other agents call them, without a result */
	UNFINISHED_COMMAND,	/* Bash without a result */
	UNFINISHED_BACKGROUND,	/* Bash that went on in the background; one of the newest three */
	UNFINISHED_AGENTS,	/* sub-agents */
	UNFINISHED_PERMISSION,	/* waited for a permission */
	UNFINISHED_NOT_BEGUN,	/* waited for something else: a hook */
	UNFINISHED_QUESTION,	/* a question to the person without an answer */
	UNFINISHED_PLAN,	/* a plan without agreement */
	UNFINISHED_CALL		/* any other call without a result */
};

struct unfinished {
	enum unfinished_kind kind;
	const struct exchange *x;	/* borrowed */
};

#define UNFINISHED_MAX 5		/* calls, the newest */

struct unfinished_list {
	struct unfinished v[UNFINISHED_MAX];
	size_t n;
};

/* Oldest first. What an earlier recovery told (SOURCE_EARLIER) counts only when untold. */
void gather_unfinished(const struct conversation *talk, bool untold, struct unfinished_list *out);

/*
 * Writes of which the agent's hooks told the beginning and not the end (records/hooks/hooks.h),
 * and the conversation nothing: of sub-agents, or of a lost screen. They go into *talk, the
 * caller's, as calls that run, and behind the others in out while there is room; paths scrubbed.
 * A write in out that the hooks know to be over is dropped.
 */
void gather_unfinished_add(const struct activity *told, const struct conversation *known, const char *cwd,
    struct scrub *s, struct conversation *talk, struct unfinished_list *out);

struct unfinished_context {
	const char *cwd;		/* paths of a screen are relative to it; NULL: not known */
	int64_t crashed_at;		/* ms since 1970; 0 unknown */
	const struct clean_text *git;	/* git_state's lines; NULL: none */
	const struct orphans *orphans;	/* NULL: not looked for */
	/* by the transcript, in place of UNFINISHED_BACKGROUND; NULL: not known */
	const struct background_list *background;
};

/* One line each, clean; appended to out. */
void gather_unfinished_report(
    const struct unfinished_list *l, const struct unfinished_context *place, struct town_list *out);

/*
 * All of it for a candidate: `session_id` is its conversation's id or NULL, `git` git_state's text
 * or NULL. Where /proc cannot be read the warnings say less.
 */
void gather_unfinished_warnings(struct app *w, const struct candidate *c, const struct conversation *talk,
    bool untold, const char *session_id, const struct background_list *background,
    const struct clean_text *git, struct scrub *s, struct town_list *out);

/* ---- died ---- */

/*
 * What ended with the agent's session besides: monitors, sub-agents, workflows, schedules and
 * wake-ups, one line each; appended to out. resumed: for an agent that goes on with its own
 * conversation, to which Claude Code gives back a part.
 */
void gather_died(const struct background_list *l, bool resumed, struct town_list *out);
/* The record says of something that it would report, and it is of another session, or not known. */
bool gather_promises_report(const struct conversation *talk, bool known);

/* ---- plan ---- */

/* By what was gathered, too: a usage limit on its last screen, a finished teammate whose team is gone. */
struct refusal recovery_refusal_gathered(const struct recovery *r);
/* Was a key typed within the last minute in the candidate's pane, and could a shell or agent read it? */
bool recovery_is_typing(const struct candidate *c, int64_t typed);
/*
 * Did its session crash again and again: max_attempts recoveries within attempt_window, those left
 * out whose agent finished a turn or lived ten minutes? A store that cannot be read quarantines
 * nobody: the recovery itself cannot begin without it, and reports that.
 */
bool recovery_is_quarantined(struct app *w, const struct candidate *c);
/* The refusal as an error, GT_REFUSED. -1. */
int recovery_refuse(const struct refusal *no, struct err *e);

/*
 * How it is told when it is started afresh: by the first open way of its profile. One that lives
 * already, or that gt starts, is pasted to. An argument, which every user of the machine can read
 * in the list of processes, only where nothing else is open. False: none is.
 */
bool recovery_choose_delivery(const struct app *w, const struct candidate *c, enum deliver *out);

/* ---- rebind_session ---- */

/*
 * The recovered agent's recorded session (records/agents/agents.h) is ACTIVE again, with the new
 * process and conversation. Of several recorded in one tmux session the one whose conversation was
 * found; none where that does not tell. Failures are left to startup, which finds the agent by its
 * pane.
 */
void recovery_rebind(struct recovery *r);
/*
 * Where several hosts share the store: commits the attempt as respawned together with the claim
 * of that session, so that one of two hosts has it. "other-host" (GT_REFUSED): the other. *agent:
 * whose SUSPENDED session became ACTIVE, heap, NULL: none; recovery_unclaim_session suspends it
 * again when it is not started.
 */
int recovery_claim_session(struct recovery *r, char **agent, struct err *e);
void recovery_unclaim_session(struct recovery *r, const char *agent);
/*
 * Does a record tell of a living process that is this very agent, elsewhere: by its tmux session
 * or its conversation? An unreadable store tells of none.
 */
bool recovery_runs_elsewhere(struct app *w, const struct candidate *c);
/* Of another host: by its conversation, or by its tmux session where it was taken over from here. */
bool recovery_on_other_host(struct app *w, const struct candidate *c);

/* ---- background ---- */

/*
 * The only step behind the locks of a recovery of a background session: `claude respawn ID`, by
 * which its service starts it with its own conversation, and never a --resume beside the service.
 * Nothing is told and no attempt is kept. Proof: its new process lives, and its transcript was
 * written to since. Names: "respawn" (claude's status), "unacknowledged", "changed".
 */
int recovery_respawn_background(struct recovery *r, struct err *e);

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
	bool zombie;			/* replace the idle shell (-k), give one back when the agent ends */
	const char *cwd;		/* zombie: where the shell stands; NULL: the pane's start directory */
};

/*
 * Programs are found by the PATH of the session or its server, then by ours. A dead pane: without
 * -k, which tmux answers "still active" when somebody else was faster: an atomic claim (T20), name
 * "taken", GT_AGAIN. A zombie: remain-on-exit is set on the pane first (a failing command would
 * take the session with it, T19), then respawn-pane -k.
 */
int respawn_pane(struct tmux *t, const struct pane *p, const struct respawn *r, struct err *e);
/* What the pane itself has set for remain-on-exit, "" for nothing; heap, NULL with err. */
char *respawn_remain_option(struct tmux *t, const struct pane *p, struct err *e);

/*
 * Makes a missing session again: same name, directory and size, which tmux gives to one of several
 * racers only; the server is started when none runs. Its command goes through a login shell, since
 * the server may have cron's bare environment (T9). The second agent of a session that another
 * recovery made again gets a window in it. *born is its pane (pane_release), with remain-on-exit
 * set, so that an agent that dies at once leaves its words. Names: "taken" (GT_AGAIN: somebody was
 * faster), "gone" (it ended at once), those of tmux/tmux.h.
 */
int respawn_session(
    struct app *w, const struct candidate *c, const struct respawn *how, struct pane *born, struct err *e);
/* By gt (recovery_uses_gt). Names: "gt" (it failed; its words), "gone" (no session came up). */
int respawn_with_gt(struct app *w, const struct candidate *c, struct pane *born, struct err *e);
/* The pane that an attempt made for this candidate, if it is there. 1 found, 0 not, -1 err. */
int respawn_find_session(
    struct app *w, const struct candidate *c, const char *recovery_id, struct pane *born, struct err *e);

/* ---- resume ---- */

/*
 * May the agent go on with its own conversation instead of being started afresh? Only when nothing
 * speaks against it. Each reason is a line of the table in resume.c, in the order of these facts.
 */
struct resume_facts {
	bool has_flag;			/* the profile names one, and its transcripts can be read */
	bool can_tell;			/* by its standard input or a paste */
	bool clear;			/* the start command is understood (launch_with_resume) */
	/* the newest attempt here resumed, and its agent did not take up what it was told */
	bool tried;
	bool untold;			/* an earlier recovery was never read: it is in no transcript */
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

/* Pure. NULL: yes. */
const struct resume_refusal *resume_judge(const struct resume_facts *f);

/* ---- team ---- */

/*
 * Agent teams of Claude Code (2.1.330, `--teammate-mode tmux`). A lead that resumes writes
 * <config>/teams/NAME/config.json anew with itself alone and removes inboxes/: its teammates are
 * unreachable then. So both are kept before its start, <state>/teams/<session id>.json, and
 * put back once the file names the new process. The copy holds prompts and messages as they were;
 * it is removed when the recovery is acknowledged.
 */

enum membership {
	MEMBER_NONE,		/* no teammate, or not known */
	MEMBER_AT_WORK,
	MEMBER_DONE,		/* idle by its team's file, with no message unread */
	MEMBER_UNLISTED		/* its team is gone, or was founded anew: gathered.idle tells */
};
enum membership recovery_membership(const struct candidate *c);	/* one that is done is not brought back */
/* Durable; nothing for one that leads no team or does not resume. */
int recovery_team_keep(struct recovery *r, struct err *e);
/*
 * Members and inboxes that are missing, by what was kept for the attempt; last: then forgets it. Of a
 * teammate: the pane in which it is, and itself where its lead's team was founded anew.
 */
void recovery_team_put_back(struct recovery *r, bool last);
/*
 * Appends teammates with their state and the lead's unread messages to *out (which it replaces;
 * NULL is nothing), if conversation `id` leads a team. True: a message is unread.
 */
bool recovery_team_describe(struct app *w, const struct candidate *c, const char *id, struct scrub *s,
    struct clean_text **out);

/* ---- agent_probe ---- */

/* One look at an agent that was started: is it there, what does it do, has it our prompt? Reads only. */
enum probe_state {
	PROBE_GONE,		/* pane or server is another, or vanished */
	PROBE_DIED,		/* the new agent died */
	PROBE_STARTING,		/* no agent's process yet, or nothing to tell by */
	PROBE_IDLE,		/* waits for input */
	PROBE_DRAFT,		/* text stands in its input box */
	PROBE_BUSY,
	PROBE_DIALOG		/* something else has the keyboard; it is never answered by us */
};

struct agent_probe {
	enum probe_state state;
	pid_t agent;		/* 0: none */
	enum ack ack;
	char *transcript;	/* with our id in it; NULL: none */
	char *own;		/* its own by its note, whatever is in it; NULL: not known */
	bool by_note;		/* sessions/<pid>.json told a state, too */
	const char *dialog;	/* of PROBE_DIALOG: "a permission dialog"; the profile's, or static */
	bool marked;		/* our prompt was pasted into this pane (PASTE_MARK) */
	int status, signal;	/* of PROBE_DIED; -1 unknown */
	bool id_on_screen;
	bool told_on_screen;	/* the same, beside the line that started it inside a shell */
	bool login;		/* its screen says that it is not logged in */
	bool shell_back;	/* no agent, and an idle shell in its place */
};

/* since_ms (since 1970): transcripts that did not change after it are not read. */
int recovery_probe(struct app *w, const struct pane *was, const struct profile *p, const char *recovery_id,
    int64_t since_ms, struct agent_probe *out, struct err *e);
void recovery_probe_release(struct agent_probe *l);

/* ---- inside ---- */

/*
 * Agents that start inside the shell of their pane (recover/shell/start.h). Does the recovery start
 * its agent so? An idle shell that a person started is left as it is; a pane whose own command is
 * the agent's, with a shell behind it, or that a recovery had made, has nothing to lose by a
 * respawn.
 */
bool recovery_starts_inside(const struct recovery *r);
/*
 * For the pane that we were typed into: can this process become the agent? "own-pane" (GT_REFUSED)
 * when our output does not go there, or the caller does not execute it.
 */
int recovery_check_here(const struct recovery *r, struct err *e);
/*
 * r->shell is where the agent ran, or one above which nobody works: "shell-nested" (GT_REFUSED) when a
 * person started it inside the agent's shell since the agent began. Without a record of the agent's
 * process it is taken for the agent's own.
 */
int recovery_check_nested(const struct recovery *r, struct err *e);
int recovery_start_inside(struct recovery *r, const struct respawn *how, struct err *e);
/*
 * The process that the attempt started, as its record says, or inside a shell its check-in, which
 * goes with the ticket; 0: none.
 */
pid_t recovery_started_inside(const struct app *w, const struct attempt *a);
/*
 * Does what the attempt started inside the pane's shell still live? It may yet be a shell that
 * starts the agent.
 */
bool recovery_lives_inside(const struct app *w, const struct attempt *a);

/*
 * fed, with the executable that the agent ran as in the place of its name; heap, NULL: that is not known,
 * or not there any more, or a runtime of its script. Claude Code updates itself, so that the name goes
 * first wherever PATH leads to it.
 */
char *recovery_by_program(const struct candidate *c, const char *fed);

/* ---- deliver, wait, finish ---- */

/*
 * Step "verify": from the start of an agent until its own record shows our id and an answer after
 * it; pastes once when the start command ate the prompt. Errors: "died", "login", "model-error",
 * "gone", "no-proof"; at the end of the timeouts "dialog", "draft", "not-ready",
 * "unacknowledged"; "interrupted". PLAN_TYPING, the attempt stays open: the prompt must be pasted,
 * and a key was typed there within the last minute.
 */
int recovery_wait_for_ack(struct recovery *r, struct err *e);
/*
 * Was a key typed within the last minute in the pane of the agent that the attempt started? What
 * was typed in the dead pane before that start went nowhere.
 */
bool recovery_typed_since_start(const struct attempt *a, int64_t typed);
void recovery_report(struct recovery *r, enum recovery_progress what);
/*
 * The option that was set on a zombie's pane; before the commit that ends the attempt, so that no
 * crash of ours forgets it.
 */
void recovery_reset_option(struct recovery *r, struct attempt *a);
/* As recovery_finish_failed, with the proof. */
int recovery_finish_acked(struct app *w, struct attempt *a, struct err *e);
/* The error "interrupted" of a run that a person stopped. -1. */
int recovery_interrupted(struct err *e);

#endif
