#include <stdlib.h>
#include <string.h>

#include "ledger/activity.h"
#include "ledger/record.h"
#include "ledger/session.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/moment.h"
#include "store/store.h"

#define AT_ONCE 200				/* records a commit */

struct tidying {
	struct store *s;
	struct moment now;
	int64_t before;
	char *keys[AT_ONCE];
	struct change c[AT_ONCE];
	size_t n;
};

/* key is taken over. 1: the commit is full. */
static int
take(struct tidying *t, char *key, int64_t version)
{
	t->keys[t->n] = key;
	t->c[t->n] = (struct change){ CHANGE_DELETE, key, version, NULL, NULL };
	return ++t->n == AT_ONCE;
}

static int
take_activity(const struct activity *a, void *arg, struct err *e)
{
	struct tidying *t = arg;
	struct session x;
	bool wanted;
	int found;

	if (a->at.wall_ms >= t->before)
		return 0;
	found = a->agent_uuid != NULL ? session_load(t->s, a->agent_uuid, &x, e) : 0;
	wanted = found > 0 && x.state != SESSION_ENDED;
	if (found > 0)
		session_release(&x);
	if (found < 0)
		return -1;
	return wanted ? 0 : take(t, xasprintf("activity:%s", a->conversation), a->version);
}

static int
take_place(const struct record *r, void *arg, struct err *e)
{
	struct tidying *t = arg;
	const char *boot = r->key + strlen("place:");
	size_t n = strlen(t->now.boot_id);
	bool here = strncmp(boot, t->now.boot_id, n) == 0 && boot[n] == ':';
	json_t *o = record_object(r, 1, e);
	int64_t at = json_number(o, "at", 0);

	json_decref(o);
	if (o == NULL)
		return -1;
	return here || at >= t->before ? 0 : take(t, xstrdup(r->key), r->version);
}

int
activity_tidy(struct store *s, int64_t before, size_t *n, struct err *e)
{
	struct tidying *t = xcalloc(1, sizeof *t);
	int ret;

	t->s = s;
	t->before = before;
	moment_now(&t->now);
	ret = activity_each(s, NULL, take_activity, t, e);
	if (ret == 0)
		ret = store_each(s, "place:", NULL, take_place, t, e);
	if (ret >= 0)
		ret = t->n == 0 || store_commit(s, t->c, t->n, e) == COMMIT_DONE ? 0 : -1;
	if (n != NULL)
		*n = ret == 0 ? t->n : 0;
	for (size_t i = 0; i < t->n; i++)
		free(t->keys[i]);
	free(t);
	return ret;
}
