# shellcheck shell=bash
# shellcheck disable=SC2034	# what is set here is read by the tests
# Sourced by the tests in tests/e2e and tests/agent, which are run by prove: each lives in a world of its own, on a private tmux server.
#
#   . "$(dirname "$0")/../e2e/lib.sh"
#   start_agent toast --scenario "$DATA/work.scenario"     # a fake agent in a session of its own
#   kill_agent toast                                       # kill -9, as a crash would
#   gt toast --json                                        # runs gt-recover: $OUT, $ERR, $RC
#   is "$RC" 0 'the recovery succeeds'
#   done_testing
#
# Nothing sleeps for a fixed time: until_ polls. What was started is killed and removed when the test ends, whatever way it ends.

set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
DATA=$ROOT/tests/e2e/data
REAL_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}	# before HOME is the world's own
FAKE=${GT_FAKE_AGENT:-$ROOT/build/fake-agent}
if [ -z "${GT_RECOVER:-}" ]; then
	GT_RECOVER=$ROOT/build/gt-recover
	[ ! -x "$ROOT/build/faults/gt-recover" ] || GT_RECOVER=$ROOT/build/faults/gt-recover
fi

TESTS=0		# how many were said
FAILS=0
OUT='' ERR='' RC=0
PIDS=()		# processes of ours that the end has to kill

# ---- TAP ----

_say() {	# ok|"not ok" description
	TESTS=$((TESTS + 1))
	[ "$1" = ok ] || FAILS=$((FAILS + 1))
	printf '%s %d - %s\n' "$1" "$TESTS" "${2//#/\\#}"
}

note() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

_why() {	# the last command's answer, for a person who reads a failure
	note "got:      $1"
	note "expected: $2"
}

pass() {
	_say ok "$1"
}

fail() {
	_say 'not ok' "$1"
}

ok() {		# DESCRIPTION COMMAND...
	local what=$1
	shift
	if "$@"; then
		_say ok "$what"
		return 0
	fi
	_say 'not ok' "$what"
	note "failed:   $*"
	return 1
}

not_ok() {	# DESCRIPTION COMMAND...
	local what=$1
	shift
	if "$@"; then
		_say 'not ok' "$what"
		note "succeeded: $*"
	else
		_say ok "$what"
	fi
}

is() {		# GOT EXPECTED DESCRIPTION
	if [ "$1" = "$2" ]; then
		_say ok "$3"
	else
		_say 'not ok' "$3"
		_why "$1" "$2"
	fi
}

like() {	# GOT EXTENDED-REGEXP DESCRIPTION
	if [[ $1 =~ $2 ]]; then
		_say ok "$3"
	else
		_say 'not ok' "$3"
		_why "$1" "$2"
	fi
}

unlike() {	# GOT EXTENDED-REGEXP DESCRIPTION
	if [[ $1 =~ $2 ]]; then
		_say 'not ok' "$3"
		_why "$1" "nothing like $2"
	else
		_say ok "$3"
	fi
}

same_file() {	# FILE FILE DESCRIPTION: byte for byte
	if cmp -s -- "$1" "$2"; then
		_say ok "$3"
	else
		_say 'not ok' "$3"
		note "$(cmp -- "$1" "$2" 2>&1)"
	fi
}

skip() {	# REASON COUNT: so many tests are counted as skipped
	local i
	for ((i = 0; i < ${2:-1}; i++)); do
		TESTS=$((TESTS + 1))
		printf 'ok %d # SKIP %s\n' "$TESTS" "$1"
	done
}

skip_all() {	# REASON
	printf '1..0 # SKIP %s\n' "$1"
	TESTS=-1
	exit 0
}

done_testing() {
	printf '1..%d\n' "$TESTS"
	[ "$FAILS" -eq 0 ] && exit 0
	exit 1
}

# ---- waiting ----

# until_ SECONDS COMMAND...: runs the command until it succeeds or the time is over: every 20 ms at first, every 120 ms when it takes longer.
until_() {
	local began=${EPOCHREALTIME/[.,]/} most=$(($1 * 1000000)) waited=0 pause
	shift
	until "$@"; do
		[ "$waited" -lt "$most" ] || return 1
		waited=$((${EPOCHREALTIME/[.,]/} - began))
		pause=$((waited / 12))
		pause=$((pause < 20000 ? 20000 : pause > 120000 ? 120000 : pause))
		printf -v pause '0.%06d' "$pause"
		read -rt "$pause" -u "$TICK" || :
	done
}

