#!/bin/bash
# An agent team of Claude Code, played with files: a teammate goes on with its own conversation, which only its records name; a lead that
# resumes finds its members and their inboxes again, and is told of them; a teammate that had finished is left alone.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

session_id() {	# SESSION
	basename "$(transcript "$1")" .jsonl
}

member() {	# NAME ACTIVE
	printf '{"agentId": "%s@%s", "name": "%s", "tmuxPaneId": "%%9", "prompt": "count %ss sheep", "isActive": %s}' "$1" "$TEAM" "$1" "$1" "$2"
}

# team_file PID MEMBERS: as the lead of that process writes it
team_file() {
	printf '{"name": "%s", "leadSessionId": "%s", "leadProcess": {"pid": %s}, "members": [{"name": "team-lead"}%s]}\n' "$TEAM" "$ID" "$1" "$2"
}

# start_member NAME [agent flag]...: a teammate at work, with what Claude Code keeps of one: its name in its records, and no pid file
start_member() {
	local name=$1
	shift
	start_agent "$name" "$@" --cwd "$(agent_dir lead)/cwd" --scenario "$DATA/work.scenario" --command \
		"env CLAUDECODE=1 $W/bin/claude --agent-id $name@$TEAM --agent-name $name --team-name $TEAM --parent-session-id $ID --lead-verify-key 1795451367186.MCowBQYDK2VwAyEAIXPjEUgTkemNWy8o3duAZNRcapZNlCX4H1mX8RIdaOI --agent-type general-purpose --dangerously-skip-permissions" &&
		until_ 10 pane_shows "$name" 'test 7 ok'
}

kill_member() {	# NAME
	local file pid
	pid=$(agent_pid "$1")
	file=$(dirname "$(transcript lead)")/$(sed -n 's/.*"sessionId": *"\([^"]*\)".*/\1/p' "$HOME/.claude/sessions/$pid.json").jsonl
	kill_agent "$1" && rm -f "$HOME/.claude/sessions/$pid.json" &&
		sed -i "1s/^{/{\"teamName\":\"$TEAM\",\"agentName\":\"$1\",/" "$file" && basename "$file" .jsonl >"$W/$1.id"
}

ok 'a lead works' start_agent lead --scenario "$DATA/work.scenario"
until_ 10 pane_shows lead 'test 7 ok'
ID=$(session_id lead) TEAM=session-${ID:0:8}
DIR_OF_TEAM=$HOME/.claude/teams/$TEAM
mkdir -p "$DIR_OF_TEAM/inboxes"
team_file "$(agent_pid lead)" ", $(member alice true), $(member bob false), $(member dora false)" >"$DIR_OF_TEAM/config.json"
printf '[{"from": "team-lead", "text": "jump high", "read": false}]' >"$DIR_OF_TEAM/inboxes/dora.json"
printf '[{"from": "alice", "text": "I have counted 7.", "read": false}, {"from": "bob", "text": "old news", "read": true}]' \
	>"$DIR_OF_TEAM/inboxes/team-lead.json"
printf '[{"from": "team-lead", "text": "count on", "read": false}]' >"$DIR_OF_TEAM/inboxes/alice.json"

ok 'a teammate works in the same directory' start_member alice
gt list -L main --json
like "$OUT" "\"teammate\": \"alice\"" 'the list names it'
like "$OUT" "\"team\": \"$TEAM\"" 'and its team'
like "$OUT" '"target": "alice:0\.0"' 'and its place'

# ---- the lead dies, the teammate lives ----

# A lead that resumes writes its file anew, with itself alone. Before we look, somebody has written to dora.
team_file PID '' >"$W/anew"
mkdir "$W/own" && mv "$W/bin/claude" "$W/own/claude"
cat >"$W/bin/claude" <<EOF
#!/bin/sh
case "\$*" in *"--resume $ID "*)
	printf '[{"from": "bob", "text": "come and see", "read": false}]' >"$DIR_OF_TEAM/inboxes/dora.json"
	rm "$DIR_OF_TEAM/inboxes/alice.json" "$DIR_OF_TEAM/inboxes/team-lead.json"
	sed "s/PID/\$\$/" "$W/anew" >"$DIR_OF_TEAM/config.json" ;;
