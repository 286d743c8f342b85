#ifndef CONTEXT_CAPTURE_H
#define CONTEXT_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

struct batch;
struct buf;
struct clean_text;
struct style;
struct err;
struct pane;
struct scrub;
struct tmux;

/*
 * The pane's scrollback and visible screen as clean text, oldest row first, blank rows at the end left out. Read-only: nothing in tmux
 * changes. The row that tmux writes into a dead pane is left out (T30), of a zombie also what its shell wrote over the agent's box.
 */
struct capture {
	struct clean_text *text;
	struct style *style;	/* of the same rows; NULL: none had any */
	size_t rows;
	bool cut;		/* older rows than max_rows exist and were left out */
};

/*
 * max_rows: of scrollback and screen together. All the scrollback is read and scrubbed before the cut (of one of more than 50,000 rows so
 * many, and a few hundred more than are kept): above the cut may stand the head of a secret, or the name by which it is known further down.
 * capture-pane gives N rows of history and the whole screen (T31).
 * Errors: those of batch_run, or "gone".
 */
int capture_pane(struct tmux *t, const struct pane *p, bool zombie, size_t max_rows, struct scrub *s,
    struct capture *out, struct err *e);
/*
 * The same from what tmux printed: capture_command's output, which is overwritten and empty afterwards. For who captures many panes in one
 * batch. Pure.
 */
void capture_text(struct buf *raw, const struct pane *p, bool zombie, size_t max_rows, struct scrub *s, struct capture *out);
/* Adds the command to a batch and returns its index. */
size_t capture_command(struct batch *b, const struct pane *p, size_t max_rows);
void capture_release(struct capture *c);

#endif
