#include <getopt.h>

#include "cli/cli.h"

/* ---- commands ---- */

#define STATUSES                                                                   \
	"0   done\n1   failed\n2   usage or configuration\n3   some done and some not\n"  \
	"4   nothing to recover, or declined\n5   delivered, not acknowledged in time\n"  \
	"6   refused by a check\n7   scrub --check found something\n75  try again"

const struct command commands[] = {
	{ "", "recover crashed agents; without SESSION: choose", .run = cmd_recover,
	    .group = GROUP_RECOVER, .args = "[SESSION...]", .options = OPT_TMUX | OPT_ACT,
	    .details = "SESSION is a tmux session, a pane (work:0.1 or %5), or, on a terminal, the "
	    "beginning of a session name. Without SESSION, gt-recover shows the crashed agents and asks; "
	    "without a terminal it prints the list.\n"
	    "--all recovers every agent that no check refuses. It shows the plan and asks once, or needs "
	    "--yes. It waits up to a minute for a person who types in a pane. --dry-run shows the plan "
	    "and changes nothing.\n"
	    "A named session is recovered even if someone types in it, if it was stopped on purpose, or "
	    "if it belongs to Gas Town's infrastructure. If several conversations may be the agent's, "
	    "gt-recover lists them and asks; --conversation ID selects one.",
	    .examples = "gt-recover\ngt-recover work\ngt-recover --all --yes\ngt-recover work --dry-run",
	    .statuses = STATUSES, .streams = true },
	{ "list", "list crashed agents and whether each can be recovered", .run = cmd_list,
	    .group = GROUP_RECOVER, .args = "[TEXT]", .options = OPT_TMUX | OPT_LIST | OPT_INFRA,
	    .details = "Without options: a table of crashed agents, recoverable ones first, with the "
	    "cause and the task. --live adds the living agents.\n"
	    "--past lists the newest conversations recorded on this machine, in any directory, with the "
	    "first and last message and the command that resumes each; with TEXT, those that contain it. "
	    "It needs neither tmux nor a snapshot.",
	    .examples = "gt-recover list\ngt-recover list --json\ngt-recover list --past parser" },
	{ "show", "show what would be recovered: context and prompt", .job = cmd_show,
	    .group = GROUP_RECOVER, .args = "SESSION",
	    .options = OPT_TMUX | OPT_SCOPE | OPT_INFRA | OPT_VIA | OPT_TALK | OPT_SHOW,
	    .details = "Reads the screen, the transcript, snapshots, git and the work item of a living "
	    "or crashed agent, and shows them with the planned way of delivery. Changes nothing.",
	    .examples = "gt-recover show work\ngt-recover show work --prompt" },
	{ "restart", "stop running agents, start them with their conversation", .run = cmd_restart,
	    .group = GROUP_RECOVER, .args = "SESSION...", .options = OPT_TMUX | OPT_ACT,
	    .details = "For an agent that hangs or must be updated. Takes a snapshot of its pane, asks "
	    "(or needs --yes), ends the agent with SIGKILL, and recovers it in its pane. --all restarts "
	    "every agent that waits idle for its user.",
	    .examples = "gt-recover restart work\ngt-recover restart --all --yes", .streams = true,
	    .statuses = "4  no agent is running there\n6  the agent cannot be restarted; it still runs" },
	{ "workspace", "show or rebuild the sessions of an ended tmux server",
	    .verbs = workspace_verbs, .group = GROUP_RECOVER, .args = "[SESSION]", .options = OPT_PLACE,
	    .details = "`gt-recover snapshot` saves the workspace of each tmux server: sessions, "
	    "windows, panes, names, layouts and directories. show prints the last workspace of a server "
	    "that ended. restore creates its missing sessions, windows and panes, with shells in their "
	    "directories, and recovers the agents in their panes. Existing sessions are not changed; "
	    "programs other than agents are not started. With SESSION: that session only.",
	    .examples = "gt-recover workspace show\ngt-recover workspace restore" },
	{ "setup", "make crashes recoverable: hooks, timer, tmux options", .run = cmd_setup,
	    .group = GROUP_PROTECT, .options = OPT_TMUX | OPT_ASK | OPT_PRINT | OPT_SETUP,
	    .details = "Shows a plan with the purpose of each part, asks once, does it, and checks it "
	    "with doctor. Parts: panes, timer, hooks, key, conf, shim (in a Gas Town), resurrect (where "
	    "tmux-resurrect is in use); with --with also plugin, slash, patrol. A tmux.conf that is "
	    "read-only or a symbolic link is not changed: setup prints the line to add.\n"
	    "--undo removes every part, or those of --only. It restores each file and keeps later "
	    "changes of others.",
	    .examples = "gt-recover setup\ngt-recover setup --print\ngt-recover setup --yes --without key\n"
	    "gt-recover setup --undo",
	    .statuses = "3  some parts could not be set up" },
	{ "snapshot", "save a snapshot of all agent panes", .job = cmd_snapshot, .group = GROUP_PROTECT,
	    .args = "[SESSION...]", .options = OPT_TMUX | OPT_DRY | OPT_PASSES,
	    .details = "Saves the panes of all agents, or of the named sessions. Unchanged panes are "
	    "skipped. Snapshots go to snapshot_dir, without secrets: at most snapshot_keep per session, "
	    "none older than snapshot_age. An empty pane never replaces a full one. It also writes a "
	    "checkpoint of each epic in progress. The timer of `gt-recover setup` runs it with --passes "
	    "every checkpoint_interval and examines panes every snapshot_interval. With wip = true it "
	    "also commits uncommitted work to separate git refs, every wip_interval and for named "
	    "sessions (see help wip).",
	    .examples = "gt-recover snapshot\ngt-recover snapshot work" },
	{ "status", "print how many agents are crashed, for a status line", .run = cmd_status,
	    .group = GROUP_PROTECT, .options = OPT_TMUX,
	    .details = "Prints \"2 crashed\", or nothing. Compares the recorded processes with /proc; "
	    "does not contact tmux. With auto_recover = true or on_crash it starts a recovery pass in "
	    "the background after a crash.",
	    .examples = "set -g status-right '#(gt-recover status)'" },
	{ "doctor", "check the setup and suggest fixes", .run = cmd_doctor, .group = GROUP_PROTECT,
	    .options = OPT_TMUX,
	    .details = "Checks settings, town, state, tmux, agents, snapshots and their timer. Changes "
	    "nothing. Runs the timer's command line as cron or systemd would, with --dry-run. Prints "
	    "problems first, each with a fix, then one line per group; -v prints every check, -q only "
	    "warnings and errors.",
	    .examples = "gt-recover doctor\ngt-recover doctor -q", .statuses = "1  there is an error" },
	{ "log", "show the event log, oldest first", .job = cmd_log, .group = GROUP_HISTORY,
	    .args = "[SESSION...]", .options = OPT_TMUX | OPT_SINCE | OPT_VERIFY,
	    .details = "-L shows only what happened to sessions of that tmux server. --verify compares "
	    "events.jsonl with the store, line by line, and first repairs a truncated last line.",
	    .examples = "gt-recover log work\ngt-recover log --since 7d" },
	{ "stats", "show the number of recoveries, their causes and results", .job = cmd_stats,
	    .group = GROUP_HISTORY, .options = OPT_TMUX | OPT_SINCE,
	    .details = "-L counts only recoveries and refusals on that tmux server.",
	    .examples = "gt-recover stats --since 7d" },
	{ "scrub", "filter: replace secrets in the text on stdin", .run = cmd_scrub,
	    .group = GROUP_FILTERS, .options = OPT_CONFIG | OPT_SCRUB,
	    .details = "Text of any size, in windows of 16 MiB. --report prints the findings (kinds, "
	    "rows, counts, no values) as JSON on standard error; --json prints them on standard output, "
	    "instead of the text. --check prints nothing. Secrets in your environment, credential files "
	    "and .env* files are matched by value, independent of their format; --no-known applies only "
	    "the rules. Control characters, escape sequences and invisible characters outside of secrets "
	    "are kept; --sanitize removes them.",
	    .examples = "gt-recover scrub <debug.log >shared.log\ngit diff | gt-recover scrub --check",
	    .statuses = "7  --check found something" },
	{ "parse", "filter: read a screen or transcript, print exchanges",
	    .run = cmd_parse, .group = GROUP_FILTERS, .options = OPT_AGENT,
	    .examples = "tmux capture-pane -ep -S - -t work | gt-recover parse --json" },
	{ "epic", "resume, inspect or move epics: long work of many agents", .verbs = epic_verbs,
	    .group = GROUP_PROGRAMS, .args = "[ID]", .options = OPT_PLACE,
	    .details = "An epic is a task of several sprints and agents, recorded with `records "
	    "checkpoint`.\n"
	    "status [ID] shows interrupted epics, or one epic. resume ID shows the epic, asks how to "
	    "continue, and recovers its agents with their checkpoints; --sprints 2,3 selects sprints, "
	    "--dry-run shows the plan. inspect ID prints its records as JSON. export ID prints them for "
	    "import, --output FILE writes them to a private file; import [FILE] imports all of it or "
	    "nothing. abandon ID deletes the records after a question; git branches are kept. signal "
	    "SPRINT announces to waiting sprints that its interface is ready, with its contract, a JSON "
	    "object on stdin.",
	    .examples = "gt-recover epic status\ngt-recover epic resume auth --dry-run" },
	{ "wip", "list and restore checkpoints of uncommitted work", .verbs = wip_verbs,
	    .group = GROUP_PROGRAMS, .args = "[REF...]", .options = OPT_PLACE,
	    .details = "With wip = true, `gt-recover snapshot` commits the uncommitted work of agents to "
	    "git refs under refs/gt-recover. REF is one of them, or a session name. list shows the refs "
	    "of this work tree and of recorded agents, show the changes of one. restore REF [PATH...] "
	    "writes its files; it refuses if a file has changed since. prune deletes the named refs, or "
	    "those of sessions older than 30 days.",
	    .examples = "gt-recover wip list\ngt-recover wip restore work\ngt-recover wip prune --dry-run",
	    .statuses = "4  no such checkpoint\n6  files were changed since" },
	{ "records", "records of programs: sessions, runs, messages", .run = cmd_records,
	    .group = GROUP_PROGRAMS, .args = "KIND", .options = OPT_PLACE,
	    .details = "Orchestrators and hooks store these records. Exit status 0 means that the change "
	    "is on disk. `gt-recover help records KIND` describes a kind.",
	    .examples = "gt-recover records session list\ngt-recover records lock acquire tests me $$" },
	{ "reconcile", "reconcile records after a crash or reboot", .run = cmd_reconcile,
	    .group = GROUP_PROGRAMS, .options = OPT_TMUX | OPT_DRY | OPT_RUNS | OPT_RECOVER,
	    .details = "In this order: settles unfinished runs (--mode none|stale|all, --threshold "
	    "SECONDS), marks sessions without a process as suspended, repairs the tree of agents, "
	    "handles messages with an unknown answer by reply_policy, ends recoveries of ended tmux "
	    "servers, finds crashed agents and reports each crash once. With --recover, or auto_recover "
	    "= true, it then recovers them, with the checks of --all. A crash that cannot be recovered "
	    "is mailed once ([recovery.mail]). It prints nothing if nothing changed, and can be run "
	    "again at any time.",
	    .examples = "gt-recover reconcile --dry-run\ngt-recover reconcile --recover", .streams = true },
	{ "hook", "entry point of agent hooks", .run = cmd_hook, .group = GROUP_PROGRAMS,
	    .args = "EVENT", .options = OPT_PLACE | OPT_HOOKS,
	    .details = "Reads a hook's JSON on stdin. Prints nothing, exits with 0 and takes at most 50 "
	    "ms: if the store is locked or unreachable, it appends to the file spool in the state "
	    "directory, which the next command replays. `gt-recover setup` installs it for Claude Code, "
	    "`install hooks --agent NAME` for other agents. It records the session with its process and "
	    "tmux pane, its sub-agents, the time, and the files being written; no text of the "
	    "conversation. The recovery prompt names an unfinished write." },
	{ "help", "show help for a command", .run = cmd_help, .group = GROUP_HELP, .args = "[COMMAND]",
	    .text_only = true,
	    .examples = "gt-recover help setup\ngt-recover help recover" },
	{ "config", "show or change settings", .run = cmd_config, .group = GROUP_HELP,
	    .args = "[KEY]|path|edit|set KEY VALUE", .options = OPT_TMUX,
	    .details = "Without KEY: every setting, its value and its origin. path prints the path of "
	    "the gt.toml in use, or of the one to create; edit opens it in $VISUAL or $EDITOR and checks "
	    "it afterwards; set changes one key and keeps the rest of the file.",
	    .examples = "gt-recover config\ngt-recover config snapshot_interval\n"
	    "gt-recover config set auto_recover true" },
	{ "completion", "print the completions of a shell", .run = cmd_completion, .group = GROUP_HELP,
	    .args = "bash|fish|zsh", .text_only = true,
	    .examples = "eval \"$(gt-recover completion bash)\"\n"
	    "gt-recover completion fish >~/.config/fish/completions/gt-recover.fish" },
	{ "version", "print the version", .run = cmd_version, .group = GROUP_HELP, .args = "" },

	/* Those of records; 0.1.0 had each as a command. */
	{ "session", "record how each agent's session can be resumed", .verbs = session_verbs,
	    .now = "records session", .args = "[ID]", .options = OPT_PLACE,
	    .details = "record reads a JSON object on stdin: provider_name, and optionally agent_uuid, "
	    "cursor_session_id, model, workspace_path, parent, session and socket (of tmux), "
	    "start_command, pid, provider_state_blob (base64). It prints the agent's id. Call it before "
	    "the first message is sent. suspend ID stores the provider's state blob, bytes on stdin. "
	    "restore ID resumes a suspended session, for one caller only, and writes the blob to stdout. "
	    "list -v includes ended sessions." },
	{ "agent", "record the tree of parent and child agents", .verbs = agent_verbs, .now = "records agent",
	    .args = "[ID...]", .options = OPT_PLACE,
	    .details = "spawn PARENT CHILD links a session that was recorded with that parent; spawn "
	    "PARENT records and links the session on stdin (the JSON of session record). tree [ID] shows "
	    "the active agents. resume ID resumes a suspended child, like session restore; --json has "
	    "its blob. end ID ends the records of an agent and its descendants; processes are not "
	    "touched." },
	{ "message", "record messages between agents before they are sent", .verbs = message_verbs,
	    .now = "records message", .args = "[ID]", .options = OPT_PLACE,
	    .details = "send reads a JSON object on stdin: from, to, body, and optionally id and sync "
	    "(true: the sender waits for an answer); it prints the id. Sending the same message under "
	    "the same id is one message. broadcast goes to all agents, or to a list in \"to\". deliver "
	    "ID marks a message as delivered; reply ID reads body and optionally id. list [AGENT] shows "
	    "the messages to an agent. A message is delivered at least once; reply_policy selects how "
	    "reconcile handles a delivered message whose answer is unknown." },
	{ "run", "manage the queue of runs", .verbs = run_verbs, .now = "records run", .options = OPT_PLACE,
	    .details = "create adds a pending run from JSON on stdin: {\"session_id\", \"prompt\"}, and "
	    "optionally \"run_id\", \"type\", \"execution_mode\"; it prints the id. claim RUNNER [RUN] "
	    "assigns a pending run to that runner only; it prints the id. start RUN RUNNER, finish RUN "
	    "RUNNER [completed|failed|stopped] and stop RUN change the state; list [STATE...] shows the "
	    "runs. recover settles runs left claimed, running or stopping by a restart: --mode stale "
	    "(the default) those older than --threshold without a living runner, all every one, none no "
	    "run. Without arguments, claim, start, stop and finish read a JSON object on stdin: "
	    "\"run_id\", \"runner_id\", \"status\", \"error\", and \"fence\", the number of the claim, "
	    "which rejects a late runner. claim also reads \"claim_id\": the same claim_id returns the "
	    "same run again." },
	{ "runner", "manage the runners that execute runs", .verbs = runner_verbs, .now = "records runner",
	    .options = OPT_PLACE,
	    .details = "register RUNNER [PID] registers a runner. Its runs are not recovered while its "
	    "process lives, or, without PID, while its last heartbeat (beat RUNNER) is newer than the "
	    "threshold of [recovery.runs]. Registering again releases its earlier claims." },
	{ "checkpoint", "record the progress of an epic, sprint, agent or file",
	    .verbs = checkpoint_verbs, .now = "records checkpoint", .args = "ID", .options = OPT_PLACE,
	    .details = "Reads a JSON object on stdin, which replaces the stored progress; man "
	    "gt-recover-records lists its members. Times are RFC 3339 or ms since 1970. epic ID counts "
	    "its sprints[]; sprint ID also updates its epic; agent ID with only lastHeartbeat keeps the "
	    "rest; file ID is a file of the sprint ID. At most 1 MiB." },
	{ "lock", "locks for agents, such as a slot for tests", .verbs = lock_verbs, .now = "records lock",
	    .args = "[NAME HOLDER]", .options = OPT_PLACE,
	    .details = "acquire NAME HOLDER [PID] acquires the lock NAME for HOLDER, any word, and "
	    "prints its fencing number. It is held while the process PID lives, or, without PID, for "
	    "--lease SECONDS (300) after the last renewal. A stale lock is taken over, with a message. "
	    "renew and release NAME HOLDER [NUMBER] are refused if another holder has the lock, or if it "
	    "was acquired again since NUMBER. With only NAME they read {\"holder\", \"lease\", \"pid\" "
	    "or \"fence\"} as JSON on stdin. list shows held locks, list -v also free ones.",
	    .statuses = "6   another holder has the lock\n75  the lock is held; try again" },
	{ "release", "clear a session's crash history, to recover it again", .job = cmd_release,
	    .now = "records release", .args = "SESSION...", .options = OPT_TMUX | OPT_DRY,
	    .details = "Deletes the count of its crashes and ends its open recoveries; the agent is not "
	    "touched." },

	/* Other spellings of 0.1.0. */
	{ "context", "show the collected context of a session", .job = cmd_show, .now = "show --context",
	    .flag = offsetof(struct cli, context), .args = "SESSION",
	    .options = OPT_TMUX | OPT_SCOPE | OPT_INFRA | OPT_TALK },
	{ "prompt", "print the recovery prompt", .job = cmd_show, .now = "show --prompt",
	    .flag = offsetof(struct cli, prompt), .args = "SESSION",
	    .options = OPT_TMUX | OPT_SCOPE | OPT_INFRA | OPT_VIA | OPT_TALK },
	{ "arm", "set remain-on-exit, so that crashed panes are kept", .job = cmd_arm,
	    .now = "setup --only panes", .args = "[SESSION...]", .options = OPT_TMUX | OPT_DRY | OPT_INFRA,
	    .details = "Sets remain-on-exit for the panes of agents and raises history-limit to "
	    "max_context_lines, which tmux gives only to new panes. Without a name: all agents in scope. "
	    "The former values are recorded." },
	{ "disarm", "undo arm", .job = cmd_disarm, .now = "setup --undo --only panes",
	    .args = "[SESSION...]", .options = OPT_TMUX | OPT_DRY },
	{ "patrol", "one pass: find crashes, and recover agents if auto_recover", .run = cmd_patrol,
	    .now = "reconcile", .options = OPT_TMUX | OPT_DRY,
	    .details = "Prints and writes nothing if nothing crashed. Reports each crash once; with "
	    "auto_recover = true it recovers agents, with the checks of --all, and mails each crash that "
	    "cannot be recovered once ([recovery.mail]). After a reboot or the end of a tmux server it "
	    "first reconciles all records; any other pass settles stale runs." },
	{ "startup", "reconcile records after a crash or reboot", .job = cmd_startup, .now = "reconcile",
	    .options = OPT_TMUX | OPT_DRY | OPT_RUNS,
	    .details = "The part of reconcile that does not search for crashed agents. With auto_recover "
	    "= true it restarts recorded agents, with their context if a snapshot or pane has it, "
	    "otherwise from their record. The timer runs it at boot." },
	{ "install", "install a part of the setup", .run = cmd_install, .now = "setup --only PART",
	    .args = "shim|timer [patrol]|plugin|hooks|binding|key|conf|resurrect",
	    .options = OPT_PRINT | OPT_TMUX | OPT_HOOKS,
	    .details = "shim adds a shell function for `gt recover`; other commands go to gt. timer runs "
	    "`gt-recover snapshot` every checkpoint_interval, with a systemd user timer or a crontab line "
	    "that has the same --town, -L and --config, and `gt-recover startup` at boot. timer patrol "
	    "also runs `gt-recover patrol`. plugin creates plugins/gt-recover in the town: Gas Town's "
	    "daemon then runs `gt-recover patrol` every two minutes. hooks adds `gt-recover hook` to the "
	    "hooks in Claude Code's settings.json (CLAUDE_CONFIG_DIR, or ~/.claude); running agents use "
	    "it after a restart. --agent NAME does the same for codex (hooks.json), gemini, qwen and "
	    "copilot (settings.json) and opencode (a file in its folder plugin). binding adds the "
	    "commands /recovery:status and /recovery:resume to Claude Code. --prints the files and "
	    "changes nothing." },
	{ "uninstall", "remove an installed part", .run = cmd_install, .now = "setup --undo --only PART",
	    .args = "shim|timer [patrol]|plugin|hooks|binding|key|conf|resurrect",
	    .options = OPT_PRINT | OPT_TMUX | OPT_HOOKS },
	{ .name = NULL },
};

