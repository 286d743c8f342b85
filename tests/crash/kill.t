#!/bin/bash
# Verbs of the ledger are killed for real, at the calls by which they meet their files: before each one, and in the middle of a write. By
# strace, and by a library that stands before the C library (file_fault.c), each where it can. What such a run left is all of its change
# or none; what was there before stays; asked again it is done, once; the event log is whole; and no file is left over.
# A sample of the calls; KILL_ALL=1 (make stress) takes all verbs at all calls.
# the calls count, not the disk
[ ! -w /dev/shm ] || [ -n "${TMPDIR:-}" ] || export TMPDIR=/dev/shm
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=tests/e2e/sqlite.sh
. "$ROOT/tests/e2e/sqlite.sh"
sql ':memory:' 'select 1' >/dev/null || exit 1
W=$W GT_RECOVER=$GT_RECOVER PRELOAD=$ROOT/build/file-fault.so perl "$ROOT/tests/crash/kill.pl"
rc=$?
TESTS=-1	# it said them itself
exit "$rc"
