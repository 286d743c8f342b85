#!/bin/bash
# Secrets on the screen, in the environment, in the start command and in what a person typed reach nothing that we write, print or start.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
STATE=$XDG_STATE_HOME/gt-recover
cat >"$W/gt.toml" <<'TOML'
[recovery]
log_file = "recover.log"
via = "inject"
TOML

# Made here, so that no scanner of repositories stumbles over them: N characters that look random and are always the same.
random() {	# SEED N
	perl -MDigest::SHA=sha512_base64 -e 'my $s = sha512_base64($ARGV[0]) . sha512_base64("$ARGV[0] again");
		$s =~ tr/A-Za-z0-9//cd; print substr($s, 0, $ARGV[1])' "$1" "$2"
}
github=ghp_$(random github 36)
aws=AKIA$(random aws 120 | tr '[:lower:]' '[:upper:]' | tr -cd A-Z2-7 | head -c 16)
claude=sk-ant-api03-$(random claude 93)AA
typed=$(random typed 24)
by_value=$(random value 28)		# no rule knows its form: only that the environment has it
odd=$(random odd 22)
assigned=$(random assigned 26)
pem=$(random pem 64)
secrets=("$github" "$aws" "$claude" "$typed" "$by_value" "$odd" "$assigned" "$pem")
names=(github aws claude typed by_value odd assigned pem)

leaks() {	# FILE...: the names of the secrets that stand in there, in one piece or across the rows of a screen
	local i all
	all=$(cat -- "$@" 2>/dev/null | tr -d '\000 \n' | sed 's/\\n//g')
	for i in "${!secrets[@]}"; do
		[[ $all != *"${secrets[i]}"* ]] || printf '%s ' "${names[i]}"
	done
}

clean() {	# WHAT FILE...
	local what=$1
	shift
	is "$(leaks "$@")" '' "$what: no secret"
}

cat >"$W/secrets.scenario" <<SCENARIO
user Log in and upload the build, please.
assistant I will use the token $github for the upload.
tool Bash env | sort
result AWS_ACCESS_KEY_ID=$aws\nANTHROPIC_API_KEY=$claude\nHOME=/home/dev
assistant The service answered: welcome $odd, your id is $assigned, your mark $by_value.
tool Bash cat key.pem
result -----BEGIN RSA PRIVATE KEY-----\n$pem\n$pem\n-----END RSA PRIVATE KEY-----
assistant All is uploaded.
end
SCENARIO
begin() {	# SESSION
	start_agent "$1" --command "env UPLOAD_AUTH_TOKEN=$assigned claude --dangerously-skip-permissions" --env "DB_PASSWORD=$by_value" \
		--env "MY_ODD_SECRET_42=$odd" --scenario "$W/secrets.scenario" &&
		tell_agent "$1" "the password: $typed is for you" && until_ 10 messages_are "$1" 1 &&
		until_ 10 events_are "$1" '^answered' 1 && kill_agent "$1"
}
ok 'an agent knows secrets and is killed' begin keeper
pane_text keeper >"$W/screen"
is "$(leaks "$W/screen")" 'github aws claude typed by_value odd assigned pem ' 'they all stand on its screen'

# ---- what is printed ----
for args in list 'list --json' 'context keeper' 'context keeper --json' 'prompt keeper' 'prompt keeper --json' '--all --dry-run' \
	'keeper -n --json' '-vv list'; do
	# shellcheck disable=SC2086	# words
	gt $args -L main --config "$W/gt.toml"
	is "$RC" 0 "$args answers"
	clean "$args" "$W/out" "$W/err"
done
gt config -L main --json
clean 'config' "$W/out" "$W/err"
gt_in "$W/screen" scrub --no-known
ok 'placeholders stand in their place' grep -Fq '[REDACTED:github-token]' "$W/out"
is "$(leaks "$W/out")" 'by_value odd assigned ' 'scrub, a filter that knows no environment, hides what has a form or a name'
gt_in "$W/screen" parse --json
is "$RC $(leaks "$W/out")" '0 by_value odd assigned ' 'parse too'

