#!/bin/bash
# The recoverer itself is killed wherever it changes something, is stopped while another one comes, comes eight times at once, and loses its tmux
# server: a crash is answered by one agent, which is told once. Needs a build with fault points (make FAULTS=1).
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
n=0		# scenes so far
LAYOUT=--bare	# how start_agent starts it
BEFORE=true	# what makes the store that a scene begins with: none
NAME='' STATE=''

# A new scene: an agent that was killed, and a state directory of its own.
scene() {
	n=$((n + 1))
	NAME=toast$n
	export XDG_STATE_HOME=$W/state/$n
	STATE=$XDG_STATE_HOME/gt-recover
	"$BEFORE" || fail "the store of scene $n"
	if ! start_agent "$NAME" "$LAYOUT" --scenario "$DATA/idle.scenario" || ! kill_agent "$NAME"; then
		fail "scene $n"
	fi
}

grep -q GT_FAULT "$GT_RECOVER" || skip_all 'this build has no fault points (make FAULTS=1)'

left_behind() {	# what no recovery may leave
	find "$STATE/prompts" -type f
	# what a killed pass of snapshots leaves goes with the next pass
	find "$STATE" -name snapshots -prune -o -name '.*.[0-9]*.*' -print
	# a lock file may outlive a recoverer that was killed, the lock does not
	find "$STATE/locks" -type f ! -exec flock -n {} true \; -print
	tm list-buffers -F '#{buffer_name}' 2>/dev/null
}

attempts() {	# their phases, the oldest first
	sql "$STATE/recover.db" "select phase from attempt where session = '$NAME' order by detected" | tr '\n' ' '
}

# The recoverer has died: a plain run puts everything right.
settles() {	# WHERE
	local answer
	gt "$NAME" -L main --json
	answer="$RC $(json '{results}[0]{phase}') $(json '{results}[0]{error}{name}')"
	# died after the last commit: there is nothing left to do
	[ "$answer" != '6 (none) live' ] || answer="0 $(attempts)(none)"
	is "$answer" '0 acknowledged (none)' "$1: the next run brings it back"
	[ "$RC" = 0 ] || [ "$RC" = 6 ] || note "$ERR $OUT"
	is "$(messages "$NAME") $(agent_starts "$NAME")" '1 2' '  started once, told once'
	is "$(attempts)" 'acknowledged ' '  in one attempt'
	is "$(left_behind)" '' '  nothing is left behind'
}

# ---- killed at every passage of every fault point ----
mapfile -t points < <(fault_points "$ROOT/src")
declare -A passed
sweep() {	# VIA POINT...
	local point passage via=$1
	shift
	for point; do
		for ((passage = 1; passage < 30; passage++)); do
			scene
			# in a shell of its own, which keeps its "Killed" to itself
			{ GT_FAULT=$point:$passage=kill gt "$NAME" -L main --json --via "$via"; } 2>/dev/null
			[ "$RC" -ne 0 ] || break
			is "$RC" 137 "killed at $point $passage on its way to $via"
			settles "$point $passage"
		done
		passed[$point]=$((passage - 1))
		is "$RC $(messages "$NAME") $(json '{results}[0]{via}')" "0 1 $via" "$point is passed ${passed[$point]} times and no more"
	done
}
sweep resume "${points[@]}"
sweep inject context prompt tmux store-committed
is "${passed[context]-} ${passed[prompt]-} ${passed[store-create]-} ${passed[store-backup]-} ${passed[tmux]-}" '1 1 1 1 1' \
	'context, prompt, store, its backup and tmux are each passed once'
ok 'every phase is a commit' [ "${passed[store-commit]-0}" -ge 4 ]
is "${passed[store-committed]-}" "${passed[store-commit]-}" 'and each of them is survived on both sides'

# ---- a store of an older version, and one that is damaged ----
recorded() {	# RUN
	printf '{"run_id":"%s","session_id":"ses_%s","prompt":"p"}' "$1" "$1" >"$W/in"
	gt_in "$W/in" run create && [ "$RC" = 0 ]
}
an_older_store() {
	(umask 077 && mkdir -p "$STATE") && (umask 077 && sql "$STATE/recover.db" "$(cat "$ROOT/tests/golden/ledger/schema-2.sql")")
}
a_damaged_store() {	# the page that its records begin in
	local page
	recorded one && recorded two && page=$(sql "$STATE/recover.db" "select rootpage from sqlite_schema where name = 'record'") &&
		head -c 4096 /dev/zero | dd of="$STATE/recover.db" bs=4096 seek=$((page - 1)) conv=notrunc status=none
}
BEFORE=an_older_store
sweep inject store-migrate
is "$(sql "$STATE/recover.db" "select tag from record where key = 'run:r1'")" pending 'what an older store held is still there'
BEFORE=a_damaged_store
sweep inject store-mend
is "$(sql "$STATE/recover.db" 'select run_id from run')" one 'and what the backup of a damaged one held'
is "${passed[store-migrate]} ${passed[store-mend]}" '1 1' 'both are killed at, and brought up once'
BEFORE=true

# ---- an agent whose shell stayed ----
LAYOUT=--wrapper
for point in prompt:1 tmux:1 store-committed:3 store-committed:5; do
	scene
	until_ 5 listed_is "$NAME" class zombie
	{ GT_FAULT=$point=kill gt "$NAME" -L main --json; } 2>/dev/null
	is "$RC" 137 "a zombie's recoverer is killed at $point"
	settles "$point"
done
LAYOUT=--bare

