#!/bin/bash
# By what an agent is started again, and who says so: its own arguments when they were seen; else gt.toml; else its program alone, which a person is
# asked about. What its screen shows is a suggestion. Where two agents cannot be told apart a person chooses, and nobody else.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
often
CONFIG=$XDG_CONFIG_HOME/gt-recover/gt.toml
printf 'log_file = "%s/log"\n' "$W" >>"$CONFIG"
arguments() {	# SESSION
	tr '\0' ' ' <"/proc/$(agent_pid "$1")/cmdline"
}
typed() {	# SESSION [OPTION]...
	start_agent "$@" --shell --scenario "$DATA/work.scenario" && until_ 10 pane_shows "$1" 'test 7 ok'
}
forget_dead() {
	local file
	for file in "$HOME"/.claude/sessions/*.json; do
		[ -e "/proc/$(basename "$file" .json)" ] || rm -f "$file"
	done
}

# ---- seen alive ----
ok 'an agent is typed' typed seen --command 'claude --dangerously-skip-permissions --model opus'
gt list -L main
kill_agent seen
until_ 5 listed_is seen class zombie
gt -n seen -L main
like "$OUT" 'started by: claude --dangerously-skip-permissions --model opus' 'the plan shows its command'
like "$OUT" 'its arguments when last seen alive' 'and why that one'
gt -n seen -L main --json
is "$(json '{sessions}[0]{start_command_by}')" seen 'also for programs'

# ---- never seen, and a line on its screen ----
ok 'another one, that prints a line' typed printed --command "printf '%s\\n' '\$ claude --dangerously-skip-permissions --add-dir /x'; claude --dangerously-skip-permissions"
ok 'which stands on its screen' pane_shows printed '^\$ claude .*--add-dir /x'
kill_agent printed
gt -n printed -L main
like "$OUT" 'started by: claude
 +\(its program only: its command was never seen\)' 'what nobody has seen is its program alone'
gt printed -L main
is "$RC" 0 'unattended it comes back'
like "$OUT$ERR" 'its start command was never seen; started as claude' 'which is said'
unlike "$(arguments printed)" 'add-dir' 'what its screen shows does not choose what is started'
unlike "$(cat "$W/log")" 'claude --|started by' 'and no command is logged'

# ---- a person is asked ----
ok 'a third one' typed asked --command "printf '%s\\n' '\$ claude --dangerously-skip-permissions --add-dir /y'; claude --dangerously-skip-permissions"
kill_agent asked
term_start 120 40
term_run -L main asked
ok 'on a terminal it is asked' until_ 10 term_shows 'Start it with which command\?'
ok 'and told what its screen shows, with a warning' term_shows 'which any program may have printed:'
ok 'the line itself' term_shows "  claude --dangerously-skip-permissions --add-dir /y"
term_keys -l 'claude --dangerously-skip-permissions'
term_keys Enter
ok 'it may be remembered' until_ 10 term_shows 'Save it in gt.toml'
term_keys y Enter
term_ended
is "$STATUS $(arguments asked | sed 's/--resume [^ ]* //')" 'exit 0 claude --dangerously-skip-permissions ' 'the answer is what is started'
like "$(cat "$CONFIG")" 'log_file.*\[recovery\.agents\.claude\].command = "claude --dangerously-skip-permissions"' 'and kept in gt.toml'
ok 'a fourth one' typed kept
kill_agent kept
until_ 5 listed_is kept class zombie
gt -n kept -L main
like "$OUT" 'started by: claude --dangerously-skip-permissions.*\(command in gt.toml\)' 'it counts from then on'
sed -i '/recovery.agents/,$d' "$CONFIG"

# ---- several at once: a person is asked no more than needed ----
for n in one two; do
	ok "one of two: $n" typed $n --command "clear; claude --dangerously-skip-permissions"
	kill_agent $n
	until_ 5 listed_is $n class zombie
done
term_run -L main one two
ok 'the first one is asked about' until_ 20 term_shows '^one: the start command of its Claude is unknown'
ok '  and Enter means its program' until_ 20 term_shows 'Enter: claude; '
term_keys -l 'claude --dangerously-skip-permissions'
term_keys Enter
ok '  and whether to remember it' until_ 20 term_shows 'Save it'
term_keys n Enter
ok 'for the second one Enter means the same' until_ 20 term_shows 'Enter: claude --dangerously-skip-permissions; '
term_keys Enter
term_ended
is "$(term_screen | grep -c 'Save it')" 1 '  and nobody asks once more whether to remember it'
for n in one two; do
	is "$STATUS $(arguments $n | sed 's/--resume [^ ]* //')" 'exit 0 claude --dangerously-skip-permissions ' "$n comes back by it"
done
for n in three four; do
	ok "one of two: $n" typed $n --command "clear; claude --dangerously-skip-permissions"
	kill_agent $n
	until_ 5 listed_is $n class zombie
done
term_run -L main three four
until_ 20 term_shows 'Enter: claude; '
term_keys -l 'claude --dangerously-skip-permissions'
term_keys Enter
until_ 20 term_shows 'Save it'
term_keys y Enter
term_ended
is "$STATUS $(term_screen | grep -c 'Start it with which')" 'exit 0 1' 'what is remembered is not asked again'
is "$(arguments four | sed 's/--resume [^ ]* //')" 'claude --dangerously-skip-permissions ' '  and used'
sed -i '/recovery.agents/,$d' "$CONFIG"
ok 'one whose screen shows its program alone' typed alone --command claude
kill_agent alone
until_ 5 listed_is alone class zombie
term_run -L main alone
ok 'is asked about' until_ 20 term_shows 'Enter: claude; or type one'
term_keys Enter
until_ 20 term_shows 'Save it'
unlike "$(term_screen)" 'Its screen shows' '  without a suggestion that is the same'
term_keys n Enter
term_ended

# ---- it has updated itself: the path it was started by is gone ----
mkdir -p "$W/old" "$W/new"
cp -- "$W/bin/claude" "$W/old/claude"
ok 'an agent is started by its path' typed moved --command "$W/old/claude --dangerously-skip-permissions"
for n in first last; do
	ok "one by a name in its shell alone: $n" typed $n --command "cp '$W/bin/claude' '$W/new/claude.$n'; mkdir '$W/new/$n'; mv '$W/new/claude.$n' '$W/new/$n/claude'; PATH=$W/new/$n:\$PATH claude --dangerously-skip-permissions"
done
gt list -L main
mv "$W/old" "$W/moved" && mkdir "$W/old" && ln -s "$W/bin/claude" "$W/old/claude"
kill_agent first
until_ 5 listed_is first class zombie
gt first -L main
is "$RC $(readlink "/proc/$(agent_pid first)/exe")" "0 $W/bin/claude" 'PATH goes first where it leads there'
kill_agent last
until_ 5 listed_is last class zombie
mv "$W/bin/claude" "$W/bin/claude.away"
gt last -L main
is "$RC" 0 'its name leads nowhere: it comes back as what it ran as'
is "$(readlink "/proc/$(agent_pid last)/exe")" "$W/new/last/claude" 'by the recorded path'
mv "$W/bin/claude.away" "$W/bin/claude"
kill_agent moved
until_ 5 listed_is moved class zombie
gt moved -L main
is "$RC $(readlink "/proc/$(agent_pid moved)/exe")" "0 $W/bin/claude" 'a new version behind the same path is taken'
mkdir -p "$W/versions/1" "$W/versions/2"
cp -- "$W/bin/claude" "$W/versions/1/claude"
cp -- "$W/bin/claude" "$W/versions/2/claude"
mv "$W/bin/claude" "$W/bin/claude.away"
ln -s "$W/versions/1/claude" "$W/bin/claude"
ok 'an agent of a version' typed updated
gt list -L main
ln -sfn "$W/versions/2/claude" "$W/bin/claude" && rm -r "$W/versions/1"
kill_agent updated
until_ 5 listed_is updated class zombie
gt updated -L main
is "$RC $(readlink "/proc/$(agent_pid updated)/exe")" "0 $W/versions/2/claude" 'that is deleted by an update: the new one is started by its name'
mv "$W/bin/claude.away" "$W/bin/claude"

# ---- two that cannot be told apart ----
mkdir -p "$W/one"
for n in left right; do
	ok "one of two in a directory: $n" typed $n --cwd "$W/one"
	talk=$(sed 's/.*"sessionId":"\([^"]*\)".*/\1/' "$HOME/.claude/sessions/$(agent_pid $n).json")
	printf '%s' "$talk" >"$W/$n.talk"
done
kill_agent left
kill_agent right
forget_dead
gt left -L main --json
is "$RC $(json '{results}[0]{error}{name}') $(json '{results}[0]{error}{candidates}')" '6 ambiguous 2' 'it is refused with what it could be'
like "$(json '{results}[0]{error}{candidates}[0]{first_message}')" '.' 'and what was said there'
gt left -L main
like "$ERR" "$(cat "$W/left.talk").*ago.*\"" 'also for people'
like "$ERR" '--conversation ID' 'with what to do'
is "$(agent_pid left)" '' 'nothing was started'
gt left -L main --conversation 00000000-0000-4000-8000-000000000000
is "$RC" 2 'a conversation that is not there'
gt left -L main --conversation "$(cat "$W/left.talk")" --json
is "$RC $(json '{results}[0]{via}')" '0 resume' 'the one that was named is gone on with'
like "$(arguments left)" "--resume $(cat "$W/left.talk")" 'that one'
gt right -L main
is "$RC" 0 'of the other pane nothing is left to ask'
like "$(arguments right)" "--resume $(cat "$W/right.talk")" 'and it is the other conversation'

# ---- three of which nothing but equal words is left: a person tells them apart, and one answer leaves less to ask ----
mkdir -p "$W/three"
for n in north east west; do
	ok "one of three in a directory: $n" typed $n --cwd "$W/three"
	sed 's/.*"sessionId":"\([^"]*\)".*/\1/' "$HOME/.claude/sessions/$(agent_pid $n).json" | tr -d '\n' >"$W/$n.talk"
done
for n in north east west; do
	kill_agent $n
done
forget_dead
gt --all --yes -L main
is "$(agent_pid north)$(agent_pid east)$(agent_pid west)" '' '--all starts none of the three'
listed_as() {	# SESSION: the number of its conversation on the terminal
	term_screen | sed -n "s/^ *\([0-9]\)[^0-9a-f].*$(cat "$W/$1.talk").*/\1/p"
}
left=3
for n in east north; do
	term_run -L main $n
	ok "$n: its command is asked" until_ 20 term_shows 'Start it with which command'
	term_keys -l 'claude --dangerously-skip-permissions'
	term_keys Enter
	until_ 20 term_shows 'Save it in gt.toml' && term_keys n Enter
	ok "$n: and which of $left is its conversation" until_ 20 term_shows "Which conversation is its own\\? \\[1-$left, screen"
	like "$(listed_as $n)" "^[1-$left]\$" "$n: which is one of those shown"
	term_keys "$(listed_as $n)" Enter
	term_ended
	is "$STATUS" 'exit 0' "$n: it comes back"
	like "$(arguments $n)" "--resume $(cat "$W/$n.talk") " "$n: with the chosen one"
	left=$((left - 1))
done
gt west -L main
is "$RC" 0 'of the last of the three nothing is left to ask'
like "$(arguments west)" "--resume $(cat "$W/west.talk") " 'and it has its own conversation'

# ---- a shell in which nothing is left of an agent ----
mkdir -p "$W/two"
start_agent other --no-wait --shell --cwd "$W/two" --command ':'
ok 'an agent that nobody has seen' typed bare --cwd "$W/two"
talk=$(sed 's/.*"sessionId":"\([^"]*\)".*/\1/' "$HOME/.claude/sessions/$(agent_pid bare).json")
kill_agent bare
forget_dead
tm send-keys -t "$(agent_pane bare)" -l clear \; send-keys -t "$(agent_pane bare)" Enter
until_ 5 pane_is bare '#{cursor_y}' 0
tm clear-history -t "$(agent_pane bare)"
gt list -L main
like "$OUT" $'(^|\n)refused +bare .*\n +bare[^\n]*: its directory is the only evidence' 'its shell is listed, with what is known'
gt --all --yes -L main
is "$(agent_pid bare)" '' '--all leaves it alone'
gt bare -L main --json
is "$RC $(json '{results}[0]{error}{name}') $(json '{results}[0]{error}{candidates}[0]{conversation}')" "6 ambiguous $talk" 'named, it is refused with its candidate'
gt bare -L main --conversation "$talk"
is "$RC" 0 'and comes back when that is chosen'
like "$(arguments bare)" "--resume $talk" 'with its conversation'
tell_agent bare /exit
ok 'a person ends it' until_ 5 pane_shows bare 'Resume this session with'
tm send-keys -t "$(agent_pane bare)" -l clear \; send-keys -t "$(agent_pane bare)" Enter
until_ 5 pane_is bare '#{cursor_y}' 0
tm clear-history -t "$(agent_pane bare)"
gt list -L main
unlike "$OUT" ' (bare|other)[ ,:]' 'then nothing is listed there any more'
done_testing
