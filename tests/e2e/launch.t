#!/bin/bash
# Start commands of all kinds are used again as they were, but for flags that name a conversation, which the gathered context replaces.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
afresh

crash() {	# SESSION COMMAND
	start_agent "$1" --command "$2" --scenario "$DATA/work.scenario" && until_ 10 pane_shows "$1" 'test 7 ok' && kill_agent "$1"
}

start_command() {	# SESSION
	tm display-message -p -t "$(agent_pane "$1")" '#{pane_start_command}'
}

ok 'an agent that continued a conversation is killed' crash flags 'claude --continue --dangerously-skip-permissions --model x'
gt flags -L main --json
is "$RC" 0 'it comes back'
like "$(start_command flags)" '"exec claude --dangerously-skip-permissions --model x" "exec claude [^"]* <&3 3<&-"$' 'without the flag'
is "$(messages flags)" 1 'told once'
ok 'killed again' kill_agent flags
gt flags -L main --json
is "$RC" 0 'it comes back again'
like "$(start_command flags)" '^sh -c .* gt-recover [^ ]* [^ ]* "exec claude --dangerously-skip-permissions --model x" "exec claude --dangerously-skip-permissions --model x <&3 3<&-"$' 'with one wrapper, not two'

# ---- several arguments, which tmux runs without a shell ----
note=$'it\'s $HOME "so" #{pid}\n\\end\t'
has_note() {	# SESSION
	tr '\n\0' '\1\n' <"/proc/$(agent_pid "$1")/cmdline" | grep -qxF -- "$(tr '\n' '\1' <<<"$note" | head -c -1)"
}
printf -v words 'claude --dangerously-skip-permissions --append-system-prompt %q' "$note"
ok 'an agent is started by its arguments' start_agent words --argv --command "$words" --scenario "$DATA/work.scenario"
ok '  with quotes, a dollar, a newline, a tab and a backslash' has_note words
for time in once twice; do
	ok "  it is killed $time" kill_agent words
	gt words -L main --json
	is "$RC" 0 '  it comes back'
	ok '  with the same argument' has_note words
done

ok 'an agent that was started with a prompt is killed' crash beacon "env BEACON=1 claude --dangerously-skip-permissions \"[GAS TOWN] polecat toast; begin \\\$work\""
gt beacon -L main --json
is "$RC" 0 'it comes back'
ok 'its own prompt stands before ours, as its program joins them' grep -q '^\[GAS TOWN\] polecat toast; begin' "$(message_file beacon)"
ok 'and ours follows' grep -q 'gtr-' "$(message_file beacon)"

mkdir "$W/other home"
ok 'an agent with a HOME of its own is killed' crash home "env HOME='$W/other home' claude --dangerously-skip-permissions"
gt home -L main --json
is "$RC" 0 'it comes back'
is "$(json '{results}[0]{proof}')" transcript 'and its transcript is found there'

cat >"$W/bin/run-agent" <<'SH'
#!/bin/sh
exec claude --dangerously-skip-permissions
SH
chmod +x "$W/bin/run-agent"
ok 'an agent behind a script is killed' crash script 'run-agent'
is "$(listed script class)" dead 'it is known by the note that it left'
gt script -L main --json
is "$RC" 0 'it comes back'
is "$(messages script)" 1 'told once'

ok 'an agent behind a script that eats its input is killed' crash eats 'sh -c "[ -t 0 ] || cat >/dev/null; exec claude --dangerously-skip-permissions <&1"'
gt eats -L main --json
is "$RC" 0 'it comes back'
is "$(json '{results}[0]{delivery}')" paste 'told by a paste'
is "$(messages eats)" 1 'once'
done_testing
