#!/bin/bash
# What is taken from a dead pane: the newest rows up to the limit, without the row that tmux writes into it, whatever its format.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

ok 'an agent works' start_agent toast --scenario "$DATA/work.scenario"
ok 'in the middle of a command' until_ 10 pane_shows toast 'test 7 ok'
row='^gone for 9 reasons'
if is_tmux_32; then
	row='^Pane is dead \(signal 9, '
else
	tm set-option -g remain-on-exit-format 'gone for #{pane_dead_signal} reasons'
fi
ok 'it is killed' kill_agent toast
wake
ok 'tmux has written its row' until_ 5 pane_shows toast "$row"
gt context toast -L main --json
unlike "$(json '{raw_scrollback}')" 'gone for|Pane is dead' 'which is not taken'
like "$(json '{raw_scrollback}')" 'for agents$' 'but all above it'
is "$(json '{truncated_at}')" '(none)' 'nothing was cut'
rows=$(json '{lines}')

printf '[recovery]\nmax_context_lines = 20\n' >"$W/few.toml"
gt context toast -L main --config "$W/few.toml" --json
is "$(json '{lines}')" 20 'as many rows as allowed'
is "$(json '{truncated_at}')" '(none)' 'nothing is missing: the transcript holds what older rows said'
mv "$HOME/.claude/projects" "$W/put-away"
gt context toast -L main --config "$W/few.toml" --json
is "$(json '{truncated_at}')" 0 'without it, it says that older rows were cut'
like "$(json '{raw_scrollback}')" 'test 7 ok.*for agents$' 'the newest are kept'
unlike "$(json '{raw_scrollback}')" 'Claude Code v' 'the oldest are not'
ok 'of more than were taken' test "$rows" -gt 20
gt context toast -L main --config "$W/few.toml"
like "$OUT" '20 lines \(older ones omitted\)' 'people are told too'
done_testing
