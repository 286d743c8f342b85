#!/bin/bash
# What agents have in progress to refs of their own, by the pass of snapshots; the person's repository is left alone, the prompt
# names the ref, and one printed command takes the work back.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
CONFIG=$XDG_CONFIG_HOME/gt-recover/gt.toml
STATE=$XDG_STATE_HOME/gt-recover
command -v git >/dev/null || skip_all 'git is not installed'
mkdir -p "${CONFIG%/*}"
printf '[recovery]\nwip = true\n' >"$CONFIG"
export GIT_CONFIG_GLOBAL=$W/gitconfig GIT_CONFIG_NOSYSTEM=1
printf '[user]\n\tname = t\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n' >"$GIT_CONFIG_GLOBAL"

repo() {	# DIR
	mkdir -p "$1/src"
	git -C "$1" init -q
	echo 'int a;' >"$1/src/a.c"
	echo '*.o' >"$1/.gitignore"
	git -C "$1" add .
	git -C "$1" commit -qm first
}

checkpoint() {	# KIND ID JSON
	printf '%s' "$3" >"$W/in"
	gt_in "$W/in" checkpoint "$1" "$2"
	[ "$RC" = 0 ] || fail "checkpoint $1 $2: $ERR"
}

# All that is the person's in a repository. Branches of ours are told apart by their names.
theirs() {	# DIR
	sha256sum <"$1/.git/index"
	cat "$1/.git/HEAD"
	git -C "$1" --no-optional-locks status --porcelain=v2 --branch
	git -C "$1" for-each-ref | grep -v 'gt-recover/\|epic-'
	find "$1" -path "$1/.git" -prune -o -printf '%p %m %T@ %s\n' | sort
}

no_room() {
	[ "$(find "$STATE/wip/room" -mindepth 1 2>/dev/null | wc -l)" = 0 ]
}

ln -s "$GT_RECOVER" "$W/bin/gt-recover"
R=$W/repo
repo "$R"
start_agent toast --cwd "$R"
mkdir -p "$W/plain"
start_agent plain --cwd "$W/plain"
echo 'int b;' >>"$R/src/a.c"
echo 'int n;' >"$R/src/new file.c"
echo 'KEY=v' >"$R/.env"
echo 'x' >"$R/x.o"

# ---- only where it is asked for ----
printf '[recovery]\n' >"$CONFIG"
gt -L main --json snapshot toast
is "$RC $(json '{wip_due}') $(git -C "$R" for-each-ref refs/gt-recover | wc -l)" '0 false 0' 'nobody asked for refs in a repository, and none is written'
cd "$R" && gt wip list && cd "$ROOT" || exit 1
like "$RC $ERR" '^0 No checkpoints of uncommitted work.*config set wip true' 'wip list says how to get some'
printf '[recovery]\nwip = true\n' >"$CONFIG"

# ---- a session without an epic ----
before=$(theirs "$R")
gt -L main --json snapshot --dry-run
is "$RC $(json '{wip}') $(json '{wip}[0]{session}') $(json '{wip}[0]{result}')" '0 1 toast wanted' '--dry-run names who works in a repository'
not_ok 'and makes nothing' [ -e "$STATE/wip" ]
gt -L main snapshot
is "$RC" 0 'a pass of snapshots'
like "$ERR" 'Saved the uncommitted work of toast to refs/gt-recover/wip/toast: 2 files, 1 left out' 'commits what is in progress'
is "$(theirs "$R")" "$before" 'and leaves index, HEAD, branches and files as they were'
is "$(git -C "$R" branch --list | wc -l)" 1 'nobody asked for a branch, and none is made'
is "$(git -C "$R" diff --name-only HEAD refs/gt-recover/wip/toast | tr '\n' ' ')" 'src/a.c src/new file.c ' \
	'untracked files are in it, ignored ones and secrets not'
like "$(git -C "$R" log -1 --format=%B refs/gt-recover/wip/toast)" '^WIP: toast checkpoint
.*- src/a\.c
- src/new file\.c
.*- \.env \(its name\)
' 'its message names them'
command=$(grep -o 'gt-recover wip restore.*' <<<"$ERR")
is "$command" 'gt-recover wip restore refs/gt-recover/wip/toast' 'and the command is named that takes it back'
git -C "$R" stash -q -u
echo 'KEY=later' >"$R/.env"
git -C "$R" add .env
cd "$R" || exit 1
gt wip list
like "$OUT" '^REF +SAVED +DIRECTORY
refs/gt-recover/wip/toast +[0-9]+s +.*/repo$' 'wip list shows it'
gt wip show toast
like "$OUT" 'src/a\.c +\| 1 \+' 'wip show shows what it changed'
gt wip restore toast -n
is "$RC $(cat "$R/src/a.c")" '0 int a;' 'a dry run writes nothing'
like "$ERR" 'Would restore 2 files' '  and says what it would do'
echo 'int later;' >>"$R/src/a.c"
gt wip restore toast
is "$RC $(tail -n 1 "$R/src/a.c") $([ -e "$R/src/new file.c" ] && echo written)" '6 int later; ' 'newer work is not overwritten, and then nothing is written'
like "$ERR" '1 file has changed since, and would be overwritten: src/a\.c' '  which is said'
gt wip restore toast 'src/new file.c'
is "$RC $(cat "$R/src/new file.c")" '0 int n;' 'a path that is named is'
git -C "$R" checkout -q src/a.c
index=$(sha256sum <"$R/.git/index")
gt wip restore toast
is "$RC $(sha256sum <"$R/.git/index")" "0 $index" 'it is restored, and the index stays'
like "$ERR" 'Restored 1 file in .*/repo from refs/gt-recover/wip/toast' '  the file that was not yet'
gt wip restore toast
like "$RC $ERR" '^0 Nothing to restore' 'once'
gt wip restore nobody
is "$RC" 4 'one that is not there'
cd "$ROOT" || exit 1
is "$(tail -n 1 "$R/src/a.c") $(cat "$R/src/new file.c")" 'int b; int n;' 'all is back'
is "$(cat "$R/.env")" 'KEY=later' 'and leaves what was left out as it is'
git -C "$R" rm -q --cached .env
rm "$R/src/new file.c" "$R/.env"
git -C "$R" checkout -q . && git -C "$R" stash pop -q
ok 'nothing is left of the way there' no_room

