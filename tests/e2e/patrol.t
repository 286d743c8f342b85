#!/bin/bash
# patrol: quiet where nothing died, a crash told once, agents brought back when that is wished, one mail for a crash that cannot be
# answered; what was left open when a server died is settled; a second patrol and whoever else restarts agents come first.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"
T=$W/town
mkdir -p "$T/mayor"
echo '{"type":"town","version":1,"name":"town"}' >"$T/mayor/town.json"
STATE=$T/.gt
# a gt that keeps what it was asked to do: mail.N/{args,cwd,env,in}; it fails while $W/broken is there
cat >"$W/bin/gt" <<SH
#!/bin/sh
[ "\$1 \$2" = 'mail send' ] || exit 64
n=1
while ! mkdir "$W/mail.\$n" 2>/dev/null; do n=\$((n + 1)); done
printf '%s\n' "\$@" >"$W/mail.\$n/args"
pwd -P >"$W/mail.\$n/cwd"
env >"$W/mail.\$n/env"
cat >"$W/mail.\$n/in"
[ ! -e "$W/broken" ] || { echo "dolt is down, password=hunter2secret99" >&2; exit 3; }
SH
chmod +x "$W/bin/gt"

config() {	# LINES...: gt.toml of the town
	printf '%s\n' '[recovery]' 'spacing = "0s"' "$@" >"$T/gt.toml"
}
patrol() {
	gt patrol --town "$T" -L main "$@"
	# on tmux 3.3 to 3.4 only
	ERR=$(grep -v ': last screen saved; ' <<<"$ERR")
}
mails() {
	find "$W" -maxdepth 1 -name 'mail.*' | wc -l
}
events() {	# KIND: how many of them the ledger tells
	gt log --town "$T" --json
	grep -c "\"kind\": \"$1\"" <<<"$OUT"
}
all_files() {	# everything below the state directory, to the byte
	[ ! -d "$STATE" ] || find "$STATE" -type f -exec stat -c '%n %i %s %y' {} + -exec cksum {} + | sort
}
crash() {	# SESSION
	kill_agent "$1" && wake && until_ 5 pane_shows "$1" '^Pane is dead'
}
panes() {
	tm list-panes -a -F '#{pane_id} #{pane_pid} #{pane_dead} #{pane_start_command}' | cksum
}

# ---- nothing there, nothing dead ----
config
patrol
is "$RC $OUT$ERR" '0 ' 'without a tmux server there is nothing to do'
not_ok '  and nothing is made' test -e "$STATE"
ok 'an agent works' start_agent toast --scenario "$DATA/idle.scenario"
patrol
is "$RC $OUT$ERR" '0 ' 'nothing died: nothing is said'
ok '  and what it saw is kept' test -s "$STATE/recover.db"
patrol --json
is "$RC $(json '{schema_version}') $(json '{found}') $(json '{sessions}') $(json '{mail}{owed}')" '0 2 0 0 0' '--json is one object'
patrol toast
is "$RC" 2 'it takes no session'

# ---- enabled = false ----
ok 'the agent is killed' crash toast
config 'enabled = false'
before_files=$(all_files)
patrol
like "$RC $ERR" '^0 .*disabled \(enabled = false' 'enabled = false says so'
is "$(all_files)" "$before_files" '  and does nothing'

# ---- auto_recover = false ----
config
before=$(panes)
patrol -n
like "$RC $OUT $ERR" '^0 would recover toast.*auto_recover is false' 'a dry run tells what it would see'
is "$(all_files)" "$before_files" '  and writes nothing'
patrol
like "$RC $ERR" '^0 ! toast: .*signal 9.* \(dead\), [0-9]+s ago$' 'a crash is reported'
is "$(events crash.seen)" 1 '  as one event'
before_files=$(all_files)
patrol
is "$RC $OUT$ERR" '0 ' 'the next pass does not repeat it'
patrol --json
is "$(json '{sessions}[0]{name}') $(json '{sessions}[0]{new}') $(json '{found}')" 'toast false 1' '--json tells it, and that it is not new'
is "$(all_files)" "$before_files" '  nothing is written'
is "$(panes) $(mails)" "$before 0" '  the pane is not touched, and nobody gets a mail'

