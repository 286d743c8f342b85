#ifndef PROMPT_HEADING_H
#define PROMPT_HEADING_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct exchange;

/*
 * The line above an exchange in a prompt:
 *
 *	User [screen] (waiting for an answer when the session died):
 *	Tool Bash (still running when the session died): make all
 *
 * with a tool's name cut to HEADING_NAME bytes, the source only where it is asked for, and a call's input only when it is short and of one line. It is written for the agent, and
 * read again when that agent crashes, too (prompt/unfold.h).
 */
void heading_write(struct buf *out, const struct exchange *x, bool with_source, const char *nonce);

/*
 * Reads such a line (without its newline) back into role, status, source and tool of x, which must be empty; *rest is what stands behind the
 * colon and its blank. False: it is no such line, x is as it was.
 */
bool heading_read(const char *line, size_t n, struct exchange *x, const char **rest);

#define HEADING_NAME ((size_t)64)
#define HEADING_RESULT "Result:"
#define HEADING_QUESTION "Open question, not answered when the session died:"
#define HEADING_DRAFT "Typed by the user but never sent:"
#define HEADING_TASKS "Task list as last shown:"
#define HEADING_RAW "Raw text of the terminal (it could not be read as a conversation):"

#endif
