#!/usr/bin/perl
# The town's gt and bd for tests (town.sh tells what they are for): by the name that it is called, this is the one or the other. Each call
# is written down first; what is answered stands in files of the fixture. Options that the real programs do not have are errors, as theirs.
use strict;
use warnings;
use Cwd qw(getcwd abs_path);
use Fcntl qw(:flock);
use File::Basename qw(basename dirname);
use JSON::PP;
use POSIX qw(strftime);

my $me = basename($0);
my $json = JSON::PP->new->utf8->canonical;
my ($town, $fake, $calls, $socket) = split /\n/, slurp(dirname(abs_path($0)) . "/.fake-town");

sub slurp {
	my ($path) = @_;
	open my $f, "<", $path or return "";
	local $/;
	return <$f> // "";
}

sub spit {
	my ($mode, $path, $text) = @_;
	open my $f, $mode, $path or die "$me: $path: $!\n";
	flock $f, LOCK_EX;
	print $f $text;
	close $f or die "$me: $path: $!\n";
}

sub fail {
	print STDERR "Error: ", @_, "\n";
	exit 1;
}

sub answer {	# how this program is to behave
	my $how = slurp("$fake/$me-answer");
	$how =~ s/\s+//g;
	return $how;
}

sub write_down {
	my ($stdin) = @_;
	my %env = map { $_ => $ENV{$_} } grep { /^(BEADS_|BD_|GT_|DOLT_|CLAUDE|TMUX|HOME$|PATH$)/ } keys %ENV;
	spit(">>", "$calls/$me", $json->encode({ argv => [@ARGV], cwd => getcwd(), stdin => $stdin, env => \%env }) . "\n");
}

# takes(\%flags, \@words, name => takes a value): cobra's two spellings of a value, and its complaint about what it does not know
sub takes {
	my ($flags, $words, %known) = @_;
	my @rest = @$words;
	@$words = ();
	while (@rest) {
		my $w = shift @rest;
		if ($w !~ /^-/) {
			push @$words, $w;
			next;
		}
		my ($name, $value) = $w =~ /^--?([^=]+)(?:=(.*))?$/s;
		fail("unknown flag: $w") if !exists $known{$name};
		$value = $known{$name} ? shift @rest : 1 if !defined $value;
		fail("flag needs an argument: $w") if !defined $value;
		$flags->{$name} = $value;
	}
}

# ---- bd ----

sub beads_dir {	# $BEADS_DIR, or the next .beads upward; then where its redirect leads
	my $dir = $ENV{BEADS_DIR};
	if (!defined $dir) {
		for ($dir = getcwd(); !-d "$dir/.beads"; $dir = dirname($dir)) {
			fail("no beads database found") if $dir eq "/";
		}
		$dir .= "/.beads";
	}
	for (1 .. 4) {
		my $to = slurp("$dir/redirect");
		$to =~ s/\s+$//;
		last if $to eq "";
		$dir = abs_path($to =~ m{^/} ? $to : dirname($dir) . "/$to");
	}
	return $dir;
}

