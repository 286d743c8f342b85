# shellcheck shell=bash
# shellcheck disable=SC2034	# read by the tests
# Sourced by the tests of this folder. They run as root in a chroot of scripts/world: a user of the system, named world, with gt-recover in
# /usr/local/bin and the tests' agent in ~/.local/bin, in a home that is made anew. Nothing but what a login gives is in the environment.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"
{ [ -n "${WORLD_CHROOT-}" ] && [ "$(id -u)" = 0 ]; } || skip_all 'changes users and the spool of cron: scripts/world runs it in a chroot'
PERSON=world
PERSON_HOME=/home/$PERSON

as() {		# COMMAND...
	env -i HOME=$PERSON_HOME USER=$PERSON LOGNAME=$PERSON SHELL=/bin/bash TERM=xterm-256color LC_ALL=C.UTF-8 \
		PATH=$PERSON_HOME/.local/bin:/usr/local/bin:/usr/bin:/bin ${RUNTIME:+XDG_RUNTIME_DIR="$RUNTIME"} \
		/sbin/runuser -u $PERSON -- "$@"
}

_person_gone() {
	! pgrep -u $PERSON >/dev/null
}

# Ends all that this user runs; it exists in this chroot alone.
person_ends() {
	as tmux kill-server 2>/dev/null
	pgrep -u $PERSON | xargs -r kill -9 2>/dev/null
	until_ 10 _person_gone
}

person() {
	getent passwd $PERSON >/dev/null || useradd -m -s /bin/bash $PERSON
	person_ends
	rm -rf $PERSON_HOME "/tmp/tmux-$(id -u $PERSON)"
	cp -r /etc/skel $PERSON_HOME
	chmod 700 $PERSON_HOME
	mkdir -p $PERSON_HOME/.local/bin $PERSON_HOME/work $PERSON_HOME/.config/gt-recover
	cp "$FAKE" $PERSON_HOME/.local/bin/claude
	make -s -C "$ROOT" install >/dev/null || return 1
	printf '[recovery]\nauto_recover = true\nsnapshot_interval = "1m"\n' >$PERSON_HOME/.config/gt-recover/gt.toml
	printf -- '--scenario %s/work.scenario\n' $PERSON_HOME >$PERSON_HOME/plan
	cp "$DATA/work.scenario" $PERSON_HOME
	chown -R $PERSON: $PERSON_HOME
}

_typed_pid() {
	pgrep -u $PERSON -x claude
}
_typed_shows() {
	as tmux capture-pane -p -S - -t toast | grep -Eq -- "$1"
}

# An agent typed into the shell of a session, at work.
person_types() {
	as tmux new-session -d -s toast -c $PERSON_HOME/work -e "FAKE_AGENT_PLAN=$PERSON_HOME/plan" -e "FAKE_AGENT_LOG=$PERSON_HOME" || return 1
	until_ 10 _typed_shows '\$ *$' || return 1
	as tmux send-keys -t toast -l 'claude --dangerously-skip-permissions' \; send-keys -t toast Enter
	until_ 20 _typed_shows 'test 7 ok'
}

_again() {
	local pid
	pid=$(_typed_pid) && [ "$pid" != "$1" ] && _typed_shows 'I have read the message and continue'
}

# kill -9, and SECONDS for whatever is installed to bring it back.
person_comes_back() {	# SECONDS
	local pid
	pid=$(_typed_pid) && kill -9 "$pid" && until_ 10 _gone "$pid" && until_ "$1" _again "$pid"
}

person_seen() {
	as gt-recover list --json | grep -q '"toast"'
}
