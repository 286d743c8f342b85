#!/bin/bash
# Eight gt-recover --all at once over agents that died in different ways: each crash is answered by one start and one prompt.
# ROUNDS=N says how often (20); make stress makes 1,000.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
rounds=${ROUNDS:-20}
STATE=$XDG_STATE_HOME/gt-recover
CLAUDE='claude --dangerously-skip-permissions'
mkdir -p "$XDG_CONFIG_HOME/gt-recover"
cat >"$XDG_CONFIG_HOME/gt-recover/gt.toml" <<'TOML'
[recovery]
spacing = "0s"
max_attempts = 1000
snapshot_keep = 5
TOML
NAMES=(dead zombie missing)

# What a session's environment would hold stands in the start command: nothing of a session outlives it.
start_kept() {	# SESSION OPTION...
	local dir
	dir=$(agent_dir "$1")
	start_agent "$@" --command "env FAKE_AGENT_LOG='$dir' FAKE_AGENT_PLAN='$dir/plan' $CLAUDE" --scenario "$DATA/idle.scenario"
}
find_pane() {	# SESSION
	tm list-panes -t "=$1" -F '#{pane_id}' >"$(agent_dir "$1")/pane"
}
has_no_session() {	# tmux 3.3a may not notice the end of a child before that of another one
	wake
	! tm has-session -t "=$1" 2>/dev/null
}
all_die() {
	local name pids=()
	tm set-option -p -t "$(agent_pane missing)" remain-on-exit off
	for name in "${NAMES[@]}"; do
		pids+=("$(agent_pid "$name")")
	done
	[ "${#pids[@]}" = "$(printf '%s\n' "${pids[@]}" | grep -c .)" ] || return 1
	kill -9 "${pids[@]}"
	for name in "${pids[@]}"; do
		until_ 10 _gone "$name" || return 1
	done
	until_ 10 pane_is dead '#{pane_dead}' 1 && until_ 10 pane_is zombie '#{pane_current_command}' bash && until_ 10 has_no_session missing
}
three_classes() {
	gt list --json -L main
	[ "$(grep -Eo '"class": "(dead|zombie|missing)"' <<<"$OUT" | sort | uniq -c | awk '{ printf "%s", $1 }')" = 111 ]
}
race() {	# COMMAND...: eight at once; their answers are $W/racer.N, their ends $codes
	local i pids=()
	for ((i = 0; i < 8; i++)); do
		timeout -k 5 120 "$GT_RECOVER" "$@" >"$W/racer.$i" 2>&1 </dev/null &
		pids+=($!)
		PIDS+=($!)
	done
	codes=''
	for i in "${!pids[@]}"; do
		wait "${pids[$i]}"
		codes+="$? "
	done
	PIDS=()
}
counts() {	# of each: starts and messages
	local name
	for name in "${NAMES[@]}"; do
		printf '%s=%s/%s ' "$name" "$(agent_starts "$name")" "$(messages "$name")"
	done
}
expected() {	# ROUND
	local name
	for name in "${NAMES[@]}"; do
		printf '%s=%s/%s ' "$name" $(($1 + 1)) "$1"
	done
}

ok 'an agent whose pane will stay' start_kept dead
ok 'one whose shell will stay' start_kept zombie --wrapper
ok 'one whose session will go with it' start_kept missing
ok 'and one that lives' start_agent bystander --scenario "$DATA/idle.scenario"
bystander=$(agent_pid bystander)
once=0 ended=0 classes=0 late=0
for ((round = 1; round <= rounds; round++)); do
	gt snapshot -L main
	if ! all_die; then
		fail "round $round: all three are killed"
		break
	fi
	! until_ 10 three_classes || classes=$((classes + 1))
	race --all --yes --json --via inject -L main
	# whoever held the session may have waited in vain for the records, which all eight write: that is said, and the next run's to do
	if [ "$(counts)" != "$(expected "$round")" ] && grep -q 'keeps .* locked' "$W"/racer.*; then
		late=$((late + 1))
		gt --all --yes --via inject -L main
	fi
	find_pane missing
	if [ "$(counts)" = "$(expected "$round")" ]; then
		once=$((once + 1))
	else
		note "round $round: $(counts), ends $codes"
		for i in 0 1 2 3 4 5 6 7; do
			note "racer $i: $(grep -Ev '^[ {}]' "$W/racer.$i" | head -c 2000)"
		done
		break
	fi
	# 0 and 3: its share, 4: nothing left, 6: refused since it is alive, 75: somebody else is at it
	if [[ $codes =~ ^((0|3|4|6|75)\ )+$ ]]; then
		ended=$((ended + 1))
	else
		note "round $round: ends $codes"
	fi
done
note "ends of the last round: $codes; rounds that took one more run, since the records were busy: $late"
is "$classes" "$rounds" "in $rounds rounds one is dead, one a zombie, one missing"
is "$once" "$rounds" 'eight at once bring each back with one start and one prompt'
is "$ended" "$rounds" 'and each of the eight ends as it should'
is "$(sql "$STATE/recover.db" "select count(*) from attempt where phase = 'acknowledged'")" $((3 * rounds)) 'one acknowledged attempt for a crash'
gt --all --yes --json -L main
is "$RC" 4 'nothing is left to do'
is "$(agent_pid bystander) $(messages bystander) $(agent_starts bystander)" "$bystander 0 1" 'the living one is the same, and was told nothing'
is "$(find "$STATE/prompts" -type f | wc -l)" 0 'no prompt file is left'
is "$(tm list-buffers 2>/dev/null | wc -l)" 0 'no paste buffer is left'
is "$(tm list-panes -a | wc -l)" 4 'four panes, as before'
done_testing
