#!/bin/bash
# Other real agents with the hooks installed: their sessions, their files and their commands are known while they work, and after a kill -9 in the
# middle of a write that file is named, and the recovered agent is the same session.
#   prove tests/agent/others_hooks.t                 those that others.t has installed (scripts/check)
#   GT_AGENTS=all prove tests/agent/others_hooks.t   every one with hooks (make agents); or some, by name
WANTED=${GT_AGENTS:-codex qwen}
# shellcheck source=tests/agent/others.sh
. "$(dirname "$0")/others.sh"
CACHE=${GT_RECOVER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gt-recover} REAL_HOME=$HOME
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
often
DB=$XDG_STATE_HOME/gt-recover/recover.db
[ "$WANTED" != all ] || WANTED='codex gemini qwen copilot opencode'
# a machine that is busy with all the tests is slower than an agent's
export GT_HOOK_MS=10000

# The command of a person's own hook for which the second write has to wait: what is asked for is on its input.
cat >"$W/bin/gate" <<SH
#!/bin/sh
if grep -q second.md && [ -p $W/gate ]; then
	: >$W/waits
	read -r x <$W/gate
fi
SH
chmod +x "$W/bin/gate"

# Beside ours, behind them: some agents run hooks one after the other.
add_gate() {	# NAME HOME
	case $1 in
	gemini) jq '.hooks.BeforeTool += [{"hooks": [{"type": "command", "command": $gate}]}]' --arg gate "$W/bin/gate" "$2/.gemini/settings.json" ;;
	qwen) jq '.hooks.PreToolUse += [{"hooks": [{"type": "command", "command": $gate}]}]' --arg gate "$W/bin/gate" "$2/.qwen/settings.json" ;;
	copilot) jq '.hooks.preToolUse += [{"type": "command", "bash": $gate}]' --arg gate "$W/bin/gate" "$2/.copilot/settings.json" ;;
	opencode)
		cat <<-JS
			import { spawnSync } from "node:child_process"
			import { existsSync } from "node:fs"
			export const Gate = async () => ({
				"tool.execute.before": async (i, o) => {
					if (existsSync("$W/gate")) spawnSync("$W/bin/gate", [], { input: JSON.stringify(o.args) })
				},
			})
		JS
		;;
	esac >"$W/new"
	case $1 in
	gemini | qwen | copilot) cp "$W/new" "$2/.$1/settings.json" ;;
	opencode) cp "$W/new" "$2/.config/opencode/plugin/z-gate.js" ;;
	esac
}

begin() {	# NAME
	local word args=() port command
	port=$(cat "$W/port") command=$(others_command "$1")
	# its question whether to trust the hooks is a person's
	[ "$1" != codex ] || command+=' --dangerously-bypass-hook-trust'
	others_home "$1" "$W/$1" "$dir" "$port" && others_env "$1" "$W/$1" "$port"
	for word in "${OTHERS_ENV[@]}"; do
		args+=(--env "$word")
	done
	# ours have their state where the test has it
	args+=(--env "XDG_STATE_HOME=$XDG_STATE_HOME")
	unset CODEX_HOME
	HOME=$W/$1 XDG_CONFIG_HOME=$W/$1/.config gt install hooks --agent "$1" --config "$OWN"
	is "$RC" 0 "$1: the hooks are installed"
	add_gate "$1" "$W/$1"
	start_agent "$1" --no-wait --command "$command" "${args[@]}" && until_ 90 pane_shows "$1" "$(others_ready "$1")" || return 1
	until_ 4 still "$1" || :
}

still() {	# SESSION
	local i before
	before=$(pane_text "$1")
	for ((i = 0; i < 10; i++)); do
		read -rt 0.1 -u "$TICK" || :
		[ "$(pane_text "$1")" = "$before" ] || return 1
	done
}

say() {		# SESSION TEXT
	local pane
	pane=$(agent_pane "$1")
	tm send-keys -t "$pane" -l -- "$2"
	until_ 20 pane_shows "$1" "${2: -16}" && until_ 4 still "$1"
	tm send-keys -t "$pane" Enter
}

field() {	# COLUMN
	sql "$DB" "select value ->> '$1' from record where key = 'activity:$talk'" 2>/dev/null
}
event_is() {
	[ "$(field event)" = "$1" ]
}
runs_tool() {
	[ "$(field event)" = PreToolUse ] && [ -n "$(field tool)" ]
}
file_is() {	# NAME STATUS
	[ "$(sql "$DB" "select f.value ->> 'status' from record, json_each(record.value, '\$.files') f
		where record.key = 'activity:$talk' and f.value ->> 'path' = '$dir/$1'")" = "$2" ]
}
heard() {	# the conversation of the agent, as its session has it
	talk=$(sql "$DB" "select value ->> 'cursor_session_id' from record where key like 'session:%' and value ->> 'provider_name' = '$1'" 2>/dev/null)
	[ -n "$talk" ]
}
crash() {	# NAME
	local pid
	pid=$(tm display-message -p -t "$(agent_pane "$1")" '#{pane_pid}')
	kill -9 "$pid" && until_ 10 _gone "$pid" && until_ 20 listed_is "$1" class dead
}