# ---- auto_recover = true ----
config 'auto_recover = true'
patrol
like "$RC $ERR" '^0 .*Agent resuming work.*found=1 recovered=1' 'auto_recover = true brings it back'
is "$(agent_starts toast) $(messages toast) $(mails)" '2 1 0' '  once, without a mail'
before_files=$(all_files)
patrol
is "$RC $OUT$ERR" '0 ' 'after that there is nothing to do'
is "$(all_files)" "$before_files" '  and nothing is written'

# ---- a guard's word is no failure, and is told once ----
config 'auto_recover = true' '[recovery.sessions]' 'toast = "off"'
ok 'it is killed again' crash toast
patrol
like "$RC $ERR" '^0 ! toast: .*; skipped: recovery is switched off for this session, off' 'what a guard leaves alone is told'
patrol
is "$RC $(grep -c toast <<<"$ERR") $(mails)" '0 0 0' '  once, and by no mail'

# ---- a person at the keyboard ----
config 'auto_recover = true' '[recovery.sessions]' 'toast = "off"'
ok 'somebody looks at a shell in which an agent dies' start_agent shelly --wrapper --scenario "$DATA/idle.scenario"
visit shelly
kill_agent shelly
if grep -q GT_QUIET_MS "$GT_RECOVER"; then
	types shelly l
	patrol
	like "$RC $ERR" '^0 ! shelly: .*; skipped: someone typed in its pane less than a minute ago, typing' 'while somebody types there it is left alone'
	is "$(events refusal.typing) $(events attempt.failed) $(messages shelly) $(mails)" '1 0 0 0' '  which is no failure, and no mail'
	patrol
	is "$RC $(grep -c shelly <<<"$ERR") $(mails)" '0 0 0' '  and told once'
	GT_QUIET_MS=1 patrol
	like "$RC $ERR" '^0 .*found=[12] recovered=1' 'the first pass after a quiet minute brings it back'
else
	skip 'this build has no shorter minute' 4
	patrol
fi
is "$(messages shelly) $(tm display-message -p -t shelly: '#{session_attached}') $(mails)" '1 1 0' '  while somebody looks on'
leave shelly
tm kill-session -t =shelly
ok 'somebody looks at another' start_agent calm --wrapper --scenario "$DATA/idle.scenario"
visit_still calm
kill_agent calm
patrol
is "$RC $(messages calm) $(grep -c typing <<<"$ERR")" '0 1 0' 'and does not type: it is brought back'
leave calm
tm kill-session -t =calm

# ---- a failure: one mail a crash ----
config 'auto_recover = true' 'max_attempts = 3'
agent_plan toast --die-at-once=3
: >"$W/broken"
patrol
like "$RC $ERR" '^1 .*crashed again right after its start.*was not sent: gt mail send ended with status 3: dolt is down' 'a failure, and a mailer that fails, are told'
unlike "$ERR$(cat "$STATE/events.jsonl")" hunter2 '  without a secret that the mailer let out'
is "$(mails) $(events mail.failed)" '1 1' '  one try'
rm "$W/broken"
config 'auto_recover = false'
patrol
is "$RC $(mails) $(events mail.sent)" '0 2 1' 'the next pass sends it'
is "$(cat "$W/mail.2/args")" $'mail\nsend\nmayor/\n-s\nRecovery failed for toast\n--stdin' 'to the mayor, with the subject'
is "$(cat "$W/mail.2/cwd")" "$(cd "$T" && pwd -P)" '  from the root of the town'
like "$(cat "$W/mail.2/env")" 'BD_ACTOR=gt-recover' '  as gt-recover'
body=$(cat "$W/mail.2/in")
like "$body" 'Session:  toast.*Class:    dead.*Reason:   killed.*Crashed:  20.*Because:  .*crashed again.*Error:    died.*Recovery: gtr-[0-9a-f]{16}' 'the mail tells which and why'
like "$body" 'gt-recover log toast.*gt-recover records release toast' '  and what can be done'
unlike "$body" 'repetition|❯|Claude Code v' '  nothing of the screen'
patrol
is "$(mails)" 2 'no pass repeats it'

