#!/bin/bash
# What happened: the log, its export and the check of it, the figures, and the way out for an attempt of which nobody can tell how it ended.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
STATE=$XDG_STATE_HOME/gt-recover
LOG=$STATE/events.jsonl
cat >"$W/paste.toml" <<'TOML'
[recovery]
ready_timeout = "3s"
ack_timeout = "3s"
[recovery.agents.claude]
deliver = "paste"
TOML

# ---- before anything happened ----
gt log
like "$RC $ERR" '^0 No events yet' 'an empty log'
gt log --json
is "$RC $(json '{events}')" '0 0' 'in JSON'
gt stats --json
is "$RC $(json '{attempts}') $(json '{crash_to_acknowledged}{p50_ms}')" '0 0 (none)' 'no figures'
gt stats
like "$RC $OUT" 'attempts +0' 'to people too'
not_ok 'reading writes nothing' test -e "$STATE"

# ---- one recovery, one refusal ----
ok 'an agent is killed' start_agent toast --scenario "$DATA/idle.scenario"
kill_agent toast
ok 'another one ends on purpose' start_agent ended --scenario "$DATA/idle.scenario"
tell_agent ended /exit
ok 'with status 0' until_ 10 pane_is ended '#{pane_dead}' 1
wake
gt -L main --all --yes --json
is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'the first is recovered'
id=$(json '{results}[0]{recovery_id}')
gt log
like "$OUT" "toast +recovery started +$id  killed" 'the log tells how it began'
like "$OUT" "toast +agent resumed +$id" 'and how it ended'
like "$OUT" 'ended +refused +stopped' 'and who was refused'
like "$(head -n 1 <<<"$OUT")" '^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}  [0-9]+s ago ' 'with time and age'
is "$(grep -c . <<<"$OUT")" 6 'one line an event'
all=$OUT
TZ=JST-9 gt log
is "$(($(date -ud "$(head -n 1 <<<"$OUT" | cut -c 1-19)" +%s) - $(date -ud "$(head -n 1 <<<"$all" | cut -c 1-19)" +%s)))" 32400 'the time is that of the person'
gt log ended
is "$(grep -c . <<<"$OUT") $(grep -c toast <<<"$OUT")" '1 0' 'of one session alone'
gt log --since 0 --json
is "$RC $(json '{events}')" '0 0' 'of the last moment'
gt log --since 1h --json
is "$(json '{events}') $(json '{events}[0]{seq}')" '6 1' 'of the last hour'
is "$(json '{events}[5]{kind}') $(json '{events}[5]{subject}')" "attempt.acknowledged $id" 'the newest is last'
gt log --since tomorrow
is "$RC" 2 'a strange age is refused'
gt stats --json
is "$(json '{attempts}') $(json '{phases}{acknowledged}') $(json '{classes}{dead}') $(json '{reasons}{killed}')" '1 1 1 1' 'the figures'
is "$(json '{refusals}{stopped}') $(json '{crash_to_acknowledged}{count}')" '1 1' 'with refusals and times'
ok 'the time is a likely one' [ "$(json '{crash_to_acknowledged}{p95_ms}')" -lt 120000 ]
gt stats --since 1h
like "$OUT" 'result +acknowledged 1' 'to people too'
gt -L main log --json
is "$RC $(json '{events}') $(json '{events}[5]{socket}')" "0 6 $TMUX_TMPDIR/tmux-$(id -u)/main" '-L shows those of that server'
gt -L other log --json
is "$RC $(json '{events}')" '0 0' '  and of no other'
gt -L other stats --json
is "$RC $(json '{attempts}') $(json '{refusals}{stopped}')" '0 0 (none)' '-L counts those of that server'
gt -L other -L main stats --json
is "$RC $(json '{attempts}') $(json '{refusals}{stopped}')" '0 1 1' '  or of several'
gt stats toast
is "$RC" 2 'stats takes no name'
gt -L main --all --yes
is "$(gt log && grep -c . <<<"$OUT")" 6 'a refusal that is repeated is told once'

