#!/usr/bin/perl
# How long an agent waits for `gt-recover hook`, before a tool: wall time and processor time of the whole process, in a store of its own, against
# a program that does nothing. hook.pl PROGRAM [RUNS]. Nothing fails for being slow; what went to the spool is said.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);

require(dirname(abs_path($0)) . '/timed.pl');
our $dir;
my ($program, $runs) = (abs_path($ARGV[0] // die "hook.pl PROGRAM [RUNS]\n"), $ARGV[1] // 300);
my $talk = '11111111-2222-4333-8444-555555555555';

my $start = input('start', qq({"session_id":"$talk","cwd":"$dir","source":"startup"}));
my $bash = input('bash', qq({"session_id":"$talk","cwd":"$dir","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"make"}}));
my $large = input('large', qq({"session_id":"$talk","cwd":"$dir","tool_name":"Write","tool_use_id":"t","tool_input":{"file_path":"$dir/a","content":") .
    'a line of a file\n' x 60000 . '"}}');

run('/dev/null', $program, 'install', 'hooks', '-q');
run($start, $program, 'hook', 'SessionStart');
head("$runs hooks each");
row('a program that does nothing', $runs, '/dev/null', '/bin/true');
row('hook PreToolUse', $runs, $bash, $program, 'hook', 'PreToolUse');
row('hook PreToolUse, Write of 1 MB', $runs, $large, $program, 'hook', 'PreToolUse');
my $spooled = 0;
if (open my $spool, '<', "$dir/state/gt-recover/spool") {
	$spooled = () = <$spool>;
}
printf "%d of %d went to the spool\n", $spooled, 2 * $runs;
