#include <getopt.h>

#include "cli/cli.h"

/* ---- commands ---- */

const struct command commands[] = {
	{ "", "bring crashed agents back; without SESSION: choose from a list", .run = cmd_recover,
	    .args = "[SESSION...]", .options = OPT_TMUX | OPT_ACT,
	    .details = "Names a session, or a pane by its id (%5). Without a name it lists what can be "
	    "recovered and asks; away from a terminal it prints the list. --all takes everything that no "
	    "guard refuses: it shows the plan and asks once, or needs --yes. --dry-run shows the plan and "
	    "changes nothing. --all waits up to a minute where somebody types. Naming a session is "
	    "consent: somebody may type in it, it may have been stopped on purpose, or belong to Gas "
	    "Town's infrastructure. Where several conversations could be the agent's, they are listed "
	    "and you are asked; --conversation ID says which." },
	{ "list", "what could be recovered, and why not the rest", .run = cmd_list, .args = "[TEXT]",
	    .options = OPT_TMUX | OPT_LIST | OPT_INFRA,
	    .details = "--past lists the newest conversations that agents on this machine have recorded, in "
	    "whatever directory, with their first and last message and the command that resumes each; with "
	    "TEXT those in which it occurs. Neither tmux nor a snapshot needs to know of them." },
	{ "context", "what was gathered for a session", .job = cmd_context, .args = "SESSION",
	    .options = OPT_TMUX | OPT_SCOPE | OPT_INFRA | OPT_TALK },
	{ "prompt", "the prompt that the agent would be given, and nothing else", .job = cmd_prompt,
	    .args = "SESSION", .options = OPT_TMUX | OPT_SCOPE | OPT_INFRA | OPT_VIA | OPT_TALK },
	{ "snapshot", "keep what the agents' panes show now, for cron", .job = cmd_snapshot,
	    .args = "[SESSION...]", .options = OPT_TMUX | OPT_DRY,
	    .details = "One pass over all agents' panes, or those of the sessions named. A pane that "
	    "has not changed since the last pass costs nothing. Kept in snapshot_dir, without secrets, "
	    "snapshot_keep of each session and no older than snapshot_age; an empty pane never takes the "
	    "place of a full one. `gt-recover install timer` runs it every snapshot_interval. Every "
	    "wip_interval, and for sessions named, it also commits what is in progress in the agents' git "
	    "work trees to refs of their own; nothing else there is touched." },
	{ "arm", "keep agents' panes when they die, for recovery", .job = cmd_arm,
	    .args = "[SESSION...]", .options = OPT_TMUX | OPT_DRY | OPT_INFRA,
	    .details = "Sets remain-on-exit for the agents' panes and raises history-limit to "
	    "max_context_lines, which tmux gives to new panes only. Without a name: all agents in scope. "
	    "What was set before is kept in the ledger." },
	{ "disarm", "put back what arm changed", .job = cmd_disarm, .args = "[SESSION...]",
	    .options = OPT_TMUX | OPT_DRY },
	{ "patrol", "one pass for cron or the witness: find crashes, and bring agents back if auto_recover",
	    .run = cmd_patrol, .options = OPT_TMUX | OPT_DRY,
	    .details = "Prints and writes nothing when nothing died. A crash is told once; with "
	    "auto_recover = true agents come back, by the same guards as all at once, and a crash that "
	    "cannot be answered is one mail to the mayor ([recovery.mail]). After a reboot or the end of "
	    "a tmux server it does what startup does first; in any other pass it settles the runs that "
	    "have become stale." },
	{ "startup", "make the records true again after a crash or a reboot", .job = cmd_startup,
	    .options = OPT_TMUX | OPT_DRY | OPT_RUNS,
	    .details = "In this order: runs that a restart left (as run recover; --mode none|stale|all, "
	    "--threshold SECONDS), sessions whose process is gone are suspended, the tree of agents is "
	    "mended, messages without a known answer are dealt with by reply_policy, open recoveries of "
	    "tmux servers that ended are settled. Then it names the agents to be brought back, roots or "
	    "all by resume_scope. Run again after a crash it ends the same; it is quiet when all is true. "
	    "With auto_recover = true it brings them back: with their context where a snapshot or a pane "
	    "knows it, else by their record, told of the restart. `gt-recover install timer` runs it at "
	    "boot. --dry-run tells all that, and changes and starts nothing." },
	{ "release", "let a quarantined session be recovered again", .job = cmd_release,
	    .args = "SESSION...", .options = OPT_TMUX | OPT_DRY,
	    .details = "Forgets how often it crashed and ends recoveries of it that are still open; "
	    "nothing is done to the agent." },
	{ "log", "what happened, the newest last", .job = cmd_log, .args = "[SESSION...]",
	    .options = OPT_PLACE | OPT_SINCE | OPT_VERIFY,
	    .details = "--verify compares events.jsonl with the store, line for line; a torn end is "
	    "repaired first." },
	{ "stats", "how many recoveries, how they ended, how long they took", .job = cmd_stats,
	    .options = OPT_PLACE | OPT_SINCE },
	{ "run", "runs: work that waits for a runner, and what a restart left of it",
	    .verbs = run_verbs, .options = OPT_PLACE,
	    .details = "create makes one, pending, from JSON on stdin: {\"session_id\", \"prompt\"} "
	    "and, if wanted, \"run_id\", \"type\", \"execution_mode\"; prints its id. claim RUNNER [RUN] "
	    "gives a pending one to that runner and to no other; prints its id. start RUN RUNNER, finish "
	    "RUN RUNNER [completed|failed|stopped] and stop RUN move it on; list [STATE...] shows them. "
	    "recover settles what a restart left claimed, running or stopping: --mode stale (the default) "
	    "what is older than --threshold and has no living runner, all everything, none nothing. "
	    "Without arguments claim, start, stop and finish take a JSON object on stdin: \"run_id\", "
	    "\"runner_id\", \"status\", \"error\", \"fence\", the number of the claim, which guards "
	    "against a runner that comes too late, and for claim \"claim_id\": asked again with it, a "
	    "claimer that lost the answer gets the same run. Exit status 0 means that it is on disk." },
	{ "runner", "the registry of those who execute runs", .verbs = runner_verbs,
	    .options = OPT_PLACE,
	    .details = "register RUNNER [PID] begins a life of it; what it claims is kept from recovery "
	    "while its process lives, or without PID while its last beat RUNNER is younger than the "
	    "threshold of [recovery.runs]. Registering anew gives up what it claimed before." },
	{ "session", "agents' sessions: how to go on with each, whatever dies", .verbs = session_verbs,
	    .args = "[ID]", .options = OPT_PLACE,
	    .details = "record takes a JSON object on stdin: provider_name and, if wanted, agent_uuid, "
	    "cursor_session_id, model, workspace_path, parent, session and socket (of tmux), "
	    "start_command, pid, provider_state_blob (base64). It prints the agent's id: do it before the "
	    "first message is sent. suspend ID keeps the provider's state blob, bytes on stdin. restore "
	    "ID takes a suspended session up again, for one caller alone, and writes the blob to stdout. "
	    "list -v shows those that have ended, too. Exit status 0: it is on disk." },
	{ "agent", "the tree of agents: who spawned whom", .verbs = agent_verbs, .args = "[ID...]",
	    .options = OPT_PLACE,
	    .details = "spawn PARENT CHILD links a session that was recorded with that parent; spawn "
	    "PARENT records and links the one on stdin, as session record takes it. tree [ID] shows who "
	    "has not ended. resume ID takes up a suspended child, as session restore does; its blob is in "
	    "--json. end ID ends an agent and all below it in these records; no process is touched." },
	{ "message", "messages between agents, logged before they are on their way",
	    .verbs = message_verbs, .args = "[ID]", .options = OPT_PLACE,
	    .details = "send takes a JSON object on stdin: from, to, body and, if wanted, id and sync "
	    "(true: an answer is waited for); it prints the id. The same under the same id is one "
	    "message. broadcast goes to all agents, or to a list in \"to\". deliver ID marks it as "
	    "delivered; reply ID takes body and, if wanted, id. list [AGENT] shows those to an agent. A "
	    "message is delivered at least once; reply_policy says what startup does about one that was "
	    "delivered and whose answer is not known." },
	{ "epic", "epics: long work of many agents, and what a crash left of it", .verbs = epic_verbs,
	    .args = "[ID]", .options = OPT_PLACE,
	    .details = "status shows what was interrupted, or the epic ID however it is. resume ID "
	    "shows it, asks how to go on, and brings its agents back, each with its checkpoint; --sprints "
	    "2,3 only those of these sprints, --dry-run shows the plan. inspect ID prints all that is "
	    "known of it as JSON; export ID does so for import, --output FILE into a private file; import "
	    "[FILE] takes that up again, all or nothing. abandon ID deletes its records, and asks before; "
	    "branches of git are left alone. signal SPRINT tells those who wait for it that its interface "
	    "is ready, with its contract, a JSON object on stdin." },
	{ "checkpoint", "write down how far an epic, a sprint, an agent or a file is",
	    .verbs = checkpoint_verbs, .args = "ID", .options = OPT_PLACE,
	    .details = "Takes a JSON object on stdin: how it stands now, in place of what was told "
	    "before; man gt-recover has the members. Times are RFC 3339 or ms since 1970. epic ID counts "
	    "its sprints[]; sprint ID goes into its epic, too; agent ID with nothing but lastHeartbeat "
	    "keeps the rest; file ID is a file of the sprint ID. At most 1 MiB. Exit status 0: it is on "
	    "disk." },
	{ "lock", "locks of the agents' own, such as a slot for tests", .verbs = lock_verbs,
	    .args = "[NAME HOLDER]", .options = OPT_PLACE,
	    .details = "acquire NAME HOLDER [PID] takes the lock NAME for HOLDER, a word of the "
	    "caller's own, and prints its number; somebody else has it: 75. It is held while the process "
	    "PID lives, or without PID for --lease SECONDS (300) after it was last renewed. One that is "
	    "stale is taken over, and that is said. renew and release NAME HOLDER [NUMBER] are refused "
	    "(6) when another has it, or when it was acquired again since that number. With NAME alone "
	    "they take {\"holder\", \"lease\", \"pid\" or \"fence\"} as JSON on stdin. list shows those "
	    "that are held, list -v the free ones, too." },
	{ "hook", "what agents' hooks call: that they live, and which files they are writing",
	    .run = cmd_hook, .args = "EVENT", .options = OPT_PLACE | OPT_HOOKS,
	    .details = "Takes a hook's JSON on stdin. Says nothing, answers 0 and takes no longer than "
	    "50 ms, whatever happens: with the store locked or out of reach it appends to the file spool "
	    "in the state directory, which the next command replays. `gt-recover install hooks` has "
	    "Claude Code call it, with --agent another agent. Kept are the session with its process and "
	    "its place in tmux, its sub-agents, the time, and the files that are being written; nothing "
	    "of what is said or done. A write of which no end was told is named to the agent's recovery." },
	{ "doctor", "whether recovery would work here, and what to do about what would not",
	    .run = cmd_doctor, .options = OPT_TMUX,
	    .details = "Looks at settings, town, state, tmux, agents, snapshots and their timer; "
	    "changes nothing. The timer's own command line is run as cron or systemd would, with "
	    "--dry-run. One line a check, with a hint where something is wrong; -v tells what each looked "
	    "at, -q shows warnings and errors alone. Exit status 1 when there is an error." },
	{ "parse", "filter: a captured screen (or a transcript) on stdin, exchanges on stdout",
	    .run = cmd_parse, .options = OPT_AGENT },
	{ "scrub", "filter: text on stdin, the same without secrets on stdout", .run = cmd_scrub,
	    .options = OPT_CONFIG | OPT_SCRUB,
	    .details = "Text of any size, in windows of 16 MiB. --report says what was found where "
	    "(kinds, rows, counts, no values) as JSON on standard error; --json says it on standard "
	    "output, instead of the text. --check prints nothing and exits 7 when something was found. "
	    "Secrets of your own environment, credential files and .env* are hidden by their value, "
	    "whatever they look like; --no-known leaves them to the rules." },
	{ "config", "every setting, its value and where it came from", .run = cmd_config,
	    .args = "[KEY]", .options = OPT_TMUX },
	{ "install",
	    "make `gt recover` work, take snapshots regularly, let Gas Town run patrol, hear from agents",
	    .run = cmd_install, .args = "shim|timer [patrol]|plugin|hooks|binding",
	    .options = OPT_PRINT | OPT_TMUX | OPT_HOOKS,
	    .details = "shim adds a shell function that passes everything but `gt recover` on to gt. "
	    "timer runs `gt-recover snapshot` every snapshot_interval: by a systemd user timer where "
	    "there is a user manager, else by a line of the crontab; --town, -L and --config go into it, "
	    "and `gt-recover startup` runs at boot. timer patrol does the same for `gt-recover patrol`, "
	    "beside it. plugin makes plugins/gt-recover in the town: Gas Town's daemon then runs "
	    "`gt-recover patrol` every two minutes. hooks adds `gt-recover hook` to the hooks in Claude "
	    "Code's settings.json (CLAUDE_CONFIG_DIR, else ~/.claude) beside those that are there; the "
	    "next start of each agent hears of it. --agent NAME does the same for codex (hooks.json), "
	    "gemini, qwen and copilot (settings.json) and opencode (a file in its folder plugin). binding "
	    "gives Claude Code the commands /recovery:status and /recovery:resume, as files in "
	    "commands/recovery beside its settings.json. --print writes to stdout what would be "
	    "installed, and touches nothing." },
	{ "uninstall", "take one of these away again", .run = cmd_install,
	    .args = "timer [patrol]|plugin|hooks|binding", .options = OPT_PRINT | OPT_TMUX | OPT_HOOKS },
	{ "help", "the commands and options", .run = cmd_help, .args = "[COMMAND]" },
	{ "version", "the version", .run = cmd_version, .args = "" },
	{ .name = NULL },
};

