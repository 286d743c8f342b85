# shellcheck shell=bash
# The states in which a person may leave a shell, for tests that start an agent inside it. Sourced by the tests of each shell, which set:
#   KIND   bash, zsh, fish or dash
#   CASES  the states to try
# With WITH=NAME the shell is another one or has more in it (make shells): fish4, omz, starship (tests/shell/fetch), or belongs to another user than
# root: user. In every state a half-typed command would create a file whose name begins with BAD: none may appear.
WITH=${WITH:-}
if [ "$WITH" = user ] && [ "$(id -u)" = 0 ]; then
	as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	tree=$(cd "$(dirname "$0")" && pwd)
	"${as_nobody[@]}" test -r "$tree/${0##*/}" && exec "${as_nobody[@]}" bash "$0"
	printf '1..0 # SKIP another user cannot read %s\n' "$tree" && exit 0
fi
REAL_HOME=$HOME REAL_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
command -v "$KIND" >/dev/null || skip_all "$KIND is not installed"
fetched() {	# NAME: prints its path or the reason
	HOME=$REAL_HOME XDG_CACHE_HOME=$REAL_CACHE "$ROOT/tests/shell/fetch" "$1"
}
PROGRAM=$KIND EXTRA='' KEEPS_OUTPUT=()
case $WITH in
'' | user) ;;
fish4) PROGRAM=$(fetched fish4) || skip_all "fish 4: $PROGRAM" ;;
omz | starship) EXTRA=$(fetched "$WITH") || skip_all "$WITH: $EXTRA" ;;
*) skip_all "nothing is called $WITH" ;;
esac

# fish reads manuals in the background when it is first started
mkdir -p "$HOME/.config/fish" "$HOME/.local/share/fish/generated_completions" "$W/list"
touch "$W/list/one" "$W/list/two" "$W/list/three"
cat >"$HOME/.bashrc" <<'RC'
PS1='RDY> '
export ONLY_HERE=kept-value
alias agent='claude --dangerously-skip-permissions'
lazy() { unset -f lazy; command claude --dangerously-skip-permissions "$@"; }
[ "${EDIT_MODE-}" != vi ] || set -o vi
[ "${EDIT_MODE-}" != nvm ] || claude() { unset -f claude; . "$HOME/nvm.sh"; claude "$@"; }
RC
cp "$HOME/.bashrc" "$HOME/.zshrc"
printf '[ "${EDIT_MODE-}" != vi ] || bindkey -v\nunsetopt beep\n[ -z "${SUGGEST-}" ] || . "$SUGGEST"\n' >>"$HOME/.zshrc"
cat >"$HOME/.dashrc" <<'RC'
PS1="RDY> "
export ONLY_HERE=kept-value
[ "${EDIT_MODE-}" != nvm ] || claude() { unset -f claude; . "$HOME/nvm.sh"; claude "$@"; }
RC
cat >"$HOME/.config/fish/config.fish" <<'RC'
function fish_prompt; echo -n 'RDY> '; end
function fish_greeting; end
set -gx ONLY_HERE kept-value
function agent; claude --dangerously-skip-permissions $argv; end
function lazy; command claude --dangerously-skip-permissions $argv; end
test "$EDIT_MODE" != vi; or fish_vi_key_bindings
test "$EDIT_MODE" != nvm; or function claude; functions -e claude; fish_add_path -gp $HOME/nvm; claude $argv; end
RC
# as nvm is loaded: when the program is first asked for
mkdir "$HOME/nvm" && cp -- "$FAKE" "$HOME/nvm/claude" && printf 'PATH=%s/nvm:$PATH\n' "$HOME" >"$HOME/nvm.sh"
case $WITH in
omz)
	printf "ZSH='%s' ZSH_THEME=robbyrussell DISABLE_AUTO_UPDATE=true\nzstyle ':omz:update' mode disabled\nplugins=(git z sudo)\n" "$EXTRA" >"$HOME/.zshenv"
	{ printf '. "$ZSH/oh-my-zsh.sh"\n' && sed 's/^PS1=.*/PROMPT+="RDY> "/' "$HOME/.zshrc"; } >"$HOME/new" && mv "$HOME/new" "$HOME/.zshrc"
	;;
starship)
	# zsh keeps for good what an agent leaves that was killed: without ONLCR its prompt of two rows is drawn askew, and refused as shell-unclean
	[ "$KIND" != zsh ] || KEEPS_OUTPUT=(-e FAKE_AGENT_KEEPS_OUTPUT=1)
	printf '[character]\nsuccess_symbol = "RDY>"\nerror_symbol = "RDY>"\nvimcmd_symbol = "VI>"\n' >"$HOME/.config/starship.toml"
	printf 'eval "$("%s" init %s)"\n' "$EXTRA" "$KIND" | tee -a "$HOME/.bashrc" >>"$HOME/.zshrc"
	printf '"%s" init fish | source\n' "$EXTRA" >>"$HOME/.config/fish/config.fish"
	;;
