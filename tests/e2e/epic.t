#!/bin/bash
# An epic whose agents are killed is found, shown, and resumed: each agent once, with its checkpoint; who is done is left alone.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/epics.sh
. "$ROOT/tests/e2e/epics.sh"
printf '[recovery]\nspacing = "0s"\n' >"$CONFIG"

everything() {
	sql "$DB" "select key, version, tag, value from record where key not like 'event:%' and key not like 'counter:%' order by key" | cksum
}

# ---- the writers ----
checkpoint epic shop '{"name": "E-commerce Platform", "startTime": "2025-10-10T20:15:00Z", "lastCheckpoint": 1760129130000,
	"sprints": [{"id": "auth", "status": "completed"}, {"id": "catalog", "status": "in_progress", "progress": 80},
		{"id": "checkout", "status": "in_progress", "progress": 50}, {"id": "admin", "status": "waiting"}, {"id": "late", "status": "waiting"}],
	"dependencies": {"admin": ["auth"], "late": ["checkout"]}}'
is "$RC $OUT$ERR" '0 ' 'an epic is written down'
checkpoint sprint catalog '{"epicId": "epic-shop", "phase": "Loop 3", "progress": 80, "startTime": "2025-10-10T20:20:00Z",
	"lastCheckpoint": "2025-10-10T20:45:30Z", "agents": [{"id": "coder-2", "status": "active", "task": "Filter products"}],
	"filesWritten": [{"path": "src/list.ts"}], "filesInProgress": [{"path": "src/catalog.ts", "lastCompletedSection": "searchProducts",
	"nextSection": "filterProducts", "currentLine": 245, "confidence": 0.82}], "tests": {"run": 15, "total": 20, "last": "by category"}}'
is "$RC" 0 'a sprint'
checkpoint sprint checkout '{"epicId": "shop", "progress": 50, "lastCheckpoint": "2025-10-10T20:45:30Z", "agents": [{"id": "coder-3"}]}'
checkpoint sprint admin '{"epicId": "shop", "status": "waiting", "lastCheckpoint": "2025-10-10T20:45:30Z", "agents": [{"id": "coder-5"}]}'
checkpoint agent coder-2 '{"sprintId": "catalog", "epicId": "shop", "currentTask": "Filter products", "fileBeingEdited": "src/catalog.ts",
	"taskProgress": {"subtasksCompleted": ["signature"], "subtasksRemaining": ["logic"]}, "lastHeartbeat": "2025-10-10T20:45:37Z"}'
is "$RC" 0 'an agent'
printf '{"name": "AuthAPI", "endpoints": ["POST /auth/login"]}' >"$W/in"
gt_in "$W/in" epic signal auth
is "$RC $(sql "$DB" "select count(*) from record where key = 'interface:auth:ready'")" '0 1' 'an interface'
before=$(everything)
checkpoint epic shop '{"totalSprints": 7, "sprints": []}'
like "$RC $ERR" '^2 .*totalSprints is 7, but sprints\[\] says 0' 'counters that do not agree are refused'
head -c 1100000 /dev/zero | tr '\0' ' ' >"$W/in"
gt_in "$W/in" checkpoint sprint catalog
is "$RC" 2 'so is more than 1 MiB'
is "$(everything)" "$before" 'and nothing was changed'

# ---- what was interrupted ----
gt epic status
like "$RC $OUT" '^0 Found 1 interrupted epic:.*Sprint 2 \(catalog\): INTERRUPTED \(80%\).*Last file: src/catalog.ts \(line 245\).*Dependency: Sprint 1 ✓' \
	'status finds it'
gt doctor --json -L main
like "$(found State.epics) $(found State.epics sentence)" '^note interrupted: shop$' 'so does doctor'
gt -L main epic resume shop --dry-run
like "$RC $OUT" '^0 .*Sprint 1 \(auth\): Already complete, skipping.*Sprint 2 \(catalog\): Resuming at 80%.*Next section: "filterProducts".*Tests run: 15/20.*Agents: coder-2.*Dry run: nothing was started' \
	'--dry-run shows the plan'
is "$(everything)" "$before" 'and changes nothing'
printf 'n\n' >"$W/in"
gt_in "$W/in" -L main epic resume shop
like "$RC $OUT" '^4 .*Choose \[1-4\]: $' 'an answer that is none declines'
for places in 9 '3,' ',3' '2,,3' '' 2x 0 -1; do
	gt -L main epic resume shop --yes --sprints "$places"
	like "$RC $ERR" "^2 .*--sprints takes numbers of the epic's 5 sprints" "--sprints takes places, not '$places'"
done
is "$(everything)" "$before" 'and nothing was changed'
gt -L main epic resume shop --yes --sprints 2,3
like "$RC $ERR" '^4 .*coder-2: .*\(not-startable\).*coder-3: ' 'agents that nobody knows how to start are listed'
is "$(everything)" "$before" 'and nothing was changed'

