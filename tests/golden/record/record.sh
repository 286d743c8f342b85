#!/bin/bash
# record.sh --claude PREFIX... [--only REGEXP] [--out DIR]: records captures of the real Claude Code (README.md beside this file).
# PREFIX is where `npm install --prefix PREFIX @anthropic-ai/claude-code@VERSION` put a version; its scenarios are played one after another.
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/agent/claude.sh
. "$HERE/../../agent/claude.sh"

OUT=$HERE/../recorded ONLY='' PREFIXES=() VERBOSE=()
while [ $# -gt 0 ]; do
	case $1 in
	--claude) PREFIXES+=("$2") && shift 2 ;;
	--only) ONLY=$2 && shift 2 ;;
	--out) OUT=$2 && shift 2 ;;
	--verbose) VERBOSE=(--verbose yes) && shift ;;
	*) printf 'usage: record.sh --claude PREFIX... [--only REGEXP] [--out DIR] [--verbose]\n' >&2 && exit 2 ;;
	esac
done

ROOT='' MOCK=''
clean_up() {
	[ -z "$MOCK" ] || kill "$MOCK" 2>/dev/null
	if [ -n "$ROOT" ]; then
		tmux -S "$ROOT/tmux" kill-server 2>/dev/null
		# the program notes the directory of each command there, whatever TMPDIR says
		grep -lsF -- "$ROOT" /tmp/claude-*-cwd | xargs -r rm -f --
		rm -rf -- "$ROOT"
	fi
	MOCK='' ROOT=''
}
trap clean_up EXIT
trap 'exit 130' INT TERM

until_file() {
	for ((i = 0; i < 200; i++)); do
		[ -s "$1" ] && return
		sleep 0.05
	done
	return 1
}

take() {	# PREFIX VERSION SCENARIO WIDTH HEIGHT
	local rc
	# as long as the neutral path that takes its place
	ROOT=$(mktemp -d /tmp/gtr-rec.XXXXXX) || return 1
	mkdir -p "$ROOT/w" "$ROOT/tmp"
	claude_home "$ROOT" "$ROOT/w"
	node "$HERE/record.mjs" prepare --scenario "$3" --version "$2" --root "$ROOT" || return 1
	node "$MODEL" serve --scenario "$ROOT/scenario.json" --requests "$ROOT/requests" --port-file "$ROOT/port" --log "$ROOT/log" &
	MOCK=$!
	until_file "$ROOT/port" || return 1
	claude_env "$ROOT" "$(cat "$ROOT/port")"
	printf '%s\n' "${CLAUDE_ENV[@]}" PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 SHELL=/bin/bash "TMPDIR=$ROOT/tmp" |
		node "$HERE/record.mjs" drive --prefix "$1" --version "$2" --scenario "$3" --width "$4" --height "$5" --root "$ROOT" \
			--out "$OUT" "${VERBOSE[@]}"
	rc=$?
	clean_up
	return $rc
}

bad=0
for prefix in "${PREFIXES[@]}"; do
	package=$prefix/node_modules/@anthropic-ai/claude-code/package.json
	version=$(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1])).version' "$package") || exit 1
	while read -r scenario width height; do
		if take "$prefix" "$version" "$scenario" "$width" "$height" </dev/null; then
			printf '%s-%s-v%s\n' "$scenario" "$width" "$version"
		else
			bad=1
		fi
		clean_up
	done < <(node "$HERE/record.mjs" plan --version "$version" --only "$ONLY")
done
exit $bad
