#include <getopt.h>
#include <jansson.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/spawn.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "scrub/scrub.h"
#include "store/store.h"

/*
 * Global options, the command table, the exit status. The table is the program's contents: each
 * line is a command of cli/.
 */
const struct command commands[] = {
	{ "", cmd_recover, OPT_TMUX | OPT_ACT | OPT_DRY, "[SESSION...]",
	    "bring crashed agents back; without SESSION: choose from a list",
	    "Names a session, or a pane by its id (%5). Without a name it lists what can be recovered and "
	    "asks; away from a terminal it\n"
	    "prints the list. --all takes everything that no guard refuses: it shows the plan and asks once, "
	    "or needs --yes.\n"
	    "--dry-run shows the plan and changes nothing. --all waits up to a minute where somebody types.\n"
	    "Naming a session is consent: somebody may type in it, it may have been stopped on purpose, or\n"
	    "belong to Gas Town's infrastructure." },
	{ "list", cmd_list, OPT_TMUX | OPT_LIST, "", "what could be recovered, and why not the rest", NULL },
	{ "context", cmd_context, OPT_TMUX | OPT_SCOPE, "SESSION", "what was gathered for a session", NULL },
	{ "prompt", cmd_prompt, OPT_TMUX | OPT_SCOPE | OPT_VIA, "SESSION",
	    "the prompt that the agent would be given, and nothing else", NULL },
	{ "snapshot", cmd_snapshot, OPT_TMUX | OPT_DRY, "[SESSION...]",
	    "keep what the agents' panes show now, for cron",
	    "One pass over all agents' panes, or those of the sessions named. A pane that has not changed "
	    "since the last pass costs nothing.\n"
	    "Kept in snapshot_dir, without secrets, snapshot_keep of each session and no older than "
	    "snapshot_age; an empty pane never takes\n"
	    "the place of a full one. `gt-recover install timer` runs it every snapshot_interval. Every "
	    "wip_interval, and for sessions named, it\n"
	    "also commits what is in progress in the agents' git work trees to refs of their own; nothing "
	    "else there is touched." },
	{ "arm", cmd_arm, OPT_TMUX | OPT_DRY | OPT_INFRA, "[SESSION...]",
	    "keep agents' panes when they die, for recovery",
	    "Sets remain-on-exit for the agents' panes and raises history-limit to max_context_lines, which "
	    "tmux gives to new panes\n"
	    "only. Without a name: all agents in scope. What was set before is kept in the ledger." },
	{ "disarm", cmd_disarm, OPT_TMUX | OPT_DRY, "[SESSION...]", "put back what arm changed", NULL },
	{ "patrol", cmd_patrol, OPT_TMUX | OPT_DRY, "",
	    "one pass for cron or the witness: find crashes, and bring agents back if auto_recover",
	    "Prints and writes nothing when nothing died. A crash is told once; with auto_recover = true "
	    "agents come back, by the same guards\n"
	    "as all at once, and a crash that cannot be answered is one mail to the mayor ([recovery.mail]). "
	    "After a reboot or the end of a tmux\n"
	    "server it does what startup does first; in any other pass it settles the runs that have become "
	    "stale." },
	{ "startup", cmd_startup, OPT_TMUX | OPT_DRY | OPT_RUNS, "",
	    "make the records true again after a crash or a reboot",
	    "In this order: runs that a restart left (as run recover; --mode none|stale|all, --threshold "
	    "SECONDS), sessions whose process is\n"
	    "gone are suspended, the tree of agents is mended, messages without a known answer are dealt "
	    "with by reply_policy, open recoveries\n"
	    "of tmux servers that ended are settled. Then it names the agents to be brought back, roots or "
	    "all by resume_scope. Run again after\n"
	    "a crash it ends the same; it is quiet when all is true. With auto_recover = true it brings them "
	    "back: with their context where a\n"
	    "snapshot or a pane knows it, else by their record, told of the restart. `gt-recover install "
	    "timer` runs it at boot. --dry-run tells all that, and changes and starts\n"
	    "nothing." },
	{ "release", cmd_release, OPT_TMUX | OPT_DRY, "SESSION...",
	    "let a quarantined session be recovered again",
	    "Forgets how often it crashed and ends recoveries of it that are still open; nothing is done to "
	    "the agent." },
	{ "log", cmd_log, OPT_SINCE | OPT_VERIFY, "[SESSION...]", "what happened, the newest last",
	    "--verify compares events.jsonl with the store, line for line; a torn end is repaired first." },
	{ "stats", cmd_stats, OPT_SINCE, "", "how many recoveries, how they ended, how long they took",
	    NULL },
	{ "run", cmd_run, OPT_SINCE | OPT_DRY | OPT_RUNS, "create|claim|start|stop|finish|list|recover",
	    "runs: work that waits for a runner, and what a restart left of it",
	    "create makes one, pending, from JSON on stdin: {\"session_id\", \"prompt\"} and, if wanted, "
	    "\"run_id\", \"type\",\n"
	    "\"execution_mode\"; prints its id. claim RUNNER [RUN] gives a pending one to that runner and to "
	    "no other; prints its id.\n"
	    "start RUN RUNNER, finish RUN RUNNER [completed|failed|stopped] and stop RUN move it on; list "
	    "[STATE...] shows them.\n"
	    "recover settles what a restart left claimed, running or stopping: --mode stale (the default) "
	    "what is older than --threshold\n"
	    "and has no living runner, all everything, none nothing.\n"
	    "Without arguments claim, start, stop and finish take a JSON object on stdin: \"run_id\", "
	    "\"runner_id\", \"status\", \"error\",\n"
	    "\"fence\", the number of the claim, which guards against a runner that comes too late, and for "
	    "claim \"claim_id\": asked again with\n"
	    "it, a claimer that lost the answer gets the same run. Exit status 0 means that it is on disk." },
	{ "runner", cmd_runner, OPT_PLACE, "register|beat|list", "the registry of those who execute runs",
	    "register RUNNER [PID] begins a life of it; what it claims is kept from recovery while its "
	    "process lives, or without PID while\n"
	    "its last beat RUNNER is younger than the threshold of [recovery.runs]. Registering anew gives "
	    "up what it claimed before." },
	{ "session", cmd_session, OPT_PLACE, "record|show|list|suspend|restore|end [ID]",
	    "agents' sessions: how to go on with each, whatever dies",
	    "record takes a JSON object on stdin: provider_name and, if wanted, agent_uuid, "
	    "cursor_session_id, model, workspace_path, parent,\n"
	    "session and socket (of tmux), start_command, pid, provider_state_blob (base64). It prints the "
	    "agent's id: do it before the first\n"
	    "message is sent. suspend ID keeps the provider's state blob, bytes on stdin. restore ID takes a "
	    "suspended session up again, for\n"
	    "one caller alone, and writes the blob to stdout. list -v shows those that have ended, too. Exit "
	    "status 0: it is on disk." },
	{ "agent", cmd_agent, OPT_PLACE, "spawn|tree|resume|end [ID...]",
	    "the tree of agents: who spawned whom",
	    "spawn PARENT CHILD links a session that was recorded with that parent; spawn PARENT records and "
	    "links the one on stdin, as\n"
	    "session record takes it. tree [ID] shows who has not ended. resume ID takes up a suspended "
	    "child, as session restore does; its\n"
	    "blob is in --json. end ID ends an agent and all below it in these records; no process is "
	    "touched." },
	{ "message", cmd_message, OPT_PLACE | OPT_UNDELIVERED, "send|broadcast|deliver|reply|list [ID]",
	    "messages between agents, logged before they are on their way",
	    "send takes a JSON object on stdin: from, to, body and, if wanted, id and sync (true: an answer "
	    "is waited for); it prints the id.\n"
	    "The same under the same id is one message. broadcast goes to all agents, or to a list in "
	    "\"to\". deliver ID marks it as\n"
	    "delivered; reply ID takes body and, if wanted, id. list [AGENT] shows those to an agent. A "
	    "message is delivered at least once;\n"
	    "reply_policy says what startup does about one that was delivered and whose answer is not "
	    "known." },
	{ "epic", cmd_epic, OPT_TMUX | OPT_DRY | OPT_EPIC,
	    "status|resume|inspect|export|import|abandon|signal [ID]",
	    "epics: long work of many agents, and what a crash left of it",
	    "status shows what was interrupted, or the epic ID however it is. resume ID shows it, asks how "
	    "to go on, and brings its agents\n"
	    "back, each with its checkpoint; --sprints 2,3 only those of these sprints, --dry-run shows the "
	    "plan. inspect ID prints all that\n"
	    "is known of it as JSON; export ID does so for import, --output FILE into a private file; import "
	    "[FILE] takes that up again, all\n"
	    "or nothing. abandon ID deletes its records, and asks before; branches of git are left alone. "
	    "signal SPRINT tells those who wait\n"
	    "for it that its interface is ready, with its contract, a JSON object on stdin." },
	{ "checkpoint", cmd_checkpoint, OPT_PLACE, "epic|sprint|agent|file ID",
	    "write down how far an epic, a sprint, an agent or a file is",
	    "Takes a JSON object on stdin: how it stands now, in place of what was told before; man "
	    "gt-recover has the members. Times are\n"
	    "RFC 3339 or ms since 1970. epic ID counts its sprints[]; sprint ID goes into its epic, too; "
	    "agent ID with nothing but\n"
	    "lastHeartbeat keeps the rest; file ID is a file of the sprint ID. At most 1 MiB. Exit status 0: "
	    "it is on disk." },
	{ "lock", cmd_lock, OPT_PLACE | OPT_LEASE, "acquire|renew|release|list [NAME HOLDER]",
	    "locks of the agents' own, such as a slot for tests",
	    "acquire NAME HOLDER [PID] takes the lock NAME for HOLDER, a word of the caller's own, and "
	    "prints its number; somebody else has it:\n"
	    "75. It is held while the process PID lives, or without PID for --lease SECONDS (300) after it "
	    "was last renewed. One that is stale\n"
	    "is taken over, and that is said. renew and release NAME HOLDER [NUMBER] are refused (6) when "
	    "another has it, or when it was\n"
	    "acquired again since that number. With NAME alone they take {\"holder\", \"lease\", \"pid\" or "
	    "\"fence\"} as JSON on stdin. list\n"
	    "shows those that are held, list -v the free ones, too." },
	{ "hook", cmd_hook, OPT_PLACE | OPT_HOOKS, "EVENT",
	    "what agents' hooks call: that they live, and which files they are writing",
	    "Takes a hook's JSON on stdin. Says nothing, answers 0 and takes no longer than 50 ms, whatever "
	    "happens: with the store locked or\n"
	    "out of reach it appends to the file spool in the state directory, which the next command "
	    "replays. `gt-recover install hooks` has\n"
	    "Claude Code call it, with --agent another agent. Kept are the session with its process and its "
	    "place in tmux, its sub-agents, the\n"
	    "time, and the files that are being written; nothing of what is said or done. A write of which "
	    "no end was told is named to the\n"
	    "agent's recovery." },
	{ "doctor", cmd_doctor, OPT_TMUX, "",
	    "whether recovery would work here, and what to do about what would not",
	    "Looks at settings, town, state, tmux, agents, snapshots and their timer; changes nothing. The "
	    "timer's own command line is run as\n"
	    "cron or systemd would, with --dry-run. One line a check, with a hint where something is wrong; "
	    "-v tells what each looked at, -q\n"
	    "shows warnings and errors alone. Exit status 1 when there is an error." },
	{ "parse", cmd_parse, OPT_AGENT, "",
	    "filter: a captured screen (or a transcript) on stdin, exchanges on stdout", NULL },
	{ "scrub", cmd_scrub, OPT_SCRUB, "", "filter: text on stdin, the same without secrets on stdout",
	    "Text of any size, in windows of 16 MiB. --report says what was found where (kinds, rows, "
	    "counts, no values) as JSON on standard\n"
	    "error; --json says it on standard output, instead of the text. --check prints nothing and exits "
	    "7 when something was found.\n"
	    "Secrets of your own environment, credential files and .env* are hidden by their value, whatever "
	    "they look like; --no-known leaves\n"
	    "them to the rules." },
	{ "config", cmd_config, OPT_TMUX, "[KEY]", "every setting, its value and where it came from", NULL },
	{ "install", cmd_install, OPT_PRINT | OPT_TMUX | OPT_HOOKS,
	    "shim|timer [patrol]|plugin|hooks|binding",
	    "make `gt recover` work, take snapshots regularly, let Gas Town run patrol, hear from agents",
	    "shim adds a shell function that passes everything but `gt recover` on to gt. timer runs "
	    "`gt-recover snapshot` every\n"
	    "snapshot_interval: by a systemd user timer where there is a user manager, else by a line of the "
	    "crontab; --town, -L and --config\n"
	    "go into it, and `gt-recover startup` runs at boot. timer patrol does the same for `gt-recover "
	    "patrol`, beside it.\n"
	    "plugin makes plugins/gt-recover in the town: Gas Town's daemon then runs `gt-recover patrol` "
	    "every two minutes.\n"
	    "hooks adds `gt-recover hook` to the hooks in Claude Code's settings.json (CLAUDE_CONFIG_DIR, "
	    "else ~/.claude) beside those that are\n"
	    "there; the next start of each agent hears of it. --agent NAME does the same for codex "
	    "(hooks.json), gemini, qwen and copilot\n"
	    "(settings.json) and opencode (a file in its folder plugin). binding gives Claude Code the "
	    "commands /recovery:status and\n"
	    "/recovery:resume, as files in commands/recovery beside its settings.json.\n"
	    "--print writes to stdout what would be installed, and touches nothing." },
	{ "uninstall", cmd_uninstall, OPT_PRINT | OPT_TMUX | OPT_HOOKS, "timer [patrol]|plugin|hooks|binding",
	    "take one of these away again", NULL },
	{ "help", cmd_help, 0, "[COMMAND]", "this text, or a command's", NULL },
	{ "version", cmd_version, 0, "", "the version", NULL },
	{ NULL, NULL, 0, NULL, NULL, NULL },
};

