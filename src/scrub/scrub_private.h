#ifndef SCRUB_SCRUB_PRIVATE_H
#define SCRUB_SCRUB_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

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
};

/* It fits a pattern of [recovery.scrub] allow. */
bool scrub_allows(const struct scrub *s, const char *p, size_t n);

/*
 * Learns a value, unless it is allowed or would be found in innocent words: two kinds of
 * characters, or a key in PEM.
 */
void scrub_learn_value(struct scrub *s, const char *value, size_t n);

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
