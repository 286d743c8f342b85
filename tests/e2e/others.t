#!/bin/bash
# Agents other than Claude Code, played by other_agent.pl: those that die where no pass sees them, ids that lead nowhere, a server that works on
# when its screen is dead, session files that the next start deletes, and agents whose conversation nobody can read.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
often
CONFIG=$XDG_CONFIG_HOME/gt-recover/gt.toml
SNAPSHOTS=$XDG_STATE_HOME/gt-recover/snapshots
printf 'ready_timeout = "30s"\nack_timeout = "30s"\nspacing = "0s"\n' >>"$CONFIG"
for name in codex copilot gemini amp droid; do
	cp -- "$ROOT/tests/e2e/other_agent.pl" "$W/bin/$name"
done

begin() {	# SESSION NAME [ARGS]: in front of its box
	start_agent "$1" --no-wait --command "env OTHER_LOG=$(agent_dir "$1") $2${3:+ $3}" && until_ 10 _event "$1" '^ready'
}

say() {		# SESSION TEXT: and it has answered, or works
	local n
	n=$(messages "$1")
	tell_agent "$1" "$2"
	until_ 10 messages_are "$1" $((n + 1)) && until_ 10 pane_shows "$1" 'I have done it|orking|in the background'
}

other_pid() {	# SESSION: of the program itself, which is the pane's process or its child
	local pid
	pid=$(tm display-message -p -t "$(agent_pane "$1")" '#{pane_pid}')
	case $(cat "/proc/$pid/comm" 2>/dev/null) in
	codex | copilot | gemini | amp | droid) printf '%s' "$pid" ;;
	*) tr -d ' ' <"/proc/$pid/task/$pid/children" ;;
	esac
}

crash() {	# SESSION [SIGNAL]
	local pid
	pid=$(other_pid "$1")
	kill "-${2:-9}" "$pid" && until_ 10 _gone "$pid"
}

dies() {	# SESSION: and its pane stays
	crash "$1" && until_ 10 pane_is "$1" '#{pane_dead}' 1
}

goes() {	# SESSION [SIGNAL]: its session goes with it
	crash "$@" && until_ 10 has_no_session "$1"
}

has_no_session() {
	! tm has-session -t "=$1" 2>/dev/null
}

find_pane() {	# SESSION: of one that was made again
	tm display-message -p -t "=$1:" '#{pane_id}' >"$(agent_dir "$1")/pane"
}

result() {	# what became of the one that was recovered
	printf '%s' "$RC $(json '{results}[0]{phase}') $(json '{results}[0]{via}') $(json '{results}[0]{delivery}')"
	[ "$RC" = 0 ] || note "$ERR"
}

# ---- a server whose panes go with their agents ----
SOCKET=off REMAIN=off
tm start-server \; set-option -s exit-empty off
ok 'an agent works on a server where no dead pane stays' begin toast copilot
ok 'and has said something' say toast 'please count the sheep'
gt snapshot -L off
ok 'it is killed' goes toast
is "$(listed toast class) $(listed toast crash_reason)" 'missing process_died' 'its session file tells that it was'
cp -a "$SNAPSHOTS" "$W/before"
gt toast -L off --json
is "$(result)" '0 acknowledged resume paste' 'it goes on with its own conversation'
find_pane toast
rm -r "$SNAPSHOTS" && mv "$W/before" "$SNAPSHOTS"
ok 'before any pass sees that, it is killed again' goes toast
is "$(listed toast class) $(listed toast crash_reason)" 'missing process_died' 'it is found, though no pass had seen it'
gt toast -L off --json
is "$(result)" '0 acknowledged resume paste' 'it goes on with the conversation in which it had been told'
is "$(messages toast)" 3 'told once for each death'
ids() { cat "$(agent_dir toast)"/message.* | grep -oE 'recovery id gtr-[0-9a-f]{16}' | sort -u | wc -l; }
is "$(ids)" 2 'by two recoveries'
is "$(grep -c '^start --resume=' "$(agent_dir toast)/events")" 2 'both went on with the session'
find_pane toast
ok 'it is ended on purpose' goes toast TERM
is "$(listed toast crash_reason) $(listed toast refusal)" 'stopped stopped' 'its session file tells that, too'

ok 'another works there' begin busy codex
ok 'on something slow' say busy 'do the slow thing'
gt snapshot -L off
ok 'it is killed' goes busy
is "$(listed busy class) $(listed busy crash_reason)" 'missing process_died' 'a turn that has no end tells that it was killed'
gt busy -L off --json
is "$(result)" '0 acknowledged inject paste' 'it comes back'
tm kill-server
SOCKET=main REMAIN=on

# ---- ids that lead nowhere ----
ok 'an agent works' begin rye copilot
ok 'and has said something' say rye 'please count the rye'
gt snapshot -L main
ok 'it is killed' dies rye
rm -r "$HOME/.copilot/session-state"
gt rye -L main --json
is "$(result)" '0 acknowledged inject paste' 'one whose session is gone is started afresh'
ok 'with what its screen had shown' grep -q 'please count the rye' "$(message_file rye)"
is "$(tail -n 2 "$(agent_dir rye)/events" | head -n 1)" 'start ' 'without an id'

