#!/bin/bash
# scripts/compatibility: rows of the runs become tables; a part that was not run again keeps its table.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
mkdir "$W/rows"
page() {
	WORLD_ROWS=$W/rows "$ROOT/scripts/compatibility" "$W/page.md"
}
row() {		# PART FIELD...
	local part=$1 IFS=$'\t'
	shift
	printf '%s\n' "$*" >>"$W/rows/$part.tsv"
}

row tmux recover.t 3.4 57 0 0
row tmux names.t 3.4 90 2 5
row tmux recover.t 3.7c 59 0 0
row systems unit debian-12 836 0 2 2026-11-01 'no second disk'
row systems demo debian-12 1 0 0 2026-11-02
row systems unit ubuntu-22.04 0 0 1 2026-11-03 'its archive cannot be reached'
page
TEXT=$(cat "$W/page.md")
like "$TEXT" '\| \| recover.t \| names.t \| date \|' 'a column for each suite'
like "$TEXT" '\| 3.4 \| 57 \| 90, \*\*2 failed\*\*, 5 skipped \| 20' '  with what failed and was skipped'
like "$TEXT" '\| 3.7c \| 59 \| – \| 20' '  and a dash where a suite did not run'
like "$TEXT" '\| debian-12 \| 836, 2 skipped \| 1 \| 2026-11-02 \|' 'the date is the newest'
like "$TEXT" '- debian-12, unit: no second disk' 'reasons of skips are listed'
like "$TEXT" '\| ubuntu-22.04 \| skipped \|' 'a suite of which nothing ran is named as skipped'
cp "$W/page.md" "$W/before.md"
page
same_file "$W/page.md" "$W/before.md" 'a second run changes nothing'
rm "$W/rows/tmux.tsv"
row systems unit debian-13 840 0 0 2026-11-04
page
like "$(cat "$W/page.md")" '\| 3.4 \| 57 \|.*\| debian-13 \| 840 \|' 'a part without rows keeps its table'
is "$(grep -c '^<!-- ' "$W/page.md")" 6 '  and every part is there once'
is "$(grep -vc '^|' "$W/page.md")" "$(grep -v '^|' "$W/page.md" | awk 'length <= 80' | wc -l)" 'prose has at most 80 columns'
done_testing
