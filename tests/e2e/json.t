#!/bin/bash
# What --json prints is what schemas/gt-recover.json says, for every command that prints JSON; scripts/check holds all that the
# other tests saw against it as well. --json=stream tells of each agent at once.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
CHECK=$ROOT/tests/e2e/json_check.py
if ! /usr/bin/python3 -c 'import jsonschema' 2>/dev/null; then
	skip 'python3-jsonschema is not installed'
	done_testing
fi
export GT_JSON_DIR=$W/json
mkdir "$GT_JSON_DIR"
afresh

fits() {	# WHAT ARGS...: what the command prints fits
	local what=$1
	shift
	rm -f "$GT_JSON_DIR"/*
	gt "$@"
	is "$(/usr/bin/python3 "$CHECK" "$GT_JSON_DIR"/* | tail -n 3)" '1 outputs, 0 do not fit' "$what"
}
refused_by_schema() {	# WHAT TEXT ARGS
	printf '%s\n%s\n' "$3" "$2" >"$W/wrong"
	/usr/bin/python3 "$CHECK" "$W/wrong" >"$W/said" 2>&1
	is $? 1 "the check sees $1"
}

# ---- the check itself ----
printf '%s\n' 'version --json' '{"schema_version": 2, "version": "1"}' >"$W/right"
ok 'what fits is taken' /usr/bin/python3 "$CHECK" "$W/right"
refused_by_schema 'another version' '{"schema_version": 1, "version": "1"}' 'version --json'
refused_by_schema 'a member that is missing' '{"schema_version": 2}' 'version --json'
refused_by_schema 'a member too many' '{"schema_version": 2, "version": "1", "more": 1}' 'version --json'
refused_by_schema 'a number for a text' '{"schema_version": 2, "version": 1}' 'version --json'
refused_by_schema 'a time in milliseconds' '{"schema_version": 2, "events": [{"seq": 1, "at": 1795493352308, "kind": "k", "subject": null, "session": null, "text": null}]}' 'log --json'
refused_by_schema 'an unknown word' '{"schema_version": 2, "undo": false, "parts": [{"part": "p", "purpose": "p", "state": "odd", "error": null}]}' 'setup --json'
refused_by_schema 'what is no JSON' 'Nothing.' 'list --json'

# ---- every command ----
ok 'an agent dies' start_agent toast --scenario "$DATA/work.scenario"
until_ 10 pane_shows toast 'test 2 ok'
ok 'another lives' start_agent calm --scenario "$DATA/idle.scenario"
fits snapshot snapshot --json -L main
fits 'list of the living' list --live --json -L main
kill_agent toast
fits list list --json -L main
is "$(json '{sessions}[1]{action}') $(json '{sessions}[1]{target}') $(json '{sessions}[1]{window}{index}')" 'recover toast:0.0 0' '  what would be done, and where'
like "$(json '{sessions}[1]{last_user_message}')" 'Then do the same in lex.c' '  what was asked last'
is "$(json '{sessions}[1]{cwd}')" "$(agent_dir toast)/cwd" '  in which directory'
fits 'list --past' list --past --json
fits 'list --fleet' list --fleet --json -L main
fits 'a plan' --all --dry-run --json -L main
is "$(json '{sessions}[0]{action}') $(json '{sessions}[0]{via}') $(json '{sessions}[0]{reason}')" 'recover inject (none)' '  what would be done, and how'
fits 'a plan of reconcile' reconcile --dry-run --json -L main
is "$(json '{startup}{rebooted}')" false '  with what would be done to records'
fits show show toast --json -L main
fits 'show --context' show --context toast --json -L main
fits 'show --prompt' show --prompt toast --json -L main
fits status status --json
fits doctor doctor --json -L main
fits reconcile reconcile --json -L main
fits 'a failure' show nosuch --json -L main
fits 'a refusal' calm --json -L main
is "$(json '{results}[0]{error}{name}')" live '  with its name'
fits recovery toast --json -L main
is "$RC $(json '{recovered}') $(json '{results}[0]{phase}')" '0 1 acknowledged' '  of one agent'
fits 'a plan of restart' restart calm --dry-run --json -L main
is "$(json '{agents}[0]{session}')" calm '  names whom it would restart'
fits 'restart' restart calm --yes --json -L main
is "$RC $(json '{recovered}')" '0 1' '  of a living agent'
fits log log --json
fits 'log --verify' log --verify --json
fits stats stats --json
fits 'workspace show' workspace show --json -L main
fits config config --json
fits 'config KEY' config snapshot_interval --json
fits 'config path' config path --json
fits version version --json
fits 'setup' setup --print --json -L main
fits 'wip list' wip list --json
printf 'key = ghp_0123456789abcdefghijABCDEFGHIJ012345\n' >"$W/dirty"
rm -f "$GT_JSON_DIR"/*
gt_in "$W/dirty" parse --json
is "$(/usr/bin/python3 "$CHECK" "$GT_JSON_DIR"/* | tail -n 3)" '1 outputs, 0 do not fit' parse
fits 'a session' session record one claude --json
fits 'its list' records session list --json
fits 'the tree' records agent tree --json
fits 'a run' records run create --json one START_SESSION prompt
fits 'runs' records run list --json
fits 'settled runs' records run recover --json
fits 'a runner' records runner register r1 --json
fits 'runners' records runner list --json
fits 'a lock' records lock acquire tests me $$ --json
fits 'locks' records lock list --json
fits 'messages' records message list --json
fits 'epics' epic status --json

# ---- a line for each thing that happens ----
ok 'one dies' start_agent one --scenario "$DATA/work.scenario"
ok 'and another' start_agent two --scenario "$DATA/work.scenario"
until_ 10 pane_shows one 'test 2 ok' && until_ 10 pane_shows two 'test 2 ok'
kill_agent one && kill_agent two
fits 'a plan as a line' --all -n --json=stream -L main
is "$(wc -l <"$W/out") $(json '{event}')" '1 plan' '  and nothing else'
rm -f "$GT_JSON_DIR"/*
mkfifo "$W/stream"
"$GT_RECOVER" --all --yes --json=stream -L main >"$W/stream" 2>"$W/err" </dev/null &
pid=$!
exec {lines}<"$W/stream"
IFS= read -r first <&"$lines"
kill -0 "$pid" 2>/dev/null && running=yes || running=no
cat <&"$lines" >"$W/rest"
wait "$pid"
rc=$?
OUT=$first
is "$rc $running $(json '{event}') $(json '{recovered}')" '0 yes result (none)' 'the first line comes while the others are at work'
OUT=$(tail -n 1 "$W/rest")
is "$(json '{event}') $(json '{found}') $(json '{recovered}')" 'summary 2 2' 'the last one sums up'
{ printf '%s\n' '--all --json=stream' "$first" && cat "$W/rest"; } >"$W/streamed"
is "$(/usr/bin/python3 "$CHECK" "$W/streamed" | tail -n 3)" '1 outputs, 0 do not fit' 'all of it fits'
gt nosuch --json=stream -L main
is "$RC $(wc -l <"$W/out") $(json '{event}') $(json '{error}{name}')" '4 1 error unknown-session' 'an error is a line, too'
gt list --json=stream
is "$RC $(json '{error}{message}')" '2 list has no --json=stream' 'where nothing takes long there is none'
gt list --json=text
like "$RC $OUT" '^2 .*--json takes no value, or =stream' 'nor another format'
done_testing
