#ifndef CONTEXT_ALIGN_H
#define CONTEXT_ALIGN_H

#include <stddef.h>

struct likeness;

#define ALIGN_NONE ((size_t)-1)

/*
 * Which exchange of one source is which of another; neither crosses another pair. Pure, linear (n log n in the count): words that stand
 * once in each source are anchors, of which the heaviest chain that keeps both orders holds; between two anchors, before the first and
 * behind the last, windows of 64 are aligned from the anchors outwards (dynamic programming over likeness_weight). Without
 * an anchor the two are aligned from their ends, so that of words repeated many times the newest are taken for the newest.
 *
 * What is only a little like is not believed: a stretch of pairs that is light, while both sources have words of their own before or
 * behind it, is taken apart again, so that two conversations that share a "yes", or their first prompt, are not glued together.
 *
 * pair[i] (nb of them) is the index in `a` of b's exchange i, or ALIGN_NONE.
 */
void align(const struct likeness *a, size_t na, const struct likeness *b, size_t nb, size_t *pair);

#endif
