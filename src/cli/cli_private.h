#ifndef CLI_CLI_PRIVATE_H
#define CLI_CLI_PRIVATE_H

#include "cli/cli.h"
#include "detect/detect.h"
#include "recover/recover.h"

struct armed_list;
struct batch_outcome;
struct bead;
struct run_recovery;
struct startup;
struct workspace_opened;

/* ---- batch ---- */

/*
 * One round of recoveries: look, choose, recover one after the other, count. The bare command and
 * patrol share it; what is asked and who is told stays with them.
 */
struct cli_batch {
	const struct cli *cli;
	struct app w;
	struct cli_output say;
	struct candidate_list all;
	struct bead *beads;		/* these four: one for each of all */
	struct refusal *no;
	bool *chosen;
	bool *later;			/* put off: somebody types in its pane */
	bool named;			/* a person chose: consent */
	/* id of the recovery whose agent this process becomes at its end (recovery.start_here), or "" */
	char execute[21];
	bool recorded;			/* also agents that only the ledger knows (detect/detect.h) */
	/* everything there is: halted after two agents that were not logged in, and summed up */
	bool mass;
	/* what is refused for typing is put off until the end and tried again, once */
	bool waits;
	json_t *results;		/* output_recovery_json; of --all, the refused ones stand last */
	size_t untried;			/* those */
	/* again: of failed, those that may be tried again at once */
	size_t found, recovered, unacknowledged, refused, failed, again;
	size_t yielded;			/* of failed, those that are in other hands, or gone */
	size_t logins;			/* agents that came up and were not logged in */
	struct buf missing;		/* for the sum: who did not come back, with the next step */
	size_t begun, total;		/* chosen agents: those begun in earlier turns, and all */
	/*
	 * Called after each that was tried, or was not because of the login, perhaps in a process of its
	 * own (cli_batch_overlap); e has code 0 when it succeeded. NULL: nobody asks.
	 */
	void (*ended)(struct cli_batch *r, const struct recovery *one, const struct err *e);
	void *arg;			/* of whoever set one of these three */
	/*
	 * Startup's way (cmd_startup_restart), NULL for others. attempt: in the place of cli_batch_try, in a
	 * process of its own; out->later: there is nothing to do. attempted: then, in this one.
	 */
	void (*attempt)(struct cli_batch *r, size_t i, struct batch_outcome *out);
	void (*attempted)(struct cli_batch *r, size_t i, const struct batch_outcome *out);
};

/* World, log_file. -1 with err; cli_batch_close in any case. */
int cli_batch_open(struct cli_batch *r, const struct cli *cli, struct err *e);
/* Detects, reads the beads, asks the guards. What an earlier look of the same round found is forgotten. */
int cli_batch_detect(struct cli_batch *r, struct err *e);
/*
 * Chooses what no guard refuses and what an earlier recoverer left half done; returns how many,
 * those included that are put off.
 */
size_t cli_batch_choose(struct cli_batch *r);
/* Crashed ones that cli_batch_choose leaves alone become part of the sum, and of the ledger. */
void cli_batch_count_refused(struct cli_batch *r);
/*
 * Recovers the chosen ones, `spacing` between two starts, `parallel` at once. Then waits, for a minute
 * at most, until a minute has passed since the last key in the panes of those that were put off, looks again
 * (cli_batch_detect) and tries them. Returns the exit status for all of them, GT_NOTHING when
 * none was chosen.
 */
int cli_batch_recover(struct cli_batch *r);

/* What became of one that was tried. */
struct batch_outcome {
	struct err e;			/* code 0: it is back */
	bool started;			/* an agent was started, well or not */
	bool later;			/* put off: typed and the pane (id, server) are as it was seen */
	bool asks;			/* its conversation is in doubt, and a person is there */
	int64_t typed, server_pid, server_start;
	char pane[24];			/* of a missing session that was made again, else "" */
	json_t *result;			/* output_recovery_json; NULL: put off */
};
/*
 * Recovers all.v[i] and says so. place: in r->total, from 1; 0 for the only one. beside: in a process of
 * its own, where no person is asked.
 */
