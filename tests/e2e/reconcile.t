#!/bin/bash
# gt-recover reconcile: the records first, then crashed agents, which it reports, and with --recover brings back.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
often

gt reconcile
is "$RC $OUT$ERR" '0 ' 'without a server and records there is nothing to say'
ok 'an agent runs' start_agent work --scenario "$DATA/idle.scenario"
gt -L main snapshot
echo '{"provider_name": "claude", "agent_uuid": "u1", "pid": 999999}' >"$W/record"
gt_in "$W/record" records session record
is "$RC $OUT" '0 u1' 'and a session is recorded whose process is gone'
kill_agent work
pid=$(agent_pid work)
gt -L main reconcile --dry-run
like "$RC $ERR" '^0 .*1 session without a process is suspended' '--dry-run tells what it would do to the records'
gt records session show u1 --json
is "$(json '{session_record}{state}')" ACTIVE '  and does not do it'
gt -L main reconcile --json
is "$(json '{startup}{session_counts}{suspended}') $(json '{found}') $(json '{recovered}')" '1 1 0' 'reconcile settles the records and reports the crash'
gt records session show u1 --json
is "$(json '{session_record}{state}')" SUSPENDED '  the record is true'
is "$(messages work)" 0 '  nothing is recovered'
gt -L main reconcile --recover --json
is "$RC $(json '{auto_recover}') $(json '{recovered}')" '0 true 1' '--recover recovers it'
is "$(messages work)" 1 '  with its context'
gt -L main reconcile
is "$RC" 0 'again: all is true'
gt patrol --recover
like "$RC $ERR" '^2 .*patrol has no --recover' 'the old spellings are as they were'
done_testing
