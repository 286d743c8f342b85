#!/bin/bash
# The real Claude Code with everything at work that it can have at once, killed three times, with a draft each time: what it is told of it, by
# resume and by injection. And one that crashes with words of its own, behind a hook, on a screen that was drawn twice.
#   GT_AGENTS=all prove tests/agent/repeated.t   2.1.289 and the newest, too, injected first as well, and a long conversation (make agents)
#   VERSIONS=2.1.289 prove …                     one of them
# shellcheck source=tests/agent/claude.sh
. "$(dirname "$0")/claude.sh"
CACHE=$(claude_cache) REAL_HOME=$HOME ALL=${GT_AGENTS:-}
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
often

WAYS=resume
if [ "$ALL" = all ]; then
	newest=$(claude_newest "$REAL_HOME") || skip_all 'npm does not tell the newest version of Claude Code'
	VERSIONS=${VERSIONS:-$CLAUDE_PIN 2.1.289 $newest} WAYS='resume inject'
fi
VERSIONS=${VERSIONS:-$CLAUDE_PIN}

# 2.1.330 has most tools only once it has looked for them; an older model has the task list there.
cat >"$W/scenario.json" <<'JSON'
{"answers": [
	{"when": "gtr-[0-9a-f]{16}", "content": [{"text": "I know where I was and go on."}]},
	{"when": "^Look for dead code", "silent": true},
	{"when": "begin the big job", "turns": [
		[{"text": "I look for my tools."}, {"tool": "ToolSearch", "input": {"query": "select:TaskCreate,TaskUpdate,CronCreate", "max_results": 5}}],
		[{"tool": "TaskCreate", "input": {"subject": "Read the wombat table", "description": "All of it"}},
		 {"tool": "TaskCreate", "input": {"subject": "Rename its columns", "description": "All of them"}}],
		[{"tool": "TaskUpdate", "input": {"taskId": "1", "status": "completed"}},
		 {"tool": "TaskUpdate", "input": {"taskId": "2", "status": "in_progress"}},
		 {"tool": "Bash", "input": {"command": "echo serving; sleep 591", "description": "Serve the pages", "run_in_background": true}},
		 {"tool": "Agent", "input": {"description": "Dig for dead code", "prompt": "Look for dead code in src.", "subagent_type": "general-purpose",
		   "run_in_background": true}},
		 {"tool": "CronCreate", "input": {"cron": "7 3 * * *", "prompt": "Count the wombats.", "recurring": true}},
		 {"tool": "ScheduleWakeup", "input": {"delaySeconds": 1800, "reason": "The build takes long", "prompt": "Look at the build again.",
		   "noop": false}}],
		[{"text": "Now the long command."}, {"tool": "Bash", "input": {"command": "echo compiling; sleep 592", "description": "Compile"}}]]},
	{"when": "compile it", "content": [{"text": "I compile it."},
	 {"tool": "Bash", "input": {"command": "echo compiling; sleep 592", "description": "Compile"}}]},
	{"when": "^tool_result", "content": [{"text": "The command is done."}]}],
 "otherwise": "Renamed. Six calls were changed."}
JSON
node "$MODEL" serve --scenario "$W/scenario.json" --requests "$W/requests" --port-file "$W/port" >"$W/model.log" 2>&1 &
PIDS+=($!)
until_ 10 test -s "$W/port" || { note "$(cat "$W/model.log")" && fail 'the model is up' && done_testing; }

