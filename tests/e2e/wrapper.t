#!/bin/bash
# Agents that run behind a wrapper: one that passes its arguments on is kept and resumes; one that does not is kept where it sets variables, and the
# conversation is injected. A script in PATH that is replaced by the agent runs again.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
often
ARGS=--dangerously-skip-permissions
script() {	# PATH LINE...
	printf '%s\n' '#!/bin/sh' "${@:2}" >"$1"
	chmod +x "$1"
}
typed() {	# SESSION COMMAND
	start_agent "$1" --shell --scenario "$DATA/work.scenario" --command "$2" && until_ 10 pane_shows "$1" 'test 7 ok'
}
arguments() {	# SESSION
	tr '\0' ' ' <"/proc/$(agent_pid "$1")/cmdline"
}
variable() {	# SESSION NAME
	tr '\0' '\n' <"/proc/$(agent_pid "$1")/environ" | sed -n "s/^$2=//p"
}
talk_of() {	# SESSION
	sed 's/.*"sessionId":"\([^"]*\)".*/\1/' "$HOME/.claude/sessions/$(agent_pid "$1").json"
}
comes_back() {	# SESSION VIA
	[ "${3:-}" = missing ] || [ -z "$(agent_pid "$1")" ] || kill_agent "$1"
	until_ 5 listed_is "$1" class "${3:-zombie}"
	gt "$1" -L main --json
	is "$RC $(json '{results}[0]{via}')" "0 $2" "$1 comes back by $2"
	[ "$RC" = 0 ] || note "$ERR"
}

script "$W/bin/passes" 'TEAM_KEY=inside; export TEAM_KEY' "claude $ARGS \"\$@\"; true"
script "$W/bin/op" '[ "$1 $2" = "run --" ] || exit 9' 'shift 2' 'TEAM_KEY=vault; export TEAM_KEY' '"$@"; true'
script "$W/bin/hides" 'TEAM_KEY=hidden; export TEAM_KEY' "claude $ARGS; true"
script "$W/bin/plain" "claude $ARGS; true"
script "$W/bin/direnv" 'shift 2' 'TEAM_KEY=direnv; export TEAM_KEY' 'exec "$@"'

ok 'behind a script that passes its arguments on' typed passes 'passes --model opus'
ok 'behind a program that runs another' typed runs "op run -- claude $ARGS"
ok 'behind a script without arguments' typed hides hides
ok 'behind one that sets nothing' typed plain plain
declare -A talk
for n in passes runs hides plain; do
	talk[$n]=$(talk_of $n)
done
gt list -L main
kill_agent passes
kill_agent hides
until_ 5 listed_is hides class zombie
gt -n passes -L main
like "$OUT" "started by: .*/passes --model opus
 +\(its wrapper\)" 'the plan shows the wrapper'
gt -n hides -L main
like "$OUT" 'started by: .*/hides
 +\(.* it takes no arguments, so the conversation is injected\)' 'and what follows from it'
comes_back passes resume
is "$(arguments passes)" "claude $ARGS --resume ${talk[passes]} --model opus " '  with the id behind the script'
is "$(variable passes TEAM_KEY)" inside '  and what the script sets'
comes_back runs resume
is "$(arguments runs)" "claude --resume ${talk[runs]} $ARGS " '  with the id behind the agent'
is "$(variable runs TEAM_KEY)" vault '  and what the program gives'
comes_back hides inject
is "$(arguments hides) $(variable hides TEAM_KEY)" "claude $ARGS  hidden" '  by its script'
comes_back plain resume
is "$(arguments plain)" "claude --resume ${talk[plain]} $ARGS " '  without its script'
gt list -L main
comes_back runs resume
is "$(variable runs TEAM_KEY) $(agent_starts runs)" 'vault 3' '  also the second time'

# ---- the pane's own command, which the agent has replaced ----
ok 'started by direnv' start_agent direnv --command "direnv exec . claude $ARGS" --scenario "$DATA/work.scenario"
until_ 10 pane_shows direnv 'test 7 ok'
talk[direnv]=$(talk_of direnv)
gt list -L main
comes_back direnv resume dead
is "$(arguments direnv) $(variable direnv TEAM_KEY)" "claude --resume ${talk[direnv]} $ARGS  direnv" '  with what direnv sets'

# ---- a script in PATH by the agent's name ----
mkdir "$W/real"
mv "$W/bin/claude" "$W/real/claude"
script "$W/bin/claude" 'TEAM_KEY=path; export TEAM_KEY' "exec $W/real/claude \"\$@\""
ok 'by a script of its own name' typed path "claude $ARGS"
talk[path]=$(talk_of path)
gt list -L main
comes_back path resume
is "$(arguments path) $(variable path TEAM_KEY)" "$W/real/claude --resume ${talk[path]} $ARGS  path" '  by that script'

# ---- its session is gone, and comes back twice ----
find_pane() {
	tm list-panes -a -F '#{session_name} #{pane_id}' | awk -v s="$1" '$1 == s { print $2 }' | tail -n 1 >"$(agent_dir "$1")/pane"
}
mv "$W/real/claude" "$W/bin/claude"
talk[runs]=$(talk_of runs)
for i in 1 2; do
	gt snapshot -L main
	server=$(tm display-message -p '#{pid}') last=$(agent_pid runs)
	kill -9 "$server"
	until_ 10 _gone "$server"
	until_ 10 _gone "$last"
	comes_back runs resume missing
	find_pane runs
	is "$(arguments runs) $(variable runs TEAM_KEY)" "claude --resume ${talk[runs]} $ARGS  vault" "  by its wrapper, $i"
done

# ---- a value that nothing keeps ----
key=sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-abcdefghijklmnAA
for n in value gone; do
	ok "an agent with a secret among its arguments: $n" typed $n "export HEADER_KEY=$key; claude $ARGS --append-system-prompt \"it's \$HEADER_KEY\""
	talk[$n]=$(talk_of $n)
done
gt list -L main
kill_agent gone
tm send-keys -t "$(agent_pane gone)" -l ' unset HEADER_KEY' \; send-keys -t "$(agent_pane gone)" Enter
comes_back value resume
like "$(arguments value)" "--append-system-prompt it's $key \$" '  with the value of its shell'
not_ok '  which is kept nowhere' grep -rqs "$key" "$XDG_STATE_HOME/gt-recover"
until_ 5 listed_is gone class zombie
gt gone -L main
like "$RC $ERR" '^1 .*HEADER_KEY is not set in this shell' 'without it the variable is named'
is "$(agent_pid gone)" '' '  and nothing is started'
done_testing
