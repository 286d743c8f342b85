#include <stdlib.h>
#include <string.h>

#include "ledger/integrity.h"
#include "ledger/message.h"
#include "ledger/tree.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/store.h"

struct check {
	struct store *s;
	struct integrity *out;
	const struct tree *tree;
};

static int
check_blob(struct check *k, const struct session *x, struct err *e)
{
	struct buf bytes = BUF_INIT;
	struct err own = ERR_INIT;
	int ret = x->blob.size >= 0 ? blob_read(k->s, x->agent_uuid, &x->blob, &bytes, &own) : 0;

	buf_wipe(&bytes);
	return ret == 0 ? 0 : integrity_damaged(k->out, &own, e);
}

static int
check_session(const struct record *r, void *arg, struct err *e)
{
	struct check *k = arg;
	struct err own = ERR_INIT;
	struct session x;
	int ret;

	if (session_from_record(r, &x, &own) != 0)
		return integrity_damaged(k->out, &own, e);
	ret = check_blob(k, &x, e);
	if (x.state == SESSION_ENDED && tree_find(k->tree, x.agent_uuid) != NULL)
		integrity_fault(k->out, "the agent %s has ended, but its place in the tree is open", x.agent_uuid);
	session_release(&x);
	return ret;
}

/* Its session, if it is there, has been checked with the others. */
static int
check_link(struct check *k, const struct tree_node *x, struct err *e)
{
	char *key = xasprintf("session:%s", x->agent);
	struct record r;
	int found = store_get(k->s, key, &r, e);

	if (found == 0)
		integrity_fault(k->out, "the agent %s has a place in the tree, but no session", x->agent);
	if (found >= 0 && x->parent != NULL && tree_find(k->tree, x->parent) == NULL)
		integrity_fault(k->out, "the agent %s is below %s, which is not there or has ended", x->agent, x->parent);
	record_release(&r);
	free(key);
	return found < 0 ? -1 : 0;
}

/* Each is walked over once: whoever comes back to where this walk has been is in a ring. */
static void
check_rings(struct check *k)
{
	const struct tree *t = k->tree;
	size_t *walk = xcalloc(t->n + 1, sizeof *walk);

	for (size_t i = 0; i < t->n; i++) {
		const struct tree_node *x = &t->v[i];

		while (x != NULL && walk[x - t->v] == 0) {
			walk[x - t->v] = i + 1;
			x = x->parent != NULL ? tree_find(t, x->parent) : NULL;
		}
		if (x != NULL && walk[x - t->v] == i + 1)
			integrity_fault(k->out, "the agent %s is below itself", x->agent);
	}
	free(walk);
}

int
integrity_check_agents(struct store *s, struct integrity *out, struct err *e)
{
	struct messages messages = { .n = 0 };
	struct tree tree = { .n = 0 };
	struct check k = { s, out, &tree };
	struct err own = ERR_INIT;
	int ret = 0;

	if (tree_read(s, &tree, &own) != 0)
		ret = integrity_damaged(out, &own, e);
	if (ret == 0)
		ret = store_each(s, "session:", NULL, check_session, &k, e);
	for (size_t i = 0; i < tree.n && ret == 0; i++)
		ret = check_link(&k, &tree.v[i], e);
	check_rings(&k);
	err_clear(&own);
	if (ret == 0 && messages_read(s, MESSAGE_STATES, NULL, false, &messages, &own) != 0)
		ret = integrity_damaged(out, &own, e);
	messages_release(&messages);
	tree_release(&tree);
	return ret;
}
