#compdef gt-recover
# zsh completion for gt-recover, written by make completions. Session names come from `gt-recover list --names`.

_gt_recover_sessions() {
	local -a names where
	local option

	for option in --town --config -L --socket; do
		(( ${+opt_args[$option]} )) && where+=($option ${(Q)opt_args[$option]})
	done
	names=(${(f)"$(_call_program sessions gt-recover ${(q)where} list --names 2>/dev/null)"})
	_wanted sessions expl 'session' compadd -a names
}

_gt_recover_commands() {
	local -a commands=(
		'list:what could be recovered, and why not the rest'
		'context:what was gathered for a session'
		'prompt:the prompt that the agent would be given, and nothing else'
		'snapshot:keep what the agents'\'' panes show now, for cron'
		'arm:keep agents'\'' panes when they die, for recovery'
		'disarm:put back what arm changed'
		'patrol:one pass for cron or the witness: find crashes, and bring agents back if auto_recover'
		'startup:make the records true again after a crash or a reboot'
		'release:let a quarantined session be recovered again'
		'log:what happened, the newest last'
		'stats:how many recoveries, how they ended, how long they took'
		'run:runs: work that waits for a runner, and what a restart left of it'
		'runner:the registry of those who execute runs'
		'session:agents'\'' sessions: how to go on with each, whatever dies'
		'agent:the tree of agents: who spawned whom'
		'message:messages between agents, logged before they are on their way'
		'epic:epics: long work of many agents, and what a crash left of it'
		'checkpoint:write down how far an epic, a sprint, an agent or a file is'
		'lock:locks of the agents'\'' own, such as a slot for tests'
		'hook:what agents'\'' hooks call: that they live, and which files they are writing'
		'doctor:whether recovery would work here, and what to do about what would not'
		'parse:filter: a captured screen (or a transcript) on stdin, exchanges on stdout'
		'scrub:filter: text on stdin, the same without secrets on stdout'
		'config:every setting, its value and where it came from'
		'install:make `gt recover` work, take snapshots regularly, let Gas Town run patrol, hear from agents'
		'uninstall:take one of these away again'
		'help:the commands and options'
		'version:the version'
	)

	_describe -t commands 'command' commands
}

_gt_recover_settings() {
	local -a settings=(
		enabled auto_recover max_context_lines max_context_tokens scope via snapshot_interval
		snapshot_dir snapshot_keep snapshot_age last_snapshot_age keep_history keep_history_count
		archive archive_age event_log_mib damaged_keep ready_timeout ack_timeout spacing
		max_attempts attempt_window include_infra resume_scope reply_policy state host
		safe_directories log_file prompts.template prompts.template_file prompts.resume_template
		prompts.resume_template_file runs.mode runs.threshold runs.claimed_to
		epics.checkpoint_interval epics.wip_interval epics.resume_threshold epics.start_command
		scrub.rules scrub.allow scrub.known_values scrub.known_files mail.command mail.to
	)

	_wanted settings expl 'setting' compadd -a settings
}

