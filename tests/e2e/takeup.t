#!/bin/bash
# What a recoverer left behind that died or waited in vain: the next one looks whose agent that is, and tells it once or not at all.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"
cat >"$W/quick.toml" <<'TOML'
[recovery]
ready_timeout = "1s"
ack_timeout = "1s"
TOML

crash() {	# SESSION OPTION...
	start_agent "$@" --scenario "$DATA/work.scenario" && until_ 10 pane_shows "$1" 'test 7 ok' && kill_agent "$1"
}

# ---- somebody types in the agent that was started ----
cat >"$W/paste.toml" <<'TOML'
[recovery]
spacing = "0s"
via = "inject"
auto_recover = true
[recovery.agents.claude]
deliver = "paste"
TOML
# a start that lasts until the test lets it go on
slow="sh -c \"while [ -e $W/hold ]; do sleep 0.1; done; exec claude --dangerously-skip-permissions\""
hold() {
	: >"$W/hold"
}
go_on() {
	rm "$W/hold"
}
next_second() {	# tmux tells times to the second
	local now=$EPOCHSECONDS
	until_ 3 _is_later "$now"
}
_is_later() {
	[ "$EPOCHSECONDS" -gt "$1" ]
}

crash_slow() {	# SESSION
	start_agent "$1" --command "$slow" --scenario "$DATA/idle.scenario" && kill_agent "$1"
}

left_started() {	# SESSION: its recoverer is killed before the agent is ready for the paste
	local run
	hold
	"$GT_RECOVER" "$1" -L main --config "$W/paste.toml" >"$W/left.out" 2>&1 </dev/null &
	run=$!
	PIDS+=("$run")
	until_ 10 pane_is "$1" '#{pane_dead}' 0 && until_ 10 listed_is "$1" class unknown || return 1
	kill -9 "$run"
	wait "$run" 2>/dev/null
	go_on
	until_ 10 listed_is "$1" class live && [ "$(messages "$1")" = 0 ]
}

press() {	# SESSION: keys, and the box is empty again
	types "$1" l && types "$1" C-u && until_ 5 pane_shows "$1" '^❯.?$'
}

if grep -q GT_QUIET_MS "$GT_RECOVER"; then
	ok 'an agent' start_agent back --command "$slow" --scenario "$DATA/idle.scenario"
	gt snapshot -L main
	tm kill-server
	ok '  is gone with its tmux server' until_ 10 listed_is back class missing
	hold
	GT_QUIET_MS=6000 "$GT_RECOVER" --all --yes -L main --config "$W/paste.toml" >"$W/out" 2>"$W/err" </dev/null &
	all=$!
	PIDS+=("$all")
	ok '--all starts it in its session again' until_ 10 eval '[ "$(tm display-message -p -t =back: "#{@gt-recover-filled}" 2>/dev/null)" = 1 ]'
	ok '  somebody attaches' visit back
	ok '  and types before it is ready' types back l C-u
	go_on
	wait "$all"
	is "$?" 0 'it is told when it is quiet'
	like "$(cat "$W/err")" 'waiting [1-6] s: someone is typing in back.*found=1 recovered=1' '  after a wait'
	leave back
else
	skip 'this build has no shorter minute' 7
fi
ok 'an agent is killed' crash_slow typist
ok 'its recoverer is killed before it pastes' left_started typist
ok 'somebody attaches' visit typist
ok '  and types in the living agent' press typist
gt --all --dry-run -L main --config "$W/paste.toml"
like "$RC $OUT" '^0 .*would wait +typist .*someone typed in its pane less than a minute ago \(typing\)' 'the plan says that it is waited for'
gt --all --dry-run -L main --config "$W/paste.toml" --json
is "$(json '{sessions}[0]{name}') $(json '{sessions}[0]{refusal}')" 'typist typing' '  in JSON too'
gt patrol -L main --config "$W/paste.toml" --json
is "$RC $(json '{found}') $(messages typist)" '0 0 0' 'patrol leaves it to the next pass'
if grep -q GT_QUIET_MS "$GT_RECOVER"; then
	press typist
	GT_QUIET_MS=5000 gt --all --yes -L main --config "$W/paste.toml"
	is "$RC $(messages typist)" '0 1' '--all tells it when it is quiet'
	like "$ERR" 'waiting [1-5] s: someone is typing in typist.*found=1 recovered=1 unacknowledged=0 refused=0' '  after a wait'

	ok 'an agent is killed' crash_slow early
	ok 'somebody attaches to its dead pane' visit early
	ok '  and types, which nothing reads' types early x
	gt --all --yes -L main --config "$W/paste.toml"
	is "$RC $(messages early)" '0 1' '--all tells it'
	unlike "$ERR" 'waiting [0-9]+ s: someone' '  at once'

	ok 'an agent is killed' crash_slow late
	ok 'somebody attaches to its dead pane' visit late
	hold
	GT_QUIET_MS=6000 "$GT_RECOVER" --all --yes -L main --config "$W/paste.toml" >"$W/out" 2>"$W/err" </dev/null &
	all=$!
	PIDS+=("$all")
	ok '--all starts the agent' until_ 10 pane_is late '#{pane_dead}' 0
	next_second
	ok '  and somebody types before it is ready' types late l C-u
	go_on
	wait "$all"
	is "$? $(messages late)" '0 1' 'it is told when it is quiet'
	like "$(cat "$W/err")" 'waiting [1-6] s: someone is typing in late.*found=1 recovered=1' '  after a wait'
	is "$(agent_starts late)" 2 '  and started once'
	# it was three, once, on a loaded machine
	[ "$(agent_starts late)" = 2 ] || { note "$(cat "$(agent_dir late)/events" "$W/out" "$W/err")" && gt log && note "$OUT$ERR"; }
