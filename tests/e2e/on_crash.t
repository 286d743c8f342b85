#!/bin/bash
# on_crash: a command that runs once for each crash, with one JSON object on standard input; and a message to attached clients.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"
mkdir -p "$XDG_CONFIG_HOME/gt-recover"
config() {	# LINES...
	printf '%s\n' '[recovery]' 'spacing = "0s"' "log_file = \"$W/log\"" "$@" >"$XDG_CONFIG_HOME/gt-recover/gt.toml"
}
SECRET=sk-ant-api03-$(printf 'Ab3%.0s' {1..31})AA
cat >"$W/bin/told" <<SH
#!/bin/sh
n=1
while ! mkdir "$W/told.\$n" 2>/dev/null; do n=\$((n + 1)); done
cat >"$W/told.\$n/in"
SH
cat >"$W/bin/slow" <<SH
#!/bin/sh
echo begun >>"$W/slow.begun"
exec sleep 30
SH
chmod +x "$W/bin/told" "$W/bin/slow"
told() {
	find "$W" -maxdepth 1 -name 'told.*' | wc -l
}
client_shows() {	# SESSION EXTENDED-REGEXP
	term capture-pane -p -t "=at-$1:" | grep -Eq -- "$2"
}
client_hides() {
	! client_shows "$@"
}
field() {	# N FIELD
	perl -MJSON::PP -e 'local $/; my $v = decode_json(<STDIN>)->{$ARGV[0]}; print $v // "null"' "$2" <"$W/told.$1/in"
}

config 'on_crash = "told"'
sed "s/^assistant .*/& The key is $SECRET./" "$DATA/idle.scenario" >"$W/words.scenario"
ok 'an agent works' start_agent toast --scenario "$W/words.scenario"
ok '  and has said a secret' until_ 5 pane_shows toast 'The key is'
gt patrol -L main
is "$RC $OUT$ERR $(told)" '0  0' 'nothing crashed: nothing runs'
ok 'it is killed' kill_agent toast
gt patrol -L main -n
is "$RC $(told)" '0 0' 'a dry run runs nothing'
gt patrol -L main
is "$RC $(told)" '0 1' 'the crash runs the command'
is "$(field 1 schema_version) $(field 1 session) $(field 1 pane) $(field 1 agent) $(field 1 cause)" \
	"1 toast $(agent_pane toast) claude killed" '  with the session, the pane, the agent and the cause'
like "$(field 1 when)" '^20[0-9-]+T[0-9:.]+Z$' '  with the time'
like "$(field 1 conversation)" '^[0-9a-f-]{36}$' '  with the conversation'
like "$(field 1 last_words)" '^Renamed\. Six calls were changed\. The key is ' '  with its last words'
unlike "$(cat "$W/told.1/in")" "$SECRET" '  without secrets'
is "$(wc -l <"$W/told.1/in")" 1 '  in one line'
gt patrol -L main
gt patrol -L main
is "$RC $(told)" '0 1' 'the next passes do not repeat it'

# ---- with auto_recover: by the pass in the background, and a new crash is another one ----
config 'on_crash = "told"' 'auto_recover = true'
gt patrol -L main
is "$RC $(told) $(agent_starts toast)" '0 1 2' 'its recovery does not repeat it either'
ok 'it dies again' kill_agent toast
for _ in 1 2 3; do "$GT_RECOVER" patrol -L main >/dev/null 2>&1 & done
wait
until_ 10 test -s "$W/told.2/in"
is "$(told)" 2 'a second crash, three passes at once: once'

# ---- passes that share nothing but the store ----
config 'on_crash = "told"' "state = \"sqlite:$W/shared.db\""
ok 'an agent works' start_agent shared --scenario "$DATA/idle.scenario"
ok 'it is killed' kill_agent shared
pids=()
for i in 1 2 3 4; do
	XDG_STATE_HOME=$W/state.$i "$GT_RECOVER" patrol -L main >"$W/pass.$i" 2>&1 &
	pids+=($!)
done
rc=''
for pid in "${pids[@]}"; do
	wait "$pid"
	rc+="$? "
done
is "$(grep -l '"session":"shared"' "$W"/told.*/in | wc -l)" 1 'four passes of four state directories: once'
is "$rc$(grep -h '^gt-recover' "$W"/pass.[1-4])" '0 0 0 0 ' '  and none fails'

# ---- its failure ----
config 'on_crash = "echo the pager is down >&2; exit 3"'
ok 'it dies again' kill_agent toast
gt patrol -L main
like "$RC $ERR" '^0 .*the command on_crash failed: status 3: the pager is down' 'a failure is a warning, and no failure of the pass'
like "$(cat "$W/log")" 'on_crash - on-crash' '  it is in the log file'
gt log --json
is "$(grep -c '"kind": "on-crash.failed"' <<<"$OUT")" 1 '  and in the log'
if grep -q GT_ON_CRASH_MS "$GT_RECOVER"; then
	config 'on_crash = "slow"' 'auto_recover = true'
	ok 'an agent works' start_agent nux --scenario "$DATA/idle.scenario"
	gt snapshot -L main
	ok 'it is killed' kill_agent nux
	GT_ON_CRASH_MS=1500 gt patrol -L main
	like "$RC $ERR" 'the command on_crash failed: .*(time|answer)' 'one that hangs is ended'
	is "$(agent_starts nux) $(wc -l <"$W/slow.begun")" '2 1' '  the agent is back'
else
	skip 'this build has no fault points' 4
fi

# ---- the clients ----
config
ok 'an agent works' start_agent seen --scenario "$DATA/idle.scenario"
tm set-option -g display-time 0
visit seen
ok 'it is killed' kill_agent seen
gt patrol -L main
ok 'who is attached reads of it' until_ 10 client_shows seen 'gt-recover: seen: claude crashed \(killed by signal 9 '
types seen x
ok '  until a key is pressed' until_ 10 client_hides seen 'gt-recover: seen'
gt patrol -L main
not_ok '  once' client_shows seen 'gt-recover: seen'
done_testing
