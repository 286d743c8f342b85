#!/bin/bash
# Other real agents, killed with kill -9 while they waited and while a command of theirs ran, come back: found, told the prompt once, answered.
#   prove tests/agent/others.t                 the few that are quickly there (scripts/check)
#   GT_AGENTS=all prove tests/agent/others.t   all of them (make agents); or some, by name or as codex@0.98.0
WANTED=${GT_AGENTS:-codex qwen pi}
# shellcheck source=tests/agent/others.sh
. "$(dirname "$0")/others.sh"
CACHE=${GT_RECOVER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gt-recover} REAL_HOME=$HOME
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
often
# long enough for a busy machine, short enough to see what is wrong
printf 'ready_timeout = "90s"\nack_timeout = "60s"\n' >>"$XDG_CONFIG_HOME/gt-recover/gt.toml"
NOT=()
[ "$WANTED" != all ] || { WANTED="${OTHERS[*]} ${OTHERS_MORE[*]}" && NOT=("${OTHERS_NOT[@]}"); }

# How each comes back: exit status, phase, way, hand-over, proof; and how its model has the prompt: inside a message, or as a message with other
# blanks, as a paste into it makes them. They go on with their own conversation, unless started afresh.
WAY='0 acknowledged resume paste transcript'
declare -A AFRESH=([opencode]='0 acknowledged inject stdin transcript')
declare -A TOLD=([auggie]='0 acknowledged resume file transcript')
# 1.1 takes no standard input, and its many small files are not read: it is told by one paste, and nobody can tell whether it took that up.
AFRESH[opencode@1.1.65]='5 respawned inject paste (none)'
# opencode puts a blank behind it, cline keeps the carriage returns by which a paste says line ends
declare -A HAS=([opencode]=blanks [cline]=blanks)
cat >"$W/scenario.json" <<'JSON'
{"answers": [
	{"when": "gtr-[0-9a-f]{16}", "content": [{"text": "I know where I was and go on."}]},
	{"when": "slow migration", "content": [{"text": "The migration starts now."}, {"shell": "sh migrate.sh"}]},
	{"when": "^tool_result", "content": [{"text": "The command is done."}]}],
 "otherwise": "Renamed. Six calls were changed."}
JSON
node "$OTHERS_MODEL" serve --scenario "$W/scenario.json" --requests "$W/requests" --port-file "$W/port" --log "$W/log" >"$W/model.log" 2>&1 &
PIDS+=($!)
until_ 10 test -s "$W/port" || { note "$(cat "$W/model.log")" && fail 'the model is up' && done_testing; }

# begin SESSION NAME[@VERSION]: in a home of its own, in front of its box
begin() {
	local word args=() name=${2%@*}
	mkdir -p "$(agent_dir "$1")/cwd"
	cat >"$(agent_dir "$1")/cwd/migrate.sh" <<-'SH'
		for i in $(seq 1 900); do
			echo "migrating table $i" | tee -a migration.log
			sleep 0.2
		done
	SH
	others_home "$name" "$W/$1" "$(agent_dir "$1")/cwd" "$(cat "$W/port")" && others_env "$name" "$W/$1" "$(cat "$W/port")"
	for word in "${OTHERS_ENV[@]}"; do
		args+=(--env "$word")
	done
	start_agent "$1" --no-wait --command "$(others_command "$2")" "${args[@]}" &&
		until_ 90 pane_shows "$1" "$(others_ready "$name")" || return 1
	until_ 4 still "$1" || :	# one has a face that blinks
}

still() {	# SESSION: its screen is the same ten times in a row
	local i before
	before=$(pane_text "$1")
	for ((i = 0; i < 10; i++)); do
		read -rt 0.1 -u "$TICK" || :
		[ "$(pane_text "$1")" = "$before" ] || return 1
	done
}

# In two steps: Enter in the same burst is a line end of a paste to some.
say() {		# SESSION TEXT
	local pane
	pane=$(agent_pane "$1")
	tm send-keys -t "$pane" -l -- "$2"
	# cline drops what comes in the first seconds after its box is there
	until_ 10 pane_shows "$1" "${2: -16}" || tm send-keys -t "$pane" -l -- "$2"
	until_ 20 pane_shows "$1" "${2: -16}" && until_ 4 still "$1"
	tm send-keys -t "$pane" Enter
}

ends_are() {	# NAME COUNT: answers of its model
	[ "$(grep -c "\"who\":\"$1\",\"event\":\"end\"" "$W/log" 2>/dev/null)" = "$2" ]
}

crash() {	# SESSION: the agent is the pane's own process
	local pid
	pid=$(tm display-message -p -t "$(agent_pane "$1")" '#{pane_pid}')
	kill -9 "$pid" && until_ 10 _gone "$pid" && until_ 10 pane_is "$1" '#{pane_dead}' 1
}

recorded() {	# SESSION NAME TEXT: in its own session files
	others_records "$2" "$W/$1" | while read -r file; do cat -- "$file" "$file-wal" 2>/dev/null; done | grep -aqF -- "$3"
}

# One session holds what the person had asked, and the recovery; what is told to one that is started afresh holds it, too.
goes_on() {	# SESSION NAME[@VERSION] TEXT
	local file id name=${2%@*}
	[ -z "${AFRESH[$name]-}" ] || grep -qF -- "$3" "$W/$1.prompt" || return
	id=$(grep -oE 'gtr-[0-9a-f]{16}' "$W/$1.prompt" | head -n 1)
	while read -r file; do
		cat -- "$file" "$file-wal" 2>/dev/null | grep -aqF -- "$id" && cat -- "$file" "$file-wal" 2>/dev/null | grep -aqF -- "$3" && return
	done < <(others_records "$name" "$W/$1")
	return 1
}

