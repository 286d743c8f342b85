#!/bin/bash
# The picker as a numbered list (--plain) and the recovery as a person sees them, on a real terminal; and what is answered through a pipe.
# GT_GOLDEN_UPDATE=1 writes tests/golden/picker anew: git diff judges.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
GOLDEN=$ROOT/tests/golden/picker
ALL=(gt-pixelsrc-witness gt-reckoning-toast hq-mayor)

# Ages, sizes in tokens and ids are another every time; a long name of the working directory takes one more row of the screen.
mask() {	# [SED OPTION]...
	sed -E "$@" -e 's/\[crashed [0-9]+[smh] ago\]/[crashed 5m ago]/' -e 's/\([0-9.]+k? tokens\)/(2.1k tokens)/' \
		-e 's/gtr-[0-9a-f]+/gtr-ID/g' -e 's/\b89[12] lines/891 lines/' \
		-e 's/2,34[12] lines/2,341 lines/'
}

golden() {	# NAME DESCRIPTION [SED OPTION]...: the screen is as tests/golden/picker/NAME has it
	term_screen | mask "${@:3}" >"$W/screen"
	[ -z "${GT_GOLDEN_UPDATE-}" ] || cp "$W/screen" "$GOLDEN/$1"
	same_file "$W/screen" "$GOLDEN/$1" "$2" || :
	cmp -s "$W/screen" "$GOLDEN/$1" || note "$(diff "$GOLDEN/$1" "$W/screen")"
}

# LINES TURNS: a conversation of so many turns, whose first answer is that long, cut off while a file is read
scenario() {
	local i
	printf 'user Implement OAuth, please.\nassistant '
	for ((i = 1; i <= $1; i++)); do
		printf 'Line %d of the report.\\n' "$i"
	done
	printf 'That was all.\n'
	for ((i = 2; i <= $2; i++)); do
		printf 'user Go on with part %d.\n' "$i"
		[ $((i % 4)) -ne 0 ] || printf 'assistant I look at it first.\ntool Bash make -s part%d\nresult done\n' "$i"
		printf 'assistant Part %d is done.\n' "$i"
	done
	printf 'tool Read src/auth/handler.go\nhang Reading\n'
}

mkdir -p "$W/rig/.beads"
ok 'there is a bead' sql "$W/rig/.beads/beads.db" "create table issues(id text primary key, title text, description text, status text, assignee text);
	insert into issues values('task-implement-oauth', 'Implement OAuth', 'As discussed.', 'in_progress', 'pixelsrc/witness')"

scenario 2263 12 >"$W/long"
scenario 864 3 >"$W/middle"
scenario 1200 2 >"$W/short"
ok 'a witness works' start_agent "${ALL[0]}" --scenario "$W/long" --env GT_ROLE=pixelsrc/witness \
	--env GT_WORK_BEAD=task-implement-oauth --env BEADS_DIR="$W/rig/.beads"
ok 'a polecat works' start_agent "${ALL[1]}" --scenario "$W/middle"
ok 'a mayor works' start_agent "${ALL[2]}" --scenario "$W/short" --env GT_ROLE=mayor
ok 'a bystander lives' start_agent bystander --scenario "$DATA/idle.scenario"
bystander=$(agent_pid bystander)
for name in "${ALL[@]}"; do
	ok "$name is in the middle" until_ 10 pane_shows "$name" 'src/auth/handler.go'
	ok 'it is killed' kill_agent "$name"
	# tmux 3.3a may see the end late, and writes a row then
	wake
	ok 'tmux has seen it' until_ 5 pane_shows "$name" '^Pane is dead'
done
panes() {
	tm list-panes -a -F '#{pane_id} #{pane_pid} #{pane_dead} #{history_size}'
}
# a dead pane that would end this tmux is kept and reset by whoever finds it (focus.t)
# and what is seen of the agents is kept once
for i in 1 2; do
	"$GT_RECOVER" -L main --include-infra >"$W/out" 2>&1 </dev/null
