#!/bin/bash
# A dead pane whose program had asked for focus reports ends tmux 3.3, 3.3a and 3.4, with every session, when a client begins or ceases to
# look at it. The control shows that; then real clients attach to, switch to and detach from panes that were kept and reset.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"
STATE=$XDG_STATE_HOME/gt-recover
often

case $(tmux -V) in
'tmux 3.3' | 'tmux 3.3a' | 'tmux 3.4') ;;
*) skip_all "$(tmux -V) does not end so" ;;
esac

pid_of() {
	tm display-message -p '#{pid}' 2>/dev/null
}

attach() {	# SESSION: a client in the terminal looks at it
	term respawn-pane -k -t term: env -u TMUX tmux -u -L main -f /dev/null attach -t "=$1" \; clear-history -t term: && until_ 5 looks_at "$1"
}

looks_at() {	# SESSION
	[ "$(tm list-clients -F '#{client_session}' 2>/dev/null)" = "$1" ]
}

snapshots() {	# their files; the server's workspace may change
	(cd "$STATE/snapshots" && ls -I 'workspace-*')
}

nobody_looks() {
	[ -z "$(tm list-clients 2>/dev/null)" ]
}

detach() {
	tm detach-client -s "=$1" 2>/dev/null
	until_ 5 nobody_looks
}

is_reset() {	# SESSION
	pane_is "$1" '#{@gt-recover-reset}' "$(tm display-message -p -t "$(agent_pane "$1")" '#{pane_pid}')"
}

dead() {	# SESSION OPTION...: an agent that asks for focus reports dies in the middle of its work
	start_agent "$@" --focus --scenario "$DATA/work.scenario" && until_ 10 pane_shows "$1" 'test 7 ok' && kill_agent "$1" && wake &&
		until_ 5 pane_shows "$1" 'Pane is dead'
}

# What the tests compare: the conversation and the screen, without what is told of the copy itself.
told() {	# SESSION FILE
	gt context "$1" -L main --json
	printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne '
		my $v = JSON::PP->new->utf8->decode($_);
		delete @$v{qw(snapshot)};
		@{$v->{warnings}} = grep { !/kept the last screen/ } @{$v->{warnings}};
		print JSON::PP->new->canonical->utf8->pretty->encode($v)' >"$2"
	gt prompt "$1" -L main --via inject
	printf '%s\n' "$OUT" | sed -E 's/gtr-[0-9a-f]{16}|[0-9a-f]{16}/ID/g; /kept the last screen/d' >"$2.prompt"
}

# The same as if the pane could still be read: one that says it was reset, and of which no copy is there, is read as it is.
told_before() {	# SESSION FILE
	local pane
	pane=$(agent_pane "$1")
	tm set-option -p -t "$pane" @gt-recover-reset "$(tm display-message -p -t "$pane" '#{pane_pid}')"
	told "$@"
	tm set-option -p -u -t "$pane" @gt-recover-reset
}

looks() {	# SESSION: begins to look in every way, and ceases to
	local server
	server=$(pid_of)
	ok '  a client attaches' attach "$1"
	ok '  and detaches' detach "$1"
	ok '  a client elsewhere' attach other
	tm switch-client -t "=$1"
	ok '  switches to it' until_ 5 looks_at "$1"
	tm switch-client -t =other
	ok '  and away' until_ 5 looks_at other
	ok '  and detaches' detach other
	is "$(pid_of)" "$server" '  the server lives'
}

ok 'a terminal' term_start 100 31

# ---- the control ----
ok 'a session that nothing ails' tm new-session -d -s other -x 100 -y 30 'sleep 1000'
ok 'a dead pane as it is' dead bare
server=$(pid_of)
attach bare
ok 'ends the server when a client attaches to it' until_ 5 _gone "$server"

