#!/bin/bash
# Beads in Dolt are read through bd, in whatever form it answers; a server that is dead, or a bd that is not there, is said and is never
# "no work"; files of SQLite that were left beside it are not read.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
# shellcheck source=tests/e2e/town.sh
. "$ROOT/tests/e2e/town.sh"
make_town dolt
mkdir -p "$TOWN/.dolt-data"
printf 'log_level: info\nlistener:\n  host: 127.0.0.1\n  port: 3399\nport: 1\n' >"$TOWN/.dolt-data/config.yaml"
export BEADS_DB=/nowhere BEADS_DOLT_SERVER_DATABASE=other BEADS_DOLT_PORT=1
work=gastown/polecats/toast

bead_of() {	# what the list says
	gt list --town "$TOWN" --json
	printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne 'for (@{decode_json($_)->{sessions}}) { print $_->{bead} // "none" if $_->{name} eq "gt-toast" }'
}

context() {	# PATH-OF-PERL
	gt context gt-toast --town "$TOWN" --json
	json "$1"
}

ok 'a polecat starts' start_polecat gastown toast --keep --scenario "$DATA/idle.scenario"
ok 'and is killed' kill_agent toast
wake
stale() {	# the files of SQLite that were left over
	find "$TOWN" -name 'beads.db*' -exec cksum {} + | sort
}
before=$(stale)

# ---- forms ----
for how in array plain envelope; do
	echo $how >"$TOWN_FAKE/bd-answer"
	is "$(bead_of) $RC" 'none 0' "nothing is hooked ($how), and what was left over in SQLite is not read"
	unlike "$ERR" 'not known' 'that is no trouble'
done
add_bead gastown gt-prog in_progress $work 'An older thing'
add_bead gastown gt-abc hooked $work 'Mend the lexer' "Keep the comments. The key is sk-ant-api03-$(printf 'aB3%.0s' {1..31})-AAAAAAAA."
add_bead gastown gt-nux hooked gastown/polecats/nux 'Not ours'
add_bead town hq-mail hooked gastown/toast '🤝 HANDOFF: halfway' 'The parser is done, the printer is not.' task gt:message
for how in array envelope object; do
	echo $how >"$TOWN_FAKE/bd-answer"
	is "$(bead_of)" gt-abc "what is hooked is listed ($how)"
	is "$(context '{bead}{id}')" gt-abc 'and gathered'
done
rm "$TOWN_FAKE/bd-answer"
is "$(context '{bead}{title}')" 'Mend the lexer' 'with its title'
gt prompt gt-toast --town "$TOWN"
like "$OUT" 'Keep the comments' 'the prompt has the task'
like "$OUT" 'The parser is done, the printer is not' 'and the handoff'
unlike "$OUT" 'sk-ant-api03' 'but no secret out of it'
is "$(stale)" "$before" 'the left-over files are as they were'

# ---- how bd is called ----
is "$(town_call bd 'status=hooked' '{env}{BEADS_DOLT_AUTO_START}')" 0 'bd is kept from starting a server'
is "$(town_call bd 'assignee=gastown/polecats/toast' '{env}{BEADS_DIR}')" "$(realpath "$TOWN")/.beads" 'the last directory is the town'
is "$(town_call bd 'show' '{cwd}')" "$(realpath "$TOWN")/gastown/mayor/rig" 'the rig is behind its redirect, once'
is "$(town_call bd 'show' '{env}{BEADS_DOLT_PORT}')" 3399 'the port is the one of the town'
is "$(town_call bd . '{env}{BEADS_DB}') $(town_call bd . '{env}{BEADS_DOLT_SERVER_DATABASE}')" '(none) (none)' 'another database in the environment is not handed on'
is "$(town_call bd . '{argv}[0]')" --readonly 'read-only'
is "$(town_calls bd ' (create|update|close|sql)')" 0 'nothing is written'

# ---- lists ask once a directory, not once an agent ----
ok 'another polecat starts' start_polecat gastown nux --keep --scenario "$DATA/idle.scenario"
ok 'and is killed' kill_agent nux
ok 'and a third one' start_polecat gastown furiosa --keep --scenario "$DATA/idle.scenario"
ok 'is killed' kill_agent furiosa
wake
: >"$TOWN_CALLS/bd"
is "$(bead_of)" gt-abc 'three dead polecats'
is "$(town_calls bd 'list .*--status=hooked') $(town_calls bd)" '3 3' 'one call for each rig that has polecats, one for the town'

# ---- what the beads say against a recovery ----
agent_bead gastown toast 'done'
gt gt-toast --town "$TOWN" --json
is "$RC $(messages toast)" '0 1' 'a polecat that was done is brought back when it is named'
kill_agent toast && wake
add_bead gastown gt-rig-gastown open '' gastown '' rig status:parked
gt gt-toast --town "$TOWN" --json
is "$RC $(json '{results}[0]{error}{name}')" '6 parked' 'one of a parked rig is not'
set_bead gastown gt-abc closed
set_bead gastown gt-prog closed
is "$(context '{bead}')" '(none)' 'work that is closed is none'

# ---- no answer is never "no work" ----
gt_toast_warned() {	# WHAT REGEXP: the recovery goes on, and says so
	gt list --town "$TOWN"
	like "$RC $ERR" "^0 .*work items of the agents are unknown: .*$2" "$1: the list says so"
	gt prompt gt-toast --town "$TOWN"
	like "$RC $OUT" "^0 .*bead could not be read \\(.*$2" 'the prompt warns the agent'
}
echo dead >"$TOWN_FAKE/bd-answer"
gt_toast_warned 'a dead server' 'Dolt server does not answer'
: >"$TOWN_CALLS/bd"
gt list --town "$TOWN"
is "$(town_calls bd)" 1 'it is asked once, not for every agent'
echo garbage >"$TOWN_FAKE/bd-answer"
gt_toast_warned 'garbage' 'cannot parse the output of bd'
mv "$W/bin/bd" "$W/bin/bd.away"
gt_toast_warned 'no bd' 'not in PATH'
mv "$W/bin/bd.away" "$W/bin/bd"
echo hang >"$TOWN_FAKE/bd-answer"
gt list --town "$TOWN"
like "$RC $ERR" '^0 .*did not answer within 5 s' 'a bd that hangs holds up the list for its deadline alone'
done_testing
