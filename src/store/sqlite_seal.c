/*
 * When the whole file has to be checked (sqlite_verify). That reads every page: at every open it would
 * make each command slower with each record. Behind its first byte the lock file holds a seal: when the
 * file passed the check, and its inode, size and times after the last clean commit since. The next
 * open checks when
 *
 *	a writer died while it committed, or its disk failed: who finds its byte in the lock file
 *	breaks the seal;
 *	the file is another one, or was written by anything but a commit of ours;
 *	the machine has booted since. That covers every loss of power, so that the seal needs no
 *	fsync: it counts on one boot alone;
 *	a day has passed, or the clocks do not agree;
 *	SQLite met damage while it read, or the check of a backup did.
 *
 * No error here fails a command. A seal that cannot be written, read or understood is none: then the
 * file is checked.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_private.h"
#include "base/err.h"
#include "base/io.h"
#include "base/timestamp.h"

#define DAY_MS ((int64_t)24 * 60 * 60 * 1000)
/* Fields of fixed width, and the newline is the last byte: a seal that was cut short is none. */
#define NUMBER " %016" PRIx64
#define READ " %16" SCNx64
#define SEAL_LEN (1 + 1 + 36 + 7 * 17 + 1)

static uint64_t
nanoseconds(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

/* False: the file cannot be looked at. */
static bool
match_rules(const char *path, struct sqlite_seal *seal)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return false;
	seal->dev = st.st_dev;
	seal->ino = st.st_ino;
	seal->size = (uint64_t)st.st_size;
	seal->modified = nanoseconds(&st.st_mtim);
	seal->changed = nanoseconds(&st.st_ctim);
	return true;
}

static bool
read_seal(int lock, struct sqlite_seal *seal)
{
	char text[SEAL_LEN + 1] = "";
	uint64_t boot_ms, wall_ms;

	memset(seal, 0, sizeof *seal);
	if (pread(lock, text, SEAL_LEN, 1) != SEAL_LEN || text[SEAL_LEN - 1] != '\n')
		return false;
	if (sscanf(text, "1 %36s" READ READ READ READ READ READ READ, seal->at.boot_id, &boot_ms, &wall_ms,
	    &seal->dev, &seal->ino, &seal->size, &seal->modified, &seal->changed) != 8)
		return false;
	seal->at.boot_ms = (int64_t)boot_ms;
	seal->at.wall_ms = (int64_t)wall_ms;
	return true;
}

/* The first byte and the seal, in one write. -1 with errno. */
static int
write_seal(int lock, char first, const struct sqlite_seal *seal)
{
	char text[SEAL_LEN + 2];

	text[0] = first;
	snprintf(text + 1, sizeof text - 1, "1 %36.36s" NUMBER NUMBER NUMBER NUMBER NUMBER NUMBER NUMBER "\n",
	    seal->at.boot_id, (uint64_t)seal->at.boot_ms, (uint64_t)seal->at.wall_ms, seal->dev, seal->ino,
	    seal->size, seal->modified, seal->changed);
	return pwrite(lock, text, SEAL_LEN + 1, 0) == SEAL_LEN + 1 ? 0 : -1;
}

/* It was checked on this boot, a day ago at most. */
static bool
is_recent(const struct sqlite_seal *seal)
{
	struct timestamp now;
	int64_t age;

	timestamp_now(&now);
	age = timestamp_age(&seal->at, &now);
	return seal->at.boot_id[0] != '\0' && now.boot_id[0] != '\0' && age >= 0 && age <= DAY_MS;
}

static bool
is_unchanged(const char *path, const struct sqlite_seal *seal)
{
	struct sqlite_seal now;

	return match_rules(path, &now) && now.dev == seal->dev && now.ino == seal->ino &&
	    now.size == seal->size && now.modified == seal->modified && now.changed == seal->changed;
}

void
sqlite_seal_take(struct sqlite_store *s)
{
	s->sealed = read_seal(s->lock_fd, &s->seal) && is_unchanged(s->path, &s->seal);
}

int
sqlite_seal_renew(struct sqlite_store *s, char first)
{
	struct sqlite_seal there;

	/* another process may have broken it meanwhile */
	if (s->sealed && read_seal(s->lock_fd, &there) && match_rules(s->path, &s->seal))
		return write_seal(s->lock_fd, first, &s->seal);
	return pwrite(s->lock_fd, &first, 1, 0) == 1 ? 0 : -1;
}

void
sqlite_seal_break(int lock)
{
	ssize_t n = pwrite(lock, "-", 1, 1);

	(void)n;
}

void
sqlite_distrust(struct sqlite_store *s)
{
	int lock = open(s->lock, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	s->sealed = false;
	if (lock < 0)
		return;
	sqlite_seal_break(lock);
	close(lock);
}

enum hold { BROKEN, HOLDS, CHANGING };	/* CHANGING: a writer is at work, who seals when he is done */

static enum hold
how_it_holds(const struct sqlite_store *s, int lock)
{
	struct sqlite_seal seal;

	if (!read_seal(lock, &seal) || !is_recent(&seal))
		return BROKEN;
	if (is_unchanged(s->path, &seal))
		return HOLDS;
	return sqlite_is_left(lock) ? CHANGING : BROKEN;
}

static enum hold
look_at_seal(const struct sqlite_store *s)
{
	int lock = open(s->lock, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	enum hold found = lock >= 0 ? how_it_holds(s, lock) : BROKEN;

	if (lock >= 0)
		close(lock);
	return found;
}

int
sqlite_check(struct sqlite_store *s, struct err *e)
{
	enum hold found = look_at_seal(s);
	struct err busy = ERR_INIT;
	int ret;

	if (found == HOLDS)
		return 0;
	/* Nobody commits while we hold it. Where another holds it we check as well, and seal nothing. */
	if (s->lock_fd < 0)
		s->lock_fd = io_lock(s->lock, 0, &busy);
	if (s->lock_fd < 0)
		return found == CHANGING ? 0 : sqlite_verify(s->db, e);
	if (how_it_holds(s, s->lock_fd) == HOLDS)
		return 0;
	if (sqlite_is_left(s->lock_fd) || !match_rules(s->path, &s->seal))
		return sqlite_verify(s->db, e);
	timestamp_now(&s->seal.at);
	ret = sqlite_verify(s->db, e);
	if (ret == 0)
		write_seal(s->lock_fd, SQLITE_IDLE, &s->seal);
	return ret;
}

/* Who commits meanwhile is waited for: a pass that ends somebody believes nothing that is not checked. */
int
sqlite_check_now(struct store *base, struct err *e)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	int ret = 0;

	if (s->readonly || s->broken)
		return 0;
	if (sqlite_enter(s, e) != 0)
		return -1;
	if (how_it_holds(s, s->lock_fd) != HOLDS && match_rules(s->path, &s->seal)) {
		timestamp_now(&s->seal.at);
		ret = sqlite_verify(s->db, e);
		if (ret == 0)
			write_seal(s->lock_fd, SQLITE_IDLE, &s->seal);
		else
			sqlite_damage_hint(s->path, e);
	}
	sqlite_leave(s, true);
	return ret;
}
