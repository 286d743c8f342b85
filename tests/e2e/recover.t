#!/bin/bash
# The main way: an agent in a pane of its own is killed with kill -9 and comes back with its context, once; and again when it is killed again.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
afresh
STATE=$XDG_STATE_HOME/gt-recover

ok 'an agent works' start_agent toast --scenario "$DATA/work.scenario"
ok 'it is in the middle of a command' until_ 10 pane_shows toast 'test 7 ok'
gt list --json -L main
is "$(json '{sessions}[0]{class}')" live 'the living agent is seen as living'
is "$(json '{sessions}[0]{refusal}')" live 'and refused by that name'

ok 'it is killed' kill_agent toast
gt list --json -L main
is "$RC" 0 'list answers 0'
is "$(json '{schema_version}')" 2 'with a schema version'
is "$(json '{sessions}[0]{name}')" toast 'the dead one is listed'
is "$(json '{sessions}[0]{class}')" dead 'as dead'
is "$(json '{sessions}[0]{crash_reason}')" killed 'killed'
is "$(json '{sessions}[0]{signal}')" 9 'by signal 9'
is "$(json '{sessions}[0]{agent}')" claude 'an agent of the table'
is "$(json '{sessions}[0]{recoverable}')" true 'and recoverable'
like "$(json '{sessions}[0]{scrollback_lines}')" '^[1-9][0-9]$' 'its lines are counted'

# a dead pane that would end this tmux is kept and reset by whoever finds it (focus.t)
disk() {
	find "$STATE" -type f -printf '%p %T@\n' 2>/dev/null | sort
}
written=$(disk)
is "$(grep -v '/gt-recover/snapshots/\|/gt-recover/recover\.' <<<"$written")" '' 'a list writes nothing but a snapshot, and the store'
before=$(tm list-panes -a -F '#{pane_id} #{pane_pid} #{pane_dead} #{history_size}')
gt -L main --dry-run
is "$RC" 0 'a dry run answers 0'
like "$OUT" 'would recover toast +\[crashed [0-9]+s ago\]' 'it says what it would do'
is "$(tm list-panes -a -F '#{pane_id} #{pane_pid} #{pane_dead} #{history_size}')" "$before" 'and changes nothing in tmux'
is "$(disk)" "$written" 'nor on disk'

gt context toast -L main --json
is "$(json '{last_user_message}')" "Good. Then do the same in lex.c:
  - keep the comments
  - no new warnings" 'context has the last words of the person'
is "$(json '{exchanges}[-1]{tool}')" Bash 'the last exchange is the command'
is "$(json '{exchanges}[-1]{status}')" running 'that was running'
gt prompt toast -L main
like "$OUT" '^[A-Z]' 'the prompt starts with a plain word'
like "$OUT" 'ontinue working now' 'and says to go on'
is "$(disk)" "$written" 'neither wrote anything'

gt toast -L main
is "$RC" 0 'the recovery succeeds'
like "$ERR" 'Capturing context\.\.\. [0-9]+ lines' 'it tells the lines'
like "$ERR" 'Parsing exchanges\.\.\. 2 user messages, [0-9]+ agent responses' 'the exchanges'
like "$ERR" 'Last activity: "Bash\(for i in' 'the last activity'
like "$ERR" '✓ Claude started' 'that the agent started'
like "$ERR" '✓ Context injected \([0-9.k]+ tokens\)' 'that it was told'
like "$ERR" '✓ Agent resuming work' 'that it went on'
like "$ERR" 'Attach with: tmux -L main attach -t =toast' 'and how to attach'
is "$(messages toast)" 1 'the agent was given one message'
id=$(grep -o 'gtr-[0-9a-f]*' "$(message_file toast 1)" | head -n 1)
kept_prompt "$id" "$W/prompt"
same_file "$(message_file toast 1)" "$W/prompt" 'byte for byte the prompt that is kept'
ok 'with the task list' grep -q 'Write the changelog' "$W/prompt"
ok 'and a warning about the command' grep -q 'was running' "$W/prompt"
is "$(find "$STATE/prompts" -type f | wc -l)" 0 'no prompt file is left'
is "$(find "$STATE" -type f ! -perm 600 | wc -l)" 0 'all files are private'
is "$(find "$STATE" -type d ! -perm 700 | wc -l)" 0 'and all folders'

gt toast -L main
is "$RC" 6 'a second call refuses'
like "$ERR" 'its agent is alive' 'because the agent is alive'
is "$(messages toast)" 1 'and tells it nothing'

# A bare respawn by anybody else starts the plain agent.
kill_agent toast
tm respawn-pane -t "$(agent_pane toast)"
ok 'somebody respawns the pane' until_ 10 events_are toast '^ready' 3
is "$(messages toast)" 1 'nothing is delivered a second time'

# Killed again, recovered again: what the first recovery gathered is in the second prompt, the first prompt itself is not.
tell_agent toast 'One more thing: update the manual.'
ok 'it answers' until_ 10 messages_are toast 2
ok 'it is killed again' kill_agent toast
gt toast -L main --json
is "$RC" 0 'and recovered again'
is "$(json '{results}[0]{phase}')" acknowledged 'acknowledged'
is "$(json '{results}[0]{proof}')" transcript 'by its transcript'
is "$(messages toast)" 3 'one more message'
second=$(message_file toast 3)
ok 'with the new words' grep -q 'update the manual' "$second"
ok 'with the old ones' grep -q 'keep the comments' "$second"

ok 'killed right after a recovery' kill_agent toast
gt toast -L main --json
is "$RC" 0 'recovered a third time'
third=$(message_file toast 4)
ok 'the first words are still there' grep -q 'keep the comments' "$third"
ok 'those after the first recovery too' grep -q 'update the manual' "$third"
is "$(grep -c 'Your Previous Conversation' "$third")" 1 'prompts are not nested'
is "$(grep -c 'keep the comments' "$third")" 1 'and nothing is told twice'
is "$(tm list-buffers 2>/dev/null | wc -l)" 0 'no paste buffer is left'

gt --all --dry-run -L main
is "$RC $OUT$ERR" '4 Nothing to recover.' 'a plan where nothing crashed says so'
done_testing
