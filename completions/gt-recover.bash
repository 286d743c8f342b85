# bash completion for gt-recover, written by make completions. Session names come from `gt-recover list --names`.
# shellcheck shell=bash

_gt_recover() {
	local commands='list context prompt snapshot arm disarm patrol startup release log stats run runner session agent message epic checkpoint lock hook doctor parse scrub config install uninstall help version'
	local common='--json -q --quiet -v --verbose --color -h --help -V --version'
	local settings='
		enabled auto_recover max_context_lines max_context_tokens scope via snapshot_interval
		snapshot_dir snapshot_keep snapshot_age last_snapshot_age keep_history keep_history_count
		archive archive_age event_log_mib damaged_keep ready_timeout ack_timeout spacing
		max_attempts attempt_window include_infra resume_scope reply_policy state host
		safe_directories log_file prompts.template prompts.template_file prompts.resume_template
		prompts.resume_template_file runs.mode runs.threshold runs.claimed_to
		epics.checkpoint_interval epics.wip_interval epics.resume_threshold epics.start_command
		scrub.rules scrub.allow scrub.known_values scrub.known_files mail.command mail.to'
	local cur prev word command='' options names
	local -a args=()
	local i

	cur=${COMP_WORDS[COMP_CWORD]}
	prev=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()

	# The command is the first word that is no option and no option's value; options that say where to look are handed on.
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case $word in
		--town | --config | -L | --socket)
			args+=("$word" "${COMP_WORDS[i + 1]}")
			i=$((i + 1))
			;;
		--conversation | --via | --scope | --agent | --since | --mode | --threshold | --lease | --sprints | --output | --color) i=$((i + 1)) ;;
		-*) ;;
		*) [ -n "$command" ] || command=$word ;;
		esac
	done

	case $prev in
	--conversation)
		mapfile -t COMPREPLY < <(compgen -W 'none' -- "$cur")
		return
		;;
	--via)
		mapfile -t COMPREPLY < <(compgen -W 'auto resume inject' -- "$cur")
		return
		;;
	--scope)
		mapfile -t COMPREPLY < <(compgen -W 'task lines' -- "$cur")
		return
		;;
	--agent)
		mapfile -t COMPREPLY < <(compgen -W 'claude codex gemini opencode copilot qwen auggie cline pi cursor-agent amp' -- "$cur")
		return
		;;
	--since) return ;;
	--mode)
		mapfile -t COMPREPLY < <(compgen -W 'stale all none' -- "$cur")
		return
		;;
	--threshold) return ;;
	--lease) return ;;
	--sprints) return ;;
	--output)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-L | --socket) return ;;
	--town)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--config)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--color)
		mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur")
		return
		;;
	esac

	if [[ $cur == -* ]]; then
		case $command in
		list) options='--include-infra --names --fleet --past -L --socket --town --config' ;;
		context) options='--conversation --scope --include-infra -L --socket --town --config' ;;
		prompt) options='--conversation --via --scope --include-infra -L --socket --town --config' ;;
		snapshot) options='-n --dry-run -L --socket --town --config' ;;
		arm) options='-n --dry-run --include-infra -L --socket --town --config' ;;
		disarm) options='-n --dry-run -L --socket --town --config' ;;
		patrol) options='-n --dry-run -L --socket --town --config' ;;
		startup) options='-n --dry-run --mode --threshold -L --socket --town --config' ;;
		release) options='-n --dry-run -L --socket --town --config' ;;
		log) options='--since --verify --town --config' ;;
		stats) options='--since --town --config' ;;
		run) options='-n --dry-run --since --mode --threshold --town --config' ;;
		runner) options='--town --config' ;;
		session) options='--town --config' ;;
		agent) options='--town --config' ;;
		message) options='--undelivered --town --config' ;;
		epic) options='-n --dry-run -y --yes --no-input --sprints --output -L --socket --town --config' ;;
		checkpoint) options='--town --config' ;;
		lock) options='--lease --town --config' ;;
		hook) options='--agent --town --config' ;;
		doctor) options='-L --socket --town --config' ;;
		parse) options='--agent --transcript' ;;
		scrub) options='--report --check --no-known --config' ;;
		config) options='-L --socket --town --config' ;;
		install) options='--agent --print -L --socket --town --config' ;;
		uninstall) options='--agent --print -L --socket --town --config' ;;
		help) options='' ;;
		version) options='' ;;
		*) options='-n --dry-run --all --respawn --force -y --yes --no-input --conversation --via --scope --include-infra -L --socket --town --config' ;;
		esac
		mapfile -t COMPREPLY < <(compgen -W "$common $options" -- "$cur")
		return
	fi

	case $command in
	'' | context | prompt | snapshot | arm | disarm | release | log)
		# names may hold blanks and quotes: one a line, compared and quoted here
		mapfile -t names < <(gt-recover "${args[@]}" list --names 2>/dev/null)
		for word in "${names[@]}"; do
			[[ $word != "$cur"* ]] || COMPREPLY+=("$(printf '%q' "$word")")
		done
		;;
	run) mapfile -t COMPREPLY < <(compgen -W 'create claim start stop finish list recover' -- "$cur") ;;
	runner) mapfile -t COMPREPLY < <(compgen -W 'register beat list' -- "$cur") ;;
	session) mapfile -t COMPREPLY < <(compgen -W 'record show list suspend restore end' -- "$cur") ;;
	agent) mapfile -t COMPREPLY < <(compgen -W 'spawn tree resume end' -- "$cur") ;;
	message) mapfile -t COMPREPLY < <(compgen -W 'send broadcast deliver reply list' -- "$cur") ;;
	epic) mapfile -t COMPREPLY < <(compgen -W 'status resume inspect export import abandon signal' -- "$cur") ;;
	checkpoint) mapfile -t COMPREPLY < <(compgen -W 'epic sprint agent file' -- "$cur") ;;
	lock) mapfile -t COMPREPLY < <(compgen -W 'acquire renew release list' -- "$cur") ;;
	hook) mapfile -t COMPREPLY < <(compgen -W 'SessionStart UserPromptSubmit PreToolUse PostToolUse SubagentStop Stop SessionEnd' -- "$cur") ;;
	config) mapfile -t COMPREPLY < <(compgen -W "$settings" -- "$cur") ;;
	install) mapfile -t COMPREPLY < <(compgen -W 'shim timer patrol plugin hooks binding' -- "$cur") ;;
	uninstall) mapfile -t COMPREPLY < <(compgen -W 'timer patrol plugin hooks binding' -- "$cur") ;;
	help) mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur") ;;
	esac
	if [ -z "$command" ]; then
		while read -r word; do
			COMPREPLY+=("$word")
		done < <(compgen -W "$commands" -- "$cur")
	fi
}

complete -F _gt_recover gt-recover
