#ifndef LEDGER_ACTIVITY_RECORD_H
#define LEDGER_ACTIVITY_RECORD_H

struct activity;
struct change;

/* For activity_note: the change that stores a. key and value are heap, the caller's. */
void activity_change(const struct activity *a, char **key, char **value, struct change *c);

#endif
