#!/bin/bash
# The command line: help, version, options and words, the filters, settings, the shell function, and what describes them all.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
often

# The tables of src/cli are what everything else has to agree with.
mapfile -t commands < <(sed -n 's/^\t{ "\([a-z]\{1,\}\)",\( "\|$\).*/\1/p' "$ROOT/src/cli/commands.c")
# other spellings, which neither help nor completions list
mapfile -t hidden < <(awk '/^\t\{ "[a-z]+",/ { split($0, row, "\"") } /\.now = "/ { print row[2] }' "$ROOT/src/cli/commands.c")
ok 'those of 0.1.0 are there' test "${#hidden[@]}" -ge 15
for name in "${hidden[@]}"; do
	for i in "${!commands[@]}"; do
		[ "${commands[i]}" != "$name" ] || unset "commands[$i]"
	done
done
is "${commands[*]}" 'list show restart workspace setup snapshot status doctor log stats scrub parse epic wip records reconcile hook help config completion version' 'the commands'
mapfile -t options < <(sed -n "s/^\t{ \"\([a-z-]\{1,\}\)\", [0'].*/\1/p" "$ROOT/src/cli/commands.c" | sort -u)
ok 'there is a table of commands' test ${#commands[@]} -ge 9
ok 'and one of options' test ${#options[@]} -ge 20

refuses() {	# SENTENCE ARGS...: status 2, a sentence, a hint, nothing on standard output
	local sentence=$1
	shift
	gt "$@"
	like "$RC $ERR" "^2 gt-recover: .*$sentence.*"$'\n  ''[^ ]' "refused: gt-recover $*"
	is "$OUT" '' 'nothing on standard output'
}

suggests() {	# SENTENCE WORDS ARGS...: the same, with these words as the nearest
	local near=$2
	refuses "$1" "${@:3}"
	like "$ERR" "did you mean $near\\?" "  suggests $near"
}

# ---- help and version ----
gt help
help=$OUT
is "$RC $ERR" '0 ' 'help answers on standard output'
missing() {	# PATTERN-BEFORE PATTERN-AFTER TEXT WORD...: the words that the text lacks
	local before=$1 after=$2 text=$3 word
	shift 3
	for word; do
		grep -Eq -- "$before$word$after" <<<"$text" || printf '%s ' "$word"
	done
}
is "$(missing '^.{10}' '( |$)' "$help" "${commands[@]}")" '' 'help has every command'
is "$(missing '^.{10}' '( |$)' "$help" "${hidden[@]}")" "${hidden[*]} " '  and no other spelling'
ok 'it fits a screen of 40 lines' test "$(wc -l <"$W/out")" -le 40
ok 'of 80 columns' test "$(wc -L <"$W/out")" -le 80
gt --help
is "$OUT" "$help" '--help says the same'
gt -h
is "$OUT" "$help" 'so does -h'
for command in "${commands[@]}" "${hidden[@]}"; do
	gt help "$command"
	like "$RC $OUT" '^0 USAGE'$'\n  '"gt-recover (records )?$command" "help $command"
	is "$(awk 'length > 80' "$W/out")" '' '  in 80 columns'
	one=$OUT
	gt "$command" --help
	is "$RC $OUT" "0 $one" "$command --help says the same"
	# it says nothing, whatever it is given (hook.t)
	[ "$command" != hook ] || continue
	# what its help names it takes, and nothing else: told from "there is no option" and "has no"
	wrong=''
	for option in "${options[@]}"; do
		case $option in help | version) continue ;; esac
		gt "$command" "--$option" ''
		case $ERR$OUT in *' has no --'*) taken=no ;; *) taken=yes ;; esac
		sed '/^EXAMPLES/,$d; 1,/^OPTIONS\|^COMMON OPTIONS/d' <<<"$one" | grep -Eq -- "--$option( |,|\[|\$)" && named=yes || named=no
		[ "$taken" = "$named" ] || wrong+="$option "
	done
	is "$wrong" '' "help $command names just the options that it takes"