enum {
	O_TOWN = 256, O_CONFIG, O_NO_INPUT, O_ALL, O_VIA, O_SCOPE, O_INFRA, O_NAMES, O_AGENT, O_REPORT,
	O_CHECK, O_NO_KNOWN, O_PRINT, O_JSON, O_COLOR, O_TRANSCRIPT, O_SINCE, O_VERIFY, O_MODE,
	O_THRESHOLD, O_UNDELIVERED, O_OUTPUT, O_SPRINTS, O_LEASE,
	O_FLEET
};

#define SHORT_OPTIONS ":L:nyqvhV"

static const struct option long_options[] = {
	{ "town", required_argument, NULL, O_TOWN }, { "config", required_argument, NULL, O_CONFIG },
	{ "socket", required_argument, NULL, 'L' }, { "json", no_argument, NULL, O_JSON },
	{ "dry-run", no_argument, NULL, 'n' }, { "yes", no_argument, NULL, 'y' },
	{ "no-input", no_argument, NULL, O_NO_INPUT }, { "quiet", no_argument, NULL, 'q' },
	{ "verbose", no_argument, NULL, 'v' }, { "color", required_argument, NULL, O_COLOR },
	{ "help", no_argument, NULL, 'h' }, { "version", no_argument, NULL, 'V' },
	{ "all", no_argument, NULL, O_ALL }, { "via", required_argument, NULL, O_VIA },
	{ "scope", required_argument, NULL, O_SCOPE }, { "include-infra", no_argument, NULL, O_INFRA },
	{ "names", no_argument, NULL, O_NAMES }, { "agent", required_argument, NULL, O_AGENT },
	{ "report", no_argument, NULL, O_REPORT }, { "check", no_argument, NULL, O_CHECK },
	{ "no-known", no_argument, NULL, O_NO_KNOWN }, { "print", no_argument, NULL, O_PRINT },
	{ "transcript", no_argument, NULL, O_TRANSCRIPT },
	{ "since", required_argument, NULL, O_SINCE }, { "verify", no_argument, NULL, O_VERIFY },
	{ "mode", required_argument, NULL, O_MODE },
	{ "threshold", required_argument, NULL, O_THRESHOLD },
	{ "undelivered", no_argument, NULL, O_UNDELIVERED },
	{ "output", required_argument, NULL, O_OUTPUT },
	{ "sprints", required_argument, NULL, O_SPRINTS },
	{ "lease", required_argument, NULL, O_LEASE },
	{ "fleet", no_argument, NULL, O_FLEET },
	{ NULL, 0, NULL, 0 },
};

