#ifndef SCRUB_KNOWN_H
#define SCRUB_KNOWN_H

#include <stddef.h>

#include "scrub/finding.h"
#include "scrub/frame.h"

/*
 * Secrets known by their value, from the environment of the pane's processes: looked for as they are, escaped as in JSON, percent-encoded
 * and in base64, without regard to row breaks, indent and frames in between. They are in memory only, and overwritten.
 */
struct known {
	struct form *v;
	size_t n, cap;
	size_t values;
	struct keywords *keywords;	/* built when first needed */
};

void known_release(struct known *k);

/* At least 8 bytes without blanks; beyond 512 values or 16 KiB a value is not taken. */
void known_add(struct known *k, const char *value, size_t n);
size_t known_room(const struct known *k);	/* how many more values are taken */

void known_find(struct known *k, const struct view *rows_view, size_t kind, struct findings *f);

#endif
