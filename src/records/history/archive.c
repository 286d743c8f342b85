#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "records/history/history_private.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/io.h"

#define GZIP_WINDOW (15 + 16)			/* the largest, with gzip's header and sum */

static int
make_file(struct archive *a, struct err *e)
{
	struct buf at = BUF_INIT;
	char random[17], *name;

	if (io_private_dir(a->dir, e) != 0)
		return -1;
	io_random_hex(random, 8);
	clock_iso(&at, clock_wall_ms());
	name = xasprintf("history-%s-%s.jsonl.gz", at.data, random);
	a->path = io_join(a->dir, name);
	a->fd = open(a->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	free(name);
	buf_release(&at);
	if (a->fd >= 0 && io_sync_parent(a->path) == 0)
		return 0;
	return err_sys(e, GT_FAIL, "archive", "the archive %s cannot be made", a->path);
}

/* One whole gzip file, heap; a file of several is valid. */
static unsigned char *
compress_lines(const struct buf *lines, size_t *n)
{
	z_stream z = { .next_in = (unsigned char *)lines->data, .avail_in = (uInt)lines->len };
	unsigned char *out;
	uLong room;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		err_no_memory();
	room = deflateBound(&z, (uLong)lines->len);
	out = xmalloc(room);
	z.next_out = out;
	z.avail_out = (uInt)room;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		die("zlib cannot compress");
	*n = z.total_out;
	deflateEnd(&z);
	return out;
}

int
history_archive_write(struct archive *a, const struct buf *lines, struct err *e)
{
	unsigned char *data;
	size_t n;
	int ret = 0;

	if (a->path == NULL && make_file(a, e) != 0)
		return -1;
	data = compress_lines(lines, &n);
	if (fault_point("history-archive") != 0 || io_write_all(a->fd, data, n) != 0 || fsync(a->fd) != 0) {
		err_sys(e, GT_FAIL, "archive", "the archive %s cannot be written", a->path);
		ret = err_hint(e, "Nothing was removed from the store. Free disk space, or check the key "
		    "archive");
	}
	free(data);
	return ret;
}

void
history_archive_close(struct archive *a)
{
	if (a->path != NULL && a->fd >= 0)
		close(a->fd);
	free(a->path);
	a->path = NULL;
}