# the first recovery finished its turn, and does not count
config 'auto_recover = true' 'max_attempts = 2'
agent_plan toast --die-at-once=3
patrol
is "$RC $(mails)" '1 3' 'it dies once more: another crash, another mail'
patrol
like "$RC $ERR" '^0 .*quarantined' 'then it is quarantined'
is "$(mails)" 4 '  which is told'
like "$(cat "$W/mail.4/in")" 'Error:    quarantined' '  by its name'
patrol
is "$RC $OUT$ERR $(mails)" '0  4' '  once'
gt release toast --town "$T" -L main
tm kill-session -t =toast

# ---- a command of the user's own, and hostile names ----
# shellcheck disable=SC2016	# for the shell that mails
own='command = """printf "%s|%s|" "$GT_MAIL_TO" "$GT_MAIL_SUBJECT" >>"$HOME/own"; cat >>"$HOME/own"; exit 0"""'
config 'auto_recover = true' '[recovery.mail]' "$own" 'to = "me@example.org"'
# shellcheck disable=SC2016
evil='a$(touch ran)`touch ran`'
ok 'an agent of a hostile name dies at once' start_agent "$evil" --scenario "$DATA/idle.scenario"
agent_plan "$evil" --die-at-once=3
crash "$evil"
patrol
is "$RC" 1 'its recovery fails'
# shellcheck disable=SC2016
like "$(cat "$HOME/own" 2>/dev/null)" '^me@example\.org\|Recovery failed for a\$\(touch ran\)`touch ran`\|gt-recover could not' 'the command got address, subject and text'
is "$(find "$W" -name ran | wc -l) $(mails)" '0 4' '  nothing of it was executed, and gt was not asked'
tm kill-session -t "$(agent_pane "$evil")"

# ---- several at once are one mail ----
config 'auto_recover = true'
for i in 1 2 3; do
	start_agent "many$i" --scenario "$DATA/idle.scenario"
	agent_plan "many$i" --die-at-once=3
	crash "many$i"
done
patrol
is "$RC $(mails)" '1 5' 'three failures of one pass are one mail'
like "$(cat "$W/mail.5/args")" 'Recovery failed for many1 and 2 more' '  that names the first'
like "$(cat "$W/mail.5/in")" 'many1.*many2.*many3' '  and tells of each'
for i in 1 2 3; do
	tm kill-session -t "=many$i"
done

# ---- others come first ----
ok 'an agent is killed' start_agent shared --scenario "$DATA/idle.scenario"
kill_agent shared
GT_GRACE_MS=5000 "$GT_RECOVER" patrol --town "$T" -L main >"$W/out" 2>"$W/err" </dev/null &
first=$!
PIDS+=("$first")
# somebody restarts it within the grace
tm respawn-pane -t "$(agent_pane shared)"
wait "$first"
is "$? $(cat "$W/out" "$W/err") $(agent_starts shared) $(messages shared)" '0  2 0' 'who restarts it within the grace is not disturbed'

