#!/bin/bash
# Processes that keep a ledger die at random steps, CRASHES of them (400; make stress: 100,000), from seed SEED (the
# day's), beside an oracle: what was acknowledged is
# there, nothing else is, and startup makes it true (sim.h). Mistakes that are made on purpose must be caught. What fails is repeated by the
# command it prints. Needs a build with fault points, which it makes.
[ ! -w /dev/shm ] || [ -n "${TMPDIR:-}" ] || export TMPDIR=/dev/shm
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
CRASHES=${CRASHES:-400} SEED=${SEED:-$(date +%Y%m%d)} CONTROL_SEED=1
note "$CRASHES deaths, SEED=$SEED"
mode=FAULTS=1 SIM=build/faults/sim
case $GT_RECOVER in */build/san/*) mode=SAN=1 SIM=build/san/sim ;; esac
make -s -C "$ROOT" "$mode" "$SIM" >/dev/null || exit 1

field() {	# NAME FILE: the number behind it
	sed -nE "s/^(.*[ (,])?$1 ([0-9a-f]+).*/\\2/p" "$2"
}
sim() {		# FILE ARGUMENT...: its answer into FILE
	local out=$1
	shift
	mkdir -m 700 "$out.d"
	"$ROOT/$SIM" "$@" "$out.d" >"$out" 2>&1
}

# ---- negative controls: CONTROL and how it must be caught ----
while read -r control how; do
	sim "$W/$control" --control "$control" --seed "$CONTROL_SEED" --steps 1000
	is $? 1 "$control is caught, after $(field crashes "$W/$control") crashes"
	for verdict in $how; do
		caught=$((${caught:-0} + $(field "$verdict" "$W/$control")))
	done
	is "$caught" 1 "  for what it is: $how"
	caught=0
done <<'END'
send-first effect
ack-first lost half
drop-message invariant
enqueue-first effect
mark-first effect
two-commits half
deaf invariant half
no-tree invariant
error-ignored lost half
sweep-open half
lying-fsync lost half unopenable invariant effect log
END

# ---- the same seed is the same run ----
sim "$W/first" --seed "$CONTROL_SEED" --steps 60
sim "$W/again" --seed "$CONTROL_SEED" --steps 60
same_file "$W/first" "$W/again" 'a seed repeats itself, to the byte that is written'
sim "$W/other" --seed $((CONTROL_SEED + 1)) --steps 60
[ "$(field trace "$W/other")" != "$(field trace "$W/first")" ]
is $? 0 '  and another one does something else'

# ---- the ledger, two processes side by side ----
mkdir -m 700 "$W/one.d" "$W/two.d"
"$ROOT/$SIM" --seed "$SEED" --steps $((CRASHES / 2)) "$W/one.d" >"$W/one" 2>&1 &
PIDS+=($!)
"$ROOT/$SIM" --seed $((SEED + 1000000)) --steps $((CRASHES - CRASHES / 2)) "$W/two.d" >"$W/two" 2>&1 &
PIDS+=($!)
wait "${PIDS[@]}"
for run in one two; do
	is "$(field bad "$W/$run")" 0 "$(field crashes "$W/$run") crashes, $(field actions "$W/$run") verbs: as the oracle has it"
	[ "$(field bad "$W/$run")" = 0 ] || {
		head -n 20 "$W/$run" | sed 's/^/# /'
		note "repeat: $SIM --seed $SEED (one) or $((SEED + 1000000)) (two) --step N --tell 1 DIR"
	}
done
is $(($(field crashes "$W/one") + $(field crashes "$W/two"))) "$CRASHES" 'every crash was looked at'
# each verb was both accepted and refused, each manner of dying and each thing that startup settles came up
never=$(cat "$W/one" "$W/two" | awk -v crashes="$CRASHES" '
	/^accepted/ { for (i = 2; i < NF; i += 2) { split($(i + 1), n, "/"); done[$i] += n[1]; refused[$i] += n[2] } }
	/^under way/ { came += $5; again += $7; errors += $9 }
	/^under way/ { swept += $13; part += $16 }
	/^settled/ { for (i = 2; i < NF; i += 2) settled[$i] += $(i + 1) }
	END {
		for (v in done) if (done[v] == 0) print "accepted " v
		for (v in refused) if (refused[v] == 0 && v != "startup" && v != "sweep") print "refused " v
		# no verb leaves a child whose parent nobody knows; these two come up every few hundred times
		rare["kept-by-runner"] = rare["ended"] = crashes < 5000
		for (s in settled) if (settled[s] == 0 && s != "made-roots" && !rare[s]) print "settled " s
		if (swept == 0 || part == 0) print "things that a sweep takes, a sweep cut off"
		if (came == 0 || again == 0 || errors == 0) print "crash in a commit, repetition, error"
	}')
is "$never" '' 'nothing was left out: every verb accepted and refused, everything that startup settles'
done_testing
