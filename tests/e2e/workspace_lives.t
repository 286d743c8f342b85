#!/bin/bash
# Of a socket the workspaces of the last five servers are kept, of each the fullest too: a new and nearly empty server takes nothing's place.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

often
kept=$XDG_STATE_HOME/gt-recover/snapshots
lives() {	# the servers of which a workspace is kept, by their pids
	find "$kept" -name 'workspace-*.json' | sed 's/.*-\([0-9]*\)-[0-9]*\.json$/\1/' | sort -n | tr '\n' ' '
}
server_pid() {
	tm display-message -p '#{pid}'
}
end_server() {
	local pid
	pid=$(server_pid)
	kill -9 "$pid"
	until_ 10 _gone "$pid"
}
open_server() {
	tm start-server \; set-option -g default-shell /bin/sh \; set-option -s exit-empty off \; new-session -d -s "$1" -x 100 -y 30 -c "$W"
}
snapshot() {
	gt snapshot -L main
	is "$RC" 0 "$1"
}

ok 'a desk of one session and three windows' open_server desk
tm new-window -d -t desk: -n two -c "$W" \; new-window -d -t desk: -n three -c "$W"
desk=$(server_pid)
snapshot 'a pass keeps it'
is "$(lives)" "$desk " '  in one file'
file=$(find "$kept" -name 'workspace-*.json')
was=$(stat -c '%i %y' "$file")
snapshot 'a pass that finds nothing new'
is "$(stat -c '%i %y' "$file")" "$was" '  does not write it'
tm kill-window -t desk:two \; kill-window -t desk:three
snapshot 'a pass after two windows were closed'
gt workspace show -L main
unlike "$OUT" 'three' '  the workspace is what is there'
is "$(perl -MJSON::PP -0777 -ne 'print scalar @{JSON::PP->new->decode($_)->{fullest}{sessions}[0]{windows}}' "$file")" 3 '  and the fullest is kept beside it'
tm new-window -d -t desk: -n three -c "$W"
snapshot 'a pass with two of them'

# ---- new servers ----
pids=("$desk")
end_server
for n in 1 2 3; do
	ok "new server $n, which is empty" open_server "empty$n"
	pids+=("$(server_pid)")
	snapshot '  is kept'
	gt workspace show -L main
	like "$OUT" 'three' '  and the desk is still the workspace'
	end_server
done
gt workspace show -L main
like "$OUT" 'desk' 'with no server the desk is the workspace'
is "$(lives)" "$(printf '%s\n' "${pids[@]}" | sort -n | tr '\n' ' ')" 'each server has its file'
gt workspace restore -L main
is "$RC" 0 'restored'
is "$(tm list-windows -t =desk: -F '#{window_index} #{?automatic-rename,,#{window_name}}' | tr '\n' ' ')" '0  1 three ' '  from the newest that held anything'
for n in 4 5 6; do
	end_server
	ok "new server $n, with two windows" open_server "later$n"
	tm new-window -d -t "later$n:" -n "window$n" -c "$W"
	pids+=("$(server_pid)")
	snapshot '  is kept'
done
is "$(lives)" "$(printf '%s\n' "${pids[@]: -5}" | sort -n | tr '\n' ' ')" 'five of them remain, the newest'
end_server
gt workspace show -L main
like "$OUT" 'window6' 'the last desk is the workspace now'
done_testing
