#!/bin/bash
# The real Claude Code as people start it: typed into a shell, several in one directory, killed in any order, with nothing configured. Each comes
# back in its own conversation, by its own command, inside its shell.
#   GT_AGENTS=all prove tests/agent/typed.t   all shells, this version and the newest, with hooks and without (make agents)
#   CASES='2.1.197/zsh/hooks' prove …         some of them, in one order of killing or, with GT_AGENTS=all, in all six
#   ORDERS='a b c,c b a' prove …              in these orders
WANTED=${GT_AGENTS:-}
# shellcheck source=tests/agent/claude.sh
. "$(dirname "$0")/claude.sh"
CACHE=$(claude_cache) REAL_HOME=$HOME
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"
export GT_HOOK_MS=10000

[ "$WANTED" != all ] || ORDERS=${ORDERS:-a b c,a c b,b a c,b c a,c a b,c b a}
ORDERS=${ORDERS:-b c a}
if [ "$WANTED" = all ] && [ -z "${CASES:-}" ]; then
	NEWEST=$(claude_newest "$REAL_HOME") || skip_all 'npm does not tell the newest version of Claude Code'
	CASES=''
	for version in "$CLAUDE_PIN" "$NEWEST"; do
		for shell in bash zsh fish; do
			CASES+=" $version/$shell/plain $version/$shell/hooks"
		done
	done
fi
CASES=${CASES:-$CLAUDE_PIN/bash/plain $CLAUDE_PIN/zsh/hooks}

printf '{"answers": [{"when": "gtr-[0-9a-f]{16}", "content": [{"text": "I know where I was and go on."}]}], "otherwise": "Renamed. Six calls were changed."}\n' >"$W/scenario.json"
node "$MODEL" serve --scenario "$W/scenario.json" --requests "$W/requests" --port-file "$W/port" --log "$W/log" >"$W/model.log" 2>&1 &
PIDS+=($!)
until_ 10 test -s "$W/port" || { note "$(cat "$W/model.log")" && fail 'the model is up' && done_testing; }

