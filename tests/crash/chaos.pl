#!/usr/bin/perl
# What happens in chaos.t. The seed decides which events there are, when, and whom they are meant for; what each of them meets is chance.
# Nothing here blocks: recoverers and passes run in the background, and a server that stands still is not asked anything.
use strict;
use warnings;
use File::Basename qw(dirname);
use File::Path qw(make_path);
use JSON::PP;
use POSIX qw(:sys_wait_h);
use Time::HiRes qw(time sleep clock_gettime CLOCK_MONOTONIC);

my $length = $ENV{CHAOS_SECONDS} || 30;
my $panes = $ENV{CHAOS_PANES} || 12;
my $seed = $ENV{CHAOS_SEED} || 1 + time % 1_000_000;
my ($w, $program) = @ENV{qw(W GT_RECOVER)};
my $state = "$ENV{XDG_STATE_HOME}/gt-recover";
my @layouts = qw(kept gone shell wrapper);
my $busy_most = 6;		# recoverers at a time

# All that the judge gets to see.
our %c = (seed => $seed, agents => [], runs => [], server_kills => [], count => {}, wrong => [], points => {}, codes => {}, errors => {},
	state => $state, program => $program);
our @agents;
my (%by_pid, @later, @points, $server_stopped, $point_at);
my $json = JSON::PP->new->utf8;

$| = 1;
require(dirname(__FILE__) . "/chaos_judge.pl");

sub count { $c{count}{$_[0]} += $_[1] // 1 }
sub wrong { push @{$c{wrong}}, $_[0] }
sub later { my ($in, $what) = @_; push @later, [time + $in, $what] }

sub slurp {
	my ($path) = @_;
	open my $f, "<", $path or return "";
	local $/;
	return <$f> // "";
}

sub spit {
	my ($path, $text) = @_;
	open my $f, ">", $path or die "$path: $!\n";
	print $f $text;
	close $f or die "$path: $!\n";
}

# ---- processes ----

# State and start of a process; nothing when there is none or only its remains.
sub process {
	my ($pid) = @_;
	my $stat = slurp("/proc/$pid/stat");
	return unless $stat =~ /.*\) (\S) (.*)/s;
	my ($st, @rest) = ($1, split / /, $2);
	return if $st eq "Z" or $st eq "X";
	return ($st, $rest[18]);
}

sub tmux {	# what it prints, undef when it fails; bounded
	return undef if $server_stopped;
	my $socket = $_[0] =~ /^-L/ ? substr(shift, 2) : "main";
	my $pid = open(my $out, "-|") // die "fork: $!\n";
	if ($pid == 0) {
		alarm 10;
		open STDERR, ">", "/dev/null";
		exec "tmux", "-u", "-L", $socket, @_ or POSIX::_exit(127);
	}
	my $text = do { local $/; <$out> };
	return close($out) ? $text // "" : undef;
}

# ---- agents ----

sub new_agent {
	my ($name, $layout, $socket) = @_;
	my $dir = "$w/agents/$name";
	my $command = "claude --dangerously-skip-permissions";
	my $a = { name => $name, layout => $layout, socket => $socket, dir => $dir, mark => "mark-$name-" . int(rand 1e9), lives => [], said => [], at => 0 };
	make_path("$dir/cwd");
	spit("$dir/scenario", "user Remember the word $a->{mark} for later.\nassistant I remember it and begin with the work in $name.\n" .
		"tool Bash grep -rn foo src\nresult src/a.c:3: foo();\\nsrc/b.c:1: foo();\nassistant Two calls are left.\n");
	spit("$dir/plan", join("\n", "--scenario $dir/scenario", map { rand() < .2 ? "--slow " . int(200 + rand 1500) : rand() < .06 ? "--eat-stdin" : "" }
		1 .. 200) . "\n");
	my @start = $layout eq "shell" ? () : $layout eq "wrapper" ? ("$command; exec bash --norc --noprofile") : ("exec $command");
	defined tmux("-L$socket", "new-session", "-d", "-x", 100, "-y", 30, "-s", $name, "-c", "$dir/cwd", @start, ";", "set-option", "-w", "remain-on-exit",
		$layout eq "kept" ? "on" : "off") or die "$name does not start\n";
	tmux("-L$socket", "send-keys", "-t", "=$name:", "-l", $command, ";", "send-keys", "-t", "=$name:", "Enter") if $layout eq "shell";
	push @agents, $a;
	return $a;
}

sub life { my ($a) = @_; return $a->{lives}[-1] }

sub lives {
	my ($l) = @_;
	my (undef, $start) = process($l->{pid});
	return defined $start && (!$l->{start} || $l->{start} == $start);
}

