#ifndef TRANSCRIPT_TRANSCRIPT_H
#define TRANSCRIPT_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conversation;
struct err;
struct scrub;

/*
 * An agent's own record of a conversation as exchanges: what was said, called and answered, in
 * the order in which it holds for the agent. What was rewound is left out; what the agent's death
 * cut off is kept. Of source SOURCE_TRANSCRIPT; every string has been through the scrubber.
 *
 * format: "claude", "codex", "gemini", "qwen", "copilot", "pi", "auggie", "cline" or "opencode"
 * (error "format" for any other). path: a file; opencode's and cline's have forms of their own
 * (transcript_private.h). out need not be initialised and is empty after -1.
 *
 * Reads from the end: the newest exchanges, uncut, with at most max_bytes of input and content
 * together (0: all), the last one in any case; truncated_at is 0 when older ones were left out.
 * lines: records read; unknown_lines: of an unknown type, or no JSON (a last line torn by a crash
 * is normal). The file may grow meanwhile. Memory: the result, about a hundred bytes for each
 * record read, and ten megabytes, whatever the length of a line or the file. An input or result
 * beyond half a mebibyte loses its middle and says so.
 *
 * - banner: the agent's version; gemini, pi and auggie do not record it.
 * - A call has the model's name for it ("Edit", where the screen says "Update"). Without a result
 *   it is RUNNING when nothing followed, INTERRUPTED when something did. gemini records calls
 *   only when they have ended.
 * - System exchanges: API errors (FAILED), output of commands, what a slash command or a skill stands
 *   for, the path of a pasted picture, summaries of a compaction (CONVERSATION_SUMMARY), and
 *   "Interrupted" below a prompt without answer.
 * - tasks: of Claude Code the files of its Task tools beside path, else what TodoWrite wrote.
 * - A user's exchange is WAITING when it was queued and no model received it.
 * - Left out: thinking, as on the screen, and what the program adds for its model.
 */
int transcript_read(const char *path, const char *format, struct scrub *s, size_t max_bytes,
    struct conversation *out, struct err *e);
/*
 * The same from an open file or all of a pipe (at most 1 GiB; no database), without the files of
 * sub-agents. fd stays open.
 */
int transcript_read_fd(
    int fd, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e);
int transcript_read_bytes(const char *p, size_t n, const char *format, struct scrub *s, size_t max_bytes,
    struct conversation *out, struct err *e);
/* Scrubs a conversation again that was kept on disk: rules or values may be known by now. */
void transcript_rescrub(struct conversation *c, struct scrub *s);
int transcript_no_format(const char *format, struct err *e);	/* sets the error "format"; -1 */

#define TRANSCRIPT_DEFAULT "claude"	/* of an agent that no profile describes */
bool transcript_has_pid_files(const char *format);	/* its agent notes each process (agent/agent.h) */
bool transcript_is_checked(const char *format);		/* transcript_check_integrity reads it */

/* From the least to the most that an agent did. */
enum ack {
	ACK_NONE,		/* no user message holds the id */
	ACK_RECEIVED,		/* a user message holds it */
	ACK_REFUSED,		/* the only answer is an API error */
	ACK_ANSWERED		/* an answer of the model descends from that message */
};

/* Looks for a recovery id in the last 64 MiB of a transcript. Errors of transcript_read. */
int transcript_ack(const char *path, const char *format, const char *recovery_id, enum ack *out,
    struct err *e);

/*
 * Was the agent ended or killed, by the end of its transcript alone?
 * - Claude Code that is ended (/exit, SIGTERM, SIGHUP) writes a last record of the type
 *   last-prompt (2.1.197) or cost-state (2.1.330); killed, neither. Versions before 2.1.197 are
 *   not known to write any: unknown.
 * - Copilot 1.0.102 ends with session.shutdown.
 * - Codex 0.169.0 writes no farewell: killed, when a turn was neither completed nor aborted.
 */
enum exit_kind {
	EXIT_UNKNOWN,	/* no such file, or a version that does not say */
	EXIT_CLEAN,	/* it was ended */
	EXIT_KILLED		/* it was killed, or still runs */
};

enum exit_kind transcript_exit_kind(const char *format, const char *transcript);

/*
 * What the agent had left at work beside its conversation, by its transcript: what began and of
 * which no end was told. Claude Code 2.1.197 to 2.1.330. Texts are scrubbed; NULL: not known.
 */
enum background_kind {
	BACKGROUND_SHELL,	/* Bash in the background */
	BACKGROUND_MONITOR,
	BACKGROUND_AGENT,	/* a sub-agent */
	BACKGROUND_WORKFLOW,
	BACKGROUND_CRON,	/* a schedule */
	BACKGROUND_WAKEUP	/* of /loop; the last one alone */
};

struct background {
	enum background_kind kind;
	char *id;		/* of the task or the schedule, of a workflow that of its run */
	char *what;		/* in a few words */
	char *input;		/* a monitor's command, the prompt of an agent, a schedule or a wake-up */
	char *when;		/* a schedule's cron expression */
	char *path;		/* a shell's output, a sub-agent's transcript, a workflow's script */
	char *done;		/* what a sub-agent or a workflow had finished */
	int64_t due;		/* of a wake-up, or of the next time of a schedule: ms since 1970; 0 */
	bool recurring, durable; /* durable: kept in a file of the working directory */
};

#define BACKGROUND_MAX 16	/* the newest */

struct background_list {
	struct background v[BACKGROUND_MAX];	/* newest first */
	size_t n;
};

/* The last 64 MiB are read. False, and an empty list: not known. */
bool transcript_background(
    const char *path, const char *format, struct scrub *s, struct background_list *out);
void transcript_background_release(struct background_list *l);

/*
 * Would Claude Code read all of a transcript on --resume? It follows parentUuid from the last
 * record to one without a parent or to the last compaction (1.0.128 to 2.1.330), and silently
 * leaves out what it cannot follow. It appends behind the last byte, so that a torn last line
 * would take the next record with it.
 */
enum transcript_integrity {
	TRANSCRIPT_WHOLE,
	TRANSCRIPT_EMPTY,		/* no answer of the model: nothing to resume */
	TRANSCRIPT_TORN,		/* a line that is no JSON, or the last one has no newline */
	/* a record's parent is missing, or a compaction has no summary */
	TRANSCRIPT_BROKEN,
	/* its last records are of another session than its name says, or it is no file of this user's */
	TRANSCRIPT_FOREIGN,
	/* more than was asked for; not read to its beginning */
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

#endif
