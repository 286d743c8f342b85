#!/bin/bash
# Epics of the real Claude Code: a workflow with one agent finished and one at work, and an agent team with one task done, one half written
# and one blocked. All are killed with the tmux server. epic status shows both though nobody ever wrote a checkpoint; epic resume ends with
# the work done by the right agents, and nothing done twice.
# shellcheck source=tests/agent/claude.sh
. "$(dirname "$0")/claude.sh"
CACHE=$(claude_cache) REAL_HOME=$HOME
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

program=$(claude_install "$CACHE" "$REAL_HOME" 2.1.332) || skip_all "the real Claude Code is out of reach: $program"
ln -sf -- "$program" "$W/bin/claude"
mkdir -p "$XDG_CONFIG_HOME/gt-recover"
printf '[recovery]\nspacing = "0s"\n' >"$XDG_CONFIG_HOME/gt-recover/gt.toml"

WORK=$W/work
mkdir -p "$WORK"
cat >"$W/scenario.json" <<JSON
{"answers": [
	{"when": "AGENT-ONE", "content": [{"text": "One is reviewed."}]},
	{"when": "AGENT-TWO", "turns": [[{"text": "Two writes."}, {"tool": "Write", "input": {"file_path": "$WORK/two.txt", "content": "half\n"}}],
		[{"tool": "Bash", "input": {"command": "until [ -e $WORK/go ]; do sleep 0.2; done", "description": "Wait", "timeout": 590000}}], [{"text": "Two is done."}]]},
	{"when": "AGENT-THREE", "content": [{"text": "Three verified."}]},
	{"when": "gtr-[0-9a-f]{16}[\\\\s\\\\S]*resumeFromRunId", "content": [{"text": "I relaunch it."}, {"tool": "Workflow", "input": {"scriptPath": "SCRIPT", "resumeFromRunId": "RUN"}}]},
	{"when": "gtr-[0-9a-f]{16}[\\\\s\\\\S]*#2 Write bob.txt", "turns": [[{"text": "I go on."}, {"tool": "Write", "input": {"file_path": "$WORK/bob-2.txt", "content": "whole\n"}}],
		[{"tool": "TaskUpdate", "input": {"taskId": "2", "status": "completed"}}], [{"text": "Bob is done."}]]},
	{"when": "gtr-[0-9a-f]{16}", "content": [{"text": "I know where I was and go on."}]},
	{"when": "ALICE-TASK", "turns": [[{"tool": "TaskUpdate", "input": {"taskId": "1", "status": "in_progress", "owner": "alice"}}],
		[{"tool": "TaskUpdate", "input": {"taskId": "1", "status": "completed"}}], [{"text": "Alice is done."}]]},
	{"when": "BOB-TASK", "turns": [[{"tool": "TaskUpdate", "input": {"taskId": "2", "status": "in_progress", "owner": "bob"}}],
		[{"tool": "Write", "input": {"file_path": "$WORK/bob.txt", "content": "half\n"}}],
		[{"tool": "Bash", "input": {"command": "until [ -e $WORK/go ]; do sleep 0.2; done", "description": "Wait", "timeout": 590000}}], [{"text": "Bob is done."}]]},
	{"when": "run the workflow", "content": [{"text": "Starting."}, {"tool": "Workflow", "input": {"script": "export const meta = { name: 'audit-things', description: 'Audit the things', phases: [{ title: 'Review' }, { title: 'Verify', detail: 'check them' }] }\nphase('Review')\nconst [a, b] = await parallel([() => agent('AGENT-ONE review the code', {label: 'review:one', phase: 'Review'}), () => agent('AGENT-TWO review the docs', {label: 'review:two', phase: 'Review'})])\nphase('Verify')\nconst c = await agent('AGENT-THREE verify', {label: 'verify', phase: 'Verify'})\nreturn {a, b, c}\n"}}]},
	{"when": "found the team", "turns": [[{"text": "Founding."}, {"tool": "TaskCreate", "input": {"subject": "Count the sheep", "description": "All of them"}},
		{"tool": "TaskCreate", "input": {"subject": "Write bob.txt", "description": "The file"}}, {"tool": "TaskCreate", "input": {"subject": "Check bob.txt", "description": "after it"}}],
		[{"tool": "TaskUpdate", "input": {"taskId": "3", "addBlockedBy": ["2"], "owner": "alice"}},
		{"tool": "Agent", "input": {"description": "count sheep", "prompt": "ALICE-TASK: count the sheep", "name": "alice", "subagent_type": "general-purpose"}},
		{"tool": "Agent", "input": {"description": "write", "prompt": "BOB-TASK: write bob.txt", "name": "bob", "subagent_type": "general-purpose"}}], [{"text": "The team works."}]]},
	{"when": "^tool_result", "content": [{"text": "The tool is done."}]}],
 "otherwise": "I see."}
JSON

serve() {	# [PORT]
	rm -f "$W/port"
	node "$MODEL" serve --scenario "$W/scenario.json" --requests "$W/requests" --port-file "$W/port" --port "${1:-0}" >"$W/model.log" 2>&1 &
	MODEL_PID=$!
	PIDS+=("$MODEL_PID")
	disown "$MODEL_PID"
	until_ 10 test -s "$W/port"
}
ok 'the model is up' serve || { note "$(cat "$W/model.log")" && done_testing; }

PORT=$(cat "$W/port")
args=()
for name in flow lead; do
	mkdir -p "$(agent_dir $name)/cwd"
	claude_home "$W/home" "$(agent_dir $name)/cwd"
	jq -s '.[0].projects += .[1].projects | .[0]' "$W/home/.claude.json" "$W/known.json" >"$W/both.json" 2>/dev/null && cp "$W/both.json" "$W/home/.claude.json"
	cp "$W/home/.claude.json" "$W/known.json"