# What its log tells since the last look, and whether it still lives. An agent that begins beside a living one is the worst of all.
sub look_at {
	my ($a) = @_;
	my $now = time;
	open my $f, "<", "$a->{dir}/events" or return;
	seek $f, $a->{at}, 0;
	my $text = do { local $/; <$f> } // "";
	$text = substr($text, 0, rindex($text, "\n") + 1);
	$a->{at} += length $text;
	for (split /\n/, $text) {
		my $l = life($a);
		if (/^start (\d+)/) {
			wrong("$a->{name}: pid $1 began beside pid $l->{pid}") if $l && lives($l);
			$l->{ended} //= $now if $l;
			my (undef, $start) = process($1);
			push @{$a->{lives}}, { pid => $1, start => $start, seen => $now, since => $a->{looked} // $now, messages => 0 };
		} elsif (/^exit (\d+)/) {
			$l->{status} = $1;
		} elsif (/^message (queued )?\d+/) {
			$l->{messages}++;
		} elsif ($_ eq "ready") {
			$l->{ready} = 1;
		} elsif (/SHELL COMMAND|SLASH COMMAND|DIALOG ACCEPTED|not written/) {
			wrong("$a->{name}: $_");
		}
	}
	my $l = life($a);
	$l->{ended} = $now if $l && !$l->{ended} && !lives($l);
	$a->{looked} = $now;
}

sub look { look_at($_) for @agents }

# The living one at that place of the list, or the next.
sub choose {
	my ($r) = @_;
	my @can = grep { $_->{socket} eq "main" } @agents;
	for my $i (0 .. $#can) {
		my $a = $can[($r * @can + $i) % @can];
		look_at($a);
		my $l = life($a);
		return ($a, $l) if $l && !$l->{ended} && !$l->{killed};
	}
	return;
}

# ---- recoverers and passes ----

sub run {	# { fault => …, bare => 1 }, arguments
	my ($how, @args) = @_;
	my $n = ++$c{count}{runs};
	my $out = "$w/runs/$n";
	my $pid = fork // die "fork: $!\n";
	if ($pid == 0) {
		open STDIN, "<", "/dev/null";
		open STDOUT, ">", "$out.out";
		open STDERR, ">", "$out.err";
		%ENV = (HOME => $ENV{HOME}, TMUX_TMPDIR => $ENV{TMUX_TMPDIR}, PATH => "/usr/bin:/bin", GT_KMSG => $ENV{GT_KMSG}) if $how->{bare};	# as cron
		$ENV{GT_FAULT} = $how->{fault} if $how->{fault};
		exec $program, @args or POSIX::_exit(127);
	}
	$by_pid{$pid} = { %$how, n => $n, args => "@args", begun => time, out => $out, recovers => $args[0] ne "snapshot" };
	return $pid;
}

sub ended {	# PID status
	my ($pid, $status) = @_;
	my $r = delete $by_pid{$pid} or return;
	my $sig = $status & 127;
	$c{codes}{$sig ? "signal $sig" : "exit " . ($status >> 8)}++;
	if ($sig == 9 && !$r->{killed} && ($r->{fault} // "") =~ /^(.*)=kill/) {
		$c{points}{$1}++;
		count($r->{recovers} ? "recoverers killed at a point" : "passes killed at a point");
	} elsif ($sig && !$r->{killed}) {
		wrong("run $r->{n} ($r->{args}) ended with signal $sig: " . slurp("$r->{out}.err"));
	} elsif (!$sig && ($status >> 8) !~ /^(0|1|3|4|5|6|75)$/) {
		wrong("run $r->{n} ($r->{args}) ended with status " . ($status >> 8) . ": " . slurp("$r->{out}.err"));
	}
	for (slurp("$r->{out}.out") =~ /"error": \{\s*("name": "[a-z-]+",\s*"message": "[^"]*")/g) {
		my ($name, $words) = /"([a-z-]+)",\s*"message": "(.*)"/s;
		$c{errors}{$name}++;
		$c{example}{$name} = $words;
	}
	unlink "$r->{out}.out", "$r->{out}.err" unless $ENV{CHAOS_KEEP};
}

sub reap {
	while ((my $pid = waitpid(-1, WNOHANG | WUNTRACED)) > 0) {
		if (WIFSTOPPED(${^CHILD_ERROR_NATIVE})) {
			count("recoverers stopped at a point");
			later(.5 + rand 6, sub { kill "CONT", $pid if $by_pid{$pid} });
			next;
		}
		ended($pid, $?);
	}
}

sub recoverers { return grep { $by_pid{$_}{recovers} } keys %by_pid }

# Every passage of every point gets its turn.
sub next_fault {
	my ($r) = @_;
	return () if $r > .55;
	my $point = $points[$point_at++ % @points];
	return (fault => "$point=" . ($r < .06 ? "stop" : "kill"));
}

sub find_points {
	my ($sources) = @_;
	my %found;
	for my $file (glob("$sources/*/*.c")) {
		$found{$_} = 1 for slurp($file) =~ /(?:fault_point\(|io_write_durable\([^;]*)"([a-z-]+)"/g;
	}
	delete @found{qw(mail mail-sent plugin timer)};
	@points = map { my $p = $_; map { "$p:$_" } 1 .. ($p =~ /^store-commit/ ? 9 : $p eq "tmux" ? 3 : 2) } sort keys %found;
	for my $i (reverse 1 .. $#points) {
		my $k = int rand($i + 1);
		@points[$i, $k] = @points[$k, $i];
	}
	$point_at = 0;
}

# ---- events ----

my %events = (		# how many seconds lie between two of them, and what they do
	kill => [1.3, \&kill_agent], snapshot => [3, sub { run({ bare => 1, next_fault($_[0] * 1.3) }, "snapshot", "-q", "-L", "main", "-L", "other") }],
	patrol => [4, sub { recover_by($_[0], 1, "patrol", "--json", "-L", "main", "-L", "other") }],
	all => [6, sub { recover_by($_[0], 0, "--all", "--yes", "--json", "-L", "main", "-L", "other") }],
	name => [3, \&recover_named], kill_recoverer => [2, \&kill_recoverer], kill_server => [45, \&kill_server],
	stop_server => [40, \&stop_server], stop_agent => [6, \&stop_agent], draft => [4, \&draft], say => [4, \&say_to], scroll => [6, \&scroll]);

sub kill_agent {
	my ($r, $how) = @_;
	my ($a, $l) = choose($r) or return;
	my $sig = $how < .1 ? 11 : 9;
	$l->{killed} = "signal $sig";
	kill $sig, $l->{pid};
	kill "CONT", $l->{pid};
	count("agents killed");
}

sub recover_by {
	my ($r, $bare, @args) = @_;
	return if recoverers() >= $busy_most;
	run({ bare => $bare, next_fault($r) }, @args);
	count($args[0] eq "patrol" ? "patrols" : "rounds");
}

sub recover_named {
	my ($r, $which) = @_;
	my @gone = grep { life($_) && life($_)->{ended} } @agents;
	return if !@gone || recoverers() >= $busy_most;
	run({ next_fault($r) }, $gone[$which * @gone]{name}, "--json", "-L", "main");
	count("named");
}

sub kill_recoverer {
	my ($r) = @_;
	my @them = sort { $a <=> $b } keys %by_pid;
	return unless @them;
	my $pid = $them[$r * @them];
	$by_pid{$pid}{killed} = 1;
	kill 9, $pid;
	count($by_pid{$pid}{recovers} ? "recoverers killed" : "passes killed");
}

sub server_pid { my $pid = tmux("display-message", "-p", '#{pid}') // ""; return $pid =~ /^(\d+)$/ ? $1 : undef }

sub kill_server {
	my $pid = server_pid() // return;
	look();
	kill 9, $pid;
	# without a cause patrol would only list its agents
	spit($ENV{GT_KMSG}, slurp($ENV{GT_KMSG}) . sprintf("6,1,%d,-;tmux: server[%d]: segfault at 0 ip 0000 sp 0000 error 4 in tmux[0+1]\n",
		clock_gettime(CLOCK_MONOTONIC) * 1e6, $pid));
	push @{$c{server_kills}}, time;
	count("servers killed");
}

sub stop_server {
	my (undef, $how) = @_;
	my $pid = server_pid() // return;
	kill "STOP", $pid;
	$server_stopped = $pid;
	count("servers stopped");
	later($how < .2 ? 12 : 1 + 3 * $how, sub { kill "CONT", $pid; $server_stopped = 0 });
}

sub stop_agent {
	my ($r, $how) = @_;
	my ($a, $l) = choose($r) or return;
	kill "STOP", $l->{pid};
	count("agents stopped");
	later(1 + 8 * $how, sub { kill "CONT", $l->{pid} if lives($l) });
}

sub type { my ($a, @keys) = @_; return defined tmux("send-keys", "-t", "=$a->{name}:", @keys) }

# A person begins to write, and thinks better of it or sends it off.
sub draft {
	my ($r, $how) = @_;
	my ($a, $l) = choose($r) or return;
	return unless $l->{ready} && type($a, "-l", "Perhaps ");
	count("drafts");
	later(1 + 3 * $how, sub { type($a, "Escape") if !$l->{ended} && lives($l) });
}

# What a person began to write when the agent died may stand in the box of the next one: cleared, as the hint says.
sub clear_drafts {
	my ($results) = @_;
	for my $r (grep { (($_->{error} // {})->{name} // "") eq "draft" } @$results) {
		my ($a) = grep { $_->{name} eq $r->{session} } @agents;
		type($a, "Escape");
		count("drafts cleared at the end");
	}
}

sub say_to {
	my ($r) = @_;
	my ($a, $l) = choose($r) or return;
	my $words = "Also note the word said-$a->{name}-" . scalar(@{$a->{said}}) . ".";
	return unless $l->{ready} && type($a, "-l", $words);
	push @{$a->{said}}, $words;
	type($a, "Enter");
	count("words of persons");
}

sub scroll {
	my ($r) = @_;
	my ($a, $l) = choose($r) or return;
	return unless defined tmux("copy-mode", "-t", "=$a->{name}:");
	later(2, sub { tmux("if-shell", "-F", "-t", "=$a->{name}:", '#{pane_in_mode}', "send-keys -X -t '=$a->{name}:' cancel") });
}

sub schedule {
	my @all;
	for my $kind (sort keys %events) {
		my ($every, $do) = @{$events{$kind}};
		my $rare = $kind =~ /server/;
		$every = $length / 2 if $rare && $every > $length / 2;
		for (my $t = $every * ($rare ? .2 + .5 * rand : rand); $t < $length; $t += $every * ($rare ? .5 + rand : -log(1 - rand))) {
			push @all, [$t, $do, rand, rand];
		}
	}
	return sort { $a->[0] <=> $b->[0] } @all;
}

sub tick {
	reap();
	my $now = time;
	my @due = grep { $_->[0] <= $now } @later;
	@later = grep { $_->[0] > $now } @later;
	$_->[1]->() for @due;
	look();
	sleep .03;
}

sub wait_for {	# seconds, condition
	my ($most, $done) = @_;
	my $end = time + $most;
	until ($done->()) {
		return 0 if time > $end;
		tick();
	}
	return 1;
}

sub alone {	# one run by itself, to its end: its JSON
	my ($most, @args) = @_;
	my $out = "$w/runs/" . (1 + ($c{count}{runs} // 0)) . ".out";
	my $pid = run({ bare => 1 }, @args);
	local $ENV{CHAOS_KEEP} = 1;
	unless (wait_for($most, sub { !$by_pid{$pid} })) {
		wrong("@args does not end within $most s");
		kill 9, $pid;
	}
	return eval { $json->decode(slurp($out)) } // {};
}

# ---- the play ----

srand($seed);
printf "# seed %s, %d s, %d panes\n", $seed, $length, $panes;
make_path("$w/runs");
find_points($ENV{CHAOS_SOURCES});
my @schedule = schedule();
tmux("start-server");
tmux("-Lother", "start-server");
new_agent(sprintf("a%02d", $_), $layouts[$_ % @layouts], "main") for 0 .. $panes - 1;
my @bystanders = map { new_agent("bystander$_", $layouts[$_], "other") } 0, 1;
wait_for(60, sub { !grep { !life($_) || !life($_)->{ready} } @agents }) or wrong("not all agents came up");
alone(60, "snapshot", "-q", "-L", "main", "-L", "other");

my $begun = time;
while (time - $begun < $length) {
	while (@schedule && $schedule[0][0] <= time - $begun) {
		my (undef, $do, @r) = @{shift @schedule};
		$do->(@r);
	}
	tick();
}

# Quiet: all goes on, what runs may end, and patrol puts right what is left.
$_->[1]->() for splice @later;
wait_for(90, sub { !%by_pid }) or do {
	wrong("run $by_pid{$_}{n} ($by_pid{$_}{args}) does not end") for keys %by_pid;
	kill 9, keys %by_pid;
};
alone(60, "snapshot", "-q", "-L", "main", "-L", "other");
my $quiet = time;
for my $pass (1 .. 30) {
	my $v = alone(300, "patrol", "--json", "-L", "main", "-L", "other");
	count("passes of patrol at the end");
	last if defined $v->{found} && $v->{found} == ($v->{refused} // 0) && !@{$v->{results} // [1]};
	clear_drafts($v->{results} // []);
	wrong("patrol does not get to an end") if $pass == 30;
	last if time - $quiet > 600;
}
count("seconds until quiet", int(time - $quiet));
look();
exit judge(\%c, \@agents, \@bystanders, sub { alone(60, @_) });
