#!/bin/bash
# Other agents that leave their conversation on the screen: the half answer and the running call, which no session file has, are in the prompt, behind
# what the file tells, and nothing is told twice.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
afresh
GOLDEN=$ROOT/tests/golden/agents

count() {	# TEXT FILE: lines that hold it
	grep -cF -- "$1" "$2"
}

# stage AGENT STATE FILE: an agent that has written what the recording's session file holds to FILE, and shows what its screen showed
stage() {
	local dir=$W/proj/$1-$2 recording=$GOLDEN/$1/$2
	mkdir -p "$dir" "${3%/*}" "$(agent_dir "$1-$2")"
	cat >"$W/bin/$1" <<-EOF
		#!/bin/bash
		sed "s,/tmp/home-of-agent/w,\$PWD,g" "\$STAGED/session.jsonl" >"\$STAGED_AS"
		# tmux writes its own word about the death
		grep -av 'Pane is dead' "\$STAGED/screen.ansi" | sed -e :a -e '/^\n*\$/{\$d;N;ba' -e '}'
		exec -a $1 sleep 600
	EOF
	chmod 755 "$W/bin/$1"
	_new_session "$1-$2" bare "$dir" "$1" -e "STAGED=$recording" -e "STAGED_AS=$3"
}

dies() {	# SESSION
	kill -9 "$(tm display-message -p -t "$(agent_pane "$1")" '#{pane_pid}')" && until_ 10 pane_is "$1" '#{pane_dead}' 1
}

half='here the order is what matter'
for name in qwen pi; do
	case $name in
	qwen) file=$HOME/.qwen/projects/w/chats/a199d0ce-3eeb-4009-8c0b-64ba20845555.jsonl ;;
	pi) file=$HOME/.pi/agent/sessions/--w--/$(basename "$(sed -n 's/.*"session":"\([^"]*\)".*/\1/p' "$GOLDEN/pi/stream/truth.json")").jsonl ;;
	esac
	ok "$name streams an answer" stage $name stream "$file"
	ok "$name shows half of it" until_ 10 pane_shows $name-stream "$half"
	not_ok "$name has not written it down" grep -qF "$half" "$file"
	ok "$name is killed" dies $name-stream
	gt context $name-stream -L main --json
	is "$(json '{exchanges}[-1]{source}') $(json '{exchanges}[-1]{role}') $(json '{exchanges}[-1]{status}')" 'screen assistant running' "$name: the half answer is the last that was said"
	is "$(json '{exchanges}[-2]{source}') $(json '{exchanges}[-2]{content}')" 'transcript Now explain the plan, all of it' "$name: behind what its session file has"
	gt prompt $name-stream -L main
	cp "$W/out" "$W/prompt"
	is "$RC $(count "$half" "$W/prompt")" '0 1' "$name: the prompt tells it, once"
	is "$(count 'The build is green, and nothing waits for you.' "$W/prompt")" 1 "$name: and what both have once"
	tm kill-session -t "$name-stream"
done

file=$HOME/.gemini/tmp/w/chats/session-2026-11-22T14-15-$(sed -n 's/.*"session":"\([^"-]*\)-.*/\1/p' "$GOLDEN/gemini/tool/truth.json").jsonl
mkdir -p "$HOME/.gemini"
printf '{"projects":{"%s":"w"}}\n' "$W/proj/gemini-tool" >"$HOME/.gemini/projects.json"
ok 'gemini runs a command' stage gemini tool "$file"
ok 'and shows what it prints' until_ 10 pane_shows gemini-tool 'migrating table 7'
not_ok 'its session file does not know of it' grep -q 'sh migrate\.sh --all' "$file"
ok 'it is killed' dies gemini-tool
gt context gemini-tool -L main --json
is "$(json '{exchanges}[-1]{source}') $(json '{exchanges}[-1]{status}') $(json '{exchanges}[-1]{input}')" \
	"screen running sh migrate.sh --all --tables-of 'the old store'" 'the call is known from the screen'
like "$(json '{exchanges}[-1]{content}')" 'migrating table 7' 'with what it had printed'
is "$(json '{exchanges}[-2]{source}')" transcript 'behind what the session file has'
done_testing