# ---- what is started ----
# Looks at the arguments of all processes that appear from now on and are gt-recover's or tmux's, many times a second.
watch_processes() {	# OUTPUT
	perl -e '
		my ($out) = @ARGV;
		my %old = map { $_ => 1 } grep { /^\d+$/ } do { opendir my $d, "/proc"; readdir $d };
		open my $to, ">", $out or die;
		select((select($to), $| = 1)[0]);
		print $to "watching\n";
		my %seen;
		for (;;) {
			opendir my $d, "/proc" or die;
			for my $pid (grep { /^\d+$/ && !$old{$_} } readdir $d) {
				open my $f, "<", "/proc/$pid/cmdline" or next;
				my $args = do { local $/; <$f> } // "";
				open $f, "<", "/proc/$pid/comm" or next;
				my $comm = <$f> // "";
				next if $comm !~ /^(gt-recover|tmux)/ && $args !~ /^\S*(gt-recover|tmux)\b/;
				$args =~ s/\0/ /g;
				print $to "$comm$args\n" if !$seen{"$comm$args"}++;
			}
			select undef, undef, undef, 0.001;
		}' "$1" &
	watcher=$!
	PIDS+=("$watcher")
	until_ 5 grep -qs watching "$1"
}

end_watch() {
	kill "$watcher"
	wait "$watcher" 2>/dev/null
}

umask 000
watch_processes "$W/processes"
gt keeper -vv -L main --config "$W/gt.toml"
end_watch
umask 022
is "$RC" 0 'it is brought back'
clean 'what was said meanwhile' "$W/out" "$W/err"
prompt=$(message_file keeper 2)
clean 'the prompt' "$prompt"
for kind in github-token aws-access-key-id anthropic-key password private-key known-value; do
	ok "its placeholder stands there: $kind" grep -Fq "[REDACTED:$kind]" "$prompt"
done
ok 'the rest of the talk does too' grep -q 'upload the build' "$prompt"
ok 'processes were seen' grep -q 'source-file' "$W/processes"
ok 'and gt-recover itself' grep -q '^gt-recover' "$W/processes"
clean 'the arguments of all processes' "$W/processes"
not_ok 'nor is the prompt in any' grep -q 'upload the build' "$W/processes"
not_ok 'nor a start command' grep -q 'UPLOAD_AUTH_TOKEN' "$W/processes"

# ---- what is written ----
mapfile -t files < <(find "$STATE" "$W/recover.log" -type f 2>/dev/null)
like "${files[*]}" 'contexts/gtr-.*json.*recover.log' 'there are files to look at'
clean 'all that is kept' "${files[@]}"
ok 'placeholders are' grep -Fq '[REDACTED:github-token]' "${files[@]}"
is "$(find "$STATE" -type f ! -perm 600 | wc -l) $(find "$STATE" -type d ! -perm 700 | wc -l)" '0 0' 'private in spite of an open umask'
is "$(stat -c %a "$W/recover.log")" 600 'the log too'

# ---- the other way in: a paste ----
ok 'it is killed again' kill_agent keeper
agent_plan keeper --eat-stdin
watch_processes "$W/pasting"
gt keeper -L main --config "$W/gt.toml" --json
end_watch
is "$RC $(json '{results}[0]{delivery}')" '0 paste' 'it is brought back by a paste'
clean 'the pasted prompt' "$(message_file keeper 3)"
clean 'the arguments of all processes' "$W/pasting"
not_ok 'nor is the prompt in any' grep -q 'upload the build' "$W/pasting"
is "$(tm list-buffers | wc -l)" 0 'no paste buffer is left'
mapfile -t files < <(find "$STATE" -type f)
clean 'all that is kept' "${files[@]}"

# ---- places that lead elsewhere ----
ok 'it is killed once more' kill_agent keeper
n=$(messages keeper)
mkdir "$W/elsewhere" || exit 1
planted() {	# NAME: STATE/NAME is a link to elsewhere
	gt keeper -L main --json
	is "$RC" 1 "a link planted for $1: refused"
	like "$(json '{results}[0]{error}{message}')" "$1" 'by name'
	is "$(find "$W/elsewhere" -mindepth 1 ! -name target | wc -l) $(cat "$W/elsewhere/target") $(messages keeper)" "0 untouched $n" \
		'nothing went there, nothing was delivered'
	ok 'the dead pane is as it was' pane_is keeper '#{pane_dead}' 1
}
for name in contexts prompts locks recover.db; do
	echo untouched >"$W/elsewhere/target"
	mv "$STATE/$name" "$W/$name"
	target=$W/elsewhere
	[ $name != recover.db ] || target=$target/target
	ln -s "$target" "$STATE/$name"
	planted "$name"
	rm "$STATE/$name"
	mv "$W/$name" "$STATE/$name"
done
gt keeper -L main
is "$RC $(messages keeper)" "0 $((n + 1))" 'without the links it is brought back'
done_testing
