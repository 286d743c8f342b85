#ifndef LEDGER_TREE_RECORD_H
#define LEDGER_TREE_RECORD_H

#include "ledger/tree.h"

/* For the files of the tree alone. The change that stores a link as it is, expecting its version; key and value are heap, the caller's. */
void tree_change(const struct tree_node *x, char **key, char **value, struct change *c);

#endif