echo 'int c;' >>"$R/src/a.c"
gt -L main --json snapshot
is "$(json '{wip_due}') $(json '{wip}')" 'false 0' 'before wip_interval is over no pass looks again'
gt -L main --json snapshot toast
is "$(json '{wip}[0]{result}') $(json '{wip}[0]{left_out}')" 'committed 1' 'for a session that is named it does'
is "$(json '{wip}[0]{commit}')" "$(git -C "$R" rev-parse refs/gt-recover/wip/toast)" 'and --json tells the commit'
gt -L main --json snapshot toast
is "$(json '{wip}[0]{result}')" unchanged 'nothing new, no commit'
is "$(git -C "$R" rev-list --count main..refs/gt-recover/wip/toast)" 2 'there are two'

# ---- dying on the way ----
echo 'int d;' >>"$R/src/a.c"
for point in wip-objects wip-ref; do
	before=$(theirs "$R") was=$(git -C "$R" rev-parse refs/gt-recover/wip/toast)
	GT_FAULT=$point=kill gt -L main snapshot toast
	is "$RC $(git -C "$R" rev-parse refs/gt-recover/wip/toast)" "137 $was" "killed at $point: the checkpoint before it is there"
	is "$(theirs "$R")" "$before" 'and the repository as it was'
	GT_FAULT=$point=enospc gt -L main snapshot toast
	is "$RC" 3 "no room at $point is told"
	like "$ERR" '! toast: uncommitted work: cannot write .*No space left' 'in a sentence'
done
gt -L main --json snapshot toast
is "$(json '{wip}[0]{result}')" committed 'the next pass commits it'
ok 'and takes away what was left' no_room
is "$(git -C "$R" fsck --strict 2>&1 | grep -v dangling)" '' 'nothing is broken'

# ---- an agent of an epic ----
checkpoint epic shop '{"name": "Shop", "lastCheckpoint": "2025-10-10T20:45:30Z", "sprints": [{"id": "auth", "status": "completed"},
	{"id": "catalog", "status": "in_progress", "progress": 80}]}'
checkpoint sprint catalog '{"epicId": "shop", "progress": 80, "lastCheckpoint": "2025-10-10T20:45:30Z", "agents": [{"id": "coder-2"}],
	"filesWritten": [{"path": "src/list.c", "confidence": 0.9}], "filesInProgress": [{"path": "src/a.c", "confidence": 0.82}]}'
checkpoint agent coder-2 '{"sprintId": "catalog", "epicId": "shop", "currentTask": "Filter products"}'
printf '{"agent_uuid":"coder-2","provider_name":"claude","session":"toast","socket":"%s","pid":%s,"workspace_path":"%s"}' \
	"$(tm display-message -p '#{socket_path}')" "$(agent_pid toast)" "$R" >"$W/in"
gt_in "$W/in" session record
is "$RC" 0 'the ledger knows the agent of that session'
echo 'int e;' >>"$R/src/a.c"
before=$(theirs "$R")
gt -L main snapshot toast
like "$ERR" 'to epic-shop/sprint-2-wip: 2 files' 'its work goes to the branch of its sprint'
is "$(theirs "$R")" "$before" 'and to nothing else'
like "$(git -C "$R" log -1 --format=%B refs/heads/epic-shop/sprint-2-wip)" '^WIP: Sprint 2 checkpoint \(80%\)

Files in progress:
- src/a\.c \(82% confidence\)

Last checkpoint: 2025-10-10T20:45:30Z
Store checkpoint: epic:shop:state
.*
To take it back: .*refs/heads/epic-shop/sprint-2-wip.*git read-tree --reset -u .*

🤖 Auto-checkpoint via gt-recover
' 'with the message of the seed'
is "$(git -C "$R" show epic-shop/sprint-2-wip:src/a.c | tail -n 1)" 'int e;' 'it has the newest'

