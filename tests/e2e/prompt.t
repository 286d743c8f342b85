#!/bin/bash
# What an agent is told from its transcript and its files: what died with the session, the task list, what commands stand for, and that it
# had nothing to do.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
often
printf 'spacing = "0s"\n' >>"$XDG_CONFIG_HOME/gt-recover/gt.toml"

# record SESSION TYPE CONTENT [MEMBERS]: one more record of the transcript, below the last one; ' stands for "
record() {
	local file last
	file=$(transcript "$1")
	last=$(grep -o '"uuid":"[^"]*"' "$file" | tail -n 1 | cut -d '"' -f 4)
	RECORDS=$((${RECORDS:-0} + 1))
	{
		printf '{"type":"%s","uuid":"x%d","parentUuid":"%s","timestamp":"%s",' "$2" "$RECORDS" "$last" "$(date -u +%FT%T.000Z)"
		printf '"isSidechain":false%s,' "${4:+,${4//\'/\"}}"
		printf '"message":{"id":"m%d","role":"%s","content":%s}}\n' "$RECORDS" "$2" "${3//\'/\"}"
	} >>"$file"
}

# began SESSION TOOL INPUT WORDS RESULT: a call that left something at work
began() {
	record "$1" assistant "[{'type':'tool_use','id':'t$RECORDS','name':'$2','input':$3}]"
	record "$1" user "[{'type':'tool_result','tool_use_id':'t$((RECORDS - 1))','content':'$4'}]" "'toolUseResult':$5"
}

work() {	# SESSION [AGENT FLAG]...: an agent whose last turn is over
	local session=$1
	shift
	ok "$session: an agent works" start_agent "$session" --scenario "$DATA/idle.scenario" "$@"
	ok '  its turn is over' until_ 10 eval "grep -q 'Six calls were changed' \"\$(transcript $session)\""
}

# ---- nothing to do ----
work idle
ok '  it is killed' kill_agent idle
for via in inject resume; do
	gt prompt --via $via idle -L main
	like "$OUT" '\(killed by signal 9 \(SIGKILL\)\) while you had nothing to do' "$via: the agent had nothing to do"
	like "$OUT" 'Do not start new work.* wait for your user' '  it is asked to wait'
	unlike "$OUT" '[Cc]ontinue working|next step of your task|still your task' '  and not to continue'
done
cp "$XDG_CONFIG_HOME/gt-recover/gt.toml" "$W/own.toml"
printf '[recovery.prompts]\ntemplate = "Here: {{.Exchanges}} Continue working now."\n' >>"$W/own.toml"
gt prompt --config "$W/own.toml" --via inject idle -L main
like "$OUT" 'start nothing, wait for your user' "  a person's own template may not know of it: a line is added"
gt idle -L main --via inject
is "$RC" 0 '  it is recovered'
is "$(messages idle)" 1 '  and told once'

ok 'an agent that nothing was said to' start_agent new
ok '  it is killed' kill_agent new
gt prompt --via inject new -L main
like "$OUT" 'Nothing had been asked of you yet' '  it hears that'
unlike "$OUT" 'Raw text of the terminal|[Cc]ontinue working' '  and nothing else to do'

# ---- whatever is open is to be continued ----
work draft
tm send-keys -t "$(agent_pane draft)" -l 'rename the wombat table'
ok '  with a draft' until_ 10 pane_shows draft 'rename the wombat table'
work asked
record asked user "'now rename the table'"
work said --slow 60000
record said assistant "[{'type':'text','text':'I am about to'}]"
for session in draft asked said; do
	ok "$session: it is killed" kill_agent "$session"
	gt prompt --via inject "$session" -L main
	like "$OUT" 'You were working on a task.*Continue working now' '  it is asked to continue'
done

# ---- what died with the session ----
work busy
mkdir -p "$W/w"
began busy Bash "{'command':'npm run dev','run_in_background':true}" \
	"Command running in background with ID: b1. Output is being written to: $W/w/b1.output. You will be notified" \
	"{'backgroundTaskId':'b1'}"
began busy Monitor "{'command':'sleep 987','description':'watch the log','timeout_ms':1800000}" 'Monitor started' \
	"{'taskId':'b2','timeoutMs':1800000,'persistent':false}"
began busy Agent "{'description':'dig','prompt':'look for dead code'}" 'Async agent launched successfully.' \
	"{'isAsync':true,'agentId':'a3','description':'dig','prompt':'look for dead code'}"
