#!/bin/bash
# Runs between two restarts: each patrol settles those that have become old, and leaves alone what is at work.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
DB=$XDG_STATE_HOME/gt-recover/recover.db
CONFIG=$XDG_CONFIG_HOME/gt-recover/gt.toml

config() {	# LINE...: of [recovery.runs]
	mkdir -p "${CONFIG%/*}"
	printf '%s\n' '[recovery.runs]' "$@" >"$CONFIG"
}
run() {		# ID RUNNER STATE: a run that came there by itself
	printf '{"run_id":"%s","session_id":"s-%s","prompt":"test"}' "$1" "$1" >"$W/in"
	gt_in "$W/in" run create
	gt run claim "$2" "$1"
	[ "$3" = claimed ] || gt run start "$1" "$2"
	[ "$3" != stopping ] || gt run stop "$1"
}
older() {	# ID SECONDS: it came into its state so much earlier
	sql_record "$DB" "update record set value = json_set(value, '\$.entered_boot_ms', json_extract(value, '\$.entered_boot_ms') - $2 * 1000) where key = 'run:$1'"
}
tags() {	# ID...
	local one
	for one in "$@"; do
		printf '%s ' "$(sql "$DB" "select tag from record where key = 'run:$one'")"
	done
}
patrol() {
	gt patrol -L main "$@"
}
everything() {
	sql "$DB" 'select key, version, tag, value from record order by key' | cksum
}

run a nobody claimed
run b nobody running
run c nobody stopping
is "$(tags a b c)" 'claimed running stopping ' 'three runs are under way'
before=$(everything)
patrol
is "$RC $OUT$ERR $(everything)" "0  $before" 'while they are young patrol says and writes nothing'
older a 301
before=$(everything)
patrol -n
like "$RC $ERR" '^0 1 run would be settled' 'a dry run tells of one that is old'
is "$(everything)" "$before" 'and changes nothing'
older b 301
patrol
is "$RC $ERR" '0 1 run is pending again, 1 run has failed.' 'then they are settled'
is "$(tags a b c)" 'pending failed stopping ' 'and a stop under way is not'
before=$(everything)
patrol
is "$RC $OUT$ERR $(everything)" "0  $before" 'once'
older c 301
patrol
is "$RC $ERR $(tags c)" '0 1 run is stopped. stopped ' 'a stop that nobody answered ends as well'
run c2 nobody stopping
gt startup
is "$(tags c2)" 'stopped ' 'at a restart at once, whatever its age'

# ---- what is at work ----
sleep 600 &
alive=$!
gt runner register worker "$alive"
run d worker running
older d 4000
patrol
is "$RC $OUT$ERR $(tags d)" '0  running ' 'an old run stays with its runner while that lives'
config 'mode = "all"'
patrol
is "$RC $OUT$ERR $(tags d)" '0  running ' 'also with mode = all, which is for a restart'
kill "$alive"
wait "$alive" 2>/dev/null || :
config 'mode = "none"'
patrol
is "$RC $OUT$ERR $(tags d)" '0  running ' 'mode = none settles nothing'
config
patrol
is "$RC $ERR $(tags d)" '0 1 run has failed. failed ' 'when the runner is gone the next pass settles it'
run e nobody claimed
sql_record "$DB" "update record set value = json_set(value, '\$.boot_id', '00000000-0000-4000-8000-000000000000') where key = 'run:e'"
patrol
is "$(tags e)" 'pending ' 'one of another boot is old at any age'
patrol --json
is "$(json '{run_changes}{reset_to_pending}') $(json '{startup}')" '0 (none)' 'JSON tells of the runs, also where nothing was to be done'
gt stats --json
is "$(json '{recovered_runs}')" 6 'each is counted as recovered'

# ---- a record that cannot be understood ----
run f nobody claimed
sql_record "$DB" "update record set value = '{' where key = 'run:f'"
ok 'an agent works' start_agent toast --scenario "$DATA/idle.scenario"
ok 'and is killed' kill_agent toast
patrol
like "$RC $ERR" '^3 ! the records were not reconciled: .*run:f' 'a damaged record is told'
like "$ERR" '! toast: .*signal 9' 'and keeps nobody from looking after the agents'
done_testing
