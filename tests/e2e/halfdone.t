#!/bin/bash
# What was half done is told with names: the command whose process lives on after a kill -9, the file that was being written, the permission
# that was open. Nothing of it is ended.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

tool_pid() {	# SESSION
	sed -n 's/^tool process //p' "$(agent_dir "$1")/events"
}

warning() {	# SESSION EXTENDED-REGEXP: the prompt of a recovery of it has such a warning
	"$GT_RECOVER" prompt "$1" -L main 2>"$W/err" >"$W/prompt" && grep -Eq -- "^- .*$2" "$W/prompt"
}

cat >"$W/run.scenario" <<'EOT'
user Run the tests.
tool Bash for i in $(seq 1 600); do echo "it's $i"; sleep 0.5; done
run
hang it's 1
EOT
ok 'an agent runs a command' start_agent runs --scenario "$W/run.scenario"
pid=$(tool_pid runs)
ok 'it prints' until_ 5 grep -q "it's 1" "$(agent_dir runs)/tool.output"
ok 'a second agent runs the same' start_agent beside --scenario "$W/run.scenario"
other=$(tool_pid beside)
ok 'the first one is killed' kill_agent runs
not_ok 'its command lives on' _gone "$pid"
gt prompt runs -L main
is "$RC" 0 'its prompt is made'
like "$OUT" "Bash\(for i in .* was running and still runs \(pid $pid, for [0-9]+s, its output goes to $(agent_dir runs)/tool.output\)" \
	'with the process, its age and where it prints'
like "$OUT" "kill -- -$pid" 'and how to end it'
unlike "$OUT" "pid $other" "not with the living agent's"
unlike "$OUT" 'CLAUDE_CODE_SESSION_ID|shell-snapshots' 'nothing of the environment or of how it was started'
gt runs -L main --json
is "$RC" 0 'it comes back'
ok 'told of the process' grep -q "still runs (pid $pid" "$(message_file runs 1)"
not_ok 'which was not ended' _gone "$pid"
kill -9 -- "-$pid"

ok 'the second one is killed' kill_agent beside
kill -9 -- "-$other"
until_ 5 _gone "$other"
ok 'its command ended, too' warning beside 'Bash\(for i in .* was running; no process of it was found'

cat >"$W/serve.scenario" <<'EOT'
user Serve.
tool Bash sleep 600; echo served
run
result Running in the background (↓ to manage)
assistant It serves.
end
EOT
ok 'a command in the background' start_agent serves --scenario "$W/serve.scenario"
pid=$(tool_pid serves)
ok 'its agent is killed' kill_agent serves
ok 'it is named' warning serves "Bash\(sleep 600; echo served\) ran in the background and still runs \(pid $pid"
kill -9 -- "-$pid"

printf 'user Write it.\ntool Write %s\nhang\n' 'notes.md' >"$W/write.scenario"
ok 'an agent writes a file' start_agent writes --scenario "$W/write.scenario"
ok 'it is killed' kill_agent writes
ok 'nothing was written' warning writes 'Write\(notes.md\) was under way: there is no such file'
printf 'half' >"$(agent_dir writes)/cwd/notes.md"
ok 'or something was' warning writes 'Write\(notes.md\) was under way: the file is there, 4 bytes, '

ok 'an agent asks' start_agent asks --scenario "$DATA/permission.scenario"
ok 'it is killed' kill_agent asks
ok 'what it asked for did not run' warning asks 'Bash\(rm -rf ./build && make all\) was waiting for permission and did not run'
done_testing
