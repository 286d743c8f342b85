#ifndef CONTEXT_TRANSCRIPT_WORDS_H
#define CONTEXT_TRANSCRIPT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json_slice.h"

struct buf;

/*
 * What stands in a user record need not be the person's words: commands, their output, notes for the model come as user messages in tags of
 * the program's own (seen in 1.0.128 to 2.1.330).
 */
enum words {
	WORDS_NONE,		/* for the model only */
	WORDS_PERSON,
	WORDS_SYSTEM,		/* the output of a command, a sub-agent's notice, what a hook said */
	WORDS_FAILED,		/* of the program as well, and bad news */
	WORDS_INTERRUPTED	/* the person stopped what stands before */
};

/*
 * Turns the text into what a person would have seen: "/name args", "! command", output without its tags. meta: the record is marked as the
 * program's own.
 */
enum words words_read(struct buf *text, bool meta);

/*
 * Appends a JSON string decoded, without the escape sequences of terminals, with "\n" for "\r\n" and "\r". Longer than `most` (0: no
 * limit) the middle is left out, from blank to blank, and the text says so.
 */
void words_decode(struct buf *out, struct json_slice v, size_t most);
/* The same for a string or the blocks of a message: texts and "[image]", a line each. */
void words_content(struct buf *out, struct json_slice v, size_t most);
/* Does the text begin with that tag, attributes or not, and end with its closing one? Then what stands between them is left. */
bool words_untag(struct buf *text, const char *name);
/* "<system-reminder>" at the end, "<tool_use_error>" around it: not the tool's words. */
void words_unwrap_result(struct buf *text);

#endif
