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
		'list:list crashed agents and whether each can be recovered'
		'show:show what would be recovered: context and prompt'
		'restart:stop running agents, start them with their conversation'
		'workspace:show or rebuild the sessions of an ended tmux server'
		'setup:make crashes recoverable: hooks, timer, tmux options'
		'snapshot:save a snapshot of all agent panes'
		'status:print how many agents are crashed, for a status line'
		'doctor:check the setup and suggest fixes'
		'log:show the event log, oldest first'
		'stats:show the number of recoveries, their causes and results'
		'scrub:filter: replace secrets in the text on stdin'
		'parse:filter: read a screen or transcript, print exchanges'
		'epic:resume, inspect or move epics: long work of many agents'
		'wip:list and restore checkpoints of uncommitted work'
		'records:records of programs: sessions, runs, messages'
		'reconcile:reconcile records after a crash or reboot'
		'hook:entry point of agent hooks'
		'help:show help for a command'
		'config:show or change settings'
		'completion:print the completions of a shell'
		'version:print the version'
	)

	_describe -t commands 'command' commands
}

_gt_recover_settings() {
	local -a settings=(
		enabled auto_recover wip on_crash max_context_lines max_context_tokens scope via
		snapshot_interval snapshot_dir snapshot_keep snapshot_age last_snapshot_age keep_history
		keep_history_count archive archive_age event_log_mib damaged_keep ready_timeout ack_timeout
		spacing parallel max_attempts attempt_window include_infra resume_scope reply_policy state
		host safe_directories log_file prompts.template prompts.template_file
		prompts.resume_template prompts.resume_template_file runs.mode runs.threshold
		runs.claimed_to epics.checkpoint_interval epics.wip_interval epics.resume_threshold
		epics.start_command scrub.rules scrub.allow scrub.known_values scrub.known_files
		mail.command mail.to
	)

	_wanted settings expl 'setting' compadd -- $@ $settings
}