/* Which commands take an option; 0: all. */
static const struct { int option; unsigned taken; const char *name;
} takers[] = {
	{ O_TOWN, OPT_TMUX | OPT_SINCE | OPT_PLACE, "--town" },
	{ O_CONFIG, OPT_TMUX | OPT_SCRUB | OPT_SINCE | OPT_PLACE, "--config" },
	{ 'L', OPT_TMUX, "--socket" }, { 'n', OPT_DRY, "--dry-run" },
	{ 'y', OPT_ACT | OPT_EPIC, "--yes" }, { O_NO_INPUT, OPT_ACT | OPT_EPIC, "--no-input" },
	{ O_ALL, OPT_ACT, "--all" }, { O_VIA, OPT_ACT | OPT_VIA, "--via" },
	{ O_SCOPE, OPT_ACT | OPT_SCOPE, "--scope" },
	{ O_INFRA, OPT_ACT | OPT_LIST | OPT_SCOPE | OPT_INFRA, "--include-infra" },
	{ O_NAMES, OPT_LIST, "--names" }, { O_FLEET, OPT_LIST, "--fleet" },
	{ O_AGENT, OPT_AGENT | OPT_HOOKS, "--agent" }, { O_REPORT, OPT_SCRUB, "--report" },
	{ O_CHECK, OPT_SCRUB, "--check" }, { O_NO_KNOWN, OPT_SCRUB, "--no-known" },
	{ O_PRINT, OPT_PRINT, "--print" }, { O_TRANSCRIPT, OPT_AGENT, "--transcript" },
	{ O_SINCE, OPT_SINCE, "--since" }, { O_VERIFY, OPT_VERIFY, "--verify" },
	{ O_MODE, OPT_RUNS, "--mode" }, { O_THRESHOLD, OPT_RUNS, "--threshold" },
	{ O_UNDELIVERED, OPT_UNDELIVERED, "--undelivered" }, { O_OUTPUT, OPT_EPIC, "--output" },
	{ O_SPRINTS, OPT_EPIC, "--sprints" }, { O_LEASE, OPT_LEASE, "--lease" },
};

