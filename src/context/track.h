#ifndef CONTEXT_TRACK_H
#define CONTEXT_TRACK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The sessions that lie below the folder of an agent, each with what it says of itself; see context/trail.h. */
struct track {
	char *id;
	char *path;		/* as transcript_read takes it */
	char *cwd;		/* NULL: it does not say */
	char *tty;		/* NULL likewise */
	pid_t pid;		/* 0 likewise */
	int64_t written;	/* ms since 1970 */
};

struct tracks {
	struct track *v;
	size_t n, cap;
};

/* Those that were written to at or after since_ms, in no order; none for a format that has no sessions of its own. */
void tracks_read(const char *format, const char *folder, int64_t since_ms, struct tracks *out);
void tracks_release(struct tracks *t);

#endif
