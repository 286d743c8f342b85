#!/bin/bash
# shellcheck disable=SC2016	# backticks are the words of a message
# What an agent is told is its transcript and its screen in one: nothing twice, nothing lost, also when earlier recoveries are not kept any more.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
afresh
STATE=$XDG_STATE_HOME/gt-recover

count() {	# TEXT FILE: lines that hold it
	grep -cF -- "$1" "$2"
}

ok 'an agent works' start_agent toast --scenario "$DATA/work.scenario"
ok 'in the middle of a command' until_ 10 pane_shows toast 'test 7 ok'
ok 'it is killed' kill_agent toast
gt context toast -L main
unlike "$OUT" 'not understood' 'how well it was read is told with -v alone'
gt context -v toast -L main
like "$OUT" 'Transcript +/.*/projects/.*\.jsonl' 'context names the transcript'
like "$OUT" "named by the agent's own record" 'and how it was found'
like "$OUT" 'from the transcript, [0-9]+ from the screen' 'the conversation is of both'
like "$OUT" 'Reading +0 of [0-9]+ lines not recognized' 'every line was understood'
like "$OUT" '0 of [0-9]+ records of the transcript not recognized' 'every record, too'
gt context toast -L main --json
is "$(json '{exchanges}[0]{source}')" screen 'the banner is the screen'"'"'s'
is "$(json '{exchanges}[1]{source}')" transcript 'the words are the transcript'"'"'s'
is "$(json '{exchanges}[-1]{status}')" running 'the last call runs'
like "$(json '{exchanges}[-1]{content}')" 'test 7 ok' 'with the output that only the screen has'
gt prompt toast -L main
cp "$W/out" "$W/prompt"
is "$(count 'Fix the bug in `parse()`' "$W/prompt")" 1 'a message is told once'
is "$(count '1 of 12 tests failed' "$W/prompt")" 1 'a result is told once'
is "$(count 'test 7 ok' "$W/prompt")" 1 'the output is told once'

gt toast -L main --json
is "$(json '{results}[0]{phase}')" acknowledged 'it is recovered'
tell_agent toast 'Only the manual is missing now.'
ok 'it answers' until_ 10 messages_are toast 2
ok 'it is killed again' kill_agent toast

# The kept context goes: what is left is the older transcript and the prompt itself.
rm -f "$STATE"/contexts/*.json
gt context toast -L main --json
like "$OUT" 'put together again' 'it says that the context was put together again'
gt prompt toast -L main
cp "$W/out" "$W/prompt"
is "$(count 'Fix the bug in `parse()`' "$W/prompt")" 1 'the first words are there, once'
is "$(count 'keep the comments' "$W/prompt")" 1 'those before the first crash, too'
is "$(count 'test 7 ok' "$W/prompt")" 1 'and what only the screen had shown then'
is "$(count 'Only the manual' "$W/prompt")" 1 'and what came after it'
is "$(count 'Your Previous Conversation' "$W/prompt")" 1 'prompts are not nested'
is "$(grep -c '^\[record .* begins: conversation' "$W/prompt")" 1 'nor are records'

gt toast -L main --json
is "$(json '{results}[0]{phase}')" acknowledged 'it is recovered a second time'
tell_agent toast 'Now the changelog, as in gtr-0123456789abcdef of another session.'
ok 'it answers' until_ 10 messages_are toast 4
ok 'it is killed a third time' kill_agent toast
for kept in "$STATE"/contexts/*.json; do printf '{"torn": ' >"$kept"; done
gt context toast -L main
is "$RC" 0 'a torn context does not lose the session'
like "$OUT" 'cannot be read any more' 'it says so'
rm -f "$STATE"/contexts/*.json
gt prompt toast -L main
cp "$W/out" "$W/prompt"
for words in 'Fix the bug in `parse()`' 'keep the comments' 'Only the manual' 'Now the changelog'; do
	is "$(count "$words" "$W/prompt")" 1 "after two recoveries nothing is lost or doubled: $words"
done
is "$(count 'Your Previous Conversation' "$W/prompt")" 1 'a quoted id does not hide our own prompt'

# Without any transcript the prompt's own words remain.
find "$HOME/.claude/projects" -name '*.jsonl' -printf '%T@ %p\n' | sort -n | head -n -1 | cut -d ' ' -f 2- | xargs rm -f
gt prompt toast -L main
cp "$W/out" "$W/prompt"
for words in 'Fix the bug in `parse()`' 'Only the manual' 'Now the changelog'; do
	is "$(count "$words" "$W/prompt")" 1 "from the prompt alone: $words"
done
done_testing