#define N_TAKERS (sizeof takers / sizeof takers[0])

struct option_parser {
	struct cli cli;
	bool given[N_TAKERS];
	bool help, version;
	size_t cap_sockets;
};

const struct command *
cli_find_command(const char *name)
{
	for (const struct command *c = commands; c->name != NULL; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

static int
usage(struct err *e, const char *what)
{
	err_set(e, GT_USAGE, "usage", "%s", what);
	return err_hint(e, "gt-recover help shows the commands and options");
}

static void
take_option(struct option_parser *r, int option)
{
	struct cli *cli = &r->cli;

	for (size_t i = 0; i < N_TAKERS; i++)
		r->given[i] = r->given[i] || takers[i].option == option;
	switch (option) {
	case O_TOWN: cli->town = optarg; break;
	case O_CONFIG: cli->config = optarg; break;
	case 'L':
		cli->sockets = vec_room(cli->sockets, cli->n_sockets, &r->cap_sockets, sizeof *cli->sockets);
		cli->sockets[cli->n_sockets++] = optarg;
		break;
	case O_JSON: cli->json = true; break;
	case 'n': cli->dry_run = true; break;
	case 'y': cli->yes = true; break;
	case O_NO_INPUT: cli->no_input = true; break;
	case 'q': cli->quiet = true; break;
	case 'v': cli->verbose++; break;
	case O_COLOR: cli->color = optarg; break;
	case 'h': r->help = true; break;
	case 'V': r->version = true; break;
	case O_ALL: cli->all = true; break;
	case O_VIA: cli->via = optarg; break;
	case O_SCOPE: cli->scope = optarg; break;
	case O_INFRA: cli->include_infra = true; break;
	case O_NAMES: cli->names = true; break;
	case O_FLEET: cli->fleet = true; break;
	case O_AGENT: cli->agent = optarg; break;
	case O_REPORT: cli->report = true; break;
	case O_CHECK: cli->check = true; break;
	case O_NO_KNOWN: cli->no_known = true; break;
	case O_PRINT: cli->print = true; break;
	case O_TRANSCRIPT: cli->transcript = true; break;
	case O_SINCE: cli->since = optarg; break;
	case O_VERIFY: cli->verify = true; break;
	case O_MODE: cli->mode = optarg; break;
	case O_THRESHOLD: cli->threshold = optarg; break;
	case O_UNDELIVERED: cli->undelivered = true; break;
	case O_OUTPUT: cli->output = optarg; break;
	case O_SPRINTS: cli->sprints = optarg; break;
	case O_LEASE: cli->lease = optarg; break;
	default: break;
	}
}

/* getopt has not moved on behind a bunch of short options: of "-Xn" only optopt tells which one it was. */
static void
bad_option(char *what, size_t size, int option, const char *word)
{
	bool letter = optopt > ' ' && optopt < 0x7f && strchr(SHORT_OPTIONS, optopt) == NULL;

	if (option == ':')
		snprintf(what, size, "the option %.100s needs a value", word);
	else if (letter)
		snprintf(what, size, "there is no option -%c", optopt);
	else
		snprintf(what, size, "there is no option %.100s", word);
}

/* Goes on behind a mistake: a later --json says how it is to be told. */
static int
read_options(struct option_parser *r, int argc, char **argv, struct err *e)
{
	char what[160] = "";
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, SHORT_OPTIONS, long_options, NULL)) != -1) {
		if (option != '?' && option != ':')
			take_option(r, option);
		else if (what[0] == '\0')
			bad_option(what, sizeof what, option, argv[optind - 1]);
	}
	r->cli.args = (const char *const *)argv + optind;
	r->cli.n_args = (size_t)(argc - optind);
	return what[0] != '\0' ? usage(e, what) : 0;
}

