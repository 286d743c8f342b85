#!/bin/bash
# What stands beside a crashed agent is not taken for one: other panes share its directory, its session's environment and, on
# another server, its pane id.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
mkdir -p "$W/proj"
cat >"$W/command.toml" <<'TOML'
[recovery]
spacing = "0s"
[recovery.agents.claude]
command = "claude --dangerously-skip-permissions"
TOML
cat >"$W/bin/deploy" <<SH
#!/bin/sh
echo once >>"$W/deployed"
exit 3
SH
chmod +x "$W/bin/deploy"

pane() {	# SESSION OPTION... COMMAND: any pane, in the project
	local session=$1
	shift
	mkdir -p "$(agent_dir "$session")"
	tm new-session -d -s "$session" -c "$W/proj" -x 100 -y 30 -P -F '#{pane_id}' "$@" >"$(agent_dir "$session")/pane"
}

recoverable() {	# SESSION OPTION...: "(none)" when it is not listed at all
	local session=$1
	shift
	gt list -L main --json "$@"
	printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne 'BEGIN { $main::name = shift @ARGV }
		$_ = (grep { $_->{name} eq $main::name } @{decode_json($_)->{sessions}})[0]; print !$_ ? "(none)" : $_->{refusal} // "yes"' "$session"
}

ok 'an agent works in a project' start_agent toast --cwd "$W/proj" --scenario "$DATA/work.scenario"
ok 'in the middle of a command' until_ 10 pane_shows toast 'test 7 ok'
ok 'it is killed' kill_agent toast
pane dep 'deploy now'
ok 'a command that was run in the same directory has failed' until_ 5 pane_is dep '#{pane_dead}' 1
pane polecat -e GT_ROLE=gt/polecats/polecat 'deploy now'
ok 'and one in a session that is meant for an agent' until_ 5 pane_is polecat '#{pane_dead}' 1
pane shell
ok 'a person has a shell there' until_ 5 pane_shows shell '[$#]'
shell=$(tm display-message -p -t "$(agent_pane shell)" '#{pane_pid}')

is "$(recoverable toast)" yes 'the agent can be recovered'
is "$(recoverable dep)" '(none)' 'the command is no agent'
is "$(recoverable polecat)" unsure 'the one in the session of an agent only when a person says so'
is "$(recoverable shell --config "$W/command.toml")" '(none)' 'the shell is no agent'

# a note that names the same pane of another server
pid=$(find "$HOME/.claude/sessions" -name '*.json' | sed 's/.*\///; s/\.json//')
note=$HOME/.claude/sessions/$pid.json
sed -i "s|\"status\"|\"tmux\":\"elsewhere:@0.$(agent_pane shell)\",\"status\"|; s|\"cwd\":\"[^\"]*\"|\"cwd\":\"/\"|" "$note"
is "$(recoverable shell --config "$W/command.toml")" '(none)' 'nor when another session had a pane with its id'
sed -i "s|elsewhere:|shell:|" "$note"
touch -d '2001-01-01' "$note"
is "$(recoverable shell --config "$W/command.toml")" '(none)' 'nor when a server before this one had'
touch "$note"
is "$(XDG_STATE_HOME=$W/other recoverable shell --config "$W/command.toml")" yes 'but when the note is of its own pane'
rm "$note"

gt --all --yes -L main --config "$W/command.toml" --json
is "$RC $(json '{recovered}') $(json '{results}[0]{session}') $(json '{results}[1]{error}{name}')" '0 1 toast unsure' '--all brings back the agent alone, and names what it left'
is "$(wc -l <"$W/deployed")" 2 'no command was run again'
is "$(tm display-message -p -t "$(agent_pane shell)" '#{pane_pid}')" "$shell" 'and the shell is the same process'
done_testing
