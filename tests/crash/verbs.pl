# What kill.t and fail.t share: the verbs that write, the scene that each is run in, what is looked at, and the ways into a running
# program. Times and the like differ between two runs of a verb; all else of what they leave must be the same.
use strict;
use warnings;
use File::Path qw(make_path remove_tree);
use IO::Handle;
use POSIX ();

our ($w, $program, $preload) = @ENV{qw(W GT_RECOVER PRELOAD)};
my ($home, $tests, $failed, $scenes) = ("gt-recover", 0, 0, 0);

my $then = '"lastCheckpoint":"2025-10-10T20:45:30Z"';

# A line a verb: its name; its words; what it reads; and what is special:
#   again	the exit status when it is asked again after its change was made, where that is not 0 (whoever took a session up is refused)
#   retold	asked again it tells of its change once more, in an event
#   steps	it makes several commits
#   scene	"empty": there is no state yet; "old": its backup is old; "count": so many commits were made that one is due;
#	"hooks": they are installed
#   small	no limit that lets it begin is too low for it
#   quiet	it changes no more than a time, and has no event
our @verbs = (
	["record", "session record", '{"agent_uuid":"n","provider_name":"fake"}', { retold => 1 }],
	["record-first", "session record", '{"agent_uuid":"n","provider_name":"fake"}', { retold => 1, scene => "empty" }],
	["record-backup", "session record", '{"agent_uuid":"n","provider_name":"fake"}', { retold => 1, scene => "old" }],
	["record-256th", "session record", '{"agent_uuid":"n","provider_name":"fake"}', { retold => 1, scene => "count" }],
	["suspend", "session suspend b", "\0some state\n" x 500, { retold => 1 }],
	["restore", "session restore s", "", { again => 6 }],
	["end", "session end b", ""],
	["spawn", "agent spawn a c", ""],
	["spawn-new", "agent spawn b", '{"agent_uuid":"g","provider_name":"fake"}'],
	["resume", "agent resume s", "", { again => 6 }],
	["end-all", "agent end a", ""],
	["send", "message send", '{"id":"m","from":"a","to":"b","body":"how many?","sync":true}'],
	["broadcast", "message broadcast", '{"id":"all","from":"a","body":"stop"}'],
	["deliver", "message deliver q", ""],
	["reply", "message reply w", '{"id":"r","body":"three"}'],
	["create", "run create", '{"run_id":"new","session_id":"s-new","prompt":"test"}'],
	["claim", "run claim", '{"run_id":"one","runner_id":"r1","claim_id":"x"}'],
	["start", "run start two r2", ""],
	["stop", "run stop three", ""],
	["finish", "run finish three r2", ""],
	["recover", "run recover --mode all", ""],
	["register", "runner register r9", "", { retold => 1 }],
	["beat", "runner beat r1", "", { quiet => 1 }],
	["acquire", "lock acquire slot me", ""],
	["renew", "lock renew mine me", "", { quiet => 1 }],
	["release", "lock release mine me", ""],
	["startup", "startup --mode all", "", { steps => 1 }],
	["checkpoint-epic", "checkpoint epic e", qq({"sprints":[{"id":"x","status":"completed"},{"id":"y","status":"starting"}],$then})],
	["checkpoint-sprint", "checkpoint sprint x", qq({"epicId":"e","status":"completed","progress":100,"filesWritten":[{"path":"a.c"}],$then})],
	["checkpoint-agent", "checkpoint agent p", qq({"sprintId":"x","epicId":"e","currentTask":"tests","lastHeartbeat":"2025-10-10T20:45:37Z"})],
	["checkpoint-file", "checkpoint file x", qq({"path":"b.c","currentLine":7,$then})],
	["signal", "epic signal x", '{"name":"Api"}'],
	["abandon", "epic abandon e --yes", "", { again => 4 }],
	["import", "epic import", qq({"schema_version":1,"records":{"epic:f:state":{"epicId":"f","sprints":[{"id":"z","status":"waiting"}],$then},) .
		qq("sprint:z:state":{"sprintId":"z","epicId":"f","status":"waiting",$then}}})],
	["install-hooks", "install hooks", "", { quiet => 1, small => 1 }],
	["uninstall-hooks", "uninstall hooks", "", { quiet => 1, small => 1, scene => "hooks" }],
	["install-binding", "install binding", "", { quiet => 1, small => 1, steps => 1 }],
);