esac
exec "$W/own/claude" "\$@"
EOF
chmod +x "$W/bin/claude"
ok 'the lead dies' kill_agent lead
gt lead -L main --json
is "$RC" 0 'it is recovered'
[ "$RC" = 0 ] || note "$ERR"
is "$(json '{results}[0]{via}')" resume 'and goes on, though a teammate names its conversation'
ok 'its file names the new process' grep -q "\"pid\": $(agent_pid lead)" "$DIR_OF_TEAM/config.json"
ok 'and its teammates' grep -q '"name": "alice"' "$DIR_OF_TEAM/config.json"
ok 'both' grep -q '"name": "bob"' "$DIR_OF_TEAM/config.json"
ok 'what alice had not read lies there again' grep -q 'count on' "$DIR_OF_TEAM/inboxes/alice.json"
is "$(tr -d ' \n' <"$DIR_OF_TEAM/inboxes/dora.json" | grep -o '"text":"[^"]*"' | tr '\n' ' ')" '"text":"jumphigh" "text":"comeandsee" ' \
	'what dora had not read lies before what has come since, once'
not_ok 'nothing of the team is kept any more' test -e "$XDG_STATE_HOME/gt-recover/teams/$ID.json"
told=$(message_file lead)
ok 'it is told of alice' grep -q '^- alice: alive, at work, 1 unread in its inbox; task: count alices sheep' "$told"
ok 'of bob' grep -q '^- bob: finished' "$told"
ok 'and what it had not read' grep -q '^- from alice: I have counted 7' "$told"
not_ok 'not what it had' grep -q 'old news' "$told"

# ---- the teammate dies ----

ok 'alice dies' kill_member alice
gt alice -L main --json
is "$RC" 0 'she is recovered'
is "$(json '{results}[0]{via}')" resume 'she goes on'
like "$(tm display-message -p -t "$(agent_pane alice)" '#{pane_start_command}')" "claude --resume $(cat "$W/alice.id") --agent-id alice@$TEAM" \
	'with her own conversation and identity'
ok 'her team knows the pane in which she is' grep -q "\"alice\".*\"tmuxPaneId\": *\"$(agent_pane alice)\"" <(tr -d '\n' <"$DIR_OF_TEAM/config.json")

# ---- one that had finished ----

ok 'bob works' start_member bob
ok 'and dies' kill_member bob
ok 'bob had finished' listed_is bob refusal finished
gt --all --yes -L main --json
ok 'he is left alone' pane_is bob '#{pane_dead}' 1
printf '[{"from": "team-lead", "text": "one more", "read": false}]' >"$DIR_OF_TEAM/inboxes/bob.json"
gt --all --yes -L main --json
is "$(json '{results}[0]{via}')" resume 'but not with a message that he has not read'

# ---- the server ends, and its agents after it ----

ok 'a teammate works that outlives its terminal' start_member carol --outlives-terminal
gt snapshot -L main
is "$RC" 0 'a pass of snapshots'
pid=$(agent_pid carol) server=$(tm display-message -p '#{pid}')
kill -9 "$server"
until_ 10 _gone "$server"
gt list -L main
like "$OUT" "unknown +carol:0.0 +carol@$TEAM .*carol:0.0: its session is gone, but the agent's process still runs" 'she lives for a moment'
(read -rt 1 -u "$TICK"; exec kill -9 "$pid") &
PIDS+=($!)
gt --all --dry-run -L main
like "$OUT" "would recover carol:0.0 carol@$TEAM" 'all waits for her end'
done_testing
