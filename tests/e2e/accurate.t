#!/bin/bash
# What the prompt says is so: drafts, deaths and what died with the session, over several crashes.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
often
printf 'spacing = "0s"\n' >>"$XDG_CONFIG_HOME/gt-recover/gt.toml"

# ---- a draft, and three crashes ----
ok 'an agent works' start_agent nux --scenario "$DATA/idle.scenario"
tm send-keys -t "$(agent_pane nux)" -l 'please rename the wombat table before you'
ok 'a person types and does not send' until_ 10 pane_shows nux 'wombat table before you'
for i in 1 2 3; do
	ok "crash $i" kill_agent nux
	ok '  tmux knows by which signal: no shell stands between' listed_is nux signal 9
	gt prompt --via inject nux -L main
	like "$OUT" 'Typed by the user but never sent:' '  the draft is told'
	is "$(grep -c 'rename the wombat table' <<<"$OUT")" 1 '  once'
	unlike "$OUT" 'Killed|exec |bypass permissions on' "  and nothing of a shell's or of the box's"
	gt nux -L main --via inject
	is "$RC" 0 '  it is recovered'
done

# ---- a secret that stands on the screen and in the transcript ----
key=ghp_$(printf 'A1b2%.0s' 1 2 3 4 5 6 7 8 9)
printf 'user use the token %s for the upload\nassistant I use %s now.\nend\n' "$key" "$key" >"$W/secret.scenario"
ok 'an agent was told a secret' start_agent dill --scenario "$W/secret.scenario"
ok '  and said it again' until_ 10 pane_shows dill 'I use '
ok 'it is killed' kill_agent dill
gt prompt dill -L main --via inject
like "$OUT" '1 secret was replaced' '  it counts once, in however many places it stood'
unlike "$OUT" "$key" '  and is not told'

# ---- a shell stands between the pane and the agent, and ends with 137 ----
tm set-option -g remain-on-exit on
ok 'an agent below a shell works' start_agent wrap --command "sh -c 'claude; exit \$?'" --scenario "$DATA/idle.scenario"
ok 'it is killed' kill -9 "$(agent_pid wrap)"
ok '  the pane knows of 137 alone' until_ 5 eval "wake; pane_is wrap '#{pane_dead_status}' 137"
is "$(listed wrap crash_reason) $(listed wrap signal)" 'killed 9' '  which is a death by signal 9'
gt prompt wrap -L main --via inject
like "$OUT" 'crashed \(killed by signal 9 \(SIGKILL\)\)' '  and the agent is told so'
# ---- five megabytes ----
ok 'an agent works for long' start_agent long --scenario "$DATA/idle.scenario"
file=$(compgen -G "$HOME/.claude/projects/*/$(sed 's/.*"sessionId":"\([^"]*\)".*/\1/' "$HOME/.claude/sessions/$(agent_pid long).json").jsonl")
ok 'it is killed' kill_agent long
perl -MJSON::PP -e '
	my $json = JSON::PP->new->utf8;
	open my $in, "<", $ARGV[0] or die;
	for (<$in>) {
		my $r = $json->decode($_);
		$ask = $r if $r->{type} eq "user" && !ref $r->{message}{content};
		$answer = $r if $r->{type} eq "assistant";
		$last = $r->{uuid} // $last;
	}
	open my $out, ">>", $ARGV[0] or die;
	for my $i (1 .. 550) {
		for my $of ($ask, $answer) {
			my $r = $json->decode($json->encode($of));
			($r->{parentUuid}, $r->{uuid}) = ($last, sprintf "%08x-0000-4000-8000-%012d", $i, $of == $ask);
			$last = $r->{uuid};
			$r->{message}{content} = $of == $ask ? "LONGQ-$i" : [{type => "text", text => "LONGA-$i " . "many words of it. " x 600}];
			$r->{message}{id} = "msg_long$i" if $of == $answer;
			print $out $json->encode($r), "\n";
		}
	}' "$file"
gt prompt long -L main --via inject
like "$OUT" 'Rename the function foo to bar' 'a long conversation keeps its first message'
kept=$(grep -c '^  LONGQ-' <<<"$OUT")
cut=$(sed -n "s/^([0-9]* older exchanges left out, \([0-9]*\) of them the user's)\$/\1/p" <<<"$OUT" | sort -u)
is "$((kept + ${cut:-0}))" 550 '  and every other one is told or counted'

# ---- its shell prints its prompt, or "Killed", into the input box ----
printf '[recovery.agents.claude]\ncommand = "claude --dangerously-skip-permissions"\n' >>"$XDG_CONFIG_HOME/gt-recover/gt.toml"
ok 'an agent is typed into a shell' start_agent below --shell --scenario "$DATA/idle.scenario"
for i in 1 2 3; do
	ok "crash $i" kill_agent below
	until_ 5 listed_is below class zombie
	gt prompt --via inject below -L main
	unlike "$OUT" 'never sent|Killed|bypass permissions on' '  and no draft is made of what its shell prints'
	gt below -L main
	is "$RC" 0 '  it is recovered'
done
done_testing
