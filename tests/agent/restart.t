#!/bin/bash
# Startup brings the real Claude Code back of which nothing but its record is known: told of the restart, once, in a conversation of its own the
# first time, in the recorded one when the machine goes down again.
# shellcheck source=tests/agent/claude.sh
. "$(dirname "$0")/claude.sh"
CACHE=$(claude_cache) REAL_HOME=$HOME
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
DB=$XDG_STATE_HOME/gt-recover/recover.db

program=$(claude_install "$CACHE" "$REAL_HOME") || skip_all "the real Claude Code is out of reach: $program"
ln -sf -- "$program" "$W/bin/claude"

cat >"$W/scenario.json" <<'JSON'
{"answers": [{"when": "resuming after a system restart", "content": [{"text": "I look at my team and go on."}]}], "otherwise": "Yes."}
JSON
node "$MODEL" serve --scenario "$W/scenario.json" --requests "$W/requests" --port-file "$W/port" --log "$W/log" >"$W/model.log" 2>&1 &
PIDS+=($!)
until_ 10 test -s "$W/port" || { note "$(cat "$W/model.log")" && fail 'the model is up' && done_testing; }

cwd=$(agent_dir boss)/cwd
mkdir -p "$cwd" "$XDG_CONFIG_HOME/gt-recover"
printf '[recovery]\nauto_recover = true\n' >"$XDG_CONFIG_HOME/gt-recover/gt.toml"
claude_home "$W/boss" "$cwd"
claude_env "$W/boss" "$(cat "$W/port")"
command='env'
for word in "${CLAUDE_ENV[@]}"; do
	[[ $word == ANTHROPIC_API_KEY=* ]] || command+=" $word"
done
export ANTHROPIC_API_KEY=$MODEL_KEY
field() {	# NAME
	sql "$DB" "select json_extract(value, '\$.$1') from record where key = 'session:boss'"
}
server_dies() {
	local pid
	pid=$(tm display-message -p '#{pid}')
	kill -9 "$pid"
	until_ 10 _gone "$pid" && until_ 20 _gone "$(field process.pid)"
}

printf '{"agent_uuid":"boss","provider_name":"claude","session":"boss","workspace_path":"%s","start_command":"%s %s --dangerously-skip-permissions"}' \
	"$cwd" "$command" "$W/bin/claude" >"$W/in"
gt_in "$W/in" session record
is "$RC" 0 'a root is recorded'
gt -L "$SOCKET" startup --json
is "$RC $(json '{startup}{resume}[0]{restarted}') $(json '{startup}{resume}[0]{refusal}')" '0 true (none)' 'startup brings it back, with proof'
[ "$(json '{startup}{resume}[0]{restarted}')" = true ] || note "$ERR"
id=$(json '{startup}{resume}[0]{recovery_id}')
kept_prompt "$id" "$W/prompt"
like "$(cat "$W/prompt")" 'resuming after a system restart' 'it is told of the restart'
is "$(node "$MODEL" count --requests "$W/requests" --prompt "$W/prompt" | grep -v ' inside=0 ' | cut -d ' ' -f 2,3)" 'exact=1 inside=1' 'byte for byte, once'
talk=$(field cursor_session_id)
ok 'its conversation is recorded' test -s "$W/boss/.claude/projects/$(printf %s "$(realpath "$cwd")" | tr -c 'a-zA-Z0-9\n' -)/$talk.jsonl"
ok 'and its process, which is claude' grep -q '^Name:.claude' "/proc/$(field process.pid)/status"

ok 'the tmux server is killed' server_dies
rm -rf "$XDG_STATE_HOME/gt-recover/snapshots"
gt -L "$SOCKET" startup --json
is "$RC $(json '{startup}{resume}[0]{restarted}') $(json '{startup}{resume}[0]{refusal}')" '0 true (none)' 'it is brought back again'
[ "$(json '{startup}{resume}[0]{restarted}')" = true ] || note "$ERR"
is "$(field cursor_session_id)" "$talk" 'in the same conversation'
gt -L "$SOCKET" startup
is "$RC $OUT$ERR" '0 ' 'then there is nothing to do'
not_ok 'its key stands in nothing that was written' grep -rq -- "$MODEL_KEY" "$XDG_STATE_HOME/gt-recover"
done_testing