# ---- what a recovery is told ----
kill_agent toast
gt -L main prompt toast
like "$OUT" 'Work in progress was committed at [-0-9TZ:.]+ to the git ref epic-shop/sprint-2-wip' 'the prompt names the ref'
like "$OUT" 'To restore files: gt-recover wip restore epic-shop/sprint-2-wip \[PATH' 'and how to take files back'
git -C "$R" stash -q
echo 'KEY=later' >"$R/.env"
cd "$R/src" && gt wip restore epic-shop/sprint-2-wip && cd "$ROOT" || exit 1
is "$(tail -n 1 "$R/src/a.c") $(cat "$R/.env")" 'int e; KEY=later' 'or all of them, from anywhere in the work tree'
git -C "$R" checkout -q . && git -C "$R" stash pop -q
echo 'int f;' >>"$R/src/a.c"
gt -L main --json snapshot toast
is "$(json '{wip}[0]{result}')" committed 'the work of a dead agent is committed, too'
gt epic status shop
like "$OUT" 'Sprint 2 \(catalog\).*└─ WIP: epic-shop/sprint-2-wip \([0-9]+ (second|minute)s? ago\)' 'epic status names the ref of the sprint'
gt epic status --json
is "$(json '{epics}[0]{sprints}[1]{wip}') $(json '{epics}[0]{sprints}[0]{wip}')" 'epic-shop/sprint-2-wip (none)' 'so does --json'

# ---- refs that are old ----
tree=$(git -C "$R" rev-parse 'main^{tree}')
for ref in refs/gt-recover/wip/gone refs/gt-recover/wip/toast-old refs/heads/epic-done/sprint-1-wip refs/heads/epic-shop/sprint-1-wip refs/heads/epic-mine/sprint-1-wip; do
	word='Work-tree: 01234567'
	[[ $ref != *mine* ]] || word='Signed-off-by: me'
	git -C "$R" update-ref "$ref" "$(printf 'WIP: x\n\n%s\n' "$word" | GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' git -C "$R" commit-tree "$tree")"
done
gt doctor --json -L main
is "$(found State.wip sentence)" '3 unchanged for 30 days: refs/gt-recover/wip/gone, refs/gt-recover/wip/toast-old, epic-done/sprint-1-wip' \
	'doctor names refs that are old, but not those of open epics or of others'
hint=$(found State.wip hint)
gt wip prune
like "$RC $ERR" '^2 .*wip prune needs --yes without a terminal' 'what is deleted is asked for'
gt wip prune -n
like "$OUT" '^refs/gt-recover/wip/gone  [0-9a-f]{12}  .*/repo
refs/gt-recover/wip/toast-old  [0-9a-f]{12}  .*/repo$' 'without names sessions of old, and no branch'
sh -c "$hint" >/dev/null
gt doctor --json -L main
is "$(found State.wip)" ok 'its command removes them'
is "$(git -C "$R" for-each-ref --format='%(refname)' | grep -c 'epic-shop\|epic-mine\|wip/toast$')" 4 'and no other'
git -C "$R" update-ref -d refs/heads/epic-shop/sprint-1-wip
git -C "$R" update-ref -d refs/heads/epic-mine/sprint-1-wip
gt epic abandon shop --yes
like "$RC $OUT" '^0 .*WIP branches preserved: epic-shop/sprint-2-wip' 'abandon says that branches stay'
is "$(git -C "$R" branch --list 'epic-shop/*' | tr -d ' ')" 'epic-shop/sprint-2-wip' 'and they do'

# ---- switched off ----
git -C "$R" update-ref -d refs/gt-recover/wip/toast
rm -r "$STATE/wip"
printf '[recovery]\nwip = true\n[recovery.epics]\nwip_interval = "0"\n' >"$CONFIG"
gt -L main --json snapshot
is "$RC $(json '{wip_due}')" '0 false' 'wip_interval = "0": never'
printf '[recovery]\nwip = true\n[recovery.sessions]\ntoast = "off"\n' >"$CONFIG"
gt -L main --json snapshot
is "$RC $(json '{wip_due}') $(json '{wip}')" '0 true 0' 'nor for a session that is off'
printf '[recovery]\nwip = true\n' >"$CONFIG"

# ---- a git that does not answer ----
repo "$W/other"
start_agent slow --cwd "$W/other"
echo 'int g;' >>"$W/other/src/a.c"
gt -L main snapshot slow
like "$RC $ERR" '^0 .*of slow to refs/gt-recover/wip/slow: 1 file, 0 left out' 'one file is no files'
printf '#!/bin/sh\nexit 128\n' >"$W/bin/git"
chmod +x "$W/bin/git"
gt -L main snapshot slow
is "$RC" 0 'where git says that there is no repository there is nothing to do'
printf '#!/bin/sh\ncase "$*" in *status*) exit 1 ;; *) exec %s "$@" ;; esac\n' "$(PATH=${PATH#*:} command -v git)" >"$W/bin/git"
gt -L main --json snapshot slow
is "$RC $(json '{wip}[0]{result}') $(json '{wip}[0]{error}{name}')" '3 failed git' 'a git that fails is told'
rm "$W/bin/git"
done_testing
