/*
 * The lock file that writers queue at, in front of SQLite's own locks, whose busy handler is
 * unfair (50 writers: worst wait 2.4 s without the lock file, 66 ms with it). Readers need none,
 * until they find the file locked: where others commit without a pause they would poll for a gap
 * in vain, so they queue there, too.
 *
 * SQLite makes a commit visible, by emptying the journal, just before it syncs that: where a
 * writer is killed in between, the next process sees a commit that a loss of power would still
 * undo, and might tell somebody that it is done. So the file's first byte says that somebody is
 * committing. Whoever finds it set and the lock free syncs first. The byte is never synced
 * itself: it has to outlive a kill, and a loss of power leaves only what was synced. Behind it
 * stands the seal (sqlite_seal.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_private.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/io.h"

#define COMMITTING 'w'
/* for those who do not know the lock file, and for readers to be done */
#define OTHERS_WAIT_MS 5000

char *
sqlite_lock_path(const char *path)
{
	return xasprintf("%.*s/recover.lock", (int)(strrchr(path, '/') - path), path);
}

bool
sqlite_is_left(int lock)
{
	char byte;

	return pread(lock, &byte, 1, 0) == 1 && byte == COMMITTING;
}

/*
 * The database itself was synced before its journal was emptied. The seal is broken, so that the next
 * open checks. 0, or -1 with errno.
 */
static int
sync_left(const struct sqlite_store *s, int lock)
{
	char *journal = xasprintf("%s-journal", s->path);
	int fd = open(journal, O_RDWR | O_NOFOLLOW | O_CLOEXEC), ret = fd >= 0 || errno == ENOENT ? 0 : -1;

	if (fd >= 0)
		ret = fsync(fd);
	if (ret == 0)
		ret = io_sync_parent(journal);
	if (fd >= 0)
		close(fd);
	free(journal);
	if (ret == 0)
		sqlite_seal_break(lock);
	return ret;
}

static int
set_lock_byte(int lock, char byte)
{
	return pwrite(lock, &byte, 1, 0) == 1 ? 0 : -1;
}

int
sqlite_mark(int lock, bool committing)
{
	return set_lock_byte(lock, committing ? COMMITTING : SQLITE_IDLE);
}

int
sqlite_enter(struct sqlite_store *s, struct err *e)
{
	int fd;

	if (s->lock_fd >= 0)
		return 0;
	if ((fd = io_lock(s->lock, fault_wait_ms("GT_LOCK_MS", SQLITE_LOCK_WAIT_MS), e)) < 0)
		return -1;
	if (sqlite_is_left(fd) && (sync_left(s, fd) != 0 || set_lock_byte(fd, SQLITE_IDLE) != 0)) {
		err_sys(e, GT_FAIL, "io", "the disk failed on %s", s->path);
		close(fd);
		return -1;
	}
	s->lock_fd = fd;
	return 0;
}

int
sqlite_lock(struct sqlite_store *s, struct err *e)
{
	if (sqlite_enter(s, e) != 0)
		return -1;
	sqlite_seal_take(s);
	s->committing = set_lock_byte(s->lock_fd, COMMITTING) == 0;
	if (s->committing)
		return 0;
	sqlite_injected(s, e);
	sqlite_leave(s, true);
	return -1;
}

void
sqlite_leave(struct sqlite_store *s, bool settled)
{
	if (s->lock_fd < 0)
		return;
	if (s->committing && settled) {
		sqlite_seal_renew(s, SQLITE_IDLE);
		s->committing = false;
	}
	if (s->held)
		return;
	close(s->lock_fd);
	s->lock_fd = -1;
	s->committing = false;
}

int
sqlite_busy(void *store, int count)
{
	struct sqlite_store *s = store;
	bool queued = s->lock_fd >= 0;

	if (!queued || count == 0)
		s->patience = 0;
	if (!queued)
		return sqlite_enter(s, NULL) == 0;
	if (s->patience == 0)
		s->patience = clock_mono_ms() + OTHERS_WAIT_MS;
	else if (clock_mono_ms() >= s->patience)
		return 0;
	clock_sleep_ms(count < 8 ? 1 : count < 40 ? 5 : 20);
	return 1;
}

int
sqlite_sync_left(struct sqlite_store *s, struct err *e)
{
	int fd = open(s->lock, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), lock, ret = 0;
	bool left = fd >= 0 && sqlite_is_left(fd);
	struct err busy = ERR_INIT;

	if (fd >= 0)
		close(fd);
	if (!left || s->lock_fd >= 0)
		return 0;
	/* a writer that lives has synced it, or is about to */
	lock = io_lock(s->lock, 0, &busy);
	if (lock < 0)
		return 0;
	if (sqlite_is_left(lock) && (ret = sync_left(s, lock)) == 0)
		set_lock_byte(lock, SQLITE_IDLE);
	if (ret != 0)
		sqlite_injected(s, e);
	close(lock);
	return ret;
}