void cli_batch_try(struct cli_batch *r, size_t i, size_t place, bool beside, struct batch_outcome *out);
/* Counts it; its result is the caller's. Returns the exit status that this one alone would have. */
int cli_batch_note(struct cli_batch *r, size_t i, const struct batch_outcome *o);
/* Not even tried: what befell those before it would befall it. As cli_batch_try. */
void cli_batch_refuse(struct cli_batch *r, size_t i, const struct refusal *no, struct batch_outcome *out);
/*
 * May the next one start: is there memory for what it used before (256 MiB where that is less or not
 * known), beside `promised` bytes? Looks once and says what it waits for, *since being the time of the
 * first look (0: none yet); after ready_timeout it starts and the next one waits anew, or,
 * where the kernel killed it for want of memory and no person chose it, it is refused by *no.
 */
bool cli_batch_has_memory(
    struct cli_batch *r, size_t i, int64_t promised, int64_t *since, const struct refusal **no);
int64_t cli_batch_memory_of(struct cli_batch *r, size_t i);
extern const struct refusal cli_no_login;
#define LOGINS_MOST 2			/* then the login that all of them use is broken */
/*
 * Recovers those of `list`, at most `parallel` at once, each in a process of its own; the first of each
 * credential file alone. ended[i]: what became of all.v[i]; heap, all.n; result NULL: put off, to be
 * asked (its place in the list is left to the caller) or not begun for a signal.
 */
struct batch_outcome *cli_batch_overlap(struct cli_batch *r, const size_t *list, size_t n, int *last);
/* The line with the counts, where more than one was tried or everything was meant. */
void cli_batch_print_sum(struct cli_batch *r, size_t tried);
/*
 * The same for --json, with results[] where nothing was printed of them yet: new reference. Then printed, or
 * added to what restart collects; takes the reference.
 */
json_t *cli_batch_json(const struct cli_batch *r);
void cli_batch_end_json(const struct cli_batch *r, json_t *v);
/*
 * What cli_batch_recover would do, on stdout. more: further members for --json, or NULL; takes the
 * reference.
 */
void cli_batch_print_plan(struct cli_batch *r, json_t *more);
void cli_batch_close(struct cli_batch *r);

/*
 * For agents whose sessions or panes are gone: builds these again where the kept workspace
 * (workspace/workspace.h) has them, for the recoveries that follow. What fails is a warning.
 */
struct cli_rebuild {
	struct app *w;
	struct cli_output *say;
	const struct candidate_list *all;
	const bool *chosen;		/* of all; NULL: every one */
	bool dry_run;			/* says what would be built */
	bool whole;			/* where their server ended all of its workspace, once */
	bool unattended;		/* only of servers that live, or whose cause of end is known */
};
void cli_rebuild(const struct cli_rebuild *ask);
/* For the chosen ones. */
void cli_batch_rebuild(struct cli_batch *r, bool whole, bool unattended);

/*
 * Where something is to come back on a server that is gone, starts it first; waits for a restore by
 * tmux-resurrect on any of them. desk: a workspace is to come back; else agents of r. *opened is for
 * cli_close_servers. True: there was one, so detect again.
 */
bool cli_open_servers(struct cli_batch *r, bool desk, struct workspace_opened **opened);
void cli_close_servers(struct cli_batch *r, struct workspace_opened *opened);

/*
 * Each tmux server that ended with agents that are missing since: once, with their number and the
 * cause. On stderr where the cause is known or it took several of them; as an array in any case.
 */
void cli_warn_ended(struct app *w, const struct candidate_list *all);
json_t *cli_ended_json(struct app *w, const struct candidate_list *all);

/* Somebody sits there and may be asked. */
bool cli_has_person(const struct cli *cli);

/* ---- list ---- */

