#!/bin/bash
# systemd-analyze verify accepts the units that `install timer` writes, with awkward arguments, too.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
command -v systemd-analyze >/dev/null || skip_all 'systemd-analyze is not installed'
# a user manager that answers, and does nothing
printf '#!/bin/sh\nexit 0\n' >"$W/bin/systemctl"
chmod 755 "$W/bin/systemctl"

verify() {
	local units=("$XDG_CONFIG_HOME"/systemd/user/*)
	ANALYZED=$(systemd-analyze --user verify "${units[@]}" 2>&1 </dev/null)
}
gt install timer
is "$RC" 0 'install timer'
gt install timer patrol
is "$RC" 0 'install timer patrol'
like "$(echo "$XDG_CONFIG_HOME"/systemd/user/*)" 'patrol.service .*patrol.timer .*snapshot.service .*snapshot.timer .*startup.service' 'the units'
ok 'systemd-analyze verify accepts them' verify
is "$ANALYZED" '' '  without a word'

touch "$W/50% \$HOME.toml"
gt install timer patrol --config "$W/50% \$HOME.toml" -L 'a b;c'
is "$RC" 0 'with a percent sign, a dollar and blanks'
ok '  systemd-analyze verify accepts them' verify
is "$ANALYZED" '' '  without a word'

# the test itself: a unit that systemd does not understand is refused
printf 'NoSuchKey=1\n[Service]\nExecStart=relative\n' >>"$XDG_CONFIG_HOME/systemd/user/gt-recover-patrol.service"
verify
like "$ANALYZED" 'patrol.service' 'a broken unit is noticed'
done_testing