esac
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
	case $1 in *vi-*) edit='vi' ;; *nvm) edit='nvm' ;; esac
	tm start-server \; set-option -g history-limit 50000 \; set-option -g default-shell /bin/bash \; set-option -s exit-empty off 2>/dev/null
	tm new-session -d -P -F '#{pane_id}' -x 110 -y 30 -s "$1" -c "$dir/cwd" -e "FAKE_AGENT_LOG=$dir" -e "FAKE_AGENT_PLAN=$dir/plan" \
		"${KEEPS_OUTPUT[@]}" -e "EDIT_MODE=$edit" -e "ENV=$HOME/.dashrc" -e "SUGGEST=$SUGGEST" "exec '$PROGRAM' -i" | tr -d '\n' >"$dir/pane"
	until_ 10 pane_shows "$1" 'RDY>'
}
type_agent() {	# SESSION COMMAND: and wait until it works
	write "$1" "$2" && keys "$1" Enter && until_ 10 _event "$1" '^ready'
}

leave() {	# SESSION CASE: the state in which a person left the shell
	local s=$1 bad="touch $W/BAD-$1"
	case $2 in
	plain | alias | function | nvm | venv | suspended | typing) ;;
	suggest) write "$s" "touch $W/BAD-$s-sugg" && until_ 5 pane_shows "$s" "BAD-$s-suggested" ;;
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

run_line() {	# SESSION TEXT
	write "$1" "$2" && keys "$1" Enter && steady "$1"
}
prepare() {	# SESSION CASE: what the shell has before the agent is typed
	local s=$1
	run_line "$s" "touch $W/list/touched" && until_ 5 test -e "$W/list/touched" || return 1
	case $2 in
	suggest) run_line "$s" "touch $W/BAD-$s-suggested" && until_ 5 rm "$W/BAD-$s-suggested" 2>/dev/null ;;
	suspended) run_line "$s" 'sleep 1001' && keys "$s" C-z && until_ 5 pane_shows "$s" '[Ss](topped|uspended)' ;;
	venv)
		[ -d "$W/venv" ] || python3 -m venv --without-pip "$W/venv" || return 1
		run_line "$s" ". $W/venv/bin/activate$([ "$KIND" != fish ] || printf .fish)"
		;;
	esac
	steady "$s"
}
# A person who types as long as the file is there, and never sends it.
types_on() {	# SESSION
	local i
	for ((i = 0; i < 400; i++)); do
		[ -e "$W/typing" ] || return
		write "$1" "$(printf '%s' "touch $W/BAD-$1 " | cut -c "$((i % 40 + 1))")"
		read -rt 0.1 -u "$TICK" || :
	done
}

recovers() {	# CASE
	local s=$KIND-$1 command='claude --dangerously-skip-permissions' shell agent
	case $1 in alias) command=agent ;; function) command=lazy ;; esac
	[ "$KIND" != dash ] || command='claude --dangerously-skip-permissions'
	if [ "$1" = suggest ] && [ "$KIND" = zsh ] && ! SUGGEST=$(fetched suggestions); then
		skip "$s: $SUGGEST" 10
		return
	elif [ "$1" = venv ] && ! command -v python3 >/dev/null; then
		skip "$s: python3 is not installed" 10
		return
	fi
	ok "$s: a shell" start_shell "$s"
	ok "$s: which has been worked in" prepare "$s" "$1"
	write "$s" "sleep 1000 &" && keys "$s" Enter
	until_ 5 pane_shows "$s" '&'
	steady "$s"
	ok "$s: an agent typed into it" type_agent "$s" "$command"
	shell=$(tm display-message -p -t "$(agent_pane "$s")" '#{pane_pid}')
	ok "$s: is killed" kill_agent "$s"
	until_ 5 listed_is "$s" class zombie
	steady "$s"
	ok "$s: is left so" leave "$s" "$1"
	if [ "$1" = typing ]; then
		: >"$W/typing"
		types_on "$s" &
		gt "$s" -L main --config "$W/with.toml" --json
		rm -f "$W/typing"
		wait $!
		like "$RC $(json '{results}[0]{error}{name}')" '^(0 .none.|6 shell-unclean|6 shell-busy|75 changed)' "$s: a person types meanwhile"
		[ "$RC" = 0 ] || gt "$s" -L main --config "$W/with.toml" --json
	else
		gt "$s" -L main --config "$W/with.toml" --json
	fi
	is "$RC $(json '{results}[0]{phase}') $(json '{results}[0]{error}{name}')" '0 acknowledged (none)' "$s: it comes back"
	is "$(messages "$s")" 1 "$s: told once"
	is "$(compgen -G "$W/BAD-$s*")" '' "$s: what was half typed was not executed"
	agent=$(agent_pid "$s")
	is "$(tr '\0' '\n' <"/proc/$agent/environ" | grep ^ONLY_HERE=)" 'ONLY_HERE=kept-value' "$s: it has the shell's environment"
	case $1 in
	nvm) is "$(readlink "/proc/$agent/exe")" "$HOME/nvm/claude" "$s: and the PATH of the first time" ;;
	venv) like "$(tr '\0' '\n' <"/proc/$agent/environ")" "VIRTUAL_ENV=$W/venv" "$s: and its virtual environment" ;;
	esac
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
	[ "$1" != suspended ] || like "$(cat "$W/jobs-$s")" '[Ss](topped|uspended).*sleep 1001' "$s: and the stopped one"
}
SUGGEST=''
for case in $CASES; do
	recovers "$case"
done
done_testing