/*
 * What the objects of sessions[] of `list --json`, of plans and of reconcile need; begin fills it, end
 * releases it.
 */
struct list_json {
	struct app *w;
	struct scrub *scrub;		/* NULL until it is wanted */
	bool brief;			/* without what costs a look at the transcript */
	struct armed_list armed;
};
void cmd_list_json_begin(struct list_json *x, struct app *w);
void cmd_list_json_end(struct list_json *x);
/* One of them; bead and no are the candidate's. New reference. */
json_t *cmd_list_json(struct list_json *x, const struct candidate *c, const struct bead *bead,
    const struct refusal *no);
/*
 * The beads of the dead and zombie ones; what cannot be read stays empty (the recovery itself
 * warns), and what bd cannot read is said on stderr. beads: all->n zeroed ones.
 */
int cmd_list_beads(struct app *w, const struct candidate_list *all, struct bead *beads, struct err *e);

/*
 * The table of `list` on stdout: recoverable ones first; below it why the others are refused. Of the
 * arrays there is an element for each of all; armed may be NULL. summary: also how many live, and what
 * to do next.
 */
struct list_table {
	const struct cli *cli;
	struct app *w;
	const struct candidate_list *all;
	const struct bead *beads;
	const struct refusal *no;
	const struct armed_list *armed;
	const bool *shown;
	bool summary;
};
void cmd_list_table(const struct list_table *t);

/* Who is armed, as far as it can be read; nobody without a store. armed_list_release. */
void cmd_list_armed(struct app *w, struct armed_list *out);

/* `list --past [TEXT]`: recent conversations, with the command that resumes each. GT_OK, -1. */
int cli_past(const struct cli *cli, struct app *w, struct err *e);
/* On stderr: the way to it, where nothing else was found. */
void cli_past_hint(void);
/*
 * No tmux server was named and none runs, which is no error: whoever asks what is there hears
 * that nothing is. e is cleared.
 */
bool cli_no_server(const struct app *w, struct err *e);

/*
 * An agent in the words of a row, escaped and short. Target: what names it on the command line, the
 * session, or session:window.pane where others have its name; valid until the fourth call after this
 * one. State: static.
 */
const char *output_target(const struct candidate *c);
const char *cmd_list_state(const struct candidate *c, bool refused);
/* What a state or a cause of the records and of --json is called there; what is neither, as it is. */
const char *cmd_list_word(const char *name);
void cmd_list_when(struct buf *out, const struct candidate *c);	/* "5m ago", of a living one "5m", or "-" */
void cmd_list_cause(struct buf *out, const struct candidate *c);
void cmd_list_where(struct buf *out, const struct candidate *c);	/* its directory */

/* ---- picker ---- */

/*
 * The picker on the whole screen of a terminal: sets r->chosen of those taken and returns how many, 0
 * for none. CLI_PICKER_UNFIT, and nothing was shown: --plain, no terminal on both ends, or one that is
 * not capable (TERM=dumb, unknown, too small).
 */
#define CLI_PICKER_UNFIT (-2)
int cli_picker_run(struct cli_batch *r, const bool *offered);

/*
 * Which candidates a person means.
 */

/*
 * The one that a word on the command line names: a session's exact name, or a pane id. NULL with
 * err: "unknown-session", "ambiguous" (GT_USAGE).
 */
struct candidate *cli_pick_named(struct candidate_list *all, const char *word, struct err *e);
bool cli_pick_is_there(struct app *w, const char *word);	/* such a session or pane exists */
/*
 * Is one of those that the words name in the middle of a change, as its shell is for a moment after
 * the agent was killed? Without words: does one still end whose server is gone? Waits 100 ms then, for
 * the caller to detect again. *until: 0 before the first call; 2 s after it, without words 5 s, the
 * answer is no.
 */
bool cli_pick_again(struct app *w, struct candidate_list *all, const char *const *words, size_t n,
    int64_t *until);

