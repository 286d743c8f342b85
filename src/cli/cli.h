#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/app.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "records/records.h"

struct scrub;
struct store;
struct timer;

/* ---- start ---- */

/*
 * `start ID`, which a recovery types into a pane's shell (recover/shell/start.h); no command for
 * people. It executes the agent in this process, or returns the exit status with a sentence on
 * standard error; -1: the arguments are others. It needs neither configuration nor environment.
 */
int cli_start(int argc, char **argv);
/* The same by the ticket's id, for one that a recovery of our own pane has written. */
int cli_start_here(const char *state, const char *id);

/* ---- cli ---- */

/* The command line after main has read it. Strings point into argv. */
struct cli {
	const char *command;
	const char *const *args;	/* behind the command */
	size_t n_args;
	const char *town, *config;
	const char **sockets;		/* heap */
	size_t n_sockets;
	const char *via, *scope, *conversation, *agent, *color, *since, *mode, *threshold, *output, *sprints,
	    *lease, *only, *with, *without, *passes;
	bool json, dry_run, yes, no_input, quiet, all, include_infra, names, print, report, check, no_known,
	    sanitize, transcript, verify, undelivered, fleet,
	    past, respawn, force, plain, live, help, version, context,
	    prompt, recover, undo;
	const char *json_format;	/* of --json: "stream", or NULL */
	/* one recovery of several, for restart: its counts and results are added here and not printed */
	json_t *collected;
	bool queued;			/* patrol: waits for the one at work, as the only one that waits */
	int verbose;			/* 0 warnings, 1 info, 2 debug */
};

/* Which commands and verbs take an option. */
enum {
	OPT_DRY = 1 << 0, OPT_ALL = 1 << 1, OPT_VIA = 1 << 2, OPT_SCOPE = 1 << 3, OPT_INFRA = 1 << 4,
	OPT_SOCKET = 1 << 5, OPT_TOWN = 1 << 6, OPT_CONFIG = 1 << 7, OPT_PRINT = 1 << 8,
	OPT_SINCE = 1 << 9, OPT_VERIFY = 1 << 10, OPT_UNDELIVERED = 1 << 11, OPT_LEASE = 1 << 12,
	OPT_SPRINTS = 1 << 13, OPT_OUTPUT = 1 << 14,
	OPT_ASK = 1 << 15,		/* --yes --no-input */
	OPT_LIST = 1 << 16,		/* --names --live --fleet */
	OPT_AGENT = 1 << 17,		/* --agent, whose screen; --transcript */
	OPT_HOOKS = 1 << 18,		/* --agent, whose hooks */
	OPT_SCRUB = 1 << 19,		/* --report --check --no-known --sanitize */
	OPT_RUNS = 1 << 20,		/* --mode --threshold */
	OPT_TALK = 1 << 21,		/* --conversation */
	OPT_SHOW = 1 << 25,		/* --context --prompt */
	OPT_RECOVER = 1 << 26,
	OPT_SETUP = 1 << 27,		/* --only --with --without --undo */
	OPT_PASSES = 1 << 28,
	OPT_PLACE = OPT_TOWN | OPT_CONFIG,
	OPT_TMUX = OPT_PLACE | OPT_SOCKET,
	OPT_ACT = OPT_DRY | OPT_ALL | OPT_ASK | OPT_VIA | OPT_SCOPE | OPT_INFRA | OPT_TALK
};

/*
 * One option. Of the table come the arrays of getopt_long, the refusal of an option that a command
 * does not take, help, the completions and a list in the manual (scripts/describe.c). A name has a
 * second row where its meaning depends on the command.
 */
struct cli_option {
	const char *name;		/* NULL ends the table */
	char letter;			/* '\0': none */
	const char *argument;		/* as help names it; NULL: it takes none */
	const char *words;		/* those that complete the argument, with | between; NULL: none */
	unsigned commands;		/* OPT_*; 0: every command takes it */
	enum { OPTION_FLAG, OPTION_COUNT, OPTION_TEXT, OPTION_LIST, OPTION_FORMAT } kind;
	/* its member of struct cli: bool, int, const char *, sockets; of a format a bool, then json_format */
	size_t at;
	const char *help;		/* a completion shows it up to the first ':' or ';' */
};

extern const struct cli_option cli_options[];

struct verb;
struct verb_job;

/* Where help lists a command. */
enum command_group {
	GROUP_RECOVER, GROUP_PROTECT, GROUP_HISTORY, GROUP_FILTERS, GROUP_PROGRAMS, GROUP_HELP
};