done
for command in context prompt; do
	gt help $command
	like "$OUT" "Another spelling of: gt-recover show --$command" "help $command names the new spelling"
done
gt help recover
like "$RC $OUT" '^0 .*--conversation ID.*EXIT STATUS.* 75 ' 'help recover: the options of the bare command, and the exit statuses'
gt help records run
like "$RC $OUT" '^0 .*gt-recover records run create\|claim' 'help of a kind of records'
gt help records
like "$OUT" 'KINDS.*  session .*  release ' 'and which kinds there are'
gt records run --help
like "$RC $OUT" '^0 .*gt-recover records run create' 'records run --help'
for shell in bash fish zsh; do
	gt completion $shell
	is "$RC" 0 "completion $shell"
	same_file "$W/out" "$ROOT/completions/gt-recover.$shell" '  prints it'
done
refuses 'completion: expected one of bash, fish, zsh' completion tcsh
refuses 'unknown command bogus' help bogus
suggests 'unknown command lisst' 'gt-recover list' help lisst
suggests 'unknown option --dryrun' '--dry-run' list --dryrun
suggests 'unknown option --al' '--all' --al
suggests 'unknown option --conf' '--config' list --conf "$W/gt.toml"
refuses 'unknown option --socke' list --socke=main
refuses 'list has no --dry-run' list -n
refuses 'workspace show has no --dry-run' workspace show -n
suggests 'records: expected one of session, agent, .*, not "rum"' 'gt-recover records run' records rum
refuses 'records: expected one of session' records
refuses 'records run: expected one of create, claim' records run
for args in version --version -V; do
	gt $args
	like "$RC $OUT" '^0 gt-recover [0-9]+\.[0-9]+\.[0-9]+$' "gt-recover $args"
done
version=$OUT
gt version --json
is "$RC gt-recover $(json '{version}') $(json '{schema_version}')" "0 $version 2" 'version --json'

# ---- words and options ----
refuses 'unknown option --bogus' --bogus
refuses 'unknown option -x' -x
refuses 'unknown option -x' -qx list
refuses 'the option --town needs a value' --town
refuses 'the option -L needs a value' list -L
refuses 'list does not take the argument "more"' list more
refuses 'version has no --all' version --all
refuses 'parse has no --socket' parse -L main
refuses 'gt-recover has no --check' --check
refuses '--color takes auto, always or never' list --color sometimes
refuses '--via takes' --via magic one
refuses '--scope takes task or lines' --scope all one
refuses 'cannot be combined with' --all one
refuses 'install: expected one of shim, timer, plugin, hooks, binding' install
refuses 'context needs the name of one session' context one two
refuses 'show needs the name of one session' show
refuses '--context cannot be combined with --prompt' show one --context --prompt
gt list --bogus --json
is "$RC $ERR $(json '{error}{name}') $(json '{schema_version}')" '2  usage 2' 'an error is JSON when JSON is asked for, and nothing else'
gt help >/dev/null
"$GT_RECOVER" help >/dev/full 2>"$W/err"
like "$? $(cat "$W/err")" '^1 .*could not be written' 'an answer that cannot be written is a failure'

