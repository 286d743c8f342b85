#!/bin/bash
# An agent that the kernel killed because memory ran out is told from one that was killed: only the kernel's own record of that process
# proves it. First with records that the test writes, then with a real one.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

reason() {	# SESSION: crash_reason, as list tells it now
	gt list --json -L main
	printf '%s' "$OUT" | perl -MJSON::PP -0777 -ne '
		my ($name, %of) = ($main::name);
		BEGIN { $main::name = shift @ARGV }
		$of{$_->{name}} = $_->{crash_reason} for @{decode_json($_)->{sessions}};
		print $of{$name} // "not listed"' "$1"
}

if grep -q GT_KMSG "$GT_RECOVER"; then
	log=$W/kmsg
	export GT_KMSG=$log
	now_us() {	# on the clock of the kernel's log
		perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e 'printf "%d", clock_gettime(CLOCK_MONOTONIC) * 1e6'
	}
	killed() {	# PID COMM MICROSECONDS
		printf '3,1,%s,-;Out of memory: Killed process %s (%s) total-vm:214012kB, anon-rss:30104kB, file-rss:0kB, shmem-rss:0kB, UID:0\n' "$3" "$1" "$2"
	}
	start_agent rust
	pid=$(agent_pid rust)
	kill_agent rust
	# tmux 3.3a may have lost how it ended, and finds it when a child of its ends (T26)
	until_ 5 eval "wake; pane_is rust '#{pane_dead_signal}' 9"
	: >"$log"
	is "$(reason rust)" killed 'killed, and the kernel tells of nothing'
	killed "$((pid + 1))" claude "$(now_us)" >"$log"
	is "$(reason rust)" killed '  of another process'
	killed "$pid" cc1plus "$(now_us)" >"$log"
	is "$(reason rust)" killed '  of another program that had the number'
	killed "$pid" claude "$(($(now_us) - 7200000000))" >"$log"
	is "$(reason rust)" killed '  of a process before the agent that had its number'
	killed "$pid" claude "$(now_us)" | sed 's/^3,/14,/' >"$log"
	is "$(reason rust)" killed '  or a program wrote it, not the kernel'
	killed "$pid" claude "$(now_us)" >"$log"
	is "$(reason rust)" oom 'the kernel names the process: out of memory'

	# without the right to read it
	export GT_KMSG=$W/nothing
	printf '#!/bin/sh\nexit 1\n' >"$W/bin/journalctl"
	chmod +x "$W/bin/journalctl"
	is "$(reason rust)" killed 'unreadable is no proof'
	printf '#!/bin/sh\necho "$*" >>%s\necho "%s.000001 box kernel: Out of memory: Killed process %s (claude) total-vm:9kB, anon-rss:8kB"\n' \
		"$W/asked" "$(date +%s)" "$pid" >"$W/bin/journalctl"
	is "$(reason rust)" oom 'the journal may be read where the log may not'
	is "$(sort -u "$W/asked")" '-k -q --no-pager -o short-unix -n 20000' '  it is asked for what the kernel said'

	# the start command is a shell's, which tells of its child's end
	rm "$W/bin/journalctl"
	export GT_KMSG=$log
	start_agent wrap --command 'bash -c "claude --dangerously-skip-permissions; exit \$?"'
	pid=$(agent_pid wrap)
	kill -9 "$pid"
	until_ 5 eval "wake; pane_is wrap '#{pane_dead_status}' 137"
	is "$(reason wrap)" killed 'a shell that ends with 137: its agent was killed'
	killed "$pid" claude "$(now_us)" >"$log"
	is "$(reason wrap)" oom '  when the kernel killed its agent'

	# recovered, and killed so once more
	start_agent moss
	kill_agent moss
	gt moss -L main
	is "$RC" 0 'an agent is recovered'
	pid=$(agent_pid moss)
	ok '  and killed again' kill_agent moss
	until_ 5 eval "wake; pane_is moss '#{pane_dead_signal}' 9"
	is "$(reason moss)" killed '  by signal 9'
	killed "$pid" claude "$(now_us)" >"$log"
	is "$(reason moss)" oom '  out of memory'
	gt prompt moss -L main
	like "$OUT" 'crashed \(killed by the kernel: out of memory \(SIGKILL\)\)' '  which it is told'

	# typed into a shell that stays: nobody knows the signal
	start_agent fern --shell
	gt list -L main
	is "$RC" 0 'an agent that was typed into a shell is seen'
	pid=$(agent_pid fern)
	kill_agent fern
	is "$(reason fern)" process_died '  it dies'
	killed "$pid" claude "$(now_us)" >"$log"
	is "$(reason fern)" oom '  when the kernel names it: out of memory'

	# where the log cannot be read, the cgroup's own count is a hint, with version 1 and with version 2
	start_agent dust
	kill_agent dust
	until_ 5 eval "wake; pane_is dust '#{pane_dead_signal}' 9"
	export GT_KMSG=$W/nothing GT_CGROUP=$W/cgroup
	printf '#!/bin/sh\nexit 1\n' >"$W/bin/journalctl"
	chmod +x "$W/bin/journalctl"
	gt prompt dust -L main
	unlike "$OUT" 'Memory may have run out' 'no count, no hint'
	while IFS=: read -r _ names path; do
		case $names in
		'') mkdir -p "$W/cgroup$path" && printf 'oom 3\noom_kill 2\n' >"$W/cgroup$path/memory.events" ;;
		*memory*) mkdir -p "$W/cgroup/memory$path" && printf 'under_oom 0\noom_kill 2\n' >"$W/cgroup/memory$path/memory.oom_control" ;;
		esac
	done <"/proc/$(tm display-message -p '#{pid}')/cgroup"
	is "$(reason dust)" killed 'a count proves nothing'
	gt prompt dust -L main
	like "$OUT" 'Memory may have run out: .* it has killed 2 processes for that' '  but it is a hint'
	export GT_KMSG=$log
	gt prompt dust -L main
	unlike "$OUT" 'Memory may have run out' '  and none where the log can be read'
	rm "$W/bin/journalctl"
	unset GT_KMSG GT_CGROUP