struct command {
	const char *name;		/* NULL ends the table; "" is the bare command */
	const char *summary;		/* one line, at most 56 bytes */
	int (*run)(const struct cli *cli, struct err *e);	/* exit status, or -1 with err */
	/* in place of run: with the context open, and tmux with OPT_SOCKET; not when it is disabled */
	int (*job)(struct verb_job *j, struct err *e);
	const struct verb *verbs;	/* in place of both; a row without a name ends them */
	enum command_group group;
	const char *args;		/* for usage, behind the verbs; NULL: it takes none */
	unsigned options;		/* OPT_*; a verb may take more */
	const char *details;		/* for help COMMAND, a paragraph a line; NULL: none */
	const char *examples, *statuses;	/* a line each; NULL: none */
	/*
	 * "records run": the name is another spelling of it, which neither help nor completions list; such
	 * rows are last. NULL: it is listed.
	 */
	const char *now;
	size_t flag;			/* the bool of struct cli that the name alone sets; 0: none */
	bool text_only;			/* it refuses --json */
	bool streams;			/* it takes --json=stream */
};

extern const struct command commands[];
/*
 * The command that the first words spell, and how many those are: 1, or 2 for "records run". NULL: no
 * command.
 */
const struct command *cli_find_command(const char *const *words, size_t n, size_t *taken);
/* With those of its verbs. */
unsigned cli_command_options(const struct command *c);
/* Appends "create|claim|…" and what else may stand behind the command. */
void cli_command_usage(const struct command *c, struct buf *out);

/*
 * Reads options and words, also behind a mistake: a later --json says how it is told. The command,
 * which takes what was given, or was asked for help or the version; NULL with err. cli->sockets is
 * the caller's in any case.
 */
const struct command *cli_parse(struct cli *cli, int argc, char **argv, struct err *e);
/* The name of an option that was given and that none of these OPT_* covers; NULL: there is none. */
const char *cli_option_not_taken(const struct cli *cli, unsigned taken);

int cmd_recover(const struct cli *cli, struct err *e);
int cmd_list(const struct cli *cli, struct err *e);
int cmd_parse(const struct cli *cli, struct err *e);
int cmd_scrub(const struct cli *cli, struct err *e);
int cmd_config(const struct cli *cli, struct err *e);
int cmd_install(const struct cli *cli, struct err *e);	/* and uninstall */
/*
 * What install timer would write now for this command ("snapshot", "patrol"). -1 as timer_check;
 * timer_release in any case.
 */
int cli_timer_today(const struct cli *cli, const struct app *w, const char *what, struct timer *t,
    struct err *e);
/* How far passes of the timer of snapshots are apart, ms. */
int64_t cli_timer_every(const struct app *w);
int cmd_patrol(const struct cli *cli, struct err *e);
/* A patrol that reconciles all records first, and recovers with --recover. */
int cmd_reconcile(const struct cli *cli, struct err *e);
int cmd_restart(const struct cli *cli, struct err *e);
int cmd_setup(const struct cli *cli, struct err *e);
/* Lists the kinds of records; for a word that is none of them, GT_USAGE. */
int cmd_records(const struct cli *cli, struct err *e);
int cmd_completion(const struct cli *cli, struct err *e);
/* How many agents are crashed, by records and the kernel alone; may start a patrol in the background. */
int cmd_status(const struct cli *cli, struct err *e);
/* Always silent, and 0: main.c sees to it. */
int cmd_hook(const struct cli *cli, struct err *e);
int cmd_doctor(const struct cli *cli, struct err *e);
int cmd_help(const struct cli *cli, struct err *e);
int cmd_version(const struct cli *cli, struct err *e);

/* The command that a mistyped word may have meant; NULL: none. */
const char *cli_nearest_command(const char *word);
/* GT_USAGE, with what may have been meant as hint; -1. */
int cli_unknown_command(const char *word, struct err *e);
int cli_unknown_option(const char *word, struct err *e);

/*
 * The words of the command line, with the pane's id in place of a target of tmux ("work:0.1"). One that
 * no server has stays as it is.
 */
struct cli_targets {
	char **words;
	size_t n;
};
void cli_targets_init(struct cli_targets *t, struct app *w, const struct cli *cli);
void cli_targets_release(struct cli_targets *t);

/* help for one command, or for the whole program (NULL), to `to`. */
void cli_print_help(FILE *to, const struct command *c);

