#ifndef LEDGER_RECORD_H
#define LEDGER_RECORD_H

#include <jansson.h>
#include <stdbool.h>

#include "base/json_slice.h"
#include "store/store.h"

struct err;

/* What sessions, the tree and messages do alike with their records. */

/*
 * The JSON object of a record whose "schema_version" this program knows (absent: 1). New reference, or NULL with err: "newer" (a later
 * gt-recover wrote it), "corrupt".
 */
json_t *record_object(const struct record *r, int64_t newest, struct err *e);
/* The same as a slice of its value, without a JSON tree: for those of which there are many. 0, or -1. */
int record_slice(const struct record *r, int64_t newest, struct json_slice *out, struct err *e);
/* Refuses a record by the same names; a reader of its own, without a JSON tree. -1. */
int record_refuse(const struct record *r, bool newer, struct err *e);
/* The value of a record: o, which is released. Heap. */
char *record_value(json_t *o);

/*
 * Runs a verb that reads, decides and commits: again while another process was faster, so that a conflict reaches nobody but after many
 * lost rounds (name "conflict", GT_AGAIN). 0, or -1 with err.
 */
int record_settle(enum commit (*verb)(struct store *s, void *arg, struct err *e), struct store *s, void *arg, struct err *e);

#endif
