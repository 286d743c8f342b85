#!/bin/bash
# The filter keeps every byte that is not part of a secret, and finds secrets across the bytes that it keeps.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# Made here, so that no scanner of repositories stumbles over them.
token=ghp_$(printf '%s' "$0" | sha256sum | head -c 36)
half=${token:0:20} rest=${token:20}

filter() { "$GT_RECOVER" scrub --no-known "$@"; }
same() {
	filter "$@" <"$W/in" >"$W/out" && cmp "$W/in" "$W/out"
}

printf 'one\fpage\r\n\e[2Kline\e]0;title\a\x01\x02\n\xe2\x80\x8bzero\xe2\x80\x8bwidth\xef\xbb\xbf\n\xff\xfe\xc3(\nno newline' >"$W/in"
ok 'controls, escapes, zero width, bad bytes, CRLF and a missing newline stay' same
filter --sanitize <"$W/in" >"$W/out"
not_ok '--sanitize takes them out' grep -qaP '[\x01\x02\x07\f]|\xe2\x80\x8b|\xef\xbb\xbf|\x1b' "$W/out"
ok 'and says how many' test "$(filter --sanitize --json <"$W/in" | jq .removed)" -gt 5
is "$(filter --json <"$W/in" | jq .removed)" 0 'the filter takes none'
: >"$W/in"
ok 'no text stays none' same
printf '\f' >"$W/in"
ok 'a single control stays' same

# each of them inside a secret, before and behind it
for mark in '\x01' '\f' '\xe2\x80\x8b' '\xef\xbb\xbf' '\x00' '\x7f' '\e[2K'; do
	printf %b "a${mark}b ${mark}$half${mark}$rest${mark} c${mark}d\r\nrow${mark}two" >"$W/in"
	printf %b "a${mark}b ${mark}[REDACTED:github-token]${mark} c${mark}d\r\nrow${mark}two" >"$W/want"
	filter <"$W/in" >"$W/out"
	ok "a secret is found across $mark, which stays elsewhere" cmp "$W/want" "$W/out"
	filter <"$W/out" >"$W/again"
	ok 'a second pass changes nothing' cmp "$W/out" "$W/again"
done

# an escape sequence that holds a secret
printf 'x\e]0;%s\ay\n\e]0;fine\az\n' "$token" >"$W/in"
filter <"$W/in" >"$W/out"
printf 'xy\n\e]0;fine\az\n' >"$W/want"
ok 'a title with a secret goes, another one stays' cmp "$W/want" "$W/out"
filter --check <"$W/in"
is $? 7 '--check finds it'
is "$(filter --json <"$W/in" | jq -c '[.places[] | [.row, .kind]]')" '[[1,"github-token"]]' 'in its row'
printf 'x\n\e%s\n' "${token}" >"$W/in"
filter <"$W/in" >"$W/out"
not_ok 'a short sequence cannot hide the first letter of a secret' grep -qa "$token" "$W/out"
printf '\e%s\n' "${token/ghp_/[ghp_}" >"$W/in"
filter <"$W/in" >"$W/out"
not_ok 'nor can the last letter of a longer one' grep -qa "$token" "$W/out"

# Rows without findings around one with a finding, in random bytes. Others are longer than the row
# with the secret: behind the longest row near by, a row may be its continuation.
random_rows() {
	perl -e 'srand(shift); my $t = shift;
		for my $i (1 .. 400) {
			my $row = join "", map { my $c = int rand 256; $c == 10 ? " " : chr $c } 1 .. int rand 160;
			$row = "." x 200 if $i % 40 == 39 || $i % 40 == 1;
			print $i % 40 ? $row : "export GITHUB_TOKEN=$t", $i == 400 ? "" : $i % 3 ? "\n" : "\r\n";
		}' "$1" "$token"
}
changed_rows() { # the rows that differ
	perl -e 'my @f = map { open my $h, "<:raw", $_ or die; [<$h>] } @ARGV; die "rows\n" if @{$f[0]} != @{$f[1]};
		print join " ", grep { $f[0][$_ - 1] ne $f[1][$_ - 1] } 1 .. @{$f[0]}' "$1" "$2"
}
for seed in 1 2 3 4 5; do
	random_rows $seed >"$W/in"
	filter <"$W/in" >"$W/out"
	is "$(changed_rows "$W/in" "$W/out")" '40 80 120 160 200 240 280 320 360 400' "random bytes, seed $seed: other rows stay"
	not_ok 'no token is left' grep -qa "$token" "$W/out"
done

printf '<config>\n\t<githubToken>%s</githubToken>\n\t<host>db1</host>\n</config>\n' "$token" >"$W/in"
is "$(filter <"$W/in" | sed -n 2p)" "$(printf '\t<githubToken>[REDACTED:github-token]</githubToken>')" 'the name of an XML element stays'
# the public half of a lead's key stands in the command of its teammates; other keys that verify may be symmetric
hex=$(printf '%s' "$0" | sha256sum | head -c 64)
printf 'claude --lead-verify-key %s --model x\n' "$hex" >"$W/in"
ok "a lead's public key stays" same
printf 'VERIFY_KEY=%s\n' "$token$rest" | filter >"$W/out"
unlike "$(cat "$W/out")" "$rest" '  another one that verifies does not'
printf 'verify_key: Zk8s9dJ3k%s\n' "${hex:0:15}" | filter >"$W/out"
is "$(cat "$W/out")" 'verify_key: [REDACTED:key]' '  of any form'
done_testing