if grep -q GT_FAULT "$GT_RECOVER"; then
	stopped() {
		[[ $(cat "/proc/$1/stat" 2>/dev/null) == *') T '* ]]
	}
	# ---- two at once ----
	crash shared
	GT_FAULT=store-commit:2=stop "$GT_RECOVER" patrol --town "$T" -L main >"$W/first" 2>&1 </dev/null &
	first=$!
	PIDS+=("$first")
	ok 'a first patrol stops at work' until_ 15 stopped "$first"
	patrol
	is "$RC $OUT$ERR" '0 ' 'a second one leaves it to the first, without a word'
	patrol --json
	is "$RC $(json '{sessions}')" '0 1' '  with --json it tells what it sees'
	kill -CONT "$first"
	wait "$first"
	is "$? $(messages shared)" '0 1' 'the first goes on'

	killed() {	# FAULT ARGS...: a run that the fault kills
		RC=0
		{ GT_FAULT=$1 "$GT_RECOVER" "${@:2}" >/dev/null 2>&1 </dev/null; } 2>/dev/null || RC=$?
	}

	# ---- killed around the mail: told again, and said to be so ----
	agent_plan shared --die-at-once=3
	crash shared
	before=$(mails)
	killed mail=kill patrol --town "$T" -L main
	is "$RC $(mails)" "137 $before" 'a patrol is killed before the mail'
	config 'auto_recover = false'
	killed mail-sent=kill patrol --town "$T" -L main
	is "$RC $(mails)" "137 $((before + 1))" 'the next one after it, before that is noted'
	patrol
	is "$RC $(mails)" "0 $((before + 2))" 'it is sent again, rather than never'
	like "$(cat "$W/mail.$((before + 2))/in")" 'may be a repetition' '  and says so'
	patrol
	is "$RC $(mails)" "0 $((before + 2))" 'then no more'

	# ---- a mailer that never works ----
	config 'auto_recover = true'
	gt release shared --town "$T" -L main
	agent_plan shared --die-at-once=3
	: >"$W/broken"
	patrol
	config 'auto_recover = false'
	before=$(mails)
	for i in 1 2 3 4 5; do
		patrol
	done
	is "$RC $(mails) $(events mail.given-up)" "0 $((before + 4)) 1" 'five tries, then it is given up'
	rm "$W/broken"

	# ---- a server that dies in the midst of a recovery ----
	config 'auto_recover = true'
	gt release shared --town "$T" -L main
	killed tmux=kill --all --yes --town "$T" -L main
	is "$RC" 137 'a recoverer is killed in the midst'
	pid=$(tm display-message -p '#{pid}')
	tm kill-server
	ok 'and the server ends' until_ 5 _gone "$pid"
	patrol --json
	is "$RC $(json '{startup}{servers_ended}') $(json '{startup}{closed}')" '0 1 1' 'the next patrol settles what was open'
	gt log --town "$T" --json
	like "$OUT" 'server\.ended.*its tmux server ended before it finished|its tmux server ended before it finished.*server\.ended' '  the ledger tells why'
	is "$(events server.ended)" 1 '  and of one end'
	patrol		# takes note of the server that it started
	before_files=$(all_files)
	patrol --json
	is "$RC $(json '{startup}')" '0 (none)' 'once'
	is "$(all_files)" "$before_files" '  and nothing is written'
else
	skip 'this build has no fault points' 17
fi

# ---- a timer of its own ----
cat >"$W/bin/systemctl" <<'SH'
#!/bin/sh
exit 1
SH
cat >"$W/bin/crontab" <<SH
#!/bin/sh
case \$1 in
-l) cat $W/tab 2>/dev/null || { echo 'no crontab for dev' >&2; exit 1; } ;;
-) cat >$W/tab ;;
-r) rm -f $W/tab ;;
esac
SH
chmod 755 "$W/bin/systemctl" "$W/bin/crontab"
gt install timer patrol --town "$T" --print
like "$RC $OUT" ' patrol --quiet --town ' 'a timer that runs patrol'
gt install timer --town "$T"
gt install timer patrol --town "$T"
is "$RC $(grep -c ' snapshot --quiet ' "$W/tab") $(grep -c ' patrol --quiet ' "$W/tab")" '0 1 1' '  stands beside the one for snapshots'
gt uninstall timer patrol --town "$T"
is "$RC $(grep -c ' snapshot --quiet ' "$W/tab") $(grep -c ' patrol --quiet ' "$W/tab")" '0 1 0' '  and goes by itself'
gt install timer nonsense --town "$T"
is "$RC" 2 'no other timer is known'
rm "$W/bin/systemctl" "$W/bin/crontab"

