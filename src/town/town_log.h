#ifndef TOWN_TOWN_LOG_H
#define TOWN_TOWN_LOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct town;

/*
 * The end of Gas Town's log of events, <town>/.events.jsonl: one JSON object a line, {"ts", "source", "type", "actor", "payload",
 * "visibility"}, appended under a lock of its own (gastown, internal/events). Its last 4 MiB are read, from the newest line to the oldest.
 * A line that is no JSON (one that is just written, one that the cut tore apart) is passed over.
 */
struct town_log {
	struct buf text;
	size_t end;		/* what is left to read */
};

/* True when there is such a file; release it in any case. */
bool town_log_open(struct town_log *l, const struct town *t);
void town_log_release(struct town_log *l);

/*
 * The next older event whose line has one of these words, which keeps the others from being parsed: "session_start", …. Its type may
 * be another one all the same. New reference; NULL at the oldest line.
 */
json_t *town_log_older(struct town_log *l, const char *const *words, size_t n);

#endif
