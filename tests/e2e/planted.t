#!/bin/bash
# Secrets of more than thirty kinds, others in each place from which text reaches us: nothing that we write, print, send, start or leave behind
# when we crash holds any of them, in whole or in part. In each place stands a harmless sentence, too, which has to arrive.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
# shellcheck source=tests/e2e/town.sh
. "$ROOT/tests/e2e/town.sh"
STATE=$XDG_STATE_HOME/gt-recover
P=$W/planted
COLS=100
export TMPDIR=$W/tmp
mkdir "$P" "$W/seen" "$W/cores" "$TMPDIR"
places=(scroll wrapped framed user assistant input result draft typed environ session command heir title window bead_title bead_text bead_design
	bead_criteria bead_notes handoff checkpoint git_subject git_body git_branch git_file git_diff orphan template mailer far)
planted() {
	perl "$ROOT/tests/e2e/planted.pl" "$@"
}
# their variables have other names where several places are one environment
planted make "$P" "${places[@]}" || exit 1

# ---- the search ----

found() {	# FILE...: PLACE/KIND of all that stands there
	planted find "$P" "$@" | sed 's/ in .*//'
}
clean() {	# WHAT FILE...
	local what=$1 all
	shift
	all=$(planted find "$P" "$@")
	is "$(head -n 12 <<<"$all")" '-- none' "$what: no secret of any place ($# files)"
}
holds() {	# PLACE FILE...: how many kinds of that place stand there
	local place=$1
	shift
	found "$@" | grep -c "^$place/"
}
lit() {		# WHAT FILE PLACE...: the harmless sentences of these places stand there
	local what=$1 file=$2 place missing=
	shift 2
	for place; do
		tr -d '\n' <"$file" | tr -s ' ' | grep -q "lantern of $place " || missing+="$place "
	done
	is "$missing" '' "$what: what is no secret has arrived"
}
run() {		# NAME ARGS...: gt-recover, its output is kept to be searched
	local name=$1
	shift
	case $1 in
	log | stats) gt "$@" --config "$W/gt.toml" ;;
	*) gt "$@" -L main --config "$W/gt.toml" ;;
	esac
	cp "$W/out" "$W/seen/$name.out"
	cp "$W/err" "$W/seen/$name.err"
}
all_of_ours() {	# every file that we wrote, the prompts that arrived, and all that was printed
	find "$STATE" "$W/recover.log" "$W/seen" "$W/cores" "$TMPDIR" "$XDG_CONFIG_HOME" "$XDG_DATA_HOME" "${XDG_CACHE_HOME:-$HOME/.cache}" "$W/mail" \
		-type f 2>/dev/null
}
kinds=$(planted kinds)
ok 'there are thirty kinds and more' [ "$kinds" -ge 30 ]

# ---- the search itself ----
planted value "$P" user github >"$W/form"
is "$(found "$W/form")" user/github 'a secret is found as it is'
{ printf 'ab' && cat "$W/form"; } | base64 -w 0 >"$W/form.64"
is "$(found "$W/form.64")" user/github '  within base64'
perl -0777 -pe 's/(.{9})/$1   \xe2\x94\x82\n\xe2\x94\x82   /g' "$W/form" >"$W/form.box"
is "$(found "$W/form.box")" user/github '  across the rows of a box'
head -c 24 "$W/form" >"$W/form.cut"
is "$(found "$W/form.cut")" user/github '  cut in two'
planted value "$P" user azure | sed 's/+/%2B/g; s,/,%2F,g; s/=/%3D/g' >"$W/form.url"
is "$(found "$W/form.url")" user/azure '  percent-encoded'
is "$(found "$ROOT/tests/e2e/planted.pl" "$ROOT/README.md")" '-- none' 'and nothing where nothing is'

