#ifndef REVIVE_BRIEFING_H
#define REVIVE_BRIEFING_H

struct candidate;
struct clean_text;
struct err;
struct scrub;
struct world;

/*
 * What the epics (epic/brief.h) know of an agent of the ledger, and where its work in progress was committed (revive/wip_pass.h), goes behind
 * what *checkpoint has, which is released and replaced; NULL is nothing. Where nothing is known, it stays. agent: NULL when the ledger
 * does not know it; session: its tmux session. -1 with err.
 */
int briefing_of(struct world *w, const char *agent, const char *session, const char *cwd, struct scrub *s, struct clean_text **checkpoint,
    struct err *e);
/* The same for the agent whose session alone is recorded with the candidate's tmux session. */
int briefing_read(struct world *w, const struct candidate *c, struct scrub *s, struct clean_text **checkpoint, struct err *e);

#endif