/*
 * Says which conversation is the candidate's: an id of its directory, or "none"; NULL changes nothing.
 * "no-conversation" (GT_USAGE).
 */
int cli_choose_conversation(struct candidate *c, const char *id, struct err *e);
/*
 * Lists the conversations of a recovery that was refused as "ambiguous", on stderr. ask: asks on the
 * terminal which it is, too. True: one was chosen, or its screen alone, and the candidate says so.
 * *listed: the same for programs, a new reference.
 */
bool cli_ask_conversation(struct candidate *c, struct gathered *g, bool ask, json_t **listed);

/*
 * By what it will be started, redacted: for the plan, not for a log. *why: a sentence's end. False: it is
 * not started, or nobody knows.
 */
bool cli_plan_command(struct app *w, const struct candidate *c, struct buf *out, const char **why);
/* What a person answered last in this run. */
struct command_answer {
	const struct profile *profile;	/* of which agent; NULL: nobody was asked */
	char *command;
	bool kept;			/* in gt.toml: the next one is not asked about */
};
/*
 * Where its own command was never seen, asks a person by what it is to be started, and offers to remember
 * a new answer in gt.toml. A line of its screen is only shown. *last: the answer for the one before, which
 * Enter repeats.
 */
void cli_ask_command(struct app *w, struct candidate *c, struct command_answer *last);
void cli_answer_release(struct command_answer *a);

/*
 * The picker without a capable terminal: the numbered list and the question on stdout, an answer from
 * standard input. chosen[i] is set for those taken; returns how many, 0 for none (also at the end of
 * input), -1 with err when the answers made no sense (three times, or once when nobody sits
 * there).
 */
int cli_pick_ask(
    const struct candidate_list *all, const bool *offered, bool *chosen, bool terminal, struct err *e);

/*
 * "1", "1-3", "1,3 5", "all", "none", and names of `offered`, as on the command line: sets chosen; -1
 * when it is none of these. n: how many are offered.
 */
int cli_pick_parse(const char *answer, const struct candidate *const *offered, size_t n, bool *chosen);
/* How long ago it crashed, in brackets, as the list and the plan show it; appended. */
void cli_pick_age(struct buf *out, const struct candidate *c);

/* ---- progress ---- */

/* How a recovery is told, to people while it goes on and to programs when it is over. */

/* For recovery.tell; arg is the struct cli_output. */
void output_progress(struct recovery *r, enum recovery_progress what, void *arg);
/*
 * "Attach with: tmux attach -t …" that works for any name: = is exact, and the shell must not
 * take it apart. From within the same server: "Switch to it with: tmux switch-client …".
 */
void output_attach_hint(struct cli_output *s, const struct pane *p);
/* To s->pipe; takes the reference. */
void output_send(struct cli_output *s, json_t *line);
/* One element of results[] of a recovery's --json; e: code 0 when it succeeded. New reference. */
json_t *output_recovery_json(const struct recovery *r, const struct err *e);

/* ---- startup ---- */

/* What the command and patrol share: how a startup (recover/upkeep/upkeep.h) is told. */

/*
 * What was changed, a line a part; nothing when all was true. starts: who is to be brought back
 * is told one by one, as it is started.
 */
void cmd_startup_report(
    struct cli_output *s, const struct run_recovery *how, const struct startup *x, bool starts);

/* What became of one of startup's `back`. */
struct startup_restarted {
	bool tried;
	struct err no;			/* code 0: it is back */
	char id[21];			/* of its attempt, "" for none */
};
/*
 * Restarts those that are still SUSPENDED, as cli_batch_recover does, and reports each.
 * all: what detect found; with known false, those of whom it found something are left out. The
 * array is of back.n, heap.
 */
struct startup_restarted *cmd_startup_restart(struct app *w, struct cli_output *s, const struct startup *x,
    const struct candidate_list *all, bool known);

/* New reference. */
json_t *cmd_startup_json(const struct run_recovery *how, const struct startup *x);

#endif
