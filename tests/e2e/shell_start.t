#!/bin/bash
# An agent that a person typed into a shell is started again inside that shell: what refuses, what happens when something fails half-way, and that the
# line which is typed works once. The states of the shells themselves: shell_bash.t and its like.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"
cat >"$W/with.toml" <<'TOML'
[recovery]
via = "inject"
[recovery.agents.claude]
command = "claude --dangerously-skip-permissions"
TOML
zombie() {	# SESSION
	start_agent "$1" --shell --scenario "$DATA/work.scenario" && until_ 10 pane_shows "$1" 'test 7 ok' && kill_agent "$1" &&
		until_ 5 listed_is "$1" class zombie
}
pane_pid() {	# SESSION
	tm display-message -p -t "$(agent_pane "$1")" '#{pane_pid}'
}
error_is() {
	json '{results}[0]{error}{name}'
}
starts_left() {
	find "$XDG_STATE_HOME/gt-recover/starts" -type f 2>/dev/null | wc -l
}

ok 'an agent typed into a shell is killed' zombie plain
shell=$(pane_pid plain)
gt plain -L main --config "$W/with.toml"
is "$RC $(pane_pid plain)" "0 $shell" 'it comes back in the same shell'
like "$ERR" 'Claude started in its shell' 'which is said'
unlike "$ERR" 'half-typed' 'nothing was half typed'
is "$(starts_left)" 0 'nothing of its ticket is left'
line=$(pane_text plain | grep -Eo '/[^ ]*gt-recover start gtr-[0-9a-f]{16}' | tail -n 1)
like "$line" '^[A-Za-z0-9/._-]+ start gtr-[0-9a-f]{16}$' 'the line holds nothing that a shell could expand'
ok 'it is killed again' kill_agent plain
until_ 5 listed_is plain class zombie
tm send-keys -t "$(agent_pane plain)" -l "$line" \; send-keys -t "$(agent_pane plain)" Enter
ok 'the same line once more starts nothing' until_ 5 pane_shows plain 'no start ticket'
is "$(agent_pid plain)" '' 'no agent is there'
tm send-keys -t "$(agent_pane plain)" -l "touch $W/BAD"
until_ 5 pane_shows plain "touch $W/BAD"
TMUX=$(tm display-message -p '#{socket_path}'),1,0 gt plain -L main --config "$W/with.toml"
is "$RC" 0 'it comes back a second time'
like "$ERR" "Switch to it with: tmux switch-client -t $(agent_pane plain)" 'from a pane of the same server one is sent to its pane'
like "$ERR" 'the unfinished command line in the shell was not run' 'the half-typed line is told'
is "$(compgen -G "$W/BAD")" '' 'and was not executed'
is "$(messages plain)" 2 'told once each time'

# ---- a person at the keyboard ----
ok 'one more' zombie watched
ok 'somebody attaches to it' visit watched
gt --all --yes -n -L main --config "$W/with.toml"
like "$OUT" 'would recover watched' 'a client alone refuses nothing'
ok 'and types' types watched e
gt watched -L main --config "$W/with.toml"
is "$RC $(messages watched)" '0 1' 'naming it lifts that'
leave watched

# ---- what is typed goes to one pane, also in a window whose panes are typed into together ----
ok 'one more' zombie beside
tm split-window -d -t "$(agent_pane beside)" 'PS1="OTHER> " exec bash --norc --noprofile' \; set-option -w -t "$(agent_pane beside)" synchronize-panes on
other=$(tm list-panes -t =beside: -F '#{pane_id}' | grep -vx "$(agent_pane beside)")
shows_other() {	# EXTENDED-REGEXP
	tm capture-pane -p -S - -t "$other" | grep -Eq -- "$1"
}
ok '  with a shell beside it' until_ 5 shows_other 'OTHER>'
gt "$(agent_pane beside)" -L main --config "$W/with.toml"
is "$RC $(messages beside)" '0 1' 'it comes back'
not_ok '  and nothing was typed into the other pane' shows_other 'OTHER> *[^ ]'
tm send-keys -t "$other" -l 'echo still$((40+2))' \; send-keys -t "$other" Enter
ok '  which is where it was' until_ 5 shows_other '^still42'
is "$(tm show-options -wv -t "$(agent_pane beside)" synchronize-panes)" on '  and its option is as it was'

