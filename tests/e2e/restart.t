#!/bin/bash
# Startup brings suspended roots back by itself where auto_recover says so: once, with their conversation, and never one that lives.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/roots.sh
. "$ROOT/tests/e2e/roots.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"

recorded() {	# AGENT FIELD
	sql "$DB" "select json_extract(value, '\$.$2') from record where key = 'session:$1'"
}

phases() {
	sql "$DB" "select group_concat(tag, ' ') from record where key like 'attempt:%'"
}

everything() {
	sql "$DB" 'select key, version, tag, value from record order by key' | cksum
}

# ---- who lives in the recorded tmux session is ACTIVE, though nobody told its process ----
ok 'an agent lives' start_agent lone --scenario "$DATA/idle.scenario"
record lone
gt -L main startup
is "$RC $(tag session:lone) $ERR" '0 ACTIVE 1 session has a living process again.' 'its session stays ACTIVE'
is "$(recorded lone process.pid)" "$(agent_pid lone)" 'with that process'
gt -L main startup
is "$RC $OUT$ERR" '0 ' 'then nothing is left to do'
printf '{"agent_uuid":"double","provider_name":"claude","session":"lone"}' >"$W/in"
gt_in "$W/in" session record
gt -L main startup
is "$(tag session:lone) $(tag session:double)" 'ACTIVE SUSPENDED' 'of two that name one tmux session nobody can tell: the other is suspended'
gt session end double
gt session end lone
tm kill-server

record boss
is "$RC" 0 'a root is recorded'
record worker ',"parent":"boss"'
gt agent spawn boss worker
is "$RC" 0 'with a child'
gt -L main startup
is "$(tag session:boss) $(tag session:worker)" 'SUSPENDED SUSPENDED' 'without auto_recover they are suspended'
not_ok 'and not started' has boss

printf '[recovery]\nauto_recover = true\nspacing = "0s"\n' >"$CONFIG"
gt -L main startup --json
is "$RC $(json '{startup}{resume}') $(json '{startup}{resume}[0]{restarted}')" '0 1 true' 'with it the root is started again'
is "$(tag session:boss) $(tag session:worker)" 'ACTIVE SUSPENDED' 'and is ACTIVE; its child waits until it asks'
ok 'its process is noted' runs boss
not_ok 'the child has no session' has worker
ok 'it is told' until_ 20 messages_are boss 1
like "$(cat "$(message_file boss 1)")" "You are resuming after a system restart\. Check your team's status\." 'in the words of the template'
like "$(cat "$(message_file boss 1)")" 'session boss \(recovery id gtr-[0-9a-f]{16}\)' 'with session and id'
gt -L main startup
is "$RC $OUT$ERR" '0 ' 'again there is nothing to do'
is "$(agent_starts boss) $(messages boss)" '1 1' 'who lives is not started twice'

# ---- a startup that died between the start and its note ----
sql_record "$DB" "update record set tag = 'ACTIVE', value = json_set(value, '\$.process', json('null')) where key = 'session:boss'"
gt -L main startup
is "$RC $ERR" '0 1 session has a living process again.' 'the one that runs is found'
is "$(tag session:boss) $(agent_starts boss) $(messages boss)" 'ACTIVE 1 1' 'and taken for what it is, not started again'
ok 'with its process' runs boss

# ---- a session of that name that is not ours ----
record other
tm new-session -d -s other 'sleep 600'
gt -L main startup --json
is "$RC $(json '{startup}{resume}[0]{restarted}') $(json '{startup}{resume}[0]{refusal}') $(tag session:other)" '0 false changed SUSPENDED' \
	'a tmux session of its name is left alone'
# ---- who cannot be started ----
printf '{"agent_uuid":"bare","provider_name":"claude"}' >"$W/in"
gt_in "$W/in" session record
gt -L main startup --json
is "$(json '{startup}{resume}') $(json '{startup}{resume}[0]{refusal}') $(tag session:bare)" '2 no-place-known SUSPENDED' 'one without a command is its own caller'"'"'s'

