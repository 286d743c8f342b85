#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/db_private.h"
#include "base/buf.h"
#include "base/db.h"
#include "base/err.h"
#include "base/io.h"

int
db_local(const char *path, struct err *e)
{
	/* NFS, SMB, CIFS, SMB2, AFS, CODA, NCP, Ceph, Lustre */
	static const unsigned long remote[] = {
		0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x73757245, 0x564c, 0x00c36400, 0x0bd00bd0
	};
	struct statfs fs;

	if (statfs(path, &fs) != 0)
		return err_sys(e, GT_FAIL, "unwritable", "the file system of %s cannot be examined", path);
	for (size_t i = 0; i < sizeof remote / sizeof remote[0]; i++) {
		if (((unsigned long)fs.f_type & 0xffffffff) != remote[i])
			continue;
		err_set(e, GT_FAIL, "network-fs",
		    "%s is on a network file system, where locks and fsync cannot be trusted", path);
		return err_hint(e, "Keep the state on a local disk: state = \"sqlite:/PATH\" in gt.toml");
	}
	return 0;
}

static int
make_file(const char *path, struct err *e)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (errno == EEXIST)
		return 0;
	err_sys(e, GT_FAIL, "unwritable", "the database %s cannot be made", path);
	return e != NULL && e->hint[0] != '\0'
	    ? -1
	    : err_hint(e, "Its directory must exist and belong to this user");
}

/*
 * The file's name and its directory's: who made them may have been killed before he synced them.
 * What is above the directory may be somebody else's: then the directory's name is none that we
 * made.
 */
static int
sync_names(const char *path, struct err *e)
{
	char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));
	int ret = io_sync_parent(path);

	if (ret == 0 && dir[0] != '\0' && io_sync_parent(dir) != 0 && errno != EACCES && errno != EROFS &&
	    errno != EINVAL)
		ret = -1;
	if (ret != 0)
		err_sys(e, GT_FAIL, "unwritable", "the directory of %s cannot be synced", path);
	free(dir);
	return ret;
}

static void
unwritable_file(const char *path, struct err *e)
{
	struct statvfs fs;

	if (statvfs(path, &fs) == 0 && (fs.f_flag & ST_RDONLY) != 0) {
		err_set(e, GT_FAIL, "unwritable",
		    "the database %s cannot be written: its file system is mounted read-only", path);
		err_hint(e, "Look at the disk (dmesg), mount it for writing and run the command again");
	} else {
		err_set(e, GT_FAIL, "unwritable", "the database %s cannot be written", path);
		err_hint(e, "Check its rights: it must be this user's, with mode 0600");
	}
}

static int
own_file(const char *path, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return err_sys(e, GT_FAIL, "unwritable", "%s cannot be examined", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		return err_set(
		    e, GT_FAIL, "not-ours", "%s is not a regular file of this user with a single name", path);
	if ((st.st_mode & 077) != 0 && chmod(path, 0600) != 0)
		return err_sys(e, GT_FAIL, "unwritable", "%s is open to others and cannot be closed", path);
	return st.st_size > 0 ? 0 : sync_names(path, e);
}

/*
 * Refused before SQLite does more than open it: a WAL database of somebody else would get a -shm
 * at the first read. While a journal waits to be rolled back the header proves nothing; then the
 * caller's own look at application_id decides.
 */
static int
own_header(sqlite3 *db, const char *path, uint32_t app_id, bool *fresh, struct err *e)
{
	unsigned char h[DB_HEADER];
	sqlite3_file *file;
	int rc;
	sqlite3_int64 size = db_header(db, h, &file, &rc);
	uint32_t id = (uint32_t)h[68] << 24 | (uint32_t)h[69] << 16 | (uint32_t)h[70] << 8 | h[71];

	if (size < 0)
		return db_fail(db, rc, e);
	*fresh = size == 0;
	if (size == 0 || db_part_size(path, DB_JOURNAL) > 0)
		return 0;
	if (!db_is_sqlite(h))
		return db_fail(db, SQLITE_NOTADB, e);
	if (id == app_id)
		return 0;
	err_set(e, GT_FAIL, "not-ours", "%s is a database of another program", path);
	return err_hint(
	    e, "Nothing in it was changed. Name another file: state = \"sqlite:/PATH\" in gt.toml");
}

static int
own_settings(sqlite3 *db, struct err *e)
{
	static const struct db_pragma wanted[] = {
		{ "cell_size_check", "ON", "1" },
		{ "mmap_size", "0", "0" },
		{ "temp_store", "MEMORY", "2" },
		{ "foreign_keys", "ON", "1" },
		{ "recursive_triggers", "ON", "1" },
		{ "secure_delete", "ON", "1" },
		{ "locking_mode", "NORMAL", "normal" },
		{ "journal_mode", "TRUNCATE", "truncate" },
		{ "synchronous", "FULL", "2" },
	};

	return db_set_pragmas(db, wanted, sizeof wanted / sizeof wanted[0], e);
}

int
db_open_own(const char *path, uint32_t app_id, int (*busy)(void *arg, int count), void *arg, sqlite3 **out,
    bool *fresh, struct err *e)
{
	sqlite3 *db = NULL;
	int rc;

	*out = NULL;
	*fresh = false;
	if (path[0] != '/')
		die("a database path must be absolute: %s", path);
	if (make_file(path, e) != 0 || own_file(path, e) != 0 || db_local(path, e) != 0)
		return -1;
	db_begin();
	rc = sqlite3_open_v2(
	    path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE, NULL);
	if (rc != SQLITE_OK) {
		db_fail(db, rc, e);
		goto out;
	}
	/* SQLite falls back to reading what it may not write, without a word */
	if (sqlite3_db_readonly(db, "main") != 0) {
		unwritable_file(path, e);
		goto out;
	}
	if (busy != NULL)
		sqlite3_busy_handler(db, busy, arg);
	else
		sqlite3_busy_timeout(db, 5000);
	if (db_defend(db, false, e) != 0 || own_header(db, path, app_id, fresh, e) != 0 ||
	    own_settings(db, e) != 0)
		goto out;
	*out = db;
	return 0;
out:
	db_close(db);
	return -1;
}

sqlite3 *
db_open_damaged(const char *path)
{
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE,
		NULL) == SQLITE_OK &&
	    db_defend(db, true, NULL) == 0)
		return db;
	db_close(db);
	return NULL;
}
