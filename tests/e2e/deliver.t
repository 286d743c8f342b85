#!/bin/bash
# A paste into a living agent: only where it waits with an empty box, never over a person's words or into a dialog, once, and sent off.
# shellcheck disable=SC2016	# what meddles with the batches is written in single quotes, for a shell of its own
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
# shellcheck source=tests/e2e/town.sh
. "$ROOT/tests/e2e/town.sh"
often
cat >"$W/quick.toml" <<'TOML'
[recovery]
ready_timeout = "3s"
ack_timeout = "3s"
max_attempts = 1000
TOML

# What stands in for a start command of which nobody can say what reads its input: its prompt is pasted.
involved='sh -c "[ -t 0 ] || sh; exec claude --dangerously-skip-permissions"'

crash() {	# SESSION PLAN: the agent that comes next behaves so
	start_agent "$1" --command "$involved" --scenario "$DATA/idle.scenario" && kill_agent "$1" && agent_plan "$1" "$2"
}

mark() {	# SESSION: the id that the pane is marked with
	tm show-options -pqv -t "$(agent_pane "$1")" @gt_recover_pasted
}

background() {	# ARGS...: gt-recover, its process in $GT
	"$GT_RECOVER" "$@" >"$W/bg.out" 2>"$W/bg.err" </dev/null &
	GT=$!
	PIDS+=("$GT")
}

ended() {	# waits for it, its exit status in $RC
	RC=0
	wait "$GT" || RC=$?
	OUT=$(cat "$W/bg.out")
}

# ---- the plain way ----
ok 'an agent is killed' crash plain ''
gt plain -L main --json
is "$RC $(json '{results}[0]{delivery}')" '0 paste' 'it is told by a paste'
is "$(mark plain)" "$(json '{results}[0]{recovery_id}')" 'the pane is marked with the id'
is "$(tm list-buffers -F '#{buffer_name}')" '' 'no buffer is left'
is "$(messages plain)" 1 'told once'

