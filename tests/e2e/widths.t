#!/bin/bash
# What people read fits terminals of 60, 80, 120 and 200 columns, and is ASCII where the locale has no UTF-8.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
afresh
ln -s "$GT_RECOVER" "$W/bin/gt-recover"
record='{"name": "Shop", "status": "in_progress", "startTime": "2026-11-01T10:00:00Z", "lastCheckpoint": "2026-11-01T10:30:00Z", "sprints": [{"id": "catalog", "status": "in_progress", "progress": 40}]}'

ok 'an agent dies' start_agent a-session-with-a-rather-long-name --scenario "$DATA/work.scenario"
until_ 10 pane_shows a-session-with-a-rather-long-name 'test 2 ok'
ok 'another lives' start_agent calm --scenario "$DATA/idle.scenario"
gt snapshot -L main
kill_agent a-session-with-a-rather-long-name
gt a-session-with-a-rather-long-name -L main --via resume
gt patrol -L main
kill_agent a-session-with-a-rather-long-name
printf '%s' "$record" >"$W/epic"
gt_in "$W/epic" checkpoint epic shop
is "$RC" 0 'there is an epic'
gt records session record root claude
gt records session record child claude

shown() {	# COLUMNS LOCALE ARGS...: what the terminal shows, rows that pass its edge joined; "end" below it
	local columns=$1 locale=$2
	shift 2
	rm -f "$W/ended"
	printf 'export LC_ALL=%s; clear; gt-recover %s; echo end-of-it >"%s"; exec cat\n' "$locale" "$*" "$W/ended" >"$W/script"
	tmux -L term -f /dev/null new-session -d -s term -x "$columns" -y 200 "sh '$W/script'"
	until_ 20 test -s "$W/ended" || return 1
	tmux -L term capture-pane -pJ -t term: | sed -e 's/ *$//' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >"$W/shown"
	tmux -L term kill-session -t term
}

# Rows that pass the edge, but for those in which it is a single word, as a path, that does.
too_wide() {	# COLUMNS
	perl -CSD -nle 'BEGIN { $most = shift }
		next if length() <= $most;
		my $blank = rindex(substr($_, 0, $most + 1), " ");
		print "$most: $_;" if substr($_, 0, $blank) =~ /\S.{22}/' "$1" "$W/shown"
}

for command in list 'list --live' '--all --dry-run' 'show calm' doctor 'doctor -v' status 'log' stats 'epic status' 'records agent tree' 'snapshot --dry-run' \
	'workspace show' help 'help recover' 'help records' 'nosuch' 'setup --print --only key'; do
	wide='' foreign=''
	for columns in 60 80 120 200; do
		shown $columns C.UTF-8 "$command -L main" || wide+="$columns: no end; "
		wide+=$(too_wide $columns)
	done
	is "$wide" '' "$command fits 60, 80, 120 and 200 columns"
	shown 80 C "$command -L main"
	foreign=$(LC_ALL=C grep -n '[^ -~]' "$W/shown" | grep -v $'\t')
	is "$foreign" '' '  and is ASCII where the locale is'
done
done_testing
