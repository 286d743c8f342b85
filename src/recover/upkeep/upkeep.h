#ifndef RECOVER_UPKEEP_UPKEEP_H
#define RECOVER_UPKEEP_UPKEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "git/git.h"
#include "records/agents/agents.h"
#include "records/recovery/recovery.h"
#include "records/runs/runs.h"

struct app;
struct buf;
struct candidate;
struct candidate_list;
struct epic;
struct err;
struct panes;
struct recovery;
struct scrub;
struct session;
struct tmux;

/* ---- arm ---- */

/*
 * Arming a session, so that something is left when its agent dies (tmux as it comes, and Gas
 * Town, keep no dead pane):
 *
 * - remain-on-exit on: of the agent's pane alone. What anybody set for the window stays and comes
 *   back into force with disarm.
 * - history-limit: of the session, raised to max_context_lines, never lowered. tmux gives it to new
 *   panes only.
 * - pane-died[50 or up]: of the pane's window, beside other hooks (T29); runs `script`. Not where
 *   the window has no hooks of its own and the server has some for all windows: an array of the
 *   window would switch those off.
 *
 * What was set before is committed (records/recovery/recovery.h) before anything is changed.
 * Somebody who sets pane-died without an index, as Gas Town does at a start, takes our hook away;
 * arming again puts it back.
 */
struct arming {
	struct armed record;		/* before and after; panes and windows of the session */
	bool changed;			/* something was, or with dry_run would be, set */
	bool hook_left_out;		/* by the exception above */
	int64_t history_now;		/* history-limit that new panes get before we change it */
	int64_t history_want;		/* what we set, or the same when it is enough */
};

/*
 * Candidates of one session (at least one). script: what pane-died is to run in sh, with tmux's
 * formats in it; NULL: no hook. With dry_run only looks. Names: "gone", "conflict" (GT_AGAIN),
 * those of the store and of tmux/tmux.h. armed_release of the record in any case.
 */
int arm_session(struct app *w, const struct candidate *const *panes, size_t n, const char *script,
    bool dry_run, struct arming *out, struct err *e);

/*
 * Puts back what the record tells and deletes it. What somebody else has changed since is left as
 * it is. `now`: the panes of its server; what is gone needs nothing. *restored: how many settings
 * were, or with dry_run would be, put back.
 */
int arm_disarm_session(struct app *w, struct tmux *t, const struct armed *a, const struct panes *now,
    bool dry_run, size_t *restored, struct err *e);

/*
 * The heartbeat: a shell script that tmux runs for as long as it has armed panes, on servers that
 * may miss a death (pane_may_miss_death). It sends the server a SIGCHLD every two seconds, so
 * that pane-died runs. arm_session starts it, one a server; it ends within a minute of the last
 * disarm_session, and with the server. arm_has_heartbeat: false also when tmux does not answer.
 */
bool arm_has_heartbeat(struct tmux *t);

/* True when this pane is armed, and the setting still holds. */
bool arm_holds(const struct armed_list *all, const struct candidate *c);

/* ---- failure_mail ---- */

/*
 * Telling somebody that recoveries failed: one mail for all that failed since the last one (a
 * tmux server that takes fifty sessions with it is one mail), and one for a crash, however many
 * passes fail with it. What it says is kept in the ledger (records/recovery/recovery.h), so
 * that the mail does not depend on the pane being there still; it is clean text, and never holds
 * scrollback.
 *
 * At least once: that a mail is owed is committed when the recovery fails, each try before it is
 * made, and that it was sent right after the mailer has ended with status 0. Killed between the
 * two, the next pass sends it again and says in it that it may be a repetition. The other order
 * would lose the only word of a failure that nobody looks at. A mailer that fails is tried by the
 * next MAIL_TRIES - 1 passes.
 */
#define MAIL_TRIES 5

