#!/bin/bash
# Background sessions of Claude Code are listed with their state, and a failed one is started again by claude respawn, once and without words; a pane
# that shows one gets its viewer back, and never a --resume. claude is a script here; tests/agent/background.t has the real one.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
unset ANTHROPIC_API_KEY
often
CONFIG=$HOME/.claude ID=ee7ad597 TALK=ee7ad597-63e7-4183-b73a-6ea5eabd9c50 CWD=$W/proj
mkdir -p "$CWD" "$CONFIG/jobs/$ID" "$CONFIG/daemon" "$CONFIG/sessions"
FOLDER=$CONFIG/projects/$(realpath "$CWD" | tr -c 'a-zA-Z0-9\n' -)
mkdir -p "$FOLDER"
printf '{"type":"user","sessionId":"%s","message":{"role":"user","content":"begin"}}\n' "$TALK" >"$FOLDER/$TALK.jsonl"
touch -d '-1 hour' "$FOLDER/$TALK.jsonl"

state() {	# WORD [CREDENTIAL]
	sed -e "s|\"state\": \"[a-z]*\"|\"state\": \"$1\"|; s|\"cwd\": \"[^\"]*\"|\"cwd\": \"$CWD\"|; s|env-key|${2:-login}|" \
		"$ROOT/tests/golden/background/state.json" >"$CONFIG/jobs/$ID/state.json"
}
roster() {	# PID
	local start
	start=$(sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 20)
	printf '{"workers":{"%s":{"pid":%s,"procStart":"%s","replPid":%s,"replProcStart":"%s"}}}\n' "$ID" "$1" "$start" "$1" "$start" \
		>"$CONFIG/daemon/roster.json"
}
reset() {
	cp "$ROOT/tests/golden/background/roster.json" "$CONFIG/daemon/roster.json"
	cp "$ROOT/tests/golden/background/daemon.lock" "$CONFIG/daemon.lock"
}
# respawn: the agent comes up and goes on with its transcript; attach and agents: something that stays
rm -f "$W/bin/claude"
cat >"$W/bin/claude" <<-EOF
	#!/bin/bash
	printf '%s|%s\n' "\$PWD" "\$*" >>"$W/calls"
	case \$1 in
	respawn)
		[ ! -e "$W/broken" ] || exit 1
		sleep 60 </dev/null >/dev/null 2>&1 &
		echo \$! >"$W/respawned"
		. "$W/functions"
		roster \$!
		state running
		echo '{"type":"agent-name"}' >>"$FOLDER/$TALK.jsonl"
		echo "restarted \$2" ;;
	attach)
		echo "viewer of \$2"
		while read -r line; do echo "read \$line"; done ;;
	esac
EOF
chmod +x "$W/bin/claude"
{ declare -f state roster; declare -p CONFIG ID CWD ROOT; } >"$W/functions"
calls() {	# EXTENDED-REGEXP
	touch "$W/calls"
	grep -Ec -- "$1" "$W/calls"
}

# ---- what is listed ----
state working
reset
is "$(listed $ID class) $(listed $ID background_state) $(listed $ID recoverable)" 'missing failed 1' 'all killed: failed, whatever its own file says'
state stopped
is "$(listed $ID class)" '' 'one that was stopped is not listed'
state failed
is "$(listed $ID refusal)" 'given-up' 'one that its service gave up wants its name'
state working env-key
is "$(listed $ID refusal)" 'needs-secret' 'and one with a key of the environment that key'
state crashed
printf '{"pid":%s,"procStart":"%s"}\n' $$ "$(sed 's/.*) //' /proc/$$/stat | cut -d ' ' -f 20)" >"$CONFIG/daemon.lock"
is "$(listed $ID class) $(listed $ID background_state)" 'unknown crashed' 'its service runs'
gt --all --yes -L "$SOCKET"
is "$RC $(calls respawn)" '4 0' 'and is left to start it again'
gt $ID -L "$SOCKET"
is "$RC $(calls respawn)" '6 0' 'also when it is named'

# ---- without a tmux server ----
state working
reset
: >"$W/broken"
gt $ID -L "$SOCKET"
like "$RC $ERR" '^1 .*claude respawn ee7ad597 ended with status 1' 'claude refuses it'
rm "$W/broken" "$W/calls"
gt --all --dry-run -L "$SOCKET"
like "$OUT" "would recover $ID.*claude respawn $ID" 'the plan has it'
gt --all --yes --json -L "$SOCKET"
is "$RC $(json '{results}[0]{session}') $(json '{results}[0]{via}') $(json '{results}[0]{proof}')" "0 $ID respawn transcript" 'all recovers it, with proof'
PIDS+=("$(cat "$W/respawned")")
is "$(cat "$W/calls")" "$CWD|respawn $ID" 'by one respawn in its directory, and nothing else'
is "$(listed $ID class) $(listed $ID background_state)" 'live running' 'it lives'
gt --all --yes -L "$SOCKET"
is "$RC $(calls respawn)" '4 1' 'and is not started again'

# ---- its viewer ----
tm new-session -d -s shown -x 100 -y 30 -c "$CWD" "claude attach $ID" \; set-option -g remain-on-exit on
until_ 10 listed_is shown viewer 1
is "$(listed shown class) $(listed shown viewer)" 'live 1' 'a pane that shows it'
gt snapshot -L "$SOCKET"
pid=$(_find_agent "$(tm display-message -p -t shown '#{pane_pid}')")
kill -9 "$pid"
until_ 5 _gone "$pid"
wake
until_ 5 listed_is shown class dead
is "$(listed shown class) $(listed shown viewer) $(listed $ID class)" 'dead 1 live' 'it is killed, and the session is not'
gt shown -L "$SOCKET" --json
is "$RC $(json '{results}[0]{via}') $(json '{results}[0]{proof}')" '0 viewer screen' 'it comes back'
[ "$RC" = 0 ] || note "$OUT$ERR"
is "$(calls "\|attach $ID\$") $(calls respawn) $(wc -l <"$W/calls")" '2 1 3' 'as the viewer, and nothing else was started'
is "$(listed shown class) $(listed shown viewer)" 'live 1' 'it lives, as one'
unlike "$(tm capture-pane -p -t shown)" 'read ' 'and is told nothing'
done_testing
