#!/bin/bash
# Runs: what a script may do with them, and what recovery makes of those that a restart left.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
DB=$XDG_STATE_HOME/gt-recover/recover.db

put() {		# JSON VERB...: with that on standard input
	printf '%s' "$1" >"$W/in"
	shift
	gt_in "$W/in" "$@"
}

create() {	# RUN SESSION
	put "{\"run_id\":\"$1\",\"session_id\":\"$2\",\"prompt\":\"test\",\"execution_mode\":\"sync\"}" run create
}

state() {	# RUN
	sql "$DB" "select tag from record where key = 'run:$1'"
}

session() {	# SESSION
	sql "$DB" "select tag from record where key = 'run_session:$1'"
}

field() {	# RUN FIELD
	sql "$DB" "select json_extract(value, '\$.$2') from record where key = 'run:$1'"
}

# As if it had been made so many seconds earlier, on this boot.
age() {		# SECONDS RUN...
	local ms=$(($1 * 1000)) id
	shift
	for id in "$@"; do
		sql_record "$DB" "update record set value = json_set(value,
			'\$.entered_boot_ms', json_extract(value, '\$.entered_boot_ms') - $ms,
			'\$.entered_at', json_extract(value, '\$.entered_at') - $ms,
			'\$.created_at', json_extract(value, '\$.created_at') - $ms) where key = 'run:$id'"
	done
}

# The seed's four: pending, claimed, running, stopping, each in a session of its own, ten minutes old.
four() {	# PREFIX
	create "${1}pending" "${1}test0"
	create "${1}claimed" "${1}test1"
	create "${1}running" "${1}test2"
	create "${1}stopping" "${1}test3"
	gt run claim runner_dead "${1}claimed"
	gt run claim runner_dead "${1}running"
	gt run start "${1}running" runner_dead
	gt run claim runner_dead "${1}stopping"
	gt run start "${1}stopping" runner_dead
	gt run stop "${1}stopping"
	age 600 "${1}pending" "${1}claimed" "${1}running" "${1}stopping"
}

states() {	# PREFIX
	echo "$(state "${1}pending") $(state "${1}claimed") $(state "${1}running") $(state "${1}stopping")"
}

# ---- nothing there yet ----
gt run list
is "$RC $OUT" '0 ' 'there are no runs'
gt run list --json
is "$RC $(json '{runs}')" '0 0' 'in JSON'
gt runner list
is "$RC" 0 'no runners'
gt run recover --dry-run
is "$RC $OUT" '0 ' 'nothing that would be recovered'
not_ok 'reading made no store' test -e "$DB"
gt run claim r1
is "$RC" 4 'nothing is pending'
gt run recover --json
is "$RC $(json '{changes}{reset_to_pending}') $(json '{changes}{marked_failed}') $(json '{changes}{marked_stopped}')" '0 0 0 0' 'nothing to recover'
gt run start nothing r1
is "$RC" 4 'an unknown run'
gt runner beat r1
like "$RC $ERR" '^6 .*not registered' 'an unknown runner'