gt session end bare
gt session end other

# ---- who was seen at work comes back with its context ----
server_dies() {
	local pid
	pid=$(tm display-message -p '#{pid}')
	kill -9 "$pid"
	until_ 10 _gone "$pid" && until_ 10 ended boss
}
talk=$(basename "$(transcript boss)" .jsonl)
is "$(recorded boss cursor_session_id)" "$talk" 'its conversation is recorded'
ok 'the tmux server is killed' server_dies
gt -L main startup
like "$RC $(tag session:boss) $ERR" '^0 ACTIVE .*✓ boss is back' 'the root is brought back'
is "$(phases)" 'acknowledged acknowledged' 'as any other agent: with an attempt, and proof'
is "$(sql "$DB" "select group_concat(via, ' ') from (select json_extract(value, '\$.via') via from record where key like 'attempt:%' order by json_extract(value, '\$.times.detected'))")" \
	'restart resume' 'of the first start nothing was known but the record; now a snapshot tells'
unlike "$(cat "$(message_file boss 2)")" 'resuming after a system restart' 'and it is told of its crash'
not_ok 'its child waits as before' has worker

# ---- where nothing but the record is left ----
ok 'the server is killed again' server_dies
rm -rf "$XDG_STATE_HOME/gt-recover/snapshots"
gt -L main startup
like "$(tm list-panes -t =boss: -F '#{pane_start_command}')" "resume.* $talk" 'it goes on with the conversation of its record'
ok 'and is told there' until_ 20 grep -qs 'resuming after a system restart.*' "$(agent_dir boss)/message.003"
is "$(agent_starts boss)" 3 'each time it was started once'

# ---- no crash loop ----
gt -L main list --json
is "$(json '{sessions}[0]{refusal}')" live 'it lives'
ok 'the server is killed a third time' server_dies
gt -L main startup --json
is "$RC $(json '{startup}{resume}[0]{restarted}') $(json '{startup}{resume}[0]{refusal}') $(tag session:boss)" '0 true (none) ACTIVE' \
	'more restarts than max_attempts, each with a turn that was finished, are none'
before=$(everything)
gt -L main startup
is "$RC $(everything)" "0 $before" 'another startup has nothing to do'
gt -L main release boss
gt -L main startup
is "$RC $(tag session:boss) $(agent_starts boss)" '0 ACTIVE 4' 'nor has a release anything to take back'

# ---- of a recovery that a person asked for the ledger hears as well ----
tm new-session -d -s keeper 'sleep 600'
tm kill-session -t =boss
ok 'its session is taken away' until_ 10 ended boss
gt -L main startup --json
is "$(json '{startup}{resume}[0]{refusal}') $(tag session:boss)" 'stopped SUSPENDED' 'who was ended on purpose is not brought back'
gt -L main boss
is "$RC $(tag session:boss)" '0 ACTIVE' 'named, it is, and its session is ACTIVE again'
ok 'with its new process' runs boss
before=$(everything)
gt -L main startup --json
is "$(json '{startup}{changed}') $(json '{startup}{resume}') $(everything)" "false 0 $before" 'so that startup leaves it alone'

# ---- a conversation that is nowhere ----
record lost ',"cursor_session_id":"01234567-89ab-4cde-8f01-23456789abcd"'
gt -L main startup
unlike "$(tm list-panes -t =lost: -F '#{pane_start_command}')" 'resume' 'one that is nowhere is not asked for'
ok 'and its agent comes up all the same' until_ 20 messages_are lost 1

# ---- patrol after a restart: first those whom it knows, then the roots of which there is but the record ----
gt -L main patrol
before=$(agent_starts boss)
ok 'the server is killed once more' server_dies
rm -rf "$XDG_STATE_HOME/gt-recover/snapshots"
gt -L main patrol --json
is "$RC $(json '{startup}{servers_ended}') $(json '{startup}{session_counts}{suspended}')" '0 1 2' 'patrol sees that the server ended'
is "$(tag session:boss) $(tag session:lost) $(tag session:worker)" 'ACTIVE ACTIVE SUSPENDED' 'and brings the roots back'
is "$(agent_starts boss)" $((before + 1)) 'once'

