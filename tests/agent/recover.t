#!/bin/bash
# The real Claude Code, killed with kill -9 in several states, comes back with its context: what its model is told by the new process is
# the prompt that gt-recover made, byte for byte, once.
# shellcheck source=tests/agent/claude.sh
. "$(dirname "$0")/claude.sh"
CACHE=$(claude_cache) REAL_HOME=$HOME
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
afresh

program=$(claude_install "$CACHE" "$REAL_HOME") || skip_all "the real Claude Code is out of reach: $program"
ln -sf -- "$program" "$W/bin/claude"

cat >"$W/scenario.json" <<'JSON'
{"answers": [
	{"when": "gtr-[0-9a-f]{16}", "content": [{"text": "I know where I was and go on."}]},
	{"when": "^tool_result", "content": [{"text": "The command is done."}]},
	{"when": "explain the cache", "pace": 20,
	 "content": [{"text": "The cache has three layers.\n\n- The first one lives in memory.\n- The second one on disk.\n- The third one is", "stop_at": 96}]},
	{"when": "run the tests", "content": [{"text": "Running the tests now."},
	 {"tool": "Bash", "input": {"command": "for i in $(seq 1 300); do echo \"test $i ok\"; sleep 0.2; done", "description": "Run the tests"}}]},
	{"when": "clean.up", "content": [{"text": "I need to remove a directory."},
	 {"tool": "Bash", "input": {"command": "rm -rf ./build && make all", "description": "Build anew"}}]}],
 "otherwise": "Renamed. Six calls were changed."}
JSON
node "$MODEL" serve --scenario "$W/scenario.json" --requests "$W/requests" --port-file "$W/port" >"$W/model.log" 2>&1 &
PIDS+=($!)
until_ 10 test -s "$W/port" || { note "$(cat "$W/model.log")" && fail 'the model is up' && done_testing; }

# launch_claude SESSION FLAGS [COMMAND]: the start command is what a person would type; its settings come from the session's environment
launch_claude() {
	local word args=()
	mkdir -p "$(agent_dir "$1")/cwd/build"
	claude_home "$W/$1" "$(agent_dir "$1")/cwd"
	claude_env "$W/$1" "$(cat "$W/port")"
	for word in "${CLAUDE_ENV[@]}"; do
		args+=(--env "$word")
	done
	start_agent "$1" --no-wait --command "${3:-claude $2}" "${args[@]}"
}

start_claude() {	# as launch_claude, until it waits
	launch_claude "$@" && until_ 60 claude_is "$1" idle
}

claude_is() {	# SESSION STATUS
	grep -qs "\"status\":\"$2\"" "$W/$1/.claude/sessions/$(agent_pid "$1").json"
}

# Claude Code writes its transcript up to half a second late.
recorded() {	# SESSION TEXT
	cat "$W/$1"/.claude/projects/*/*.jsonl 2>/dev/null | grep -q -- "$2"
}

answered() {	# SESSION: the model's answer to the prompt is on the screen
	pane_shows "$1" '● I know where I was and go on'
}

# What the model was told by the process that came after the crash.
told() {	# PROMPT-FILE
	node "$MODEL" count --requests "$W/requests" --prompt "$1" | grep -v ' inside=0 ' | cut -d ' ' -f 2,3
}

transcripts_with() {	# SESSION TEXT: in how many transcript lines of users the text stands
	cat "$W/$1"/.claude/projects/*/*.jsonl | grep '"type":"user"' | grep -c -- "$2"
}

# recover_and_compare SESSION STATE
recover_and_compare() {
	local session=$1 state=$2 prompt=$W/$1.prompt id
	ok "$state: kill -9 leaves a dead pane" kill_agent "$session"
	gt "$session" -L "$SOCKET" --json
	is "$RC" 0 "$state: gt-recover succeeds"
	[ "$RC" = 0 ] || { note "$ERR" && return; }
	is "$(json '{results}[0]{phase}')" acknowledged "$state: the agent has answered in its own transcript"
	id=$(json '{results}[0]{recovery_id}')
	like "$id" '^gtr-[0-9a-f]{16}$' "$state: the attempt has an id"
	ok "$state: the answer is on the screen" until_ 20 answered "$session"
	kept_prompt "$id" "$prompt"
	ok "$state: the prompt is kept with the context" test -s "$prompt" || return
	is "$(told "$prompt")" 'exact=1 inside=1' "$state: the model was told the prompt byte for byte, once"
	is "$(transcripts_with "$session" "$id")" 1 "$state: and the transcript has it once"
	ok "$state: the agent is alive and idle" until_ 60 claude_is "$session" idle
}

skipping='--dangerously-skip-permissions'

ok 'idle: claude starts' start_claude idle "$skipping"
tell_agent idle 'Please rename foo to bar.'
ok 'idle: it has answered' until_ 60 pane_shows idle 'Six calls were changed'
ok 'idle: it is idle' until_ 60 claude_is idle idle
until_ 10 recorded idle 'Six calls were changed'
recover_and_compare idle idle
ok 'idle: the prompt tells what was asked' grep -q 'rename foo to bar' "$W/idle.prompt"
ok 'idle: that it had nothing to do' grep -q 'while you had nothing to do' "$W/idle.prompt"
ok 'idle: by the transcript' grep -q '^User \[transcript\]:$' "$W/idle.prompt"
is "$(grep -c 'Six calls were changed' "$W/idle.prompt")" 1 'idle: and the answer once, though both sources have it'

