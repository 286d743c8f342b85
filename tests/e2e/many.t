#!/bin/bash
# Many at once: --all overlaps, the first agent of a login starts alone, the results keep the order of the plan, who did not come back is
# named at the end, and a second run after a kill -9 doubles nothing.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"
cat >"$W/gt.toml" <<'TOML'
[recovery]
spacing = "0s"
parallel = 4
max_attempts = 1000
TOML
with=(-L main --config "$W/gt.toml")
mkdir -p "$HOME/.claude"
printf '{}\n' >"$HOME/.claude/.credentials.json"	# agents with a key in the environment do not wait for the first
NAMES=()
for i in 01 02 03 04 05 06 07 08 09 10 11 12; do
	NAMES+=("w$i")
done

all_die() {
	local name pids=()
	for name in "${NAMES[@]}"; do
		pids+=("$(agent_pid "$name")")
	done
	kill -9 "${pids[@]}" || return 1
	for name in "${NAMES[@]}"; do
		wake
		until_ 10 pane_is "$name" '#{pane_dead}' 1 || return 1
	done
}
counts() {	# of starts and messages: how many sessions have which
	local name
	for name in "${NAMES[@]}"; do
		printf '%s/%s\n' "$(agent_starts "$name")" "$(messages "$name")"
	done | sort | uniq -c | awk '{ printf "%sx%s ", $1, $2 }'
}
# Of the attempts begun at or after $1 (ms), by their records: the most that were open at once, and whether any began before the first
# was acknowledged.
overlap() {
	sql "$XDG_STATE_HOME/gt-recover/recover.db" "SELECT value FROM record WHERE key LIKE 'attempt:%'" | perl -MJSON::PP -ne '
		BEGIN { $main::since = shift }
		my $v = eval { decode_json($_) } or next;
		my @t = map { $v->{times}{$_} // 0 } qw(detected acknowledged);
		push @main::all, \@t if $t[0] >= $main::since && $t[1];
		END {
			@main::all = sort { $a->[0] <=> $b->[0] } @main::all;
			my $most = 0;
			for my $x (@main::all) {
				my $n = grep { $_->[0] <= $x->[0] && $_->[1] > $x->[0] } @main::all;
				$most = $n if $n > $most;
			}
			my $alone = @main::all > 1 && $main::all[1][0] >= $main::all[0][1];
			printf "%s %s", $most, $alone ? "alone" : "beside";
		}' "$1"
}
milliseconds() {
	printf '%s' $((${EPOCHREALTIME/[.,]/} / 1000))
}

for name in "${NAMES[@]}"; do
	start_agent "$name" --scenario "$DATA/idle.scenario" || fail "$name starts"
done
ok 'twelve agents are killed' all_die

# ---- one of which dies again at once ----
agent_plan w05 --die-at-once=3
since=$(milliseconds)
gt "${with[@]}" --all --yes
is "$RC" 3 'some are back, some not'
is "$(tail -n 1 <<<"$ERR")" 'found=12 recovered=11 unacknowledged=0 refused=0 failed=1' '  counted in the last line'
read -r most first <<<"$(overlap "$since")"
ok "attempts overlap: $most were open at once" [ "${most:-0}" -ge 2 ]
ok '  and never more than four' [ "${most:-9}" -le 4 ]
is "$first" alone 'the first one of the login answers before another is begun'
is "$(grep -c 'Agent resuming work' <<<"$ERR")" 11 'each that came back has its line'
like "$ERR" '\[12/12\] w12  Agent resuming work' '  with position, total and name'
like "$ERR" 'Not recovered:
  w05: Claude crashed again right after its start \(status 3\)
    [^ ]' 'the summary names the one that did not, with its next step'
is "$(sed -n '/^Not recovered/,$p' <<<"$ERR" | grep -c '^  w')" 1 '  and no other'
is "$(counts)" '1x2/0 11x2/1 ' 'each was started and told once'
gt "${with[@]}" --all --yes
is "$RC" 0 'the next run brings it back'

# ---- the order of the results ----
ok 'they are killed again' all_die
agent_plan w02 '--slow 1500'
gt "${with[@]}" --all --yes --json
is "$RC $(json '{results}')" '0 12' 'all come back'
is "$(for i in {0..11}; do json "{results}[$i]{session}" && printf ' '; done)" "${NAMES[*]} " '  in the order of the plan, the slow one too'

# ---- without a credential file there is nothing to race for ----
ok 'they are killed again' all_die
rm "$HOME/.claude/.credentials.json"
agent_plan w01 '--slow 1500'
since=$(milliseconds)
gt "${with[@]}" --all --yes
read -r most first <<<"$(overlap "$since")"
is "$RC $first" '0 beside' 'without a credential file the others do not wait for the first'
printf '{}\n' >"$HOME/.claude/.credentials.json"

# ---- parallel = 1 ----
ok 'they are killed again' all_die
sed 's/^parallel.*/parallel = 1/' "$W/gt.toml" >"$W/one.toml"
since=$(milliseconds)
gt -L main --config "$W/one.toml" --all --yes
is "$RC $(overlap "$since")" '0 1 alone' 'with parallel = 1 no two are open at once'

# ---- on a terminal: one row each, rewritten in place ----
ok 'they are killed again' all_die
for name in w02 w03; do
	agent_plan "$name" '--slow 3000'
done
term_start 90 40
term_run "${with[@]}" --all --yes
two_rows() {
	term_shows '^  \[2/12\] w02  waiting for the agent to [a-z ]*… [0-9]+s' && term_shows '^  \[3/12\] w03  waiting for the agent'
}
ok 'those in flight have a row each, with position, total, name and what it waits for' until_ 20 two_rows
term_ended
is "$STATUS" 'exit 0' 'all come back'
is "$(term_screen | grep -c '^✓ \[[0-9]*/12\] w[01][0-9]  Agent resuming work$')" 12 '  one line each is left'
is "$(term_screen | grep -c waiting)" 0 '  and no row'

# ---- the supervisor is killed in the middle ----
ok 'they are killed again' all_die
before=$(counts)
for name in w03 w04 w06; do
	agent_plan "$name" '--slow 1000'
done
"$GT_RECOVER" "${with[@]}" --all --yes >"$W/first" 2>&1 </dev/null &
run=$!
PIDS+=("$run")
ok 'one is back' until_ 20 grep -q 'resuming work' "$W/first"
kill -9 "$run"
wait "$run" 2>/dev/null
settled() {	# whoever was in the middle goes on to the end, and a run takes up what is left
	gt "${with[@]}" --all --yes
	[ "$RC" = 4 ]
}
ok 'further runs bring back the others' until_ 30 settled
is "$before to $(counts)" '11x6/5 1x7/5  to 11x7/6 1x8/6 ' 'and nobody was started or told twice'
is "$(find "$XDG_STATE_HOME/gt-recover/prompts" -type f | wc -l)" 0 'no prompt lies about'

# ---- one recovery is stopped, as by a debugger or kill -STOP ----
if grep -q GT_STOPPED_MS "$GT_RECOVER"; then
	ok 'they are killed again' all_die
	before=$(counts)
	touch "$W/held"
	agent_plan w01 "--hold $W/held"
	GT_STOPPED_MS=300 timeout 60 "$GT_RECOVER" "${with[@]}" --all --yes >"$W/first" 2>&1 </dev/null &
	run=$!
	PIDS+=("$run")
	ok 'the first recovery has started its agent, alone' until_ 20 grep -q 'w01  Claude started' "$W/first"
	child=$(pgrep -x gt-recover -P "$(pgrep -P "$run")")
	kill -STOP "$child"
	wait "$run"
	is "$?" 3 'a recovery that is stopped does not keep the others waiting'
	ok '  it was ended' test -n "$child" -a ! -e "/proc/$child"
	rm "$W/held"
	like "$(cat "$W/first")" 'Not recovered:
  w01: its recovery was stopped by a signal and ended
    to finish it: gt-recover w01
.*recovered=11 ' '  the summary names it, with its next step'
	ok 'the next run takes it up' until_ 30 settled
	is "$before to $(counts)" '11x7/6 1x8/6  to 11x8/7 1x9/7 ' '  and nobody was started or told twice'
else
	skip 'this build has no fault points' 6
fi

# ---- memory ----
if grep -q GT_MEMINFO "$GT_RECOVER"; then
	ok 'they are killed again' all_die
	before=$(counts)
	printf 'MemAvailable:      1000 kB\n' >"$W/meminfo"
	GT_MEMINFO=$W/meminfo "$GT_RECOVER" "${with[@]}" --all --yes >"$W/first" 2>&1 </dev/null &
	run=$!
	PIDS+=("$run")
	ok 'while memory is short the first one waits, and it is said' until_ 20 grep -q 'memory is low (0 MiB available, 256 MiB needed): w01 waits' "$W/first"
	is "$(counts)" "$before" '  none is started'
	printf 'MemAvailable: 100000000 kB\n' >"$W/meminfo.new"
	mv "$W/meminfo.new" "$W/meminfo"
	wait "$run"
	is "$?" 0 '  and all come back when there is enough'

	# what the dead one used counts
	gt snapshot -L main
	kill_agent w01 || fail 'w01 lives'
	sql_record "$XDG_STATE_HOME/gt-recover/recover.db" \
		"update record set value = json_set(value, '$.memory', 2147483648) where key like 'seen:%'"
	printf 'MemAvailable:  1048576 kB\n' >"$W/meminfo"
	sed 's/^spacing.*/&\nready_timeout = "1s"/' "$W/gt.toml" >"$W/short.toml"
	GT_MEMINFO=$W/meminfo gt -L main --config "$W/short.toml" --all --yes
	like "$RC $ERR" '^0 .*memory is low \(1024 MiB available, 2048 MiB needed\): w01 waits' 'one that used more than is available waits'

	# a fleet that the kernel ended is not started into the next shortage
	case $(tmux -V) in
	*\ 3.2*)
		skip 'tmux 3.2 does not tell by which signal a pane died' 5
		;;
	*)
		pids=("$(agent_pid w01)" "$(agent_pid w02)" "$(agent_pid w03)")
		starts="$(agent_starts w01) $(agent_starts w02)"
		for name in w01 w02 w03; do
			kill_agent "$name"
			wake
			until_ 10 pane_is "$name" '#{pane_dead_signal}' 9 || fail "$name is dead"
		done
		us=$(perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e 'printf "%d", clock_gettime(CLOCK_MONOTONIC) * 1e6')
		for pid in "${pids[0]}" "${pids[1]}"; do
			printf '3,1,%s,-;Out of memory: Killed process %s (claude) total-vm:214012kB, anon-rss:30104kB\n' "$us" "$pid"
		done >"$W/kmsg"
		printf 'full avg10=62.50 avg60=20.00 avg300=5.00 total=1\n' >"$W/pressure"
		GT_KMSG=$W/kmsg GT_PRESSURE=$W/pressure gt -L main --config "$W/short.toml" --all --yes
		is "$RC" 3 'while others wait for memory, two of which the kernel killed and one of which a person did'
		is "$(grep -c '! w0[12]: refused: killed by the kernel (out of memory), and memory is still low' <<<"$ERR")" 2 '  the two are refused'
		is "$(agent_starts w01) $(agent_starts w02)" "$starts" '  and not started'
		like "$ERR" 'memory is still low \(62 % of the last 10 s[^)]*\): starting w03 anyway' '  the third starts after a bounded wait, and it is said'
		like "$ERR" 'recovered=1 unacknowledged=0 refused=2' '  and comes back'
		;;
	esac
else
	skip 'this build has no fault points' 10
fi
done_testing
