#!/usr/bin/perl
# Another agent, known by the name under which it is started: codex, copilot and gemini with their boxes and session files, amp and droid with a box
# alone. It answers each message at once, but for one that speaks of a slow thing: that turn never ends.
#
# To the directory $OTHER_LOG it writes message.NNN for each message, and lines to `events`: "start ARGUMENTS", "ready", "end STATUS".
#   resume ID, --resume=ID, --resume ID	goes on with the session; one that is not there is an error, status 1
#   $OTHER_LOG/works			every turn is one that never ends
#   a message with "in the background"	codex: a server of its own, without a terminal, takes the turn over, holds the session's lock, and ends it
#					when $OTHER_LOG/finish is there, or the home is gone
# gemini begins another file when it goes on with a session, and removes at its start all files of a session that has two, as 0.61 does.
# SIGTERM ends it with the farewell of its session file, if it has one.
use strict;
use warnings;
use Fcntl qw(:DEFAULT :flock);
use File::Path qw(make_path);
use JSON::PP;
use POSIX ();
use Time::HiRes qw(time);

my ($name) = $0 =~ m{([^/]+)$};
my $log = $ENV{OTHER_LOG};
my $json = JSON::PP->new->canonical;	# bytes in, bytes out
my $cwd = POSIX::getcwd();
my ($id, $file, $busy, @shown) = ('', undef, 0);
my ($box, $pasted) = ('', undef);
my %folder = (codex => '.codex', copilot => '.copilot', gemini => '.gemini');
my $home = defined $folder{$name} ? "$ENV{HOME}/$folder{$name}" : undef;

sub put {	# FILE LINE
	open my $f, '>>', $_[0] or die "$_[0]: $!";
	syswrite $f, "$_[1]\n";
	close $f;
}

sub event { put("$log/events", "@_") }

sub stamp {
	my $now = time;
	return POSIX::strftime('%Y-%m-%dT%H:%M:%S', gmtime $now) . sprintf '.%03dZ', 1000 * ($now - int $now);
}

sub record { put($file, $json->encode({ timestamp => stamp(), @_ })) if defined $file }

sub leave {
	record(type => 'session.shutdown', data => {}) if $name eq 'copilot' && $_[0] != 1;
	system 'stty sane';
	event("end $_[0]");
	exit $_[0];
}

# ---- session files ----

my %place = (codex => 'sessions/2026/11/22/rollout-*-ID.jsonl', copilot => 'session-state/ID/events.jsonl', gemini => 'tmp/w/chats/session-*.jsonl');

