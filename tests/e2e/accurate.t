#!/bin/bash
# What the prompt says is so: drafts, deaths and what died with the session, over several crashes.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
often
printf 'spacing = "0s"\n' >>"$XDG_CONFIG_HOME/gt-recover/gt.toml"

# ---- a draft, and three crashes ----
ok 'an agent works' start_agent nux --scenario "$DATA/idle.scenario"
tm send-keys -t "$(agent_pane nux)" -l 'please rename the wombat table before you'
ok 'a person types and does not send' until_ 10 pane_shows nux 'wombat table before you'
for i in 1 2 3; do
	ok "crash $i" kill_agent nux
	ok '  tmux knows by which signal: no shell stands between' listed_is nux signal 9
	gt prompt --via inject nux -L main
	like "$OUT" 'Typed by the user but never sent:' '  the draft is told'
	is "$(grep -c 'rename the wombat table' <<<"$OUT")" 1 '  once'
	unlike "$OUT" 'Killed|exec |bypass permissions on' "  and nothing of a shell's or of the box's"
	gt nux -L main --via inject
	is "$RC" 0 '  it is recovered'
done

# ---- a secret that stands on the screen and in the transcript ----
key=ghp_$(printf 'A1b2%.0s' 1 2 3 4 5 6 7 8 9)
printf 'user use the token %s for the upload\nassistant I use %s now.\nend\n' "$key" "$key" >"$W/secret.scenario"
ok 'an agent was told a secret' start_agent dill --scenario "$W/secret.scenario"
ok '  and said it again' until_ 10 pane_shows dill 'I use '
ok 'it is killed' kill_agent dill
gt prompt dill -L main --via inject
like "$OUT" '1 secret was replaced' '  it counts once, in however many places it stood'
unlike "$OUT" "$key" '  and is not told'

# ---- a shell stands between the pane and the agent, and ends with 137 ----
tm set-option -g remain-on-exit on
ok 'an agent below a shell works' start_agent wrap --command "sh -c 'claude; exit \$?'" --scenario "$DATA/idle.scenario"
ok 'it is killed' kill -9 "$(agent_pid wrap)"
ok '  the pane knows of 137 alone' until_ 5 eval "wake; pane_is wrap '#{pane_dead_status}' 137"
is "$(listed wrap crash_reason) $(listed wrap signal)" 'killed 9' '  which is a death by signal 9'
gt prompt wrap -L main --via inject
like "$OUT" 'crashed \(killed by signal 9 \(SIGKILL\)\)' '  and the agent is told so'
done_testing