done
written() {
	find "$XDG_STATE_HOME/gt-recover" -type f -printf '%p %T@\n' 2>/dev/null | sort
}
before=$(panes) before_written=$(written)
ask=(-L main --include-infra --plain)

# ---- the question ----
asked() {	# [NAME=VALUE]... ARGS...: the picker stands on the terminal
	term_run "$@" && until_ 10 term_shows '^Recover which session'
}
untouched() {	# DESCRIPTION
	is "$(panes)" "$before" "$1"
	is "$(written)" "$before_written" 'nothing is written'
}

ok 'a terminal' term_start 100 30
ok 'the picker asks' asked "${ask[@]}"
golden question 'the question reads as it should'
term_screen >"$W/screen"
is "$(grep -o 'Recover which session.*' "$W/screen")" 'Recover which session? [1-3, all, none]:' 'with the choices'
is "$(awk '/lines context/ { print index($0, "[crashed") }' "$W/screen" | sort -u | wc -l)" 1 'the ages stand below each other'
is "$(awk '/lines context/ { match($0, /[0-9.]+k? lines/); print RSTART }' "$W/screen" | sort -u | wc -l)" 1 'and the sizes'
is "$(term display-message -p -t term: '#{cursor_x}')" 41 'the cursor waits behind the question'

term_keys none Enter
term_ended
is "$STATUS" 'exit 4' 'none: declined'
untouched 'nothing is touched'

asked "${ask[@]}"
term_keys C-d
term_ended
is "$STATUS" 'exit 4' 'the end of input: declined'
untouched 'nothing is touched'

asked "${ask[@]}"
term_keys C-c
term_ended
is "$STATUS" 'signal 2' 'Ctrl-C: ended by it'
untouched 'nothing is touched'

asked "${ask[@]}"
again() {	# COUNT: the question stands there so many times
	[ "$(term_screen | grep -c '^Recover which session')" = "$1" ]
}
term_keys Enter
ok 'an empty line: it asks again' until_ 5 again 2
term_keys 'rm -rf /' Enter
ok 'nonsense: it asks again' until_ 5 again 3
term_keys 4 Enter
term_ended
is "$STATUS" 'exit 2' 'the third time: that is an error'
golden nonsense 'and each says what can be answered'
untouched 'nothing is touched'
for answer in 0 2-1 1-4 '1;2' -1 99999999999999999999 1x; do
	asked "${ask[@]}"
	term_keys -l -- "$answer"
	term_keys Enter
	ok "\"$answer\" is no answer" until_ 5 again 2
done

# ---- narrow, and without colours ----
ok 'a narrow terminal' term_start 40 30
ok 'the picker asks' asked "${ask[@]}"
golden narrow 'no row is broken'
term_keys none Enter
term_ended
ok 'a terminal again' term_start 100 40
screen_colours() {
	term capture-pane -e -p -t term: | grep -c $'\033\\[32m'
}

# ---- answers ----
back=()		# sessions that came back so far
is_back() {	# SESSION...: these, and no others, were told something, each once
	local name
	for name in "${ALL[@]}"; do
		case " $* " in
		*" $name "*) is "$(messages "$name")" 1 "$name was told once" ;;
		*) is "$(messages "$name")" 0 "$name was told nothing" ;;
		esac
	done
}
forget() {	# all are killed again and the counts begin anew
	local name dir
	for name in "$@"; do
		kill_agent "$name" || return 1
		dir=$(agent_dir "$name")
		rm -f "$dir"/message.*
	done
}

cat >"$W/gt.toml" <<'TOML'
[recovery]
spacing = "0s"
max_attempts = 1000
via = "inject"
TOML
ask+=(--config "$W/gt.toml")
asked "${ask[@]}"
term_keys 1 Enter
term_ended
is "$STATUS" 'exit 0' '1: the first'
is_back "${ALL[0]}"
golden recovery 'the whole recovery reads as it should'
is "$(screen_colours)" 3 'three green marks'
# the narrow one, without colours, of the same
forget "${ALL[0]}"
ok 'a narrow terminal' term_start 40 40
# tmux 3.3 to 3.4: its pane is reset here, and not told of below
gt list -L main
asked NO_COLOR=1 "${ask[@]}"
term_keys 1 Enter
term_ended
is "$STATUS" 'exit 0' 'the same in 40 columns'
# how long the prompt of the first recovery was in lines, depends on the directory
golden recovery-narrow 'broken at blanks' -e 's/[0-9.]+k lines/1.0k lines/' -e 's/[0-9],[0-9]+ lines/1,000 lines/'
is "$(screen_colours)" 0 'NO_COLOR: none'
ok 'a terminal again' term_start 100 60