else
	skip 'this build reads no other log than the kernel'"'"'s (make FAULTS=1)' 23
fi

# ---- a real one ----
group='' limit='' why=''
make_group() {	# a cgroup whose memory can be limited: version 2 or 1
	local base
	for base in /sys/fs/cgroup /sys/fs/cgroup/memory; do
		[ -w "$base/cgroup.procs" ] || continue
		limit=memory.max
		[ "$base" = /sys/fs/cgroup ] || limit=memory.limit_in_bytes
		mkdir "$base/gtr-test-$$" 2>/dev/null || continue
		group=$base/gtr-test-$$
		[ -w "$group/$limit" ] && return 0
		rmdir "$group"
		group=''
	done
	return 1
}
if [ ! -r /dev/kmsg ] || ! dd if=/dev/kmsg of=/dev/null bs=65536 count=1 iflag=nonblock 2>/dev/null; then
	why='the log of the kernel may not be read here'
elif ! make_group; then
	why='no cgroup may be made here that limits memory'
elif ! command -v perl >/dev/null; then
	why='perl is not installed'
fi
if [ -z "$why" ]; then
	leave() {	# RC: without the group, whatever way it ends
		[ ! -d "$group" ] || { xargs -r kill -9 <"$group/cgroup.procs" && until_ 5 rmdir "$group"; } 2>/dev/null
		(exit "$1")
		_cleanup
	}
	trap 'leave $?' EXIT
	mkdir "$W/hog"
	cp "$(command -v perl)" "$W/hog/claude"
	# shellcheck disable=SC2016	# for perl
	SOCKET=main start_agent hog --no-wait --command "$W/hog/claude -e '\$| = 1; print \"ready\\n\"; <STDIN>; \$x = q(y) x 300e6; sleep 3600'"
	ok 'a program waits in a group of its own' until_ 5 pane_shows hog ready
	pid=$(tm display-message -p -t "$(agent_pane hog)" '#{pane_pid}')
	echo "$pid" >"$group/cgroup.procs"
	echo 64M >"$group/$limit"
	for swap in memory.swap.max memory.memsw.limit_in_bytes; do
		[ ! -w "$group/$swap" ] || { echo 0 >"$group/$swap" || echo 64M >"$group/$swap"; } 2>/dev/null
	done
	tm send-keys -t "$(agent_pane hog)" Enter
	ok '  it takes more memory than there is' until_ 20 eval "wake; pane_is hog '#{pane_dead_signal}' 9"
	is "$(reason hog)" oom '  the real kernel killed it, and says so'
else
	skip "$why" 3
fi
done_testing
