#!/bin/bash
# Beside the real tmux-continuum, which restores when a server starts: we let it finish, fill in what is missing, and neither starts an agent
# twice. `make resurrect` fetches both plugins; GT_RESURRECT names another copy of tmux-resurrect, with tmux-continuum beside it.
# shellcheck source=tests/e2e/lib.sh
RESURRECT=${GT_RESURRECT:-${GT_RECOVER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gt-recover}/plugins/tmux-resurrect}
CONTINUUM=${RESURRECT%/*}/tmux-continuum
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"

[ -x "$RESURRECT/resurrect.tmux" ] || skip_all 'tmux-resurrect is not there (make resurrect)'
[ -x "$CONTINUUM/continuum.tmux" ] || skip_all 'tmux-continuum is not there (make resurrect)'
often
# several agents of one directory: each pane has the log of its index
mkdir -p "$W/real" "$W/proj" "$W/other"
mv -- "$W/bin/claude" "$W/real/claude"
cat >"$W/bin/claude" <<SH
#!/bin/sh
i=\$(tmux display-message -p -t "\$TMUX_PANE" '#{pane_index}')
read -r dir <"$W/dir.\$i"
FAKE_AGENT_LOG=\$dir FAKE_AGENT_PLAN=\$dir/plan exec $W/real/claude "\$@"
SH
# tmux-continuum restores only where it sees no other server of the user; those of other tests are none of its business
cat >"$W/bin/ps" <<'SH'
#!/bin/sh
[ "$1" = -u ] || exec /bin/ps "$@"
SH
chmod +x "$W/bin/claude" "$W/bin/ps"
cp "$HOME/.bash_profile" "$HOME/.profile"
cat >"$HOME/.tmux.conf" <<CONF
set-option -g default-shell /bin/bash
set-option -g history-limit 4000
set-option -g @resurrect-dir "$W/saved"
set-option -g @continuum-restore on
set-option -g @continuum-save-interval 0
run-shell "$RESURRECT/resurrect.tmux"
run-shell "$CONTINUUM/continuum.tmux"
CONF
save() {
	timeout 30 tmux -u -L main run-shell "$RESURRECT/scripts/save.sh quiet" && [ -e "$W/saved/last" ]
}
gone() {	# NAME
	! grep -aqs "FAKE_AGENT_LOG=$(agent_dir "$1")\$" <(tr '\0' '\n' < <(cat /proc/[0-9]*/environ 2>/dev/null))
}
kill_server() {
	local pid i
	pid=$(tm display-message -p '#{pid}')
	kill -9 "$pid"
	until_ 10 _gone "$pid"
	for i in 0 1; do until_ 10 gone "p$i"; done
}
panes() {
	tm list-panes -a -F '#{session_name}:#{window_index}.#{pane_index}' | tr '\n' ' '
}
alive() {	# how many agents
	grep -als "HOME=$W/home" /proc/[0-9]*/environ | cut -d / -f 3 | while read -r pid; do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != claude ] || echo "$pid"
	done | wc -l
}

ok 'a server with both plugins' tmux -u -L main new-session -d -s work -x 120 -y 40 -c "$W/proj"
tm split-window -h -t work:0 -c "$W/proj" \; new-window -d -n logs -t work:4 -c "$W/other"
for i in 0 1; do
	mkdir -p "$(agent_dir "p$i")"
	agent_dir "p$i" >"$W/dir.$i"
	echo >>"$W/dir.$i"
	tm send-keys -t "work:0.$i" -l 'claude --dangerously-skip-permissions' \; send-keys -t "work:0.$i" Enter
	ok "an agent in pane $i" until_ 10 _event "p$i" '^ready'
	tm display-message -p -t "work:0.$i" '#{pane_id}' | tr -d '\n' >"$(agent_dir "p$i")/pane"
	tell_agent "p$i" "the task of pane $i"
	ok '  was told something' until_ 10 messages_are "p$i" 1
done
ok 'tmux-resurrect saves' until_ 10 save
gt snapshot -L main
is "$RC" 0 'a pass of snapshots'