/* The first word is a command unless "--" stood in front of it: a session may have a command's name. */
static const struct command *
choose(struct option_parser *r, char **argv)
{
	const struct command *c = NULL;
	bool literal = optind > 1 && strcmp(argv[optind - 1], "--") == 0;

	if (r->cli.n_args > 0 && !literal && r->cli.args[0][0] != '\0')
		c = cli_find_command(r->cli.args[0]);
	if (c != NULL) {
		r->cli.args++;
		r->cli.n_args--;
	} else {
		c = cli_find_command("");
	}
	r->cli.command = c->name;
	return c;
}

static int
check_options(const struct option_parser *r, const struct command *c, struct err *e)
{
	char what[160];

	for (size_t i = 0; i < N_TAKERS; i++)
		if (r->given[i] && (c->options & takers[i].taken) == 0) {
			snprintf(what, sizeof what, "the command %s takes no %s",
			    *c->name != '\0' ? c->name : "gt-recover", takers[i].name);
			return usage(e, what);
		}
	if (r->cli.color != NULL && strcmp(r->cli.color, "auto") != 0 &&
	    strcmp(r->cli.color, "always") != 0 && strcmp(r->cli.color, "never") != 0)
		return usage(e, "--color takes auto, always or never");
	return 0;
}

static int
run(struct option_parser *r, int argc, char **argv, struct err *e)
{
	const struct command *c;

	if (read_options(r, argc, argv, e) != 0)
		return -1;
	if (r->version)
		return cmd_version(&r->cli, e);
	c = choose(r, argv);
	if (r->help) {
		cli_print_help(stdout, *c->name != '\0' || r->cli.n_args > 0 ? c : NULL);
		return GT_OK;
	}
	if (check_options(r, c, e) != 0)
		return -1;
	return c->run(&r->cli, e);
}

