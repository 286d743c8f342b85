#!/usr/bin/perl
# What happens in epic.t. The agents are the tests' fake ones; what they would think is a process beside each of them, its mind: it reads what the
# agent was told, does the steps that remain by that, and writes each down with `checkpoint`. A mind dies with its agent, wherever it is.
use strict;
use warnings;
use Fcntl qw(:DEFAULT);
use File::Path qw(make_path);
use JSON::PP;
use POSIX qw(:sys_wait_h);
use Time::HiRes qw(time sleep);

my $crashes = $ENV{EPIC_CRASHES} || 3;
my $steps = $ENV{EPIC_STEPS} || 16;
my $seed = $ENV{EPIC_SEED} || 1 + time % 1_000_000;
my ($w, $program, $claude) = @ENV{qw(W GT_RECOVER CLAUDE)};
my $sprints = 5;
my $most = .05;			# of the steps, done again
my $share = 15;			# a step takes so many times as long as its checkpoint: no machine is too slow for the test
my $old = "2025-10-10T20:45:30Z";
my $json = JSON::PP->new->utf8->canonical;
my ($tests, $failed) = (0, 0);
my %mind;			# agent -> pid
my %messages;			# agent -> how many a mind has seen to
my %deaths;			# agent -> how often it died at its work
my $stalled = 0;		# deaths in a checkpoint that took far longer than usual: the machine stood still

$| = 1;
srand $seed;

sub note { print "# $_\n" for split /\n/, $_[0] }

sub ok {
	my ($good, $what) = @_;
	$tests++;
	$failed++ unless $good;
	print(($good ? "ok" : "not ok"), " $tests - $what\n");
	return $good;
}

sub give_up {
	note($_[0]);
	ok(0, "it goes on");
	print "1..$tests\n";
	kill "KILL", map { -$_ } values %mind;
	exit 1;
}

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

sub until_true {
	my ($seconds, $look) = @_;
	my $end = time + $seconds;
	until ($look->()) {
		return 0 if time > $end;
		sleep .02;
	}
	return 1;
}

# {code, out, err}
sub run {
	my ($in, @args) = @_;
	my $tag = "$w/run.$$";
	spit("$tag.in", $in);
	my $pid = fork // die "fork: $!\n";
	if ($pid == 0) {
		open STDIN, "<", "$tag.in" and open STDOUT, ">", "$tag.out" and open STDERR, ">", "$tag.err" or POSIX::_exit(126);
		exec { $program } $program, @args or POSIX::_exit(127);
	}
	waitpid $pid, 0;
	return { code => $? & 127 ? 128 + ($? & 127) : $? >> 8, out => slurp("$tag.out"), err => slurp("$tag.err") };
}

sub must {
	my ($in, @args) = @_;
	my $r = run(ref $in ? $json->encode($in) : $in, @args);
	give_up("@args: $r->{code} $r->{err}") if $r->{code} != 0;
	return $r;
}

sub now { return POSIX::strftime("%Y-%m-%dT%H:%M:%SZ", gmtime) }
sub alive { my ($pid) = @_; return slurp("/proc/$pid/stat") =~ /.*\) [^ZX]/s }
sub names { return map { sprintf "step-%d-%02d", $_[0], $_ } 1 .. $steps }

# ---- the mind of an agent ----

sub checkpoint {
	my ($kind, $id, $o) = @_;
	my $began = time;
	my $r = run($json->encode($o), "checkpoint", $kind, $id);
	die "checkpoint $kind $id: $r->{code} $r->{err}\n" if $r->{code} != 0;
	return time - $began;
}

sub tell_sprint {
	my ($n, $done) = @_;
	return checkpoint("sprint", "s$n", { epicId => "main", status => $done == $steps ? "completed" : "in_progress", progress => int(100 * $done / $steps),
		agents => [{ id => "coder-$n", status => "active", task => "Sprint $n" }] });
}

# What its agent was told says what remains.
sub think {
	my ($n, $told) = @_;
	my @all = names($n);
	my @left = @all;
	if ($told !~ /start it from the beginning/) {
		my ($words) = $told =~ /^Subtasks remaining: (.*)$/m;
		@left = split /; /, $words // "" if defined $words or $told =~ /^Subtasks completed: /m;
	}
	my $pace = .05;
	while (@left) {
		my $step = shift @left;
		my $done = @all - @left;
		sleep($share * $pace * (.5 + rand));
		sysopen my $f, "$w/journal", O_WRONLY | O_APPEND | O_CREAT or die "journal: $!\n";
		syswrite $f, "$step\n";
		close $f;
		spit("$w/writing.$n", time);
		$pace = tell_sprint($n, $done) if @left;
		$pace += checkpoint("agent", "coder-$n", { sprintId => "s$n", epicId => "main", currentTask => "Sprint $n", lastHeartbeat => now(),
			taskProgress => { subtasksCompleted => [@all[0 .. $done - 1]], subtasksRemaining => [@left] } });
		unlink "$w/writing.$n";
		sysopen $f, "$w/paces", O_WRONLY | O_APPEND | O_CREAT or die "paces: $!\n";
		syswrite $f, "$pace\n";
		close $f;
	}
	run($json->encode({ name => "Api$n" }), "epic", "signal", "s$n")->{code} == 0 or die "no signal\n";
	tell_sprint($n, $steps);
	run("", "session", "end", "coder-$n")->{code} == 0 or die "no end\n";
}

