#ifndef CMD_HALF_WRITTEN_H
#define CMD_HALF_WRITTEN_H

#include <jansson.h>

struct buf;
struct err;
struct verb_job;

/*
 * Files that an agent was writing when it died, as its hooks told (ledger/activity.h): of each session that has not ended, whose process is
 * known to be gone, in its last conversation. An array of {path, tool, agent_uuid, session, began_at}, paths clean; empty without a store.
 * New reference, NULL with err.
 */
json_t *half_written_read(struct verb_job *j, struct err *e);
/* The same for people, with ages before `now` (ms since 1970); nothing when there is none. */
void half_written_say(struct buf *out, const json_t *list, int64_t now);

#endif
