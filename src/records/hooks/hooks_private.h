#ifndef RECORDS_HOOKS_HOOKS_PRIVATE_H
#define RECORDS_HOOKS_HOOKS_PRIVATE_H

struct activity;
struct change;

/* For activity_apply_events: the change that stores a. key and value are heap, the caller's. */
void activity_change(const struct activity *a, char **key, char **value, struct change *c);

#endif
