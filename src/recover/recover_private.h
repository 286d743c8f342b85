#ifndef RECOVER_RECOVER_PRIVATE_H
#define RECOVER_RECOVER_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recover/recover.h"
#include "transcript/transcript.h"

struct activity;
struct app;
struct buf;
struct candidate;
struct clean_text;
struct conversation;
struct err;
struct exchange;
struct gathered;
struct orphans;
struct pane;
struct profile;
struct scrub;
struct town_list;

/* ---- agent_probe ---- */

/*
 * One look at an agent that was started: is it there, what does it do, has it our prompt? Reads only.
 */
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
	bool by_note;		/* sessions/<pid>.json told a state, too */
	const char *dialog; /* of PROBE_DIALOG: what it is, "a permission dialog"; the profile's, or static */
	bool marked;		/* our prompt was pasted into this pane (PASTE_MARK) */
	int status, signal;	/* of PROBE_DIED; -1 unknown */
	bool id_on_screen;
	bool login;		/* its screen says that it is not logged in */
	bool shell_back;		/* no agent, and an idle shell in its place */
};

/*
 * since_ms (since 1970): transcripts that did not change after it are not read.
 */
int recovery_probe(struct app *w, const struct pane *was, const struct profile *p, const char *recovery_id,
    int64_t since_ms, struct agent_probe *out, struct err *e);
void recovery_probe_release(struct agent_probe *l);

/* ---- deliver ---- */

/* ---- saved_context ---- */

/*
 * What a recovery gathered, on disk: <state>/contexts/<recovery id>.json, 0600, clean text only.
 * It is written before anything that can wipe the pane, and read again when the prompt has to be
 * pasted and when the recovered agent crashes, too.
 */
int gather_save(
    struct app *w, const char *session, const char *recovery_id, const struct gathered *g, struct err *e);

/* 1 found, 0 not there any more, -1 err. talk (overwritten) and prompt (appended to) may be NULL. */
int gather_load_saved(
    struct app *w, const char *recovery_id, struct conversation *talk, struct buf *prompt, struct err *e);

/* ---- scrub_again ---- */

/* ---- unfinished ---- */

/*
 * What was half done when the agent died, and what became of it, as warnings with names.
 * gather_unfinished is pure: conversation in, list out. gather_unfinished_report looks at files;
 * the processes are given to it. Nothing is changed or ended.
 */
enum unfinished_kind {
	/* Write, Edit, Update, MultiEdit, NotebookEdit, or what other agents call them, without a result */
	UNFINISHED_FILE,
	UNFINISHED_COMMAND,		/* Bash without a result */
	UNFINISHED_BACKGROUND,	/* Bash that went on in the background; one of the newest three */
	UNFINISHED_AGENTS,		/* sub-agents */
	UNFINISHED_PERMISSION,	/* waited for a permission */
	UNFINISHED_QUESTION,		/* a question to the person without an answer */
	UNFINISHED_PLAN,		/* a plan that nobody had agreed to */
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

/*
 * Oldest first. What an earlier recovery had told (SOURCE_EARLIER) counts only when that agent
 * ended before it had read it (untold).
 */
void gather_unfinished(const struct conversation *talk, bool untold, struct unfinished_list *out);

/*
 * Writes that the agent's hooks told the beginning of and not the end (records/hooks/hooks.h),
 * and of which the conversation tells nothing: those of sub-agents, or of a screen that was lost.
 * In *talk, which is the caller's, as calls that run, and behind the others in out while there is
 * room. The paths are scrubbed. A write in out that the hooks know to be over is dropped.
 */
void gather_unfinished_add(const struct activity *told, const struct conversation *known, const char *cwd,
    struct scrub *s, struct conversation *talk, struct unfinished_list *out);

struct unfinished_context {
	const char *cwd;		/* paths of a screen are relative to it; NULL: not known */
	int64_t crashed_at;		/* ms since 1970; 0 unknown */
	const struct clean_text *git;	/* git_state's lines; NULL: none */
	const struct orphans *orphans;	/* NULL: nobody looked */
};

/* One line each, clean; appended to out. */
void gather_unfinished_report(
    const struct unfinished_list *l, const struct unfinished_context *place, struct town_list *out);

/*
 * The whole of it for a candidate: `session_id` is its conversation's id or NULL, `git`
 * git_state's text or NULL. Where /proc cannot be read the warnings say less.
 */
void gather_unfinished_warnings(struct app *w, const struct candidate *c, const struct conversation *talk,
    bool untold, const char *session_id, const struct clean_text *git, struct scrub *s,
    struct town_list *out);

/* ---- wait_for_ack ---- */

/*
 * The waiting half of a recovery: from the start of an agent until its own record shows our id
 * and an answer after it, and the ways in which an attempt ends.
 */

/*
 * Step "verify". Looks at the agent until the proof is there, and pastes once when the start
 * command ate the prompt. Errors: "died", "login", "model-error", "gone", "no-proof"; at the end
 * of the timeouts "dialog", "draft", "not-ready", "unacknowledged"; "interrupted". PLAN_TYPING, the
 * attempt stays open: the prompt must be pasted, and a key was typed there within the last minute.
 */
int recovery_wait_for_ack(struct recovery *r, struct err *e);

void recovery_report(struct recovery *r, enum recovery_progress what);
/* The refusal as an error, GT_REFUSED. -1. */
int recovery_refuse(const struct refusal *no, struct err *e);
/*
 * The option that was set on a zombie's pane; before the commit that ends the attempt, so that no
 * crash of ours forgets it.
 */
void recovery_reset_option(struct recovery *r, struct attempt *a);
/* The error "interrupted" of a run that a person stopped. -1. */
int recovery_interrupted(struct err *e);

#endif