_gt_recover() {
	local curcontext=$curcontext state line
	local -A opt_args
	local -a options common=(
		'--json[print one JSON object]'
		'(-q --quiet)'{-q,--quiet}'[suppress progress output]'
		'*'{-v,--verbose}'[show more detail]'
		'--color[auto, always or never]:when:(auto always never)'
		'(-h --help)'{-h,--help}'[show this help]'
		'(-V --version)'{-V,--version}'[print the version]'
	)

	case ${words[(r)(list|show|restart|workspace|setup|snapshot|status|doctor|log|stats|scrub|parse|epic|wip|records|reconcile|hook|help|config|completion|version)]} in
	list) options=(
		'--include-infra[also Gas Town'\''s mayor, deacon, witness, refinery, boot and crew]'
		'--names[only the names of recoverable sessions, one per line]'
		'--live[also living agents]'
		'--fleet[also the agents of other hosts that share the store]'
		'--past[list recent conversations and the command that resumes each]'
		'*'{-L,--socket}'[tmux socket, name or path (repeatable)]:name: '
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
	) ;;
	show) options=(
		'--conversation[the agent'\''s conversation, if there are several candidates]:id:(none)'
		'--via[resume]:way:(auto resume inject)'
		'--scope[the current task, or the newest max_context_lines lines]:task:(task lines)'
		'--context[print only the collected context]'
		'--prompt[print only the recovery prompt]'
		'--include-infra[also Gas Town'\''s mayor, deacon, witness, refinery, boot and crew]'
		'*'{-L,--socket}'[tmux socket, name or path (repeatable)]:name: '
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
	) ;;
	restart) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'--all[every recoverable agent]'
		'--respawn[replace an idle shell by the agent, instead of starting it inside]'
		'--force[with SESSION]'
		'--plain[choose from a numbered list, without the full-screen picker]'
		'(-y --yes)'{-y,--yes}'[do not ask]'
		'--no-input[never ask]'
		'--conversation[the agent'\''s conversation, if there are several candidates]:id:(none)'
		'--via[resume]:way:(auto resume inject)'
		'--scope[the current task, or the newest max_context_lines lines]:task:(task lines)'
		'--include-infra[also Gas Town'\''s mayor, deacon, witness, refinery, boot and crew]'
		'*'{-L,--socket}'[tmux socket, name or path (repeatable)]:name: '
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
	) ;;
	workspace) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'*'{-L,--socket}'[tmux socket, name or path (repeatable)]:name: '
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
	) ;;
	setup) options=(
		'(-y --yes)'{-y,--yes}'[do not ask]'
		'--no-input[never ask]'
		'--only[only these parts, for example panes,timer]:parts: '
		'--with[also these parts]:parts: '
		'--without[all but these parts]:parts: '
		'--undo[remove what setup installed]'
		'--print[print to standard output, change nothing]'
		'*'{-L,--socket}'[tmux socket, name or path (repeatable)]:name: '
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
	) ;;
	snapshot) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'--passes[for timers]:n: '
		'*'{-L,--socket}'[tmux socket, name or path (repeatable)]:name: '
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
	) ;;
	status) options=(
		'*'{-L,--socket}'[tmux socket, name or path (repeatable)]:name: '
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
	) ;;
	doctor) options=(
		'*'{-L,--socket}'[tmux socket, name or path (repeatable)]:name: '
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
	) ;;
	log) options=(
		'--since[only events newer than AGE (7d, 12h)]:age: '
		'--verify[compare events.jsonl with the store]'
		'*'{-L,--socket}'[tmux socket, name or path (repeatable)]:name: '
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
	) ;;
	stats) options=(
		'--since[only events newer than AGE (7d, 12h)]:age: '
		'*'{-L,--socket}'[tmux socket, name or path (repeatable)]:name: '
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
	) ;;
	scrub) options=(
		'--report[also print kinds, rows and counts as JSON on standard error]'
		'--check[print nothing]'
		'--no-known[rules only]'
		'--sanitize[also remove escape sequences, control and invisible characters]'
		'--config[use this configuration file]:file:_files'
	) ;;
	parse) options=(
		'--agent[agent that wrote the input (default]:name:(claude codex gemini opencode copilot qwen auggie cline pi cursor-agent amp)'
		'--transcript[the input is a transcript of claude, codex, gemini, qwen, copilot, pi, auggie, cline or opencode, not a screen]'
	) ;;
	epic) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'(-y --yes)'{-y,--yes}'[do not ask]'
		'--no-input[never ask]'
		'--sprints[only these sprints, by number (2,3)]:list: '
		'--output[write to a private file instead of standard output]:file:_files'
		'*'{-L,--socket}'[tmux socket, name or path (repeatable)]:name: '
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
	) ;;
	wip) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'(-y --yes)'{-y,--yes}'[do not ask]'
		'--no-input[never ask]'
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
	) ;;
	records) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'--since[only events newer than AGE (7d, 12h)]:age: '
		'--mode[runs to settle]:mode:(stale all none)'
		'--threshold[age in seconds at which a run is stale (300)]:secs: '
		'--undelivered[only messages not delivered or not answered]'
		'--lease[seconds for which it is held after the last renewal (300)]:secs: '
		'*'{-L,--socket}'[tmux socket, name or path (repeatable)]:name: '
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
	) ;;
	reconcile) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'--recover[also recover crashed agents]'
		'--mode[runs to settle]:mode:(stale all none)'
		'--threshold[age in seconds at which a run is stale (300)]:secs: '
		'*'{-L,--socket}'[tmux socket, name or path (repeatable)]:name: '
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
	) ;;
	hook) options=(
		'--agent[agent]:name:(claude codex gemini qwen copilot opencode)'
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
	) ;;
	help) options=(
	) ;;
	config) options=(
		'*'{-L,--socket}'[tmux socket, name or path (repeatable)]:name: '
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
	) ;;
	completion) options=(
	) ;;
	version) options=(
	) ;;
	*) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'--all[every recoverable agent]'
		'--respawn[replace an idle shell by the agent, instead of starting it inside]'
		'--force[with SESSION]'
		'--plain[choose from a numbered list, without the full-screen picker]'
		'(-y --yes)'{-y,--yes}'[do not ask]'
		'--no-input[never ask]'
		'--conversation[the agent'\''s conversation, if there are several candidates]:id:(none)'
		'--via[resume]:way:(auto resume inject)'
		'--scope[the current task, or the newest max_context_lines lines]:task:(task lines)'
		'--include-infra[also Gas Town'\''s mayor, deacon, witness, refinery, boot and crew]'
		'*'{-L,--socket}'[tmux socket, name or path (repeatable)]:name: '
		'--town[root directory of the Gas Town]:dir:_files -/'
		'--config[use this configuration file]:file:_files'
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
		show) _gt_recover_sessions ;;
		restart) _gt_recover_sessions ;;
		workspace) _wanted words expl 'word' compadd show restore ;;
		setup) ;;
		snapshot) _gt_recover_sessions ;;
		status) ;;
		doctor) ;;
		log) _gt_recover_sessions ;;
		stats) ;;
		scrub) ;;
		parse) ;;
		epic) _wanted words expl 'word' compadd status resume inspect export import abandon signal ;;
		wip) _wanted words expl 'word' compadd list show restore prune ;;
		records) _wanted words expl 'word' compadd session agent message run runner checkpoint lock release ;;
		reconcile) ;;
		hook) _wanted events expl 'event' compadd SessionStart UserPromptSubmit PreToolUse PostToolUse SubagentStop Stop SessionEnd ;;
		help) _gt_recover_commands ;;
		config) _gt_recover_settings path edit set ;;
		completion) _wanted words expl 'word' compadd bash fish zsh ;;
		version) ;;
		*) _gt_recover_sessions ;;
		esac
		;;
	esac
}

_gt_recover "$@"
