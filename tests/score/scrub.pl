#!/usr/bin/perl
# What `gt-recover scrub` finds of made-up secrets, and what it damages of the text that a Debian machine has.
#   make score-scrub [SEED=NUMBER]
# Recall: each sample of config/secrets.ini with fresh values, and values of eight alphabets in the forms below; each flat and wrapped at 80
# columns as Claude Code wraps. Found: no run of a quarter of a secret, at least 6 characters, is left. Precision: changed lines a MB; what
# changes in control characters alone does not count, and lines that tests/score/fixtures names are true samples of secrets.
use strict;
use warnings;
use File::Find;
use File::Temp qw(tempfile);

my ($root) = $0 =~ m{^(.*)/tests/score/[^/]*$} or die "scrub.pl: start it by its path\n";
my $gt = $ENV{GT_RECOVER} || "$root/build/gt-recover";
my $seed = $ENV{SEED} || int(rand(1 << 31));
my %sets = (alnum => join('', 'A' .. 'Z', 'a' .. 'z', 0 .. 9), lower => join('', 'a' .. 'z', 0 .. 9), upper => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
	hex => '0123456789abcdef', digit => '0123456789', url64 => join('', 'A' .. 'Z', 'a' .. 'z', 0 .. 9, '-', '_'),
	base64 => join('', 'A' .. 'Z', 'a' .. 'z', 0 .. 9, '+', '/'));
my @values = ('{alnum:24}', '{alnum:40}', '{lower:32}', '{hex:32}', '{hex:40}', '{base64:43}=', '{url64:43}', '{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}');
my @forms = ('API_TOKEN=%s', 'export API_KEY="%s"', 'apiToken: %s', '"api_key": "%s",', "'secret_key' => '%s',", 'var apiKey string = "%s"',
	'const apiKey = "%s";', 'const char api_key[] = "%s";', 'let api_key: &str = "%s";', 'String apiKey = "%s";', '$api_key .= "%s";', 'API_KEY := %s',
	'API_KEY ::= %s', '<apiToken>%s</apiToken>', "<apiToken>\n    %s\n</apiToken>", "api_token =\n    %s", "apiKey:\n  '%s',",
	'curl -H "X-Api-Key: %s" https://api.acme.io', 'https://api.acme.io/v1/x?access_token=%s&n=1', 'the token %s was made', 'token - \'%s\'',
	'System.setProperty("API_TOKEN", "%s")', '| API_TOKEN | %s |', 'set -gx API_TOKEN %s', 'acme --api-token %s ls');

sub made {
	my $text = shift;

	$text =~ s/\{(\w+):(\d+)\}/join '', map { substr $sets{$1}, int(rand length $sets{$1}), 1 } 1 .. $2/ge;
	return $text;
}

sub scrub {
	my $text = shift;
	my ($in, $name) = tempfile(UNLINK => 1);

	binmode $in;
	print $in $text;
	close $in;
	open my $out, '-|', "'$gt' scrub --no-known <'$name'" or die "scrub.pl: $gt: $!\n";
	binmode $out;
	local $/;
	my $said = <$out>;
	close $out or die "scrub.pl: $gt scrub: exit status " . ($? >> 8) . "\n";
	unlink $name;
	return $said // '';
}

