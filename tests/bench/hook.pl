#!/usr/bin/perl
# How long an agent waits for `gt-recover hook`, before a tool: wall time and processor time of the whole process, in a store of its own, against
# a program that does nothing. Then verbs and hooks in larger and larger stores, against those in the smallest.
# hook.pl PROGRAM [RUNS]. Nothing fails for being slow; what went to the spool is said.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);

require(dirname(abs_path($0)) . '/timed.pl');
our $dir;
my ($program, $runs) = (abs_path($ARGV[0] // die "hook.pl PROGRAM [RUNS]\n"), $ARGV[1] // 300);
my $talk = '11111111-2222-4333-8444-555555555555';

my $start = input('start', qq({"session_id":"$talk","cwd":"$dir","source":"startup"}));
my $bash = input('bash', qq({"session_id":"$talk","cwd":"$dir","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"make"}}));
my $large = input('large', qq({"session_id":"$talk","cwd":"$dir","tool_name":"Write","tool_use_id":"t","tool_input":{"file_path":"$dir/a","content":") .
    'a line of a file\n' x 60000 . '"}}');

run('/dev/null', $program, 'install', 'hooks', '-q');
run($start, $program, 'hook', 'SessionStart');
head("$runs hooks each");
row('a program that does nothing', $runs, '/dev/null', '/bin/true');
row('hook PreToolUse', $runs, $bash, $program, 'hook', 'PreToolUse');
row('hook PreToolUse, Write of 1 MB', $runs, $large, $program, 'hook', 'PreToolUse');

sub spooled {
	open my $spool, '<', "$dir/state/gt-recover/spool" or return 0;
	return scalar(() = <$spool>);
}
printf "%d of %d went to the spool\n", spooled(), 2 * $runs;

# ---- what a verb costs must not grow with the store ----
my $root = dirname(dirname(dirname(abs_path($0))));
system('make', '-s', '-C', $root, 'build/bench-startup') == 0 or die "bench-startup is not built\n";
my $run = input('run', '{"session_id":"ses_bench","prompt":"Go through the open issues."}');
my $record = input('record', '{"agent_uuid":"bench","provider_name":"claude","workspace_path":"/tmp"}');
my @verbs = (
	['run create', $run, 'run', 'create'],
	['session record', $record, 'session', 'record'],
	['session list', '/dev/null', 'session', 'list'],
	['hook PreToolUse', $bash, 'hook', 'PreToolUse'],
);
my %first;
$runs = $runs < 200 ? 20 : int($runs / 10);
for my $size (100, 10_000, 100_000) {
	my $state = "$dir/state/gt-recover";
	system('rm', '-rf', "$dir/state") == 0 or die "$dir: $?\n";
	mkdir $_, 0700 or die "$_: $!\n" for "$dir/state", $state;
	system("$root/build/bench-startup", $state, 0, $size, 0) == 0 or die "no store was made\n";
	run($start, $program, 'hook', 'SessionStart');
	run('/dev/null', $program, 'session', 'list');
	head("$size runs in the store, $runs times each");
	for (@verbs) {
		my ($name, $in, @verb) = @$_;
		my $cpu = row($name, $runs, $in, $program, @verb);
		$first{$name} //= $cpu;
		printf "%44s %8.2f times that of the smallest store\n", '', $cpu / $first{$name};
	}
	printf "%d of %d hooks went to the spool\n", spooled(), $runs;
}
