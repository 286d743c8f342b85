#!/usr/bin/perl
# What happens in fail.t.
use strict;
use warnings;
use File::Basename qw(dirname);
use File::Path qw(remove_tree);

require(dirname(__FILE__) . "/verbs.pl");
our ($w, $preload, @verbs);

# In a check each verb meets each fault once or twice, and these verbs meet it everywhere. FAIL_ALL: all do.
my %few = map { $_ => 1 } qw(record-first send);
my $all = $ENV{FAIL_ALL};
my $page = 4096;
my $runs = 0;
my %failed;

# "" or what is wrong with a run that met a fault. good: code 0 is right when the change is there.
sub judge {
	my ($verb, $state, $r, $good) = @_;
	my $left = left($verb, $state);
	$runs++;
	return $left unless $left =~ /^(?:before|after)$/;
	return "it was killed ($r->{signal})" if $r->{signal};
	return $left eq "after" ? "" : "it acknowledged a change that is not there" if $r->{code} == 0 && $good;
	return "it ends with 0" if $r->{code} == 0;
	$failed{$verb->[0]}++;
	return "it ends with $r->{code}" unless $r->{code} == 1 || $r->{code} == 75;
	return "it answers on standard output: $r->{out}" if $r->{out} ne "";
	# one of several steps tells of those that it has done, too
	my $err = $verb->[3]{steps} ? $r->{err} =~ s/\A(?!gt-recover: ).*?^(?=gt-recover: )//msr : $r->{err};
	return "it does not say what to do: $r->{err}" unless $err =~ /^(?:(?:gt-recover: [\w\/].{12,}\n)+  \w.{10,}\n)+$/;
	return "it was refused, and its change is there: $r->{err}" if $left eq "after" && $r->{err} !~ /did not confirm|cannot be synced|out of memory/;
	return again($verb, $state, $left);
}

# Each fault: (verb, one or all places) -> what is wrong at which place.

# A call answers an error.
sub answered {
	my ($verb, $faults) = @_;
	my @wrong;
	for my $fault (@$faults) {
		my ($spec, $good) = @$fault;
		my $state = scene($verb);
		my $r = run($state, $verb->[1], $verb->[2], env => loaded($state, $spec));
		my $why = judge($verb, $state, $r, $good);
		push @wrong, "$spec: $why" if $why;
		remove_tree($state);
	}
	return @wrong;
}

# The event log and the backup are made from the store, and made again: they fail without the verb. SQLite overhears errors of a directory.
sub sync_fails {
	my ($verb, $everywhere) = @_;
	my @syncs = grep { $_->[0] eq "fsync+" } calls_loaded($verb);
	my @places = $everywhere ? 1 .. @syncs : (grep { $syncs[$_ - 1][1] !~ /^(?:recover\.db.*|events.*)$/ ? 0 : 1 } 1 .. @syncs)[0, -1];
	return answered($verb, [["fsync+:1+=eio", 0], map {
		my $file = $syncs[$_ - 1][1];
		["fsync+:$_=eio", $file !~ /^recover\.db(?:-journal)?$/] } @places]);
}

