#!/bin/bash
# Every guard by its name and its sentence, when the session is named and under --all: what is refused is not touched, and naming lifts
# only what only a person can know.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"
STATE=$XDG_STATE_HOME/gt-recover
cat >"$W/off.toml" <<'TOML'
[recovery]
spacing = "0s"
[recovery.sessions]
off = "off"
TOML
cat >"$W/disabled.toml" <<'TOML'
[recovery]
enabled = false
TOML
cat >"$W/quick.toml" <<'TOML'
[recovery]
spacing = "0s"
TOML

panes() {	# everything about the panes that a recovery would change
	tm list-panes -a -F '#{pane_id} #{pane_pid} #{pane_dead} #{history_size} #{pane_start_command}' | cksum
}

told() {	# how many messages all agents together were given
	find "$W/agents" -name 'message.*' | wc -l
}

untouched() {	# WHAT: since $before and $before_told were taken
	is "$(panes) $(told)" "$before $before_told" "$1: no pane is touched, nothing delivered"
}

# A dead pane that would end this tmux is reset by whoever finds it (focus.t): that is no recovery.
mark() {
	"$GT_RECOVER" list -L main >"$W/out" 2>&1
	before=$(panes) before_told=$(told)
}

# tmux 3.3a may miss how a child ended until another one does, and only then writes its own row below the screen.
settled() {	# SESSION
	wake
	pane_is "$1" '#{pane_dead}' 0 || until_ 5 pane_shows "$1" '^Pane is dead'
}

crash() {	# SESSION START-OPTION...
	start_agent "$@" --scenario "$DATA/idle.scenario" && kill_agent "$1" && settled "$1"
}

# refused SESSION NAME SENTENCE OPTION...: the session is named
refused() {
	local session=$1 name=$2 sentence=$3
	shift 3
	mark
	gt "$session" -L main "$@" --json
	is "$RC $(json '{results}[0]{error}{name}')" "6 $name" "$session named: refused by the guard $name"
	is "$(json '{results}[0]{error}{message}')" "refused: $sentence" 'with its sentence'
	like "$(json '{results}[0]{error}{hint}')" '...' 'and what to do'
	gt "$session" -L main "$@"
	like "$RC $ERR" "^6 .*refused: ${sentence//[()]/.}" 'in words too'
	gt "$session" -L main "$@" --dry-run
	is "$RC" 6 'and so is a dry run'
	untouched "$session named"
}

# left_out SESSION NAME OPTION...: not by itself, as the list says; --all has nothing else to do
left_out() {
	local session=$1 name=$2
	shift 2
	mark
	gt list -L main "$@" --json
	is "$(printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne 'for (@{decode_json($_)->{sessions}}) {
		print $_->{recoverable} ? "yes" : "no", " ", $_->{refusal} // "none" if $_->{name} eq "'"$session"'" }')" "no $name" \
		"$session in the list: refusal $name"
	gt --all --yes -L main "$@"
	is "$RC" 4 "--all finds nothing to do"
	untouched "--all beside $session"
}

gone() {	# SESSION: done with it
	tm kill-session -t "=$1"
}

recovered() {	# SESSION OPTION...
	local session=$1 n
	shift
	n=$(messages "$session")
	gt "$session" -L main "$@" --json
	is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' "$session named: recovered"
	is "$(messages "$session")" $((n + 1)) 'and told once'
	gone "$session"
}

# ---- live ----
ok 'a living agent' start_agent live --scenario "$DATA/idle.scenario"
left_out live live
refused live live 'its agent is alive'
gone live

# ---- unknown ----
mkdir -p "$(agent_dir doubt)"
tm new-session -d -s doubt -x 100 -y 30 -e GT_ROLE=gt/polecats/doubt -P -F '#{pane_id}' 'exec bash --norc --noprofile' \
	>"$(agent_dir doubt)/pane"
ok 'a shell that is meant for an agent' until_ 5 pane_is doubt '#{pane_current_command}' bash
left_out doubt unknown
gt list -L main
like "$OUT" 'no evidence that an agent ran here' 'the list says what is in doubt'
refused doubt unknown 'cannot tell whether the agent is dead'
gone doubt

