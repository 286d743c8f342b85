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
		'stats:show how many recoveries there were and how they ended'
		'scrub:filter: replace secrets in the text on stdin'
		'parse:filter: read a screen or transcript, print exchanges'
		'epic:resume, inspect or move long work of many agents'
		'wip:list and restore checkpoints of uncommitted work'
		'records:the records of programs: sessions, runs, messages, locks'
		'reconcile:make records true again after a crash or reboot'
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
		'--json[one JSON object on standard output]'
		'(-q --quiet)'{-q,--quiet}'[no progress]'
		'*'{-v,--verbose}'[more progress]'
		'--color[auto, always or never]:when:(auto always never)'
		'(-h --help)'{-h,--help}'[help, also for a command]'
		'(-V --version)'{-V,--version}'[the version]'
	)

	case ${words[(r)(list|show|restart|workspace|setup|snapshot|status|doctor|log|stats|scrub|parse|epic|wip|records|reconcile|hook|help|config|completion|version)]} in
	list) options=(
		'--include-infra[also Gas Town'\''s mayor, deacon, witness, refinery, boot and crew]'
		'--names[names of recoverable sessions alone, one a line]'
		'--live[also living agents]'
		'--fleet[also the agents of the other hosts that share the store, as those saw them last]'
		'--past[recent conversations instead, and the command that resumes each]'
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	show) options=(
		'--conversation[which conversation is the agent'\''s, where that is in doubt]:id:(none)'
		'--via[how the context goes back]:way:(auto resume inject)'
		'--scope[how much of the conversation is taken]:task:(task lines)'
		'--context[only what was gathered]'
		'--prompt[only the recovery prompt]'
		'--include-infra[also Gas Town'\''s mayor, deacon, witness, refinery, boot and crew]'
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	restart) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'--all[everything that can be recovered]'
		'--respawn[replace an idle shell by the agent, instead of starting it inside]'
		'--force[with SESSION]'
		'--plain[choose from a numbered list, not on the whole screen]'
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
	workspace) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	setup) options=(
		'(-y --yes)'{-y,--yes}'[do not ask]'
		'--no-input[never ask]'
		'--only[these parts, as in panes,timer]:parts: '
		'--with[also these parts]:parts: '
		'--without[all but these parts]:parts: '
		'--undo[remove what setup installed]'
		'--print[write to standard output, touch no file]'
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
	status) options=(
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	doctor) options=(
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
	scrub) options=(
		'--report[also kinds, rows and counts as JSON, on standard error]'
		'--check[print nothing]'
		'--no-known[the rules alone, not the secrets of your environment and files]'
		'--sanitize[also take out escape sequences, control and invisible characters]'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	parse) options=(
		'--agent[whose screen or record it is (claude)]:name:(claude codex gemini opencode copilot qwen auggie cline pi cursor-agent amp)'
		'--transcript[the input is the agent'\''s own record, not a screen]'
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
	wip) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'(-y --yes)'{-y,--yes}'[do not ask]'
		'--no-input[never ask]'
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	records) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'--since[only what is younger, as in 7d or 12h]:age: '
		'--mode[which runs are settled]:mode:(stale all none)'
		'--threshold[a run is stale after so many seconds (300)]:secs: '
		'--undelivered[only messages on their way or without their answer]'
		'--lease[held for so many seconds after it was last renewed (300)]:secs: '
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	reconcile) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'--recover[also recover crashed agents]'
		'--mode[which runs are settled]:mode:(stale all none)'
		'--threshold[a run is stale after so many seconds (300)]:secs: '
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	hook) options=(
		'--agent[whose hooks]:name:(claude codex gemini qwen copilot opencode)'
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	help) options=(
	) ;;
	config) options=(
		'*'{-L,--socket}'[only this tmux socket (name or path)]:name: '
		'--town[the Gas Town to work in]:dir:_files -/'
		'--config[instead of the town'\''s or your own gt.toml]:file:_files'
	) ;;
	completion) options=(
	) ;;
	version) options=(
	) ;;
	*) options=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done, change nothing]'
		'--all[everything that can be recovered]'
		'--respawn[replace an idle shell by the agent, instead of starting it inside]'
		'--force[with SESSION]'
		'--plain[choose from a numbered list, not on the whole screen]'
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
