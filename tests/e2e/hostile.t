#!/bin/bash
# Missing sessions whose names, directories and commands tmux or a shell would read as something else, or whose names somebody else takes:
# they come back as they were, and nobody else's pane is touched. What was closed on purpose stays closed, whatever dies later.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

start_kept() {	# SESSION [start_agent's options]...
	local dir
	dir=$(agent_dir "$1")
	start_agent "$@" --command "env FAKE_AGENT_LOG='$dir' FAKE_AGENT_PLAN='$dir/plan' claude --dangerously-skip-permissions --append-system-prompt 'it is \"#{pid}\" \$HOME;'"
}
kill_server() {	# SESSION...: and their agents are gone
	local pid s
	pid=$(tm display-message -p '#{pid}')
	kill -9 "$pid"
	until_ 10 _gone "$pid"
	for s; do
		until_ 10 no_agent "$s"
	done
}
no_agent() {	# SESSION
	! grep -aqs "FAKE_AGENT_LOG=$(agent_dir "$1")" /proc/[0-9]*/environ
}

often
printf 'spacing = "0s"\n' >>"$XDG_CONFIG_HOME/gt-recover/gt.toml"

# ---- names ----
# shellcheck disable=SC2016
names=('it'"'"'s "so"' '#(touch PWNED)#{pid}' '-leading -t x' 'ends;' '$1' '%0' '@0' 'übung ☃' 'a*b?[c]' 'back\slash' '{last}' '~' '=eq' "$(printf 'n%.0s' {1..600})")
all=()
for i in "${!names[@]}"; do
	all+=("n$i")
	dir="$(agent_dir "n$i")/cwd #{pid} 'q' \$x;"
	mkdir -p "$dir"
	ok "an agent works in a session called ${names[i]:0:24}" start_kept "n$i" --cwd "$dir" --scenario "$DATA/idle.scenario"
	tm rename-session -t "$(agent_pane "n$i")" -- "${names[i]//#/##}"
done
looks() {
	tm list-panes -a -F '#{session_name} #{pane_start_path} #{pane_width}' | sort
}
looks >"$W/before"
gt snapshot -L main
is "$RC" 0 'a pass of snapshots'
kill_server "${all[@]}"
gt --all --yes -L main --via inject
is "$RC" 0 '  all come back'
like "$ERR" "found=${#names[@]} recovered=${#names[@]} " '  each by itself'
looks >"$W/after"
same_file "$W/after" "$W/before" '  with their names and directories'
for i in "${!names[@]}"; do
	is "$(agent_starts "n$i") $(messages "n$i")" '2 1' "  ${names[i]:0:24}: started once, told once"
done
is "$(tm list-panes -a -F '#{pane_id}' | while read -r p; do tm show-options -p -v -t "$p" remain-on-exit; done)" '' '  no pane with an option of its own'
not_ok '  nothing of a name ran' test -e PWNED
gt --all --yes -L main
is "$RC" 4 '  once'

# ---- somebody takes the name, just then ----
tm kill-server
for i in "${all[@]}"; do
	until_ 10 no_agent "$i"
done
rm -rf "$XDG_STATE_HOME/gt-recover"
ok 'an agent works' start_kept toast --scenario "$DATA/idle.scenario"
gt snapshot -L main
kill_server toast
real=$(command -v tmux)
cat >"$W/bin/tmux" <<END
#!/bin/bash
cat >'$W/batch.'\$\$
if grep -q new-session '$W/batch.'\$\$ && mkdir '$W/once' 2>/dev/null; then
	'$real' -u -L main -f /dev/null new-session -d -s toast cat </dev/null
fi
'$real' "\$@" <'$W/batch.'\$\$
rc=\$?
rm -f '$W/batch.'\$\$
exit \$rc
END
chmod +x "$W/bin/tmux"
gt toast --json -L main --via inject
rm "$W/bin/tmux"
hash -r
ok 'somebody was faster' test -d "$W/once"
is "$(json '{results}[0]{error}{name}')" taken '  says so'
is "$RC" 75 '  for another time'
is "$(tm list-panes -a -F '#{session_name} #{window_index}')" 'toast 0' '  there is no second window'
is "$(tm show-options -p -v -t =toast: remain-on-exit)" '' '  no option of that pane was set'
is "$(agent_starts toast)" 1 '  nothing was started'
tm kill-server

# ---- a gt-recover with another state directory is somebody else ----
rm -rf "$XDG_STATE_HOME/gt-recover"
ok 'an agent works' start_kept spelt --scenario "$DATA/idle.scenario"
gt snapshot -L main
cp -a "$XDG_STATE_HOME" "$W/other"
kill_server spelt
XDG_STATE_HOME=$W/other "$GT_RECOVER" spelt -L main --via inject >"$W/other.out" 2>&1 </dev/null &
gt spelt -L main --via inject
rc=$RC
RC=0
wait $! || RC=$?
is "$((rc > RC ? rc : RC)) $((rc < RC ? rc : RC))" '75 0' 'two that know nothing of each other: one of them recovers'
is "$(agent_starts spelt) $(messages spelt)" '2 1' '  started once, told once'
tm kill-server

