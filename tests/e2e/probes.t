#!/bin/bash
# Agents that live are never taken for dead: healthy, busy, stopped and starting ones, in odd places and with a past, looked at again and again.
# PROBES=N says how many probes (a pane in one pass) at least (600); make stress makes 10,000.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
probes=${PROBES:-600}
CLAUDE='claude --dangerously-skip-permissions'
mkdir -p "$XDG_CONFIG_HOME/gt-recover"
cat >"$XDG_CONFIG_HOME/gt-recover/gt.toml" <<'TOML'
[recovery]
max_attempts = 1000
spacing = "0s"
TOML
cat >"$W/quick.toml" <<'TOML'
[recovery]
spacing = "0s"
ready_timeout = "1s"
ack_timeout = "1s"
TOML

# ---- what is watched ----
# A line in $W/watch: NAME PANE PID START SIGN. The process lives as long as /proc has PID with that start. SIGN "live": each pass has to list it,
# and as live; "any": it may also be unknown or no agent's, but never crashed.
started_at() {	# PID: field 22 of its stat
	local stat
	stat=$(cat "/proc/$1/stat" 2>/dev/null) && awk '{ print $20 }' <<<"${stat##*) }"
}
watch() {	# NAME PANE PID SIGN
	printf '%s %s %s %s %s\n' "$1" "$2" "$3" "$(started_at "$3")" "$4"
}
watch_agent() {	# SESSION...: started by start_agent
	local s
	for s; do
		watch "$s" "$(agent_pane "$s")" "$(agent_pid "$s")" live
	done >>"$W/watch"
}
# One pass over all that is watched: says what was wrong, then how many probes it was: watched processes that lived before and after the look.
cat >"$W/pass.pl" <<'PERL'
use strict;
use warnings;
use JSON::PP;
my ($watch, @command) = @ARGV;
sub lives {
	my ($pid, $start) = @_;
	open my $f, '<', "/proc/$pid/stat" or return 0;
	my $stat = <$f> // '';
	return $stat =~ /^.*\) (\S)(?: \S+){18} (\d+) / && $1 ne 'Z' && $1 ne 'X' && $2 == $start;
}
open my $f, '<', $watch or die "$watch: $!";
my @watched = grep { lives(@$_[2, 3]) } map { [split] } <$f>;
my $text = qx(@command);
my $list = eval { JSON::PP->new->utf8->decode($text) };
if ($? || !$list) {
	print "BAD the list failed: $?\n";
	exit;
}
my %class;
for (@{$list->{sessions}}) {
	$class{$_->{pane_id}} = $_->{class};
	print "BAD $_->{name} $_->{pane_id}: $_->{class} $_->{crash_reason}\n" if $_->{class} !~ /^(live|unknown)$/;
}
@watched = grep { lives(@$_[2, 3]) } @watched;
for (@watched) {
	my $class = $class{$_->[1]} // 'not listed';
	print "BAD $_->[0] $_->[1]: $class\n" if $_->[4] eq 'live' && $class ne 'live';
}
printf "%d\n", scalar @watched;
PERL
made=0		# probes
bad=0
pass() {	# [LINE of watch]...: one pass
	local said
	{ cat "$W/watch" && printf '%s\n' "$@"; } >"$W/watch.now"
	said=$(perl "$W/pass.pl" "$W/watch.now" "'$GT_RECOVER'" list --json -L main)
	if [[ $said == *BAD* ]]; then
		bad=$((bad + 1))
		note "pass $passes: $said"
	fi
	made=$((made + ${said##*$'\n'}))
}

# ---- a past: a server that was killed, whose agents were brought back; and a session that had been closed before ----
start_kept() {	# SESSION [start_agent's options]...
	local dir
	dir=$(agent_dir "$1")
	start_agent "$@" --command "env FAKE_AGENT_LOG='$dir' FAKE_AGENT_PLAN='$dir/plan' $CLAUDE"
}
find_pane() {	# SESSION
	tm list-panes -t "=$1" -F '#{pane_id}' >"$(agent_dir "$1")/pane"
}
ok 'agents of an earlier life' start_kept back1 --scenario "$DATA/work.scenario"
start_kept back2 --wrapper --scenario "$DATA/idle.scenario"
start_kept daily --scenario "$DATA/idle.scenario"
old=("$(agent_pid back1)" "$(agent_pid back2)" "$(agent_pid daily)")
gt snapshot -L main
tm kill-session -t =daily
until_ 10 _gone "${old[2]}"
gt snapshot -L main
server=$(tm display-message -p '#{pid}')
kill -9 "$server"
until_ 10 _gone "$server" && until_ 10 _gone "${old[0]}" && until_ 10 _gone "${old[1]}"
gt --all --yes -L main --via inject
is "$RC" 0 'come back with their server'
find_pane back1 && find_pane back2
ok 'one is started anew by a person' start_kept daily --scenario "$DATA/idle.scenario"
watch_agent back1 back2 daily

# ---- healthy and busy ----
each() {	# SESSION OPTION...: starts it, and watches it
	start_agent "$@" && watch_agent "$1"
}
ok 'an idle agent' each idle --scenario "$DATA/idle.scenario"
ok 'one without a word yet' each fresh
ok 'one in the middle of an answer' each streaming --scenario "$DATA/midtext.scenario"
ok 'one in the middle of a command' each tool --scenario "$DATA/work.scenario"
ok 'one with a dialog' each dialog --scenario "$DATA/permission.scenario"
ok 'one that draws nothing' each silent --never-ready
ok 'one on the alternate screen' each alternate --alt-screen --scenario "$DATA/work.scenario"
COLS=300 ok 'one in a pane of 300 columns' each wide --scenario "$DATA/work.scenario"
COLS=20 ROWS=4 ok 'one in a small pane' each small --scenario "$DATA/work.scenario"
ok 'one behind which a shell waits' each wrapper --wrapper --scenario "$DATA/work.scenario"
ok 'one that a person typed' each typed --shell --scenario "$DATA/idle.scenario"
ok 'one below two shells' each deep --shell --command "bash --norc -c 'bash --norc -c \"$CLAUDE; true\"; true'" --scenario "$DATA/work.scenario"
printf '#!/bin/sh\nexec claude "$@"\n' >"$W/bin/anything"
chmod +x "$W/bin/anything"
ok 'one that a script starts' each script --command "$W/bin/anything"
ok 'one that has helpers of its name' each helpers \
	--command "sh -c 'while :; do claude --version; sleep 0.1; done >/dev/null & exec $CLAUDE'" --scenario "$DATA/idle.scenario"
ok 'a polecat' each polecat --env GT_ROLE=gt/polecats/nux --scenario "$DATA/work.scenario"
ok 'one whose note is of another process' each note --no-session-file --scenario "$DATA/work.scenario"
# a process that is no more; and what it left names the place
true &
wait $!
printf '{"pid":%d,"sessionId":"5f0e6c2a-0d3b-4b7a-9a55-0c8f6f8f1a01","cwd":"%s","status":"busy","procStart":"1","tmux":"note:@1.%s"}\n' "$!" \
	"$(agent_dir note)/cwd" "$(agent_pane note)" >"$W/note.json"
dead_note=$HOME/.claude/sessions/$!.json

# ---- stopped ----
for layout in bare wrapper shell; do
	ok "one to be stopped, $layout" each "stopped-$layout" "--$layout" --scenario "$DATA/work.scenario"
	kill -STOP "$(agent_pid "stopped-$layout")"
done

# ---- in places that change ----
for name in copied renamed moved linked swapped1 swapped2 grouped armed; do
	ok "one to be $name" each "$name" --scenario "$DATA/idle.scenario"
done
gt snapshot -L main
is "$RC" 0 'a pass of snapshots'
tm copy-mode -t "$(agent_pane copied)"
tm rename-session -t =renamed another
tm join-pane -d -s "$(agent_pane moved)" -t "$(agent_pane idle)"
tm link-window -d -s "$(agent_pane linked)" -t =idle:
tm swap-pane -d -s "$(agent_pane swapped1)" -t "$(agent_pane swapped2)"
tm new-session -d -t =grouped -s group
is "$(tm list-sessions -F '#{session_name}' | grep -cx moved)" 0 'a session is gone, its pane is elsewhere'
gt arm armed -L main
is "$RC" 0 'one is armed'

# ---- what the recoverer itself did lately ----
for name in again waits mute; do
	ok "one that is killed: $name" start_agent "$name" --scenario "$DATA/idle.scenario"
	kill_agent "$name"
done
agent_plan waits --no-answer
agent_plan mute --never-ready
gt again -L main --json
is "$RC" 0 'one was just brought back'
gt waits -L main --json --config "$W/quick.toml"
is "$RC" 5 'one was told and has not answered'
gt mute -L main --json --config "$W/quick.toml"
like "$RC $(json '{results}[0]{phase}')" '^[15] (respawned|delivered)' 'one was started and shows nothing'
watch_agent again waits mute

# ---- starting ----
loose() {	# NAME PANE PID
	watch "$@" any >>"$W/watch"
}
own_pid() {	# SESSION: the pane's process
	tm display-message -p -t "$(agent_pane "$1")" '#{pane_pid}'
}
start_agent loop --no-wait --command "sh -c 'while :; do claude --die-at-once; sleep 0.05; done'"
loose loop "$(agent_pane loop)" "$(own_pid loop)"
# where one had been killed before: the shell has all signs of a zombie but its idleness
ok 'one that was killed in its shell' start_agent retry --shell --scenario "$DATA/work.scenario"
kill_agent retry && until_ 10 pane_is retry '#{pane_current_command}' bash
tell_agent retry 'while :; do claude --die-at-once; sleep 0.05; done'
until_ 10 pane_is retry '#{pane_current_command}' sleep
loose retry "$(agent_pane retry)" "$(own_pid retry)"
mkdir "$W/exec"
cat >"$W/exec/claude" <<'SH'
#!/bin/bash
sleep 0.1
exec "$0"
SH
chmod +x "$W/exec/claude"
start_agent exec --no-wait --command "$W/exec/claude"
until_ 10 [ -n "$(agent_pid exec)" ] && watch_agent exec
start_agent nested --no-wait --command "env -u TMUX tmux -u -L inner -f /dev/null new-session -x 80 -y 20 'exec $CLAUDE'"
until_ 10 _event nested '^ready'
inner=$(tmux -L inner display-message -p '#{pane_pid}')
loose nested "$(agent_pane nested)" "$inner"
# Sessions that end well and are made again, looked at while their agent starts.
born=()		# the lines to watch
bear() {	# SESSION: by a start command, or typed into a shell
	local dir pane how="exec $CLAUDE"
	[ "$1" != hand ] || how=''
	dir=$(agent_dir "$1")
	mkdir -p "$dir/cwd"
	: >"$dir/events"
	pane=$(cd "$dir/cwd" && tm new-session -d -P -F '#{pane_id}' -x 100 -y 30 -s "$1" -e "FAKE_AGENT_LOG=$dir" ${how:+"$how"})
	[ -n "$how" ] || tm send-keys -t "$pane" -l "$CLAUDE" \; send-keys -t "$pane" Enter
	printf '%s' "$pane" >"$dir/pane"
	born+=("$(watch "$1" "$pane" "$(own_pid "$1")" any)")
}
end() {		# SESSION: as its agent is up
	local pid
	[ -e "$(agent_dir "$1")/pane" ] || return 0
	until_ 10 _event "$1" '^ready'
	pid=$(agent_pid "$1")
	tm kill-session -t "=$1"
	until_ 10 _gone "$pid"
}

# ---- passes ----
told() {	# how many messages all agents together were given
	find "$W/agents" -name 'message.*' | wc -l
}
pids() {
	cut -d ' ' -f 3 "$W/watch" | while read -r pid; do started_at "$pid"; done
}
before="$(told) $(pids | cksum)"
passes=0
until [ "$made" -ge "$probes" ] || [ "$bad" -ge 20 ] || [ "$passes" -gt "$probes" ]; do
	passes=$((passes + 1))
	cp -- "$W/note.json" "$dead_note"	# every agent that starts removes it
	end made
	end hand
	born=()
	bear made
	bear hand
	pass "${born[@]}"
	[ $((passes % 9)) != 5 ] || gt snapshot -L main
done
note "$made probes in $passes passes, $(wc -l <"$W/watch") panes and two that start in each"
ok "$probes probes were made" [ "$made" -ge "$probes" ]
is "$bad" 0 'in none was a living agent taken for dead'
gt --all --yes -L main --json --config "$W/quick.toml"
is "$(json '{results}') $(json '{results}[0]{session}') $(json '{results}[1]{session}')" '2 mute waits' \
	'--all looks after the two that are still waited for, and no others'
is "$(told) $(pids | cksum)" "$before" 'all processes are the same, and nobody was told anything'
kill_agent tool
said=$(perl "$W/pass.pl" "$W/watch" "'$GT_RECOVER'" list --json -L main)
like "$said" 'BAD tool %[0-9]+: dead killed' 'a pass that finds a dead one says so'
done_testing
