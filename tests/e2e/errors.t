#!/bin/bash
# What goes wrong gets a sentence, a hint and its exit status, as text and as JSON, and leaves the dead pane as it is: a later run brings
# the agent back.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
STATE=$XDG_STATE_HOME/gt-recover
tmux_dir=$TMUX_TMPDIR/tmux-$(id -u)

gt_as() {	# COMMAND... -- ARGS...: gt-recover started by the command (env A=B, setpriv …)
	local by=()
	while [ "$1" != -- ]; do
		by+=("$1")
		shift
	done
	shift
	RC=0
	"${by[@]}" "$GT_RECOVER" "$@" >"$W/out" 2>"$W/err" </dev/null || RC=$?
	OUT=$(cat "$W/out") ERR=$(cat "$W/err")
}

error_of() {	# FIELD: of the run's own error, or of its one result's
	local value
	value=$(json "{error}{$1}")
	[ "$value" != '(none)' ] || value=$(json "{results}[0]{error}{$1}")
	printf '%s' "$value"
}

# fails WHAT STATUS NAME SENTENCE [BY... --] ARGS...: with --json, and in words. BY is a command that starts gt-recover.
fails() {
	local what=$1 status=$2 name=$3 sentence=$4 by=(env)
	shift 4
	case " $* " in
	*' -- '*)
		by=()
		while [ "$1" != -- ]; do
			by+=("$1")
			shift
		done
		shift
		;;
	esac
	gt_as "${by[@]}" -- "$@" --json
	is "$RC $(error_of name)" "$status $name" "$what: status and name"
	like "$(error_of message)" "$sentence" "$what: a sentence"
	like "$(error_of hint)" '[a-z]{3}' "$what: a hint"
	gt_as "${by[@]}" -- "$@"
	like "$RC $ERR" "^$status .*$sentence.*"$'\n  ''[^ ]' "$what: the same in words, the hint below it"
}

panes() {
	tm list-panes -a -F '#{pane_id} #{pane_pid} #{pane_dead} #{history_size}'
}

untouched() {	# WHAT
	is "$(panes) $(messages victim)" "$before" "$1: the dead pane is as it was, nothing delivered"
}

# tmux 3.3a may miss how a child ended until another one does, and only then writes its own row below the screen.
die_again() {
	# a dead pane that would end this tmux is reset by whoever finds it (focus.t)
	kill_agent victim && wake && until_ 5 pane_shows victim '^Pane is dead' && "$GT_RECOVER" list -L main >"$W/out" 2>&1 && before="$(panes) $(messages victim)"
}

later() {	# a plain run brings it back, and told it is once
	local n
	n=$(messages victim)
	gt victim -L main --json
	is "$RC $(json '{results}[0]{phase}') $(messages victim)" "0 acknowledged $((n + 1))" 'a later run brings it back, told once'
	is "$(find "$STATE" -name '.*' -type f ! -name .gitignore | wc -l) $(find "$STATE/prompts" -type f | wc -l)" '0 0' \
		'and no half-written file is left'
}

{
	printf 'user Write a long list.\nassistant'
	for i in $(seq 2000); do
		printf ' Line %d of a long answer, so that its context has some weight.\\n' "$i"
	done
	printf '\nend\nuser Now go on.\nassistant I go on.\n'
} >"$W/long.scenario"
ok 'an agent is killed' start_agent victim --scenario "$W/long.scenario"
die_again

