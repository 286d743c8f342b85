#!/bin/bash
# The fake agent itself: what every other end-to-end test relies on.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# A paste as a careful program does it: from a buffer, bracketed.
paste() {	# SESSION FILE
	tm load-buffer -b p "$2" \; paste-buffer -d -p -b p -t "$(agent_pane "$1")"
}

longer_than() {	# LINES FILE
	[ "$(wc -l <"$2")" -gt "$1" ]
}

status_is() {	# SESSION STATUS
	grep -qs "\"status\":\"$2\"" "$HOME/.claude/sessions/$(agent_pid "$1").json"
}

# typed
start_agent typed
like "$(pane_text typed)" 'Claude Code v2\.1\.197' 'the banner is shown'
like "$(pane_text typed)" $'─\n❯\u00a0\n─' 'the box is empty and stands between two rules'
ok 'its session file says idle' until_ 3 status_is typed idle
tell_agent typed 'Hello agent'
ok 'a typed message is taken' until_ 3 _event typed '^answered'
is "$(cat "$(message_file typed 1)")" 'Hello agent' 'and logged'
like "$(pane_text typed)" $'❯ Hello agent\n\n● I have read' 'and answered on the screen'
is "$(grep -c '"type":"user"' "$(transcript typed)")" 1 'the transcript has the user line'
is "$(grep -c '"type":"assistant"' "$(transcript typed)")" 1 'and the answer'
is "$(tm display-message -p -t "$(agent_pane typed)" '#{cursor_x} #{cursor_flag} #{alternate_on}')" '2 0 0' 'the caret stands in the box'

# pasted: more than one read's worth, with what a box changes (a tab) left out
perl -e 'print "Line $_ of a pasted text, \x{c3}\x{a4}\x{e6}\x{97}\x{a5}.\n" for 1 .. 3000; print "end"' >"$W/long"
paste typed "$W/long"
ok 'a long paste shows a placeholder' until_ 3 pane_shows typed 'Pasted text #1 \+3000 lines'
is "$(messages typed)" 1 'and is not sent by itself'
tm send-keys -t "$(agent_pane typed)" Enter
ok 'Enter sends it' until_ 3 test -s "$(message_file typed 2)"
same_file "$W/long" "$(message_file typed 2)" 'byte for byte'
ok 'it is answered' until_ 3 events_are typed ^answered 2
like "$(pane_text typed)" 'lines hidden' 'a long message is elided in the history'

# graceful ends
pid=$(agent_pid typed)
tell_agent typed /exit
ok '/exit ends it' until_ 3 pane_is typed '#{pane_dead}' 1
like "$(pane_text typed)" 'claude --resume [0-9a-f-]{36}' 'with a farewell'
not_ok 'its session file is gone' test -e "$HOME/.claude/sessions/$pid.json"
start_agent term
kill -TERM "$(agent_pid term)"
ok 'SIGTERM ends it' until_ 3 _event term '^exit 143'

# kill -9
start_agent work --scenario "$DATA/work.scenario"
pid=$(agent_pid work)
like "$(pane_text work)" '● Bash\(make -s test\)' 'a scenario is acted out'
like "$(pane_text work)" $'⎿ \u00a0test 4 ok\n     test 5 ok' 'a running command shows its last rows'
ok 'it is busy then' status_is work busy
is "$(grep -c tool_result "$(transcript work)")" 2 'the transcript has the results'
is "$(grep -c tool_use "$(transcript work)")" 5 'and the call without one'
perl -MJSON::PP -ne 'JSON::PP->new->utf8->decode($_)' "$(transcript work)"
is $? 0 'every line of the transcript is JSON'
kill_agent work
ok 'kill -9 leaves a dead pane' pane_is work '#{pane_dead}' 1
ok 'and its session file' test -e "$HOME/.claude/sessions/$pid.json"

