#!/bin/bash
# The picture of the README, docs/recovery.svg, is of a real run: made again here, it says the same. `make picture` writes it (PICTURE=FILE).
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"
PICTURE_OF=$ROOT/docs/recovery.svg
REMAIN=off

# two agents of one directory, each typed into a shell
mkdir -p "$HOME/shop"
export GT_RECOVER=${GT_RECOVER_SHIPPED:-$GT_RECOVER}
for name in api web; do
	ok "an agent is typed into a shell: $name" start_agent "$name" --shell --cwd "$HOME/shop" --scenario "$DATA/idle.scenario"
done
tell_agent api 'Repair the parser: parse() does not compile.'
tell_agent web 'Write the tests of the login form.'
for name in api web; do
	ok "  $name was told something" until_ 10 messages_are "$name" 1
done
gt snapshot -L main
is "$RC" 0 'a pass of snapshots'
for name in api web; do
	ok "$name is killed" kill_agent "$name"
done

# a person's terminal, with a bare prompt
cat >"$W/bashrc" <<SH
PS1='$ '
gt-recover() { command "$GT_RECOVER" "\$@" -L main; }
SH
prompts() {	# COUNT of prompts, the last of them empty
	[ "$(term_screen | grep -c '^\$')" = "$1" ] && term_screen | tail -n 1 | grep -q '^\$ *$'
}
term_start 80 24
term respawn-pane -k -t term: env -u TMUX -u TMUX_PANE bash --noprofile --rcfile "$W/bashrc" \; clear-history -t term:
ok 'a terminal of 80 columns' until_ 10 prompts 1
term send-keys -t term: -l 'gt-recover list' \; send-keys -t term: Enter
ok 'the list' until_ 10 prompts 2
term send-keys -t term: -l 'gt-recover --all' \; send-keys -t term: Enter
ok 'the plan, and one question' until_ 20 term_shows '\[y/N\]'
term send-keys -t term: -l y \; send-keys -t term: Enter
ok 'both come back' until_ 40 prompts 3
term capture-pane -p -e -S - -t term: | sed 's/[0-9]s ago/5m ago/g' >"$W/screen"
[ -z "${PICTURE-}" ] || "$ROOT/scripts/picture" <"$W/screen" >"$PICTURE"

# Times, counts of tokens and of lines are those of that run, as are the order in which the two came back and where a task is cut.
words() {
	sed -n 's/<text [^>]*>\(.*\)<\/text>/\1/p' "$1" | sed -E 's/&lt;/</g; s/&amp;/\&/g; s/[0-9]+[smh] ago/T ago/g; s/[0-9.]+k tokens/N tokens/g
		s/[0-9]+ lines/N lines/g; s/"([A-Z][a-z]+ the [a-z]+)[^"]*…$/"\1…/; s/ +/ /g; s/\[[12]\/2\] (api|web)/[N] NAME/'
}
"$ROOT/scripts/picture" <"$W/screen" >"$W/again.svg"
diff <(words "$PICTURE_OF") <(words "$W/again.svg") | sed 's/^/# /'
is "$(words "$W/again.svg")" "$(words "$PICTURE_OF")" 'the picture of the README says the same'
done_testing
