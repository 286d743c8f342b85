#!/bin/bash
# What Gas Town itself says against a recovery: parked rigs, agents that had finished or wait, polecats that gt is at work on.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
# shellcheck source=tests/e2e/town.sh
. "$ROOT/tests/e2e/town.sh"
make_town sqlite
add_bead gastown gt-abc hooked gastown/polecats/toast 'Mend the lexer'
before=

refusal_of() {	# SESSION: what the list says
	gt list --town "$TOWN" --json
	printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne 'BEGIN { $main::name = shift }
		for (@{decode_json($_)->{sessions}}) { print $_->{refusal} // "none" if $_->{name} eq $main::name }' "$1"
}

# refused NAME SENTENCE [lifted]: by the list, when named and under --all; naming lifts what only a person can know
refused() {
	is "$(refusal_of gt-toast)" "$1" "the list: refused by the guard $1"
	gt --all --yes --town "$TOWN" --json
	is "$RC" 4 '--all leaves it alone'
	if [ "${3-}" = lifted ]; then
		gt gt-toast --town "$TOWN" --dry-run
		is "$RC" 0 'a person who names it gets it'
	else
		gt gt-toast --town "$TOWN" --json
		is "$RC $(json '{results}[0]{error}{name}')" "6 $1" 'so it is when it is named'
		is "$(json '{results}[0]{error}{message}')" "refused: $2" 'with its sentence'
		like "$(json '{results}[0]{error}{hint}')" '...' 'and what to do'
	fi
	is "$(tm list-panes -a -F '#{pane_id} #{pane_pid} #{pane_dead}') $(messages toast)" "$before 0" 'its pane is as it was'
}

ok 'a polecat starts' start_polecat gastown toast --keep --scenario "$DATA/idle.scenario"
ok 'and is killed' kill_agent toast
wake
before=$(tm list-panes -a -F '#{pane_id} #{pane_pid} #{pane_dead}')
is "$(refusal_of gt-toast)" none 'nothing stands against its recovery'

# ---- parked ----
mkdir -p "$TOWN/.beads-wisp/config"
echo '{"rig":"gastown","values":{"status":"parked"},"blocked":[]}' >"$TOWN/.beads-wisp/config/gastown.json"
refused parked 'its rig is parked or docked'
echo '{"rig":"gastown","values":{"status":"parked"},"blocked":["status"]}' >"$TOWN/.beads-wisp/config/gastown.json"
is "$(refusal_of gt-toast)" none 'a status that is blocked counts for nothing'
echo '{"rig":"sea-shanty","values":{"status":"parked"}}' >"$TOWN/.beads-wisp/config/sea-shanty.json"
rm "$TOWN/.beads-wisp/config/gastown.json"
is "$(refusal_of gt-toast)" none 'nor another rig that is parked'
add_bead gastown gt-rig-gastown open '' gastown '' rig status:docked
refused parked 'its rig is parked or docked'
sql "$(_beads_dir gastown)/beads.db" "DELETE FROM labels"

# ---- claimed ----
exec 8>"$TOWN/gastown/.runtime/locks/polecat-toast.lock"
if command -v flock >/dev/null && flock -n 8; then
	refused claimed 'Gas Town is working on this polecat (its lock is held)'
	flock -u 8
	is "$(refusal_of gt-toast)" none 'a lock that nobody holds is none'
else
	skip 'there is no flock program to hold the lock' 7
fi
exec 8>&-

# ---- what the agent's bead says ----
agent_bead gastown nux nuked
is "$(refusal_of gt-toast)" none "another's state is another's"
agent_bead gastown toast working
is "$(refusal_of gt-toast)" none 'one that works is brought back'
state() {	# WORD
	sql "$(_beads_dir gastown)/beads.db" "UPDATE issues SET description = replace(description, 'agent_state: $1', 'agent_state: $2')
		WHERE id = 'gt-gastown-polecat-toast'"
}
state working 'done'
refused finished 'Gas Town reports that its agent finished (done, nuked, idle or exiting)' lifted
state 'done' nuked
refused finished '' lifted
state nuked idle
is "$(refusal_of gt-toast)" none 'idle says nothing against work on the hook'
set_bead gastown gt-abc deferred
refused finished '' lifted
set_bead gastown gt-abc hooked
state idle stuck
refused waiting '' lifted
state stuck awaiting-gate
refused waiting '' lifted
state awaiting-gate spawning
refused starting 'Gas Town is starting this polecat'
sql "$(_beads_dir gastown)/beads.db" "UPDATE issues SET updated_at = '$(date -u -d '-6 minutes' +%Y-%m-%dT%H:%M:%SZ)'"
is "$(refusal_of gt-toast)" none 'after five minutes it is not starting any more'
state spawning working

# ---- heartbeats ----
heartbeat gastown toast working
is "$(refusal_of gt-toast)" none 'a beat of one that works'
heartbeat gastown toast working 3600
is "$(refusal_of gt-toast)" none 'a beat that is old proves nothing'
heartbeat gastown toast exiting 86400
is "$(refusal_of gt-toast)" none 'a beat of an earlier session of that name counts for nothing'
heartbeat gastown toast exiting
refused finished '' lifted
heartbeat gastown toast idle
is "$(refusal_of gt-toast)" none 'idle, with work on the hook'
set_bead gastown gt-abc deferred
refused finished '' lifted
set_bead gastown gt-abc hooked
rm "$TOWN/.runtime/heartbeats/gt-toast.json"

# ---- and back it comes ----
gt gt-toast --town "$TOWN" --json
is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'with nothing against it, it is recovered'
ok 'and told of its work' grep -q 'Mend the lexer' "$(message_file toast)"
heartbeat gastown toast exiting 3600
is "$(refusal_of gt-toast)" live 'a live process outweighs every beat'
gt gt-toast --town "$TOWN" --json
is "$RC $(json '{results}[0]{error}{name}') $(messages toast)" '6 live 1' 'and is left alone'
done_testing
