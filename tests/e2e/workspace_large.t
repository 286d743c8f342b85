#!/bin/bash
# A workspace of ten sessions and forty panes comes back as it was: names with every character that tmux allows, groups, linked windows, odd
# layouts, indexes from 1 with renumbering, options.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_server() {
	tm start-server \; set-option -g default-shell /bin/sh \; set-option -s exit-empty off \; set-option -g base-index 1 \; \
		set-option -g pane-base-index 1 \; set-option -g renumber-windows on \; set-option -g history-limit 3000 \; new-session -d -s fresh -c "$W"
}
# Names that tmux takes from what runs there are left out, and the ids in layouts.
shape() {
	tm list-windows -a -F '#{session_name} #{session_group} #{window_index} #{?automatic-rename,,#{window_name}} #{window_layout} #{window_active} #{window_last_flag} #{window_zoomed_flag} #{window_linked_sessions}' |
		sed 's/ [0-9a-f]\{4\},/ /; s/\([0-9]x[0-9]*,[0-9]*,[0-9]*\),[0-9]*/\1/g'
	tm list-panes -a -F '#{session_name}:#{window_index}.#{pane_index} #{pane_title} #{pane_current_path} #{pane_width}x#{pane_height} #{pane_active} #{history_limit} #{remain-on-exit} #{default-command}'
}
settled() {	# every shell is in its directory
	! tm list-panes -a -F '#{pane_current_path}' | grep -q '^$'
}
all_ascii='!"#$%&'\''()*+,-/0A;<=>?@[\]^_`a{|}~'
mkdir -p "$W/a b" "$W/thr#ee" "$W/\$HOME"
ok 'a server with indexes from 1' start_server
names=(work "$all_ascii" 'b c' 'größe 日本' '=eq' '%5' '#{pane_id}' -dash)
for name in "${names[@]}"; do
	id=$(tm new-session -d -P -F '#{session_id}' -s x -x 110 -y 34 -c "$W/a b")
	tm rename-session -t "$id" -- "${name//'#'/'##'}" \; rename-window -t "$id:" 'edit: #[fg=red] 1.2' \; \
		split-window -h -t "$id:" -c "$W/thr#ee" \; split-window -v -t "$id:" -l 7 -c "$W/\$HOME" \; \
		new-window -d -t "$id:5" -n "w \"'\\;" -c "$W/a b" \; split-window -d -t "$id:5" -l 5 -c "$W"
done
tm new-session -d -s hist -x 90 -y 30 -c "$W" \; set-option -t hist history-limit 777 \; set-option -t hist default-command 'exec /bin/sh' \; new-window -d -t hist: -n more -c "$W" \; \
	set-option -w -t hist:2 remain-on-exit on
tm kill-window -t hist:1 \; split-window -d -t hist: -c "$W" \; new-window -t hist:8 -n last -c "$W"
tm new-session -d -s twin -t work \; select-window -t work:1 \; select-window -t twin:5
tm link-window -d -s '=b c:5' -t '==eq:9'
tm resize-pane -Z -t '=work:5.2' \; select-pane -t 'hist:1.1' -T 'a title: 50% #x'
tm kill-session -t fresh
until_ 10 settled
is "$(tm list-sessions -F x | wc -l)" 10 'ten sessions'
gt snapshot -L main
is "$RC" 0 'a pass of snapshots'
shape >"$W/before"
n=$(tm list-panes -a -F x | wc -l)
ok "forty panes or more ($n)" test "$n" -ge 40
pid=$(tm display-message -p '#{pid}')
kill -9 "$pid"
until_ 10 _gone "$pid"
ok 'a new server' start_server
gt workspace restore -L main
is "$RC" 0 'workspace restore'
note "$OUT$ERR"
tm kill-session -t fresh
until_ 10 settled
shape >"$W/after"
same_file "$W/before" "$W/after" '  all is as it was'
diff "$W/before" "$W/after" | head -n 20 | while IFS= read -r line; do note "$line"; done
gt workspace restore -L main
is "$(tm list-panes -a -F x | wc -l)" "$n" '  nothing is built twice'

done_testing
