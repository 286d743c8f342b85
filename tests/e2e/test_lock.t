#!/bin/bash
# The lock under which a sprint's tests ran: stale with its agents' death, taken at resume for the one who runs all tests again; never from
# somebody who lives.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/epics.sh
. "$ROOT/tests/e2e/epics.sh"
printf '[recovery]\nspacing = "0s"\n' >"$CONFIG"

epic() {	# EPIC SPRINT LOCK: two agents, whose last sign is old; the tests of the sprint were running
	checkpoint epic "$1" "{\"lastCheckpoint\": 1760129130000, \"sprints\": [{\"id\": \"$2\", \"status\": \"in_progress\", \"progress\": 60}]}"
	checkpoint sprint "$2" "{\"epicId\": \"$1\", \"progress\": 60, \"lastCheckpoint\": 1760129130000, \"agents\": [{\"id\": \"coder-$2\"}, {\"id\": \"tester-$2\"}],
		\"tests\": {\"run\": 15, \"total\": 20, \"last\": \"by category\", \"lock\": \"$3\"}}"
	record "coder-$2"
	record "tester-$2"
}

locked() {	# LOCK FIELD
	gt --json lock list
	printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne '
		BEGIN { ($main::name, $main::field) = splice @ARGV, 0, 2 }
		for (@{JSON::PP->new->utf8->decode($_)->{locks}}) { print $_->{$main::field} // "(none)" if $_->{name} eq $main::name }' "$1" "$2"
}

told() {	# AGENT
	cat "$(message_file "$1" 1)"
}

# ---- a process had it, and died ----
epic shop catalog slot
sleep 600 &
HOLDER=$!
gt lock acquire slot tester-catalog $HOLDER
is "$RC" 0 'the tests run, under the lock'
kill $HOLDER
wait $HOLDER 2>/dev/null
gt -L main epic resume shop --dry-run
like "$OUT" 'Tests run: 15/20 \(before the crash\)
 +└─ It had the test lock slot
 +└─ Strategy: Re-run all tests \(safest\)' 'the plan says that there was one'
is "$(locked slot fence) $(locked slot state)" '1 stale' 'and changes nothing'
gt -L main --json epic resume shop --yes
is "$RC $(json '{locks}[0]{holder}') $(json '{locks}[0]{fence}') $(json '{locks}[0]{taken_over}')" \
	'0 tester-catalog 2 tester-catalog had it, but its process is gone' 'resume takes it for the same agent'
like "$ERR" 'Force releasing stale test lock: tester-catalog had it, but its process is gone
 +└─ Test slot acquired ✓ \(slot, for tester-catalog\)' 'and says so'
pane_of tester-catalog
is "$(locked slot state) $(locked slot pid)" "held $(agent_pid tester-catalog)" 'while the agent lives it keeps it'
ok 'it is told' until_ 20 messages_are tester-catalog 1
like "$(told tester-catalog)" 'Tests: 15 of 20 had run before the crash. Run the whole test suite again.*You have the test lock slot, number 2\. While the tests run: gt-recover records lock renew slot tester-catalog' \
	'to run all tests, with the counts, and that it has the lock'
ok 'the other one, too' until_ 20 messages_are coder-catalog 1
like "$(told coder-catalog)" 'The test lock slot is held by tester-catalog. Run tests only with it: gt-recover records lock acquire slot coder-catalog' \
	'that it has not'
gt log
like "$OUT" 'lock.taken-over' 'the log tells of it'
gt lock acquire slot somebody
is "$RC" 75 'nobody else gets it now'

# ---- its word alone had it, with time left ----
epic other cart shared
gt lock acquire --lease 3600 shared sprint-cart
gt -L main epic resume other --yes
like "$RC $ERR" '^0 .*Force releasing stale test lock: sprint-cart had it, but the sprint crashed.*Test slot acquired ✓ \(shared, for coder-cart\)' \
	'what the crashed sprint had by its word is taken from it'
is "$(locked shared fence)" 2 'once'

# ---- somebody who lives has it ----
epic third users busy
gt lock acquire busy elsewhere $$
gt -L main epic resume third --yes
like "$RC $ERR" '^0 .*the test lock is not available: elsewhere holds the lock busy while its process [0-9]+ runs.*wait for it' \
	'from one who lives it is not taken, and the agents come back all the same'
is "$(locked busy holder) $(locked busy fence)" 'elsewhere 1' 'it is as it was'
ok 'they are told' until_ 20 messages_are tester-users 1
like "$(told tester-users)" 'The test lock busy is held by elsewhere' 'to wait for it'
for agent in coder-users tester-users; do
	pane_of $agent
	kill_agent $agent
done
gt epic abandon third --yes
is "$RC $(locked busy holder)" '0 elsewhere' 'abandon leaves it, too'

# ---- nobody had it ----
epic fourth docs "it's"
gt -L main epic resume fourth --yes
is "$RC $(locked "it's" fence)" '0 1' 'one that nobody had is acquired'
for agent in coder-docs tester-docs; do
	pane_of $agent
	kill_agent $agent
done
gt epic abandon fourth --yes
gt -v lock list
unlike "$OUT" "it's" 'and goes with the epic'
done_testing
