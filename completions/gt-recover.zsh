#compdef gt-recover
# zsh completion for gt-recover. Session names come from `gt-recover list --names`.

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
		'prompt:the prompt that the agent would be given'
		'snapshot:keep what the agents show now'
		"arm:keep agents' panes when they die"
		'disarm:put back what arm changed'
		'patrol:one unattended pass, for cron or the witness'
		'release:let a quarantined session be recovered again'
		'log:what happened, the newest last'
		'stats:how many recoveries, how they ended'
		'run:work that waits for a runner'
		'runner:the registry of those who execute runs'
		"session:agents' sessions: how to go on with each"
		'agent:the tree of agents: who spawned whom'
		'message:messages between agents'
		'epic:long work of many agents'
		'checkpoint:write down how far something is'
		'lock:locks of the agents'
		"hook:what agents' hooks call"
		'doctor:whether recovery would work here'
		'parse:filter: a captured screen to exchanges'
		'scrub:filter: text without its secrets'
		'config:every setting, its value and where it came from'
		'startup:make the records true again after a crash or a reboot'
		'install:make "gt recover" work, take snapshots regularly, let Gas Town run patrol'
		'uninstall:take one of these away again'
		'help:the commands and options'
		'version:the version'
	)

	_describe -t commands 'command' commands
}

_gt_recover_settings() {
	local -a settings=(
		enabled auto_recover max_context_lines max_context_tokens scope via snapshot_interval snapshot_dir
		snapshot_keep snapshot_age ready_timeout ack_timeout spacing max_attempts attempt_window include_infra
		resume_scope reply_policy state host safe_directories log_file prompts.template prompts.template_file
		prompts.resume_template prompts.resume_template_file runs.mode runs.threshold runs.claimed_to
		epics.checkpoint_interval epics.wip_interval epics.resume_threshold epics.start_command scrub.rules
		scrub.allow scrub.known_values scrub.known_files mail.command mail.to
	)

	_wanted settings expl 'setting' compadd -a settings
}

_gt_recover() {
	local curcontext=$curcontext state line
	local -A opt_args
	local -a dry=(
		'(-n --dry-run)'{-n,--dry-run}'[show what would be done]'
	) since=(
		'--since[only what is younger, as in 7d]:age: '
	) place=(
		'--town[the Gas Town to work in]:directory:_files -/'
		'--config[instead of the town'"'"'s or your own gt.toml]:file:_files'
	)
	local -a options common=(
		'--json[one JSON object on standard output]'
		'(-q --quiet)'{-q,--quiet}'[no progress]'
		'*'{-v,--verbose}'[more progress]'
		'--color[colours on standard error]:when:(auto always never)'
		'(-h --help)'{-h,--help}'[help]'
	) servers=(
		$place
		'*'{-L,--socket}'[only this tmux socket, a name or a path]:socket: '
	) scope=(
		'--scope[how much of the conversation]:scope:(task lines)'
		"--include-infra[also Gas Town's infrastructure]"
	) hooks=(
		'--agent[whose hooks]:agent:(claude codex gemini qwen copilot opencode)'
	) via=(
		'--via[how the context goes back]:way:(auto resume inject)'
	) act=(
		$dry
		'--all[everything that can be recovered]'
		'(-y --yes)'{-y,--yes}'[do not ask]'
		'--no-input[never ask]'
		$via
		'(-V --version)'{-V,--version}'[the version]'
	)

	case ${words[(r)(list|context|prompt|snapshot|arm|disarm|patrol|startup|release|log|stats|run|runner|session|agent|message|epic|checkpoint|lock|hook|doctor|parse|scrub|config|install|uninstall|help|version)]} in
	list) options=($servers "--include-infra[also Gas Town's infrastructure]" '--names[names alone]' '--fleet[also the agents of other hosts]') ;;
	context) options=($servers $scope) ;;
	prompt) options=($servers $via $scope) ;;
	arm) options=($servers $dry "--include-infra[also Gas Town's infrastructure]") ;;
	startup) options=($servers $dry '--mode[which runs are settled]:mode:(stale all none)'
		'--threshold[seconds after which a run is stale]:seconds: ') ;;
	disarm|patrol|release) options=($servers $dry) ;;
	log) options=($place $since '--verify[compare events.jsonl with the store]') ;;
	stats) options=($place $since) ;;
	run) options=($place $since $dry '--mode[which runs are settled]:mode:(stale all none)'
		'--threshold[seconds after which a run is stale]:seconds: ') ;;
	runner|checkpoint) options=($place) ;;
	lock) options=($place '--lease[seconds that it is held without being renewed]:seconds: ') ;;
	epic) options=($servers $dry '--sprints[only the sprints at these places]:list' '--output[a private file, not standard output]:file:_files' '(-y --yes)'{-y,--yes}'[do not ask]' '--no-input[never ask]') ;;
	session|agent) options=($place) ;;
	message) options=($place '--undelivered[only those on their way or without their answer]') ;;
	parse) options=('--agent[whose screen or record it is]:agent:(claude codex gemini opencode copilot qwen auggie cline pi cursor-agent amp)'
		"--transcript[the input is the agent's own record]") ;;
	scrub) options=('--config[instead of your own gt.toml]:file:_files' '--report[also kinds, rows and counts, on standard error]' '--check[status 7 when something was found]' '--no-known[not by the values of your environment and files]') ;;
	hook) options=($place $hooks) ;;
	config|doctor) options=($servers) ;;
	snapshot) options=($servers '(-n --dry-run)'{-n,--dry-run}'[show what would be done]') ;;
	install|uninstall) options=($servers $hooks '--print[write to standard output]') ;;
	help|version) ;;
	*) options=($servers $scope $act) ;;
	esac
	_arguments -C -s -S $common $options '1: :->first' '*: :->rest' && return

	case $state in
	first)
		_alternative 'commands:command:_gt_recover_commands' 'sessions:session:_gt_recover_sessions'
		;;
	rest)
		case $line[1] in
		list|stats|doctor|parse|scrub|version) ;;
		config) _gt_recover_settings ;;
		run) _wanted verbs expl 'verb' compadd create claim start stop finish list recover ;;
		epic) _wanted verbs expl 'verb' compadd status resume inspect export import abandon signal ;;
		checkpoint) _wanted verbs expl 'verb' compadd epic sprint agent file ;;
		lock) _wanted verbs expl 'verb' compadd acquire renew release list ;;
		runner) _wanted verbs expl 'verb' compadd register beat list ;;
		session) _wanted verbs expl 'what' compadd record show list suspend restore end ;;
		agent) _wanted verbs expl 'what' compadd spawn tree resume end ;;
		message) _wanted verbs expl 'what' compadd send broadcast deliver reply list ;;
		hook) _wanted events expl 'event' compadd SessionStart UserPromptSubmit PreToolUse PostToolUse SubagentStop Stop SessionEnd ;;
		install) _wanted what expl 'what' compadd shim timer plugin hooks binding patrol ;;
		uninstall) _wanted what expl 'what' compadd timer plugin hooks binding patrol ;;
		help) _gt_recover_commands ;;
		*) _gt_recover_sessions ;;
		esac
		;;
	esac
}

_gt_recover "$@"
