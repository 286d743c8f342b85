#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context/transcript.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "context/exchange.h"
#include "context/transcript_claude.h"
#include "context/transcript_tail.h"

#define MOST_PIPE ((size_t)1 << 30)

typedef int read_fn(struct tail *t, const char *path, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e);

static int
read_claude(struct tail *t, const char *path, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e)
{
	return claude_read(t, path, false, s, max_bytes, out, e);
}

/* One reader a format. */
static const struct { const char *name; read_fn *read; } formats[] = {
	{ "claude", read_claude },
};

static read_fn *
find_format(const char *name, struct err *e)
{
	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
		if (strcmp(formats[i].name, name) == 0)
			return formats[i].read;
	err_set(e, GT_USAGE, "format", "transcripts of the format \"%.40s\" cannot be read", name);
	return NULL;
}

static int
read_from(int fd, const char *path, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e)
{
	read_fn *read = find_format(format, e);
	struct tail t;
	int ret = -1;

	if (read == NULL || tail_init_file(&t, fd, e) != 0)
		return -1;
	ret = read(&t, path, s, max_bytes, out, e);
	tail_release(&t);
	return ret;
}

int
transcript_read(const char *path, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;

	*out = (struct conversation)CONVERSATION_INIT;
	if (fd < 0)
		return err_sys(e, GT_FAIL, errno == ENOENT ? "not-found" : "transcript", "the transcript %s cannot be opened", path);
	ret = read_from(fd, path, format, s, max_bytes, out, e);
	close(fd);
	return ret;
}

int
transcript_read_bytes(const char *p, size_t n, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out,
	struct err *e)
{
	read_fn *read = find_format(format, e);
	struct tail t;
	int ret;

	*out = (struct conversation)CONVERSATION_INIT;
	if (read == NULL)
		return -1;
	tail_init_bytes(&t, p, n);
	ret = read(&t, NULL, s, max_bytes, out, e);
	tail_release(&t);
	return ret;
}

int
transcript_read_fd(int fd, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e)
{
	struct buf all = BUF_INIT;
	struct stat st;
	int ret;

	*out = (struct conversation)CONVERSATION_INIT;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return read_from(fd, NULL, format, s, max_bytes, out, e);
	ret = io_read_all(fd, "the transcript", MOST_PIPE, &all, e);
	if (ret == 0)
		ret = transcript_read_bytes(all.data, all.len, format, s, max_bytes, out, e);
	buf_wipe(&all);
	return ret;
}
