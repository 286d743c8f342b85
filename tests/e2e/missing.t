#!/bin/bash
# Sessions that are gone with their server or their agent, sessions that came back empty, and agents that were started afresh: found by what
# the snapshots remember, brought back as they were, once.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"

# A session whose environment is in its start command: nothing of a tmux session outlives its server.
start_kept() {	# SESSION [start_agent's options]...
	local dir
	dir=$(agent_dir "$1")
	start_agent "$@" --command "env FAKE_AGENT_LOG='$dir' FAKE_AGENT_PLAN='$dir/plan' claude --dangerously-skip-permissions"
}
kill_server() {
	local pid
	pid=$(tm display-message -p '#{pid}')
	kill -9 "$pid"
	until_ 10 _gone "$pid"
}
find_pane() {	# SESSION: notes the pane that this session has now
	tm list-panes -a -F '#{session_name} #{pane_id}' | awk -v s="$1" '$1 == s { print $2 }' | tail -n 1 >"$(agent_dir "$1")/pane"
}
end_all() {	# the agents that outlived their server
	local s
	for s; do
		[ ! -e "$(agent_dir "$s")/events" ] || until_ 10 no_agent "$s"
	done
}
no_agent() {	# SESSION
	! grep -aqs "FAKE_AGENT_LOG=$(agent_dir "$1")" /proc/[0-9]*/environ
}
recovered() {	# SESSION: $OUT says so
	is "$RC" 0 "  $1 is brought back"
	is "$(json '{results}[0]{phase}')" acknowledged '  acknowledged'
}

often

# ---- the server is killed ----
ok 'an agent works' start_kept toast --scenario "$DATA/work.scenario"
ok 'another one' start_kept rye --scenario "$DATA/idle.scenario"
until_ 10 pane_shows toast 'test 7 ok'
gt snapshot -L main
is "$RC" 0 'a pass of snapshots'
cwd=$(readlink "/proc/$(agent_pid toast)/cwd")
kill_server
end_all toast rye
gt list --json -L main
is "$RC" 0 'list knows sessions whose server is gone'
is "$(listed toast class)" missing '  as missing'
is "$(listed toast crash_reason)" server_exit '  the server ended'
is "$(listed rye class)" missing '  both'
is "$(listed toast recoverable)" 1 '  and they can be brought back'
gt toast --json -L main --via inject
recovered toast
find_pane toast
is "$(tm display-message -p -t "$(agent_pane toast)" '#{session_name}')" toast '  with its name'
if is_tmux_32; then
	skip 'tmux 3.2 gives a session without a client 80 columns' 1
else
	is "$(tm display-message -p -t "$(agent_pane toast)" '#{pane_width}x#{window_height}')" 100x30 '  and its size'
fi
is "$(readlink "/proc/$(agent_pid toast)/cwd")" "$cwd" '  in its directory'
is "$(agent_starts toast)" 2 '  started once'
ok '  told once' messages_are toast 1
house() {	# PID: what a process hands on to its children
	grep '^Umask:' "/proc/$1/status"
	grep '^Max core file size' "/proc/$1/limits"
}
is "$(house "$(agent_pid toast)")" "$(house $$)" '  with the rights of its files and the limit of core files that its person has'
ok '  what its screen had shown' grep -q 'test 7 ok' "$(message_file toast)"
ok '  and by what it ended' grep -q 'its tmux server ended' "$(message_file toast)"
is "$(tm show-options -p -v -t "$(agent_pane toast)" remain-on-exit)" '' '  remain-on-exit is as it was'
is "$(listed toast class)" live '  it is live now'
is "$(listed rye class)" missing '  the other one still waits'
gt rye --json -L main --via inject
recovered rye
find_pane rye
is "$(agent_starts rye)" 2 '  started once'

# ---- again: it died before any other pass ----
kill_server
end_all toast rye
is "$(listed toast class)" missing 'a server that dies again'
gt --all --yes -L main --via inject
is "$RC" 0 '  --all brings both back'
like "$ERR" 'found=2 recovered=2 unacknowledged=0 refused=0 failed=0' '  and sums it up'
find_pane toast
find_pane rye
is "$(messages toast)" 2 '  told once more'
ok '  the first conversation is still part of it' grep -q 'test 7 ok' "$(message_file toast)"

