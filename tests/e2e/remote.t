#!/bin/bash
# An agent behind ssh or in a container is listed with the place and the command to run there, and never started from here.
# Programs of these names run a shell on this machine.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
often
for name in ssh docker podman kubectl devcontainer; do
	printf '#!/bin/sh\nwhile [ $# -gt 0 ] && [ "$1" != claude ]; do shift; done\nPS1="there$ "; export PS1\n%s\n' \
		'if [ $# -gt 0 ]; then "$@"; else bash --norc --noprofile -i; fi' >"$W/bin/$name"
	chmod +x "$W/bin/$name"
done
refused_as() {	# SESSION PLACE HINT
	until_ 10 listed_is "$1" class remote
	is "$(listed "$1" class) $(listed "$1" remote) $(listed "$1" refusal)" "remote $2 remote" "$1 is listed as remote"
	gt list -L main
	like "$OUT" "remote +$1 [^
]*$2 .*hint: recover it there: $3" 'with the place and the command to run there'
	gt "$1" -L main
	like "$RC $ERR" "^6 .*recover it there: $3" 'named, it is refused'
}

# ---- by the command line ----
ok 'an agent behind ssh' start_agent far --command 'ssh -p 2222 -L 80:a:80 -t me@box claude --dangerously-skip-permissions'
refused_as far 'ssh me@box' 'ssh -t -p 2222 me@box gt-recover'
ok 'one in a container' start_agent docker --command 'docker exec -it -e A=b web claude --dangerously-skip-permissions'
refused_as docker 'docker container web' 'docker exec -it web gt-recover'
ok 'one of podman' start_agent podman --command 'podman exec -u dev -it web claude --dangerously-skip-permissions'
refused_as podman 'podman container web' 'podman exec -it -u dev web gt-recover'
ok 'one in a pod' start_agent pod --command 'kubectl exec -it -n team web-1 -c main -- claude --dangerously-skip-permissions'
refused_as pod 'pod web-1' 'kubectl exec -it -n team -c main web-1 -- gt-recover'
ok 'one in a devcontainer' start_agent devc --command 'devcontainer exec --workspace-folder /src claude --dangerously-skip-permissions'
refused_as devc 'devcontainer /src' 'devcontainer exec --workspace-folder /src gt-recover'

# ---- its connection ends, and the pane stays ----
starts=$(agent_starts far)
kill -9 "$(tm display-message -p -t "$(agent_pane far)" '#{pane_pid}')"
kill_agent far
wake
until_ 5 pane_is far '#{pane_dead}' 1
refused_as far 'ssh me@box' 'ssh -t -p 2222 me@box gt-recover'
gt --all --yes -L main
is "$RC $(agent_starts far)" "4 $starts" 'and is not started here'

# ---- typed: ssh, then the agent there ----
mkdir -p "$(agent_dir typed)/cwd"
tm new-session -d -s typed -x 100 -y 30 -c "$(agent_dir typed)/cwd" -e "FAKE_AGENT_LOG=$(agent_dir typed)" -P -F '#{pane_id}' \
	'exec bash --norc --noprofile -i' >"$(agent_dir typed)/pane"
tm send-keys -t "$(agent_pane typed)" -l 'ssh box' \; send-keys -t "$(agent_pane typed)" Enter
until_ 5 pane_shows typed 'there|bash-'
is "$(listed typed class)" '' 'a shell behind ssh is no agent'
tm send-keys -t "$(agent_pane typed)" -l 'claude' \; send-keys -t "$(agent_pane typed)" Enter
ok 'an agent is started behind ssh' until_ 10 _event typed '^ready'
refused_as typed 'ssh box' 'ssh -t box gt-recover'
ssh=$(pgrep -P "$(tm display-message -p -t "$(agent_pane typed)" '#{pane_pid}')")
kill_agent typed
kill -9 $(pgrep -P "$ssh") "$ssh"
ok 'the connection ends' until_ 5 _gone "$ssh"
refused_as typed 'ssh box' 'ssh -t box gt-recover'
gt --all --yes -L main
is "$RC $(agent_starts typed)" '4 1' 'and it is not started here'
gt snapshot -L main
is "$(find "$XDG_STATE_HOME/gt-recover/snapshots" -name '[0-9]*.json' 2>/dev/null | wc -l)" 0 'no snapshot is kept that could start it here'

# ---- an agent that runs ssh itself is one of ours ----
ok 'an agent of this machine' start_agent near --scenario "$DATA/idle.scenario"
is "$(listed near class)" live 'is live'
ok 'is killed' kill_agent near
gt near -L main --json
is "$RC" 0 'and comes back'

# ---- a real sshd ----
rm "$W/bin/ssh"
SSHD=$(PATH=$PATH:/usr/sbin command -v sshd)
if [ -z "$SSHD" ] || ! command -v ssh ssh-keygen >/dev/null || { [ ! -d /run/sshd ] && ! mkdir /run/sshd 2>/dev/null && [ "$(id -u)" = 0 ]; }; then
	skip 'openssh-server is not installed' 10
else
	ssh-keygen -q -t ed25519 -N '' -f "$W/host_key" && ssh-keygen -q -t ed25519 -N '' -f "$W/key"
	cp "$W/key.pub" "$W/authorized"
	listen() {	# on a port that is free
		PORT=$((20000 + RANDOM % 20000))
		"$SSHD" -D -e -f /dev/null -h "$W/host_key" -p $PORT -o ListenAddress=127.0.0.1 -o AuthorizedKeysFile="$W/authorized" -o StrictModes=no \
			-o UsePAM=no -o PidFile=none -o PermitRootLogin=yes 2>"$W/sshd.log" &
		PIDS+=($!)
		disown
		until_ 5 grep -q 'listening on\|Cannot bind' "$W/sshd.log" && ! grep -q 'Cannot bind' "$W/sshd.log"
	}
	listen || listen || listen
	printf 'Host box\n HostName 127.0.0.1\n Port %s\n IdentityFile %s\n IdentitiesOnly yes\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n' \
		"$PORT" "$W/key" >"$W/ssh_config"
	there="env HOME=$HOME FAKE_AGENT_LOG=$(agent_dir real) $W/bin/claude --dangerously-skip-permissions"
	ok 'an agent behind a real ssh' start_agent real --shell --command "ssh -F $W/ssh_config -t box $there"
	until_ 10 pane_shows real 'Claude Code'
	refused_as real 'ssh box' "ssh -t -F $W/ssh_config box gt-recover"
	is "$(agent_pid real)" '' 'its process is none of the pane'
	far=$(pgrep -f -- "^$W/bin/claude --dangerously-skip-permissions$")
	kill -9 "$far"
	ok 'it is killed there, and the connection ends with it' until_ 10 pane_is real '#{pane_current_command}' bash
	refused_as real 'ssh box' "ssh -t -F $W/ssh_config box gt-recover"
	gt --all --yes -L main
	is "$(agent_starts real)" 1 'and it is not started here'
fi
done_testing
