#!/bin/bash
# The picker on the whole screen of a terminal: what it shows at which size, what each key does, that looking changes nothing, that the
# terminal is given back however it ends, and where it falls back to the numbered list (numbered.t).
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"

cat >"$W/gt.toml" <<'TOML'
[recovery]
spacing = "0s"
max_attempts = 1000
via = "inject"
[recovery.sessions]
off = "off"
TOML
with=(-L main --config "$W/gt.toml")
secret=ghp_0123456789abcdefghijABCDEFGHIJ012345
cat >"$W/half" <<'SCENARIO'
user Please repair the rounding of the totals in the billing report.
assistant I look at how the totals are made first.
tool Bash grep -rn round src/
result src/report.c:41
assistant Found it: report.c rounds each row, and the sum of many rounded rows drifts away from the sum that the ledger shows.
user Also keep the old flag.
tool Read src/auth/handler.go
hang Reading
SCENARIO
printf 'user The token is %s, \033]0;PWNED\007\033[31mred\033[0m \033]52;c;UFdORUQ=\007.\nassistant Noted the token.\n' "$secret" >"$W/hostile"
{
	for i in {1..40}; do
		printf 'user Question %d of many.\nassistant Answer %d of many.\n' "$i" "$i"
	done
} >"$W/long"
ok 'an agent in the middle of a call' start_agent alpha --scenario "$W/half"
ok 'one typed into a shell' start_agent beta --shell --scenario "$W/long"
ok 'one with a secret and control bytes' start_agent "gt-pixelsrc-bullet-farmer" --scenario "$W/hostile"
ok 'one whose recovery is switched off' start_agent off --scenario "$DATA/idle.scenario"
ok 'one that lives' start_agent lives --scenario "$DATA/idle.scenario"
ok 'the call is open' until_ 10 pane_shows alpha 'src/auth/handler.go'
ok 'the long one has spoken' until_ 20 pane_shows beta 'Answer 40'
# their start commands are seen
gt list "${with[@]}"
for name in alpha beta gt-pixelsrc-bullet-farmer off; do
	ok "$name is killed" kill_agent "$name"
done
wake
# a dead pane that would end this tmux is kept and reset by whoever finds it (focus.t), and what is seen of the agents is kept once
for i in 1 2; do
	gt "${with[@]}"
done
panes() {
	tm list-panes -a -F '#{pane_id} #{pane_pid} #{pane_dead} #{history_size}'
}
written() {
	find "$XDG_STATE_HOME/gt-recover" -type f -printf '%p %T@\n' 2>/dev/null | sort
}
before=$(panes) before_written=$(written)
untouched() {
	is "$(panes)" "$before" 'nothing is touched'
	is "$(written)" "$before_written" 'nothing is written'
}

screen() {	# what the terminal shows now, nothing of its history
	term capture-pane -p -t term:
}
shows() {	# EXTENDED-REGEXP
	screen | grep -Eq -- "$1"
}
shows_not() {
	! shows "$1"
}
see() {		# DESCRIPTION EXTENDED-REGEXP
	ok "$1" until_ 10 shows "$2" || note "$(screen)"
}
opens() {	# [NAME=VALUE]... [ARGS]...: the picker has read its first preview
	term_run "$@" "${with[@]}" && until_ 20 shows 'Half done: Read\(src/auth/handler.go\)'
}
too_wide() {	# COLUMNS: rows that are wider
	screen | perl -CS -ne 'BEGIN { $main::most = shift @ARGV } chomp; print "x\n" if length > $main::most' "$1" | wc -l
}
given_back() {	# the normal screen, the cursor, echo and whole lines
	local tty
	tty=$(term display-message -p -t term: '#{pane_tty}')
	is "$(term display-message -p -t term: '#{alternate_on} #{cursor_flag}')" '0 1' "$1: the screen is the one before, with its cursor"
	is "$(stty -F "$tty" -a | grep -Eo -- '-?\b(icanon|echo|isig|icrnl)\b' | sort | tr '\n' ' ')" 'echo icanon icrnl isig ' "$1: and keys are as before"
}
ended() {	# DESCRIPTION STATUS
	term_ended
	is "$STATUS" "$2" "$1"
	given_back "$1"
}

