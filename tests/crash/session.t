#!/bin/bash
# Each verb of sessions, the tree and messages is killed wherever it changes something: what it left is all of its step or none, and asked
# again it is done once. Needs a build with fault points (make FAULTS=1).
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
DB=''
n=0

grep -q GT_FAULT "$GT_RECOVER" || skip_all 'this build has no fault points (make FAULTS=1)'
blob=$(head -c 700 /dev/urandom | base64 -w 0)
printf '%s' '{"agent_uuid":"a","provider_name":"fake"}' >"$W/record"
printf '%s' '{"agent_uuid":"b","provider_name":"fake","parent":"a"}' >"$W/child"
printf '%s' '{"agent_uuid":"c","provider_name":"fake","provider_state_blob":"'"$blob"'"}' >"$W/spawn"
base64 -d <<<"$blob" >"$W/blob"
printf '%s' '{"id":"q","from":"a","to":"b","body":"how many?","sync":true}' >"$W/send"
printf '%s' '{"id":"all","from":"a","body":"stop"}' >"$W/broadcast"
printf '%s' '{"id":"r","body":"three"}' >"$W/reply"

tags() {	# of everything: state, parent, blob, answer
	sql "$DB" "select key || '=' || tag || coalesce('<' || json_extract(value, '\$.parent'), '') ||
			coalesce(' ' || substr(coalesce(json_extract(value, '\$.provider_state_blob.sha256'), json_extract(value, '\$.sha256')), 1, 6), '') ||
			coalesce('>' || json_extract(value, '\$.answer'), '')
		from record where key not like 'event:%' and key not like 'counter:%' order by key" 2>/dev/null | tr '\n' ' '
}

events() {	# KIND: how many
	sql "$DB" "select count(*) from event where kind = '$1'" 2>/dev/null || echo 0
}

verb() {	# VERB
	case $1 in
	record) gt_in "$W/record" session record ;;
	child) gt_in "$W/child" session record ;;
	link) gt agent spawn a b ;;
	spawn) gt_in "$W/spawn" agent spawn b ;;
	suspend) gt_in "$W/blob" session suspend b ;;
	restore) gt session restore b --json ;;
	send) gt_in "$W/send" message send ;;
	broadcast) gt_in "$W/broadcast" message broadcast ;;
	deliver) gt message deliver q ;;
	reply) gt_in "$W/reply" message reply q ;;
	end) gt session end c ;;
	end-all) gt agent end a ;;
	esac
}

at() {		# DIRECTORY: the state is there
	export XDG_STATE_HOME=$W/$1
	DB=$XDG_STATE_HOME/gt-recover/recover.db
}

verbs=(record child link spawn suspend restore send broadcast deliver reply end end-all)
declare -A was becomes event killed
event=([record]=session.recorded [child]=session.recorded [link]=agent.spawned [spawn]=agent.spawned [suspend]=session.suspended
	[restore]=session.restored [send]=message.sent [broadcast]=message.broadcast [deliver]=message.delivered [reply]=message.replied
	[end]=agent.ended [end-all]=agent.ended)

# One after the other; what was there before each is kept.
mkdir "$W/before"
at story
mkdir "$XDG_STATE_HOME"
for verb in "${verbs[@]}"; do
	cp -r "$XDG_STATE_HOME" "$W/before/$verb"
	was[$verb]=$(tags)
	verb "$verb"
	is "$RC" 0 "$verb, not killed"
	becomes[$verb]=$(tags)
	[ "${was[$verb]}" != "${becomes[$verb]}" ] || fail "$verb changes nothing"
done

mapfile -t points < <(fault_points "$ROOT/src/store" "$ROOT/src/records")
for verb in "${verbs[@]}"; do
	for point in "${points[@]}"; do
		for ((passage = 1; passage < 20; passage++)); do
			n=$((n + 1))
			mkdir -p "$W/scene"
			at "scene/$n"
			cp -r "$W/before/$verb" "$XDG_STATE_HOME"
			had=$(events "${event[$verb]}")
			{ GT_FAULT=$point:$passage=kill verb "$verb"; } 2>/dev/null
			[ "$RC" = 137 ] || break
			killed[$verb]=$((${killed[$verb]:-0} + 1))
			left=$(tags)
			case $left in
			"${was[$verb]}" | "${becomes[$verb]}") ;;
			*) is "$left" "${becomes[$verb]}" "$verb killed at $point:$passage leaves half" ;;
			esac
			verb "$verb"
			again=$RC
			# whoever took a session up, and was killed before it could say so, is refused: its caller suspends it and asks again
			if [ "$verb $again" = 'restore 6' ] && [ "$left" = "${becomes[restore]}" ]; then
				gt session suspend b
				verb restore
				again=$RC
				had=$((had + 1))
			fi
			# a record that is told again is told of again
			told=$(($(events "${event[$verb]}") - had))
			[ "$left" != "${becomes[$verb]}" ] || case $verb in record | child | suspend) told=$((told - 1)) ;; esac
			same=$([ "$(tags)" = "${becomes[$verb]}" ] && echo yes)
			gt log --verify
			is "$again $same $told $RC" '0 yes 1 0' "$verb killed at $point:$passage, asked again"
			rm -rf "$XDG_STATE_HOME"
		done
	done
	# before and in the commit, before and in the export
	ok "$verb was killed at every point that it passes" [ "${killed[$verb]:-0}" -ge 4 ]
done
# ---- a disk that fails: never a 0, and asked again on a good one it is done ----
for verb in "${verbs[@]}"; do
	for fault in store-commit=eio store-commit=enospc store-committed=eio; do
		n=$((n + 1))
		at "scene/$n"
		cp -r "$W/before/$verb" "$XDG_STATE_HOME"
		GT_FAULT=$fault verb "$verb"
		failed=$([ "$RC" -ne 0 ] && [ "$RC" -lt 128 ] && [ -n "$ERR$(json '{error}{message}')" ] && echo yes)
		left=$(tags)
		[ "$verb" = restore ] || is "$OUT" '' "$verb, $fault: no id is told"
		[ "$fault" = store-committed=eio ] || [ "$left" = "${was[$verb]}" ] || fail "$verb, $fault: something was changed"
		[ "$verb" != restore ] || [ "$left" = "${was[$verb]}" ] || gt session suspend b
		verb "$verb"
		is "$failed $RC $([ "$(tags)" = "${becomes[$verb]}" ] && echo yes)" 'yes 0 yes' "$verb, $fault"
		rm -rf "$XDG_STATE_HOME"
	done
done
note "$(IFS=+ && echo $((${killed[*]}))) kills"
done_testing
