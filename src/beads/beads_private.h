#ifndef BEADS_BEADS_PRIVATE_H
#define BEADS_BEADS_PRIVATE_H

#include "beads/beads.h"

/* What bead.c (SQLite) and bd.c (JSON) share: the best find, and its cleaning. */
enum bead_rank {
	BEAD_RANK_HOOKED, BEAD_RANK_HINT, BEAD_RANK_HOOK_BEAD, BEAD_RANK_IN_PROGRESS, BEAD_RANK_PINNED,
	BEAD_RANK_CLOSED_HINT, BEAD_RANK_OPEN,
	BEAD_RANK_NONE
};

/* A search and its best find. */
struct bead_search {
	const char *rig, *name, *hint;	/* hint: NULL for none */
	struct scrub *s;
	char *work;			/* RIG/polecats/NAME */
	char *mail;			/* RIG/NAME, or NAME when there is no rig */
	struct bead *out;
	enum bead_rank best;
	double closed_at;		/* of last_closed */
	/* 1 a mail, 2 the name's pinned bead, 3 the role's; 0 none */
	int handoff_rank;
};

/* A stored bead: borrowed, foreign, any NULL. */
struct bead_issue {
	const char *id, *status, *type, *assignee, *title, *description, *design, *criteria, *notes;
};

void bead_search_init(struct bead_search *q, const char *rig, const char *name, const char *hint,
    struct scrub *s, struct bead *out);
/* Releases. Returns ret; unless 0, out is empty. */
int bead_search_end(struct bead_search *q, int ret);

void bead_search_add_work(
    struct bead_search *q, const struct bead_issue *issue, const char *database, enum bead_rank rank);
void bead_search_add_handoff(struct bead_search *q, const struct bead_issue *issue, int rank);
/* The newest becomes last_closed. `at`: any unit that grows. */
void bead_search_add_closed(struct bead_search *q, const char *id, double at);
/*
 * The agent's bead: its state in the text, else in `column`. `changed`: ms since 1970, 0 unknown.
 */
void bead_search_set_agent(struct bead_search *q, const char *description, const char *column,
    int64_t changed);

enum bead_rank bead_rank_of(const char *status);	/* of work that is assigned */
bool bead_is_closed(const char *status);

/* Of a line "key: value" of an agent bead, heap; NULL: none, or "null". */
char *bead_line(const char *text, const char *key);

#endif
