#!/bin/bash
# A restore of a workspace with its agents is killed where it changes something, in every such place. Run again it ends in the same
# workspace: nothing is missing or doubled, and each agent was started once. Needs a build with fault points.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
grep -q GT_FAULT "$GT_RECOVER" || skip_all 'this build has no fault points (make FAULTS=1)'

often

end_server() {
	local pid name
	pid=$(tm display-message -p '#{pid}' 2>/dev/null) || return 0
	kill -9 "$pid"
	until_ 10 _gone "$pid"
	for name in toast rye; do
		until_ 10 eval "! grep -aqs 'FAKE_AGENT_LOG=$(agent_dir $name)' /proc/[0-9]*/environ"
	done
}
# What a person sees of it; names that tmux takes from what runs there are left out, and ids.
shape() {
	tm list-windows -a -F '#{session_name} #{window_index} #{?automatic-rename,,#{window_name}} #{window_layout} #{window_active} #{window_zoomed_flag}' |
		sed 's/ [0-9a-f]\{4\},/ /; s/\([0-9]x[0-9]*,[0-9]*,[0-9]*\),[0-9]*/\1/g'
	tm list-panes -a -F '#{session_name}:#{window_index}.#{pane_index} #{pane_title} #{pane_current_path} #{pane_width}x#{pane_height} #{pane_active}'
}
# What a recovery leaves that is about its own life, not about the workspace.
as_before() {	# DIRECTORY: the state and the agents' files are those of the first end of the server
	rm -rf "$XDG_STATE_HOME/gt-recover" "$HOME/.claude"
	cp -a "$1/gt-recover" "$XDG_STATE_HOME/"
	cp -a "$1/.claude" "$HOME/"
}

mkdir -p "$W/proj/one" "$W/proj/two words"
# a shell knows by its directory whose agent it starts
agent_dir toast >"$W/proj/two words/.agent"
agent_dir rye >"$W/proj/.agent"
# shellcheck disable=SC2016	# for the shell
printf '[ ! -e .agent ] || export FAKE_AGENT_LOG=$(cat .agent) FAKE_AGENT_PLAN=$(cat .agent)/plan\n' | tee -a "$HOME/.bash_profile" >"$HOME/.profile"
tm start-server \; set-option -g default-shell /bin/bash \; set-option -s exit-empty off \; \
	new-session -d -s work -x 120 -y 40 -c "$W/proj/one" \; rename-window -t work:0 'edit: #1' \; \
	split-window -h -t work:0 -c "$W/proj/two words" \; split-window -v -t work:0.1 -l 9 -c "$W/proj/one" \; \
	new-window -d -t work:3 -n logs -c "$W/proj/one" \; split-window -d -t work:3 -c "$W/proj/one" \; resize-pane -Z -t work:3.0 \; \
	select-pane -t work:0.1 -T 'a title' \; select-window -t work:3 \; \
	new-session -d -s 'b c' -x 90 -y 20 -c "$W/proj" \; rename-window -t '=b c:0' solo
for name in toast rye; do
	place=work:0.1
	[ $name = toast ] || place='=b c:0.0'
	mkdir -p "$(agent_dir $name)"
	tm send-keys -t "$place" -l 'claude --dangerously-skip-permissions' \; send-keys -t "$place" Enter
	ok "the agent $name" until_ 10 _event $name '^ready'
	tm send-keys -t "$place" -l "the task of $name" \; send-keys -t "$place" Enter
	ok '  was told something' until_ 10 events_are $name answered 1
done
gt snapshot -L main
is "$RC" 0 'a pass of snapshots'
shape >"$W/before"
panes=$(tm list-panes -a -F x | wc -l)
end_server
mkdir "$W/kept"
cp -a "$XDG_STATE_HOME/gt-recover" "$HOME/.claude" "$W/kept/"

judge() {
	local name
	for name in toast rye; do
		is "$(($(agent_starts $name) - starts))" 1 "  $name was started once"
	done
	shape >"$W/after"
	same_file "$W/before" "$W/after" '  the workspace is as it was'
	is "$(tm list-panes -a -F x | wc -l)" "$panes" '  nothing is doubled'
}
starts=1
GT_FAULT=log=$W/passed gt --all --yes -L main
is "$RC" 0 'a restore that nothing interrupts'
judge
mapfile -t points < <(sort -u "$W/passed")
note "${#points[@]} places: $(sort "$W/passed" | sed 's/:.*//' | uniq -c | awk '{ printf "%s %s ", $2, $1 }')"
ok 'there are many' test ${#points[@]} -gt 20
for point in "${points[@]}"; do
	end_server
	as_before "$W/kept"
	starts=$(agent_starts toast)
	is "$(agent_starts rye)" "$starts" "$point: both agents are at their start $starts"
	GT_FAULT=$point=kill gt --all --yes -L main
	# 1: a process for one of the agents was killed, and the run told it
	like "$RC $ERR" '^137 |^1 .*was interrupted' '  it is killed there'
	gt --all --yes -L main
	like "$RC" '^[04]$' '  and run again'
	judge
done
done_testing