/* The words are its name, or both of those that took its name's place ("records run"). */
static bool
is_spelled(const struct command *c, const char *const *words, size_t n)
{
	size_t first = strlen(words[0]);

	if (n == 1)
		return strcmp(c->name, words[0]) == 0;
	return c->now != NULL && strncmp(c->now, words[0], first) == 0 && c->now[first] == ' ' &&
	    strcmp(c->now + first + 1, words[1]) == 0;
}

const struct command *
cli_find_command(const char *const *words, size_t n, size_t *taken)
{
	for (*taken = n < 2 ? n : 2; *taken > 0; --*taken)
		for (const struct command *c = commands; c->name != NULL; c++)
			if (is_spelled(c, words, *taken))
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
	    "every recoverable agent; asks once, or needs --yes" },
	{ "respawn", 0, NULL, NULL, OPT_ALL, FLAG(respawn),
	    "replace an idle shell by the agent, instead of starting it inside" },
	{ "force", 0, NULL, NULL, OPT_ALL, FLAG(force),
	    "with SESSION: also an idle shell without evidence of an agent" },
	{ "plain", 0, NULL, NULL, OPT_ALL, FLAG(plain),
	    "choose from a numbered list, without the full-screen picker" },
	{ "yes", 'y', NULL, NULL, OPT_ASK, FLAG(yes), "do not ask" },
	{ "no-input", 0, NULL, NULL, OPT_ASK, FLAG(no_input),
	    "never ask; fail if an answer is needed" },
	{ "conversation", 0, "ID", "none", OPT_TALK, TEXT(conversation),
	    "the agent's conversation, if there are several candidates; none: its screen only" },
	{ "via", 0, "WAY", "auto|resume|inject", OPT_VIA, TEXT(via),
	    "resume: continue the agent's own conversation; inject: a new conversation with the context "
	    "as its first prompt; auto: resume if safe, else inject" },
	{ "scope", 0, "task|lines", "task|lines", OPT_SCOPE, TEXT(scope),
	    "the current task, or the newest max_context_lines lines" },
	{ "context", 0, NULL, NULL, OPT_SHOW, FLAG(context), "print only the collected context" },
	{ "prompt", 0, NULL, NULL, OPT_SHOW, FLAG(prompt), "print only the recovery prompt" },
	{ "recover", 0, NULL, NULL, OPT_RECOVER, FLAG(recover), "also recover crashed agents" },
	{ "include-infra", 0, NULL, NULL, OPT_INFRA, FLAG(include_infra),
	    "also Gas Town's mayor, deacon, witness, refinery, boot and crew" },
	{ "names", 0, NULL, NULL, OPT_LIST, FLAG(names), "only the names of recoverable sessions, one "
	    "per line" },
	{ "live", 0, NULL, NULL, OPT_LIST, FLAG(live),
	    "also living agents: working, needs permission or idle, with the age" },
	{ "fleet", 0, NULL, NULL, OPT_LIST, FLAG(fleet),
	    "also the agents of other hosts that share the store" },
	{ "past", 0, NULL, NULL, OPT_LIST, FLAG(past),
	    "list recent conversations and the command that resumes each" },
	{ "agent", 0, "NAME", PARSED_AGENTS, OPT_AGENT, TEXT(agent),
	    "agent that wrote the input (default: claude)" },
	{ "transcript", 0, NULL, NULL, OPT_AGENT, FLAG(transcript),
	    "the input is a transcript of claude, codex, gemini, qwen, copilot, pi, auggie, cline or "
	    "opencode, not a screen" },
	{ "agent", 0, "NAME", "claude|codex|gemini|qwen|copilot|opencode", OPT_HOOKS, TEXT(agent),
	    "agent: claude (default), codex, gemini, qwen, copilot or opencode" },
	{ "report", 0, NULL, NULL, OPT_SCRUB, FLAG(report),
	    "also print kinds, rows and counts as JSON on standard error" },
	{ "check", 0, NULL, NULL, OPT_SCRUB, FLAG(check),
	    "print nothing; exit status 7 if a secret was found" },
	{ "no-known", 0, NULL, NULL, OPT_SCRUB, FLAG(no_known),
	    "rules only; do not match secrets of your environment and files" },
	{ "sanitize", 0, NULL, NULL, OPT_SCRUB, FLAG(sanitize),
	    "also remove escape sequences, control and invisible characters" },
	{ "only", 0, "PARTS", NULL, OPT_SETUP, TEXT(only), "only these parts, for example panes,timer" },
	{ "with", 0, "PARTS", NULL, OPT_SETUP, TEXT(with), "also these parts" },
	{ "without", 0, "PARTS", NULL, OPT_SETUP, TEXT(without), "all but these parts" },
	{ "undo", 0, NULL, NULL, OPT_SETUP, FLAG(undo), "remove what setup installed" },
	{ "print", 0, NULL, NULL, OPT_PRINT, FLAG(print), "print to standard output, change nothing" },
	{ "since", 0, "AGE", NULL, OPT_SINCE, TEXT(since), "only events newer than AGE (7d, 12h)" },
	{ "verify", 0, NULL, NULL, OPT_VERIFY, FLAG(verify), "compare events.jsonl with the store" },
	{ "mode", 0, "MODE", "stale|all|none", OPT_RUNS, TEXT(mode),
	    "runs to settle: stale (default), all or none" },
	{ "threshold", 0, "SECS", NULL, OPT_RUNS, TEXT(threshold),
	    "age in seconds at which a run is stale (300)" },
	{ "passes", 0, "N", NULL, OPT_PASSES, TEXT(passes),
	    "for timers: make N passes, one every checkpoint_interval" },
	{ "undelivered", 0, NULL, NULL, OPT_UNDELIVERED, FLAG(undelivered),
	    "only messages not delivered or not answered" },
	{ "lease", 0, "SECS", NULL, OPT_LEASE, TEXT(lease),
	    "seconds for which it is held after the last renewal (300)" },
	{ "sprints", 0, "LIST", NULL, OPT_SPRINTS, TEXT(sprints),
	    "only these sprints, by number (2,3)" },
	{ "output", 0, "FILE", NULL, OPT_OUTPUT, TEXT(output),
	    "write to a private file instead of standard output" },
	{ "socket", 'L', "NAME", NULL, OPT_SOCKET, OPTION_LIST, offsetof(struct cli, sockets),
	    "tmux socket, name or path (repeatable)" },
	{ "town", 0, "DIR", NULL, OPT_TOWN, TEXT(town), "root directory of the Gas Town" },
	{ "config", 0, "FILE", NULL, OPT_CONFIG, TEXT(config), "use this configuration file" },
	{ "json", 0, "stream", NULL, 0, OPTION_FORMAT, offsetof(struct cli, json),
	    "print one JSON object; =stream: one object per line, as things happen" },
	{ "quiet", 'q', NULL, NULL, 0, FLAG(quiet), "suppress progress output" },
	{ "verbose", 'v', NULL, NULL, 0, OPTION_COUNT, offsetof(struct cli, verbose), "show more detail" },
	{ "color", 0, "WHEN", "auto|always|never", 0, TEXT(color), "auto, always or never" },
	{ "help", 'h', NULL, NULL, 0, FLAG(help), "show this help" },
	{ "version", 'V', NULL, NULL, 0, FLAG(version), "print the version" },
	{ .name = NULL },
};

