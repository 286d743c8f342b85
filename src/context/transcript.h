#ifndef CONTEXT_TRANSCRIPT_H
#define CONTEXT_TRANSCRIPT_H

#include <stddef.h>
#include <stdint.h>

struct conversation;
struct err;
struct scrub;

/*
 * An agent's own record of a conversation into exchanges: what was said, called and answered, in the order in which it holds for the
 * agent, with what was given up (rewound) left out and what the agent's death cut off kept. `format` names the reader: "claude", "codex",
 * "gemini", "qwen", "copilot", "pi", "auggie", "cline", "opencode" (error "format" when there is none); the paths that it takes are said
 * in context/transcript_book.h. out need not be initialised and is empty after -1.
 *
 * Read from the end: the newest exchanges, whole, that take at most max_bytes of input and content together (0: all), the last one in any
 * case; truncated_at is 0 when older ones were left out. lines: records read; unknown_lines: of a type that no rule knows, or no JSON (a
 * last line torn by a crash, which is normal). Memory: what is handed out, about a hundred bytes for each record looked at, and ten
 * megabytes, however long a line or the file is; single inputs and results beyond half a mebibyte lose their middle and say so. The file
 * may grow meanwhile.
 *
 * Every string has been through the scrubber. Of source SOURCE_TRANSCRIPT; banner is the agent's version (gemini, pi and auggie do not
 * tell it). A call is named as the model calls it ("Edit", where the screen says "Update"). A call without a result is RUNNING when
 * nothing followed, INTERRUPTED when something did (gemini writes calls down only when they have ended). System exchanges: API errors
 * (FAILED), commands' output, summaries of a compaction, "Interrupted" below a prompt without answer. A user's exchange is WAITING when it
 * was queued and no model was told. Thinking is left out, the screen hides it; so are the words that the program puts beside the person's
 * for its model.
 */
int transcript_read(const char *path, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e);
/*
 * The same from an open file, or all of a pipe (at most 1 GiB; no database), without the files of sub-agents beside it. fd stays open.
 */
int transcript_read_fd(int fd, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e);
int transcript_read_bytes(const char *p, size_t n, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out,
	struct err *e);
int transcript_no_format(const char *format, struct err *e);	/* the error of the functions here, -1 */

enum ack {
	ACK_NONE,		/* the id stands in no user message */
	ACK_RECEIVED,		/* a user message holds it: the agent was told */
	ACK_ANSWERED,		/* words or a call of the model descend from it: the agent took it up */
	ACK_REFUSED		/* the only answer is an API error */
};

/*
 * Looks for a recovery id in one transcript of that format (its last 64 MiB). -1: the file cannot be read, or the errors of
 * transcript_read.
 */
int transcript_ack(const char *path, const char *format, const char *recovery_id, enum ack *out, struct err *e);

/*
 * The same in all of Claude Code's transcripts of the directory's project folder that changed at or after since_ms (wall clock), the
 * farthest answer wins; *path is then that file's (heap) or NULL. No folder: ACK_NONE.
 */
void transcript_search(const char *config_dir, const char *cwd, const char *recovery_id, int64_t since_ms, enum ack *out, char **path);

#endif
