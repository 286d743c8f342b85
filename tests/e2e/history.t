#!/bin/bash
# What is over leaves the store with the passes, in the order of its end; what is open stays, and the log still proves what is kept.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
STATE=$XDG_STATE_HOME/gt-recover
DB=$STATE/recover.db
export GT_HOOK_MS=10000	# a machine that is busy with all the tests is slower than an agent's

put() {		# JSON VERB...: with that on standard input
	printf '%s' "$1" >"$W/in"
	shift
	gt_in "$W/in" "$@"
}

finish() {	# RUN
	put "{\"run_id\":\"$1\",\"session_id\":\"s-$1\",\"prompt\":\"test\",\"execution_mode\":\"sync\"}" run create
	gt run claim r1 "$1"
	gt run start "$1" r1
	gt run finish "$1" r1 completed
}

runs() {
	sql "$DB" "select group_concat(substr(key, 5), ' ') from (select key from record where key like 'run:%' order by key)"
}

limits() {	# LINE...
	printf '[recovery]\n' >"$W/limits.toml"
	printf '%s\n' "$@" >>"$W/limits.toml"
}

for run in f e d c b a; do
	finish "$run"
done
put '{"run_id":"open","session_id":"s-open","prompt":"test","execution_mode":"sync"}' run create
start_agent toast --scenario "$DATA/idle.scenario"

# ---- by number ----
gt snapshot -L main
is "$RC $(runs)" '0 a b c d e f open' 'within the limits everything stays'
limits 'keep_history_count = 2' "archive = \"$W/archive\""
gt snapshot -L main --dry-run --config "$W/limits.toml"
is "$(runs)" 'a b c d e f open' 'a dry run removes nothing'
gt snapshot -L main --config "$W/limits.toml"
is "$RC" 0 'a pass of snapshots'
is "$(runs)" 'a b open' '  keeps the last two that ended, and what is open'
is "$(sql "$DB" "select count(*) from record where key like 'run_session:%'")" 3 '  their sessions go along'
is "$(sql "$DB" "select count(*) from record where key like 'event:%'")" 3 '  events too: two, and the one that tells of it'
gt log
like "$OUT" 'history' 'the log tells it'
is "$(find "$W/archive" -name 'history-*.jsonl.gz' | wc -l)" 1 'what left is in the archive'
like "$(zcat "$W"/archive/*.gz | tr '\n' ' ')" '"key":"run:f".*"value":\{[^}]*"run_id":"f"' '  as JSON lines'
is "$(stat -c %a "$W"/archive/*.gz)" 600 '  for its owner alone'
gt log --verify
is "$RC" 0 'the log proves what is kept'
like "$OUT" 'lines? before them records? events that have left' '  and says how many lines are of what left'
gt log --verify --json
ok '  in JSON' test "$(json '{verified}{left}')" -gt 10
printf 'x' | dd of="$STATE/events.jsonl" bs=1 seek=$(($(stat -c %s "$STATE/events.jsonl") - 20)) conv=notrunc 2>/dev/null
gt log --verify
is "$RC" 1 'a changed line of a kept event is found'
rm "$STATE/events.jsonl"
gt log --verify
is "$RC" 0 'a new log begins with what is kept'
gt run list
unlike "$OUT" 'completed.*s-c' 'who left is not listed'

# ---- ids ----
put '{"run_id":"a","session_id":"other","prompt":"test","execution_mode":"sync"}' run create
is "$RC" 6 'an id that is kept is refused as a duplicate'
put '{"run_id":"f","session_id":"s-f","prompt":"test","execution_mode":"sync"}' run create
is "$RC" 0 'one that has left is free'
gt doctor --json
is "$(json '{ok}')$(grep -c ', consistent' <<<"$OUT")" "$(json '{ok}')1" 'the rules of the ledger hold'
like "$OUT" 'are free for new records; its events go back' 'doctor shows size and age'

# ---- by age, in patrol ----
sql_record "$DB" "update record set value = json_set(value, '\$.completed_at', 1000, '\$.created_at', 500) where key = 'run:a'"
limits 'keep_history = "90d"'
gt patrol -L main --config "$W/limits.toml"
is "$RC $ERR" "0 " "a pass of patrol"
is "$(runs)" 'b f open' 'a pass of patrol removes what is too old'

# ---- other files ----
for i in 1 2 3 4 5; do
	: >"$STATE/recover.db.corrupt-2026010${i}T000000Z-1"
	touch -d "2026-01-0$i" "$STATE/recover.db.corrupt-2026010${i}T000000Z-1"
done
mkdir -p "$STATE/prompts"
: >"$STATE/prompts/gtr-0000000000000000.txt"
touch -d '8 days ago' "$STATE/prompts/gtr-0000000000000000.txt"
touch -d '400 days ago' "$W"/archive/*.gz
gone=$(find "$STATE/snapshots" -name '[0-9]*.json' | head -n 1)
old=$(dirname "$gone")/$((($(date +%s) - 40 * 86400) * 1000))-0123456789ab-0123456789ab.json
cp "$gone" "$old"
touch -d '2 days ago' "$STATE/snapshots/looked"
limits "archive = \"$W/archive\"" 'damaged_keep = 3'
gt snapshot -L main --config "$W/limits.toml"
is "$(cd "$STATE" && echo *.corrupt-*)" \
	'recover.db.corrupt-20260103T000000Z-1 recover.db.corrupt-20260104T000000Z-1 recover.db.corrupt-20260105T000000Z-1' \
	'the newest copies of damaged stores stay'
not_ok 'an old prompt is removed' test -e "$STATE/prompts/gtr-0000000000000000.txt"
is "$(find "$W/archive" -name '*.gz' | wc -l)" 0 'an old archive too'
not_ok 'and the last snapshot of a session that is long gone' test -e "$old"
ok 'not that of a living one' test -e "$gone"

# ---- the spool ----
mv "$DB" "$W/db"
mkdir "$DB"
put "{\"session_id\":\"11111111-2222-4333-8444-555555555555\",\"cwd\":\"$W/proj\",\"transcript_path\":\"/t\"}" hook SessionStart
ok 'a hook spools while the store is away' until_ 10 test -s "$STATE/spool"
perl -e 'open my $f, "+<", shift or die; my $line = <$f>; seek $f, 0, 2; my $n = -s $f;
	while ($n + length($line) < 16 << 20) { print $f $line; $n += length $line }' "$STATE/spool"
put "{\"session_id\":\"11111111-2222-4333-8444-666666666666\",\"cwd\":\"$W/proj\",\"transcript_path\":\"/t\"}" hook SessionStart
ok 'a report that finds no room is counted' until_ 10 test -s "$STATE/spool.dropped"
rmdir "$DB"
mv "$W/db" "$DB"
gt list -L main
like "$ERR" '1 hook report was dropped: the spool was full' 'list tells it'
gt snapshot -L main
is "$RC $(stat -c %s "$STATE/spool")" '0 0' 'the next pass replays a full spool'
gt doctor
like "$OUT" '1 hook report was dropped because the spool was full' 'doctor tells of what was dropped'
done_testing
