#ifndef PROMPT_UNFOLD_H
#define PROMPT_UNFOLD_H

#include <stdbool.h>
#include <stddef.h>

struct conversation;

/*
 * The conversation that stands in one of our own prompts, taken apart again: exchanges, draft, open question, task list. For an agent that
 * crashes after it was recovered, when what was gathered then is not kept any more. Pure. What the budget had left out stays lost, and a
 * line that says so is a system exchange of its own. Ids and fences inside stay broken up (fence.h), so that they cannot be taken for ours.
 *
 * The sources are those of the prompt, SOURCE_EARLIER where it named none. `out` need not be initialised. False, and nothing in out: there
 * is no such record in the text; a template of the user's may leave it out.
 */
bool prompt_unfold(const char *p, size_t n, struct conversation *out);

#endif
