#ifndef SCRUB_SAMPLE_H
#define SCRUB_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A sample of the table of secrets. As it stands there, secrets are marked « », and {alnum:36} {lower:8} {upper:16} {hex:40} {digit:12}
 * {url64:20} {base64:43} stand for made-up characters, the same ones in every run.
 */
#define SAMPLE_MARKS 8

struct sample {
	bool finds;
	char *text;		/* expanded, without marks */
	char *want;		/* expanded, what the scrubber makes of it */
	size_t from[SAMPLE_MARKS], to[SAMPLE_MARKS], n;		/* what was marked, in text */
	int line;
};

void sample_init(struct sample *m, bool finds, const char *marked, const char *kind, int line);
void sample_release(struct sample *m);

#endif