# ---- a shell that was started since the agent began is another place; the one in which it ran is its own ----
ok 'one more' zombie nested
tm send-keys -t "$(agent_pane nested)" -l 'PS1="INNER> " bash --norc --noprofile' \; send-keys -t "$(agent_pane nested)" Enter
ok '  and another shell is started there' until_ 5 pane_shows nested '^INNER>'
gt nested -L main --config "$W/with.toml" --json
is "$RC $(error_is)" '6 shell-nested' 'is refused'
like "$(json '{results}[0]{error}{hint}')" 'exit.*--respawn' '  with the ways out'
tm send-keys -t "$(agent_pane nested)" -l exit \; send-keys -t "$(agent_pane nested)" Enter
shell=$(pane_pid nested)
ok '  once it is left' until_ 5 eval "! grep -q . /proc/$shell/task/$shell/children"
gt nested -L main --config "$W/with.toml"
is "$RC $(messages nested)" '0 1' '  it comes back'
ok 'an agent in a shell within a shell' start_agent inner --shell --no-wait --command 'FROM=inner bash --norc --noprofile' --scenario "$DATA/work.scenario"
tm send-keys -t "$(agent_pane inner)" -l 'claude --dangerously-skip-permissions' \; send-keys -t "$(agent_pane inner)" Enter
ok '  works' until_ 10 pane_shows inner 'test 7 ok'
kill_agent inner
until_ 5 listed_is inner class zombie
gt inner -L main --config "$W/with.toml"
is "$RC $(messages inner)" '0 1' '  and comes back'
is "$(tr '\0' '\n' <"/proc/$(agent_pid inner)/environ" | grep ^FROM)" FROM=inner '  in that shell'

# ---- what refuses, and the way out ----
ok 'a shell that ignores Ctrl-C' zombie deaf
tm send-keys -t "$(agent_pane deaf)" -l "trap '' INT; echo is deaf" \; send-keys -t "$(agent_pane deaf)" Enter
until_ 5 pane_shows deaf '^is deaf'
gt deaf -L main --config "$W/with.toml"
like "$RC $ERR" '^6 .*cannot be interrupted.*--respawn' 'is refused, with the way out'
gt deaf -L main --config "$W/with.toml" --json
is "$(error_is)" shell-deaf 'by name'
gt deaf -L main --config "$W/with.toml" --respawn
is "$RC $(messages deaf)" '0 1' '--respawn brings it back'
not_ok 'in another process' test "$(pane_pid deaf)" = "$shell"

ok 'a pane whose input is switched off' zombie off
tm select-pane -d -t "$(agent_pane off)"
gt off -L main --config "$W/with.toml" --json
is "$RC $(error_is)" '6 shell-deaf' 'is refused'
tm select-pane -e -t "$(agent_pane off)"

cp "$(command -v dash)" "$W/bin/ksh"
ok 'an agent in a shell that nobody has measured' start_agent strange --bare --no-wait --command "$W/bin/ksh -i"
until_ 5 pane_shows strange '[$#] '
tm send-keys -t "$(agent_pane strange)" -l 'claude --dangerously-skip-permissions' \; send-keys -t "$(agent_pane strange)" Enter
ok 'works' until_ 10 _event strange '^ready'
kill_agent strange
until_ 5 listed_is strange class zombie
gt strange -L main --config "$W/with.toml" --json
is "$RC $(error_is)" '6 shell-unknown' 'is refused'

# ---- nothing comes of the line ----
if command -v fish >/dev/null; then
	mkdir -p "$HOME/.local/share/fish/generated_completions"
	ok 'an agent in a fish' start_agent eaten --bare --no-wait --command 'fish -i'
	until_ 10 pane_shows eaten '> ?$'
	tm send-keys -t "$(agent_pane eaten)" -l 'claude --dangerously-skip-permissions' \; send-keys -t "$(agent_pane eaten)" Enter
	ok 'works' until_ 10 _event eaten '^ready'
	kill_agent eaten
	until_ 10 listed_is eaten class zombie
	tm send-keys -t "$(agent_pane eaten)" -l 'while true; read x; echo ate $x; end' \; send-keys -t "$(agent_pane eaten)" Enter
	until_ 5 pane_shows eaten 'read>'
	gt eaten -L main --config "$W/with.toml" --json
	like "$RC $(error_is)" '^(1 no-check-in|6 shell-unclean)' 'a loop that reads lines, which nothing tells from a prompt, gets no agent'
	is "$(messages eaten) $(starts_left)" '0 0' 'nothing was started, and no ticket waits'
else
	skip 'fish is not installed' 4
fi

# ---- a recovery that dies half-way ----
if grep -q GT_FAULT "$GT_RECOVER"; then
	for n in 2 4 6 8 10 12; do
		ok "a recovery dies at its step $n" zombie "torn$n"
		{ GT_FAULT=tmux:$n=kill "$GT_RECOVER" "torn$n" -L main --config "$W/with.toml" >/dev/null 2>&1 </dev/null; } 2>/dev/null
		gt "torn$n" -L main --config "$W/with.toml" --json
		like "$RC $(error_is)" '^(0 .none.|6 live)' 'the next one goes on, or finds it done'
		is "$(messages "torn$n") $(agent_starts "torn$n")" '1 2' 'it was started once and told once'
	done
	is "$(starts_left)" 0 'nothing is left of it'
fi
done_testing
