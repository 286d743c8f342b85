#!/bin/bash
# gt-recover restart: running agents are ended, after a snapshot and a question, and come back with their conversation in their panes.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
often

ok 'two agents run' start_agent one --scenario "$DATA/work.scenario"
ok '  beside each other' start_agent two --scenario "$DATA/idle.scenario"
pid=$(agent_pid one)
gt -L main restart
like "$RC $ERR" '^2 .*needs a session, or --all' 'it needs a name'
gt -L main restart one </dev/null
like "$RC $ERR" '^2 .*needs --yes' 'or somebody to ask'
gt -L main restart one --dry-run
like "$RC $OUT" '^0 .*one .*would be restarted' '--dry-run says whom'
is "$(agent_pid one)" "$pid" '  and ends nothing'
tm new-session -d -s asks -x 100 -y 30 "\"$GT_RECOVER\" -L main restart one; echo \$? >'$W/status'; exec sleep 60"
until_ 10 eval 'tm capture-pane -p -t asks | grep -q "End this agent"'
tm send-keys -t asks n Enter
until_ 20 test -s "$W/status"
is "$(cat "$W/status") $(agent_pid one)" "4 $pid" 'on a terminal it asks: n ends nothing'
tm kill-session -t asks

pane=$(agent_pane one)
option=$(tm show-options -pqv -t "$pane" remain-on-exit)
gt -L main restart one --yes --json
is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'restart --yes'
ok '  another process runs' test "$(agent_pid one)" != "$pid"
is "$(agent_pane one)" "$pane" '  in the same pane'
is "$(messages one)" 1 '  and was told once'
is "$(tm show-options -pqv -t "$pane" remain-on-exit)" "$option" '  whose option is as before'
ok '  there is a snapshot of it' test "$(find "$XDG_STATE_HOME" -path '*snapshots*' -name '*.json' | wc -l)" -ge 1

pid=$(agent_pid one) other=$(agent_pid two)
gt -L main restart --all --yes
is "$RC" 0 '--all'
ok '  the idle ones run again' test "$(agent_pid two)" != "$other"
kill_agent two
gt -L main restart two --yes
like "$RC $ERR" '^4 .*no agent is running in two.*gt-recover two' 'one that crashed is recovered, not restarted'
gt -L main restart nosuch --yes
is "$RC" 4 'and one that is not there cannot be'
done_testing