# ---- planting ----
_make_places() {
	local dir
	dir=$(agent_dir keeper)/cwd
	mkdir -p "$dir" "$W/rig/.beads" || return 1
	git -C "$dir" init -q -b "fix/$(planted value "$P" git_branch github)" && cp "$P/git_diff.txt" "$dir/notes.txt" || return 1
	# what is shown of a subject ends within the secret
	{ printf 'The lantern of git_subject is lit %0130d %s\n\n' 0 "$(planted value "$P" git_subject github)" && cat "$P/git_body.txt"; } >"$W/message"
	git -C "$dir" add notes.txt && git -C "$dir" -c user.name=dev -c user.email=dev@example.com commit -q -F "$W/message" || return 1
	cat "$P/git_diff.txt" >>"$dir/notes.txt"
	: >"$dir/token-$(planted value "$P" git_file gitlab).txt"
	{ printf '{"task": "lantern", "notes": ' && perl -MJSON::PP -0777 -ne 'print JSON::PP->new->allow_nonref->encode($_)' "$P/checkpoint.txt" &&
		echo '}'; } >"$dir/.polecat-checkpoint.json"
	_encode database beads.db backend sqlite >"$W/rig/.beads/metadata.json"
	_make_sqlite "$W/rig/.beads/beads.db"
	sql "$W/rig/.beads/beads.db" "INSERT INTO issues (id, status, assignee, title, description, design, acceptance_criteria, notes, created_at, updated_at)
		VALUES ('gt-lamp', 'hooked', 'keeper', $(_quoted "The lantern of bead_title is lit: $(planted value "$P" bead_title github)"),
		$(_quoted "$(cat "$P/bead_text.txt")"), $(_quoted "$(cat "$P/bead_design.txt")"), $(_quoted "$(cat "$P/bead_criteria.txt")"),
		$(_quoted "$(cat "$P/bead_notes.txt")"), '2026-04-01T08:00:00Z', '2026-04-01T08:00:00Z'),
		('gt-mail', 'hooked', 'keeper', '🤝 HANDOFF: halfway', $(_quoted "$(cat "$P/handoff.txt")"), '', '', '', '2026-04-01T08:00:00Z',
		'2026-04-01T08:00:00Z')"
}
_scenario() {
	planted scenario user <"$P/user.txt"
	# what the process has in its environment shows on the screen without its name
	{ echo 'These are the marks:' && planted values "$P" environ && planted values "$P" session && planted values "$P" command; } |
		planted scenario assistant
	planted scenario assistant <"$P/assistant.txt"
	planted scenario 'tool Bash' <"$P/input.txt"
	planted scenario result <"$P/result.txt"
	# the name far above what is kept, the value below
	{ printf 'DB_PASSWORD=%s\n' "$(planted value "$P" far password)" && seq -f 'row %g of a long job' 2000; } | planted scenario grey
	planted value "$P" far password | sed 's/^/grey The lantern of far is lit: /'
	echo
	planted scenario grey <"$P/scroll.txt"
	planted rows "$P" wrapped $COLS wrapped | planted scenario grey
	planted rows "$P" framed $COLS framed | planted scenario grey
	printf 'tool Bash sleep 977 # lantern of orphan is lit %s\nrun\n' "$(planted value "$P" orphan github)"
	printf 'hang still at it\n'
	planted value "$P" draft gitlab | sed 's/^/draft lantern of draft is lit /'
	echo
}
ok 'a repository, a bead, a handoff and a checkpoint' _make_places
_scenario >"$W/secrets.scenario"
{ cat "$ROOT/templates/recovery.md" "$P/template.txt"; } >"$W/template.md"
cat >"$W/gt.toml" <<TOML
[recovery]
log_file = "recover.log"
max_attempts = 1000
auto_recover = true
spacing = "0s"
[recovery.prompts]
template_file = "template.md"
[recovery.mail]
to = "mayor"
command = """cat >>"$W/mail"; printf '%s\\\\n' "\$GT_MAIL_SUBJECT" >>"$W/mail"; tr '\\\\0' ' ' <"$P/mailer.env" >&2; exit 1"""
TOML
assigned() {	# PLACE: as words of env
	local one
	while IFS= read -rd '' one; do
		printf "%s='%s' " "${one%%=*}" "${one#*=}"
	done <"$P/$1.env"
}
_start() {
	local one env=()
	while IFS= read -rd '' one; do
		env+=(--env "$one")
	done <"$P/environ.env"
	start_agent keeper --command "env $(assigned command) LANTERN='lantern of command is lit' claude --dangerously-skip-permissions" \
		"${env[@]}" --env BD_ACTOR=keeper --env "BEADS_DIR=$W/rig/.beads" --scenario "$W/secrets.scenario" || return 1
	while IFS= read -rd '' one; do
		tm set-environment -t =keeper "${one%%=*}" "${one#*=}" || return 1
	done <"$P/session.env"
	until_ 10 pane_shows keeper 'still at it' &&
		tm select-pane -T "$(tr '\n' ' ' <"$P/title.txt")" -t "$(agent_pane keeper)" \; rename-window -t "$(agent_pane keeper)" "$(tr '\n' ' ' <"$P/window.txt")"
}
ok 'an agent works among secrets' _start