# ---- the plugin ----
P=$T/plugins/gt-recover
gt install plugin --town "$T" --print
like "$RC $OUT" '^0 # .*/plugins/gt-recover/plugin\.md.\+\+\+.*type = "cooldown".*patrol --quiet --town' '--print shows the plugin'
not_ok '  and makes nothing' test -e "$P"
odd=$W/odd$'\e]0;x\a\nrun me'
cp -r "$T" "$odd"
gt install plugin --town "$odd" --print
is "$RC $(head -n 2 <<<"$OUT" | grep -c '^# .*odd.x1b]0;x.x07.nrun me/plugins/gt-recover/plugin.md')" '0 1' '  its path is one line, and has no control characters'
script -qec "$GT_RECOVER install plugin --town '$odd' --print" /dev/null >"$W/typed" 2>&1 </dev/null
is "$(grep -c $'\e\|\a' "$W/typed") $(grep -c 'patrol --quiet --town' "$W/typed")" '0 2' '  nor has any of it on a terminal'
rm -r "$odd"
gt install plugin --town "$T"
like "$RC $ERR" '^0 .*: installed.*patrol --quiet --town' 'it is installed, and a line for hooks is told'
is "$(sed -n '1p;3,4p;/^+++$/=' "$P/plugin.md")" $'+++\n1\nname = "gt-recover"\ndescription = "Recover crashed agents with their context"\n20' 'plugin.md is TOML between two lines of +++'
stat -c '%i %y' "$P/run.sh" "$P/plugin.md" >"$W/before"
gt install plugin --town "$T" --json
is "$RC $(json '{result}') $(stat -c '%i %y' "$P/run.sh" "$P/plugin.md")" "0 unchanged $(cat "$W/before")" 'a second time writes nothing'
cat >"$W/bin/gt" <<SH
#!/bin/sh
printf '%s\n' "\$*" >>"$W/record"
SH
RC=0
OUT=$(cd "$P" && GT_TOWN_ROOT=$T bash run.sh 2>&1) || RC=$?
is "$RC $OUT" '0 ' 'run.sh makes a quiet pass'
like "$(cat "$W/record")" '^plugin record-run --plugin gt-recover --result success ' '  and records it, for the cooldown'
sed 's/duration = "2m"/duration = "9m"/' "$P/plugin.md" >"$W/edited" && cp "$W/edited" "$P/plugin.md"
gt install plugin --town "$T" --json
is "$RC $(json '{error}{name}')" '1 edited' 'what a person changed is not overwritten'
gt uninstall plugin --town "$T"
like "$RC $ERR" '^1 .*plugin\.md was changed by hand' '  nor removed'
same_file "$P/plugin.md" "$W/edited" '  it stands as it was'
ok '  with the script beside it' test -e "$P/run.sh"
rm "$P/plugin.md"
sed 2d "$P/run.sh" >"$W/older"
printf '# an older one\n' >>"$W/older" && sum=$(sha256sum "$W/older") &&
	sed "1a # Written by gt-recover install plugin, sha256 ${sum%% *}" "$W/older" >"$P/run.sh"
gt install plugin --town "$T"
is "$RC $(grep -c 'an older one' "$P/run.sh")" '0 0' 'an older one of ours is replaced'
gt uninstall plugin --town "$T"
is "$RC $(find "$T/plugins" | wc -l)" '0 1' 'uninstall takes all of it away'
gt uninstall plugin --town "$T"
like "$RC $ERR" '^0 .*none was installed' '  and again is nothing'
gt install plugin
is "$RC" 2 'without a town there is no plugin'
done_testing