/* Arguments, paths and other foreign words may stand in a sentence of ours. */
static void
print_words(const char *before, const char *text)
{
	struct buf b = BUF_INIT;

	utf8_escape(&b, text, strlen(text), 0);
	fprintf(stderr, "%s%s\n", before, b.data);
	buf_release(&b);
}

static void
print_error(const struct cli *cli, const struct err *e)
{
	if (cli->json) {
		json_t *v = json_object(), *error = json_object();
		struct buf b = BUF_INIT;

		json_put(error, "name", e->name);
		json_put(error, "message", e->msg);
		json_put(error, "hint", e->hint[0] != '\0' ? e->hint : NULL);
		json_put_int(v, "schema_version", 1);
		json_object_set_new(v, "error", error);
		json_print(&b, v, true);
		fputs(b.data, stdout);
		buf_release(&b);
		json_decref(v);
		return;
	}
	print_words("gt-recover: ", e->msg);
	if (e->hint[0] != '\0')
		print_words("  ", e->hint);
}

/*
 * What we hold in memory is not scrubbed yet: no core file, no peeking by other processes of this
 * user. None of it is for our children.
 */
static void
close_the_house(void)
{
	struct rlimit core = { 0, 0 };

	getrlimit(RLIMIT_CORE, &core);
	spawn_hands_on(umask(077), &core);
	core.rlim_cur = 0;
	/* whoever started us may ignore it, and then no child's exit status reaches us */
	signal(SIGCHLD, SIG_DFL);
	/* a file that may not grow is an error of write, which is told */
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_CORE, &core);
#ifndef __SANITIZE_ADDRESS__
	prctl(PR_SET_DUMPABLE, 0);
