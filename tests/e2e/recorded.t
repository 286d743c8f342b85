#!/bin/bash
# Agents that only the ledger knows: people see them, and bring them back by name or in the picker; no pass over all of them does.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/roots.sh
. "$ROOT/tests/e2e/roots.sh"
printf '[recovery]\nspacing = "0s"\n' >"$CONFIG"

everything() {
	sql "$DB" 'select key, version, tag, value from record order by key' | cksum
}

record boss
is "$RC" 0 'a root is recorded, without a process'
record worker ',"parent":"boss"'
gt agent spawn boss worker
gt -L main list --json
is "$RC $(json '{sessions}') $(json '{sessions}[0]{name}') $(json '{sessions}[0]{class}') $(json '{sessions}[0]{refusal}')" '0 2 boss unknown unknown' \
	'without a process and a tmux server it is seen, and nobody can tell whether it runs'
gt -L main boss
is "$RC $(tag session:boss)" '6 ACTIVE' 'unknown is not dead'
gt -L main startup
is "$(tag session:boss) $(tag session:worker)" 'SUSPENDED SUSPENDED' 'startup suspends it'

gt -L main list --json
is "$(json '{sessions}[0]{class}') $(json '{sessions}[0]{crash_reason}') $(json '{sessions}[0]{refusal}') $(json '{sessions}[0]{sources}[0]')" \
	'missing unknown recorded record' 'then it is missing, and known by its record'
is "$(json '{sessions}[0]{agent_uuid}') $(json '{sessions}[0]{cwd}')" "boss $(agent_dir boss)/cwd" 'with its id and its workspace'
gt -L main list
like "$OUT" 'refused +boss +claude +[0-9]+[smh] ago +suspended +[^ ]*/cwd' 'in words'
like "$OUT" 'Skipped by --all:.* boss, worker: only its record is left' 'with the guard'
before=$(everything)
gt -L main --all --yes
is "$RC $(everything)" "1 $before" 'what takes all leaves it alone'
printf '[recovery]\nspacing = "0s"\nauto_recover = true\n' >"$CONFIG"
gt -L main patrol
is "$RC $(everything)" "0 $before" 'patrol, too'
not_ok 'it is not started' has boss

# ---- what startup would do ----
gt -L main startup -n
like "$RC $ERR" '^0 .*would be started: boss' 'startup --dry-run tells that it would be started'
unlike "$ERR" 'worker' 'its child would not'
gt -L main startup -n --json
is "$(json '{startup}{resume}[0]{would_restart}') $(json '{startup}{resume}[0]{refusal}')" 'true (none)' 'in JSON'
is "$(everything)" "$before" 'and changes nothing'
not_ok 'nor starts it' has boss
printf '[recovery]\nspacing = "0s"\n' >"$CONFIG"

# ---- by name ----
gt -L main -n boss
like "$RC $OUT" '^0 would recover boss' 'the plan for a name'
is "$(everything)" "$before" 'changes nothing'
gt -L main boss
is "$RC $(tag session:boss) $(tag session:worker)" '0 ACTIVE SUSPENDED' 'by its name it is brought back, alone'
like "$ERR" 'Only its record is left' 'that is told'
ok 'its process is noted' runs boss
is "$(agent_starts boss) $(messages boss)" '1 1' 'it was started and told once'
like "$(cat "$(message_file boss 1)")" "You are resuming after a system restart" 'in the words of a restart'
is "$(sql "$DB" "select group_concat(tag || json_extract(value, '\$.via'), ' ') from record where key like 'attempt:%'")" 'acknowledgedrestart' 'by an attempt, with proof'
gt -L main boss
is "$RC $(agent_starts boss)" '6 1' 'a live agent is never touched'
gt -L main worker
is "$RC $(tag session:worker) $(agent_starts worker)" '0 ACTIVE 1' 'a child comes back by its name'

# ---- ACTIVE, and its process is gone ----
server_dies() {
	local pid
	pid=$(tm display-message -p '#{pid}')
	kill -9 "$pid"
	until_ 10 _gone "$pid" && until_ 10 ended boss && until_ 10 ended worker
}
ok 'the tmux server is killed' server_dies
rm -rf "$XDG_STATE_HOME/gt-recover/snapshots"
gt -L main list --json
is "$(json '{sessions}[0]{name}') $(json '{sessions}[0]{class}') $(json '{sessions}[0]{refusal}') $(tag session:boss)" 'boss missing recorded ACTIVE' \
	'before any startup it is seen that its process is gone'
printf '1\n' >"$W/answer"
gt_in "$W/answer" -L main
like "$OUT" '1\. boss +\[crashed\] +record only' 'the picker offers it'
is "$RC $(tag session:boss) $(agent_starts boss)" '0 ACTIVE 2' 'and brings it back'
ok 'its new process is noted' runs boss

# ---- by its id, two at once ----
record id-7 '' seven
gt -L main startup
is "$(tag session:id-7)" SUSPENDED 'one whose id is not its session'"'"'s name'
"$GT_RECOVER" -L main id-7 >"$W/one" 2>&1 </dev/null &
one=$!
"$GT_RECOVER" -L main id-7 >"$W/two" 2>&1 </dev/null &
two=$!
wait "$one"
first=$?
wait "$two"
second=$?
ok "of two who name it at once one brings it back ($first, $second)" test "$first" = 0 -o "$second" = 0
is "$(agent_starts seven) $(tag session:id-7)" '1 ACTIVE' 'once'
ok 'and its process is noted' runs id-7

# ---- a session of that name in which no agent lives, one that cannot be started ----
record other
gt -L main startup
tm new-session -d -s other 'sleep 600'
gt -L main list --json
like "$OUT" '"name": "other"' 'one whose tmux session somebody else has is shown'
gt -L main other
is "$RC $(tag session:other)" '6 SUSPENDED' 'and left alone'
printf '{"agent_uuid":"bare","provider_name":"claude"}' >"$W/in"
gt_in "$W/in" session record
gt -L main startup
gt -L main list --json
unlike "$OUT" 'bare' 'one without a command is not offered'
done_testing
