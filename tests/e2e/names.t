#!/bin/bash
# Session names, directories and sockets chosen by somebody who means harm: each agent is listed, comes back by its exact name, alone;
# nothing in a name is run, taken for something else, or reaches a terminal as it is.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
PLANT=gtr-planted-$$		# a file that would appear if a name were run
cat >"$W/gt.toml" <<'TOML'
[recovery]
ack_timeout = "20s"
TOML

nothing_ran() {
	[ -z "$(find "$W" "$ROOT/tests" -name "$PLANT*" 2>/dev/null)" ] && [ ! -e "/$PLANT" ] && [ ! -e "/tmp/$PLANT" ]
}

# What may stand on a person's terminal: text and newlines, no controls, nothing that is invisible or turns the writing round.
harmless() {	# FILE...
	cat -- "$@" | perl -CI -ne '
		exit 1 if /[\x00-\x09\x0b-\x1f\x7f-\x9f\x{ad}\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2060}-\x{206f}\x{feff}]/'
}

quiet_output() {	# WHAT: of the last run
	ok "$1: nothing harmful on standard output and error" harmless "$W/out" "$W/err"
}

# A name is a format to tmux: every # is doubled, or #() would run at once; a ; at the end would end the command.
rename() {	# ALIAS NAME
	local name=${2//#/##}
	[[ $name != *';' ]] || name=${name%;}'\;'
	tm rename-session -t "$(agent_pane "$1")" -- "$name"
}

name_of() {	# ALIAS: as tmux has it
	tm display-message -p -t "$(agent_pane "$1")" '#{session_name}'
}

others_told() {	# ALIAS: messages to everybody else
	find "$W/agents" -name 'message.*' ! -path "$(agent_dir "$1")/*" | wc -l
}

# comes_back ALIAS WORD OPTION...: by this word, alone
comes_back() {
	local alias=$1 word=$2 others
	shift 2
	others=$(others_told "$alias")
	gt --config "$W/gt.toml" "$@" -- "$word"
	is "$RC $(messages "$alias") $(others_told "$alias")" "0 1 $others" \
		"it comes back by $(printf %q "$word"), and no other is told anything"
	[ "$RC" = 0 ] || note "$ERR"
	quiet_output 'its recovery'
}

# ---- one server, many names ----
names=('with  blanks ' "it's \"quoted\"" 'semi;colon;' "#(touch $PLANT-1)" "\$1" -leading --all '{last}' @1 '=x' list gt-toast gt-toast2
	'*' '~' $'bidi\u202egnp.exe' $'zero\u200bwidth\u2066' $'new\nline' $'tab\tbed' $'esc\e[2J' "\`touch $PLANT-2\`;touch $PLANT-3"
	'ümläut 日本' plain:0.0 'dot.1')
# tmux 3.7 refuses names with control characters, and keeps : and . as they are
aliases=() refused=0
for i in "${!names[@]}"; do
	start_agent "n$i" --no-wait --scenario "$DATA/idle.scenario"
	if rename "n$i" "${names[i]}" 2>"$W/refused"; then
		aliases+=("n$i")
	elif [[ ${names[i]} == *[[:cntrl:]]* ]] && grep -q '^invalid session name' "$W/refused"; then
		refused=$((refused + 1))
		tm kill-session -t "$(agent_pane "n$i")"
	fi
done
is $((${#aliases[@]} + refused)) ${#names[@]} 'agents under hostile names'
[ $refused = 0 ] || skip 'this tmux refuses the name' $((3 * refused))
start_agent plain --no-wait --scenario "$DATA/idle.scenario"
killed=0
for alias in "${aliases[@]}"; do
	until_ 10 _event "$alias" '^ready' && kill_agent "$alias" && killed=$((killed + 1))
done
is $killed ${#aliases[@]} 'all are killed'
until_ 10 _event plain '^ready'
plain=$(agent_pid plain)

gt list -L main --json
cp "$W/out" "$W/list.json"
quiet_output 'list --json'
gt list -L main
quiet_output 'list'
is "$(grep -c '^crashed  ' "$W/out")" ${#aliases[@]} 'each has its row'
ok 'bidi is made visible' grep -Eq 'bidi\\u\{202e\}gnp[_.]exe' "$W/out"
ok 'a zero width space too' grep -Fq 'zero\u{200b}width' "$W/out"
gt --all --dry-run -L main
quiet_output 'the plan'
is "$RC $(grep -c 'would recover' "$W/out")" "0 ${#aliases[@]}" 'the plan has them all'

in_list() {	# NAME: how often the JSON has it, exactly
	perl -MJSON::PP -MEncode -0777 -ne 'BEGIN { $main::name = decode("UTF-8", shift @ARGV) }
		print scalar grep { $_->{name} eq $main::name && $_->{recoverable} } @{JSON::PP->new->utf8->decode($_)->{sessions}}' \
		-- "$1" "$W/list.json"
}

for alias in "${aliases[@]}"; do
	name=$(name_of "$alias" && printf x)
	name=${name%$'\n'x}
	is "$(in_list "$name")" 1 "listed once, exactly: $(printf %q "$name")"
	comes_back "$alias" "$name" -L main
done
ok 'nothing in a name was run' nothing_ran
is "$(agent_pid plain) $(messages plain)" "$plain 0" 'the living one beside them is untouched, whose pane plain:0.0 would be'

# ---- names that look like pane ids ----
kill_agent plain
percent=$(agent_pane plain)
ok 'an agent dies' start_agent fake --scenario "$DATA/idle.scenario"
rename fake "$percent"
kill_agent fake
gt "$percent" -L main
is "$RC" 2 'a word that is the id of one pane and the name of another session is not guessed'
like "$ERR" 'matches more than one' 'with a sentence'
rename fake '%pct'
comes_back fake '%pct' -L main
comes_back plain "$percent" -L main
gt nobody -L main --json
is "$RC $(json '{error}{name}')" '4 unknown-session' 'what is not there is not guessed'
gt gt-toas -L main --json
is "$RC $(json '{error}{name}')" '4 unknown-session' 'a name is no prefix'
gt $'\e]0;x\a\u202e' -L main
is "$RC" 4 'nor is a word of controls'
quiet_output 'the answer to it'

# ---- directories ----
for layout in bare wrapper; do
	dir="$W/proj/#(touch $PLANT-$layout) 'it' \"is\" #{session_name}; $layout \$HOME"
	mkdir -p "$dir"
	ok "an agent in a hostile directory ($layout)" start_agent "cwd-$layout" --$layout --cwd "$dir" --scenario "$DATA/idle.scenario"
	kill_agent "cwd-$layout"
	until_ 5 listed_is "cwd-$layout" recoverable true
	comes_back "cwd-$layout" "cwd-$layout" -L main
	is "$(readlink "/proc/$(agent_pid "cwd-$layout")/cwd")" "$dir" 'it works where it worked'
done
ok 'nothing in a directory was run' nothing_ran

# ---- servers ----
tmux_dir=$TMUX_TMPDIR/tmux-$(id -u)
for SOCKET in a b; do
	start_agent "twin-$SOCKET" --scenario "$DATA/idle.scenario" && rename "twin-$SOCKET" twin && kill_agent "twin-$SOCKET"
	start_agent "only-$SOCKET" --scenario "$DATA/idle.scenario" && kill_agent "only-$SOCKET"
done
gt list -L a -L b --json
is "$RC $(json '{sessions}')" '0 4' 'two servers at once'
gt twin -L a -L b --json
is "$RC $(json '{error}{name}')" '2 ambiguous' 'a name on both is ambiguous'
like "$(json '{error}{message}')" 'on socket a.*on socket b' 'and both are named'
SOCKET=a
comes_back twin-a twin -L a
SOCKET=b
comes_back twin-b twin -L "$tmux_dir/b"
gt list -L b -L "$tmux_dir/b" -L "$tmux_dir/../$(basename "$tmux_dir")/b" --json
is "$RC $(json '{sessions}')" '0 2' 'a server reached by several names is listed once'
TMUX="$tmux_dir/b,1,0" GT_TMUX_SOCKET=b gt list --json
is "$RC $(json '{sessions}')" '0 2' 'that of TMUX too'
comes_back only-b only-b -L a -L "$tmux_dir/b"
SOCKET=a
comes_back only-a only-a -L b -L a
gt list -L '' --json
is "$RC $(json '{error}{name}')" '2 usage' 'an empty socket name is an error'
ok 'nothing was run at all' nothing_ran
done_testing
