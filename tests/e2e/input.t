#!/bin/bash
# Nothing but the agent ever reads the prompt: no shell before it, behind it or in its place runs what stood on the screen.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# a template whose every line would do something in a shell
cat >"$W/trap.toml" <<TOML
[recovery]
ready_timeout = "3s"
ack_timeout = "3s"
[recovery.prompts]
template = "touch '$W/executed'\\n{{.Exchanges}}\\ntouch '$W/executed'\\n"
TOML

crash() {	# SESSION OPTION...
	start_agent "$@" --scenario "$DATA/work.scenario" && until_ 10 pane_shows "$1" 'test 7 ok' && kill_agent "$1"
}

ran_nothing() {	# WHAT
	not_ok "$1: the prompt was not run" test -e "$W/executed"
	not_ok "$1: nor read by a shell" pane_shows "$2" 'command not found|syntax error|unexpected'
}

ok 'an agent with a shell behind it is killed' crash behind --wrapper
ok 'it is a zombie' until_ 5 listed_is behind class zombie
agent_plan behind --die-at-once=7
gt behind -L main --config "$W/trap.toml"
is "$RC" 1 'the new agent dies before it reads anything'
ran_nothing 'a shell behind the agent' behind
ok 'that shell waits for a person' pane_shows behind 'bash-[0-9.]+[$#] *$'
tm kill-session -t =behind

mkdir -p "$(agent_dir placed)/cwd"
printf '%s\n' "--scenario $DATA/work.scenario" >"$(agent_dir placed)/plan"
tm new-session -d -s placed -x 100 -y 30 -c "$(agent_dir placed)/cwd" -P -F '#{pane_id}' -e "FAKE_AGENT_LOG=$(agent_dir placed)" \
	-e "FAKE_AGENT_PLAN=$(agent_dir placed)/plan" 'bash --norc --noprofile' >"$(agent_dir placed)/pane"
tell_agent placed claude
ok 'a pane that was started with a shell, where a person started an agent' until_ 10 pane_shows placed 'test 7 ok'
ok 'which is killed' kill_agent placed
ok 'is a zombie' until_ 5 listed_is placed class zombie
gt placed -L main --config "$W/trap.toml" --json
is "$RC" 0 'it comes back in that shell'
kill_agent placed
ran_nothing 'a shell in its place' placed

# a start-up file that goes over to another shell, as people do who may not change their login shell
cp "$HOME/.bash_profile" "$W/profile"
# shellcheck disable=SC2016	# it is the shell of the pane that reads it
printf '[ ! -e "$HOME/over" ] || { read -rt 1 line; echo "read: $line" >>"$HOME/over"; exec sh; }\n' >>"$HOME/.bash_profile"
ok 'an agent that a person typed is killed' crash typed --shell
ok 'it is a zombie' until_ 5 listed_is typed class zombie
touch "$HOME/over"
cat "$W/trap.toml" - >"$W/typed.toml" <<'TOML'
[recovery.agents.claude]
command = "claude --dangerously-skip-permissions"
TOML
gt typed -L main --config "$W/typed.toml" --respawn
not_ok 'start-up files that never come to the agent make the recovery fail' test "$RC" = 0
ran_nothing 'a shell in a start-up file' typed
is "$(sort -u "$HOME/over")" 'read: ' 'and a start-up file that reads gets nothing of it'
cp "$W/profile" "$HOME/.bash_profile"

# a start command that is too involved to say what reads its input: told by a paste
ok 'an agent behind a condition is killed' crash involved --command 'sh -c "[ -t 0 ] || sh; exec claude --dangerously-skip-permissions"'
gt involved -L main --json
is "$RC $(json '{results}[0]{delivery}')" '0 paste' 'it comes back and is told by a paste'
is "$(messages involved)" 1 'once'
done_testing