# ---- tmux-resurrect starts agents, too: what was typed into a shell ----
sed -i "/@continuum-restore/i set-option -g @resurrect-processes '~claude'" "$HOME/.tmux.conf"
kill_server
gt --all --yes -L main
[ "$RC" = 0 ] || note "$OUT$ERR"
is "$(alive) $(panes)" '2 work:0.0 work:0.1 work:4.0 ' 'what it starts itself is not started twice'
is "$(agent_starts p0) $(agent_starts p1)" '1 1' '  nor do we start it'
is "$(listed work class)" livelive '  and is listed as live'
sed -i '/@resurrect-processes/d' "$HOME/.tmux.conf"
for i in 0 1; do
	tm send-keys -t "work:0.$i" C-c
	tm send-keys -t "work:0.$i" C-c
done
until_ 10 eval '[ "$(alive)" = 0 ]'
for i in 0 1; do
	rm -f "$W/home/.claude/sessions"/*
	tm send-keys -t "work:0.$i" -l 'claude --dangerously-skip-permissions' \; send-keys -t "work:0.$i" Enter
	ok "a new agent in pane $i" until_ 10 events_are "p$i" '^ready' 2
	tm display-message -p -t "work:0.$i" '#{pane_id}' | tr -d '\n' >"$(agent_dir "p$i")/pane"
	n[i]=$(messages "p$i")
	tell_agent "p$i" "the new task of pane $i"
	ok '  was told something' until_ 10 messages_are "p$i" $((n[i] + 1))
done
ok 'tmux-resurrect saves again' until_ 10 save
gt snapshot -L main

# ---- --all without a server ----
kill_server
gt --all --yes -L main
is "$RC" 0 '--all starts a server'
[ "$RC" = 0 ] || note "$OUT$ERR"
like "$OUT$ERR" 'Waited for tmux-resurrect to restore' '  and waits for tmux-continuum'
like "$(panes)" '^work:0.0 work:0.1 work:4.0 ' '  which has brought its panes back'
for i in 0 1; do
	ok "  the agent of pane $i goes on in it" until_ 10 messages_are "p$i" $((n[i] + 2))
	is "$(agent_starts "p$i")" 3 '  started once'
done
unlike "$(panes)" 'gt-recover' '  no session of ours is left'

# ---- workspace restore without a server ----
tm new-window -d -n later -t work:5 -c "$W/other"
gt snapshot -L main
kill_server
gt workspace restore -L main
is "$RC" 0 'workspace restore starts a server'
[ "$RC" = 0 ] || note "$OUT$ERR"
is "$(panes)" 'work:0.0 work:0.1 work:4.0 work:5.0 ' '  tmux-continuum restores three panes, we the fourth'
for i in 0 1; do
	ok "  the agent of pane $i goes on in it" until_ 10 messages_are "p$i" $((n[i] + 3))
	is "$(agent_starts "p$i")" 4 '  started once'
done
ok 'tmux-resurrect saves again' until_ 10 save
unlike "$(grep '^pane' "$W/saved/last")" 'gt-recover' '  and no command of ours'

# ---- the picker ----
gt snapshot -L main
kill_server
term_start 100 30
term_run --plain -L main
ok 'the picker offers both' until_ 20 term_shows 'Recover which session'
term_keys all Enter
ok '  it ends' until_ 60 term_ended
is "$STATUS" 'exit 0' '  well'
like "$(term_screen)" 'Waited for tmux-resurrect to restore' '  having waited for tmux-continuum'
for i in 0 1; do
	ok "  the agent of pane $i goes on" until_ 10 messages_are "p$i" $((n[i] + 4))
	is "$(agent_starts "p$i")" 5 '  started once'
done

# ---- the hook that doctor proposes, by setup ----
gt doctor --json -L main
is "$(found tmux.resurrect)" note 'doctor proposes a hook'
sed -i 's/@continuum-restore on/@continuum-restore off/' "$HOME/.tmux.conf"
is "$(found tmux.resurrect hint)" 'gt-recover setup --only resurrect,conf' '  by setup'
gt -L main setup --yes --only resurrect,conf
is "$RC" 0 '  which sets it'
gt snapshot -L main
kill_server
ok 'a new server' tmux -u -L main new-session -d -s 0 -x 120 -y 40 -c "$W"
ok 'tmux-resurrect restores' timeout 60 tmux -u -L main run-shell "$RESURRECT/scripts/restore.sh"
for i in 0 1; do
	ok "  the agent of pane $i goes on" until_ 30 messages_are "p$i" $((n[i] + 5))
	is "$(agent_starts "p$i")" 6 '  started once'
done
gt doctor --json -L main
is "$(found tmux.resurrect)" ok 'doctor has seen the hook'

done_testing
