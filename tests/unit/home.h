#ifndef TESTS_UNIT_HOME_H
#define TESTS_UNIT_HOME_H

/* A store of its own for each test of the ledger, and small words for what they do again and again. */

#include "test.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "records/records.h"
#include "records/agents/agents.h"
#include "store/store.h"
#include "temp.h"

struct home {
	char *dir, *log;		/* its event log */
	struct store *s;
	struct err e;
};

static inline int
home_setup(void **state)
{
	struct home *h = xcalloc(1, sizeof *h);

	h->dir = temp_dir();
	h->log = io_join(h->dir, EVENT_LOG);
	h->s = store_open("sqlite", h->dir, &h->e);
	*state = h;
	return h->s == NULL;
}

/* Of a test that breaks the rules among records. */
static inline int
home_leave(void **state)
{
	struct home *h = *state;

	store_close(h->s);
	temp_remove(h->dir);
	free(h->log);
	free(h);
	return 0;
}

/* Whatever a test did, the rules among records hold. */
static inline int
home_teardown(void **state)
{
	struct home *h = *state;
	struct record_check i;
	int ret = record_check(h->s, &i, &h->e);

	for (size_t k = 0; k < i.n_faults && k < RECORD_FAULTS_SHOWN; k++)
		print_error("%s\n", i.faults[k]);
	ret = ret != 0 || i.n_faults > 0;
	record_check_release(&i);
	return home_leave(state) != 0 || ret;
}

/* Another process opens the store. */
static inline void
home_again(struct home *h)
{
	store_close(h->s);
	h->s = store_open("sqlite", h->dir, &h->e);
	assert_non_null(h->s);
}

static inline int
home_record(struct home *h, const char *agent, const char *parent)
{
	struct session x;
	int ret;

	session_init(&x);
	record_set(&x.agent_uuid, agent);
	record_set(&x.provider_name, "fake");
	record_set(&x.parent, parent);
	ret = session_record(h->s, &x, NULL, &h->e);
	session_release(&x);
	return ret;
}

/* Links a recorded child. */
static inline int
home_link(struct home *h, const char *parent, const char *child)
{
	struct session x;
	int ret;

	session_init(&x);
	record_set(&x.agent_uuid, child);
	ret = tree_spawn(h->s, parent, &x, NULL, &h->e);
	session_release(&x);
	return ret;
}

static inline void
home_spawn(struct home *h, const char *parent, const char *child)
{
	assert_int_equal(home_record(h, child, parent), 0);
	if (parent != NULL)
		assert_int_equal(home_link(h, parent, child), 0);
}

/* "ACTIVE", …, "none" */
static inline const char *
home_state(struct home *h, const char *agent)
{
	struct session x;
	const char *name = session_load(h->s, agent, &x, &h->e) == 1 ? session_state_name(x.state) : "none";

	session_release(&x);
	return name;
}

/* Its parent's id, "-" for a root, "ended", "none"; lives until the next call. */
static inline const char *
home_place(struct home *h, const char *agent)
{
	static char place[64];
	struct tree_node x;
	int found = tree_load(h->s, agent, &x, &h->e);

	snprintf(place, sizeof place, "%s",
	    found != 1             ? "none"
		: x.ended          ? "ended"
		: x.parent != NULL ? x.parent
				   : "-");
	tree_node_release(&x);
	return place;
}

static inline void
home_put(struct home *h, const char *key, const char *tag, const char *value)
{
	struct change c = { CHANGE_PUT, key, STORE_ANY, tag, value };

	assert_int_equal(store_commit(h->s, &c, 1, &h->e), COMMIT_DONE);
}

static inline void
home_delete(struct home *h, const char *key)
{
	struct change c = { .kind = CHANGE_DELETE, .key = key, .expect = STORE_ANY };

	assert_int_equal(store_commit(h->s, &c, 1, &h->e), COMMIT_DONE);
}

/* For session_reconcile and its like. */
static inline bool
home_all_dead(const struct session *x, void *arg)
{
	(void)x;
	(void)arg;
	return false;
}

/* arg is the only one that lives. */
static inline bool
home_one_lives(const struct session *x, void *arg)
{
	return strcmp(x->agent_uuid, arg) == 0;
}

#endif
