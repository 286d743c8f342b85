#!/bin/bash
# /recovery:status and /recovery:resume as files of Claude Code: made, made anew, taken away; what a person has there is theirs.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
DIR=$HOME/.claude/commands/recovery
mkdir -p "${DIR%/*}"
printf 'of a person\n' >"${DIR%/*}/mine.md"

gt install binding --print
# shellcheck disable=SC2016	# a word of the file
like "$RC $OUT" '^0 # .*/commands/recovery/status\.md.*epic status.*resume\.md.*\$ARGUMENTS' '--print shows the files'
not_ok 'and makes none' test -e "$DIR"
gt install binding
like "$RC $ERR" '^0 .*commands/recovery: /recovery:status and /recovery:resume are installed' 'installed'
is "$(cd "$DIR" && echo *)" 'resume.md status.md' 'two files'
is "$(sed -n '1p;3p;5p' "$DIR/status.md")" '---
description: Show interrupted epics and half-written files
---' 'they begin with what they are'
# shellcheck disable=SC2016	# the back quotes are the file's
line=$(sed -n 's/^!`\(.*\)`$/\1/p' "$DIR/status.md")
is "$line" "$GT_RECOVER epic status" 'status runs gt-recover'
is "$(sh -c "$line" 2>/dev/null)" 'Found no interrupted epic.' 'by a command that works'
like "$(cat "$DIR/resume.md")" 'epic resume --dry-run EPIC.*Only when they say yes.*--yes' 'resume shows, asks, and goes on'
before=$(stat -c '%i %y' "$DIR"/*)
gt install binding --json
is "$RC $(json '{result}') $(json '{binding}') $(stat -c '%i %y' "$DIR"/*)" "0 unchanged $DIR $before" 'a second time writes nothing'

# ---- another town, another version ----
mkdir -p "$W/a town/mayor"
printf '{}\n' >"$W/a town/mayor/town.json"
gt install binding --town "$W/a town"
like "$RC $(cat "$DIR/status.md")" "^0 .*epic status --town '$W/a town'" 'with options of its own'
rest=$(sed 1,2d "$DIR/status.md" | sed 's/^Start nothing yourself\.$/An older word./')
sum=$(printf -- '---\n%s\n' "$rest" | sha256sum)
printf -- '---\n# Written by gt-recover install binding, sha256 %s\n%s\n' "${sum%% *}" "$rest" >"$DIR/status.md"
gt install binding
like "$RC $(cat "$DIR/status.md")" '^0 .*Start nothing yourself' 'an older one of ours is replaced'

# ---- a person's ----
sed 's/Show it/Do not show it/' "$DIR/status.md" >"$W/edited" && cp "$W/edited" "$DIR/status.md"
gt install binding --json
is "$RC $(json '{error}{name}')" '1 edited' 'what a person changed is not overwritten'
gt uninstall binding
like "$RC $ERR" '^1 .*status\.md was changed by hand' 'nor removed'
ok 'nor is the other one' test -e "$DIR/resume.md"
same_file "$DIR/status.md" "$W/edited" 'it stands as it was'
rm "$DIR/status.md"
printf 'mine, too\n' >"$DIR/other.md"
gt uninstall binding
is "$RC $(ls "$DIR")" '0 other.md' 'ours are removed'
rm "$DIR/other.md"
gt install binding
gt uninstall binding
not_ok 'and their folder' test -e "$DIR"
is "$(cat "${DIR%/*}/mine.md")" 'of a person' 'what is beside it stays'
gt uninstall binding --json
is "$RC $(json '{result}')" '0 absent' 'nothing more to remove'

# ---- somewhere else ----
CLAUDE_CONFIG_DIR=$W/settings gt install binding
ok 'CLAUDE_CONFIG_DIR says where' test -e "$W/settings/commands/recovery/status.md"
mkdir -p "$W/a \$(b)"
cp -- "$GT_RECOVER" "$W/a \$(b)/gt-recover"
RC=0
"$W/a \$(b)/gt-recover" install binding --json >"$W/out" 2>"$W/err" || RC=$?
OUT=$(cat "$W/out")
is "$RC $(json '{error}{name}')" '1 path' 'a path that would mean something there is refused'
not_ok 'and nothing is made' test -e "$DIR"
gt install binding more
is "$RC" 2 'it takes no more words'
done_testing
