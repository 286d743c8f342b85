#!/bin/bash
# doctor: each check sees what is wrong, says it with a hint, and changes nothing; the timer is tried as cron and systemd run it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
# shellcheck source=tests/e2e/town.sh
. "$ROOT/tests/e2e/town.sh"
STATE=$XDG_STATE_HOME/gt-recover
DB=$STATE/recover.db

real=$(command -v tmux)
cat >"$W/bin/systemctl" <<SH
#!/bin/sh
[ -e $W/manager ] || { echo 'Failed to connect to bus' >&2; exit 1; }
[ "\$2" != is-active ] || { cat $W/active; exit 3; }
[ "\$2" != is-enabled ] || exit 1
SH
cat >"$W/bin/loginctl" <<SH
#!/bin/sh
[ "\$1" = show-user ] && cat $W/linger
SH
cat >"$W/bin/crontab" <<SH
#!/bin/sh
if [ "\$1" = -l ]; then
	[ -e $W/tab ] || { echo 'no crontab for dev' >&2; exit 1; }
	exec cat $W/tab
fi
exec cat >$W/tab
SH
chmod 755 "$W/bin/systemctl" "$W/bin/loginctl" "$W/bin/crontab"

everything() {	# all that a write would change
	find "$W/home" "$W/tmp" "$W/town" "$W/tab" -printf '%p %i %m %s %T@ %C@\n' 2>/dev/null | sort
}
doctor() {
	gt doctor --json -L main "$@"
}
mkdir "$W/tmp"