enum { OPTIONS = sizeof cli_options / sizeof cli_options[0] - 1 };

static int
usage(struct err *e, const char *what)
{
	err_set(e, GT_USAGE, "usage", "%s", what);
	return err_hint(e, "gt-recover help");
}

static void
store_option(struct cli *cli, const struct cli_option *o, const char *value, size_t most)
{
	void *at = (char *)cli + o->at;

	switch (o->kind) {
	case OPTION_FLAG: *(bool *)at = true; break;
	case OPTION_FORMAT:
		*(bool *)at = true;
		cli->json_format = value;
		break;
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
	case OPTION_FORMAT:
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
		snprintf(what, size, "unknown option -%c", optopt);
	else
		snprintf(what, size, "unknown option %.100s", word);
}

/* Every abbreviation that works today is one that a new option breaks. */
static bool
is_abbreviated(const char *word, const char *name)
{
	return str_starts(word, "--") && strcspn(word + 2, "=") != strlen(name);
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
		names[i] = (struct option){ o->name, o->kind == OPTION_FORMAT ? optional_argument
			: o->argument != NULL ? required_argument : no_argument, NULL, 256 };
		while (strcmp(cli_options[names[i].val - 256].name, o->name) != 0)
			names[i].val++;
		if (o->letter != '\0')
			n += snprintf(letters + n, sizeof letters - (size_t)n, "%c%s", o->letter,
			    o->argument != NULL ? ":" : "");
	}
	opterr = 0;
	while ((option = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		const char *word = argv[optind - 1 - (optarg == argv[optind - 1])];
		int i = option - 256;

		if (i >= 0 && is_abbreviated(word, cli_options[i].name))
			option = '?';
		if (option == '?' && str_starts(word, "--") && what[0] == '\0') {
			cli_unknown_option(word, e);
			what[0] = ' ';
		}
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
	return what[0] == '\0' ? 0 : what[0] == ' ' ? -1 : usage(e, what);
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

	if (cli->json && c->text_only)
		not_taken = "json";
	if (not_taken != NULL) {
		err_set(e, GT_USAGE, "usage", "%s has no --%s",
		    *c->name != '\0' ? cli->command : "gt-recover", not_taken);
		return err_hint(e, "gt-recover help %s shows its options",
		    *c->name != '\0' ? cli->command : "recover");
	}
	if (cli->json_format != NULL && strcmp(cli->json_format, "stream") != 0)
		return usage(e, "--json takes no value, or =stream");
	if (cli->json_format != NULL && !c->streams) {
		err_set(e, GT_USAGE, "usage", "%s has no --json=stream", cli->command);
		return err_hint(e, "--json prints one object at the end");
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
	size_t taken = 0;

	if (cli->n_args > 0 && !literal && cli->args[0][0] != '\0')
		c = cli_find_command(cli->args, cli->n_args, &taken);
	if (c == NULL) {
		c = commands;
		taken = 0;
	}
	cli->args += taken;
	cli->n_args -= taken;
	cli->command = taken == 2 ? c->now : c->name;
	return c;
}

const struct command *
cli_parse(struct cli *cli, int argc, char **argv, struct err *e)
{
	const struct command *c;

	if (read_options(cli, argc, argv, e) != 0)
		return NULL;
	c = choose(cli, argv);
	if (!cli->version && !cli->help && check_options(cli, c, e) != 0)
		return NULL;
	if (c->flag != 0)
		*(bool *)((char *)cli + c->flag) = true;
	return c;
}
