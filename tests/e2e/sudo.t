#!/bin/bash
# root beside another user's agents, as under sudo: it shows them and starts none; their user recovers them.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
	skip_all 'another user can be played by root alone, with setpriv'
fi
[ ! -e /tmp/tmux-65534 ] || skip_all 'the user 65534 has a tmux server of its own here'

umask 022
chmod 711 "$W"
as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups env)
chmod 755 "$W/bin" "$W/agents" "$W/proj"
cp -- "$GT_RECOVER" "$W/bin/gt-recover"
chmod 755 "$W/bin"/*
mkdir -m 700 "$W/tmux/tmux-65534"
mkdir -p "$(agent_dir toast)/cwd" "$W/root"
chmod 711 "$W/tmux"
chown -R 65534:65534 "$W/home" "$W/tmux/tmux-65534" "$W/run" "$(agent_dir toast)"
SOCKET=$W/tmux/tmux-65534/main
tm() {
	"${as_user[@]}" tmux -u -S "$SOCKET" -f /dev/null "$@"
}
as_root() {	# ARGS...: gt-recover of root, with root's own places
	HOME=$W/root XDG_STATE_HOME=$W/root/state XDG_CONFIG_HOME=$W/root/config gt "$@"
}
server_is() {	# what root must not have changed
	tm list-panes -a -F '#{pane_id} #{pane_pid} #{pane_dead} #{pane_start_command}' | cksum
	tm capture-pane -p -S - -t "$(agent_pane toast)" | cksum
	tm show-options -p -t "$(agent_pane toast)" | cksum
	tm show-hooks -g | cksum
}

ok "another user's agent works" start_agent toast --scenario "$DATA/work.scenario"
is "$(stat -c %u "/proc/$(agent_pid toast)")" 65534 '  as that user'
as_root list -L "$SOCKET" --json
is "$RC $(json '{sessions}[0]{name}') $(json '{sessions}[0]{class}')" '0 toast live' 'root sees it'
ok '  it is killed' kill_agent toast
tm run-shell true
ok '  its pane stays' until_ 5 pane_shows toast '^Pane is dead'

before=$(server_is)
as_root list -L "$SOCKET" --json
is "$RC $(json '{sessions}[0]{name}') $(json '{sessions}[0]{class}')" '0 toast dead' 'root sees that it died'
is "$(json '{sessions}[0]{refusal}')" other-user '  and that root cannot recover it'
as_root context toast -L "$SOCKET"
like "$RC $OUT" '^0 .*Agent *Claude' 'root reads its context'
for how in toast '--all --yes'; do
	# shellcheck disable=SC2086	# words
	as_root $how -L "$SOCKET"
	like "$RC $OUT$ERR" '^[1-9].* another user.*sudo -u (nobody|.#.65534) gt-recover' "root: $how is refused, and told how"
done
as_root arm toast -L "$SOCKET"
like "$RC $OUT$ERR" '^[1-9].*belongs to another user' 'root arms nothing'
as_root patrol -L "$SOCKET"
as_root snapshot -L "$SOCKET"
is "$(server_is)" "$before" 'nothing changed there'
is "$(agent_starts toast)" 1 'no agent was started'

# ---- the name of the socket is the user's default one: sudo says who that is ----
ln -s "$W/tmux/tmux-65534" /tmp/tmux-65534
SUDO_UID=65534 as_root list --json
not_ok '  of another directory it is not found' grep -q toast <<<"$OUT"
mv "$SOCKET" "${SOCKET%/main}/default"
SOCKET=${SOCKET%/main}/default
SUDO_UID=65534 as_root list --json
is "$RC $(json '{sessions}[0]{name}') $(json '{sessions}[0]{refusal}')" '0 toast other-user' 'sudo gt-recover list finds the server of who called it'
SUDO_UID=65534 as_root --all --yes
like "$RC $OUT$ERR" 'sudo -u' 'sudo gt-recover --all is refused'
rm /tmp/tmux-65534
is "$(server_is)" "$before" 'nothing changed there'

# ---- the state of that user ----
rm -rf "$W/root"
mkdir "$W/root"
gt snapshot -L "$SOCKET"
like "$RC $ERR" "^1 .*state directory .* belongs to another user.*sudo -u" "root writes nothing into that user's state directory"
not_ok '  and makes none there' test -e "$W/home/.local"

GT_RECOVER=$W/bin/gt-recover
run_as_user() {
	OUT=$(cd / && "${as_user[@]}" "$GT_RECOVER" "$@" 2>"$W/err")
	RC=$?
	ERR=$(cat "$W/err")
}
run_as_user toast -L "$SOCKET" --json
is "$RC $(json '{results}[0]{phase}')" '0 acknowledged' 'its user recovers it'
is "$(agent_starts toast)" 2 '  one agent was started'
is "$(stat -c %u "/proc/$(agent_pid toast)")" 65534 '  as that user'

# ---- what that user's records say ----
STATE=$W/home/.local/state/gt-recover
pictured() {
	find "$STATE" -exec stat -c '%n %U %s %y' {} + | sort
}
before=$(pictured)
GT_RECOVER=$ROOT/build/faults/gt-recover
[ -x "$GT_RECOVER" ] || GT_RECOVER=$ROOT/build/gt-recover
SUDO_UID=65534 gt log
like "$RC $OUT" '^0 .*toast' 'root reads them under sudo'
like "$ERR" "opened read-only: .* belongs to another user.*sudo -u" '  with a warning'
SUDO_UID=65534 gt lock acquire slot me
like "$RC $ERR" "^1 .* belongs to another user.*sudo -u" '  and records nothing'
is "$(pictured)" "$before" '  nothing changed there'
done_testing
