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

/*
 * An id that a caller chose or was given: 1 to 128 letters, digits and . _ @ + / -, the first no sign, so that it can be no option, no
 * other key and nothing that a terminal acts on. -1: name "id", GT_USAGE; `what` says whose, as in "agent".
 */
#define KEY_ID_MAX 128
int key_check_id(const char *id, const char *what, struct err *e);

#endif
