#!/bin/bash
# Agents that do not come up as they should. Nothing is ever typed blind, nothing is told twice, and the next run takes an attempt up.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cat >"$W/quick.toml" <<'TOML'
[recovery]
ready_timeout = "3s"
ack_timeout = "3s"
TOML

crash() {	# SESSION
	start_agent "$1" --scenario "$DATA/work.scenario" && until_ 10 pane_shows "$1" 'test 7 ok' && kill_agent "$1"
}

ok 'an agent is killed' crash eats
agent_plan eats --eat-stdin
gt eats -L main --json
is "$RC" 0 'one that eats its standard input is told all the same'
is "$(json '{results}[0]{delivery}')" paste 'by one paste'
is "$(messages eats)" 1 'once'
kept_prompt "$(json '{results}[0]{recovery_id}')" "$W/prompt"
# the program turns each tab of a paste into four blanks, and Enter ends the text
is "$(sed 's/\t/    /g' "$W/prompt")" "$(cat "$(message_file eats 1)")" 'the whole prompt'

ok 'an agent is killed' crash enter
agent_plan enter '--eat-stdin --ignore-paste-first-enter'
gt enter -L main --json
is "$RC" 0 'one that swallows the first Enter is told all the same'
is "$(messages enter)" 1 'once'

ok 'an agent is killed' crash never
agent_plan never --never-ready
gt never -L main --config "$W/quick.toml" --json
is "$RC" 1 'one that never gets ready is a failure'
is "$(json '{results}[0]{error}{name}')" not-ready 'by that name'
is "$(json '{results}[0]{phase}')" respawned 'its attempt stays open'
gt never -L main --config "$W/quick.toml" --json
is "$(json '{results}[0]{phase}')" respawned 'the next run takes it up'
is "$(agent_starts never)" 2 'and starts nothing'
gt -L main --all --dry-run
like "$OUT" 'would recover never .*already started' 'a run over all plans to look after it'
gt -L main --all --yes --config "$W/quick.toml" --json
is "$(json '{results}') $(json '{results}[0]{session}') $(json '{results}[0]{phase}')" '1 never respawned' 'and does, and after nothing else'
is "$(agent_starts never)" 2 'nothing is started'

id=$(grep -o 'gtr-[0-9a-f]*' "$(message_file eats)" | head -n 1)
ok 'an agent is asked about another session' start_agent quoter --scenario "$DATA/idle.scenario"
tell_agent quoter "what was $id about?"
ok 'it answers' until_ 10 messages_are quoter 1
ok 'it is killed' kill_agent quoter
gt prompt quoter -L main --via inject
like "$OUT" 'what was gtr' 'its prompt has the question'
unlike "$OUT" 'keep the comments' 'and not what the other session had said'

ok 'an agent whose directory goes away' start_agent homeless --cwd "$(mkdir "$W/gone" && echo "$W/gone")" --scenario "$DATA/idle.scenario"
ok 'is killed' kill_agent homeless
rm -rf "$W/gone"
gt homeless -L main --json
is "$RC $(json '{results}[0]{error}{name}')" '6 no-place' 'it is not started somewhere else'

ok 'an agent is killed' crash dies
agent_plan dies --die-at-once=7
gt dies -L main --json
is "$RC" 1 'one that dies at once is a failure'
is "$(json '{results}[0]{error}{name}')" died 'by that name'
gt dies -L main --json
is "$RC" 0 'the next run brings it back'
ok 'with the context that the first had kept' grep -q 'keep the comments' "$(message_file dies)"
is "$(messages dies)" 1 'told once'
ok 'with what was running then' grep -q '^- Bash(for i in .* was running' "$(message_file dies)"
is "$(grep -Ec '^Tool (Edit|Update)' "$(message_file dies)")" 1 'what is left on the screen is not told again'
ok 'and the truth about the start between' grep -q 'ended before it had read what is above' "$(message_file dies)"

ok 'an agent is killed' crash asks
agent_plan asks '--eat-stdin --dialog'
gt asks -L main --config "$W/quick.toml" --json
is "$RC" 5 'one that asks something first is not acknowledged'
is "$(json '{results}[0]{error}{name}')" dialog 'by that name'
not_ok 'and nothing answered for the person' _event asks 'DIALOG ACCEPTED'
is "$(messages asks)" 0 'nor pasted'

ok 'an agent is killed' crash mute
agent_plan mute --no-answer
gt mute -L main --config "$W/quick.toml" --json
is "$RC" 5 'one that does not answer is delivered, not acknowledged'
is "$(json '{results}[0]{phase}')" delivered 'and says so'

ok 'an agent is killed' crash secretive
cat >"$W/none.toml" <<'TOML'
[recovery]
ready_timeout = "5s"
ack_timeout = "20s"
[recovery.agents.claude]
transcript = "none"
TOML
agent_plan secretive '--no-transcript --slow 3000'
gt secretive -L main --config "$W/none.toml" --json
like "$RC $(json '{results}[0]{proof}')" '^0 screen$|^5 ' 'one without a record is never acknowledged by more than its screen'
is "$(messages secretive)" 1 'told once'
done_testing