sub beads {
	my $meta = eval { $json->decode(slurp(beads_dir() . "/metadata.json")) } // {};
	my (%bead, @order);
	fail("failed to open database: no backend dolt") if ($meta->{backend} // "") ne "dolt";
	for (split /\n/, slurp("$fake/db/$meta->{dolt_database}")) {
		my $line = $json->decode($_);
		push @order, $line->{id} if !$bead{$line->{id}};
		$bead{$line->{id}} = { %{$bead{$line->{id}} // {}}, %$line };
	}
	return map { $bead{$_} } @order;
}

sub print_beads {	# beads, in the form of the day
	my ($one, @found) = @_;
	my $how = answer();
	if (!@found && $how eq "plain") {
		print "No issues found.\n";
	} elsif ($how eq "envelope") {
		print $json->encode({ schema_version => 1, data => \@found }), "\n";
	} elsif ($how eq "object" && $one && @found == 1) {
		print $json->encode($found[0]), "\n";
	} elsif ($how eq "garbage") {
		print "[{\"id\": \"gt-", "\xff" x 40, "\n";
	} else {
		print $json->pretty->encode(\@found);
	}
	exit 0;
}

sub open_server {
	my $how = answer();
	if ($how eq "hang") {
		sleep 1 while 1;
	}
	return if $how ne "dead";
	print STDERR "Error: failed to open database: failed to open Dolt store: Dolt server unreachable at 127.0.0.1:3307: ",
		"dial tcp 127.0.0.1:3307: connect: connection refused\n\nThe Dolt server may not be running.\n";
	exit 1;
}

sub bd_show {
	my (@ids) = @_;
	my %bead = map { $_->{id} => $_ } beads();
	my @found;
	for my $id (@ids) {
		if ($bead{$id}) {
			push @found, $bead{$id};
		} else {
			print STDERR "Error fetching $id: no issue found matching \"$id\"\n";
		}
	}
	exit 1 if !@found;
	print_beads(@ids == 1, @found);
}

sub bd_list {
	my ($flag) = @_;
	my @found = grep {
		(defined $flag->{status} ? $_->{status} eq $flag->{status} : $flag->{all} || $_->{status} ne "closed") &&
		(!defined $flag->{assignee} || ($_->{assignee} // "") eq $flag->{assignee}) &&
		(!defined $flag->{label} || grep { $_ eq $flag->{label} } @{$_->{labels} // []}) &&
		($_->{issue_type} // "task") !~ /^(agent|role|message|gate)$/
	} beads();
	my $limit = $flag->{limit} // 50;
	splice @found, $limit if $limit > 0 && @found > $limit;
	print_beads(0, @found);
}

# Of the language of queries only what is joined by AND.
sub bd_query {
	my ($text) = @_;
	my @terms = map { /^\s*(\w+)\s*=\s*"?([^"]*?)"?\s*$/ ? [$1, $2] : fail("query: cannot read $_") } split /\s+AND\s+/i, $text;
	print_beads(0, grep { my $b = $_; !grep { ($b->{$_->[0]} // ($_->[0] eq "ephemeral" ? "false" : "")) ne $_->[1] } @terms } beads());
}

sub run_bd {
	my @words = @ARGV;
	my %flag;
	takes(\%flag, \@words, json => 0, readonly => 0, all => 0, status => 1, assignee => 1, label => 1, limit => 1);
	my $verb = shift @words // "";
	open_server();
	bd_show(@words) if $verb eq "show" && @words;
	bd_list(\%flag) if $verb eq "list" && !@words;
	bd_query(@words) if $verb eq "query" && @words == 1;
	fail("unknown command \"$verb\" for \"bd\"");
}

# ---- gt ----

sub tmux {
	system("tmux", "-u", "-L", $socket, @_) == 0 or fail("tmux $_[0] failed");
}

sub prefix_of {
	my ($rig) = @_;
	my $rigs = $json->decode(slurp("$town/mayor/rigs.json"))->{rigs};
	return $rigs->{$rig} ? $rigs->{$rig}{beads}{prefix} : fail("rig '$rig' not found");
}

sub quote {
	my ($s) = @_;
	return $s if $s =~ m{^[\w./:,=@%+-]+$};
	$s =~ s/'/'\\''/g;
	return "'$s'";
}

sub polecat_env {
	my ($rig, $name, $session, $dir) = @_;
	my $agent = slurp("$fake/agents/$session");
	chomp $agent;
	my %env = (GT_ROLE => "$rig/polecats/$name", GT_RIG => $rig, GT_POLECAT => $name, BD_ACTOR => "$rig/polecats/$name",
		GIT_AUTHOR_NAME => $name, BEADS_AGENT_NAME => "$rig/$name", GT_SESSION => $session, GT_ROOT => $town, GT_TOWN_ROOT => $town,
		GT_POLECAT_PATH => $dir, GIT_CEILING_DIRECTORIES => $town, GT_AGENT => "claude", GT_PROCESS_NAMES => "node,claude",
		GT_SESSION_ID_ENV => "CLAUDE_SESSION_ID", NODE_OPTIONS => "", CLAUDECODE => "", BD_DOLT_AUTO_COMMIT => "off",
		BD_BACKUP_ENABLED => "false", BEADS_DOLT_AUTO_START => "0", GT_DOLT_PORT => "3307", BEADS_DOLT_PORT => "3307");
	$env{FAKE_AGENT_LOG} = $agent, $env{FAKE_AGENT_PLAN} = "$agent/plan" if $agent ne "";
	for (split /\n/, slurp("$fake/env")) {
		$env{$1} = $2 if /^(\w+)=(.*)$/;
	}
	return %env;
}

# What the agent's own SessionStart hook (gt prime --hook) would write down: the conversation's id, and an event.
sub prime {
	my ($rig, $name, $session, $dir) = @_;
	my $pid = `tmux -u -L '$socket' display-message -p -t '=$session:' '#{pane_pid}'`;
	my $now = strftime("%Y-%m-%dT%H:%M:%SZ", gmtime);
	chomp $pid;
	for (1 .. 200) {
		my $note = eval { $json->decode(slurp("$ENV{HOME}/.claude/sessions/$pid.json")) };
		if ($note && $note->{sessionId}) {
			spit(">", $_, "$note->{sessionId}\n$now\n") for "$dir/.runtime/session_id", "$town/.runtime/session_id";
			spit(">>", "$town/.events.jsonl", $json->encode({ ts => $now, source => "gt", type => "session_start",
				actor => "$rig/polecats/$name", visibility => "feed", payload => { session_id => $note->{sessionId},
				role => "$rig/polecats/$name", actor_pid => "$rig/polecats/$name-$pid", topic => "assigned", cwd => $dir } }) . "\n");
			last;
		}
		last if !kill 0, $pid;
		select undef, undef, undef, 0.02;
	}
	spit(">", "$town/.runtime/pids/$session.pid", $pid);
	spit(">", "$town/.runtime/heartbeats/$session.json", $json->encode({ timestamp => $now, state => "working", context => "", bead => "" }));
}

sub session_start {
	my ($address) = @_;
	my ($rig, $name) = $address =~ m{^([^/]+)/(?:polecats/)?([^/]+)$} or fail("invalid address '$address'");
	my $session = prefix_of($rig) . "-$name";
	my $dir = -d "$town/$rig/polecats/$name/$rig" ? "$town/$rig/polecats/$name/$rig" : "$town/$rig/polecats/$name";
	fail("polecat '$name' not found in rig '$rig'") if !-d $dir;
	fail("session already running: $session") if system("tmux -u -L '$socket' has-session -t '=$session' 2>/dev/null") == 0;
	my %env = polecat_env($rig, $name, $session, $dir);
	my $beacon = "[GAS TOWN] polecat $name (rig: $rig) <- witness \xe2\x80\xa2 " . strftime("%Y-%m-%dT%H:%M", gmtime) .
		" \xe2\x80\xa2 assigned\n\nRun `gt prime --hook` and begin work on your hook.";
	my $command = "exec env " . join(" ", map { "$_=" . quote($env{$_}) } sort keys %env) .
		" claude --dangerously-skip-permissions --settings " . quote("$town/$rig/polecats/.claude/settings.json");
	$beacon =~ s/([\\"`\$])/\\$1/g;
	# an agent that tests want to be told nothing at its start has no beacon
	$command .= " \"$beacon\"" if -e "$fake/beacon";
	tmux("new-session", "-d", "-s", $session, "-c", $dir, "-x", 100, "-y", 30, map { ("-e", "$_=$env{$_}") } sort keys %env);
	tmux("set-option", "-wt", "=$session:", "window-size", "latest", ";", "set-option", "-t", "=$session:", "remain-on-exit", "on");
	tmux("respawn-pane", "-k", "-t", "=$session:", "-c", $dir, $command);
	tmux("set-option", "-t", "=$session:", "remain-on-exit", "off");
	prime($rig, $name, $session, $dir);
	print "Session $session started\n";
}

sub polecats {	# [RIG, NAME]...
	return map { my $rig = $_; map { [$rig, basename($_)] } grep { -d && basename($_) !~ /^\./ } glob("$town/$rig/polecats/*") }
		sort keys %{$json->decode(slurp("$town/mayor/rigs.json"))->{rigs}};
}

sub is_running {
	my ($session) = @_;
	return system("tmux -u -L '$socket' has-session -t '=$session' 2>/dev/null") == 0 ? JSON::PP::true : JSON::PP::false;
}

sub hook_show {
	my ($who) = @_;
	for my $db (glob("$fake/db/*")) {
		my %bead;
		for (split /\n/, slurp($db)) {
			my $line = $json->decode($_);
			$bead{$line->{id}} = { %{$bead{$line->{id}} // {}}, %$line };
		}
		for (values %bead) {
			next if $_->{status} ne "hooked" || $_->{assignee} ne $who;
			print $json->encode({ agent => $who, bead_id => $_->{id}, title => $_->{title}, status => $_->{status} }), "\n";
			return;
		}
	}
	print $json->encode({ agent => $who, status => "empty" }), "\n";
}

sub run_gt {
	my ($stdin) = @_;
	my @words = @ARGV;
	my %flag;
	takes(\%flag, \@words, json => 0, all => 0, force => 0, stdin => 0, s => 1, subject => 1, m => 1, message => 1, from => 1, issue => 1,
		priority => 1, urgent => 0, permanent => 0, "no-notify" => 0);
	my $verb = join " ", splice @words, 0, 2;
	fail("the town is out of order") if answer() eq "fail";
	if ($verb eq "session start" && @words == 1) {
		session_start(@words);
	} elsif ($verb eq "mail send" && @words == 1) {
		fail("--subject is required") if !defined($flag{s} // $flag{subject});
		fail("not in a Gas Town workspace") if index(abs_path(getcwd()) . "/", abs_path($town) . "/") != 0;
		print "Message sent to $words[0]\n";
	} elsif ($verb eq "hook show" && @words == 1) {
		hook_show(@words);
	} elsif ($verb eq "polecat list") {
		print $json->encode([map { { rig => $_->[0], name => $_->[1], state => "working",
			session_running => is_running(prefix_of($_->[0]) . "-$_->[1]") } } polecats()]), "\n";
	} elsif ($verb eq "session list") {
		print $json->encode([map { { rig => $_->[0], polecat => $_->[1], session_id => prefix_of($_->[0]) . "-$_->[1]",
			running => JSON::PP::true } } grep { is_running(prefix_of($_->[0]) . "-$_->[1]") } polecats()]), "\n";
	} else {
		fail("unknown command \"$verb\" for \"gt\"");
	}
}

my $stdin = "";
if (grep { $_ eq "--stdin" } @ARGV) {
	local $/;
	$stdin = <STDIN> // "";
}
write_down($stdin);
$me eq "bd" ? run_bd() : run_gt($stdin);