until_ 10 recorded idle 'I know where I was'
recover_and_compare idle 'idle, a second time'
is "$(grep -c 'rename foo to bar' "$W/idle.prompt")" 1 'a second time: the first question is told once'
is "$(grep -c '^\[record .* begins: conversation' "$W/idle.prompt")" 1 'a second time: prompts are not nested'

ok 'mid-answer: claude starts' start_claude answer "$skipping"
tell_agent answer 'Please explain the cache.'
ok 'mid-answer: half an answer is on the screen' until_ 60 pane_shows answer 'The second one on disk'
until_ 10 recorded answer 'explain the cache'
recover_and_compare answer mid-answer
ok 'mid-answer: the prompt holds the half answer' grep -q 'lives in memory' "$W/answer.prompt"
ok 'mid-answer: which only the screen has' grep -q '^Assistant \[screen\] (cut off when the session died):$' "$W/answer.prompt"
ok 'mid-answer: below the question of the transcript' grep -q '^User \[transcript\]:$' "$W/answer.prompt"

ok 'mid-Bash: claude starts' start_claude bash "$skipping"
tell_agent bash 'Please run the tests.'
ok 'mid-Bash: the command runs' until_ 60 pane_shows bash 'test [0-9]+ ok'
until_ 10 recorded bash 'seq 1 300'
recover_and_compare bash mid-Bash
ok 'mid-Bash: the prompt names the command' grep -q 'seq 1 300' "$W/bash.prompt"
like "$(cat "$W/bash.prompt")" 'still runs \(pid [0-9]+' 'mid-Bash: and the process that outlived the agent'

ok 'permission: claude starts' start_claude dialog ''
tell_agent dialog 'Please clean up.'
ok 'permission: the dialog is open' until_ 60 pane_shows dialog 'Do you want to proceed'
recover_and_compare dialog permission
ok 'permission: nothing was accepted' test -d "$(agent_dir dialog)/cwd/build"
ok 'permission: the prompt names the command' grep -q 'rm -rf ./build' "$W/dialog.prompt"

# a start command of which nobody can say what reads its input: told by a paste
ok 'involved: claude starts' start_claude involved '' "sh -c \"[ -t 0 ] && exec claude $skipping\""
tell_agent involved 'Please run the tests.'
ok 'involved: the command runs' until_ 60 pane_shows involved 'test [0-9]+ ok'
recover_and_compare involved involved
is "$(json '{results}[0]{delivery}')" paste 'involved: it was pasted'

# a prompt of more than 200 KB, pasted
ok 'large: claude starts' start_claude large '' "sh -c \"[ -t 0 ] && exec claude $skipping\""
for ((i = 0; i < 4000; i++)); do printf 'Line %d of what a person pasted: some words, 中文 too.\n' "$i"; done >"$W/large.txt"
tm load-buffer -b large "$W/large.txt" \; paste-buffer -d -p -b large -t "$(agent_pane large)"
ok 'large: a person pastes it' until_ 60 pane_shows large '❯.\[Pasted text'
tm send-keys -t "$(agent_pane large)" Enter
ok 'large: it has answered' until_ 60 pane_shows large 'Six calls were changed'
ok 'large: it is idle' until_ 60 claude_is large idle
until_ 10 recorded large 'Six calls were changed'
recover_and_compare large large
is "$(json '{results}[0]{delivery}')" paste 'large: it was pasted'
ok 'large: all of it' test "$(stat -c %s "$W/large.prompt")" -gt 200000

# one that asks for a permission before it can be told anything
printf '[recovery]\nready_timeout = "8s"\nack_timeout = "8s"\n' >"$W/quick.toml"
ok 'asking: claude starts' launch_claude asking '' 'sh -c "[ -t 0 ] && exec claude clean-up"'
ok 'asking: the dialog is open' until_ 60 pane_shows asking 'Do you want to proceed'
ok 'asking: it is killed' kill_agent asking
gt asking -L "$SOCKET" --config "$W/quick.toml" --json
is "$RC $(json '{results}[0]{error}{name}')" '5 dialog' 'asking: the next one shows it again and is told nothing'
like "$(json '{results}[0]{error}{message}')" 'shows a permission dialog: ' 'asking: the message names it'
ok 'asking: it is still open' claude_is asking waiting
ok 'asking: nobody has accepted it' test -d "$(agent_dir asking)/cwd/build"
is "$(transcripts_with asking "$(json '{results}[0]{recovery_id}')")" 0 'asking: the id is in no transcript'

# it ends when it has answered, and its start command has its first prompt
ok 'print: claude -p starts' launch_claude print "-p $skipping 'Please run the tests.'"
ok 'print: the command runs' until_ 60 recorded print tool_use
ok 'print: it is killed' kill_agent print
gt print -L "$SOCKET" --json
is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'print: gt-recover succeeds'
kept_prompt "$(json '{results}[0]{recovery_id}')" "$W/print.prompt"
is "$(told "$W/print.prompt")" 'exact=1 inside=1' 'print: the model was told the prompt alone'
ok 'print: it ended with status 0' until_ 20 eval "wake; pane_is print '#{pane_dead_status}' 0"

for session in idle answer bash dialog involved large print; do
	not_ok "$session: the key is not in the prompt" grep -qs -- "$MODEL_KEY" "$W/$session.prompt"
done
done_testing