# ---- what it shows ----
term_start 80 24
# every byte that the terminal is sent
term pipe-pane -O -t term: "cat >>'$W/bytes'"
ok 'the picker opens at 80x24' opens
first=$(screen)
like "$first" '^gt-recover: 3 recoverable, 1 not now' 'it counts'
like "$first" $'\n> +alpha +[0-9]+[smh] ago +SIGKILL ' 'the first row is highlighted'
like "$first" $'\n +beta +[0-9]+[smh] ago +agent died ' 'the others stand below'
like "$first" $'\n +gt-pixelsrc-bullet-farmer +[0-9]+[smh] ago ' 'with long names'
like "$first" $'\n +off +[0-9]+[smh] ago +refused ' 'and who is refused, last'
unlike "$first" 'lives' 'a living agent is no news'
like "$first" 'killed by signal 9' 'the preview has the cause'
like "$first" 'New conversation; prompt of about [0-9.]+k? tokens' 'how it comes back, and how much'
like "$first" $'You: Please repair the rounding' 'what was asked'
like "$first" 'the sum of many rounded rows' 'what was answered'
like "$first" $'Enter recover .*Tab mark .*q quit' 'and the keys'
is "$(too_wide 80)" 0 'no row is too wide'
is "$(screen | awk '/ ago / { match($0, /[0-9]+[smh] ago/); print RSTART }' | sort -u | wc -l)" 1 'the ages stand below each other'
is "$(term display-message -p -t term: '#{alternate_on} #{cursor_flag}')" '1 0' 'on a screen of its own, without a cursor'
term_keys q
ended 'q' 'exit 4'
like "$(term_screen)" 'Nothing was recovered' 'and says so'
untouched
ok 'with the conversation resumed' term_run -L main
see 'its way back is another' 'Resumes its own conversation; prompt of about'
term_keys q
ended 'q' 'exit 4'

# ---- keys ----
ok 'it opens' opens
term_keys j
see 'j moves down' '^> +beta '
see 'and the preview follows' 'Answer 40 of many'
term_keys Down
see 'an arrow, too' '^> +gt-pixelsrc-bullet-farmer '
see 'a secret is redacted' 'The token is \[REDACTED:'
like "$(screen)" 'Noted the token' 'the answer is there'
term_keys k Up
see 'k and the other arrow move up' '^> +alpha '
term_keys G
see 'G goes to the last' '^> +off '
see 'which says why not' 'Not recoverable now: recovery is switched off'
term_keys Enter
see 'Enter on it recovers nothing' 'off cannot be recovered now: recovery is switched off'
term_keys Tab
ok 'nor is it marked' shows_not '[0-9] marked'
term_keys Home Tab
see 'Tab marks' '^ +\* alpha .*'
see 'and moves on' '^> +beta '
see 'the marked are counted' '1 marked$'
term_keys Space
see 'Space marks, too' '2 marked$'
term_keys Home Space
see 'and unmarks' '1 marked$'
term_keys a
see 'a marks all that may be' '3 marked$'
ok 'not the refused one' shows_not '\* off'
term_keys a
ok 'and unmarks them' until_ 5 shows_not '[0-9] marked'
term_keys '?'
see '? shows the keys' 'mark all sessions shown'
term_keys Escape
see 'Esc closes them' '^You: |Question'
term_keys g j
see 'of a long conversation' 'Answer 40 of many'
term_keys K K K K K K K K
ok 'K scrolls back' until_ 5 shows_not 'Answer 40 of many'
term_keys J J J J J J J J
see 'J forward' 'Answer 40 of many'
term_keys x
see 'another key names the one for help' '\? shows the keys'

# ---- the filter ----
term_keys /
see '/ begins a filter' '^Filter:'
term_keys -l 'BULLET sig'
see 'every word narrows it' '^Filter: BULLET sig'
see 'whatever its case' '^> +gt-pixelsrc-bullet-farmer '
ok 'the others are not there' shows_not '^ +alpha '
term_keys BSpace
see 'a letter is taken back' '^Filter: BULLET si( |$)'
term_keys -l 'qaj'
see 'letters that are keys elsewhere are letters here' '^Filter: BULLET siqaj'
see 'nothing is left' 'No session matches the filter'
term_keys Enter
see 'and Enter recovers nothing' 'No session matches'
term_keys Escape
see 'Esc clears it' '^> +alpha '
term_keys / b e t Down
see 'who moves keeps the filter, and has keys again' 'filter: bet'
term_keys a
see 'a marks what the filter leaves' '1 marked$'
term_keys Escape Escape
ended 'Esc twice' 'exit 4'
untouched