# ---- off ----
ok 'an agent that is switched off is killed' crash off
left_out off off --config "$W/off.toml"
refused off off 'recovery is switched off for this session' --config "$W/off.toml"
recovered off

# ---- infra ----
ok 'the mayor is killed' crash boss --env GT_ROLE=mayor
left_out boss infra
gt --all --include-infra --dry-run -L main
like "$RC $OUT" '^0 .*would recover boss' '--include-infra lifts it'
gt context boss -L main
is "$RC" 0 'its context can be looked at'
recovered boss
ok 'a witness is killed' crash eyes --env GT_ROLE=gt/witness
left_out eyes infra
gt --all --yes --include-infra -L main --config "$W/quick.toml" --json
is "$RC $(json '{results}[0]{session}') $(json '{results}[0]{phase}')" '0 eyes acknowledged' '--all --include-infra brings it back'
gone eyes

# ---- stopped ----
ok 'an agent is told to leave' start_agent ended --scenario "$DATA/idle.scenario"
tell_agent ended /exit
ok 'it ends with status 0' until_ 10 pane_is ended '#{pane_dead}' 1
settled ended
left_out ended stopped
gt --all --dry-run -L main
like "$RC $OUT" '^4 .*ended on purpose' 'the plan says why'
recovered ended
for how in 'HUP 129' 'TERM 143'; do
	ok "an agent ends by SIG${how% *}" start_agent "end${how#* }" --scenario "$DATA/idle.scenario"
	kill_agent "end${how#* }" "${how% *}" && settled "end${how#* }"
	is "$(listed "end${how#* }" exit_status)" "${how#* }" "with status ${how#* }"
	left_out "end${how#* }" stopped
	recovered "end${how#* }"
done

# ---- typing ----
left_in_shell() {	# SESSION
	start_agent "$1" --wrapper --scenario "$DATA/idle.scenario" && kill_agent "$1" && until_ 5 listed_is "$1" class zombie
}
by_all() {	# SESSION MESSAGES: --all brings it back, with somebody attached, and does not wait
	gt --all --yes -L main --config "$W/quick.toml"
	is "$RC $(messages "$1")" "0 $2" "--all brings $1 back"
	unlike "$ERR" 'waiting [0-9]+ s' '  at once'
	gone "$1"
}
ok 'an agent is killed' crash watched
ok 'somebody attaches to its dead pane' visit watched
ok '  and types' types watched x
is "$(listed watched recoverable)" 1 'a dead pane receives no keys: nothing speaks against it'
by_all watched 1
ok 'an agent ends, its shell stays' left_in_shell idle
ok 'somebody attaches to the idle shell' visit_still idle
tm send-keys -t "$(agent_pane idle)" -l 'half a li'
is "$(listed idle recoverable)" 1 'a client alone, and half a line in the shell, refuse nothing'
by_all idle 1
ok 'another looks at a shell and may not type' left_in_shell reader
visit reader -r
ok '  but presses keys' types reader x
by_all reader 1

ok 'somebody types in an idle shell' left_in_shell busy
visit busy
mark
types busy l
is "$(listed busy recoverable) $(listed busy refusal)" '0 typing' 'busy in the list: refusal typing'
gt --all --dry-run -L main
like "$RC $OUT" '^0 would wait +busy .*someone typed in its pane less than a minute ago \(typing\)' 'the plan says that it is waited for'
untouched 'while somebody types'
if grep -q GT_QUIET_MS "$GT_RECOVER"; then
	(while :; do term send-keys -t =at-busy: x && read -rt 0.1 -u "$TICK"; done) 2>/dev/null &
	typist=$!
	PIDS+=("$typist")
	GT_QUIET_MS=4000 gt --all --yes -L main --json
	is "$RC $(json '{results}[0]{error}{name}')" '6 typing' '--all gives up when somebody goes on typing'
	like "$ERR" 'waiting [1-4] s: someone is typing in busy' '  after a wait'
	untouched 'after the wait'
	kill "$typist"
	wait "$typist" 2>/dev/null
	types busy l
	GT_QUIET_MS=5000 gt --all --yes -L main
	is "$RC $(messages busy)" '0 1' 'it brings the agent back when it is quiet'
	like "$ERR" 'waiting [1-5] s: someone is typing in busy.*found=1 recovered=1 unacknowledged=0 refused=0' '  after a wait'
	gone busy
	ok 'two agents end, their shells stay' left_in_shell first
	ok '  the second with somebody attached' left_in_shell second
	visit second
	printf '[recovery]\nspacing = "2s"\n' >"$W/spaced.toml"
	GT_QUIET_MS=7000 "$GT_RECOVER" --all --yes -L main --config "$W/spaced.toml" >"$W/out" 2>"$W/err" </dev/null &
	all=$!
	PIDS+=("$all")
	ok '--all begins with the first' until_ 20 messages_are first 1
	ok '  and somebody begins to type in the second' types second l
	wait "$all"
	is "$? $(messages first) $(messages second)" '0 1 1' 'both are brought back'
	like "$(cat "$W/err")" 'resuming work.*waiting [1-7] s: someone is typing in second.*resuming work.*found=2 recovered=2' \
		'  the second when it is quiet'
	gone first
	gone second
	left_in_shell busy && visit busy && types busy l
else
	skip 'this build has no shorter minute' 12
fi
recovered busy

ok 'somebody types in the split beside an idle shell' left_in_shell beside
beside=$(agent_pane beside)
tm split-window -t "$beside"
visit beside
ok '  gt-recover --all' types beside 'g'
is "$(listed beside recoverable)" 1 'that refuses nothing'
ok 'and goes over to the shell' types beside C-b o
ok '  which is the active pane then' until_ 5 pane_is beside '#{pane_active}' 1
is "$(listed beside refusal)" typing 'that does'
types beside C-b o
ok '  and comes back' until_ 5 pane_is beside '#{pane_active}' 0
by_all beside 1
term kill-server

# ---- unsure ----
printf '#!/bin/sh\nexec claude --no-session-file\n' >"$W/bin/anything"
chmod +x "$W/bin/anything"
ok 'an agent of which only the screen tells is killed' crash hazy --command "$W/bin/anything"
left_out hazy unsure
recovered hazy

# ---- no-place ----
mkdir -p "$W/left"
ok 'an agent that a person typed is killed' crash typed --shell --cwd "$W/left"
ok 'its shell is idle' until_ 5 listed_is typed class zombie
rmdir "$W/left"
left_out typed no-place
refused typed no-place 'its working directory no longer exists'
visit typed
ok 'somebody types in it' types typed l
is "$(listed typed refusal)" no-place 'the reason that lasts is told, not typing'
gt --all --yes -L main
is "$RC" 4 '--all has nothing to do'
unlike "$ERR" 'waiting [0-9]+ s' '  and does not wait for a quiet minute'
term kill-server
gone typed

# ---- closed-work ----
cat >"$W/sql.c" <<'C'
#include <sqlite3.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	sqlite3 *db;
	if (argc != 3 || sqlite3_open(argv[1], &db) != 0 || sqlite3_exec(db, argv[2], NULL, NULL, NULL) != 0)
		return 1;
	return sqlite3_close(db) != 0;
}
C
sql() {		# DATABASE STATEMENTS
	if command -v sqlite3 >/dev/null; then
		sqlite3 "$1" "$2"
	else
		"$W/sql" "$1" "$2"
	fi
}
if command -v sqlite3 >/dev/null || "${CC:-cc}" -o "$W/sql" "$W/sql.c" -lsqlite3 2>/dev/null; then
	mkdir -p "$W/proj/.beads"
	db=$W/proj/.beads/beads.db
	sql "$db" "CREATE TABLE issues (id TEXT PRIMARY KEY, title TEXT, description TEXT, status TEXT, assignee TEXT, issue_type TEXT);
		INSERT INTO issues VALUES ('gt-1', 'Mend the lexer', 'Keep the comments.', 'closed', 'gt/polecats/worker', 'task');"
	before_db=$(cksum <"$db")
	ok 'an agent whose work is closed is killed' crash worker --env GT_ROLE=gt/polecats/worker --env GT_WORK_BEAD=gt-1 \
		--env "BEADS_DIR=$W/proj/.beads"
	left_out worker closed-work
	refused worker closed-work 'its work is closed'
	is "$(cksum <"$db") $(find "$W/proj/.beads" -type f | wc -l)" "$before_db 1" 'their database is as it was, and alone'
	sql "$db" "UPDATE issues SET status = 'tombstone'"
	refused worker closed-work 'its work is closed'
	sql "$db" "UPDATE issues SET status = 'hooked'"
	is "$(listed worker bead)" gt-1 'reopened, it is listed with the session'
	recovered worker
	ok 'and stands in the prompt' grep -q 'Mend the lexer' "$(message_file worker)"
