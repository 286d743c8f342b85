#!/bin/bash
# Every way to die: a table of labelled cells (data/cells), each with the class, the reason and the answer of --all that it has to get. All are
# made side by side on a few servers, seen by passes of snapshots, and looked at by one list and one plan.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
SOCKETS=(kept plain died ended)
with=()
for socket in "${SOCKETS[@]}"; do
	with+=(-L "$socket")
done
CLAUDE='claude --dangerously-skip-permissions'
declare -A PID SERVER
printf "user go on\nassistant You've hit your usage limit · resets 7pm (UTC)\nend\n" >"$W/limit.scenario"
printf 'user go on\nassistant Invalid API key · Please run /login\nend\n' >"$W/login.scenario"

# The kernel's log of deaths for want of memory, read in place of /dev/kmsg by a build with fault points.
export GT_KMSG=$W/kmsg
: >"$GT_KMSG"
killed_by_kernel() {
	signal KILL && perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e '
		printf "3,1,%d,-;Out of memory: Killed process %d (claude) total-vm:214012kB, anon-rss:30104kB, file-rss:0kB\n",
			clock_gettime(CLOCK_MONOTONIC) * 1e6, @ARGV' "${PID[$label]}" >>"$GT_KMSG"
}

rows=() no_log=0
while read -r row; do
	case $row in
	'' | '#'*) ;;
	oom*) grep -q GT_KMSG "$GT_RECOVER" && rows+=("$row") || no_log=$((no_log + 1)) ;;
	*) rows+=("$row") ;;
	esac
done <"$DATA/cells"

# read_cell ROW: its columns, its label, which is its session's name, and its server
read_cell() {
	read -r death state layout remain class reason answer <<<"$1"
	label=$death-$state-$layout-$remain
	case $death in
	server-kill | resurrected | made-* | closed*) SOCKET=died ;;
	kill-server) SOCKET=ended ;;
	*) SOCKET=kept && [ "$remain" = on ] || SOCKET=plain ;;
	esac
}

# ---- the states ----
shown() {	# STATE: what its screen shows then
	case $1 in
	idle) echo 'Six calls were changed' ;;
	streaming) echo 'the second one' ;;
	tool) echo 'test 7 ok' ;;
	dialog) echo 'Do you want to proceed' ;;
	limit) echo 'hit your usage limit' ;;
	login) echo 'Please run /login' ;;
	fresh) echo 'Claude Code' ;;
	esac
}
start() {
	local flags=()
	case $state in
	idle) flags=(--scenario "$DATA/idle.scenario") ;;
	streaming) flags=(--scenario "$DATA/midtext.scenario") ;;
	tool) flags=(--scenario "$DATA/work.scenario") ;;
	dialog) flags=(--scenario "$DATA/permission.scenario") ;;
	limit | login) flags=(--scenario "$W/$state.scenario") ;;
	starting) flags=("--die-at-once=${death#exit-}") ;;
	esac
	[ "$death" != exit-7 ] || flags+=(--command "sh -c '$CLAUDE; exit 7'")
	case $layout in
	inner) flags+=(--command "sh -c '$CLAUDE; bash --norc --noprofile; true'") ;;
	*) flags+=("--$layout") ;;
	esac
	REMAIN=$remain start_agent "$label" --no-wait ${flags[@]+"${flags[@]}"}
}
is_up() {
	[ "$state" != starting ] || { until_ 10 _event "$label" '^start ' && return; }
	until_ 20 _event "$label" '^ready' && until_ 10 pane_shows "$label" "$(shown "$state")"
}