ok 'an agent in a session that is called list' start_agent list --scenario "$DATA/idle.scenario"
ok 'it is killed' kill_agent list
gt -L main list --json
is "$RC $(json '{sessions}[0]{name}')" '0 list' 'the word alone is the command'
gt -L main list list
is "$RC" 2 'which takes no session'
gt -L main context list
is "$RC" 0 'behind another command it is the session'
context=$OUT
gt -L main show list --context
is "$RC $OUT" "0 $context" 'show --context is the context of 0.1.0'
gt -L main show list
like "$RC $OUT" '^0 Session .*Prompt +[0-9,]+ tokens, .*gt-recover show list --prompt' 'show: the context, and how the prompt would go in'
gt -L main show list --prompt
like "$RC $OUT" '^0 .*[Rr]ecover' 'show --prompt: the prompt'
gt -L main show list --json
is "$RC $(json '{session}') $(json '{via}')" "0 list $(gt -L main prompt list --json; json '{via}')" 'show --json: both'
gt -L main --dry-run -- list
like "$RC $OUT" '^0 .*would recover list' 'behind -- too'
gt -q -L main -- list
is "$RC $OUT$ERR" '0 ' '-q: a recovery without a word'
is "$(messages list)" 1 'but done'
gt -L main snapsot
like "$RC $ERR" '^4 .*snapsot is not a command: no agent session named "snapsot" .*did you mean the command gt-recover snapshot' 'a word that is neither says both'
gt -L main lisst
like "$RC $ERR" '^4 .*no agent session' 'and a mistyped session'
gt lst
like "$RC $ERR" 'did you mean the command gt-recover list' 'without a server, too'
gt -L nosuch list
like "$RC $ERR" '^1 .*no tmux server runs on socket .*nosuch.*in that directory: main' '-L of none: the sockets that are there'
gt -L main show list:0.0 --json --context
is "$RC $(json '{session}')" '0 list' 'a target of tmux'
gt -L main show list:0.7
like "$RC $ERR" '^4 .*no agent session named "list:0.7"' 'one that is not there'
tm new-session -d -s typing -x 100 -y 30 "\"$GT_RECOVER\" -L main show li --context >'$W/prefix'; exec sleep 60"
until_ 10 grep -q '^Session  *list' "$W/prefix"
like "$(cat "$W/prefix")" '^Session  *list' 'on a terminal the beginning of a name will do'
gt -L main show li
is "$RC" 4 'elsewhere it will not'
tm kill-session -t typing
escape=$'\e'
for when in always never auto; do
	kill_agent list
	gt -L main --color $when -- list
	is "$RC" 0 "--color $when"
	if [ $when = always ]; then
		like "$ERR" "$escape\\[32m✓" 'colours'
		unlike "$OUT" "$escape" 'on standard error alone'
	else
		unlike "$OUT$ERR" "$escape" 'no colours'
	fi
done
gt list -L main -q --live
like "$RC $OUT" $'^0 STATE [^\n]*\n(working|idle) +list [^\n]*$' '-q leaves data alone'
gt list -L main --names
is "$RC $OUT" '0 ' '--names: only what can be recovered'
kill_agent list
gt list -L main --names
is "$RC $OUT" '0 list' 'one name a line'
tm kill-server

