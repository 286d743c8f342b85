#!/bin/bash
# Where a pane began: tmux 3.2 tells no pane's, only its session's. That is a guess, which nothing but the agent's own record or
# its screen confirms. A directory that nobody knows is unknown, and not said to be gone.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
afresh
export REAL
REAL=$(command -v tmux)

# split SESSION: an agent in a pane of its own in that session's window, in another directory; its pane is in PANE
split() {
	local dir
	dir=$(agent_dir "$1-split")
	mkdir -p "$dir/cwd"
	PANE=$(tm split-window -d -P -F '#{pane_id}' -t "$(agent_pane "$1")" -c "$dir/cwd" -e "FAKE_AGENT_LOG=$dir" \
		-e "FAKE_AGENT_PLAN=$dir/plan" 'exec claude --dangerously-skip-permissions')
	printf '%s' "$PANE" >"$dir/pane"
	until_ 10 _event "$1-split" '^ready'
	}

# ---- two panes of a session, in two directories ----
ok 'an agent' start_agent main --scenario "$DATA/work.scenario"
until_ 10 pane_shows main 'test 7 ok'
for known in record nothing; do
	ok "$known: an agent in a split, in another directory" split main
	tell_agent main-split 'count the sheep'
	until_ 10 pane_shows main-split 'count the sheep'
	[ $known = record ] || tm send-keys -t "$PANE" -R \; clear-history -t "$PANE"
	ok "$known: it is killed" kill_agent main-split
	# the other one's conversation could be anybody's then
	[ $known = record ] || { kill_agent main && rm -f "$HOME/.claude/sessions"/*.json; }
	gt context "$PANE" -L main --json
	unlike "$OUT" 'Fix the bug|lex\.c' "$known: the other directory's conversation is not its own"
	[ $known = nothing ] || like "$OUT" 'count the sheep' "$known: its own is"
	gt "$PANE" --yes -L main
	is "$RC" 0 "$known: it comes back"
	[ "$RC" = 0 ] || note "$ERR"
	is "$(readlink "/proc/$(agent_pid main-split)/cwd")" "$(agent_dir main-split)/cwd" "$known: where it worked"
	tm kill-pane -t "$PANE"
	slug=$(printf '%s' "$(agent_dir main-split)/cwd" | tr -c 'a-zA-Z0-9' -)
	rm -rf "$(agent_dir main-split)" "$XDG_STATE_HOME/gt-recover" "$HOME/.claude/projects/$slug"
done

# ---- a directory that nobody knows ----
cat >"$W/bin/tmux" <<-'PERL'
	#!/usr/bin/perl
	exec $ENV{REAL}, @ARGV if "@ARGV" !~ /source-file -$/;
	my $in = join '', <STDIN>;
	$in =~ s/#\{\?#\{m:3\.2\*.*?pane_start_path\}\}//;
	open my $batch, '+>', undef;
	print $batch $in;
	seek $batch, 0, 0;
	open STDIN, '<&', $batch;
	exec $ENV{REAL}, @ARGV;
PERL
chmod +x "$W/bin/tmux"
ok 'an agent whose tmux does not say where its pane began' start_agent told --scenario "$DATA/idle.scenario"
gt list -L main
ok 'it was seen alive, and is killed' kill_agent told
gt told --yes -L main
is "$RC" 0 'it comes back'
is "$(readlink "/proc/$(agent_pid told)/cwd")" "$(agent_dir told)/cwd" 'where it was seen'
ok 'another one' start_agent untold --scenario "$DATA/idle.scenario"
pid=$(agent_pid untold)
ok 'is killed' kill_agent untold
rm -f "$HOME/.claude/sessions/$pid.json"
gt untold --yes -L main --json
is "$RC $(json '{results}[0]{error}{name}')" '6 unknown-place' 'it is refused'
gt untold --yes -L main
like "$ERR$OUT" 'its working directory is unknown' 'since its directory is unknown'
unlike "$ERR$OUT" 'does not exist' 'not as one that does not exist'
done_testing
