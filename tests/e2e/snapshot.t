#!/bin/bash
# Snapshots: taken from cron's bare environment, for nothing where nothing changed, without secrets, never a poor one in place of a good one;
# what they keep comes back when the pane has lost it; the timer.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
STATE=$XDG_STATE_HOME/gt-recover
DIR=$STATE/snapshots

# Sees every tmux that the program starts, and can do something to the pane just before it is captured.
real=$(command -v tmux)
cat >"$W/bin/tmux" <<SH
#!/bin/sh
echo "\$*" >>$W/calls
if [ -e $W/before-capture ]; then
	cat >$W/commands
	if grep -q capture-pane $W/commands; then
		. $W/before-capture
	fi
	exec $real "\$@" <$W/commands
fi
exec $real "\$@"
SH
chmod 755 "$W/bin/tmux"
tm() {
	"$real" -u -L "$SOCKET" -f /dev/null "$@"
}

cron() {	# ARGS...: as cron starts it
	RC=0
	env -i PATH="$W/bin:/usr/bin:/bin" HOME="$HOME" TMUX_TMPDIR="$TMUX_TMPDIR" XDG_STATE_HOME="$XDG_STATE_HOME" "$GT_RECOVER" snapshot "$@" \
		>"$W/out" 2>"$W/err" </dev/null || RC=$?
	OUT=$(cat "$W/out") ERR=$(cat "$W/err")
}
taken() {	# SESSION FIELD: of its result in $OUT
	printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne '
		BEGIN { ($main::name, $main::field) = splice @ARGV, 0, 2 }
		for (@{JSON::PP->new->utf8->decode($_)->{panes}}) { print $_->{$main::field} // "(none)" if $_->{session} eq $main::name }' "$1" "$2"
}
field() {	# FILE PATH
	OUT=$(cat "$DIR/$1") json "$2"
}
kept() {	# how many snapshots there are
	find "$DIR" -name '[0-9]*-*-*.json' | wc -l
}
everything() {	# all that a write would change
	find "$STATE" -printf '%p %i %s %T@ %C@\n' | sort
}
quiet() {	# SESSION: its last output lies in an earlier second
	[ "$(tm display-message -p -t "$(agent_pane "$1")" '#{window_activity}')" -lt "$(date +%s)" ]
}
settle() {	# SESSION...: a pass that has seen the last output of all of them
	local s
	for s; do
		until_ 5 quiet "$s"
	done
	cron -L main
}
say_in() {	# SESSION TEXT: on its screen, as if its program had written it
	printf '%b' "$2" >"$(tm display-message -p -t "$(agent_pane "$1")" '#{pane_tty}')"
}

# ---- nothing there ----
gt snapshot -L main
is "$RC" 0 'no server: nothing to do is no failure'
like "$ERR" 'No agent panes' '  and it says so'
not_ok '  and nothing is written' test -e "$DIR"

# ---- cron ----
export ROWS=12
ok 'an agent works' start_agent toast --scenario "$DATA/work.scenario"
ok 'and another one' start_agent rye --scenario "$DATA/idle.scenario"
until_ 10 pane_shows toast 'test 7 ok'
# tmux names a window after its program a moment later, and a name is part of a snapshot
for session in toast rye; do
	until_ 10 pane_is "$session" '#{window_name}' claude
done
gt snapshot -L main --dry-run
is "$RC" 0 'a dry run answers'
like "$ERR" 'Would examine 2 panes' '  tells what it would look at'
not_ok '  and writes nothing' test -e "$DIR"
cron -L main --json
is "$RC $(json '{taken}') $(json '{failed}')" '0 2 0' 'both are taken from an empty environment'
is "$(stat -c %a "$DIR")" 700 'the directory is private'
is "$(find "$STATE" -type f ! -perm 600)" '' '  so is every file'
file=$(taken toast file)
is "$(field "$file" '{schema_version}') $(field "$file" '{session}') $(field "$file" '{agent}') $(field "$file" '{pane}{id}')" \
	"1 toast claude $(agent_pane toast)" 'a snapshot says whose it is'
is "$(field "$file" '{process}{pid}')" "$(agent_pid toast)" '  which process'
is "$(field "$file" '{transcript}')" "$(transcript toast)" '  where its transcript is'
is "$(field "$file" '{cwd}')" "$(agent_dir toast)/cwd" '  where it worked'
is "$(field "$file" '{pane}{width}') $(field "$file" '{pane}{height}')" \
	"$(is_tmux_32 && echo 80 23 || echo 100 12)" '  and the size'
is "$(field "$file" '{command}')" 'exec claude --dangerously-skip-permissions' '  and the start command'
like "$(field "$file" '{text}')" 'Fix the bug in .parse' 'what had scrolled away is in it'

# ---- nothing has changed ----
settle toast rye
everything >"$W/before"
: >"$W/calls"
cron -L main --json
is "$RC $(json '{taken}') $(json '{unchanged}')" '0 0 2' 'nothing has changed'
is "$(wc -l <"$W/calls")" 1 '  one tmux process'
everything >"$W/after"
same_file "$W/before" "$W/after" '  no write: no inode, size or time of a file is another'
unlike "$(cat "$W/calls")" capture '  nothing in its arguments'

# one of them has
say_in rye 'a new line\r\n'
: >"$W/calls"
until_ 5 pane_shows rye 'a new line'
cron -L main --json
is "$(json '{taken}') $(json '{unchanged}') $(taken rye result)" '1 1 taken' 'only the changed one is captured'
is "$(wc -l <"$W/calls")" 3 '  by three tmux processes: panes, environments, captures'
settle rye
is "$(kept)" 3 'a look that tells nothing new makes no file'

# a snapshot that somebody removed is made again
rm "$DIR/$file"
cron -L main toast --json
is "$(taken toast result) $(taken rye result)" 'taken ' 'a removed one is made again, of the session that was named alone'
cron -L main "$(agent_pane rye)" --json
is "$(taken rye result)" unchanged 'a pane is named by its id'
cron -L main nobody
is "$RC" 4 'a name that no agent has is told'
cron -L main nobody toast
is "$RC" 3 '  and does not keep the others'

# ---- one that fails ----
say_in toast 'changed\r\n'
say_in rye 'changed\r\n'
ok 'a third one' start_agent gone --scenario "$DATA/idle.scenario"
printf '%s' "$real -u -L main kill-session -t =gone </dev/null" >"$W/before-capture"
cron -L main --json
rm "$W/before-capture"
is "$RC $(json '{taken}') $(json '{failed}')" '3 2 1' 'a pane that goes away under it does not stop the others'
is "$(taken gone result) $(taken toast result) $(taken rye result)" 'failed taken taken' '  and is the one that is told'

# ---- two at once ----
say_in toast 'changed again\r\n'
cron -L main &
other=$!
cron -L main --json
is "$RC" 0 'two passes at once take turns'
wait $other

# ---- secrets ----
key=sk-ant-api03-$(perl -MDigest::SHA=sha512_base64 -e 'my $s = sha512_base64("k") . sha512_base64("l"); $s =~ tr/A-Za-z0-9//cd; print substr $s, 0, 93')AA
value=$(perl -MDigest::SHA=sha512_base64 -e 'my $s = sha512_base64("v"); $s =~ tr/A-Za-z0-9//cd; print substr $s, 0, 28')
ok 'one that knows secrets' start_agent keeper --command "env ANTHROPIC_API_KEY=$key claude --dangerously-skip-permissions" \
	--env "DB_PASSWORD=$value" --scenario "$DATA/idle.scenario"
say_in keeper "the key is $key\r\nand the other $value\r\n"
until_ 5 pane_shows keeper "$value"
cron -L main keeper --json
is "$(taken keeper result)" taken '  is taken'
is "$(grep -rlF -e "$key" -e "$value" "$STATE" "$W/out" "$W/err")" '' '  and none of them is kept or printed'
file=$(taken keeper file)
is "$(field "$file" '{command}')" 'exec env ANTHROPIC_API_KEY=[REDACTED:anthropic-key] claude --dangerously-skip-permissions' 'the command has a placeholder'
is "$(field "$file" '{secrets}[0]')" ANTHROPIC_API_KEY '  that has a name'
gt_in "$DIR/$file" scrub --check
is "$RC" 0 'the scrubber finds nothing in it'
tm kill-session -t =keeper

# ---- a poorer one ----
{
	for ((i = 1; i <= 40; i++)); do
		printf 'user Question number %d of many.\nassistant Answer number %d stands here, and it is long enough to matter.\nend\n' "$i" "$i"
	done
	printf 'user The last question.\nassistant I am at it.\ntool Bash make check\nhang test 1 ok\n'
} >"$W/many.scenario"
ok 'one with a long history' start_agent poor --scenario "$W/many.scenario"
until_ 20 pane_shows poor 'test 1 ok'
cron -L main poor --json
rich=$(taken poor file)
ok '  all of it is kept' [ "$(field "$rich" '{rows}')" -gt 150 ]
tm clear-history -t "$(agent_pane poor)"
cron -L main poor --json
file=$(taken poor file)
is "$(taken poor result) $(field "$file" '{richer}')" "taken $rich" 'after clear-history the poor one refers to the rich one'
cat >"$W/keep.toml" <<'TOML'
[recovery]
snapshot_keep = 1
TOML
say_in poor 'one more row\r\n'
cron -L main poor --json --config "$W/keep.toml"
is "$(taken poor result) $(field "$(taken poor file)" '{richer}')" "taken $rich" '  and the next one does'
ok '  which retention does not remove' test -e "$DIR/$rich"
not_ok '  as it does the one between' test -e "$DIR/$file"
file=$(taken poor file)
say_in poor '\033[2J\033[3J\033[H'
cron -L main poor --json
is "$(taken poor result) $(taken poor file)" "kept $file" 'an empty pane takes the place of none'
ok '  which is still there' test -e "$DIR/$file"

# ---- it comes back ----
kill_agent poor
until_ 5 listed_is poor class dead
rows=$(field "$file" '{rows}')
is "$(listed poor snapshot_lines)" "$rows" 'list tells how many lines the snapshot has'
gt list --json -L main
like "$OUT" '"snapshot"' '  and that it is a source'
mv "$HOME/.claude/projects" "$W/projects"
gt context poor -L main --json
is "$RC $(json '{snapshot}{used}') $(json '{transcript}')" '0 true (none)' 'without a transcript context takes it'
gt prompt poor -L main --via inject
like "$OUT" 'Question number 7 of many' 'the prompt has what the pane had lost'
like "$OUT" 'The last question' '  to the end'
is "$(grep -c 'Answer number 7 stands here' <<<"$OUT")" 1 '  once'
like "$OUT" 'from a snapshot of the screen' '  and says where it is from'
mv "$W/projects" "$HOME/.claude/projects"
gt prompt poor -L main --via inject
is "$(grep -c 'Answer number 7 stands here' <<<"$OUT") $(grep -c 'The last question' <<<"$OUT")" '1 1' 'nothing is told twice when the transcript has it too'
gt poor -L main --json
is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'it is brought back'

grep -v '^\(tool\|hang\)' "$W/many.scenario" >"$W/done.scenario"
echo end >>"$W/done.scenario"
ok 'one that went on after its snapshot' start_agent later --scenario "$W/done.scenario"
until_ 20 pane_shows later 'I am at it'
cron -L main later --json
tm clear-history -t "$(agent_pane later)"
tell_agent later 'One more thing.'
until_ 10 events_are later '^answered' 1
kill_agent later
until_ 5 listed_is later class dead
gt context later -L main --json
is "$(json '{transcript_by}') $(json '{snapshot}{used}')" 'record false' '  with a complete transcript it is needless'
gt context later -L main
like "$OUT" 'Snapshot +[0-9,]+ lines, taken [0-9]+s ago: adds nothing' '  and context says so'
gt prompt later -L main --via inject
is "$(grep -c 'Answer number 7 stands here' <<<"$OUT") $(grep -c 'from a snapshot' <<<"$OUT")" '1 0' '  the prompt has it from there'

# ---- it remembers which transcript ----
mkdir "$W/shared"
ok 'an agent in a directory' start_agent left --cwd "$W/shared" --scenario "$DATA/idle.scenario"
ok 'and another one there' start_agent right --cwd "$W/shared" --scenario "$DATA/idle.scenario"
for s in left right; do
	tell_agent $s "the same words"
	until_ 10 events_are $s '^answered' 1
done
cron -L main left right --json
want=$(field "$(taken left file)" '{transcript}')
kill_agent left
kill_agent right
rm -f "$HOME"/.claude/sessions/*.json
until_ 5 listed_is left class dead
gt context left -L main --json
is "$(json '{transcript_by}') $(json '{transcript}')" "record $want" 'a record that is gone is remembered from its first sight'

# ---- retention ----
cat >"$W/few.toml" <<'TOML'
[recovery]
snapshot_keep = 2
TOML
for i in 1 2 3 4; do
	say_in rye "row $i\\r\\n"
	until_ 5 pane_shows rye "row $i"
	cron -L main rye --json --config "$W/few.toml"
done
hash=$(taken rye file | cut -d - -f 2)
is "$(find "$DIR" -name "*-$hash-*.json" | wc -l)" 2 'snapshot_keep of each session stay'
like "$(json '{removed}')" '^[1-9]' '  and it says how many went'

# ---- a server that does not answer, one that died ----
pid=$(tm display-message -p '#{pid}')
kill -9 "$pid"
until_ 5 _gone "$pid"
for pid in $(pgrep -f "^claude --dangerously" 2>/dev/null); do
	grep -qz "^HOME=$W/" "/proc/$pid/environ" 2>/dev/null && kill -9 "$pid" 2>/dev/null
done
cron -L main --json
is "$RC $(json '{taken}')" '0 0' 'a dead server is nothing to do'
ok 'its snapshots stay' [ "$(kept)" -ge 4 ]
ok 'a session of the same name on a new server' start_agent rye --scenario "$DATA/idle.scenario"
cron -L main rye --json
is "$(taken rye result)" taken '  has its own'

# ---- killed while it writes ----
if grep -q GT_FAULT "$GT_RECOVER"; then
	for point in snapshot:1 snapshot-state:1; do
		say_in rye "before $point\\r\\n"
		until_ 5 pane_shows rye "before $point"
		n=$(kept)
		{ GT_FAULT=$point=kill gt snapshot -L main rye; } 2>/dev/null
		is "$RC" 137 "killed at $point"
		gt snapshot -L main rye --json
		is "$RC $(json '{failed}')" '0 0' '  the next pass goes on'
		like "$(field "$(taken rye file)" '{text}')" "before $point" '  and what the pane shows is kept'
		is "$(find "$DIR" -name '.*')" '' '  nothing is left behind'
		ok '  the older ones are there' [ "$(kept)" -ge "$n" ]
	done
	say_in rye 'before the disk is full\r\n'
	until_ 5 pane_shows rye 'before the disk is full'
	everything | grep -v '/lock ' >"$W/before"
	GT_FAULT=snapshot:1=enospc gt snapshot -L main rye --json
	is "$RC $(taken rye result)" '1 failed' 'a full disk is told'
	gt snapshot -L main rye --json
	is "$RC $(taken rye result)" '0 taken' '  and made good by the next pass'
else
	skip 'this build has no fault points (make FAULTS=1)' 12
fi

# ---- the timer ----
cat >"$W/bin/systemctl" <<SH
#!/bin/sh
echo "\$*" >>$W/systemctl
[ -e $W/manager ] || { echo 'Failed to connect to bus' >&2; exit 1; }
SH
cat >"$W/bin/crontab" <<SH
#!/bin/sh
echo "\$*" >>$W/crontabs
if [ "\$1" = -l ]; then
	[ ! -e $W/broken ] || { echo 'crontab: cannot open' >&2; exit 1; }
	[ -e $W/tab ] || { echo 'no crontab for dev' >&2; exit 1; }
	exec cat $W/tab
fi
exec cat >$W/tab
SH
chmod 755 "$W/bin/systemctl" "$W/bin/crontab"
gt install timer --print
is "$RC" 0 'without a user manager --print shows a line for the crontab'
not_ok '  and touches nothing' test -e "$W/tab"
gt install timer -L main
is "$RC" 0 'it is installed'
line=$(grep '^[^#@]' "$W/tab")
like "$line" "^\* \* \* \* \* PATH=[^ ]*$W/bin[^ ]* TMUX_TMPDIR=$TMUX_TMPDIR .*$(readlink -f "$GT_RECOVER") snapshot --quiet -L main --passes 2$" \
	'  with the interval, PATH, TMUX_TMPDIR, the program and the socket'
boot=$(grep '^@' "$W/tab")
is "${boot#@reboot}" "$(sed 's/^[^P]*P/ P/; s/ snapshot --quiet / startup --quiet /; s/ --passes 2$//' <<<"$line")" '  and startup at boot, with the same'
cp "$W/tab" "$W/once"
gt install timer -L main
same_file "$W/tab" "$W/once" 'a second time changes nothing'
rm -rf "$DIR" "$XDG_STATE_HOME/gt-recover/timer"
env -i GT_CLOCK=fast HOME="$HOME" LOGNAME=dev SHELL=/bin/sh PATH=/usr/bin:/bin /bin/sh -c "${line#'* * * * * '}" >"$W/out" 2>"$W/err"
is "$? $(cat "$W/out" "$W/err")" '0 ' 'run as cron would, the line is silent'
is "$(find "$DIR" -name '[0-9]*-*-*.json' | wc -l)" 1 '  and takes the snapshot'
env -i HOME="$HOME" LOGNAME=dev SHELL=/bin/sh PATH=/usr/bin:/bin /bin/sh -c "${boot#@reboot }" >"$W/out" 2>"$W/err"
is "$? $(cat "$W/out" "$W/err")" '0 ' '  and that of startup, too'
printf '# mine\n0 1 * * * echo 50\\%% # gt-recover\n%s\n' "$(cat "$W/once")" >"$W/tab"
printf '[recovery]\nsnapshot_interval = "2h"\n[recovery.epics]\ncheckpoint_interval = "2h"\n' >"$W/slow.toml"
gt install timer -L main --config "$W/slow.toml"
like "$(cat "$W/tab")" $'^# mine\n0 1 \* \* \* echo 50\\\\% # gt-recover\n# gt-recover-snapshot begins' 'other lines are not touched'
is "$(grep -c 'snapshot --quiet' "$W/tab") $(grep -c '^0 \*/2 .*--config '"$W/slow.toml" "$W/tab")" '1 1' '  ours has the new interval and the file'
touch "$W/broken"
gt install timer
is "$RC $(json '{}')" '1 (no JSON)' 'a crontab that cannot be read is not replaced'
rm "$W/broken"
gt uninstall timer
is "$RC $(cat "$W/tab")" $'0 # mine\n0 1 * * * echo 50\\% # gt-recover' 'uninstall leaves the other lines'
: >"$W/crontabs"
gt uninstall timer
is "$RC $(grep -c '^-$' "$W/crontabs")" '0 0' 'uninstall again is nothing'

touch "$W/manager"
unit=$XDG_CONFIG_HOME/systemd/user/gt-recover-snapshot
gt install timer -L main --print
is "$RC $(grep -c '^ExecStart=\|^OnUnitActiveSec=30s\|^OnStartupSec=1s' <<<"$OUT")" '0 4' 'with a user manager --print shows the units'
not_ok '  and touches nothing' test -e "$unit.timer"
: >"$W/systemctl"
gt install timer -L main
is "$RC" 0 'they are installed'
like "$(cat "$unit.service")" "ExecStart=\"$(readlink -f "$GT_RECOVER")\" \"snapshot\" \"--quiet\" \"-L\" \"main\"" '  with the program'
like "$(cat "$unit.service")" "Environment=\"TMUX_TMPDIR=$TMUX_TMPDIR\"" '  and its environment'
is "$(tr '\n' ',' <"$W/systemctl")" \
	'--user show-environment,--user daemon-reload,--user enable gt-recover-snapshot.timer,--user restart gt-recover-snapshot.timer,--user daemon-reload,--user enable gt-recover-startup.timer,--user restart gt-recover-startup.timer,' \
	'  and started'
stat -c '%i %Y' "$unit.service" "$unit.timer" >"$W/before"
gt install timer -L main
is "$(stat -c '%i %Y' "$unit.service" "$unit.timer")" "$(cat "$W/before")" 'a second time writes nothing'
: >"$W/systemctl"
gt uninstall timer
is "$RC $(tr '\n' ',' <"$W/systemctl")" \
	'0 --user disable --now gt-recover-snapshot.timer,--user daemon-reload,--user disable --now gt-recover-startup.timer,--user daemon-reload,' 'uninstall stops them'
not_ok '  and they are gone' compgen -G "${unit%-snapshot}-*"
is "$(cat "$W/tab")" $'# mine\n0 1 * * * echo 50\\% # gt-recover' 'the crontab is as it was'
rm "$W/bin/systemctl" "$W/bin/crontab"

done_testing
