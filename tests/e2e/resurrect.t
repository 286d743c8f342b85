#!/bin/bash
# Beside the real tmux-resurrect: the panes that it restored are recognised one by one, nothing is started twice, and what it saves after a
# recovery is no command of ours. `make resurrect` fetches it; GT_RESURRECT names another copy.
# shellcheck source=tests/e2e/lib.sh
RESURRECT=${GT_RESURRECT:-${GT_RECOVER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gt-recover}/plugins/tmux-resurrect}
. "$(dirname "$0")/lib.sh"

[ -x "$RESURRECT/resurrect.tmux" ] || skip_all 'tmux-resurrect is not there (make resurrect)'
often
# several agents of one directory: each pane has the log of its index
mkdir -p "$W/real" "$W/proj"
mv -- "$W/bin/claude" "$W/real/claude"
cat >"$W/bin/claude" <<SH
#!/bin/sh
i=\$(tmux display-message -p -t "\$TMUX_PANE" '#{pane_index}')
read -r dir <"$W/dir.\$i"
FAKE_AGENT_LOG=\$dir FAKE_AGENT_PLAN=\$dir/plan exec $W/real/claude "\$@"
SH
chmod +x "$W/bin/claude"
cp "$HOME/.bash_profile" "$HOME/.profile"
start_server() {
	tm start-server \; set-option -g default-shell /bin/bash \; set-option -s exit-empty off \; set-option -g history-limit 4000 \; \
		set-option -g @resurrect-dir "$W/saved" \; set-option -g @resurrect-capture-pane-contents on \; new-session -d -s 0 -x 120 -y 40 -c "$W"
	tm run-shell "$RESURRECT/resurrect.tmux"
}
# Two saves of one second have one name, and tmux-resurrect removes the second: asked again, it is of the next second.
save() {
	timeout 30 tmux -u -L main run-shell "$RESURRECT/scripts/save.sh quiet" && [ -e "$W/saved/last" ]
}
gone() {	# NAME
	! grep -aqs "FAKE_AGENT_LOG=$(agent_dir "$1")\$" <(tr '\0' '\n' < <(cat /proc/[0-9]*/environ 2>/dev/null))
}
class_of() {	# PANE INDEX
	printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne 'BEGIN { $main::id = shift @ARGV }
		for (@{decode_json($_)->{sessions}}) { print $_->{class} if ($_->{pane} // $_->{pane_id} // "") eq $main::id }' \
		"$(tm display-message -p -t "work:0.$1" '#{pane_id}')"
}

ok 'a server with tmux-resurrect' start_server
tm new-session -d -s work -x 120 -y 40 -c "$W/proj" \; split-window -h -t work:0 -c "$W/proj" \; split-window -v -t work:0.1 -c "$W/proj"
for i in 0 1; do
	mkdir -p "$(agent_dir "p$i")"
	agent_dir "p$i" >"$W/dir.$i"
	echo >>"$W/dir.$i"
	tm send-keys -t "work:0.$i" -l 'claude --dangerously-skip-permissions' \; send-keys -t "work:0.$i" Enter
	ok "an agent in pane $i, of the same directory" until_ 10 _event "p$i" '^ready'
	tm display-message -p -t "work:0.$i" '#{pane_id}' | tr -d '\n' >"$(agent_dir "p$i")/pane"
	tell_agent "p$i" "the task of pane $i"
	ok '  was told something' until_ 10 messages_are "p$i" 1
done
gt snapshot -L main
is "$RC" 0 'a pass of snapshots'
ok 'tmux-resurrect saves' until_ 10 save
pid=$(tm display-message -p '#{pid}')
kill -9 "$pid"
until_ 10 _gone "$pid"
for i in 0 1; do until_ 10 gone "p$i"; done

ok 'a new server' start_server
ok 'tmux-resurrect restores' timeout 60 tmux -u -L main run-shell "$RESURRECT/scripts/restore.sh"
ok '  three panes' until_ 10 eval '[ "$(tm list-panes -t work -F x | wc -l)" = 3 ]'
ok '  in their directory' until_ 10 eval '[ "$(tm list-panes -t work -F "#{pane_current_path}" | grep -cx "$W/proj")" = 3 ]'
gt list --json -L main
is "$(class_of 0) $(class_of 1) $(class_of 2)" 'restored restored ' 'two of them are restored agents, the third is none'
gt --all --yes --json -L main
is "$RC" 0 '--all'
for i in 0 1; do
	ok "  the agent of pane $i goes on" until_ 10 messages_are "p$i" 2
	is "$(agent_starts "p$i")" 2 '  started once'
	like "$(message_file "p$i" 2 | xargs cat)" "the task of pane $i|recover" '  with its own work'
done
is "$(tm list-panes -a -F x | wc -l)" 4 '  no pane was added'
gt --all --yes --json -L main
gt workspace restore -L main
is "$(tm list-panes -a -F x | wc -l) $(agent_starts p0) $(agent_starts p1)" '4 2 2' 'again: nothing is made or started twice'
ok 'tmux-resurrect saves again' until_ 10 save
unlike "$(grep '^pane' "$W/saved/last")" 'gt-recover' '  and no command of ours'

# ---- an agent that is its pane's own process ----
mkdir -p "$(agent_dir bare)" "$W/other"
agent_dir bare >"$W/dir.0"
echo >>"$W/dir.0"
tm new-session -d -s bare -x 100 -y 30 -c "$W/other" 'claude --dangerously-skip-permissions' \; set-option -w -t bare: remain-on-exit on
tm display-message -p -t bare: '#{pane_id}' | tr -d '\n' >"$(agent_dir bare)/pane"
until_ 10 _event bare '^ready'
tell_agent bare 'the task of bare'
until_ 10 messages_are bare 1
ok 'an agent without a shell dies' kill_agent bare
gt bare -L main
is "$RC $(agent_starts bare)" '0 2' '  and comes back'
ok '  tmux-resurrect saves' until_ 10 save
unlike "$(grep '^pane.bare' "$W/saved/last")" 'gt-recover|sh -c' '  no command of ours'

# ---- setup's hook: a restore ends in a recovery ----
tm kill-session -t bare
{ agent_dir p0 && echo; } >"$W/dir.0"
ok 'tmux-resurrect saves the two' until_ 10 save
gt snapshot -L main
for i in 0 1; do told[i]=$(messages "p$i"); done
pid=$(tm display-message -p '#{pid}')
kill -9 "$pid"
until_ 10 _gone "$pid"
for i in 0 1; do until_ 10 gone "p$i"; done
ok 'a new server again' start_server
gt -L main setup --yes --only resurrect
is "$RC" 0 'setup sets the hook'
ok 'tmux-resurrect restores again' timeout 60 tmux -u -L main run-shell "$RESURRECT/scripts/restore.sh"
for i in 0 1; do
	ok "  the agent of pane $i comes back by itself" until_ 40 messages_are "p$i" "$((told[i] + 1))"
	is "$(agent_starts "p$i")" 3 '  started once'
done

done_testing
