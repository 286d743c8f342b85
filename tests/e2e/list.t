#!/bin/bash
# The table of list: who stands where and in which words, what a narrow terminal takes away, colours, letters, living agents, names that the
# command line takes.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"

cat >"$W/gt.toml" <<'TOML'
[recovery]
max_attempts = 1000
[recovery.sessions]
off = "off"
out = "off"
TOML
with=(list -L main --config "$W/gt.toml")
cat >"$W/half" <<'SCENARIO'
user Please repair the rounding of the totals in the billing report – with a test.
assistant I look at how the totals are made first.
tool Read src/auth/handler.go
hang Reading
SCENARIO
printf 'user The token is ghp_0123456789abcdefghijABCDEFGHIJ012345 \033]0;PWNED\007 now.\nassistant Noted.\n' >"$W/hostile"

# ---- nothing crashed ----
ok 'an agent that waits' start_agent idle --scenario "$DATA/idle.scenario"
gt "${with[@]}"
is "$OUT" $'1 live agent; to see it: gt-recover list --live\nNo crashed agents.' 'living ones are a number'
ok 'one that works' start_agent busy --scenario "$W/half"
ok 'one that asks' start_agent asks --scenario "$DATA/permission.scenario" --no-wait
live() {	# STATE SESSION
	gt "${with[@]}" --live
	[[ $OUT =~ $'\n'"$1  "\ *"$2 ".*[0-9]+[smh] ]]
}
ok '--live: one is idle' until_ 10 live idle idle
ok 'one works' until_ 10 live working busy
ok 'one needs a permission' until_ 10 live 'needs permission' asks
like "$OUT" 'working +busy .*"Please repair the rounding' 'with what was asked of it'

# ---- crashed ----
ok 'one' start_agent alpha --scenario "$W/half"
ok 'one typed into a shell' start_agent gt-pixelsrc-bullet-farmer --shell --scenario "$W/hostile"
ok 'one whose recovery is switched off' start_agent off --scenario "$DATA/idle.scenario"
ok 'one more' start_agent out --scenario "$DATA/idle.scenario"
ok 'one of two' start_agent two --scenario "$DATA/idle.scenario"
dir=$(agent_dir two)
ok 'in one session' tm split-window -d -t "$(agent_pane two)" -c "$dir/cwd" -e "FAKE_AGENT_LOG=$dir" -e "FAKE_AGENT_PLAN=$dir/plan" \
	'exec claude --dangerously-skip-permissions'
second=$(tm list-panes -t =two: -F '#{pane_id}' | tail -n 1)
starts() {
	[ "$(tm display-message -p -t "$second" '#{pane_current_command}')" = claude ] && [ "$(grep -c '^ready' "$dir/events")" = 2 ]
}
ok 'lives' until_ 10 starts
ok 'it is in the middle of a call' until_ 10 pane_shows alpha 'src/auth/handler.go'
ok 'the other one has answered' until_ 10 pane_shows gt-pixelsrc-bullet-farmer Noted
gt "${with[@]}"
for name in alpha gt-pixelsrc-bullet-farmer off out two; do
	ok "$name is killed" kill_agent "$name"
