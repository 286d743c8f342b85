#ifndef TRANSCRIPT_TRANSCRIPT_H
#define TRANSCRIPT_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct conversation;
struct err;
struct scrub;

/* ---- transcript ---- */

/*
 * An agent's own record of a conversation into exchanges: what was said, called and answered, in
 * the order in which it holds for the agent, with what was given up (rewound) left out and what
 * the agent's death cut off kept. `format` names the reader: "claude", "codex", "gemini", "qwen",
 * "copilot", "pi", "auggie", "cline", "opencode" (error "format" when there is none); the paths
 * that it takes are said in transcript/transcript_private.h. out need not be initialised and is
 * empty after -1.
 *
 * Read from the end: the newest exchanges, whole, that take at most max_bytes of input and
 * content together (0: all), the last one in any case; truncated_at is 0 when older ones were
 * left out. lines: records read; unknown_lines: of a type that no rule knows, or no JSON (a last
 * line torn by a crash, which is normal). Memory: what is handed out, about a hundred bytes for
 * each record looked at, and ten megabytes, however long a line or the file is; single inputs and
 * results beyond half a mebibyte lose their middle and say so. The file may grow meanwhile.
 *
 * Every string has been through the scrubber. Of source SOURCE_TRANSCRIPT; banner is the agent's
 * version (gemini, pi and auggie do not tell it). A call is named as the model calls it ("Edit",
 * where the screen says "Update"). A call without a result is RUNNING when nothing followed,
 * INTERRUPTED when something did (gemini writes calls down only when they have ended). System
 * exchanges: API errors (FAILED), commands' output, summaries of a compaction, "Interrupted"
 * below a prompt without answer. A user's exchange is WAITING when it was queued and no model was
 * told. Thinking is left out, the screen hides it; so are the words that the program puts beside
 * the person's for its model.
 */
int transcript_read(const char *path, const char *format, struct scrub *s, size_t max_bytes,
    struct conversation *out, struct err *e);
/*
 * The same from an open file, or all of a pipe (at most 1 GiB; no database), without the files of
 * sub-agents beside it. fd stays open.
 */
int transcript_read_fd(
    int fd, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e);
int transcript_read_bytes(const char *p, size_t n, const char *format, struct scrub *s, size_t max_bytes,
    struct conversation *out, struct err *e);
int transcript_no_format(const char *format, struct err *e);	/* the error of the functions here, -1 */

#define TRANSCRIPT_DEFAULT "claude"	/* of an agent that no profile describes */
bool transcript_has_pid_files(const char *format);	/* its agent notes each process (agent/agent.h) */
bool transcript_is_checked(const char *format);		/* transcript_check_integrity reads it */

enum ack {
	ACK_NONE,		/* the id stands in no user message */
	ACK_RECEIVED,		/* a user message holds it: the agent was told */
	ACK_ANSWERED,		/* words or a call of the model descend from it: the agent took it up */
	ACK_REFUSED		/* the only answer is an API error */
};

/*
 * Looks for a recovery id in one transcript of that format (its last 64 MiB). -1: the file cannot
 * be read, or the errors of transcript_read.
 */
int transcript_ack(const char *path, const char *format, const char *recovery_id, enum ack *out,
    struct err *e);

/* ---- exit_kind ---- */

/*
 * Whether the agent of a transcript took its leave or was killed, by the transcript's end alone.
 * `format` as in transcript/transcript.h.
 *
 * Claude Code that is ended (/exit, SIGTERM, SIGHUP) ends its transcript with a record of the
 * type last-prompt (2.1.197) or cost-state (2.1.330); killed, with neither. Versions before
 * 2.1.197 are not known to write any: of them nothing is told. Copilot 1.0.102 ends with
 * session.shutdown. Codex 0.169.0 writes no farewell: a turn that was begun and neither completed
 * nor given up is all that tells. Of the others nothing is known, and nothing told.
 */
enum exit_kind {
	EXIT_UNKNOWN,	/* no such file, or a version that does not say */
	EXIT_CLEAN,	/* it was ended */
	EXIT_KILLED		/* it was killed, or still runs */
};

