#ifndef SCRUB_PEM_H
#define SCRUB_PEM_H

#include <stddef.h>

#include "scrub/finding.h"
#include "scrub/frame.h"

/*
 * Private keys that stand on many rows: PEM, OpenSSH, PGP and PuTTY blocks, also with their head or tail scrolled away or folded by the
 * agent ("… +15 lines"), and PEM in one string with \n in it. The lines that say what it is stay; so do certificates and public keys.
 */
void pem_find(const char *text, const struct frames *rows, size_t kind, struct findings *f);

#endif
