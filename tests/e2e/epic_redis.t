#!/bin/bash
# Epics that another program keeps as plain JSON in the Redis server of the store: found as they are, adopted with a copy.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
for program in redis-server redis-cli; do
	command -v $program >/dev/null || skip_all "$program is not installed"
done
STORE=$W/store
mkdir -m 700 "$STORE" "$XDG_CONFIG_HOME" "$XDG_CONFIG_HOME/gt-recover"
printf '[recovery]\nstate = "redis+unix://%s/sock?db=3"\nspacing = "0s"\n' "$STORE" >"$XDG_CONFIG_HOME/gt-recover/gt.toml"

redis() {
	redis-cli -s "$STORE/sock" -n 3 "$@" 2>/dev/null
}
answers() {
	[ "$(redis ping)" = PONG ]
}
redis-server --port 0 --unixsocket "$STORE/sock" --unixsocketperm 700 --dir "$STORE" --appendonly yes --appendfsync always \
	--save '' --daemonize no --logfile redis.log >/dev/null 2>&1 </dev/null &
PIDS=($!)
disown "${PIDS[0]}"
ok 'the server answers' until_ 30 answers
put() {		# JSON VERB...
	printf '%s' "$1" >"$W/in"
	shift
	gt_in "$W/in" "$@"
}

gt epic status
is "$RC $OUT" '0 Found no interrupted epic.' 'of nothing nothing is found'

# ---- the unit test of the seed, typed with redis-cli ----
NOW=$(date +%s%3N)
redis set epic:123:state "{\"status\": \"in_progress\", \"lastCheckpoint\": $((NOW - 120000))}" >/dev/null
redis lpush epic:list:state x >/dev/null
redis eval 'for i = 1, 2500 do redis.call("SET", "noise:" .. i, "x") end' 0 >/dev/null
gt epic status
like "$RC $OUT" '^0 Found 1 interrupted epic:.*ID: 123.*Started: unknown.*\(2 minutes ago\)' 'one interrupted epic, two minutes old'
like "$OUT" 'Estimated work loss: unknown' '  whose loss nobody knows'
like "$ERR" 'Found:.*- epic:123:state \(status: in_progress\).*Last checkpoint: .*\(2 minutes ago\).*No heartbeats found' '  by its key'
gt epic status --json
is "$(json '{epics}[0]{id}') $(json '{epics}[0]{source}') $(json '{sources}[0]{name}') $(json '{sources}[0]{epics}')" '123 store store 1' '  for programs, too'
gt epic status epic-123
is "$RC" 0 '  in both spellings'
redis set sprint:auth:state '{"progress": 80, "filesInProgress": [{"path": "src/auth.ts", "lastSection": "validateToken", "nextSection": "refreshToken"}]}' >/dev/null
gt -L none epic resume sprint-auth --dry-run
like "$RC $OUT" '^0 .*Resuming at 80%.*Next section: "refreshToken"' 'a sprint without an epic goes on at its next section'
is "$(redis exists gt-recover:adopted)" 0 'who looks changes nothing'

# ---- numbers, ISO strings, other words, secrets ----
redis set epic:shop:state "{\"epicId\": \"shop\", \"name\": \"Their shop\", \"status\": \"running\", \"startTime\": \"2025-10-10T20:15:00Z\",
	\"lastCheckpoint\": 1760129130000, \"sprints\": [{\"id\": \"s1\", \"status\": \"done\"}, {\"id\": \"s2\", \"status\": \"active\", \"progress\": 50}, 7],
	\"theirs\": {\"token\": \"ghp_$(printf 'a1B2%.0s' 1 2 3 4 5 6 7 8 9)\"}}" >/dev/null
redis set sprint:s2:state '{"epicId": "shop", "status": "active", "progress": 50, "startTime": 1760127600000, "filesWritten": ["a.c"], "agents": ["coder-1"]}' >/dev/null
redis set sprint:s2:files '{"files": [{"path": "b.c", "currentLine": 12}]}' >/dev/null
redis set agent:coder-1:state '{"sprintId": "s2", "currentTask": "Write b.c", "lastHeartbeat": "2025-10-10T20:45:35Z"}' >/dev/null
gt epic status shop
like "$RC $OUT" '^0 .*Their shop.*Sprint 1 \(s1\): COMPLETE \(100%\).*Sprint 2 \(s2\): INTERRUPTED \(50%\).*Files completed: 1/2.*Last file: b.c \(line 12\)' 'what does not fit is left out'
like "$ERR" 'Newest heartbeat: 2025-10-10 20:45:35 UTC' 'its newest heartbeat is shown'
gt epic export shop
like "$RC $OUT" '^0 .*"epic:shop:state": .*"agent:coder-1:state": ' 'it is exported'
unlike "$OUT" 'ghp_a1B2' '  without its secret'

# ---- what cannot be read ----
redis set epic:broken:state 'no JSON' >/dev/null
gt epic status
like "$RC $ERR" '^0 .*plain JSON in Redis cannot be read: the key epic:broken:state is not a JSON object' 'a key that cannot be read is named'
gt epic status broken
like "$RC $ERR" '^1 .*no epic "broken" in what could be read' '  and its epic is not said to be none'
sprint=$(redis get sprint:s2:state)
redis del epic:123:state sprint:auth:state epic:shop:state sprint:s2:state >/dev/null
gt epic status
is "$RC" 3 '  nor that there is none at all'
like "$OUT" 'no interrupted epic in the sources that could be read' '  in words'
redis del epic:broken:state >/dev/null

# ---- adopting ----
theirs="{\"status\": \"in_progress\", \"lastCheckpoint\": $((NOW - 120000)), \"name\": \"Theirs\", \"sprints\": [{\"id\": \"s2\", \"status\": \"active\", \"progress\": 50}]}"
redis set epic:shop:state "$theirs" >/dev/null
redis set sprint:s2:state "$sprint" >/dev/null
put '{"progress": 60, "status": "in_progress", "agents": [{"id": "coder-1"}]}' checkpoint sprint s2
like "$RC $OUT$ERR" '^0 .*Adopted 2 keys of another program' 'a checkpoint adopts the sprint and its epic, and says so'
is "$(redis hget gt-recover:adopted epic:shop:state)" "$theirs" '  a copy is there, byte for byte'
like "$(redis get epic:shop:state)" '"name": ?"Theirs".*"progress": ?60' '  the epic has the new progress'
like "$(redis get sprint:s2:state)" '"epicId": ?"shop"' '  the sprint still belongs to it'
put '{"progress": 61}' checkpoint sprint s2
is "$RC $ERR" '0 ' '  the next one is a checkpoint like any other'
redis set agent:coder-1:checkpoint '{"sprintId": "s2", "currentTask": "Write b.c"}' >/dev/null
put '{}' checkpoint agent coder-1
like "$RC $(redis get agent:coder-1:state)" '^0 .*"currentTask": ?"Write b.c"' 'a heartbeat keeps what they told of the agent'
redis set epic:77:state '{"status": "in_progress", "lastCheckpoint": 1760129130000}' >/dev/null
gt epic abandon 77 --yes
is "$RC $(redis exists epic:77:state) $(redis hget gt-recover:adopted epic:77:state)" '0 0 {"status": "in_progress", "lastCheckpoint": 1760129130000}' \
	'what is abandoned leaves a copy'
gt doctor -v -L none
like "$OUT" 'integrity|Redis server answers' 'the store is sound after all that'
unlike "$OUT" 'not what the tally' '  and complete'
done_testing
