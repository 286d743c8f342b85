#!/bin/bash
# The workspace of a server comes back: sessions, windows, splits, names, layouts, directories, and each agent's conversation in its old pane.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

often
kill_server() {
	local pid
	pid=$(tm display-message -p '#{pid}')
	kill -9 "$pid"
	until_ 10 _gone "$pid"
}
# What a person sees of all windows and panes; names that tmux takes from what runs there are left out.
shape() {	# SESSION...
	local s
	for s; do
		tm list-windows -t "=$s:" -F '#{session_name} #{window_index} #{?automatic-rename,,#{window_name}} #{window_layout} #{window_active} #{window_zoomed_flag}' |
			sed 's/ [0-9a-f]\{4\},/ /; s/\([0-9]x[0-9]*,[0-9]*,[0-9]*\),[0-9]*/\1/g'
		tm list-panes -s -t "=$s:" -F '#{window_index}.#{pane_index} #{pane_title} #{pane_current_path} #{pane_width}x#{pane_height} #{pane_active}'
	done
}
in_pane() {	# TARGET NAME: an agent of that name runs in the pane, typed into its shell
	local dir
	dir=$(agent_dir "$2")
	mkdir -p "$dir"
	tm send-keys -t "$1" -l 'claude --dangerously-skip-permissions' \; send-keys -t "$1" Enter
	tm display-message -p -t "$1" '#{pane_id}' | tr -d '\n' >"$dir/pane"
	until_ 10 _event "$2" '^ready'
}
agent_pid() {	# NAME
	grep -als "FAKE_AGENT_LOG=$(agent_dir "$1")" /proc/[0-9]*/environ | grep -o '[0-9]*' | while read -r p; do
		[ "$(cat "/proc/$p/comm" 2>/dev/null)" != claude ] || echo "$p"
	done | head -n 1
}
place_of() {	# NAME: the pane of the agent that lives there, "session:window.pane"
	local pid tty
	pid=$(agent_pid "$1")
	[ -n "$pid" ] || return 1
	tty=$(readlink "/proc/$pid/fd/1")
	tm list-panes -a -F '#{pane_tty} #{session_name}:#{window_index}.#{pane_index}' | sed -n "s|^$tty ||p"
}
is_in() {	# NAME PLACE
	[ "$(place_of "$1")" = "$2" ]
}
no_agent() {
	! grep -aqs "FAKE_AGENT_LOG=$(agent_dir "$1")" /proc/[0-9]*/environ
}
snapshot() {
	gt snapshot -L main
	is "$RC" 0 "${1:-a pass of snapshots}"
}

# ---- a desk with odd corners ----
mkdir -p "$W/proj/one" "$W/proj/two words" "$W/proj/thr#ee"
# a shell knows by its directory whose agent it starts
agent_dir toast >"$W/proj/two words/.agent"
agent_dir rye >"$W/proj/thr#ee/.agent"
agent_dir oat >"$W/proj/.agent"
printf '[ ! -e .agent ] || export FAKE_AGENT_LOG=$(cat .agent) FAKE_AGENT_PLAN=$(cat .agent)/plan\n' >>"$HOME/.bash_profile"
cp "$HOME/.bash_profile" "$HOME/.profile"
desk() {
	tm start-server \; set-option -g default-shell /bin/bash \; set-option -s exit-empty off \; set-option -g history-limit 4000 \; \
		new-session -d -s work -x 120 -y 40 -c "$W/proj/one" \; rename-window -t work:0 'edit: #1' \; \
		split-window -h -t work:0 -c "$W/proj/two words" \; split-window -v -t work:0.1 -l 9 -c "$W/proj/thr#ee" \; \
		new-window -d -t work:3 -n logs -c "$W/proj/one" \; split-window -d -t work:3 -c "$W/proj/one" \; resize-pane -Z -t work:3.0 \; \
		new-window -d -t work:7 -c "$W/proj/one" \; select-pane -t work:0.1 -T 'a title' \; select-pane -t work:0.2 \; select-window -t work:3 \; \
		new-session -d -s 'b c' -x 90 -y 20 -c "$W/proj" \; rename-window -t '=b c:0' solo
}
ok 'a desk of two sessions' desk
ok 'an agent is typed into a pane of it' in_pane work:0.1 toast
ok 'another one in another pane of that window, in another directory' in_pane work:0.2 rye
ok 'and one in the other session' in_pane '=b c:0.0' oat
for name in toast rye oat; do
	tell_agent "$name" "the task of $name"
	ok "$name was told something" until_ 10 messages_are "$name" 1
done
snapshot
shape work 'b c' >"$W/before"
gt workspace show -L main
is "$RC" 0 'workspace show'
like "$OUT" 'edit: #1' '  names a window'
like "$OUT" 'agent  ' '  and the agents'

# ---- the server is killed, and a new one is opened and seen ----
kill_server
for name in toast rye oat; do
	until_ 10 no_agent "$name"
