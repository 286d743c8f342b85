#!/usr/bin/perl
# Secrets for planted.t: made here from parts, so that no scanner of repositories stumbles over this file, and looked for here.
#
#   planted.pl make DIR PLACE...       writes DIR/PLACE.txt (a line or more of each kind), DIR/PLACE.env (NAME=value, each ended by a NUL), DIR/table, DIR/needles
#   planted.pl rows DIR PLACE COLUMNS wrapped|framed    the same lines as rows of a screen of that width; each secret is cut by a row's end
#   planted.pl kinds                   how many kinds there are
#   planted.pl values DIR PLACE        the secrets alone, one a line, of those kinds whose variable is named as a secret's
#   planted.pl value DIR PLACE KIND    one of them
#   planted.pl scenario VERB <FILE     its lines as one line of a scenario
#   planted.pl find DIR FILE...        prints PLACE/KIND for each secret of which the files hold anything, "-- none" when there is none
#   planted.pl watch OUT FILE HOME     writes the arguments of our own processes to OUT.args, their environments to OUT.env and the size of the
#                                      core file that gt-recover may leave to OUT.core, until FILE is removed
use strict;
use warnings;
use IO::Handle;
use Digest::SHA qw(sha512);
use MIME::Base64 qw(encode_base64);

# ---- values ----

my %sets = (
	alnum => join('', 'a' .. 'z', 'A' .. 'Z', 0 .. 9), lower => join('', 'a' .. 'z', 0 .. 9), hex => '0123456789abcdef', digit => '0123456789',
	base32 => join('', 'A' .. 'Z', 2 .. 7), url64 => join('', 'a' .. 'z', 'A' .. 'Z', 0 .. 9, '-_'),
	base64 => join('', 'a' .. 'z', 'A' .. 'Z', 0 .. 9, '+/'), bech32 => 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L',
);

# N characters of a set: they look random and are always the same for the same seed. Letters stand at both ends. @random has those of one value.
my @random;

sub made {
	my ($seed, $set, $n) = @_;
	my ($out, $round) = ('', 0);

	while (length $out < $n) {
		for my $byte (unpack 'C*', sha512($seed . ' ' . $round++)) {
			my $c = substr $sets{$set}, $byte % length $sets{$set}, 1;
			next if $c !~ /[A-Za-z0-9]/ && (length $out == 0 || length $out >= $n - 1);
			$out .= $c if length $out < $n;
		}
	}
	push @random, $out;
	return $out;
}

sub parts {
	return join '', @_;
}

sub block {
	my ($seed, $rows) = @_;

	return join "\n", map { made("$seed row $_", 'base64', 64) } 1 .. $rows;
}

