#!/bin/bash
# No start that failed is the last one: a session that is named is tried again, whatever became of the tries before.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
cat >"$W/gt.toml" <<'TOML'
[recovery]
spacing = "0s"
max_attempts = 2
TOML
with=(-L main --config "$W/gt.toml")
error_is() {
	json '{results}[0]{error}{name}'
}
phase_is() {
	json '{results}[0]{phase}'
}

# ---- a start that failed, with the shell behind it ----
ok 'an agent with a shell behind it' start_agent alpha --wrapper --scenario "$DATA/idle.scenario"
until_ 10 pane_shows alpha 'Six calls were changed'
ok 'it is killed' kill_agent alpha
ok 'it is a zombie' until_ 5 listed_is alpha class zombie
agent_plan alpha --die-at-once=3
gt "${with[@]}" alpha --json
is "$RC $(error_is)" '1 died' 'its start fails'
tm send-keys -t "$(agent_pane alpha)" -l 'clear' \; send-keys -t "$(agent_pane alpha)" Enter \; clear-history -t "$(agent_pane alpha)"
until_ 5 listed_is alpha class zombie
is "$(listed alpha class)" zombie 'the shell that is left still counts as its'
gt "${with[@]}" alpha --json
is "$RC $(phase_is) $(messages alpha)" '0 acknowledged 1' 'named, it is tried again, and comes back'

# ---- only the recovery knows ----
ok 'an agent that nobody saw alive' start_agent beta --wrapper --scenario "$DATA/idle.scenario"
ok 'is killed' kill_agent beta
ok 'its shell is back' until_ 10 pane_is beta '#{pane_current_command}' bash
agent_plan beta --die-at-once=3
gt "${with[@]}" beta --json
is "$RC $(error_is)" '1 died' 'its start fails'
ok 'what was seen of it is gone' sql_record "$XDG_STATE_HOME/gt-recover/recover.db" "delete from record where key like 'seen:%'"
rm -rf "$HOME/.claude/sessions"
tm send-keys -t "$(agent_pane beta)" -l 'clear' \; send-keys -t "$(agent_pane beta)" Enter \; clear-history -t "$(agent_pane beta)"
ok 'it is not forgotten' until_ 5 listed_is beta class zombie
gt "${with[@]}" beta --json
is "$RC $(phase_is) $(messages beta)" '0 acknowledged 1' 'named, it comes back'

# ---- an idle shell in which nothing shows that an agent ever ran ----
mkdir -p "$(agent_dir doubt)"
tm new-session -d -s doubt -x 100 -y 30 -e GT_ROLE=gt/polecats/doubt -e "FAKE_AGENT_LOG=$(agent_dir doubt)" -P -F '#{pane_id}' \
	'exec bash --norc --noprofile' >"$(agent_dir doubt)/pane"
ok 'a shell that is meant for an agent' until_ 5 pane_is doubt '#{pane_current_command}' bash
gt "${with[@]}" doubt
like "$RC $ERR" '^6 .*gt-recover --force SESSION' 'is refused, with the way out'
gt "${with[@]}" --force
is "$RC" 2 '--force needs a name'
gt "${with[@]}" --force --all --yes
is "$RC" 2 'and is not for all'
gt "${with[@]}" --force doubt --dry-run
like "$RC $OUT" '^0 would recover doubt' '--force would recover it'
gt "${with[@]}" --force doubt --json
is "$RC $(phase_is)" '0 acknowledged' 'and does'
ok 'an agent lives there now' test -n "$(agent_pid doubt)"
gt "${with[@]}" --force doubt --json
is "$RC $(error_is)" '6 live' 'a living agent is not forced'

# ---- a shell that is busy for a moment, as on a loaded machine after a kill ----
printf '[recovery]\nvia = "inject"\nspacing = "0s"\n' >"$W/inject.toml"
slow_shell() {	# SESSION SECONDS: an agent in a shell that works for so long before its prompt comes back
	start_agent "$1" --shell --command "claude; sleep $2" --scenario "$DATA/idle.scenario" && until_ 10 pane_shows "$1" 'Six calls were changed'
}
ok 'an agent in a shell with a slow prompt' slow_shell slow 1
ok 'it is killed' kill_agent slow
gt -L main --config "$W/inject.toml" slow --json
is "$RC $(phase_is)" '0 acknowledged' 'named at once, it comes back'
ok 'one more' slow_shell prompted 1
ok 'it is killed' kill_agent prompted
gt prompt -L main --via inject prompted
like "$RC $OUT" '^0 .*agent died, shell still open' 'its prompt is made as one of a dead agent'
ok 'one whose prompt takes longer' slow_shell slower 300
ok 'it is killed' kill_agent slower
gt -L main --config "$W/inject.toml" slower --json
is "$RC $(error_is)" '6 unknown' 'a shell that stays busy is not waited for'

# ---- a busy shell is none ----
ok 'one more shell' tm new-session -d -s busy -x 100 -y 30 -e GT_ROLE=gt/polecats/busy 'exec sleep 1000'
gt "${with[@]}" --force busy --json
is "$RC $(error_is)" '6 unknown' 'a pane whose shell is not idle is left alone'
done_testing