/* ---- input ---- */

/*
 * The JSON object on standard input: at most max bytes, with the named members alone (fields NULL:
 * any). A terminal is refused. `command` is its name in errors ("run create"): GT_USAGE, name
 * "input". New reference, or NULL with err.
 */
json_t *cli_input_object(const char *command, size_t max, const char *const *fields, size_t n, struct err *e);

/* ---- open ---- */

/* The application context (app/app.h) from the command line. Nothing is made on disk. */

/* Configuration and town alone: what a command on records needs. */
int cli_open_config(const struct cli *cli, struct app *w, struct err *e);
/* The agents' profiles, with the tables of gt.toml. -1 closes the context. */
int cli_open_profiles(struct app *w, struct err *e);
/*
 * All of it, and the tmux servers: those of -L, else the town's, its legacy name, `default`, and
 * that of $TMUX. Signals are caught from here on.
 */
int cli_open_app(const struct cli *cli, struct app *w, struct err *e);
void cli_close_app(struct app *w);

/*
 * Brings events.jsonl in the state directory up to the store, if this run opened it. What cannot
 * be written is said on stderr and is no failure of the command: the store has it, and the next
 * run writes it.
 */
void cli_export_events(struct app *w);
/* At the end of a pass or recovery: upkeep_sweep, and its trouble as a warning. */
void cli_sweep(struct app *w);

/* enabled = false: says so on stderr, with --json in an object on stdout; the command then answers 0. */
bool cli_is_disabled(const struct cli *cli, const struct app *w);

/* Warns of a server that was left out (candidates.trouble), if there was one. */
void cli_warn_server(const struct err *trouble);
/* Warns of a state directory that no record is read from (town_state_check). */
void cli_warn_state(const struct app *w);
/*
 * Names the sessions whose dead pane was reset since the last call (app.reset), unless quiet: such
 * a pane is blank or in copy mode, and who looks at it must learn where its screen went.
 */
void cli_tell_reset(struct app *w);
/*
 * The same, and warns of a dead pane that nobody should look at (candidates.exposed), if there is
 * one.
 */
void cli_warn_exposed(struct app *w, const struct err *exposed);
void cli_warn_unwritten(const struct err *unwritten);	/* what was seen could not be kept; code 0: it was */

/* A path of the command line made absolute, for those who call us later from elsewhere, heap. */
char *cli_absolute_path(const char *path);

/* --since as ms since 1970: that long ago, 0 without it. */
int cli_parse_since(const struct cli *cli, int64_t *since, struct err *e);

/* Is --via, if it was given, one of its words? */
int cli_check_via(const struct cli *cli, struct err *e);

/* The error for a command that takes no arguments; returns -1. */
int cli_no_arguments(const struct cli *cli, struct err *e);

/* The signal that asked us to stop, 0: none. */
int cli_stop_signal(void);

/* ---- output ---- */

/*
 * How things are put to a person: words and progress on stderr, data on stdout. Foreign text is
 * escaped here, nowhere else.
 */
struct cli_output {
	bool quiet;
	bool json;
	bool color;		/* on stderr */
	bool live;		/* stderr is a terminal: a waiting line may be rewritten in place */
	size_t waiting;		/* so many such lines stand there */
	const char *waits_for;	/* what was last sent to the pipe; NULL: nothing */
	int64_t waiting_told;	/* at that time of the wait, ms */
	int verbose;
	int log;		/* descriptor of log_file, -1: none */
	/*
	 * -1, or where the lines of a recovery that runs beside others go, as JSON, instead of stderr; of
	 * its steps only the first and the last are told then, unless verbose
	 */
	int pipe;
};

