#ifndef SCRUB_MANIFEST_H
#define SCRUB_MANIFEST_H

#include <stddef.h>

#include "scrub/finding.h"
#include "scrub/frame.h"

/*
 * Secrets that only their place in a file tells: the values under "data:" of a Kubernetes Secret, whatever their names (base64, at least
 * 4 characters, one row each), and the second row of OpenVPN's <auth-user-pass>. Names and the rest of the file stay.
 */
void manifest_find(const char *text, const struct frames *rows, size_t kind, struct findings *f);

#endif
