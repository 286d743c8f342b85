#!/bin/bash
# Several at once: the plan, who is asked, what a failure among them means, and a Ctrl-C in the middle.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"
NAMES=(ant bee cat dog)
cat >"$W/gt.toml" <<'TOML'
[recovery]
spacing = "0s"
parallel = 1
max_attempts = 1000
TOML
with=(-L main --config "$W/gt.toml")

panes() {
	tm list-panes -a -F '#{pane_id} #{pane_pid} #{pane_dead} #{history_size}'
}
crash() {	# SESSION
	start_agent "$1" --scenario "$DATA/work.scenario" && until_ 10 pane_shows "$1" 'test 7 ok' && kill_agent "$1" && wake &&
		until_ 5 pane_shows "$1" '^Pane is dead'
}
told() {	# how often each was told something
	local name
	for name in "${NAMES[@]}"; do
		printf '%s=%s ' "$name" "$(messages "$name")"
	done
}
plan() {	# what was printed, without the ages
	sed 's/\[crashed [^]]*\] */[crashed N] /' "$W/out"
}
untouched() {	# DESCRIPTION
	is "$(panes)" "$before" "$1"
	is "$(written)" "$before_written" 'nothing is written'
}
written() {
	find "$XDG_STATE_HOME/gt-recover" -type f -printf '%p %T@\n' 2>/dev/null | sort
}

ok 'one lives' start_agent bystander --scenario "$DATA/idle.scenario"
bystander=$(agent_pid bystander)
look() {	# what is seen is kept once; a dead pane that would end this tmux is kept and reset by whoever finds it (focus.t)
	local i
	for i in 1 2; do
		"$GT_RECOVER" -L main --include-infra >"$W/out" 2>&1 </dev/null
	done
}
look
before=$(panes) before_written=$(written)
gt "${with[@]}" --all --yes
is "$RC" 4 'nothing to recover'
like "$ERR" 'Nothing to recover' 'is said'
gt "${with[@]}" --all --yes --json
is "$RC $(json '{results}')" '4 0' 'and in JSON'
gt "${with[@]}" --all --dry-run
is "$RC" 4 'so is a dry run'
untouched 'nothing is touched'

for name in "${NAMES[@]}"; do
	ok "$name is killed" crash "$name"
done
look
before=$(panes) before_written=$(written)

# ---- the plan ----
gt "${with[@]}" --all --dry-run
is "$RC" 0 'a dry run'
is "$(grep -c '^would recover' <<<"$OUT")" 4 'would recover four'
unlike "$OUT" bystander 'and not the living one'
is "$(grep -c '^ *resumes its conversation, about [0-9.]*k\{0,1\} tokens$' <<<"$OUT")" 4 'with the way of each and its tokens'
like "$OUT" '
4 agents, about [0-9.]+k? tokens in their first requests$' 'and their sum'
plan=$(plan)
gt "${with[@]}" --dry-run
is "$(plan)" "$plan" 'a bare --dry-run says the same'
gt "${with[@]}" --all
is "$RC" 2 'without --yes and without a terminal it does nothing'
is "$(plan)" "$plan" 'but show the plan'
like "$ERR" 'needs --yes' 'and what is missing'
gt "${with[@]}" --all --json
is "$RC $(json '{error}{name}')" '2 needs-yes' 'the same in JSON'
gt "${with[@]}" --dry-run --json
is "$RC $(json '{dry_run}') $(json '{sessions}')" '0 true 4' 'the plan in JSON'
is "$(json '{sessions}[0]{recoverable}')" true 'with what could be recovered'
is "$(json '{sessions}[0]{via}') $(json '{tokens_unknown}')" 'resume 0' 'how'
ok 'and the tokens: of each, and their sum' [ "$(json '{tokens}')" = \
	"$(($(json '{sessions}[0]{tokens}') + $(json '{sessions}[1]{tokens}') + $(json '{sessions}[2]{tokens}') + $(json '{sessions}[3]{tokens}')))" ]
gt "${with[@]}" --all ant
is "$RC" 2 '--all and a name do not go together'
ok 'a terminal' term_start 100 30
term_run "${with[@]}" --all
ok 'on a terminal it asks' until_ 10 term_shows '^Recover these 4 sessions\? \[y/N\]:'
term_keys Enter
term_ended
is "$STATUS" 'exit 4' 'and takes an empty answer for no'
term_run "${with[@]}" --all
until_ 10 term_shows '^Recover these 4 sessions'
term_keys C-c
term_ended
is "$STATUS" 'signal 2' 'Ctrl-C ends it'
untouched 'nothing is touched'

