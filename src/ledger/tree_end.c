#include <stdlib.h>
#include <string.h>

#include "ledger/tree.h"
#include "ledger/event.h"
#include "ledger/record.h"
#include "ledger/tree_record.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/store.h"

struct ending {
	const char *agent;
	bool below;
	char **gone;			/* ids that this run has ended, sorted */
	size_t n_gone, cap_gone;
	size_t ended;			/* in the last commit */
};

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool
is_gone(const struct ending *job, const char *agent)
{
	return job->n_gone > 0 && bsearch(&agent, job->gone, job->n_gone, sizeof *job->gone, by_text) != NULL;
}

enum mark { MARK_UNSEEN, MARK_ON_THE_WAY, MARK_OUT, MARK_IN };

/* Which open agents are to end: the agent, all below it, and who was spawned below one that this run has ended. */
static enum mark *
mark(const struct ending *job, const struct tree *t)
{
	enum mark *marks = xcalloc(t->n + 1, sizeof *marks);
	size_t *way = xcalloc(t->n + 1, sizeof *way);

	for (size_t i = 0; i < t->n; i++) {
		const struct tree_node *x = &t->v[i];
		enum mark found = MARK_OUT;
		size_t n = 0;

		while (x != NULL && marks[x - t->v] == MARK_UNSEEN) {
			way[n++] = (size_t)(x - t->v);
			marks[x - t->v] = MARK_ON_THE_WAY;
			if (strcmp(x->agent, job->agent) == 0 || (x->parent != NULL && is_gone(job, x->parent))) {
				found = MARK_IN;
				break;
			}
			x = x->parent != NULL ? tree_find(t, x->parent) : NULL;
		}
		/* one that is on the way itself closes a ring, which is below nobody */
		if (found == MARK_OUT && x != NULL && marks[x - t->v] == MARK_IN)
			found = MARK_IN;
		for (size_t k = 0; k < n; k++)
			marks[way[k]] = found;
	}
	free(way);
	return marks;
}

struct changes {
	struct change *v;
	size_t n, cap;
	char **texts;
	size_t n_texts, cap_texts;
};

static struct change *
one_more(struct changes *c)
{
	c->v = vec_room(c->v, c->n, &c->cap, sizeof *c->v);
	return &c->v[c->n++];
}

static void
keep_text(struct changes *c, char *text)
{
	c->texts = vec_room(c->texts, c->n_texts, &c->cap_texts, sizeof *c->texts);
	c->texts[c->n_texts++] = text;
}

static void
changes_release(struct changes *c)
{
	for (size_t i = 0; i < c->n_texts; i++)
		free(c->texts[i]);
	free(c->texts);
	free(c->v);
}

static int
end_session(struct store *s, const char *agent, const char *why, struct changes *c, struct err *e)
{
	char *key, *value;
	struct session x;
	int found = session_load(s, agent, &x, e);

	if (found > 0 && x.state != SESSION_ENDED) {
		session_set(&x.why, why);
		session_change(&x, SESSION_ENDED, store_now(s), &key, &value, one_more(c));
		keep_text(c, key);
		keep_text(c, value);
	}
	session_release(&x);
	return found < 0 ? -1 : 0;
}

static int
end_link(struct store *s, const struct ending *job, struct tree_node *x, struct changes *c, struct err *e)
{
	bool self = strcmp(x->agent, job->agent) == 0;
	char *key, *value;

	x->ended = true;
	tree_change(x, &key, &value, one_more(c));
	keep_text(c, key);
	keep_text(c, value);
	return end_session(s, x->agent, self ? "it was ended" : "an agent above it was ended", c, e);
}

static int
has_children(const char *agent, size_t n, struct err *e)
{
	err_set(e, GT_REFUSED, "has-children", "the agent %s has %zu below it", agent, n);
	return err_hint(e, "gt-recover agent end %s ends them all", agent);
}

static enum commit
end_once(struct store *s, void *arg, struct err *e)
{
	struct ending *job = arg;
	struct event ev = { .kind = "agent.ended", .subject = job->agent };
	struct changes c = { .n = 0 };
	struct tree t = { .n = 0 };
	enum commit answer = COMMIT_DONE;
	enum mark *marks = NULL;
	char *words = NULL;
	size_t ended = 0;
	int ret = tree_read(s, &t, e);

	marks = mark(job, &t);
	for (size_t i = 0; i < t.n && ret == 0; i++)
		if (marks[i] == MARK_IN) {
			ended++;
			ret = end_link(s, job, &t.v[i], &c, e);
		}
	if (ret == 0 && !job->below && ended > 1 && job->n_gone == 0)
		ret = has_children(job->agent, ended - 1, e);
	/* one that was recorded and never linked */
	if (ret == 0 && ended == 0 && job->n_gone == 0 && (ret = end_session(s, job->agent, "it was ended", &c, e)) == 0)
		ended = c.n;
	if (ret == 0 && c.n > 0) {
		words = ended > 1 ? xasprintf("%zu agents", ended) : NULL;
		ev.text = words;
		answer = event_commit(s, c.v, c.n, &ev, e);
	}
	job->ended = ret == 0 && answer == COMMIT_DONE ? ended : 0;
	for (size_t i = 0; i < t.n && job->ended > 0; i++)
		if (marks[i] == MARK_IN) {
			job->gone = vec_room(job->gone, job->n_gone, &job->cap_gone, sizeof *job->gone);
			job->gone[job->n_gone++] = xstrdup(t.v[i].agent);
		}
	if (job->n_gone > 0)
		qsort(job->gone, job->n_gone, sizeof *job->gone, by_text);
	changes_release(&c);
	tree_release(&t);
	free(marks);
	free(words);
	return ret == 0 ? answer : COMMIT_ERROR;
}

int
tree_end(struct store *s, const char *agent, bool below, size_t *ended, struct err *e)
{
	struct ending job = { .agent = agent, .below = below };
	struct session x;
	int ret = session_need(s, agent, &x, e);

	*ended = 0;
	session_release(&x);
	do {
		if (ret == 0)
			ret = record_settle(end_once, s, &job, e);
		*ended += job.ended;
	} while (ret == 0 && job.n_gone > 0 && job.ended > 0);
	for (size_t i = 0; i < job.n_gone; i++)
		free(job.gone[i]);
	free(job.gone);
	return ret;
}