const struct command *
cli_find_command(const char *name)
{
	for (const struct command *c = commands; c->name != NULL; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

unsigned
cli_command_options(const struct command *c)
{
	unsigned options = c->options;

	for (const struct verb *v = c->verbs; v != NULL && v->name != NULL; v++)
		options |= v->options;
	return options;
}

void
cli_command_usage(const struct command *c, struct buf *out)
{
	for (const struct verb *v = c->verbs; v != NULL && v->name != NULL; v++)
		buf_fmt(out, "%s%s", v != c->verbs ? "|" : "", v->name);
	buf_fmt(out, "%s%s", out->len > 0 && c->args != NULL ? " " : "", c->args != NULL ? c->args : "");
}

/* ---- options ---- */

#define FLAG(field) OPTION_FLAG, offsetof(struct cli, field)
#define TEXT(field) OPTION_TEXT, offsetof(struct cli, field)
#define PARSED_AGENTS "claude|codex|gemini|opencode|copilot|qwen|auggie|cline|pi|cursor-agent|amp"

const struct cli_option cli_options[] = {
	{ "dry-run", 'n', NULL, NULL, OPT_DRY, FLAG(dry_run), "show what would be done, change nothing" },
	{ "all", 0, NULL, NULL, OPT_ALL, FLAG(all),
	    "everything that can be recovered; asks once, or needs --yes" },
	{ "respawn", 0, NULL, NULL, OPT_ALL, FLAG(respawn),
	    "replace an idle shell by the agent, instead of starting it inside" },
	{ "force", 0, NULL, NULL, OPT_ALL, FLAG(force),
	    "with SESSION: also an idle shell in which nothing shows that an agent ever ran" },
	{ "yes", 'y', NULL, NULL, OPT_ASK, FLAG(yes), "do not ask" },
	{ "no-input", 0, NULL, NULL, OPT_ASK, FLAG(no_input),
	    "never ask; where an answer is needed, fail" },
	{ "conversation", 0, "ID", "none", OPT_TALK, TEXT(conversation),
	    "which conversation is the agent's, where that is in doubt; none: its screen alone" },
	{ "via", 0, "WAY", "auto|resume|inject", OPT_VIA, TEXT(via),
	    "how the context goes back: resume goes on with the agent's own conversation, inject "
	    "hands it over as the first prompt, auto resumes when nothing speaks against it" },
	{ "scope", 0, "task|lines", "task|lines", OPT_SCOPE, TEXT(scope),
	    "how much of the conversation is taken" },
	{ "include-infra", 0, NULL, NULL, OPT_INFRA, FLAG(include_infra),
	    "also Gas Town's mayor, deacon, witness, refinery, boot and crew" },
	{ "names", 0, NULL, NULL, OPT_LIST, FLAG(names), "session names alone, one a line" },
	{ "fleet", 0, NULL, NULL, OPT_LIST, FLAG(fleet),
	    "also the agents of the other hosts that share the store, as those saw them last" },
	{ "past", 0, NULL, NULL, OPT_LIST, FLAG(past),
	    "recent conversations instead, and the command that resumes each" },
	{ "agent", 0, "NAME", PARSED_AGENTS, OPT_AGENT, TEXT(agent),
	    "whose screen or record it is (claude)" },
	{ "transcript", 0, NULL, NULL, OPT_AGENT, FLAG(transcript),
	    "the input is the agent's own record, not a screen: of claude, codex, gemini, qwen, "
	    "copilot, pi, auggie, cline or opencode" },
	{ "agent", 0, "NAME", "claude|codex|gemini|qwen|copilot|opencode", OPT_HOOKS, TEXT(agent),
	    "whose hooks: claude (the default), codex, gemini, qwen, copilot or opencode" },
	{ "report", 0, NULL, NULL, OPT_SCRUB, FLAG(report),
	    "also kinds, rows and counts as JSON, on standard error" },
	{ "check", 0, NULL, NULL, OPT_SCRUB, FLAG(check),
	    "print nothing; status 7 when something was found" },
	{ "no-known", 0, NULL, NULL, OPT_SCRUB, FLAG(no_known),
	    "the rules alone, not the secrets of your environment and files" },
	{ "print", 0, NULL, NULL, OPT_PRINT, FLAG(print), "write to standard output, touch no file" },
	{ "since", 0, "AGE", NULL, OPT_SINCE, TEXT(since), "only what is younger, as in 7d or 12h" },
	{ "verify", 0, NULL, NULL, OPT_VERIFY, FLAG(verify), "compare events.jsonl with the store" },
	{ "mode", 0, "MODE", "stale|all|none", OPT_RUNS, TEXT(mode),
	    "which runs are settled: stale (the default), all, none" },
	{ "threshold", 0, "SECS", NULL, OPT_RUNS, TEXT(threshold),
	    "a run is stale after so many seconds (300)" },
	{ "undelivered", 0, NULL, NULL, OPT_UNDELIVERED, FLAG(undelivered),
	    "only messages on their way or without their answer" },
	{ "lease", 0, "SECS", NULL, OPT_LEASE, TEXT(lease),
	    "held for so many seconds after it was last renewed (300)" },
	{ "sprints", 0, "LIST", NULL, OPT_SPRINTS, TEXT(sprints),
	    "only the sprints at these places, as in 2,3" },
	{ "output", 0, "FILE", NULL, OPT_OUTPUT, TEXT(output),
	    "write to a private file, not to standard output" },
	{ "socket", 'L', "NAME", NULL, OPT_SOCKET, OPTION_LIST, offsetof(struct cli, sockets),
	    "only this tmux socket (name or path); may be given again" },
	{ "town", 0, "DIR", NULL, OPT_TOWN, TEXT(town), "the Gas Town to work in" },
	{ "config", 0, "FILE", NULL, OPT_CONFIG, TEXT(config), "instead of the town's or your own gt.toml" },
	{ "json", 0, NULL, NULL, 0, FLAG(json), "one JSON object on standard output" },
	{ "quiet", 'q', NULL, NULL, 0, FLAG(quiet), "no progress" },
	{ "verbose", 'v', NULL, NULL, 0, OPTION_COUNT, offsetof(struct cli, verbose), "more progress" },
	{ "color", 0, "WHEN", "auto|always|never", 0, TEXT(color), "auto, always or never" },
	{ "help", 'h', NULL, NULL, 0, FLAG(help), "help, also for a command" },
	{ "version", 'V', NULL, NULL, 0, FLAG(version), "the version" },
	{ .name = NULL },
};

enum { OPTIONS = sizeof cli_options / sizeof cli_options[0] - 1 };

static int
usage(struct err *e, const char *what)
{
	err_set(e, GT_USAGE, "usage", "%s", what);
	return err_hint(e, "gt-recover help shows the commands and options");
}

static void
store_option(struct cli *cli, const struct cli_option *o, const char *value, size_t most)
{
	void *at = (char *)cli + o->at;

	switch (o->kind) {
	case OPTION_FLAG: *(bool *)at = true; break;
	case OPTION_COUNT: ++*(int *)at; break;
	case OPTION_TEXT: *(const char **)at = value; break;
	case OPTION_LIST:
		if (cli->sockets == NULL)
			cli->sockets = xcalloc(most, sizeof *cli->sockets);
		cli->sockets[cli->n_sockets++] = value;
		break;
	}
}

static bool
is_given(const struct cli *cli, const struct cli_option *o)
{
	const void *at = (const char *)cli + o->at;

	switch (o->kind) {
	case OPTION_FLAG: return *(const bool *)at;
	case OPTION_COUNT: return *(const int *)at > 0;
	case OPTION_TEXT: return *(const char *const *)at != NULL;
	case OPTION_LIST: return cli->n_sockets > 0;
	}
	return false;
}

/* getopt has not moved on behind a bunch of short options: of "-Xn" only optopt tells which one it was. */
static void
describe_mistake(char *what, size_t size, int option, const char *letters, const char *word)
{
	if (option == ':')
		snprintf(what, size, "the option %.100s needs a value", word);
	else if (optopt > ' ' && optopt < 0x7f && strchr(letters, optopt) == NULL)
		snprintf(what, size, "there is no option -%c", optopt);
	else
		snprintf(what, size, "there is no option %.100s", word);
}

static int
read_options(struct cli *cli, int argc, char **argv, struct err *e)
{
	struct option names[OPTIONS + 1] = { { .name = NULL } };
	char letters[2 * OPTIONS + 2] = ":", what[160] = "";
	int option;

	for (int i = 0, n = 1; i < OPTIONS; i++) {
		const struct cli_option *o = &cli_options[i];

		/* the place of its first row: an abbreviation of a name with two rows is not ambiguous */
		names[i] = (struct option){ o->name, o->argument != NULL, NULL, 256 };
		while (strcmp(cli_options[names[i].val - 256].name, o->name) != 0)
			names[i].val++;
		if (o->letter != '\0')
			n += snprintf(letters + n, sizeof letters - (size_t)n, "%c%s", o->letter,
			    o->argument != NULL ? ":" : "");
	}
	opterr = 0;
	while ((option = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		int i = option - 256;

		if (option == '?' || option == ':') {
			if (what[0] == '\0')
				describe_mistake(what, sizeof what, option, letters, argv[optind - 1]);
			continue;
		}
		for (int k = 0; i < 0 && k < OPTIONS; k++)
			i = cli_options[k].letter == option ? k : i;
		store_option(cli, &cli_options[i], optarg, (size_t)argc);
	}
	cli->args = (const char *const *)argv + optind;
	cli->n_args = (size_t)(argc - optind);
	return what[0] != '\0' ? usage(e, what) : 0;
}

const char *
cli_option_not_taken(const struct cli *cli, unsigned taken)
{
	for (int i = 0; i < OPTIONS; i++) {
		const struct cli_option *o = &cli_options[i];
		unsigned takers = 0;

		for (int k = 0; k < OPTIONS; k++)
			takers |= cli_options[k].at == o->at ? cli_options[k].commands : 0;
		if (takers != 0 && (takers & taken) == 0 && is_given(cli, o))
			return o->name;
	}
	return NULL;
}

static int
check_options(const struct cli *cli, const struct command *c, struct err *e)
{
	const char *not_taken = cli_option_not_taken(cli, cli_command_options(c));
	char what[160];

	if (not_taken != NULL) {
		snprintf(what, sizeof what, "the command %s takes no --%s",
		    *c->name != '\0' ? c->name : "gt-recover", not_taken);
		return usage(e, what);
	}
	if (cli->color != NULL && strcmp(cli->color, "auto") != 0 && strcmp(cli->color, "always") != 0 &&
	    strcmp(cli->color, "never") != 0)
		return usage(e, "--color takes auto, always or never");
	return cli->n_args > 0 && c->args == NULL && c->verbs == NULL ? cli_no_arguments(cli, e) : 0;
}

/* The first word is a command unless "--" stood in front of it: a session may have a command's name. */
static const struct command *
choose(struct cli *cli, char **argv)
{
	const struct command *c = NULL;
	bool literal = optind > 1 && strcmp(argv[optind - 1], "--") == 0;

	if (cli->n_args > 0 && !literal && cli->args[0][0] != '\0')
		c = cli_find_command(cli->args[0]);
	if (c != NULL) {
		cli->args++;
		cli->n_args--;
	} else {
		c = cli_find_command("");
	}
	cli->command = c->name;
	return c;
}

const struct command *
cli_parse(struct cli *cli, int argc, char **argv, struct err *e)
{
	const struct command *c;

	if (read_options(cli, argc, argv, e) != 0)
		return NULL;
	c = choose(cli, argv);
	return cli->version || cli->help || check_options(cli, c, e) == 0 ? c : NULL;
}
