#!/bin/bash
# Sessions, the tree of agents and their messages: what orchestrators and hooks may do with them, one durable step at a time.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
STATE=$XDG_STATE_HOME/gt-recover
DB=$STATE/recover.db

put() {		# JSON VERB...: with that on standard input
	printf '%s' "$1" >"$W/in"
	shift
	gt_in "$W/in" "$@"
}

record() {	# AGENT [MORE JSON]
	put "{\"agent_uuid\":\"$1\",\"provider_name\":\"fake\"${2:-}}" session record
}

state() {	# AGENT
	sql "$DB" "select tag from record where key = 'session:$1'"
}

restore() {	# AGENT: its state is in $W/out, bytes that no variable holds
	RC=0 OUT=''
	"$GT_RECOVER" session restore "$1" >"$W/out" 2>"$W/err" </dev/null || RC=$?
	ERR=$(cat "$W/err")
}

# ---- before anything is there ----
gt session list --json
is "$RC $(json '{session_records}')" '0 0' 'there are no sessions'
gt agent tree --json
is "$RC $(json '{agents}')" '0 0' 'no agents'
gt message list --undelivered --json
is "$RC $(json '{messages}')" '0 0' 'no messages'
printf '{"agent_uuid":"over","provider_name":"p"}' >"$W/in"
XDG_STATE_HOME=$W/over gt_in "$W/in" session record
XDG_STATE_HOME=$W/over gt session end over
XDG_STATE_HOME=$W/over gt session list
is "$RC $OUT$ERR" '0 The only recorded session has ended; -v lists it.' 'one that has ended is not listed, and that is said'
gt session show nobody
like "$RC $ERR" '^4 .*no session records yet' 'nothing to show'
not_ok 'reading makes no store' test -e "$DB"
for args in session 'session bogus' 'session show' 'session show a b' 'agent' 'agent end' 'message deliver' 'message send more' 'session list --undelivered' \
	'message deliver x --undelivered'; do
	read -ra words <<<"$args"
	gt "${words[@]}"
	like "$RC $ERR" $'^2 gt-recover: .*\n  gt-recover help ' "usage: $args"
done

# ---- record ----
put '{"provider_name":"cursor-agent","cursor_session_id":"c-1","model":"gpt","workspace_path":"/w/x y","session":"gt-a","socket":"/tmp/s"}' session record
id=$OUT
like "$RC $id" '^0 [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' 'record prints a new id'
is "$(state "$id")" ACTIVE 'it is active'
gt session show "$id" --json
is "$(json '{session_record}{state}') $(json '{session_record}{provider_name}') $(json '{session_record}{cursor_session_id}') $(json '{session_record}{workspace_path}')" \
	'ACTIVE cursor-agent c-1 /w/x y' 'with what was told'
is "$(json '{session_record}{lives}') $(json '{session_record}{process}')" 'false (none)' 'no process was told'
gt session show "$id"
like "$OUT" '"model": "gpt"' 'for people too'
gt log gt-a
like "$OUT" 'gt-a +session recorded +cursor-agent' 'the log has it under its tmux session'
record a ",\"pid\":$$"
is "$RC $OUT" '0 a' 'an id of its own'
gt session show a --json
is "$(json '{session_record}{lives}') $(json '{session_record}{process}{pid}')" "true $$" 'with its process'
record a ',"model":"other"'
is "$RC" 0 'again'
gt session show a --json
is "$(json '{session_record}{lives}') $(json '{session_record}{model}')" 'true other' 'what is told is set, the rest stays'
record b ',"pid":4194304'
like "$RC $OUT $ERR" '^0 b .*no process 4194304 is running' 'a process that does not run is told, and recorded without'
secret=sk-ant-api03-$(printf 'a1B2%.0s' {1..23})AA
record c ",\"start_command\":\"TOKEN=$secret claude\""
is "$RC" 0 'a start command'
not_ok 'its secret is nowhere in the state' grep -rqF "$secret" "$STATE"
like "$(sql "$DB" "select value from record where key = 'session:c'")" 'REDACTED' 'but its place is'
for bad in '' '[]' '{}' '{"agent_uuid":"x"}' '{"provider_name":"p","agent_uuid":"x y"}' '{"provider_name":"p","bogus":1}' '{"provider_name":"p","pid":"1"}' \
	'{"provider_name":"p","pid":-1}' '{"provider_name":7}' '{"provider_name":"p","provider_state_blob":"no base64"}' '{"provider_name":"p"'; do
	put "$bad" session record
	like "$RC $OUT$ERR" '^2 gt-recover: ' "refused: $bad"
