#!/bin/bash
# What people read of sessions, messages, runs and runners: whole in a pipe, within 80 columns on a terminal, ids always whole.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
UUID=b5e5a029-8157-4d6d-909c-8d956639a83f

put() {		# JSON VERB...
	printf '%s' "$1" >"$W/in"
	shift
	gt_in "$W/in" "$@"
	[ "$RC" = 0 ] || fail "$*: $ERR"
}
# a server whose last session has ended exits while the next one is being asked for
tm start-server \; set-option -s exit-empty off

# What a terminal of that width shows: shown WIDTH ARGS...
shown() {
	local width=$1
	shift
	tm kill-session -t =view 2>/dev/null
	tm new-session -d -x "$width" -y 24 -s view "$GT_RECOVER $* 2>&1; tmux wait-for -S shown; exec sleep 600"
	tm wait-for shown
	tm capture-pane -p -t =view:
}

for one in session message run runner lock; do
	gt $one list
	is "$RC $OUT" '0 ' "$one list: nothing, and said so"
	like "$ERR" '\.$' 'in a sentence'
done
LONG=/home/somebody/projects/a/place/that/is/rather/deep/in/the/tree
put "{\"agent_uuid\":\"boss\",\"provider_name\":\"claude\",\"model\":\"claude-sonnet-4-5\",\"workspace_path\":\"$LONG\"}" session record
put "{\"agent_uuid\":\"$UUID\",\"provider_name\":\"cursor-agent\",\"model\":\"composer-1\"}" agent spawn boss
put '{"agent_uuid":"low","provider_name":"p\u001b[31m\u202e","model":"m\nn"}' agent spawn "$UUID"
put "{\"id\":\"m1\",\"from\":\"boss\",\"to\":\"$UUID\",\"body\":\"Please look at the failing test\\nin tests/unit/test_run.c and tell me what you think\"}" message send
put '{"run_id":"r1","session_id":"ses","prompt":"x"}' run create

gt session list
like "$OUT" $'^AGENT +STATE +PROVIDER +MODEL +AGE  WORKSPACE\n' 'a head'
like "$OUT" "$LONG" 'in a pipe nothing is cut'
unlike "$OUT" $'[ \e]\n|\e|‮' 'no line ends in blanks, nothing foreign gets through'
like "$OUT" 'm\\nn' 'a line break is shown as one'
gt run list
is "$(head -n 1 <<<"$OUT" | tr -s ' ')" 'RUN STATUS SESSION RUNNER AGE' 'a column that nobody needs is left out'
gt run claim w r1
gt run finish r1 w failed
like "$ERR" '^The run r1 has failed\.$' 'a verb answers in a sentence'
gt agent tree
is "$OUT" "boss  ACTIVE  claude-sonnet-4-5"$'\n'"└─ $UUID  ACTIVE  composer-1"$'\n''   └─ low  ACTIVE  m\nn' 'the tree is drawn'

shown 80 session list >"$W/view"
is "$(grep -c ACTIVE "$W/view")" 3 'on a terminal of 80 columns each is one row'
like "$(cat "$W/view")" "$UUID  ACTIVE" 'with its whole id'
like "$(cat "$W/view")" '/home/s?o?m?e?b?o?d?y?…' 'the place is cut'
is "$(grep -c '[^ ]' "$W/view")" 4 'no row takes two of the terminal'"'"'s'
shown 80 message list >"$W/view"
is "$(grep -c pending "$W/view")" 1 'a message is one row'
like "$(cat "$W/view")" '^MESSAGE .*\bAGE  TEXT' 'under its head'
like "$(cat "$W/view")" 'Please' 'with its first words'
shown 200 session list >"$W/view"
like "$(cat "$W/view")" "$LONG" 'a wide one has room for all'
done_testing