# ---- resuming ----
record coder-2
record uuid-5
checkpoint agent coder-5 '{"sprintId": "admin", "sessionId": "uuid-5", "currentTask": "Admin panel", "lastHeartbeat": "2025-10-10T20:45:30Z"}'
is "$RC" 0 'an agent tells by what id its session is recorded'
dir=$(agent_dir coder-2)
mkdir -p "$dir/cwd/src"
echo 'half' >"$dir/cwd/src/catalog.ts"
gt -L main epic resume shop --yes --sprints 2,4
like "$RC $ERR" '^0 Connecting to the store… ✓.*Resuming Epic: E-commerce.*Disk version: Last saved at .*Spawning agents: coder-2.*Agents ready ✓.*Sprint 3 \(checkout\): not selected.*Sprint 5 \(late\): not selected' 'two sprints are resumed'
like "$OUT" 'Epic resumed successfully.*Active sprints: 2 \(sprints 2, 4\).*Sprint 2: ████████████████░░░░ 80% \(resume\).*Sprint 4: ░+  0% \(starting\)' 'with a summary'
said() {	# AGENT: why it was suspended
	sql "$DB" "select text from event where kind = 'session.suspended' and subject = '$1' order by seq desc limit 1"
}
is "$(said coder-2)" 'its epic is resumed and its process is unknown' 'of whose process nothing is known no end is told'
ok 'the agent is told' until_ 20 messages_are coder-2 1
told=$(cat "$(message_file coder-2 1)")
like "$told" 'Epic E-commerce Platform \(shop\), sprint catalog, at 80%, phase Loop 3' 'its epic'
like "$told" 'Your task: Filter products.*Subtasks remaining: logic' 'its task'
like "$told" 'File in progress: src/catalog.ts, line 245.*Go on with section: filterProducts' 'where it stood'
like "$told" 'On disk it was saved after the checkpoint' 'that the disk is newer'
like "$told" 'Tests: 15 of 20 had run before the crash. Run the whole test suite again' 'its tests'
like "$told" '\[record [0-9a-f]{16} begins: checkpoint' 'all of it as data'
ok 'the other one, too' until_ 20 messages_are uuid-5 1
like "$(cat "$(message_file uuid-5 1)")" 'You are its agent coder-5.*Depends on sprint auth: resolved.*"AuthAPI"' 'with the contract that it waited for'
is "$(tm list-sessions -F '#{session_name}' | grep -c coder-3)" 0 'who was not selected is not started'
gt -L main epic resume shop --yes
like "$RC $ERR" '^6 .*an agent of the epic shop is running' 'who lives is not started twice'
is "$(agent_starts coder-2) $(messages coder-2)" '1 1' 'nor told twice'
gt epic abandon shop --yes
is "$RC" 6 'nor is its epic abandoned'

# ---- a second crash: its own context, and the checkpoint ----
pane_of coder-2
pane_of uuid-5
ok 'the agent is killed' kill_agent coder-2
ok 'the other one, too' kill_agent uuid-5
sql_record "$DB" "update record set value = json_set(value, '\$.lastCheckpoint', '2025-10-10T20:45:30Z') where key like 'sprint:%:state'"
printf '1\n' >"$W/in"
gt_in "$W/in" -L main epic resume shop --sprints 2
like "$RC $ERR" '^0 .*coder-2 is back' 'the first way'
is "$(said coder-2)" 'its process is gone' 'of a process that is known it is'
ok 'it is told again' until_ 20 messages_are coder-2 2
like "$(cat "$(message_file coder-2 2)")" 'Go on with section: filterProducts' 'with its checkpoint'

# ---- out and in ----
pane_of coder-2
ok 'it is killed again' kill_agent coder-2
gt epic export shop --output "$W/shop.json"
is "$RC $(stat -c %a "$W/shop.json")" '0 600' 'export writes a private file'
before=$(sql "$DB" "select key, tag, value from record where key glob '[eas][pgp]*:*' and key not like 'event%' order by key" | cksum)
printf 'n\n' >"$W/in"
gt_in "$W/in" epic abandon shop
like "$RC $OUT" '^4 .*This action cannot be undone.*Continue\? \[y/N\]: $' 'abandon asks, and no is no'
gt epic abandon shop --yes
is "$RC $(sql "$DB" "select count(*) from record where key glob 'epic:*' or key glob 'sprint:*' or key glob 'agent:*' or key glob 'interface:*'")" '0 0' \
	'yes deletes all of it'
gt epic import "$W/shop.json"
is "$RC $OUT" '0 shop' 'import takes it up'
is "$(sql "$DB" "select key, tag, value from record where key glob '[eas][pgp]*:*' and key not like 'event%' order by key" | cksum)" "$before" 'unchanged'

