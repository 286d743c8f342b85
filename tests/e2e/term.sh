# shellcheck shell=bash
# shellcheck disable=SC2034	# what is set here is read by the tests
# Sourced after lib.sh by tests that need a real terminal: a pane of a second private tmux server, in which gt-recover runs as a person runs it.
#
#   term_start 100 30
#   term_run -L main                       # the pane now runs gt-recover -L main
#   until_ 10 term_shows 'Recover which session'
#   term_keys 1 Enter
#   term_ended; is "$STATUS" 'exit 0' '…'  # or "signal 2"
#   term_screen                            # what a person sees
#
# Or in which a person looks at a session of the server under test:
#
#   visit toast                            # or visit_still; a real client is attached, in a terminal of its own
#   types toast l s                        # keys, which go where the client's active pane is
#   leave toast

STATUS=''	# how the last run ended

term() {	# tmux on the server that is the terminal
	tmux -u -L terminal -f /dev/null "$@"
}

term_start() {	# COLS ROWS: later calls change the size
	# the shell between makes the status known: a signal is not the same as a status of 130
	cat >"$W/bin/on-terminal" <<-'PERL'
		#!/usr/bin/perl
		my ($file, @command) = @ARGV;
		system(@command);
		my $how = $? & 127 ? "signal " . ($? & 127) : "exit " . ($? >> 8);
		open(my $f, '>', "$file.new") or die;
		print $f $how;
		close($f);
		rename("$file.new", $file);
		sleep(600);
	PERL
	chmod +x "$W/bin/on-terminal"
	if term has-session -t =term 2>/dev/null; then
		term resize-window -t term: -x "$1" -y "$2"
		return
	fi
	term start-server \; set-option -g remain-on-exit on \; set-option -g status off \; set-option -g default-terminal screen-256color \; \
		new-session -d -x "$1" -y "$2" -s term sleep 600 || return 1
}

term_run() {	# [NAME=VALUE]... GT-RECOVER'S ARGUMENTS...
	local env=()
	while [[ ${1-} =~ ^[A-Z_]+= ]]; do
		env+=("$1")
		shift
	done
	rm -f "$W/status"
	term respawn-pane -k -t term: env "${env[@]}" "$W/bin/on-terminal" "$W/status" "$GT_RECOVER" "$@" \; clear-history -t term:
}

term_keys() {
	term send-keys -t term: "$@"
}

term_screen() {
	term capture-pane -p -S - -t term: | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
}

term_shows() {	# EXTENDED-REGEXP
	term_screen | grep -Eq -- "$1"
}

term_ended() {	# waits for the end, which is then in $STATUS
	STATUS=running
	until_ 30 test -e "$W/status" || return 1
	STATUS=$(cat "$W/status")
}

visit() {	# SESSION [OPTIONS OF tmux attach]...
	local session=$1
	shift
	term new-session -d -x 100 -y 30 -s "at-$session" "exec env -u TMUX tmux -u -L $SOCKET attach $* -t '=$session'" || return 1
	until_ 5 _visited "$session"
}

_visited() {	# SESSION
	[ -n "$(tm list-clients -t "=$1" -F x)" ]
}

_after_attach() {	# SESSION: tmux tells times to the second
	[ "$(date +%s)" -gt "$(tm list-clients -t "=$1" -F '#{client_created}')" ]
}

_typed() {	# SESSION
	tm list-clients -t "=$1" -F '#{client_activity} #{client_created}' | awk '$1 > $2 { yes = 1 } END { exit !yes }'
}

# What a terminal answers to its client's questions counts as a key when it comes in a later second: then the client attaches once more.
visit_still() {	# SESSION
	local i
	for i in 1 2 3 4 5; do
		visit "$1" && until_ 5 _after_attach "$1" || return 1
		_typed "$1" || return 0
		leave "$1" && until_ 5 _left "$1"
	done
	return 1
}

_left() {	# SESSION
	! _visited "$1"
}

types() {	# SESSION KEYS...: until tmux has seen them
	until_ 5 _after_attach "$1" && term send-keys -t "=at-$1:" "${@:2}" && until_ 5 _typed "$1"
}

leave() {	# SESSION
	term kill-session -t "=at-$1"
}