# known by its record alone
record() {	# AGENT SESSION ID
	mkdir -p "$(agent_dir "$2")/cwd"
	printf '{"agent_uuid":"%s","provider_name":"copilot","session":"%s","workspace_path":"%s","start_command":"env OTHER_LOG=%s %s/bin/copilot --yolo","cursor_session_id":"%s"}' \
		"$1" "$2" "$(agent_dir "$2")/cwd" "$(agent_dir "$2")" "$W" "$3" >"$W/in"
	gt_in "$W/in" session record
	gt -L main startup
}
there=$(basename "$(ls -d "$HOME"/.copilot/session-state/*)")
ok 'the agent of a session ends' dies rye
tm kill-session -t '=rye'
record known known "$there"
gt known -L main --json
is "$(result)" '0 acknowledged restart paste' 'one that only its record knows is started'
ok 'with the session that the record names' _event known "^start --resume=$there --yolo"
record stale stale 0a1b2c3d-0000-4000-8000-00000000000f
gt stale -L main --json
is "$(result)" '0 acknowledged restart paste' 'another one, too'
ok 'without one, as that is not there' _event stale '^start --yolo$'
is "$(messages stale)" 1 'and is told once'

# ---- codex' server works on ----
ok 'codex works' begin server codex
ok 'in its server' say server 'do it in the background'
ok 'its screen dies' dies server
is "$(listed server class) $(listed server refusal)" 'unknown unknown' 'who holds the lock of the session and has not ended its turn is not dead'
gt server -L main --json
is "$RC $(json '{results}[0]{error}{name}')" '6 unknown' 'and is not brought back'
is "$(grep -c '^start' "$(agent_dir server)/events")" 1 'nothing was started'
touch "$(agent_dir server)/finish"
ok 'when it has ended its turn' until_ 10 listed_is server class dead
gt server -L main --json
is "$(result)" '0 acknowledged resume paste' 'it is'

# ---- gemini deletes ----
ok 'gemini works' begin twice gemini
ok 'and has said something' say twice 'please count the geese'
ok 'it is killed' dies twice
gt twice -L main --json
is "$(result)" '0 acknowledged resume paste' 'it goes on'
ok 'it has said more' say twice 'and now the ducks'
is "$(find "$HOME/.gemini" -name 'session-*' | wc -l)" 2 'its session stands in two files'
ok 'it is killed again' dies twice
gt twice -L main --via resume --json
is "$(result)" '0 acknowledged inject paste' 'it is started afresh'
is "$(json '{results}[0]{not_resumed}')" split 'since its next start deletes both'
is "$(find "$HOME/.gemini" -name 'session-*' | wc -l)" 1 'which it did'
ok 'what stood in the first is in the prompt' grep -q 'count the geese' "$(message_file twice)"
ok 'and what stood in the second' grep -q 'and now the ducks' "$(message_file twice)"
# ---- whose conversation nobody can read ----
for name in amp droid; do
	ok "$name works" begin "$name" "$name"
	ok 'and has said something' say "$name" 'please count the hens'
	ok 'it is killed' dies "$name"
	is "$(listed "$name" agent) $(listed "$name" class) $(listed "$name" transcript)" "$name dead (none)" 'it is found, and that nothing but its screen is read'
	is "$(listed "$name" refusal)" no-way-in 'while nobody knows its box, it is not brought back'
	gt list -L main
	like "$OUT" "refused +$name +$name .*\(no transcript, screen only\)" 'the list says what is read'
	like "$OUT" 'ready, a pattern of its input box' 'and what is missing'
	gt prompt "$name" -L main
	like "$OUT" 'cannot be read: this is only what its screen showed' 'the prompt says it, too'
	like "$OUT" 'please count the hens' 'and has what its screen had shown'
done
cat "$CONFIG" - >"$W/boxes.toml" <<'TOML'
[recovery.agents.amp]
ready = '^amp> ([^\n]*)'
pasted = '\[paste \d+\]'
[recovery.agents.droid]
ready = '^droid> ([^\n]*)'
busy = 'thinking'
pasted = '\[paste \d+\]'
TOML
gt amp -L main --config "$W/boxes.toml" --json
is "$RC $(json '{results}[0]{phase}') $(json '{results}[0]{delivery}') $(json '{results}[0]{error}{name}')" '5 delivered paste no-proof' \
	'with an expression for its box it is pasted to, and that nothing proves it is said'
like "$(json '{results}[0]{warnings}[0]')" 'The transcript of Amp cannot be read' 'with a warning'
is "$(messages amp)" 2 'once'
like "$(cat "$(message_file amp)")" 'please count the hens' 'what its screen had shown'
gt amp -L main --config "$W/boxes.toml" --json
is "$RC $(messages amp)" '5 2' 'and no second time'
touch "$(agent_dir droid)/works"
gt droid -L main --config "$W/boxes.toml" --json
is "$(result) $(json '{results}[0]{proof}')" '0 acknowledged inject paste screen' 'one that is seen at work behind its prompt is proved by its screen'
is "$(messages droid)" 2 'once'
done_testing