done
claude_env "$W/home" "$PORT"
CLAUDE_ENV+=(CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1)
for word in "${CLAUDE_ENV[@]}"; do
	args+=(--env "$word")
done
idle() {	# AGENT
	grep -qs '"status":"idle"' "$W/home/.claude/sessions/$(agent_pid "$1").json"
}
export HOME=$W/home		# gt-recover is run by the same person

start_agent flow --no-wait --command "$W/bin/claude --dangerously-skip-permissions" "${args[@]}"
for word in "${CLAUDE_ENV[@]}"; do
	tm set-environment -g "${word%%=*}" "${word#*=}"
done
start_agent lead --no-wait --command "$W/bin/claude --dangerously-skip-permissions --teammate-mode tmux --model claude-sonnet-4-5" "${args[@]}"
ok 'two sessions start' until_ 90 eval 'idle flow && idle lead'
tell_agent flow 'Please run the workflow.'
tell_agent lead 'Please found the team.'
ok 'an agent of the workflow has written half a file' until_ 90 test -s "$WORK/two.txt"
ok 'so has bob' until_ 90 test -s "$WORK/bob.txt"
journal=$(echo "$W"/home/.claude/projects/*/*/subagents/workflows/wf_*/journal.jsonl)
RUN=$(basename "$(dirname "$journal")")
SCRIPT=$(echo "$W"/home/.claude/projects/*/*/workflows/scripts/*.js)
LEAD_ID=$(sed -n 's/.*"sessionId":"\([^"]*\)".*/\1/p' "$W/home/.claude/sessions/$(agent_pid lead).json")
TEAM=session-${LEAD_ID%%-*}
ok 'one agent of the workflow has finished' until_ 60 grep -q '"type":"result"' "$journal"
ok 'alice has finished her task' until_ 60 grep -qs completed "$W/home/.claude/tasks/$TEAM/1.json"
gt epic status "$RUN"
like "$RC $OUT" "^0 .*ID: $RUN.*Sprint 1 \(Review\): IN PROGRESS \(50%\).*Steps completed: 1/2.*! review:two.*Sprint 2 \(Verify\): WAITING.*An agent is running" \
	'the workflow is shown while it runs'
gt epic status "$TEAM"
like "$RC $OUT" "^0 .*Steps completed: 1/3.*! Write bob.txt \(bob@$TEAM\).*- Check bob.txt \(alice@$TEAM\), waits for 2.*An agent is running" 'so is the team'
gt epic status
is "$RC $OUT" '0 Found no interrupted epic.' 'neither is interrupted'

# ---- all is killed at one blow, after one pass of the timer ----
ok "the timer's pass" gt snapshot -L "$SOCKET"
mapfile -t all < <(tm list-panes -a -F '#{?pane_dead,,#{pane_pid}}' | grep . && tm display-message -p '#{pid}')
kill -9 "${all[@]}"
until_ 10 eval '! tm list-sessions >/dev/null 2>&1'
kill -9 "$MODEL_PID"
sed -i "s|SCRIPT|$SCRIPT|; s|RUN\"|$RUN\"|" "$W/scenario.json"
rm -rf "$W/requests"
# a teammate's start command names the model's address: the same port again
ok 'the model is up again' serve "$PORT"
export "${CLAUDE_ENV[@]}" CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1
gt epic status
like "$RC $OUT" "^0 Found 2 interrupted epics:.*ID: $TEAM.*Sprint 1 \(tasks\): INTERRUPTED \(33%\).*! Write bob.txt.*ID: $RUN.*Sprint 1 \(Review\): INTERRUPTED \(50%\)" \
	'both are interrupted'
unlike "$OUT" 'Estimated work loss: unknown' 'with what of each was lost'
gt -L "$SOCKET" epic resume "$RUN" --dry-run
like "$RC $OUT" '^0 .*Resuming at 50%.*Agents: [0-9a-f-]+' 'the plan for the workflow'
gt -L "$SOCKET" epic resume "$TEAM" --dry-run
like "$RC $OUT" "^0 .*Agents: team-lead@$TEAM, bob@$TEAM, alice@$TEAM" 'the plan for the team: the lead first'

touch "$WORK/go"
gt -L "$SOCKET" epic resume "$RUN" --yes
like "$RC $OUT" '^0 .*Active sprints' 'the workflow is resumed'
[ "$RC" = 0 ] || note "$ERR"
ok '  and ends' until_ 60 test -s "$(dirname "$SCRIPT")/../$RUN.json"
is "$(grep -c '"type":"result"' "$journal")" 3 '  with a result of each agent'
is "$(grep -l 'follows:.n  AGENT-ONE' "$W"/requests/* 2>/dev/null | wc -l)" 0 '  what was done is not done again'
gt -L "$SOCKET" epic resume "$TEAM" --yes
like "$RC $OUT" '^0 .*Active sprints' 'the team is resumed'
[ "$RC" = 0 ] || note "$ERR"
ok '  bob ends his task' until_ 60 grep -qs completed "$W/home/.claude/tasks/$TEAM/2.json"
ok '  alice, whose next task waits for it, is back, too' until_ 60 grep -qs 'You are its agent alice@' "$W"/requests/*
is "$(grep -c half "$WORK/bob.txt")" 1 '  and what was there of the file is there'
gt epic status "$RUN"
like "$OUT" 'Review\): COMPLETE.*Verify\): COMPLETE|not interrupted' 'the workflow is over'
done_testing
