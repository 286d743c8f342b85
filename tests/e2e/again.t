#!/bin/bash
# Sessions that were made again, and what becomes of their agents afterwards: found by the tests of chaos (tests/crash/chaos.t), each by itself here.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# the agent finds its log by its directory, so that it needs nothing of a session's environment
mkdir "$W/agent"
mv "$W/bin/claude" "$W/agent/claude"
cat >"$W/bin/claude" <<SH
#!/bin/sh
FAKE_AGENT_LOG=\${PWD%/cwd} FAKE_AGENT_PLAN=\${PWD%/cwd}/plan exec '$W/agent/claude' "\$@"
SH
chmod 755 "$W/bin/claude"
often
printf "parallel = 1\n" >>"$XDG_CONFIG_HOME/gt-recover/gt.toml"	# a recoverer that is stopped is the one that was called
printf 'via = "inject"\nspacing = "0s"\n' >>"$XDG_CONFIG_HOME/gt-recover/gt.toml"
kill_server() {
	local pid s
	pid=$(tm display-message -p '#{pid}')
	kill -9 "$pid"
	until_ 10 _gone "$pid"
	for s; do
		until_ 10 no_agent "$s"
	done
}
has_no_session() {	# SESSION
	! tm has-session -t "=$1" 2>/dev/null
}
no_agent() {	# SESSION
	! grep -aqs "FAKE_AGENT_LOG=$(agent_dir "$1")" /proc/[0-9]*/environ
}
find_pane() {	# SESSION...: notes the panes that these sessions have now
	local s
	tm set-option -s exit-empty off	# a server that was started anew has it on
	for s; do
		tm list-panes -a -F '#{session_name} #{pane_id}' | awk -v s="$s" '$1 == s { print $2 }' | tail -n 1 >"$(agent_dir "$s")/pane"
	done
}
bare() {	# gt-recover as cron calls it
	RC=0
	env -i HOME="$HOME" PATH=/usr/bin:/bin TMUX_TMPDIR="$TMUX_TMPDIR" "$GT_RECOVER" "$@" >"$W/out" 2>"$W/err" </dev/null || RC=$?
	OUT=$(cat "$W/out") ERR=$(cat "$W/err")
}
crash() {	# SESSION
	local pid
	pid=$(agent_pid "$1")
	kill -9 "$pid"
	until_ 10 _gone "$pid"
}

# ---- by cron, into a pane whose server has a person's environment ----
ok 'an agent works' start_agent ant --scenario "$DATA/work.scenario"
ok 'another one' start_agent bee --scenario "$DATA/idle.scenario"
until_ 10 pane_shows ant 'test 7 ok'
tm set-option -g remain-on-exit on
for i in 2 3; do
	ok 'one of them crashes, and its pane stays' crash bee
	until_ 5 listed_is bee class dead
	bare bee -L main
	is "$RC $(agent_starts bee)" "0 $i" '  cron has not the PATH in which its program is found, but the server has'
done
tm set-option -g remain-on-exit off

# ---- by cron, into a server that has cron's environment ----
gt snapshot -L main
kill_server ant bee
bare --all --yes -L main
like "$RC $ERR" '^0 .*found=2 recovered=2' 'cron brings both back, although it starts the server without their PATH'
find_pane ant bee
tm set-option -g remain-on-exit on
ok 'one of them crashes, and its pane stays' crash bee
until_ 5 listed_is bee class dead
bare bee -L main
is "$RC $(agent_starts bee)" '0 5' '  it finds its program again'
tm set-option -g remain-on-exit off \; set-option -s exit-empty off

# ---- stopped and continued, below a shell that comes back ----
ok 'a third one' start_agent cat --wrapper --scenario "$DATA/idle.scenario"
tm set-option -g remain-on-exit off
kill_agent cat
until_ 5 listed_is cat class zombie
gt cat -L main
is "$RC" 0 '  is brought back'
pid=$(agent_pid cat)
kill -STOP "$pid"
ok '  and stopped' until_ 5 grep -q '^State:.T' "/proc/$pid/status"
gt list -L main
kill -CONT "$pid"
tell_agent cat 'Are you there?'
ok '  it goes on' until_ 5 messages_are cat 2
is "$(agent_pid cat)" "$pid" '  the same process'

