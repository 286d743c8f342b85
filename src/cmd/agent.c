#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "cmd/session.h"
#include "cmd/verb.h"
#include "ledger/session.h"
#include "ledger/tree.h"
#include "store/store.h"

/* spawn PARENT CHILD links a recorded session; spawn PARENT records and links the one on standard input. */
static int
spawn(struct verb_job *j, struct err *e)
{
	struct buf blob = BUF_INIT;
	bool has_blob = false;
	struct session x;
	int ret = 0;

	session_init(&x);
	if (j->cli.n_args > 1)
		session_set(&x.agent_uuid, j->cli.args[1]);
	else
		ret = session_told(j, "agent spawn", &x, &blob, &has_blob, e);
	if (ret == 0)
		ret = tree_spawn(j->store, j->cli.args[0], &x, has_blob ? &blob : NULL, e);
	if (ret == 0 && !j->cli.json)
		puts(x.agent_uuid);
	if (ret == 0)
		verb_json(j, "session", session_shown(&x, NULL));
	session_release(&x);
	buf_release(&blob);
	return ret == 0 ? GT_OK : -1;
}

/* --- tree --- */

#define DEEPEST 24	/* a tree is as deep as its callers made it, and a screen so wide */

struct branch {
	struct verb_job *j;
	const struct tree *t;
	json_t *agents;			/* NULL: printed at once */
	bool *shown;
	bool more[DEEPEST];		/* by depth: a sister is still to come */
	size_t n;
};

/* Deeper ones stand below each other. */
static void
print_line_to(const struct branch *b, size_t depth)
{
	size_t d = depth < DEEPEST ? depth : DEEPEST - 1;

	for (size_t i = 1; i < d; i++)
		fputs(b->more[i] ? "│  " : "   ", stdout);
	if (d > 0)
		fputs(b->more[d] ? "├─ " : "└─ ", stdout);
}

static int
show_node(struct branch *b, size_t i, size_t depth, struct err *e)
{
	const struct tree_node *x = &b->t->v[i];
	struct buf name = BUF_INIT, model = BUF_INIT;
	struct session session;
	json_t *v;
	int found = session_load(b->j->store, x->agent, &session, e);

	if (found < 0)
		return -1;
	b->shown[i] = true;
	b->n++;
	if (b->agents != NULL) {
		v = json_object();
		json_put(v, "agent_uuid", x->agent);
		json_put(v, "parent", x->parent);
		json_put_int(v, "depth", (int64_t)depth);
		json_put(v, "state", found > 0 ? session_state_name(session.state) : NULL);
		json_put(v, "provider_name", session.provider_name);
		json_put(v, "model", session.model);
		json_put(v, "session", session.session);
		json_put_int(v, "linked_at", x->at);
		json_put(v, "adopted_from", x->adopted_from);
		json_array_append_new(b->agents, v);
	} else {
		say_foreign(&name, x->agent, 0);
		if (session.model != NULL) {
			buf_str(&model, "  ");
			say_foreign(&model, session.model, 0);
		}
		print_line_to(b, depth);
		printf("%s  %s%s\n", name.data, found > 0 ? session_state_name(session.state) : "no session", model.data != NULL ? model.data : "");
	}
	buf_release(&name);
	buf_release(&model);
	session_release(&session);
	return 0;
}

/* The children of each agent, by the place of their parent; SIZE_MAX ends a row. */
struct kin {
	size_t *first, *next;
};

static void
kin_init(struct kin *k, const struct tree *t)
{
	k->first = xcalloc(t->n + 1, sizeof *k->first);
	k->next = xcalloc(t->n + 1, sizeof *k->next);
	for (size_t i = 0; i < t->n; i++)
		k->first[i] = SIZE_MAX;
	/* backwards, so that a row is in the order of ids */
	for (size_t i = t->n; i-- > 0; ) {
		const struct tree_node *parent = t->v[i].parent != NULL ? tree_find(t, t->v[i].parent) : NULL;

		k->next[i] = SIZE_MAX;
		if (parent != NULL) {
			k->next[i] = k->first[parent - t->v];
			k->first[parent - t->v] = i;
		}
	}
}

