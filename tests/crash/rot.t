#!/bin/bash
# A disk gives back other bytes than were written (rot.c): FLIPS single bits (1,000; make rot: 10,000), PAGES changed pages of indexes
# (100; 1,000) and REST runs of bytes, cuts, swapped and stale pages each, from seed SEED (the day's). No answer is wrong, whatever the
# newest backup holds comes back. A checksum that sees nothing must be caught. Then the same through the program: exit status and words.
[ ! -w /dev/shm ] || [ -n "${TMPDIR:-}" ] || export TMPDIR=/dev/shm
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
FLIPS=${FLIPS:-1000} PAGES=${PAGES:-100} REST=${REST:-50} SEED=${SEED:-$(date +%Y%m%d)}
note "$FLIPS bits, $PAGES pages of indexes, $REST of each other damage, SEED=$SEED"
make -s -C "$ROOT" build/rot >/dev/null || exit 1
ROT=$ROOT/build/rot

rot() {		# FILE ARGUMENT...: its answer into FILE
	local out=$1
	shift
	mkdir -m 700 "$out.d"
	"$ROT" "$@" "$out.d" >"$out" 2>&1
}

# ---- negative control ----
rot "$W/control" --control 1 --seed 1 --flips 100 --pages 0 --rest 0
is $? 1 'a checksum that sees nothing is caught'
grep -q 'bit: 100 cases.* [1-9][0-9]* wrong answers' "$W/control"
is $? 0 '  by wrong answers'

# ---- the store, two processes side by side ----
rot "$W/one" --seed "$SEED" --flips $((FLIPS / 2)) --pages 0 --rest "$REST" &
PIDS+=($!)
rot "$W/two" --seed $((SEED + 1000000)) --flips $((FLIPS - FLIPS / 2)) --pages "$PAGES" --rest 0 &
PIDS+=($!)
for run in one two; do
	wait "${PIDS[0]}"
	is $? 0 "$(grep -c . "$W/$run") rows, no wrong answer, all restored"
	sed 's/^/# /' "$W/$run"
	PIDS=("${PIDS[@]:1}")
done
seen=$(sed -nE 's/^bit: .* ([0-9]+) seen.*/\1/p' "$W/one" "$W/two" | awk '{ n += $1 } END { print n }')
[ "$seen" -gt $((FLIPS / 4)) ]
is $? 0 "  and $seen of $FLIPS bits were seen; the others are in no record"

# ---- a map of pages that an open finds damaged, and a connection that knows the views does not ----
rot "$W/map" --seed 20261126 --flips 0 --pages 0 --rest 50 --only 49
is $? 0 'a stale map of pages is restored'
sed 's/^/# /' "$W/map"

# ---- through the program ----
STATE=$XDG_STATE_HOME/gt-recover
DB=$STATE/recover.db
record() {	# NUMBER
	printf '{"provider_name":"claude","agent_uuid":"agent-%d","cursor_session_id":"cursor-%d","workspace_path":"%s"}' \
		"$1" "$1" "$W" >"$W/input"
	gt_in "$W/input" session record
}
spoil() {	# OFFSET BIT: one bit of the store; the lock file says that it is as it was left, as when a disk decays
	perl -e 'my ($db, $lock, $at, $bit) = @ARGV;
		open my $f, "+<", $db or die; sysseek $f, $at, 0; sysread $f, my $c, 1;
		sysseek $f, $at, 0; syswrite $f, chr(ord($c) ^ 1 << $bit); close $f;
		my ($dev, $ino, $size, $m, $c2) = split " ", qx(stat -c "%d %i %s %.9Y %.9Z" "$db");
		s/\.// for $m, $c2;
		open $f, "+<", $lock or die; sysread $f, my $seal, 4096; my @f = split " ", $seal;
		splice @f, 4, 5, map { sprintf "%016x", $_ } $dev, $ino, $size, $m, $c2;
		sysseek $f, 0, 0; syswrite $f, join(" ", @f) . "\n"' "$DB" "$STATE/recover.lock" "$1" "$2"
}
restore_all() {
	cp "$W/sound" "$DB"
	cp "$W/sound.backup" "$DB.backup"
	cp "$W/sound.lock" "$STATE/recover.lock"
}
for i in 1 2 3 4 5; do
	record "$i"
done
is "$RC" 0 'sessions are recorded'
touch -d '1 hour ago' "$DB.backup"
record 6
is "$RC" 0 '  the newest backup has six'
record 7
is "$RC" 0 '  and lacks the seventh'
gt session list --json
answer=$OUT
cp "$DB" "$W/sound" && cp "$DB.backup" "$W/sound.backup" && cp "$STATE/recover.lock" "$W/sound.lock"
wrong=0 refused=0
perl -e 'my ($seed, $bytes) = @ARGV; srand $seed; print int(rand $bytes), " ", int(rand 8), "\n" for 1 .. 60' \
	"$SEED" "$(stat -c %s "$DB")" >"$W/places"
while read -r at bit; do
	restore_all
	spoil "$at" "$bit"
	gt session list --json
	if [ "$RC" != 0 ]; then
		refused=$((refused + 1))
	elif [ "$OUT" != "$answer" ]; then
		wrong=$((wrong + 1))
	fi
done <"$W/places"
is "$wrong" 0 "of 60 flipped bits, $refused refused, none gives another list with exit status 0"

tm new-session -d -s plain
# ---- one record, and what is said of it ----
restore_all
at=$(grep -aob cursor-5 "$DB" | head -n 1 | cut -d : -f 1)
spoil "$((at + 7))" 1
gt session list
is "$RC" 1 'a record that does not match its checksum is not listed'
like "$ERR" 'recover.db is damaged: the record session:agent-5 does not match its checksum' '  which is said by its name'
like "$ERR" 'restores its backup' '  with what comes next'
gt list -L "$SOCKET"
is "$RC" 1 'list ends with 1'
like "$ERR" 'recover.db is damaged' '  says that the store is corrupt'
like "$ERR" 'The next command that writes moves it away' '  and what to do'
gt startup
is "$RC" 1 'startup ends nobody'
record 8
is "$RC" 0 'the next command that records something succeeds'
like "$ERR" 'restored from the backup of 20.*Z \([0-9]+[smhd] old\): [0-9]+ sound records kept, 1 taken from the backup; 0 later' \
	"  with the backup's age"
gt session list
for i in 1 2 3 4 5 6 7 8; do
	[[ $OUT == *agent-$i* ]] || fail "session $i is not there"
done
is "$RC" 0 '  and every session is there'
gt log --verify
is "$RC" 0 '  the log agrees'

# ---- the same key wherever it stands: in the table and in two indexes ----
# shellcheck disable=SC2013	# a word a line
for at in $(grep -aob session:agent-3 "$W/sound" | cut -d : -f 1); do
	restore_all
	spoil $((at + 9)) 3
	gt session list --json
	[ "$RC" = 1 ] || [ "$OUT" = "$answer" ]
	is $? 0 "the key at byte $at: the list is whole, or refused"
	gt startup
	gt log --json
	unlike "$OUT" 'agent.repaired' '  and startup ends nobody'
done

# ---- a record that no backup has ----
restore_all
at=$(grep -aob cursor-7 "$DB" | head -n 1 | cut -d : -f 1)
spoil "$((at + 7))" 1
gt session list
is "$RC" 1 'a record that is newer than the backup is refused as well'
record 8
like "$ERR" 'lost: 1 \(session:agent-7\)' '  and reported as lost, by its name'
gt session list
like "$OUT" 'agent-6' '  the others are there'
is "$RC" 0 '  and the store is whole again'
done_testing