forget "${ALL[0]}"
for answer in '1-2' '1,3' '2 3' all; do
	case $answer in
	1-2) back=("${ALL[@]:0:2}") ;;
	1,3) back=("${ALL[0]}" "${ALL[2]}") ;;
	'2 3') back=("${ALL[@]:1}") ;;
	all) back=("${ALL[@]}") ;;
	esac
	asked "${ask[@]}"
	term_keys -l "$answer"
	term_keys Enter
	term_ended
	is "$STATUS" 'exit 0' "$answer"
	is_back "${back[@]}"
	ok 'the last line counts them' term_shows "^found=${#back[@]} recovered=${#back[@]} unacknowledged=0 refused=0 failed=0"
	ok 'they are killed again' forget "${back[@]}"
done

# ---- a long wait ----
waits() {	# COUNT: rows that say so
	[ "$(term_screen | grep -c 'Waiting for')" = "$1" ]
}
ok 'an agent works' start_agent slow --scenario "$DATA/idle.scenario"
ok 'it is killed' kill_agent slow
agent_plan slow '--slow 3500'
term_run -L main slow
ok 'a long wait is told' until_ 10 term_shows '^  Waiting for the agent to [a-z ]+… 1s$'
ok 'and counted' until_ 10 term_shows '^  Waiting for the agent to [a-z ]+… 2s$'
ok 'in one row' waits 1
term_ended
is "$STATUS" 'exit 0' 'it ends well'
ok 'the row is gone' waits 0
is "$(term_screen | grep -c '^$')" 2 'and left no blank one'
ok 'a narrow terminal' term_start 40 30
ok 'it is killed again' kill_agent slow
agent_plan slow '--eat-stdin --dialog'
cat >"$W/quick.toml" <<'TOML'
[recovery]
ready_timeout = "3s"
ack_timeout = "3s"
TOML
term_run -L main --config "$W/quick.toml" slow
ok 'a dialog is waited for' until_ 10 term_shows '^  Waiting for a dialog in the [a-z ]+… ?2s$'
ok 'in one row, though it would be longer than the terminal' waits 1
term_ended
is "$STATUS" 'exit 5' 'not acknowledged'
ok 'the row is gone' waits 0

# ---- no terminal ----
pipe() {	# ANSWER ARGS...
	printf '%s' "$1" >"$W/answer"
	shift
	RC=0
	"$GT_RECOVER" "$@" >"$W/out" 2>"$W/err" < <(cat "$W/answer") || RC=$?
	OUT=$(cat "$W/out") ERR=$(cat "$W/err")
}
pipe $'none\n' "${ask[@]}"
is "$RC" 4 'none through a pipe: declined'
pipe $'5\n' "${ask[@]}"
is "$RC" 2 'nonsense through a pipe is an error at once'
pipe $'2\n' "${ask[@]}"
is "$RC" 0 'a number through a pipe'
is_back "${ALL[1]}"
like "$OUT" 'Recover which session\? \[1-3, all, none\]:' 'the question is printed all the same'
like "$ERR" '✓ Agent resuming work' 'and the recovery'
unlike "$ERR" $'\033' 'without colours'
gt "${ask[@]}"
is "$RC" 0 'without any input: the list'
like "$OUT" "crashed +${ALL[0]} " 'with the dead'
gt "${ask[@]}" --no-input
is "$RC" 0 'with --no-input too'
is_back "${ALL[1]}"

is "$(agent_pid bystander)" "$bystander" 'the bystander is the same process'
is "$(messages bystander)" 0 'and was told nothing'
done_testing
