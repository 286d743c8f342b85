#!/bin/bash
# Each verb of runs and runners is killed wherever it changes something: what it left is all of its step or none, and asked again it is
# done once. Needs a build with fault points (make FAULTS=1).
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
DB=''
n=0

grep -q GT_FAULT "$GT_RECOVER" || skip_all 'this build has no fault points (make FAULTS=1)'
printf '%s' '{"run_id":"one","session_id":"ses_one","prompt":"test"}' >"$W/one"
printf '%s' '{"run_id":"two","session_id":"ses_two","prompt":"test"}' >"$W/two"
printf '%s' '{"run_id":"three","session_id":"ses_three","prompt":"test"}' >"$W/three"

tags() {	# of the runs and their sessions, and of runners
	sql "$DB" "select replace(replace(key, 'run:', ''), 'run_session:', '') || '=' || tag from record
		where key like 'run:%' or key like 'run_session:%' or key like 'runner:%' order by key" 2>/dev/null | tr '\n' ' '
}

events() {	# KIND: how many
	sql "$DB" "select count(*) from event where kind = '$1'" 2>/dev/null || echo 0
}

verb() {	# VERB: runs it, and says what makes it repeatable
	case $1 in
	create) gt_in "$W/one" run create ;;
	claim) gt run claim r1 one ;;
	start) gt run start one r1 ;;
	stop) gt run stop one ;;
	finish) gt run finish one r1 ;;
	recover) gt run recover --mode all ;;
	register) gt runner register r1 ;;
	beat) gt runner beat r1 ;;
	esac
}

at() {		# DIRECTORY: the state is there
	export XDG_STATE_HOME=$W/$1
	DB=$XDG_STATE_HOME/gt-recover/recover.db
}

# What is there before a verb: each in a state directory of its own, a copy of the one before it and a step more.
before() {	# VERB FROM
	mkdir -p "$W/before"
	if [ -n "$2" ]; then
		cp -r "$W/before/$2" "$W/before/$1"
	else
		mkdir "$W/before/$1"
	fi
	at "before/$1"
	case $1 in
	claim) verb create ;;
	start) verb claim ;;
	stop) verb start ;;
	beat) verb register ;;
	recover)
		gt_in "$W/two" run create
		gt run claim r2 two
		gt_in "$W/three" run create
		gt run claim r3 three
		gt run start three r3
		gt run stop three
		;;
	esac
}

declare -A was becomes event
event=([create]=run.created [claim]=run.claimed [start]=run.running [stop]=run.stopping [finish]=run.completed [recover]=run.recovered
	[register]=runner.registered)
while read -r verb from; do
	before "$verb" "$from"
	was[$verb]=$(tags)
	rm -rf "$W/after"
	cp -r "$W/before/$verb" "$W/after"
	at after
	verb "$verb"
	is "$RC" 0 "$verb, not killed"
	becomes[$verb]=$(tags)
done <<-'END'
	create
	claim create
	start claim
	stop start
	finish stop
	recover finish
	register
	beat register
END
is "${becomes[recover]}" 'one=failed three=stopped two=pending ses_one=finished ses_three=stopped ses_two=running ' 'what recovery makes of the three'

mapfile -t points < <(fault_points "$ROOT/src/store" "$ROOT/src/records")
declare -A killed
for verb in create claim start stop finish recover register beat; do
	for point in "${points[@]}"; do
		for ((passage = 1; passage < 20; passage++)); do
			n=$((n + 1))
			mkdir -p "$W/scene"
			at "scene/$n"
			cp -r "$W/before/$verb" "$XDG_STATE_HOME"
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
			# whoever has a claim cannot claim it again: he sees that it is his
			[ "$verb $again $left" != "claim 6 ${becomes[claim]}" ] || again=0
			told=1
			[ -n "${event[$verb]:-}" ] && told=$(events "${event[$verb]}")
			# a registration is a new life each time
			[ "$verb" != register ] || [ "$left" = "${was[register]}" ] || told=$((told - 1))
			gt log --verify
			is "$again $(tags)$told $RC" "0 ${becomes[$verb]}1 0" "$verb killed at $point:$passage, asked again"
			rm -rf "$XDG_STATE_HOME"
		done
	done
	least=4		# before and in the commit, before and in the export
	[ "$verb" != beat ] || least=2
	ok "$verb was killed at every point that it passes" [ "${killed[$verb]:-0}" -ge "$least" ]
done

done_testing