# ---- by paste: what may have arrived is never pasted again; the mark on the pane tells ----
cat >"$W/paste.toml" <<'TOML'
[recovery]
ready_timeout = "3s"
ack_timeout = "3s"
[recovery.agents.claude]
deliver = "paste"
TOML
pasting() {	# FAULT
	scene
	{ GT_FAULT=$1=kill gt "$NAME" -L main --config "$W/paste.toml" --json; } 2>/dev/null
	is "$RC" 137 "a pasting recoverer is killed at $1"
	gt "$NAME" -L main --config "$W/paste.toml" --json
}
pasting tmux:1
is "$RC $(messages "$NAME") $(agent_starts "$NAME")" '0 1 2' 'before the start: the next run does it all'
for point in store-committed:4 tmux:2; do
	pasting "$point"
	is "$RC $(messages "$NAME") $(agent_starts "$NAME")" '0 1 2' 'before the paste: the pane bears no mark, so the next run pastes'
done
pasting tmux:3
is "$RC $(messages "$NAME") $(agent_starts "$NAME")" '0 1 2' 'before the Enter: our text stands in the box, and the next run sends it off'
is "$(left_behind)" '' 'nothing is left behind'

# ---- a stopped recoverer, and another one ----
is_stopped() {	# PID
	[[ $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) == T* ]]
}
stopped() {	# FAULT: starts a recoverer in the background that stops there; its pid is in $BG
	GT_FAULT=$1=stop "$GT_RECOVER" "$NAME" -L main --json >"$W/bg.out" 2>"$W/bg.err" </dev/null &
	BG=$!
	PIDS+=("$BG")
	ok "a recoverer is stopped at $1" until_ 10 is_stopped "$BG"
}
for fault in store-create prompt tmux:1 store-committed:4; do
	scene
	stopped "$fault"
	GT_LOCK_MS=2000 gt "$NAME" -L main --json
	is "$RC" 75 'a second one steps back'
	like "$OUT" '"name": "(locked|busy)"' 'since the session is locked'
	kill -CONT "$BG"
	wait "$BG"
	is "$?" 0 'the first one goes on and ends well'
	is "$(messages "$NAME") $(agent_starts "$NAME")" '1 2' 'started once, told once'
	is "$(left_behind)" '' 'nothing is left behind'
done

# ---- several at once ----
for many in 2 8; do
	for round in 1 2 3; do
		scene
		pids=() won=0 others=''
		for ((i = 0; i < many; i++)); do
			"$GT_RECOVER" "$NAME" -L main --json >"$W/many.$i" 2>&1 </dev/null &
			pids+=($!)
			PIDS+=($!)
		done
		for ((i = 0; i < many; i++)); do
			rc=0
			wait "${pids[$i]}" || rc=$?
			case $rc in
			0) won=$((won + 1)) ;;
			6 | 75) ;;
			*) others="$others $rc: $(cat "$W/many.$i")" ;;
			esac
		done
		ok "$many at once, round $round: at least one ends well" [ "$won" -ge 1 ]
		is "$others" '' '  the others step back'
		is "$(messages "$NAME") $(agent_starts "$NAME")" '1 2' '  started once, told once'
		is "$(attempts)" 'acknowledged ' '  in one attempt'
		is "$(left_behind)" '' '  nothing is left behind'
	done
done

# ---- the tmux server dies ----
# On a server of its own: there the pane is %0, and so is a stranger's on the next server.
SOCKET=other
stranger() {	# a new server with a dead pane that could be respawned
	tm start-server \; set-option -g remain-on-exit on \; set-option -g default-shell /bin/bash \; \
		new-session -d -x 100 -y 30 -s "$NAME" "$1" && until_ 5 stranger_is "$2"
}
stranger_is() {
	[ "$(tm display-message -p -t %0 '#{pane_id} #{pane_dead}')" = "%0 $1" ]
}
for fault in context prompt store-commit:3 tmux:1; do
	for living in 0 1; do
		scene
		is "$(agent_pane "$NAME")" %0 'its pane is the first of its server'
		GT_FAULT=$fault=stop "$GT_RECOVER" "$NAME" -L other --json >"$W/bg.out" 2>"$W/bg.err" </dev/null &
		BG=$!
		PIDS+=("$BG")
		ok "a recoverer is stopped at $fault" until_ 10 is_stopped "$BG"
		old=$(tm display-message -p '#{pid}')
		tm kill-server
		ok 'its server is killed' until_ 5 _gone "$old"
		if [ $living = 1 ]; then
			ok 'a new one has a living %0' stranger 'cat >stranger' 0
		else
			ok 'a new one has a dead %0' stranger 'exit 3' 1
		fi
		before=$(tm list-panes -a -F '#{pane_id} #{pane_pid} #{pane_dead} #{pane_start_command}')
		kill -CONT "$BG"
		rc=0
		wait "$BG" || rc=$?
		OUT=$(cat "$W/bg.out")
		like "$rc $(json '{results}[0]{error}{name}')" '^(1 gone|1 server-lost|1 no-server|75 changed)$' 'it ends with a clear error'
		is "$(tm list-panes -a -F '#{pane_id} #{pane_pid} #{pane_dead} #{pane_start_command}')" "$before" 'the pane of a stranger is untouched'
		is "$(messages "$NAME") $(agent_starts "$NAME")" '0 1' 'nobody was told anything'
		is "$(find "$STATE/prompts" -type f 2>/dev/null)" '' 'no prompt lies about'
		old=$(tm display-message -p '#{pid}')
		tm kill-server
		until_ 5 _gone "$old"
	done
done
done_testing
