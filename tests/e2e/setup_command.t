#!/bin/bash
# gt-recover setup: the plan, one question, all parts, and --undo, after which every file, tmux's options and keys, and the crontab are as before.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
often
printf '#!/bin/sh\nexit 1\n' >"$W/bin/systemctl"
cat >"$W/bin/crontab" <<SH
#!/bin/sh
case \$1 in
-l) [ -e $W/tab ] || { echo 'no crontab for dev' >&2; exit 1; }; cat $W/tab ;;
-) cat >$W/tab ;;
*) exit 2 ;;
esac
SH
chmod 755 "$W/bin/systemctl" "$W/bin/crontab"
export SHELL=/bin/bash
printf '0 4 * * * backup\n' >"$W/tab"
mkdir -p "$HOME/.claude" "$XDG_CONFIG_HOME"
printf '{\n  "model": "opus"\n}\n' >"$HOME/.claude/settings.json"
printf 'set -g mouse on\nset -g base-index 1' >"$HOME/.tmux.conf"	# without a newline at its end
printf 'PS1=mine' >"$HOME/.bashrc"
OWN=$XDG_CONFIG_HOME/gt-recover/tmux.conf

files() {	# what setup may touch
	(cd "$HOME" && find . \( -path ./.local -o -path ./.claude/projects -o -path ./.claude/sessions \) -prune -o -type f -print | sort | xargs sha256sum)
	sha256sum "$W/tab"
}
everything() {
	files
	tm show-options -g
	tm show-options -gw
	tm show-options -s | grep -v '^@gt-recover-heartbeat'	# ends by itself within a minute
	tm show-hooks -g
	tm list-keys -T prefix
	tm list-panes -a -F '#{pane_id} #{remain-on-exit} #{history_limit}'
}
part() {	# NAME: its state, and the name of its error
	perl -MJSON::PP -0777 -e 'my ($p) = grep { $_->{part} eq $ARGV[0] } @{decode_json(<STDIN>)->{parts}}; print $p->{state}, $p->{error} ? " $p->{error}{name}" : ""' "$1" <"$W/out"
}

ok 'an agent runs' start_agent work --scenario "$DATA/idle.scenario"
tm set-option -gw remain-on-exit off	# as tmux comes
before=$(everything)

# ---- the plan ----
gt -L main setup --print
like "$RC $OUT" '^0 To be set up:.*  panes +keep .*  timer .*  hooks .*  key .*  conf .*Not set up .*  shim .*  plugin ' 'the plan'
is "$(everything)" "$before" '--print changes nothing'
gt -L main setup </dev/null
like "$RC $ERR" '^2 .*needs --yes.*--print' 'where nobody can be asked it needs --yes'
is "$(everything)" "$before" '  and changes nothing'
gt -L main setup --print --json
is "$RC $(part panes) $(part shim)" '0 planned left_out' 'the plan as JSON'
gt setup --only tmer --print
like "$RC $ERR" '^2 .*no part "tmer".*did you mean timer\?' 'an unknown part: the nearest'
gt setup --only timer --with hooks --print
is "$RC" 2 '--only goes without --with'
gt -L main setup --print --json --without key,conf --with shim
is "$(part key) $(part conf) $(part shim) $(part timer)" 'left_out left_out planned planned' '--with and --without'

asks() {	# ANSWER: on a terminal; the status is in status
	rm -f "$W/status"
	tm new-session -d -s asks -x 100 -y 40 "\"$GT_RECOVER\" -L main setup --only key; echo \$? >'$W/status'; exec sleep 60"
	until_ 10 grep -q 'Set it up' <(tm capture-pane -p -t asks) || until_ 10 eval 'tm capture-pane -p -t asks | grep -q "Set it up"'
	tm send-keys -t asks "$1" Enter
	until_ 20 test -s "$W/status"
	tm kill-session -t asks
}
asks n
is "$(cat "$W/status")" 4 'on a terminal it asks: n'
is "$(everything)" "$before" '  changes nothing'

# ---- all of it, and back ----
gt -L main setup --yes
like "$RC $ERR" '^0 .*panes +set up.*timer +set up.*hooks +set up.*key +set up.*conf +set up' 'setup --yes'
like "$OUT" 'Warnings of gt-recover doctor' '  then doctor is asked'
is "$(tm show-options -pv -t "$(agent_pane work)" remain-on-exit)" on '  the pane stays when the agent dies'
is "$(tm show-options -gwv remain-on-exit)" off '  no other pane does'
like "$(cat "$W/tab")" '^0 4 .*backup.*snapshot --quiet.*startup --quiet' '  the timer'
like "$(cat "$HOME/.claude/settings.json")" '"model": "opus".*gt-recover.* hook ' '  the hooks'
like "$(tm list-keys -T prefix)" 'prefix +R +display-popup .*gt-recover' '  the key'
like "$(cat "$HOME/.tmux.conf")" "source-file -q .*gt-recover/tmux.conf.*set -g mouse on" '  and the line that reads it'
ok '  which tmux can read' tm source-file "$HOME/.tmux.conf"
tm set-option -gu base-index
tm set-option -gu mouse
after=$(files)
gt -L main setup --yes
is "$RC" 0 'again'
is "$(files)" "$after" '  nothing is added'
gt -L main setup --undo --yes
like "$RC $ERR" '^0 .*conf +removed.*key +removed.*hooks +removed.*timer +removed.*panes +removed' 'setup --undo'
is "$(diff <(echo "$before") <(everything))" '' '  every file, option, key and the crontab are as before'
ok '  no folder of ours is left' test ! -e "$OWN"

