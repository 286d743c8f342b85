#!/bin/bash
# An agent goes on with its own conversation (--via resume, and auto when nothing speaks against it), told only what that lacks; where
# something does, it is started afresh with its context, and the reason has a name.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
often

starts_with() {	# SESSION: the arguments that came after the program in the newest start
	tm display-message -p -t "$(agent_pane "$1")" '#{pane_start_command}'
}

session_id() {	# SESSION
	basename "$(transcript "$1")" .jsonl
}

crashed() {	# SESSION [start_agent's words]...: at work, then killed
	start_agent "$@" --scenario "$DATA/work.scenario" && until_ 10 pane_shows "$1" 'test 7 ok' && kill_agent "$1"
}

# not_resumed SESSION NAME: auto tells the name, and the agent is started afresh with everything
not_resumed() {
	local before
	before=$(messages "$1")
	gt "$1" -L main --json
	is "$RC" 0 "$2: recovered all the same"
	is "$(json '{results}[0]{via}')" inject "$2: afresh"
	is "$(json '{results}[0]{not_resumed}')" "$2" "$2: by its name"
	is "$(messages "$1")" $((before + 1)) "$2: told once"
	ok "$2: everything" grep -q 'keep the comments' "$(message_file "$1")"
}

# ---- the usual crash ----

ok 'an agent dies in the middle of a command' crashed toast
id=$(session_id toast)
cp "$(transcript toast)" "$W/before"
gt prompt toast -L main --json
is "$(json '{via}')" resume 'prompt says that it would go on with its conversation'
unlike "$(json '{prompt}')" 'keep the comments' 'and shows what it would be told: not what stands there'
like "$(json '{prompt}')" 'still running when the session died' 'but the call that had no result'
gt prompt toast -L main --json --via inject
is "$(json '{via}')" inject 'or what it would be told afresh'
like "$(json '{prompt}')" 'keep the comments' 'which is all'
same_file "$(transcript toast)" "$W/before" 'nothing is written to its own record'

gt toast -L main --json
is "$RC" 0 'it is recovered'
is "$(json '{results}[0]{via}')" resume 'by its own conversation'
is "$(json '{results}[0]{not_resumed}')" '(none)' 'nothing spoke against it'
is "$(json '{results}[0]{proof}')" transcript 'it has answered in its transcript'
is "$(session_id toast)" "$id" 'which is the same file'
like "$(starts_with toast)" "claude --resume $id --dangerously-skip-permissions <&3" 'the flag stands behind the program'
is "$(messages toast)" 1 'it was told once'
first=$(message_file toast)
ok 'that a call had no result' grep -q '^Tool Bash (still running when the session died): for i in' "$first"
ok 'what its screen had shown of it' grep -q '  test 7 ok' "$first"
ok 'what became of it' grep -q 'was running; no process of it was found' "$first"
not_ok 'not what it knows' grep -q 'keep the comments' "$first"
is "$(head -c "$(stat -c %s "$W/before")" "$(transcript toast)" | cmp - "$W/before" 2>&1)" '' 'its old record is as it was, the new stands behind it'

ok 'a plain respawn by somebody else' kill_agent toast
tm respawn-pane -t "$(agent_pane toast)"
ok 'starts it' until_ 10 events_are toast '^ready' 3
is "$(messages toast)" 1 'and tells it nothing'

# ---- again and again ----

ok 'another agent dies' crashed twice
gt twice -L main --json
before=$(json '{results}[0]{recovery_id}')
is "$(json '{results}[0]{via}')" resume 'and goes on'
tell_agent twice 'One more thing: update the manual.'
ok 'it works on' until_ 10 messages_are twice 2
ok 'it has answered' until_ 10 events_are twice '^answered' 2
ok 'and dies again' kill_agent twice
gt context twice -L main --json
is "$(json '{previous_recovery}')" "$before" 'its context knows what brought it back'
is "$(json '{exchanges}[0]{source}')" earlier 'and goes on from what was gathered then'
unlike "$(json '{exchanges}[-1]{content}')" 'Your session crashed' 'what we told it is no part of its conversation'
gt twice -L main --json
is "$(json '{results}[0]{via}')" resume 'it goes on a second time'
is "$(messages twice)" 3 'told once more'
not_ok 'not what it was told before' grep -q 'still running when' "$(message_file twice)"
ok 'and dies a third time' kill_agent twice
gt twice -L main --json --via inject
is "$(json '{results}[0]{via}')" inject 'afresh then'
third=$(message_file twice)
is "$(grep -c 'keep the comments' "$third")" 1 'the first words are told once'
is "$(grep -c 'update the manual' "$third")" 1 'those between, too'
is "$(grep -c 'Under Way When The Session Died' "$third")" 0 'what we had told is not nested'

