#!/bin/bash
# Of an epic what died is told from what runs, and from other epics: sprints that are called alike, a part that lives, agents whose process
# nobody noted, validators that are done.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/epics.sh
. "$ROOT/tests/e2e/epics.sh"
OLD=1760129130000
printf '[recovery]\nspacing = "0s"\n' >"$CONFIG"

record_of() {	# KEY
	sql "$DB" "select value from record where key = '$1'"
}

# ---- two epics whose sprints are called alike ----
checkpoint epic one "{\"lastCheckpoint\": $OLD, \"sprints\": [{\"id\": \"sprint-1\", \"status\": \"in_progress\", \"progress\": 70}]}"
checkpoint sprint sprint-1 "{\"epicId\": \"one\", \"progress\": 70, \"lastCheckpoint\": $OLD, \"agents\": [{\"id\": \"maker\"}], \"filesWritten\": [{\"path\": \"one.c\"}]}"
checkpoint file sprint-1 "{\"path\": \"two.c\", \"lastCheckpoint\": $OLD}"
checkpoint agent maker "{\"sprintId\": \"sprint-1\", \"lastHeartbeat\": $OLD}"
checkpoint agent loner "{\"epicId\": \"one\", \"lastHeartbeat\": $OLD}"
record maker
checkpoint epic two "{\"lastCheckpoint\": $OLD, \"sprints\": [{\"id\": \"sprint-1\", \"status\": \"in_progress\", \"progress\": 20}]}"
before=$(record_of sprint:sprint-1:state)
checkpoint sprint sprint-1 '{"epicId": "two", "progress": 99}'
like "$RC $ERR" '^6 .*the sprint "sprint-1" is one of the epic (epic-)?one, not of two.*Use a unique id' 'the sprint of another epic is not overwritten'
is "$(record_of sprint:sprint-1:state)" "$before" '  it is as it was'
gt epic status two
like "$RC $OUT" '^0 .*sprint-1\): INTERRUPTED \(20%\)' 'each epic shows its own progress'
unlike "$OUT" 'one\.c|two\.c' '  and its own files'
gt -L main epic resume two --yes
like "$RC $ERR" '^4 .*no recorded agent' 'the agent of the other one is not started'
gt epic abandon two --yes
is "$RC $(record_of sprint:sprint-1:state)" "0 $before" 'and its records stay when the one is abandoned'
gt epic inspect one
like "$OUT" '"agent:loner:state": ' 'an agent that names the epic alone belongs to it'
gt epic abandon one --yes
is "$RC $(sql "$DB" "select count(*) from record where key glob 'agent:*' or key glob 'sprint:*'")" '0 0' '  and goes with it'

