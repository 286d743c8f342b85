#!/bin/bash
# The real Claude Code, killed with kill -9, goes on with its own conversation: its model is sent what was said before, once, and behind it
# what we tell it that the conversation lacks. An id that is in use, or whose file is gone, is not resumed.
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
	{"when": "^tool_result", "content": [{"text": "The command is done."}]},
	{"when": "run the tests", "content": [{"text": "Running the tests now."},
	 {"tool": "Bash", "input": {"command": "for i in $(seq 1 300); do echo \"test $i ok\"; sleep 0.2; done", "description": "Run the tests"}}]},
	{"when": "write the notes", "pace": 20, "content": [{"text": "Writing the notes."},
	 {"tool": "Write", "input": {"file_path": "notes.md", "content": "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"}, "stop_at": 60}]},
	{"when": "explain the cache", "pace": 20,
	 "content": [{"text": "The cache has three layers.\n\n- The first one lives in memory.\n- The second one on disk.\n- The third one is", "stop_at": 96}]}],
 "otherwise": "Renamed. Six calls were changed."}
JSON
node "$MODEL" serve --scenario "$W/scenario.json" --requests "$W/requests" --port-file "$W/port" >"$W/model.log" 2>&1 &
PIDS+=($!)
until_ 10 test -s "$W/port" || { note "$(cat "$W/model.log")" && fail 'the model is up' && done_testing; }

start_claude() {	# SESSION [COMMAND]
	local word args=()
	mkdir -p "$(agent_dir "$1")/cwd"
	claude_home "$W/$1" "$(agent_dir "$1")/cwd"
	claude_env "$W/$1" "$(cat "$W/port")"
	for word in "${CLAUDE_ENV[@]}"; do
		args+=(--env "$word")
	done
	start_agent "$1" --no-wait --command "${2:-claude --dangerously-skip-permissions}" "${args[@]}"
	until_ 60 claude_is "$1" idle
}

claude_is() {	# SESSION STATUS
	grep -qs "\"status\":\"$2\"" "$W/$1/.claude/sessions/$(agent_pid "$1").json"
}

answered() {	# SESSION: the model's answer to us is on the screen
	pane_shows "$1" '● I know where I was and go on'
}