# ---- nothing there ----
before=$(everything)
doctor
is "$RC $(json '{counts}{error}')" '0 0' 'without a server, an agent and a state nothing is an error'
is "$(everything)" "$before" '  and nothing is made'
like "$(found tmux.program sentence)" '^tmux ' 'the version of tmux is told'
is "$(found tmux.servers) $(found State.store) $(found State.records)" 'note ok skipped' 'no server, no records: no trouble'
is "$(found Timer.installed) $(found Timer.bare)" 'warning skipped' 'no timer is a warning, and nothing to try'
is "$(found Timer.boot) $(found State.backup)" 'warning skipped' '  as is none at boot; without records there is nothing to back up'
gt doctor -L main
is "$(head -n 1 <<<"$OUT")" 'Timer' 'people see what is wrong first'
like "$OUT" 'installed +none: snapshots' '  each problem as a line'
like "$OUT" '→ gt-recover setup --only timer' '  with a hint'
is "$(awk 'length > 80' <<<"${OUT//[→✓·✗]/x}")" '' '  of 80 columns at most'
unlike "$OUT" 'skipped:|no live agent' '  without what could not be looked at'
like "$(tr -s ' ' <<<"${OUT#*Timer}")" $'\n\n ✓ Settings [0-9]+ checks?(, [0-9]+ notes?)?\n.* ✓ State [0-9]+ checks?(, [0-9]+ notes?)?\n' \
	'  then a line for each group in which nothing is wrong'
is "$(grep -c 'SQLite' <<<"$OUT")" 0 '  and no line for each check'
unlike "$OUT" '✓ Timer' '  but none for the one that has a problem'
is "$(tail -n 1 <<<"$OUT")" '0 errors, 2 warnings.' '  and the counts last'
gt doctor -v -L main
like "$OUT" 'SQLite 3' 'with -v each check is a line'
like "$OUT" 'no live agent' '  which -v shows'
gt doctor -q -L main
is "$RC $(head -n 1 <<<"$OUT")" '0 Timer' '-q shows the troubles alone'
gt doctor toast
is "$RC" 2 'it takes no argument'
gt doctor --town "$W/nowhere"
is "$RC" 2 'a wrong --town is a usage error'

# ---- agents ----
ok 'an agent works' start_agent toast --scenario "$DATA/work.scenario"
ok 'another one does' start_agent pip --scenario "$DATA/work.scenario"
before=$(everything)
doctor
is "$RC $(found tmux.servers) $(found tmux.servers sentence | grep -c "2 agent panes")" '0 ok 1' 'a server with two agents answers'
is "$(found tmux.armed) $(found tmux.history)" 'ok ok' 'their panes are kept, with enough history'
is "$(found Agents.programs sentence)" "$W/bin/claude" "the agent's program is in PATH"
is "$(found Agents.retention)" ok 'transcripts stay'
is "$(everything)" "$before" 'nothing was made or changed'
tm set-option -p -t "$(agent_pane pip)" remain-on-exit off
printf '[recovery]\nmax_context_lines = 60000\n' >"$W/long.toml"
doctor --config "$W/long.toml"
is "$(found tmux.armed) $(found tmux.history)" 'warning warning' 'a pane that is not kept, and too short histories, are warnings'
like "$(found tmux.armed sentence)" '^1 of 2 ' '  with how many'
gt arm -L main
doctor
is "$(found tmux.armed)" ok 'arm sets it right'
like "$(found tmux.armed sentence)" '2 set up by gt-recover' '  and is told'
mkdir -p "$HOME/.claude"
[ ! -e "$HOME/.claude/settings.json" ] || cp "$HOME/.claude/settings.json" "$W/settings"
echo '{"cleanupPeriodDays": 0}' >"$HOME/.claude/settings.json"
doctor
is "$(found Agents.retention)" warning 'cleanupPeriodDays 0 is a warning'
echo '{"cleanupPeriodDays": 2}' >"$HOME/.claude/settings.json"
doctor
is "$(found Agents.retention)" note '  2 a note'
rm "$HOME/.claude/settings.json"

# ---- snapshots ----
gt snapshot -L main
doctor
is "$(found Snapshots.files) $(found Snapshots.age)" 'ok ok' 'snapshots are there'
one=$(find "$STATE/snapshots" -name '[0-9]*-*-*.json' | head -n 1)
chmod 644 "$one"
doctor
is "$RC $(found Snapshots.files)" '1 error' 'one that others can read is an error'
chmod 600 "$one"
chmod 755 "$STATE/snapshots"
doctor
is "$RC $(found Snapshots.files)" '1 error' '  as is a directory that they can'
chmod 700 "$STATE/snapshots"

# ---- the timer, in the crontab ----
gt install timer -L main
cp "$W/tab" "$W/good"
before=$(everything)
doctor
is "$RC $(found Timer.installed) $(found Timer.period) $(found Timer.words)" '0 ok ok ok' 'a crontab line, its period, its words'
is "$(found Timer.bare)" ok 'run as cron runs it, it works'
like "$(found Timer.bare sentence)" "finds the same 2 agent panes" '  and finds both'
is "$(found Timer.boot) $(found Timer.boot sentence)" 'ok gt-recover-startup, a crontab @reboot line' '  and startup runs at boot'
is "$(everything)" "$before" '  and has written nothing'
printf '[recovery]\nsnapshot_interval = "30m"\n[recovery.epics]\ncheckpoint_interval = "20m"\n' >"$W/slow.toml"
doctor --config "$W/slow.toml"
is "$(found Timer.period)" warning 'other intervals than the installed one are a warning'
like "$(found Timer.period sentence)" 'every 1m, but checkpoint_interval is 20m and snapshot_interval 30m' '  with both'

edit() {	# SED: the line
	sed "$1" "$W/good" >"$W/tab"
	doctor
}
edit 's/ TMUX_TMPDIR=[^ ]*//'
is "$RC $(found Timer.bare) $(found Timer.words)" '1 error warning' 'without TMUX_TMPDIR it finds none: an error'
like "$(found Timer.bare sentence)" "misses 2 of 2 agent panes: (toast, pip|pip, toast)" '  with their names'
edit 's/ -L main/ -L other/'
is "$RC $(found Timer.bare) $(found Timer.words)" '1 error warning' 'so it does on another socket'
edit "s, XDG_STATE_HOME=[^ ]*, XDG_STATE_HOME=$W/elsewhere,"
is "$(found Timer.words)" warning 'another place for its state is a warning'
not_ok '  and is not made' test -e "$W/elsewhere"
edit "s,PATH=[^ ]*,PATH=$W/run,"
is "$RC $(found Timer.words)" '1 error' 'a PATH without tmux is an error'
edit 's,/gt-recover snapshot,/gone/gt-recover snapshot,'
is "$RC $(found Timer.words) $(found Timer.bare)" '1 error error' 'so is a program that is gone'
edit 's/ --passes 2$//'
like "$(found Timer.period) $(found Timer.period sentence)" '^warning .*older version' 'a line of a version without passes is a warning'
edit 's/ --passes 2$/ --passes 1/'
like "$(found Timer.period) $(found Timer.period sentence)" '^warning each run makes 1 of the 2 passes ' 'so is one that makes fewer passes than it has to'
edit "s,-L main --passes 2\$,-L main; touch $W/canary,"
is "$(found Timer.installed) $(found Timer.bare)" 'warning skipped' 'a line that somebody changed is a warning, and not run'
edit "s,-L main --passes 2\$,-L \"\$(touch $W/canary)\","
is "$(found Timer.installed) $(found Timer.bare)" 'warning skipped' '  in no way'
not_ok '  truly' test -e "$W/canary"
edit '/snapshot/s,^\* \* ,* 9-17 ,'
is "$(found Timer.period) $(found Timer.bare)" 'warning ok' 'a schedule that somebody changed is a warning'
edit '/ends (gt-recover/d'
is "$RC $(found Timer.installed)" '1 error' 'a marker that stands alone is an error'
edit 's/^@reboot/@daily/'
is "$(found Timer.boot) $(found Timer.boot hint)" 'note gt-recover setup --only timer' 'another line of startup than would be written is told'
edit '/gt-recover-startup begins/,/gt-recover-startup ends/d'
is "$(found Timer.boot) $(found Timer.installed)" 'warning ok' 'one that is gone is a warning'
cp "$W/good" "$W/tab"
if grep -qx 'cron\|crond\|anacron' /proc/[0-9]*/comm 2>/dev/null; then
	skip 'a cron daemon is running here'
else
	doctor
	is "$(found Timer.running)" warning 'without a cron daemon nothing runs it'
fi

# ---- the same as units ----
touch "$W/manager"
echo active >"$W/active"
echo yes >"$W/linger"
gt install timer -L main
doctor
like "$(found Timer.installed sentence)" 'systemd user timer' 'systemd units are found'
is "$(found Timer.period) $(found Timer.words) $(found Timer.bare)" 'ok ok ok' '  and work in an empty environment'
is "$(found Timer.boot) $(found Timer.boot sentence)" 'error gt-recover-startup.timer is not enabled' 'units of startup that are not enabled are an error'
cat >"$W/bin/systemctl" <<SH
#!/bin/sh
[ "\$2" != is-active ] || cat $W/active
SH
doctor
is "$(found Timer.running)" ok 'active, with linger'
is "$(found Timer.boot) $(found Timer.boot sentence)" 'ok gt-recover-startup, a systemd user timer' '  startup is enabled'
echo '#' >>"$XDG_CONFIG_HOME/systemd/user/gt-recover-startup.service"
doctor
is "$(found Timer.boot)" note '  another unit than would be written is told'
echo no >"$W/linger"
doctor
is "$(found Timer.running)" warning 'without linger it ends with the login'
echo failed >"$W/active"
doctor
is "$RC $(found Timer.running)" '1 error' 'a timer that is not active is an error'
cp "$W/good" "$W/tab"
doctor
is "$(found Timer.installed)" warning 'two timers are a warning'
rm "$W/tab"
sed -i 's,"-L" "main","-L" "other",' "$XDG_CONFIG_HOME/systemd/user/gt-recover-snapshot.service"
doctor
is "$(found Timer.bare)" error 'units that look at another socket miss the agents'
gt uninstall timer

# ---- records ----
ok 'an agent is killed' kill_agent pip
doctor
like "$(found Agents.crashed) $(found Agents.crashed sentence)" '^note 1 of 2 ' 'the doctor knows of it'
gt pip -L main
is "$RC" 0 '  and comes back'
before=$(everything)
doctor
is "$RC $(found State.store) $(found State.records) $(found State.events)" '0 ok ok ok' 'the records are in order'
is "$(found State.attempts) $(found State.quarantine)" 'ok ok' '  and nothing is left open'
is "$(everything)" "$before" '  and untouched'
like "$(found State.events sentence)" '^[0-9]+ lines, equal to the store, the last written [0-9]+[sm] ago$' 'the event log tells its age'
like "$(found State.backup) $(found State.backup sentence)" '^ok [0-9]+[sm] old' '  as does the backup'
printf '[recovery]\nmax_attempts = 1\n' >"$W/one.toml"
doctor --config "$W/one.toml"
is "$(found State.quarantine)" ok 'a restart whose agent finished its turn is no quarantine'
talk=$(transcript pip)
mv "$talk" "$W/talk"
doctor --config "$W/one.toml"
mv "$W/talk" "$talk"
is "$(found State.quarantine)" warning 'a session in quarantine is a warning'
like "$(found State.quarantine sentence)$(found State.quarantine hint)" 'pip.*gt-recover records release' '  with its name and the way out'
cp "$STATE/events.jsonl" "$W/events"
sed -i '1s/"at":1/"at":2/' "$STATE/events.jsonl"
doctor
is "$RC $(found State.events)" '1 error' 'a line that somebody changed is an error'
head -n 1 "$W/events" >"$STATE/events.jsonl"
doctor
is "$RC $(found State.events)" '0 note' 'lines that are still to be written are a note'
cp "$DB" "$W/db"
sql_record "$DB" "update record set value = json_set(value, '\$.at', 1) where key = 'event:0000000000000002'"
doctor
is "$RC $(found State.events) $(found State.events hint)" '0 warning gt-recover log --verify writes them, or says why it cannot' \
	'  a warning when one should have been written long ago'
cp "$W/db" "$DB"
cp "$W/events" "$STATE/events.jsonl"
touch -d '20 minutes ago' "$DB.backup"
mkdir "$DB.backup.new"
printf '{"provider_name":"fake"}' >"$W/session"
gt_in "$W/session" session record
doctor
is "$RC $(found State.backup)" '0 warning' 'a backup that cannot be made is a warning, though nothing fails of it'
like "$(found State.backup sentence)" '^2[0-9]m old and outdated: making a newer one fails$' '  with its age'
rmdir "$DB.backup.new"
mv "$DB.backup" "$W/backup"
doctor
like "$(found State.backup) $(found State.backup sentence)" '^warning no backup' 'none is a warning'
head -c 9000 "$W/backup" >"$DB.backup"
chmod 600 "$DB.backup"
doctor
like "$(found State.backup) $(found State.backup sentence)" '^warning no usable backup: .* is damaged' 'so is one that is damaged'
rm "$DB.backup"
gt_in "$W/session" session record
doctor
is "$(found State.backup)" ok '  until the next record'
cp "$DB" "$W/db"
cp "$STATE/events.jsonl" "$W/events"
sql_record "$DB" "update record set tag = 'captured', value = json_remove(json_set(value, '\$.times.detected', 1, '\$.times.captured', 1), '\$.times.respawned', '\$.times.delivered', '\$.times.acknowledged', '\$.times.failed') where key like 'attempt:%'"
doctor
is "$RC $(found State.records) $(found State.attempts)" '1 error warning' \
	'an open attempt without its pane is an error, an old one a warning'
sql_record "$DB" "update record set tag = 'open' where key like 'pane:%'"
doctor
is "$RC $(found State.records) $(found State.attempts)" '0 ok warning' '  with its pane it is the warning alone'
like "$(found State.attempts sentence)" 'pip' '  that names the session'
sql_record "$DB" "delete from record where key = 'event:0000000000000002'"
doctor
is "$RC $(found State.records)" '1 error' 'a missing event is an error'
cp "$W/db" "$DB"
perl -e 'open my $f, "+<", $ARGV[0] or die; seek $f, 4096, 0; print $f "\xff" x 64' "$DB"
cp "$DB" "$W/damaged"
doctor
is "$RC $(found State.store)" '1 error' 'a damaged store is an error'
same_file "$DB" "$W/damaged" '  and left as it is'
echo 'not a database' >"$DB"
doctor
is "$RC $(found State.store)" '1 error' 'what is no database is one too'
cp "$W/db" "$DB"
mkdir -p "$STATE/prompts"
touch -d '3 hours ago' "$STATE/prompts/gtr-0000000000000000.txt"
doctor
is "$(found State.prompts)" note 'a prompt that nobody took is a note'
chmod 755 "$STATE"
doctor
is "$RC $(found State.directory)" '1 error' 'a state directory that is open to others is an error'
chmod 700 "$STATE"

# ---- settings ----
printf '[recovery]\nmax_attempts = "many"\n' >"$W/bad.toml"
doctor --config "$W/bad.toml"
is "$RC $(found Settings.gt.toml) $(json '{counts}{skipped}')" "1 error $(($(json '{checks}') - 1))" \
	'a gt.toml with a mistake is told, and nothing else looked at'
like "$(found Settings.gt.toml sentence)" 'bad.toml:2' '  with its line'
printf '[recovery.prompts]\ntemplate_file = "none"\n[recovery.scrub]\nallow = "("\n' >"$W/odd.toml"
chmod 664 "$W/odd.toml"
doctor --config "$W/odd.toml"
is "$(found Settings.gt.toml) $(found Settings.template) $(found Settings.rules)" 'warning error error' \
	'one that others may write, a template that is not there, a wrong expression'
printf '[recovery]\nauto_recover = true\n' >"$W/auto.toml"
doctor --config "$W/auto.toml"
is "$(found Settings.patrol)" warning 'auto_recover, and nobody who would hear of a failure, is a warning'
printf '[recovery.mail]\ncommand = "cat"\n' >>"$W/auto.toml"
doctor --config "$W/auto.toml"
is "$(found Settings.patrol)" ok '  a command to mail with sets it right'
printf '[recovery]\nenabled = false\n' >"$W/off.toml"
gt doctor -L main --config "$W/off.toml"
like "$RC $ERR" '^0 .*disabled' 'enabled = false holds for the doctor too'

# ---- a town ----
mkdir -p "$W/bare/mayor" "$W/bare/rigs/polecats/nux"
echo '{"type":"town","version":1,"name":"bare"}' >"$W/bare/mayor/town.json"
doctor --town "$W/bare"
is "$(found 'Gas Town.root') $(found 'Gas Town.rigs') $(found 'Gas Town.beads')" 'ok warning note|warning' \
	'a town without a prefix for its rig, without beads, without gt'
SERVER=$SOCKET
make_town dolt
ok 'a polecat works in another one' start_polecat gastown toast --scenario "$DATA/idle.scenario"
before=$(everything)
gt doctor --json --town "$TOWN"
is "$(found 'Gas Town.root') $(found 'Gas Town.rigs') $(found 'Gas Town.halted')" 'ok ok ok' 'its root and its rigs'
is "$(found 'Gas Town.beads')" ok '  its beads, asked for by bd'
like "$(found tmux.servers sentence)" "$SOCKET answers [^|]*, 1 agent pane" '  the server that Gas Town makes is looked at'
is "$(found tmux.armed)" warning '  its polecat goes with its pane'
like "$(found tmux.armed hint)" 'after each start' '  and Gas Town does that at each start'
is "$(everything)" "$before" '  nothing is made in it'
gt arm --town "$TOWN"
gt doctor --json --town "$TOWN"
is "$(found tmux.armed)" 'ok|note' '  armed, what Gas Town does to it is noted'
rm "$W/bin/bd"
touch "$TOWN/ESTOP"
gt doctor --json --town "$TOWN"
is "$(found 'Gas Town.beads') $(found 'Gas Town.halted')" 'warning warning' 'Dolt without bd, and ESTOP, are warnings'
SOCKET=$SERVER

# ---- tmux ----
mkdir "$W/empty"
RC=0
PATH=$W/empty "$GT_RECOVER" doctor --json -L main >"$W/out" 2>"$W/err" || RC=$?
OUT=$(cat "$W/out")
is "$RC $(found tmux.program) $(found tmux.servers)" '1 error skipped' 'without tmux everything else is still told'
server=$("$real" -L main display-message -p '#{pid}')
kill -STOP "$server"
doctor
kill -CONT "$server"
is "$RC $(found tmux.servers)" '1 error' 'a server that does not answer is an error'
like "$(found tmux.servers sentence)" 'did not answer' '  and told so'

done_testing