# ---- one run, from the beginning to its end ----
put '{"session_id":"ses_1","prompt":"say \"hello\"\nand more"}' run create
id=$OUT
like "$RC $id" '^0 run_[0-9a-f]{12}_[0-9a-f]{8}$' 'create prints the id'
is "$(state "$id") $(session ses_1) $(field "$id" type) $(field "$id" fence)" 'pending running START_SESSION 0' 'it is pending'
is "$(sql "$DB" "select json_extract(value, '\$.execution_mode') from record where key = 'run_session:ses_1'")" sync 'its session has an execution mode'
gt run claim r1 --json
is "$RC $(json '{run}{run_id}') $(json '{run}{status}') $(json '{run}{fence}')" "0 $id claimed 1" 'claim gives it to the runner'
is "$(json '{run}{prompt}')" 'say "hello"
and more' 'with its prompt'
gt run claim r2 "$id"
like "$RC $ERR" '^6 .*is claimed and cannot become claimed' 'to nobody else'
gt run start "$id" r2
like "$RC $ERR" '^6 .*not claimed by r2' 'nor may another one begin it'
put "{\"run_id\":\"$id\",\"runner_id\":\"r1\",\"fence\":2}" run start
is "$RC" 6 'nor may one with another number'
put "{\"run_id\":\"$id\",\"runner_id\":\"r1\",\"fence\":1}" run start --json
is "$RC $(json '{changed}') $(json '{run}{status}')" '0 true running' 'its runner may'
gt run start "$id" r1 --json
is "$RC $(json '{changed}')" '0 false' 'twice is no harm'
gt run finish "$id" r1 stopped
is "$RC" 6 'nobody had asked it to stop'
put "{\"run_id\":\"$id\",\"runner_id\":\"r1\",\"status\":\"failed\",\"error\":\"the \\\"disk\\\" was full\"}" run finish
is "$RC $(state "$id") $(field "$id" error) $(session ses_1)" '0 failed the "disk" was full finished' 'it ends with its error'
gt run claim r1 "$id"
is "$RC" 6 'and cannot be claimed again'
put '{"run_id":"mine","session_id":"ses_2","prompt":"test"}' run create
put '{"runner_id":"r1","claim_id":"c-1"}' run claim
is "$RC $OUT" '0 mine' 'a claim with a word of its own'
put '{"runner_id":"r1","claim_id":"c-1"}' run claim --json
is "$RC $(json '{changed}') $(json '{run}{run_id}') $(field mine fence)" '0 false mine 1' 'may be asked again'
put '{"run_id":"mine","runner_id":"r1"}' run start
put '{"run_id":"mine"}' run stop
put '{"run_id":"mine","runner_id":"r1","status":"stopped"}' run finish
is "$RC $(state mine) $(session ses_2)" '0 stopped stopped' 'the other verbs take JSON as well'
gt run list failed --json
is "$(json '{runs}') $(json '{runs}[0]{run_id}')" "1 $id" 'list by state'
gt run list
like "$OUT" "$id +failed +ses_1 +r1 +[0-9]+s  the \"disk\" was full" 'list for people'
gt run list --since 0 --json
is "$(json '{runs}')" 0 'list by age'
gt run list --since 7d --json
is "$(json '{runs}')" 2 'of a week'
gt log
like "$OUT" "ses_1 +run failed +$id  r1" 'the log tells it'
unlike "$(cat "$XDG_STATE_HOME/gt-recover/events.jsonl")" 'disk|hello' 'but neither the prompt nor the error'

# ---- the seed's script ----
four run_
is "$(states run_)" 'pending claimed running stopping' 'before recovery'
gt run recover --dry-run
is "$RC $OUT" '0 1 would be reset to pending, 1 would be marked failed, 1 would be marked stopped' 'a dry run tells what it would do'
is "$(states run_)" 'pending claimed running stopping' 'and does not'
gt run recover --json
is "$RC $(json '{mode}') $(json '{changes}{reset_to_pending}') $(json '{changes}{marked_failed}') $(json '{changes}{marked_stopped}')" \
	'0 stale 1 1 1' 'the counts'
is "$(state run_pending)" pending 'Pending should stay pending'
is "$(state run_claimed)" pending 'Old claimed should reset to pending'
is "$(state run_running)" failed 'Old running should be failed'
is "$(state run_stopping)" stopped 'Stopping should be stopped'
is "$(field run_claimed runner_id)$(field run_claimed claimed_at)" '' 'a reset run is nobody'\''s'
is "$(field run_running error)" 'Coordinator restarted during execution' 'the error of a failed one'
ok 'it has an end' [ "$(field run_running completed_at)" -gt 0 ]
ok 'a stopped one too' [ "$(field run_stopping completed_at)" -gt 0 ]
is "$(session run_test0) $(session run_test1) $(session run_test2) $(session run_test3)" 'running running finished stopped' 'the sessions go with them'
gt run recover
is "$RC $OUT$ERR" '0 ' 'again: nothing to do, and nothing said'
gt stats --json
is "$(json '{recovered_runs}') $(json '{recovered_runs_from}{claimed}')" '3 1' 'the figures count them'
gt run claim r1
is "$OUT" run_claimed 'what was reset can be claimed'
gt run finish run_running runner_dead
is "$RC" 6 'what has failed stays failed'

