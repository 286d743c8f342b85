#!/bin/bash
# record.sh [--cache DIR] [--only REGEXP] [--out DIR]: records the other real agents (README.md beside this file). REGEXP chooses among
# NAME/STATE, as in codex/tool. Programs are installed below DIR when they are not there.
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/agent/others.sh
. "$HERE/../../agent/others.sh"

CACHE=${GT_RECOVER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gt-recover} ONLY='' OUT=$HERE
while [ $# -gt 1 ]; do
	case $1 in
	--cache) CACHE=$2 ;;
	--only) ONLY=$2 ;;
	--out) OUT=$2 ;;
	*) break ;;
	esac
	shift 2
done
[ $# = 0 ] || { printf 'usage: record.sh [--cache DIR] [--only REGEXP] [--out DIR]\n' >&2 && exit 2; }

# The same on every machine, since its name gets into screens and session files.
AGENT_HOME=/tmp/home-of-agent
WORLD='' MOCK=''
tm() {
	tmux -u -S "$WORLD/tmux" -f /dev/null "$@"
}

clean_up() {
	local pid
	[ -z "$MOCK" ] || kill "$MOCK" 2>/dev/null
	if [ -n "$WORLD" ]; then
		tm kill-server 2>/dev/null
		# what outlives an agent is known by its home
		grep -lzsx "HOME=$AGENT_HOME" /proc/[0-9]*/environ | cut -d / -f 3 | while read -r pid; do
			kill -9 "$pid" 2>/dev/null
		done
		rm -rf -- "$WORLD" "$AGENT_HOME"
	fi
	MOCK='' WORLD=''
}
trap clean_up EXIT
trap 'exit 130' INT TERM

until_() {	# SECONDS COMMAND...
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))
	shift
	until "$@"; do
		[ "${EPOCHREALTIME/[.,]/}" -lt "$end" ] || return 1
		sleep 0.1
	done
}

shows() {	# EXTENDED-REGEXP
	tm capture-pane -p -S - -t rec 2>/dev/null | grep -Eq -- "$1"
}

still() {	# the screen stands still for a second and a half
	local before i
	before=$(tm capture-pane -p -t rec)
	for ((i = 0; i < 5; i++)); do
		sleep 0.3
		[ "$(tm capture-pane -p -t rec)" = "$before" ] || return 1
	done
}

happened() {	# EVENT COUNT: of the mock's log
	[ -e "$WORLD/log" ] && [ "$(grep -c "\"event\":\"$1\"" "$WORLD/log")" -ge "$2" ]
}

on_disk() {	# NAME TEXT
	others_records "$1" "$AGENT_HOME" | while read -r file; do cat "$file" "$file-wal" 2>/dev/null; done | grep -aqF -- "$2"
}

dead() {
	tm run-shell -b true	# makes tmux look after children that it lost sight of
	[ "$(tm display-message -p -t rec '#{pane_dead}')" = 1 ]
}

say() {	# TEXT
	printf '{"at": %s, "content": "%s"}\n' "$((${EPOCHREALTIME/[.,]/} / 1000))" "$1" >>"$WORLD/typed"
	tm send-keys -t rec -l -- "$1"
	# cline drops what comes in the first seconds after its box is there
	until_ 10 shows "${1: -20}" || tm send-keys -t rec -l -- "$1"
	until_ 20 shows "${1: -20}" || return 1
	sleep 0.5
	tm send-keys -t rec Enter
}

# A dozen lines that nobody sends; what the box shows of them is the agent's own.
paste_draft() {
	local before
	before=$(tm capture-pane -p -t rec)
	jq -r .draft "$HERE/scenarios.json" | tm load-buffer -b draft - \; paste-buffer -d -p -b draft -t rec
	changed() { [ "$(tm capture-pane -p -t rec)" != "$before" ]; }
	until_ 20 changed && until_ 20 still
}

# The state in which it is to die.
reach() {	# NAME STATE
	local first second
	first=$(jq -r ".states.$2[0]" "$HERE/scenarios.json") second=$(jq -r ".states.$2[1]" "$HERE/scenarios.json")
	until_ 60 shows "$(others_ready "$1")" || return 1
	until_ 6 still	# one has a face that blinks
	say "$first" && until_ 60 happened end 1 && until_ 60 still || return 1
	if [ "$2" = draft ]; then
		paste_draft
		return
	fi
	say "$second" || return 1
	case $2 in
	idle) until_ 60 happened end 3 && until_ 60 still ;;
	tool)
		until_ 60 grep -qs 'table 8$' "$AGENT_HOME/w/migration.log" || return 1
		# before codex takes it for a thing of the background, after 10 s; one of them writes a call down when it has ended, another shows it then
		until_ 3 shows 'migrate\.sh'
		until_ 3 on_disk "$1" 'migrate.sh' || [ "$1" = gemini ]
		;;
	stream)
		until_ 60 happened stall 1 && until_ 10 shows 'nothing may be lost' || return 1
		# one shows whole paragraphs only
		until_ 3 shows 'last the writers' || return 0
		;;
	esac
}

