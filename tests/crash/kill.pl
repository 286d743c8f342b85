#!/usr/bin/perl
# What happens in kill.t.
use strict;
use warnings;
use File::Basename qw(dirname);
use File::Path qw(remove_tree);

require(dirname(__FILE__) . "/verbs.pl");
our ($w, $preload, @verbs);

# In a check these verbs die, in each of the ways at about MOST of the calls that change something, and at every STRIDE-th of the others.
# KILL_ALL: all verbs, at all calls, in both ways.
my %few = map { $_ => 1 } qw(record record-first record-backup record-256th send recover startup checkpoint-sprint import install-hooks install-binding);
my ($most, $stride) = (25, 16);
my $all = $ENV{KILL_ALL};
my $kills = 0;

# Each point: what it is called, whether the call changes something, and how a run comes to die there.
my %ways = (
	strace => sub {
		my ($verb) = @_;
		return map { my ($name, $n, $changes) = @$_;
			{ name => "$name $n", changes => $changes, how => sub { through_strace($name, $n, "signal=KILL") } } } calls_traced($verb);
	},
	preload => sub {
		my ($verb) = @_;
		my $n = 0;
		return map { my ($name, $file, $at) = (@$_, ++$n);
			my @points = ({ name => "$at, $name $file", changes => $name =~ /\+$/ ? 1 : 0, how => sub { (env => loaded($_[0], "*:$at=kill")) } });
			push @points, { name => "$at, half of $name $file", changes => 1, how => sub { (env => loaded($_[0], "*:$at=half")) } } if $name eq "write+";
			@points } calls_loaded($verb);
	},
);

# "" or what is wrong with a run that died there. `spoil` does harm to what it left.
sub die_at {
	my ($verb, $point, $spoil) = @_;
	my $state = scene($verb);
	my $r = run($state, $verb->[1], $verb->[2], $point->{how}->($state));
	my $wrong;
	if ($r->{signal} ne "9") {
		$wrong = "it was not killed: $r->{code} ($r->{signal}) $r->{err}";
	} else {
		$kills++;
		$spoil->($state) if $spoil;
		my $left = left($verb, $state);
		$wrong = $left =~ /^(?:before|after)$/ ? again($verb, $state, $left) : $left;
	}
	remove_tree($state);
	return $wrong;
}

my @can = grep { $_ eq "strace" ? can_trace() : -e $preload } qw(strace preload);
skip("strace may not trace here, or is not there") unless grep { $_ eq "strace" } @can;
skip("build/file-fault.so is not built (make fake)") unless grep { $_ eq "preload" } @can;
for my $verb (grep { $all || $few{$_->[0]} } @verbs) {
	made($verb);
	for my $way (@can) {
		my @points = $ways{$way}->($verb);
		my $changes = grep { $_->{changes} } @points;
		my ($n, $wrong, $before) = (0, 0, $kills);
		# the ways begin at different calls
		my ($step, $turn) = (int($changes / $most) + 1, $way eq $can[0] ? 0 : 1);
		ok($changes >= 8, "$verb->[0], $way: @{[scalar @points]} calls, $changes of which change something") or next;
		for my $point (@points) {
			next unless $all || ($point->{changes} ? $turn++ % $step == 0 : $n++ % $stride == 0);
			my $why = die_at($verb, $point) or next;
			$wrong++;
			note("$verb->[0], killed by $way at $point->{name}: $why");
		}
		ok($wrong == 0, "$verb->[0], killed by $way @{[$kills - $before]} times: whole or not at all, and asked again it is done once");
	}
}
# A maker of the state directory who was killed before he synced its name: who comes next does it, before there is a record.
if (grep { $_ eq "preload" } @can) {
	my $state = scene(["record-first", "", "", { scene => "empty" }]);
	my ($name) = $state =~ m{([^/]+)$};
	mkdir "$state/gt-recover", 0700 or die "$state: $!";
	unlink "$w/calls";
	run($state, $verbs[0][1], $verbs[0][2], env => loaded($state, undef, "$w/calls"));
	my ($before) = slurp("$w/calls") =~ /^(.*?)^write\+ recover\.db$/ms;
	ok(defined $before && $before =~ /^fsync\+ \Q$name\E$/m && $before =~ /^fsync\+ gt-recover$/m, "names of directories are synced before there is a record");
	remove_tree($state);
}

# Whether harm would be found: a journal that is lost takes away what makes half a commit none, a log that is lost cannot be made anew.
my $verb = $verbs[0];
my $found = 0;
for my $point (grep { $_->{changes} } $ways{$can[-1]}->($verb)) {
	last if $found || die_at($verb, $point, sub { unlink "$_[0]/gt-recover/recover.db-journal" }) =~ /half|cannot be read|ends with/ && $found++;
}
ok($found, "a commit whose journal is lost is found");
note("$kills kills, by " . join(" and ", @can));
done_testing();
