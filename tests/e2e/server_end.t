#!/bin/bash
# Why a tmux server ended is told once, with the number of agents lost. Without a person a workspace comes back only where the cause is known.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

grep -q GT_KMSG "$GT_RECOVER" || skip_all 'this build has no fault points (make FAULTS=1)'
mkdir -p "$XDG_CONFIG_HOME/gt-recover"
printf '[recovery]\nmax_attempts = 1000\nspacing = "0s"\nauto_recover = true\n' >"$XDG_CONFIG_HOME/gt-recover/gt.toml"
export GT_KMSG=$W/kmsg
: >"$GT_KMSG"
now_us() {	# on the clock of the kernel's log
	perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e 'printf "%d", clock_gettime(CLOCK_MONOTONIC) * 1e6'
}
kill_server() {
	PID=$(tm display-message -p '#{pid}')
	kill -9 "$PID"
	until_ 10 _gone "$PID"
}
gone() {	# NAME
	! grep -aqs "FAKE_AGENT_LOG=$(agent_dir "$1")" /proc/[0-9]*/environ
}
end_is() {	# CAUSE
	gt list --json -L main
	[ "$(json '{ended_servers}[0]{cause}') $(json '{ended_servers}[0]{agents}') $(json '{ended_servers}')" = "$1 1 1" ]
}
agent_dir toast >"$W/proj/.agent"
printf '[ ! -e .agent ] || export FAKE_AGENT_LOG=$(cat .agent) FAKE_AGENT_PLAN=$(cat .agent)/plan\n' >>"$HOME/.bash_profile"
cp "$HOME/.bash_profile" "$HOME/.profile"
mkdir -p "$(agent_dir toast)"
start_agent idle
tm kill-session -t idle
tm new-session -d -s work -x 120 -y 40 -c "$W/proj" \; split-window -h -t work:0 -c "$W/proj" \; new-window -d -n logs -t work:4 -c "$W"
tm send-keys -t work:0.1 -l 'claude --dangerously-skip-permissions' \; send-keys -t work:0.1 Enter
ok 'a session of two windows, with an agent in one of its panes' until_ 10 _event toast '^ready'
tm display-message -p -t work:0.1 '#{pane_id}' | tr -d '\n' >"$(agent_dir toast)/pane"
tell_agent toast 'the task of toast'
ok 'was told something' until_ 10 messages_are toast 1
gt snapshot -L main
is "$RC" 0 'a pass of snapshots'
kill_server
until_ 10 gone toast
tm new-session -d -s fresh -c "$W"

# ---- the cause ----
ok 'a server that was killed' end_is killed
gt list -L main
unlike "$ERR" 'ended' '  one agent alone says it in its row'
printf '#!/bin/sh\nexit 1\n' >"$W/bin/journalctl"
chmod +x "$W/bin/journalctl"
export GT_KMSG=$W/none
ok '  unclear where the log of the kernel cannot be read' end_is unclear
export GT_KMSG=$W/kmsg
printf '3,1,%s,-;Out of memory: Killed process %s (tmux: server) total-vm:9kB, anon-rss:8kB\n' "$(now_us)" "$PID" >"$GT_KMSG"
ok 'the kernel killed it: out of memory' end_is oom
printf '3,1,%s,-;Out of memory: Killed process %s (cc1plus) total-vm:9kB, anon-rss:8kB\n' "$(now_us)" "$PID" >"$GT_KMSG"
ok '  another program with its number' end_is killed
printf '6,1,%s,-;tmux: server[%s]: segfault at 0 ip 0000 sp 0000 error 4 in tmux[0+1]\n' "$(now_us)" "$PID" >"$GT_KMSG"
ok 'a segfault: a crash' end_is crash
gt list -L main
like "$ERR" 'The tmux server on socket main ended \(crash of tmux\), and 1 agent with it' '  for people'
printf '00000000-1111-2222-3333-444444444444\n' >"$W/boot_id"
export GT_BOOT_ID=$W/boot_id
ok 'another boot: a reboot' end_is reboot
unset GT_BOOT_ID

# ---- --all brings back the desk ----
: >"$GT_KMSG"
is_desk() {	# two windows of the session, the agent in its old pane
	[ "$(tm list-panes -s -t =work -F '#{window_index}.#{pane_index} #{?automatic-rename,,#{window_name}} #{pane_current_path}' 2>/dev/null)" = "$DESK" ] &&
		[ "$(agent_pane)" = work:0.1 ]
}
agent_pane() {
	local pid tty
	pid=$(grep -als "FAKE_AGENT_LOG=$(agent_dir toast)" /proc/[0-9]*/environ | grep -o '[0-9]*' | while read -r p; do
		[ "$(cat "/proc/$p/comm" 2>/dev/null)" != claude ] || echo "$p"
	done)
	tty=$(readlink "/proc/$pid/fd/1") || return 1
	tm list-panes -a -F '#{pane_tty} #{session_name}:#{window_index}.#{pane_index}' | sed -n "s|^$tty ||p"
}
DESK="0.0  $W/proj
0.1  $W/proj
4.0 logs $W"
tm rename-window -t fresh: fresh
gt patrol --json -L main
is "$(json '{sessions}[0]{refusal}') $(json '{recovered}')" 'server-end 0' 'without a person, and a cause: it is listed only'
not_ok '  no session is made' eval 'tm has-session -t =work 2>/dev/null'
gt --all --yes --json -L main
is "$RC" 0 '--all'
ok '  the agent goes on' until_ 10 messages_are toast 2
ok '  in its old pane, between the others' until_ 10 is_desk
is "$(agent_starts toast)" 2 '  started once'
is "$(tm list-panes -t fresh -F x | wc -l)" 1 '  the new session was left alone'
gt --all --yes --json -L main
is "$(agent_starts toast) $(tm list-panes -a -F x | wc -l)" '2 4' 'again: nothing is made or started twice'

