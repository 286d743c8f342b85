#!/bin/bash
# Power is lost under the store, CRASHES times (20,000; make stress: 5 million), from seed SEED (the day's): nothing acknowledged is lost,
# nothing is half, the file opens. The same with a weaker disk or weaker settings must be caught, or this test proves nothing; these controls
# have a seed of their own, which is known to catch them. What fails is repeated by the command it prints.
[ ! -w /dev/shm ] || [ -n "${TMPDIR:-}" ] || export TMPDIR=/dev/shm
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
CRASHES=${CRASHES:-20000} SEED=${SEED:-$(date +%Y%m%d)} CONTROL_SEED=1
note "$CRASHES losses of power, SEED=$SEED"
make -s -C "$ROOT" build/powerloss >/dev/null || exit 1
LOSE=$ROOT/build/powerloss

field() {	# NAME FILE: the number behind it
	sed -nE "s/^seed .* $1 ([0-9a-f]+).*/\\1/p" "$2"
}
crash() {	# FILE ARGUMENT...: its answer into FILE
	local out=$1
	shift
	mkdir -m 700 "$out.d"
	"$LOSE" "$@" "$out.d" >"$out" 2>&1
}

# ---- negative controls ----
for control in wal-normal delete-full sync-off lying-fsync no-directory-sync; do
	crash "$W/$control" --control "$control" --seed "$CONTROL_SEED" --steps 300
	is $? 1 "$control is caught"
	[ "$(field lost "$W/$control")" -gt 0 ]
	is $? 0 "  $(field lost "$W/$control") times with acknowledged commits lost"
done

# ---- the same seed is the same run ----
crash "$W/first" --seed "$CONTROL_SEED" --steps 50
crash "$W/again" --seed "$CONTROL_SEED" --steps 50
same_file "$W/first" "$W/again" "a seed repeats itself, to the byte that is written"
crash "$W/other" --seed $((CONTROL_SEED + 1)) --steps 50

[ "$(field trace "$W/other")" != "$(field trace "$W/first")" ]
is $? 0 '  and another one does something else'
found=$(grep -m 1 -E '^seed [0-9]+ step [0-9]{3} ' "$W/delete-full")
read -r _ _ _ step _ <<<"$found"
crash "$W/alone" --control delete-full --seed "$CONTROL_SEED" --step "$step"
is "$(grep -cxF -- "$found" "$W/alone")" 1 "a crash that lost something repeats itself alone, to the byte (--step $step)"

# ---- what is seen after a kill is there after a loss of power ----
make -s -C "$ROOT" build/killed >/dev/null || exit 1
mkdir -m 700 "$W/killed.d"
"$ROOT/build/killed" "$W/killed.d" >"$W/killed" 2>&1
is $? 0 "$(tail -n 1 "$W/killed")"
[ "$(sed -nE 's/.* seen in ([0-9]+),.*/\1/p' "$W/killed")" -gt 0 ]
is $? 0 '  and some of it was not synced when it was seen'
"$ROOT/build/killed" --control 1 "$W/killed.d" >"$W/killed" 2>&1
is $? 1 'a store that does not sync what it sees is caught'

# ---- the store, two processes side by side ----
mkdir -m 700 "$W/one.d" "$W/two.d"
"$LOSE" --seed "$SEED" --steps $((CRASHES / 2)) "$W/one.d" >"$W/one" 2>&1 &
PIDS+=($!)
"$LOSE" --seed $((SEED + 1000000)) --steps $((CRASHES - CRASHES / 2)) "$W/two.d" >"$W/two" 2>&1 &
PIDS+=($!)
wait "${PIDS[@]}"
crashes=0 commits=0
for run in one two; do
	is "$(field bad "$W/$run")" 0 "$(field crashes "$W/$run") crashes, $(field commits "$W/$run") acknowledged commits: all there, none half"
	[ "$(field bad "$W/$run")" = 0 ] || { head -n 20 "$W/$run" | sed 's/^/# /' && note "repeat: build/powerloss --seed $SEED (one) or $((SEED + 1000000)) (two) --step N DIR"; }
	crashes=$((crashes + $(field crashes "$W/$run"))) commits=$((commits + $(field commits "$W/$run")))
done
is "$crashes" "$CRASHES" 'every crash was looked at'
[ "$commits" -gt $((CRASHES / 2)) ]
is $? 0 '  and there was something to lose'
done_testing
