#!/usr/bin/env bash
# A tmux plugin: one key opens gt-recover in a popup, and #{gt_recover} in a status line shows how many agents have
# crashed. With tpm: set -g @plugin 'PATH-OR-REPOSITORY'; without: run-shell /usr/share/gt-recover/gt-recover.tmux
#
#   @gt-recover-key       the key behind the prefix, default R; 'none' binds no key. A key that something else has
#                         bound stays as it is
#   @gt-recover-program   the program, default gt-recover
#   @gt-recover-width     of the popup, default 90%
#   @gt-recover-height    of the popup, default 80%
#
# It sets nothing else: no hook, no remain-on-exit. Running it again changes nothing.
set -u

option() {	# NAME DEFAULT
	local value
	value=$(tmux show-options -gqv "@gt-recover-$1")
	printf '%s' "${value:-$2}"
}

say() {
	# # begins a format
	tmux display-message "gt-recover: ${*//#/##}"
}

# A word for sh, in which tmux expands no format.
quoted() {	# WORD
	local word=${1//\'/\'\\\'\'}
	printf "'%s'" "${word//#/##}"
}

bind_key() {	# KEY PROGRAM
	local bound command
	# shellcheck disable=SC2016	# the inner sh expands it
	# the popup stays until a key is pressed, since its last lines say what came back
	command="exec sh -c $(quoted '"$0"; printf "\n%s" "Press Enter to close."; read -r _') $(quoted "$2")"
	# a key given to list-keys goes to the status line in tmux 3.7
	bound=$(tmux list-keys -T prefix 2>/dev/null | awk -v key="$1" '
		/gt-recover/ { next }
		{ for (i = 1; i < NF && $i != "prefix"; i++); sub(/^\\/, "", $(i + 1)); if ($(i + 1) == key) print }')
	if [ -n "$bound" ]; then
		say "prefix $1 is bound already; choose another key: set -g @gt-recover-key KEY"
		return
	fi
	tmux bind-key -N 'Recover crashed agents (gt-recover)' "$1" display-popup -E -d '#{pane_current_path}' \
		-w "$(option width 90%)" -h "$(option height 80%)" "$command"
}

# The segment: #{gt_recover} becomes a job that tmux runs at each status-interval.
show_count() {	# OPTION PROGRAM
	local value job place='#{gt_recover}'
	value=$(tmux show-options -gqv "$1")
	case $value in
	*"$place"*)
		job="#($(quoted "$2") status)"
		tmux set-option -gq "$1" "${value//"$place"/"$job"}"
		;;
	esac
}

main() {
	local program key
	program=$(option program gt-recover) key=$(option key R)
	if ! command -v "$program" >/dev/null; then
		say "no program $program in PATH; install it, or: set -g @gt-recover-program PATH"
		return
	fi
	[ "$key" = none ] || bind_key "$key" "$program"
	show_count status-left "$program"
	show_count status-right "$program"
}
main
