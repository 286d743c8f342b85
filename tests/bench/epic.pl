#!/usr/bin/perl
# What a checkpoint costs, and `epic status` with a hundred epics of twenty sprints: whole processes, on SQLite and, where redis-server is installed,
# on Redis with appendfsync always. epic.pl PROGRAM [RUNS]. Nothing fails for being slow; the seed's bound for a checkpoint is 100 ms.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use JSON::PP;

require(dirname(abs_path($0)) . '/timed.pl');
our $dir;
my ($program, $runs) = (abs_path($ARGV[0] // die "epic.pl PROGRAM [RUNS]\n"), $ARGV[1] // 200);
my ($epics, $sprints) = (100, 20);
my $then = '2025-10-10T20:45:30Z';
my $json = JSON::PP->new->canonical;
my $redis;

END {
	if ($redis) {
		local $?;
		kill 'TERM', $redis;
		waitpid $redis, 0;
	}
}

sub sprint {	# as large as a sprint gets after some work
	my ($epic, $n) = @_;
	return { epicId => $epic, status => 'in_progress', phase => 'Loop 3', progress => 40, startTime => $then, lastCheckpoint => $then,
		agents => [{ id => "coder-$epic-$n", status => 'active', task => 'Write the middleware' }],
		filesWritten => [map { { path => "src/part$n/file$_.ts", completed => JSON::PP::true, confidence => .9 } } 1 .. 10],
		filesInProgress => [{ path => "src/part$n/next.ts", completed => JSON::PP::false, nextSection => 'refresh', currentLine => 127 }],
		confidence => { loop3 => .82, loop2 => undef } };
}

sub agent {
	my ($epic, $n) = @_;
	return { sprintId => "$epic-$n", epicId => $epic, currentTask => 'Write the middleware', lastHeartbeat => $then,
		taskProgress => { subtasksCompleted => ['a', 'b'], subtasksRemaining => ['c', 'd'] } };
}

# What `epic import` takes.
sub dump_of {
	my ($epic) = @_;
	my %records = ("epic:$epic:state" => { epicId => $epic, name => "Epic $epic", status => 'in_progress', startTime => $then, lastCheckpoint => $then,
		sprints => [map { { id => "$epic-$_", status => 'in_progress', progress => 40 } } 1 .. $sprints] });
	for (1 .. $sprints) {
		$records{"sprint:$epic-$_:state"} = { sprintId => "$epic-$_", %{sprint($epic, $_)} };
		$records{"agent:coder-$epic-$_:state"} = agent($epic, $_);
	}
	return $json->encode({ schema_version => 1, records => \%records });
}

sub measure {
	my ($store) = @_;
	run(input('dump', dump_of("e$_")), $program, '-q', 'epic', 'import') for 1 .. $epics;
	row("checkpoint sprint, $store", $runs, input('sprint', $json->encode(sprint('e1', 1))), $program, 'checkpoint', 'sprint', 'e1-1');
	row("checkpoint agent, $store", $runs, input('agent', $json->encode(agent('e1', 1))), $program, 'checkpoint', 'agent', 'coder-e1-1');
	row("epic status, $epics epics x $sprints sprints, $store", $runs / 10, '/dev/null', $program, '-q', 'epic', 'status');
	open my $out, '<', "$dir/stdout" or die "$dir: $!\n";
	my ($found) = <$out> =~ /^Found (\d+)/;
	die "epic status finds " . ($found // 'none') . "\n" if ($found // 0) != $epics;
}

sub start_redis {
	my $pid = fork // die "fork: $!\n";
	if ($pid == 0) {
		open STDOUT, '>', '/dev/null';
		exec qw(redis-server --port 0 --unixsocketperm 700 --appendonly yes --appendfsync always --daemonize no), '--unixsocket', "$dir/sock",
			'--dir', $dir, '--save', '' or exit 127;
	}
	$redis = $pid;
	for (1 .. 300) {
		return if -S "$dir/sock" && system("redis-cli -s '$dir/sock' ping >/dev/null 2>&1") == 0;
		select undef, undef, undef, .1;
	}
	die "redis-server does not answer\n";
}

my ($load) = split / /, do { open my $f, '<', '/proc/loadavg' or die "/proc: $!\n"; <$f> };
print "load of the machine before: $load\n";
head("$runs of each");
row('a program that does nothing', $runs, '/dev/null', '/bin/true');
measure('SQLite');
if (system('command -v redis-server redis-cli >/dev/null 2>&1') != 0) {
	print "Redis: left out, redis-server is not installed\n";
	exit 0;
}
start_redis();
mkdir "$dir/config" and mkdir "$dir/config/gt-recover" or die "$dir: $!\n";
$ENV{XDG_STATE_HOME} = "$dir/other";
input('config/gt-recover/gt.toml', qq([recovery]\nstate = "redis+unix://$dir/sock"\n));
measure('Redis');
