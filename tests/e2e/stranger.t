#!/bin/bash
# A town that another user can change is not used: neither its rigs nor its work, and gt is never started in it.
# The user's own gt.toml lifts that.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
# shellcheck source=tests/e2e/town.sh
. "$ROOT/tests/e2e/town.sh"
if [ "$(id -u)" != 0 ]; then
	skip 'another user can be played by root alone'
	done_testing
	exit
fi
unset SUDO_UID
make_town sqlite
mkdir "$TOWN/sub"
add_bead gastown gt-abc hooked gastown/polecats/toast 'Mend the lexer' 'Text.'
unchanged() {	# WHAT
	is "$(town_calls gt .) $(find "$TOWN" -name .gt | wc -l)" '0 0' "$1: gt was not started, the town has no state"
}

# without a town its servers are not looked at
tmux -u -L default -f /dev/null new-session -d -s other 'exec sleep 600'
PIDS+=("$(tmux -u -L default display-message -p '#{pid}')")

cd "$TOWN/sub" || exit 1
gt list --json
is "$(json '{sessions}[0]{name}') $ERR" 'gt-toast ' 'our own town is used from below it'
rm -rf -- "$TOWN/.gt"
: >"$TOWN_CALLS/gt"

# ---- a stranger's ----
chown -R 65534:65534 "$TOWN"
gt --all --yes --no-input
is "$RC" 4 'a stranger'"'"'s town above: nothing to recover'
like "$ERR" "not used: $TOWN(/sub)? belongs to the user nobody" 'and it is said why'
like "$ERR" "safe_directories of \[recovery\] in $XDG_CONFIG_HOME/gt-recover/gt.toml" 'and what to do'
unchanged 'a stranger'"'"'s town above'
gt list --json
is "$(json '{sessions}')" 0 'list shows none of its work'
gt patrol
unchanged 'patrol'
chown 0:0 "$TOWN/sub"
gt --all --yes --no-input
is "$RC" 4 'from a directory of our own in it, too'
unchanged 'a directory of our own'
echo '{}' >"$W/in"
gt_in "$W/in" hook SessionStart
is "$RC $OUT$ERR" '0 ' 'a hook says nothing'
gt doctor --json
is "$(found "Gas Town.root")" warning 'doctor warns'
gt --town "$TOWN" list --json
is "$RC $(json '{error}{name}')" '2 not-ours' 'named, it is refused'
like "$(json '{error}{message}')" 'belongs to the user nobody' 'with the reason'
like "$(json '{error}{hint}')" "add \"$TOWN\" to safe_directories" 'and what to do'
cd "$W/proj" || exit 1
export GT_TOWN_ROOT=$TOWN
gt list --json
is "$RC $(json '{error}{name}')" '2 not-ours' 'named by a variable, too'
unset GT_TOWN_ROOT

# ---- one of ours that everybody can write, and a mayor/ in a place like /tmp ----
chown -R 0:0 "$TOWN"
chmod 777 "$TOWN"
cd "$TOWN/sub" || exit 1
gt --all --yes --no-input
is "$RC" 4 'a town that everybody can write: nothing to recover'
like "$ERR" "not used: $TOWN can be written by everybody" 'and it is said why'
chmod 1777 "$TOWN"
gt --all --yes --no-input
is "$RC" 4 'one that is sticky, too'
unlike "$ERR" 'not used' 'of which nothing is said'
unchanged 'writable by everybody'
chmod 755 "$TOWN"

# ---- one that a group can write ----
chmod 775 "$TOWN"
chown 0:12345 "$TOWN"
printf 'root:x:0:\nteam:x:12345:root,fury\n' >"$W/group"
printf 'root:x:0:0::/:/bin/sh\nfury:x:4242:4242::/:/bin/sh\n' >"$W/passwd"
gt list --json
is "$(json '{sessions}[0]{name}') $ERR" 'gt-toast ' 'a group without another member is none'
# shellcheck disable=SC2016	# for the inner shell
as_here() {	# ARGS...: where passwd and group are those of this test
	RC=0
	unshare -m sh -c 'mount --bind "$1/group" /etc/group && mount --bind "$1/passwd" /etc/passwd && shift && exec "$@"' \
		sh "$W" "$GT_RECOVER" "$@" >"$W/out" 2>"$W/err" </dev/null || RC=$?
	OUT=$(cat "$W/out") ERR=$(cat "$W/err")
}
if unshare -m sh -c "mount --bind '$W/group' /etc/group" 2>/dev/null; then
	as_here list
	like "$ERR" 'can be written by the group team, which has another member: fury' 'a member that it lists is another user'
	printf 'root:x:0:\nteam:x:12345:root\n' >"$W/group"
	as_here list
	is "$ERR" '' 'we ourselves are not'
	printf 'root:x:0:0::/:/bin/sh\nfury:x:4242:12345::/:/bin/sh\n' >"$W/passwd"
	as_here list
	like "$ERR" 'which has another member: fury' 'somebody whose primary group it is is one'
	printf 'team:x:12345:gone\n' >"$W/group"
	as_here list
	like "$ERR" 'which has another member: gone' 'as is a name that nobody has'