# ---- main screen ----
for screen in main alternate; do
	tm new-session -d -s other -x 100 -y 30 'sleep 1000' 2>/dev/null
	flags=()
	[ $screen = main ] || flags=(--alt-screen)
	ok "a dead pane on the $screen screen" dead "$screen" ${flags[@]+"${flags[@]}"}
	told_before $screen "$W/before"
	like "$(cat "$W/before")" 'test 7 ok' '  its conversation is read'
	mv "$HOME/.claude/projects" "$W/away"
	told_before $screen "$W/screen-before"
	mv "$W/away" "$HOME/.claude/projects"
	gt snapshot -L main --dry-run
	gt --all -L main --dry-run
	gt doctor -L main --json
	not_ok '  a dry run and doctor reset nothing' is_reset $screen
	like "$(found tmux.program sentence)" 'crashes with all sessions when a client shows a dead pane' '  doctor tells of the fault'
	like "$(found tmux.exposed) $(found tmux.exposed sentence)" "^warning 1 dead agent pane may crash this tmux" '  and of the pane'
	gt list -L main
	is "$RC" 0 '  a list'
	unlike "$ERR" 'was not reset' '  warns of nothing'
	like "$ERR" "$screen: last screen saved; to see it: gt-recover show $screen --context" '  says where the screen went'
	ok '  resets it' is_reset $screen
	like "$(stat -c '%a' "$(tm display-message -p -t "$(agent_pane $screen)" '#{@gt-recover-kept}')")" '^600$' '  and keeps what it showed'
	told $screen "$W/after"
	same_file "$W/before" "$W/after" '  nothing is lost to the context'
	same_file "$W/before.prompt" "$W/after.prompt" '  nor to the prompt'
	mv "$HOME/.claude/projects" "$W/away"
	told $screen "$W/screen-after"
	mv "$W/away" "$HOME/.claude/projects"
	same_file "$W/screen-before" "$W/screen-after" '  nor to what only the screen tells'
	same_file "$W/screen-before.prompt" "$W/screen-after.prompt" '  in the prompt too'
	gt context $screen -L main
	like "$OUT" 'test 7 ok' '  the conversation is told'
	looks $screen
	attach $screen
	if [ $screen = main ]; then
		ok '  it is on the client'\''s own screen' until_ 5 term_shows 'test 7 ok'
		ok '  with all of the last screen' term_shows 'I am at lex.c now'
	else
		ok '  the screen is blank' until_ 5 term_shows '^\[alternat'
		not_ok '  and shows nothing of it' term_shows 'test 7 ok'
	fi

	# once for each death: who reads back is not disturbed
	before=$(snapshots)
	tm copy-mode -t "$(agent_pane $screen)" \; send-keys -X -t "$(agent_pane $screen)" goto-line 3
	where=$(tm display-message -p -t "$(agent_pane $screen)" '#{scroll_position} #{history_size}')
	gt list -L main
	unlike "$ERR" 'last screen' '  and says no more of it'
	gt snapshot -L main
	is "$(tm display-message -p -t "$(agent_pane $screen)" '#{scroll_position} #{history_size}')" "$where" '  a later pass moves nothing'
	is "$(snapshots)" "$before" '  and keeps nothing anew'
	rm "$STATE"/snapshots/state-*
	gt snapshot -L main
	is "$(snapshots)" "$before" '  also when it has forgotten all'
	agent_plan $screen --focus
	gt $screen -L main --via inject --json
	is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' '  it is recovered, copy mode or not'
	ok '  the agent is told of its work' grep -q 'I am at lex.c now' "$(message_file $screen)"
	ok '  and shown' pane_is $screen '#{pane_in_mode} #{pane_dead}' '0 0'
	ok '  who looked on still does' looks_at $screen
	ok '  it dies again, looked at' kill_agent $screen
	wake
	gt list -L main
	ok '  it is reset again' until_ 5 is_reset $screen
	ok '  and left' detach $screen
	tm kill-session -t =$screen
done

# ---- somebody reads back while it is reset ----
ok 'one more' dead silent
gt snapshot -L main --quiet
is "$RC $ERR" '0 ' 'which --quiet does not tell of'
ok 'is reset' is_reset silent
tm kill-session -t =silent
ok 'a dead pane in copy mode' dead reader
tm copy-mode -t "$(agent_pane reader)" \; send-keys -X -t "$(agent_pane reader)" goto-line 5
ok 'is looked at' test "$(tm display-message -p -t "$(agent_pane reader)" '#{scroll_position}')" = 5
gt context reader -L main
like "$RC $OUT" '^0 .*test 7 ok' 'the context is read'
ok 'it is reset' is_reset reader
is "$(tm display-message -p -t "$(agent_pane reader)" '#{scroll_position}')" 35 'the reader sees the same rows'
ok 'which are in the history now' pane_shows reader 'test 7 ok'
tm kill-session -t =reader

