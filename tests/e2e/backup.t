#!/bin/bash
# A store that is damaged, or gone, is set aside and restores its backup, and what was lost is said. Without a backup nothing is touched.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
STATE=$XDG_STATE_HOME/gt-recover
DB=$STATE/recover.db

create() {	# RUN
	printf '{"run_id":"%s","session_id":"ses_%s","prompt":"test"}' "$1" "$1" >"$W/input"
	gt_in "$W/input" run create
}
runs() {
	sql "$DB" 'select run_id from run order by 1' | tr '\n' ' '
}
spoil() {	# FIRST COUNT: pages, by another program; a clock of 4 ms may not have moved since the last commit
	head -c $(($2 * 4096)) /dev/urandom | dd of="$DB" bs=4096 seek="$1" conv=notrunc status=none
	touch -d '1 hour ago' "$DB"
}

root_page() {	# NAME: where a table or an index begins, as spoil counts; which pages come before depends on the file's mode
	echo $(($(sql "$DB" "select rootpage from sqlite_schema where name = '$1'") - 1))
}

create early
is "$RC" 0 'a run is recorded'
is "$(stat -c %a "$DB.backup")" 600 '  and there is a backup, private'
is "$(sql "$DB.backup" 'select run_id from run')" early '  that is a store of its own'
create late
create later
spoil 1 5
cp "$DB" "$W/damaged"

gt run list
is "$RC" 1 'a damaged store is not read from'
like "$ERR" 'recover.db is damaged' '  which is said'
like "$ERR" 'restores its backup' '  with what comes next'
same_file "$DB" "$W/damaged" '  and nothing is changed by it'

create new
is "$RC" 0 'the next command that records something succeeds'
like "$ERR" 'the store was damaged: it was restored from the backup of 20.*Z \(.* old\): 0 sound records kept, [0-9]+ taken from the backup; 2 later events are in the log alone' '  and says what was done and lost'
is "$(runs)" 'early new ' '  the backup has its records'
aside=$(compgen -G "$DB.corrupt-*[0-9]")
like "$ERR" "$aside" '  the damaged file is named'
same_file "$aside" "$W/damaged" '  and kept as it was'
is "$(sql "$DB" "select kind || ' ' || subject from event where seq > 1" | tr '\n' ,)" \
	'run.created late,run.created later,store.restored store,run.created new,' '  events that the backup lacks came back from the log'
gt log --verify
is "$RC" 0 '  so that log and store agree'
create newer
is "$RC $ERR" '0 ' 'afterwards all is as ever'

# ---- an index alone: every record is still in its table ----
before=$(runs)
spoil "$(root_page sqlite_autoindex_record_1)" 1
create more
is "$RC" 0 'a damaged index costs no record'
like "$ERR" 'Z \(.* old\): [0-9]+ sound records kept, 0 taken from the backup; 0 later events' '  which is said'
# shellcheck disable=SC2086	# a word each
is "$(runs)" "$(printf '%s\n' $before more | sort | tr '\n' ' ')" '  also those that the backup lacks'
gt log --verify
is "$RC" 0 '  and the log agrees'

# ---- the page that tells where the pages belong, for giving them back ----
before=$(runs)
is "$(sql "$DB" 'pragma auto_vacuum')" 2 'the second page holds no record'
spoil 1 1
create most
is "$RC" 0 'a damaged second page costs no record'
like "$ERR" 'Z \(.* old\): [0-9]+ sound records kept, 0 taken from the backup; 0 later events' '  which is said'
# shellcheck disable=SC2086	# a word each
is "$(runs)" "$(printf '%s\n' $before most | sort | tr '\n' ' ')" '  also those that the backup lacks'
is "$(sql "$DB" 'pragma integrity_check')" ok '  and the file is whole again'

rm -f "$DB"
create after
is "$RC" 0 'a store that is gone while its backup is there is no new store'
is "$(runs)" 'after early ' '  but goes on from there, too'

rm -f "$DB".backup*
spoil 1 5
cp "$DB" "$W/damaged"
create never
is "$RC" 1 'without a backup a damaged store stops everything'
like "$ERR" 'sqlite3 FILE .recover' '  with what a person can do'
same_file "$DB" "$W/damaged" '  and is left as it is'
done_testing
