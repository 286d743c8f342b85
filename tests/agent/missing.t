#!/bin/bash
# The real Claude Code dies in the middle of a Write, and its tmux server with it: what its screen had shown and its transcript lacks comes back
# from a snapshot, in a new session on a new server. One that lives, with a dialog open, is left alone by everything that runs by itself.
# shellcheck source=tests/agent/claude.sh
. "$(dirname "$0")/claude.sh"
CACHE=$(claude_cache) REAL_HOME=$HOME
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

program=$(claude_install "$CACHE" "$REAL_HOME") || skip_all "the real Claude Code is out of reach: $program"
ln -sf -- "$program" "$W/bin/claude"

cat >"$W/scenario.json" <<'JSON'
{"answers": [
	{"when": "gtr-[0-9a-f]{16}", "content": [{"text": "I know where I was and go on."}]},
	{"when": "write the notes", "content": [{"text": "The cache has three layers, so the notes get three parts."},
	 {"tool": "Write", "input": {"file_path": "notes.md", "content": "# Notes\n\nThe first layer lives in memory.\n\nThe second one on disk.\n"},
	  "stop_at": 60}]},
	{"when": "clean.up", "content": [{"text": "I need to remove a directory."},
	 {"tool": "Bash", "input": {"command": "rm -rf ./build && make all", "description": "Build anew"}}]}],
 "otherwise": "Renamed. Six calls were changed."}
JSON
node "$MODEL" serve --scenario "$W/scenario.json" --requests "$W/requests" --port-file "$W/port" --log "$W/log" >"$W/model.log" 2>&1 &
PIDS+=($!)
until_ 10 test -s "$W/port" || { note "$(cat "$W/model.log")" && fail 'the model is up' && done_testing; }

# All that it needs stands in its command: the session's environment ends with the server.
start_claude() {	# SESSION FLAGS
	local word command=env
	mkdir -p "$(agent_dir "$1")/cwd/build"
	claude_home "$W/$1" "$(agent_dir "$1")/cwd"
	claude_env "$W/$1" "$(cat "$W/port")"
	for word in "${CLAUDE_ENV[@]}"; do
		command+=" $word"
	done
	start_agent "$1" --no-wait --command "$command claude $2" && until_ 60 claude_is "$1" idle
}
claude_is() {	# SESSION STATUS
	grep -qs "\"status\":\"$2\"" "$W/$1/.claude/sessions/$(agent_pid "$1").json"
}
find_pane() {	# SESSION
	tm list-panes -a -F '#{session_name} #{pane_id}' | awk -v s="$1" '$1 == s { print $2 }' | tail -n 1 >"$(agent_dir "$1")/pane"
}
told() {	# PROMPT-FILE
	node "$MODEL" count --requests "$W/requests" --prompt "$1" | grep -v ' inside=0 ' | cut -d ' ' -f 2,3
}

ok 'claude starts' start_claude writer --dangerously-skip-permissions
tell_agent writer 'Please rename parse() to read_all().'
until_ 60 pane_shows writer 'Six calls were changed'
until_ 60 claude_is writer idle
tell_agent writer 'Now write the notes about the cache.'
ok 'it is in the middle of a Write' until_ 20 grep -qs '"stall"' "$W/log"
until_ 60 pane_shows writer 'three parts'
ok 'another claude starts' start_claude asker ''
tell_agent asker 'Please clean up.'
ok 'and asks for a permission' until_ 60 pane_shows asker 'Do you want to proceed'
gt snapshot -L "$SOCKET" --json
is "$RC $(json '{panes}')" '0 2' 'a pass of snapshots'

# ---- a dialog is open: nobody answers ----
gt --all --yes -L "$SOCKET"
is "$RC" 4 'two live agents: nothing to recover'
gt asker -L "$SOCKET" --json
is "$RC $(json '{results}[0]{error}{name}')" '6 live' 'not even by name'
ok 'the dialog is open yet' pane_shows asker 'Do you want to proceed'
ok 'and nothing was accepted' test -d "$(agent_dir asker)/cwd/build"

# ---- all of it dies ----
server=$(tm display-message -p '#{pid}')
pids="$(agent_pid writer) $(agent_pid asker)"
# shellcheck disable=SC2086	# two words
kill -9 $pids
kill -9 "$server"
for pid in $server $pids; do
	until_ 10 _gone "$pid"
done
is "$(listed writer class) $(listed writer crash_reason)" 'missing server_exit' 'its session is missing'
is "$(listed writer refusal)" needs-secret 'its key stands in no snapshot'
gt writer -L "$SOCKET"
like "$RC $ERR" '^6 .*no snapshot keeps: ANTHROPIC_API_KEY' 'and its name is told'
export ANTHROPIC_API_KEY=$MODEL_KEY
gt writer -L "$SOCKET" --json --via inject
is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'with the key in the environment it is brought back'
[ "$RC" = 0 ] || note "$ERR"
id=$(json '{results}[0]{recovery_id}')
unset ANTHROPIC_API_KEY
find_pane writer
kept_prompt "$id" "$W/prompt"
is "$(told "$W/prompt")" 'exact=1 inside=1' 'its model was told the prompt byte for byte, once'
ok 'what the transcript had' grep -q 'Six calls were changed' "$W/prompt"
ok 'what was asked for last' grep -q 'Now write the notes about the cache' "$W/prompt"
ok 'what only the screen had shown' grep -q 'so the notes get three parts' "$W/prompt"
is "$(readlink "/proc/$(agent_pid writer)/cwd")" "$(realpath "$(agent_dir writer)/cwd")" 'it works where it had worked'
not_ok 'its key stands in nothing that was written' grep -rq -- "$MODEL_KEY" "$XDG_STATE_HOME/gt-recover"
is "$(listed writer class)" live 'it is live'

done_testing
