#!/bin/bash
# Agents whose shell stayed: found by the process tree, brought back only where the shell is idle and a command is known, and the shell comes back after them.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cat >"$W/with.toml" <<'TOML'
[recovery]
via = "inject"
[recovery.agents.claude]
command = "claude --dangerously-skip-permissions"
TOML

ok 'a person starts an agent in a shell' start_agent typed --shell --scenario "$DATA/work.scenario"
ok 'it works' until_ 10 pane_shows typed 'test 7 ok'
ok 'it is seen as living' listed_is typed class live
ok 'it is killed, the shell stays' kill_agent typed
ok 'it is a zombie' until_ 5 listed_is typed class zombie
gt typed -L main --config "$W/with.toml" --json
is "$RC" 0 'with a command it comes back'
is "$(messages typed)" 1 'told once'
not_ok 'what the shell wrote is not in the prompt' grep -q 'Killed' "$(message_file typed 1)"
ok 'the conversation is' grep -q 'keep the comments' "$(message_file typed 1)"
is "$(tm show-options -p -t "$(agent_pane typed)" remain-on-exit)" '' 'remain-on-exit is as it was'
ok 'it is killed again' kill_agent typed
ok 'the shell is back' until_ 10 listed_is typed class zombie
gt typed -L main --config "$W/with.toml" --json
is "$RC" 0 'and it comes back again'
is "$(messages typed)" 2 'told once more'
ok 'with the old words' grep -q 'keep the comments' "$(message_file typed 2)"

# ---- remain-on-exit is taken back to what the pane itself had, whenever the attempt ends ----
remains() {	# SESSION
	tm show-options -p -q -v -t "$(agent_pane "$1")" remain-on-exit
}
cat >"$W/slow.toml" <<'TOML'
[recovery]
ready_timeout = "1s"
ack_timeout = "1s"
[recovery.agents.claude]
command = "sh -c 'sleep 3; exec claude --dangerously-skip-permissions'"
TOML
zombie() {	# SESSION: on a server that keeps no dead pane
	start_agent "$1" --shell --scenario "$DATA/idle.scenario" && tm set-option -g remain-on-exit off && kill_agent "$1" &&
		until_ 5 listed_is "$1" class zombie
}
for before in '' failed; do
	name=option$before
	ok "a zombie, with remain-on-exit ${before:-as everywhere}" zombie "$name"
	[ -z "$before" ] || tm set-option -p -t "$(agent_pane "$name")" remain-on-exit "$before"
	gt "$name" -L main --config "$W/slow.toml" --respawn --json
	is "$(json '{results}[0]{error}{name}') $(remains "$name")" 'not-ready on' 'a first run does not wait: the pane is kept'
	gt "$name" -L main --config "$W/with.toml" --json
	is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'the next one takes it up'
	is "$(remains "$name")" "$before" 'and remain-on-exit is as it was'
done
kill_agent option
ok 'killed again' until_ 10 listed_is option class zombie
gt option -L main --config "$W/slow.toml" --respawn --json
is "$(json '{results}[0]{phase}') $(remains option)" 'respawned on' 'again nobody waits for it'
gt release option -L main
is "$RC $(remains option)" '0 ' 'whoever releases it takes it back, too'
ok 'a zombie' zombie ends
agent_plan ends --die-at-once=3
gt ends -L main --config "$W/with.toml" --json
is "$RC $(json '{results}[0]{error}{name}') $(remains ends)" '1 died ' 'its agent ends at once: the shell is back, remain-on-exit as it was'
tm kill-session -t =ends

ok 'an agent with a shell behind it' start_agent wrapped --wrapper --scenario "$DATA/work.scenario"
ok 'it works' until_ 10 pane_shows wrapped 'test 7 ok'
ok 'it is killed' kill_agent wrapped
ok 'it is a zombie' until_ 5 listed_is wrapped class zombie
gt wrapped -L main --json
is "$RC" 0 'it comes back by its own start command'
is "$(messages wrapped)" 1 'told once'

ok 'one more' start_agent busy --shell --scenario "$DATA/work.scenario"
ok 'it works' until_ 10 pane_shows busy 'test 7 ok'
ok 'it is killed' kill_agent busy
tm send-keys -t "$(agent_pane busy)" 'cat' Enter
ok 'somebody works in the shell' until_ 5 pane_is busy '#{pane_current_command}' cat
gt busy -L main --config "$W/with.toml" --json
is "$RC" 6 'a busy shell is left alone'
is "$(json '{results}[0]{error}{name}')" unknown 'unknown is not dead'
ok 'and goes on' pane_is busy '#{pane_current_command}' cat

# ---- typed into the very shell that the agent left ----
tm send-keys -t "$(agent_pane busy)" C-c
until_ 5 pane_is busy '#{pane_current_command}' bash && until_ 5 pane_shows busy '\^C'
here() {	# WORDS: run in the pane; what it showed in $OUT
	tm send-keys -t "$(agent_pane busy)" -l "$GT_RECOVER -L main $1 >$W/here 2>&1 </dev/null; echo done >>$W/here" \; \
		send-keys -t "$(agent_pane busy)" Enter
	until_ 10 grep -qs '^done' "$W/here"
	OUT=$(cat "$W/here")
	rm "$W/here"
}
here "list --config $W/with.toml"
like "$OUT" 'busy .*gt-recover itself runs in this pane' 'list says that it runs there'
here "--config $W/with.toml --all --yes"
like "$OUT" 'Nothing to recover.*busy: gt-recover itself runs in this pane.*gt-recover busy' 'so does a recovery of all'
here "--config $W/with.toml busy"
like "$OUT" 'gt-recover itself runs in this pane, with redirected output.*from another pane' 'and one by name'
gt busy -L main --config "$W/with.toml" --json
is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'from elsewhere it is recovered'
done_testing