# ---- they are there ----
pane_text keeper >"$W/screen"
tm capture-pane -p -J -S - -t "$(agent_pane keeper)" >"$W/joined"
transcript=$(transcript keeper)
for place in scroll framed wrapped; do
	is "$(holds $place "$W/screen" "$W/joined")" "$kinds" "on the screen: all of $place"
done
for place in user assistant input result; do
	is "$(holds $place "$transcript")" "$kinds" "in the transcript: all of $place"
done
tr '\0' '\n' <"/proc/$(agent_pid keeper)/environ" >"$W/environ"
is "$(holds environ "$W/environ")" $((kinds - 1)) 'in the environment of the agent'
tm display-message -p -t "$(agent_pane keeper)" '#{pane_start_command}' >"$W/command"
is "$(holds command "$W/command")" $((kinds - 1)) 'in the start command'
sql "$W/rig/.beads/beads.db" 'SELECT * FROM issues' >"$W/issues"
for place in bead_text bead_design bead_criteria bead_notes handoff; do
	is "$(holds $place "$W/issues")" "$kinds" "in the database of beads: all of $place"
done
tm display-message -p -t "$(agent_pane keeper)" '#{pane_title}' >"$W/title"
is "$(holds title "$W/title")" "$kinds" 'in the title of the pane'

# ---- while it lives ----
# what hands the prompt over lasts long enough to be seen, however busy the machine is
printf '#!/bin/sh\nsleep 0.3\nexec %s "$@"\n' "$(command -v mv)" >"$W/bin/mv"
chmod 755 "$W/bin/mv"
: >"$W/watching"
planted watch "$W/processes" "$W/watching" "$HOME" &
PIDS+=($!)
until_ 5 grep -qs watching "$W/processes.args"
run live-list list -v
run live-list-json list --json
run live-context context keeper --json
run live-prompt prompt keeper
run snapshot snapshot -vv
is "$RC" 0 'a snapshot is taken'
snapshots=("$STATE"/snapshots/[0-9]*.json)
lit 'the snapshot' "${snapshots[0]}" scroll wrapped framed command title window git_subject
run arm arm keeper
run disarm disarm keeper

# ---- it dies ----
ok 'it is killed' kill_agent keeper
run list list -vv
run list-json list --json
run plan --all --dry-run
run plan-json -n keeper --json
run context context keeper
run context-json context keeper --json
lit 'the context' "$W/out" scroll wrapped framed user assistant result bead_title bead_text git_subject checkpoint handoff
sed '2i max_context_lines = 600' "$W/gt.toml" >"$W/short.toml"
gt context keeper --json -L main --config "$W/short.toml"
cp "$W/out" "$W/seen/context-short.out"
lit 'a shorter context' "$W/out" far
is "$(json '{raw_scrollback}' | grep -c 'row 1 of a long job')" 0 '  is cut'
run prompt-inject prompt keeper --via inject
lit 'the prompt' "$W/out" scroll wrapped framed user assistant input result draft bead_title bead_text bead_design bead_criteria bead_notes handoff \
	checkpoint git_subject orphan template
