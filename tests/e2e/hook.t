#!/bin/bash
# What agents' hooks tell: sessions, sub-agents, files that are being written. A hook says nothing and answers 0, whatever happens; what the store
# cannot take is in the spool, and the next command has it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
STATE=$XDG_STATE_HOME/gt-recover
DB=$STATE/recover.db
TALK=11111111-2222-4333-8444-555555555555
# a machine that is busy with all the tests is slower than an agent's
export GT_HOOK_MS=10000

hook() {	# EVENT [MORE JSON] [TALK]
	printf '{"session_id":"%s","cwd":"%s","transcript_path":"/t"%s}' "${3:-$TALK}" "$W/proj" "${2:-}" >"$W/in"
	gt_in "$W/in" hook "$1"
	[ "$RC$OUT$ERR" = 0 ] || fail "hook $1 is silent: $RC $OUT $ERR"
}

writes() {	# EVENT PATH CALL [TALK]
	hook "$1" ",\"tool_name\":\"Write\",\"tool_use_id\":\"$3\",\"tool_input\":{\"file_path\":\"$2\",\"content\":\"words of nobody\"}" "${4:-}"
}

files() {	# [TALK]
	sql "$DB" "select group_concat(json_extract(f.value, '\$.path') || ' ' || json_extract(f.value, '\$.status'), ', ') from record, json_each(record.value, '\$.files') f
		where record.key = 'activity:${1:-$TALK}'"
}

state() {	# AGENT
	sql "$DB" "select tag from record where key = 'session:$1'"
}

spooled() {
	wc -l 2>/dev/null <"$STATE/spool" | tr -d ' '
}

# ---- whatever comes ----
for args in '' 'PreToolUse more' '--bogus' 'Stop --json' 'Stop -L x' '--town /nowhere Stop' '--config /nowhere Stop'; do
	read -ra words <<<"$args"
	gt hook "${words[@]}"
	is "$RC$OUT$ERR" 0 "hook $args: silent"
done
for text in '' 'no JSON' '{' '[]' '{"session_id":"a b"}' '{"session_id":17}'; do
	printf '%s' "$text" >"$W/in"
	gt_in "$W/in" hook PreToolUse
	is "$RC$OUT$ERR" 0 "hook with \"$text\": silent"
done
not_ok 'nothing was noted' test -e "$DB"
printf '[recovery\n' >"$W/broken.toml"
hook "Stop --config $W/broken.toml"
pass 'a broken configuration is no reason to stop an agent'

# ---- sessions, files, sub-agents ----
hook SessionStart ',"source":"startup","model":"opus"'
is "$(state $TALK)" ACTIVE 'a start records the session'
writes PreToolUse "$W/proj/a.c" t1
is "$(files)" "$W/proj/a.c in_progress" 'a file in progress'
writes PostToolUse "$W/proj/a.c" t1
is "$(files)" "$W/proj/a.c written" 'is written'
writes PreToolUse "$W/proj/b.c" t2
hook PreToolUse ',"tool_name":"Read","tool_use_id":"t3"'
is "$(files)" "$W/proj/a.c written, $W/proj/b.c left" 'one whose end nobody tells has failed when its agent goes on'
hook PreToolUse ',"tool_name":"Bash","agent_id":"ab12","agent_type":"Explore"'
gt agent tree
like "$OUT" "$TALK +ACTIVE +opus"$'\n'"└─ $TALK:ab12 +ACTIVE" 'a sub-agent is in the tree'
hook SubagentStop ',"agent_id":"ab12"'
is "$(state $TALK:ab12)" ENDED 'until its turn ends'
hook SessionEnd ',"reason":"other"'
is "$(state $TALK)" ACTIVE 'an end by a signal is left to startup'
hook SessionEnd ',"reason":"prompt_input_exit"'
is "$(state $TALK)" ENDED 'a person has ended it'
unlike "$(cat "$DB" "$STATE"/events.jsonl 2>/dev/null | tr -d '\0')" 'words of nobody' 'nothing of a file is kept'
is "$(spooled)" '' 'the store took it all'

