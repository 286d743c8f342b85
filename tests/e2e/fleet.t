#!/bin/bash
# Two hosts that share a Redis server: two state directories, each with a name, a tmux server and agents of its own. Each recovers its own,
# sees the other's, and respects what the other has claimed.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
for program in redis-server redis-cli; do
	command -v $program >/dev/null || skip_all "$program is not installed"
done
STORE=$W/store
mkdir -m 700 "$STORE"
for host in west east; do
	mkdir -m 700 "$W/$host" "$W/$host/gt-recover"
	cat >"$W/$host/gt-recover/gt.toml" <<TOML
[recovery]
state = "redis+unix://$STORE/sock"
host = "$host"
auto_recover = true
spacing = "0s"
max_attempts = 1000
via = "inject"
TOML
done

redis() {
	redis-cli -s "$STORE/sock" "$@" 2>/dev/null
}
answers() {
	[ "$(redis ping)" = PONG ]
}
on() {		# HOST ARGS...: gt-recover as it runs there
	XDG_STATE_HOME=$W/$1 XDG_CONFIG_HOME=$W/$1 gt "${@:2}"
}
put_on() {	# HOST JSON VERB...
	printf '%s' "$2" >"$W/in"
	XDG_STATE_HOME=$W/$1 XDG_CONFIG_HOME=$W/$1 gt_in "$W/in" "${@:3}"
}
race() {	# ARGS...: eight at once, four on each host, HOST standing for its tmux server; their ends in $codes
	local i host pids=()
	for ((i = 0; i < 8; i++)); do
		host=west
		[ $((i % 2)) = 0 ] || host=east
		XDG_STATE_HOME=$W/$host XDG_CONFIG_HOME=$W/$host timeout -k 5 120 "$GT_RECOVER" "${@//HOST/$host}" >"$W/racer.$i" 2>&1 </dev/null &
		pids+=($!)
		PIDS+=($!)
	done
	codes=''
	for i in "${!pids[@]}"; do
		wait "${pids[$i]}"
		codes+="$? "
	done
}
# Whoever brings back one whose server died has its start command alone: that tells it where its log is.
start_kept() {	# SESSION [FLAGS]...
	local dir
	dir=$(agent_dir "$1")
	start_agent "$@" --command "env FAKE_AGENT_LOG=$dir FAKE_AGENT_PLAN=$dir/plan claude --dangerously-skip-permissions"
}
at() {		# HOST COMMAND...: on its tmux server
	SOCKET=$1 "${@:2}"
}
counts() {	# starts and messages of all four
	local s
	for s in w1 w2 e1 e2; do
		printf '%s/%s ' "$(agent_starts $s)" "$(messages $s)"
	done
}
state_of() {	# AGENT: its session, as a host sees it
	on "${2:-west}" session show "$1" --json
	json '{session_record}{state}'
}
fleet() {	# HOST NAME FIELD: of the agent of that host and name in the last list --fleet --json
	printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne '
		BEGIN { ($main::host, $main::name, $main::field) = splice @ARGV, 0, 3 }
		for (@{JSON::PP->new->utf8->decode($_)->{sessions}}) {
			print $_->{$main::field} // "(none)" if $_->{name} eq $main::name && ($_->{host} // "") eq $main::host }' "$@"
}

redis-server --port 0 --unixsocket "$STORE/sock" --unixsocketperm 700 --dir "$STORE" --appendonly yes --appendfsync always \
	--save '' --auto-aof-rewrite-percentage 0 --daemonize no --logfile redis.log >/dev/null 2>&1 </dev/null &
redis_pid=$!
PIDS=("$redis_pid")
disown "$redis_pid"
ok 'a Redis server' until_ 30 answers
for host in west east; do
	for n in 1 2; do
		ok "an agent on $host" at $host start_kept "${host:0:1}$n" --scenario "$DATA/idle.scenario"
	done
	on $host patrol -L $host
	is "$RC" 0 "patrol on $host"
done

# ---- who is there ----
on west list --fleet --json -L west
is "$RC" 0 'list --fleet'
is "$(json '{sessions}')/$(json '{hosts}')" 4/2 '  shows the agents of both hosts'
is "$(fleet west w1 class) $(fleet west w1 here)" 'live 1' '  its own'
is "$(fleet east e2 class) $(fleet east e2 here)" 'live 0' "  and the other's, by what that one saw"
like "$(fleet east e2 seen_at)" '^2[0-9]{3}-.*Z$' '  with the time'
on west list --json -L west
is "$(json '{sessions}')" 2 'list without it shows its own'
on east list --fleet --live -L east
like "$OUT" '^east \(this host\).* e1 .*west \(seen [0-9]+s ago\).*  w2 +live' 'for a person they stand by host'

# ---- eight recoverers on two hosts ----
once=0 ended=0
for round in 1 2 3; do
	for a in w1 w2; do at west kill_agent $a; done
	for a in e1 e2; do at east kill_agent $a; done
	race --all --yes -L HOST
	expected="$((round + 1))/$round"
	if [ "$(counts)" = "$expected $expected $expected $expected " ]; then
		once=$((once + 1))
	else
		note "round $round: $(counts), ends $codes"
		for ((i = 0; i < 8; i++)); do note "racer $i: $(head -c 1500 "$W/racer.$i")"; done
	fi
	# 0 and 3: its share, 4: nothing left, 6: refused since it is alive, 75: somebody else is at it
	if [[ $codes =~ ^((0|3|4|6|75)\ )+$ ]]; then
		ended=$((ended + 1))
	else
		note "round $round: ends $codes"
	fi
done
is "$once" 3 'in three rounds eight recoverers answer each of four crashes with one start and one prompt'
is "$ended" 3 '  and each of the eight ends as it should'

# ---- sessions of the ledger ----
for a in w1 e1; do
	host=west
	[ $a = w1 ] || host=east
	put_on $host "{\"agent_uuid\":\"$a\",\"provider_name\":\"claude\",\"session\":\"$a\",\"socket\":\"$host\",\"pid\":$(at $host agent_pid $a)}" \
		session record
	is "$RC" 0 "the agent $a is recorded on $host"
done
on west session list
like "$OUT" 'e1 .*east.*w1 .*west' 'session list tells whose they are'
before=$(counts)
on west startup --mode all -L west
is "$RC" 0 "startup on west while east's agent lives"
is "$(state_of e1)" ACTIVE "  leaves east's session alone"
put_on west "{\"agent_uuid\":\"e1\",\"provider_name\":\"claude\",\"pid\":$$}" session record
is "$RC" 6 "west cannot record east's agent as its own"
like "$ERR" 'active on another host' '  and says why'
on west agent resume e1
is "$RC" 6 '  nor take it up'

# ---- claims ----
put_on west '{"run_id":"r1","session_id":"s1","prompt":"test"}' run create
on west runner register runner-w
on west run claim runner-w r1
is "$RC" 0 'a run is claimed on west'
on east run claim runner-e r1
is "$RC" 6 '  and not again on east'
on east startup --mode all -L east
is "$RC" 0 'east starts up, settling all runs'
on east run list
like "$OUT" 'r1 +claimed .*runner-w +west' "  which are not west's"
on east run recover --mode all
on east run list claimed
like "$OUT" 'r1 ' "  run recover --mode all on east leaves west's claim, too"
on east runner list
like "$OUT" 'runner-w +alive +west' "  whose runner's beat it has heard"
on east runner beat runner-w
is "$RC" 6 'it cannot beat for it'
is_pending() {
	on east run recover --threshold 1
	on east run list pending --json
	[ "$(json '{runs}')" = 1 ]
}
ok 'without a beat it is stale after the threshold, in the clock of the store' until_ 20 is_pending

# ---- an epic whose agents work on both ----
put_on west '{"epicId":"shop","name":"Shop","status":"in_progress","startTime":"2025-10-10T20:20:00Z","lastCheckpoint":"2025-10-10T20:45:30Z",
	"sprints":[{"id":"cart","status":"in_progress","progress":40}]}' checkpoint epic shop