began busy Workflow "{'script':'x'}" 'Workflow launched in background' \
	"{'taskId':'w4','taskType':'local_workflow','workflowName':'audit','runId':'wf_4','scriptPath':'$W/w/audit.js'}"
began busy CronCreate "{'cron':'*/5 * * * *','prompt':'check the deploy'}" 'Scheduled recurring job c5' \
	"{'id':'c5','humanSchedule':'Every 5 minutes','recurring':true,'durable':false,'nextFireAt':4102444800000}"
began busy CronCreate "{'cron':'7 9 * * *','prompt':'morning report','durable':true}" 'Scheduled recurring job c6' \
	"{'id':'c6','humanSchedule':'Every day','recurring':true,'durable':true,'nextFireAt':4102444800000}"
began busy ScheduleWakeup "{'delaySeconds':1200,'prompt':'/loop check the build'}" 'Next wakeup scheduled for 00:54:00' \
	"{'scheduledFor':4102444800000}"
record busy assistant "[{'type':'text','text':'All is started.'}]"
beside=$(transcript busy)
beside=${beside%.jsonl}
mkdir -p "$beside/subagents/workflows/wf_4"
printf '%s\n' '{"type":"started","agentId":"s1","label":"one"}' '{"type":"result","agentId":"s1","result":"ONE IS FINE"}' \
	'{"type":"started","agentId":"s2","label":"two"}' >"$beside/subagents/workflows/wf_4/journal.jsonl"
ok 'it is killed' kill_agent busy
gt prompt --via inject busy -L main
like "$OUT" 'You were working on a task' 'started afresh: it has something to do'
like "$OUT" "Bash\(npm run dev\) ran in the background.*Its output is in $W/w/b1.output" '  it hears of its shell'
like "$OUT" 'monitor "watch the log" ended.*Monitor with the command "sleep 987"' '  of its monitor'
like "$OUT" 'sub-agent "dig".*Agent with the prompt "look for dead code"' '  of its sub-agent'
like "$OUT" "workflow \"audit\" \(run wf_4\).*1 of the 2 agents .* had finished: one \(ONE IS FINE\).*scriptPath $W/w/audit.js" \
	'  of its workflow'
like "$OUT" 'schedule c5 \(\*/5 \* \* \* \*: "check the deploy"\) ended' '  of its schedule'
like "$OUT" 'schedule c6 .*is durable' '  of a durable one'
like "$OUT" 'wake-up .*due at 2100-01-01T00:00:00.000Z .*ScheduleWakeup with the prompt "/loop check the build"' \
	'  and of the wake-up of its loop'
gt prompt --via resume busy -L main
like "$OUT" "SendMessage to 'a3'" 'resumed: its sub-agent can be continued'
like "$OUT" "scriptPath $W/w/audit.js and resumeFromRunId wf_4" '  its workflow, too'
like "$OUT" 'schedule c5 .*CronList' '  its schedule came back'
like "$OUT" 'wake-up .* is lost' '  its wake-up did not'

# ---- processes that outlived it ----
printf '%s\n' 'user Serve.' 'tool Bash sleep 600; echo served' run 'result Started.' 'assistant It serves.' end >"$W/serve.scenario"
lives() {	# SESSION TOOL MEMBERS ANSWER EXTENDED-REGEXP: its process is named, started afresh or resumed
	local pid via
	ok "$1: an agent with a process" start_agent "$1" --scenario "$W/serve.scenario"
	pid=$(sed -n 's/^tool process //p' "$(agent_dir "$1")/events")
	began "$1" "$2" "{'command':'sleep 600; echo served'$3}" "Output is being written to: $W/w/x.output. You" "$4"
	record "$1" assistant "[{'type':'text','text':'It runs.'}]"
	ok '  it is killed' kill_agent "$1"
	for via in inject resume; do
		gt prompt --via $via "$1" -L main
		like "$OUT" "${5//PID/$pid}" "  $via: its process is named"
	done
	kill -9 -- "-$pid"
}
lives shell Bash ",'run_in_background':true" "{'backgroundTaskId':'b1'}" \
	'Bash\(sleep 600; .* in the background and still runs \(pid PID, .*output goes to .*even if a notice says that it stopped.*-- -PID'