# ---- sizes ----
ok 'it opens' opens
term_start 120 30
see 'at 120 columns the preview stands beside the list' '^> +alpha .* │ '
is "$(too_wide 120)" 0 'no row is too wide'
term_start 200 40
see 'at 200 columns, too' '^> +alpha +[0-9]+[smh] ago +SIGKILL +.*/cwd +│ '
is "$(too_wide 200)" 0 'no row is too wide'
term_start 60 20
see 'at 60 columns it stands below' '^─{60}$'
is "$(too_wide 60)" 0 'no row is too wide'
see 'with the whole name' '^ +gt-pixelsrc-bullet-farmer +[0-9]+[smh] ago'
term_start 28 6
see 'a window too small says so' 'window too small'
term_start 80 24
see 'and is drawn again when it grows' '^> +alpha .*SIGKILL'
term_keys C-c
ended 'Ctrl-C' 'signal 2'
term_start 28 6
term_run "${with[@]}"
ok 'a terminal too small from the start has the list' until_ 10 term_shows 'Recover which'
term_keys q Enter
term_ended
is "$STATUS" 'exit 4' 'which q leaves'
term_start 80 24

# ---- ends ----
own_pid() {	# of gt-recover on the terminal
	pgrep -P "$(term display-message -p -t term: '#{pane_pid}')" | head -n 1
}
for sig in TERM HUP QUIT ABRT; do
	ok 'it opens' opens
	kill -"$sig" "$(own_pid)"
	ended "SIG$sig" "signal $(kill -l "$sig")"
done
ok 'it opens' opens
term_keys C-d
ended 'Ctrl-D' 'exit 4'
untouched

# ---- colours and letters ----
colours() {
	term capture-pane -e -p -t term: | grep -c $'\033\\[[0-9;]*3[1-7]m'
}
ok 'with colours' opens
is_coloured() {
	[ "$(colours)" -gt 0 ]
}
ok 'what is half done is coloured' is_coloured
term_keys q
term_ended
for how in NO_COLOR=1 --color=never; do
	ok "with $how" opens "$how"
	is "$(colours)" 0 "$how: no colours"
	term_keys q
	term_ended
done
ok 'in the C locale' opens LC_ALL=C
is "$(screen | LC_ALL=C grep -c '[^ -~]')" 0 'there is ASCII alone'
term_keys q
term_ended
ok 'what the terminal was sent was kept' grep -aq 'Noted the token' "$W/bytes"
is "$(grep -Eac 'PWNED|\]52;|\]0;' "$W/bytes")" 0 'no control sequence of a pane reached the terminal'
is "$(grep -ac "$secret" "$W/bytes")" 0 'and no secret'

# ---- without a capable terminal ----
for how in TERM=dumb TERM=nosuch --plain; do
	term_run "$how" "${with[@]}"
	ok "$how: the numbered list" until_ 10 term_shows '^Recover which session\? \[1-3, all, none\]:'
	term_keys q Enter
	ended "$how" 'exit 4'
done
term_run TERM=dumb "${with[@]}"
ok 'it asks' until_ 10 term_shows '^Recover which session'
term_keys -l 'nobody'
term_keys Enter
ok 'a name of none is no answer' until_ 5 term_shows 'names, all or none'
term_keys -l 'beta'
term_keys Enter
term_ended
is "$STATUS" 'exit 0' 'a name is one'
is "$(messages beta) $(messages alpha)" '1 0' 'that session is told, no other'
ok 'it is killed again' kill_agent beta
rm -f "$(agent_dir beta)"/message.*

# ---- choices ----
ok 'it opens' opens
term_keys Enter
term_ended
is "$STATUS" 'exit 0' 'Enter recovers the highlighted one'
is "$(messages alpha) $(messages beta)" '1 0' 'it alone'
like "$(term_screen)" 'Agent resuming work' 'which is told on the screen before'
given_back 'after a recovery'
term_run "${with[@]}"
see 'two are left' '^gt-recover: 2 recoverable'
term_keys a Enter
term_ended
is "$STATUS" 'exit 0' 'a and Enter recover all that are left'
is "$(messages alpha) $(messages beta) $(messages gt-pixelsrc-bullet-farmer) $(messages off)" '1 1 1 0' 'each once'
is "$(messages lives)" 0 'and nobody else'
done_testing
