#!/bin/bash
# What is no death: a process that cannot be read, and a process in another container (pid namespace) of this
# machine. No lock is taken from them, they are neither suspended nor started again. When the container has
# ended, its agents are recoverable.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
DB=$XDG_STATE_HOME/gt-recover/recover.db
PRELOAD=$ROOT/build/file-fault.so

state() {	# AGENT
	sql "$DB" "select tag from record where key = 'session:$1'"
}

record() {	# AGENT PID [MORE JSON]
	printf '{"agent_uuid":"%s","provider_name":"fake","pid":%s%s}' "$1" "$2" "${3:-}" >"$W/in"
	gt_in "$W/in" session record
}

# Its last sign of life is so many seconds older.
age() {		# SECONDS AGENT
	sql_record "$DB" "update record set value = json_set(value, '\$.process.seen_boot_ms',
		json_extract(value, '\$.process.seen_boot_ms') - $1 * 1000) where key = 'session:$2'"
}

space_of() {	# AGENT
	sql "$DB" "select json_extract(value, '\$.process.pid_ns') from record where key = 'session:$1'"
}

older_form() {	# AGENT: its record is one of before namespaces were noted
	sql_record "$DB" "update record set
		value = json_remove(value, '\$.process.pid_ns', '\$.process.seen_boot_ms') where key = 'session:$1'"
}

class_of() {	# SESSION: of the answer in $W/out
	jq -r ".sessions[] | select(.name == \"$1\") | \"\(.class) \(.recoverable)\"" "$W/out"
}

version() {	# AGENT
	sql "$DB" "select version from record where key = 'session:$1'"
}

# ---- an error ----
sleep 600 &
HOLDER=$!
PIDS+=("$HOLDER")
unread() {	# ERRNO WORDS...: while the files of that process in /proc answer it
	local errno=$1
	shift
	LD_PRELOAD=$PRELOAD FILE_FAULT_DIR=/proc/$HOLDER FILE_FAULT=open:1+=$errno gt "$@"
}
if [ -e "$PRELOAD" ]; then
	record worker $HOLDER
	gt lock acquire slot alice $HOLDER
	is "$RC" 0 'a process has a session and a lock'
	for errno in enfile eacces enomem; do
		unread $errno lock acquire slot bob
		is "$RC" 75 "$errno: its lock is not taken"
		like "$ERR" "alice holds the lock slot while its process $HOLDER runs" '  and it says so'
		unread $errno lock renew slot alice
		is "$RC" 0 '  the holder renews it'
		unread $errno startup
		is "$RC $(state worker)" '0 ACTIVE' '  its session is not suspended'
		unread $errno lock acquire other carol $HOLDER
		like "$RC $ERR" "^75 .*process $HOLDER cannot be read" '  a pid that cannot be read gets no lock'
	done
	printf '{"agent_uuid":"new","provider_name":"fake","pid":%s}' $HOLDER >"$W/in"
	LD_PRELOAD=$PRELOAD FILE_FAULT_DIR=/proc/$HOLDER FILE_FAULT=open:1+=enfile \
		gt_in "$W/in" session record
	like "$RC $(state new)" '^75 $' 'nor is a session recorded without it, which startup would suspend'
	start_agent toast --shell
	agent=$(agent_pid toast)
	LD_PRELOAD=$PRELOAD FILE_FAULT_DIR=/proc/$agent FILE_FAULT=open:1+=enfile gt -L main list
	like "$RC $ERR" "^75 .*process $agent cannot be read" 'a list of processes that lacks one is none'
	LD_PRELOAD=$PRELOAD FILE_FAULT_DIR=/proc/$agent FILE_FAULT=open:1+=enfile \
		gt -L main --all --yes --no-input
	is "$RC $(agent_starts toast)" '75 1' 'and nobody is recovered by it'
	tm kill-server
	kill $HOLDER
	wait $HOLDER 2>/dev/null
	unread enfile startup
	is "$RC $(state worker)" '0 SUSPENDED' 'of a pid that is gone kill tells, whatever /proc answers'
	like "$ERR" '1 stale lock is free' 'and its lock is free'
else
	skip 'build/file-fault.so is not built (make fake)' 18
	kill $HOLDER
fi

# ---- another container ----
own=$(readlink /proc/self/ns/pid)
alone=(unshare -pf --kill-child --mount-proc)
"${alone[@]}" true 2>/dev/null || alone=(unshare -Ur -pf --kill-child --mount-proc)
if ! "${alone[@]}" true 2>/dev/null; then
	skip 'no pid namespace may be made here' 47
	done_testing
fi

