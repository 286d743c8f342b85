#!/bin/bash
# A new server has a session of the old one's name, as it always has under tmux's default names: the agents of the old one are still
# missing, and their desk comes back beside what is there.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

often
printf '[ ! -e .agent ] || export FAKE_AGENT_LOG=$(cat .agent) FAKE_AGENT_PLAN=$(cat .agent)/plan\n' >>"$HOME/.bash_profile"
cp "$HOME/.bash_profile" "$HOME/.profile"
for name in toast rye nux; do
	mkdir -p "$(agent_dir $name)" "$W/$name"
	agent_dir $name >"$W/$name/.agent"
done
start_server() {	# DIRECTORY
	tm start-server \; set-option -g default-shell /bin/bash \; set-option -g history-limit 4000 \; new-session -d -x 120 -y 40 -c "$1"
}
types_agent() {	# TARGET NAME [FLAG]...
	local n
	n=$(agent_starts "$2")
	tm send-keys -t "$1" -l "claude --dangerously-skip-permissions ${*:3}" \; send-keys -t "$1" Enter
	tm display-message -p -t "$1" '#{pane_id}' | tr -d '\n' >"$(agent_dir "$2")/pane"
	until_ 10 events_are "$2" '^ready' $((n + 1))
}
gone() {	# NAME
	! grep -aqs "FAKE_AGENT_LOG=$(agent_dir "$1")" /proc/[0-9]*/environ
}
kill_server() {
	local pid name
	pid=$(tm display-message -p '#{pid}')
	kill -9 "$pid"
	until_ 10 _gone "$pid"
	for name in toast rye nux; do
		until_ 10 gone $name
	done
}
desk() {	# of the windows with an agent: index, panes, directories
	tm list-panes -s -t 0 -F '#{window_index} #{pane_index} #{pane_current_path} #{pane_width}x#{pane_height}' | sed "s|$W/||"
}
missing() {	# directories of the last list
	printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne 'print join " ", sort map { $_->{cwd} } grep { $_->{class} eq "missing" } @{decode_json($_)->{sessions}}'
}
name_is() {
	[ "$(tm display-message -p -t 0:0 '#{window_name}')" = "$1" ]
}

ok 'a server with the names that tmux gives' start_server "$W/toast"
tm split-window -h -t 0:0 -c "$W/rye" \; split-window -v -t 0:0.1 -c "$W/proj"
for at in 0:toast 1:rye; do
	ok "an agent is typed into pane ${at%:*}" types_agent "0:0.${at%:*}" "${at#*:}"
	tell_agent "${at#*:}" "the task of ${at#*:}"
	ok '  and was told something' until_ 10 messages_are "${at#*:}" 1
done
tm select-pane -t 0:0.2
ok 'its window has the name of its shell' until_ 10 name_is bash
gt snapshot -L main
is "$RC" 0 'a pass of snapshots'
before=$(desk)
kill_server

# ---- a new session 0, with a window 0 that is called bash ----
start_server "$HOME"
ok 'a new server' until_ 10 name_is bash
gt snapshot -L main
gt list --json -L main
is "$(missing)" "$W/rye $W/toast" 'both agents are missed'
gt --all --yes --json -L main
is "$RC" 0 '--all'
[ "$RC" = 0 ] || note "$OUT$ERR"
for name in toast rye; do
	ok "  $name goes on" until_ 10 messages_are $name 2
	is "$(agent_starts $name)" 2 '  started once'
done
is "$(desk | sed -n 's/^1 //p')" "$(printf '%s\n' "$before" | sed 's/^0 //')" '  the window is as it was, at a free index'
is "$(desk | grep -c '^0 ')" 1 '  beside the new one'
gt --all --yes --json -L main
is "$(agent_starts toast) $(agent_starts rye) $(tm list-panes -a -F x | wc -l)" '2 2 4' 'again: nothing is made or started twice'

# ---- a window of the same name, which a person gave, but with other panes ----
tm kill-window -t 0:0 \; move-window -s 0:1 -t 0:0 \; rename-window -t 0:0 work
gt snapshot -L main
kill_server
start_server "$HOME"
tm rename-window -t 0:0 work
gt --all --yes --json -L main
is "$RC" 0 '--all beside a window of the same name'
for name in toast rye; do
	ok "  $name goes on" until_ 10 messages_are $name 3
	is "$(agent_starts $name)" 3 '  started once'
done
is "$(desk | sed -n 's/^1 //p')" "$(printf '%s\n' "$before" | sed 's/^0 //')" '  the window is as it was, at a free index'

# ---- one was resumed by hand, and another agent lives in the session ----
tm kill-window -t 0:0
gt snapshot -L main
id=$(sed -n 's/.*"sessionId": *"\([^"]*\)".*/\1/p' "$HOME/.claude/sessions/$(_find_agent "$(tm display-message -p -t 0:1.0 '#{pane_pid}')").json")
like "$id" '^[0-9a-f-]{36}$' 'the conversation of toast is known'
kill_server
start_server "$W/nux"
ok 'a new agent works in the new session' types_agent 0:0.0 nux
tm new-window -t 0: -c "$W/toast"
ok 'a person resumes one of the old ones' types_agent 0:1.0 toast --resume "$id"
gt snapshot -L main
gt list --json -L main
is "$(missing)" "$W/rye" 'the other one is missed'
gt --all --yes --json -L main
is "$RC" 0 '--all'
ok '  it goes on' until_ 10 messages_are rye 4
is "$(agent_starts toast) $(agent_starts rye) $(agent_starts nux)" '4 4 1' '  and nothing is started twice'

done_testing
