#!/bin/bash
# Locks of the agents' own: what scripts may do with them.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
DB=$XDG_STATE_HOME/gt-recover/recover.db

# As if it had been renewed so many seconds earlier, on this boot.
age() {		# SECONDS LOCK
	local ms=$(($1 * 1000))
	sql_record "$DB" "update record set value = json_set(value,
		'\$.renewed_boot_ms', json_extract(value, '\$.renewed_boot_ms') - $ms,
		'\$.renewed_at', json_extract(value, '\$.renewed_at') - $ms) where key = 'lock:$2'"
}

gt lock list
is "$RC $OUT" '0 ' 'nothing is held'
like "$ERR" '^No lock is held\.$' 'and that is said'
ok 'reading makes no store' [ ! -e "$DB" ]

gt lock acquire
like "$RC $ERR" '^2 .*lock acquire needs the name of a lock and its holder' 'a lock has a name'
gt lock acquire slot tester-1
is "$RC $OUT" '0 1' 'the first has it, under number 1'
gt lock acquire slot tester-2
is "$RC $OUT" '75 ' 'the second tries again later'
like "$ERR" 'tester-1 holds the lock slot for [0-9]+ more seconds' 'and hears who has it'
gt lock acquire slot tester-1
is "$RC $OUT" '0 1' 'who lost the answer asks again'
gt --json lock acquire slot tester-2
is "$(jq -r .error.name <<<"$OUT")" held 'also by --json'
gt lock renew slot tester-2
is "$RC" 6 'nobody renews what is not his'
gt lock release slot tester-1 2
is "$RC" 6 'nor under a wrong number'
gt lock renew slot tester-1 1
is "$RC" 0 'but its own'

age 301 slot
gt lock list
like "$OUT" 'slot +stale +tester-1' 'after its lease it is stale'
gt --json lock acquire slot tester-2
is "$(jq -r '.lock | "\(.holder) \(.fence) \(.state) \(.taken_over)"' <<<"$OUT")" 'tester-2 2 held tester-1 had it, but its lease has ended' \
	'the next takes it over, and --json says so'
like "$ERR" 'took over the stale lock slot: tester-1 had it, but its lease has ended' 'as do words'
gt log
like "$OUT" 'lock.taken-over' 'and the log'
gt lock renew slot tester-1 1
is "$RC" 6 'the one before has lost it'
like "$ERR" "not held by tester-1 but by tester-2" 'and hears to whom'
gt lock release slot tester-2
is "$RC" 0 'it is put back'
gt lock release slot tester-2
is "$RC" 0 'twice is the same'
gt lock renew slot tester-2
is "$RC" 6 'what was put back is not renewed'
gt lock list
is "$OUT" '' 'a free one is not listed'
gt -v lock list
like "$OUT" 'slot +free' 'but with -v'

sleep 600 &
HOLDER=$!
gt lock acquire --lease 1 bench worker $HOLDER
is "$RC" 0 'a process has it'
age 100 bench
gt lock acquire bench other
is "$RC" 75 'for as long as it lives, whatever the lease'
like "$ERR" "while its process $HOLDER runs" 'which is said'
kill $HOLDER
wait $HOLDER 2>/dev/null
gt lock renew bench worker
is "$RC" 6 'a lock whose process is gone is not renewed'
like "$ERR" "the process $HOLDER of worker has ended, so the lock bench is lost" 'and that is said'
gt startup
like "$ERR" '1 stale lock is free' 'startup frees what a dead process had'
gt --json startup
is "$(jq -r '.locks_released // .startup.locks_released' <<<"$OUT")" 0 'once'
printf '%s' '{"holder":"other","lease":5}' >"$W/in"
gt_in "$W/in" --json lock acquire bench
is "$(jq -r '.lock | "\(.holder) \(.lease) \(.fence) \(.taken_over)"' <<<"$OUT")" 'other 5 2 null' 'told by JSON'
gt lock renew nothing me
is "$RC" 4 'there is no such lock'

for words in 'acquire' 'acquire a b c' 'acquire a b 1 2' 'renew a b 0' 'acquire --lease 0 a b' 'acquire --lease 90000 a b' 'release --lease 5 a b' 'list a'; do
	# shellcheck disable=SC2086	# words
	gt lock $words
	is "$RC" 2 "lock $words: usage"
done
gt lock acquire a me 4194305
is "$RC" 1 'a process that is not there has no lock'
done_testing