# ---- whom somebody else has taken up is not started beside that ----
ok 'an agent works' start_agent taken --scenario "$DATA/idle.scenario"
sleep 600 &
alive=$!
record taken ",\"pid\":$alive"
ok 'and dies, while its record tells of a process that lives' kill_agent taken
gt -L main --all --yes
like "$RC $ERR" '^4 .*Nothing to recover' 'it is left to whoever runs it'
is "$(listed taken refusal)" elsewhere 'by that name'
kill "$alive"
wait "$alive" 2>/dev/null || :
gt -L main --all --yes
is "$RC $(tag session:taken)" '0 ACTIVE' 'when that has ended it is brought back'
ok 'with its process' runs taken

# ---- a person at the keyboard ----
ok 'somebody looks at a shell in which an agent works' start_agent manned --wrapper --scenario "$DATA/idle.scenario"
visit manned
manned=$(agent_pid manned)
record manned ",\"pid\":$manned"
ok 'the agent dies' kill_agent manned
if grep -q GT_QUIET_MS "$GT_RECOVER"; then
	types manned l
	gt -L main startup
	like "$RC $(tag session:manned) $ERR" '^0 SUSPENDED .*manned: someone typed in its pane less than a minute ago \(typing\)' \
		'startup leaves the shell to who types there'
	is "$(messages manned) $(sql "$DB" "select count(*) from record where key like 'attempt:%' and json_extract(value, '\$.session') = 'manned'")" \
		'0 0' 'and has not tried it'
	GT_QUIET_MS=1 gt -L main startup
else
	skip 'this build has no shorter minute' 2
	gt -L main startup
fi
like "$RC $(tag session:manned) $ERR" '^0 ACTIVE .*✓ manned is back' 'the next startup brings it back before their eyes'
is "$(messages manned) $(tm display-message -p -t manned: '#{session_attached}')" '1 1' 'told once'
leave manned

# ---- several at once ----
ROOTS=(root1 root2 root3 root4)
for name in "${ROOTS[@]}"; do
	record "$name"
	agent_plan "$name" '--slow 1500'
done
gt -L main startup
is "$RC $(grep -c '✓ root[1-4] is back' <<<"$ERR")" '0 4' 'startup brings four back and names each'
is "$(for name in "${ROOTS[@]}"; do printf '%s/%s ' "$(tag "session:$name")" "$(messages "$name")"; done)" \
	'ACTIVE/1 ACTIVE/1 ACTIVE/1 ACTIVE/1 ' '  told once each'
pairs=$(sql "$DB" "with t as (select key, json_extract(value, '\$.times.detected') a, json_extract(value, '\$.times.acknowledged') b from record
	where key like 'attempt:%' and json_extract(value, '\$.session') like 'root_')
	select count(*) from t x join t y on x.key < y.key and x.a < y.b and y.a < x.b")
ok "  at the same time: $pairs of 6 pairs overlap" [ "$pairs" -ge 3 ]

# ---- in a town the guards know who it is ----
T=$W/town
mkdir -p "$T/mayor"
echo '{"type":"town","version":1,"name":"town"}' >"$T/mayor/town.json"
cp "$CONFIG" "$T/gt.toml"
mkdir -p "$(agent_dir hq-mayor)"
printf '{"agent_uuid":"hq","provider_name":"claude","session":"hq-mayor","workspace_path":"%s","start_command":"%s"}' "$T/mayor" "$CLAUDE" >"$W/in"
gt_in "$W/in" session record --town "$T"
gt startup --town "$T" -L main --json
is "$RC $(json '{startup}{resume}[0]{restarted}') $(json '{startup}{resume}[0]{refusal}')" '0 false infra' 'the mayor is left to Gas Town'
not_ok 'and has no session' has hq-mayor
gt log --verify
is "$RC" 0 'the export is what the store holds'
done_testing
