#!/bin/bash
# What a recoverer left behind that died or waited in vain: the next one looks whose agent that is, and tells it once or not at all.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cat >"$W/quick.toml" <<'TOML'
[recovery]
ready_timeout = "1s"
ack_timeout = "1s"
TOML

crash() {	# SESSION OPTION...
	start_agent "$@" --scenario "$DATA/work.scenario" && until_ 10 pane_shows "$1" 'test 7 ok' && kill_agent "$1"
}

ok 'an agent that is slow to start is killed' crash slow --command 'sh -c "sleep 4; exec claude --dangerously-skip-permissions"'
gt slow -L main --config "$W/quick.toml" --json
is "$(json '{results}[0]{error}{name}') $(json '{results}[0]{phase}')" 'not-ready respawned' 'a first run does not wait for it'
id=$(json '{results}[0]{recovery_id}')
is "$(listed slow class)" unknown 'it is on its way up'
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
