#!/bin/bash
# Arming: what is set, beside what others have set; what disarm puts back, also when the one who armed was killed in between.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
STATE=$XDG_STATE_HOME/gt-recover

options() {	# SESSION: everything that arm may touch, as the session, its window and its pane themselves have it
	local pane
	pane=$(agent_pane "$1")
	printf 'pane=%s session=%s hooks=%s' "$(tm show-options -p -q -v -t "$pane" remain-on-exit)" \
		"$(tm show-options -q -v -t "=$1:" history-limit)" "$(tm show-options -w -q -t "$pane" pane-died | tr '\n' ';')"
}

start() {	# SESSION OPTION...: as a person's tmux has it: dead panes go, 2000 lines
	start_agent "$@" --scenario "$DATA/idle.scenario" && tm set-option -g remain-on-exit off \; set-option -g history-limit 2000
}

# ---- nothing there ----
ok 'a server without agents' tm new-session -d -s plain -x 80 -y 24 'sleep 1000'
gt arm -L main
like "$RC $ERR" '^0 No agent sessions' 'without an agent there is nothing to arm'
gt disarm -L main
like "$RC $ERR" '^0 Nothing is set up' 'and nothing to disarm'
not_ok 'nothing is written' test -e "$STATE"
gt arm plain -L main
is "$RC" 4 'a session without an agent is not known'
gt disarm plain -L main --json
is "$RC $(json '{error}{name}')" '4 not-armed' 'nor was it armed'

# ---- arm, disarm ----
ok 'an agent lives' start toast
ok 'another one too' start nux
tm set-hook -w -t "$(agent_pane nux)" pane-died 'run-shell true' \; set-option -p -t "$(agent_pane nux)" remain-on-exit failed \; \
	set-option -t =nux: history-limit 3000
ok 'the mayor as well' start boss --env GT_ROLE=mayor
toast=$(options toast) nux=$(options nux) boss=$(options boss)
gt arm -L main --dry-run
like "$RC $ERR" '^0 .*toast would be set up: its pane stays when the agent dies' 'a dry run says what it would do'
like "$ERR" '10,000 lines of scrollback for new panes; existing panes keep their limit' 'and which panes get the longer history'
is "$(options toast) $(options nux)" "$toast $nux" 'it changes nothing'
not_ok 'nothing is written' test -e "$STATE"
gt arm -L main --json
is "$RC $(json '{sessions}')" '0 2' 'two are armed, the mayor is not in scope'
is "$(json '{sessions}[0]{armed}') $(json '{sessions}[0]{changed}') $(json '{sessions}[0]{history_limit}')" 'true true 10000' 'and told in JSON'
is "$(options boss)" "$boss" "the mayor's session is as it was"
like "$(options toast)" '^pane=on session=10000' 'the pane is kept'
like "$(options nux)" '^pane=on session=10000 hooks=pane-died\[0\] run-shell true;pane-died\[50\] run-shell -b .*snapshot' "beside Gas Town's own hook ours stands"
is "$(listed toast armed) $(listed boss armed)" '1 0' 'the list says who is armed'
gt list --live -L main
like "$OUT" '(working|idle) +toast [^
]* armed ' 'to people too'
armed="$(options toast) $(options nux)"
gt arm -L main --json
is "$RC $(json '{sessions}[0]{changed}') $(json '{sessions}[1]{changed}')" '0 false false' 'arming again changes nothing'
is "$(options toast) $(options nux)" "$armed" 'in tmux neither'
gt arm -L main boss
is "$RC" 0 'a named session is in scope'
is "$(listed boss armed)" 1 'it is armed'
gt disarm -L main boss --json
is "$RC $(json '{sessions}') $(json '{sessions}[0]{name}')" '0 1 boss' 'a named one is disarmed alone'
is "$(options boss)" "$boss" 'and is as before'
gt disarm -L main --dry-run
like "$RC $ERR" '^0 .*toast would be reset: [23] settings restored' 'a dry run of disarm'
is "$(options toast) $(options nux)" "$armed" 'changes nothing'
gt disarm -L main
is "$RC" 0 'disarmed'
is "$(options toast)" "$toast" 'what was inherited is inherited again'
is "$(options nux)" "$nux" 'what was set is set again'
is "$(listed toast armed)" 0 'the list says so'
gt disarm -L main
like "$RC $ERR" '^0 Nothing is set up' 'again: nothing left to do'

