#!/bin/bash
# The program that is built without process/linux.c and base/sys_linux.c (make SYSTEM=posix): it asks kill and ps, and finds /proc empty.
# What it cannot know it takes for alive.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
POSIX=$(dirname "$GT_RECOVER")/posix/gt-recover
[ -x "$POSIX" ] || skip_all "$POSIX is not built (make SYSTEM=posix FAULTS=1)"

# Its ps runs outside, where /proc is.
mkdir "$W/ps"
mkfifo "$W/ask"
real=$(command -v ps)
cat >"$W/ps/ps" <<'SH'
#!/bin/sh
place=${0%/*}
mkfifo "$place/answer.$$"
printf '%s %s\n' "$place/answer.$$" "$*" >"$place/../ask"
cat "$place/answer.$$"
rm -f "$place/answer.$$"
SH
chmod +x "$W/ps/ps"
while read -r answer words; do
	read -ra words <<<"$words"
	printf '%s\n' "${words[*]}" >>"$W/asked"
	"$real" "${words[@]}" >"$answer"
done <>"$W/ask" &
PIDS+=($!)
disown $!
cat >"$W/hidden" <<SH
#!/bin/sh
exec unshare -m sh -c 'mount -t tmpfs none /proc && PATH=$W/ps:\$PATH exec "\$0" "\$@"' $POSIX "\$@"
SH
chmod +x "$W/hidden"
GT_RECOVER=$W/hidden
# the address sanitizer reads its own maps; a container may allow no mounts: there its ps runs beside it
if [[ $POSIX == */san/* ]] || ! unshare -m mount -t tmpfs none /proc 2>/dev/null; then
	note '/proc is not hidden here'
	printf '#!/bin/sh\nprintf "%%s\\n" "$*" >>%s\nexec %s "$@"\n' "$W/asked" "$real" >"$W/ps/ps"
	# shellcheck disable=SC2016	# expanded by that script
	printf '#!/bin/sh\nPATH=%s:$PATH exec %s "$@"\n' "$W/ps" "$POSIX" >"$W/hidden"
fi
cat >"$W/with.toml" <<'TOML'
[recovery.agents.claude]
command = "claude --dangerously-skip-permissions"
TOML
not_ok 'the program names no file of /proc' grep -aqE '/proc/(self|%d|locks|sys/kernel/random)' "$POSIX"
ok 'an agent works in a pane' start_agent pane --scenario "$DATA/work.scenario"
ok 'one was typed into a shell' start_agent typed --shell --scenario "$DATA/work.scenario"
until_ 10 pane_shows pane 'test 7 ok'
until_ 10 pane_shows typed 'test 7 ok'
gt list --live -L main --config "$W/with.toml"
is "$RC" 0 'they are listed'
like "$OUT" '(working|idle|live) +pane .*(working|idle|live) +typed ' 'as living'
gt pane -L main --config "$W/with.toml"
is "$RC" 6 'and refused'
is "$(agent_starts pane) $(agent_starts typed)" '1 1' 'living agents are not touched'

ok 'the first is killed' kill_agent pane
gt pane -L main --config "$W/with.toml"
is "$RC $(agent_starts pane) $(messages pane)" '0 2 1' 'the dead pane is recovered'

ok 'the second is killed, too' kill_agent typed
shell=$(tm display-message -p -t "$(agent_pane typed)" '#{pane_pid}')
gt typed -L main --config "$W/with.toml"

is "$RC $(agent_starts typed) $(messages typed)" '0 2 1' 'the typed agent is recovered'
is "$(tm display-message -p -t "$(agent_pane typed)" '#{pane_pid}')" "$shell" 'in the same shell'
ok 'ps was asked' test -s "$W/asked"
done_testing
