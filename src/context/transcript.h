#ifndef CONTEXT_TRANSCRIPT_H
#define CONTEXT_TRANSCRIPT_H

#include <stdint.h>

struct err;

/*
 * Claude Code's own record of a conversation: <config>/projects/<slug>/<session id>.jsonl, one JSON object a line
 * (context/transcript_find.h tells where). Lines are not in the order of time (an answer may stand before its question):
 * parentUuid is followed.
 */
enum ack {
	ACK_NONE,		/* the id stands in no user message */
	ACK_RECEIVED,		/* a user message holds it: the agent was told */
	ACK_ANSWERED,		/* an assistant message descends from it: the agent took it up */
	ACK_REFUSED		/* the only answer is an API error */
};

/* Looks for a recovery id in one transcript (its last 64 MiB). -1: the file cannot be read. */
int transcript_ack(const char *path, const char *recovery_id, enum ack *out, struct err *e);

/*
 * The same in all transcripts of the directory's project folder that changed at or after since_ms (wall clock), the
 * farthest answer wins; *path is then that file's (heap) or NULL. No folder: ACK_NONE.
 */
void transcript_search(const char *config_dir, const char *cwd, const char *recovery_id, int64_t since_ms, enum ack *out, char **path);

#endif