#endif
	if (setlocale(LC_CTYPE, "C.UTF-8") == NULL)
		setlocale(LC_CTYPE, "");
}

int
main(int argc, char **argv)
{
	struct option_parser r = { .help = false };
	struct err e = ERR_INIT;
	bool hook = argc > 1 && strcmp(argv[1], "hook") == 0;
	int status;

	close_the_house();
	store_take_password();
	status = run(&r, argc, argv, &e);
	/* an error of ours is nothing that an agent should stop at, or see */
	if (hook) {
		free(r.cli.sockets);
		return GT_OK;
	}
	if (status < 0) {
		scrub_error(&e, NULL);
		print_error(&r.cli, &e);
		status = e.code != 0 ? e.code : GT_FAIL;
	} else if (status == GT_OK && store_met_damage(&e)) {
		/* it answered with what it could read */
		print_words("gt-recover: ", e.msg);
		print_words("  ", e.hint);
		status = GT_FAIL;
	}
	free(r.cli.sockets);
	if (cli_stop_signal() != 0) {
		/* whoever started us is to see what ended us */
		fflush(stdout);
		signal(cli_stop_signal(), SIG_DFL);
		raise(cli_stop_signal());
	}
	if (fflush(stdout) != 0 || ferror(stdout) || fclose(stdout) != 0) {
		fputs("gt-recover: the answer could not be written to standard output\n", stderr);
		if (status == GT_OK)
			status = GT_FAIL;
	}
	return status;
}
