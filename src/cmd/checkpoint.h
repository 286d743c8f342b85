#ifndef CMD_CHECKPOINT_H
#define CMD_CHECKPOINT_H

#include "epic/shape.h"

struct err;
struct verb_job;

/* What `checkpoint` and `epic signal` share: the JSON object on standard input, checked, without its secrets, committed. */
int checkpoint_take(struct verb_job *j, const char *command, enum shape shape, struct err *e);

#endif