# ---- the deaths ----
signal() {	# NAME: to the agent, and waits until it is gone
	kill "-$1" "${PID[$label]}" && until_ 10 _gone "${PID[$label]}"
}
before_the_pass() {	# what a second pass has to see
	case $death in
	closed | closed-afresh) tm kill-session -t "=$label" && until_ 10 _gone "${PID[$label]}" ;;
	kill-respawned | kill-and-claude) signal KILL && until_ 10 nobody_or_dead ;;
	esac
}
nobody_or_dead() {
	case $layout in
	bare) pane_is "$label" '#{pane_dead}' 1 ;;
	*) pane_is "$label" '#{pane_current_command}' bash ;;
	esac
}
again() {	# the agent that somebody else has started is up
	until_ 10 events_are "$label" '^ready' 2
}
# Agents are started before any other dies: Claude Code removes the notes of the dead when it starts.
starts_anew() {
	local dir
	dir=$(agent_dir "$label")
	case $death in
	respawned | kill-respawned) tm respawn-pane -k -t "$(agent_pane "$label")" "exec $CLAUDE" && again ;;
	kill-and-claude) tell_agent "$label" "$CLAUDE" && again ;;
	resurrected)
		mkdir -p "$HOME/.tmux/resurrect/pane_contents" && echo '● Working on it.' >"$HOME/.tmux/resurrect/pane_contents/$label"
		empty "$dir/cwd" "cat '$HOME/.tmux/resurrect/pane_contents/$label'; exec bash --norc --noprofile"
		;;
	made-empty) empty "$dir/cwd" ;;
	made-elsewhere) empty "$W/proj" ;;
	made-afresh | closed-afresh) start_agent "$label" --scenario "$DATA/idle.scenario" ;;
	esac
}
empty() {	# DIRECTORY [COMMAND]
	tm start-server \; set-option -g default-shell /bin/bash \; set-option -s exit-empty off 2>/dev/null
	tm new-session -d -P -F '#{pane_id}' -x 100 -y 30 -s "$label" -c "$1" ${2+"$2"} >"$(agent_dir "$label")/pane" &&
		until_ 10 pane_is "$label" '#{pane_current_command}' bash
}
dies() {
	case $death in
	kill) signal KILL ;;
	segv) signal SEGV ;;
	abrt) signal ABRT ;;
	term) signal TERM ;;
	hup) signal HUP ;;
	oom) killed_by_kernel ;;
	exit) tell_agent "$label" /exit && until_ 10 _gone "${PID[$label]}" ;;
	exit-7) signal KILL ;;
	exit-?) : ;;
	stop) kill -STOP "${PID[$label]}" ;;
	kill-session) tm kill-session -t "=$label" && until_ 10 _gone "${PID[$label]}" ;;
	kill-pane) tm kill-pane -t "$(agent_pane "$label")" && until_ 10 _gone "${PID[$label]}" ;;
	replaced) tm respawn-pane -k -t "$(agent_pane "$label")" 'exec bash --norc --noprofile' && until_ 10 _gone "${PID[$label]}" ;;
	kill-and-work) signal KILL && until_ 10 nobody_or_dead && tell_agent "$label" 'exec 9<&1; cat' &&
		until_ 10 pane_is "$label" '#{pane_current_command}' cat ;;
	esac
}
is_over() {	# tmux and the shell have seen it, too
	case $death-$layout-$remain in
	kill-session-* | kill-pane-*) until_ 10 has_no_session ;;
	kill-[a-z]*-*-*) : ;;
	kill-bare-off | oom-bare-off | segv-bare-off | term-bare-off | hup-bare-off | exit*-bare-off) until_ 10 has_no_session ;;
	kill-* | oom-* | segv-* | abrt-* | term-* | hup-* | exit*) until_ 10 nobody_or_dead ;;
	esac
}
has_no_session() {	# tmux 3.3a may not notice the end of a child before that of another one
	wake
	! tm has-session -t "=$label" 2>/dev/null
}

each() {	# WHAT COMMAND: for every cell; those where it does not work are named
	local bad=0
	for row in "${rows[@]}"; do
		read_cell "$row"
		"$2" || { note "$label: $2 did not work" && bad=1; }
	done
	ok "$1" [ $bad = 0 ]
}
note_pid() {
	PID[$label]=$(agent_pid "$label")
	[ "$state" != starting ] || return 0
	[ -n "${PID[$label]}" ] && PIDS+=("${PID[$label]}")
}
server_dies() {	# HOW
	SERVER[$SOCKET]=$(tm display-message -p '#{pid}')
	if [ "$1" = kill ]; then
		kill -9 "${SERVER[$SOCKET]}"
	else
		tm kill-server
	fi
	until_ 10 _gone "${SERVER[$SOCKET]}"
}
of_server() {	# its agents end with it
	case $SOCKET in
	died | ended) until_ 10 _gone "${PID[$label]}" ;;
	esac
}

each 'agents are started' start
each 'each in its state' is_up
each 'each with a process' note_pid
gt snapshot "${with[@]}"
is "$RC" 0 'a pass of snapshots'
each 'some die' before_the_pass
gt snapshot "${with[@]}"
is "$RC" 0 'another one'
SOCKET=died && ok 'a server is killed' server_dies kill
SOCKET=ended && ok 'a server is ended' server_dies end
each 'its agents go with it' of_server
each 'some are started by somebody else' starts_anew
each 'the others die' dies
each 'tmux knows' is_over

# ---- what is found ----
gt list --json "${with[@]}"
is "$RC" 0 'the list'
printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne '
	for (@{JSON::PP->new->utf8->decode($_)->{sessions}}) {
		my $r = $_->{crash_reason} // "";
		print join(" ", $_->{name}, $_->{class}, $r eq "" ? "-" : $r, $_->{recoverable} ? "recovers" : $_->{refusal}), "\n";
	}' >"$W/found"
found() {	# LABEL: class, reason and the answer to --all; several when the session has several agents
	awk -v name="$1" '$1 == name { printf "%s%s %s %s", n++ ? ", " : "", $2, $3, $4 } END { if (!n) printf "none - -" }' "$W/found"
}
for row in "${rows[@]}"; do
	read_cell "$row"
	is "$(found "$label")" "$class $reason $answer" "$label: $class $reason $answer"
done
[ $no_log = 0 ] || skip 'this build reads no kernel log but the real one' $no_log
is "$(cut -d ' ' -f 1 "$W/found" | sort | uniq -d)" '' 'no session twice'

gt --all --dry-run --json "${with[@]}"
for row in "${rows[@]}"; do
	read_cell "$row"
	[ "$answer" != recovers ] || printf '%s\n' "$label"
done | sort >"$W/expected"
printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne '
	for (@{JSON::PP->new->utf8->decode($_)->{sessions}}) { print "$_->{name}\n" if $_->{recoverable} }' | sort >"$W/planned"
same_file "$W/planned" "$W/expected" '--all would recover these, and no others'
ok 'there are some sixty cells' [ ${#rows[@]} -ge 60 ]
done_testing