# ---- the world of one test ----

_cleanup() {
	local rc=$? pid
	trap - EXIT
	for pid in ${PIDS[@]+"${PIDS[@]}"}; do
		kill -9 "$pid" 2>/dev/null
	done
	if [ -d "$W" ]; then
		for pid in $(TMUX_TMPDIR=$W/tmux _server_pids); do
			until_ 5 _gone "$pid" || kill -9 "$pid" 2>/dev/null
		done
		# agents that are slow to end, and commands of theirs that outlive them: known by their home
		grep -lzs "^HOME=$W/" /proc/[0-9]*/environ | cut -d / -f 3 | while read -r pid; do
			[ "$pid" = $$ ] || kill -9 "$pid" 2>/dev/null
		done
		rm -rf -- "$W"
	fi
	[ "$TESTS" -lt 0 ] || [ "$rc" -ne 0 ] || [ "$FAILS" -eq 0 ] || rc=1
	exit "$rc"
}

# Ends every server of this test's directory and prints their pids.
_server_pids() {
	local socket
	for socket in "$TMUX_TMPDIR"/tmux-*/*; do
		[ -S "$socket" ] || continue
		tmux -u -S "$socket" display-message -p '#{pid}' 2>/dev/null
		tmux -u -S "$socket" kill-server 2>/dev/null
	done
}

_gone() {	# PID: true when there is no such process or only its remains
	local stat=''
	{ read -rd '' stat <"/proc/$1/stat"; } 2>/dev/null
	[ -z "$stat" ] || [[ ${stat##*) } == Z* ]]
}

_world() {
	local name
	W=$(mktemp -d "${TMPDIR:-/tmp}/gtr-test.XXXXXX") || exit 1
	trap _cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	mkfifo "$W/tick"
	exec {TICK}<>"$W/tick"
	mkdir -m 700 "$W/tmux" "$W/home" "$W/bin" "$W/agents" "$W/proj" "$W/run"
	for name in $(compgen -e); do
		case $name in
		GT_RECOVER | GT_RECOVER_SHIPPED | GT_RECOVER_CACHE | GT_JSON_DIR | GT_RESURRECT | GT_FAKE_AGENT | GT_GOLDEN_UPDATE) ;;
		GT_* | FAKE_AGENT_* | CLAUDE* | ANTHROPIC* | RUN_RECOVERY_* | BEADS_* | BD_* | GIT_*) unset "$name" ;;
		esac
	done
	unset TMUX TMUX_PANE XDG_CACHE_HOME NO_COLOR
	export LC_ALL=C.UTF-8 TZ=UTC TERM=xterm-256color SHELL=/bin/sh
	export TMUX_TMPDIR=$W/tmux HOME=$W/home
	export XDG_CONFIG_HOME=$W/home/.config XDG_STATE_HOME=$W/home/.local/state XDG_DATA_HOME=$W/home/.local/share XDG_RUNTIME_DIR=$W/run
	export PATH=$W/bin:$PATH
	[ ! -x "$FAKE" ] || cp -- "$FAKE" "$W/bin/claude"
	# a login shell's /etc/profile sets PATH anew
	printf "PATH='%s'\nPS1='dev\$ '\n" "$PATH" >"$HOME/.bash_profile"
	# shorter waits for what does not happen (base/fault.h); a real agent may take its time
	[[ $0 == */agent/* ]] || export GT_EATEN_MS=2500 GT_NO_RECORD_MS=3000 GT_GRACE_MS=1500
	SOCKET=main
	cd "$W/proj" || exit 1
}

is_tmux_32() {	# which has no remain-on-exit-format, and no size of its own for a session without a client
	[[ $(tmux -V) == 'tmux 3.2'* ]]
}

tm() {		# tmux on this test's own server
	tmux -u -L "$SOCKET" -f /dev/null "$@"
}

# Has tmux look after its children, as it may have lost the end of one (3.3a). It may lose that of this one, too, and then its client would wait
# for ever: the client is given up, the server has been woken all the same.
wake() {
	timeout 3 tmux -u -L "$SOCKET" -f /dev/null run-shell true || :
}

# ---- agents ----

# Without a process, since it is asked again and again: the directory is then in DIR.
_set_dir() {	# SESSION
	local i char sum=${#1}
	for ((i = 0; i < ${#1}; i++)); do
		printf -v char '%d' "'${1:i:1}"
		sum=$(((sum * 65599 + char) & 0xffffffffffff))
	done
	DIR=$W/agents/$sum
}

agent_dir() {	# SESSION: where this agent's log (message.NNN, events) and plan are
	local DIR
	_set_dir "$1"
	printf '%s' "$DIR"
}

agent_plan() {	# SESSION FLAGS: how the agent of that session behaves when it is started the next time (no blanks inside a flag)
	mkdir -p "$(agent_dir "$1")"
	printf '%s\n' "$2" >>"$(agent_dir "$1")/plan"
}

_event() {	# SESSION EXTENDED-REGEXP
	local DIR
	_set_dir "$1"
	grep -Eqs -- "$2" "$DIR/events"
}

# start_agent SESSION [--bare|--shell|--wrapper|--env KEY=VALUE|--cwd DIR|--command COMMAND|--no-wait]... [agent flag]...
# The agent flags hold for this start only; what the pane's start command repeats is "claude --dangerously-skip-permissions".
#   --argv      its words are arguments, which tmux runs without a shell
#   --bare      the agent is the pane's own process (the default; the pane stays when it dies)
#   --shell     typed into an interactive shell, as a person does: the pane has no start command, the shell stays
#   --wrapper   a start command whose shell stays when the agent ends
start_agent() {
	local session=$1 layout=bare cwd='' command='claude --dangerously-skip-permissions' wait=1 dir flags=() env=()
	shift
	dir=$(agent_dir "$session")
	mkdir -p "$dir"
	while [ $# -gt 0 ]; do
		case $1 in
		--bare | --shell | --wrapper | --argv) layout=${1#--} ;;
		--env) env+=(-e "$2") && shift ;;
		--cwd) cwd=$2 && shift ;;
		--command) command=$2 && shift ;;
		--no-wait | --never-ready | --die-at-once*) wait=0 && [ "$1" = --no-wait ] || flags+=("$1") ;;
		*) flags+=("$1") ;;
		esac
		shift
	done
	[ -n "$cwd" ] || { cwd=$dir/cwd && mkdir -p "$cwd"; }
	# the flags of the first start go before what the test planned for later ones
	{ printf '%s\n' "${flags[*]-}" && cat "$dir/plan" 2>/dev/null; } >"$dir/plan.new"
	mv -- "$dir/plan.new" "$dir/plan"
	env+=(-e "FAKE_AGENT_LOG=$dir" -e "FAKE_AGENT_PLAN=$dir/plan")
	_new_session "$session" "$layout" "$cwd" "$command" "${env[@]}" || return 1
	[ $wait = 0 ] || until_ 10 _event "$session" '^(ready|exit)' || { note "agent $session did not come up" && return 1; }
}

_new_session() {	# SESSION LAYOUT CWD COMMAND ENV...
	local session=$1 layout=$2 cwd=$3 command=$4 pane
	shift 4
	case $layout in
	bare) set -- "$@" "exec $command" ;;
	wrapper) set -- "$@" "$command; exec bash --norc --noprofile" ;;
	shell) set -- "$@" ;;
	argv) eval "set -- \"\$@\" $command" ;;
	esac
	# remain-on-exit before the agent starts: one that dies at once must leave its pane
	tm start-server \; set-option -g remain-on-exit "${REMAIN:-on}" \; set-option -g history-limit 50000 \; set-option -g default-shell /bin/bash \; \
		set-option -g focus-events on \; set-option -s exit-empty off 2>/dev/null
	pane=$(cd "$cwd" && tm new-session -d -P -F '#{pane_id}' -x "${COLS:-100}" -y "${ROWS:-30}" -s "$session" "$@") || return 1
	printf '%s' "$pane" >"$(agent_dir "$session")/pane"
	[ "$layout" != shell ] || tm send-keys -t "$pane" -l "$command" \; send-keys -t "$pane" Enter
}

_set_pane() {	# SESSION: its pane id in PANE
	local DIR
	_set_dir "$1"
	PANE=''
	{ read -r PANE <"$DIR/pane"; } 2>/dev/null
}

agent_pane() {	# SESSION: its pane id
	local PANE
	_set_pane "$1"
	printf '%s' "$PANE"
}

pane_is() {	# SESSION FORMAT VALUE: true when the format has this value
	local PANE
	_set_pane "$1"
	[ "$(tm display-message -p -t "$PANE" "$2")" = "$3" ]
}

pane_text() {	# SESSION: scrollback and screen
	local PANE
	_set_pane "$1"
	tm capture-pane -p -S - -t "$PANE"
}

pane_shows() {	# SESSION EXTENDED-REGEXP
	pane_text "$1" | grep -Eq -- "$2"
}

agent_pid() {	# SESSION: the living agent below the pane's process, "" when there is none
	local pid
	pid=$(tm display-message -p -t "$(agent_pane "$1")" '#{pane_pid}')
	[ -z "$pid" ] || _find_agent "$pid"
}

_find_agent() {	# PID: itself or a descendant that is called claude
	local comm='' child
	_gone "$1" && return
	{ read -r comm <"/proc/$1/comm"; } 2>/dev/null
	if [ "$comm" = claude ]; then
		printf '%s' "$1"
		return
	fi
	cat "/proc/$1/task"/*/children 2>/dev/null | tr ' ' '\n' | while read -r child; do
		_find_agent "$child"
	done
}