declare -A talk
pids() {
	printf '%s/.claude/sessions' "$HOME"
}
talk_of() {	# SESSION: the conversation of the agent that lives there
	sed 's/.*"sessionId":"\([^"]*\)".*/\1/' "$(pids)/$(agent_pid "$1").json" 2>/dev/null
}
claude_is() {	# SESSION STATUS
	grep -qs "\"status\":\"$2\"" "$(pids)/$(agent_pid "$1").json"
}
record_of() {	# SESSION: the file of its conversation
	printf '%s' "$HOME"/.claude/projects/*/"${talk[$1]}.jsonl"
}
# A new machine: home, state, and a server of its own for each case.
new_world() {	# NAME SHELL
	tm kill-server 2>/dev/null
	SOCKET=$1 HOME=$W/home-$1
	export HOME XDG_CONFIG_HOME=$HOME/.config XDG_STATE_HOME=$HOME/.local/state XDG_DATA_HOME=$HOME/.local/share
	mkdir -p "$HOME/.config/fish" "$XDG_DATA_HOME/fish/generated_completions" "$HOME/one"
	printf 'PS1="RDY> "\n' | tee "$HOME/.bashrc" >"$HOME/.zshrc"
	printf "PATH='%s'\nPS1='RDY> '\n" "$PATH" >"$HOME/.profile"
	printf "function fish_prompt; echo -n 'RDY> '; end\nfunction fish_greeting; end\n" >"$HOME/.config/fish/config.fish"
	claude_home "$HOME" "$HOME/one"
	claude_env "$HOME" "$(cat "$W/port")"
	ENV=()
	local word
	for word in "${CLAUDE_ENV[@]}"; do
		ENV+=(-e "$word")
	done
	talk=()
	KIND=$2
}
type_line() {	# SESSION TEXT
	tm send-keys -t "$(agent_pane "$1")" -l -- "$2" && until_ 10 shows_last "$1" "$2" && tm send-keys -t "$(agent_pane "$1")" Enter
}
shows_last() {	# SESSION TEXT: what was typed is drawn, an Enter behind it is one of its own
	pane_text "$1" | grep -qF -- "${2: -12}"
}
open_shell() {	# SESSION
	mkdir -p "$(agent_dir "$1")"
	tm start-server \; set-option -g history-limit 50000 \; set-option -g default-shell "$(command -v "$KIND")" \; set-option -g focus-events on \; \
		set-option -s exit-empty off 2>/dev/null
	tm new-session -d -P -F '#{pane_id}' -x 100 -y 34 -s "$1" -c "$HOME/one" "${ENV[@]}" | tr -d '\n' >"$(agent_dir "$1")/pane"
	until_ 20 pane_shows "$1" 'RDY>'
}
type_claude() {	# SESSION WORDS: in a shell, and it has answered
	open_shell "$1" && type_line "$1" 'claude --dangerously-skip-permissions' && until_ 60 claude_is "$1" idle || return 1
	talk[$1]=$(talk_of "$1")
	type_line "$1" "$2" && until_ 60 has_answered "$1" && until_ 60 claude_is "$1" idle
}
has_answered() {	# SESSION: and it is written, half a second later
	pane_shows "$1" 'Six calls were changed' && grep -qs 'Six calls' "$(record_of "$1")"
}
clear_pane() {	# SESSION
	type_line "$1" clear
	until_ 10 pane_is "$1" '#{cursor_y}' 0
	tm clear-history -t "$(agent_pane "$1")"
}
forget_dead() {	# as 2.1.197 does when it starts; 2.1.330 does so now and then
	local file
	for file in "$(pids)"/*.json; do
		[ -e "/proc/$(basename "$file" .json)" ] || rm -f "$file"
	done
}
prompts() {	# SESSION: its shell has drawn its prompt where the cursor is
	local y
	y=$(tm display-message -p -t "$(agent_pane "$1")" '#{cursor_y}')
	tm capture-pane -p -t "$(agent_pane "$1")" -S "$y" -E "$y" | grep -q 'RDY>'
}
comes_back() {	# SESSION WHAT [FLAGS]
	local before
	before=$(talk_of "$1")
	until_ 10 prompts "$1"
	gt "$1" -L "$SOCKET" --json
	is "$RC $(json '{results}[0]{via}') $(json '{results}[0]{error}{name}')" '0 resume (none)' "$2: $1 goes on with its conversation"
	[ "$RC" = 0 ] || note "$ERR"
	is "$before $(talk_of "$1")" " ${talk[$1]}" "$2: which is its own"
	is "$(tr '\0' ' ' <"/proc/$(agent_pid "$1")/cmdline" 2>/dev/null)" "claude --resume ${talk[$1]} ${3---dangerously-skip-permissions }" "$2: by its own command"
	ok "$2: $1 is idle" until_ 60 claude_is "$1" idle
}
use_claude() {	# VERSION
	local program
	program=$(claude_install "$CACHE" "$REAL_HOME" "$1") || skip_all "the real Claude Code $1 is out of reach: $program"
	ln -sf -- "$program" "$W/bin/claude"
}
often_here() {	# the same agents die again and again here
	mkdir -p "$XDG_CONFIG_HOME/gt-recover"
	printf '[recovery]\nmax_attempts = 1000\n' >"$XDG_CONFIG_HOME/gt-recover/gt.toml"
}

# ---- a person ends it: that is no crash, in whatever way, and whatever its screen shows later ----
ends() {	# SESSION KEY...: from its box to its shell
	local agent
	agent=$(agent_pid "$1")
	tm send-keys -t "$(agent_pane "$1")" "${@:2}"
	until_ 20 _gone "$agent" && until_ 10 prompts "$1"
}
ends_by_keys() {	# SESSION KEY: the second time once the first one was answered
	tm send-keys -t "$(agent_pane "$1")" "$2"
	until_ 10 pane_shows "$1" 'again to exit' && ends "$1" "$2"
}
ends_by_command() {	# SESSION COMMAND
	tm send-keys -t "$(agent_pane "$1")" -l "$2"
	until_ 10 pane_shows "$1" "❯.$2" && ends "$1" Enter
}
a_person_ends() {	# CASE
	local s
	for s in slash keys_c keys_d closed logout; do
		ok "$1, ended: claude is typed: $s" type_claude "$s" 'Please rename foo to bar.'
	done
	ok "$1, ended: by /exit" ends_by_command slash /exit
	ok "$1, ended: by Ctrl-C twice" ends_by_keys keys_c C-c
	ok "$1, ended: by Ctrl-D twice" ends_by_keys keys_d C-d
	ok "$1, ended: by /logout" ends_by_command logout /logout
	tm kill-session -t =closed
	for s in slash keys_c keys_d logout; do
		is "$(listed "$s" class) $(listed "$s" crash_reason) $(listed "$s" refusal)" 'zombie stopped stopped' "$1, ended: $s is an exit"
		clear_pane "$s"
	done
	forget_dead
	gt --all --yes -L "$SOCKET"
	is "$RC" 4 "$1, ended: nor is one whose screen is cleared recovered"
	for s in slash keys_c keys_d logout; do
		is "$(agent_pid "$s")" '' "$1, ended: nothing was started: $s"
	done
	not_ok "$1, ended: nor in a session that was closed" tm has-session -t =closed
}

n=0
for case in $CASES; do
	IFS=/ read -r version shell hooks <<<"$case"
	command -v "$shell" >/dev/null || { skip "$shell is not installed" && continue; }
	use_claude "$version"
	n=$((n + 1))
	new_world "w$n" "$shell"
	often_here
	[ "$hooks" != hooks ] || gt install hooks
	for s in a b c; do
		ok "$case: claude is typed: $s" type_claude $s 'Please rename foo to bar.'
	done
	# as the timer's first pass does; the hooks do it by themselves
	[ "$hooks" = hooks ] || gt list -L "$SOCKET"
	round=0
	IFS=, read -ra orders <<<"$ORDERS"
	for order in "${orders[@]}"; do
		round=$((round + 1))
		what="$case, killed as $order"
		read -r first second third <<<"$order"
		ok "$what: $first dies" kill_agent "$first"
		ok "$what: $second dies" kill_agent "$second"
		comes_back "$first" "$what, between two kills"
		ok "$what: $third dies" kill_agent "$third"
		clear_pane "$second"
		ok "$what: a fourth one is started" type_claude "d$round" 'Please rename foo to bar.'
		comes_back "$third" "$what"
		comes_back "$second" "$what, its screen cleared"
	done

	if [ "$WANTED" = all ] || [ $n = 1 ]; then
		new_world "e$n" "$shell"
		[ "$hooks" != hooks ] || gt install hooks
		a_person_ends "$case"
	fi

	# ---- nothing of ours ever ran, until now ----
	new_world "f$n" "$shell"
	[ "$hooks" != hooks ] || gt install hooks
	ok "$case, unseen: claude is typed" type_claude pid 'Please rename foo to bar.'
	ok "$case, unseen: another one" type_claude screen 'Please rename red to blue.'
	ok "$case, unseen: a third one" type_claude neither 'Please rename one to two.'
	kill_agent screen
	kill_agent neither
	clear_pane neither
	ok "$case, unseen: a fourth one is started" type_claude fourth 'Please rename foo to bar.'
	forget_dead
	kill_agent pid
	if [ "$hooks" = hooks ]; then
		comes_back neither "$case, unseen, of which its hook has told"
	else
		gt neither -L "$SOCKET" --json
		is "$RC $(json '{results}[0]{error}{name}')" '6 ambiguous' "$case, unseen: one that nothing tells of is refused"
		gt neither -L "$SOCKET"
		like "$ERR" "${talk[neither]}.*Please rename one to two" "$case, unseen: with its candidates"
		like "$ERR" "${talk[screen]}.*Please rename red to blue" "$case, unseen: all of them"
		unlike "$ERR" "${talk[fourth]}" "$case, unseen: and no living one's"
	fi
	# hooks have told of its flags, else nobody knows them
	told=''
	[ "$hooks" != hooks ] || told='--dangerously-skip-permissions '
	comes_back pid "$case, unseen, its pid file is there" "$told"
	comes_back screen "$case, unseen, its screen is there" "$told"
	if [ "$hooks" != hooks ]; then
		gt list -L "$SOCKET"
		like "$OUT" '(^|
)refused +neither ' "$case, unseen: it is listed"
		gt --all --yes -L "$SOCKET"
		is "$(talk_of neither)" '' "$case, unseen: --all does not guess"
		term_start 120 40
		term_run -L "$SOCKET" neither
		ok "$case, unseen: on a terminal its command is asked" until_ 20 term_shows 'Start it with which command'
		term_keys Enter
		ok "$case, unseen: and whether to keep the answer" until_ 20 term_shows 'Save it in gt.toml'
		term_keys n Enter
		ok "$case, unseen: and which conversation is its own" until_ 20 term_shows 'Which conversation'
		term_keys 1 Enter
		term_ended
		is "$STATUS $(talk_of neither)" "exit 0 ${talk[neither]}" "$case, unseen: and goes on with the chosen one"
		continue
	fi

	# ---- its tmux server dies, which ends them gracefully ----
	gt snapshot -L "$SOCKET"
	server=$(tm display-message -p '#{pid}') ended=$(agent_pid fourth)
	kill -9 "$server"
	ok "$case, the server dies: an agent ends with it" until_ 20 _gone "$ended"
	is "$(listed fourth class) $(listed fourth crash_reason)" 'missing server_exit' "$case, the server dies: that is no exit"
	gt -n --all -L "$SOCKET"
	like "$OUT" 'would recover fourth' "$case, the server dies: and --all would bring it back"
done
done_testing
