#!/bin/bash
# An epic of five sprints whose agents all die at random points of it, some of them with the tmux server: each time it is found, and no other one
# is, one command brings its agents back, and what they do again of the steps that were done is at most 5 % (epic.pl). Checkpoints die, too, on
# their way to the store.
# EPIC_CRASHES=3 EPIC_STEPS=16 (of each sprint) EPIC_SEED=<the time>: make chaos-epic does ten crashes.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

cat >"$HOME/.tmux.conf" <<'CONF'
set -g default-shell /bin/bash
set -g history-limit 5000
set -g focus-events on
set -g remain-on-exit on
set -s exit-empty off
CONF
often
cat >>"$XDG_CONFIG_HOME/gt-recover/gt.toml" <<'TOML'
spacing = "0s"
TOML
CLAUDE=$(command -v claude) W=$W GT_RECOVER=$GT_RECOVER perl "$ROOT/tests/crash/epic.pl"
rc=$?
TESTS=-1	# it said them itself
exit "$rc"
