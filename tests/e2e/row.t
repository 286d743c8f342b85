#!/bin/bash
# Recoveries in a row on one server, with a living agent beside them: all acknowledged, each prompt once, the living one untouched, nothing left behind.
# RECOVERIES=N says how many (20).
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
afresh
n=${RECOVERIES:-20}

ok 'a bystander lives' start_agent bystander --scenario "$DATA/idle.scenario"
bystander=$(agent_pid bystander)
ok 'an agent works' start_agent toast --scenario "$DATA/work.scenario"
ok 'in the middle of a command' until_ 10 pane_shows toast 'test 7 ok'
acknowledged=0 once=0
for ((i = 1; i <= n; i++)); do
	kill_agent toast || { fail "kill $i" && break; }
	gt toast -L main --json
	if [ "$RC $(json '{results}[0]{phase}')" = '0 acknowledged' ]; then
		acknowledged=$((acknowledged + 1))
	else
		note "round $i: status $RC, $ERR $OUT"
	fi
	[ "$(messages toast)" = "$i" ] && once=$((once + 1))
done
is "$acknowledged" "$n" "$n recoveries are acknowledged"
is "$once" "$n" 'each tells the agent exactly once'
is "$(agent_pid bystander)" "$bystander" 'the bystander is the same process'
is "$(messages bystander)" 0 'and was told nothing'
is "$(find "$XDG_STATE_HOME/gt-recover/prompts" -type f | wc -l)" 0 'no prompt file is left'
is "$(tm list-buffers 2>/dev/null | wc -l)" 0 'no paste buffer is left'
is "$(tm list-panes -a | wc -l)" 2 'two panes, as before'
not_ok 'prompts do not nest' grep -q 'Your Previous Conversation.*Your Previous Conversation' "$(message_file toast)"
ok 'the first words are in the last prompt' grep -q 'keep the comments' "$(message_file toast)"
done_testing
