# shellcheck shell=bash
# Sourced after lib.sh by tests of epics; brings roots.sh.
#   checkpoint KIND ID JSON
#   pane_of AGENT		notes where it lives now, for what lib.sh does to agents

# shellcheck source=tests/e2e/roots.sh
. "$ROOT/tests/e2e/roots.sh"

checkpoint() {
	printf '%s' "$3" >"$W/in"
	gt_in "$W/in" checkpoint "$1" "$2"
}

pane_of() {
	tm display-message -p -t "=$1:" '#{pane_id}' >"$(agent_dir "$1")/pane"
}