lives() {	# SESSION
	[ "$(tm display-message -p -t "$(agent_pane "$1")" '#{pane_dead}')" = 0 ]
}

# told SESSION NAME: what its model was told of the prompt
told() {
	node "$OTHERS_MODEL" count --requests "$W/requests" --who "$2" --prompt "$W/$1.prompt"
}
told_once() {	# SESSION NAME
	[[ $(told "$1" "$2") =~ ^newest=1\ .*${HAS[$2]:-inside}=1 ]]
}

is_unread() {	# NAME[@VERSION]: nothing but its last screen, which may lack anything, is known of it
	[[ ${AFRESH[$1]-} == *'(none)' ]]
}

# comes_back SESSION NAME STATE
comes_back() {
	local session=$1 item=$2 name=${2%@*} state="$2, $3" id via
	ok "$state: kill -9 leaves a dead pane" crash "$session"
	is "$(listed "$session" agent) $(listed "$session" class)" "$name dead" "$state: it is found"
	gt "$session" -L "$SOCKET" --json
	# how much of the screen its npm script's death leaves is a race: a session that nothing on it bears out is not gone on with
	via=$(json '{results}[0]{via}')
	[ "$item" != copilot@script ] || [ "$via" != inject ] || via=resume
	is "$RC $(json '{results}[0]{phase}') $via $(json '{results}[0]{delivery}') $(json '{results}[0]{proof}')" "${AFRESH[$item]:-${AFRESH[$name]:-${TOLD[$name]:-$WAY}}}" \
		"$state: it comes back by the way of its row"
	[ "$RC" = 0 ] || is_unread "$item" || note "$ERR" "$(pane_text "$session")"
	id=$(json '{results}[0]{recovery_id}')
	kept_prompt "$id" "$W/$session.prompt"
	ok "$state: the prompt is kept with the context" test -s "$W/$session.prompt" || return
	ok "$state: its model was told the prompt, once" until_ 90 told_once "$session" "$name" || { note "$(told "$session" "$name")" && return; }
	is_unread "$item" || ok "$state: the answer is on the screen" until_ 30 pane_shows "$session" 'I know where I was and go on'
	ok "$state: the id is in its own session file" until_ 20 recorded "$session" "$name" "$id"
	is "$(told "$session" "$name" | cut -d ' ' -f 1)" newest=1 "$state: and it was told no second time"
	ok "$state: it is alive" lives "$session"
	not_ok "$state: its key is not in the prompt" grep -qF -- "$OTHERS_KEY" "$W/$session.prompt"
}

programs_of() {	# SESSION: what runs in its pane
	local pid
	pid=$(tm display-message -p -t "$(agent_pane "$1")" '#{pane_pid}')
	for pid in "$pid" $(cat "/proc/$pid/task/$pid/children"); do
		readlink "/proc/$pid/exe"
	done
}

# The death of copilot's npm script takes the screen away, that of the program below it does not.
try_script() {
	local program
	program=$(readlink -f "$W/bin/copilot")
	ln -sf -- "${program%/copilot-linux-*}/copilot/npm-loader.js" "$W/bin/copilot"
	is_ready() { begin copilot-script copilot; }
	ok 'copilot@script: it starts' is_ready || { note "$(pane_text copilot-script)" && return; }
	say copilot-script 'Please rename foo to bar'
	ok 'copilot@script: it has answered' until_ 60 pane_shows copilot-script 'Six calls were changed'
	ok 'copilot@script: it waits' until_ 60 still copilot-script
	like "$(programs_of copilot-script)" '/node\b' 'copilot@script: it runs by node'
	comes_back copilot-script copilot@script idle
	like "$(programs_of copilot-script)" '/copilot-linux-[a-z0-9]+/copilot\b' 'copilot@script: it is the program itself now'
	ok 'copilot@script: it is killed again' crash copilot-script
	ok 'copilot@script: its last screen is there' pane_shows copilot-script 'I know where I was and go on'
	ln -sf -- "$program" "$W/bin/copilot"
}

try() {		# NAME[@VERSION]
	# tmux has no dots in names
	local item=$1 name=${1%@*} label=${1//[@.]/-}
	is_ready() { begin "$label-$1" "$item"; }
	ok "$item, idle: it starts" is_ready idle || { note "$(pane_text "$label-idle")" && return; }
	say "$label-idle" 'Please rename foo to bar'
	ok "$item, idle: it has answered" until_ 60 pane_shows "$label-idle" 'Six calls were changed'
	ok "$item, idle: it waits" until_ 60 still "$label-idle"
	comes_back "$label-idle" "$item" idle
	is_unread "$item" || ok "$item, idle: it goes on where that was asked" goes_on "$label-idle" "$item" 'rename foo to bar'

	ok "$item, mid-tool: it starts" is_ready tool || return
	say "$label-tool" 'Please run the slow migration'
	ok "$item, mid-tool: the command runs" until_ 60 grep -qs 'table 5' "$(agent_dir "$label-tool")/cwd/migration.log"
	comes_back "$label-tool" "$item" mid-tool
	is_unread "$item" || ok "$item, mid-tool: it goes on where that was asked" goes_on "$label-tool" "$item" 'the slow migration'
}

for item in $WANTED; do
	if ! grep -q "^\[${item%@*}\]" "$ROOT/config/agents.ini"; then
		skip "config/agents.ini has no row of ${item%@*}" 2
	elif program=$(others_install "$CACHE" "$REAL_HOME" "$item"); then
		ln -sf -- "$program" "$W/bin/${item%@*}"
		try "$item"
		[ "$item" != copilot ] || try_script
	else
		skip "$item is out of reach: $program" 2
	fi
done
for reason in ${NOT[@]+"${NOT[@]}"}; do
	skip "$reason"
done
done_testing