/* Notes the crash; *fresh: it is told for the first time. Makes the store. */
int mail_note_crash(struct app *w, const struct candidate *c, bool *fresh, struct err *e);
/*
 * One recovery has ended: e tells how. Owes a mail for a failure, and takes back one that is owed
 * when the agent is back after all. What another run or Gas Town came in between of (GT_AGAIN,
 * "gone") is neither.
 */
int mail_note_result(struct app *w, const struct recovery *one, const struct err *how, struct err *e);
/*
 * The same for a crash that a guard refuses, by the guard's name and its words; only
 * "quarantined" is a failure.
 */
int mail_note_refusal(struct app *w, const struct candidate *c, const char *name, const char *sentence,
    const char *hint, struct err *e);

struct mail_report {
	size_t owed;			/* crashes that the mail is about */
	bool sent;
	size_t given_up;		/* of them, after the last try */
};
/* Whether anything is owed; opens no new store. */
bool mail_is_owed(struct app *w);
/*
 * Sends it. 0 also when nothing was owed. -1: the names of mail_send, and those of the store; a
 * mail that cannot be noted is not sent.
 */
int mail_send_owed(struct app *w, struct mail_report *out, struct err *e);

/* ---- on_crash ---- */

/*
 * Telling a person and a program of a crash, once for each: the record of crashes says whether it is
 * new (mail_note_crash). At most once: a pass that is killed in between does not repeat it.
 */

/* A message to the clients attached to the tmux server of its pane. Best effort. */
void upkeep_show_crash(struct app *w, const struct candidate *c);

/*
 * The command on_crash. It runs in a child, one crash after the other, each for 10 s at most, and
 * gets one JSON object a crash on standard input, without secrets: schema_version, session, socket,
 * pane, agent, cause, when, conversation, last_words. The last ones are null when unknown.
 */
struct on_crash {
	char **lines;			/* the objects, heap */
	size_t n, cap;
	pid_t pid;			/* the child; 0: not started */
	int from;			/* what failed, from the child */
};
/* Adds a crash, with what its pane and its transcript tell: before its recovery. Not without on_crash. */
void upkeep_on_crash(struct app *w, struct on_crash *x, const struct candidate *c, struct err *e);
int upkeep_on_crash_start(struct app *w, struct on_crash *x, struct err *e);
/* Waits for the child. -1, "on-crash": a command failed, and how. x is empty then. */
int upkeep_on_crash_end(struct on_crash *x, struct err *e);

/* ---- release ---- */

/*
 * A person's word that a session may be recovered anew: its crashes are forgotten, which ends its
 * quarantine, and recoveries of it that are still open are ended as failed, with the option of a
 * zombie's pane taken back. That is the way out where nobody can tell whether a prompt arrived.
 * Nothing is done to the agent.
 */
struct release_report {
	size_t forgotten;		/* attempts that counted towards the quarantine */
	struct attempt_list ended;		/* as they were before */
};

/*
 * The session of this name on the servers that were named with -L, else on any. With dry_run only
 * looks. Names: "locked" (GT_AGAIN: a recovery of it is at work), "conflict" (GT_AGAIN).
 * attempt_list_release of `ended` in any case.
 */
int upkeep_release_session(
    struct app *w, const char *session, bool dry_run, struct release_report *out, struct err *e);

/* ---- restart ---- */

/*
 * Brings one suspended agent of the ledger back. Where a pane or a snapshot tells of its crash it
 * is recovered from that, with its context, as any other agent. Only where nobody knows more than
 * its record it is started from that: in a new tmux session of the recorded name, by its start
 * command, told by templates/restart.md; with the recorded conversation (cursor_session_id) where
 * the provider can, and nobody else does.
 *
 * Either way it is a recovery (recover/recover.h): guards, quarantine, an attempt in the ledger,
 * proof. The agent's session is claimed first (session_restore), so that one restart alone starts
 * it, and has its process when it runs (recover/recover.h). The tmux session's name is the
 * second claim: one that is there is never touched. Who dies in between leaves it ACTIVE without
 * a process: the next startup suspends it and takes the attempt up.
 */