else
	skip 'neither the sqlite3 program nor a compiler with libsqlite3 is here' 21
fi

# ---- halted ----
mkdir -p "$W/town/mayor" "$W/town/daemon"
echo '{"type":"town","version":1,"name":"town"}' >"$W/town/mayor/town.json"
ok 'a polecat of a town is killed' crash nux --env GT_ROLE=gt/polecats/nux
halted='Gas Town is stopped or shutting down (ESTOP or shutdown.lock)'
: >"$W/town/ESTOP"
left_out nux halted --town "$W/town"
refused nux halted "$halted" --town "$W/town"
rm "$W/town/ESTOP"
: >"$W/town/ESTOP.gt"
refused nux halted "$halted" --town "$W/town"
mv "$W/town/ESTOP.gt" "$W/town/ESTOP.other"
gt nux -L main --town "$W/town" --dry-run
is "$RC" 0 'the stop of another rig is none for this one'
exec 8>"$W/town/daemon/shutdown.lock"
if command -v flock >/dev/null && flock -n 8; then
	refused nux halted "$halted" --town "$W/town"
	flock -u 8
else
	skip 'there is no flock program to hold shutdown.lock' 6
fi
exec 8>&-
ok 'the mayor is killed as well' crash chief --env GT_ROLE=mayor
: >"$W/town/ESTOP"
gt chief -L main --town "$W/town" --dry-run
is "$RC" 0 'ESTOP does not concern the mayor'
gone chief
rm "$W/town/ESTOP"