world() {	# NAME PROGRAM
	[ ! -e "$AGENT_HOME" ] || { printf '%s is in the way\n' "$AGENT_HOME" >&2 && return 1; }
	WORLD=$(mktemp -d /tmp/gtr-rec.XXXXXX) && mkdir -p "$AGENT_HOME/w" "$AGENT_HOME/bin" || return 1
	ln -s -- "$2" "$AGENT_HOME/bin/$1"
	printf 'alpha\nbeta\ngamma\n' >"$AGENT_HOME/w/notes.txt"
	cat >"$AGENT_HOME/w/migrate.sh" <<-'EOF'
		for i in $(seq 1 900); do
			echo "migrating table $i" | tee -a migration.log
			sleep 0.2
		done
	EOF
	node "$OTHERS_MODEL" serve --scenario "$HERE/scenarios.json" --requests "$WORLD/requests" --port-file "$WORLD/port" --log "$WORLD/log" &
	MOCK=$!
	until_ 10 test -s "$WORLD/port" || return 1
	others_home "$1" "$AGENT_HOME" "$AGENT_HOME/w" "$(cat "$WORLD/port")" && others_env "$1" "$AGENT_HOME" "$(cat "$WORLD/port")"
}

take() {	# NAME[@VERSION] STATE PROGRAM
	local full=$1 pid alternate size command
	set -- "${1%@*}" "$2" "$3"
	world "$1" "$3" || return 1
	command=$(others_command "$full")
	case $1/$2 in
	codex/*inline-*) command+=' --no-alt-screen' ;;
	gemini/truecolor-*) OTHERS_ENV+=(COLORTERM=truecolor) ;;
	esac
	# shellcheck disable=SC2086	# words
	(cd "$AGENT_HOME/w" && tm start-server \; set -g exit-empty off \; set -g remain-on-exit on \; set -g history-limit 50000 \; set -g status off \; \
		set -g focus-events on \; set -g default-terminal tmux-256color \; new-session -d -x 100 -y 30 -s rec \
		env -u OLDPWD "${OTHERS_ENV[@]}" PATH="$AGENT_HOME/bin:/usr/local/bin:/usr/bin:/bin" SHELL=/bin/bash LC_ALL=C.UTF-8 TZ=UTC $command)
	if ! reach "$1" "${2##*-}"; then
		printf '%s/%s: waited in vain\n' "$1" "$2" >&2
		tm capture-pane -p -t rec >&2
		return 1
	fi
	case $1/$2 in
	qwen/resized-*)
		tm resize-window -t rec -x 80 -y 24
		until_ 20 still
		tm resize-window -t rec -x 100 -y 30
		until_ 20 still
		;;
	esac
	pid=$(tm display-message -p -t rec '#{pane_pid}') alternate=$(tm display-message -p -t rec '#{alternate_on}')
	size=$(tm display-message -p -t rec '#{pane_width}x#{pane_height}')
	tm capture-pane -p -t rec >"$WORLD/live.txt"
	kill -9 "$pid"
	until_ 20 dead || return 1
	tm capture-pane -p -S - -t rec >"$WORLD/screen.txt"
	tm capture-pane -p -e -S - -t rec >"$WORLD/screen.ansi"
	others_records "$1" "$AGENT_HOME" >"$WORLD/records"
	node "$HERE/record.mjs" "$1" "$2" "$(others_package "$full" | cut -d ' ' -f 2)" "$size" "$alternate" "$WORLD" "$OUT/$1/$2"
}

bad=0
for full in "${OTHERS[@]}" codex@0.98.0 gemini@0.34.0; do
	name=${full%@*}
	states=(idle tool stream draft)
	case $full in
	codex@*) states=(old-inline-tool old-inline-stream) ;;
	*@*) states=(old-tool old-stream) ;;
	codex) states+=(inline-idle inline-tool inline-stream) ;;
	gemini) states+=(truecolor-tool) ;;
	qwen) states+=(resized-idle) ;;
	esac
	for state in "${states[@]}"; do
		[[ $name/$state =~ $ONLY ]] || continue
		program=$(others_install "$CACHE" "$HOME" "$full") || { printf '%s: %s\n' "$name" "$program" >&2 && bad=1 && continue; }
		if take "$full" "$state" "$program"; then
			printf '%s/%s\n' "$name" "$state"
		else
			bad=1
		fi
		clean_up
	done
done
exit $bad
