#ifndef CLI_CLI_PRIVATE_H
#define CLI_CLI_PRIVATE_H

#include "cli/cli.h"
#include "detect/detect.h"
#include "recover/recover.h"

struct armed_list;
struct bead;
struct run_recovery;
struct startup;

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
	json_t *results;		/* output_recovery_json of each that was tried */
	/* again: of failed, those that may be tried again at once */
	size_t found, recovered, unacknowledged, refused, failed, again;
	size_t logins;			/* agents that came up and were not logged in */
	/*
	 * Called after each that was tried, or was not because of the login; e has code 0 when it
	 * succeeded. NULL: nobody asks.
	 */
	void (*ended)(struct cli_batch *r, const struct recovery *one, const struct err *e);
	void *arg;			/* of whoever set ended */
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
 * Recovers the chosen ones, `spacing` between two starts. Then waits, for a minute at most, until
 * a minute has passed since the last key in the panes of those that were put off, looks again
 * (cli_batch_detect) and tries them. Returns the exit status for all of them, GT_NOTHING when
 * none was chosen.
 */
int cli_batch_recover(struct cli_batch *r);
/* The line with the counts, where more than one was tried or everything was meant. */
void cli_batch_print_sum(struct cli_batch *r, size_t tried);
/* What cli_batch_recover would do, on stdout. */
void cli_batch_print_plan(struct cli_batch *r);
void cli_batch_close(struct cli_batch *r);

/* Somebody sits there and may be asked. */
bool cli_has_person(const struct cli *cli);

/* ---- list ---- */

/* One element of sessions[] of `list --json` (DESIGN 7). New reference. */
json_t *cmd_list_json(const struct candidate *c, const struct bead *bead, const struct refusal *no,
    bool armed);
/*
 * The beads of the dead and zombie ones; what cannot be read stays empty (the recovery itself
 * warns), and what bd cannot read is said on stderr. beads: all->n zeroed ones.
 */
int cmd_list_beads(struct app *w, const struct candidate_list *all, struct bead *beads, struct err *e);

/* A row of `list` for one that is refused, with the reason and the hint. */
void cmd_list_print_refused(
    const struct candidate *c, const struct bead *bead, const struct refusal *no);

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

/* ---- picker ---- */

/*
 * Which candidates a person means.
 */

/*
 * The one that a word on the command line names: a session's exact name, or a pane id. NULL with
 * err: "unknown-session", "ambiguous" (GT_USAGE).
 */
struct candidate *cli_pick_named(struct candidate_list *all, const char *word, struct err *e);

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
/*
 * Where its own command was never seen, asks a person by what it is to be started, and offers to remember
 * the answer in gt.toml. A line of its screen is only shown.
 */
void cli_ask_command(struct app *w, struct candidate *c);

/*
 * The picker of seed S2: the numbered list and the question on stdout, an answer from standard
 * input. chosen[i] is set for those taken; returns how many, 0 for none (also at the end of
 * input), -1 with err when the answers made no sense (three times, or once when nobody sits
 * there).
 */
int cli_pick_ask(
    const struct candidate_list *all, const bool *offered, bool *chosen, bool terminal, struct err *e);

/* "1", "1-3", "1,3 5", "all", "none": sets chosen; -1 when it is none of these. n: how many are offered. */
int cli_pick_parse(const char *answer, size_t n, bool *chosen);
/* How long ago it crashed, in brackets, as the list and the plan show it; appended. */
void cli_pick_age(struct buf *out, const struct candidate *c);

/* ---- progress ---- */

/* How a recovery is told, to people while it goes on and to programs when it is over. */

/* For recovery.tell; arg is the struct cli_output. */
void output_progress(struct recovery *r, enum recovery_progress what, void *arg);
/*
 * "Attach with: tmux attach -t …" that works for any name: = is exact, and the shell must not
 * take it apart.
 */
void output_attach_hint(struct cli_output *s, const struct pane *p);
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
 * Brings back who is still SUSPENDED, one after the other, `spacing` apart, and tells of each.
 * all: what detect found; with known false, those of whom it found something are left out. The
 * array is of back.n, heap.
 */
struct startup_restarted *cmd_startup_restart(struct app *w, struct cli_output *s, const struct startup *x,
    const struct candidate_list *all, bool known);

/* New reference. */
json_t *cmd_startup_json(const struct run_recovery *how, const struct startup *x);

#endif
