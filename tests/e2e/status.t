#!/bin/bash
# status: the number of crashed agents by records and the kernel, without tmux; with auto_recover it starts one patrol in the background, as the
# hook of `arm` does when a pane dies.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
mkdir -p "$XDG_CONFIG_HOME/gt-recover"
config() {	# LINES...
	printf '%s\n' '[recovery]' 'spacing = "0s"' "$@" >"$XDG_CONFIG_HOME/gt-recover/gt.toml"
}
starts_are() {	# SESSION COUNT
	[ "$(agent_starts "$1")" = "$2" ]
}
status_is() {	# TEXT
	gt status -L main
	[ "$RC $OUT$ERR" = "0 $1" ]
}
no_patrol() {	# nobody holds the lock, nobody waits for it
	! compgen -G "$XDG_STATE_HOME/gt-recover/locks/patrol*.lock" >/dev/null
}

# ---- the number ----
config
gt status
is "$RC $OUT$ERR" '0 ' 'without records it prints nothing'
not_ok '  and makes nothing' test -e "$XDG_STATE_HOME/gt-recover"
ok 'an agent works in a pane' start_agent toast --scenario "$DATA/idle.scenario"
ok '  and one in a shell, typed by a person' start_agent shelly --shell --scenario "$DATA/idle.scenario"
gt snapshot -L main
gt status -L main
is "$RC $OUT$ERR" '0 ' 'nothing crashed: it prints nothing'
# a tmux that answers nothing: status must not ask it
printf '#!/bin/sh\necho asked >>%s\nexit 1\n' "$W/asked" >"$W/bin/tmux"
chmod +x "$W/bin/tmux"
gt status -L main
is "$RC $OUT$ERR" '0 ' '  also without a tmux'
rm -f "$W/bin/tmux"
ok 'the one in the shell is killed' kill_agent shelly
gt status -L main
is "$RC $OUT$ERR" '0 1 crashed' 'one crashed, which no pass has seen yet'
ok 'the other is killed' kill_agent toast
printf '#!/bin/sh\necho asked >>%s\nexit 1\n' "$W/asked" >"$W/bin/tmux"
chmod +x "$W/bin/tmux"
gt status -L main
is "$RC $OUT$ERR" '0 2 crashed' 'two crashed'
gt status -L main --json
is "$RC $(json '{schema_version}') $(json '{crashed}') $(json '{patrol_started}') $(json '{sessions}')" '0 2 2 false 2' '--json is one object'
not_ok '  tmux was not asked' test -e "$W/asked"
rm -f "$W/bin/tmux"
gt snapshot -L main
ok 'a pass that saw them changes nothing' status_is '2 crashed'
gt help
unlike "$OUT" 'gt-recover status' 'help does not list it'
gt status toast
is "$RC" 2 'it takes no session'

# ---- exits and closed panes ----
ok 'an agent works' start_agent leaves --scenario "$DATA/idle.scenario"
gt snapshot -L main
tm kill-session -t leaves
gt snapshot -L main
ok 'a pane that was closed does not count' status_is '2 crashed'

# ---- one patrol in the background ----
ok 'no patrol was started so far' starts_are toast 1
config 'auto_recover = true'
gt status -L main
is "$RC $OUT$ERR" '0 2 crashed' 'auto_recover: the number as before'
ok '  both agents start again' until_ 30 starts_are toast 2
ok '  also in the shell' until_ 30 starts_are shelly 2
ok '  the patrol ends' until_ 30 no_patrol
ok '  nothing is crashed any more' status_is ''
is "$(messages toast) $(messages shelly)" '1 1' '  each got its prompt once'
gt log --json
is "$(grep -c '"kind": "crash.seen"' <<<"$OUT")" 2 '  each crash was seen once'

# ---- a typed agent that dies again, and one pass for many calls ----
ok 'the one in the shell is killed again' kill_agent shelly
for _ in 1 2 3 4 5; do "$GT_RECOVER" status -L main >/dev/null & done
wait
ok 'five calls at once: it starts again' until_ 30 starts_are shelly 3
ok '  the patrol ends' until_ 30 no_patrol
is "$(agent_starts shelly) $(messages shelly)" '3 2' '  once'

# ---- the hook ----
gt arm -L main toast --config "$XDG_CONFIG_HOME/./gt-recover/gt.toml"
gt arm -L main toast
is "$RC $(tm show-options -w -t "$(agent_pane toast)" pane-died | wc -l)" '0 1' 'arming with another command replaces the hook'
is "$RC" 0 'the pane is armed'
ok 'the agent in the pane is killed' kill_agent toast
wake
ok 'the hook has it started again, without any call' until_ 30 starts_are toast 3
ok '  the patrol ends' until_ 30 no_patrol
is "$(messages toast)" 2 '  with its prompt'
gt log --json
is "$(grep -o '"kind": "\(crash.seen\|attempt.respawned\)"' <<<"$OUT" | tail -2 | tr -d '\n')" \
	'"kind": "crash.seen""kind": "attempt.respawned"' '  the crash was noted before the agent was started'
config
ok 'without auto_recover the agent is killed' kill_agent toast
wake
ok '  status says so' until_ 10 status_is '1 crashed'
ok '  no patrol is started' no_patrol
is "$(agent_starts toast)" 3 '  and the agent is not'
done_testing