record() {	# SESSION: the newest transcript
	# names are UUIDs
	# shellcheck disable=SC2012
	ls -t "$W/$1"/.claude/projects/*/*.jsonl | head -n 1
}

# What the model was sent last of all that holds the id: the words of users and of the agent, calls and results, a line each.
sent_with() {	# ID
	local file
	file=$(grep -l -- "$1" "$W"/requests/*.json | tail -n 1)
	perl -MJSON::PP -0777 -ne '
		for my $m (@{JSON::PP->new->utf8->decode($_)->{messages}}) {
			for my $b (ref $m->{content} ? @{$m->{content}} : ({ type => "text", text => $m->{content} })) {
				next if ($b->{text} // "") =~ /^<system-reminder>/;
				(my $t = $b->{text} // ($b->{input} ? JSON::PP->new->encode($b->{input}) : "")) =~ s/\n/ /g;
				binmode STDOUT, ":utf8";
				print "$m->{role} $b->{type}: $t\n";
			}
		}' "$file"
}

has_written() {	# SESSION WORDS: the program writes its transcript up to half a second after its screen
	grep -qs -- "$2" "$(record "$1")"
}

# first_said SESSION: something that its conversation begins with
first_said() {
	tell_agent "$1" 'Please rename foo to bar.'
	until_ 60 pane_shows "$1" 'Six calls were changed' && until_ 60 claude_is "$1" idle && until_ 60 has_written "$1" '"role":"assistant".*Six calls were changed'
}

# goes_on SESSION STATE: killed, recovered, and resumed
goes_on() {
	local session=$1 state=$2 file id
	file=$(record "$session")
	ok "$state: kill -9 leaves a dead pane" kill_agent "$session"
	cp "$file" "$W/$session.before"
	gt "$session" -L "$SOCKET" --json
	is "$RC" 0 "$state: gt-recover succeeds"
	[ "$RC" = 0 ] || { note "$ERR" && return; }
	is "$(json '{results}[0]{via}')" resume "$state: it goes on with its conversation"
	is "$(json '{results}[0]{phase}')" acknowledged "$state: and has answered there"
	id=$(json '{results}[0]{recovery_id}')
	ok "$state: the answer is on the screen" until_ 20 answered "$session"
	is "$(record "$session")" "$file" "$state: the same file goes on"
	is "$(head -c "$(stat -c %s "$W/$session.before")" "$file" | cmp - "$W/$session.before" 2>&1)" '' "$state: nothing of what it held was changed"
	kept_prompt "$id" "$W/$session.nudge"
	sent_with "$id" >"$W/$session.sent"
	is "$(grep -c "^user text: .*$id" "$W/$session.sent")" 1 "$state: the model was told once"
	is "$(grep -c '^user text: Please rename foo to bar' "$W/$session.sent")" 1 "$state: and sent what was said before, once"
	ok "$state: with its own answer" grep -q '^assistant text: Renamed. Six calls' "$W/$session.sent"
	is "$(node "$MODEL" count --requests "$W/requests" --prompt "$W/$session.nudge" | grep -v ' inside=0 ' | cut -d ' ' -f 2,3)" \
		'exact=1 inside=1' "$state: byte for byte what is kept"
	ok "$state: the agent is alive and idle" until_ 60 claude_is "$session" idle
}

ok 'mid-Bash: claude starts' start_claude bash
ok 'mid-Bash: it has answered' first_said bash
tell_agent bash 'Please run the tests.'
ok 'mid-Bash: the command runs' until_ 60 pane_shows bash 'test [0-9]+ ok'
goes_on bash mid-Bash
# of 2.1.197; 2.1.330 answers it with a result that says that it is unknown
is "$(grep -c 'tool_use' "$W/bash.sent")" 0 'mid-Bash: the provider has taken the call out'
ok 'mid-Bash: we name it' grep -q '^Tool Bash (still running when the session died): for i in' "$W/bash.nudge"
ok 'mid-Bash: and the process that outlived the agent' grep -Eq 'still runs \(pid [0-9]+' "$W/bash.nudge"
ok 'mid-Bash: what the model has is not told again' grep -q 'rename foo to bar' "$W/bash.sent"
not_ok 'mid-Bash: not by us' grep -q 'rename foo to bar' "$W/bash.nudge"

# a second crash of it
goes_on bash 'mid-Bash, a second time'
is "$(grep -c '^user text: .*recovery id gtr-' "$W/bash.sent")" 2 'a second time: both that we told stand in its conversation'

ok 'mid-Write: claude starts' start_claude write
ok 'mid-Write: it has answered' first_said write
tell_agent write 'Please write the notes.'
ok 'mid-Write: it is about to write' until_ 60 pane_shows write 'Writing the notes'
ok 'mid-Write: and at work' until_ 60 claude_is write busy
ok 'mid-Write: the question is in its transcript' until_ 60 has_written write 'Please write the notes'
goes_on write mid-Write
ok 'mid-Write: what only the screen had is told' grep -q 'Writing the notes' "$W/write.nudge"
ok 'mid-Write: the question stands in its conversation' grep -q '^user text: Please write the notes' "$W/write.sent"
not_ok 'mid-Write: nothing of the file was written' test -e "$(agent_dir write)/cwd/notes.md"

ok 'mid-answer: claude starts, told something by its command' start_claude answer "claude --dangerously-skip-permissions 'Please rename foo to bar.'"
ok 'mid-answer: which it has answered' until_ 60 pane_shows answer 'Six calls were changed'
ok 'mid-answer: it is idle' until_ 60 claude_is answer idle
tell_agent answer 'Please explain the cache.'
ok 'mid-answer: half an answer is on the screen' until_ 60 pane_shows answer 'The second one on disk'
goes_on answer mid-answer
ok 'mid-answer: the half answer is told' grep -q 'lives in memory' "$W/answer.nudge"
not_ok 'mid-answer: in its conversation it is not' grep -q '^assistant text: .*lives in memory' "$W/answer.sent"

# not_resumed SESSION NAME
not_resumed() {
	ok "$2: kill -9" kill_agent "$1"
	[ "$2" != stale ] || mv "$(record "$1")" "$W/moved"
	gt "$1" -L "$SOCKET" --json
	is "$RC" 0 "$2: gt-recover succeeds"
	is "$(json '{results}[0]{via}')" inject "$2: it is started afresh"
	is "$(json '{results}[0]{not_resumed}')" "$2" "$2: by that name"
	is "$(json '{results}[0]{phase}')" acknowledged "$2: and has answered"
	kept_prompt "$(json '{results}[0]{recovery_id}')" "$W/$1.prompt"
	ok "$2: it is told everything" grep -q 'rename foo to bar' "$W/$1.prompt"
}

ok 'stale: claude starts' start_claude stale
ok 'stale: it has answered' first_said stale
not_resumed stale stale

ok 'in use: claude starts' start_claude used
ok 'in use: it has answered' first_said used
# It may write an answer before the question. Then it goes on with what stands last in its file; a second exchange makes that an answer.
tell_agent used 'Please rename foo to bar.'
ok 'in use: twice' until_ 60 eval '[[ $(grep -c "\"role\":\"assistant\".*Six calls were changed" "$(record used)") == 2 ]]'
claude_env "$W/used" "$(cat "$W/port")"
mkdir -p "$(agent_dir second)"
(cd "$(agent_dir used)/cwd" && tm new-session -d -P -F '#{pane_id}' -x 100 -y 30 -s second env "${CLAUDE_ENV[@]}" claude --dangerously-skip-permissions \
	--resume "$(basename "$(record used)" .jsonl)") >"$(agent_dir second)/pane"
ok 'in use: somebody else goes on with its conversation' until_ 60 pane_shows second 'Six calls were changed' ||
	note "its screen: $(tm capture-pane -p -t "$(cat "$(agent_dir second)/pane")" 2>&1)
the records: $(jq -c '[.type, .subtype, .uuid, .parentUuid]' "$(record used)")"
not_resumed used in-use
done_testing
