# bash completion for gt-recover, written by make completions. Session names come from `gt-recover list --names`.
# shellcheck shell=bash

_gt_recover() {
	local commands='list show restart workspace setup snapshot status doctor log stats scrub parse epic wip records reconcile hook help config completion version'
	local common='--json -q --quiet -v --verbose --color -h --help -V --version'
	local settings='
		enabled auto_recover wip on_crash max_context_lines max_context_tokens scope via
		snapshot_interval snapshot_dir snapshot_keep snapshot_age last_snapshot_age keep_history
		keep_history_count archive archive_age event_log_mib damaged_keep ready_timeout ack_timeout
		spacing parallel max_attempts attempt_window include_infra resume_scope reply_policy state
		host safe_directories log_file prompts.template prompts.template_file
		prompts.resume_template prompts.resume_template_file runs.mode runs.threshold
		runs.claimed_to epics.checkpoint_interval epics.wip_interval epics.resume_threshold
		epics.start_command scrub.rules scrub.allow scrub.known_values scrub.known_files
		mail.command mail.to'
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
		--conversation | --via | --scope | --agent | --only | --with | --without | --since | --mode | --threshold | --passes | --lease | --sprints | --output | --color) i=$((i + 1)) ;;
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
	--only) return ;;
	--with) return ;;
	--without) return ;;
	--since) return ;;
	--mode)
		mapfile -t COMPREPLY < <(compgen -W 'stale all none' -- "$cur")
		return
		;;
	--threshold) return ;;
	--passes) return ;;
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
		list) options='--include-infra --names --live --fleet --past -L --socket --town --config' ;;
		show) options='--conversation --via --scope --context --prompt --include-infra -L --socket --town --config' ;;
		restart) options='-n --dry-run --all --respawn --force --plain -y --yes --no-input --conversation --via --scope --include-infra -L --socket --town --config' ;;
		workspace) options='-n --dry-run -L --socket --town --config' ;;
		setup) options='-y --yes --no-input --only --with --without --undo --print -L --socket --town --config' ;;
		snapshot) options='-n --dry-run --passes -L --socket --town --config' ;;
		status) options='-L --socket --town --config' ;;
		doctor) options='-L --socket --town --config' ;;
		log) options='--since --verify -L --socket --town --config' ;;
		stats) options='--since -L --socket --town --config' ;;
		scrub) options='--report --check --no-known --sanitize --config' ;;
		parse) options='--agent --transcript' ;;
		epic) options='-n --dry-run -y --yes --no-input --sprints --output -L --socket --town --config' ;;
		wip) options='-n --dry-run -y --yes --no-input --town --config' ;;
		records) options='-n --dry-run --since --mode --threshold --undelivered --lease -L --socket --town --config' ;;
		reconcile) options='-n --dry-run --recover --mode --threshold -L --socket --town --config' ;;
		hook) options='--agent --town --config' ;;
		help) options='' ;;
		config) options='-L --socket --town --config' ;;
		completion) options='' ;;
		version) options='' ;;
		*) options='-n --dry-run --all --respawn --force --plain -y --yes --no-input --conversation --via --scope --include-infra -L --socket --town --config' ;;
		esac
		mapfile -t COMPREPLY < <(compgen -W "$common $options" -- "$cur")
		return
	fi

	case $command in
	'' | show | restart | snapshot | log)
		# names may hold blanks and quotes: one a line, compared and quoted here
		mapfile -t names < <(gt-recover "${args[@]}" list --names 2>/dev/null)
		for word in "${names[@]}"; do
			[[ $word != "$cur"* ]] || COMPREPLY+=("$(printf '%q' "$word")")
		done
		;;
	workspace) mapfile -t COMPREPLY < <(compgen -W 'show restore' -- "$cur") ;;
	epic) mapfile -t COMPREPLY < <(compgen -W 'status resume inspect export import abandon signal' -- "$cur") ;;
	wip) mapfile -t COMPREPLY < <(compgen -W 'list show restore prune' -- "$cur") ;;
	records) mapfile -t COMPREPLY < <(compgen -W 'session agent message run runner checkpoint lock release' -- "$cur") ;;
	hook) mapfile -t COMPREPLY < <(compgen -W 'SessionStart UserPromptSubmit PreToolUse PostToolUse SubagentStop Stop SessionEnd' -- "$cur") ;;
	help) mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur") ;;
	config) mapfile -t COMPREPLY < <(compgen -W "path edit set $settings" -- "$cur") ;;
	completion) mapfile -t COMPREPLY < <(compgen -W 'bash fish zsh' -- "$cur") ;;
	esac
	if [ -z "$command" ]; then
		while read -r word; do
			COMPREPLY+=("$word")
		done < <(compgen -W "$commands" -- "$cur")
	fi
}

complete -F _gt_recover gt-recover
