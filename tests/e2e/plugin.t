#!/bin/bash
# The tmux plugin, in a real tmux with a client: one key opens the picker in a popup, and the status line shows how many agents crashed.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/term.sh
. "$ROOT/tests/e2e/term.sh"
PLUGIN=$ROOT/gt-recover.tmux
mkdir -p "$XDG_CONFIG_HOME/gt-recover"
printf '[recovery]\nspacing = "0s"\n' >"$XDG_CONFIG_HOME/gt-recover/gt.toml"
ln -s -- "$GT_RECOVER" "$W/bin/gt-recover"

# As tpm does by run-shell, which in 3.3a may miss the end of its child and wait for ever.
plugin() {
	TMUX=$(tm display-message -p '#{socket_path},#{pid},0') "$PLUGIN"
}
set_options() {	# NAME VALUE...
	while [ $# -gt 0 ]; do
		tm set-option -g "$1" "$2"
		shift 2
	done
}
prefix_key() {	# KEY: what it is bound to
	tm list-keys -T prefix | grep -E -- "-T prefix +$1 "
}
shown() {	# EXTENDED-REGEXP: on the client's terminal
	term_screen | grep -Eq -- "$1"
}

ok 'an agent works' start_agent toast --scenario "$DATA/work.scenario"
ok '  and a person sits at another window' tm new-session -d -s desk -x 100 -y 28
hooks=$(tm show-hooks -g) options=$(tm show-options -g | grep -v '^status-right ' ; tm show-options -gw)
set_options status-right '#{gt_recover} | end' status-right-length 60 status-interval 1
plugin
like "$(prefix_key R)" 'display-popup .*gt-recover' 'prefix R opens a popup'
is "$(tm show-options -gv status-right)" "#('gt-recover' status) | end" 'the segment is a job'
before=$(tm list-keys; tm show-options -g)
plugin
is "$(tm list-keys; tm show-options -g)" "$before" 'a second run changes nothing'
set_options status-right '' status-right-length 40 status-interval 15
is "$(tm show-hooks -g)" "$hooks" 'no hook is set'
is "$(tm show-options -g | grep -v '^status-right ' ; tm show-options -gw)" "$options" 'nor an option'
set_options status-right "#('gt-recover' status) | end" status-right-length 60 status-interval 1

# ---- a real client ----
gt snapshot -L main
term_start 100 30
term respawn-pane -k -t term: env -u TMUX tmux -u -L main -f /dev/null attach -t '=desk'
ok 'a client attaches' until_ 10 shown '\| end'
unlike "$(term_screen)" 'crashed' 'no agent crashed: the segment is empty'
ok 'the agent is killed' kill_agent toast
ok 'the segment counts it' until_ 20 shown '1 crashed \| end'
term_keys C-b R
ok 'the key opens the picker in a popup' until_ 20 shown 'toast'
ok '  with a preview' until_ 20 shown 'test 7 ok|run the tests'
term_keys Enter
ok 'it is recovered from there' until_ 60 messages_are toast 1
ok '  and the popup stays' until_ 30 shown 'Press Enter to close'
term_keys Enter
ok '  until a key is pressed' until_ 10 eval '! shown "Press Enter to close"'
ok 'the segment is empty again' until_ 20 eval '! shown crashed'

# ---- settings ----
tm unbind-key R
tm bind-key R source-file '/dev/null'
bound=$(prefix_key R)
plugin
is "$(prefix_key R)" "$bound" 'a key in use is left alone'
ok '  which the plugin says' eval 'tm show-messages | grep -q "prefix R is bound already"'
# later versions have a use for prefix g
tm unbind-key R \; unbind-key g
set_options @gt-recover-key g
plugin
like "$(prefix_key g)" 'display-popup' 'another key'
is "$(prefix_key R)" '' '  instead of the first'
tm unbind-key g
set_options @gt-recover-key none
plugin
is "$(tm list-keys -T prefix | grep -c 'gt-recover')" 0 'none binds no key'
set_options @gt-recover-program /nonexistent/gt-recover @gt-recover-key R
plugin
is "$(prefix_key R)" '' 'without the program nothing is bound'
done_testing