# ---- the modes ----
four all_
gt run recover --mode none -v
is "$RC $OUT $(states all_)" '0  pending claimed running stopping' 'none does nothing'
like "$ERR" 'info: Run recovery disabled' 'and says so'
age -600 all_claimed all_running
gt run recover
is "$(states all_)" 'pending claimed running stopped' 'stale leaves the young ones'
gt run recover --mode all --json
is "$RC $(json '{changes}{claimed}') $(json '{changes}{running}') $(json '{changes}{stopping}')" '0 2 1 0' 'all takes them, and counts by what they were'
like "$ERR" 'warning: Aggressive recovery completed: .*"claimed":2.*living runners were ignored' 'with a warning'
is "$(field all_running error)" 'Coordinator restarted - execution state unknown' 'its own error'
gt run recover --mode sale
is "$RC" 2 'an unknown mode is refused'
gt run recover --threshold 5m
is "$RC" 2 'a strange threshold too'
RUN_RECOVERY_MODE=sale gt run recover
is "$RC" 2 'an unknown mode of the environment'
RUN_RECOVERY_THRESHOLD=soon gt run recover
is "$RC" 2 'a strange threshold of the environment'
four env_
RUN_RECOVERY_MODE=none gt run recover
is "$(states env_)" 'pending claimed running stopping' 'the environment sets the mode'
RUN_RECOVERY_THRESHOLD=100000 gt run recover
is "$(states env_)" 'pending claimed running stopped' 'and the threshold'
RUN_RECOVERY_MODE=none gt run recover --mode stale --threshold 10
is "$(states env_)" 'pending pending failed stopped' 'options go before it'
cat >"$W/failed.toml" <<-'TOML'
	[recovery]
	log_file = "log"
	[recovery.runs]
	claimed_to = "failed"
TOML
four toml_
gt --config "$W/failed.toml" run recover
is "$(states toml_) $(field toml_claimed error)" 'pending failed failed stopped Coordinator restarted - execution state unknown' 'claimed ones may fail'
like "$(cat "$W/log")" 'info: Stale run recovery completed: \{"reset_to_pending":0,"marked_failed":2,"marked_stopped":1\}' 'the log file tells the counts'
gt --config "$W/failed.toml" run recover -vv
like "$ERR" 'debug: No stale runs to recover' 'nothing to do is for debugging'

# ---- runners ----
gt runner register runner_dead $$ --json
is "$RC $(json '{runner}{alive}') $(json '{runner}{pid}')" "0 true $$" 'a runner registers its process'
four live_
gt run recover --json
is "$(states live_) $(json '{kept_by_runner}')" 'pending claimed running stopped 2' 'it keeps its runs while it lives'
gt runner register runner_dead
four again_
gt run recover
is "$(states live_)" 'pending pending failed stopped' 'what it claimed in an earlier life is given up'
is "$(states again_)" 'pending claimed running stopped' 'it beats'
sql_record "$DB" "update record set value = json_set(value, '\$.beat_boot_ms', json_extract(value, '\$.beat_boot_ms') - 301000) where key = 'runner:runner_dead'"
gt runner list --json
is "$(json '{runners}[0]{alive}')" false 'it is gone without a beat'
gt runner beat runner_dead
is "$RC" 0 'a beat'
gt run recover
is "$(states again_)" 'pending claimed running stopped' 'and it lives again'
if grep -q GT_BOOT_ID "$GT_RECOVER"; then
	four boot_
	age -600 boot_claimed boot_running
	printf '00000000-1111-2222-3333-444444444444\n' >"$W/boot_id"
	GT_BOOT_ID=$W/boot_id gt runner beat runner_dead
	is "$RC" 6 'another boot has to register it anew'
	GT_BOOT_ID=$W/boot_id gt run recover
	is "$(states boot_)" 'pending pending failed stopped' 'another boot is stale at any age'