lives monitor Monitor ",'description':'watch it','timeout_ms':1800000" "{'taskId':'b2','timeoutMs':1800000}" \
	'process of your monitor "watch it" outlived the session \(pid PID.*its output does not reach you'

# ---- the task list ----
work tasks
id=$(basename "$(transcript tasks)" .jsonl)
mkdir -p "$HOME/.claude/tasks/$id"
for task in '1 Read completed' '2 Fix in_progress' '3 Test pending'; do
	read -r n subject status <<<"$task"
	printf '{"id":"%s","subject":"%s","status":"%s","blockedBy":[]}' "$n" "$subject" "$status" >"$HOME/.claude/tasks/$id/$n.json"
done
ok 'it is killed' kill_agent tasks
gt prompt --via inject tasks -L main
like "$OUT" '- done: #1 Read.*- in progress: #2 Fix.*- open: #3 Test' '  its task list is given as a list'
like "$OUT" 'Your task list starts empty' '  with a hint'
like "$OUT" 'You were working on a task' '  an open task is something to do'
gt prompt --via resume tasks -L main
unlike "$OUT" '#2 Fix|starts empty' 'resumed: it has its list'
gt tasks -L main --via inject
is "$RC" 0 'it is recovered'
ok '  and killed again, before it made a list' kill_agent tasks
gt prompt --via inject tasks -L main
is "$(grep -c 'in progress: #2 Fix' <<<"$OUT")" 1 '  the list survives'

# ---- what commands and skills stand for ----
work words
record words user "'<command-message>wombat</command-message>\\n<command-name>/wombat</command-name>\\n<command-args>1912</command-args>'"
record words user "[{'type':'text','text':'WOMBAT-BODY of 1912'}]" "'isMeta':true"
record words assistant "[{'type':'tool_use','id':'s1','name':'Skill','input':{'skill':'quokka'}}]"
record words user "[{'type':'tool_result','tool_use_id':'s1','content':'Launching skill: quokka'}]"
record words user "[{'type':'text','text':'QUOKKA-BODY'}]" "'isMeta':true,'sourceToolUseID':'s1'"
record words user "[{'type':'text','text':'[Image #1] see'},{'type':'image','source':{}}]"
record words user "[{'type':'text','text':'[Image: source: /tmp/shot-77.png]'}]" "'isMeta':true"
ok 'it is killed' kill_agent words
gt prompt --via inject words -L main
for what in '/wombat 1912' 'WOMBAT-BODY of 1912' QUOKKA-BODY /tmp/shot-77.png; do
	is "$(grep -c "$what" <<<"$OUT")" 1 "  it is told $what, once"
done

# ---- the start command's own prompt ----
ok 'an agent is started with a prompt' start_agent given --command "claude --dangerously-skip-permissions 'START-PROMPT delete x'"
ok '  and answers it' until_ 10 _event given '^answered'
ok '  it is killed' kill_agent given
gt given -L main --via inject
is "$RC" 0 '  it is recovered'
is "$(grep -c START-PROMPT "$(message_file given)")" 1 '  its prompt stands in the record'
like "$(head -n 1 "$(message_file given)")" '^Your session crashed' '  and not in front of it'
ok 'an agent of Gas Town is started' start_agent beacon --command "claude --dangerously-skip-permissions '[GAS TOWN] polecat toast'"
ok '  and answers' until_ 10 _event beacon '^answered'
ok '  it is killed' kill_agent beacon
gt beacon -L main --via inject
like "$(head -n 1 "$(message_file beacon)")" '^\[GAS TOWN\] polecat toast' '  its beacon comes first again'

# ---- an agent that ends when it has answered ----
ok 'claude -p is at work' start_agent print --command "claude -p --dangerously-skip-permissions 'count the files'" --no-wait --no-answer
ok '  it was told' until_ 10 messages_are print 1
ok '  it is killed' kill_agent print
gt print -L main --via inject --json
is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' '  it answers and ends, which is a success'
ok '  with status 0' until_ 5 eval "wake; pane_is print '#{pane_dead_status}' 0"
ok 'claude -p is typed into a shell' start_agent typed --shell --command "claude -p 'count the files'" --no-wait --no-answer
ok '  it was told' until_ 10 messages_are typed 1
gt list -L main	# its command is kept
ok '  it is killed' kill_agent typed
gt typed -L main --via inject --json
is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' '  it answers and ends inside its shell, too'
done_testing
