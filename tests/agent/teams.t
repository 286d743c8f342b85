#!/bin/bash
# An agent team of the real Claude Code: a lead and its teammates in panes of one window. Killed with kill -9, each goes on with its own
# conversation, name and team; a lead that comes back still reaches its teammates; one that had finished is left alone.
# GT_AGENTS=all also kills all of them, and the server.
# shellcheck source=tests/agent/claude.sh
. "$(dirname "$0")/claude.sh"
CACHE=$(claude_cache) REAL_HOME=$HOME EXTENT=${GT_AGENTS-}
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

program=$(claude_install "$CACHE" "$REAL_HOME" 2.1.330) || skip_all "the real Claude Code is out of reach: $program"
ln -sf -- "$program" "$W/bin/claude"

cat >"$W/scenario.json" <<'JSON'
{"answers": [
	{"when": "gtr-[0-9a-f]{16}", "content": [{"text": "I know where I was and go on."}]},
	{"when": "found the team", "content": [{"text": "Founding."},
	 {"tool": "Agent", "input": {"description": "count sheep", "prompt": "ALICE-TASK: count the sheep", "name": "alice", "subagent_type": "general-purpose"}},
	 {"tool": "Agent", "input": {"description": "greet", "prompt": "BOB-TASK: greet", "name": "bob", "subagent_type": "general-purpose"}}]},
	{"when": "ALICE-TASK", "turns": [[{"text": "Alice counts."},
	 {"tool": "Bash", "input": {"command": "for i in $(seq 1 900); do echo \"sheep $i\"; sleep 0.2; done", "description": "Count"}}]]},
	{"when": "BOB-TASK", "content": [{"text": "Bob greets you."}]},
	{"when": "WAKE-UP", "content": [{"text": "I am awake."}]},
	{"when": "RING-RING", "content": [{"text": "I hear the bell."}]},
	{"when": "ring alice", "content": [{"tool": "SendMessage", "input": {"to": "alice", "summary": "ring", "message": "RING-RING, alice"}}]},
	{"when": "ask alice", "content": [{"tool": "SendMessage", "input": {"to": "alice", "summary": "wake up", "message": "WAKE-UP, alice"}}]},
	{"when": "urge alice", "content": [{"tool": "SendMessage", "input": {"to": "alice", "summary": "again", "message": "ALICE-TASK again"}}]},
	{"when": "^tool_result", "content": [{"text": "The tool is done."}]}],
 "otherwise": "I see."}
JSON
node "$MODEL" serve --scenario "$W/scenario.json" --requests "$W/requests" --port-file "$W/port" >"$W/model.log" 2>&1 &
PIDS+=($!)
until_ 10 test -s "$W/port" || { note "$(cat "$W/model.log")" && fail 'the model is up' && done_testing; }

mkdir -p "$(agent_dir lead)/cwd"
claude_home "$W/lead" "$(agent_dir lead)/cwd"
claude_env "$W/lead" "$(cat "$W/port")"
CLAUDE_ENV+=(CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1)

pane_of() {	# MEMBER: id of the pane of that teammate
	tm list-panes -a -F '#{pane_id} #{pane_start_command}' | sed -n "s/^\(%[0-9]*\) .*--agent-name $1 .*/\1/p" | head -n 1
}

has_pane() {	# MEMBER
	[ -n "$(pane_of "$1")" ]
}

shows() {	# PANE EXTENDED-REGEXP
	tm capture-pane -p -J -S - -t "$1" | grep -Eq -- "$2"
}

is_dead() {	# PANE
	[ "$(tm display-message -p -t "$1" '#{pane_dead}')" = 1 ]
}

kill_pane() {	# PANE: its agent, with -9
	kill -9 "$(tm display-message -p -t "$1" '#{pane_pid}')" && until_ 10 is_dead "$1"
}

config() {	# the team's file
	cat "$W"/lead/.claude/teams/*/config.json
}

has_members() {	# NAME...
	local name
	for name; do
		config | grep -q "\"name\": *\"$name\"" || return
	done
}

# member NAME KEY: that flag of a member, 1 or 0
member() {
	perl -MJSON::PP -e '
		local $/; open my $f, "<", $ARGV[0] or exit; my $v = decode_json(<$f>);
		for (@{$v->{members}}) { print $_->{$ARGV[2]} ? "1" : "0" if $_->{name} eq $ARGV[1] }' "$(echo "$W"/lead/.claude/teams/*/config.json)" "$1" "$2"
}