# ---- the second end, which only its first pane's snapshot and the attempt know ----
kill_server
until_ 10 gone toast
rm -f -- "$XDG_STATE_HOME"/gt-recover/snapshots/state-*"-$PID-"*.json
gt --all --yes --json -L main
is "$RC" 0 '--all after the second end'
ok '  the agent goes on' until_ 10 messages_are toast 3
ok '  in its old pane' until_ 10 is_desk
is "$(agent_starts toast) $(tm list-panes -a -F x | wc -l)" '3 3' '  started once, and nothing is doubled'

# ---- the third end, of the server that a pass has seen since ----
gt snapshot -L main
kill_server
until_ 10 gone toast
printf '6,1,%s,-;tmux: server[%s]: segfault at 0 ip 0000 sp 0000 error 4 in tmux[0+1]\n' "$(now_us)" "$PID" >"$GT_KMSG"
gt patrol --json -L main
is "$(json '{recovered}')" 1 'after a crash of tmux patrol brings it back'
ok '  the agent goes on' until_ 10 messages_are toast 4
ok '  with the desk, in its old pane' until_ 10 is_desk
is "$(agent_starts toast) $(tm list-panes -a -F x | wc -l)" '4 3' '  started once, and nothing is doubled'

# ---- a reboot: startup builds the desk, and patrol starts the agent in it ----
gt snapshot -L main
kill_server
until_ 10 gone toast
: >"$GT_KMSG"
export GT_BOOT_ID=$W/boot_id
gt startup -L main
is "$RC" 0 'startup after a reboot'
is "$(tm list-panes -s -t =work -F x 2>/dev/null | wc -l)" 3 '  builds the desk'
gt patrol --json -L main
is "$(json '{recovered}')" 1 '  and patrol brings the agent back'
ok '  it goes on' until_ 10 messages_are toast 5
ok '  in its old pane' until_ 10 is_desk
is "$(agent_starts toast) $(tm list-panes -a -F x | wc -l)" '5 3' '  started once, and nothing is doubled'

# ---- a pane, a window and a session that a living server loses ----
lose() {	# the agent is killed, and its pane goes with it
	tm set-option -p -t work:0.1 remain-on-exit off
	gt snapshot -L main
	pane=$(tm display-message -p -t work:0.1 '#{pane_id}')
	kill -9 "$(tm display-message -p -t work:0.1 '#{pane_pid}')"
	until_ 10 eval '! tm list-panes -a -F "#{pane_id}" | grep -qx "$pane"'
	until_ 10 gone toast
}
lose
gt list --json -L main
is "$(json '{sessions}[0]{class}') $(json '{sessions}[0]{crash_reason}')" 'missing process_died' 'a pane that its session has lost is listed'
gt snapshot -L main
gt --all --yes --json -L main
is "$RC" 0 '--all'
ok '  the agent goes on' until_ 10 messages_are toast 6
ok '  in its old pane' until_ 10 is_desk
is "$(agent_starts toast) $(tm list-panes -a -F x | wc -l)" '6 3' '  started once, and nothing is doubled'
tm kill-pane -t work:0.0
DESK=$(printf '%s' "$DESK" | sed '1d; s/^0.1/0.0/')
agent_is_alone() {
	[ "$(agent_pane)" = work:0.0 ]
}
ok 'now it is alone in its window' until_ 10 agent_is_alone
tm set-option -p -t work:0.0 remain-on-exit off
gt snapshot -L main
kill -9 "$(tm display-message -p -t work:0.0 '#{pane_pid}')"
until_ 10 eval '! tm list-windows -t work -F "#{window_index}" | grep -qx 0'
until_ 10 gone toast
gt --all --yes --json -L main
is "$RC" 0 '--all after its window was lost'
ok '  the agent goes on' until_ 10 messages_are toast 7
ok '  in its old window' until_ 10 agent_is_alone
is "$(agent_starts toast) $(tm list-panes -a -F x | wc -l)" '7 2' '  started once, and nothing is doubled'
tm kill-window -t work:4 \; new-session -d -s other -c "$W" \; set-option -p -t work:0.0 remain-on-exit off
gt snapshot -L main
kill -9 "$(tm display-message -p -t work:0.0 '#{pane_pid}')"
ok 'its session ends with it' until_ 10 eval '! tm has-session -t =work 2>/dev/null'
until_ 10 gone toast
gt --all --yes --json -L main
is "$RC" 0 '--all after its session was lost'
ok '  the agent goes on' until_ 10 messages_are toast 8
ok '  in its old window' until_ 10 agent_is_alone
is "$(agent_starts toast) $(tm list-panes -a -F x | wc -l)" '8 2' '  started once, and nothing is doubled'

done_testing