# standard input
printf 'From a file\n\twith a tab, no newline at the end' >"$W/prompt"
wake	# tmux 3.3a may not have reaped the dead agent yet, and a process that is not reaped looks alive
tm respawn-pane -t "$(agent_pane work)" "claude BEACON <$W/prompt"
ok 'a prompt on standard input is taken' until_ 5 test -s "$(message_file work 1)"
{ printf 'BEACON\n' && cat "$W/prompt"; } >"$W/joined"
same_file "$W/joined" "$(message_file work 1)" 'joined to the positional one, byte for byte'
not_ok 'the dead one'\''s session file was removed by the new start' test -e "$HOME/.claude/sessions/$pid.json"
ok 'it answers' until_ 3 _event work '^answered'
tell_agent work 'And by hand'
ok 'and hears the keyboard, too' until_ 3 test -s "$(message_file work 2)"
session=$(basename "$(transcript work)" .jsonl)
kill_agent work
lines=$(wc -l <"$(transcript work)")
tm respawn-pane -t "$(agent_pane work)" "claude --resume $session <$W/prompt"
ok '--resume starts' until_ 5 test -s "$(message_file work 3)"
ok 'and goes on in the same transcript' until_ 5 longer_than "$lines" "$(transcript work)"
is "$(basename "$(transcript work)" .jsonl)" "$session" 'of the same name'

# misbehaviour, by the plan
agent_plan bad '--die-at-once=3'
agent_plan bad '--never-ready'
agent_plan bad '--eat-stdin --ignore-paste-first-enter'
start_agent bad --scenario "$DATA/midtext.scenario"
like "$(pane_text bad)" 'the second one' 'a half answer is on the screen'
not_ok 'and not in the transcript' grep -q 'second one' "$(transcript bad)"
kill_agent bad
tm respawn-pane -t "$(agent_pane bad)" "claude <$W/prompt"
ok '--die-at-once' until_ 3 pane_is bad '#{pane_dead}' 1
is "$(agent_starts bad)" 2 'it was started'
tm respawn-pane -k -t "$(agent_pane bad)" "claude <$W/prompt"
ok '--never-ready starts' until_ 3 events_are bad ^start 3
is "$(messages bad)" 0 'and takes nothing'
tm respawn-pane -k -t "$(agent_pane bad)" "claude <$W/prompt"
ok '--eat-stdin reads it' until_ 5 _event bad '^stdin [1-9]'
ok 'and is idle' until_ 3 status_is bad idle
is "$(messages bad)" 0 'and has forgotten it'
paste bad "$W/prompt"
ok 'it takes a paste' until_ 3 _event bad '^paste'
tm send-keys -t "$(agent_pane bad)" Enter
ok '--ignore-paste-first-enter' until_ 3 _event bad '^enter swallowed'
tm send-keys -t "$(agent_pane bad)" Enter
ok 'the second Enter counts' until_ 3 messages_are bad 1

# dialogs
start_agent asks --scenario "$DATA/permission.scenario"
like "$(pane_text asks)" 'Do you want to proceed' 'a permission dialog is open'
ok 'it waits' status_is asks waiting
paste asks "$W/prompt"
ok 'a paste is dropped' until_ 3 _event asks 'paste .* dropped'
tm send-keys -t "$(agent_pane asks)" Enter
ok 'and Enter accepts' until_ 3 _event asks '^DIALOG ACCEPTED'
start_agent trust --no-wait --dialog=trust
ok 'the trust dialog comes first' until_ 3 pane_shows trust 'Yes, I trust this folder'
not_ok 'without a session file' test -e "$HOME/.claude/sessions/$(agent_pid trust).json"

# under a shell that stays
start_agent zombie --shell --scenario "$DATA/idle.scenario"
kill_agent zombie
is "$(tm display-message -p -t "$(agent_pane zombie)" '#{pane_dead} #{pane_start_command}')" '0 ' 'a shell stays, no start command'
ok 'the shell has written over the box' until_ 3 pane_shows zombie 'Killed'
start_agent wrapped --wrapper --alt-screen
is "$(tm display-message -p -t "$(agent_pane wrapped)" '#{alternate_on}')" 1 '--alt-screen'
kill_agent wrapped
is "$(tm display-message -p -t "$(agent_pane wrapped)" '#{pane_dead}')" 0 'the shell of a wrapper stays'

# a command that outlives the agent
printf 'user Run it.\ntool Bash exec sleep 300\nrun\nhang\n' >"$W/orphan.scenario"
start_agent orphan --scenario "$W/orphan.scenario"
kill_agent orphan
pid=$(sed -n 's/^tool process //p' "$(agent_dir orphan)/events")
not_ok 'its command still runs' _gone "$pid"

# never an answer, no transcript
start_agent mute --no-answer --no-transcript
tell_agent mute 'Say something'
ok '--no-answer takes the message' until_ 3 status_is mute busy
is "$(transcript mute)" '' '--no-transcript'
tell_agent mute 'Anything'
ok 'later messages are queued' until_ 3 _event mute '^message queued'

done_testing