for a in w1 e1; do
	host=west
	[ $a = w1 ] || host=east
	put_on $host '{"sprintId":"cart","epicId":"shop","lastHeartbeat":"2025-10-10T20:45:30Z"}' checkpoint agent $a
	is "$RC" 0 "a checkpoint of $a from $host"
done
on west epic status shop
like "$OUT" 'Hosts: (east, west|west, east)' 'epic status shows the hosts of a sprint'
like "$OUT" 'An agent is running' '  and that an agent of it runs here'
at west kill_agent w1
on west epic status shop --json
is "$(json '{epics}[0]{status}')" interrupted '  an old heartbeat elsewhere is no sign of life'
on west epic resume shop --yes -L west
is "$RC" 3 "epic resume on west brings back west's agent"
like "$OUT$ERR" 'e1: it is active on the host east' "  and leaves east's to east"
is "$(agent_starts w1) $(state_of e1)" '5 ACTIVE' '  untouched'

# ---- one agent, wanted on both hosts at the same time ----
put_on east "{\"agent_uuid\":\"e2\",\"provider_name\":\"claude\",\"session\":\"e2\",\"socket\":\"east\",\"pid\":$(at east agent_pid e2)}" \
	session record
late() {	# HOST FAULT ARGS...: begins there, and stops at the fault point; its pid in $late
	GT_FAULT=$2 XDG_STATE_HOME=$W/$1 XDG_CONFIG_HOME=$W/$1 timeout -k 5 120 "$GT_RECOVER" "${@:3}" >"$W/late" 2>&1 </dev/null &
	waiter=$!
	PIDS+=("$waiter")
	until_ 20 is_stopped
}
is_stopped() {
	late=$(cat "/proc/$waiter/task/$waiter/children" 2>/dev/null)
	late=${late%% *}
	[ -n "$late" ] && [[ $(cat "/proc/$late/stat" 2>/dev/null) == *') T '* ]]
}
go_on() {	# its end in $RC
	kill -CONT "$late"
	RC=0
	wait "$waiter" || RC=$?
}
if grep -q GT_BOOT_ID "$GT_RECOVER"; then
	starts=$(agent_starts e2)
	at east kill_agent e2
	on east session suspend e2
	ok 'east is about to start its agent' late east store-commit:3=stop --all --yes -L east
	on west session restore e2
	is "$RC" 0 '  when west takes it over'
	go_on
	is "$RC" 6 '  so east is refused, late as it is'
	like "$(cat "$W/late")" 'its agent was resumed on another host' '  and says why'
	is "$(agent_starts e2)" "$starts" '  and has started nothing'
	on west session suspend e2
	on east session restore e2
	on east session suspend e2
	ok 'west is about to take it over' late west store-commit:1=stop session restore e2
	on east --all --yes -L east
	is "$RC" 0 '  when east starts it'
	go_on
	is "$RC" 6 '  so west is refused'
	is "$(agent_starts e2) $(state_of e2)" "$((starts + 1)) ACTIVE" '  and it runs once'
