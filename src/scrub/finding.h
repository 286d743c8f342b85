#ifndef SCRUB_FINDING_H
#define SCRUB_FINDING_H

#include <stdbool.h>
#include <stddef.h>

#include "scrub/rows/rows_private.h"

struct buf;
struct removed;

/*
 * What is to be replaced in a text. A secret that is cut over rows is one finding a row; all but
 * the first are `cont` and become "[…]". No finding holds a newline, so rows are never lost.
 */
/*
 * Where findings overlap, the lowest rank names the whole: a format of its own, a value that was
 * learned, a place in a command or header, a name before it, a value that was found elsewhere.
 */
enum scrub_rank {
	SCRUB_RANK_WITHHELD, SCRUB_RANK_FORMAT, SCRUB_RANK_KNOWN, SCRUB_RANK_PLACE, SCRUB_RANK_NAMED,
	SCRUB_RANK_SEEN
};

struct scrub_finding {
	size_t from, to;	/* offsets in the source */
	size_t kind;		/* index into the scrubber's kinds */
	enum scrub_rank rank;
	bool cont;
	size_t secret;		/* number of the value (match_private.h) + 1, or 0 */
	size_t span;		/* bytes of the whole value: where ranks are alike, the longer one names */
	unsigned ordinal;	/* set before it is written; 0 and 1 are not shown */
};

/* [REDACTED:kind], [REDACTED:kind#2]: the first secret of its kind, and the second. */
#define SCRUB_PLACEHOLDER "[REDACTED:"
#define SCRUB_ROW_WITHHELD "[scrub: row withheld]"
#define SCRUB_ORDINAL_MAX 999999u

/*
 * The length of a placeholder at p, with the index of its kind and its ordinal; 0 when it is
 * none, or of no kind of ours.
 */
size_t scrub_placeholder_read(
    const char *p, size_t n, const char *const *kinds, size_t n_kinds, size_t *kind, unsigned *ordinal);

struct scrub_findings {
	struct scrub_finding *v;
	size_t n, cap;
};

void scrub_findings_release(struct scrub_findings *f);
void scrub_findings_add(struct scrub_findings *f, struct scrub_finding one);
/* The stretch [from, to) of a view, row by row; kind, rank and secret are those of `like`. */
void scrub_findings_add_text(
    struct scrub_findings *f, const struct joined_text *w, size_t from, size_t to, struct scrub_finding like);

/*
 * Sorts, widens to whole runes, drops what touches text that stands for a secret already (a
 * placeholder of a kind of ours, […], withheld rows), and merges what overlaps.
 */
void scrub_findings_merge(
    struct scrub_findings *f, const char *text, size_t n, const char *const *kinds, size_t n_kinds);

/*
 * The text with its findings replaced. Bars of boxes keep their column where there is room. `gone`
 * moves along with the text (scrub_private.h); NULL: none.
 */
void scrub_findings_write(const struct scrub_findings *f, const char *text, const struct scrub_rows *rows,
    const char *const *kinds, struct removed *gone, struct buf *out);

#endif
