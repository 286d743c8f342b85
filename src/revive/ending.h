#ifndef REVIVE_ENDING_H
#define REVIVE_ENDING_H

struct attempt;
struct err;
struct world;

/*
 * How an attempt ends, after its commit: its prompt is taken away, which a start that comes late must not find. What is killed between the
 * two is done by tidy (tidy.h).
 */
int ending_acknowledged(struct world *w, struct attempt *a, struct err *e);
int ending_failed(struct world *w, struct attempt *a, const char *why, struct err *e);

/*
 * The agent that the attempt had started is no more. Had it answered? Its transcripts below config_dir (NULL: not known) tell: then the
 * attempt is acknowledged, else it failed with `why`.
 */
int ending_judged(struct world *w, struct attempt *a, const char *config_dir, const char *why, struct err *e);

#endif