else
	skip 'needs a test build (make FAULTS=1)' 9
fi

# ---- a host that died ----
for a in e1 e2; do at east kill_agent $a; done
at east tm kill-server
on west list --fleet --json -L west
is "$(fleet east e1 name) $(fleet east e1 recoverable)" 'e1 0' "the agents of a host whose server died are shown as it saw them last"
before=$(counts)
on west --all --yes -L west
is "$RC" 4 '  but west has nothing to recover'
on west patrol -L west
on west startup --mode all -L west
is "$(counts)" "$before" '  and starts nothing'
is "$(state_of e1)" ACTIVE '  nor calls its session dead'
at east tm start-server \; set-option -s exit-empty off \; set-option -g remain-on-exit on
race startup -L HOST
is "$(state_of e1)" ACTIVE 'east itself starts up, eight times at once on both hosts'
is "$(agent_starts e1)" 5 '  and its agent is started once'
is "$(agent_starts w1)" 5 "  west's is not"

# ---- taken over ----
on east session suspend e1
on west session restore e1 --json
is "$RC" 0 "west takes east's suspended agent over"
on east session restore e1 --json
is "$RC" 6 '  which east cannot any more'
on east session show e1 --json
is "$(json '{session_record}{host}') from $(json '{session_record}{came_from}')" 'west from east' '  the session tells where it is now'
pane=$(at east tm list-panes -t =e1 -F '#{pane_id}' 2>/dev/null)
printf '%s' "$pane" >"$(agent_dir e1)/pane"
at east kill_agent e1
on east e1 --yes -L east
is "$RC" 6 'its pane on east is left dead'
like "$ERR" 'its agent was resumed on another host' '  for that reason'
is "$(agent_starts e1)" 5 '  although it was named'

# ---- one log ----
on west log --json
like "$OUT" '"host": "east"' 'the log has the events of both hosts'
like "$OUT" '"host": "west"' '  each with its host'
on west log
like "$OUT" 'on east' '  for a person, too'
for host in west east; do
	on $host log --verify
	is "$RC" 0 "events.jsonl on $host is the same, line for line"
done
like "$(redis --scan --pattern 'attempt@west:*')" attempt@west 'attempts stand under their host'

XDG_STATE_HOME=$W/alone XDG_CONFIG_HOME=$W/alone gt list --fleet --json -L west
is "$(json '{hosts}') $(json '{hosts}[0]{host}') $(json '{hosts}[0]{here}')" '1 (none) true' 'without a shared store there is one host, and it needs no name'

# ---- the same name twice ----
boot=$(redis hget gt-recover:hosts west)
redis hset gt-recover:hosts west "another-boot ${boot##* }" >/dev/null
on west run list
is "$RC" 6 'another machine of the same name is refused'
like "$ERR" 'another machine uses the Redis store .* with the same host name west' '  by its name'
like "$ERR" 'host = "NAME"' '  with what to do'
redis hset gt-recover:hosts west "$boot" >/dev/null
on west run list
is "$RC" 0 '  once it has another name, all is well'
done_testing