# ---- beside tmux-resurrect ----
is "$(gt -L main setup --print --json && part resurrect)" left_out 'without tmux-resurrect its hook is left out'
HOOK=@resurrect-hook-post-restore-all
tm set-option -g @resurrect-restore-script-path "$W/restore.sh"
before=$(everything)
is "$(gt -L main setup --print --json && part resurrect)" planned 'with it it is in the plan'
gt -L main setup --yes
like "$RC $(tm show-options -gqv "$HOOK")" "^0 tmux set-option -g @gt-recover-restored \`date \+%s\`; '?$GT_RECOVER'? --all --yes --quiet -L \"\`printenv TMUX \| cut -d, -f1\`\" " '  and set'
tm set-option -gu "$HOOK"
tm source-file "$OWN"
like "$(tm show-options -gqv "$HOOK")" ' --all --yes ' '  at each start of tmux, too'
gt -L main setup --undo --yes
is "$(diff <(echo "$before") <(everything))" '' '  undo leaves no trace'
tm set-option -g "$HOOK" 'echo mine'
is "$(gt -L main setup --print --json && part resurrect)" left_out "a person's own hook is left alone"
gt -L main setup --yes --only resurrect
is "$RC $(tm show-options -gqv "$HOOK")" '0 echo mine' '  also when it is asked for'
gt -L main setup --undo --yes
is "$(tm show-options -gqv "$HOOK")" 'echo mine' '  and by undo'
tm set-option -gu "$HOOK" \; set-option -gu @resurrect-restore-script-path

# ---- what a person changed meanwhile ----
gt -L main setup --yes --with shim
is "$RC" 0 'with the shell function'
like "$(cat "$HOME/.bashrc")" '^PS1=mine.*gt\(\)' '  which is there'
echo 'set -g status off' >>"$HOME/.tmux.conf"
sed -i 's/opus/sonnet/' "$HOME/.claude/settings.json"
echo '5 5 * * * mine' >>"$W/tab"
echo 'alias ll=ls' >>"$HOME/.bashrc"
echo '# mine' >>"$OWN"
gt -L main setup --undo --yes
is "$RC" 0 'undo after edits'
is "$(cat "$HOME/.tmux.conf")" "$(printf 'set -g mouse on\nset -g base-index 1set -g status off')" '  of tmux.conf only our lines are gone'
is "$(cat "$HOME/.claude/settings.json")" "$(printf '{\n  "model": "sonnet"\n}')" '  of the settings, too'
is "$(cat "$W/tab")" "$(printf '0 4 * * * backup\n5 5 * * * mine')" '  of the crontab'
is "$(cat "$HOME/.bashrc")" "$(printf 'PS1=mine\nalias ll=ls')" '  of the shell'"'"'s file'
is "$(cat "$OWN")" '# mine' '  and of our own'
rm -r "${OWN%/*}"

# ---- what is not ours to write ----
mv "$HOME/.tmux.conf" "$HOME/dotfile.conf"
ln -s dotfile.conf "$HOME/.tmux.conf"
linked=$(files)
gt -L main setup --yes --json --only conf
is "$RC $(part conf)" '1 failed not-written' 'a tmux.conf that is a symbolic link'
gt -L main setup --yes --only conf,key
like "$RC $ERR" '^3 .*symbolic link: it is not changed.*hint: .*source-file -q .*gt-recover/tmux.conf' '  the line is shown, the part counts as not done'
gt -L main setup --yes --undo
is "$RC $(files)" "0 $linked" '  and undo leaves it'
rm "$HOME/.tmux.conf"
mv "$HOME/dotfile.conf" "$HOME/.tmux.conf"
chmod 444 "$HOME/.tmux.conf"
gt -L main setup --yes --only conf
like "$RC $ERR" '^1 .*read-only: it is not changed' 'one that is read-only'
chmod 644 "$HOME/.tmux.conf"
tm bind-key R display-message mine
gt -L main setup --yes --only key
like "$RC $ERR" '^1 .*prefix R is bound to another command' 'a key that is bound stays'
like "$(tm list-keys -T prefix)" 'R +display-message mine' '  as it is'
ok '  and no file is made' test ! -e "$OWN"
gt -L main setup --undo --yes --only key
like "$(tm list-keys -T prefix)" 'R +display-message mine' '  undo, too'
tm unbind-key R

# ---- a new home ----
rm -f "$HOME/.tmux.conf" "$W/tab"
gt -L main setup --yes --only conf,timer
ok 'without a tmux.conf one is made' test -s "$HOME/.tmux.conf"
gt -L main setup --undo --yes
ok '  and removed' test ! -e "$HOME/.tmux.conf"
is "$(cat "$W/tab")" '' '  and the crontab is empty'
tm kill-server
gt setup --yes --only panes,key
is "$RC" 0 'without a tmux server'
gt setup --undo --yes
is "$RC" 0 '  and back'
done_testing