try() {		# NAME
	local name=$1 pid
	talk=''
	dir=$(agent_dir "$name")/cwd
	mkdir -p "$dir"
	dir=$(realpath "$dir")
	# shellcheck disable=SC2016	# for the command
	printf 'until [ -e %s ]; do sleep 0.1; done\n' "$dir/go" >"$dir/slow.sh"
	for word in first second; do
		jq '.answers = [{"when": ("write the " + $w), "content": [{"text": "Writing it now."}, {"write": ($dir + "/" + $w + ".md"), "content": "# Words\n"}]}] + .answers' \
			--arg w "$word" --arg dir "$dir" "$W/$name.json" >"$W/new" && cp "$W/new" "$W/$name.json"
	done
	node "$OTHERS_MODEL" serve --scenario "$W/$name.json" --requests "$W/requests-$name" --port-file "$W/port" --log "$W/log" >"$W/model.log" 2>&1 &
	PIDS+=($!)
	until_ 10 test -s "$W/port" || { note "$(cat "$W/model.log")" && fail "$name: the model is up" && return; }
	begin "$name" || { fail "$name: it starts" && note "$(pane_text "$name")" && return; }
	pid=$(tm display-message -p -t "$(agent_pane "$name")" '#{pane_pid}')

	say "$name" 'Please run the slow thing'
	ok "$name: a session of it is known" until_ 60 heard "$name" || { note "$(pane_text "$name")" && return; }
	ok "$name: its command is told of" until_ 30 runs_tool
	gt session show "$talk" --json
	is "$(json '{session_record}{process}{pid}') $(json '{session_record}{session}') $(json '{session_record}{lives}')" "$pid $name true" "$name: which process it is, and where"
	like "$(json '{session_record}{start_command}')" "$name" "$name: by which command"
	: >"$dir/go"
	ok "$name: and the end of the turn" until_ 60 event_is Stop
	ok "$name: it waits" until_ 60 still "$name"
	unlike "$(pane_text "$name")" '[Hh]ook.*(error|fail|invalid)' "$name: hooks leave no complaint on its screen"

	if [ "$name" = codex ]; then
		skip 'codex offers no tool for files to a model that it does not know' 7
	else
		say "$name" 'Please write the first'
		ok "$name: a write is told of, and its end" until_ 60 file_is first.md written
		ok "$name: and the end of its turn" until_ 60 event_is Stop
		until_ 60 still "$name"
		rm -f "$W/waits"
		mkfifo "$W/gate"
		say "$name" 'Please write the second'
		ok "$name: it is in the middle of a write" until_ 60 test -e "$W/waits"
		ok "$name: of which the beginning is told" until_ 20 file_is second.md in_progress
	fi
	ok "$name: it is killed" crash "$name"
	rm -f "$W/gate"
	if [ "$name" != codex ]; then
		gt epic status
		like "$OUT" "Half-written files:.*$dir/second.md" "$name: killed: epic status names the half-written file"
		gt prompt "$name" -L "$SOCKET"
		like "$OUT" '\([^)]*second\.md\) was under way' "$name: and so does the prompt"
		unlike "$(grep 'under way' <<<"$OUT")" 'first\.md' "$name: and no other"
	fi
	gt "$name" -L "$SOCKET" --json
	is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' "$name: it comes back"
	[ "$RC" = 0 ] || note "$ERR" "$(pane_text "$name")"
	gt session show "$talk" --json
	is "$(json '{session_record}{lives}') $(json '{session_record}{session}')" "true $name" "$name: as the same session"
	is "$(sql "$DB" "select count(*) from record where key like 'session:%' and value ->> 'provider_name' = '$name'")" 1 "$name: and no other"
	gt epic status
	unlike "$OUT" 'second\.md' "$name: nothing of it is half-written any more"
	crash "$name"
	gt startup --mode none
	is "$(sql "$DB" "select tag from record where key = 'session:$talk'")" SUSPENDED "$name: startup suspends it"
	HOME=$W/$name XDG_CONFIG_HOME=$W/$name/.config gt uninstall hooks --agent "$name"
	is "$RC $(grep -rl 'gt-recover hook' "$W/$name/.codex/hooks.json" "$W/$name"/.*/settings.json "$W/$name/.config/opencode/plugin" 2>/dev/null)" '0 ' "$name: the hooks are away again"
}

OWN=$XDG_CONFIG_HOME/gt-recover/gt.toml
# long enough for a busy machine, short enough to see what is wrong
printf 'ready_timeout = "90s"\nack_timeout = "60s"\n' >>"$OWN"
for name in $WANTED; do
	cat >"$W/$name.json" <<-'JSON'
		{"answers": [
			{"when": "gtr-[0-9a-f]{16}", "content": [{"text": "I know where I was and go on."}]},
			{"when": "run the slow thing", "content": [{"text": "It runs now."}, {"shell": "sh slow.sh"}]},
			{"when": "^tool_result", "content": [{"text": "That is done."}]}],
		 "otherwise": "I see."}
	JSON
	rm -f "$W/port"
	if program=$(others_install "$CACHE" "$REAL_HOME" "$name"); then
		ln -sf -- "$program" "$W/bin/$name"
		try "$name"
	else
		skip "$name is out of reach: $program" 2
	fi
done
done_testing