done
gt session list --json
is "$(json '{session_records}')" 4 'no more than these were recorded'
gt session list
like "$OUT" $'\na +ACTIVE +fake +other +[0-9]+s' 'list for people'

# ---- suspend and restore: bytes of any kind ----
head -c 1048576 /dev/urandom >"$W/blob"
gt_in "$W/blob" session suspend a --json
is "$RC $(json '{session_record}{state}') $(json '{session_record}{provider_state_blob}{size}')" '0 SUSPENDED 1048576' 'suspended, with 1 MiB of state'
is "$(json '{session_record}{provider_state_blob}{sha256}')" "$(sha256sum <"$W/blob" | cut -d ' ' -f 1)" 'its sum'
gt session suspend a
is "$RC $(state a)" '0 SUSPENDED' 'once more, without input'
restore a
is "$RC $(state a)" '0 ACTIVE' 'restored'
same_file "$W/out" "$W/blob" 'byte for byte'
gt session restore a
like "$RC $OUT $ERR" '^6  .*is active' 'by nobody else'
printf 'x' >>"$W/blob"
gt_in "$W/blob" session suspend a
like "$RC $ERR" '^2 .*larger than 1048576 bytes' 'one byte more is refused'
is "$(state a)" ACTIVE 'and changes nothing'
printf 'a\0b\n' >"$W/blob"
gt_in "$W/blob" session suspend a
gt session restore a --json
is "$RC $(json '{session_record}{provider_state_blob}{base64}')" "0 $(base64 "$W/blob")" 'in JSON: base64'
put "{\"agent_uuid\":\"d\",\"provider_name\":\"fake\",\"provider_state_blob\":\"$(base64 "$W/blob")\"}" session record
gt session suspend d
restore d
same_file "$W/out" "$W/blob" 'a state that came with the record'
gt session suspend c
gt session restore c
is "$RC $OUT" '0 ' 'one without a state'
like "$ERR" 'without a state blob' 'says so'

# ---- the tree ----
put '{"agent_uuid":"a1","provider_name":"fake","model":"m1"}' agent spawn a
is "$RC $OUT" '0 a1' 'spawn records and links'
record a2 ',"parent":"a"'
gt agent spawn a a2
is "$RC" 0 'or links what was recorded'
gt agent spawn a a2
is "$RC" 0 'twice is no harm'
record a11 ',"parent":"a1"'
gt agent spawn a1 a11
gt agent tree a
is "$OUT" $'a  ACTIVE  other\n├─ a1  ACTIVE  m1\n│  └─ a11  ACTIVE\n└─ a2  ACTIVE' 'the tree'
gt agent tree a --json
is "$(json '{agents}') $(json '{agents}[2]{agent_uuid}') $(json '{agents}[2]{depth}') $(json '{agents}[2]{parent}')" '4 a11 2 a1' 'in JSON'
gt agent tree nobody
is "$RC" 4 'of nobody'
put '{"agent_uuid":"x","provider_name":"fake"}' agent spawn nobody
like "$RC $ERR" '^1 .*no agent "nobody"' 'a parent that was never recorded'
gt session end a1
like "$RC $ERR" '^6 .*has 1 below it' 'a session with agents below it is not ended by itself'
gt session suspend a11
gt agent resume a11 --json
is "$RC $(json '{session_record}{state}')" '0 ACTIVE' 'a child goes on when its parent wants it'
gt agent resume a11
is "$RC" 6 'once'
gt agent end a1 --json
is "$RC $(json '{agent}{ended}') $(state a11)" '0 2 ENDED' 'an agent ends with all below it'
put '{"agent_uuid":"x","provider_name":"fake"}' agent spawn a1
like "$RC $ERR" '^6 .*has ended' 'and spawns nobody any more'
is "$(state x)" '' 'nothing is left of that'
gt session restore a1
is "$RC" 6 'what has ended is not restored'
record a1
is "$RC" 6 'nor recorded anew'
gt session end d
is "$RC $(state d)" '0 ENDED' 'a session ends'
gt session list -v --json
is "$(json '{session_records}')" 8 'list -v shows those that have ended'