# ---- killed, with its session; then another agent starts, which takes away the record of the dead one ----
gt snapshot -L main
pid=$(agent_pid ant)
ok 'an agent is killed, and its session goes' crash ant
until_ 5 listed_is ant class missing
crash bee
until_ 5 listed_is bee class missing
gt bee -L main
find_pane bee
not_ok 'the start of another one removes its record' test -e "$HOME/.claude/sessions/$pid.json"
is "$(listed ant class) $(listed ant crash_reason)" 'missing process_died' '  its transcript still tells that it did not end by itself'
gt ant -L main
is "$RC" 0 '  it is brought back'
find_pane ant
ok '  with its first words' grep -q 'keep the comments' "$(message_file ant)"
kill "$(agent_pid ant)"
ok 'one that was asked to end' until_ 10 listed_is ant crash_reason stopped
gt ant -L main
is "$RC" 0 '  comes back when it is named'
find_pane ant

# ---- it ended before it had read its prompt, in a pane that its attempt did not know ----
gt snapshot -L main
agent_plan ant --eat-stdin
told=$(messages ant)
kill_server ant bee cat
"$GT_RECOVER" ant -L main >/dev/null 2>&1 </dev/null &
first=$!
PIDS+=("$first")
starts=$(agent_starts ant)
came_up() {
	[ "$(grep -c '^ready' "$(agent_dir ant)/events")" -gt "$starts" ]
}
ok 'a start command eats the prompt' until_ 10 came_up
kill -9 "$first"
wait "$first" 2>/dev/null
find_pane ant
gt snapshot -L main
is "$(messages ant)" "$told" '  nobody was told'
kill_server ant
gt ant -L main
is "$RC $(messages ant)" "0 $((told + 1))" 'its server dies as well: then it is told once'
ok '  with its first words' grep -q 'keep the comments' "$(message_file ant)"
is "$(find "$XDG_STATE_HOME/gt-recover/prompts" -type f | wc -l)" 0 '  and no prompt lies about'

# ---- it never read its prompt, and was told something else, much like what it had been told before ----
find_pane ant
tell_agent ant 'Also note the word anew-1.'
ok 'an agent hears something' until_ 5 messages_are ant $((told + 2))
gt snapshot -L main
agent_plan ant --eat-stdin
printf 'ready_timeout = "1s"\nack_timeout = "1s"\n' | cat "$XDG_CONFIG_HOME/gt-recover/gt.toml" - >"$W/quick.toml"
kill_server ant
starts=$(agent_starts ant)
gt ant -L main --config "$W/quick.toml"
ok '  a start command eats its prompt' until_ 10 came_up
find_pane ant
tell_agent ant 'Also note the word anew-2.'
ok '  it hears something else' until_ 5 messages_are ant $((told + 3))
crash ant
until_ 5 listed_is ant class missing
gt ant -L main
is "$RC $(messages ant)" "0 $((told + 4))" '  and is told once when it comes back'
is "$(grep -oE 'anew-[12]|keep the comments' "$(message_file ant)" | uniq | tr '\n' ' ')" 'keep the comments anew-1 anew-2 ' '  all that it had heard, in its order'
find_pane ant

# ---- what no snapshot saw ----
tell_agent ant 'Also note the word unseen-1.'
until_ 5 messages_are ant $((told + 5))
gt snapshot -L main
cp -a "$XDG_STATE_HOME/gt-recover/snapshots" "$W/before"
forget() {	# as if the recoverer had been killed before its last step
	rm -r "$XDG_STATE_HOME/gt-recover/snapshots"
	cp -a "$W/before" "$XDG_STATE_HOME/gt-recover/snapshots"
}
crash ant
until_ 5 listed_is ant class missing
gt ant -L main
is "$RC" 0 'a recovery whose agent no pass sees'
find_pane ant
told=$(messages ant)
tell_agent ant 'Also note the word unseen-2.'
ok '  it hears something' until_ 5 messages_are ant $((told + 1))
forget
gt list -L main
crash ant
ok '  and is killed with its session' until_ 5 listed_is ant class missing
is "$(listed ant crash_reason)" process_died '  its transcript tells that it did not end by itself'
gt ant -L main
is "$RC $(messages ant)" "0 $((told + 2))" '  it comes back'
is "$(grep -oE 'unseen-[12]' "$(message_file ant)" | uniq | tr '\n' ' ')" 'unseen-1 unseen-2 ' '  with what it had heard since'
find_pane ant
forget
kill_server ant
ok 'unseen again, and its server dies' until_ 5 listed_is ant crash_reason server_exit
gt ant -L main
is "$RC" 0 '  it comes back'
find_pane ant
crash ant
until_ 5 listed_is ant class missing
gt snapshot -L main
rm -r "$W/before"
cp -a "$XDG_STATE_HOME/gt-recover/snapshots" "$W/before"
gt ant -L main
find_pane ant
cp -a "$W/before"/state-* "$XDG_STATE_HOME/gt-recover/snapshots"
kill_server ant
ok 'seen by a recoverer that was killed before it had noted the pass, and its server dies' until_ 5 listed_is ant crash_reason server_exit
gt ant -L main
is "$RC" 0 '  it comes back'
find_pane ant
forget
kill "$(agent_pid ant)"
ok 'unseen again, and asked to end' until_ 10 has_no_session ant
is "$(listed ant class)" '' '  nobody misses it'

