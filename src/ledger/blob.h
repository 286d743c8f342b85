#ifndef LEDGER_BLOB_H
#define LEDGER_BLOB_H

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

struct buf;
struct err;

/*
 * The state that a provider handed over for a session: bytes of any kind, which nobody here reads. The record blob:<agent_uuid> (tag blob)
 * holds them in base64 with their number and SHA-256, and so does the session's record (ledger/session.h): both are always of one commit.
 */
#define BLOB_MAX ((size_t)1 << 20)

struct blob {
	int64_t size;			/* bytes; -1: there is none */
	char sha256[65];
};

/*
 * The change that stores the bytes, for a commit that changes the session too; `it` then tells what the session's record has to say. key
 * and value are heap, the caller's. More than BLOB_MAX: name "too-large", GT_USAGE.
 */
int blob_change(const char *agent, const void *p, size_t n, struct blob *it, char **key, char **value, struct change *c, struct err *e);

/* Appends the bytes. They are missing or are not those that `it` tells of: name "blob". */
int blob_read(struct store *s, const char *agent, const struct blob *it, struct buf *out, struct err *e);

#endif
