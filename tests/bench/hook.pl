#!/usr/bin/perl
# How long an agent waits for `gt-recover hook`, before a tool: wall time and processor time of the whole process, in a store of its own, against
# a program that does nothing. hook.pl PROGRAM [RUNS]. Nothing fails for being slow; what went to the spool is said.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Time::HiRes qw(time);

my ($program, $runs) = (abs_path($ARGV[0] // die "hook.pl PROGRAM [RUNS]\n"), $ARGV[1] // 300);
my $dir = tempdir(CLEANUP => 1);
delete @ENV{grep { /^(?:GT_|TMUX)/ } keys %ENV};
@ENV{qw(HOME XDG_STATE_HOME XDG_CONFIG_HOME)} = ($dir, "$dir/state", "$dir/config");
my $talk = '11111111-2222-4333-8444-555555555555';

sub input {	# NAME JSON: its path
	open my $out, '>', "$dir/$_[0]" or die "$dir: $!\n";
	print $out $_[1];
	close $out or die "$dir: $!\n";
	return "$dir/$_[0]";
}

sub run {	# INPUT COMMAND...: ms of wall, ms of processor
	my ($in, @command) = @_;
	my ($wall, @before) = (time, times);
	my $pid = fork // die "fork: $!\n";
	if ($pid == 0) {
		open STDIN, '<', $in or die "$in: $!\n";
		exec @command or die "$command[0]: $!\n";
	}
	waitpid $pid, 0;
	die "@command answers $?\n" if $? != 0;
	my @after = times;
	return ((time - $wall) * 1000, ($after[2] + $after[3] - $before[2] - $before[3]) * 1000);
}

sub row {	# NAME INPUT COMMAND...
	my ($name, @rest) = @_;
	my (@wall, $cpu);
	for (1 .. $runs) {
		my ($w, $c) = run(@rest);
		push @wall, $w;
		$cpu += $c;
	}
	@wall = sort { $a <=> $b } @wall;
	printf "%-34s %8.1f %8.1f %8.1f\n", $name, $wall[$runs / 2], $wall[$runs * 99 / 100], $cpu / $runs;
}

my $start = input('start', qq({"session_id":"$talk","cwd":"$dir","source":"startup"}));
my $bash = input('bash', qq({"session_id":"$talk","cwd":"$dir","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"make"}}));
my $large = input('large', qq({"session_id":"$talk","cwd":"$dir","tool_name":"Write","tool_use_id":"t","tool_input":{"file_path":"$dir/a","content":") .
    'a line of a file\n' x 60000 . '"}}');

run('/dev/null', $program, 'install', 'hooks', '-q');
run($start, $program, 'hook', 'SessionStart');
printf "%-34s %8s %8s %8s\n", "$runs hooks each", 'p50 ms', 'p99 ms', 'cpu ms';
row('a program that does nothing', '/dev/null', '/bin/true');
row('hook PreToolUse', $bash, $program, 'hook', 'PreToolUse');
row('hook PreToolUse, Write of 1 MB', $large, $program, 'hook', 'PreToolUse');
my $spooled = 0;
if (open my $spool, '<', "$dir/state/gt-recover/spool") {
	$spooled = () = <$spool>;
}
printf "%d of %d went to the spool\n", $spooled, 2 * $runs;
