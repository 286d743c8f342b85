#!/bin/bash
# A stock Gas Town, which keeps no dead pane: a polecat's session goes with its agent. Brought back by gt itself, told by a paste; an agent that gt's
# own witness restarted is told what it lost, and no more.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
# shellcheck source=tests/e2e/town.sh
. "$ROOT/tests/e2e/town.sh"

town() {	# ARGS...: gt-recover in the town
	gt "$@" --town "$TOWN"
}
of() {		# SESSION FIELD
	town list --json
	printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne '
		BEGIN { ($main::name, $main::field) = splice @ARGV, 0, 2 }
		for (@{JSON::PP->new->utf8->decode($_)->{sessions}}) { print $_->{$main::field} // "(none)" if $_->{name} eq $main::name }' "$1" "$2"
}
of_is() {
	[ "$(of "$1" "$2")" = "$3" ]
}
crash() {	# RIG NAME: kill -9, and the session is gone
	local pid
	pid=$(agent_pid "$2")
	kill -9 "$pid"
	until_ 10 _gone "$pid" && until_ 10 town_session_gone "$1" "$2"
}

for form in sqlite dolt; do
	[ ! -d "${TOWN-/none}" ] || { tm kill-server; rm -rf -- "$TOWN" "$TOWN_CALLS" "$TOWN_FAKE" "$W/agents"/*; }
	make_town $form
	mkdir -p "$TOWN/.gt"
	printf '[recovery]\nspacing = "0s"\nmax_attempts = 1000\n' >"$TOWN/gt.toml"

	# ---- nobody took a snapshot ----
	add_bead gastown gt-abc hooked gastown/polecats/toast 'Mend the lexer' 'It reads one byte too many.'
	ok "$form: a polecat at work" start_polecat gastown toast --scenario "$DATA/work.scenario"
	until_ 10 pane_shows toast 'test 7 ok'
	is "$(of gt-toast class)" live '  is live'
	is "$(of gt-nux class)" '' '  one without work and session is nobody'
	ok '  it is killed, and leaves nothing' crash gastown toast
	is "$(of gt-toast class)" missing '  missing: its work is on its hook'
	is "$(of gt-toast crash_reason)" process_died '  its process died'
	is "$(of gt-toast bead)" gt-abc '  its work is known'
	starts=$(town_calls gt 'session start')
	town gt-toast --json --via inject
	is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' '  it is brought back'
	is "$(json '{results}[0]{delivery}')" paste '  by a paste'
	is "$(town_calls gt 'session start gastown/toast')" $((starts + 1)) '  by gt itself'
	know_polecat gastown toast
	is "$(messages toast)" 1 '  told once'
	ok '  its conversation' grep -q 'I am at lex.c now' "$(message_file toast)"
	ok '  and its work' grep -q 'Mend the lexer' "$(message_file toast)"
	is "$(of gt-toast class)" live '  it is live now'

	# ---- the server dies, two of them had been seen ----
	add_bead gastown gt-def hooked gastown/polecats/nux 'Another' 'Text.'
	ok "$form: another polecat" start_polecat gastown nux --scenario "$DATA/idle.scenario"
	town snapshot
	pid=$(tm display-message -p '#{pid}')
	pids="$(agent_pid toast) $(agent_pid nux)"
	kill -9 "$pid"
	for pid in $pid $pids; do until_ 10 _gone "$pid"; done
	is "$(of gt-toast class) $(of gt-toast crash_reason)" 'missing server_exit' '  missing, since the server ended'
	set_bead gastown gt-def closed
	town --all --yes --via inject
	like "$RC $ERR" 'found=[12] recovered=1 ' '  the one with open work is brought back'
	is "$(of gt-toast class)" live '  it lives'
	ok '  the other one is left alone' town_session_gone gastown nux
	know_polecat gastown toast

	# ---- gt's witness was faster ----
	add_bead gastown gt-ghi hooked gastown/polecats/furiosa 'Third' 'Text.'
	ok "$form: a third polecat" start_polecat gastown furiosa --scenario "$DATA/work.scenario"
	until_ 10 pane_shows furiosa 'test 7 ok'
	ok '  is killed' crash gastown furiosa
	ok '  and started afresh' start_polecat gastown furiosa --scenario "$DATA/idle.scenario"
	is "$(of gt-furiosa class)" respawned '  respawned: the town knows two starts and no handoff'
	pid=$(agent_pid furiosa)
	told=$(messages furiosa)
	town gt-furiosa --json
	is "$RC $(json '{results}[0]{phase}') $(json '{results}[0]{delivery}')" '0 acknowledged paste' '  it is told'
	is "$(agent_pid furiosa)" "$pid" '  and not restarted'
	is "$(messages furiosa)" $((told + 1)) '  once'
	ok '  what it had lost' grep -q 'I am at lex.c now' "$(message_file furiosa)"
	is "$(of gt-furiosa class)" live '  it is live now'
	crash gastown furiosa
	town_event handoff gastown/polecats/furiosa
	ok '  one that handed its work over' start_polecat gastown furiosa --scenario "$DATA/idle.scenario"
	is "$(of gt-furiosa class)" live '  is live, whoever came before it'
	crash gastown furiosa
	printf fail >"$TOWN_FAKE/gt-answer"
	town gt-furiosa --json
	is "$RC $(json '{results}[0]{error}{name}')" '1 gt' '  gt that fails is said'
	rm "$TOWN_FAKE/gt-answer"
	set_bead gastown gt-ghi closed
done

done_testing