# ---- the process above the hook, behind a shell ----
mkdir "$W/called"
cp -- "$(readlink -f "$(command -v dash || command -v sh)")" "$W/called/claude"
printf '{"session_id":"living","cwd":"/w"}' >"$W/in"
# shellcheck disable=SC2016	# for the shell that is called claude
GT=$GT_RECOVER IN=$W/in "$W/called/claude" -c 'sh -c "\$GT hook SessionStart <\$IN; :"; echo "$$"; read -r x <"'"$W"'/go"' >"$W/pid" &
PIDS+=($!)
mkfifo "$W/go"
ok 'an agent calls it' until_ 10 test -s "$W/pid"
gt session show living --json
is "$(json '{session_record}{lives}') $(json '{session_record}{process}{pid}')" "true $(cat "$W/pid")" 'its process is known, and lives'
writes PreToolUse /w/half.c t1 living
gt epic status
unlike "$OUT" 'Half-written' 'what a living agent writes is not half-written'
kill -9 "${PIDS[-1]}"
until_ 10 _gone "${PIDS[-1]}"
gt epic status
like "$OUT" 'Half-written files:.*/w/half.c.*Write began [0-9]+ (second|minute)s? ago by the agent living, which has ended' 'killed: epic status names the file'
gt startup --mode none
is "$(state living)" SUSPENDED 'startup suspends it'
gt epic status --json
is "$(json '{half_written}') $(json '{half_written}[0]{path}') $(json '{half_written}[0]{agent_uuid}')" '1 /w/half.c living' 'epic status, too'
hook Stop '' living
gt epic status --json
is "$(json '{half_written}')" 0 'until its turn is over'

# ---- a tmux session of its own, and one that is shared ----
ok 'an agent starts' start_agent alone --session-id 22222222-2222-4333-8444-555555555555
export TMUX TMUX_PANE
TMUX=$(tm display-message -p '#{socket_path},#{pid},0') TMUX_PANE=$(agent_pane alone)
hook SessionStart ',"source":"startup"' 22222222-2222-4333-8444-555555555555
gt session show 22222222-2222-4333-8444-555555555555 --json
is "$(json '{session_record}{session}') $(json '{session_record}{start_command}')" 'alone exec claude --dangerously-skip-permissions' 'where it runs, and by which command'
tm split-window -d -t "$TMUX_PANE" 'exec cat'
hook SessionStart ',"source":"startup"' shared
unset TMUX TMUX_PANE
gt session show shared --json
is "$(json '{session_record}{session}')" '(none)' 'the name of a session with several panes is no place'

# ---- tmux does not answer in time ----
cat >"$W/slow.sh" <<-SH
	until [ -e "$W/slow.go" ]; do sleep 0.05; done
	printf '{"session_id":"slow","cwd":"/w","source":"startup"}' | "$GT_RECOVER" hook SessionStart
	: >"$W/slow.done"
	read -r x
SH
ok 'an agent starts while tmux is busy' start_agent slow --no-wait --command "$W/called/claude $W/slow.sh"
server=$(tm display-message -p '#{pid}')
kill -STOP "$server"
GT_HOOK_MS=2000
: >"$W/slow.go"
ok 'its hook does not wait for tmux' until_ 5 test -e "$W/slow.done"
kill -CONT "$server"
GT_HOOK_MS=10000
gt session show slow --json
is "$(json '{session_record}{session}') $(json '{session_record}{start_command}')" "(none) $W/called/claude $W/slow.sh" 'by which command is known'
gt list -L main
gt session show slow --json
is "$(json '{session_record}{session}')" slow 'and the next look tells where it runs'
kill_agent slow

# ---- the prompt ----
printf 'int half' >"$(agent_dir alone)/cwd/half.c"
writes PreToolUse "$(agent_dir alone)/cwd/half.c" t7 22222222-2222-4333-8444-555555555555
ok 'it is killed' kill_agent alone
gt prompt alone -L main
like "$OUT" 'Write\([^)]*/half.c\) was under way: the file is there, 8 bytes' 'the prompt names the half-written file'
writes PostToolUse "$(agent_dir alone)/cwd/half.c" t7 22222222-2222-4333-8444-555555555555
gt prompt alone -L main
unlike "$OUT" 'half\.c' 'not one that was written'