# ---- filters ----
token=ghp_$(perl -MDigest::SHA=sha512_base64 -e 'my $s = sha512_base64("token"); $s =~ tr/A-Za-z0-9//cd; print substr($s, 0, 36)')
printf 'one\n  two\t%s three\n\nümläut' "$token" >"$W/dirty"
printf 'one\n  two\t[REDACTED:github-token] three\n\nümläut' >"$W/expected"
printf 'Nothing to hide here.\n' >"$W/plain"
gt_in "$W/dirty" scrub
is "$RC $ERR" '0 ' 'scrub'
same_file "$W/out" "$W/expected" 'the secret alone is replaced'
gt_in "$W/plain" scrub
same_file "$W/out" "$W/plain" 'what is no secret passes byte for byte'
gt_in /dev/null scrub
is "$RC $OUT" '0 ' 'nothing gives nothing'
gt_in "$W/dirty" scrub --json
is "$RC $(json '{found}') $(json '{kinds}{github-token}') $(json '{schema_version}')" '0 1 1 2' 'scrub --json counts kinds'
is "$(json '{rows}') $(json '{withheld}') $(json '{places}[0]{row}') $(json '{places}[0]{kind}')" '1 0 2 github-token' 'and says where'
unlike "$OUT" "$token" 'without the text'
gt_in "$W/dirty" scrub --report
same_file "$W/out" "$W/expected" 'scrub --report prints the text'
OUT=$ERR
is "$RC $(json '{found}') $(json '{places}[0]{row}')" '0 1 2' 'and the report on standard error'
unlike "$ERR" "$token" 'without a value'
printf 'a\033]0;title\007b\033[1mc\033[0m\xe2\x80\x8bd\001e\n' >"$W/odd"
gt_in "$W/odd" scrub --sanitize --report
is "$OUT" "$(printf 'ab\033[1mc\033[0mde')" '--sanitize: escape sequences go but colours, invisible characters and controls too'
OUT=$ERR
is "$(json '{removed}') $(json '{found}')" '3 0' 'and are counted'
echo 'it is Maple_Own77x there, and Maple_File78x' >"$W/own"
mkdir -p "$W/own.home" "$W/own.dir"
echo 'SMTP_PASS=Maple_File78x' >"$W/own.dir/.env"
in_own() {	# ARGS...: in a directory with .env, and with a secret in the environment
	(cd "$W/own.dir" && HOME=$W/own.home ACME_TOKEN=Maple_Own77x "$GT_RECOVER" "$@" <"$W/own")
}
is "$(in_own scrub)" 'it is [REDACTED:known-value] there, and [REDACTED:known-value#2]' 'scrub knows its own environment and .env'
is "$(in_own scrub --no-known)" "$(cat "$W/own")" '--no-known: the rules alone'
printf '[recovery.scrub]\nknown_values = false\n' >"$W/own.toml"
is "$(in_own scrub --config "$W/own.toml")" 'it is Maple_Own77x there, and [REDACTED:known-value]' 'known_values = false'
printf '[recovery.scrub]\nknown_files = false\n' >"$W/own.toml"
is "$(in_own scrub --config "$W/own.toml")" 'it is [REDACTED:known-value] there, and Maple_File78x' 'known_files = false'
printf "[acme-badge]\nkeyword = 'acme-'\npattern = 'acme-[0-9]{6}'\nfinds = '«acme-{digit:6}»'\n" >"$W/mine.ini"
printf '[recovery.scrub]\nrules = "mine.ini"\nallow = "^local[0-9]+$"\n' >"$W/mine.toml"
echo 'badge acme-123456 DB_PASSWORD=local4711 SMTP_PASSWORD=other4711' >"$W/mine"
gt_in "$W/mine" scrub --config "$W/mine.toml"
is "$RC $OUT" '0 badge [REDACTED:acme-badge] DB_PASSWORD=local4711 SMTP_PASSWORD=[REDACTED:password]' 'rules and allow of [recovery.scrub]'
sed -i "s/^pattern.*/pattern = 'acme-[0-9]{9}'/" "$W/mine.ini"
gt_in "$W/mine" scrub --config "$W/mine.toml"
like "$RC $OUT $ERR" "^2  .*mine.ini:4: the rule .acme-badge. .* does not find its own sample" 'a rule that finds nothing is an error with file and line, and no text comes out'
head -c 5000000 /dev/zero | tr '\0' x >"$W/long"
printf '\nnext %s\n' "$token" >>"$W/long"
gt_in "$W/long" scrub
is "$RC $OUT" "$(printf '0 [scrub: row withheld]\nnext [REDACTED:github-token]')" 'a row that is too long is withheld'
is "$ERR" 'gt-recover: 1 row was withheld: a rule failed there, or the row is too long' 'and that is said'
gt_in "$W/long" scrub --check
is "$RC $OUT" '7 ' 'which is no clean text'
if [ -c /dev/full ]; then
	RC=0
	"$GT_RECOVER" scrub <"$W/dirty" >/dev/full 2>"$W/said" || RC=$?
	like "$RC $(cat "$W/said")" '^1 .*cannot write the scrubbed text to standard output: No space left' 'a full disk is said'
else
	skip 'there is no /dev/full' 1