# ---- four, one of which dies at once ----
agent_plan bee --die-at-once=3
gt "${with[@]}" --all --yes --json
is "$RC" 3 'some are back, some not'
is "$(json '{results}')" 4 'each has its result'
is "$(for i in 0 1 2 3; do json "{results}[$i]{session}" && printf '=' && json "{results}[$i]{phase}" && printf ' '; done)" \
	'ant=acknowledged bee=failed cat=acknowledged dog=acknowledged ' 'three are acknowledged'
is "$(json '{results}[1]{error}{name}')" died 'the fourth died'
is "$(told)" 'ant=1 bee=0 cat=1 dog=1 ' 'each was told once'
for name in ant cat dog; do
	kill_agent "$name" || fail "$name lives"
done
agent_plan bee --die-at-once=3
started=${EPOCHREALTIME/[.,]/}
gt "${with[@]}" --all --yes
is "$RC" 3 'the same for a person'
is "$(tail -n 1 <<<"$ERR")" 'found=4 recovered=3 unacknowledged=0 refused=0 failed=1' 'the last line counts them'
is "$(grep -c 'Starting recovery' <<<"$ERR")" 4 'each was tried'
is "$(grep -Eo '^\[[0-9]/4\] (ant|bee|cat|dog)$' <<<"$ERR" | tr '\n' ' ')" '[1/4] ant [2/4] bee [3/4] cat [4/4] dog ' 'with its place among all'
like "$ERR" '! bee: Claude crashed again right after its start \(status 3\)' 'and bee is named'
took=$(((${EPOCHREALTIME/[.,]/} - started) / 1000))

# ---- spacing ----
gt "${with[@]}" --all --yes --json
is "$RC $(json '{results}[0]{session}') $(json '{results}[0]{phase}')" '0 bee acknowledged' 'the next run brings bee back, and no other'
for name in ant bee; do
	kill_agent "$name" || fail "$name lives"
done
cat >"$W/spaced.toml" <<'TOML'
[recovery]
spacing = "2s"
parallel = 1
max_attempts = 1000
TOML
started=${EPOCHREALTIME/[.,]/}
gt -L main --config "$W/spaced.toml" --all --yes
spaced=$(((${EPOCHREALTIME/[.,]/} - started) / 1000))
is "$RC" 0 'with a pause between two'
ok "two take longer than the pause ($spaced ms)" [ "$spaced" -ge 2000 ]
note "four without a pause took $took ms"

# ---- Ctrl-C ----
for name in "${NAMES[@]}"; do
	kill_agent "$name" || fail "$name lives"
done
state=$(told)
is "$state" 'ant=3 bee=2 cat=2 dog=2 ' 'so far each was told once a recovery'
agent_plan bee '--slow 4000'
term_run "${with[@]}" --all --yes
ok 'the second one is waited for' until_ 20 term_shows 'Waiting for the agent to answer'
term_keys C-c
term_ended
is "$STATUS" 'signal 2' 'Ctrl-C ends it'
ok 'nothing is lost, it says' term_shows 'nothing is lost'
is "$(told)" 'ant=4 bee=3 cat=2 dog=2 ' 'the first two were told, the others not begun'
like "$(tm list-panes -a -F '#{session_name}=#{pane_dead}' | sort | tr '\n' ' ')" 'ant=0 bee=0 bystander=0 cat=1 dog=1 ' 'as the panes show'
is "$(find "$XDG_STATE_HOME/gt-recover/prompts" -type f | wc -l)" 0 'no prompt lies about'
gt "${with[@]}" bee --json
is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'the next run settles the second: it looks first'
gt "${with[@]}" --all --yes
is "$RC" 0 'and the last brings back the rest'
is "$(tail -n 1 <<<"$ERR")" 'found=2 recovered=2 unacknowledged=0 refused=0 failed=0' 'the two'
is "$(told)" 'ant=4 bee=3 cat=3 dog=3 ' 'nobody was told twice'
is "$(agent_pid bystander)" "$bystander" 'the bystander is the same process'
is "$(messages bystander)" 0 'and was told nothing'
is "$(tm list-buffers 2>/dev/null | wc -l)" 0 'no paste buffer is left'

# ---- neighbours that were never seen alive: each one's pid file is the nearest of both ----
mkdir -p "$W/both"
for name in elk fox; do
	ok "$name is typed into a shell" start_agent "$name" --shell --cwd "$W/both" --scenario "$DATA/idle.scenario"
	tell_agent "$name" "The task of $name."
done
for name in elk fox; do
	until_ 10 messages_are "$name" 1
	kill_agent "$name" || fail "$name lives"
done
gt -L main --all --yes --json
is "$RC $(json '{recovered}') $(json '{results}[0]{via}') $(json '{results}[1]{via}')" '0 2 resume resume' 'both come back at once, each in its own conversation'
done_testing