# What is there before each of them.
my @before = (
	["session record", '{"agent_uuid":"a","provider_name":"fake"}'],
	["session record", '{"agent_uuid":"b","provider_name":"fake","parent":"a"}'],
	["session record", '{"agent_uuid":"c","provider_name":"fake","parent":"a"}'],
	["session record", '{"agent_uuid":"s","provider_name":"fake","parent":"a"}'],
	["agent spawn a b", ""],
	["agent spawn a s", ""],
	["session suspend s", "some state"],
	["message send", '{"id":"q","from":"a","to":"b","body":"how far?","sync":true}'],
	["message send", '{"id":"w","from":"a","to":"b","body":"and now?","sync":true}'],
	["message deliver w", ""],
	(map { ["run create", qq({"run_id":"$_","session_id":"s-$_","prompt":"test"})] } qw(one two three four)),
	["run claim r2 two", ""],
	["run claim r2 three", ""],
	["run start three r2", ""],
	["run claim r2 four", ""],
	["run start four r2", ""],
	["run stop four", ""],
	["runner register r1", ""],
	["lock acquire --lease 86400 mine me", ""],
	["checkpoint epic e", qq({"sprints":[{"id":"x","status":"in_progress","progress":40},{"id":"y","status":"waiting"}],$then})],
	["checkpoint sprint x", qq({"epicId":"e","status":"in_progress","progress":40,"agents":[{"id":"p"}],$then})],
	["checkpoint agent p", qq({"sprintId":"x","epicId":"e","currentTask":"code","lastHeartbeat":"2025-10-10T20:45:37Z"})],
);

# Claude Code's own files, among ours for once: they are looked at as records are.
my $claude = "$home/claude";
my $settings = '{"model": "opus", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}';

sub note { print "# $_\n" for split /\n/, $_[0] }

sub ok {
	my ($good, $what) = @_;
	$tests++;
	$failed++ unless $good;
	print(($good ? "ok" : "not ok"), " $tests - $what\n");
	STDOUT->flush;
	return $good;
}

sub skip {
	my ($why) = @_;
	$tests++;
	print "ok $tests # SKIP $why\n";
}

sub done_testing {
	print "1..$tests\n";
	exit($failed ? 1 : 0);
}

sub slurp {
	my ($path) = @_;
	open my $f, "<", $path or return "";
	local $/;
	return <$f> // "";
}

sub spit {
	my ($path, $text) = @_;
	open my $f, ">", $path or die "$path: $!";
	print $f $text;
	close $f or die "$path: $!";
}

# ---- running it ----

