#ifndef CONTEXT_TRANSCRIPT_CALL_H
#define CONTEXT_TRANSCRIPT_CALL_H

#include <stdbool.h>

#include "base/json_slice.h"

struct buf;

/*
 * A call of one of Claude Code's tools as a person wants to read it. A table says which parts of the input are shown; a tool that it does
 * not know is shown as compact JSON.
 */
void call_input(struct buf *out, struct json_slice name, struct json_slice input);

/*
 * A call of any other agent's tool, of which no table tells: what a command, a path or a text is stands alone, other members behind their
 * names, each from a line of its own. A string holds JSON (codex, auggie), or is shown as it is.
 */
void call_members(struct buf *out, struct json_slice input);

/*
 * A result: the words that the model was given. answer: the record's toolUseResult; when it holds a patch (Edit, Write, MultiEdit,
 * NotebookEdit) that is the result, as a unified diff. True then: the input need not repeat the change.
 */
bool call_result(struct buf *out, struct json_slice content, struct json_slice answer);
/* The file that a patch changes, for the input of such a call. */
void call_patched_file(struct buf *out, struct json_slice answer);

/* Does it ask the person? Then its input is the question. */
bool call_asks(struct json_slice name);
/* The task list that a call writes, a task a line as the screen shows it. False for other calls. */
bool call_tasks(struct buf *out, struct json_slice name, struct json_slice input);

#define CALL_MOST ((size_t)512 << 10)	/* bytes of an input or a result; beyond, the middle is left out */

#endif