# ---- tmux ----
mkdir "$W/nothing"
fails 'no tmux in PATH' 1 no-tmux 'tmux is not installed or not in PATH' env "PATH=$W/nothing" -- list -L main
fails 'no server' 1 no-server 'no tmux server runs on socket .*/nowhere' list -L nowhere
gt list
is "$RC $OUT" '0 ' 'no server anywhere: there is nothing, which is no failure'
fails 'a file that is no socket' 1 no-server 'is not a socket' list -L "$W/long.scenario"
tmux -u -L broken -f /dev/null new-session -d 'exec sleep 60'
broken=$(tmux -u -L broken display-message -p '#{pid}')
kill -9 "$broken"
until_ 5 _gone "$broken"
ok 'a dead socket' test -S "$tmux_dir/broken"
fails 'a dead socket' 1 no-server 'no tmux server runs on socket broken' list -L broken
fails 'a dead socket beside a living one' 1 no-server 'no tmux server runs on socket broken' victim -L main -L broken
tmux -u -L stuck -f /dev/null new-session -d 'exec sleep 60'
stuck=$(tmux -u -L stuck display-message -p '#{pid}')
kill -STOP "$stuck"
began=$EPOCHSECONDS
gt list -L stuck --json
is "$RC $(json '{error}{name}')" '75 server-silent' 'a stopped server: status and name'
like "$(json '{error}{message}')" 'did not answer within 5 s' 'a stopped server: a sentence'
ok 'after about five seconds' test $((EPOCHSECONDS - began)) -le 9
kill -CONT "$stuck"
gt list -L stuck
is "$RC" 0 'once it goes on it answers'
tmux -u -L stuck kill-server

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups env "HOME=$W/theirs"
		"XDG_STATE_HOME=$W/theirs/state" "XDG_CONFIG_HOME=$W/theirs")
	chmod 711 "$W"
	mkdir "$W/theirs"
	cp -- "$GT_RECOVER" "$W/theirs/gt-recover"
	printf '[recovery]\n' >"$W/theirs/closed.toml"
	chmod 600 "$W/theirs/closed.toml"
	chown 65534:65534 "$W/theirs"
	(cd / && "${nobody[@]}" tmux -u -S "$W/theirs/socket" -f /dev/null new-session -d 'exec sleep 60')
	theirs=$("${nobody[@]}" tmux -u -S "$W/theirs/socket" display-message -p '#{pid}')
	PIDS+=("$theirs")
	ours=$GT_RECOVER
	GT_RECOVER=$W/theirs/gt-recover
	cd /
	third=(setpriv --reuid=65532 --regid=65532 --clear-groups env "HOME=$W/third" "XDG_STATE_HOME=$W/third/state"
		"XDG_CONFIG_HOME=$W/third")
	fails "another user's socket" 1 not-ours 'belongs to user 65534, not to you' "${third[@]}" -- list -L "$W/theirs/socket"
	fails 'a socket out of reach' 1 denied 'cannot be reached' "${nobody[@]}" -- list -L "$tmux_dir/main"
	fails 'an unreadable gt.toml' 2 config 'closed.toml cannot be read: Permission denied' "${nobody[@]}" -- \
		list -L "$W/theirs/socket" --config "$W/theirs/closed.toml"
	cd "$W/proj" || exit 1
	GT_RECOVER=$ours
	kill -9 "$theirs"
else
	skip 'another user can be played by root alone, with setpriv' 12
fi
untouched 'trouble with tmux'

# ---- sessions ----
fails 'an unknown session' 4 unknown-session 'no agent session named "victi" on the tmux servers searched' victi -L main
fails 'a pane that is not there' 4 unknown-session 'no agent session named "%99"' %99 -L main
fails 'the context of no session' 2 usage 'context needs the name of one session' context -L main
ok 'a session with two agents' start_agent pair --scenario "$DATA/idle.scenario"
mkdir -p "$(agent_dir second)"
tm split-window -d -t "$(agent_pane pair)" -e "FAKE_AGENT_LOG=$(agent_dir second)" -e FAKE_AGENT_PLAN=/dev/null \
	-P -F '#{pane_id}' 'exec claude' >"$(agent_dir second)/pane"
until_ 10 _event second '^ready'
kill_agent pair
kill_agent second
fails 'an ambiguous session' 2 ambiguous \
	"\"pair\" matches more than one agent pane: $(agent_pane pair) on socket main, $(agent_pane second) on" pair -L main
gt list -L main
like "$OUT" $'\ncrashed +pair:0\.0 .*\ncrashed +pair:0\.1 ' 'list names the panes of one session'
gt -n --all -L main
like "$OUT" "would recover pair:0.1 " 'and so does a plan'
tm kill-session -t =pair
untouched 'a wrong name'

# ---- settings ----
wrong_toml() {	# WHAT TEXT PATTERN (behind FILE:)
	printf '%b' "$2" >"$W/wrong.toml"
	gt list -L main --config "$W/wrong.toml" --json
	is "$RC" 2 "$1: status 2"
	like "$(json '{error}{message}')" "$W/wrong.toml:$3" "$1: file, line and what is wrong"
	gt victim -L main --config "$W/wrong.toml"
	like "$RC $ERR" "^2 gt-recover: $W/wrong.toml:$3" "$1: in words"
}
wrong_toml 'an unknown key' '# mine\n[recovery]\nmax_contxt_lines = 5\n' '3: .*max_contxt_lines'
like "$ERR" 'max_context_lines' 'the nearest key is named'
wrong_toml 'a wrong type' '[recovery]\nspacing = 5\n' '2: spacing: expected a duration'
wrong_toml 'a number out of range' '[recovery]\n\nmax_context_lines = 0\n' '3: max_context_lines: expected an integer from 1'
wrong_toml 'a wrong choice' '[recovery]\nvia = "magic"\n' '2: via: expected "auto"'
wrong_toml 'a string without an end' '[recovery]\nlog_file = "x\n' '2: '
wrong_toml 'no TOML at all' 'hello\n' '1: '
wrong_toml 'an agent column that is none' '[recovery.agents.claude]\ncolour = "red"\n' '2: '
wrong_toml 'an expression that is none' '[recovery.agents.claude]\nready = "("\n' '2: '
fails 'no gt.toml where one was named' 2 config 'nowhere.toml' list -L main --config "$W/nowhere.toml"
mkdir -p "$XDG_CONFIG_HOME/gt-recover/gt.toml"
fails 'a directory for a gt.toml' 2 config 'gt.toml is a directory' list -L main
rmdir "$XDG_CONFIG_HOME/gt-recover/gt.toml"
fails 'a town that is none' 2 not-a-town "$W/nothing" list -L main --town "$W/nothing"
template() {	# TEXT
	printf '[recovery.prompts]\ntemplate = """\n%b"""\n[recovery]\nvia = "inject"\n' "$1" >"$W/template.toml"
}
template 'One\n{{.Scrolback}}\n'
fails 'a template with an unknown field' 2 template 'template.toml:2, line 2: .*Scrolback' victim -L main --config "$W/template.toml"
template 'One\n{{if .Bead}}\nTwo\n'
fails 'a template without its end' 2 template 'line [0-9]+: ' prompt victim -L main --config "$W/template.toml"
printf '[recovery]\nvia = "inject"\n[recovery.prompts]\ntemplate_file = "none.md"\n' >"$W/template.toml"
fails 'a template file that is not there' 2 not-found 'none.md' victim -L main --config "$W/template.toml"
untouched 'wrong settings'

