#!/bin/bash
# Records in a Redis server instead of a file: what other programs see there, a server that dies, one that could lose, and two state
# directories that share one, with eight recoverers at once.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
for program in redis-server redis-cli; do
	command -v $program >/dev/null || skip_all "$program is not installed"
done
STORE=$W/store
mkdir -m 700 "$STORE" "$XDG_CONFIG_HOME" "$XDG_CONFIG_HOME/gt-recover"
cat >"$XDG_CONFIG_HOME/gt-recover/gt.toml" <<TOML
[recovery]
state = "redis+unix://$STORE/sock?db=3"
spacing = "0s"
max_attempts = 1000
via = "inject"
TOML

redis() {
	redis-cli -s "$STORE/sock" -n 3 "$@" 2>/dev/null
}
answers() {
	[ "$(redis ping)" = PONG ]
}
start_redis() {
	redis-server --port 0 --unixsocket "$STORE/sock" --unixsocketperm 700 --dir "$STORE" --appendonly yes --appendfsync always \
		--save '' --auto-aof-rewrite-percentage 0 --daemonize no --logfile redis.log >/dev/null 2>&1 </dev/null &
	redis_pid=$!
	PIDS=("$redis_pid")
	disown "$redis_pid"
	until_ 30 answers
}
kill_redis() {
	kill -9 "$redis_pid"
	until_ 10 _gone "$redis_pid"
	PIDS=()
}
put() {		# JSON VERB...
	printf '%s' "$1" >"$W/in"
	shift
	gt_in "$W/in" "$@"
}
race() {	# STATE-HOME... -- COMMAND...: eight at once, taking turns with the state directories; their ends in $codes
	local i homes=() pids=()
	while [ "$1" != -- ]; do
		homes+=("$1")
		shift
	done
	shift
	for ((i = 0; i < 8; i++)); do
		XDG_STATE_HOME=${homes[i % ${#homes[@]}]} timeout -k 5 120 "$GT_RECOVER" "${@//RACER/$i}" >"$W/racer.$i" 2>&1 </dev/null &
		pids+=($!)
		PIDS+=($!)
	done
	codes=''
	for i in "${!pids[@]}"; do
		wait "${pids[$i]}"
		codes+="$? "
	done
}

gt run list
is "$RC" 75 'without the server the answer is: try again'
like "$ERR" 'Redis store at .*/sock.*cannot be reached' '  and which one it is'
# a byte now and then is no answer either, however long it goes on
perl -MIO::Socket::UNIX -e '$SIG{PIPE} = "IGNORE"; my $l = IO::Socket::UNIX->new(Local => shift, Listen => 5) or die; open my $up, ">", shift or die;
	while (my $c = $l->accept) { $c->autoflush; my $in; sysread $c, $in, 65536; print $c "\$100\r\n";
		for (1 .. 100) { print $c "x" or last; select undef, undef, undef, 0.05 } }' "$STORE/sock" "$W/up" &
PIDS=($!)
until_ 10 test -e "$W/up"
GT_REDIS_MS=500 gt run list
is "$RC" 75 'a server that drips bytes: try again'
like "$ERR" 'cannot be reached: it does not answer' '  since it does not answer'
kill "${PIDS[0]}" && wait "${PIDS[0]}" 2>/dev/null
rm "$STORE/sock"
ok 'the server starts' start_redis
put '{"run_id":"r1","session_id":"s1","prompt":"test","execution_mode":"sync"}' run create
is "$RC" 0 'a run is recorded'
like "$(redis get run:r1)" '^\{.*"s1"' '  as plain JSON at its key'
like "$(redis hget gt-recover:records run:r1)" '^[0-9]+ [0-9a-f]{12} pending$' '  its version, checksum and state beside it'
ok '  and no file is made for it' test ! -e "$XDG_STATE_HOME/gt-recover/recover.db"
kill_redis
gt run list
is "$RC" 75 'kill -9 of the server'
ok '  it comes back' start_redis
gt run list
like "$OUT" 'r1' '  and the run is there'

put '{"epicId":"e1","name":"Shop","status":"in_progress","totalSprints":1,"sprints":[{"id":"s1","status":"in_progress","progress":40}],
	"theirs":{"kept":1}}' checkpoint epic e1
is "$RC" 0 'a checkpoint of an epic'
like "$(redis get epic:e1:state)" '"epicId": ?"e1".*"theirs": ?\{"kept": ?1\}' "  stands at the seed's key, with what is not ours"
like "$(redis zrange gt-recover:tag:in_progress 0 -1)" '^epic:e1:state$' '  and is found by its state'
kill_redis
export GT_HOOK_MS=10000	# a machine that is busy with all the tests is slower than an agent's
put '{"hook_event_name":"SessionStart","session_id":"11111111-2222-4333-8444-555555555555","cwd":"/"}' hook SessionStart
is "$RC$OUT$ERR" 0 'a hook while the server is away answers 0 and nothing'
ok '  and spools' until_ 10 test -s "$XDG_STATE_HOME/gt-recover/spool"
ok '  the server comes back' start_redis
gt session list
ok '  the next command empties the spool' test ! -s "$XDG_STATE_HOME/gt-recover/spool"
like "$(redis --scan --pattern 'session:*')" '11111111-2222-4333-8444-555555555555' '  into the store'
gt epic status e1
like "$OUT" 'Shop|e1' 'epic status tells of the epic after that'

race "$W/one" "$W/two" -- run claim runner-RACER
is "$(grep -lx 'r1' "$W"/racer.? | wc -l)" 1 'of eight claimers in two state directories one gets the run'
gt log --json
is "$RC" 0 'the events are in the store'
gt doctor -v -L none
like "$OUT" 'store .*Redis server answers' 'doctor says what it keeps its promise by'
unlike "$OUT" 'quick_check' '  and nothing of SQLite'

redis config set appendfsync everysec >/dev/null
gt run list
is "$RC" 1 'a server that could lose what it confirmed is refused'
like "$ERR" 'appendfsync' '  by what it lacks'
redis config set appendfsync always >/dev/null

ok 'an agent' start_agent toast --scenario "$DATA/idle.scenario"
once=0 ended=0
for round in 1 2 3; do
	kill_agent toast || break
	race "$W/one" "$W/two" -- --all --yes -L main
	[ "$(agent_starts toast)/$(messages toast)" != "$((round + 1))/$round" ] || once=$((once + 1))
	# 0: its share, 4: nothing left, 6: refused since it is alive, 75: somebody else is at it
	if [[ $codes =~ ^((0|3|4|6|75)\ )+$ ]]; then
		ended=$((ended + 1))
	else
		note "round $round: ends $codes"
	fi
done
is "$once" 3 'eight recoverers in two state directories: each of three crashes is answered by one start and one prompt'
is "$ended" 3 '  and each of the eight ends as it should'

# ---- a password, and who gets it ----
redis config set requirepass sesame-0815 >/dev/null
gt run list
is "$RC" 1 'a server that asks for a password'
like "$ERR" 'denies access' '  is not entered without one'
cat >"$W/bin/tmux" <<SH
#!/bin/sh
env >>"$W/children"
PATH=\${PATH#*:} exec tmux "\$@"
SH
chmod +x "$W/bin/tmux"
export GT_RECOVER_REDIS_PASSWORD=sesame-0815
gt list -L main
is "$RC" 0 'with it in the environment'
gt run list
like "$OUT" 'r1' '  the records are there'
unset GT_RECOVER_REDIS_PASSWORD
ok '  a program that is started' test -s "$W/children"
not_ok '  never has it' grep -q sesame "$W/children"
rm "$W/bin/tmux"
REDISCLI_AUTH=sesame-0815 redis config set requirepass '' >/dev/null

kill_agent toast
kill_redis
gt list -L main
is "$RC" 0 'without the server the dead agent is listed'
like "$OUT" 'toast' '  by its name'
gt toast --yes -L main
is "$RC" 75 '  and not brought back: nothing could be written down'
is "$(agent_starts toast)" 4 '  nor started'
ok 'with the server' start_redis
gt toast --yes -L main
is "$RC" 0 '  it is'
is "$(agent_starts toast)/$(messages toast)" 5/4 '  once'

# ---- what is over leaves ----
for run in o1 o2 o3; do
	put "{\"run_id\":\"$run\",\"session_id\":\"s-$run\",\"prompt\":\"test\",\"execution_mode\":\"sync\"}" run create
	gt run claim runner "$run"
	gt run start "$run" runner
	gt run finish "$run" runner completed
done
echo 'keep_history_count = 1' >>"$XDG_CONFIG_HOME/gt-recover/gt.toml"
gt snapshot -L main
is "$RC" 0 'a pass with a limit'
is "$(redis exists run:o1 run:o2 run:o3) $(redis exists run_session:s-o1 run_session:s-o3)" '1 1' '  keeps the newest finished run and its session'
is "$(redis exists run:o3) $(redis exists run:r1)" '1 1' '  it is the newest, and what is open stays'
is "$(redis zrange gt-recover:keys '[event:' '(event;' BYLEX | wc -l)" 2 '  events leave too'
gt log --verify
is "$RC" 0 '  and the log proves what is kept'
gt run list
is "$RC" 0 '  the tallies agree'

# ---- older files of the server: what it confirmed since is missing ----
kill_redis
# appendonlydir; before Redis 7 appendonly.aof
files=$(basename "$STORE"/appendonly*)
cp -r "$STORE/$files" "$W/older"
ok 'the server goes on' start_redis
put '{"run_id":"late","session_id":"s","prompt":"test"}' run create
is "$RC" 0 '  and confirms a run'
kill_redis
rm -r "${STORE:?}/$files"
cp -r "$W/older" "$STORE/$files"
ok 'it comes back with older files' start_redis
put '{"run_id":"next","session_id":"s","prompt":"test"}' run create
like "$RC $OUT$ERR" '^1 gt-recover: .*lost changes that it had confirmed.*events.jsonl.*gt-recover:accepted' 'nothing is recorded there'
gt run list
is "$RC" 0 '  what there is can be read'
like "$OUT" 'r1' '  the records that it has'
unlike "$OUT" 'late' '  without the lost one'
like "$ERR" 'opened read-only: .*lost changes that it had confirmed' '  and a warning'
gt --all --yes -L main
unlike "$RC" '^0$' '  no agent is started by it'
run=$(redis info server | tr -d '\r' | sed -n 's/^run_id://p')
redis set gt-recover:accepted "$run" >/dev/null
put '{"run_id":"next","session_id":"s","prompt":"test"}' run create
is "$RC" 0 'accepted, it is used again'
gt run list
like "$OUT" 'next' '  with the new record'
unlike "$ERR" 'opened read-only' '  and no warning'
done_testing