other() {	# WORDS...: gt in a container of its own
	RC=0
	OUT=$("${alone[@]}" "$GT_RECOVER" "$@" 2>"$W/err" </dev/null) || RC=$?
	ERR=$(cat "$W/err")
}

# A container with a process that has a session, a lock and a runner of that name. It runs what its fifo says.
container() {	# AGENT [SANDBOX]: the process is in one, a namespace below the container's
	mkfifo "$W/$1.fifo"
	# shellcheck disable=SC2016	# the inner shell's
	"${alone[@]}" bash -c 'exec 9<>"$2"
		$4 sleep 600 &
		pid=$!
		for ((i = 0; i < 200 && ${#4}; i++)); do
			read -r pid _ <"/proc/$!/task/$!/children"
			[ "$(cat "/proc/$pid/comm")" = sleep ] && break
			sleep 0.02
		done
		printf "{\"agent_uuid\":\"%s\",\"provider_name\":\"fake\",\"pid\":%s}" "$1" $pid |
			"$3" session record >/dev/null
		"$3" lock acquire "$1" "holder-$1" $pid >/dev/null
		"$3" runner register "runner-$1" $pid >/dev/null
		echo $! >"$2.ready"
		while read -r line <&9; do
			eval "$line"
			echo $? >"$2.done"
		done' - "$1" "$W/$1.fifo" "$GT_RECOVER" "${2:-}" >"$W/$1.out" 2>&1 &
	CONTAINER=$!
	PIDS+=("$CONTAINER")
	until_ 20 test -s "$W/$1.fifo.ready" || note "$(cat "$W/$1.out")"
}

inside() {	# AGENT COMMAND: in its container
	rm -f "$W/$1.fifo.done"
	printf '%s\n' "$2" >"$W/$1.fifo"
	until_ 20 test -s "$W/$1.fifo.done" && RC=$(cat "$W/$1.fifo.done")
}

# As a container's end is: the kernel ends all that is in it.
end_container() {
	local init
	init=$(cat "/proc/$CONTAINER/task/$CONTAINER/children")
	kill -9 $CONTAINER
	wait $CONTAINER 2>/dev/null
	until_ 10 _gone "${init% }"
}

# Only the host sees the process that has the lock.
sees=false
[ "$own" = 'pid:[4026531836]' ] && [ "$(id -u)" = 0 ] && sees=true
held_by() {	# other|gt
	if [ "$1" = gt ] && $sees; then
		echo ' while its process [0-9]+ in another container runs'
	else
		echo ' for [0-9]+ more sec'
	fi
}

container one
first=$CONTAINER
is "$(state one)" ACTIVE 'a container has a session'
for where in other gt; do
	$where startup
	is "$RC $(state one)" '0 ACTIVE' "$where: a startup elsewhere does not suspend it"
	$where lock acquire one thief
	like "$RC $ERR" "^75 .*holder-one holds the lock one$(held_by $where)" '  nor is its lock to be had'
	$where runner list
	like "$OUT" 'runner-one +alive' '  its runner lives'
	$where runner beat runner-one
	like "$RC $ERR" '^6 .*not registered in this container' '  and is not another one that beats'
done
other doctor --json
like "$(jq -r '.checks[] | select(.name == "containers") | "\(.result) \(.sentence)"' <<<"$OUT")" \
	'^warning last used from another container .*, which has 3 live' 'doctor warns'
printf '{"agent_uuid":"one","provider_name":"fake","pid":1}' >"$W/in"
RC=0
"${alone[@]}" "$GT_RECOVER" session record <"$W/in" >/dev/null 2>"$W/err" || RC=$?
like "$RC $(cat "$W/err")" '^6 .*has another process, which is running' 'no other process takes its place'

# what a run has is its container's
printf '{"run_id":"r1","session_id":"s1","prompt":"p"}' >"$W/in"
gt_in "$W/in" run create
# shellcheck disable=SC2016	# the inner shell's
inside one '"$3" run claim runner-one r1 >/dev/null'
is "$RC" 0 'a runner in the container claims a run'
other run recover --mode all
is "$(sql "$DB" "select tag from record where key = 'run:r1'")" claimed 'a restart elsewhere leaves it alone'

# ---- signs of life ----
was=$(version one)
# shellcheck disable=SC2016	# the inner shell's
inside one '"$3" snapshot >/dev/null 2>&1'
is "$(version one)" "$was" 'a pass that comes soon writes none'
age 400 one
# shellcheck disable=SC2016	# the inner shell's
inside one '"$3" snapshot >/dev/null 2>&1'
is "$(version one)" $((was + 1)) 'one that comes later does, once'
age 500 one
# shellcheck disable=SC2016	# the inner shell's
inside one '"$3" patrol >/dev/null 2>&1'
is "$(version one)" $((was + 2)) 'patrol, too'
age 590 one
other startup
is "$(state one)" ACTIVE 'it is active for ten minutes after its last one'
age 11 one
other startup
is "$(state one)" SUSPENDED 'and not longer'
sql_record "$DB" "update record set value = json_set(value, '\$.renewed_boot_ms',
	json_extract(value, '\$.renewed_boot_ms') - 301000) where key = 'lock:one'"
other lock acquire one next
like "$RC $ERR" '^0 .*holder-one had it, but its lease has ended' 'its lock is free when its lease has ended'
CONTAINER=$first
end_container

# ---- a container is restarted ----
container two
end_container
age 601 two
other startup
is "$(state two)" SUSPENDED 'from a new container its agents are recoverable after ten minutes'
container three
if $sees; then
	gt startup
	is "$(state three)" ACTIVE 'on the host, as long as the container runs, they are not'
	end_container
	gt startup
	is "$RC $(state three)" '0 SUSPENDED' 'when it has ended they are, at once'
	like "$ERR" 'stale locks? (is|are) free' 'and their locks are free'
else
	end_container
	skip 'this is no host, or not its root' 3
fi

# ---- what the host sees of a living container ----
silent() {	# AGENT SECONDS: its last sign of life, beat and renewal are so much older
	age "$2" "$1"
	sql_record "$DB" "update record set value = json_set(value, '\$.renewed_boot_ms',
		json_extract(value, '\$.renewed_boot_ms') - $2 * 1000) where key = 'lock:$1'"
	sql_record "$DB" "update record set value = json_set(value, '\$.beat_boot_ms',
		json_extract(value, '\$.beat_boot_ms') - $2 * 1000) where key = 'runner:runner-$1'"
}