enum exit_kind transcript_exit_kind(const char *format, const char *transcript);
/* ---- integrity ---- */

/*
 * How a transcript stands on disk: would Claude Code, told to go on with it, read all of it? It
 * follows parentUuid from the last record up to one without a parent, or to the last compaction
 * (seen on 1.0.128 to 2.1.330), and leaves out without a word what it cannot follow. It writes
 * behind the last byte, so that a line that the agent's death tore apart would take the next
 * record with it.
 */
enum transcript_integrity {
	TRANSCRIPT_WHOLE,
	TRANSCRIPT_EMPTY,		/* no answer of the model in it: nothing to go on with */
	TRANSCRIPT_TORN,		/* a line that is no JSON, or the last one has no newline */
	/* a record names a parent that is nowhere, or a compaction has no summary */
	TRANSCRIPT_BROKEN,
	/* its last records are of another session than its name says, or it is no file of this user's */
	TRANSCRIPT_FOREIGN,
	/* it certainly holds more than was asked for; not read to its beginning */
	TRANSCRIPT_LARGE
};

struct transcript_check {
	enum transcript_integrity integrity;
	/*
	 * What the model is sent again since the last compaction: bytes of the messages as the
	 * file writes them, a picture as 6,400 of them.
	 */
	size_t bytes;
	/* tokens that its last answer was counted with, input and output; 0: not told */
	size_t charged;
};

/*
 * Reads from the end, in flat memory but for a hundred bytes a record; no further when there are
 * many more than `enough` bytes. -1: the file cannot be read.
 */
int transcript_check_integrity(
    const char *path, const char *session_id, size_t enough, struct transcript_check *out, struct err *e);

/* ---- long_line ---- */

/*
 * A line of JSON too long to be held: of each string only the beginning and the end are kept, a
 * quarter of a mebibyte each, cut at blanks, with the number of bytes left out between them. Fed
 * in pieces of any size.
 */
struct long_line {
	/* valid JSON when the line was; empty when even so more than 32 MiB were left */
	struct buf out;
	struct buf tail;	/* a ring */
	size_t seen;		/* bytes of the string at hand */
	size_t head;		/* where in out it begins */
	int escape;		/* digits of \\uXXXX still to come; -1: behind a backslash */
	char in_string, full;
};

void transcript_long_init(struct long_line *l);
void transcript_long_release(struct long_line *l);		/* overwrites */
void transcript_long_add(struct long_line *l, const char *p, size_t n);

/* ---- scrub_batch ---- */

/*
 * The scrubber's cost is per call, a transcript's strings are many and short: they are scrubbed
 * together, with a row between them over which no rule reaches (lines of width 0 are looked at
 * one by one; only a PEM block spans rows, and that row is none of its own), and handed out by
 * their line counts, which the scrubber keeps.
 */
enum batch_field {
	BATCH_INPUT, BATCH_CONTENT, BATCH_TOOL, BATCH_BANNER, BATCH_SESSION, BATCH_QUESTION,
	BATCH_DRAFT,
	BATCH_TASKS
};

struct scrub_batch {
	struct scrub *s;
	struct conversation *c;		/* its exchanges may be added to, not removed, before the flush */
	struct buf raw;
	struct scrub_batch_slot *v;
	size_t n, cap;
};

void transcript_scrub_init(struct scrub_batch *b, struct scrub *s, struct conversation *c);
void transcript_scrub_release(struct scrub_batch *b);		/* overwrites what is not scrubbed yet */
/*
 * Sets a field of an exchange, or of the conversation, once flushed; a later text replaces an
 * earlier. May flush.
 */
void transcript_scrub_put(struct scrub_batch *b, size_t exchange, enum batch_field field, const char *p,
    size_t n);
void transcript_scrub_flush(struct scrub_batch *b);

/* A conversation that was kept on disk, once more: since then a rule or a value may have become known. */
void transcript_rescrub(struct conversation *c, struct scrub *s);

#endif