# kind, value, the line that holds it, the variable that holds it (NAME or NAME=text around %s)
my @kinds = (
	[ 'github', sub { parts('gh', 'p_', made($_[0], 'alnum', 36)) }, 'The upload went through with %s at noon.', 'GITHUB_TOKEN' ],
	[ 'gitlab', sub { parts('gl', 'pat-', made($_[0], 'url64', 20)) }, 'The runner of the group has %s now.', 'GITLAB_TOKEN' ],
	[ 'aws-id', sub { parts('AK', 'IA', made($_[0], 'base32', 16)) }, 'aws_access_key_id = %s', 'AWS_ACCESS_KEY_ID' ],
	[ 'aws-secret', sub { made($_[0], 'base64', 40) }, 'aws_secret_access_key = %s', 'AWS_SECRET_ACCESS_KEY' ],
	[ 'anthropic', sub { parts('sk-', 'ant-api03-', made($_[0], 'alnum', 93), 'AA') }, 'ANTHROPIC_API_KEY=%s', 'ANTHROPIC_API_KEY' ],
	[ 'openai', sub { parts('sk-', 'proj-', made($_[0], 'alnum', 74), 'T3', 'BlbkFJ', made("$_[0] b", 'alnum', 74)) }, 'OPENAI_API_KEY=%s',
	    'OPENAI_API_KEY' ],
	[ 'slack', sub { parts('xo', 'xb-', made($_[0], 'digit', 12), '-', made("$_[0] b", 'digit', 12), '-', made("$_[0] c", 'alnum', 24)) },
	    'The bot logs in with %s every day.', 'SLACK_BOT_TOKEN' ],
	[ 'stripe', sub { parts('sk_', 'live_', made($_[0], 'alnum', 24)) }, 'stripe.api_key = "%s"', 'STRIPE_SECRET_KEY' ],
	[ 'google', sub { parts('AI', 'za', made($_[0], 'alnum', 35)) }, 'https://maps.example.com/v1?q=a&key=%s', 'GOOGLE_API_KEY' ],
	[ 'npm', sub { parts('np', 'm_', made($_[0], 'alnum', 36)) }, 'npm notice used %s for it', 'NPM_TOKEN' ],
	[ 'pypi', sub { parts('py', 'pi-AgEIcHlwaS5vcmc', made($_[0], 'alnum', 90)) }, 'twine upload -u __token__ -p %s dist/x.whl', 'TWINE_PASSWORD' ],
	[ 'sendgrid', sub { parts('S', 'G.', made($_[0], 'alnum', 22), '.', made("$_[0] b", 'alnum', 43)) }, 'mail goes out by %s today', 'SENDGRID_API_KEY' ],
	[ 'jwt', sub { parts('ey', 'JhbGciOiJIUzI1NiJ9', '.ey', 'J', made($_[0], 'alnum', 60), '.', made("$_[0] b", 'url64', 43)) },
	    'The answer held %s for ten minutes.', 'ID_TOKEN' ],
	[ 'bearer', sub { made($_[0], 'alnum', 40) }, "curl -H 'Authorization: Bearer %s' https://api.example.com/v1", 'AUTH_HEADER=Authorization: Bearer %s' ],
	[ 'basic', sub { encode_base64('deploy:' . made($_[0], 'alnum', 20), '') }, "curl -H 'Authorization: Basic %s' https://api.example.com/v1",
	    'PROXY_HEADER=Proxy-Authorization: Basic %s' ],
	[ 'cookie', sub { made($_[0], 'alnum', 32) }, 'Cookie: theme=dark; sessionid=%s', 'SESSION_SECRET' ],
	[ 'postgres', sub { made($_[0], 'alnum', 18) }, 'postgres://app:%s@db.example.com:5432/app', 'DATABASE_URL=postgres://app:%s@db.example.com:5432/app' ],
	[ 'mysql', sub { made($_[0], 'alnum', 16) }, 'mysql -h db.example.com -u app -p%s app', 'MYSQL_PWD' ],
	[ 'sshpass', sub { made($_[0], 'alnum', 16) }, 'sshpass -p %s ssh deploy@host.example.com uptime', 'SSHPASS' ],
	[ 'curl', sub { made($_[0], 'alnum', 18) }, 'curl -u deploy:%s https://api.example.com/v1', 'DEPLOY_PASSWORD' ],
	[ 'password', sub { made($_[0], 'alnum', 20) }, 'DB_PASSWORD=%s', 'DB_PASSWORD' ],
	[ 'netrc', sub { made($_[0], 'alnum', 20) }, 'machine git.example.com login deploy password %s', 'GIT_PASSWORD' ],
	[ 'npmrc', sub { made($_[0], 'alnum', 36) }, '//registry.example.com/:_authToken=%s', 'REGISTRY_AUTH_TOKEN' ],
	[ 'pem', sub { block($_[0], 6) }, "-----BEGIN RSA PRIVATE" . " KEY-----\n%s\n-----END RSA PRIVATE" . " KEY-----", 'SIGNING_PRIVATE_KEY' ],
	[ 'azure', sub { made($_[0], 'base64', 86) . '==' }, 'AccountName=app;AccountKey=%s;EndpointSuffix=core.windows.net', 'AZURE_STORAGE_KEY' ],
	[ 'digitalocean', sub { parts('do', 'p_v1_', made($_[0], 'hex', 64)) }, 'doctl auth init -t %s', 'DIGITALOCEAN_TOKEN' ],
	[ 'huggingface', sub { parts('h', 'f_', made($_[0], 'alnum', 34)) }, 'The model was pulled by %s just now.', 'HF_TOKEN' ],
	[ 'telegram', sub { parts(1 + made($_[0], 'digit', 9) . 1, ':A', 'A', made("$_[0] b", 'alnum', 33)) }, 'The bot is %s on that channel.', 'BOT_TOKEN' ],
	[ 'age', sub { parts('AGE-', 'SECRET-KEY-1', made($_[0], 'bech32', 58)) }, 'identity: %s', 'AGE_SECRET_KEY' ],
	[ 'datadog', sub { made($_[0], 'hex', 32) }, 'DD_API_KEY=%s', 'DD_API_KEY' ],
	[ 'remote', sub { made($_[0], 'alnum', 24) }, 'origin  https://deploy:%s@git.example.com/app.git (fetch)', 'GIT_URL=https://deploy:%s@git.example.com/app.git' ],
	[ 'webhook', sub { made($_[0], 'alnum', 24) }, 'https://hooks.slack.com/services/T0A1B2C3D/B0A1B2C3D/%s', 'HOOK_URL=https://hooks.slack.com/services/T0A1B2C3D/B0A1B2C3D/%s' ],
	[ 'json', sub { made($_[0], 'alnum', 30) }, '{"client_id": "app", "client_secret": "%s"}', 'CLIENT_SECRET' ],
	[ 'prompt', sub { made($_[0], 'alnum', 18) }, 'the password: %s is for you', 'LOGIN_PASSWORD' ],
);