lives() {	# AGENT: of its session, its lock and its runner, for the host
	gt startup
	gt -v lock list --json
	jq -r ".locks[] | select(.name == \"$1\") | .state" <<<"$OUT" >"$W/held"
	gt runner list --json
	echo "$(state "$1") $(cat "$W/held") $(jq -r ".runners[] | select(.runner_id == \"runner-$1\") | .alive" \
		<<<"$OUT")"
}

# root that may not look into processes which have more capabilities
blind() {
	setpriv --bounding-set -sys_ptrace "$GT_RECOVER" "$@" >"$W/out" 2>"$W/err" </dev/null
}

if $sees; then
	container five
	silent five 3601
	is "$(lives five)" 'ACTIVE held true' 'a silent process in a living container is alive, as the host sees it'
	silent five -3601
	inside five 'kill $!; wait $!; true'
	is "$(lives five)" 'SUSPENDED free false' 'one that has ended in a living container is gone, at once'
	end_container

	container six "unshare -pf --kill-child --mount-proc"
	silent six 3601
	is "$(lives six)" 'ACTIVE held true' 'one in a sandbox of the container is alive'
	end_container

	container nine
	blind startup
	is "$(state nine)" ACTIVE 'a process whose namespace may not be read counts as alive'
	age 601 nine
	blind startup
	is "$(state nine)" SUSPENDED 'until its last sign of life is ten minutes old'
	end_container

	# the same pid and start time in another container is another process
	container seven
	sql_record "$DB" "update record set value = json_set(value, '\$.process.pid_ns', 4026530000)
		where key = 'session:seven'"
	gt startup
	is "$(state seven)" SUSPENDED 'that pid and start time in another container is another process'
	end_container

	# its clock since boot is another one, and so are start times
	before=("${alone[@]}")
	alone=(unshare -T --boottime 864000 -pf --kill-child --mount-proc)
	if "${alone[@]}" true 2>/dev/null; then
		container eight
		age 868000 eight
		gt startup
		is "$(state eight)" ACTIVE 'start times of a time namespace are not compared'
		end_container
	else
		skip 'no time namespace may be made here'
	fi
	alone=("${before[@]}")
else
	skip 'this is no host, or not its root' 7
fi

# ---- a record of before ----
sleep 600 &
OLD=$!
PIDS+=("$OLD")
record before $OLD
older_form before
gt startup
is "$(state before)" ACTIVE 'a record without a namespace is of this one'
gt snapshot
is "$(space_of before)" "${own//[^0-9]/}" 'a pass writes it'
older_form before
kill $OLD
wait $OLD 2>/dev/null
gt startup
is "$(state before)" SUSPENDED 'and its process is gone when it is'

# ---- what a snapshot tells ----
start_agent nux
gt -L main snapshot --json
is "$RC $(jq .taken <<<"$OUT")" '0 1' 'a living agent is known by its snapshot'
# shellcheck disable=SC2016	# the inner shell's
"${alone[@]}" sh -c 'mount -t tmpfs gtr-test "$2" && exec "$1" -L main list --json' - "$GT_RECOVER" \
	"$TMUX_TMPDIR" >"$W/out" 2>"$W/err" </dev/null
