#!/bin/bash
# Agents that crash again and again, that stand at a limit or are not logged in: refused by name, until a person says otherwise.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cat >"$W/gt.toml" <<'TOML'
[recovery]
spacing = "0s"
max_attempts = 2
TOML
with=(-L main --config "$W/gt.toml")

crash() {	# SESSION
	kill_agent "$1" && wake && until_ 5 pane_shows "$1" '^Pane is dead'
}
listed_with() {	# SESSION FIELD
	gt list --json "${with[@]}"
	printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne '
		BEGIN { ($main::name, $main::field) = splice @ARGV, 0, 2 }
		for (@{JSON::PP->new->utf8->decode($_)->{sessions}}) { print $_->{$main::field} // "(none)" if $_->{name} eq $main::name }' "$1" "$2"
}
panes() {
	tm list-panes -a -F '#{pane_id} #{pane_pid} #{pane_dead} #{pane_start_command}' | cksum
}

# ---- the crash loop ----
ok 'an agent that dies at once' start_agent loop --scenario "$DATA/idle.scenario"
agent_plan loop --die-at-once=3
agent_plan loop --die-at-once=3
ok 'it is killed' crash loop
gt "${with[@]}" --all --yes --json
is "$RC $(json '{results}[0]{error}{name}')" '1 died' 'a first attempt'
gt "${with[@]}" --all --yes --json
is "$RC $(json '{results}[0]{error}{name}')" '1 died' 'a second one'
before=$(panes)
gt "${with[@]}" --all --yes
is "$RC" 4 'no third one'
is "$(tail -n 1 <<<"$ERR")" 'found=1 recovered=0 unacknowledged=0 refused=1 failed=0' 'the sum tells of it'
like "$ERR" 'Not recovered:
  loop: refused: [^
]*
    .*gt-recover' '  by its name, with the next step'
gt "${with[@]}" --all --yes --json
is "$RC $(json '{refused}') $(json '{results}[0]{session}') $(json '{results}[0]{error}{name}')" '4 1 loop quarantined' '  for programs, too'
gt "${with[@]}" --all --yes --json=stream
like "$OUT" '"event":"result".*"quarantined"' '  also as a stream'
gt "${with[@]}" list
like "$OUT" '\(quarantined\).*gt-recover records release' 'the list says how it goes on'
gt "${with[@]}" list --json
is "$(json '{sessions}[0]{refusal}')" quarantined 'by its name'
is "$(panes)" "$before" 'its pane is not touched'
gt "${with[@]}" loop --dry-run
like "$RC $OUT" '^0 would recover loop' 'who names it is not kept from it'
gt -L main --dry-run loop
is "$RC" 0 'with the usual three attempts it would be tried'
cat >"$W/short.toml" <<'TOML'
[recovery]
max_attempts = 2
attempt_window = "1m"
TOML
gt -L main --config "$W/short.toml" list --json
is "$(json '{sessions}[0]{refusal}')" quarantined 'within the window'
gt "${with[@]}" release loop --dry-run
like "$RC $ERR" '^0 loop: 2 attempts would be deleted' 'a dry run of release'
gt "${with[@]}" --all --yes
is "$RC" 4 'releases nothing'
gt "${with[@]}" release loop --json
is "$RC $(json '{released}[0]{session}') $(json '{released}[0]{attempts_forgotten}')" '0 loop 2' 'a person releases it'
gt "${with[@]}" --all --yes --json
is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'now it is tried again, and comes back'
gt "${with[@]}" release loop nobody
is "$RC" 4 'a session against which nothing is held'
gt release -L other loop
is "$RC" 4 'another server has no such session'
gt release
is "$RC" 2 'release needs a name'

# ---- one that was taken up is not counted twice ----
if grep -q GT_FAULT "$GT_RECOVER"; then
	ok 'an agent' start_agent once --scenario "$DATA/idle.scenario"
	for i in 1 2; do
		ok "is killed, $i" crash once
		{ GT_FAULT=prompt=kill gt "${with[@]}" once --json; } 2>/dev/null
		is "$RC" 137 '  and its recoverer'
		gt "${with[@]}" once --json
		is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' '  the next one takes its attempt up'
	done
	ok 'killed a third time' crash once
	gt "${with[@]}" --all --yes --json
	is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'it had finished its turn each time: that is no crash loop'
	gt doctor --json "${with[@]}"
	unlike "$(found State.quarantine sentence)" '(^|[ ,])once' 'nor is it one to doctor'
else
	skip 'this build has no fault points' 10
fi

# ---- nothing shows that a turn was finished ----
# tmux tells the second of a death
lived() {	# SESSION: at least two seconds
	[ "$(ps -o etimes= -p "$(agent_pid "$1")")" -ge 2 ]
}
ok 'an agent' start_agent turn --scenario "$DATA/idle.scenario"
for i in 1 2; do
	ok "is killed, $i" crash turn
	gt "${with[@]}" turn --via inject --json
	is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' '  and comes back'
	rm -f "$(transcript turn)"
	until_ 10 lived turn
done
ok 'killed a third time' crash turn
gt "${with[@]}" --all --yes
is "$RC" 4 '--all leaves it alone'
is "$(listed_with turn refusal)" quarantined 'since no turn of it was seen to end'
is "$(GT_LIVED_MS=500 listed_with turn refusal)" '(none)' 'had it lived ten minutes each time, that would be none'
gt doctor --json "${with[@]}"
like "$(found State.quarantine) $(found State.quarantine sentence)" '^warning .*turn' 'which doctor counts, too'
gt "${with[@]}" turn --via inject --json
is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'named, it comes back at once'

# ---- a limit on the last screen ----
cat >"$W/limit.scenario" <<'EOT'
user go on
assistant You've hit your usage limit · resets 7pm (UTC)
end
EOT
cat >"$W/over.scenario" <<'EOT'
user go on
assistant You've hit your usage limit · resets 7pm (UTC)
user and now?
assistant All is well again.
end
EOT
ok 'an agent stands at its limit' start_agent limit --scenario "$W/limit.scenario"
ok 'it shows that' until_ 10 pane_shows limit 'hit your usage limit'
ok 'it is killed' crash limit
is "$(listed limit crash_reason) $(listed limit refusal)" 'limit limit' 'reason and refusal'
before=$(panes)
gt "${with[@]}" --all --yes
is "$RC" 4 '--all leaves it alone'
is "$(panes)" "$before" 'its pane is not touched'
gt "${with[@]}" limit --json
is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'named, it is brought back'
ok 'another one goes on after its limit' start_agent over --scenario "$W/over.scenario"
ok 'it does' until_ 10 pane_shows over 'All is well'
ok 'it is killed' crash over
is "$(listed over crash_reason)" killed 'an old limit is none'
gt "${with[@]}" over
is "$RC" 0 'it comes back'

# ---- a login that is broken: what has not started yet is stopped, so one at a time ----
cat >"$W/quick.toml" <<'TOML'
[recovery]
parallel = 1
spacing = "0s"
ready_timeout = "2s"
ack_timeout = "2s"
TOML
cat >"$W/login.scenario" <<'EOT'
user hello
assistant Invalid API key · Please run /login
end
EOT
for name in user1 user2 user3; do
	ok "$name is killed" start_agent "$name" --scenario "$DATA/idle.scenario"
	crash "$name"
	agent_plan "$name" "--no-answer --scenario $W/login.scenario"
done
for name in loop limit over once turn; do
	tm kill-session -t "=$name"
done
gt -L main --config "$W/quick.toml" --all --yes --json
is "$(for i in 0 1 2; do json "{results}[$i]{error}{name}" && printf ' '; done)" 'login login login-halt ' 'after two that are not logged in no third one is started'
is "$(agent_starts user3) $(messages user3)" '1 0' 'it is as it was'
is "$RC" 1 'that is a failure'
ok 'the two that were started live' kill_agent user1
ok 'both' kill_agent user2
gt -L main --config "$W/quick.toml" user3 --json
is "$RC $(json '{results}[0]{error}{name}')" '5 login' 'named, the third is tried'

# ---- what was refused is in the ledger, once ----
gt log
is "$(grep -c 'loop .*refused .*quarantined' <<<"$OUT")" 1 'a refusal stands in the log once, however often it was repeated'
is "$(grep -c 'limit .*refused .*limit' <<<"$OUT")" 1 'so does the other'
gt stats --json
is "$(json '{refusals}{quarantined}') $(json '{refusals}{limit}')" '2 1' 'and is counted'
done_testing
