#!/bin/bash
# Started from cron or at boot, with a bare environment: an agent in ~/.local/bin or below nvm is found by its person's start-up files. What its
# environment lacks is named, never with a value.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
often
# what this machine sets of what agents need
for name in $(compgen -e | grep -E '(_KEY|_TOKEN|_BASE_URL|_PROXY|_proxy)$|^(AWS|GOOGLE|GEMINI|OPENAI|AZURE|VERTEX|CODEX|OPENCODE|NODE|SSL)_|^(VIRTUAL_ENV|CONDA_PREFIX)$'); do
	unset "$name"
done
NVM=$HOME/.nvm/versions/node/v22.1.0/bin
mkdir -p "$HOME/.local/bin" "$NVM"
mv "$W/bin/claude" "$HOME/.local/bin/claude"
profile() {	# DIRECTORY: of the programs that a person installed
	printf "PATH='%s:/usr/bin:/bin'\nPS1='dev\$ '\n" "$1" >"$HOME/.bashrc"
	printf '. "$HOME/.bashrc"\n' >"$HOME/.bash_profile"
}
cron() {	# ARGUMENTS: as cron runs it
	RC=0
	env -i HOME="$HOME" LOGNAME=root SHELL=/bin/sh PATH=/usr/bin:/bin TMUX_TMPDIR="$TMUX_TMPDIR" \
		"$GT_RECOVER" "$@" >"$W/out" 2>"$W/err" </dev/null || RC=$?
	OUT=$(cat "$W/out") ERR=$(cat "$W/err")
}
typed() {	# SESSION
	start_agent "$1" --shell --scenario "$DATA/work.scenario" --command "export ANTHROPIC_BASE_URL=http://localhost:1/ TEAM_API_KEY=sk-team-123456; claude --dangerously-skip-permissions" &&
		until_ 10 pane_shows "$1" 'test 7 ok'
}
kill_server() {
	local server last
	server=$(tm display-message -p '#{pid}') last=$(agent_pid "$1")
	kill -9 "$server"
	until_ 10 _gone "$server"
	until_ 10 _gone "$last"
}
find_pane() {	# SESSION
	tm list-panes -a -F '#{session_name} #{pane_id}' | awk -v s="$1" '$1 == s { print $2 }' | tail -n 1 >"$(agent_dir "$1")/pane"
}

for place in "$HOME/.local/bin" "$NVM"; do
	name=${place##*/.} name=${name%%/*}
	[ "$place" = "$NVM" ] && mv "$HOME/.local/bin/claude" "$NVM/claude"
	profile "$place"

	ok "$name: an agent is typed" typed "$name"
	cron snapshot -L main
	is "$RC" 0 '  cron takes a snapshot'
	kill_agent "$name"
	until_ 5 listed_is "$name" class zombie
	cron --all --yes -L main
	is "$RC $(readlink "/proc/$(agent_pid "$name")/exe")" "0 $place/claude" '  killed: cron brings it back in its shell'
	unlike "$ERR" 'environment lacks' '  with all that it had'

	cron snapshot -L main
	kill_server "$name"
	cron --all --yes -L main
	find_pane "$name"
	is "$RC $(readlink "/proc/$(agent_pid "$name")/exe")" "0 $place/claude" '  its server killed: cron brings it back with its session'
	like "$ERR" 'its environment lacks (ANTHROPIC_BASE_URL, TEAM_API_KEY|TEAM_API_KEY, ANTHROPIC_BASE_URL), which' '  and names what it lacks'
	tm kill-server
done
not_ok 'no value is kept' grep -rqs 'sk-team-123456' "$XDG_STATE_HOME/gt-recover"
done_testing
