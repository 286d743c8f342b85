#!/bin/bash
# A systemd user manager of this test's own: it accepts the units of `install timer patrol`, and they bring an agent back.
# shellcheck source=tests/world/person.sh
. "$(dirname "$0")/person.sh"
for program in systemctl systemd-analyze; do
	command -v $program >/dev/null || skip_all "$program is not installed"
done
person || exit 1

RUNTIME=/run/user/$(id -u $PERSON)
rm -rf "$RUNTIME"
mkdir -p "$RUNTIME"
chown $PERSON: "$RUNTIME"
chmod 700 "$RUNTIME"

# a user manager refuses to run where systemd is not the first process
mkdir -p /run/systemd/system
# A control group of its own, which systemd wants to write to.
group=''
for at in /sys/fs/cgroup/unified /sys/fs/cgroup; do
	[ -z "$group" ] && [ -e $at/cgroup.procs ] && group=$at/gt-world.$$
done
manager_answers() {
	as systemctl --user show-environment >/dev/null 2>&1
}
end_group() {
	person_ends
	rmdir /run/systemd/system
	[ -z "$group" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
	_cleanup
}
trap end_group EXIT
if [ -n "$group" ] && mkdir "$group" 2>/dev/null; then
	chown -R $PERSON: "$group"
	(
		echo "$BASHPID" >"$group/cgroup.procs"
		exec >"$W/manager" 2>&1
		as /lib/systemd/systemd --user
	) &
	PIDS=($!)
	until_ 15 manager_answers
fi
manager_answers || skip_all "no systemd user manager can run here: $(tail -n 1 "$W/manager" 2>/dev/null || echo 'no control group')"

RC=0
OUT=$(as gt-recover install timer patrol 2>&1) || RC=$?
is "$RC" 0 'install timer patrol succeeds'
[ "$RC" = 0 ] || note "$OUT"
ok '  with a timer that runs' as systemctl --user --quiet is-active gt-recover-patrol.timer
ok 'an agent is typed and works' person_types
ok '  and is seen' person_seen
ok 'killed, it is back within two minutes' person_comes_back 130
as systemctl --user status 'gt-recover*' --no-pager 2>&1 | head -n 20 | sed 's/^/# /'
done_testing
