#!/bin/bash
# A prompt that the agent took and could not record (its disk was full): later work in its transcript counts as the proof.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cat >"$W/gt.toml" <<'TOML'
[recovery]
via = "inject"
ready_timeout = "10s"
ack_timeout = "4s"
max_attempts = 100
TOML
with=(-L main --config "$W/gt.toml")
record() {	# SESSION TYPE TEXT: at the end of the transcript of the agent that lives there
	local sid slug
	sid=$(perl -MJSON::PP -0777 -ne 'print decode_json($_)->{sessionId}' "$HOME/.claude/sessions/$(agent_pid "$1").json")
	slug=$(cd "$(agent_dir "$1")/cwd" && pwd -P | tr -c 'a-zA-Z0-9\n' -)
	perl -MJSON::PP -MTime::HiRes=time -e '
		my ($sid, $type, $text, $cwd) = @ARGV;
		my @t = gmtime(time);
		my $at = sprintf "%04d-%02d-%02dT%02d:%02d:%02d.000Z", $t[5] + 1900, $t[4] + 1, @t[3, 2, 1, 0];
		my $content = $type eq "user" ? $text : [{ type => "text", text => $text }];
		print encode_json({ type => $type, uuid => sprintf("%08x-0000-4000-8000-000000000000", rand(2**32)), parentUuid => undef,
			sessionId => $sid, cwd => $cwd, timestamp => $at, version => "2.1.197", isSidechain => JSON::PP::false,
			message => { role => $type, content => $content, $type eq "assistant" ? (model => "m", stop_reason => "end_turn") : () } }), "\n"
	' "$sid" "$2" "$3" "$(agent_dir "$1")/cwd" >>"$HOME/.claude/projects/$slug/$sid.jsonl"
}
error_is() {
	json '{results}[0]{error}{name}'
}

ok 'an agent is killed' start_agent full --scenario "$DATA/idle.scenario"
until_ 10 pane_shows full 'Six calls were changed'
kill_agent full
agent_plan full '--no-transcript'
gt full "${with[@]}" --json
is "$RC $(error_is) $(messages full)" '5 unacknowledged 1' 'it takes its prompt, and records nothing of it'
sleep 1.1	# times in records are compared
record full user 'Are you there?'
gt full "${with[@]}" --json
is "$RC $(error_is)" '5 unacknowledged' 'what a person says proves nothing'
record full assistant 'I am, and went on with the work.'
began=$EPOCHSECONDS
gt full "${with[@]}" --json
is "$RC $(json '{results}[0]{phase}') $(messages full)" '0 acknowledged 1' 'but that the model worked on does'
ok 'without a wait' test $((EPOCHSECONDS - began)) -lt 4
gt full "${with[@]}" --json
is "$RC $(error_is)" '6 live' 'it is over then'
done_testing
