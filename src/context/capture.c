#include <stdio.h>
#include <string.h>

#include "context/capture.h"
#include "base/buf.h"
#include "base/err.h"
#include "context/screen.h"
#include "context/style.h"
#include "scrub/scrub.h"
#include "tmux/client.h"
#include "tmux/pane.h"

#define MARGIN ((size_t)500)
#define WHOLE ((size_t)50000)

static size_t
trim_end(const char *p, size_t n)
{
	while (n > 0 && strchr(" \t\n\r", p[n - 1]) != NULL)
		n--;
	return n;
}

/*
 * Without tmux's own last row. The server expands its option for us, so a changed remain-on-exit-format is recognised too.
 * With -J the row may have been joined to the one above it (3.3a takes over that row's wrapped flag), so the end of the
 * text is looked at, not the row.
 */
static size_t
without_dead_line(const char *p, size_t n, const char *dead_line)
{
	size_t want = trim_end(dead_line, strlen(dead_line)), row;

	n = trim_end(p, n);
	if (want > 0 && n >= want && memcmp(p + n - want, dead_line, want) == 0)
		return trim_end(p, n - want);
	for (row = n; row > 0 && p[row - 1] != '\n'; row--)
		;
	if (n - row > 13 && memcmp(p + row, "Pane is dead ", 13) == 0)
		return trim_end(p, row);
	return n;
}

static size_t
count_rows(const char *p, size_t n)
{
	size_t rows = n > 0;

	for (const char *nl = p; n > 0 && (nl = memchr(nl, '\n', (size_t)(p + n - nl))) != NULL; nl++)
		rows++;
	return rows;
}

/* Where the last max_rows rows begin. */
static size_t
tail_of(const char *p, size_t n, size_t max_rows)
{
	size_t at = n;

	while (at > 0) {
		if (p[at - 1] == '\n' && max_rows-- == 1)
			break;
		at--;
	}
	return at;
}

size_t
capture_command(struct batch *b, const struct pane *p, size_t max_rows)
{
	char from[24];

	snprintf(from, sizeof from, "-%zu", max_rows + MARGIN > WHOLE ? max_rows + MARGIN : WHOLE);
	return batch_add(b, "capture-pane", "-p", "-e", "-J", "-t", p->id, "-S", from, NULL);
}

void
capture_text(struct buf *raw, const struct pane *p, bool zombie, size_t max_rows, struct scrub *s, struct capture *out)
{
	struct clean_text *all;
	size_t n, rows;

	memset(out, 0, sizeof *out);
	out->style = style_strip(raw);
	n = trim_end(raw->data, raw->len);
	if (p->dead)
		n = without_dead_line(raw->data, n, p->dead_line);
	if (zombie)
		n = trim_end(raw->data, screen_without_shell(raw->data, n, p->width));
	style_head(out->style, count_rows(raw->data, n));
	all = scrub_text(s, raw->data, n, p->width);
	buf_wipe(raw);
	rows = count_rows(clean_bytes(all), clean_len(all));
	if (rows > max_rows) {
		out->text = clean_slice(all, tail_of(clean_bytes(all), clean_len(all), max_rows), clean_len(all));
		clean_free(all);
		style_tail(out->style, max_rows);
		rows = max_rows;
		out->cut = true;
	} else {
		out->text = all;
	}
	out->rows = rows;
}

int
capture_pane(struct tmux *t, const struct pane *p, bool zombie, size_t max_rows, struct scrub *s,
    struct capture *out, struct err *e)
{
	struct buf raw = BUF_INIT;
	struct batch b;
	const char *text;
	size_t n, i;
	int ret;

	memset(out, 0, sizeof *out);
	batch_init(&b);
	i = capture_command(&b, p, max_rows);
	ret = batch_run(t, &b, e);
	if (ret == 0)
		ret = batch_error(&b, "capture-pane", e);
	if (ret == 0) {
		text = batch_out(&b, i, &n);
		buf_add(&raw, text, n);
		capture_text(&raw, p, zombie, max_rows, s, out);
	}
	batch_release(&b);
	return ret;
}

void
capture_release(struct capture *c)
{
	clean_free(c->text);
	style_free(c->style);
	memset(c, 0, sizeof *c);
}
