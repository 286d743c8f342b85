#!/bin/bash
# tmux 3.8 forgets the pid of a dead pane. A pane crashes again and again, each crash is another one, and the snapshot of the process
# that died is found. A stand-in forgets as 3.8 does; on 3.8 (scripts/check-tmux) tmux does so, too.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
afresh
! is_tmux_32 || skip_all "tmux 3.2 tells too little for a stand-in of 3.8"
export REAL
REAL=$(command -v tmux)
cat >"$W/bin/tmux" <<-'PERL'
	#!/usr/bin/perl
	exec $ENV{REAL}, @ARGV if "@ARGV" !~ /source-file -$/;
	my $in = join '', <STDIN>;
	$in =~ s/#\{pane_pid\}/#{?pane_dead,,#{pane_pid}}/g;
	$in =~ s/#\{version\}/next-3.8/g;
	open my $batch, '+>', undef;
	print $batch $in;
	seek $batch, 0, 0;
	open STDIN, '<&', $batch;
	exec $ENV{REAL}, @ARGV;
PERL
chmod +x "$W/bin/tmux"

for known in seen unseen; do
	ok "$known: an agent" start_agent $known --scenario "$DATA/work.scenario"
	until_ 10 pane_shows $known 'test 7 ok'
	[ $known = unseen ] || gt list -L main
	for n in 1 2 3; do
		ok "$known: it is killed ($n)" kill_agent $known
		gt $known --yes -L main
		is "$RC $(messages $known)" "0 $n" "$known: it comes back ($n)"
		[ "$RC" = 0 ] || note "$ERR"
	done
	is "$(agent_starts $known)" 4 "$known: started once for each crash"
	gt $known --yes -L main
	is "$(agent_starts $known)" 4 "$known: and not while it lives"
done

ok 'an agent that dies right after each start' start_agent short --scenario "$DATA/idle.scenario"
ok 'is killed' kill_agent short
agent_plan short --die-at-once
gt short --yes -L main --json
is "$RC $(json '{results}[0]{error}{name}')" '1 died' 'its recovery fails'
gt short --yes -L main
is "$RC" 0 'the next crash, within the same second perhaps, is another one'

ok 'an agent whose screen is lost' start_agent lost --scenario "$DATA/work.scenario"
until_ 10 pane_shows lost 'test 7 ok'
gt snapshot -L main
tm send-keys -R -t "$(agent_pane lost)" \; clear-history -t "$(agent_pane lost)"
ok 'it is killed, too' kill_agent lost
gt context lost -L main --json
is "$(json '{snapshot}{used}')" true 'the snapshot of its process tells what it showed'
done_testing