# ---- several lives in one pane that no snapshot saw ----
ok 'an agent works' start_agent dog --scenario "$DATA/work.scenario"
until_ 10 pane_shows dog 'test 7 ok'
tm set-option -g remain-on-exit on
gt snapshot -L main
rm -r "$W/before"
cp -a "$XDG_STATE_HOME/gt-recover/snapshots" "$W/before"
for i in 1 2; do
	told=$(messages dog)
	tell_agent dog "Also note the word chain-$i."
	until_ 5 messages_are dog $((told + 1))
	crash dog
	until_ 5 listed_is dog class dead
	gt dog -L main
	is "$RC" 0 '  it crashes in its pane, and comes back'
	forget
done
told=$(messages dog)
tell_agent dog 'Also note the word chain-3.'
until_ 5 messages_are dog $((told + 1))
kill_server dog
ok '  then its server dies' until_ 5 listed_is dog crash_reason server_exit
gt dog -L main
is "$RC $(messages dog)" "0 $((told + 2))" '  it is told once'
is "$(grep -oE 'keep the comments|chain-[123]' "$(message_file dog)" | uniq | tr '\n' ' ')" 'keep the comments chain-1 chain-2 chain-3 ' \
	'  all that it had heard in its lives'
find_pane dog

# ---- a pane that stood there dead is taken away by a person ----
tm set-option -g remain-on-exit on
agent_plan dog --die-at-once=1
crash dog
until_ 5 listed_is dog class dead
gt dog -L main
like "$RC $ERR" '^1 .*crashed again' 'an agent dies again at once, and its pane stays'
tm kill-session -t =dog
is "$(listed dog crash_reason)" stopped '  a person takes its session away: that is no crash'
tm set-option -g remain-on-exit off

# ---- a run that looked before others had brought an agent back, in a second step ----
ok 'an agent works' start_agent eel --scenario "$DATA/idle.scenario"
ok 'another one' start_agent fox --scenario "$DATA/idle.scenario"
tm set-option -g remain-on-exit off
gt snapshot -L main
kill_server eel fox
GT_FAULT=context:1=stop "$GT_RECOVER" eel fox -L main >"$W/late" 2>&1 </dev/null &
late=$!
PIDS+=("$late")
ok 'a run has looked and is held up' until_ 10 grep -q '^State:.T' "/proc/$late/status"
agent_plan fox --die-at-once=1
gt fox -L main
like "$RC $ERR" '^1 .*crashed again' '  another one starts an agent, which dies at once'
find_pane fox
gt fox -L main
is "$RC $(agent_starts fox)" '0 3' '  and once more'
kill -CONT "$late"
wait "$late"
is "$(agent_starts eel) $(agent_starts fox)" '2 3' '  the first one goes on, and starts nothing beside it'
like "$(cat "$W/late")" 'exists again: a recovery' '  it says why'

untold() {	# SESSION: brought back, but its start command eats the prompt, and the recoverer is killed before it could paste it
	local starts first
	agent_plan "$1" --eat-stdin
	starts=$(grep -c '^ready' "$(agent_dir "$1")/events")
	"$GT_RECOVER" "$1" -L main >/dev/null 2>&1 </dev/null &
	first=$!
	PIDS+=("$first")
	until_ 10 is_up "$1" "$starts" || return 1
	kill -9 "$first"
	wait "$first" 2>/dev/null
	find_pane "$1"
}
is_up() {	# SESSION COUNT
	[ "$(grep -c '^ready' "$(agent_dir "$1")/events")" -gt "$2" ]
}