else
	skip 'this build has no shorter minute' 12
fi
ok 'an agent is killed' crash_slow named
ok 'its recoverer is killed before it pastes' left_started named
ok 'somebody attaches' visit named
ok '  and types in the living agent' press named
gt named -L main --config "$W/paste.toml"
is "$RC $(messages named)" '0 1' 'naming the session lifts it'
term kill-server

# ---- what a recoverer left that died or gave up ----
ok 'an agent that is slow to start is killed' crash slow --command "$slow"
hold
gt slow -L main --config "$W/quick.toml" --json
is "$(json '{results}[0]{error}{name}') $(json '{results}[0]{phase}')" 'not-ready respawned' 'a first run does not wait for it'
id=$(json '{results}[0]{recovery_id}')
is "$(listed slow class)" unknown 'it is on its way up'
go_on
gt slow -L main --json
is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'the next run takes the attempt up'
is "$(json '{results}[0]{recovery_id}')" "$id" 'the same'
is "$(messages slow)" 1 'told once'
is "$(agent_starts slow)" 2 'started once'

ok 'an agent without a record is killed' crash mute
cat >"$W/none.toml" <<'TOML'
[recovery]
ready_timeout = "5s"
ack_timeout = "14s"
[recovery.agents.claude]
transcript = "none"
TOML
agent_plan mute '--no-transcript'
gt mute -L main --config "$W/none.toml" --json
is "$(json '{results}[0]{delivery}')" stdin 'it is told by its standard input'
is "$(messages mute)" 1 'once, though it sits idle afterwards and nothing proves it'
if [ "$RC" = 5 ]; then
	gt mute -L main --config "$W/none.toml" --json
	is "$(messages mute)" 1 'and the next run does not tell it again'
else
	is "$(json '{results}[0]{proof}')" screen 'proven by its screen'
fi

if grep -q GT_FAULT "$GT_RECOVER"; then
	ok 'an agent is killed' crash half
	GT_FAULT=tmux=kill gt half -L main
	is "$RC" 137 'and its recoverer right before the start'
	gt half -L main --json
	is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'the next one goes on'
	not_ok 'and does not say that the agent was brought back before' grep -q 'was brought back here' "$(message_file half)"

	ok 'an agent is killed' crash mine
	GT_FAULT=tmux=kill gt mine -L main
	is "$RC" 137 'and its recoverer right before the start'
	tm respawn-pane -t "$(agent_pane mine)" 'exec claude --dangerously-skip-permissions'
	ok 'a person starts it' until_ 10 listed_is mine class live
	gt mine -L main --json
	is "$RC $(json '{results}[0]{error}{name}')" '6 live' "a person's agent is left alone"
	is "$(messages mine)" 0 'and told nothing'
	is "$(find "$XDG_STATE_HOME/gt-recover/prompts" -name '*.txt')" '' 'the prompt that nobody took is gone'

	# as a recoverer leaves it that is killed after its last commit
	: >"$XDG_STATE_HOME/gt-recover/prompts/$id.txt"
	: >"$XDG_STATE_HOME/gt-recover/prompts/gtr-0000000000000000.txt"
	gt patrol -L main
	is "$(cd "$XDG_STATE_HOME/gt-recover/prompts" && echo *.txt)" gtr-0000000000000000.txt 'the prompt of an attempt that has ended goes with the next patrol, no other'
else
	skip 'this build has no fault points' 11
fi
done_testing