_gt_recover() {
	local curcontext=$curcontext state line
	local -A opt_args
	local -a options common=(
		'--json[one JSON object on standard output]'
		'(-q --quiet)'{-q,--quiet}'[no progress]'
		'*'{-v,--verbose}'[more progress]'
		'--color[auto, always or never]:when:(auto always never)'
		'(-h --help)'{-h,--help}'[help, also for a command]'
		'(-V --version)'{-V,--version}'[the version]'
	)

	case ${words[(r)(list|context|prompt|snapshot|arm|disarm|patrol|startup|release|log|stats|run|runner|session|agent|message|epic|checkpoint|lock|hook|doctor|parse|scrub|config|install|uninstall|help|version)]} in
	list) options=(
		'--include-infra[also Gas Town'\''s mayor, deacon, witness, refinery, boot and crew]'
		'--names[session names alone, one a line]'
		'--fleet[also the agents of the other hosts that share the store, as those saw them last]'
		'--past[recent conversations instead, and the command that resumes each]'
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	context) options=(
		'--conversation[which conversation is the agent'\''s, where that is in doubt]:id:(none)'
		'--scope[how much of the conversation is taken]:task:(task lines)'
		'--include-infra[also Gas Town'\''s mayor, deacon, witness, refinery, boot and crew]'
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	prompt) options=(
		'--conversation[which conversation is the agent'\''s, where that is in doubt]:id:(none)'
		'--via[how the context goes back]:way:(auto resume inject)'
		'--scope[how much of the conversation is taken]:task:(task lines)'
		'--include-infra[also Gas Town'\''s mayor, deacon, witness, refinery, boot and crew]'
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	snapshot) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	arm) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'--include-infra[also Gas Town'\''s mayor, deacon, witness, refinery, boot and crew]'
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	disarm) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	patrol) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	startup) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'--mode[which runs are settled]:mode:(stale all none)'
		'--threshold[a run is stale after so many seconds (300)]:secs: '
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	release) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	log) options=(
		'--since[only what is younger, as in 7d or 12h]:age: '
		'--verify[compare events.jsonl with the store]'
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	stats) options=(
		'--since[only what is younger, as in 7d or 12h]:age: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	run) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'--since[only what is younger, as in 7d or 12h]:age: '
		'--mode[which runs are settled]:mode:(stale all none)'
		'--threshold[a run is stale after so many seconds (300)]:secs: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	runner) options=(
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	session) options=(
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	agent) options=(
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	message) options=(
		'--undelivered[only messages on their way or without their answer]'
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	epic) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'(-y --yes)'{-y,--yes}'[do not ask]'
		'--no-input[never ask]'
		'--sprints[only the sprints at these places, as in 2,3]:list: '
		'--output[write to a private file, not to standard output]:file:_files'
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	checkpoint) options=(
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	lock) options=(
		'--lease[held for so many seconds after it was last renewed (300)]:secs: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	hook) options=(
		'--agent[whose hooks]:name:(claude codex gemini qwen copilot opencode)'
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	doctor) options=(
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	parse) options=(
		'--agent[whose screen or record it is (claude)]:name:(claude codex gemini opencode copilot qwen auggie cline pi cursor-agent amp)'
		'--transcript[the input is the agent'\''s own record, not a screen]'
	) ;;
	scrub) options=(
		'--report[also kinds, rows and counts as JSON, on standard error]'
		'--check[print nothing]'
		'--no-known[the rules alone, not the secrets of your environment and files]'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	config) options=(
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	install) options=(
		'--agent[whose hooks]:name:(claude codex gemini qwen copilot opencode)'
		'--print[write to standard output, touch no file]'
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	uninstall) options=(
		'--agent[whose hooks]:name:(claude codex gemini qwen copilot opencode)'
		'--print[write to standard output, touch no file]'
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	help) options=(
	) ;;
	version) options=(
	) ;;
	*) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'--all[everything that can be recovered]'
		'--respawn[replace an idle shell by the agent, instead of starting it inside]'
		'--force[with SESSION]'
		'(-y --yes)'{-y,--yes}'[do not ask]'
		'--no-input[never ask]'
		'--conversation[which conversation is the agent'\''s, where that is in doubt]:id:(none)'
		'--via[how the context goes back]:way:(auto resume inject)'
		'--scope[how much of the conversation is taken]:task:(task lines)'
		'--include-infra[also Gas Town'\''s mayor, deacon, witness, refinery, boot and crew]'
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	esac
	_arguments -C -s -S $common $options '1: :->first' '*: :->rest' && return

	case $state in
	first)
		_alternative 'commands:command:_gt_recover_commands' 'sessions:session:_gt_recover_sessions'
		;;
	rest)
		case $line[1] in
		list) ;;
		context) _gt_recover_sessions ;;
		prompt) _gt_recover_sessions ;;
		snapshot) _gt_recover_sessions ;;
		arm) _gt_recover_sessions ;;
		disarm) _gt_recover_sessions ;;
		patrol) ;;
		startup) ;;
		release) _gt_recover_sessions ;;
		log) _gt_recover_sessions ;;
		stats) ;;
		run) _wanted words expl 'word' compadd create claim start stop finish list recover ;;
		runner) _wanted words expl 'word' compadd register beat list ;;
		session) _wanted words expl 'word' compadd record show list suspend restore end ;;
		agent) _wanted words expl 'word' compadd spawn tree resume end ;;
		message) _wanted words expl 'word' compadd send broadcast deliver reply list ;;
		epic) _wanted words expl 'word' compadd status resume inspect export import abandon signal ;;
		checkpoint) _wanted words expl 'word' compadd epic sprint agent file ;;
		lock) _wanted words expl 'word' compadd acquire renew release list ;;
		hook) _wanted events expl 'event' compadd SessionStart UserPromptSubmit PreToolUse PostToolUse SubagentStop Stop SessionEnd ;;
		doctor) ;;
		parse) ;;
		scrub) ;;
		config) _gt_recover_settings ;;
		install) _wanted words expl 'word' compadd shim timer patrol plugin hooks binding ;;
		uninstall) _wanted words expl 'word' compadd timer patrol plugin hooks binding ;;
		help) _gt_recover_commands ;;
		version) ;;
		*) _gt_recover_sessions ;;
		esac
		;;
	esac
}

_gt_recover "$@"