# ---- the other ways ----
dir=$(agent_dir epic-fresh)
mkdir -p "$dir/cwd"
printf '[recovery]\nspacing = "0s"\n[recovery.epics]\nstart_command = "env FAKE_AGENT_LOG=%s %s --dangerously-skip-permissions"\n' "$dir" "$CLAUDE" >"$CONFIG"
checkpoint epic solo "{\"workspace\": \"$dir/cwd\", \"lastCheckpoint\": 1760129130000, \"sprints\": [{\"id\": \"only\", \"status\": \"in_progress\", \"progress\": 80}]}"
checkpoint sprint only '{"epicId": "solo", "progress": 80, "lastCheckpoint": 1760129130000, "agents": [{"id": "fresh", "task": "All of it"}], "phase": "Loop 2",
	"filesWritten": [{"path": "src/old.c"}], "validators": [{"id": "v1", "status": "completed"}], "tests": {"run": 3, "total": 9, "lock": "slot"}}'
checkpoint file only '{"path": "src/older.c", "lastCheckpoint": 1760129130000, "nextSection": "the end"}'
printf '3\n' >"$W/in"
gt_in "$W/in" -L main epic resume solo
like "$RC $OUT" '^0 .*Sprint 1 \(only\): Resuming at 80%.*Agents: fresh' '3 shows the plan'
is "$(sql "$DB" "select count(*) from record where key = 'session:fresh'")" 0 'and starts nobody'
before=$(everything)
checkpoint epic empty '{"lastCheckpoint": 1760129130000, "sprints": [{"id": "nobodys", "status": "in_progress", "progress": 80}]}'
gt -L main epic resume empty --yes
like "$RC $OUT$ERR" '^4 .*sprint nobodys: no recorded agent' 'a sprint without agents is no success'
gt epic abandon empty --yes
like "$OUT" '✓ 1 record deleted from the store' 'one record is no records'
is "$(everything)" "$before" 'and nobody is made for it'
printf '2\n' >"$W/in"
gt_in "$W/in" -L main epic resume solo
like "$RC $OUT" '^0 .*Active sprints: 1.*80% \(restart\)' '2 starts over'
ok 'an agent without a session is started by start_command' until_ 20 messages_are epic-fresh 1
told=$(cat "$(message_file epic-fresh 1)")
like "$told" 'sprint only, at 0%\..*Your task: All of it.*start it from the beginning' 'and told so'
unlike "$told" 'old\.c|older\.c|Loop 2|Validator|had run before' 'nothing of what was done before'
is "$(sql "$DB" "select json_extract(value, '\$.filesWritten'), json_extract(value, '\$.tests') from record where key = 'sprint:only:state'")" '|{"lock":"slot"}' 'its record knows no file'
is "$(sql "$DB" "select count(*) from record where key = 'sprint:only:files'")" 0 'and no file has a checkpoint'
is "$(sql "$DB" "select tag, json_extract(value, '\$.progress') from record where key = 'sprint:only:state'")" 'starting|0' 'the sprint is at its beginning'
is "$(sql "$DB" "select json_extract(value, '\$.sprints[0].progress') from record where key = 'epic:solo:state'")" 0 'in its epic, too'

# ---- an agent whose session has ended ----
printf '[recovery]\nspacing = "0s"\n' >"$CONFIG"
checkpoint epic ends '{"lastCheckpoint": 1760129130000, "sprints": [{"id": "last", "status": "in_progress", "progress": 80}]}'
checkpoint sprint last '{"epicId": "ends", "progress": 80, "lastCheckpoint": 1760129130000, "agents": [{"id": "left", "task": "The rest"}]}'
checkpoint agent left '{"sprintId": "last", "currentTask": "The last words", "lastHeartbeat": 1760129130000}'
record left
gt session end left
is "$RC" 0 'an agent ends'
gt -L main epic resume ends --yes
like "$RC $ERR" '^4 .*left: its session has ended.*\(ended\).*Record its successor \(gt-recover records session record\)' \
	'it is not taken up again, and what to do is said'
record stands-in
checkpoint agent left '{"sessionId": "stands-in", "lastHeartbeat": 1760129130000}'
gt -L main epic resume ends --yes
like "$RC $OUT" '^0 .*Active sprints: 1' 'whom its checkpoint names goes on'
ok 'it is told' until_ 20 messages_are stands-in 1
like "$(cat "$(message_file stands-in 1)")" 'You are its agent left.*Your task: The last words' 'what it goes on with'

# ---- names that tmux does not take ----
mkdir -p "$W/twins"
printf '[recovery]\nspacing = "0s"\n[recovery.epics]\nstart_command = "env FAKE_AGENT_LOG=%s %s --dangerously-skip-permissions"\n' "$W/twins" "$CLAUDE" >"$CONFIG"
checkpoint epic twins "{\"workspace\": \"$W/twins\", \"lastCheckpoint\": 1760129130000, \"sprints\": [{\"id\": \"both\", \"status\": \"in_progress\", \"progress\": 80}]}"
checkpoint sprint both '{"epicId": "twins", "progress": 80, "lastCheckpoint": 1760129130000, "agents": [{"id": "a.b"}, {"id": "a:b"}]}'
gt -L main epic resume twins --yes
like "$RC $ERR" '^0 .*a\.b is back.*a:b is back' 'agents whose names differ in such letters alone both come back'
is "$(tm list-sessions -F '#{session_name}' | grep -c '^epic-a-b-[0-9a-f]\{8\}$')" 2 'each in a session of its own'

done_testing