start_claude() {	# SESSION [FLAGS [SETTINGS]]
	local word args=()
	mkdir -p "$(agent_dir "$1")/cwd"
	[ -d "$W/$1" ] || claude_home "$W/$1" "$(agent_dir "$1")/cwd"
	[ -z "${3:-}" ] || printf '%s\n' "$3" >"$W/$1/.claude/settings.json"
	claude_env "$W/$1" "$(cat "$W/port")"
	for word in "${CLAUDE_ENV[@]}"; do
		args+=(--env "$word")
	done
	start_agent "$1" --no-wait --command 'claude --dangerously-skip-permissions --model claude-sonnet-4-5-20250929'"${2:+ $2}" "${args[@]}"
	until_ 60 claude_is "$1" idle
}
claude_is() {	# SESSION STATUS
	grep -qs "\"status\":\"$2\"" "$W/$1/.claude/sessions/$(agent_pid "$1").json"
}
records() {	# SESSION TEXT: Claude Code writes its transcript up to half a second late
	cat "$W/$1"/.claude/projects/*/*.jsonl 2>/dev/null | grep -qs -- "$2"
}
drafts() {	# SESSION TEXT: typed, and shown in its box
	tm send-keys -t "$(agent_pane "$1")" -l "$2"
	until_ 10 pane_shows "$1" "❯.$2"
}
at_work() {	# SESSION: and it is on disk
	pane_shows "$1" 'compiling$' && records "$1" 'sleep 592' && records "$1" 'Scheduled recurring job'
}
told() {	# SESSION WAY: the prompt in $OUT
	gt prompt "$1" -L "$SOCKET" --via "$2"
	[ "$RC" = 0 ] || note "$ERR"
}
once() {	# TEXT DESCRIPTION
	is "$(grep -cF -- "$1" <<<"$OUT")" 1 "$2"
}
# Parts of the interface of all three versions.
ui='esc to interrupt|ctrl\+[xbo] |bypass permissions on|shift\+tab|for agents|Queued · |API Usage|▐▛|▝▜|↓ |for [0-9]+s · done|◯ |● main|Tip: |retire|screen lines? not rec'

# comes_back SESSION WAY WHAT: recovered, and its model heard the prompt once
comes_back() {
	local id
	gt "$1" -L "$SOCKET" --via "$2" --json
	is "$RC $(json '{results}[0]{via}') $(json '{results}[0]{phase}')" "0 $2 acknowledged" "$3: it comes back"
	[ "$RC" = 0 ] || { note "$ERR" && return; }
	unlike "$ERR" 'not recognized' "$3: without a word on rows that were not understood"
	id=$(json '{results}[0]{recovery_id}')
	kept_prompt "$id" "$W/told"
	# behind its own notices Claude Code sends it without the newline at its end
	printf '%s' "$(cat "$W/told")" >"$W/heard"
	is "$(node "$MODEL" count --requests "$W/requests" --prompt "$W/heard" | grep -o ' inside=[1-9]')" ' inside=1' "$3: its model heard the prompt, once"
	ok "$3: it is idle" until_ 60 claude_is "$1" idle
}
dies() {	# SESSION WHAT
	ok "$2: it is killed" kill_agent "$1"
	# tmux 3.3a may have lost how it ended, and finds it when a child of its ends (T26)
	until_ 5 eval "wake; pane_is '$1' '#{pane_dead_signal}' 9"
	is "$(listed "$1" crash_reason) $(listed "$1" signal)" 'killed 9' "$2: by signal 9, as is told"
}

# ---- everything at once ----
everything() {	# VERSION SESSION FIRST-WAY
	local v="$1, $3 first" s=$2 way n
	ok "$v: claude starts" start_claude "$s"
	tell_agent "$s" 'Please begin the big job.'
	ok "$v: everything is at work" until_ 60 at_work "$s"
	tell_agent "$s" 'And mind the numbat column.'
	ok "$v: a message waits" until_ 20 records "$s" '"enqueue".*numbat'
	ok "$v: another is half written" drafts "$s" 'quokkas are number 1'
	dies "$s" "$v, first crash"
	declare -A ends=([inject]=': no notification will come[.]' [resume]=', as a notice of Claude Code says, too[.]')
	for way in inject resume; do
		told "$s" $way
		like "$OUT" 'Bash\(echo serving; sleep 591\) ran in the background and still runs \(pid [0-9]+' "$v, $way: the server in the background runs on"
		like "$OUT" 'Bash\(echo compiling; sleep 592\) was running and still runs \(pid [0-9]+' "$v, $way: so does the command"
		like "$OUT" 'The sub-agent "Dig for dead code" ended with the session'"${ends[$way]}" "$v, $way: the sub-agent does not"
		[ "$1" = 2.1.197 ] || like "$OUT" 'Your wake-up that was due at 20[^ ]+ is lost' "$v, $way: the wake-up is lost"
		once 'And mind the numbat column.' "$v, $way: the message that waited is told once"
		once 'quokkas are number 1' "$v, $way: so is the draft"
		unlike "$OUT" "$ui" "$v, $way: and nothing of the interface"
	done
	like "$OUT" 'The schedule [0-9a-f]+ \(7 3 [*] [*] [*]: "Count the wombats."\) is restored with your conversation' "$v: resumed, the schedule comes back"
	told "$s" inject
	like "$OUT" 'The schedule [0-9a-f]+ \(7 3 [*] [*] [*]: "Count the wombats."\) ended with the session[.]' "$v: injected, it has ended"
	comes_back "$s" "$3" "$v, first crash"

	# ---- again, and again ----
	for n in 2 3; do
		ok "$v: it answers" until_ 20 records "$s" '"role":"assistant".*I know where I was'
		ok "$v: a person writes again" drafts "$s" "quokkas are number $n"
		dies "$s" "$v, crash $n"
		for way in resume inject; do
			told "$s" $way
			like "$OUT" "Typed by the user but never sent:$nl.*  quokkas are number $n" "$v, crash $n, $way: the draft is told"
			is "$(grep -o 'quokkas are number .' <<<"$OUT" | sort | uniq -c | tr -s ' \n' ' ')" "$(seen_drafts "$n")" "$v, crash $n, $way: each of them once"
			unlike "$OUT" "$ui|Killed" "$v, crash $n, $way: and nothing of a shell's or of the interface"
			unlike "$OUT" "Assistant[^$nl]*:$nl  (Background|No completion)" "$v, crash $n, $way: what it says of the dead is no words of the model's"
		done
		once 'begin the big job' "$v, crash $n: what was asked is told once"
		[ $n = 3 ] || comes_back "$s" inject "$v, crash $n"
	done
}
seen_drafts() {	# N: as uniq counts them
	local i
	for ((i = 1; i <= $1; i++)); do printf ' 1 quokkas are number %d' "$i"; done
	printf ' '
}
nl='
'

draws_again() {	# SESSION PID COPIES: more than those, after it was stopped; it may draw twice
	kill -STOP "$2" && until_ 5 grep -q '^State:.T' "/proc/$2/status"
	kill -CONT "$2"
	until_ 20 eval "[ \"\$(pane_text '$1' | grep -c 'Please compile it')\" -gt $3 ]"
}

# ---- a hook at work, a screen that is drawn again, and a crash that tells of itself ----
odd() {	# VERSION SESSION
	local v=$1 s=$2 pid way
	ok "$v: claude starts, with a hook" start_claude "$s" '' \
		'{"skipDangerousModePermissionPrompt": true, "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "sleep 593"}]}]}}'
	tell_agent "$s" 'Please compile it.'
	ok "$v: the hook is at work" until_ 60 pane_shows "$s" '⎿ .Waiting…'
	until_ 10 records "$s" 'sleep 592'
	pid=$(agent_pid "$s")
	ok "$v: it draws everything again" draws_again "$s" "$pid" 1
	ok "$v: a person writes" drafts "$s" 'mind the possums'
	# over the words in its box
	ok "$v: it draws everything again, once more" draws_again "$s" "$pid" "$(pane_text "$s" | grep -c 'Please compile it')"
	ok "$v: down to the box" until_ 10 eval "[[ \$(pane_text '$s' | grep '^❯' | tail -n 1) =~ possums ]]"
	kill -SEGV "$pid"
	ok "$v: its runtime reports the crash" until_ 20 pane_shows "$s" '^panic\('
	until_ 10 pane_is "$s" '#{pane_dead}' 1
	for way in inject resume; do
		told "$s" $way
		like "$OUT" "System[^$nl]* .failed.:$nl.*panic.main thread.: Segmentation fault" "$v, $way: the crash's own words are told"
		like "$OUT" "Typed by the user but never sent:$nl  mind the possums$nl" "$v, $way: the draft ends where they begin"
		like "$OUT" 'Bash.echo compiling; sleep 592. had not begun' "$v, $way: a call behind a hook had not begun"
		unlike "$OUT" 'for permission' "$v, $way: nobody was asked for it"
		unlike "$OUT" "$ui" "$v, $way: nothing of the interface"
	done
	told "$s" inject
	once 'Please compile it.' "$v: what was drawn twice is told once"
	once 'I compile it.' "$v: all of it"
	comes_back "$s" resume "$v, with a crash's words"
}

# ---- five megabytes ----
# Appends 550 exchanges to a transcript, made from its own records.
grow() {	# FILE
	perl -MJSON::PP -e '
		my ($file, $ask, $answer, @ids, %parent) = shift;
		my $json = JSON::PP->new->utf8;
		open my $in, "<", $file or die;
		for (<$in>) {
			my $r = $json->decode($_);
			push @ids, $r->{uuid} if $r->{uuid};
			$parent{$r->{parentUuid}} = 1 if $r->{parentUuid};
			$ask = $r if $r->{type} eq "user" && !$r->{isMeta} && !ref $r->{message}{content};
			$answer = $r if $r->{type} eq "assistant";
		}
		# behind the only leaf: beside another one it would be up to Claude Code with which of them it goes on
		my ($last) = grep !$parent{$_}, @ids;
		open my $out, ">>", $file or die;
		for my $i (1 .. 550) {
			for my $of ($ask, $answer) {
				my $r = $json->decode($json->encode($of));
				($r->{parentUuid}, $r->{uuid}) = ($last, sprintf "%08x-0000-4000-8000-%012d", $i, $of == $ask);
				$last = $r->{uuid};
				$r->{message}{content} = $of == $ask ? "LONGQ-$i, please" :
					[{type => "text", text => "LONGA-$i is done: " . "many words of an answer. " x 400}];
				$r->{message}{id} = "msg_long$i" if $of == $answer;
				print $out $json->encode($r), "\n";
			}
		}' "$1"
}
long() {	# VERSION SESSION
	local v=$1 s=$2 file kept cut
	ok "$v, long: claude starts" start_claude "$s"
	tell_agent "$s" 'Please rename the wombat table.'
	ok "$v, long: it answers" until_ 60 records "$s" '"role":"assistant".*Six calls'
	ok "$v, long: it is idle" until_ 60 claude_is "$s" idle
	# asked to end, it would write on
	ok "$v, long: it is killed" kill_agent "$s"
	tm kill-session -t "$s"
	file=$(echo "$W/$s"/.claude/projects/*/*.jsonl)
	grow "$file"
	ok "$v, long: its conversation has five megabytes" test "$(stat -c %s "$file")" -gt 5000000
	ok "$v, long: a person goes on with it" start_claude "$s" "--resume $(basename "$file" .jsonl)"
	tell_agent "$s" 'And the numbat table.'
	ok "$v, long: it answers again" until_ 60 eval "tail -n 20 '$file' | grep -q 'Six calls'"
	ok "$v, long: it is killed" kill_agent "$s"
	told "$s" inject
	like "$OUT" "User[^$nl]*:$nl  Please rename the wombat table[.]$nl${nl}[(][0-9]+ older exchanges left out, [0-9]+ of them the user's[)]$nl" \
		"$v, long: the first message, and how many are left out"
	kept=$(grep -c '^  LONGQ-' <<<"$OUT")
	cut=$(sed -n "s/^(.* older exchanges left out, \([0-9]*\) of them the user's)\$/\1/p" <<<"$OUT")
	is "$((kept + cut))" 550 "$v, long: which is true"
	once 'And the numbat table.' "$v, long: the last message is told"
	gt prompt "$s" -L "$SOCKET" --via inject --json
	is "$(json '{user_messages_cut}')" "$cut" "$v, long: JSON has the same count"
	comes_back "$s" inject "$v, long"
}

use_claude() {	# VERSION
	local program
	program=$(claude_install "$CACHE" "$REAL_HOME" "$1") || skip_all "the real Claude Code $1 is out of reach: $program"
	ln -sf -- "$program" "$W/bin/claude"
}

for version in $VERSIONS; do
	use_claude "$version"
	for first in $WAYS; do
		everything "$version" "$first-${version//./-}" "$first"
	done
	odd "$version" "odd-${version//./-}"
	[ "$ALL" != all ] || long "$version" "long-${version//./-}"
done
done_testing