# ---- the hook ----
ok 'an agent' start_agent armed --focus --scenario "$DATA/work.scenario"
ok 'at work' until_ 10 pane_shows armed 'test 7 ok'
gt doctor -L main --json
like "$(found tmux.exposed) $(found tmux.exposed sentence)" "^warning 1 agent pane without gt-recover's hook" 'that nobody armed: doctor warns'
gt arm -L main armed
is "$RC" 0 'is armed'
gt doctor -L main --json
is "$(found tmux.exposed)" ok 'doctor is content'
ok 'and dies' kill_agent armed
wake
ok 'its pane is reset at once' until_ 10 is_reset armed
looks armed
tm kill-session -t =armed

# ---- a death that tmux may miss ----
export GT_CHECK_MS=4000
beats() {	# its heartbeat is a living child of the server
	local pid
	pid=$(tm show-options -s -q -v @gt-recover-heartbeat)
	[ -n "$pid" ] && ! _gone "$pid" && [ "$(ps -o ppid= -p "$pid" | tr -d ' ')" = "$(pid_of)" ]
}
ok 'an armed agent' start_agent missed --focus --scenario "$DATA/work.scenario"
gt arm -L main missed
ok 'its server has a heartbeat' until_ 5 beats
first=$(tm show-options -s -v @gt-recover-heartbeat)
gt arm -L main missed
is "$(tm show-options -s -v @gt-recover-heartbeat)" "$first" 'only one'
server=$(pid_of)
for i in 1 2 3 4 5 6; do
	ok "an armed agent ($i)" start_agent missed$i --focus --scenario "$DATA/idle.scenario"
	gt arm -L main missed$i
	ok '  dies' kill_agent missed$i
	ok '  and is reset, though nobody wakes the server' until_ 10 is_reset missed$i
	tm kill-session -t "=missed$i"
done
is "$(pid_of)" "$server" 'the server lives'
kill -9 "$first"
until_ 5 _gone "$first"
gt doctor -L main --json
like "$(found tmux.exposed) $(found tmux.exposed sentence)" '^warning 1 pane may not be reset' 'without the heartbeat doctor warns'
gt arm -L main missed
ok 'arm starts it again' until_ 5 beats
gt doctor -L main --json
is "$(found tmux.exposed)" ok 'and doctor is content'
gt disarm -L main missed
ok 'disarmed' test -z "$(tm show-options -p -q -v -t "$(agent_pane missed)" @gt-recover-armed)"
ok 'the heartbeat ends' until_ 40 _gone "$(tm show-options -s -v @gt-recover-heartbeat)"
tm kill-session -t =missed

# ---- nothing can be written ----
ok 'a dead pane' dead full
rm -rf "$STATE/snapshots"
: >"$STATE/snapshots"
gt list -L main
is "$RC" 0 'what cannot be kept is listed'
like "$ERR" 'was not reset, because its screen could not be saved: .*do not attach' 'with a warning'
like "$ERR" 'the dead pane %[0-9]+ of session full \(tmux socket main\)' 'that names the pane'
like "$ERR" 'move it away: a new one is created; then run: gt-recover snapshot -L main$' 'and says what to do'
not_ok 'and not reset' is_reset full
gt context full -L main
like "$RC $OUT" '^0 .*for i in .* running' 'it can be read as it is'
like "$ERR" 'was not reset' 'with the warning'
gt snapshot -L main
like "$ERR" 'session full .* was not reset' 'a snapshot says so too'
unlike "$ERR" 'tries again' 'and does not send the user back to itself'
like "$ERR" 'move it away.*; then run: gt-recover snapshot -L main' 'before the cause is mended'
rm "$STATE/snapshots"
if grep -q GT_FAULT "$GT_RECOVER"; then
	for point in snapshot:1 snapshot-state:1 pane-reset:1; do
		GT_FAULT=$point=enospc gt list -L main
		like "$ERR" 'was not reset' "a full disk at $point"
		not_ok '  nothing is reset' is_reset full
	done
	{ GT_FAULT=pane-reset=kill gt list -L main; } 2>/dev/null
	is "$RC" 137 'killed right before the reset'
	not_ok '  nothing is reset' is_reset full
else
	skip 'this build has no fault points' 8
fi
gt list -L main
is "$RC" 0 'when there is room again'
ok 'it is' is_reset full
gt context full -L main
like "$OUT" 'test 7 ok' 'and still read'
ok 'somebody removes the copy' rm "$(tm display-message -p -t "$(agent_pane full)" '#{@gt-recover-kept}')"
gt context full -L main
like "$RC $OUT" '^0 .*test 7 ok' 'what is in the history is read'
like "$OUT" 'kept the last screen cannot be read' 'and it says so'
done_testing
