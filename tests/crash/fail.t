#!/bin/bash
# Verbs of the ledger meet a disk that fails: fsync answers EIO, the disk or a file is full, the file system is read-only, no descriptor is
# left. Whoever ends with a status other than 0 says why, acknowledges nothing and loses nothing, and the same command does its work when
# that is over; a 0 means that the change is there. A disk that is full and one that is read-only are real where a file system may be
# mounted; the rest is the kernel's limits and a library that stands before the C library (file_fault.c).
# FAIL_ALL=1 (make stress) takes all verbs at all places.
# the calls count, not the disk
[ ! -w /dev/shm ] || [ -n "${TMPDIR:-}" ] || export TMPDIR=/dev/shm
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
sql ':memory:' 'select 1' >/dev/null || exit 1
mkdir "$W/disk"
alone=()
if unshare -Urm mount -t tmpfs gtr-test "$W/disk" 2>/dev/null; then
	alone=(unshare -Urm)
elif unshare -m mount -t tmpfs gtr-test "$W/disk" 2>/dev/null; then
	alone=(unshare -m)
fi
W=$W GT_RECOVER=$GT_RECOVER PRELOAD=$ROOT/build/file-fault.so MOUNTS=${#alone[@]} ${alone[@]+"${alone[@]}"} perl "$ROOT/tests/crash/fail.pl"
rc=$?
TESTS=-1	# it said them itself
exit "$rc"
