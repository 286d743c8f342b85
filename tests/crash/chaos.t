#!/bin/bash
# Agents, recoverers, passes of snapshots and the tmux server die at random, all at the same time; then it is judged what came of it (chaos.pl,
# chaos_judge.pl). Needs a build with fault points. CHAOS_SECONDS=30 CHAOS_PANES=12 CHAOS_SEED=<the time>: make chaos runs it for 15 minutes.
# CHAOS_KEEP=DIR keeps what a run that failed leaves, with the words of each of its recoverers.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
grep -q GT_FAULT "$GT_RECOVER" || skip_all 'this build has no fault points (make FAULTS=1)'

# The agent finds its log by its directory: nothing of a tmux session's environment outlives the server.
mkdir "$W/agent"
mv "$W/bin/claude" "$W/agent/claude"
cat >"$W/bin/claude" <<SH
#!/bin/bash
FAKE_AGENT_LOG=\${PWD%/cwd} FAKE_AGENT_PLAN=\${PWD%/cwd}/plan exec -a claude '$W/agent/claude' "\$@"
SH
chmod 755 "$W/bin/claude"
cat >"$HOME/.tmux.conf" <<'CONF'
set -g default-shell /bin/bash
set -g history-limit 5000
set -g focus-events on
set -s exit-empty off
CONF
often
cat >>"$XDG_CONFIG_HOME/gt-recover/gt.toml" <<TOML
auto_recover = true
spacing = "0s"
via = "inject"
ready_timeout = "15s"
ack_timeout = "15s"
[recovery.mail]
command = "cat >>'$W/mails'"
[recovery.agents.claude]
command = "claude --dangerously-skip-permissions"
TOML

: >"$W/kmsg"
export W GT_RECOVER
CHAOS_SOURCES=$ROOT/src GT_KMSG=$W/kmsg perl "$ROOT/tests/crash/chaos.pl"
rc=$?
[ "$rc" = 0 ] || [ -z "${CHAOS_KEEP:-}" ] || cp -a -- "$W/." "$CHAOS_KEEP" 2>/dev/null || note "not all of it could be kept in $CHAOS_KEEP"
TESTS=-1	# it said them itself
exit "$rc"
