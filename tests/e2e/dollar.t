#!/bin/bash
# tmux 3.4 prints $NAME as \$NAME, and from 3.4 on tmux prints control characters as \033. The start command, the
# directory, the environment and the screen of an agent are read the same from every version. A stand-in prints as
# 3.4 does; where 3.4 itself has been built (scripts/tmux-versions) the tests run with it, too.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
afresh
TMUX34=${GT_RECOVER_CACHE:-$REAL_CACHE/gt-recover}/tmux/3.4/bin/tmux
export REAL
REAL=$(command -v tmux)

stand_in() {
	cat >"$W/bin/tmux" <<-'PERL'
		#!/usr/bin/perl
		exec $ENV{REAL}, @ARGV if "@ARGV" !~ /source-file -$/;
		my @in = <STDIN>;
		my @raw = map { /^'capture-pane'/ } grep { !/^(display-message -p '\S+ \d+'|run-shell -d 0)$/ } @in;
		open my $batch, '+>', undef;
		print $batch @in;
		seek $batch, 0, 0;
		open STDIN, '<&', $batch;
		open my $tmux, '-|', $ENV{REAL}, @ARGV;
		my @out = split /^(\\?(?:\$_)?[0-9a-f]{16} \d+\n)/m, join '', <$tmux>;
		close $tmux;
		my $status = $? >> 8;
		my $is_3_4 = grep { /^\\\$_/ } @out;
		for my $i (0 .. $#out) {
			next if $is_3_4 || ($i % 2 == 0 && $raw[$i / 2]);
			$out[$i] =~ s/\$(?=[A-Za-z_{])/\\\$/g;
			$out[$i] =~ s/([\x01-\x06\x0e-\x1f])/sprintf '\\%03o', ord $1/eg;
		}
		print @out;
		exit $status;
	PERL
	chmod +x "$W/bin/tmux"
}

# shellcheck disable=SC2016	# for the shell of the pane
comes_back() {	# SESSION
	local pid dir="$W/proj/$1 \$HOME \\\$HOME \${HOME} \\033 esc"$'\e'"[0m"
	mkdir -p "$dir"
	ok "$1: an agent" start_agent "$1" --cwd "$dir" --scenario "$DATA/idle.scenario" \
		--env MODEL=opus --env 'DB_PASSWORD=hunter$Two\$Three-4711' \
		--command 'claude --dangerously-skip-permissions --append-system-prompt "m=$MODEL \$kept \\\$kept"'
	tell_agent "$1" 'say \$HOME ${HOME} and hunter$Two\$Three-4711'
	until_ 10 pane_shows "$1" 'say .*4711'
	kill_agent "$1"
	gt context "$1" -L main --json
	like "$(json '{raw_scrollback}')" 'say \\\$HOME \$\{HOME\} and' "$1: the screen as it was"
	unlike "$OUT" '4711' "$1: without the password that its session knows"
	gt "$1" --yes -L main
	is "$RC" 0 "$1: it comes back"
	pid=$(agent_pid "$1")
	is "$(readlink "/proc/${pid:-none}/cwd")" "$dir" "$1: where it worked"
	like "$(tr '\0' '\n' <"/proc/${pid:-none}/cmdline")" $'\nm=opus \\$kept \\\\\\$kept' \
		"$1: by the same command, which reads the same variable"
}

comes_back plain
stand_in
comes_back stand-in
rm "$W/bin/tmux"
if ! "$TMUX34" -V >/dev/null 2>&1; then
	skip 'tmux 3.4 is not built: make tmux-versions' 7
else
	tm kill-server
	ln -s "$TMUX34" "$W/bin/tmux"
	hash -r
	comes_back real
	is "$(tm display-message -p '#{version}')" 3.4 'real: by a server of 3.4'
fi
done_testing
