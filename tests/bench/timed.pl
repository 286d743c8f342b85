# Shared by the benches of single calls: wall time and processor time of a whole process, in a home of its own.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Time::HiRes qw(time);

our $dir = tempdir(CLEANUP => 1);
delete @ENV{grep { /^(?:GT_|TMUX)/ } keys %ENV};
@ENV{qw(HOME XDG_STATE_HOME XDG_CONFIG_HOME)} = ($dir, "$dir/state", "$dir/config");

sub input {	# NAME TEXT: its path
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
		open STDOUT, '>', "$dir/stdout" or die "$dir: $!\n";
		exec @command or die "$command[0]: $!\n";
	}
	waitpid $pid, 0;
	die "@command answers $?\n" if $? != 0;
	my @after = times;
	return ((time - $wall) * 1000, ($after[2] + $after[3] - $before[2] - $before[3]) * 1000);
}

sub head { printf "%-44s %8s %8s %8s\n", $_[0], 'p50 ms', 'p99 ms', 'cpu ms' }

sub row {	# NAME RUNS INPUT COMMAND...: ms of processor each
	my ($name, $runs, @rest) = @_;
	my (@wall, $cpu);
	for (1 .. $runs) {
		my ($w, $c) = run(@rest);
		push @wall, $w;
		$cpu += $c;
	}
	@wall = sort { $a <=> $b } @wall;
	printf "%-44s %8.1f %8.1f %8.1f\n", $name, $wall[$runs / 2], $wall[$runs * 99 / 100], $cpu / $runs;
	return $cpu / $runs;
}

1;
