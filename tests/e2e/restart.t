#!/bin/bash
# Startup brings suspended roots back by itself where auto_recover says so: once, with their conversation, and never one that lives.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
DB=$XDG_STATE_HOME/gt-recover/recover.db
CONFIG=$XDG_CONFIG_HOME/gt-recover/gt.toml
CLAUDE=$(command -v claude)
mkdir -p "${CONFIG%/*}"

record() {	# AGENT FIELDS: an agent whose process is not known to run, by a start command that is known
	local dir
	dir=$(agent_dir "$1")
	mkdir -p "$dir/cwd"
	printf '{"agent_uuid":"%s","provider_name":"claude","session":"%s","workspace_path":"%s","start_command":"env FAKE_AGENT_LOG=%s %s --dangerously-skip-permissions"%s}' \
		"$1" "$1" "$dir/cwd" "$dir" "$CLAUDE" "${2:-}" >"$W/in"
	gt_in "$W/in" session record
}

tag() {		# KEY
	sql "$DB" "select tag from record where key = '$1'"
}

runs() {	# AGENT: the process that its record tells of, if that runs
	local pid
	pid=$(sql "$DB" "select json_extract(value, '\$.process.pid') from record where key = 'session:$1'")
	[ -n "$pid" ] && ! _gone "$pid"
}

ended() {	# AGENT
	! runs "$1"
}

has() {		# SESSION: of tmux
	tm has-session -t "=$1" 2>/dev/null
}

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
sql "$DB" "update record set tag = 'ACTIVE', value = json_set(value, '\$.process', json('null')) where key = 'session:boss'"
gt -L main startup
like "$RC $ERR" '^0 .*boss runs already' 'the one that runs is found'
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

# ---- its own conversation ----
talk=$(basename "$(transcript boss)" .jsonl)
tm kill-session -t =boss
ok 'the root ends with its session' until_ 10 ended boss
gt -L main startup
is "$RC $(tag session:boss)" '0 ACTIVE' 'it is started again'
unlike "$(tm list-panes -t =boss: -F '#{pane_start_command}')" 'resume' 'afresh, as no conversation is recorded'
ok 'and told' until_ 20 messages_are boss 2
tm kill-session -t =boss
ok 'it ends again' until_ 10 ended boss
sql "$DB" "update record set value = json_set(value, '\$.cursor_session_id', '$talk') where key = 'session:boss'"
gt -L main startup
like "$(tm list-panes -t =boss: -F '#{pane_start_command}')" "resume.* $talk" 'with its conversation recorded it goes on with that'
ok 'and is told there' until_ 20 grep -q 'resuming after a system restart.*' "$(agent_dir boss)/message.003"
record lost ',"cursor_session_id":"01234567-89ab-4cde-8f01-23456789abcd"'
gt -L main startup
unlike "$(tm list-panes -t =lost: -F '#{pane_start_command}')" 'resume' 'one that is nowhere is not asked for'
ok 'and its agent comes up all the same' until_ 20 messages_are lost 1
gt log --verify
is "$RC" 0 'the export is what the store holds'
done_testing
