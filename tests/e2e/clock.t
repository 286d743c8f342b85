#!/bin/bash
# The clock: each pass of the timer writes a checkpoint of every epic under way, no further apart than checkpoint_interval, whether or not an
# agent does anything. Panes are looked at every snapshot_interval. With no epic under way a pass writes nothing.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/epics.sh
. "$ROOT/tests/e2e/epics.sh"

everything() {
	sql "$DB" "select key, version, value from record order by key"
}
kept() {	# KEY MEMBER: of a record
	sql "$DB" "select json_extract(value, '\$.$2') from record where key = '$1'"
}
passes() {	# N [VARIABLE=VALUE...]: one line a pass, in $W/passes
	local n=$1
	shift
	RC=0
	env "$@" "$GT_RECOVER" -L main snapshot --passes "$n" --json >"$W/passes.json" 2>"$W/err" || RC=$?
	perl -MJSON::PP -MTime::Local -0777 -ne 'sub ms { shift =~ /^(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)\.?(\d*)Z$/ or die; 1000 * timegm($6, $5, $4, $3, $2 - 1, $1) + ($7 || 0) }
		binmode STDOUT, ":utf8"; my $d = JSON::PP->new->utf8; $d->incr_parse($_);
		while (my $v = $d->incr_parse) { print join(" ", ms($v->{epics}{at}), $v->{epics}{open}, $v->{epics}{records}, $v->{panes_due} ? 1 : 0), "\n" }' \
		"$W/passes.json" >"$W/passes"
}
largest_gap() {	# FILE...: between checkpoints that were written, seconds
	cat "$@" | awk '$3 > 0 { if (last && $1 - last > gap) gap = $1 - last; last = $1 } END { printf "%.1f", gap / 1000 }'
}
at_most() {	# NUMBER LIMIT
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && a <= b) }'
}

ok 'an agent works' start_agent coder --scenario "$DATA/work.scenario"
record coder ",\"pid\":$(agent_pid coder),\"cursor_session_id\":\"11111111-2222-4333-8444-555555555555\""
is "$RC" 0 'its session is recorded'
checkpoint epic shop '{"name": "Shop", "sprints": [{"id": "cart", "status": "in_progress", "progress": 40}]}'
checkpoint sprint cart '{"epicId": "shop", "progress": 40, "agents": [{"id": "coder"}]}'
is "$RC" 0 'and its epic'

# ---- a pass ----
gt -L main snapshot --passes 1 --json
is "$RC $(json '{epics}{open}') $(json '{panes_due}') $(json '{taken}')" '0 1 true 1' 'the first pass looks at the panes, too'
was=$(kept epic:shop:state lastCheckpoint)
version=$(sql "$DB" "select version from record where key = 'epic:shop:state'")
gt -L main snapshot --passes 1 --json
is "$RC $(json '{epics}{open}') $(json '{panes_due}') $(json '{panes}')" '0 1 false 0' 'the next one does not'
unlike "$(kept epic:shop:state lastCheckpoint)" "$was" '  but makes a checkpoint'
is "$(sql "$DB" "select version from record where key = 'epic:shop:state'")" $((version + 1)) '  with one commit'
is "$(kept sprint:cart:state lastCheckpoint) $(kept agent:coder:state lastHeartbeat)" \
	"$(kept epic:shop:state lastCheckpoint) $(kept epic:shop:state lastCheckpoint)" '  of the sprint and the agent, too'
is "$(kept sprint:cart:state progress) $(kept epic:shop:state name)" '40 Shop' '  and what was told of it stays'
gt -L main snapshot --passes 0
is "$RC" 2 'no pass is refused'
gt -L main snapshot --passes 2 coder
is "$RC" 2 'so is a session beside it'

