#!/bin/bash
# scripts/setup on a system without apt: it installs nothing, and names the packages of that system.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
mkdir "$W/none"

setup() {	# OS-RELEASE-LINES [OPTION]
	printf '%s\n' "$1" >"$W/os-release"
	shift
	RC=0
	OUT=$(PATH=$W/none GT_OS_RELEASE=$W/os-release /bin/bash "$ROOT/scripts/setup" "$@" 2>&1) || RC=$?
}

while IFS='|' read -r id like command package; do
	setup "ID=$id
ID_LIKE=\"$like\"
PRETTY_NAME='The $id of today'"
	is "$RC" 1 "$id: setup fails"
	like "$OUT" "The $id of today; as root: $command .*$package" '  and says which command installs what'
done <<'LIST'
fedora||dnf install|pcre2-devel
rocky|rhel centos fedora|dnf install|hiredis-devel
arch||pacman -S --needed|libinih
manjaro|arch|pacman -S --needed|hiredis
alpine||apk add|musl-dev
opensuse-tumbleweed|opensuse suse|zypper install|sqlite3-devel
LIST
setup 'ID=arch' --real
like "$OUT" ' nodejs npm$' '--real adds node and npm'
setup 'ID=haiku
PRETTY_NAME=Haiku'
is "$RC" 1 'an unknown system: setup fails'
like "$OUT" "on Haiku; .*Debian's: gcc make .*libpcre2-dev" "  and lists Debian's names"
done_testing