is_finished() {	# NAME
	[ "$(member "$1" isActive)" = 0 ]
}

of_team() {	# FIELD: of alice in the list
	gt list -L "$SOCKET" --json
	printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne 'for (@{decode_json($_)->{sessions}}) { print $_->{$ENV{FIELD}} if ($_->{teammate} // "") eq "alice" }'
}

for word in "${CLAUDE_ENV[@]}"; do
	args+=(--env "$word")
done
start_agent lead --no-wait --command "$W/bin/claude --dangerously-skip-permissions --teammate-mode tmux" "${args[@]}"
# teammates have the server's environment
for word in "${CLAUDE_ENV[@]}"; do
	tm set-environment -g "${word%%=*}" "${word#*=}"
done
LEAD=$(agent_pane lead)
ok 'the lead starts' until_ 60 grep -qs '"status":"idle"' "$W/lead/.claude/sessions/$(agent_pid lead).json"
tell_agent lead 'Please found the team.'
ok 'it has two teammates' until_ 60 has_members alice bob
until_ 30 has_pane alice
ALICE=$(pane_of alice)
ok 'alice works' until_ 60 shows "$ALICE" 'sheep [0-9]+|Running'
ok 'bob has finished' until_ 60 is_finished bob
SESSION=$(config | sed -n 's/.*"leadSessionId": "\(.*\)".*/\1/p')
is "$(FIELD=team of_team)" "session-${SESSION%%-*}" 'the list names the team'
is "$(FIELD=target of_team)" "lead:$(tm display-message -p -t "$ALICE" '#{window_index}.#{pane_index}')" 'and where alice lives'
gt list --live -L "$SOCKET"
like "$OUT" "lead:[0-9]+\.[0-9]+ +alice@session-${SESSION%%-*} " 'for people, too'

# comes_back PANE WHAT
comes_back() {
	gt "$1" -L "$SOCKET" --json
	is "$RC" 0 "$2: gt-recover succeeds"
	[ "$RC" = 0 ] || note "$ERR"
	is "$(json '{results}[0]{via}')" resume "$2: it goes on with its conversation"
	is "$(json '{results}[0]{phase}')" acknowledged "$2: and has answered there"
}

ok 'teammate: kill -9 leaves a dead pane' kill_pane "$ALICE"
comes_back "$ALICE" teammate
ok 'teammate: it is alice still' shows "$ALICE" '@alice'
is "$(pane_of alice)" "$ALICE" 'teammate: in her pane'
ok 'teammate: her own file goes on' test "$(grep -lc '"agentName":"alice"' "$W"/lead/.claude/projects/*/*.jsonl | wc -l)" = 1

ok 'lead: kill -9 leaves a dead pane' kill_pane "$LEAD"
comes_back "$LEAD" lead
is "$(config | sed -n 's/.*"leadSessionId": "\(.*\)".*/\1/p')" "$SESSION" 'lead: under its own session id'
ok 'lead: its team has its members again' has_members alice bob
kept_prompt "$(json '{results}[0]{recovery_id}')" "$W/lead.nudge"
ok 'lead: it is told of alice' grep -Eq '^- alice: alive, .*task: ALICE-TASK' "$W/lead.nudge"
ok 'lead: and that bob has finished' grep -Eq '^- bob: .*(idle|finished)' "$W/lead.nudge"
is "$(find "$HOME/.local/state/gt-recover/teams" -name '*.json' | wc -l)" 0 'lead: what was kept of the team is gone'
tell_agent lead 'Please ask alice.'
ok 'lead: its messages reach alice' until_ 60 shows "$ALICE" 'I am awake'

[ "$EXTENT" = all ] || done_testing

# recovered: the panes in the order in which they were recovered, and how
recovered() {
	printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne 'print join " ", map { "$_->{pane_id}=" . ($_->{via} // $_->{error}{name} // "?") } @{decode_json($_)->{results}}'
}

