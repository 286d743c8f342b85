#!/bin/bash
# The real Claude Code with /recovery:status and /recovery:resume: the first one puts what gt-recover prints before the model, the second one what
# a person typed and what to do.
# shellcheck source=tests/agent/claude.sh
. "$(dirname "$0")/claude.sh"
CACHE=$(claude_cache) REAL_HOME=$HOME
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

program=$(claude_install "$CACHE" "$REAL_HOME") || skip_all "the real Claude Code is out of reach: $program"
ln -sf -- "$program" "$W/bin/claude"
dir=$(agent_dir bound)/cwd
mkdir -p "$dir"
printf '{"answers": [], "otherwise": "I see."}\n' >"$W/scenario.json"
node "$MODEL" serve --scenario "$W/scenario.json" --requests "$W/requests" --port-file "$W/port" --log "$W/log" >"$W/model.log" 2>&1 &
PIDS+=($!)
until_ 10 test -s "$W/port" || { note "$(cat "$W/model.log")" && fail 'the model is up' && done_testing; }
claude_home "$W/bound" "$dir"
claude_env "$W/bound" "$(cat "$W/port")"
for word in "${CLAUDE_ENV[@]}" "XDG_STATE_HOME=$XDG_STATE_HOME" "XDG_CONFIG_HOME=$XDG_CONFIG_HOME"; do
	args+=(--env "$word")
done

printf '{"name": "A shop", "lastCheckpoint": "2025-10-10T20:45:30Z", "sprints": [{"id": "cart", "status": "in_progress", "progress": 80}]}' >"$W/in"
gt_in "$W/in" checkpoint epic shop
is "$RC" 0 'an epic was interrupted'
HOME=$W/bound gt install binding
is "$RC" 0 'the commands are installed'

asked_with() {	# TEXT: the model was sent it
	grep -qrsF -- "$1" "$W/requests"
}
box_is() {	# EXTENDED-REGEXP
	pane_text bound | grep -Eq "^[❯>].$1"
}

ok 'claude starts' start_agent bound --no-wait --command 'claude' "${args[@]}"
ok 'it is ready' until_ 20 box_is ''
type_it() {	# a menu opens meanwhile
	tm send-keys -t "$(agent_pane bound)" -l -- "$1"
	until_ 20 box_is "$1" && tm send-keys -t "$(agent_pane bound)" Enter
}

ok 'a person asks' type_it '/recovery:status'
ok 'the model is given what gt-recover prints' until_ 20 asked_with 'Found 1 interrupted epic'
ok 'all of it' asked_with 'Epic: A shop'
ok 'and what to do' asked_with 'Start nothing yourself'
ok 'without a question' until_ 20 pane_shows bound 'I see\.'
ok 'and goes on' type_it '/recovery:resume shop --sprints 1'
ok 'the model is given what the person typed' until_ 20 asked_with 'behind the command: shop --sprints 1'
ok 'and the plan to show first' asked_with "$GT_RECOVER epic resume --dry-run EPIC"
done_testing
