#!/bin/bash
# A terminal on which nothing can be recovered shows what was found, and why it is refused.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"
cat >"$W/gt.toml" <<'TOML'
[recovery.sessions]
off = "off"
TOML
ok 'a terminal' term_start 100 40
ok 'an agent whose recovery is switched off' start_agent off --scenario "$DATA/idle.scenario"
ok 'is killed' kill_agent off
mkdir -p "$(agent_dir doubt)"
tm new-session -d -s doubt -x 100 -y 30 -e GT_ROLE=gt/polecats/doubt -P -F '#{pane_id}' 'exec bash --norc --noprofile' \
	>"$(agent_dir doubt)/pane"
ok 'a shell that is meant for an agent' until_ 5 pane_is doubt '#{pane_current_command}' bash
ok 'an agent that lives' start_agent lives --scenario "$DATA/idle.scenario"
term_run -L main --config "$W/gt.toml"
ok 'gt-recover ends without a question' until_ 20 term_ended
is "$STATUS" 'exit 4' 'with nothing to recover'
screen=$(term_screen)
like "$screen" 'refused +off .* off: recovery is switched off for this session \(off\).*\[recovery\.sessions\]' 'it shows who is refused, why, and what to do'
like "$(tr -s ' \n' ' ' <<<"$screen")" 'unknown +doubt .* doubt: .*no evidence that an agent ran here.*gt-recover --force SESSION' 'also one of which it is not certain'
unlike "$screen" ' lives[ ,:]' 'a living agent is no news'
term_start 60 40
term_run -L main --config "$W/gt.toml"
ok 'on a narrow terminal' until_ 20 term_ended
like "$(term_screen | tr -s ' \n' ' ')" 'off: recovery is switched off for this session \(off\) .*\[recovery\.sessions\]' \
	'its rows are broken between words'
tm kill-session -t =off \; kill-session -t =doubt
term_run -L main --config "$W/gt.toml"
ok 'without them' until_ 20 term_ended
unlike "$(term_screen)" 'Not recoverable now' 'it shows nothing'
like "$(term_screen)" 'Nothing to recover' 'and says that there is nothing'
done_testing
