#!/bin/bash
# What is known of an agent is kept from its first sight on: several in one directory come back each in its own conversation, in any order, by their own
# commands, whatever became of their screens and pid files since. An exit is no crash. Nothing is configured here, and nothing but `list` was run before.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
declare -A talk
DB=$XDG_STATE_HOME/gt-recover/recover.db
seen() {	# SESSION JSON-PATH
	sql "$DB" "select json_extract(value, '\$.$2') from record where key like 'seen:%' and json_extract(value, '\$.session') = '$1'"
}
seen_state() {	# SESSION
	sql "$DB" "select tag from record where key like 'seen:%' and json_extract(value, '\$.session') = '$1'"
}
talk_of() {	# SESSION: the conversation of the agent that lives there
	sed 's/.*"sessionId":"\([^"]*\)".*/\1/' "$HOME/.claude/sessions/$(agent_pid "$1").json"
}
source_of() {	# the transcript that the newest recovery of a session was gathered from
	sql "$DB" "select json_extract(value, '\$.source') from record where key like 'attempt:%' and json_extract(value, '\$.session') = '$1' order by json_extract(value, '\$.times.detected') desc limit 1"
}
forget_pid_files() {	# as the next Claude Code that starts does
	local file
	for file in "$HOME"/.claude/sessions/*.json; do
		[ -e "/proc/$(basename "$file" .json)" ] || rm -f "$file"
	done
}
mkdir -p "$W/one"
typed() {	# SESSION [OPTION]...
	start_agent "$@" --shell --cwd "$W/one" --scenario "$DATA/work.scenario" && until_ 10 pane_shows "$1" 'test 7 ok'
}

for n in a b c; do
	ok "an agent is typed into a shell: $n" typed $n
done
gt -n -L main
is "$(compgen -G "$DB")" '' '--dry-run writes nothing'
gt list -L main
for n in a b c; do
	talk[$n]=$(talk_of $n)
	is "$(seen $n conversation) $(seen_state $n)" "${talk[$n]} alive" "list has kept the conversation of $n"
done
is "$(seen a command)" 'claude --dangerously-skip-permissions' 'and its own command'
version=$(sql "$DB" "select sum(version) from record where key like 'seen:%'")
gt list -L main
is "$(sql "$DB" "select sum(version) from record where key like 'seen:%'")" "$version" 'a second look writes nothing'
if grep -q GT_FAULT "$GT_RECOVER"; then
	GT_RENEW_MS=1 gt list -L main
	is "$(sql "$DB" "select sum(version) from record where key like 'seen:%'")" $((version + 3)) 'after five minutes it renews the sign of life'
else
	skip 'this build has no shorter waits' 1
fi

for n in a b c; do
	kill_agent $n
done
until_ 5 listed_is c class zombie
forget_pid_files
tm send-keys -t "$(agent_pane b)" -l 'clear' \; send-keys -t "$(agent_pane b)" Enter
until_ 5 pane_is b '#{cursor_y}' 0
tm clear-history -t "$(agent_pane b)"
gt list -L main
like "$OUT" '(^|
)crashed to shell +b ' 'a cleared pane is still its agent'"'"'s'
died=$(listed b crashed_at)
tm send-keys -t "$(agent_pane b)" -l ':' \; send-keys -t "$(agent_pane b)" Enter
until_ 5 pane_shows b ':'
is "$(listed b crashed_at)" "$died" 'and keys typed there do not move the time of its death'
died=$(listed c crashed_at)
like "$died" '^2.*Z$' 'the time of a death is known'
until_ 5 eval "[ \$EPOCHSECONDS -gt $(($(date -d "$died" +%s) + 1)) ]"
tm send-keys -t "$(agent_pane c)" -l ': later' \; send-keys -t "$(agent_pane c)" Enter
until_ 5 pane_shows c ': later'
is "$(listed c crashed_at)" "$died" 'and stays, whatever is typed into the shell later'
for n in b c a; do
	gt $n -L main
	is "$RC" 0 "$n comes back"
	like "$(source_of $n)" "${talk[$n]}" "in its own conversation"
	like "$ERR" 'after its own conversation' 'which it goes on with'
	forget_pid_files
	[ $n = b ] || continue
	ok 'a fourth one is started meanwhile' typed d
	forget_pid_files
	gt -n --all -L main
	like "$OUT" 'would recover a .*would recover c ' '--all still takes the other two'
done

# ---- killed again before anybody saw it ----
mkdir -p "$W/two" "$W/three"
ok 'an agent is its pane'"'"'s own process' start_agent again --cwd "$W/two" --scenario "$DATA/work.scenario"
for life in first second; do
	kill_agent again
	gt again -L main --via inject
	is "$RC" 0 "its $life death is answered with a prompt"
done
talk[again]=$(talk_of again)
kill_agent again
forget_pid_files
gt again -L main --via inject
is "$RC" 0 'killed at once, its pid file gone: it comes back again'
like "$(source_of again)" "${talk[again]}" 'with the conversation that the recovery had begun'
ok 'another one' start_agent cut --cwd "$W/three" --scenario "$DATA/work.scenario"
kill_agent cut
gt cut -L main --via inject
is "$RC" 0 'is brought back'
kill_agent cut
if grep -q GT_FAULT "$GT_RECOVER"; then
	GT_FAULT=store-commit:5=stop "$GT_RECOVER" cut -L main --via inject --json >"$W/cut.json" 2>&1 &
	recoverer=$!
	ok 'a recovery stands still' until_ 20 grep -q '^State:.T' "/proc/$recoverer/status"
	ok 'while its agent answers' until_ 10 events_are cut answered 2
	is "$(messages cut) $(sql "$DB" "select tag from record where key like 'attempt:%' and json_extract(value, '$.session') = 'cut' and tag <> 'acknowledged'")" \
		'2 respawned' 'and the store does not know it yet'
	talk[cut]=$(talk_of cut)
	kill_agent cut
	kill -CONT "$recoverer"
	wait "$recoverer"
	forget_pid_files
	gt cut -L main --via inject
	is "$RC" 0 'killed before the answer was noted: it comes back, too'
	like "$(source_of cut)" "${talk[cut]}" 'with the conversation of that answer'
else
	skip 'this build has no fault points' 5
fi

# ---- an exit is no crash ----
tell_agent d /exit
ok 'a person ends an agent' until_ 5 pane_shows d 'Resume this session with'
gt list -L main
is "$(seen_state d)" exited 'which is kept as an exit'
tm send-keys -t "$(agent_pane d)" -l 'clear' \; send-keys -t "$(agent_pane d)" Enter
until_ 5 pane_is d '#{cursor_y}' 0
tm clear-history -t "$(agent_pane d)"
forget_pid_files
gt list -L main
unlike "$OUT" ' d[ ,:]' 'once the screen is cleared nobody hears of it'
gt --all --yes -L main
is "$RC $(agent_starts d)" '4 1' 'and --all leaves it'
ok 'an agent that nobody has looked at' typed quiet
tell_agent quiet /exit
ok 'is ended, too' until_ 5 pane_shows quiet 'Resume this session with'
tm send-keys -t "$(agent_pane quiet)" -l 'clear' \; send-keys -t "$(agent_pane quiet)" Enter
until_ 5 pane_is quiet '#{cursor_y}' 0
tm clear-history -t "$(agent_pane quiet)"
gt --all --yes -L main
is "$RC $(agent_starts quiet)" '4 1' '--all leaves that, too'

# ---- what it was started with ----
ok 'an agent with flags and a key' typed flags --command 'API_KEY=sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-abcdefghijklmnAA claude --dangerously-skip-permissions --model opus'
gt list -L main
like "$(seen flags command)" '^claude --dangerously-skip-permissions --model opus$' 'its arguments are kept, not what its shell had set before'
is "$(grep -c 'sk-ant-api03-0123456789' "$DB")" 0 'and no secret'
kill_agent flags
until_ 5 listed_is flags class zombie
gt flags -L main
is "$RC" 0 'it comes back'
like "$(tr '\0' ' ' <"/proc/$(agent_pid flags)/cmdline")" '^claude --resume [0-9a-f-]+ --dangerously-skip-permissions --model opus ' 'with its flags'

# ---- its shell is in another directory than the agent ----
mkdir -p "$W/one/sub"
ok 'an agent is started in another directory than its shell is in' typed away --command "(cd '$W/one/sub' && claude --dangerously-skip-permissions)"
talk[away]=$(talk_of away)
gt list -L main
is "$(seen away cwd)" "$(cd "$W/one/sub" && pwd -P)" 'its own is kept'
for i in 1 2; do
	kill_agent away
	until_ 5 listed_is away class zombie
	gt away -L main --json
	is "$RC $(json '{results}[0]{via}')" '0 resume' "crash $i: it comes back in its conversation"
	is "$(readlink "/proc/$(agent_pid away)/cwd") $(talk_of away)" "$(cd "$W/one/sub" && pwd -P) ${talk[away]}" '  where it worked'
done

mkdir -p "$W/began" "$W/other"
ok 'an agent goes to another directory itself, and leaves no pid file' typed gone --command "(cd '$W/began' && claude --dangerously-skip-permissions --no-session-file --go-to '$W/other')"
gt list -L main
is "$(readlink "/proc/$(agent_pid gone)/cwd") $(seen gone cwd)" "$(cd "$W/other" && pwd -P) $(cd "$W/began" && pwd -P)" 'where it began is kept, since its conversation is there'
kill_agent gone
until_ 5 listed_is gone class zombie
gt gone -L main --json
is "$RC $(json '{results}[0]{via}')" '0 inject' 'it comes back'
like "$(source_of gone)" '/projects/[^/]*-began/' '  with its conversation'

# ---- a busy shell, and a store that cannot be written ----
kill_agent a
until_ 5 listed_is a class zombie
tm send-keys -t "$(agent_pane a)" -l 'sleep 1000 &' \; send-keys -t "$(agent_pane a)" Enter
until_ 5 pane_shows a '&'
gt list -L main
like "$OUT" '(^|
)crashed to shell +a ' 'a job in the background does not make a shell busy'
tm send-keys -t "$(agent_pane a)" -l 'sleep 1000' \; send-keys -t "$(agent_pane a)" Enter
ok 'a program in the foreground does' until_ 5 pane_is a '#{pane_current_command}' sleep
gt a -L main --json
is "$RC $(json '{results}[0]{error}{name}')" '6 unknown' 'and it is refused'
if grep -q GT_FAULT "$GT_RECOVER"; then
	ok 'an agent is typed' typed unkept
	GT_FAULT=store-commit=enospc gt list --live -L main
	like "$RC $OUT$ERR" '^0 .*(working|idle) +unkept .*cannot record the agents found' 'a full disk is a warning'
	is "$(seen_state unkept)" '' 'nothing was kept'
	gt list -L main
	is "$(seen_state unkept)" alive 'the next look keeps it'
else
	skip 'this build has no fault points' 4
fi

# ---- the tmux server ends, and with it its agents: with the same words as those that a person ended before ----
export GT_SERVER_EXIT_MS=1000
for n in stays ended told late closed; do
	ok "an agent works: $n" typed $n
done
talk[told]=$(talk_of told)
gt snapshot -L main
tell_agent ended /exit
ok 'a person ends one' until_ 5 pane_shows ended 'Resume this session with'
tm kill-session -t '=closed'
gt list -L main
since=${EPOCHREALTIME/[.,]/}
later() {
	[ $((${EPOCHREALTIME/[.,]/} - since)) -gt 2200000 ]
}
until_ 10 later
gt snapshot -L main
tell_agent told /exit
ok 'a person ends another one' until_ 5 pane_shows told 'Resume this session with'
for event in SessionStart SessionEnd; do
	printf '{"session_id":"%s","cwd":"%s","transcript_path":"/t","reason":"prompt_input_exit"}' "${talk[told]}" "$W/one" >"$W/in"
	GT_HOOK_MS=10000 gt_in "$W/in" hook $event
done
ok 'one gets SIGTERM, as in a shutdown' kill_agent late TERM
gt list -L main
is "$(seen_state late)" exited 'and a pass sees that before the server ends'
server=$(tm display-message -p '#{pid}') last=$(agent_pid stays)
kill -9 "$server"
until_ 10 _gone "$server"
ok 'the server ends, and one with it' until_ 10 _gone "$last"
is "$(listed stays class) $(listed stays crash_reason)" 'missing server_exit' 'that is no exit'
is "$(listed late class) $(listed late crash_reason)" 'missing server_exit' 'nor is a signal just before'
is "$(listed ended crash_reason)" stopped 'what a person ended long before stays ended'
is "$(listed closed crash_reason)" stopped 'so does one whose window was closed'
is "$(listed told crash_reason)" stopped 'and what its hooks told of, however short before'
gt -n --all -L main
like "$OUT" 'would recover stays' '--all takes the one'
unlike "$OUT" 'would recover (ended|told|closed)' 'and not the others'

if unshare -Urm true 2>/dev/null; then
	ok 'an agent works' typed readonly
	# by the path of its socket, since in there everybody is root
	# shellcheck disable=SC2016	# for the inner shell
	RC=0
	OUT=$(unshare -Urm sh -c 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"' sh "$XDG_STATE_HOME" "$GT_RECOVER" \
		list --live -L "$TMUX_TMPDIR/tmux-$(id -u)/main" 2>"$W/stderr") || RC=$?
	ERR=$(cat "$W/stderr")
	like "$RC $OUT" '^0 .*(working|idle) +readonly ' 'on a read-only file system the list is complete'
	like "$ERR" 'cannot record the agents found' '  with a warning'
	is "$(seen_state readonly)" '' '  and nothing was kept'
else
	skip 'no file system can be mounted in a name space of its own here' 4
fi
done_testing
