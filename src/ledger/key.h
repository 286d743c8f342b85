#ifndef LEDGER_KEY_H
#define LEDGER_KEY_H

#include <stdint.h>

struct err;

/*
 * Keys of records that hold foreign names. They are written as JSON would give them back (bytes that are no UTF-8 replaced, each name cut
 * at 512 bytes), so that a name read from a record finds the same records as the one that made it. Heap.
 */
char *key_make(const char *prefix, const char *a, const char *b);	/* PREFIX a:b */
/* KIND:<pid>.<start>:<id>:<socket>: something of one server process. */
char *key_on_server(const char *kind, int64_t server_pid, int64_t server_start, const char *id, const char *socket);

#define KEY_ID_MAX 200

/*
 * Ids that callers choose stand in keys, in lines for people and in scripts: 1 to KEY_ID_MAX bytes of UTF-8 without blanks, control
 * characters and what cannot be seen. `what` names it in the sentence: "the id of a run". -1: code GT_USAGE, name "id".
 */
int key_check_id(const char *what, const char *id, struct err *e);

#endif