# ---- one sprint runs, the other one died ----
ok 'an agent works' start_agent alive --scenario "$DATA/idle.scenario"
record alive ",\"pid\":$(agent_pid alive)"
is "$RC" 0 '  and its process is noted'
record dead
checkpoint epic half "{\"lastCheckpoint\": $OLD, \"sprints\": [{\"id\": \"runs\", \"status\": \"in_progress\", \"progress\": 70},
	{\"id\": \"died\", \"status\": \"in_progress\", \"progress\": 60}, {\"id\": \"unknown\", \"status\": \"in_progress\", \"progress\": 60}, {\"id\": \"waits\", \"status\": \"waiting\"}]}"
checkpoint sprint runs "{\"epicId\": \"half\", \"progress\": 70, \"lastCheckpoint\": $OLD, \"agents\": [{\"id\": \"alive\"}]}"
checkpoint sprint died "{\"epicId\": \"half\", \"progress\": 60, \"lastCheckpoint\": $OLD, \"agents\": [{\"id\": \"dead\"}]}"
gt epic resume half --yes -L main
like "$RC $ERR" '^6 .*is running.*No sprint is known to have crashed' 'while an agent runs, what nobody knows to be dead is left alone'
gt session suspend dead
gt epic status
like "$RC $OUT" '^0 Found 1 interrupted epic.*\(runs\): IN PROGRESS.*\(died\): INTERRUPTED.*\(unknown\): IN PROGRESS' 'a sprint that died is found beside one that runs'
gt -L main epic resume half --dry-run --json
is "$RC $(json '{sprints}[0]{way}') $(json '{sprints}[1]{way}') $(json '{sprints}[1]{agents}[0]') $(json '{sprints}[3]{way}')" '0 (none) resume dead (none)' \
	'--dry-run --json tells what becomes of each'
gt -L main epic resume half --yes
like "$RC $OUT$ERR" '^0 .*\(runs\): Running, left alone.*\(unknown\): May be running, left alone.*\(waits\): Waiting, left alone' 'it alone is resumed'
ok '  its agent is told' until_ 20 messages_are dead 1
is "$(agent_starts alive) $(messages alive)" '1 0' '  the other one was not touched'
gt epic resume half --yes -L main
is "$RC" 6 'then all that is known runs'
gt epic resume half --yes -L main --sprints 1,2
like "$RC $OUT$ERR" '^0 .*alive runs already.*dead runs already|^0 .*Active sprints: 2' 'those that are named are looked at'
is "$(agent_starts alive) $(agent_starts dead)" '1 1' '  and nobody is started twice'
gt epic abandon half --yes
is "$RC" 6 'while it runs it is not abandoned'
kill_agent alive
pane_of dead
kill_agent dead
until_ 10 tm kill-session -t =alive
until_ 10 tm kill-session -t =dead

# ---- what was heard just now ----
checkpoint epic fresh "{\"sprints\": [{\"id\": \"first\", \"status\": \"in_progress\", \"progress\": 10}]}"
gt epic abandon fresh --yes
like "$RC $ERR" '^75 .*the epic fresh reported just now' 'one that may be running is not abandoned'
checkpoint epic later '{"status": "waiting", "lastCheckpoint": 1760129130000, "sprints": [{"id": "none-yet", "status": "waiting"}]}'
gt epic resume later --yes
like "$RC $ERR" '^4 .*has not started' 'one that has not begun is said to'
checkpoint epic over '{"status": "completed", "lastCheckpoint": 1760129130000, "sprints": [{"id": "left-open", "status": "in_progress"}]}'
gt epic resume over --yes
like "$RC $ERR" '^4 .*is completed' 'and one that is completed'
checkpoint epic bare '{"lastCheckpoint": 1760129130000, "sprints": []}'
gt epic resume bare --yes
like "$RC $ERR" '^4 .*the epic bare has no recorded sprints' 'and one without sprints'

# ---- an agent whose process nobody noted, and which lives ----
ok 'an agent works' start_agent hidden --scenario "$DATA/idle.scenario"
record hidden
checkpoint epic dark "{\"lastCheckpoint\": $OLD, \"sprints\": [{\"id\": \"night\", \"status\": \"in_progress\", \"progress\": 70}]}"
checkpoint sprint night "{\"epicId\": \"dark\", \"progress\": 70, \"lastCheckpoint\": $OLD, \"agents\": [{\"id\": \"hidden\"}]}"
for name in hidden renamed; do
	[ "$name" = hidden ] || tm rename-session -t =hidden renamed
	gt -L main epic resume dark --yes
	like "$RC $ERR" '^6 .*has a living agent that may be it' "it is not started a second time ($name)"
	is "$(sql "$DB" "select tag from record where key = 'session:hidden'") $(agent_starts hidden)" 'ACTIVE 1' '  its record stays as it was'
done
kill_agent hidden

# ---- validators, and a start command that is mended ----
dir=$(agent_dir epic-v2)
mkdir -p "$dir/cwd"
checkpoint epic judged "{\"workspace\": \"$dir/cwd\", \"lastCheckpoint\": $OLD, \"sprints\": [{\"id\": \"verdict\", \"status\": \"in_progress\", \"progress\": 90}]}"
checkpoint sprint verdict "{\"epicId\": \"judged\", \"progress\": 90, \"lastCheckpoint\": $OLD, \"agents\": [{\"id\": \"v1\"}], \"validators\": [
	{\"id\": \"v1\", \"status\": \"completed\", \"score\": 0.9}, {\"id\": \"v2\", \"status\": \"in_progress\", \"progress\": 40, \"next\": \"the fourth file\"},
	{\"id\": \"v3\", \"status\": \"waiting\"}]}"
gt -L main epic resume judged --dry-run
like "$RC $OUT" '^0 .*v1: Complete ✓.*v2: In progress \(paused at 40%\).*Next: "the fourth file".*v3: Waiting.*Agents: v2' 'the validator that had begun comes back'
unlike "$OUT" 'Agents:.*v1|Agents:.*v3' '  the one that is done does not, nor the one that waits'
printf '[recovery]\nspacing = "0s"\n[recovery.epics]\nstart_command = "no-such-agent"\n' >"$CONFIG"
gt -L main epic resume judged --yes
[ "$RC" -ne 0 ]
is $? 0 'a start command that starts no agent'
printf '[recovery]\nspacing = "0s"\n[recovery.epics]\nstart_command = "env FAKE_AGENT_LOG=%s %s --dangerously-skip-permissions"\n' "$dir" "$CLAUDE" >"$CONFIG"
gt -L main epic resume judged --yes
like "$RC $ERR" '^0 .*v2 is back' '  is another one when the key was mended'
ok '  it is told' until_ 20 messages_are epic-v2 1
like "$(cat "$(message_file epic-v2 1)")" 'v2.*the fourth file' '  at which item it goes on'
done_testing