sub start_mind {
	my ($n, $told) = @_;
	my $pid = fork // die "fork: $!\n";
	if ($pid == 0) {
		setpgrp;
		srand $seed * 1000 + $n + 10 * $messages{$n};
		$tests = -1;
		eval { think($n, $told); 1 } or do {
			spit("$w/mind.$n", $@);
			POSIX::_exit(1);
		};
		POSIX::_exit(0);
	}
	$mind{$n} = $pid;
}

# ---- agents ----

sub dir { return "$w/agents/coder-$_[0]" }

sub agent_pid {
	my ($n) = @_;
	my @starts = slurp(dir($n) . "/events") =~ /^start (\d+)/mg;
	return @starts && alive($starts[-1]) ? $starts[-1] : 0;
}

sub told { my ($n) = @_; return sort glob(dir($n) . "/message.*") }

# Agents that were told where they are begin; those that are done go.
sub look {
	for my $n (1 .. $sprints) {
		my @told = told($n);
		if (@told > ($messages{$n} // 0)) {
			$messages{$n} = @told;
			start_mind($n, slurp($told[-1]));
		}
		next unless $mind{$n} && waitpid($mind{$n}, WNOHANG) == $mind{$n};
		my $status = $?;
		delete $mind{$n};
		give_up("the mind of coder-$n: " . slurp("$w/mind.$n")) if $status != 0;
		system "tmux", "-L", "main", "kill-session", "-t", "=coder-$n";
		until_true(10, sub { !agent_pid($n) }) or give_up("coder-$n does not end");
	}
}

sub steps_done { my @lines = slurp("$w/journal") =~ /^(.*)$/mg; return scalar @lines }

# A step takes $share times as long as a checkpoint usually does. Of one that takes longer than three, the 5 % do not hold.
sub count_stalled {
	my @paces = sort { $a <=> $b } slurp("$w/paces") =~ /^(.*)$/mg;
	for my $n (keys %mind) {
		my $began = slurp("$w/writing.$n");
		$stalled++ if @paces && $began ne "" && time - $began > 3 * $paces[@paces / 2];
		unlink "$w/writing.$n";
	}
}

sub crash {
	my ($server) = @_;
	my @pids = grep { $_ } map { agent_pid($_) } 1 .. $sprints;
	my $n = keys %mind;
	$deaths{$_}++ for keys %mind;
	kill "KILL", (map { -$_ } values %mind), @pids;
	count_stalled();
	waitpid $_, 0 for values %mind;
	%mind = ();
	system "tmux -L main kill-server 2>/dev/null" if $server;
	until_true(10, sub { !grep { alive($_) } @pids }) or give_up("an agent does not die");
	until_true(10, sub { $server || `tmux -L main list-panes -a -F '#{pane_dead}' 2>/dev/null` !~ /^0/m }) or give_up("tmux does not see it");
	return $n;
}

# ---- epics ----

sub found {
	my $r = must("", "epic", "status", "--json");
	return join " ", sort map { $_->{id} } @{$json->decode($r->{out})->{epics}};
}

sub open_sprints {
	my $epic = $json->decode(must("", "epic", "status", "main", "--json")->{out})->{epics}[0];
	return grep { $_->{status} ne "completed" } @{$epic->{sprints}};
}

# Beside the one that matters: one that was interrupted long ago, and three that were not.
sub set_up {
	my %times = (startTime => $old, lastCheckpoint => $old);
	must({ %times, name => "Main", sprints => [map { { id => "s$_", status => $_ == 5 ? "waiting" : "starting" } } 1 .. $sprints],
		dependencies => { s5 => ["s1"] } }, "checkpoint", "epic", "main");
	for my $n (1 .. $sprints) {
		make_path(dir($n) . "/cwd");
		must({ agent_uuid => "coder-$n", provider_name => "claude", session => "coder-$n", workspace_path => dir($n) . "/cwd",
			start_command => "env FAKE_AGENT_LOG=" . dir($n) . " $claude --dangerously-skip-permissions" }, "session", "record");
		must({ %times, epicId => "main", status => $n == 5 ? "waiting" : "starting", agents => [{ id => "coder-$n" }] }, "checkpoint", "sprint", "s$n");
	}
	must({ %times, sprints => [{ id => "l", status => "in_progress", progress => 40 }] }, "checkpoint", "epic", "lost");
	must({ %times, sprints => [{ id => "d", status => "completed" }] }, "checkpoint", "epic", "done");
	must({ %times, sprints => [{ id => "f", status => "waiting" }], status => "waiting" }, "checkpoint", "epic", "future");
	# an agent that lives and has said nothing for long: this process
	must({ agent_uuid => "quiet", provider_name => "claude", pid => $$ }, "session", "record");
	must({ %times, sprints => [{ id => "q", status => "in_progress", progress => 40 }] }, "checkpoint", "epic", "living");
	must({ %times, epicId => "living", status => "in_progress", agents => [{ id => "quiet" }] }, "checkpoint", "sprint", "q");
}

my ($longest, $resumes) = (0, 0);
sub resume {
	my $before = time;
	my $r = run("", "-L", "main", "epic", "resume", "main", "--yes");
	my $took = time - $before;
	$longest = $took if $took > $longest;
	$resumes++;
	return $r;
}

# ---- what came of it ----

# {all: steps that were done, again: how often one was that was done already, by: the same for each sprint}
sub count_steps {
	my (%seen, %by);
	for (@_) {
		$by{/^step-(\d+)-/ ? $1 : 0}++ if $seen{$_}++;
	}
	return { all => scalar(keys %seen), again => @_ - keys %seen, by => \%by };
}

# A death costs an agent the step that it was about to write down; before resume_threshold it costs it those before that, too.
sub too_often {
	my ($did) = @_;
	return grep { $did->{by}{$_} > ($deaths{$_} // 0) * (1 + int(.05 * $steps)) } sort keys %{$did->{by}};
}

note("EPIC_SEED=$seed: $crashes crashes, $sprints sprints of $steps steps");
set_up();
ok(found() eq "lost main", "an epic that nobody has begun to work at is found") or note(found());
my $first = resume();
ok($first->{code} == 0, "its agents are started") or give_up($first->{err} . $first->{out});

my $total = $sprints * $steps;
my @points = sort { $a <=> $b } map { 1 + int rand($total - 1) } 1 .. $crashes;
my ($killed, $crashed, $wrong, $servers) = (0, 0, 0, 0);

sub come_to_a_crash {
	shift @points;
	my $while = found();
	$wrong++, note("while it runs: $while") if $while ne "lost";
	sleep rand(.5);
	look();
	if (!%mind) {
		unshift @points, $total + 1;	# too late: nobody is at work
		return;
	}
	my $server = rand() < .3;
	$killed += crash($server);
	$servers += $server;
	$crashed++;
}

# Nobody is left: they died, or what is left waits for somebody to start it.
sub bring_back {
	my $found = found();
	$wrong++, note("after a crash: $found") if $found ne "lost main";
	my $r = resume();
	give_up("resume answers $r->{code}: $r->{err}$r->{out}") if $r->{code} != 0;
	until_true(30, sub { look(); %mind }) or give_up("nobody was told anything:\n$r->{err}$r->{out}");
}

until_true(30, sub { look(); %mind }) or give_up("nobody was told anything");
while (1) {
	look();
	if (%mind) {
		come_to_a_crash() if @points && steps_done() >= $points[0];
		sleep .05;
	} else {
		last unless open_sprints();
		bring_back();
	}
}
my $did = count_steps(slurp("$w/journal") =~ /^(.*)$/mg);
ok($crashed + grep({ $_ > $total } @points) == $crashes && $crashed > 0,
	"$crashed crashes, $servers of them with the tmux server: $killed agents died at their work");
ok($wrong == 0, "each time the epics that were interrupted were found, and no other");
ok($did->{all} == $total, "all steps were done") or note("$did->{all} of $total");
ok($did->{again} - $stalled <= $most * $total, sprintf "done again: %d of %d steps (%.1f %%)", $did->{again}, $total, 100 * $did->{again} / $total);
note("$stalled deaths in a checkpoint that took over three times as long as usual are not counted") if $stalled;
ok(!too_often($did), "no agent has done more again than what it was about to write down");
ok(!open_sprints(), "the epic is complete");
ok(found() eq "lost", "and is found no more") or note(found());
ok(!(grep { (my @starts = slurp(dir($_) . "/events") =~ /^start /mg) > $resumes } 1 .. $sprints), "nobody was started twice at a time");
my $forgot = count_steps(names(1), names(1));
ok($forgot->{again} == $steps && too_often({ by => { 1 => 1000 } }), "an agent that forgets would be found out");
note(sprintf "the longest of %d resumes took %.1f s (the seed's bound: 120 s)", $resumes, $longest);
print "1..$tests\n";
exit($failed ? 1 : 0);
