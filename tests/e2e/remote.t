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
	like "$OUT" "$1 +remote .*$2
 +recover it there: $3" 'with the place and the command to run there'
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
done_testing