# ---- files in progress ----
cat >"$W/transcript.jsonl" <<JSON
{"type":"assistant","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"$W/cart.c","content":"half"}}]}}
JSON
printf '{"session_id":"11111111-2222-4333-8444-555555555555","transcript_path":"%s","cwd":"%s","tool_name":"Bash","tool_input":{"command":"true"}}' \
	"$W/transcript.jsonl" "$W" >"$W/in"
gt_in "$W/in" hook PostToolUse
gt -L main snapshot --passes 1
is "$(kept sprint:cart:state 'filesInProgress[0].path')" "$W/cart.c" 'a file that only the transcript shows is in progress'
printf '{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"Edit","input":{"file_path":"%s"}}]}}\n' "$W/pay.c" >>"$W/transcript.jsonl"
gt -L main snapshot --passes 1
is "$(kept sprint:cart:state 'filesInProgress[1].path')" "$W/pay.c" '  and the next one, too'
printf '{"path": "src/cart.c", "nextSection": "total"}' >"$W/in"
gt_in "$W/in" checkpoint file cart
gt -L main snapshot --passes 1
like "$RC $(kept sprint:cart:files 'files[0].path')" '^0 src/cart.c$' 'what the agent tells itself stays'

# ---- two hours, on a clock that nobody waits for ----
passes 240 GT_CLOCK=fast
is "$RC $(wc -l <"$W/passes") $(awk '$3 > 0' "$W/passes" | wc -l)" '0 240 240' 'two hours are 240 passes, each with a checkpoint'
gap=$(largest_gap "$W/passes")
ok "no two are more than 35 s apart ($gap s)" at_most "$gap" 35
looked=$(awk '{ n += $4 } END { print n }' "$W/passes")
ok "the panes were looked at every 5 minutes ($looked times)" eval '[ "$looked" -ge 23 ] && [ "$looked" -le 25 ]'
last=$(tail -n 1 "$W/passes" | cut -d ' ' -f 1)
is "$(kept epic:shop:state lastCheckpoint)" "$(perl -e 'my $ms = shift; my @t = gmtime(int($ms / 1000)); my $part = $ms % 1000 ? sprintf(".%03d", $ms % 1000) : "";
	printf "%04d-%02d-%02dT%02d:%02d:%02d%sZ", $t[5] + 1900, $t[4] + 1, @t[3, 2, 1, 0], $part' "$last")" 'the store has the last one'

# ---- a pass that is killed ----
cp "$W/passes" "$W/before"
passes 12 GT_CLOCK=fast GT_CLOCK_AHEAD=7200000 GT_FAULT=store-commit:6=kill
is "$RC" 137 'a pass is killed before its commit'
cp "$W/passes" "$W/killed"
done=$(wc -l <"$W/killed")
ok '  after some that were not' test "$done" -ge 1
# systemd and cron make the next one when its time has come: one interval after that of the killed one
passes 3 GT_CLOCK=fast GT_CLOCK_AHEAD=$((7200000 + (done + 1) * 30000))
is "$RC" 0 '  the timer makes the next one'
gap=$(largest_gap "$W/killed" "$W/passes")
ok "  no two checkpoints are more than 65 s apart ($gap s)" at_most "$gap" 65

# ---- nothing under way ----
checkpoint sprint cart '{"epicId": "shop", "status": "completed", "progress": 100}'
checkpoint epic shop '{"status": "completed", "sprints": [{"id": "cart", "status": "completed", "progress": 100}]}'
# the first one sees a last sign of life of the fast clock
gt -L main snapshot
gt -L main snapshot --passes 1
before=$(everything)
gt -L main snapshot --passes 1 --json
is "$RC $(json '{epics}{open}') $(json '{epics}{records}')" '0 0 0' 'with no epic under way'
is "$(diff <(everything) <(echo "$before"))" '' '  a pass writes nothing'

# ---- a crash ----
checkpoint epic shop '{"name": "Shop", "status": "in_progress", "sprints": [{"id": "cart", "status": "in_progress", "progress": 60}]}'
checkpoint sprint cart '{"epicId": "shop", "status": "in_progress", "progress": 60, "agents": [{"id": "coder"}]}'
gt -L main snapshot --passes 1
was=$(kept epic:shop:state lastCheckpoint)
ok 'the agent is killed' kill_agent coder
gt -L main snapshot --passes 1 --json
is "$RC $(json '{epics}{open}') $(kept epic:shop:state lastCheckpoint)" "0 0 $was" '  no checkpoint is made of an epic whose agents are dead'
gt epic status shop
like "$RC $OUT" '^0 .*Shop.*INTERRUPTED.*Estimated work loss: 0%' '  and nothing of it is lost'
done_testing
