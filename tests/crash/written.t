#!/bin/bash
# Prompts, snapshots and the spool are on the disk when they are acknowledged: under the model of a disk
# that loses power (written.c), and by the order of the calls that the program makes (file_fault.c).
[ ! -w /dev/shm ] || [ -n "${TMPDIR:-}" ] || export TMPDIR=/dev/shm
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
PRELOAD=$ROOT/build/file-fault.so
[ -e "$PRELOAD" ] || skip_all 'build/file-fault.so is not built (make fake)'
case ${ASAN_OPTIONS-}$GT_RECOVER in
*asan* | */san/*) export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 ;;
esac

# ---- on the disk that loses power ----
make -s -C "$ROOT" build/written >/dev/null || exit 1
mkdir -m 700 "$W/disk"
for what in prompt snapshot spool; do
	"$ROOT/build/written" "$what" "$W/disk" >"$W/said" 2>&1
	is $? 0 "$(tail -n 1 "$W/said")"
	for control in lying-fsync no-directory-sync; do
		"$ROOT/build/written" --control "$control" "$what" "$W/disk" >"$W/said" 2>&1
		is $? 1 "  $control is caught"
	done
done

# ---- what the program calls ----
calls() {	# COMMAND...: it runs and tells its file calls
	rm -f "$W/calls"
	export LD_PRELOAD=$PRELOAD FILE_FAULT_DIR=$XDG_STATE_HOME FILE_FAULT_LOG=$W/calls
	"$@"
	unset LD_PRELOAD FILE_FAULT_DIR FILE_FAULT_LOG
}
replaced() {	# PATTERN FOLDER: each file of the name is synced, then renamed, then its folder is synced
	awk -v name="$1" -v folder="$2" '
		$1 == "write+" && $2 ~ "^[.]" name { synced = 0 }
		$1 == "fsync+" && $2 ~ "^[.]" name { synced = 1 }
		$1 == "rename+" && $2 ~ "^" name { if (!synced) early = 1; n++; owed = 1; synced = 0 }
		$1 == "fsync+" && $2 == folder { owed = 0 }
		END { exit !(n > 0 && !early && !owed) }' "$W/calls"
}
appended() {	# the spool's folder is synced, then its line is written and synced
	awk '
		$1 == "fsync+" && $2 == "gt-recover" { named = 1 }
		$1 == "write+" && $2 == "spool" { written = named }
		$1 == "fsync+" && $2 == "spool" { synced = written }
		END { exit !synced }' "$W/calls"
}

ok 'an agent works' start_agent toast --scenario "$DATA/work.scenario"
ok 'it is in the middle of a command' until_ 10 pane_shows toast 'test 7 ok'
calls gt snapshot -L main
is "$RC" 0 'a snapshot is taken'
ok '  its file is synced, named, and its directory synced' replaced '[0-9]+-.*[.]json' snapshots
ok '  and what it remembers of the pass' replaced 'state-' snapshots
ok 'the agent is killed' kill_agent toast
calls gt toast -L main
is "$RC" 0 'it is recovered'
id=$(basename "$(compgen -G "$XDG_STATE_HOME/gt-recover/contexts/*.json")" .json)
ok '  its prompt is synced, named, and its directory synced' replaced "${id}[.]txt" prompts
ok '  and its context' replaced "${id}[.]json" contexts

exec {LOCK}<>"$XDG_STATE_HOME/gt-recover/recover.lock"
flock "$LOCK"
printf '{"session_id":"talk","cwd":"/w","tool_name":"Bash","tool_use_id":"t","tool_input":{}}' >"$W/in"
export GT_HOOK_MS=2000
calls gt_in "$W/in" hook PreToolUse
exec {LOCK}>&-
ok 'a hook beside a writer goes to the spool' until_ 10 test -s "$XDG_STATE_HOME/gt-recover/spool"
ok '  whose name is synced, and then its line' appended
done_testing