# ---- disabled ----
mark
for args in '' list '--all --yes' nux '--dry-run'; do
	# shellcheck disable=SC2086	# words
	gt $args -L main --config "$W/disabled.toml"
	like "$RC $ERR" '^0 .*disabled \(enabled = false, .*disabled.toml:2\)' "enabled = false answers: gt-recover $args"
done
untouched 'while disabled'

# ---- locked ----
if grep -q GT_FAULT "$GT_RECOVER"; then
	stopped() {
		[[ $(cat "/proc/$1/stat" 2>/dev/null) == *') T '* ]]
	}
	mark
	GT_FAULT=store-commit=stop "$GT_RECOVER" nux -L main --json >"$W/first" 2>/dev/null </dev/null &
	first=$!
	PIDS+=("$first")
	ok 'a first recoverer stops while it holds the lock' until_ 10 stopped "$first"
	gt nux -L main --json
	is "$RC $(json '{results}[0]{error}{name}')" '75 locked' 'a second is told to come back'
	like "$(json '{results}[0]{error}{message}')" 'another gt-recover is recovering this session' 'with a sentence'
	GT_LOCK_MS=2000 gt --all --yes -L main --json
	is "$RC $(json '{results}[0]{error}{name}')" '75 locked' 'so is --all'
	untouched 'the second one'
	kill -CONT "$first"
	wait "$first"
	is "$?" 0 'the first goes on and succeeds'
	is "$(messages nux)" 1 'the agent was told once'
else
	skip 'this build has no fault points' 7
fi
is "$(find "$STATE/prompts" -type f 2>/dev/null | wc -l)" 0 'no prompt file is left'
done_testing