sub spell {
	my ($file, $text) = @_;

	open my $to, '>', $file or die "$file: $!\n";
	print $to $text or die "$file: $!\n";
	close $to or die "$file: $!\n";
}

sub slurp {
	my ($file) = @_;

	open my $from, '<', $file or return undef;
	local $/;
	return <$from> // '';
}

sub make {
	my ($dir, @places) = @_;
	my ($table, $needles) = ('', '');

	for my $place (@places) {
		my ($text, $env) = ("The lantern of $place is lit.\n", '');
		my $prefix = $place eq 'environ' ? 'APP_' : $place eq 'session' ? 'JOB_' : '';


		for (@kinds) {
			my ($kind, $make, $line, $variable) = @$_;
			my $value = do { @random = (); $make->("$place $kind") };

			$text .= sprintf("$line\n", $value);
			$env .= $prefix . ($variable =~ /=/ ? sprintf($variable, $value) : "$variable=$value") . "\0" if $kind ne 'pem';
			$table .= join("\t", $place, $kind, unpack 'H*', $value) . "\n";
			$needles .= "$_\t$place/$kind\n" for forms($value);
		}
		spell("$dir/$place.txt", $text);
		spell("$dir/$place.env", $env);
	}
	spell("$dir/table", $table);
	spell("$dir/needles", $needles);
}

