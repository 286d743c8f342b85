#ifndef CONTEXT_SCREEN_H
#define CONTEXT_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

struct clean_text;
struct conversation;
struct style;

/*
 * Reads a pane's text (scrollback and screen, oldest row first) into exchanges. Pure. `width` is the pane's, 0 when unknown: then
 * it is taken from the rules of the input box or the longest row.
 * `agent` is a profile's name ("claude"); one without a dialect gives a single system exchange with the raw text, and so does
 * text in which no marker of the dialect stands (corrupt, another program): when in doubt, raw. conversation_add's rules hold.
 * `style`: what style_strip told of the same rows, NULL when nothing is known; a hint where the text alone is ambiguous, never needed.
 */
void screen_read(const struct clean_text *text, const struct style *style, int width, const char *agent, struct conversation *out);

/* The same on bytes without escape sequences: for those who hold them already, and for tests. */
void screen_read_bytes(const char *p, size_t n, const struct style *style, int width, const char *agent, struct conversation *out);

/*
 * How many bytes of `text` belong to the agent when the pane is a zombie: what the shell wrote after the agent's death ("Killed" and
 * its prompt, over the rows of the input box) is left out. `n` when nothing was written.
 */
size_t screen_without_shell(const char *text, size_t n, int width);

/* True when the text shows that a known agent drew it (banner, input box, markers): evidence for zombies. */
int screen_shows_agent(const char *text, size_t n, const char *agent);

/* True when one of the last rows says that the agent is not logged in, in the agent's or its service's own words. */
bool screen_shows_login(const char *text, size_t n, const char *agent);

#endif
