#include <stdlib.h>
#include <string.h>

#include "ledger/message.h"
#include "ledger/event.h"
#include "ledger/message_record.h"
#include "ledger/record.h"
#include "ledger/tree.h"
#include "base/buf.h"
#include "base/err.h"
#include "scrub/scrub.h"
#include "store/store.h"

struct casting {
	const struct letter *l;
	const char *id;
	const char *const *to;
	size_t n;
	struct messages *out;
};

static int
add_sent(const struct record *r, void *arg, struct err *e)
{
	const struct casting *job = arg;
	struct message *m = messages_add(job->out);
	size_t n = strlen(job->id);

	if (message_from_record(r, true, m, e) != 0)
		return -1;
	/* what startup asks about one of them has an id behind its id */
	if (strcmp(m->id + n + 1, m->to) != 0) {
		message_release(m);
		job->out->n--;
		return 0;
	}
	if (strcmp(m->from, job->l->from) == 0 && strcmp(m->body, clean_bytes(job->l->body)) == 0)
		return 0;
	err_set(e, GT_REFUSED, "taken", "another message has the id %s", job->id);
	return err_hint(e, "Each message has an id of its own; without one a new one is made");
}

/* What went out under this id before: 1 the same, 0 nothing, -1. */
static int
was_cast(struct store *s, struct casting *job, struct err *e)
{
	char *prefix = xasprintf("message:%s/", job->id);
	int ret = store_each(s, prefix, NULL, add_sent, job, e);

	free(prefix);
	return ret != 0 ? -1 : job->out->n > 0;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each receiver once. `all` keeps the strings of those that were not named. */
static int
receivers(struct store *s, const struct casting *job, struct tree *all, const char ***list, size_t *n, struct err *e)
{
	size_t kept = 0;

	if (job->n == 0 && tree_read(s, all, e) != 0)
		return -1;
	*n = job->n > 0 ? job->n : all->n;
	*list = xcalloc(*n + 1, sizeof **list);
	for (size_t i = 0; i < *n; i++)
		(*list)[i] = job->n > 0 ? job->to[i] : all->v[i].agent;
	qsort(*list, *n, sizeof **list, by_text);
	for (size_t i = 0; i < *n; i++)
		if ((kept == 0 || strcmp((*list)[kept - 1], (*list)[i]) != 0) &&
		    (job->n > 0 || strcmp((*list)[i], job->l->from) != 0))
			(*list)[kept++] = (*list)[i];
	*n = kept;
	if (kept > 0 && clean_len(job->l->body) <= MESSAGE_BROADCAST_MAX / kept)
		return 0;
	if (kept == 0) {
		err_set(e, GT_NOTHING, "nobody", "there is no agent but the sender");
		return err_hint(e, "gt-recover agent tree shows those that there are");
	}
	err_set(e, GT_USAGE, "too-large", "%zu messages of this size are more than %zu MiB", kept, MESSAGE_BROADCAST_MAX >> 20);
	return err_hint(e, "Send the path of a file instead");
}

static enum commit
put_all(struct store *s, const struct casting *job, const char *const *to, size_t n, struct err *e)
{
	char **keys = xcalloc(2 * n, sizeof *keys), **values = xcalloc(n, sizeof *values);
	char *words = xasprintf("%zu agent%s", n, n == 1 ? "" : "s");
	struct event ev = { .kind = "message.broadcast", .subject = job->id, .text = words };
	struct change *c = xcalloc(2 * n, sizeof *c);
	enum commit answer = COMMIT_ERROR;
	int64_t now = store_now(s);
	int ret = 0;

	for (size_t i = 0; i < n && ret == 0; i++) {
		char *id = xasprintf("%s/%s", job->id, to[i]);
		struct message m, there;

		message_write(&m, id, job->l, job->l->from, to[i], now);
		message_change(&m, &keys[2 * i], &values[i], &c[2 * i]);
		ret = message_was_sent(s, &m, &there, e) < 0 ? -1 :
		    message_receiver_check(s, to[i], &keys[2 * i + 1], &c[2 * i + 1], e);
		message_release(&there);
		message_release(&m);
		free(id);
	}
	if (ret == 0)
		answer = event_commit(s, c, 2 * n, &ev, e);
	for (size_t i = 0; i < n; i++) {
		free(keys[2 * i]);
		free(keys[2 * i + 1]);
		free(values[i]);
	}
	free(keys);
	free(values);
	free(words);
	free(c);
	return answer;
}

static enum commit
cast_once(struct store *s, void *arg, struct err *e)
{
	struct casting *job = arg;
	struct tree all = { .n = 0 };
	const char **list = NULL;
	enum commit answer = COMMIT_ERROR;
	size_t n = 0;
	int was;

	messages_release(job->out);
	was = was_cast(s, job, e);
	if (was > 0)
		answer = COMMIT_DONE;
	else if (was == 0 && receivers(s, job, &all, &list, &n, e) == 0)
		answer = put_all(s, job, list, n, e);
	free(list);
	tree_release(&all);
	return answer;
}

int
message_broadcast(struct store *s, const struct letter *l, const char *const *to, size_t n, struct messages *out, struct err *e)
{
	char *id = l->id != NULL ? xstrdup(l->id) : message_new_id();
	struct casting job = { l, id, to, n, out };
	int ret;

	memset(out, 0, sizeof *out);
	ret = message_check_letter(l, false, e);
	if (ret == 0)
		ret = record_settle(cast_once, s, &job, e);
	if (ret == 0 && out->n == 0)
		ret = was_cast(s, &job, e) > 0 ? 0 : -1;
	free(id);
	return ret;
}
