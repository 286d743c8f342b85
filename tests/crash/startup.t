#!/bin/bash
# Startup is killed at each passage of each fault point: run once more it leaves what an undisturbed one leaves. Needs a build with fault
# points (make FAULTS=1).
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
DB=''
n=0

grep -q GT_FAULT "$GT_RECOVER" || skip_all 'this build has no fault points (make FAULTS=1)'

at() {		# DIRECTORY: the state is there
	export XDG_STATE_HOME=$W/$1
	DB=$XDG_STATE_HOME/gt-recover/recover.db
}

put() {		# JSON VERB...
	printf '%s' "$1" >"$W/in"
	shift
	gt_in "$W/in" "$@"
	[ "$RC" = 0 ] || fail "the scene could not be set: $*"
}

# What must be the same: keys and states, who is whose child, what became of each; no times, no versions.
state() {
	sql "$DB" "select key || '=' || tag || ' ' || coalesce(json_extract(value, '\$.parent'), '') || ' ' ||
		coalesce(json_extract(value, '\$.process'), '') || ' ' || coalesce(json_extract(value, '\$.replays'), '')
		from record where key not like 'event:%' and key not like 'host:%' order by key" 2>/dev/null
}

mkdir -p "$XDG_CONFIG_HOME/gt-recover"
printf '[recovery]\nreply_policy = "ask"\n' >"$XDG_CONFIG_HOME/gt-recover/gt.toml"
at before
put '{"agent_uuid":"root","provider_name":"claude"}' session record
for one in a b c; do
	put "{\"agent_uuid\":\"$one\",\"provider_name\":\"claude\",\"parent\":\"root\"}" session record
done
gt agent spawn root a
gt agent spawn root b
put '{"agent_uuid":"grand","provider_name":"claude","parent":"b"}' session record
gt agent spawn b grand
put "{\"agent_uuid\":\"lives\",\"provider_name\":\"claude\",\"pid\":$$}" session record
for one in m1 m2; do
	put "{\"id\":\"$one\",\"from\":\"root\",\"to\":\"a\",\"body\":\"how far?\",\"sync\":true}" message send
	gt message deliver "$one"
done
put '{"id":"m3","from":"root","to":"b","body":"go on"}' message send
for one in r1 r2 r3; do
	put "{\"run_id\":\"$one\",\"session_id\":\"s-$one\",\"prompt\":\"test\"}" run create
	gt run claim gone "$one"
done
gt run start r2 gone
gt run start r3 gone
gt run stop r3
# a link that was there and whose parent nobody knows any more
sql_record "$DB" "update record set value = json_set(value, '\$.parent', 'nobody') where key = 'tree:grand'"

cp -r "$W/before" "$W/after"
at after
gt startup --threshold 0
is "$RC" 0 'undisturbed'
wanted=$(state)
like "$wanted" 'session:lives=ACTIVE' 'who lives is ACTIVE'
is "$(grep -c '^session:.*=SUSPENDED' <<<"$wanted") $(grep -c '^run:r[123]=\(pending\|failed\|stopped\)' <<<"$wanted")" '5 3' 'the others are suspended, runs are settled'
like "$wanted" 'tree:c=open root' 'the cut spawn is linked'
is "$(grep -c '^message:m[12]/ask=pending' <<<"$wanted")" 2 'both are asked'

mapfile -t points < <(fault_points "$ROOT/src")
killed=0 wrong=0
declare -A where
for point in "${points[@]}"; do
	for ((passage = 1; passage < 100; passage++)); do
		n=$((n + 1))
		mkdir -p "$W/scene"
		at "scene/$n"
		cp -r "$W/before" "$XDG_STATE_HOME"
		{ GT_FAULT=$point:$passage=kill gt startup --threshold 0; } 2>/dev/null
		if [ "$RC" != 137 ]; then
			rm -rf "$XDG_STATE_HOME"
			break
		fi
		killed=$((killed + 1))
		where[$point]=1
		log=$XDG_STATE_HOME/gt-recover/events.jsonl
		left=$(sql "$DB" "select count(*) from record where key like 'event:%'")
		if [ -e "$log" ] && [ "$(wc -l <"$log")" -gt "$left" ]; then
			wrong=$((wrong + 1))
			note "killed at $point:$passage: the export tells of more than was committed"
		fi
		gt startup --threshold 0
		again=$RC
		gt log --verify
		if [ "$again $RC" != '0 0' ] || [ "$(state)" != "$wanted" ]; then
			wrong=$((wrong + 1))
			note "killed at $point:$passage: status $again, log --verify $RC"
			diff <(printf '%s\n' "$wanted") <(state) | sed 's/^/# /'
		fi
		before=$(state)
		gt startup --threshold 0
		[ "$RC$OUT$ERR $(state)" = "0 $before" ] || {
			wrong=$((wrong + 1))
			note "killed at $point:$passage: a third one has something to do: $ERR"
		}
		rm -rf "$XDG_STATE_HOME"
	done
done
is "$wrong" 0 "killed $killed times, at ${#where[@]} of ${#points[@]} points (${!where[*]}), startup ends where an undisturbed one does"
ok 'it was killed where it commits, and where it writes the events' test -n "${where[store-commit]:-}" -a -n "${where[event-append]:-}" -a -n "${where[event-sync]:-}"
ok 'more than ten times' test "$killed" -gt 10
done_testing
