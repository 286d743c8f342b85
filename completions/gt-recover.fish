# fish completion for gt-recover, written by make completions. Session names come from `gt-recover list --names`.

set -g __gt_recover_commands list show restart workspace setup snapshot status doctor log stats scrub parse epic wip records reconcile hook help config completion version

# True when no command was given yet: sessions of the bare command may stand there.
function __gt_recover_bare
    not __fish_seen_subcommand_from $__gt_recover_commands
end

# The words that say where to look are handed on.
function __gt_recover_sessions
    set -l words (commandline -opc)
    set -l where
    set -l i 2
    while test $i -lt (count $words)
        if contains -- $words[$i] --town --config -L --socket
            set i (math $i + 1)
            set -a where $words[(math $i - 1)] $words[$i]
        end
        set i (math $i + 1)
    end
    gt-recover $where list --names 2>/dev/null
end

complete -c gt-recover -f

complete -c gt-recover -n '__gt_recover_bare' -a list -d 'list crashed agents and whether each can be recovered'
complete -c gt-recover -n '__gt_recover_bare' -a show -d 'show what would be recovered: context and prompt'
complete -c gt-recover -n '__gt_recover_bare' -a restart -d 'stop running agents, start them with their conversation'
complete -c gt-recover -n '__gt_recover_bare' -a workspace -d 'show or rebuild the sessions of an ended tmux server'
complete -c gt-recover -n '__gt_recover_bare' -a setup -d 'make crashes recoverable: hooks, timer, tmux options'
complete -c gt-recover -n '__gt_recover_bare' -a snapshot -d 'save a snapshot of all agent panes'
complete -c gt-recover -n '__gt_recover_bare' -a status -d 'print how many agents are crashed, for a status line'
complete -c gt-recover -n '__gt_recover_bare' -a doctor -d 'check the setup and suggest fixes'
complete -c gt-recover -n '__gt_recover_bare' -a log -d 'show the event log, oldest first'
complete -c gt-recover -n '__gt_recover_bare' -a stats -d 'show the number of recoveries, their causes and results'
complete -c gt-recover -n '__gt_recover_bare' -a scrub -d 'filter: replace secrets in the text on stdin'
complete -c gt-recover -n '__gt_recover_bare' -a parse -d 'filter: read a screen or transcript, print exchanges'
complete -c gt-recover -n '__gt_recover_bare' -a epic -d 'resume, inspect or move epics: long work of many agents'
complete -c gt-recover -n '__gt_recover_bare' -a wip -d 'list and restore checkpoints of uncommitted work'
complete -c gt-recover -n '__gt_recover_bare' -a records -d 'records of programs: sessions, runs, messages'
complete -c gt-recover -n '__gt_recover_bare' -a reconcile -d 'reconcile records after a crash or reboot'
complete -c gt-recover -n '__gt_recover_bare' -a hook -d 'entry point of agent hooks'
complete -c gt-recover -n '__gt_recover_bare' -a help -d 'show help for a command'
complete -c gt-recover -n '__gt_recover_bare' -a config -d 'show or change settings'
complete -c gt-recover -n '__gt_recover_bare' -a completion -d 'print the completions of a shell'
complete -c gt-recover -n '__gt_recover_bare' -a version -d 'print the version'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from show restart snapshot log' -a '(__gt_recover_sessions)' -d session
complete -c gt-recover -n '__fish_seen_subcommand_from workspace' -a 'show restore'
complete -c gt-recover -n '__fish_seen_subcommand_from epic' -a 'status resume inspect export import abandon signal'
complete -c gt-recover -n '__fish_seen_subcommand_from wip' -a 'list show restore prune'
complete -c gt-recover -n '__fish_seen_subcommand_from records' -a 'session agent message run runner checkpoint lock release'
complete -c gt-recover -n '__fish_seen_subcommand_from hook' -a 'SessionStart UserPromptSubmit PreToolUse PostToolUse SubagentStop Stop SessionEnd'
complete -c gt-recover -n '__fish_seen_subcommand_from help' -a "$__gt_recover_commands"
complete -c gt-recover -n '__fish_seen_subcommand_from config' -a 'path edit set'
complete -c gt-recover -n '__fish_seen_subcommand_from config' -a '
    enabled auto_recover wip on_crash max_context_lines max_context_tokens scope via
    snapshot_interval snapshot_dir snapshot_keep snapshot_age last_snapshot_age keep_history
    keep_history_count archive archive_age event_log_mib damaged_keep ready_timeout ack_timeout
    spacing parallel max_attempts attempt_window include_infra resume_scope reply_policy state
    host safe_directories log_file prompts.template prompts.template_file
    prompts.resume_template prompts.resume_template_file runs.mode runs.threshold
    runs.claimed_to epics.checkpoint_interval epics.wip_interval epics.resume_threshold
    epics.start_command scrub.rules scrub.allow scrub.known_values scrub.known_files
    mail.command mail.to
'
complete -c gt-recover -n '__fish_seen_subcommand_from completion' -a 'bash fish zsh'

complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from restart workspace snapshot epic wip records reconcile' -s n -l dry-run -d 'show what would be done, change nothing'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from restart' -l all -d 'every recoverable agent'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from restart' -l respawn -d 'replace an idle shell by the agent, instead of starting it inside'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from restart' -l force -d 'with SESSION'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from restart' -l plain -d 'choose from a numbered list, without the full-screen picker'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from restart setup epic wip' -s y -l yes -d 'do not ask'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from restart setup epic wip' -l no-input -d 'never ask'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from show restart' -l conversation -x -a 'none' -d 'the agent'\''s conversation, if there are several candidates'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from show restart' -l via -x -a 'auto resume inject' -d 'resume'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from show restart' -l scope -x -a 'task lines' -d 'the current task, or the newest max_context_lines lines'
complete -c gt-recover -n '__fish_seen_subcommand_from show' -l context -d 'print only the collected context'
complete -c gt-recover -n '__fish_seen_subcommand_from show' -l prompt -d 'print only the recovery prompt'
complete -c gt-recover -n '__fish_seen_subcommand_from reconcile' -l recover -d 'also recover crashed agents'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from list show restart' -l include-infra -d 'also Gas Town'\''s mayor, deacon, witness, refinery, boot and crew'
complete -c gt-recover -n '__fish_seen_subcommand_from list' -l names -d 'only the names of recoverable sessions, one per line'
complete -c gt-recover -n '__fish_seen_subcommand_from list' -l live -d 'also living agents'
complete -c gt-recover -n '__fish_seen_subcommand_from list' -l fleet -d 'also the agents of other hosts that share the store'
complete -c gt-recover -n '__fish_seen_subcommand_from list' -l past -d 'list recent conversations and the command that resumes each'
complete -c gt-recover -n '__fish_seen_subcommand_from parse' -l agent -x -a 'claude codex gemini opencode copilot qwen auggie cline pi cursor-agent amp' -d 'agent that wrote the input (default'
complete -c gt-recover -n '__fish_seen_subcommand_from parse' -l transcript -d 'the input is a transcript of claude, codex, gemini, qwen, copilot, pi, auggie, cline or opencode, not a screen'
complete -c gt-recover -n '__fish_seen_subcommand_from hook' -l agent -x -a 'claude codex gemini qwen copilot opencode' -d 'agent'
complete -c gt-recover -n '__fish_seen_subcommand_from scrub' -l report -d 'also print kinds, rows and counts as JSON on standard error'
complete -c gt-recover -n '__fish_seen_subcommand_from scrub' -l check -d 'print nothing'
complete -c gt-recover -n '__fish_seen_subcommand_from scrub' -l no-known -d 'rules only'
complete -c gt-recover -n '__fish_seen_subcommand_from scrub' -l sanitize -d 'also remove escape sequences, control and invisible characters'
complete -c gt-recover -n '__fish_seen_subcommand_from setup' -l only -x -d 'only these parts, for example panes,timer'
complete -c gt-recover -n '__fish_seen_subcommand_from setup' -l with -x -d 'also these parts'
complete -c gt-recover -n '__fish_seen_subcommand_from setup' -l without -x -d 'all but these parts'
complete -c gt-recover -n '__fish_seen_subcommand_from setup' -l undo -d 'remove what setup installed'
complete -c gt-recover -n '__fish_seen_subcommand_from setup' -l print -d 'print to standard output, change nothing'
complete -c gt-recover -n '__fish_seen_subcommand_from log stats records' -l since -x -d 'only events newer than AGE (7d, 12h)'
complete -c gt-recover -n '__fish_seen_subcommand_from log' -l verify -d 'compare events.jsonl with the store'
complete -c gt-recover -n '__fish_seen_subcommand_from records reconcile' -l mode -x -a 'stale all none' -d 'runs to settle'
complete -c gt-recover -n '__fish_seen_subcommand_from records reconcile' -l threshold -x -d 'age in seconds at which a run is stale (300)'
complete -c gt-recover -n '__fish_seen_subcommand_from snapshot' -l passes -x -d 'for timers'
complete -c gt-recover -n '__fish_seen_subcommand_from records' -l undelivered -d 'only messages not delivered or not answered'
complete -c gt-recover -n '__fish_seen_subcommand_from records' -l lease -x -d 'seconds for which it is held after the last renewal (300)'
complete -c gt-recover -n '__fish_seen_subcommand_from epic' -l sprints -x -d 'only these sprints, by number (2,3)'
complete -c gt-recover -n '__fish_seen_subcommand_from epic' -l output -r -F -d 'write to a private file instead of standard output'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from list show restart workspace setup snapshot status doctor log stats epic records reconcile config' -s L -l socket -x -d 'tmux socket, name or path (repeatable)'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from list show restart workspace setup snapshot status doctor log stats epic wip records reconcile hook config' -l town -x -a '(__fish_complete_directories)' -d 'root directory of the Gas Town'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from list show restart workspace setup snapshot status doctor log stats scrub epic wip records reconcile hook config' -l config -r -F -d 'use this configuration file'
complete -c gt-recover -l json -d 'print one JSON object'
complete -c gt-recover -s q -l quiet -d 'suppress progress output'
complete -c gt-recover -s v -l verbose -d 'show more detail'
complete -c gt-recover -l color -x -a 'auto always never' -d 'auto, always or never'
complete -c gt-recover -s h -l help -d 'show this help'
complete -c gt-recover -s V -l version -d 'print the version'
