#!/bin/bash
# The real Claude Code with the hooks installed beside somebody's own: its session, its files, its sub-agents are known while it works, and after a
# kill -9 in the middle of a Write the recovered agent is told of that file by name.
# shellcheck source=tests/agent/claude.sh
. "$(dirname "$0")/claude.sh"
CACHE=$(claude_cache) REAL_HOME=$HOME
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
DB=$XDG_STATE_HOME/gt-recover/recover.db
# a machine that is busy with all the tests is slower than an agent's
export GT_HOOK_MS=10000

program=$(claude_install "$CACHE" "$REAL_HOME") || skip_all "the real Claude Code is out of reach: $program"
ln -sf -- "$program" "$W/bin/claude"
dir=$(agent_dir hooked)/cwd
mkdir -p "$dir"
dir=$(realpath "$dir")

cat >"$W/scenario.json" <<JSON
{"answers": [
	{"when": "gtr-[0-9a-f]{16}", "content": [{"text": "I know where I was and go on."}]},
	{"when": "write the first", "turns": [
	 [{"tool": "Write", "input": {"file_path": "$dir/first.md", "content": "# First\n"}}], [{"text": "The first one is written."}]]},
	{"when": "write the second", "content": [{"text": "Writing it now."},
	 {"tool": "Write", "input": {"file_path": "/proc/nowhere/lost.md", "content": "# Lost\n"}},
	 {"tool": "Write", "input": {"file_path": "$dir/second.md", "content": "# Second\n"}}]},
	{"when": "ask a helper", "turns": [
	 [{"tool": "Agent", "input": {"description": "Count lines", "prompt": "Please count all lines.", "subagent_type": "general-purpose"}}],
	 [{"text": "The helper has counted."}]]},
	{"when": "count all lines", "turns": [
	 [{"tool": "Bash", "input": {"command": "until [ -e $dir/counted ]; do sleep 0.1; done", "description": "Count"}}], [{"text": "Seven lines."}]]}],
 "otherwise": "I see."}
JSON
node "$MODEL" serve --scenario "$W/scenario.json" --requests "$W/requests" --port-file "$W/port" --log "$W/log" >"$W/model.log" 2>&1 &
PIDS+=($!)
until_ 10 test -s "$W/port" || { note "$(cat "$W/model.log")" && fail 'the model is up' && done_testing; }

claude_home "$W/hooked" "$dir"
claude_env "$W/hooked" "$(cat "$W/port")"
for word in "${CLAUDE_ENV[@]}"; do
	args+=(--env "$word")
done
# a hook of somebody's own, for which the second Write has to wait once the gate is there
cat >"$W/hooked/.claude/settings.json" <<JSON
{
  "skipDangerousModePermissionPrompt": true,
  "hooks": {
    "PreToolUse": [
      {"matcher": "Write", "hooks": [{"type": "command", "command": "if [ -e $W/gate ] && grep -q second; then : >$W/waits; read -r x <$W/gate; fi"}]}
    ]
  }
}
JSON
cp "$W/hooked/.claude/settings.json" "$W/before"
HOME=$W/hooked gt install hooks
is "$RC" 0 'the hooks are installed'