# ---- closed on purpose, long before ----
rm -rf "$XDG_STATE_HOME/gt-recover"
ok 'an agent works' start_kept closed --scenario "$DATA/idle.scenario"
ok '  and another' start_kept first --scenario "$DATA/idle.scenario"
gt snapshot -L main
tm kill-session -t =closed
until_ 10 no_agent closed
gt snapshot -L main
kill_server first
ok 'a second server' start_kept second --scenario "$DATA/idle.scenario"
gt snapshot -L main
kill_server second
ok 'a third' start_kept third --scenario "$DATA/idle.scenario"
gt snapshot -L main
is "$(listed closed class)$(listed closed refusal)" missingstopped 'what was closed in the first'
is "$(listed first refusal) $(listed first crash_reason)" '(none) server_exit' '  is not what died with it'
gt --all --yes -L main --via inject
like "$ERR" 'found=2 recovered=2 unacknowledged=0 refused=0 failed=0' '  --all brings back what died with its server'
is "$(agent_starts closed)" 1 '  and nothing else'

# ---- names and places that change ----
tm kill-server
rm -rf "$XDG_STATE_HOME/gt-recover"
for i in old moved stays; do
	ok "an agent works in $i" start_kept "$i" --scenario "$DATA/work.scenario"
done
until_ 10 pane_shows stays 'test 7 ok'
gt snapshot -L main
tm rename-session -t =old new \; join-pane -d -s "$(agent_pane moved)" -t "$(agent_pane stays)"
gt snapshot -L main
kill -9 "$(agent_pid old)" "$(agent_pid moved)" "$(agent_pid stays)" "$(tm display-message -p '#{pid}')"
for i in old moved stays; do
	until_ 10 no_agent "$i"
done
is "$(listed new class)$(listed old class)$(listed moved class)" missing 'a session of another name, and one whose pane was moved'
gt --all --yes -L main --via inject
is "$RC" 0 '  all are brought back'
like "$ERR" 'found=3 recovered=3 unacknowledged=0 refused=0 failed=0' '  where they were last'
is "$(tm list-panes -a -F '#{session_name}' | tr '\n' ' ')" 'new stays stays ' '  under their last names'
is "$(messages old) $(messages moved) $(messages stays)" '1 1 1' '  told once'

# ---- a secret that was a part of a value ----
dir=$(agent_dir part)
mkdir -p "$dir"
ok 'an agent works' start_agent part --scenario "$DATA/idle.scenario" --command "env FAKE_AGENT_LOG='$dir' API_URL=ghp_0123456789abcdefghijABCDEFGHIJ012345/and-more claude"
gt snapshot -L main
kill_server part
gt part --json -L main
is "$(json '{results}[0]{error}{name}')" needs-secret 'a command that cannot be made whole is refused'
is "$(API_URL=x listed part refusal)" needs-secret '  also where the environment has the variable'

# ---- a pass finds a recovery under way, and the end of the server that it answers ----
tm kill-server
rm -rf "$XDG_STATE_HOME/gt-recover"
printf '[recovery]\nmax_attempts = 1000\nspacing = "0s"\nauto_recover = true\nready_timeout = "2s"\nack_timeout = "2s"\n' >"$W/hasty.toml"
ok 'an agent works' start_kept oat --scenario "$DATA/work.scenario"
until_ 10 pane_shows oat 'test 7 ok'
ok '  another one' start_kept rye --scenario "$DATA/idle.scenario"
kill_agent rye
gt rye -L main --via inject
is "$RC" 0 '  which was brought back before'
gt snapshot -L main
gt patrol -L main
is "$RC" 0 '  a pass knows their server'
kill_server oat rye
agent_plan oat "--scenario $DATA/work.scenario"
gt oat -L main --json --via inject --config "$W/hasty.toml"
is "$(json '{results}[0]{error}{name}')" unacknowledged 'one that was brought back, and has not answered yet'
id=$(json '{results}[0]{recovery_id}')
gt patrol -L main --json --config "$W/hasty.toml"
is "$(json '{startup}{servers_ended}') $(json '{startup}{closed}')" '1 0' '  is not given up'
gt log
is "$(grep -c ' oat .*recovery started' <<<"$OUT")" 1 '  nor recovered once more'
is "$(grep -c " oat .*recovery failed *$id" <<<"$OUT")" 0 '  nor has it failed'
is "$(agent_starts oat) $(messages oat)" '2 1' '  started once, told once'

done_testing