# ---- the export ----
is "$(wc -l <"$LOG") $(stat -c %a "$LOG")" '6 600' 'the export has them, for the owner alone'
gt log --verify
like "$RC $OUT" '^0 .*contains the 6 events of the store\.$' 'it is what the store holds'
before=$(cksum <"$LOG")
printf '{"seq":7,"at":17' >>"$LOG"
gt log --verify --json
is "$RC $(json '{verified}{lines}')" '0 6' 'a torn end is taken off'
is "$(cksum <"$LOG")" "$before" 'to the byte'
head -n 3 "$LOG" >"$W/cut"
head -c 10 <(tail -n +4 "$LOG") >>"$W/cut"
cat "$W/cut" >"$LOG"
gt log --verify
like "$RC $OUT" '^0 .*3 of them were missing and were added\.$' 'so is one that is torn further up'
is "$(cksum <"$LOG")" "$before" 'it is whole again'
sed -i '2s/"at":1/"at":2/' "$LOG"
gt log --verify --json
is "$RC $(json '{error}{name}')" '1 event-log' 'a line that was altered is found'
like "$(json '{error}{message}')" '^line 2 of .* differs from the store' 'by its number'
rm "$LOG"
gt log --verify
like "$RC $OUT" '^0 .*6 of them were missing' 'a lost file is written anew'
is "$(cksum <"$LOG")" "$before" 'as it was'
chmod 644 "$LOG"
gt log --verify --json
is "$RC $(json '{error}{name}')" '1 not-private' 'a file that others can read is refused'
chmod 600 "$LOG"

# ---- whoever is killed after the paste, before anybody took it up ----
if grep -q GT_FAULT "$GT_RECOVER"; then
	ok 'an agent is killed' start_agent half --scenario "$DATA/idle.scenario"
	kill_agent half
	{ GT_FAULT=store-committed:4=kill gt half -L main --config "$W/paste.toml"; } 2>/dev/null
	is "$RC" 137 'and its recoverer, right before the paste'
	# the mark that is set in one breath with a paste, and a person who cleared the box
	tm set-option -p -t "$(agent_pane half)" @gt_recover_pasted "$(sql "$STATE/recover.db" "select id from attempt where session = 'half'")"
	gt half -L main --config "$W/paste.toml"
	is "$RC $(messages half)" '5 0' 'the next run cannot know'
	like "$ERR" 'the prompt was submitted.*gt-recover records release' 'and says what a person can do'
	gt release half -L main --json
	is "$RC $(json '{released}[0]{ended}') $(json '{released}[0]{ended}[0]{phase}')" '0 1 respawned' 'a person ends the attempt'
	is "$(agent_starts half)" 2 'the agent is left alone'
	gt log half
	like "$OUT" 'recovery failed +gtr-[0-9a-f]+  released by the user' 'the log tells why'
	kill_agent half
	gt half -L main --config "$W/paste.toml" --json
	is "$RC $(json '{results}[0]{phase}') $(messages half)" '0 acknowledged 1' 'the next run begins anew, and tells the agent once'
	gt stats --json
	is "$(json '{failures}[0]{message}') $(json '{failures}[0]{count}')" 'released by the user 1' 'it is counted'

	# ---- one that is at work is not ended under its hands ----
	is_stopped() {
		[[ $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) == T* ]]
	}
	kill_agent half
	GT_FAULT=tmux=stop "$GT_RECOVER" half -L main --json >"$W/bg.out" 2>"$W/bg.err" </dev/null &
	bg=$!
	PIDS+=("$bg")
	ok 'a recoverer is at work' until_ 10 is_stopped "$bg"
	gt release half -L main --json
	is "$RC $(json '{error}{name}')" '75 locked' 'release waits for another time'
	kill -CONT "$bg"
	wait "$bg"
	is "$?" 0 'the recoverer ends well'
else
	skip 'this build has no fault points' 13
fi
gt log --verify
is "$RC" 0 'the log is whole'
done_testing