fi
RC=0
"$GT_RECOVER" scrub <"$W/dirty" >&- 2>"$W/said" || RC=$?
like "$RC $(cat "$W/said")" '^1 .*could not be written to standard output' 'a closed standard output too'
for i in $(seq 20000); do echo "line $i of a text that nobody reads to its end, so that the pipe is closed before"; done >"$W/many"
(trap '' PIPE; RC=0; "$GT_RECOVER" scrub <"$W/many" 2>"$W/said" || RC=$?; echo "$RC" >"$W/status.pipe") | head -n 1 >/dev/null
until_ 10 test -s "$W/status.pipe"
like "$(cat "$W/status.pipe") $(cat "$W/said")" '^1 .*cannot write the scrubbed text to standard output: Broken pipe' 'a reader that went away too'
RC=0
"$GT_RECOVER" scrub <"$W" >/dev/null 2>"$W/said" || RC=$?
like "$RC $(cat "$W/said")" '^1 .*cannot read standard input: Is a directory' 'an input that cannot be read too'
gt_in "$W/dirty" scrub --check
is "$RC $OUT$ERR" '7 ' 'scrub --check: status 7, no word'
gt_in "$W/plain" scrub --check
is "$RC $OUT$ERR" '0 ' 'and 0 where nothing is'
gt_in "$W/dirty" scrub --check --report
is "$RC $OUT" '7 ' 'with a report too, on standard error'
OUT=$ERR
is "$(json '{found}')" '1' 'of what was found'
printf '❯ Say hello.\n\n● Hello there.\n\n● Bash(make test)\n  ⎿ \302\240ok %s\n\n' "$token" >"$W/captured"
gt_in "$W/captured" parse --json
is "$RC $(json '{exchanges}') $(json '{schema_version}')" '0 3 2' 'parse --json'
is "$(json '{exchanges}[0]{role}') $(json '{exchanges}[0]{content}')" 'user Say hello.' 'what was asked'
is "$(json '{exchanges}[2]{tool}') $(json '{exchanges}[2]{input}')" 'Bash make test' 'what was called'
is "$(json '{last_user_message}') $(json '{unknown_lines}')" 'Say hello. 0' 'and the rest'
unlike "$OUT" "$token" 'without the secret'
gt_in "$W/captured" parse
like "$RC $OUT" '^0 \[user\].Say hello\.' 'parse for people'
gt_in "$W/captured" parse --agent codex --json
is "$RC" 0 'an agent whose screens it cannot read is no error'
item='{"timestamp":"2026-11-21T20:00:00.000Z","type":"response_item","payload":%s}\n'
# shellcheck disable=SC2059	# the format is ours
{
	printf "$item" '{"type":"message","role":"user","content":[{"type":"input_text","text":"use '"$token"'"}]}'
	printf "$item" '{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"make all\"}","call_id":"k"}'
} >"$W/rollout"
gt_in "$W/rollout" parse --transcript --agent codex --json
is "$RC $(json '{exchanges}') $(json '{exchanges}[1]{tool}') $(json '{exchanges}[1]{input}') $(json '{exchanges}[1]{status}')" \
	'0 2 exec_command make all running' "another agent's record"
unlike "$OUT" "$token" 'without the secret'
gt_in "$W/rollout" parse --transcript --agent amp
like "$RC $ERR" '^2 .*cannot be read.*known are claude, codex' 'and of an agent without one the reason'
for filter in scrub parse; do
	tm new-session -d -x 100 -y 30 "\"$GT_RECOVER\" $filter 2>'$W/said'; echo \$? >'$W/status.$filter'; exec sleep 60"
	until_ 10 test -s "$W/status.$filter"
	like "$(cat "$W/status.$filter") $(cat "$W/said")" '^2 .*standard input is a terminal' \
		"$filter does not wait for a terminal"
done
tm kill-server

# ---- settings ----
cat >"$W/gt.toml" <<'TOML'
[other]
via = 1
[recovery]
spacing = "7s"
state = "sqlite"
[recovery.prompts]
template = """
Hello {{.Session}}
"""
TOML
rm "$XDG_CONFIG_HOME/gt-recover/gt.toml"
gt config
is "$RC $(grep -c ' default$' <<<"$OUT")" "0 $(wc -l <<<"$OUT")" 'config: without a file all is default'
gt config --config "$W/gt.toml"
like "$OUT" "recovery.spacing +7s +$W/gt.toml:4" 'a value of the file has its line'
like "$OUT" 'recovery.ready_timeout +180s +default' 'the others do not'
gt config spacing --config "$W/gt.toml"
is "$RC $OUT" '0 7s' 'config KEY: the value alone'
gt config recovery.prompts.template --config "$W/gt.toml" --json
is "$(json '{settings}[0]{value}') $(json '{settings}[0]{origin}') $(json '{file}')" \
	"Hello {{.Session}} $W/gt.toml:7 $W/gt.toml" 'and as JSON'
