#ifndef CONTEXT_TRANSCRIPT_PARTS_H
#define CONTEXT_TRANSCRIPT_PARTS_H

#include <stdbool.h>

#include "base/json_slice.h"
#include "context/exchange.h"

struct buf;
struct record;
struct teller;

/* The content of a message as several agents write it, told. */

/* Put in by the program, not by the person or the model? text is the caller's no more, then. NULL for "never". */
typedef bool injected_fn(struct buf *text);

/*
 * Google's (gemini, qwen): a string or a list of text, functionCall, functionResponse. Thoughts are left out; calls: false leaves the calls
 * out as well, they are told from elsewhere.
 */
void parts_tell(struct teller *t, const struct record *r, enum role role, struct json_slice parts, injected_fn *injected, bool calls);
/* The response in a functionResponse: {"output": …}, {"error": …}; anything else as it is. True: it is an error. */
bool parts_response(struct buf *out, struct json_slice response);

/*
 * Blocks (pi, cline, as Anthropic's): a string or a list of text, image, tool_use or toolCall, tool_result; thinking is left out.
 */
void blocks_tell(struct teller *t, const struct record *r, enum role role, struct json_slice blocks, injected_fn *injected);

#endif
