#!/bin/bash
# A hook dies, or the child that asks the store for it, at the calls by which they meet their files: before each one, and in the middle of a write
# (file_fault.c). What the store did not take is in the spool, and the next command has it; what is not known is not known at all; the
# same hook again is noted once; nothing is left over. A sample of the calls; KILL_ALL=1 takes all of them.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
PRELOAD=$ROOT/build/file-fault.so
[ -e "$PRELOAD" ] || skip_all 'build/file-fault.so is not built (make fake)'
# a machine that is busy with all the tests is slower than an agent's
export GT_HOOK_MS=10000
case ${ASAN_OPTIONS-}$GT_RECOVER in *asan* | */san/*) export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 ;; esac

printf '{"session_id":"talk","cwd":"/w","source":"startup"}' >"$W/start"
printf '{"session_id":"talk","cwd":"/w","tool_name":"Write","tool_use_id":"t1","tool_input":{"file_path":"/w/half.c"}}' >"$W/write"
gt_in "$W/start" hook SessionStart
mv "$XDG_STATE_HOME" "$W/before"

scene() {	# [locked]: a state directory as it is before
	rm -rf "$XDG_STATE_HOME"
	cp -a "$W/before" "$XDG_STATE_HOME"
	STATE=$XDG_STATE_HOME/gt-recover
	[ "${1-}" != spool ] || { cp "$STATE/recover.db" "$W/whole" && printf 'this is no database, whatever its name says, and of some length' >"$STATE/recover.db"; }
}
mend() {	# the store is well again
	[ "$1" != spool ] || cp "$W/whole" "$STATE/recover.db"
}
noted() {
	sql "$STATE/recover.db" "select group_concat(json_extract(f.value, '\$.path') || ' ' || json_extract(f.value, '\$.status')) from record, json_each(record.value, '\$.files') f
		where record.key = 'activity:talk'" 2>/dev/null
}
left_over() {
	find "$STATE" -name '.*' -o -name '*-journal' -size +0
}

kills=0
dies_at() {	# KIND FAULT NUMBER: prints what is wrong
	scene "$1"
	{ LD_PRELOAD=$PRELOAD FILE_FAULT_DIR=$XDG_STATE_HOME FILE_FAULT=$2 gt_in "$W/write" hook PreToolUse; } 2>/dev/null
	[ "$OUT$ERR" = '' ] || echo "it says $OUT$ERR"
	case $RC in 0 | 137) ;; *) echo "it ends with $RC" ;; esac
	local status=$RC known
	mend "$1"
	gt session list
	[ "$RC" = 0 ] || echo "the next command ends with $RC: $ERR"
	known=$(noted)
	case $status:$known in
	*:'/w/half.c in_progress' | 137:) ;;
	# the child that would write to the spool was killed, too, at its call of that number
	0:) [ "$3" -le "$spooling" ] || echo 'nobody knows it' ;;
	*) echo "after status $status it is known as \"$known\"" ;;
	esac
	gt_in "$W/write" hook PreToolUse
	[ "$(noted)" = '/w/half.c in_progress' ] || echo "again it is known as \"$(noted)\""
	[ ! -s "$STATE/spool" ] || echo 'the spool is not empty'
	[ "$(left_over)" = '' ] || echo "left over: $(left_over)"
	gt log --verify
	[ "$RC" = 0 ] || echo "log --verify: $OUT$ERR"
}

spooling=0
for kind in spool store; do
	scene $kind
	LD_PRELOAD=$PRELOAD FILE_FAULT_DIR=$XDG_STATE_HOME FILE_FAULT_LOG=$W/calls gt_in "$W/write" hook PreToolUse
	mapfile -t calls <"$W/calls"
	rm "$W/calls"
	[ $kind = store ] || spooling=${#calls[@]}
	ok "$kind: ${#calls[@]} calls" [ ${#calls[@]} -ge 15 ]
	wrong=0 done=0
	for ((n = 1; n <= ${#calls[@]}; n++)); do
		[ -n "${KILL_ALL-}" ] || [ $((n % (${#calls[@]} / 12 + 1))) = 0 ] || [[ ${calls[n - 1]} == *"+ spool" ]] || continue
		for how in kill half; do
			[ $how = kill ] || [[ ${calls[n - 1]} == write+* ]] || continue
			why=$(dies_at $kind "*:$n=$how" "$n")
			done=$((done + 1)) kills=$((kills + 1))
			[ -z "$why" ] || { wrong=$((wrong + 1)) && note "$kind, $how at $n, ${calls[n - 1]}: $why"; }
		done
	done
	is "$wrong" 0 "$kind: killed at $done of them"
done
# whether a loss would be found
scene store
GT_HOOK_MS=10000 gt_in /dev/null hook PreToolUse
is "$(noted)" '' 'what was not told is not known'
note "$kills kills"
done_testing
