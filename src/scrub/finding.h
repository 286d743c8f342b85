#ifndef SCRUB_FINDING_H
#define SCRUB_FINDING_H

#include <stdbool.h>
#include <stddef.h>

#include "scrub/view.h"

struct buf;

/*
 * What is to be replaced in a text. A secret that is cut over rows is one finding a row; all but the first are `cont` and become "[…]".
 * No finding holds a newline, so rows are never lost.
 */
/*
 * Where findings overlap, the lowest rank names the whole: a format of its own, a value that was learned, a place in a command or header, a
 * name before it, a value that was found elsewhere.
 */
enum rank { RANK_WITHHELD, RANK_FORMAT, RANK_KNOWN, RANK_PLACE, RANK_NAMED, RANK_SEEN };

struct finding {
	size_t from, to;	/* offsets in the source */
	size_t kind;		/* index into the scrubber's kinds */
	enum rank rank;
	bool cont;
	size_t secret;		/* number of the value (known.h) + 1, or 0 */
	size_t span;		/* bytes of the whole value: where ranks are alike, the longer one names */
	unsigned ordinal;	/* set before it is written; 0 and 1 are not shown */
};

/* [REDACTED:kind], [REDACTED:kind#2]: the first secret of its kind, and the second. */
#define PLACEHOLDER "[REDACTED:"
#define WITHHELD "[scrub: row withheld]"
#define MAX_ORDINAL 999999u

/* The length of a placeholder at p, with the index of its kind and its ordinal; 0 when it is none, or of no kind of ours. */
size_t placeholder_read(const char *p, size_t n, const char *const *kinds, size_t n_kinds, size_t *kind, unsigned *ordinal);

struct findings {
	struct finding *v;
	size_t n, cap;
};

void findings_release(struct findings *f);
void findings_add(struct findings *f, struct finding one);
/* The stretch [from, to) of a view, row by row; kind, rank and secret are those of `like`. */
void findings_add_view(struct findings *f, const struct view *w, size_t from, size_t to, struct finding like);

/*
 * Sorts, widens to whole runes, drops what touches text that stands for a secret already (a placeholder of a kind of ours, […],
 * withheld rows), and merges what overlaps.
 */
void findings_settle(struct findings *f, const char *text, size_t n, const char *const *kinds, size_t n_kinds);

/* The text with its findings replaced. Bars of boxes keep their column where there is room. */
void findings_write(const struct findings *f, const char *text, const struct frames *rows, const char *const *kinds, struct buf *out);

#endif