# ---- the store is locked ----
exec {LOCK}<>"$STATE/recover.lock"
flock "$LOCK"
GT_HOOK_MS=400
hook SessionStart '' spooled
ok 'locked: it is in the spool' until_ 10 test "$(spooled)" = 1
GT_HOOK_MS=10000
exec {LOCK}>&-
is "$(stat -c %a "$STATE/spool")" 600 'which is private'
is "$(state spooled)" '' 'and not in the store'
gt session list
is "$(state spooled) $(stat -c %s "$STATE/spool")" 'ACTIVE 0' 'the next command has it in the store'

# ---- a system that has no pidfd_open: an old kernel's answer, by a seccomp filter ----
cat >"$W/no-pidfd" <<'PERL'
my %prctl = (x86_64 => 157, aarch64 => 167, armv7l => 172, riscv64 => 167, ppc64le => 171, s390x => 172);
my $prctl = $prctl{(POSIX::uname())[4]} // exit 77;
my $filter = pack('(SCCL)4', 0x20, 0, 0, 0, 0x15, 0, 1, 434, 6, 0, 0, 0x00050000 | 38, 6, 0, 0, 0x7fff0000);
syscall($prctl, 38, 1, 0, 0, 0) == 0 && syscall($prctl, 22, 2, pack('S x![L!] P', 4, $filter)) == 0 or exit 77;
syscall(434, $$, 0) == -1 && $!{ENOSYS} or die 'pidfd_open is still there';
exec @ARGV;
PERL
printf '{"session_id":"old","cwd":"/w"}' >"$W/in"
perl -MPOSIX -MErrno "$W/no-pidfd" "$GT_RECOVER" hook SessionStart <"$W/in" >"$W/out" 2>&1
RC=$?
if [ $RC = 77 ]; then
	skip 'no seccomp filter can be set here' 3
else
	is "$RC$(cat "$W/out")" 0 'without pidfd_open: silent'
	is "$(state old)" ACTIVE 'what the hook tells is in the store'
	is "$(stat -c %s "$STATE/spool")" 0 'and not in the spool'
fi

# ---- the store is due for its check: not by a hook, which has no time for it ----
seal() {	# the byte behind the lock's own: 1, the store was checked
	dd if="$STATE/recover.lock" bs=1 skip=1 count=1 status=none
}
is "$(seal)" 1 'the last command has checked the store'
printf - | dd of="$STATE/recover.lock" bs=1 seek=1 conv=notrunc status=none
hook PreToolUse ',"tool_name":"Bash","tool_use_id":"t8","tool_input":{"command":"make"}' spooled
is "$(seal) $(stat -c %s "$STATE/spool")" '- 0' 'a hook does not check, and writes to the store'
gt session list
is "$RC $(seal)" '0 1' '  the next command checks'

# ---- no store yet ----
mkdir -m 700 "$W/young" "$W/young/gt-recover"
printf '{"at":%s,"boot_ms":1,"boot_id":"b","event":"SessionStart","conversation":"early"}\n' "${EPOCHREALTIME/[.,]*/000}" >"$W/young/gt-recover/spool"
chmod 600 "$W/young/gt-recover/spool"
XDG_STATE_HOME=$W/young gt session list
like "$RC $OUT" '^0 .*early +ACTIVE' 'the next command has it also when there is no store yet, and it only reads'

# ---- the store is damaged, and then a replay dies ----
cp "$DB" "$W/whole"
mv "$STATE/recover.db.backup" "$W/backup"
printf 'this is no database, whatever its name says, and of some length' >"$DB"
writes PreToolUse /w/x t1 spooled
writes PostToolUse /w/x t1 spooled
writes PreToolUse /w/y t2 spooled
is "$(spooled)" 3 'damaged: it is in the spool'
cp "$W/whole" "$DB"
mv "$W/backup" "$STATE/recover.db.backup"
printf '{"half a li' >>"$STATE/spool"
GT_FAULT=spool-empty=kill gt session list
if [ "$RC" = 137 ]; then
	is "$(files spooled)" '/w/x written, /w/y in_progress' 'a replay that is killed has noted them'
	is "$(spooled)" 3 'and left them'
else
	skip 'this build has no fault points' 2
fi
gt session list
is "$(files spooled)" '/w/x written, /w/y in_progress' 'the next one notes the same'
is "$(stat -c %s "$STATE/spool")" 0 'and empties the spool'

