#!/bin/bash
# No tmux server, no snapshot, no record: the conversations that agents have recorded are listed, with the command that resumes each.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cat >"$W/colour.scenario" <<'EOT'
user Paint the walls in heliotrope.
assistant The walls are painted.
end
EOT
mkdir -p "$W/proj/my house"
ok 'an agent' start_agent one --scenario "$DATA/idle.scenario"
ok 'another one' start_agent two --scenario "$W/colour.scenario" --cwd "$W/proj/my house"
until_ 10 pane_shows one 'Six calls were changed' && until_ 10 pane_shows two 'walls are painted'
id=$(grep -ho '"sessionId":"[^"]*"' "$HOME/.claude/projects"/*house/*.jsonl | head -n 1 | cut -d '"' -f 4)
gt list --past --json -L main
is "$RC $(json '{conversations}')" '0 2' 'both are found while they live'
is "$(json '{conversations}[0]{in_use}')" true 'and in use'
ok 'both die' kill_agent one
kill_agent two
tm kill-server 2>/dev/null
rm -rf "$XDG_STATE_HOME/gt-recover"

# ---- nothing knows of them ----
gt list
is "$RC $OUT" '0 ' 'a list without a server is empty'
like "$ERR" 'gt-recover list --past' 'and shows the way'
gt
is "$RC" 0 'nothing is no failure'
like "$ERR" 'gt-recover list --past' 'nor without a command'
gt --dry-run
is "$RC $ERR" '4 Nothing to recover: no tmux server runs.' 'a plan of nothing says so'
gt --dry-run --json
is "$RC $(json '{sessions}')" '4 0' 'and as JSON'
gt --all --yes
is "$RC" 4 '--all has nothing to recover'
gt one
like "$RC $ERR" '^4 .*no agent session named "one"' 'a session that was named is missed'
gt list -L nowhere
is "$RC" 1 'and so is a server that was named'

# ---- the list ----
gt list --past
is "$RC" 0 'the conversations are listed'
like "$OUT" "proj/my house, [0-9]+s ago, claude
  first: Paint the walls in heliotrope\.
  last:  The walls are painted\.
  cd '[^']*/proj/my house' && claude --resume $id" 'with directory, age, first and last message, and the command'
like "$OUT" 'first: Rename the function foo to bar' 'both of them'
gt list --past HELIOTROPE --json
is "$RC $(json '{conversations}') $(json '{conversations}[0]{id}')" "0 1 $id" 'a text finds one'
is "$(json '{conversations}[0]{directory}') $(json '{conversations}[0]{in_use}')" "$(cd "$W/proj/my house" && pwd -P) false" 'with its directory'
command=$(json '{conversations}[0]{command}')
gt list --past 'no such words'
is "$RC $OUT" '0 ' 'another text finds none'
gt list heliotrope
is "$RC" 2 'a text is for --past'
mkdir -p "$(agent_dir again)"
tm new-session -d -s again -x 100 -y 30 -e "FAKE_AGENT_LOG=$(agent_dir again)" -P -F '#{pane_id}' 'exec bash --norc --noprofile' \
	>"$(agent_dir again)/pane"
tm send-keys -t "$(agent_pane again)" -l "$command" \; send-keys -t "$(agent_pane again)" Enter
ok 'the command resumes that conversation' until_ 10 _event again '^ready'
is "$(tr '\0' ' ' <"/proc/$(agent_pid again)/cmdline" | grep -o -- "--resume $id")" "--resume $id" 'by its id'
done_testing