is "$(grep -c 'lantern of template' "$W/out")" 1 '  with the words of the template, once'
run prompt-resume prompt keeper --via resume --json
run doctor doctor
run doctor-json doctor --json
run stats stats
tm capture-pane -p -J -e -S - -t "$(agent_pane keeper)" >"$W/joined"
gt_in "$W/joined" parse --json
cp "$W/out" "$W/seen/parse.out"
gt_in "$transcript" parse --transcript --json
cp "$W/out" "$W/seen/parse-transcript.out"
gt_in "$W/joined" scrub --report
cp "$W/err" "$W/seen/scrub.err"
# these three know no environment: marks without a name are what they cannot tell
is "$(found "$W/seen"/parse*.out "$W/seen/scrub.err" | grep -Ev '^(environ|session|command)/')" '' 'the filters hide all that has a form or a name'
rm "$W/seen"/parse*.out
mapfile -t files < <(all_of_ours)
clean 'printed and written of a dead agent' "${files[@]}"

# ---- we die ourselves, with a core file allowed ----
crash() {	# POINT ARGS...: stopped there, then ended by a signal that makes core files
	local point=$1 pid
	shift
	(cd "$W/cores" && ulimit -c unlimited && GT_FAULT="$point=stop" exec "$GT_RECOVER" "$@" -L main --config "$W/gt.toml") \
		>"$W/seen/crash-$point.out" 2>"$W/seen/crash-$point.err" &
	pid=$!
	PIDS+=("$pid")
	until_ 20 stopped "$pid" || { kill -9 "$pid" && return 1; }
	kill -SEGV "$pid"
	kill -CONT "$pid"
	wait "$pid" 2>/dev/null
	[ $? = 139 ]
}
leaves_core() {	# any other program does
	# shellcheck disable=SC2016	# for the inner shell
	(cd "$W/cores" && ulimit -c unlimited && exec sh -c 'kill -SEGV $$')
	[ -n "$(find "$W/cores" -type f)" ]
}
stopped() {
	[[ $(cat "/proc/$1/stat" 2>/dev/null) == *') T '* ]]
}
if ! (ulimit -c unlimited) 2>/dev/null; then
	skip 'core files cannot be allowed here' 8
elif ! leaves_core 2>/dev/null; then
	skip 'this machine writes no core files into the working directory' 8
elif ! grep -aq GT_FAULT "$GT_RECOVER"; then
	skip 'this build cannot be stopped at a point' 8