RUN_RECOVERY_MODE=all gt config runs.mode --json
is "$(json '{settings}[0]{value}') $(json '{settings}[0]{origin}')" 'all environment' 'the environment goes before'
gt config runs.modus
like "$RC $ERR" '^2 .*runs\.modus.*runs\.mode' 'a wrong key: the nearest is named'
mkdir -p "$XDG_CONFIG_HOME/gt-recover"
cp "$W/gt.toml" "$XDG_CONFIG_HOME/gt-recover/gt.toml"
gt config spacing
is "$OUT" 7s 'the file of the user is found'
mkdir -p "$W/town/mayor"
printf '[recovery]\nspacing = "9s"\n' >"$W/town/gt.toml"
gt config spacing --town "$W/town"
is "$OUT" 9s 'that of the town goes before it'
rm "$XDG_CONFIG_HOME/gt-recover/gt.toml"
gt config --config "$ROOT/gt.toml.example" --json
shown=$(perl -MJSON::PP -0777 -ne 'print join " ", grep { $_->{origin} eq "default" } @{decode_json($_)->{settings}}' "$W/out")
is "$RC $shown" '0 ' 'gt.toml.example has every key'
gt config --json
cp "$W/out" "$W/defaults"
gt config --config "$ROOT/gt.toml.example" --json
is "$(grep '"value"' "$W/out")" "$(grep '"value"' "$W/defaults")" 'with its default'

own=$XDG_CONFIG_HOME/gt-recover/gt.toml
gt config path
is "$RC $OUT" "0 $own" 'config path: the file that would be made'
gt config path --config "$W/gt.toml"
is "$RC $OUT" "0 $W/gt.toml" '  or the one in use'
gt config set spacing 3s
is "$RC $OUT" "0 3s" 'config set makes a file'
gt config set auto_recover true
gt config set runs.mode all
is "$RC $(cat "$own")" "0 $(printf '[recovery]\nauto_recover = true\nspacing = "3s"\n[recovery.runs]\nmode = "all"')" '  with a section for each key'
printf '# mine\n[recovery]\nspacing = "3s"	# not too fast\nauto_recover = false\n' >"$own"
chmod 640 "$own"
gt config set spacing '9s'
gt config set auto_recover true
is "$(cat "$own") $(stat -c %a "$own")" "$(printf '# mine\n[recovery]\nspacing = "9s"	# not too fast\nauto_recover = true') 640" 'a key that is there gets another value, all else stays'
cp "$own" "$W/own.toml"
gt config set auto_recover yes
like "$RC $ERR" '^2 .*auto_recover: expected true or false' 'a wrong value'
gt config set spacing soon
like "$RC $ERR" '^2 .*spacing: expected a duration' '  of another type'
refuses 'config set needs a key and a value' config set spacing
gt config set auto_recovr true
like "$RC $ERR" '^2 .*did you mean auto_recover' 'a wrong key: the nearest'
refuses 'unknown kind of store' config set state mongo://x
same_file "$own" "$W/own.toml" 'and nothing is written'
EDITOR='sed -i s/9s/8s/' gt config edit
is "$RC $(grep -c 8s "$own")" '0 1' 'config edit'
EDITOR='sed -i s/8s/8x/' gt config edit
like "$RC $ERR" '^2 .*gt.toml:3.*spacing' '  checks what was written'
EDITOR='sed -i s/8x/8s/' gt config edit
is "$RC" 0 '  and opens a file with a mistake in it'
EDITOR=false gt config edit
like "$RC $ERR" '^1 .*the editor exited with status 1' '  an editor that fails'
printf '[recovery]\nstate = "mongo://x"\n' >"$own"
gt list
like "$RC $ERR" '^2 .*gt.toml:2.*unknown kind of store "mongo://x"' 'a store that there is not is told when gt.toml is read'
printf '[recovery.agents.claud]\ncommand = "claude"\n' >"$own"
gt list
like "$RC $ERR" '^2 .*gt.toml:2.*agents.claud. is not a known agent.*did you mean \[recovery.agents.claude\]' 'a mistyped agent, too'
rm "$own"

