#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "conversation/conversation.h"
#include "screen/screen.h"
#include "transcript/transcript.h"
#include "scrub/scrub.h"

/*
 * read SCREEN TRANSCRIPT ROOM: a pane's text (as capture-pane -e gives it) and a transcript's
 * newest ROOM bytes of words (0: all) into one conversation, "-" for one that is not there.
 * Prints how many exchanges it has and how many bytes of the transcript were read.
 */

/* Bytes that this process has read. */
static long
bytes_read(void)
{
	FILE *f = fopen("/proc/self/io", "r");
	long n = 0;

	if (f == NULL || fscanf(f, "rchar: %ld", &n) != 1)
		n = 0;
	if (f != NULL)
		fclose(f);
	return n;
}

static int
fail(const struct err *e)
{
	fprintf(stderr, "read: %s\n", e->msg);
	return 1;
}

int
main(int argc, char **argv)
{
	struct conversation screen = CONVERSATION_INIT, record = CONVERSATION_INIT, all;
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	struct scrub *s;
	long before = 0;

	setlocale(LC_CTYPE, "C.UTF-8");
	if (argc != 4)
		return 2;
	if (strcmp(argv[1], "-") != 0) {
		struct sgr_rows *style;

		if (io_read_file(argv[1], (size_t)1 << 30, &text, &e) != 0)
			return fail(&e);
		style = sgr_strip(&text);
		screen_read_bytes(text.data, text.len, style, 0, "claude", &screen);
		sgr_free(style);
		buf_release(&text);
	}
	if (strcmp(argv[2], "-") != 0) {
		s = scrub_new(NULL, &e);
		if (s == NULL)
			return fail(&e);
		before = bytes_read();
		if (transcript_read(argv[2], "claude", s, (size_t)strtoull(argv[3], NULL, 10), &record, &e) !=
		    0)
			return fail(&e);
		before = bytes_read() - before;
		scrub_free(s);
	}
	conversation_merge(&record, NULL, &screen, &all);
	printf("%zu %ld\n", all.n, before);
	conversation_release(&all);
	return 0;
}