# ---- what others change in between stays ----
gt arm -L main toast
tm set-option -p -t "$(agent_pane toast)" remain-on-exit off \; set-option -t =toast: history-limit 777
is "$(listed toast armed)" 0 'somebody takes it back: not armed any more'
gt arm -L main toast
is "$RC $(listed toast armed)" '0 1' 'armed again'
tm set-option -p -t "$(agent_pane toast)" remain-on-exit off \; set-option -t =toast: history-limit 777
gt disarm -L main toast
is "$(options toast)" "pane=off session=777 hooks=" 'disarm leaves alone what is not ours'
tm set-option -p -u -t "$(agent_pane toast)" remain-on-exit \; set-option -u -t =toast: history-limit

# ---- the hook ----
gt arm -L main
like "$(options nux)" 'pane-died\[50\] run-shell -b .*snapshot' 'a hook of ours stands beside it'
tm set-hook -w -t "$(agent_pane nux)" pane-died 'run-shell true'
unlike "$(options nux)" 'snapshot' 'set without an index, the hook of Gas Town replaces both'
gt arm -L main
like "$(options nux)" 'pane-died\[50\] run-shell -b .*snapshot' 'arming puts ours back'
tm set-hook -w -t "$(agent_pane nux)" 'pane-died[50]' 'run-shell false'
gt arm -L main
like "$(options nux)" 'pane-died\[50\] run-shell false;pane-died\[51\] run-shell -b .*snapshot' "somebody else's index is left to them"
gt disarm -L main
like "$(options nux)" 'pane-died\[0\] run-shell true;pane-died\[50\] run-shell false;$' 'and stays when ours goes'
tm set-hook -u -w -t "$(agent_pane nux)" 'pane-died[50]'
tm set-hook -g pane-died 'run-shell true'
gt arm -L main toast
like "$ERR" "the server has its own pane-died hook" 'a hook for all windows is not shadowed'
like "$(options toast)" 'pane=on .*hooks=$' 'the rest is armed'
gt disarm -L main
tm set-hook -gu pane-died

# ---- it works ----
gt arm -L main toast
ok 'an armed agent is killed' kill_agent toast
ok 'its pane stays' pane_is toast '#{pane_dead}' 1
snapshots() {	# tmux 3.3a may lose a child's end, and with it the hook, until another one ends
	tm run-shell -b true
	find "$STATE/snapshots" -type f 2>/dev/null | grep -q .
}
ok 'and what it showed is kept at once' until_ 10 snapshots
gt toast -L main --json
is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'and it is recovered'
is "$(listed toast armed)" 1 'still armed'

# ---- a session that is gone, a server that is gone ----
gt arm -L main nux
tm kill-session -t =nux
gt disarm -L main --json
is "$RC $(json '{sessions}') $(json '{sessions}[0]{name}')" '0 1 toast' 'what is gone needs nothing'
gt arm -L main toast
old=$(tm display-message -p '#{pid}')
tm kill-server
until_ 5 _gone "$old"
ok 'another server has a session of that name' start toast
toast=$(options toast)
is "$(listed toast armed)" 0 'it is not armed'
gt disarm -L main toast
is "$RC" 4 'disarm knows that it is another'
is "$(options toast)" "$toast" 'and changes nothing'
gt log
like "$OUT" 'toast +disarmed +gone' 'the record of the old one is gone'

# ---- killed in between ----
if grep -q GT_FAULT "$GT_RECOVER"; then
	for point in store-commit:1 store-committed:1 tmux:1 event-append:1; do
		{ GT_FAULT=$point=kill gt arm -L main toast; } 2>/dev/null
		is "$RC" 137 "the one who arms is killed at $point"
		gt disarm -L main
		is "$RC $(options toast)" "0 $toast" '  disarm: exactly as before'
		{ GT_FAULT=$point=kill gt arm -L main toast; } 2>/dev/null
		gt arm -L main toast
		is "$RC $(listed toast armed)" '0 1' '  arming again arms'
		gt disarm -L main
		is "$RC $(options toast)" "0 $toast" '  and disarm still knows what was there'
		gt arm -L main toast
		{ GT_FAULT=$point=kill gt disarm -L main; } 2>/dev/null
		is "$RC" 137 "  the one who disarms is killed at $point"
		gt disarm -L main
		is "$RC $(options toast)" "0 $toast" '  the next one ends it'
	done
else
	skip 'this build has no fault points' 24
fi
gt log --verify
is "$RC" 0 'the log is whole'
done_testing
