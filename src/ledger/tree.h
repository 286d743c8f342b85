#ifndef LEDGER_TREE_H
#define LEDGER_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/session.h"

struct buf;
struct err;
struct store;

/*
 * Who spawned whom: the record tree:<agent_uuid> holds one agent's link to its parent; its tag is open or ended. A spawn is acknowledged
 * when the child's session and its link are on disk, and expects the parent's link as it was read, by a change that only checks: no agent
 * gets a child once it has ended. An agent that ends takes all below it along.
 */
struct tree_node {
	int64_t version;
	bool ended;
	char *agent;
	char *parent;			/* NULL: a root */
	char *adopted_from;		/* the parent that it was repaired away from; NULL: none */
	int64_t at;			/* when it was linked, ms since 1970 */
};

/* The agents that have not ended, by id. */
struct tree {
	struct tree_node *v;
	size_t n, cap;
};

/* 1 found, 0 absent, -1. *out is empty unless 1; release it. */
int tree_load(struct store *s, const char *agent, struct tree_node *out, struct err *e);
void tree_node_release(struct tree_node *x);
int tree_read(struct store *s, struct tree *out, struct err *e);
void tree_release(struct tree *t);
/* NULL when it is not among them. */
const struct tree_node *tree_find(const struct tree *t, const char *agent);

/*
 * Links a child to its parent, with the event agent.spawned. child: a session that is new is recorded in the same commit, with its blob
 * when blob is not NULL; one that was recorded before (only agent_uuid is looked at then) is linked. Linked to this parent already: 0.
 * *child is the record afterwards. Names: "no-agent" (GT_FAIL: the parent was never recorded), and GT_REFUSED "parent-ended", "ended",
 * "linked" (it is a root, or another's child), "other-parent".
 */
int tree_spawn(struct store *s, const char *parent, struct session *child, const struct buf *blob, struct err *e);

/*
 * Ends an agent and all below it: their sessions and their links, in one commit with the event agent.ended. Whoever is spawned below it in
 * that very moment is ended right after. Nothing is done to a process.
 * below false: "has-children" (GT_REFUSED) when there are any. One that has ended already: 0. *ended: how many. Also "not-found".
 */
int tree_end(struct store *s, const char *agent, bool below, size_t *ended, struct err *e);

/*
 * Startup: makes the tree whole, each repair one commit with the event agent.repaired. Idempotent.
 *
 *	a session without a link: its spawn was cut off. It is linked as recorded; ended when its parent has ended and it does not live
 *	a parent that is not in the store, or a ring of parents: its child becomes a root
 *	a parent that has ended: the child is ended, or becomes a root when it lives
 *	a link whose session has ended, or was never recorded: the link is ended
 *
 * Agents of other hosts are left to those.
 */
struct tree_settled {
	size_t linked, ended, made_roots;
};
/* SUSPENDED sessions of this host to bring back, as the tree stands then, by id: of roots, or of all agents. */
struct tree_back {
	bool all;
	struct sessions list;		/* appended to; sessions_release */
};
/* back: NULL when nobody asks. */
int tree_settle(struct store *s, session_alive *alive, void *arg, struct tree_settled *out, struct tree_back *back, struct err *e);

/*
 * For commits of others; keys and values are heap, the caller's. The link of an agent, expected to be new; parent NULL: a root.
 */
void tree_link_change(const char *agent, const char *parent, int64_t now, char **key, char **value, struct change *c);
/* The check that an agent has not ended. Names: "no-agent", "parent-ended". */
int tree_living_check(struct store *s, const char *agent, char **key, struct change *c, struct err *e);
/* The same for an agent and for its parent, up to two changes at c[*n]. Also "unlinked" (GT_REFUSED). */
int tree_ancestry_check(struct store *s, const char *agent, char *key[2], struct change *c, size_t *n, struct err *e);

#endif