/* Depth first without recursion: a tree is as deep as its callers made it. */
static int
show_branch(struct branch *b, const struct kin *k, size_t root, struct err *e)
{
	struct at { size_t i, depth; bool last; } *stack = xcalloc(b->t->n + 1, sizeof *stack);
	size_t n = 0;
	int ret = 0;

	stack[n++] = (struct at){ root, 0, true };
	while (n > 0 && ret == 0) {
		struct at at = stack[--n];
		size_t from = n;

		b->more[at.depth < DEEPEST ? at.depth : DEEPEST - 1] = !at.last;
		ret = show_node(b, at.i, at.depth, e);
		for (size_t i = k->first[at.i]; i != SIZE_MAX; i = k->next[i])
			if (!b->shown[i])
				stack[n++] = (struct at){ i, at.depth + 1, false };
		if (n > from)
			stack[n - 1].last = true;
		for (size_t lo = from, hi = n; lo + 1 < hi; lo++, hi--) {
			struct at swap = stack[lo];

			stack[lo] = stack[hi - 1];
			stack[hi - 1] = swap;
		}
	}
	free(stack);
	return ret;
}

static int
show_tree(struct branch *b, const char *root, struct err *e)
{
	struct kin k;
	int ret = 0;

	kin_init(&k, b->t);
	for (size_t i = 0; i < b->t->n && ret == 0; i++) {
		const struct tree_node *x = &b->t->v[i];
		bool top = x->parent == NULL || tree_find(b->t, x->parent) == NULL;

		if (root != NULL ? strcmp(x->agent, root) == 0 : top)
			ret = show_branch(b, &k, i, e);
	}
	/* who is in a ring is below no root; startup cuts it */
	for (size_t i = 0; i < b->t->n && ret == 0 && root == NULL; i++)
		if (!b->shown[i])
			ret = show_branch(b, &k, i, e);
	free(k.first);
	free(k.next);
	return ret;
}

static int
tree(struct verb_job *j, struct err *e)
{
	const char *root = j->cli.n_args > 0 ? j->cli.args[0] : NULL;
	struct tree t = { .n = 0 };
	struct branch b = { .j = j, .t = &t, .agents = j->cli.json ? json_array() : NULL };
	int ret = j->store != NULL ? tree_read(j->store, &t, e) : 0;

	b.shown = xcalloc(t.n + 1, sizeof *b.shown);
	if (ret == 0)
		ret = show_tree(&b, root, e);
	if (ret == 0 && root != NULL && b.n == 0) {
		err_set(e, GT_NOTHING, "not-found", "no agent \"%.200s\" is in the tree", root);
		ret = err_hint(e, "gt-recover agent tree shows all that have not ended");
	} else if (ret == 0 && b.n == 0) {
		say_line(&j->say, "There is no agent.");
	}
	if (ret == 0 && b.agents != NULL)
		verb_json(j, "agents", json_incref(b.agents));
	json_decref(b.agents);
	free(b.shown);
	tree_release(&t);
	return ret == 0 ? GT_OK : -1;
}

/* --- resume, end --- */

static int
resume(struct verb_job *j, struct err *e)
{
	struct buf blob = BUF_INIT;
	struct session x;
	int ret = session_restore(j->store, j->cli.args[0], &blob, &x, e);

	if (ret == 0 && !j->cli.json)
		puts(x.agent_uuid);
	if (ret == 0)
		verb_json(j, "session", session_shown(&x, x.blob.size >= 0 ? &blob : NULL));
	session_release(&x);
	buf_release(&blob);
	return ret == 0 ? GT_OK : -1;
}

static int
end(struct verb_job *j, struct err *e)
{
	json_t *v = json_object();
	size_t ended;

	if (tree_end(j->store, j->cli.args[0], true, &ended, e) != 0) {
		json_decref(v);
		return -1;
	}
	if (ended > 1)
		say_line(&j->say, "It has ended, and all below it: %zu agents.", ended);
	else
		say_line(&j->say, ended > 0 ? "It has ended." : "It had ended already.");
	json_put(v, "agent_uuid", j->cli.args[0]);
	json_put_int(v, "ended", (int64_t)ended);
	verb_json(j, "agent", v);
	return GT_OK;
}

static const struct verb verbs[] = {
	{ "spawn", spawn, 1, 2, .writes = true },
	{ "tree", tree, 0, 1, .writes = false },
	{ "resume", resume, 1, 1, .writes = true },
	{ "end", end, 1, 1, .writes = true },
};

int
cmd_agent(const struct cli *cli, struct err *e)
{
	return verb_run(cli, verbs, sizeof verbs / sizeof verbs[0], e);
}
