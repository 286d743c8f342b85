#ifndef SCRUB_SCRUB_PRIVATE_H
#define SCRUB_SCRUB_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scrub/finding.h"
#include "scrub/match/match_private.h"
#include "scrub/rows/rows_private.h"
#include "scrub/rules/rules_private.h"
#include "scrub/scrub.h"

struct buf;
struct pattern;

/* ---- mend ---- */

/*
 * Makes the text what the scrubber looks at, and counts what it takes out: escape sequences but
 * colours, controls but tab, newline and carriage return, and invisible runes but two in a row
 * that belong to the character before them. They could part a secret or hide one (in an OSC).
 * What is no UTF-8 becomes U+FFFD. Rows stay rows.
 */
size_t scrub_sanitize(struct buf *text);

/* ---- removed ---- */

/*
 * The bytes that sanitizing took out of a text, with their places in what is left of it: a filter
 * puts back those that stand outside of secrets. Offsets are bytes, texts are below 2 GiB. The
 * caller releases it, which overwrites the bytes.
 */
struct removed_piece {
	uint32_t at;			/* offset in the text */
	uint32_t from, n;		/* in bytes */
	uint32_t instead;		/* bytes of U+FFFD that stand there now */
	bool escape;			/* an escape sequence */
};

struct removed {
	struct removed_piece *v;	/* by place */
	size_t n, cap;
	struct buf bytes;
	size_t read, kept;		/* how far a pass has come */
};

void scrub_removed_release(struct removed *r);
void scrub_removed_add(struct removed *r, size_t at, size_t instead, const char *p, size_t n);

/*
 * While a text is written anew: its bytes [from, to) now begin at `out`. Ranges come in order;
 * what stands in none of them was inside a secret and is dropped by scrub_removed_end_pass.
 */
void scrub_removed_copied(struct removed *r, size_t from, size_t to, size_t out);
void scrub_removed_end_pass(struct removed *r);

/* The text with its bytes again. A sequence that would take in a placeholder behind it stays out. */
void scrub_removed_restore(const struct removed *r, struct buf *text);

/*
 * Appends the next row, from piece *i on, in which an escape sequence has words, with these words
 * shown. The number of its pieces, which end before *i then, or 0; *end is where the row ends.
 */
size_t scrub_removed_words(
    const struct removed *r, const struct buf *text, size_t *i, struct buf *out, size_t *end);
/* Sequences with words among pieces [from, to) are not put back. */
void scrub_removed_forget_words(struct removed *r, size_t from, size_t to);

/* scrub_sanitize that notes what it takes out; NULL: does not. */
size_t scrub_sanitize_noting(struct buf *text, struct removed *gone);

/* ---- scrub_private ---- */

/*
 * What the files behind scrub.h share: scrub.c (the scrubber), pass.c (a text, again and again
 * until nothing is found in it), look.c (one view of it), sift.c (which rows are worth one),
 * clean_text.c. Nobody else includes this.
 */
struct scrub {
	struct rule_set rules;
	struct gate *gate;
	struct known_secrets known;
	bool learning;			/* what the rules find is learned, not noted */
	/* nothing that was found is sought elsewhere: one rule's find is no proof of another */
	bool rules_alone;
	bool keep_controls;
	struct pattern **allow;
	size_t n_allow, cap_allow;
	const char *const *kinds;	/* borrowed from rules */
	size_t *counts;
	unsigned *ordinals;		/* the last one of each kind */
	size_t n_kinds;
	struct scrub_place *places;	/* of the last text */
	size_t n_places, cap_places;
	size_t withheld, removed;
	size_t *done;			/* rule → offset up to which the view has been searched */
	char **read;			/* directories whose files with credentials are learned */
	size_t n_read, cap_read;
	int64_t read_ms;		/* when the first of them was (clock_mono_ms) */
};

/* It fits a pattern of [recovery.scrub] allow. */
bool scrub_allows(const struct scrub *s, const char *p, size_t n);

/*
 * Learns a value, unless it is allowed or would be found in innocent words: two kinds of
 * characters, or a key in PEM.
 */
void scrub_learn_value(struct scrub *s, const char *value, size_t n);

/* The files of credentials that have been read are read again when they are asked for. */
void scrub_forget_read(struct scrub *s);

/*
 * What the rules find in a view, row by row into f; rows with a keyword become hot. `crossing`:
 * only what lies across a seam counts, the rest was found row by row. `guessed`: nobody told the
 * width, so a secret does not reach into a row that begins like a line of its own.
 */
void match_rules(struct scrub *s, const struct joined_text *view, struct scrub_rows *rows, bool crossing,
    bool guessed, struct scrub_findings *f);

/*
 * Makes those rows dull in which no rule can find anything, neither alone nor together with the
 * rows that they are joined with; most rows of a screen are such. Marks where keys may begin or
 * end. Looks at rows that are fresh or not quiet; what others are stays.
 */
void match_prefilter(struct scrub *s, const char *text, struct scrub_rows *rows);

#endif