# ---- gt recover ----
mkdir "$W/stubs"
# shellcheck disable=SC2016	# the stubs' own variables
for name in gt gt-recover; do
	printf '#!/bin/sh\nprintf %%s "%s:"\nfor a; do printf "[%%s]" "$a"; done\n' $name >"$W/stubs/$name"
	chmod +x "$W/stubs/$name"
done
tries() {	# SHELL FILE: what the function makes of words, in that shell
	env PATH="$W/stubs:$PATH" "$1" -c ". '$2'; gt recover x 'a b' -n; echo; gt other 'c d'; echo; gt recovery; echo; gt; echo"
}
answers='gt-recover:[x][a b][-n]
gt:[other][c d]
gt:[recovery]
gt:'
gt install shim --print
is "$RC" 0 'install shim --print'
printf '%s\n' "$OUT" >"$W/shim.sh"
for shell in sh bash zsh; do
	if command -v $shell >/dev/null; then
		is "$(tries $shell "$W/shim.sh")" "$answers" "gt recover is ours, all else is gt's ($shell)"
	else
		skip "there is no $shell here"
	fi
done
is "$(find "$HOME" -maxdepth 1 -name '.bashrc')" '' 'no file was touched'
mkdir "$W/dotfiles"
printf 'PS1=mine' >"$W/dotfiles/bashrc"
ln -s "$W/dotfiles/bashrc" "$HOME/.bashrc"
SHELL=/bin/bash gt install shim
like "$RC $OUT" "^0 Added the function to $HOME/.bashrc" 'install shim'
like "$(head -n 1 "$HOME/.bashrc")" '^PS1=mine$' 'what was there stays'
ok 'and so does a link' test -L "$HOME/.bashrc"
is "$(tries bash "$HOME/.bashrc")" "$answers" 'it works from there'
cp "$W/dotfiles/bashrc" "$W/bashrc.once"
SHELL=/bin/bash gt install shim
like "$RC $OUT" '^0 .*already has the function' 'a second time it is there already'
same_file "$HOME/.bashrc" "$W/bashrc.once" 'and nothing is added'
SHELL=/usr/bin/zsh gt install shim
is "$RC" 0 'for zsh'
ok 'into its own file' grep -q 'gt-recover' "$HOME/.zshrc"
SHELL=/usr/bin/fish gt install shim
fish_file=$XDG_CONFIG_HOME/fish/conf.d/gt-recover.fish
is "$RC" 0 'for fish'
if command -v fish >/dev/null; then
	is "$(env PATH="$W/stubs:$PATH" fish --no-config -c "source '$fish_file'
		gt recover x 'a b' -n; echo; gt other 'c d'; echo; gt recovery; echo; gt; echo")" "$answers" 'it works in fish'
else
	skip 'there is no fish here'
fi
SHELL=/bin/tcsh gt install shim
like "$RC $ERR" '^1 .*SHELL is none of bash, zsh and fish.*--print' 'for another shell it says what to do'
rm "$HOME/.bashrc"
mkdir "$HOME/.bashrc"
SHELL=/bin/bash gt install shim
like "$RC $ERR" '^1 .*\.bashrc' 'a file that cannot be written is a failure'