talk() {	# the conversation of the process that runs now
	sed 's/.*"sessionId":"\([^"]*\)".*/\1/' "$W/hooked/.claude/sessions/$(agent_pid hooked).json" 2>/dev/null
}
claude_is() {	# STATUS
	grep -qs "\"status\":\"$1\"" "$W/hooked/.claude/sessions/$(agent_pid hooked).json"
}
file_is() {	# NAME STATUS
	[ "$(sql "$DB" "select f.value ->> 'status' from record, json_each(record.value, '\$.files') f
		where record.key = 'activity:$talk' and f.value ->> 'path' = '$dir/$1'")" = "$2" ]
}
event_is() {
	[ "$(sql "$DB" "select value ->> 'event' from record where key = 'activity:$talk'")" = "$1" ]
}
agents_are() {	# STATE COUNT
	[ "$(sql "$DB" "select count(*) from record where key like 'session:$talk:%' and tag = '$1'")" = "$2" ]
}
transcript_has() {	# REGEXP: it is written some time after what it tells of
	grep -qs -- "$1" "$W"/hooked/.claude/projects/*/*.jsonl
}
asked_with() {	# TEXT: the model was sent it
	grep -qrsF -- "$1" "$W/requests"
}

ok 'claude starts' start_agent hooked --no-wait --command 'claude --dangerously-skip-permissions' "${args[@]}"
ok 'it is idle' until_ 20 claude_is idle
talk=$(talk) pid=$(agent_pid hooked)
ok 'its start is known' until_ 10 event_is SessionStart
gt session show "$talk" --json
is "$(json '{session_record}{session}') $(json '{session_record}{process}{pid}') $(json '{session_record}{lives}')" "hooked $pid true" 'its session: where it runs, as which process'
is "$(json '{session_record}{start_command}')" 'exec claude --dangerously-skip-permissions' 'by which command'
is "$(json '{session_record}{workspace_path}')" "$dir" 'in which directory'

tell_agent hooked 'Please write the first one.'
ok 'a Write is told of, and its end' until_ 20 file_is first.md written
ok 'and the end of the turn' until_ 20 event_is Stop
is "$(cat "$dir/first.md")" '# First' 'it was not held up'
ok 'it is idle again' until_ 20 claude_is idle
unlike "$(pane_text hooked)" '[Hh]ook (error|output|said|return)|gt-recover' 'nor do hooks leave a word on its screen'

tell_agent hooked 'Please ask a helper.'
ok 'a sub-agent is in the tree' until_ 20 agents_are ACTIVE 1
gt agent tree "$talk"
like "$OUT" "└─ $talk:[0-9a-z-]+ +ACTIVE" 'below its agent'
: >"$dir/counted"
ok 'until it has ended' until_ 20 agents_are ENDED 1
ok 'the turn ends' until_ 20 event_is Stop

# its orchestrator tells what it is a part of
checkpoint() {	# KIND ID JSON
	printf '%s' "$3" >"$W/in"
	gt_in "$W/in" checkpoint "$1" "$2"
	[ "$RC" = 0 ] || fail "checkpoint $1 $2: $RC $ERR"
}
checkpoint epic book '{"name": "The book", "sprints": [{"id": "notes", "status": "in_progress", "progress": 60}]}'
checkpoint sprint notes "{\"epicId\": \"book\", \"progress\": 60, \"filesWritten\": [{\"path\": \"$dir/first.md\"}],
	\"filesInProgress\": [{\"path\": \"$dir/second.md\", \"lastCompletedSection\": \"title\", \"nextSection\": \"the second chapter\"}]}"
checkpoint agent writer "{\"sprintId\": \"notes\", \"epicId\": \"book\", \"sessionId\": \"$talk\", \"currentTask\": \"Write notes\",
	\"taskProgress\": {\"subtasksCompleted\": [\"first\"], \"subtasksRemaining\": [\"second\", \"third\"]}}"
gt epic status
like "$OUT" 'Found no interrupted epic' 'while it lives its epic is not interrupted'
gt -L "$SOCKET" epic resume book --yes
is "$RC" 6 'nor can it be resumed'

mkfifo "$W/gate"
tell_agent hooked 'Please write the second one.'
ok 'it is in the middle of a Write' until_ 20 test -e "$W/waits"
ok 'of which the beginning is told' until_ 20 file_is second.md in_progress
is "$(sql "$DB" "select f.value ->> 'status' from record, json_each(record.value, '\$.files') f
	where record.key = 'activity:$talk' and f.value ->> 'path' = '/proc/nowhere/lost.md'")" left 'the one before it failed, of which no hook tells'
ok 'its transcript has the failure' until_ 10 transcript_has 'tool_result.*/proc/nowhere'
ok 'and the call of the second' until_ 10 transcript_has second.md
printf '# Sec' >"$dir/second.md"
rm -f "$W/gate"
ok 'it is killed' kill_agent hooked
gt epic status
like "$OUT" 'Found 1 interrupted epic.*The book.*INTERRUPTED \(60%\).*Files completed: 1/2.*Last file: [^ ]*second\.md' 'epic status finds its epic'
like "$OUT" "Half-written files:.*$dir/second.md" 'and names the half-written file'
gt prompt hooked -L "$SOCKET"
like "$OUT" 'Write\([^)]*second\.md\) was under way: the file is there, 5 bytes' 'the prompt names the half-written file'
unlike "$(grep 'under way' <<<"$OUT")" 'first\.md|lost\.md' 'and no other'
printf '1\n' >"$W/in"
gt_in "$W/in" -L "$SOCKET" epic resume book
like "$RC $ERR $OUT" '^0 .*writer is back.*Active sprints: 1 \(sprint 1\)' 'epic resume brings it back'
ok 'the model was told of the file' asked_with 'second.md) was under way: the file is there, 5 bytes'
ok 'where to go on' asked_with 'Go on with section: the second chapter'
ok 'and what remains' asked_with 'Subtasks remaining: second; third'
gt epic status
unlike "$OUT" 'book|second\.md' 'nothing of it is interrupted any more'
gt session list --json
is "$(json '{session_records}') $(json '{session_records}[0]{agent_uuid}') $(json '{session_records}[0]{lives}')" "1 $talk true" \
	'it is the same session, with another process'
is "$(json '{session_records}[0]{cursor_session_id}')" "$(talk)" 'and another conversation'

HOME=$W/hooked gt uninstall hooks
same_file "$W/before" "$W/hooked/.claude/settings.json" 'the settings are as they were'
done_testing
