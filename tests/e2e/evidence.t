#!/bin/bash
# "stale", "ambiguous" and "unsure" are said of two agents of one directory only where they are true: what belongs to the other one is no evidence.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
often
declare -A talk
printf 'user please paint the fence\nassistant The fence is white now.\nend\n' >"$W/fence.scenario"
printf 'user please mow the lawn\nassistant The lawn is short now.\nend\n' >"$W/lawn.scenario"
typed() {	# SESSION DIRECTORY [SCENARIO]
	mkdir -p "$W/$2"
	start_agent "$1" --shell --cwd "$W/$2" --scenario "$W/${3:-$1}.scenario" && until_ 10 pane_shows "$1" 'now\.' || return 1
	talk[$1]=$(sed 's/.*"sessionId":"\([^"]*\)".*/\1/' "$HOME/.claude/sessions/$(agent_pid "$1").json")
}
forget_dead() {	# as the next Claude Code that starts does
	local file
	for file in "$HOME"/.claude/sessions/*.json; do
		[ -e "/proc/$(basename "$file" .json)" ] || rm -f "$file"
	done
}
comes_back() {	# SESSION WHAT
	gt "$1" -L main --json
	is "$RC $(json '{results}[0]{via}') $(json '{results}[0]{not_resumed}')" '0 resume (none)' "$2: $1 resumes"
	like "$(tr '\0' ' ' <"/proc/$(agent_pid "$1")/cmdline")" "--resume ${talk[$1]} " '  its own conversation'
}
both() {	# COMMAND...
	local n
	for n in fence lawn; do
		"$@" $n
	done
}
forget_all() {	# new panes in the same directory
	both kill_agent
	both close_session
	forget_dead
}
close_session() {
	tm kill-session -t "=$1"
}

# ---- their pid files are there ----
ok 'an agent' typed fence notes
ok 'another one in its directory' typed lawn notes
both kill_agent
comes_back lawn 'both left their notes'
comes_back fence 'the other one was started'

# ---- nothing but their screens: the name is enough ----
forget_all
ok 'an agent' typed fence screens
ok 'another one in its directory' typed lawn screens
both kill_agent
forget_dead
is "$(listed fence refusal) $(listed lawn refusal)" 'unsure unsure' 'two of which only the screens tell are unsure'
gt --all --yes -L main
is "$RC $(agent_pid fence)$(agent_pid lawn)" '4 ' '--all leaves them'
comes_back fence 'only its screen is left'
comes_back lawn 'only its screen is left'

# ---- seen before: what others start changes nothing ----
forget_all
ok 'an agent' typed fence seen
ok 'another one in its directory' typed lawn seen
gt list -L main
both kill_agent
forget_dead
is "$(listed fence refusal) $(listed lawn refusal)" '(none) (none)' 'two that were seen are not unsure, without notes'
gt --all --yes -L main
is "$RC $(tr '\0' ' ' <"/proc/$(agent_pid fence)/cmdline" | grep -o "${talk[fence]}") $(tr '\0' ' ' <"/proc/$(agent_pid lawn)/cmdline" | grep -o "${talk[lawn]}")" \
	"0 ${talk[fence]} ${talk[lawn]}" 'and --all brings each back in its own conversation'

# ---- equal words: ambiguous, until one of them is known ----
forget_all
ok 'an agent' typed fence equal
ok 'one with the same words in its directory' typed lawn equal fence
both kill_agent
forget_dead
gt lawn -L main --json
is "$RC $(json '{results}[0]{error}{name}') $(json '{results}[0]{error}{candidates}')" '6 ambiguous 2' 'two with equal words are ambiguous'
gt fence -L main --json --conversation "${talk[fence]}"
is "$RC" 0 'the one is chosen'
comes_back lawn 'only one is left'

# ---- the file of its conversation is gone ----
gt list -L main
rm "$HOME"/.claude/projects/*/"${talk[fence]}.jsonl"
both kill_agent
gt fence -L main --json
is "$RC $(json '{results}[0]{via}') $(json '{results}[0]{not_resumed}')" '0 inject stale' 'one whose conversation is gone is stale'
unlike "$(tr '\0' ' ' <"/proc/$(agent_pid fence)/cmdline")" '--resume' '  and does not take the other one'"'"'s'
comes_back lawn 'its own is there'
done_testing