sub values_of {
	my ($dir, $place) = @_;

	return map { my @x = split /\t/; $x[0] eq $place ? pack 'H*', $x[2] =~ s/\n//r : () } split /^/, slurp("$dir/table");
}

# Each secret of one row begins so far to the right that the row's end cuts it in its middle.
sub rows {
	my ($dir, $place, $columns, $how) = @_;
	my @values = values_of($dir, $place);
	my $inner = $how eq 'framed' ? $columns - 4 : $columns;

	print $how eq 'framed' ? sprintf("\xe2\x94\x82 %-${inner}s \xe2\x94\x82\n", "The lantern of $place is lit.") : "The lantern of $place is lit.\n";
	for my $i (0 .. $#kinds) {
		my $value = $values[$i];
		my $line = sprintf $kinds[$i][2], $value;
		my $at = index $line, $value;
		my $want = $inner - int(length($value) / 2);
		my @rows;

		if ($line =~ /\n/) {
			@rows = split /\n/, $line;
		} else {
			$line = 'cd /srv' . (('/folder' x 20) =~ s/^(.{@{[$want - $at - 11]}}).*/$1/r) . " && $line" if $at + 11 < $want;
			@rows = $how eq 'framed' ? $line =~ /.{1,$inner}/g : $line;
		}
		print map { $how eq 'framed' ? sprintf("\xe2\x94\x82 %-${inner}s \xe2\x94\x82\n", $_) : "$_\n" } @rows;
	}
}

# ---- the search ----

# The ways in which a secret could be hidden from one who looks for it as it is; never its kind's public beginning alone.
sub forms {
	my ($value) = @_;
	my $one = $value =~ s/\n//gr;
	my @all = ($one, $one =~ s{/}{\\/}gr, $one =~ s/([^A-Za-z0-9])/sprintf '%%%02X', ord $1/ger, $one =~ s/([^A-Za-z0-9])/sprintf '%%%02x', ord $1/ger);

	for my $before (0 .. 2) {
		my $long = encode_base64(('x' x $before) . $value, '');

		# without the characters that depend on the neighbours
		$long = substr $long, (0, 2, 3)[$before];
		$long =~ s/.?=+$//;
		push @all, $long, $long =~ tr{+/}{-_}r;
	}
	# whoever cuts first and scrubs afterwards leaves pieces
	for my $part (@random) {
		push @all, map { substr $part, $_, 14 } grep { $_ + 14 <= length $part } map { $_ * 7 } 0 .. length($part) / 7;
	}
	return grep { length >= 12 } @all;
}

# A file's text as it is, without row breaks and blanks, and without what agents draw between rows as well.
sub looks {
	my ($text) = @_;
	my $joined = $text =~ s/\\[nrt]//gr;
	my ($dense, $bare);

	$joined =~ s/\\u([0-9a-fA-F]{4})/chr(hex $1) =~ s{[^\x00-\x7f]}{}r/ge;
	$joined =~ s/\\(["\\\/])/$1/g;
	$dense = $joined =~ s/[\s\0]+//gr;
	$bare = $joined =~ s/\n[ \t]*(?:\d+[ \t:]|[-+|>])?/\n/gr;
	$bare =~ s/[^\x21-\x7e]+//g;
	return ($text, $dense, $bare);
}

# By grep, which looks for all of them, in all files, in one pass.
sub find {
	my ($dir, @files) = @_;
	my (%owner, %seen, @looks);

	for (split /^/, slurp("$dir/needles")) {
		chomp;
		my ($needle, $whose) = split /\t/;
		$owner{$needle} = $whose;
	}
	spell("$dir/words", join '', map { "$_\n" } keys %owner);
	for my $i (0 .. $#files) {
		my $text = slurp($files[$i]) // next;

		spell("$dir/looks.$i", join "\n", looks($text), '');
		push @looks, "$dir/looks.$i";
	}
	local $ENV{LC_ALL} = 'C';
	# a hundred at a time: their names are arguments
	while (my @some = splice @looks, 0, 100) {
		open my $hits, '-|', 'grep', '-aoHZFf', "$dir/words", @some or die "grep: $!\n";
		while (<$hits>) {
			chomp;
			my ($file, $needle) = split /\0/;
			my ($i) = $file =~ /\.(\d+)$/;
			$seen{$owner{$needle}} //= "in $files[$i]";
		}
		close $hits or $? == 256 or die "grep failed\n";
		unlink @some;
	}
	unlink "$dir/words";
	print map { "$_ $seen{$_}\n" } sort keys %seen;
	print "-- none\n" if !%seen;
}

sub scenario {
	my ($word) = @_;
	my $text = do { local $/; <STDIN> };

	chomp $text;
	print "$word ", $text =~ s/\\/\\\\/gr =~ s/\n/\\n/gr, "\n";
}

# ---- our own processes ----

# gt-recover and what it starts (tmux's clients, git, the mailer), and the wrapper that hands the prompt over. That one runs in the pane: its
# environment is the agent's, and the start command is one of its arguments; it has a file of its own.
sub watch {
	my ($out, $while, $home) = @_;
	my $test = getppid;
	my %old = map { $_ => 1 } processes();
	my (%to, %seen, %core, %looked);

	for (qw(args env wrapper)) {
		open $to{$_}, '>', "$out.$_" or die "$out.$_: $!\n";
		$to{$_}->autoflush(1);
	}
	print { $to{args} } "watching\n";
	while (-e $while) {
		for my $pid (grep { !$old{$_} } processes()) {
			my ($line, $comm, $stat, $status, $limits, $environ) = map { slurp("/proc/$pid/$_") // '' } qw(cmdline comm stat status limits environ);
			my $parent = $stat =~ /.*\) . (\d+)/s ? slurp("/proc/$1/comm") // '' : '';
			my $wrapper = $line =~ /\0gt-recover\0/;
			my %seeing;

			# what never was ours is left alone in the end
			$old{$pid} = 1 if $looked{$pid}++ > 200 && $comm ne "gt-recover\n";
			next if !$wrapper && $comm ne "gt-recover\n" && $parent ne "gt-recover\n";
			# other tests run at the same time; where an environment may not be read, its parents tell whose it is
			next if $environ ne '' ? $environ !~ /(?:^|\0)HOME=\Q$home\E\0/ : !descends($pid, $test);
			$comm =~ s/\s+$//;
			%seeing = $wrapper ? (wrapper => $line) : (args => "$comm $line", env => $environ);
			# the last word counts, of one that had its umask before: one that begins has not shut its house yet
			$core{$pid} = "$comm $1\n" if $comm eq 'gt-recover' && $status =~ /^Umask:\s+0077$/m && $limits =~ /^Max core file size\s+(\S+)/m;
			for (grep { !$seen{$_}{$seeing{$_}}++ } keys %seeing) {
				print { $to{$_} } $seeing{$_} =~ tr/\0/\n/r, "\n";
			}
		}
		select undef, undef, undef, 0.001;
	}
	spell("$out.core", join '', values %core);
}

sub descends {
	my ($pid, $from) = @_;

	while ($pid > 1 && $pid != $from) {
		($pid) = (slurp("/proc/$pid/stat") // '') =~ /.*\) . (\d+)/s or return 0;
	}
	return $pid == $from;
}

sub processes {
	opendir my $dir, '/proc' or die;
	return grep { /^\d+$/ } readdir $dir;
}

# Not those of whose variables nobody can tell by its name which part of them is secret.
sub plain {
	my ($dir, $place) = @_;
	my @values = values_of($dir, $place);

	print map { "$values[$_]\n" } grep { $kinds[$_][0] ne 'pem' && $kinds[$_][3] !~ /=(?!\w+:\/\/\w+:)/ } 0 .. $#kinds;
}

my %verbs = (
	make => \&make, rows => \&rows, find => \&find, watch => \&watch, scenario => \&scenario, values => \&plain,
	kinds => sub { print scalar @kinds },
	value => sub {
		my ($dir, $place, $kind) = @_;
		my ($i) = grep { $kinds[$_][0] eq $kind } 0 .. $#kinds;

		print((values_of($dir, $place))[$i]);
	},
);
my $verb = shift @ARGV // '';
($verbs{$verb} // die "planted.pl: what is \"$verb\"?\n")->(@ARGV);
