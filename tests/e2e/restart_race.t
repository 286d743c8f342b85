#!/bin/bash
# Whoever is first brings an agent back: startups, patrols and --all at once, and a startup that is killed at each of its commits, start each
# root once and tell it once.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/roots.sh
. "$ROOT/tests/e2e/roots.sh"
printf '[recovery]\nauto_recover = true\nspacing = "0s"\nmax_attempts = 1000\n' >"$CONFIG"

server_dies() {
	local pid
	pid=$(tm display-message -p '#{pid}')
	kill -9 "$pid"
	until_ 10 _gone "$pid" && until_ 10 nobody_runs
}
agents() {	# how many of this test's run, whoever started them
	grep -lzs "^HOME=$HOME$" /proc/[0-9]*/environ | cut -d / -f 3 | {
		n=0
		while read -r pid; do
			[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != claude ] || _gone "$pid" || n=$((n + 1))
		done
		printf %s "$n"
	}
}
nobody_runs() {
	[ "$(agents)" = 0 ]
}

# one that a snapshot knows, and one of which there is but the record
start_agent seen --scenario "$DATA/idle.scenario" --command "env FAKE_AGENT_LOG=$(agent_dir seen) $CLAUDE --dangerously-skip-permissions"
gt -L main snapshot
record seen ",\"pid\":$(agent_pid seen)"
record boss
is "$RC" 0 'two roots are recorded'
gt -L main patrol
seen=$(agent_starts seen) boss=0
for round in 1 2; do
	ok "round $round: the tmux server is killed" server_dies
	pids=()
	for i in 1 2 3 4 5 6 7 8; do
		case $i in
		1 | 4 | 7) "$GT_RECOVER" -L main startup >"$W/race.$i" 2>&1 </dev/null & ;;
		2 | 5 | 8) "$GT_RECOVER" -L main --all --yes >"$W/race.$i" 2>&1 </dev/null & ;;
		*) "$GT_RECOVER" -L main patrol >"$W/race.$i" 2>&1 </dev/null & ;;
		esac
		pids+=($!)
	done
	odd=''
	for i in "${!pids[@]}"; do
		wait "${pids[$i]}"
		case $? in 0 | 3 | 4 | 6 | 75) ;; *) odd="$odd $((i + 1))=$?" ;; esac
	done
	is "$odd" '' 'eight at once end as those that were too late may end'
	gt -L main startup
	seen=$((seen + 1)) boss=$((boss + 1))
	is "$(agent_starts seen) $(agent_starts boss) $(agents)" "$seen $boss 2" 'each root was started once, and two agents run'
	is "$(messages seen) $(messages boss)" "$round $round" 'each was told once'
	is "$(tag session:seen) $(tag session:boss)" 'ACTIVE ACTIVE' 'both sessions are ACTIVE'
	gt -L main startup --json
	is "$RC $(json '{startup}{changed}') $(json '{startup}{session_counts}{alive}') $(json '{startup}{resume}')" '0 false 2 0' 'with living processes; nothing is left to do'
	is "$(tm list-panes -a | wc -l)" 2 'no window or session stands beside them'
done

if grep -q GT_FAULT "$GT_RECOVER"; then
	printf 'parallel = 1\n' >>"$CONFIG"	# the fault is to meet the one that was called
	killed=0 wrong=0
	for ((passage = 1; passage < 40; passage++)); do
		server_dies
		# half of the time nothing but the records is known
		[ $((passage % 2)) = 0 ] || rm -rf "$XDG_STATE_HOME/gt-recover/snapshots"
		before="$(agent_starts seen) $(agent_starts boss)"
		RC=0
		{ GT_FAULT=store-commit:$passage=kill "$GT_RECOVER" -L main startup >/dev/null 2>&1 </dev/null; } 2>/dev/null || RC=$?
		[ "$RC" = 137 ] || break
		killed=$((killed + 1))
		gt -L main startup
		gt -L main startup
		read -r a b <<<"$before"
		if [ "$(agent_starts seen) $(agent_starts boss) $(agents) $(tag session:seen) $(tag session:boss)" != "$((a + 1)) $((b + 1)) 2 ACTIVE ACTIVE" ]; then
			wrong=$((wrong + 1))
			note "killed at commit $passage: starts $before -> $(agent_starts seen) $(agent_starts boss), $(agents) run, $(tag session:seen) $(tag session:boss): $ERR"
		fi
	done
	is "$wrong" 0 "killed at each of $killed commits, the next startup starts each root once"
	ok 'it was killed at more than ten' test "$killed" -gt 10
else
	skip 'this build has no fault points (make FAULTS=1)' 2
fi
gt log --verify
is "$RC" 0 'the export is what the store holds'
done_testing