# ---- what describes the command line ----
man=$(sed 's/\\-/-/g' "$ROOT"/man/gt-recover{,-epic,-records}.1)
is "$(missing '^\.Cm |^\.It Cm ' '( |$)' "$man" "${commands[@]}")" '' 'the manuals have every command'
is "$(missing 'Fl -' '( |$)' "$man" "${options[@]}")" '' 'and every option'
for shell in bash zsh fish; do
	text=$(cat "$ROOT/completions/gt-recover.$shell")
	is "$(missing "(^|[^a-z-])" "([^a-z-]|\$)" "$text" "${commands[@]}")" '' "the completions of $shell have every command"
	dashes=--
	[ $shell != fish ] || dashes='-l '
	is "$(missing "(^|[^a-z-])$dashes" "([^a-z-]|\$)" "$text" "${options[@]}")" '' 'and every option'
done
mapfile -t keys < <(perl -MJSON::PP -0777 -ne 'print map { (my $k = $_->{key}) =~ s/^recovery\.//; "$k\n" }
	@{decode_json($_)->{settings}}' "$W/defaults")
ok 'there are settings' test ${#keys[@]} -ge 25
for shell in bash zsh fish; do
	text=$(cat "$ROOT/completions/gt-recover.$shell")
	is "$(missing '(^|[[:space:]])' '([^a-z._-]|$)' "$text" "${keys[@]}")" '' "the completions of $shell have every setting"
done

# ---- no server runs at all ----
mkdir -p "$W/none"
none() { TMUX_TMPDIR=$W/none TMUX='' gt "$@"; }
for words in '--all --yes' '--all -n' '-n'; do
	# shellcheck disable=SC2086
	none $words
	is "$RC $OUT$ERR" '4 Nothing to recover: no tmux server runs.' "without a server: $words"
done
for words in nosuch 'show nosuch' 'restart nosuch --yes'; do
	# shellcheck disable=SC2086
	none $words
	like "$RC $ERR" '^4 .*no agent session named "nosuch"' "without a server: $words"
done
none lst
like "$RC $ERR" '^4 .*did you mean the command gt-recover list' 'without a server: a mistyped command'
none list
is "$RC" 0 'without a server: list has nothing to show'

# ---- commands without JSON ----
for words in 'completion bash' help 'help list' 'config edit'; do
	# shellcheck disable=SC2086
	EDITOR=false gt $words --json
	like "$RC $OUT" '^2 .*"name": "usage".* has no --json' "$words refuses --json"
done

ln -s "$GT_RECOVER" "$W/bin/gt-recover"
start_agent with --no-wait --scenario "$DATA/idle.scenario"
tm rename-session -t "$(agent_pane with)" "it's \$HOME" && until_ 10 _event with '^ready' && kill_agent with
completes() {	# WORD...: what bash offers for the last word, one a line
	bash --norc -c '. "$1"; shift; COMP_WORDS=(gt-recover "$@"); COMP_CWORD=$#; _gt_recover; printf "%s\n" "${COMPREPLY[@]}"' \
		bash "$ROOT/completions/gt-recover.bash" "$@"
}
is "$(completes --dry)" --dry-run 'bash completes an option'
is "$(completes scrub --ch)" --check 'of a command'
is "$(completes config prompts.template_)" prompts.template_file 'a setting'
is "$(completes -L main ver)" version 'a command behind options'
# tmux 3.4 prints a backslash more than the name has
name=$("$GT_RECOVER" list --names -L main | grep "^it's")
is "$(completes -L main show "it's")" "$(printf %q "$name")" 'and a session, quoted for the shell'
if command -v fish >/dev/null; then
	fish_completes() {	# LINE
		fish --no-config -c "source '$ROOT/completions/gt-recover.fish'; complete -C '$1'" | cut -f 1
	}
	is "$(fish_completes 'gt-recover scrub --ch')" --check 'fish completes an option'
	like "$(fish_completes 'gt-recover -L main show ')" "it's" 'and a session'
else
	skip 'there is no fish here' 2
fi
if command -v zsh >/dev/null; then
	ok 'the completions of zsh can be read by it' zsh -n "$ROOT/completions/gt-recover.zsh"
else
	skip 'there is no zsh here'
fi
done_testing
