#ifndef LEDGER_MESSAGE_RECORD_H
#define LEDGER_MESSAGE_RECORD_H

#include "ledger/message.h"

struct change;

/* For the files of messages alone. */

/* Heap. */
char *message_key(const char *id);
/* The change that stores a message as it is, expecting its version; key and value are heap, the caller's. */
void message_change(const struct message *m, char **key, char **value, struct change *c);
/* As message_load, absent being an error: "not-found", GT_NOTHING. */
int message_need(struct store *s, const char *id, struct message *out, struct err *e);
/* From a record message:*; release it when 0. */
int message_from_record(const struct record *r, bool body, struct message *out, struct err *e);
/* A new empty one at the end. */
struct message *messages_add(struct messages *list);

/* A message under its id, as it is before it is sent, and the parts of sending it that a broadcast and an answer share (message_send.c). */
char *message_new_id(void);
void message_write(struct message *m, const char *id, const struct letter *l, const char *from, const char *to, int64_t now);
/* answer: its sender is known already. */
int message_check_letter(const struct letter *l, bool answer, struct err *e);
/* Is there a message of this id? 0: no; 1: this very one, *out; -1: another one (name "taken"), or err. */
int message_was_sent(struct store *s, const struct message *m, struct message *out, struct err *e);
/* The check that the receiver is there and has not ended; key is heap, the caller's. */
int message_receiver_check(struct store *s, const char *to, char **key, struct change *c, struct err *e);

#endif
