# What chaos.pl leaves is judged here, by what the agents themselves wrote down: their starts, and each message that they were given. The
# ledger is only asked whether it tells the same.
use strict;
use warnings;
use JSON::PP;
use POSIX ();

my ($tests, $failed) = (0, 0);
# A guard may say these of a crash of this test: nobody here ends an agent on purpose, so that "stopped" would be a mistake.
my %may_refuse = map { $_ => 1 } qw(unknown quarantined limit unsure no-command);

sub verdict {	# faults, what ought to be
	my ($faults, $words) = @_;
	$tests++;
	$failed++ if @$faults;
	printf "%sok %d - %s\n", @$faults ? "not " : "", $tests, $words;
	print "#   $_\n" for splice @{[@$faults]}, 0, 30;
}

# ---- what the agents wrote down ----

# The moment of a process's start; its log was looked at only now and then.
sub began_at {
	my ($l) = @_;
	my ($up) = slurp("/proc/uptime") =~ /^([\d.]+)/;
	return defined $l->{start} ? Time::HiRes::time() - $up + $l->{start} / POSIX::sysconf(POSIX::_SC_CLK_TCK()) - .02 : $l->{since};
}

# Of each life: the ids it was told, and what else it heard.
sub read_messages {
	my ($a, $found) = @_;
	my @began = map { began_at($_) } @{$a->{lives}};
	for my $file (sort glob("$a->{dir}/message.*")) {
		my $at = (Time::HiRes::stat($file))[9];
		my ($n) = grep { $began[$_] <= $at || $_ == 0 } reverse 0 .. $#began;
		my $text = slurp($file);
		my $heard = { life => $n, file => $file, text => $text };
		if ($text =~ /\(recovery id (gtr-[0-9a-f]{16})\)/) {
			$heard->{id} = $1;
			push @{$found->{told}{$1}}, $heard;
			push @{$a->{lives}[$n]{told}}, $heard;
		} else {
			push @{$a->{heard}}, $heard;
		}
	}
}

sub ended_by_us {
	my ($c, $l) = @_;
	return 1 if $l->{killed};
	# a server that dies takes its agents along, as a hang-up
	return grep { $_ >= began_at($l) - 1 && $_ <= $l->{ended} + .5 } @{$c->{server_kills}};
}

# ---- the ledger ----

sub read_ledger {
	my ($events) = @_;
	my %attempts;
	for my $e (@$events) {
		next unless $e->{kind} =~ /^attempt\.(.*)/;
		my $x = $attempts{$e->{subject}} //= { session => $e->{session} };
		$x->{phase} = $1 unless $1 eq "noted";
		$x->{text} = $e->{text} // "";
	}
	return \%attempts;
}

# The processes that snapshots know, by session.
sub read_snapshots {
	my ($dir) = @_;
	my %known;
	for my $file (glob("$dir/snapshots/[0-9]*.json")) {
		my $v = eval { JSON::PP->new->utf8->decode(slurp($file)) } or next;
		$known{$v->{session}}{$v->{process}{pid}} = 1 if ref $v->{process} && $v->{process}{pid};
	}
	return \%known;
}

# ---- one agent ----