done
tm new-session -d -s fresh -c "$W/proj"
snapshot 'a pass over the new server, which is empty'
gt workspace show -L main
like "$OUT" 'edit: #1' 'the old desk is still the workspace'
gt workspace restore --dry-run -L main
is "$RC" 0 'workspace restore --dry-run'
like "$OUT$ERR" 'Would restore the workspace .* 2 sessions, 4 windows and 7 panes' '  says what would be built'
not_ok '  builds nothing' tm has-session -t =work
gt --all --dry-run -L main
like "$OUT$ERR" 'Would restore the workspace .* 2 sessions, 4 windows and 7 panes' '--all says it, too'
not_ok '  builds nothing' tm has-session -t =work
gt --all --yes --json -L main
is "$RC" 0 '--all restores it'
for name in toast rye oat; do
	ok "  $name goes on" until_ 10 messages_are "$name" 2
	is "$(agent_starts "$name")" 2 '  started once'
done
ok '  toast in its old pane' is_in toast work:0.1
ok '  rye in its own' is_in rye work:0.2
ok '  oat in the other session' is_in oat 'b c:0.0'
shape work 'b c' >"$W/after"
same_file "$W/before" "$W/after" '  windows, layouts, names, titles, directories are as they were'
is "$(tm list-panes -t fresh -F x | wc -l)" 1 '  the new session was left alone'
like "$(message_file toast 2 | xargs cat)" 'the task of toast|recover' '  toast was told of its own work'

# ---- again, and after something was closed ----
gt workspace restore -L main
is "$(tm list-panes -a -F x | wc -l)" 8 'nothing is built twice'
tm kill-window -t work:7
gt --all --yes --json -L main
is "$(tm list-panes -a -F x | wc -l)" 7 'what was closed since stays closed'
gt workspace restore work -L main
is "$(tm list-panes -a -F x | wc -l)" 8 'until a restore is asked for'

# ---- interrupted at any point ----
snapshot 'another pass'
shape work 'b c' >"$W/before"
kill_server
for name in toast rye oat; do
	until_ 10 no_agent "$name"
done
n=0 last=''
while [ $n -lt 30 ]; do
	n=$((n + 1))
	GT_FAULT=tmux:$n=kill gt workspace restore -L main
	[ "$RC" = 137 ] || { last=$n && break; }
done
ok "it ends after being killed $((n - 1)) times" test -n "$last" -a "$n" -gt 3
gt --all --yes -L main
for name in toast rye oat; do
	ok "  $name is there" until_ 20 place_of "$name"
done
shape work 'b c' >"$W/after"
same_file "$W/before" "$W/after" '  and the workspace is whole'
is "$(tm list-panes -a -F x | wc -l)" 8 '  with nothing doubled, the session that was new beside it'

# ---- the same through --all, after the second end ----
snapshot 'another pass'
kill_server
for name in toast rye oat; do
	until_ 10 no_agent "$name"
done
n=0
while [ $n -lt 60 ]; do
	n=$((n + 1))
	GT_FAULT=tmux:$n=kill gt --all --yes -L main
	[ "$RC" = 137 ] || [ "$RC" = 1 ] || [ "$RC" = 5 ] || break
done
note "it ended after $((n - 1)) kills with status $RC"
gt --all --yes -L main
for name in toast rye oat; do
	ok "  $name is there" until_ 20 place_of "$name"
done
ok '  toast in its old pane' is_in toast work:0.1
ok '  rye in its own' is_in rye work:0.2
ok '  oat in the other session' is_in oat 'b c:0.0'
shape work 'b c' >"$W/after"
same_file "$W/before" "$W/after" '  the workspace is whole once more'
is "$(tm list-panes -a -F x | wc -l)" 8 '  with nothing doubled'

# ---- a living server loses a session with two agents ----
tm kill-window -t work:3 \; kill-window -t work:7 \; kill-pane -t work:0.0 \; set-option -p -t work:0.0 remain-on-exit off \; \
	set-option -p -t work:0.1 remain-on-exit off
snapshot 'another pass'
shape work >"$W/before"
lives=$(agent_starts oat)
mapfile -t shells < <(tm list-panes -t work:0 -F '#{pane_pid}')
kill -9 "$(agent_pid toast)" "$(agent_pid rye)" "${shells[@]}"
ok 'a session ends with its two agents' until_ 10 eval '! tm has-session -t =work 2>/dev/null'
gt --all --yes --json -L main
is "$RC" 0 '--all'
ok '  toast in its old pane' until_ 10 is_in toast work:0.0
ok '  rye in its own' until_ 10 is_in rye work:0.1
shape work >"$W/after"
same_file "$W/before" "$W/after" '  the window is as it was'
is "$(agent_starts oat) $(tm list-panes -a -F x | wc -l)" "$lives 4" '  the other session was left alone'

done_testing
