# The states in which a person may leave a shell, for tests that start an agent inside it. Sourced by the tests of each shell, which set:
#   KIND   bash, zsh, fish or dash
#   CASES  the states to try
# In every state a half-typed command would create a file whose name begins with BAD: none may appear.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
command -v "$KIND" >/dev/null || skip_all "$KIND is not installed"

# fish reads manuals in the background when it is first started
mkdir -p "$HOME/.config/fish" "$HOME/.local/share/fish/generated_completions" "$W/list"
touch "$W/list/one" "$W/list/two" "$W/list/three"
cat >"$HOME/.bashrc" <<'RC'
PS1='RDY> '
export ONLY_HERE=kept-value
alias agent='claude --dangerously-skip-permissions'
lazy() { unset -f lazy; command claude --dangerously-skip-permissions "$@"; }
[ "${EDIT_MODE-}" != vi ] || set -o vi
RC
cp "$HOME/.bashrc" "$HOME/.zshrc"
printf '[ "${EDIT_MODE-}" != vi ] || bindkey -v\nunsetopt beep\n' >>"$HOME/.zshrc"
printf 'PS1="RDY> "\nexport ONLY_HERE=kept-value\n' >"$HOME/.dashrc"
cat >"$HOME/.config/fish/config.fish" <<'RC'
function fish_prompt; echo -n 'RDY> '; end
function fish_greeting; end
set -gx ONLY_HERE kept-value
function agent; claude --dangerously-skip-permissions $argv; end
function lazy; command claude --dangerously-skip-permissions $argv; end
test "$EDIT_MODE" != vi; or fish_vi_key_bindings
RC
cat >"$W/with.toml" <<'TOML'
[recovery]
via = "inject"
[recovery.agents.claude]
command = "claude --dangerously-skip-permissions"
TOML

keys() {	# SESSION KEY...
	local pane
	pane=$(agent_pane "$1")
	shift
	tm send-keys -t "$pane" "$@"
}
write() {	# SESSION TEXT
	tm send-keys -t "$(agent_pane "$1")" -l "$2"
}
# a shell needs a moment to take each step in; what it shows then is what tells
steady() {	# SESSION: until its screen stands still
	local before='' now i
	for ((i = 0; i < 100; i++)); do
		now=$(tm capture-pane -p -t "$(agent_pane "$1")")$(tm display-message -p -t "$(agent_pane "$1")" '#{cursor_x},#{cursor_y}')
		[ "$now" != "$before" ] || return 0
		before=$now
		sleep 0.1
	done
	return 1
}
start_shell() {	# SESSION
	local dir edit=emacs
	dir=$(agent_dir "$1")
	mkdir -p "$dir/cwd" && : >"$dir/plan"
	case $1 in *vi*) edit=vi ;; esac
	tm start-server \; set-option -g history-limit 50000 \; set-option -g default-shell /bin/bash \; set-option -s exit-empty off 2>/dev/null
	tm new-session -d -P -F '#{pane_id}' -x 110 -y 30 -s "$1" -c "$dir/cwd" -e "FAKE_AGENT_LOG=$dir" -e "FAKE_AGENT_PLAN=$dir/plan" \
		-e "EDIT_MODE=$edit" -e "ENV=$HOME/.dashrc" "exec $KIND -i" | tr -d '\n' >"$dir/pane"
	until_ 10 pane_shows "$1" 'RDY>'
}
type_agent() {	# SESSION COMMAND: and wait until it works
	write "$1" "$2" && keys "$1" Enter && until_ 10 _event "$1" '^ready'
}

leave() {	# SESSION CASE: the state in which a person left the shell
	local s=$1 bad="touch $W/BAD-$1"
	case $2 in
	plain | alias | function) ;;
	half) write "$s" "$bad" ;;
	middle) write "$s" "$bad ; $bad" && steady "$s" && keys "$s" Left Left Left Left ;;
	quote) write "$s" "$bad; echo \"half" ;;
	continued) write "$s" "$bad; echo 'half" && keys "$s" Enter && steady "$s" && write "$s" 'more' ;;
	history) keys "$s" Up ;;
	search) keys "$s" C-r && steady "$s" && write "$s" 'touch' ;;
	menu) write "$s" "$bad; ls $W/list/" && steady "$s" && keys "$s" Tab && steady "$s" && keys "$s" Tab ;;
	literal) write "$s" "$bad" && steady "$s" && keys "$s" C-v ;;
	paste) keys "$s" -H 1b 5b 32 30 30 7e && steady "$s" && write "$s" "$bad" ;;
	stopped) write "$s" "$bad" && steady "$s" && keys "$s" C-s ;;
	vi-normal) write "$s" "$bad" && steady "$s" && keys "$s" Escape ;;
	vi-pending) write "$s" "$bad" && steady "$s" && keys "$s" Escape && steady "$s" && write "$s" '2d' ;;
	*) fail "no case $2" && return 1 ;;
	esac
	steady "$s"
}

recovers() {	# CASE
	local s=$KIND-$1 command='claude --dangerously-skip-permissions' shell agent
	case $1 in alias) command=agent ;; function) command=lazy ;; esac
	[ "$KIND" != dash ] || command='claude --dangerously-skip-permissions'
	ok "$s: a shell" start_shell "$s"
	write "$s" "touch $W/list/touched" && keys "$s" Enter && until_ 5 test -e "$W/list/touched"
	steady "$s"
	write "$s" "sleep 1000 &" && keys "$s" Enter
	until_ 5 pane_shows "$s" '&'
	steady "$s"
	ok "$s: an agent typed into it" type_agent "$s" "$command"
	shell=$(tm display-message -p -t "$(agent_pane "$s")" '#{pane_pid}')
	ok "$s: is killed" kill_agent "$s"
	until_ 5 listed_is "$s" class zombie
	steady "$s"
	leave "$s" "$1"
	gt "$s" -L main --config "$W/with.toml" --json
	is "$RC $(json '{results}[0]{phase}') $(json '{results}[0]{error}{name}')" '0 acknowledged (none)' "$s: it comes back"
	is "$(messages "$s")" 1 "$s: told once"
	is "$(compgen -G "$W/BAD-$s*")" '' "$s: what was half typed was not executed"
	agent=$(agent_pid "$s")
	is "$(tr '\0' '\n' <"/proc/$agent/environ" | grep ^ONLY_HERE=)" 'ONLY_HERE=kept-value' "$s: it has the shell's environment"
	is "$(awk '{ print $4 }' "/proc/$agent/stat")" "$shell" "$s: it is the shell's own child"
	# as by /exit: a kill would leave dash's terminal raw
	kill_agent "$s" TERM
	steady "$s"
	# fish prints its jobs with a header, dash without the command's end
	write "$s" "jobs >$W/jobs-$s; pwd >$W/pwd-$s; echo \$ONLY_HERE >$W/after-$s"
	steady "$s"
	keys "$s" Enter
	until_ 5 test -s "$W/after-$s"
	is "$(cat "$W/after-$s" "$W/pwd-$s")" "kept-value
$(agent_dir "$s")/cwd" "$s: afterwards the shell is as it was"
	like "$(cat "$W/jobs-$s")" 'sleep 1000' "$s: with its job"
}
for case in $CASES; do
	recovers "$case"
done
done_testing
