#!/bin/bash
# The tmux in PATH is another version than the server's: before 3.6 it does not understand a server since 3.6, and says that
# the server exited. A stand-in says so of every version; with two built ones (scripts/tmux-versions) the real pair does.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
afresh
BUILT=${GT_RECOVER_CACHE:-$REAL_CACHE/gt-recover}/tmux

stand_in() {	# FILE: a client that no server understands
	cat >"$1" <<-'SH'
		#!/bin/sh
		[ "$*" != -V ] || { echo 'tmux 2.0' && exit; }
		echo 'server exited unexpectedly' >&2
		exit 1
	SH
	chmod +x "$1"
}

# What a command finds with that tmux in PATH.
with() {	# TMUX COMMAND...
	local tmux=$1
	shift
	mkdir -p "$W/other" && ln -sf "$tmux" "$W/other/tmux"
	PATH=$W/other:$PATH "$@"
}

comes_back() {	# WHAT SESSION CLIENT
	ok "$1: an agent" start_agent "$2" --scenario "$DATA/work.scenario"
	kill_agent "$2"
	with "$3" gt list -L main --json
	is "$RC $(json '{sessions}[0]{class}')" '0 dead' "$1: it is listed"
	with "$3" gt "$2" --yes -L main
	is "$RC $(messages "$2")" '0 1' "$1: it comes back by the server's own tmux"
	[ "$RC" = 0 ] || note "$ERR"
	with "$3" gt doctor -L main --json
	like "$(found tmux.servers)" '^ok' "$1: doctor reaches its server"
	tm kill-session -t "=$2"
}

stand_in "$W/old"
comes_back stand-in toast "$W/old"

# ---- a server that cannot be asked by its own program ----
ok 'an agent beside it' start_agent beside --scenario "$DATA/idle.scenario"
perl -MIO::Socket::UNIX -e '
	my $s = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 8) or die;
	while (my $c = $s->accept) { close $c }' "$W/tmux/other" </dev/null >/dev/null 2>&1 &
PIDS+=($!)
chmod 700 "$W/tmux"
until_ 5 test -S "$W/tmux/other"
for command in list startup snapshot; do
	with "$W/old" gt $command -L "$W/tmux/other"
	is "$RC" 1 "$command fails"
	like "$ERR" 'is alive, but it is another version than the tmux in PATH' "$command says why"
	unlike "$ERR$OUT" 'died during the call' "$command does not say that it died"
	like "$ERR" "put the directory of the server's own tmux first in PATH: /.*perl" "$command says which tmux to use"
done
with "$W/old" gt startup -L main -L "$W/tmux/other"
is "$RC" 1 'startup fails for one server of several, too'
like "$ERR$OUT" 'another version than the tmux in PATH' 'and says so'
is "$(agent_starts beside)" 1 'the living one is left alone'

# ---- versions that do not understand each other ----
if "$BUILT/3.5a/bin/tmux" -V >/dev/null 2>&1 && "$BUILT/3.6b/bin/tmux" -V >/dev/null 2>&1; then
	tm kill-server
	ln -s "$BUILT/3.6b/bin/tmux" "$W/bin/tmux"
	hash -r
	comes_back '3.6b by 3.5a' real "$BUILT/3.5a/bin/tmux"
	is "$(tm display-message -p '#{version}')" 3.6b 'the server is 3.6b'
else
	skip 'tmux 3.5a and 3.6b are not built: make tmux-versions' 5
fi
done_testing