# ---- state ----
mkdir -p "$XDG_STATE_HOME"
rm -rf "$STATE"
: >"$STATE"
fails 'a file for a state directory' 1 unwritable 'state/gt-recover is not a directory of this user' victim -L main
untouched 'no state directory'
rm "$STATE"
fails 'no place for state' 2 no-home 'cannot locate the state directory' env -u HOME -u XDG_STATE_HOME -- list -L main
later

# ---- full disk ----
if grep -q GT_FAULT "$GT_RECOVER"; then
	often
	for point in context prompt store-commit store-commit:2 store-commit:3; do
		die_again
		fails "no room ($point)" 1 "$([[ $point == store* ]] && echo disk-full || echo write)" '(No space left|no space)' \
			env "GT_FAULT=$point=enospc" -- victim -L main
		untouched "no room ($point)"
		later
	done
	die_again
	n=$(messages victim)
	gt_as env GT_FAULT=store-commit:4=enospc -- victim -L main --json
	is "$RC $(error_of name)" '1 disk-full' 'no room when the agent is up already'
	gt victim -L main --json
	is "$RC $(json '{results}[0]{phase}') $(messages victim)" "0 acknowledged $((n + 1))" \
		'the next run looks, and tells it nothing again'
else
	skip 'this build has no fault points' 37
fi
if unshare -Urm true 2>/dev/null; then
	die_again
	for size in 16k 112k; do
		mkdir -p "$STATE"
		# shellcheck disable=SC2016	# for the inner shell
		gt_as unshare -Urm sh -c 'mount -t tmpfs -o "size=$1,mode=700" none "$2" && shift 2 && exec "$@"' sh $size "$STATE" -- \
			victim -L "$TMUX_TMPDIR/tmux-$(id -u)/main" --json	# by its path: in there everybody is root
		like "$RC $(error_of name)" '^1 (disk-full|write)$' "a file system of $size: failed"
		like "$(error_of message)" '(No space left|no space)' 'with a sentence'
		like "$(error_of hint)" '[Ff]ree (disk )?space' 'and a hint'
		untouched "a file system of $size"
	done
	later
else
	skip 'no file system can be mounted in a name space of its own here' 10
fi

# ---- a damaged store ----
die_again
cp "$STATE/recover.db" "$W/good.db"
damage() {	# WHAT NAME SENTENCE: recover.db is damaged already
	cp "$STATE/recover.db" "$W/damaged.db"
	rm -f "$STATE"/recover.db.backup*	# backup.t has them
	fails "$1" 1 "$2" "$3" victim -L main
	same_file "$STATE/recover.db" "$W/damaged.db" "$1: nothing was overwritten"
	untouched "$1"
	gt list -L main
	is "$RC" 1 "$1: the list ends with 1"
	like "$OUT" 'victim' '  has what it could find'
	like "$ERR" 'recover.db is damaged.*sqlite3 FILE .recover' '  and says what is damaged, and what to do'
}
head -c 20000 /dev/urandom >"$STATE/recover.db"
damage 'garbage for a store' corrupt 'the store .*recover.db is damaged'
head -c 6000 "$W/good.db" >"$STATE/recover.db"
damage 'half a store' corrupt 'the store .*recover.db is damaged'
cp "$W/good.db" "$STATE/recover.db"
head -c 4096 /dev/urandom | dd of="$STATE/recover.db" bs=4096 seek=2 conv=notrunc status=none
damage 'a store with a damaged page' corrupt 'the store .*recover.db is damaged'
cp "$W/good.db" "$STATE/recover.db"
later
done_testing