sub judge_lives {
	my ($c, $a, $sum, $bad) = @_;
	my @lives = @{$a->{lives}};
	for my $n (0 .. $#lives) {
		my $l = $lives[$n];
		my $told = scalar @{$l->{told} // []};
		my $who = "$a->{name} ($a->{layout}), life " . ($n + 1) . ", pid $l->{pid}";
		push @{$bad->{touched}}, "$who ended" . (defined $l->{status} ? " with status $l->{status}" : "") . " and nobody here had ended it" .
			sprintf(" (began %.1f, ended %.1f, servers killed %s)", began_at($l), $l->{ended}, join(" ", map { sprintf "%.1f", $_ } @{$c->{server_kills}}))
			if $l->{ended} && !ended_by_us($c, $l);
		push @{$bad->{twice}}, "$who was told $told times" if $told > 1;
		push @{$bad->{touched}}, "$who had never crashed and was told $l->{told}[0]{id}" if $n == 0 && $told;
		next if $n == 0;
		$sum->{answered}++ if $told;
		$sum->{"cut short"}++ if !$told && $l->{ended};
		push @{$bad->{end}}, "$who lives and was never told" if !$told && !$l->{ended} && !$a->{open};
		$sum->{"left to a person"}++ if !$told && !$l->{ended} && $a->{open};
	}
}

# The test agent logs a message before its transcript has it, and may be killed in between: then nothing on the disk ever had the words.
sub is_recorded {
	my ($a, $word) = @_;
	return grep { index(slurp($_), $word) >= 0 } glob("$ENV{HOME}/.claude/projects/*-agents-$a->{name}-cwd/*.jsonl");
}

# What is lost once stays lost: of each agent the first loss is told, in the order of its lives.
sub judge_context {
	my ($a, $sum, $bad) = @_;
	my $lost = @{$bad->{lost}};
	for my $said (@{$a->{heard} // []}) {
		my ($word) = $said->{text} =~ /(said-\S+)\./ or next;
		$said->{word} = $word, next if is_recorded($a, $word);
		$sum->{unrecorded}++;
		print "# $a->{name}: was killed before its transcript had $word\n";
	}
	for my $l (@{$a->{lives}}) {
		for my $heard (@{$l->{told} // []}) {
			my $text = $heard->{text};
			push @{$bad->{lost}}, "$a->{name} ($a->{layout}), life " . ($heard->{life} + 1) . ": $heard->{id} lacks the first words"
				unless index($text, $a->{mark}) >= 0;
			for my $said (grep { $_->{life} < $heard->{life} } @{$a->{heard} // []}) {
				my $word = $said->{word} // next;
				push @{$bad->{lost}}, "$a->{name} ($a->{layout}), life " . ($heard->{life} + 1) . ": $heard->{id} lacks $word of life " .
					($said->{life} + 1) unless index($text, $word) >= 0;
			}
		}
	}
	splice @{$bad->{lost}}, $lost + 1 if @{$bad->{lost}} > $lost + 1;
	for my $heard (@{$a->{heard} // []}) {
		# words may stand behind a draft that was not sent
		push @{$bad->{touched}}, "$a->{name}: heard what nobody had said, " . length($heard->{text}) . " bytes"
			unless grep { $heard->{text} =~ /^(Perhaps )*\Q$_\E$/ } @{$a->{said}};
	}
}

sub judge_end {
	my ($a, $listed, $known, $sum, $bad) = @_;
	my $l = $a->{lives}[-1];
	return unless $l->{ended};
	my $told = $listed->{$a->{name}};
	my $crash = "$a->{name} ($a->{layout}), pid $l->{pid}" . ($l->{killed} ? ", $l->{killed}" : ", with its server");
	if ($told && $told->{refusal} && $may_refuse{$told->{refusal}}) {
		$sum->{refused}++;
		$sum->{names}{$told->{refusal}}++;
	} elsif ($told) {
		push @{$bad->{end}}, "$crash: is not back, $told->{class}, " . ($told->{refusal} // "though it could be");
	} elsif ($known->{$a->{name}}{$l->{pid}}) {
		push @{$bad->{end}}, "$crash: a snapshot knows it, and nobody brings it back";
	} else {
		$sum->{unknown}++;
		push @{$bad->{end}}, "$crash: nobody knows of it, life " . @{$a->{lives}} . sprintf(", lived %.1f s", $l->{ended} - $l->{seen});
	}
}

# ---- what is left ----

# A prompt whose wrapper was killed while it took it is taken away an hour later (recover/upkeep/upkeep.h).
sub leftovers {
	my ($c) = @_;
	my @left = map { s/\n//r } `find '$c->{state}/prompts' -type f ! -name '*.taken' 2>/dev/null; find '$c->{state}' -name '.*.[0-9]*.*' 2>/dev/null`;
	push @left, map { "held: " . s/\n//r } `find '$c->{state}/locks' -type f ! -exec flock -n {} true \\; -print 2>/dev/null`;
	push @left, map { "buffer " . s/\n//r } `tmux -L main list-buffers -F '#{buffer_name}' 2>/dev/null`;
	for my $exe (glob("/proc/[0-9]*/exe")) {
		my $to = readlink $exe // next;
		my ($pid) = $exe =~ /(\d+)/;
		push @left, "process $pid" if $to eq $c->{program} && slurp("/proc/$pid/environ") =~ /(^|\0)HOME=\Q$ENV{HOME}\E\0/;
	}
	return @left;
}

sub show {
	my ($title, $h) = @_;
	print "# $title: ", join(", ", map { "$_ $h->{$_}" } sort keys %$h), "\n" if %$h;
}

sub judge {
	my ($c, $agents, $bystanders, $ask) = @_;
	my (%found, %bad, %sum);
	my $attempts = read_ledger($ask->("log", "--json")->{events} // []);
	my %listed = map { $_->{name} => $_ } grep { $_->{class} ne "live" } @{$ask->("list", "--json", "-L", "main", "-L", "other")->{sessions} // []};
	my $known = read_snapshots($c->{state});
	my $doctor = $ask->("doctor", "--json", "-L", "main", "-L", "other");
	my $verified = $ask->("log", "--verify", "--json");

	$bad{$_} = [] for qw(touched twice lost end ledger state);
	$sum{$_} = 0 for "answered", "cut short", "left to a person", "refused", "unknown", "unrecorded";
	$_->{phase} =~ /^(acknowledged|failed)$/ or $sum{open}++ for values %$attempts;
	for my $a (@$agents) {
		$a->{open} = grep { $_->{session} eq $a->{name} && $_->{phase} !~ /^(acknowledged|failed)$/ } values %$attempts;
		read_messages($a, \%found);
		judge_lives($c, $a, \%sum, \%bad);
		judge_context($a, \%sum, \%bad);
		judge_end($a, \%listed, $known, \%sum, \%bad);
	}
	for my $b (@$bystanders) {
		push @{$bad{touched}}, "$b->{name} is not what it was" if @{$b->{lives}} != 1 || $b->{lives}[0]{ended} || -e "$b->{dir}/message.001";
	}
	for my $id (sort keys %{$found{told}}) {
		push @{$bad{twice}}, "$id stands in " . @{$found{told}{$id}} . " messages" if @{$found{told}{$id}} > 1;
		push @{$bad{ledger}}, "$id was told, and the ledger does not know it" unless $attempts->{$id};
	}
	for my $id (sort keys %$attempts) {
		push @{$bad{ledger}}, "$id is acknowledged, and nobody was told it" if $attempts->{$id}{phase} eq "acknowledged" && !$found{told}{$id};
	}
	push @{$bad{state}}, "log --verify finds a fault" unless $verified->{verified};
	push @{$bad{state}}, "the doctor tells nothing" unless @{$doctor->{checks} // []};
	push @{$bad{state}}, "doctor, $_->{name}: $_->{sentence}" for grep { $_->{result} eq "error" } @{$doctor->{checks} // []};
	push @{$bad{state}}, "left: $_" for leftovers($c);

	my $crashes = 0;
	$crashes += grep { $_->{ended} } @{$_->{lives}} for @$agents;
	show("events", $c->{count});
	show("ends of runs", $c->{codes});
	show("errors told", $c->{errors});
	print "# such as $_: $c->{example}{$_}\n" for sort keys %{$c->{example} // {}};
	show("killed at", $c->{points});
	verdict($c->{wrong}, "no agent begins beside a living one, and each run ends as it should");
	verdict($bad{touched}, "no living agent is touched");
	verdict($bad{twice}, "no prompt comes twice");
	verdict($bad{lost}, "no context is lost");
	verdict($bad{end}, "each crash is answered, or refused by its name");
	verdict($bad{ledger}, "the ledger tells the same as the agents");
	verdict($bad{state}, "store, log and directories are sound, and nothing is left behind");
	verdict($crashes >= @$agents / 2 && $sum{answered} > 0 ? [] : ["$crashes crashes, $sum{answered} answered"], "there were enough crashes");
	printf "# seed=%s agents=%d crashes=%d answered=%d cut-short=%d unacknowledged=%d refused=%d%s unknown-to-us=%d unrecorded=%d; touched=%d twice=%d lost=%d\n",
		$c->{seed}, scalar @$agents, $crashes, @sum{"answered", "cut short", "left to a person", "refused"},
		join("", map { " ($_ $sum{names}{$_})" } sort keys %{$sum{names} // {}}), @sum{"unknown", "unrecorded"}, map { scalar @{$bad{$_}} } qw(touched twice lost);
	print "1..$tests\n";
	return $failed ? 1 : 0;
}

1;
