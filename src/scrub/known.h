#ifndef SCRUB_KNOWN_H
#define SCRUB_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scrub/finding.h"
#include "scrub/view.h"

/*
 * Secrets known by their value: learned from an environment or a file, or found by a rule in a text of the same scrubber. They are looked
 * for in every spelling (spelling.h), without regard to row breaks, indent and frames in between, in memory only, and overwritten.
 *
 * A learned value is sought anywhere. One that was found is sought only when nobody would write it otherwise (known.c, worth_seeking), and
 * as a word of its own, so that a weak password does not take the names with it that it is a part of.
 */
struct known {
	struct secret *secrets;
	size_t n, cap, bytes;
	size_t learned, sought;
	struct form *forms;
	size_t n_forms, cap_forms;
	uint32_t *by_value;		/* secret + 1, or 0 */
	uint32_t *by_tail;		/* form + 1, or 0: the first of those that may end with these 8 bytes */
	size_t value_slots, tail_slots;
	size_t longest;			/* bytes of a form */
	unsigned char *pairs;		/* two maps with a bit for each two bytes with which a form may end (known_private.h) */
	bool blanks;			/* a form has blanks */
};

/* Two kinds of characters, and at least 8: not a word that stands everywhere. */
bool known_tells(const char *value, size_t n);

#define KNOWN_NONE ((size_t)-1)

void known_release(struct known *k);
/* Forgets what was found; what was learned stays. */
void known_forget(struct known *k);

/* At least 8 bytes without blanks; beyond 512 values or 16 KiB a value is not taken. */
void known_learn(struct known *k, const char *value, size_t n, size_t kind);
size_t known_room(const struct known *k);	/* how many more values are taken */

/*
 * A value that a rule found. Its number, the same for each spelling of it; KNOWN_NONE when it cannot be kept: there are 16,384 values or
 * 4 MiB of them already, or it is no value but a part of a placeholder. Of those, 2,048 are sought.
 */
size_t known_note(struct known *k, const char *value, size_t n, size_t kind, enum rank rank);

/*
 * What a placeholder calls a secret: its kind is that of its format, or that it was learned, or else that of the first call; its ordinal
 * the next of that kind. Once named it keeps both. Of all places in a text known_call comes first, then known_name; `last` holds the last
 * ordinal of each kind.
 */
void known_call(struct known *k, size_t secret, size_t kind, enum rank rank);
void known_name(struct known *k, size_t secret, unsigned *last, size_t *kind, unsigned *ordinal);

/*
 * Finds them in all rows that are not quiet. Linear: text that was made so that values nearly stand everywhere has its rows withheld when the
 * comparing takes more than a multiple of its length. `view` is room to work in: it shows so many rows at a time as stay near the processor.
 */
void known_find(const struct known *k, const char *text, const struct frames *rows, struct view *view, struct findings *f);

#endif