else
	rm -f "$W/cores"/*
	for point in context prompt store-commit store-committed tmux; do
		ok "a recovery crashes at $point" crash "$point" keeper --via inject
	done
	tm set-option -p -t "$(agent_pane keeper)" remain-on-exit on
	rm -f "$XDG_STATE_HOME/gt-recover/snapshots"/state-*	# of a dead pane that was reset nothing else is new
	ok 'a pass of snapshots does' crash snapshot-state snapshot
	is "$(find "$W/cores" -type f | wc -l)" 0 'no core file is left'
	mapfile -t files < <(all_of_ours)
	clean 'what the crashes left' "${files[@]}"
fi

# ---- it is brought back ----
run recover keeper -vv --via inject
is "$RC" 0 'it is brought back afresh'
prompt=$(message_file keeper)
lit 'the prompt that arrived' "$prompt" scroll wrapped framed user assistant input result bead_text bead_design handoff checkpoint git_subject template
clean 'the prompt that arrived' "$prompt"
ok 'it dies again' kill_agent keeper
run context-again context keeper --json
lit 'an earlier context' "$W/out" scroll wrapped framed user
run resume keeper --json --via resume
is "$RC $(json '{results}[0]{via}')" '0 resume' 'it goes on with its own conversation'
clean 'what it was told then' "$(message_file keeper)"
ok 'it dies once more' kill_agent keeper
agent_plan keeper --eat-stdin
run paste keeper --json --via inject
is "$RC $(json '{results}[0]{delivery}')" '0 paste' 'it is told by a paste'
clean 'what was pasted' "$(message_file keeper)"
tm list-buffers -F '#{buffer_name}' >"$W/seen/buffers"
is "$(wc -l <"$W/seen/buffers")" 0 'no buffer is left'
ok 'it dies for the last time' kill_agent keeper
agent_plan keeper --die-at-once=3
run patrol patrol
like "$RC $ERR" '^1 .*crashed again' 'a patrol cannot bring it back'
like "$ERR" 'was not sent: .*REDACTED' '  and its mailer lets secrets out'
ok '  the mail was made' grep -q 'Recovery failed for keeper' "$W/mail"
run release release keeper
run log log
run log-json log --json
run log-verify log --verify
is "$RC" 0 'the log is whole'
lit_events=$(grep -c . "$STATE/events.jsonl")
ok 'it tells what happened' [ "$lit_events" -gt 10 ]
tm show-options -A -t keeper >"$W/seen/options"
tm show-options -p -A -t "$(agent_pane keeper)" >>"$W/seen/options"
tm kill-session -t =keeper

# ---- a session that is gone comes back with the secrets of our own environment ----
mapfile -d '' -t inherited < <(grep -zEv '^(AUTH_HEADER|PROXY_HEADER|DATABASE_URL|GIT_URL|HOOK_URL)=' "$P/heir.env")
_start_heir() {
	local dir words
	dir=$(agent_dir heir)
	words=$(printf '%s\n' "${inherited[@]}" | sed "s/=/='/; s/$/'/" | tr '\n' ' ')
	start_agent heir --command "env $words FAKE_AGENT_LOG='$dir' FAKE_AGENT_PLAN='$dir/plan' claude" --scenario "$DATA/idle.scenario"
}
ok 'an agent with secrets in its start command' _start_heir
run snapshot-heir snapshot
tm kill-session -t =heir
until_ 10 listed_is heir class missing
run heir-refused heir
like "$RC $ERR" '^6 .*start command held a secret' 'it is not brought back without them'
cp "$W/processes.env" "$W/seen/processes.env"
ran=$GT_RECOVER
# shellcheck disable=SC2317	# called as $GT_RECOVER
with_secrets() {
	(export "${inherited[@]}" && exec "$ran" "$@")
}
GT_RECOVER=with_secrets
run heir heir --yes
GT_RECOVER=$ran
is "$RC" 0 'with them it is'
tm list-panes -a -F '#{session_name} #{pane_id}' | awk '$1 == "heir" { printf "%s", $2 }' >"$(agent_dir heir)/pane"
tr '\0' '\n' <"/proc/$(agent_pid heir)/environ" >"$W/environ"
is "$(holds heir "$W/environ")" ${#inherited[@]} '  with all of them in its environment'
tm display-message -p -t "$(agent_pane heir)" '#{pane_start_command}' >"$W/seen/heir-command"

# ---- all in all ----
rm "$W/watching"
wait "${PIDS[0]}" 2>/dev/null
ok 'gt-recover was seen among the processes' grep -q '^gt-recover ' "$W/processes.args"
ok '  and tmux' grep -q 'source-file' "$W/processes.args"
ok '  and git' grep -q 'porcelain' "$W/processes.args"
ok '  and the wrapper of the prompt' grep -q 'prompts/gtr-' "$W/processes.wrapper"
cp "$W/processes.args" "$W/seen/processes.args"
is "$(found "$W/processes.wrapper" | grep -Ev '^((command|heir)/|-- none)')" '' 'the wrapper bears nothing but the start command'
is "$(sort -u "$W/processes.core")" 'gt-recover 0' 'gt-recover may write no core file'
mapfile -t files < <(all_of_ours)
clean 'all that we wrote, printed, sent and started' "${files[@]}"
ok 'placeholders stand in their place' grep -Fq '[REDACTED:github-token]' "${snapshots[0]}"
is "$(find "$TMPDIR" -mindepth 1 | wc -l)" 0 'no temporary file is left'
is "$(find "$STATE" -type f ! -perm 600 | wc -l) $(find "$STATE" -type d ! -perm 700 | wc -l)" '0 0' 'all is private'
done_testing