# the kept contexts may be gone: then the transcript alone has it all
ok 'another one' crashed lost
gt lost -L main --json
ok 'dies' kill_agent lost
rm -f "$XDG_STATE_HOME"/gt-recover/contexts/*
gt lost -L main --json --via inject
is "$RC" 0 'is recovered without what was kept'
is "$(grep -c 'keep the comments' "$(message_file lost)")" 1 'and told everything once'
is "$(grep -c 'Under Way When The Session Died' "$(message_file lost)")" 0 'without our own words'

# ---- it does not come up ----

ok 'an agent dies' crashed vain
cp "$(transcript vain)" "$W/before"
agent_plan vain --die-at-once=1
gt vain -L main --json
is "$RC" 1 'a start that fails is a failure'
is "$(json '{results}[0]{error}{name}')" died 'by its name'
is "$(json '{results}[0]{via}')" resume 'of the resumed one'
like "$(json '{results}[0]{error}{hint}')" 'the next recovery starts a new conversation' 'with what comes next'
same_file "$(transcript vain)" "$W/before" 'byte for byte its record is what it was'
not_resumed vain tried
is "$(grep -c 'keep the comments' "$(message_file vain)")" 1 'and once'

# ---- what speaks against it ----

# shellcheck disable=SC2016	# the pane's shell fills it in
ok 'a start command that the shell fills in' crashed unclear --command 'claude --dangerously-skip-permissions $NOTHING'
not_resumed unclear unclear-command

ok 'one with a prompt, as gt writes it' \
	start_agent beacon --command 'env GT_X=1 claude --dangerously-skip-permissions --settings /x/s.json "[GAS TOWN] check your hook"'
ok 'which it answers' until_ 10 events_are beacon '^answered' 1
ok 'and dies' kill_agent beacon
gt beacon -L main --json
is "$(json '{results}[0]{via}')" resume 'the prompt of the first start stands in its conversation'
not_ok 'and is not said again' grep -q 'check your hook' "$(message_file beacon)"
like "$(starts_with beacon)" '"exec env GT_X=1 claude --dangerously-skip-permissions --settings /x/s.json ' 'a later start by somebody else has it still'

ok 'no file' crashed gone
mv "$(transcript gone)" "$W/moved.jsonl"
gt gone -L main --json
is "$(json '{results}[0]{not_resumed}')" stale 'a record without its file is stale'
is "$(json '{results}[0]{via}')" inject 'then its screen is what is told'

ok 'an agent works' start_agent used --scenario "$DATA/work.scenario"
ok 'somebody else goes on with its conversation' \
	start_agent other --cwd "$(agent_dir used)/cwd" --command "claude --resume $(session_id used)"
ok 'it dies' kill_agent used
not_resumed used in-use
kill_agent other

ok 'a file that was torn apart' crashed torn
printf '{"type":"user","uuid":"x' >>"$(transcript torn)"
not_resumed torn torn

ok 'a file that has lost its beginning' crashed broken
sed -i 1d "$(transcript broken)"
gt broken -L main --json
is "$(json '{results}[0]{not_resumed}')" broken 'is broken'

ok 'a link to a file elsewhere' crashed foreign
file=$(transcript foreign)
mv "$file" "$W/elsewhere.jsonl"
ln -s "$W/elsewhere.jsonl" "$file"
not_resumed foreign foreign

ok 'a file of another session' crashed renamed
file=$(transcript renamed)
sed -i 's/"sessionId":"[^"]*"/"sessionId":"00000000-0000-4000-8000-000000000000"/' "$file"
not_resumed renamed foreign

ok 'a small budget' crashed large
printf '[recovery]\nmax_attempts = 1000\nmax_context_tokens = 1000\n' >"$W/small.toml"
gt large -L main --json --config "$W/small.toml"
is "$(json '{results}[0]{not_resumed}')" too-large 'is not enough for it'

ok 'somebody asks for it' crashed asked
mv "$(transcript asked)" "$W/asked.jsonl"
gt asked -L main --via resume
is "$RC" 0 'and gets what is possible'
like "$ERR" '! not resumed \(stale\): .*starts a new conversation' 'with a warning'

ok 'nobody asks' crashed unasked
rm "$(transcript unasked)"
gt unasked -L main
like "$ERR" 'In a new conversation \(stale\): .*no longer exists' 'and is told why it is another conversation'

ok 'somebody asks for the other' crashed plain
gt plain -L main --json --via inject
is "$(json '{results}[0]{via}')" inject 'and gets it'
is "$(json '{results}[0]{not_resumed}')" '(none)' 'without a word on why'

# ---- a shell that stays, a session that went ----

ok 'an agent in a shell of a person' crashed shell --shell
printf '[recovery.agents.claude]\ncommand = "claude --dangerously-skip-permissions"\n' >"$W/command.toml"
gt shell -L main --json --config "$W/command.toml"
is "$(json '{results}[0]{via}')" resume 'goes on, too'
is "$(messages shell)" 1 'told once'

ok 'one whose tmux server dies' start_agent away --scenario "$DATA/work.scenario"
ok 'at work' until_ 10 pane_shows away 'test 7 ok'
gt snapshot -L main
is "$RC" 0 'with a snapshot'
pid=$(agent_pid away)
kill -9 "$(tm display-message -p '#{pid}')" "$pid"
ok 'is gone' until_ 10 _gone "$pid"
gt away -L main --json
is "$RC" 0 'comes back'
is "$(json '{results}[0]{via}')" resume 'with its conversation'
ok 'and what the snapshot had seen' grep -q 'Under Way When The Session Died.*test 7 ok' "$(transcript away)"

gt --via magic one
is "$RC" 2 'another way there is not'
like "$ERR" '--via takes auto, resume or inject' 'which it says'
done_testing
