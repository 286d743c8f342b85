#ifndef AGENT_LAUNCH_SHAPE_H
#define AGENT_LAUNCH_SHAPE_H

#include <stddef.h>

struct clean_text;
struct launch;
struct scrub;

/*
 * A start command that may be kept: its secrets are [REDACTED:kind], and each of these has a name by which whoever starts the command again
 * can ask for the value: of the assignment that it stands in (ANTHROPIC_API_KEY=…), of the variable of the agent's environment that has
 * this value, of the flag in front of it (--api-key), else "value".
 */
struct launch_shape {
	struct clean_text *text;	/* NULL: there is no command */
	char **names;			/* one a [REDACTED:kind] of the text, in its order */
	size_t n, cap;
};

/*
 * `block` is an environment as in /proc/PID/environ, NULL when it is not known; the scrubber must have learned it already. What is in it
 * goes nowhere but for the names.
 */
void launch_shape(struct launch_shape *out, const struct launch *l, struct scrub *s, const char *block, size_t n_block);
void launch_shape_release(struct launch_shape *x);

#endif
