#!/bin/bash
# gt-recover typed into the very shell that the agent left becomes that agent: nothing is typed by us, and the shell is there when the agent ends.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
often
type_here() {	# SESSION TEXT
	tm send-keys -t "$(agent_pane "$1")" -l -- "$2" \; send-keys -t "$(agent_pane "$1")" Enter
}
pane_pid() {
	tm display-message -p -t "$(agent_pane "$1")" '#{pane_pid}'
}
lives() {
	[ -n "$(agent_pid "$1")" ]
}

ok 'an agent typed into a shell' start_agent own --shell --scenario "$DATA/work.scenario"
until_ 10 pane_shows own 'test 7 ok'
gt snapshot -L main
ok 'is killed' kill_agent own
shell=$(pane_pid own)
type_here own "export KEPT=yes; cd /; trap '' USR1; clear"
until_ 5 listed_is own class zombie

# ---- by name ----
type_here own "$GT_RECOVER -L main own"
ok 'named in that shell, it comes back there' until_ 20 lives own
is "$(pane_pid own)" "$shell" 'in the same shell'
ok 'told once' until_ 10 messages_are own 1
like "$(pane_text own)" 'starts in this shell' 'which is said'
is "$(tr '\0' '\n' <"/proc/$(agent_pid own)/environ" | grep '^KEPT=')" 'KEPT=yes' 'with the environment of the shell'
is "$(readlink "/proc/$(agent_pid own)/cwd")" "$(cd "$(agent_dir own)/cwd" && pwd -P)" 'in the directory that it worked in'
is "$(ps -o ppid= -p "$(agent_pid own)" | tr -d ' ')" "$shell" 'it is what the line became'
gt own -L main --json
is "$RC $(json '{results}[0]{phase}') $(messages own)" '0 acknowledged 1' 'the next run verifies it, and delivers nothing twice'
ok 'the agent ends' kill_agent own
type_here own 'echo kept $KEPT in $PWD'
ok 'the shell is there again, as it was' until_ 5 pane_shows own 'kept yes in /'

# ---- by the picker, and nobody looks ----
until_ 5 listed_is own class zombie
type_here own "$GT_RECOVER -L main"
ok 'the picker shows the pane that one sits in' until_ 10 pane_shows own '^> +own '
ok 'with its conversation' until_ 10 pane_shows own '^Claude: I have read'
type_here own ''
ok 'and recovers it' until_ 20 lives own
ok 'told once more' until_ 10 messages_are own 2
is "$(readlink "/proc/$(agent_pid own)/cwd")" "$(cd "$(agent_dir own)/cwd" && pwd -P)" 'where it worked'
ok 'it dies before anybody verified it' kill_agent own
until_ 5 listed_is own class zombie

# ---- keys that were typed there count for nothing, and it is no matter for all ----
type_here own "$GT_RECOVER -L main --all --yes; echo status \$?"
ok 'all leave it alone' until_ 10 pane_shows own '^status 4'
like "$(pane_text own)" 'gt-recover own' 'with the command that recovers it'
gt own -L main --json
is "$RC $(json '{results}[0]{phase}') $(messages own)" '0 acknowledged 3' 'from elsewhere it comes back, too'

# ---- with another one beside it ----
ok 'two more' start_agent first --shell --scenario "$DATA/work.scenario"
ok 'agents' start_agent second --shell --scenario "$DATA/work.scenario"
for name in first second; do
	until_ 10 pane_shows "$name" 'test 7 ok'
	# what was seen need not be asked
	gt list -L main
	ok 'are killed' kill_agent "$name"
	until_ 5 listed_is "$name" class zombie
done
type_here first "$GT_RECOVER -L main first second"
ok 'its own is the last one' until_ 60 lives first
ok 'the other was recovered before' lives second
ok 'each told once' until_ 10 messages_are first 1
is "$(messages second)" 1 'and only once'

if grep -q GT_FAULT "$GT_RECOVER"; then
	ok 'one more' start_agent torn --shell --scenario "$DATA/work.scenario"
	until_ 10 pane_shows torn 'test 7 ok'
	gt list -L main
	kill_agent torn
	until_ 5 listed_is torn class zombie
	type_here torn "GT_FAULT=prompt:2=kill $GT_RECOVER -L main torn"
	until_ 10 pane_shows torn 'Killed'
	ok 'its recovery is killed before it becomes the agent' until_ 5 listed_is torn class zombie
	type_here torn "$GT_RECOVER -L main torn"
	ok 'the next one goes on' until_ 20 messages_are torn 1
	gt torn -L main --json
	is "$RC $(json '{results}[0]{phase}') $(messages torn)" '0 acknowledged 1' 'told once'
fi
done_testing