# ---- nobody ends the input ----
mkfifo "$W/endless"
exec {HOLD}<>"$W/endless"
GT_HOOK_MS=50 "$GT_RECOVER" hook Stop <"$W/endless" >"$W/out" 2>&1 &
PIDS+=($!)
ok 'a hook whose input never ends gives up' until_ 20 _gone "${PIDS[-1]}"
wait "${PIDS[-1]}"
is "$? $(cat "$W/out")" '0 ' 'silently'
exec {HOLD}>&-

# ---- install ----
SETTINGS=$HOME/.claude/settings.json
gt doctor --json -L main
is "$(found Agents.hooks) $(found State.spool)" 'note ok' 'doctor tells that there are none'
gt install hooks --print
like "$OUT" '"command": "[^"]*gt-recover hook PreToolUse"' 'what would be installed'
cp -- "$SETTINGS" "$W/before" 2>/dev/null || printf '{\n  "model": "opus",\n  "hooks": {\n    "Stop": []\n  }\n}\n' >"$SETTINGS"
cp -- "$SETTINGS" "$W/before"
gt install hooks --print
same_file "$W/before" "$SETTINGS" 'nothing is touched by that'
gt install hooks
is "$RC" 0 'installed'
like "$ERR" 'settings\.json: the hooks are installed' 'it says so'
is "$(grep -c 'gt-recover hook' "$SETTINGS")" 7 'seven of them'
gt doctor --json -L main
is "$(found Agents.hooks)" ok 'doctor finds them'
cp "$SETTINGS" "$W/with"
sed "s#$GT_RECOVER hook#/nowhere/gt-recover hook#" "$W/with" >"$SETTINGS"
gt doctor --json -L main
like "$(found Agents.hooks) $(found Agents.hooks sentence)" '^error they call /nowhere/gt-recover, which does not exist' '  a program that is gone'
sed '0,/gt-recover hook Stop/s//true/' "$W/with" >"$SETTINGS"
gt doctor --json -L main
like "$(found Agents.hooks) $(found Agents.hooks sentence)" '^warning 6 of 7' '  one that is missing'
for off in true false '"true"'; do
	jq --argjson off "$off" '. + {disableAllHooks: $off}' "$W/with" >"$SETTINGS"
	gt doctor --json -L main
	said="$(found Agents.hooks) $(found Agents.hooks sentence)"
	gt install hooks
	if [ "$off" = true ]; then
		like "$said" '^warning installed, but "disableAllHooks" is true in ' '  hooks that a person switched off'
		like "$RC $ERR" '^0 .*"disableAllHooks" is true in .*: no hooks run' '  which installing them tells, too'
	else
		is "${said%% *} $(grep -c disableAllHooks <<<"$ERR")" 'ok 0' "  $off switches nothing off"
	fi
done
cp "$W/with" "$SETTINGS"
printf '{"half a line' >"$STATE/spool"
gt doctor --json -L main
is "$(found State.spool)" note '  what waits in the spool'
touch -d '2 hours ago' "$STATE/spool"
gt doctor --json -L main
is "$(found State.spool)" warning '  and that it has waited for long'
: >"$STATE/spool"
gt install hooks
like "$ERR" 'already installed' 'once'
is "$(grep -c 'gt-recover hook' "$SETTINGS")" 7 'and no second time'
printf '{"hooks": 7}' >"$W/odd"
cp "$SETTINGS" "$W/with"
cp "$W/odd" "$SETTINGS"
gt install hooks
like "$RC $ERR" '^1 .*settings are unchanged.*'$'\n''.*--print' 'what it does not understand it leaves alone'
same_file "$W/odd" "$SETTINGS" 'to the byte'
cp "$W/with" "$SETTINGS"
gt uninstall hooks
is "$RC" 0 'removed'
not_ok 'all of them' grep -q gt-recover "$SETTINGS"
like "$(cat "$SETTINGS")" '"model"|skip' 'what was there is there'
gt uninstall hooks --json
is "$RC $(json '{result}')" '0 absent' 'nothing more to remove'