enum restart_result { RESTART_DONE, RESTART_FOUND };

/*
 * all: what detect found. Answers enum restart_result, or -1: the names of recover.h,
 * "no-place-known" (its record names no start command, session or workspace: whoever made it
 * brings it back), "other-host", "no-agent-known", "there" (somebody's agent lives in a session
 * of that name), those of session_restore. An agent that runs then is in its session all the same
 * (GT_UNACKED); otherwise the session is SUSPENDED; but "server-silent": that is for the next
 * startup to find out. id: of the attempt, "" when there was none. In a dry run (app.h) it
 * answers what the guards leave, and starts nothing.
 */
int restart_agent(
    struct app *w, const struct session *x, const struct candidate_list *all, char id[21], struct err *e);

/*
 * The same for a candidate of detect/detect.h, in the place of recover(): `one` is told on the
 * way and released by the caller, and may be named. One that is ACTIVE and whose process is no
 * more is suspended first.
 */
int restart_recorded(struct recovery *one, struct err *e);

/* ---- startup ---- */

/*
 * Setting the house in order after the machine or a tmux server went down. What the last pass saw
 * stands in the record servers:last: the boot id, and of each tmux server with an agent its
 * socket, its process (pid and start in clock ticks, as /proc tells) and tmux's own start time. A
 * process that is there no more, or another boot id, is the sign; tmux is asked only for the
 * sessions that open recoveries made.
 */

/* Whether something went down since the last pass; false where nothing is known yet. Reads only. */
bool startup_due(struct app *w);

struct startup {
	bool rebooted;
	size_t servers_ended;
	size_t closed;			/* recoveries that were open, and ended as failed */
	size_t acknowledged;		/* the same, but the agent's transcript shows that it had answered */
	struct run_report runs;
	/* sessions whose agent lives, which was not known (recover/recover.h) */
	size_t adopted;
	struct session_reconciled sessions;
	struct tree_repaired tree;
	size_t locks;			/* stale ones that are free now (records/records.h) */
	struct message_reconciled messages;
	/* SUSPENDED, to be brought back: roots or all agents, by resume_scope */
	struct session_list back;
};
/*
 * Makes the records true again, in this order: runs (records/runs/runs.h), sessions
 * without a living process (whose agent does live in its tmux session gets that process first),
 * the tree, stale locks, messages by reply_policy, open recoveries. Each part is commits that
 * leave the rest to the next startup, so that one that dies anywhere is simply run again, to the
 * same end; where all is true already nothing is written. Without a store there is nothing to be
 * done.
 *
 * Of the open recoveries it looks at those of servers that are gone: one whose prompt was
 * answered is acknowledged, any other has failed, with the reason. One that made its session
 * again, on the server that runs now, goes on. One that another run is at work on is left to it.
 * Then tidy (recover/upkeep/upkeep.h). A server's end is one event (server.ended), a reboot too
 * (host.rebooted). What went down leaves servers:last at the very end, so that it is done once.
 * startup_release in any case.
 */
int startup_run(struct app *w, const struct run_recovery *how, struct startup *out, struct err *e);
void startup_release(struct startup *s);
/* Did it change anything? */
bool startup_changed(const struct startup *s);

/*
 * Whether servers:last tells just the servers of these candidates. True where there is no store:
 * nothing can be open then.
 */
bool startup_is_recorded(struct app *w, const struct candidate_list *all);
/*
 * Records signs of life of the sessions and tmux servers that run here, so that no other container takes them
 * for dead; each at most once in PROC_RENEW_MS (process/proc.h). 0 also when there is no store.
 */
int startup_renew(struct app *w, struct err *e);
/* Makes it so. Writes nothing when it was so. */
int startup_record(struct app *w, const struct candidate_list *all, struct err *e);

