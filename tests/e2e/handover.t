#!/bin/bash
# A prompt that goes in by a flag's file, or by an argument: exact, once, and no more of it in the list of processes than there must be.
# shellcheck disable=SC2016	# rows of gt.toml are written in single quotes
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
afresh

row() {		# FILE LINES: a gt.toml of its own, with the row of claude changed
	printf '[recovery]\nmax_attempts = 1000\nready_timeout = "20s"\nack_timeout = "20s"\nvia = "inject"\n[recovery.agents.claude]\n%s\n' "$2" >"$W/$1.toml"
}

crash() {	# SESSION [COMMAND]
	start_agent "$1" --command "${2:-claude --dangerously-skip-permissions}" --scenario "$DATA/idle.scenario" && kill_agent "$1"
}

command_line() {	# SESSION: of the living agent
	tr '\0' ' ' <"/proc/$(agent_pid "$1")/cmdline"
}

exact() {	# SESSION: the last message is the prompt, but for line ends behind it
	kept_prompt "$(json '{results}[0]{recovery_id}')" "$W/prompt"
	[ -s "$W/prompt" ] && [ "$(cat "$W/prompt")" = "$(cat "$(message_file "$1")")" ]
}

# ---- a file ----
row file 'deliver = "file, paste"
file_flag = "--prompt-file"
resume_deliver = "file"
prompt_flags = "--say=1"'
ok 'an agent is killed' crash toast
gt toast -L main --config "$W/file.toml" --json
is "$RC $(json '{results}[0]{phase}') $(json '{results}[0]{delivery}')" '0 acknowledged file' 'it is told by a file that a flag names'
ok 'exactly' exact toast
is "$(messages toast)" 1 'once'
is "$(command_line toast)" 'claude --prompt-file /proc/self/fd/3 --dangerously-skip-permissions ' 'its command names a descriptor, and nothing of the prompt'
is "$(find "$XDG_STATE_HOME/gt-recover/prompts" -type f | wc -l)" 0 'the file is gone while the agent still runs'
tell_agent toast 'and the keyboard works'
ok 'what is typed arrives' until_ 10 messages_are toast 2
tm respawn-pane -k -t "$(agent_pane toast)"
ok 'somebody starts the pane again' until_ 10 events_are toast '^ready' 3
is "$(messages toast)" 2 'that tells nobody anything'
is "$(command_line toast)" 'claude --dangerously-skip-permissions ' 'and is the plain command'
ok 'it is killed again' kill_agent toast
gt toast -L main --config "$W/file.toml" --json
is "$RC $(json '{results}[0]{delivery}') $(messages toast)" '0 file 3' 'and comes back by the same way'

ok 'an agent with a task in its command is killed' crash task 'claude --dangerously-skip-permissions --say "count the sheep"'
gt task -L main --config "$W/file.toml" --json
is "$RC $(json '{results}[0]{delivery}') $(messages task)" '0 file 2' 'it is told once'
is "$(command_line task)" 'claude --prompt-file /proc/self/fd/3 --dangerously-skip-permissions ' 'and not its task again'

ok 'an agent that has a conversation is killed' crash talk 'claude --dangerously-skip-permissions --say "count the sheep"'
gt talk -L main --config "$W/file.toml" --via resume --json
is "$RC $(json '{results}[0]{via}') $(json '{results}[0]{delivery}') $(messages talk)" '0 resume file 2' 'it goes on with it, told by a file'
like "$(command_line talk)" '^claude --resume [0-9a-f-]{36} --prompt-file /proc/self/fd/3 ' 'in one command'

# recoverers that end before and after the start
if grep -q GT_FAULT "$GT_RECOVER"; then
	ok 'an agent is killed' crash before
	GT_FAULT=tmux=kill gt before -L main --config "$W/file.toml" 2>"$W/killed"
	is "$RC" 137 'a recoverer dies where it would start the agent'
	gt before -L main --config "$W/file.toml" --json
	is "$RC $(json '{results}[0]{delivery}') $(messages before)" '0 file 1' 'the next one tells it, once'
else
	skip 'this build has no fault points (make FAULTS=1)' 3
fi
ok 'an agent is killed' crash after
agent_plan after '--slow 3000'
"$GT_RECOVER" after -L main --config "$W/file.toml" >/dev/null 2>&1 </dev/null &
PIDS+=($!)
ok 'its successor is told' until_ 20 messages_are after 1
kill -9 $!
wait $! 2>/dev/null
gt after -L main --config "$W/file.toml" --json
is "$RC $(json '{results}[0]{phase}') $(messages after) $(agent_starts after)" '0 acknowledged 1 2' 'when its recoverer dies then, the next one looks and tells nothing'

# who does not read the file is pasted to
ok 'an agent is killed' crash deaf
row deaf 'deliver = "file, paste"
file_flag = "--model"'
gt deaf -L main --config "$W/deaf.toml" --json
is "$RC $(json '{results}[0]{delivery}') $(messages deaf)" '0 paste 1' 'an agent that lets the file lie is pasted to'

ok 'an agent behind a condition is killed' crash involved 'sh -c "[ -t 0 ] || sh; exec claude --dangerously-skip-permissions"'
gt involved -L main --config "$W/file.toml" --json
is "$RC $(json '{results}[0]{delivery}') $(messages involved)" '0 paste 1' 'where the command is too involved for a flag, it is pasted to'

# ---- an argument ----
row argument 'deliver = "argument"
argument_flag = "--say"
prompt_flags = "--say=1 --prompt-file=1"
ready = ""'
ok 'an agent is killed' crash last
gt last -L main --config "$W/argument.toml" --json
is "$RC $(json '{results}[0]{phase}') $(json '{results}[0]{delivery}')" '0 acknowledged argument' 'one that can be told in no other way has it as an argument'
ok 'exactly' exact last
is "$(messages last)" 1 'once'
is "$(find "$XDG_STATE_HOME/gt-recover/prompts" -type f | wc -l)" 0 'no file is left'

row either 'deliver = "argument, paste"
argument_flag = "--say"'
ok 'an agent is killed' crash either
gt either -L main --config "$W/either.toml" --json
is "$RC $(json '{results}[0]{delivery}') $(messages either)" '0 paste 1' 'where it can be pasted to, no argument is made'
is "$(command_line either)" 'claude --dangerously-skip-permissions ' 'nothing stands in its command'

perl -e 'print "line $_ of a long task\n" for 1 .. 8000' >"$W/long"
ok 'an agent with a long task is killed' crash long "claude --dangerously-skip-permissions --prompt-file $W/long"
gt long -L main --config "$W/argument.toml" --json
is "$RC $(json '{results}[0]{error}{name}')" '1 too-long' 'what is too long for an argument is refused'
like "$(json '{results}[0]{error}{message}')" 'as an argument Claude takes at most 131071' 'with the size'
ok 'and nothing was started' pane_is long '#{pane_dead}' 1
is "$(agent_starts long)" 1 'at all'

row none 'deliver = "file"'
ok 'an agent is killed' crash closed
gt closed -L main --config "$W/none.toml" --json
is "$RC $(json '{results}[0]{error}{name}')" '6 no-way-in' 'a way without its flag is closed'
done_testing
