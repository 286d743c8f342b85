#!/bin/bash
# A system without systemd, cron or Gas Town: a person's agent dies and comes back by one command.
# shellcheck source=tests/world/person.sh
. "$(dirname "$0")/person.sh"
person || exit 1
is "$(pgrep -c '^systemd')" 0 'no systemd runs here'
ok 'an agent is typed and works' person_types
ok '  and is seen' person_seen
pid=$(_typed_pid)
kill -9 "$pid"
until_ 10 _gone "$pid"
RC=0
OUT=$(as gt-recover --all --yes 2>&1 </dev/null) || RC=$?
is "$RC" 0 'gt-recover --all --yes succeeds'
[ "$RC" = 0 ] || note "$OUT"
ok '  and the agent is back, with its message' until_ 20 _again "$pid"
RC=0
OUT=$(as gt-recover install timer 2>&1) || RC=$?
if ! command -v crontab >/dev/null; then
	is "$RC" 1 'a timer cannot be installed'
	like "$OUT" 'no systemd user manager and no crontab' '  with the reason'
else
	skip 'cron is installed here' 2
fi
person_ends
done_testing
