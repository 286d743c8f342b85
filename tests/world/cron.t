#!/bin/bash
# Debian's cron, with its bare environment: what `install timer patrol` puts into the crontab brings an agent back.
# shellcheck source=tests/world/person.sh
. "$(dirname "$0")/person.sh"
command -v cron >/dev/null || skip_all 'cron is not installed'
person || exit 1
rm -f /var/spool/cron/crontabs/* /run/crond.pid
RC=0
OUT=$(as gt-recover install timer patrol 2>&1) || RC=$?
is "$RC" 0 'install timer patrol succeeds'
[ "$RC" = 0 ] || note "$OUT"
like "$(crontab -u $PERSON -l 2>&1)" 'gt-recover.*patrol' '  with a line in the crontab'
# what cron gives a command, for a person who reads the log
crontab -u $PERSON - <<<"$(crontab -u $PERSON -l)
* * * * * env >$PERSON_HOME/environment"
# not before: it would not notice a crontab that changes within the second in which it was read
cron -f &
PIDS=($!)
ok 'an agent is typed and works' person_types
# the pass of the next minute sees it alive
ok 'cron runs jobs' until_ 75 test -s $PERSON_HOME/environment
unlike "$(cat $PERSON_HOME/environment)" 'XDG_RUNTIME_DIR|LC_ALL|TMUX' "cron's environment is bare"
ok 'killed, it is back within two minutes' person_comes_back 130
note "$(sed 's/=.*//' $PERSON_HOME/environment | tr '\n' ' ')"
person_ends
kill "${PIDS[0]}"
done_testing