lead_pane() {
	tm list-panes -a -F '#{pane_id} #{pane_dead} #{pane_start_command}' | grep claude | grep -v -e --agent-name | sed -n '1s/ .*//p'
}

counts_below() {	# PID: does a descendant of it count sheep?
	local pid
	for pid in $(pgrep -P "$1"); do
		grep -qs 'seq 1 900' "/proc/$pid/cmdline" || counts_below "$pid" || continue
		return 0
	done
	return 1
}

is_counting() {
	counts_below "$(tm display-message -p -t "$(pane_of alice)" '#{pane_pid}')"
}

# alice has work again, which is what a crash interrupts
works_again() {
	local lead
	lead=$(lead_pane)
	tm send-keys -t "$lead" -l 'Please urge alice.' \; send-keys -t "$lead" Enter
	until_ 60 is_counting
}

BOB=$(pane_of bob)
ok 'all: alice works' works_again
ok 'all: bob is killed' kill_pane "$BOB"
ok 'all: alice is killed' kill_pane "$ALICE"
ok 'all: the lead is killed' kill_pane "$LEAD"
gt --all --yes -L "$SOCKET" --json
is "$(recovered)" "$LEAD=resume $ALICE=resume $BOB=finished" 'all: the lead first, then alice; bob had finished, and is named'
[ "$RC" = 0 ] || note "$ERR"
ok 'all: the team has its members' has_members alice bob
ok 'all: bob is left alone' is_dead "$BOB"
gt "$BOB" -L "$SOCKET" --json
is "$(json '{results}[0]{via}')" resume 'all: named, bob comes back, too'

ok 'server: alice works' works_again
ok 'server: a snapshot is taken' gt snapshot -L "$SOCKET"
# at one blow, as by a power failure: an agent that only loses its terminal ends in order, and its team with it
mapfile -t all < <(tm list-panes -a -F '#{?pane_dead,,#{pane_pid}}' | grep . && tm display-message -p '#{pid}')
kill -9 "${all[@]}"
until_ 10 eval '! tm list-sessions >/dev/null 2>&1'
# the new server has the environment of who starts it
gt_as_claude() {
	local HOME
	export "${CLAUDE_ENV[@]}"
	gt "$@"
}
gt_as_claude --all --yes -L "$SOCKET" --json
[ "$RC" = 0 ] || note "$ERR"
like "$(recovered)" "^$LEAD=resume $ALICE=resume" 'server: both are started with their own conversations, the lead first'
like "$(printf '%s' "$OUT" | tr -d ' \n')" "\"pane_id\":\"$ALICE\",\"phase\":\"acknowledged\"" 'server: alice goes on'
ok 'server: the team has its members' has_members alice bob
like "$(config | tr -d ' \n')" "\"name\":\"alice\"[^{}]*\"tmuxPaneId\":\"$(pane_of alice)\"" 'server: and knows the pane of alice'

# the server alone: agents that lose their terminal end in order, and the lead removes its team
ok 'server alone: alice works' works_again
gt_as_claude snapshot -L "$SOCKET"
mapfile -t all < <(tm list-panes -a -F '#{?pane_dead,,#{pane_pid}}' | grep .)
kill -9 "$(tm display-message -p '#{pid}')"
for pid in "${all[@]}"; do
	until_ 30 _gone "$pid"
done
gt_as_claude --all --yes -L "$SOCKET" --json
LEAD=$(lead_pane)
is "$(recovered | tr ' ' '\n' | grep -v =finished | tr '\n' ' ')" "$LEAD=resume $(pane_of alice)=resume " 'server alone: both go on with their own conversations, the lead first'
is "$(pane_of bob) $(recovered | grep -o =finished)" ' =finished' 'server alone: bob had finished'
ok 'server alone: alice joins the team that the lead founds anew' has_members alice
tm send-keys -t "$LEAD" -l 'Please ring alice.' \; send-keys -t "$LEAD" Enter
ok 'server alone: its messages reach her' until_ 60 shows "$(pane_of alice)" 'I hear the bell' ||
	note "$(config)
$(tm list-panes -a -F '#{pane_id} #{pane_dead} #{pane_start_command}')
$(tm capture-pane -p -t "$LEAD")
$(tm capture-pane -p -t "$(pane_of alice)")"

done_testing
