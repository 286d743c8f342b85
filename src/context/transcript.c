#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context/transcript.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "context/exchange.h"
#include "context/transcript_book.h"
#include "context/transcript_claude.h"
#include "context/transcript_reader.h"
#include "context/transcript_tail.h"

#define MOST_PIPE ((size_t)1 << 30)

static int
read_claude(int fd, const char *path, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e)
{
	struct tail t;
	int ret;

	if (tail_init_file(&t, fd, e) != 0)
		return -1;
	ret = claude_read(&t, path, false, s, max_bytes, out, e);
	tail_release(&t);
	return ret;
}

/* Claude Code's own reader knows more than the others; false: it is asked for. */
static bool
is_other(const char *format, const struct reader **how)
{
	*how = NULL;
	if (strcmp(format, "claude") == 0)
		return false;
	*how = reader_find(format);
	return true;
}

int
transcript_no_format(const char *format, struct err *e)
{
	err_set(e, GT_USAGE, "format", "transcripts of the format \"%.40s\" cannot be read", format);
	return err_hint(e, "known are claude, codex, gemini, qwen, copilot, pi, auggie, cline and opencode");
}

static int
read_book(const struct reader *how, struct book *b, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e)
{
	int ret = reader_read(how, &b->pages, s, max_bytes, out, e);

	book_close(b);
	return ret;
}

int
transcript_read(const char *path, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e)
{
	const struct reader *how;
	struct book b;
	int fd, ret;

	*out = (struct conversation)CONVERSATION_INIT;
	if (is_other(format, &how))
		return how == NULL ? transcript_no_format(format, e) : book_open(&b, how, path, e) != 0 ? -1 :
		    read_book(how, &b, s, max_bytes, out, e);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_sys(e, GT_FAIL, errno == ENOENT ? "not-found" : "transcript", "the transcript %s cannot be opened", path);
	ret = read_claude(fd, path, s, max_bytes, out, e);
	close(fd);
	return ret;
}

int
transcript_read_bytes(const char *p, size_t n, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out,
	struct err *e)
{
	const struct reader *how;
	struct book b;
	struct tail t;
	int ret;

	*out = (struct conversation)CONVERSATION_INIT;
	if (is_other(format, &how))
		return how == NULL ? transcript_no_format(format, e) : book_open_bytes(&b, how, p, n, e) != 0 ? -1 :
		    read_book(how, &b, s, max_bytes, out, e);
	tail_init_bytes(&t, p, n);
	ret = claude_read(&t, NULL, false, s, max_bytes, out, e);
	tail_release(&t);
	return ret;
}

int
transcript_read_fd(int fd, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e)
{
	struct buf all = BUF_INIT;
	const struct reader *how;
	struct book b;
	struct stat st;
	int ret;

	*out = (struct conversation)CONVERSATION_INIT;
	if (is_other(format, &how) && how == NULL)
		return transcript_no_format(format, e);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		if (how == NULL)
			return read_claude(fd, NULL, s, max_bytes, out, e);
		return book_open_fd(&b, how, fd, e) != 0 ? -1 : read_book(how, &b, s, max_bytes, out, e);
	}
	ret = io_read_all(fd, "the transcript", MOST_PIPE, &all, e);
	if (ret == 0)
		ret = transcript_read_bytes(all.data, all.len, format, s, max_bytes, out, e);
	buf_wipe(&all);
	return ret;
}