# ---- messages ----
put '{"id":"m1","from":"a","to":"a2","body":"do this"}' message send
is "$RC $OUT" '0 m1' 'send prints the id'
put '{"id":"m1","from":"a","to":"a2","body":"do this"}' message send
is "$RC" 0 'twice is one message'
put '{"id":"m1","from":"a","to":"a2","body":"do that"}' message send
like "$RC $ERR" '^6 .*another message has the id m1' 'another one is refused'
put '{"from":"a","to":"a2","body":"how many?\nin all","sync":true}' message send
q=$OUT
put '{"id":"all","from":"a2","body":"done"}' message broadcast
is "$RC $OUT" "0 $(printf 'all/%s\n' a b c "$id" | sort)" 'broadcast: to all but the sender'
gt message list a2 --undelivered --json
is "$(json '{messages}') $(json '{messages}[0]{body}') $(json '{messages}[1]{body}')" $'2 do this how many?\nin all' 'what is on its way to one, in order'
gt message deliver m1
gt message deliver "$q" --json
is "$RC $(json '{message}{state}')" '0 waiting' 'delivered, an answer is waited for'
gt message list --undelivered --json
is "$(json '{messages}')" 5 'it is still listed'
put '{"body":"three"}' message reply "$q"
r=$OUT
is "$RC" 0 'answered'
gt message list a --undelivered --json
is "$(json '{messages}') $(json '{messages}[1]{id}') $(json '{messages}[1]{reply_to}')" "2 $r $q" 'the answer is on its way'
gt message list a2 --undelivered
is "$RC $OUT" '0 ' 'the question is not any more'
gt message list
like "$OUT" "$q +answered +a +a2 +[0-9]+s  how many\?\\\\nin all" 'list for people'
put "{\"from\":\"a\",\"to\":\"a2\",\"body\":\"use $secret\"}" message send
like "$RC $ERR" '^0 .*redacted 1 secret in the body' 'a secret is taken out, and that is said'
not_ok 'it is nowhere in the state' grep -rqF "$secret" "$STATE"
put '{"from":"a","to":"a1","body":"x"}' message send
like "$RC $ERR" '^6 .*has ended and takes no messages' 'an agent that has ended takes none'
for bad in '{"from":"a","to":"a2"}' '{"to":"a2","body":"x"}' '{"from":"a","body":"x"}' '{"from":"a","to":["a2"],"body":"x"}' '{"from":"a","to":"a2","body":"x","sync":1}'; do
	put "$bad" message send
	like "$RC $ERR" '^2 gt-recover: ' "refused: $bad"
done
put '{"from":"a","to":"a2","body":"x"}' message broadcast
is "$RC" 2 'a broadcast takes a list'
gt message deliver nothing
is "$RC" 4 'an unknown message'

# ---- settings; what a reader finds ----
printf '[recovery]\nenabled = false\n' >"$W/off.toml"
before=$(sql "$DB" 'select key, version from record order by key')
for words in 'session record' 'session show a' 'session list' 'session suspend a' 'session restore a' 'session end a' 'agent spawn a' 'agent tree' \
	'agent resume a' 'agent end a' 'message send' 'message broadcast' 'message deliver m' 'message reply m' 'message list' 'run create' \
	'run claim r1' 'run start one r1' 'run stop one' 'run finish one r1' 'run list' 'run recover' 'runner register r1' 'runner beat r1' \
	'runner list' startup; do
	printf '{"agent_uuid":"off","provider_name":"fake"}' >"$W/in"
	# shellcheck disable=SC2086	# words
	gt_in "$W/in" $words --config "$W/off.toml"
	like "$RC,$OUT,$ERR" '^0,,gt-recover is disabled \(enabled = false, .*off.toml:2\)$' "disabled: $words"
done
gt_in "$W/in" session record --config "$W/off.toml" --json
is "$RC $(json '{disabled}') $(json '{session_record}')" '0 true (none)' '  which --json tells, too'
is "$(sql "$DB" 'select key, version from record order by key')" "$before" '  and nothing was written'
gt log --verify
is "$RC" 0 'the log is whole'
gt doctor --json
is "$(printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne 'print join ",", map { $_->{result} } grep { $_->{name} =~ /integrity|records/i } @{JSON::PP->new->utf8->decode($_)->{checks}}')" \
	ok 'and the doctor finds all records in order'
is "$(stat -c %a "$DB")" 600 'for the owner alone'
done_testing