else
	skip 'nothing can be mounted here' 4
fi
chmod 755 "$TOWN"

# ---- the user's own word ----
chown -R 65534:65534 "$TOWN"
mkdir -p "$XDG_CONFIG_HOME/gt-recover"
printf '[recovery]\nsafe_directories = ["%s"]\n' "$TOWN" >"$XDG_CONFIG_HOME/gt-recover/gt.toml"
gt list --json
like "$(json '{sessions}[0]{name}') $ERR" '^gt-toast .*cannot record the agents found: .* belongs to another user: root does not change it.*sudo -u [^ ]+ gt-recover' 'safe_directories lifts it, but what is seen there cannot be recorded'
gt --town "$TOWN" list --json
is "$RC" 0 'for a named one, too'
gt config safe_directories
is "$OUT" "[\"$TOWN\"]" 'config shows it'
printf '[recovery]\nsafe_directories = ["*"]\n' >"$TOWN/gt.toml"
gt list
like "$RC $ERR" '^2 .*gt.toml:2: safe_directories is allowed only in your own gt.toml' 'a town cannot lift it'
rm "$TOWN/gt.toml"

# ---- the user's own town in a stranger's ----
mkdir -p "$TOWN/in/mayor" "$TOWN/in/sub"
cp "$TOWN/mayor/town.json" "$TOWN/in/mayor"
for listed in '' "\"$TOWN\"" '"*"'; do
	printf '[recovery]\nsafe_directories = [%s]\n' "$listed" >"$XDG_CONFIG_HOME/gt-recover/gt.toml"
	cd "$TOWN/in/sub" || exit 1
	gt list
	is "$RC" 0 "one's own town in a stranger's, listed: ${listed:-none}"
	unlike "$ERR" 'not used|safe_directories' '  of which nothing is said'
	gt doctor --json
	like "$(found "Gas Town.root" sentence)" "^$TOWN/in($|;)" '  doctor shows that it is used'
	if [ -z "$listed" ]; then
		is "$(found "Gas Town.root")" note '  and notes'
		like "$(found "Gas Town.root" sentence)" "not used: $TOWN belongs to the user nobody" '  the other one'
	fi
done
cd "$W/proj" || exit 1
rm -rf -- "$TOWN/in"

# ---- a state directory that others can move away ----
rm "$XDG_CONFIG_HOME/gt-recover/gt.toml"
cd / || exit 1
mkdir -p "$W/pub/x/y"
home_state=$XDG_STATE_HOME
export XDG_STATE_HOME=$W/pub/x/y
gt session list
is "$RC" 0 'a state directory in directories of ours is used'
chmod 777 "$W/pub"
for command in 'session list' startup 'startup --dry-run' log; do
	# shellcheck disable=SC2086	# words
	gt $command --json
	like "$RC $(json '{error}{name}')" '^2 not-ours' "two levels below one that everybody can write: $command refuses it"
done
like "$(json '{error}{message}')" "y/gt-recover is not used: $W/pub can be written by everybody" 'with the reason'
like "$(json '{error}{hint}')" "XDG_STATE_HOME.* add \"$W/pub\" to safe_directories" 'and what to do'
gt list
like "$RC $ERR" "^0 .*y/gt-recover is not used: $W/pub can be written by everybody" 'list, which shows more than records, warns'
gt doctor --json
is "$(found State.directory)" error 'doctor shows it'
chmod 1777 "$W/pub"
gt session list
is "$RC" 0 'a sticky one is fine'
export XDG_STATE_HOME=$home_state

# ---- the directory of a socket ----
mkdir "$W/open"
tmux -u -S "$W/open/socket" -f /dev/null new-session -d 'exec sleep 60'
PIDS+=("$(tmux -u -S "$W/open/socket" display-message -p '#{pid}')")
gt list -L "$W/open/socket"
is "$RC" 0 'a socket in a directory of ours is used'
chmod 777 "$W/open"
gt list -L "$W/open/socket" --json
is "$RC $(json '{error}{name}')" '1 not-ours' 'in one that everybody can write it is refused'
like "$(json '{error}{message}')" "open/socket is not used: $W/open/ can be written by everybody" 'with the reason'
chmod 1777 "$W/open"
gt list -L "$W/open/socket"
is "$RC" 0 'in a sticky one it stays ours'
chown 65534:65534 "$W/open"
chmod 755 "$W/open"
gt list -L "$W/open/socket"
like "$RC $ERR" '^1 .*belongs to the user nobody' "in another user's it is refused"
done_testing