# Kills the agent as a crash would, and waits until tmux has seen it. Its exit status may be lost by tmux 3.3a (that is its bug,
# and gt-recover has to cope): only pane_dead is waited for, or that the pane is closed where remain-on-exit is off, or for a shell
# that stays, that the agent is gone.
kill_agent() {	# SESSION [SIGNAL]
	local pid own remain
	pid=$(agent_pid "$1")
	[ -n "$pid" ] || { note "no living agent in $1" && return 1; }
	read -r own remain < <(tm display-message -p -t "$(agent_pane "$1")" '#{pane_pid} #{remain-on-exit}')
	kill "-${2:-9}" "$pid"
	until_ 10 _gone "$pid" || return 1
	[ "$pid" = "$own" ] || return 0
	if [ "$remain" = off ]; then
		until_ 10 _pane_closed "$1"
	else
		until_ 10 pane_is "$1" '#{pane_dead}' 1
	fi
}

_pane_closed() {	# SESSION
	! tm list-panes -a -F '#{pane_id}' 2>/dev/null | grep -Fqx -- "$(agent_pane "$1")"
}

agent_starts() {	# SESSION: how many times the agent was started
	grep -c '^start ' "$(agent_dir "$1")/events" 2>/dev/null
}

events_are() {	# SESSION EXTENDED-REGEXP COUNT
	[ "$(grep -Ec -- "$2" "$(agent_dir "$1")/events" 2>/dev/null)" = "$3" ]
}