# ---- other agents ----
HOLDS='{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "guard"}]}], "preToolUse": [{"type": "command", "bash": "guard"}]}, "a": 1}'
unset CODEX_HOME
for agent in codex:.codex/hooks.json:PreToolUse:6 gemini:.gemini/settings.json:BeforeTool:6 qwen:.qwen/settings.json:PreToolUse:7 \
	copilot:.copilot/settings.json:preToolUse:6; do
	IFS=: read -r name file event count <<<"$agent"
	mkdir -p "$HOME/${file%/*}"
	printf '%s\n' "$HOLDS" >"$HOME/$file"
	chmod 640 "$HOME/$file"
	cp "$HOME/$file" "$W/before"
	gt doctor --json -L main
	like "$(found Agents.other-hooks sentence)" "${name^}: not installed" "$name: doctor tells that there are none"
	gt install hooks --agent "$name"
	like "$RC $ERR" "^0 .*$file: the hooks are installed" "$name: installed"
	is "$(grep -c "gt-recover hook .* --agent $name" "$HOME/$file") $(grep -o guard "$HOME/$file" | wc -l)" "$count 2" "$name: all of its events, and what was there"
	like "$(cat "$HOME/$file")" "hook $event --agent $name" "$name: by its own name for them"
	gt install hooks --agent "$name"
	like "$ERR" 'already installed' "$name: once"
	gt doctor --json -L main
	like "$(found Agents.other-hooks sentence)" "${name^}: installed" "$name: doctor finds them"
	gt uninstall hooks --agent "$name"
	is "$RC" 0 "$name: removed"
	same_file "$W/before" "$HOME/$file" "$name: to the byte"
	is "$(stat -c %a "$HOME/$file")" 640 "$name: with its mode"
	rm -r "${HOME:?}/${file%%/*}"
done
like "$(gt install hooks --agent codex && printf '%s' "$ERR")" 'review of hooks: choose to trust' 'codex: what a person has to do then is said'
PLUGIN=$XDG_CONFIG_HOME/opencode/plugin/gt-recover.js
gt install hooks --agent opencode
like "$RC $(sed -n 2p "$PLUGIN")" '^0 # Written by gt-recover install hooks --agent opencode, sha256' 'opencode: a sealed file'
gt doctor --json -L main
like "$(found Agents.other-hooks sentence)" 'OpenCode: installed' 'opencode: doctor finds it'
cp "$PLUGIN" "$W/plugin.mjs"
echo '// mine' >>"$PLUGIN"
gt doctor --json -L main
like "$(found Agents.other-hooks sentence)" 'OpenCode: .*changed by hand' 'opencode: and what a person did to it'
gt uninstall hooks --agent opencode
like "$RC $ERR" '^1 .*changed by hand.*--agent opencode --print' 'opencode: which stays'
sed -i '$d' "$PLUGIN"
gt uninstall hooks --agent opencode
is "$RC $(compgen -G "$PLUGIN")" '0 ' 'opencode: removed'
gt install hooks --agent pi
like "$RC $ERR" '^2 .*supported for claude, codex, .*not for pi' 'an agent without hooks: who has them is said'
gt install shim --agent codex
like "$RC $ERR" '^2 .*--agent needs the part hooks' '--agent is for hooks alone'
gt hook BeforeTool --agent nobody
is "$RC$OUT$ERR" 0 'a hook of nobody is silent'

told() {	# AGENT EVENT JSON
	printf '%s' "$3" >"$W/in"
	gt_in "$W/in" hook "$2" --agent "$1"
	[ "$RC$OUT$ERR" = 0 ] || fail "hook $2 of $1 is silent: $RC $OUT $ERR"
}
told gemini SessionStart '{"session_id":"g1","cwd":"/w","source":"startup"}'
told gemini BeforeTool '{"session_id":"g1","cwd":"/w","tool_name":"write_file","tool_input":{"file_path":"/w/g.md","content":"words of nobody"}}'
is "$(state g1) $(files g1)" 'ACTIVE /w/g.md in_progress' 'gemini: its session, and its file in progress'
gt session show g1 --json
is "$(json '{session_record}{provider_name}')" gemini 'gemini: whose it is'
told gemini AfterTool '{"session_id":"g1","cwd":"/w","tool_name":"write_file","tool_input":{"file_path":"/w/g.md"}}'
is "$(files g1)" '/w/g.md written' 'gemini: is written'
told copilot sessionEnd '{"sessionId":"p1","cwd":"/w","reason":"user_exit"}'
is "$(state p1)" ENDED 'copilot: a person has ended it'
unlike "$(cat "$DB" "$STATE"/events.jsonl 2>/dev/null | tr -d '\0')" 'words of nobody' 'nothing of a file is kept'