void output_init(struct cli_output *s, const struct cli *cli);
void output_release(struct cli_output *s);
/* Opens log_file (0600, appended to). What goes there never holds scrollback: only output_log writes it. */
int output_open_log(struct cli_output *s, const char *path, struct err *e);
/* A line with the time in front, into log_file; with -v to stderr too. Foreign parts must be escaped. */
void output_log(struct cli_output *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * The same with a level: a warning goes to stderr always, info with -v, debug with -vv; all but
 * debug, and that with -vv, into log_file.
 */
enum output_level { OUTPUT_WARNING, OUTPUT_INFO, OUTPUT_DEBUG };
void output_level(struct cli_output *s, enum output_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A whole line to stderr, unless quiet; on a terminal it is broken at blanks. */
void output_line(struct cli_output *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Words in lines of `width` columns. The first line begins in that column, the others get its indent. */
void output_wrapped(FILE *to, const char *text, int column, size_t width);
/*
 * A line: head, then text from that column on, or behind a longer head. On a terminal it is broken at blanks
 * where it would pass the edge, and goes on in that column.
 */
void output_fitted(FILE *to, const char *head, const char *text, int column);
/* output_line, never broken: what a person may want to copy. */
void output_exact(struct cli_output *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "✓ …" in green; only for what is proven. */
void output_done(struct cli_output *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "! …" in yellow. Not silenced by quiet. */
void output_warning(struct cli_output *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* May that descriptor get colours: --color, else on a terminal without NO_COLOR and TERM=dumb. */
bool output_has_color(const struct cli *cli, int fd);
/* Does the user's locale have UTF-8? (Ours always has.) */
bool output_is_utf8(void);
/* As wide in ASCII: signs of ours by their like, "?" for each other column. */
void output_ascii(struct buf *out, const char *text);
/* Text for people: as it is, or in ASCII where the user's locale has no UTF-8. */
void output_text(FILE *to, const char *text);

/* Rows at the bottom of a terminal, until the next line of any kind, or the next rows; nothing elsewhere. */
void output_rows(struct cli_output *s, const char *const *rows, size_t n);

/* Columns of the terminal behind a descriptor; 0 when there is none, or one too narrow to be true. */
size_t output_columns(int fd);

/* "2,341" · "2.3k" from 1,000 on, else "891" · "12 lines" / "1 line" */
void output_thousands(struct buf *out, size_t n);
void output_short(struct buf *out, size_t n);
/* Foreign text, at most width columns. */
void output_foreign(struct buf *out, const char *text, size_t width);
/* The same as a string; valid until the eighth call after this one. */
const char *output_shown(const char *text, size_t width);
struct candidate;
/* ":WINDOW.PANE" of its pane; of one that is gone and whose place nobody kept " %ID". */
void output_place(struct buf *out, const struct candidate *c);
/* Its session's name, and its place where other agents have that name. Valid as above. */
const char *output_name(const struct candidate *c, size_t width);

/*
 * The shapes that --json prints, in schemas/ and gt-recover-json(5): snake_case, times in RFC 3339,
 * durations in members that end in _ms. Version 1 had times in ms since 1970.
 */
#define OUTPUT_SCHEMA 2

/*
 * Prints it to stdout; takes the reference. Members that are times by their name (those that end in _at,
 * and a few more) are given in ms since 1970 and printed in RFC 3339, null where they are 0.
 */
void output_json(json_t *v);
/*
 * --json=stream: an object on a line of its own, at once, with its event in front of v's members; takes
 * the reference.
 */
void output_event(const char *event, json_t *v);
/*
 * output_event with --json=stream, else one object with schema_version in front of v's members; takes
 * the reference.
 */
void output_event_or_object(const struct cli *cli, const char *event, json_t *v);
/* The same of what other programs are to read as it was stored. */
void output_stored_json(json_t *v);
/* An error as every object of --json has it, new reference; null without one. */
json_t *output_error_json(const struct err *e);
/* A new object with schema_version in it. */
json_t *output_object(void);

/* ---- verb ---- */

/* What a command or verb works in. A verb is one durable step of the ledger: `session record`. */
struct verb_job {
	struct cli cli;			/* args: what is behind the command, or its verb */
	struct app w;
	/* NULL: there is none yet, and the verb reads only, or is to change nothing */
	struct store *store;
	struct cli_output say;
	const struct verb *verb;	/* NULL: a command without verbs; it has no store, input and now */
	json_t *input;			/* the object on standard input; NULL: none was read */
	struct timestamp now;		/* the store's clock, after the input was read */
};

/*
 * A member of a record, and what a verb reads under its name: from an argument, or as a member of
 * the JSON object on standard input. It may be a column of the list. --json has the members in the
 * order of the fields.
 */
struct verb_field {
	const char *name;		/* NULL: a column that --json lacks */
	enum {
		FIELD_TEXT,		/* char *; NULL is null */
		FIELD_CHARS,		/* char[] */
		FIELD_CHARS_OR_NONE,	/* the same; left out when it is "" */
		FIELD_NUMBER,		/* int64_t */
		FIELD_NUMBER_OR_NULL,	/* the same; 0 is null */
		FIELD_SECONDS,		/* int64_t in ms, shown and read in seconds */
		FIELD_FLAG,		/* bool */
		FIELD_CALL,		/* what `call` returns; a new reference */
		FIELD_INPUT,		/* a text that is read and not shown */
		FIELD_INPUT_NUMBER
	} type;
	size_t at;			/* in the record */
	json_t *(*call)(const void *record, const struct verb_job *j);
	/* verb.in of those that read it, that need it, and that check it themselves */
	unsigned in, required, raw;
	unsigned place;			/* of the column, from 1; 0: none */
	struct {
		const char *head;
		size_t least;		/* columns of the terminal that it keeps; 0: it is never cut */
		size_t most;		/* 0: no limit */
		bool right;		/* flush right */
		bool maybe;		/* left out when no row has anything there */
	} column;
	/* what the value is: text or number, ms since 1970, seconds, a host's id */
	enum { CELL_VALUE, CELL_AGE, CELL_DURATION, CELL_HOST } cell;
};

struct verb_record {
	const char *one, *many;		/* members of --json */
	const char *none;		/* said of a list without a row; NULL: the verb says it */
	const struct verb_field *fields;
	size_t n;
	size_t input_max;		/* bytes of a JSON object */
};

struct verb {
	const char *name;
	int (*run)(struct verb_job *j, struct err *e);	/* exit status, or -1 with err */
	size_t min, max;		/* arguments */
	const char *needs;		/* what the first of them is; NULL: "an id" */
	bool writes;
	unsigned options;		/* OPT_*, beside its command's; with OPT_SOCKET it looks at tmux */
	const struct verb_record *record;	/* whose fields it reads or shows; NULL: none */
	unsigned in;			/* its bit: with `min` arguments it reads JSON; 0: it never does */
	const char *arguments;		/* the fields that its arguments are, with blanks between */
};

/* What was read, by the field's name: NULL or 0 when it was not given. Borrowed. */
const char *cmd_verb_text(const struct verb_job *j, const char *name);
int64_t cmd_verb_number(const struct verb_job *j, const char *name);

/* A record as --json shows it. New reference. */
json_t *cmd_verb_object(const struct verb_job *j, const void *record);
/* Prints it, with --json alone. */
void cmd_verb_show(const struct verb_job *j, const void *record);
/* With --json prints an object whose member `name` is v; takes the reference. */
void cmd_verb_json(const struct verb_job *j, const char *name, json_t *v);

#define VERB_COLUMNS 10

/*
 * Records as a table, or with --json as an array. Columns are as wide as what is in them, under a
 * head, without blanks at the end of a line. On a terminal that is too narrow the widest are cut,
 * as far as they may be; in a pipe nothing is cut but to `most`.
 */
struct verb_list {
	const struct verb_job *j;
	json_t *array;			/* NULL: the table */
	const struct verb_field *shown[VERB_COLUMNS];
	size_t n_columns;
	char **cells;			/* row after row */
	size_t n_cells, cap;
	struct fleet fleet;
	size_t n;			/* records */
};

/* 0 or -1; end it in any case. */
int cmd_verb_list_begin(struct verb_list *l, const struct verb_job *j, struct err *e);
void cmd_verb_list_add(struct verb_list *l, const void *record);
/* Prints it when ret is 0; the exit status, or -1. */
int cmd_verb_list_end(struct verb_list *l, struct verb_job *j, int ret);
/* The whole list of n records of that size. */
int cmd_verb_list(struct verb_job *j, const void *records, size_t n, size_t size, struct err *e);

extern const struct verb run_verbs[], runner_verbs[], session_verbs[], agent_verbs[], message_verbs[],
    epic_verbs[], checkpoint_verbs[], lock_verbs[], workspace_verbs[],
    wip_verbs[];

int cmd_arm(struct verb_job *j, struct err *e);
int cmd_disarm(struct verb_job *j, struct err *e);
int cmd_log(struct verb_job *j, struct err *e);
int cmd_release(struct verb_job *j, struct err *e);
int cmd_show(struct verb_job *j, struct err *e);
int cmd_snapshot(struct verb_job *j, struct err *e);
int cmd_startup(struct verb_job *j, struct err *e);
int cmd_stats(struct verb_job *j, struct err *e);

/*
 * Runs a command with a job or with verbs: opens what it needs, and of a verb reads the input and
 * exports the events. enabled = false: it answers as all commands do (cli_is_disabled), with 0 and
 * without an id.
 */
int cmd_verb_run(const struct cli *cli, const struct command *c, struct err *e);

#endif
