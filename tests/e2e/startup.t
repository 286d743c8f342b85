#!/bin/bash
# Startup: what a crash left untrue in the ledger is true again, once, and whoever lives is left alone.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
STATE=$XDG_STATE_HOME/gt-recover
DB=$STATE/recover.db
CONFIG=$XDG_CONFIG_HOME/gt-recover/gt.toml
lives=''

put() {		# JSON VERB...: with that on standard input
	printf '%s' "$1" >"$W/in"
	shift
	gt_in "$W/in" "$@"
}

session() {	# AGENT FIELDS
	put "{\"agent_uuid\":\"$1\",\"provider_name\":\"claude\"$2}" session record
}

tag() {		# KEY
	sql "$DB" "select tag from record where key = '$1'"
}

settings() {	# LINE...
	mkdir -p "${CONFIG%/*}"
	printf '[recovery]\n' >"$CONFIG"
	[ $# = 0 ] || printf '%s\n' "$@" >>"$CONFIG"
}

everything() {	# all that the store holds
	sql "$DB" 'select key, version, tag, value from record order by key' | cksum
}

# Runs it while $lives is a process, which has ended when this returns.
gone() {
	sleep 600 &
	lives=$!
	"$@"
	kill "$lives"
	wait "$lives" 2>/dev/null || :
}

# ---- nothing there ----
gt startup
is "$RC $OUT$ERR" '0 ' 'without a store there is nothing to do, and nothing is said'
not_ok 'and nothing is made' test -e "$STATE"
gt startup --json
is "$RC $(json '{startup}{changed}') $(json '{startup}{resume}')" '0 false 0' 'in JSON'
gt startup --mode sometimes
is "$RC" 2 'an unknown mode is a mistake of the caller'
gt startup --threshold soon
is "$RC" 2 'so is junk for a threshold'
gt startup now
is "$RC" 2 'and a word'

# ---- sessions, tree ----
dead() { session "$1" ",\"pid\":$lives${2:-}"; }
gone dead root
is "$RC" 0 'a root whose process ends'
gone dead child ',"parent":"root"'
gt agent spawn root child
is "$RC" 0 'has a child, that ends too'
gone dead half ',"parent":"root"'
is "$RC" 0 'and one whose spawn was cut off before its link'
sleep 600 &
alive=$!
session lives ",\"pid\":$alive"
is "$RC" 0 'another root lives'
session stolen ",\"pid\":$alive"
sql_record "$DB" "update record set value = json_set(value, '\$.process.start', json_extract(value, '\$.process.start') - 1) where key = 'session:stolen'"
session older ",\"pid\":$alive"
sql_record "$DB" "update record set value = json_set(value, '\$.process.boot_id', '00000000-0000-4000-8000-000000000000') where key = 'session:older'"
# ---- messages, runs ----
put '{"id":"m1","from":"root","to":"child","body":"how far?","sync":true}' message send
gt message deliver m1
put '{"id":"m2","from":"root","to":"child","body":"go on"}' message send
put '{"run_id":"r1","session_id":"s1","prompt":"test"}' run create
gt run claim somebody r1
gt run start r1 somebody
put '{"run_id":"r2","session_id":"s2","prompt":"test"}' run create
gt run claim somebody r2

before=$(everything)
gt doctor -L main
is "$(everything)" "$before" 'looking changes nothing'
files=$(find "$STATE" | sort)
gt startup -n --threshold 0
like "$RC $ERR" '^0 Dry run; reconcile would change:' '--dry-run tells what it would do'
like "$ERR" '1 run is pending again, 1 run has failed, 5 sessions without a process are suspended, 1 agent is linked to its parent, 1 message is flagged' \
	'all of it'
like "$ERR" 'to resume: gt-recover records agent resume root' 'and whom it would name'
gt startup --dry-run --json --threshold 0
is "$(json '{dry_run}') $(json '{startup}{session_counts}{suspended}') $(json '{startup}{agent_counts}{linked}') $(json '{startup}{resume}[2]{would_restart}')" \
	'true 5 1 false' 'in JSON'
is "$(everything) $(find "$STATE" | sort)" "$before $files" 'and changes nothing'
gt startup --mode none
is "$(tag run:r1) $(tag run:r2)" 'running claimed' '--mode none leaves the runs alone'
like "$RC $ERR" '^0 5 sessions without a process are suspended, 1 agent is linked to its parent, 1 message is flagged' 'it says what it changed'
for one in root child half stolen older; do
	is "$(tag "session:$one")" SUSPENDED "$one is suspended"
done
is "$(tag session:lives)" ACTIVE 'who lives stays active'
is "$(tag tree:half)" open 'the cut spawn is linked'
like "$ERR" 'to resume: gt-recover records agent resume root' 'the root is to be brought back'
unlike "$ERR" 'resume (child|half|lives)' 'its children are not, nor who lives'
like "$ERR" '1 message is not delivered' 'what is not delivered is told'
is "$(tag message:m1) $(tag message:m2)" 'waiting pending' 'and kept'
before=$(everything)
gt startup --mode none
is "$RC $OUT$ERR" '0 ' 'again: nothing is said'
is "$(everything)" "$before" 'and nothing written'
gt startup --mode none --json
is "$(json '{startup}{changed}') $(json '{startup}{session_counts}{alive}') $(json '{startup}{message_counts}{undelivered}') $(json '{startup}{message_counts}{waiting}')" \
	'false 1 1 1' 'in JSON the state stands there all the same'
is "$(json '{startup}{resume}') $(json '{startup}{resume}[0]{agent_uuid}')" '3 older' 'with the roots, by their ids'
gt startup --threshold 0 --json
is "$(json '{startup}{run_counts}{changes}{marked_failed}') $(json '{startup}{run_counts}{changes}{reset_to_pending}')" '1 1' 'stale by a threshold of none'
is "$(tag run:r1) $(tag run:r2)" 'failed pending' 'the runs are settled'
gt startup --mode all --json
is "$(json '{startup}{run_counts}{changes}{running}')" 0 'all finds none left'
is "$ERR" '' 'and says nothing of it'

# ---- the two keys ----
settings 'resume_scope = "all"'
gt startup --json
is "$(json '{startup}{resume}')" 5 'resume_scope = all: the children, too'
settings 'reply_policy = "ask"'
put '{"id":"m3","from":"root","to":"child","body":"and now?","sync":true}' message send
gt message deliver m3
gt startup --json
is "$(json '{startup}{message_counts}{asked}') $(tag message:m3/ask)" '2 pending' 'reply_policy = ask: both are asked'
settings 'reply_policy = "replay"'
put '{"id":"m4","from":"root","to":"child","body":"hello?","sync":true}' message send
gt message deliver m4
gt startup --json
is "$(json '{startup}{message_counts}{replayed}') $(tag message:m4)" '3 pending' 'reply_policy = replay: they are to be delivered again'
before=$(everything)
gt startup
is "$RC $ERR $(everything)" "0  $before" 'once'
settings 'enabled = false'
gt startup
like "$RC $ERR" '^0 .*disabled' 'switched off it does nothing'
rm "$CONFIG"

# ---- children when their parent asks; one taker alone ----
gt agent resume root
is "$RC $(tag session:root)" '0 ACTIVE' 'the root is taken up'
gt agent resume child
is "$RC $(tag session:child)" '0 ACTIVE' 'and asks for its child'
gt agent resume child
is "$RC" 6 'nobody else gets it'

# ---- the export's last line, torn at each of its bytes ----
LOG=$STATE/events.jsonl
cp "$LOG" "$W/whole"
last=$(tail -n 1 "$LOG" | wc -c)
wrong=0
for ((cut = 1; cut <= last; cut++)); do
	head -c -"$cut" "$W/whole" >"$LOG"
	"$GT_RECOVER" startup >/dev/null 2>&1 </dev/null || wrong=$((wrong + 1))
	head -n "$(wc -l <"$W/whole")" "$LOG" | cmp -s - "$W/whole" || wrong=$((wrong + 1))
done
is "$wrong" 0 "a last line torn at any of its $last bytes is cut off and written anew"
gt log --verify
is "$RC" 0 'the export is what the store holds'

# ---- two at once ----
mkdir -p "$STATE/locks"
(
	flock -x 9
	: >"$W/held"
	until_ 60 test -e "$W/release"
) 9>"$STATE/locks/patrol.lock" &
holder=$!
until_ 10 test -e "$W/held"
gt startup
is "$RC" 75 'while a patrol is at work it is to be tried again'
: >"$W/release"
wait "$holder"
kill "$alive"
wait "$alive" 2>/dev/null || :
gt startup --json
is "$RC $(json '{startup}{session_counts}{suspended}')" '0 1' 'who has ended since is suspended'
done_testing