# Runs the program with these words in a state directory, `in` on standard input, `through` before it on the command line, `env` set. Answers
# {code, signal, out, err}; one that does not end in a minute is killed, with signal "late".
sub run {
	my ($state, $words, $in, %how) = @_;
	my @command = (@{$how{through} // []}, $program, split / /, $words);
	spit("$w/in", $in);
	my $pid = fork // die "fork: $!";
	if ($pid == 0) {
		# what the caller's caller left open would count against a limit
		POSIX::close($_) for 3 .. 63;
		$ENV{XDG_STATE_HOME} = $state;
		$ENV{CLAUDE_CONFIG_DIR} = "$state/$claude";
		%ENV = (%ENV, %{$how{env} // {}});
		open STDIN, "<", "$w/in" and open STDOUT, ">", $how{out} // "$w/out" and open STDERR, ">", "$w/err" or POSIX::_exit(126);
		exec { $command[0] } @command or POSIX::_exit(127);
	}
	my $late = 0;
	local $SIG{ALRM} = sub { $late = 1; kill "KILL", $pid };
	alarm 60;
	waitpid $pid, 0;
	my $status = $?;
	alarm 0;
	return { code => $status >> 8, signal => $late ? "late" : $status & 127, out => $how{out} ? "" : slurp("$w/out"), err => slurp("$w/err") };
}

# A library that is loaded before a sanitizer's, and the sanitizer's own look at leaks, which ptrace forbids, are no findings.
my %sanitizers = (ASAN_OPTIONS => join ":", grep { length } $ENV{ASAN_OPTIONS} // "", "verify_asan_link_order=0:detect_leaks=0");

# The environment of file_fault.c.
sub loaded {
	my ($state, $fault, $log) = @_;
	return { LD_PRELOAD => $preload, FILE_FAULT_DIR => $state, %sanitizers, $fault ? (FILE_FAULT => $fault) : (),
		$log ? (FILE_FAULT_LOG => $log) : () };
}

# The calls by which a verb meets its files, in their order: [name, with a + behind it where it changes something; the file's name].
sub calls_loaded {
	my ($verb) = @_;
	my $state = scene($verb);
	unlink "$w/calls";
	my $r = run($state, $verb->[1], $verb->[2], env => loaded($state, undef, "$w/calls"));
	remove_tree($state);
	return $r->{code} == 0 && $r->{signal} eq "0" ? map { [split / /, $_, 2] } split /\n/, slurp("$w/calls") : ();
}

my $traced = "?open,openat,read,pread64,write,pwrite64,fsync,fdatasync,ftruncate,truncate,?rename,?renameat,?renameat2,?unlink,unlinkat," .
	"?link,linkat,?mkdir,mkdirat,?rmdir,flock,fcntl,close,?chmod,fchmod";
my %writes = map { $_ => 1 } qw(write pwrite64 fsync fdatasync ftruncate truncate rename renameat renameat2 unlink unlinkat link linkat mkdir mkdirat
	rmdir chmod fchmod);

# The same by strace: [name, the how many-th of its name, whether it changes something]. What is told on standard output counts, too.
sub calls_traced {
	my ($verb) = @_;
	my $state = scene($verb);
	my $r = run($state, $verb->[1], $verb->[2], through => ["strace", "-qq", "-y", "-s", "0", "-o", "$w/trace", "-e", "trace=$traced"], env => \%sanitizers);
	remove_tree($state);
	my (%n, @calls);
	for (split /\n/, $r->{code} == 0 && $r->{signal} eq "0" ? slurp("$w/trace") : "") {
		/^(\w+)\((.*)/ or next;
		my ($name, $rest) = ($1, $2);
		$n{$name}++;
		index($rest, $state) >= 0 || ($name eq "write" && $rest =~ /^1</) or next;
		push @calls, [$name, $n{$name}, $writes{$name} || ($name =~ /^open/ && $rest =~ /O_CREAT|O_TRUNC/) ? 1 : 0];
	}
	return @calls;
}

sub through_strace {
	my ($name, $n, $what) = @_;
	return (through => ["strace", "-qq", "-o", "/dev/null", "-e", "trace=$name", "-e", "inject=$name:$what:when=$n"], env => \%sanitizers);
}

sub can_trace {
	my $rc = system "strace -qq -o /dev/null -e trace=none true >/dev/null 2>&1";
	return $rc == 0;
}

# What it answers; or undef, and why.
sub rows {
	my ($db, $sql) = @_;
	my $rows = qx('$w/sql' '$db' '$sql' 2>&1);
	return $? == 0 ? ($rows) : (undef, $rows);
}

# ---- scenes ----

sub copy {
	my ($from, $to) = @_;
	for my $path (glob "$from/* $from/.[!.]*") {
		my ($name) = $path =~ m{([^/]+)$};
		if (-d $path) {
			mkdir "$to/$name", 0700 or die "$to/$name: $!";
			copy($path, "$to/$name");
		} else {
			spit("$to/$name", slurp($path));
			chmod 0600, "$to/$name";
		}
	}
}

sub make_before {
	my $state = "$w/before";
	mkdir $state or die "$state: $!";
	for (@before) {
		my $r = run($state, @$_);
		ok(0, "the scene could not be set: $_->[0]: $r->{err}") if $r->{code} != 0 or $r->{signal};
	}
	mkdir "$state/$claude", 0700 or die "$state/$claude: $!";
	spit("$state/$claude/settings.json", $settings);
	chmod 0600, "$state/$claude/settings.json";
}

# A new state directory as it is before this verb; `in` (another file system): there.
sub scene {
	my ($verb, $in) = @_;
	my $state = $in // "$w/scene/" . ++$scenes;
	my $kind = $verb->[3]{scene} // "";
	make_path($state);
	make_before() unless -d "$w/before";
	copy("$w/before", $state) if $kind ne "empty";
	run($state, "install hooks", "") if $kind eq "hooks";
	utime 1, 1, "$state/$home/recover.db.backup" if $kind eq "old";
	rows("$state/$home/recover.db", "update done set seq = 255 where seq = (select max(seq) from done); update tally set n = 255 where kind = \":\" and tag = \"seq\"") if $kind eq "count";
	return $state;
}

# ---- looking ----

# All records, as they are; of a copy, so that what a dead process left is not mended by the look.
sub records {
	my ($state) = @_;
	my $copy = "$w/look";
	return "" unless -s "$state/$home/recover.db";
	remove_tree($copy);
	mkdir $copy;
	for my $name (qw(recover.db recover.db-journal)) {
		spit("$copy/$name", slurp("$state/$home/$name")) if -e "$state/$home/$name";
	}
	my ($rows, $why) = rows("$copy/recover.db", "select key, version, tag, value from record order by key");
	# a store that was being made has no tables yet
	return defined $rows ? $rows . claude_files("$state/$claude") : $why =~ /no such table/ ? "" : "it cannot be read: $why";
}

# A row each, without what a writer left that died.
sub claude_files {
	my ($root, $under) = (@_, "");
	return join "", map {
		my $name = $under . substr $_, length "$root$under";
		-d $_ ? claude_files($root, $name) : "claude$name|1|file|" . unpack("H*", slurp($_)) . "\n"
	} sort glob "$root$under/*";
}

# Without what differs between two runs, times and the life that a registration counts; and how many events there are of a kind and subject.
sub same {
	my ($rows) = @_;
	my %events;
	my @rest;
	for (split /\n/, $rows) {
		my ($key, $version, $tag, $value) = split /\|/, $_, 4;
		if ($key =~ /^event:/) {
			$value =~ /"kind":"([^"]*)","subject":(?:"([^"]*)"|null)/;
			$events{"$1 " . ($2 // "")}++;
			next;
		}
		next if $key =~ /^counter:/;
		$value =~ s/"(readyAt|startTime)":"[^"]*"/"$1":T/g;
		$value =~ s/"((?:\w+_)?at|\w*boot_ms|entered_\w+|life)":[1-9][0-9]*/"$1":T/g;
		push @rest, "$key $tag $value";
	}
	return (join("\n", @rest), \%events);
}

# The names of what is there, with what must not be: bytes in a journal, rights of others.
sub files {
	my ($state, $under) = @_;
	$under //= "";
	my @names;
	for my $path (glob "$state/$home$under/* $state/$home$under/.[!.]*") {
		my $name = substr $path, length "$state/$home/";
		my @st = lstat $path;
		push @names, $name . ($name =~ /-journal$/ && $st[7] > 0 ? " (not empty)" : "") . ($st[2] & 077 ? " (open to others)" : "");
		push @names, files($state, "/$name") if -d _;
	}
	return sort @names;
}

# A run that dies after its commit and before its backup has none, and the one before that is no older one yet.
my $older = "recover.db.backup.old";

# What an undisturbed run of a verb makes: {was, is, events, files}.
my %made;
sub made {
	my ($verb) = @_;
	return $made{$verb->[0]} //= do {
		my $state = scene($verb);
		my $was = records($state);
		my $r = run($state, $verb->[1], $verb->[2]);
		my ($is, $events) = same(records($state));
		my ($before) = same($was);
		my $changes = $is ne $before || $verb->[3]{quiet};
		ok($r->{code} == 0 && !$r->{signal} && $changes, "$verb->[0], undisturbed") or note($r->{err});
		my %made = (was => $was, before => $before, is => $is, events => $events, files => join(" ", grep { $_ ne $older } files($state)));
		remove_tree($state);
		\%made;
	};
}

sub shown_events {
	my ($events) = @_;
	return join ", ", map { "$events->{$_} x $_" } sort keys %$events;
}

# The verb died or failed in this state: "before", "after", or a sentence that says what is wrong.
sub left {
	my ($verb, $state) = @_;
	my $made = made($verb);
	my $rows = records($state);
	return "before" if $rows eq $made->{was};
	return $rows if $rows =~ /^it cannot be read/;
	my ($is, $events) = same($rows);
	my $told = 0;
	$told += $_ for values %$events;
	my $lines = () = slurp("$state/$home/events.jsonl") =~ /\n/g;
	return "the export tells of $lines events, $told were committed" if $lines > $told;
	return "after" if $is eq $made->{is};
	# a store without records
	return "before" if $is eq $made->{before} && !%$events;
	return "before" if $verb->[3]{steps} && has_all($made->{was}, $rows);
	return "half of its change is there:\n$is";
}

# Several commits: each record of before is still there.
sub has_all {
	my ($was, $rows) = @_;
	my %there = map { (split /\|/)[0] => 1 } split /\n/, $rows;
	return !grep { !$there{(split /\|/)[0]} } split /\n/, $was;
}

# The same command again, on a machine that is well: what does it come to? "" or what is wrong.
sub again {
	my ($verb, $state, $left) = @_;
	my ($made, $how) = (made($verb), $verb->[3] // {});
	my $want = $left eq "after" ? $how->{again} // 0 : 0;
	my $r = run($state, $verb->[1], $verb->[2]);
	return "asked again it ends with $r->{code} ($r->{signal}): $r->{err}" if $r->{signal} or $r->{code} != $want;
	my $log = run($state, "log --verify", "");
	return "log --verify: $log->{err}$log->{out}" if $log->{code} != 0;
	my ($is, $events) = same(records($state));
	return "asked again it leaves something else:\n$is\ninstead of\n$made->{is}" if $is ne $made->{is};
	my %want = %{$made->{events}};
	if ($how->{retold} && $left eq "after") {
		my ($kind) = grep { ($events->{$_} // 0) == $want{$_} + 1 } sort keys %want;
		$want{$kind}++ if defined $kind;
	}
	my ($told, $wanted) = (shown_events($events), shown_events(\%want));
	return "asked again it tells of $told instead of $wanted" if $told ne $wanted;
	my $files = join " ", grep { $_ ne $older } files($state);
	return "what is left over: $files instead of $made->{files}" if $files ne $made->{files};
	return "";
}

1;