/* ---- tidy ---- */

/*
 * Takes away what is old in the state directory: kept contexts and prompts older than
 * snapshot_age, and what was left behind by those that were killed: a writer's temporary file and
 * the prompts of attempts that have ended at once, taken prompts and lock files after an hour;
 * and records of what hooks told of agents that have long ended (records/hooks/hooks.h). Never
 * fails: it is done again at the next recovery.
 */
void upkeep_tidy(struct app *w);

/* The prompts alone: costs one look into a folder when there are none. */
void upkeep_tidy_prompts(struct app *w);

/* The prompt of a recovery that is over, if nobody took it. */
void upkeep_tidy_prompt(struct app *w, const char *recovery_id);

/* ---- sweep ---- */

/*
 * What is over leaves the store (records/history/history.h), the store's file shrinks, and the other
 * files of the state directory are kept within their limits. For a second at most; costs a few reads
 * where nothing is due. Passes and recoveries call it at their end, hooks never. True when records
 * left. err (code 0: none) tells what failed; the next pass goes on.
 */
bool upkeep_sweep(struct app *w, struct err *e);
/* Path of the sweep's own file in the state directory, heap. */
char *upkeep_sweep_state(const struct app *w);

/* ---- epic_pass ---- */

/*
 * A checkpoint of each epic that is under way, whichever source knows it (epic/epic.h): one commit for
 * all of them, none when no agent of an epic runs. Nothing is written where app.dry or app.look_only.
 */
struct epic_pass {
	size_t open;			/* epics under way */
	size_t records;			/* that were written */
	int64_t at;			/* time of the checkpoint, ms since 1970 */
	struct err unread;		/* the first source that could not be read; code 0: all could */
};

int upkeep_checkpoint_epics(struct app *w, struct epic_pass *out, struct err *e);

/* ---- wip_pass ---- */

/*
 * A pass over the work trees of all agents in scope, alive or dead in their panes: what is in
 * progress there is committed to refs of their own (git/git.h). An agent that the ledger knows by
 * its tmux session, and an epic by its session, has its sprint's branch; any other one the ref of
 * its session. Every wip_interval, or at once for sessions that are named; 0: never. One pass at
 * a time.
 */
enum wip_status {
	WIP_COMMITTED,
	WIP_SAME,		/* nothing has changed since the last one */
	WIP_WANTED,		/* --dry-run: would be looked at */
	WIP_FAILED
};

struct wip_result {
	enum wip_status how;
	char *session;		/* foreign: escape it */
	struct wip wip;
	struct err error;	/* WIP_FAILED */
};

struct wip_pass {
	struct wip_result *v;
	size_t n, cap;
	/* false: it is not time yet, another pass is at work, or it is switched off */
	bool due;
};

/* 0, also when single ones failed; -1 with err. wip_pass_release in any case. names: n 0 means all. */
int wip_pass(
    struct app *w, const char *const *names, size_t n, bool dry_run, struct wip_pass *out, struct err *e);
void wip_pass_release(struct wip_pass *p);
const char *wip_status_name(enum wip_status how);	/* "committed", "unchanged", "wanted", "failed" */

/*
 * The ref on which the work of the epic's sprint at that place, from 0, is committed, as git's
 * commands take it, and when that was, ms since 1970; cwd: somewhere in its work tree. Heap;
 * NULL: there is none, or git does not tell.
 */
char *wip_sprint_ref(const struct epic *x, size_t i, const char *cwd, int64_t *at);

/*
 * For the prompt of an agent that comes back, a few lines: on which ref its work was committed,
 * when, and how it is taken back. Nothing when there is no such commit. agent: its id in the
 * ledger, or NULL. Best effort: what cannot be read is not told.
 */
void wip_describe(struct app *w, const char *agent, const char *session, const char *cwd, struct buf *out);

#endif