# ---- words of a life whose snapshot was taken too early to name its conversation ----
find_pane fox
tell_agent fox 'Also note the word rival-1.'
ok 'an agent hears something' until_ 5 messages_are fox 2
tm set-option -g remain-on-exit off \; set-option -p -t "$(agent_pane fox)" -u remain-on-exit
gt snapshot -L main
crash fox
until_ 5 listed_is fox class missing
ok '  its start command eats the prompt' untold fox
gt snapshot -L main
last=$(find "$XDG_STATE_HOME/gt-recover/snapshots" -name '[0-9]*.json' | sort | tail -n 1)
like "$(cat "$last")" '"session":"fox"' '  a snapshot shows it'
sed -i -E 's/"(session_id|transcript)":"[^"]*"/"\1":null/g' "$last"
tell_agent fox 'Also note the word rival-2.'
ok '  it hears something else' until_ 5 messages_are fox 3
pid=$(agent_pid fox)
kill_server eel fox
rm -f "$HOME/.claude/sessions/$pid.json"
gt fox -L main
is "$RC $(messages fox)" '0 4' '  and comes back'
is "$(grep -oE 'rival-[12]' "$(message_file fox)" | uniq | tr '\n' ' ')" 'rival-1 rival-2 ' '  with all that it had heard'
find_pane fox

# ---- words of a life that no snapshot saw, and that had never read its prompt ----
tm set-option -g remain-on-exit on
gt snapshot -L main
rm -r "$W/before"
cp -a "$XDG_STATE_HOME/gt-recover/snapshots" "$W/before"
crash fox
until_ 5 listed_is fox class dead
ok 'a start command eats the prompt' untold fox
told=$(messages fox)
tell_agent fox 'Also note the word newborn-1.'
ok '  its agent hears something' until_ 5 messages_are fox $((told + 1))
forget
kill_server eel fox
ok '  and its server dies' until_ 5 listed_is fox crash_reason server_exit
gt fox -L main
is "$RC $(messages fox)" "0 $((told + 2))" '  it comes back'
is "$(grep -oE 'rival-[12]|newborn-1' "$(message_file fox)" | uniq | tr '\n' ' ')" 'rival-1 rival-2 newborn-1 ' '  with all that it had heard'
find_pane fox

# ---- words that were said before the prompt could be pasted ----
crash fox
until_ 5 listed_is fox class missing
gt release fox -L main
ok 'a start command eats the prompt' untold fox
told=$(messages fox)
tell_agent fox 'Also note the word early-1.'
ok '  its agent hears something' until_ 5 messages_are fox $((told + 1))
gt fox -L main
is "$RC $(messages fox)" "0 $((told + 2))" '  then it is told by a paste'
crash fox
until_ 5 listed_is fox class missing
gt fox -L main
is "$RC $(messages fox)" "0 $((told + 3))" '  it crashes, and comes back'
is "$(grep -oE 'rival-[12]|newborn-1|early-1' "$(message_file fox)" | uniq | tr '\n' ' ')" 'rival-1 rival-2 newborn-1 early-1 ' \
	'  with all that it had heard'

# ---- the server that was made for it dies, and the next one begins in the same second, which is all that tmux tells of a start ----
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
ok 'an agent works' start_agent gnu --scenario "$DATA/idle.scenario"
tm set-option -g remain-on-exit off
gt snapshot -L main
kill_server fox gnu
tried=0
while [ $((tried += 1)) -le 10 ]; do
	{ GT_FAULT=store-committed:4=kill "$GT_RECOVER" gnu -L main >/dev/null 2>&1 </dev/null; } 2>/dev/null
	pid=$(tm display-message -p '#{pid}')
	kill -9 "$pid"
	until_ 5 _gone "$pid"
	tm new-session -d -s other 'exec sleep 600'
	began=$(sql "$XDG_STATE_HOME/gt-recover/recover.db" "select max(json_extract(value, '\$.times.respawned')) from record where key like 'attempt:%'")
	ok "  its next server dies, too ($tried)" until_ 10 no_agent gnu
	[ "$(tm display-message -p '#{start_time}')" != $((began / 1000)) ] || break
	kill_server
	gt release gnu -L main
done
[ "$tried" -le 10 ]
is $? 0 "both servers begin in one second (try $tried)"
ok '  it is not taken for one that was ended on purpose' until_ 5 listed_is gnu crash_reason server_exit
told=$(messages gnu)
gt gnu -L main
is "$RC $(messages gnu)" "0 $((told + 1))" '  and comes back, told once'
[ "$RC" = 0 ] || note "$ERR"
done_testing
