#!/bin/bash
# A secret that one place calls by its name and another shows without is hidden in both, in whatever order they are read; and what is allowed.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
STATE=$XDG_STATE_HOME/gt-recover
# Made here, so that no scanner of repositories stumbles over them.
made() { printf 'Qv7%sz' "$(printf '%s' "$1" | sha256sum | head -c 18)"; }
printf '[recovery]\nvia = "inject"\n' >"$W/gt.toml"
record=$(made record)
note=$(made note)
fine=$(made fine)

cat >"$W/bare.scenario" <<SCENARIO
user Log in, please.
tool Bash cat settings
result LINE_OF_THE_RECORD
assistant The service greets $record first, then $note, and $fine last.
end
SCENARIO
begin() {
	start_agent bare --scenario "$W/bare.scenario" && tell_agent bare 'go on' && until_ 10 messages_are bare 1 &&
		until_ 10 events_are bare '^answered' 1 && kill_agent bare
}
ok 'an agent shows three values and is killed' begin
record_file=$(transcript bare)
cwd=$(agent_dir bare)/cwd
ok 'the transcript has the line' grep -q LINE_OF_THE_RECORD "$record_file"
sed -i "s/LINE_OF_THE_RECORD/DB_PASSWORD=$record/" "$record_file"
printf '{"hooked_bead": "gt-abc12", "notes": "then API_TOKEN=%s worked", "timestamp": "%s"}\n' "$note" "$(date -u +%FT%TZ)" \
	>"$cwd/.polecat-checkpoint.json"
git -C "$cwd" init -q
git -C "$cwd" -c user.name=x -c user.email=x@example.org commit -q --allow-empty -m "Try $note" || exit 1
pane_text bare >"$W/screen"
for value in "$record" "$note" "$fine"; do
	ok 'it stands on the screen' grep -q "$value" "$W/screen"
done
not_ok 'without its name' grep -q 'DB_PASSWORD\|API_TOKEN' "$W/screen"

gt prompt bare -L main --config "$W/gt.toml"
is "$RC" 0 'a prompt is made'
cp "$W/out" "$W/prompt"
like "$(cat "$W/prompt")" 'The service greets' 'the talk is in it'
like "$(cat "$W/prompt")" "$fine" 'with the value that nobody calls a secret'
not_ok 'what the transcript named is nowhere' grep -q "$record" "$W/prompt"
not_ok 'what the checkpoint named is nowhere, git included' grep -q "$note" "$W/prompt"
gt bare -L main --config "$W/gt.toml"
is "$RC" 0 'it is brought back'
ok 'contexts are kept' grep -rq 'The service greets' "$STATE"
# a snapshot is made of the screen alone, which names neither
not_ok 'without the values' grep -rqa --exclude-dir=snapshots "$record\|$note" "$STATE"

# ---- [recovery.scrub] allow: one pattern a line ----
printf 'PASSWORD=%s\nB_PASSWORD=%s\nC_PASSWORD=%s\n' "$record" "$note" "$fine" >"$W/in"
printf "[recovery.scrub]\nallow = '''\n^%s\$\n\n^%s\$\n'''\n" "$record" "$note" >"$W/allow.toml"
gt_in "$W/in" scrub --no-known --config "$W/allow.toml"
is "$(cat "$W/out")" "$(printf 'PASSWORD=%s\nB_PASSWORD=%s\nC_PASSWORD=[REDACTED:password]' "$record" "$note")" 'each line is a pattern of its own'
printf "[recovery.scrub]\nallow = '''\nfine\nnot(\n'''\n" >"$W/allow.toml"
gt_in "$W/in" scrub --config "$W/allow.toml"
is "$RC" 2 'a pattern that is none: refused'
like "$(cat "$W/err")" 'allow.*not valid' 'with what is wrong'
like "$(cat "$W/err")" 'line 2' 'and where'
done_testing