if [ "${alone[1]}" = -Ur ]; then
	skip 'as another user the path of the socket is another'
else
	is "$(class_of nux)" 'unknown false' 'a container that does not see its tmux server lets it be'
fi
"${alone[@]}" "$GT_RECOVER" -L main --all --yes --no-input >/dev/null 2>"$W/err" </dev/null
is "$(agent_starts nux)" 1 'one that sees the server, but no process of it, does so, too'

state=$(find "$XDG_STATE_HOME" -name 'state-*.json')
quiet() {
	touch -d '4 minutes ago' "$state"
	gt -L main snapshot
	[ -z "$(find "$state" -mmin -1)" ]
}
ok 'a pass that finds nothing new writes nothing' until_ 10 quiet
touch -d '6 minutes ago' "$state"
gt -L main snapshot
is "$(find "$state" -mmin -1)" "$state" 'but a sign of life, after a while'

# ---- its tmux server ----
servers() {	# EXPRESSION: over the server that is remembered
	local at='$.servers[0].seen_boot_ms'
	sql_record "$DB" "update record set value = json_set(value, '$at', json_extract(value, '$at') $1)
		where key = 'servers:last'"
	sql "$DB" "select json_extract(value, '$at') from record where key = 'servers:last'"
}
gt -L main patrol
was=$(servers '+ 0')
other -L main patrol
is "$(servers '+ 0')" "$was" 'a pass in a container keeps what it cannot see'
other startup --json
is "$RC $(jq .startup.servers_ended <<<"$OUT")" '0 0' 'its tmux server has not ended for a container'
gt -L main patrol
is "$(servers '- 400000')" $((was - 400000)) 'a pass that comes soon notes nothing'
gt -L main patrol
ok 'a later one notes that it runs' [ "$(servers '- 601000')" -ge $((was - 601000)) ]
other startup --json
is "$RC $(jq .startup.servers_ended <<<"$OUT")" '0 1' 'and it has ended when nobody saw it for ten minutes'

# ---- a recovery that is under way there ----
open_attempt() {	# EXPRESSION: it is open, with these changes
	local later="'\$.times.respawned', '\$.times.delivered', '\$.times.acknowledged', '\$.times.failed'"
	sql_record "$DB" "update record set tag = 'captured', value = json_remove(json_set(value, $1), $later) where key like 'attempt:%'"
	sql_record "$DB" "update record set tag = 'open' where key like 'pane:%'"
}
attempt() {
	sql "$DB" "select tag from record where key like 'attempt:%'"
}
kill_agent nux
gt -L main nux
is "$RC $(attempt)" '0 acknowledged' 'an agent is recovered'
container four
space=$(space_of four)
open_attempt "'\$.pid_ns', $space, '\$.server_pid', 4194305"
gt startup
is "$RC $(attempt)" '0 captured' 'what another container began goes on, though its server is none of ours'
open_attempt "'\$.pid_ns', $space, '\$.server_pid', $$, '\$.times', json('{\"detected\":1,\"captured\":1}')"
gt startup
is "$RC $(attempt)" '0 failed' 'until nothing was heard of it for ten minutes'
end_container

# One that sees the server and has a process of its own with the pid of the pane: an idle shell.
start_agent toast2 --shell --env GT_AGENT=claude
pane=$(tm display-message -p -t "$(agent_pane toast2)" '#{pane_pid}')
mkfifo "$W/keys" "$W/tick2"
# shellcheck disable=SC2016	# the inner shell's
"${alone[@]}" bash -c 'exec 8<>"$3/keys" 9<>"$3/tick2"
	[ "$4" != -Ur ] && echo $(($1 - 2)) >/proc/sys/kernel/ns_last_pid || exit 77
	script -qfc "exec bash --norc --noprofile -i" /dev/null <&8 >/dev/null 2>&1 &
	for i in {1..200}; do
		read -rt 0.025 -u 9
		{ [[ $(</proc/$1/stat) == *") S "* && $(</proc/$1/comm) == bash ]] && break; } 2>/dev/null
	done
	[ "$(cat /proc/$1/comm)" = bash ] || exit 77
	"$2" -L main list --json' - "$pane" "$GT_RECOVER" "$W" "${alone[1]}" >"$W/out" 2>"$W/err" </dev/null
if [ $? = 77 ]; then
	skip 'no process with that pid can be made here'
else
	is "$(class_of toast2)" 'unknown false' 'a process of its own with the pid of a pane is not that pane'
fi
done_testing
