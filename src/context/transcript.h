#ifndef CONTEXT_TRANSCRIPT_H
#define CONTEXT_TRANSCRIPT_H

#include <stddef.h>
#include <stdint.h>

struct conversation;
struct err;
struct scrub;

/*
 * An agent's own record of a conversation into exchanges: what was said, called and answered, in the order in which it holds for the
 * agent, with what was given up (rewound) left out and what the agent's death cut off kept. `format` names the reader ("claude"; error
 * "format" when there is none); out need not be initialised and is empty after -1.
 *
 * Read from the end: the newest exchanges, whole, that take at most max_bytes of input and content together (0: all), the last one in any
 * case; truncated_at is 0 when older ones were left out. lines: records read; unknown_lines: of a type that no rule knows, or no JSON (a
 * last line torn by a crash, which is normal). Memory: what is handed out, about a hundred bytes for each record looked at, and ten
 * megabytes, however long a line or the file is; single inputs and results beyond half a mebibyte lose their middle and say so. The file
 * may grow meanwhile.
 *
 * Every string has been through the scrubber. Of source SOURCE_TRANSCRIPT; banner is the agent's version. A call is named as the model
 * calls it ("Edit", where the screen says "Update"). System exchanges: API errors (FAILED), commands' output, summaries of a compaction,
 * "Interrupted" below a prompt without answer. A user's exchange is WAITING when it was queued and no model was told. Thinking is left
 * out: the screen hides it.
 */
int transcript_read(const char *path, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e);
/* The same from an open file, or all of a pipe (at most 1 GiB), without the files of sub-agents beside it. fd stays open. */
int transcript_read_fd(int fd, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e);
int transcript_read_bytes(const char *p, size_t n, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out,
	struct err *e);

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
