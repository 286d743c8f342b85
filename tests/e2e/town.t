#!/bin/bash
# The fixture town behaves as the facts about Gas Town say: names, sockets, environments, a crashed polecat that leaves nothing behind.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
# shellcheck source=tests/e2e/town.sh
. "$ROOT/tests/e2e/town.sh"
make_town dolt
add_bead gastown gt-abc hooked gastown/polecats/toast 'Mend the lexer' "Keep the comments; it's \"quoted\"."

ok 'gt starts a polecat' start_polecat gastown toast --scenario "$DATA/idle.scenario"
is "$(tm list-sessions -F '#{session_name}')" gt-toast 'with the name that gt gives it'
is "$(tm show-environment -t =gt-toast GT_ROLE)" GT_ROLE=gastown/polecats/toast 'and its role'
gt list --town "$TOWN" --json
is "$(json '{sessions}[0]{name} ')/$(json '{sessions}[0]{role}')/$(json '{sessions}[0]{rig}')/$(json '{sessions}[0]{class}')" \
	gt-toast/polecat/gastown/live 'it is found on the socket of the town, without being told'
like "$(cat "$TOWN/.events.jsonl")" "\"session_id\":\"$(head -n 1 "$(town_worktree gastown toast)/.runtime/session_id")\"" \
	'its conversation is in the log of events'
ok 'it is killed' kill -9 "$(agent_pid toast)"
ok 'and leaves no session: remain-on-exit is off' until_ 10 town_session_gone gastown toast
ok 'one with a dashed prefix, and a pane that is kept' start_polecat sea-shanty bullet-farmer --keep --scenario "$DATA/idle.scenario"
ok 'it is killed' kill_agent bullet-farmer
is "$(tm display-message -p -t =sea-sh-bullet-farmer: '#{pane_dead}')" 1 'its pane stays'

# ---- the programs ----
OUT=$(cd "$TOWN/gastown" && bd list --json --status=hooked --assignee=gastown/polecats/toast --limit=0)
is "$(json '[0]{id}')" gt-abc 'bd lists what is hooked, through the redirect'
OUT=$(cd "$TOWN/gastown" && bd show gt-abc --json)
is "$(json '[0]{description}')" "Keep the comments; it's \"quoted\"." 'shows a bead'
echo envelope >"$TOWN_FAKE/bd-answer"
OUT=$(cd "$TOWN" && BEADS_DIR=$TOWN/gastown/.beads bd query 'status=hooked AND assignee=gastown/polecats/toast' --json)
is "$(json '{data}[0]{id}')" gt-abc 'answers a query, in an envelope'
set_bead gastown gt-abc closed
echo plain >"$TOWN_FAKE/bd-answer"
is "$(cd "$TOWN/gastown" && bd list --json --status=hooked)" 'No issues found.' 'says in words that there is nothing'
echo dead >"$TOWN_FAKE/bd-answer"
not_ok 'and fails without a server' bash -c "cd '$TOWN/gastown' && bd list --json 2>/dev/null"
rm "$TOWN_FAKE/bd-answer"
is "$(cd "$TOWN/gastown" && bd list --nonsense 2>&1)" 'Error: unknown flag: --nonsense' 'an option that bd has not is an error'
is "$(town_calls bd '^list .*--status=hooked')" 2 'calls are counted'
(cd "$TOWN" && printf 'two\nlines' | env gt mail send mayor/ -s 'RECOVERY_NEEDED: toast' --stdin >/dev/null)
is "$(town_call gt '^mail send' '{argv}[2]') $(town_call gt '^mail send' '{argv}[4]')" 'mayor/ RECOVERY_NEEDED: toast' 'mail is written down'
is "$(town_call gt '^mail send' '{stdin}')" "$(printf 'two\nlines')" 'with its text'
OUT=$(cd "$TOWN" && env gt polecat list --all --json)
is "$(json '') $(json '[0]{name}')" '4 furiosa' 'gt lists the polecats'
OUT=$(cd "$TOWN" && env gt hook show gastown/polecats/toast --json)
is "$(json '{status}')" empty 'and hooks'
done_testing