# ---- the session goes with its agent ----
tm set-option -g remain-on-exit off \; set-option -p -u -t "$(agent_pane rye)" remain-on-exit
pid=$(agent_pid rye)
kill -9 "$pid"
until_ 10 _gone "$pid"
ok 'a killed agent whose session went with it' until_ 10 listed_is rye class missing
is "$(listed rye crash_reason)" process_died '  it left its record'
gt rye --json -L main --via inject
recovered rye
find_pane rye
tm set-option -p -u -t "$(agent_pane rye)" remain-on-exit
pid=$(agent_pid rye)
kill "$pid"
until_ 10 _gone "$pid"
ok 'one that was ended on purpose' until_ 10 listed_is rye crash_reason stopped
is "$(listed rye refusal)" stopped '  is not brought back by itself'
gt --all --yes -L main
is "$RC" 4 '  nor by --all'

# ---- a session that came back empty ----
ok 'an agent in a directory of its own' start_kept oat --scenario "$DATA/work.scenario"
until_ 10 pane_shows oat 'test 7 ok'
gt snapshot -L main
cwd=$(readlink "/proc/$(agent_pid oat)/cwd")
kill_server
end_all toast rye oat
restore() {	# SESSION DIRECTORY [COMMAND]: as tmux-resurrect does
	tm start-server \; set-option -g default-shell /bin/bash \; set-option -s exit-empty off 2>/dev/null
	tm new-session -d -x 100 -y 30 -s "$1" -c "$2" ${3+"$3"}
	find_pane "$1"
}
restore oat "$W/proj"
ok 'a shell in another directory' until_ 10 pane_shows oat 'bash|\$'
is "$(listed oat class)" missing '  is another one: the agent is missed'
tm kill-session -t "=oat"
restore oat "$cwd"
ok 'a session of that name in that directory' until_ 10 listed_is oat class restored
is "$(listed oat refusal)" unsure '  is not enough to act on'
tm kill-session -t "=oat"
mkdir -p "$HOME/.tmux/resurrect/pane_contents"
echo '● Working on it.' >"$HOME/.tmux/resurrect/pane_contents/oat"
restore oat "$cwd" "cat '$HOME/.tmux/resurrect/pane_contents/oat'; exec bash"
ok 'one that tmux-resurrect made' until_ 10 listed_is oat class restored
is "$(listed oat recoverable)" 1 '  is'
gt oat --json -L main --via inject
recovered oat
is "$(messages oat)" 1 '  told once'
ok '  what its screen had shown before' grep -q 'test 7 ok' "$(message_file oat)"
is "$(listed oat class)" live '  it is live now'

# ---- somebody else starts the agents afresh ----
gt snapshot -L main
kill_server
end_all oat
starts=$(agent_starts oat)
ok 'a script makes the session again, with a fresh agent' start_kept oat --cwd "$cwd" --scenario "$DATA/idle.scenario"
is "$(listed oat class)" respawned '  respawned'
is "$(listed oat crash_reason)" server_exit '  after its server ended'
ok '  somebody attaches to it' visit oat
is "$(listed oat recoverable)" 1 '  a client alone refuses nothing'
ok '  and types' types oat m y
is "$(listed oat refusal)" typing '  who types to a living agent does'
ok '  what was typed stands in its box' until_ 5 pane_shows oat '^❯.my'
if grep -q GT_QUIET_MS "$GT_RECOVER"; then
	GT_QUIET_MS=1 gt --all --dry-run -L main
	like "$OUT" 'would not +oat .*its input box holds an unsent draft \(typing\)' '  after the quiet minute the draft refuses, not waited for'
	leave oat
	is "$(listed oat refusal)" typing '  with nobody attached, too'
	gt oat --dry-run -L main
	like "$RC $OUT" '^0 would recover oat' '  naming lifts it'
	visit oat
	types oat C-u
	ok '  the draft is taken back' until_ 5 pane_shows oat '^❯.?$'
	GT_QUIET_MS=1 gt --all --dry-run -L main
	like "$RC $OUT" '^0 would recover oat' '  which lifts it as well'
else
	skip 'this build has no shorter minute' 5
	types oat C-u
fi
is "$(listed oat refusal)" typing '  its person still types'
pid=$(agent_pid oat)
gt oat --json -L main
recovered oat
leave oat
is "$(json '{results}[0]{delivery}')" paste '  by a paste'
is "$(agent_pid oat)" "$pid" '  the agent is the same'
is "$(agent_starts oat)" $((starts + 1)) '  nothing was started'
ok '  it knows the conversation' grep -q 'test 7 ok' "$(message_file oat)"
is "$(listed oat class)" live '  it is live now'
told=$(messages oat)
gt --all --yes -L main --via inject
is "$(messages oat)" "$told" '  and is not told again'

done_testing