sub leaks {
	my ($out, @secrets) = @_;

	$out =~ s/\n\s*//g;
	for my $secret (map { s/\n\s*//gr } @secrets) {
		my $n = int((length($secret) + 3) / 4);

		$n = 6 if $n < 6;
		$n = length $secret if $n > length $secret;
		for my $i (0 .. length($secret) - $n) {
			return 1 if index($out, substr $secret, $i, $n) >= 0;
		}
	}
	return 0;
}

sub wrapped {
	my $text = shift;

	return join '', map { my $row = $_; my @rows; push @rows, $1 while $row =~ s/^(.{1,75})//; join('', map { "     $_\n" } @rows) } split /\n/, $text;
}

sub recall {
	my ($name, @cases) = @_;
	my ($flat, $cut) = (0, 0);

	for (@cases) {
		my ($text) = (made($_));
		my @secrets = $text =~ /\xc2\xab(.*?)\xc2\xbb/gs;

		$text =~ s/\xc2[\xab\xbb]//g;
		my ($a, $b) = (leaks(scrub($text), @secrets), leaks(scrub(wrapped($text)), @secrets));
		$flat += !$a;
		$cut += !$b;
		print "missed\t$_\n" if $a && $ENV{VERBOSE};
	}
	printf "%-34s %6d   flat %5.1f %%   wrapped at 80 %5.1f %%\n", $name, scalar @cases, 100 * $flat / @cases, 100 * $cut / @cases;
}

sub bare {
	my $line = shift;

	$line =~ s/[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f\xad]|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf|\xef\xbf\xbd|[\x80-\xff]//g;
	return $line;
}

my @fixtures;
sub is_fixture {
	my ($file, $line) = @_;

	for (@fixtures) {
		return 1 if index($file, $_->[0]) >= 0 && index($line, $_->[1]) >= 0;
	}
	return 0;
}

# A batch of files, one after the other: [name, lines].
sub compare {
	my ($counts, @batch) = @_;
	my @new = split /\n/, scrub(join '', map { "$_->[1]\n" } @batch), -1;

	for (@batch) {
		my ($file, $text) = @$_;

		for my $old (split /\n/, $text, -1) {
			my $new = shift(@new) // '';

			next if $old eq $new || bare($old) eq bare($new);
			if (is_fixture($file, $old)) {
				$counts->{fixtures}++;
				next;
			}
			$counts->{damaged}++;
			print "damaged\t$file\t$new\n" if $ENV{VERBOSE};
		}
	}
}

sub precision {
	my ($where, @also) = @_;
	my %counts = (damaged => 0, fixtures => 0, bytes => 0);

	my (@files, @batch);
	my $size = 0;

	find({ wanted => sub { push @files, $File::Find::name if -f $_ && !-l $_ && !/\.(?:so|a|o|pyc|png|jpe?g|gif|woff2?|pdf|xz|bz2)$/ },
		no_chdir => 1 }, $where);
	for my $file (sort @files) {
		open my $in, '-|', $file =~ /\.gz$/ ? ('gzip', '-dc', $file) : ('cat', $file) or next;
		binmode $in;
		local $/;
		my $text = <$in> // '';
		close $in;
		next if $text eq '' || substr($text, 0, 4096) =~ /\0/;
		$counts{bytes} += length $text;
		push @batch, [$file, $text];
		$size += length $text;
		if ($size > 1 << 21) {
			compare(\%counts, splice @batch);
			$size = 0;
		}
		last if $ENV{MOST} && $counts{bytes} > $ENV{MOST} * 1e6;
	}
	compare(\%counts, @batch) if @batch;
	printf "%-34s %6.1f MB   damaged lines %4d   %5.2f a MB   true samples %d\n", $where, $counts{bytes} / 1e6, $counts{damaged},
	    $counts{bytes} ? $counts{damaged} * 1e6 / $counts{bytes} : 0, $counts{fixtures};
	return \%counts;
}

srand $seed;
print "seed $seed\n";
open my $table, '<', "$root/config/secrets.ini" or die "scrub.pl: config/secrets.ini: $!\n";
my @samples;
while (<$table>) {
	next unless /^finds(?:_\d+)? = (['"])(.*)\1\s*$/;
	my ($quote, $text) = ($1, $2);

	$text =~ s/\\(.)/$1 eq 'n' ? "\n" : $1 eq 't' ? "\t" : $1/ge if $quote eq '"';
	push @samples, $text;
}
recall('samples of the table', @samples);
recall('values in forms', map { my $form = $_; map { sprintf $form, "\xc2\xab$_\xc2\xbb" } @values } @forms);

open my $list, '<', "$root/tests/score/fixtures" or die "scrub.pl: tests/score/fixtures: $!\n";
while (<$list>) {
	push @fixtures, [split /\t/] if /^[^#\n]/;
}
my ($bytes, $damaged) = (0, 0);
for (grep { -d } @ARGV ? @ARGV : qw(/usr/include /usr/share/doc /usr/share/man /usr/lib/python3 /usr/lib/python3.11 /usr/share/perl /usr/share/perl5 /usr/lib/node_modules)) {
	my $counts = precision($_);

	$bytes += $counts->{bytes};
	$damaged += $counts->{damaged};
}
printf "%-34s %6.1f MB   damaged lines %4d   %5.2f a MB\n", 'all', $bytes / 1e6, $damaged, $bytes ? $damaged * 1e6 / $bytes : 0;
