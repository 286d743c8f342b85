# fish completion for gt-recover, written by make completions. Session names come from `gt-recover list --names`.

set -g __gt_recover_commands list context prompt snapshot arm disarm patrol startup release log stats run runner session agent message epic checkpoint lock hook doctor parse scrub config install uninstall help version

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

complete -c gt-recover -n '__gt_recover_bare' -a list -d 'what could be recovered, and why not the rest'
complete -c gt-recover -n '__gt_recover_bare' -a context -d 'what was gathered for a session'
complete -c gt-recover -n '__gt_recover_bare' -a prompt -d 'the prompt that the agent would be given, and nothing else'
complete -c gt-recover -n '__gt_recover_bare' -a snapshot -d 'keep what the agents'\'' panes show now, for cron'
complete -c gt-recover -n '__gt_recover_bare' -a arm -d 'keep agents'\'' panes when they die, for recovery'
complete -c gt-recover -n '__gt_recover_bare' -a disarm -d 'put back what arm changed'
complete -c gt-recover -n '__gt_recover_bare' -a patrol -d 'one pass for cron or the witness: find crashes, and bring agents back if auto_recover'
complete -c gt-recover -n '__gt_recover_bare' -a startup -d 'make the records true again after a crash or a reboot'
complete -c gt-recover -n '__gt_recover_bare' -a release -d 'let a quarantined session be recovered again'
complete -c gt-recover -n '__gt_recover_bare' -a log -d 'what happened, the newest last'
complete -c gt-recover -n '__gt_recover_bare' -a stats -d 'how many recoveries, how they ended, how long they took'
complete -c gt-recover -n '__gt_recover_bare' -a run -d 'runs: work that waits for a runner, and what a restart left of it'
complete -c gt-recover -n '__gt_recover_bare' -a runner -d 'the registry of those who execute runs'
complete -c gt-recover -n '__gt_recover_bare' -a session -d 'agents'\'' sessions: how to go on with each, whatever dies'
complete -c gt-recover -n '__gt_recover_bare' -a agent -d 'the tree of agents: who spawned whom'
complete -c gt-recover -n '__gt_recover_bare' -a message -d 'messages between agents, logged before they are on their way'
complete -c gt-recover -n '__gt_recover_bare' -a epic -d 'epics: long work of many agents, and what a crash left of it'
complete -c gt-recover -n '__gt_recover_bare' -a checkpoint -d 'write down how far an epic, a sprint, an agent or a file is'
complete -c gt-recover -n '__gt_recover_bare' -a lock -d 'locks of the agents'\'' own, such as a slot for tests'
complete -c gt-recover -n '__gt_recover_bare' -a hook -d 'what agents'\'' hooks call: that they live, and which files they are writing'
complete -c gt-recover -n '__gt_recover_bare' -a doctor -d 'whether recovery would work here, and what to do about what would not'
complete -c gt-recover -n '__gt_recover_bare' -a parse -d 'filter: a captured screen (or a transcript) on stdin, exchanges on stdout'
complete -c gt-recover -n '__gt_recover_bare' -a scrub -d 'filter: text on stdin, the same without secrets on stdout'
complete -c gt-recover -n '__gt_recover_bare' -a config -d 'every setting, its value and where it came from'
complete -c gt-recover -n '__gt_recover_bare' -a install -d 'make `gt recover` work, take snapshots regularly, let Gas Town run patrol, hear from agents'
complete -c gt-recover -n '__gt_recover_bare' -a uninstall -d 'take one of these away again'
complete -c gt-recover -n '__gt_recover_bare' -a help -d 'the commands and options'
complete -c gt-recover -n '__gt_recover_bare' -a version -d 'the version'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from context prompt snapshot arm disarm release log' -a '(__gt_recover_sessions)' -d session
complete -c gt-recover -n '__fish_seen_subcommand_from run' -a 'create claim start stop finish list recover'
complete -c gt-recover -n '__fish_seen_subcommand_from runner' -a 'register beat list'
complete -c gt-recover -n '__fish_seen_subcommand_from session' -a 'record show list suspend restore end'
complete -c gt-recover -n '__fish_seen_subcommand_from agent' -a 'spawn tree resume end'
complete -c gt-recover -n '__fish_seen_subcommand_from message' -a 'send broadcast deliver reply list'
complete -c gt-recover -n '__fish_seen_subcommand_from epic' -a 'status resume inspect export import abandon signal'
complete -c gt-recover -n '__fish_seen_subcommand_from checkpoint' -a 'epic sprint agent file'
complete -c gt-recover -n '__fish_seen_subcommand_from lock' -a 'acquire renew release list'
complete -c gt-recover -n '__fish_seen_subcommand_from hook' -a 'SessionStart UserPromptSubmit PreToolUse PostToolUse SubagentStop Stop SessionEnd'
complete -c gt-recover -n '__fish_seen_subcommand_from config' -a '
    enabled auto_recover max_context_lines max_context_tokens scope via snapshot_interval
    snapshot_dir snapshot_keep snapshot_age last_snapshot_age keep_history keep_history_count
    archive archive_age event_log_mib damaged_keep ready_timeout ack_timeout spacing
    max_attempts attempt_window include_infra resume_scope reply_policy state host
    safe_directories log_file prompts.template prompts.template_file prompts.resume_template
    prompts.resume_template_file runs.mode runs.threshold runs.claimed_to
    epics.checkpoint_interval epics.wip_interval epics.resume_threshold epics.start_command
    scrub.rules scrub.allow scrub.known_values scrub.known_files mail.command mail.to
