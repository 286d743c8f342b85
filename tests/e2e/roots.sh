# shellcheck shell=bash
# shellcheck disable=SC2034	# what is set here is read by those who source it
# Sourced after lib.sh by tests about agents that the ledger knows, whether tmux does or not.
#   DB, CONFIG		the store, and the configuration: its directory is there
#   record AGENT [FIELDS [SESSION]]
#			an agent whose process is not known to run, by a start command that is known; FIELDS: more members, behind a comma;
#			SESSION: its tmux session, else of its own name; "$(agent_dir SESSION)/cwd" is its directory
#   tag KEY		of a record
#   runs AGENT		does the process run that its record tells of?
#   ended AGENT		it does not
#   has SESSION		is there such a tmux session?

# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
DB=$XDG_STATE_HOME/gt-recover/recover.db
CONFIG=$XDG_CONFIG_HOME/gt-recover/gt.toml
CLAUDE=$(command -v claude)
mkdir -p "${CONFIG%/*}"

record() {
	local session=${3:-$1} dir
	dir=$(agent_dir "$session")
	mkdir -p "$dir/cwd"
	printf '{"agent_uuid":"%s","provider_name":"claude","session":"%s","workspace_path":"%s","start_command":"env FAKE_AGENT_LOG=%s %s --dangerously-skip-permissions"%s}' \
		"$1" "$session" "$dir/cwd" "$dir" "$CLAUDE" "${2:-}" >"$W/in"
	gt_in "$W/in" session record
}

tag() {
	sql "$DB" "select tag from record where key = '$1'"
}

runs() {
	local pid
	pid=$(sql "$DB" "select json_extract(value, '\$.process.pid') from record where key = 'session:$1'")
	[ -n "$pid" ] && ! _gone "$pid"
}

ended() {
	! runs "$1"
}

has() {
	tm has-session -t "=$1" 2>/dev/null
}