messages_are() {	# SESSION COUNT
	[ "$(messages "$1")" = "$2" ]
}

messages() {	# SESSION: how many user messages the agent was given
	find "$(agent_dir "$1")" -name 'message.*' | wc -l
}

message_file() {	# SESSION [N]: the file of the N-th message (1 first; without N the last)
	local dir n=${2:-}
	dir=$(agent_dir "$1")
	[ -n "$n" ] || n=$(messages "$1")
	printf '%s/message.%03d' "$dir" "$n"
}

tell_agent() {	# SESSION TEXT: typed, then Enter
	local pane
	pane=$(agent_pane "$1")
	tm send-keys -t "$pane" -l -- "$2" \; send-keys -t "$pane" Enter
}

transcript() {	# SESSION: path of the newest transcript of the agent's working directory
	local slug
	slug=$(cd "$(agent_dir "$1")/cwd" && pwd -P | tr -c 'a-zA-Z0-9\n' -)
	# names are UUIDs
	# shellcheck disable=SC2012
	ls -t "$HOME/.claude/projects/$slug"/*.jsonl 2>/dev/null | head -n 1
}

# ---- the program ----

# With GT_JSON_DIR, what --json printed is kept there, behind a line of the arguments: scripts/check holds it against schemas/.
keep_json() {	# ARGS...
	[ -n "${GT_JSON_DIR-}" ] && [ -s "$W/out" ] || return 0
	case " $* " in *' --json'*) ;; *) return 0 ;; esac
	{ printf '%q ' "$@" && echo && cat "$W/out"; } >"$(mktemp "$GT_JSON_DIR/$(basename "$0" .t).XXXXXX")"
}

# Runs gt-recover: standard output in $OUT, standard error in $ERR, exit status in $RC. Without an input of its own it reads nothing.
gt() {
	RC=0
	"$GT_RECOVER" "$@" >"$W/out" 2>"$W/err" </dev/null || RC=$?
	OUT=$(cat "$W/out") ERR=$(cat "$W/err")
	keep_json "$@"
}

gt_in() {	# FILE ARGS...: with FILE as standard input
	local file=$1
	shift
	RC=0
	"$GT_RECOVER" "$@" >"$W/out" 2>"$W/err" <"$file" || RC=$?
	OUT=$(cat "$W/out") ERR=$(cat "$W/err")
	keep_json "$@"
}

# Every name that fault_point is called with, by way of the durable write, too, in the sources below these directories.
fault_points() {	# DIRECTORY...
	grep -rhoE '(fault_point|io_write_(durable|synced))\(.*' --include='*.c' "$@" | grep -oE '"[a-z][a-z-]*"' | tr -d '"' | sort -u
}

# The sessions of this test crash more often than a person would stand; for tests without a --config of their own.
often() {
	mkdir -p "$XDG_CONFIG_HOME/gt-recover"
	printf '[recovery]\nmax_attempts = 1000\n' >"$XDG_CONFIG_HOME/gt-recover/gt.toml"
}

# The same, for tests of what an agent is told that is started afresh: they do not go on with their own conversations.
afresh() {
	often
	printf 'via = "inject"\n' >>"$XDG_CONFIG_HOME/gt-recover/gt.toml"
}

# A value of the JSON in $OUT by a path of Perl, as in: json '{results}[0]{phase}'. JSON::PP is part of perl.
json() {
	printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne '
		my $v = eval { JSON::PP->new->utf8->allow_nonref->decode($_) };
		if (!defined $v) { print "(no JSON)"; exit }
		BEGIN { $main::path = shift @ARGV }
		while ($main::path =~ /\{([^}]*)\}|\[(-?\d+)\]/g) {
			$v = defined $1 ? (ref $v eq "HASH" ? $v->{$1} : undef) : (ref $v eq "ARRAY" ? $v->[$2] : undef);
		}
		binmode STDOUT, ":utf8";
		print !defined $v ? "(none)" : JSON::PP::is_bool($v) ? ($v ? "true" : "false") :
			ref $v eq "ARRAY" ? scalar(@$v) : ref $v ? "(object)" : $v;
	' "$1"
}

# A field of the session of that name in `list --json`: listed SESSION FIELD
listed() {
	gt list --json -L "$SOCKET"
	printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne '
		BEGIN { ($main::name, $main::field) = splice @ARGV, 0, 2 }
		for (@{JSON::PP->new->utf8->decode($_)->{sessions}}) { print $_->{$main::field} // "(none)" if $_->{name} eq $main::name }' "$1" "$2"
}

# Of the check of that name ("GROUP.NAME") in the answer of doctor --json in $OUT, several joined by "|": found NAME [FIELD]
found() {
	printf '%s' "$OUT" | perl -MJSON::PP -CO -0777 -ne '
		BEGIN { ($main::name, $main::field) = splice @ARGV, 0, 2 }
		print join "|", map { $_->{$main::field} // "(none)" } grep { "$_->{group}.$_->{name}" eq $main::name }
			@{JSON::PP->new->utf8->decode($_)->{checks}}' "$1" "${2:-result}"
}

listed_is() {	# SESSION FIELD VALUE
	[ "$(listed "$1" "$2")" = "$3" ]
}

# The prompt that a recovery made, as it is kept on disk: kept_prompt ID FILE
kept_prompt() {
	perl -MJSON::PP -0777 -ne 'print JSON::PP->new->utf8->decode($_)->{prompt}' -CO "$XDG_STATE_HOME/gt-recover/contexts/$1.json" >"$2" 2>/dev/null
}

_world
