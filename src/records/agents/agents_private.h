#ifndef RECORDS_AGENTS_AGENTS_PRIVATE_H
#define RECORDS_AGENTS_AGENTS_PRIVATE_H

#include "records/agents/agents.h"

struct change;

/* ---- message_record ---- */

/* For the files of messages alone. */

/* The change that stores a message as it is, expecting its version; key and value are heap, the caller's. */
void message_change(const struct message *m, char **key, char **value, struct change *c);
/* As message_load, absent being an error: "not-found", GT_NOTHING. */
int message_need(struct store *s, const char *id, struct message *out, struct err *e);

/*
 * A message under its id, as it is before it is sent, and the parts of sending it that a
 * broadcast and an answer share (message_send.c).
 */
char *message_new_id(void);
void message_write(struct message *m, const char *id, const struct message_draft *l, const char *from,
    const char *to, int64_t now);
/* answer: its sender is known already. */
int message_check_draft(const struct message_draft *l, bool answer, struct err *e);
/* Is there a message of this id? 0: no; 1: this very one, *out; -1: another one (name "taken"), or err. */
int message_was_sent(struct store *s, const struct message *m, struct message *out, struct err *e);

/* ---- tree_record ---- */

/*
 * For the files of the tree alone. The change that stores a link as it is, expecting its version;
 * key and value are heap, the caller's.
 */
void tree_change(const struct tree_node *x, char **key, char **value, struct change *c);

#endif