'
complete -c gt-recover -n '__fish_seen_subcommand_from install' -a 'shim timer patrol plugin hooks binding'
complete -c gt-recover -n '__fish_seen_subcommand_from uninstall' -a 'timer patrol plugin hooks binding'
complete -c gt-recover -n '__fish_seen_subcommand_from help' -a "$__gt_recover_commands"

complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from snapshot arm disarm patrol startup release run epic' -s n -l dry-run -d 'show what would be done, change nothing'
complete -c gt-recover -n '__gt_recover_bare' -l all -d 'everything that can be recovered'
complete -c gt-recover -n '__gt_recover_bare' -l respawn -d 'replace an idle shell by the agent, instead of starting it inside'
complete -c gt-recover -n '__gt_recover_bare' -l force -d 'with SESSION'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from epic' -s y -l yes -d 'do not ask'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from epic' -l no-input -d 'never ask'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from context prompt' -l conversation -x -a 'none' -d 'which conversation is the agent'\''s, where that is in doubt'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from prompt' -l via -x -a 'auto resume inject' -d 'how the context goes back'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from context prompt' -l scope -x -a 'task lines' -d 'how much of the conversation is taken'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from list context prompt arm' -l include-infra -d 'also Gas Town'\''s mayor, deacon, witness, refinery, boot and crew'
complete -c gt-recover -n '__fish_seen_subcommand_from list' -l names -d 'session names alone, one a line'
complete -c gt-recover -n '__fish_seen_subcommand_from list' -l fleet -d 'also the agents of the other hosts that share the store, as those saw them last'
complete -c gt-recover -n '__fish_seen_subcommand_from list' -l past -d 'recent conversations instead, and the command that resumes each'
complete -c gt-recover -n '__fish_seen_subcommand_from parse' -l agent -x -a 'claude codex gemini opencode copilot qwen auggie cline pi cursor-agent amp' -d 'whose screen or record it is (claude)'
complete -c gt-recover -n '__fish_seen_subcommand_from parse' -l transcript -d 'the input is the agent'\''s own record, not a screen'
complete -c gt-recover -n '__fish_seen_subcommand_from hook install uninstall' -l agent -x -a 'claude codex gemini qwen copilot opencode' -d 'whose hooks'
complete -c gt-recover -n '__fish_seen_subcommand_from scrub' -l report -d 'also kinds, rows and counts as JSON, on standard error'
complete -c gt-recover -n '__fish_seen_subcommand_from scrub' -l check -d 'print nothing'
complete -c gt-recover -n '__fish_seen_subcommand_from scrub' -l no-known -d 'the rules alone, not the secrets of your environment and files'
complete -c gt-recover -n '__fish_seen_subcommand_from install uninstall' -l print -d 'write to standard output, touch no file'
complete -c gt-recover -n '__fish_seen_subcommand_from log stats run' -l since -x -d 'only what is younger, as in 7d or 12h'
complete -c gt-recover -n '__fish_seen_subcommand_from log' -l verify -d 'compare events.jsonl with the store'
complete -c gt-recover -n '__fish_seen_subcommand_from startup run' -l mode -x -a 'stale all none' -d 'which runs are settled'
complete -c gt-recover -n '__fish_seen_subcommand_from startup run' -l threshold -x -d 'a run is stale after so many seconds (300)'
complete -c gt-recover -n '__fish_seen_subcommand_from message' -l undelivered -d 'only messages on their way or without their answer'
complete -c gt-recover -n '__fish_seen_subcommand_from lock' -l lease -x -d 'held for so many seconds after it was last renewed (300)'
complete -c gt-recover -n '__fish_seen_subcommand_from epic' -l sprints -x -d 'only the sprints at these places, as in 2,3'
complete -c gt-recover -n '__fish_seen_subcommand_from epic' -l output -r -F -d 'write to a private file, not to standard output'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from list context prompt snapshot arm disarm patrol startup release epic doctor config install uninstall' -s L -l socket -x -d 'only this tmux socket (name or path)'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from list context prompt snapshot arm disarm patrol startup release log stats run runner session agent message epic checkpoint lock hook doctor config install uninstall' -l town -x -a '(__fish_complete_directories)' -d 'the Gas Town to work in'
complete -c gt-recover -n '__gt_recover_bare; or __fish_seen_subcommand_from list context prompt snapshot arm disarm patrol startup release log stats run runner session agent message epic checkpoint lock hook doctor scrub config install uninstall' -l config -r -F -d 'instead of the town'\''s or your own gt.toml'
complete -c gt-recover -l json -d 'one JSON object on standard output'
complete -c gt-recover -s q -l quiet -d 'no progress'
complete -c gt-recover -s v -l verbose -d 'more progress'
complete -c gt-recover -l color -x -a 'auto always never' -d 'auto, always or never'
complete -c gt-recover -s h -l help -d 'help, also for a command'
complete -c gt-recover -s V -l version -d 'the version'
