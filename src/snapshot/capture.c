#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/snapshot.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "screen/screen.h"
#include "scrub/scrub.h"
#include "tmux/tmux.h"

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
 * Without tmux's own last row. The server expands its option for us, so a changed
 * remain-on-exit-format is recognised too. With -J the row may have been joined to the one above
 * it (3.3a takes over that row's wrapped flag), so the end of the text is looked at, not the row.
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
capture_command(struct tmux_batch *b, const struct pane *p, size_t max_rows)
{
	char from[24];

	snprintf(from, sizeof from, "-%zu", max_rows + MARGIN > WHOLE ? max_rows + MARGIN : WHOLE);
	return tmux_batch_add(b, "capture-pane", "-p", "-e", "-J", "-t", p->id, "-S", from, NULL);
}

/* Takes the text over, and leaves the newest rows of it. */
static void
keep_newest(struct capture *out, struct clean_text *all, size_t max_rows)
{
	size_t rows = count_rows(clean_bytes(all), clean_len(all));

	out->text = all;
	out->rows = rows < max_rows ? rows : max_rows;
	if (rows <= max_rows)
		return;
	out->text = clean_slice(all, tail_of(clean_bytes(all), clean_len(all), max_rows), clean_len(all));
	clean_free(all);
	sgr_keep_tail(out->style, max_rows);
	out->cut = true;
}

void
capture_text(
    struct buf *raw, const struct pane *p, bool zombie, size_t max_rows, struct scrub *s, struct capture *out)
{
	struct clean_text *all;
	size_t n;

	memset(out, 0, sizeof *out);
	out->width = p->width;
	out->style = sgr_strip(raw);
	n = trim_end(raw->data, raw->len);
	if (p->dead)
		n = without_dead_line(raw->data, n, p->dead_line);
	all = scrub_text(s, raw->data, n, p->width);
	buf_wipe(raw);
	/* the scrubber keeps the number of rows: the hints still fit */
	/* between a dead pane and its agent a shell may have stood, too */
	if (zombie || p->dead) {
		n = screen_without_shell(clean_bytes(all), clean_len(all), p->width);
		clean_narrow(all, 0, trim_end(clean_bytes(all), n));
	}
	sgr_keep_head(out->style, count_rows(clean_bytes(all), clean_len(all)));
	keep_newest(out, all, max_rows);
}

/* The directory and the name of the kept copy; the directory is heap. */
static char *
kept_place(const struct pane *p, const char **name)
{
	const char *slash = strrchr(p->kept, '/');

	*name = slash != NULL ? slash + 1 : p->kept;
	return slash != NULL ? xstrndup(p->kept, (size_t)(slash - p->kept)) : xstrdup(".");
}

bool
capture_kept(const struct pane *p, size_t most, struct buf *text, size_t *rows)
{
	struct buf all = BUF_INIT;
	size_t from, there;
	const char *name;
	char *dir;
	pid_t pid;
	bool found;

	if (!pane_is_reset(p))
		return false;
	dir = kept_place(p, &name);
	found = snapshot_file_peek(dir, name, &there, &pid, &all) && pid == p->pid;
	if (found) {
		from = tail_of(all.data, all.len, most);
		buf_add(text, all.data + from, all.len - from);
		*rows = there;
	}
	buf_release(&all);
	free(dir);
	return found;
}

/* False when what was kept is not there, or not of this pane. */
static bool
read_kept(const struct pane *p, size_t max_rows, struct scrub *s, struct capture *out)
{
	const char *name;
	char *dir = kept_place(p, &name);
	struct snapshot shot;
	bool ours = snapshot_file_read(dir, name, s, &shot, NULL) == 0 && shot.server_pid == p->server_pid &&
	    shot.server_start == p->server_start && strcmp(shot.pane, p->id) == 0 && shot.pane_pid == p->pid;

	if (ours) {
		*out = (struct capture){ .style = shot.style, .cut = shot.cut, .width = shot.width };
		keep_newest(out, shot.text, max_rows);
		shot.style = NULL;
		shot.text = NULL;
	}
	snapshot_release(&shot);
	free(dir);
	return ours;
}

/*
 * The pane's own rows as long as they end with what was kept: of them the scrubber knows each
 * secret, in the transcript too, and not only that there was one.
 */
static void
prefer_kept(const struct pane *p, size_t max_rows, struct scrub *s, struct capture *out)
{
	struct capture kept;
	struct buf text = BUF_INIT;
	size_t rows, n = clean_len(out->text);

	out->lost = !capture_kept(p, max_rows, &text, &rows);
	if (!out->lost && text.len > 0 &&
	    (n < text.len || memcmp(clean_bytes(out->text) + n - text.len, text.data, text.len) != 0)) {
		out->lost = !read_kept(p, max_rows, s, &kept);
		if (!out->lost) {
			capture_release(out);
			*out = kept;
		}
	}
	buf_release(&text);
}

int
capture_pane(struct tmux *t, const struct pane *p, bool zombie, size_t max_rows, struct scrub *s,
    struct capture *out, struct err *e)
{
	struct buf raw = BUF_INIT;
	struct tmux_batch b;
	const char *text;
	size_t n, i;
	int ret;

	memset(out, 0, sizeof *out);
	tmux_batch_init(&b);
	i = capture_command(&b, p, max_rows);
	ret = tmux_batch_run(t, &b, e);
	if (ret == 0)
		ret = tmux_batch_error(&b, "capture-pane", e);
	if (ret == 0) {
		text = tmux_batch_output(&b, i, &n);
		buf_add(&raw, text, n);
		capture_text(&raw, p, zombie, max_rows, s, out);
		if (pane_is_reset(p))
			prefer_kept(p, max_rows, s, out);
	}
	tmux_batch_release(&b);
	return ret;
}

void
capture_release(struct capture *c)
{
	clean_free(c->text);
	sgr_free(c->style);
	memset(c, 0, sizeof *c);
}