else
	skip 'this build has no fault points (make FAULTS=1)' 2
fi
gt runner register gone 999999999
is "$RC" 1 'a process that does not live'
gt runner register 'two words'
is "$RC" 2 'an id with a blank'

# ---- what is refused ----
for bad in '' '[]' '{"prompt":"x"}' '{"session_id":"s","prompt":""}' '{"session_id":7,"prompt":"x"}' '{"session_id":"s","prompt":"x","colour":"red"}' \
	'{"session_id":"s t","prompt":"x"}' '{"session_id":"s","prompt":"x","run_id":"a\nb"}' '{"session_id":"s","prompt":"x\u0000y"}'; do
	put "$bad" run create
	is "$RC $OUT" '2 ' "create refuses ${bad:-nothing}"
done
for bad in 'run' 'run fly' 'run claim' 'run claim r1 r2 r3' 'run list maybe' 'run list --mode all' 'run claim r1 --since 1h' 'run create --dry-run' \
	'run finish a b running' 'run start a' 'runner' 'runner register' 'runner list x' 'runner register a -1'; do
	# shellcheck disable=SC2086	# words
	gt $bad --json
	is "$RC $(json '{schema_version}')" '2 2' "$bad is refused"
done
perl -e 'print "{\"session_id\":\"s\",\"prompt\":\"", "x" x (5 << 20), "\"}"' >"$W/in"
gt_in "$W/in" run create
is "$RC" 2 'so is a prompt of 5 MiB'
perl -e 'print "{\"session_id\":\"s\",\"run_id\":\"large\",\"prompt\":\"", "x" x (1 << 20), "\"}"' >"$W/in"
gt_in "$W/in" run create
is "$RC $OUT $(field large prompt | wc -c)" "0 large $(((1 << 20) + 1))" 'one of 1 MiB is kept'

printf '[recovery]\nenabled = false\n' >"$W/off.toml"
had=$(sql "$DB" 'select count(*) from record')
put '{"session_id":"s","prompt":"x"}' --config "$W/off.toml" run create
is "$RC,$OUT,$(sql "$DB" 'select count(*) from record')" "0,,$had" 'nothing is written where all is switched off, and no id is told'
gt --config "$W/off.toml" run recover --mode all --json
is "$RC $(json '{disabled}')" '0 true' 'nor recovered'

# ---- 8 at once ----
export XDG_STATE_HOME=$W/state/claims
DB=$XDG_STATE_HOME/gt-recover/recover.db
N=${CLAIMS:-40}
for ((i = 0; i < N; i++)); do
	create "run-$i" "ses-$i"
done
claimer() {	# NAME
	local id rc
	while :; do
		id=$("$GT_RECOVER" run claim "$1" 2>"$W/claim-$1.err")
		rc=$?
		case $rc in
		0) printf '%s\n' "$id" ;;
		75) ;;
		4) break ;;
		*) printf 'status %s: %s\n' "$rc" "$(cat "$W/claim-$1.err")"; break ;;
		esac
	done >"$W/claimed-$1"
}
for ((i = 0; i < 8; i++)); do
	claimer "c$i" &
	claimers[i]=$!
done
wait "${claimers[@]}"
is "$(cat "$W"/claimed-c* | sort | uniq -d)" '' "of $N runs none is claimed twice by 8 claimers"
is "$(cat "$W"/claimed-c* | sort)" "$(for ((i = 0; i < N; i++)); do echo "run-$i"; done | sort)" 'and each once'
is "$(sql "$DB" "select count(*) from record where key like 'run:%' and tag = 'claimed' and json_extract(value, '\$.fence') = 1")" "$N" 'the store says the same'
gt log --verify
is "$RC" 0 'and the log is whole'

done_testing