# ---- dialogs ----
for view in rewind-v2.1.197 transcript-view-v2.1.330 permission-bash-v2.0.76 question-v2.1.37 plan-v1.0.128 trust-v2.1.330 mcp-one-v1.0.128 \
	model-v2.1.197 agents-v2.0.76; do
	want=$(sed -n "s/^$view\.txt\tdialog: //p" "$ROOT/tests/golden/ready/expected")
	name=${view//./_}
	ok "$view: an agent is killed" crash "$name" "--view=$ROOT/tests/golden/ready/$view.txt"
	gt "$name" -L main --config "$W/quick.toml" --json
	is "$RC $(json '{results}[0]{error}{name}')" '5 dialog' "$view: it is not acknowledged"
	is "$(json '{results}[0]{error}{message}')" \
		"Claude shows ${want:-something that covers its input box}: answer or close it first" "$view: the message names it"
	not_ok "$view: nothing was pasted" _event "$name" '^paste'
	not_ok "$view: no key was sent" _event "$name" '^enter|DIALOG ACCEPTED'
	tm kill-session -t "=$name"
done

# ---- a person's words ----
ok 'an agent is killed' crash draft --draft=my-own-words
gt draft -L main --config "$W/quick.toml" --json
is "$RC $(json '{results}[0]{error}{name}')" '5 draft' "a person's words stay: nobody is told"
not_ok 'nothing was pasted' _event draft '^paste'
ok 'they still stand there' pane_shows draft '^❯.my-own-words'
background draft -L main --json
tm send-keys -t "$(agent_pane draft)" C-u
ended
is "$RC" 0 'the next run tells the agent when the box is empty'
is "$(messages draft)" 1 'once'

# ---- tmux does what it should not, or too late ----
# A tmux that shows each batch to $W/meddle first, which may change it, do something, or end gt-recover.
real=$(command -v tmux)
cat >"$W/bin/tmux" <<SH
#!/bin/bash
[ -x "$W/meddle" ] && [ "\${*: -1}" = - ] || exec '$real' "\$@"
batch=\$(mktemp "$W/batch.XXXXXX")
cat >"\$batch"
"$W/meddle" "\$batch" \$PPID || exit 1
exec '$real' "\$@" <"\$batch"
SH
chmod 755 "$W/bin/tmux"

meddle() {	# LINES of sh: \$1 is the batch, \$2 the process of gt-recover
	printf '#!/bin/bash\n%s\n' "$1" >"$W/meddle.new"
	chmod 755 "$W/meddle.new"
	mv "$W/meddle.new" "$W/meddle"
}

ok 'an agent is killed' crash cr ''
meddle 'sed -i "s/send-keys -t %[0-9]* Enter/set-option -ga @named x/" "$1"'
gt cr -L main --json
is "$RC" 0 'where the key by its name has no effect, a literal one sends the prompt off'
is "$(tm show-options -gqv @named)" x 'after one try'
is "$(messages cr)" 1 'once'

ok 'an agent is killed' crash between ''
dead="until '$real' -L main display-message -p -t '$(agent_pane between)' '#{pane_dead}' | grep -q 1; do :; done"
meddle "! grep -q paste-buffer \"\$1\" || { kill -9 \$(cat '$W/victim') && $dead; }"
background between -L main --json
ok 'its successor starts' until_ 10 events_are between '^start' 2
agent_pid between >"$W/victim"
ended
is "$RC $(json '{results}[0]{error}{name}')" '1 died' 'one that dies right before the paste is found dead'
rm "$W/meddle"
is "$(tm list-buffers -F '#{buffer_name}')" '' 'no buffer is left'
is "$(mark between)" '' 'and no mark'
ok 'the server lives' tm has-session -t =plain
gt between -L main --json
is "$RC" 0 'the next run brings it back'

ok 'an agent is killed' crash early ''
meddle 'grep -q paste-buffer "$1" && kill -9 "$2" && exit 1 || :'
gt early -L main --json
is "$RC" 137 'a recoverer is killed after it has committed that it pastes'
rm "$W/meddle"
is "$(mark early)" '' 'the pane has no mark: nothing arrived'
gt early -L main --json
is "$RC $(json '{results}[0]{delivery}')" '0 paste' 'so that the next run pastes'
is "$(messages early) $(agent_starts early)" '1 2' 'once, and starts nothing'

ok 'an agent is killed' crash late ''
meddle 'grep -q "send-keys -t %[0-9]* Enter" "$1" && kill -9 "$2" && exit 1 || :'
gt late -L main --json
is "$RC" 137 'a recoverer is killed between paste and Enter'
rm "$W/meddle"
ok 'its paste stands in the box' pane_shows late '^❯.\[Pasted text #1'
is "$(messages late)" 0 'unsent'
gt late -L main --json
is "$RC" 0 'the next run knows it for its own'
is "$(messages late) $(agent_starts late)" '1 2' 'and only sends it off'
kept_prompt "$(json '{results}[0]{recovery_id}')" "$W/prompt"
is "$(sed 's/\t/    /g' "$W/prompt")" "$(cat "$(message_file late 1)")" 'the whole prompt'

ok 'an agent is killed' crash beside ''
meddle 'grep -q "send-keys -t %[0-9]* Enter" "$1" && kill -9 "$2" && exit 1 || :'
gt beside -L main --json
rm "$W/meddle"
tm send-keys -t "$(agent_pane beside)" -l ' and stop'
ok "a person's words beside an unsent paste" until_ 10 pane_shows beside 'lines\] and stop'
gt beside -L main --config "$W/quick.toml" --json
is "$RC $(json '{results}[0]{error}{name}')" '5 not-submitted' 'are not sent off with it'
is "$(messages beside)" 0 'nor is anything told'

# ---- copy mode, an agent that sleeps ----
ok 'an agent is killed' crash copying ''
meddle "! grep -q paste-buffer \"\$1\" || '$real' -L main copy-mode -t $(agent_pane copying)"
gt copying -L main --json
rm "$W/meddle"
is "$RC $(messages copying)" '0 1' 'copy mode does not eat the prompt'
is "$(tm display-message -p -t "$(agent_pane copying)" '#{pane_in_mode}')" 0 'it was left'

ok 'an agent is killed' crash sleeper --asleep
gt sleeper -L main --json
is "$RC $(messages sleeper)" '0 1' 'one that does not read its terminal is woken'
is "$(tm show-options -wqv -t "$(agent_pane sleeper)" window-size)" '' 'and its window is as it was'

# ---- Gas Town's nudge lock ----
make_town dolt
add_bead gastown gt-abc hooked gastown/polecats/toast 'Mend the lexer' 'Keep the comments.'
SOCKET=main
lock=$TOWN/.runtime/nudge_queue/nudged/.lock
ok 'an agent is killed' crash nudged ''
mkdir -p "${lock%/*}" && : >"$lock"
exec {HELD}<>"$lock"
flock "$HELD"
background nudged -L main --town "$TOWN" --json
ok 'its successor is ready' until_ 10 events_are nudged '^ready' 2
until_ 10 grep -qs pasting "$W/bg.err"
not_ok 'nothing is pasted while Gas Town types' until_ 2 _event nudged '^paste'
kill -TERM "$GT"
ended
is "$RC $(json '{results}[0]{error}{name}')" '143 interrupted' 'a person may end the wait'
background nudged -L main --town "$TOWN" --json
not_ok 'the next run waits again' until_ 2 _event nudged '^paste'
flock -u "$HELD"
ended
is "$RC $(messages nudged)" '0 1' 'and pastes when the lock is free'
ok 'the lock stays where it was' test -e "$lock"
ok 'and is free' flock -n "$lock" true
ok 'another is killed' crash first ''
gt first -L main --town "$TOWN" --json
is "$RC" 0 'where there is no lock yet'
ok 'it is made' test -e "$TOWN/.runtime/nudge_queue/first/.lock"
done_testing
