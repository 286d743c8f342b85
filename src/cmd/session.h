#ifndef CMD_SESSION_H
#define CMD_SESSION_H

#include <jansson.h>
#include <stdbool.h>

struct buf;
struct err;
struct session;
struct verb_job;

/* What the commands session and agent share. */

/*
 * A session as a caller tells it by a JSON object on standard input; `command` is how sentences call it. *has_blob:
 * provider_state_blob was there, and its bytes are in blob. Without agent_uuid one is made. A start command is scrubbed; a pid that is not
 * running is warned of.
 */
int session_told(struct verb_job *j, const char *command, struct session *x, struct buf *blob, bool *has_blob, struct err *e);

/* For --json; blob: NULL or the bytes to show with it. New reference. */
json_t *session_shown(const struct session *x, const struct buf *blob);

#endif