# ---- opencode's plugin: a sub-agent's session is a part of that which asked for it, and no mistake comes out ----
if command -v node >/dev/null; then
	cat >"$W/drive.mjs" <<-JS
		import { GtRecover } from "$W/plugin.mjs"
		const p = await GtRecover({ directory: "/w" })
		const call = (sessionID, path, callID) => [{ tool: "write", sessionID, callID, args: { filePath: path } }, { args: { filePath: path } }]
		await p.event({ event: { type: "session.created", properties: { info: { id: "ses_root" } } } })
		await p["chat.message"]({ sessionID: "ses_root" })
		await p["tool.execute.before"](...call("ses_root", "/w/own.md", "c1"))
		await p["tool.execute.after"](...call("ses_root", "/w/own.md", "c1"))
		await p.event({ event: { type: "session.created", properties: { info: { id: "ses_child", parentID: "ses_root" } } } })
		await p["chat.message"]({ sessionID: "ses_child" })
		await p["tool.execute.before"](...call("ses_child", "/w/childs.md", "c2"))
		await p.event({ event: { type: "session.idle", properties: { sessionID: "ses_child" } } })
		await p["tool.execute.before"](...call("ses_root", "/w/open.md", "c3"))
		await p.event({ event: { type: "session.idle" } })
		await p["tool.execute.after"]({}, undefined)
	JS
	node "$W/drive.mjs" >"$W/out" 2>&1
	is "$? $(cat "$W/out")" '0 ' 'opencode: the plugin says nothing'
	is "$(state ses_root) $(state ses_child)" 'ACTIVE ' 'opencode: one session'
	is "$(state ses_root:ses_child)" ENDED 'opencode: with a sub-agent, whose turn has ended'
	is "$(files ses_root)" '/w/own.md written, /w/childs.md left, /w/open.md in_progress' 'opencode: and the files of both'
	rm "$W/plugin.mjs"
	node -e "import('$W/drive.mjs').catch(() => process.exit(3))" >/dev/null 2>&1
	is $? 3 'opencode: it was the plugin that told'
else
	skip 'node is not installed' 5
fi

# ---- a program above that runs itself again in a child, as npm's scripts do ----
cp -- "$W/called/claude" "$W/called/qwen"
printf '{"session_id":"q1","cwd":"/w"}' >"$W/in"
mkfifo "$W/go2"
# shellcheck disable=SC2016	# for the shells that are called qwen
GT=$GT_RECOVER IN=$W/in Q=$W/called/qwen "$W/called/qwen" -c '"$Q" -c "\$GT hook SessionStart --agent qwen <\$IN; :"; echo "$$"; read -r x <"'"$W"'/go2"' >"$W/pid2" &
PIDS+=($!)
ok 'qwen: an agent calls it' until_ 10 test -s "$W/pid2"
gt session show q1 --json
is "$(json '{session_record}{process}{pid}')" "$(cat "$W/pid2")" 'qwen: of two the upper process is known'
told qwen PreToolUse '{"session_id":"q1","cwd":"/w","tool_name":"edit","tool_use_id":"t","tool_input":{"file_path":"/w/q.c"}}'
kill -9 "${PIDS[-1]}"
until_ 10 _gone "${PIDS[-1]}"
gt epic status
like "$OUT" 'Half-written files:.*/w/q.c.*edit began .* ago by the agent q1, which has ended' 'qwen: killed: epic status names the file'

# ---- a server behind the windows of codex: neither process nor pane ----
cp -- "$W/called/claude" "$W/called/codex"
printf '{"session_id":"c1","cwd":"/w"}' >"$W/in"
# shellcheck disable=SC2016	# for the shell that is called codex
GT=$GT_RECOVER IN=$W/in TMUX=/tmp/x,1,0 TMUX_PANE=%83 setsid -w "$W/called/codex" -c '$GT hook SessionStart --agent codex <$IN; :'
gt session show c1 --json
is "$(json '{session_record}{process}{pid}') $(sql "$DB" "select json_extract(value, '\$.pane') from record where key = 'activity:c1'")" '(none) ' \
	'codex: a server tells neither process nor pane'
done_testing