sub files {	# ID
	my $pattern = $place{$name} =~ s/ID/$_[0]/r;
	my @all = glob("$home/$pattern");
	return @all if $name ne 'gemini';
	return grep { open my $f, '<', $_ or return; (<$f> // '') =~ /"$_[0]"/ } @all;
}

sub forget_split {
	my %of;
	for my $path (glob("$home/tmp/w/chats/session-*.jsonl")) {
		open my $f, '<', $path or next;
		push @{$of{$1}}, $path if (<$f> // '') =~ /"sessionId":"([^"]+)"/;
	}
	unlink @$_ for grep { @$_ > 1 } values %of;
}

sub begin {	# the file; made before the first message
	my $new = !defined $file;
	return if !defined $home || !$new;
	$id = sprintf '%08x-0000-4000-8000-%012x', $$, int(time * 1000) if $id eq '';
	$file = "$home/" . ($place{$name} =~ s/ID/$id/r =~ s/\*/int(time * 1000)/er);
	make_path($file =~ s{/[^/]+$}{}r);
	if ($name eq 'codex') {
		record(type => 'session_meta', payload => { id => $id, cwd => $cwd, cli_version => '0.169.0' });
	} elsif ($name eq 'copilot') {
		record(type => 'session.start', data => { sessionId => $id, copilotVersion => '1.0.102', context => { cwd => $cwd } });
	} else {
		put("$home/projects.json", $json->encode({ projects => { $cwd => 'w' } })) if !-e "$home/projects.json";
		put($file, $json->encode({ sessionId => $id, kind => 'main' }));
	}
}

sub say_user {
	begin();
	if ($name eq 'codex') {
		record(type => 'event_msg', payload => { type => 'task_started' });
		record(type => 'response_item', payload => { type => 'message', role => 'user', content => [{ type => 'input_text', text => $_[0] }] });
	} elsif ($name eq 'copilot') {
		record(type => 'user.message', data => { content => $_[0] });
	} elsif ($name eq 'gemini') {
		record(id => sprintf('u%d', time * 1e6), type => 'user', content => [{ text => $_[0] }]);
	}
}

sub say_agent {
	if ($name eq 'codex') {
		record(type => 'response_item', payload => { type => 'message', role => 'assistant', content => [{ type => 'output_text', text => $_[0] }] });
		record(type => 'event_msg', payload => { type => 'task_complete' });
	} elsif ($name eq 'copilot') {
		record(type => 'assistant.message', data => { content => $_[0], toolRequests => [] });
		record(type => 'assistant.turn_end', data => {});
	} elsif ($name eq 'gemini') {
		record(id => sprintf('g%d', time * 1e6), type => 'gemini', content => $_[0]);
	}
}

# ---- codex' server ----

sub serve {
	my ($lock, $done, $said) = ("$home/thread-writer-locks/$id.lock");
	make_path("$home/thread-writer-locks");
	pipe $done, $said;
	return <$done> if fork;
	POSIX::setsid();
	sysopen my $f, $lock, O_RDWR | O_CREAT;
	flock $f, LOCK_EX;
	open STDIN, '<', '/dev/null';
	open STDOUT, '>', '/dev/null';
	open STDERR, '>', '/dev/null';
	$SIG{HUP} = 'IGNORE';
	syswrite $said, "held\n";
	close $said;
	event("server $$");
	select undef, undef, undef, 0.05 while -d $log && !-e "$log/finish";
	say_agent('The background work is done.') if -d $log;
	POSIX::_exit(0);
}

# ---- the screen ----

my $rule = '─' x 40;
my %boxes = (
	codex => sub { "› $_[0]\n\n  mock-model · ~/w" },
	copilot => sub { "$rule\n❯ $_[0]\n$rule\n / commands · ? help" },
	gemini => sub { ('▄' x 40) . "\n >   $_[0]\n" . ('▀' x 40) . "\n ~/w" },
	amp => sub { "$rule\namp> $_[0]" },
	droid => sub { "$rule\ndroid> $_[0]" },
);
my %work = (codex => '• Working (2s • esc to interrupt)', copilot => '◉ Working esc interrupt', gemini => '⠋ Thinking... (esc to cancel, 4s)');
# rows of the talk above the box: amp and droid draw all of it anew, and leave a scrollback
my %most = (codex => 12, copilot => 12, gemini => 12, amp => 400, droid => 400);
my %mark = (codex => '[Pasted Content N chars]', copilot => '[Paste #1 - N lines]', gemini => '[Pasted Text: N lines]');

sub draw {
	my $text = defined $pasted ? ($mark{$name} // '[paste N]') =~ s/N/length $pasted/er : $box;
	my @rows = @shown[($#shown > $most{$name} ? $#shown - $most{$name} : 0) .. $#shown];
	syswrite STDOUT, "\e[2J\e[H" . join('', map { "$_\r\n" } @rows, $busy ? $work{$name} // 'thinking' : '') .
	    $boxes{$name}->($text eq '' ? 'Type your message' : $text) =~ s/\n/\r\n/gr;
}

sub take {	# a message
	my ($text) = @_;
	my $file = sprintf '%s/message.%03d', $log, 1 + @{[glob("$log/message.*")]};
	open my $f, '>', $file or die "$file: $!";
	print $f $text;
	close $f;
	push @shown, map { "> $_" } map { /(.{1,90})(?:\s+|$)/g } split /\n/, $text;
	say_user($text);
	return serve() && push @shown, 'It goes on in the background.' if $text =~ /in the background/ && $text !~ /gtr-/;
	$busy = 1 if ($text =~ /slow/ && $text !~ /gtr-/) || -e "$log/works";
	return if $busy;
	say_agent('I have done it.');
	push @shown, 'I have done it.';
}

# ---- what it is started with, and keys ----

event("start @ARGV");
forget_split() if $name eq 'gemini';
($id) = "@ARGV" =~ /(?:resume |--resume[= ])(\S+)/;
$id //= '';
if ($id ne '' && defined $home) {
	my ($found) = files($id);
	if (!defined $found) {
		print "No session found with id $id\n";
		leave(1);
	}
	$file = $found if $name ne 'gemini';
}
$SIG{TERM} = sub { leave(0) };
system 'stty raw -echo';
syswrite STDOUT, "\e[?2004h";
draw();
event('ready');
my $keys = '';
while (sysread STDIN, my $bytes, 65536) {
	$keys .= $bytes;
	while ($keys ne '') {
		if ($keys =~ /^\e\[200~/) {
			last if $keys !~ s/^\e\[200~(.*?)\e\[201~//s;
			$pasted = $1 =~ tr/\r/\n/r;
		} elsif ($keys =~ s/^[\r\n]//) {
			my $text = $pasted // $box;
			($box, $pasted) = ('', undef);
			take($text) if $text ne '';
		} elsif ($keys =~ s/^\x03//) {
			leave(0);
		} else {
			$keys =~ s/^(.)//s;
			$box .= $1 if $1 ge ' ';
		}
	}
	draw();
}
leave(0);
