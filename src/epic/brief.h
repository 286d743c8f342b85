#ifndef EPIC_BRIEF_H
#define EPIC_BRIEF_H

struct buf;
struct epic;
struct epic_sprint;
struct err;
struct store;

/*
 * What an agent that comes back is told of its part in an epic: its task, the file and the sections where it stood, whether the file was
 * saved after the checkpoint (the disk is right about content, the checkpoint about what comes next), tests with their counts, validators,
 * what it waits for with the contract of it. Plain text, clean as the records are. cwd: where its paths start, may be NULL. threshold: key
 * resume_threshold. 1, or 0 when no epic knows the agent (an id of an agent, or
 * its sessionId); -1 with err.
 */
int brief_write(struct store *s, const char *agent, const char *cwd, double threshold, struct buf *out, struct err *e);

#endif
