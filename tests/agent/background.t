#!/bin/bash
# The real Claude Code: a background session and its viewers, all killed at once. The session is started again by claude respawn, with its
# conversation and without a message; the viewers come back as viewers.
# shellcheck source=tests/agent/claude.sh
. "$(dirname "$0")/claude.sh"
CACHE=$(claude_cache) REAL_HOME=$HOME
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# not the version that every machine has for these tests
[ "${GT_AGENTS:-}" = all ] || [ -d "$CACHE/claude-code-2.1.330" ] || skip_all 'GT_AGENTS=all brings Claude Code 2.1.330'
program=$(claude_install "$CACHE" "$REAL_HOME" 2.1.330) || skip_all "the real Claude Code is out of reach: $program"
ln -sf -- "$program" "$W/bin/claude"
printf '{"answers": [], "otherwise": "Yes."}' >"$W/scenario.json"
node "$MODEL" serve --scenario "$W/scenario.json" --requests "$W/requests" --port-file "$W/port" --log "$W/log" >"$W/model.log" 2>&1 &
PIDS+=($!)
until_ 10 test -s "$W/port" || { note "$(cat "$W/model.log")" && fail 'the model is up' && done_testing; }
mkdir -p "$W/proj" && cd "$W/proj" || exit 1
claude_home "$HOME" "$W/proj"
claude_env "$HOME" "$(cat "$W/port")"
export "${CLAUDE_ENV[@]}"
CONFIG=$HOME/.claude

field() {	# FILE PATH: of a JSON file
	OUT=$(cat "$CONFIG/$1" 2>/dev/null) json "$2"
}
idle() {
	[ "$(field "jobs/$ID/state.json" '{tempo}')" = idle ] && listed_is "$ID" class live
}
shows_it() {
	tm capture-pane -p -t shown | grep -q 'Yes' && tm capture-pane -p -t typed | grep -q 'Yes'
}
members() {	# PID: it and all below it
	local child
	for child in $(pgrep -P "$1"); do
		members "$child"
	done
	printf '%s\n' "$1"
}
end_service() {
	local pid list
	list=$(members "$(field daemon/roster.json '{supervisorPid}')")
	for pid in $list "$(field daemon/roster.json "{workers}{$ID}{replPid}")"; do
		kill -9 "$pid" 2>/dev/null
	done
	for pid in $list; do
		until_ 5 _gone "$pid"
	done
}
# its sockets are not below HOME
remove_sockets() {
	local dir
	dir=$(field daemon/roster.json "{workers}{$ID}{ptySock}")
	[[ ! $dir =~ ^/tmp/cc-daemon-[0-9]+/[0-9a-f]+/ ]] || until_ 10 rm -rf -- "${BASH_REMATCH[0]}"	# the service may write there until its end
}
trap 'end_service; remove_sockets; _cleanup' EXIT

ID=$(timeout 60 claude --bg 'Begin with the first step' </dev/null 2>/dev/null | sed -n 's/^backgrounded · //p')
like "$ID" '^[0-9a-f]{8}$' 'a background session is started'
ok 'it is listed as live' until_ 30 idle
gt --all --yes -L "$SOCKET"
is "$RC" 4 'and is left alone'
tm new-session -d -s shown -x 110 -y 40 -c "$W/proj" "claude attach $ID" \; set-option -g remain-on-exit on
tm new-session -d -s typed -x 110 -y 40 -c "$W/proj" 'exec bash --norc --noprofile -i'
tm send-keys -t typed -l "claude attach $ID" \; send-keys -t typed Enter
ok 'a pane shows it' until_ 20 listed_is shown viewer 1
ok 'and one into whose shell that was typed' until_ 20 listed_is typed viewer 1
ok 'they show the conversation' until_ 15 shows_it
gt snapshot -L "$SOCKET"
requests=$(ls "$W/requests")

# ---- the service and everything below it ----
# a viewer that lives would start the service again
for name in shown typed; do
	pid=$(_find_agent "$(tm display-message -p -t $name '#{pane_pid}')")
	kill -9 "$pid" && until_ 5 _gone "$pid"
done
end_service
wake
ok 'all is killed: failed' until_ 10 listed_is "$ID" background_state failed
talk=$(field "jobs/$ID/state.json" '{sessionId}')
GT_QUIET_MS=0 gt --all --yes -L "$SOCKET" --json
is "$RC $(json '{results}[0]{session}') $(json '{results}[0]{via}') $(json '{results}[0]{proof}')" "0 $ID respawn transcript" 'it is started again first, with proof'
[ "$RC" = 0 ] || note "$OUT$ERR"
is "$(json '{results}[1]{session}') $(json '{results}[1]{via}') $(json '{recovered}')" 'shown viewer 2' 'then its viewer'
is "$(listed typed refusal)" viewer 'one in a shell may have been left'
GT_QUIET_MS=0 gt typed -L "$SOCKET" --json
is "$RC $(json '{results}[0]{via}')" '0 viewer' 'named, it comes back, too'
ok 'it lives' until_ 20 idle
is "$(field "jobs/$ID/state.json" '{sessionId}')" "$talk" 'in its conversation'
is "$(listed shown viewer)$(listed typed viewer)" 11 'as viewers'
ok 'which show the conversation' until_ 15 shows_it
[ "$FAILS" = 0 ] || note "$(tm capture-pane -p -t shown)$(tm capture-pane -p -t typed)"
is "$(ls "$W/requests")" "$requests" 'nobody was sent a message'
is "$(find "$CONFIG/projects" -name '*.jsonl' | wc -l)" 1 'and there is one conversation'
done_testing