sub full_by_library {
	my ($verb, $everywhere) = @_;
	my $names = "write+,open+,mkdir+";
	my @calls = calls_loaded($verb);
	my @grows = grep { $calls[$_][0] =~ /^(?:write|open|mkdir)\+$/ } 0 .. $#calls;
	# once the store has it, what follows is made from it
	my ($done) = grep { $calls[$_][0] eq "truncate+" && $calls[$_][1] eq "recover.db-journal" } reverse 0 .. $#calls;
	my @places = $everywhere ? 1 .. @grows : (1, int(@grows / 2));
	return answered($verb, [map { ["$names:$_+=enospc", $grows[$_ - 1] > ($done // -1) || $calls[$grows[$_ - 1]][1] =~ /backup/] } @places]);
}

# Nothing failed of it, the event log and the backup neither.
sub works { return $_[0]{code} == 0 && $_[0]{err} !~ /^gt-recover: /m }

sub through_limit { return (through => ["bash", "-c", "ulimit $_[0] && exec \"\$@\"", "bash"]) }

# The lowest limits that let it begin, and speak on a file, until it works.
sub limited {
	my ($verb, $option, $from, $step, $most) = @_;
	my @wrong;
	for (my $n = $from; $n <= $most; $n += $step) {
		my $state = scene($verb);
		my $r = run($state, $verb->[1], $verb->[2], through_limit("$option $n"));
		my $why = judge($verb, $state, $r, 1);
		push @wrong, "ulimit $option $n: $why" if $why;
		remove_tree($state);
		return @wrong if works($r);
	}
	return (@wrong, "ulimit $option $most is not enough");
}

sub no_descriptors { my ($verb, $everywhere) = @_; return limited($verb, "-n", 4, $everywhere ? 1 : 2, 20) }
sub files_limited { my ($verb, $everywhere) = @_; return limited($verb, "-f", 4, $everywhere ? 4 : 24, 200) }

# A file system of its own, with so many bytes left.
sub fill {
	my ($disk, $left) = @_;
	open my $f, ">", "$disk/filler" or die "$disk/filler: $!";
	1 while (syswrite($f, "x" x $page) // 0) == $page;
	my $size = -s $f;
	truncate $f, $size > $left ? $size - $left : 0 or die "$disk/filler: $!";
	close $f;
}

my $disk = "$w/disk";
sub mounted {
	my ($verb, $break, $mend, $good) = @_;
	system("mount", "-t", "tmpfs", "-o", "size=2m", "gtr-test", $disk) == 0 or die "no tmpfs on $disk";
	mkdir "$disk/state" or die "$disk/state: $!";
	my $state = scene($verb, "$disk/state");
	$break->();
	my $r = run($state, $verb->[1], $verb->[2]);
	# what it left can be looked at as it is; the same command must work when there is room again
	my $whole = left($verb, $state);
	$mend->();
	my $why = $whole =~ /^(?:before|after)$/ ? judge($verb, $state, $r, $good) : $whole;
	system("umount", $disk) == 0 or die "$disk cannot be unmounted";
	return ($why, works($r));
}

sub full {
	my ($verb, $everywhere) = @_;
	my @wrong;
	for (my $pages = 0; $pages < 100; $pages += $everywhere ? 1 : 4) {
		my ($why, $works) = mounted($verb, sub { fill($disk, $pages * $page) }, sub { unlink "$disk/filler" }, 1);
		push @wrong, "$pages pages left: $why" if $why;
		return @wrong if $works;
	}
	return (@wrong, "a hundred pages are not enough");
}

sub read_only {
	my ($verb) = @_;
	my ($why) = mounted($verb, sub { system("mount", "-o", "remount,ro", $disk) == 0 or die "no remount" },
		sub { system("mount", "-o", "remount,rw", $disk) == 0 or die "no remount" }, 0);
	return $why ? $why : ();
}

# The answer cannot be written: not acknowledged, though it is done.
sub deaf {
	my ($verb) = @_;
	my $state = scene($verb);
	my $r = run($state, "$verb->[1] --json", $verb->[2], out => "/dev/full");
	my $left = left($verb, $state);
	$runs++;
	my $why = $left ne "after" ? $left : $r->{code} != 1 || $r->{err} !~ /could not be written to standard output/ ? "$r->{code}: $r->{err}" :
		again($verb, $state, $left);
	remove_tree($state);
	return $why ? $why : ();
}

# The machine is short of something when a file is opened.
sub short_by_library {
	my ($verb, $everywhere) = @_;
	my @calls = calls_loaded($verb);
	my @opens = grep { $calls[$_][0] =~ /^open\+?$/ } 0 .. $#calls;
	my ($done) = grep { $calls[$_][0] eq "truncate+" && $calls[$_][1] eq "recover.db-journal" } reverse 0 .. $#calls;
	my @places = $everywhere ? 1 .. @opens : (1, int(@opens / 2));
	my $turn = 0;
	# an answer of 0 is right where the change is there all the same
	return answered($verb, [map { my $what = (qw(emfile enfile enomem))[$turn++ % 3]; ["open,open+:$_+=$what", 1] } @places]);
}

# No memory from the N-th request on, until it works.
sub no_memory {
	my ($verb, $everywhere) = @_;
	my @wrong;
	for (my $n = 1; $n < 1e6; $n = int($n * ($everywhere ? 1.4 : 3)) + 1) {
		my $state = scene($verb);
		my $r = run($state, $verb->[1], $verb->[2], env => { %{loaded($state)}, MEMORY_FAULT => $n });
		# the C library's own start cannot say more
		my $why = $r->{err} =~ /error while loading|^$/ && $r->{code} == 127 ? left($verb, $state) : judge($verb, $state, $r, 1);
		push @wrong, "request $n: $why" if $why && $why ne "before";
		remove_tree($state);
		return @wrong if works($r);
	}
	return (@wrong, "a million requests are not enough");
}

my @faults = (
	["EIO of fsync", \&sync_fails, "preload"],
	["ENOSPC by the library", \&full_by_library, "preload"],
	["EMFILE, ENFILE and ENOMEM by the library", \&short_by_library, "preload"],
	["no memory", \&no_memory, "memory"],
	["a limit of descriptors", \&no_descriptors],
	["a limit of file sizes", \&files_limited],
	["a full disk", \&full, "mount"],
	["a read-only file system", \&read_only, "mount"],
	["a standard output that is full", \&deaf],
);

my %can = (preload => -e $preload, mount => $ENV{MOUNTS}, memory => -e $preload && $ENV{GT_RECOVER} !~ m{/san/});
my %why_not = (memory => "the library cannot stand before a sanitizer's memory",
	preload => "build/file-fault.so is not built (make fake)", mount => "no file system may be mounted here");
for my $fault (@faults) {
	my ($name, $look, $needs) = @$fault;
	if ($needs && !$can{$needs}) {
		skip("$name: $why_not{$needs}");
		next;
	}
	my ($wrong, $before) = (0, $runs);
	%failed = ();
	for my $verb (@verbs) {
		made($verb);
		my @wrong = $look->($verb, $all || $few{$verb->[0]});
		$wrong += @wrong;
		note("$verb->[0], $name: $_") for @wrong;
	}
	my $limits = $look == \&no_descriptors || $look == \&files_limited;
	my @never = grep { !$failed{$_} } map { $_->[0] } grep { !$limits || !$_->[3]{small} } @verbs;
	ok($wrong == 0, "$name: @{[$runs - $before]} runs of @{[scalar @verbs]} verbs");
	ok(@never == 0, "$name: each verb fails of it") or note("not: @never") if $look != \&deaf;
}

# ---- those that only read ----

# A reader answers what it answers on a sound disk, with 0, or refuses with a sentence and answers nothing. must: it answers.
# What it is about, on standard error, may stand before a sentence that comes later.
my %sound;
my $progress = qr/\A(?:Connecting to the store… ✓\n)(?:Scanning for interrupted executions\.\.\.\n)?/;
sub judge_reader {
	my ($words, $r, $must) = @_;
	$runs++;
	my $err = $words =~ /^epic status / ? $r->{err} =~ s/$progress//r : $r->{err};
	return "it was killed ($r->{signal})" if $r->{signal};
	return $r->{out} eq $sound{$words} ? "" : "another answer with 0: $r->{out}" if $r->{code} == 0;
	return "it ends with $r->{code}: $r->{err}" if $must || ($r->{code} != 1 && $r->{code} != 75);
	return "it answers on standard output: $r->{out}" if $r->{out} ne "" && $r->{out} ne $sound{$words} && $r->{out} !~ /^\{\s*"schema_version": 2,\s*"error"/;
	return "it does not say what to do: $r->{err}" unless "$err$r->{out}" =~ /^(?:(?:gt-recover: [\w\/].{12,}\n)+  \w.{10,}\n)+$|"hint": "\w/;
	return "";
}

my @readers = ("session list", "session show a", "agent tree", "message list", "run list", "runner list", "lock list", "epic status e",
	"log", "stats");
my $like_any = $verbs[0];
my $healthy = scene($like_any);
for my $words (@readers) {
	my $r = run($healthy, "$words --json", "");
	ok($r->{code} == 0 && length $r->{out} > 40, "a sound disk: $words") or note($r->{err});
}
# times of the answer itself differ
sub steady {
	my ($r) = @_;
	$r->{out} =~ s/"(?:\w+_)?(?:age|seconds|ms|now)": \d+/"T": 0/g;
	return $r;
}
$sound{"$_ --json"} = steady(run($healthy, "$_ --json", ""))->{out} for @readers;

sub read_with {
	my ($name, $state, $must, %how) = @_;
	my @wrong = map {
		my $why = judge_reader("$_ --json", steady(run($state, "$_ --json", "", %how)), $must);
		$why ? "$_: $why" : ();
	} @readers;
	note($_) for @wrong;
	return ok(@wrong == 0, "$name: @{[scalar @readers]} readers");
}

if ($can{mount}) {
	for my $how (["a read-only file system", 1], ["a full disk", 0]) {
		my ($name, $ro) = @$how;
		system("mount", "-t", "tmpfs", "-o", "size=2m", "gtr-test", $disk) == 0 or die "no tmpfs on $disk";
		mkdir "$disk/state" or die "$disk/state: $!";
		my $state = scene($like_any, "$disk/state");
		my $was = records($state);
		$ro ? system("mount", "-o", "remount,ro", $disk) : fill($disk, 0);
		read_with($name, $state, 1);
		my $r = run($state, "session list", "");
		ok($r->{err} =~ /only read.*mounted read-only.*\n  \w/, "$name: a warning says so") || note($r->{err}) if $ro;
		ok($r->{err} eq "", "$name: nothing to be warned of") || note($r->{err}) if !$ro;
		ok(records($state) eq $was, "$name: nothing changed");
		system("umount", $disk) == 0 or die "$disk cannot be unmounted";
	}
} else {
	skip("readers: $why_not{mount}");
}
if ($can{preload}) {
	for my $what (qw(emfile enfile enomem eio)) {
		# each open, and each from there on
		my $wrong = 0;
		for my $n (1 .. ($all ? 24 : 8)) {
			for my $plus ("", "+") {
				for my $words ($all ? @readers : @readers[$n % @readers, ($n + 3) % @readers]) {
					my $r = steady(run($healthy, "$words --json", "", env => loaded($healthy, "open,open+:$n$plus=$what")));
					my $why = judge_reader("$words --json", $r, 0);
					$wrong++ if $why;
					note("$words, open $n$plus=$what: $why") if $why;
				}
			}
		}
		ok($wrong == 0, "\U$what\E of an open: readers answer it all or refuse");
	}
} else {
	skip("readers: $why_not{preload}");
}
if ($can{memory}) {
	my $wrong = 0;
	for my $words (@readers) {
		for (my $n = 1; $n < 1e6; $n = int($n * ($all ? 1.4 : 3)) + 1) {
			my $r = steady(run($healthy, "$words --json", "", env => { %{loaded($healthy)}, MEMORY_FAULT => $n }));
			last if $r->{code} == 0 && $r->{out} eq $sound{"$words --json"};
			next if $r->{code} == 127;
			my $why = judge_reader("$words --json", $r, 0);
			$wrong++ if $why;
			note("$words, request $n: $why") if $why;
		}
	}
	ok($wrong == 0, "no memory: readers answer it all or refuse");
} else {
	skip("readers: $why_not{memory}");
}

# Whether a program would be found out that lies, and one that says nothing.
for (["exit 0", "it acknowledged a change"], ["exit 1", "it does not say"], ["echo n; exit 1", "it answers on"]) {
	my ($does, $found) = @$_;
	my $state = scene($verbs[0]);
	my $why = judge($verbs[0], $state, run($state, $verbs[0][1], "", through => ["sh", "-c", $does, "sh"]), 1);
	ok($why =~ /^\Q$found/, "found: $does");
	remove_tree($state);
}
note("$runs runs");
done_testing();