done
pid=$(tm display-message -p -t "$second" '#{pane_pid}')
kill -9 "$pid"
is_dead() {
	[ "$(tm display-message -p -t "$second" '#{pane_dead}')" = 1 ]
}
ok 'and the second one of two' until_ 10 is_dead
wake
gt "${with[@]}"
is "$RC" 0 'the list'
like "$OUT" $'^STATE +TARGET +AGENT +WHEN +CAUSE +TASK\n' 'has a header'
like "$OUT" $'\ncrashed +alpha +claude +[0-9]+[smh] ago +[^ ]+ +"Please repair the rounding of the totals in the billing report' 'a crashed one, with what was asked of it'
like "$OUT" $'\ncrashed to shell +gt-pixelsrc-bullet-farmer +claude +[0-9]+[smh] ago +agent died +"The token is \[REDACTED:' 'one in its shell, without a secret'
like "$OUT" $'\nrefused +off ' 'a refused one'
like "$OUT" $'\ncrashed +two:[0-9]+\.[0-9]+ .*\ncrashed +two:[0-9]+\.[0-9]+ ' 'two of a session by their panes'
unlike "$OUT" $'\n[a-z ]+ (idle|busy|asks) ' 'no living one'
unlike "$OUT" $'PWNED|\033|\a' 'no control byte, nor what one began'
is "$(grep -nE '^(STATE|crashed|refused)' "$W/out" | cut -d : -f 1 | tr '\n' ' ')" '1 2 3 4 5 6 7 ' 'in a table without gaps'
is "$(grep -oE '^(crashed|refused)' "$W/out" | uniq | tr '\n' ' ')" 'crashed refused ' 'recoverable ones first'
is "$(grep -c 'recovery is switched off for this session (off)' "$W/out")" 1 'a reason that two share is given once'
like "$OUT" $'Skipped by --all:\n  off, out: recovery' 'with their names'
like "$OUT" $'\n    hint: remove it from \[recovery\.sessions\]' 'and what to do'
like "$OUT" $'\n3 live agents; to see them: gt-recover list --live\n4 recoverable; next: gt-recover, or gt-recover --all$' 'and at the end what to do next'

# ---- names ----
target=$(grep -o 'two:[0-9.]*' <<<"$OUT" | head -n 1)
gt "${with[@]}" --names
is "$(sort <<<"$OUT" | tr '\n' ' ')" "$(printf '%s\n' alpha gt-pixelsrc-bullet-farmer "$(agent_pane two)" "$second" | sort | tr '\n' ' ')" '--names: each once, panes by their ids'
while read -r name; do
	"$GT_RECOVER" --dry-run -L main --config "$W/gt.toml" -- "$name" >"$W/out" 2>&1 </dev/null
	is $? 0 "  $name is an argument"
done <<<"$OUT"
gt --dry-run -L main --config "$W/gt.toml" "$target"
is "$RC" 0 'a target is one, too'
gt --dry-run -L main --config "$W/gt.toml" two:9.9
is "$RC" 4 'one that is not there is none'

# ---- terminals ----
widest() {
	term_screen | perl -CS -ne 'chomp; $n = length if length > $n; END { print $n + 0 }'
}
on() {		# COLUMNS [NAME=VALUE]... [ARGS]...
	local columns=$1
	shift
	term_start "$columns" 50
	term_run "$@" "${with[@]}"
	term_ended
}
for columns in 60 80 120 200; do
	on "$columns"
	is "$STATUS" 'exit 0' "$columns columns"
	ok '  no row is wider' test "$(widest)" -le "$columns"
	term_screen >"$W/screen"
	is "$(grep -cE '^(STATE|crashed|refused)' "$W/screen")" 7 '  each row is one line'
	is "$(grep -E '^(STATE|crashed|refused)' "$W/screen" | perl -CS -ne 'print index($_, /^STATE/ ? "WHEN" : ($_ =~ /(\d+[smh] ago)/)[0]), "\n"' | sort -u | wc -l)" 1 \
		'  its columns stand below each other'
	like "$(cat "$W/screen")" $'\ncrashed +alpha .*"Please' '  with the task'
done
on 80
like "$(term_screen)" ' gt-pixelsrc-bullet-farmer ' 'at 80 columns names are whole'
colours() {
	term capture-pane -e -p -t term: | grep -c $'\033\\[3[1-6]m'
}
is "$(colours)" 6 'states have colours'
for how in NO_COLOR=1 TERM=dumb --color=never; do
	on 80 "$how"
	is "$(colours)" 0 "$how: none"
done
gt "${with[@]}" --color=always
is "$(grep -c $'^\033\\[3[1-6]m' "$W/out")" 6 '--color=always: also in a pipe'
on 200 LC_ALL=C
is "$(term_screen | LC_ALL=C grep -c '[^ -~]')" 0 'LC_ALL=C: ASCII alone'
like "$(term_screen)" 'billing report - with a test' 'of signs the like'
done_testing
